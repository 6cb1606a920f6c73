//! A run in one file: saved between any two steps, and resumed to the same bits as an uninterrupted run.
//!
//! Layout: a magic line, the header's length (u64, little-endian), a JSON header, then the bytes of every section
//! that the header lists, then the XXH3-64 hash of all that. The file is written next to the target and renamed, so a
//! crash leaves the old file.

use std::borrow::Cow;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::recipe::Recipe;
use crate::run::{Run, StageReport};
use crate::sketch::FACTORS;
use thalweg_core::base::memory;
use thalweg_core::base::names::{from_text, to_text};
use thalweg_core::terrain::bytes::Values;
use thalweg_core::terrain::d8::to_esri_code;
use thalweg_core::terrain::{
    CellType, Cells, Column, ColumnType, FLOW_DIRECTION, GROUND, Layer, LayerSpec, SEDIMENT, Table,
};
use thalweg_core::{Error, Field, Grid, Height, Result, Size, Terrain};
use thalweg_io::atomic::write_atomically;
use thalweg_io::plain;
use thalweg_models::models::Models;

const MAGIC: &[u8; 16] = b"thalweg state 1\n";

/// The longest header that is accepted; real ones are a few kilobytes.
const MAX_HEADER: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    recipe: String,
    folder: String,
    /// Index of the turn.
    turn: usize,
    step: u32,
    /// Number of strokes of this step that have been made.
    strokes: usize,
    reports: Vec<StageReport>,
    /// Numbers of steps done, and of all steps.
    steps: [u64; 2],
    /// The recipe's name and its seed.
    of: (String, u64),
    grid: Grid,
    note: serde_json::Value,
    sections: Vec<Section>,
}

/// The kind of a sequence of bytes, and its length.
#[derive(Serialize, Deserialize)]
struct Section {
    kind: SectionKind,
    name: String,
    unit: String,
    meaning: String,
    bytes: u64,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq)]
enum SectionKind {
    Ground,
    Loose,
    Nodata,
    Height,
    Float,
    Count,
    Ints,
    Floats,
}

/// A copy of a run between two steps: it can be saved while the run takes its next step.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_models::models::thermal::Thermal;
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::run::Run;
/// use thalweg_sim::run::checkpoint::is_checkpoint;
///
/// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
/// let recipe = Recipe::with_single_stage(Box::new(Thermal { steps: 4, ..Thermal::default() }), 1);
/// let mut run = Run::with_terrain(recipe, terrain)?;
/// run.take_step()?;
/// let snapshot = run.snapshot().expect("enough memory");
/// run.take_step()?;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("run.thalweg");
/// snapshot.save(&path, &serde_json::Value::Null)?;
/// assert!(is_checkpoint(&path));
/// let (resumed, _) = Run::resume(&path)?;
/// assert_eq!((resumed.steps(), run.steps()), ([1, 4], [2, 4]));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub struct Snapshot {
    state: RunState<'static>,
    terrain: Terrain,
}

/// The data that is saved in addition to the terrain.
struct RunState<'a> {
    recipe: String,
    folder: PathBuf,
    turn: usize,
    step: u32,
    strokes: usize,
    reports: Cow<'a, [StageReport]>,
    steps: [u64; 2],
    of: (String, u64),
}

/// A summary of a checkpoint, without its run.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointSummary {
    /// The recipe's name.
    pub name: String,
    /// The world's seed.
    pub seed: u64,
    /// Numbers of steps done and of all steps.
    pub steps: [u64; 2],
}

