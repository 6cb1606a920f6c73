//! [`Renderer`]: draws terrains into pictures.

mod draw;
mod scene;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::util::DeviceExt;

use crate::view::bake::Baker;
use crate::view::frame_buffers::GrowingBuffer;
use crate::view::gpu::is_software;
use crate::view::gpu_terrain::{GpuTerrain, Layouts};
use crate::view::paint::Paint;
use crate::view::patches::{patch_indices, side_indices};
use crate::view::pipelines::Pipelines;
use crate::view::renderer::scene::SceneUniforms;
use crate::view::shader;
use crate::view::surface::Surface;
use crate::view::woods::build_shapes;

/// The number of terrains that a renderer holds at once: two to compare, or the rings of a larger terrain.
pub const MAX_TERRAINS: usize = 16;
/// The maximum number of shots in a picture.
const MAX_SHOTS: usize = 16;
/// The distance between the uniforms of consecutive shots in bytes: an alignment that every device accepts.
const UNIFORM_STRIDE_BYTES: u64 = 256;

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
    /// The pipelines for one sample per pixel, and for four.
    pipelines: [Option<Pipelines>; 2],
    patch_order: wgpu::Buffer,
    side_order: wgpu::Buffer,
    rings: wgpu::Buffer,
    ring_order: wgpu::Buffer,
    shapes: Vec<Range<u32>>,
    patches: GrowingBuffer,
    sides: GrowingBuffer,
    dots: GrowingBuffer,
    lines: GrowingBuffer,
    paints: [wgpu::Buffer; MAX_TERRAINS],
    terrains: [Option<GpuTerrain>; MAX_TERRAINS],
    fault: Arc<Mutex<Option<String>>>,
}

impl Renderer {
    /// Creates a renderer without terrains. From then on, device errors are recorded ([`Renderer::fault`]) and do not
    /// end the process.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let fault = Arc::new(Mutex::new(None));
        let keep = |fault: &Arc<Mutex<Option<String>>>| {
            let fault = Arc::clone(fault);
            move |what: String| {
                // Only the first error is kept: later ones usually follow from it.
                fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
            }
        };
        let (uncaptured, lost) = (keep(&fault), keep(&fault));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured(error.to_string())));
        device.set_device_lost_callback(move |reason, words| {
            // A device that was destroyed on purpose is not lost.
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost(format!("the GPU was lost: {words}"));
            }
        });

        let software = is_software(device);
        let layouts = Layouts::new(device, software);
        let baker = Baker::new(device, queue, &layouts);
        let size = size_of::<SceneUniforms>() as u64;
        let scene_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("scene"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    // One bind group serves all shots; each draw call gives the offset of its uniforms.
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
        let scenes = uniform("scenes", UNIFORM_STRIDE_BYTES * MAX_SHOTS as u64);
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
        // The shapes of patches and plants never change, so their buffers are filled once.
        let (rings, ring_order, shapes) = build_shapes();
        let vertex = wgpu::BufferUsages::VERTEX;
        Self {
            software,
            fine: false,
            baker,
            module: shader::create_scene_module(device),
            scene_layout,
            scene,
            scenes,
            pipelines: [None, None],
            patch_order: order("patch", &patch_indices()),
            side_order: order("side", &side_indices()),
            rings: fixed("rings", bytemuck::cast_slice(&rings), vertex),
            ring_order: order("rings", &ring_order),
            shapes,
            patches: GrowingBuffer::new("patches", vertex),
            sides: GrowingBuffer::new("sides", vertex),
            dots: GrowingBuffer::new("dots", vertex),
            lines: GrowingBuffer::new("lines", vertex),
            paints: std::array::from_fn(|_| uniform("paint", size_of::<Paint>() as u64)),
            terrains: std::array::from_fn(|_| None),
            layouts,
            device: device.clone(),
            queue: queue.clone(),
            fault,
        }
    }

    /// Replaces the terrain of that number. A number beyond the last is ignored. A surface larger than the device's
    /// textures is not loaded either, and is recorded as a fault.
    pub fn load_terrain(&mut self, number: usize, surface: &Surface) {
        if number >= MAX_TERRAINS || self.is_lost() {
            return;
        }
        let most = self.max_samples();
        if surface.size().iter().any(|n| *n > most) {
            let [rows, cols] = surface.size();
            let words = format!("a surface of {rows} × {cols} samples is larger than this GPU's textures of {most}");
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(words);
            return;
        }
        // The earlier terrain gives up its textures, which are reused if the size is the same.
        let before = self.terrains[number].take();
        let (device, queue, layouts) = (&self.device, &self.queue, &self.layouts);
        let loaded =
            GpuTerrain::from_surface(device, queue, layouts, &self.paints[number], &self.baker.ramps, surface, before);
        self.terrains[number] = Some(loaded);
    }

    /// Removes the terrain of that number.
    pub fn unload_terrain(&mut self, number: usize) {
        if let Some(terrain) = self.terrains.get_mut(number) {
            *terrain = None;
        }
    }

    /// The maximum number of samples on a side of a surface, for
    /// [`SurfaceOptions::most`](crate::view::surface::SurfaceOptions::most).
    pub fn max_samples(&self) -> usize {
        self.device.limits().max_texture_dimension_2d as usize
    }

    /// Draws at the highest quality regardless of the cost, for pictures that are saved.
    pub fn set_highest_quality(&mut self) {
        self.fine = true;
    }

    /// Returns true if drawing has stopped, because the device is lost or an error occurred on it.
    pub fn is_lost(&self) -> bool {
        self.fault().is_some()
    }

    /// The first error, in words.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
