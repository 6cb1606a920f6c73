//! Level 0: a whole terrain with its lakes and its drainage.

use rayon::prelude::*;

use crate::domain_warp::DomainWarp;
use crate::lakes::{UntiltedLake, find_lakes, find_outflow_cells, neighbour_cells};
use crate::receivers::draw_receivers;
use crate::{Frame, LAKE_CATCHMENT, LocalWindow, Rules, beds};
use thalweg_core::terrain::LakeRaster;
use thalweg_core::{Cell, Error, Field, Height, Result, Terrain};
use thalweg_flow::{FlowGraph, Land, Neighbourhood, OUT, accumulate, find_receiver};
use thalweg_noise::gradient::mix_bits;

/// The least height of a cell of a filled depression above its receiver on level 0, in units: 4 mm. Finer levels
/// divide it; when no unit is left, level terrain drains by its tree alone.
const MIN_TILT_UNITS: i32 = 256;

/// Number of rounds after which lakes whose level still rises are filled instead: two lakes that touch each other's
/// outlet paths would raise one another for ever.
const MAX_ROUNDS: u32 = 32;

impl LocalWindow {
    /// Computes level 0 of a world: a whole terrain with its drainage. Depressions at least
    /// [`MIN_LAKE_DEPTH_M`](crate::MIN_LAKE_DEPTH_M) metres deep, through which at least [`LAKE_CATCHMENT`] cells
    /// drain, are lakes, full to the outlet; others are filled and tilted towards theirs.
    ///
    /// # Errors
    /// Returns an error if the terrain is a part of its world, is looped, or has cells without data; if its grid is
    /// refused by [`Grid::check`](thalweg_core::terrain::grid::Grid::check), or its ground does not have the grid's
    /// size.
    pub fn from_terrain(terrain: &Terrain) -> Result<(Frame, Self)> {
        let (frame, land) = prepare_land(terrain)?;
        let drainage = FlowGraph::new(&land);
        let loose = sediment_thickness(terrain).cloned();
        Ok((frame.clone(), Self { loose, ..Self::from_drainage(frame, &land, drainage) }))
    }

    /// Computes level 0 as [`LocalWindow::from_terrain`] does, for a terrain that is domain-warped first, with smooth
    /// displacements of about half a cell. Rivers of a global solution keep one of eight directions for several cells,
    /// and finer levels keep them in their cells: after the warp they run in all directions. Sand, if the rules have
    /// it, is not displaced: it has no rivers, and its smooth slopes would become dented.
    ///
    /// # Errors
    /// Returns the errors of [`LocalWindow::from_terrain`].
    pub fn from_warped_terrain(terrain: &Terrain, rules: &Rules) -> Result<(Frame, Self)> {
        let (frame, land) = prepare_land(terrain)?;
        let sand = rules.sand.zip(sediment_thickness(terrain));
        let bends = DomainWarp::new(land.ground.size(), sand);
        let ground = bends.warp_terrain(land.ground, &FlowGraph::new(&land));
        let land = land.with_ground(&ground);
        let drainage = FlowGraph::new(&land);
        let loose = sand.map(|(_, loose)| bends.warp_field(loose));
        Ok((frame.clone(), Self { loose, ..Self::from_drainage(frame, &land, drainage) }))
    }

    /// Builds level 0 from a land and its flow graph: finds lakes, and tilts filled depressions towards their outlets.
    fn from_drainage(frame: Frame, land: &Land<'_>, drainage: FlowGraph) -> Self {
        let (filled, mut directions) = drainage.into_parts();
        redraw_directions(&filled, &mut directions);
        // Lakes are found on the filled terrain; finding them may redirect cells, so drainage areas are counted again
        // after that.
        let cells = accumulate::count_upstream_cells(&directions);
        let (mut id, mut found) = find_lakes(land.ground, &filled, &mut directions, &cells);
        let order = accumulate::upstream_order(&directions);
        let each = land.grid.cell_area();
        let area = accumulate::count_upstream_cells(&directions).map(|n| (f64::from(*n) * each) as f32);
        // Each turn removes at least one lake, so the loop ends.
        let surface = loop {
            let world = Tilted { frame: &frame, filled: &filled, directions: &directions, order: &order, area: &area };
            match world.tilt_surface(&id, &mut found) {
                Ok(surface) => break surface,
                Err(rising) => {
                    // These lakes are filled instead. The numbers of the others stay.
                    id.as_mut_slice().iter_mut().filter(|id| rising.contains(id)).for_each(|id| *id = 0);
                }
            }
        };
        let wet = id.as_slice().iter().any(|id| *id != 0);
        let of = |k: usize| id.as_slice()[k].checked_sub(1).map(|number| Height(found[number as usize].level));
        let cols = filled.cols();
        // Under a lake the ground is its bed; elsewhere it is the tilted surface.
        let ground = Field::from_fn(filled.size(), |i, j| match of(i * cols + j) {
            Some(level) => land.ground[(i, j)].min(level),
            None => surface[(i, j)],
        });
        let level = Field::from_fn(filled.size(), |i, j| of(i * cols + j).unwrap_or(Height::ZERO));
        let lakes = wet.then_some(LakeRaster { id, level });
        Self {
            level: 0,
            rect: frame.world_rect(0),
            ground,
            receivers: directions.into_codes(),
            area,
            lakes,
            loose: None,
        }
    }
}

