//! Plants: their positions, their shade, and the selection of those that are drawn.

use glam::{Vec3, vec3};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Size};
use thalweg_models::process::forest::{KINDS, PlantForm, Tree};
use thalweg_render::pictures::relief::Relief;
use thalweg_render::pictures::sample::interpolate_bilinear;
use thalweg_render::pictures::trees::COLOURS;
use wgpu::util::DeviceExt;

use crate::view::space::BoundingBox;

/// The fraction of the ground's light that remains in a crown's shadow, as in the library's views.
const CROWN_SHADE_FRACTION: f32 = 0.42;
/// The number of squares along each side of the terrain into which plants are grouped for culling and thinning.
const SQUARES_PER_SIDE: usize = 12;
/// The width of a crown in pixels from which it is drawn in the detailed shape.
const MIN_DETAILED_PIXELS: f32 = 7.0;
/// The number of corners around a crown, near and far.
const CROWN_CORNERS: [usize; 2] = [8, 4];

/// A plant in the form in which it is drawn.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct PlantInstance {
    /// The position eastward and northward and the height of the ground in metres, not exaggerated; and half the width
    /// of the crown.
    pub foot: [f32; 4],
    /// The plant's height in metres; and a number of its own from 0 to 1, by which distant woods are thinned out.
    pub size: [f32; 2],
    /// The square root of the colour in linear light, 0 to 255, and the number of the plant's kind.
    pub tint: [u8; 4],
}

/// Converts the trees of a terrain of `cells` rows and columns to plants on a relief. Trees outside it or on cells
/// without data are left out.
pub(super) fn place_plants(trees: &[Tree], cells: Size, relief: &Relief) -> Vec<PlantInstance> {
    let [rows, cols] = relief.size();
    // Positions count cells from the terrain's edge, so the centre of the first cell is at 0.5 and sample 0 is there.
    let place = |at: f64, k: usize| match cells[k] {
        // A single row or column was widened to two samples, which its only cell spans.
        1 => at as f32,
        n => ((at - 0.5) * (relief.size()[k] - 1) as f64 / (n - 1) as f64) as f32,
    };
    let plant = |tree: &Tree| {
        let at = tree.position();
        let (i, j) = (place(at.row, 0), place(at.col, 1));
        let inside = (0.0..=(rows - 1) as f32).contains(&i) && (0.0..=(cols - 1) as f32).contains(&j);
        if !inside || relief.is_hole(i.round() as usize, j.round() as usize) {
            return None;
        }
        let east = (j - (cols - 1) as f32 / 2.0) * relief.cell[1];
        let north = ((rows - 1) as f32 / 2.0 - i) * relief.cell[0];
        // The tree's own number is the key, so a tree looks the same in every snapshot, however many others there are.
        let key = RandomKey::ZERO.derive_key(tree.number);
        let kind = usize::from(tree.kind).min(KINDS.len() - 1);
        // Each plant is a little lighter or darker than others of its kind.
        let light = 0.8 + 0.45 * key.derive_key(1).uniform_unit() as f32;
        // The square root distributes the 256 steps about as the eye distinguishes brightness.
        let [r, g, b] = COLOURS[kind].map(|c| ((c * light).sqrt() * 255.0 + 0.5) as u8);
        Some(PlantInstance {
            foot: [east, north, interpolate_bilinear(&relief.heights, i, j), (0.5 * tree.crown()).max(0.05)],
            size: [tree.height(), key.derive_key(2).uniform_unit() as f32],
            tint: [r, g, b, kind as u8],
        })
    };
    trees.iter().filter_map(plant).collect()
}

/// Computes the fraction of light that the shadows of crowns leave on a relief's samples, 1 where there is no shadow;
/// `None` without plants.
pub(super) fn shade_under_crowns(plants: &[PlantInstance], relief: &Relief, sun: [f32; 3]) -> Option<Field<f32>> {
    if plants.is_empty() {
        return None;
    }
    let [rows, cols] = relief.size();
    let mut light = Field::new([rows, cols], 1f32);
    let cell = relief.cell[0].max(relief.cell[1]);
    for plant in plants {
        let [east, north, _, radius] = plant.foot;
        // The shadow of the crown is shifted away from the sun by 0.4 of the plant's height, as in the library's views.
        let off = 0.4 * plant.size[0] / cell;
        let y = (rows - 1) as f32 / 2.0 - north / relief.cell[0] + sun[1] * off;
        let x = (cols - 1) as f32 / 2.0 + east / relief.cell[1] - sun[0] * off;
        let wide = 1.1 * radius / cell;
        // A disc smaller than a sample covers only a fraction of it.
        let (reach, share) = if wide < 0.6 { (0.6, wide * wide / 0.36) } else { (wide, 1.0) };
        let span = |at: f32, n: usize| {
            ((at - reach - 0.5).ceil().max(0.0) as usize)
                ..((at + reach + 0.5).floor() + 1.0).max(0.0).min(n as f32) as usize
        };
        for i in span(y, rows) {
            for j in span(x, cols) {
                let (down, right) = (i as f32 - y, j as f32 - x);
                let cover = (reach + 0.5 - (down * down + right * right).sqrt()).clamp(0.0, 1.0) * share;
                let light = &mut light[(i, j)];
                // Overlapping crowns multiply, but no place becomes darker than under one full crown.
                *light = (*light * (1.0 - cover * (1.0 - CROWN_SHADE_FRACTION))).max(CROWN_SHADE_FRACTION);
            }
        }
    }
    Some(light)
}

