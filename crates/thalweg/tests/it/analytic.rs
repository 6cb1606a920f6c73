//! Tests of droplets against calculations by hand, and against the formulas written out plainly in floating point,
//! with a case on each side of every branch.
//!
//! A single droplet is placed where a test needs it, through the table in which droplets wait between steps. With a
//! brush of radius 0 and positions on cell centres it erodes only behind itself, so that its whole run can be computed
//! by hand.

use crate::support::terrain_on;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, Column, HARDNESS, LayerSpec, PROTECT, RAIN, Table};
use thalweg_core::{Edge, Field, Grid, Height, Result, Terrain};
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models::droplets::{DEPOSIT, Droplets, VISITS, WEAR};

/// One height unit in metres.
const UNIT: f64 = 1.0 / UNITS;

/// A droplet to release: its position (cells), its direction, and the sediment that it carries (metres over a cell).
#[derive(Clone, Copy)]
struct Drop {
    at: [f64; 2],
    direction: [f64; 2],
    carried: f64,
}

fn drop_at(at: [f64; 2], carried: f64) -> Drop {
    Drop { at, direction: [0.0, 0.0], carried }
}

/// Runs one droplet to its end. All maps here fit into one tile, so a single step does it.
fn release(model: &Droplets, terrain: &mut Terrain, drop: Drop) -> MassBalance {
    let ints = |x: i64| Column::Int(vec![x]);
    let floats = |x: f64| Column::Float(vec![x as f32]);
    let columns = vec![
        ("number", ints(0)),
        ("row", ints(drop.at[0] as i64)),
        ("column", ints(drop.at[1] as i64)),
        ("carried", ints((drop.carried * UNITS) as i64)),
        ("age", ints(0)),
        ("part_south", floats(drop.at[0].fract())),
        ("part_east", floats(drop.at[1].fract())),
        ("south", floats(drop.direction[0])),
        ("east", floats(drop.direction[1])),
        ("velocity", floats(model.velocity)),
        ("water", floats(model.water)),
        ("remainder", floats(0.0)),
    ];
    let columns = columns.into_iter().map(|(name, values)| (name.to_string(), String::new(), values)).collect();
    terrain.tables.insert("droplets".to_string(), Table { columns });
    let before = terrain.sum_solid();
    let step = model.steps(&terrain.grid) - 1;
    let budget = model.start(&terrain.grid).unwrap().run_step(terrain, Tick { key: RandomKey::ZERO, step }).unwrap();
    assert!(terrain.tables.is_empty(), "the droplet has ended");
    assert_eq!(terrain.sum_solid() - before, budget.solid_change(), "mass closes");
    budget
}

fn terrain(size: [usize; 2], cell: f64, metres: impl Fn(usize, usize) -> f64 + Sync) -> Terrain {
    terrain_on(Grid::new(size, cell).unwrap(), metres)
}

/// A terrain of 20 × 24 cells of 10 m that falls by `drop` metres per cell towards the east.
fn falling_east(drop: f64) -> Terrain {
    terrain([20, 24], 10.0, |_, j| 500.0 - drop * j as f64)
}

/// The droplet of most tests: a narrow brush, no gravity, a single droplet, with all layers.
fn narrow() -> Droplets {
    Droplets { count: 1, radius: 0.0, gravity: 0.0, visits: true, wear: true, deposit: true, ..Droplets::default() }
}

/// The values of a layer, in metres or counts.
fn layer(terrain: &Terrain, spec: &LayerSpec) -> Field<f64> {
    match &terrain.layers[spec.name].cells {
        Cells::Height(field) => field.map(|h| h.metres()),
        Cells::Count(field) => field.map(|n| f64::from(*n)),
        Cells::Float(field) => field.map(|x| f64::from(*x)),
    }
}

fn total(terrain: &Terrain, spec: &LayerSpec) -> f64 {
    layer(terrain, spec).as_slice().iter().sum()
}

fn metres(units: i128) -> f64 {
    units as f64 * UNIT
}

#[track_caller]
fn near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got} is not {want} ± {tolerance}");
}

