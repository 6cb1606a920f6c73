//! TIFF, GeoTIFF and BigTIFF: reads one band and an alpha band, writes one band.
//!
//! The `tiff` crate is not used: its decoder trusts a file's counts, asserts, and does not read everything that GDAL
//! writes (padded LZW tiles); its encoder does not make cloud-optimised files.

mod chunk;
mod cog;
mod directory;
mod floats;
mod lerc;
mod source;
mod windows;
mod write;

use rayon::prelude::*;

use super::facts::{FactSource, Facts};
use super::geokeys;
use super::raster::{both, each, parse_scaling};
use super::{Raster, SampleType, Samples, check_size};
use chunk::ChunkCoding;
pub(super) use cog::write_cog_from_memory;
pub use cog::{Overviews, write_cog};
use directory::Directory;
pub(super) use floats::widen_floats;
use source::TiffSource;
use thalweg_core::{Cell, CellRect, Size};
pub use windows::TiffWindows;

/// The tags that are used.
mod tag {
    pub const SUBFILE: u16 = 254;
    pub const WIDTH: u16 = 256;
    pub const HEIGHT: u16 = 257;
    pub const BITS: u16 = 258;
    pub const COMPRESSION: u16 = 259;
    pub const PHOTOMETRIC: u16 = 262;
    pub const STRIP_OFFSETS: u16 = 273;
    pub const BANDS: u16 = 277;
    pub const ROWS_PER_STRIP: u16 = 278;
    pub const STRIP_BYTES: u16 = 279;
    pub const PLANAR: u16 = 284;
    pub const PREDICTOR: u16 = 317;
    pub const TILE_WIDTH: u16 = 322;
    pub const TILE_HEIGHT: u16 = 323;
    pub const TILE_OFFSETS: u16 = 324;
    pub const TILE_BYTES: u16 = 325;
    pub const EXTRA_SAMPLES: u16 = 338;
    pub const SAMPLE_FORMAT: u16 = 339;
    pub const PIXEL_SCALE: u16 = 33550;
    pub const TIEPOINTS: u16 = 33922;
    pub const TRANSFORM: u16 = 34264;
    pub const GEO_KEYS: u16 = 34735;
    pub const GEO_DOUBLES: u16 = 34736;
    pub const GEO_ASCII: u16 = 34737;
    pub const GDAL_METADATA: u16 = 42112;
    pub const NODATA: u16 = 42113;
    pub const LERC: u16 = 50674;
}

/// How the pixels are stored in the file.
struct TiffLayout {
    rows: usize,
    cols: usize,
    /// The number of bands that are neither the band that is read nor an alpha band.
    unused_bands: usize,
    coding: ChunkCoding,
    /// The number of the band among those whose samples are stored together.
    band: usize,
    tiled: bool,
    /// The rows and columns of a strip or tile.
    chunk: [usize; 2],
    /// The position and length of the band's strips or tiles; the length is 0 if one is absent (a sparse file).
    places: Vec<[u64; 2]>,
    /// The sample of absent strips and tiles.
    fill: f64,
}

/// The number of strips or tiles that are decoded in parallel before they are assembled.
// The number bounds the memory for decoded chunks, and is large enough to occupy the cores of common machines.
const BATCH: usize = 64;

/// Reads the first band of the first image that is not an alpha band. `stated_nodata` is the value for no data that a
/// file next to it states instead of its own.
pub(super) fn read_first_band(bytes: &[u8], stated_nodata: Option<f64>) -> Result<Raster, String> {
    let source = TiffSource::Bytes(bytes);
    let directory = Directory::parse(&source)?;
    let mut layout = read_layout(&directory, source.length(), Content::Heights, ReadScope::Whole)?;
    let head = read_metadata(&directory, &layout)?;
    layout.fill = stated_nodata.or(head.nodata).unwrap_or(0.0);
    let mut raster = Raster { samples: decode_pixels(&layout, &source)?, ..head };
    if let Some(alpha) = alpha_layout(&directory, &layout, source.length(), ReadScope::Whole)? {
        raster.mask_out(no_data(&decode_pixels(&alpha, &source)?));
        raster.facts.record_alpha();
    }
    if let Some(layout) = internal_mask_layout(&directory, source.length(), raster.size, ReadScope::Whole)? {
        let mask = decode_pixels(&layout, &source).map_err(|problem| format!("has a mask that {problem}"))?;
        raster.mask_out(no_data(&mask));
        raster.facts.record_internal_mask();
    }
    Ok(raster)
}

