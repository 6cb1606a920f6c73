//! Tests of river networks: on terrains whose rivers are known in advance, on noise, on a real elevation model, and on
//! bad input.

use std::sync::LazyLock;

use crate::long;
use crate::support::{elevation_model_path, run_recipe, shared_preset, terrain_on};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{Cells, HARDNESS, PROTECT, RAIN};
use thalweg_core::{Cell, Edge, Field, Grid, Height, Terrain};
use thalweg_flow::breach::BreachLimits;
use thalweg_flow::{FlowGraph, Land};
use thalweg_io::rivers::{read_network, save_network};
use thalweg_io::terrain::{LoadOptions, load_terrain};
use thalweg_models::model::{Model, Tick};
use thalweg_models::models::river_network::{Method, RiverNetwork};
use thalweg_noise::input_tables::springs;
use thalweg_rivers::check::check_river_files;
use thalweg_rivers::sampled::{self, RiverSampling};
use thalweg_rivers::waypoints::MouthPlace;
use thalweg_rivers::{
    Carved, Design, Mouth, Network, Pass, ReachEnd, River, RiverKind, RunSource, Site, carve_rivers, plan_rivers,
};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::tables::Tables;

const CLOSED: [Edge; 4] = [Edge::Closed; 4];

/// A terrain with cells of 20 m whose heights in metres are a function of the position in cells.
fn land(size: [usize; 2], sea: Option<f64>, height: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    let grid = Grid { sea_level: sea.map(Height::from_metres_clamped), ..Grid::new(size, 20.0).unwrap() };
    terrain_on(grid, |i, j| height(i as f64 + 0.5, j as f64 + 0.5))
}

/// Rivers with catchments of at least 40 cells; nothing is breached.
fn unbreached() -> Design {
    Design {
        catchment: 40.0 * 400.0,
        breach: BreachLimits { depth: 0.0, length: 0.0 },
        noise: 0.0,
        ..Design::default()
    }
}

fn made(terrain: &Terrain, design: &Design) -> (Network, Carved) {
    made_for(&Site::from_land(Land::from_terrain(terrain)), design)
}

/// Rivers of the elevation model of the presets, with a minimum catchment of 6.5, 3.25 and 1.62 km².
static SPARSE: LazyLock<Network> = LazyLock::new(|| real_network(6.5e6));
static MIDDLE: LazyLock<Network> = LazyLock::new(|| real_network(3.25e6));
static DENSE: LazyLock<Network> = LazyLock::new(|| real_network(1.62e6));

fn real_network(catchment: f64) -> Network {
    made(&jacksboro(), &Design { catchment, ..Design::default() }).0
}

fn made_for(site: &Site<'_>, design: &Design) -> (Network, Carved) {
    let mut network = plan_rivers(site, design, RandomKey::new(1, "rivers")).unwrap();
    let carved = carve_rivers(site, design, &mut network);
    hold(site, &network, &carved);
    for river in &network.rivers {
        let [_, cols] = network.size;
        let apart = |a: usize, b: usize| (a / cols).abs_diff(b / cols).max((a % cols).abs_diff(b % cols));
        let beside = |pair: &[(u32, u32)]| apart(pair[0].0 as usize, pair[1].0 as usize) == 1;
        assert!(river.path.windows(2).all(beside), "a path has a gap");
    }
    (network, carved)
}

/// Checks the properties that every network must have.
fn hold(site: &Site<'_>, network: &Network, carved: &Carved) {
    let before = site.land.ground.as_slice();
    assert!(carved.ground.as_slice().iter().zip(before).all(|(after, before)| after <= before), "nothing is raised");
    for river in &network.rivers {
        let never = |of: &dyn Fn(usize) -> Height| (1..river.vertices.len()).all(|at| of(at) <= of(at - 1));
        assert!(never(&|at| river.vertices[at].surface) && never(&|at| river.vertices[at].bed), "rises to the unit");
        let path: Vec<Height> = river.path.iter().map(|(k, _)| carved.ground.as_slice()[*k as usize]).collect();
        assert!(path.windows(2).all(|pair| pair[1] <= pair[0]), "the ground along a river rises");
        if let Mouth::Joins { river: other, vertex } = river.mouth {
            let [own, joined] =
                [river.vertices[river.vertices.len() - 1], network.rivers[other as usize].vertices[vertex as usize]];
            assert!(joined.surface <= own.surface && joined.bed <= own.bed && joined.flow >= own.flow);
        }
    }
}

/// Writes a network and checks the files; returns the checks that fail.
fn checked(terrain: &Terrain, network: &Network, carved: &Carved) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let after = Terrain { ground: carved.ground.clone(), ..terrain.clone() };
    save_network(folder.path(), &after, network, carved, Some(-9999.0)).unwrap();
    let checks = check_river_files(&read_network(folder.path()).unwrap());
    let bad = checks.into_iter().filter(|check| !check.has_passed());
    bad.map(|check| format!("{}: {} of {}: {:?}", check.name, check.good, check.count, check.first)).collect()
}

fn length(river: &River) -> f64 {
    let step = |a: Cell<f64>, b: Cell<f64>| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt();
    river.vertices.windows(2).map(|pair| step(pair[0].place, pair[1].place)).sum()
}

/// Builds the terrain of a recipe.
fn built(recipe: &str) -> Terrain {
    run_recipe(Recipe::parse(recipe).unwrap()).into_terrain()
}

fn noise(seed: u64, more: &str) -> Terrain {
    built(&format!(
        "name = \"noise\"\nextent = [6000.0, 5000.0]\ncells = 120\nseed = {seed}\n{more}\n[[stage]]\nmodel = \"gradient_noise\"\n\
         amplitude = 120.0\nwavelength = 2500.0\noctaves = 8\n"
    ))
}

fn jacksboro() -> Terrain {
    load_terrain(elevation_model_path(), &LoadOptions::default()).unwrap().terrain
}

#[test]
fn a_tilted_plane_drains_over_its_lower_edge() {
    let terrain = land([90, 60], None, |i, _| 200.0 - 2.0 * i);
    let (network, carved) = made(&terrain, &unbreached());
    assert!(network.rivers.len() > 3 && network.lakes.is_empty());
    for river in &network.rivers {
        let (first, last) = (river.vertices[0].place, river.vertices[river.vertices.len() - 1].place);
        assert!(last[0] > first[0] && length(river) < 1.4 * (last[0] - first[0]) + 2.0, "down the slope");
        let sideways = last[1] == 0.0 || last[1] == 60.0;
        assert!(
            matches!(river.mouth, Mouth::Joins { .. }) || last[0] == 90.0 || sideways,
            "{:?} {last:?}",
            river.mouth
        );
    }
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
}

#[test]
fn a_valley_has_one_river_with_all_its_water() {
    let mut terrain = land([120, 81], None, |i, j| 100.0 - 0.2 * i + (j - 40.5).abs());
    terrain.grid.edges = [Edge::Closed, Edge::Closed, Edge::Open, Edge::Closed];
    let design = Design { catchment: 1500.0 * 400.0, meander: 0.0, ..unbreached() };
    let (network, _) = made(&terrain, &design);
    let [river] = network.rivers.as_slice() else { panic!("{} runs", network.rivers.len()) };
    assert!(river.vertices.iter().all(|v| (v.place[1] - 40.5).abs() < 1.0));
    let end = river.vertices[river.vertices.len() - 1];
    // 120 · 81 cells of 400 m² with 0.5 m per year; the water of some cells in the lowest row leaves the map directly.
    let all = 120.0 * 81.0 * 400.0 * 0.5 / 31_557_600.0;
    assert!((0.98..=1.0).contains(&(end.discharge() / all)), "{} of {all}", end.discharge());
    // Widths and depths follow hydraulic geometry; a slope of 0.01 is not that of a torrent.
    let middle = river.vertices[river.vertices.len() * 2 / 3];
    assert!((middle.width / (7.2 * middle.discharge().sqrt()) - 1.0).abs() < 1e-9 || middle.kind == RiverKind::Braided);
    assert!((0.005..0.02).contains(&middle.slope) && matches!(middle.kind, RiverKind::Meandering | RiverKind::Braided));
}

