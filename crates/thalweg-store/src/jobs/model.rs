//! [`Modelled`]: a model at work on parts of a map, and what goes from one of its stages to the next.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{CellType, Cells, Column, ColumnType, GROUND, LOOSE, LayerSpec, Table, within};
use thalweg_core::{CellRect, Error, Field, Grid, Height, Result, Terrain};
use thalweg_io::{HeightReading, SampleType, Samples};
use thalweg_models::model::{Model, Tick};
use thalweg_sim::run::tiles::{advance, gather, sort_by_number};
use thalweg_tiled::layer::NO_HEIGHT;
use thalweg_tiled::{PassedLayer, Summaries};

use super::given::GivenLayer;
use super::{read, words};
use crate::StoredLayer;

/// A model on the cells of a map.
pub struct Modelled {
    pub model: Box<dyn Model>,
    /// The whole map.
    pub grid: Grid,
    pub key: Key,
    pub steps: u32,
    /// How far a step reaches, in cells.
    pub reach: usize,
    /// The layers that it is given.
    pub given: Vec<GivenLayer>,
}

/// What every tile of a stage is to know of the whole map.
#[derive(Clone, Serialize, Deserialize)]
pub struct Known {
    /// Whether there are cells without data, and the height at which they stand: the lowest of the map.
    pub has_void: bool,
    pub lowest: i32,
    /// What the ground and all that is carried add up to, in units over a cell, where there is data.
    pub solid: i128,
    /// The layers that there are, beside the ground.
    pub present: Vec<String>,
    /// How samples of elevation models become heights: of the source, then of layers.
    pub readings: Vec<HeightReading>,
}

/// What a tile says once its steps are taken. Its things stand behind it, column by column.
#[derive(Serialize, Deserialize)]
struct Head {
    /// What it knew.
    known: Known,
    present: Vec<String>,
    solid: i128,
    tables: Vec<TableHead>,
}

/// A table: its name, its rows, and of each column name, unit, and whether it holds whole numbers.
#[derive(Serialize, Deserialize)]
struct TableHead {
    name: String,
    rows: usize,
    columns: Vec<(String, String, bool)>,
}

/// The summary of a tile.
pub struct Said {
    head: Head,
    tables: BTreeMap<String, Table>,
}

/// What is known after a stage.
pub struct Gathered {
    pub known: Known,
    /// The solid before the stage.
    pub before: i128,
}

/// A quick step costs about so many times less than a layer's way to the disk and back.
const DISK: u64 = 10;

/// The most steps that are taken at once.
const MOST_AT_ONCE: u32 = 256;

impl Modelled {
    /// The layers that the model may change, beside the ground: what goes from stage to stage.
    pub fn state(&self) -> Vec<LayerSpec> {
        let mut state: Vec<LayerSpec> = Vec::new();
        for spec in self.model.about().writes {
            if *spec != GROUND && !state.iter().any(|other| other.name == spec.name) {
                state.push(*spec);
            }
        }
        state
    }

    /// How the ground is handed on.
    pub fn ground(&self) -> PassedLayer {
        PassedLayer { name: GROUND.name.into(), kind: SampleType::I32, fill: f64::from(NO_HEIGHT) }
    }

    /// How many steps a stage had best take: more at once save ways to the disk, and cost a wider margin about each
    /// tile.
    pub fn at_once(&self, side: usize) -> u32 {
        if self.reach == 0 {
            return self.steps.max(1);
        }
        let area = |wide: u64| u128::from(wide) * u128::from(wide);
        let layers = 1 + self.state().len() as u64;
        let wide = |k: u32| (side as u64).saturating_add(2 * u64::from(k) * self.reach as u64);
        let cost = |k: u32| {
            let stages = u128::from(self.steps.div_ceil(k));
            stages * u128::from(DISK * layers) * area(side as u64) + u128::from(self.steps) * area(wide(k))
        };
        let fit = (1..=self.steps.clamp(1, MOST_AT_ONCE)).take_while(|k| *k == 1 || wide(*k) <= 2 * side as u64);
        fit.min_by_key(|k| cost(*k)).unwrap_or(1)
    }

    /// Bytes that a tile with such a margin takes.
    pub fn bytes(&self, side: usize, halo: usize) -> u64 {
        let wide = [0, 1].map(|axis| side.saturating_add(2 * halo).min(self.grid.size[axis]));
        let part = self.grid.window(CellRect::new([0, 0], wide));
        let layers = 2 + self.state().len() as u64 + self.given.len() as u64;
        let read = self.given.iter().map(|given| given.memory(wide)[1]).max().unwrap_or(0);
        let cells = (part.len() as u64).saturating_mul(4 + 12 * layers);
        self.model.scratch(&part).saturating_add(cells).saturating_add(read)
    }

