//! [`WindowedMap`]: a map that is read by windows, wherever it lies.

use thalweg::io::{Head, Samples, TiffWindows, VrtWindows, inside};
use thalweg::terrain::CellRect;
use thalweg::terrain::field::Size;
use thalweg::{Error, Result};

/// A map that is read by windows. Many threads may read it at once.
pub trait WindowedMap: Send + Sync {
    /// Size, type of the samples, no data, unit, place.
    fn head(&self) -> &Head;

    /// The samples of a window in row-major order, as they stand in the file: neither scaled nor masked.
    ///
    /// # Errors
    /// A window that does not lie inside the map; what cannot be read.
    fn read(&self, window: CellRect) -> Result<Samples>;

    /// True where a mask of the file's own says that there is no data; `None` if it has none.
    ///
    /// # Errors
    /// As [`WindowedMap::read`].
    fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        inside(self.size(), window).map(|()| None)
    }

    /// Bytes of memory that it holds as long as it is open, and that it takes beside the result while a window of so many rows and columns is read.
    fn memory(&self, window: Size) -> [u64; 2] {
        let _ = window;
        [0; 2]
    }

    /// Rows and columns.
    fn size(&self) -> Size {
        self.head().size
    }
}

/// A map in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    head: Head,
    samples: Samples,
    mask: Option<Vec<bool>>,
}

impl Memory {
    /// A map of samples in row-major order. The type of the samples is theirs, whatever `head` says.
    ///
    /// # Errors
    /// Samples that are not as many as `head.size` has cells.
    pub fn new(head: Head, samples: Samples) -> Result<Self> {
        if head.size[0].checked_mul(head.size[1]) != Some(samples.len()) {
            let size = format!("{} × {} (rows × columns)", head.size[0], head.size[1]);
            return Err(Error::value("samples", samples.len(), size));
        }
        Ok(Self { head: Head { kind: samples.kind(), ..head }, samples, mask: None })
    }

    /// All samples.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }
}

impl From<thalweg::io::Raster> for Memory {
    /// What was read of a file of any format.
    fn from(read: thalweg::io::Raster) -> Self {
        Self { head: read.head(), samples: read.samples, mask: read.mask }
    }
}

impl WindowedMap for Memory {
    fn head(&self) -> &Head {
        &self.head
    }

    fn read(&self, window: CellRect) -> Result<Samples> {
        self.samples.window(self.head.size, window)
    }

    fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        inside(self.size(), window)?;
        let cols = self.head.size[1];
        let rows = window.start[0]..window.start[0] + window.size()[0];
        let cut = |mask: &Vec<bool>| {
            rows.flat_map(|i| &mask[i * cols + window.start[1]..][..window.size()[1]]).copied().collect::<Vec<_>>()
        };
        Ok(self.mask.as_ref().map(cut))
    }

    fn memory(&self, _: Size) -> [u64; 2] {
        // As wide as samples are, and a mask: more than most are, for what reads them holds the file's bytes as well.
        [9 * self.samples.len() as u64, 0]
    }
}

/// A map whose rows run from south to north, read from north to south.
struct Turned<R> {
    head: Head,
    own: R,
}

/// A map with row 0 in the north, wherever the row lies in its file.
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
    /// The same window in the file.
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
        // The window once more, as it lies in the file.
        [held, each + (window[0] * window[1] * self.head.kind.bytes()) as u64]
    }
}

/// Files that are read by windows have the trait's methods as their own.
macro_rules! windowed {
    ($($windows:ty),+) => { $(
        impl WindowedMap for $windows {
            fn head(&self) -> &Head {
                self.head()
            }
            fn read(&self, window: CellRect) -> Result<Samples> {
                self.read(window)
            }
            fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
                self.mask(window)
            }
            fn memory(&self, window: Size) -> [u64; 2] {
                self.memory(window)
            }
        }
    )+ };
}
windowed!(TiffWindows, VrtWindows);
