//! [`Terrain`]: the library's terrain as a class of JavaScript.

use js_sys::{Float32Array, Float64Array, Object, Reflect};
use thalweg_core::terrain::{CellType, Cells, GROUND, SEDIMENT, TerrainOptions};
use thalweg_core::{Error, Field, Height};
use thalweg_models::models::Models;
use wasm_bindgen::prelude::*;

use crate::array::{heights_to_array, heights_to_f32_array, layer_to_array, read_reals};
use crate::error::Result;
use crate::options::{json_to_js, read_operation};

/// The arrays of the argument of [`Terrain::new`]: the heights, also under their name of earlier versions, and layers.
const ARRAY_KEYS: &[&str] = &["height", "heights", "layers"];

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

#[wasm_bindgen]
impl Terrain {
    /// Creates a terrain from elevations in metres.
    #[wasm_bindgen(constructor)]
    pub fn new(land: JsValue) -> Result<Terrain> {
        let (options, land) = read_operation::<TerrainOptions>("Terrain option", land, ARRAY_KEYS)?;
        let grid = options.create_grid()?;
        let given = ["height", "heights"].into_iter().find_map(|key| Some((key, land.value(key)?)));
        let (key, given) =
            given.ok_or_else(|| Error::missing_input("height", "give a typed array of elevations in metres"))?;
        let (metres, cols) = (read_reals(key, &given, grid.size)?, grid.cols());
        let mut terrain = thalweg_core::terrain::Terrain::from_rows(grid, |i, row| {
            // The iterator ends with the row, not with the slice, which reaches to the end of the array.
            for (to, from) in row.iter_mut().zip(&metres[i * cols..]) {
                *to = if Some(*from) == options.nodata { f64::NAN } else { *from };
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

    /// Returns the elevations in metres, rounded to 24 bits, for example for a GPU; NaN in no-data cells.
    #[wasm_bindgen(js_name = heightF32)]
    pub fn height_f32(&self) -> Float32Array {
        heights_to_f32_array(&self.land.ground, self.land.nodata.as_ref())
    }

    /// The name of [`Terrain::height`] in earlier versions.
    pub fn heights(&self) -> Float64Array {
        self.height()
    }

    /// The name of [`Terrain::height_f32`] in earlier versions.
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
