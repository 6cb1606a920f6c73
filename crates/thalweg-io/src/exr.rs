//! OpenEXR (Academy Software Foundation, *The OpenEXR File Layout*): reads one channel of one part, of 32-bit or 16-bit
//! floats or whole numbers, in scan lines or tiles. Writes one channel of floats, `Y`, which other programs read as
//! grey.
//!
//! The crate `exr` parses the headers and decompresses the blocks. This module finds the blocks, because every position
//! and size in a file must be checked before it is used.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use exr::compression::Compression;
use exr::math::Vec2;
use exr::meta::attribute::{self, ChannelDescription, IntegerBounds};
use exr::meta::header::Header;
use exr::meta::{BlockDescription, MetaData};
use exr::prelude::f16;
use rayon::prelude::*;

use super::facts::{FactSource, Facts};
use super::{Raster, SampleType, Samples, check_size, plain};
use thalweg_core::Size;
use thalweg_core::base::deflate::compress_zlib;

const MAGIC: [u8; 4] = [0x76, 0x2f, 0x31, 0x01];

/// Version 2, in files that this module writes.
const VERSION: u32 = 2;
/// The number of the compression ZIP, and its rows per block, in files that this module writes.
const ZIP: u8 = 3;
const BLOCK: usize = 16;

/// The names of channels that contain heights, in lower case. In a file with layers, the name follows the layer's:
/// `terrain.height`.
const HEIGHT_CHANNELS: [&str; 4] = ["y", "z", "height", "elevation"];

/// The advice for a file that is valid but not read.
const CONVERT: &str = "convert it: oiiotool in.exr --compression zip -o out.exr";

/// The most by which a compression shortens samples: deflate by 1032, and 32-bit floats of which PXR24 stores 24 bits
/// by 4/3 more.
const MAX_RATIO: u64 = 1400;

/// A block of pixels in the file: its first row and column, its rows and columns, and its bytes.
struct Block<'a> {
    start: Size,
    size: Size,
    bytes: &'a [u8],
}

/// Takes the next `N` bytes.
fn take_bytes<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or("is truncated: a block of pixels is not complete")?;
    *rest = after;
    Ok(*taken)
}

/// Reads the channel with the heights.
pub(super) fn read_heights(bytes: &[u8]) -> Result<Raster, String> {
    let mut tables = bytes;
    let meta = MetaData::read_from_buffered(&mut tables, false).map_err(describe_error)?;
    let headers = &meta.headers[..];
    let (part, channel) = choose_channel(headers)?;
    let header = &headers[part];
    check_part(header)?;
    let size = [header.layer_size.height(), header.layer_size.width()];
    let ratio = if header.compression == Compression::Uncompressed { 1 } else { MAX_RATIO };
    check_size(size.map(|side| side as u64), header.channels.bytes_per_pixel as u64, bytes.len(), ratio)?;

    // The positions of all blocks follow the headers, part by part.
    let mut offsets: &[[u8; 8]] = &[];
    for header in &headers[..=part] {
        let (all, _) = tables.as_chunks::<8>();
        offsets = all.get(..header.chunk_count).ok_or("is truncated: its table of blocks is not complete")?;
        tables = &tables[8 * header.chunk_count..];
    }
    let blocks = find_blocks(bytes, offsets, header, meta.requirements.has_multiple_layers.then_some(part))?;
    let decoded: Vec<_> = blocks.par_iter().map(|block| decode_block(header, channel, block)).collect();
    let mut values = vec![0.0f32; size[0] * size[1]];
    for (block, samples) in blocks.iter().zip(decoded) {
        for (i, row) in samples?.chunks_exact(block.size[1]).enumerate() {
            values[(block.start[0] + i) * size[1] + block.start[1]..][..block.size[1]].copy_from_slice(row);
        }
    }

    let mut raster = Raster::new(size, Samples::F32(values));
    raster.warnings = describe_choice(headers, part, channel);
    record_facts(&mut raster.facts, headers, part, channel);
    Ok(raster)
}

/// Describes an error of the crate.
fn describe_error(error: exr::error::Error) -> String {
    match error {
        exr::error::Error::NotSupported(what) => {
            format!("is an EXR file with a feature that is not supported ({}); {CONVERT}", plain::clip_text(&what))
        }
        // The crate skips attributes that it cannot parse, so a newer compression appears to be missing.
        error if error.to_string().contains("invalid compression attribute") => {
            format!("does not state its compression, or one that is not supported; {CONVERT}")
        }
        error => format!("is a broken or truncated EXR file: {}", plain::clip_text(&error.to_string())),
    }
}

