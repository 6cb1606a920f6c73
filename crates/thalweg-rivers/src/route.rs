//! The planning surface for rivers, and its drainage.

use rayon::prelude::*;

use crate::network::SHARES;
use crate::{Design, Site};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height, Result};
use thalweg_flow::accumulate::quantize_rain;
use thalweg_flow::{Directions, FlowGraph, breach};

/// Height in metres by which protected ground is raised for planning: more than any other relief that water might cross
/// instead.
const PROTECTED_RISE_M: f64 = 8000.0;

/// Number of passes of the smoothing kernel. Each pass adds a variance of one cell².
const PASSES: usize = 4;

/// Amplitude of the random roughness of the planning surface, as a share of the fall over one cell.
const ROUGH: f64 = 0.4;

/// The key of the random numbers in [`roughen_surface`].
const ROUGHNESS: u64 = 0x726f_7567;

/// The planning surface and its drainage.
pub(super) struct PlanningDrainage {
    /// The surface, with channels breached out of its depressions.
    pub surface: Field<Height>,
    /// The same surface with its depressions filled.
    pub filled: Field<Height>,
    pub directions: Directions,
    pub gathered: AccumulatedFlow,
}

/// Flow accumulation.
pub(super) enum AccumulatedFlow {
    Cells(Field<u32>),
    Shares(Field<i64>),
}

impl AccumulatedFlow {
    /// Returns the accumulated flow of cell `k`, in parts of a cell that yields the whole runoff.
    pub fn flow_at(&self, k: usize) -> i64 {
        match self {
            Self::Cells(cells) => i64::from(cells[k]) * SHARES as i64,
            Self::Shares(shares) => shares[k],
        }
    }
}

/// Computes the drainage of a site's planning surface. `sink` is the cell where all water ends if the land has no
/// outlet.
pub(super) fn plan_drainage(site: &Site<'_>, design: &Design, sink: Option<Cell>) -> Result<PlanningDrainage> {
    // Remove roughness that must not decide where rivers run, and then the preference for eight directions.
    let mut surface = smooth_ground(site, design.noise);
    roughen_surface(site, &mut surface);
    for pass in site.passes {
        lower_around_place(site, &mut surface, pass.cell, pass.reach);
    }
    // Protected ground is raised after that, so that its height does not count as relief around a place.
    raise_protected_ground(site, &mut surface);
    if let Some(Cell { row: i, col: j }) = sink {
        // The lowest cell of the ground must be the lowest cell of the planning surface too.
        let lowest = site.land.ground[(i, j)];
        surface.as_mut_slice().par_iter_mut().for_each(|height| *height = lowest.max(*height));
        surface[(i, j)] = lowest;
    }
    let land = site.land.with_ground(&surface);
    // Depressions are breached within the limits. The flow graph fills the remaining ones, which may become lakes.
    if design.breach.depth > 0.0 && design.breach.length > 0.0 {
        surface = breach::breach_depressions(&land, &design.breach)?.ground;
    }
    let land = site.land.with_ground(&surface);
    let mut drainage = FlowGraph::new(&land);
    let gathered = match site.rain {
        None => AccumulatedFlow::Cells(drainage.take_upstream_cells()),
        Some(rain) => AccumulatedFlow::Shares(drainage.accumulate_weights(&rain.map(|share| quantize_rain(*share)))?),
    };
    let (filled, directions) = drainage.into_parts();
    Ok(PlanningDrainage { surface, filled, directions, gathered })
}