/// Checks that the rivers of a cone around (60.5, 60.5) run outward, to all four quarters.
fn radial(network: &Network, end: Mouth, at_end: impl Fn(Cell<f64>, f64) -> bool) {
    let mut quarters = [0; 4];
    for river in &network.rivers {
        let from = |at: usize| [river.vertices[at].place[0] - 60.5, river.vertices[at].place[1] - 60.5];
        let (a, b) = (from(0), from(river.vertices.len() - 1));
        let (ra, rb) = ((a[0] * a[0] + a[1] * a[1]).sqrt(), (b[0] * b[0] + b[1] * b[1]).sqrt());
        assert!(rb > ra, "outward");
        // The sine of the angle between source and end; chance diverts a river by some cells.
        assert!(((a[0] * b[1] - a[1] * b[0]) / (ra * rb)).abs() < 0.6);
        let mut last = river;
        while let Mouth::Joins { river, .. } = last.mouth {
            last = &network.rivers[river as usize];
        }
        assert_eq!(last.mouth, end, "every river gets there, itself or in another");
        if river.mouth == end {
            assert!(at_end(river.vertices[river.vertices.len() - 1].place, rb), "{b:?}");
            quarters[usize::from(b[0] > 0.0) + 2 * usize::from(b[1] > 0.0)] += 1;
        }
    }
    assert!(quarters.iter().all(|n| *n >= 3), "{quarters:?}");
}

#[test]
fn a_cone_drains_to_all_sides() {
    let terrain = land([121, 121], None, |i, j| 400.0 - 4.0 * ((i - 60.5).powi(2) + (j - 60.5).powi(2)).sqrt());
    let (network, carved) = made(&terrain, &unbreached());
    assert!(network.lakes.is_empty());
    radial(&network, Mouth::Edge, |Cell { row: y, col: x }, _| y == 0.0 || x == 0.0 || y == 121.0 || x == 121.0);
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
}

#[test]
fn an_island_drains_to_its_sea_all_round() {
    // The shore of a cone is a circle with a radius of 50 cells.
    let terrain = land([121, 121], Some(0.0), |i, j| 200.0 - 4.0 * ((i - 60.5).powi(2) + (j - 60.5).powi(2)).sqrt());
    let (network, carved) = made(&terrain, &unbreached());
    assert!(network.lakes.is_empty());
    radial(&network, Mouth::Sea, |_, far| (48.0..54.0).contains(&far));
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
}

/// A bowl around (i, j), with a rim of 30 m at a distance of 30 cells.
fn bowl(y: f64, x: f64, [i, j]: [f64; 2]) -> f64 {
    ((y - i).powi(2) + (x - j).powi(2)).sqrt().min(30.0 + 0.2 * ((y - i).powi(2) + (x - j).powi(2)).sqrt() - 6.0)
}

#[test]
fn a_basin_with_one_outlet_is_a_lake_with_one_outlet() {
    // A notch to the east at 20 m.
    let notch = |i: f64, j: f64| (i - 45.5).abs() < 1.0 && j > 46.0;
    let ground = |i: f64, j: f64| if notch(i, j) { 20.0 - 0.1 * (j - 46.0) } else { bowl(i, j, [45.5, 45.5]) };
    let mut terrain = land([91, 91], None, |i, j| ground(i, j).min(60.0));
    terrain.grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
    let (network, carved) = made(&terrain, &unbreached());
    let outlets: Vec<&River> =
        network.rivers.iter().filter(|river| matches!(river.source, RunSource::Lake(_))).collect();
    let [outlet] = outlets.as_slice() else { panic!("{} outlets", outlets.len()) };
    assert_eq!(outlet.mouth, Mouth::Edge);
    assert!(outlet.vertices.iter().all(|v| (v.place[0] - 45.5).abs() < 2.0 && v.place[1] > 60.0));
    // The notch is 20 m high where it begins, 15 cells from the centre, and 18.5 m where the bowl has the same height,
    // at 19 cells.
    let RunSource::Lake(lake) = outlet.source else { unreachable!() };
    let level = network.lakes[lake as usize].level.metres();
    assert!((16.0..=20.0).contains(&level), "{level}");
    let inlets = network.rivers.iter().filter(|river| river.mouth == Mouth::Lake(lake)).count();
    assert!(inlets >= 4, "{inlets} inlets");
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
    // With breaching there is no lake: a river runs through.
    let breached = Design { breach: BreachLimits { depth: 50.0, length: 3000.0 }, ..unbreached() };
    let (network, carved) = made(&terrain, &breached);
    assert!(network.lake.as_slice().iter().all(|lake| *lake == 0));
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
}

#[test]
fn two_basins_over_a_pass_are_two_lakes_in_a_row() {
    // Rims of 30 m; the pass between is at 22 m, the outlet of the eastern basin at 15 m.
    let ground = |i: f64, j: f64| {
        let both = bowl(i, j, [40.5, 40.5]).min(bowl(i, j, [40.5, 110.5]));
        match (i - 40.5).abs() < 1.5 {
            true if (60.0..90.0).contains(&j) => both.min(22.0),
            true if j > 120.0 => both.min(15.0 - 0.1 * (j - 120.0)),
            _ => both,
        }
    };
    let mut terrain = land([81, 151], None, ground);
    terrain.grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
    let (network, carved) = made(&terrain, &unbreached());
    let from_lake = |river: &&River| matches!(river.source, RunSource::Lake(_));
    let between: Vec<&River> = network.rivers.iter().filter(from_lake).collect();
    assert_eq!(between.len(), 2, "two outlets");
    let last = between.iter().find(|river| river.mouth == Mouth::Edge).unwrap();
    let first = between.iter().find(|river| matches!(river.mouth, Mouth::Lake(_))).unwrap();
    let (RunSource::Lake(west), RunSource::Lake(east), Mouth::Lake(into)) = (first.source, last.source, first.mouth)
    else {
        unreachable!()
    };
    assert_eq!(into, east);
    let [high, low] = [west, east].map(|lake| network.lakes[lake as usize].level.metres());
    assert!((20.0..=22.0).contains(&high) && (12.0..=15.0).contains(&low), "{high} {low}");
    // All water that enters the western lake goes on to the eastern one and out.
    let end = |river: &River| river.vertices[river.vertices.len() - 1].flow;
    let into = |lake: u32| network.rivers.iter().filter(|river| river.mouth == Mouth::Lake(lake)).map(end).sum::<i64>();
    assert!(first.vertices[0].flow >= into(west) && last.vertices[0].flow >= into(east) && end(last) > end(first));
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
}