/// Reads the metadata of the first image; the samples are left out.
fn read_metadata(directory: &Directory<'_>, layout: &TiffLayout) -> Result<Raster, String> {
    let mut raster = Raster::new([layout.rows, layout.cols], Samples::zeros(layout.coding.kind, 0)?);
    let pixel_scale = directory.read_doubles(tag::PIXEL_SCALE)?;
    // GDAL assumes that programs which write a negative height mean a positive one.
    if pixel_scale.get(1).is_some_and(|height| *height < 0.0) && !directory.has_tag(tag::TRANSFORM) {
        raster.warnings.push(
            "has a negative height of pixels (tag 33550), so its first row is read as the southernmost, as GDAL does \
             with GTIFF_HONOUR_NEGATIVE_SCALEY=YES; if it is the northernmost, correct the tag with `gdal_translate`"
                .to_string(),
        );
    }
    raster.georeference = geokeys::from_tags(&geokeys::Tags {
        pixel_scale,
        tiepoints: directory.read_doubles(tag::TIEPOINTS)?,
        matrix: directory.read_doubles(tag::TRANSFORM)?,
        keys: directory.read_integers(tag::GEO_KEYS)?.iter().map(|key| *key as u16).collect(),
        doubles: directory.read_doubles(tag::GEO_DOUBLES)?,
        ascii: directory.read_text(tag::GEO_ASCII)?,
    })?;
    // GDAL stores the value for no data as text.
    let nodata = directory.read_text(tag::NODATA)?;
    if !nodata.trim().is_empty() {
        raster.nodata = nodata.trim().parse().ok();
        if raster.nodata.is_none() {
            raster
                .warnings
                .push(format!("has the nodata value `{}`, which is not a number and is ignored", nodata.trim()));
        }
    }
    let metadata = directory.read_text(tag::GDAL_METADATA)?;
    let number = |role: &str, is_scale| {
        let item = format!("item {} of its GDAL metadata", role.to_ascii_uppercase());
        find_metadata_item(&metadata, role).map(|text| parse_scaling(text, is_scale, &item)).transpose()
    };
    let (factor, offset) = (number("scale", true)?, number("offset", false)?);
    raster.scale = [factor.unwrap_or(1.0), offset.unwrap_or(0.0)];
    raster.unit = find_metadata_item(&metadata, "unittype").filter(|unit| !unit.is_empty()).map(str::to_string);
    raster.scaled = factor.is_some() || offset.is_some() || raster.unit.is_some();
    if layout.unused_bands > 0 {
        let bands = layout.unused_bands + 1;
        let kind = if find_alpha_bands(directory)?.is_empty() { "bands" } else { "bands besides alpha" };
        raster.warnings.push(format!("has {bands} {kind}; only the first is read"));
    }
    record_facts(&mut raster.facts, directory, layout);
    Ok(raster)
}

