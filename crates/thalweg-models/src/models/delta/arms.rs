//! The arms of a river, from its inlet to its mouths, and the table that stores them between steps.

use crate::models::delta::course;
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::terrain::Table;
use thalweg_core::{Point, Result, Terrain};
use thalweg_flow::hydraulic;

/// Name of the table of the vertices of arms, in downstream order. Columns: `river` (identifies the river), `arm`
/// (number of the arm within the river; 0 is the stem), `parent` (the arm that it branches from, −1 for none), `x` and
/// `y` (m), `weight` (its part of the parent's water relative to its sisters), `goal` (the weight that it approaches,
/// 0 while it silts up), `run` (metres that its mouth has advanced since the arm forked), `discharge` (m³/s).
pub const ARMS: &str = "arms";

/// Maximum number of vertices that are read back.
const MAX_POINTS: usize = 1_000_000;

/// A channel from a fork to the next fork or to the sea.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The arm from whose end it begins. That arm has a smaller number.
    pub parent: Option<usize>,
    /// Its vertices, at least two, in downstream order.
    pub line: Vec<Point>,
    /// Its part of the parent's water relative to its sisters.
    pub weight: f64,
    /// The weight that it approaches; 0 while it silts up.
    pub goal: f64,
    /// Metres that its mouth has advanced since it forked.
    pub run: f64,
}

/// The arms of one river. The first is its stem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arms(pub Vec<Arm>);

/// A piece of a channel between two vertices, with values at both ends.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub ends: [Point; 2],
    /// Half the channel width in metres.
    pub half: [f64; 2],
    /// Water level above the sea in metres.
    pub level: [f64; 2],
    /// Discharge in m³/s.
    pub flow: [f64; 2],
}

/// Number of vertices over which the discharge, and with it the width, of an arm changes from that of its parent to
/// its own.
const BLEND: usize = 5;

impl Arms {
    /// Returns the arms that branch from arm `k`.
    pub fn children(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        (k + 1..self.0.len()).filter(move |n| self.0[*n].parent == Some(k))
    }

    /// Returns true if arm `k` ends in the sea, and not at a fork.
    pub fn is_mouth(&self, k: usize) -> bool {
        self.children(k).next().is_none()
    }

    /// Returns each arm's share of the river's discharge.
    pub fn discharge_shares(&self) -> Vec<f64> {
        // A parent has a smaller number than its branches, so that its share is known when theirs are computed.
        let mut shares = vec![1.0; self.0.len()];
        for (k, arm) in self.0.iter().enumerate() {
            let Some(parent) = arm.parent else { continue };
            let all: f64 = self.children(parent).map(|n| self.0[n].weight).sum();
            shares[k] = if all > 0.0 { shares[parent] * arm.weight / all } else { 0.0 };
        }
        shares
    }

    /// Returns the distances in metres to the sea from the end and from the beginning of each arm. Over several paths
    /// it is the mean weighted by discharge.
    pub fn distances_to_sea(&self, shares: &[f64]) -> Vec<[f64; 2]> {
        let mut far = vec![[0.0; 2]; self.0.len()];
        // Branches come after their parents: backwards, all distances of the branches are known.
        for k in (0..self.0.len()).rev() {
            let (sum, all) =
                self.children(k).fold((0.0, 0.0), |(sum, all), n| (sum + shares[n] * far[n][1], all + shares[n]));
            let end = if all > 0.0 { sum / all } else { 0.0 };
            far[k] = [end, end + course::line_length(&self.0[k].line)];
        }
        far
    }

    /// Returns the channels as segments. The water is at sea level at the mouths and rises by `slope` along the stem.
    /// An arm that is longer than its sisters is flatter in proportion, so that all meet at the same level at a fork.
    pub fn to_segments(&self, discharge: f64, slope: f64) -> Vec<Segment> {
        let shares = self.discharge_shares();
        let far = self.distances_to_sea(&shares);
        let mut heads = vec![0.0; self.0.len()];
        let mut segments = Vec::new();
        for (k, arm) in self.0.iter().enumerate() {
            let [end, start] = far[k];
            // `heads` are levels at the ends of arms, in metres of path along the stem's slope. An arm begins at its
            // parent's level and ends, at a mouth, at 0.
            let head = arm.parent.map_or(start, |parent| heads[parent]);
            let flat = if start > 0.0 { head / start } else { 0.0 };
            heads[k] = end * flat;
            // The width changes over the first vertices of an arm, so that no fork has a step in its banks.
            let above = arm.parent.map_or(1.0, |parent| shares[parent]);
            let flow = |n: usize| {
                let t = (n as f64 / BLEND as f64).min(1.0);
                discharge * (above + t * (shares[k] - above))
            };
            let mut remaining_length = start;
            for (n, pair) in arm.line.windows(2).enumerate() {
                let next = (remaining_length - pair[0].distance_to(pair[1])).max(0.0);
                let flow = [flow(n), flow(n + 1)];
                segments.push(Segment {
                    ends: [pair[0], pair[1]],
                    half: flow.map(|flow| 0.5 * f64::from(hydraulic::channel_width(flow as f32))),
                    level: [remaining_length, next].map(|far| slope * flat * far),
                    flow,
                });
                remaining_length = next;
            }
        }
        segments
    }

