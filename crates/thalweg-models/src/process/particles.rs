//! The scheduler that every particle model runs on.
//!
//! The world is divided into square tiles, anchored to world cells and coloured in a repeating pattern of 2 × 2
//! tiles. A round visits the four colours in turn. Tiles of one colour are a tile's width apart, which is farther
//! than a particle's step reaches, so they run in parallel; within a tile particles are stepped in a fixed order. A
//! particle that leaves its tile is queued at the tile that it enters, and queues are sorted by particle number
//! before they run. The result is therefore the same for any number of threads, and a tile's ground stays in the
//! fastest cache while its particles move over it.
//!
//! Each tile works on a copy of its part of the planes (a [`ParticlePatch`]: the tile and a halo), which is written
//! back afterwards.

use rayon::prelude::*;

use crate::model::MassBalance;
use thalweg_core::terrain::{GROUND, LayerSpec, SEDIMENT};
use thalweg_core::{Cell, CellRect, Error, Field, Grid, Height, Result, Size, Terrain};

/// An item that the scheduler can place: it has a number that defines its order, and a world cell.
pub trait Particle: Copy + Send + Sync {
    /// Returns its unique number, by which queues are sorted.
    fn number(&self) -> u64;
    /// Returns the world cell that it is in.
    fn cell(&self) -> Cell<i64>;
}

/// The behaviour of particles in a tile.
pub trait ParticleKernel: Sync {
    /// The type of particle that it moves.
    type Particle: Particle;

    /// Returns the distance in cells from a particle up to which its step reads or writes.
    fn step_reach(&self) -> usize;

    /// Returns how many cells beyond its tile a particle may move before it is handed on. Without this margin, a
    /// particle that moves back and forth across a border, for example in a depression, would change tiles at every
    /// step and take one round for each.
    fn tile_margin(&self) -> usize;

    /// Steps the particles of `queue`, in an order that depends on the queue alone, until each has ended or left the
    /// patch's tile; those that left remain in `queue`.
    ///
    /// # Errors
    /// Returns an error if the patch lacks a plane that the kernel needs.
    fn run(&self, patch: &mut ParticlePatch, queue: &mut Vec<Self::Particle>) -> Result<MassBalance>;
}

/// A plane and the name by which a kernel finds it.
pub type Named<T> = (&'static str, T);

/// The planes that a kernel reads and writes.
pub struct Planes<'a> {
    /// The elevations and thicknesses, which are read and written.
    pub heights: Vec<Named<&'a mut Field<Height>>>,
    /// The counts, which are read and written.
    pub counts: Vec<Named<&'a mut Field<u32>>>,
    /// The factors, which are only read.
    pub factors: Vec<Named<&'a Field<f32>>>,
    /// The mask of cells without data, which is only read.
    pub outside: Option<&'a Field<bool>>,
}

impl<'a> Planes<'a> {
    /// Returns a terrain's ground, its sediment if there is any, those of the given factor layers that it has, and
    /// its mask of cells without data.
    pub fn from_terrain(terrain: &'a mut Terrain, factors: &[LayerSpec]) -> Self {
        let Terrain { ground, loose, nodata, layers, .. } = terrain;
        let factor = |spec: &LayerSpec| Some((spec.name, layers.get(spec.name)?.cells.as_float()?));
        Self {
            heights: [(GROUND.name, ground)]
                .into_iter()
                .chain(loose.as_mut().map(|loose| (SEDIMENT.name, loose)))
                .collect(),
            counts: Vec::new(),
            factors: factors.iter().filter_map(factor).collect(),
            outside: nodata.as_ref(),
        }
    }
}

