//! A rectangle of a world as files.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::world_files::TileRange;
use thalweg_core::terrain::d8::to_esri_code;
use thalweg_core::terrain::{Cells, DISCHARGE, DRAINAGE_AREA, FLOW_DIRECTION};
use thalweg_core::{Cell, CellRect, Error, Field, Grid, Point, Result, Terrain, operation};
use thalweg_flow::{OUT, VOID};
use thalweg_io::features::{Feature, Geometry, Property, save_features};
use thalweg_io::output::{check_names, make_folder};
use thalweg_io::trees::save_trees;
use thalweg_io::{
    Draft, FilePath, MapPixels, Samples, SaveOptions, save_map, save_samples, save_terrain, save_world_file,
};
use thalweg_models::process::forest::Forest;
use thalweg_refine::{Frame, Ledger, LocalWindow, OPERATORS, Operator};
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions};
use thalweg_sim::recipe::{Recipe, RecipeOptions};
use thalweg_sim::world::{TILE, TILES, World};

/// The files of a tile, the report last.
const FILES: [&str; 7] = [
    "height.tif",
    "flow_direction.tif",
    "drainage_area.tif",
    "rivers.geojson",
    "shaded.png",
    "shaded.pgw",
    "report.json",
];

/// The files of lakes, where there are any: their numbers and their depths; and of depressions where the land yields no
/// water.
const LAKES: [&str; 3] = ["lake.tif", "pool.tif", "hollow.tif"];

/// The files of trees, where there are any.
const TREE_FILES: [&str; 2] = ["trees.csv", "trees.geojson"];

/// The least drainage area of the rivers that are written, in cells: a tile of 512 cells then has about a hundred of
/// them.
const RIVER_CELLS: f64 = 400.0;

operation! {
    /// Computes one tile of a world of any size, with heights, flow directions, rivers and a shaded map; or a folder of
    /// tiles.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Point;
    /// use thalweg_export::world_files::{TileOptions, tile_rect};
    /// use thalweg_sim::recipe::Recipe;
    ///
    /// let text = "extent = [320.0, 320.0]\ncells = 32\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
    /// let options = TileOptions { at: Some(Point::new(100.0, 100.0)), side: 16, ..TileOptions::default() };
    /// let (world, _) = options.open_world(Recipe::parse(text)?)?;
    /// assert_eq!(tile_rect(&world, options.level, options.at.unwrap())?.size(), [16, 16]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct TileOptions, "tile", with(recipe: RecipeOptions) {
        /// Level of the tile; without `at`, the finest level of the tiles, and those of all coarser levels are written
        /// too. Level 0 has the recipe's widest cells, and each further level has cells of half the width.
        level: u32 = 0, within 0..=u32::MAX, unit "1", placeholder "L";
        /// A point in the tile, in metres east and south of the world's origin; only this tile is computed.
        at: Option<Point> = None, within .., unit "1";
        /// Side of the tile in cells; the tiles of a side form a grid that begins at the world's origin.
        side: usize = TILE, within TILES[0]..=TILES[1], unit "1", needs at;
        /// Writes only the tiles in this rectangle of the world: its western, northern, eastern and southern sides in
        /// metres east and south of the world's origin. By default, the tiles of the whole world are written.
        within: Option<[f64; 4]> = None, within &["west", "north", "east", "south"], unit "m", placeholder "W,N,E,S",
            only Folder, excludes at;
    }
}

operation! {
    /// Opens a world of any size, whose tiles are computed on request.
    ///
    /// # Examples
    /// ```
    /// use thalweg_export::world_files::WorldOptions;
    /// use thalweg_sim::recipe::Recipe;
    ///
    /// let text = "extent = [320.0, 320.0]\ncells = 32\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
    /// let options = WorldOptions { tile: 64, ..WorldOptions::default() };
    /// let (world, recipe) = options.open_world(Recipe::parse(text)?)?;
    /// assert_eq!((world.frame().cell_width(0), recipe.cells), (10.0, 32));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct WorldOptions, "world", with(recipe: RecipeOptions) {
        /// Side of a tile in cells.
        tile: usize = TILE, within TILES[0]..=TILES[1], unit "1";
    }
}

impl WorldOptions {
    /// Opens the world of a recipe that these options change; returns it with its recipe.
    ///
    /// # Errors
    /// Returns the errors of [`RecipeOptions::apply_to`], [`World::open`] and [`World::with_tiles`].
    pub fn open_world(&self, mut recipe: Recipe) -> Result<(World, Recipe)> {
        self.recipe.apply_to(&mut recipe)?;
        Ok((World::open(&recipe)?.with_tiles(self.tile)?, recipe))
    }
}

