//! Tests of filling, flow directions and accumulation against their plain forms and against their definitions.

mod plain;

use crate::support::with_threads;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Edge, Field, Grid, Height, Topology};
use thalweg_flow::{CellRole, Directions, FlowGraph, Land, OUT, PIT, VOID, accumulate, d8, fill};

/// A ground with all other inputs of a land.
struct Case {
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
    outlets: Vec<Cell>,
}

impl Case {
    fn new(size: [usize; 2], height: impl Fn(usize, usize) -> i32 + Sync) -> Self {
        let ground = Field::from_fn(size, |i, j| Height(height(i, j)));
        Self { grid: Grid::new(size, 10.0).unwrap(), ground, nodata: None, outlets: Vec::new() }
    }

    fn land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &self.outlets }
    }
}

/// Returns the `n`th of many small terrains, with sizes, edges, seas, missing data, outlets and roughness of all
/// kinds.
fn random(n: u64) -> Case {
    let key = RandomKey::new(n, "flow");
    let draw = |what: u64, below: u64| (key.derive_key(what).random_bits() >> 20) % below;
    let size = [1 + draw(0, 12) as usize, 1 + draw(1, 17) as usize];
    // From plains with two heights to ground without equal heights, some of them at the ends of the range.
    let heights = [2, 3, 6, 20, 1 << 31][draw(2, 5) as usize];
    let base = [0, Height::MIN.0, Height::MAX.0 - 20][draw(3, 3) as usize];
    let mut case = Case::new(size, |i, j| {
        let value = (key.for_cell([i as i64, j as i64]).random_bits() >> 20) % heights;
        if heights > 20 {
            (value as i64 - (1 << 30)).clamp(Height::MIN.0.into(), Height::MAX.0.into()) as i32
        } else {
            base + value as i32
        }
    });
    case.grid.edges = [0, 1, 2, 3].map(|side| if n >> side & 1 == 0 { Edge::Open } else { Edge::Closed });
    case.grid.origin = Cell::new(draw(4, 1000) as i64, draw(5, 1000) as i64);
    case.grid.world = [2000, 2000];
    // A third of the terrains is looped along either axis, or along both.
    for axis in (0..2).filter(|axis| draw(12 + *axis as u64, 3) == 0 && size[*axis] >= Topology::MIN_LOOPED_CELLS) {
        (case.grid.edges[axis], case.grid.edges[axis + 2]) = (Edge::Looped, Edge::Looped);
        case.grid.world[axis] = size[axis];
        case.grid.origin[axis] %= size[axis] as i64;
    }
    case.grid.check().unwrap();
    let some = |what: u64, share: u64| {
        let chosen =
            |i: usize, j: usize| key.derive_key(what).for_cell([i as i64, j as i64]).random_bits() % 100 < share;
        Field::from_fn(size, chosen)
    };
    match draw(6, 6) {
        0 => case.nodata = Some(some(7, 10)),
        1 => case.nodata = Some(some(7, 60)),
        2 => case.nodata = Some(some(7, 0)),
        _ => {}
    }
    if draw(8, 4) == 0 {
        let heights = case.ground.as_slice();
        case.grid.sea_level = Some(heights[draw(9, heights.len() as u64) as usize]);
    }
    if draw(10, 4) == 0 {
        let cells = some(11, 8);
        let void = |k: usize| case.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
        let chosen = (0..cells.len()).filter(|k| cells.as_slice()[*k] && !void(*k));
        case.outlets = chosen.map(|k| Cell::new(k / size[1], k % size[1])).collect();
    }
    case.land().check().unwrap();
    case
}

fn weights(case: &Case) -> Field<i64> {
    Field::from_fn(case.grid.size, |i, j| {
        RandomKey::new(5, "weights").for_cell([i as i64, j as i64]).random_bits() as i64 >> 20
    })
}

