//! A stepper that works on a coarser copy of the terrain, for processes whose own scale is wider than a cell.
//!
//! Each step averages every block of K × K cells, runs the inner stepper on the averages for a few steps, and adds
//! the change of each block to the fine ground. The change is weighted by a quadratic B-spline, so that neither
//! blocks nor facets are visible, and divided in integers, so that the mass balance closes exactly. Detail finer than
//! a block stays as it was.

use rayon::prelude::*;

use crate::model::{MassBalance, Stepper, Tick};
use thalweg_core::terrain::{Cells, Coarser};
use thalweg_core::{Error, Field, Grid, Height, Result, Terrain, Topology};

/// A stepper that runs `inner` on blocks of `factor` × `factor` cells, `rounds` of its `steps` per step of its own.
pub struct Coarsened {
    /// The number of cells along a block's side, at least 2.
    pub factor: usize,
    /// The number of the inner stepper's steps per step.
    pub rounds: u32,
    /// The total number of the inner stepper's steps.
    pub steps: u32,
    /// The inner stepper, started on [`coarsen_grid`] of the same factor.
    pub inner: Box<dyn Stepper>,
}

/// Checks that a whole number of blocks fits along looped axes.
///
/// # Errors
/// Returns an error if it does not, or if there are too few blocks; `name` and `value` identify the setting to
/// change.
pub fn check_blocks_fit(grid: &Grid, factor: usize, name: &str, value: impl std::fmt::Display) -> Result<()> {
    for (axis, looped) in grid.topology().looped.into_iter().enumerate() {
        let cells = grid.size[axis];
        let is_between = grid.origin[axis].rem_euclid(factor as i64) != 0;
        if looped && (is_between || !cells.is_multiple_of(factor) || cells / factor < Topology::MIN_LOOPED_CELLS) {
            let line = ["rows", "columns"][axis];
            let allowed = format!(
                "0, or a width that divides the {cells} looped {line} into {} or more equal blocks; here it is \
                 {factor} cells",
                Topology::MIN_LOOPED_CELLS
            );
            return Err(Error::invalid_value(name, value, allowed));
        }
    }
    Ok(())
}

/// Returns the grid of blocks over `grid`. Blocks are anchored to world cells. The blocks at the ends of the world
/// may be partial, so along looped axes a whole number of blocks must fit ([`check_blocks_fit`]).
pub fn coarsen_grid(grid: &Grid, factor: usize) -> Grid {
    let side = factor as i64;
    let origin = grid.origin.map(|o| o.div_euclid(side));
    let last = [0, 1].map(|a| (grid.origin[a] + grid.size[a] as i64 - 1).div_euclid(side));
    let first = grid.first.map(|first| first.div_euclid(side));
    let end = [0, 1].map(|a| (grid.first[a] + grid.world[a] as i64 - 1).div_euclid(side) + 1);
    Grid {
        size: [0, 1].map(|a| (last[a] - origin[a] + 1) as usize),
        cell: grid.cell * factor as f64,
        origin,
        world: [0, 1].map(|a| (end[a] - first[a]) as usize),
        first,
        georeference: None,
        ..grid.clone()
    }
}

impl Stepper for Coarsened {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut small = coarsen_terrain(terrain, self.factor);
        let before = small.ground.clone();
        let mut budget = MassBalance::default();
        for round in 0..self.rounds {
            // The inner stepper counts its own steps, so its random numbers do not depend on how many rounds a step
            // has.
            let step = tick.step * self.rounds + round;
            if step < self.steps {
                budget += self.inner.run_step(&mut small, Tick { step, ..tick })?;
            }
        }
        // A unit of height on a block is K² units on cells.
        let area = (self.factor * self.factor) as i128;
        let MassBalance { eroded, deposited, exported, added, rounded, .. } = &mut budget;
        for amount in [eroded, deposited, exported, added, rounded] {
            *amount *= area;
        }
        let (made, limited) = apply_coarse_changes(terrain, &small, &before, self.factor);
        budget.rounded += made;
        budget.limited += limited;
        Ok(budget)
    }
}

/// Returns the first cell of block `b` along an axis, in the window's cells; it may be before the window.
fn find_block_start(grid: &Grid, small: &Grid, factor: usize, axis: usize, b: usize) -> i64 {
    (small.origin[axis] + b as i64) * factor as i64 - grid.origin[axis]
}

/// Returns the cells of block `b` that are inside the window.
fn find_block_cells(grid: &Grid, small: &Grid, factor: usize, axis: usize, b: usize) -> std::ops::Range<usize> {
    let from = find_block_start(grid, small, factor, axis, b);
    let bound = |x: i64| x.clamp(0, grid.size[axis] as i64) as usize;
    bound(from)..bound(from + factor as i64)
}