impl Run {
    fn state(&self) -> RunState<'_> {
        RunState {
            recipe: self.recipe.to_toml(),
            // The path is absolute, because a run may be resumed from another folder.
            folder: std::path::absolute(&self.recipe.folder).unwrap_or_else(|_| self.recipe.folder.to_path_buf()),
            turn: self.turn,
            step: self.step,
            strokes: self.strokes,
            reports: Cow::Borrowed(&self.reports),
            steps: self.steps(),
            of: (self.recipe.name.clone(), self.recipe.seed),
        }
    }

    /// Saves the run to one file; `note` belongs to the caller and is returned by [`Run::resume`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be written; an older file of that name is then untouched.
    pub fn save(&self, path: &Path, note: &serde_json::Value) -> Result<()> {
        write_checkpoint(path, &self.state(), &self.terrain, note)
    }

    /// Returns the bytes of the file that [`Run::save`] writes.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory for them.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_models::models::thermal::Thermal;
    /// use thalweg_sim::recipe::Recipe;
    /// use thalweg_sim::run::Run;
    ///
    /// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
    /// let recipe = Recipe::with_single_stage(Box::new(Thermal { steps: 4, ..Thermal::default() }), 1);
    /// let mut run = Run::with_terrain(recipe, terrain)?;
    /// run.take_step()?;
    /// let bytes = run.to_checkpoint(&serde_json::json!({ "author": "me" }))?;
    /// let (mut resumed, note) = Run::resume_bytes(&bytes)?;
    /// assert_eq!(note["author"], "me");
    /// while run.take_step()?.is_some() {}
    /// while resumed.take_step()?.is_some() {}
    /// assert_eq!(resumed.terrain(), run.terrain());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn to_checkpoint(&self, note: &serde_json::Value) -> Result<Vec<u8>> {
        let need = self.bytes();
        memory::check_memory("a checkpoint", need)?;
        let mut bytes = Vec::with_capacity(usize::try_from(need).unwrap_or(0));
        let path = Path::new("checkpoint");
        encode_checkpoint(path, &self.state(), &self.terrain, note, &mut bytes)?;
        Ok(bytes)
    }

    /// Like [`Run::resume`], from the bytes of a file that [`Run::save`] or [`Run::to_checkpoint`] created.
    ///
    /// # Errors
    /// Returns an error if they are no checkpoint, or are damaged.
    pub fn resume_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        let path = Path::new("checkpoint");
        check_bytes(path, bytes)?;
        Self::from_checkpoint(bytes, path, &Models::default())
    }

    /// Returns a copy of the present state of the run, to be saved later. It copies the terrain ([`Run::bytes`] tells
    /// its size); `None` if there is not enough memory for that. For example, one thread can save the copy while
    /// another takes the next steps.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let state = self.state();
        let state = RunState { reports: Cow::Owned(state.reports.to_vec()), ..state };
        Some(Snapshot { state, terrain: try_copy_terrain(&self.terrain)? })
    }

    /// Returns the number of bytes of the terrain with its layers and tables.
    pub fn bytes(&self) -> u64 {
        list_sections(&self.terrain).iter().map(|(section, _)| section.bytes).sum()
    }

    /// Resumes a run from its file; also returns the note that was saved with it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is no checkpoint, or is damaged.
    pub fn resume(path: &Path) -> Result<(Self, serde_json::Value)> {
        Self::resume_with(path, &Models::default())
    }

    /// Like [`Run::resume`], with a caller's own models.
    ///
    /// # Errors
    /// Returns the errors of [`Run::resume`].
    pub fn resume_with(path: &Path, models: &Models) -> Result<(Self, serde_json::Value)> {
        Self::from_checkpoint(&read_checked(path)?, path, models)
    }

    /// Like [`Run::resume`], from the bytes of a checkpoint, whose last eight, its hash, are ignored; `path` is used
    /// in messages.
    ///
    /// # Errors
    /// Returns an error if the header or a section is cut off, cannot be read or does not fit the others, or if the
    /// recipe or the grid is refused.
    pub fn from_checkpoint(bytes: &[u8], path: &Path, models: &Models) -> Result<(Self, serde_json::Value)> {
        let bad =
            |what: &str| Error::invalid_file(path, format!("is not a usable checkpoint: {}", plain::clip_text(what)));
        // The magic line has 16 bytes and the length 8, so the header begins at byte 24.
        let length = bytes.get(16..24).and_then(|b| b.try_into().ok()).map_or(u64::MAX, u64::from_le_bytes);
        let end =
            length.checked_add(24).filter(|_| length <= MAX_HEADER).ok_or_else(|| bad("its header is too long"))?;
        let json = bytes.get(24..end as usize).ok_or_else(|| bad("its header is truncated"))?;
        let header: CheckpointHeader = serde_json::from_slice(json).map_err(|e| bad(&e.to_string()))?;
        let mut recipe = Recipe::parse_stages(&header.recipe, models)?;
        recipe.folder = from_text(&header.folder).into();
        // The file is complete (its hash matches), but it may have been made with malicious intent: nothing in it is
        // trusted.
        header.grid.check()?;
        let size = header.grid.size;
        // The ground is empty until its section is read, so that a file without that section fails the size check
        // below.
        let mut terrain = Terrain { ground: Field::new([0, 0], Height::ZERO), ..Terrain::new(Grid::new([1, 1], 1.0)?) };
        let mut rest = bytes.get(end as usize..bytes.len().saturating_sub(8)).unwrap_or_default();
        for section in &header.sections {
            let count = usize::try_from(section.bytes).ok().filter(|n| *n <= rest.len());
            let (part, after) = rest.split_at(count.ok_or_else(|| bad("one of its sections is truncated"))?);
            rest = after;
            insert_section(&mut terrain, section, part, size, models)
                .ok_or_else(|| bad(&format!("its section {} is invalid", section.name)))?;
        }
        if terrain.ground.size() != size || !rest.is_empty() {
            return Err(bad("its sections do not match its size"));
        }
        if let Some(flaw) = find_flaw(&terrain) {
            return Err(bad(flaw));
        }
        terrain.grid = header.grid;
        let place = [header.turn, header.strokes];
        let run = Self::from_saved_parts(recipe, terrain, place, header.step, header.reports);
        Ok((run.map_err(|error| bad(&error.to_string()))?, header.note))
    }
}

