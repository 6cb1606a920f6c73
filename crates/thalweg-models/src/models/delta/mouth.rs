//! River mouths: bars, how mouths advance over them, and forks.

use crate::models::delta::Delta;
use crate::models::delta::arms::{Arm, Arms};
use crate::models::delta::bed::raise_cell;
use crate::models::delta::course::{Lines, end_heading};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Height, Point, Terrain};
use thalweg_flow::hydraulic;

/// Height of a bar's top above the sea, in levee heights.
const BAR_TOP_LEVEE_HEIGHTS: f64 = 0.2;
/// Mud in front of a bar: its share of the load that the bar leaves, the depth of its top below the sea in levee
/// heights, and the factor by which it is flatter than the bar.
const MUD: [f64; 3] = [0.35, 0.3, 6.0];
/// A mouth advances where the sea in front of it is no deeper than this share of its own depth.
const SHALLOW: f64 = 0.6;
/// Minimum share of the river of an arm that forks.
const MIN_FORK_SHARE: f64 = 0.08;
/// Minimum and maximum distance from one fork to the next, in means of the arm's width and the river's.
const FORK_SPACING_WIDTHS: [f64; 2] = [6.0, 13.0];
/// Minimum and maximum share of the water in one arm of a fork.
const PARTS: [f64; 2] = [0.35, 0.65];
/// Half the angle between the arms of a fork in radians: 72° in all (Coffey & Shaw 2017, doi:10.1002/2017GL074873),
/// less where the arms are short.
const ANGLE: f64 = 0.6;
/// Minimum distance of an arm from others, in widths of the arm, and in distances between vertices; the greater one
/// counts.
const MIN_ARM_CLEARANCE: [f64; 2] = [2.2, 1.8];
/// Distance in widths beyond which other arms do not deflect an arm.
const DEFLECTION_DISTANCE_WIDTHS: f64 = 8.0;
/// Minimum distance of mouths from the world's edge, in widths of the river.
const EDGE: f64 = 3.0;
/// Maximum lateral extent of bars and of mud, in widths of the river.
const MAX_LATERAL_EXTENT_WIDTHS: [f64; 2] = [7.0, 14.0];

/// The situation in front of a mouth.
enum Ahead {
    /// The sea is still too deep.
    Deep,
    /// The mouth advances to this point.
    Free(Point),
    /// Land, another arm, or the edge of the world is in the way.
    Closed,
}

/// The arm whose mouth is assessed.
#[derive(Clone, Copy)]
struct AssessedArm {
    /// The arm's index.
    k: usize,
    /// The arm's share of the river's discharge.
    share: f64,
    /// The distance between the arm's vertices in metres.
    spacing: f64,
}

