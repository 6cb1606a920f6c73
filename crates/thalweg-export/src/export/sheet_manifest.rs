//! The content of the manifest of an export of files: layout, range, files with their checksums, and layers.

use serde_json::{Value, json};

use super::encode::SampleEncoding;
use super::file_plan::{Coded, FilePlan};
use super::instructions::{self, ImportFacts};
use super::manifest::checksum_file;
use super::sheets::SheetExport;
use thalweg_core::{MapPoint, Result};
use thalweg_io::SampleType;

impl SheetExport {
    pub(super) fn build_manifest(&self, plan: &FilePlan, facts: &ImportFacts<'_>, how: &str) -> Result<Value> {
        let target = self.target;
        let [rows, columns] = self.layout.total_size();
        let mut files = Vec::new();
        for sheet in &plan.sheets {
            for (k, tile) in self.tiles.iter().enumerate() {
                let name = self.file_name(sheet, *tile);
                let (bytes, crc) = checksum_file(&self.folder.join(&name))?;
                // The offset is the distance of the tile's first sample from that of the export, to the east and to the
                // south.
                let start = self.layout.tile_window(*tile).start;
                let offset = [start[1] as f64 * self.spacing[1], start[0] as f64 * self.spacing[0]];
                let seen = &self.seen[k][sheet.of];
                let mut file = json!({
                    "file": name, "tile": [tile[1], tile[0]], "offset_m": offset, "bytes": bytes, "crc32": format!("{crc:08x}"),
                });
                if seen.missing > 0 {
                    file["nodata"] = seen.missing.into();
                }
                if let Some(layer) = sheet.of.checked_sub(1).map(|k| &self.layers[k]) {
                    file["layer"] = layer.name.as_str().into();
                }
                files.push(file);
            }
        }
        for name in self.extra_file_names(&plan.sheets) {
            let (bytes, crc) = checksum_file(&self.folder.join(&name))?;
            files.push(json!({"file": name, "bytes": bytes, "crc32": format!("{crc:08x}")}));
        }
        let layers: Vec<Value> =
            plan.sheets.iter().filter(|sheet| sheet.of > 0).map(|sheet| self.describe_samples(sheet)).collect();
        let numbers: serde_json::Map<String, Value> = instructions::import_numbers(facts)
            .into_iter()
            .filter(|(name, _)| {
                target.how.contains(&format!("{{{name}}}")) || target.how_tiles.contains(&format!("{{{name}}}"))
            })
            .map(|(name, value)| {
                (name.to_string(), value.parse::<f64>().map_or_else(|_| value.clone().into(), Value::from))
            })
            .collect();
        let mut manifest = json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "target": target.name,
            "plan": "",
            "name": self.name,
            "samples": [columns, rows],
            "tiles": [self.layout.tiles[1], self.layout.tiles[0]],
            "tile_samples": [self.layout.side[1], self.layout.side[0]],
            "edges": if self.layout.shared { "shared" } else { "adjacent" },
            "spacing_m": [self.spacing[1], self.spacing[0]],
            "minimum": plan.range[0],
            "maximum": plan.range[1],
            "sample": self.file.sample,
            "byte_order": if self.file.ending == "png" { "big" } else { "little" },
            "first_row": target.rows,
            "nodata": plan.heights.once,
            "crs": self.describe_crs(),
            "source_samples": [self.ground.grid.size[1], self.ground.grid.size[0]],
            "layers": layers,
            "import": how,
            "numbers": numbers,
            "files": files,
        });
        manifest["plan"] = plan.claimed.plan.as_str().into();
        if let Some(place) = self.first_sample_point() {
            manifest["first_sample"] = json!(place);
        }
        if let Some((seed, hash)) = &self.ground.recipe {
            manifest["seed"] = (*seed).into();
            manifest["recipe_hash"] = hash.as_str().into();
        }
        Ok(manifest)
    }

    /// Returns the map coordinates of the first sample, which is the terrain's first sample.
    fn first_sample_point(&self) -> Option<MapPoint> {
        let [x, x_j, x_i, y, y_j, y_i] = self.ground.grid.georeference.as_ref()?.transform?;
        // The transform refers to the corner of a cell, and samples are at its centre.
        Some(MapPoint::new(x + 0.5 * x_j + 0.5 * x_i, y + 0.5 * y_j + 0.5 * y_i))
    }

    /// Describes the meaning of the samples of a layer's file.
    fn describe_samples(&self, sheet: &Coded) -> Value {
        let layer = &self.layers[sheet.of - 1];
        let mut encoding =
            json!({"layer": layer.name, "unit": layer.unit, "files": format!("{}*.{}", sheet.head, sheet.ending)});
        match &sheet.coding {
            SampleEncoding::Range([low, high], kind) => {
                encoding["sample"] = json!(kind);
                encoding["minimum"] = (*low).into();
                encoding["maximum"] = (*high).into();
            }
            SampleEncoding::Mask(class) => {
                encoding["sample"] = json!(SampleType::U8);
                encoding["class"] = (*class).into();
            }
            SampleEncoding::Codes(kind, _) => encoding["sample"] = json!(kind),
            SampleEncoding::Real(_) => encoding["sample"] = json!(SampleType::F32),
        }
        encoding
    }

    pub(super) fn describe_crs(&self) -> String {
        let place = self.ground.grid.georeference.as_ref();
        let named = place.and_then(|place| place.epsg()).map(|code| format!("EPSG:{code}"));
        named.unwrap_or_else(|| "no reference system".to_string())
    }
}
