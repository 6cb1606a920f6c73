//! The first pass over elevation files: which values stand for no data is known only when all samples have been
//! examined.

use std::sync::Arc;

use serde_json::json;
use thalweg_core::Result;
use thalweg_core::terrain::TileGrid;
use thalweg_io::{HeightReading, SampleStatistics};
use thalweg_tiled::{Product, Summaries, TileInput, TileOutput, TilePass};

use super::{MESSAGE, damaged_content_error, parse_json, to_json_bytes};
use crate::source::ElevationFile;

/// Examines files of the same size. Its answer says how the samples of each become heights; of its findings, the cell
/// count and the overridden units are those of the first file, and the warnings those of all files.
pub struct ExaminePass {
    pub files: Vec<Arc<ElevationFile>>,
    pub tiles: TileGrid,
}

/// The reading of the first file.
pub fn first_reading(readings: &[HeightReading]) -> Result<&HeightReading> {
    readings.first().ok_or_else(|| damaged_content_error("answer of `look`", "it lists no file"))
}

impl TilePass for ExaminePass {
    fn name(&self) -> &str {
        "look"
    }

    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        let side = tiles.tile_size();
        let read = self.files.iter().map(|file| file.memory([side, side])[1]).max().unwrap_or(0);
        16 * (side * side) as u64 + read
    }

    fn run_tile(&self, TileInput { tile, .. }: TileInput<'_>) -> Result<TileOutput> {
        let window = self.tiles.tile_window(tile);
        let looks = self.files.iter().map(|file| file.examine_window(window)).collect::<Result<Vec<_>>>()?;
        Ok(TileOutput { summary: to_json_bytes(&looks)?, ..TileOutput::default() })
    }

    fn solve_bytes(&self) -> u64 {
        MESSAGE * (self.files.len() * self.tiles.tile_count()) as u64
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let mut whole = vec![SampleStatistics::default(); self.files.len()];
        for tile in 0..summaries.count() {
            let looks: Vec<SampleStatistics> = parse_json("summary of `look`", &summaries.read(tile)?)?;
            whole = whole.into_iter().zip(looks).map(|(all, part)| all.merge(part)).collect();
        }
        let (mut readings, mut warnings) = (Vec::new(), Vec::new());
        for (file, look) in self.files.iter().zip(&whole) {
            let (reading, said) =
                file.reading().clone().resolve_nodata_and_scale(look).map_err(|problem| file.file_error(problem))?;
            readings.push(reading);
            warnings.push(said);
        }
        if let (Some(file), Some(look)) = (self.files.first(), whole.first()) {
            found(Product::Figure("cells", look.cells.into()))?;
            found(Product::Figure("warnings", json!(warnings.concat())))?;
            if !file.overridden_units().is_empty() {
                found(Product::Figure("units_overridden", json!(file.overridden_units())))?;
            }
        }
        // Every tile receives the readings of all files.
        Ok(vec![to_json_bytes(&readings)?; self.tiles.tile_count()])
    }
}