impl Snapshot {
    /// Like [`Run::save`].
    ///
    /// # Errors
    /// Returns the errors of [`Run::save`].
    pub fn save(&self, path: &Path, note: &serde_json::Value) -> Result<()> {
        write_checkpoint(path, &self.state, &self.terrain, note)
    }

    /// Returns the numbers of steps done and of all steps, over all turns.
    pub fn steps(&self) -> [u64; 2] {
        self.state.steps
    }
}

/// Returns a copy of a terrain, if there is enough memory for it.
fn try_copy_terrain(terrain: &Terrain) -> Option<Terrain> {
    let layer = |layer: &Layer| {
        let cells = match &layer.cells {
            Cells::Height(field) => Cells::Height(try_clone_field(field)?),
            Cells::Float(field) => Cells::Float(try_clone_field(field)?),
            Cells::Count(field) => Cells::Count(try_clone_field(field)?),
        };
        Some(layer.with_cells(cells))
    };
    let column = |column: &Column| {
        Some(match column {
            Column::Int(values) => Column::Int(try_clone_vec(values)?),
            Column::Float(values) => Column::Float(try_clone_vec(values)?),
        })
    };
    let table = |table: &Table| {
        let columns =
            table.columns.iter().map(|(name, unit, values)| Some((name.clone(), unit.clone(), column(values)?)));
        Some(Table { columns: columns.collect::<Option<_>>()? })
    };
    Some(Terrain {
        grid: terrain.grid.clone(),
        ground: try_clone_field(&terrain.ground)?,
        loose: terrain.loose.as_ref().map(|loose| try_clone_field(loose).ok_or(())).transpose().ok()?,
        nodata: terrain.nodata.as_ref().map(|mask| try_clone_field(mask).ok_or(())).transpose().ok()?,
        layers: terrain.layers.iter().map(|(name, it)| Some((name.clone(), layer(it)?))).collect::<Option<_>>()?,
        tables: terrain.tables.iter().map(|(name, it)| Some((name.clone(), table(it)?))).collect::<Option<_>>()?,
    })
}

fn try_clone_field<T: Copy>(field: &Field<T>) -> Option<Field<T>> {
    Field::from_vec(field.size(), try_clone_vec(field.as_slice())?).ok()
}

fn try_clone_vec<T: Copy>(values: &[T]) -> Option<Vec<T>> {
    let mut copy = Vec::new();
    // A plain allocation would abort the program where memory is short.
    copy.try_reserve_exact(values.len()).ok()?;
    copy.extend_from_slice(values);
    Some(copy)
}

fn write_checkpoint(path: &Path, state: &RunState<'_>, terrain: &Terrain, note: &serde_json::Value) -> Result<()> {
    write_atomically(path, |file| encode_checkpoint(path, state, terrain, note, file))
}

/// Writes the bytes of a checkpoint into `sink`; `path` is used in messages.
fn encode_checkpoint(
    path: &Path,
    state: &RunState<'_>,
    terrain: &Terrain,
    note: &serde_json::Value,
    sink: &mut impl Write,
) -> Result<()> {
    let (sections, values): (Vec<_>, Vec<_>) = list_sections(terrain).into_iter().unzip();
    let header = CheckpointHeader {
        recipe: state.recipe.clone(),
        folder: to_text(&state.folder),
        turn: state.turn,
        step: state.step,
        strokes: state.strokes,
        reports: state.reports.to_vec(),
        steps: state.steps,
        of: state.of.clone(),
        grid: terrain.grid.clone(),
        note: note.clone(),
        sections,
    };
    let header = serde_json::to_vec(&header).map_err(|e| Error::invalid_file(path, e.to_string()))?;
    let mut hash = Xxh3::new();
    let mut put = |bytes: &[u8]| {
        hash.update(bytes);
        sink.write_all(bytes)
    };
    // All bytes except the hash itself are hashed as they are written, so no copy of the terrain is needed.
    let wrote = put(MAGIC)
        .and_then(|()| put(&(header.len() as u64).to_le_bytes()))
        .and_then(|()| put(&header))
        .and_then(|()| values.iter().try_for_each(|values| values.try_for_each_piece(&mut put)));
    wrote.and_then(|()| sink.write_all(&hash.digest().to_le_bytes())).map_err(Error::io(path, "write"))
}

