//! [`ExportTarget`]: the requirements of a program, declared once. The help, the checks, the manifests, the book's
//! table and the tests are derived from [`TARGETS`].

use std::ops::RangeFull;
use std::sync::LazyLock;

use super::sides::SideRule;
use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::{Cell, Error, Result};
use thalweg_io::sidecar::RowOrder;
use thalweg_io::{Format, SampleType};

/// A program for which a terrain is exported. Targets of the same name are equal.
///
/// # Examples
/// A side of a Unity terrain has 2ⁿ + 1 samples.
///
/// ```
/// use thalweg_export::export::ExportTarget;
///
/// let unity = ExportTarget::find("unity")?;
/// assert!(unity.square && unity.sides.allows(513) && !unity.sides.allows(512));
/// assert!(ExportTarget::find("untiy").unwrap_err().to_string().contains("unity"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ExportTarget {
    /// The name after `--for`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The accepted numbers of samples along a side of a single file.
    pub sides: SideRule,
    /// The accepted numbers of samples along a side of a tile; the same rule if tiles have no rule of their own.
    pub tile_sides: SideRule,
    /// True if a file must have as many rows as columns.
    pub square: bool,
    /// True if the program takes one number for the spacing of samples in both directions.
    pub one_spacing: bool,
    /// True if the terrain may be resampled; false for maps, which keep their cells.
    pub resamples: bool,
    /// What tiles share by default, and whether another choice is possible.
    pub seams: Seams,
    /// The files of heights that the program reads, the default first.
    pub heights: &'static [HeightFile],
    /// The order of the rows in a file.
    pub rows: RowOrder,
    /// How tiles are numbered in file names.
    pub numbering: TileNumbering,
    /// The parts of a name that the program would misread.
    pub names: NameRule,
    /// How layers are exported.
    pub layers: LayerPlace,
    /// Instructions for importing; `{…}` stands for the numbers.
    pub how: &'static str,
    /// Instructions for importing tiles, which follow `how`.
    pub how_tiles: &'static str,
    /// How the exported files were verified, and with which program; shown in the book.
    pub verdict: &'static str,
    /// The documentation of the program's makers.
    pub source: &'static str,
}

/// A kind of file of heights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeightFile {
    /// The extension, without the dot.
    pub ending: &'static str,
    /// The format.
    pub format: Format,
    /// The type of the samples: `U16` codes over the range of heights, `F32` metres, or the `U8` channels of a colour
    /// that encodes metres.
    pub sample: SampleType,
}

/// What neighbouring tiles share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seams {
    /// The samples of their common edge, which both contain. For example, two such tiles of 1009 samples have 2017
    /// samples together.
    Shared,
    /// Nothing: the next tile begins with the next sample.
    Adjacent,
    /// Shared by default; adjacent on request.
    Either,
}

/// How tiles are numbered in file names: the suffix after the name. Numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileNumbering {
    /// `_x0_y0`: column and row, y from the north. For example, `land_x1_y0` is the tile east of `land_x0_y0`.
    ColumnRow,
    /// `_0_0`: along x, then along z from the south.
    Plane,
    /// `_00_00`: along x, then along z from the north.
    Regions,
    /// `/{z}/{x}/{y}`: not files with one range, but a pyramid of map tiles of the globe.
    Pyramid,
}

/// The parts of a file's name that a program would misread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// None: letters of any script and spaces are allowed.
    Free,
    /// A size, `1009x1009`, or a tile's number, `_x0_y0`.
    Sizes,
    /// Two numbers at the end, `_0_0`.
    Numbers,
    /// None, but only plain letters are allowed.
    Plain,
}

/// How layers are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerPlace {
    /// Not at all.
    None,
    /// Masks of 8 bits with the samples of the heights. A layer of classes becomes one mask per class, 255 where the
    /// class is and 0 elsewhere. A layer of real numbers becomes one mask: shares from 0 to 1 are mapped to 0 to 255;
    /// other values over the range from 0, or from the lowest value if it is below 0, to the highest. For example, a
    /// layer of soils with sand and loam becomes two masks.
    Masks,
    /// The same masks with texels, one fewer than samples along a side.
    Texels,
    /// Images with the samples of the heights: classes unchanged, 0 where there is no data; real numbers over their
    /// range in 16 bits.
    Pictures,
    /// Rasters (`.tif`): classes as integers, real numbers as `f32`.
    Rasters,
}