/// A tile with its halo, copied out of the planes. Rows have a fixed stride; all coordinates are relative to the
/// patch.
#[derive(Default)]
pub struct ParticlePatch {
    /// The world cell of the patch's row 0, column 0.
    pub origin: Cell<i64>,
    /// The number of cells from one row to the next.
    pub stride: usize,
    /// The cells of the tile, widened by the margin.
    pub tile: CellRect<i32>,
    /// The cells that exist in the terrain.
    pub valid: CellRect<i32>,
    /// The copies of [`Planes::heights`], in height units.
    heights: Vec<Named<Vec<i32>>>,
    /// The copies of [`Planes::counts`].
    counts: Vec<Named<Vec<u32>>>,
    /// The copies of [`Planes::factors`].
    factors: Vec<Named<Vec<f32>>>,
    /// The copy of [`Planes::outside`]; empty if there is none.
    outside: Vec<bool>,
}

/// The planes of a patch, borrowed separately so that several can be written at once; each is taken by its name.
pub struct SplitPlanes<'p> {
    heights: Vec<Named<&'p mut [i32]>>,
    counts: Vec<Named<&'p mut [u32]>>,
    factors: &'p [Named<Vec<f32>>],
    /// The mask of cells without data, if there is one.
    pub outside: Option<&'p [bool]>,
}

impl ParticlePatch {
    /// Returns the patch's planes.
    pub fn split_planes(&mut self) -> SplitPlanes<'_> {
        SplitPlanes {
            heights: self.heights.iter_mut().map(|(name, plane)| (*name, plane.as_mut_slice())).collect(),
            counts: self.counts.iter_mut().map(|(name, plane)| (*name, plane.as_mut_slice())).collect(),
            factors: &self.factors,
            outside: (!self.outside.is_empty()).then_some(self.outside.as_slice()),
        }
    }
}

impl<'p> SplitPlanes<'p> {
    /// Takes the plane of heights of that name, or returns `None` if there is none.
    pub fn take_heights(&mut self, name: &str) -> Option<&'p mut [i32]> {
        take_named(&mut self.heights, name)
    }

    /// Takes the plane of counts of that name, or returns `None` if there is none.
    pub fn take_counts(&mut self, name: &str) -> Option<&'p mut [u32]> {
        take_named(&mut self.counts, name)
    }

    /// Returns the plane of factors of that name, or `None` if there is none.
    pub fn factor_plane(&self, name: &str) -> Option<&'p [f32]> {
        self.factors.iter().find(|(is, _)| *is == name).map(|(_, plane)| plane.as_slice())
    }
}

fn take_named<T>(planes: &mut Vec<Named<T>>, name: &str) -> Option<T> {
    let at = planes.iter().position(|(is, _)| *is == name)?;
    Some(planes.swap_remove(at).1)
}

/// Unwraps a plane that particles cannot work without.
///
/// # Errors
/// Returns an error that names the plane if it is missing.
pub fn require_layer<T>(name: &str, plane: Option<T>) -> Result<T> {
    plane.ok_or_else(|| Error::invalid_layer(name, "is required by the particles of this model and is missing"))
}

/// Returns the side of a tile in cells for a halo (the reach of a step plus the margin): a power of two, at least
/// twice the halo.
pub fn tile_side(halo: usize) -> usize {
    // Tiles of one colour are a tile apart, so a width of two halos keeps their patches from overlapping. The minimum
    // of 64 cells keeps the share of the halo in the copied cells small.
    (2 * halo).next_power_of_two().max(64)
}

/// Returns the distance in cells that one round can reach, through all four colours.
pub fn round_reach(halo: usize) -> usize {
    // A particle can cross one tile in each colour, so a round reaches at most four tiles and halos.
    4 * (tile_side(halo) + halo)
}

