//! [`Terrain`]: the ground, and everything known about it, by cell (layers) and by thing (tables).

pub(crate) mod bytes;
pub mod field;
pub(crate) mod filter;
pub mod grid;
pub mod height;

use std::collections::BTreeMap;
use std::convert::Infallible;

use xxhash_rust::xxh3::Xxh3;

use crate::base::error::{Error, Result};
use crate::terrain::bytes::Values;
use crate::terrain::field::{Field, Size, Window};
use crate::terrain::grid::Grid;
use crate::terrain::height::Height;

/// The cells of a layer, by type.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Elevations or thicknesses.
    Height(Field<Height>),
    /// Real numbers.
    Float(Field<f32>),
    /// Counts.
    Count(Field<u32>),
}

/// What a layer's cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    /// [`Height`]: fixed-point metres.
    Height,
    /// `f32`.
    Float,
    /// `u32`.
    Count,
}

/// What becomes of a layer on cells of half the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finer {
    /// Each part of a cell has what the cell has.
    Same,
    /// Smooth between cells; a cell's four parts sum to four times its own value, and none is under zero.
    Smooth,
    /// Smooth as above, and as level over the finer ground as it can lie: a depth of water, in heights.
    Level,
    /// Half of it: what passes through a cell, for two cells lie side by side where one lay.
    Halved,
}

/// What becomes of a layer on a coarser copy of the terrain, a block of cells to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coarser {
    /// The mean of real numbers.
    Mean,
    /// The greatest of the real numbers in the block and a block's width round it.
    Most,
    /// It starts empty there. What is laid on it comes back: heights with their sum kept, counts to each cell of the block.
    Empty,
}

/// In which colours a layer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hue {
    /// Those of any value.
    Plain,
    /// Of what passes, by powers of ten: water, droplets.
    Passing,
    /// Of what is wet.
    Wet,
    /// Of what is loose.
    Loose,
}

/// The declaration of a layer: what its name means wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerSpec {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What a cell's value says.
    pub meaning: &'static str,
    /// Its cells' type.
    pub cells: CellType,
    /// What it becomes on finer cells.
    pub finer: Finer,
    /// What it becomes on coarser cells.
    pub coarser: Coarser,
    /// In which colours it is drawn.
    pub hue: Hue,
    /// Which part of a vector it is.
    pub part: VectorPart,
}

/// Which part of a vector a layer is. Of a model's layers the first eastward part and the first southward one are a vector's, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPart {
    /// None: it has no direction.
    None,
    /// The eastward part.
    East,
    /// The southward part.
    South,
}

impl LayerSpec {
    /// A layer of elevations or thicknesses: smooth on finer cells, empty on coarser ones.
    pub const fn heights(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (cells, finer, coarser) = (CellType::Height, Finer::Smooth, Coarser::Empty);
        Self { name, unit, meaning, cells, finer, coarser, hue: Hue::Plain, part: VectorPart::None }
    }

    /// A layer of real numbers: the same on finer cells, their mean on coarser ones.
    pub const fn floats(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (cells, finer, coarser) = (CellType::Float, Finer::Same, Coarser::Mean);
        Self { name, unit, meaning, cells, finer, coarser, hue: Hue::Plain, part: VectorPart::None }
    }

    /// A layer of counts: the same on finer cells, empty on coarser ones.
    pub const fn counts(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        let (cells, finer, coarser) = (CellType::Count, Finer::Same, Coarser::Empty);
        Self { name, unit, meaning, cells, finer, coarser, hue: Hue::Plain, part: VectorPart::None }
    }

    /// The same layer, which becomes this on finer cells.
    #[must_use]
    pub const fn finer(self, finer: Finer) -> Self {
        Self { finer, ..self }
    }

    /// The same layer, which becomes this on coarser cells.
    #[must_use]
    pub const fn coarser(self, coarser: Coarser) -> Self {
        Self { coarser, ..self }
    }

