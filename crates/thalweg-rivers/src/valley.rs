//! Floodplains and banks along rivers.

use crate::network::{Network, RiverKind, Vertex};
use crate::tree::neighbour_cells as neighbours;
use crate::water_levels::{self, visit_cells_near_segment};
use crate::{Design, Site};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};

/// Least slope of a floodplain away from the water.
const MIN_FLOODPLAIN_SLOPE: f64 = 0.01;

/// Largest width of a bank, in metres.
const MAX_BANK_WIDTH_M: f64 = 200.0;

/// Share of the river's cut by which the ground at the water's edge is lowered as well, and the number of cells over
/// which this fades.
///
/// A trench one cell wide does not look like a valley: seen from above, one that runs obliquely to the grid is a row
/// of teeth.
const BANK_LOWERING: (f64, f64) = (1.0, 3.0);

/// Width over which the cut fades at the outer edge of a bank, as a share of the bank's width to either side of where
/// it would meet level ground. Banks never meet valley sides that are steeper than they are, and without the fade
/// they would end in a cliff.
const FADE: f64 = 0.5;

/// Lowers the ground along the rivers to floodplains and banks. Nothing is raised, and cells that hold back water up
/// to a given level (lake shores, banks of rivers that flow to a lake or the sea) stay at least that high.
///
/// Up to half a width from the line the ground may be as high as the water. It rises gently over the floodplain, and
/// beyond it as steeply as the design's `bank` until it meets the terrain. The surroundings of deep cuts are lowered
/// with them. Floodplains are as wide as is typical of the kind of river, but no wider than the level valley floor,
/// so that hills are not planed off.
pub(super) fn carve_floodplains(
    site: &Site<'_>,
    design: &Design,
    network: &Network,
    numbers: &Field<u32>,
    ground: &mut Field<Height>,
) {
    let before = site.land.ground.as_slice();
    let cols = network.size[1];
    // The slope is at least 0.05, the smallest value that recipes allow, because widths are divided by it.
    let bank = design.bank.max(0.05);
    let rims = collect_rims(site, network, numbers);
    for river in &network.rivers {
        for pair in river.vertices.windows(2) {
            let plains = [0, 1].map(|end| floodplain_width(design, &pair[end]));
            let cuts = [0, 1].map(|end: usize| {
                let Cell { row: i, col: j } = pair[end].cell(network.size);
                (before[i * cols + j].metres() - pair[end].surface.metres()).max(0.0)
            });
            // A bank extends as far as it needs to rise by the cut and three metres more, within the limits.
            let slopes =
                ((cuts[0].max(cuts[1]) + 3.0) / bank).min(MAX_BANK_WIDTH_M).max(BANK_LOWERING.1 * network.cell);
            let reach = pair[0].width.max(pair[1].width) / 2.0 + plains[0].max(plains[1]) + (1.0 + FADE) * slopes;
            visit_cells_near_segment(network.size, pair, reach / network.cell, |i, j, t, apart| {
                let k = i * cols + j;
                if site.is_void(k) || site.is_sea(k) || network.lake[k] > 0 {
                    return;
                }
                let mix = |a: f64, b: f64| a + t * (b - a);
                let plain = mix(plains[0], plains[1]);
                let off = apart * network.cell - mix(pair[0].width, pair[1].width) / 2.0;
                // The highest permitted ground: gently rising over the floodplain, then as steep as the bank. Near the
                // water the ground is also lowered by a share of the river's cut. A floodplain is at least as steep as
                // its river, so that it drains towards the water.
                let gentle = MIN_FLOODPLAIN_SLOPE.max(mix(pair[0].slope, pair[1].slope));
                let over = gentle * off.clamp(0.0, plain) + bank.max(gentle) * (off - plain).max(0.0);
                let water = mix(f64::from(pair[0].surface.0), f64::from(pair[1].surface.0));
                let near = (1.0 - off.max(0.0) / network.cell / BANK_LOWERING.1).max(0.0);
                let eased = f64::from(before[k].0) - BANK_LOWERING.0 * near * mix(cuts[0], cuts[1]) * UNITS;
                let level = (water + over * UNITS).min(eased.max(water));
                let withheld = |layer: Option<&Field<f32>>| layer.map_or(0.0, |layer| f64::from(clamp_share(layer[k])));
                // The cut fades smoothly around the outer edge of the bank, and is reduced by protection and
                // hardness.
                let out = ((off - plain) / slopes - 1.0 + FADE).clamp(0.0, 2.0 * FADE) / (2.0 * FADE);
                let fade = 1.0 - out * out * (3.0 - 2.0 * out);
                let share = (1.0 - withheld(site.protect)) * (1.0 - withheld(site.hardness)) * fade;
                let cut = ((f64::from(before[k].0) - level) * share).max(0.0) as i32;
                // Cuts refer to the ground before all carving, and the lowest target counts, so the order of rivers
                // does not matter.
                let mut target = Height(before[k].0 - cut);
                if let Ok(rim) = rims.binary_search_by_key(&(k as u32), |(cell, _)| *cell) {
                    target = target.max(rims[rim].1.min(before[k]));
                }
                let height = &mut ground[k];
                *height = target.min(*height);
            });
        }
    }
}

/// Returns the width of the floodplain on either side of a vertex, in metres.
pub(super) fn floodplain_width(design: &Design, vertex: &Vertex) -> f64 {
    let widths = match vertex.kind {
        RiverKind::Torrent => 0.0,
        RiverKind::StepPool => 1.0,
        RiverKind::Braided => 4.0,
        RiverKind::Meandering => 6.0,
    };
    (design.floodplain * widths * vertex.width).min((vertex.floor - vertex.width / 2.0).max(0.0))
}

/// Returns the cells that hold back water, sorted by cell, and the highest level up to which they do: shores of
/// lakes, and the banks of rivers that flow to a lake or the sea, which stay at least as high as that, even if
/// another river runs past them.
pub(super) fn collect_rims(site: &Site<'_>, network: &Network, numbers: &Field<u32>) -> Vec<(u32, Height)> {
    let mut rims = Vec::new();
    for (k, lake) in network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0) {
        let level = network.lakes[*lake as usize - 1].level;
        let shore = neighbours(network.size, k).filter(|n| network.lake[*n] == 0);
        rims.extend(shore.map(|n| (n as u32, level)));
    }
    for (number, river) in network.rivers.iter().enumerate() {
        let Some(base) = river.base else { continue };
        for at in 0..river.vertices.len() {
            let banks = water_levels::find_bank_cells(site, network, numbers, number, at);
            rims.extend(banks.into_iter().flatten().map(|k| (k as u32, base)));
        }
    }
    rims.sort_unstable_by_key(|(cell, level)| (*cell, std::cmp::Reverse(*level)));
    rims.dedup_by_key(|(cell, _)| *cell);
    rims
}
