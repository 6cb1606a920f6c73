//! [`Stand`]: from where an endless land is looked at; what does not depend on how fine it is.

use thalweg_core::{Cell, Extent, Point, Result};
use thalweg_refine::Frame;
use thalweg_render::pictures::light::Sun;
use thalweg_sim::world::World;

use crate::explore::ground;
use crate::explore::rings::{Ring, rings};
use crate::view::camera::Camera;
use crate::view::surface::{Surface, Wanted};

/// The narrowest cells that are looked at, in metres.
const NARROWEST: f64 = 0.5;

/// The finest level of a world that is looked at.
pub fn finest(frame: &Frame) -> u32 {
    (0..40).take_while(|level| frame.width(level + 1) >= NARROWEST && frame.check(level + 1).is_ok()).count() as u32
}

/// Where an eye looks, and from where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stand {
    /// The place looked at.
    pub place: Point,
    /// The camera. Its target is the place, at the height that it has there.
    pub camera: Camera,
}

/// What all rings of a land share, so that none differs in its colours from the next: taken from the first that is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Palette {
    range: [f32; 2],
    deepest: f32,
}

/// Distance in metres from which on heights are exaggerated, and how fast that grows.
const TRUE: f64 = 20_000.0;
const GROWTH: f64 = 0.4;

/// Factor on heights at a distance: near by the land is as it is, and from far away it would be flat.
pub fn exaggeration(distance: f32) -> f32 {
    (f64::from(distance) / TRUE).powf(GROWTH).clamp(1.0, 12.0) as f32
}

/// Least and greatest distance in metres from which a whole world is looked at.
const WHOLE: [f64; 2] = [1.0, 3e6];

impl Stand {
    /// A whole world; or the land about the origin of one that has no end in sight.
    pub fn whole(frame: &Frame) -> Self {
        let world = frame.world(0);
        let middle = |axis: usize| 0.5 * (world.start[axis] as f64 + world.end[axis] as f64) * frame.cell;
        let Cell { row: y, col: x } = Cell::from_axes(middle);
        let extent = frame.cells[0].max(frame.cells[1]) as f64 * frame.cell;
        let distance = (1.9 * extent).clamp(WHOLE[0], WHOLE[1]) as f32;
        Self { place: Point { x, y }, camera: Camera { distance, ..Camera::default() } }
    }

    /// The rings that it sees in a picture so many pixels high.
    pub fn rings(&self, frame: &Frame, height: u32) -> Vec<Ring> {
        let pixel = 2.0 * f64::from(self.camera.half()) / f64::from(height.max(1));
        rings(frame, self.place, self.camera.distance.into(), pixel, finest(frame))
    }

    /// The camera as one that has the middle of a ring at x = y = 0 sees it.
    pub fn camera_of(&self, ring: &Ring, frame: &Frame) -> Camera {
        let middle = ring.middle(frame);
        let mut camera = self.camera;
        camera.target.x += (self.place.x - middle.x) as f32;
        camera.target.y -= (self.place.y - middle.y) as f32;
        camera
    }

    /// Whether a ring is drawn as a block with sides: the whole world is, where no finer ring reaches its rim.
    pub fn has_sides(frame: &Frame, ring: &Ring, finer: Option<&Ring>) -> bool {
        let world = frame.world(ring.level);
        let inside = |finer: &Ring| {
            let rect = finer.rect.coarser();
            (0..2).all(|axis| rect.start[axis] > world.start[axis] && rect.end[axis] < world.end[axis])
        };
        ring.rect == world && finer.is_none_or(inside)
    }

    /// What a finer ring leaves to be drawn of a coarser one, as [`Shot::hole`](crate::view::look::Shot::hole) has it.
    pub fn hole(frame: &Frame, coarse: &Ring, fine: &Ring) -> [f32; 4] {
        let (Point { x, y }, Point { x: east, y: south }) = (coarse.middle(frame), fine.middle(frame));
        let Extent { width, height } = fine.half_extent(frame);
        let [a, b] = [width, height].map(|half| half - ground::OVERLAP * frame.width(fine.level));
        [east - a - x, y - south - b, east + a - x, y - south + b].map(|metres| metres as f32)
    }
}

/// A ring made ready to be drawn, at most `most` samples on a side.
///
/// # Errors
/// When its window cannot be had.
pub fn surface(
    world: &World,
    ring: Ring,
    sun: Sun,
    (exaggeration, most): (f32, usize),
    palette: Option<Palette>,
) -> Result<(Surface, Palette)> {
    let window = world.window(ring.level, ring.rect)?;
    let around = match ring.level {
        0 => None,
        level => Some(world.window(level - 1, ground::needed(world.frame(), level, ring.rect))?),
    };
    let terrain = ground::terrain(world, &window, around.as_ref())?;
    let wanted = Wanted {
        most,
        sun,
        exaggeration,
        light: Some(1.0),
        range: palette.map(|palette| palette.range),
        deepest: palette.map(|palette| palette.deepest),
        ..Wanted::default()
    };
    let surface = Surface::of(&terrain, &wanted)?;
    let palette = palette.unwrap_or(Palette { range: surface.range(), deepest: surface.deepest() });
    Ok((surface, palette))
}
