//! [`still`]: draws a picture of an unbounded world without a window.

use thalweg_render::pictures::picture::Picture;
use thalweg_sim::world::World;

use crate::explore::stand::{Stand, exaggeration, surface};
use crate::view::gpu::Gpu;
use crate::view::look::{Look, Shot};
use crate::view::renderer::{Renderer, TERRAINS};
use crate::view::target::Target;

/// Draws a world as the explorer shows it from a viewpoint, with the given width and height in pixels. The height of
/// the target is set to that of the ground there.
///
/// # Errors
/// Returns an error if nothing on this machine can draw, or if a window of the world cannot be computed.
pub fn still(world: &World, mut stand: Stand, look: &Look, [width, height]: [u32; 2]) -> Result<Picture, String> {
    let gpu = Gpu::headless()?;
    let most = gpu.device.limits().max_texture_dimension_2d;
    if [width, height].iter().any(|n| !(1..=most).contains(n)) {
        return Err(format!("size = {width} × {height}: allowed is 1 to {most} pixels each, the limit of this GPU"));
    }
    let fine = if 2 * width.max(height) <= most.min(8192) { 2 } else { 1 };
    let drawn = [width * fine, height * fine];
    let scale = exaggeration(stand.camera.distance);
    let look = Look { exaggeration: scale, ..*look };
    let mut renderer = Renderer::new(&gpu.device, &gpu.queue);
    renderer.set_fine();
    let mut rings = stand.rings(world.frame(), height);
    // If there are too many rings, keep the finest.
    rings.drain(..rings.len().saturating_sub(TERRAINS));
    let mut palette = None;
    for (number, ring) in rings.iter().enumerate() {
        let made = surface(world, *ring, look.sun, (scale, most.min(2048) as usize), palette);
        let (surface, shared) = made.map_err(|error| error.to_string())?;
        palette = Some(shared);
        renderer.load(number, &surface);
        let camera = stand.camera_of(ring, world.frame());
        let here = surface.top_at([camera.target.x, camera.target.y]).unwrap_or(0.0) * scale;
        stand.camera.target.z = here;
        let mut seen = stand.camera_of(ring, world.frame());
        seen.keep_above(&surface, scale);
        stand.camera.elevation = seen.elevation;
    }
    let target = Target::with(&gpu.device, drawn, if fine > 1 { 1 } else { 4 });
    let air = 6.0 * stand.camera.distance;
    let looks: Vec<Look> = (0..rings.len())
        .map(|number| Look { sides: Stand::has_sides(world.frame(), &rings[number], rings.get(number + 1)), ..look })
        .collect();
    let shots: Vec<Shot<'_>> = (0..rings.len())
        .rev()
        .map(|number| Shot {
            hole: rings.get(number + 1).map(|finer| Stand::hole(world.frame(), &rings[number], finer)),
            air: Some(air),
            ..Shot::whole(number, stand.camera_of(&rings[number], world.frame()), &looks[number], drawn)
        })
        .collect();
    renderer.draw(&target, &shots);
    let picture = target.read(&gpu)?;
    match renderer.fault() {
        Some(fault) => Err(fault),
        None => Ok(picture.reduced([height as usize, width as usize])),
    }
}
