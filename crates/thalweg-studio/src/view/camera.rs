//! [`Camera`]: where the view is seen from.

use crate::view::surface::Surface;

/// Metres: east, north, up.
pub type Point = [f32; 3];

/// Share of the picture that a framed terrain fills.
const FILL: f32 = 0.93;
/// Degrees that the camera turns for a pixel of dragging.
const TURN: f32 = 0.3;
/// Least and greatest distance to the target in metres.
const DISTANCE: [f32; 2] = [0.1, 1e7];
/// Farthest that anything may be from the middle, in metres.
const WORLD: f32 = 1e7;
/// Least height over the ground, as a share of a cell and in metres.
const CLEARANCE: [f32; 2] = [0.5, 1.0];
/// Height from which a map's rays fall, in metres: above any terrain, however exaggerated.
const ABOVE: f32 = 2e5;

/// The box that a terrain fills, heights exaggerated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Western, southern and lowest end.
    pub low: Point,
    /// Eastern, northern and highest end.
    pub high: Point,
}

/// A half line from a point; the direction is of unit length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Where it begins.
    pub origin: Point,
    /// Where it points.
    pub direction: Point,
}

impl Ray {
    /// The point so many metres along the ray.
    pub fn at(&self, metres: f32) -> Point {
        std::array::from_fn(|k| self.origin[k] + metres * self.direction[k])
    }
}

/// Where the view is seen from: an eye at some distance from a target; or, as a map, from straight above without
/// perspective, north up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// The point in the middle of the picture.
    pub target: Point,
    /// From the eye to the target in metres; of a map, it sets the scale as it would in perspective.
    pub distance: f32,
    /// Where the camera stands from the target, degrees clockwise from north.
    pub azimuth: f32,
    /// Degrees that it stands above the target's level.
    pub elevation: f32,
    /// Degrees that the picture's height takes in.
    pub fov: f32,
    /// Whether it is a map.
    pub map: bool,
}

impl Default for Camera {
    /// As the library's own views are seen: from the south-south-west.
    fn default() -> Self {
        Self { target: [0.0; 3], distance: 1000.0, azimuth: 205.0, elevation: 34.0, fov: 30.0, map: false }
    }
}

impl Camera {
    /// The whole terrain in perspective.
    pub fn framing(bounds: &Bounds, aspect: f32) -> Self {
        Self::default().framed(bounds, aspect)
    }

    /// The whole terrain as a map.
    pub fn map(bounds: &Bounds, aspect: f32) -> Self {
        Self { map: true, ..Self::default() }.framed(bounds, aspect)
    }

    /// The same look from as far as lets the whole terrain be seen, in the picture's middle.
    #[must_use]
    pub fn framed(mut self, bounds: &Bounds, aspect: f32) -> Self {
        let aspect = sound_aspect(aspect);
        self.target = std::array::from_fn(|k| (bounds.low[k] + bounds.high[k]) / 2.0);
        self.settle();
        let half = self.half();
        if self.map {
            let span = |k: usize| (bounds.high[k] - bounds.low[k]).max(1e-3) / 2.0;
            self.distance = (span(1).max(span(0) / aspect) / (FILL * half)).clamp(DISTANCE[0], DISTANCE[1]);
            return self;
        }
        // Towards the middle of what is seen; each step leaves a small part of the offset.
        for _ in 0..6 {
            let [right, up, forward] = self.axes();
            let corner = |n: usize| -> Point {
                std::array::from_fn(|k| if n >> k & 1 == 0 { bounds.low[k] } else { bounds.high[k] } - self.target[k])
            };
            let need = (0..8).map(corner).map(|c| {
                let across = (dot(c, right).abs() / aspect).max(dot(c, up).abs()) / (FILL * half);
                across - dot(c, forward)
            });
            self.distance = need.fold(DISTANCE[0], f32::max).min(DISTANCE[1]);
            let seen = (0..8).map(corner).map(|c| {
                let scale = self.distance / (self.distance + dot(c, forward)).max(1e-3);
                [dot(c, right) * scale, dot(c, up) * scale]
            });
            let ends = seen.fold([f32::MAX, f32::MIN, f32::MAX, f32::MIN], |e, [x, y]| {
                [e[0].min(x), e[1].max(x), e[2].min(y), e[3].max(y)]
            });
            let (x, y) = ((ends[0] + ends[1]) / 2.0, (ends[2] + ends[3]) / 2.0);
            self.target = std::array::from_fn(|k| self.target[k] + x * right[k] + y * up[k]);
        }
        self.settle();
        self
    }

