//! [`Stand`]: the viewpoint in an unbounded terrain, and what does not depend on its level of detail.

use thalweg_core::{Cell, Extent, Point, Result};
use thalweg_refine::Frame;
use thalweg_render::pictures::light::Sun;
use thalweg_sim::world::World;

use crate::explore::ground;
use crate::explore::rings::{Ring, rings};
use crate::view::camera::Camera;
use crate::view::surface::{Surface, Wanted};

/// The smallest cell size that is shown, in metres.
const NARROWEST: f64 = 0.5;

/// Returns the finest level of a world that is shown.
pub fn finest(frame: &Frame) -> u32 {
    (0..40).take_while(|level| frame.width(level + 1) >= NARROWEST && frame.check(level + 1).is_ok()).count() as u32
}

/// A viewpoint: the place that is looked at, and the camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stand {
    /// The place that is looked at.
    pub place: Point,
    /// The camera. Its target is the place, at the terrain's height there.
    pub camera: Camera,
}

/// The colour ranges that all rings of a terrain share, so that neighbouring rings do not differ in colour: those of
/// the first ring that is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Palette {
    range: [f32; 2],
    deepest: f32,
}

/// The distance in metres beyond which heights are exaggerated, and the exponent of the growth.
const TRUE: f64 = 20_000.0;
const GROWTH: f64 = 0.4;

/// The factor on heights at a distance: 1 near by; more from far away, where the terrain would look flat. At most 12.
pub fn exaggeration(distance: f32) -> f32 {
    (f64::from(distance) / TRUE).powf(GROWTH).clamp(1.0, 12.0) as f32
}

/// The smallest and largest distance from which a whole world is viewed, in metres.
const WHOLE: [f64; 2] = [1.0, 3e6];

impl Stand {
    /// Returns a viewpoint of a whole world, or of the terrain around the origin of an unbounded one.
    pub fn whole(frame: &Frame) -> Self {
        let world = frame.world(0);
        let middle = |axis: usize| 0.5 * (world.start[axis] as f64 + world.end[axis] as f64) * frame.cell;
        let Cell { row: y, col: x } = Cell::from_axes(middle);
        let extent = frame.cells[0].max(frame.cells[1]) as f64 * frame.cell;
        let distance = (1.9 * extent).clamp(WHOLE[0], WHOLE[1]) as f32;
        Self { place: Point { x, y }, camera: Camera { distance, ..Camera::default() } }
    }

    /// Returns the rings that are visible in a picture of `height` pixels.
    pub fn rings(&self, frame: &Frame, height: u32) -> Vec<Ring> {
        let pixel = 2.0 * f64::from(self.camera.half()) / f64::from(height.max(1));
        rings(frame, self.place, self.camera.distance.into(), pixel, finest(frame))
    }

    /// Returns the camera relative to the centre of a ring, which is at x = y = 0.
    pub fn camera_of(&self, ring: &Ring, frame: &Frame) -> Camera {
        let middle = ring.middle(frame);
        let mut camera = self.camera;
        camera.target.x += (self.place.x - middle.x) as f32;
        camera.target.y -= (self.place.y - middle.y) as f32;
        camera
    }

    /// Returns true if a ring is drawn as a block with sides: this holds for the whole world, if no finer ring reaches
    /// its edge.
    pub fn has_sides(frame: &Frame, ring: &Ring, finer: Option<&Ring>) -> bool {
        let world = frame.world(ring.level);
        let inside = |finer: &Ring| {
            let rect = finer.rect.coarser();
            (0..2).all(|axis| rect.start[axis] > world.start[axis] && rect.end[axis] < world.end[axis])
        };
        ring.rect == world && finer.is_none_or(inside)
    }

    /// Returns the part of a coarser ring that is not drawn because a finer ring covers it, in the form of
    /// [`Shot::hole`](crate::view::look::Shot::hole).
    pub fn hole(frame: &Frame, coarse: &Ring, fine: &Ring) -> [f32; 4] {
        let (Point { x, y }, Point { x: east, y: south }) = (coarse.middle(frame), fine.middle(frame));
        let Extent { width, height } = fine.half_extent(frame);
        let [a, b] = [width, height].map(|half| half - ground::OVERLAP * frame.width(fine.level));
        [east - a - x, y - south - b, east + a - x, y - south + b].map(|metres| metres as f32)
    }
}

/// Prepares a ring for drawing, with at most `most` samples on a side. Returns its surface and the palette to use for
/// further rings.
///
/// # Errors
/// Returns an error if its window cannot be computed.
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
