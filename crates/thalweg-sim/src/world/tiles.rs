//! Computes tiles: from blocks of the level before, which are cached, or from windows that are no larger than needed,
//! which are not.
//!
//! A block is a square of a level's cells with a halo. The halo is so wide that each block can be computed from one
//! block of the level before, and so can each tile that is inside a block's square. A tile of level L with nothing in
//! the cache therefore costs L − 1 blocks, and its neighbour none or one. If the cache has no room for blocks, and
//! for windows wider than a block, each level's window is as large as the next one needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::World;
use thalweg_core::{Cell, CellRect, NoProgress, Result};
use thalweg_refine::{Frame, LocalWindow, Rules, needed_window, refine_in_pieces};

/// Cells along a block's side, without its halo.
pub(super) const BLOCK: i64 = 512;

/// Returns the width of a block's halo in cells: what a block of the next level needs of this level beyond its
/// square.
pub(super) fn compute_halo(frame: &Frame, rules: &Rules) -> i64 {
    // A window far from all edges of the world.
    let far = Frame { first: Cell::new(0, 0), cells: [1 << 20; 2], ..frame.clone() };
    let start = 1 << 20;
    let reach = start / 2 - needed_window(&far, rules, 1, CellRect::new([start; 2], [2, 2])).start[0];
    // Half of the next level's own halo is included: h ≥ h / 2 + reach, and one cell for rounding.
    2 * reach + 2
}

type Blocks = BTreeMap<Cell<i64>, Arc<LocalWindow>>;

impl World {
    /// Returns a rectangle of a level, cut from a cached window or computed.
    pub(super) fn fetch_rect(&self, level: u32, rect: CellRect<i64>) -> Result<LocalWindow> {
        match self.find_cached(level, rect) {
            Some(window) => window.crop(rect),
            None => self.compute_rect(level, rect, rayon::current_num_threads()),
        }
    }

    /// Computes a rectangle on this number of threads.
    fn compute_rect(&self, level: u32, rect: CellRect<i64>, threads: usize) -> Result<LocalWindow> {
        let Some(before) = level.checked_sub(1) else { return self.coarse.window(rect, &mut NoProgress) };
        let source = self.fetch_source(before, needed_window(self.frame(), &self.rules, level, rect))?;
        refine_in_pieces(self.frame(), &self.rules, self.key, &source, rect, threads)
    }

    /// Returns a window that contains a small rectangle of a level: a cached one, or just the rectangle.
    pub(super) fn fetch_small_window(&self, level: u32, rect: CellRect<i64>) -> Result<Arc<LocalWindow>> {
        self.find_cached(level, rect).map_or_else(|| self.compute_rect(level, rect, 1).map(Arc::new), Ok)
    }

    /// Returns a window that contains a rectangle of a level, from which the next level can be computed.
    fn fetch_source(&self, level: u32, rect: CellRect<i64>) -> Result<Arc<LocalWindow>> {
        if let Some(window) = self.find_cached(level, rect) {
            return Ok(window);
        }
        if let Some(block) = self.containing_block(level, rect)
            && let Some((_, window)) = self.blocks(level, &BTreeSet::from([block]))?.pop_first()
        {
            return Ok(window);
        }
        self.compute_rect(level, rect, rayon::current_num_threads()).map(Arc::new)
    }

    /// Returns tiles of a level, in parallel: each is cut from a cached window, or computed and then cached.
    pub(super) fn load_tiles(&self, level: u32, rects: &[CellRect<i64>]) -> Result<Vec<Arc<LocalWindow>>> {
        let found: Vec<_> = rects.iter().map(|rect| self.find_cached(level, *rect)).collect();
        let missing: Vec<CellRect<i64>> =
            rects.iter().zip(&found).filter(|(_, kept)| kept.is_none()).map(|(r, _)| *r).collect();
        // Keep the blocks while their tiles are computed, however small the cache is.
        let mut blocks = Blocks::new();
        if let Some(before) = level.checked_sub(1).filter(|before| *before > 0) {
            let need = |rect: &CellRect<i64>| {
                self.containing_block(before, needed_window(self.frame(), &self.rules, level, *rect))
            };
            blocks = self.blocks(before, &missing.iter().filter_map(need).collect())?;
        }
        // With fewer tiles than threads, each tile is divided among several threads.
        let threads = rayon::current_num_threads().div_ceil(missing.len().max(1));
        let tile = |(rect, kept): (&CellRect<i64>, Option<Arc<LocalWindow>>)| {
            let made = match kept {
                Some(tile) if tile.rect == *rect => return Ok(tile),
                Some(block) => block.crop(*rect)?,
                None => self.compute_from_blocks(&blocks, level, *rect, threads)?,
            };
            let made = Arc::new(made);
            self.cache.insert_window(self.identity, &made);
            Ok(made)
        };
        rects.par_iter().zip(found).map(tile).collect()
    }

