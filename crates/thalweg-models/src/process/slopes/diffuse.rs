//! Hillslope diffusion (soil creep): linear diffusion of the ground.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::model::MassBalance;
use crate::process::slopes::{Bounds, check_field_size};
use thalweg_core::base::cast::{self, clamp_share};
use thalweg_core::terrain::SEDIMENT;
use thalweg_core::{Field, Height, Result, Topology};

/// The greatest spread, κ·t/dx², of one pass; below a quarter, no cell passes the mean of its neighbours.
pub const MAX_PASS_SPREAD: f64 = 0.2;

/// Returns the number of passes for a spread.
pub fn count_passes(spread: f64) -> u32 {
    // The tolerance ensures that a spread divided by its number of passes counts as one pass, however the division
    // was rounded.
    (spread / MAX_PASS_SPREAD - 1e-9).ceil().max(1.0) as u32
}

/// Applies linear diffusion to the ground, ∂z/∂t = κ·∇²z (Culling 1960, doi:10.1086/626663), over `spread` = κ·t/dx².
/// For example, κ = 0.01 m²/a over 1000 years on cells of 10 m is a spread of 0.1.
///
/// It runs explicit passes of at most [`MAX_PASS_SPREAD`]. In each, a cell gives spread·share·(z − zₖ) to each lower
/// one of its four neighbours, rounded down to the height unit, so that what one gives the other receives. Amounts
/// below one unit do not move: a drop of less than 1/spread units (0.08 mm from cell to cell at a full pass) stays. No
/// cell rises above its highest or falls below its lowest neighbour. Nothing crosses the edges of the grid, where they
/// are not looped, nor the border of cells without data.
///
/// Sediment (`loose`), if given, is moved first, and all deposits become sediment. `share` is the share of its
/// outflow, 0 to 1, that a cell gives; greater values count as 1, and NaN as 0. Cells in `bounds.held` keep their
/// height: what reaches them is booked as `exported`, and what they give as `added`.
///
/// # Errors
/// Returns an error if a field does not have the ground's size.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Height};
/// use thalweg_models::process::slopes::{Bounds, diffuse_ground};
///
/// let mut ground = Field::from_vec([1, 2], [100.0, 0.0].map(Height::from_metres_clamped).to_vec())?;
/// // One pass, in which the higher cell gives an eighth of the drop to the lower one.
/// let balance = diffuse_ground(&mut ground, None, Bounds::default(), None, 0.125)?;
/// assert_eq!(ground.map(|height| height.metres()).as_slice(), [87.5, 12.5]);
/// assert_eq!(balance.solid_change(), 0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn diffuse_ground(
    ground: &mut Field<Height>,
    mut loose: Option<&mut Field<Height>>,
    bounds: Bounds<'_>,
    share: Option<&Field<f32>>,
    spread: f64,
) -> Result<MassBalance> {
    bounds.check_sizes(ground.size())?;
    check_field_size(SEDIMENT.name, loose.as_ref().map(|loose| loose.size()), ground.size())?;
    check_field_size("share", share.map(Field::size), ground.size())?;
    let mut budget = MassBalance::default();
    if spread > 0.0 && !ground.is_empty() {
        let passes = count_passes(spread);
        // The passes are equal. The limit also catches a quotient that was rounded above the greatest spread.
        let rate = (spread / f64::from(passes)).min(MAX_PASS_SPREAD) as f32;
        for _ in 0..passes {
            budget += run_pass(ground, loose.as_deref_mut(), bounds, DiffusionShare { share, rate });
        }
    }
    Ok(budget)
}

/// The number of rows per parallel task.
const BAND: usize = 64;

/// The share of a drop that each cell gives.
#[derive(Clone, Copy)]
struct DiffusionShare<'a> {
    share: Option<&'a Field<f32>>,
    rate: f32,
}

impl DiffusionShare<'_> {
    fn fill_row(self, i: usize, row: &mut [f32]) {
        match self.share {
            None => row.fill(self.rate),
            Some(share) => {
                for (give, share) in row.iter_mut().zip(share.row(i)) {
                    *give = self.rate * clamp_share(*share);
                }
            }
        }
    }
}

