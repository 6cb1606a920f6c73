//! The memory that commands need, so that work that does not fit is refused before it starts.
//!
//! The figures are measured: the peak address space of a run, minus that of a run over a few cells, per cell, rounded
//! up. The test `every_command_weighs_its_memory` in `tests/it/limits.rs` runs every command under limits and checks
//! that each either works or refuses.

use thalweg_core::base::memory::check_memory;
use thalweg_core::{Grid, Result, Terrain};

/// The memory that a command needs in addition to the terrains that were read.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// Bytes per cell.
    pub cell: u64,
    /// Bytes per pixel.
    pub pixel: u64,
}

/// `render map`: one pixel per cell, for which it computes light, shadow and colour.
pub const SHADE: Need = Need { cell: 24, pixel: 0 };
/// `render perspective`, and each picture of `render pair` and `render sheet`.
pub const VIEW: Need = Need { cell: 26, pixel: 150 };
/// A natural view, in addition to [`VIEW`], per sample: shares, colours, light, and the ground in samples finer than
/// cells.
pub const NATURAL: Need = Need { cell: 260, pixel: 0 };
/// `render studio`, including the memory of the software driver on machines without a graphics card.
#[cfg(feature = "studio")]
pub const PICTURE: Need = Need { cell: 160, pixel: 64 };
/// `mesh`: the corners of two triangles and the numbers of their vertices while the mesh is made; then positions,
/// normals, tangents, texture coordinates and indices, and all of it a second time while it is written. Measured with a
/// texture: 337 bytes a cell at 1500² cells, where vectors and the allocator's arenas are half empty, 263 beyond.
pub const MESH: Need = Need { cell: 340, pixel: 0 };
/// `textures`, for the larger of cells and samples: weights, factors, maps, and the bytes of one file at a time.
pub const TEXTURES: Need = Need { cell: 260, pixel: 0 };
/// `normals`, with 16 bits per channel.
pub const NORMALS: Need = Need { cell: 58, pixel: 0 };
/// `resample`, per resulting cell: heights, samples, and intermediate values between rows and columns.
pub const RESAMPLE: Need = Need { cell: 20, pixel: 0 };
/// `crop`, per resulting cell.
pub const CROP: Need = Need { cell: 20, pixel: 0 };
/// `measure`, with everything that it measures.
pub const MEASURE: Need = Need { cell: 116, pixel: 0 };
/// `info`, in addition to the file that it reads.
pub const INFO: Need = Need { cell: 0, pixel: 0 };
/// `rivers`, at its peak.
pub const RIVERS: Need = Need { cell: 140, pixel: 0 };

/// Bytes per cell of a file while it is read, and of the terrain afterwards.
const READ: [u64; 2] = [32, 5];

impl Need {
    /// Refuses work on this many cells and pixels if it cannot fit.
    ///
    /// # Errors
    /// Returns an error if it needs more memory than the system has free.
    pub fn check(self, what: &str, cells: [usize; 2], pixels: [usize; 2]) -> Result<()> {
        let area = |size: [usize; 2]| (size[0] as u64).saturating_mul(size[1] as u64);
        let cells = self.cell.saturating_mul(area(cells));
        check_memory(what, cells.saturating_add(self.pixel.saturating_mul(area(pixels))))
    }

    /// Returns the bytes for this many cells: the larger of the memory for reading them and of the memory of the
    /// terrain and the command together.
    pub fn required_bytes(self, [rows, cols]: [usize; 2]) -> u64 {
        // Reading ends before the command begins, so the two peaks are compared instead of added.
        (rows as u64).saturating_mul(cols as u64).saturating_mul(READ[0].max(READ[1] + self.cell))
    }

    /// Refuses work on the cells of a terrain if it cannot fit.
    ///
    /// # Errors
    /// Returns the errors of [`Need::check`].
    pub fn check_terrain(self, what: &str, terrain: &Terrain) -> Result<()> {
        self.check(&format!("{what} of {}", describe_size(&terrain.grid)), terrain.grid.size, [0, 0])
    }
}

/// Refuses work by rows if even that cannot fit.
///
/// # Errors
/// Returns an error if it needs more memory than the system has free.
pub fn check_row_memory(what: &str, grid: &Grid, bytes: u64) -> Result<()> {
    check_memory(&format!("{what} of {}, row by row", describe_size(grid)), bytes)
}

fn describe_size(grid: &Grid) -> String {
    format!("{} × {} cells", grid.cols(), grid.rows())
}
