//! Reading and writing of terrain files: formats, checks, and conversion from and to a
//! [`Terrain`](thalweg_core::terrain::Terrain).
//!
//! A file is read into a [`Raster`] (the stored samples with the file's metadata), which [`load_terrain`] converts to a
//! terrain; [`save_terrain`] is the inverse. Each format has its own module. Whatever the bytes are, the readers return
//! an error and never panic. The size that a header claims is checked against [`MAX_CELLS`] and against what the file's
//! bytes can contain before memory is allocated.
//!
//! # Examples
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_io::{LoadOptions, MemoryFiles, SaveOptions, load_terrain, save_terrain};
//!
//! let terrain = Terrain::from_metres(Grid::new([2, 2], 30.0)?, &[0.0, 10.0, 20.0, 30.0])?;
//! let files = MemoryFiles::default();
//! save_terrain(files.path("dem.tif"), &terrain, &SaveOptions::default())?;
//! let loaded = load_terrain(files.path("dem.tif"), &LoadOptions::default())?;
//! assert_eq!(loaded.terrain.ground, terrain.ground);
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod atomic;
pub mod classes;
pub mod depression_file;
pub mod deterrace;
pub mod disk;
pub mod draft;
pub mod facts;
pub mod features;
pub mod file_identity;
#[cfg(feature = "geopackage")]
pub mod gpkg;
pub mod heights;
pub mod lake_file;
pub mod map_coordinates;
pub mod meshes;
pub mod output;
pub mod plain;
pub mod reshape;
pub mod river_files;
pub mod river_folder;
pub mod rivers;
pub mod sidecar;
pub mod staging;
pub mod store;
pub mod terrain;
pub mod textures;
pub mod trees;
pub mod water;
pub mod zip;

mod ascii;
mod degrees;
mod dted;
mod esri_header;
mod exr;
mod foreign;
pub mod geokeys;
mod hgt;
mod keywords;
pub mod layer;
mod npy;
mod picture;
mod png;
mod raster;
mod raw;
mod sample_windows;
mod save;
mod side_files;
mod stored_type;
mod text;
mod tiff;
pub mod units;
mod windows;
mod wkt;
mod world_file;
mod xyz;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

pub use atomic::{write_atomically, write_text};
pub use draft::{Draft, Saved};
pub use geokeys::has_crs;
pub use heights::{HeightReading, SampleStatistics};
pub use layer::{layer_piece, load_layer, load_terrain_layer};
pub use picture::{save_map, save_picture, save_shaded};
pub use raster::{Raster, RasterHead, SampleType, Samples};
pub use sample_windows::check_window_bounds;
pub use save::{SaveOptions, save_layer, save_layer_as, save_place, save_samples, save_terrain, writes_sidecar};
pub use side_files::list_side_files;
pub use sidecar::Sidecar;
pub use store::{FilePath, FileStore, MemoryFiles};
pub use stored_type::StoredType;
pub use terrain::{
    LoadOptions, Loaded, PlacedGrid, convert_to_terrain, determine_cell_size, determine_grid, load_square_terrain,
    load_terrain, needs_sidecar,
};
pub use textures::{check_textures, draft_textures, texture_files};
pub use thalweg_core::terrain::grid::MAX_CELLS;
pub use tiff::{Overviews, TiffWindows, write_cog};
pub use units::Unit;
pub use windows::{MapInMemory, VrtWindows, WindowedMap, open_windows, open_windows_with, orient_north_up};
pub use wkt::describe_system;
pub use world_file::{MapPixels, save_world_file};

use facts::FactSource;
use side_files::SideFiles;
use thalweg_core::base::memory;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result, Size};

/// The greatest size of a file of samples that is read: [`MAX_CELLS`] samples of 64 bits, twice.
const MAX_BYTES: u64 = 16 * MAX_CELLS;