/// Runs one round over `particles`, whose cells are inside the grid's window. Returns the particles still alive,
/// sorted by number, and the mass balance.
///
/// # Errors
/// Returns the errors of [`ParticleKernel::run`].
pub fn run_round<K: ParticleKernel>(
    kernel: &K,
    grid: &Grid,
    planes: &mut Planes<'_>,
    particles: Vec<K::Particle>,
) -> Result<(Vec<K::Particle>, MassBalance)> {
    let layout = TileLayout::new(grid, kernel.step_reach() + kernel.tile_margin(), kernel.tile_margin());
    // Allocate each queue at its final length, because growing it item by item takes up to twice the memory.
    let mut lengths = vec![0; layout.count[0] * layout.count[1]];
    particles.iter().for_each(|particle| lengths[layout.tile_index(particle.cell())] += 1);
    let mut queues: Vec<Vec<K::Particle>> = lengths.into_iter().map(Vec::with_capacity).collect();
    for particle in particles {
        queues[layout.tile_index(particle.cell())].push(particle);
    }
    let mut budget = MassBalance::default();
    let names = Names {
        heights: planes.heights.iter().map(|(name, _)| *name).collect(),
        counts: planes.counts.iter().map(|(name, _)| *name).collect(),
        factors: planes.factors.iter().map(|(name, _)| *name).collect(),
    };
    // The four colours run one after another. A particle that crosses into a tile whose colour comes later goes on in
    // the same round.
    for colour in [[0, 0], [0, 1], [1, 1], [1, 0]].map(Cell::from) {
        let active = layout.active_tiles(colour, &queues);
        let mut jobs: Vec<TileJob<'_, K::Particle>> = active
            .iter()
            .map(|tile| TileJob {
                tile: *tile,
                queue: std::mem::take(&mut queues[layout.index(*tile)]),
                heights: Vec::new(),
                counts: Vec::new(),
            })
            .collect();
        for (_, plane) in &mut planes.heights {
            // Each job borrows only its own rows of the planes, so the tiles of a colour can be written in parallel.
            layout.split_plane(plane, &mut jobs, |job| &mut job.heights);
        }
        for (_, plane) in &mut planes.counts {
            layout.split_plane(plane, &mut jobs, |job| &mut job.counts);
        }
        let (factors, outside) = (&planes.factors, planes.outside);
        let work = |patch: &mut ParticlePatch, job: &mut TileJob<'_, K::Particle>| {
            // Numbers are unique, so an unstable sort has one result, whatever order the particles arrived in.
            job.queue.sort_unstable_by_key(K::Particle::number);
            layout.load_patch(job, &names, factors, outside, patch);
            let budget = kernel.run(patch, &mut job.queue)?;
            // The changed planes are written back, and particles that left the tile stay in the job's queue.
            layout.store_patch(patch, job);
            Ok(budget)
        };
        let budgets: Result<Vec<MassBalance>> =
            // Each thread reuses one patch, so that its memory stays in the cache. Balances are collected in the order
            // of tiles.
            jobs.par_iter_mut().with_max_len(4).map_init(ParticlePatch::default, work).collect();
        budgets?.into_iter().for_each(|b| budget += b);
        for particle in jobs.into_iter().flat_map(|job| job.queue) {
            queues[layout.tile_index(particle.cell())].push(particle);
        }
    }
    // The survivors are sorted by number, so that their order does not depend on the tiles.
    let mut alive: Vec<K::Particle> = queues.into_iter().flatten().collect();
    alive.sort_unstable_by_key(K::Particle::number);
    Ok((alive, budget))
}

/// The names of the planes, in their order, since jobs contain only rows of the planes.
struct Names {
    heights: Vec<&'static str>,
    counts: Vec<&'static str>,
    factors: Vec<&'static str>,
}

/// The work on one tile: its queue, and its rows of each plane.
struct TileJob<'a, P> {
    /// The row and column of the tile.
    tile: Cell,
    queue: Vec<P>,
    heights: Vec<&'a mut [Height]>,
    counts: Vec<&'a mut [u32]>,
}

/// The layout of tiles over a terrain's window.
struct TileLayout {
    side: usize,
    halo: usize,
    margin: usize,
    size: Size,
    origin: Cell<i64>,
    /// The world tile number of the first tile row and column, and the number of tiles.
    first: Cell<i64>,
    count: Size,
}

