//! Drawing of shots into a picture.

use std::ops::Range;

use crate::view::frame_buffers::{DotMark, LineMark};
use crate::view::look::Shot;
use crate::view::paint::Paint;
use crate::view::patches::{Side, SurfacePatch, patch_indices, side_indices};
use crate::view::pipelines::Pipelines;
use crate::view::renderer::scene::SceneUniforms;
use crate::view::renderer::{MAX_SHOTS, Renderer, UNIFORM_STRIDE_BYTES};
use crate::view::target::Target;
use crate::view::woods::Batch;

/// A shot that is ready to draw.
struct PreparedShot {
    terrain: Option<usize>,
    /// True if a part of the terrain is not drawn.
    holed: bool,
    /// True if the sky is drawn behind it. For shots that fill each other's holes this is done only once.
    sky: bool,
    viewport: [f32; 4],
    scissor: [u32; 4],
    patches: Range<u32>,
    sides: Range<u32>,
    batches: Vec<Batch>,
    dots: Range<u32>,
    lines: Range<u32>,
}

/// The buffers of a frame.
struct Filled {
    patches: Option<wgpu::Buffer>,
    sides: Option<wgpu::Buffer>,
    dots: Option<wgpu::Buffer>,
    lines: Option<wgpu::Buffer>,
}

