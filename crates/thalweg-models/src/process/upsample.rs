//! Refines a terrain, with all its layers, to cells of half the width.
//!
//! The method is average interpolation (Donoho 1993, "Smooth wavelet decompositions with blocky coefficient kernels",
//! of order five): a cell's value is taken as the mean over the cell of a polynomial that also has the means of the
//! two neighbours on either side, and the halves get that polynomial's means. It is applied first along rows, then
//! along columns. What one half gains the other loses, in whole units, so the four parts of every cell sum to four
//! times its value, which preserves the volume.

use thalweg_core::terrain::{Cells, Finer};
use thalweg_core::{Field, Grid, Height, Size, Terrain, Topology};

/// Returns the grid of the same map with cells of half the width.
pub fn upsample_grid(grid: &Grid) -> Grid {
    Grid {
        size: grid.size.map(|n| 2 * n),
        world: grid.world.map(|n| 2 * n),
        first: grid.first.map(|n| 2 * n),
        origin: grid.origin.map(|o| 2 * o),
        cell: grid.cell / 2.0,
        // A georeference describes the file's own cells, so it no longer applies.
        georeference: None,
        ..grid.clone()
    }
}

/// Returns the terrain on cells of half the width.
///
/// Ground and sediment keep their sums exactly (each of the four parts has a quarter of the cell's area), and
/// thicknesses stay non-negative; floating-point layers keep their sums up to rounding. Every layer is refined as its
/// specification defines ([`Finer`]); counts are copied. Items in tables keep their position and their amounts.
pub fn upsample_terrain(terrain: &Terrain) -> Terrain {
    let outside = terrain.nodata.as_ref();
    let topology = terrain.grid.topology();
    let ground = upsample_ground(&terrain.ground, outside, topology);
    let layers = terrain.layers.iter().map(|(name, layer)| {
        let cells = match &layer.cells {
            Cells::Height(field) => Cells::Height(match layer.traits.finer {
                Finer::Same => repeat_cells(field),
                Finer::Smooth => upsample_thicknesses(field, outside, topology),
                Finer::Level => upsample_pools(field, &ground),
                Finer::Halved => repeat_cells(field).map(|h| Height(h.0 / 2)),
            }),
            Cells::Float(field) => Cells::Float(match layer.traits.finer {
                Finer::Same => repeat_cells(field),
                Finer::Smooth | Finer::Level => upsample_depths(field, topology),
                Finer::Halved => repeat_cells(field).map(|x| 0.5 * x),
            }),
            Cells::Count(field) => Cells::Count(repeat_cells(field)),
        };
        (name.clone(), layer.with_cells(cells))
    });
    Terrain {
        grid: upsample_grid(&terrain.grid),
        loose: terrain.loose.as_ref().map(|loose| upsample_thicknesses(loose, outside, topology)),
        nodata: outside.map(repeat_cells),
        layers: layers.collect(),
        // Each item moves to the middle of its old cell.
        tables: terrain
            .tables
            .iter()
            // The load is a height: on a quarter of the area the same volume is four times as thick.
            .map(|(name, table)| (name.clone(), table.map_cells_and_loads(|_, at| 2 * at + 1, |carried| 4 * carried)))
            .collect(),
        ground,
    }
}

/// Returns the ground on cells of half the width, within the allowed elevations.
pub fn upsample_ground(field: &Field<Height>, outside: Option<&Field<bool>>, topology: Topology) -> Field<Height> {
    upsample_heights(field, outside, topology, |h| {
        (h.saturating_sub(Height::MIN.0)).min(Height::MAX.0.saturating_sub(h))
    })
}

