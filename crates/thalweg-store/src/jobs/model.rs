//! [`Modelled`]: a model that runs on parts of a map, and the data that one of its stages passes to the next.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{
    CellType, Cells, Column, ColumnType, GROUND, LayerSpec, SEDIMENT, Table, select_rows_inside,
};
use thalweg_core::{CellRect, Error, Field, Grid, Height, Result, Terrain};
use thalweg_io::{HeightReading, SampleType, Samples};
use thalweg_models::model::{Model, Tick};
use thalweg_sim::run::tiles::{append_table_rows, run_steps, sort_by_number};
use thalweg_tiled::layer::NO_HEIGHT;
use thalweg_tiled::{PassedLayer, Summaries};

use super::input_layer::InputLayer;
use super::{parse_json, to_json_bytes};
use crate::StoredLayer;

/// A model together with the map on which it runs.
pub struct Modelled {
    pub model: Box<dyn Model>,
    /// The grid of the whole map.
    pub grid: Grid,
    pub key: RandomKey,
    pub steps: u32,
    /// The distance that one step's effects reach, in cells.
    pub reach: usize,
    /// The layers that the model is given as input.
    pub given: Vec<InputLayer>,
}

/// The properties of the whole map that every tile of a stage needs to know.
#[derive(Clone, Serialize, Deserialize)]
pub struct MapProperties {
    /// True if there are cells without data. These get the height `lowest`, the lowest of the map.
    pub has_void: bool,
    pub lowest: i32,
    /// The sum of terrain and all carried material over the cells with data, in height units times cells.
    pub solid: i128,
    /// The names of the layers that exist, in addition to the ground.
    #[serde(deserialize_with = "super::read_layer_names")]
    pub present: Vec<String>,
    /// The conversions of elevation files' samples to heights: first the source's, then those of the layers.
    pub readings: Vec<HeightReading>,
}

/// The header of a tile's summary after its steps. The data of its tables follow it, column by column.
#[derive(Serialize, Deserialize)]
struct SummaryHead {
    /// The data of the whole map that the tile had.
    known: MapProperties,
    #[serde(deserialize_with = "super::read_layer_names")]
    present: Vec<String>,
    solid: i128,
    tables: Vec<TableHead>,
}

/// The header of a table: its name, its number of rows, and for each column the name, the unit and true if it holds
/// integers.
#[derive(Serialize, Deserialize)]
struct TableHead {
    name: String,
    rows: usize,
    columns: Vec<(String, String, bool)>,
}

/// The summary of a tile after its steps.
pub struct StepSummary {
    head: SummaryHead,
    tables: BTreeMap<String, Table>,
}

/// The combined summaries of all tiles of a stage.
pub struct CombinedSummary {
    pub known: MapProperties,
    /// The sum of solid material before the stage.
    pub before: i128,
}

/// The estimated cost of writing a layer to the disk and reading it back, relative to the cost of a cheap model step. A
/// larger value leads to more steps at once and wider halos. It affects only time and memory.
const DISK: u64 = 10;

/// The maximum number of steps that a stage takes at once. It bounds the search in
/// [`Modelled::choose_steps_per_stage`].
const MAX_STEPS_AT_ONCE: u32 = 256;

impl Modelled {
    /// The layers that the model may change, in addition to the ground: they are passed from stage to stage.
    pub fn state_layers(&self) -> Vec<LayerSpec> {
        let mut state: Vec<LayerSpec> = Vec::new();
        for spec in self.model.about().writes {
            if *spec != GROUND && !state.iter().any(|other| other.name == spec.name) {
                state.push(*spec);
            }
        }
        state
    }

    /// The description of the ground as a layer that stages pass on.
    pub fn ground_layer(&self) -> PassedLayer {
        PassedLayer { name: GROUND.name.into(), kind: SampleType::I32, fill: f64::from(NO_HEIGHT) }
    }

    /// Chooses the number of steps per stage with the lowest estimated cost. More steps at once save disk traffic, but
    /// need a wider halo around each tile; halos that would more than double the tile's width are not considered.
    pub fn choose_steps_per_stage(&self, side: usize) -> u32 {
        // Without reach no halo is needed, so all steps are taken at once.
        if self.reach == 0 {
            return self.steps.max(1);
        }
        let area = |wide: u64| u128::from(wide) * u128::from(wide);
        let layers = 1 + self.state_layers().len() as u64;
        let wide = |k: u32| (side as u64).saturating_add(2 * u64::from(k) * self.reach as u64);
        // Cost = layers written and read once per stage + cells computed (with halo) in every step.
        let cost = |k: u32| {
            let stages = u128::from(self.steps.div_ceil(k));
            stages * u128::from(DISK * layers) * area(side as u64) + u128::from(self.steps) * area(wide(k))
        };
        // A single step is always possible, however wide its halo is.
        let fit = (1..=self.steps.clamp(1, MAX_STEPS_AT_ONCE)).take_while(|k| *k == 1 || wide(*k) <= 2 * side as u64);
        fit.min_by_key(|k| cost(*k)).unwrap_or(1)
    }

