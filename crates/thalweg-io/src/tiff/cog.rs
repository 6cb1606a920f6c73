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
use super::write::{BLACK_IS_ZERO, DEFLATE, PLAIN, format_of, geo_text, metadata, nodata_text, packed, shortest};
use crate::atomic::{Temporary, atomic, folder_of};
use crate::raster::{Nearest, both};
use crate::{FilePath, Head, SampleType, Samples, disk, geokeys};
use thalweg_core::base::deflate::zlib;
use thalweg_core::{CellRect, Error, Result, Size};

/// How a cell of an overview is computed from the four cells that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overviews {
    /// The mean of the cells with data, rounded if they are integers: for heights and amounts.
    Means,
    /// The first cell with data, from the north-west: for classes and identifiers.
    Classes,
}

impl Overviews {
    /// Returns the kind for samples of which only the type is known: integers are taken as identifiers.
    pub fn of(kind: SampleType) -> Self {
        if matches!(kind, SampleType::F32 | SampleType::F64) { Self::Means } else { Self::Classes }
    }
}

/// The greatest side of a tile in cells.
const SIDE: usize = 512;

/// Returns the side of the tiles of a map: a small map is a single tile. Sides are multiples of 16 (TIFF 6.0, section
/// 15).
fn side_of(size: Size) -> usize {
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
/// use thalweg_io::{Head, MemoryFiles, Overviews, SampleType, Samples, read, write_cog};
///
/// let files = MemoryFiles::default();
/// let mut calls = Vec::new();
/// write_cog(files.path("rows.tif"), &Head::new([600, 3], SampleType::F32), Overviews::Means, |window| {
///     calls.push(window.size());
///     Ok(Samples::F32(window.cells().map(|cell| cell.row as f32).collect()))
/// })?;
/// assert_eq!(calls, [[512, 3], [88, 3]]);
/// assert_eq!(read(files.path("rows.tif"))?.samples.get(3 * 599), 599.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn write_cog(
    path: impl Into<FilePath>,
    head: &Head,
    overviews: Overviews,
    rows: impl FnMut(CellRect) -> Result<Samples>,
) -> Result<()> {
    write_beyond(&path.into(), head, overviews, rows, Passing::Files, CLASSIC)
}

/// Writes a file as [`write_cog`] does, from samples in memory; the tiles are kept in memory too, and the file is
/// written at once.
///
/// # Errors
/// Returns an error of the operating system.
pub fn write_held(path: &FilePath, head: &Head, overviews: Overviews, samples: &Samples) -> Result<()> {
    write_beyond(path, head, overviews, |window| samples.window(head.size, window), Passing::Memory, CLASSIC)
}

/// The temporary storage of tiles until the file is written.
#[derive(Clone, Copy, PartialEq)]
enum Passing {
    Memory,
    Files,
}

/// Writes a file as [`write_cog`] does, as BigTIFF if it would be longer than `most` bytes.
fn write_beyond(
    path: &FilePath,
    head: &Head,
    overviews: Overviews,
    mut rows: impl FnMut(CellRect) -> Result<Samples>,
    passing: Passing,
    most: u64,
) -> Result<()> {
    if head.size.iter().any(|n| *n == 0 || u32::try_from(*n).is_err()) {
        let value = format!("{} × {}", head.size[0], head.size[1]);
        return Err(Error::value("size", value, "1 to 4294967295 rows and columns"));
    }
    // The overviews are made together with the image: each level writes the rows of tiles that are complete, and passes
    // their reduction by half to the next level.
    let by_files = passing == Passing::Files && !path.is_in_memory();
    let folder = by_files.then(|| Temporary::folder(folder_of(path)).map_err(Error::io(path, "write"))).transpose()?;
    let mut levels = Vec::new();
    let mut size = head.size;
    loop {
        let beside = folder.as_ref().map(|folder| folder.path().join(levels.len().to_string()).into());
        levels.push(Level::new(size, path, beside, head)?);
        if size.iter().all(|n| *n <= SIDE) {
            break;
        }
        size = size.map(|n| n.div_ceil(2));
    }
    for first in (0..head.size[0]).step_by(SIDE) {
        let window = CellRect::new([first, 0], [SIDE.min(head.size[0] - first), head.size[1]]);
        let samples = rows(window)?;
        if samples.kind() != head.kind || samples.len() != window.size()[0] * window.size()[1] {
            let value = format!("{} of type {}", samples.len(), samples.kind());
            let allowed = format!("{} × {} (rows × columns) of type {}", window.size()[0], window.size()[1], head.kind);
            return Err(Error::value("samples", value, allowed));
        }
        take(&mut levels, samples, overviews, head.nodata)?;
    }
    let levels = levels.into_iter().map(Level::end).collect::<Result<Vec<_>>>()?;
    atomic(path, |file| assemble(file, head, &levels, most).map_err(Error::io(path, "write")))
}

