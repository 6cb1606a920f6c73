//! Tests of fluvial erosion: steps computed by hand, a plain full sweep compared with processing only wet cells, mass
//! balances, rest states, symmetry, and refusals.

use crate::support::terrain_on;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{ParamKind, Parameters, Value, Written};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, RAIN, SUSPENDED, WATER};
use thalweg_core::{Edge, Field, Grid, Height, Terrain};
use thalweg_flow::D8;
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models::fluvial::{CapacityFrom, Fluvial, Moves, Receivers};
use thalweg_noise::input_tables::springs::{self, Spring};
use thalweg_sim::recipe::Recipe;

/// A model without rain.
fn dry() -> Fluvial {
    Fluvial { rain: 0.0, steps: 50, ..Fluvial::default() }
}

fn ground(size: [usize; 2], cell: f64, edge: Edge, height: impl Fn(usize, usize) -> f64 + Sync) -> Terrain {
    terrain_on(Grid { edges: [edge; 4], ..Grid::new(size, cell).unwrap() }, height)
}

fn noise(size: [usize; 2], cell: f64, relief: f64, edge: Edge) -> Terrain {
    let key = RandomKey::new(7, "noise");
    ground(size, cell, edge, |i, j| {
        let waves = libm::sin(i as f64 / 3.0) + libm::cos(j as f64 / 4.0 + i as f64 / 9.0);
        relief * (waves + 0.3 * key.for_cell([i as i64, j as i64]).uniform_signed())
    })
}

fn tick(step: u32) -> Tick {
    Tick { key: RandomKey::ZERO, step }
}

/// Takes the steps `from` to `to` with one stepper.
fn steps(model: &Fluvial, terrain: &mut Terrain, from: u32, to: u32) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut budget = MassBalance::default();
    for step in from..to {
        budget += stepper.run_step(terrain, tick(step)).unwrap();
    }
    budget
}

fn water(terrain: &Terrain) -> Vec<f64> {
    terrain.float_layer(&WATER).unwrap().as_slice().iter().map(|w| f64::from(*w)).collect()
}

fn suspended(terrain: &Terrain) -> Vec<f64> {
    match terrain.layers.get(SUSPENDED.name).map(|layer| &layer.cells) {
        Some(Cells::Height(field)) => field.as_slice().iter().map(|h| h.metres()).collect(),
        _ => vec![0.0; terrain.grid.len()],
    }
}

fn heights(terrain: &Terrain) -> Vec<f64> {
    terrain.ground.as_slice().iter().map(|h| h.metres()).collect()
}

/// The water on the terrain in m³.
fn stored(terrain: &Terrain) -> f64 {
    water(terrain).iter().sum::<f64>() * terrain.grid.cell_area()
}

#[track_caller]
fn near(got: &[f64], want: [f64; 3]) {
    // Each of the three steps rounds each amount by less than a unit.
    assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() <= 6.0 / UNITS), "{got:?} {want:?}");
}

/// A stair of three cells of 1 m², with closed edges.
fn stair() -> Terrain {
    ground([1, 3], 1.0, Edge::Closed, |_, j| 4.0 - 2.0 * j as f64)
}

