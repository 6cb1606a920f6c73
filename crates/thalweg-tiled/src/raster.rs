//! [`Classes`]: the flats of a tile that extend beyond it, and distances over them.

use crate::codec::{Reader, Writer};
use thalweg_core::{Cell, Result, Size};
use thalweg_flow::D8;

// The classes are bits. A tile's own cells use the lowest three alone, so a run is stored as its length times eight
// plus its class. `BEYOND` marks cells around the tile, which are never stored.
/// A cell of the tile, on a flat that extends into another tile.
pub(super) const FLAT: u8 = 1;
/// A cell on such a flat, adjacent to a cell of its height that drains.
pub(super) const DRAINS: u8 = 2;
/// A cell on such a flat, adjacent to higher ground.
pub(super) const HIGHER: u8 = 4;
/// A cell next to the tile, on such a flat.
pub(super) const OUTSIDE_FLAT: u8 = 8;

/// The distance of a cell that is not reached.
pub(super) const UNREACHED: u32 = u32::MAX;

/// The classes of a tile's cells and of the cells around it.
pub(super) struct Classes {
    /// The tile's rows and columns.
    pub(super) size: Size,
    /// Row-major, with one additional cell on each side.
    pub(super) cells: Vec<u8>,
}

impl Classes {
    pub(super) fn new(size: Size) -> Self {
        Self { size, cells: vec![0; (size[0] + 2) * (size[1] + 2)] }
    }

    /// Returns the index of a cell, given relative to the tile's first cell; rows and columns of the cells around the
    /// tile begin at −1.
    #[inline(always)]
    pub(super) fn cell_index(&self, i: isize, j: isize) -> usize {
        ((i + 1) * (self.size[1] as isize + 2) + j + 1) as usize
    }

    /// Returns the differences between a cell's index and those of its neighbours.
    fn neighbour_offsets(&self) -> [isize; 8] {
        D8::OFFSETS.map(|[di, dj]| di * (self.size[1] as isize + 2) + dj)
    }

    /// Returns the cells around the tile, row by row, relative to the tile's first cell.
    pub(super) fn surrounding_cells(size: Size) -> impl Iterator<Item = Cell<isize>> {
        let [rows, cols] = size.map(|n| n as isize);
        (-1..=rows).flat_map(move |i| {
            // Rows above and below the tile are visited cell by cell; of all others, only the first and the last cell
            // are outside the tile.
            let step = if i < 0 || i == rows { 1 } else { cols as usize + 1 };
            (-1..=cols).step_by(step).map(move |j| Cell::new(i, j))
        })
    }

    /// Returns the indices of the cells around the tile that belong to one of the tile's flats, row by row.
    pub(super) fn adjoining_cells(&self) -> Vec<u32> {
        let offsets = self.neighbour_offsets();
        let [rows, cols] = self.size.map(|n| n as isize);
        let touches = |Cell { row: i, col: j }: Cell<isize>| {
            let k = self.cell_index(i, j);
            let near = D8::OFFSETS
                .iter()
                .zip(offsets)
                .filter(|([di, dj], _)| (0..rows).contains(&(i + di)) && (0..cols).contains(&(j + dj)));
            let near = near.map(|(_, offset)| k.wrapping_add_signed(offset));
            (self.cells[k] & OUTSIDE_FLAT != 0 && near.into_iter().any(|n| self.cells[n] & FLAT != 0))
                .then_some(k as u32)
        };
        Self::surrounding_cells(self.size).filter_map(touches).collect()
    }

    /// Returns true if no flat extends beyond the tile.
    pub(super) fn is_empty(&self) -> bool {
        !self.cells.iter().any(|class| class & FLAT != 0)
    }

    /// Writes the classes of the tile's own cells with run-length encoding.
    pub(super) fn write(&self, writer: &mut Writer) {
        let cols = self.size[1] as isize;
        // Runs continue over the ends of rows. The first run has class 0 and may be empty.
        let mut run = (0, 0);
        for i in 0..self.size[0] as isize {
            for class in &self.cells[self.cell_index(i, 0)..self.cell_index(i, cols)] {
                if *class != run.1 {
                    writer.write_number(run.0 << 3 | u64::from(run.1));
                    run = (0, *class);
                }
                run.0 += 1;
            }
        }
        writer.write_number(run.0 << 3 | u64::from(run.1));
    }

