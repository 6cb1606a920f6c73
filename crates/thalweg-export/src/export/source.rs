//! The input of an export: heights and layers from a file, from a world's folder, or from memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_plan::MAX_MASKS;
use super::sampling::{WindowValues, WindowedRaster};
use super::{ExportTarget, LayerPlace};
use crate::world_folder::{find_heights_file, find_layer_file, read_recipe};
use thalweg_core::terrain::{CellType, Cells, SEDIMENT, current_layer_name};
use thalweg_core::{Cell, CellRect, Error, Field, Georeference, Grid, Height, Result, Size, Terrain};
use thalweg_io::has_crs;
use thalweg_io::{
    Format, HeightReading, LoadOptions, PlacedGrid, SampleStatistics, SampleType, Sidecar, WindowedMap, determine_grid,
    load_square_terrain, needs_sidecar, open_windows,
};
use thalweg_models::models::Models;

/// Heights that are read in windows, with their metadata.
pub(super) struct ExportSource {
    pub sheet: Box<dyn WindowedRaster>,
    pub grid: Grid,
    pub warnings: Vec<String>,
    /// The default name of the export.
    pub name: String,
    /// The seed and the hash of the recipe, if there is one.
    pub recipe: Option<(u64, String)>,
    from: LayerLocation,
}

/// Where layers are looked up.
enum LayerLocation {
    Folder(PathBuf),
    File,
    Held(Arc<Terrain>),
}

/// A layer that is exported with the heights.
pub(super) struct GoingLayer {
    pub name: String,
    pub unit: String,
    /// True if its values are integers that stand for categories and are not interpolated.
    pub whole: bool,
    pub sheet: Box<dyn WindowedRaster>,
}

impl ExportSource {
    /// Opens a file, or a folder that contains a world. A TIFF is read in windows, other formats as a whole.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self> {
        let (file, from) = match path.is_dir() {
            true => (find_heights_file(path)?, LayerLocation::Folder(path.to_path_buf())),
            false => (path.to_path_buf(), LayerLocation::File),
        };
        let (sheet, mut grid, warnings) = open_heights(&file, options)?;
        let mut recipe = None;
        if let LayerLocation::Folder(folder) = &from
            && let Some(made) = read_recipe(folder)?
        {
            grid = made.configure_grid(grid)?;
            recipe = Some((made.seed, made.hash()));
        }
        // The folder may be given as `.`, so the absolute path provides the name.
        let whole = std::path::absolute(path).map_err(Error::io(path, "find"))?;
        let name = if path.is_dir() { whole.file_name() } else { whole.file_stem() };
        let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { sheet, grid, warnings, name, recipe, from })
    }

    /// Takes the heights of a terrain in memory.
    pub fn from_terrain(terrain: Arc<Terrain>) -> Self {
        let (grid, name) = (terrain.grid.clone(), "terrain".to_string());
        let sheet = Box::new(InMemoryGround(terrain.clone()));
        Self { sheet, grid, warnings: Vec::new(), name, recipe: None, from: LayerLocation::Held(terrain) }
    }

    /// Returns the folder of the world, if the input is one.
    pub fn world_folder(&self) -> Option<&Path> {
        if let LayerLocation::Folder(folder) = &self.from { Some(folder) } else { None }
    }

    /// Returns the layer of this name. For a folder or a file, the name may also be the path of a raster.
    pub fn open_layer(&self, name: &str) -> Result<GoingLayer> {
        if let LayerLocation::Held(terrain) = &self.from {
            return open_memory_layer(terrain, name);
        }
        let path = Path::new(name);
        if path.extension().is_some() {
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            return self.layer_file(path, stem);
        }
        match &self.from {
            LayerLocation::Folder(folder) => {
                let file = folder.join(format!("{name}.tif"));
                if file.is_file() {
                    return self.layer_file(&file, name.to_string());
                }
                // The name that was given, or that of the file, may be an earlier name of the layer.
                let name = current_layer_name(name);
                let file = find_layer_file(folder, name).ok_or_else(|| {
                    let known = list_rasters(folder);
                    Error::unknown_name("layer", name, known.iter().map(String::as_str))
                })?;
                self.layer_file(&file, name.to_string())
            }
            _ => Err(Error::invalid_layer(
                name,
                "is not a file; if the heights are a file, give each layer as a file as well, such as classes.tif",
            )),
        }
    }

    fn layer_file(&self, path: &Path, name: String) -> Result<GoingLayer> {
        let windows = open_windows(path)?;
        let head = windows.metadata_raster()?;
        if head.size != self.grid.size {
            let ([rows, cols], [want_rows, want_cols]) = (head.size, self.grid.size);
            let problem = format!(
                "is {cols} × {rows} cells (columns × rows) in {}; the heights are {want_cols} × {want_rows}",
                path.display()
            );
            return Err(Error::invalid_layer(name, problem));
        }
        if let (Some(own), Some(given)) = (&self.grid.georeference, &head.georeference)
            && !covers_same_area(own, given)
        {
            let problem =
                format!("covers another area in {}: its coordinates are not those of the heights", path.display());
            return Err(Error::invalid_layer(name, problem));
        }
        let declared = Models::default().layer(&name);
        // Integers with a scale are amounts, for example centimetres, and are interpolated like floats.
        let is_whole = !matches!(head.samples.kind(), SampleType::F32 | SampleType::F64) && head.scale == [1.0, 0.0];
        let whole = is_whole || declared.is_some_and(|spec| spec.cells == CellType::Count);
        let said = head.unit.clone().or(declared.map(|spec| spec.unit.to_string()));
        let sheet = Box::new(LayerWindows { nodata: head.nodata, scale: head.scale, windows });
        Ok(GoingLayer { name, unit: said.unwrap_or_else(|| "1".to_string()), whole, sheet })
    }
}

