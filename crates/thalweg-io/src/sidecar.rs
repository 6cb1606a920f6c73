//! The sidecar: a small JSON file next to a raster file that cannot store what its samples mean (`height.png.json`).

use std::ffi::OsString;
use std::io::Write;
use std::ops::RangeFull;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{FilePath, SampleType, list_side_files, plain, write_atomically};
use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::{Error, Result, Size};

/// The greatest size of a sidecar that is read; those written by this crate have less than a thousand bytes.
const MAX_BYTES: u64 = 1 << 16;

/// The byte order of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ByteOrder {
    /// Little-endian.
    #[default]
    Little,
    /// Big-endian (inside a PNG).
    Big,
}

impl OptionType for ByteOrder {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Choice(&[
            ("little", "The least significant byte comes first."),
            ("big", "The most significant byte comes first."),
        ])
    }

    fn from_json(value: &Json) -> Option<Self> {
        serde_json::from_value(value.clone()).ok()
    }

    fn to_json(&self) -> Json {
        match self {
            Self::Little => "little".into(),
            Self::Big => "big".into(),
        }
    }
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// The northern row comes first.
    #[default]
    North,
    /// The southern row comes first (Unity).
    South,
}

/// The meaning of a file's samples: value = minimum + sample / full · (maximum − minimum) for integer samples (full =
/// 255 or 65535), value = sample for floating-point samples.
///
/// # Examples
/// The 16-bit codes of a PNG, stretched from the lowest to the highest height.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_io::{MemoryFiles, SaveOptions, Sidecar, save_terrain};
///
/// let files = MemoryFiles::default();
/// let terrain = Terrain::from_metres(Grid::new([2, 2], 30.0)?, &[0.0, 25.0, 50.0, 100.0])?;
/// save_terrain(files.path("dem.png"), &terrain, &SaveOptions::default())?;
/// assert!(files.get("dem.png.json").is_some());
/// let sidecar = Sidecar::read_for(files.path("dem.png"))?.unwrap();
/// assert_eq!((sidecar.minimum, sidecar.maximum, sidecar.cell_size), (0.0, 100.0, 30.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sidecar {
    /// The value of the lowest code (0), or the lowest of floating-point samples, in [`Sidecar::unit`].
    pub minimum: f64,
    /// The value of the highest code (255 or 65535), or the highest of floating-point samples, in [`Sidecar::unit`].
    pub maximum: f64,
    /// The unit of the values: `m` for heights, `1` for none.
    #[serde(default = "default_unit")]
    pub unit: String,
    /// The side of a cell in metres, 0.001 to 100 000.
    pub cell_size: f64,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The type of the samples.
    pub sample: SampleType,
    /// The byte order of the samples.
    #[serde(default)]
    pub byte_order: ByteOrder,
    /// The order of the rows.
    #[serde(default)]
    pub row_order: RowOrder,
    /// The sample that stands for no data; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodata: Option<f64>,
    /// Settings for game engines; for heights only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engines: Option<Engines>,
    /// The seed of the world, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The hash of the recipe that made the world, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe_hash: Option<String>,
    /// The version of thalweg that wrote the file; `None` if another program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thalweg: Option<String>,
}

/// Settings for importing the heights into game engines, for samples of 16 bits over the full range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Engines {
    /// The settings of Unreal Engine's landscape import.
    pub unreal: Unreal,
    /// The settings of Unity's terrain.
    pub unity: Unity,
    /// The settings of Godot's Terrain3D importer.
    pub godot: Godot,
}

/// Unreal decodes a sample v to z = (v − 32768)/128 · scale/100 metres above the actor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unreal {
    /// Scale Z: relief in metres · 12800/65535.
    pub scale_z: f64,
    /// Scale X and Y: centimetres between two samples.
    pub scale_xy: f64,
    /// Location Z of the actor, in centimetres: 100 · minimum + 256 · scale Z.
    pub location_z: f64,
}

/// Unity decodes a sample v as v/65536 and expects the southern row first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unity {
    /// Terrain height: relief · 65536/65535 metres.
    pub terrain_height: f64,
    /// Terrain width in metres, between the first and the last column's samples.
    pub terrain_width: f64,
    /// Terrain length in metres, between the first and the last row's samples.
    pub terrain_length: f64,
    /// Position Y of the terrain in metres: the minimum.
    pub position_y: f64,
    /// True if "flip vertically" must be selected when this file is imported.
    pub flip_vertically: bool,
}

/// Godot Terrain3D needs the range and the size for R16 files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Godot {
    /// The lower end of the R16 range, in metres.
    pub minimum: f64,
    /// The upper end of the R16 range, in metres.
    pub maximum: f64,
    /// The R16 size: columns and rows.
    pub size: [usize; 2],
    /// The vertex spacing in metres.
    pub vertex_spacing: f64,
}

fn default_unit() -> String {
    "m".to_string()
}