    /// The layers that are there in the end, found on a small piece of flat ground: which they are goes by parameters
    /// and steps.
    pub fn leaves(&self) -> Result<Vec<String>> {
        let size = self.grid.size.map(|n| n.min(16));
        let mut part = Terrain::new(self.grid.window(CellRect::new([0, 0], size)));
        for given in &self.given {
            part.insert(&given.spec, Cells::zeros(given.spec.cells, size))?;
        }
        let (first, last) = (0, self.steps.saturating_sub(1));
        for step in (first..self.steps.min(1)).chain(last.max(1)..self.steps) {
            self.model.start(&part.grid)?.step(&mut part, Tick { key: self.key, step })?;
        }
        let present = present(&part);
        Ok(self.state().into_iter().map(|spec| spec.name.to_string()).filter(|name| present.contains(name)).collect())
    }

    /// A part of the map as the stage before left it: `layers` are the ground, then the [state](Self::state) unless
    /// nothing was done yet.
    pub fn part(&self, window: CellRect, layers: &[Samples], known: &Known, heard: &[Vec<u8>]) -> Result<Terrain> {
        let grid = self.grid.window(window);
        let Some((Samples::I32(heights), state)) = layers.split_first() else { return Err(unfit()) };
        let stands = |height: &i32| Height(if *height == NO_HEIGHT { known.lowest } else { *height });
        let ground = Field::from_vec(window.size(), heights.iter().map(stands).collect())?;
        let void = || heights.iter().map(|height| *height == NO_HEIGHT).collect();
        let nodata = known.has_void.then(|| Field::from_vec(window.size(), void())).transpose()?;
        let mut part = Terrain { nodata, ..Terrain::from_ground(grid, ground)? };
        let begun = !state.is_empty();
        let mut readings = known.readings.iter().skip(1);
        for given in &self.given {
            let reading = if given.elevation().is_some() { readings.next() } else { None };
            // What the model changes comes from the stage before, once there was one.
            if !(begun && self.state().iter().any(|spec| spec.name == given.spec.name)) {
                part.insert(&given.spec, given.read(window, reading)?)?;
            }
        }
        for (spec, samples) in self.state().iter().zip(state) {
            if known.present.iter().any(|name| name == spec.name) {
                part.insert(spec, cells(spec, samples, window)?)?;
            }
        }
        for bytes in heard {
            for (name, table) in Said::of_bytes(bytes)?.tables {
                gather(&mut part.tables, &name, &within(&table, &part.grid))?;
            }
        }
        part.tables.values_mut().for_each(sort_by_number);
        Ok(part)
    }

    /// Takes steps over a part.
    pub fn advance(&self, part: &mut Terrain, steps: Range<u32>) -> Result<()> {
        advance(&*self.model, part, self.key, steps)?;
        let state = self.state();
        let known = |name: &&String| {
            state.iter().any(|spec| spec.name == **name) || self.given.iter().any(|given| given.spec.name == **name)
        };
        match present(part).iter().find(|name| !known(name)) {
            Some(name) => Err(Error::layer(
                name,
                format!("is written by `{}`, which does not declare it", self.model.about().name),
            )),
            None => Ok(()),
        }
    }

    /// The cells of a part that are a tile's own.
    pub fn core(&self, part: &Terrain, tile: CellRect) -> Result<Terrain> {
        let at = part.grid.origin;
        let start = [0, 1].map(|axis| (tile.start[axis] as i64 + self.grid.origin[axis] - at[axis]) as usize);
        Ok(part.window(CellRect::new(start, tile.size())))
    }

    /// What the next stage is handed of a tile: ground and state, zeros of layers that are not there.
    pub fn passed_on(&self, core: &Terrain) -> Vec<Samples> {
        let state = self.state();
        let state = state.iter().map(|spec| match (*spec == LOOSE, &core.loose, core.layers.get(spec.name)) {
            (true, Some(loose), _) => units(loose),
            (false, _, Some(layer)) => samples(&layer.cells),
            _ => samples(&Cells::zeros(spec.cells, core.grid.size)),
        });
        std::iter::once(heights(core)).chain(state).collect()
    }

    /// What stays in the store: ground and the layers of those names, nothing where there is no data.
    pub fn result(&self, core: &Terrain, names: &[String]) -> Vec<Samples> {
        let mut all = self.passed_on(core).into_iter();
        let ground = all.next();
        let left = self.state().into_iter().zip(all).filter(|(spec, _)| names.iter().any(|name| name == spec.name));
        let left = left.map(|(_, mut samples)| {
            let void = |k: usize| core.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
            match &mut samples {
                Samples::I32(v) => v.iter_mut().enumerate().filter(|(k, _)| void(*k)).for_each(|(_, x)| *x = NO_HEIGHT),
                Samples::F32(v) => v.iter_mut().enumerate().filter(|(k, _)| void(*k)).for_each(|(_, x)| *x = f32::NAN),
                Samples::U32(v) => v.iter_mut().enumerate().filter(|(k, _)| void(*k)).for_each(|(_, x)| *x = u32::MAX),
                _ => {}
            }
            samples
        });
        ground.into_iter().chain(left).collect()
    }
}

