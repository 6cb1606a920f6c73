//! The plan form of channels: junction angles, sinuosity, and alignment with the grid.

use std::f64::consts::SQRT_2;

use crate::products::measure::fit::select_quantile;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{AxisScale, Curve, Found, Measures, Spec, measures};
use thalweg_core::Cell;
use thalweg_core::terrain::ReachId;

pub(super) const SPECS: [Spec; 5] = measures! {
    /// It is 45° in dry, steep land, where overland flow incises channels, and 72° in humid land, where groundwater
    /// does.
    junction_angle: "junction angle, mean", Network, unit "°", usual 40.0 to 75.0, source "Seybold et al. 2017";
    /// It is tens of degrees.
    junction_spread: "junction angle, interquartile range", Network, unit "°", usual 15.0 to 60.0,
        source "real models, docs/measure.md";
    /// Length over chord, at order 2 and above, is 1.1 to 1.3 in mountains, and above 1.5 where rivers meander.
    sinuosity: "sinuosity of streams, median", Network, unit "1", usual 1.05 to 1.5, source "Leopold & Wolman 1957";
    /// It is the mean of cos 8φ over bearings φ: 0 if they are uniform, and 1 if all are along the grid's eight
    /// directions.
    channel_alignment: "channels along multiples of 45°", Grid, unit "1", usual -0.1 to 0.15,
        source "Fairfield & Leymarie 1991";
    /// Lines with uniformly distributed bearings have √2 − 1 = 41 % diagonal steps.
    channel_diagonals: "diagonal channel steps", Grid, unit "%", usual 35.0 to 50.0, source "geometry";
};

/// The number of steps up each tributary over which its bearing is measured, and the least number.
const BEARING_STEPS: usize = 10;
const MIN_REACH_CELLS: usize = 5;

/// The least number of steps of a stream for its sinuosity to count.
const WINDING: usize = 20;

/// The least number of samples for a mean.
const MIN_SAMPLES: usize = 10;

pub(super) fn measure_plan_form(channels: &Channels, all: &mut Measures) {
    let mut angles = measure_junction_angles(channels);
    let some = |found: Found| channels.require_channels().and(found);
    let few = "fewer than ten junctions of two tributaries five cells long";
    let mean = if angles.len() < MIN_SAMPLES { Err(few) } else { Ok(angles.iter().sum::<f64>() / angles.len() as f64) };
    let spread = match (select_quantile(&mut angles, 0.25), select_quantile(&mut angles, 0.75)) {
        (Some(low), Some(high)) if mean.is_ok() => Ok(high - low),
        _ => Err(few),
    };
    let bearings = Bearings::from_channels(channels);
    let found = [
        some(mean),
        some(spread),
        some(median_sinuosity(channels)),
        bearings.grid_alignment(),
        bearings.diagonal_share(),
    ];
    all.add_values(&SPECS, found);
    if mean.is_ok() {
        let mut classes = [0u64; 18];
        // The last class also contains 180°.
        angles.iter().for_each(|angle| classes[((angle / 10.0) as usize).min(17)] += 1);
        let share = |n: u64| 100.0 * n as f64 / angles.len() as f64;
        all.curves.push(Curve {
            name: "junction_angles",
            x: "angle (°)",
            y: "share of junctions (% per 10°)",
            scale: AxisScale::Linear,
            points: classes.iter().enumerate().map(|(k, n)| [10.0 * k as f64 + 5.0, share(*n)]).collect(),
            law: None,
        });
    }
}

/// Returns the row and column of a cell.
fn to_row_col(cell: Cell) -> [f64; 2] {
    [cell.row as f64, cell.col as f64]
}

/// Returns the angles in degrees between the two tributaries of each junction, measured between chords upstream from
/// it.
fn measure_junction_angles(channels: &Channels) -> Vec<f64> {
    let reaches = &channels.network.reaches;
    let mut found = Vec::new();
    for (n, pair) in channels.network.tributaries().iter().enumerate() {
        // Junctions of three or more tributaries have no single angle and are left out.
        let [a, b] = pair[..] else { continue };
        let at = to_row_col(reaches[n].cells[0]);
        let chord = |reach: ReachId| {
            let cells = reaches[reach as usize].own_cells();
            let steps = cells.len().min(BEARING_STEPS);
            let up = to_row_col(cells[cells.len() - steps]);
            // The chord begins at most REACH cells above the junction.
            (steps >= MIN_REACH_CELLS).then_some([up[0] - at[0], up[1] - at[1]])
        };
        if let Some(([ai, aj], [bi, bj])) = chord(a).zip(chord(b)) {
            let cosine = (ai * bi + aj * bj) / ((ai * ai + aj * aj) * (bi * bi + bj * bj)).sqrt();
            // Rounding may make the cosine slightly larger than 1, for which the angle does not exist.
            found.push(libm::acos(cosine.clamp(-1.0, 1.0)).to_degrees());
        }
    }
    found
}