/// Returns where a droplet is after `steps` steps: it then deposits its load on four corners, whose centre of mass is
/// the position. Weights are rounded to 2⁻¹⁵, so the position is known to 4 · 2⁻¹⁵ of a cell.
fn place(model: &Droplets, ground: &Terrain, drop: Drop, steps: u32) -> [f64; 2] {
    let model = Droplets { max_steps: steps, erosion: 0.0, deposition: 0.0, deposit: true, ..model.clone() };
    let mut terrain = ground.clone();
    release(&model, &mut terrain, Drop { carried: 10.0, ..drop });
    let laid = layer(&terrain, &DEPOSIT);
    let moment = |of: &dyn Fn(usize, usize) -> usize| {
        let cells = (0..laid.rows()).flat_map(|i| (0..laid.cols()).map(move |j| (i, j)));
        cells.map(|(i, j)| laid[(i, j)] * of(i, j) as f64).sum::<f64>() / 10.0
    };
    [moment(&|i, _| i), moment(&|_, j| j)]
}

const PLACE: f64 = 4.0 / 32_768.0 + 4.0 * UNIT;

#[test]
fn it_digs_a_share_of_what_it_can_still_carry() {
    // A fall of 2 m per cell, gravity 0.1 per metre, and 10 % of the water lost per step. The capacity is 3·fall·v·w;
    // 3 % of the unused capacity is eroded:
    //   step 1: v = 1,       w = 1:    c = 6,             eroded 0.03·6 = 0.18
    //   step 2: v = √1.2,    w = 0.9:  c = 5.4·√1.2,      eroded 0.03·(5.915 − 0.18) = 0.172060
    //   step 3: v = √1.4,    w = 0.81: c = 4.86·√1.4,     eroded 0.03·(5.750 − 0.352) = 0.161950
    let model = Droplets { gravity: 0.1, ..narrow() };
    let dug_1 = 0.03 * 6.0;
    let dug_2 = 0.03 * (5.4 * 1.2f64.sqrt() - dug_1);
    let dug_3 = 0.03 * (4.86 * 1.4f64.sqrt() - dug_1 - dug_2);
    // Three steps from column 19, then over the edge: the load is exported.
    let mut ground = falling_east(2.0);
    let budget = release(&model, &mut ground, drop_at([7.0, 19.0], 0.0));
    // Amounts are whole units, and the fraction is carried along, so each cut is off by at most a unit (f32 is a
    // hundred times finer here).
    let wear = layer(&ground, &WEAR);
    for (j, dug) in [(19, dug_1), (20, dug_2), (21, dug_3)] {
        near(wear[(7, j)], dug, 1.1 * UNIT);
    }
    near(metres(budget.eroded), dug_1 + dug_2 + dug_3, 1.1 * UNIT);
    assert_eq!((budget.deposited, budget.exported), (0, budget.eroded));
    // Visits are along the slope and nowhere else; the fourth step led out of the map.
    let visits = layer(&ground, &VISITS);
    assert_eq!((budget.particle_steps, visits.as_slice().iter().sum::<f64>()), (4, 4.0));
    assert!((19..23).all(|j| visits[(7, j)] == 1.0));
}

#[test]
fn near_flat_ground_counts_as_the_least_slope() {
    // 1 cm per cell is below min_slope·dx = 0.01·10 m: c = 3·0.1, eroded 0.03·0.3 = 0.009, less than the fall of 0.01.
    let mut ground = falling_east(0.01);
    release(&narrow(), &mut ground, drop_at([7.0, 21.0], 0.0));
    near(layer(&ground, &WEAR)[(7, 21)], 0.009, 1.1 * UNIT);
}

#[test]
fn over_capacity_it_lays_a_share_of_the_excess_on_four_corners() {
    // Capacity 6, load 10: 0.03·4 = 0.12 is deposited, with the bilinear weights of (¼, ½): ⅜ ⅜ ⅛ ⅛.
    let mut ground = falling_east(2.0);
    let budget = release(&narrow(), &mut ground, drop_at([7.25, 21.5], 10.0));
    let laid = layer(&ground, &DEPOSIT);
    // Weights rounded to 2⁻¹⁵ of 0.12 m are a quarter of a unit; each corner is rounded to whole units.
    for (cell, weight) in [((7, 21), 0.375), ((7, 22), 0.375), ((8, 21), 0.125), ((8, 22), 0.125)] {
        near(laid[cell], 0.12 * weight, 1.5 * UNIT);
    }
    near(metres(budget.exported), 10.0 - 0.12, 1.1 * UNIT);
    assert_eq!(budget.eroded, 0);
}