impl Engines {
    /// Computes the settings for heights of `minimum` to `maximum` metres on `size` cells (rows, columns) of `cell`
    /// metres.
    pub fn new(minimum: f64, maximum: f64, [rows, columns]: Size, cell: f64) -> Self {
        let relief = maximum - minimum;
        // The codes 0 to 65 535 span the relief: 65 535/128 · scale/100 = relief.
        let scale_z = relief * 12_800.0 / 65_535.0;
        Self {
            unreal: Unreal { scale_z, scale_xy: 100.0 * cell, location_z: 100.0 * minimum + 256.0 * scale_z },
            unity: Unity {
                // Unity divides by 65 536, so its height belongs to a code that is one beyond the highest.
                terrain_height: relief * 65_536.0 / 65_535.0,
                // Engines measure between the first and the last sample, which is one cell less than the number of
                // samples.
                terrain_width: columns.saturating_sub(1) as f64 * cell,
                terrain_length: rows.saturating_sub(1) as f64 * cell,
                position_y: minimum,
                flip_vertically: true,
            },
            godot: Godot { minimum, maximum, size: [columns, rows], vertex_spacing: cell },
        }
    }
}

impl Sidecar {
    /// Returns the path of the sidecar of `path`: the whole name and `.json`.
    pub fn path_for(path: impl AsRef<Path>) -> PathBuf {
        let mut name = OsString::from(path.as_ref());
        name.push(".json");
        PathBuf::from(name)
    }

    /// Returns the files that are read for a raster: the file itself, and those next to it that describe it.
    pub fn input_files(path: &Path) -> Vec<PathBuf> {
        [path.to_path_buf()].into_iter().chain(list_side_files(path)).collect()
    }

    /// Reads the sidecar of `path`; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or has more than 64 KiB, and the errors of [`Sidecar::parse`].
    pub fn read_for(path: impl Into<FilePath>) -> Result<Option<Self>> {
        let path = path.into().with_suffix(".json");
        let Some(bytes) = plain::read_if_exists(&path, MAX_BYTES)? else { return Ok(None) };
        Self::parse(&bytes).map(Some).map_err(|error| error.into_file_error(&path))
    }

    /// Parses a sidecar from its bytes. An error becomes one about a file by [`Error::into_file_error`].
    ///
    /// # Errors
    /// Returns an error if the bytes are not the JSON of a sidecar, if the minimum is above the maximum or one of them
    /// is not finite, or if the cell size is not 0.001 to 100 000 m.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let refuse = |problem: String| Error::invalid_content("sidecar", problem);
        let sidecar: Self = serde_json::from_slice(bytes).map_err(|error| {
            let what = plain::clip_text(&error.to_string());
            refuse(format!("does not describe a raster: {what}"))
        })?;
        let range = [sidecar.minimum, sidecar.maximum];
        if range.iter().any(|x| !x.is_finite()) || range[0] > range[1] {
            return Err(refuse(format!(
                "has the minimum {} and the maximum {}; they must be finite numbers in rising order",
                range[0], range[1]
            )));
        }
        if !(1e-3..=1e5).contains(&sidecar.cell_size) {
            return Err(refuse(format!("has cell_size = {} m: must be 0.001 to 100000", sidecar.cell_size)));
        }
        Ok(sidecar)
    }

    /// Writes the sidecar of `path`.
    ///
    /// # Errors
    /// Returns the errors of [`write_atomically()`].
    pub fn write(&self, path: impl Into<FilePath>) -> Result<()> {
        let path = path.into().with_suffix(".json");
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::invalid_file(&path, error.to_string()))?;
        write_atomically(&path, |file| writeln!(file, "{text}").map_err(Error::io(&path, "write")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn engines_decode_to_the_true_heights() {
        // The engines' own decoding formulas, applied to the lowest and the highest code, must return the range.
        let (low, high, cell) = (-37.5, 1234.25, 2.5);
        let engines = Engines::new(low, high, [505, 1009], cell);
        let unreal =
            |v: f64| (v - 32_768.0) / 128.0 * engines.unreal.scale_z / 100.0 + engines.unreal.location_z / 100.0;
        let unity = |v: f64| v / 65_536.0 * engines.unity.terrain_height + engines.unity.position_y;
        for (code, metres) in [(0.0, low), (65_535.0, high)] {
            // tolerance: a few roundings of numbers up to 10⁵
            assert!((unreal(code) - metres).abs() < 1e-9);
            assert!((unity(code) - metres).abs() < 1e-9);
        }
        // 100 · extent / (N − 1), where the extent is from the first sample to the last
        assert_eq!(engines.unreal.scale_xy, 100.0 * (1008.0 * cell) / 1008.0);
        assert_eq!([engines.unity.terrain_width, engines.unity.terrain_length], [2520.0, 1260.0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.r16");
        assert_eq!(Sidecar::read_for(&path).unwrap(), None);
        let good = r#"{"minimum": 0, "maximum": 5, "cell_size": 1, "rows": 2, "columns": 2, "sample": "u16"}"#;
        fs::write(Sidecar::path_for(&path), good).unwrap();
        assert_eq!(Sidecar::read_for(&path).unwrap().unwrap().unit, "m");
        for (from, to) in [("5", "-5"), ("\"cell_size\": 1", "\"cell_size\": 0"), ("u16", "u17"), ("}", "")] {
            fs::write(Sidecar::path_for(&path), good.replace(from, to)).unwrap();
            assert!(Sidecar::read_for(&path).is_err(), "{from} → {to}");
        }
    }
}
