//! [`Store`]: a folder of rasters that is written tile by tile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use thalweg_core::base::names;
use thalweg_core::{Cell, Error, Georeference, Result};
use thalweg_io::{Samples, atomic, disk as core_disk, plain};

use crate::array::{ZarrArray, missing_metadata_error};
use crate::disk;
use crate::lock::{Access, StoreLock};
use crate::mark::{self, TileMark};
use crate::meta::{MAX_BYTES, ZARR, layer_metadata, parse_document};
use crate::place::{Coordinate, build_coordinates, store_georeference};
use crate::products::sidecar_path;
use crate::spec::{MARKS, StoreSpec, StoredLayer};

/// The attribute of the root group that marks a store as written by thalweg and holds its specification.
const STORE_ATTRIBUTE: &str = "thalweg";

/// The version of the store format that this program writes and reads; later versions may have other rules.
const FORMAT: u64 = 1;

/// A Zarr v3 group of rasters with the same size and georeference, each stored in shards of one tile.
///
/// A tile of a layer is done when it has a [`TileMark`], which is written after its shard. A finished tile is never
/// changed in place. Many threads may write at once, each to different tiles; with [`Access::Shared`] many processes
/// may as well.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    spec: StoreSpec,
    arrays: BTreeMap<String, ZarrArray>,
    /// The lock; present only if the store was opened for writing.
    lock: Option<StoreLock>,
}

/// Returns true if `path` is the folder of a readable thalweg store.
pub fn is_store(path: &Path) -> bool {
    read_root(path).is_ok()
}

/// Returns true if `path` is the folder of a thalweg store, even one that cannot be read because it is damaged or of a
/// later version.
pub fn is_ours(path: &Path) -> bool {
    let text = plain::read_if_exists(path.join(ZARR), MAX_BYTES).ok().flatten().unwrap_or_default();
    serde_json::from_slice::<Value>(&text).is_ok_and(|document| !document["attributes"][STORE_ATTRIBUTE].is_null())
}

/// Refuses an output file inside a store, where it would replace part of the store's contents. For example,
/// `world.zarr/map.tif` is refused if `world.zarr` is a store.
///
/// # Errors
/// Returns an error if the path is inside a store.
pub fn check_outside(path: &Path) -> Result<()> {
    let path = std::path::absolute(path).map_err(Error::io(path, "resolve the path"))?;
    match path.ancestors().skip(1).find(|folder| folder.join(ZARR).is_file() && is_ours(folder)) {
        Some(store) => Err(Error::invalid_file(
            &path,
            format!("is inside the store {}; choose another output", names::format_path(store)),
        )),
        None => Ok(()),
    }
}

impl Store {
    /// Creates a store in a folder that is empty or does not exist, or opens the one there if it was created with the
    /// same specification.
    ///
    /// # Errors
    /// Returns an error if [`StoreSpec::check`] refuses the specification, if the folder contains something else or a
    /// store of another specification, if another process is writing to it, or if the system refuses an operation. For
    /// example, a folder with other files is refused.
    pub fn create(path: &Path, spec: StoreSpec, access: Access) -> Result<Self> {
        spec.check()?;
        // An existing store is opened, unless it is empty and of other work; that one is deleted and created anew.
        if path.join(ZARR).exists() && !delete_unused_store(path, &spec.recipe)? {
            let store = Self::open(path, Some(&spec.recipe), access)?;
            check_same_spec(path, &store.spec, &spec)?;
            return Ok(store);
        }
        // The folder is no store yet. It may contain the remains of an interrupted creation, but nothing else.
        only_ours(path, &spec)?;
        let marks = path.join(MARKS);
        fs::create_dir_all(&marks).map_err(Error::io(&marks, "create the folder"))?;
        let lock = StoreLock::acquire(path, &marks, access)?;
        let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
        write_json(&marks.join(ZARR), &group)?;
        let mut members = Map::new();
        for coordinate in build_coordinates(&spec) {
            put_coordinate(path, &coordinate)?;
            members.insert(coordinate.0.to_string(), coordinate.1);
        }
        for layer in &spec.layers {
            let about = layer_metadata(&spec, layer);
            write_json(&path.join(&layer.name).join(ZARR), &about)?;
            members.insert(layer.name.clone(), about);
        }
        // The root is written last, because the folder counts as a store only once the root exists.
        write_json(&path.join(ZARR), &root_document(&spec, members)?)?;
        Self::open_arrays(path, spec, Some(lock))
    }

