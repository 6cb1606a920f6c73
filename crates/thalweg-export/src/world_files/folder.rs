//! [`TileFolder`]: a world's tiles as a folder of files, written tile by tile.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world_files::tile::{save_drainage_area, save_flow_direction, terrain_of_window};
use thalweg_core::base::names::format_path;
use thalweg_core::terrain::{DRAINAGE_AREA, FLOW_DIRECTION};
use thalweg_core::{Cell, CellRect, Error, Result};
use thalweg_io::atomic::write_text;
use thalweg_io::plain::read_text;
use thalweg_io::{SampleType, SaveOptions, output, save_terrain};
use thalweg_refine::LocalWindow;
use thalweg_sim::recipe::{RECIPE_FILE, Recipe, SCHEMA_FILE};
use thalweg_sim::world::World;

/// The file that describes to which world a folder's tiles belong.
pub const MANIFEST: &str = "manifest.json";

/// The greatest number of tiles of a folder.
const MAX_TILES: u64 = 1 << 24;

/// The tiles that a folder contains.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TileRange {
    /// The finest level; all coarser levels are written too.
    pub level: u32,
    /// West, north, east, south in world metres eastward and southward; `None` for the whole world. For example,
    /// `[0.0, 0.0, 5000.0, 5000.0]` is a square of 5 km south-east of the origin.
    pub within: Option<[f64; 4]>,
}

/// A world's tiles as files: `{level}/{column}/{row}.tif` stores the heights in metres (f64: exact),
/// `{row}.flow_direction.tif` and `{row}.drainage_area.tif` next to it the flow directions (ESRI codes, 0 where water
/// leaves) and the drainage areas (m²). [`MANIFEST`] and `recipe.toml` describe to which world they belong.
///
/// # Examples
/// ```
/// use thalweg_export::world_files::{TileFolder, TileRange};
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::world::World;
///
/// let text = "extent = [320.0, 320.0]\ncells = 32\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
/// let recipe = Recipe::parse(text)?;
/// let world = World::open(&recipe)?;
/// let folder = tempfile::tempdir().unwrap();
/// let tiles = TileFolder::open(folder.path(), &world, &recipe, &TileRange::default())?;
/// assert_eq!(tiles.tile_count(), 1);
/// for (level, tile) in tiles.tiles() {
///     tiles.write_tiles(level, &[tile])?;
///     assert!(tiles.has_tile(level, tile));
/// }
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub struct TileFolder {
    folder: PathBuf,
    world: World,
    rects: Vec<CellRect<i64>>,
}

impl TileFolder {
    /// Opens a folder for the tiles of a world, new or begun earlier; a new one gets [`MANIFEST`] and the recipe.
    ///
    /// # Errors
    /// Returns the errors of [`TileFolder::check`]; an error if the folder cannot be written.
    pub fn open(folder: &Path, world: &World, recipe: &Recipe, range: &TileRange) -> Result<Self> {
        Self::check(folder, world, recipe, range)?;
        // The manifest is written after the recipe, so a folder with a manifest always has its recipe.
        let path = folder.join(MANIFEST);
        if !path.exists() {
            output::make_folder(folder)?;
            recipe.with_absolute_paths()?.write(folder)?;
            write_text(&path, &format!("{:#}\n", describe_tiles(world, recipe)))?;
        }
        Ok(Self { folder: folder.to_path_buf(), world: world.clone(), rects: find_tile_rects(world, range)? })
    }

    /// Checks that a folder, which need not exist, may contain the tiles of a world. Nothing is written.
    ///
    /// # Errors
    /// Returns an error for a level or a position that the world does not have; for a rectangle whose west is not
    /// before its east, or whose north is not before its south; for more than 2²⁴ tiles; for a folder whose manifest
    /// describes something else or cannot be read; and for one without a manifest whose `recipe.toml` is another one.
    pub fn check(folder: &Path, world: &World, recipe: &Recipe, range: &TileRange) -> Result<()> {
        find_tile_rects(world, range)?;
        let path = folder.join(MANIFEST);
        if !path.exists() {
            return check_new(folder, recipe);
        }
        let manifest = describe_tiles(world, recipe);
        let text = read_text(&path, 1 << 20)?;
        let found: Value =
            serde_json::from_str(&text).map_err(|error| Error::invalid_file(&path, error.to_string()))?;
        if !found["recipe_hash"].is_string() {
            let problem = format!("contains a {MANIFEST} that does not describe tiles; choose another folder");
            return Err(Error::invalid_file(folder, problem));
        }
        // The description contains the version, so tiles of another version are not mixed with new ones.
        if found != manifest {
            let of = |value: &Value| {
                let text = |key: &str| value[key].as_str().unwrap_or_default();
                format!("recipe {} (hash {}, thalweg {})", text("recipe"), text("recipe_hash"), text("thalweg"))
            };
            let problem = format!("contains tiles of {}, not of {}; choose another folder", of(&found), of(&manifest));
            return Err(Error::invalid_file(folder, problem));
        }
        Ok(())
    }

