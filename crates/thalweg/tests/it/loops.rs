//! Tests of looped edges: recipes that have them, fields that are periodic, and the textbook's terrain compared with
//! theory. The law `loops` of laws.rs tests that there is no seam, for every model that supports looped edges;
//! flow.rs tests the flow over them.

use crate::support::{finish_run, run_recipe, with_threads};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::grid::SIDES;
use thalweg_core::{Cell, Edge, Field, Grid, Terrain, Topology};
use thalweg_flow::{D8, FlowGraph, Land};
use thalweg_models::model::{Family, Model, Tick};
use thalweg_models::models;
use thalweg_models::models::hillslope::Hillslope;
use thalweg_models::models::stream_power::{Area, StreamPower};
use thalweg_sim::laws::LAWS;
use thalweg_sim::presets;
use thalweg_sim::recipe::{Coarsest, Recipe};
use thalweg_sim::run::{Run, tiles};
use thalweg_sim::world::World;

/// Edges of which the rows and columns marked in `looped` are looped, and the others open.
fn edges(looped: [bool; 2]) -> [Edge; 4] {
    [0, 1, 0, 1].map(|axis| if looped[axis] { Edge::Looped } else { Edge::Open })
}

fn grid(size: [usize; 2], cell: f64, looped: [bool; 2]) -> Grid {
    Grid { edges: edges(looped), ..Grid::new(size, cell).unwrap() }
}

fn refused(text: &str) -> String {
    Recipe::parse(text).and_then(|recipe| Run::new(recipe).map(drop)).unwrap_err().to_string()
}

#[test]
fn neighbours_are_those_of_a_world_laid_out_many_times() {
    for size in [[3, 3], [3, 5], [7, 4]] {
        for looped in [[false, true], [true, false], [true, true]] {
            let topology = Topology { size, looped };
            let [rows, cols] = size.map(|n| n as isize);
            for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                for [di, dj] in D8::OFFSETS.into_iter().chain([[2, -2]]) {
                    let (r, c) = (i + di + 10 * rows, j + dj + 10 * cols);
                    let inside = |at: isize, count: isize, looped: bool| looped || (10..11).contains(&(at / count));
                    let is_there = inside(r, rows, looped[0]) && inside(c, cols, looped[1]);
                    let expected = is_there.then_some([(r % rows) as usize, (c % cols) as usize]);
                    assert_eq!(
                        topology.offset_cell([i as usize, j as usize], [di, dj]),
                        expected.map(Cell::from),
                        "{size:?} {looped:?}"
                    );
                    if let Some([r, c]) = expected {
                        assert_eq!(topology.offset_index((i * cols + j) as usize, [di, dj]), r * size[1] + c);
                    }
                }
            }
        }
    }
}

#[test]
fn the_law_holds_whatever_the_rivers_are_like() {
    let law = LAWS.iter().find(|law| law.name == "loops").unwrap();
    let plain = StreamPower { planation: 0.0, years: 2e5, ..StreamPower::default() };
    let models = [
        plain.clone(),
        StreamPower { area: Area::D8, slope_exponent: 2.0, ..plain.clone() },
        StreamPower { slope_limit: 0.0, diffusion: 0.0, ..plain.clone() },
        StreamPower { strata: 0.8, strata_dip: 0.0, ..plain.clone() },
        // On blocks of six, three and two cells, and on single cells.
        StreamPower { stride: 180.0, ..plain },
    ];
    for model in models {
        for looped in [[true, false], [false, true]] {
            model.check(&grid([60, 72], 30.0, looped)).expect("the law's own ground is not refused");
        }
        law.check(&model).unwrap_or_else(|broken| panic!("{broken}"));
    }
    law.check(&Hillslope { years: 3e4, ..Hillslope::default() }).unwrap_or_else(|broken| panic!("{broken}"));
}