impl Delta {
    /// Builds a cone in front of a mouth from a load in units, up to `top` metres above the sea, with the slope
    /// `front`, tapering out at `far` metres to the sides. Returns the units deposited.
    fn deposit_cone(
        &self,
        terrain: &mut Terrain,
        sea: Height,
        arm: &Arm,
        [top, front, far]: [f64; 3],
        load: i64,
    ) -> i64 {
        let [rows, cols] = terrain.grid.size;
        let cell = terrain.grid.cell;
        let Some(Point { x, y }) = arm.line.last().copied() else { return 0 };
        let ahead = end_heading(&arm.line, 2.0 * self.river_width()).unwrap_or([0.0; 2]);
        let top = i64::from(sea.0) + (top * UNITS) as i64;
        // Distance from the mouth in metres; distances ahead count half, so that the cone is twice as long ahead.
        let off = |i: usize, j: usize| {
            let [dy, dx] = [(i as f64 + 0.5) * cell - y, (j as f64 + 0.5) * cell - x];
            let along = dy * ahead[0] + dx * ahead[1];
            let across = dy * dy + dx * dx - along * along;
            let along = if along > 0.0 { 0.5 * along } else { along };
            (along * along + across.max(0.0)).sqrt()
        };
        let fall = front * UNITS;
        let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask[k]);
        let far = far.max(cell);
        // The search covers twice `far` in each direction, as distances ahead count half.
        let span = |at: f64, count: usize| {
            let low = ((at - 2.0 * far) / cell).max(0.0) as usize;
            low..(((at + 2.0 * far) / cell) as usize + 1).min(count)
        };
        // Cells within reach of the cone, with the units that a cone with its tip at `top` would add.
        let cells: Vec<(usize, i64)> = span(y, rows)
            .flat_map(|i| span(x, cols).map(move |j| (i, j)))
            .filter_map(|(i, j)| {
                let k = i * cols + j;
                let off = off(i, j);
                // The factor (1 − r²)² lets the cone end without a step at `far`.
                let out = (1.0 - (off / far) * (off / far)).max(0.0);
                let need = top - (fall * off) as i64 - i64::from(terrain.ground[k].0);
                let need = (need as f64 * out * out) as i64;
                (need > 0 && !void(k)).then_some((k, need))
            })
            .collect();
        // Bisection for the least depth below `top` at which the load suffices to build the cone's tip.
        let taken = |below: i64| cells.iter().map(|(_, need)| (need - below).max(0)).sum::<i64>();
        let (mut low, mut high) = (0, cells.iter().map(|(_, need)| *need).max().unwrap_or(0));
        while low < high {
            let middle = low + (high - low) / 2;
            if taken(middle) <= load { high = middle } else { low = middle + 1 }
        }
        cells.into_iter().map(|(k, need)| raise_cell(terrain, k, (need - low).max(0))).sum()
    }

    /// Deposits the load of a mouth, in units: a bar, and mud in front of it. Returns the units deposited.
    pub(super) fn deposit_mouth_bar(&self, terrain: &mut Terrain, sea: Height, arm: &Arm, load: i64) -> i64 {
        let [near, far] = MAX_LATERAL_EXTENT_WIDTHS.map(|widths| widths * self.river_width());
        let bar = self.deposit_cone(terrain, sea, arm, [BAR_TOP_LEVEE_HEIGHTS * self.levee, self.front, near], load);
        // Mud gets a share of what the bar could not take; the rest drifts on and is returned as not deposited.
        let mud = (MUD[0] * (load - bar) as f64) as i64;
        bar + self.deposit_cone(terrain, sea, arm, [-MUD[1] * self.levee, self.front / MUD[2], far], mud)
    }

    /// Advances mouths over their bars, forks those that have advanced far enough, and marks arms that are blocked to
    /// silt up. `spacing` is the distance between an arm's vertices in metres, by which a mouth advances.
    pub(super) fn advance_mouths(&self, arms: &mut Arms, terrain: &Terrain, sea: Height, spacing: f64, key: RandomKey) {
        let shares = arms.discharge_shares();
        let mut forks = Vec::new();
        // The mouths are listed first: forks are added at the end of the list and must not advance in the same step.
        let mouths: Vec<usize> = (0..arms.0.len()).filter(|k| arms.is_mouth(*k)).collect();
        for k in mouths {
            let key = key.derive_key(k as u64);
            let width = self.river_width() * shares[k].sqrt();
            let between = 0.5
                * (width + self.river_width())
                * (FORK_SPACING_WIDTHS[0]
                    + (FORK_SPACING_WIDTHS[1] - FORK_SPACING_WIDTHS[0]) * key.derive_key(1).uniform_unit());
            match self.assess_mouth_advance(arms, AssessedArm { k, share: shares[k], spacing }, terrain, sea, key) {
                Ahead::Deep => {}
                Ahead::Free(place) => {
                    let arm = &mut arms.0[k];
                    arm.line.push(place);
                    arm.run += spacing;
                    if arm.run > between && shares[k] >= MIN_FORK_SHARE && arm.goal > 0.0 {
                        forks.push(k);
                    }
                }
                Ahead::Closed => {
                    // The stem never silts up, and neither does an arm that has not advanced since its fork.
                    if arms.0[k].parent.is_some() && arms.0[k].run > 0.0 {
                        arms.0[k].goal = 0.0;
                    }
                }
            }
        }
        for k in forks {
            let Some(ahead) = end_heading(&arms.0[k].line, 2.0 * spacing) else { continue };
            let Some(end) = arms.0[k].line.last().copied() else { continue };
            let part = PARTS[0] + (PARTS[1] - PARTS[0]) * key.derive_key(k as u64).derive_key(2).uniform_unit();
            // The two branches turn by the same angle to either side and begin with one vertex each.
            for (side, weight) in [(-1.0, part), (1.0, 1.0 - part)] {
                let [s, c] = [libm::sin(side * ANGLE), libm::cos(ANGLE)];
                let to = [c * ahead[0] - s * ahead[1], s * ahead[0] + c * ahead[1]];
                let line = vec![end, Point { x: end.x + spacing * to[1], y: end.y + spacing * to[0] }];
                arms.0.push(Arm { parent: Some(k), line, weight, goal: weight, run: 0.0 });
            }
        }
    }

    /// Determines if and where the mouth of an arm advances: the best of seven directions within ±0.51 radians.
    fn assess_mouth_advance(
        &self,
        arms: &Arms,
        assessed: AssessedArm,
        terrain: &Terrain,
        sea: Height,
        key: RandomKey,
    ) -> Ahead {
        let AssessedArm { k, share, spacing } = assessed;
        let arm = &arms.0[k];
        let (Some(end), Some(ahead)) = (arm.line.last().copied(), end_heading(&arm.line, 2.0 * spacing)) else {
            return Ahead::Closed;
        };
        let depth = f64::from(hydraulic::channel_depth((share * self.discharge) as f32));
        let width = self.river_width() * share.sqrt();
        // Arms to keep away from. Sisters and parent count only once this arm has left them behind.
        let kin = |n: usize| arm.parent == Some(n) || (arm.parent.is_some() && arms.0[n].parent == arm.parent);
        let young = arm.run < (4.0 * width).max(4.0 * spacing);
        let others = (0..arms.0.len()).filter(|n| *n != k && !(young && kin(*n))).map(|n| &arms.0[n].line[..]);
        let (others, room) = (Lines::new(others), (DEFLECTION_DISTANCE_WIDTHS * width).max(1e-9));
        let mut best: Option<(f64, Point)> = None;
        for turn in -3..=3 {
            let angle = 0.17 * f64::from(turn);
            let [s, c] = [libm::sin(angle), libm::cos(angle)];
            let to = [c * ahead[0] - s * ahead[1], s * ahead[0] + c * ahead[1]];
            let at = |far: f64| Point { x: end.x + far * to[1], y: end.y + far * to[0] };
            let look = spacing + 3.0 * width;
            let height = |far: f64| {
                // Depths count in depths of the arm: at most 3 for deep sea and at least −1 for land.
                mean_height_near(terrain, sea, at(far), 1.5 * width)
                    .map_or(0.0, |height| (-height / depth).clamp(-1.0, 3.0))
            };
            // Prefers deep water and room, with a random part and a penalty for turning.
            let sight = 0.5 * (height(look) + height(2.0 * look + 3.0 * width));
            let clear = others.distance_to_nearest(at(look), room) / room;
            let chance = key.derive_key(10 + (turn + 3) as u64).uniform_unit();
            let score = 0.8 * sight + 1.2 * clear + 0.7 * chance - 2.5 * angle * angle;
            // With equal scores the direction that is tried first wins.
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, at(spacing)));
            }
        }
        let Some((_, place)) = best else { return Ahead::Closed };
        let extent = terrain.grid.size.map(|count| count as f64 * terrain.grid.cell);
        let margin = EDGE * self.river_width();
        let least = (MIN_ARM_CLEARANCE[0] * width).max(MIN_ARM_CLEARANCE[1] * spacing);
        if (0..2).any(|a| !(margin..=extent[a] - margin).contains(&place.axis_coordinate(a)))
            || others.distance_to_nearest(place, least) < least
        {
            return Ahead::Closed;
        }
        match mean_height_near(terrain, sea, place, 0.5 * width) {
            None => Ahead::Closed,
            // Ground higher than three quarters of a levee is land that blocks the mouth.
            Some(height) if height > 0.75 * self.levee => Ahead::Closed,
            Some(height) if height < -SHALLOW * depth => Ahead::Deep,
            Some(_) => Ahead::Free(place),
        }
    }

    /// Returns the width of the whole river in metres.
    pub(super) fn river_width(&self) -> f64 {
        f64::from(hydraulic::channel_width(self.discharge as f32))
    }
}

/// Returns the mean height above the sea in metres within a distance of a place, or `None` if there is no ground.
fn mean_height_near(terrain: &Terrain, sea: Height, place: Point, within: f64) -> Option<f64> {
    let [rows, cols] = terrain.grid.size;
    let cell = terrain.grid.cell;
    // The radius is at least 0.75 cells, so that the circle always contains the centre of a cell.
    let within = within.max(0.75 * cell);
    let span = |at: f64, count: usize| {
        let low = ((at - within) / cell).max(0.0) as usize;
        low..(((at + within) / cell).max(-1.0) + 1.0).max(0.0).min(count as f64) as usize
    };
    let (mut sum, mut count) = (0i64, 0i64);
    for i in span(place.y, rows) {
        for j in span(place.x, cols) {
            let centre = Point { x: (j as f64 + 0.5) * cell, y: (i as f64 + 0.5) * cell };
            if centre.distance_to(place) <= within && !terrain.nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
                sum += i64::from(terrain.ground[(i, j)].0 - sea.0);
                count += 1;
            }
        }
    }
    (count > 0).then(|| sum as f64 / count as f64 / UNITS)
}
