//! Hack's law: the length of the main stem of a basin.

use crate::products::measure::drainage::MeasuredDrainage;
use crate::products::measure::fit::{bin_samples, fit_power_law, thin_samples};
use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{AxisScale, Curve, Measures, Spec, measures};
use thalweg_core::Cell;

pub(super) const SPECS: [Spec; 2] = measures! {
    /// The length of the main stem, from divide to junction, increases as area^h. h is 0.5 if basins keep their shape.
    hack_exponent: "Hack's exponent h", Network, unit "1", usual 0.45 to 0.6, source "Hack 1957; Rigon et al. 1996";
    /// Hack's law gives 1.3, and that of Montgomery & Dietrich gives 1.8. Narrow basins have longer main stems.
    hack_factor: "length of the main stem at 1 km²", Network, unit "km", usual 1.0 to 3.0,
        source "Hack 1957; Montgomery & Dietrich 1992";
};

/// The number of bins per decade of area, and the least number of junctions in one.
const BINS: f64 = 5.0;
const MIN_BIN_JUNCTIONS: usize = 3;

/// Measures drainage area and length to the farthest divide at the lower end of every reach with a complete basin.
/// The law is fitted to geometric means of bins, because otherwise the many small basins alone would determine it.
pub(super) fn measure_hack_law(
    ground: &MeasuredLand<'_>,
    catchments: &MeasuredDrainage,
    channels: &Channels,
    all: &mut Measures,
) {
    // Half a cell is added at the divide and at the end, so that a basin of one cell has a length.
    let length = |cell: Cell| (catchments.length[cell.row * ground.land.cols() + cell.col] + ground.cell_size()) * 1e-3;
    let whole = channels.reaches().filter(|(n, _)| channels.is_whole[*n]);
    let samples: Vec<[f64; 2]> = whole
        // Lengths are averaged as logarithms, which gives their geometric mean.
        .filter_map(|(n, reach)| Some([channels.area_km2[n], libm::log(length(*reach.own_cells().last()?))]))
        .collect();
    let means: Vec<[f64; 2]> = bin_samples(&samples, BINS, MIN_BIN_JUNCTIONS)
        .iter()
        .map(|bin| [bin.x, libm::exp(bin.values.iter().sum::<f64>() / bin.values.len() as f64)])
        .collect();
    let law = fit_power_law(&means, 3);
    let found =
        channels.require_channels().and_then(|()| law.ok_or("junctions of whole catchments span too few sizes"));
    all.add_values(&SPECS, [found.map(|law| law.exponent), found.map(|law| law.factor)]);
    if means.is_empty() {
        return;
    }
    let (x, y, scale) = ("catchment (km²)", "main stem (km)", AxisScale::Logarithmic);
    all.curves.push(Curve { name: "hack", x, y, scale, points: means, law });
    let cloud: Vec<[f64; 2]> = samples.iter().map(|[area, log]| [*area, libm::exp(*log)]).collect();
    all.curves.push(Curve { name: "hack_cloud", x, y, scale, points: thin_samples(&cloud, CLOUD), law: None });
}

/// The largest number of points in a scatter plot.
const CLOUD: usize = 1500;