/// Returns true if two maps of the same size do not have different positions: their corners agree to a tenth of a cell,
/// unless one of them has no coordinate system.
fn covers_same_area(own: &Georeference, given: &Georeference) -> bool {
    if !has_crs(own) || !has_crs(given) {
        return true;
    }
    let (Some(a), Some(b)) = (own.transform, given.transform) else { return true };
    // A tolerance is needed because programs write coordinates with different numbers of digits.
    let tenth = 0.1 * a[1].abs().max(a[5].abs());
    let same_system = own.epsg().is_none() || given.epsg().is_none() || own.epsg() == given.epsg();
    same_system && [0, 3].iter().all(|k| (a[*k] - b[*k]).abs() <= tenth)
}

/// Returns the names of the rasters in a folder.
fn list_rasters(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let rasters = entries.filter(|path| path.extension().is_some_and(|ending| ending == "tif"));
    let mut names: Vec<String> =
        rasters.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    // The order of a folder's entries differs between systems.
    names.sort();
    names
}

/// What needs square cells, in messages.
const SUBJECT: &str = "an export";

/// Opens a file's heights for reading in windows.
fn open_heights(path: &Path, options: &LoadOptions) -> Result<(Box<dyn WindowedRaster>, Grid, Vec<String>)> {
    // The removal of terraces needs the whole map at once.
    if options.deterrace || !Format::from_path(path)?.reads_windows() {
        let loaded = load_square_terrain(path, options, SUBJECT)?;
        let grid = loaded.terrain.grid.clone();
        return Ok((Box::new(InMemoryGround(Arc::new(loaded.terrain))), grid, loaded.warnings));
    }
    let windows = open_windows(path)?;
    let mut head = windows.metadata_raster()?;
    let sidecar = if needs_sidecar(&head) { Sidecar::read_for(path)? } else { None };
    let PlacedGrid { grid, mut warnings, .. } = determine_grid(path, &mut head, sidecar.as_ref(), options)?;
    grid.check_square(SUBJECT).map_err(|error| error.into_file_error(path))?;
    let reading = HeightReading::from_head(&head, sidecar.as_ref(), options);
    // The whole file is examined first, because the value for no data is certain only then.
    let mut look = SampleStatistics::default();
    for window in split_into_bands(&*windows) {
        look = look.merge(reading.examine_piece(&windows.read_piece(window)?, window.start));
    }
    let (reading, said) =
        reading.resolve_nodata_and_scale(&look).map_err(|problem| Error::invalid_file(path, problem))?;
    warnings.extend(said);
    Ok((Box::new(HeightWindows { path: path.to_path_buf(), windows, reading }), grid, warnings))
}

/// The approximate number of samples that are examined together.
const BAND: usize = 1 << 22;

/// Divides a file into windows that are multiples of its strips or tiles in height.
fn split_into_bands(windows: &dyn WindowedMap) -> impl Iterator<Item = CellRect> + use<> {
    let [rows, cols] = windows.size();
    // A band consists of whole strips or rows of tiles, so none of them is decoded twice.
    let chunk = windows.block_size()[0];
    let count = (BAND / cols.max(1) / chunk.max(1)).max(1).saturating_mul(chunk).clamp(1, rows);
    (0..rows).step_by(count).map(move |first| CellRect::new([first, 0], [count.min(rows - first), cols]))
}

/// The heights of a file.
struct HeightWindows {
    path: PathBuf,
    windows: Box<dyn WindowedMap>,
    reading: HeightReading,
}

impl WindowedRaster for HeightWindows {
    fn size(&self) -> Size {
        self.windows.size()
    }

    fn read_window(&self, window: CellRect) -> Result<WindowValues> {
        let raster = self.windows.read_piece(window)?;
        self.reading.check_piece(&raster, window.start).map_err(|problem| Error::invalid_file(&self.path, problem))?;
        let height = |k: usize| self.reading.convert_sample(&raster, k);
        build_window(window.size(), |k| height(k).map(Height::metres))
    }
}

/// The values of a file.
struct LayerWindows {
    windows: Box<dyn WindowedMap>,
    nodata: Option<f64>,
    scale: [f64; 2],
}

impl WindowedRaster for LayerWindows {
    fn size(&self) -> Size {
        self.windows.size()
    }