    /// Iterates over the tiles, written or not, each with its level and its row and column among the level's tiles.
    /// They are ordered from coarse to fine, and neighbours on a level come soon after one another.
    pub fn tiles(&self) -> impl Iterator<Item = (u32, Cell<i64>)> + '_ {
        (0..).zip(&self.rects).flat_map(|(level, rect)| along_z(*rect).map(move |tile| (level, tile)))
    }

    /// Returns the number of tiles.
    pub fn tile_count(&self) -> u64 {
        self.rects.iter().map(|rect| rect.size().iter().map(|n| *n as u64).product::<u64>()).sum()
    }

    /// Returns true if a tile is written: its heights are written last.
    pub fn has_tile(&self, level: u32, tile: Cell<i64>) -> bool {
        self.layer_path(level, tile, "").exists()
    }

    /// Makes tiles of one level in parallel and writes them, each file completely or not at all.
    ///
    /// # Errors
    /// Returns the errors of [`World::tiles`]; an error if a file cannot be written.
    pub fn write_tiles(&self, level: u32, tiles: &[Cell<i64>]) -> Result<()> {
        let windows = self.world.tiles(level, tiles)?;
        tiles.iter().zip(windows).try_for_each(|(tile, window)| self.save_tile(level, *tile, &window))
    }

    fn layer_path(&self, level: u32, Cell { row, col }: Cell<i64>, layer: &str) -> PathBuf {
        self.folder.join(level.to_string()).join(col.to_string()).join(format!("{row}{layer}.tif"))
    }

    fn save_tile(&self, level: u32, tile: Cell<i64>, window: &LocalWindow) -> Result<()> {
        let path = |layer: &str| self.layer_path(level, tile, &format!(".{layer}"));
        let height = self.layer_path(level, tile, "");
        let folder = height.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder).map_err(Error::io(folder, "create the folder"))?;
        let land = terrain_of_window(self.world.frame(), window, 0.0)?;
        // The heights are written after the other layers, because a tile counts as complete when its heights exist.
        save_flow_direction(path(FLOW_DIRECTION.name), &land.grid, &window.receivers)?;
        save_drainage_area(path(DRAINAGE_AREA.name), &land.grid, &window.area)?;
        save_terrain(height, &land, &SaveOptions { sample: Some(SampleType::F64), ..SaveOptions::default() }).map(drop)
    }
}

/// Checks that a folder without a manifest may get one: its files must not overwrite those of something else.
fn check_new(folder: &Path, recipe: &Recipe) -> Result<()> {
    output::check_names(folder, MANIFEST, &[RECIPE_FILE, SCHEMA_FILE, MANIFEST].map(String::from))?;
    let path = folder.join(RECIPE_FILE);
    let own = recipe.with_absolute_paths()?.to_file();
    // A run that was stopped before it wrote its manifest has left its recipe.
    if path.exists() && read_text(&path, own.len() as u64).ok().as_ref() != Some(&own) {
        let problem = format!("contains the {RECIPE_FILE} of another world; choose another folder");
        return Err(Error::invalid_file(folder, problem));
    }
    Ok(())
}

/// Returns the description of a world's tiles, which differs between any two worlds.
fn describe_tiles(world: &World, recipe: &Recipe) -> Value {
    json!({
        "recipe": recipe.name,
        "recipe_hash": recipe.hash(),
        "world": format!("{:016x}", world.identity()),
        "seed": recipe.seed,
        "tile": world.tile_side(),
        "cell_m": world.frame().cell,
        "sea_level_m": world.frame().sea.map(|sea| sea.metres()),
        "files": "{level}/{column}/{row}.tif: heights in metres; {row}.flow_direction.tif: ESRI codes; \
                  {row}.drainage_area.tif: drainage areas in m²",
        "thalweg": env!("CARGO_PKG_VERSION"),
    })
}