/// Checks the properties that any filled land must have.
fn check_drained(land: &Land<'_>, filled: &Field<Height>, directions: &Directions) {
    let parts = plain::parts(land);
    let valid = parts.as_slice().iter().filter(|part| **part != CellRole::Void).count();
    let counts = accumulate::count_upstream_cells(directions);
    let mut out = 0;
    for k in 0..filled.len() {
        assert!(filled.as_slice()[k] >= land.ground.as_slice()[k], "filling only raises");
        let code = directions.as_slice()[k];
        assert_ne!(code, PIT, "every cell of a filled surface drains");
        assert_eq!(code == VOID, parts.as_slice()[k] == CellRole::Void);
        if let Some(n) = directions.next(k) {
            assert!(filled.as_slice()[n] <= filled.as_slice()[k], "water never rises");
        }
        out += if code == OUT { counts.as_slice()[k] as usize } else { 0 };
    }
    // There are no cycles either: their cells would be missing from the count.
    assert_eq!(out, valid, "all cells drain out");
    let order = accumulate::upstream_order(directions);
    assert_eq!(order.len(), valid);
    let mut place = vec![usize::MAX; filled.len()];
    order.iter().enumerate().for_each(|(x, k)| place[*k as usize] = x);
    for &k in &order {
        if let Some(n) = directions.next(k as usize) {
            assert!(place[k as usize] < place[n], "each cell comes before the one that it drains to");
        }
    }
}

#[test]
fn small_terrains_equal_the_plain_forms() {
    for n in 0..6_000 {
        let case = random(n);
        let land = case.land();
        assert_eq!(land.cell_roles(), plain::parts(&land), "parts of terrain {n}");
        let filled = fill::fill_depressions(&land);
        assert_eq!(filled, plain::fill(&land), "filled terrain {n}");
        for surface in [land, land.with_ground(&filled)] {
            let directions = d8::route_d8(&surface);
            assert_eq!(directions, plain::directions(&surface), "directions of terrain {n}");
            let weights = weights(&case);
            assert_eq!(
                accumulate::accumulate_weights(&directions, &weights).unwrap(),
                plain::weighted(&directions, &weights)
            );
            let ones = Field::new(case.grid.size, 1);
            let counts = accumulate::count_upstream_cells(&directions).map(|count| i64::from(*count));
            assert_eq!(counts, plain::weighted(&directions, &ones), "cells through each cell of terrain {n}");
        }
        let (again, directions) = FlowGraph::new(&land).into_parts();
        assert_eq!(again, filled);
        assert_eq!(directions, d8::route_d8(&land.with_ground(&filled)), "terrain {n}");
        assert_eq!(fill::fill_depressions(&land.with_ground(&filled)), filled, "filling again changes nothing");
        check_drained(&land, &filled, &directions);
    }
}

#[test]
fn filled_surfaces_are_those_of_minimax_paths() {
    for n in 50_000..51_000 {
        let case = random(n);
        assert_eq!(fill::fill_depressions(&case.land()), plain::minimax(&case.land()), "terrain {n}");
    }
}

/// Builds ground with a relief of several hundred metres over several bands of rows, rounded to steps of `step`
/// metres, with pits, lakes and plains.
fn rough(size: [usize; 2], step: f64) -> Case {
    let key = RandomKey::new(3, "rough");
    let waves = |x: f64| libm::sin(x / 31.0) * 300.0 + libm::sin(x / 7.3 + 1.0) * 40.0;
    Case::new(size, |i, j| {
        let noise = key.for_cell([i as i64, j as i64]).uniform_signed() * 20.0;
        let metres = waves(i as f64) + waves(j as f64 * 0.7 + i as f64 * 0.4) + noise;
        Height::from_metres_clamped((metres / step).round() * step).0
    })
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // One wide and low field, and one with several bands; heights are in steps of 5 m, so that lakes and plains lie
    // across bands.
    for size in [[700, 611], [40, 9000]] {
        let mut case = rough(size, 5.0);
        case.nodata = Some(Field::from_fn(size, |i, j| (i / 40 + j / 50) % 17 == 3));
        case.grid.edges[0] = Edge::Closed;
        let weights = weights(&case);
        let all = |threads: usize| {
            with_threads(threads, || {
                let land = case.land();
                let (filled, directions) = FlowGraph::new(&land).into_parts();
                let open = d8::route_d8(&land);
                let counts = accumulate::count_upstream_cells(&directions);
                let sums = accumulate::accumulate_weights(&directions, &weights).unwrap();
                let order = accumulate::upstream_order(&directions);
                (land.cell_roles(), filled, directions, open, counts, sums, order)
            })
        };
        let one = all(1);
        assert!(one == all(2) && one == all(7));
        assert_eq!(one.1, plain::fill(&case.land()));
        assert_eq!(one.2, plain::directions(&case.land().with_ground(&one.1)));
        assert_eq!(one.3, plain::directions(&case.land()));
        check_drained(&case.land(), &one.1, &one.2);
    }
}

