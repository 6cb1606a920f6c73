//! The codecs of Zarr that are supported: they turn samples into a chunk's bytes and back.
//!
//! Zarr core specification 3.0 (2023): `bytes`, `transpose`, `blosc`, `gzip`, `crc32c`, `sharding_indexed`; `zstd` of
//! its registered extensions; and `zlib`, `lz4` and `shuffle` of numcodecs, which arrays of version 2 have.

use std::cell::RefCell;
use std::io::Read as _;

use serde_json::{Value, json};
use thalweg_core::Size;

use crate::blosc;
use crate::checksum::crc32c;
use crate::layout::{Axes, ChunkLayout, parse_shape};

/// A codec that turns bytes into bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ByteCodec {
    Zstd {
        level: i32,
        checksum: bool,
    },
    Gzip,
    Zlib,
    /// A block of LZ4 after the number of its bytes.
    Lz4,
    Blosc,
    /// First the first bytes of all elements of this many bytes, then the second ones, and so on.
    Shuffle(usize),
    Crc32c,
}

impl ByteCodec {
    /// Returns true if the length of the result depends on the content.
    fn is_compressor(self) -> bool {
        !matches!(self, Self::Shuffle(_) | Self::Crc32c)
    }
}

/// The codecs of a chunk: `transpose`, which may be absent, `bytes`, which serializes the samples, then the steps in
/// order.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecChain {
    pub big_endian: bool,
    /// The order of the axes in the chunk, if it is not the usual one.
    order: Option<Vec<usize>>,
    steps: Vec<ByteCodec>,
}

/// The codec of a shard: a chunk that consists of smaller chunks and an index of their positions.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// Rows and columns of an inner chunk.
    pub inner: Size,
    /// Where the cells of the map are in an inner chunk.
    pub layout: ChunkLayout,
    pub chain: CodecChain,
    /// The number of inner chunks, and the distances in the index from one to the next row and column of them.
    pub count: usize,
    pub strides: Size,
    /// The codecs of the index.
    index: CodecChain,
    index_last: bool,
}

/// The encoding of an array's chunks.
#[derive(Debug, Clone, PartialEq)]
pub enum Codecs {
    /// Where the cells of the map are in a chunk, and its codecs.
    Plain(ChunkLayout, CodecChain),
    Sharded(Shard),
}

/// The zstd level of thalweg's own stores, which is the library's default. Each frame ends with a checksum of its
/// content.
const LEVEL: i32 = 3;

/// The size of the index entry of an inner chunk in bytes: its offset and its length.
const ENTRY: usize = 16;

/// The index entry of an inner chunk that consists of the fill value and is not stored.
const NONE: u64 = u64::MAX;

impl CodecChain {
    fn parse(list: &[Value]) -> Result<Self, String> {
        let mut chain = Self { big_endian: false, order: None, steps: Vec::new() };
        let mut compressed = false;
        let mut has_bytes = false;
        for (k, codec) in list.iter().enumerate() {
            let name = codec_name(codec);
            let number = |key: &str| codec["configuration"][key].as_i64();
            let step = match name {
                "transpose" if k == 0 => {
                    let order = parse_shape(&codec["configuration"]["order"]);
                    chain.order = Some(order.ok_or("has the codec `transpose` without an order of axes")?);
                    continue;
                }
                "bytes" if !has_bytes && (k == 0 || chain.order.is_some()) => {
                    has_bytes = true;
                    chain.big_endian = match codec["configuration"]["endian"].as_str() {
                        None | Some("little") => false,
                        Some("big") => true,
                        Some(other) => {
                            return Err(format!("has the byte order `{other}`; it must be little or big"));
                        }
                    };
                    continue;
                }
                "zstd" => ByteCodec::Zstd {
                    level: number("level").unwrap_or(0).clamp(-100, 22) as i32,
                    checksum: codec["configuration"]["checksum"].as_bool().unwrap_or(false),
                },
                "gzip" => ByteCodec::Gzip,
                "zlib" => ByteCodec::Zlib,
                "lz4" => ByteCodec::Lz4,
                "blosc" => ByteCodec::Blosc,
                "shuffle" => {
                    let element = number("elementsize").and_then(|n| usize::try_from(n).ok()).unwrap_or(4);
                    ByteCodec::Shuffle(element.max(1))
                }
                "crc32c" => ByteCodec::Crc32c,
                _ => {
                    return Err(format!(
                        "has the codec `{}` at position {k}, which is not supported; its codecs must be bytes, \
                         followed by blosc, zstd, gzip, zlib, lz4, shuffle or crc32c, or sharding_indexed with these",
                        name.chars().take(40).collect::<String>()
                    ));
                }
            };
            if !has_bytes {
                break;
            }
            // Two compressors in a row would leave the size of the bytes between them unknown, and `decode` must bound
            // it.
            if step.is_compressor() && std::mem::replace(&mut compressed, true) {
                return Err("is compressed twice, which is not supported".to_string());
            }
            chain.steps.push(step);
        }
        if !has_bytes {
            return Err(
                "does not begin its list of codecs with `bytes`, or `transpose` and `bytes`; arrays that are packed \
                 are not supported"
                    .to_string(),
            );
        }
        Ok(chain)
    }