impl Renderer {
    /// Draws shots into a picture, which is cleared first. Shots beyond the sixteenth, and parts outside the picture,
    /// are left out. A shot whose number has no terrain shows only the sky.
    pub fn draw(&mut self, target: &Target, shots: &[Shot<'_>]) {
        if self.is_lost() {
            return;
        }
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // The colours are computed first: the frame reads the textures that this writes.
        self.update_colours(&mut encoder, shots);

        // All shots share one buffer per kind of item and draw their own ranges of it, which saves uploads.
        let (mut patches, mut sides) = (Vec::<SurfacePatch>::new(), Vec::<Side>::new());
        let (mut dots, mut lines) = (Vec::<DotMark>::new(), Vec::<LineMark>::new());
        let mut ready = Vec::new();
        for shot in shots.iter().take(MAX_SHOTS) {
            let Some((viewport, scissor)) = compute_viewport(target.size(), self.max_samples(), shot) else { continue };
            let terrain = self.terrains.get(shot.terrain).and_then(Option::as_ref);
            let (scene, seen, sight) = SceneUniforms::from_shot(shot, terrain, self.software && !self.fine);
            let part = |from: usize, to: usize| from as u32..to as u32;
            let (patch, side, dot, line) = (patches.len(), sides.len(), dots.len(), lines.len());
            let mut batches = Vec::new();
            let mut scene = scene;
            if let Some(terrain) = terrain {
                let (more, rims) = terrain.facts.pyramid.select_patches(terrain.size, &seen);
                patches.extend(more);
                sides.extend(rims);
                if let Some(stand) = terrain.stand.as_ref().filter(|_| shot.look.trees) {
                    let wider;
                    (batches, wider) = stand.select_batches(&sight);
                    scene.half[3] = wider;
                }
            }
            dots.extend(shot.dots.iter().map(DotMark::from));
            lines.extend(shot.lines.iter().map(LineMark::from));
            self.queue.write_buffer(
                &self.scenes,
                // The slot is the number of the shot among those that are drawn, because shots outside the picture are
                // skipped.
                UNIFORM_STRIDE_BYTES * ready.len() as u64,
                bytemuck::bytes_of(&scene),
            );
            // If this shot fills a hole of the previous one, the sky is drawn only behind the last of them.
            let filled =
                ready.last_mut().filter(|before: &&mut PreparedShot| shot.hole.is_some() && before.scissor == scissor);
            filled.into_iter().for_each(|before| before.sky = false);
            ready.push(PreparedShot {
                terrain: terrain.map(|_| shot.terrain),
                holed: shot.hole.is_some() || terrain.is_some_and(|terrain| terrain.facts.holes),
                sky: true,
                viewport,
                scissor,
                patches: part(patch, patches.len()),
                sides: if shot.look.sides && !shot.camera.map { part(side, sides.len()) } else { 0..0 },
                batches,
                dots: part(dot, dots.len()),
                lines: part(line, lines.len()),
            });
        }
        // Pipelines are compiled when a picture first needs that number of samples.
        let kind = usize::from(target.samples > 1);
        if self.pipelines[kind].is_none() {
            let (device, module) = (&self.device, &self.module);
            self.pipelines[kind] =
                Some(Pipelines::new(device, module, &self.scene_layout, &self.layouts, target.samples));
        }
        // The vertices of all shots are uploaded before the pass starts.
        let filled = Filled {
            patches: self.patches.fill(&self.device, &self.queue, &patches).cloned(),
            sides: self.sides.fill(&self.device, &self.queue, &sides).cloned(),
            dots: self.dots.fill(&self.device, &self.queue, &dots).cloned(),
            lines: self.lines.fill(&self.device, &self.queue, &lines).cloned(),
        };
        if let Some(pipelines) = &self.pipelines[kind] {
            // One pass draws all shots, each into its own viewport.
            let mut pass = begin_pass(&mut encoder, target);
            for (number, ready) in ready.iter().enumerate() {
                self.draw_one(&mut pass, pipelines, &filled, ready, number);
            }
        }
        self.queue.submit([encoder.finish()]);
    }

    /// Computes the colours of terrains that are drawn and have changed or have another look.
    fn update_colours(&mut self, encoder: &mut wgpu::CommandEncoder, shots: &[Shot<'_>]) {
        for (number, terrain) in self.terrains.iter_mut().enumerate() {
            let Some(terrain) = terrain else { continue };
            // The textures exist once per terrain, so the look of the first shot that shows it applies.
            let Some(shot) = shots.iter().take(MAX_SHOTS).find(|shot| shot.terrain == number) else { continue };
            let paint = Paint::new(shot.look, &terrain.facts, terrain.size);
            // Painting is skipped while neither the land nor the look changes, for example when only the camera moves.
            if terrain.painted_for != Some(paint) {
                self.queue.write_buffer(&self.paints[number], 0, bytemuck::bytes_of(&paint));
                self.baker.bake_terrain(encoder, terrain);
                terrain.painted_for = Some(paint);
            }
        }
    }

    fn draw_one(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        pipelines: &Pipelines,
        filled: &Filled,
        ready: &PreparedShot,
        number: usize,
    ) {
        let [x, y, width, height] = ready.viewport;
        pass.set_viewport(x, y, width, height, 0.0, 1.0);
        let [x, y, width, height] = ready.scissor;
        pass.set_scissor_rect(x, y, width, height);
        pass.set_bind_group(0, &self.scene, &[UNIFORM_STRIDE_BYTES as u32 * number as u32]);
        if let Some(terrain) = ready.terrain.and_then(|terrain| self.terrains[terrain].as_ref()) {
            pass.set_bind_group(1, &terrain.land, &[]);
            if let Some(patches) = &filled.patches {
                pass.set_pipeline(if ready.holed { &pipelines.holed } else { &pipelines.land });
                pass.set_index_buffer(self.patch_order.slice(..), wgpu::IndexFormat::Uint16);
                pass.set_vertex_buffer(0, patches.slice(..));
                pass.draw_indexed(0..patch_indices().len() as u32, 0, ready.patches.clone());
            }
            if let Some(sides) = filled.sides.as_ref().filter(|_| !ready.sides.is_empty()) {
                pass.set_pipeline(&pipelines.side);
                pass.set_index_buffer(self.side_order.slice(..), wgpu::IndexFormat::Uint16);
                pass.set_vertex_buffer(0, sides.slice(..));
                pass.draw_indexed(0..side_indices().len() as u32, 0, ready.sides.clone());
            }
            if let Some(stand) = terrain.stand.as_ref().filter(|_| !ready.batches.is_empty()) {
                pass.set_pipeline(&pipelines.plants);
                pass.set_index_buffer(self.ring_order.slice(..), wgpu::IndexFormat::Uint16);
                pass.set_vertex_buffer(0, self.rings.slice(..));
                pass.set_vertex_buffer(1, stand.plants.slice(..));
                for batch in &ready.batches {
                    pass.draw_indexed(self.shapes[batch.shape].clone(), 0, batch.plants.clone());
                }
            }
        }
        // The sky follows the opaque terrain, so that it costs nothing behind the land, and precedes the transparent
        // marks.
        if ready.sky {
            pass.set_pipeline(&pipelines.sky);
            pass.draw(0..3, 0..1);
        }
        let marks = [(&pipelines.lines, &filled.lines, &ready.lines), (&pipelines.dots, &filled.dots, &ready.dots)];
        for (pipeline, buffer, range) in marks {
            if let Some(buffer) = buffer.as_ref().filter(|_| !range.is_empty()) {
                pass.set_pipeline(pipeline);
                pass.set_vertex_buffer(0, buffer.slice(..));
                pass.draw(0..4, range.clone());
            }
        }
    }
}

fn begin_pass<'a>(encoder: &'a mut wgpu::CommandEncoder, target: &Target) -> wgpu::RenderPass<'a> {
    // This is the colour outside all viewports, in sRGB, because the target's format does not encode.
    let paper = wgpu::Color { r: 0.980, g: 0.976, b: 0.965, a: 1.0 };
    let (view, resolve_target, store) = match &target.smooth {
        // After the samples are resolved into the picture, neither they nor the depths are needed any more.
        Some(smooth) => (smooth, Some(target.texture_view()), wgpu::StoreOp::Discard),
        None => (target.texture_view(), None, wgpu::StoreOp::Store),
    };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("picture"),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(paper), store },
        })],
        depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
            view: &target.depth,
            // Depth 0 is infinitely far away (reversed z).
            depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
            stencil_ops: None,
        }),
        ..wgpu::RenderPassDescriptor::default()
    })
}

/// Returns a shot's viewport and the part of the picture that it may draw on; `None` if there is no such part.
fn compute_viewport([width, height]: [u32; 2], most: usize, shot: &Shot<'_>) -> Option<([f32; 4], [u32; 4])> {
    let [x, y, w, h] = shot.area;
    // The device refuses viewports beyond this limit.
    let most = most as f32;
    let sound = shot.area.iter().all(|n| n.is_finite()) && w >= 1.0 && h >= 1.0;
    if !sound || w.max(h) > most || x.abs().max(y.abs()) >= most {
        return None;
    }
    // The viewport may extend beyond the picture and fixes the projection; only the scissor has to be inside.
    let clip = shot.clip.unwrap_or(shot.area);
    let span = |k: usize, limit: u32| {
        let low = clip[k].max(shot.area[k]).max(0.0).round();
        let high = (clip[k] + clip[k + 2]).min(shot.area[k] + shot.area[k + 2]).min(limit as f32).round();
        (high > low).then_some([low as u32, (high - low) as u32])
    };
    let ([left, wide], [top, tall]) = (span(0, width)?, span(1, height)?);
    Some(([x, y, w, h], [left, top, wide, tall]))
}
