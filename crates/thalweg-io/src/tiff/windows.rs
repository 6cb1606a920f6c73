//! [`TiffWindows`]: a TIFF file read by windows, of which only the strips and tiles that a window meets are read.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::directory::Directory;
use super::source::Source;
use super::{BATCH, Content, Held, Layout, about, layout, mask_beside, no_data, own_mask};
use crate::{Head, Samples, WindowedMap, inside, mask_path, plain};
use thalweg_core::base::memory;
use thalweg_core::{CellRect, Error, Result, Size};

/// A TIFF, GeoTIFF, BigTIFF or COG that is read by windows: the first band of the first image, as [`io::read`](crate::read()) reads
/// it whole, whatever its size. Overviews are not looked at.
///
/// A strip or tile that a window meets in part is decoded whole, and the last such ones are kept: windows that lie side by side then
/// cost little more than one. Many threads may read at once.
pub struct TiffWindows {
    path: PathBuf,
    head: Head,
    image: Image,
    /// Masks: the file's own, and one beside it.
    masks: Vec<Image>,
    cache: Mutex<Cache>,
}

/// An image of a file that stays open.
struct Image {
    source: Arc<Source<'static>>,
    layout: Layout,
}

/// Strips and tiles that were met in part, the one met last at the end.
struct Cache {
    kept: VecDeque<(usize, Arc<Samples>)>,
    bytes: u64,
    most: u64,
}

/// Bytes of samples that are kept unless [`TiffWindows::keep`] says otherwise.
const KEPT: u64 = 64 << 20;

/// Strips without compression are read by parts of about so many bytes.
const PART: u64 = 1 << 18;

impl TiffWindows {
    /// Opens a file and reads its directories; no samples yet.
    ///
    /// # Errors
    /// What is no plain file, no TIFF, or one of a kind that is not read; a mask beside it (`NAME.msk`) of another size.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let source = open(path)?;
        let found = (|| {
            let directory = Directory::parse(&source)?;
            let layout = layout(&directory, source.length(), Content::Heights, Held::Windows)?;
            let raster = about(&directory, &layout)?;
            let mask = own_mask(&directory, source.length(), raster.size, Held::Windows)?;
            Ok((layout.split(), raster, mask))
        })();
        let (layout, raster, mask) = found.map_err(|problem: String| Error::file(path, problem))?;
        let head = Head { kind: layout.coding.kind, ..raster.head() };
        let source = Arc::new(source);
        let mut masks: Vec<_> = mask.map(|layout| Image { source: source.clone(), layout }).into_iter().collect();
        let beside = mask_path(path);
        if beside.exists() {
            let source = open(&beside)?;
            let layout = mask_beside(&source, head.size, Held::Windows);
            let layout = layout.map_err(|problem| Error::file(&beside, problem))?;
            masks.push(Image { source: Arc::new(source), layout });
        }
        let cache = Mutex::new(Cache { kept: VecDeque::new(), bytes: 0, most: KEPT });
        Ok(Self { path: path.to_path_buf(), head, image: Image { source, layout }, masks, cache })
    }

    /// Keeps strips and tiles of up to `bytes` bytes (64 MiB if not said) after they were decoded for a window that met them in part.
    ///
    /// A file of strips is best read with room for a row of windows: all strips that one of them meets.
    #[must_use]
    pub fn keep(self, bytes: u64) -> Self {
        self.kept().most = bytes;
        self
    }

    /// Strip or tile number `k`: from those kept, or decoded, and kept if `window` meets it in part.
    fn decoded(&self, k: usize, window: CellRect) -> Result<Arc<Samples>, String> {
        if let Some(kept) = self.kept().get(k) {
            return Ok(kept);
        }
        let layout = &self.image.layout;
        let samples = Arc::new(layout.decode(&self.image.source, k)?);
        let start = layout.corner(k);
        let in_part = (0..2).any(|k| {
            let end = (start[k] + layout.chunk[k]).min(self.head.size[k]);
            start[k] < window.start[k] || end > window.start[k] + window.size()[k]
        });
        if in_part {
            self.kept().put(k, samples.clone());
        }
        Ok(samples)
    }

    fn kept(&self) -> MutexGuard<'_, Cache> {
        // What is in it is whole whoever failed while he held it.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WindowedMap for TiffWindows {
    fn head(&self) -> &Head {
        &self.head
    }

    fn chunk(&self) -> Size {
        self.image.layout.chunk
    }

    fn memory(&self, window: Size) -> [u64; 2] {
        let mut sum = [0, 0];
        for Image { layout, .. } in std::iter::once(&self.image).chain(&self.masks) {
            let [held, each] = layout.memory(window);
            sum = [sum[0] + held.min(self.kept().most), sum[1] + each];
        }
        sum
    }

    fn read(&self, window: CellRect) -> Result<Samples> {
        inside(self.head.size, window)?;
        let problem = |problem: String| Error::file(&self.path, problem);
        let layout = &self.image.layout;
        memory::check_memory("a strip or tile", layout.chunk_bytes().saturating_mul(2))?;
        let batch = layout.batch();
        let mut samples = Samples::zeros(self.head.kind, window.size()[0] * window.size()[1]).map_err(problem)?;
        for batch in layout.chunks(window).chunks(batch) {
            let decoded = batch.par_iter().map(|k| self.decoded(*k, window)).collect::<Result<Vec<_>, _>>();
            for (k, part) in batch.iter().zip(decoded.map_err(problem)?) {
                layout.lay(&mut samples, &part, *k, window).map_err(problem)?;
            }
        }
        Ok(samples)
    }

    fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        inside(self.head.size, window)?;
        let mut found: Option<Vec<bool>> = None;
        for Image { source, layout } in &self.masks {
            let mask = (|| {
                let mut samples = Samples::zeros(layout.coding.kind, window.size()[0] * window.size()[1])?;
                for k in layout.chunks(window) {
                    layout.lay(&mut samples, &layout.decode(source, k)?, k, window)?;
                }
                no_data(Ok(samples))
            })();
            let mask = mask.map_err(|problem: String| Error::file(&self.path, format!("has a mask that {problem}")))?;
            match &mut found {
                Some(found) => found.iter_mut().zip(mask).for_each(|(found, more)| *found |= more),
                None => found = Some(mask),
            }
        }
        Ok(found)
    }
}

