//! Levees: low ridges that floods deposit along rivers on their floodplains.

use crate::network::{Network, RiverKind, Vertex};
use crate::water_levels::visit_cells_near_segment;
use crate::{Design, Site, valley};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height};

/// Width of a levee in widths of its river, and at least in cells.
const BREADTH: (f64, f64) = (2.0, 1.5);

/// Raises levees along meandering rivers. The height is the design's share of the river's depth at the water's edge
/// and decreases outwards to zero at the levee's outer edge. Water and protected ground are not raised.
///
/// A flood deposits its load where it leaves the channel, the coarsest grains first (Brierley, Ferguson & Woolfe
/// 1997, What is a fluvial levee?, Sedimentary Geology 114).
pub(super) fn raise_levees(
    site: &Site<'_>,
    design: &Design,
    network: &Network,
    numbers: &Field<u32>,
    ground: &mut Field<Height>,
) {
    if design.levees <= 0.0 {
        return;
    }
    let mut raised = Field::new(network.size, 0i32);
    for pair in network.rivers.iter().flat_map(|river| river.vertices.windows(2)) {
        let breadths = [0, 1].map(|end| levee_width(design, network.cell, &pair[end]));
        if breadths[0].min(breadths[1]) <= 0.0 {
            continue;
        }
        let reach = pair[0].width.max(pair[1].width) / 2.0 + breadths[0].max(breadths[1]);
        visit_cells_near_segment(network.size, pair, reach / network.cell, |i, j, t, apart| {
            let k = i * network.size[1] + j;
            let wet = numbers[k] > 0 || network.lake[k] > 0 || site.is_sea(k);
            if wet || site.is_void(k) {
                return;
            }
            let mix = |a: f64, b: f64| a + t * (b - a);
            let off = apart * network.cell - mix(pair[0].width, pair[1].width) / 2.0;
            let inside = (1.0 - off.max(0.0) / mix(breadths[0], breadths[1])).max(0.0);
            // Protection reduces the levee in proportion.
            let kept = site.protect.map_or(0.0, |protect| f64::from(clamp_share(protect[k])));
            let high = design.levees * mix(pair[0].depth, pair[1].depth) * inside * inside * (1.0 - kept);
            let raised = &mut raised[k];
            // Among several segments and rivers the highest levee counts, so their order does not matter.
            *raised = (*raised).max((high * UNITS).min(1e9) as i32);
        });
    }
    for (height, raised) in ground.as_mut_slice().iter_mut().zip(raised.as_slice()).filter(|(_, raised)| **raised > 0) {
        *height = Height(height.0.saturating_add(*raised)).clamped();
    }
}

/// Returns the width of a levee at a vertex, in metres: at most that of the floodplain, and 0 for rivers that do not
/// meander.
fn levee_width(design: &Design, cell: f64, vertex: &Vertex) -> f64 {
    match vertex.kind {
        RiverKind::Meandering => {
            (BREADTH.0 * vertex.width).max(BREADTH.1 * cell).min(valley::floodplain_width(design, vertex))
        }
        _ => 0.0,
    }
}