    /// Opens a store for writing; `recipe`, if given, must be the store's own.
    ///
    /// # Errors
    /// Returns an error if there is no store, if it belongs to another program or is damaged, if it has another recipe
    /// or chunks and codecs other than this program's, or if another process is writing to it.
    pub fn open(path: &Path, recipe: Option<&str>, access: Access) -> Result<Self> {
        let spec = read_root(path)?;
        if let Some(recipe) = recipe.filter(|recipe| *recipe != spec.recipe) {
            let problem = format!(
                "is a store of another recipe ({}); this one is {recipe}, so choose another folder",
                spec.recipe
            );
            return Err(Error::invalid_file(path, problem));
        }
        let marks = path.join(MARKS);
        fs::create_dir_all(&marks).map_err(Error::io(&marks, "create the folder"))?;
        let lock = StoreLock::acquire(path, &marks, access)?;
        // Temporary files of other running writers must not be deleted.
        if access == Access::Alone {
            spec.layers.iter().for_each(|layer| sweep_shards(&path.join(&layer.name).join("c")));
        }
        Self::open_arrays(path, spec, Some(lock))
    }

    /// Opens a store for reading. Nothing is locked: other processes may write to it meanwhile.
    ///
    /// # Errors
    /// Returns the errors of [`Store::open`], apart from the recipe and the lock.
    pub fn open_read(path: &Path) -> Result<Self> {
        Self::open_arrays(path, read_root(path)?, None)
    }

    fn open_arrays(path: &Path, spec: StoreSpec, lock: Option<StoreLock>) -> Result<Self> {
        let place = store_georeference(&spec);
        let mut arrays = BTreeMap::new();
        for layer in &spec.layers {
            let folder = path.join(&layer.name);
            // Shards are written with this program's codecs, so the metadata of the array must state exactly these.
            check_array_metadata(&folder, &layer_metadata(&spec, layer))?;
            arrays.insert(layer.name.clone(), ZarrArray::open(&folder)?.require_all_chunks(place.clone()));
        }
        Ok(Self { path: path.to_path_buf(), spec, arrays, lock })
    }

    /// The store's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store's specification: its size, tiles and layers.
    pub fn spec(&self) -> &StoreSpec {
        &self.spec
    }

    /// The georeference of the store's cells.
    pub(crate) fn georeference(&self) -> Georeference {
        store_georeference(&self.spec)
    }

    /// Returns warnings about the file system: that it has no locks, so a second run cannot be kept out.
    pub fn warnings(&self) -> Vec<String> {
        self.lock.iter().filter_map(|lock| lock.warning.clone()).collect()
    }

    /// Returns a layer, which can be read by windows. Reading a window that intersects a tile that is not made yet
    /// fails.
    ///
    /// # Errors
    /// Returns an error if there is no layer of this name.
    pub fn layer(&self, name: &str) -> Result<ZarrArray> {
        self.find_array(name).cloned()
    }

    fn find_array(&self, name: &str) -> Result<&ZarrArray> {
        let name = self.stored_name(name)?;
        self.arrays.get(name).ok_or_else(|| Error::invalid_layer(name, "is not in the store"))
    }

    /// Returns the name by which the store has a layer.
    fn stored_name(&self, layer: &str) -> Result<&str> {
        Ok(self.spec.layer(layer)?.name.as_str())
    }

