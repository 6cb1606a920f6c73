//! Tests of worlds that are built from coarse to fine levels.

use crate::support::{finished, run_recipe, with_threads};
use thalweg_core::Terrain;
use thalweg_core::terrain::Cells;
use thalweg_render::products::agreement::compare_terrains;
use thalweg_sim::plan::Turn;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::run::Run;
use thalweg_sim::run::mark::Mark;

const HEAD: &str = "extent = [2560.0, 1280.0]\ncoarsest = 32\nseed = 4\nedges = \"open\"\n";

/// Noise, rivers on every level, hillslope diffusion and droplets on the last.
const STAGES: &str = "
[[stage]]
model = \"gradient_noise\"
label = \"hills\"
amplitude = 200.0
wavelength = 900.0
octaves = 8

[[stage]]
model = \"stream_power\"
label = \"rivers\"
years = 3e5
step = 20000.0
deposition = 0.5
finer = { years = 0.25, step = 0.6 }

[[stage]]
model = \"hillslope\"
label = \"creep\"
levels = { coarsest = 20.0 }
years = 1000.0

[[stage]]
model = \"droplets\"
label = \"rain\"
levels = \"last\"
density = 0.2
";

fn recipe(cells: usize) -> Recipe {
    Recipe::parse(&format!("{HEAD}cells = {cells}\n{STAGES}")).unwrap()
}

fn problem(head: &str) -> String {
    let recipe = Recipe::parse(&format!("{head}{STAGES}"));
    recipe.and_then(Run::new).err().unwrap_or_else(|| panic!("{head} runs")).to_string()
}

#[test]
fn turns_are_taken_level_by_level() {
    let run = Run::new(recipe(128)).unwrap();
    let turn = |level, stage, pass| Turn { level, stage, trims: false, pass };
    // Levels of 80, 40 and 20 m: base terrain on the first, hillslope diffusion only on the last.
    let wanted = [
        turn(0, Some(0), 0),
        turn(0, Some(1), 0),
        turn(1, None, 0),
        turn(1, Some(1), 1),
        turn(2, None, 0),
        turn(2, Some(1), 2),
        turn(2, Some(2), 0),
        turn(2, Some(3), 0),
    ];
    assert_eq!(run.turns(), wanted);
    let sizes: Vec<[usize; 2]> = run.grids().iter().map(|grid| grid.size).collect();
    assert_eq!(sizes, [[16, 32], [32, 64], [64, 128]]);
    // A fraction of the years of the level before, in shorter steps.
    let steps: Vec<u32> = [1, 3, 5].map(|n| run.steps_in_turn(run.turns()[n])).into();
    assert_eq!(steps, [15, 7, 3]);
    let run = finished(run);
    let rivers: Vec<f64> = run.reports().iter().filter_map(|report| report.parameters["years"].as_f64()).collect();
    assert_eq!(rivers, [3e5, 7.5e4, 18_750.0, 1000.0]);
}

#[test]
fn mass_closes_over_all_levels() {
    let run = Run::new(recipe(128)).unwrap();
    let before = run.terrain().sum_solid();
    assert_eq!(before, 0);
    let run = finished(run);
    // Each level's mass balance counts cells of its own size, which are four times as large on the level before.
    let last = run.grids().len() - 1;
    let changes = run.reports().iter().map(|report| report.mass_balance.solid_change() << (2 * (last - report.level)));
    assert_eq!(run.terrain().sum_solid(), changes.sum::<i128>());
    assert!(run.reports().iter().any(|report| report.model == "finer" && report.mass_balance.added != 0));
}

#[test]
fn a_smaller_build_is_the_first_part_of_a_larger_one() {
    let mut large = Run::new(recipe(128)).unwrap();
    let small = {
        let mut recipe = recipe(64);
        recipe.stages.pop();
        run_recipe(recipe)
    };
    while large.position().0 < 4 {
        large.take_step().unwrap();
    }
    assert_eq!(large.terrain().fingerprints(), small.terrain().fingerprints());
    let large = finished(large);
    let same = compare_terrains(small.terrain(), large.terrain()).unwrap();
    assert!(same.heights > 0.98, "{same:?}");
}

