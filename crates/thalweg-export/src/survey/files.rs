//! A survey's folder: rasters, vectors, a map, the water of a given runoff, and the report that lists the files.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{DrainOptions, Survey};
use thalweg_core::base::clock::YEAR;
use thalweg_core::terrain::{Cells, DISCHARGE, DRAINAGE_AREA, FLOW_DIRECTION, POOL};
use thalweg_core::{Field, Height, Result, Terrain};
use thalweg_flow::{VOID, infinity, streams};
use thalweg_io::depression_file::DepressionFile;
use thalweg_io::features::save_reaches;
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::water::{self, save_water};
use thalweg_io::{
    Draft, MapPixels, Samples, SaveOptions, Saved, output, save_layer, save_picture, save_samples, save_terrain,
    save_world_file, write_atomically,
};
use thalweg_models::models::drainage::{BASIN, LAKE_DEPTH};
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions, draw_map};
use thalweg_render::pictures::water::Water;

/// The name of the report, which lists the other files.
pub const REPORT: &str = "drain.json";

/// The files of every survey, in addition to those of the layers and to the report.
const FILES: [&str; 8] =
    ["filled.tif", "angles.tif", "basins.tif", "streams.tif", "streams.geojson", "streams.fgb", "map.png", "map.pgw"];

/// The table of depressions, if requested.
const DEPRESSIONS: &str = "depressions.csv";

/// Returns the names of all files of a survey with these options.
fn survey_file_names(options: &DrainOptions) -> Vec<String> {
    let layers = [LAKE_DEPTH, FLOW_DIRECTION, DRAINAGE_AREA].map(|spec| format!("{}.tif", spec.name));
    let cut = options.breach.map(|_| "cut.tif".to_string());
    let running = options.runoff.into_iter().flat_map(|_| {
        let rasters = ["height", POOL.name, DISCHARGE.name].map(|name| format!("{name}.tif"));
        rasters.into_iter().chain(water::FILES.map(String::from))
    });
    let nested = options.depressions.then_some(DEPRESSIONS);
    FILES.into_iter().chain([REPORT]).chain(nested).map(String::from).chain(layers).chain(cut).chain(running).collect()
}

/// Checks that the files of a survey with these options may be written to `folder`: none of them is among the input
/// files `reads`, and none is listed by the report of something else. Nothing is created.
///
/// # Errors
/// Returns an error for the first file that may not be written.
pub fn check_files(folder: &Path, options: &DrainOptions, reads: &[PathBuf]) -> Result<()> {
    let names = survey_file_names(options);
    check_distinct_files(reads, &names.iter().map(|name| folder.join(name)).collect::<Vec<_>>())?;
    output::check_names(folder, REPORT, &names)
}

impl Survey {
    /// Writes the survey's files for `folder`, which must exist. `terrain` is the terrain that was surveyed; `nodata`
    /// is the value for no data in `filled`, if one is requested. The files get their names by [`Draft::commit`]; until
    /// then the caller may add to the report.
    ///
    /// The rasters are GeoTIFFs: `filled` (m), `lake_depth` (m), `flow_direction` (ESRI codes), `angles` (radians),
    /// `drainage_area` (m²), `basins`, `streams` (Strahler orders), and `cut` (m) if channels were carved. The other
    /// files are `streams.geojson` and `.fgb`, `map.png` and `.pgw`, `depressions.csv` if requested, and [`REPORT`].
    /// With runoff there are also `height` (m), `pool` (m), `discharge` (m³/s), and the files of [`save_water`].
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or if the terrain has another size than the surveyed one.
    pub fn write_draft(&self, folder: &Path, terrain: &Terrain, nodata: Option<f64>) -> Result<Draft> {
        Draft::new(|draft| {
            let at = draft.temporary_folder(folder)?;
            // Rasters and lines do not depend on each other, so they are written at the same time.
            let (rasters, lines) =
                rayon::join(|| self.write_rasters(&at, terrain, nodata), || self.write_reaches(&at, terrain));
            draft.add_saved(rasters?);
            draft.add_saved(lines?);
            draft.add_saved(self.write_depressions(&at, terrain)?);
            if let Some(millimetres) = self.options.runoff {
                draft.add_saved(self.write_runoff(&at, terrain, millimetres)?);
            }
            draft.report = json!(self.summarize(&terrain.grid));
            draft.add_report_path(folder.join(REPORT), true);
            Ok(())
        })
    }