/// A file format.
///
/// # Examples
/// ```
/// use thalweg_io::{Format, SampleType};
///
/// assert_eq!(Format::from_path("alps/DEM.TIF")?, Format::Tiff);
/// assert_eq!(Format::Png.writable_types(), [SampleType::U16, SampleType::U8]);
/// assert!(Format::Hgt.writable_types().is_empty(), "read only");
/// assert!(Format::from_path("dem.jpg").unwrap_err().to_string().contains(".tif"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// TIFF, GeoTIFF, BigTIFF: `.tif`, `.tiff`.
    Tiff,
    /// PNG of 8 or 16 bits: `.png`.
    Png,
    /// Headerless 16-bit whole numbers, little-endian unless a sidecar says otherwise: `.r16`, `.raw`.
    R16,
    /// Headerless 32-bit floats, little-endian unless a sidecar says otherwise: `.r32`, `.f32`.
    R32,
    /// NumPy array: `.npy`.
    Npy,
    /// ESRI ASCII grid: `.asc`.
    Ascii,
    /// OpenEXR, of which one channel is read, and one of floats is written: `.exr`.
    Exr,
    /// SRTM tile, read only: `.hgt`, `.hgt.zip`, `.hgt.gz`.
    Hgt,
    /// Binary grid with a header of ESRI beside it (`.hdr`), read only: `.bil`, `.bip`, `.bsq`, `.flt`.
    Bil,
    /// Points of a regular grid as text, or an ESRI ASCII grid of that name, read only: `.xyz`, `.txt`, `.csv`.
    Xyz,
    /// GDAL's virtual raster, a mosaic of other files, read only: `.vrt`.
    Vrt,
    /// DTED of levels 0 to 2, read only: `.dt0`, `.dt1`, `.dt2`.
    Dted,
}