/// Passes rows to the first level, and their reduction by half to the levels after it.
fn take(levels: &mut [Level], rows: Samples, overviews: Overviews, nodata: Option<f64>) -> Result<()> {
    let Some((level, coarser)) = levels.split_first_mut() else { return Ok(()) };
    let Some(band) = level.gather(rows)? else { return Ok(()) };
    level.write(&band)?;
    if coarser.is_empty() {
        return Ok(());
    }
    let rows = band.len() / level.size[1];
    take(coarser, halved(&band, [rows, level.size[1]], overviews, nodata)?, overviews, nodata)
}

/// A level that is being written: rows that do not yet fill a row of tiles, and the storage of its tiles.
struct Level {
    size: Size,
    /// The side of its tiles in cells.
    side: usize,
    /// The path of the final file, for messages.
    path: PathBuf,
    out: Waiting<io::BufWriter<disk::File>>,
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

impl Level {
    fn new(size: Size, path: &Path, beside: Option<PathBuf>, head: &Head) -> Result<Self> {
        let out = match beside {
            None => Waiting::Here(Vec::new()),
            Some(beside) => {
                let file = disk::File::create_new(&beside).map_err(Error::io(path, "write"))?;
                Waiting::Beside(beside, io::BufWriter::with_capacity(1 << 18, file))
            }
        };
        let waiting = Samples::filled(head.kind, 0, 0.0)?;
        let (side, beyond) = (side_of(head.size), head.nodata.unwrap_or(0.0));
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
    fn gather(&mut self, rows: Samples) -> Result<Option<Samples>> {
        let cols = self.size[1];
        self.taken += rows.len() / cols;
        // Most levels receive all rows of a row of tiles at once, which then need not be copied.
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
    fn write(&mut self, band: &Samples) -> Result<()> {
        let (cols, side) = (self.size[1], self.side);
        let size = [band.len() / cols, cols];
        let tile = |j: usize| -> Result<Samples> {
            let own = CellRect::new([0, 0], [size[0], side.min(cols - j * side)]);
            let mut tile = Samples::filled(band.kind(), side * side, self.beyond)?;
            tile.paste([side, side], own, band, size, [0, j * side])?;
            Ok(tile)
        };
        let count = cols.div_ceil(side);
        let predictor = match self.predictor {
            Some(predictor) => predictor,
            None => shortest(&tile(count / 2)?, side).map_err(Error::io(&self.path, "write"))?,
        };
        self.predictor = Some(predictor);
        let bytes = |j: usize| zlib(&packed(&tile(j)?, side, predictor)).map_err(Error::io(&self.path, "write"));
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

    fn end(self) -> Result<Tiles> {
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
fn halved(samples: &Samples, size: Size, overviews: Overviews, nodata: Option<f64>) -> Result<Samples> {
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
                            Nearest::nearest(sum / count)
                        }
                    };
                }
            });
    }, {});
    Ok(out)
}