    /// The same layer, drawn in these colours.
    #[must_use]
    pub const fn hue(self, hue: Hue) -> Self {
        Self { hue, ..self }
    }

    /// The same layer, which is this part of a vector.
    #[must_use]
    pub const fn part(self, part: VectorPart) -> Self {
        Self { part, ..self }
    }

    /// A layer of unit, meaning and cells alone: one that nobody declared.
    pub(crate) fn undeclared(cells: CellType) -> Self {
        match cells {
            CellType::Height => Self::heights("", "", ""),
            CellType::Float => Self::floats("", "", ""),
            CellType::Count => Self::counts("", "", ""),
        }
    }
}

/// A named layer of a terrain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// Unit of the values.
    pub unit: String,
    /// What a value says.
    pub meaning: String,
    /// What it becomes on finer cells.
    pub finer: Finer,
    /// What it becomes on coarser cells.
    pub coarser: Coarser,
    /// The values.
    pub cells: Cells,
}

impl Layer {
    /// A layer as it is declared, with these values.
    pub fn new(spec: &LayerSpec, cells: Cells) -> Self {
        let LayerSpec { finer, coarser, .. } = *spec;
        Self { unit: spec.unit.to_string(), meaning: spec.meaning.to_string(), finer, coarser, cells }
    }
}

impl Cells {
    /// Zeros of the given type.
    pub fn zeros(cells: CellType, size: Size) -> Self {
        match cells {
            CellType::Height => Self::Height(Field::new(size, Height::ZERO)),
            CellType::Float => Self::Float(Field::new(size, 0.0)),
            CellType::Count => Self::Count(Field::new(size, 0)),
        }
    }

    /// Their type.
    pub fn cell_type(&self) -> CellType {
        match self {
            Self::Height(_) => CellType::Height,
            Self::Float(_) => CellType::Float,
            Self::Count(_) => CellType::Count,
        }
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        match self {
            Self::Height(f) => f.size(),
            Self::Float(f) => f.size(),
            Self::Count(f) => f.size(),
        }
    }

    /// As real numbers (heights in metres).
    pub fn to_float(&self) -> Field<f32> {
        match self {
            Self::Height(f) => f.map(|h| h.metres_f32()),
            Self::Float(f) => f.clone(),
            Self::Count(f) => f.map(|n| *n as f32),
        }
    }

    /// The cells of `window`, copied.
    pub fn window(&self, window: Window) -> Self {
        match self {
            Self::Height(f) => Self::Height(f.window(window)),
            Self::Float(f) => Self::Float(f.window(window)),
            Self::Count(f) => Self::Count(f.window(window)),
        }
    }

    /// Writes window `from` of `part` here from row and column `to` on; nothing if the types differ.
    pub fn paste(&mut self, part: &Self, from: Window, to: [usize; 2]) {
        match (self, part) {
            (Self::Height(a), Self::Height(b)) => a.paste(b, from, to),
            (Self::Float(a), Self::Float(b)) => a.paste(b, from, to),
            (Self::Count(a), Self::Count(b)) => a.paste(b, from, to),
            _ => {}
        }
    }
}

/// The values of a table's column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Real numbers.
    Float(Vec<f32>),
}

impl Column {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Things rather than cells: particles alive, later trees, lakes, rivers. Columns of equal length.
///
/// Three column names are understood everywhere: `row` and `column` (world cell of the thing; tiles cut by them) and
/// `carried` (solid it carries, in units of height times a cell; it counts in the ledger).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Name, unit, and values of each column.
    pub columns: Vec<(String, String, Column)>,
}