    /// Applies the steps in order.
    pub fn encode(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        self.steps.iter().try_fold(bytes, |mut bytes, step| match step {
            ByteCodec::Zstd { level, checksum } => compress_zstd(&bytes, *level, *checksum),
            // Thalweg's own stores are compressed with zstd alone.
            ByteCodec::Gzip | ByteCodec::Zlib | ByteCodec::Lz4 | ByteCodec::Blosc | ByteCodec::Shuffle(_) => {
                Err("has codecs that can be read but not written".to_string())
            }
            ByteCodec::Crc32c => {
                bytes.extend(crc32c(&bytes).to_le_bytes());
                Ok(bytes)
            }
        })
    }

    /// Undoes the steps in reverse order; the result must have `length` bytes.
    pub fn decode(&self, bytes: &[u8], length: usize) -> Result<Vec<u8>, String> {
        let mut bytes = std::borrow::Cow::Borrowed(bytes);
        for (k, step) in self.steps.iter().enumerate().rev() {
            // Only checksums of 4 bytes can have been added before this step, so the decoded size is bounded.
            let room = length + 4 * k;
            bytes = match step {
                ByteCodec::Zstd { .. } => zstd::bulk::decompress(&bytes, room)
                    .map_err(|error| format!("cannot be decompressed with zstd: {error}"))?
                    .into(),
                ByteCodec::Gzip => read_stream(flate2::read::GzDecoder::new(&bytes[..]), room, "gzip")?.into(),
                ByteCodec::Zlib => read_stream(flate2::read::ZlibDecoder::new(&bytes[..]), room, "zlib")?.into(),
                ByteCodec::Lz4 => {
                    let (_, packed) = bytes.split_first_chunk::<4>().ok_or("is shorter than its length")?;
                    blosc::unpack_lz4(packed, room).ok_or("cannot be decompressed with LZ4")?.into()
                }
                ByteCodec::Blosc => blosc::decompress(&bytes, room)?.into(),
                ByteCodec::Shuffle(element) => blosc::unshuffle(&bytes, *element).into(),
                ByteCodec::Crc32c => {
                    let (head, sum) = bytes.split_last_chunk::<4>().ok_or("is shorter than its checksum")?;
                    if crc32c(head).to_le_bytes() != *sum {
                        return Err("does not match its checksum".to_string());
                    }
                    head.to_vec().into()
                }
            };
        }
        if bytes.len() != length {
            return Err(format!("has {} bytes; it must have {length}", bytes.len()));
        }
        Ok(bytes.into_owned())
    }

    /// Returns the encoded length of `length` bytes; `None` if a step compresses, because the length is then unknown.
    fn fixed_length(&self, length: usize) -> Option<usize> {
        self.steps.iter().all(|step| *step == ByteCodec::Crc32c).then(|| length + 4 * self.steps.len())
    }
}

/// Reads a compressed stream up to one byte more than `room`, so that a longer stream has the wrong length instead of
/// being cut off unnoticed.
fn read_stream(decoder: impl std::io::Read, room: usize, by: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    decoder
        .take(room as u64 + 1)
        .read_to_end(&mut out)
        .map_err(|error| format!("cannot be decompressed with {by}: {error}"))?;
    Ok(out)
}