impl std::fmt::Debug for TiffWindows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TiffWindows").field("path", &self.path).field("head", &self.head).finish_non_exhaustive()
    }
}

fn open(path: &Path) -> Result<Source<'static>> {
    let (file, length) = plain::open(path)?;
    Ok(Source::File(Mutex::new(file), length))
}

impl Cache {
    fn get(&mut self, k: usize) -> Option<Arc<Samples>> {
        let at = self.kept.iter().rposition(|(own, _)| *own == k)?;
        let found = self.kept.remove(at)?;
        let samples = found.1.clone();
        self.kept.push_back(found);
        Some(samples)
    }

    fn put(&mut self, k: usize, samples: Arc<Samples>) {
        let bytes = |samples: &Samples| (samples.len() * samples.kind().bytes()) as u64;
        if self.kept.iter().any(|(own, _)| *own == k) {
            return; // another thread was as fast
        }
        self.bytes += bytes(&samples);
        self.kept.push_back((k, samples));
        while self.bytes > self.most
            && let Some((_, first)) = self.kept.pop_front()
        {
            self.bytes -= bytes(&first);
        }
    }
}

impl Layout {
    /// Bytes of a strip's or tile's samples.
    fn chunk_bytes(&self) -> u64 {
        (self.chunk[0] * self.chunk[1] * self.coding.bands * self.coding.kind.bytes()) as u64
    }

    /// Strips and tiles that are decoded at a time, beside the window itself.
    fn batch(&self) -> usize {
        ((u64::from(1u32 << 26) / self.chunk_bytes().max(1)) as usize).clamp(1, BATCH)
    }

    /// See [`WindowedMap::memory`].
    fn memory(&self, window: Size) -> [u64; 2] {
        let own = [self.rows, self.cols];
        let is_met_in_part = (0..2).any(|k| !window[k].is_multiple_of(self.chunk[k]) && window[k] < own[k]);
        // A window of whole ones begins with one.
        let met = [0, 1].map(|k| {
            let all = own[k].div_ceil(self.chunk[k].max(1));
            let more = usize::from(!window[k].is_multiple_of(self.chunk[k]));
            all.min(window[k].div_ceil(self.chunk[k].max(1)) + more) as u64
        });
        let chunk = self.chunk_bytes();
        let packed = self.places.iter().map(|[_, length]| *length).max().unwrap_or(0);
        let all = chunk.saturating_mul(self.places.len() as u64);
        // What is decoded, and of one that is being so the packed bytes and the unpacked.
        let each = chunk.saturating_mul((met[0] * met[1]).min(self.batch() as u64) + 1).saturating_add(packed);
        [if is_met_in_part { all } else { 0 }, each]
    }

    /// The same with long strips that are not compressed taken for several short ones: of a file of one strip, which some programs
    /// write, a window then reads its own rows.
    fn split(mut self) -> Self {
        let row = (self.cols * self.coding.bands) as u64 * self.coding.format.1 / 8;
        let rows = (PART / row.max(1)).max(1);
        let plain = self.coding.compression == 1 && self.coding.predictor == 1 && !self.tiled;
        if !plain || (self.chunk[0] as u64) <= rows {
            return self;
        }
        let mut places = Vec::new();
        for (k, [at, length]) in self.places.iter().enumerate() {
            let own = self.chunk_rows(k) as u64;
            if own * row > *length {
                return self; // broken; whoever decodes it says so
            }
            places.extend((0..own).step_by(rows as usize).map(|first| [at + first * row, rows.min(own - first) * row]));
        }
        // Only where each strip ends with a part do the parts follow one another evenly.
        if self.places.len() > 1 && !(self.chunk[0] as u64).is_multiple_of(rows) {
            return self;
        }
        self.chunk[0] = rows as usize;
        self.places = places;
        self
    }
}
