//! [`RiversOptions`]: the declared options of the operation `rivers`, and the network that they give.
//! [`draft_network`](thalweg_io::river_folder::draft_network) writes it into a folder.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::declare::option_types::{NamedFile, Setting};
use thalweg_core::declare::params::Parameters as _;
use thalweg_core::terrain::{BoundaryOptions, Column, Table};
use thalweg_core::{Cell, Error, Grid, Height, MapPoint, Result, Terrain, operation};
use thalweg_io::load_layer;
use thalweg_io::map_coordinates::locate_cells;
use thalweg_models::model::Model as _;
use thalweg_models::models::river_network::RiverNetwork;
use thalweg_noise::input_tables::springs::SPRINGS;
use thalweg_rivers::waypoints::{MOUTHS, PASSES};
use thalweg_rivers::{Carved, Network};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

/// The least number of cells of the default drainage area of a river.
const MIN_RIVER_CELLS: f64 = 200.0;

/// The default drainage area of a river in a small terrain is the area of the terrain divided by this number.
const MAP_AREA_DIVISOR: f64 = 250.0;

operation! {
    /// Adds rivers and lakes to a terrain, and carves them into it.
    ///
    /// Every river reaches the sea, a lake or the edge, and none flows uphill; see the model `river_network`.
    ///
    /// # Examples
    /// By default, a river needs a drainage area of 1 km²; in a small terrain, 1/250 of its area, but at least 200
    /// cells.
    ///
    /// ```
    /// use thalweg_core::Grid;
    /// use thalweg_export::rivers::RiversOptions;
    ///
    /// let options = RiversOptions::default();
    /// assert_eq!(options.river_catchment(&Grid::new([2000, 2000], 30.0)?), 1e6);
    /// assert_eq!(options.river_catchment(&Grid::new([300, 300], 30.0)?), 324_000.0);
    /// assert_eq!(options.river_catchment(&Grid::new([20, 20], 30.0)?), 180_000.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct RiversOptions, "rivers", with(boundary: BoundaryOptions) {
        /// Smallest drainage area of a river. By default, it is 1 km²; for small terrains, 1/250 of their area, but at
        /// least 200 cells.
        catchment: Option<f64> = None, within 0.0..=1e15, unit "m²";
        /// Sets parameters of the model `river_network`, by name; the page of the model lists them.
        set: Vec<Setting> = Vec::new(), within .., unit "1";
        /// Cells at which water leaves the map. Rows and columns are counted from 0 in the north-west.
        mouths: Vec<Cell> = Vec::new(), within .., unit "1", flag "mouth";
        /// Points at which water leaves the map, in the coordinates of the file.
        mouths_at: Vec<MapPoint> = Vec::new(), within .., unit "1", flag "mouth-at", only Folder;
        /// Springs: the row and the column of each, and its discharge in m³/s.
        springs: Vec<(Cell, f64)> = Vec::new(), within .., unit "1", flag "spring", placeholder "ROW,COL,RATE";
        /// Cells through which a river is made to flow: the row and the column of each, and the distance in metres from
        /// which water is diverted to it.
        passes: Vec<(Cell, f64)> = Vec::new(), within .., unit "1", flag "pass", placeholder "ROW,COL,REACH";
        /// Files with input layers, by name: `rain` (a factor on the runoff), `hardness` (of the rock) or `protect` (1
        /// for ground that rivers avoid).
        layers: Vec<NamedFile> = Vec::new(), within .., unit "1", flag "layer", only Folder;
        /// Seed of the random numbers for the meanders of rivers.
        seed: u64 = 1, within 0..=u64::MAX, unit "1";
    }
}

impl RiversOptions {
    /// Returns the smallest drainage area of a river in m².
    pub fn river_catchment(&self, grid: &Grid) -> f64 {
        let area = grid.cell_area();
        // The model's default applies if the map is at least 250 times as large. A smaller map gets a 250th of its
        // area, but never less than `MIN_RIVER_CELLS` cells.
        let usual = RiverNetwork::default().catchment * 1e6;
        let small = usual.min(grid.len() as f64 * area / MAP_AREA_DIVISOR);
        self.catchment.unwrap_or(small.max(MIN_RIVER_CELLS * area))
    }