    /// Returns the path of a tile's shard.
    ///
    /// # Errors
    /// Returns an error if the layer or tile does not exist.
    pub fn shard_path(&self, layer: &str, tile: usize) -> Result<PathBuf> {
        self.spec.tile_window(tile)?;
        let across = self.spec.tile_grid()?.tiles_per_axis()[1];
        Ok(self.find_array(layer)?.chunk_path(Cell::new(tile / across, tile % across)))
    }

    pub(crate) fn mark_path(&self, layer: &str, tile: usize) -> PathBuf {
        TileMark::path(&self.path.join(MARKS), layer, tile)
    }

    /// Returns true if a tile is done, that is, if it has a mark of this store's recipe. The shard itself is not
    /// checked; see [`Store::verify_tiles`].
    ///
    /// # Errors
    /// Returns an error if the layer or tile does not exist.
    pub fn is_done(&self, layer: &str, tile: usize) -> Result<bool> {
        let layer = self.stored_name(layer)?;
        self.spec.tile_window(tile)?;
        Ok(self.valid_mark(layer, tile).is_some())
    }

    fn valid_mark(&self, layer: &str, tile: usize) -> Option<TileMark> {
        let mark = TileMark::read(&self.mark_path(layer, tile)).ok().flatten();
        mark.filter(|mark| mark.recipe == self.spec.recipe)
    }

    /// Returns the tiles of a layer that are not done, in ascending order: those that are left when interrupted work
    /// is resumed.
    ///
    /// # Errors
    /// Returns an error if the layer does not exist.
    pub fn unfinished_tiles(&self, layer: &str) -> Result<Vec<usize>> {
        let layer = self.stored_name(layer)?;
        let tiles = (0..self.spec.tile_count()).into_par_iter();
        Ok(tiles.filter(|tile| self.valid_mark(layer, *tile).is_none()).collect())
    }

    /// Returns the smallest and largest sample of a layer's finished tiles; `None` if all samples have the fill value.
    ///
    /// # Errors
    /// Returns an error if the layer does not exist.
    pub fn sample_range(&self, layer: &str) -> Result<Option<[f64; 2]>> {
        let layer = self.stored_name(layer)?;
        let marks = (0..self.spec.tile_count()).into_par_iter().filter_map(|tile| self.valid_mark(layer, tile));
        let ranges = marks.filter_map(|mark| Some([mark.minimum?, mark.maximum?]));
        Ok(ranges.reduce_with(|a, b| [a[0].min(b[0]), a[1].max(b[1])]))
    }

    /// Writes a tile of a layer, then its mark. The samples are those of [`StoreSpec::tile_window`], in the layer's
    /// sample type.
    ///
    /// # Errors
    /// Returns an error if the tile is done already, if the store was opened for reading, if the samples have another
    /// type or number, or if the system refuses to write; the tile is then not done, and its shard is unchanged.
    pub fn write_tile(&self, layer: &str, tile: usize, samples: &Samples) -> Result<TileMark> {
        if self.is_done(layer, tile)? {
            let problem = format!("already has tile {tile}, which cannot be changed; use `remake_tile` to replace it");
            return Err(Error::invalid_layer(layer, problem));
        }
        self.put_tile(layer, tile, samples)
    }

    /// Rewrites a tile that is done already, for example one that [`Store::verify_tiles`] found damaged. The same
    /// samples give the same bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Store::write_tile`], except that the tile may be done already.
    pub fn remake_tile(&self, layer: &str, tile: usize, samples: &Samples) -> Result<TileMark> {
        self.put_tile(layer, tile, samples)
    }