/// Records the coding of the samples, and the tags that state the properties.
fn record_facts(facts: &mut Facts, directory: &Directory<'_>, layout: &TiffLayout) {
    let by = |tags: &str| FactSource::File(tags.to_string());
    facts.record("compression", layout.coding.describe_compression(), by("tag 259"));
    let [rows, cols] = layout.chunk;
    let (kind, tags) = if layout.tiled { ("tiles", "tags 322, 323") } else { ("strips", "tag 278") };
    facts.record("layout", format!("{kind} of {cols} × {rows} samples (columns × rows)"), by(tags));
    let coding = &layout.coding;
    let name = match coding.sample_format {
        1 => "unsigned integers",
        2 => "signed integers",
        _ => "floats",
    };
    facts.record("stored_samples", format!("{name} of {} bits", coding.bits_per_sample), by("tags 258, 339"));
    if layout.unused_bands > 0 {
        let choice = format!("the first of {} bands", layout.unused_bands + 1);
        facts.record("channel", choice, FactSource::Default("the first band is read".to_string()));
    }
    // The values of these facts are recorded with the other properties of the raster.
    let transform = if directory.has_tag(tag::TRANSFORM) { "tag 34264" } else { "tags 33550, 33922" };
    for (name, source) in [
        ("transform", transform),
        ("pixel", "GeoKey 1025"),
        ("crs", "GeoKeys 2048, 3072"),
        ("crs_name", "tag 34737"),
        ("vertical_crs", "GeoKey 4096"),
        ("nodata", "tag 42113"),
        ("scale", "tag 42112"),
        ("offset", "tag 42112"),
        ("unit", "tag 42112"),
    ] {
        facts.record_source(name, by(source));
    }
}

/// The content of an image.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Heights,
    /// A band in addition to heights; 0 where there is no data.
    Alpha,
    /// One bit or byte per cell; 0 where there is no data.
    Mask,
}

/// How much of an image is in memory at a time.
#[derive(Clone, Copy, PartialEq)]
enum ReadScope {
    /// The whole image, which must fit into memory.
    Whole,
    /// A window of the image.
    Windows,
}

/// The number of directories that are searched for a mask.
// The limit also ends the search if the directories of a broken file form a cycle.
const MAX_DIRECTORIES: usize = 256;

/// Returns the layout of the mask that the file contains in addition to its first image (GDAL's internal mask, TIFF 6.0
/// section 8).
fn internal_mask_layout(
    first: &Directory<'_>,
    length: u64,
    size: Size,
    scope: ReadScope,
) -> Result<Option<TiffLayout>, String> {
    // These are bits of tag 254 (TIFF 6.0, section 8). The mask of an overview has both bits and is skipped.
    const REDUCED: u64 = 1;
    const MASK: u64 = 4;
    let mut found = first.next();
    for _ in 0..MAX_DIRECTORIES {
        // Directories after a broken one cannot be found; the image is usable without them.
        let Some(Ok(directory)) = found else { break };
        let kind = directory.read_integer(tag::SUBFILE, 0)?;
        let sizes = [directory.read_integer(tag::HEIGHT, 0)?, directory.read_integer(tag::WIDTH, 0)?];
        if kind & MASK != 0 && kind & REDUCED == 0 && sizes == size.map(|n| n as u64) {
            let layout = read_layout(&directory, length, Content::Mask, scope);
            return layout.map(Some).map_err(|problem| format!("has a mask that {problem}"));
        }
        found = directory.next();
    }
    Ok(None)
}

/// Reads a file that is the mask of another (GDAL's `.msk`); true where there is no data.
pub(super) fn read_mask(bytes: &[u8], size: Size) -> Result<Vec<bool>, String> {
    let source = TiffSource::Bytes(bytes);
    Ok(no_data(&decode_pixels(&external_mask_layout(&source, size, ReadScope::Whole)?, &source)?))
}

/// Returns the layout of a file that is the mask of another one of this size.
fn external_mask_layout(source: &TiffSource<'_>, size: Size, scope: ReadScope) -> Result<TiffLayout, String> {
    let directory = Directory::parse(source)?;
    let [rows, cols] = [directory.read_integer(tag::HEIGHT, 0)?, directory.read_integer(tag::WIDTH, 0)?];
    if [rows, cols] != size.map(|n| n as u64) {
        return Err(format!(
            "has {cols} × {rows} cells (columns × rows), and the file that it masks has {} × {}; remove or recreate \
             the mask",
            size[1], size[0]
        ));
    }
    read_layout(&directory, source.length(), Content::Mask, scope)
}

