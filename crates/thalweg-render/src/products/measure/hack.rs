//! Hack's law: the length of the main stem of a basin.

use crate::products::measure::drainage::Catchments;
use crate::products::measure::fit::{bins, power, thin};
use crate::products::measure::ground::Ground;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{Curve, Measures, Scale, Spec, measures};
use thalweg_core::Cell;

pub(super) const SPECS: [Spec; 2] = measures! {
    /// The main stem's length grows as area^h, from divides to junctions; h is 0.5 if basins keep their shape.
    hack_exponent: "Hack's exponent h", Network, unit "1", usual 0.45 to 0.6, source "Hack 1957; Rigon et al. 1996";
    /// Hack's law gives 1.3, Montgomery & Dietrich's 1.8; narrow basins have longer stems.
    hack_factor: "length of the main stem at 1 km²", Network, unit "km", usual 1.0 to 3.0,
        source "Hack 1957; Montgomery & Dietrich 1992";
};

/// The number of bins per decade of area, and the least number of junctions in one.
const BINS: f64 = 5.0;
const LEAST: usize = 3;

/// Measures drainage area and length to the farthest divide at the lower end of every reach with a complete basin.
/// The law is fitted to geometric means of bins, because otherwise the many small basins alone would determine it.
pub(super) fn measure(ground: &Ground<'_>, catchments: &Catchments, channels: &Channels, all: &mut Measures) {
    // Half a cell is added at the divide and at the end, so that a basin of one cell has a length.
    let length = |cell: Cell| (catchments.length[cell.row * ground.land.cols() + cell.col] + ground.cell()) * 1e-3;
    let whole = channels.reaches().filter(|(n, _)| channels.is_whole[*n]);
    let samples: Vec<[f64; 2]> = whole
        .filter_map(|(n, reach)| Some([channels.area_km2[n], libm::log(length(*reach.own_cells().last()?))]))
        .collect();
    let means: Vec<[f64; 2]> = bins(&samples, BINS, LEAST)
        .iter()
        .map(|bin| [bin.x, libm::exp(bin.values.iter().sum::<f64>() / bin.values.len() as f64)])
        .collect();
    let law = power(&means, 3);
    let found = channels.some().and_then(|()| law.ok_or("junctions of whole catchments span too few sizes"));
    all.take(&SPECS, [found.map(|law| law.exponent), found.map(|law| law.factor)]);
    if means.is_empty() {
        return;
    }
    let (x, y, scale) = ("catchment (km²)", "main stem (km)", Scale::Logarithmic);
    all.curves.push(Curve { name: "hack", x, y, scale, points: means, law });
    let cloud: Vec<[f64; 2]> = samples.iter().map(|[area, log]| [*area, libm::exp(*log)]).collect();
    all.curves.push(Curve { name: "hack_cloud", x, y, scale, points: thin(&cloud, CLOUD), law: None });
}

/// The largest number of points in a scatter plot.
const CLOUD: usize = 1500;
