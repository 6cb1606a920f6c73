//! The division of a terrain into files: the number of samples, and the size and number of the tiles.

use std::ops::RangeFull;
use std::str::FromStr;

use super::target::{ExportTarget, Seams, TileNumbering};
use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::{Cell, CellRect, Error, Result, Size};

/// The number or size of the files into which a terrain is divided.
///
/// # Examples
/// ```
/// use thalweg_export::export::ExportTiles;
///
/// assert_eq!("8x4".parse::<ExportTiles>()?, ExportTiles::Count([4, 8]));
/// assert_eq!("1009px".parse::<ExportTiles>()?, ExportTiles::Side(1009));
/// assert!("0".parse::<ExportTiles>().is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportTiles {
    /// One file.
    #[default]
    Whole,
    /// This number of rows and columns of tiles.
    Count(Size),
    /// Tiles with this number of samples along a side, as many as approximate the terrain's size best.
    Side(usize),
}

impl std::fmt::Display for ExportTiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole => f.write_str("1"),
            Self::Count([rows, cols]) => write!(f, "{cols}x{rows}"),
            Self::Side(side) => write!(f, "{side}px"),
        }
    }
}

/// As an option of an operation: a text, a number of tiles, or the numbers of rows and columns of tiles.
impl OptionType for ExportTiles {
    type Within = RangeFull;
    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Tiles
    }
    fn from_json(value: &Json) -> Option<Self> {
        let number = |value: &Json| value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        match (value.as_str(), value.as_array().map(Vec::as_slice)) {
            (Some(text), _) => text.parse().ok(),
            (None, Some([rows, cols])) => Some(Self::Count([number(rows)?, number(cols)?])),
            (None, _) => number(value).map(|n| Self::Count([n, n])),
        }
    }
    fn to_json(&self) -> Json {
        self.to_string().into()
    }
}

impl FromStr for ExportTiles {
    type Err = Error;

    /// Parses `8` and `8x4` as numbers of tiles (columns × rows), and `1009px` as a tile's side in samples.
    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n > 0);
        let found = match (text.strip_suffix("px"), text.split_once(['x', 'X'])) {
            (Some(side), _) => number(side).map(Self::Side),
            (None, Some((cols, rows))) => number(cols).zip(number(rows)).map(|(cols, rows)| Self::Count([rows, cols])),
            (None, None) => number(text).map(|n| Self::Count([n, n])),
        };
        let allowed = "N, COLSxROWS (numbers of tiles), or a tile's side in samples such as 1009px";
        found.ok_or_else(|| Error::invalid_value("tiles", text, allowed))
    }
}

/// The samples of an export: a grid over the whole terrain, whose corner samples are those of the terrain, divided into
/// tiles of one size.
///
/// It differs from [`TileGrid`](thalweg_core::terrain::TileGrid): all tiles have the size that the target program
/// prescribes, may share their border samples with their neighbours, and cover a grid of resampled corner samples.
///
/// # Examples
/// Four tiles of a terrain of 1000 × 1000 samples for Unity, whose tiles share the samples of their edges.
///
/// ```
/// use thalweg_core::Cell;
/// use thalweg_export::export::{ExportLayout, ExportTarget, ExportTiles};
///
/// let unity = ExportTarget::find("unity")?;
/// let layout = ExportLayout::choose(unity, [1000, 1000], ExportTiles::Count([2, 2]), None, None)?;
/// assert_eq!((layout.side, layout.total_size()), ([513, 513], [1025, 1025]));
/// assert_eq!(layout.tile_window([0, 1]).start, Cell::new(0, 512));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportLayout {
    /// The rows and columns of tiles; `[1, 1]` for a single file.
    pub tiles: Size,
    /// The rows and columns of samples of each tile.
    pub side: Size,
    /// True if neighbouring tiles both contain the samples of their common edge.
    pub shared: bool,
}

