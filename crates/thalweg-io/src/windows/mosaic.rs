//! [`VrtWindows`]: reads a virtual raster in windows, of which only the files that a window intersects are opened.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::vrt::{Mosaic, MosaicPart};
use super::{WindowedMap, open_stored_windows};
use crate::raster::both;
use crate::{
    Format, LoadOptions, Raster, RasterHead, SampleType, Samples, TiffWindows, check_window_bounds, geokeys, plain, wkt,
};
use thalweg_core::base::memory;
use thalweg_core::terrain::grid::{MAX_CELLS, PixelIs};
use thalweg_core::{Cell, CellRect, Error, Georeference, Result, Size};

/// GDAL's virtual raster, a mosaic of other files: the first band, read in windows, whatever its size.
///
/// As in GDAL, a later file covers an earlier one, and cells that no file covers have the raster's nodata value, or 0
/// if it specifies none. A file's mask applies where that file is on top. Many threads may read at the same time.
pub struct VrtWindows {
    path: PathBuf,
    head: RasterHead,
    mosaic: Mosaic,
    open: Mutex<VecDeque<OpenedFile>>,
}

/// A file that is open.
struct OpenedFile {
    number: usize,
    map: Arc<dyn WindowedMap>,
    /// The bytes of its samples if it is in memory as a whole, otherwise 0.
    bytes: u64,
}

/// The greatest size of a virtual raster's text that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The number of files that stay open, and the size in bytes of the cache of strips and tiles of each.
// The caches of 16 files have 64 MiB together, as much as the cache of a single TIFF.
const MAX_OPEN_FILES: usize = 16;
const CACHE_BYTES_PER_FILE: u64 = 4 << 20;

/// The bytes of files that are in memory as a whole, because their format cannot be read in windows; one such file is
/// kept in any case.
const MAX_WHOLE_FILE_BYTES: u64 = 64 << 20;

/// The rows and columns that are read at a time unless a file specifies others.
const CHUNK: Size = [256, 256];

