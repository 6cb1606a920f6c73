//! The parameters of a shot: uniforms for the shaders, and the parameters of the selection of patches and plants.

use glam::{Mat4, Vec3, Vec4};

use crate::view::gpu_terrain::GpuTerrain;
use crate::view::look::Shot;
use crate::view::paint::resolve_sea_level;
use crate::view::patches::PatchCriteria;
use crate::view::surface::{BLOCK_DEPTH_FRACTION, NO_WATER_LEVEL};
use crate::view::woods::PlantCriteria;

/// The width of a quad in pixels at which a coarser one takes over: for GPUs, and for software renderers, where each
/// vertex is expensive.
// A larger width draws coarser terrain with fewer vertices.
const QUAD_WIDTH_PIXELS: [f32; 2] = [2.5, 5.0];
/// The maximum number of plants in a shot, for GPUs and for software renderers.
// Beyond these numbers woods are thinned and the remaining plants widened, so larger limits cost time and smaller ones
// detail.
const MAX_PLANTS: [usize; 2] = [250_000, 16_000];
/// A hole that contains no place.
// The western and southern bounds are greater than the eastern and northern ones.
const NO_HOLE: [f32; 4] = [1.0, 1.0, -1.0, -1.0];
/// The largest fraction of the colour that distant terrain loses to haze.
const MAX_HAZE_FRACTION: f32 = 0.5;

/// The uniforms of a shot's shaders.
#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct SceneUniforms {
    clip: Mat4,
    eye: Vec4,
    right: Vec4,
    up: Vec4,
    forward: Vec4,
    grid: [f32; 4],
    rise: [f32; 4],
    sun: Vec4,
    picture: [f32; 4],
    air: [f32; 4],
    pub half: [f32; 4],
    hole: [f32; 4],
}

impl SceneUniforms {
    /// Computes the uniforms of a shot, and the parameters of the selection of patches and plants; `hasty` prefers
    /// speed to quality.
    pub(super) fn from_shot(
        shot: &Shot<'_>,
        terrain: Option<&GpuTerrain>,
        hasty: bool,
    ) -> (Self, PatchCriteria, PlantCriteria) {
        let Shot { camera, look, .. } = shot;
        let aspect = shot.aspect();
        let (clip, eye, [right, up, forward]) = (camera.clip_matrix(aspect), camera.eye(), camera.axes());
        let exaggeration = if look.exaggeration.is_finite() { look.exaggeration } else { 1.0 };
        let half = camera.tan_half_fov();
        // On a map a pixel has the same width everywhere; in perspective it is given for a depth of one metre.
        let pixel = 2.0 * half / shot.area[3].max(1.0) * if camera.map { camera.distance } else { 1.0 };
        let facts = terrain.map(|terrain| &terrain.facts);
        let [north, east] = facts.map_or([1.0; 2], |facts| facts.half);
        let long = 2.0 * north.max(east);
        let [low, high] = facts.map_or([0.0; 2], |facts| facts.extremes);
        let sea = facts.map_or(NO_WATER_LEVEL, |facts| resolve_sea_level(look, facts));
        let ends = [low, high.max(sea)].map(|z| z * exaggeration);
        // A negative exaggeration exchanges the two ends, so both are compared.
        let base = ends[0].min(ends[1]) - BLOCK_DEPTH_FRACTION * long;
        let above = if camera.map { 0.0 } else { (eye.z - ends[0].max(ends[1])).max(0.0) };
        let size = terrain.map_or([2, 2], |terrain| terrain.size);
        let sides = facts.map_or([1.0; 2], |facts| facts.sides);
        let on = |yes: bool| f32::from(u8::from(yes));
        let hasty = usize::from(hasty);
        // Looking down, the path through the air is short, so up to three quarters of the haze are removed.
        let down = camera.elevation.to_radians().sin().max(0.0);
        let haze = if look.haze && !camera.map { MAX_HAZE_FRACTION * (1.0 - 0.75 * down) } else { 0.0 };
        let scene = Self {
            clip,
            eye: eye.extend(above),
            right: (right * half * aspect).extend(0.0),
            up: (up * half).extend(0.0),
            forward: forward.extend(0.0),
            grid: [size[1] as f32, size[0] as f32, sides[1], sides[0]],
            rise: [exaggeration, base, sea, on(look.water)],
            sun: Vec3::from(look.sun.direction()).extend(on(camera.map)),
            picture: [shot.area[2], shot.area[3], pixel, long],
            // Haze begins at the distance of the target, so the centre of the picture is clear.
            air: [camera.distance, shot.air.unwrap_or(1.1 * long), haze, on(look.sides && terrain.is_some())],
            // Plants take part in the exaggeration only up to a factor of 1.3. The caller sets the fourth number, the
            // factor on their widths.
            half: [east, north, exaggeration.clamp(1.0, 1.3), 1.0],
            hole: shot.hole.unwrap_or(NO_HOLE),
        };
        let hole = shot.hole;
        let seen = PatchCriteria {
            clip,
            eye,
            above,
            map: camera.map,
            pixel,
            wide: QUAD_WIDTH_PIXELS[hasty],
            exaggeration,
            base,
            sides,
            hole,
        };
        let most = MAX_PLANTS[hasty];
        (scene, seen, PlantCriteria { eye, forward, map: camera.map, pixel, exaggeration, most })
    }
}
