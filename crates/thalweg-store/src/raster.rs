//! Rasters with row 0 in the north, regardless of the row order in their files.

use thalweg_core::{CellRect, Result, Size};
use thalweg_io::{Head, Samples, WindowedMap, inside};

/// A raster whose file has its rows from south to north, read from north to south.
struct Turned<R> {
    head: Head,
    own: R,
}

/// Returns a raster with row 0 in the north, regardless of the row order in its file.
pub fn upright(own: impl WindowedMap + 'static) -> Box<dyn WindowedMap> {
    let mut head = own.head().clone();
    match head.georeference.as_mut().and_then(|place| place.transform.as_mut()) {
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
    fn there(&self, window: CellRect) -> Result<CellRect> {
        inside(self.head.size, window)?;
        let first = self.head.size[0] - window.start[0] - window.size()[0];
        Ok(CellRect::new([first, window.start[1]], window.size()))
    }
}

impl<R: WindowedMap> WindowedMap for Turned<R> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn read(&self, window: CellRect) -> Result<Samples> {
        let samples = self.own.read(self.there(window)?)?;
        let [rows, cols] = window.size();
        let mut turned = Samples::filled(samples.kind(), rows * cols, 0.0)?;
        for i in 0..rows {
            let row = CellRect::new([i, 0], [1, cols]);
            turned.paste(window.size(), row, &samples, window.size(), [rows - 1 - i, 0])?;
        }
        Ok(turned)
    }

    fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        let mask = self.own.mask(self.there(window)?)?;
        Ok(mask.map(|mask| mask.rchunks_exact(window.size()[1].max(1)).flatten().copied().collect()))
    }

    fn memory(&self, window: Size) -> [u64; 2] {
        let [held, each] = self.own.memory(window);
        // The window once more, in the file's row order.
        [held, each + (window[0] * window[1] * self.head.kind.bytes()) as u64]
    }
}