/// The greatest number of tiles.
const MAX_TILES: usize = 65_536;

/// The greatest number of regions along a side: Terrain3D has this number from the middle of its map on.
const MAX_REGIONS_PER_SIDE: usize = 16;

/// The allowed relative difference between the spacing of rows and that of columns if a program takes one number for
/// both.
// A difference of 0.5 % shifts the far edge of a map of 1000 cells by 5 cells.
const SPACING: f64 = 0.005;

impl ExportLayout {
    /// Chooses the layout nearest to a terrain of `source` samples that `target` accepts. `size` is the requested size
    /// of a single file; `shared` is true if neighbouring tiles share the samples of their edge. `None` leaves the
    /// choice to the target.
    ///
    /// # Errors
    /// Returns an error if the terrain has fewer than 2 × 2 samples; if the target does not accept the size or a tile's
    /// side; if a size is combined with tiles; if there are too many tiles, or if they do not divide a map evenly; if
    /// the target does not support the kind of edge; or if the spacing differs between the axes and the target takes
    /// one number. The message names an accepted value.
    pub fn choose(
        target: &ExportTarget,
        source: Size,
        tiles: ExportTiles,
        size: Option<Size>,
        shared: Option<bool>,
    ) -> Result<Self> {
        if source.iter().any(|n| *n < 2) {
            return Err(Error::invalid_value("size", format_size(source), "2 × 2 samples or more"));
        }
        let shared = match (target.seams, shared) {
            (Seams::Shared, Some(false)) => {
                let problem = format!(
                    "is not supported by {}: its neighbouring tiles share their edges; use shared",
                    target.name
                );
                return Err(Error::unsupported("edges = adjacent", problem));
            }
            (Seams::Adjacent, Some(true)) => {
                let problem =
                    format!("is not supported by {}: its tiles have no samples in common; use adjacent", target.name);
                return Err(Error::unsupported("edges = shared", problem));
            }
            (seams, shared) => shared.unwrap_or(seams != Seams::Adjacent),
        };
        let layout = match tiles {
            ExportTiles::Whole => Self { tiles: [1, 1], side: choose_file_size(target, source, size)?, shared },
            _ if let Some(size) = size => {
                let problem = "cannot be combined with tiles; give tiles as the side of a tile instead, such as 513px";
                return Err(Error::conflict(format!("size = {}", format_size(size)), problem));
            }
            ExportTiles::Count(tiles) => {
                let most = if target.numbering == TileNumbering::Regions { MAX_REGIONS_PER_SIDE } else { MAX_TILES };
                if tiles.iter().any(|n| *n > most) || tiles[0] * tiles[1] > MAX_TILES {
                    let allowed = format!("up to {most} along a side and {MAX_TILES} in all");
                    return Err(Error::invalid_value("tiles", format!("{} × {}", tiles[1], tiles[0]), allowed));
                }
                Self { tiles, side: side_for_count(target, source, tiles, shared)?, shared }
            }
            ExportTiles::Side(side) => layout_for_side(target, source, side, shared)?,
        };
        layout.check_spacing(target, source)?;
        Ok(layout)
    }

    /// Returns the total numbers of rows and columns of samples.
    pub fn total_size(&self) -> Size {
        // Tiles that share an edge have its samples in common, so these count once.
        let once = usize::from(self.shared);
        [0, 1].map(|k| self.tiles[k] * (self.side[k] - once) + once)
    }

    /// Returns the samples of a tile. A tile is identified by its row and column among the tiles.
    pub fn tile_window(&self, tile: impl Into<Cell>) -> CellRect {
        let tile = tile.into();
        let once = usize::from(self.shared);
        CellRect::new([0, 1].map(|k| tile[k] * (self.side[k] - once)), self.side)
    }

    /// Returns the tiles by row and column among the tiles, row by row from the north-west.
    pub fn iter_tiles(&self) -> impl Iterator<Item = Cell> {
        CellRect::new([0, 0], self.tiles).cells()
    }

