//! Trees on pictures: crowns with their shadows on a map, and simple crowns in a perspective view.

use crate::pictures::colour::{Linear, mix_colours, to_linear, to_srgb};
use crate::pictures::light::{Sun, lambert_reflectance};
use crate::pictures::picture::Picture;
use crate::pictures::raster::{Corner, RasterBand};
use crate::pictures::relief::Relief;
use crate::pictures::sample::interpolate_bilinear;
use crate::pictures::scene::{Camera, ScenePoint};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Size};
use thalweg_models::process::forest::{KINDS, PlantForm, Tree};

/// The colour of a crown in full light for each of [`KINDS`].
pub const COLOURS: [Linear; KINDS.len()] = [
    [0.030, 0.085, 0.036],
    [0.075, 0.160, 0.034],
    [0.120, 0.190, 0.075],
    [0.036, 0.095, 0.044],
    [0.095, 0.135, 0.040],
    [0.200, 0.200, 0.070],
];

/// The share of the ground's light that remains in a crown's shadow.
const SHADE: f32 = 0.42;
/// The greatest length of a shadow, in heights of the tree.
const MAX_SHADOW_HEIGHTS: f32 = 1.5;
/// The least radius of a crown on a map in pixels; a smaller crown is drawn with this radius and a lower opacity.
const MIN_CROWN_RADIUS_PX: f32 = 0.6;
/// The number of sides of a crown in a view.
const SIDES: usize = 6;

/// Draws the trees of a terrain of `size` cells, with `metres` per pixel, over a map of the same extent: first all
/// shadows, then the crowns from north to south.
pub fn draw_trees(map: &mut Picture, trees: &[Tree], size: Size, metres: f64, sun: Sun) {
    if trees.is_empty() {
        return;
    }
    let [rows, cols] = map.size();
    let scale = [rows as f64 / size[0] as f64, cols as f64 / size[1] as f64];
    let metres = metres as f32;
    let at = |tree: &Tree| [0, 1].map(|a| (tree.position()[a] * scale[a]) as f32);
    let [east, north, up] = sun.direction();
    // The length of a shadow per height is the cotangent of the sun's altitude.
    let long = ((east * east + north * north).sqrt() / up.max(1e-3)).min(MAX_SHADOW_HEIGHTS);
    let flat = (east * east + north * north).sqrt().max(1e-6);
    // Shadows fall away from the sun; rows count southward.
    let away = [north / flat, -east / flat];

    let mut dark = Field::new([rows, cols], 1f32);
    for tree in trees {
        // The middle of the crown is at half the tree's height, which determines the distance of its shadow.
        let (place, radius) = (at(tree), 0.5 * tree.crown() / metres);
        let off = 0.5 * tree.height() * long / metres;
        let place = [0, 1].map(|a| place[a] + away[a] * off);
        // A shadow is slightly wider than its crown, so that it remains visible around it.
        visit_disc(rows, cols, place, 1.15 * radius, |i, j, cover, _| {
            let light = &mut dark[(i, j)];
            // The limit keeps overlapping shadows from adding up, because a second crown takes no more of the sun's
            // light.
            *light = (*light * (1.0 - cover * (1.0 - SHADE))).max(SHADE);
        });
    }
    let mut light = Field::from_fn([rows, cols], |i, j| to_linear(map.rgb[(i, j)]).map(|x| x * dark[(i, j)]));
    // Southern crowns are drawn over northern ones; among trees in one row, the tree's number decides.
    let mut order: Vec<&Tree> = trees.iter().collect();
    order.sort_by_key(|tree| (tree.cell.row, tree.part.row, tree.number));
    for tree in order {
        let colour = crown_colour(tree);
        visit_disc(rows, cols, at(tree), 0.5 * tree.crown() / metres, |i, j, cover, [down, right]| {
            // A dome: bright on the side of the sun.
            let toward = (right * east - down * north) / flat;
            let shade = 0.95 + 0.55 * toward;
            light[(i, j)] = mix_colours(light[(i, j)], colour.map(|c| c * shade), cover);
        });
    }
    for (pixel, light) in map.rgb.as_mut_slice().iter_mut().zip(light.as_slice()) {
        *pixel = to_srgb(*light);
    }
}

/// Returns a crown's colour: that of its kind, slightly lighter or darker.
fn crown_colour(tree: &Tree) -> Linear {
    // The tint depends on the tree's number alone, so that a tree keeps its colour in every picture.
    let tint = 0.8 + 0.45 * RandomKey::ZERO.derive_key(tree.number).derive_key(1).uniform_unit() as f32;
    COLOURS[usize::from(tree.kind).min(KINDS.len() - 1)].map(|c| c * tint)
}