#[test]
fn uphill_it_fills_the_pit_it_left_and_no_more() {
    // The terrain rises by 2 m per cell eastward, and the droplet heads east with inertia 0.9: 0.9 − 0.1 > 0, so it
    // climbs. It deposits min(2, s).
    let climb = Droplets { inertia: 0.9, max_steps: 1, ..narrow() };
    for (carried, filled) in [(5.0, 2.0), (2.0, 2.0), (0.5, 0.5), (0.0, 0.0)] {
        let mut ground = falling_east(-2.0);
        let budget = release(&climb, &mut ground, Drop { direction: [0.0, 1.0], ..drop_at([7.0, 10.0], carried) });
        let laid = layer(&ground, &DEPOSIT);
        // It deposits the rest at its end, one cell further.
        assert_eq!((laid[(7, 10)], laid[(7, 11)]), (filled, carried - filled));
        assert_eq!(budget.eroded, 0);
        assert!(ground.ground[(7, 10)] <= falling_east(-2.0).ground[(7, 11)], "no higher than the rim");
    }
}

#[test]
fn it_never_digs_deeper_than_its_drop() {
    // Capacity 1000·2 m: 3 % of it would be 60 m. The fall is 2 m, and that much is eroded (cuts of more than a metre
    // are rounded down to 1/256 m; the rest is carried along).
    let greedy = Droplets { capacity_factor: 1000.0, max_steps: 1, ..narrow() };
    let mut ground = falling_east(2.0);
    release(&greedy, &mut ground, drop_at([7.0, 10.0], 0.0));
    near(layer(&ground, &WEAR)[(7, 10)], 2.0 - 0.5 / 256.0, 0.5 / 256.0);
    // On cells wider than a stride (here by a quarter) the limit is a volume: 2 m over (8/10)² of a cell.
    let fine = Droplets { stride: 8.0, ..greedy };
    let mut ground = falling_east(2.0);
    release(&fine, &mut ground, drop_at([7.0, 10.0], 0.0));
    near(layer(&ground, &WEAR)[(7, 10)], 1.28, 1.0 / 256.0);
}

#[test]
fn inertia_keeps_some_of_the_old_direction() {
    // Heading south on a terrain that falls east: d = (inertia, 1 − inertia), normalised.
    let ground = falling_east(2.0);
    let south = Drop { direction: [1.0, 0.0], ..drop_at([7.0, 10.0], 0.0) };
    for inertia in [0.0, 0.3, 0.5, 0.999] {
        let length = f64::hypot(inertia, 1.0 - inertia);
        let [y, x] = place(&Droplets { inertia, ..narrow() }, &ground, south, 1);
        near(y, 7.0 + inertia / length, PLACE);
        near(x, 10.0 + (1.0 - inertia) / length, PLACE);
    }
    // A droplet at rest takes the direction of the slope whatever its inertia.
    let [y, x] = place(&Droplets { inertia: 0.9, ..narrow() }, &ground, drop_at([7.0, 10.0], 0.0), 3);
    near(y, 7.0, PLACE);
    near(x, 13.0, PLACE);
}

#[test]
fn its_path_follows_the_slope() {
    // A plane that falls by 3 m southward and 4 m eastward: (0.6, 0.8) per step.
    let ground = terrain([20, 24], 10.0, |i, j| 500.0 - 3.0 * i as f64 - 4.0 * j as f64);
    for steps in 1..10 {
        let [y, x] = place(&narrow(), &ground, drop_at([3.2, 5.3], 0.0), steps);
        near(y, 3.2 + 0.6 * f64::from(steps), PLACE);
        near(x, 5.3 + 0.8 * f64::from(steps), PLACE);
    }
}

#[test]
fn climbing_takes_its_velocity() {
    // A climb of 2 m, then a fall of 1 m per cell. v² = 1 − 2·0.3 = 0.4: c = 3·1·√0.4·0.9, of which 3 % is eroded.
    // With gravity 0.6, v² would be −0.2: at rest the droplet can carry nothing and erodes nothing.
    for (gravity, v) in [(0.3, 0.4f64.sqrt()), (0.6, 0.0)] {
        let model = Droplets { inertia: 0.9, gravity, max_steps: 2, ..narrow() };
        let mut ground = terrain([20, 24], 10.0, |_, j| if j < 11 { 98.0 } else { 111.0 - j as f64 });
        release(&model, &mut ground, Drop { direction: [0.0, 1.0], ..drop_at([7.0, 10.0], 0.0) });
        near(layer(&ground, &WEAR)[(7, 11)], 0.03 * 3.0 * v * 0.9, 1.1 * UNIT);
    }
}

