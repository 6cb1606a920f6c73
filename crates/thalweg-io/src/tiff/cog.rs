//! Writes GeoTIFF, always as a cloud-optimised GeoTIFF: tiles, overviews, and the directories before the data.
//!
//! OGC 21-026, Cloud Optimized GeoTIFF 1.0 (2023). Readers fetch the beginning of the file and then single tiles.
//! Therefore the directories come first, and the tiles of the coarsest overview before those of finer ones. The length
//! of a tile is known only after compression, so the tiles of each level are first written to a temporary file of their
//! own.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::tag;
use super::write::{
    BLACK_IS_ZERO, DEFLATE, PLAIN, choose_predictor, encode_rows, format_metadata, geo_text, nodata_text,
    sample_format_tag,
};
use crate::atomic::{Temporary, parent_folder, write_atomically};
use crate::raster::{Nearest, both};
use crate::{FilePath, RasterHead, SampleType, Samples, disk, geokeys};
use thalweg_core::base::deflate::compress_zlib;
use thalweg_core::{CellRect, Error, Result, Size};

/// How a cell of an overview is computed from the four cells that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overviews {
    /// The mean of the cells with data, rounded if they are integers: for heights and amounts.
    Means,
    /// The first cell with data, from the north-west: for classes and identifiers. For example, the mean of the soils 1
    /// and 5 would be a third soil.
    Classes,
}

impl Overviews {
    /// Returns the kind for samples of which only the type is known: integers are taken as identifiers.
    pub fn from_sample_type(kind: SampleType) -> Self {
        if matches!(kind, SampleType::F32 | SampleType::F64) { Self::Means } else { Self::Classes }
    }
}

/// The greatest side of a tile in cells.
// GDAL's COG driver has the same default. With larger tiles a reader decodes more cells than it needs, with smaller
// ones the lists of offsets at the beginning of the file become longer.
const SIDE: usize = 512;

/// Returns the side of the tiles of a map: a small map is a single tile. Sides are multiples of 16 (TIFF 6.0, section
/// 15).
fn choose_tile_side(size: Size) -> usize {
    size[0].max(size[1]).next_multiple_of(16).min(SIDE)
}

/// Offsets in files of more bytes than this need 64 bits.
const CLASSIC: u64 = u32::MAX as u64;

/// Writes a cloud-optimised GeoTIFF of any size: tiles of 512 × 512 cells (a smaller map is one tile), deflate with a
/// predictor, overviews of half the size each down to one tile, BigTIFF beyond 4 GiB.
///
/// `rows` is called with windows that span all columns, 512 rows at a time from the north (the last may have fewer),
/// and returns their samples, one per cell, row by row, of type `head.kind`. About three such windows are in memory.
/// The disk holds the tiles twice until the file is complete.
///
/// # Errors
/// Returns the errors of `rows`; an error for samples of another type or number, for a size of zero or of more than
/// 2^32 − 1 rows or columns, or if the file cannot be written.
///
/// # Examples
/// Rows are computed when they are needed: here 512 of them, and then 88.
///
/// ```
/// use thalweg_io::{RasterHead, MemoryFiles, Overviews, SampleType, Samples, read_raster, write_cog};
///
/// let files = MemoryFiles::default();
/// let mut calls = Vec::new();
/// write_cog(files.path("rows.tif"), &RasterHead::new([600, 3], SampleType::F32), Overviews::Means, |window| {
///     calls.push(window.size());
///     Ok(Samples::F32(window.cells().map(|cell| cell.row as f32).collect()))
/// })?;
/// assert_eq!(calls, [[512, 3], [88, 3]]);
/// assert_eq!(read_raster(files.path("rows.tif"))?.samples.get(3 * 599), 599.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn write_cog(
    path: impl Into<FilePath>,
    head: &RasterHead,
    overviews: Overviews,
    rows: impl FnMut(CellRect) -> Result<Samples>,
) -> Result<()> {
    write_cog_with_limit(&path.into(), head, overviews, rows, Passing::Files, CLASSIC)
}