impl Table {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, _, column)| column.len())
    }

    /// Whether all columns are of one length.
    pub fn is_even(&self) -> bool {
        self.columns.iter().all(|(_, _, column)| column.len() == self.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The solid that its things carry, each its own, in units; `None` of things that carry none.
    pub fn carried(&self) -> Option<&[i64]> {
        self.ints(CARRIED)
    }

    /// The values of a column of whole numbers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.columns.iter().find_map(|(n, _, c)| match c {
            Column::Int(v) if n == name => Some(v.as_slice()),
            _ => None,
        })
    }

    /// The values of a column of real numbers.
    pub fn floats(&self, name: &str) -> Option<&[f32]> {
        self.columns.iter().find_map(|(n, _, c)| match c {
            Column::Float(v) if n == name => Some(v.as_slice()),
            _ => None,
        })
    }

    /// Whether its things lie in cells: columns `row` and `column`.
    pub fn has_places(&self) -> bool {
        self.ints("row").is_some() && self.ints("column").is_some()
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|(name, unit, column)| {
            let column = match column {
                Column::Int(v) => Column::Int(rows.iter().map(|r| v[*r]).collect()),
                Column::Float(v) => Column::Float(rows.iter().map(|r| v[*r]).collect()),
            };
            (name.clone(), unit.clone(), column)
        });
        Self { columns: columns.collect() }
    }

    /// The same things elsewhere, or with another load: `place(axis, cell)` for rows (axis 0) and columns, `load(carried)`.
    #[must_use]
    pub fn moved(&self, place: impl Fn(usize, i64) -> i64, load: impl Fn(i64) -> i64) -> Self {
        let mut moved = self.clone();
        for (name, _, column) in &mut moved.columns {
            let Column::Int(values) = column else { continue };
            match name.as_str() {
                "row" => values.iter_mut().for_each(|row| *row = place(0, *row)),
                "column" => values.iter_mut().for_each(|column| *column = place(1, *column)),
                CARRIED => values.iter_mut().for_each(|carried| *carried = load(*carried)),
                _ => {}
            }
        }
        moved
    }

    /// Adds the rows of a table with the same columns.
    pub fn append(&mut self, other: &Self) {
        for ((_, _, mine), (_, _, theirs)) in self.columns.iter_mut().zip(&other.columns) {
            match (mine, theirs) {
                (Column::Int(a), Column::Int(b)) => a.extend(b),
                (Column::Float(a), Column::Float(b)) => a.extend(b),
                _ => {}
            }
        }
    }
}

/// A terrain: the elevation of the ground, and whatever else is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Terrain {
    /// Where its cells lie.
    pub grid: Grid,
    /// Elevation of the surface.
    pub ground: Field<Height>,
    /// Thickness of the loose upper part (sediment, soil) of the ground; bedrock is ground − loose. `None` while no
    /// model has asked for the distinction: all is bedrock then.
    pub loose: Option<Field<Height>>,
    /// True where the input had no data: outside of every model, kept as it was. `None` when there is data everywhere.
    pub nodata: Option<Field<bool>>,
    /// Further layers by name.
    pub layers: BTreeMap<String, Layer>,
    /// Tables by name.
    pub tables: BTreeMap<String, Table>,
}

/// The layers of water that stands on the ground.
pub const STANDING: [LayerSpec; 2] = [WATER, POOL];

/// The ground's declaration.
pub const GROUND: LayerSpec = LayerSpec::heights("ground", "m", "Elevation of the surface.");
/// The loose layer's declaration.
pub const LOOSE: LayerSpec =
    LayerSpec::heights("loose", "m", "Thickness of loose sediment or soil, the upper part of the ground.")
        .hue(Hue::Loose);
/// How hard bedrock is to dig.
pub const HARDNESS: LayerSpec = LayerSpec::floats(
    "hardness",
    "1",
    "Share of an intended cut that bedrock withstands: 0 is dug like loose ground, 1 not at all.",
);
/// Where rain falls.
pub const RAIN: LayerSpec = LayerSpec::floats("rain", "1", "Share of the rain that falls here, 0 to 1.");
/// What must not be dug.
pub const PROTECT: LayerSpec = LayerSpec::floats(
    "protect",
    "1",
    "Share of an intended cut, in loose ground and bedrock alike, that is withheld: 1 keeps the ground.",
)
.coarser(Coarser::Most);
/// Water on the ground.
pub const WATER: LayerSpec = LayerSpec::floats("water", "m", "Depth of water standing or flowing on the ground.")
    .finer(Finer::Smooth)
    .hue(Hue::Wet);