    /// Goes round the target: so many pixels to the right and down.
    pub fn orbit(&mut self, [dx, dy]: [f32; 2]) {
        if self.map {
            return;
        }
        self.azimuth += sound(dx, 0.0) * TURN;
        let low = self.elevation.min(2.0);
        self.elevation = (self.elevation + sound(dy, 0.0) * TURN).clamp(low, 90.0);
        self.settle();
    }

    /// Moves along the ground as if it were dragged: so many pixels to the right and down of a picture so many pixels wide
    /// and high.
    pub fn pan(&mut self, [dx, dy]: [f32; 2], [_, height]: [f32; 2]) {
        let metres = 2.0 * self.distance * self.half() / sound(height, 1.0).max(1.0);
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        let rise = self.elevation.to_radians().sin().max(0.3);
        let (right, away) = if self.map { ([1.0, 0.0], [0.0, 1.0]) } else { ([-cos, sin], [-sin, -cos]) };
        let (x, y) = (sound(dx, 0.0) * metres, sound(dy, 0.0) * metres / if self.map { 1.0 } else { rise });
        for k in 0..2 {
            self.target[k] += y * away[k] - x * right[k];
        }
        self.settle();
    }

    /// Comes nearer by a factor (above 1: nearer), while the point `toward` stays where it is in the picture.
    pub fn zoom(&mut self, factor: f32, toward: Option<Point>) {
        self.settle();
        let factor = sound(factor, 1.0).clamp(1e-3, 1e3);
        let before = self.distance;
        self.distance = (before / factor).clamp(DISTANCE[0], DISTANCE[1]);
        let share = self.distance / before;
        if let Some(point) = toward.filter(|point| point.iter().all(|x| x.is_finite())) {
            self.target = std::array::from_fn(|k| point[k] + (self.target[k] - point[k]) * share);
        }
        self.settle();
    }

    /// Flies: so many metres to the right, forward and up.
    pub fn fly(&mut self, [right, forward, up]: Point) {
        let [across, _, ahead] = self.axes();
        let ahead = if self.map { [0.0, 1.0, 0.0] } else { ahead };
        for k in 0..3 {
            self.target[k] += sound(right, 0.0) * across[k] + sound(forward, 0.0) * ahead[k];
        }
        self.target[2] += sound(up, 0.0);
        self.settle();
    }

    /// Looks round from where the eye is: so many pixels to the right and down.
    pub fn turn(&mut self, [dx, dy]: [f32; 2]) {
        if self.map {
            return;
        }
        self.settle();
        let eye = self.eye();
        self.azimuth += sound(dx, 0.0) * TURN;
        self.elevation = (self.elevation + sound(dy, 0.0) * TURN).clamp(-85.0, 89.0);
        self.settle();
        let [_, _, forward] = self.axes();
        self.target = std::array::from_fn(|k| eye[k] + self.distance * forward[k]);
        self.settle();
    }

    /// Keeps the eye above the ground and the water: it goes up round its target, or with it where that is not enough.
    pub fn keep_above(&mut self, surface: &Surface, exaggeration: f32) {
        if self.map {
            return;
        }
        for _ in 0..4 {
            let lacking = self.lacking(surface, exaggeration);
            let rise = (self.eye()[2] + lacking - self.target[2]) / self.distance;
            if lacking <= 0.0 || !(-1.0..0.999).contains(&rise) {
                break;
            }
            self.elevation = self.elevation.max(rise.asin().to_degrees());
        }
        self.lift_above(surface, exaggeration);
    }

    /// Keeps the eye above the ground and the water by lifting eye and target together: for flying.
    pub fn lift_above(&mut self, surface: &Surface, exaggeration: f32) {
        if !self.map {
            self.target[2] += self.lacking(surface, exaggeration).max(0.0);
            self.settle();
        }
    }