    /// The memory that a tile with a halo of this width takes, in bytes.
    pub fn tile_bytes(&self, side: usize, halo: usize) -> u64 {
        // A tile with its halo cannot be larger than the map.
        let wide = [0, 1].map(|axis| side.saturating_add(2 * halo).min(self.grid.size[axis]));
        let part = self.grid.window(CellRect::new([0, 0], wide));
        let layers = 2 + self.state_layers().len() as u64 + self.given.len() as u64;
        let read = self.given.iter().map(|given| given.memory(wide)[1]).max().unwrap_or(0);
        let cells = (part.len() as u64).saturating_mul(4 + 12 * layers);
        self.model.scratch(&part).saturating_add(cells).saturating_add(read)
    }

    /// Returns the names of the layers that exist at the end. They depend only on parameters and steps, so they are
    /// determined by running the first and the last step on a small piece of flat terrain (at most 16 × 16 cells).
    pub fn find_final_layers(&self) -> Result<Vec<String>> {
        let size = self.grid.size.map(|n| n.min(16));
        let mut part = Terrain::new(self.grid.window(CellRect::new([0, 0], size)));
        for given in &self.given {
            part.insert_layer(&given.spec, Cells::zeros(given.spec.cells, size))?;
        }
        let (first, last) = (0, self.steps.saturating_sub(1));
        for step in (first..self.steps.min(1)).chain(last.max(1)..self.steps) {
            self.model.start(&part.grid)?.run_step(&mut part, Tick { key: self.key, step })?;
        }
        let present = layer_names(&part);
        Ok(self
            .state_layers()
            .into_iter()
            .map(|spec| spec.name.to_string())
            .filter(|name| present.contains(name))
            .collect())
    }

    /// Assembles a part of the map as the preceding stage left it. `layers` are the ground, followed by the
    /// [state](Self::state_layers) unless no step has been taken yet; `summaries` are the summaries of the tiles
    /// around.
    pub fn assemble_part(
        &self,
        window: CellRect,
        layers: &[Samples],
        known: &MapProperties,
        summaries: &[Vec<u8>],
    ) -> Result<Terrain> {
        let grid = self.grid.window(window);
        let Some((Samples::I32(heights), state)) = layers.split_first() else { return Err(wrong_layers_error()) };
        // Cells without data get the lowest height of the whole map, the same in every tile, as if the map were in
        // memory.
        let stands = |height: &i32| Height(if *height == NO_HEIGHT { known.lowest } else { *height });
        let ground = Field::from_vec(window.size(), heights.iter().map(stands).collect())?;
        let void = || heights.iter().map(|height| *height == NO_HEIGHT).collect();
        let nodata = known.has_void.then(|| Field::from_vec(window.size(), void())).transpose()?;
        let mut part = Terrain { nodata, ..Terrain::from_ground(grid, ground)? };
        let begun = !state.is_empty();
        let mut readings = known.readings.iter().skip(1);
        for given in &self.given {
            let reading = if given.as_elevation_file().is_some() { readings.next() } else { None };
            // Once a stage has run, layers that the model changes come from that stage, not from the input file.
            if !(begun && self.state_layers().iter().any(|spec| spec.name == given.spec.name)) {
                part.insert_layer(&given.spec, given.read_window(window, reading)?)?;
            }
        }
        for (spec, samples) in self.state_layers().iter().zip(state) {
            if known.present.iter().any(|name| name == spec.name) {
                part.insert_layer(spec, samples_to_cells(spec, samples, window)?)?;
            }
        }
        // Neighbouring tiles pass on their tables; the rows inside this part are taken and sorted by number, so their
        // order does not depend on tiles.
        for bytes in summaries {
            for (name, table) in StepSummary::from_bytes(bytes)?.tables {
                append_table_rows(&mut part.tables, &name, &select_rows_inside(&table, &part.grid))?;
            }
        }
        part.tables.values_mut().for_each(sort_by_number);
        Ok(part)
    }

