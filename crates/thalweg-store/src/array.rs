//! [`ZarrArray`]: a raster in a Zarr array, read by windows.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use thalweg_core::base::names::{format_path, format_short};
use thalweg_core::{Cell, CellRect, Error, Result, Size};
use thalweg_io::facts::{FactSource, Facts};
use thalweg_io::{RasterHead, Samples, check_window_bounds, plain};

use crate::codec::{CodecChain, Codecs, Shard};
use crate::layout::ChunkLayout;
use crate::meta::{Meta, Node, ZARR, fill_bytes, is_map, read_node};
use crate::place;
use thalweg_io::WindowedMap;

/// A raster in a Zarr array of version 3 or 2 with a folder of its own: a layer of a thalweg store, or any plain array
/// with two axes. For example, an array of elevations that xarray wrote can be the source of a drainage.
///
/// It reads samples of 8 to 64 bits in either byte order, in regular chunks or shards, with the codecs `bytes`,
/// `transpose`, `blosc`, `zstd`, `gzip`, `zlib`, `lz4`, `shuffle` and `crc32c`. Axes of length 1 are dropped, and an
/// array whose axes are named as columns and rows, such as (x, y), is transposed.
#[derive(Debug, Clone)]
pub struct ZarrArray {
    folder: PathBuf,
    meta: Meta,
    head: RasterHead,
    /// True if a missing chunk consists of the fill value, as the Zarr specification says; false if a missing chunk is
    /// an error.
    sparse: bool,
}

/// Records the coding of the samples of an array with this metadata, in the form of Zarr version 3.
fn record_facts(facts: &mut Facts, about: &Value, [rows, cols]: Size) {
    let by = |key: &str| FactSource::File(format!("metadata {key}"));
    let mut names = Vec::new();
    list_codecs(&about["codecs"], &mut names);
    facts.record("compression", if names.is_empty() { "none".to_string() } else { names.join(", ") }, by("codecs"));
    facts.record("layout", format!("chunks of {cols} × {rows} samples (columns × rows)"), by("chunk_grid"));
    if let Some(kind) = about["data_type"].as_str() {
        facts.record("stored_samples", format_short(kind), by("data_type"));
    }
}

/// Adds the names of codecs that change bytes, and of those in a shard.
fn list_codecs(codecs: &Value, found: &mut Vec<String>) {
    for codec in codecs.as_array().into_iter().flatten() {
        if let Some(name) = codec["name"].as_str().filter(|name| *name != "bytes") {
            found.push(format_short(name).into_owned());
        }
        list_codecs(&codec["configuration"]["codecs"], found);
    }
}

/// The maximum size of a chunk in bytes, 4 GiB. A chunk is read as a whole, so a damaged length cannot request more
/// memory than this.
const MAX_CHUNK_BYTES: u64 = 4 << 30;

impl ZarrArray {
    /// Opens the array in `folder`.
    ///
    /// # Errors
    /// Returns an error if the folder has no metadata, or if the metadata are damaged, have more than two dimensions
    /// that are longer than 1, or use types or codecs that are not supported.
    pub fn open(folder: &Path) -> Result<Self> {
        let about = match read_node(folder)? {
            Some(Node::Array(about)) => about,
            Some(Node::Group) => return Err(Error::invalid_file(folder, "is a Zarr group; a Zarr array is required")),
            None => return Err(missing_metadata_error(folder)),
        };
        let path = folder.join(if folder.join(ZARR).is_file() { ZARR } else { ".zarray" });
        let meta = Meta::parse(&about).map_err(|problem| Error::invalid_file(&path, problem))?;
        let mut head = RasterHead::new(meta.size, meta.kind);
        record_facts(&mut head.facts, &about, meta.chunk);
        head.nodata = meta.nodata();
        head.scale = meta.scale().map_err(|problem| Error::invalid_file(folder, problem))?;
        head.unit = meta.attributes.get("units").and_then(|unit| unit.as_str()).map(str::to_string);
        let georeference =
            place::read_georeference(folder, &meta.attributes, || read_coordinates(folder, &meta.dimensions));
        head.georeference = georeference.map_err(|problem| Error::invalid_file(folder, problem))?;
        Ok(Self { folder: folder.to_path_buf(), meta, head, sparse: true })
    }

