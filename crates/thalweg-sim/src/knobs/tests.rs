use super::*;
use thalweg_core::Grid;

/// A recipe that has parameters for every knob.
const TEXT: &str = "\
extent = [8000.0, 6000.0]\ncells = 100\nsea_level = -20.0\n\
[[stage]]\nmodel = \"gradient_noise\"\namplitude = 500.0\noffset = 100.0\nwavelength = 2000.0\n\
[[stage]]\nmodel = \"shape\"\nlabel = \"factor\"\nblend = \"multiply\"\nheight = 300.0\nradius = 2500.0\n\
[[stage]]\nmodel = \"stream_power\"\nyears = 2e6\nerodibility = 1e-6\narea_exponent = 0.5\nslope_limit = 30.0\n\
[[stage]]\nmodel = \"droplets\"\nstride = 60.0\ndensity = 400.0\nerosion = 0.05\n\
layers = { protect = { layer = \"ground\", scale = [100.0, 300.0] } }\n\
strokes = [{ tool = \"raise\", x = 900.0, y = 700.0, radius = 250.0, strength = 60.0 }]\n\
[[stage]]\nmodel = \"thermal\"\nrock_talus = 90.0\ntalus = 34.0\n\
[[stage]]\nmodel = \"river_network\"\n\
tables = { springs = [{ x = 600.0, y = 500.0, rate = 2.0 }], passes = [{ x = 900.0, y = 700.0, reach = 300.0 }] }\n";

fn recipe() -> Recipe {
    Recipe::parse(TEXT).unwrap()
}

fn turned(knobs: &Knobs) -> Recipe {
    let mut recipe = recipe();
    knobs.apply_to(&mut recipe).unwrap();
    recipe
}

fn number(recipe: &Recipe, label: &str, name: &str) -> f64 {
    let stage = recipe.stages.iter().find(|stage| stage.label == label).unwrap();
    match stage.model.get(name) {
        Some(Value::Number(x)) => x,
        other => panic!("{label}.{name} = {other:?}"),
    }
}

#[test]
fn knobs_turn_numbers_and_every_model_that_has_some() {
    for model in models::all_models() {
        let (name, declared) = (model.about().name, model.declared());
        for param in declared.iter().filter(|param| !param.scales.is_empty()) {
            assert!(param.is_number(), "{name}.{}", param.name);
            for (number, Scaling { knob, power }) in param.scales.iter().enumerate() {
                let is_power = match power {
                    KnobPower::Number(power) => *power != 0.0,
                    KnobPower::Parameter(of) => matches!(model.get(of), Some(Value::Number(_))),
                };
                let is_first = param.scales.iter().position(|other| other.knob == *knob) == Some(number);
                assert!(is_power && is_first, "{name}.{} {knob:?}", param.name);
            }
        }
        let is_turned = declared.iter().any(|param| !param.scales.is_empty());
        assert!(is_turned || declared.is_empty(), "{name}: say of its parameters what `scales` them");
    }
}

#[test]
fn at_one_nothing_changes_to_the_bit() {
    let plain = recipe().to_toml();
    for knobs in [
        Knobs::default(),
        Knobs { rock: Some(Rock::usual()), ..Knobs::default() },
        Knobs { sea: Some(0.0), ..Knobs::default() },
    ] {
        assert_eq!(turned(&knobs).to_toml(), plain);
    }
    // Every model with its defaults, too.
    for model in models::all_models() {
        let mut one = Recipe::with_single_stage(model, 1);
        let plain = one.to_toml();
        Knobs { rock: Some(Rock::usual()), ..Knobs::default() }.apply_to(&mut one).unwrap();
        assert_eq!(one.to_toml(), plain);
    }
}

#[test]
fn age_and_rain_are_factors_on_time_and_water() {
    let old = turned(&Knobs { age: 2.0, ..Knobs::default() });
    assert_eq!(number(&old, "stream_power", "years"), 4e6);
    assert_eq!((number(&old, "droplets", "density"), number(&old, "thermal", "distance")), (800.0, 1000.0));
    let wet = turned(&Knobs { rain: 4.0, ..Knobs::default() });
    // Discharge is rain times area: K·(4A)^½ is 2K·A^½.
    assert_eq!(number(&wet, "stream_power", "erodibility"), 2e-6);
    assert_eq!((number(&wet, "droplets", "density"), number(&wet, "river_network", "runoff")), (1600.0, 2.0));
    // Half the rain for twice the time produces as many droplets.
    let both = turned(&Knobs { age: 2.0, rain: 0.5, ..Knobs::default() });
    assert_eq!(number(&both, "droplets", "density"), 400.0);
}

