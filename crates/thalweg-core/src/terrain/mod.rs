//! [`Terrain`]: the elevation of the ground, layers of values by cell, and tables of items.

mod boundary;
pub mod bytes;
mod cell;
pub mod cell_shape;
mod channels;
pub mod d8;
pub mod field;
pub mod filter;
pub mod grid;
pub mod height;
mod lake;
mod layer;
mod point;
mod table;
mod tile_grid;

pub use boundary::{BoundaryOptions, SeaLevelOptions, TerrainOptions};
pub use cell::{Cell, CellIndex, CellRect};
pub use cell_shape::{CellAreas, CellMetrics, CellShape, Ellipsoid, GeographicCells, RowMetrics};
pub use channels::{ChannelNetwork, ChannelReach, Hydraulics, ReachId, path_length, shreve_magnitude, strahler_order};
pub use lake::{Lake, LakeRaster};
pub use layer::{
    CellType, Cells, Coarser, EARLIER_LAYER_NAMES, Finer, Hue, Layer, LayerOverlay, LayerSpec, LayerTraits, Lifetime,
    Mass, ReadBack, VectorPart, current_layer_name, earlier_layer_names,
};
pub use point::{Extent, MapPoint, Point};
pub use table::{CARRIED, Column, ColumnType, Table, select_rows_inside};
pub use tile_grid::{Rim, TileGrid};

use std::collections::BTreeMap;
use std::convert::Infallible;

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::terrain::bytes::Values;
use crate::terrain::height::UNITS;
use crate::{Error, Field, Grid, Height, Result};

/// A terrain: the elevation of the ground, and all other data about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Terrain {
    /// The geometry of its cells.
    pub grid: Grid,
    /// The elevation of the surface, of the grid's size.
    pub ground: Field<Height>,
    /// The thickness of the sediment or soil on the bedrock, of the grid's size: the layer [`SEDIMENT`]. The bedrock
    /// elevation is that of the ground minus this thickness. `None` until a model needs the distinction: all ground
    /// is bedrock then. For example, where the ground is at 105 m and this thickness is 2 m, the bedrock is at 103 m.
    pub loose: Option<Field<Height>>,
    /// True where the input had no data, of the grid's size. Such cells are excluded from all models and keep their
    /// elevation. `None` if there is data everywhere.
    pub nodata: Option<Field<bool>>,
    /// Further layers by name, each of the grid's size.
    pub layers: BTreeMap<String, Layer>,
    /// Tables by name. For example, the table `springs` has the cell and the discharge of each spring.
    pub tables: BTreeMap<String, Table>,
}

