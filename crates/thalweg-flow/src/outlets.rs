//! Outlets for all land: large depressions become lakes, others are breached or filled.

use crate::breach::{Allowance, breach_hollows};
use crate::depressions::find_fallback_outlet;
use crate::{CellRole, Directions, FlowGraph, Land, Neighbourhood, OUT, accumulate, d8, fill};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Field, Height, Result, Topology};

/// The least fall between neighbouring cells where the ground was level or rose, in units: 0.5 mm. This is the
/// spacing of `f32` values between 4096 and 8192 m, so a fall remains one when heights are rounded to `f32`.
pub const MIN_FALL_UNITS: i32 = 32;

/// Tolerance for equal water surfaces, in units (4 mm): depths may have been stored in a file of 32-bit floats.
const LEVEL_TOLERANCE_UNITS: i64 = 256;

/// The least size of a lake. Existing standing water also counts as a lake if it has the least surface and at least
/// the volume of a cone of this depth and surface. For example, with limits of 1 m and 10 000 m², a depression 0.5 m
/// deep is no lake, however large it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LakeLimits {
    /// The least depth at the deepest point, in metres, 0 or more.
    pub depth: f64,
    /// The least surface in m², 0 or more.
    pub area: f64,
}

/// Ground that drains everywhere, and the lakes on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlets {
    /// The ground; a field of the land's size.
    pub ground: Field<Height>,
    /// The depth of the lakes, 0 where there is none; a field of the land's size.
    pub pools: Field<Height>,
}

/// Changes the ground so that every cell drains to the sea, to an open edge or to a lake. `pools` are existing
/// standing waters.
///
/// Existing waters of at least the size of a lake stay as they are; smaller ones are ignored. Depressions of the
/// ground that have the size of a lake are filled with water. Any other depression is breached along the path that
/// removes the least ground ([`breach_depressions`](crate::breach::breach_depressions)), if that removes no more
/// ground than filling would add and is nowhere deeper than the depression is; otherwise it is filled. (The smaller
/// change is the more likely correction: Lindsay & Creed 2005, doi:10.1002/hyp.5835.) No lake is drained. Where the
/// ground along a flow path is then level or rises, it is raised to fall by [`MIN_FALL_UNITS`] from cell to cell.
///
/// Afterwards every dry cell that is neither at an edge nor adjacent to missing data has a lower neighbour. Rounding
/// all heights in the same way, as a file of `f32` or of integers does, creates no pit: every fall remains a fall or
/// becomes level. The land must be one that [`Land::check`] accepts. If water cannot leave it anywhere, its lowest
/// cell is the sink.
///
/// # Errors
/// Returns an error if a least size is negative or NaN, or if the pools have another size than the ground.
///
/// # Examples
/// ```
/// use thalweg_core::{Edge, Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::outlets::{LakeLimits, open_outlets};
///
/// // A pit at 2 m behind a sill of 4 m, in a valley that is open to the east only; cells are 10 m wide.
/// let edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
/// let terrain = Terrain::from_metres(Grid { edges, ..Grid::new([1, 5], 10.0)? }, &[5.0, 2.0, 4.0, 3.0, 1.0])?;
/// let land = Land::from_terrain(&terrain);
/// let lake = open_outlets(&land, None, &LakeLimits { depth: 1.0, area: 50.0 })?;
/// assert_eq!(lake.ground, terrain.ground);
/// assert_eq!(lake.pools[(0, 1)].metres(), 2.0);
/// // The pit is too shallow for this limit. It is filled, because a channel would remove more ground.
/// let filled = open_outlets(&land, None, &LakeLimits { depth: 3.0, area: 50.0 })?;
/// assert_eq!(filled.pools[(0, 1)].metres(), 0.0);
/// assert!(filled.ground[(0, 1)] > filled.ground[(0, 2)]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn open_outlets(land: &Land<'_>, pools: Option<&Field<Height>>, limits: &LakeLimits) -> Result<Outlets> {
    for (name, value, unit) in [("depth", limits.depth, "m"), ("area", limits.area, "m²")] {
        if value.is_nan() || value < 0.0 {
            return Err(Error::invalid_value(
                format!("minimum {name} of a lake"),
                format!("{value} {unit}"),
                "0 or more",
            ));
        }
    }
    let size = land.grid.size;
    if let Some([r, c]) = pools.map(Field::size).filter(|is| *is != size) {
        return Err(Error::invalid_value(
            "pools",
            format!("{r} × {c} cells"),
            format!("{} × {} (the ground)", size[0], size[1]),
        ));
    }
    let (surface, is_lake) = (land.ground.clone(), Field::new(size, false));
    let mut waters = LakeFinder {
        land,
        limits: *limits,
        stand_in: find_fallback_outlet(land, &land.cell_roles()),
        surface,
        is_lake,
    };
    if let Some(pools) = pools {
        waters.keep_existing_lakes(pools);
    }
    // Depressions of the size of a lake become lakes. A smaller depression may be breached if that moves no more
    // ground than filling it.
    let (hollows, mut allowances) = waters.fill_lakes();
    let sinks = waters.sink_cells();
    let wet = Land { outlets: &sinks, ..land.with_ground(&waters.surface) };
    let cut = breach_hollows(&wet, &d8::route_d8(&wet), &hollows, &mut allowances, &waters.compute_incision_floors());
    drop((hollows, allowances));
    // Whatever breaching could not drain is filled.
    let (mut surface, directions) = FlowGraph::new(&wet.with_ground(&cut)).into_parts();
    // Filling leaves level ground behind, and channels are level too. They receive a fall now.
    enforce_fall(&mut surface, &directions, waters.is_lake.as_slice());
    // Under a lake the ground stays unchanged.
    let ground =
        Field::from_fn(size, |i, j| if waters.is_lake[(i, j)] { land.ground[(i, j)] } else { surface[(i, j)] });
    let pools = Field::from_fn(size, |i, j| {
        Height(if waters.is_lake[(i, j)] { surface[(i, j)].0 - land.ground[(i, j)].0 } else { 0 })
    });
    Ok(Outlets { ground, pools })
}

