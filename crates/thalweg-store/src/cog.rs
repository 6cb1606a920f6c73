//! Export of a store's layer as a cloud-optimised GeoTIFF, for programs that do not read Zarr shards.

use std::path::Path;

use thalweg_core::{CellRect, Error, Result};
use thalweg_io::{Overviews, RasterHead, SampleType, Samples, write_cog};

use crate::store::{Store, check_outside};
use thalweg_io::WindowedMap as _;

/// The value for no data in layers whose samples are scaled.
const NODATA: f64 = -9999.0;

impl Store {
    /// Writes a finished layer as a COG of any size. Samples that the store scales are written as f32 values in their
    /// unit, others as they are. With `coarser` above 1, each cell is the mean of `coarser` × `coarser` cells (for
    /// identifiers and classes the first one with data, starting in the north-west), or no data if all of them have
    /// none. The result is an overview of the whole layer in an ordinary file.
    ///
    /// # Errors
    /// Returns an error if the layer does not exist or is not done, if `coarser` is 0 or wider than the map, or if the
    /// file cannot be written.
    pub fn save_cog(&self, layer: &str, path: &Path, coarser: usize) -> Result<()> {
        check_outside(path)?;
        let about = self.spec().layer(layer)?;
        let [rows, cols] = self.spec().size;
        if !(1..=rows.max(cols)).contains(&coarser) {
            return Err(Error::invalid_value("coarser", coarser, format!("1 to {} cells", rows.max(cols))));
        }
        let array = self.layer(layer)?;
        // Unscaled integers are identifiers or classes, which cannot be averaged.
        let classes = about.scale.is_none() && !matches!(about.kind, SampleType::F32 | SampleType::F64);
        let kind = if about.scale.is_some() { SampleType::F32 } else { about.kind };
        let nodata = if about.scale.is_some() && about.fill_is_nodata { NODATA } else { about.fill };
        let mut place = self.georeference();
        // Coarser cells are wider by this factor; the north-western corner stays.
        place.transform = place.transform.map(|[x, a, b, y, d, e]| {
            let wide = coarser as f64;
            [x, a * wide, b * wide, y, d * wide, e * wide]
        });
        let head = RasterHead {
            nodata: Some(nodata).filter(|_| about.fill_is_nodata),
            unit: Some(about.unit.clone()).filter(|unit| unit != "1"),
            georeference: Some(place),
            ..RasterHead::new([rows.div_ceil(coarser), cols.div_ceil(coarser)], kind)
        };
        let scale = about.scale.unwrap_or(1.0);
        // The fill value is replaced before scaling, because its scaled value would be an ordinary number.
        let value = |sample: f64| if sample == about.fill { nodata } else { sample * scale };
        let overviews = if classes { Overviews::Classes } else { Overviews::Means };
        write_cog(path, &head, overviews, |window: CellRect| {
            if coarser == 1 && about.scale.is_none() {
                return array.read_window(window);
            }
            let mut out = Samples::filled(kind, 0, 0.0)?;
            let end = window.start[0] + window.size()[0];
            // As many rows of the result at once as one row of chunks covers, so that no chunk is decoded repeatedly.
            for band in (window.start[0]..end).step_by(CHUNK.div_ceil(coarser)) {
                let last = end.min(band + CHUNK.div_ceil(coarser));
                // The window is converted to cells of the layer. At the southern and eastern edges blocks may be
                // incomplete.
                let [first_row, first_col] = [band * coarser, window.start[1] * coarser];
                let size = [(last * coarser).min(rows) - first_row, (window.size()[1] * coarser).min(cols - first_col)];
                let samples = array.read_window(CellRect::new([first_row, first_col], size))?;
                for first_row in (0..size[0]).step_by(coarser) {
                    let down = first_row..(first_row + coarser).min(size[0]);
                    for first in (0..size[1]).step_by(coarser) {
                        let across = first..(first + coarser).min(size[1]);
                        let cells = down.clone().flat_map(|row| across.clone().map(move |col| row * size[1] + col));
                        let samples = cells.map(|k| samples.get(k));
                        let with_data = samples.filter(|sample| {
                            (*sample != about.fill || (!classes && !about.fill_is_nodata)) && !sample.is_nan()
                        });
                        out.push(match classes {
                            true => value(with_data.take(1).fold(about.fill, |_, sample| sample)),
                            false => average_values(with_data.map(value)).unwrap_or(nodata),
                        });
                    }
                }
            }
            Ok(out)
        })
    }
}

/// The number of rows that are decoded at once: those of an inner chunk.
const CHUNK: usize = 256;

fn average_values(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
