//! The projection of a block of terrain onto a camera's screen.

use crate::pictures::colour::Linear;
use crate::pictures::raster::{Corner, RasterBand};
use crate::pictures::relief::Relief;
use thalweg_core::Field;

/// A position in metres: east, north, up.
pub(crate) type ScenePoint = [f32; 3];

/// The colours of earth on the block's sides, at the surface and at the base.
pub const EARTH: [Linear; 2] = [[0.30, 0.215, 0.145], [0.135, 0.105, 0.085]];
/// The colours of water on the block's sides, at its surface and at its bed.
pub const WATER: [Linear; 2] = [[0.06, 0.20, 0.34], [0.015, 0.055, 0.13]];
/// The number of quads along a side of the tiles that are drawn or skipped together.
const TILE: usize = 32;

/// A camera that projects points of a scene onto its screen, in perspective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Camera {
    eye: ScenePoint,
    right: ScenePoint,
    up: ScenePoint,
    forward: ScenePoint,
    /// The number of subpixels per unit of right/forward.
    focal: f32,
    /// The point at which the optical axis meets the screen.
    centre: [f32; 2],
}

impl Camera {
    /// Creates a camera in direction `azimuth` (degrees clockwise from north) and `elevation` (degrees above the
    /// horizon) from the box `low`–`high`. The box is centred and fills the share `fill` of a screen of `rows` ×
    /// `cols` subpixels.
    pub fn with_box_in_view(
        [low, high]: [ScenePoint; 2],
        azimuth: f64,
        elevation: f64,
        [rows, cols]: [f32; 2],
        fill: f32,
    ) -> Self {
        let (azimuth, elevation) = (azimuth.to_radians(), elevation.to_radians());
        let (sin, cos, flat) = (libm::sin(azimuth) as f32, libm::cos(azimuth) as f32, libm::cos(elevation) as f32);
        let rise = libm::sin(elevation) as f32;
        let size: ScenePoint = std::array::from_fn(|k| high[k] - low[k]);
        // A distance of 2.2 diagonals gives a moderate perspective; a smaller one would distort the block's near corner
        // more.
        let far = 2.2 * dot(size, size).sqrt();
        let eye = [0, 1, 2].map(|k| (low[k] + high[k]) / 2.0 + far * [sin * flat, cos * flat, rise][k]);
        let forward = [-sin * flat, -cos * flat, -rise];
        let (right, up) = ([-cos, sin, 0.0], [-sin * rise, -cos * rise, flat]);
        // The box is first projected with a focal length of 1, and the result is scaled and centred to fit the screen.
        let plain = Self { eye, right, up, forward, focal: 1.0, centre: [0.0; 2] };
        let corners =
            // Bit k of n selects the low or the high end of axis k.
            (0..8).map(|n| plain.project_point([0, 1, 2].map(|k| if n >> k & 1 == 0 { low[k] } else { high[k] })));
        let seen = corners.fold([f32::MAX, f32::MIN, f32::MAX, f32::MIN], |[left, east, top, bottom], [x, y, _]| {
            [left.min(x), east.max(x), top.min(y), bottom.max(y)]
        });
        // The smaller of both ratios makes the box fit in width and in height.
        let focal = fill * (cols / (seen[1] - seen[0])).min(rows / (seen[3] - seen[2]));
        let centre = [cols / 2.0 - focal * (seen[0] + seen[1]) / 2.0, rows / 2.0 - focal * (seen[2] + seen[3]) / 2.0];
        Self { focal, centre, ..plain }
    }

    /// Creates a camera at `eye` that looks towards `azimuth` (degrees clockwise from north) and `pitch` (degrees,
    /// positive upward), with a horizontal angle of view of `lens` degrees on a screen of `rows` × `cols` subpixels.
    pub fn from_eye(eye: ScenePoint, [azimuth, pitch]: [f64; 2], lens: f64, [rows, cols]: [f32; 2]) -> Self {
        let (azimuth, pitch) = (azimuth.to_radians(), pitch.to_radians());
        let (sin, cos, flat) = (libm::sin(azimuth) as f32, libm::cos(azimuth) as f32, libm::cos(pitch) as f32);
        let rise = libm::sin(pitch) as f32;
        let forward = [sin * flat, cos * flat, rise];
        let (right, up) = ([cos, -sin, 0.0], [-sin * rise, -cos * rise, flat]);
        let focal = cols / (2.0 * libm::tan((lens / 2.0).to_radians()) as f32);
        Self { eye, right, up, forward, focal, centre: [cols / 2.0, rows / 2.0] }
    }

