//! [`Renderer`]: draws terrains into pictures.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::util::DeviceExt;

use crate::view::bake::{Baker, Paint, sea};
use crate::view::gpu::is_software;
use crate::view::gpu_terrain::{GpuTerrain, Layouts};
use crate::view::look::Shot;
use crate::view::marks::{DotMark, Growing, LineMark};
use crate::view::patches::{Patch, Seen, Side, patch_indices, side_indices};
use crate::view::pipelines::Pipelines;
use crate::view::shader;
use crate::view::surface::Surface;
use crate::view::target::Target;
use crate::view::woods::{Batch, Sight, shapes};

/// Terrains that a renderer holds at once: two can be compared.
pub const SLOTS: usize = 2;
/// Shots in a picture at most.
const SHOTS: usize = 16;
/// Bytes from one shot's numbers to the next one's: what every device aligns them to.
const STRIDE: u64 = 256;
/// Pixels that a quad is wide where it gives way to a coarser one; on software, which is slower by every corner.
const WIDE: [f32; 2] = [2.5, 5.0];
/// Plants in a shot at most.
const PLANTS: [usize; 2] = [250_000, 16_000];
/// Most of what far land loses to haze.
const HAZE: f32 = 0.5;

/// What a shot's shaders read.
#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Scene {
    clip: [[f32; 4]; 4],
    eye: [f32; 4],
    right: [f32; 4],
    up: [f32; 4],
    forward: [f32; 4],
    grid: [f32; 4],
    rise: [f32; 4],
    sun: [f32; 4],
    picture: [f32; 4],
    air: [f32; 4],
    half: [f32; 4],
}

/// Draws terrains.
pub struct Renderer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    software: bool,
    fine: bool,
    layouts: Layouts,
    baker: Baker,
    module: wgpu::ShaderModule,
    scene_layout: wgpu::BindGroupLayout,
    scene: wgpu::BindGroup,
    scenes: wgpu::Buffer,
    /// For one sample to a pixel, and for four.
    pipelines: [Option<Pipelines>; 2],
    patch_order: wgpu::Buffer,
    side_order: wgpu::Buffer,
    rings: wgpu::Buffer,
    ring_order: wgpu::Buffer,
    shapes: Vec<Range<u32>>,
    patches: Growing,
    sides: Growing,
    dots: Growing,
    lines: Growing,
    paints: [wgpu::Buffer; SLOTS],
    slots: [Option<GpuTerrain>; SLOTS],
    fault: Arc<Mutex<Option<String>>>,
}

/// A shot ready to be drawn.
struct Ready {
    slot: Option<usize>,
    viewport: [f32; 4],
    scissor: [u32; 4],
    patches: Range<u32>,
    sides: Range<u32>,
    batches: Vec<Batch>,
    dots: Range<u32>,
    lines: Range<u32>,
}

