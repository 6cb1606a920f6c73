//! Plants: where they stand, what they shade, and which of them are drawn.

use glam::{Vec3, vec3};
use thalweg_core::base::rng::Key;
use thalweg_core::{Field, Size};
use thalweg_models::process::forest::{KINDS, PlantForm, Tree};
use thalweg_render::pictures::relief::Relief;
use thalweg_render::pictures::sample::bilinear;
use thalweg_render::pictures::trees::COLOURS;
use wgpu::util::DeviceExt;

use crate::view::space::Bounds;

/// What is left of the ground's light in a crown's shadow, as in the library's views.
const SHADE: f32 = 0.42;
/// Sides of the land's chessboard by whose squares plants are passed over or thinned out.
const SQUARES: usize = 12;
/// Width in pixels of a crown from which it is drawn with all its sides.
const NEAR: f32 = 7.0;
/// Corners round a crown near by and far off.
const SIDES: [usize; 2] = [8, 4];

/// A plant as it is drawn.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Plant {
    /// Eastward, northward and height of the ground in metres, not exaggerated; half the width of its crown.
    pub foot: [f32; 4],
    /// Height in metres; a number of its own, 0 to 1, by which a far wood is thinned out.
    pub size: [f32; 2],
    /// Square root of its colour in linear light, 0 to 255, and the number of its kind.
    pub tint: [u8; 4],
}

/// The plants of a terrain of `cells` that stand on a relief.
pub(super) fn plants(trees: &[Tree], cells: Size, relief: &Relief) -> Vec<Plant> {
    let [rows, cols] = relief.size();
    let place = |at: f64, k: usize| match cells[k] {
        1 => at as f32,
        n => ((at - 0.5) * (relief.size()[k] - 1) as f64 / (n - 1) as f64) as f32,
    };
    let plant = |tree: &Tree| {
        let at = tree.at();
        let (i, j) = (place(at.row, 0), place(at.col, 1));
        let inside = (0.0..=(rows - 1) as f32).contains(&i) && (0.0..=(cols - 1) as f32).contains(&j);
        if !inside || relief.is_hole(i.round() as usize, j.round() as usize) {
            return None;
        }
        let east = (j - (cols - 1) as f32 / 2.0) * relief.cell[1];
        let north = ((rows - 1) as f32 / 2.0 - i) * relief.cell[0];
        let key = Key::ZERO.and(tree.number);
        let kind = usize::from(tree.kind).min(KINDS.len() - 1);
        // A little lighter or darker than others of its kind.
        let light = 0.8 + 0.45 * key.and(1).unit() as f32;
        let [r, g, b] = COLOURS[kind].map(|c| ((c * light).sqrt() * 255.0 + 0.5) as u8);
        Some(Plant {
            foot: [east, north, bilinear(&relief.heights, i, j), (0.5 * tree.crown()).max(0.05)],
            size: [tree.height(), key.and(2).unit() as f32],
            tint: [r, g, b, kind as u8],
        })
    };
    trees.iter().filter_map(plant).collect()
}

/// Light that the shadows of crowns leave on a relief's samples, 1 where there is none.
pub(super) fn shadow(plants: &[Plant], relief: &Relief, sun: [f32; 3]) -> Option<Field<f32>> {
    if plants.is_empty() {
        return None;
    }
    let [rows, cols] = relief.size();
    let mut light = Field::new([rows, cols], 1f32);
    let cell = relief.cell[0].max(relief.cell[1]);
    for plant in plants {
        let [east, north, _, radius] = plant.foot;
        let off = 0.4 * plant.size[0] / cell;
        let y = (rows - 1) as f32 / 2.0 - north / relief.cell[0] + sun[1] * off;
        let x = (cols - 1) as f32 / 2.0 + east / relief.cell[1] - sun[0] * off;
        let wide = 1.1 * radius / cell;
        // A disc smaller than a sample covers as much less of it.
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
                *light = (*light * (1.0 - cover * (1.0 - SHADE))).max(SHADE);
            }
        }
    }
    Some(light)
}

/// Plants on the GPU: by kind, then by square, then by their numbers, so that the first ones of a square stand for all.
pub(super) struct Stand {
    pub plants: wgpu::Buffer,
    groups: Vec<Group>,
}

/// The plants of one kind on one square.
struct Group {
    kind: usize,
    first: u32,
    /// Numbers of the plants, rising.
    numbers: Vec<f32>,
    /// Feet of its plants, not exaggerated.
    feet: Bounds,
    /// Widest crown's half.
    radius: f32,
}

/// Plants to be drawn in one go: which shape, and which plants.
pub(super) struct Batch {
    pub shape: usize,
    pub plants: std::ops::Range<u32>,
}