    /// Returns the same array with the given georeference, in which every chunk must exist: a missing one belongs to a
    /// tile that is not made yet.
    pub(crate) fn require_all_chunks(mut self, georeference: thalweg_core::terrain::grid::Georeference) -> Self {
        self.sparse = false;
        self.head.georeference = Some(georeference);
        self
    }

    /// The path of a chunk, from its row and column among the chunks.
    pub(crate) fn chunk_path(&self, at: Cell) -> PathBuf {
        self.folder.join(self.meta.chunk_path(at))
    }

    /// Encodes these samples as the bytes of a shard; the rest of the shard is padded with the fill value.
    pub(crate) fn encode_shard(&self, samples: &Samples, size: Size) -> Result<Vec<u8>, String> {
        let Codecs::Sharded(shard) = &self.meta.codecs else {
            return Err("has codecs without sharding, so no tile can be written to it".to_string());
        };
        let fill = fill_bytes(self.meta.kind, self.meta.fill);
        let across = self.meta.chunk[1] / shard.inner[1];
        let count = self.meta.chunk[0] / shard.inner[0] * across;
        // Inner chunks are encoded in parallel and stored in row-major order, so the bytes do not depend on the number
        // of threads.
        let chunks = (0..count).into_par_iter().map(|k| {
            let start = [k / across * shard.inner[0], k % across * shard.inner[1]];
            let cells = [0, 1].map(|k| shard.inner[k].min(size[k].saturating_sub(start[k])));
            // This chunk is completely outside the map, in a tile of the last row or column.
            if cells.contains(&0) {
                return Ok(None);
            }
            let cut = |error: Error| error.to_string();
            let mut chunk =
                Samples::filled(self.meta.kind, shard.inner[0] * shard.inner[1], self.meta.fill).map_err(cut)?;
            chunk.paste(shard.inner, CellRect::new([0, 0], cells), samples, size, start).map_err(cut)?;
            let bytes = chunk.to_bytes();
            // Bytes are compared instead of numbers, so that a NaN equals itself and −0 differs from 0.
            if bytes.chunks_exact(fill.len()).all(|sample| sample == fill) {
                return Ok(None);
            }
            shard.chain.encode(bytes).map(Some)
        });
        shard.put_together(&chunks.collect::<Result<Vec<_>, String>>()?)
    }

    /// Copies the part of a chunk that is inside `window` into `samples`.
    fn read_chunk(&self, at: Cell, window: CellRect, samples: &mut Samples) -> Result<()> {
        let path = self.chunk_path(at);
        let start = Cell::from_axes(|k| at[k] * self.meta.chunk[k]);
        if !path.exists() {
            // The samples have the fill value already.
            return if self.sparse {
                Ok(())
            } else {
                let need = "its tile has not been computed yet, or its file was deleted; run the command that created \
                            the store again";
                Err(Error::missing_input(format_path(&path), need))
            };
        }
        let (mut file, length) = plain::open_plain_file(&path)?;
        let broken = |problem: String| Error::invalid_file(&path, problem);
        let (chain, layout, chunks) = match &self.meta.codecs {
            Codecs::Plain(layout, chain) => (chain, layout, vec![([0, length], start)]),
            Codecs::Sharded(shard) => {
                (&shard.chain, &shard.layout, self.list_shard_chunks(shard, &mut file, length, start, window, &path)?)
            }
        };
        let inner = layout.size;
        // Read the compressed chunks in sequence, because they share one file; then decode them in parallel.
        let mut coded = Vec::with_capacity(chunks.len());
        for (place, start) in chunks {
            coded.push((read_range(&mut file, place[0]..place[0] + place[1], &path)?, start));
        }
        let decoded =
            coded.par_iter().map(|(bytes, start)| self.decode_chunk(chain, bytes, layout).map(|chunk| (chunk, *start)));
        for (chunk, start) in decoded.collect::<Result<Vec<_>, String>>().map_err(broken)? {
            let common = ChunkOverlap::intersect(start, inner, window);
            samples.paste(window.size(), common.there, &chunk, inner, common.here)?;
        }
        Ok(())
    }