impl Format {
    /// The file extensions of all formats, in lower case.
    pub const EXTENSIONS: [(&'static str, Self); 22] = [
        ("tif", Self::Tiff),
        ("tiff", Self::Tiff),
        ("png", Self::Png),
        ("r16", Self::R16),
        ("raw", Self::R16),
        ("r32", Self::R32),
        ("f32", Self::R32),
        ("npy", Self::Npy),
        ("asc", Self::Ascii),
        ("exr", Self::Exr),
        ("hgt", Self::Hgt),
        ("bil", Self::Bil),
        ("bip", Self::Bil),
        ("bsq", Self::Bil),
        ("flt", Self::Bil),
        ("xyz", Self::Xyz),
        ("txt", Self::Xyz),
        ("csv", Self::Xyz),
        ("vrt", Self::Vrt),
        ("dt0", Self::Dted),
        ("dt1", Self::Dted),
        ("dt2", Self::Dted),
    ];

    /// Returns the format of a path's extension, in upper or lower case. For example, `DEM.TIF` is a TIFF, and
    /// `dem.jpg` is an error.
    ///
    /// # Errors
    /// Returns an error if the extension is not one of [`Format::EXTENSIONS`], nor that of a packed SRTM tile. For the
    /// extension of a format that GDAL reads, the error states the command that converts the file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if is_packed_tile(path) {
            return Ok(Self::Hgt);
        }
        let extension = path.extension().unwrap_or_default();
        let known = Self::EXTENSIONS.into_iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
        known.map(|(_, format)| format).ok_or_else(|| {
            if let Some(problem) = foreign::refuse_extension(path).filter(|_| !path.is_dir()) {
                return Error::invalid_file(path, problem);
            }
            let known = Self::EXTENSIONS.map(|(known, _)| format!(".{known}")).join(", ");
            let what = if path.is_dir() { "is a folder" } else { "does not have the extension of a known format" };
            Error::invalid_file(path, format!("{what}; give a file with one of the extensions {known}"))
        })
    }

    /// Returns the sample types that the format can store, the default first; none if it is read only.
    pub fn writable_types(self) -> &'static [SampleType] {
        use SampleType::{F32, F64, I16, I32, U8, U16, U32};
        match self {
            Self::Tiff | Self::Npy => &[F32, F64, U16, U8, I16, I32, U32],
            Self::Png => &[U16, U8],
            Self::R16 => &[U16],
            Self::R32 => &[F32],
            Self::Exr => exr::WRITES,
            Self::Ascii => &[F64, F32, U8, U16, I16, I32, U32],
            Self::Hgt | Self::Bil | Self::Xyz | Self::Vrt | Self::Dted => &[],
        }
    }

    /// Returns true if files of the format can be read in windows, whatever their size: [`TiffWindows`] and
    /// [`VrtWindows`].
    pub fn reads_windows(self) -> bool {
        matches!(self, Self::Tiff | Self::Vrt)
    }

    /// Returns true if files of the format may begin with any bytes.
    fn is_headerless(self) -> bool {
        matches!(self, Self::R16 | Self::R32 | Self::Hgt | Self::Bil)
    }

    /// Returns the format that the first bytes of a file indicate; `None` if they indicate none.
    fn detect_from_bytes(bytes: &[u8]) -> Option<&'static str> {
        const MAGIC: &[(&[u8], &str)] = &[
            (b"II*\0", "TIFF"),
            (b"MM\0*", "TIFF"),
            (b"II+\0", "TIFF"),
            (b"MM\0+", "TIFF"),
            (b"\x89PNG\r\n\x1a\n", "PNG"),
            (b"\x93NUMPY", "NPY"),
            (b"\xff\xd8\xff", "JPEG"),
            (b"PK\x03\x04", "ZIP"),
            (b"\x1f\x8b", "GZIP"),
            (b"\x76\x2f\x31\x01", "EXR"),
            (b"<VRTDataset", "VRT"),
            (b"UHL1", "DTED"),
        ];
        let ascii = || starts_ascii_grid(bytes).then_some("ESRI ASCII grid");
        MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name).or_else(ascii)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tiff => "TIFF",
            Self::Png => "PNG",
            Self::R16 => "R16",
            Self::R32 => "R32",
            Self::Npy => "NPY",
            Self::Ascii => "ESRI ASCII grid",
            Self::Exr => "EXR",
            Self::Hgt => "HGT",
            Self::Bil => "ESRI BIL",
            Self::Xyz => "XYZ",
            Self::Vrt => "VRT",
            Self::Dted => "DTED",
        })
    }
}

/// Returns true if a path is that of an SRTM tile packed by ZIP or gzip.
fn is_packed_tile(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.ends_with(".hgt.zip") || name.ends_with(".hgt.gz")
}

/// Returns true if bytes begin as an ESRI ASCII grid does.
fn starts_ascii_grid(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    ["ncols", "nrows"].iter().any(|key| bytes.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(key.as_bytes())))
}

/// Reads a raster; the path's extension gives the format. The samples and the metadata are those of the file, but if
/// its first row is in the south, the rows are turned, so that row 0 is in the north.
///
/// Files next to it complete it: a mask (`.msk`), GDAL's `.aux.xml`, a world file such as `.tfw`, and a `.prj`. As in
/// GDAL, an `.aux.xml` takes precedence over the file itself, which takes precedence over a world file. A `.prj` is
/// used if nothing else states the coordinate system.
///
/// # Errors
/// Returns an error for an unknown extension; for a file that cannot be read, or whose content is broken, of another
/// format, or too large (more than [`MAX_CELLS`] cells, or than memory allows); the same for the files next to it; and
/// the errors of [`Sidecar::read_for`] and [`decode_mask`].
pub fn read_raster(path: impl Into<FilePath>) -> Result<Raster> {
    read_raster_with(path, &LoadOptions::default())
}

/// Reads a raster as [`read_raster`] does. The options give the size and the byte order of a headerless file, and
/// [`LoadOptions::unit`] keeps coordinates from being taken for degrees.
///
/// # Errors
/// Returns the errors of [`read_raster`] and of [`LoadOptions::check_raw_options`].
pub fn read_raster_with(path: impl Into<FilePath>, options: &LoadOptions) -> Result<Raster> {
    Ok(read_stored_raster(&path.into(), options)?.into_north_up())
}