/// A plain that falls by `slope` to a sea in the south, with a valley along its middle.
fn coast(slope: f64) -> Terrain {
    land([140, 120], Some(0.0), move |i, j| {
        let inland = 120.0 - i;
        let beside = (j - 60.0).abs();
        let valley = if inland > 0.0 {
            (10.0 * slope * beside).min(500.0 * slope) + 0.5 * (beside - 45.0).max(0.0)
        } else {
            0.0
        };
        inland * 20.0 * slope + valley
    })
}

#[test]
fn a_great_river_parts_at_a_gentle_coast_alone() {
    let design = Design { catchment: 1e6, runoff: 60.0, meander: 0.0, ..unbreached() };
    let terrain = coast(0.002);
    let (network, carved) = made(&terrain, &design);
    let arms: Vec<&River> =
        network.rivers.iter().filter(|river| matches!(river.source, RunSource::Parts { .. })).collect();
    assert_eq!(arms.len(), 2, "{}", network.rivers.len());
    let mut sides = Vec::new();
    for arm in &arms {
        let RunSource::Parts { river, vertex } = arm.source else { unreachable!() };
        let river = &network.rivers[river as usize];
        let [before, here] = [vertex - 1, vertex].map(|at| river.vertices[at as usize]);
        // A third of the water leaves, and both channels descend to the sea.
        assert!(arm.mouth == Mouth::Sea && river.mouth == Mouth::Sea && here.place == arm.vertices[0].place);
        assert!(2 * arm.vertices[0].flow <= here.flow + 2 && here.flow < before.flow);
        assert!(arm.vertices[0].surface <= here.surface && arm.vertices[0].bed <= here.bed);
        let end = arm.vertices[arm.vertices.len() - 1];
        assert!(
            end.surface == Height::ZERO
                && terrain.ground[(end.cell(network.size)[0], end.cell(network.size)[1])] <= Height::ZERO
        );
        sides.push(end.place[1] > river.vertices[river.vertices.len() - 1].place[1]);
    }
    assert_ne!(sides[0], sides[1], "one to either side");
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
    // The same amount of water reaches the sea as without distributaries.
    let to_sea = |network: &Network| -> i64 {
        let ends = network.rivers.iter().filter(|river| river.mouth == Mouth::Sea);
        ends.map(|river| river.vertices[river.vertices.len() - 1].flow).sum()
    };
    let (whole, _) = made(&terrain, &Design { delta: 0.0, ..design.clone() });
    assert!(to_sea(&whole) == to_sea(&network) && whole.rivers.len() + 2 == network.rivers.len());
    // On a steep coast, or with little water, there are none.
    for (slope, runoff) in [(0.02, 60.0), (0.002, 1.0)] {
        let (network, _) = made(&coast(slope), &Design { runoff, ..design.clone() });
        assert!(!network.rivers.iter().any(|river| matches!(river.source, RunSource::Parts { .. })));
    }
}

#[test]
fn levees_stand_beside_gentle_rivers_where_they_are_asked_for() {
    let terrain = coast(0.002);
    let without = Design { catchment: 1e6, runoff: 60.0, ..unbreached() };
    let with = Design { levees: 0.5, ..without.clone() };
    let (bare, plain) = made(&terrain, &without);
    let site = Site::from_land(Land::from_terrain(&terrain));
    let mut network = plan_rivers(&site, &with, RandomKey::new(1, "rivers")).unwrap();
    let carved = carve_rivers(&site, &with, &mut network);
    assert!(network == bare && carved.river == plain.river && carved.water == plain.water, "the same rivers");
    let stretches: Vec<_> = network.rivers.iter().flat_map(|river| river.vertices.windows(2)).collect();
    let (mut raised, mut over) = (0, 0);
    for k in 0..terrain.grid.len() {
        let by = i64::from(carved.ground.as_slice()[k].0) - i64::from(plain.ground.as_slice()[k].0);
        assert!(by >= 0);
        if by == 0 {
            continue;
        }
        raised += 1;
        over += usize::from(carved.ground.as_slice()[k] > terrain.ground.as_slice()[k]);
        assert!(carved.river.as_slice()[k] == 0 && network.lake.as_slice()[k] == 0);
        let [y, x] = [k / 120, k % 120].map(|n| n as f64 + 0.5);
        // By at most half the depth, within two widths or one and a half cells of the water of a meandering river.
        let near = stretches.iter().any(|pair| {
            let apart = |at: usize| (pair[at].place[0] - y).hypot(pair[at].place[1] - x) * 20.0;
            let width = pair[0].width.max(pair[1].width);
            let length = (pair[1].place[0] - pair[0].place[0]).hypot(pair[1].place[1] - pair[0].place[1]) * 20.0;
            apart(0).min(apart(1)) <= width / 2.0 + (2.0 * width).max(30.0) + length
                && pair.iter().all(|vertex| vertex.kind == RiverKind::Meandering && vertex.floor > 0.0)
                && by as f64 / 65_536.0 <= 0.5 * pair[0].depth.max(pair[1].depth)
        });
        assert!(near, "{y} {x} by {by}");
    }
    assert!(raised > 50 && over > 0, "{raised} {over}");
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
    // Torrents and steep rivers have none.
    let steep = coast(0.05);
    let site = Site::from_land(Land::from_terrain(&steep));
    let mut network = plan_rivers(&site, &with, RandomKey::new(1, "rivers")).unwrap();
    let carved = carve_rivers(&site, &with, &mut network);
    assert_eq!(carved, made(&steep, &without).1);
    // There are none either where the ground is protected.
    let protect = Field::new(terrain.grid.size, 1.0);
    let site = Site { protect: Some(&protect), ..Site::from_land(Land::from_terrain(&terrain)) };
    let mut network = plan_rivers(&site, &with, RandomKey::new(1, "rivers")).unwrap();
    let carved = carve_rivers(&site, &with, &mut network);
    assert_eq!(carved, made_for(&site, &without).1);
}

#[test]
fn the_ledger_of_levees_closes() {
    for (runoff, levees, open) in [(20.0, 1.0, true), (20.0, 1.0, false), (20.0, 0.0, true)] {
        let mut terrain = coast(0.002);
        if !open {
            (terrain.grid.edges, terrain.grid.sea_level) = (CLOSED, None);
        }
        let sum = |t: &Terrain| t.ground.as_slice().iter().map(|h| i128::from(h.0)).sum::<i128>();
        let before = sum(&terrain);
        let model = RiverNetwork { runoff, levees, ..RiverNetwork::default() };
        let budget = model
            .start(&terrain.grid)
            .unwrap()
            .run_step(&mut terrain, Tick { key: RandomKey::new(1, "a"), step: 0 })
            .unwrap();
        assert_eq!(sum(&terrain) - before, budget.deposited + budget.added - budget.eroded + budget.rounded);
        assert_eq!(budget.eroded + budget.added - budget.deposited, budget.exported + budget.added, "{levees}");
        assert_eq!(budget.deposited > 0, levees > 0.0 || !open);
        // Deposits are sediment.
        let loose = terrain.loose.as_ref().unwrap().as_slice().iter().map(|h| i128::from(h.0)).sum::<i128>();
        assert_eq!(loose, budget.deposited + budget.added);
    }
}