/// Drains a land that is large enough for a quadratic algorithm to take too long, and checks the result.
fn drained(case: &Case) -> (Field<Height>, Directions) {
    let land = case.land();
    let (filled, directions) = FlowGraph::new(&land).into_parts();
    check_drained(&land, &filled, &directions);
    (filled, directions)
}

#[test]
fn a_plain_drains_to_its_nearest_edge() {
    let side = 1024;
    let (filled, directions) = drained(&Case::new([side, side], |_, _| 7));
    assert_eq!(filled, Field::new([side, side], Height(7)));
    for k in (0..side * side).step_by(37) {
        let (i, j) = (k / side, k % side);
        let nearest = i.min(j).min(side - 1 - i).min(side - 1 - j);
        assert_eq!(plain::path(&directions, k).len(), nearest + 1);
    }
}

#[test]
fn a_spiral_drains_along_its_whole_length() {
    // A corridor one cell wide that winds inwards between high walls; its inner end is the farthest cell.
    let side = 301;
    let mut floor = Field::new([side, side], false);
    let (mut at, mut step) = ([0i64, 0i64], [0i64, 1i64]);
    let inside = |cell: [i64; 2]| cell.iter().all(|x| (0..side as i64).contains(x));
    let mut corridor = 1;
    floor[(0, 0)] = true;
    loop {
        let open = |from: [i64; 2], step: [i64; 2], floor: &Field<bool>| {
            let next = [from[0] + step[0], from[1] + step[1]];
            let beyond = [next[0] + step[0], next[1] + step[1]];
            inside(next)
                && !floor[(next[0] as usize, next[1] as usize)]
                && !(inside(beyond) && floor[(beyond[0] as usize, beyond[1] as usize)])
        };
        if !open(at, step, &floor) {
            step = [step[1], -step[0]];
            if !open(at, step, &floor) {
                break;
            }
        }
        at = [at[0] + step[0], at[1] + step[1]];
        floor[(at[0] as usize, at[1] as usize)] = true;
        corridor += 1;
    }
    let mut case = Case::new([side, side], |i, j| if floor[(i, j)] { 100 } else { 50_000 });
    case.grid.edges = [Edge::Closed; 4];
    case.outlets = vec![Cell::new(0, 0)];
    let (_, directions) = drained(&case);
    let inner = at[0] as usize * side + at[1] as usize;
    let length = plain::path(&directions, inner).len();
    // Flow cuts each of the four corners of a turn; the walls next to the corridor are two cells apart.
    assert!(length > corridor * 9 / 10 && length <= corridor, "{length} of {corridor} cells");
}