/// Returns the terrain averaged over blocks: means of the ground and of the sediment, and for layers what their
/// specification defines ([`Coarser`]). A block has no data if any cell in it or in the blocks around it has none,
/// because the change of a block is spread one block beyond it.
pub fn coarsen_terrain(terrain: &Terrain, factor: usize) -> Terrain {
    let fine = &terrain.grid;
    let (grid, topology) = (coarsen_grid(fine, factor), fine.topology());
    let spans =
        |i: usize, j: usize| [find_block_cells(fine, &grid, factor, 0, i), find_block_cells(fine, &grid, factor, 1, j)];
    let mean = |field: &Field<Height>| {
        Field::from_fn(grid.size, |i, j| {
            let [rows, cols] = spans(i, j);
            let count = (rows.len() * cols.len()) as i64;
            let sum: i64 = rows.flat_map(|r| &field.row(r)[cols.clone()]).map(|h| i64::from(h.0)).sum();
            // The mean is rounded down, below zero as well; only changes of blocks are transferred back, so this
            // rounding adds nothing to the balance.
            Height(sum.div_euclid(count) as i32)
        })
    };
    // Returns the rows and columns of a block and of the blocks around it.
    let around = |i: usize, j: usize| {
        let widen = |span: std::ops::Range<usize>, axis: usize| {
            let wide = span.start as isize - factor as isize..(span.end + factor) as isize;
            wide.filter_map(|at| topology.wrap_line(axis, at)).collect::<Vec<usize>>()
        };
        let [rows, cols] = spans(i, j);
        [widen(rows, 0), widen(cols, 1)]
    };
    let layers = terrain.layers.iter().filter_map(|(name, layer)| {
        let Cells::Float(field) = &layer.cells else { return None };
        let block = |i: usize, j: usize| match layer.traits.coarser {
            Coarser::Mean => {
                let [rows, cols] = spans(i, j);
                let count = (rows.len() * cols.len()) as f32;
                rows.flat_map(|r| &field.row(r)[cols.clone()]).sum::<f32>() / count
            }
            Coarser::Most => {
                let [rows, cols] = around(i, j);
                let values = rows.iter().flat_map(|r| cols.iter().map(|c| field[(*r, *c)]));
                values.fold(0.0, |largest: f32, x| largest.max(x))
            }
            Coarser::Empty => 0.0,
        };
        let is_read = layer.traits.coarser != Coarser::Empty;
        is_read.then(|| (name.clone(), layer.with_cells(Cells::Float(Field::from_fn(grid.size, block)))))
    });
    let nodata = terrain.nodata.as_ref().map(|mask| {
        Field::from_fn(grid.size, |i, j| {
            let [rows, cols] = around(i, j);
            rows.iter().any(|r| cols.iter().any(|c| mask[(*r, *c)]))
        })
    });
    let side = factor as i64;
    let tables = terrain.tables.iter().map(|(name, table)| {
        // A load is a height on a cell: on a block the same volume is K² times thinner.
        (name.clone(), table.map_cells_and_loads(|_, at| at.div_euclid(side), |carried| carried / (side * side)))
    });
    Terrain {
        ground: mean(&terrain.ground),
        loose: terrain.loose.as_ref().map(mean),
        layers: layers.collect(),
        tables: tables.collect(),
        nodata,
        grid,
    }
}