    fn compute_from_blocks(
        &self,
        blocks: &Blocks,
        level: u32,
        rect: CellRect<i64>,
        threads: usize,
    ) -> Result<LocalWindow> {
        let source = level.checked_sub(1).and_then(|before| {
            let need = needed_window(self.frame(), &self.rules, level, rect);
            blocks.get(&self.containing_block(before, need)?)
        });
        match source {
            Some(source) => refine_in_pieces(self.frame(), &self.rules, self.key, source, rect, threads),
            None => self.compute_rect(level, rect, threads),
        }
    }

    /// Returns a cached window that contains a rectangle of a level: its tile, or its block.
    fn find_cached(&self, level: u32, rect: CellRect<i64>) -> Option<Arc<LocalWindow>> {
        let of =
            |whole: CellRect<i64>| whole.contains(&rect).then(|| self.cache.get(self.identity, level, whole)).flatten();
        of(self.tile_rect(level, self.containing_tile(rect.start))).or_else(|| {
            let block = self.containing_block(level, rect)?;
            of(self.block_rect(level, block))
        })
    }

    /// Returns the block that contains a rectangle of a level, with its halo; `None` if there is none, on level 0,
    /// and if the cache has no room for a block of each level.
    fn containing_block(&self, level: u32, rect: CellRect<i64>) -> Option<Cell<i64>> {
        let side = BLOCK + 2 * self.halo;
        // One block of each level up to this one must fit, or blocks would displace each other while they are computed.
        let room = u64::from(level) * LocalWindow::BYTES * (side * side) as u64;
        // The block is that of the rectangle's middle; halos overlap, so the rectangle may be in several blocks.
        let block = Cell::from_axes(|axis| ((rect.start[axis] + rect.end[axis]) / 2).div_euclid(BLOCK));
        (level > 0 && room <= self.cache.byte_limit() && self.block_rect(level, block).contains(&rect)).then_some(block)
    }

    /// Returns a block's cells, including those of its halo.
    fn block_rect(&self, level: u32, block: Cell<i64>) -> CellRect<i64> {
        let core = CellRect::new(block.map(|x| x.saturating_mul(BLOCK)), [BLOCK as usize; 2]);
        core.grow_within(self.halo, self.frame().world_rect(level))
    }

    /// Returns blocks of a level, 1 or finer: computes those of the level before first, and then all missing ones in
    /// parallel.
    fn blocks(&self, level: u32, needed: &BTreeSet<Cell<i64>>) -> Result<Blocks> {
        let mut found = Blocks::new();
        let mut missing = Vec::new();
        for block in needed {
            match self.cache.get(self.identity, level, self.block_rect(level, *block)) {
                Some(window) => drop(found.insert(*block, window)),
                None => missing.push(*block),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let parent = |block: &Cell<i64>| block.map(|x| x.div_euclid(2));
        let mut sources = Blocks::new();
        if level > 1 {
            sources = self.blocks(level - 1, &missing.iter().map(parent).collect())?;
        } else {
            // These windows are fetched one after the other, because solving level 0 uses all threads by itself.
            for block in &missing {
                let need = needed_window(self.frame(), &self.rules, level, self.block_rect(level, *block));
                sources.insert(*block, Arc::new(self.coarse.window(need, &mut NoProgress)?));
            }
        }
        // With fewer blocks than threads, each block is divided among several threads.
        let threads = rayon::current_num_threads().div_ceil(missing.len());
        let make = |block: Cell<i64>| {
            let rect = self.block_rect(level, block);
            let source = sources.get(&if level > 1 { parent(&block) } else { block });
            let window = match source {
                Some(source) => refine_in_pieces(self.frame(), &self.rules, self.key, source, rect, threads)?,
                None => self.compute_rect(level, rect, threads)?,
            };
            let window = Arc::new(window);
            self.cache.insert_window(self.identity, &window);
            Ok((block, window))
        };
        let made: Vec<_> = missing.into_par_iter().map(make).collect::<Result<_>>()?;
        found.extend(made);
        Ok(found)
    }
}