/// Returns the ground without its roughness: low-pass filtered, but nowhere more than `noise` metres from the
/// original, so that gorges and ridges remain. Land stays above the sea.
fn smooth_ground(site: &Site<'_>, noise: f64) -> Field<Height> {
    let ground = site.land.ground;
    let max_change = (noise.min(16_000.0) * UNITS).round() as i32;
    if max_change == 0 || ground.is_empty() {
        return ground.clone();
    }
    let [rows, cols] = ground.size();
    let known = |k: usize| !site.is_void(k);
    let (mut from, mut to) = (ground.clone(), ground.clone());
    // The kernel is separable: even steps smooth along rows and odd ones along columns.
    for step in 0..2 * PASSES {
        let source = from.as_slice();
        to.par_rows_mut().for_each(|(i, row)| {
            let (at, n, stride) = if step % 2 == 0 { (0, cols, 1) } else { (i, rows, cols) };
            for (j, value) in row.iter_mut().enumerate() {
                let (k, at) = (i * cols + j, if step % 2 == 0 { at + j } else { at });
                // A neighbour beyond the edge or without data counts as this cell.
                let near = |k: usize, inside: bool, else_: i32| if inside && known(k) { source[k].0 } else { else_ };
                let here = source[k].0;
                let a = near(k.wrapping_sub(stride), at >= 1, here);
                let b = near(k.wrapping_add(stride), at + 1 < n, here);
                let c = near(k.wrapping_sub(2 * stride), at >= 2, a);
                let d = near(k.wrapping_add(2 * stride), at + 2 < n, b);
                // The binomial kernel 1, 4, 6, 4, 1 over 16, rounded to whole units.
                let sum = 6 * i64::from(here) + 4 * (i64::from(a) + i64::from(b)) + i64::from(c) + i64::from(d);
                // Adding half of the divisor rounds to the nearest unit. The sum is below 2³⁵ and fits an i64.
                *value = Height(((sum + 8) >> 4) as i32);
            }
        });
        std::mem::swap(&mut from, &mut to);
    }
    let sea = site.land.grid.sea_level;
    from.as_mut_slice().par_iter_mut().zip(ground.as_slice()).enumerate().for_each(|(k, (smooth, ground))| {
        let near = Height(smooth.0.clamp(ground.0.saturating_sub(max_change), ground.0.saturating_add(max_change)));
        *smooth = match sea {
            _ if !known(k) => *ground,
            Some(sea) if *ground <= sea => *ground,
            // Land remains land and sea remains sea, so that smoothing moves no shore.
            Some(sea) => near.max(Height(sea.0 + 1)),
            None => near,
        };
    });
    from
}

/// Raises or lowers each cell by a random amount that depends on its position: at most [`ROUGH`] times the fall over
/// one cell there.
///
/// With eight flow directions, water follows straight lines on slopes that face between two of them. Randomness lets
/// the flow follow the true aspect on average (as in Fairfield & Leymarie 1991, doi:10.1029/90WR02658). Water still
/// stays in its valleys.
fn roughen_surface(site: &Site<'_>, surface: &mut Field<Height>) {
    let [rows, cols] = surface.size();
    let from = surface.clone();
    let heights = from.as_slice();
    surface.par_rows_mut().for_each(|(i, row)| {
        for (j, height) in row.iter_mut().enumerate() {
            let k = i * cols + j;
            if site.is_void(k) || site.is_sea(k) {
                continue;
            }
            let fall = |back: usize, on: usize| {
                let known = |n: usize| if site.is_void(n) { heights[k].0 } else { heights[n].0 };
                // At an edge the fall is that to one neighbour instead of half of that between two.
                let cells = usize::from(back != k) + usize::from(on != k);
                (f64::from(known(on)) - f64::from(known(back))) / cells.max(1) as f64
            };
            let south = fall(if i > 0 { k - cols } else { k }, if i + 1 < rows { k + cols } else { k });
            let east = fall(if j > 0 { k - 1 } else { k }, if j + 1 < cols { k + 1 } else { k });
            let chance =
                RandomKey::ZERO.derive_key(ROUGHNESS).for_cell(site.land.grid.world_cell(i, j)).uniform_signed();
            let lowest = site.land.grid.sea_level.map_or(Height::MIN, |sea| Height(sea.0 + 1));
            let by = ROUGH * (south * south + east * east).sqrt() * chance;
            *height = Height(height.0 + by as i32).clamped().max(lowest);
        }
    });
}