fn run_pass(
    ground: &mut Field<Height>,
    loose: Option<&mut Field<Height>>,
    bounds: Bounds<'_>,
    gives: DiffusionShare<'_>,
) -> MassBalance {
    let [rows, cols] = ground.size();
    let topology = Topology { size: [rows, cols], looped: bounds.looped };
    let void = |i: usize| bounds.nodata.map(|mask| mask.row(i));
    // Each band is changed in place, row by row; the flows across its borders are computed before any band changes.
    let borders: Vec<Vec<i32>> = (1..=rows.div_ceil(BAND))
        .into_par_iter()
        .map(|b| {
            let last = (b * BAND).min(rows) - 1;
            let (mut flows, mut give) = (vec![0; cols], [vec![0.0; cols], vec![0.0; cols]]);
            if let Some(i) = topology.wrap_line(0, last as isize + 1) {
                gives.fill_row(last, &mut give[0]);
                gives.fill_row(i, &mut give[1]);
                compute_flows(ground.row(last), ground.row(i), &give[0], &give[1], &mut flows);
                block_flows(&mut flows, void(last), void(i));
            }
            flows
        })
        .collect();

    let work = |(band, (ground, loose)): (usize, (&mut [Height], Option<&mut [Height]>))| {
        let mut loose = loose;
        let count = ground.len() / cols;
        let mut give = [vec![0.0; cols], vec![0.0; cols]];
        // The last band is north of the first one; if the map is not looped, its border flows are zero.
        let mut north = borders[(band + borders.len() - 1) % borders.len()].clone();
        let (mut south, mut east) = (vec![0; cols], vec![0; cols + 1]);
        let mut budget = MassBalance::default();
        gives.fill_row(band * BAND, &mut give[0]);
        for r in 0..count {
            let i = band * BAND + r;
            let (row, below) = ground[r * cols..].split_at_mut(cols);
            if r + 1 == count {
                south.copy_from_slice(&borders[band]);
            } else {
                gives.fill_row(i + 1, &mut give[1]);
                compute_flows(row, &below[..cols], &give[0], &give[1], &mut south);
                block_flows(&mut south, void(i), void(i + 1));
            }
            let along = &mut east[1..cols];
            compute_flows(&row[..cols - 1], &row[1..], &give[0][..cols - 1], &give[0][1..], along);
            block_flows(along, void(i), void(i).map(|mask| &mask[1..]));
            if topology.looped[1] {
                let (last, ends) = (cols - 1, &mut [0]);
                compute_flows(&row[last..], &row[..1], &give[0][last..], &give[0][..1], ends);
                block_flows(ends, void(i).map(|mask| &mask[last..]), void(i));
                (east[0], east[cols]) = (ends[0], ends[0]);
            }
            let flows = [&north[..], &south[..], &east[..cols], &east[1..]];
            let loose = loose.as_deref_mut().map(|loose| &mut loose[r * cols..(r + 1) * cols]);
            match bounds.held.map(|mask| mask.row(i)).filter(|mask| mask.contains(&true)) {
                None => budget += apply_flows(row, loose, flows),
                Some(held) => budget += apply_with_fixed_cells(row, loose, flows, held),
            }
            std::mem::swap(&mut north, &mut south);
            give.swap(0, 1);
        }
        budget
    };
    let sum = |mut sum: MassBalance, part: MassBalance| {
        sum += part;
        sum
    };
    let bands = ground.as_mut_slice().par_chunks_mut(BAND * cols);
    match loose {
        Some(loose) => {
            let loose = loose.as_mut_slice().par_chunks_mut(BAND * cols).map(Some);
            bands.zip(loose).enumerate().map(work).reduce(MassBalance::default, sum)
        }
        None => bands.map(|ground| (ground, None)).enumerate().map(work).reduce(MassBalance::default, sum),
    }
}

/// Computes the flow from each cell of `a` to its neighbour in `b` in height units (negative: the other way).
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_flows(a: &[Height], b: &[Height], give_a: &[f32], give_b: &[f32], flows: &mut [i32]) {
    let count = flows.len();
    let (a, b, give_a, give_b) = (&a[..count], &b[..count], &give_a[..count], &give_b[..count]);
    for j in 0..count {
        // At most one of the two directions has a flow, and it is rounded down; 1/65 536 m is the least amount that
        // moves.
        let fall = a[j].0 - b[j].0;
        let down = cast::floor_to_int(give_a[j] * fall.max(0) as f32);
        let up = cast::floor_to_int(give_b[j] * (-fall).max(0) as f32);
        flows[j] = down - up;
    }
}

/// Sets flows to or from cells without data to zero.
fn block_flows(flows: &mut [i32], a: Option<&[bool]>, b: Option<&[bool]>) {
    if let (Some(a), Some(b)) = (a, b) {
        for (flow, (a, b)) in flows.iter_mut().zip(a.iter().zip(b)) {
            *flow = if *a || *b { 0 } else { *flow };
        }
    }
}