impl TileLayout {
    fn new(grid: &Grid, halo: usize, margin: usize) -> Self {
        let side = tile_side(halo);
        let origin = grid.origin;
        let first = origin.map(|o| o.div_euclid(side as i64));
        let last = [0, 1].map(|a| (grid.origin[a] + grid.size[a] as i64 - 1).div_euclid(side as i64));
        let count = [0, 1].map(|a| (last[a] - first[a] + 1) as usize);
        Self { side, halo, margin, size: grid.size, origin, first, count }
    }

    fn tile_index(&self, cell: Cell<i64>) -> usize {
        self.index(Cell::from_axes(|a| {
            let tile = cell[a].div_euclid(self.side as i64) - self.first[a];
            // A particle that has left the window is queued at the outermost tile.
            tile.clamp(0, self.count[a] as i64 - 1) as usize
        }))
    }

    /// Returns the index of a tile in row-major order.
    fn index(&self, tile: Cell) -> usize {
        tile.row * self.count[1] + tile.col
    }

    /// Returns the tiles of a colour (by parity of their world tile numbers) that contain particles, in row-major
    /// order.
    fn active_tiles<P>(&self, colour: Cell<i64>, queues: &[Vec<P>]) -> Vec<Cell> {
        let first = Cell::from_axes(|a| (colour[a] - self.first[a]).rem_euclid(2) as usize);
        let rows = (first.row..self.count[0]).step_by(2);
        rows.flat_map(|row| (first.col..self.count[1]).step_by(2).map(move |col| Cell { row, col }))
            .filter(|tile| !queues[self.index(*tile)].is_empty())
            .collect()
    }

    /// Returns the rows (axis 0) or columns (axis 1) of the terrain that tile number `t` and its halo cover.
    fn covered_range(&self, t: usize, axis: usize) -> std::ops::Range<usize> {
        let start = (self.first[axis] + t as i64) * self.side as i64 - self.origin[axis];
        let bound = |x: i64| x.clamp(0, self.size[axis] as i64) as usize;
        bound(start - self.halo as i64)..bound(start + (self.side + self.halo) as i64)
    }

    /// Splits a plane into the jobs' rows. Jobs of one colour do not overlap, so each cell belongs to at most one
    /// job.
    fn split_plane<'a, T, P>(
        &self,
        plane: &'a mut Field<T>,
        jobs: &mut [TileJob<'a, P>],
        part: impl for<'j> Fn(&'j mut TileJob<'a, P>) -> &'j mut Vec<&'a mut [T]>,
    ) {
        let mut rows = plane.as_mut_slice().chunks_mut(self.size[1]).enumerate();
        for band in jobs.chunk_by_mut(|a, b| a.tile.row == b.tile.row) {
            let span = self.covered_range(band[0].tile.row, 0);
            // Bands are ordered from north to south and do not overlap, so the rows before this band belong to no
            // job.
            for (_, row) in rows.by_ref().skip_while(|(i, _)| *i < span.start).take(span.len()) {
                let (mut rest, mut at) = (row, 0);
                for job in band.iter_mut() {
                    let cols = self.covered_range(job.tile.col, 1);
                    // The columns between two jobs are skipped, since they belong to tiles of other colours.
                    let (_, after) = rest.split_at_mut(cols.start - at);
                    let (mine, after) = after.split_at_mut(cols.len());
                    part(job).push(mine);
                    (rest, at) = (after, cols.end);
                }
            }
        }
    }

