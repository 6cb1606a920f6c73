//! Level of detail: selects the patches of the terrain that are drawn, and how coarse each is (CDLOD, Strugar 2009).
//!
//! A patch has 16 × 16 quads; at level k a quad spans 2ᵏ samples. The level depends only on the distance. As the
//! distance approaches that of the next level, the shader moves every other corner of a patch to its neighbour, so
//! levels meet without a seam.

use glam::{Mat4, Vec3, vec3};
use serde::{Deserialize, Serialize};
use thalweg_core::{Field, Size};

use crate::raw;

/// The number of quads on a side of a patch.
pub(super) const QUADS_PER_SIDE: usize = 16;

/// The shortest range of a level, in quads of that level: with a shorter one, a patch could be next to one two levels
/// coarser.
const MIN_RANGE_QUADS: f32 = 160.0;

/// The lowest and highest surface of every patch of every level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pyramid {
    /// The levels from the finest; low > high where there is nothing to draw.
    #[serde(with = "raw::fields")]
    levels: Vec<Field<[f32; 2]>>,
}

/// A patch to draw.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct SurfacePatch {
    /// First column and row, samples per quad, and the distance from which the next coarser level is drawn.
    pub at: [f32; 4],
}

/// A side wall below a patch at the edge of the terrain.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Side {
    pub patch: SurfacePatch,
    /// The edge: north, east, south, west as 0 to 3.
    pub rim: u32,
}

/// The parameters of the selection of patches.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchCriteria {
    /// The matrix from metres relative to the eye to clip space.
    pub clip: Mat4,
    pub eye: Vec3,
    /// The height of the eye above all terrain.
    pub above: f32,
    /// True if the picture is a map; and the width of a pixel in metres (in perspective, at a distance of one metre).
    pub map: bool,
    pub pixel: f32,
    /// The width of a quad in pixels at which levels change.
    pub wide: f32,
    /// The factor on heights.
    pub exaggeration: f32,
    /// The height of the bottom of the block, exaggerated.
    pub base: f32,
    /// The size of a sample to the south and to the east.
    pub sides: [f32; 2],
    /// West, south, east and north of the part that is not drawn.
    pub hole: Option<[f32; 4]>,
}

impl Pyramid {
    /// Builds the pyramid of a field of `size` samples. `top` gives a sample's surface in metres, `None` where there
    /// is no data.
    pub fn from_tops(size: Size, top: impl Fn(usize, usize) -> Option<f32> + Sync) -> Self {
        let blocks = size.map(|n| (n - 1).div_ceil(QUADS_PER_SIDE).max(1));
        // Neighbouring patches share the samples of their common edge, hence one more sample than quads.
        let span = |k: usize, n: usize| k * QUADS_PER_SIDE..((k + 1) * QUADS_PER_SIDE + 1).min(n);
        let first = Field::from_fn(blocks, |bi, bj| {
            let tops = span(bi, size[0]).flat_map(|i| span(bj, size[1]).map(move |j| (i, j)));
            tops.filter_map(|(i, j)| top(i, j)).fold([f32::MAX, f32::MIN], |[low, high], z| [low.min(z), high.max(z)])
        });
        let mut levels = vec![first];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let [rows, cols] = last.size();
            let next = Field::from_fn([rows.div_ceil(2), cols.div_ceil(2)], |i, j| {
                let children = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (2 * i + a, 2 * j + b));
                // At the southern and eastern ends of an odd number of patches, some children do not exist.
                let there = children.into_iter().filter(|(r, c)| *r < rows && *c < cols);
                there.fold([f32::MAX, f32::MIN], |[low, high], at| [low.min(last[at][0]), high.max(last[at][1])])
            });
            levels.push(next);
        }
        Self { levels }
    }

    /// Returns the patches to draw, and the side walls below them, for a surface of `size` samples.
    pub fn select_patches(&self, size: Size, seen: &PatchCriteria) -> (Vec<SurfacePatch>, Vec<Side>) {
        let mut chosen = Chosen { size, seen, patches: Vec::new(), sides: Vec::new() };
        let top = self.levels.len() - 1;
        self.visit_patch(top, 0, 0, &mut chosen);
        (chosen.patches, chosen.sides)
    }

    fn visit_patch(&self, level: usize, i: usize, j: usize, chosen: &mut Chosen<'_>) {
        let [low, high] = self.levels[level][(i, j)];
        let PatchCriteria { exaggeration, base, map, .. } = *chosen.seen;
        // The box of a patch starts at the bottom of the block, so that a visible side wall is not culled with its
        // patch.
        let hidden = chosen.is_in_hole(level, i, j) || !chosen.is_visible(level, i, j, [base, high * exaggeration]);
        // A patch whose lowest height exceeds its highest contains no data at all.
        if low > high || hidden {
            return;
        }
        // On a map the resolution is the same everywhere; in perspective it depends on the distance to the nearest
        // point of the patch.
        let finer = level > 0 && if map { chosen.seen.map_level() < level } else { chosen.is_near(level, i, j) };
        if !finer {
            chosen.add_patch(level, i, j);
            return;
        }
        let [rows, cols] = self.levels[level - 1].size();
        for (r, c) in [(2 * i, 2 * j), (2 * i, 2 * j + 1), (2 * i + 1, 2 * j), (2 * i + 1, 2 * j + 1)] {
            if r < rows && c < cols {
                self.visit_patch(level - 1, r, c, chosen);
            }
        }
    }
}