/// Returns the part and the channel that contain the heights: the first that is named after them, else the only channel
/// of the first part that has a single one, else the first that is named `R`.
fn choose_channel(headers: &[Header]) -> Result<(usize, usize), String> {
    let flat = || headers.iter().enumerate().filter(|(_, header)| !header.deep);
    let find =
        |header: &Header, name: &str| header.channels.list.iter().position(|channel| short_name(channel) == name);
    // The names are in the order of their likelihood, but an earlier part takes precedence over a later one.
    let named =
        flat().find_map(|(part, header)| Some((part, HEIGHT_CHANNELS.iter().find_map(|name| find(header, name))?)));
    let single = || flat().find(|(_, header)| header.channels.list.len() == 1).map(|(part, _)| (part, 0));
    let red = || flat().find_map(|(part, header)| Some((part, find(header, "r")?)));
    if let Some(chosen) = named.or_else(single).or_else(red) {
        return Ok(chosen);
    }
    if !headers.is_empty() && headers.iter().all(|header| header.deep) {
        return Err("has deep pixels, which are not heights; flatten it: oiiotool in.exr --flatten -o out.exr".into());
    }
    let names: Vec<String> = flat().flat_map(|(_, header)| channel_names(header)).collect();
    Err(format!(
        "has no channel of heights among {}; a file with several channels must have one named Y, Z, height or \
         elevation",
        plain::clip_text(&names.join(", "))
    ))
}

/// Returns a channel's name without that of its layer, in lower case.
fn short_name(channel: &ChannelDescription) -> String {
    let name = channel.name.to_string().to_ascii_lowercase();
    name.rsplit('.').next().unwrap_or_default().to_string()
}

fn channel_names(header: &Header) -> impl Iterator<Item = String> {
    header.channels.list.iter().map(|channel| channel.name.to_string())
}

/// Returns warnings about the channels and parts that are not read.
fn describe_choice(headers: &[Header], part: usize, channel: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    let header = &headers[part];
    let name = channel_names(header).nth(channel).unwrap_or_default();
    let name = plain::clip_text(&name);
    let count = header.channels.list.len();
    if count > 1 {
        let is_guess = !HEIGHT_CHANNELS.contains(&short_name(&header.channels.list[channel]).as_str());
        let why = if is_guess { "; none is named Y, Z, height or elevation" } else { "" };
        warnings.push(format!("has {count} channels: {name} is read, {} are not{why}", count - 1));
    }
    if headers.len() > 1 {
        warnings.push(format!("has {} parts: part {} is read, with the channel {name}", headers.len(), part + 1));
    }
    warnings
}

/// Records the coding of the samples and the choice of the channel.
fn record_facts(facts: &mut Facts, headers: &[Header], part: usize, channel: usize) {
    use Compression::{B44, B44A, PIZ, PXR24, RLE, Uncompressed, ZIP1, ZIP16};
    let header = &headers[part];
    let by = |attribute: &str| FactSource::File(format!("attribute {attribute}"));
    let compression = match header.compression {
        Uncompressed => "none",
        RLE => "RLE",
        ZIP1 => "ZIPS",
        ZIP16 => "ZIP",
        PIZ => "PIZ",
        PXR24 => "PXR24",
        B44 => "B44",
        B44A => "B44A",
        _ => "unknown",
    };
    facts.record("compression", compression, by("compression"));
    let layout = match header.blocks {
        BlockDescription::ScanLines => format!("blocks of {} rows", header.compression.scan_lines_per_block()),
        BlockDescription::Tiles(tiles) => {
            format!("tiles of {} × {} samples (columns × rows)", tiles.tile_size.width(), tiles.tile_size.height())
        }
    };
    facts.record("layout", layout, by(if header.blocks.has_tiles() { "tiles" } else { "compression" }));
    let channel = &header.channels.list[channel];
    let stored = match channel.sample_type {
        attribute::SampleType::F16 => "floats of 16 bits",
        attribute::SampleType::F32 => "floats of 32 bits",
        attribute::SampleType::U32 => "unsigned integers of 32 bits",
    };
    facts.record("stored_samples", stored, by("channels"));
    let name = plain::clip_text(&channel.name.to_string());
    let choice = format!("{name} of {} channels", header.channels.list.len());
    let choice = if headers.len() > 1 { format!("{choice} of part {} of {}", part + 1, headers.len()) } else { choice };
    let evidence = match HEIGHT_CHANNELS.contains(&short_name(channel).as_str()) {
        true => "its name",
        false if header.channels.list.len() == 1 => "it is the only one",
        false => "none is named Y, Z, height or elevation",
    };
    facts.record("channel", choice, FactSource::Guess(evidence.to_string()));
}

