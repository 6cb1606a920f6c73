//! [`TiffWindows`]: reads a TIFF file in windows, of which only the strips and tiles that a window intersects are read.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::directory::Directory;
use super::source::TiffSource;
use super::{
    BATCH, Content, ReadScope, TiffLayout, alpha_layout, external_mask_layout, internal_mask_layout, no_data,
    read_layout, read_metadata,
};
use crate::side_files::SideFiles;
use crate::{RasterHead, Samples, WindowedMap, check_window_bounds, mask_path, plain};
use thalweg_core::base::memory;
use thalweg_core::{CellRect, Error, Result, Size};

/// A TIFF, GeoTIFF, BigTIFF or COG that is read in windows, whatever its size: the first band of the first image, as
/// [`read_raster`](crate::read_raster()) reads it as a whole, but in the order of its rows in the file. Overviews are
/// ignored.
///
/// A strip or tile that a window covers in part is decoded completely, and the most recent of these are cached:
/// adjacent windows then cost little more than one. Many threads may read at the same time.
pub struct TiffWindows {
    path: PathBuf,
    head: RasterHead,
    image: Image,
    /// The masks: the file's alpha band and internal mask, and one next to it.
    masks: Vec<Image>,
    cache: Mutex<ChunkCache>,
}

/// An image of a file that stays open.
struct Image {
    source: Arc<TiffSource<'static>>,
    layout: TiffLayout,
    /// True if its strips or tiles are those of the heights, which store several bands together.
    shares_chunks: bool,
}

/// Cached strips and tiles that were covered in part; the most recently used is at the end.
struct ChunkCache {
    kept: VecDeque<(usize, Arc<Samples>)>,
    bytes: u64,
    most: u64,
}

/// The default size of the cache in bytes; see [`TiffWindows::with_cache_bytes`].
const DEFAULT_CACHE_BYTES: u64 = 64 << 20;

/// Uncompressed strips are read in parts of about this number of bytes.
// Smaller parts need more reads per window; larger parts contain more rows that the window does not need.
const PART: u64 = 1 << 18;