/// Ice, lakes, streams and sand, which are transferred to finer cells.
const MOVING: &str = "
[[stage]]
model = \"gradient_noise\"
label = \"hills\"
amplitude = 300.0
wavelength = 900.0
octaves = 8

[[stage]]
model = \"glacier\"
label = \"ice\"
growth = 40.0
years = 100.0
step = 50.0
snowline = 50.0
melt = false

[[stage]]
model = \"hydrology\"
label = \"streams\"
years = 10.0
drops = 0.3

[[stage]]
model = \"dunes\"
label = \"wind\"
years = 2.0
sand = 2.0
finer = { sand = 0.001 }
";

#[test]
fn same_bits_for_any_threads_and_after_resume_anywhere() {
    for (stages, cells) in [(STAGES, 128), (MOVING, 64)] {
        let start = || Run::new(Recipe::parse(&format!("{HEAD}cells = {cells}\n{stages}")).unwrap()).unwrap();
        let whole = finished(start()).terrain().fingerprints();
        for threads in [1, 3] {
            assert_eq!(with_threads(threads, || finished(start())).terrain().fingerprints(), whole);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.thalweg");
        let mut run = start();
        let mut seen = 0;
        loop {
            run.save(&path, &serde_json::json!(null)).unwrap();
            let (resumed, _) = Run::resume(&path).unwrap();
            assert_eq!(resumed.position(), run.position());
            // In the middle of each level, and just before and after the terrain is refined.
            if run.position().1 <= 1 {
                assert_eq!(finished(resumed).terrain().fingerprints(), whole, "from {:?}", run.position());
                seen += 1;
            }
            if run.take_step().unwrap().is_none() {
                break;
            }
        }
        assert!(seen >= 9, "{seen}");
    }
}

#[test]
fn what_moves_goes_over_to_finer_cells_to_the_unit() {
    let mut run = Run::new(Recipe::parse(&format!("{HEAD}cells = 64\n{MOVING}")).unwrap()).unwrap();
    while run.turns()[run.position().0].stage.is_some() {
        run.take_step().unwrap();
    }
    let coarse = run.terrain().clone();
    run.take_step().unwrap();
    let fine = run.terrain();
    let sum = |terrain: &Terrain, name: &str| match &terrain.layers[name].cells {
        Cells::Height(field) => field.as_slice().iter().map(|h| f64::from(h.0)).sum::<f64>(),
        Cells::Float(field) => field.as_slice().iter().map(|x| f64::from(*x)).sum(),
        Cells::Count(_) => panic!("{name} is counted"),
    };
    for name in ["pool", "ice"] {
        let before = sum(&coarse, name);
        assert!(before > 0.0, "{name}");
        assert_eq!(sum(fine, name), 4.0 * before, "{name}");
    }
    // Four cells with half of the discharge that passed through one.
    let before = sum(&coarse, "discharge");
    assert!(before > 0.0);
    assert!((sum(fine, "discharge") / before - 2.0).abs() < 1e-9);
    let loose =
        |terrain: &Terrain| terrain.loose.as_ref().unwrap().as_slice().iter().map(|h| i64::from(h.0)).sum::<i64>();
    assert!(loose(&coarse) > 0);
    assert_eq!(loose(fine), 4 * loose(&coarse));
    // The mass balances close over both levels.
    let run = finished(run);
    let last = run.grids().len() - 1;
    let changes = run.reports().iter().map(|report| report.mass_balance.solid_change() << (2 * (last - report.level)));
    assert_eq!(run.terrain().sum_solid(), changes.sum::<i128>());
}

#[test]
fn marks_agree_over_levels_and_with_more_of_them() {
    let mut run = Run::new(recipe(64)).unwrap();
    let mut marks: Vec<Mark> = Vec::new();
    while !run.is_done() {
        marks.push(run.save_mark());
        run.take_step().unwrap();
    }
    // An additional level changes nothing on the first two, except for what runs on the last.
    let larger = recipe(128);
    let agreeing: Vec<&Mark> = marks.iter().filter(|mark| mark.is_consistent_with(&larger)).collect();
    assert_eq!(agreeing.last().map(|mark| mark.turn()), Some(4));
    let on = finished(Run::from_mark(recipe(128), agreeing.last().unwrap()).unwrap());
    assert_eq!(on.terrain().fingerprints(), run_recipe(larger).terrain().fingerprints());
    // Another fraction of years on finer levels leaves the first as it was.
    let mut other = recipe(64);
    other.stages[1].finer.insert("years".into(), 0.5);
    let last = marks.iter().filter(|mark| mark.is_consistent_with(&other)).map(Mark::turn).max();
    assert!(last < Some(2), "{last:?}");
}

#[test]
fn strokes_belong_to_their_level_and_manual_edits_come_last() {
    let mut run = Run::new(recipe(128)).unwrap();
    while run.position() != (3, 2) {
        run.take_step().unwrap();
    }
    let mut stroke = Stroke::new(Tool::Raise, vec![[600.0, 600.0].into()]);
    stroke.radius = 200.0;
    run.add_stroke(stroke.clone()).unwrap();
    // If the terrain is about to be refined, that is done first.
    while run.position() != (4, 0) {
        run.take_step().unwrap();
    }
    run.add_stroke(stroke.clone()).unwrap();
    assert_eq!(run.position(), (5, 0));
    let mut run = finished(run);
    run.add_stroke(stroke).unwrap();
    let run = finished(run);
    let strokes = |label: &str| {
        let stage = run.recipe().stages.iter().find(|stage| stage.label == label).unwrap();
        stage.strokes.iter().map(|stroke| [stroke.pass, stroke.step]).collect::<Vec<_>>()
    };
    assert_eq!(strokes("rivers"), [[1, 2], [2, 0]]);
    assert_eq!(strokes("manual").len(), 1);
    let again = Recipe::parse(&run.recipe().to_toml()).unwrap();
    assert_eq!(run_recipe(again).terrain().fingerprints(), run.terrain().fingerprints());
}

#[test]
fn base_ground_adds_its_octaves_and_nothing_else() {
    // Terrain that is not eroded is the same on the last level as without levels, apart from the difference between
    // means over cells and point values.
    let text = |levels: &str| {
        format!(
            "extent = [2560.0, 1280.0]\ncells = 128\nseed = 2\n{levels}\n[[stage]]\nmodel = \"gradient_noise\"\n\
             amplitude = 200.0\nwavelength = 900.0\noctaves = 8\n[[stage]]\nmodel = \"shape\"\nkind = \"cone\"\nheight = 300.0\n\
             radius = 600.0\n[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"roof\"\namplitude = 20.0\noffset = 250.0\nblend = \"min\"\n"
        )
    };
    let ground = |levels: &str| run_recipe(Recipe::parse(&text(levels)).unwrap()).terrain().ground.clone();
    let (plain, built) = (ground(""), ground("coarsest = 32"));
    let most = plain.as_slice().iter().zip(built.as_slice()).map(|(a, b)| (a.0 - b.0).abs()).max();
    assert_eq!(most, Some(0));
}

#[test]
fn extreme_base_ground_is_what_it_is_without_levels() {
    // Cones from the lowest allowed height to the highest within a cell: curves through them exceed 32 bits.
    let cone = |label: &str, x: f64| {
        format!(
            "[[stage]]\nmodel = \"shape\"\nlabel = \"{label}\"\nkind = \"cone\"\nheight = 16000.0\nradius = 49.0\n\
             centre_x = {x}\ncentre_y = 0.75\n"
        )
    };
    let plane = "[[stage]]\nmodel = \"shape\"\nkind = \"plane\"\nheight = -16000.0\ntilt = 0.0\n";
    let ground = |head: &str| {
        let text = format!("extent = [100.0, 100.0]\n{head}\n{plane}{}{}", cone("a", 0.75), cone("b", 0.75));
        run_recipe(Recipe::parse(&text).unwrap()).terrain().ground.clone()
    };
    for (cells, coarsest) in [(4, 2), (8, 2), (16, 4), (8, 1)] {
        let plain = ground(&format!("cells = {cells}"));
        assert_eq!(ground(&format!("cells = {cells}\ncoarsest = {coarsest}")), plain, "{coarsest} to {cells}");
    }
}

#[test]
fn a_stage_that_has_not_run_changes_nothing_of_finer_base_ground() {
    let text = |between: &str, blend: &str| {
        format!(
            "extent = [5120.0, 5120.0]\ncells = 128\ncoarsest = 32\n[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"a\"\n{between}\
             [[stage]]\nmodel = \"gradient_noise\"\nlabel = \"b\"\namplitude = 77.0\nblend = \"{blend}\"\n"
        )
    };
    let parsed = |between: &str, blend: &str| Recipe::parse(&text(between, blend)).unwrap();
    let edits = |more: &str| format!("[[stage]]\nmodel = \"manual\"\n{more}\n");
    for blend in ["add", "max"] {
        let plain = run_recipe(parsed("", blend));
        for more in ["muted = true", "levels = \"last\"", "levels = \"last\"\nmuted = true"] {
            let run = run_recipe(parsed(&edits(more), blend));
            assert_eq!(run.terrain().ground, plain.terrain().ground, "{blend}, {more}");
        }
    }
    // A stage that has run on the first level separates them, so the second stage must add. A mark distinguishes them.
    let said = Run::new(parsed(&edits("levels = \"first\""), "max")).err().unwrap().to_string();
    assert!(said.contains("b.blend"), "{said}");
    // Hillslope diffusion that begins on the second level separates the two stages on the third, or follows both; on
    // the second there is no difference.
    let creep = "[[stage]]\nmodel = \"hillslope\"\nlevels = { coarsest = 80.0 }\nyears = 100.0\n";
    let [mut between, after] = [parsed(creep, "add"), parsed("", "add")].map(|recipe| Run::new(recipe).unwrap());
    let after = Recipe::parse(&(after.recipe().to_toml() + creep)).unwrap();
    while between.position().0 < 5 {
        assert!(between.save_mark().is_consistent_with(&after), "{:?}", between.position());
        between.take_step().unwrap();
    }
    between.take_step().unwrap();
    assert_eq!(between.terrain().grid.cell, 40.0);
    assert!(!between.save_mark().is_consistent_with(&after));
}

#[test]
fn a_mask_may_be_as_large_as_any_level_or_larger() {
    let folder = tempfile::tempdir().unwrap();
    let with_mask = |cells: usize, size: [usize; 2]| {
        let mask = Terrain::new(thalweg_core::terrain::grid::Grid::new(size, 1.0).unwrap());
        let half = thalweg_core::terrain::field::Field::from_fn(size, |_, j| if 2 * j < size[1] { 1.0 } else { 0.0 });
        let path = folder.path().join("mask.tif");
        thalweg_io::terrain::save_layer(&path, &mask, "erodibility", &Cells::Float(half)).unwrap();
        let given = STAGES.replace("deposition = 0.5", "layers = { erodibility = \"mask.tif\" }");
        let mut recipe = Recipe::parse(&format!("{HEAD}cells = {cells}\n{given}")).unwrap();
        recipe.folder = folder.path().into();
        let mut run = Run::new(recipe)?;
        while run.take_step()?.is_some() {}
        Ok::<_, thalweg_core::base::error::Error>(run.terrain().clone())
    };
    // The mask has the same two halves at every size: with at least its own number of cells, each level is the same to
    // the bit.
    let own = with_mask(64, [32, 64]).unwrap();
    for size in [[64, 128], [256, 512]] {
        assert_eq!(with_mask(64, size).unwrap().ground, own.ground, "{size:?}");
        let preview = with_mask(32, size).unwrap();
        assert_eq!(preview.ground, with_mask(32, [16, 32]).unwrap().ground, "{size:?}");
    }
    // With fewer cells it is smooth where the halves meet, and otherwise the same.
    let coarse = with_mask(64, [16, 32]).unwrap();
    assert_ne!(coarse.ground, own.ground);
    assert!(compare_terrains(&coarse, &own).unwrap().heights > 0.98, "{:?}", compare_terrains(&coarse, &own));
    for [rows, cols] in [[48, 96], [8, 16], [32, 32]] {
        let error = with_mask(64, [rows, cols]).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{cols} × {rows}"))
                && error.contains("it must be 32 × 16, or that size times a power of 2"),
            "{error}"
        );
    }
}