/// Returns the median, weighted by length, of the sinuosity of streams of order 2 and above. Moving means over five
/// cells' positions smooth out the zigzag of the eight directions, which is up to 8 % of the length.
fn median_sinuosity(channels: &Channels) -> Found {
    let mut streams: Vec<Vec<[f64; 2]>> = vec![Vec::new(); channels.network.reaches.len()];
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (n, reach) in channels.reaches().filter(|(_, reach)| reach.order > 1) {
        streams[n].extend(reach.own_cells().iter().map(|cell| to_row_col(*cell)));
        let stream = std::mem::take(&mut streams[n]);
        match channels.downstream_reach(n) {
            // A stream continues into the next reach of its order, which receives the cells collected so far.
            Some((next, true)) => streams[next] = stream,
            _ if stream.len() > WINDING => {
                let mean = |w: &[[f64; 2]]| [0, 1].map(|c| w.iter().map(|p| p[c]).sum::<f64>() / w.len() as f64);
                let smooth: Vec<[f64; 2]> = stream.windows(5).map(mean).collect();
                let length: f64 = smooth.windows(2).map(|w| distance(w[0], w[1])).sum();
                // A stream that ends where it begins has no chord; at least one cell is assumed.
                let chord = distance(smooth[0], smooth[smooth.len() - 1]).max(1.0);
                found.push((length / chord, length));
            }
            _ => {}
        }
    }
    // Equal sinuosities are sorted by length, so that the weighted median does not depend on the order of reaches.
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = 0.5 * found.iter().map(|(_, length)| length).sum::<f64>();
    let mut sum = 0.0;
    let middle = found.iter().find(|(_, length)| {
        sum += length;
        sum >= half
    });
    middle.map(|(s, _)| *s).ok_or("no stream of order 2 is twenty cells long")
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

/// Statistics of the directions of channels.
struct Bearings {
    /// The number of chords of [`BEARING_STEPS`] steps, and the sum of their cos 8φ.
    chords: usize,
    cosines: f64,
    /// The number of steps, and that of diagonal steps.
    steps: usize,
    diagonal: usize,
}

impl Bearings {
    fn from_channels(channels: &Channels) -> Self {
        let mut bearings = Self { chords: 0, cosines: 0.0, steps: 0, diagonal: 0 };
        for (_, reach) in channels.reaches() {
            for pair in reach.own_cells().windows(2) {
                bearings.steps += 1;
                bearings.diagonal +=
                    // The limit is halfway between the lengths of a straight and a diagonal step.
                    usize::from(distance(to_row_col(pair[0]), to_row_col(pair[1])) > 0.5 + 0.5 * SQRT_2);
            }
            // Chords do not overlap, so that each step counts once.
            for chord in reach.own_cells().windows(BEARING_STEPS + 1).step_by(BEARING_STEPS) {
                let ([a, b], [c, d]) = (to_row_col(chord[0]), to_row_col(chord[BEARING_STEPS]));
                bearings.chords += 1;
                bearings.cosines += libm::cos(8.0 * libm::atan2(c - a, d - b));
            }
        }
        bearings
    }

    fn grid_alignment(&self) -> Found {
        let few = "fewer than ten reaches of ten cells";
        if self.chords < MIN_SAMPLES { Err(few) } else { Ok(self.cosines / self.chords as f64) }
    }

    fn diagonal_share(&self) -> Found {
        let few = "fewer than a hundred cells of channel";
        if self.steps < 100 { Err(few) } else { Ok(100.0 * self.diagonal as f64 / self.steps as f64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::ChannelReach;

    /// A reach through the given rows and columns; if it flows into another one, the last cell is the junction.
    fn reach(cells: impl Iterator<Item = [usize; 2]>, downstream: Option<ReachId>, order: u32) -> ChannelReach {
        ChannelReach { cells: cells.map(Cell::from).collect(), downstream, order, ..ChannelReach::default() }
    }

    #[test]
    fn a_junctions_angle() {
        // Two reaches from the north and from the north-west meet at row 50, column 50: 45°. A third reach alone
        // forms no junction.
        let reaches = vec![
            reach((30..=50).map(|i| [i, 50]), Some(2), 1),
            reach((30..=50).map(|i| [i, i]), Some(2), 1),
            reach((50..90).map(|i| [i, 50]), None, 2),
        ];
        let found = measure_junction_angles(&Channels::from_reaches(reaches));
        assert!(found.len() == 1 && (found[0] - 45.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn straight_streams_do_not_wind_and_bent_ones_do() {
        let straight = reach((10..90).map(|i| [i, 50]), None, 2);
        // 40 cells down and then 40 to the right, smoothed a little at the corner: nearly √2 times the chord.
        let bent = reach((10..50).map(|i| [i, 10]).chain((10..50).map(|j| [50, j])), None, 2);
        // Every other step is diagonal, alternately left and right: a straight line apart from its zigzag.
        let zigzag = reach((10..90).map(|i| [i, 50 + i % 2]), None, 2);
        let of = |reach: ChannelReach| median_sinuosity(&Channels::from_reaches(vec![reach])).unwrap();
        assert_eq!(of(straight), 1.0);
        assert!((of(bent) - SQRT_2).abs() < 0.03);
        assert!(of(zigzag) < 1.03);
    }

    #[test]
    fn the_grids_bearings_are_told_from_others() {
        let of = |reaches: Vec<ChannelReach>| Bearings::from_channels(&Channels::from_reaches(reaches));
        let along = of((0..20).map(|j| reach((0..90).map(move |i| [i, j]), None, 1)).collect());
        assert_eq!((along.grid_alignment(), along.diagonal_share()), (Ok(1.0), Ok(0.0)));
        // Out of ten steps five go down and five right-down: 26.57°, cos 8φ = −0.843.
        let between = of((0..20).map(|j| reach((0..90).map(move |i| [i, j + i / 2]), None, 1)).collect());
        assert!((between.grid_alignment().unwrap() + 0.843).abs() < 1e-3);
        assert!((between.diagonal_share().unwrap() - 50.0).abs() < 1.0);
    }
}
