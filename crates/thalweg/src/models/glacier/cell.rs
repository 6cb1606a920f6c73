//! Shallow ice in one cell: what it gives to its lower neighbours in a step.

use multiversion::multiversion;

/// Factors of the flux.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Γd in 1/(m³·a).
    pub creep: f64,
    /// Γs in 1/(m·a).
    pub slide: f64,
}

/// Steepest slope that drives ice: what is steeper gives no more, since shallow ice means nothing there.
pub const STEEPEST: f64 = 1.5;

/// Cells that share out at once, each a lane of vectors.
pub const LANES: usize = 8;

/// A number for each of them.
pub type Lane = [f64; LANES];

/// Cells that are to share out, in metres.
pub struct Cells {
    /// Ice that there is.
    pub there: Lane,
    /// Where to begin to look for what is kept.
    pub guess: Lane,
    /// Surfaces of the lower cells beyond the west, east, north and south side above this cell's ground; of walls, and where it
    /// is higher, infinite.
    pub levels: [Lane; 4],
    /// Ice of the lower cells.
    pub ice: [Lane; 4],
}

impl Cells {
    /// No ice, and walls on all sides.
    pub const NONE: Self =
        Self { there: [0.0; LANES], guess: [0.0; LANES], levels: [[f64::INFINITY; LANES]; 4], ice: [[0.0; LANES]; 4] };
}

/// What cells keep, and give over their west, east, north and south side, in metres.
pub struct Shares {
    pub keeps: Lane,
    pub over: [Lane; 4],
}

/// What ice of a thickness gives.
struct Given {
    /// Metres that pass over each side in a step.
    over: [Lane; 4],
    /// Their sum, and how it grows with thickness.
    sum: Lane,
    grows: Lane,
}

impl Rates {
    /// Metres of ice that cells keep of what is there after `years`, and what they give: the thickness H for which H + what H
    /// gives = `there`, where what lies beyond is as it was before the step.
    ///
    /// Whatever the time it is from 0 to `there`.
    pub fn share(&self, cells: &Cells, cell: f64, years: f64) -> Shares {
        share(self, cells, cell, years)
    }

    /// What ice of `thick` metres gives. The square of the slope is that of the steepest ways down along both axes.
    #[inline(always)]
    fn give(&self, thick: &Lane, cells: &Cells, cell: f64, years: f64) -> Given {
        let per = 1.0 / cell;
        let mut given = Given { over: [[0.0; LANES]; 4], sum: [0.0; LANES], grows: [0.0; LANES] };
        for l in 0..LANES {
            let thick = thick[l];
            // Slope over each side, and how it grows with thickness.
            let (mut slopes, mut slopes_grow) = ([0.0; 4], [0.0; 4]);
            for side in 0..4 {
                let slope = (thick - cells.levels[side][l]) * per;
                slopes[side] = slope.clamp(0.0, STEEPEST);
                slopes_grow[side] = if slope > 0.0 && slope < STEEPEST { per } else { 0.0 };
            }
            let steeper = |a: usize, b: usize| {
                if slopes[b] > slopes[a] { (slopes[b], slopes_grow[b]) } else { (slopes[a], slopes_grow[a]) }
            };
            let (across, along) = (steeper(0, 1), steeper(2, 3));
            let (square, square_grows) =
                (across.0 * across.0 + along.0 * along.0, 2.0 * (across.0 * across.1 + along.0 * along.1));
            let (mut sum, mut sum_grows) = (0.0, 0.0);
            for side in 0..4 {
                let (slope, ice) = (slopes[side], cells.ice[side][l]);
                let (h, h_grows) = if ice < thick { (0.5 * (thick + ice), 0.5) } else { (thick, 1.0) };
                let h2 = h * h;
                let conducts = (self.creep * h2 + self.slide) * h2 * h * years * per;
                let conducts_grows = (5.0 * self.creep * h2 + 3.0 * self.slide) * h2 * h_grows * years * per;
                let over = conducts * square * slope;
                given.over[side][l] = over;
                sum += over;
                sum_grows +=
                    conducts_grows * square * slope + conducts * (square_grows * slope + square * slopes_grow[side]);
            }
            (given.sum[l], given.grows[l]) = (sum, sum_grows);
        }
        given
    }
}