impl VrtWindows {
    /// Opens a virtual raster: reads its text, checks that its files exist, and opens the first to read its CRS.
    ///
    /// # Errors
    /// Returns an error if the file is not a virtual raster, has more than 64 MiB, or computes its cells instead of
    /// only placing files; if one of its files does not exist; if the first file has another CRS, or has none while the
    /// raster's own cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let refuse = |problem: String| Error::invalid_file(path, problem);
        let text = plain::read_text(path, MAX_BYTES)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mosaic = Mosaic::parse(&text, folder).map_err(refuse)?;
        // A missing file is reported when the raster is opened, not when a window first needs the file.
        for part in &mosaic.parts {
            let about = std::fs::metadata(&part.path);
            about.map_err(|problem| refuse(format!("refers to {}: {problem}", part.path.display())))?;
        }
        let mut head = RasterHead {
            nodata: mosaic.nodata,
            scale: mosaic.scale,
            scaled: mosaic.scaled,
            unit: mosaic.unit.clone(),
            ..RasterHead::new(mosaic.size, mosaic.kind)
        };
        if mosaic.bands > 1 {
            head.warnings.push(format!("has {} bands; only the first is read", mosaic.bands));
        }
        // Overlapping files count twice, so the sum is an upper bound; if even the sum is too small, cells are
        // uncovered.
        let covered: u128 =
            mosaic.parts.iter().map(|part| part.from.size()[0] as u128 * part.from.size()[1] as u128).sum();
        if mosaic.nodata.is_none() && !mosaic.masked && covered < mosaic.size[0] as u128 * mosaic.size[1] as u128 {
            head.warnings.push(
                "has cells that no file covers, and states no nodata value; these cells are read as 0".to_string(),
            );
        }
        let mut own = Self { path: path.to_path_buf(), head, mosaic, open: Mutex::default() };
        own.head.georeference = own.georeference()?;
        Ok(own)
    }

    /// Returns the files of the mosaic, the lowest first; a file that is used twice is returned twice.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.mosaic.parts.iter().map(|part| part.path.as_path())
    }

    /// Reads the whole raster.
    pub(crate) fn read_whole(&self) -> Result<Raster> {
        let [rows, cols] = self.head.size;
        let cells = rows as u64 * cols as u64;
        if cells > MAX_CELLS {
            let problem =
                format!("declares {cols} × {rows} cells (columns × rows); a file may have 1 to {MAX_CELLS} in all");
            return Err(Error::invalid_file(&self.path, problem));
        }
        memory::check_memory(&self.path.display().to_string(), cells * (3 * self.head.kind.bytes() as u64 + 6))?;
        let all = CellRect::new([0, 0], self.head.size);
        Ok(Raster {
            nodata: self.head.nodata,
            scale: self.head.scale,
            scaled: self.mosaic.scaled,
            unit: self.head.unit.clone(),
            georeference: self.head.georeference.clone(),
            mask: self.read_mask(all)?,
            warnings: self.head.warnings.clone(),
            ..Raster::new(self.head.size, self.read_window(all)?)
        })
    }

    /// Returns the files that intersect a window, in their order: the number, the part, the rectangle to read from the
    /// file, and the cell of the window where it begins.
    fn intersecting_files(&self, window: CellRect) -> impl Iterator<Item = (usize, &MosaicPart, CellRect, Cell)> {
        self.mosaic.parts.iter().enumerate().filter_map(move |(k, part)| {
            let span = |k: usize| {
                let first = part.to[k].max(window.start[k]);
                let end = (part.to[k] + part.from.size()[k]).min(window.start[k] + window.size()[k]);
                (first, end.saturating_sub(first))
            };
            let [rows, cols] = [span(0), span(1)];
            let first = [rows.0, cols.0];
            let from = CellRect::new([0, 1].map(|k| part.from.start[k] + first[k] - part.to[k]), [rows.1, cols.1]);
            (!from.size().contains(&0)).then(|| (k, part, from, Cell::from_axes(|k| first[k] - window.start[k])))
        })
    }

    /// Composes a window from the files: its samples and, if requested, where masks exclude cells.
    fn compose_window(&self, window: CellRect, with_mask: bool) -> Result<(Samples, Vec<bool>)> {
        check_window_bounds(self.head.size, window)?;
        let cells = window.size()[0] * window.size()[1];
        let mut samples = Samples::filled(self.head.kind, cells, self.mosaic.nodata.unwrap_or(0.0))?;
        let mut mask = if with_mask { vec![self.mosaic.masked; cells] } else { Vec::new() };
        // Files are placed in their order, so a later one covers an earlier one.
        for (k, part, from, at) in self.intersecting_files(window) {
            let file = self.open_file(k)?;
            let piece = file.read_window(from)?;
            let piece =
                convert_samples(piece, self.head.kind).map_err(|problem| Error::invalid_file(&part.path, problem))?;
            let own_mask = if with_mask { file.read_mask(from)? } else { None };
            let target = CellRect::new(at, from.size());
            match part.nodata {
                None => samples.paste(window.size(), target, &piece, from.size(), [0, 0])?,
                Some(nodata) => samples.overlay(window.size(), target, &piece, nodata),
            }
            if with_mask {
                for n in 0..from.size()[0] * from.size()[1] {
                    let to = (at[0] + n / from.size()[1]) * window.size()[1] + at[1] + n % from.size()[1];
                    // The topmost file with data at a cell decides about the mask there.
                    if part.nodata.is_none_or(|nodata| !is_same(piece.get(n), nodata)) {
                        mask[to] = own_mask.as_ref().is_some_and(|own| own[n]);
                    }
                }
            }
        }
        Ok((samples, mask))
    }

    /// Returns true if a file has a format that is read into memory as a whole.
    fn is_read_whole(&self, number: usize) -> bool {
        Format::from_path(&self.mosaic.parts[number].path).is_ok_and(|format| !format.reads_windows())
    }

    /// Returns file number `number`: one that is open already, or a newly opened one.
    fn open_file(&self, number: usize) -> Result<Arc<dyn WindowedMap>> {
        // The list is valid even if a thread panicked while it held the lock.
        let kept = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().iter().find(|own| own.number == number) {
            return Ok(found.map.clone());
        }
        // The lock is free while a file is opened. Two threads may then open the same file, which costs time but does
        // no harm.
        let part = &self.mosaic.parts[number];
        let format = Format::from_path(&part.path)?;
        let map: Arc<dyn WindowedMap> = match format {
            Format::Tiff => Arc::new(TiffWindows::open(&part.path)?.with_cache_bytes(CACHE_BYTES_PER_FILE)),
            _ => open_stored_windows(&part.path, &LoadOptions::default())?.into(),
        };
        let size = map.size();
        if (0..2).any(|k| part.from.start[k] + part.from.size()[k] > size[k]) {
            let [rows, cols] = size;
            let words =
                format!("is {cols} × {rows} cells (columns × rows); {} uses cells outside it", self.path.display());
            return Err(Error::invalid_file(&part.path, words));
        }
        let bytes = if self.is_read_whole(number) { samples_bytes(&*map) } else { 0 };
        let mut kept = kept();
        kept.push_back(OpenedFile { number, map: map.clone(), bytes });
        // The file that was opened first is removed first. Threads that still read it keep it open until they are done.
        while kept.len() > MAX_OPEN_FILES
            || (kept.len() > 1 && kept.iter().map(|file| file.bytes).sum::<u64>() > MAX_WHOLE_FILE_BYTES)
        {
            kept.pop_front();
        }
        Ok(map)
    }

    /// Returns the georeference: the raster's own transform, and the CRS from the keys of its first file, because the
    /// raster's own is WKT text.
    fn georeference(&self) -> Result<Option<Georeference>> {
        let mosaic = &self.mosaic;
        let pixel = if mosaic.is_point { PixelIs::Point } else { PixelIs::Area };
        let placed = |from: Georeference| Some(Georeference { transform: mosaic.transform, pixel, ..from });
        if mosaic.crs.is_empty() {
            return Ok(mosaic.transform.and_then(|_| placed(Georeference::default())));
        }
        // The keys of a file describe a CRS completely; of the WKT text only the EPSG code is used.
        let first = match mosaic.parts.first() {
            Some(_) => self.open_file(0)?.head().georeference.clone().filter(geokeys::has_crs),
            None => None,
        };
        match (first, mosaic.epsg()) {
            (Some(first), code) if code.is_none() || first.epsg().is_none() || first.epsg() == code => {
                Ok(placed(first))
            }
            // The code of a compound CRS is that of the horizontal and the vertical system together.
            (Some(first), _) if mosaic.crs.trim_start().starts_with("COMP") => Ok(placed(first)),
            (Some(first), Some(code)) => {
                let own = first.epsg().unwrap_or_default();
                let problem = format!(
                    "has the CRS EPSG:{code}, and its first file has EPSG:{own}; rebuild it from files of one CRS"
                );
                Err(Error::invalid_file(&self.path, problem))
            }
            (_, Some(code)) => Ok(placed(geokeys::georeference_from_epsg(code, mosaic.is_geographic()))),
            (_, None) => {
                let own = wkt::georeference_from_wkt(&mosaic.crs);
                let mut own = own.map_err(|problem| Error::invalid_file(&self.path, problem))?.unwrap_or_default();
                geokeys::set_pixel(&mut own, pixel);
                Ok(placed(own))
            }
        }
    }
}

