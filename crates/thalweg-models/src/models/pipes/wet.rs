//! Where there is anything to do: dry land is passed over.

use crate::models::pipes::band::REACH;
use crate::models::pipes::rows::BLOCK;

/// Which blocks of columns of a band of rows are to be worked on.
pub struct Busy {
    blocks: Vec<bool>,
    cols: usize,
}

impl Busy {
    /// None, of so many columns.
    pub fn new(cols: usize) -> Self {
        Self { blocks: vec![false; cols.div_ceil(BLOCK)], cols }
    }

    /// Marks the blocks of a row that hold anything but zeros.
    pub fn mark(&mut self, row: &[f32]) {
        for (busy, block) in self.blocks.iter_mut().zip(row.chunks(BLOCK)) {
            // The sign of a zero is no water.
            let any = block.iter().fold(0, |any, x| any | (x.to_bits() << 1));
            *busy |= any != 0;
        }
    }

    /// Marks the blocks of a row where `any` says so.
    pub fn mark_where(&mut self, any: impl Fn(usize) -> bool) {
        for (b, busy) in self.blocks.iter_mut().enumerate() {
            *busy = *busy || (b * BLOCK..((b + 1) * BLOCK).min(self.cols)).any(&any);
        }
    }

    /// Runs of columns [from, to), in whole blocks, that hold all marked blocks and as much dry land round them as a step can
    /// wet.
    pub fn spans(&self) -> Vec<[usize; 2]> {
        const { assert!(REACH <= BLOCK, "one block of dry land is enough") };
        let wide = |b: usize| {
            let near = b.saturating_sub(1)..(b + 2).min(self.blocks.len());
            self.blocks[near].iter().any(|busy| *busy)
        };
        let mut spans: Vec<[usize; 2]> = Vec::new();
        for b in (0..self.blocks.len()).filter(|b| wide(*b)) {
            let [from, to] = [b * BLOCK, ((b + 1) * BLOCK).min(self.cols)];
            match spans.last_mut() {
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
        busy.mark(&row);
        assert_eq!(busy.spans(), [[32, 80]]);
        busy.mark_where(|j| j == 0 || j == 199);
        assert_eq!(busy.spans(), [[0, 80], [176, 200]]);
        assert!(Busy::new(5).spans().is_empty());
    }
}
