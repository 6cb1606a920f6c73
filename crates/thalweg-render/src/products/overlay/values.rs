//! The values of an overlay per cell.

use crate::pictures::water::Water;
use crate::products::overlay::Overlay;
use crate::products::slope::gradient;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{DISCHARGE, LOOSE, SOIL, SUSPENDED, TREE_DENSITY};
use thalweg_core::{Error, Field, Result, Terrain};
use thalweg_flow::{FlowGraph, Land, basins, hydraulic};
use thalweg_models::models::pipes::{PIPE_X, PIPE_Y};
use thalweg_models::process::forest::Forest;

impl Overlay {
    /// Returns the value of each cell in [`Overlay::unit`]; NaN where there is no data or no value. Wear, deposits
    /// and difference compare with `start`, and are NaN without one.
    ///
    /// # Errors
    /// If the terrain lacks the layer to show, or if the start has another size.
    pub fn values(&self, terrain: &Terrain, start: Option<&Terrain>) -> Result<Field<f32>> {
        let size = terrain.grid.size;
        let layer = |name: &str| {
            let known = terrain.layers.get(name).filter(|layer| layer.cells.size() == size);
            known
                .map(|layer| layer.cells.to_float())
                .ok_or_else(|| Error::unknown("layer", name, terrain.layers.keys().map(String::as_str)))
        };
        let change = |sign: f32, least: f32| {
            let Some(start) = start else { return Ok(Field::new(size, f32::NAN)) };
            if start.grid.size != size {
                let ([rows, cols], [want_rows, want_cols]) = (start.grid.size, size);
                let problem = format!("the start is {rows} × {cols} cells; the terrain is {want_rows} × {want_cols}");
                return Err(Error::layer("difference", problem));
            }
            Ok(Field::generate(size, |i, j| {
                let units = i64::from(terrain.ground[(i, j)].0) - i64::from(start.ground[(i, j)].0);
                (sign * (units as f64 / UNITS) as f32).max(least)
            }))
        };
        let values = match self {
            Self::Height => terrain.metres(),
            Self::Slope => Field::generate(size, |i, j| {
                let [east, north] = gradient(terrain, i, j);
                libm::atan((east * east + north * north).sqrt()).to_degrees() as f32
            }),
            Self::WaterDepth => Water::depths(terrain),
            Self::Discharge => layer(DISCHARGE.name)?,
            Self::Catchment => catchments(terrain),
            Self::Velocity if terrain.layers.contains_key(PIPE_X.name) => {
                let (x, y) = (layer(PIPE_X.name)?, layer(PIPE_Y.name)?);
                Field::generate(size, |i, j| libm::hypotf(x[(i, j)], y[(i, j)]))
            }
            Self::Velocity => layer(DISCHARGE.name)?.map(|q| hydraulic::flow_velocity(*q)),
            Self::Suspended => layer(SUSPENDED.name)?,
            Self::Loose => match &terrain.loose {
                Some(loose) => loose.map(|h| h.metres_f32()),
                None => {
                    return Err(Error::missing(format!("layer `{}`", LOOSE.name), "all of this terrain is bedrock"));
                }
            },
            Self::Wear => change(-1.0, 0.0)?,
            Self::Deposits => change(1.0, 0.0)?,
            Self::Difference => change(1.0, f32::MIN)?,
            Self::Soil => layer(SOIL.name)?,
            Self::Trees if !terrain.layers.contains_key(TREE_DENSITY.name) => Forest::read(terrain)?.density().clone(),
            Self::Trees => layer(TREE_DENSITY.name)?,
            Self::Basins => {
                let land = Land::of(terrain);
                let drainage = FlowGraph::new(&land);
                basins::basins(&drainage.surface(&land), drainage.directions())?.map(|n| *n as f32)
            }
            Self::Layer(name) => layer(name)?,
        };
        Ok(Field::generate(size, |i, j| if terrain.is_nodata(i, j) { f32::NAN } else { values[(i, j)] }))
    }
}

/// Returns the drainage area of each cell in km².
fn catchments(terrain: &Terrain) -> Field<f32> {
    FlowGraph::new(&Land::of(terrain)).yields(terrain.grid.cell_area() * 1e-6)
}