#[test]
fn bad_terrains_drain() {
    let pits = Case::new([1023, 1023], |i, j| if i % 2 == 1 && j % 2 == 1 { -((i * j) as i32) } else { 5 });
    assert_eq!(drained(&pits).0, Field::new([1023, 1023], Height(5)), "each pit is filled to the ridges");
    drained(&Case::new([1024, 512], |i, j| if (i + j) % 2 == 0 { Height::MIN.0 } else { Height::MAX.0 }));
    let key = RandomKey::new(9, "noise");
    drained(&Case::new([512, 1024], |i, j| {
        Height::from_metres_clamped(key.for_cell([i as i64, j as i64]).uniform_signed() * 16_000.0).0
    }));
    let mut nothing = Case::new([300, 200], |i, j| (i * j) as i32);
    nothing.nodata = Some(Field::new([300, 200], true));
    let (filled, directions) = drained(&nothing);
    assert_eq!((filled, directions), (nothing.ground.clone(), Field::new([300, 200], VOID).into()));
    for edge in [Edge::Open, Edge::Closed] {
        let mut cell = Case::new([1, 1], |_, _| Height::MAX.0);
        cell.grid.edges = [edge; 4];
        let (filled, directions) = drained(&cell);
        assert_eq!((filled[(0, 0)], directions[(0, 0)]), (Height::MAX, OUT));
    }
    // There is also a result for heights beyond the accepted range.
    for height in [i32::MIN, i32::MAX] {
        let case = Case::new([9, 9], |i, j| if (i, j) == (4, 4) { height } else { -(height / 2) });
        drained(&case);
    }
}

#[test]
fn flow_over_a_lake_gathers_in_its_middle() {
    // A lake with one outlet at its eastern end, between shores: if directions depended on the distance to the outlet
    // alone, flow paths would run side by side.
    let case = Case::new([41, 121], |i, j| match (i, j) {
        (20, 120) => 0,
        (1..40, 1..120) => 10,
        _ => 1000 + (i * 31 + j * 17) as i32 % 7,
    });
    let (_, directions) = drained(&case);
    let counts = accumulate::count_upstream_cells(&directions);
    let lake = 39 * 119;
    // Half way along the lake, most of the upstream flow passes through the three middle rows.
    let middle: u32 = (19..22).map(|i| counts[(i, 60)]).sum();
    assert!(middle as usize > lake * 4 / 10, "{middle} of {lake}");
}

#[test]
fn a_flat_without_a_way_out_keeps_its_water() {
    let case = Case::new([9, 9], |i, j| i32::from(!((2..7).contains(&i) && (2..7).contains(&j))) * 50);
    let directions = d8::route_d8(&case.land());
    let counts = accumulate::count_upstream_cells(&directions);
    let pits: Vec<usize> = (0..81).filter(|k| directions.as_slice()[*k] == PIT).collect();
    assert_eq!(pits.len(), 25);
    // Its own cells and the ring of 24 cells that drains into it; the outermost ring drains out.
    assert_eq!(pits.iter().map(|k| counts.as_slice()[*k]).sum::<u32>(), 49);
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let directions = d8::route_d8(&Case::new([2, 2], |i, j| (i + j) as i32).land());
    let refused = |weights| accumulate::accumulate_weights(&directions, &weights).unwrap_err().to_string();
    assert!(refused(Field::new([2, 3], 1)).contains("2 × 2 (the directions)"));
    assert!(refused(Field::new([2, 2], i64::MAX)).contains("magnitudes"));
    assert!(refused(Field::new([2, 2], i64::MIN)).contains("36893488147419103232"));
}

#[test]
fn directions_that_lead_astray_harm_nothing() {
    // Invalid directions: out of the field, around its sides, and in cycles.
    for n in 0..2_000 {
        let key = RandomKey::new(n, "astray");
        let size = [1 + (key.random_bits() % 5) as usize, 1 + (key.derive_key(1).random_bits() % 5) as usize];
        let codes = Field::from_fn(size, |i, j| (key.for_cell([i as i64, j as i64]).random_bits() >> 20) as u8 % 11);
        let directions = Directions::from(codes).with_looped_axes([n % 3 == 0, n % 5 == 0]);
        with_threads(1 + n as usize % 2, || {
            accumulate::count_upstream_cells(&directions);
            accumulate::upstream_order(&directions);
            accumulate::accumulate_weights(&directions, &Field::new(size, -3)).unwrap();
        });
    }
}
