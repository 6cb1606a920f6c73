//! The first pass over elevation models: what stands for no data is known only when all samples were looked at.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use thalweg::io::{HeightReading, SampleLook, Samples};
use thalweg::tiled::{Summaries, Tiling};
use thalweg::{Error, Result};

use super::{MESSAGE, read, words};
use crate::source::ElevationFile;
use crate::stage::{Answers, Stage, TileInput};

/// Looks at files of one size. Its answer is how the samples of each become heights; what it finds is told of the first.
pub struct Look {
    pub files: Vec<Arc<ElevationFile>>,
    pub tiling: Tiling,
}

impl Look {
    /// What the files hold, and the most that one takes while a tile of it is read.
    fn memory(&self) -> [u64; 2] {
        let side = self.tiling.side();
        let files = self.files.iter().map(|file| file.memory([side, side]));
        files.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1].max(one[1])])
    }
}

/// The reading of the first file.
pub fn first(readings: &[HeightReading]) -> Result<&HeightReading> {
    readings.first().ok_or_else(|| Error::value("the answer of `look`", "nothing", "the reading of each file"))
}

impl Stage for Look {
    fn name(&self) -> &str {
        "look"
    }

    fn bytes(&self) -> u64 {
        let side = self.tiling.side();
        16 * (side * side) as u64 + self.memory()[1]
    }

    fn tile(&self, tile: usize, _: TileInput<'_>) -> Result<(Vec<Samples>, Vec<u8>)> {
        let window = self.tiling.window(tile);
        let looks = self.files.iter().map(|file| file.look(window)).collect::<Result<Vec<_>>>()?;
        Ok((Vec::new(), words(&looks)?))
    }

    fn solve_bytes(&self) -> u64 {
        self.memory()[0] + MESSAGE * (self.files.len() * self.tiling.count()) as u64
    }

    fn solve(&self, summaries: &dyn Summaries, _: &Path) -> Result<Answers> {
        let mut whole = vec![SampleLook::default(); self.files.len()];
        for tile in 0..summaries.count() {
            let looks: Vec<SampleLook> = read("a summary of `look`", &summaries.read(tile)?)?;
            whole = whole.into_iter().zip(looks).map(|(all, part)| all.merge(part)).collect();
        }
        let (mut readings, mut warnings) = (Vec::new(), Vec::new());
        for (file, look) in self.files.iter().zip(&whole) {
            let (reading, said) = file.reading().clone().settle(look).map_err(|problem| file.refuse(problem))?;
            readings.push(reading);
            warnings.push(said);
        }
        let mut answers = Answers { tiles: vec![words(&readings)?; self.tiling.count()], ..Answers::default() };
        if let (Some(file), Some(look)) = (self.files.first(), whole.first()) {
            answers.found.insert("cells".into(), look.cells.into());
            answers.found.insert("warnings".into(), json!(warnings.concat()));
            if !file.overridden().is_empty() {
                answers.found.insert("units_overridden".into(), json!(file.overridden()));
            }
        }
        Ok(answers)
    }
}