#[test]
fn another_rock_turns_by_the_ratio_of_figures_and_back() {
    let granite = Rock::usual();
    for rock in &thalweg_models::rocks::ROCKS {
        let other = turned(&Knobs { rock: Some(rock), ..Knobs::default() });
        assert_eq!(other.rock.name, rock.name);
        let ratio = rock.erodibility / granite.erodibility;
        assert_eq!(number(&other, "stream_power", "erodibility"), 1e-6 * ratio, "{}", rock.name);
        let tan = |degrees: f64| degrees.to_radians().tan();
        let want = (tan(30.0) * tan(rock.slope) / tan(granite.slope)).atan().to_degrees();
        assert!((number(&other, "stream_power", "slope_limit") - want).abs() < 1e-9, "{}", rock.name);
        assert!((number(&other, "droplets", "erosion") - 0.05 * ratio.sqrt()).abs() < 1e-12, "{}", rock.name);
        // No rock fails at 90°, whatever the rock; and sediment never erodes less readily than rock.
        assert_eq!(number(&other, "thermal", "rock_talus"), 90.0);
        assert!(number(&other, "stream_power", "loose_ease") >= 1.0);
        let mut back = other;
        Knobs { rock: Some(granite), ..Knobs::default() }.apply_to(&mut back).unwrap();
        assert!((number(&back, "stream_power", "erodibility") / 1e-6 - 1.0).abs() < 1e-12, "{}", rock.name);
        assert!((number(&back, "stream_power", "slope_limit") - 30.0).abs() < 1e-9, "{}", rock.name);
    }
    // A recipe may be for another rock from the start.
    let mut shale = Recipe::parse(&format!("rock = \"shale\"\n{TEXT}")).unwrap();
    Knobs { rock: Some(granite), ..Knobs::default() }.apply_to(&mut shale).unwrap();
    assert!((number(&shale, "stream_power", "erodibility") * 7.5 / 1e-6 - 1.0).abs() < 1e-12);
}

#[test]
fn relief_scales_heights_and_leaves_factors() {
    let high = turned(&Knobs { relief: 2.0, ..Knobs::default() });
    assert_eq!(
        (number(&high, "gradient_noise", "amplitude"), number(&high, "gradient_noise", "offset")),
        (1000.0, 200.0)
    );
    assert_eq!((number(&high, "factor", "height"), number(&high, "stream_power", "uplift")), (300.0, 1e-3));
    assert_eq!((high.sea_level, high.extent()), (Some(-40.0), Some([8000.0, 6000.0].into())));
    let stage = &high.stages[3];
    assert_eq!((stage.strokes[0].strength, stage.strokes[0].radius), (120.0, 250.0));
    assert_eq!(stage.layers["protect"].scale, Some([200.0, 600.0]));
    // A floor that means "none" stays.
    assert_eq!(number(&high, "droplets", "floor"), -16_000.0);
}

#[test]
fn size_moves_everything_that_has_a_place() {
    let wide = turned(&Knobs { size: 2.0, ..Knobs::default() });
    assert_eq!((wide.extent(), wide.cells), (Some([16_000.0, 12_000.0].into()), 100));
    assert_eq!((number(&wide, "gradient_noise", "wavelength"), number(&wide, "factor", "radius")), (4000.0, 5000.0));
    assert_eq!((number(&wide, "droplets", "stride"), number(&wide, "droplets", "density")), (120.0, 100.0));
    let tables = &wide.stages[5].tables;
    assert_eq!((tables.springs[0].x, tables.springs[0].y, tables.passes[0].reach), (1200.0, 1000.0, 600.0));
    assert_eq!(
        (wide.stages[3].strokes[0].points[0], wide.stages[3].strokes[0].radius),
        ([1800.0, 1400.0].into(), 500.0)
    );
    let grid: Grid = wide.last_grid().unwrap();
    wide.stages.iter().for_each(|stage| stage.check(&grid, 0).unwrap());
}