    /// Lets the weights of arms approach their goals over some years, with the time constants `quick` for arms that
    /// stay and `slow` for arms that silt up. Removes arms with less than the share `least` of the river.
    pub fn adjust_weights(&mut self, years: f64, [quick, slow]: [f64; 2], least: f64) {
        for k in 0..self.0.len() {
            let sisters: Vec<usize> = self.children(k).collect();
            // At least one arm of a fork has to stay: the one with the most water.
            if !sisters.is_empty() && sisters.iter().all(|n| self.0[*n].goal <= 0.0) {
                let best =
                    sisters.iter().copied().reduce(|a, b| if self.0[b].weight > self.0[a].weight { b } else { a });
                if let Some(best) = best {
                    self.0[best].goal = 1.0;
                }
            }
        }
        // This is the exact solution of a decay towards the goal: it does not depend on the length of the steps.
        let [rise, fall] = [quick, slow].map(|time| libm::exp(-years / time.max(1e-9)));
        for arm in &mut self.0 {
            let lag = if arm.goal > 0.0 { rise } else { fall };
            arm.weight = arm.goal + (arm.weight - arm.goal) * lag;
        }
        let shares = self.discharge_shares();
        let goes: Vec<bool> =
            self.0.iter().zip(&shares).map(|(arm, share)| arm.parent.is_some() && *share < least).collect();
        self.remove_arms(&goes);
    }

    /// Removes the given arms and all that branch from them. Where only one arm is left at a fork, it is joined to its
    /// parent.
    pub fn remove_arms(&mut self, goes: &[bool]) {
        // One pass suffices, since parents come before their branches.
        let mut gone = goes.to_vec();
        for (k, arm) in self.0.iter().enumerate() {
            gone[k] |= arm.parent.is_some_and(|parent| gone[parent]);
        }
        let had: Vec<bool> = (0..self.0.len()).map(|k| !self.is_mouth(k)).collect();
        let mut tree = Vec::new();
        // Depth first, so that an arm comes after its parent.
        let mut next = vec![(0, None)];
        while let Some((k, parent)) = next.pop() {
            if gone.get(k) != Some(&false) {
                continue;
            }
            let mut arm = Arm { parent, ..self.0[k].clone() };
            let mut last = k;
            loop {
                let remaining_children: Vec<usize> = self.children(last).filter(|n| !gone[*n]).collect();
                // A single remaining branch continues this arm; its first vertex is the arm's last.
                if let [only] = remaining_children[..] {
                    arm.line.extend(self.0[only].line.iter().skip(1));
                    arm.run = self.0[only].run;
                    last = only;
                    continue;
                }
                // All branches are gone: this arm now ends in a mouth of its own, which has not advanced yet.
                if remaining_children.is_empty() && had[last] {
                    arm.run = 0.0;
                }
                // The stack returns the last entry first: branches are put on it in reverse and keep their order.
                next.extend(remaining_children.into_iter().rev().map(|n| (n, Some(tree.len()))));
                break;
            }
            tree.push(arm);
        }
        self.0 = tree;
    }

    /// Splits arm `k` at its vertex `n`: the part below becomes an arm of its own, and `new` branches off there.
    pub fn split_arm(&mut self, k: usize, n: usize, goal: f64, new: Arm) {
        let below = Arm { parent: Some(k), line: self.0[k].line.split_off(n), weight: 1.0, goal, run: self.0[k].run };
        let Some(place) = below.line.first() else { return };
        // Both parts share the vertex of the split.
        self.0[k].line.push(*place);
        let number = self.0.len();
        for arm in &mut self.0 {
            if arm.parent == Some(k) {
                arm.parent = Some(number);
            }
        }
        self.0.extend([below, Arm { parent: Some(k), ..new }]);
        self.renumber_arms();
    }