/// Adds the changes of the coarse terrain to the fine one. Returns the units that clamping to the allowed elevations
/// created or lost, and the number of clamped cells.
fn apply_coarse_changes(terrain: &mut Terrain, small: &Terrain, before: &Field<Height>, factor: usize) -> (i128, u64) {
    let fine = terrain.grid.clone();
    let spline = Spline::new(&fine, &small.grid, factor);
    let area = (factor * factor) as i64;
    let change: Vec<i64> = small
        .ground
        .as_slice()
        .iter()
        .zip(before.as_slice())
        // Amounts are in units of a fine cell, so that the distribution conserves the volume.
        .map(|(after, before)| i64::from(after.0 - before.0) * area)
        .collect();
    let mut loose = terrain.loose.as_mut().map(Field::as_mut_slice);
    let (mut made, mut limited) = (0, 0);
    spline.distribute_amounts(&change, |cell, part| {
        let ground = &mut terrain.ground[cell];
        let target = i64::from(ground.0) + part;
        let kept = target.clamp(Height::MIN.0.into(), Height::MAX.0.into());
        made += i128::from(kept - target);
        limited += u64::from(kept != target);
        if let Some(loose) = &mut loose {
            // Sediment follows the ground: deposits add to it, and erosion removes it first.
            let remaining_sediment = i64::from(loose[cell].0) + kept - i64::from(ground.0);
            loose[cell] = Height(remaining_sediment.clamp(0, i32::MAX.into()) as i32);
        }
        *ground = Height(kept as i32);
    });
    for (name, layer) in &small.layers {
        let blank = || layer.with_cells(Cells::zeros(layer.cells.cell_type(), fine.size));
        match (&layer.cells, &mut terrain.layers.entry(name.clone()).or_insert_with(blank).cells) {
            (Cells::Height(from), Cells::Height(to)) => {
                let amounts: Vec<i64> = from.as_slice().iter().map(|h| i64::from(h.0) * area).collect();
                let to = to.as_mut_slice();
                spline.distribute_amounts(&amounts, |cell, part| {
                    to[cell] = Height((i64::from(to[cell].0) + part).clamp(0, i32::MAX.into()) as i32);
                });
            }
            (Cells::Count(from), Cells::Count(to)) => to.par_rows_mut().for_each(|(i, row)| {
                let block = |x: usize, axis: usize| {
                    ((x as i64 + fine.origin[axis]).div_euclid(factor as i64) - small.grid.origin[axis]) as usize
                };
                for (j, count) in row.iter_mut().enumerate() {
                    *count = count.saturating_add(from[(block(i, 0), block(j, 1))]);
                }
            }),
            // Factor layers are only read.
            _ => {}
        }
    }
    let side = factor as i64;
    terrain.tables = small
        .tables
        .iter()
        .map(|(name, table)| {
            let moved = table.map_cells_and_loads(|_, at| at * side + side / 2, |carried| carried * side * side);
            (name.clone(), moved)
        })
        .collect();
    (made, limited)
}

/// The weights that distribute a block's amount over itself and the eight blocks around it: a quadratic B-spline in
/// both directions.
struct Spline {
    factor: usize,
    /// The cumulative weights of the 3K × 3K cells, in parts of 2³⁰.
    upto: Vec<i64>,
    /// The fine row of each row of the 3K rows around block row 0, 1, and so on; rows outside the terrain are
    /// reflected back inside.
    rows: Vec<usize>,
    cols: Vec<usize>,
    blocks: [usize; 2],
    width: usize,
}

impl Spline {
    fn new(fine: &Grid, small: &Grid, factor: usize) -> Self {
        let side = 3 * factor;
        let weight = |c: usize| {
            // `t` is the distance from the block's centre, in blocks.
            let t = ((c as f64 + 0.5) / factor as f64 - 1.5).abs();
            // This is the quadratic B-spline, which is zero from one and a half blocks on.
            if t < 0.5 { 0.75 - t * t } else { 0.5 * (1.5 - t) * (1.5 - t) }
        };
        let line: Vec<f64> = (0..side).map(weight).collect();
        let total: f64 = line.iter().sum::<f64>() * line.iter().sum::<f64>();
        let mut sum = 0.0;
        let cells = (0..side).flat_map(|r| (0..side).map(move |c| (r, c)));
        let mut upto: Vec<i64> = cells
            .map(|(r, c)| {
                sum += line[r] * line[c];
                (sum / total * f64::from(1 << 30)).round() as i64
            })
            .collect();
        if let Some(last) = upto.last_mut() {
            // The last total is set to the whole, so that rounding never loses a part.
            *last = 1 << 30;
        }
        let folded = |axis: usize| {
            let cells = fine.size[axis] as i64;
            (0..small.size[axis])
                .flat_map(|b| (0..side).map(move |c| (b, c)))
                .map(|(b, c)| {
                    let x = find_block_start(fine, small, factor, axis, b) + c as i64 - factor as i64;
                    if let Some(line) = fine.topology().wrap_line(axis, x as isize) {
                        return line;
                    }
                    // Reflects at the edge; a terrain narrower than that is clamped to its other edge.
                    (if x < 0 {
                        -1 - x
                    } else if x >= cells {
                        2 * cells - 1 - x
                    } else {
                        x
                    })
                    .clamp(0, cells - 1) as usize
                })
                .collect()
        };
        Self { factor, upto, rows: folded(0), cols: folded(1), blocks: small.size, width: fine.size[1] }
    }