/// Refuses a part that is valid but cannot be read.
fn check_part(header: &Header) -> Result<(), String> {
    use Compression::{DWAA, DWAB, HTJ2K32, HTJ2K256};
    let unread = match header.compression {
        DWAA(_) => Some("DWAA"),
        DWAB(_) => Some("DWAB"),
        HTJ2K32 | HTJ2K256 => Some("HTJ2K"),
        _ => None,
    };
    if let Some(name) = unread {
        return Err(format!("is compressed by {name}, which is not supported; {CONVERT}"));
    }
    match header.channels.list.iter().find(|channel| channel.sampling != Vec2(1, 1)) {
        None => Ok(()),
        Some(channel) => Err(format!(
            "has fewer samples than pixels in the channel {}, which is not supported; save it without subsampling",
            plain::clip_text(&channel.name.to_string())
        )),
    }
}

/// Finds the blocks of a part in the file, those of full resolution only. `part` is its number, which blocks of files
/// with several parts repeat.
fn find_blocks<'a>(
    bytes: &'a [u8],
    offsets: &[[u8; 8]],
    header: &Header,
    part: Option<usize>,
) -> Result<Vec<Block<'a>>, String> {
    let size = [header.layer_size.height(), header.layer_size.width()];
    let side = match header.blocks {
        BlockDescription::ScanLines => [header.compression.scan_lines_per_block(), size[1]],
        BlockDescription::Tiles(tiles) => [tiles.tile_size.height(), tiles.tile_size.width()],
    };
    let counts = [size[0].div_ceil(side[0]), size[1].div_ceil(side[1])];
    // There are no more blocks than positions, so this does not exceed the file's own size by much.
    if counts[0].checked_mul(counts[1]).is_none_or(|count| count > offsets.len()) {
        return Err("is broken: it has fewer blocks of pixels than its size needs".to_string());
    }
    let mut seen = vec![false; counts[0] * counts[1]];
    let mut blocks = Vec::with_capacity(seen.len());
    for offset in offsets {
        let at = usize::try_from(u64::from_le_bytes(*offset)).ok().filter(|at| *at > 0);
        let mut rest = at
            .and_then(|at| bytes.get(at..))
            .ok_or("is truncated: a block of pixels is missing or outside the file")?;
        if let Some(part) = part
            && i64::from(i32::from_le_bytes(take_bytes(&mut rest)?)) != part as i64
        {
            return Err("is broken: a block of pixels belongs to another part".to_string());
        }
        let mut take_number = || take_bytes(&mut rest).map(i32::from_le_bytes);
        let tile = match header.blocks {
            BlockDescription::ScanLines => {
                let row = i64::from(take_number()?) - i64::from(header.own_attributes.layer_position.y());
                let row = usize::try_from(row).ok().filter(|row| row.is_multiple_of(side[0]));
                row.map(|row| [row / side[0], 0])
            }
            BlockDescription::Tiles(_) => {
                let [col, row, level_x, level_y] = [take_number()?, take_number()?, take_number()?, take_number()?];
                if [level_x, level_y] != [0, 0] {
                    continue; // a copy of lower resolution
                }
                usize::try_from(row).ok().zip(usize::try_from(col).ok()).map(<[usize; 2]>::from)
            }
        };
        let length = take_number()?;
        let tile = tile.filter(|tile| tile[0] < counts[0] && tile[1] < counts[1]);
        let tile = tile.ok_or("is broken: a block of pixels is outside its size")?;
        if std::mem::replace(&mut seen[tile[0] * counts[1] + tile[1]], true) {
            return Err("contains the same block of pixels twice; it may be damaged".to_string());
        }
        let start = [tile[0] * side[0], tile[1] * side[1]];
        let length = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        blocks.push(Block {
            start,
            size: [side[0].min(size[0] - start[0]), side[1].min(size[1] - start[1])],
            bytes: length.ok_or("is truncated: a block of pixels is not complete")?,
        });
    }
    // No block occurs twice, so all cells are covered if there are as many blocks as the size needs.
    if blocks.len() == seen.len() { Ok(blocks) } else { Err("lacks blocks of pixels; it may be damaged".to_string()) }
}

