//! Writes a river network to files, and reads them back for checking.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::features::{Feature, Geometry, Property, save_features};
use super::terrain::{LoadOptions, SaveOptions, load_square_terrain, save_terrain};
use super::{SampleType, Samples, read_raster, river_files, save_samples, write_text};
use thalweg_core::base::memory;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Error, Field, Height, Result, Terrain};
use thalweg_flow::{FlowGraph, Land, basins};
use thalweg_render::products::lakes::{group_outlines, trace_outlines};
use thalweg_rivers::check::RiverFiles;
use thalweg_rivers::network::{FLOW, Mouth, Network, River, RiverReach, RunSource};
use thalweg_rivers::waypoints::MOUTHS;
use thalweg_rivers::{Carved, distance, waypoints};

/// The bytes per cell that a network needs while it is read and checked.
const BYTES: u64 = 72;

/// The value in rasters where there is no water.
const DRY: f64 = -32_768.0;

/// Writes a carved network to a folder: `height.tif` (64-bit floats, exact), the rasters `rivers`, `paths`, `lakes`,
/// `bed`, `water_surface`, `wet`, `distance` and `catchments`, `rivers`, `lakes` and `catchments` as GeoJSON and
/// FlatGeobuf, and `network.json`.
///
/// The rasters of rivers, paths and catchments contain the run's index plus one, the raster of lakes the lake's number;
/// 0 stands for none. Bed and surface are in metres, with −32 768 where it is dry. `wet` is the share of a cell that is
/// water, 0 to 1. `distance` is the distance in metres to the nearest river's water, −1 if there is no river at all.
///
/// `terrain` is the carved terrain with its new ground. `nodata` is the value for no data in heights, as in
/// [`SaveOptions`]. Returns the files, and warnings about what could not be stored.
///
/// # Errors
/// Returns an error if a file cannot be written, if the terrain has no data, or if its table of mouths is invalid.
pub fn save_network(
    folder: &Path,
    terrain: &Terrain,
    network: &Network,
    carved: &Carved,
    nodata: Option<f64>,
) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let grid = &terrain.grid;
    let mut files = Vec::new();
    let mut path = |name: &str| {
        files.push(folder.join(name));
        folder.join(name)
    };
    let options = SaveOptions { sample: Some(SampleType::F64), nodata, ..SaveOptions::default() };
    let mut said = save_terrain(path("height.tif"), terrain, &options)?;
    let counts = |field: &Field<u32>| Samples::U32(field.as_slice().to_vec());
    save_samples(path("rivers.tif"), grid, ["river", "1"], counts(&carved.river), Some(0.0))?;
    save_samples(path("paths.tif"), grid, ["path of a river", "1"], counts(&rasterize_paths(network)), Some(0.0))?;
    save_samples(path("lakes.tif"), grid, ["lake", "1"], counts(&network.lake), Some(0.0))?;
    // The rasters of beds and surfaces cover rivers and lakes alike.
    let wet = |k: usize| carved.river[k] > 0 || network.lake[k] > 0;
    let levels = |of: &dyn Fn(usize) -> i64| {
        let level = |k: usize| if wet(k) { of(k) as f64 / UNITS } else { DRY };
        Samples::F64((0..grid.len()).map(level).collect())
    };
    let ground = |k: usize| i64::from(terrain.ground[k].0);
    save_samples(path("bed.tif"), grid, ["bed of the river", "m"], levels(&ground), Some(DRY))?;
    let surface = levels(&|k| ground(k) + i64::from(carved.water[k].0));
    save_samples(path("water_surface.tif"), grid, ["water surface", "m"], surface, Some(DRY))?;
    save_samples(path("wet.tif"), grid, ["wet share", "1"], Samples::F32(carved.share.as_slice().to_vec()), None)?;
    let near = distance::distances_to_set(&carved.river.map(|river| *river > 0), grid.cell);
    // Without any river the distance is infinite, which the file marks as −1.
    let near = near.map(|metres| if metres.is_finite() { *metres } else { -1.0 });
    save_samples(path("distance.tif"), grid, ["distance to water", "m"], Samples::F32(near.into_vec()), Some(-1.0))?;
    let catchments = label_catchments(terrain, network)?;
    save_samples(path("catchments.tif"), grid, ["catchment", "1"], counts(&catchments), Some(0.0))?;
    let rivers = network.reaches().iter().map(reach_feature).collect();
    let lakes = lake_features(network, grid.cell_area());
    let basins = basin_features(network, &catchments, grid.cell_area());
    for (name, features) in [("rivers", &rivers), ("lakes", &lakes), ("catchments", &basins)] {
        said.extend(save_features(path(&format!("{name}.geojson")), features, grid)?);
        save_features(path(&format!("{name}.fgb")), features, grid)?;
    }
    let about = json!({
        "thalweg": env!("CARGO_PKG_VERSION"),
        "cell_size": grid.cell,
        "sea_level": grid.sea_level.map(Height::metres),
        (MOUTHS): waypoints::read_mouths(terrain)?,
    });
    write_text(path("network.json"), &format!("{about:#}\n"))?;
    Ok((files, said))
}

