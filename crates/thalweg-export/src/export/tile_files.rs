//! Writes the files of an export: those of each tile, and the styles and features in addition to maps.

use super::LayerPlace;
use super::beside::{StyledMap, write_lines, write_style};
use super::encode::{MapBand, ValueStatistics, write_heights, write_map, write_picture};
use super::file_plan::{Coded, FilePlan};
use super::sheets::SheetExport;
use thalweg_core::{Cell, CellRect, Georeference, Result};

impl SheetExport {
    /// Writes those files of a tile that do not exist yet.
    pub(super) fn write_tile(&self, plan: &FilePlan, tile: Cell) -> Result<()> {
        for of in 0..=self.layers.len() {
            // Files that a previous run has completed, and whose checksum is unchanged, are not written again.
            let missing = |sheet: &&Coded| sheet.of == of && !plan.claimed.has_file(&self.file_name(sheet, tile));
            let sheets: Vec<&Coded> = plan.sheets.iter().filter(missing).collect();
            if sheets.is_empty() {
                continue;
            }
            let piece = self.read_tile(of, tile)?;
            let cols = piece.values.cols();
            for sheet in sheets {
                let path = self.folder.join(self.file_name(sheet, tile));
                let samples = sheet.coding.encode_samples(&piece);
                match (sheet.ending, of) {
                    ("tif", _) => {
                        let (unit, whole) = of
                            .checked_sub(1)
                            .map_or(("m", false), |k| (self.layers[k].unit.as_str(), self.layers[k].whole));
                        // A map without missing data needs no value for it.
                        // The value for no data is the same in all tiles, because they may be joined to one map.
                        let holes = self.seen.iter().any(|seen| seen[of].missing > 0);
                        let nodata = sheet.coding.nodata().filter(|_| holes);
                        let name = of.checked_sub(1).map_or("height", |k| self.layers[k].name.as_str());
                        let about = MapBand { name, unit, whole };
                        write_map(
                            &path,
                            &samples,
                            cols,
                            self.window_georeference(self.layout.tile_window(tile)),
                            nodata,
                            about,
                        )?;
                    }
                    (_, 0) => write_heights(&path, self.file, self.target.rows, samples, cols)?,
                    _ => write_picture(&path, samples, cols)?,
                }
                plan.claimed.record_file(&self.file_name(sheet, tile))?;
            }
        }
        Ok(())
    }

    /// Returns the georeference of a window, for a map that keeps its cells.
    fn window_georeference(&self, window: CellRect) -> Option<Georeference> {
        let [i, j]: [f64; 2] = window.start.map(|n| n as f64).into();
        let mut place = self.ground.grid.georeference.clone().unwrap_or_default();
        let cell = self.ground.grid.cell;
        let [x, x_j, x_i, y, y_j, y_i] = place.transform.unwrap_or([0.0, cell, 0.0, 0.0, 0.0, -cell]);
        place.transform = Some([x + j * x_j + i * x_i, x_j, x_i, y + j * y_j + i * y_i, y_j, y_i]);
        Some(place)
    }

    pub(super) fn write_extra_files(&self, plan: &FilePlan) -> Result<()> {
        if self.target.layers != LayerPlace::Rasters {
            return Ok(());
        }
        for sheet in &plan.sheets {
            let Some(seen) = self.seen.iter().map(|seen| seen[sheet.of].clone()).reduce(ValueStatistics::merge) else {
                continue;
            };
            let Some(range) = seen.range else { continue };
            let layer = sheet.of.checked_sub(1).map(|k| &self.layers[k]);
            for tile in &self.tiles {
                let map = StyledMap {
                    file: self.file_name(sheet, *tile),
                    range,
                    unit: layer.map_or("m", |layer| layer.unit.as_str()).to_string(),
                    classes: seen.classes.as_ref().map(|classes| classes.iter().copied().collect()),
                    ground: layer.is_none(),
                };
                write_style(&self.folder, &map)?;
            }
        }
        if self.collections.is_empty() {
            return Ok(());
        }
        let place = self.ground.grid.georeference.as_ref();
        write_lines(self.folder.join(format!("{}.gpkg", self.name)), &self.collections, place)
    }
}