/// Reads a raster as [`read_raster_with`] does, with the rows in the order of the file.
fn read_stored_raster(path: &FilePath, options: &LoadOptions) -> Result<Raster> {
    let format = Format::from_path(path)?;
    options.check_raw_options(path)?;
    if format == Format::Vrt {
        if path.is_in_memory() {
            return Err(Error::invalid_file(path, "refers to other files, so it can only be read from the disk"));
        }
        return VrtWindows::open(path)?.read_whole();
    }
    let bytes = plain::read_plain_file(path, MAX_BYTES)?;
    let refuse = |problem: String| Error::invalid_file(path, problem);
    if let Some(problem) = foreign::refuse_content(&bytes, Some(path)).filter(|_| !format.is_headerless()) {
        return Err(refuse(problem));
    }
    let side_files = SideFiles::read_for(path)?;
    let mut raster = match format {
        Format::R16 | Format::R32 => {
            let sidecar = Sidecar::read_for(path)?;
            parse_raster(format, &bytes, sidecar.as_ref(), None, options).map_err(refuse)?
        }
        Format::Hgt => read_tile(path, &bytes).map_err(refuse)?,
        Format::Bil => esri_header::read_grid(&bytes, &read_header(path)?).map_err(refuse)?,
        _ => parse_raster(format, &bytes, None, side_files.nodata(), options).map_err(refuse)?,
    };
    raster.facts.name_sidecar(&Sidecar::path_for(&**path));
    if format == Format::Bil {
        let header = path.with_extension("hdr").to_path_buf();
        for name in ["columns", "rows", "samples", "nodata", "transform"] {
            raster.facts.record_source(name, FactSource::Sidecar(header.clone()));
        }
    }
    side_files.apply_to(&mut raster);
    // The file's bytes are freed before the mask is read, so both are never in memory together.
    drop(bytes);
    // These formats have no place for a coordinate system.
    if matches!(format, Format::Ascii | Format::Xyz | Format::Bil) && options.unit.is_none() {
        degrees::recognise_degrees(&mut raster);
    }
    let mask_file = path.with_suffix(".msk");
    if let Some(bytes) = plain::read_if_exists(&mask_file, MAX_BYTES)? {
        let mask = decode_mask(&bytes, raster.size).map_err(|error| error.into_file_error(&*mask_file))?;
        raster.mask_out(mask);
        raster.facts.record_mask_file(&mask_file);
    }
    Ok(raster)
}

/// Reads an SRTM tile, which may be packed; the name of the file or of the tile in it gives its position.
fn read_tile(path: &Path, bytes: &[u8]) -> Result<Raster, String> {
    let outer = hgt::find_file_name(path);
    if !is_packed_tile(path) {
        return hgt::read_tile(bytes, Some(&outer));
    }
    let (tile, inner) = hgt::unpack_tile(bytes, path)?;
    hgt::read_tile(&tile, Some(inner.as_deref().unwrap_or(&outer)))
}

/// Reads the header next to a binary grid, such as `dem.hdr` for `dem.bil`.
fn read_header(path: &FilePath) -> Result<Vec<u8>> {
    const MAX_HEADER_BYTES: u64 = 1 << 20;
    for ending in ["hdr", "HDR"] {
        if let Some(header) = plain::read_if_exists(path.with_extension(ending), MAX_HEADER_BYTES)? {
            return Ok(header);
        }
    }
    let header = path.with_extension("hdr");
    let problem = format!("has no header beside it; {} with NROWS, NCOLS and NBITS is required", format_path(&header));
    Err(Error::invalid_file(path, problem))
}

/// Returns the path of GDAL's external mask file: the whole name and `.msk`, for example `a.tif.msk` for `a.tif`.
pub fn mask_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".msk");
    PathBuf::from(name)
}