/// Writes a file as [`write_cog`] does, from samples in memory; the tiles are kept in memory too, and the file is
/// written at once.
///
/// # Errors
/// Returns an error of the operating system.
pub fn write_cog_from_memory(
    path: &FilePath,
    head: &RasterHead,
    overviews: Overviews,
    samples: &Samples,
) -> Result<()> {
    write_cog_with_limit(
        path,
        head,
        overviews,
        |window| samples.copy_window(head.size, window),
        Passing::Memory,
        CLASSIC,
    )
}

/// The temporary storage of tiles until the file is written.
#[derive(Clone, Copy, PartialEq)]
enum Passing {
    Memory,
    Files,
}

/// Writes a file as [`write_cog`] does, as BigTIFF if it would be longer than `most` bytes.
fn write_cog_with_limit(
    path: &FilePath,
    head: &RasterHead,
    overviews: Overviews,
    mut rows: impl FnMut(CellRect) -> Result<Samples>,
    passing: Passing,
    most: u64,
) -> Result<()> {
    // The tags of the width and the height are written with 32 bits.
    if head.size.iter().any(|n| *n == 0 || u32::try_from(*n).is_err()) {
        let value = format!("{} × {}", head.size[0], head.size[1]);
        return Err(Error::invalid_value("size", value, "1 to 4294967295 rows and columns"));
    }
    // The overviews are made together with the image: each level writes the rows of tiles that are complete, and passes
    // their reduction by half to the next level.
    let by_files = passing == Passing::Files && !path.is_in_memory();
    let folder = by_files
        .then(|| Temporary::create_folder(parent_folder(path)).map_err(Error::io(path, "write")))
        .transpose()?;
    // Each level has half the rows and columns of the level before, rounded up; the last level is a single tile.
    let mut levels = Vec::new();
    let mut size = head.size;
    loop {
        let beside = folder.as_ref().map(|folder| folder.path().join(levels.len().to_string()).into());
        levels.push(CogLevel::new(size, path, beside, head)?);
        if size.iter().all(|n| *n <= SIDE) {
            break;
        }
        size = size.map(|n| n.div_ceil(2));
    }
    // Bands have 512 rows, an even number, so no block of 2 × 2 cells is divided between two bands. Only the last band
    // may end with an odd row.
    for first in (0..head.size[0]).step_by(SIDE) {
        let window = CellRect::new([first, 0], [SIDE.min(head.size[0] - first), head.size[1]]);
        let samples = rows(window)?;
        if samples.kind() != head.kind || samples.len() != window.size()[0] * window.size()[1] {
            let value = format!("{} of type {}", samples.len(), samples.kind());
            let allowed = format!("{} × {} (rows × columns) of type {}", window.size()[0], window.size()[1], head.kind);
            return Err(Error::invalid_value("samples", value, allowed));
        }
        pass_rows(&mut levels, samples, overviews, head.nodata)?;
    }
    // The lengths of all tiles are known now, so the directories can be computed and the file can be written from front
    // to back.
    let levels = levels.into_iter().map(CogLevel::finish_tiles).collect::<Result<Vec<_>>>()?;
    write_atomically(path, |file| assemble_file(file, head, &levels, most).map_err(Error::io(path, "write")))
}

/// Passes rows to the first level, and their reduction by half to the levels after it.
fn pass_rows(levels: &mut [CogLevel], rows: Samples, overviews: Overviews, nodata: Option<f64>) -> Result<()> {
    let Some((level, coarser)) = levels.split_first_mut() else { return Ok(()) };
    // If the rows do not yet fill a row of tiles, they wait, and no coarser level receives anything.
    let Some(band) = level.collect_rows(rows)? else { return Ok(()) };
    level.write_tile_row(&band)?;
    if coarser.is_empty() {
        return Ok(());
    }
    let rows = band.len() / level.size[1];
    // The recursion is as deep as there are levels: at most 24, because 23 halvings reduce 2³² rows to 512.
    pass_rows(coarser, halve_rows(&band, [rows, level.size[1]], overviews, nodata)?, overviews, nodata)
}