    fn read_window(&self, window: CellRect) -> Result<WindowValues> {
        let raster = self.windows.read_piece(window)?;
        let [factor, offset] = self.scale;
        build_window(window.size(), |k| {
            let sample = raster.samples.get(k);
            let is_missing = raster.is_masked(k) || !sample.is_finite() || self.nodata == Some(sample);
            (!is_missing).then_some(sample * factor + offset)
        })
    }
}

/// The ground of a terrain in memory.
struct InMemoryGround(Arc<Terrain>);

impl WindowedRaster for InMemoryGround {
    fn size(&self) -> Size {
        self.0.grid.size
    }

    fn read_window(&self, window: CellRect) -> Result<WindowValues> {
        let Cell { row: i, col: j } = window.start;
        let terrain = &self.0;
        build_window(window.size(), |k| {
            let (i, j) = (i + k / window.size()[1], j + k % window.size()[1]);
            (!terrain.is_nodata(i, j)).then(|| terrain.ground[(i, j)].metres())
        })
    }
}

/// A layer of a terrain in memory.
struct InMemoryLayer {
    terrain: Arc<Terrain>,
    cells: Cells,
}

impl WindowedRaster for InMemoryLayer {
    fn size(&self) -> Size {
        self.cells.size()
    }

    fn read_window(&self, window: CellRect) -> Result<WindowValues> {
        let Cell { row: i, col: j } = window.start;
        build_window(window.size(), |k| {
            let (i, j) = (i + k / window.size()[1], j + k % window.size()[1]);
            (!self.terrain.is_nodata(i, j)).then(|| match &self.cells {
                Cells::Height(field) => field[(i, j)].metres(),
                Cells::Float(field) => f64::from(field[(i, j)]),
                Cells::Count(field) => f64::from(field[(i, j)]),
            })
        })
    }
}

fn open_memory_layer(terrain: &Arc<Terrain>, name: &str) -> Result<GoingLayer> {
    let name = terrain.resolve_layer_name(name);
    let (cells, unit) = match (terrain.layers.get(name), &terrain.loose) {
        (Some(layer), _) => (layer.cells.clone(), layer.unit.clone()),
        (None, Some(loose)) if name == SEDIMENT.name => (Cells::Height(loose.clone()), SEDIMENT.unit.to_string()),
        _ => {
            let loose = terrain.loose.as_ref().map(|_| SEDIMENT.name);
            return Err(Error::unknown_name("layer", name, terrain.layers.keys().map(String::as_str).chain(loose)));
        }
    };
    let whole = cells.cell_type() == CellType::Count;
    let sheet = Box::new(InMemoryLayer { terrain: terrain.clone(), cells });
    Ok(GoingLayer { name: name.to_string(), unit, whole, sheet })
}

impl ExportTarget {
    /// Returns the names of the layers of a terrain in memory that this target can use: not those without data, with
    /// more classes than masks are allowed, or with integers that an image cannot store.
    pub fn usable_layers(&self, terrain: &Terrain) -> Vec<String> {
        let loose = terrain.loose.clone().map(Cells::Height);
        let loose = loose.iter().map(|cells| (SEDIMENT.name, cells));
        let layers = terrain.layers.iter().map(|(name, layer)| (name.as_str(), &layer.cells)).chain(loose);
        layers.filter(|(_, cells)| self.has_place(terrain, cells)).map(|(name, _)| name.to_string()).collect()
    }

    fn has_place(&self, terrain: &Terrain, cells: &Cells) -> bool {
        let [rows, cols] = cells.size();
        let mut there =
            (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).filter(|(i, j)| !terrain.is_nodata(*i, *j));
        match (self.layers, cells) {
            (LayerPlace::None, _) => false,
            (LayerPlace::Masks | LayerPlace::Texels, Cells::Count(field)) => {
                let mut classes = BTreeSet::new();
                // The search ends as soon as there are too many classes.
                let few = there.all(|at| {
                    classes.insert(field[at]);
                    classes.len() <= MAX_MASKS
                });
                few && !classes.is_empty()
            }
            (LayerPlace::Pictures, Cells::Count(field)) => {
                there.clone().count() > 0 && there.all(|at| field[at] <= u32::from(u16::MAX))
            }
            (_, Cells::Count(field)) => there.clone().count() > 0 && there.all(|at| field[at] < u32::MAX),
            (_, Cells::Height(_)) => there.next().is_some(),
            (_, Cells::Float(field)) => {
                there.clone().any(|at| field[at].is_finite()) && there.all(|at| !field[at].is_infinite())
            }
        }
    }
}

/// Makes a window from values, `None` where there is no data.
fn build_window(size: Size, value: impl Fn(usize) -> Option<f64> + Sync) -> Result<WindowValues> {
    let at = |i: usize, j: usize| value(i * size[1] + j);
    let values = Field::from_fn(size, |i, j| at(i, j).unwrap_or(f64::NAN));
    let missing = values.as_slice().iter().any(|v| v.is_nan()).then(|| values.map(|v| v.is_nan()));
    // Missing values become 0, because NaN would spoil a sum even with a weight of zero.
    Ok(WindowValues { values: values.map(|v| if v.is_nan() { 0.0 } else { *v }), missing })
}