fn compress_zstd(bytes: &[u8], level: i32, checksum: bool) -> Result<Vec<u8>, String> {
    // Each thread keeps its compressor, because setting up its tables takes longer than compressing a chunk.
    thread_local!(static OWN: RefCell<Option<(i32, bool, zstd::bulk::Compressor<'static>)>> = const { RefCell::new(None) });
    OWN.with_borrow_mut(|own| {
        if own.as_ref().is_none_or(|(l, c, _)| (*l, *c) != (level, checksum)) {
            let mut made = zstd::bulk::Compressor::new(level).map_err(|error| error.to_string())?;
            made.include_checksum(checksum).map_err(|error| error.to_string())?;
            *own = Some((level, checksum, made));
        }
        let compressor = own.as_mut().map(|(.., compressor)| compressor).ok_or("has no compressor")?;
        compressor.compress(bytes).map_err(|error| format!("cannot be compressed with zstd: {error}"))
    })
}

/// Returns a codec's name, which is given either as a plain string or in an object with its configuration. In version
/// 3, the names of numcodecs have a prefix.
fn codec_name(codec: &Value) -> &str {
    let name = codec.as_str().or_else(|| codec["name"].as_str()).unwrap_or("");
    name.strip_prefix("numcodecs.").unwrap_or(name)
}

impl Codecs {
    /// Parses the list of codecs of an array whose chunks have the shape `chunk`.
    pub fn parse(list: &Value, chunk: &[usize], axes: Axes) -> Result<Self, String> {
        let list = list.as_array().ok_or("has no list of codecs")?;
        if list.first().is_none_or(|codec| codec_name(codec) != "sharding_indexed") {
            let chain = CodecChain::parse(list)?;
            return Ok(Self::Plain(ChunkLayout::new(chunk, axes, chain.order.as_deref())?, chain));
        }
        if list.len() > 1 {
            return Err("has codecs after sharding_indexed, which is not supported".to_string());
        }
        let about = &list[0]["configuration"];
        let part = |key: &str| about[key].as_array().ok_or_else(|| format!("is damaged: its shards have no {key}"));
        // The specification requires that inner chunks divide the shard exactly.
        let inner = parse_shape(&about["chunk_shape"])
            .filter(|inner| inner.len() == chunk.len())
            .filter(|inner| inner.iter().zip(chunk).all(|(inner, chunk)| *inner > 0 && chunk.is_multiple_of(*inner)));
        let inner = inner.ok_or_else(|| {
            format!(
                "is damaged: its shards of {chunk:?} cells cannot be divided into chunks of {}",
                about["chunk_shape"].to_string().chars().take(60).collect::<String>()
            )
        })?;
        let counts: Vec<usize> = inner.iter().zip(chunk).map(|(inner, chunk)| chunk / inner).collect();
        let (strides, count) = axes.compute_strides(&counts).ok_or("has more chunks than can be counted")?;
        let index = CodecChain::parse(part("index_codecs")?)?;
        // The index is found by its length from the end of the shard, so its length must not depend on its content.
        if index.fixed_length(0).is_none() {
            return Err("has shards with a compressed index, which is not supported".to_string());
        }
        let index_last = match about["index_location"].as_str() {
            None | Some("end") => true,
            Some("start") => false,
            Some(other) => {
                return Err(format!(
                    "is damaged: the index of its shards is at the `{other}`; it must be at the start or end"
                ));
            }
        };
        let chain = CodecChain::parse(part("codecs")?)?;
        let layout = ChunkLayout::new(&inner, axes, chain.order.as_deref())?;
        Ok(Self::Sharded(Shard { inner: layout.size, layout, chain, count, strides, index, index_last }))
    }
}

/// The codecs of thalweg's own stores: shards of chunks of `inner` × `inner` cells.
pub fn store_codecs(inner: usize) -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [inner, inner],
        "codecs": [bytes, {"name": "zstd", "configuration": {"level": LEVEL, "checksum": true}}],
        "index_codecs": [bytes, {"name": "crc32c"}],
        "index_location": "end",
    }}])
}

impl Shard {
    /// Returns the byte range of the index of `count` inner chunks in a shard of `length` bytes.
    pub fn index_range(&self, count: usize, length: u64) -> Result<std::ops::Range<u64>, String> {
        let bytes = count
            .checked_mul(ENTRY)
            .and_then(|bytes| self.index.fixed_length(bytes))
            .ok_or("has more chunks than can be counted")? as u64;
        // A shard that is shorter than its index cannot be read; it may be half-written.
        if bytes > length {
            return Err(format!("is damaged: it has {length} bytes, and the index of its chunks alone takes {bytes}"));
        }
        Ok(if self.index_last { length - bytes..length } else { 0..bytes })
    }