    fn put_tile(&self, layer: &str, tile: usize, samples: &Samples) -> Result<TileMark> {
        self.check_writable()?;
        let window = self.spec.tile_window(tile)?;
        let about = self.spec.layer(layer)?;
        let layer = about.name.as_str();
        if samples.kind() != about.kind || samples.len() != window.size()[0] * window.size()[1] {
            let [rows, cols] = window.size();
            let problem = format!(
                "received {} samples of type {} for tile {tile}; it needs {rows} × {cols} (rows × columns) of type {}",
                samples.len(),
                samples.kind(),
                about.kind
            );
            return Err(Error::invalid_layer(layer, problem));
        }
        let path = self.shard_path(layer, tile)?;
        let shard = self
            .find_array(layer)?
            .encode_shard(samples, window.size())
            .map_err(|problem| Error::invalid_file(&path, problem))?;
        let place = self.mark_path(layer, tile);
        // The old mark is removed first: if the program is killed before the new mark is written, no mark may describe
        // the wrong shard.
        core_disk::remove_file(&place).map_err(Error::io(&place, "remove"))?;
        disk::write_file(&path, &shard)?;
        let mark = TileMark::from_shard(&self.spec.recipe, samples, about.fill, &shard);
        mark.write(&place)?;
        Ok(mark)
    }

    /// Deletes the temporary files that interrupted writers of a layer left behind.
    pub(crate) fn delete_leftovers(&self, layer: &str) {
        let Ok(layer) = self.stored_name(layer) else { return };
        sweep_shards(&self.path.join(layer).join("c"));
        atomic::remove_stale_temporaries(&self.path.join(MARKS).join(layer));
    }

    /// Returns true if no tile of any layer has been written yet.
    pub(crate) fn is_blank(&self) -> bool {
        is_blank(&self.path, &self.spec)
    }

    /// Marks a sidecar file of the store ([`sidecar_path`](crate::sidecar_path)) as done.
    ///
    /// # Errors
    /// Returns an error if the store was opened for reading or if the system refuses an operation.
    pub(crate) fn mark_file(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        // The file has been renamed into place, so the mark describes a complete file.
        let (bytes, hash) = mark::hash_file(&sidecar_path(&self.path, name))?;
        let recipe = self.spec.recipe.clone();
        TileMark { recipe, bytes, hash, minimum: None, maximum: None }.write(&self.file_mark(name))
    }

    /// Removes a sidecar file's mark, so that the file is made again.
    pub(crate) fn forget_file(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        let place = self.file_mark(name);
        core_disk::remove_file(&place).map_err(Error::io(&place, "remove"))
    }

    pub(crate) fn file_mark(&self, name: &str) -> PathBuf {
        self.path.join(MARKS).join(format!("{SIDECAR_PREFIX}{name}.json"))
    }

    /// The names of the store's sidecar files that are marked as done, sorted.
    pub(crate) fn marked_files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path.join(MARKS)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix(SIDECAR_PREFIX)?.strip_suffix(".json")?.to_string())
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The folders of the coordinate arrays that are missing or differ from those that the store was created with.
    pub(crate) fn lost_coordinates(&self) -> Vec<PathBuf> {
        // The coordinates follow from the specification, so they are compared byte by byte instead of being marked.
        let is_lost = |(name, about, chunk, bytes): &Coordinate| {
            let folder = self.path.join(name);
            let there = |path: PathBuf| fs::read(path).unwrap_or_default();
            let document: Value = serde_json::from_slice(&there(folder.join(ZARR))).unwrap_or_default();
            document != *about || there(folder.join(chunk)) != *bytes
        };
        build_coordinates(&self.spec).iter().filter(|one| is_lost(one)).map(|(name, ..)| self.path.join(name)).collect()
    }

    /// Rewrites the coordinate arrays.
    ///
    /// # Errors
    /// Returns an error if the store was opened for reading or if the system refuses to write.
    pub(crate) fn rewrite_coordinates(&self) -> Result<()> {
        self.check_writable()?;
        build_coordinates(&self.spec).iter().try_for_each(|coordinate| put_coordinate(&self.path, coordinate))
    }

    /// Removes a tile's mark, so that the tile is made again.
    ///
    /// # Errors
    /// Returns an error if the layer or tile does not exist, if the store was opened for reading, or if the system
    /// refuses an operation.
    pub fn forget_tile(&self, layer: &str, tile: usize) -> Result<()> {
        self.check_writable()?;
        let layer = self.stored_name(layer)?;
        self.spec.tile_window(tile)?;
        let place = self.mark_path(layer, tile);
        core_disk::remove_file(&place).map_err(Error::io(&place, "remove"))
    }

    fn check_writable(&self) -> Result<()> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(Error::invalid_file(&self.path, "was opened for reading only; open it for writing")),
        }
    }
}

