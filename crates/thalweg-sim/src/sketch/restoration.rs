//! Creates terrain from a sketch, and restores it to the sketch.

use rayon::iter::ParallelIterator;

use crate::sketch::adherence::{Coasts, cell_at, measure_relief};
use crate::sketch::line::Polyline;
use crate::sketch::shape::{
    CoarseTerrain, FeatureShape, LengthScales, LineProfile, build_ridge_crest, build_river_bed,
};
use crate::sketch::{FeatureAdherence, Sketch, SketchFeature, SketchKind};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Height, Point, Terrain};
use thalweg_flow::{Land, fill};
use thalweg_models::model::MassBalance;

/// Shares from which on a feature is left alone. They are higher than those promised, because later stages may remove
/// some.
const RIVER: f64 = 0.999;
const RIDGE: f64 = 0.93;
const COAST: f64 = 0.998;
const HEIGHT: f64 = 0.99;

/// A river that ends within this distance of another one, in form widths, joins it.
const JOIN_DISTANCE_WIDTHS: f64 = 1.5;

/// Distance, in cells of the first level, that water may run from a river's line before the terrain is changed. It is
/// less than the two cells that [`Sketch::measure_adherence`] allows, so that the terrain is changed in time.
const MAX_WATER_OFFSET_CELLS: f64 = 1.6;

impl Sketch {
    /// Creates land on flat terrain, in which flow paths and crests begin as they are drawn; does nothing if the
    /// terrain is not flat. `coarse` is the width of the first level's cells in metres. The change is returned as a
    /// mass balance.
    pub fn create_land(&self, terrain: &mut Terrain, coarse: f64) -> MassBalance {
        if measure_relief(terrain) > 0.0 {
            return MassBalance::default();
        }
        let count = self.features.len();
        self.reshape_terrain(terrain, coarse, &vec![true; count], &vec![Vec::new(); count], SketchPass::Lay)
    }

    /// Restores the parts of the sketch that the terrain does not follow any more; the rest is left alone. `coarse`
    /// is the width of the first level's cells in metres. `heights` tells whether heights are met exactly to the
    /// cell: while a stage is running, only the land around them is raised, and erodes freely. The change is returned
    /// as a mass balance.
    pub fn restore_features(&self, terrain: &mut Terrain, coarse: f64, heights: bool) -> MassBalance {
        let mut budget = MassBalance::default();
        // A smooth change of wide reach keeps fine relief and is tried first. What it leaves is corrected near the
        // lines, at most twice: the loop ends as soon as everything is followed.
        for pass in [SketchPass::Smooth, SketchPass::Near, SketchPass::Near] {
            let (kept, parts): (Vec<_>, Vec<_>) =
                self.measure_adherence_within(terrain, coarse, MAX_WATER_OFFSET_CELLS).into_iter().unzip();
            let is_lost = |(kept, feature): (&FeatureAdherence, &SketchFeature)| {
                let required_share = match kept.kind {
                    SketchKind::River => RIVER,
                    SketchKind::Ridge => RIDGE,
                    SketchKind::Coast => COAST,
                    SketchKind::Height if pass == SketchPass::Near && !heights => 0.0,
                    SketchKind::Height => HEIGHT,
                };
                kept.share < required_share && feature.strength > 0.0
            };
            let mut lost: Vec<bool> = kept.iter().zip(&self.features).map(is_lost).collect();
            if !lost.contains(&true) {
                break;
            }
            // Changing the course of a river also affects the rivers that join it.
            for (k, feature) in self.features.iter().enumerate() {
                if lost[k] && feature.kind == SketchKind::River {
                    self.find_joined_rivers(k, LengthScales::from_terrain(terrain, coarse).form)
                        .for_each(|other| lost[other] = true);
                }
            }
            budget += self.reshape_terrain(terrain, coarse, &lost, &parts, pass);
        }
        budget
    }