const PNG: HeightFile = HeightFile { ending: "png", format: Format::Png, sample: SampleType::U16 };
const R16: HeightFile = HeightFile { ending: "r16", format: Format::R16, sample: SampleType::U16 };
const RAW: HeightFile = HeightFile { ending: "raw", format: Format::R16, sample: SampleType::U16 };
const EXR: HeightFile = HeightFile { ending: "exr", format: Format::Exr, sample: SampleType::F32 };
const RGB: HeightFile = HeightFile { ending: "png", format: Format::Png, sample: SampleType::U8 };
/// Cesium's quantized-mesh.
const MESH: HeightFile = HeightFile { ending: "terrain", format: Format::R16, sample: SampleType::U16 };
const TIFF: HeightFile = HeightFile { ending: "tif", format: Format::Tiff, sample: SampleType::F32 };

/// The greatest number of samples along a side if a program specifies no limit.
const MAX_SIDE_SAMPLES: usize = 65_536;

const LANDSCAPE: SideRule = SideRule::Components { usual: &[127, 253, 505, 1009, 2017, 4033, 8129], most: 32 };
const TERRAIN: SideRule = SideRule::PowerPlusOne(33, 4097);
const ANY: SideRule = SideRule::Any(2, MAX_SIDE_SAMPLES);

/// The properties that most programs share. A target specifies its differences.
const COMMON_PROPERTIES: ExportTarget = ExportTarget {
    name: "",
    about: "",
    sides: ANY,
    tile_sides: ANY,
    square: false,
    one_spacing: false,
    resamples: true,
    seams: Seams::Adjacent,
    heights: &[],
    rows: RowOrder::North,
    numbering: TileNumbering::ColumnRow,
    names: NameRule::Free,
    layers: LayerPlace::None,
    how: "",
    how_tiles: "",
    verdict: "by formula",
    source: "",
};