#[test]
fn a_single_drops_first_steps() {
    // Kc 0.5, Kd 0.1, Ks 0.2; 1 m³ on the first cell of 4, 2, 0 m; it lifts 0.25 m. One receiver: half of Δw moves.
    //
    //        cell 0                          cell 1                               cell 2
    // start  z 3.75    h 1     s 0.25        z 2        h 0      s 0              z 0       h 0     s 0
    // 1      moves 0.5, C 0.25 = s: all moves on
    //        z 3.75    h 0.5   s 0           z 2        h 0.5    s 0.25           z 0       h 0     s 0
    // 2      moves 0.25, C 0.125, s 0:       moves 0.25, C 0.125, s 0.25:
    //        erodes 0.2·0.125 = 0.025        deposits 0.1·0.125 = 0.0125
    //        z 3.725   h 0.25  s 0           z 2.0125   h 0.5    s 0.1125 + 0.025 z 0       h 0.25  s 0.125
    // 3      moves 0.125, erodes 0.0125      moves 0.25, C 0.125, s 0.1375:       nothing lower: deposits 0.1·0.125
    //                                        deposits 0.00125
    //        z 3.7125  h 0.125 s 0           z 2.01375  h 0.375  s 0.02375        z 0.0125  h 0.5   s 0.2375
    let model =
        Fluvial { drop: 1.0, x: 0.5, y: 0.5, pickup: 0.25, capacity: 0.5, deposition: 0.1, softness: 0.2, ..dry() };
    let mut terrain = stair();
    steps(&model, &mut terrain, 0, 1);
    near(&heights(&terrain), [3.75, 2.0, 0.0]);
    near(&water(&terrain), [0.5, 0.5, 0.0]);
    near(&suspended(&terrain), [0.0, 0.25, 0.0]);
    steps(&model, &mut terrain, 1, 2);
    near(&heights(&terrain), [3.725, 2.0125, 0.0]);
    near(&water(&terrain), [0.25, 0.5, 0.25]);
    near(&suspended(&terrain), [0.0, 0.1375, 0.125]);
    steps(&model, &mut terrain, 2, 3);
    near(&heights(&terrain), [3.7125, 2.01375, 0.0125]);
    near(&water(&terrain), [0.125, 0.375, 0.5]);
    near(&suspended(&terrain), [0.0, 0.02375, 0.2375]);
}

/// The rules of the document's code, without its faults: PickupRate is Kc, Ks and the fraction that the drop lifts.
fn documents(water: f64, pickup: f64, deposit: f64) -> Fluvial {
    Fluvial {
        drop: water,
        pickup,
        capacity: pickup,
        softness: pickup,
        deposition: deposit,
        receivers: Receivers::LowestGround,
        moves: Moves::Full,
        capacity_from: CapacityFrom::Whole,
        pits: true,
        floor: 0.0,
        ..dry()
    }
}

#[test]
fn a_single_drops_first_steps_by_the_documents_rules() {
    // WaterPercent 2, PickupRate 0.2, DepositRate 0.1; all of Δw moves, and the capacity is that of all the water.
    //
    //        cell 0                          cell 1                          cell 2
    // start  z 3.8   h 2  s 0.2              z 2      h 0  s 0               z 0       h 0  s 0
    // 1      Δw min(2, 3.8), C 0.2·2 = 0.4:
    //        erodes 0.2·(0.4 − 0.2) = 0.04
    //        z 3.76  h 0  s 0                z 2      h 2  s 0.24            z 0       h 0  s 0
    // 2                                      erodes 0.2·(0.4 − 0.24) = 0.032
    //                                        z 1.968  h 0  s 0               z 0       h 2  s 0.272
    // 3                                                                      deposits 0.1·0.272
    //                                                                        z 0.0272  h 2  s 0.2448
    // end                                                                    z 0.272   all settles
    let mut model = Fluvial { x: 0.5, y: 0.5, ..documents(2.0, 0.2, 0.1) };
    let mut terrain = stair();
    steps(&model, &mut terrain, 0, 1);
    near(&heights(&terrain), [3.76, 2.0, 0.0]);
    near(&water(&terrain), [0.0, 2.0, 0.0]);
    near(&suspended(&terrain), [0.0, 0.24, 0.0]);
    steps(&model, &mut terrain, 1, 2);
    near(&heights(&terrain), [3.76, 1.968, 0.0]);
    near(&suspended(&terrain), [0.0, 0.0, 0.272]);
    steps(&model, &mut terrain, 2, 3);
    near(&heights(&terrain), [3.76, 1.968, 0.0272]);
    near(&suspended(&terrain), [0.0, 0.0, 0.2448]);
    model.steps = 4;
    steps(&model, &mut terrain, 3, 4);
    near(&heights(&terrain), [3.76, 1.968, 0.272]);
    assert!(!terrain.layers.contains_key(SUSPENDED.name), "nothing is left in the water");
}