    /// Reads what [`write`](Self::write) wrote; the cells around the tile have no class.
    pub(super) fn read(size: Size, reader: &mut Reader<'_>) -> Result<Self> {
        let mut classes = Self::new(size);
        let (mut i, mut j) = (0, 0);
        while i < size[0] {
            let run = reader.read_number()?;
            let (mut remaining, class) = (run >> 3, (run & 7) as u8);
            // Only the first run may be empty.
            if (remaining == 0 && (i, j) != (0, 0)) || (class != 0 && class & FLAT == 0) {
                return Err(reader.damage_error());
            }
            while remaining > 0 {
                // Fill the rest of the run, but no more than the rest of the row: the rows are separated by cells
                // around the tile.
                let here = (size[1] - j).min(usize::try_from(remaining).unwrap_or(usize::MAX));
                // The run is longer than the tile, which only damaged bytes can cause.
                if i == size[0] {
                    return Err(reader.damage_error());
                }
                let start = classes.cell_index(i as isize, j as isize);
                classes.cells[start..start + here].fill(class);
                remaining -= here as u64;
                j += here;
                if j == size[1] {
                    (i, j) = (i + 1, 0);
                }
            }
        }
        Ok(classes)
    }

    /// Computes the distance of each cell, in steps, by breadth-first search. The search starts at the cells of a
    /// class, whose distance is `first`, and at cells `beyond` the tile, whose distances are known; each of the
    /// latter is processed when its distance is reached.
    pub(super) fn compute_distances(&self, class: u8, first: u32, beyond: &[(u32, u32)]) -> Vec<u32> {
        let mut steps = vec![UNREACHED; self.cells.len()];
        let mut queue: Vec<u32> = Vec::new();
        for (k, here) in self.cells.iter().enumerate() {
            if here & class != 0 {
                steps[k] = first;
                queue.push(k as u32);
            }
        }
        let mut beyond: Vec<(u32, u32)> =
            beyond.iter().filter(|(_, steps)| *steps != UNREACHED).map(|(k, s)| (*s, *k)).collect();
        // Sorted by distance and then by cell, the cells beyond the tile can be merged with the queue.
        beyond.sort_unstable();
        let mut beyond = beyond.into_iter().peekable();
        let offsets = self.neighbour_offsets();
        // All steps have length 1 and starts have equal distances, so the queue is in ascending order of distance
        // without a heap. Each cell is reached first at its least distance, and no distance is corrected later.
        let mut next = 0;
        loop {
            let known = queue.get(next).map(|k| (steps[*k as usize], *k));
            let (here, k) = match (known, beyond.peek()) {
                // At equal distances the tile's own cells come first; the distances are the same in either order.
                (Some(own), Some(other)) if other.0 < own.0 => *other,
                (Some(own), _) => own,
                (None, Some(other)) => *other,
                (None, None) => return steps,
            };
            if known == Some((here, k)) {
                next += 1;
            } else {
                beyond.next();
            }
            let there = here.saturating_add(1);
            for offset in offsets {
                // Cells around the tile never belong to its own flats, and indices beyond those are out of range.
                let n = (k as usize).wrapping_add_signed(offset);
                if self.cells.get(n).is_some_and(|class| class & FLAT != 0) && steps[n] == UNREACHED {
                    steps[n] = there;
                    queue.push(n as u32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn runs_come_back() {
        for seed in 0..200u64 {
            let key = RandomKey::new(seed, "runs");
            let mut classes = Classes::new([1 + seed as usize % 7, 1 + seed as usize % 5]);
            let share = (seed % 4) as f64 / 3.0;
            for (i, j) in (0..classes.size[0] as isize).flat_map(|i| (0..classes.size[1] as isize).map(move |j| (i, j)))
            {
                let (k, draw) = (classes.cell_index(i, j), key.for_cell([i as i64, j as i64]));
                classes.cells[k] =
                    if draw.uniform_unit() < share { FLAT | (draw.random_bits() >> 9) as u8 & 6 } else { 0 };
            }
            let mut writer = Writer::new();
            classes.write(&mut writer);
            let bytes = writer.finish();
            let mut reader = Reader::new("runs", 0, &bytes).unwrap();
            assert_eq!(Classes::read(classes.size, &mut reader).unwrap().cells, classes.cells);
            reader.expect_end().unwrap();
        }
    }
}
