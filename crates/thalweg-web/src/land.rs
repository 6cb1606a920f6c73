//! [`Terrain`]: the library's terrain as a class of JavaScript.

use js_sys::{Float32Array, Float64Array, Object, Reflect};
use thalweg_core::terrain::{CellType, Cells, GROUND, SEDIMENT};
use thalweg_core::{Error, Field, Grid, Height};
use thalweg_models::models::Models;
use wasm_bindgen::prelude::*;

use crate::array::{heights_to_array, heights_to_f32_array, layer_to_array, read_reals};
use crate::error::Result;
use crate::options::{JsOptions, json_to_js};

/// The keys of the argument of [`Terrain::new`].
const TERRAIN_KEYS: &[&str] =
    &["height", "rows", "cols", "cellSize", "nodata", "seaLevel", "edges", "layers", EARLIER_HEIGHT_KEY];

/// The name of the key `height` in earlier versions, which is still accepted.
const EARLIER_HEIGHT_KEY: &str = "heights";

/// A terrain: elevations, layers, and the recipe and report of the run that made it, if any. It is immutable.
#[wasm_bindgen(skip_typescript)]
#[derive(Clone)]
pub struct Terrain {
    pub(crate) land: thalweg_core::terrain::Terrain,
    pub(crate) recipe: Option<thalweg_sim::recipe::Recipe>,
    pub(crate) report: Option<serde_json::Value>,
}

impl From<thalweg_core::terrain::Terrain> for Terrain {
    fn from(land: thalweg_core::terrain::Terrain) -> Self {
        Self { land, recipe: None, report: None }
    }
}

/// Parses the name of a boundary condition, as in a recipe.
fn parse_edges(word: &str) -> thalweg_core::base::error::Result<thalweg_core::terrain::grid::Edges> {
    // The recipe's own parser reads the word, so that the words and the messages are the same.
    let text = format!("extent = [1.0, 1.0]\nedges = {}", toml::Value::String(word.to_string()));
    Ok(thalweg_sim::recipe::Recipe::parse(&text)?.edges)
}

#[wasm_bindgen]
impl Terrain {
    /// Creates a terrain from elevations in metres.
    #[wasm_bindgen(constructor)]
    pub fn new(land: JsValue) -> Result<Terrain> {
        let land = JsOptions::with_known_keys("Land key", land, TERRAIN_KEYS)?;
        let missing = |key: &str, what: &str| Error::missing_input(key, format!("give {what}"));
        let [rows, cols] = [land.read_cell_count("rows")?, land.read_cell_count("cols")?];
        let rows = rows.ok_or_else(|| missing("rows", "the number of rows"))?;
        let cols = cols.ok_or_else(|| missing("cols", "the number of columns"))?;
        let cell = land.read_number("cellSize")?.ok_or_else(|| missing("cellSize", "the side of a cell in metres"))?;
        let mut grid = Grid::new([rows, cols], cell)?;
        if let Some(word) = land.read_string("edges")? {
            grid.edges = parse_edges(&word)?;
        }
        grid.sea_level = land.read_number("seaLevel")?.map(Height::from_metres).transpose()?;
        grid.check()?;
        let (height, earlier) = (land.value("height"), land.value(EARLIER_HEIGHT_KEY));
        if height.is_some() && earlier.is_some() {
            let problem = "is an earlier name of height and does not apply together with it";
            return Err(Error::conflict(EARLIER_HEIGHT_KEY, problem).into());
        }
        let given = height.or(earlier).ok_or_else(|| missing("height", "a typed array of elevations in metres"))?;
        let metres = read_reals("height", &given, grid.size)?;
        let nodata = land.read_number("nodata")?;
        let mut terrain = thalweg_core::terrain::Terrain::from_rows(grid, |i, row| {
            // The iterator ends with the row, not with the slice, which reaches to the end of the array.
            for (to, from) in row.iter_mut().zip(&metres[i * cols..]) {
                *to = if Some(*from) == nodata { f64::NAN } else { *from };
            }
        })?;
        for (name, values) in land.inner_object("layers").entries()? {
            insert_layer(&mut terrain, &name, &values)?;
        }
        Ok(terrain.into())
    }

