//! [`Volcano`]: a shield volcano with rift zones, vents along them, a caldera, and a flank that has collapsed into
//! the sea.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, laid_in_bands};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, Point, params};

params! {
    /// Builds a volcano with the form that lava gives it: a shield elongated along rift zones, small cones along them,
    /// a caldera at the summit, and where a flank has collapsed, an amphitheatre that opens outward.
    ///
    /// From the summit, `rifts` axes extend, at even angles or less even ones with more `wander`. Each is `stretch`
    /// times the radius R long, or up to a third shorter. At the share t of an axis its crest is h·(1 − 0.62·t) high.
    /// On either side the ground falls as f(d/(R·(1 − 0.45·t))), where d is the distance from the axis, f(s) = ½·b(s) +
    /// 0.3·b(s/0.55) + 0.2·b(s/0.3), and b(s) = (1 − s²)² for s < 1, else 0: gentle far out, steeper towards the
    /// summit. The shield is the fourth root of the mean fourth power over the axes, so that their ridges merge.
    ///
    /// `vents` cones stand on the axes, more of them near the summit. Their radii are `vent`·(½ to 1), their flanks
    /// rise by 1 in 5, and each has a crater. The caldera is an ellipse along the first axis whose rim varies by about
    /// a tenth; its floor is `caldera_depth` below the summit.
    ///
    /// If `collapse` is above 0, a flank has slid off in the middle of the widest gap between axes: from a round head,
    /// of radius R/5 about a point 0.16·R from the summit, a scar opens outward, widening by 28° to each side at first
    /// and by less farther out. Its floor falls from h·(1 − collapse) at the head to the foot of the volcano, and its
    /// walls have a slope of 40°.
    ///
    /// Source: rift zones and shields Walker (1999, *Volcanic rift zones and their intrusion swarms*, J. Volcanol.
    /// Geotherm. Res. 94); axes at even angles Carracedo (1994, *The Canary Islands: an example of structural control*,
    /// J. Volcanol. Geotherm. Res. 60); collapses Moore et al. (1989, doi:10.1029/JB094iB12p17465), on the flanks
    /// between rifts; cones Wood (1980, *Morphometric evolution of cinder cones*, J. Volcanol. Geotherm. Res. 7).
    /// Deviations: the profiles are our own, and no lava flows are simulated.
    ///
    /// It needs no layers, uses `amount`, and changes the ground only. The volcano is a function of world metres and of
    /// the seed for one extent: windows and resolutions agree. `multiply` maps 0 to height to factors of 0 to 1.
    ///
    /// Limits: it is smooth between its parts; blend noise over it, and let rain and the sea erode it.
    pub struct Volcano {
        /// Height of the summit above the volcano's foot.
        height: f64 = 2000.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Distance from the axes to the foot of the flanks.
        radius: f64 = 6000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Number of rift zones: 1 or 2 make a long ridge, 3 a star of three blunt arms.
        rifts: u32 = 2, within 1..=6, unit "1", source "Carracedo 1994, 2 or 3";
        /// Length of a rift zone in radii: a greater length makes the island longer.
        stretch: f64 = 0.6, within 0.0..=5.0, unit "1", source "ours";
        /// Direction of the first rift zone, clockwise from north.
        azimuth: f64 = 60.0, within -360.0..=360.0, unit "°", source "ours";
        /// Random variation of the directions, spacing and lengths of the rift zones: 0 for none, 1 for any direction.
        wander: f64 = 1.0, within 0.0..=1.0, unit "1", source "ours";
        /// Number of small cones.
        vents: u32 = 24, within 0..=1000, unit "1", source "ours";
        /// Radius of the largest small cone.
        vent: f64 = 350.0, within 1.0..=1e6, unit "m", scales Size, source "Wood 1980, 100 to 800";
        /// Semi-axis of the caldera along the first rift zone; 0 for no caldera.
        caldera: f64 = 700.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Depth of the caldera's floor below the summit.
        caldera_depth: f64 = 220.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Depth of a collapsed flank's scar at its head, as a share of the height; 0 for none.
        collapse: f64 = 0.45, within 0.0..=1.0, unit "1", source "Moore 1989";
        /// Position of the summit between west (0) and east (1).
        centre_x: f64 = 0.5, within -10.0..=10.0, unit "1", source "ours";
        /// Position of the summit between north (0) and south (1).
        centre_y: f64 = 0.5, within -10.0..=10.0, unit "1", source "ours";
        /// How the volcano's values are combined with the existing ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for Volcano {
    fn about(&self) -> About {
        About {
            name: "volcano",
            title: "Volcano",
            summary: "A volcano: a shield along rift zones, cones on them, a caldera, a collapsed flank.",
            source: "Walker (1999), Volcanic rift zones and their intrusion swarms; Moore et al. (1989)",
            family: Family::Base,
            uses: &[AMOUNT],
            ..About::default()
        }
    }

    laid_in_bands!();
}

/// A rift axis: its direction and its length in metres.
struct RiftAxis {
    sin: f64,
    cos: f64,
    length: f64,
}

/// A volcanic cone.
struct VolcanicCone {
    /// The centre, in metres from the summit.
    at: Point,
    radius: f64,
}

/// The scar of a collapsed flank, which opens in the direction (sin, cos).
struct Scar {
    sin: f64,
    cos: f64,
}

/// The features that are drawn from the seed.
struct Built {
    axes: Vec<RiftAxis>,
    cones: Vec<VolcanicCone>,
    scar: Option<Scar>,
    /// The phases of the waves along the caldera's rim.
    phases: [f64; 2],
}

/// The slope of a scar's walls: tan 40°.
const SCAR_WALL_SLOPE: f64 = 0.84;

/// Returns the bell b(s) of the model's documentation: (1 − s²)² for |s| < 1, and 0 otherwise.
fn bell_curve(s: f64) -> f64 {
    let inside = (1.0 - s * s).max(0.0);
    inside * inside
}

/// Returns the flank profile f(s) of the model's documentation: the height at the distance s, both as shares of the
/// whole.
fn flank_profile(s: f64) -> f64 {
    0.5 * bell_curve(s) + 0.3 * bell_curve(s / 0.55) + 0.2 * bell_curve(s / 0.3)
}

impl Volcano {
    fn draw_features(&self, key: RandomKey) -> Built {
        let Self { radius, wander, .. } = *self;
        let count = f64::from(self.rifts);
        // Keys from 100 on belong to rifts and from 10 000 on to vents, so their random numbers do not overlap.
        let turn = self.azimuth.to_radians() + wander * PI * key.derive_key(1).uniform_signed();
        let mut angles = Vec::new();
        let axes: Vec<_> = (0..self.rifts)
            .map(|k| {
                let own = key.derive_key(100 + u64::from(k));
                // A gap between axes differs from an even share by at most a third, so the axes keep their order.
                let angle = turn + TAU / count * (f64::from(k) + wander * own.uniform_signed() / 6.0);
                let (sin, cos) = libm::sincos(angle);
                angles.push(angle);
                RiftAxis {
                    sin,
                    cos,
                    length: self.stretch * radius * (1.0 - wander * own.derive_key(1).uniform_unit() / 3.0),
                }
            })
            .collect();
        let cones = (0..self.vents)
            .map(|k| {
                let own = key.derive_key(10_000 + u64::from(k));
                let axis = &axes[k as usize % axes.len()];
                let share = own.derive_key(1).uniform_unit();
                // Cones are denser near the summit, with none at the summit itself, and within 0.14 radii (a seventh)
                // on either side of the axis.
                let [along, across] =
                    [axis.length * (0.15 + 0.95 * share * share), 0.14 * radius * own.derive_key(2).uniform_signed()];
                let at = Point { x: along * axis.sin + across * axis.cos, y: -along * axis.cos + across * axis.sin };
                VolcanicCone { at, radius: self.vent * (0.5 + 0.5 * own.derive_key(3).uniform_unit()) }
            })
            .collect();
        let gap = |k: usize| angles.get(k + 1).copied().unwrap_or(angles[0] + TAU) - angles[k];
        // The flank collapses between the two rifts that are farthest apart. The tolerance lets the first of equal gaps
        // win, however they were rounded.
        let widest = (0..angles.len()).fold(0, |best, k| if gap(k) > gap(best) + 1e-9 { k } else { best });
        let scar = (self.collapse > 0.0).then(|| {
            let (sin, cos) = libm::sincos(angles[widest] + 0.5 * gap(widest));
            Scar { sin, cos }
        });
        Built { axes, cones, scar, phases: [2, 3].map(|part| TAU * key.derive_key(part).uniform_unit()) }
    }

    /// Returns the height in metres above the foot at a point given in metres from the summit.
    fn height_at(&self, built: &Built, point: Point) -> f64 {
        let Self { height, radius, .. } = *self;
        let Point { x, y } = point;
        let mut sum = 0.0;
        for axis in &built.axes {
            let [along, across] = [x * axis.sin - y * axis.cos, x * axis.cos + y * axis.sin];
            // The nearest point of the axis is at the share t of its length, from the summit to the end of the rift.
            let t = if axis.length > 0.0 { (along / axis.length).clamp(0.0, 1.0) } else { 0.0 };
            let off = along - t * axis.length;
            let s = (off * off + across * across).sqrt() / (radius * (1.0 - 0.45 * t));
            let z = (1.0 - 0.62 * t) * flank_profile(s);
            sum += z * z * z * z;
        }
        // The mean of fourth powers is close to the highest ridge and merges ridges without a crease.
        let mut z = height * (sum / built.axes.len() as f64).sqrt().sqrt();
        for cone in &built.cones {
            let r = ((x - cone.at.x).powi(2) + (y - cone.at.y).powi(2)).sqrt() / cone.radius;
            if r < 1.0 {
                // The crater is a bowl within a quarter of the cone's radius.
                z += 0.2 * cone.radius * (1.0 - r).min(0.55 + 0.8 * r);
            }
        }
        if self.caldera > 0.0 {
            z = self.caldera_at(built, point, z);
        }
        match &built.scar {
            Some(scar) => z.min(self.scar_at(scar, point)),
            None => z,
        }
    }

    /// Returns the height `z` with the caldera sunk into it.
    fn caldera_at(&self, built: &Built, Point { x, y }: Point, z: f64) -> f64 {
        let axis = &built.axes[0];
        // The caldera is an ellipse, longer along the first rift by the factor 1.35.
        let [along, across] = [x * axis.sin - y * axis.cos, (x * axis.cos + y * axis.sin) * 1.35];
        let far = (along * along + across * across).sqrt();
        if far > 1.2 * self.caldera {
            return z;
        }
        let angle = libm::atan2(across, along);
        let [two, three] = built.phases;
        let rim = self.caldera * (1.0 + 0.07 * libm::sin(2.0 * angle + two) + 0.06 * libm::sin(3.0 * angle + three));
        // The wall rises smoothly over the outer 28 % of the radius.
        let out = ((far / rim - 0.72) / 0.28).clamp(0.0, 1.0);
        let floor = z.min(self.height - self.caldera_depth);
        floor + (z - floor) * out * out * (3.0 - 2.0 * out)
    }

    /// Returns the surface of the scar, which cuts off everything above it.
    fn scar_at(&self, scar: &Scar, Point { x, y }: Point) -> f64 {
        let Self { height, radius, collapse, .. } = *self;
        // Coordinates are relative to the centre of the scar's round head.
        let [along, across] = [x * scar.sin - y * scar.cos - 0.16 * radius, x * scar.cos + y * scar.sin];
        let head = 0.2 * radius;
        let (behind, on) = (along.min(0.0), along.max(0.0));
        // The scar widens by tan 28° near its head and by half as much far out.
        let wide = head + 0.53 * on / (1.0 + 0.7 * on / radius);
        let beside = ((behind * behind + across * across).sqrt() - wide).max(0.0);
        let floor = height * (1.0 - collapse) * (1.0 - (along + head) / (1.05 * radius));
        floor + SCAR_WALL_SLOPE * beside
    }
}

impl Base for Volcano {
    fn value_range(&self) -> [f64; 2] {
        [0.0, self.height]
    }

    fn prepare_row_values(&self, grid: &Grid, key: RandomKey, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let extent = grid.extent();
        let centre = Point { x: self.centre_x * extent.width, y: self.centre_y * extent.height };
        let built = self.draw_features(key);
        move |i, row| {
            let y = grid.row_center_y(i) - centre.y;
            for (j, value) in row.iter_mut().enumerate() {
                *value = self.height_at(&built, Point { x: grid.col_center_x(j) - centre.x, y }).max(0.0) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::assert_windows_agree;

    const KEY: u64 = 7;

    fn plain() -> Volcano {
        Volcano { vents: 0, caldera: 0.0, collapse: 0.0, wander: 0.0, azimuth: 90.0, ..Default::default() }
    }

    #[test]
    fn it_is_high_along_its_rifts_and_ends_at_its_foot() {
        let volcano = plain();
        let built = volcano.draw_features(RandomKey::new(KEY, "volcano"));
        let at = |x: f64, y: f64| volcano.height_at(&built, Point { x, y });
        assert!((at(0.0, 0.0) - volcano.height).abs() < 1e-9, "all axes agree on the summit");
        // The first axis runs east, the second west; north and south of the summit the ground is lower.
        for far in [1000.0, 2500.0, 3600.0] {
            assert!(at(far, 0.0) > at(0.0, far) && at(-far, 0.0) > at(0.0, -far), "{far}");
        }
        assert_eq!(at(0.0, 6001.0), 0.0);
        assert!(at(6200.0, 0.0) > 0.0, "it is longer than it is wide");
    }

    #[test]
    fn a_fallen_flank_opens_outward_between_the_rifts() {
        let whole = plain();
        let fallen = Volcano { collapse: 0.5, ..plain() };
        let key = RandomKey::new(KEY, "volcano");
        let cut = |x: f64, y: f64| {
            let point = Point { x, y };
            whole.height_at(&whole.draw_features(key), point) - fallen.height_at(&fallen.draw_features(key), point)
        };
        // The axes run east and west, so the first of the two equal gaps is to the south.
        assert!(cut(0.0, 1500.0) > 100.0 && cut(0.0, -2000.0) <= 0.0 && cut(3500.0, 0.0) <= 0.0);
    }

    #[test]
    fn a_caldera_is_sunk_to_its_floor() {
        let volcano = Volcano { caldera: 700.0, ..plain() };
        let built = volcano.draw_features(RandomKey::new(KEY, "volcano"));
        assert_eq!(volcano.height_at(&built, Point::new(0.0, 0.0)), volcano.height - volcano.caldera_depth);
        assert_eq!(
            volcano.height_at(&built, Point::new(850.0, 0.0)),
            plain().height_at(&built, Point::new(850.0, 0.0)),
            "beyond its rim nothing is sunk"
        );
    }

    #[test]
    fn every_seed_draws_another() {
        let volcano = Volcano::default();
        let at = |seed: u64| {
            volcano.height_at(&volcano.draw_features(RandomKey::new(seed, "volcano")), Point::new(2500.0, 1200.0))
        };
        assert!(at(1) != at(2) && at(2) != at(3));
    }

    #[test]
    fn windows_are_cut_from_the_whole() {
        assert_windows_agree(&Volcano::default(), &Grid::new([40, 31], 300.0).unwrap());
    }
}