impl Renderer {
    /// A renderer without terrains. From now on what goes wrong with the device is kept ([`Renderer::fault`]) rather than
    /// ending the process.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let fault = Arc::new(Mutex::new(None));
        let keep = |fault: &Arc<Mutex<Option<String>>>| {
            let fault = Arc::clone(fault);
            move |what: String| {
                fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
            }
        };
        let (uncaptured, lost) = (keep(&fault), keep(&fault));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured(error.to_string())));
        device.set_device_lost_callback(move |reason, words| {
            // A device that is given up is not lost.
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost(format!("the GPU was lost: {words}"));
            }
        });

        let software = is_software(device);
        let layouts = Layouts::new(device, software);
        let baker = Baker::new(device, queue, &layouts);
        let size = size_of::<Scene>() as u64;
        let scene_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("scene"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: wgpu::BufferSize::new(size),
                },
                count: None,
            }],
        });
        let uniform = |label, size| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let scenes = uniform("scenes", STRIDE * SHOTS as u64);
        let scene = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("scene"),
            layout: &scene_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &scenes,
                    offset: 0,
                    size: wgpu::BufferSize::new(size),
                }),
            }],
        });
        let fixed = |label, contents: &[u8], usage| {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(label), contents, usage })
        };
        let order = |label, order: &[u16]| fixed(label, bytemuck::cast_slice(order), wgpu::BufferUsages::INDEX);
        let (rings, ring_order, shapes) = shapes();
        let vertex = wgpu::BufferUsages::VERTEX;
        Self {
            software,
            fine: false,
            baker,
            module: shader::scene(device),
            scene_layout,
            scene,
            scenes,
            pipelines: [None, None],
            patch_order: order("patch", &patch_indices()),
            side_order: order("side", &side_indices()),
            rings: fixed("rings", bytemuck::cast_slice(&rings), vertex),
            ring_order: order("rings", &ring_order),
            shapes,
            patches: Growing::new("patches", vertex),
            sides: Growing::new("sides", vertex),
            dots: Growing::new("dots", vertex),
            lines: Growing::new("lines", vertex),
            paints: std::array::from_fn(|_| uniform("paint", size_of::<Paint>() as u64)),
            slots: std::array::from_fn(|_| None),
            layouts,
            device: device.clone(),
            queue: queue.clone(),
            fault,
        }
    }

    /// Puts a terrain into a slot, in place of what was there. A slot that does not exist is passed over, and so is a
    /// surface larger than the device's textures, which becomes a fault.
    pub fn load(&mut self, slot: usize, surface: &Surface) {
        if slot >= SLOTS || self.lost() {
            return;
        }
        let most = self.most();
        if surface.size().iter().any(|n| *n > most) {
            let [rows, cols] = surface.size();
            let words = format!("a surface of {rows} × {cols} samples is larger than this GPU's textures of {most}");
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(words);
            return;
        }
        let before = self.slots[slot].take();
        let (device, queue, layouts) = (&self.device, &self.queue, &self.layouts);
        let loaded = GpuTerrain::load(device, queue, layouts, &self.paints[slot], &self.baker.ramps, surface, before);
        self.slots[slot] = Some(loaded);
    }

    /// Empties a slot.
    pub fn unload(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = None;
        }
    }

    /// Most samples on a side of a surface, for `Wanted`.
    pub fn most(&self) -> usize {
        self.device.limits().max_texture_dimension_2d as usize
    }

    /// Draws as finely as it can, whatever it takes: for pictures that are kept.
    pub fn set_fine(&mut self) {
        self.fine = true;
    }

    /// Whether drawing goes on no more: the device is lost, or something went wrong on it.
    pub fn lost(&self) -> bool {
        self.fault().is_some()
    }

    /// What went wrong first, in words.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Draws shots into a picture, over all that was there. Shots beyond the sixteenth, and parts outside the picture, are
    /// left out. An empty slot shows the sky alone.
    pub fn draw(&mut self, target: &Target, shots: &[Shot<'_>]) {
        if self.lost() {
            return;
        }
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.paint(&mut encoder, shots);

        let (mut patches, mut sides) = (Vec::<Patch>::new(), Vec::<Side>::new());
        let (mut dots, mut lines) = (Vec::<DotMark>::new(), Vec::<LineMark>::new());
        let mut ready = Vec::new();
        for shot in shots.iter().take(SHOTS) {
            let Some((viewport, scissor)) = framed(target.size(), self.most(), shot) else { continue };
            let slot = self.slots.get(shot.slot).and_then(Option::as_ref);
            let (scene, seen, sight) = self.scene_of(shot, slot);
            let part = |from: usize, to: usize| from as u32..to as u32;
            let (patch, side, dot, line) = (patches.len(), sides.len(), dots.len(), lines.len());
            let mut batches = Vec::new();
            let mut scene = scene;
            if let Some(slot) = slot {
                let (more, rims) = slot.facts.pyramid.select(slot.size, &seen);
                patches.extend(more);
                sides.extend(rims);
                if let Some(stand) = slot.stand.as_ref().filter(|_| shot.look.trees) {
                    let wider;
                    (batches, wider) = stand.batches(&sight);
                    scene.half[3] = wider;
                }
            }
            dots.extend(shot.dots.iter().map(DotMark::from));
            lines.extend(shot.lines.iter().map(LineMark::from));
            self.queue.write_buffer(&self.scenes, STRIDE * ready.len() as u64, bytemuck::bytes_of(&scene));
            ready.push(Ready {
                slot: slot.map(|_| shot.slot),
                viewport,
                scissor,
                patches: part(patch, patches.len()),
                sides: if shot.look.sides && !shot.camera.map { part(side, sides.len()) } else { 0..0 },
                batches,
                dots: part(dot, dots.len()),
                lines: part(line, lines.len()),
            });
        }
        let kind = usize::from(target.samples > 1);
        if self.pipelines[kind].is_none() {
            let (device, module) = (&self.device, &self.module);
            self.pipelines[kind] =
                Some(Pipelines::new(device, module, &self.scene_layout, &self.layouts, target.samples));
        }
        let filled = Filled {
            patches: self.patches.fill(&self.device, &self.queue, &patches).cloned(),
            sides: self.sides.fill(&self.device, &self.queue, &sides).cloned(),
            dots: self.dots.fill(&self.device, &self.queue, &dots).cloned(),
            lines: self.lines.fill(&self.device, &self.queue, &lines).cloned(),
        };
        if let Some(pipelines) = &self.pipelines[kind] {
            let mut pass = begin(&mut encoder, target);
            for (number, ready) in ready.iter().enumerate() {
                self.draw_one(&mut pass, pipelines, &filled, ready, number);
            }
        }
        self.queue.submit([encoder.finish()]);
    }

    /// Works out the colours of terrains that are drawn and have changed, or are shown in another way.
    fn paint(&mut self, encoder: &mut wgpu::CommandEncoder, shots: &[Shot<'_>]) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let Some(slot) = slot else { continue };
            let Some(shot) = shots.iter().take(SHOTS).find(|shot| shot.slot == number) else { continue };
            let paint = Paint::of(shot.look, &slot.facts, slot.size);
            if slot.painted_for != Some(paint) {
                self.queue.write_buffer(&self.paints[number], 0, bytemuck::bytes_of(&paint));
                self.baker.run(encoder, slot);
                slot.painted_for = Some(paint);
            }
        }
    }

    /// What a shot's shaders read, and what decides about patches and plants.
    fn scene_of(&self, shot: &Shot<'_>, slot: Option<&GpuTerrain>) -> (Scene, Seen, Sight) {
        let Shot { camera, look, .. } = shot;
        let aspect = shot.aspect();
        let (clip, eye, [right, up, forward]) = (camera.matrix(aspect), camera.eye(), camera.axes());
        let exaggeration = if look.exaggeration.is_finite() { look.exaggeration } else { 1.0 };
        let half = camera.half();
        let pixel = 2.0 * half / shot.area[3].max(1.0) * if camera.map { camera.distance } else { 1.0 };
        let facts = slot.map(|slot| &slot.facts);
        let [north, east] = facts.map_or([1.0; 2], |facts| facts.half);
        let long = 2.0 * north.max(east);
        let [low, high] = facts.map_or([0.0; 2], |facts| facts.extremes);
        let sea = facts.map_or(crate::view::surface::DRY, |facts| sea(look, facts));
        let ends = [low, high.max(sea)].map(|z| z * exaggeration);
        let base = ends[0].min(ends[1]) - 0.045 * long;
        let above = if camera.map { 0.0 } else { (eye[2] - ends[0].max(ends[1])).max(0.0) };
        let size = slot.map_or([2, 2], |slot| slot.size);
        let sides = facts.map_or([1.0; 2], |facts| facts.sides);
        let with = |[a, b, c]: [f32; 3], d: f32| [a, b, c, d];
        let on = |yes: bool| f32::from(u8::from(yes));
        let hasty = usize::from(self.software && !self.fine);
        let down = camera.elevation.to_radians().sin().max(0.0);
        let haze = if look.haze && !camera.map { HAZE * (1.0 - 0.75 * down) } else { 0.0 };
        let scene = Scene {
            clip,
            eye: with(eye, above),
            right: with(right.map(|x| x * half * aspect), 0.0),
            up: with(up.map(|x| x * half), 0.0),
            forward: with(forward, 0.0),
            grid: [size[1] as f32, size[0] as f32, sides[1], sides[0]],
            rise: [exaggeration, base, sea, on(look.water)],
            sun: with(look.sun.direction(), on(camera.map)),
            picture: [shot.area[2], shot.area[3], pixel, long],
            air: [camera.distance, 1.1 * long, haze, on(look.sides && slot.is_some())],
            half: [east, north, exaggeration.clamp(1.0, 1.3), 1.0],
        };
        let seen = Seen { clip, eye, above, map: camera.map, pixel, wide: WIDE[hasty], exaggeration, base, sides };
        let most = PLANTS[hasty];
        (scene, seen, Sight { eye, forward, map: camera.map, pixel, exaggeration, most })
    }

    fn draw_one(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        pipelines: &Pipelines,
        filled: &Filled,
        ready: &Ready,
        number: usize,
    ) {
        let [x, y, width, height] = ready.viewport;
        pass.set_viewport(x, y, width, height, 0.0, 1.0);
        let [x, y, width, height] = ready.scissor;
        pass.set_scissor_rect(x, y, width, height);
        pass.set_bind_group(0, &self.scene, &[STRIDE as u32 * number as u32]);
        if let Some(slot) = ready.slot.and_then(|slot| self.slots[slot].as_ref()) {
            pass.set_bind_group(1, &slot.land, &[]);
            if let Some(patches) = &filled.patches {
                pass.set_pipeline(if slot.facts.holes { &pipelines.holed } else { &pipelines.land });
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
            if let Some(stand) = slot.stand.as_ref().filter(|_| !ready.batches.is_empty()) {
                pass.set_pipeline(&pipelines.plants);
                pass.set_index_buffer(self.ring_order.slice(..), wgpu::IndexFormat::Uint16);
                pass.set_vertex_buffer(0, self.rings.slice(..));
                pass.set_vertex_buffer(1, stand.plants.slice(..));
                for batch in &ready.batches {
                    pass.draw_indexed(self.shapes[batch.shape].clone(), 0, batch.plants.clone());
                }
            }
        }
        pass.set_pipeline(&pipelines.sky);
        pass.draw(0..3, 0..1);
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

/// The buffers of a frame.
struct Filled {
    patches: Option<wgpu::Buffer>,
    sides: Option<wgpu::Buffer>,
    dots: Option<wgpu::Buffer>,
    lines: Option<wgpu::Buffer>,
}

fn begin<'a>(encoder: &'a mut wgpu::CommandEncoder, target: &Target) -> wgpu::RenderPass<'a> {
    let paper = wgpu::Color { r: 0.980, g: 0.976, b: 0.965, a: 1.0 };
    let (view, resolve_target, store) = match &target.smooth {
        Some(smooth) => (smooth, Some(target.view()), wgpu::StoreOp::Discard),
        None => (target.view(), None, wgpu::StoreOp::Store),
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
            depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
            stencil_ops: None,
        }),
        ..wgpu::RenderPassDescriptor::default()
    })
}

/// A shot's viewport and the part of the picture that it may draw on; `None` where there is no such part.
fn framed([width, height]: [u32; 2], most: usize, shot: &Shot<'_>) -> Option<([f32; 4], [u32; 4])> {
    let [x, y, w, h] = shot.area;
    // Beyond this a viewport is refused by the device.
    let most = most as f32;
    let sound = shot.area.iter().all(|n| n.is_finite()) && w >= 1.0 && h >= 1.0;
    if !sound || w.max(h) > most || x.abs().max(y.abs()) >= most {
        return None;
    }
    let clip = shot.clip.unwrap_or(shot.area);
    let span = |k: usize, limit: u32| {
        let low = clip[k].max(shot.area[k]).max(0.0).round();
        let high = (clip[k] + clip[k + 2]).min(shot.area[k] + shot.area[k + 2]).min(limit as f32).round();
        (high > low).then_some([low as u32, (high - low) as u32])
    };
    let ([left, wide], [top, tall]) = (span(0, width)?, span(1, height)?);
    Some(([x, y, w, h], [left, top, wide, tall]))
}
