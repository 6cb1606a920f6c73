//! The concavity and steepness of channels: how channel slope decreases as drainage area grows.

use crate::products::measure::drainage::step;
use crate::products::measure::fit::{bins, line, power, quantile, thin};
use crate::products::measure::ground::Ground;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{Curve, Found, Measures, Scale, Spec, measures};
use crate::products::measure::tree::Tree;
use thalweg_core::Cell;
use thalweg_flow::FlowGraph;

pub(super) const SPECS: [Spec; 4] = measures! {
    /// Channel slope decreases as area^−θ; θ is about 0.45 where rivers incise rock that rises uniformly.
    concavity: "concavity θ, from slope and area", Network, unit "1", usual 0.3 to 0.7,
        source "Whipple & Tucker 1999; Tucker & Whipple 2002";
    /// Medians of slope are close to one line; two lines indicate two rocks, rates of uplift or processes.
    concavity_fit: "concavity θ, R² of the law", Network, unit "1", usual 0.7 to 1.0, source "Wobus et al. 2006";
    /// It grows with uplift and with hard rock: tens in old mountains, 100 to 500 in rapidly rising ones.
    steepness: "steepness ksn, at θ = 0.45", Network, unit "m^0.9", usual 1.0 to 500.0, source "Kirby & Whipple 2012";
    /// The θ for which a basin's channels collapse to one line of elevation over χ; it needs no slopes.
    concavity_chi: "concavity θ, from χ plots", Network, unit "1", usual 0.2 to 0.8, source "Perron & Royden 2013";
};

/// The number of steps up and down the channel over which the slope at a cell is measured. Slopes between adjacent
/// cells would be dominated by the rounding of elevations.
const REACH: usize = 5;

/// The number of bins per decade of area, and the least number of reaches in a bin. All the cells of a reach in one
/// bin form one sample, however long the reach is, because the cells of one river are not statistically independent.
const BINS: f64 = 5.0;
const LEAST: usize = 5;

pub(super) fn measure(ground: &Ground<'_>, drainage: &FlowGraph, channels: &Channels, all: &mut Measures) {
    let some = channels.some();
    let samples = slopes(ground, drainage, channels);
    let bins = bins(&samples, BINS, LEAST);
    let medians: Vec<[f64; 2]> =
        bins.into_iter().filter_map(|mut bin| Some([bin.x, quantile(&mut bin.values, 0.5)?])).collect();
    let law = power(&medians, 4);
    let found = some.and_then(|()| law.ok_or("channels of whole catchments span too few sizes"));
    // ks = S·A^θref, A in m².
    let mut steep: Vec<f64> = samples.iter().map(|[a, s]| s * libm::pow(a * 1e6, 0.45)).collect();
    let none = "no channel of a whole catchment is long enough";
    let steepness: Found = some.and_then(|()| quantile(&mut steep, 0.5).ok_or(none));
    let chi = some.and_then(|()| chi(ground, drainage, channels));
    all.take(&SPECS, [found.map(|law| -law.exponent), found.map(|law| law.r2), steepness, chi]);
    if medians.is_empty() {
        return;
    }
    let (x, y, scale) = ("catchment (km²)", "channel slope (m/m)", Scale::Logarithmic);
    all.curves.push(Curve { name: "slope_area", x, y, scale, points: medians, law });
    let above: Vec<[f64; 2]> = samples.into_iter().filter(|s| s[1] > 0.0).collect();
    all.curves.push(Curve { name: "slope_area_cloud", x, y, scale, points: thin(&above, CLOUD), law: None });
}

/// The largest number of points in a scatter plot.
const CLOUD: usize = 1500;