/// Plants on the GPU, sorted by kind, then by square, then by their numbers, so that any number of the first ones is a
/// sample of the square.
pub(super) struct GpuPlants {
    pub plants: wgpu::Buffer,
    groups: Vec<PlantGroup>,
}

/// The plants of one kind in one square.
struct PlantGroup {
    kind: usize,
    first: u32,
    /// The numbers of the plants, ascending.
    numbers: Vec<f32>,
    /// The bounding box of the plants' feet, not exaggerated.
    feet: BoundingBox,
    /// Half the width of the widest crown.
    radius: f32,
}

/// Plants that are drawn in one call: their shape, and their range.
pub(super) struct Batch {
    pub shape: usize,
    pub plants: std::ops::Range<u32>,
}

/// The parameters of the selection of plants.
pub(super) struct PlantCriteria {
    pub eye: Vec3,
    pub forward: Vec3,
    pub map: bool,
    /// The width of a pixel in metres at a distance of one metre; on a map, anywhere.
    pub pixel: f32,
    pub exaggeration: f32,
    /// The maximum number of plants to draw.
    pub most: usize,
}

impl GpuPlants {
    /// Sorts the plants of a surface with half the extent `half` (north, east), and uploads them; returns `None` if
    /// there are none.
    pub fn new(device: &wgpu::Device, plants: &[PlantInstance], half: [f32; 2]) -> Option<Self> {
        if plants.is_empty() {
            return None;
        }
        let square = |plant: &PlantInstance| {
            let at = |metres: f32, half: f32| {
                (((metres / half + 1.0) * 0.5 * SQUARES_PER_SIDE as f32) as usize).min(SQUARES_PER_SIDE - 1)
            };
            at(plant.foot[1], half[0]) * SQUARES_PER_SIDE + at(plant.foot[0], half[1])
        };
        let mut sorted = plants.to_vec();
        let key = |plant: &PlantInstance| (plant.tint[3], square(plant));
        // Within a group the random numbers ascend, so that thinning a group is a shorter range of the same buffer.
        sorted.sort_by(|a, b| key(a).cmp(&key(b)).then(a.size[1].total_cmp(&b.size[1])));
        let mut groups = Vec::new();
        let mut first = 0;
        for group in sorted.chunk_by(|a, b| key(a) == key(b)) {
            let ends = |k: usize| {
                let values = group.iter().map(|plant| plant.foot[k]);
                values.fold([f32::MAX, f32::MIN], |[low, high], x| [low.min(x), high.max(x)])
            };
            let [x, y, z] = [ends(0), ends(1), ends(2)];
            groups.push(PlantGroup {
                kind: usize::from(group[0].tint[3]),
                first,
                numbers: group.iter().map(|plant| plant.size[1]).collect(),
                feet: BoundingBox { low: vec3(x[0], y[0], z[0]), high: vec3(x[1], y[1], z[1]) },
                radius: ends(3)[1],
            });
            first += group.len() as u32;
        }
        let plants = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("plants"),
            contents: bytemuck::cast_slice(&sorted),
            usage: wgpu::BufferUsages::VERTEX,
        });
        Some(Self { plants, groups })
    }

    /// Selects the plants to draw. Returns them and the factor by which each plant is widened if some are left out
    /// because there are too many.
    pub fn select_batches(&self, sight: &PlantCriteria) -> (Vec<Batch>, f32) {
        let mut batches = Vec::new();
        // The fraction of a group's plants that is worth drawing at its distance: all of them if the widest crown is
        // at least 1.4 pixels wide.
        let share = |group: &PlantGroup| {
            let near = sight.nearest_depth(group);
            let pixels = group.radius / (near * sight.pixel);
            ((pixels / 0.7).powi(2).min(1.0), pixels)
        };
        // First the groups state how many plants they would draw; then one factor reduces all of them to the maximum.
        let plant_count: f32 = self.groups.iter().map(|group| share(group).0 * group.numbers.len() as f32).sum();
        let thin = (sight.most as f32 / plant_count.max(1.0)).min(1.0);
        for group in &self.groups {
            let (share, pixels) = share(group);
            let count = group.numbers.partition_point(|number| *number <= share * thin) as u32;
            if count > 0 {
                let shape = 2 * group.kind + usize::from(2.0 * pixels < MIN_DETAILED_PIXELS);
                batches.push(Batch { shape, plants: group.first..group.first + count });
            }
        }
        // The shader leaves out plants whose number is too large for their width; the remaining ones are widened to
        // compensate.
        // The covered area is proportional to number times width squared, so the width grows by the inverse square
        // root.
        (batches, 1.0 / thin.sqrt())
    }
}