#[test]
fn it_ends_when_its_steps_or_its_water_are_spent_or_nothing_moves_it() {
    let steps = |model: &Droplets, ground: &Terrain, drop| release(model, &mut ground.clone(), drop).particle_steps;
    let (slope, flat) = (falling_east(2.0), falling_east(0.0));
    let here = drop_at([7.0, 3.0], 1.0);
    for max_steps in [1, 2, 7] {
        assert_eq!(steps(&Droplets { max_steps, ..narrow() }, &slope, here), u64::from(max_steps));
    }
    // Water 1, ½, ¼, then ⅛ < 0.2. If the initial water is too little, there is no step.
    let thirsty = Droplets { evaporation: 0.5, min_water: 0.2, ..narrow() };
    assert_eq!(steps(&thirsty, &slope, here), 3);
    assert_eq!(steps(&Droplets { water: 0.1, ..thirsty }, &slope, here), 0);
    // Flat at rest; flat and moving, without and with inertia: with it, over 20 cells to the edge.
    let moving = Drop { direction: [0.0, 1.0], ..here };
    assert_eq!(steps(&narrow(), &flat, here), 1);
    assert_eq!(steps(&Droplets { inertia: 0.0, ..narrow() }, &flat, moving), 1);
    assert_eq!(steps(&narrow(), &flat, moving), 20);
    // Wherever it ends, it deposits its whole load.
    let mut ground = flat.clone();
    assert_eq!(metres(release(&narrow(), &mut ground, here).deposited), 1.0);
    assert_eq!(ground.ground[(7, 3)].metres(), 501.0);
}

#[test]
fn what_reaches_an_open_edge_leaves_and_a_closed_one_keeps_it() {
    // A slope towards each side in turn; only that side is open, or only that side is closed.
    let slopes = [[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 1.0]];
    for (side, [south, east]) in slopes.into_iter().enumerate() {
        let slope = terrain([20, 20], 10.0, |i, j| 500.0 + 2.0 * (south * i as f64 + east * j as f64));
        for open in [true, false] {
            let mut ground = slope.clone();
            ground.grid.edges = [if open { Edge::Closed } else { Edge::Open }; 4];
            ground.grid.edges[side] = if open { Edge::Open } else { Edge::Closed };
            let budget = release(&Droplets { radius: 2.0, ..narrow() }, &mut ground, drop_at([9.3, 9.6], 0.0));
            assert!(budget.eroded > 0);
            assert_eq!(budget.exported, if open { budget.eroded - budget.deposited } else { 0 });
            assert_eq!(budget.exported > 0, open, "side {side}");
        }
    }
}

#[test]
fn in_the_sea_it_only_lays_down_and_fills_no_higher_than_the_sea() {
    // At sea level in column 10, and 0.5 m per cell deeper beyond.
    let mut ground = terrain([20, 24], 10.0, |_, j| 5.0 - 0.5 * j as f64);
    ground.grid.sea_level = Some(Height::ZERO);
    let model = Droplets { deposition: 1.0, evaporation: 0.0, capacity_factor: 1000.0, ..narrow() };
    let coast = ground.clone();
    let budget = release(&model, &mut ground, drop_at([7.0, 6.0], 3.0));
    let (wear, laid) = (layer(&ground, &WEAR), layer(&ground, &DEPOSIT));
    assert!((6..=10).all(|j| wear[(7, j)] > 0.0), "on land it digs");
    assert!((11..24).all(|j| wear[(7, j)] == 0.0), "in the sea it does not");
    // Under water it can carry nothing and would deposit everything at once, but each cell takes no more than its
    // depth.
    for (j, depth) in [(10, 0.0), (11, 0.5), (12, 1.0)] {
        near(laid[(7, j)], depth, UNIT);
    }
    assert!((11..24).all(|j| ground.ground[(7, j)] <= Height::ZERO));
    assert_eq!(budget.exported, 0);
    // At its end everything has to be deposited: 7 m in a depth of 1 m.
    let mut ground = coast;
    release(&Droplets { max_steps: 1, ..model }, &mut ground, drop_at([7.0, 11.0], 7.5));
    near(ground.ground[(7, 12)].metres(), 6.0, 2.0 * UNIT);
}

#[test]
fn the_floor_is_never_undercut() {
    let mut ground = falling_east(2.0);
    let model = Droplets { floor: 465.0, capacity_factor: 1000.0, erosion: 1.0, radius: 2.0, ..narrow() };
    let limited: u64 = (0..20).map(|_| release(&model, &mut ground, drop_at([7.0, 3.0], 0.0)).limited).sum();
    let was = falling_east(2.0);
    let cells = || ground.ground.as_slice().iter().zip(was.ground.as_slice());
    let floor = Height::from_metres(465.0).unwrap();
    assert!(limited > 0 && cells().any(|(now, was)| *now == floor && *was > floor), "it is reached");
    assert!(cells().all(|(now, was)| *now >= floor.min(*was)), "and not passed");
}