    /// Returns the camera's position.
    pub fn eye(&self) -> ScenePoint {
        self.eye
    }

    /// Returns the ray through a position on the screen, in subpixels right and down, scaled to a forward length of
    /// one metre.
    pub fn ray_through(&self, [x, y]: [f32; 2]) -> ScenePoint {
        let (u, v) = ((x - self.centre[0]) / self.focal, (self.centre[1] - y) / self.focal);
        std::array::from_fn(|k| self.forward[k] + u * self.right[k] + v * self.up[k])
    }

    /// Returns the projection of a point: subpixels right and down, and the reciprocal of its forward distance in
    /// metres, which is negative behind the camera.
    pub fn project_point(&self, point: ScenePoint) -> [f32; 3] {
        let from: ScenePoint = std::array::from_fn(|k| point[k] - self.eye[k]);
        let near = 1.0 / dot(from, self.forward);
        let scale = self.focal * near;
        [self.centre[0] + dot(from, self.right) * scale, self.centre[1] - dot(from, self.up) * scale, near]
    }

    /// Returns the intersection of the ray through a position on the screen with the horizontal plane at `height`
    /// metres, as metres east and north; `None` at and above the horizon, and if the camera is not above the plane.
    pub fn intersect_level_plane(&self, at: [f32; 2], height: f32) -> Option<[f32; 2]> {
        let ray = self.ray_through(at);
        let t = (height - self.eye[2]) / ray[2];
        // Rays that do not descend never meet the plane; a camera below it has a negative t.
        (ray[2] < 0.0 && t > 0.0).then(|| [self.eye[0] + t * ray[0], self.eye[1] + t * ray[1]])
    }

    /// Returns the number of subpixels that a width of one metre covers at a distance of one metre.
    pub fn focal_length(&self) -> f32 {
        self.focal
    }

    fn project_corner(&self, point: ScenePoint, colour: Linear) -> Corner {
        let [x, y, near] = self.project_point(point);
        Corner { x, y, near, colour }
    }
}

/// A terrain as a solid block: its painted surface, water included, and its sides down to `base`.
pub(crate) struct Block {
    surface: Field<ScenePoint>,
    colours: Field<Linear>,
    /// The elevation of the ground under the water, for the sides.
    ground: Field<f32>,
    /// The quads that exist: those without a hole at a corner.
    quads: Field<bool>,
    base: f32,
    light: ScenePoint,
    has_sides: bool,
}

impl Block {
    /// Creates the block of a relief with colours of the same size. Heights are multiplied by `exaggeration`; the
    /// block stands on `base` (metres, exaggerated), with its middle at the origin. `light` is the unit vector
    /// towards the sun. A single row or column of samples is as wide as its cells.
    pub fn new(relief: &Relief, paint: &Field<Linear>, exaggeration: f32, base: f32, light: ScenePoint) -> Self {
        let (rows, cols) =
            (centred_positions(relief.size()[0], relief.cell[0]), centred_positions(relief.size()[1], relief.cell[1]));
        let size = [rows.len(), cols.len()];
        let cell = |i: usize, j: usize| (rows[i].1, cols[j].1);
        let ground = Field::from_fn(size, |i, j| relief.heights[cell(i, j)] * exaggeration);
        let top = |i: usize, j: usize| {
            let (r, c) = cell(i, j);
            (relief.heights[(r, c)] + relief.water_depth(r, c)) * exaggeration
        };
        // A quad exists only if all four of its vertices have data.
        let whole = |i: usize, j: usize| {
            [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].into_iter().all(|(i, j)| {
                let (r, c) = cell(i, j);
                !relief.is_hole(r, c)
            })
        };
        Self {
            surface: Field::from_fn(size, |i, j| [cols[j].0, -rows[i].0, top(i, j)]),
            colours: Field::from_fn(size, |i, j| paint[cell(i, j)]),
            quads: Field::from_fn([size[0] - 1, size[1] - 1], whole),
            ground,
            base,
            light,
            has_sides: true,
        }
    }