#[test]
fn every_check_holds_on_noise_of_all_sorts() {
    for seed in 0..12u64 {
        let more = if seed % 3 == 0 { "sea_level = 0.0" } else { "" };
        let mut terrain = noise(seed, more);
        if seed % 4 == 1 {
            terrain.nodata =
                Some(Field::from_fn(terrain.grid.size, |i, j| (i as i64 - 50).pow(2) + (j as i64 - 60).pow(2) < 90));
        }
        if seed % 4 == 2 {
            terrain.grid.edges = CLOSED;
        }
        let design = Design {
            catchment: if seed % 2 == 0 { 100_000.0 } else { 400_000.0 },
            runoff: if seed % 5 == 0 { 20.0 } else { 0.5 },
            noise: (seed % 4) as f64,
            ..Design::default()
        };
        let (network, carved) = made(&terrain, &design);
        assert!(network.rivers.len() > 2, "seed {seed}");
        assert_eq!(checked(&terrain, &network, &carved), [""; 0], "seed {seed}");
    }
}

#[test]
fn every_check_holds_where_one_once_did_not() {
    let rough = |breach: f64| Design {
        catchment: 50_000.0,
        breach: BreachLimits { depth: breach, length: 1000.0 },
        ..Design::default()
    };
    let noiseless = Design { noise: 0.0, runoff: 5.0, ..rough(3.0) };
    let wet = |runoff: f64| Design { catchment: 250_000.0, runoff, ..Design::default() };
    for (seed, amplitude, wavelength, closed, design, what) in [
        (93, 1500, 4000, false, rough(0.0), "a bank cut away by the valley of a river that passes on its other side"),
        (41, 120, 2500, false, rough(0.0), "the same"),
        (105, 600, 1500, false, rough(0.0), "the same"),
        (
            50,
            600,
            1500,
            false,
            wet(20.0),
            "a lake that leaks through the bank of a river bent towards a valley below it",
        ),
        (33, 1500, 4000, false, rough(0.0), "a river joined where it begins"),
        (117, 40, 1000, false, Design { width: 40.0, ..rough(0.0) }, "the same"),
        (311, 120, 2500, true, noiseless, "two tributaries that crossed in the cell where both join"),
        (24, 250, 800, true, wet(0.5), "no way out, and the lowest ground elsewhere on the surface that is planned on"),
    ] {
        let mut terrain = built(&format!(
            "name = \"noise\"\nextent = [6000.0, 5000.0]\ncells = 120\nseed = {seed}\n[[stage]]\nmodel = \"gradient_noise\"\n\
             amplitude = {amplitude}.0\nwavelength = {wavelength}.0\noctaves = 8\n"
        ));
        terrain.grid.edges = if closed { CLOSED } else { terrain.grid.edges };
        let site = Site::from_land(Land::from_terrain(&terrain));
        let mut network = plan_rivers(&site, &design, RandomKey::new(1, "river_network")).unwrap();
        let carved = carve_rivers(&site, &design, &mut network);
        hold(&site, &network, &carved);
        assert_eq!((checked(&terrain, &network, &carved), network.met), (vec![], 0), "{seed}: {what}");
        if closed {
            let ends = |river: &River| matches!(river.mouth, Mouth::Outlet | Mouth::Joins { .. } | Mouth::Lake(_));
            assert!(network.rivers.iter().all(ends) && network.rivers.iter().any(|river| river.mouth == Mouth::Outlet));
        }
    }
}

/// Checks that lines, rasters, ribbons and ground of a network agree, from the result of [`carve_rivers`];
/// `tests/interop` does the same with the files.
fn one_surface(terrain: &Terrain, network: &Network, carved: &Carved, what: &str) {
    let cols = network.size[1];
    for (number, river) in network.rivers.iter().enumerate() {
        for vertex in &river.vertices {
            let Cell { row: i, col: j } = vertex.cell(network.size);
            let k = i * cols + j;
            if terrain.is_nodata(i, j) {
                continue;
            }
            let (ground, water) = (carved.ground.as_slice()[k], carved.water.as_slice()[k]);
            assert!(ground <= vertex.surface, "{what}: river {number} is under the ground at {i}, {j}");
            let depth = vertex.surface.0 - vertex.bed.0;
            if carved.river.as_slice()[k] > 0 {
                assert_eq!(water.0, depth, "{what}: river {number} at {i}, {j}");
            }
        }
    }
    // Nor below the ground as it is drawn, interpolated between cell centres.
    let drawn = |[y, x]: [f64; 2]| {
        let [rows, cols] = network.size;
        let axis = |at: f64, n: usize| {
            let at = (at - 0.5).clamp(0.0, (n - 1) as f64);
            (at.floor().min((n - 2) as f64) as usize, at - at.floor().min((n - 2) as f64))
        };
        let ((i, a), (j, b)) = (axis(y, rows), axis(x, cols));
        let at = |i: usize, j: usize| f64::from(carved.ground[(i, j)].0);
        (1.0 - a) * ((1.0 - b) * at(i, j) + b * at(i, j + 1)) + a * ((1.0 - b) * at(i + 1, j) + b * at(i + 1, j + 1))
    };
    let (mut under, mut count) = (0, 0);
    // Ribbons end above water.
    let edges = thalweg_rivers::ribbon::compute_water_edges(network, &carved.river, &carved.ground);
    for (river, edges) in network.rivers.iter().zip(edges) {
        for (vertex, Cell { row: y, col: x }) in
            river.vertices.iter().zip(edges).flat_map(|(vertex, sides)| sides.map(|side| (vertex, side)))
        {
            let [i, j] = [(y, network.size[0]), (x, cols)].map(|(at, n)| (at.max(0.0) as usize).min(n - 1));
            assert!(terrain.is_nodata(i, j) || carved.ground[(i, j)] <= vertex.surface, "{what}: ribbon at {y}, {x}");
            let sea = terrain.grid.sea_level.is_some_and(|sea| carved.ground[(i, j)] <= sea);
            if network.lake[(i, j)] == 0 && !sea {
                count += 1;
                under += usize::from(drawn([y, x]) > f64::from(vertex.surface.0));
            }
        }
    }
    eprintln!("{what}: {under} of {count} ends of ribbons under the drawn ground");
    assert!(1000 * under <= count, "{what}: {under} of {count} ends of ribbons are under the drawn ground");
}

#[test]
fn dense_networks_are_one_surface_and_let_the_land_drain() {
    let real = jacksboro();
    for (number, cells) in long::or(vec![40.0, 160.0], vec![20.0, 40.0, 80.0, 160.0, 320.0]).into_iter().enumerate() {
        let lands = [
            ("jacksboro", real.clone()),
            ("noise", noise(number as u64, "")),
            ("islands", noise(4, "sea_level = -60.0")),
        ];
        for (name, terrain) in lands {
            let design = Design { catchment: cells * terrain.grid.cell_area(), ..Design::default() };
            let (network, carved) = made(&terrain, &design);
            let what = format!("{name}, rivers from {cells} cells on");
            if network.met == 0 {
                one_surface(&terrain, &network, &carved, &what);
                assert_eq!(checked(&terrain, &network, &carved), [""; 0], "{what}");
            }
            assert!(network.rivers.len() > 2, "{what}");
            let share =
                thalweg_rivers::drained::draining_share_of_terrain(&carved.ground, &terrain, Some(&network.lake));
            assert!(share >= 0.99, "{what}: {share}");
        }
    }
}