/// Returns the paths of the runs as a raster: the run's index plus one.
fn rasterize_paths(network: &Network) -> Field<u32> {
    let mut paths = Field::new(network.size, 0);
    for (number, river) in network.rivers.iter().enumerate() {
        river.path.iter().for_each(|(k, _)| paths[*k as usize] = number as u32 + 1);
    }
    paths
}

/// Returns, for each cell, the index plus one of the run through whose mouth its water leaves; 0 if it leaves through
/// none.
fn label_catchments(terrain: &Terrain, network: &Network) -> Result<Field<u32>> {
    let grid = terrain.grid.with_open_edges();
    let land = Land { grid: &grid, ..Land::from_terrain(terrain) };
    let drainage = FlowGraph::new(&land);
    let mut basins = basins::label_basins(&drainage.with_filled_surface(&land), drainage.directions())?;
    let mut runs = vec![0; basins.as_slice().iter().max().map_or(0, |n| *n as usize) + 1];
    for (number, river) in network.rivers.iter().enumerate() {
        let arm = matches!(river.source, RunSource::Parts { .. });
        let leaves = !arm && matches!(river.mouth, Mouth::Sea | Mouth::Edge | Mouth::Outlet);
        if let (true, Some((k, _))) = (leaves, river.path.last()) {
            runs[basins[*k as usize] as usize] = number as u32 + 1;
        }
    }
    runs[0] = 0;
    basins.as_mut_slice().iter_mut().for_each(|basin| *basin = runs[*basin as usize]);
    Ok(basins)
}

fn name_property(network: &Network, river: &River) -> Property {
    Property::Word(format!("{:08x}", network.names[river.number as usize]))
}

/// Converts a reach to a line with its properties.
fn reach_feature(reach: &RiverReach) -> Feature {
    let middle = reach.places.len() / 2;
    let drop = reach.surface[0] - reach.surface[reach.surface.len() - 1];
    let word = |word: &str| Property::Word(word.to_string());
    let (count, real) = (|n| Property::Count(Some(n)), Property::Real);
    let reals = |values: &[f64]| Property::Reals(values.to_vec());
    Feature {
        shape: Geometry::Profile(reach.places.iter().copied().zip(reach.surface.iter().copied()).collect()),
        properties: vec![
            ("id", count(reach.id)),
            ("name", word(&reach.name)),
            ("run", count(reach.run)),
            ("order", count(reach.order)),
            ("type", word(reach.kind.as_str())),
            ("length_m", real(reach.length)),
            ("drop_m", real(drop)),
            ("slope", real(if reach.length > 0.0 { drop / reach.length } else { 0.0 })),
            ("discharge_from_m3_s", real(reach.discharge[0])),
            ("discharge_m3_s", real(reach.discharge[1])),
            ("drainage_area_m2", real(reach.drainage_area)),
            ("width_m", real(reach.width[middle])),
            ("depth_m", real(reach.depth)),
            ("lake_from", Property::Count(reach.lake_from)),
            ("lake_to", Property::Count(reach.lake_to)),
            ("parts_from", Property::Count(reach.parts_from)),
            ("ends", word(reach.end.as_str())),
            ("downstream", Property::Count(reach.downstream)),
            ("surfaces_m", reals(&reach.surface)),
            ("beds_m", reals(&reach.bed)),
            ("widths_m", reals(&reach.width)),
        ],
    }
}

