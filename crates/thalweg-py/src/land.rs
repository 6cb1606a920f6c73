//! [`Terrain`]: the library's terrain for Python; files; georeferences of maps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::declare::operation::WorkForm;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::terrain::{Cells, Column, GROUND, LayerSpec, SEDIMENT};
use thalweg_core::{Cell, Error, Georeference, Grid, Height};
use thalweg_io::{self as io, LoadOptions, SampleType, SaveOptions, Unit};
use thalweg_models::models::Models;

use crate::array::{self, array_size, build_terrain, heights_to_array, to_layer_cells};
use crate::error::{make_map_error, to_python_error};
use crate::pool::run_on_pool;
use crate::recipe::{edges_to_words, parse_edges, parse_operation};

/// An immutable terrain: heights, layers, tables and georeference.
#[pyclass(frozen, module = "thalweg._core")]
pub struct Terrain(pub Arc<thalweg_core::terrain::Terrain>);

/// The georeference of a map: an affine transform in GDAL's order, the EPSG code and the name of the reference system.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MapGeoreference {
    transform: Option<[f64; 6]>,
    epsg: Option<u16>,
    geographic: Option<bool>,
    words: Option<String>,
}

/// The GeoTIFF keys that the library reads: the kind of reference system and its code.
const MODEL_TYPE_KEY: u16 = 1024;
const GEOGRAPHIC_TYPE_KEY: u16 = 2048;
const PROJECTED_TYPE_KEY: u16 = 3072;

impl MapGeoreference {
    fn into_georeference(self) -> Georeference {
        let mut keys = Vec::new();
        if let Some(geographic) = self.geographic {
            // An entry is a key, its location (0 for the entry itself), its count and its value; model type 1 is
            // projected, 2 geographic.
            keys.push([MODEL_TYPE_KEY, 0, 1, if geographic { 2 } else { 1 }]);
            let code = if geographic { GEOGRAPHIC_TYPE_KEY } else { PROJECTED_TYPE_KEY };
            keys.extend(self.epsg.map(|epsg| [code, 0, 1, epsg]));
        }
        // The header gives the version of the directory, the revision 1.0 of the keys, and their number.
        let head = [1, 1, 0, keys.len() as u16];
        let keys = if keys.is_empty() { Vec::new() } else { [&[head], &keys[..]].concat().concat() };
        let ascii = self.words.unwrap_or_default();
        Georeference { transform: self.transform, keys, ascii, ..Georeference::default() }
    }
}

fn parse_unit(word: Option<&str>) -> PyResult<Option<Unit>> {
    match word {
        None => Ok(None),
        Some("metre") => Ok(Some(Unit::Metre)),
        Some(other) => Err(to_python_error(Error::invalid_value("unit", other, "metre, or None for the file's unit"))),
    }
}

/// Returns the side of a map's cells in metres, and warnings; `what` is the name of the map in errors.
#[pyfunction]
pub fn cell_of(
    what: &str,
    place: MapGeoreference,
    heights: Option<&str>,
    cell_size: Option<f64>,
    unit: Option<&str>,
) -> PyResult<(f64, Vec<String>)> {
    let options = LoadOptions { cell_size, unit: parse_unit(unit)?, ..LoadOptions::default() };
    io::determine_cell_size(&place.into_georeference(), heights, &options).map_err(|error| match error {
        Error::Content { problem, .. } => make_map_error(what, problem),
        other => to_python_error(other),
    })
}

/// Reads a terrain from a file or a folder, and returns it with warnings; `options` are those of the operation `open`.
#[pyfunction]
#[pyo3(signature = (path, options, *, edges=None, sea_level=None))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    options: &Bound<'_, PyDict>,
    edges: Option<&Bound<'_, PyAny>>,
    sea_level: Option<f64>,
) -> PyResult<(Terrain, Vec<String>)> {
    let options = parse_operation::<LoadOptions>(options, WorkForm::Arrays)?;
    let edges = edges.map(parse_edges).transpose()?;
    // A folder is a world that the program wrote, with its layers; a file has heights alone.
    let (mut terrain, warnings) = run_on_pool(py, || match path.is_dir() {
        true => thalweg_export::world_folder::read_displayed_terrain(&path, &options),
        false => {
            io::load_square_terrain(&path, &options, "this function").map(|loaded| (loaded.terrain, loaded.warnings))
        }
    })?;
    set_boundaries(&mut terrain.grid, edges, sea_level)?;
    Ok((Terrain(Arc::new(terrain)), warnings))
}

fn set_boundaries(grid: &mut Grid, edges: Option<Edges>, sea_level: Option<f64>) -> PyResult<()> {
    grid.edges = edges.unwrap_or(grid.edges);
    // Arguments take precedence over values from the file.
    grid.sea_level = sea_level.map(Height::from_metres).transpose().map_err(to_python_error)?.or(grid.sea_level);
    grid.check().map_err(to_python_error)
}