/// Water at rest, exact to the unit.
pub const POOL: LayerSpec =
    LayerSpec::heights("pool", "m", "Depth of standing water, lakes and ponds: ground and depth together are level.")
        .finer(Finer::Level)
        .hue(Hue::Wet);
/// The column of a table of things that holds the solid which each carries, in units: the law of mass counts it.
pub const CARRIED: &str = "carried";

/// Water passing.
pub const DISCHARGE: LayerSpec =
    LayerSpec::floats("discharge", "m³/s", "Water that runs through the cell, a mean that forgets slowly.")
        .finer(Finer::Halved)
        .hue(Hue::Passing);
/// Water passing, eastward.
pub const MOMENTUM_X: LayerSpec = LayerSpec::floats(
    "momentum_x",
    "m³/s",
    "Eastward part of the discharge: times density and speed, the momentum that passes.",
)
.part(VectorPart::East)
.finer(Finer::Halved);
/// Water passing, southward.
pub const MOMENTUM_Y: LayerSpec = LayerSpec::floats(
    "momentum_y",
    "m³/s",
    "Southward part of the discharge: times density and speed, the momentum that passes.",
)
.part(VectorPart::South)
.finer(Finer::Halved);
/// What the upper ground is.
pub const SOIL: LayerSpec =
    LayerSpec::counts("soil", "1", "Number of the kind of soil that lies here, in the table of kinds.");
/// How firmly roots hold the ground.
pub const TREE_DENSITY: LayerSpec =
    LayerSpec::floats("tree_density", "1", "Sum of the root strengths of the trees here: 1 holds the ground wholly.");
/// Sediment in the water; it counts as solid.
pub const SUSPENDED: LayerSpec =
    LayerSpec::heights("suspended", "m", "Sediment carried by the water, as thickness over the cell.").hue(Hue::Loose);

impl Terrain {
    /// Flat ground at zero.
    pub fn new(grid: Grid) -> Self {
        let ground = Field::new(grid.size, Height::ZERO);
        Self { grid, ground, loose: None, nodata: None, layers: BTreeMap::new(), tables: BTreeMap::new() }
    }

    /// A terrain over given ground.
    ///
    /// # Errors
    /// When the ground is not of the grid's size.
    pub fn from_ground(grid: Grid, ground: Field<Height>) -> Result<Self> {
        if ground.size() != grid.size {
            let [rows, cols] = ground.size();
            let allowed = format!("{} × {} (the grid)", grid.size[0], grid.size[1]);
            return Err(Error::value(GROUND.name, format!("{rows} × {cols} cells"), allowed));
        }
        Ok(Self { ground, ..Self::new(grid) })
    }

    /// A terrain over ground given in metres, row by row from the north-west. Where a number is NaN there is no data.
    ///
    /// # Errors
    /// When there are not as many numbers as cells, when one is infinite or outside ±16 000 m, when all are NaN.
    pub fn from_metres(grid: Grid, metres: &[f32]) -> Result<Self> {
        if metres.len() != grid.len() || metres.iter().all(|m| m.is_nan()) {
            let (count, [rows, cols]) = (metres.iter().filter(|m| !m.is_nan()).count(), grid.size);
            let allowed = format!("{rows} × {cols} numbers, not all of them NaN");
            return Err(Error::value(
                GROUND.name,
                format!("{} numbers, {count} of them heights", metres.len()),
                allowed,
            ));
        }
        let height = |m: &f32| if m.is_nan() { Ok(Height::ZERO) } else { Height::from_metres((*m).into()) };
        let ground = metres.iter().map(height).collect::<Result<_>>()?;
        let nodata = metres.iter().any(|m| m.is_nan()).then(|| metres.iter().map(|m| m.is_nan()).collect());
        let nodata = nodata.map(|mask| Field::from_vec(grid.size, mask)).transpose()?;
        Ok(Self { nodata, ..Self::from_ground(grid.clone(), Field::from_vec(grid.size, ground)?)? })
    }