/// Returns what cell `j` receives and what it gives, from the flows across its north, south, west and east side.
#[inline(always)]
fn sum_cell_exchange([north, south, west, east]: [&[i32]; 4], j: usize) -> [i32; 2] {
    let come = north[j].max(0) + (-south[j]).max(0) + west[j].max(0) + (-east[j]).max(0);
    let leave = (-north[j]).max(0) + south[j].max(0) + (-west[j]).max(0) + east[j].max(0);
    [come, leave]
}

/// Applies the flows to a row.
fn apply_flows(row: &mut [Height], loose: Option<&mut [Height]>, flows: [&[i32]; 4]) -> MassBalance {
    let [come, leave] = match loose {
        Some(loose) => apply_with_sediment(row, loose, flows),
        None => apply_without_sediment(row, flows),
    };
    MassBalance { eroded: leave.into(), deposited: come.into(), ..MassBalance::default() }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn apply_with_sediment(row: &mut [Height], loose: &mut [Height], flows: [&[i32]; 4]) -> [i64; 2] {
    let count = row.len();
    let (loose, flows) = (&mut loose[..count], flows.map(|flows| &flows[..count]));
    let mut sums = [0, 0];
    for j in 0..count {
        let [come, leave] = sum_cell_exchange(flows, j);
        row[j].0 += come - leave;
        loose[j].0 = (loose[j].0 - leave).max(0) + come;
        sums = [sums[0] + i64::from(come), sums[1] + i64::from(leave)];
    }
    sums
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn apply_without_sediment(row: &mut [Height], flows: [&[i32]; 4]) -> [i64; 2] {
    let count = row.len();
    let flows = flows.map(|flows| &flows[..count]);
    let mut sums = [0, 0];
    for j in 0..count {
        let [come, leave] = sum_cell_exchange(flows, j);
        row[j].0 += come - leave;
        sums = [sums[0] + i64::from(come), sums[1] + i64::from(leave)];
    }
    sums
}

/// Applies the flows to a row in which some cells keep their height.
fn apply_with_fixed_cells(
    row: &mut [Height],
    mut loose: Option<&mut [Height]>,
    flows: [&[i32]; 4],
    held: &[bool],
) -> MassBalance {
    let mut budget = MassBalance::default();
    for (j, height) in row.iter_mut().enumerate() {
        let [come, leave] = sum_cell_exchange(flows, j);
        if held[j] {
            budget.exported += i128::from(come);
            budget.added += i128::from(leave);
            continue;
        }
        height.0 += come - leave;
        if let Some(loose) = loose.as_deref_mut() {
            loose[j].0 = (loose[j].0 - leave).max(0) + come;
        }
        budget.deposited += i128::from(come);
        budget.eroded += i128::from(leave);
    }
    budget
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::height::UNITS;

    fn metres(size: [usize; 2], z: impl Fn(f64, f64) -> f64 + Sync) -> Field<Height> {
        Field::from_fn(size, |i, j| Height::from_metres(z(i as f64, j as f64)).unwrap())
    }

    fn solid(ground: &Field<Height>) -> i128 {
        ground.as_slice().iter().map(|h| i128::from(h.0)).sum()
    }

    #[test]
    fn a_wave_decays_as_it_should() {
        // Between walls, cos(π(j + ½)/n) is a mode of the scheme itself: each pass takes away 2·spread·(1 − cos(π/n))
        // of it, while the equation takes 1 − exp(−spread·(π/n)²). They agree to (π/n)²/12 + spread·(π/n)²/2 of the
        // exponent, here to less than 0.3 %.
        let (rows, cols, spread) = (5, 24, 20.0);
        let mode = |j: f64| libm::cos(std::f64::consts::PI * (j + 0.5) / cols as f64);
        let mut ground = metres([rows, cols], |_, j| 100.0 * mode(j));
        diffuse_ground(&mut ground, None, Bounds::default(), None, spread).unwrap();
        let remaining = 100.0 * libm::exp(-spread * (std::f64::consts::PI / cols as f64).powi(2));
        for j in 0..cols {
            let (is, want) = (ground[(2, j)].metres(), remaining * mode(j as f64));
            assert!((is - want).abs() < 0.003 * spread * 0.0172 * remaining + 0.01, "{j}: {is} {want}");
        }
    }

    #[test]
    fn a_heap_spreads_as_a_gaussian() {
        // The variance grows from s² to s² + 2·spread in each direction. The five-point scheme has an error of about
        // spread·∂⁴z/12: with s = 4 cells it is under 1 % of the peak.
        let (variance, spread) = (16.0, 12.0);
        let heap = |v: f64| {
            move |i: f64, j: f64| {
                let r2 = (i - 40.0).powi(2) + (j - 40.0).powi(2);
                300.0 * variance / v * libm::exp(-r2 / (2.0 * v))
            }
        };
        let mut ground = metres([81, 81], heap(variance));
        let before = solid(&ground);
        diffuse_ground(&mut ground, None, Bounds::default(), None, spread).unwrap();
        assert_eq!(solid(&ground), before);
        let want = heap(variance + 2.0 * spread);
        for i in 0..81 {
            for j in 0..81 {
                let error = ground[(i, j)].metres() - want(i as f64, j as f64);
                assert!(error.abs() < 0.01 * want(40.0, 40.0), "{i}, {j}: {error}");
            }
        }
        for k in 0..81 {
            assert_eq!(ground[(20, k)], ground[(k, 20)], "turned, it is the same");
            assert_eq!(ground[(20, k)], ground[(60, k)], "mirrored, it is the same");
        }
    }

    #[test]
    fn an_even_slope_between_held_ends_stands() {
        let mut ground = metres([3, 30], |_, j| 4.0 * j);
        let before = ground.clone();
        let held = Field::from_fn([3, 30], |_, j| j == 0 || j == 29);
        let bounds = Bounds { held: Some(&held), ..Bounds::default() };
        let budget = diffuse_ground(&mut ground, None, bounds, None, 7.0).unwrap();
        assert_eq!(ground, before);
        assert_eq!((budget.exported, budget.added, budget.solid_change()), (budget.added, budget.exported, 0));
        // Spread times drop times rows; each of the 35 passes is rounded down by less than one unit.
        let through = 7.0 * 4.0 * UNITS * 3.0;
        assert!((budget.exported as f64 - through).abs() <= 3.0 * 35.0 + 1e-5 * through);
    }

    #[test]
    fn mass_closes_with_holes_bands_held_cells_and_loose_ground() {
        let size = [3 * BAND + 5, 37];
        let key = RandomKey::new(3, "creep");
        let rough = |scale: f64, salt: u64| {
            Field::from_fn(size, |i, j| {
                Height::from_metres_clamped(scale * key.derive_key(salt).for_cell([i as i64, j as i64]).uniform_unit())
            })
        };
        let (mut ground, mut loose) = (rough(90.0, 0), rough(3.0, 1));
        let void = Field::from_fn(size, |i, j| (i * 7 + j * 3) % 11 == 0);
        let held = Field::from_fn(size, |i, _| i == 0);
        let share = Field::from_fn(size, |i, j| (i + j) as f32 / 100.0);
        let (start, skin) = (ground.clone(), loose.clone());
        let bounds = Bounds { nodata: Some(&void), held: Some(&held), ..Bounds::default() };
        let budget = diffuse_ground(&mut ground, Some(&mut loose), bounds, Some(&share), 1.3).unwrap();
        assert_eq!(solid(&ground) - solid(&start), budget.solid_change());
        assert!(budget.exported > 0 && budget.added > 0 && budget.eroded > 0);
        for k in 0..ground.len() {
            let still = void[k] || held[k];
            let same = ground[k] == start[k] && loose[k] == skin[k];
            assert!(!still || same);
            assert!(loose[k].0 >= 0);
        }
    }

    #[test]
    fn bands_do_not_show() {
        let size = [2 * BAND + 3, 21];
        let key = RandomKey::new(4, "bands");
        let ground = Field::from_fn(size, |i, j| {
            Height::from_metres_clamped(50.0 * key.for_cell([i as i64, j as i64]).uniform_unit())
        });
        let mut fast = ground.clone();
        diffuse_ground(&mut fast, None, Bounds::default(), None, MAX_PASS_SPREAD).unwrap();
        let flow = |a: Height, b: Height| {
            let fall = (a.0 - b.0) as f32;
            (MAX_PASS_SPREAD as f32 * fall.abs()).floor() as i32 * fall.signum() as i32
        };
        let plain = Field::from_fn(size, |i, j| {
            let mut height = ground[(i, j)].0;
            for (r, c) in [(i.wrapping_sub(1), j), (i + 1, j), (i, j.wrapping_sub(1)), (i, j + 1)] {
                if r < size[0] && c < size[1] {
                    height -= flow(ground[(i, j)], ground[(r, c)]);
                }
            }
            Height(height)
        });
        assert_eq!(fast, plain);
    }

    #[test]
    fn fields_of_another_size_are_refused() {
        let mut ground = Field::new([4, 4], Height::ZERO);
        let share = Field::new([4, 5], 1.0);
        assert!(diffuse_ground(&mut ground, None, Bounds::default(), Some(&share), 1.0).is_err());
    }
}