    /// Returns the inner chunks of a shard that intersect `window` and are not all fill value: for each, its offset
    /// and length in the file, and its first cell.
    fn list_shard_chunks(
        &self,
        shard: &Shard,
        file: &mut File,
        length: u64,
        start: Cell,
        window: CellRect,
        path: &Path,
    ) -> Result<Vec<([u64; 2], Cell)>> {
        let broken = |problem: String| Error::invalid_file(path, problem);
        let counts = [0, 1].map(|k| self.meta.chunk[k] / shard.inner[k]);
        // Read the index first. Of the chunks, only those that the window intersects are read.
        let bytes = read_range(file, shard.index_range(shard.count, length).map_err(broken)?, path)?;
        let index = shard.index(&bytes, shard.count, length).map_err(broken)?;
        let chunks = (0..counts[0]).flat_map(|row| (0..counts[1]).map(move |col| [row, col]));
        let placed = chunks.filter_map(|[row, col]| {
            let place = *index.get(row * shard.strides[0] + col * shard.strides[1])?;
            Some((place?, Cell::new(start.row + row * shard.inner[0], start.col + col * shard.inner[1])))
        });
        let meets = |at: &Cell| ChunkOverlap::intersect(*at, shard.inner, window).there.size().iter().all(|n| *n > 0);
        Ok(placed.filter(|(_, at)| meets(at)).collect())
    }

    fn decode_chunk(&self, chain: &CodecChain, bytes: &[u8], layout: &ChunkLayout) -> Result<Samples, String> {
        let length = layout.count * self.meta.stored.bytes();
        let bytes = chain.decode(bytes, length).map_err(|problem| format!("is damaged: a chunk {problem}"))?;
        layout.arrange(self.meta.stored.decode(&bytes, chain.big_endian))
    }
}

/// The intersection of a chunk and a window.
struct ChunkOverlap {
    /// Its first cell, relative to the chunk.
    here: Cell,
    /// Its cells, relative to the window.
    there: CellRect,
}

impl ChunkOverlap {
    fn intersect(start: Cell, size: Size, window: CellRect) -> Self {
        let first = [0, 1].map(|k| start[k].max(window.start[k]));
        let end = [0, 1].map(|k| (start[k] + size[k]).min(window.start[k] + window.size()[k]));
        Self {
            here: Cell::from_axes(|k| first[k] - start[k]),
            there: CellRect::new(
                [0, 1].map(|k| first[k] - window.start[k]),
                [0, 1].map(|k| end[k].saturating_sub(first[k])),
            ),
        }
    }
}

/// Reads a range of bytes that is known to be inside the file.
fn read_range(file: &mut File, range: std::ops::Range<u64>, path: &Path) -> Result<Vec<u8>> {
    let length = range.end - range.start;
    if length > MAX_CHUNK_BYTES {
        return Err(Error::invalid_file(
            path,
            format!("has a chunk of {length} bytes; a chunk may have at most {MAX_CHUNK_BYTES}"),
        ));
    }
    file.seek(SeekFrom::Start(range.start)).map_err(Error::io(path, "read"))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(Error::io(path, "read"))?;
    // Another process may replace or truncate the file between the two system calls.
    if bytes.len() as u64 != length {
        return Err(Error::invalid_file(
            path,
            "became shorter while it was read; another program may be writing to it",
        ));
    }
    Ok(bytes)
}

/// Reads the coordinate arrays next to a map: returns the geotransform of its cells, and true if they are in degrees.
/// Returns `None` if there are none, or too few to have a step. Coordinates with uneven steps, or in units other than
/// metres or degrees, are refused with a message.
fn read_coordinates(folder: &Path, dimensions: &[String]) -> Result<Option<([f64; 6], bool)>, String> {
    let [y, x] = dimensions else { return Ok(None) };
    let line = |name: &String| {
        // A dimension name is used as the name of a folder; it must not lead out of the group.
        if name.contains(['/', '\\']) || name.starts_with('.') {
            return None;
        }
        let folder = folder.parent()?.join(name);
        let Node::Array(about) = read_node(&folder).ok()?? else { return None };
        let meta = Meta::parse_line(&about).ok()?;
        let unit = about["attributes"]["units"].as_str().unwrap_or_default().to_string();
        let size = meta.size;
        let array = ZarrArray { folder, head: RasterHead::new(size, meta.kind), meta, sparse: true };
        let samples = array.read_window(CellRect::new([0, 0], size)).ok()?;
        Some((samples.numbers_in_range(0..samples.len()), unit))
    };
    let (Some((rows, down)), Some((cols, across))) = (line(y), line(x)) else { return Ok(None) };
    let is_degrees = [&down, &across].iter().any(|unit| unit.starts_with("degree"));
    let odd = [(y, &down), (x, &across)].into_iter().find(|(_, unit)| !is_degrees && !METRES.contains(&unit.as_str()));
    if let Some((name, unit)) = odd {
        return Err(format!(
            "has the coordinate `{}` in `{}`; it must be in metres",
            format_short(name),
            format_short(unit)
        ));
    }
    let mut steps = [None; 2];
    for ((step, line), name) in steps.iter_mut().zip([&rows, &cols]).zip([y, x]) {
        if line.len() < 2 {
            return Ok(None);
        }
        let uneven =
            || format!("has the coordinate `{}` with unequal steps; its steps must be equal", format_short(name));
        *step = Some(place::find_even_step(line).ok_or_else(uneven)?);
    }
    let [Some((north, down)), Some((west, right))] = steps else { return Ok(None) };
    // Coordinates are those of the cells' centres; a transform begins at the outer corner, half a step before.
    Ok(Some(([west - 0.5 * right, right, 0.0, north - 0.5 * down, 0.0, down], is_degrees)))
}