/// Visits the pixels of a disc with the share of each that is covered, and its position in the disc (down and right,
/// relative to the radius).
fn visit_disc(
    rows: usize,
    cols: usize,
    [y, x]: [f32; 2],
    radius: f32,
    mut visit: impl FnMut(usize, usize, f32, [f32; 2]),
) {
    // A disc below the least radius has an accordingly lower cover.
    let (wide, share) = if radius < MIN_CROWN_RADIUS_PX {
        (MIN_CROWN_RADIUS_PX, radius * radius / (MIN_CROWN_RADIUS_PX * MIN_CROWN_RADIUS_PX))
    } else {
        (radius, 1.0)
    };
    let span =
        |at: f32, n: usize| ((at - wide - 1.0).max(0.0) as usize)..((at + wide + 1.0).ceil().max(0.0) as usize).min(n);
    for i in span(y, rows) {
        for j in span(x, cols) {
            let [down, right] = [i as f32 + 0.5 - y, j as f32 + 0.5 - x];
            let cover = (wide + 0.5 - (down * down + right * right).sqrt()).clamp(0.0, 1.0);
            if cover > 0.0 {
                visit(i, j, cover * share, [down / (wide + 0.5), right / (wide + 0.5)]);
            }
        }
    }
}

/// The trees in front of a camera.
pub(crate) struct Wood {
    crowns: Vec<Crown>,
    sun: ScenePoint,
    /// For each band of screen rows, the indices of the crowns that may be visible in it.
    lists: Vec<Vec<u32>>,
    rows: usize,
}

/// A tree on the block.
struct Crown {
    foot: ScenePoint,
    radius: f32,
    height: f32,
    kind: u8,
    colour: Linear,
}

impl Wood {
    /// Places the trees of a terrain of `size` cells on a relief whose heights are multiplied by `exaggeration`, in
    /// front of a camera whose screen has `screen` rows of subpixels, with one list of crowns per `band` rows. Trees
    /// far smaller than a subpixel are thinned out and the others widened, so that a distant forest keeps its cover.
    pub fn new(
        trees: &[Tree],
        size: Size,
        relief: &Relief,
        exaggeration: f32,
        camera: &Camera,
        sun: ScenePoint,
        [screen, band]: [usize; 2],
    ) -> Self {
        let mut wood = Self { crowns: Vec::new(), sun, lists: vec![Vec::new(); screen.div_ceil(band)], rows: band };
        let [rows, cols] = relief.size();
        // The first and last samples of the relief coincide with those of the terrain.
        let scale = [0, 1].map(|a| (relief.size()[a].max(2) - 1) as f64 / (size[a].max(2) - 1) as f64);
        for tree in trees {
            let [i, j] = [0, 1].map(|a| ((tree.position()[a] - 0.5) * scale[a]) as f32);
            if relief.is_hole((i.max(0.0) as usize).min(rows - 1), (j.max(0.0) as usize).min(cols - 1))
                || i < 0.0
                || j < 0.0
                || i > (rows - 1) as f32
                || j > (cols - 1) as f32
            {
                continue;
            }
            let east = (j - (cols - 1) as f32 / 2.0) * relief.cell[1];
            let north = ((rows - 1) as f32 / 2.0 - i) * relief.cell[0];
            let foot = [east, north, interpolate_bilinear(&relief.heights, i, j) * exaggeration];
            let [_, _, near] = camera.project_point(foot);
            // Trees behind the camera have a negative distance.
            if near <= 0.0 {
                continue;
            }
            // This is the size in metres of a subpixel at the tree's distance.
            let pixel = 1.0 / (camera.focal_length() * near);
            let radius = 0.5 * tree.crown();
            // A crown is at least 0.7 subpixels in radius. Trees are then kept with the reciprocal of the widened area,
            // so that the covered area stays the same on average.
            let widened = (0.7 * pixel / radius).max(1.0);
            if RandomKey::ZERO.derive_key(tree.number).derive_key(2).uniform_unit() as f32 * widened * widened > 1.0 {
                continue;
            }
            let crown = Crown {
                foot,
                radius: radius * widened,
                height: tree.height() * widened.min(1.5) * exaggeration.clamp(1.0, 1.6),
                kind: tree.kind,
                colour: crown_colour(tree),
            };
            let ys = [0.0, 1.0].map(|up| camera.project_point([foot[0], foot[1], foot[2] + up * crown.height])[1]);
            // The crown's width adds to the range of rows, because its rings extend before and behind its foot.
            let around = crown.radius / pixel + 1.0;
            let (from, to) = (ys[0].min(ys[1]) - around, ys[0].max(ys[1]) + around);
            let number = wood.crowns.len() as u32;
            let lists = wood.lists.len();
            for list in &mut wood.lists
                [((from.max(0.0) as usize) / band).min(lists)..((to.max(0.0) as usize) / band + 1).min(lists)]
            {
                list.push(number);
            }
            wood.crowns.push(crown);
        }
        wood
    }