    /// Returns the metres between the export's rows and between its columns, for a terrain of `source` samples `cell`
    /// metres apart. For example, 1001 samples 10 m apart become 501 samples 20 m apart.
    pub fn spacing(&self, source: Size, cell: f64) -> [f64; 2] {
        let total = self.total_size();
        // The corner samples keep their positions, so the distance between them is divided by the number of intervals.
        [0, 1].map(|k| cell * (source[k] - 1) as f64 / (total[k] - 1).max(1) as f64)
    }

    fn check_spacing(&self, target: &ExportTarget, source: Size) -> Result<()> {
        let [down, across] = self.spacing(source, 1.0);
        if !target.one_spacing || (down / across - 1.0).abs() <= SPACING {
            return Ok(());
        }
        let [rows, cols] = self.total_size();
        let allowed = format!(
            "numbers of tiles that keep the cells square, as {} requires; {cols} × {rows} samples from a map of {} × \
             {} do not; `crop` the map to other proportions, or choose other tiles",
            target.name, source[1], source[0]
        );
        Err(Error::invalid_value("tiles", format!("{} × {}", self.tiles[1], self.tiles[0]), allowed))
    }
}

/// Returns the size of a single file in samples.
fn choose_file_size(target: &ExportTarget, source: Size, size: Option<Size>) -> Result<Size> {
    if let Some(size) = size {
        return check_size(target, source, size);
    }
    if target.square {
        return Ok([target.sides.choose_side(source[0].max(source[1])); 2]);
    }
    let near = source.map(|n| target.sides.choose_side(n));
    // The longer side is chosen first, and the shorter one follows from the same spacing, so that cells stay square.
    if target.one_spacing && near != source {
        let long = usize::from(source[1] >= source[0]);
        let mut size = near;
        let short = (source[1 - long] - 1) as f64 * (near[long] - 1) as f64 / (source[long] - 1) as f64;
        size[1 - long] = target.sides.choose_side(short.round() as usize + 1);
        return Ok(size);
    }
    Ok(near)
}

/// Checks a requested size and returns it.
fn check_size(target: &ExportTarget, source: Size, size: Size) -> Result<Size> {
    if !target.resamples && size != source {
        let own = format_size(source);
        let allowed = format!("{own}, the size of the map; {} does not resample, so `resample` it first", target.name);
        return Err(Error::invalid_value("size", format_size(size), allowed));
    }
    let off = size.iter().any(|n| !target.sides.allows(*n));
    if off || (target.square && size[0] != size[1]) {
        // The message names the nearest accepted size, so that the option can be corrected at once.
        let mut near = size.map(|n| if target.sides.allows(n) { n } else { target.sides.nearest_allowed(n) });
        if target.square {
            near = [near[0].max(near[1]); 2];
        }
        let shape = if target.square { "equal sides of " } else { "" };
        let (rule, near) = (target.sides.describe(), format_size(near));
        let allowed = format!("{shape}{rule}, for {}; the nearest is {near}", target.name);
        return Err(Error::invalid_value("size", format_size(size), allowed));
    }
    Ok(size)
}

/// Returns the side of a tile, given the number of tiles.
fn side_for_count(target: &ExportTarget, source: Size, tiles: Size, shared: bool) -> Result<Size> {
    if !target.resamples {
        if (0..2).any(|k| !source[k].is_multiple_of(tiles[k])) {
            let near = [0, 1].map(|k| nearest_divisor(source[k], tiles[k]));
            let allowed = format!(
                "a number that divides {}, for {}; the nearest is {}x{}",
                format_size(source),
                target.name,
                near[1],
                near[0]
            );
            return Err(Error::invalid_value("tiles", format!("{}x{}", tiles[1], tiles[0]), allowed));
        }
        return Ok([0, 1].map(|k| source[k] / tiles[k]));
    }
    // Tiles with shared edges divide the intervals between samples; adjacent tiles divide the samples.
    let side = [0, 1].map(|k| {
        let want = if shared {
            ((source[k] - 1) as f64 / tiles[k] as f64).round() as usize + 1
        } else {
            (source[k] as f64 / tiles[k] as f64).round() as usize
        };
        match target.seams {
            Seams::Either if !shared => nearest_adjacent_side(target, want.max(2), tiles[k]),
            _ => target.tile_sides.choose_side(want),
        }
    });
    // Regions must have as many rows as columns.
    let is_square = target.square || target.numbering == TileNumbering::Regions;
    Ok(if is_square { [side[0].max(side[1]); 2] } else { side })
}