#[test]
fn a_drop_lifts_no_more_ground_than_there_is() {
    // The document's min(PickupRate, ground), whose lower limit is 0.
    let mut terrain = ground([1, 1], 1.0, Edge::Closed, |_, _| 0.125);
    steps(&Fluvial { x: 0.5, y: 0.5, ..documents(1.0, 0.5, 0.0) }, &mut terrain, 0, 1);
    assert_eq!((heights(&terrain)[0], suspended(&terrain)[0]), (0.0, 0.125));
}

#[test]
fn equally_low_neighbours_share() {
    // 1 m of water between two cells that are 2 m lower: Δw is 1 m; both take a half, or a third of it in total if the
    // cell keeps its share.
    for (receivers, moves, each) in [
        (Receivers::LowestGround, Moves::Full, 0.5),
        (Receivers::Lowest, Moves::Full, 0.5),
        (Receivers::Lowest, Moves::Share, 1.0 / 3.0 / 2.0),
        (Receivers::All, Moves::Share, 1.0 / 3.0 / 2.0),
    ] {
        let mut terrain = ground([1, 3], 1.0, Edge::Closed, |_, j| if j == 1 { 2.0 } else { 0.0 });
        let model = Fluvial { drop: 1.0, x: 1.5, y: 0.5, receivers, moves, capacity: 0.0, ..dry() };
        steps(&model, &mut terrain, 0, 1);
        near(&water(&terrain), [each, 1.0 - 2.0 * each, each]);
    }
}

#[test]
fn steep_water_digs_and_slack_water_lays_down() {
    // Capacity by fall: at a slope of 1 in 2, half of Kc·Δw. 1 m of water, 0.5 m moves over 0.5 m in 1 m... of drop 1.5 m
    // held at slope 1 straight; the same drop over 6 m of cell is a slope of a quarter.
    let dug = |cell: f64| {
        let mut terrain = ground([1, 2], cell, Edge::Closed, |_, j| if j == 0 { 1.5 } else { 0.0 });
        let model = Fluvial {
            drop: cell * cell,
            x: 0.0,
            y: 0.0,
            capacity: 0.5,
            softness: 0.5,
            capacity_from: CapacityFrom::Fall,
            ..dry()
        };
        steps(&model, &mut terrain, 0, 1);
        1.5 - heights(&terrain)[0]
    };
    // The surface falls by 2.5 m: over 1 m the slope is capped at 1, over 10 m it is a quarter. Ks·Kc·Δw =
    // 0.5·0.5·0.5.
    assert!((dug(1.0) - 0.125).abs() < 2.0 / UNITS);
    assert!((dug(10.0) - 0.25 * 0.125).abs() < 2.0 / UNITS);
}

/// A reference implementation that processes every cell of a map one by one: default rules, closed edges, no sea, no
/// masks.
struct Sweep {
    size: [usize; 2],
    ground: Vec<i64>,
    water: Vec<i64>,
    sediment: Vec<i64>,
}