/// Returns heights on cells of half the width. A half differs from its cell by at most `room(height)`, both in units
/// of [`Height`]. Cells that are `outside` are copied, and other cells ignore them.
pub fn upsample_heights(
    field: &Field<Height>,
    outside: Option<&Field<bool>>,
    topology: Topology,
    room: impl Fn(i32) -> i32 + Sync,
) -> Field<Height> {
    let [rows, cols] = field.size();
    let is_out = |i: usize, j: usize| outside.is_some_and(|mask| mask[(i, j)]);
    let wide = Field::from_fn([rows, 2 * cols], |i, j| {
        let row = field.row(i);
        if is_out(i, j / 2) {
            return row[j / 2];
        }
        let at = |k: isize| topology.wrap_line(1, k).filter(|k| !is_out(i, *k)).map(|k| row[k].0);
        Height(interpolate_half(&room, j, at, row[j / 2].0))
    });
    Field::from_fn([2 * rows, 2 * cols], |i, j| {
        let own = wide[(i / 2, j)];
        if is_out(i / 2, j / 2) {
            return own;
        }
        let at = |k: isize| topology.wrap_line(0, k).filter(|k| !is_out(*k, j / 2)).map(|k| wide[(k, j)].0);
        Height(interpolate_half(&room, i, at, own.0))
    })
}

/// Returns the value of half number `k` of a line of cells. `at` returns the cells that exist; the half's own cell
/// has the value `own`.
fn interpolate_half(room: &impl Fn(i32) -> i32, k: usize, at: impl Fn(isize) -> Option<i32>, own: i32) -> i32 {
    let cell = (k / 2) as isize;
    let before = |step: isize| at(cell - step).map(i64::from);
    let after = |step: isize| at(cell + step).map(i64::from);
    let rise = |from: Option<i64>, to: Option<i64>| Some(to? - from?);
    let sum = match [before(2), before(1), Some(i64::from(own)), after(1), after(2)] {
        // These are the weights of the polynomial of degree four through five cell means, in 128ths.
        [Some(a), Some(b), _, Some(c), Some(d)] => 22 * (c - b) - 3 * (d - a),
        // At an edge and one cell from it, the polynomial would oscillate around a cell that is fixed there, more
        // with each level, and lower the ground behind it. A straight line is used instead, no steeper than the
        // flatter of the two adjacent rises.
        [_, b @ Some(_), own, c @ Some(_), _] => 32 * choose_flatter_rise(rise(b, own), rise(own, c)),
        [a, b @ Some(_), own, None, _] => 32 * choose_flatter_rise(rise(a, b), rise(b, own)),
        [_, None, own, c @ Some(_), d] => 32 * choose_flatter_rise(rise(own, c), rise(c, d)),
        _ => 0,
    };
    // The bound keeps both halves within 32 bits, whatever `room` returns.
    let max_change = i64::from(room(own).clamp(0, i32::MAX - own.saturating_abs()));
    // Rounding is symmetric in both directions, so that a mirrored map gives the mirrored result.
    let by = ((sum.abs() + 64) / 128 * sum.signum()).clamp(-max_change, max_change);
    (i64::from(own) + if k.is_multiple_of(2) { -by } else { by }) as i32
}

/// Returns the smaller of two rises, and 0 if one goes up and the other down. If one is unknown, returns the other.
fn choose_flatter_rise(a: Option<i64>, b: Option<i64>) -> i64 {
    match (a, b) {
        (Some(a), Some(b)) if a.signum() == b.signum() => a.signum() * a.abs().min(b.abs()),
        (Some(_), Some(_)) | (None, None) => 0,
        (Some(one), None) | (None, Some(one)) => one,
    }
}

/// Returns thicknesses on cells of half the width; no part of a cell is negative.
pub fn upsample_thicknesses(field: &Field<Height>, outside: Option<&Field<bool>>, topology: Topology) -> Field<Height> {
    upsample_heights(field, outside, topology, |h| h.saturating_abs().min(i32::MAX - h.saturating_abs()))
}

