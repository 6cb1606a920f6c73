//! [`InputLayer`]: a layer from a file that is an input of a model, read by windows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_core::terrain::{Cells, LayerSpec};
use thalweg_core::{CellRect, Error, Field, Height, Result, Size};
use thalweg_io::{HeightReading, LoadOptions, layer_piece};
use thalweg_models::models::elevation::ELEVATION;
use thalweg_tiled::layer::NO_HEIGHT;

use crate::WindowedMap;
use crate::source::{ElevationFile, open_raster, read_piece};

/// A layer from a file: the layer of elevations is read as an elevation model, any other as samples.
pub struct InputLayer {
    pub spec: LayerSpec,
    path: PathBuf,
    from: InputSource,
}

enum InputSource {
    Samples(Box<dyn WindowedMap>),
    Heights(Arc<ElevationFile>),
}

impl InputLayer {
    /// Opens the layer for a map of this size.
    pub fn open(spec: LayerSpec, path: &Path, size: Size) -> Result<Self> {
        let from = if spec == ELEVATION {
            InputSource::Heights(Arc::new(ElevationFile::open(path, &LoadOptions::default())?))
        } else {
            InputSource::Samples(open_raster(path)?)
        };
        let own = match &from {
            InputSource::Samples(raster) => raster.size(),
            InputSource::Heights(file) => file.grid().size,
        };
        if own != size {
            let problem = format!(
                "comes from {}, which has {} × {} cells (columns × rows); it must have the size of the map, {} × {}",
                path.display(),
                own[1],
                own[0],
                size[1],
                size[0]
            );
            return Err(Error::invalid_layer(spec.name, problem));
        }
        Ok(Self { spec, path: path.to_path_buf(), from })
    }

    /// Returns the elevation model, if the layer is one.
    pub fn as_elevation_file(&self) -> Option<Arc<ElevationFile>> {
        match &self.from {
            InputSource::Heights(file) => Some(Arc::clone(file)),
            InputSource::Samples(_) => None,
        }
    }

    /// The memory in bytes that the layer holds as long as it is open, and that it takes in addition to the result
    /// while a window of this size (rows, columns) is read.
    pub fn memory(&self, window: Size) -> [u64; 2] {
        match &self.from {
            InputSource::Samples(raster) => raster.window_memory(window),
            InputSource::Heights(file) => file.memory(window),
        }
    }

    /// Reads the cells of a window; `reading` is required for an elevation model.
    pub fn read_window(&self, window: CellRect, reading: Option<&HeightReading>) -> Result<Cells> {
        let file = match &self.from {
            InputSource::Samples(raster) => {
                return layer_piece(&self.path, &read_piece(&**raster, window)?, window.start, &self.spec);
            }
            InputSource::Heights(file) => file,
        };
        let reading = reading.ok_or_else(|| {
            Error::invalid_layer(self.spec.name, "was not examined by the first stage; run the stages in order")
        })?;
        // A model receives this layer as floats in metres, with NaN for no data.
        let metres = |height: i32| if height == NO_HEIGHT { f32::NAN } else { Height(height).metres_f32() };
        let heights = file.read_heights(window, reading)?;
        Ok(Cells::Float(Field::from_vec(window.size(), heights.into_iter().map(metres).collect())?))
    }
}