/// Lowers the surface around a place so that all water within `reach` metres flows to it.
fn lower_around_place(site: &Site<'_>, surface: &mut Field<Height>, cell: Cell, reach: f64) {
    let grid = site.land.grid;
    let reach = (reach / grid.cell).max(1.0);
    let span = |k: usize| {
        let far = reach.min(grid.size[k] as f64) as usize;
        cell[k].saturating_sub(far)..(cell[k] + far + 1).min(grid.size[k])
    };
    let within = |i: usize, j: usize| {
        let (y, x) = (i.abs_diff(cell[0]) as f64, j.abs_diff(cell[1]) as f64);
        let apart = (y * y + x * x).sqrt() / reach;
        (apart < 1.0 && site.land.is_dry(i, j)).then_some(apart)
    };
    let cells = || span(0).flat_map(|i| span(1).map(move |j| (i, j))).filter_map(|(i, j)| Some((i, j, within(i, j)?)));
    let highest = cells().map(|(i, j, _)| surface[(i, j)].0).max().unwrap_or(0);
    let lowest = cells().map(|(i, j, _)| surface[(i, j)].0).min().unwrap_or(0);
    // One metre more makes a cone on level ground as well.
    let relief = f64::from(highest) - f64::from(lowest) + UNITS;
    let sea = grid.sea_level.map_or(Height::MIN, |sea| Height(sea.0 + 1));
    let dented: Vec<(usize, usize, Height)> = cells()
        .map(|(i, j, apart)| {
            // The cone is one and a half times as deep as the relief within its radius, so that its slope prevails over
            // the ground's mean slope.
            let down = relief * (1.0 - apart) * 1.5;
            (i, j, Height((f64::from(surface[(i, j)].0) - down) as i32).clamped().max(sea))
        })
        .collect();
    for (i, j, height) in dented {
        surface[(i, j)] = height;
    }
}

/// Raises protected ground, so that rivers are planned around it.
fn raise_protected_ground(site: &Site<'_>, surface: &mut Field<Height>) {
    if site.protect.is_none() {
        return;
    }
    surface.as_mut_slice().par_iter_mut().enumerate().for_each(|(k, height)| {
        if site.is_barred(k) && !site.is_void(k) && !site.is_sea(k) {
            *height = Height(height.0 + (PROTECTED_RISE_M * UNITS) as i32).clamped();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;
    use thalweg_flow::Land;

    #[test]
    fn roughness_goes_and_gorges_stay() {
        let grid = Grid::new([60, 60], 10.0).unwrap();
        let key = RandomKey::new(3, "noise");
        let plain = |i: usize, j: usize| 100.0 + i as f64 + if j == 30 { -40.0 } else { 0.0 };
        let ground = Field::from_fn(grid.size, |i, j| {
            Height::from_metres_clamped(plain(i, j) + key.for_cell([i as i64, j as i64]).uniform_signed())
        });
        let site = Site::from_land(Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] });
        let smooth = smooth_ground(&site, 2.0);
        let spread = |of: &Field<Height>| {
            let cells = (5..55).flat_map(|i| (5..25).map(move |j| (i, j)));
            let off = cells.map(|(i, j)| of[(i, j)].metres() - plain(i, j)).map(|d| d * d).sum::<f64>();
            (off / 1000.0).sqrt()
        };
        // A uniform distribution in ±1 m has a standard deviation of 1/√3; a kernel of variance 4 leaves 1/(2√π·2) of
        // it, 0.08 m.
        assert!((spread(&ground) - 0.577).abs() < 0.05 && spread(&smooth) < 0.12, "{}", spread(&smooth));
        for i in 5..55 {
            assert!(smooth[(i, 30)].metres() < plain(i, 30) + 3.1, "a gorge stays");
        }
        assert_eq!(smooth_ground(&site, 0.0), ground);
    }
}
