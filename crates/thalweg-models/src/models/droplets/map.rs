//! The ground around droplets, and its slope.

use crate::models::droplets::{DEPOSIT, DropletRules, VISITS, WEAR};
use crate::process::brush::GroundPlanes;
use crate::process::particles::{ParticlePatch, require_layer};
use thalweg_core::terrain::{GROUND, HARDNESS, PROTECT, SEDIMENT};
use thalweg_core::{Cell, CellRect, Result};

/// Number of droplets stepped together.
pub const LANES: usize = 8;

/// One value per lane.
pub type Lane<T> = [T; LANES];

/// A patch as used by droplets.
pub struct DropletMap<'a> {
    /// The ground with its layers.
    pub soil: GroundPlanes<'a>,
    /// Number of droplet steps on each cell.
    pub visits: Option<&'a mut [u32]>,
    /// The cells of the tile, as in [`ParticlePatch::tile`].
    pub tile: CellRect<i32>,
}

impl<'a> DropletMap<'a> {
    /// Creates the map of a patch.
    ///
    /// # Errors
    /// Returns an error if the patch has no ground plane.
    pub fn new(rules: &DropletRules, patch: &'a mut ParticlePatch) -> Result<Self> {
        let ParticlePatch { stride, valid, tile, .. } = *patch;
        let mut planes = patch.split_planes();
        let soil = GroundPlanes {
            ground: require_layer(GROUND.name, planes.take_heights(GROUND.name))?,
            loose: planes.take_heights(SEDIMENT.name),
            wear: planes.take_heights(WEAR.name),
            deposit: planes.take_heights(DEPOSIT.name),
            hardness: planes.factor_plane(HARDNESS.name),
            protect: planes.factor_plane(PROTECT.name),
            outside: planes.outside,
            stride,
            valid,
            floor: rules.floor,
            quantum: rules.quantum,
        };
        Ok(Self { soil, visits: planes.take_counts(VISITS.name), tile })
    }

    /// Returns true if layers other than the ground are maintained.
    pub fn has_layers(&self) -> bool {
        self.visits.is_some()
            || [&self.soil.loose, &self.soil.wear, &self.soil.deposit].into_iter().any(Option::is_some)
    }

    /// Returns the side of the world beyond which position (i, j) is: 0 north, 1 east, 2 south, 3 west; `None` if it
    /// is inside.
    #[inline(always)]
    pub fn exited_side(&self, i: i32, j: i32) -> Option<usize> {
        let CellRect { start, end } = self.soil.valid;
        if i >= start.row && j >= start.col && i + 1 < end.row && j + 1 < end.col {
            return None;
        }
        // At a corner the first side in the order north, east, south, west counts.
        Some(if i < start.row {
            0
        } else if j + 1 >= end.col {
            1
        } else if i + 1 >= end.row {
            2
        } else {
            3
        })
    }

    /// Returns the rise of the current ground from one position to another. A position is the index of the corner
    /// north-west of it and the fractions of a row and a column from there.
    #[inline(always)]
    pub fn rise_between(&self, at: usize, from: Cell<f32>, new_at: usize, to: Cell<f32>) -> f32 {
        let above = |at: usize, Cell { row: v, col: u }: Cell<f32>| {
            let stride = self.soil.stride;
            let (north, south) = (&self.soil.ground[at..at + 2], &self.soil.ground[at + stride..at + stride + 2]);
            // Differences are formed in integers, since an `f32` cannot represent every elevation.
            let over = |corner: i32| (corner - north[0]) as f32;
            (over(north[1]) * u) * (1.0 - v) + (over(south[0]) * (1.0 - u) + over(south[1]) * u) * v
        };
        (self.soil.ground[new_at] - self.soil.ground[at]) as f32 + (above(new_at, to) - above(at, from))
    }
}

/// The ground at the four corners around each lane's position, as the north-western value and differences from it.
pub struct Corners {
    /// Ground at the north-western corner, in units.
    pub base: Lane<i32>,
    east: Lane<f32>,
    south: Lane<f32>,
    south_east: Lane<f32>,
}

/// Reads the corners of all lanes.
impl Corners {
    #[inline(always)]
    pub fn read(map: &DropletMap<'_>, at: &Lane<usize>) -> Self {
        let zero = [0i32; LANES];
        let (mut base, mut east, mut south, mut south_east) = (zero, zero, zero, zero);
        for l in 0..LANES {
            let (ground, stride) = (&*map.soil.ground, map.soil.stride);
            // Idle lanes, and lanes about to leave the world, may be beyond the patch.
            // The index is clamped instead of tested, so that all lanes run the same code.
            let at = at[l].min(ground.len() - stride - 2);
            let (north, below) = (&ground[at..at + 2], &ground[at + stride..at + stride + 2]);
            (base[l], east[l]) = (north[0], north[1]);
            (south[l], south_east[l]) = (below[0], below[1]);
        }
        Self::new(base, east, south, south_east)
    }

    #[inline(always)]
    fn new(base: Lane<i32>, east: Lane<i32>, south: Lane<i32>, south_east: Lane<i32>) -> Self {
        let above_base = |corner: Lane<i32>| {
            let mut difference = [0.0; LANES];
            for l in 0..LANES {
                // Cells beyond the terrain contain arbitrary values, which may overflow; their results are not used.
                difference[l] = corner[l].wrapping_sub(base[l]) as f32;
            }
            difference
        };
        Self { east: above_base(east), south: above_base(south), south_east: above_base(south_east), base }
    }

    /// Returns the southward and eastward gradient at a position, in units per cell.
    #[inline(always)]
    pub fn gradient(&self, l: usize, v: f32, u: f32) -> [f32; 2] {
        [
            self.south[l] * (1.0 - u) + (self.south_east[l] - self.east[l]) * u,
            self.east[l] * (1.0 - v) + (self.south_east[l] - self.south[l]) * v,
        ]
    }

    /// Returns the bilinear height above the base.
    #[inline(always)]
    pub fn height_above_base(&self, l: usize, v: f32, u: f32) -> f32 {
        (self.east[l] * u) * (1.0 - v) + (self.south[l] * (1.0 - u) + self.south_east[l] * u) * v
    }
}