/// The prefix of the mark of a sidecar file. No layer's name contains a hyphen, so the marks cannot collide.
const SIDECAR_PREFIX: &str = "beside-";

fn put_coordinate(store: &Path, (name, about, chunk, bytes): &Coordinate) -> Result<()> {
    // The metadata are written after the chunk, so an array never lacks its values.
    disk::write_file(&store.join(name).join(chunk), bytes)?;
    write_json(&store.join(name).join(ZARR), about)
}

/// Returns true if no tile of any of the store's layers has been written yet.
fn is_blank(path: &Path, spec: &StoreSpec) -> bool {
    let folders = |layer: &StoredLayer| [path.join(&layer.name).join("c"), path.join(MARKS).join(&layer.name)];
    !spec.layers.iter().flat_map(folders).any(|folder| folder.exists())
}

/// Deletes a store of another recipe in which nothing has been written yet (for example because its source was
/// refused); returns true if it was deleted.
fn delete_unused_store(path: &Path, recipe: &str) -> Result<bool> {
    let Ok(spec) = read_root(path) else { return Ok(false) };
    if spec.recipe == recipe || !is_blank(path, &spec) {
        return Ok(false);
    }
    // Another process may just be writing the first tile.
    let _held = StoreLock::acquire(path, &path.join(MARKS), Access::Alone)?;
    // The root is removed first: without it the folder no longer counts as a store, even if the rest cannot be
    // deleted.
    core_disk::remove_file(path.join(ZARR)).map_err(Error::io(path, "remove"))?;
    let layers = spec.layers.iter().map(|layer| layer.name.as_str());
    for name in layers.chain(["x", "y", "spatial_ref"]) {
        let folder = path.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Error::io(&folder, "remove"))?;
        }
    }
    Ok(true)
}

/// Writes a JSON document.
fn write_json(path: &Path, document: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(document).map_err(|error| Error::invalid_file(path, error.to_string()))?;
    disk::write_file(path, text.as_bytes())
}

/// Returns the root group's document with consolidated metadata, so that readers need only this one file.
fn root_document(spec: &StoreSpec, members: Map<String, Value>) -> Result<Value> {
    let mut attributes = spec.attributes.clone();
    attributes.insert("Conventions".to_string(), json!("CF-1.11"));
    let own = serde_json::to_value(spec).map_err(|error| {
        Error::invalid_content("specification of the store", format!("cannot be written as JSON: {error}"))
    })?;
    attributes.insert(
        STORE_ATTRIBUTE.to_string(),
        json!({"format": FORMAT, "version": env!("CARGO_PKG_VERSION"), "spec": own}),
    );
    Ok(json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes,
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": members},
    }))
}

/// Reads the specification of the store in a folder.
fn read_root(folder: &Path) -> Result<StoreSpec> {
    let path = folder.join(ZARR);
    if folder.is_file() {
        return Err(Error::invalid_file(folder, "is a file; a Zarr store, which is a folder, is required"));
    }
    let Some(text) = plain::read_if_exists(&path, MAX_BYTES)? else { return Err(missing_metadata_error(folder)) };
    let text = String::from_utf8(text).map_err(|_| Error::invalid_file(&path, "is not UTF-8 text"))?;
    let mut document = parse_document(&text, "group").map_err(|problem| Error::invalid_file(&path, problem))?;
    let own = document["attributes"][STORE_ATTRIBUTE].take();
    if own.is_null() {
        let problem =
            "is a Zarr group of another program; give the path of one of its arrays to read it, or another output";
        return Err(Error::invalid_file(folder, problem));
    }
    match own["format"].as_u64() {
        // Later formats may have other rules, so they are not even read.
        Some(FORMAT) => {}
        Some(later) => {
            return Err(Error::invalid_file(
                folder,
                format!("is a store of format {later}; this version of thalweg supports format {FORMAT}"),
            ));
        }
        None => return Err(Error::invalid_file(&path, "is damaged: it does not state the format of the store")),
    }
    let spec: StoreSpec = serde_json::from_value(own["spec"].clone()).map_err(|error| {
        Error::invalid_file(&path, format!("is damaged: the description of its content cannot be read: {error}"))
    })?;
    spec.check().map_err(|error| Error::invalid_file(&path, format!("is damaged: {error}")))?;
    Ok(spec)
}