    /// Removes the sides, leaving the surface.
    #[must_use]
    pub fn without_sides(self) -> Self {
        Self { has_sides: false, ..self }
    }

    /// Reduces the light on the surface: `light`, 0 to 1, is the share that remains, one value per sample. A field of
    /// another size changes nothing.
    #[must_use]
    pub fn with_shadows(mut self, light: &Field<f32>) -> Self {
        if light.size() == self.colours.size() {
            for (colour, light) in self.colours.as_mut_slice().iter_mut().zip(light.as_slice()) {
                *colour = colour.map(|c| c * light);
            }
        }
        self
    }

    /// Projects the block onto a screen.
    pub fn project(&self, camera: &Camera) -> Projected {
        let corners = Field::from_fn(self.surface.size(), |i, j| {
            camera.project_corner(self.surface[(i, j)], self.colours[(i, j)])
        });
        let sides = self.project_sides(camera);
        let starts = (0..self.quads.rows())
            .step_by(TILE)
            .flat_map(|i| (0..self.quads.cols()).step_by(TILE).map(move |j| [i, j]));
        let tile = |start: [usize; 2]| {
            let end = [0, 1].map(|k| (start[k] + TILE).min(self.quads.size()[k]));
            // The vertices at a tile's end belong to its last quads and are part of its range of rows.
            let ys = (start[0]..=end[0]).flat_map(|i| &corners.row(i)[start[1]..=end[1]]).map(|corner| corner.y);
            let [top, bottom] = ys.fold([f32::MAX, f32::MIN], |[top, bottom], y| [top.min(y), bottom.max(y)]);
            QuadTile { start, end, top, bottom }
        };
        Projected { tiles: starts.map(tile).collect(), quads: self.quads.clone(), corners, sides }
    }

    /// Returns the triangles of the walls at all sides where a quad has no neighbour.
    fn project_sides(&self, camera: &Camera) -> Vec<[Corner; 3]> {
        let [rows, cols] = self.quads.size();
        let quad = |i: usize, j: usize| i < rows && j < cols && self.quads[(i, j)];
        let mut sides = Vec::new();
        for i in 0..rows {
            for j in (0..cols).filter(|j| quad(i, *j)) {
                // Each wall has the neighbouring quad, the edge's two vertices, and the outward direction (east,
                // north).
                let walls = [
                    (i.wrapping_sub(1), j, [(i, j), (i, j + 1)], [0.0, 1.0]),
                    (i + 1, j, [(i + 1, j), (i + 1, j + 1)], [0.0, -1.0]),
                    (i, j.wrapping_sub(1), [(i, j), (i + 1, j)], [-1.0, 0.0]),
                    (i, j + 1, [(i, j + 1), (i + 1, j + 1)], [1.0, 0.0]),
                ];
                for (r, c, edge, facing) in walls {
                    if self.has_sides && !quad(r, c) {
                        self.add_wall(camera, edge, facing, &mut sides);
                    }
                }
            }
        }
        sides
    }

    /// Adds the wall below the edge between two vertices: water down to the ground, earth down to the base.
    fn add_wall(&self, camera: &Camera, edge: [(usize, usize); 2], facing: [f32; 2], sides: &mut Vec<[Corner; 3]>) {
        // A wall that faces the sun receives 1.10 of its colour's light, one that faces away 0.34.
        let toward = facing[0] * self.light[0] + facing[1] * self.light[1];
        let light = 0.72 + 0.38 * toward;
        let line = |height: &dyn Fn((usize, usize)) -> f32, colour: Linear| {
            edge.map(|at| {
                let [east, north, _] = self.surface[at];
                camera.project_corner([east, north, height(at)], colour.map(|c| c * light))
            })
        };
        let mut strip = |[a, b]: [Corner; 2], [c, d]: [Corner; 2]| sides.extend([[a, b, c], [b, c, d]]);
        let (surface, ground) = (|at: (usize, usize)| self.surface[at][2], |at: (usize, usize)| self.ground[at]);
        // Walls of water exist only where the surface is above the ground at one of both ends.
        if edge.iter().any(|at| surface(*at) > ground(*at)) {
            strip(line(&surface, WATER[0]), line(&ground, WATER[1]));
        }
        strip(line(&ground, EARTH[0]), line(&|_| self.base, EARTH[1]));
    }
}