    /// Renumbers arms so that each comes after its parent.
    fn renumber_arms(&mut self) {
        // The queue holds arms in the order of their distance in forks from the stem.
        let mut order = vec![0];
        let mut done = 0;
        while done < order.len() {
            let k = order[done];
            order.extend((0..self.0.len()).filter(|n| self.0[*n].parent == Some(k)));
            done += 1;
        }
        let mut number = vec![0; self.0.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old] = new;
        }
        let arm =
            |old: &usize| Arm { parent: self.0[*old].parent.map(|parent| number[parent]), ..self.0[*old].clone() };
        self.0 = order.iter().map(arm).collect();
    }

    /// Reads the arms of a river from a terrain's table. Returns `None` if there are none or their values are not
    /// valid.
    ///
    /// # Errors
    /// Returns an error if the table does not have the columns of arms.
    pub fn read_table(terrain: &Terrain, river: i64) -> Result<Option<Self>> {
        let table = terrain.tables.get(ARMS).filter(|table| table.len() <= MAX_POINTS);
        let points = table.map(|table| ArmVertex::read_selected_rivers(table, |of| of == river)).transpose()?;
        let extent = terrain.grid.size.map(|count| count as f64 * terrain.grid.cell);
        Ok(points.and_then(|points| Self::from_vertices(&points, extent)))
    }

    /// Builds arms from their vertices. Returns `None` if these are out of order or outside the extent.
    fn from_vertices(points: &[ArmVertex], [high, wide]: [f64; 2]) -> Option<Self> {
        let mut arms: Vec<Arm> = Vec::new();
        for point in points {
            let number = usize::try_from(point.arm).ok()?;
            if number == arms.len() {
                let parent = usize::try_from(point.parent).ok();
                // Only the stem has no parent, and every other arm has one that comes before it.
                if parent.is_some_and(|parent| parent >= number) || parent.is_some() != (number > 0) {
                    return None;
                }
                let [weight, goal, run] = [point.weight, point.goal, point.run].map(f64::from);
                if [weight, goal].iter().any(|part| !(0.0..=1.0).contains(part)) || !(0.0..=1e9).contains(&run) {
                    return None;
                }
                arms.push(Arm { parent, line: Vec::new(), weight, goal, run });
            }
            let place = Point { x: point.x.into(), y: point.y.into() };
            if number + 1 != arms.len() || !(0.0..=high).contains(&place.y) || !(0.0..=wide).contains(&place.x) {
                return None;
            }
            arms[number].line.push(place);
        }
        (!arms.is_empty() && arms.iter().all(|arm| arm.line.len() > 1)).then_some(Self(arms))
    }

    /// Writes the arms of a river to the terrain's table; the arms of other rivers are kept.
    ///
    /// # Errors
    /// Returns an error if the terrain has a table of that name without the columns of arms.
    pub fn write_table(&self, terrain: &mut Terrain, river: i64, discharge: f64) -> Result<()> {
        let shares = self.discharge_shares();
        let point = |number: usize, arm: &Arm, place: &Point| ArmVertex {
            river,
            arm: number as i64,
            parent: arm.parent.map_or(-1, |parent| parent as i64),
            x: place.x as f32,
            y: place.y as f32,
            weight: arm.weight as f32,
            goal: arm.goal as f32,
            run: arm.run as f32,
            discharge: (shares[number] * discharge) as f32,
        };
        let arms = self.0.iter().enumerate();
        let own = arms.flat_map(|(number, arm)| arm.line.iter().map(move |place| (number, arm, place)));
        let mut points: Vec<ArmVertex> = own.map(|(number, arm, place)| point(number, arm, place)).collect();
        if let Some(table) = terrain.tables.get(ARMS) {
            points.extend(ArmVertex::read_selected_rivers(table, |of| of != river)?);
        }
        terrain.tables.insert(ARMS.to_string(), ArmVertex::pack(points.into_iter()));
        Ok(())
    }
}

/// A row of the table of arms: see [`ARMS`].
#[derive(Clone, Copy, Default)]
struct ArmVertex {
    river: i64,
    arm: i64,
    parent: i64,
    x: f32,
    y: f32,
    weight: f32,
    goal: f32,
    run: f32,
    discharge: f32,
}

impl Row for ArmVertex {
    const ITEM_NAME: &'static str = "point of an arm";

    columns! {
        ArmVertex {
            river: i64, "1" = river;
            arm: i64, "1" = arm;
            parent: i64, "1" = parent;
            x: f32, "m" = x;
            y: f32, "m" = y;
            weight: f32, "1" = weight;
            goal: f32, "1" = goal;
            run: f32, "m" = run;
            discharge: f32, "m³/s" = discharge;
        }
    }
}

