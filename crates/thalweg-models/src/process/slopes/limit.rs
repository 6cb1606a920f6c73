//! A slope limit that no slope exceeds, isotropic in all directions.

use std::iter;
use std::ops::Range;

use rayon::prelude::*;

use crate::process::slopes::relaxation::{RelaxationBand, WALL, read_heights};
use crate::process::slopes::{Bounds, Pile, check_field_size};
use thalweg_core::{Field, Height, Result, Topology};

/// Rock strata, some of which are stable at steeper slopes than others.
#[derive(Clone, Copy)]
pub struct Bedding<'a> {
    /// The pile of beds, whose weights divide the slope limit.
    pub pile: &'a Pile,
    /// The function that returns the height of the pile's bottom in a cell (row, column), in height units; it is at
    /// most one pile's height away from zero.
    pub bottom: &'a (dyn Fn(usize, usize) -> i64 + Sync),
}

/// Lowers the ground to the highest surface that is nowhere above it and whose gradient nowhere exceeds the limit,
/// |∇z| ≤ tan. Returns the removed volume in units (height × cells).
///
/// `tan` is each cell's limit as rise over run. Negative values and NaN count as 0; a limit that allows more than
/// 16 km from one cell to the next is no limit. `cell` is the width of a cell in metres. Only lower neighbours
/// constrain a cell. The result is the fixed point of z = min(z, u, v), where u solves the eikonal equation with
/// Godunov's scheme, Σ max(0, u − lower neighbour along the axis)² = (tan·cell)² (Zhao 2005,
/// doi:10.1090/S0025-5718-04-01678-3; we sweep along rows back and forth, from north to south and back, but only the
/// cells next to which something has changed). v does the same with the diagonals as axes and cells 1.44 times as
/// wide (two stencils, after Hassouna & Farag 2007, doi:10.1109/TPAMI.2007.1154). A limit between eight neighbours
/// would produce pyramids, and one of the two schemes alone cones with four flat sides: on the first diagonal next to
/// a single low cell u is a fifth too high. Both schemes together produce cones with eight faint sides.
///
/// With `beds`, a cell's limit is that of each bed between its lower neighbours' heights and its own, divided by the
/// bed's weight. Walls of hard beds therefore stand at the same places whatever the width of the cells, even if a
/// cell spans several beds.
///
/// Cells without data constrain nothing. Held cells keep their height and constrain others. In integers each update
/// is monotone in its neighbours, so there is exactly one greatest fixed point, and the order of sweeping has no
/// influence; a second call changes nothing.
///
/// # Errors
/// Returns an error if a field does not have the ground's size.
///
/// # Examples
/// A tableland of 100 m next to a low cell becomes a slope of 45°: with cells 10 m wide, each cell rises 10 m above the
/// one before.
///
/// ```
/// use thalweg_core::{Field, Height};
/// use thalweg_models::process::slopes::{Bounds, limit_slopes};
///
/// let mut ground = Field::from_vec([1, 4], [0.0, 100.0, 100.0, 100.0].map(Height::from_metres_clamped).to_vec())?;
/// let tan = Field::new([1, 4], 1.0);
/// let removed = limit_slopes(&mut ground, &tan, None, 10.0, Bounds::default())?;
/// assert_eq!(ground.map(|height| height.metres()).as_slice(), [0.0, 10.0, 20.0, 30.0]);
/// assert_eq!(removed, (90 + 80 + 70) * 65_536);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn limit_slopes(
    ground: &mut Field<Height>,
    tan: &Field<f32>,
    beds: Option<Bedding<'_>>,
    cell: f64,
    bounds: Bounds<'_>,
) -> Result<i64> {
    let [rows, cols] = ground.size();
    bounds.check_sizes([rows, cols])?;
    check_field_size("tan", Some(tan.size()), [rows, cols])?;
    if ground.is_empty() {
        return Ok(0);
    }
    let topology = Topology { size: [rows, cols], looped: bounds.looped };
    let mut removed = 0;
    // The rows next to which a row has changed since they were last relaxed.
    let mut waiting = vec![true; rows];
    // The borders of a round are in the middle of the next round's bands, so slopes that extend over several bands
    // converge in few rounds.
    let mut firsts = [BAND, BAND / 2].into_iter().cycle();
    while waiting.contains(&true) {
        let bands = select_waiting_bands(rows, firsts.next().unwrap_or(BAND), &waiting);
        // Copies of the rows adjacent to each band, as they are at the beginning of the round.
        let beyond: Vec<_> = bands
            .par_iter()
            .map(|band| {
                let copy = |i: usize| {
                    let mut row = vec![WALL; cols + 2];
                    read_heights(ground.row(i), bounds.nodata.map(|mask| mask.row(i)), &mut row);
                    if bounds.looped[1] {
                        (row[0], row[cols + 1]) = (row[cols], row[1]);
                    }
                    row
                };
                let [north, south] = [band.start as isize - 1, band.end as isize].map(|at| topology.wrap_line(0, at));
                [north.map(copy), south.map(copy)]
            })
            .collect();
        // The ground is split into the rows of the bands, so that they can be changed in parallel.
        let (mut rest, mut end, mut grounds) = (ground.as_mut_slice(), 0, Vec::new());
        for band in &bands {
            let (until, after) = rest.split_at_mut((band.end - end) * cols);
            grounds.push(&mut until[(band.start - end) * cols..]);
            (rest, end) = (after, band.end);
        }
        let changes: Vec<_> = grounds
            .into_par_iter()
            .zip(beyond)
            .zip(&bands)
            .with_max_len(1) // some bands have much to do, and so do their neighbours
            .map(|((ground, beyond), band)| {
                let own = RelaxationBand::new(ground, band.start, beyond, tan, beds, cell, bounds);
                own.relax(ground, &waiting[band.clone()])
            })
            .collect();
        // Rows next to a band whose border row has changed must be tested again in the next round.
        waiting.fill(false);
        for (band, change) in bands.iter().zip(&changes) {
            removed += change.removed;
            for (changed, to) in [(change.north, band.start as isize - 1), (change.south, band.end as isize)] {
                if let Some(to) = topology.wrap_line(0, to).filter(|_| changed) {
                    waiting[to] = true;
                }
            }
        }
    }
    Ok(removed)
}