impl TiffWindows {
    /// Opens a file and reads its directories, but no samples.
    ///
    /// # Errors
    /// Returns an error if the file is not a plain file, not a TIFF, or of an unsupported kind; or if a mask next to it
    /// (`NAME.msk`) has another size, or another file next to it that describes it is broken.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let source = open_source(path)?;
        let side_files = SideFiles::read_for(path)?;
        let found = (|| {
            let directory = Directory::parse(&source)?;
            let mut layout = read_layout(&directory, source.length(), Content::Heights, ReadScope::Windows)?;
            let mut raster = read_metadata(&directory, &layout)?;
            side_files.apply_to(&mut raster);
            layout.fill = raster.nodata.unwrap_or(0.0);
            let alpha = alpha_layout(&directory, &layout, source.length(), ReadScope::Windows)?;
            if alpha.is_some() {
                raster.facts.record_alpha();
            }
            let mask = internal_mask_layout(&directory, source.length(), raster.size, ReadScope::Windows)?;
            if mask.is_some() {
                raster.facts.record_internal_mask();
            }
            Ok((layout.split_long_strips(), raster, alpha.map(TiffLayout::split_long_strips), mask))
        })();
        let (layout, raster, alpha, mask) = found.map_err(|problem: String| Error::invalid_file(path, problem))?;
        let mut head = RasterHead { kind: layout.coding.kind, ..raster.head() };
        let source = Arc::new(source);
        let mut masks = Vec::new();
        if let Some(alpha) = alpha {
            let shares_chunks = alpha.coding.bands > 1;
            masks.push(Image { source: source.clone(), layout: alpha, shares_chunks });
        }
        masks.extend(mask.map(|layout| Image { source: source.clone(), layout, shares_chunks: false }));
        let mask_file = mask_path(path);
        if mask_file.exists() {
            let source = open_source(&mask_file)?;
            let layout = external_mask_layout(&source, head.size, ReadScope::Windows);
            let layout = layout.map_err(|problem| Error::invalid_file(&mask_file, problem))?;
            masks.push(Image { source: Arc::new(source), layout, shares_chunks: false });
            head.facts.record_mask_file(&mask_file);
        }
        let cache = Mutex::new(ChunkCache { kept: VecDeque::new(), bytes: 0, most: DEFAULT_CACHE_BYTES });
        Ok(Self { path: path.to_path_buf(), head, image: Image { source, layout, shares_chunks: true }, masks, cache })
    }

    /// Sets the size of the cache to `bytes` (default 64 MiB). It stores decoded strips and tiles that a window covered
    /// in part.
    ///
    /// A file of strips is best read with a cache for a row of windows: for all strips that one of the windows
    /// intersects.
    #[must_use]
    pub fn with_cache_bytes(self, bytes: u64) -> Self {
        self.lock_cache().most = bytes;
        self
    }

    /// Returns strip or tile number `k` from the cache, or decodes it and caches it if `window` covers it in part.
    fn fetch_chunk(&self, k: usize, window: CellRect) -> Result<Arc<Samples>, String> {
        if let Some(kept) = self.lock_cache().get(k) {
            return Ok(kept);
        }
        // The lock is not kept while the chunk is decoded. Two threads may therefore decode the same chunk; the cache
        // stores it once.
        let layout = &self.image.layout;
        let samples = Arc::new(layout.decode_chunk(&self.image.source, k)?);
        let start = layout.chunk_corner(k);
        // A chunk that is completely inside the window is not needed by adjacent windows, so it is not cached.
        let in_part = (0..2).any(|k| {
            let end = (start[k] + layout.chunk[k]).min(self.head.size[k]);
            start[k] < window.start[k] || end > window.start[k] + window.size()[k]
        });
        if in_part {
            self.lock_cache().insert(k, samples.clone());
        }
        Ok(samples)
    }

    fn lock_cache(&self) -> MutexGuard<'_, ChunkCache> {
        // The cache is valid even if a thread panicked while it held the lock.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WindowedMap for TiffWindows {
    fn head(&self) -> &RasterHead {
        &self.head
    }

    fn block_size(&self) -> Size {
        self.image.layout.chunk
    }

    fn window_memory(&self, window: Size) -> [u64; 2] {
        let mut sum = [0, 0];
        for Image { layout, .. } in std::iter::once(&self.image).chain(&self.masks) {
            let [fixed, each] = layout.window_memory(window);
            sum = [sum[0] + fixed.min(self.lock_cache().most), sum[1] + each];
        }
        sum
    }

    fn read_window(&self, window: CellRect) -> Result<Samples> {
        check_window_bounds(self.head.size, window)?;
        let problem = |problem: String| Error::invalid_file(&self.path, problem);
        let layout = &self.image.layout;
        // The decompressed bytes of a chunk and its samples are in memory together.
        memory::check_memory("a strip or tile", layout.chunk_bytes().saturating_mul(2))?;
        let batch = layout.batch_size();
        let mut samples = Samples::zeros(self.head.kind, window.size()[0] * window.size()[1]).map_err(problem)?;
        for batch in layout.chunks_in_window(window).chunks(batch) {
            let decoded = batch.par_iter().map(|k| self.fetch_chunk(*k, window)).collect::<Result<Vec<_>, _>>();
            for (k, part) in batch.iter().zip(decoded.map_err(problem)?) {
                layout.copy_chunk(&mut samples, &part, *k, window).map_err(problem)?;
            }
        }
        Ok(samples)
    }

    fn read_mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        check_window_bounds(self.head.size, window)?;
        let mut found: Option<Vec<bool>> = None;
        for Image { source, layout, shares_chunks } in &self.masks {
            let mask = (|| {
                let mut samples = Samples::zeros(layout.coding.kind, window.size()[0] * window.size()[1])?;
                for k in layout.chunks_in_window(window) {
                    let part = match shares_chunks {
                        true => self.fetch_chunk(k, window)?,
                        false => Arc::new(layout.decode_chunk(source, k)?),
                    };
                    layout.copy_chunk(&mut samples, &part, k, window)?;
                }
                Ok(no_data(&samples))
            })();
            let mask =
                mask.map_err(|problem: String| Error::invalid_file(&self.path, format!("has a mask that {problem}")))?;
            match &mut found {
                // A cell is excluded if any of the masks excludes it.
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

fn open_source(path: &Path) -> Result<TiffSource<'static>> {
    let (file, length) = plain::open_plain_file(path)?;
    Ok(TiffSource::File(Mutex::new(file), length))
}

impl ChunkCache {
    fn get(&mut self, k: usize) -> Option<Arc<Samples>> {
        // Recently used chunks are at the end, so the search begins there.
        let at = self.kept.iter().rposition(|(own, _)| *own == k)?;
        let found = self.kept.remove(at)?;
        let samples = found.1.clone();
        self.kept.push_back(found);
        Some(samples)
    }

    fn insert(&mut self, k: usize, samples: Arc<Samples>) {
        let bytes = |samples: &Samples| (samples.len() * samples.kind().bytes()) as u64;
        if self.kept.iter().any(|(own, _)| *own == k) {
            return; // another thread decoded it at the same time
        }
        self.bytes += bytes(&samples);
        self.kept.push_back((k, samples));
        // The chunks that have not been used for the longest time are removed first.
        while self.bytes > self.most
            && let Some((_, first)) = self.kept.pop_front()
        {
            self.bytes -= bytes(&first);
        }
    }
}

impl TiffLayout {
    /// Returns the bytes of a strip's or tile's samples.
    fn chunk_bytes(&self) -> u64 {
        (self.chunk[0] * self.chunk[1] * self.coding.bands * self.coding.kind.bytes()) as u64
    }

    /// Returns the number of strips and tiles that are decoded at a time, in addition to the window itself.
    fn batch_size(&self) -> usize {
        // A batch has at most 64 MiB of decoded samples, but at least one chunk.
        ((u64::from(1u32 << 26) / self.chunk_bytes().max(1)) as usize).clamp(1, BATCH)
    }

    /// Computes [`WindowedMap::window_memory`] for this layout.
    fn window_memory(&self, window: Size) -> [u64; 2] {
        let own = [self.rows, self.cols];
        // If a window divides chunks, every chunk of the image may enter the cache over time.
        let is_met_in_part = (0..2).any(|k| !window[k].is_multiple_of(self.chunk[k]) && window[k] < own[k]);
        // A window whose size is a multiple of the chunks begins at the start of a chunk.
        let met = [0, 1].map(|k| {
            let all = own[k].div_ceil(self.chunk[k].max(1));
            let more = usize::from(!window[k].is_multiple_of(self.chunk[k]));
            all.min(window[k].div_ceil(self.chunk[k].max(1)) + more) as u64
        });
        let chunk = self.chunk_bytes();
        let packed = self.places.iter().map(|[_, length]| *length).max().unwrap_or(0);
        let all = chunk.saturating_mul(self.places.len() as u64);
        // The decoded chunks of a batch, and for one that is being decoded its compressed and its decompressed bytes.
        let each = chunk.saturating_mul((met[0] * met[1]).min(self.batch_size() as u64) + 1).saturating_add(packed);
        [if is_met_in_part { all } else { 0 }, each]
    }

    /// Returns the layout with long uncompressed strips replaced by several short ones, so that a window reads only its
    /// own rows of a file with a single strip, which some programs write.
    fn split_long_strips(mut self) -> Self {
        // The division is only possible without compression and predictor, because only then is the position of each
        // row known.
        let row = (self.cols * self.coding.bands) as u64 * self.coding.bits_per_sample / 8;
        let rows = (PART / row.max(1)).max(1);
        let plain = self.coding.compression == 1 && self.coding.predictor == 1 && !self.tiled;
        if !plain || (self.chunk[0] as u64) <= rows {
            return self;
        }
        let mut places = Vec::new();
        for (k, [at, length]) in self.places.iter().enumerate() {
            let own = self.chunk_rows(k) as u64;
            let is_absent = *length == 0;
            if own * row > *length && !is_absent {
                return self; // broken; the decoder reports it
            }
            let part = |first: u64| [at + first * row, rows.min(own - first) * row];
            places.extend((0..own).step_by(rows as usize).map(|first| if is_absent { [0; 2] } else { part(first) }));
        }
        // The parts are evenly spaced only if each strip ends with a full part.
        if self.places.len() > 1 && !(self.chunk[0] as u64).is_multiple_of(rows) {
            return self;
        }
        self.chunk[0] = rows as usize;
        self.places = places;
        self
    }
}