/// The programs for which terrains are exported.
///
/// # Examples
/// ```
/// use thalweg_export::export::TARGETS;
///
/// // The programs whose default file of heights is OpenEXR.
/// let mut exr = TARGETS.iter().filter(|target| target.heights[0].ending == "exr");
/// assert!(exr.any(|target| target.name == "terrain3d"));
/// ```
pub const TARGETS: [ExportTarget; 9] = [
    ExportTarget {
        name: "unreal",
        about: "Unreal Engine (a landscape)",
        sides: LANDSCAPE,
        tile_sides: LANDSCAPE,
        seams: Seams::Either,
        heights: &[PNG, R16],
        names: NameRule::Sizes,
        layers: LayerPlace::Masks,
        how: "In Landscape mode open Manage, New, Import from File and choose {file}. Set Scale X {scale_x}, Y \
              {scale_y}, Z {scale_z} and Location Z {location_z}. The landscape then spans {span_x} × {span_y} m, from \
              {minimum} to {maximum} m.",
        how_tiles: "All {tiles} tiles have the same range and the same scale. {seams}",
        source: "Epic Games, Landscape Technical Guide; Importing and Exporting Landscape Heightmaps",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "unity",
        about: "Unity (a Terrain)",
        sides: TERRAIN,
        tile_sides: TERRAIN,
        square: true,
        seams: Seams::Shared,
        heights: &[RAW],
        rows: RowOrder::South,
        numbering: TileNumbering::Plane,
        names: NameRule::Numbers,
        layers: LayerPlace::Texels,
        how: "In Terrain, Terrain Settings, choose Import Raw and {file}; set Depth Bit 16, Resolution {columns}, Byte \
              Order Windows, and Flip Vertically off (the southern row comes first). Set Terrain Size X {tile_width}, \
              Y {terrain_height}, Z {tile_length}, and Position Y {minimum}.",
        how_tiles: "For tiles use Terrain Toolbox, Create New Terrain, Import Heightmap, Batch: {tiles} tiles, {width} \
                    × {length} m in total, each of the size above. The two numbers in a name count along X and along Z \
                    from the south-west, and neighbours share their edges.",
        source: "Unity Technologies, Working with Heightmaps; Terrain Tools, Import Heightmap",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "terrain3d",
        about: "Godot with Terrain3D",
        sides: SideRule::Any(2, 16_384),
        tile_sides: SideRule::Power(64, 2048),
        one_spacing: true,
        heights: &[EXR, R16],
        numbering: TileNumbering::Regions,
        names: NameRule::Numbers,
        how: "Open addons/terrain_3d/tools/importer.tscn with Vertex Spacing 1, and set Height File {file}, Import \
              Scale 1, Height Offset 0. An .exr contains metres; for an .r16 enter R16 Range {minimum}, {maximum} and \
              R16 Size {columns}, {rows}. For a single file set Region Size {region}. After the import set Vertex \
              Spacing to {spacing} on the Terrain3D node.",
        how_tiles: "Tiles are regions: set Region Size to {columns}, and import each with Import Position {columns} · \
                    X - {middle_x}, {rows} · Z - {middle_z}, where X and Z are the two numbers in its name. Regions \
                    share no samples.",
        source: "Tokisan Games, Terrain3D, Importing & Exporting Data",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "hterrain",
        about: "Godot with Zylann's heightmap plugin",
        sides: SideRule::PowerPlusOne(513, 4097),
        tile_sides: SideRule::PowerPlusOne(513, 4097),
        square: true,
        seams: Seams::Shared,
        heights: &[RAW],
        names: NameRule::Plain,
        how: "In the Terrain menu choose Import maps: Heightmap {file}, 16 bits, little-endian; Min Height {minimum}, \
              Max Height {maximum}. Set Map Scale to ({spacing_x}, 1, {spacing_y}).",
        how_tiles: "Each tile needs an HTerrain node. In a tile's name x counts from the west and y from the north. \
                    The nodes are {tile_width} m apart along X and {tile_length} m along Z, and neighbours share their \
                    edges.",
        source: "Zylann, HTerrain plugin documentation",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "blender",
        about: "Blender (a grid with a Displace modifier)",
        seams: Seams::Shared,
        heights: &[EXR, PNG],
        layers: LayerPlace::Pictures,
        how: "Add, Mesh, Grid: set X Subdivisions {quads_x} and Y Subdivisions {quads_y}, scale the grid to \
              {tile_width} × {tile_length} m, and set its location to Z {z}. In its UVs set u to u · {uv_scale_x} + \
              {uv_shift_x} and v to v · {uv_scale_y} + {uv_shift_y}: vertices are then at the centres of pixels. Add a \
              Displace modifier with Direction Z, Coordinates UV, Strength {strength}, Midlevel 0; its texture is \
              {file}, with Color Space Non-Color, Sampling without Interpolation and MIP Map, Mapping Extend, Colors \
              without Clamp.",
        how_tiles: "Each tile needs a grid. In a tile's name x counts from the west and y from the north. Neighbours \
                    share their edges.",
        verdict: "opened",
        source: "Blender Foundation, Blender Manual: Displace Modifier; Image Textures",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "bevy",
        about: "Bevy, or your own engine",
        seams: Seams::Shared,
        heights: &[R16, PNG],
        layers: LayerPlace::Pictures,
        how: "Bevy does not read height maps by itself. {file} contains {columns} × {rows} samples of 16 bits, least \
              significant byte first and northern row first: y = {minimum} + sample / 65535 · {relief}, x = column · \
              {spacing_x}, z = row · {spacing_y}, all in metres. `thalweg mesh` writes the terrain as a mesh.",
        how_tiles: "The same applies to each tile. In a tile's name x counts from the west and y from the north. \
                    Neighbours share their edges.",
        source: "our own format: a file of numbers with its manifest",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "worldpainter",
        about: "WorldPainter (for Minecraft)",
        one_spacing: true,
        heights: &[PNG],
        layers: LayerPlace::Pictures,
        how: "File, Import new world, From height map: choose {file} and set Scale 100 %, so that a pixel is a block \
              and represents {spacing} m. Map the image values 0 and 65535 to levels {block_low} and {block_high}: the \
              height of a block represents {block} m. Set Water level {block_water}.",
        how_tiles: "Each tile is a world of {columns} × {rows} blocks. In a tile's name x counts from the west and y \
                    from the north. The worlds share no blocks.",
        source: "WorldPainter, Importing a Height Map",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "gis",
        about: "QGIS, GDAL and other GIS software",
        one_spacing: true,
        resamples: false,
        heights: &[TIFF],
        layers: LayerPlace::Rasters,
        how: "Open {file}: a cloud-optimised GeoTIFF with metres as 32-bit floats, {columns} × {rows} cells of \
              {spacing} m; {crs}.",
        how_tiles: "`gdalbuildvrt {name}.vrt {name}_x*_y*.tif` joins the tiles of the heights. The tiles share no \
                    cells.",
        verdict: "opened",
        source: "Open Geospatial Consortium, OGC GeoTIFF Standard; Cloud Optimized GeoTIFF Standard",
        ..COMMON_PROPERTIES
    },
    ExportTarget {
        name: "web",
        about: "Web maps and globes (MapLibre, Mapbox, deck.gl, Cesium), with a page that shows them",
        sides: SideRule::Power(256, 256),
        tile_sides: SideRule::Power(256, 256),
        square: true,
        one_spacing: true,
        heights: &[RGB, MESH],
        numbering: TileNumbering::Pyramid,
        names: NameRule::Plain,
        how: "To view the map, run `python3 -m http.server` in the folder and open http://localhost:8000 in a browser; \
              any server of static files works. For your own map, add a MapLibre source of type raster-dem with tiles \
              {file}, encoding mapbox, tileSize 256; {crs}. In the same folder, terrarium contains the same heights in \
              the other encoding, and hillshade the light.",
        how_tiles: "For a globe, call CesiumJS's CesiumTerrainProvider.fromUrl with the address of the folder, which \
                    any server of static files can serve; {file}; {crs}.",
        verdict: "by formula; the page in Chromium",
        source: "Mapbox, Terrain-RGB; Mapzen, Terrarium; TileJSON 3.0.0; Cesium, quantized-mesh-1.0",
        ..COMMON_PROPERTIES
    },
];