/// Returns the bytes of all samples of a map.
fn samples_bytes(map: &dyn WindowedMap) -> u64 {
    let [rows, cols] = map.size();
    (rows * cols * map.head().kind.bytes()) as u64
}

impl WindowedMap for VrtWindows {
    fn head(&self) -> &RasterHead {
        &self.head
    }

    fn block_size(&self) -> Size {
        let first = self.mosaic.parts.first().and_then(|_| self.open_file(0).ok());
        first.map_or(CHUNK, |file| [0, 1].map(|k| file.block_size()[k].min(CHUNK[k])))
    }

    /// The estimate assumes that all files are like the first.
    fn window_memory(&self, window: Size) -> [u64; 2] {
        let first = self.mosaic.parts.first().and_then(|_| self.open_file(0).ok());
        let [fixed, each] = match first {
            Some(file) if self.is_read_whole(0) => [samples_bytes(&*file), 0],
            Some(file) => file.window_memory(window),
            None => [0, 0],
        };
        // In addition to the window, memory holds a piece of a file and its conversion to the raster's own type.
        let piece = (window[0] * window[1] * 2 * SampleType::F64.bytes()) as u64;
        [(fixed.saturating_mul(MAX_OPEN_FILES as u64)).min(MAX_WHOLE_FILE_BYTES.max(fixed)), each.saturating_add(piece)]
    }

    fn read_window(&self, window: CellRect) -> Result<Samples> {
        Ok(self.compose_window(window, false)?.0)
    }

    /// If the raster has a mask of its own, cells that no file covers are masked.
    fn read_mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        check_window_bounds(self.head.size, window)?;
        let mut is_masked = self.mosaic.masked;
        for (k, _, from, _) in self.intersecting_files(window) {
            is_masked = is_masked || self.open_file(k)?.read_mask(from)?.is_some();
        }
        if is_masked { Ok(Some(self.compose_window(window, true)?.1)) } else { Ok(None) }
    }
}

impl std::fmt::Debug for VrtWindows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VrtWindows").field("path", &self.path).field("head", &self.head).finish_non_exhaustive()
    }
}

impl Samples {
    /// Copies samples of `from`, of the same type and with the size of the window, to the window `to`, except for
    /// samples equal to `nodata`.
    #[allow(clippy::useless_conversion, reason = "the macro repeats the conversion for every type, f64 among them")]
    fn overlay(&mut self, size: Size, to: CellRect, from: &Self, nodata: f64) {
        // Samples of another type have been converted before.
        both!(self, from, v, w => for (n, x) in w.iter().enumerate() {
            if !is_same((*x).into(), nodata) {
                v[(to.start[0] + n / to.size()[1]) * size[1] + to.start[1] + n % to.size()[1]] = *x;
            }
        }, {});
    }
}

/// Returns true if a sample is the nodata value. In files of 32-bit floats, the text of the value has more digits than
/// the samples.
fn is_same(sample: f64, nodata: f64) -> bool {
    sample == nodata || sample == f64::from(nodata as f32) || (sample.is_nan() && nodata.is_nan())
}

/// Converts samples to another type that can represent each of them.
fn convert_samples(samples: Samples, kind: SampleType) -> Result<Samples, String> {
    if samples.kind() == kind {
        return Ok(samples);
    }
    let mut out = Samples::zeros(kind, 0)?;
    for k in 0..samples.len() {
        let sample = samples.get(k);
        out.push(sample);
        let kept = out.get(k);
        // A 64-bit float loses digits in 32 bits; the author of the raster has chosen that type.
        let is_float = matches!(kind, SampleType::F32 | SampleType::F64);
        if kept != sample && !is_float {
            return Err(format!(
                "has the sample {sample}, which {kind}, the type of the virtual raster, cannot represent"
            ));
        }
    }
    Ok(out)
}