impl PatchCriteria {
    /// The distance up to which a level is drawn.
    fn max_draw_distance(&self, level: usize) -> f32 {
        // A quad of one metre is `wide` pixels wide at 1 / (pixel · wide) metres; the ranges double with the level as
        // the quads do.
        let quads = (1.0 / (self.pixel * self.wide)).max(MIN_RANGE_QUADS);
        self.sides[0].max(self.sides[1]) * (level as f32).exp2() * quads
    }

    /// The level at which a map is drawn.
    fn map_level(&self) -> usize {
        let samples = self.wide * self.pixel / self.sides[0].max(self.sides[1]);
        samples.max(1.0).log2().floor().min(40.0) as usize
    }
}

struct Chosen<'a> {
    size: Size,
    seen: &'a PatchCriteria,
    patches: Vec<SurfacePatch>,
    sides: Vec<Side>,
}

impl Chosen<'_> {
    /// West, east, south and north of a patch in metres.
    fn patch_extent(&self, level: usize, i: usize, j: usize) -> [f32; 4] {
        let span = QUADS_PER_SIDE << level;
        let at = |k: usize, axis: usize| {
            // The last patch of a row or column ends with the terrain, even if its span does not.
            let last = self.size[axis] - 1;
            ((k * span).min(last) as f32 - last as f32 / 2.0) * self.seen.sides[axis]
        };
        // Rows grow to the south and y to the north, so the signs of the rows change.
        [at(j, 1), at(j + 1, 1), -at(i + 1, 0), -at(i, 0)]
    }

    /// Returns true if a patch is completely inside the part that is not drawn.
    fn is_in_hole(&self, level: usize, i: usize, j: usize) -> bool {
        let [west, east, south, north] = self.patch_extent(level, i, j);
        (self.seen.hole).is_some_and(|[w, s, e, n]| w < west && s < south && east < e && north < n)
    }

    /// Returns true if any part of the patch is within the range of the next finer level.
    fn is_near(&self, level: usize, i: usize, j: usize) -> bool {
        let [west, east, south, north] = self.patch_extent(level, i, j);
        let Vec3 { x, y, .. } = self.seen.eye;
        // The height difference is that to the highest terrain, the same for all patches and in the shader, so that
        // both agree about levels.
        let off = [(x - x.clamp(west, east)), (y - y.clamp(south, north)), self.seen.above];
        let range = self.seen.max_draw_distance(level - 1);
        off.iter().map(|d| d * d).sum::<f32>() < range * range
    }

    /// Returns true if the box above a patch may intersect the picture.
    fn is_visible(&self, level: usize, i: usize, j: usize, [low, high]: [f32; 2]) -> bool {
        let [west, east, south, north] = self.patch_extent(level, i, j);
        let ends = [[west, east], [south, north], [low, high]];
        // Bit k stays set as long as all corners are beyond side k of the picture.
        let mut beyond = 0b1_1111u8;
        for n in 0..8 {
            let corner = vec3(ends[0][n & 1], ends[1][n >> 1 & 1], ends[2][n >> 2 & 1]);
            let clip = self.seen.clip * (corner - self.seen.eye).extend(1.0);
            let (x, y, w) = (clip.x, clip.y, clip.w);
            // Depth is not compared, because the projection has no far plane; w ≤ 0 means behind the eye.
            for (k, out) in [x > w, x < -w, y > w, y < -w, w <= 0.0].into_iter().enumerate() {
                if !out {
                    beyond &= !(1 << k);
                }
            }
        }
        beyond == 0
    }

    fn add_patch(&mut self, level: usize, i: usize, j: usize) {
        let span = QUADS_PER_SIDE << level;
        let [row, col] = [i * span, j * span];
        // On a map all patches have the same level, so none of their corners may move towards a coarser one.
        let far = if self.seen.map { f32::MAX } else { self.seen.max_draw_distance(level) };
        let patch = SurfacePatch { at: [col as f32, row as f32, (1u64 << level) as f32, far] };
        self.patches.push(patch);
        let [rows, cols] = self.size;
        // The patch is at an edge of the terrain if it contains the first or the last sample of a row or column.
        let rims = [row == 0, col + span >= cols - 1, row + span >= rows - 1, col == 0];
        self.sides.extend((0..4).filter(|rim| rims[*rim]).map(|rim| Side { patch, rim: rim as u32 }));
    }
}