impl TileOptions {
    /// Opens the world of a recipe that these options change; returns it with its recipe.
    ///
    /// # Errors
    /// Returns the errors of [`RecipeOptions::apply_to`], [`World::open`] and [`World::with_tiles`].
    pub fn open_world(&self, recipe: Recipe) -> Result<(World, Recipe)> {
        WorldOptions { recipe: self.recipe.clone(), tile: self.side }.open_world(recipe)
    }

    /// Returns the range of tiles for a folder of tiles.
    pub fn tile_range(&self) -> TileRange {
        TileRange { level: self.level, within: self.within }
    }
}

/// Returns the cells of the tile of a level that contains a position.
///
/// # Errors
/// Returns an error for a level or a position that the world does not have.
pub fn tile_rect(world: &World, level: u32, place: Point) -> Result<CellRect<i64>> {
    Ok(world.tile_rect(level, world.containing_tile(world.cell_at(level, place.x, place.y)?)))
}

/// Checks that a tile's files may be written to a folder, which is created: no file of something else has one of their
/// names.
///
/// # Errors
/// Returns an error if the folder cannot be created or written, if a file with such a name belongs to something else,
/// or if a folder or a device has the name.
pub fn check_folder(folder: &Path) -> Result<()> {
    let report = folder.join(FILES[6]);
    // Reports of worlds have the same name, and only that of a tile has a first cell.
    let is_tile = |text: String| {
        serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.get("first_cell").is_some())
    };
    if report.exists() && !std::fs::read_to_string(&report).is_ok_and(is_tile) {
        return Err(Error::invalid_file(
            folder,
            format!("contains a {} that does not describe a tile; choose another folder", FILES[6]),
        ));
    }
    make_folder(folder)?;
    check_names(
        folder,
        FILES[6],
        &FILES.iter().chain(&LAKES).chain(&TREE_FILES).map(|name| name.to_string()).collect::<Vec<_>>(),
    )
}

/// Converts a window to a terrain, at its position in the world, with the discharge ([`DISCHARGE`]) for a runoff of
/// `runoff` metres per year.
///
/// # Errors
/// Returns an error if the window has no cells, or more or narrower ones than [`Grid::new`] accepts, or if its ground
/// does not have its size.
pub fn terrain_of_window(frame: &Frame, window: &LocalWindow, runoff: f64) -> Result<Terrain> {
    let size = window.size();
    let mut grid = Grid::new(size, frame.cell_width(window.level))?;
    (grid.origin, grid.edges, grid.sea_level) = (window.rect.start, frame.edges, frame.sea);
    let mut terrain = Terrain::from_ground(grid, window.ground.clone())?;
    terrain.insert_layer(&DISCHARGE, Cells::Float(window.discharge(frame, runoff)))?;
    Ok(terrain)
}