/// Returns the side nearest to `want` for which `tiles` adjacent tiles make a total size that the target accepts.
fn nearest_adjacent_side(target: &ExportTarget, want: usize, tiles: usize) -> usize {
    let allowed = |side: &usize| *side >= 2 && target.sides.allows(side * tiles);
    // The search goes outwards from the wanted side. It ends 8192 samples further, more than the longest recommended
    // side of a landscape (8129).
    let near = (0..want + 8192).flat_map(|off| [want + off, want.saturating_sub(off)]).find(allowed);
    near.unwrap_or(want)
}

/// Returns the layout with tiles of this side.
fn layout_for_side(target: &ExportTarget, source: Size, side: usize, shared: bool) -> Result<ExportLayout> {
    let refuse = |allowed: String| Err(Error::invalid_value("tiles", format!("{side}px"), allowed));
    let pasted = target.seams == Seams::Either && !shared;
    if !(target.tile_sides.allows(side) || pasted && side >= 2) {
        let (rule, near) = (target.tile_sides.describe(), target.tile_sides.nearest_allowed(side));
        return refuse(format!("{rule}, for {}; the nearest is {near}px", target.name));
    }
    if !target.resamples && source.iter().any(|n| !n.is_multiple_of(side)) {
        let near = [0, 1].map(|k| nearest_divisor(source[k], side.min(source[k])));
        let near = if near[0] == near[1] { format!("; the nearest is {}px", near[0]) } else { String::new() };
        return refuse(format!(
            "a side that divides both numbers of {}, for {}{near}",
            format_size(source),
            target.name
        ));
    }
    let once = usize::from(shared);
    // The number of tiles is rounded, so the spacing changes by as little as possible.
    let step = (side - once).max(1);
    let tiles = source.map(|n| (((n - once) as f64 / step as f64).round() as usize).max(1));
    if let Some(n) = tiles.iter().find(|n| pasted && !target.sides.allows(*n * side)) {
        let sizes = target.sides.describe();
        return refuse(format!("a side for which {n} adjacent tiles add up to an accepted size: {sizes}"));
    }
    let most = if target.numbering == TileNumbering::Regions { MAX_REGIONS_PER_SIDE } else { MAX_TILES };
    if tiles.iter().any(|n| *n > most) || tiles[0] * tiles[1] > MAX_TILES {
        return refuse(format!("a larger side, for up to {most} tiles along a side and {MAX_TILES} in all"));
    }
    Ok(ExportLayout { tiles, side: [side; 2], shared })
}

/// Returns the divisor of `n` nearest to `want`.
fn nearest_divisor(n: usize, want: usize) -> usize {
    (1..=n).filter(|d| n.is_multiple_of(*d)).min_by_key(|d| d.abs_diff(want)).unwrap_or(1)
}