    /// Starts the run of the model over a terrain, with the edges and the sea level of the terrain. The ground of the
    /// result is the carved ground of [`plan_river_network`]; the result also has the layers and the table that the
    /// model writes.
    ///
    /// # Errors
    /// Returns an error if an option is out of range, if there is no such parameter or layer, if a layer cannot be
    /// read, if a place is outside the terrain, if there is not enough memory, and the errors of
    /// [`Run::with_terrain`].
    pub fn start(&self, mut terrain: Terrain) -> Result<Run> {
        self.check_ranges()?;
        let model = self.configure_model(&mut terrain)?;
        let mut recipe = Recipe::with_single_stage(Box::new(model), self.seed);
        (recipe.edges, recipe.sea_level) = (terrain.grid.edges, terrain.grid.sea_level.map(Height::metres));
        recipe.check_memory(&terrain.grid)?;
        self.insert_tables(&mut terrain)?;
        Run::with_terrain(recipe, terrain)
    }

    /// Returns the model with its parameters, and inserts its layers into the terrain.
    fn configure_model(&self, terrain: &mut Terrain) -> Result<RiverNetwork> {
        let catchment = self.river_catchment(&terrain.grid) / 1e6;
        let mut model = RiverNetwork { catchment, ..RiverNetwork::default() };
        let about = model.about();
        for Setting { name, value } in &self.set {
            model.set(about.name, name, value)?;
        }
        for NamedFile { name, path } in &self.layers {
            let spec = about.uses.iter().find(|spec| spec.name == name);
            let known = about.uses.iter().map(|spec| spec.name);
            let spec = spec.ok_or_else(|| Error::unknown_name("input layer", name, known))?;
            let cells = load_layer(path, &terrain.grid, spec)?;
            terrain.insert_layer(spec, cells)?;
        }
        Ok(model)
    }

    /// Writes the mouths, the springs and the passes into the tables of the terrain.
    fn insert_tables(&self, terrain: &mut Terrain) -> Result<()> {
        let table = |cells: Vec<Cell>| Table::from_cells(cells.into_iter().map(|cell| cell.map(|at| at as i64)));
        let parts = |placed: &[(Cell, f64)]| -> (Vec<Cell>, Vec<f32>) {
            placed.iter().map(|(cell, number)| (*cell, *number as f32)).unzip()
        };
        let mouths = locate_cells(&terrain.grid, &self.mouths, &self.mouths_at, "mouths_at")?;
        let ((springs, rates), (passes, reaches)) = (parts(&self.springs), parts(&self.passes));
        for (name, table) in [
            (MOUTHS, table(mouths)),
            (SPRINGS, table(springs).with_column("rate", "m³/s", Column::Float(rates))),
            (PASSES, table(passes).with_column("reach", "m", Column::Float(reaches))),
        ] {
            terrain.tables.insert(name.to_string(), table);
        }
        Ok(())
    }
}

/// Plans the rivers of a terrain and carves them. The ground of the terrain does not change, but the layers, mouths,
/// springs and passes of the options are inserted into it. The edges and the sea level are those of the terrain.
///
/// # Errors
/// Returns an error if an option is out of range, if there is no such parameter or layer, if a layer cannot be read, if
/// a place is outside the terrain, and the errors of [`RiverNetwork::plan_and_carve`].
///
/// # Examples
/// ```
/// use thalweg_core::declare::option_types::Setting;
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_export::rivers::{RiversOptions, plan_river_network};
///
/// // A valley that falls to the south.
/// let metres = |i: usize, j: usize| 200.0 - 2.0 * i as f64 + (j as f64 - 8.0).abs();
/// let ground = Field::from_fn([30, 17], |i, j| Height::from_metres_clamped(metres(i, j)));
/// let mut terrain = Terrain::from_ground(Grid::new([30, 17], 20.0)?, ground)?;
/// let set = vec![Setting::new("noise", 0.0)];
/// let options = RiversOptions { catchment: Some(40.0 * 400.0), set, ..RiversOptions::default() };
/// let (network, carved) = plan_river_network(&mut terrain, &options)?;
/// assert!(!network.rivers.is_empty() && carved.ground != terrain.ground);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn plan_river_network(terrain: &mut Terrain, options: &RiversOptions) -> Result<(Network, Carved)> {
    options.check_ranges()?;
    let model = options.configure_model(terrain)?;
    options.insert_tables(terrain)?;
    model.plan_and_carve(terrain, RandomKey::new(options.seed, model.about().name))
}