/// Returns a terrain's sediment thickness, if there is any sediment.
fn sediment_thickness(terrain: &Terrain) -> Option<&Field<Height>> {
    terrain.loose.as_ref().filter(|loose| loose.as_slice().iter().any(|thick| thick.0 > 0))
}

/// Returns a terrain's land, if it can be a level 0.
fn prepare_land(terrain: &Terrain) -> Result<(Frame, Land<'_>)> {
    let frame = Frame::from_grid(&terrain.grid)?;
    if terrain.nodata.is_some() {
        return Err(Error::unsupported("level 0", "cannot have cells without data; fill them first"));
    }
    let land = Land::from_terrain(terrain);
    land.check()?;
    Ok((frame, land))
}

/// Draws the receiver from the two neighbours next to the steepest descent, where a neighbour is lower.
fn redraw_directions(filled: &Field<Height>, directions: &mut Field<u8>) {
    let size = filled.size();
    directions.par_rows_mut().for_each(|(i, row)| {
        for (j, code) in row.iter_mut().enumerate().filter(|(_, code)| **code < OUT) {
            let mut falls = [[f32::MIN]; 8];
            for (direction, Cell { row: r, col: c }) in Neighbourhood::new(size, [i, j]) {
                falls[direction.index()] = [filled[(i, j)].0.wrapping_sub(filled[(r, c)].0) as f32];
            }
            // 24 bits of the hash give a number from 0 to below 1 that an `f32` represents exactly.
            let lot = mix_bits(mix_bits(i as u32 ^ 0x666c_6f77) ^ (j as u32).wrapping_mul(0x85eb_ca77));
            let [drawn] = draw_receivers(&falls, &[(lot >> 8) as f32 * (1.0 / 16_777_216.0)], &[i32::from(*code)]);
            *code = drawn as u8;
        }
    });
}

/// A filled land that is being tilted.
struct Tilted<'a> {
    frame: &'a Frame,
    filled: &'a Field<Height>,
    directions: &'a Field<u8>,
    order: &'a [u32],
    area: &'a Field<f32>,
}

impl Tilted<'_> {
    /// Returns the surface, tilted towards the outlets, and raised above and next to lakes as far as necessary
    /// ([`beds::incision_clearance`]); lakes rise as far as their outlets do. If that does not end, returns the numbers
    /// of the lakes that would rise for ever.
    fn tilt_surface(
        &self,
        id: &Field<u32>,
        found: &mut [UntiltedLake],
    ) -> std::result::Result<Field<Height>, Vec<u32>> {
        let cols = self.filled.cols();
        let lake = |k: usize| id.as_slice()[k].checked_sub(1).map(|number| number as usize);
        let outflow_cells = find_outflow_cells(found, self.filled, self.directions);
        let mut surface = self.filled.clone();
        let mut levels: Vec<i32> = found.iter().map(|lake| lake.level).collect();
        let min_area = LAKE_CATCHMENT as f32 * 4.0 * (self.frame.cell * self.frame.cell) as f32;
        let clear = |k: usize| beds::incision_clearance(self.frame, 0, self.area.as_slice()[k].max(min_area));
        // A lake that rises may raise land next to it and the outlets of other lakes, so the surface is computed until
        // no lake rises.
        let mut rising = Vec::new();
        for _ in 0..MAX_ROUNDS {
            rising.clear();
            // Receivers come before their donors, so a cell is placed on the final surface of the cell below it.
            for k in self.order.iter().rev().map(|k| *k as usize) {
                let next = find_receiver(k, self.directions.as_slice()[k], cols);
                let mut height = surface.as_slice()[k].0;
                if let Some(number) = lake(k) {
                    if let Some(next) = next.filter(|next| lake(*next) != Some(number)) {
                        let outlet = lake(next).map_or(surface.as_slice()[next].0, |next| levels[next]);
                        if outlet > levels[number] {
                            levels[number] = outlet;
                            rising.push(number as u32 + 1);
                        }
                    }
                    continue;
                }
                if let Some(next) = next {
                    // A cell that drains into a lake is kept above its level by all that finer levels incise.
                    let lowest = match lake(next) {
                        Some(number) => levels[number].saturating_add(clear(k)),
                        None => surface.as_slice()[next].0.saturating_add(MIN_TILT_UNITS),
                    };
                    height = height.max(lowest);
                }
                if !found.is_empty() {
                    for number in neighbour_cells(self.filled.size(), k).filter_map(lake) {
                        if !outflow_cells.contains(&(k, number as u32 + 1)) {
                            height = height.max(levels[number].saturating_add(clear(k)));
                        }
                    }
                }
                surface.as_mut_slice()[k].0 = height.min(Height::MAX.0);
            }
            if rising.is_empty() {
                found.iter_mut().zip(levels).for_each(|(lake, level)| lake.level = level);
                return Ok(surface);
            }
        }
        Err(rising)
    }
}