impl Sweep {
    /// Computes the water that flows from cell `a` to each of its neighbours, and what is eroded, deposited and
    /// carried off there.
    fn out(&self, a: usize, model: &Fluvial, phase: f64) -> (Vec<(usize, i64)>, i64, i64, i64) {
        let [rows, cols] = self.size.map(|n| n as isize);
        let (i, j) = ((a / self.size[1]) as isize, (a % self.size[1]) as isize);
        let level = |k: usize| self.ground[k] + self.water[k];
        let around = D8::OFFSETS.iter().map(|[di, dj]| (i + di, j + dj));
        let cells = around.filter(|(r, c)| (0..rows).contains(r) && (0..cols).contains(c));
        let lower: Vec<(usize, i64)> = cells
            .map(|(r, c)| ((r * cols + c) as usize, level(a) - level((r * cols + c) as usize)))
            .filter(|(_, drop)| *drop > 0)
            .collect();
        let sum: i64 = lower.iter().map(|(_, drop)| drop).sum();
        let parts = sum as i128 * (lower.len() as i128 + 1);
        let share = |drop: i64| (i128::from(self.water[a].min(drop)) * i128::from(drop) / parts) as i64;
        let moves: Vec<(usize, i64)> = lower.iter().map(|(k, drop)| (*k, share(*drop))).collect();
        let moved: i64 = moves.iter().map(|(_, amount)| amount).sum();
        let (sediment, units) = (self.sediment[a], |x: f64| (x + phase) as i64);
        if moved == 0 {
            return (Vec::new(), 0, units(model.deposition * sediment as f64).min(sediment), 0);
        }
        let capacity = model.capacity * moved as f64;
        let missing = capacity - sediment as f64;
        if missing <= 0.0 {
            let out = units(capacity).min(sediment);
            return (moves, 0, units(model.deposition * (sediment - out) as f64).min(sediment - out), out);
        }
        let bed = lower.iter().map(|(k, _)| self.ground[*k]).min().unwrap();
        let dug = units(model.softness * missing).min(self.ground[a] - bed).max(0);
        (moves, dug, 0, sediment + dug)
    }

    fn step(&mut self, model: &Fluvial, step: u32) {
        let phase = f64::from(step.wrapping_mul(2_654_435_769)) / 4_294_967_296.0;
        let plans: Vec<_> = (0..self.ground.len()).map(|a| self.out(a, model, phase)).collect();
        for (a, (moves, dug, laid, out)) in plans.into_iter().enumerate() {
            self.ground[a] += laid - dug;
            self.sediment[a] += dug - laid;
            let moved: i64 = moves.iter().map(|(_, amount)| amount).sum();
            for (k, amount) in moves {
                let solid = (i128::from(out) * i128::from(amount) / i128::from(moved)) as i64;
                (self.water[a], self.water[k]) = (self.water[a] - amount, self.water[k] + amount);
                (self.sediment[a], self.sediment[k]) = (self.sediment[a] - solid, self.sediment[k] + solid);
            }
        }
    }
}

#[test]
fn the_wet_cells_alone_give_what_a_full_sweep_gives() {
    let model = Fluvial { drop: 900.0, x: 95.0, y: 95.0, pickup: 0.4, capacity: 0.8, steps: 1000, ..dry() };
    let mut terrain = noise([37, 150], 5.0, 12.0, Edge::Closed);
    let mut plain = Sweep {
        size: terrain.grid.size,
        ground: terrain.ground.as_slice().iter().map(|h| i64::from(h.0)).collect(),
        water: vec![0; terrain.grid.len()],
        sediment: vec![0; terrain.grid.len()],
    };
    let at = 19 * 150 + 19;
    plain.water[at] = 36 * 65_536;
    plain.sediment[at] = (0.4 * UNITS) as i64;
    plain.ground[at] -= plain.sediment[at];
    let mut stepper = model.start(&terrain.grid).unwrap();
    for step in 0..400 {
        stepper.run_step(&mut terrain, tick(step)).unwrap();
        plain.step(&model, step);
        let units = |values: Vec<f64>| values.into_iter().map(|x| (x * UNITS) as i64).collect::<Vec<_>>();
        assert!(units(heights(&terrain)) == plain.ground, "ground after step {step}");
        assert!(units(water(&terrain)) == plain.water, "water after step {step}");
        assert!(units(suspended(&terrain)) == plain.sediment, "sediment after step {step}");
    }
    let wet = plain.water.iter().filter(|w| **w > 0).count();
    assert!(wet > 100 && wet < terrain.grid.len(), "{wet} wet cells");
}