/// The unit names of coordinates in metres.
const METRES: [&str; 7] = ["", "1", "m", "metre", "meter", "metres", "meters"];

/// Returns the names of the maps in a Zarr group, that is, of its arrays with two axes that are longer than 1. The list
/// is empty if the folder is an array itself.
pub fn list_maps(folder: &Path) -> Result<Vec<String>> {
    match read_node(folder)? {
        None => return Err(missing_metadata_error(folder)),
        Some(Node::Array(_)) => return Ok(Vec::new()),
        Some(Node::Group) => {}
    }
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder, "read"))?.flatten();
    let named =
        entries.filter(|entry| matches!(read_node(&entry.path()), Ok(Some(Node::Array(about))) if is_map(&about)));
    let mut names: Vec<String> = named.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() {
        return Err(Error::invalid_file(
            folder,
            "is a Zarr group without maps: it contains no array with two dimensions that are longer than 1",
        ));
    }
    Ok(names)
}

/// Makes the error for a folder without Zarr v3 metadata.
pub fn missing_metadata_error(folder: &Path) -> Error {
    if !folder.exists() {
        return Error::missing_input(format_path(folder), "give an existing folder in the format Zarr");
    }
    if [".zarray", ".zgroup", ".zmetadata"].iter().any(|name| folder.join(name).exists()) {
        return Error::invalid_file(
            folder,
            "has the format Zarr version 2, which can be read but is not a store; a store has version 3",
        );
    }
    Error::invalid_file(folder, format!("is not in the format Zarr version 3: it contains no {ZARR}"))
}

impl WindowedMap for ZarrArray {
    fn head(&self) -> &RasterHead {
        &self.head
    }

    /// Rows and columns of a chunk, which may be a shard.
    fn block_size(&self) -> Size {
        self.meta.chunk
    }

    fn window_memory(&self, window: Size) -> [u64; 2] {
        let layout = match &self.meta.codecs {
            Codecs::Plain(layout, _) => layout,
            Codecs::Sharded(shard) => &shard.layout,
        };
        let inner = layout.size;
        // A chunk in which other axes have more values, or that is transposed, is in memory twice.
        let bytes = (layout.count * self.meta.stored.bytes().max(self.meta.kind.bytes())) as u64;
        // A window of n cells that is not aligned intersects at most ⌈n / inner⌉ + 1 chunks along an axis.
        let met = |k: usize| (window[k].div_ceil(inner[k]) + 1).min(self.meta.chunk[k] / inner[k]).max(1);
        // For a shard: all inner chunks that a window intersects, compressed and decoded, plus for the one being
        // decoded its bytes before and after the last codec.
        [0, bytes.saturating_mul((2 * met(0) * met(1) + 2) as u64)]
    }

    fn read_window(&self, window: CellRect) -> Result<Samples> {
        check_window_bounds(self.meta.size, window)?;
        // Begin with the fill value: chunks that are not stored leave it unchanged.
        let mut samples = Samples::filled(self.meta.kind, window.size()[0] * window.size()[1], self.meta.fill)?;
        if window.size().contains(&0) {
            return Ok(samples);
        }
        let first = [0, 1].map(|k| window.start[k] / self.meta.chunk[k]);
        let last = [0, 1].map(|k| (window.start[k] + window.size()[k] - 1) / self.meta.chunk[k]);
        for i in first[0]..=last[0] {
            for j in first[1]..=last[1] {
                self.read_chunk(Cell::new(i, j), window, &mut samples)?;
            }
        }
        Ok(samples)
    }
}