/// Reads a raster from a file's bytes. The sidecar specifies the size, sample type and byte order of a headerless file;
/// without one, the file must be a square. An error becomes one about a file by [`Error::into_file_error`]. For
/// example, 2048 bytes of R16 without a sidecar are 32 × 32 samples.
///
/// # Errors
/// Returns an error if there are no bytes, if the bytes are broken, of another format, too large, or not as many as the
/// sidecar specifies; or if the format is [`Format::Vrt`] or [`Format::Bil`], which are read by their paths.
///
/// # Examples
/// ```
/// use thalweg_io::{Format, decode_raster};
///
/// let text = b"ncols 2\nnrows 2\ncellsize 10\nNODATA_value -9999\n1 2\n3 4.5\n";
/// let raster = decode_raster(Format::Ascii, text, None)?;
/// assert_eq!((raster.size, raster.samples.get(3), raster.nodata), ([2, 2], 4.5, Some(-9999.0)));
/// assert!(decode_raster(Format::Png, text, None).unwrap_err().to_string().contains("ESRI ASCII grid"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn decode_raster(format: Format, bytes: &[u8], sidecar: Option<&Sidecar>) -> Result<Raster> {
    parse_raster(format, bytes, sidecar, None, &LoadOptions::default())
        .map_err(|problem| Error::invalid_content("file", problem))
}

/// Reads a raster as [`decode_raster`] does; the error is the problem in words. `stated_nodata` is the value for no
/// data that a file next to it states instead of its own.
fn parse_raster(
    format: Format,
    bytes: &[u8],
    sidecar: Option<&Sidecar>,
    stated_nodata: Option<f64>,
    options: &LoadOptions,
) -> Result<Raster, String> {
    if bytes.is_empty() {
        return Err("is empty".to_string());
    }
    if !format.is_headerless() {
        if let Some(problem) = foreign::refuse_content(bytes, None) {
            return Err(problem);
        }
        if let Some(found) = Format::detect_from_bytes(bytes)
            && found != format.to_string()
            && !(format == Format::Xyz && starts_ascii_grid(bytes))
        {
            return Err(format!("is a {found} file, not a {format}; give it the extension of its format"));
        }
    }
    match format {
        Format::Tiff => tiff::read_first_band(bytes, stated_nodata),
        Format::Png => png::read_image(bytes),
        Format::R16 => raw::read_samples(bytes, SampleType::U16, sidecar, options),
        Format::R32 => raw::read_samples(bytes, SampleType::F32, sidecar, options),
        Format::Npy => npy::read_array(bytes),
        Format::Xyz if !starts_ascii_grid(bytes) => xyz::read_points(bytes),
        Format::Ascii | Format::Xyz => ascii::read_grid(bytes),
        Format::Exr => exr::read_heights(bytes),
        Format::Dted => dted::read_cell(bytes),
        Format::Hgt => hgt::read_tile(bytes, None),
        Format::Bil => Err("has its header in another file: read it by its path, not from its bytes".to_string()),
        Format::Vrt => Err("is a mosaic of other files: read it by its path, not from its bytes".to_string()),
    }
}

/// Reads the mask of a raster of this size from the bytes of a `.msk` file: one value per cell, row by row, true where
/// there is no data. An error becomes one about a file by [`Error::into_file_error`].
///
/// # Errors
/// Returns an error if the bytes are not a TIFF of bits or bytes, or have another size.
pub fn decode_mask(bytes: &[u8], size: Size) -> Result<Vec<bool>> {
    tiff::read_mask(bytes, size).map_err(|problem| Error::invalid_content("mask", problem))
}

