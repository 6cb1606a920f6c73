//! Rasters with row 0 in the north, regardless of the row order in their files.

use thalweg_core::{CellRect, Result, Size};
use thalweg_io::{RasterHead, Samples, WindowedMap, check_window_bounds};

/// A raster whose file has its rows from south to north, read from north to south.
struct Turned<R> {
    head: RasterHead,
    own: R,
}

/// Returns a raster with row 0 in the north, regardless of the row order in its file.
pub fn orient_north_up(own: impl WindowedMap + 'static) -> Box<dyn WindowedMap> {
    let mut head = own.head().clone();
    match head.georeference.as_mut().and_then(|place| place.transform.as_mut()) {
        // A positive step means that rows go north. The origin moves to the northern edge and the step changes its
        // sign.
        Some([_, _, across, north, _, down]) if *down > 0.0 && *across == 0.0 => {
            *north += *down * head.size[0] as f64;
            *down = -*down;
            Box::new(Turned { head, own })
        }
        _ => Box::new(own),
    }
}

impl<R: WindowedMap> Turned<R> {
    /// Returns the same window in the file's row order.
    fn to_file_window(&self, window: CellRect) -> Result<CellRect> {
        check_window_bounds(self.head.size, window)?;
        let first = self.head.size[0] - window.start[0] - window.size()[0];
        Ok(CellRect::new([first, window.start[1]], window.size()))
    }
}

impl<R: WindowedMap> WindowedMap for Turned<R> {
    fn head(&self) -> &RasterHead {
        &self.head
    }

    fn read_window(&self, window: CellRect) -> Result<Samples> {
        let samples = self.own.read_window(self.to_file_window(window)?)?;
        let [rows, cols] = window.size();
        let mut turned = Samples::filled(samples.kind(), rows * cols, 0.0)?;
        for i in 0..rows {
            // Rows are reversed; the order of columns stays.
            let row = CellRect::new([i, 0], [1, cols]);
            turned.paste(window.size(), row, &samples, window.size(), [rows - 1 - i, 0])?;
        }
        Ok(turned)
    }

    fn read_mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        let mask = self.own.read_mask(self.to_file_window(window)?)?;
        Ok(mask.map(|mask| mask.rchunks_exact(window.size()[1].max(1)).flatten().copied().collect()))
    }

    fn window_memory(&self, window: Size) -> [u64; 2] {
        let [fixed, each] = self.own.window_memory(window);
        // The window once more, in the file's row order.
        [fixed, each + (window[0] * window[1] * self.head.kind.bytes()) as u64]
    }
}