    /// Draws the map of the survey: relief, filled lakes, streams.
    ///
    /// # Errors
    /// Returns an error if the terrain has another size than the surveyed one.
    pub fn draw_drainage_map(&self, terrain: &Terrain) -> Result<Picture> {
        let water = Water { pools: Some(&self.lake_depth), ..Water::default() };
        let land = DrawnLand { water, rivers: &self.channels.reaches, ..terrain.into() };
        draw_map(land, &ShadeOptions { max_size: Some(SCREEN), ..ShadeOptions::default() })
    }

    /// Returns the bare ground of `terrain` with the water of a runoff of `millimetres` per year and with full
    /// depressions: with the layers [`POOL`] in metres and [`DISCHARGE`] in m³/s, as in a built world. For example, 300
    /// mm a year from 1 km² are 0.0095 m³/s.
    ///
    /// # Errors
    /// Returns an error if the terrain has another size than the surveyed one.
    ///
    /// # Examples
    /// The result has a full pool and a discharge; the ground is unchanged.
    ///
    /// ```
    /// use thalweg_core::terrain::{DISCHARGE, POOL};
    /// use thalweg_core::{Grid, NoProgress, Terrain};
    /// use thalweg_export::survey::{Survey, DrainOptions};
    ///
    /// // A pit of 1 m in a slope that falls to the east.
    /// let heights = [9.0, 8.0, 7.0, 9.0, 5.0, 6.0, 9.0, 8.0, 7.0];
    /// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
    /// let survey = Survey::from_terrain(&terrain, &DrainOptions::default(), &mut NoProgress)?;
    /// let flooded = survey.flood_terrain(&terrain, 300.0)?;
    /// assert_eq!(flooded.height_layer(&POOL).unwrap()[(1, 1)].metres(), 1.0);
    /// assert!(flooded.float_layer(&DISCHARGE).unwrap()[(1, 2)] > 0.0);
    /// assert_eq!(flooded.ground, terrain.ground);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn flood_terrain(&self, terrain: &Terrain, millimetres: f64) -> Result<Terrain> {
        // This is the runoff of one cell in m³/s; `YEAR` is in seconds.
        let each = terrain.grid.cell_area() * millimetres / 1000.0 / YEAR;
        let mut flooded = with_other_ground(terrain, terrain.ground.clone())?;
        flooded.insert_layer(&POOL, Cells::Height(self.lake_depth.clone()))?;
        flooded.insert_layer(&DISCHARGE, Cells::Float(self.cells.map(|n| (f64::from(*n) * each) as f32)))?;
        Ok(flooded)
    }

    /// Writes the rasters.
    fn write_rasters(&self, folder: &Path, terrain: &Terrain, nodata: Option<f64>) -> Result<Saved> {
        let grid = &terrain.grid;
        let mut saved = Saved::default();
        let mut path = |name: &str| {
            let path = folder.join(format!("{name}.tif"));
            saved.add_file(path.clone());
            path
        };
        // Layers of the terrain do not belong to a survey, so the surface has none.
        let surface = with_other_ground(terrain, self.filled.clone())?;
        let said = save_terrain(path("filled"), &surface, &SaveOptions { nodata, ..SaveOptions::default() })?;
        let depths = Cells::Height(self.lake_depth.clone());
        save_layer(path(LAKE_DEPTH.name), &surface, LAKE_DEPTH.name, &depths)?;
        // ESRI codes are the powers of two up to 128, and 0 for an outlet, so 255 is free for no data.
        let directions = Samples::U8(streams::to_esri_codes(&self.directions).into_vec());
        let name = FLOW_DIRECTION.name;
        save_samples(path(name), grid, [name, "1"], directions, Some(VOID.into()))?;
        let none = Some(f64::from(infinity::NONE));
        save_samples(path("angles"), grid, ["flow angle", "rad"], Samples::F32(self.angles.as_slice().to_vec()), none)?;
        let areas = Samples::F64(self.drainage_area(grid).into_vec());
        save_samples(path(DRAINAGE_AREA.name), grid, [DRAINAGE_AREA.name, "m2"], areas, Some(0.0))?;
        save_samples(
            path("basins"),
            grid,
            [BASIN.name, "1"],
            Samples::U32(self.basins.as_slice().to_vec()),
            Some(0.0),
        )?;
        // A Strahler order of n needs at least 2ⁿ⁻¹ sources, so no order comes near the limit of 8 bits.
        let orders = self.orders.as_slice().iter().map(|order| u8::try_from(*order).unwrap_or(u8::MAX)).collect();
        save_samples(path("streams"), grid, ["stream order", "1"], Samples::U8(orders), Some(0.0))?;
        if let Some(cut) = &self.cut {
            save_layer(path("cut"), &surface, "cut", &Cells::Height(cut.clone()))?;
        }
        saved.said.extend(said);
        Ok(saved)
    }

    /// Writes the channel reaches, and the map that shows them.
    fn write_reaches(&self, folder: &Path, terrain: &Terrain) -> Result<Saved> {
        let files = ["streams.geojson", "streams.fgb", "map.png"].map(|name| folder.join(name));
        let said = save_reaches(&files[0], &self.channels.reaches, &terrain.grid)?;
        save_reaches(&files[1], &self.channels.reaches, &terrain.grid)?;
        save_picture(&files[2], &self.draw_drainage_map(terrain)?)?;
        let pixels = MapPixels::for_shaded_map(terrain.grid.size, Some(SCREEN));
        let place = save_world_file(&files[2], &terrain.grid, pixels)?;
        Ok(Saved { files: files.into_iter().chain([place]).collect(), said })
    }

    /// Writes the table of depressions, if requested.
    fn write_depressions(&self, folder: &Path, terrain: &Terrain) -> Result<Saved> {
        let mut saved = Saved::default();
        if let Some(depressions) = &self.depressions {
            let path = folder.join(DEPRESSIONS);
            write_atomically(&path, |file| {
                let mut file = DepressionFile::new(file, &path, &terrain.grid)?;
                depressions.iter().try_for_each(|one| file.write_row(one))?;
                file.finish()
            })?;
            saved.add_file(path);
        }
        Ok(saved)
    }

    /// Writes the terrain with the water of the runoff, and the files derived from it.
    fn write_runoff(&self, folder: &Path, terrain: &Terrain, millimetres: f64) -> Result<Saved> {
        let terrain = self.flood_terrain(terrain, millimetres)?;
        let path = |name: &str| folder.join(format!("{name}.tif"));
        save_terrain(path("height"), &terrain, &SaveOptions::default())?;
        for (name, layer) in &terrain.layers {
            save_layer(path(name), &terrain, name, &layer.cells)?;
        }
        let files = ["height", POOL.name, DISCHARGE.name].map(path).into();
        let mut saved = Saved { files, said: Vec::new() };
        saved.extend(save_water(folder, &terrain)?.0);
        Ok(saved)
    }
}

/// Returns a terrain with other ground on the same cells, without layers.
fn with_other_ground(terrain: &Terrain, ground: Field<Height>) -> Result<Terrain> {
    let bare = Terrain::from_ground(terrain.grid.clone(), ground)?;
    Ok(Terrain { nodata: terrain.nodata.clone(), ..bare })
}