    /// The ground in metres.
    pub fn metres(&self) -> Field<f32> {
        self.ground.map(|h| h.metres_f32())
    }

    /// Whether cell (i, j) has no data.
    pub fn is_nodata(&self, i: usize, j: usize) -> bool {
        self.nodata.as_ref().is_some_and(|mask| mask[(i, j)])
    }

    /// Number of cells without data.
    pub fn nodata_count(&self) -> usize {
        self.nodata.as_ref().map_or(0, |mask| mask.as_slice().iter().filter(|m| **m).count())
    }

    /// Lowest and highest elevation where there is data; `None` if there is none.
    pub fn range(&self) -> Option<[Height; 2]> {
        let valid = |k: &usize| self.nodata.as_ref().is_none_or(|m| !m.as_slice()[*k]);
        let cells = self.ground.as_slice();
        (0..cells.len()).filter(valid).map(|k| cells[k]).fold(None, |range, h| match range {
            None => Some([h, h]),
            Some([lo, hi]) => Some([lo.min(h), hi.max(h)]),
        })
    }

    /// Solid in the terrain, in units × cells: ground, what the water carries ([`SUSPENDED`]), and what the tables'
    /// particles carry. With the budget's exported, added and rounded amounts it never changes.
    pub fn solid(&self) -> i128 {
        let total = |field: &Field<Height>| field.as_slice().iter().map(|h| i128::from(h.0)).sum::<i128>();
        let suspended = self.layers.get(SUSPENDED.name).map_or(0, |layer| match &layer.cells {
            Cells::Height(field) => total(field),
            _ => 0,
        });
        let carried = self.tables.values().filter_map(|t| t.carried()).flatten();
        total(&self.ground) + suspended + carried.map(|c| i128::from(*c)).sum::<i128>()
    }

    /// Inserts layer `spec` with the given cells.
    ///
    /// # Errors
    /// When the cells are not of the grid's size or of the declared type.
    pub fn insert(&mut self, spec: &LayerSpec, cells: Cells) -> Result<()> {
        if cells.size() != self.grid.size {
            let [rows, cols] = cells.size();
            let [want_rows, want_cols] = self.grid.size;
            return Err(Error::layer(
                spec.name,
                format!("is {cols} × {rows} cells (columns × rows); the terrain is {want_cols} × {want_rows}"),
            ));
        }
        if cells.cell_type() != spec.cells {
            return Err(Error::layer(
                spec.name,
                format!("holds {:?} cells; {:?} is needed", cells.cell_type(), spec.cells),
            ));
        }
        if *spec == LOOSE {
            if let Cells::Height(loose) = cells {
                self.loose = Some(loose);
            }
            return Ok(());
        }
        self.layers.insert(spec.name.to_string(), Layer::new(spec, cells));
        Ok(())
    }

    /// The cells of a float layer, if it exists and is one.
    pub fn float(&self, spec: &LayerSpec) -> Option<&Field<f32>> {
        match &self.layers.get(spec.name)?.cells {
            Cells::Float(field) => Some(field),
            _ => None,
        }
    }

    /// The cells of a layer of heights or thicknesses, if it exists and is one.
    pub fn heights(&self, spec: &LayerSpec) -> Option<&Field<Height>> {
        match &self.layers.get(spec.name)?.cells {
            Cells::Height(field) => Some(field),
            _ => None,
        }
    }

    /// Refuses a layer of depths of which one is under 0 or no number.
    ///
    /// # Errors
    /// When one is, naming the cell.
    pub fn check_depths(&self, spec: &LayerSpec) -> Result<()> {
        let Some(depths) = self.float(spec).map(Field::as_slice) else { return Ok(()) };
        let wrong = depths.iter().position(|depth| !(0.0..=f32::MAX).contains(depth));
        let Some(k) = wrong else { return Ok(()) };
        let (i, j) = (k / self.grid.cols(), k % self.grid.cols());
        Err(Error::layer(spec.name, format!("holds {} m at row {i}, column {j}; allowed is 0 or more", depths[k])))
    }