/// Distributes the water of each cell over the four parts of its ground, as level as possible.
fn upsample_pools(pool: &Field<Height>, fine: &Field<Height>) -> Field<Height> {
    let [rows, cols] = fine.size();
    let mut out = Field::new([rows, cols], Height::ZERO);
    for (i, j) in (0..rows / 2).flat_map(|i| (0..cols / 2).map(move |j| (i, j))) {
        let depth = i64::from(pool[(i, j)].0);
        if depth <= 0 {
            continue;
        }
        let children = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (2 * i + a, 2 * j + b));
        let mut beds = children.map(|part| i64::from(fine[part].0));
        let heights = beds;
        // Sorted beds let the loop drop the highest dry part; their order among equals has no influence.
        beds.sort_unstable();
        // Find the level at which the lowest parts hold all water: start with all four parts, and exclude the highest
        // one as long as it would stay dry.
        let mut wet = 4;
        let level = loop {
            let stored_water = beds.iter().take(wet).sum::<i64>() + 4 * depth;
            if wet == 1 || stored_water > beds[wet - 1] * wet as i64 {
                break [stored_water.div_euclid(wet as i64), stored_water.rem_euclid(wet as i64)];
            }
            wet -= 1;
        };
        // Units that cannot be divided evenly go to the first of the wet parts.
        let mut rest = level[1];
        for (part, bed) in children.into_iter().zip(heights) {
            if bed > level[0] || (bed == level[0] && rest == 0) {
                continue;
            }
            let one = i64::from(rest > 0);
            rest -= one;
            out[part] = Height((level[0] - bed + one) as i32);
        }
    }
    out
}

/// Returns depths of water on cells of half the width. No part has less than half of its cell's depth, and opposite
/// parts differ from it by equal and opposite amounts.
fn upsample_depths(field: &Field<f32>, topology: Topology) -> Field<f32> {
    let [rows, cols] = field.size();
    Field::from_fn([2 * rows, 2 * cols], |i, j| {
        let [r, c] = [i / 2, j / 2];
        let own = f64::from(field[(r, c)]);
        let across = |before: Option<f32>, after: Option<f32>| match (before, after) {
            (Some(a), Some(b)) => ((f64::from(b) - f64::from(a)) / 8.0).clamp(-0.25 * own, 0.25 * own),
            _ => 0.0,
        };
        let beside = |by: [isize; 2]| topology.offset_cell([r, c], by).map(|cell| field[cell]);
        let east = across(beside([0, -1]), beside([0, 1]));
        let south = across(beside([-1, 0]), beside([1, 0]));
        let sign = |k: usize| if k.is_multiple_of(2) { -1.0 } else { 1.0 };
        (own + sign(j) * east + sign(i) * south) as f32
    })
}

/// Returns factors on cells of half the width, interpolated smoothly: nine sixteenths of the cell's own value, the
/// rest from its neighbours.
pub fn upsample_factors(field: &Field<f32>, topology: Topology) -> Field<f32> {
    let [rows, cols] = field.size();
    let near = |k: usize, axis: usize| {
        let at = (k / 2) as isize + if k.is_multiple_of(2) { -1 } else { 1 };
        topology.wrap_line(axis, at).unwrap_or(k / 2)
    };
    Field::from_fn([2 * rows, 2 * cols], |i, j| {
        let [r, c, a, b] = [i / 2, j / 2, near(i, 0), near(j, 1)];
        (9.0 * field[(r, c)] + 3.0 * (field[(a, c)] + field[(r, b)]) + field[(a, b)]) / 16.0
    })
}