/// Returns true for the cells that drain to an open edge, the sea, a cell without data or one of `lakes`, by steps to
/// the steepest lower neighbour and across level ground, without filling. Cells without data do not drain. `lakes`
/// must have the land's size, and the land must be one that [`Land::check`] accepts.
pub fn find_draining_cells(land: &Land<'_>, lakes: &Field<bool>) -> Field<bool> {
    let sinks = collect_sinks(land, lakes, find_fallback_outlet(land, &land.cell_roles()));
    let directions = d8::route_d8(&Land { outlets: &sinks, ..*land });
    let mut drains = directions.map(|direction| *direction == OUT);
    for &k in accumulate::upstream_order(&directions).iter().rev() {
        let k = k as usize;
        if let Some(n) = directions.next(k) {
            drains[k] = drains[n];
        }
    }
    drains
}

/// Returns the cells where water leaves the land other than at its edges, or reaches a lake.
fn collect_sinks(land: &Land<'_>, lakes: &Field<bool>, stand_in: Option<usize>) -> Vec<Cell> {
    let cols = land.grid.cols();
    let is_void = |k: usize| land.nodata.is_some_and(|mask| mask[k]);
    let ends = (0..lakes.len()).filter(|k| (lakes[*k] || stand_in == Some(*k)) && !is_void(*k));
    land.outlets.iter().copied().chain(ends.map(|k| Cell::new(k / cols, k % cols))).collect()
}

/// Raises cells that do not fall towards their receiver. Lakes keep their level.
fn enforce_fall(surface: &mut Field<Height>, directions: &Directions, is_lake: &[bool]) {
    let heights = surface.as_mut_slice();
    for &k in accumulate::upstream_order(directions).iter().rev() {
        let k = k as usize;
        if let Some(n) = directions.next(k)
            && !is_lake[k]
            && heights[k] <= heights[n]
        {
            // The reverse order visits receivers first, so that a raised cell raises the cells above it in turn.
            heights[k] = Height(heights[n].0.saturating_add(MIN_FALL_UNITS)).clamped();
        }
    }
}

/// The lakes found so far.
struct LakeFinder<'a> {
    land: &'a Land<'a>,
    limits: LakeLimits,
    /// The cell where water leaves a land that has no other outlet.
    stand_in: Option<usize>,
    /// The ground, or the water surface where there is a lake.
    surface: Field<Height>,
    is_lake: Field<bool>,
}

