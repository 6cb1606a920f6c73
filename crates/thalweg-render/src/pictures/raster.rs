//! Rasterisation of triangles with a depth buffer, one band of the picture at a time.

use crate::pictures::colour::Linear;

/// A vertex on the screen, in subpixels; `near` is 1/distance, which is linear on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Corner {
    /// The coordinate to the right.
    pub x: f32,
    /// The coordinate downward.
    pub y: f32,
    /// The reciprocal of the distance from the camera's plane.
    pub near: f32,
    /// The light that leaves the vertex.
    pub colour: Linear,
}

/// A band of the screen: rows `top` to `top + rows`.
pub struct RasterBand {
    top: usize,
    rows: usize,
    cols: usize,
    near: Vec<f32>,
    colour: Vec<Linear>,
}

impl RasterBand {
    /// Creates an empty band.
    pub fn new(top: usize, rows: usize, cols: usize) -> Self {
        Self { top, rows, cols, near: vec![0.0; rows * cols], colour: vec![[0.0; 3]; rows * cols] }
    }

    /// Returns the colour at a row (within the band) and column, if something was drawn there.
    pub fn colour_at(&self, row: usize, col: usize) -> Option<Linear> {
        let k = row * self.cols + col;
        (self.near[k] > 0.0).then(|| self.colour[k])
    }

    /// Returns the reciprocal of the distance from the camera's plane at a row and column, if something was drawn
    /// there.
    pub fn inverse_depth_at(&self, row: usize, col: usize) -> Option<f32> {
        Some(self.near[row * self.cols + col]).filter(|near| *near > 0.0)
    }

    /// Returns true if something between screen rows `from` and `to` can be in the band.
    pub fn can_contain_rows(&self, from: f32, to: f32) -> bool {
        to >= self.top as f32 && from <= (self.top + self.rows) as f32
    }

    /// Draws both faces of a triangle. A subpixel keeps the nearest surface that covers its centre, the first of
    /// equals.
    pub fn draw_triangle(&mut self, a: &Corner, b: &Corner, c: &Corner) {
        // This is twice the signed area; its sign cancels in the ratios below, so both orientations are drawn.
        let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        // Triangles behind the camera, or across its plane, are not drawn.
        if a.near <= 0.0 || b.near <= 0.0 || c.near <= 0.0 {
            return;
        }
        if area == 0.0 || !area.is_finite() || !self.can_contain_rows(a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y)) {
            return;
        }
        // The centre of subpixel k is at k + ½; the casts saturate.
        let (from_y, to_y) = clip_pixel_range(a.y, b.y, c.y, self.top, self.top + self.rows);
        let (from_x, to_x) = clip_pixel_range(a.x, b.x, c.x, 0, self.cols);
        let scale = 1.0 / area;
        for y in from_y..to_y {
            let py = y as f32 + 0.5;
            for x in from_x..to_x {
                let px = x as f32 + 0.5;
                // The shares u, v and w are the barycentric coordinates of the centre for b, c and a.
                let u = ((c.y - a.y) * (px - a.x) - (c.x - a.x) * (py - a.y)) * scale;
                let v = ((b.x - a.x) * (py - a.y) - (b.y - a.y) * (px - a.x)) * scale;
                let w = 1.0 - u - v;
                // A tiny overlap prevents gaps between triangles caused by rounding.
                if u >= -1e-4 && v >= -1e-4 && w >= -1e-4 {
                    // The reciprocal distance is linear on the screen, so its interpolation is exact; colours are
                    // interpolated likewise, without a correction for perspective.
                    let near = w * a.near + u * b.near + v * c.near;
                    let k = (y - self.top) * self.cols + x;
                    // A strict comparison keeps the first of equally near surfaces, so that the result depends on the
                    // order of drawing alone.
                    if near > self.near[k] {
                        self.near[k] = near;
                        self.colour[k] = std::array::from_fn(|i| w * a.colour[i] + u * b.colour[i] + v * c.colour[i]);
                    }
                }
            }
        }
    }
}

/// Returns the range of pixels between `low` and `high` whose centres may be within the range of three coordinates.
fn clip_pixel_range(a: f32, b: f32, c: f32, low: usize, high: usize) -> (usize, usize) {
    let from = (a.min(b).min(c) - 0.5).ceil().max(0.0) as usize;
    let to = (a.max(b).max(c) + 0.5).ceil().max(0.0) as usize;
    (from.clamp(low, high), to.clamp(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(x: f32, y: f32, near: f32, shade: f32) -> Corner {
        Corner { x, y, near, colour: [shade; 3] }
    }

    #[test]
    fn two_triangles_cover_their_square_exactly() {
        let mut band = RasterBand::new(0, 10, 10);
        let [a, b, c, d] = [(2.0, 2.0), (7.0, 2.0), (7.0, 7.0), (2.0, 7.0)].map(|(x, y)| corner(x, y, 1.0, 0.5));
        band.draw_triangle(&a, &b, &c);
        band.draw_triangle(&a, &c, &d);
        let covered = |i: usize, j: usize| (2..7).contains(&i) && (2..7).contains(&j);
        for i in 0..10 {
            for j in 0..10 {
                assert_eq!(band.colour_at(i, j).is_some(), covered(i, j), "{i}, {j}");
            }
        }
    }

    #[test]
    fn the_nearer_wins_in_any_order() {
        let far = [(0.0, 0.0), (9.0, 0.0), (0.0, 9.0)].map(|(x, y)| corner(x, y, 0.5, 0.1));
        let near = far.map(|p| Corner { near: 0.6, colour: [0.9; 3], ..p });
        for order in [[far, near], [near, far]] {
            let mut band = RasterBand::new(0, 9, 9);
            order.iter().for_each(|t| band.draw_triangle(&t[0], &t[1], &t[2]));
            assert!(band.colour_at(1, 1).is_some_and(|c| (c[0] - 0.9).abs() < 1e-6));
        }
    }

    #[test]
    fn what_is_outside_or_not_a_number_is_left_out() {
        let mut band = RasterBand::new(4, 2, 3);
        let wild = [f32::NAN, f32::INFINITY, -1e30, 1e30];
        for x in wild {
            for y in wild {
                band.draw_triangle(&corner(x, y, 1.0, 1.0), &corner(1.0, 5.0, 1.0, 1.0), &corner(y, x, 1.0, 1.0));
            }
        }
    }
}
