//! Moisture transport by the wind.

use thalweg_core::{Cell, Field};

/// The constants of the uptake, transport and loss of moisture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoistureTransport {
    /// Cell width in metres.
    pub cell: f64,
    /// Distance in metres over level land in which the moisture falls to 1/e by rain.
    pub reach: f64,
    /// Minimum share of the rain over level land, which falls even where air descends.
    pub least: f64,
    /// Distance in metres over sea in which the moisture deficit falls to 1/e.
    pub fill: f64,
    /// Ascent in metres in which air loses all but 1/e of its moisture.
    pub rise: f64,
    /// Share of the rain on land that returns to the air.
    pub returned: f64,
    /// Distance in metres over which eddies mix it: their diffusivity relative to the wind speed.
    pub mixing: f64,
}

/// Number of iterations, each with sweeps from all four corners. Moisture carried by the wind is exact after one;
/// moisture that eddies carry against the wind converges after a few tens.
const ROUNDS: u32 = 40;

impl MoistureTransport {
    /// Returns the rain in each cell relative to that over open sea.
    ///
    /// With w the moisture relative to open sea, u the wind (eastward and southward, by row), h the ground and
    /// D = `mixing`:
    /// u·∇w − D·∇²w = (1 − w)/fill over sea, −(1 − returned)·r·w on land, r = max(least/reach, 1/reach + u·∇h/rise).
    /// The rain is r·w·reach. Air that enters from outside has the moisture of open sea.
    pub fn compute_relative_rain(&self, ground: &Field<f64>, sea: &Field<bool>, wind: &[[f64; 2]]) -> Field<f64> {
        let [rows, cols] = ground.size();
        // The rates depend on ground and wind alone and are computed once.
        let rates = Field::from_fn([rows, cols], |i, j| self.moisture_loss_rate(ground, wind[i], Cell::new(i, j)));
        let mut moisture = Field::new([rows, cols], 1.0);
        // Gauss–Seidel iteration; the sweeps from four corners cover all wind directions.
        for _ in 0..ROUNDS {
            // A sweep carries moisture as far as the wind blows in its direction. The sweeps run on one thread in a
            // fixed order, since each cell reads what the cells before it have just been given.
            for [flip_rows, flip_cols] in [[false, false], [true, true], [false, true], [true, false]] {
                for i in (0..rows).map(|i| if flip_rows { rows - 1 - i } else { i }) {
                    for j in (0..cols).map(|j| if flip_cols { cols - 1 - j } else { j }) {
                        let cell = Cell::new(i, j);
                        moisture[cell] = self.balance_moisture(&moisture, wind[i], sea[cell], rates[cell], cell);
                    }
                }
            }
        }
        Field::from_fn([rows, cols], |i, j| self.reach * rates[(i, j)] * moisture[(i, j)])
    }

    /// Returns the share of its moisture that air loses per metre.
    fn moisture_loss_rate(&self, ground: &Field<f64>, [east, south]: [f64; 2], Cell { row: i, col: j }: Cell) -> f64 {
        let [rows, cols] = ground.size();
        let (north, below) = (i.saturating_sub(1), (i + 1).min(rows - 1));
        let (west, right) = (j.saturating_sub(1), (j + 1).min(cols - 1));
        // The differences are central, and one-sided at the edges; a single row or column has no slope.
        let slope = |from: f64, to: f64, steps: usize| (to - from) / (steps.max(1) as f64 * self.cell);
        let rises = east * slope(ground[(i, west)], ground[(i, right)], right - west)
            + south * slope(ground[(north, j)], ground[(below, j)], below - north);
        (1.0 / self.reach + rises / self.rise).max(self.least / self.reach)
    }

    /// Returns the moisture of a cell in balance with its neighbours. Upwind differences ensure that it is never
    /// negative.
    fn balance_moisture(
        &self,
        moisture: &Field<f64>,
        [east, south]: [f64; 2],
        sea: bool,
        rate: f64,
        cell: Cell,
    ) -> f64 {
        let [rows, cols] = moisture.size();
        let at = |di: isize, dj: isize| match (cell.row.checked_add_signed(di), cell.col.checked_add_signed(dj)) {
            (Some(i), Some(j)) if i < rows && j < cols => moisture[(i, j)],
            _ => 1.0,
        };
        // Each neighbour has the weight of the wind from it (upwind) and of the eddies, which mix in all directions.
        let eddies = self.mixing / (self.cell * self.cell);
        let from = |speed: f64| speed.max(0.0) / self.cell + eddies;
        let weights = [from(east), from(-east), from(south), from(-south)];
        let near = [at(0, -1), at(0, 1), at(-1, 0), at(1, 0)];
        let inflow: f64 = weights.iter().zip(near).map(|(weight, near)| weight * near).sum();
        // Over sea the moisture tends to 1 over `fill`; on land it rains out, less what evaporates again.
        let (gain, loss) = if sea { (1.0 / self.fill, 1.0 / self.fill) } else { (0.0, (1.0 - self.returned) * rate) };
        (inflow + gain) / (weights.iter().sum::<f64>() + loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIR: MoistureTransport =
        MoistureTransport { cell: 1e4, reach: 1e6, least: 0.0, fill: 3e5, rise: 4000.0, returned: 0.0, mixing: 0.0 };

    #[test]
    fn over_level_land_it_rains_out_as_an_exponential() {
        // From the west over 100 km of sea, then land. Upwind differences on 10 km give a factor of 1/(1 + dx/reach)
        // per cell.
        let size = [3, 200];
        let sea = Field::from_fn(size, |_, j| j < 10);
        let rain = AIR.compute_relative_rain(&Field::new(size, 0.0), &sea, &[[1.0, 0.0]; 3]);
        for j in [10, 50, 199] {
            let expected = (1.0f64 / 1.01).powi(j - 9);
            assert!((rain[(1, j as usize)] - expected).abs() < 1e-9, "{j}");
        }
        assert_eq!(rain[(1, 5)], 1.0);
    }

    #[test]
    fn windward_slopes_are_wet_and_lee_dry_and_the_books_close() {
        let size = [5, 120];
        let sea = Field::from_fn(size, |_, j| j < 20);
        let ridge = Field::from_fn(size, |_, j| (2000.0 - 200.0 * (j as f64 - 60.0).abs()).max(0.0));
        for wind in [[1.0, 0.0], [-1.0, 0.0]] {
            let rain = AIR.compute_relative_rain(&ridge, &sea, &[wind; 5]);
            let side = |range: std::ops::Range<usize>| range.map(|j| rain[(2, j)]).sum::<f64>();
            let (west, east) = (side(51..60), side(61..70));
            let (windward, lee) = if wind[0] > 0.0 { (west, east) } else { (east, west) };
            assert!(windward > 9.0 * 2.5 && lee < 1e-9, "{windward}, {lee}");
            if wind[0] > 0.0 {
                // The moisture that crossed the coast and did not leave fell as rain: 10 km cells over a reach of 1000
                // km.
                let fell: f64 = (20..120).map(|j| rain[(2, j)] * 0.01).sum();
                let left = rain[(2, 119)];
                assert!((fell + left - 1.0).abs() < 1e-9, "{fell} {left}");
            }
        }
    }
}