impl ArmVertex {
    /// Returns the vertices of the rivers that `is_selected` accepts.
    fn read_selected_rivers(table: &Table, is_selected: impl Fn(i64) -> bool) -> Result<Vec<Self>> {
        let points = Self::unpack(ARMS, table)?;
        points.filter(|point| point.as_ref().map_or(true, |point| is_selected(point.river))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;

    fn line(points: &[[f64; 2]]) -> Vec<Point> {
        points.iter().copied().map(Point::from).collect()
    }

    fn arm(parent: Option<usize>, points: &[[f64; 2]], weight: f64) -> Arm {
        Arm { parent, line: line(points), weight, goal: weight, run: 0.0 }
    }

    /// Returns a stem of 1000 m that forks into arms of 500 m and 1000 m. The longer one takes three quarters of the
    /// water.
    fn forked() -> Arms {
        let stem = arm(None, &[[1000.0, 0.0], [1000.0, 1000.0]], 1.0);
        let short = arm(Some(0), &[[1000.0, 1000.0], [1000.0, 1500.0]], 0.25);
        Arms(vec![stem, short, arm(Some(0), &[[1000.0, 1000.0], [2000.0, 1000.0]], 0.75)])
    }

    #[test]
    fn arms_share_the_water_and_meet_at_one_level() {
        let arms = forked();
        assert_eq!(arms.discharge_shares(), [1.0, 0.25, 0.75]);
        // At the fork a quarter of the water has 500 m to go and the rest 1000 m: 875 m on average.
        assert_eq!(arms.distances_to_sea(&arms.discharge_shares())[0], [875.0, 1875.0]);
        let segments = arms.to_segments(400.0, 1e-3);
        let levels: Vec<[f64; 2]> = segments.iter().map(|s| s.level).collect();
        assert_eq!(levels, [[1.875, 0.875], [0.875, 0.0], [0.875, 0.0]]);
        assert!((segments[0].half[0] - 72.0).abs() < 0.01);
    }

    #[test]
    fn an_arm_that_is_left_alone_goes_on_from_its_stem() {
        let mut arms = forked();
        arms.remove_arms(&[false, false, true]);
        assert_eq!(arms.0.len(), 1);
        assert_eq!(arms.0[0].line, line(&[[1000.0, 0.0], [1000.0, 1000.0], [1000.0, 1500.0]]));
        let mut fading = forked();
        fading.0[1].goal = 0.0;
        for _ in 0..100 {
            fading.adjust_weights(10.0, [50.0, 200.0], 0.02);
        }
        assert_eq!(fading.0.len(), 1);
        assert_eq!(fading.0[0].line.last(), Some(&Point::new(2000.0, 1000.0)));
    }

    #[test]
    fn a_parted_arm_keeps_what_leaves_it_and_comes_back_from_its_table() {
        let mut arms = forked();
        arms.0[0].line.insert(1, Point::new(1000.0, 400.0));
        arms.split_arm(0, 1, 0.0, arm(None, &[[1000.0, 400.0], [100.0, 500.0]], 0.1));
        assert_eq!(arms.0.len(), 5);
        assert_eq!(arms.0[0].line, line(&[[1000.0, 0.0], [1000.0, 400.0]]));
        let below = arms.children(0).find(|k| arms.0[*k].goal <= 0.0).unwrap();
        assert_eq!(arms.children(below).count(), 2);
        let mut terrain = Terrain::new(Grid::new([30, 30], 100.0).unwrap());
        let mut other = forked();
        other.0[1].weight = 0.5;
        other.write_table(&mut terrain, 7, 10.0).unwrap();
        arms.write_table(&mut terrain, 8, 10.0).unwrap();
        arms.write_table(&mut terrain, 8, 10.0).unwrap();
        assert_eq!(Arms::read_table(&terrain, 7).unwrap(), Some(other));
        let back = Arms::read_table(&terrain, 8).unwrap().unwrap();
        assert_eq!(
            back.0.iter().map(|arm| arm.parent).collect::<Vec<_>>(),
            arms.0.iter().map(|arm| arm.parent).collect::<Vec<_>>()
        );
        assert_eq!(Arms::read_table(&terrain, 9).unwrap(), None);
        terrain.tables.get_mut(ARMS).unwrap().columns[2].2 =
            thalweg_core::terrain::Column::Int(vec![3; terrain.tables[ARMS].len()]);
        assert_eq!(Arms::read_table(&terrain, 7).unwrap(), None);
        terrain.tables.get_mut(ARMS).unwrap().columns.remove(5);
        assert!(Arms::read_table(&terrain, 7).unwrap_err().to_string().contains("`weight`"));
    }
}
