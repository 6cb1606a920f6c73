//! Channel reaches with their discharge, width, depth and velocity, and the same quantities per cell.

use thalweg_core::terrain::{ChannelNetwork, ChannelReach, DISCHARGE, Hydraulics, POOL};
use thalweg_core::{Error, Field, Height, Result, Terrain};
use thalweg_flow::channels::trace_channels;
use thalweg_flow::{FlowGraph, Land, hydraulic};

/// The largest number of consecutive cells below the threshold that a stream may cross, because a particle's path and
/// the steepest descent differ by a few cells.
const GAP: usize = 6;

/// Returns the width (m), depth (m) and velocity (m/s) per cell of streams with this discharge (m³/s), by hydraulic
/// geometry.
pub fn hydraulic_geometry(discharge: &Field<f32>) -> [Field<f32>; 3] {
    [hydraulic::channel_width, hydraulic::channel_depth, hydraulic::flow_velocity].map(|of| discharge.map(|q| of(*q)))
}

/// Returns the default discharge threshold in m³/s at and above which a cell belongs to a stream: the discharge that
/// one cell in a hundred exceeds, or the smallest discharge if fewer cells have any. Returns `None` if nothing flows.
pub fn choose_stream_threshold(discharge: &Field<f32>) -> Option<f32> {
    let mut values: Vec<f32> = discharge.as_slice().iter().copied().filter(|q| q.is_finite() && *q > 0.0).collect();
    // The threshold is the discharge at rank `kept` in descending order; no sorting is needed for it.
    let kept = (discharge.len() / 100).min(values.len().checked_sub(1)?);
    Some(*values.select_nth_unstable_by(kept, |a, b| b.total_cmp(a)).1)
}

/// Traces the streams of at least `threshold` m³/s along the steepest descent of the terrain with its depressions
/// filled. Each reach has its [`Hydraulics`]. `pools` are the depths of standing water. For example, a threshold of 1
/// m³/s leaves out brooks.
///
/// A reach crosses pools, and a few cells with less water, from stream to stream. Where a channel is wider than a
/// cell, lines along its sides that join it within its own width are left out.
///
/// # Errors
/// Returns an error if the size of the discharge or the pools differs from the terrain's, or if the threshold is not a
/// finite number above 0.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::products::streams::trace_streams;
///
/// // A valley that falls to the south along column 4, where 2 m³/s flow.
/// let ground = Field::from_fn([16, 9], |i, j| Height::from_metres_clamped(200.0 - i as f64 + 2.0 * j.abs_diff(4) as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 9], 10.0)?, ground)?;
/// let discharge = Field::from_fn([16, 9], |_, j| if j == 4 { 2.0 } else { 0.0 });
/// let reaches = trace_streams(&terrain, &discharge, None, 1.0)?.reaches;
/// assert_eq!((reaches.len(), reaches[0].cells.len()), (1, 16));
/// assert_eq!(reaches[0].hydraulics.map(|water| water.discharge), Some(2.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn trace_streams(
    terrain: &Terrain,
    discharge: &Field<f32>,
    pools: Option<&Field<Height>>,
    threshold: f32,
) -> Result<ChannelNetwork> {
    let size = terrain.ground.size();
    for (spec, other) in [(DISCHARGE, Some(discharge.size())), (POOL, pools.map(Field::size))] {
        if let Some([rows, cols]) = other.filter(|other| *other != size) {
            let problem = format!("is {rows} × {cols} cells; the terrain is {} × {}", size[0], size[1]);
            return Err(Error::invalid_layer(spec.name, problem));
        }
    }
    if !(threshold > 0.0 && threshold.is_finite()) {
        return Err(Error::invalid_value("threshold of streams", threshold, "a discharge above 0 m³/s"));
    }
    // Stream lines end at the sides of the map, also on a looped world.
    let grid = terrain.grid.with_open_edges();
    let ground = Land { grid: &grid, ..Land::from_terrain(terrain) };
    let drainage = FlowGraph::new(&ground);
    let land = drainage.with_filled_surface(&ground);
    let cols = size[1];
    let is_pool = |k: usize| pools.is_some_and(|pools| pools[k].0 > 0);
    let mut mask = Field::from_fn(size, |i, j| discharge[(i, j)] >= threshold && land.is_dry(i, j));
    // Cells above the threshold are listed first, so that cells added below do not start further searches.
    let strong: Vec<usize> = (0..mask.len()).filter(|k| mask[*k]).collect();
    // From each of them the search follows the flow path across pools and at most GAP weaker cells.
    for first in strong {
        let mut path = Vec::new();
        let (mut weak, mut next) = (0, drainage.next(first));
        while let Some(k) = next.filter(|k| !mask[*k] && weak < GAP && land.is_dry(*k / cols, *k % cols)) {
            // Pools do not count towards the gap, however long they are.
            weak += usize::from(!is_pool(k));
            path.push(k);
            next = drainage.next(k);
        }
        // The gap is closed only if a stream follows; otherwise the stream ends here.
        if next.is_some_and(|k| mask[k]) {
            path.into_iter().for_each(|k| mask[k] = true);
        }
    }
    let trace = |mask: &Field<bool>| trace_channels(&land, drainage.directions(), drainage.upstream_cells(), mask);
    let mut found = trace(&mask)?;
    // The sides of wide channels appear as sources close to the reach that they join. Removing them reunites the
    // channel's reaches, which may expose further sides.
    for _ in 0..4 {
        let is_side = |reach: &&ChannelReach| {
            let (joined, factor) = reach.downstream.map_or((*reach, 1.0), |n| (&found.reaches[n as usize], 2.0));
            // The limit is twice the width of the reach that is joined, or the width of a reach that joins none, and at
            // least three cells.
            let broad = factor * f64::from(hydraulic::channel_width(max_discharge(joined, discharge)));
            reach.magnitude == 1 && reach.length <= broad.max(3.0 * terrain.grid.cell)
        };
        let sides: Vec<&ChannelReach> = found.reaches.iter().filter(is_side).collect();
        if sides.is_empty() {
            break;
        }
        for cell in sides.iter().flat_map(|reach| reach.own_cells()) {
            mask[*cell] = false;
        }
        found = trace(&mask)?;
    }
    for reach in &mut found.reaches {
        let q = max_discharge(reach, discharge);
        let [width, depth, velocity] =
            [hydraulic::channel_width, hydraulic::channel_depth, hydraulic::flow_velocity].map(|of| f64::from(of(q)));
        reach.hydraulics = Some(Hydraulics { discharge: f64::from(q), width, depth, velocity });
    }
    Ok(found)
}