impl PartialEq for ExportTarget {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A target is an option of operations by its name.
impl OptionType for &'static ExportTarget {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        static WORDS: LazyLock<Vec<(&str, &str)>> =
            LazyLock::new(|| TARGETS.iter().map(|target| (target.name, target.about)).collect());
        OptionKind::Choice(&WORDS)
    }

    fn from_json(value: &Json) -> Option<Self> {
        ExportTarget::find(value.as_str()?).ok()
    }

    fn to_json(&self) -> Json {
        self.name.into()
    }
}

impl ExportTarget {
    /// Returns the target of this name.
    ///
    /// # Errors
    /// Returns [`Error::Unknown`] with the known names if there is none.
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = TARGETS.iter().find(|target| target.name == name);
        found.ok_or_else(|| Error::unknown_name("target", name, TARGETS.iter().map(|target| target.name)))
    }

    /// Returns the kind of file with this extension (without the dot), or the default for `None`.
    ///
    /// # Errors
    /// Returns an error with the accepted extensions if the target does not read heights from such files.
    pub fn height_file(&self, ending: Option<&str>) -> Result<HeightFile> {
        let Some(ending) = ending else { return Ok(self.heights[0]) };
        let found = self.heights.iter().find(|file| file.ending == ending);
        let known = || self.heights.iter().map(|file| file.ending).collect::<Vec<_>>().join(", ");
        found.copied().ok_or_else(|| Error::invalid_value("format", ending, format!("{} (for {})", known(), self.name)))
    }

    /// Rejects a name that the program, or a file system, would misread.
    ///
    /// # Errors
    /// Returns an error unless the name is 1 to 100 bytes of letters a to z, digits, `_` and `-` (for
    /// [`NameRule::Free`], letters of any script, and spaces inside); if it is the name of a device in Windows; or if
    /// the target misreads it according to its [`NameRule`]. For example, `con` is the name of a device.
    pub fn check_name(&self, name: &str) -> Result<()> {
        let refuse = |allowed: &str| Err(Error::invalid_value("name", name, allowed));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_ours = |c: char| is_plain(c) || c == ' ' || (c.is_alphanumeric() && !c.is_ascii());
        let is_legal = match self.names {
            NameRule::Free => name.chars().all(is_ours) && name.trim() == name,
            _ => name.chars().all(is_plain),
        };
        if name.is_empty() || name.len() > 100 || !is_legal {
            return refuse(match self.names {
                NameRule::Free => {
                    "1 to 100 bytes of letters, digits, _, - and spaces; choose another name (--name, or name in \
                     Python)"
                }
                _ => "1 to 100 letters a to z, digits, _ and -; choose another name (--name, or name in Python)",
            });
        }
        // Windows takes these names for devices, whatever their extension.
        let upper = name.to_ascii_uppercase();
        let is_port = upper.len() == 4 && (upper.starts_with("COM") || upper.starts_with("LPT"));
        if ["CON", "PRN", "AUX", "NUL"].contains(&upper.as_str())
            || (is_port && upper.ends_with(|c: char| c.is_ascii_digit()))
        {
            return refuse(
                "a name that Windows does not reserve for a device; choose another name (--name, or name in Python)",
            );
        }
        let parts: Vec<String> = name.to_ascii_lowercase().rsplitn(3, '_').map(String::from).collect();
        let number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let ends = |first: &str, second: &str| {
            let part = |k: usize, head: &str| parts.get(k).and_then(|text| text.strip_prefix(head)).is_some_and(number);
            parts.len() == 3 && part(1, first) && part(0, second)
        };
        match self.names {
            NameRule::Sizes if ends("x", "y") || is_size(name) => refuse(
                "a name that neither ends with a tile number such as _x0_y0 nor contains a size such as 1009x1009, \
                     which the target would misread; choose another name (--name, or name in Python)",
            ),
            NameRule::Numbers if ends("", "") => refuse(
                "a name that does not end with two numbers, which the target would read as a tile number; choose \
                     another name (--name, or name in Python)",
            ),
            _ => Ok(()),
        }
    }

    /// Returns the suffix of a tile's file name, from its row and column among `rows` rows of tiles.
    pub fn tile_suffix(&self, tile: Cell, rows: usize) -> String {
        let Cell { row, col } = tile;
        match self.numbering {
            TileNumbering::ColumnRow => format!("_x{col}_y{row}"),
            TileNumbering::Plane => format!("_{col}_{}", rows - 1 - row),
            TileNumbering::Regions => format!("_{col:02}_{row:02}"),
            TileNumbering::Pyramid => format!("/{{z}}/{col}/{row}"),
        }
    }
}