#[test]
fn hard_protected_and_loose_ground_give_their_share() {
    // The formula gives 0.18 m (see the first test). Sediment is eroded first, whatever the bedrock's hardness;
    // protection reduces both.
    let dug = |hardness: f32, protect: f32, loose: f64| {
        let mut ground = falling_east(2.0);
        let size = ground.grid.size;
        ground.insert_layer(&HARDNESS, Cells::Float(Field::new(size, hardness))).unwrap();
        ground.insert_layer(&PROTECT, Cells::Float(Field::new(size, protect))).unwrap();
        ground.loose = Some(Field::new(size, Height::from_metres(loose).unwrap()));
        release(&Droplets { max_steps: 1, ..narrow() }, &mut ground, drop_at([7.0, 10.0], 0.0));
        let left = ground.loose.as_ref().unwrap();
        let (dug, laid) = (layer(&ground, &WEAR)[(7, 10)], layer(&ground, &DEPOSIT)[(7, 11)]);
        near(left[(7, 10)].metres(), (loose - dug).max(0.0), 2.0 * UNIT);
        near(left[(7, 11)].metres(), loose + laid, 2.0 * UNIT); // deposits are sediment
        dug
    };
    for (hardness, protect, loose, want) in [
        (0.0, 0.0, 0.0, 0.18),
        (0.5, 0.0, 0.0, 0.09),
        (1.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, 0.05, 0.05),
        (0.5, 0.0, 0.05, 0.05 + 0.5 * 0.13),
        (1.0, 0.0, 1.0, 0.18),
        (0.0, 0.5, 0.0, 0.09),
        (0.0, 1.0, 1.0, 0.0),
        (0.5, 0.5, 0.0, 0.045),
        (f32::NAN, f32::NAN, 0.0, 0.18), // NaN has no effect
    ] {
        near(dug(hardness, protect, loose), want, 3.0 * UNIT); // one rounding per factor
    }
}

/// Runs all steps of a model.
fn run(model: &Droplets, terrain: &mut Terrain, seed: u64) -> Result<MassBalance> {
    let mut stepper = model.start(&terrain.grid)?;
    let mut budget = MassBalance::default();
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(seed, "analytic"), step })?;
    }
    Ok(budget)
}

#[test]
fn rain_falls_where_it_is_told() {
    // 4000 droplets, 30 % of them accepted on the western half and none on the eastern: binomial, σ =
    // √(4000·½·0.3·0.85) ≈ 23.
    let mut ground = terrain([60, 61], 10.0, |_, _| 5.0);
    let rain = Field::from_fn([60, 61], |_, j| if j < 30 { 0.3 } else { 0.0 });
    ground.insert_layer(&RAIN, Cells::Float(rain)).unwrap();
    let model = Droplets { count: 4000, ..narrow() };
    let budget = run(&model, &mut ground, 1).unwrap();
    near(budget.particles as f64, 600.0, 5.0 * 23.0);
    let visits = layer(&ground, &VISITS);
    assert!((0..60).all(|i| (30..61).all(|j| visits[(i, j)] == 0.0)));
}

#[test]
fn cells_without_data_are_a_wall() {
    let mut ground = falling_east(2.0);
    ground.nodata = Some(Field::from_fn([20, 24], |_, j| j >= 15));
    let before = ground.clone();
    let budget = release(&Droplets { radius: 3.0, ..narrow() }, &mut ground, drop_at([7.3, 5.4], 0.0));
    assert!(budget.eroded > 0 && budget.exported == 0 && budget.deposited == budget.eroded);
    assert!((0..20).all(|i| (15..24).all(|j| ground.ground[(i, j)] == before.ground[(i, j)])));
    assert_eq!(total(&ground, &VISITS), budget.particle_steps as f64);
}

#[test]
fn layers_add_up_to_the_ledger() {
    let key = RandomKey::new(5, "rough");
    let mut ground = terrain([70, 90], 10.0, |i, j| {
        40.0 * libm::sin(i as f64 / 9.0) * libm::cos(j as f64 / 7.0)
            + key.for_cell([i as i64, j as i64]).uniform_signed()
    });
    let model = Droplets { count: 3000, radius: 2.0, ..narrow() };
    let budget = run(&model, &mut ground, 2).unwrap();
    assert!(budget.particles == 3000 && budget.eroded > 0);
    let near_exact = |spec, units: i128| assert_eq!(total(&ground, spec), metres(units)); // exact in f64: 53 bits
    near_exact(&WEAR, budget.eroded);
    near_exact(&DEPOSIT, budget.deposited);
    assert_eq!(total(&ground, &VISITS), budget.particle_steps as f64);
    assert_eq!(budget.exported, budget.eroded - budget.deposited);
}

