//! Ground that never rises along the document's rivers.

use crate::field::Field;
use crate::height::Height;
use crate::rivers::network::{Mouth, Network, Source};

/// Lets no path rise, by lowering what stands in the way: where two rivers' channels overlap, the lower cut is both's.
/// Says whether it changed anything.
pub(super) fn settle(network: &Network, ground: &mut Field<Height>) -> bool {
    let mut changed = false;
    let mut arriving: Vec<Vec<(u32, Height)>> = vec![Vec::new(); network.runs.len()];
    for number in network.order.iter().map(|run| *run as usize) {
        let run = &network.runs[number];
        arriving[number].sort_unstable();
        let mut came = arriving[number].iter().peekable();
        let mut lowest = match run.source {
            Source::Parts { run, vertex } => {
                let path = &network.runs[run as usize].path;
                let above = path[..path.partition_point(|(_, at)| *at < vertex)].last();
                above.map_or(Height::MAX, |(k, _)| ground.as_slice()[*k as usize])
            }
            _ => Height::MAX,
        };
        for (k, vertex) in &run.path {
            while let Some((_, height)) = came.next_if(|(at, _)| at <= vertex) {
                lowest = lowest.min(*height);
            }
            let height = &mut ground.as_mut_slice()[*k as usize];
            changed |= lowest < *height;
            *height = lowest.min(*height);
            lowest = *height;
        }
        if let (Mouth::Joins { run: other, vertex }, true) = (run.mouth, lowest < Height::MAX) {
            arriving[other as usize].push((vertex, lowest));
        }
    }
    changed
}