#[test]
fn a_drop_in_a_closed_bowl_comes_to_rest() {
    for receivers in [Receivers::All, Receivers::Lowest] {
        let key = RandomKey::new(3, "bowl");
        let mut terrain = ground([31, 29], 2.0, Edge::Closed, |i, j| {
            let far = (i as f64 - 15.0) * (i as f64 - 15.0) + (j as f64 - 14.0) * (j as f64 - 14.0);
            0.05 * far + key.for_cell([i as i64, j as i64]).uniform_unit()
        });
        let model = Fluvial { drop: 300.0, x: 9.0, y: 40.0, pickup: 0.3, receivers, steps: 100_000, ..dry() };
        steps(&model, &mut terrain, 0, 6000);
        let before = terrain.clone();
        let more = steps(&model, &mut terrain, 6000, 6050);
        assert!(terrain == before && more == MassBalance::default(), "{receivers:?}");
        assert!(suspended(&terrain).iter().all(|s| *s == 0.0));
        // At rest, no wet cell is higher than a neighbour by more than nine units for each of up to eight receivers.
        let level = |i: usize, j: usize| {
            terrain.ground[(i, j)].metres() + f64::from(terrain.float_layer(&WATER).unwrap()[(i, j)])
        };
        let deep = |i: usize, j: usize| terrain.float_layer(&WATER).unwrap()[(i, j)] > 0.01;
        for (i, j) in
            (0..31).flat_map(|i| (0..28).map(move |j| (i, j))).filter(|(i, j)| deep(*i, *j) && deep(*i, j + 1))
        {
            assert!((level(i, j) - level(i, j + 1)).abs() <= 72.0 / UNITS, "{receivers:?}, ({i}, {j})");
        }
    }
}

#[test]
fn a_drop_on_a_cone_runs_alike_on_all_sides() {
    for (receivers, moves, capacity_from) in [
        (Receivers::All, Moves::Share, CapacityFrom::Moved),
        (Receivers::All, Moves::Share, CapacityFrom::Fall),
        (Receivers::Lowest, Moves::Full, CapacityFrom::Whole),
    ] {
        let mut terrain = ground([41, 41], 10.0, Edge::Open, |i, j| {
            let far = (i as f64 - 20.0) * (i as f64 - 20.0) + (j as f64 - 20.0) * (j as f64 - 20.0);
            200.0 - 7.0 * far.sqrt()
        });
        let model = Fluvial { drop: 2000.0, x: 205.0, y: 205.0, pickup: 2.0, receivers, moves, capacity_from, ..dry() };
        let budget = steps(&model, &mut terrain, 0, 50);
        assert!(budget.eroded > 0);
        for (i, j) in (0..41).flat_map(|i| (0..41).map(move |j| (i, j))) {
            let all = [(j, i), (40 - i, j), (i, 40 - j), (40 - j, 40 - i)].map(|at| terrain.ground[at]);
            assert_eq!(all, [terrain.ground[(i, j)]; 4], "({i}, {j})");
        }
    }
}

/// The terrain rotated by 90° clockwise, with its edges.
fn turned(terrain: &Terrain) -> Terrain {
    let [rows, cols] = terrain.grid.size;
    let [north, east, south, west] = terrain.grid.edges;
    let grid =
        Grid { size: [cols, rows], world: [cols, rows], edges: [west, north, east, south], ..terrain.grid.clone() };
    let ground = Field::from_fn([cols, rows], |i, j| terrain.ground[(rows - 1 - j, i)]);
    Terrain::from_ground(grid, ground).unwrap()
}