/// How a layer goes from stage to stage.
pub fn handed(spec: &LayerSpec) -> PassedLayer {
    PassedLayer { name: spec.name.into(), kind: kind(spec.cells), fill: 0.0 }
}

/// How a layer stands in the store.
pub fn left(spec: &LayerSpec) -> StoredLayer {
    let fill = match spec.cells {
        CellType::Height => f64::from(NO_HEIGHT),
        CellType::Float => f64::NAN,
        CellType::Count => f64::from(u32::MAX),
    };
    StoredLayer {
        scale: (spec.cells == CellType::Height).then_some(1.0 / UNITS),
        unit: spec.unit.to_string(),
        description: spec.meaning.to_string(),
        ..StoredLayer::new(spec.name, kind(spec.cells), fill)
    }
}

fn kind(cells: CellType) -> SampleType {
    match cells {
        CellType::Height => SampleType::I32,
        CellType::Float => SampleType::F32,
        CellType::Count => SampleType::U32,
    }
}

/// Names of the layers that there are, beside the ground.
fn present(part: &Terrain) -> Vec<String> {
    let loose = part.loose.iter().map(|_| LOOSE.name.to_string());
    loose.chain(part.layers.keys().cloned()).collect()
}

fn units(field: &Field<Height>) -> Samples {
    Samples::I32(field.as_slice().iter().map(|height| height.0).collect())
}

/// The ground, and no height where there is no data.
fn heights(core: &Terrain) -> Samples {
    let void = |k: usize| core.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
    let ground = core.ground.as_slice().iter().enumerate();
    Samples::I32(ground.map(|(k, height)| if void(k) { NO_HEIGHT } else { height.0 }).collect())
}

fn samples(cells: &Cells) -> Samples {
    match cells {
        Cells::Height(field) => units(field),
        Cells::Float(field) => Samples::F32(field.as_slice().to_vec()),
        Cells::Count(field) => Samples::U32(field.as_slice().to_vec()),
    }
}

fn cells(spec: &LayerSpec, samples: &Samples, window: CellRect) -> Result<Cells> {
    Ok(match (spec.cells, samples) {
        (CellType::Height, Samples::I32(v)) => {
            Cells::Height(Field::from_vec(window.size(), v.iter().map(|units| Height(*units)).collect())?)
        }
        (CellType::Float, Samples::F32(v)) => Cells::Float(Field::from_vec(window.size(), v.clone())?),
        (CellType::Count, Samples::U32(v)) => Cells::Count(Field::from_vec(window.size(), v.clone())?),
        _ => return Err(unfit()),
    })
}

fn unfit() -> Error {
    Error::value("layers of the stage before", "others", "those that it hands on")
}

impl Said {
    /// Of a tile after its steps.
    pub fn of(core: &Terrain, known: &Known) -> Result<Self> {
        let void = |k: usize| core.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
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
        let head = Head {
            known: Known { present: Vec::new(), ..known.clone() },
            present: present(core),
            solid: core.solid() - below,
            tables: heads.collect(),
        };
        Ok(Self { head, tables })
    }

    /// The length of the head, the head as JSON, and the numbers of the tables.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let head = words(&self.head)?;
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        for (_, _, column) in self.tables.values().flat_map(|table| &table.columns) {
            bytes.extend(column.to_bytes());
        }
        Ok(bytes)
    }

    fn head_of(bytes: &[u8]) -> Result<(Head, &[u8])> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        let (head, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
        Ok((read("a summary of steps", head)?, rest))
    }

    fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let (head, mut rest) = Self::head_of(bytes)?;
        let mut tables = BTreeMap::new();
        for about in &head.tables {
            let mut table = Table::default();
            for (name, unit, is_int) in &about.columns {
                let kind = if *is_int { ColumnType::Int } else { ColumnType::Float };
                let count = about.rows.checked_mul(kind.width()).ok_or_else(damaged)?;
                let (part, after) = rest.split_at_checked(count).ok_or_else(damaged)?;
                rest = after;
                table = table.with(name, unit, Column::from_bytes(kind, part)?);
            }
            tables.insert(about.name.clone(), table);
        }
        Ok(Self { head, tables })
    }

    /// What all tiles' summaries say together.
    pub fn gather(summaries: &dyn Summaries) -> Result<Gathered> {
        let mut all: Option<Gathered> = None;
        for tile in 0..summaries.count() {
            let bytes = summaries.read(tile)?;
            let (head, _) = Self::head_of(&bytes)?;
            let gathered = all.get_or_insert_with(|| {
                let before = head.known.solid;
                Gathered { known: Known { solid: 0, ..head.known.clone() }, before }
            });
            gathered.known.solid += head.solid;
            for name in head.present {
                if !gathered.known.present.contains(&name) {
                    gathered.known.present.push(name);
                }
            }
        }
        all.ok_or_else(|| Error::value("summaries", 0, "1 and more"))
    }
}

fn damaged() -> Error {
    Error::value("a summary of steps", "damaged bytes", "what this stage wrote")
}