/// Converts the samples of a mask or of an alpha band: true where there is no data.
fn no_data(samples: &Samples) -> Vec<bool> {
    fn are_zero<T: Default + PartialEq>(samples: &[T]) -> Vec<bool> {
        samples.iter().map(|sample| *sample == T::default()).collect()
    }
    each!(samples, v => are_zero(v))
}

/// Returns the numbers of the bands that state the opacity of cells: extra samples of associated or unassociated alpha
/// data (TIFF 6.0, section 18).
fn find_alpha_bands(directory: &Directory<'_>) -> Result<Vec<u64>, String> {
    const ASSOCIATED: u64 = 1;
    const UNASSOCIATED: u64 = 2;
    let bands = directory.read_integer(tag::BANDS, 1)?;
    let extra = directory.read_integers(tag::EXTRA_SAMPLES)?;
    // The extra samples are the last bands.
    let first = bands.saturating_sub(extra.len() as u64);
    let alpha = (first..bands).zip(extra).filter(|(_, kind)| matches!(*kind, ASSOCIATED | UNASSOCIATED));
    let alpha: Vec<u64> = alpha.map(|(band, _)| band).collect();
    // One of the bands is heights, whatever the tag says.
    Ok(if alpha.len() as u64 >= bands { Vec::new() } else { alpha })
}

/// Returns the layout of the alpha band of an image whose heights have the layout `heights`; `None` if it has none.
fn alpha_layout(
    directory: &Directory<'_>,
    heights: &TiffLayout,
    length: u64,
    scope: ReadScope,
) -> Result<Option<TiffLayout>, String> {
    if find_alpha_bands(directory)?.is_empty() {
        return Ok(None);
    }
    let layout = read_layout(directory, length, Content::Alpha, scope)?;
    Ok(Some(TiffLayout { fill: heights.fill, ..layout }))
}

/// The greatest number of cells of a strip or tile that is absent in a sparse file.
// No bytes of the file vouch for these cells, so the limit bounds the memory that a broken file can claim. Tiles of
// common programs have at most 2048² cells.
const MAX_SPARSE_CHUNK: u64 = 1 << 22;