    /// Returns the rivers that end on a river, or on which it ends.
    fn find_joined_rivers(&self, k: usize, form: f64) -> impl Iterator<Item = usize> + '_ {
        let ends_on = move |a: &SketchFeature, b: &SketchFeature| {
            a.points
                .last()
                .is_some_and(|end| Polyline::from_feature(b).project_point(*end).0 <= JOIN_DISTANCE_WIDTHS * form)
        };
        let rivers = self.features.iter().enumerate().filter(|(_, feature)| feature.kind == SketchKind::River);
        let own = &self.features[k];
        rivers.filter(move |(other, f)| *other != k && (ends_on(f, own) || ends_on(own, f))).map(|(other, _)| other)
    }

    /// Changes the terrain so that it follows the `lost` features again, and still follows the others. For ridges
    /// `parts` tells where they are followed.
    fn reshape_terrain(
        &self,
        terrain: &mut Terrain,
        coarse: f64,
        lost: &[bool],
        parts: &[Vec<bool>],
        pass: SketchPass,
    ) -> MassBalance {
        let grid = terrain.grid.clone();
        let scale = LengthScales::from_terrain(terrain, coarse);
        let LengthScales { coarse, form, short, sea, .. } = scale;
        // Near the lines, the means are those of single cells: the terrain itself.
        let low = CoarseTerrain::from_terrain(terrain, if pass == SketchPass::Near { grid.cell } else { form });
        let profiles = self.profiles(terrain, &low, &scale);
        // For each cell the greatest weight, the sum of the weighted changes, and that of their weights.
        let mut targets = Field::new(grid.size, [0.0f32; 3]);
        for (((feature, profile), is_lost), kept) in self.features.iter().zip(profiles).zip(lost).zip(parts) {
            let shape = match (feature.kind, profile) {
                (SketchKind::Height, _) => {
                    let Some((at, height)) = cell_at(&grid, feature.points[0]).zip(feature.heights.first()) else {
                        continue;
                    };
                    let change = height - terrain.ground[at].metres();
                    FeatureShape::from_height_change(
                        feature,
                        if *is_lost { change } else { 0.0 },
                        &grid,
                        &low,
                        &scale,
                        pass == SketchPass::Near,
                    )
                }
                (SketchKind::Coast, _) | (_, None) => continue,
                (_, Some(profile)) if pass == SketchPass::Lay => {
                    FeatureShape::from_profile_on_flat(feature, profile, &grid, &scale)
                }
                (_, Some(profile)) => {
                    let shape =
                        FeatureShape::from_profile(feature, profile, &grid, &low, &scale, pass == SketchPass::Near);
                    if *is_lost { shape.limit_to_lost_parts(kept, &scale) } else { shape }
                }
            };
            targets.par_rows_mut().for_each(|(i, row)| {
                for (j, [most, sum, parts]) in row.iter_mut().enumerate() {
                    let ground = || match pass {
                        SketchPass::Near => terrain.ground[(i, j)].metres(),
                        _ => low.elevation_at(Point::new(grid.col_center_x(j), grid.row_center_y(i))),
                    };
                    let Some([weight, part, change]) = shape.requirement_at(i, j, ground, grid.cell) else { continue };
                    // A feature that the terrain follows requires no change, but its closeness counts: it weakens the
                    // change that others make near it.
                    *parts += part as f32;
                    if *is_lost {
                        *most = most.max((weight * shape.strength) as f32);
                        *sum += (part * change) as f32;
                    }
                }
            });
        }
        let change = |at: (usize, usize)| {
            let [most, sum, parts] = targets[at].map(f64::from);
            // The change is the mean of the required ones, weighted by closeness, times the greatest weight.
            if parts > 0.0 { most * sum / parts } else { 0.0 }
        };
        let mut budget = change_elevations(terrain, |at, ground| ground + change(at));
        // Coasts come last, so that no other feature moves terrain across the sea level.
        let reach = short / 6.0;
        if let (Some(sea), Some(coasts)) = (sea, Coasts::from_sketch(self, &grid, coarse, reach)) {
            let is_ring = self.features.iter().any(SketchFeature::is_ring);
            budget += change_elevations(terrain, |(i, j), ground| {
                let far = coasts.distance_at(Point::new(grid.col_center_x(j), grid.row_center_y(i)));
                if !is_ring && far.abs() >= reach { ground } else { constrain_to_coast(ground, far, sea, scale.relief) }
            });
        }
        budget
    }

    /// Returns the beds of rivers and the crests of ridges; the bed of a river that ends on another one is no lower
    /// than that one there.
    fn profiles(&self, terrain: &Terrain, low: &CoarseTerrain, scale: &LengthScales) -> Vec<Option<LineProfile>> {
        let rivers = self.features.iter().any(|feature| feature.kind == SketchKind::River);
        // The bed of a river that joins no other ends at the level of the filled terrain, from which water can flow on.
        let filled = rivers.then(|| fill::fill_depressions(&Land::from_terrain(terrain)));
        let mut profiles: Vec<Option<LineProfile>> = self.features.iter().map(|_| None).collect();
        // A river on which others end comes before them; there are as many passes as there can be rivers in a row.
        for _ in 0..self.features.len() {
            let mut is_done = true;
            for (k, feature) in self.features.iter().enumerate().filter(|(_, f)| f.kind == SketchKind::River) {
                if profiles[k].is_some() {
                    continue;
                }
                let Some(end) = feature.points.last().copied() else { continue };
                let onto = self.features.iter().enumerate().find_map(|(other, f)| {
                    let (d, distance) = Polyline::from_feature(f).project_point(end);
                    (other != k && f.kind == SketchKind::River && d <= JOIN_DISTANCE_WIDTHS * scale.form)
                        .then_some((other, distance))
                });
                let floor = match onto {
                    Some((other, distance)) => profiles[other]
                        .as_ref()
                        .map(|profile| profile.elevation_at(distance) + scale.min_river_slope() * scale.form),
                    None => cell_at(&terrain.grid, end).zip(filled.as_ref()).map(|(at, filled)| {
                        // At an outlet of the world the bed is as low as the lowest of them, or the others would draw
                        // the water away.
                        let filled = filled[at].metres();
                        if is_rim(terrain, at) { lowest_rim(terrain).unwrap_or(filled).min(filled) } else { filled }
                    }),
                };
                if let Some(floor) = floor {
                    profiles[k] = Some(build_river_bed(feature, low, scale, floor));
                    is_done = false;
                }
            }
            if is_done {
                break;
            }
        }
        for (k, feature) in self.features.iter().enumerate().filter(|(_, f)| f.kind == SketchKind::Ridge) {
            profiles[k] = Some(build_ridge_crest(feature, low, scale));
        }
        profiles
    }
}