/// Decompresses a block and returns the samples of a channel, row by row.
fn decode_block(header: &Header, channel: usize, block: &Block<'_>) -> Result<Vec<f32>, String> {
    let place = |[row, col]: Size| Some(Vec2(i32::try_from(col).ok()?, i32::try_from(row).ok()?));
    let position = place(block.start).ok_or("is too large for an EXR file")?;
    let bounds = IntegerBounds::new(position, Vec2(block.size[1], block.size[0]));
    // The decoders of the crate index by what they read from a block. A panic in one of them is the block's fault, and
    // must not end the program.
    let decompress =
        || header.compression.decompress_image_section_from_le(header, block.bytes.to_vec(), bounds, false);
    let plain = catch_unwind(AssertUnwindSafe(decompress))
        .map_err(|_| "has a block of pixels that cannot be unpacked".to_string())?
        .map_err(describe_error)?;
    // In each row, the samples of a channel follow those of all channels that come before it in the header.
    let channels = &header.channels;
    let before: usize = channels.list[..channel].iter().map(|channel| channel.sample_type.bytes_per_sample()).sum();
    let channel = &channels.list[channel];
    let cols = block.size[1];
    if plain.len() != block.size[0] * cols * channels.bytes_per_pixel {
        return Err("has a block of pixels of the wrong length; it may be damaged".to_string());
    }
    let mut samples = Vec::with_capacity(block.size[0] * cols);
    for row in plain.chunks_exact(cols * channels.bytes_per_pixel) {
        let line = &row[before * cols..][..channel.sample_type.bytes_per_sample() * cols];
        // The crate returns the bytes in the machine's order.
        match channel.sample_type {
            attribute::SampleType::F16 => {
                samples.extend(line.as_chunks::<2>().0.iter().map(|b| f16::from_ne_bytes(*b).to_f32()));
            }
            attribute::SampleType::F32 => {
                samples.extend(line.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)));
            }
            // Whole numbers beyond 2²⁴, which no height reaches, are rounded to the nearest 32-bit float.
            attribute::SampleType::U32 => {
                samples.extend(line.as_chunks::<4>().0.iter().map(|b| u32::from_ne_bytes(*b) as f32));
            }
        }
    }
    Ok(samples)
}

/// Compresses a block by ZIP.
fn compress_block(plain: &[u8]) -> io::Result<Vec<u8>> {
    // The bytes at even positions come first, then those at odd positions. Bytes of equal significance are then closer
    // to one another, and compress better.
    let halves = plain.iter().step_by(2).chain(plain.iter().skip(1).step_by(2));
    let mut coded: Vec<u8> = halves.copied().collect();
    // The loop runs backwards, because each difference needs the unchanged byte before it.
    for k in (1..coded.len()).rev() {
        coded[k] = coded[k].wrapping_sub(coded[k - 1]).wrapping_add(128);
    }
    let packed = compress_zlib(&coded)?;
    Ok(if packed.len() < plain.len() { packed } else { plain.to_vec() })
}