/// The corner indices of a patch's quads as triangles, into rows of 17 corners.
pub(super) fn patch_indices() -> Vec<u16> {
    quad_indices(QUADS_PER_SIDE)
}

/// The corner indices of the two strips of a side wall: its four rows are surface, ground, ground and bottom.
pub(super) fn side_indices() -> Vec<u16> {
    // The strip between the two ground rows has no height; it only separates the colours of water and earth, and is
    // omitted.
    let all = quad_indices(3);
    let row = 6 * QUADS_PER_SIDE;
    [&all[..row], &all[2 * row..]].concat()
}

fn quad_indices(rows: usize) -> Vec<u16> {
    // A patch has 17 × 17 = 289 corners, so 16 bits are enough.
    let corner = |i: usize, j: usize| (i * (QUADS_PER_SIDE + 1) + j) as u16;
    let quad = |i: usize, j: usize| {
        let [a, b, c, d] = [corner(i, j), corner(i, j + 1), corner(i + 1, j), corner(i + 1, j + 1)];
        [a, c, b, b, c, d]
    };
    (0..rows).flat_map(|i| (0..QUADS_PER_SIDE).flat_map(move |j| quad(i, j))).collect()
}

#[cfg(test)]
mod tests {
    use glam::Vec4;

    use super::*;
    use crate::view::camera::ViewCamera;

    fn seen(camera: &ViewCamera, exaggeration: f32) -> PatchCriteria {
        PatchCriteria {
            clip: camera.clip_matrix(1.5),
            eye: camera.eye(),
            above: 0.0,
            map: camera.map,
            pixel: 2.0 * camera.tan_half_fov() / 800.0 * if camera.map { camera.distance } else { 1.0 },
            wide: 4.0,
            exaggeration,
            base: -50.0,
            sides: [10.0; 2],
            hole: None,
        }
    }

    /// Returns the level that draws each quad of the finest level, and the number of quads drawn more than once.
    fn drawn(size: Size, patches: &[SurfacePatch]) -> (Field<Option<usize>>, usize) {
        let mut by = Field::new(size.map(|n| n - 1), None);
        let mut twice = 0;
        for patch in patches {
            let [col, row, step, _] = patch.at;
            let (level, span) = ((step as usize).ilog2() as usize, QUADS_PER_SIDE * step as usize);
            for i in row as usize..(row as usize + span).min(size[0] - 1) {
                for j in col as usize..(col as usize + span).min(size[1] - 1) {
                    twice += usize::from(by[(i, j)].is_some());
                    by[(i, j)] = Some(level);
                }
            }
        }
        (by, twice)
    }