/// Returns a summary of a checkpoint from its header only: this is fast, but does not check whether the rest is
/// complete.
///
/// # Errors
/// Returns an error if the file cannot be read, is no checkpoint, or has a damaged header.
pub fn read_summary(path: &Path) -> Result<CheckpointSummary> {
    let about = std::fs::metadata(path).map_err(Error::io(path, "read"))?;
    let bad = || Error::invalid_file(path, "is a damaged or truncated checkpoint; start the run again");
    let mut head = [0; 24];
    let file = if about.is_file() {
        std::fs::File::open(path).map_err(Error::io(path, "read"))?
    } else {
        return Err(not_a_checkpoint(path));
    };
    let mut file = std::io::BufReader::new(file);
    if file.read_exact(&mut head[..16]).is_err() || head[..16] != *MAGIC {
        return Err(not_a_checkpoint(path));
    }
    file.read_exact(&mut head[16..]).map_err(|_| bad())?;
    let length = head[16..].try_into().map_or(u64::MAX, u64::from_le_bytes);
    // A forged length must not make the reader allocate more than the file can contain.
    if length > MAX_HEADER.min(about.len()) {
        return Err(bad());
    }
    let header: CheckpointHeader = serde_json::from_reader(file.take(length)).map_err(|_| bad())?;
    let (name, seed) = header.of;
    Ok(CheckpointSummary { name, seed, steps: header.steps })
}

/// Returns true if a file begins as a checkpoint does, damaged or not; false if it cannot be read.
pub fn is_checkpoint(path: &Path) -> bool {
    let mut magic = [0; 16];
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    is_file && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == *MAGIC
}

fn not_a_checkpoint(path: &Path) -> Error {
    Error::invalid_file(path, "is not a thalweg checkpoint")
}

/// Returns the whole file, if its magic line and its hash are right.
fn read_checked(path: &Path) -> Result<Vec<u8>> {
    let (mut file, length) = plain::open_plain_file(path)?;
    let mut magic = [0; 16];
    let is_ours = file.read_exact(&mut magic).is_ok() && magic == *MAGIC;
    if !is_ours {
        return Err(not_a_checkpoint(path));
    }
    file.rewind().map_err(Error::io(path, "read"))?;
    // Memory for the bytes, and for the terrain that is created from them.
    memory::check_memory(&path.display().to_string(), length.saturating_mul(2))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(Error::io(path, "read"))?;
    check_bytes(path, &bytes)?;
    Ok(bytes)
}

/// Checks the magic line and the hash.
fn check_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    if !bytes.starts_with(MAGIC) {
        return Err(not_a_checkpoint(path));
    }
    // A file that ends after the magic line has an empty digest, which never matches.
    let (content, digest) = bytes.split_at(bytes.len().saturating_sub(8).max(16));
    if xxhash_rust::xxh3::xxh3_64(content).to_le_bytes() != *digest {
        return Err(Error::invalid_file(
            path,
            "is a damaged or truncated checkpoint (its checksum does not match); start the run again",
        ));
    }
    Ok(())
}

/// Returns the sections as which a terrain is saved, in order.
fn list_sections(terrain: &Terrain) -> Vec<(Section, Values<'_>)> {
    fn describe_section<'a>(
        kind: SectionKind,
        [name, unit, meaning]: [&str; 3],
        values: Values<'a>,
    ) -> (Section, Values<'a>) {
        let [name, unit, meaning] = [name, unit, meaning].map(String::from);
        (Section { kind, name, unit, meaning, bytes: values.byte_count() }, values)
    }
    let mut all =
        vec![describe_section(SectionKind::Ground, [GROUND.name, "", ""], Values::Heights(terrain.ground.as_slice()))];
    if let Some(loose) = &terrain.loose {
        all.push(describe_section(SectionKind::Loose, [SEDIMENT.name, "", ""], Values::Heights(loose.as_slice())));
    }
    if let Some(mask) = &terrain.nodata {
        all.push(describe_section(SectionKind::Nodata, ["nodata", "", ""], Values::Flags(mask.as_slice())));
    }
    for (name, layer) in &terrain.layers {
        let kind = match layer.cells.cell_type() {
            CellType::Height => SectionKind::Height,
            CellType::Float => SectionKind::Float,
            CellType::Count => SectionKind::Count,
        };
        all.push(describe_section(kind, [name, &layer.unit, &layer.meaning], Values::from(&layer.cells)));
    }
    for (name, table) in &terrain.tables {
        for (column, unit, values) in &table.columns {
            let kind = match values.column_type() {
                ColumnType::Int => SectionKind::Ints,
                ColumnType::Float => SectionKind::Floats,
            };
            // A column has its table's name as the section's name, and its own name in the place of the meaning.
            all.push(describe_section(kind, [name, unit, column], Values::from(values)));
        }
    }
    all
}