#[test]
fn a_turned_map_with_turned_springs_gives_the_turned_result() {
    for (receivers, moves, capacity_from) in [
        (Receivers::All, Moves::Share, CapacityFrom::Moved),
        (Receivers::All, Moves::Full, CapacityFrom::Fall),
        (Receivers::Lowest, Moves::Share, CapacityFrom::Fall),
        (Receivers::LowestGround, Moves::Full, CapacityFrom::Whole),
    ] {
        let mut straight = noise([33, 50], 10.0, 20.0, Edge::Open);
        straight.grid.edges[1] = Edge::Closed;
        straight.grid.sea_level = Some(Height::from_metres_clamped(-15.0));
        let mut other = turned(&straight);
        let model =
            Fluvial { drop: 700.0, x: 105.0, y: 55.0, evaporation: 30.0, receivers, moves, capacity_from, ..dry() };
        let places = [[205.0, 155.0, 3.0], [400.0, 301.0, 0.4]];
        let spring = |[x, y, rate]: [f64; 3]| Spring { x, y, rate };
        springs::add_springs(&mut straight, &places.map(spring)).unwrap();
        // 330 m from north to south become 330 m from west to east: a place (x, y) moves to (330 − y, x).
        springs::add_springs(&mut other, &places.map(|[x, y, rate]| spring([330.0 - y, x, rate]))).unwrap();
        steps(&model, &mut straight, 0, 50);
        steps(&Fluvial { x: 330.0 - model.y, y: model.x, ..model.clone() }, &mut other, 0, 50);
        assert!(other.ground == turned(&straight).ground, "{receivers:?} {moves:?} {capacity_from:?}");
        let depth = |terrain: &Terrain, i: usize, j: usize| terrain.float_layer(&WATER).unwrap()[(i, j)];
        for (i, j) in (0..50).flat_map(|i| (0..33).map(move |j| (i, j))) {
            assert_eq!(depth(&other, i, j), depth(&straight, 32 - j, i));
        }
    }
}

#[test]
fn water_closes() {
    let mut terrain = noise([60, 45], 10.0, 20.0, Edge::Open);
    terrain.grid.sea_level = Some(Height::from_metres_clamped(-15.0));
    springs::add_springs(&mut terrain, &[Spring { x: 200.0, y: 200.0, rate: 5.0 }]).unwrap();
    let model = Fluvial { rain: 300.0, evaporation: 100.0, drop: 5000.0, x: 30.0, y: 500.0, steps: 300, ..dry() };
    let budget = steps(&model, &mut terrain, 0, 300);
    for (name, amount) in [
        ("rained", budget.rained),
        ("poured", budget.poured),
        ("evaporated", budget.evaporated),
        ("drained", budget.drained),
    ] {
        assert!(amount > 1.0, "{name} {amount}");
    }
    // 5 m³/s for 300 steps of 10 s, and the drop; each step is rounded to a unit over 100 m².
    assert!((budget.poured - 20_000.0).abs() < 0.01, "{}", budget.poured);
    let change = budget.water_change();
    assert!((stored(&terrain) - change).abs() < 1e-9 * budget.rained, "{} {change}", stored(&terrain));
}

#[test]
fn amounts_under_a_unit_add_up() {
    // A thousandth of a millimetre of rain per step is a fifteenth of a unit; the spring gives a third of one.
    let mut terrain = ground([3, 3], 10.0, Edge::Closed, |_, _| 5.0);
    springs::add_springs(&mut terrain, &[Spring { x: 15.0, y: 15.0, rate: 5e-5 }]).unwrap();
    let model = Fluvial { rain: 0.36, velocity: 1.0, steps: 1000, ..dry() };
    let budget = steps(&model, &mut terrain, 0, 1000);
    // At most one unit less on every cell.
    assert!((budget.rained - 0.9).abs() <= 900.0 / UNITS, "{}", budget.rained);
    assert!((budget.poured - 0.5).abs() <= 100.0 / UNITS, "{}", budget.poured);
}

#[test]
fn rain_falls_where_the_mask_lets_it() {
    let mut terrain = ground([4, 4], 10.0, Edge::Closed, |_, _| 5.0);
    let mask = Field::from_fn([4, 4], |i, j| [1.0, 0.5, f32::NAN, -3.0][(i + j) % 4]);
    terrain.insert_layer(&RAIN, Cells::Float(mask.clone())).unwrap();
    let budget = steps(&Fluvial { rain: 36_000.0, ..dry() }, &mut terrain, 0, 1);
    // 36 m/h for 10 s are 100 mm, on four cells in full and on four by half.
    assert!((budget.rained - 0.1 * 100.0 * 6.0).abs() < 0.1, "{}", budget.rained);
}

