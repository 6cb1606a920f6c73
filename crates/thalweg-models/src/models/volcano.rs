//! [`Volcano`]: a shield with rift zones, vents along them, a caldera, and a flank that fell into the sea.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, laid_in_bands};
use thalweg_core::base::rng::Key;
use thalweg_core::{Grid, Point, params};

params! {
    /// Lays a volcano as lava built it: a shield drawn out along rift zones, small cones along them, a caldera at the
    /// summit, and where a flank fell, an amphitheatre that opens outward.
    ///
    /// From the summit `rifts` axes run out, evenly about it or less so by `wander`, each `stretch` times the radius R
    /// long or up to a third less. At the share t of an axis its crest is h·(1 − 0.62·t) high, and the ground beside it
    /// falls as f(d/(R·(1 − 0.45·t))), d the distance from the axis, f(s) = ½·b(s) + 0.3·b(s/0.55) + 0.2·b(s/0.3), b(s)
    /// = (1 − s²)² for s < 1, else 0: gentle far out, steeper towards the summit. The shield is the fourth root of the
    /// mean fourth power over the axes, so that they run into one another.
    ///
    /// `vents` cones stand on the axes, more of them near the summit, of radii `vent`·(½ to 1), each with flanks that
    /// rise by 1 in 5 and with a bowl. The caldera is an ellipse along the first axis whose rim wavers by a tenth; its
    /// floor lies `caldera_depth` below the summit.
    ///
    /// Where `collapse` is over 0 a flank has slid off, in the middle of the widest gap between axes: from a round
    /// head, of radius R/5 about a point 0.16·R from the summit, a scar opens outward by 28° to each side at first,
    /// then less; its floor falls from h·(1 − collapse) at the head to the foot of the volcano, and its walls stand at
    /// 40°.
    ///
    /// Source: rift zones and shields Walker (1999, *Volcanic rift zones and their intrusion swarms*, J. Volcanol. Geotherm. Res. 94);
    /// axes at even angles Carracedo (1994, *The Canary Islands: an example of structural control*, J. Volcanol. Geotherm. Res. 60);
    /// collapses Moore et al. (1989, doi:10.1029/JB094iB12p17465), on the flanks between rifts; cones Wood (1980, *Morphometric
    /// evolution of cinder cones*, J. Volcanol. Geotherm. Res. 7). We differ: profiles are ours, no lava flows.
    ///
    /// Needs nothing; heeds `amount`; changes the ground alone. A function of world metres and of the seed for one extent: windows
    /// and resolutions agree. `multiply` takes 0 to height as factors 0 to 1.
    ///
    /// Breaks: it is smooth between its parts; blend noise over it and let rain and the sea work.
    pub struct Volcano {
        /// Height of the summit over the volcano's foot.
        height: f64 = 2000.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How far the flanks reach from the axes.
        radius: f64 = 6000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Number of rift zones: 1 or 2 make a long ridge, 3 a star of three blunt arms.
        rifts: u32 = 2, within 1..=6, unit "1", source "Carracedo 1994, 2 or 3";
        /// Length of a rift zone in radii: longer islands.
        stretch: f64 = 0.6, within 0.0..=5.0, unit "1", source "ours";
        /// Towards where the first rift zone runs, clockwise from north.
        azimuth: f64 = 60.0, within -360.0..=360.0, unit "°", source "ours";
        /// How far the seed turns the axes, their gaps and lengths: 0 not at all, 1 to any side.
        wander: f64 = 1.0, within 0.0..=1.0, unit "1", source "ours";
        /// Number of small cones.
        vents: u32 = 24, within 0..=1000, unit "1", source "ours";
        /// Radius of the greatest of them.
        vent: f64 = 350.0, within 1.0..=1e6, unit "m", scales Size, source "Wood 1980, 100 to 800";
        /// How far the caldera reaches from its middle along the first rift zone; 0 for none.
        caldera: f64 = 700.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// How far its floor lies below the summit.
        caldera_depth: f64 = 220.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How much of the height the scar of a fallen flank takes at its head; 0 for none.
        collapse: f64 = 0.45, within 0.0..=1.0, unit "1", source "Moore 1989";
        /// Where the summit lies from west (0) to east (1).
        centre_x: f64 = 0.5, within -10.0..=10.0, unit "1", source "ours";
        /// Where the summit lies from north (0) to south (1).
        centre_y: f64 = 0.5, within -10.0..=10.0, unit "1", source "ours";
        /// How the values meet the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for Volcano {
    fn about(&self) -> About {
        About {
            name: "volcano",
            summary: "A volcano as lava built it: rift zones, cones along them, a caldera, a fallen flank.",
            source: "Walker (1999), Volcanic rift zones and their intrusion swarms; Moore et al. (1989)",
            family: Family::Base,
            uses: &[AMOUNT],
            ..About::default()
        }
    }

    laid_in_bands!();
}

/// An axis: where it runs to, and its length in metres.
struct Axis {
    sin: f64,
    cos: f64,
    length: f64,
}

/// A cone.
struct Cone {
    /// Its middle, in metres from the summit.
    at: Point,
    radius: f64,
}

/// The scar of a fallen flank.
struct Scar {
    sin: f64,
    cos: f64,
}

/// What a seed has drawn.
struct Built {
    axes: Vec<Axis>,
    cones: Vec<Cone>,
    scar: Option<Scar>,
    /// Where the rim of the caldera wavers out.
    phases: [f64; 2],
}

/// Steepness of a scar's walls: tan 40°.
const WALL: f64 = 0.84;

/// b(s).
fn bell(s: f64) -> f64 {
    let inside = (1.0 - s * s).max(0.0);
    inside * inside
}

/// f(s).
fn flank(s: f64) -> f64 {
    0.5 * bell(s) + 0.3 * bell(s / 0.55) + 0.2 * bell(s / 0.3)
}

impl Volcano {
    fn built(&self, key: Key) -> Built {
        let Self { radius, wander, .. } = *self;
        let count = f64::from(self.rifts);
        let turn = self.azimuth.to_radians() + wander * PI * key.and(1).signed();
        let mut angles = Vec::new();
        let axes: Vec<_> = (0..self.rifts)
            .map(|k| {
                let own = key.and(100 + u64::from(k));
                // A gap is a third more or less than its even share at most, so that axes keep their order.
                let angle = turn + TAU / count * (f64::from(k) + wander * own.signed() / 6.0);
                let (sin, cos) = libm::sincos(angle);
                angles.push(angle);
                Axis { sin, cos, length: self.stretch * radius * (1.0 - wander * own.and(1).unit() / 3.0) }
            })
            .collect();
        let cones = (0..self.vents)
            .map(|k| {
                let own = key.and(10_000 + u64::from(k));
                let axis = &axes[k as usize % axes.len()];
                let share = own.and(1).unit();
                // More of them near the summit, none in it; a seventh of the radius to each side of the axis.
                let [along, across] =
                    [axis.length * (0.15 + 0.95 * share * share), 0.14 * radius * own.and(2).signed()];
                let at = Point { x: along * axis.sin + across * axis.cos, y: -along * axis.cos + across * axis.sin };
                Cone { at, radius: self.vent * (0.5 + 0.5 * own.and(3).unit()) }
            })
            .collect();
        let gap = |k: usize| angles.get(k + 1).copied().unwrap_or(angles[0] + TAU) - angles[k];
        let widest = (0..angles.len()).fold(0, |best, k| if gap(k) > gap(best) + 1e-9 { k } else { best });
        let scar = (self.collapse > 0.0).then(|| {
            let (sin, cos) = libm::sincos(angles[widest] + 0.5 * gap(widest));
            Scar { sin, cos }
        });
        Built { axes, cones, scar, phases: [2, 3].map(|part| TAU * key.and(part).unit()) }
    }

    /// Metres over the foot at a point in metres from the summit.
    fn at(&self, built: &Built, point: Point) -> f64 {
        let Self { height, radius, .. } = *self;
        let Point { x, y } = point;
        let mut sum = 0.0;
        for axis in &built.axes {
            let [along, across] = [x * axis.sin - y * axis.cos, x * axis.cos + y * axis.sin];
            let t = if axis.length > 0.0 { (along / axis.length).clamp(0.0, 1.0) } else { 0.0 };
            let off = along - t * axis.length;
            let s = (off * off + across * across).sqrt() / (radius * (1.0 - 0.45 * t));
            let z = (1.0 - 0.62 * t) * flank(s);
            sum += z * z * z * z;
        }
        let mut z = height * (sum / built.axes.len() as f64).sqrt().sqrt();
        for cone in &built.cones {
            let r = ((x - cone.at.x).powi(2) + (y - cone.at.y).powi(2)).sqrt() / cone.radius;
            if r < 1.0 {
                // A bowl within a quarter of the radius.
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

    /// The ground `z` with the caldera sunk into it.
    fn caldera_at(&self, built: &Built, Point { x, y }: Point, z: f64) -> f64 {
        let axis = &built.axes[0];
        let [along, across] = [x * axis.sin - y * axis.cos, (x * axis.cos + y * axis.sin) * 1.35];
        let far = (along * along + across * across).sqrt();
        if far > 1.2 * self.caldera {
            return z;
        }
        let angle = libm::atan2(across, along);
        let [two, three] = built.phases;
        let rim = self.caldera * (1.0 + 0.07 * libm::sin(2.0 * angle + two) + 0.06 * libm::sin(3.0 * angle + three));
        let out = ((far / rim - 0.72) / 0.28).clamp(0.0, 1.0);
        let floor = z.min(self.height - self.caldera_depth);
        floor + (z - floor) * out * out * (3.0 - 2.0 * out)
    }

    /// The surface of the scar, above which nothing is left.
    fn scar_at(&self, scar: &Scar, Point { x, y }: Point) -> f64 {
        let Self { height, radius, collapse, .. } = *self;
        // From the middle of its round head.
        let [along, across] = [x * scar.sin - y * scar.cos - 0.16 * radius, x * scar.cos + y * scar.sin];
        let head = 0.2 * radius;
        let (behind, on) = (along.min(0.0), along.max(0.0));
        // tan 28° at first, half as much far out.
        let wide = head + 0.53 * on / (1.0 + 0.7 * on / radius);
        let beside = ((behind * behind + across * across).sqrt() - wide).max(0.0);
        let floor = height * (1.0 - collapse) * (1.0 - (along + head) / (1.05 * radius));
        floor + WALL * beside
    }
}

impl Base for Volcano {
    fn span(&self) -> [f64; 2] {
        [0.0, self.height]
    }

    fn values(&self, grid: &Grid, key: Key, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let extent = grid.extent();
        let centre = Point { x: self.centre_x * extent.width, y: self.centre_y * extent.height };
        let built = self.built(key);
        move |i, row| {
            let y = grid.y(i) - centre.y;
            for (j, value) in row.iter_mut().enumerate() {
                *value = self.at(&built, Point { x: grid.x(j) - centre.x, y }).max(0.0) as f32;
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
        let built = volcano.built(Key::new(KEY, "volcano"));
        let at = |x: f64, y: f64| volcano.at(&built, Point { x, y });
        assert!((at(0.0, 0.0) - volcano.height).abs() < 1e-9, "all axes agree on the summit");
        // The first runs east, the second west; north and south of the summit it is lower.
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
        let key = Key::new(KEY, "volcano");
        let cut = |x: f64, y: f64| {
            let point = Point { x, y };
            whole.at(&whole.built(key), point) - fallen.at(&fallen.built(key), point)
        };
        // Axes run east and west, so the first of two even gaps is to the south.
        assert!(cut(0.0, 1500.0) > 100.0 && cut(0.0, -2000.0) <= 0.0 && cut(3500.0, 0.0) <= 0.0);
    }

    #[test]
    fn a_caldera_is_sunk_to_its_floor() {
        let volcano = Volcano { caldera: 700.0, ..plain() };
        let built = volcano.built(Key::new(KEY, "volcano"));
        assert_eq!(volcano.at(&built, Point::new(0.0, 0.0)), volcano.height - volcano.caldera_depth);
        assert_eq!(
            volcano.at(&built, Point::new(850.0, 0.0)),
            plain().at(&built, Point::new(850.0, 0.0)),
            "beyond its rim nothing is sunk"
        );
    }

    #[test]
    fn every_seed_draws_another() {
        let volcano = Volcano::default();
        let at = |seed: u64| volcano.at(&volcano.built(Key::new(seed, "volcano")), Point::new(2500.0, 1200.0));
        assert!(at(1) != at(2) && at(2) != at(3));
    }

    #[test]
    fn windows_are_cut_from_the_whole() {
        assert_windows_agree(&Volcano::default(), &Grid::new([40, 31], 300.0).unwrap());
    }
}