/// A level that is being written: rows that do not yet fill a row of tiles, and the storage of its tiles.
struct CogLevel {
    size: Size,
    /// The side of its tiles in cells.
    side: usize,
    /// The path of the final file, for messages.
    path: PathBuf,
    out: Waiting<io::BufWriter<disk::OutputFile>>,
    /// The lengths of the written tiles.
    lengths: Vec<u64>,
    /// The predictor of all its tiles, chosen by compressing a tile of the first row.
    predictor: Option<u16>,
    /// The number of rows received; the next field has those that are not written yet.
    taken: usize,
    waiting: Samples,
    /// The padding of tiles beyond the image.
    beyond: f64,
}

/// A level whose tiles are all written.
struct Tiles {
    size: Size,
    side: usize,
    bytes: Waiting<()>,
    lengths: Vec<u64>,
    predictor: u16,
}

/// The temporary storage of tiles: in memory, or in a file of their own with its writer.
enum Waiting<F> {
    Here(Vec<u8>),
    Beside(PathBuf, F),
}

impl CogLevel {
    fn new(size: Size, path: &Path, beside: Option<PathBuf>, head: &RasterHead) -> Result<Self> {
        let out = match beside {
            None => Waiting::Here(Vec::new()),
            Some(beside) => {
                let file = disk::OutputFile::create_new(&beside).map_err(Error::io(path, "write"))?;
                Waiting::Beside(beside, io::BufWriter::with_capacity(1 << 18, file))
            }
        };
        let waiting = Samples::filled(head.kind, 0, 0.0)?;
        let (side, beyond) = (choose_tile_side(head.size), head.nodata.unwrap_or(0.0));
        Ok(Self {
            size,
            side,
            path: path.to_path_buf(),
            out,
            lengths: Vec::new(),
            predictor: None,
            taken: 0,
            waiting,
            beyond,
        })
    }

    /// Collects rows and returns them once they fill a row of tiles, or are the last rows.
    fn collect_rows(&mut self, rows: Samples) -> Result<Option<Samples>> {
        let cols = self.size[1];
        self.taken += rows.len() / cols;
        // The first level, which has most of the cells, receives all rows of a row of tiles at once; these need not be
        // copied. Coarser levels receive half as many at a time.
        let all = if self.waiting.is_empty() {
            rows
        } else {
            let [had, more] = [self.waiting.len() / cols, rows.len() / cols];
            let size = [had + more, cols];
            let mut all = Samples::filled(rows.kind(), size[0] * cols, 0.0)?;
            all.paste(size, CellRect::new([0, 0], [had, cols]), &self.waiting, [had, cols], [0, 0])?;
            all.paste(size, CellRect::new([had, 0], [more, cols]), &rows, [more, cols], [0, 0])?;
            all
        };
        if all.len() / cols < self.side && self.taken < self.size[0] {
            self.waiting = all;
            return Ok(None);
        }
        self.waiting = Samples::filled(all.kind(), 0, 0.0)?;
        Ok(Some(all))
    }

    /// Writes a row of tiles.
    fn write_tile_row(&mut self, band: &Samples) -> Result<()> {
        let (cols, side) = (self.size[1], self.side);
        let size = [band.len() / cols, cols];
        let tile = |j: usize| -> Result<Samples> {
            // All tiles of a TIFF have the same size (TIFF 6.0, section 15), so tiles at the eastern and southern edge
            // are padded.
            let own = CellRect::new([0, 0], [size[0], side.min(cols - j * side)]);
            let mut tile = Samples::filled(band.kind(), side * side, self.beyond)?;
            tile.paste([side, side], own, band, size, [0, j * side])?;
            Ok(tile)
        };
        let count = cols.div_ceil(side);
        // The predictor is one tag for all tiles of a level. The tile in the middle of the first row represents them.
        let predictor = match self.predictor {
            Some(predictor) => predictor,
            None => choose_predictor(&tile(count / 2)?, side).map_err(Error::io(&self.path, "write"))?,
        };
        self.predictor = Some(predictor);
        let bytes =
            |j: usize| compress_zlib(&encode_rows(&tile(j)?, side, predictor)).map_err(Error::io(&self.path, "write"));
        // Tiles are compressed in parallel and stored in their order, so the bytes are the same for any number of
        // threads.
        let tiles = (0..count).into_par_iter().map(bytes).collect::<Result<Vec<_>>>()?;
        for bytes in tiles {
            match &mut self.out {
                Waiting::Here(all) => all.extend(&bytes),
                Waiting::Beside(_, file) => file.write_all(&bytes).map_err(Error::io(&self.path, "write"))?,
            }
            self.lengths.push(bytes.len() as u64);
        }
        Ok(())
    }