#[test]
fn evaporation_leaves_nothing_wet() {
    let mut terrain = noise([40, 40], 10.0, 20.0, Edge::Closed);
    let model = Fluvial { drop: 1000.0, x: 200.0, y: 200.0, evaporation: 600.0, steps: 8000, ..dry() };
    let budget = steps(&model, &mut terrain, 0, 8000);
    assert_eq!(water(&terrain).iter().sum::<f64>(), 0.0);
    assert!((budget.evaporated - 1000.0).abs() < 1e-6);
}

#[test]
fn open_edges_and_the_sea_take_water_and_closed_ones_hold_it() {
    let slope = |edge| ground([5, 12], 10.0, edge, |_, j| 20.0 - j as f64);
    let model = Fluvial { drop: 500.0, x: 25.0, y: 25.0, steps: 3000, ..dry() };
    let mut closed = slope(Edge::Closed);
    let budget = steps(&model, &mut closed, 0, 3000);
    assert_eq!((budget.drained, budget.exported), (0.0, 0));
    assert!((stored(&closed) - 500.0).abs() < 1e-6);
    let mut open = slope(Edge::Open);
    let budget = steps(&model, &mut open, 0, 3000);
    assert!(budget.drained > 495.0 && budget.exported > 0);
    let mut coast = slope(Edge::Closed);
    coast.grid.sea_level = Some(Height::from_metres_clamped(12.5));
    let before = coast.sum_solid();
    let budget = steps(&model, &mut coast, 0, 3000);
    assert!(budget.drained > 495.0 && budget.exported == 0);
    assert_eq!(coast.sum_solid(), before, "the sea keeps the sediment");
    assert!(coast.ground[(2, 8)] > Height::from_metres_clamped(12.0), "and builds a delta of it");
    let mut drowned = slope(Edge::Open);
    drowned.grid.sea_level = Some(Height::from_metres_clamped(100.0));
    let before = drowned.ground.clone();
    let budget = steps(&Fluvial { rain: 100.0, ..model }, &mut drowned, 0, 50);
    assert!(drowned.ground == before && budget.rained == 0.0 && budget.drained == budget.poured);
}

#[test]
fn no_cell_is_dug_below_where_its_water_goes() {
    // A spring on a terrace: with pits it erodes a shaft, without them it cuts back to the level of the terrain below.
    let run = |pits: bool| {
        let mut terrain = ground([9, 30], 10.0, Edge::Open, |_, j| if j < 15 { 50.0 } else { 40.0 });
        springs::add_springs(&mut terrain, &[Spring { x: 135.0, y: 45.0, rate: 5.0 }]).unwrap();
        steps(&Fluvial { pits, capacity: 1.0, ..dry() }, &mut terrain, 0, 49);
        heights(&terrain).into_iter().fold(f64::MAX, f64::min)
    };
    assert!(run(false) >= 40.0 && run(true) < 39.99, "{} {}", run(false), run(true));
}