#[test]
fn the_checks_find_what_is_wrong() {
    let terrain = noise(4, "sea_level = -60.0");
    let (network, carved) = made(&terrain, &Design { catchment: 100_000.0, ..unbreached() });
    let folder = tempfile::tempdir().unwrap();
    let after = Terrain { ground: carved.ground.clone(), ..terrain.clone() };
    save_network(folder.path(), &after, &network, &carved, None).unwrap();
    let whole = read_network(folder.path()).unwrap();
    assert!(whole.lakes.len() > 1 && whole.reaches.len() > 10, "{} {}", whole.lakes.len(), whole.reaches.len());
    let fails = |name: &str, spoil: &dyn Fn(&mut thalweg_rivers::check::RiverFiles)| {
        let mut survey = whole.clone();
        spoil(&mut survey);
        let checks = check_river_files(&survey);
        let found = checks.iter().find(|check| check.name == name).unwrap();
        assert!(!found.has_passed() && found.first.is_some() && found.passed_percent() < 100.0, "{name}");
    };
    let long = whole.reaches.iter().position(|reach| reach.places.len() > 12).unwrap();
    // An outlet is at a requested mouth or, without any other outlet, at the lowest place.
    fails("reaches an outlet", &|s| s.reaches[long].end = ReachEnd::Outlet);
    fails("reaches an outlet", &|s| {
        s.reaches[long].end = ReachEnd::Outlet;
        (s.sea, s.mouths) = (None, vec![Cell::new(0, 0)]);
    });
    fails("water and bed never rise", &|s| s.reaches[long].surface[6] += 10.0);
    fails("rivers are visible in the exported elevation", &|s| {
        s.reaches.iter_mut().flat_map(|reach| &mut reach.surface).for_each(|level| *level -= 5.0);
    });
    fails("ground never rises along a river", &|s| {
        let Cell { row: i, col: j } = s.reaches[long].places[8].map(|x| x as usize);
        s.ground[(i, j)] += 50.0;
    });
    // A lip of a centimetre around a cell of a river.
    let Cell { row: i, col: j } = whole.reaches[long].places[8].map(|x| x as usize);
    fails("water of each river's cell arrives", &|s| {
        let beside = [i - 1, i, i + 1].into_iter().flat_map(|r| [j - 1, j, j + 1].map(|c| (r, c)));
        s.ground[(i, j)] = beside.map(|at| s.ground[at]).fold(f64::INFINITY, f64::min) - 0.01;
    });
    // Without its sea and lakes, much of the land has no outlet.
    fails("the land drains", &|s| {
        s.sea = None;
        s.lake.as_mut_slice().fill(0);
    });
    fails("lines, rasters and ground agree", &|s| s.ground[(i, j)] -= 0.3);
    fails("lines, rasters and ground agree", &|s| s.reaches[long].bed[8] -= 0.3);
    fails("crosses no river", &|s| {
        let there = s.reaches.iter().position(|reach| reach.run != s.reaches[long].run).unwrap();
        let middle = s.reaches[there].places[s.reaches[there].places.len() / 2];
        for (k, [y, x]) in [[0.3, 0.3], [-0.3, -0.3], [0.3, -0.3], [-0.3, 0.3]].into_iter().enumerate() {
            s.reaches[long].places[6 + k] = Cell::new(middle.row + y, middle.col + x);
        }
    });
    fails("discharges sum where rivers meet", &|s| s.reaches.iter_mut().for_each(|reach| reach.discharge[1] *= 1.01));
    fails("lakes are level, and no adjacent dry cell is lower", &|s| s.lakes[0].level += 0.5);
    fails("the water is not above the banks", &|s| s.reaches[long].surface.iter_mut().for_each(|level| *level += 30.0));
    fails("width is continuous", &|s| s.reaches[long].width[5] += 60.0);
}

#[test]
fn wishes_are_met() {
    let terrain = noise(7, "");
    let design = Design { catchment: 1_000_000.0, ..Design::default() };
    let plain = made(&terrain, &design).0;
    let near = |network: &Network, [i, j]: [usize; 2], reach: f64| {
        let at = [i as f64 + 0.5, j as f64 + 0.5];
        let close = |p: Cell<f64>| (p[0] - at[0]).hypot(p[1] - at[1]) <= reach;
        network.rivers.iter().any(|river| river.vertices.iter().any(|v| close(v.place)))
    };
    // A dry place, far from rivers and lakes.
    let free = |[i, j]: [usize; 2]| !near(&plain, [i, j], 6.0) && plain.lake[(i, j)] == 0;
    let dry = (10..90).flat_map(|i| (10..110).map(move |j| [i, j])).find(|cell| free(*cell)).unwrap();
    let springs = [springs::SpringSource { cell: dry.into(), rate: 3.0 }];
    let site = Site { springs: &springs, ..Site::from_land(Land::from_terrain(&terrain)) };
    let (network, carved) = made_for(&site, &design);
    assert!(near(&network, dry, 1.5), "a river begins at the spring");
    let sum = |network: &Network| -> f64 {
        let out = |river: &&River| matches!(river.mouth, Mouth::Edge | Mouth::Sea | Mouth::Outlet);
        network.rivers.iter().filter(out).map(|river| river.vertices[river.vertices.len() - 1].discharge()).sum()
    };
    assert!(sum(&network) >= sum(&plain) + 2.99, "its water arrives");
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
    // A place that a river has to pass.
    let passes = [Pass { cell: dry.into(), reach: 700.0 }];
    let (network, carved) =
        made_for(&Site { passes: &passes, ..Site::from_land(Land::from_terrain(&terrain)) }, &design);
    assert!(near(&network, dry, 1.5), "a river passes there");
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
    // A single mouth for all.
    let mut closed = terrain.clone();
    closed.grid.edges = CLOSED;
    let outlets = [Cell::new(40, 119)];
    let (network, carved) =
        made_for(&Site::from_land(Land { outlets: &outlets, ..Land::from_terrain(&closed) }), &design);
    let mut ends = network.rivers.iter().filter(|river| river.mouth == Mouth::Outlet).peekable();
    assert!(ends.peek().is_some());
    for river in ends {
        let last = river.vertices[river.vertices.len() - 1].place;
        assert!((last[0] - 40.5).abs() < 2.0 && (last[1] - 119.5).abs() < 2.0, "{last:?}");
    }
    let mouths = vec![MouthPlace { x: 119.5 * 50.0, y: 40.5 * 50.0 }];
    Tables { mouths, ..Tables::default() }.put(&mut closed).unwrap();
    assert_eq!(checked(&closed, &network, &carved), [""; 0]);
    // Protected ground: the middle of the largest river is walled in, and no line crosses it.
    let greatest = plain.rivers.iter().max_by_key(|river| river.path.len()).unwrap();
    let (k, _) = greatest.path[greatest.path.len() / 2];
    let [y, x] = [k as usize / 120, k as usize % 120];
    let walled = |i: usize, j: usize| i.abs_diff(y) < 3 && j.abs_diff(x) < 3;
    let protect = Field::from_fn(terrain.grid.size, |i, j| if walled(i, j) { 1.0 } else { 0.0 });
    let site = Site { protect: Some(&protect), ..Site::from_land(Land::from_terrain(&terrain)) };
    let (network, carved) = made_for(&site, &design);
    let crossing =
        network.rivers.iter().flat_map(|river| &river.path).filter(|(k, _)| protect.as_slice()[*k as usize] > 0.0);
    assert_eq!((crossing.count(), network.barred), (0, 0));
    assert_eq!(checked(&terrain, &network, &carved), [""; 0]);
}