/// Declares layers, and lists them all in [`LAYERS`].
macro_rules! declare_layers {
    ($($(#[$doc:meta])* pub const $name:ident: LayerSpec = $spec:expr;)*) => {
        $($(#[$doc])* pub const $name: LayerSpec = $spec;)*

        /// The layers that this module declares, in that order. Models declare further ones: `Models::declared_layers`
        /// lists them all.
        pub const LAYERS: &[LayerSpec] = &[$($name),*];
    };
}

declare_layers! {
    /// The elevation of the surface, which is [`Terrain::ground`].
    pub const GROUND: LayerSpec = LayerSpec::heights("ground", "m", "Elevation of the surface.");
    /// The thickness of sediment or soil, which is [`Terrain::loose`].
    pub const SEDIMENT: LayerSpec =
        LayerSpec::heights("sediment", "m", "Thickness of the sediment or soil on the bedrock.")
            .hue(Hue::Sediment)
            .in_world_folder(ReadBack::Always);
    /// The resistance of bedrock to erosion.
    pub const HARDNESS: LayerSpec = LayerSpec::floats(
        "hardness",
        "1",
        "Share of the erosion that bedrock resists: at 0 it erodes like sediment, at 1 it does not erode.",
    );
    /// The share of the rain that a cell receives.
    pub const RAIN: LayerSpec = LayerSpec::floats("rain", "1", "Share of the rain that the cell receives, 0 to 1.");
    /// The factor by which the declared uplift is multiplied.
    pub const UPLIFT: LayerSpec =
        LayerSpec::floats("uplift", "1", "Factor of the uplift, 0 or more.").finer(Finer::Smooth);
    /// The factor by which the declared erodibility is multiplied.
    pub const ERODIBILITY: LayerSpec =
        LayerSpec::floats("erodibility", "1", "Factor of the erodibility, 0 or more.").finer(Finer::Smooth);
    /// The protection of sediment and bedrock against erosion.
    pub const PROTECT: LayerSpec = LayerSpec::floats(
        "protect",
        "1",
        "Share of the erosion of sediment and bedrock that is prevented: at 1 the ground is not eroded.",
    )
    .coarser(Coarser::Most);
    /// The depth of water on the ground.
    pub const WATER: LayerSpec = LayerSpec::floats("water", "m", "Depth of water standing or flowing on the ground.")
        .finer(Finer::Smooth)
        .hue(Hue::Wet)
        .overlay(LayerOverlay::Dedicated)
        .in_world_folder(ReadBack::Always)
        .mass(Mass::Water)
        .following_water();
    /// The depth of standing water, exact to 1/65 536 m.
    pub const POOL: LayerSpec =
        LayerSpec::heights("pool", "m", "Depth of standing water in lakes and ponds, whose surface is level.")
            .finer(Finer::Level)
            .hue(Hue::Wet)
            .overlay(LayerOverlay::Dedicated)
            .in_world_folder(ReadBack::Always)
            .mass(Mass::Water)
            .following_water();
    /// The discharge through a cell, as an exponential moving average, in m³/s.
    pub const DISCHARGE: LayerSpec =
        LayerSpec::floats("discharge", "m³/s", "Discharge through the cell, as an exponential moving average.")
            .finer(Finer::Halved)
            .hue(Hue::Passing)
            .overlay(LayerOverlay::Dedicated)
            .in_world_folder(ReadBack::Always)
            .following_water();
    /// The eastward component of the discharge. Its product with density and speed is the momentum flux.
    pub const MOMENTUM_X: LayerSpec = LayerSpec::floats(
        "momentum_x",
        "m³/s",
        "Eastward component of the discharge; times density and speed, it is the momentum flux.",
    )
    .part(VectorPart::East)
    .finer(Finer::Halved)
    .in_world_folder(ReadBack::Always)
    .following_water();
    /// The southward component of the discharge. Its product with density and speed is the momentum flux.
    pub const MOMENTUM_Y: LayerSpec = LayerSpec::floats(
        "momentum_y",
        "m³/s",
        "Southward component of the discharge; times density and speed, it is the momentum flux.",
    )
    .part(VectorPart::South)
    .finer(Finer::Halved)
    .in_world_folder(ReadBack::Always)
    .following_water();
    /// The wetness of the ground. Worlds do not store this layer: `compute_wetness` derives it from their water.
    pub const WETNESS: LayerSpec =
        LayerSpec::floats("wetness", "1", "Wetness of the ground: 0 is drained, 1 is saturated.")
            .hue(Hue::WetShare)
            .following_water();
    /// The kind of soil of the upper ground.
    pub const SOIL: LayerSpec =
        LayerSpec::counts("soil", "1", "Number of the kind of soil in the cell, in the table of kinds.")
            .overlay(LayerOverlay::Dedicated)
            .in_world_folder(ReadBack::InViews);
    /// The stabilisation of the ground by roots.
    pub const TREE_DENSITY: LayerSpec = LayerSpec::floats(
        "tree_density",
        "1",
        "Sum of the root strengths of the trees in the cell: 1 stabilises the ground completely.",
    )
    .overlay(LayerOverlay::Dedicated)
    .in_world_folder(ReadBack::InViews);
    /// The flow direction of each cell on a refinement level, as an ESRI code ([`d8::to_esri_code`]).
    pub const FLOW_DIRECTION: LayerSpec = LayerSpec::counts(
        "flow_direction",
        "1",
        "Neighbour that the cell drains to: 1 E, 2 SE, 4 S, 8 SW, 16 W, 32 NW, 64 N, 128 NE; 0 where water leaves.",
    )
    .following_water();
    /// The drainage area of each cell on a refinement level. It is derived from the level on which the cell's stream
    /// first appeared as a river.
    pub const DRAINAGE_AREA: LayerSpec =
        LayerSpec::floats("drainage_area", "m²", "Drainage area of the cell, including the cell itself.")
            .overlay(LayerOverlay::Dedicated)
            .following_water();
    /// The lakes of a refinement level, by number. The layer [`POOL`] contains their depth.
    pub const LAKE: LayerSpec =
        LayerSpec::counts("lake", "1", "Number of the lake that covers the cell; 0 on dry land.").following_water();
    /// The depressions of a refinement level on land without runoff, in place of [`POOL`] and [`LAKE`].
    pub const HOLLOW: LayerSpec =
        LayerSpec::heights("hollow", "m", "Depth of a dry depression below its spill level.").following_water();
    /// The sediment that the water carries.
    pub const SUSPENDED: LayerSpec =
        LayerSpec::heights("suspended", "m", "Sediment carried by the water, as thickness over the cell.")
            .hue(Hue::Sediment)
            .overlay(LayerOverlay::Dedicated)
            .in_world_folder(ReadBack::InViews)
            .mass(Mass::Solid);
}

impl Terrain {
    /// Makes flat ground at 0 m.
    pub fn new(grid: Grid) -> Self {
        let ground = Field::new(grid.size, Height::ZERO);
        Self { grid, ground, loose: None, nodata: None, layers: BTreeMap::new(), tables: BTreeMap::new() }
    }

    /// Makes a terrain from the given ground.
    ///
    /// # Errors
    /// Returns an error if the ground is not of the grid's size.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Field, Grid, Height, Terrain};
    ///
    /// // A slope that falls southward from 100 m by 5 m per row.
    /// let grid = Grid::new([4, 4], 30.0)?;
    /// let ground = Field::from_fn(grid.size, |row, _| Height::from_metres_clamped(100.0 - 5.0 * row as f64));
    /// let terrain = Terrain::from_ground(grid, ground)?;
    /// assert_eq!(terrain.elevation_range(), Some([Height::from_metres_clamped(85.0), Height::from_metres_clamped(100.0)]));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_ground(grid: Grid, ground: Field<Height>) -> Result<Self> {
        if ground.size() != grid.size {
            let [rows, cols] = ground.size();
            let allowed = format!("{} × {} (the grid)", grid.size[0], grid.size[1]);
            return Err(Error::invalid_value(GROUND.name, format!("{rows} × {cols} cells"), allowed));
        }
        Ok(Self { ground, ..Self::new(grid) })
    }

    /// Makes a terrain from ground in metres, one number per cell, row by row from the north-western corner. NaN marks
    /// cells without data; their ground is 0 m.
    ///
    /// # Errors
    /// Returns an error if there are not as many numbers as cells, if one is infinite or outside ±16 000 m, or if all
    /// are NaN. For example, the value −32 768 m that some files use for missing data is outside that range: replace it
    /// with NaN first.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    ///
    /// let terrain = Terrain::from_metres(Grid::new([2, 2], 10.0)?, &[1.0, 2.0, f32::NAN, 4.5])?;
    /// assert_eq!(terrain.ground[(1, 1)].metres(), 4.5);
    /// assert!(terrain.is_nodata(1, 0));
    /// assert_eq!(terrain.nodata_count(), 1);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_metres(grid: Grid, metres: &[f32]) -> Result<Self> {
        if metres.len() != grid.len() || metres.iter().all(|m| m.is_nan()) {
            let (count, [rows, cols]) = (metres.iter().filter(|m| !m.is_nan()).count(), grid.size);
            let allowed = format!("{rows} × {cols} numbers, at least one of them not NaN");
            return Err(Error::invalid_value(
                GROUND.name,
                format!("{} numbers, of which {count} are not NaN", metres.len()),
                allowed,
            ));
        }
        let height = |m: &f32| if m.is_nan() { Ok(Height::ZERO) } else { Height::from_metres((*m).into()) };
        let ground = metres.iter().map(height).collect::<Result<_>>()?;
        let nodata = metres.iter().any(|m| m.is_nan()).then(|| metres.iter().map(|m| m.is_nan()).collect());
        let nodata = nodata.map(|mask| Field::from_vec(grid.size, mask)).transpose()?;
        Ok(Self { nodata, ..Self::from_ground(grid.clone(), Field::from_vec(grid.size, ground)?)? })
    }

    /// Makes a terrain from ground whose rows are filled in by `row`, in metres; NaN marks cells without data. `row`
    /// receives the row's index, from 0 in the north, and that row's cells, west to east. It is called in parallel, and
    /// again to name an invalid number. Cells without data get the lowest height of the terrain, as on loading a file.
    ///
    /// # Errors
    /// Returns an error that names the cell if a number is infinite or outside ±16 000 m, or an error if all are NaN.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    ///
    /// let terrain = Terrain::from_rows(Grid::new([3, 4], 10.0)?, |i, row| {
    ///     for (j, metres) in row.iter_mut().enumerate() {
    ///         *metres = (10 * i + j) as f64;
    ///     }
    /// })?;
    /// assert_eq!(terrain.ground[(2, 1)].metres(), 21.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_rows(grid: Grid, row: impl Fn(usize, &mut [f64]) + Sync) -> Result<Self> {
        /// Stands for NaN: no accepted height has this value.
        const NONE: Height = Height(i32::MIN);
        let mut ground = Field::new(grid.size, Height::ZERO);
        let rows = ground.par_rows_mut().map_init(Vec::new, |metres, (i, ground)| {
            metres.clear();
            metres.resize(ground.len(), 0.0);
            row(i, metres);
            let mut all = [true, true];
            for (height, metres) in ground.iter_mut().zip(&*metres) {
                // Rounds halves away from zero, as `Height::from_metres` does. `f64::round` is avoided because it is a
                // function call on common machines.
                let units = metres * UNITS;
                // The cast truncates and saturates. A number out of range gives a wrong height here, which `all[0]`
                // reports below.
                let whole = units as i32;
                let rest = units - f64::from(whole);
                let rounded = whole.wrapping_add(i32::from(rest >= 0.5)).wrapping_sub(i32::from(rest <= -0.5));
                *height = if metres.is_nan() { NONE } else { Height(rounded) };
                all[0] &= metres.is_nan() || metres.abs() <= Height::MAX.metres();
                all[1] &= !metres.is_nan();
            }
            all
        });
        // The conjunction does not depend on the order in which threads finish.
        let [fit, known] = rows.reduce(|| [true, true], |a, b| [a[0] & b[0], a[1] & b[1]]);
        // The parallel pass only detects an invalid number; the rows are computed again to find its cell.
        if !fit {
            let mut metres = vec![0.0; grid.cols()];
            for i in 0..grid.rows() {
                row(i, &mut metres);
                let wrong = metres.iter().position(|m| !m.is_nan() && Height::from_metres(*m).is_err());
                if let Some(j) = wrong {
                    let name = format!("height at row {i}, column {j}");
                    return Err(Error::invalid_value(name, format!("{} m", metres[j]), "-16000 to 16000 m"));
                }
            }
        }
        let mut nodata = None;
        if !known {
            // A cell without data gets the lowest height, so that it is never above its neighbours.
            let lowest = ground.as_slice().iter().copied().filter(|height| *height != NONE).min();
            let allowed = "a terrain with at least one height";
            let lowest = lowest.ok_or_else(|| Error::invalid_value(GROUND.name, "NaN in every cell", allowed))?;
            nodata = Some(ground.map(|height| *height == NONE));
            ground.par_rows_mut().for_each(|(_, row)| {
                row.iter_mut().filter(|height| **height == NONE).for_each(|height| *height = lowest);
            });
        }
        Ok(Self { nodata, ..Self::from_ground(grid, ground)? })
    }

    /// Returns the ground in metres; cells without data have a height too.
    pub fn ground_metres(&self) -> Field<f32> {
        self.ground.map(|h| h.metres_f32())
    }

    /// Returns true if the cell at row `i` and column `j` has no data.
    pub fn is_nodata(&self, i: usize, j: usize) -> bool {
        self.nodata.as_ref().is_some_and(|mask| mask[(i, j)])
    }

    /// Returns the number of cells without data.
    pub fn nodata_count(&self) -> usize {
        self.nodata.as_ref().map_or(0, |mask| mask.as_slice().iter().filter(|m| **m).count())
    }

    /// Returns the lowest and the highest elevation of the cells with data; `None` if there are none.
    pub fn elevation_range(&self) -> Option<[Height; 2]> {
        let valid = |k: &usize| self.nodata.as_ref().is_none_or(|m| !m[*k]);
        let cells = self.ground.as_slice();
        (0..cells.len()).filter(valid).map(|k| cells[k]).fold(None, |range, h| match range {
            None => Some([h, h]),
            Some([lo, hi]) => Some([lo.min(h), hi.max(h)]),
        })
    }

    /// Sums the solid in the terrain, in units of height (1/65 536 m) × cells: the ground, the layers of
    /// [`Mass::Solid`], and what the particles in tables carry. The sum changes only by the exported, added and rounded
    /// amounts of the mass balance.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    ///
    /// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[1.0, 2.5])?;
    /// assert_eq!(terrain.sum_solid(), 65_536 + 163_840);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn sum_solid(&self) -> i128 {
        // A grid of 2³² cells of up to 2³⁰ units needs 63 bits; i128 leaves room for several layers.
        let total = |field: &Field<Height>| field.as_slice().iter().map(|h| i128::from(h.0)).sum::<i128>();
        let suspended = self.counted_as(Mass::Solid).filter_map(Cells::as_heights).map(total).sum::<i128>();
        let carried = self.tables.values().filter_map(|t| t.carried_solid()).flatten();
        total(&self.ground) + suspended + carried.map(|c| i128::from(*c)).sum::<i128>()
    }

    /// Iterates over the cells of the layers that a mass balance counts.
    fn counted_as(&self, mass: Mass) -> impl Iterator<Item = &Cells> {
        self.layers.values().filter(move |layer| layer.traits.mass == mass).map(|layer| &layer.cells)
    }

    /// Inserts the layer `spec` with the given cells and replaces a layer of the same name; [`SEDIMENT`] becomes
    /// [`Terrain::loose`].
    ///
    /// # Errors
    /// Returns an error if the cells are not of the grid's size or of the declared type. For example, [`HARDNESS`]
    /// contains real numbers, so it rejects [`Cells::Count`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::{Cells, HARDNESS};
    /// use thalweg_core::{Field, Grid, Terrain};
    ///
    /// let mut terrain = Terrain::new(Grid::new([2, 3], 10.0)?);
    /// terrain.insert_layer(&HARDNESS, Cells::Float(Field::new([2, 3], 0.5)))?;
    /// assert_eq!(terrain.layers["hardness"].unit, "1");
    /// assert_eq!(terrain.float_layer(&HARDNESS).map(|hardness| hardness[(0, 0)]), Some(0.5));
    ///
    /// let error = terrain.insert_layer(&HARDNESS, Cells::Float(Field::new([9, 9], 0.5))).unwrap_err();
    /// assert!(error.to_string().contains("is 9 × 9 cells"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn insert_layer(&mut self, spec: &LayerSpec, cells: Cells) -> Result<()> {
        if cells.size() != self.grid.size {
            let [rows, cols] = cells.size();
            let [want_rows, want_cols] = self.grid.size;
            return Err(Error::invalid_layer(
                spec.name,
                format!("is {cols} × {rows} cells (columns × rows); the terrain is {want_cols} × {want_rows}"),
            ));
        }
        if cells.cell_type() != spec.cells {
            return Err(Error::invalid_layer(
                spec.name,
                format!("has cells of type {:?}; {:?} is required", cells.cell_type(), spec.cells),
            ));
        }
        // The sediment thickness is a field of the terrain; `insert_layer` accepts it so that callers need no special
        // case.
        if *spec == SEDIMENT {
            if let Cells::Height(loose) = cells {
                self.loose = Some(loose);
            }
            return Ok(());
        }
        self.layers.insert(spec.name.to_string(), Layer::new(spec, cells));
        Ok(())
    }

    /// Returns the name by which the terrain has the layer `name`, which may be an [earlier
    /// name](EARLIER_LAYER_NAMES) of the layer. A layer with exactly this name takes precedence.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    ///
    /// let terrain = Terrain::new(Grid::new([2, 3], 10.0)?);
    /// assert_eq!(terrain.resolve_layer_name("loose"), "sediment");
    /// assert_eq!(terrain.resolve_layer_name("hardness"), "hardness");
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn resolve_layer_name<'a>(&self, name: &'a str) -> &'a str {
        if self.layers.contains_key(name) { name } else { current_layer_name(name) }
    }

    /// Returns the cells of a float layer; `None` if there is no layer of this name, or if it has another type.
    pub fn float_layer(&self, spec: &LayerSpec) -> Option<&Field<f32>> {
        self.layers.get(spec.name)?.cells.as_float()
    }

    /// Returns the cells of a layer of heights or thicknesses; `None` if there is no layer of this name, or if it has
    /// another type. The ground and the sediment thickness are fields, not layers.
    pub fn height_layer(&self, spec: &LayerSpec) -> Option<&Field<Height>> {
        self.layers.get(spec.name)?.cells.as_heights()
    }

    /// Rejects a layer of depths (real numbers, in metres) with a value that is negative or not finite. An absent layer
    /// passes.
    ///
    /// # Errors
    /// Returns an error that names the first such cell. For example, a depth of −0.1 m in a file of the layer `water`
    /// is an error.
    pub fn check_depths(&self, spec: &LayerSpec) -> Result<()> {
        let Some(depths) = self.float_layer(spec).map(Field::as_slice) else { return Ok(()) };
        // NaN and infinity are outside the range as well.
        let wrong = depths.iter().position(|depth| !(0.0..=f32::MAX).contains(depth));
        let Some(k) = wrong else { return Ok(()) };
        let (i, j) = (k / self.grid.cols(), k % self.grid.cols());
        Err(Error::invalid_layer(
            spec.name,
            format!("contains {} m at row {i}, column {j}; a depth must be a finite number of 0 or more", depths[k]),
        ))
    }

    /// Sums the water that stands on the ground, in m³: the layers of [`Mass::Water`].
    pub fn sum_standing_water(&self) -> f64 {
        let metres = |cells: &Cells| match cells {
            Cells::Float(field) => field.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>(),
            Cells::Height(field) => field.as_slice().iter().map(|h| h.metres()).sum(),
            Cells::Count(_) => 0.0,
        };
        // The fold begins at 0, because `sum` of no items would be −0.
        self.counted_as(Mass::Water).map(metres).fold(0.0, |sum, depth| sum + depth) * self.grid.cell_area()
    }

    /// Removes a layer and returns its cells; returns zeros if there is no layer of its type and size.
    /// [`Terrain::insert_layer`] puts the layer back. [`Terrain::loose`] is not a layer and stays.
    ///
    /// # Examples
    /// A model takes a layer out, changes its cells, and inserts them again:
    ///
    /// ```
    /// use thalweg_core::terrain::{Cells, WATER};
    /// use thalweg_core::{Field, Grid, Terrain};
    ///
    /// let mut terrain = Terrain::new(Grid::new([2, 2], 10.0)?);
    /// terrain.insert_layer(&WATER, Cells::Float(Field::new([2, 2], 0.25)))?;
    /// let Cells::Float(mut depth) = terrain.take_layer(&WATER) else { unreachable!("depths of water are real numbers") };
    /// depth[(0, 0)] = 1.0;
    /// terrain.insert_layer(&WATER, Cells::Float(depth))?;
    /// // The depths sum to 1.75 m, and a cell has 100 m².
    /// assert_eq!(terrain.sum_standing_water(), 175.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn take_layer(&mut self, spec: &LayerSpec) -> Cells {
        self.layers
            .remove(spec.name)
            .map(|layer| layer.cells)
            // A layer of another type or size, for example from a file, is dropped, so that the caller can rely on
            // both.
            .filter(|cells| cells.cell_type() == spec.cells && cells.size() == self.grid.size)
            .unwrap_or_else(|| Cells::zeros(spec.cells, self.grid.size))
    }

    /// Returns the fingerprint (XXH3-64, as 16 hexadecimal digits) of each layer by its name, including `ground`,
    /// `sediment` and `nodata`, and of each table as `table:` and its name. For example, if `ground` is equal in two
    /// results, their elevations agree in every cell.
    pub fn fingerprints(&self) -> BTreeMap<String, String> {
        let hash = |parts: &mut dyn Iterator<Item = Values<'_>>| {
            let mut hash = Xxh3::new();
            for values in parts {
                let Ok(()) = values.try_for_each_piece(|bytes| {
                    hash.update(bytes);
                    Ok::<_, Infallible>(())
                });
            }
            format!("{:016x}", hash.digest())
        };
        // Bytes are little-endian on every machine, so fingerprints can be compared between machines.
        let one = |values: Values<'_>| hash(&mut std::iter::once(values));
        let mut all = BTreeMap::new();
        all.insert(GROUND.name.to_string(), one(Values::Heights(self.ground.as_slice())));
        if let Some(loose) = &self.loose {
            all.insert(SEDIMENT.name.to_string(), one(Values::Heights(loose.as_slice())));
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

    /// Returns the part of the terrain inside `window`, which must be inside the grid's own window. Tables are reduced
    /// to the items whose `row` and `column` are in it.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{CellRect, Grid, Terrain};
    ///
    /// let heights: Vec<f32> = (0..16).map(|k| k as f32).collect();
    /// let terrain = Terrain::from_metres(Grid::new([4, 4], 10.0)?, &heights)?;
    /// let part = terrain.copy_window(CellRect::new([1, 2], [2, 2]));
    /// assert_eq!(part.ground_metres().as_slice(), [6.0, 7.0, 10.0, 11.0]);
    /// // The window is still a part of the same world.
    /// assert_eq!(part.grid.world, [4, 4]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn copy_window(&self, window: CellRect) -> Self {
        let grid = self.grid.window(window);
        let layers =
            self.layers.iter().map(|(name, layer)| (name.clone(), layer.with_cells(layer.cells.copy_window(window))));
        // Rows of tables have world cells, so a row keeps its numbers and is only selected.
        let tables = self.tables.iter().map(|(name, table)| (name.clone(), select_rows_inside(table, &grid)));
        Self {
            ground: self.ground.copy_window(window),
            loose: self.loose.as_ref().map(|f| f.copy_window(window)),
            nodata: self.nodata.as_ref().map(|f| f.copy_window(window)),
            layers: layers.collect(),
            tables: tables.collect(),
            grid,
        }
    }
}