/// Returns the rectangle of tiles on each level.
fn find_tile_rects(world: &World, range: &TileRange) -> Result<Vec<CellRect<i64>>> {
    let frame = world.frame();
    frame.check(range.level)?;
    let mut count = 0u64;
    let mut rects = Vec::new();
    for level in 0..=range.level {
        let all = frame.world_rect(level);
        let cells = match range.within {
            None => all,
            Some([west, north, east, south]) => {
                if !(west < east && north < south) {
                    let value = format!("{west}, {north}, {east}, {south}");
                    return Err(Error::invalid_value(
                        "within",
                        value,
                        "west, north, east, south in metres, with west less than east and north less than south",
                    ));
                }
                // The cell that contains the south-eastern corner is the last one, so the end is one beyond it.
                let end = world.cell_at(level, east, south)?;
                CellRect::from_corners(world.cell_at(level, west, north)?, end.map(|x| x + 1))
            }
        };
        let last = world.containing_tile(cells.end.map(|x| x - 1));
        let rect = CellRect::from_corners(world.containing_tile(cells.start), last.map(|x| x + 1));
        let [rows, cols] = rect.size().map(|n| n as u64);
        // An overflow counts as more tiles than are allowed.
        count = rows.checked_mul(cols).and_then(|here| count.checked_add(here)).unwrap_or(u64::MAX);
        if count > MAX_TILES {
            let allowed = format!("at most {MAX_TILES}; choose a coarser level or a smaller part of the world");
            return Err(Error::invalid_value("tiles", format!("{count} down to level {level}"), allowed));
        }
        rects.push(rect);
    }
    Ok(rects)
}

/// Iterates over the tiles of a rectangle along a Z-order curve, so that the coarser levels that a tile needs are still
/// in the cache for the next one. The bits of the curve's index alternate between column (even bits) and row (odd
/// bits).
fn along_z(rect: CellRect<i64>) -> impl Iterator<Item = Cell<i64>> {
    // There are at most 2²⁴ tiles, so a side is at most 2²⁴, and its square fits into 64 bits.
    let side = rect.size().into_iter().max().unwrap_or(0).next_power_of_two() as u64;
    let odd = |n: u64| (0..32).fold(0i64, |sum, bit| sum | (((n >> (2 * bit)) & 1) << bit) as i64);
    (0..side * side)
        .map(move |n| Cell::new(rect.start.row + odd(n >> 1), rect.start.col + odd(n)))
        .filter(move |tile| (0..2).all(|axis| tile[axis] < rect.end[axis]))
}

/// Reads the recipe in a folder of tiles or of a world.
///
/// # Errors
/// Returns an error if there is none or it cannot be read.
pub fn read_folder_recipe(folder: &Path) -> Result<Recipe> {
    let path = folder.join("recipe.toml");
    if !path.exists() {
        return Err(Error::invalid_file(
            folder,
            format!(
                "contains no {}; give the folder of a world or of its tiles",
                format_path(Path::new("recipe.toml"))
            ),
        ));
    }
    Recipe::read(&path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_of_something_else_is_refused_and_stays_as_it_is() {
        let recipe = |seed: u64| {
            let head = format!("name = \"flat\"\nextent = [320.0, 320.0]\ncells = 32\nseed = {seed}\nedges = \"open\"");
            Recipe::parse(&format!("{head}\n[[stage]]\nmodel = \"gradient_noise\"\n")).unwrap()
        };
        let (one, other) = (recipe(1), recipe(2));
        let world = World::open(&one).unwrap();
        let open = |folder: &Path| TileFolder::open(folder, &world, &one, &TileRange::default());
        let place = tempfile::tempdir().unwrap();
        let text = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
        let refused = |words: &str| {
            let before = text(RECIPE_FILE);
            let said = open(place.path()).err().unwrap().to_string();
            assert!(said.contains(words) && said.contains("another folder"), "{said}");
            assert!(text(RECIPE_FILE) == before && !place.path().join(MANIFEST).exists());
        };
        // A folder with a recipe, then with a whole world, even of the same recipe.
        fs::write(place.path().join("notes.txt"), "mine").unwrap();
        other.write(place.path()).unwrap();
        refused("recipe.toml");
        one.with_absolute_paths().unwrap().write(place.path()).unwrap();
        let report = json!({"thalweg": "0", "files": ["height.tif", RECIPE_FILE, "report.json"]});
        fs::write(place.path().join("report.json"), report.to_string()).unwrap();
        refused("report.json");
        // The files of a stopped run are continued, both before and after its manifest was written.
        fs::remove_file(place.path().join("report.json")).unwrap();
        assert_eq!(open(place.path()).unwrap().tile_count(), 1);
        assert_eq!(open(place.path()).unwrap().tile_count(), 1);
        assert_eq!(text("notes.txt"), "mine");
        // The manifest of an export has the same name.
        let export = tempfile::tempdir().unwrap();
        fs::write(export.path().join(MANIFEST), r#"{"plan": "0", "target": "unreal", "files": []}"#).unwrap();
        let said = open(export.path()).err().unwrap().to_string();
        assert!(said.contains("does not describe tiles; choose another folder"), "{said}");
        // The check does not create the folder.
        let new = place.path().join("new");
        TileFolder::check(&new, &world, &one, &TileRange::default()).unwrap();
        assert!(!new.exists());
    }
}