    /// Returns the light that the shadows of crowns leave on a relief's samples, 1 where there is none; `None`
    /// without trees.
    pub fn light_under_crowns(trees: &[Tree], size: Size, relief: &Relief, sun: ScenePoint) -> Option<Field<f32>> {
        if trees.is_empty() {
            return None;
        }
        let [rows, cols] = relief.size();
        let mut light = Field::new([rows, cols], 1f32);
        let scale = [0, 1].map(|a| (relief.size()[a].max(2) - 1) as f64 / (size[a].max(2) - 1) as f64);
        let cell = relief.cell[0].max(relief.cell[1]);
        for tree in trees {
            // The displacement is 0.4 of the height times the sun's horizontal component, less than the full length of
            // the shadow of a low sun.
            let off = 0.4 * tree.height() / cell;
            let [i, j] = [0, 1].map(|a| ((tree.position()[a] - 0.5) * scale[a]) as f32 + 0.5);
            visit_disc(
                rows,
                cols,
                [i + sun[1] * off, j - sun[0] * off],
                0.55 * tree.crown() / cell,
                |i, j, cover, _| {
                    let light = &mut light[(i, j)];
                    *light = (*light * (1.0 - cover * (1.0 - SHADE))).max(SHADE);
                },
            );
        }
        Some(light)
    }

    /// Draws the crowns in the list of a band.
    pub fn draw_band(&self, number: usize, camera: &Camera, band: &mut RasterBand) {
        debug_assert!(self.rows > 0);
        for crown in self.lists.get(number).into_iter().flatten() {
            self.draw_crown(&self.crowns[*crown as usize], camera, band);
        }
    }

    /// Draws a crown as rings from its foot to its top, connected by triangles: a cone, a ball or a tuft, depending
    /// on its kind.
    fn draw_crown(&self, crown: &Crown, camera: &Camera, band: &mut RasterBand) {
        // The height and radius of each ring, relative to the plant's.
        let rings: &[[f32; 2]] = match KINDS[usize::from(crown.kind).min(KINDS.len() - 1)].form {
            PlantForm::Cone => &[[0.1, 0.75], [0.22, 1.0], [1.0, 0.0]],
            PlantForm::Ball => &[[0.2, 0.35], [0.45, 1.0], [0.78, 0.82], [1.0, 0.0]],
            PlantForm::Dome => &[[0.08, 0.8], [0.5, 1.0], [0.85, 0.7], [1.0, 0.0]],
            PlantForm::Tuft => &[[0.0, 0.4], [0.7, 1.0], [1.0, 0.0]],
            PlantForm::Mat | PlantForm::Bush => &[[0.0, 0.8], [0.5, 1.0], [1.0, 0.0]],
        };
        let ring = |number: usize| -> [Corner; SIDES] {
            let [up, wide] = rings[number];
            let before = rings[number.saturating_sub(1)];
            let after = rings[(number + 1).min(rings.len() - 1)];
            // The slope of the outline determines how far the ring's normals point upward.
            let rise = (before[1] - after[1]) * crown.radius / ((after[0] - before[0]) * crown.height).max(1e-3);
            std::array::from_fn(|side| {
                let [cos, sin] = CIRCLE[side];
                let point = [
                    crown.foot[0] + cos * wide * crown.radius,
                    crown.foot[1] + sin * wide * crown.radius,
                    crown.foot[2] + up * crown.height,
                ];
                let length = (1.0 + rise * rise).sqrt();
                let normal = [cos / length, sin / length, rise / length];
                // Light of sun and sky; low parts receive less of both.
                let light = (0.50 + 1.25 * lambert_reflectance(normal, self.sun) + 0.45 * normal[2].max(0.0))
                    * (0.6 + 0.6 * up);
                let [x, y, near] = camera.project_point(point);
                Corner { x, y, near, colour: crown.colour.map(|c| c * light) }
            })
        };
        let mut low = ring(0);
        for number in 1..rings.len() {
            let high = ring(number);
            for side in 0..SIDES {
                // Two triangles connect the rings at each side; the last side ends at the first vertex.
                let next = (side + 1) % SIDES;
                band.draw_triangle(&low[side], &low[next], &high[side]);
                band.draw_triangle(&low[next], &high[next], &high[side]);
            }
            low = high;
        }
    }
}