/// The values of a tag, little-endian.
struct Entry {
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

fn shorts(tag: u16, values: &[u16]) -> Entry {
    Entry { tag, kind: SHORT, count: values.len() as u64, bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
}

fn longs(tag: u16, values: &[u64], wide: bool) -> Entry {
    let bytes = |x: &u64| if wide { x.to_le_bytes().to_vec() } else { (*x as u32).to_le_bytes().to_vec() };
    let kind = if wide { LONG8 } else { LONG };
    Entry { tag, kind, count: values.len() as u64, bytes: values.iter().flat_map(bytes).collect() }
}

fn doubles(tag: u16, values: &[f64]) -> Entry {
    Entry {
        tag,
        kind: DOUBLE,
        count: values.len() as u64,
        bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn text(tag: u16, words: &str) -> Entry {
    let bytes: Vec<u8> = words.bytes().chain([0]).collect();
    Entry { tag, kind: ASCII, count: bytes.len() as u64, bytes }
}

/// Returns the tags of a level whose tiles begin at position `at`.
fn entries(head: &Head, level: usize, tiles: &Tiles, at: u64, big: bool) -> Vec<Entry> {
    let offsets: Vec<u64> = tiles.lengths.iter().scan(at, |at, n| Some(std::mem::replace(at, *at + n))).collect();
    let mut entries = vec![
        longs(tag::WIDTH, &[tiles.size[1] as u64], false),
        longs(tag::HEIGHT, &[tiles.size[0] as u64], false),
        shorts(tag::BITS, &[8 * head.kind.bytes() as u16]),
        shorts(tag::COMPRESSION, &[DEFLATE]),
        shorts(tag::PHOTOMETRIC, &[BLACK_IS_ZERO]),
        shorts(tag::BANDS, &[1]),
        shorts(tag::PLANAR, &[1]),
        shorts(tag::PREDICTOR, &[tiles.predictor]),
        shorts(tag::TILE_WIDTH, &[tiles.side as u16]),
        shorts(tag::TILE_HEIGHT, &[tiles.side as u16]),
        longs(tag::TILE_OFFSETS, &offsets, big),
        longs(tag::TILE_BYTES, &tiles.lengths, false),
        shorts(tag::SAMPLE_FORMAT, &[format_of(head.kind)]),
    ];
    if level > 0 {
        entries.push(longs(tag::SUBFILE, &[1], false)); // a reduced-resolution version of the first image
    }
    if let Some(nodata) = head.nodata {
        entries.push(text(tag::NODATA, &nodata_text(nodata)));
    }
    if let Some(words) = metadata(head) {
        entries.push(text(tag::GDAL_METADATA, &words));
    }
    if let Some(place) = head.georeference.as_ref().filter(|_| level == 0) {
        let tags = geokeys::to_tags(place);
        let reals = [
            (tag::PIXEL_SCALE, &tags.pixel_scale),
            (tag::TIEPOINTS, &tags.tiepoints),
            (tag::TRANSFORM, &tags.matrix),
            (tag::GEO_DOUBLES, &tags.doubles),
        ];
        entries
            .extend(reals.iter().filter(|(_, values)| !values.is_empty()).map(|(tag, values)| doubles(*tag, values)));
        if !tags.keys.is_empty() {
            entries.push(shorts(tag::GEO_KEYS, &tags.keys));
        }
        if !tags.ascii.is_empty() {
            entries.push(text(tag::GEO_ASCII, &geo_text(&tags.ascii)));
        }
    }
    entries.sort_by_key(|entry| entry.tag);
    entries
}

/// Returns the bytes of a directory's parts: the number of entries, an entry, its count, and its value or position.
fn widths(big: bool) -> [u64; 4] {
    if big { [8, 20, 8, 8] } else { [2, 12, 4, 4] }
}

/// Returns the bytes of a directory and of the values stored after it.
fn length_of(entries: &[Entry], big: bool) -> u64 {
    let [head, step, _, wide] = widths(big);
    let behind =
        entries.iter().map(|entry| entry.bytes.len() as u64).filter(|n| *n > wide).map(|n| n.next_multiple_of(8));
    (head + step * entries.len() as u64 + wide + behind.sum::<u64>()).next_multiple_of(8)
}

/// Returns the bytes of a directory that begins at position `at`, with the position of the next one.
fn directory(entries: &[Entry], at: u64, next: u64, big: bool) -> Vec<u8> {
    let [head, step, wide_count, wide] = widths(big);
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
fn assemble(file: &mut impl Write, head: &Head, levels: &[Tiles], most: u64) -> io::Result<()> {
    let sums: Vec<u64> = levels.iter().map(|tiles| tiles.lengths.iter().sum()).collect();
    // Returns the starts of all directories. They do not depend on the values, so the tiles' positions may be unknown.
    let ends = |big: bool| {
        let first = if big { 16 } else { 8 };
        let lengths = levels.iter().enumerate().map(|(k, tiles)| length_of(&entries(head, k, tiles, 0, big), big));
        lengths.scan(first, |at, n| Some(std::mem::replace(at, *at + n))).collect::<Vec<u64>>()
    };
    let total = |big: bool| {
        let last = levels.len() - 1;
        ends(big)[last] + length_of(&entries(head, last, &levels[last], 0, big), big)
    };
    let big = total(false) + sums.iter().sum::<u64>() > most;
    let (starts, data) = (ends(big), total(big));
    file.write_all(b"II")?;
    if big {
        file.write_all(&[43u16, 8, 0].map(u16::to_le_bytes).concat())?;
        file.write_all(&16u64.to_le_bytes())?;
    } else {
        file.write_all(&42u16.to_le_bytes())?;
        file.write_all(&8u32.to_le_bytes())?;
    }
    for (k, tiles) in levels.iter().enumerate() {
        let at = data + sums[k + 1..].iter().sum::<u64>();
        let next = starts.get(k + 1).copied().unwrap_or(0);
        file.write_all(&directory(&entries(head, k, tiles, at, big), starts[k], next, big))?;
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
    use crate::{Format, decode};
    use thalweg_noise::gradient::mix;

    fn window(samples: &Samples, size: Size) -> impl FnMut(CellRect) -> Result<Samples> {
        move |window| samples.window(size, window)
    }

    #[test]
    fn both_kinds_of_tiff_hold_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let size = [1100, 700];
        let samples = Samples::I32((0..size[0] * size[1]).map(|k| (k * k) as i32).collect());
        let head = Head { nodata: Some(-1.0), unit: Some("m".to_string()), ..Head::new(size, SampleType::I32) };
        for (most, magic) in [(CLASSIC, 42), (0, 43)] {
            let path = FilePath::from(folder.path().join("a.tif"));
            write_beyond(&path, &head, Overviews::Means, window(&samples, size), Passing::Files, most).unwrap();
            let held = FilePath::from(folder.path().join("held.tif"));
            write_beyond(&held, &head, Overviews::Means, window(&samples, size), Passing::Memory, most).unwrap();
            assert!(fs::read(&held).unwrap() == fs::read(&path).unwrap());
            fs::remove_file(held).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert_eq!(u16::from_le_bytes([bytes[2], bytes[3]]), magic);
            let raster = decode(Format::Tiff, &bytes, None).unwrap();
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
        let few = |k: usize| [1e6 / 3.0, 7.1, 1e9 / 7.0, 271.8, 31.4][(mix(k as u32) % 5) as usize];
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
                used.insert((samples.kind().to_string(), shortest(&samples, size[1]).unwrap()));
                write_held(&FilePath::from(&path), &Head::new(size, samples.kind()), Overviews::Classes, &samples)
                    .unwrap();
                assert!(decode(Format::Tiff, &fs::read(&path).unwrap(), None).unwrap().samples == samples);
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
            halved(&v.window([1, 11], CellRect::new([0, 0], [1, 10])).unwrap(), [2, 5], overviews, nodata).unwrap()
        };
        // 1 2 | 9 4 | 3 over 9 9 | 5 -1 | -2
        assert_eq!(both(Overviews::Means), Samples::I16(vec![2, 2 + 1, 1]));
        assert_eq!(both(Overviews::Classes), Samples::I16(vec![1, 4, 3]));
        let none = halved(&Samples::U8(vec![9; 4]), [2, 2], Overviews::Means, nodata).unwrap();
        assert_eq!(none, Samples::U8(vec![9]));
        let real = halved(&Samples::F32(vec![f32::NAN, 1.0, 2.0, f32::NAN]), [2, 2], Overviews::Means, None).unwrap();
        assert_eq!(real, Samples::F32(vec![1.5]));
    }

    #[test]
    fn what_is_given_wrongly_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tif");
        let write = |head: &Head, give: Samples| write_cog(&path, head, Overviews::Means, |_| Ok(give.clone()));
        assert!(write(&Head::new([3, 3], SampleType::U8), Samples::U8(vec![0; 8])).is_err());
        assert!(write(&Head::new([3, 3], SampleType::U8), Samples::U16(vec![0; 9])).is_err());
        assert!(write(&Head::new([0, 3], SampleType::U8), Samples::U8(vec![])).is_err());
        assert!(
            write_cog(&path, &Head::new([3, 3], SampleType::U8), Overviews::Means, |_| Err(Error::file("b", "no")))
                .is_err()
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