/// Reads the layout. Rejects images that are not a grid of heights, encodings that are not supported, and impossible
/// sizes.
fn read_layout(
    directory: &Directory<'_>,
    length: u64,
    content: Content,
    scope: ReadScope,
) -> Result<TiffLayout, String> {
    let rows = directory.read_integer(tag::HEIGHT, 0)?;
    let cols = directory.read_integer(tag::WIDTH, 0)?;
    let bands = directory.read_integer(tag::BANDS, 1)?;
    let bits = directory.read_integers(tag::BITS)?;
    let depth = bits.first().copied().unwrap_or(1);
    let format = directory.read_integer(tag::SAMPLE_FORMAT, 1)?;
    let compression = directory.read_integer(tag::COMPRESSION, 1)?;
    let advice = "convert it with `gdal_translate -b 1 -ot Float32 -co COMPRESS=DEFLATE`";

    // The sample format and the number of bits together give the type of the samples. Types that heights are rarely
    // stored in are widened.
    let kind = match (format, depth) {
        (1, 8) => SampleType::U8,
        (1, 1) if content == Content::Mask && bands == 1 => SampleType::U8,
        _ if content == Content::Mask => return Err("does not have samples of 1 or 8 bits".to_string()),
        (1, 16) => SampleType::U16,
        (2, 8 | 16) => SampleType::I16,
        (2, 32) => SampleType::I32,
        (1, 32) => SampleType::U32,
        (3, 16 | 24 | 32) => SampleType::F32,
        // 64-bit floats represent all integers up to 2⁵³, which is more than any height.
        (3, 64) | (1 | 2, 64) => SampleType::F64,
        _ => return Err(format!("has samples of {depth} bits, format {format}, which are not supported; {advice}")),
    };
    if bits.iter().any(|b| *b != depth) || bands == 0 || bands > 4096 {
        return Err(format!("has {bands} bands; it must have 1 to 4096, all of the same depth; {advice}"));
    }
    // The greatest compression ratio of each method: deflate 1032, PackBits 64, LZW about 1350 for a constant;
    // Zstandard stores 128 KiB in four bytes; a LERC blob of a constant has a header alone.
    let ratio = match compression {
        1 => 1,
        5 => 1400,
        8 | 32946 => 1100,
        32773 => 64,
        chunk::LERC | chunk::ZSTD => 1 << 16,
        _ => {
            let name = chunk::compression_name(compression).map(|name| format!(" ({name})")).unwrap_or_default();
            return Err(format!(
                "is compressed by method {compression}{name}; the supported methods are none, LZW, deflate, \
                 PackBits, Zstandard and LERC; {advice}"
            ));
        }
    };
    match directory.read_integer(tag::PHOTOMETRIC, 1)? {
        1 => {}
        4 if content == Content::Mask => {}
        0 => return Err(format!("is a picture in which white is zero, not heights; {advice}")),
        _ => return Err(format!("is a colour picture, not heights; {advice}")),
    }
    // Predictor 3 is defined for floating-point samples alone, and no predictor is defined for single bits.
    let predictor = directory.read_integer(tag::PREDICTOR, 1)?;
    match (predictor, format) {
        (2 | 3, _) if depth < 8 => {
            return Err(format!("is broken: predictor {predictor} does not apply to {depth} bits"));
        }
        (1, _) | (3, 3) => {}
        (2, _) if depth != 24 => {}
        _ => return Err(format!("is broken: predictor {predictor} does not apply to sample format {format}")),
    }
    let planar = directory.read_integer(tag::PLANAR, 1)?;
    if !matches!(planar, 1 | 2) {
        return Err(format!("is broken: its planar configuration is {planar}; it must be 1 or 2"));
    }
    // In planar configuration 2 each band has strips or tiles of its own. Those of the first band come first in the
    // lists.
    let planes = if planar == 2 { bands } else { 1 };
    // Eight pixels of one bit are stored in one byte, and become eight bytes.
    let (width, ratio) = if depth < 8 { (1, 8 * ratio) } else { (depth / 8, ratio) };
    let pixel = width * (bands / planes);
    let tiled = directory.has_tag(tag::TILE_OFFSETS);
    let [offsets, lengths] =
        if tiled { [tag::TILE_OFFSETS, tag::TILE_BYTES] } else { [tag::STRIP_OFFSETS, tag::STRIP_BYTES] };
    let (offsets, lengths) = (directory.read_integers(offsets)?, directory.read_integers(lengths)?);
    let is_sparse = lengths.contains(&0);
    // In a sparse file the bytes say nothing about the size of the image, only about the size of a strip or tile.
    let claim_bytes = if is_sparse { u64::MAX } else { length };
    // Widened samples take more bytes in memory than in the file.
    let decoded_pixel = pixel.max(kind.bytes() as u64);
    let size_is_true = |size| match scope {
        ReadScope::Whole => {
            let bytes = usize::try_from(claim_bytes).unwrap_or(usize::MAX);
            check_size(size, decoded_pixel, bytes, ratio * decoded_pixel.div_ceil(pixel)).map(drop)
        }
        ReadScope::Windows => check_claim(size, pixel, claim_bytes, ratio),
    };
    // The claimed size is checked before memory is allocated for it.
    size_is_true([rows, cols])?;

    let chunk = if tiled {
        [directory.read_integer(tag::TILE_HEIGHT, 0)?, directory.read_integer(tag::TILE_WIDTH, 0)?]
    } else {
        // A missing tag, and the default of 2³² − 1 in the standard, mean a single strip.
        [directory.read_integer(tag::ROWS_PER_STRIP, rows)?.min(rows), cols]
    };
    if chunk.contains(&0) || chunk.iter().any(|n| *n > u64::from(u32::MAX)) {
        return Err(format!("is broken: its tiles or strips are {} × {} cells", chunk[1], chunk[0]));
    }
    let chunks = [rows.div_ceil(chunk[0]), cols.div_ceil(chunk[1])];
    if tiled {
        // tiles are stored completely, with their padding
        size_is_true([chunks[0].saturating_mul(chunk[0]), chunks[1].saturating_mul(chunk[1])])?;
    }
    if is_sparse && chunk[0].saturating_mul(chunk[1]) > MAX_SPARSE_CHUNK {
        check_claim(chunk, pixel, length, ratio)?;
    }
    let expected = chunks[0] * chunks[1]; // ≤ cells
    if offsets.len() != lengths.len() || expected.checked_mul(planes) != Some(offsets.len() as u64) {
        return Err(format!("is broken: it lists {} tiles or strips; {expected} per band are required", offsets.len()));
    }
    let alpha = find_alpha_bands(directory)?;
    let band = match content {
        Content::Heights => (0..bands).find(|band| !alpha.contains(band)).unwrap_or(0),
        Content::Alpha => alpha.first().copied().unwrap_or(0),
        Content::Mask => 0,
    };
    // Only the strips or tiles of one band are used.
    let first = if planes > 1 { band * expected } else { 0 };
    let listed = offsets.iter().zip(&lengths).skip(first as usize).take(expected as usize);
    let places = listed.map(|(offset, bytes)| {
        if offset.checked_add(*bytes).is_none_or(|end| end > length && *bytes > 0) {
            return Err("is truncated: some of its tiles or strips are outside the file".to_string());
        }
        Ok([*offset, *bytes])
    });
    let coding = ChunkCoding {
        compression,
        predictor,
        big_endian: directory.big_endian(),
        sample_format: format,
        bits_per_sample: depth,
        kind,
        bands: (bands / planes) as usize,
        // The second value is the additional compression of LERC; the first is the version.
        lerc: directory.read_integers(tag::LERC)?.get(1).copied().unwrap_or(0),
    };
    let has_lerc_type = matches!((format, depth), (1 | 2, 8 | 16 | 32) | (3, 32 | 64));
    if compression == chunk::LERC && (coding.lerc > lerc::ZSTD || predictor != 1 || !has_lerc_type) {
        let more = format!("compression {} of LERC, predictor {predictor}, {depth} bits", coding.lerc);
        return Err(format!("uses LERC with options that are not supported ({more}); {advice}"));
    }
    Ok(TiffLayout {
        rows: rows as usize, // both are at most the number of cells, which fits
        cols: cols as usize,
        unused_bands: bands as usize - alpha.len() - 1,
        coding,
        band: if planes > 1 { 0 } else { band as usize },
        tiled,
        chunk: chunk.map(|n| n as usize),
        places: places.collect::<Result<_, _>>()?,
        fill: 0.0,
    })
}

