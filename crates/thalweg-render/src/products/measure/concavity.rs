//! The concavity and steepness of channels: how channel slope decreases as drainage area grows.

use crate::products::measure::drainage::step_length;
use crate::products::measure::fit::{bin_samples, fit_line, fit_power_law, select_quantile, thin_samples};
use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{AxisScale, Curve, Found, Measures, Spec, measures};
use crate::products::measure::tree::BasinTree;
use thalweg_core::Cell;
use thalweg_flow::FlowGraph;

pub(super) const SPECS: [Spec; 4] = measures! {
    /// Channel slope decreases as area^−θ. θ is about 0.45 where rivers incise rock that rises uniformly.
    concavity: "concavity θ, from slope and area", Network, unit "1", usual 0.3 to 0.7,
        source "Whipple & Tucker 1999; Tucker & Whipple 2002";
    /// The medians of slope are close to one line. Two lines indicate two kinds of rock, two rates of uplift or two
    /// processes.
    concavity_fit: "concavity θ, R² of the law", Network, unit "1", usual 0.7 to 1.0, source "Wobus et al. 2006";
    /// It increases with uplift and with hard rock. It is tens in old mountains, and 100 to 500 in rapidly rising ones.
    steepness: "steepness ksn, at θ = 0.45", Network, unit "m^0.9", usual 1.0 to 500.0, source "Kirby & Whipple 2012";
    /// It is the θ for which a basin's channels form one line of elevation over χ. It is computed without slopes.
    concavity_chi: "concavity θ, from χ plots", Network, unit "1", usual 0.2 to 0.8, source "Perron & Royden 2013";
};

/// The number of steps up and down the channel over which the slope at a cell is measured. Slopes between adjacent
/// cells would be dominated by the rounding of elevations.
const SLOPE_STEPS: usize = 5;

/// The number of bins per decade of area, and the least number of reaches in a bin. All the cells of a reach in one
/// bin form one sample, however long the reach is, because the cells of one river are not statistically independent.
const BINS: f64 = 5.0;
const MIN_BIN_SAMPLES: usize = 5;

pub(super) fn measure_concavity(
    ground: &MeasuredLand<'_>,
    drainage: &FlowGraph,
    channels: &Channels,
    all: &mut Measures,
) {
    let some = channels.require_channels();
    let samples = sample_channel_slopes(ground, drainage, channels);
    let bins = bin_samples(&samples, BINS, MIN_BIN_SAMPLES);
    // Medians are fitted instead of single slopes, because slopes scatter widely and can be negative.
    let medians: Vec<[f64; 2]> =
        bins.into_iter().filter_map(|mut bin| Some([bin.x, select_quantile(&mut bin.values, 0.5)?])).collect();
    let law = fit_power_law(&medians, 4);
    let found = some.and_then(|()| law.ok_or("channels of whole catchments span too few sizes"));
    // ks = S·A^θref, A in m².
    let mut steep: Vec<f64> = samples.iter().map(|[a, s]| s * libm::pow(a * 1e6, 0.45)).collect();
    let none = "no channel of a whole catchment is long enough";
    let steepness: Found = some.and_then(|()| select_quantile(&mut steep, 0.5).ok_or(none));
    let chi = some.and_then(|()| fit_chi_concavity(ground, drainage, channels));
    all.add_values(&SPECS, [found.map(|law| -law.exponent), found.map(|law| law.r2), steepness, chi]);
    if medians.is_empty() {
        return;
    }
    let (x, y, scale) = ("catchment (km²)", "channel slope (m/m)", AxisScale::Logarithmic);
    all.curves.push(Curve { name: "slope_area", x, y, scale, points: medians, law });
    let above: Vec<[f64; 2]> = samples.into_iter().filter(|s| s[1] > 0.0).collect();
    all.curves.push(Curve { name: "slope_area_cloud", x, y, scale, points: thin_samples(&above, CLOUD), law: None });
}

/// The largest number of points in a scatter plot.
const CLOUD: usize = 1500;

/// Returns the drainage area (km²) and slope of channels with complete basins, averaged over the cells that a reach
/// has in each bin. The slope at a cell is measured from [`SLOPE_STEPS`] steps up the main stem to as many down.
fn sample_channel_slopes(ground: &MeasuredLand<'_>, drainage: &FlowGraph, channels: &Channels) -> Vec<[f64; 2]> {
    let cell_area = ground.terrain.grid.cell_area() * 1e-6;
    let height = |k: usize| ground.terrain.ground[k].metres();
    let areas = drainage.upstream_cells().as_slice();
    // For each reach the upstream reach on the main stem, that is the one with the largest drainage area.
    let mut stem: Vec<Option<usize>> = vec![None; channels.network.reaches.len()];
    let area = |n: usize| channels.area_km2[n];
    // A strict comparison keeps the first of equally large reaches.
    for n in 0..stem.len() {
        if let Some((next, _)) = channels.downstream_reach(n)
            && stem[next].is_none_or(|other| area(other) < area(n))
        {
            stem[next] = Some(n);
        }
    }
    let mut samples = Vec::new();
    let mut path: Vec<usize> = Vec::new();
    let index = |cell: &Cell| cell.row * ground.land.cols() + cell.col;
    for (n, reach) in channels.reaches().filter(|(n, _)| channels.is_whole[*n]) {
        // The reach's cells, with up to REACH cells above and below it.
        path.clear();
        // Upstream cells are collected from the reach upward and then reversed, so that the path runs downstream.
        let mut up = stem[n];
        while let Some(m) = up.filter(|_| path.len() < SLOPE_STEPS) {
            let upstream = channels.network.reaches[m].own_cells().iter().rev();
            path.extend(upstream.take(SLOPE_STEPS - path.len()).map(index));
            up = stem[m];
        }
        path.reverse();
        let first = path.len();
        path.extend(reach.own_cells().iter().map(index));
        let last = path.len();
        while let Some(next) = path.last().and_then(|k| drainage.next(*k)).filter(|_| path.len() < last + SLOPE_STEPS) {
            path.push(next);
        }
        let found = (first..last).filter_map(|at| {
            // Only cells with the full distance on both sides: slopes over a few cells scatter.
            let reach = path.get(at.checked_sub(SLOPE_STEPS)?..=at + SLOPE_STEPS)?;
            let steps = reach[..2 * SLOPE_STEPS].iter().map(|k| step_length(drainage.directions()[*k]));
            let drop = height(reach[0]) - height(reach[2 * SLOPE_STEPS]);
            let area = libm::log10(f64::from(areas[path[at]]) * cell_area);
            Some([area, drop / (steps.sum::<f64>() * ground.cell_size())])
        });
        let found: Vec<[f64; 2]> = found.collect();
        // Drainage areas only grow downstream, so the cells of a bin are consecutive.
        for bin in found.chunk_by(|a, b| (a[0] * BINS).floor() == (b[0] * BINS).floor()) {
            let [area, slope] = [0, 1].map(|c| bin.iter().map(|s| s[c]).sum::<f64>() / bin.len() as f64);
            samples.push([libm::exp10(area), slope]);
        }
    }
    samples
}

