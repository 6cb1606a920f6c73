//! What commands take of memory, so that what does not fit is refused before it starts.
//!
//! Figures are measured: the greatest address space of a run less that of one over a few cells, over its cells, rounded up. The
//! test `memory.rs` runs every command under limits and sees that each works or refuses.

use thalweg_core::base::memory::check_memory;
use thalweg_core::{Grid, Result, Terrain};

/// What a command takes beside the terrains that were read.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// Bytes to a cell.
    pub cell: u64,
    /// Bytes to a pixel.
    pub pixel: u64,
}

/// `shade`: a pixel to a cell, of which it makes light, shadow and colour.
pub const SHADE: Need = Need { cell: 24, pixel: 0 };
/// `view`, and each picture of `compare`.
pub const VIEW: Need = Need { cell: 26, pixel: 150 };
/// A natural view beside [`VIEW`], of its samples: shares, colours, light, and the ground in finer samples than cells.
pub const NATURAL: Need = Need { cell: 260, pixel: 0 };
/// `picture`, with what the driver takes where there is no card.
#[cfg(feature = "studio")]
pub const PICTURE: Need = Need { cell: 160, pixel: 64 };
/// `mesh`: positions, normals, tangents, places on the map, two triangles; and all of it once more while it is written.
pub const MESH: Need = Need { cell: 170, pixel: 0 };
/// `textures`, of the larger of cells and samples: weights, factors, maps, and each file's bytes in turn.
pub const TEXTURES: Need = Need { cell: 260, pixel: 0 };
/// `normals`, 16 bits to a channel.
pub const NORMALS: Need = Need { cell: 58, pixel: 0 };
/// `resample`, of the cells to be: heights, samples, what is between rows and columns.
pub const RESAMPLE: Need = Need { cell: 20, pixel: 0 };
/// `crop`, of the cells to be.
pub const CROP: Need = Need { cell: 20, pixel: 0 };
/// `measure`, all that it looks at.
pub const MEASURE: Need = Need { cell: 116, pixel: 0 };
/// `info`, beside what it reads.
pub const INFO: Need = Need { cell: 0, pixel: 0 };
/// `rivers`, all at its height.
pub const RIVERS: Need = Need { cell: 140, pixel: 0 };

/// Bytes to a cell of a file while it is read, and of the terrain then.
const READ: [u64; 2] = [32, 5];

impl Need {
    /// Refuses work over so many cells and pixels that cannot fit.
    ///
    /// # Errors
    /// When it is more than the system has free.
    pub fn check(self, what: &str, cells: [usize; 2], pixels: [usize; 2]) -> Result<()> {
        let area = |size: [usize; 2]| (size[0] as u64).saturating_mul(size[1] as u64);
        let cells = self.cell.saturating_mul(area(cells));
        check_memory(what, cells.saturating_add(self.pixel.saturating_mul(area(pixels))))
    }

    /// Bytes of so many cells, with what reading them takes before, or what is read beside.
    pub fn beside(self, [rows, cols]: [usize; 2]) -> u64 {
        (rows as u64).saturating_mul(cols as u64).saturating_mul(READ[0].max(READ[1] + self.cell))
    }

    /// The same over a terrain.
    ///
    /// # Errors
    /// As [`Need::check`].
    pub fn over(self, what: &str, terrain: &Terrain) -> Result<()> {
        self.check(&format!("{what} of {}", shown(&terrain.grid)), terrain.grid.size, [0, 0])
    }
}

/// Refuses work by rows that cannot fit even so.
///
/// # Errors
/// When it is more than the system has free.
pub fn by_rows(what: &str, grid: &Grid, bytes: u64) -> Result<()> {
    check_memory(&format!("{what} of {} by rows", shown(grid)), bytes)
}

fn shown(grid: &Grid) -> String {
    format!("{} × {} cells", grid.cols(), grid.rows())
}