/// The steps from cell to cell over the seam, and elsewhere: root mean square, in metres.
fn steps(metres: &Field<f64>, axis: usize) -> [f64; 2] {
    let size = metres.size();
    let topology = Topology { size, looped: [true; 2] };
    let (mut seam, mut within) = ((0.0, 0), (0.0, 0));
    for (i, j) in (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| (i, j))) {
        let by = if axis == 0 { [1, 0] } else { [0, 1] };
        let Cell { row: r, col: c } = topology.offset_cell([i, j], by).unwrap();
        let square = (metres[(r, c)] - metres[(i, j)]).powi(2);
        let sum = if [i, j][axis] + 1 == size[axis] { &mut seam } else { &mut within };
        *sum = (sum.0 + square, sum.1 + 1);
    }
    [seam, within].map(|(sum, count)| (sum / f64::from(count)).sqrt())
}

#[test]
fn what_base_models_lay_meets_itself() {
    let size = [96, 130];
    for model in models::all_models().filter(|model| model.about().family == Family::Base && model.about().loops) {
        let name = model.about().name;
        let laid = |looped: [bool; 2]| {
            let mut terrain = Terrain::new(grid(size, 40.0, looped));
            let mut stepper = model.start(&terrain.grid).unwrap();
            for step in 0..model.steps(&terrain.grid) {
                stepper.run_step(&mut terrain, Tick { key: RandomKey::new(5, "laid"), step }).unwrap();
            }
            terrain.ground.map(|height| height.metres())
        };
        for looped in [[true, false], [false, true], [true, true]] {
            let metres = laid(looped);
            for axis in (0..2).filter(|axis| looped[*axis]) {
                let [seam, within] = steps(&metres, axis);
                // A hundred cells along the seam, with waves of about ten cells and longer: their mean is known to
                // about a third.
                assert!(seam < 1.7 * within, "{name}, looped {looped:?}: {seam} m over the seam, {within} m elsewhere");
            }
        }
        // Without looped edges there is a seam, or the model is always periodic.
        let [seam, within] = steps(&laid([false; 2]), 1);
        assert!(seam > 2.5 * within || name.starts_with("fourier"), "{name}: {seam} m, {within} m");
    }
}