    fn finish_tiles(self) -> Result<Tiles> {
        let bytes = match self.out {
            Waiting::Here(all) => Waiting::Here(all),
            Waiting::Beside(beside, mut file) => {
                file.flush().map_err(Error::io(&self.path, "write"))?;
                Waiting::Beside(beside, ())
            }
        };
        let predictor = self.predictor.unwrap_or(PLAIN);
        Ok(Tiles { size: self.size, side: self.side, bytes, lengths: self.lengths, predictor })
    }
}

/// Reduces rows to cells of twice the width; an odd row or column at the end is reduced alone.
#[allow(clippy::useless_conversion, reason = "the macro repeats the conversion for every type, f64 among them")]
fn halve_rows(samples: &Samples, size: Size, overviews: Overviews, nodata: Option<f64>) -> Result<Samples> {
    let half = size.map(|n| n.div_ceil(2));
    let mut out = Samples::filled(samples.kind(), half[0] * half[1], 0.0)?;
    both!(samples, &mut out, v, out => {
            let bare = |x: f64| x.is_nan() || nodata == Some(x);
            out.par_chunks_mut(half[1]).enumerate().for_each(|(i, row)| {
                for (j, to) in row.iter_mut().enumerate() {
                    let four = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|[a, b]| [2 * i + a, 2 * j + b]);
                    let there = four
                        .iter()
                        .filter(|at| at[0] < size[0] && at[1] < size[1])
                        .map(|at| v[at[0] * size[1] + at[1]]);
                    let mut good = there.filter(|x| !bare(f64::from(*x)));
                    // If none of the four cells has data, the result is the no-data value of the first.
                    let first = good.next();
                    *to = match (overviews, first) {
                        (_, None) => v[2 * i * size[1] + 2 * j],
                        (Overviews::Classes, Some(first)) => first,
                        (Overviews::Means, Some(first)) => {
                            let [sum, count] =
                                good.fold([f64::from(first), 1.0], |[sum, count], x| [sum + f64::from(x), count + 1.0]);
                            // A 64-bit float represents the sum of four integers of 32 bits exactly, so the mean is
                            // rounded only once.
                            Nearest::nearest(sum / count)
                        }
                    };
                }
            });
    }, {});
    Ok(out)
}

/// The values of a tag, little-endian.
struct TagValues {
    tag: u16,
    kind: u16,
    count: u64,
    bytes: Vec<u8>,
}

/// The field types (TIFF 6.0, BigTIFF).
const ASCII: u16 = 2;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const DOUBLE: u16 = 12;
const LONG8: u16 = 16;