#[test]
fn a_recipe_gives_mouths_and_passes() {
    let recipe = |tables: &str| {
        format!(
            "name = \"wished\"\nextent = [6000.0, 5000.0]\ncells = 120\nseed = 7\nedges = \"closed\"\n[[stage]]\nmodel = \"gradient_noise\"\n\
             amplitude = 120.0\nwavelength = 2500.0\n[[stage]]\nmodel = \"river_network\"\nbreach_depth = 300.0\nbreach_length = 9000.0\ntables = {tables}\n"
        )
    };
    let wished = recipe("{ mouths = [{ x = 0.0, y = 2510.0 }], passes = [{ x = 3000.0, y = 3000.0, reach = 600.0 }] }");
    let parsed = Recipe::parse(&wished).unwrap();
    let again = Recipe::parse(&parsed.to_toml()).unwrap();
    assert_eq!(again.stages[1].tables, parsed.stages[1].tables);
    assert_eq!(parsed.stages[1].tables.passes[0].reach, 600.0);
    let terrain = built(&wished);
    assert!(!terrain.tables.contains_key("mouths") && !terrain.tables.contains_key("passes"), "they go with the stage");
    let table = &terrain.tables["rivers"];
    let (x, y, flow) =
        (table.float_column("x").unwrap(), table.float_column("y").unwrap(), table.float_column("discharge").unwrap());
    let near = |at: [f32; 2], reach: f32| (0..x.len()).any(|k| (x[k] - at[0]).hypot(y[k] - at[1]) <= reach);
    assert!(near([3025.0, 3025.0], 75.0), "a river passes there");
    let greatest = (0..x.len()).max_by(|a, b| flow[*a].total_cmp(&flow[*b])).unwrap();
    assert!((x[greatest] - 25.0).hypot(y[greatest] - 2525.0) <= 200.0, "{} {}", x[greatest], y[greatest]);
    for (tables, word) in [
        ("{ mouths = [{ x = 0.0 }] }", "mouths[1]"),
        ("{ mouths = [{ x = 0.0, y = 9000.0 }] }", "mouths[1].y"),
        ("{ passes = [{ x = 0.0, y = 1.0, reach = -1.0 }] }", "passes[1].reach"),
        ("{ passes = [{ x = 0.0, y = nan, reach = 1.0 }] }", "passes[1].y"),
        ("{ mouths = 3 }", "mouths"),
        ("{ soils = [] }", "soils"),
    ] {
        let made = Recipe::parse(&recipe(tables)).and_then(thalweg_sim::run::Run::new);
        let error = made.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(word), "{tables}: {error}");
    }
}

#[test]
fn bad_input_is_refused_or_harmless() {
    let design = unbreached();
    // Without a sea and with closed edges, water ends in the lowest place.
    let mut closed = land([60, 60], None, |i, j| 1.5 * (i + j));
    closed.grid.edges = CLOSED;
    let (network, _) = made(&closed, &design);
    assert!(network.rivers.iter().any(|river| river.mouth == Mouth::Outlet));
    assert!(
        network.rivers.iter().all(|river| matches!(river.mouth, Mouth::Outlet | Mouth::Joins { .. } | Mouth::Lake(_)))
    );
    // A sea above all land: there are no rivers at all.
    let drowned = land([40, 40], Some(500.0), |i, j| i + j);
    let (network, carved) = made(&drowned, &design);
    assert!(network.rivers.is_empty() && network.lakes.is_empty() && carved.ground == drowned.ground);
    assert_eq!(checked(&drowned, &network, &carved), [""; 0]);
    // Flat terrain, open and closed, also at the lowest possible height.
    for level in [10.0, -16_000.0] {
        for edges in [[Edge::Open; 4], CLOSED] {
            let mut flat = land([50, 40], None, |_, _| level);
            flat.grid.edges = edges;
            let (network, carved) = made(&flat, &design);
            assert!(edges != CLOSED || !network.rivers.is_empty());
            assert_eq!(checked(&flat, &network, &carved), [""; 0]);
        }
    }
    // Springs in the sea, places outside, values that are not numbers.
    let cone = land([40, 40], Some(0.0), |i, j| 15.0 - (i - 20.0).abs() - (j - 20.0).abs());
    let site = Site::from_land(Land::from_terrain(&cone));
    let refused = |site: &Site<'_>, design: &Design, word: &str| {
        let error = plan_rivers(site, design, RandomKey::ZERO).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(
        &Site { springs: &[springs::SpringSource { cell: Cell::new(0, 0), rate: 1.0 }], ..site },
        &design,
        "springs[1] = row 0, column 0",
    );
    refused(
        &Site { springs: &[springs::SpringSource { cell: Cell::new(40, 3), rate: 1.0 }], ..site },
        &design,
        "rows 0 to 39",
    );
    refused(&Site { passes: &[Pass { cell: Cell::new(1, 1), reach: 50.0 }], ..site }, &design, "passes[1] = row 1");
    refused(
        &Site { passes: &[Pass { cell: Cell::new(20, 20), reach: f64::NAN }], ..site },
        &design,
        "passes[1].reach = NaN m",
    );
    refused(&Site { land: Land { outlets: &[Cell::new(99, 0)], ..site.land }, ..site }, &design, "outlet");
    refused(&site, &Design { runoff: f64::NAN, ..unbreached() }, "runoff");
    refused(&site, &Design { meander: -1.0, ..unbreached() }, "meander");
    refused(&Site { rain: Some(&Field::new([3, 3], 1.0)), ..site }, &design, "3 × 3");
    // Layers of NaN count as zero.
    let none = Field::new(cone.grid.size, f32::NAN);
    let (network, _) = made_for(&Site { rain: Some(&none), ..site }, &design);
    assert!(network.rivers.is_empty(), "no rain, no rivers");
    let bare = made(&cone, &design);
    assert_eq!(made_for(&Site { hardness: Some(&none), protect: Some(&none), ..site }, &design), bare);
    // At a place to which nothing drains, the summit, a river begins. Then a single cell, row and column.
    let (network, _) = made_for(&Site { passes: &[Pass { cell: Cell::new(20, 20), reach: 0.0 }], ..site }, &design);
    assert!(network.rivers.iter().any(|river| (river.vertices[0].place[0] - 20.5).abs() < 2.0));
    for size in [[1, 1], [1, 50], [50, 1], [2, 2]] {
        let thin = land(size, None, |i, j| i + j);
        let (network, carved) = made(&thin, &Design { catchment: 0.0, ..unbreached() });
        assert_eq!(checked(&thin, &network, &carved), [""; 0]);
    }
}

#[test]
fn waterfalls_stay_in_hard_rock_and_water_takes_protected_banks_last() {
    // A step of 30 m across a valley, half way down.
    let terrain =
        land([160, 61], None, |i, j| 100.0 - 0.1 * i + 1.5 * (j - 30.5).abs() - if i > 80.0 { 30.0 } else { 0.0 });
    let design = Design { catchment: 200.0 * 400.0, meander: 0.0, ..unbreached() };
    let steepest = |hardness: f32| {
        let field = Field::new(terrain.grid.size, hardness);
        let (network, _) =
            made_for(&Site { hardness: Some(&field), ..Site::from_land(Land::from_terrain(&terrain)) }, &design);
        let river = network.rivers.iter().max_by_key(|river| river.path.len()).unwrap();
        let fall = |pair: &[thalweg_rivers::Vertex]| {
            let apart = (pair[1].place[0] - pair[0].place[0]).hypot(pair[1].place[1] - pair[0].place[1]) * 20.0;
            if apart > 0.1 { (pair[0].surface.metres() - pair[1].surface.metres()) / apart } else { 0.0 }
        };
        river.vertices.windows(2).map(fall).fold(0.0, f64::max)
    };
    let (hard, soft) = (steepest(1.0), steepest(0.0));
    assert!(hard > 1.4 * soft && hard > 1.0, "{hard} {soft}");
}