    /// Metres that the eye is too low, below 0 where it is high enough.
    fn lacking(&self, surface: &Surface, exaggeration: f32) -> f32 {
        let eye = self.eye();
        let clear = (CLEARANCE[0] * surface.cell()).max(CLEARANCE[1]);
        surface.top_at([eye[0], eye[1]]).map_or(f32::MIN, |top| sound(top * exaggeration, 0.0) + clear - eye[2])
    }

    /// Where the eye is.
    pub fn eye(&self) -> Point {
        let [_, _, forward] = self.axes();
        std::array::from_fn(|k| self.target[k] - self.distance * forward[k])
    }

    /// The ray through a place in the picture, −1 to 1 rightward and upward.
    pub fn ray(&self, [x, y]: [f32; 2], aspect: f32) -> Ray {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.half(), sound_aspect(aspect));
        let (x, y) = (sound(x, 0.0) * half * aspect, sound(y, 0.0) * half);
        if self.map {
            let [east, north, _] = self.target;
            return Ray { origin: [east + x * self.distance, north + y * self.distance, ABOVE], direction: forward };
        }
        let ray: Point = std::array::from_fn(|k| forward[k] + x * right[k] + y * up[k]);
        let length = dot(ray, ray).sqrt();
        Ray { origin: self.eye(), direction: ray.map(|c| c / length) }
    }

    /// Where in the picture a point is seen, rightward and upward, −1 to 1 inside; `None` behind the eye.
    pub fn project(&self, point: Point, aspect: f32) -> Option<[f32; 2]> {
        let [right, up, forward] = self.axes();
        let eye = self.eye();
        let from: Point = std::array::from_fn(|k| point[k] - eye[k]);
        let depth = if self.map { self.distance } else { dot(from, forward) };
        let scale = 1.0 / (depth * self.half());
        let seen = [dot(from, right) * scale / sound_aspect(aspect), dot(from, up) * scale];
        (depth > 0.0 && seen.iter().all(|x| x.is_finite())).then_some(seen)
    }

    /// Rightward, upward and forward, of unit length.
    pub fn axes(&self) -> [Point; 3] {
        if self.map {
            return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
        }
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        let (rise, flat) = self.elevation.to_radians().sin_cos();
        [[-cos, sin, 0.0], [-sin * rise, -cos * rise, flat], [-sin * flat, -cos * flat, -rise]]
    }

    /// Tangent of half the picture's height.
    pub fn half(&self) -> f32 {
        (sound(self.fov, 30.0).clamp(1.0, 150.0).to_radians() / 2.0).tan()
    }

    /// From metres as seen from the eye to the picture's clip space, by columns. Depth falls from 1 near to 0 far, which
    /// keeps floats as exact far away as near.
    pub fn matrix(&self, aspect: f32) -> [[f32; 4]; 4] {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.half(), sound_aspect(aspect));
        if self.map {
            let scale = 1.0 / (self.distance * half);
            let deep = 0.25 / WORLD;
            let column = |k: usize| [right[k] * scale / aspect, up[k] * scale, -forward[k] * deep, 0.0];
            return [column(0), column(1), column(2), [0.0, 0.0, 0.5, 1.0]];
        }
        let column = |k: usize| [right[k] / (half * aspect), up[k] / half, 0.0, forward[k]];
        [column(0), column(1), column(2), [0.0, 0.0, self.near(), 0.0]]
    }

    /// Nothing nearer than this is drawn, in metres.
    fn near(&self) -> f32 {
        (self.distance * 1e-3).clamp(0.05, 5.0)
    }

    /// Puts every number within what can be drawn.
    fn settle(&mut self) {
        let plain = Self::default();
        self.target = self.target.map(|x| sound(x, 0.0).clamp(-WORLD, WORLD));
        self.distance = sound(self.distance, plain.distance).clamp(DISTANCE[0], DISTANCE[1]);
        self.azimuth = sound(self.azimuth, plain.azimuth).rem_euclid(360.0);
        self.elevation = sound(self.elevation, plain.elevation).clamp(-90.0, 90.0);
        self.fov = sound(self.fov, plain.fov).clamp(1.0, 150.0);
    }
}

fn sound(x: f32, otherwise: f32) -> f32 {
    if x.is_finite() { x } else { otherwise }
}

fn sound_aspect(aspect: f32) -> f32 {
    sound(aspect, 1.0).clamp(1e-3, 1e3)
}

fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::surface::Wanted;
    use thalweg::terrain::Terrain;
    use thalweg::terrain::grid::Grid;
    use thalweg::terrain::height::Height;

    const BOUNDS: Bounds = Bounds { low: [-500.0, -300.0, -40.0], high: [500.0, 300.0, 120.0] };

    fn cameras() -> Vec<Camera> {
        let stand = |azimuth, elevation| Camera {
            target: [30.0, -20.0, 55.0],
            distance: 900.0,
            azimuth,
            elevation,
            ..Camera::default()
        };
        let mut all: Vec<_> =
            [(205.0, 34.0), (0.0, 90.0), (90.0, 3.0), (310.0, -20.0)].map(|(a, e)| stand(a, e)).into();
        all.push(Camera { map: true, ..stand(205.0, 34.0) });
        all
    }

    fn is_finite(camera: &Camera) -> bool {
        let Camera { target, distance, azimuth, elevation, fov, .. } = *camera;
        [distance, azimuth, elevation, fov].iter().chain(&target).chain(&camera.eye()).all(|x| x.is_finite())
            && camera.matrix(1.5).iter().flatten().all(|x| x.is_finite())
    }

    #[test]
    fn rays_pass_through_the_points_that_are_seen_there() {
        for camera in cameras() {
            for aspect in [0.4, 1.0, 2.2] {
                for at in [[0.0, 0.0], [0.7, -0.4], [-0.95, 0.9]] {
                    let ray = camera.ray(at, aspect);
                    let long = ray.direction.iter().map(|c| c * c).sum::<f32>();
                    assert!((long - 1.0).abs() < 1e-5);
                    for metres in [50.0, 700.0, 3000.0] {
                        let seen = camera.project(ray.at(metres), aspect).unwrap();
                        // Places of thousands of metres in f32, over a picture some 500 m wide.
                        assert!((0..2).all(|k| (seen[k] - at[k]).abs() < 1e-3), "{camera:?} {seen:?} {at:?}");
                    }
                }
            }
        }
        let camera = Camera::default();
        let behind = camera.eye().map(|x| 2.0 * x);
        assert_eq!(camera.project(behind, 1.0), None);
    }

    #[test]
    fn the_matrix_and_projection_agree() {
        for camera in cameras() {
            let (m, eye, point) = (camera.matrix(1.6), camera.eye(), [70.0, 10.0, 80.0]);
            let from: Point = std::array::from_fn(|k| point[k] - eye[k]);
            let row = |r: usize| (0..3).map(|c| m[c][r] * from[c]).sum::<f32>() + m[3][r];
            let seen = camera.project(point, 1.6).unwrap();
            assert!((row(0) / row(3) - seen[0]).abs() < 1e-4 && (row(1) / row(3) - seen[1]).abs() < 1e-4);
            assert!((0.0..=1.0).contains(&(row(2) / row(3))));
        }
    }

    #[test]
    fn zooming_keeps_the_point_under_the_cursor() {
        for camera in cameras() {
            let point = [120.0, 40.0, 60.0];
            let before = camera.project(point, 1.5).unwrap();
            for factor in [0.2, 0.9, 1.1, 7.0] {
                let mut camera = camera;
                camera.zoom(factor, Some(point));
                let after = camera.project(point, 1.5).unwrap();
                assert!((0..2).all(|k| (after[k] - before[k]).abs() < 1e-3), "{camera:?} {before:?} {after:?}");
            }
        }
        // At the end of its way it moves no more.
        let mut camera = Camera { distance: DISTANCE[0], ..Camera::default() };
        let target = camera.target;
        camera.zoom(10.0, Some([500.0, 0.0, 0.0]));
        assert_eq!(camera.target, target);
    }

    #[test]
    fn a_framed_box_is_wholly_seen_and_fills_the_picture() {
        for aspect in [0.3, 1.0, 2.5] {
            let turned = [Camera::default(), Camera { azimuth: 90.0, elevation: 10.0, ..Camera::default() }];
            let maps = [Camera { map: true, ..Camera::default() }];
            for camera in turned.into_iter().chain(maps).map(|camera| camera.framed(&BOUNDS, aspect)) {
                let corner = |n: usize| [0, 1, 2].map(|k| [BOUNDS.low, BOUNDS.high][n >> k & 1][k]);
                let seen: Vec<_> = (0..8).map(|n| camera.project(corner(n), aspect).unwrap()).collect();
                let most = |k: usize| seen.iter().map(|s| s[k].abs()).fold(0.0, f32::max);
                let most = most(0).max(most(1));
                assert!((FILL - 0.05..=FILL + 0.01).contains(&most), "{camera:?} {most}");
            }
        }
    }

    #[test]
    fn panning_moves_the_ground_with_the_cursor() {
        // From straight above a drag of half the height moves the ground by as much.
        for map in [true, false] {
            let mut camera = Camera { azimuth: 180.0, elevation: 90.0, distance: 500.0, map, ..Camera::default() };
            let metres = 500.0 * camera.half();
            camera.pan([0.0, 300.0], [800.0, 600.0]);
            let seen = camera.project([0.0; 3], 1.0).unwrap();
            assert!(seen[0].abs() < 1e-4 && (seen[1] + 1.0).abs() < 1e-3, "{seen:?} {metres}");
            camera.pan([-300.0, 0.0], [800.0, 600.0]);
            assert!(camera.target[0] > 0.9 * metres && camera.target[1] > 0.9 * metres);
        }
    }

    #[test]
    fn turning_leaves_the_eye_and_orbiting_the_target() {
        let mut camera = Camera::framing(&BOUNDS, 1.0);
        let eye = camera.eye();
        camera.turn([200.0, -90.0]);
        assert!((0..3).all(|k| (camera.eye()[k] - eye[k]).abs() < 0.01));
        let target = camera.target;
        camera.orbit([40.0, 5000.0]);
        assert_eq!((camera.target, camera.elevation), (target, 90.0));
        camera.orbit([0.0, -9000.0]);
        assert_eq!(camera.elevation, 2.0);
    }

    #[test]
    fn the_eye_stays_above_ground_and_water() {
        let mut terrain = Terrain::new(Grid::new([60, 60], 10.0).unwrap());
        for i in 0..60 {
            for j in 0..60 {
                let (y, x) = (i as f64 - 30.0, j as f64 - 30.0);
                terrain.ground[(i, j)] = Height::saturating(400.0 - y.hypot(x) * 20.0);
            }
        }
        terrain.grid.sea_level = Some(Height::saturating(50.0));
        let surface = Surface::of(&terrain, &Wanted { exaggeration: 2.0, ..Wanted::default() }).unwrap();
        for azimuth in 0..12 {
            for (target, distance) in
                [([0.0, 0.0, 0.0], 100.0), ([0.0, 0.0, -900.0], 50.0), ([250.0, 0.0, 100.0], 240.0)]
            {
                let stand =
                    Camera { target, distance, azimuth: 30.0 * azimuth as f32, elevation: 2.0, ..Camera::default() };
                for lift in [Camera::keep_above, Camera::lift_above] {
                    let mut camera = stand;
                    lift(&mut camera, &surface, 2.0);
                    let eye = camera.eye();
                    let top = surface.top_at([eye[0], eye[1]]).map_or(f32::MIN, |top| 2.0 * top);
                    assert!(eye[2] > top && is_finite(&camera), "{camera:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_extreme_breaks_a_camera() {
        let extremes = [0.0, -1.0, 1e30, -1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        for x in extremes {
            for y in extremes {
                let bounds = Bounds { low: [x, y, -1.0], high: [y, x, 1.0] };
                for mut camera in cameras().into_iter().chain([Camera::framing(&bounds, x), Camera::map(&bounds, y)]) {
                    camera.orbit([x, y]);
                    camera.pan([x, y], [y, x]);
                    camera.zoom(x, Some([y, x, 0.0]));
                    camera.zoom(y, None);
                    camera.fly([x, y, x]);
                    camera.turn([y, x]);
                    assert!(is_finite(&camera), "{x} {y} {camera:?}");
                    let ray = camera.ray([x, y], y);
                    assert!(ray.origin.iter().chain(&ray.direction).all(|c| c.is_finite()), "{x} {y} {ray:?}");
                    if let Some(seen) = camera.project([x, y, 0.0], x) {
                        assert!(seen.iter().all(|c| c.is_finite()));
                    }
                }
            }
        }
    }
}