/// Writes a rectangle of a level for `folder`, which must exist: `height.tif` (metres in f64: exact),
/// `flow_direction.tif` (ESRI codes, 0 where water leaves), `drainage_area.tif` (m²), `rivers.geojson`, `shaded.png`
/// and `shaded.pgw`, `report.json`; `trees.csv` and `trees.geojson` where trees grow, `lake.tif` and `pool.tif` where
/// there are lakes, `hollow.tif` where the depressions are dry. Coordinates are the world's metres, eastward and, as in
/// all maps, northward, from the world's own origin. The files get their names by [`Draft::commit`]; until then the
/// caller may add to the report.
///
/// # Errors
/// Returns the errors of [`World::window`]; an error if a file cannot be written.
///
/// # Examples
/// ```
/// use thalweg_core::Point;
/// use thalweg_export::world_files::{draft_tile, tile_rect};
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::world::World;
///
/// let text = "extent = [320.0, 320.0]\ncells = 32\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
/// let recipe = Recipe::parse(text)?;
/// let world = World::open(&recipe)?;
/// let rect = tile_rect(&world, 0, Point::new(100.0, 100.0))?;
/// assert_eq!(rect.size(), [32, 32]);
/// let folder = tempfile::tempdir().unwrap();
/// draft_tile(&world, &recipe, 0, rect, folder.path())?.commit(&[])?;
/// assert!(["height.tif", "shaded.png", "report.json"].iter().all(|name| folder.path().join(name).is_file()));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draft_tile(world: &World, recipe: &Recipe, level: u32, rect: CellRect<i64>, folder: &Path) -> Result<Draft> {
    let frame = world.frame();
    let window = world.window(level, rect)?;
    let least = RIVER_CELLS * frame.cell_width(level).powi(2);
    let rivers = world.rivers(level, rect, least)?;
    let mut land = terrain_of_window(frame, &window, world.runoff())?;
    let growth = world.grow_plants(level, rect)?;
    let ledger = world.ledger(level, rect)?;
    Draft::new(|draft| {
        let at = draft.temporary_folder(folder)?;
        let [height, direction, area, lines, map, ..] = FILES.map(|name| at.join(name));
        // A 64-bit float represents every fixed-point height exactly.
        let exact = SaveOptions { sample: Some(thalweg_io::SampleType::F64), ..SaveOptions::default() };
        let said = save_terrain(&height, &land, &exact)?;
        save_flow_direction(&direction, &land.grid, &window.receivers)?;
        save_drainage_area(&area, &land.grid, &window.area)?;
        let features: Vec<Feature> = rivers.iter().map(|river| river_feature(river, &land.grid)).collect();
        save_features(&lines, &features, &land.grid)?;
        let look = LookOptions { ramp: Some(recipe.ramp), ..LookOptions::default() };
        save_map(&map, &land, &ShadeOptions { look, max_size: Some(SCREEN), ..ShadeOptions::default() })?;
        let place = save_world_file(&map, &land.grid, MapPixels::for_shaded_map(land.grid.size, Some(SCREEN)))?;
        let files = [height, direction, area, lines, map].map(PathBuf::from).into_iter().chain([place]).collect();
        draft.add_saved(thalweg_io::Saved { files, said });
        for (name, samples) in encode_lakes(&window, world.runoff() > 0.0) {
            let path = at.join(name);
            let unit = if matches!(samples, Samples::U32(_)) { "1" } else { "m" };
            save_samples(&path, &land.grid, [name.trim_end_matches(".tif"), unit], samples, None)?;
            draft.add_saved(thalweg_io::Saved { files: vec![path.into()], said: Vec::new() });
        }
        if let Some((name, table)) = growth {
            land.tables.insert(name.to_string(), table);
            let forest = Forest::read(&land)?;
            for path in TREE_FILES.map(|name| at.join(name)) {
                let said = save_trees(&path, forest.trees(), &land)?;
                draft.add_saved(thalweg_io::Saved { files: vec![path.into()], said });
            }
        }
        draft.report = build_report(world, recipe, &window, rivers.len());
        draft.report["mass_balance"] = ledger.as_ref().map_or(serde_json::Value::Null, mass_balance_to_json);
        draft.add_report_path(folder.join(FILES[6]), true);
        Ok(())
    })
}

/// Writes the flow directions of a window as ESRI codes.
pub(super) fn save_flow_direction(path: impl Into<FilePath>, grid: &Grid, receivers: &Field<u8>) -> Result<()> {
    let codes = Samples::U8(receivers.map(|code| to_esri_code(*code)).into_vec());
    save_samples(path, grid, [FLOW_DIRECTION.name, "1"], codes, Some(VOID.into()))
}

/// Writes the drainage areas of a window in m².
pub(super) fn save_drainage_area(path: impl Into<FilePath>, grid: &Grid, area: &Field<f32>) -> Result<()> {
    save_samples(path, grid, [DRAINAGE_AREA.name, "m2"], Samples::F32(area.as_slice().to_vec()), None)
}

/// Returns the files of a window's lakes: their numbers, and their depths in metres, exact; for dry depressions the
/// depths alone.
fn encode_lakes(window: &LocalWindow, is_wet: bool) -> Vec<(&'static str, Samples)> {
    let Some(lakes) = &window.lakes else { return Vec::new() };
    let cols = window.size()[1];
    let depth = |k: usize| {
        let at = (k / cols, k % cols);
        window.surface(at).metres() - window.ground[at].metres()
    };
    let depths = Samples::F64((0..window.ground.len()).map(depth).collect());
    match is_wet {
        // Without runoff the depressions are dry, so they have a depth but no lake.
        true => vec![(LAKES[0], Samples::U32(lakes.id.as_slice().to_vec())), (LAKES[1], depths)],
        false => vec![(LAKES[2], depths)],
    }
}

/// Converts a river to a line with a profile.
fn river_feature(river: &thalweg_sim::world::RiverLine, grid: &Grid) -> Feature {
    // Converts world positions to cells from the window's north-western corner.
    let cell = |point: Point| {
        Cell::new(point.y / grid.cell - grid.origin[0] as f64, point.x / grid.cell - grid.origin[1] as f64)
    };
    let line = river.vertices.iter().map(|vertex| (cell(vertex.place), vertex.height)).collect();
    let last = |of: fn(&thalweg_sim::world::RiverVertex) -> f64| river.vertices.last().map_or(0.0, of);
    let properties = vec![
        ("id", Property::Word(river.id.to_string())),
        ("downstream", Property::Word(river.downstream.map_or(String::new(), |id| id.to_string()))),
        ("drainage_area_m2", Property::Real(last(|vertex| vertex.area))),
        ("discharge_m3_s", Property::Real(last(|vertex| vertex.discharge))),
        ("drainage_areas_m2", Property::Reals(river.vertices.iter().map(|vertex| vertex.area).collect())),
    ];
    Feature { shape: Geometry::Profile(line), properties }
}