/// Returns true if the name contains two numbers with an x between them.
fn is_size(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.windows(3).any(|of| of[0].is_ascii_digit() && of[1].eq_ignore_ascii_case(&b'x') && of[2].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_misread_are_refused() {
        let target = |name: &str| ExportTarget::find(name).unwrap();
        let unreal = target("unreal");
        for name in ["alpine", "alpine-2", "x0_y", "big_x1_z2", "land_x0_y0_b", "a_x_y0"] {
            assert!(unreal.check_name(name).is_ok(), "{name}");
        }
        for name in
            ["land_1009x1009", "4033X4033", "land_x0_y0", "LAND_X12_Y3", "", "a b", "é", "a/b", "..", &"n".repeat(101)]
        {
            assert!(unreal.check_name(name).is_err(), "{name}");
        }
        assert!(
            target("unity").check_name("hill_0_12").is_err() && target("unity").check_name("hill_1009x1009").is_ok()
        );
        assert!(target("terrain3d").check_name("a_00_01").is_err() && target("terrain3d").check_name("a_1").is_ok());
        let gis = target("gis");
        for name in ["Höhe 1", "dem_10x10", "富士", "a_x0_y0"] {
            assert!(gis.check_name(name).is_ok() && unreal.check_name(name).is_err(), "{name}");
        }
        for name in ["a/b", "..", "a.b", " a", "a\u{0}", "", "con", "COM1", "nul"] {
            assert!(gis.check_name(name).is_err() && target("hterrain").check_name(name).is_err(), "{name}");
        }
        assert!(gis.check_name("console").is_ok() && gis.check_name("COMA").is_ok());
    }

    #[test]
    fn tiles_are_numbered_as_their_programs_count() {
        let suffix = |name: &str| ExportTarget::find(name).unwrap().tile_suffix(Cell::new(0, 3), 4);
        assert_eq!(["unreal", "unity", "terrain3d", "gis"].map(suffix), ["_x3_y0", "_3_3", "_03_00", "_x3_y0"]);
    }

    #[test]
    fn what_is_declared_is_whole() {
        for target in &TARGETS {
            assert!(!target.heights.is_empty() && ExportTarget::find(target.name).is_ok());
            assert!(target.height_file(Some("xyz")).is_err());
            for rule in [target.sides, target.tile_sides] {
                assert!(rule.allows(rule.choose_side(600)), "{}", target.name);
            }
        }
        assert!(ExportTarget::find("unrael").unwrap_err().to_string().contains("did you mean `unreal`"));
    }
}
