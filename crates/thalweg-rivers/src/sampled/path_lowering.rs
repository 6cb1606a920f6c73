//! Lowers the ground so that it never rises along the report's rivers.

use crate::network::{Mouth, Network, RunSource};
use thalweg_core::{Field, Height};

/// Lowers cells so that no path rises downstream. Where the channels of two rivers overlap, both get the lower cut.
/// Returns true if anything changed.
pub(super) fn lower_rising_paths(network: &Network, ground: &mut Field<Height>) -> bool {
    let mut changed = false;
    let mut arriving: Vec<Vec<(u32, Height)>> = vec![Vec::new(); network.rivers.len()];
    for number in network.order.iter().map(|river| *river as usize) {
        let river = &network.rivers[number];
        // Tributaries come in the order of the runs, but are needed in downstream order.
        arriving[number].sort_unstable();
        let mut came = arriving[number].iter().peekable();
        let mut lowest = match river.source {
            RunSource::Parts { river, vertex } => {
                let path = &network.rivers[river as usize].path;
                let above = path[..path.partition_point(|(_, at)| *at < vertex)].last();
                above.map_or(Height::MAX, |(k, _)| ground[*k as usize])
            }
            _ => Height::MAX,
        };
        for (k, vertex) in &river.path {
            while let Some((_, height)) = came.next_if(|(at, _)| at <= vertex) {
                lowest = lowest.min(*height);
            }
            let height = &mut ground[*k as usize];
            // Cells are only lowered, so the repetition by the caller ends.
            changed |= lowest < *height;
            *height = lowest.min(*height);
            lowest = *height;
        }
        if let (Mouth::Joins { river: other, vertex }, true) = (river.mouth, lowest < Height::MAX) {
            arriving[other as usize].push((vertex, lowest));
        }
    }
    changed
}