/// Droplets whose stride is a cell give the same bits at any size: the same terrain on cells twice as wide.
#[test]
fn twice_as_wide_is_the_same_landform() {
    let text = "extent = [3200.0, 3200.0]\ncells = 64\nseed = 3\n\
                [[stage]]\nmodel = \"gradient_noise\"\nwavelength = 1500.0\nwarp = 200.0\nwarp_wavelength = 1000.0\n\
                [[stage]]\nmodel = \"droplets\"\nstride = 50.0\ndensity = 200.0\n";
    let ground = |knobs: Knobs| {
        let mut recipe = Recipe::parse(text).unwrap();
        knobs.apply_to(&mut recipe).unwrap();
        let mut terrain = thalweg_core::terrain::Terrain::new(recipe.last_grid().unwrap());
        for stage in &recipe.stages {
            let mut stepper = stage.model.start(&terrain.grid).unwrap();
            let key = stage.key(recipe.seed);
            for step in 0..stage.steps(&terrain.grid, 0).unwrap() {
                stepper.run_step(&mut terrain, thalweg_models::model::Tick { key, step }).unwrap();
            }
        }
        terrain.ground
    };
    let one = ground(Knobs::default());
    assert!(one == ground(Knobs { size: 2.0, ..Knobs::default() }));
    assert!(one != ground(Knobs { relief: 2.0, ..Knobs::default() }));
}

#[test]
fn counts_stay_counts_and_zero_stays_zero() {
    let count = |n: u32, age: f64| {
        let text = format!("extent = [100.0, 100.0]\n[[stage]]\nmodel = \"droplets\"\ncount = {n}\n");
        let mut recipe = Recipe::parse(&text).unwrap();
        Knobs { age, ..Knobs::default() }.apply_to(&mut recipe).unwrap();
        (recipe.stages[0].model.get("count"), recipe.stages[0].model.get("density"))
    };
    let none = Some(Value::Number(0.0));
    assert_eq!(count(0, 5.0), (Some(Value::Count(0)), none));
    assert_eq!(count(15, 2.5), (Some(Value::Count(38)), none));
    // A count of 0 would mean "use the density instead".
    assert_eq!(count(2, 0.1), (Some(Value::Count(1)), none));
    assert_eq!(count(3_000_000_000, 10.0), (Some(Value::Count(4_000_000_000)), none));
}

#[test]
fn the_sea_rises_by_metres_or_is_made() {
    let sea = |sea: Option<f64>, relief: f64| turned(&Knobs { sea, relief, ..Knobs::default() }).sea_level;
    assert_eq!((sea(Some(50.0), 1.0), sea(Some(50.0), 2.0), sea(None, 0.5)), (Some(30.0), Some(10.0), Some(-10.0)));
    let mut dry = Recipe::parse(&TEXT.replace("sea_level = -20.0\n", "")).unwrap();
    Knobs::default().apply_to(&mut dry).unwrap();
    assert_eq!(dry.sea_level, None);
    Knobs { sea: Some(50.0), ..Knobs::default() }.apply_to(&mut dry).unwrap();
    assert_eq!(dry.sea_level, Some(50.0));
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let plain = recipe().to_toml();
    let refusal = |knobs: Knobs, recipe: &mut Recipe| knobs.apply_to(recipe).unwrap_err().to_string();
    let usual = Knobs::default;
    for (knobs, words) in [
        (Knobs { age: 0.05, ..usual() }, "age = 0.05: must be 0.1 to 10"),
        (Knobs { rain: f64::NAN, ..usual() }, "rain = NaN: must be 0.1 to 10"),
        (Knobs { relief: 5.0, ..usual() }, "relief = 5: must be 0.25 to 4"),
        (Knobs { size: 0.0, ..usual() }, "size = 0: must be 0.25 to 4"),
        (Knobs { sea: Some(20_000.0), ..usual() }, "sea = 20000: must be a value that keeps"),
        (Knobs { sea: Some(f64::NAN), age: 2.0, ..usual() }, "sea = NaN"),
    ] {
        let mut recipe = recipe();
        let message = refusal(knobs, &mut recipe);
        assert!(message.contains(words), "{message}");
        assert_eq!(recipe.to_toml(), plain);
    }
    let mut real = Recipe::parse("from = \"dem.tif\"\n[[stage]]\nmodel = \"droplets\"\n").unwrap();
    for knobs in [Knobs { size: 2.0, ..usual() }, Knobs { relief: 2.0, ..usual() }] {
        assert!(refusal(knobs, &mut real).contains("= 2: must be 1, because the ground comes from dem.tif"));
    }
    Knobs { age: 2.0, ..usual() }.apply_to(&mut real).unwrap();
    let mut huge = Recipe::parse("extent = [1e8, 1e8]\n").unwrap();
    assert!(refusal(Knobs { size: 2.0, ..usual() }, &mut huge).contains("size = 2"));
}