#[test]
fn eight_bits_lose_a_thousandth_and_thirty_two_do_not() {
    // The finding of the original document: over 1000 m, a thousandth is 1 m; 8 bits have steps of 1000/255 = 3.92 m.
    let quantum = Height((1000.0 * UNITS / 255.0).round() as i32);
    let after = |bits: u32, code: i32, model: &Droplets, carried: f64, times: i32| {
        let mut ground = falling_east(0.0);
        ground.ground = Field::from_fn([20, 24], |_, j| Height((code - i32::from(j > 5)) * quantum.0));
        let model = Droplets { store_bits: bits, ..model.clone() };
        let lost: i128 = (0..times).map(|_| release(&model, &mut ground, drop_at([7.0, 5.0], carried)).rounded).sum();
        (Height(ground.ground[(7, 5)].0 - code * quantum.0).metres(), metres(lost))
    };
    // 130/255 + 0.001 is rounded to 130/255 again, twenty times over: every deposited metre is lost.
    let ends_at_once = Droplets { water: 0.0005, ..narrow() };
    assert_eq!(after(32, 130, &ends_at_once, 1.0, 20), (20.0, 0.0));
    assert_eq!(after(8, 130, &ends_at_once, 1.0, 20), (0.0, -20.0));
    // 3 % of a capacity of 3 falls of 3.92 m is 0.353 m: subtracted from 1.0, the result is rounded to 254/255, and
    // the deposit is lost.
    let digs = Droplets { max_steps: 1, ..narrow() };
    let (fallen, lost) = after(32, 255, &digs, 0.0, 1);
    near(fallen, -0.09 * quantum.metres(), 2.0 * UNIT);
    assert_eq!(lost, 0.0);
    assert_eq!(after(8, 255, &digs, 0.0, 1), (-quantum.metres(), -quantum.metres()));
}

#[test]
fn a_droplet_moves_the_same_volume_on_finer_cells() {
    // A slope of 0.1 and a stride of 20 m, on cells of 20 and of 10 m; 20 strides and out. Fractions per stride
    // compound exactly; the capacity is evaluated twice per stride instead of once, when the water is down by 5 % and
    // v² up by 0.01·1 m = 1 %: a mean difference of less than 2.5 % + 0.3 %.
    let volume = |cell: f64| {
        let cols = (440.0 / cell) as usize + 1;
        let mut ground = terrain([8, cols], cell, |_, j| 500.0 - 0.1 * cell * j as f64);
        let model = Droplets { stride: 20.0, gravity: 0.01, ..narrow() };
        let start = cols as f64 - 2.0 - 400.0 / cell;
        let budget = release(&model, &mut ground, drop_at([3.0, start], 0.0));
        metres(budget.exported) * cell * cell
    };
    let (coarse, fine) = (volume(20.0), volume(10.0));
    assert!(coarse > 100.0 && (fine / coarse - 1.0).abs() < 0.03, "{coarse} m³, {fine} m³");
}

/// The formulas of a droplet in floating point and plain loops, without tiles, lanes, fixed point or fast paths.
struct Plain {
    inertia: f64,
    capacity_factor: f64,
    min_drop: f64,
    erosion: f64,
    deposition: f64,
    gravity: f64,
    evaporation: f64,
    radius: i64,
    max_steps: usize,
}

/// The settings of the original document, for heights of 0 to 1 and cells of 1.
const DOCUMENT: Plain = Plain {
    inertia: 0.1,
    capacity_factor: 3.0,
    min_drop: 0.01,
    erosion: 0.03,
    deposition: 0.03,
    gravity: 0.098,
    evaporation: 0.1,
    radius: 2,
    max_steps: 600,
};