/// A block's triangles on the screen.
pub(crate) struct Projected {
    corners: Field<Corner>,
    quads: Field<bool>,
    sides: Vec<[Corner; 3]>,
    tiles: Vec<QuadTile>,
}

/// The quads from `start` up to but excluding `end`, which are between rows `top` and `bottom` of the screen.
struct QuadTile {
    start: [usize; 2],
    end: [usize; 2],
    top: f32,
    bottom: f32,
}

impl Projected {
    /// Returns true if there are no sides to draw, either because everything is a hole or because the block is
    /// [without sides](Block::without_sides).
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// Draws the triangles that are in the band.
    pub fn draw(&self, band: &mut RasterBand) {
        for tile in &self.tiles {
            if !band.can_contain_rows(tile.top, tile.bottom) {
                continue;
            }
            for i in tile.start[0]..tile.end[0] {
                let (north, south) = (self.corners.row(i), self.corners.row(i + 1));
                for j in (tile.start[1]..tile.end[1]).filter(|j| self.quads[(i, *j)]) {
                    let [a, b, c, d] = [&north[j], &north[j + 1], &south[j], &south[j + 1]];
                    band.draw_triangle(a, b, c);
                    band.draw_triangle(b, d, c);
                }
            }
        }
        for [a, b, c] in &self.sides {
            band.draw_triangle(a, b, c);
        }
    }
}

/// Returns the positions of samples along an axis whose middle is at 0, each with the index of its sample.
pub(crate) fn centred_positions(n: usize, cell: f32) -> Vec<(f32, usize)> {
    // A single row of samples becomes a strip that is one cell wide, with the same sample at both sides.
    if n == 1 {
        return vec![(-0.5 * cell, 0), (0.5 * cell, 0)];
    }
    let middle = (n - 1) as f32 / 2.0;
    (0..n).map(|k| ((k as f32 - middle) * cell, k)).collect()
}

fn dot(a: ScenePoint, b: ScenePoint) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_framed_and_upright() {
        let bounds = [[-500.0, -300.0, 0.0], [500.0, 300.0, 120.0]];
        for azimuth in [0.0, 135.0, 215.0, 270.0] {
            let camera = Camera::with_box_in_view(bounds, azimuth, 30.0, [400.0, 600.0], 0.9);
            let mut seen = [f32::MAX, f32::MIN, f32::MAX, f32::MIN];
            for n in 0..8 {
                let [x, y, near] = camera.project_point([0, 1, 2].map(|k| bounds[n >> k & 1][k]));
                assert!(near > 0.0);
                seen = [seen[0].min(x), seen[1].max(x), seen[2].min(y), seen[3].max(y)];
            }
            // The box is centred up to rounding, inside 90 % of the screen, and touches that limit in one direction.
            assert!((seen[0] + seen[1] - 600.0).abs() < 0.1 && (seen[2] + seen[3] - 400.0).abs() < 0.1);
            let (width, height) = ((seen[1] - seen[0]) / 600.0, (seen[3] - seen[2]) / 400.0);
            assert!((width.max(height) - 0.9).abs() < 1e-3, "{width} {height}");
            let ([_, foot, _], [_, head, _]) =
                (camera.project_point([0.0, 0.0, 0.0]), camera.project_point([0.0, 0.0, 120.0]));
            assert!(head < foot);
        }
        // Seen from the south, east is on the right.
        let camera = Camera::with_box_in_view(bounds, 180.0, 30.0, [400.0, 600.0], 0.9);
        assert!(camera.project_point([100.0, 0.0, 0.0])[0] > camera.project_point([-100.0, 0.0, 0.0])[0]);
    }

    #[test]
    fn the_floor_is_where_it_is_seen() {
        let camera = Camera::with_box_in_view([[-5.0, -5.0, 0.0], [5.0, 5.0, 1.0]], 200.0, 35.0, [300.0, 300.0], 0.9);
        let [x, y, _] = camera.project_point([2.0, -1.0, 0.5]);
        let [east, north] = camera.intersect_level_plane([x, y], 0.5).unwrap();
        assert!((east - 2.0).abs() < 1e-3 && (north + 1.0).abs() < 1e-3);
    }
}