/// Writes one channel of 32-bit floats, the northern row first, 16 rows per block.
pub(super) fn write_heights(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    let [rows, cols] = raster.size;
    let Samples::F32(values) = &raster.samples else { return Ok(()) }; // cannot happen: `check_sample` has rejected other types
    let last = |n: usize| {
        i32::try_from(n - 1)
            .map_err(|_| io::Error::other("the raster has more rows or columns than an EXR file can store"))
    };
    let window: Vec<u8> = [0, 0, last(cols)?, last(rows)?].iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut head = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
    let mut put = |name: &str, kind: &str, value: &[u8]| {
        head.extend_from_slice(name.as_bytes());
        head.push(0);
        head.extend_from_slice(kind.as_bytes());
        head.push(0);
        head.extend_from_slice(&(value.len() as u32).to_le_bytes());
        head.extend_from_slice(value);
    };
    // Its name; the type float; the unused `pLinear` and reserved bytes; one sample per pixel in both directions; the
    // end of the list.
    let channel = [b"Y\0", &2u32.to_le_bytes()[..], &[0; 4], &1u32.to_le_bytes(), &1u32.to_le_bytes(), &[0]].concat();
    put("channels", "chlist", &channel);
    put("compression", "compression", &[ZIP]);
    put("dataWindow", "box2i", &window);
    put("displayWindow", "box2i", &window);
    put("lineOrder", "lineOrder", &[0]);
    put("pixelAspectRatio", "float", &1.0f32.to_le_bytes());
    put("screenWindowCenter", "v2f", &[0; 8]);
    put("screenWindowWidth", "float", &1.0f32.to_le_bytes());
    head.push(0);
    let block = |rows: &[f32]| {
        // With a single channel, the bytes of a row are the row's values in order.
        let plain: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        compress_block(&plain)
    };
    let blocks = values.par_chunks(BLOCK * cols).map(block).collect::<io::Result<Vec<_>>>()?;
    // The first block follows the table of positions. Each block begins with its first row and its length, 4 bytes
    // each.
    let mut at = (head.len() + 8 * blocks.len()) as u64;
    file.write_all(&head)?;
    for block in &blocks {
        file.write_all(&at.to_le_bytes())?;
        at += 8 + block.len() as u64;
    }
    for (k, block) in blocks.iter().enumerate() {
        file.write_all(&last(k * BLOCK + 1)?.to_le_bytes())?;
        file.write_all(&(block.len() as u32).to_le_bytes())?;
        file.write_all(block)?;
    }
    Ok(())
}