    /// Parses the index: returns the offset and length of each inner chunk, or `None` if it consists of the fill
    /// value.
    pub fn index(&self, bytes: &[u8], count: usize, length: u64) -> Result<Vec<Option<[u64; 2]>>, String> {
        let bytes = self
            .index
            .decode(bytes, count * ENTRY)
            .map_err(|problem| format!("is damaged: the index of its chunks {problem}"))?;
        let number = |bytes: &[u8]| {
            // Slices here always have eight bytes; the fallback only avoids a panic.
            let bytes = bytes.try_into().unwrap_or([0; 8]);
            if self.index.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
        };
        let entries = bytes.chunks_exact(ENTRY).map(|entry| [number(&entry[..8]), number(&entry[8..])]);
        entries
            .map(|place| match place {
                [NONE, NONE] => Ok(None),
                // Offsets of damaged indices may overflow or point behind the end of the file.
                [at, bytes] if at.checked_add(bytes).is_some_and(|end| end <= length) => Ok(Some(place)),
                _ => Err("is damaged: its index lists chunks beyond the end of the file".to_string()),
            })
            .collect()
    }

    /// Assembles a shard from encoded inner chunks in order, `None` for those that consist of the fill value; the
    /// index comes last.
    pub fn put_together(&self, chunks: &[Option<Vec<u8>>]) -> Result<Vec<u8>, String> {
        let mut shard =
            Vec::with_capacity(chunks.iter().flatten().map(Vec::len).sum::<usize>() + chunks.len() * ENTRY + 4);
        let mut index = Vec::with_capacity(chunks.len() * ENTRY);
        for chunk in chunks {
            // The offset is the length of the shard so far, because chunks are stored one after another without gaps.
            let place = chunk.as_ref().map_or([NONE; 2], |chunk| [shard.len() as u64, chunk.len() as u64]);
            index.extend(place.iter().flat_map(|n| n.to_le_bytes()));
            shard.extend(chunk.iter().flatten());
        }
        shard.extend(self.index.encode(index)?);
        Ok(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_is_undone() {
        let bytes: Vec<u8> = (0..1000u32).flat_map(|k| (k * k).to_le_bytes()).collect();
        let plain = json!({"name": "bytes", "configuration": {"endian": "little"}});
        for more in [
            json!([]),
            json!(["crc32c"]),
            json!([{"name": "zstd", "configuration": {"level": 1}}, "crc32c"]),
            json!(["crc32c", "zstd"]),
        ] {
            let list = [vec![plain.clone()], more.as_array().unwrap().clone()].concat();
            let chain = CodecChain::parse(&list).unwrap();
            let coded = chain.encode(bytes.clone()).unwrap();
            assert_eq!(chain.decode(&coded, 4000).unwrap(), bytes);
            for length in [3999, 4001] {
                assert!(chain.decode(&coded, length).is_err());
            }
            for k in 0..coded.len() {
                let mut broken = coded.clone();
                broken[k] ^= 0x40;
                // Without a checksum, a change may go undetected; but decoding must never panic.
                let _ = chain.decode(&broken, 4000);
                let _ = chain.decode(&coded[..k], 4000);
            }
        }
    }

    #[test]
    fn what_we_do_not_know_is_named() {
        let problem = |list: Value| Codecs::parse(&list, &[8, 8], Axes::PLAIN).unwrap_err();
        assert!(problem(json!(["bytes", {"name": "numcodecs.bz2"}])).contains("`bz2`"));
        assert!(problem(json!([{"name": "transpose"}, "bytes"])).contains("`transpose`"));
        let order = |order: Value| json!([{"name": "transpose", "configuration": {"order": order}}, "bytes"]);
        assert!(problem(order(json!([0, 0]))).contains("transposed"));
        assert!(problem(order(json!([0, 1, 2]))).contains("transposed"));
        assert!(Codecs::parse(&order(json!([1, 0])), &[8, 8], Axes::PLAIN).is_ok());
        assert!(problem(json!(["zstd"])).contains("bytes"));
        assert!(problem(json!(["crc32c", "bytes"])).contains("bytes"));
        assert!(problem(json!(["bytes", "zstd", "gzip"])).contains("twice"));
        assert!(problem(json!([])).contains("bytes"));
        let shards = |inner: Value| json!([{"name": "sharding_indexed", "configuration": {"chunk_shape": inner, "codecs": ["bytes"], "index_codecs": ["bytes"]}}]);
        assert!(Codecs::parse(&shards(json!([4, 2])), &[8, 8], Axes::PLAIN).is_ok());
        for inner in [json!([3, 8]), json!([0, 8]), json!([8]), json!("8")] {
            assert!(problem(shards(inner)).contains("is damaged: its shards of"));
        }
    }
}