    /// Distributes each block's amount: calls `add(cell, part)` for every cell that receives a part. The parts sum to
    /// the amount.
    fn distribute_amounts(&self, amounts: &[i64], mut add: impl FnMut(usize, i64)) {
        let side = 3 * self.factor;
        for (b, amount) in amounts.iter().enumerate().filter(|(_, amount)| **amount != 0) {
            let [i, j] = [b / self.blocks[1], b % self.blocks[1]];
            let cols = &self.cols[j * side..(j + 1) * side];
            // The shift rounds down, so the low half is never negative, also for a negative amount.
            let (whole, grain) = (amount >> 30, amount & ((1 << 30) - 1));
            let mut before = 0;
            for (r, row) in self.rows[i * side..(i + 1) * side].iter().enumerate() {
                for (c, col) in cols.iter().enumerate() {
                    // amount · weight / 2³⁰, in two halves that fit into 64 bits.
                    let weight = self.upto[r * side + c];
                    let total = whole * weight + ((grain * weight) >> 30);
                    if total != before {
                        add(row * self.width + col, total - before);
                        before = total;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::PROTECT;
    use thalweg_core::{Cell, CellRect};

    fn terrain(size: [usize; 2]) -> Terrain {
        let key = RandomKey::new(5, "coarse");
        let ground = Field::from_fn(size, |i, j| {
            Height::from_metres_clamped(key.for_cell([i as i64, j as i64]).uniform_signed() * 50.0)
        });
        Terrain::from_ground(Grid::new(size, 10.0).unwrap(), ground).unwrap()
    }

    #[test]
    fn what_is_laid_back_sums_to_the_change() {
        for factor in [2, 3, 5, 16] {
            for size in [[48, 64], [37, 29], [1, 40], [3, 3]] {
                let mut terrain = terrain(size);
                let solid = terrain.sum_solid();
                let mut small = coarsen_terrain(&terrain, factor);
                let before = small.ground.clone();
                let mut change = 0;
                for (k, height) in small.ground.as_mut_slice().iter_mut().enumerate() {
                    let by = RandomKey::new(k as u64, "by").uniform_signed() * 1e6;
                    height.0 += by as i32;
                    change += i128::from(by as i32) * (factor * factor) as i128;
                }
                let (made, _) = apply_coarse_changes(&mut terrain, &small, &before, factor);
                assert_eq!(terrain.sum_solid() - solid, change + made, "factor {factor}, {size:?}");
                assert_eq!(made, 0);
            }
        }
    }

    #[test]
    fn an_even_change_stays_even() {
        // The splines of neighbouring blocks add up to one; each of the nine parts that a cell receives is rounded by
        // less than one unit.
        for factor in [2, 3, 8] {
            let mut terrain = terrain([48, 48]);
            let ground = terrain.ground.clone();
            let mut small = coarsen_terrain(&terrain, factor);
            let before = small.ground.clone();
            small.ground.as_mut_slice().iter_mut().for_each(|h| h.0 += 100_000);
            apply_coarse_changes(&mut terrain, &small, &before, factor);
            for (after, before) in terrain.ground.as_slice().iter().zip(ground.as_slice()) {
                assert!((after.0 - before.0 - 100_000).abs() <= 9, "{}", after.0 - before.0);
            }
        }
    }

    #[test]
    fn blocks_are_anchored_to_the_world() {
        let whole = terrain([64, 64]);
        let part = whole.copy_window(CellRect::new([10, 22], [40, 40]));
        let (all, some) = (coarsen_terrain(&whole, 8), coarsen_terrain(&part, 8));
        // Block row 2 begins at world row 16, which is row 6 of the window and in its second block.
        assert_eq!(some.grid.origin, Cell::new(1, 2));
        assert_eq!(some.ground[(1, 1)], all.ground[(2, 3)]);
    }

    #[test]
    fn a_protected_cell_protects_all_that_reaches_it() {
        let mut terrain = terrain([32, 32]);
        let mut protect = Field::new([32, 32], 0.0);
        protect[(8, 8)] = 1.0;
        terrain.insert_layer(&PROTECT, Cells::Float(protect)).unwrap();
        let mut small = coarsen_terrain(&terrain, 4);
        let ground = terrain.ground[(8, 8)];
        let guard = small.float_layer(&PROTECT).unwrap().clone();
        let before = small.ground.clone();
        for (height, guard) in small.ground.as_mut_slice().iter_mut().zip(guard.as_slice()) {
            height.0 -= if *guard == 0.0 { 65_536 } else { 0 };
        }
        apply_coarse_changes(&mut terrain, &small, &before, 4);
        assert_eq!(terrain.ground[(8, 8)], ground);
    }
}
