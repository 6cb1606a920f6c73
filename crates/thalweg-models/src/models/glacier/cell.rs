//! Shallow ice in one cell: the outflow to its lower neighbours in a step.

/// Factors of the ice flux.
#[derive(Debug, Clone, Copy)]
pub struct IceFluxFactors {
    /// Deformation factor Γd in 1/(m³·a).
    pub creep: f64,
    /// Sliding factor Γs in 1/(m·a).
    pub slide: f64,
}

/// Maximum slope that drives ice. Steeper slopes give no more flux: the shallow-ice approximation is not valid there.
pub const STEEPEST: f64 = 1.5;

/// The surroundings of a cell in metres: beyond its west, east, north and south side. Plain arrays, so that all four
/// can be computed at once.
#[derive(Debug, Clone, Copy)]
pub struct CellSurroundings {
    /// Surfaces of lower cells above this cell's ground; infinite for closed edges and higher cells.
    pub levels: [f64; 4],
    /// Ice thickness of the lower cells.
    pub ice: [f64; 4],
}

impl CellSurroundings {
    /// Closed on all sides.
    pub const WALLS: Self = Self { levels: [f64::INFINITY; 4], ice: [0.0; 4] };
}

/// The outflow at a given ice thickness.
struct IceOutflow {
    /// Metres that flow over each side in a step.
    over: [f64; 4],
    /// Their sum.
    sum: f64,
    /// Derivative of the sum by the thickness.
    grows: f64,
}

impl IceFluxFactors {
    /// Computes how many metres of ice a cell keeps of `there` metres after `years`, and the outflow over its west,
    /// east, north and south side: the thickness H for which H plus the outflow at H equals `there`, with the
    /// surroundings as they were before the step (implicit). Solved by Newton's method with bisection as a safeguard.
    ///
    /// The result is between 0 and `there`, however long the step. `guess` is the starting value.
    #[inline(always)]
    pub fn solve_outflow(
        &self,
        there: f64,
        guess: f64,
        beyond: &CellSurroundings,
        cell: f64,
        years: f64,
    ) -> (f64, [f64; 4]) {
        // The sum of thickness and outflow grows with the thickness, so the root is always between `low` and `high`.
        let (mut low, mut high) = (0.0, there);
        let mut keeps = if guess > 0.0 && guess < there { guess } else { 0.5 * there };
        let mut given = self.compute_outflow(keeps, beyond, cell, years);
        for _ in 0..ROUNDS {
            let over = keeps + given.sum - there;
            if over > 0.0 {
                high = keeps;
            } else {
                low = keeps;
            }
            let newton = keeps - over / (1.0 + given.grows);
            // A Newton step that leaves the bracket is replaced by bisection.
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            // 1e-5 m is less than a unit (1/65 536 m), to which the caller rounds the result.
            let near = (next - keeps).abs() < 1e-5 + 1e-6 * next;
            keeps = next;
            if near {
                break;
            }
            given = self.compute_outflow(keeps, beyond, cell, years);
        }
        // After convergence the outflow is that of the thickness before the last correction; callers use only the
        // ratios of its parts.
        (keeps, given.over)
    }

    /// Computes the outflow at `thick` metres of ice. The squared slope uses the steepest descents along both axes.
    #[inline(always)]
    fn compute_outflow(&self, thick: f64, beyond: &CellSurroundings, cell: f64, years: f64) -> IceOutflow {
        let per = 1.0 / cell;
        // The slope over each side is needed together with its derivative by the thickness.
        let (mut slopes, mut slopes_grow) = ([0.0; 4], [0.0; 4]);
        for side in 0..4 {
            let slope = (thick - beyond.levels[side]) * per;
            slopes[side] = slope.clamp(0.0, STEEPEST);
            slopes_grow[side] = if slope > 0.0 && slope < STEEPEST { per } else { 0.0 };
        }
        let steeper = |a: usize, b: usize| {
            if slopes[b] > slopes[a] { (slopes[b], slopes_grow[b]) } else { (slopes[a], slopes_grow[a]) }
        };
        let (across, along) = (steeper(0, 1), steeper(2, 3));
        let (square, square_grows) =
            (across.0 * across.0 + along.0 * along.0, 2.0 * (across.0 * across.1 + along.0 * along.1));
        let (mut over, mut grows) = ([0.0; 4], [0.0; 4]);
        for side in 0..4 {
            let (slope, ice) = (slopes[side], beyond.ice[side]);
            // Thickness on the side: the mean of both cells or that of the upper one, whichever is less.
            let (h, h_grows) = if ice < thick { (0.5 * (thick + ice), 0.5) } else { (thick, 1.0) };
            let h2 = h * h;
            // The flux (Γd·H⁵ + Γs·H³)·|∇s|²·∇s of a step is computed in metres of the cell, together with its
            // derivative by the thickness, which Newton's method needs.
            let conducts = (self.creep * h2 + self.slide) * h2 * h * years * per;
            let conducts_grows = (5.0 * self.creep * h2 + 3.0 * self.slide) * h2 * h_grows * years * per;
            over[side] = conducts * square * slope;
            grows[side] =
                conducts_grows * square * slope + conducts * (square_grows * slope + square * slopes_grow[side]);
        }
        IceOutflow { over, sum: over.iter().sum(), grows: grows.iter().sum() }
    }
}

/// Maximum number of iterations; three are usual. A result that has not converged still never exceeds the ice that
/// there is.
const ROUNDS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: IceFluxFactors = IceFluxFactors { creep: 2e-5, slide: 1.0 };

    #[test]
    fn nothing_is_made_and_the_equation_holds() {
        let beyond = CellSurroundings { levels: [-20.0, f64::INFINITY, 60.0, 0.0], ice: [80.0, 0.0, 10.0, 0.0] };
        for there in [1e-3, 1.0, 90.0, 3000.0] {
            for years in [1e-3, 1.0, 1e3] {
                let (keeps, over) = RATES.solve_outflow(there, 70.0, &beyond, 50.0, years);
                let sum: f64 = over.iter().sum();
                assert!((0.0..=there).contains(&keeps) && over.iter().all(|x| *x >= 0.0));
                // The tolerance of the search, 1e-6 of the thickness, times the derivative of the outflow.
                let slack = (1e-5 + 1e-6 * keeps) * (1.0 + RATES.compute_outflow(keeps, &beyond, 50.0, years).grows);
                assert!((keeps + sum - there).abs() <= slack + 1e-9 * there, "{there} m, {years} a: {keeps} + {sum}");
            }
        }
    }

    #[test]
    fn a_slope_gives_as_the_formula_says_in_any_direction() {
        // 100 m of ice on a plane of slope 0.1, along an axis and obliquely: the flux has the same magnitude.
        let flux = (2e-5 * 1e10 + 1e6) * 1e-3;
        let plane = |sides: [bool; 4], slope: f64| CellSurroundings {
            levels: sides.map(|falls| if falls { 100.0 - 50.0 * slope } else { f64::INFINITY }),
            ice: [100.0; 4],
        };
        let straight = RATES.compute_outflow(100.0, &plane([false, true, false, false], 0.1), 50.0, 1.0);
        assert!((straight.over[1] * 50.0 / flux - 1.0).abs() < 1e-12);
        let part = 0.1 * std::f64::consts::FRAC_1_SQRT_2;
        let slant = RATES.compute_outflow(100.0, &plane([false, true, false, true], part), 50.0, 1.0);
        let length = (slant.over[1] * slant.over[1] + slant.over[3] * slant.over[3]).sqrt();
        assert!((length * 50.0 / flux - 1.0).abs() < 1e-12);
    }
}