fn format_size([rows, cols]: Size) -> String {
    format!("{cols} × {rows} (columns × rows)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(target: &str, source: Size, tiles: &str) -> Result<ExportLayout> {
        let tiles = if tiles.is_empty() { ExportTiles::Whole } else { tiles.parse()? };
        ExportLayout::choose(ExportTarget::find(target)?, source, tiles, None, None)
    }

    #[test]
    fn the_nearest_size_is_chosen() {
        let side = |target: &str, source| choose(target, source, "").unwrap().side;
        assert_eq!(side("unreal", [1024, 512]), [1009, 505]);
        assert_eq!(side("unity", [1024, 512]), [1025, 1025]);
        assert_eq!(side("terrain3d", [700, 300]), [700, 300]);
        assert_eq!(side("terrain3d", [20_001, 10_001]), [16_384, 8192 + 1]);
        assert_eq!(side("gis", [77, 31]), [77, 31]);
    }

    #[test]
    fn tiles_share_their_edges_and_cover_the_whole() {
        let layout = choose("unreal", [4096, 4096], "8").unwrap();
        assert_eq!((layout.tiles, layout.side, layout.total_size()), ([8, 8], [505, 505], [4033, 4033]));
        let [a, b] = [[2, 3], [2, 4]].map(|tile| layout.tile_window(tile));
        assert_eq!(a.start[1] + a.size()[1] - 1, b.start[1]);
        let last = layout.tile_window([7, 7]);
        assert_eq!([0, 1].map(|k| last.start[k] + last.size()[k]), layout.total_size());
        assert_eq!(layout.iter_tiles().count(), 64);
        let regions = choose("terrain3d", [1024, 1024], "4").unwrap();
        assert_eq!(
            (regions.side, regions.total_size(), regions.tile_window([1, 2]).start),
            ([256, 256], [1024, 1024], Cell::new(256, 512))
        );
        let unity = choose("unity", [1024, 2048], "513px").unwrap();
        assert_eq!((unity.tiles, unity.total_size()), ([2, 4], [1025, 2049]));
        let spacing = unity.spacing([1024, 2048], 10.0);
        assert!((spacing[0] - 10230.0 / 1024.0).abs() < 1e-12 && (spacing[1] - 20470.0 / 2048.0).abs() < 1e-12);
    }

    #[test]
    fn tiles_that_are_pasted_make_a_landscape() {
        let unreal = ExportTarget::find("unreal").unwrap();
        let layout = ExportLayout::choose(unreal, [4096, 4096], ExportTiles::Count([8, 8]), None, Some(false)).unwrap();
        assert!(!layout.shared && unreal.sides.allows(layout.total_size()[0]), "{layout:?}");
        let unity = ExportTarget::find("unity").unwrap();
        assert!(ExportLayout::choose(unity, [99, 99], ExportTiles::Count([2, 2]), None, Some(false)).is_err());
        let gis = ExportTarget::find("gis").unwrap();
        assert!(ExportLayout::choose(gis, [90, 90], ExportTiles::Count([2, 2]), None, Some(true)).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_nearest_that_would() {
        let said = |target: &str, source, tiles: &str| choose(target, source, tiles).unwrap_err().to_string();
        assert!(said("unreal", [512, 512], "500px").contains("the nearest is 497px"));
        assert!(said("gis", [512, 512], "3").contains("the nearest is 2x2"));
        assert!(said("terrain3d", [600, 250], "4x4").contains("numbers of tiles that keep the cells square"));
        assert!(said("terrain3d", [9000, 9000], "20").contains("up to 16"));
        for text in ["0", "x", "3x", "-1", "px", "1.5", "4x4x4"] {
            assert!(text.parse::<ExportTiles>().is_err(), "{text}");
        }
        let size = |target: &str, size| {
            let target = ExportTarget::find(target).unwrap();
            ExportLayout::choose(target, [512, 512], ExportTiles::Whole, Some(size), None).map_err(|e| e.to_string())
        };
        assert!(size("unreal", [1000, 1009]).unwrap_err().contains("the nearest is 1009 × "));
        assert!(size("unity", [513, 1025]).unwrap_err().contains("the nearest is 1025 × 1025"));
        assert!(size("gis", [513, 513]).is_err() && size("unreal", [1009, 2017]).is_ok());
    }
}