fn encode_shorts(tag: u16, values: &[u16]) -> TagValues {
    TagValues {
        tag,
        kind: SHORT,
        count: values.len() as u64,
        bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn encode_longs(tag: u16, values: &[u64], wide: bool) -> TagValues {
    let bytes = |x: &u64| if wide { x.to_le_bytes().to_vec() } else { (*x as u32).to_le_bytes().to_vec() };
    let kind = if wide { LONG8 } else { LONG };
    TagValues { tag, kind, count: values.len() as u64, bytes: values.iter().flat_map(bytes).collect() }
}

fn encode_doubles(tag: u16, values: &[f64]) -> TagValues {
    TagValues {
        tag,
        kind: DOUBLE,
        count: values.len() as u64,
        bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn encode_text(tag: u16, words: &str) -> TagValues {
    let bytes: Vec<u8> = words.bytes().chain([0]).collect();
    TagValues { tag, kind: ASCII, count: bytes.len() as u64, bytes }
}

/// Returns the tags of a level whose tiles begin at position `at`.
fn list_tags(head: &RasterHead, level: usize, tiles: &Tiles, at: u64, big: bool) -> Vec<TagValues> {
    let offsets: Vec<u64> = tiles.lengths.iter().scan(at, |at, n| Some(std::mem::replace(at, *at + n))).collect();
    let mut entries = vec![
        encode_longs(tag::WIDTH, &[tiles.size[1] as u64], false),
        encode_longs(tag::HEIGHT, &[tiles.size[0] as u64], false),
        encode_shorts(tag::BITS, &[8 * head.kind.bytes() as u16]),
        encode_shorts(tag::COMPRESSION, &[DEFLATE]),
        encode_shorts(tag::PHOTOMETRIC, &[BLACK_IS_ZERO]),
        encode_shorts(tag::BANDS, &[1]),
        encode_shorts(tag::PLANAR, &[1]),
        encode_shorts(tag::PREDICTOR, &[tiles.predictor]),
        encode_shorts(tag::TILE_WIDTH, &[tiles.side as u16]),
        encode_shorts(tag::TILE_HEIGHT, &[tiles.side as u16]),
        encode_longs(tag::TILE_OFFSETS, &offsets, big),
        // A tile has at most 512 × 512 × 8 bytes before compression, so 32 bits suffice for its length, also in a
        // BigTIFF.
        encode_longs(tag::TILE_BYTES, &tiles.lengths, false),
        encode_shorts(tag::SAMPLE_FORMAT, &[sample_format_tag(head.kind)]),
    ];
    if level > 0 {
        entries.push(encode_longs(tag::SUBFILE, &[1], false)); // a reduced-resolution version of the first image
    }
    if let Some(nodata) = head.nodata {
        entries.push(encode_text(tag::NODATA, &nodata_text(nodata)));
    }
    if let Some(words) = format_metadata(head) {
        entries.push(encode_text(tag::GDAL_METADATA, &words));
    }
    // Overviews cover the extent of the first image, so only the first image has georeferencing tags.
    if let Some(place) = head.georeference.as_ref().filter(|_| level == 0) {
        let tags = geokeys::to_tags(place);
        let reals = [
            (tag::PIXEL_SCALE, &tags.pixel_scale),
            (tag::TIEPOINTS, &tags.tiepoints),
            (tag::TRANSFORM, &tags.matrix),
            (tag::GEO_DOUBLES, &tags.doubles),
        ];
        entries.extend(
            reals.iter().filter(|(_, values)| !values.is_empty()).map(|(tag, values)| encode_doubles(*tag, values)),
        );
        if !tags.keys.is_empty() {
            entries.push(encode_shorts(tag::GEO_KEYS, &tags.keys));
        }
        if !tags.ascii.is_empty() {
            entries.push(encode_text(tag::GEO_ASCII, &geo_text(&tags.ascii)));
        }
    }
    // The entries of a directory must be in ascending order of their tags (TIFF 6.0, section 2).
    entries.sort_by_key(|entry| entry.tag);
    entries
}

/// Returns the bytes of a directory's parts: the number of entries, an entry, its count, and its value or position.
fn directory_widths(big: bool) -> [u64; 4] {
    if big { [8, 20, 8, 8] } else { [2, 12, 4, 4] }
}

/// Returns the bytes of a directory and of the values stored after it.
fn directory_bytes(entries: &[TagValues], big: bool) -> u64 {
    let [head, step, _, wide] = directory_widths(big);
    // A value of up to 4 bytes (8 in a BigTIFF) is stored in its entry. Longer values follow the directory, each at a
    // multiple of 8 bytes.
    let behind =
        entries.iter().map(|entry| entry.bytes.len() as u64).filter(|n| *n > wide).map(|n| n.next_multiple_of(8));
    (head + step * entries.len() as u64 + wide + behind.sum::<u64>()).next_multiple_of(8)
}

/// Returns the bytes of a directory that begins at position `at`, with the position of the next one.
fn encode_directory(entries: &[TagValues], at: u64, next: u64, big: bool) -> Vec<u8> {
    let [head, step, wide_count, wide] = directory_widths(big);
    let number = |x: u64, width: u64| match width {
        2 => (x as u16).to_le_bytes().to_vec(),
        4 => (x as u32).to_le_bytes().to_vec(),
        _ => x.to_le_bytes().to_vec(),
    };
    let mut behind: Vec<u8> = Vec::new();
    let values = at + head + step * entries.len() as u64 + wide;
    let mut bytes = number(entries.len() as u64, head);
    for entry in entries {
        bytes.extend(number(u64::from(entry.tag), 2));
        bytes.extend(number(u64::from(entry.kind), 2));
        bytes.extend(number(entry.count, wide_count));
        if entry.bytes.len() as u64 > wide {
            bytes.extend(number(values + behind.len() as u64, wide));
            behind.extend(&entry.bytes);
            behind.resize(behind.len().next_multiple_of(8), 0);
        } else {
            bytes.extend(&entry.bytes);
            bytes.resize(bytes.len() + wide as usize - entry.bytes.len(), 0);
        }
    }
    bytes.extend(number(next, wide));
    bytes.extend(behind);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Writes the header, the directories from fine to coarse, and the tiles from coarse to fine.
fn assemble_file(file: &mut impl Write, head: &RasterHead, levels: &[Tiles], most: u64) -> io::Result<()> {
    let sums: Vec<u64> = levels.iter().map(|tiles| tiles.lengths.iter().sum()).collect();
    // Returns the starts of all directories. They do not depend on the values, so the tiles' positions may be unknown.
    let ends = |big: bool| {
        let first = if big { 16 } else { 8 };
        let lengths =
            levels.iter().enumerate().map(|(k, tiles)| directory_bytes(&list_tags(head, k, tiles, 0, big), big));
        lengths.scan(first, |at, n| Some(std::mem::replace(at, *at + n))).collect::<Vec<u64>>()
    };
    let total = |big: bool| {
        let last = levels.len() - 1;
        ends(big)[last] + directory_bytes(&list_tags(head, last, &levels[last], 0, big), big)
    };
    // The file becomes a BigTIFF only if the classic form would need offsets of more than 32 bits.
    let big = total(false) + sums.iter().sum::<u64>() > most;
    let (starts, data) = (ends(big), total(big));
    file.write_all(b"II")?;
    if big {
        // The header of a BigTIFF consists of the version 43, the width of offsets, a reserved zero, and the position
        // of the first directory.
        file.write_all(&[43u16, 8, 0].map(u16::to_le_bytes).concat())?;
        file.write_all(&16u64.to_le_bytes())?;
    } else {
        file.write_all(&42u16.to_le_bytes())?;
        file.write_all(&8u32.to_le_bytes())?;
    }
    for (k, tiles) in levels.iter().enumerate() {
        // The tiles of all coarser levels precede those of this level.
        let at = data + sums[k + 1..].iter().sum::<u64>();
        let next = starts.get(k + 1).copied().unwrap_or(0);
        file.write_all(&encode_directory(&list_tags(head, k, tiles, at, big), starts[k], next, big))?;
    }
    for tiles in levels.iter().rev() {
        match &tiles.bytes {
            Waiting::Here(all) => file.write_all(all)?,
            Waiting::Beside(beside, ()) => drop(io::copy(&mut fs::File::open(beside)?, file)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, decode_raster};
    use thalweg_noise::gradient::mix_bits;

    fn window(samples: &Samples, size: Size) -> impl FnMut(CellRect) -> Result<Samples> {
        move |window| samples.copy_window(size, window)
    }

    #[test]
    fn both_kinds_of_tiff_hold_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let size = [1100, 700];
        let samples = Samples::I32((0..size[0] * size[1]).map(|k| (k * k) as i32).collect());
        let head =
            RasterHead { nodata: Some(-1.0), unit: Some("m".to_string()), ..RasterHead::new(size, SampleType::I32) };
        for (most, magic) in [(CLASSIC, 42), (0, 43)] {
            let path = FilePath::from(folder.path().join("a.tif"));
            write_cog_with_limit(&path, &head, Overviews::Means, window(&samples, size), Passing::Files, most).unwrap();
            let held = FilePath::from(folder.path().join("held.tif"));
            write_cog_with_limit(&held, &head, Overviews::Means, window(&samples, size), Passing::Memory, most)
                .unwrap();
            assert!(fs::read(&held).unwrap() == fs::read(&path).unwrap());
            fs::remove_file(held).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert_eq!(u16::from_le_bytes([bytes[2], bytes[3]]), magic);
            let raster = decode_raster(Format::Tiff, &bytes, None).unwrap();
            assert!(raster.samples == samples && raster.nodata == Some(-1.0) && raster.unit.as_deref() == Some("m"));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what was written on the way is left");
    }

    #[test]
    fn every_type_comes_back_whether_foretold_or_plain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tif");
        let size = [520, 530];
        // A slope compresses best with a predictor; a few repeated random numbers compress best without.
        let slope = |k: usize| (k % 530) as f64 + 0.25 * (k / 530) as f64;
        let few = |k: usize| [1e6 / 3.0, 7.1, 1e9 / 7.0, 271.8, 31.4][(mix_bits(k as u32) % 5) as usize];
        let mut used = std::collections::BTreeSet::new();
        for of in [&slope as &dyn Fn(usize) -> f64, &few] {
            let all = || (0..size[0] * size[1]).map(of);
            for samples in [
                Samples::U8(all().map(|x| x as u8).collect()),
                Samples::U16(all().map(|x| x as u16).collect()),
                Samples::I16(all().map(|x| x as i16).collect()),
                Samples::I32(all().map(|x| x as i32).collect()),
                Samples::U32(all().map(|x| x as u32).collect()),
                Samples::F32(all().map(|x| x as f32).collect()),
                Samples::F64(all().collect()),
            ] {
                used.insert((samples.kind().to_string(), choose_predictor(&samples, size[1]).unwrap()));
                write_cog_from_memory(
                    &FilePath::from(&path),
                    &RasterHead::new(size, samples.kind()),
                    Overviews::Classes,
                    &samples,
                )
                .unwrap();
                assert!(decode_raster(Format::Tiff, &fs::read(&path).unwrap(), None).unwrap().samples == samples);
            }
        }
        for kind in
            [SampleType::U16, SampleType::I16, SampleType::I32, SampleType::U32, SampleType::F32, SampleType::F64]
        {
            assert_eq!(used.iter().filter(|(of, _)| *of == kind.to_string()).count(), 2, "{kind}: {used:?}");
        }
    }

    #[test]
    fn four_cells_become_one() {
        let nodata = Some(9.0);
        let v = Samples::I16(vec![1, 2, 9, 4, 3, 9, 9, 5, -1, -2, 7]);
        let both = |overviews| {
            halve_rows(&v.copy_window([1, 11], CellRect::new([0, 0], [1, 10])).unwrap(), [2, 5], overviews, nodata)
                .unwrap()
        };
        // 1 2 | 9 4 | 3 over 9 9 | 5 -1 | -2
        assert_eq!(both(Overviews::Means), Samples::I16(vec![2, 2 + 1, 1]));
        assert_eq!(both(Overviews::Classes), Samples::I16(vec![1, 4, 3]));
        let none = halve_rows(&Samples::U8(vec![9; 4]), [2, 2], Overviews::Means, nodata).unwrap();
        assert_eq!(none, Samples::U8(vec![9]));
        let real =
            halve_rows(&Samples::F32(vec![f32::NAN, 1.0, 2.0, f32::NAN]), [2, 2], Overviews::Means, None).unwrap();
        assert_eq!(real, Samples::F32(vec![1.5]));
    }

    #[test]
    fn what_is_given_wrongly_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tif");
        let write = |head: &RasterHead, give: Samples| write_cog(&path, head, Overviews::Means, |_| Ok(give.clone()));
        assert!(write(&RasterHead::new([3, 3], SampleType::U8), Samples::U8(vec![0; 8])).is_err());
        assert!(write(&RasterHead::new([3, 3], SampleType::U8), Samples::U16(vec![0; 9])).is_err());
        assert!(write(&RasterHead::new([0, 3], SampleType::U8), Samples::U8(vec![])).is_err());
        assert!(
            write_cog(&path, &RasterHead::new([3, 3], SampleType::U8), Overviews::Means, |_| Err(Error::invalid_file(
                "b", "no"
            )))
            .is_err()
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