    /// Water that stands on the ground, in m³.
    pub fn standing(&self) -> f64 {
        let metres = |spec: &LayerSpec| match self.layers.get(spec.name).map(|layer| &layer.cells) {
            Some(Cells::Float(field)) => field.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>(),
            Some(Cells::Height(field)) => field.as_slice().iter().map(|h| h.metres()).sum(),
            _ => 0.0,
        };
        STANDING.map(|spec| metres(&spec)).iter().sum::<f64>() * self.grid.cell_area()
    }

    /// Takes a layer's cells out, or makes zeros; the layer is put back by [`Terrain::insert`].
    pub fn take(&mut self, spec: &LayerSpec) -> Cells {
        self.layers
            .remove(spec.name)
            .map(|layer| layer.cells)
            .filter(|cells| cells.cell_type() == spec.cells && cells.size() == self.grid.size)
            .unwrap_or_else(|| Cells::zeros(spec.cells, self.grid.size))
    }

    /// Fingerprint (XXH3-64, as 16 hexadecimal digits) of each layer and table, `ground` and `loose` included.
    pub fn fingerprints(&self) -> BTreeMap<String, String> {
        let hash = |parts: &mut dyn Iterator<Item = Values<'_>>| {
            let mut hash = Xxh3::new();
            for values in parts {
                let Ok(()) = values.pour(|bytes| {
                    hash.update(bytes);
                    Ok::<_, Infallible>(())
                });
            }
            format!("{:016x}", hash.digest())
        };
        let one = |values: Values<'_>| hash(&mut std::iter::once(values));
        let mut all = BTreeMap::new();
        all.insert(GROUND.name.to_string(), one(Values::Heights(self.ground.as_slice())));
        if let Some(loose) = &self.loose {
            all.insert(LOOSE.name.to_string(), one(Values::Heights(loose.as_slice())));
        }
        if let Some(mask) = &self.nodata {
            all.insert("nodata".to_string(), one(Values::Flags(mask.as_slice())));
        }
        for (name, layer) in &self.layers {
            all.insert(name.clone(), one(Values::from(&layer.cells)));
        }
        for (name, table) in &self.tables {
            all.insert(format!("table:{name}"), hash(&mut table.columns.iter().map(|(_, _, c)| Values::from(c))));
        }
        all
    }

    /// The part of the terrain inside `window`, tables cut to the things whose `row` and `column` lie in it.
    pub fn window(&self, window: Window) -> Self {
        let grid = self.grid.window(window);
        let layers = self
            .layers
            .iter()
            .map(|(name, layer)| (name.clone(), Layer { cells: layer.cells.window(window), ..layer.clone() }));
        let tables = self.tables.iter().map(|(name, table)| (name.clone(), within(table, &grid)));
        Self {
            ground: self.ground.window(window),
            loose: self.loose.as_ref().map(|f| f.window(window)),
            nodata: self.nodata.as_ref().map(|f| f.window(window)),
            layers: layers.collect(),
            tables: tables.collect(),
            grid,
        }
    }
}

/// The rows of `table` that lie inside `grid`'s window; all of a table without positions.
pub fn within(table: &Table, grid: &Grid) -> Table {
    let (Some(rows), Some(cols)) = (table.ints("row"), table.ints("column")) else {
        return table.clone();
    };
    let inside = |value: i64, axis: usize| {
        let from = value - grid.origin[axis];
        from >= 0 && from < grid.size[axis] as i64
    };
    let kept: Vec<usize> = (0..table.len()).filter(|r| inside(rows[*r], 0) && inside(cols[*r], 1)).collect();
    table.select(&kept)
}