    /// Copies a job's part of the planes into `patch`.
    fn load_patch<P>(
        &self,
        job: &TileJob<'_, P>,
        names: &Names,
        factors: &[Named<&Field<f32>>],
        outside: Option<&Field<bool>>,
        patch: &mut ParticlePatch,
    ) {
        // One column more than the tile and its halos, rounded up, because a kernel may read whole vectors past the
        // last column.
        let side = self.side + 2 * self.halo;
        let stride = (side + 16).next_multiple_of(16);
        let cells = stride * (side + 1);
        let start = Cell::from_axes(|a| (self.first[a] + job.tile[a] as i64) * self.side as i64 - self.halo as i64);
        let [rows, cols] = [self.covered_range(job.tile.row, 0), self.covered_range(job.tile.col, 1)];
        // The tile begins one halo after the patch's corner; the margin widens it to all sides.
        let first = (self.halo - self.margin) as i32;
        let end = (self.halo + self.side + self.margin) as i32;
        // Patch coordinates of the first and of the past-the-end cell of the terrain that the patch covers.
        let local = |x: usize, a: usize| (x as i64 + self.origin[a] - start[a]) as i32;
        patch.origin = start;
        patch.stride = stride;
        patch.tile = CellRect::from_corners([first, first], [end, end]);
        patch.valid = CellRect {
            start: Cell::new(local(rows.start, 0), local(cols.start, 1)),
            end: Cell::new(local(rows.end, 0), local(cols.end, 1)),
        };
        let Cell { row: first_row, col: first_col } = patch.valid.start.map(|n| n as usize);
        let at = |r: usize| (first_row + r) * stride + first_col;
        let copy_rows = |r: usize| at(r)..at(r) + cols.len();

        // Cells of the patch outside the terrain keep values of earlier tiles; kernels must not use them (see `valid`).
        prepare_planes(&mut patch.heights, &names.heights);
        for ((_, plane), source) in patch.heights.iter_mut().zip(job.heights.chunks(rows.len())) {
            plane.resize(cells, 0);
            for (r, row) in source.iter().enumerate() {
                for (to, from) in plane[copy_rows(r)].iter_mut().zip(row.iter()) {
                    *to = from.0;
                }
            }
        }
        prepare_planes(&mut patch.counts, &names.counts);
        for ((_, plane), source) in patch.counts.iter_mut().zip(job.counts.chunks(rows.len())) {
            plane.resize(cells, 0);
            for (r, row) in source.iter().enumerate() {
                plane[copy_rows(r)].copy_from_slice(row);
            }
        }
        prepare_planes(&mut patch.factors, &names.factors);
        for ((_, plane), (_, source)) in patch.factors.iter_mut().zip(factors) {
            plane.resize(cells, 0.0);
            for (r, i) in rows.clone().enumerate() {
                plane[copy_rows(r)].copy_from_slice(&source.row(i)[cols.clone()]);
            }
        }
        if let Some(source) = outside {
            patch.outside.resize(cells, true);
            for (r, i) in rows.clone().enumerate() {
                patch.outside[copy_rows(r)].copy_from_slice(&source.row(i)[cols.clone()]);
            }
        }
    }

    /// Copies the written planes back.
    fn store_patch<P>(&self, patch: &ParticlePatch, job: &mut TileJob<'_, P>) {
        let rows = patch.valid.rows();
        let Cell { row: first_row, col: first_col } = patch.valid.start.map(|n| n as usize);
        let at = |r: usize| (first_row + r) * patch.stride + first_col;
        for ((_, plane), target) in patch.heights.iter().zip(job.heights.chunks_mut(rows)) {
            for (r, row) in target.iter_mut().enumerate() {
                let source = &plane[at(r)..at(r) + row.len()];
                for (to, from) in row.iter_mut().zip(source) {
                    *to = Height(*from);
                }
            }
        }
        for ((_, plane), target) in patch.counts.iter().zip(job.counts.chunks_mut(rows)) {
            for (r, row) in target.iter_mut().enumerate() {
                row.copy_from_slice(&plane[at(r)..at(r) + row.len()]);
            }
        }
    }
}

/// Prepares planes of these names. Planes that the patch already had keep their old content and memory.
fn prepare_planes<T>(planes: &mut Vec<Named<Vec<T>>>, names: &[&'static str]) {
    planes.resize_with(names.len(), Default::default);
    planes.iter_mut().zip(names).for_each(|(plane, name)| plane.0 = name);
}