impl PlantCriteria {
    /// The shortest distance along the view direction to any plant of a group, at least 0.5 m.
    fn nearest_depth(&self, group: &PlantGroup) -> f32 {
        // The pixel's width on a map does not depend on depth, so any depth of 1 gives it unchanged.
        if self.map {
            return 1.0;
        }
        let scale = vec3(1.0, 1.0, self.exaggeration);
        let depths = group.feet.corners().map(|corner| (corner * scale - self.eye).dot(self.forward));
        depths.into_iter().fold(f32::MAX, f32::min).max(0.5)
    }
}

/// A vertex of a plant's shape.
#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct PlantVertex {
    /// Cosine and sine of the direction, and height and width as fractions of the plant's.
    at: [f32; 4],
    /// The rate at which the shape narrows with height there.
    taper: f32,
}

/// Builds the shapes of all kinds: vertices, triangle indices, and each shape's range of indices; for each kind first
/// the near shape, then the far one.
pub(super) fn build_shapes() -> (Vec<PlantVertex>, Vec<u16>, Vec<std::ops::Range<u32>>) {
    let (mut corners, mut order, mut parts) = (Vec::new(), Vec::<u16>::new(), Vec::new());
    for kind in KINDS {
        // Height and width of each ring, as the library draws them.
        let rings: &[[f32; 2]] = match kind.form {
            PlantForm::Cone => &[[0.08, 0.7], [0.2, 1.0], [1.0, 0.0]],
            PlantForm::Ball => &[[0.18, 0.4], [0.42, 1.0], [0.76, 0.82], [0.94, 0.42], [1.0, 0.0]],
            PlantForm::Dome => &[[0.08, 0.8], [0.45, 1.0], [0.8, 0.75], [1.0, 0.0]],
            PlantForm::Tuft => &[[0.0, 0.4], [0.7, 1.0], [1.0, 0.0]],
            PlantForm::Mat | PlantForm::Bush => &[[0.0, 0.8], [0.5, 1.0], [0.85, 0.6], [1.0, 0.0]],
        };
        for (far, sides) in CROWN_CORNERS.into_iter().enumerate() {
            let rings: Vec<[f32; 2]> = match far {
                // The far shape keeps the bottom, the middle and the tip.
                1 => vec![rings[0], rings[rings.len() / 2], [1.0, 0.0]],
                _ => rings.to_vec(),
            };
            let first = order.len() as u32;
            let base = corners.len();
            for (n, [up, wide]) in rings.iter().enumerate() {
                let (below, above) = (rings[n.saturating_sub(1)], rings[(n + 1).min(rings.len() - 1)]);
                // The slope of the outline gives the normals for shading; it is taken between the neighbouring rings.
                let taper = (below[1] - above[1]) / (above[0] - below[0]).max(1e-3);
                for side in 0..sides {
                    let (sin, cos) = (side as f32 / sides as f32 * std::f32::consts::TAU).sin_cos();
                    corners.push(PlantVertex { at: [cos, sin, *up, *wide], taper });
                }
            }
            for n in 0..rings.len() - 1 {
                for side in 0..sides {
                    let at = |ring: usize, side: usize| (base + ring * sides + side % sides) as u16;
                    let [a, b, c, d] = [at(n, side), at(n, side + 1), at(n + 1, side), at(n + 1, side + 1)];
                    order.extend([a, b, c]);
                    // The last ring has no width, so the second triangle of each of its quads would be empty.
                    if n + 2 < rings.len() {
                        order.extend([b, d, c]);
                    }
                }
            }
            parts.push(first..order.len() as u32);
        }
    }
    (corners, order, parts)
}
