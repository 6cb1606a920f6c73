//! The values of an overlay per cell.

use crate::pictures::water::Water;
use crate::products::overlay::Overlay;
use crate::products::slope::central_gradient;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{DISCHARGE, DRAINAGE_AREA, SEDIMENT, SOIL, SUSPENDED, TREE_DENSITY};
use thalweg_core::{Error, Field, Result, Terrain};
use thalweg_flow::{FlowGraph, Land, basins, hydraulic};
use thalweg_models::models::pipes::{PIPE_X, PIPE_Y};
use thalweg_models::process::forest::Forest;

impl Overlay {
    /// Returns the value of each cell in [`Overlay::unit`]; NaN where there is no data or no value. Wear, deposits
    /// and difference compare with `start`, and are NaN without one.
    ///
    /// # Errors
    /// Returns an error if the terrain lacks the layer to show, or if the start has another size.
    pub fn compute_values(&self, terrain: &Terrain, start: Option<&Terrain>) -> Result<Field<f32>> {
        let size = terrain.grid.size;
        let layer = |name: &str| {
            let known = terrain.layers.get(name).filter(|layer| layer.cells.size() == size);
            known
                .map(|layer| layer.cells.to_float())
                .ok_or_else(|| Error::unknown_name("layer", name, terrain.layers.keys().map(String::as_str)))
        };
        let change = |sign: f32, least: f32| {
            let Some(start) = start else { return Ok(Field::new(size, f32::NAN)) };
            if start.grid.size != size {
                let ([rows, cols], [want_rows, want_cols]) = (start.grid.size, size);
                let problem = format!(
                    "needs a start of the terrain's size, {want_rows} × {want_cols} cells; the start is {rows} × {cols}"
                );
                return Err(Error::invalid_layer("difference", problem));
            }
            Ok(Field::from_fn(size, |i, j| {
                // The difference of two heights of 32 bits can exceed 32 bits.
                let units = i64::from(terrain.ground[(i, j)].0) - i64::from(start.ground[(i, j)].0);
                (sign * (units as f64 / UNITS) as f32).max(least)
            }))
        };
        let values = match self {
            Self::Height => terrain.ground_metres(),
            Self::Slope => Field::from_fn(size, |i, j| {
                let [east, north] = central_gradient(terrain, i, j);
                libm::atan((east * east + north * north).sqrt()).to_degrees() as f32
            }),
            Self::WaterDepth => Water::compute_depths(terrain),
            Self::Discharge => layer(DISCHARGE.name)?,
            Self::DrainageArea => compute_drainage_area(terrain),
            Self::Velocity if terrain.layers.contains_key(PIPE_X.name) => {
                let (x, y) = (layer(PIPE_X.name)?, layer(PIPE_Y.name)?);
                Field::from_fn(size, |i, j| libm::hypotf(x[(i, j)], y[(i, j)]))
            }
            Self::Velocity => layer(DISCHARGE.name)?.map(|q| hydraulic::flow_velocity(*q)),
            Self::Suspended => layer(SUSPENDED.name)?,
            Self::Sediment => match &terrain.loose {
                Some(loose) => loose.map(|h| h.metres_f32()),
                None => {
                    return Err(Error::missing_input(
                        format!("layer `{}`", SEDIMENT.name),
                        "this terrain has no sediment; build it with a model that writes this layer",
                    ));
                }
            },
            Self::Wear => change(-1.0, 0.0)?,
            Self::Deposits => change(1.0, 0.0)?,
            // Differences have no lower limit, unlike wear and deposits.
            Self::Difference => change(1.0, f32::MIN)?,
            Self::Soil => layer(SOIL.name)?,
            Self::Trees if !terrain.layers.contains_key(TREE_DENSITY.name) => {
                Forest::read(terrain)?.root_density().clone()
            }
            Self::Trees => layer(TREE_DENSITY.name)?,
            Self::Basins => {
                let land = Land::from_terrain(terrain);
                let drainage = FlowGraph::new(&land);
                basins::label_basins(&drainage.with_filled_surface(&land), drainage.directions())?.map(|n| *n as f32)
            }
            Self::Layer(name) => layer(name)?,
        };
        // Layers may contain any value in cells without data.
        Ok(Field::from_fn(size, |i, j| if terrain.is_nodata(i, j) { f32::NAN } else { values[(i, j)] }))
    }
}

/// Returns the drainage area of each cell in km²: that of the layer if the terrain has it, since it includes the land
/// beyond the edges.
fn compute_drainage_area(terrain: &Terrain) -> Field<f32> {
    if let Some(area) = terrain.float_layer(&DRAINAGE_AREA).filter(|area| area.size() == terrain.grid.size) {
        return area.map(|area| area * 1e-6);
    }
    FlowGraph::new(&Land::from_terrain(terrain)).accumulate_uniform_yield(terrain.grid.cell_area() * 1e-6)
}