/// Returns the drainage area (km²) and slope of channels with complete basins, averaged over the cells that a reach
/// has in each bin. The slope at a cell is measured from [`REACH`] steps up the main stem to as many down.
fn slopes(ground: &Ground<'_>, drainage: &FlowGraph, channels: &Channels) -> Vec<[f64; 2]> {
    let cell_area = ground.terrain.grid.cell_area() * 1e-6;
    let height = |k: usize| ground.terrain.ground[k].metres();
    let areas = drainage.upstream_cells().as_slice();
    // For each reach the upstream reach on the main stem, that is the one with the largest drainage area.
    let mut stem: Vec<Option<usize>> = vec![None; channels.network.reaches.len()];
    let area = |n: usize| channels.area_km2[n];
    for n in 0..stem.len() {
        if let Some((next, _)) = channels.downstream(n)
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
        let mut up = stem[n];
        while let Some(m) = up.filter(|_| path.len() < REACH) {
            let upstream = channels.network.reaches[m].own_cells().iter().rev();
            path.extend(upstream.take(REACH - path.len()).map(index));
            up = stem[m];
        }
        path.reverse();
        let first = path.len();
        path.extend(reach.own_cells().iter().map(index));
        let last = path.len();
        while let Some(next) = path.last().and_then(|k| drainage.next(*k)).filter(|_| path.len() < last + REACH) {
            path.push(next);
        }
        let found = (first..last).filter_map(|at| {
            // Only cells with the full distance on both sides: slopes over a few cells scatter.
            let reach = path.get(at.checked_sub(REACH)?..=at + REACH)?;
            let steps = reach[..2 * REACH].iter().map(|k| step(drainage.directions()[*k]));
            let drop = height(reach[0]) - height(reach[2 * REACH]);
            let area = libm::log10(f64::from(areas[path[at]]) * cell_area);
            Some([area, drop / (steps.sum::<f64>() * ground.cell())])
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
fn chi(ground: &Ground<'_>, drainage: &FlowGraph, channels: &Channels) -> Found {
    let mut best: Vec<(f64, usize)> = Vec::new();
    for tree in Tree::whole(channels) {
        let profile = Profile::of(ground, drainage, channels, &tree);
        if profile.nodes.len() >= BASIN.0 && tree.reaches.len() >= BASIN.1 {
            best.extend(profile.best().map(|theta| (theta, profile.nodes.len())));
        }
    }
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = best.iter().map(|(_, n)| n).sum::<usize>().div_ceil(2);
    let mut sum = 0;
    let middle = best.iter().find(|(_, n)| {
        sum += n;
        sum >= half
    });
    middle.map(|(theta, _)| *theta).ok_or("no whole basin has five reaches and 100 cells of channel")
}

/// The channels of one basin, for the χ plot.
struct Profile {
    /// For each cell, mouth first: index of the cell below, ln of the drainage area in cells, length of the step
    /// down, height above the mouth.
    nodes: Vec<(usize, f64, f64, f64)>,
}

impl Profile {
    fn of(ground: &Ground<'_>, drainage: &FlowGraph, channels: &Channels, tree: &Tree) -> Self {
        let height = |cell: Cell| ground.terrain.ground[cell].metres();
        let mut nodes: Vec<(usize, f64, f64, f64)> = Vec::new();
        // The node of the first cell of each finished reach, in the order of the tree.
        let mut first = vec![0usize; tree.reaches.len()];
        let mut base = 0.0;
        for (n, (reach, below)) in tree.reaches.iter().enumerate() {
            let mut down = below.map_or(0, |below| first[below]);
            for (m, cell) in channels.network.reaches[*reach].own_cells().iter().enumerate().rev() {
                if nodes.is_empty() {
                    base = height(*cell);
                }
                let area = libm::log(f64::from(drainage.upstream_cells()[*cell]));
                nodes.push((down, area, step(drainage.directions()[*cell]), height(*cell) - base));
                down = nodes.len() - 1;
                if m == 0 {
                    first[n] = down;
                }
            }
        }
        Self { nodes }
    }

    /// Returns the θ from 0 to 1.2 for which height over χ is closest to a straight line.
    fn best(&self) -> Option<f64> {
        let top = |thetas: &mut dyn Iterator<Item = f64>| {
            let fits = thetas.filter_map(|theta| Some((theta, self.fit(theta)?)));
            fits.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(theta, _)| theta)
        };
        let rough = top(&mut (0..=12).map(|k| 0.1 * f64::from(k)))?;
        top(&mut (-9..=9).map(|k| rough + 0.01 * f64::from(k)).filter(|theta| (0.0..=1.2).contains(theta)))
    }

    /// Returns R² of height over χ, where χ is the sum of step lengths times (A/A at the mouth)^−θ.
    fn fit(&self, theta: f64) -> Option<f64> {
        let powers: Vec<f64> = self.nodes.iter().map(|node| libm::exp(-theta * node.1)).collect();
        let mut chi = vec![0.0; self.nodes.len()];
        for n in 1..self.nodes.len() {
            let (down, _, length, _) = self.nodes[n];
            chi[n] = chi[down] + 0.5 * (powers[n] + powers[down]) * length;
        }
        // Scale χ to 1, so that squares of small powers do not underflow.
        let most = chi.iter().copied().fold(0.0, f64::max);
        let points: Vec<[f64; 2]> = chi.iter().zip(&self.nodes).map(|(chi, node)| [chi / most, node.3]).collect();
        (most > 0.0).then(|| line(&points)).flatten().map(|line| line.r2)
    }
}