#[test]
fn the_model_keeps_the_ledger_and_leaves_its_layers() {
    for (seed, method) in [(1, Method::Drainage), (2, Method::Sampled), (3, Method::Drainage)] {
        let mut terrain = noise(seed, "sea_level = -20.0");
        let size = terrain.grid.size;
        terrain.insert_layer(&HARDNESS, Cells::Float(Field::new(size, 0.3))).unwrap();
        terrain.insert_layer(&RAIN, Cells::Float(Field::new(size, 0.8))).unwrap();
        terrain.insert_layer(&PROTECT, Cells::Float(Field::new(size, 0.1))).unwrap();
        let sum = |t: &Terrain| t.ground.as_slice().iter().map(|h| i128::from(h.0)).sum::<i128>();
        let before = sum(&terrain);
        let model = RiverNetwork { catchment: 0.1, method, ..RiverNetwork::default() };
        let budget = model
            .start(&terrain.grid)
            .unwrap()
            .run_step(&mut terrain, Tick { key: RandomKey::new(1, "a"), step: 0 })
            .unwrap();
        assert!(budget.eroded > 0 && before - sum(&terrain) == budget.exported, "{method:?}");
        let table = &terrain.tables["rivers"];
        assert!(table.int_column("river").unwrap().len() > 50 && table.float_column("bed").is_some());
        for name in ["river", "lake", "river_distance", "water", "discharge"] {
            assert!(terrain.layers.contains_key(name), "{name}");
        }
    }
}

#[test]
fn the_letter_runs_to_the_sea_and_never_up() {
    for (seed, sea) in [(1, "sea_level = -20.0"), (2, ""), (3, "sea_level = 0.0"), (4, "")] {
        let mut terrain = noise(seed, sea);
        if seed == 4 {
            terrain.grid.edges = CLOSED;
        }
        let site = Site::from_land(Land::from_terrain(&terrain));
        let all = RiverSampling { spacing: 200.0, ..RiverSampling::default() };
        let (network, carved) = sampled::make_network(&site, &all, RandomKey::new(seed, "letter")).unwrap();
        hold(&site, &network, &carved);
        assert!(network.rivers.len() > 20);
        let sea = terrain.grid.sea_level.is_some();
        let ends: Vec<Mouth> = network
            .rivers
            .iter()
            .map(|river| river.mouth)
            .filter(|mouth| !matches!(mouth, Mouth::Joins { .. }))
            .collect();
        let wanted = if sea {
            Mouth::Sea
        } else if seed == 4 {
            Mouth::Outlet
        } else {
            Mouth::Edge
        };
        assert!(!ends.is_empty() && ends.iter().all(|mouth| *mouth == wanted), "{seed}: {ends:?}");
        let bad = checked(&terrain, &network, &carved);
        let known = ["crosses", "the water is not", "width", "ground", "lines", "water of", "the land"];
        assert!(bad.iter().all(|line| known.iter().any(|word| line.starts_with(word))), "{seed}: {bad:?}");
        // Three sources give at most three river heads.
        let (few, _) =
            sampled::make_network(&site, &RiverSampling { sources: 3, ..all }, RandomKey::new(seed, "letter")).unwrap();
        assert!((1..=3).contains(&few.rivers.len()));
    }
    // Land without a path to the sea has no rivers, and the sea has no points to draw.
    let drowned = land([40, 40], Some(500.0), |i, j| i + j);
    let (network, carved) = sampled::make_network(
        &Site::from_land(Land::from_terrain(&drowned)),
        &RiverSampling::default(),
        RandomKey::ZERO,
    )
    .unwrap();
    assert!(network.rivers.is_empty() && carved.ground == drowned.ground);
    let wrong = RiverSampling { climb: 0.5, ..RiverSampling::default() };
    let error = sampled::make_network(&Site::from_land(Land::from_terrain(&drowned)), &wrong, RandomKey::ZERO)
        .unwrap_err()
        .to_string();
    assert!(error.contains("climb") && error.contains("1 to 1000"), "{error}");
}

/// Returns the fraction of the length of `first`'s ten largest rivers that is within two cells of water of `other`
/// with at least half the discharge; and among that, the fraction whose widths agree within 5 %.
fn stays(first: &Network, other: &Network) -> [f64; 2] {
    let mut rivers: Vec<u32> = first.rivers.iter().map(|river| river.number).collect();
    rivers.sort_unstable();
    rivers.dedup();
    let greatest = |number: u32| {
        let rivers = first.rivers.iter().filter(|river| river.number == number);
        rivers.filter_map(|river| river.vertices.last()).map(|end| end.flow).max().unwrap_or(0)
    };
    rivers.sort_by_key(|river| std::cmp::Reverse(greatest(*river)));
    let lines: Vec<_> = other.rivers.iter().flat_map(|river| river.vertices.windows(2)).collect();
    let (mut all, mut within, mut alike, mut lakes) = (0.0, 0.0, 0.0, 0.0);
    for river in first.rivers.iter().filter(|river| rivers.iter().take(10).any(|number| *number == river.number)) {
        for pair in river.vertices.windows(2) {
            let step = (pair[1].place[0] - pair[0].place[0]).hypot(pair[1].place[1] - pair[0].place[1]);
            let Cell { row: y, col: x } = pair[0].place;
            let mut best: Option<(f64, f64)> = None;
            for line in lines.iter().filter(|line| 2 * line[1].flow >= pair[0].flow) {
                let (Cell { row: a, col: b }, Cell { row: c, col: d }) = (line[0].place, line[1].place);
                if (a - y).abs().min((c - y).abs()) > 6.0 || (b - x).abs().min((d - x).abs()) > 6.0 {
                    continue;
                }
                let (v, u) = (c - a, d - b);
                let t = (((y - a) * v + (x - b) * u) / (v * v + u * u).max(1e-12)).clamp(0.0, 1.0);
                let apart = (a + t * v - y).hypot(b + t * u - x);
                if best.is_none_or(|(known, _)| apart < known) {
                    best = Some((apart, line[0].width + t * (line[1].width - line[0].width)));
                }
            }
            all += step;
            let cell = [y, x].map(|x| x as usize);
            let cell = [cell[0].min(other.size[0] - 1), cell[1].min(other.size[1] - 1)];
            match best.filter(|(apart, _)| *apart <= 2.0) {
                Some((_, width)) => {
                    within += step;
                    alike += if (width / pair[0].width - 1.0).abs() <= 0.05 { step } else { 0.0 };
                }
                // It counts as well if the river runs through a lake.
                None if other.lake[(cell[0], cell[1])] > 0 => lakes += step,
                None => {}
            }
        }
    }
    [(within + lakes) / all, alike / within]
}

