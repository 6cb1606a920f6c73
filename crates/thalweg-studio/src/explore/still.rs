//! [`draw_world_picture`]: draws a picture of an unbounded world without a window.

use thalweg_render::pictures::picture::Picture;
use thalweg_sim::world::World;

use crate::explore::viewpoint::{Viewpoint, exaggeration_for_distance, prepare_ring};
use crate::view::gpu::Gpu;
use crate::view::look::{Appearance, Shot};
use crate::view::renderer::{MAX_TERRAINS, Renderer};
use crate::view::target::Target;

/// Draws a world as the explorer shows it from a viewpoint, with the given width and height in pixels. The height of
/// the target is set to that of the ground there.
///
/// # Errors
/// Returns an error if nothing on this machine can draw, or if a window of the world cannot be computed.
pub fn draw_world_picture(
    world: &World,
    mut stand: Viewpoint,
    look: &Appearance,
    [width, height]: [u32; 2],
) -> Result<Picture, String> {
    let gpu = Gpu::open_headless()?;
    let most = gpu.device.limits().max_texture_dimension_2d;
    if [width, height].iter().any(|n| !(1..=most).contains(n)) {
        return Err(format!("size = {width} × {height}: must be 1 to {most} pixels each, the limit of this GPU"));
    }
    // The picture is drawn at twice its size and averaged if the GPU supports that; otherwise four samples per pixel
    // smooth its edges.
    let fine = if 2 * width.max(height) <= most.min(8192) { 2 } else { 1 };
    let drawn = [width * fine, height * fine];
    let scale = exaggeration_for_distance(stand.camera.distance);
    let look = Appearance { exaggeration: scale, ..*look };
    let mut renderer = Renderer::new(&gpu.device, &gpu.queue);
    renderer.set_highest_quality();
    let mut rings = stand.visible_rings(world.frame(), height);
    // If there are too many rings, keep the finest.
    rings.drain(..rings.len().saturating_sub(MAX_TERRAINS));
    let mut palette = None;
    // From coarse to fine, each ring corrects the target's height and the camera's elevation, so the finest ground
    // decides.
    for (number, ring) in rings.iter().enumerate() {
        let made = prepare_ring(world, *ring, look.sun, (scale, most.min(2048) as usize), palette);
        let (surface, shared) = made.map_err(|error| error.to_string())?;
        palette = Some(shared);
        renderer.load_terrain(number, &surface);
        let camera = stand.relative_camera(ring, world.frame());
        let here = surface.top_at([camera.target.x, camera.target.y]).unwrap_or(0.0) * scale;
        stand.camera.target.z = here;
        let mut seen = stand.relative_camera(ring, world.frame());
        seen.keep_above(&surface, scale);
        stand.camera.elevation = seen.elevation;
    }
    let target = Target::with_samples(&gpu.device, drawn, if fine > 1 { 1 } else { 4 });
    let air = 6.0 * stand.camera.distance;
    let looks: Vec<Appearance> = (0..rings.len())
        .map(|number| Appearance {
            sides: Viewpoint::has_sides(world.frame(), &rings[number], rings.get(number + 1)),
            ..look
        })
        .collect();
    // The shots are drawn from the finest to the coarsest, each of which leaves out the area of the finer one.
    let shots: Vec<Shot<'_>> = (0..rings.len())
        .rev()
        .map(|number| Shot {
            hole: rings.get(number + 1).map(|finer| Viewpoint::find_covered_area(world.frame(), &rings[number], finer)),
            air: Some(air),
            ..Shot::new_full_frame(number, stand.relative_camera(&rings[number], world.frame()), &looks[number], drawn)
        })
        .collect();
    renderer.draw(&target, &shots);
    let picture = target.read_picture(&gpu)?;
    // Errors of the device arrive late, so the fault is examined only after the picture has been read.
    match renderer.fault() {
        Some(fault) => Err(fault),
        None => Ok(picture.shrink_to([height as usize, width as usize])),
    }
}