impl Plain {
    /// Runs one droplet from (y, x) with v = w = 1, and returns the cells of its steps. Edges are open.
    fn run(&self, z: &mut Field<f64>, [mut y, mut x]: [f64; 2]) -> Vec<(usize, usize)> {
        let [rows, cols] = z.size();
        let (mut dy, mut dx, mut v, mut w, mut s) = (0.0, 0.0, 1.0f64, 1.0, 0.0);
        let mut path = Vec::new();
        let corners = |y: f64, x: f64| {
            let (i, j, a, b) = (y.floor() as usize, x.floor() as usize, y.fract(), x.fract());
            let weights = [(1.0 - a) * (1.0 - b), (1.0 - a) * b, a * (1.0 - b), a * b];
            [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].into_iter().zip(weights)
        };
        for _ in 0..self.max_steps {
            if w < 0.001 {
                break;
            }
            let (i, j, a, b) = (y.floor() as usize, x.floor() as usize, y.fract(), x.fract());
            path.push((i, j));
            let [p, e, so, se] = [z[(i, j)], z[(i, j + 1)], z[(i + 1, j)], z[(i + 1, j + 1)]];
            let (gx, gy) = ((e - p) * (1.0 - a) + (se - so) * a, (so - p) * (1.0 - b) + (se - e) * b);
            let steep = f64::hypot(gx, gy);
            let pull = if steep > 0.0 { (1.0 - self.inertia) / steep } else { 0.0 };
            (dy, dx) = (dy * self.inertia - gy * pull, dx * self.inertia - gx * pull);
            let length = f64::hypot(dy, dx);
            if length == 0.0 {
                break;
            }
            (dy, dx) = (dy / length, dx / length);
            let (ny, nx) = (y + dy, x + dx);
            if ny < 0.0 || nx < 0.0 || ny >= (rows - 1) as f64 || nx >= (cols - 1) as f64 {
                return path; // it leaves the map with its load
            }
            let height = |y, x| corners(y, x).map(|(cell, weight)| z[cell] * weight).sum::<f64>();
            let rise = height(ny, nx) - height(y, x);
            let capacity = (-rise).max(self.min_drop) * v * w * self.capacity_factor;
            if rise > 0.0 || s > capacity {
                let laid = if rise > 0.0 { rise.min(s) } else { (s - capacity) * self.deposition };
                corners(y, x).for_each(|(cell, weight)| z[cell] += laid * weight);
                s -= laid;
            } else {
                let dug = ((capacity - s) * self.erosion).min(-rise);
                s += self.dig(z, [(y + 0.5).floor() as i64, (x + 0.5).floor() as i64], dug);
            }
            v = (v * v - rise * self.gravity).max(0.0).sqrt();
            w *= 1.0 - self.evaporation;
            (y, x) = (ny, nx);
        }
        corners(y, x).for_each(|(cell, weight)| z[cell] += s * weight);
        path
    }

    fn dig(&self, z: &mut Field<f64>, [ci, cj]: [i64; 2], amount: f64) -> f64 {
        let r = self.radius;
        let weight = |i: i64, j: i64| {
            let distance = ((i * i + j * j) as f64).sqrt();
            if distance <= r as f64 { 1.0 - distance / (r as f64 + 1.0) } else { 0.0 }
        };
        let offsets = || (-r..=r).flat_map(|i| (-r..=r).map(move |j| (i, j)));
        let sum: f64 = offsets().map(|(i, j)| weight(i, j)).sum();
        let mut taken = 0.0;
        for (i, j) in offsets() {
            let (Ok(row), Ok(col)) = (usize::try_from(ci + i), usize::try_from(cj + j)) else { continue };
            if row < z.rows() && col < z.cols() {
                let part = amount * weight(i, j) / sum;
                z[(row, col)] -= part;
                taken += part;
            }
        }
        taken
    }
}