#[test]
fn whatever_the_parameters_nothing_is_negative_or_lost() {
    for draw in 0..300 {
        let key = RandomKey::new(draw, "any");
        let unit = |n: u64| key.derive_key(n).uniform_unit();
        let mut model = Fluvial::default();
        for (number, param) in model.declared().iter().enumerate() {
            let u = [0.0, 1.0, unit(number as u64), unit(number as u64)]
                [(key.derive_key(900 + number as u64).random_bits() % 4) as usize];
            let value = match param.kind {
                ParamKind::Number { min, max } => Written::from((min + (max - min) * u * u * u * u).clamp(min, max)),
                ParamKind::Count { .. } => Written::Whole(12),
                ParamKind::Switch => Written::Switch(u < 0.5),
                ParamKind::Choice(words) => Written::from(words[(u * (words.len() as f64 - 0.5)) as usize].0),
            };
            model.set("fluvial", param.name, &value).unwrap();
        }
        let edge = if draw % 2 == 0 { Edge::Open } else { Edge::Closed };
        let cell = [1.0, 0.001, 1000.0][(draw % 3) as usize];
        let mut terrain = noise([13, 17], cell, [10.0, 8000.0, 0.0][(draw / 2 % 3) as usize], edge);
        terrain.nodata = (draw % 5 == 0).then(|| Field::from_fn([13, 17], |i, j| (i * 5 + j) % 11 == 0));
        terrain.grid.sea_level = (draw % 7 == 0).then(|| Height::from_metres_clamped(-3.0));
        (model.x, model.y) = (unit(800) * 17.0 * cell, unit(801) * 13.0 * cell);
        model.drop *= unit(802) * 16_000.0 * cell * cell / 1e12;
        let rate = unit(803) * 10.0;
        springs::add_springs(&mut terrain, &[Spring { x: cell, y: cell, rate }]).unwrap();
        let before = terrain.sum_solid();
        let budget = steps(&model, &mut terrain, 0, 12);
        assert_eq!(terrain.sum_solid() - before, budget.solid_change(), "{draw}: {model:?}");
        assert!(water(&terrain).iter().all(|w| w.is_finite() && *w >= 0.0), "{draw}: {model:?}");
        let all = budget.rained + budget.poured + 1e-9;
        assert!((stored(&terrain) - budget.water_change()).abs() <= 1e-6 * all, "{draw}: {budget:?} {model:?}");
        let range = Height::MIN..=Height::MAX;
        assert!(terrain.ground.as_slice().iter().all(|h| range.contains(h)), "{draw}: {model:?}");
    }
}

#[test]
fn what_cannot_be_is_named() {
    let terrain = ground([10, 20], 10.0, Edge::Open, |_, _| 0.0);
    for (model, words) in [
        (Fluvial { drop: 1.0, x: 200.5, ..dry() }, "fluvial.x = 200.5 m: must be 0 to 200 m (the world's width)"),
        (Fluvial { drop: 1.0, y: 1e3, ..dry() }, "fluvial.y = 1000 m: must be 0 to 100 m (the world's height)"),
        (Fluvial { drop: 1e9, ..dry() }, "fluvial.drop = 1000000000 m³: must be 0 to 1600000 m³"),
    ] {
        let message = model.start(&terrain.grid).err().unwrap().to_string();
        assert!(message.starts_with(words), "{message}");
    }
    let mut forged = terrain.clone();
    forged.insert_layer(&SUSPENDED, Cells::Height(Field::new([10, 20], Height(-1)))).unwrap();
    let mut stepper = dry().start(&forged.grid).unwrap();
    assert!(stepper.run_step(&mut forged, tick(0)).unwrap_err().to_string().starts_with("layer `suspended`"));
    let mut mask = terrain.clone();
    let small = mask.insert_layer(&RAIN, Cells::Float(Field::new([5, 5], 1.0))).unwrap_err().to_string();
    assert!(small.contains("layer `rain` is 5 × 5 cells"), "{small}");
}

#[test]
fn beside_a_drop_no_rain_falls_but_what_is_asked_for() {
    let rain = |lines: &str| {
        let recipe = Recipe::parse(&format!("extent = [100, 100]\n[[stage]]\nmodel = \"fluvial\"\n{lines}")).unwrap();
        let again = Recipe::parse(&recipe.to_toml()).unwrap();
        let [one, two] = [&recipe, &again].map(|recipe| recipe.stages[0].model.get("rain").unwrap());
        assert_eq!(one, two, "{lines}");
        if let Value::Number(rain) = one { rain } else { f64::NAN }
    };
    let usual = Fluvial::default().rain;
    assert!(usual > 0.0);
    for (lines, want) in [
        ("", usual),
        ("drop = 0", usual),
        ("drop = 5", 0.0),
        ("drop = 5\nrain = 3", 3.0),
        ("rain = 3\ndrop = 5", 3.0),
        ("rain = 3", 3.0),
    ] {
        assert_eq!(rain(lines), want, "{lines}");
    }
    // A companion that a model declares for a parameter must refer to the model's own parameters.
    for model in thalweg_models::models::all_models() {
        for beside in model.dependent_defaults() {
            assert!(model.get(beside.with).is_some() && model.get(beside.name).is_some(), "{beside:?}");
        }
    }
}