/// Converts the lakes to areas with their properties.
fn lake_features(network: &Network, cell_area: f64) -> Vec<Feature> {
    // A lake's own runoff is the discharge of the rivers that leave it, minus that of those that enter it. Discharges
    // are integers, so the difference is exact.
    let mut runoff = vec![0i64; network.lakes.len()];
    let mut leaves = vec![false; network.lakes.len()];
    for river in &network.rivers {
        if let (RunSource::Lake(lake), Some(first)) = (river.source, river.vertices.first()) {
            runoff[lake as usize] += first.flow;
            leaves[lake as usize] = true;
        }
        if let (Mouth::Lake(lake), Some(last)) = (river.mouth, river.vertices.last()) {
            runoff[lake as usize] -= last.flow;
        }
    }
    let mut cells = vec![0u64; network.lakes.len() + 1];
    network.lake.as_slice().iter().for_each(|lake| cells[*lake as usize] += 1);
    let feature = |(id, lines): (u32, Vec<_>)| {
        let k = id as usize - 1;
        // For a lake without an outlet the runoff cannot be determined from its rivers.
        let own = if leaves[k] { runoff[k] as f64 / FLOW } else { 0.0 };
        Feature {
            shape: Geometry::Area(group_outlines(lines)),
            properties: vec![
                ("id", Property::Count(Some(id))),
                ("level_m", Property::Real(network.lakes[k].level.metres())),
                ("area_m2", Property::Real(cells[id as usize] as f64 * cell_area)),
                ("runoff_m3_s", Property::Real(own)),
            ],
        }
    };
    trace_outlines(&network.lake, true).into_iter().map(feature).collect()
}

/// Converts the catchments of river mouths to areas with their properties.
fn basin_features(network: &Network, catchments: &Field<u32>, cell_area: f64) -> Vec<Feature> {
    let mut cells = vec![0u64; network.rivers.len() + 1];
    catchments.as_slice().iter().for_each(|river| cells[*river as usize] += 1);
    let feature = |(id, lines): (u32, Vec<_>)| Feature {
        shape: Geometry::Area(group_outlines(lines)),
        properties: vec![
            ("run", Property::Count(Some(id))),
            ("name", name_property(network, &network.rivers[id as usize - 1])),
            ("area_m2", Property::Real(cells[id as usize] as f64 * cell_area)),
        ],
    };
    trace_outlines(catchments, false).into_iter().map(feature).collect()
}

/// Reads the files that [`save_network`] wrote, for checking.
///
/// # Errors
/// Returns an error if a file is missing, has other content, or has another size than `height.tif`; or if the network
/// does not fit into memory.
pub fn read_network(folder: &Path) -> Result<RiverFiles> {
    let loaded = load_square_terrain(folder.join("height.tif"), &LoadOptions::default(), "a river network")?;
    let terrain = loaded.terrain;
    let size = terrain.grid.size;
    memory::check_memory(&folder.display().to_string(), BYTES.saturating_mul(terrain.grid.len() as u64))?;
    let field = |name: &str| {
        let path = folder.join(name);
        let raster = read_raster(&path)?;
        if raster.size != size {
            return Err(Error::invalid_file(&path, "differs in size from height.tif"));
        }
        Ok(raster.samples)
    };
    let counts = |name: &str| {
        let samples = field(name)?;
        Field::from_vec(size, (0..samples.len()).map(|k| samples.get(k) as u32).collect())
    };
    let surface = field("water_surface.tif")?;
    let grid = &terrain.grid;
    let reaches =
        river_files::read_as(&folder.join("rivers.geojson"), grid, |text| river_files::parse_reaches(text, grid))?;
    let lakes = river_files::read_as(&folder.join("lakes.geojson"), grid, river_files::parse_lakes)?;
    let about = river_files::read_as(&folder.join("network.json"), grid, river_files::parse_about)?;
    Ok(RiverFiles {
        cell: terrain.grid.cell,
        sea: about.sea_level,
        mouths: about.mouths,
        known: Field::from_fn(size, |i, j| !terrain.is_nodata(i, j)),
        ground: terrain.ground.map(|height| height.metres()),
        river: counts("rivers.tif")?,
        path: counts("paths.tif")?,
        lake: counts("lakes.tif")?,
        surface: Field::from_vec(size, (0..surface.len()).map(|k| surface.get(k)).collect())?,
        reaches,
        lakes,
    })
}