#[test]
fn it_is_the_documents_droplet_a_thousand_times_as_high() {
    // Runs the plain formulas on heights of 0 to 1, and ours on the same map with lengths × 1000: heights and
    // min_slope × 1000, gravity ÷ 1000. Twelve droplets follow one another, so that later ones run over what earlier
    // ones have eroded.
    let size = [60, 62];
    // Without pits: in a pit a droplet jumps back and forth, and the last bit decides where to.
    let hills = |i: usize, j: usize| {
        let (y, x) = (i as f64 / 5.0, j as f64 / 4.0);
        0.9 - 0.006 * i as f64 - 0.008 * j as f64 + 0.02 * libm::sin(y + 0.4 * x) * libm::cos(0.7 * x)
    };
    let mut ours = terrain(size, 1.0, |i, j| 1000.0 * hills(i, j));
    // Start from exactly the same heights as ours.
    let mut plain = ours.ground.map(|h| h.metres() / 1000.0);
    let first = plain.clone();
    let model = Droplets {
        gravity: DOCUMENT.gravity / 1000.0,
        min_slope: DOCUMENT.min_drop * 1000.0,
        radius: DOCUMENT.radius as f64,
        visits: true,
        wear: false,
        deposit: false,
        ..narrow()
    };
    let (mut steps, mut moved) = (0, 0.0);
    for seed in 0..12 {
        let [a, b] = RandomKey::new(seed, "analytic").derive_key(0).uniform_pair();
        let start = [a * (size[0] - 1) as f64, b * (size[1] - 1) as f64];
        let before = layer_or_zero(&ours, size);
        let budget = run(&model, &mut ours, seed).unwrap();
        let path = DOCUMENT.run(&mut plain, start);
        // The same cells, equally often.
        let mut visits = before;
        path.iter().for_each(|cell| visits[*cell] += 1.0);
        assert!(layer(&ours, &VISITS) == visits, "droplet {seed} goes the same way");
        assert_eq!((budget.particles, budget.particle_steps), (1, path.len() as u64));
        steps += path.len();
        moved += metres(budget.eroded + budget.deposited);
    }
    // Cuts of more than a metre are rounded to 1/256 m (and the rest is carried along), weights to 2⁻¹⁵, positions to
    // about 10⁻⁵ of a cell. A cell, reached by at most a dozen steps, is therefore off by no more than 12/256 m; on
    // average, cells are off by far less.
    let (mut worst, mut most, mut sum) = (0.0f64, 0.0f64, 0.0);
    for k in 0..plain.len() {
        let [now, was, want] =
            [ours.ground.as_slice()[k].metres(), first.as_slice()[k] * 1e3, plain.as_slice()[k] * 1e3];
        worst = worst.max((now - want).abs());
        most = most.max((want - was).abs());
        sum += (now - want).abs();
    }
    assert!(steps > 200 && most > 1.0, "something happened: {steps} steps, {most} m");
    assert!(worst < 12.0 / 256.0, "{worst} m");
    assert!(sum < 1e-3 * moved, "{sum} m in all cells, of {moved} m moved");
}

fn layer_or_zero(terrain: &Terrain, size: [usize; 2]) -> Field<f64> {
    if terrain.layers.contains_key(VISITS.name) { layer(terrain, &VISITS) } else { Field::new(size, 0.0) }
}

#[test]
fn droplets_that_cannot_be_are_refused() {
    // A table from a file may contain anything. Each column in turn gets a value that no droplet has, or a surplus
    // row.
    let model = narrow();
    let good = |name: &str| match name {
        "row" | "column" => 5,
        _ => 0,
    };
    let ints = ["number", "row", "column", "carried", "age"];
    let floats = ["part_south", "part_east", "south", "east", "velocity", "water", "remainder"];
    let attempt = |bad: &str, int: i64, float: f32, extra: bool| {
        let mut ground = falling_east(2.0);
        let rows = |name: &str| if extra && name == bad { 2 } else { 1 };
        let int = |name: &&str| {
            let value = if *name == bad && !extra { int } else { good(name) };
            (name.to_string(), String::new(), Column::Int(vec![value; rows(name)]))
        };
        let float = |name: &&str| {
            let value = if *name == bad && !extra { float } else { 0.5 };
            (name.to_string(), String::new(), Column::Float(vec![value; rows(name)]))
        };
        let columns = ints.iter().map(int).chain(floats.iter().map(float)).collect();
        ground.tables.insert("droplets".to_string(), Table { columns });
        let before = (ground.fingerprints(), ground.sum_solid());
        let result = model.start(&ground.grid).unwrap().run_step(&mut ground, Tick { key: RandomKey::ZERO, step: 0 });
        assert!(
            result.is_ok() || (ground.fingerprints(), ground.sum_solid()) == before,
            "refused, it is left as it was"
        );
        result
    };
    assert!(attempt("", 0, 0.0, false).is_ok());
    for name in ints.iter().chain(&floats) {
        assert!(attempt(name, 0, 0.5, true).is_err(), "{name} with a row too many");
    }
    for name in &ints[1..] {
        for value in [i64::MIN, -1, i64::MAX, 1 << 40] {
            assert!(attempt(name, value, 0.5, false).is_err(), "{name} = {value}");
        }
    }
    for name in floats {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e9] {
            assert!(attempt(name, 0, value, false).is_err(), "{name} = {value}");
        }
    }
    for name in ["row", "column"] {
        let last = falling_east(2.0).grid.size[usize::from(name == "column")] as i64 - 1;
        assert!(attempt(name, last - 1, 0.5, false).is_ok());
        assert!(attempt(name, last, 0.5, false).is_err(), "the last {name} has no corners beyond it");
    }
}
