//! Rasters with row 0 in the north, regardless of the row order in their files.

use super::WindowedMap;
use crate::{RasterHead, Samples, check_window_bounds, geokeys};
use thalweg_core::{CellRect, Result, Size};

/// A raster with another head, and if its file has its rows from south to north, with the rows turned.
struct Oriented {
    head: RasterHead,
    map: Box<dyn WindowedMap>,
    is_turned: bool,
}

/// Returns a raster with row 0 in the north, regardless of the row order in its file, and without a negligible skew.
pub fn orient_north_up(map: Box<dyn WindowedMap>) -> Box<dyn WindowedMap> {
    let mut head = map.head().clone();
    let Some(place) = &mut head.georeference else { return map };
    geokeys::remove_tiny_skew(place, head.size);
    let is_turned = geokeys::is_south_up(place);
    if is_turned {
        *place = geokeys::reverse_row_order(place, head.size);
    }
    if head == *map.head() {
        return map;
    }
    Box::new(Oriented { head, map, is_turned })
}

impl Oriented {
    /// Returns the same window in the file's row order.
    fn to_file_window(&self, window: CellRect) -> Result<CellRect> {
        check_window_bounds(self.head.size, window)?;
        if !self.is_turned {
            return Ok(window);
        }
        let first = self.head.size[0] - window.start[0] - window.size()[0];
        Ok(CellRect::new([first, window.start[1]], window.size()))
    }
}

impl WindowedMap for Oriented {
    fn head(&self) -> &RasterHead {
        &self.head
    }

    fn read_window(&self, window: CellRect) -> Result<Samples> {
        let samples = self.map.read_window(self.to_file_window(window)?)?;
        Ok(if self.is_turned { samples.flip_rows(window.cols()) } else { samples })
    }

    fn read_mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        let mask = self.map.read_mask(self.to_file_window(window)?)?;
        let turn = |mask: Vec<bool>| mask.rchunks(window.cols().max(1)).flatten().copied().collect();
        Ok(if self.is_turned { mask.map(turn) } else { mask })
    }

    fn block_size(&self) -> Size {
        self.map.block_size()
    }

    fn window_memory(&self, window: Size) -> [u64; 2] {
        let [fixed, each] = self.map.window_memory(window);
        // The window once more, in the file's row order.
        let turned = if self.is_turned { (window[0] * window[1] * self.head.kind.bytes()) as u64 } else { 0 };
        [fixed, each + turned]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MapInMemory, Raster};
    use thalweg_core::Georeference;

    #[test]
    fn windows_of_turned_rows_are_those_of_the_turned_raster() {
        let place = Georeference { transform: Some([500.0, 10.0, 1e-18, 700.0, 0.0, 10.0]), ..Georeference::default() };
        let samples = Samples::I16((0..35).collect());
        let raster = Raster {
            georeference: Some(place),
            mask: Some((0..35).map(|k| k % 3 == 0).collect()),
            ..Raster::new([5, 7], samples)
        };
        let turned = raster.clone().into_north_up();
        assert_eq!(turned.georeference.as_ref().unwrap().transform, Some([500.0, 10.0, 0.0, 750.0, 0.0, -10.0]));
        assert_eq!((turned.samples.get(0), turned.samples.get(34)), (28.0, 6.0));
        let map = orient_north_up(Box::new(MapInMemory::from(raster)));
        let whole = MapInMemory::from(turned);
        assert_eq!(map.head(), whole.head());
        for window in [CellRect::new([0, 0], [5, 7]), CellRect::new([1, 2], [3, 4]), CellRect::new([4, 6], [1, 1])] {
            assert_eq!(map.read_window(window).unwrap(), whole.read_window(window).unwrap());
            assert_eq!(map.read_mask(window).unwrap(), whole.read_mask(window).unwrap());
        }
        assert!(map.read_window(CellRect::new([3, 0], [3, 1])).is_err());
    }

    #[test]
    fn a_skew_counts_from_a_hundredth_of_a_cell_on() {
        let skewed = |skew: f64| {
            let place =
                Georeference { transform: Some([0.0, 10.0, skew, 0.0, skew, -10.0]), ..Georeference::default() };
            let raster = Raster { georeference: Some(place), ..Raster::new([50, 100], Samples::U8(vec![0; 5000])) };
            let map = orient_north_up(Box::new(MapInMemory::from(raster)));
            map.head().georeference.as_ref().unwrap().transform.unwrap()[4]
        };
        assert_eq!([1e-15, 0.0009, 0.0011].map(skewed), [0.0, 0.0, 0.0011]);
    }
}
