//! The render pass that computes a terrain's colours.

use thalweg_render::pictures::ramps::{RAMPS, Ramp};
use wgpu::util::DeviceExt;

use crate::view::gpu_terrain::{GpuTerrain, Layouts};
use crate::view::shader;

/// The number of steps of a colour ramp.
const RAMP_STEPS: u32 = 1024;

/// The pipelines of the pass.
pub(super) struct Baker {
    paint: wgpu::RenderPipeline,
    halve: wgpu::RenderPipeline,
    /// All ramps, one per row.
    pub ramps: wgpu::TextureView,
}

impl Baker {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, layouts: &Layouts) -> Self {
        let module = shader::create_bake_module(device);
        let pipeline = |label, layout: &wgpu::BindGroupLayout, vertex, fragment| {
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(label),
                bind_group_layouts: &[Some(layout)],
                immediate_size: 0,
            });
            // The format makes the GPU encode on writing and decode on reading, so coarser mip levels average linear
            // light.
            let target = Some(wgpu::ColorTargetState::from(wgpu::TextureFormat::Rgba8UnormSrgb));
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(label),
                layout: Some(&layout),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some(vertex),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers: &[],
                },
                primitive: wgpu::PrimitiveState::default(),
                depth_stencil: None,
                multisample: wgpu::MultisampleState::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(fragment),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    targets: &[target.clone(), target],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let ramp = |ramp: &Ramp| -> Vec<u8> {
            let colours = (0..RAMP_STEPS).map(|k| ramp.rgb_at(k as f32 / (RAMP_STEPS - 1) as f32));
            colours.flat_map(|[r, g, b]| [r, g, b, 255]).collect()
        };
        // The ramps are the rows of one texture, so a look selects its ramp by a row number, without other bindings.
        let ramps = device.create_texture_with_data(
            queue,
            &wgpu::TextureDescriptor {
                label: Some("ramps"),
                size: wgpu::Extent3d { width: RAMP_STEPS, height: RAMPS.len() as u32, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: wgpu::TextureFormat::Rgba8UnormSrgb,
                usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
                view_formats: &[],
            },
            wgpu::util::TextureDataOrder::LayerMajor,
            &RAMPS.map(ramp).concat(),
        );
        Self {
            paint: pipeline("paint", &layouts.paint, "all", "bake"),
            halve: pipeline("halve", &layouts.halve, "halve_all", "halve"),
            ramps: ramps.create_view(&wgpu::TextureViewDescriptor::default()),
        }
    }

    /// Paints a terrain and all its coarser mip levels.
    pub fn bake_terrain(&self, encoder: &mut wgpu::CommandEncoder, terrain: &GpuTerrain) {
        for (level, views) in terrain.painted.iter().enumerate() {
            let attachments = views.each_ref().map(|view| {
                Some(wgpu::RenderPassColorAttachment {
                    view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                        store: wgpu::StoreOp::Store,
                    },
                })
            });
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("paint"),
                color_attachments: &attachments,
                ..wgpu::RenderPassDescriptor::default()
            });
            // Level 0 is computed from the terrain; each further level averages the one before it, so the order
            // matters.
            let (pipeline, group) = match level {
                0 => (&self.paint, &terrain.paint),
                _ => (&self.halve, &terrain.halves[level - 1]),
            };
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            // One triangle that is larger than the texture covers it without a diagonal seam.
            pass.draw(0..3, 0..1);
        }
    }
}