/// Writes a raster; the path's extension gives the format. The file appears completely or not at all.
///
/// # Errors
/// Returns an error for an unknown extension, for a sample type that the format cannot store
/// ([`Format::writable_types`]), if there are no samples or not one per cell, or if the file cannot be written.
///
/// # Examples
/// ```
/// use thalweg_io::{MemoryFiles, Raster, Samples, read_raster, write_raster};
///
/// let files = MemoryFiles::default();
/// let raster = Raster::new([2, 3], Samples::I16(vec![-1, 0, 1, 2, 3, 4]));
/// write_raster(files.path("steps.npy"), &raster)?;
/// assert_eq!(read_raster(files.path("steps.npy"))?.samples, raster.samples);
/// // PNG cannot store negative numbers.
/// assert!(write_raster(files.path("steps.png"), &raster).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn write_raster(path: impl Into<FilePath>, raster: &Raster) -> Result<()> {
    write_as(&path.into(), raster, Overviews::from_sample_type(raster.samples.kind()), None)
}

/// Writes a raster as [`write_raster()`] does; a TIFF gets overviews of the given kind and a description of its
/// samples.
fn write_as(path: &FilePath, raster: &Raster, overviews: Overviews, description: Option<&str>) -> Result<()> {
    let format = Format::from_path(path)?;
    check_sample(format, raster.samples.kind())?;
    if raster.size[0].checked_mul(raster.size[1]) != Some(raster.samples.len()) || raster.samples.is_empty() {
        let size = format!("{} × {} (rows × columns), at least one sample", raster.size[0], raster.size[1]);
        return Err(Error::invalid_value("samples", raster.samples.len(), size));
    }
    if format == Format::Tiff {
        let head = RasterHead { description: description.map(str::to_string), ..raster.head() };
        return tiff::write_cog_from_memory(path, &head, overviews, &raster.samples);
    }
    write_atomically(path, |file| {
        match format {
            Format::Png => png::write_image(file, raster),
            Format::R16 | Format::R32 => raw::write_samples(file, raster),
            Format::Npy => npy::write_array(file, raster),
            Format::Ascii => ascii::write_grid(file, raster),
            Format::Exr => exr::write_heights(file, raster),
            Format::Tiff | Format::Hgt | Format::Bil | Format::Xyz | Format::Vrt | Format::Dted => Ok(()), // TIFF is written above; the others were rejected above, because they have no sample types to write
        }
        .map_err(Error::io(path, "write"))
    })
}

/// Checks that `format` can store samples of type `kind`.
fn check_sample(format: Format, kind: SampleType) -> Result<()> {
    let known = format.writable_types();
    if known.contains(&kind) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    let known = if known.is_empty() { "absent, because the format is read-only".to_string() } else { known.join(", ") };
    Err(Error::invalid_value("sample type", kind, format!("{known} ({format})")))
}

/// Rejects a size from a header if it is empty, exceeds [`MAX_CELLS`], or is more than `bytes` bytes of file can
/// contain at a compression ratio of `ratio`; returns the number of cells. `sample_bytes` is the number of bytes per
/// cell.
fn check_size(size: [u64; 2], sample_bytes: u64, bytes: usize, ratio: u64) -> Result<usize, String> {
    let [rows, cols] = size;
    let cells = rows.checked_mul(cols).filter(|n| (1..=MAX_CELLS).contains(n));
    let Some(cells) = cells else {
        return Err(format!(
            "declares {cols} × {rows} cells (columns × rows); a file may have 1 to {MAX_CELLS} in all"
        ));
    };
    let need = cells.saturating_mul(sample_bytes);
    if need > (bytes as u64).saturating_mul(ratio) {
        return Err(format!(
            "declares {cols} × {rows} cells (columns × rows) of {need} bytes in all, more than its {bytes} bytes \
             can contain: it is truncated or broken"
        ));
    }
    // In the worst case, memory holds the samples and two temporary copies of them, and heights and a mask, for which 6
    // bytes per cell are counted.
    memory::check_memory(&format!("{cols} × {rows} cells"), need.saturating_mul(3).saturating_add(6 * cells))
        .map_err(|error| format!("is too large: {error}"))?;
    usize::try_from(cells).map_err(|_| "is too large for this machine".to_string())
}