#[test]
fn recipes_say_which_sides_are_looped() {
    let text = presets::find_preset("textbook").unwrap().to_toml();
    assert!(text.contains("east = \"looped\""), "{text}");
    let again = Recipe::parse(&text).unwrap();
    assert_eq!(again.edges, edges([false, true]));
    assert_eq!(again.to_toml(), text);
    let schema = thalweg_sim::recipe::recipe_schema(&models::Models::default());
    assert!(schema.to_string().contains("\"looped\""));

    let recipe = |edges: &str, rest: &str| format!("extent = [4000.0, 3000.0]\ncells = 80\nedges = {edges}\n{rest}");
    for (number, side) in SIDES.iter().enumerate() {
        let error = refused(&recipe(&format!("{{ {side} = \"looped\" }}"), ""));
        assert!(error.contains(&format!("edges.{side}")) && error.contains(SIDES[(number + 2) % 4]), "{error}");
    }
    let x = "{ east = \"looped\", west = \"looped\" }";
    // A model that does not support them is refused by name, with a list of those that do.
    let error = refused(&recipe(x, "[[stage]]\nmodel = \"glacier\"\n"));
    for word in ["glacier", "east and west", "stream_power", "thermal", "gradient_noise"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    assert!(!error.contains("droplets"), "{error}");
    // Stream power: what is not supported, and what is required.
    let rivers = |rest: &str| format!("[[stage]]\nmodel = \"stream_power\"\n{rest}");
    assert!(refused(&recipe(x, &rivers(""))).contains("stream_power.planation"));
    assert!(refused(&recipe(x, &rivers("planation = 0.0\nstrata = 1.0\n"))).contains("stream_power.strata_dip"));
    let error = refused(&recipe(x, &rivers("planation = 0.0\nstride = 150.0\n")));
    assert!(error.contains("stream_power.stride") && error.contains("80 looped columns"), "{error}");
    let error = refused(&recipe("\"looped\"", &rivers("planation = 0.0\n")));
    assert!(error.contains("edges") && error.contains("sea_level"), "{error}");
    let with_sea = recipe("\"looped\"", "sea_level = 0.0\n") + &rivers("planation = 0.0\n");
    Run::new(Recipe::parse(&with_sea).unwrap()).unwrap();
    // A muted stage is not checked.
    Run::new(Recipe::parse(&recipe(x, "[[stage]]\nmodel = \"glacier\"\nmuted = true\n")).unwrap()).unwrap();
    // Features that need terrain beyond the edges.
    assert!(refused(&recipe(x, "beyond = \"local\"\n")).contains("looped"));
    assert!(refused(&recipe(x, "sea_level = 0.0\ncontinents = { spacing = 2e4 }\n")).contains("looped"));
    assert!(refused("extent = [400.0, 3000.0]\ncells = 15\nedges = \"looped\"\n").contains("columns"));
    let world = World::open(&Recipe::parse(&recipe(x, "")).unwrap()).err().unwrap().to_string();
    assert!(world.contains("east and west looped"), "{world}");
    let mut terrain = Terrain::new(grid([20, 30], 10.0, [false, true]));
    let model = models::find_model("thermal").unwrap();
    let error = tiles::run_by_tiles(&*model, &mut terrain, RandomKey::ZERO, 10).unwrap_err().to_string();
    assert!(error.contains("east and west looped"), "{error}");
}

#[test]
fn a_looped_world_is_built_in_levels_and_goes_on_from_a_checkpoint() {
    let recipe = |threads: usize| {
        let mut recipe = presets::find_preset("textbook").unwrap();
        recipe.cells = 96;
        recipe.set_coarsest(Coarsest::Cells(24)).unwrap();
        for stage in recipe.stages.iter_mut().filter(|stage| stage.label == "balance") {
            stage.model.set("stream_power", "years", &4e6.into()).unwrap();
            stage.model.set("stream_power", "diffusion", &0.01.into()).unwrap();
        }
        with_threads(threads, || run_recipe(recipe).into_terrain())
    };
    let one = recipe(1);
    assert_eq!(one.grid.edges, edges([false, true]));
    for threads in [2, 7] {
        assert_eq!(recipe(threads).fingerprints(), one.fingerprints(), "{threads} threads");
    }
    // The heights at the eastern and western edge match like those of neighbouring cells.
    let [seam, within] = steps(&one.ground.map(|height| height.metres()), 1);
    assert!((0.4..2.5).contains(&(seam / within)), "{seam} m over the seam, {within} m elsewhere");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.thalweg");
    let mut short = presets::find_preset("textbook").unwrap();
    short.cells = 48;
    short.set_coarsest(Coarsest::None).unwrap();
    short.stages[1].model.set("stream_power", "years", &2e6.into()).unwrap();
    let mut run = Run::new(short.clone()).unwrap();
    for _ in 0..6 {
        run.take_step().unwrap();
    }
    run.save(&path, &serde_json::Value::Null).unwrap();
    let (mut run, _) = Run::resume(&path).unwrap();
    finish_run(&mut run);
    assert_eq!(run.terrain().fingerprints(), run_recipe(short).into_terrain().fingerprints());
    assert_eq!(run.terrain().grid.edges, edges([false, true]));
}

/// Returns slope, area and χ (for A₀ = 1 m²) of each cell that is not at base level, with its height.
fn balance(terrain: &Terrain, theta: f64) -> Vec<[f64; 4]> {
    let land = Land::from_terrain(terrain);
    let drainage = FlowGraph::new(&land);
    assert_eq!(*drainage.filled_surface(), terrain.ground, "land in balance has no hollows");
    let cell = terrain.grid.cell;
    let area = drainage.upstream_cells().map(|n| f64::from(*n) * cell * cell);
    let mut chi = Field::new(terrain.grid.size, 0.0f64);
    let mut found = Vec::new();
    for &k in drainage.upstream_order().iter().rev() {
        let k = k as usize;
        let Some(below) = drainage.next(k) else { continue };
        let length = D8::DISTANCES[usize::from(drainage.directions()[k]) % 2] * cell;
        let row = k / terrain.grid.cols();
        if row == 0 || row + 1 == terrain.grid.rows() {
            continue;
        }
        // The steps of the numerical scheme: for each the area is that of its upper cell.
        chi[k] = chi[below] + length * area[k].powf(-theta);
        let fall = terrain.ground[k].metres() - terrain.ground[below].metres();
        let base = terrain.ground[way_out(&drainage, k, terrain.grid.cols(), terrain.grid.rows())].metres();
        found.push([fall / length, area[k], chi[k], terrain.ground[k].metres() - base]);
    }
    found
}

/// Returns the cell where the water of a cell reaches base level.
fn way_out(drainage: &FlowGraph, mut k: usize, cols: usize, rows: usize) -> usize {
    while let Some(next) = drainage.next(k) {
        k = next;
        if k < cols || k / cols + 1 == rows {
            break;
        }
    }
    k
}

/// Returns slope and intercept of a straight line through points, and the fraction of the variance that it explains.
fn line(points: impl Iterator<Item = [f64; 2]> + Clone) -> [f64; 3] {
    let (mut n, mut sums) = (0.0, [0.0; 2]);
    for [x, y] in points.clone() {
        n += 1.0;
        sums = [sums[0] + x, sums[1] + y];
    }
    let [x0, y0] = sums.map(|sum| sum / n);
    let [xx, xy, yy] = points.fold([0.0; 3], |[xx, xy, yy], [x, y]| {
        let (x, y) = (x - x0, y - y0);
        [xx + x * x, xy + x * y, yy + y * y]
    });
    [xy / xx, y0 - xy / xx * x0, xy * xy / (xx * yy)]
}

#[test]
fn the_textbook_s_land_is_that_of_theory() {
    // As the preset is (n = 1), and with another law: θ = m/n = 0.3, k = (U/K)^(1/n).
    for [m, n, erodibility] in [[0.5, 1.0, 5e-6], [0.45, 1.5, 5e-6]] {
        let mut recipe = presets::find_preset("textbook").unwrap();
        recipe.cells = 128;
        recipe.set_coarsest(Coarsest::None).unwrap();
        let stage = &mut recipe.stages[1];
        for (name, value) in [("area_exponent", m), ("slope_exponent", n), ("erodibility", erodibility)] {
            stage.model.set("stream_power", name, &value.into()).unwrap();
        }
        let mut run = Run::new(recipe).unwrap();
        let (mut before, mut last) = (run.terrain().clone(), None);
        while let Some(progress) = run.take_step().unwrap() {
            last = Some((before, progress.mass_balance));
            before = run.terrain().clone();
        }
        let terrain = run.terrain();
        let (earlier, budget) = last.unwrap();
        let (theta, steepness) = (m / n, (5e-4 / erodibility).powf(1.0 / n));
        let cells = balance(terrain, theta);
        assert!(cells.len() > terrain.grid.len() * 9 / 10);

        // Erosion equals uplift everywhere: in a step of 200 000 years, with 100 m of uplift, no cell's height changes
        // by 1 % of that; and the uplifted volume is the exported volume. Cuts are whole units (15 µm).
        let moved = terrain.ground.as_slice().iter().zip(earlier.ground.as_slice());
        let most = moved.map(|(a, b)| (a.metres() - b.metres()).abs()).fold(0.0, f64::max);
        assert!(most < 1.0, "m {m}, n {n}: a cell moved by {most} m");
        let rise = budget.added as f64;
        assert!((budget.exported as f64 / rise - 1.0).abs() < 1e-3, "{budget:?}");

        // Each cell's slope is k·A^−θ, to within the remaining distance from equilibrium.
        let off = cells.iter().map(|[s, a, ..]| (s / (steepness * a.powf(-theta)) - 1.0).abs()).fold(0.0, f64::max);
        assert!(off < 1e-2, "m {m}, n {n}: a slope is off by {off}");
        let [concavity, log_steepness, r2] = line(cells.iter().map(|[s, a, ..]| [a.ln(), s.ln()]));
        assert!((concavity + theta).abs() < 2e-3 && r2 > 0.9999, "{concavity} for −{theta}, R² {r2}");
        assert!((log_steepness.exp() / steepness - 1.0).abs() < 1e-2, "{}, not {steepness}", log_steepness.exp());
        // Heights above base level increase along χ with slope k.
        let [slope, level, r2] = line(cells.iter().map(|[_, _, chi, z]| [*chi, *z]));
        assert!((slope / steepness - 1.0).abs() < 5e-3 && r2 > 0.9999, "{slope} for {steepness}, R² {r2}");
        let highest = cells.iter().map(|[.., z]| *z).fold(0.0, f64::max);
        assert!(level.abs() < 5e-3 * highest, "{level} m at χ = 0 under {highest} m");
    }
}
