//! Computes a rectangle in pieces, in parallel on all threads.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::{Frame, LocalWindow, Rules, check_window, refine_window};
use thalweg_core::base::memory;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::LakeRaster;
use thalweg_core::{CellRect, Field, Height, Result};
use thalweg_flow::OUT;

/// The widest side of a piece, in cells: wider ones have relatively smaller margins, but their planes take more
/// memory.
const MAX_PIECE_CELLS: usize = 1024;

/// No piece is divided if that would leave narrower ones than this: they would consist mostly of margins.
const MIN_PIECE_CELLS: usize = 192;

/// Bytes per cell of the lake layers, and of the sediment layer.
// A lake's number and its level have 4 bytes each.
const LAKES: u64 = 8;
const LOOSE: u64 = 4;

/// Bytes per cell of a piece that are needed while it is computed, margins included: estimated as 48 bytes for twice
/// as many cells.
const SCRATCH: u64 = 100;

/// Returns the same as [`refine_window`], computed in pieces on several threads: at least `threads` pieces if the
/// rectangle is large enough.
///
/// # Errors
/// Returns the errors of [`refine_window`]; also returns an error if the window and the pieces in progress need more
/// memory than there is.
pub fn refine_in_pieces(
    frame: &Frame,
    rules: &Rules,
    key: RandomKey,
    coarse: &LocalWindow,
    target_rect: CellRect<i64>,
    threads: usize,
) -> Result<LocalWindow> {
    check_window(target_rect, frame.world_rect(coarse.level.saturating_add(1)))?;
    let pieces = divide_rect(target_rect, threads);
    if let [_] = &pieces[..] {
        return refine_window(frame, rules, key, coarse, target_rect);
    }
    let size = target_rect.size();
    let at_once = pieces.iter().take(rayon::current_num_threads()).map(|piece| cell_count(*piece)).sum::<u64>();
    let description = format!("a window of {} × {} cells", size[1], size[0]);
    memory::check_memory(&description, LocalWindow::BYTES * cell_count(target_rect) + SCRATCH * at_once)?;
    let whole = Mutex::new(LocalWindow::blank(coarse.level + 1, target_rect));
    pieces.into_par_iter().try_for_each(|piece| {
        let part = refine_window(frame, rules, key, coarse, piece)?;
        // Only the copy is serialised. Pieces do not overlap, so the order in which they end does not matter.
        whole.lock().unwrap_or_else(PoisonError::into_inner).paste(&part);
        Ok(())
    })?;
    Ok(whole.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the number of cells of a rectangle.
fn cell_count(rect: CellRect<i64>) -> u64 {
    rect.size().into_iter().map(|n| n as u64).product()
}

/// Returns the pieces of a rectangle, in row-major order: none wider than [`MAX_PIECE_CELLS`], and at least
/// `min_pieces` of them, as far as none becomes narrower than [`MIN_PIECE_CELLS`]. They are not tiles of a fixed size:
/// their number follows that of the threads, and the result does not depend on it.
fn divide_rect(rect: CellRect<i64>, min_pieces: usize) -> Vec<CellRect<i64>> {
    // Begin with the fewest pieces that are not too wide, and halve them until there are enough.
    let mut counts = rect.size().map(|side| side.div_ceil(MAX_PIECE_CELLS).max(1));
    let side = |counts: [usize; 2], axis: usize| rect.size()[axis] / counts[axis];
    while counts[0] * counts[1] < min_pieces {
        // Long rows are faster than long columns.
        let axis = usize::from(side(counts, 1) > side(counts, 0));
        if side(counts, axis) < 2 * MIN_PIECE_CELLS {
            break;
        }
        counts[axis] *= 2;
    }
    let cut = |axis: usize, k: usize| rect.start[axis] + (rect.size()[axis] * k / counts[axis]) as i64;
    let piece = |i: usize, j: usize| CellRect::from_corners([cut(0, i), cut(1, j)], [cut(0, i + 1), cut(1, j + 1)]);
    (0..counts[0]).flat_map(|i| (0..counts[1]).map(move |j| piece(i, j))).collect()
}

impl LocalWindow {
    /// Bytes per cell without lakes and sand.
    // Elevation and drainage area have 4 bytes each, and the receiver has 1.
    pub const BYTES: u64 = 9;

    /// Returns the number of bytes of its layers, including lakes and sand.
    pub fn bytes(&self) -> u64 {
        let more = [(self.lakes.is_some(), LAKES), (self.loose.is_some(), LOOSE)];
        let more: u64 = more.iter().filter(|(there, _)| *there).map(|(_, bytes)| bytes).sum();
        (Self::BYTES + more) * self.ground.len() as u64
    }

    /// Returns a rectangle of empty cells: elevation and drainage area 0, no receivers.
    pub fn blank(level: u32, rect: CellRect<i64>) -> Self {
        let size = rect.size();
        let (ground, receivers) = (Field::new(size, Height::ZERO), Field::new(size, OUT));
        Self { level, rect, ground, receivers, area: Field::new(size, 0.0), lakes: None, loose: None }
    }

    /// Copies the cells that another window of the same level has in common with this one.
    pub fn paste(&mut self, part: &Self) {
        let start = [0, 1].map(|axis| self.rect.start[axis].max(part.rect.start[axis]));
        let end = [0, 1].map(|axis| self.rect.end[axis].min(part.rect.end[axis]));
        if (0..2).any(|axis| start[axis] >= end[axis]) {
            return;
        }
        let from = [0, 1].map(|axis| (start[axis] - part.rect.start[axis]) as usize);
        let to = [0, 1].map(|axis| (start[axis] - self.rect.start[axis]) as usize);
        let window = CellRect::new(from, CellRect::from_corners(start, end).size());
        self.ground.paste(&part.ground, window, to);
        self.receivers.paste(&part.receivers, window, to);
        self.area.paste(&part.area, window, to);
        if let Some(loose) = &part.loose {
            let own = self.loose.get_or_insert_with(|| Field::new(self.rect.size(), Height::ZERO));
            own.paste(loose, window, to);
        } else if let Some(own) = &mut self.loose {
            // A part without sediment sets its cells to 0.
            own.paste(&Field::new(window.size(), Height::ZERO), CellRect::new([0, 0], window.size()), to);
        }
        let lakes = part.lakes.as_ref().and_then(|lakes| lakes.copy_window(window));
        let all = CellRect::new([0, 0], window.size());
        match (&mut self.lakes, lakes) {
            (None, None) => {}
            (None, Some(lakes)) => {
                let mut own = LakeRaster::new(self.rect.size());
                own.paste(&lakes, all, to);
                self.lakes = Some(own);
            }
            (Some(own), lakes) => own.paste(&lakes.unwrap_or_else(|| LakeRaster::new(window.size())), all, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_rectangle_none_too_wide_and_enough_of_them() {
        for (size, least, most) in
            [([512, 512], 1, 1), ([512, 512], 2, 2), ([512, 512], 8, 4), ([4000, 3000], 2, 12), ([100, 5000], 4, 5)]
        {
            let rect = CellRect::new([-70, 30], size);
            let pieces = divide_rect(rect, least);
            assert_eq!(pieces.len(), most, "{size:?}");
            assert_eq!(pieces.iter().map(|piece| cell_count(*piece)).sum::<u64>(), cell_count(rect));
            assert!(
                pieces.iter().all(|piece| rect.contains(piece) && piece.size().iter().all(|n| *n <= MAX_PIECE_CELLS))
            );
        }
    }
}
