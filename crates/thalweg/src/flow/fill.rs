//! Depression filling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::field::Field;
use crate::flow::{Land, Part};
use crate::height::Height;

/// The lowest surface, nowhere under the ground, from every cell of which a path leads out that never rises: each
/// depression filled to its spill level, flat.
///
/// Priority-flood (Barnes, Lehman & Mulla 2014, doi:10.1016/j.cageo.2013.04.024). Cells without data stay as they are.
pub fn fill(land: &Land<'_>) -> Field<Height> {
    let parts = land.parts();
    let cols = land.grid.cols();
    let mut filled = land.ground.clone();
    let mut seen: Vec<bool> = parts.as_slice().iter().map(|part| *part == Part::Void).collect();
    let mut queue = BinaryHeap::new();
    for (k, part) in parts.as_slice().iter().enumerate() {
        if matches!(part, Part::Rim | Part::Sink) {
            seen[k] = true;
            queue.push(Reverse((land.ground.as_slice()[k], k)));
        }
    }
    while let Some(Reverse((level, k))) = queue.pop() {
        for (_, [r, c]) in land.around(k / cols, k % cols) {
            let n = r * cols + c;
            if !std::mem::replace(&mut seen[n], true) {
                let height = &mut filled.as_mut_slice()[n];
                *height = (*height).max(level);
                queue.push(Reverse((*height, n)));
            }
        }
    }
    filled
}
