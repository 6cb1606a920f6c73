//! [`Elevation`]: a given elevation model as ground.

use crate::model::{About, Blend, Family, MassBalance, Model, StepReach, Stepper, Tick};
use crate::process::base::{AMOUNT, STEP_CELLS, add_to_ground, band_count, band_rows};
use thalweg_core::terrain::{Cells, LayerSpec};
use thalweg_core::{Error, Grid, Result, Terrain, params};

/// Layer of the elevations to apply, in metres, from a file or from an earlier stage.
pub const ELEVATION: LayerSpec = LayerSpec::floats(
    "elevation",
    "m",
    "Elevation to be added to the ground; cells that are not a number leave it unchanged.",
);

params! {
    /// Adds the elevations of the layer `elevation`, a real elevation model or any other map, to the ground.
    ///
    /// z = offset + scale · elevation. Cells that are not a number (NaN) leave the ground unchanged.
    ///
    /// Source: none needed.
    ///
    /// Layers: it needs `elevation` of the grid's size (the caller loads and resamples it), uses `amount`, changes only
    /// the ground, and keeps the layer. Each cell is read in place: windows agree bit for bit. The blend `multiply`
    /// uses offset + scale · elevation itself as the factor, clamped to 0..1.
    ///
    /// Limits: elevations in f32 are exact to 0.06 mm at 1 000 m.
    pub struct Elevation {
        /// Factor on the elevations: values above 1 exaggerate relief.
        scale: f64 = 1.0, within -1000.0..=1000.0, unit "1", scales Relief, source "ours";
        /// Elevation added to the scaled elevations.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for Elevation {
    fn about(&self) -> About {
        About {
            name: "elevation",
            title: "Elevation model",
            summary: "The ground of an elevation model given as a layer.",
            source: "none",
            family: Family::Base,
            needs: &[ELEVATION],
            uses: &[AMOUNT],
            placed: false,
            ..About::default()
        }
    }

    fn blend(&self) -> Blend {
        self.blend
    }

    fn steps(&self, grid: &Grid) -> u32 {
        band_count(grid, STEP_CELLS)
    }

    fn reach(&self, _: &Grid) -> StepReach {
        StepReach::Cells(0)
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(ElevationStepper(self.clone())))
    }
}

struct ElevationStepper(Elevation);

impl Stepper for ElevationStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let Self(model) = self;
        match terrain.float_layer(&ELEVATION) {
            None => return Err(Error::missing_layer(ELEVATION.name, "elevation", ELEVATION.meaning)),
            // The layer may come from a caller, so its size is checked in every step.
            Some(field) if field.size() != terrain.grid.size => {
                let [rows, cols] = terrain.grid.size;
                return Err(Error::invalid_layer(
                    ELEVATION.name,
                    format!("does not have the terrain's {rows} × {cols} cells"),
                ));
            }
            Some(_) => {}
        }
        let rows = band_rows(&terrain.grid, STEP_CELLS, tick.step);
        // The layer is taken out of the terrain while the ground is written.
        let Some(layer) = terrain.layers.remove(ELEVATION.name) else { return Ok(MassBalance::default()) };
        let budget = match &layer.cells {
            Cells::Float(elevation) => add_to_ground(terrain, rows, model.blend, [0.0, 1.0], |i, out| {
                for (value, metres) in out.iter_mut().zip(elevation.row(i)) {
                    *value = (model.offset + model.scale * f64::from(*metres)) as f32;
                }
            }),
            _ => MassBalance::default(),
        };
        terrain.layers.insert(ELEVATION.name.to_string(), layer);
        Ok(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Field;
    use thalweg_core::base::rng::RandomKey;

    fn step(model: &Elevation, terrain: &mut Terrain) -> Result<MassBalance> {
        let mut stepper = model.start(&terrain.grid)?;
        stepper.run_step(terrain, Tick { key: RandomKey::new(0, "e"), step: 0 })
    }

    #[test]
    fn elevations_are_scaled_laid_and_left() {
        let mut terrain = Terrain::new(Grid::new([1, 3], 30.0).unwrap());
        let layer = Cells::Float(Field::from_vec([1, 3], vec![100.0, f32::NAN, -20.0]).unwrap());
        terrain.insert_layer(&ELEVATION, layer.clone()).unwrap();
        let model = Elevation { scale: 2.0, offset: 5.0, ..Default::default() };
        let budget = step(&model, &mut terrain).unwrap();
        assert_eq!(terrain.ground_metres().as_slice(), [205.0, 0.0, -35.0]);
        assert_eq!(budget.added, terrain.sum_solid());
        assert!(terrain.float_layer(&ELEVATION).is_some());
    }

    #[test]
    fn a_missing_layer_is_named() {
        let mut terrain = Terrain::new(Grid::new([1, 3], 30.0).unwrap());
        let message = step(&Elevation::default(), &mut terrain).unwrap_err().to_string();
        assert!(message.contains("`elevation`"), "{message}");
    }
}