/// Returns the declaration of the layer of that name.
fn find_layer_spec(name: &str) -> PyResult<LayerSpec> {
    let models = Models::default();
    let known = [GROUND, SEDIMENT].into_iter().find(|spec| spec.name == name).or_else(|| models.layer(name));
    known.ok_or_else(|| {
        let mut names: Vec<&str> = models.layers().map(|spec| spec.name).chain([SEDIMENT.name]).collect();
        // Several models may declare the same layer, so the names are sorted to remove duplicates.
        names.sort_unstable();
        names.dedup();
        to_python_error(Error::unknown_name("layer", name, names))
    })
}

/// Inserts an array into a terrain as the layer of that name.
pub fn insert_layer(
    terrain: &mut thalweg_core::terrain::Terrain,
    name: &str,
    values: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let spec = find_layer_spec(name)?;
    if spec == GROUND {
        let nodata = terrain.nodata.clone();
        let (new, _) = build_terrain(values, terrain.grid.clone(), None, false)?;
        // The mask of no-data cells is fixed when the terrain is created, so new heights have to agree with it.
        if new.ground.size() != terrain.grid.size || new.nodata.is_some() && new.nodata != nodata {
            return Err(make_map_error("height", "must have data in exactly the same cells as the terrain"));
        }
        terrain.ground = new.ground;
        return Ok(());
    }
    let cells = to_layer_cells(values, &spec, terrain.nodata.as_ref())?;
    terrain.insert_layer(&spec, cells).map_err(to_python_error)
}

/// Returns the cells of a layer, which may be `sediment`.
pub fn find_layer<'a>(
    terrain: &'a thalweg_core::terrain::Terrain,
    name: &str,
) -> PyResult<std::borrow::Cow<'a, Cells>> {
    use std::borrow::Cow;
    let name = terrain.resolve_layer_name(name);
    if name == SEDIMENT.name
        && let Some(loose) = &terrain.loose
    {
        // Sediment is a field of its own in the terrain; only it has to be copied to look like a layer.
        return Ok(Cow::Owned(Cells::Height(loose.clone())));
    }
    let found = terrain.layers.get(name).map(|layer| Cow::Borrowed(&layer.cells));
    found.ok_or_else(|| {
        to_python_error(Error::unknown_name("layer", name, list_layer_names(terrain).iter().map(String::as_str)))
    })
}

/// Returns the names of a terrain's layers, including `sediment`.
pub fn list_layer_names(terrain: &thalweg_core::terrain::Terrain) -> Vec<String> {
    let loose = terrain.loose.iter().map(|_| SEDIMENT.name.to_string());
    loose.chain(terrain.layers.keys().cloned()).collect()
}