    /// Runs steps of the model on a part, and refuses a model that writes a layer it does not declare.
    pub fn run_steps(&self, part: &mut Terrain, steps: Range<u32>) -> Result<()> {
        run_steps(&*self.model, part, self.key, steps)?;
        let state = self.state_layers();
        let known = |name: &&String| {
            state.iter().any(|spec| spec.name == **name) || self.given.iter().any(|given| given.spec.name == **name)
        };
        match layer_names(part).iter().find(|name| !known(name)) {
            Some(name) => Err(Error::invalid_layer(
                name,
                format!(
                    "is written by the model `{}`, which does not declare it among its layers",
                    self.model.about().name
                ),
            )),
            None => Ok(()),
        }
    }

    /// Cuts a tile's own cells out of a part with its halo.
    pub fn cut_tile(&self, part: &Terrain, tile: CellRect) -> Result<Terrain> {
        let at = part.grid.origin;
        // The origin of a part is in cells of the world, that of a tile in cells of the map.
        let start = [0, 1].map(|axis| (tile.start[axis] as i64 + self.grid.origin[axis] - at[axis]) as usize);
        Ok(part.copy_window(CellRect::new(start, tile.size())))
    }

    /// The samples that a tile passes to the next stage: ground and state, with zeros for layers that do not exist.
    pub fn samples_for_next_stage(&self, core: &Terrain) -> Vec<Samples> {
        let state = self.state_layers();
        let state = state.iter().map(|spec| match (*spec == SEDIMENT, &core.loose, core.layers.get(spec.name)) {
            // Sediment has a field of its own in a terrain; all other layers are in a map by name.
            (true, Some(loose), _) => height_samples(loose),
            (false, _, Some(layer)) => cells_to_samples(&layer.cells),
            _ => cells_to_samples(&Cells::zeros(spec.cells, core.grid.size)),
        });
        std::iter::once(ground_samples(core)).chain(state).collect()
    }

    /// The samples that stay in the store: the ground and the layers of those names, with the fill value where there
    /// is no data.
    pub fn final_samples(&self, core: &Terrain, names: &[String]) -> Vec<Samples> {
        let mut all = self.samples_for_next_stage(core).into_iter();
        let ground = all.next();
        let other_layers =
            self.state_layers().into_iter().zip(all).filter(|(spec, _)| names.iter().any(|name| name == spec.name));
        let other_layers = other_layers.map(|(_, mut samples)| {
            let void = |k: usize| core.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
            match &mut samples {
                Samples::I32(v) => v.iter_mut().enumerate().filter(|(k, _)| void(*k)).for_each(|(_, x)| *x = NO_HEIGHT),
                Samples::F32(v) => v.iter_mut().enumerate().filter(|(k, _)| void(*k)).for_each(|(_, x)| *x = f32::NAN),
                Samples::U32(v) => v.iter_mut().enumerate().filter(|(k, _)| void(*k)).for_each(|(_, x)| *x = u32::MAX),
                _ => {}
            }
            samples
        });
        ground.into_iter().chain(other_layers).collect()
    }
}

/// The description of a layer that is passed from stage to stage.
pub fn passed_layer(spec: &LayerSpec) -> PassedLayer {
    PassedLayer { name: spec.name.into(), kind: sample_type(spec.cells), fill: 0.0 }
}

/// The description of a layer in the resulting store.
pub fn stored_layer(spec: &LayerSpec) -> StoredLayer {
    let fill = match spec.cells {
        CellType::Height => f64::from(NO_HEIGHT),
        CellType::Float => f64::NAN,
        CellType::Count => f64::from(u32::MAX),
    };
    StoredLayer {
        scale: (spec.cells == CellType::Height).then_some(1.0 / UNITS),
        unit: spec.unit.to_string(),
        description: spec.meaning.to_string(),
        ..StoredLayer::new(spec.name, sample_type(spec.cells), fill)
    }
}

fn sample_type(cells: CellType) -> SampleType {
    match cells {
        CellType::Height => SampleType::I32,
        CellType::Float => SampleType::F32,
        CellType::Count => SampleType::U32,
    }
}

/// The names of the layers that exist, in addition to the ground.
fn layer_names(part: &Terrain) -> Vec<String> {
    let loose = part.loose.iter().map(|_| SEDIMENT.name.to_string());
    loose.chain(part.layers.keys().cloned()).collect()
}

fn height_samples(field: &Field<Height>) -> Samples {
    Samples::I32(field.as_slice().iter().map(|height| height.0).collect())
}

/// The ground's heights, with [`NO_HEIGHT`] where there is no data.
fn ground_samples(core: &Terrain) -> Samples {
    let void = |k: usize| core.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
    let ground = core.ground.as_slice().iter().enumerate();
    Samples::I32(ground.map(|(k, height)| if void(k) { NO_HEIGHT } else { height.0 }).collect())
}