impl LakeFinder<'_> {
    /// Turns existing waters of at least the size of a lake into lakes.
    fn keep_existing_lakes(&mut self, pools: &Field<Height>) {
        let (land, roles) = (self.land, self.land.cell_roles());
        let ground = land.ground.as_slice();
        let stand_in = self.stand_in;
        let is_land = |k: usize| matches!(roles[k], CellRole::Inside | CellRole::Rim) || stand_in == Some(k);
        let is_wet = |k: usize| pools[k].0 > 0 && is_land(k);
        let level = |k: usize| i64::from(ground[k].0) + i64::from(pools[k].0);
        let alike = |a: usize, b: usize| is_wet(b) && (level(a) - level(b)).abs() <= LEVEL_TOLERANCE_UNITS;
        visit_components(land.grid.topology(), is_wet, alike, |cells| {
            let depths = || cells.iter().map(|k| pools[*k as usize].0);
            let area = cells.len() as f64 * land.grid.cell_area();
            let metres = depths().map(i64::from).sum::<i64>() as f64 / UNITS;
            // A cone has a third of the volume of a cylinder. The rule keeps a broad lake whose deepest cell is
            // shallower than the limit.
            let cone = self.limits.depth * self.limits.area / 3.0;
            let is_full = area >= self.limits.area && metres * land.grid.cell_area() >= cone;
            if is_full || self.is_lake(cells.len(), depths().max().unwrap_or(0)) {
                for k in cells {
                    let k = *k as usize;
                    self.is_lake[k] = true;
                    self.surface[k] = Height(level(k) as i32).clamped();
                }
            }
        });
    }

    /// Returns true if this number of cells with this greatest depth (in units) is a lake.
    fn is_lake(&self, cells: usize, deepest: i32) -> bool {
        let area = cells as f64 * self.land.grid.cell_area();
        f64::from(deepest) >= self.limits.depth * UNITS && area >= self.limits.area && deepest > 0
    }

    /// Fills depressions of the size of a lake. Numbers the others from 1 on, and returns the limits for breaching
    /// each of them.
    fn fill_lakes(&mut self) -> (Field<u32>, Vec<Allowance>) {
        let sinks = self.sink_cells();
        let filled = fill::fill_depressions(&Land { outlets: &sinks, ..self.land.with_ground(&self.surface) });
        let mut hollows = Field::new(filled.size(), 0u32);
        let mut allowances = Vec::new();
        let depths: Vec<i32> = filled
            .as_slice()
            .iter()
            .zip(self.surface.as_slice())
            .map(|(filled, surface)| filled.0 - surface.0)
            .collect();
        // Adjacent depressions that fill to the same level are one body of water.
        let alike = |a: usize, b: usize| depths[b] > 0 && filled[a] == filled[b];
        visit_components(
            self.land.grid.topology(),
            |k| depths[k] > 0,
            alike,
            |cells| {
                let deepest = cells.iter().map(|k| depths[*k as usize]).max().unwrap_or(0);
                if self.is_lake(cells.len(), deepest) {
                    for k in cells {
                        self.is_lake[*k as usize] = true;
                        self.surface[*k as usize] = filled[*k as usize];
                    }
                } else {
                    let volume = cells.iter().map(|k| i64::from(depths[*k as usize])).sum();
                    allowances.push(Allowance { depth: deepest, volume });
                    for k in cells {
                        hollows[*k as usize] = allowances.len() as u32;
                    }
                }
            },
        );
        (hollows, allowances)
    }

    /// Returns the cells where water leaves the land or reaches a lake.
    fn sink_cells(&self) -> Vec<Cell> {
        collect_sinks(self.land, &self.is_lake, self.stand_in)
    }

    /// Returns the lowest height to which each cell may be cut, so that no adjacent lake drains.
    fn compute_incision_floors(&self) -> Field<Height> {
        let [rows, cols] = self.land.grid.size;
        let level = |i: usize, j: usize| if self.is_lake[(i, j)] { self.surface[(i, j)].0 } else { i32::MIN };
        Field::from_fn([rows, cols], |i, j| {
            let around = self.land.neighbours(i, j).map(|(_, Cell { row: r, col: c })| level(r, c));
            Height(around.fold(level(i, j), i32::max))
        })
    }
}

/// Calls `each` with the cells of every connected component of the cells `within`, including diagonal connections, in
/// order of the first cells. `alike` decides whether another cell belongs to the component of a first cell.
fn visit_components(
    topology: Topology,
    within: impl Fn(usize) -> bool,
    alike: impl Fn(usize, usize) -> bool,
    mut each: impl FnMut(&[u32]),
) {
    let [rows, cols] = topology.size;
    let mut is_visited = vec![false; rows * cols];
    let mut cells: Vec<u32> = Vec::new();
    for first in 0..is_visited.len() {
        if is_visited[first] || !within(first) {
            continue;
        }
        is_visited[first] = true;
        cells.clear();
        cells.push(first as u32);
        let mut next = 0;
        while let Some(k) = cells.get(next).map(|k| *k as usize) {
            next += 1;
            for (_, Cell { row: r, col: c }) in Neighbourhood::new(topology, [k / cols, k % cols]) {
                // The comparison is with the first cell, not with the adjacent one, so that tolerances do not add up
                // along a component.
                if !is_visited[r * cols + c] && alike(first, r * cols + c) {
                    is_visited[r * cols + c] = true;
                    cells.push((r * cols + c) as u32);
                }
            }
        }
        each(&cells);
    }
}