/// Refuses a store of another specification, and names what differs.
fn check_same_spec(path: &Path, there: &StoreSpec, asked: &StoreSpec) -> Result<()> {
    // Descriptions do not affect any cell, and a store of an earlier version may have other ones.
    let [there, asked] =
        [there, asked].map(|spec| serde_json::to_value(spec.without_descriptions()).unwrap_or_default());
    let empty = Map::new();
    let [there, asked] = [&there, &asked].map(|spec| spec.as_object().unwrap_or(&empty));
    match asked.iter().find(|(key, value)| there.get(*key) != Some(value)) {
        None => Ok(()),
        Some((key, value)) => {
            let short = |value: Option<&Value>| {
                value.map(Value::to_string).unwrap_or_default().chars().take(80).collect::<String>()
            };
            let problem = format!(
                "is a store with {key} = {}, but {} was requested; choose another folder",
                short(there.get(key)),
                short(Some(value))
            );
            Err(Error::invalid_file(path, problem))
        }
    }
}

/// Refuses a folder that contains anything other than what an unfinished creation of this store leaves behind.
fn only_ours(path: &Path, spec: &StoreSpec) -> Result<()> {
    if path.exists() && !path.is_dir() {
        return Err(Error::invalid_file(path, "is a file; a Zarr store is a folder, so choose another output"));
    }
    if [".zarray", ".zgroup"].iter().any(|name| path.join(name).exists()) {
        return Err(missing_metadata_error(path));
    }
    // Temporary files of processes that no longer run would otherwise count as other content.
    atomic::remove_stale_temporaries(path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = ["x", "y", "spatial_ref", MARKS].contains(&name.as_str());
        if !known && !spec.layers.iter().any(|layer: &StoredLayer| layer.name == name) {
            return Err(Error::invalid_file(
                path,
                format!("contains `{name}` and is not a store; choose an empty folder"),
            ));
        }
    }
    Ok(())
}

/// Refuses an array whose metadata differ from those that this program writes.
fn check_array_metadata(folder: &Path, ours: &Value) -> Result<()> {
    let path = folder.join(ZARR);
    let Some(text) = plain::read_if_exists(&path, MAX_BYTES)? else {
        let need = "it is the metadata of a layer, so the store is damaged; choose another folder";
        return Err(Error::missing_input(names::format_path(&path), need));
    };
    let text = String::from_utf8(text).map_err(|_| Error::invalid_file(&path, "is not UTF-8 text"))?;
    let there = parse_document(&text, "array").map_err(|problem| Error::invalid_file(&path, problem))?;
    // Attributes and names may be edited; these keys decide how the bytes of shards are read.
    let keys = ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"];
    match keys.iter().find(|key| there[**key] != ours[**key]) {
        None => Ok(()),
        Some(key) => {
            let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
            let problem = format!(
                "has {key} = {}, but the store was created with {}; choose another folder",
                short(&there[*key]),
                short(&ours[*key])
            );
            Err(Error::invalid_file(&path, problem))
        }
    }
}

/// Deletes the temporary files that interrupted writers left among a layer's shards.
fn sweep_shards(chunks: &Path) {
    for entry in fs::read_dir(chunks).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            atomic::remove_stale_temporaries(&entry.path());
        }
    }
}