    #[test]
    fn every_quad_is_drawn_once_and_levels_differ_by_one_at_most() {
        for size in [[513, 700], [2, 2], [3000, 7], [18, 17], [1000, 1000]] {
            let pyramid = Pyramid::from_tops(size, |i, j| Some(((i * 7 + j * 13) % 90) as f32));
            for (distance, azimuth, elevation) in [(300.0, 20.0, 10.0), (4000.0, 205.0, 34.0), (90_000.0, 0.0, 88.0)] {
                let camera = ViewCamera { distance, azimuth, elevation, fov: 149.0, ..ViewCamera::default() };
                let mut seen = seen(&camera, 1.0);
                // A projection for which everything is in view, so that no patch is left out for being outside the
                // picture.
                seen.clip = Mat4::from_cols(Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::W);
                let (by, twice) = drawn(size, &pyramid.select_patches(size, &seen).0);
                assert!(twice == 0 && by.as_slice().iter().all(Option::is_some), "{size:?}");
                let differ = |a: Option<usize>, b: Option<usize>| a.unwrap().abs_diff(b.unwrap());
                for i in 0..by.rows() {
                    for j in 0..by.cols() {
                        let right = (j + 1 < by.cols()).then(|| differ(by[(i, j)], by[(i, j + 1)]));
                        let below = (i + 1 < by.rows()).then(|| differ(by[(i, j)], by[(i + 1, j)]));
                        assert!(right.max(below).unwrap_or(0) <= 1, "{size:?} {distance} at {i}, {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn where_levels_meet_the_finer_has_wholly_moved_and_the_coarser_not_begun() {
        let size = [1200, 1200];
        let pyramid = Pyramid::from_tops(size, |_, _| Some(0.0));
        let camera =
            ViewCamera { distance: 900.0, elevation: 25.0, target: vec3(300.0, -900.0, 0.0), ..ViewCamera::default() };
        let mut seen = seen(&camera, 1.0);
        seen.clip = Mat4::from_cols(Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::W);
        seen.above = seen.eye.z;
        let patches = pyramid.select_patches(size, &seen).0;
        let (by, _) = drawn(size, &patches);
        let mut met = 0;
        for i in 0..by.rows() {
            for j in 1..by.cols() {
                let (a, b) = (by[(i, j - 1)].unwrap(), by[(i, j)].unwrap());
                if a != b {
                    met += 1;
                    let at = |k: usize, side: f32| (k as f32 - 599.5) * side;
                    let (x, y) = (at(j, 10.0) - seen.eye[0], -at(i, 10.0) - seen.eye[1]);
                    let far = (x * x + y * y + seen.above * seen.above).sqrt();
                    assert!(
                        far >= 0.98 * seen.max_draw_distance(a.min(b))
                            && far <= 0.65 * seen.max_draw_distance(a.max(b)),
                        "{i}, {j}"
                    );
                }
            }
        }
        assert!(met > 100);
    }

    #[test]
    fn what_is_beside_or_behind_is_left_out() {
        let size = [1025, 1025];
        let pyramid = Pyramid::from_tops(size, |_, _| Some(0.0));
        let all = pyramid
            .select_patches(size, &seen(&ViewCamera { distance: 40_000.0, ..ViewCamera::default() }, 1.0))
            .0
            .len();
        let near = ViewCamera { distance: 300.0, elevation: 20.0, ..ViewCamera::default() };
        let some = pyramid.select_patches(size, &seen(&near, 1.0)).0;
        let span = |patch: &SurfacePatch| patch.at[2] * patch.at[2];
        let share = some.iter().map(span).sum::<f32>() / (1024.0 * 1024.0 / 256.0);
        assert!(all > 0 && share < 0.5, "{share}");
        let away = ViewCamera { target: vec3(0.0, 90_000.0, 0.0), azimuth: 180.0, ..near };
        assert!(pyramid.select_patches(size, &seen(&away, 1.0)).0.is_empty());
    }

    #[test]
    fn sides_run_once_round_the_rim() {
        let size = [100, 330];
        let pyramid = Pyramid::from_tops(size, |_, _| Some(0.0));
        let camera = ViewCamera { distance: 30_000.0, ..ViewCamera::default() };
        let sides = pyramid.select_patches(size, &seen(&camera, 1.0)).1;
        let span = |side: &Side| {
            let along = usize::from(!side.rim.is_multiple_of(2));
            let from = side.patch.at[along] as usize;
            let last = if along == 0 { size[1] - 1 } else { size[0] - 1 };
            (from + QUADS_PER_SIDE * side.patch.at[2] as usize).min(last) - from
        };
        for rim in 0..4 {
            let long: usize = sides.iter().filter(|side| side.rim == rim).map(span).sum();
            assert_eq!(long, if rim % 2 == 0 { 329 } else { 99 });
        }
    }
}