/// Rejects a size from a header if it is empty, or more than a file of `length` bytes can contain at a compression
/// ratio of `ratio`. The size is not limited otherwise, because only windows are read.
fn check_claim(size: [u64; 2], sample_bytes: u64, length: u64, ratio: u64) -> Result<(), String> {
    let [rows, cols] = size;
    let need = rows.checked_mul(cols).and_then(|cells| cells.checked_mul(sample_bytes)).filter(|need| *need > 0);
    match need {
        Some(need) if need <= length.saturating_mul(ratio) && need <= isize::MAX as u64 => Ok(()),
        _ => Err(format!(
            "declares {cols} × {rows} cells (columns × rows), more than its {length} bytes can contain: it is \
             truncated or broken"
        )),
    }
}

/// Decodes the band of a layout.
fn decode_pixels(layout: &TiffLayout, source: &TiffSource<'_>) -> Result<Samples, String> {
    let whole = CellRect::new([0, 0], [layout.rows, layout.cols]);
    let mut samples = Samples::zeros(layout.coding.kind, layout.rows * layout.cols)?;
    // The chunks of a batch are decoded in parallel, and copied before the next batch is decoded.
    for batch in layout.chunks_in_window(whole).chunks(BATCH) {
        let decoded = batch.par_iter().map(|k| layout.decode_chunk(source, *k)).collect::<Result<Vec<_>, _>>()?;
        for (k, part) in batch.iter().zip(&decoded) {
            layout.copy_chunk(&mut samples, part, *k, whole)?;
        }
    }
    Ok(samples)
}

