//! [`Viewpoint`]: the viewpoint in an unbounded terrain, and what does not depend on its level of detail.

use thalweg_core::{Cell, Extent, Point, Result};
use thalweg_refine::Frame;
use thalweg_render::pictures::light::Sun;
use thalweg_sim::world::World;

use crate::explore::ground;
use crate::explore::rings::{LevelRing, choose_rings};
use crate::view::camera::ViewCamera;
use crate::view::surface::{Surface, SurfaceOptions};

/// The smallest cell size that is shown, in metres.
const MIN_CELL_SIZE_M: f64 = 0.5;

/// Returns the finest level of a world that is shown.
pub fn find_finest_level(frame: &Frame) -> u32 {
    (0..40).take_while(|level| frame.cell_width(level + 1) >= MIN_CELL_SIZE_M && frame.check(level + 1).is_ok()).count()
        as u32
}

/// A viewpoint: the place that is looked at, and the camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewpoint {
    /// The place that is looked at.
    pub place: Point,
    /// The camera. Its target is the place, at the terrain's height there.
    pub camera: ViewCamera,
}

/// The colour ranges that all rings of a terrain share, so that neighbouring rings do not differ in colour: those of
/// the first ring that is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedColourRanges {
    range: [f32; 2],
    deepest: f32,
}

/// The distance in metres beyond which heights are exaggerated, and the exponent of the growth.
const TRUE_SCALE_DISTANCE_M: f64 = 20_000.0;
const EXAGGERATION_EXPONENT: f64 = 0.4;

/// The factor on heights at a distance: 1 near by; more from far away, where the terrain would look flat. At most 12.
pub fn exaggeration_for_distance(distance: f32) -> f32 {
    (f64::from(distance) / TRUE_SCALE_DISTANCE_M).powf(EXAGGERATION_EXPONENT).clamp(1.0, 12.0) as f32
}

/// The smallest and largest distance from which a whole world is viewed, in metres.
const WORLD_VIEW_DISTANCE_M: [f64; 2] = [1.0, 3e6];

impl Viewpoint {
    /// Returns a viewpoint of a whole world, or of the terrain around the origin of an unbounded one.
    pub fn from_frame(frame: &Frame) -> Self {
        let world = frame.world_rect(0);
        let middle = |axis: usize| 0.5 * (world.start[axis] as f64 + world.end[axis] as f64) * frame.cell;
        let Cell { row: y, col: x } = Cell::from_axes(middle);
        let extent = frame.cells[0].max(frame.cells[1]) as f64 * frame.cell;
        // At this distance the field of view of 30° spans 1.02 times the extent: 2 · tan 15° · 1.9.
        let distance = (1.9 * extent).clamp(WORLD_VIEW_DISTANCE_M[0], WORLD_VIEW_DISTANCE_M[1]) as f32;
        Self { place: Point { x, y }, camera: ViewCamera { distance, ..ViewCamera::default() } }
    }

    /// Returns the rings that are visible in a picture of `height` pixels.
    pub fn visible_rings(&self, frame: &Frame, height: u32) -> Vec<LevelRing> {
        let pixel = 2.0 * f64::from(self.camera.tan_half_fov()) / f64::from(height.max(1));
        choose_rings(frame, self.place, self.camera.distance.into(), pixel, find_finest_level(frame))
    }

    /// Returns the camera relative to the centre of a ring, which is at x = y = 0.
    pub fn relative_camera(&self, ring: &LevelRing, frame: &Frame) -> ViewCamera {
        // The difference is taken in doubles and only then rounded: near the eye it is small and thus precise.
        let middle = ring.centre(frame);
        let mut camera = self.camera;
        camera.target.x += (self.place.x - middle.x) as f32;
        // World coordinates grow to the south, those of the view to the north.
        camera.target.y -= (self.place.y - middle.y) as f32;
        camera
    }

    /// Returns true if a ring is drawn as a block with sides: this holds for the whole world, if no finer ring reaches
    /// its edge.
    pub fn has_sides(frame: &Frame, ring: &LevelRing, finer: Option<&LevelRing>) -> bool {
        let world = frame.world_rect(ring.level);
        let inside = |finer: &LevelRing| {
            let rect = finer.rect.to_coarser_level();
            (0..2).all(|axis| rect.start[axis] > world.start[axis] && rect.end[axis] < world.end[axis])
        };
        ring.rect == world && finer.is_none_or(inside)
    }

    /// Returns the part of a coarser ring that is not drawn because a finer ring covers it, in the form of
    /// [`Shot::hole`](crate::view::look::Shot::hole).
    pub fn find_covered_area(frame: &Frame, coarse: &LevelRing, fine: &LevelRing) -> [f32; 4] {
        let (Point { x, y }, Point { x: east, y: south }) = (coarse.centre(frame), fine.centre(frame));
        let Extent { width, height } = fine.half_extent(frame);
        // The hole is smaller than the finer ring, so that rounding leaves no gap between the two.
        let [a, b] = [width, height].map(|half| half - ground::OVERLAP_CELLS * frame.cell_width(fine.level));
        [east - a - x, y - south - b, east + a - x, y - south + b].map(|metres| metres as f32)
    }
}

/// Prepares a ring for drawing, with at most `most` samples on a side. Returns its surface and the palette to use for
/// further rings.
///
/// # Errors
/// Returns an error if its window cannot be computed.
pub fn prepare_ring(
    world: &World,
    ring: LevelRing,
    sun: Sun,
    (exaggeration, most): (f32, usize),
    palette: Option<SharedColourRanges>,
) -> Result<(Surface, SharedColourRanges)> {
    let window = world.window(ring.level, ring.rect)?;
    // Level 0 is not surrounded by a coarser ring, so nothing has to be blended.
    let around = match ring.level {
        0 => None,
        level => Some(world.window(level - 1, ground::find_coarse_margin(world.frame(), level, ring.rect))?),
    };
    let terrain = ground::window_to_terrain(world, &window, around.as_ref())?;
    let options = SurfaceOptions {
        most,
        sun,
        exaggeration,
        // A factor from each ring's own relief would change the shading from ring to ring.
        light: Some(1.0),
        range: palette.map(|palette| palette.range),
        deepest: palette.map(|palette| palette.deepest),
        ..SurfaceOptions::default()
    };
    let surface = Surface::from_terrain(&terrain, &options)?;
    let palette =
        palette.unwrap_or(SharedColourRanges { range: surface.colour_range(), deepest: surface.darkest_sea_depth() });
    Ok((surface, palette))
}