#[pymethods]
impl Terrain {
    /// Creates a terrain from heights in metres. `warn` is a function of Python that receives warnings about undeclared
    /// values for no data; without it, these are not looked for, and `nodata` has no effect.
    #[new]
    #[pyo3(signature = (height, cell_size, *, nodata=None, warn=None, sea_level=None, edges=None, place=None, georeference=None, layers=None, origin=None))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn new(
        height: &Bound<'_, PyAny>,
        cell_size: f64,
        nodata: Option<f64>,
        warn: Option<&Bound<'_, PyAny>>,
        sea_level: Option<f64>,
        edges: Option<&Bound<'_, PyAny>>,
        place: Option<MapGeoreference>,
        georeference: Option<&str>,
        layers: Option<BTreeMap<String, Bound<'_, PyAny>>>,
        origin: Option<[i64; 2]>,
    ) -> PyResult<Self> {
        let mut grid = Grid::new(array_size(height)?, cell_size).map_err(to_python_error)?;
        set_boundaries(&mut grid, edges.map(parse_edges).transpose()?, sea_level)?;
        // A georeference that comes from another terrain contains more than a transform and a code; a given `place`
        // replaces it.
        let kept = georeference.and_then(|text| serde_json::from_str(text).ok());
        grid.georeference =
            place.map(MapGeoreference::into_georeference).or(kept).filter(|place| *place != Georeference::default());
        grid.origin = origin.map_or(grid.origin, Cell::from);
        let (mut terrain, warnings) = build_terrain(height, grid, nodata, warn.is_some())?;
        if let Some(warn) = warn {
            for message in warnings {
                warn.call1((message,))?;
            }
        }
        for (name, values) in layers.into_iter().flatten() {
            insert_layer(&mut terrain, &name, &values)?;
        }
        Ok(Self(Arc::new(terrain)))
    }

    /// Creates a flat terrain.
    #[staticmethod]
    #[pyo3(signature = (rows, cols, cell_size, *, sea_level=None, edges=None))]
    fn flat(
        rows: usize,
        cols: usize,
        cell_size: f64,
        sea_level: Option<f64>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut grid = Grid::new([rows, cols], cell_size).map_err(to_python_error)?;
        set_boundaries(&mut grid, edges.map(parse_edges).transpose()?, sea_level)?;
        Ok(Self(Arc::new(thalweg_core::terrain::Terrain::new(grid))))
    }

    /// Returns the numbers of rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.0.grid.size.into()
    }

    /// Returns the side of a cell in metres.
    #[getter]
    fn cell_size(&self) -> f64 {
        self.0.grid.cell
    }

    /// Returns the world row and column of the first cell.
    #[getter]
    fn origin(&self) -> [i64; 2] {
        self.0.grid.origin.into()
    }

    /// Returns the sea level in metres.
    #[getter]
    fn sea_level(&self) -> Option<f64> {
        self.0.grid.sea_level.map(Height::metres)
    }

    /// Returns the edges by side.
    #[getter]
    fn edges(&self) -> BTreeMap<&'static str, String> {
        edges_to_words(&self.0.grid.edges)
    }

    /// Returns the affine transform in GDAL's order, the EPSG code and the name of the reference system, as far as they
    /// are known.
    #[getter]
    fn place(&self) -> (Option<[f64; 6]>, Option<u16>, String) {
        let none = (None, None, String::new());
        self.0.grid.georeference.as_ref().map_or(none, |place| (place.transform, place.epsg(), place.ascii.clone()))
    }

    /// Returns the georeference as a text with which another terrain can be created.
    #[getter]
    fn georeference(&self) -> Option<String> {
        self.0.grid.georeference.as_ref().and_then(|place| serde_json::to_string(place).ok())
    }

    /// Returns the number of no-data cells.
    #[getter]
    fn nodata_count(&self) -> usize {
        self.0.nodata_count()
    }

    /// Returns the heights in metres; NaN in no-data cells.
    #[pyo3(signature = (narrow=false))]
    fn height<'py>(&self, py: Python<'py>, narrow: bool) -> PyResult<Bound<'py, PyAny>> {
        heights_to_array(py, &self.0.ground, self.0.nodata.as_ref(), narrow)
    }

    /// Returns the names of the layers.
    #[getter]
    fn layers(&self) -> Vec<String> {
        list_layer_names(&self.0)
    }

    /// Returns the values of a layer.
    fn layer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        array::layer_to_array(py, &*find_layer(&self.0, name)?)
    }

    /// Returns the unit and meaning of a layer.
    fn about(&self, name: &str) -> (String, String) {
        let declared = || {
            find_layer_spec(name).map_or_else(|_| Default::default(), |spec| (spec.unit.into(), spec.meaning.into()))
        };
        let name = self.0.resolve_layer_name(name);
        self.0.layers.get(name).map_or_else(declared, |layer| (layer.unit.clone(), layer.meaning.clone()))
    }

    /// Returns the tables, with the unit and the values of each column.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, table) in &self.0.tables {
            let columns = PyDict::new(py);
            for (column, unit, values) in &table.columns {
                let values = match values {
                    Column::Int(values) => PyArray1::from_slice(py, values).into_any(),
                    Column::Float(values) => PyArray1::from_slice(py, values).into_any(),
                };
                columns.set_item(column, (unit, values))?;
            }
            tables.set_item(name, columns)?;
        }
        Ok(tables)
    }

    /// Returns the fingerprint of each layer and table, as in the command's reports.
    fn fingerprints(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        run_on_pool(py, || Ok(self.0.fingerprints()))
    }

    /// Writes the heights to a file, whose extension determines the format; returns warnings about losses and changes.
    #[pyo3(signature = (path, sample=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, sample: Option<&str>) -> PyResult<Vec<String>> {
        let kinds = [SampleType::F64, SampleType::F32, SampleType::U16, SampleType::U8];
        let sample = sample.map(|word| {
            let names = kinds.map(|kind| kind.to_string()).join(", ");
            let found = kinds.into_iter().find(|kind| kind.to_string() == word);
            found.ok_or_else(|| to_python_error(Error::invalid_value("type", word, format!("one of {names}"))))
        });
        let options = SaveOptions { sample: sample.transpose()?, ..SaveOptions::default() };
        run_on_pool(py, || io::save_terrain(&path, &self.0, &options))
    }

    /// Writes a layer to a file.
    fn save_layer(&self, py: Python<'_>, path: PathBuf, name: &str) -> PyResult<()> {
        let cells = find_layer(&self.0, name)?;
        run_on_pool(py, || io::save_layer(&path, &self.0, name, &cells))
    }

    fn __repr__(&self) -> String {
        let [rows, cols] = self.0.grid.size;
        format!(
            "<thalweg terrain of {rows} × {cols} cells of {} m: {}>",
            self.0.grid.cell,
            list_layer_names(&self.0).join(", ")
        )
    }
}