/// What decides about plants.
pub(super) struct Sight {
    pub eye: Vec3,
    pub forward: Vec3,
    pub map: bool,
    /// A pixel's width in metres at one metre's distance; of a map, anywhere.
    pub pixel: f32,
    pub exaggeration: f32,
    /// Most plants to draw.
    pub most: usize,
}

impl Stand {
    /// Sorts the plants of a surface with half the extent `half` (north, east), and hands them over.
    pub fn new(device: &wgpu::Device, plants: &[Plant], half: [f32; 2]) -> Option<Self> {
        if plants.is_empty() {
            return None;
        }
        let square = |plant: &Plant| {
            let at =
                |metres: f32, half: f32| (((metres / half + 1.0) * 0.5 * SQUARES as f32) as usize).min(SQUARES - 1);
            at(plant.foot[1], half[0]) * SQUARES + at(plant.foot[0], half[1])
        };
        let mut sorted = plants.to_vec();
        let key = |plant: &Plant| (plant.tint[3], square(plant));
        sorted.sort_by(|a, b| key(a).cmp(&key(b)).then(a.size[1].total_cmp(&b.size[1])));
        let mut groups = Vec::new();
        let mut first = 0;
        for group in sorted.chunk_by(|a, b| key(a) == key(b)) {
            let ends = |k: usize| {
                let values = group.iter().map(|plant| plant.foot[k]);
                values.fold([f32::MAX, f32::MIN], |[low, high], x| [low.min(x), high.max(x)])
            };
            let [x, y, z] = [ends(0), ends(1), ends(2)];
            groups.push(Group {
                kind: usize::from(group[0].tint[3]),
                first,
                numbers: group.iter().map(|plant| plant.size[1]).collect(),
                feet: Bounds { low: vec3(x[0], y[0], z[0]), high: vec3(x[1], y[1], z[1]) },
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

    /// What is drawn, and how much wider each plant is drawn because there are too many.
    pub fn batches(&self, sight: &Sight) -> (Vec<Batch>, f32) {
        let mut batches = Vec::new();
        let share = |group: &Group| {
            let near = sight.nearest(group);
            let pixels = group.radius / (near * sight.pixel);
            ((pixels / 0.7).powi(2).min(1.0), pixels)
        };
        let wanted: f32 = self.groups.iter().map(|group| share(group).0 * group.numbers.len() as f32).sum();
        let thin = (sight.most as f32 / wanted.max(1.0)).min(1.0);
        for group in &self.groups {
            let (share, pixels) = share(group);
            let count = group.numbers.partition_point(|number| *number <= share * thin) as u32;
            if count > 0 {
                let shape = 2 * group.kind + usize::from(2.0 * pixels < NEAR);
                batches.push(Batch { shape, plants: group.first..group.first + count });
            }
        }
        // The shader leaves out those whose number is too great for their width; wider ones make up for them.
        (batches, 1.0 / thin.sqrt())
    }
}

impl Sight {
    /// Least distance along the view to any of a group.
    fn nearest(&self, group: &Group) -> f32 {
        if self.map {
            return 1.0;
        }
        let scale = vec3(1.0, 1.0, self.exaggeration);
        let depths = group.feet.corners().map(|corner| (corner * scale - self.eye).dot(self.forward));
        depths.into_iter().fold(f32::MAX, f32::min).max(0.5)
    }
}

/// A corner of a shape.
#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Ring {
    /// Cosine and sine, height and width as shares of the plant's.
    at: [f32; 4],
    /// How much narrower it grows with height there.
    taper: f32,
}

/// The shapes of all kinds: corners, their order by threes, and which part of that order is each shape's; of every kind
/// first the near one, then the far.
pub(super) fn shapes() -> (Vec<Ring>, Vec<u16>, Vec<std::ops::Range<u32>>) {
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
        for (far, sides) in SIDES.into_iter().enumerate() {
            let rings: Vec<[f32; 2]> = match far {
                1 => vec![rings[0], rings[rings.len() / 2], [1.0, 0.0]],
                _ => rings.to_vec(),
            };
            let first = order.len() as u32;
            let base = corners.len();
            for (n, [up, wide]) in rings.iter().enumerate() {
                let (below, above) = (rings[n.saturating_sub(1)], rings[(n + 1).min(rings.len() - 1)]);
                let taper = (below[1] - above[1]) / (above[0] - below[0]).max(1e-3);
                for side in 0..sides {
                    let (sin, cos) = (side as f32 / sides as f32 * std::f32::consts::TAU).sin_cos();
                    corners.push(Ring { at: [cos, sin, *up, *wide], taper });
                }
            }
            for n in 0..rings.len() - 1 {
                for side in 0..sides {
                    let at = |ring: usize, side: usize| (base + ring * sides + side % sides) as u16;
                    let [a, b, c, d] = [at(n, side), at(n, side + 1), at(n + 1, side), at(n + 1, side + 1)];
                    order.extend([a, b, c]);
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