/// Formats a mass balance for the report, in units of 1/65 536 m over a cell, as integers; for each operator the
/// amounts that it gave and took.
fn mass_balance_to_json(ledger: &Ledger) -> serde_json::Value {
    // JSON readers expect integers of 64 bits; a greater sum is written as null.
    let units = |sum: i128| i64::try_from(sum).map_or(serde_json::Value::Null, Into::into);
    let by = |operator: Operator| {
        let [given, taken] = [&ledger.given, &ledger.taken].map(|side| units(side[operator as usize]));
        (operator.name(), json!([given, taken]))
    };
    json!({
        "before": units(ledger.before),
        "added": units(ledger.added()),
        "eroded": units(ledger.eroded()),
        "deposited": units(ledger.deposited()),
        "carried_out": units(ledger.exported()),
        "after": units(ledger.after()),
        "operators": OPERATORS.into_iter().map(by).collect::<serde_json::Map<_, _>>(),
    })
}

/// Returns the report about a window.
fn build_report(world: &World, recipe: &Recipe, window: &LocalWindow, rivers: usize) -> serde_json::Value {
    let CellRect { start, end } = window.rect;
    let width = world.frame().cell_width(window.level);
    let metres = |cell: i64| cell as f64 * width;
    let heights = window.ground.as_slice();
    let [low, high] = [heights.iter().min(), heights.iter().max()].map(|height| height.map_or(0.0, |h| h.metres()));
    let drains = window.receivers.as_slice().iter().filter(|code| **code < OUT).count();
    json!({
        "recipe": recipe.name,
        "recipe_hash": recipe.hash(),
        "seed": recipe.seed,
        "level": window.level,
        "cell_m": width,
        "rows": window.size()[0],
        "columns": window.size()[1],
        "first_cell": [start.row, start.col],
        "west_m": metres(start[1]),
        "east_m": metres(end[1]),
        // World metres count to the south, and map coordinates to the north.
        "north_m": -metres(start[0]),
        "south_m": -metres(end[0]),
        "lowest_m": low,
        "highest_m": high,
        "sea_level_m": world.frame().sea.map(|sea| sea.metres()),
        "cells_that_drain": drains,
        "rivers": rivers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use thalweg_core::declare::operation::{Operation as _, OptionSpec, WorkForm};

    #[test]
    fn a_tile_is_found_by_its_options() {
        let text = "extent = [640.0, 640.0]\ncells = 64\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
        let mut options = TileOptions::default();
        let values = json!({"at": [400, 100], "side": 16, "level": 1, "seed": 3});
        options.set_all(values.as_object().unwrap()).unwrap();
        let (world, recipe) = options.open_world(Recipe::parse(text).unwrap()).unwrap();
        assert_eq!(recipe.seed, 3);
        let expected = tile_rect(&world, 1, Point::new(400.0, 100.0)).unwrap();
        // Cells of level 1 are 5 m wide, and tiles begin at every 16th of them.
        assert_eq!(expected, CellRect::new(Cell::new(16, 80), [16, 16]));
        let error = options.set("side", &json!(8)).unwrap_err().to_string();
        assert_eq!(error, "side = 8: must be a whole number from 16 to 4096");
        // The knob has another name than the side of a tile.
        options.set("size", &json!(2)).unwrap();
        assert_eq!((options.recipe.knobs.size, options.side), (2.0, 16));
    }

    #[test]
    fn options_of_one_tile_and_of_a_folder_exclude_each_other() {
        let named = |option: &OptionSpec| format!("--{}", option.command_flag());
        let refused =
            |options: &TileOptions| options.check_form(WorkForm::Folder, named).err().map(|error| error.to_string());
        let folder = TileOptions { level: 2, within: Some([0.0, 0.0, 9.0, 9.0]), ..TileOptions::default() };
        assert_eq!(refused(&folder), None);
        assert_eq!(folder.tile_range(), TileRange { level: 2, within: folder.within });
        let both = TileOptions { at: Some(Point::new(1.0, 1.0)), ..folder };
        assert_eq!(refused(&both).as_deref(), Some("--within does not apply together with --at"));
        let side = TileOptions { side: 64, ..TileOptions::default() };
        assert_eq!(refused(&side).as_deref(), Some("--side only applies together with --at"));
        assert_eq!(refused(&TileOptions { at: both.at, ..side }), None);
    }
}