/// Returns the greatest discharge of a reach's own cells.
fn max_discharge(reach: &ChannelReach, discharge: &Field<f32>) -> f32 {
    reach.own_cells().iter().map(|cell| discharge[*cell]).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::Cell;
    use thalweg_core::terrain::grid::Grid;

    /// A valley that falls to the south along column 20; its sides rise 2 m per cell of 10 m.
    fn valley() -> Terrain {
        let mut terrain = Terrain::new(Grid::new([60, 41], 10.0).unwrap());
        for i in 0..60 {
            for j in 0..41 {
                terrain.ground[(i, j)] = Height::from_metres_clamped(200.0 - i as f64 + 2.0 * j.abs_diff(20) as f64);
            }
        }
        terrain
    }

    #[test]
    fn a_stream_is_one_line_with_its_water() {
        let discharge = Field::from_fn([60, 41], |i, j| if j == 20 { 0.1 * (i + 1) as f32 } else { 0.0 });
        let found = trace_streams(&valley(), &discharge, None, 1.0).unwrap().reaches;
        let [reach] = &found[..] else { panic!("{} reaches", found.len()) };
        assert!(reach.cells.iter().all(|cell| cell.col == 20) && reach.cells[0] == Cell::new(9, 20));
        let water = reach.hydraulics.unwrap();
        assert!((water.discharge - 6.0).abs() < 1e-6 && (water.width - 7.2 * 6f64.sqrt()).abs() < 1e-4);
        assert!((water.width * water.depth * water.velocity - 6.0).abs() < 1e-4);
        let [width, depth, velocity] = hydraulic_geometry(&discharge).map(|field| f64::from(field[(59, 20)]));
        assert_eq!([width, depth, velocity], [water.width, water.depth, water.velocity]);
    }

    #[test]
    fn gaps_and_pools_are_crossed_and_a_dry_end_is_none() {
        let there = |i: usize| !(20..24).contains(&i) && !(30..45).contains(&i);
        let discharge = Field::from_fn([60, 41], |i, j| if j == 20 && there(i) { 2.0 } else { 0.0 });
        assert_eq!(
            trace_streams(&valley(), &discharge, None, 1.0).unwrap().reaches.len(),
            2,
            "the long gap is none of few cells"
        );
        let pools =
            Field::from_fn([60, 41], |i, _| Height::from_metres_clamped(if (30..45).contains(&i) { 3.0 } else { 0.0 }));
        let whole = trace_streams(&valley(), &discharge, Some(&pools), 1.0).unwrap().reaches;
        assert_eq!((whole.len(), whole[0].cells.len()), (1, 60));
        let dry = Field::from_fn([60, 41], |i, j| if j == 20 && i < 30 { 2.0 } else { 0.0 });
        assert_eq!(
            trace_streams(&valley(), &dry, None, 1.0).unwrap().reaches[0].cells.len(),
            30,
            "it ends where it sinks in"
        );
    }

    #[test]
    fn a_broad_channel_is_one_line() {
        // By hydraulic geometry 70 m wide at 100 m³/s, which is seven cells here.
        let discharge = Field::from_fn([60, 41], |_, j| if j.abs_diff(20) <= 3 { 100.0 } else { 0.0 });
        let found = trace_streams(&valley(), &discharge, None, 1.0).unwrap().reaches;
        assert_eq!(found.len(), 1, "{:?}", found.iter().map(|reach| reach.cells.len()).collect::<Vec<_>>());
    }

    #[test]
    fn thresholds_are_found_and_bad_ones_refused() {
        let discharge = Field::from_fn([60, 41], |i, j| if j == 20 { 0.1 * (i + 1) as f32 } else { 0.0 });
        // 24 of the 2460 cells have more: rows 36 to 59.
        assert_eq!(choose_stream_threshold(&discharge), Some(0.1 * 36.0));
        assert_eq!(choose_stream_threshold(&Field::new([4, 4], 0.0)), None);
        assert_eq!(choose_stream_threshold(&Field::new([4, 4], f32::NAN)), None);
        for bad in [0.0, f32::NAN, f32::INFINITY] {
            assert!(trace_streams(&valley(), &discharge, None, bad).is_err());
        }
        assert!(trace_streams(&valley(), &Field::new([4, 4], 0.0), None, 1.0).is_err());
        assert!(trace_streams(&valley(), &Field::new([60, 41], 0.0), None, 1.0).unwrap().reaches.is_empty());
    }
}