/// Returns the bands that contain a waiting row; `first` is the height of the first of all bands in rows.
fn select_waiting_bands(rows: usize, first: usize, waiting: &[bool]) -> Vec<Range<usize>> {
    let starts = iter::once(0).chain((first..rows).step_by(BAND));
    let ends = (first..rows).step_by(BAND).chain([rows]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|band| waiting[band.clone()].contains(&true)).collect()
}

/// The number of rows that one task relaxes before the adjacent rows are updated.
const BAND: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::slopes::stencil::{diagonal_limit, max_rise};
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::height::UNITS;

    const CELL: f64 = 10.0;

    fn metres(size: [usize; 2], z: impl Fn(f64, f64) -> f64 + Sync) -> Field<Height> {
        Field::from_fn(size, |i, j| Height::from_metres(z(i as f64, j as f64)).unwrap())
    }

    fn even(size: [usize; 2], tan: f32) -> Field<f32> {
        Field::new(size, tan)
    }

    fn rough(size: [usize; 2], relief: f64) -> Field<Height> {
        let key = RandomKey::new(11, "limit");
        Field::from_fn(size, |i, j| {
            Height::from_metres_clamped(relief * key.for_cell([i as i64, j as i64]).uniform_unit())
        })
    }

    #[test]
    fn a_tower_becomes_a_round_cone() {
        // A tower with a radius of 30 cells and a height of 2 000 m over a plain; at tan 0.8 it ends as a cone of 30
        // · 10 · 0.8 = 240 m. The scheme's error grows as h·log(r/h): at tan·cell = 8 m and 30 cells it is some 8 ·
        // ln 30 / 2 = 14 m at most.
        let size = [81, 81];
        let inside = |i: f64, j: f64| (i - 40.0).powi(2) + (j - 40.0).powi(2) < 900.0;
        let mut ground = metres(size, |i, j| if inside(i, j) { 2_000.0 } else { 0.0 });
        limit_slopes(&mut ground, &even(size, 0.8), None, CELL, Bounds::default()).unwrap();
        for i in 0..81usize {
            for j in 0..81usize {
                let r = ((i as f64 - 40.0).powi(2) + (j as f64 - 40.0).powi(2)).sqrt();
                let (is, want) = (ground[(i, j)].metres(), (8.0 * (30.0 - r)).max(0.0));
                assert!((is - want).abs() < 14.0, "{i}, {j}: {is} {want}");
            }
        }
        // The cone is round: on the diagonal, 14 cells away along each axis, it is as high as 19.8 cells away along
        // one axis.
        let axis = ground[(40, 20)].metres() + 0.2 * (ground[(40, 21)].metres() - ground[(40, 20)].metres());
        assert!((ground[(26, 26)].metres() - axis).abs() < 5.0, "{} {axis}", ground[(26, 26)].metres());
        // Along the axis it has the limit's slope.
        assert!((ground[(40, 30)].metres() - ground[(40, 20)].metres() - 80.0).abs() < 4.0);
    }

    #[test]
    fn hollows_leave_no_sides_that_face_as_the_grid_does() {
        // High ground around single low cells, which constrain it: measures the aspects of the funnels, which meet in
        // valleys between them.
        let size = [400, 400];
        let key = RandomKey::new(8, "hollows");
        let mut ground = Field::from_fn(size, |i, j| {
            let low = key.for_cell([i as i64, j as i64]).uniform_unit() < 0.002;
            Height::from_metres_clamped(if low { 0.0 } else { 1000.0 })
        });
        limit_slopes(&mut ground, &even(size, 0.8), None, CELL, Bounds::default()).unwrap();
        let (mut four, mut eight, mut count) = (0.0, 0.0, 0.0);
        for i in 1..399usize {
            for j in 1..399usize {
                let x = ground[(i, j + 1)].metres() - ground[(i, j - 1)].metres();
                let y = ground[(i + 1, j)].metres() - ground[(i - 1, j)].metres();
                let square = x * x + y * y;
                if square > 1.0 {
                    let c = (x * x - y * y) / square;
                    let c4 = 2.0 * c * c - 1.0;
                    (four, eight, count) = (four + c4, eight + 2.0 * c4 * c4 - 1.0, count + 1.0);
                }
            }
        }
        // Funnels have eight faint edges at these widths of some seven cells; with one stencil they have four strong
        // ones.
        let [four, eight] = [four, eight].map(|sum: f64| sum / count);
        assert!(four.abs() < 0.05 && eight.abs() < 0.25, "{four} four times round, {eight} eight times");
    }

    #[test]
    fn gentle_ground_is_untouched() {
        // |∇z| is 0.6: the plane of 4.8 m per row and 3.6 m per column is stable at a limit of 0.601, and not at
        // 0.55.
        let plane = metres([70, 40], |i, j| 4.8 * i - 3.6 * j);
        let mut ground = plane.clone();
        assert_eq!(limit_slopes(&mut ground, &even([70, 40], 0.601), None, CELL, Bounds::default()).unwrap(), 0);
        assert_eq!(ground, plane);
        assert!(limit_slopes(&mut ground, &even([70, 40], 0.55), None, CELL, Bounds::default()).unwrap() > 0);
        // Next to the edge down which it falls by less than the limit, and outside the fan around the lowest corner,
        // the slope equals the limit.
        let slope = ((ground[(40, 30)].metres() - ground[(39, 30)].metres()).powi(2)
            + (ground[(40, 30)].metres() - ground[(40, 31)].metres()).powi(2))
        .sqrt();
        assert!((slope / CELL - 0.55).abs() < 0.001, "{slope}");
    }

    /// Computes the fixed point by the plain rule, cell by cell until nothing changes, in a different order from
    /// ours.
    fn plain(ground: &Field<Height>, max_fall: i32, void: impl Fn(usize, usize) -> bool) -> Field<Height> {
        let mut z = ground.clone();
        let [rows, cols] = z.size();
        loop {
            let before = z.clone();
            for j in (0..cols).rev() {
                for i in 0..rows {
                    let at = |i: usize, j: usize| {
                        if i < rows && j < cols && !void(i, j) { z[(i, j)].0 } else { WALL }
                    };
                    let a = at(i, j.wrapping_sub(1)).min(at(i, j + 1));
                    let b = at(i.wrapping_sub(1), j).min(at(i + 1, j));
                    let c = at(i.wrapping_sub(1), j.wrapping_sub(1)).min(at(i + 1, j + 1));
                    let d = at(i.wrapping_sub(1), j + 1).min(at(i + 1, j.wrapping_sub(1)));
                    let bears = |a: i32, b: i32, max_fall| a.min(b).saturating_add(max_rise(a.abs_diff(b), max_fall));
                    if !void(i, j) {
                        let both = bears(a, b, max_fall).min(bears(c, d, diagonal_limit(max_fall)));
                        z[(i, j)] = Height(z[(i, j)].0.min(both));
                    }
                }
            }
            if z == before {
                return z;
            }
        }
    }

    #[test]
    fn the_fixed_point_is_that_of_the_plain_rule() {
        for (size, relief, tan) in [
            ([150, 33], 900.0, 0.7),
            ([67, 80], 40.0, 0.3),
            ([1, 50], 99.0, 0.5),
            ([90, 1], 99.0, 0.5),
            ([1, 1], 9.0, 0.1),
        ] {
            let start = rough(size, relief);
            let void = Field::from_fn(size, |i, j| (i * 5 + j * 3) % 13 == 0 && size[0] > 1);
            let bounds = Bounds { nodata: Some(&void), ..Bounds::default() };
            let mut ground = start.clone();
            let removed = limit_slopes(&mut ground, &even(size, tan), None, CELL, bounds).unwrap();
            let max_fall = (f64::from(tan) * CELL * UNITS) as i32;
            assert_eq!(ground, plain(&start, max_fall, |i, j| void[(i, j)]), "{size:?}");
            let sum = |field: &Field<Height>| field.as_slice().iter().map(|h| i64::from(h.0)).sum::<i64>();
            assert_eq!(removed, sum(&start) - sum(&ground));
            assert!(ground.as_slice().iter().zip(start.as_slice()).all(|(now, then)| now <= then));
            assert_eq!(
                limit_slopes(&mut ground, &even(size, tan), None, CELL, bounds).unwrap(),
                0,
                "a second time changes nothing"
            );
        }
    }

    #[test]
    fn slopes_over_several_bands_are_those_of_the_plain_rule_and_know_no_first_row() {
        // A few low cells with high ground between them: walls rise over some hundred rows, through two bands and
        // more.
        let size = [5 * BAND + 17, 9];
        let key = RandomKey::new(4, "bands");
        let start = Field::from_fn(size, |i, j| {
            let cell = key.for_cell([i as i64, j as i64]);
            let low = (i == 200 || i == 470) && j % 4 == 0;
            Height::from_metres_clamped(if low { 0.0 } else { 4000.0 } + 5.0 * cell.uniform_unit())
        });
        let tan = even(size, 1.0);
        let mut ground = start.clone();
        limit_slopes(&mut ground, &tan, None, CELL, Bounds::default()).unwrap();
        assert_eq!(ground, plain(&start, (CELL * UNITS) as i32, |_, _| false));
        let bounds = Bounds { looped: [true, true], ..Bounds::default() };
        let turned = |field: &Field<Height>, by: usize| {
            Field::from_fn(size, |i, j| field[((i + by) % size[0], (j + by) % size[1])])
        };
        let mut round = start.clone();
        limit_slopes(&mut round, &tan, None, CELL, bounds).unwrap();
        assert_ne!(round, ground);
        for by in [1, 100, 333] {
            let mut other = turned(&start, by);
            limit_slopes(&mut other, &tan, None, CELL, bounds).unwrap();
            assert_eq!(other, turned(&round, by), "{by}");
        }
    }

    #[test]
    fn beds_have_their_own_slopes_whatever_the_width_of_cells() {
        // Beds of 20 m with a limit of 0.8 and of 10 m with a limit of 0.2: from 0 m upward, a hard bed takes 25 m
        // and a soft one 50 m.
        let pile = Pile::new([(10, 0.5), (5, 2.0)]);
        let wall = |x: f64| {
            let (beds, along) = ((x / 75.0).floor(), x.rem_euclid(75.0));
            30.0 * beds + if along < 25.0 { 0.8 * along } else { 20.0 + 0.2 * (along - 25.0) }
        };
        for (cell, cells) in [(5.0, 120), (10.0, 60), (50.0, 12), (150.0, 4)] {
            let size = [3, cells];
            let mut ground = metres(size, |_, j| if j == 0.0 { 0.0 } else { 1000.0 });
            let bottom = |_: usize, _: usize| 0;
            let beds = Some(Bedding { pile: &pile, bottom: &bottom });
            limit_slopes(&mut ground, &even(size, 0.4), beds, cell, Bounds::default()).unwrap();
            for j in 0..cells {
                let (is, want) = (ground[(1, j)].metres(), wall(cell * j as f64));
                assert!((is - want).abs() < 0.01, "{j} cells of {cell} m: {is} {want}");
            }
            assert_eq!(limit_slopes(&mut ground, &even(size, 0.4), beds, cell, Bounds::default()).unwrap(), 0);
        }
        // Beds that are deeper from row to row are evaluated in each cell separately.
        let mut ground = metres([40, 40], |i, j| 3.0 * (i - 20.0).powi(2) + 7.0 * j);
        let bottom = |i: usize, j: usize| (i * 40_000 + j * 90_000) as i64;
        let beds = Some(Bedding { pile: &pile, bottom: &bottom });
        limit_slopes(&mut ground, &even([40, 40], 0.4), beds, CELL, Bounds::default()).unwrap();
        let again = ground.clone();
        assert_eq!(limit_slopes(&mut ground, &even([40, 40], 0.4), beds, CELL, Bounds::default()).unwrap(), 0);
        assert_eq!(ground, again);
        // A single bed of weight 1 is the same as none.
        let (mut one, mut none) = (rough([30, 30], 90.0), rough([30, 30], 90.0));
        let plain = Pile::new([]);
        let beds = Some(Bedding { pile: &plain, bottom: &bottom });
        limit_slopes(&mut one, &even([30, 30], 0.4), beds, CELL, Bounds::default()).unwrap();
        limit_slopes(&mut none, &even([30, 30], 0.4), None, CELL, Bounds::default()).unwrap();
        assert_eq!(one, none);
    }

    #[test]
    fn held_cells_stand_and_awkward_limits_do_no_harm() {
        let size = [20, 20];
        let held = Field::from_fn(size, |i, j| (i, j) == (10, 10));
        let bounds = Bounds { held: Some(&held), ..Bounds::default() };
        let start = metres(size, |i, j| if (i, j) == (10.0, 10.0) { 900.0 } else { 100.0 });
        let mut ground = start.clone();
        assert_eq!(limit_slopes(&mut ground, &even(size, 0.5), None, CELL, bounds).unwrap(), 0);
        for none in [f32::INFINITY, 1e30] {
            assert_eq!(limit_slopes(&mut ground, &even(size, none), None, CELL, Bounds::default()).unwrap(), 0);
        }
        for flat in [0.0, -1.0, f32::NAN] {
            let mut ground = start.clone();
            limit_slopes(&mut ground, &even(size, flat), None, CELL, Bounds::default()).unwrap();
            assert_eq!(ground, metres(size, |_, _| 100.0));
        }
        assert!(limit_slopes(&mut ground, &even([20, 21], 0.5), None, CELL, Bounds::default()).is_err());
    }
}
