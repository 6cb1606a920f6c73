//! The pass that works out a land's colours.

use thalweg::pictures::light::Sun;
use thalweg::pictures::paint::ASIDE;
use thalweg::pictures::ramps::{RAMPS, Ramp};
use wgpu::util::DeviceExt;

use crate::view::gpu_terrain::{Facts, GpuTerrain, Layouts};
use crate::view::look::Look;
use crate::view::shader;
use crate::view::surface::DRY;

/// Steps of a ramp.
const STEPS: u32 = 1024;
/// Half the width of the belt in which snow begins, as a share of the range of heights.
const BELT: f32 = 0.05;
/// A height that no ground reaches.
const NEVER: f32 = 1e9;

/// What the colours depend on, as the shader reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Paint {
    grid: [f32; 4],
    sun: [f32; 4],
    left: [f32; 4],
    right: [f32; 4],
    range: [f32; 4],
    snow: [f32; 4],
    shown: [f32; 4],
    rows: [f32; 4],
}

/// Level of the sea as a look wants it.
pub(super) fn sea(look: &Look, facts: &Facts) -> f32 {
    let level = look.sea_level.or(facts.sea).filter(|level| level.is_finite() && look.water);
    level.unwrap_or(DRY)
}

/// A ramp's row of the texture of ramps.
fn row(ramp: &Ramp) -> f32 {
    RAMPS.iter().position(|known| *known == ramp).unwrap_or(0) as f32
}

impl Paint {
    pub fn of(look: &Look, facts: &Facts, size: [usize; 2]) -> Self {
        let on = |yes: bool| f32::from(u8::from(yes));
        let share = |x: f32| if x > 0.0 { x.min(1.0) } else { 0.0 };
        let aside = |degrees: f64| Sun { azimuth: look.sun.azimuth + degrees, ..look.sun }.direction();
        let sound = |x: f32| if x.is_finite() { x } else { 1.0 };
        let sea = sea(look, facts);
        let deepest = if Some(sea) == facts.sea { facts.deepest } else { (0.9 * (sea - facts.extremes[0])).max(1.0) };
        let with = |[a, b, c]: [f32; 3], d: f32| [a, b, c, d];
        let steep = (facts.relief_light * sound(look.exaggeration)).clamp(1e-3, 1e3);
        // The sun of a flat light may not be below the horizon.
        let sun = look.sun.direction().map(sound);
        let sun = [sun[0], sun[1], sun[2].max(0.02)];
        Self {
            grid: [size[1] as f32, size[0] as f32, facts.sides[1], facts.sides[0]],
            sun: with(sun, steep),
            left: with(aside(-ASIDE).map(sound), on(look.shadows)),
            right: with(aside(ASIDE).map(sound), on(look.rock)),
            range: [facts.range[0], facts.range[1], sea, deepest],
            snow: [
                look.snow_line.map_or(NEVER, sound),
                (BELT * (facts.range[1] - facts.range[0])).max(0.5),
                share(look.tint),
                share(look.overlay) * on(facts.has_data),
            ],
            shown: [on(look.streams), on(look.sediment), on(look.trees), on(look.water)],
            rows: [row(look.ramp), row(Ramp::sea()), 0.0, 0.0],
        }
    }
}

/// The pass, ready to run.
pub(super) struct Baker {
    paint: wgpu::RenderPipeline,
    halve: wgpu::RenderPipeline,
    /// All ramps, a row each.
    pub ramps: wgpu::TextureView,
}

impl Baker {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, layouts: &Layouts) -> Self {
        let module = shader::bake(device);
        let pipeline = |label, layout: &wgpu::BindGroupLayout, vertex, fragment| {
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(label),
                bind_group_layouts: &[Some(layout)],
                immediate_size: 0,
            });
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
            let colours = (0..STEPS).map(|k| ramp.rgb(k as f32 / (STEPS - 1) as f32));
            colours.flat_map(|[r, g, b]| [r, g, b, 255]).collect()
        };
        let ramps = device.create_texture_with_data(
            queue,
            &wgpu::TextureDescriptor {
                label: Some("ramps"),
                size: wgpu::Extent3d { width: STEPS, height: RAMPS.len() as u32, depth_or_array_layers: 1 },
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

    /// Paints a slot and all its coarser levels.
    pub fn run(&self, encoder: &mut wgpu::CommandEncoder, slot: &GpuTerrain) {
        for (level, views) in slot.painted.iter().enumerate() {
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
            let (pipeline, group) = match level {
                0 => (&self.paint, &slot.paint),
                _ => (&self.halve, &slot.halves[level - 1]),
            };
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}