/// Returns true if a cell is on an edge over which water leaves.
fn is_rim(terrain: &Terrain, Cell { row: i, col: j }: Cell) -> bool {
    let [rows, cols] = terrain.grid.size;
    let on = [i == 0, j + 1 == cols, i + 1 == rows, j == 0];
    on.into_iter().zip(terrain.grid.edges).any(|(on, edge)| on && edge == Edge::Open)
}

/// Returns the lowest elevation on such edges, in metres.
fn lowest_rim(terrain: &Terrain) -> Option<f64> {
    let [rows, cols] = terrain.grid.size;
    let sides = (0..rows).flat_map(|i| [[i, 0], [i, cols - 1]]).chain((0..cols).flat_map(|j| [[0, j], [rows - 1, j]]));
    let rim = sides.map(Cell::from).filter(|at| is_rim(terrain, *at) && !terrain.is_nodata(at.row, at.col));
    rim.map(|at| terrain.ground[at]).min().map(Height::metres)
}

/// How the terrain is changed.
#[derive(Clone, Copy, PartialEq)]
enum SketchPass {
    /// Completely, from flat terrain.
    Lay,
    /// Relative to its means over the first level's cells: finer relief stays.
    Smooth,
    /// Near the lines, exactly to the cell.
    Near,
}

/// Returns the elevation near a coast: on land it is above the sea and rises away from the coast; elsewhere it is
/// below the sea.
fn constrain_to_coast(ground: f64, far: f64, sea: f64, relief: f64) -> f64 {
    let [over, least, most] = if far > 0.0 {
        // Land rises from the coast by 1 % to 12 % of the distance; the lower limit ends at 3 % of the relief.
        [ground - sea, (0.01 * far).min(0.03 * relief), 0.12 * far]
    } else {
        // The sea floor falls by at least 2 % of the distance, up to 10 % of the relief, without a greatest depth.
        [sea - ground, (-0.02 * far).min(0.1 * relief), f64::INFINITY]
    };
    let over = if over < least {
        // Keep the relief, compressed or not, but on the right side of the sea level.
        least * (0.4 + 0.6 * least / (2.0 * least - over).max(1e-9))
    } else if over > most {
        // At `most` the result is `most`, and it approaches twice that value for very high ground.
        most + most * (over - most) / over
    } else {
        over
    };
    if far > 0.0 { sea + over } else { sea - over }
}

/// Changes the elevation within the accepted range; where it sinks, sediment is removed first.
fn change_elevations(terrain: &mut Terrain, to: impl Fn((usize, usize), f64) -> f64 + Sync) -> MassBalance {
    let mut budget = MassBalance::default();
    let before = &terrain.ground;
    let targets = Field::from_fn(terrain.grid.size, |i, j| {
        let old = before[(i, j)].metres();
        let new = to((i, j), old);
        // A cell without a change keeps its bits; all others are rounded to the nearest unit.
        if new == old || terrain.is_nodata(i, j) { before[(i, j)].0 } else { (new * UNITS).round() as i32 }
    });
    for (k, target) in targets.as_slice().iter().enumerate() {
        let ground = &mut terrain.ground.as_mut_slice()[k];
        let kept = (*target).clamp(Height::MIN.0, Height::MAX.0);
        let change = i64::from(kept) - i64::from(ground.0);
        budget.added += i128::from(change);
        budget.limited += u64::from(kept != *target);
        if let Some(loose) = terrain.loose.as_mut().filter(|_| change < 0) {
            let loose = &mut loose.as_mut_slice()[k];
            loose.0 = (i64::from(loose.0) + change).max(0) as i32;
        }
        ground.0 = kept;
    }
    budget
}
