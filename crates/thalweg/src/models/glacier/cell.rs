//! Shallow ice in one cell: what it gives to its lower neighbours in a step.

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

/// What lies beyond a side of a cell.
#[derive(Debug, Clone, Copy)]
pub enum Beyond {
    /// A wall, or higher ground.
    Wall,
    /// A lower cell: its surface above this cell's ground, and its ice, in metres.
    Cell { level: f64, ice: f64 },
}

/// What ice of a thickness gives.
struct Given {
    /// Metres that pass over each side in a step.
    over: [f64; 4],
    /// Their sum, and how it grows with thickness.
    sum: f64,
    grows: f64,
}

impl Rates {
    /// Metres of ice that a cell keeps of `there` metres after `years`, and what it gives over its west, east, north and south
    /// side: the thickness H for which H + what H gives = `there`, where what lies beyond is as it was before the step.
    ///
    /// Whatever the time it is from 0 to `there`. `guess` is where to begin.
    pub fn share(&self, there: f64, guess: f64, beyond: &[Beyond; 4], cell: f64, years: f64) -> (f64, [f64; 4]) {
        let (mut low, mut high) = (0.0, there);
        let mut keeps = if guess > 0.0 && guess < there { guess } else { 0.5 * there };
        let mut given = self.give(keeps, beyond, cell, years);
        for _ in 0..ROUNDS {
            let over = keeps + given.sum - there;
            if over > 0.0 {
                high = keeps;
            } else {
                low = keeps;
            }
            let newton = keeps - over / (1.0 + given.grows);
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let near = (next - keeps).abs() < 1e-5 + 1e-6 * next;
            keeps = next;
            if near {
                break;
            }
            given = self.give(keeps, beyond, cell, years);
        }
        (keeps, given.over)
    }

    /// What ice of `thick` metres gives. The square of the slope is that of the steepest ways down along both axes.
    fn give(&self, thick: f64, beyond: &[Beyond; 4], cell: f64, years: f64) -> Given {
        let per = 1.0 / cell;
        // Slope over each side, and how it grows with thickness.
        let slopes = beyond.map(|beyond| match beyond {
            Beyond::Wall => (0.0, 0.0),
            Beyond::Cell { level, .. } => {
                let slope = (thick - level) * per;
                if slope <= 0.0 {
                    (0.0, 0.0)
                } else if slope < STEEPEST {
                    (slope, per)
                } else {
                    (STEEPEST, 0.0)
                }
            }
        });
        let steeper = |a: (f64, f64), b: (f64, f64)| if b.0 > a.0 { b } else { a };
        let (across, along) = (steeper(slopes[0], slopes[1]), steeper(slopes[2], slopes[3]));
        let (square, square_grows) =
            (across.0 * across.0 + along.0 * along.0, 2.0 * (across.0 * across.1 + along.0 * along.1));
        let mut given = Given { over: [0.0; 4], sum: 0.0, grows: 0.0 };
        for (side, (slope, slope_grows)) in slopes.into_iter().enumerate() {
            if slope <= 0.0 {
                continue;
            }
            let (h, h_grows) = match beyond[side] {
                Beyond::Cell { ice, .. } if ice < thick => (0.5 * (thick + ice), 0.5),
                _ => (thick, 1.0),
            };
            let h2 = h * h;
            let conducts = (self.creep * h2 + self.slide) * h2 * h * years * per;
            let conducts_grows = (5.0 * self.creep * h2 + 3.0 * self.slide) * h2 * h_grows * years * per;
            given.over[side] = conducts * square * slope;
            given.sum += given.over[side];
            given.grows += conducts_grows * square * slope + conducts * (square_grows * slope + square * slope_grows);
        }
        given
    }
}

/// Most rounds of Newton's method; three are usual. What is not found by then is still no more than there is.
const ROUNDS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { creep: 2e-5, slide: 1.0 };

    #[test]
    fn nothing_is_made_and_the_equation_holds() {
        let beyond = [
            Beyond::Cell { level: -20.0, ice: 80.0 },
            Beyond::Wall,
            Beyond::Cell { level: 60.0, ice: 10.0 },
            Beyond::Cell { level: 0.0, ice: 0.0 },
        ];
        for there in [1e-3, 1.0, 90.0, 3000.0] {
            for years in [1e-3, 1.0, 1e3] {
                let (keeps, over) = RATES.share(there, 70.0, &beyond, 50.0, years);
                let sum: f64 = over.iter().sum();
                assert!((0.0..=there).contains(&keeps) && over.iter().all(|x| *x >= 0.0));
                // The step at which the search ends, 1e-6 of the thickness, times how much what is given grows.
                let slack = (1e-5 + 1e-6 * keeps) * (1.0 + RATES.give(keeps, &beyond, 50.0, years).grows);
                assert!((keeps + sum - there).abs() <= slack + 1e-9 * there, "{there} m, {years} a: {keeps} + {sum}");
            }
        }
    }

    #[test]
    fn a_slope_gives_as_the_formula_says_in_any_direction() {
        // 100 m of ice on a plane of slope 0.1 along an axis, and aslant with the same slope: the flux is the same length.
        let flux = (2e-5 * 1e10 + 1e6) * 1e-3;
        let plane = |slope: f64| Beyond::Cell { level: 100.0 - 50.0 * slope, ice: 100.0 };
        let straight = RATES.give(100.0, &[Beyond::Wall, plane(0.1), Beyond::Wall, Beyond::Wall], 50.0, 1.0);
        assert!((straight.over[1] * 50.0 / flux - 1.0).abs() < 1e-12);
        let part = 0.1 * std::f64::consts::FRAC_1_SQRT_2;
        let slant = RATES.give(100.0, &[Beyond::Wall, plane(part), Beyond::Wall, plane(part)], 50.0, 1.0);
        let length = (slant.over[1] * slant.over[1] + slant.over[3] * slant.over[3]).sqrt();
        assert!((length * 50.0 / flux - 1.0).abs() < 1e-12);
    }
}