/// The cosines and sines of multiples of a sixth of a circle.
const CIRCLE: [[f32; 2]; SIDES] =
    [[1.0, 0.0], [0.5, 0.866_025_4], [-0.5, 0.866_025_4], [-1.0, 0.0], [-0.5, -0.866_025_4], [0.5, -0.866_025_4]];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::drawn_land::DrawnLand;
    use crate::pictures::perspective::{CameraOptions, ViewOptions, draw_view};
    use crate::pictures::shade::{ShadeOptions, draw_map};
    use thalweg_core::{Grid, Height, Terrain};

    fn land() -> Terrain {
        let mut terrain = Terrain::new(Grid::new([60, 80], 2.0).unwrap());
        terrain.ground = Field::from_fn([60, 80], |i, j| Height::from_metres_clamped(20.0 + 0.1 * (i + j) as f64));
        terrain
    }

    fn tree(cell: [u32; 2], kind: u8) -> Tree {
        Tree { number: 7, cell: cell.into(), part: [32_768; 2].into(), kind, size: 1.0, age: 9, patch: 5.0 }
    }

    fn sum(pixel: [u8; 3]) -> i32 {
        pixel.iter().map(|c| i32::from(*c)).sum()
    }

    #[test]
    fn a_crown_stands_where_the_tree_does_and_shades_what_lies_away_from_the_sun() {
        let bare = draw_map(&land(), &ShadeOptions::default()).unwrap();
        let trees = [tree([30, 40], 1)];
        let terrain = land();
        let wooded = DrawnLand { trees: &trees, ..(&terrain).into() };
        let wooded = draw_map(wooded, &ShadeOptions::default()).unwrap();
        let change = |i: usize, j: usize| sum(wooded.rgb[(i, j)]) - sum(bare.rgb[(i, j)]);
        let [r, g, b] = wooded.rgb[(30, 40)];
        assert!(change(30, 40) < -100 && g > r && g > b, "a dark green crown");
        // 20 m tall under a sun in the north-west at 45°: the middle of the shadow is 10 m to the south-east, 3.5
        // cells along either axis.
        assert!(change(34, 44) < -60 && change(26, 36) == 0, "{} {}", change(34, 44), change(26, 36));
        let far = (0..60usize)
            .flat_map(|i| (0..80usize).map(move |j| (i, j)))
            .filter(|(i, j)| i.abs_diff(31) > 9 || j.abs_diff(41) > 9);
        assert!(far.into_iter().all(|(i, j)| change(i, j) == 0));
        // Far away a tree is a fraction of a pixel, and darkens it accordingly.
        let small = |trees: &[Tree]| {
            let land = DrawnLand { trees, ..(&terrain).into() };
            draw_map(land, &ShadeOptions { max_size: Some(4), ..ShadeOptions::default() }).unwrap()
        };
        let faint = sum(small(&trees).rgb[(1, 2)]) - sum(small(&[]).rgb[(1, 2)]);
        assert!((-140..0).contains(&faint), "{faint}");
    }

    #[test]
    fn crowns_stand_in_a_view_and_hide_behind_hills() {
        let changed = |terrain: &Terrain, trees: &[Tree], azimuth: f64| {
            let camera = CameraOptions { size: [150, 220], azimuth, elevation: 10.0, ..CameraOptions::default() };
            let options = ViewOptions { camera, ..ViewOptions::default() };
            let draw = |trees| draw_view(DrawnLand { trees, ..terrain.into() }, &options).unwrap();
            let pictures = [draw(&[]), draw(trees)];
            let pairs = pictures[0].rgb.as_slice().iter().zip(pictures[1].rgb.as_slice());
            pairs.filter(|(a, b)| a != b).count()
        };
        for kind in 0..KINDS.len() as u8 {
            assert!(changed(&land(), &[tree([30, 40], kind)], 180.0) > 3, "{}", KINDS[usize::from(kind)].name);
        }
        // A wall of 80 m across the middle hides trees north of it from a camera in the south.
        let mut wall = land();
        (0..80).for_each(|j| (28..32).for_each(|i| wall.ground[(i, j)] = Height::from_metres_clamped(100.0)));
        assert!(changed(&wall, &[tree([18, 40], 1)], 0.0) > 30);
        assert_eq!(changed(&wall, &[tree([18, 40], 4)], 180.0), 0);
        // Trees outside the picture or of an unknown kind do no harm.
        changed(&land(), &[tree([4_000_000, 3], 200)], 180.0);
    }
}
