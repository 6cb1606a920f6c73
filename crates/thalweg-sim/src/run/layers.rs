//! Inputs of a stage: layers, from files of any level's size or from layers that earlier stages left, and tables.

use crate::recipe::tables;
use crate::recipe::{LayerOrigin, LayerSource, Stage};
use thalweg_core::terrain::{Cells, GROUND, LayerSpec, SEDIMENT};
use thalweg_core::{Error, Field, Grid, Height, Result, Terrain, Topology};
use thalweg_io as io;
use thalweg_io::FilePath;
use thalweg_models::models::elevation::ELEVATION;
use thalweg_models::process::upsample;
use thalweg_render::products::resample::resample_terrain;

/// Returns the layers that a stage is given, for a terrain with the results of earlier stages. A file has the size of
/// the first level, or this size doubled any number of times; it is resampled to the terrain's size.
pub fn fetch_all(
    stage: &Stage,
    folder: &FilePath,
    terrain: &Terrain,
    levels: &[Grid],
) -> Result<Vec<(&'static LayerSpec, Cells)>> {
    let about = stage.model.about();
    for spec in about.needs {
        if !stage.layers.contains_key(spec.name) && !terrain.layers.contains_key(spec.name) {
            return Err(Error::missing_layer(spec.name, about.name, spec.meaning));
        }
    }
    let requested = about.needs.iter().chain(about.uses).filter_map(|spec| Some((spec, stage.layers.get(spec.name)?)));
    requested.map(|(spec, source)| Ok((spec, fetch_layer(spec, source, folder, terrain, levels)?))).collect()
}

/// Inserts fetched layers and the stage's tables into a terrain. All of them are fetched before one is inserted, so a
/// failure leaves the terrain as it was.
pub fn insert_inputs(stage: &Stage, layers: Vec<(&LayerSpec, Cells)>, terrain: &mut Terrain) -> Result<()> {
    stage.tables.fit(terrain)?;
    layers.into_iter().try_for_each(|(spec, cells)| terrain.insert_layer(spec, cells))?;
    stage.tables.put(terrain)
}

/// Removes from the terrain the inputs that were for the stage only.
pub fn remove_inputs(stage: &Stage, terrain: &mut Terrain) {
    // A layer that the model also writes is its result.
    let writes = stage.model.about().writes;
    for name in stage.layers.keys().filter(|name| !writes.iter().any(|spec| spec.name == *name)) {
        terrain.layers.remove(name);
    }
    tables::take(terrain, stage.model.about().tables);
}

fn fetch_layer(
    spec: &LayerSpec,
    source: &LayerSource,
    folder: &FilePath,
    terrain: &Terrain,
    levels: &[Grid],
) -> Result<Cells> {
    let cells = match &source.from {
        LayerOrigin::File(path) => {
            let path = folder.join(path);
            if *spec == ELEVATION {
                // An elevation model has its own size; it is stretched over the whole world.
                let loaded = io::load_square_terrain(&path, &io::LoadOptions::default(), "a layer")?;
                let resampled = resample_terrain(&loaded.terrain, terrain.grid.size)?;
                let metres =
                    |i, j| if resampled.is_nodata(i, j) { f32::NAN } else { resampled.ground[(i, j)].metres_f32() };
                Cells::Float(Field::from_fn(terrain.grid.size, metres))
            } else {
                let coarsest = levels.first().unwrap_or(&terrain.grid);
                from_level(io::layer::load_layer_at_level(&path, coarsest, spec)?, terrain.grid.topology())
            }
        }
        LayerOrigin::Layer(name) => read_earlier_layer(name, terrain)?,
    };
    let Some([zero, one]) = source.scale else { return Ok(cells) };
    let values = cells.to_float();
    Ok(Cells::Float(values.map(|x| ((f64::from(*x) - zero) / (one - zero)).clamp(0.0, 1.0) as f32)))
}

/// Resamples cells to another size by halving or doubling: halved cells are means of blocks, doubled ones are
/// interpolated smoothly; counts are copied from the nearest cell.
fn from_level(mut cells: Cells, Topology { size, looped }: Topology) -> Cells {
    // The reader accepts only sizes that differ by a power of two, so halving and doubling reach the size exactly.
    while cells.size()[0] > size[0] {
        cells = match cells {
            Cells::Float(field) => Cells::Float(combine_four_cells(&field, |x| (x.iter().sum::<f32>()) / 4.0)),
            Cells::Height(field) => Cells::Height(combine_four_cells(&field, |h| {
                // The sum of four heights needs more than 32 bits; the mean is rounded down.
                Height((h.iter().map(|h| i64::from(h.0)).sum::<i64>().div_euclid(4)) as i32)
            })),
            // Counts are numbers of categories, of which a mean would make no sense; the north-western cell is taken.
            Cells::Count(field) => Cells::Count(combine_four_cells(&field, |n| n[0])),
        };
    }
    while cells.size()[0] < size[0] {
        let topology = Topology { size: cells.size(), looped };
        cells = match cells {
            Cells::Float(field) => Cells::Float(upsample::upsample_factors(&field, topology)),
            Cells::Height(field) => Cells::Height(upsample::upsample_thicknesses(&field, None, topology)),
            Cells::Count(field) => Cells::Count(upsample::repeat_cells(&field)),
        };
    }
    cells
}

/// Combines each block of four cells into one.
fn combine_four_cells<T: Copy + Default + Send + Sync>(field: &Field<T>, one: impl Fn([T; 4]) -> T + Sync) -> Field<T> {
    Field::from_fn(field.size().map(|n| n / 2), |i, j| {
        one([(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| field[(2 * i + a, 2 * j + b)]))
    })
}

/// Returns a layer left by an earlier stage, as real numbers.
fn read_earlier_layer(name: &str, terrain: &Terrain) -> Result<Cells> {
    let float = |heights: &Field<Height>| Cells::Float(heights.map(|h| h.metres_f32()));
    match (terrain.resolve_layer_name(name), &terrain.loose) {
        (current, _) if current == GROUND.name => Ok(float(&terrain.ground)),
        (current, Some(loose)) if current == SEDIMENT.name => Ok(float(loose)),
        (current, _) => match terrain.layers.get(current) {
            Some(layer) => Ok(Cells::Float(layer.cells.to_float())),
            None => {
                let known = terrain.layers.keys().map(String::as_str).chain([GROUND.name]);
                Err(Error::unknown_name("layer", name, known))
            }
        },
    }
}