/// The sample types that can be written.
pub(super) const WRITES: &[SampleType] = &[SampleType::F32];

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use exr::prelude::Layer;
    use exr::prelude::{
        AnyChannel, AnyChannels, Blocks, Encoding, FlatSamples, Image, ImageAttributes, LayerAttributes, LineOrder,
        SmallVec, WritableImage,
    };

    use super::*;

    fn written(raster: &Raster) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_heights(&mut bytes, raster).unwrap();
        bytes
    }

    #[test]
    fn what_was_written_comes_back_to_the_bit() {
        for [rows, cols] in [[1, 1], [16, 5], [17, 3], [50, 33]] {
            let noise = (0..rows * cols).map(|k| f32::from_bits((k as u32).wrapping_mul(2_654_435_761) >> 2));
            let smooth = (0..rows * cols).map(|k| 100.0 + k as f32 / 8.0);
            for values in [noise.collect::<Vec<f32>>(), smooth.collect()] {
                let raster = Raster::new([rows, cols], Samples::F32(values.clone()));
                let Samples::F32(back) = read_heights(&written(&raster)).unwrap().samples else { panic!() };
                assert!(back.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }

    /// Writes parts with the crate's own writer: the names of each part's channels, which have the samples `values`.
    fn write_parts(
        parts: &[&[&str]],
        [rows, cols]: Size,
        values: &FlatSamples,
        compression: Compression,
        blocks: Blocks,
    ) -> Vec<u8> {
        let layer = |(k, names): (usize, &&[&str])| {
            let channels = names.iter().map(|name| AnyChannel::new(*name, values.clone())).collect();
            let encoding = Encoding { compression, blocks, line_order: LineOrder::Increasing };
            let attributes = LayerAttributes::named(format!("part {k}").as_str());
            Layer::new((cols, rows), attributes, encoding, AnyChannels::sort(channels))
        };
        let layers: SmallVec<[_; 2]> = parts.iter().enumerate().map(layer).collect();
        let window = IntegerBounds::from_dimensions((cols, rows));
        let mut bytes = Cursor::new(Vec::new());
        let image = Image::from_layers(ImageAttributes::new(window), layers);
        image.write().non_parallel().to_buffered(&mut bytes).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn every_compression_is_read_from_scan_lines_and_tiles() {
        use Compression::{B44, B44A, PIZ, PXR24, RLE, Uncompressed, ZIP1, ZIP16};
        let size = [37, 53];
        // Multiples of 1/4 below 512 are exact in 16 bits, and in the 15 bits of fraction that PXR24 keeps.
        let heights: Vec<f32> = (0..37 * 53).map(|k| (k / 53 * 3 + k % 53 * 2) as f32 / 4.0).collect();
        let halves = FlatSamples::F16(heights.iter().map(|v| f16::from_f32(*v)).collect());
        let whole = FlatSamples::U32(heights.iter().map(|v| *v as u32).collect());
        let floats = FlatSamples::F32(heights.clone());
        for compression in [Uncompressed, RLE, ZIP1, ZIP16, PIZ, PXR24, B44, B44A] {
            for blocks in [Blocks::ScanLines, Blocks::Tiles(Vec2(16, 8)), Blocks::Tiles(Vec2(64, 64))] {
                for samples in [&floats, &halves, &whole] {
                    // A second channel before and after the heights shifts their bytes within a row.
                    let bytes = write_parts(&[&["A", "Y", "a"]], size, samples, compression, blocks);
                    let raster = read_heights(&bytes).unwrap();
                    let Samples::F32(back) = &raster.samples else { panic!() };
                    assert_eq!(raster.size, size);
                    // B44 stores halves with six bits for each difference within a block of 4 × 4.
                    let is_lossy = matches!(compression, B44 | B44A) && matches!(samples, FlatSamples::F16(_));
                    for (k, (back, height)) in back.iter().zip(&heights).enumerate() {
                        let height = if matches!(samples, FlatSamples::U32(_)) { height.trunc() } else { *height };
                        let is_right = if is_lossy { (back - height).abs() <= 0.5 } else { *back == height };
                        assert!(is_right, "{compression:?}, {blocks:?}, cell {k}: {back} instead of {height}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_channel_of_heights_is_found() {
        let size = [3, 4];
        let values = FlatSamples::F32((0..12).map(|k| k as f32).collect());
        let read =
            |parts: &[&[&str]]| read_heights(&write_parts(parts, size, &values, Compression::ZIP16, Blocks::ScanLines));
        for (parts, warning) in [
            (&[&["Y"][..]][..], ""),
            (&[&["elevation"]], ""),
            (&[&["anything"]], ""),
            (&[&["A", "Z"]], "has 2 channels: Z is read, 1 are not"),
            (&[&["B", "G", "R"]], "R is read, 2 are not; none is named Y, Z, height or elevation"),
            (&[&["rock.Height", "rock.slope"]], "rock.Height is read"),
            (&[&["B", "G", "R"], &["A", "Y"]], "has 2 parts: part 2 is read, with the channel Y"),
            (&[&["B", "G", "R"], &["mud"]], "has 2 parts: part 2 is read, with the channel mud"),
        ] {
            let raster = read(parts).unwrap();
            assert_eq!(raster.samples, Samples::F32((0..12).map(|k| k as f32).collect()), "{parts:?}");
            let warnings = raster.warnings.join("\n");
            assert!(warnings.contains(warning) && warnings.is_empty() == warning.is_empty(), "{parts:?}: {warnings}");
        }
        let problem = read(&[&["B", "G"]]).unwrap_err();
        assert!(problem.contains("no channel of heights among B, G"), "{problem}");
    }

    #[test]
    fn what_is_broken_or_not_read_is_refused() {
        let good = written(&Raster::new([20, 9], Samples::F32((0..180).map(|k| k as f32).collect())));
        for end in 0..good.len() {
            assert!(read_heights(&good[..end]).is_err(), "{end}");
        }
        let find = |text: &[u8]| good.windows(text.len()).position(|of| of == text).unwrap();
        let at = find(b"compression\0compression\0") + 28;
        let dwaa = [&good[..at], &[8], &good[at + 1..]].concat();
        let problem = read_heights(&dwaa).unwrap_err();
        assert!(problem.contains("compressed by DWAA") && problem.contains("oiiotool in.exr"), "{problem}");
        // Any corrupted byte must lead to an error or a raster, never to a panic.
        let halves = FlatSamples::F16((0..180).map(|k| f16::from_f32(k as f32)).collect());
        let mut files = vec![good];
        for compression in [Compression::RLE, Compression::PIZ, Compression::PXR24, Compression::B44A] {
            for blocks in [Blocks::ScanLines, Blocks::Tiles(Vec2(8, 8))] {
                files.push(write_parts(&[&["Y"], &["A"]], [20, 9], &halves, compression, blocks));
            }
        }
        for good in files {
            for k in 0..good.len() {
                for flip in [1, 0x80, 0xff] {
                    let mut bytes = good.clone();
                    bytes[k] ^= flip;
                    let _ = read_heights(&bytes);
                }
            }
        }
    }
}
