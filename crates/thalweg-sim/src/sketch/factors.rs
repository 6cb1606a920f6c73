//! Factors of uplift and erodibility along a sketch's lines.

use crate::sketch::shape::{LengthScales, trace_course};
use crate::sketch::{Sketch, SketchKind};
use thalweg_core::terrain::{ERODIBILITY, LayerSpec, Lifetime, UPLIFT};
use thalweg_core::{Field, Terrain};

/// Factors of erodibility and of uplift on a river's line, where rivers incise more readily and uplift is slower; and
/// those on a ridge's.
const RIVER: [f64; 2] = [2.5, 0.85];
const RIDGE: [f64; 2] = [0.75, 1.25];

/// The declarations of [`Sketch::factors`]. They have the names of [`ERODIBILITY`] and [`UPLIFT`], which stages read,
/// and are removed when the stage ends.
pub const FACTORS: [LayerSpec; 2] = [for_one_stage(ERODIBILITY), for_one_stage(UPLIFT)];

const fn for_one_stage(factor: LayerSpec) -> LayerSpec {
    // This text is how a checkpoint recognizes these layers.
    LayerSpec { meaning: "Factors of a sketch, for one stage.", ..factor.lifetime(Lifetime::Stage) }
}

impl Sketch {
    /// Returns factors of erodibility and of uplift, in this order and with the terrain's size, for stages that read
    /// them: 1 away from lines. `None` if no river and no ridge is drawn. `coarse` is the width of the first level's
    /// cells in metres.
    pub fn factors(&self, terrain: &Terrain, coarse: f64) -> Option<[Field<f32>; 2]> {
        let (grid, scale) = (&terrain.grid, LengthScales::from_terrain(terrain, coarse));
        let lines: Vec<_> = self
            .features
            .iter()
            .filter_map(|feature| {
                let factors = match feature.kind {
                    SketchKind::River => RIVER,
                    SketchKind::Ridge => RIDGE,
                    _ => return None,
                };
                // By default a line affects a 24th of the map's short side on both sides of it, but at least three of
                // the narrowest landforms; a drawn width may be narrower, down to two.
                let usual = (scale.short / 24.0).max(3.0 * scale.form);
                let reach = feature.width.map_or(usual, |width| width / 2.0).max(2.0 * scale.form);
                Some((
                    trace_course(feature, &scale).cells(grid, reach),
                    reach,
                    factors.map(|f| feature.strength * (f - 1.0)),
                ))
            })
            .collect();
        if lines.is_empty() {
            return None;
        }
        let field = |which: usize| {
            Field::from_fn(grid.size, |i, j| {
                let factor = lines.iter().filter_map(|(near, reach, factors)| {
                    let t = near.distances_at(i, j)?[0] / reach;
                    Some(1.0 + factors[which] * (1.0 - t * t) * (1.0 - t * t))
                });
                // Where lines overlap, each of them keeps its full effect.
                factor.product::<f64>() as f32
            })
        };
        Some([field(0), field(1)])
    }
}