/// [`Rates::share`] for the widest vectors that the machine has. A cell that is done waits for the others as it is.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn share(rates: &Rates, cells: &Cells, cell: f64, years: f64) -> Shares {
    let (mut low, mut high, mut keeps) = ([0.0; LANES], cells.there, [0.0; LANES]);
    for l in 0..LANES {
        let (guess, there) = (cells.guess[l], cells.there[l]);
        keeps[l] = if guess > 0.0 && guess < there { guess } else { 0.5 * there };
    }
    let mut given = rates.give(&keeps, cells, cell, years);
    // Numbers as wide as the others: 1 where the search is over.
    let mut done = [0.0; LANES];
    for _ in 0..ROUNDS {
        for l in 0..LANES {
            let is = keeps[l];
            let over = is + given.sum[l] - cells.there[l];
            high[l] = if over > 0.0 { is } else { high[l] };
            low[l] = if over > 0.0 { low[l] } else { is };
            let newton = is - over / (1.0 + given.grows[l]);
            let next = if newton > low[l] && newton < high[l] { newton } else { 0.5 * (low[l] + high[l]) };
            let near = (next - is).abs() < 1e-5 + 1e-6 * next;
            keeps[l] = if done[l] > 0.0 { is } else { next };
            done[l] = if near { 1.0 } else { done[l] };
        }
        if done == [1.0; LANES] {
            break;
        }
        let more = rates.give(&keeps, cells, cell, years);
        for l in 0..LANES {
            let pick = |before: f64, now: f64| if done[l] > 0.0 { before } else { now };
            given.sum[l] = pick(given.sum[l], more.sum[l]);
            given.grows[l] = pick(given.grows[l], more.grows[l]);
            for side in 0..4 {
                given.over[side][l] = pick(given.over[side][l], more.over[side][l]);
            }
        }
    }
    Shares { keeps, over: given.over }
}

/// Most rounds of Newton's method; three are usual. What is not found by then is still no more than there is.
const ROUNDS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Key;

    const RATES: Rates = Rates { creep: 2e-5, slide: 1.0 };

    /// The same cell in all lanes.
    fn cells(there: f64, guess: f64, levels: [f64; 4], ice: [f64; 4]) -> Cells {
        let all = |x: f64| [x; LANES];
        Cells { there: all(there), guess: all(guess), levels: levels.map(all), ice: ice.map(all) }
    }

    #[test]
    fn nothing_is_made_and_the_equation_holds() {
        for there in [1e-3, 1.0, 90.0, 3000.0] {
            let cells = cells(there, 70.0, [-20.0, f64::INFINITY, 60.0, 0.0], [80.0, 0.0, 10.0, 0.0]);
            for years in [1e-3, 1.0, 1e3] {
                let Shares { keeps, over } = RATES.share(&cells, 50.0, years);
                let grows = RATES.give(&keeps, &cells, 50.0, years).grows[0];
                let (keeps, sum) = (keeps[0], over.iter().map(|over| over[0]).sum::<f64>());
                assert!((0.0..=there).contains(&keeps) && over.iter().all(|x| x[0] >= 0.0));
                // The step at which the search ends, 1e-6 of the thickness, times how much what is given grows.
                let slack = (1e-5 + 1e-6 * keeps) * (1.0 + grows);
                assert!((keeps + sum - there).abs() <= slack + 1e-9 * there, "{there} m, {years} a: {keeps} + {sum}");
            }
        }
    }

    #[test]
    fn a_slope_gives_as_the_formula_says_in_any_direction() {
        // 100 m of ice on a plane of slope 0.1 along an axis, and aslant with the same slope: the flux is the same length.
        let flux = (2e-5 * 1e10 + 1e6) * 1e-3;
        let over = |sides: [bool; 4], slope: f64| {
            let levels = sides.map(|falls| if falls { 100.0 - 50.0 * slope } else { f64::INFINITY });
            RATES.give(&[100.0; LANES], &cells(100.0, 100.0, levels, [100.0; 4]), 50.0, 1.0).over.map(|over| over[0])
        };
        let straight = over([false, true, false, false], 0.1);
        assert!((straight[1] * 50.0 / flux - 1.0).abs() < 1e-12);
        let part = 0.1 * std::f64::consts::FRAC_1_SQRT_2;
        let slant = over([false, true, false, true], part);
        let length = (slant[1] * slant[1] + slant[3] * slant[3]).sqrt();
        assert!((length * 50.0 / flux - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_a_cell_shares_does_not_depend_on_the_cells_beside_it() {
        let key = Key::new(11, "lanes");
        for round in 0..2000 {
            let key = key.and(round);
            let unit = |l: usize, what: u64| key.and(l as u64).and(what).unit();
            // Of every size, some of nothing, some beside walls.
            let size = |l: usize, what: u64| 1000.0 * unit(l, what) * unit(l, what + 100).powi(4);
            let mut mixed = Cells::NONE;
            for l in (0..LANES).filter(|l| unit(*l, 0) < 0.9) {
                (mixed.there[l], mixed.guess[l]) = (size(l, 1), size(l, 2));
                for side in (0..4).filter(|side| unit(l, 10 + *side as u64) < 0.7) {
                    mixed.levels[side][l] = size(l, 20 + side as u64) - size(l, 30 + side as u64);
                    mixed.ice[side][l] = size(l, 40 + side as u64);
                }
            }
            let years = 10.0 * size(0, 50);
            let together = RATES.share(&mixed, 50.0, years);
            for l in 0..LANES {
                let at = |sides: [Lane; 4]| sides.map(|lane| lane[l]);
                let alone = cells(mixed.there[l], mixed.guess[l], at(mixed.levels), at(mixed.ice));
                let alone = RATES.share(&alone, 50.0, years);
                assert_eq!((together.keeps[l], at(together.over)), (alone.keeps[l], at(alone.over)), "{round}, {l}");
            }
        }
    }
}