#[test]
fn stages_that_no_level_is_for_are_named() {
    let idle = |cells: usize, levels: &str| {
        let text = format!("{HEAD}cells = {cells}\n[[stage]]\nmodel = \"thermal\"\nlevels = {levels}\n");
        let run = Run::new(Recipe::parse(&text).unwrap()).unwrap();
        assert_eq!(run.report()["idle"], serde_json::json!(run.idle_stages()));
        run.idle_stages().len()
    };
    // Cells of 80, 40 and 20 m.
    assert_eq!(idle(128, "{ finest = 41.0, coarsest = 79.0 }"), 1);
    assert_eq!(idle(128, "{ finest = 20.0, coarsest = 20.0 }"), 0);
    // A preview ends before that level.
    assert_eq!(idle(64, "{ finest = 20.0, coarsest = 20.0 }"), 1);
    // On a single level every stage runs.
    assert_eq!(idle(32, "{ finest = 20.0, coarsest = 20.0 }"), 0);
    assert_eq!(idle(128, "{ finest = 41.0, coarsest = 79.0 }\nmuted = true"), 0);
}

#[test]
fn strokes_of_a_level_that_never_comes_are_refused() {
    let made = |pass: u32, levels: &str| {
        let stroke = format!(
            "strokes = [{{ step = 0, pass = {pass}, tool = \"raise\", x = 600.0, y = 600.0, radius = 200.0, strength = 5.0 }}]"
        );
        let text = format!("{HEAD}cells = 64\n[[stage]]\nmodel = \"thermal\"\nlevels = {levels}\n{stroke}\n");
        Recipe::parse(&text).and_then(Run::new).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(made(1, "\"all\""), Ok(()));
    let said = made(7, "\"all\"").unwrap_err();
    assert!(said.contains("thermal.strokes[1].pass") && said.contains("0 to 1"), "{said}");
    assert!(made(1, "\"last\"").unwrap_err().contains("0 to 0"));
}

#[test]
fn bad_levels_are_refused_in_words() {
    let cases = [
        ("extent = [1e4, 1e4]\ncells = 100\ncoarsest = 32\n", "64 or 128"),
        ("extent = [1e4, 1e4]\ncells = 16\ncoarsest = 32\n", "32 (the coarsest level) or more"),
        ("extent = [1e4, 1e4]\ncells = 1001\ncoarsest = \"auto\"\n", "1000 or 1004"),
        ("extent = [1e4, 1e4]\ncells = 1048576\ncoarsest = \"auto\"\n", "1048576 × 1048576 cells: must be"),
        ("extent = [1e4, 1e4]\ncoarsest = 0\n", "1 to 1048576"),
        ("extent = [1e4, 1e4]\ncoarsest = \"fine\"\n", "\"auto\""),
        ("from = \"a.tif\"\ncoarsest = 32\n", "the grid is the file's"),
    ];
    for (head, words) in cases {
        let said = problem(head);
        assert!(said.contains(words), "{head}: {said}");
    }
    let stage = |line: &str| {
        let text = format!("extent = [1e4, 1e4]\ncells = 64\ncoarsest = 32\n[[stage]]\nmodel = \"thermal\"\n{line}\n");
        Recipe::parse(&text).and_then(Run::new).err().unwrap_or_else(|| panic!("{line} runs")).to_string()
    };
    assert!(stage("levels = \"some\"").contains("\"first\""));
    assert!(stage("levels = { finest = 10.0, coarsest = 5.0 }").contains("widths of cells"));
    assert!(stage("finer = { talos = 2.0 }").contains("talus"));
    assert!(stage("finer = { talus = 0.0 }").contains("0.001 to 1000"));
    assert!(stage("finer = { talus = 100.0 }").contains("thermal.talus"));
    // Base terrain that would undo erosion on finer levels.
    let roof = "[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"roof\"\nblend = \"min\"\n";
    let said =
        Recipe::parse(&format!("{HEAD}cells = 64\n{STAGES}{roof}")).and_then(Run::new).err().unwrap().to_string();
    assert!(said.contains("roof.blend") && said.contains("first"), "{said}");
}

#[test]
fn memory_is_that_of_the_level_where_it_is_most() {
    let need = |line: &str| {
        let stage = "[[stage]]\nmodel = \"stream_power\"\ndeposition = 0.3\n";
        let text = format!("extent = [1e4, 1e4]\ncells = 256\ncoarsest = 32\n{stage}{line}\n");
        let recipe = Recipe::parse(&text).unwrap();
        recipe.estimate_memory(&recipe.last_grid().unwrap()) / (256 * 256)
    };
    // The ground, the sediment and the memory of the rivers; or what refining them takes.
    assert_eq!(need(""), 4 + 4 + 50);
    assert_eq!(need("levels = \"first\""), 4 + 4 + 2 + 10);
    assert_eq!(need("muted = true"), 4 + 1 + 10);
}

#[test]
fn smallest_worlds_have_one_level() {
    for (extent, cells) in [("[10.0, 10.0]", 1), ("[3000.0, 10.0]", 255)] {
        let text = format!("extent = {extent}\ncells = {cells}\ncoarsest = \"auto\"\n{STAGES}");
        let run = run_recipe(Recipe::parse(&text).unwrap());
        assert_eq!(run.grids().len(), 1);
    }
}

#[test]
fn the_short_side_comes_out_by_a_hundredth() {
    let of = |extent: &str, cells: usize, coarsest: &str| {
        Recipe::parse(&format!("extent = {extent}\ncells = {cells}\ncoarsest = {coarsest}\n{STAGES}")).unwrap()
    };
    let sizes = |extent: &str, cells: usize, coarsest: &str| {
        let grids = of(extent, cells, coarsest).grids().map_err(|error| error.to_string())?;
        Ok::<_, String>(grids.iter().map(|grid| grid.size).collect::<Vec<_>>())
    };
    let auto = "\"auto\"";
    let four = [[40, 128], [80, 256], [160, 512], [320, 1024]];
    assert_eq!(sizes("[10240.0, 3200.0]", 1024, auto).unwrap(), four);
    assert_eq!(of("[10240.0, 3200.0]", 1024, auto).preview_cells().unwrap(), 512);
    // 37.5 cells of 80 m: the build, and any larger one, begins with cells of 40 m.
    assert_eq!(sizes("[10240.0, 3000.0]", 1024, auto).unwrap(), [[75, 256], [150, 512], [300, 1024]]);
    assert_eq!(sizes("[3000.0, 10240.0]", 512, auto).unwrap(), [[256, 75], [512, 150]]);
    // Within one percent: 39.7 cells.
    assert_eq!(sizes("[10240.0, 3176.0]", 256, auto).unwrap(), [[40, 128], [80, 256]]);
    assert_eq!(sizes("[10240.0, 30.0]", 256, auto).unwrap(), [[1, 256]]);
    let said = sizes("[10240.0, 30.0]", 256, "16").unwrap_err();
    assert!(said.contains("coarsest") && said.contains("16") && said.contains("left out"), "{said}");
    let said = sizes("[10240.0, 3000.0]", 1024, "64").unwrap_err();
    assert!(said.contains("256 or more") && said.contains("1 %"), "{said}");
    // A single level is the same as without levels.
    assert_eq!(sizes("[10240.0, 30.0]", 16, "16").unwrap(), [[1, 16]]);
}