    /// Returns the number of rows.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> usize {
        self.land.grid.size[0]
    }

    /// Returns the number of columns.
    #[wasm_bindgen(getter)]
    pub fn cols(&self) -> usize {
        self.land.grid.size[1]
    }

    /// Returns the side of a cell in metres.
    #[wasm_bindgen(getter, js_name = cellSize)]
    pub fn cell_size(&self) -> f64 {
        self.land.grid.cell
    }

    /// Returns the world row and column of the first cell.
    #[wasm_bindgen(getter)]
    pub fn origin(&self) -> Vec<f64> {
        <[f64; 2]>::from(self.land.grid.origin.map(|cell| cell as f64)).to_vec()
    }

    /// Returns the sea level in metres.
    #[wasm_bindgen(getter, js_name = seaLevel)]
    pub fn sea_level(&self) -> Option<f64> {
        self.land.grid.sea_level.map(Height::metres)
    }

    /// Returns the number of no-data cells.
    #[wasm_bindgen(getter, js_name = nodataCount)]
    pub fn nodata_count(&self) -> usize {
        self.land.nodata_count()
    }

    /// Returns the lowest and the highest elevation in metres.
    #[wasm_bindgen(getter)]
    pub fn range(&self) -> Option<Vec<f64>> {
        self.land.elevation_range().map(|range| range.map(Height::metres).to_vec())
    }

    /// Returns the exact elevations in metres; NaN in no-data cells.
    pub fn height(&self) -> Float64Array {
        heights_to_array(&self.land.ground, self.land.nodata.as_ref())
    }

    /// Returns the same as [`Terrain::height`], whose name this was in earlier versions.
    pub fn heights(&self) -> Float64Array {
        self.height()
    }

    /// Returns the elevations in metres, rounded to 24 bits, for example for a GPU; NaN in no-data cells.
    #[wasm_bindgen(js_name = heightF32)]
    pub fn height_f32(&self) -> Float32Array {
        heights_to_f32_array(&self.land.ground, self.land.nodata.as_ref())
    }

    /// Returns the same as [`Terrain::height_f32`], whose name this was in earlier versions.
    #[wasm_bindgen(js_name = heightsF32)]
    pub fn heights_f32(&self) -> Float32Array {
        self.height_f32()
    }

    /// Returns the names of the layers.
    #[wasm_bindgen(getter)]
    pub fn layers(&self) -> Vec<String> {
        self.layer_names().map(String::from).collect()
    }

    /// Returns the values of a layer.
    pub fn layer(&self, name: &str) -> Result<JsValue> {
        let name = self.land.resolve_layer_name(name);
        if let Some(loose) = self.land.loose.as_ref().filter(|_| name == SEDIMENT.name) {
            return Ok(heights_to_array(loose, None).into());
        }
        let found = self.land.layers.get(name).map(|found| layer_to_array(&found.cells));
        Ok(found.ok_or_else(|| Error::unknown_name("layer", name, self.layer_names()))?)
    }

    /// Returns the fingerprint of each layer and table, as in the command's reports.
    pub fn fingerprints(&self) -> JsValue {
        let prints = Object::new();
        for (name, print) in self.land.fingerprints() {
            // Setting a key of a new object cannot fail.
            let _ = Reflect::set(&prints, &name.into(), &print.into());
        }
        prints.into()
    }

    /// Returns the recipe of the run that made the terrain, as TOML with every parameter.
    #[wasm_bindgen(getter)]
    pub fn recipe(&self) -> Option<String> {
        self.recipe.as_ref().map(thalweg_sim::recipe::Recipe::to_toml)
    }

    /// Returns the report of the run that made the terrain.
    #[wasm_bindgen(getter)]
    pub fn report(&self) -> Result<JsValue> {
        self.report.as_ref().map_or(Ok(JsValue::UNDEFINED), json_to_js)
    }
}

impl Terrain {
    fn layer_names(&self) -> impl Iterator<Item = &str> {
        let loose = self.land.loose.iter().map(|_| SEDIMENT.name);
        loose.chain(self.land.layers.keys().map(String::as_str))
    }
}

/// Adds numbers to a terrain as the layer with this name.
fn insert_layer(terrain: &mut thalweg_core::terrain::Terrain, name: &str, values: &JsValue) -> Result<()> {
    let models = Models::default();
    // The heights are given separately, so `ground` is not accepted as a layer.
    let spec = models.layer(name).filter(|spec| *spec != GROUND);
    let spec = spec.ok_or_else(|| {
        let mut names: Vec<&str> = models.layers().map(|spec| spec.name).collect();
        // Several models may declare the same layer, so the names are sorted to remove duplicates.
        names.sort_unstable();
        names.dedup();
        Error::unknown_name("layer", name, names)
    })?;
    let reals = Field::from_vec(terrain.grid.size, read_reals(name, values, terrain.grid.size)?)?;
    let cells = match spec.cells {
        CellType::Height => Cells::Height(reals.map(|metres| Height::from_metres_clamped(*metres))),
        CellType::Float => Cells::Float(reals.map(|x| *x as f32)),
        CellType::Count => Cells::Count(reals.map(|x| *x as u32)),
    };
    Ok(terrain.insert_layer(&spec, cells)?)
}