/// The least numbers of channel cells and of reaches in a basin for its χ plot to be used.
const BASIN: (usize, usize) = (100, 5);

/// Returns the median of the basins' best θ, weighted by channel cells.
fn fit_chi_concavity(ground: &MeasuredLand<'_>, drainage: &FlowGraph, channels: &Channels) -> Found {
    let mut best: Vec<(f64, usize)> = Vec::new();
    for tree in BasinTree::complete_basins(channels) {
        let profile = BasinProfile::from_tree(ground, drainage, channels, &tree);
        if profile.nodes.len() >= BASIN.0 && tree.reaches.len() >= BASIN.1 {
            best.extend(profile.find_best_theta().map(|theta| (theta, profile.nodes.len())));
        }
    }
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The weighted median is the first value at which half of the channel cells are reached.
    let half = best.iter().map(|(_, n)| n).sum::<usize>().div_ceil(2);
    let mut sum = 0;
    let middle = best.iter().find(|(_, n)| {
        sum += n;
        sum >= half
    });
    middle.map(|(theta, _)| *theta).ok_or("no whole basin has five reaches and 100 cells of channel")
}

/// The channels of one basin, for the χ plot.
struct BasinProfile {
    /// For each cell, mouth first: index of the cell below, ln of the drainage area in cells, length of the step
    /// down, height above the mouth.
    nodes: Vec<(usize, f64, f64, f64)>,
}

impl BasinProfile {
    fn from_tree(ground: &MeasuredLand<'_>, drainage: &FlowGraph, channels: &Channels, tree: &BasinTree) -> Self {
        let height = |cell: Cell| ground.terrain.ground[cell].metres();
        let mut nodes: Vec<(usize, f64, f64, f64)> = Vec::new();
        // The node of the first cell of each finished reach, in the order of the tree.
        let mut first = vec![0usize; tree.reaches.len()];
        let mut base = 0.0;
        for (n, (reach, below)) in tree.reaches.iter().enumerate() {
            // A reach continues from the first cell of the reach below; the mouth of the basin continues from itself.
            let mut down = below.map_or(0, |below| first[below]);
            for (m, cell) in channels.network.reaches[*reach].own_cells().iter().enumerate().rev() {
                if nodes.is_empty() {
                    base = height(*cell);
                }
                let area = libm::log(f64::from(drainage.upstream_cells()[*cell]));
                nodes.push((down, area, step_length(drainage.directions()[*cell]), height(*cell) - base));
                down = nodes.len() - 1;
                if m == 0 {
                    first[n] = down;
                }
            }
        }
        Self { nodes }
    }

    /// Returns the θ from 0 to 1.2 for which height over χ is closest to a straight line.
    fn find_best_theta(&self) -> Option<f64> {
        let top = |thetas: &mut dyn Iterator<Item = f64>| {
            let fits = thetas.filter_map(|theta| Some((theta, self.fit_theta(theta)?)));
            fits.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(theta, _)| theta)
        };
        // A search in steps of 0.1 finds the neighbourhood of the best θ, and one in steps of 0.01 refines it.
        let rough = top(&mut (0..=12).map(|k| 0.1 * f64::from(k)))?;
        top(&mut (-9..=9).map(|k| rough + 0.01 * f64::from(k)).filter(|theta| (0.0..=1.2).contains(theta)))
    }

    /// Returns R² of height over χ, where χ is the sum of step lengths times (A/A at the mouth)^−θ.
    fn fit_theta(&self, theta: f64) -> Option<f64> {
        // Areas are not divided by that of the mouth, because a common factor of χ does not change R².
        let powers: Vec<f64> = self.nodes.iter().map(|node| libm::exp(-theta * node.1)).collect();
        let mut chi = vec![0.0; self.nodes.len()];
        for n in 1..self.nodes.len() {
            let (down, _, length, _) = self.nodes[n];
            // The trapezoidal rule integrates area^−θ from cell to cell.
            chi[n] = chi[down] + 0.5 * (powers[n] + powers[down]) * length;
        }
        // Scale χ to 1, so that squares of small powers do not underflow.
        let most = chi.iter().copied().fold(0.0, f64::max);
        let points: Vec<[f64; 2]> = chi.iter().zip(&self.nodes).map(|(chi, node)| [chi / most, node.3]).collect();
        (most > 0.0).then(|| fit_line(&points)).flatten().map(|line| line.r2)
    }
}