impl TiffLayout {
    /// Returns the first cell of strip or tile number `k`.
    fn chunk_corner(&self, k: usize) -> Cell {
        let across = self.cols.div_ceil(self.chunk[1]);
        Cell::new(k / across * self.chunk[0], k % across * self.chunk[1])
    }

    /// Returns the strips or tiles that a window, which must be inside the image, intersects.
    fn chunks_in_window(&self, window: CellRect) -> Vec<usize> {
        let across = self.cols.div_ceil(self.chunk[1]);
        let span =
            |k: usize| window.start[k] / self.chunk[k]..(window.start[k] + window.size()[k]).div_ceil(self.chunk[k]);
        if window.size().contains(&0) {
            return Vec::new();
        }
        span(0).flat_map(|i| span(1).map(move |j| i * across + j)).collect()
    }

    /// Returns the rows of strip or tile number `k`. Tiles have all their rows, with padding; the last strip ends with
    /// the image.
    fn chunk_rows(&self, k: usize) -> usize {
        if self.tiled { self.chunk[0] } else { self.chunk[0].min(self.rows - self.chunk_corner(k)[0]) }
    }

    /// Decodes the samples of all bands of strip or tile number `k`.
    fn decode_chunk(&self, source: &TiffSource<'_>, k: usize) -> Result<Samples, String> {
        let [at, length] = self.places[k];
        if length == 0 {
            let cells = self.chunk_rows(k) * self.chunk[1] * self.coding.bands;
            return Samples::filled(self.coding.kind, cells, self.fill).map_err(|problem| problem.to_string());
        }
        let data = source.get(at, length).ok_or("is truncated: some of its tiles or strips cannot be read")?;
        self.coding.decode(&data, [self.chunk_rows(k), self.chunk[1]])
    }

    /// Copies the band of strip or tile number `k`, without its padding, into the samples of a window.
    fn copy_chunk(&self, samples: &mut Samples, part: &Samples, k: usize, window: CellRect) -> Result<(), String> {
        both!(samples, part, all, part => self.paste_band(all, part, k, window), return Err("cannot be decoded".to_string()));
        Ok(())
    }

    fn paste_band<T: Copy>(&self, all: &mut [T], part: &[T], k: usize, window: CellRect) {
        let start = self.chunk_corner(k);
        let end = [start[0] + self.chunk_rows(k), start[1] + self.chunk[1]];
        let first = [0, 1].map(|k| start[k].max(window.start[k]));
        let last = [0, 1].map(|k| end[k].min(window.start[k] + window.size()[k]));
        let bands = self.coding.bands;
        // Only the intersection of the chunk and the window is copied. The samples of a pixel's bands are stored
        // together, so every `bands`-th sample belongs to the same band.
        for i in first[0]..last[0] {
            let from = ((i - start[0]) * self.chunk[1] + first[1] - start[1]) * bands + self.band;
            let from = part[from..].iter().step_by(bands);
            let at = (i - window.start[0]) * window.size()[1] + first[1] - window.start[1];
            all[at..at + last[1].saturating_sub(first[1])].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Returns the text of the first band's item with this role in GDAL's metadata (`<Item name=".." sample="0"
/// role="scale">2</Item>`).
fn find_metadata_item<'a>(metadata: &'a str, role: &str) -> Option<&'a str> {
    let role = format!("role=\"{role}\"");
    metadata.split("<Item").skip(1).find_map(|item| {
        let (head, rest) = item.split_once('>')?;
        let first = !head.contains("sample=") || head.contains("sample=\"0\"");
        (first && head.contains(&role)).then(|| rest.split('<').next().unwrap_or_default().trim())
    })
}

#[cfg(test)]
mod tests;