fn cells_to_samples(cells: &Cells) -> Samples {
    match cells {
        Cells::Height(field) => height_samples(field),
        Cells::Float(field) => Samples::F32(field.as_slice().to_vec()),
        Cells::Count(field) => Samples::U32(field.as_slice().to_vec()),
    }
}

fn samples_to_cells(spec: &LayerSpec, samples: &Samples, window: CellRect) -> Result<Cells> {
    Ok(match (spec.cells, samples) {
        (CellType::Height, Samples::I32(v)) => {
            Cells::Height(Field::from_vec(window.size(), v.iter().map(|units| Height(*units)).collect())?)
        }
        (CellType::Float, Samples::F32(v)) => Cells::Float(Field::from_vec(window.size(), v.clone())?),
        (CellType::Count, Samples::U32(v)) => Cells::Count(Field::from_vec(window.size(), v.clone())?),
        _ => return Err(wrong_layers_error()),
    })
}

fn wrong_layers_error() -> Error {
    super::damaged_content_error("set of layers of the previous stage", "it does not have the expected types")
}

impl StepSummary {
    /// Summarises a tile after its steps.
    pub fn from_tile(core: &Terrain, known: &MapProperties) -> Result<Self> {
        let void = |k: usize| core.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
        // Cells without data have a height but no material, so their heights are not part of the sum.
        let below: i128 =
            (0..core.ground.len()).filter(|k| void(*k)).map(|k| i128::from(core.ground.as_slice()[k].0)).sum();
        let tables = core.tables.clone();
        let heads = tables.iter().map(|(name, table)| TableHead {
            name: name.clone(),
            rows: table.len(),
            columns: table
                .columns
                .iter()
                .map(|(name, unit, column)| (name.clone(), unit.clone(), column.column_type() == ColumnType::Int))
                .collect(),
        });
        let head = SummaryHead {
            // The layers present are those after the steps; the list of before would keep layers that no longer exist.
            known: MapProperties { present: Vec::new(), ..known.clone() },
            present: layer_names(core),
            solid: core.sum_solid() - below,
            tables: heads.collect(),
        };
        Ok(Self { head, tables })
    }

    /// Serializes the summary: the length of the header as 8 bytes, the header as JSON, and the columns of the tables.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let head = to_json_bytes(&self.head)?;
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        for (_, _, column) in self.tables.values().flat_map(|table| &table.columns) {
            bytes.extend(column.to_bytes());
        }
        Ok(bytes)
    }

    fn split_header(bytes: &[u8]) -> Result<(SummaryHead, &[u8])> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged_summary_error)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged_summary_error())?;
        let (head, rest) = rest.split_at_checked(length).ok_or_else(damaged_summary_error)?;
        Ok((parse_json("summary of the steps", head)?, rest))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (head, mut rest) = Self::split_header(bytes)?;
        let mut tables = BTreeMap::new();
        for about in &head.tables {
            let mut table = Table::default();
            for (name, unit, is_int) in &about.columns {
                let kind = if *is_int { ColumnType::Int } else { ColumnType::Float };
                // A damaged header must not request more bytes than there are.
                let count = about.rows.checked_mul(kind.byte_width()).ok_or_else(damaged_summary_error)?;
                let (part, after) = rest.split_at_checked(count).ok_or_else(damaged_summary_error)?;
                rest = after;
                table = table.with_column(name, unit, Column::from_bytes(kind, part)?);
            }
            tables.insert(about.name.clone(), table);
        }
        Ok(Self { head, tables })
    }

    /// Combines the summaries of all tiles.
    pub fn combine(summaries: &dyn Summaries) -> Result<CombinedSummary> {
        let mut all: Option<CombinedSummary> = None;
        for tile in 0..summaries.count() {
            let bytes = summaries.read(tile)?;
            let (head, _) = Self::split_header(&bytes)?;
            let gathered = all.get_or_insert_with(|| {
                let before = head.known.solid;
                CombinedSummary { known: MapProperties { solid: 0, ..head.known.clone() }, before }
            });
            // Integers are summed, so the mass balance closes to the unit for any tiles.
            gathered.known.solid += head.solid;
            for name in head.present {
                // A layer exists if any tile has it; tiles without it pass on zeros.
                if !gathered.known.present.contains(&name) {
                    gathered.known.present.push(name);
                }
            }
        }
        all.ok_or_else(|| Error::invalid_value("tiles", 0, "1 or more"))
    }
}

fn damaged_summary_error() -> Error {
    super::damaged_content_error("summary of the steps", "it is too short")
}
