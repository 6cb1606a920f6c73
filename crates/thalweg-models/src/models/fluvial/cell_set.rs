//! [`CellSet`]: a set of cells whose cost depends on the number of its members and not on the size of the map.

use thalweg_core::Size;

/// Bits per word.
const WORD: usize = 64;

/// A set of cells as a two-level bitmap: one bit per cell, with each row starting at a new word, and one bit per word
/// that is set if the word is not empty.
pub struct CellSet {
    size: Size,
    /// Words per row.
    words: usize,
    bits: Vec<u64>,
    filled: Vec<u64>,
}

impl CellSet {
    /// Creates an empty set for a map of `size`.
    pub fn new(size: Size) -> Self {
        let words = size[1].div_ceil(WORD);
        let count = size[0] * words;
        Self { size, words, bits: vec![0; count], filled: vec![0; count.div_ceil(WORD)] }
    }

    /// Returns the memory in bytes of a set for a map of the given size.
    pub fn memory_bytes([rows, cols]: Size) -> u64 {
        let words = (rows * cols.div_ceil(WORD)) as u64;
        8 * (words + words.div_ceil(WORD as u64))
    }

    /// Adds cell (i, j).
    #[inline]
    pub fn insert(&mut self, i: usize, j: usize) {
        self.set_bits(i * self.words + j / WORD, 1 << (j % WORD));
    }

    /// Adds every cell.
    pub fn fill(&mut self) {
        // The last word of a row has bits beyond the map, which must stay zero.
        let last = u64::MAX >> (self.words * WORD - self.size[1]);
        for word in 0..self.bits.len() {
            self.set_bits(word, if (word + 1).is_multiple_of(self.words) { last } else { u64::MAX });
        }
    }

    /// Calls `take` for each cell in row-major order and clears the set.
    pub fn drain(&mut self, mut take: impl FnMut(usize, usize)) {
        self.drain_words(|words, word, mut bits| {
            let (i, first) = (word / words, word % words * WORD);
            while bits != 0 {
                take(i, first + bits.trailing_zeros() as usize);
                // Clears the lowest set bit.
                bits &= bits - 1;
            }
        });
    }

    /// Adds the cells of this set and their eight neighbours to `other`, and clears this set.
    pub fn drain_with_neighbours(&mut self, other: &mut Self) {
        let (rows, last) = (self.size[0], u64::MAX >> (self.words * WORD - self.size[1]));
        self.drain_words(|words, word, bits| {
            let (i, w) = (word / words, word % words);
            let within = if w + 1 == words { last } else { u64::MAX };
            // Shifts within the word cover the neighbours in the same word; the two `if`s below carry bits into
            // adjacent words.
            let wide = (bits | (bits << 1) | (bits >> 1)) & within;
            for row in i.saturating_sub(1)..(i + 2).min(rows) {
                let at = row * words + w;
                other.set_bits(at, wide);
                if bits & 1 != 0 && w > 0 {
                    other.set_bits(at - 1, 1 << (WORD - 1));
                }
                if bits >> (WORD - 1) != 0 && w + 1 < words {
                    other.set_bits(at + 1, 1);
                }
            }
        });
    }

    #[inline]
    fn set_bits(&mut self, word: usize, bits: u64) {
        self.bits[word] |= bits;
        self.filled[word / WORD] |= 1 << (word % WORD);
    }

    /// Calls `take` with the words per row, the index and the bits of each word that is not empty, and clears the set.
    fn drain_words(&mut self, mut take: impl FnMut(usize, usize, u64)) {
        for (group, filled) in self.filled.iter_mut().enumerate() {
            while *filled != 0 {
                let word = group * WORD + filled.trailing_zeros() as usize;
                take(self.words, word, std::mem::take(&mut self.bits[word]));
                *filled &= *filled - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn marks_are_a_set_and_spread_to_neighbours() {
        for (number, size) in [[1, 1], [3, 64], [5, 65], [40, 63], [9, 200], [200, 3]].into_iter().enumerate() {
            let key = RandomKey::ZERO.derive_key(number as u64);
            let place = |n: u64| {
                [0, 1].map(|a| (key.derive_key(n).derive_key(a as u64).random_bits() % size[a] as u64) as usize)
            };
            let mut set: BTreeSet<[usize; 2]> = (0..25).map(place).collect();
            set.extend([[0, 0], [size[0] - 1, size[1] - 1], [0, size[1] - 1]]);
            let marked = || {
                let mut marks = CellSet::new(size);
                set.iter().for_each(|[i, j]| marks.insert(*i, *j));
                marks
            };
            let cells = |marks: &mut CellSet| {
                let mut cells = Vec::new();
                marks.drain(|i, j| cells.push([i, j]));
                cells
            };
            let mut marks = marked();
            assert_eq!(cells(&mut marks), set.iter().copied().collect::<Vec<_>>());
            assert!(cells(&mut marks).is_empty());
            let mut wide = CellSet::new(size);
            marked().drain_with_neighbours(&mut wide);
            let all = (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| [i, j]));
            let near = |at: &[usize; 2]| set.iter().any(|s| (0..2).all(|a| s[a].abs_diff(at[a]) <= 1));
            assert_eq!(cells(&mut wide), all.filter(near).collect::<Vec<_>>());
            wide.fill();
            assert_eq!(cells(&mut wide).len(), size[0] * size[1]);
        }
    }
}