/// Returns what is wrong with a terrain that no run leaves and no model expects; `None` if it is valid.
fn find_flaw(terrain: &Terrain) -> Option<&'static str> {
    let ground = terrain.ground.as_slice();
    if !ground.iter().all(|h| (Height::MIN..=Height::MAX).contains(h)) {
        return Some("its elevations are outside -16000 to 16000 m");
    }
    // If bedrock were deeper than this, the thickness of sediment up to the highest elevation would overflow.
    let deepest = i64::from(Height::MAX.0) - i64::from(i32::MAX);
    let fits =
        |(ground, loose): (&Height, &Height)| loose.0 >= 0 && i64::from(ground.0) - i64::from(loose.0) >= deepest;
    if terrain.loose.as_ref().is_some_and(|loose| !ground.iter().zip(loose.as_slice()).all(fits)) {
        return Some("its sediment thickness is negative or too large");
    }
    if !terrain.tables.values().all(Table::is_even) {
        return Some("one of its tables has columns of unequal length");
    }
    None
}

/// Puts one section into the terrain; `None` if it does not fit.
fn insert_section(terrain: &mut Terrain, section: &Section, bytes: &[u8], size: Size, models: &Models) -> Option<()> {
    // A checkpoint of an earlier version may contain the earlier name of a layer.
    let declared = models.declared_layer(&section.name);
    let name = declared.map_or(section.name.as_str(), |spec| spec.name);
    let is_renamed = name != section.name;
    let heights = || match Cells::from_bytes(CellType::Height, size, bytes) {
        Ok(Cells::Height(field)) => Some(field),
        _ => None,
    };
    let layer = |kind: CellType| {
        let is_same = |spec: &LayerSpec| (spec.name, spec.meaning) == (&section.name, &section.meaning);
        // A sketch's factors share their names with other layers and are told apart by their meaning.
        let of_sketch = FACTORS.into_iter().find(is_same);
        let declared = of_sketch.or(declared).filter(|spec| spec.cells == kind);
        let cells = Cells::from_bytes(kind, size, bytes).ok()?;
        let is_recoded = is_renamed && name == FLOW_DIRECTION.name;
        let cells = if is_recoded { convert_to_esri_codes(cells) } else { cells };
        let layer = Layer::new(&declared.unwrap_or_else(|| LayerSpec::undeclared(kind)), cells);
        // A renamed layer has its current unit and meaning, not those of the checkpoint.
        if is_renamed && declared.is_some() {
            return Some(layer);
        }
        Some(Layer { unit: section.unit.clone(), meaning: section.meaning.clone(), ..layer })
    };
    let column = |kind: ColumnType| {
        let column = Column::from_bytes(kind, bytes).ok()?;
        Some((section.meaning.clone(), section.unit.clone(), column))
    };
    match section.kind {
        SectionKind::Ground => terrain.ground = heights()?,
        SectionKind::Loose => terrain.loose = Some(heights()?),
        SectionKind::Nodata => {
            terrain.nodata = Some(Field::from_vec(size, bytes.iter().map(|b| *b != 0).collect()).ok()?)
        }
        SectionKind::Height => drop(terrain.layers.insert(name.to_string(), layer(CellType::Height)?)),
        SectionKind::Float => drop(terrain.layers.insert(name.to_string(), layer(CellType::Float)?)),
        SectionKind::Count => drop(terrain.layers.insert(name.to_string(), layer(CellType::Count)?)),
        SectionKind::Ints => {
            terrain.tables.entry(section.name.clone()).or_default().columns.push(column(ColumnType::Int)?)
        }
        SectionKind::Floats => {
            terrain.tables.entry(section.name.clone()).or_default().columns.push(column(ColumnType::Float)?)
        }
    }
    Some(())
}

/// Converts flow directions of the first development versions, the codes 0 to 8, to ESRI codes.
fn convert_to_esri_codes(cells: Cells) -> Cells {
    let convert = |code: &u32| u8::try_from(*code).map_or(0, |code| u32::from(to_esri_code(code)));
    match cells {
        Cells::Count(codes) => Cells::Count(codes.map(convert)),
        other => other,
    }
}
