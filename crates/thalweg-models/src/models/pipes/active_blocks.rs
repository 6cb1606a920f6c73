//! Detects the parts of a band that contain any activity, so that dry land can be skipped.

use crate::models::pipes::band::REACH;
use crate::models::pipes::rows::BLOCK;

/// Marks the blocks of columns of a band of rows that must be processed.
pub struct Busy {
    blocks: Vec<bool>,
    cols: usize,
}

impl Busy {
    /// Creates a mask of `cols` columns with no block marked.
    pub fn new(cols: usize) -> Self {
        Self { blocks: vec![false; cols.div_ceil(BLOCK)], cols }
    }

    /// Marks the blocks of a row that contain any value other than zero.
    pub fn mark_row(&mut self, row: &[f32]) {
        for (busy, block) in self.blocks.iter_mut().zip(row.chunks(BLOCK)) {
            // The shift drops the sign bit: a negative zero is no water.
            let any = block.iter().fold(0, |any, x| any | (x.to_bits() << 1));
            *busy |= any != 0;
        }
    }

    /// Marks the blocks of a row in which `any` returns true for a column.
    pub fn mark_where(&mut self, any: impl Fn(usize) -> bool) {
        for (b, busy) in self.blocks.iter_mut().enumerate() {
            *busy = *busy || (b * BLOCK..((b + 1) * BLOCK).min(self.cols)).any(&any);
        }
    }

    /// Returns the column ranges [from, to), in whole blocks, that contain all marked blocks and one block on either
    /// side of them, which is farther than water flows in a step.
    pub fn column_ranges(&self) -> Vec<[usize; 2]> {
        const { assert!(REACH <= BLOCK, "one block of dry land is enough") };
        let wide = |b: usize| {
            let near = b.saturating_sub(1)..(b + 2).min(self.blocks.len());
            self.blocks[near].iter().any(|busy| *busy)
        };
        let mut spans: Vec<[usize; 2]> = Vec::new();
        for b in (0..self.blocks.len()).filter(|b| wide(*b)) {
            let [from, to] = [b * BLOCK, ((b + 1) * BLOCK).min(self.cols)];
            match spans.last_mut() {
                // Adjacent blocks are merged, so that no two spans touch.
                Some([_, end]) if *end == from => *end = to,
                _ => spans.push([from, to]),
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_dry_land_round_them() {
        let mut busy = Busy::new(200);
        let mut row = vec![0.0; 200];
        row[50] = 1e-30;
        row[60] = -0.0;
        busy.mark_row(&row);
        assert_eq!(busy.column_ranges(), [[32, 80]]);
        busy.mark_where(|j| j == 0 || j == 199);
        assert_eq!(busy.column_ranges(), [[0, 80], [176, 200]]);
        assert!(Busy::new(5).column_ranges().is_empty());
    }
}