/// Returns warnings about places where a network could not avoid a conflict.
pub fn list_river_conflicts(network: &Network) -> Vec<String> {
    let (barred, met) = (network.barred, network.met);
    let in_protected = (barred > 0)
        .then(|| format!("{barred} cells of rivers are in protected areas, because no flow path avoids them"));
    let at_others = (met > 0).then(|| {
        format!(
            "at {met} places rivers share cells with other rivers or with lakes; run `check-rivers` to see whether any \
             of them cross"
        )
    });
    in_protected.into_iter().chain(at_others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use thalweg_core::Field;

    fn valley() -> Terrain {
        let metres = |i: usize, j: usize| 200.0 - 2.0 * i as f64 + (j as f64 - 8.0).abs();
        let ground = Field::from_fn([30, 17], |i, j| Height::from_metres_clamped(metres(i, j)));
        Terrain::from_ground(Grid::new([30, 17], 20.0).unwrap(), ground).unwrap()
    }

    #[test]
    fn the_network_is_that_of_the_model() {
        let mut options = RiversOptions { catchment: Some(16_000.0), seed: 3, ..RiversOptions::default() };
        let places = json!({"springs": [[2, 8, 0.5]], "mouths": [[29, 8]], "passes": [[15, 9, 100]]});
        options.set("set", &json!({"noise": 0})).unwrap();
        options.set_all(places.as_object().unwrap()).unwrap();
        let mut terrain = valley();
        let (network, carved) = plan_river_network(&mut terrain, &options).unwrap();
        let mut other = valley();
        let at = |row: i64, col: i64| Table::from_cells([[row, col]]);
        for (name, table) in [
            (MOUTHS, at(29, 8)),
            (SPRINGS, at(2, 8).with_column("rate", "m³/s", Column::Float(vec![0.5]))),
            (PASSES, at(15, 9).with_column("reach", "m", Column::Float(vec![100.0]))),
        ] {
            other.tables.insert(name.to_string(), table);
        }
        let model = RiverNetwork { catchment: 0.016, noise: 0.0, ..RiverNetwork::default() };
        let expected = model.plan_and_carve(&other, RandomKey::new(3, "river_network")).unwrap();
        assert!(network.rivers == expected.0.rivers && carved.ground == expected.1.ground);
        assert_eq!(terrain.ground, valley().ground);
        let mut run = options.start(valley()).unwrap();
        while run.take_step().unwrap().is_some() {}
        let made = run.terrain();
        assert!(made.ground == carved.ground && made.layers.contains_key("river"));
        // The places of the options are inputs, which the result does not keep.
        let tables: Vec<&str> = made.tables.keys().map(String::as_str).collect();
        assert_eq!(tables, ["rivers"]);
    }

    #[test]
    fn wrong_options_are_refused_by_name() {
        let refused = |name: &str, value: serde_json::Value| {
            let mut options = RiversOptions::default();
            options.set(name, &value).unwrap();
            plan_river_network(&mut valley(), &options).err().unwrap().to_string()
        };
        assert!(refused("set", json!({"breadth": 3})).starts_with("unknown parameter `breadth`"));
        assert!(refused("layers", json!({"snow": "a.tif"})).contains("the known names are rain, hardness, protect"));
        assert!(refused("mouths_at", json!([[1e9, 0]])).starts_with("mouths_at = 1000000000,0: must be a point"));
        assert!(refused("springs", json!([[99, 1, 1]])).contains("must be 0 to 29"));
    }

    #[test]
    fn conflicts_are_reported_if_there_are_any() {
        let options = RiversOptions { catchment: Some(16_000.0), ..RiversOptions::default() };
        let (mut network, _) = plan_river_network(&mut valley(), &options).unwrap();
        (network.barred, network.met) = (0, 0);
        assert!(list_river_conflicts(&network).is_empty());
        (network.barred, network.met) = (2, 3);
        let warnings = list_river_conflicts(&network);
        assert!(warnings[0].starts_with("2 cells of rivers") && warnings[1].starts_with("at 3 places rivers share"));
    }
}