#[test]
fn a_metre_of_noise_leaves_the_great_rivers_where_they_are() {
    let terrain = jacksboro();
    let design = Design { catchment: 1.62e6, ..Design::default() };
    let (mut worst, mut widths) = (1.0f64, 1.0f64);
    for seed in 0..10 {
        let key = RandomKey::new(seed, "noise");
        let mut rough = terrain.clone();
        let [rows, cols] = rough.grid.size;
        for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
            // With a standard deviation of 1 m.
            let by = key.for_cell([i as i64, j as i64]).standard_normal();
            rough.ground[(i, j)] = Height::from_metres_clamped(rough.ground[(i, j)].metres() + by);
        }
        let [within, alike] = stays(&DENSE, &made(&rough, &design).0);
        eprintln!("noise of seed {seed}: {within:.4} within two cells, widths {alike:.4}");
        (worst, widths) = (worst.min(within), widths.min(alike));
    }
    eprintln!("noise, the worst of ten: {worst:.4} within two cells, widths {widths:.4}");
    assert!(worst >= 0.9 && widths >= 0.85, "{worst} {widths}");
}

#[test]
fn a_denser_network_has_the_same_great_rivers() {
    // Half the catchment corresponds to half the distance between rivers; then a quarter.
    for fine in [&MIDDLE, &DENSE] {
        let [within, alike] = stays(&SPARSE, fine);
        eprintln!("density: {within:.4} within two cells, widths {alike:.4}");
        assert!(within >= 0.99 && alike >= 0.99, "{within} {alike}");
    }
}

#[test]
fn widths_are_of_the_water_not_of_how_many_rivers_are_drawn() {
    // Widths and discharges at the cells of the paths. Near their heads rivers begin narrow, so these do not follow
    // hydraulic geometry.
    let at_cells = |network: &Network| {
        let places = network
            .rivers
            .iter()
            .flat_map(|river| river.path.iter().map(move |(k, at)| (*k, river.vertices[*at as usize])));
        places.collect::<std::collections::HashMap<_, _>>()
    };
    let (coarse, fine) = (at_cells(&SPARSE), at_cells(&MIDDLE));
    let (mut same, mut both) = (0, 0);
    for (k, vertex) in &coarse {
        let Some(other) = fine.get(k).filter(|other| other.kind == vertex.kind) else { continue };
        both += 1;
        same += usize::from((other.width / vertex.width - 1.0).abs() <= 0.005);
    }
    eprintln!("widths: {same} of {both} cells, of {}", coarse.len());
    assert!(100 * both > 90 * coarse.len() && 100 * same >= 95 * both, "{same} of {both} of {}", coarse.len());
}

/// The same terrain in cells half as wide, linearly interpolated between the cell centres.
fn finer(terrain: &Terrain) -> Terrain {
    let [rows, cols] = terrain.grid.size;
    let mut grid = Grid::new([2 * rows, 2 * cols], terrain.grid.cell / 2.0).unwrap();
    (grid.sea_level, grid.edges) = (terrain.grid.sea_level, terrain.grid.edges);
    let ground = Field::from_fn(grid.size, |i, j| {
        let near = |n: usize, count: usize| {
            let at = ((n as f64 - 0.5) / 2.0).clamp(0.0, (count - 1) as f64);
            let low = (at as usize).min(count.saturating_sub(2));
            (low, at - low as f64)
        };
        let ((r, v), (c, u)) = (near(i, rows), near(j, cols));
        let at = |r: usize, c: usize| terrain.ground[(r, c)].metres();
        let row = |r: usize| at(r, c) + u * (at(r, c + 1) - at(r, c));
        Height::from_metres_clamped(row(r) + v * (row(r + 1) - row(r)))
    });
    Terrain::from_ground(grid, ground).unwrap()
}

/// Converts a network's positions to cells twice as wide.
fn coarser(mut network: Network) -> Network {
    network.lake = Field::from_fn(network.size.map(|n| n / 2), |i, j| network.lake[(2 * i, 2 * j)]);
    (network.size, network.cell) = (network.size.map(|n| n / 2), 2.0 * network.cell);
    for vertex in network.rivers.iter_mut().flat_map(|river| &mut river.vertices) {
        vertex.place = vertex.place.map(|x| x / 2.0);
    }
    network
}

#[test]
fn cells_half_as_wide_have_the_same_great_rivers() {
    let terrain = jacksboro();
    let design = Design { catchment: 6.5e6, ..Design::default() };
    let fine = coarser(made(&finer(&terrain), &design).0);
    let [within, alike] = stays(&SPARSE, &fine);
    eprintln!("cells: {within:.4} within two cells, widths {alike:.4}");
    assert!(within >= 0.9, "{within} {alike}");
}

#[test]
fn the_letters_rivers_depend_on_its_points() {
    let terrain = jacksboro();
    let site = Site::from_land(Land::from_terrain(&terrain));
    for spacing in [1800.0, 900.0] {
        let [coarse, fine] = [spacing, spacing / 2.0].map(|spacing| {
            let sampling = RiverSampling { spacing, ..RiverSampling::default() };
            sampled::make_network(&site, &sampling, RandomKey::new(1, "letter")).unwrap().0
        });
        let [within, alike] = stays(&coarse, &fine);
        eprintln!("letter, {spacing} m: {within:.4} within two cells, widths {alike:.4}");
        // The limits of the sampled method of Eymard & Peurière: widths depend on the number of samples, and lines run
        // from sample to sample.
        assert!(alike < 0.5, "{within} {alike}");
    }
}

#[test]
fn great_rivers_are_where_water_gathers() {
    let terrain = jacksboro();
    let network = &*DENSE;
    let gathered = FlowGraph::new(&Land::from_terrain(&terrain)).take_upstream_cells();
    let mut ends: Vec<(i64, u32)> = Vec::new();
    for river in &network.rivers {
        let flow = river.vertices[river.vertices.len() - 1].flow;
        match ends.iter_mut().find(|(_, number)| *number == river.number) {
            Some(known) => known.0 = known.0.max(flow),
            None => ends.push((flow, river.number)),
        }
    }
    ends.sort_unstable_by_key(|(flow, _)| std::cmp::Reverse(*flow));
    let (mut all, mut within) = (0.0, 0.0);
    for river in network.rivers.iter().filter(|river| ends.iter().take(10).any(|(_, number)| *number == river.number)) {
        for pair in river.vertices.windows(2) {
            let step = (pair[1].place[0] - pair[0].place[0]).hypot(pair[1].place[1] - pair[0].place[1]);
            let Cell { row: y, col: x } = pair[0].place;
            let cells = pair[0].area as f64 / 65_536.0;
            let span = |at: f64, n: usize| (at - 3.0).max(0.0) as usize..((at + 3.0) as usize).min(n);
            let near =
                span(y, network.size[0]).flat_map(|i| span(x, network.size[1]).map(move |j| (i, j))).any(|(i, j)| {
                    let apart = (i as f64 + 0.5 - y).hypot(j as f64 + 0.5 - x);
                    // Within two cells of the line there is a stream with at least half the catchment.
                    apart <= 2.0 && f64::from(gathered[(i, j)]) >= 0.5 * cells
                });
            all += step;
            within += if near { step } else { 0.0 };
        }
    }
    eprintln!("accumulation: {:.4} within two cells", within / all);
    assert!(within / all >= 0.9, "{}", within / all);
}

#[test]
fn every_check_holds_on_land_that_water_has_shaped() {
    // The preset of hills, small: there, a tributary once turned back over its own path to the confluence.
    for (name, cells) in [("hills", 256), ("alpine", 96)] {
        let terrain = shared_preset(name, cells, None);
        let design = Design { catchment: 200.0 * terrain.grid.cell_area(), ..Design::default() };
        let (network, carved) = made(&terrain, &design);
        assert!(network.rivers.len() > 10);
        assert_eq!(checked(&terrain, &network, &carved), [""; 0], "{name} of {cells} cells");
    }
}