/// Returns each cell's value in all four of its parts.
pub fn repeat_cells<T: Clone + Copy + Default + Send + Sync>(field: &Field<T>) -> Field<T> {
    let [rows, cols]: Size = field.size();
    Field::from_fn([2 * rows, 2 * cols], |i, j| field[(i / 2, j / 2)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::{DISCHARGE, POOL, SUSPENDED, WATER};

    fn rough(size: Size, metres: f64) -> Field<Height> {
        let key = RandomKey::new(3, "finer");
        Field::from_fn(size, |i, j| {
            Height::from_metres_clamped(metres * key.for_cell([i as i64, j as i64]).uniform_signed())
        })
    }

    fn sum(field: &Field<Height>) -> i128 {
        field.as_slice().iter().map(|h| i128::from(h.0)).sum()
    }

    #[test]
    fn a_looped_world_is_made_finer_without_a_seam() {
        let size = [9, 14];
        let rolled = |field: &Field<Height>, by: [usize; 2]| {
            let [rows, cols] = field.size();
            Field::from_fn([rows, cols], |i, j| field[((i + by[0]) % rows, (j + by[1]) % cols)])
        };
        let (coarse, wet) = (rough(size, 50.0), Field::from_fn(size, |i, j| ((i * 5 + j * 3) % 7) as f32));
        let shifted = |by: [usize; 2]| Field::from_fn(size, |i, j| wet[((i + by[0]) % 9, (j + by[1]) % 14)]);
        for (looped, by) in [([true, false], [4, 0]), ([false, true], [0, 13]), ([true, true], [8, 5])] {
            let topology = Topology { size, looped };
            let twice = by.map(|n| 2 * n);
            assert_eq!(
                upsample_ground(&rolled(&coarse, by), None, topology),
                rolled(&upsample_ground(&coarse, None, topology), twice),
                "{looped:?}"
            );
            for finer in [upsample_depths, upsample_factors] {
                let (here, there) = (finer(&wet, topology), finer(&shifted(by), topology));
                let back = |i: usize, j: usize| here[((i + twice[0]) % 18, (j + twice[1]) % 28)];
                assert_eq!(there, Field::from_fn([18, 28], back), "{looped:?}");
            }
        }
    }

    #[test]
    fn every_cell_s_parts_sum_to_four_of_it() {
        for size in [[9, 14], [1, 1], [1, 7], [2, 3]] {
            for metres in [50.0, 1e-3, 16_000.0] {
                let mut coarse = Terrain::from_ground(Grid::new(size, 40.0).unwrap(), rough(size, metres)).unwrap();
                coarse.loose = Some(rough(size, 3.0).map(|h| Height(h.0.max(0))));
                coarse.insert_layer(&SUSPENDED, Cells::Height(rough(size, 0.1).map(|h| Height(h.0.max(0))))).unwrap();
                coarse.nodata = (size[0] > 2).then(|| Field::from_fn(size, |i, j| i == 3 && j < 4));
                let fine = upsample_terrain(&coarse);
                assert_eq!((fine.grid.size, fine.grid.cell), (size.map(|n| 2 * n), 20.0));
                assert_eq!(fine.sum_solid(), 4 * coarse.sum_solid());
                let blocks = |coarse: &Field<Height>, fine: &Field<Height>| {
                    for i in 0..size[0] {
                        for j in 0..size[1] {
                            let children =
                                [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| fine[(2 * i + a, 2 * j + b)].0);
                            let sum: i64 = children.iter().map(|part| i64::from(*part)).sum();
                            assert_eq!(sum, 4 * i64::from(coarse[(i, j)].0));
                        }
                    }
                };
                blocks(&coarse.ground, &fine.ground);
                let loose = fine.loose.unwrap();
                blocks(coarse.loose.as_ref().unwrap(), &loose);
                assert!(loose.as_slice().iter().all(|h| h.0 >= 0));
                assert!(fine.ground.as_slice().iter().all(|h| (Height::MIN..=Height::MAX).contains(h)));
            }
        }
    }

    #[test]
    fn a_slope_and_a_bowl_go_on_without_steps() {
        // The means of a parabola over cells of 4 give those over cells of 2, and a plane is exact even at the edges.
        let mean = |x: f64, width: f64| x * x + width * width / 12.0;
        let coarse =
            Field::from_fn([3, 40], |_, j| Height::from_metres_clamped(mean(4.0 * (j as f64 - 20.0) + 2.0, 4.0)));
        let fine = upsample_heights(&coarse, None, coarse.size().into(), |_| i32::MAX);
        for j in 8..72 {
            let want = Height::from_metres_clamped(mean(2.0 * (j as f64 - 40.0) + 1.0, 2.0)).0;
            assert!((fine[(2, j)].0 - want).abs() <= 2, "{j}: {} and {want}", fine[(2, j)].0);
        }
        let plane = Field::from_fn([20, 20], |i, j| Height(1000 * i as i32 - 600 * j as i32));
        let fine = upsample_heights(&plane, None, plane.size().into(), |_| i32::MAX);
        for (i, j) in (0..40).flat_map(|i| (0..40).map(move |j| (i, j))) {
            assert_eq!(fine[(i, j)].0, 500 * i as i32 - 250 - 300 * j as i32 + 150, "{i}, {j}");
        }
    }

    #[test]
    fn a_cell_held_at_the_edge_grows_no_wall_and_digs_no_pit() {
        // An outlet's shoulder, 300 m above the floor that was eroded behind it, and the same at the other end.
        let line = [300, 0, 40, 60, 90, 160, 60, 20, 8, 0, 350].map(|m| Height::from_metres(f64::from(m)).unwrap());
        let mut ground = Field::from_fn([1, 11], |_, j| line[j]);
        for _ in 0..3 {
            let fine = upsample_heights(&ground, None, ground.size().into(), |_| i32::MAX);
            let last = fine.cols() - 1;
            assert_eq!([0, last].map(|j| fine[(0, j)].metres()), [300.0, 350.0]);
            assert!(fine.row(0).iter().all(|h| h.metres() >= -10.0), "{:?}", fine.row(0));
            // Only the cell at the very edge is fixed: the floor is eroded up to it again.
            let cut = |j: usize| {
                if j == 1 {
                    2
                } else if j + 1 == last {
                    last - 2
                } else {
                    j
                }
            };
            ground = Field::from_fn([1, last + 1], |_, j| fine[(0, cut(j))]);
        }
    }

    #[test]
    fn lakes_lie_level_and_keep_their_water() {
        let size = [12, 12];
        let ground = rough(size, 20.0);
        let level = Height::from_metres(4.0).unwrap();
        let pool = ground.map(|h| Height((level.0 - h.0).max(0)));
        let mut coarse = Terrain::from_ground(Grid::new(size, 40.0).unwrap(), ground).unwrap();
        coarse.insert_layer(&POOL, Cells::Height(pool.clone())).unwrap();
        let fine = upsample_terrain(&coarse);
        let deep = fine.height_layer(&POOL).unwrap();
        assert_eq!(sum(deep), 4 * sum(&pool));
        assert!(deep.as_slice().iter().all(|h| h.0 >= 0));
        let mut level_cells = 0;
        for (i, j) in (0..24).flat_map(|i| (0..24).map(move |j| (i, j))).filter(|at| deep[*at].0 > 0) {
            let at = fine.ground[(i, j)].0 + deep[(i, j)].0;
            let block = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (i / 2 * 2 + a, j / 2 * 2 + b));
            // Within a cell the water is level to one unit; where all four parts are under water, the level does not
            // change.
            assert!(block.iter().filter(|p| deep[**p].0 > 0).all(|p| (fine.ground[*p].0 + deep[*p].0 - at).abs() <= 1));
            if block.iter().all(|p| deep[*p].0 > 0) {
                assert!((at - level.0).abs() <= 1);
                level_cells += 1;
            }
        }
        assert!(level_cells > 40, "{level_cells}");
    }

    #[test]
    fn water_keeps_its_sum_and_what_passes_is_shared() {
        let size = [7, 9];
        let mut coarse = Terrain::new(Grid::new(size, 40.0).unwrap());
        let key = RandomKey::new(4, "water");
        let water = Field::from_fn(size, |i, j| key.for_cell([i as i64, j as i64]).uniform_unit().powi(3) as f32);
        coarse.insert_layer(&WATER, Cells::Float(water.clone())).unwrap();
        coarse.insert_layer(&DISCHARGE, Cells::Float(water.clone())).unwrap();
        let fine = upsample_terrain(&coarse);
        let deep = fine.float_layer(&WATER).unwrap();
        for (i, j) in (0..7).flat_map(|i| (0..9).map(move |j| (i, j))) {
            let children = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| f64::from(deep[(2 * i + a, 2 * j + b)]));
            let own = f64::from(water[(i, j)]);
            assert!((children.iter().sum::<f64>() - 4.0 * own).abs() <= own * 3e-7);
            assert!(children.iter().all(|x| *x >= 0.0));
            // Two adjacent cells together carry the discharge of the one cell before.
            let passing = fine.float_layer(&DISCHARGE).unwrap();
            assert_eq!(passing[(2 * i, 2 * j)] + passing[(2 * i, 2 * j + 1)], water[(i, j)]);
        }
    }
}
