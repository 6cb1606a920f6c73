//! The pipelines of a frame, for a given number of samples per pixel.

use wgpu::VertexFormat::{Float32, Float32x2, Float32x4, Uint32, Unorm8x4};

use crate::view::frame_buffers::{DotMark, LineMark};
use crate::view::gpu_terrain::Layouts;
use crate::view::patches::{Side, SurfacePatch};
use crate::view::target::{DEPTH_FORMAT, PICTURE_FORMAT};
use crate::view::woods::{PlantInstance, PlantVertex};

/// The pipelines that draw a frame.
pub(super) struct Pipelines {
    pub land: wgpu::RenderPipeline,
    /// The terrain's pipeline for surfaces with cells without data.
    pub holed: wgpu::RenderPipeline,
    pub side: wgpu::RenderPipeline,
    pub sky: wgpu::RenderPipeline,
    pub plants: wgpu::RenderPipeline,
    pub dots: wgpu::RenderPipeline,
    pub lines: wgpu::RenderPipeline,
}

/// The properties in which the pipelines differ.
struct PipelineSettings<'a> {
    label: &'static str,
    entries: [&'static str; 2],
    buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    strip: bool,
    compare: wgpu::CompareFunction,
    writes_depth: bool,
    blend: Option<wgpu::BlendState>,
    holes: bool,
}

impl Pipelines {
    pub fn new(
        device: &wgpu::Device,
        module: &wgpu::ShaderModule,
        scene: &wgpu::BindGroupLayout,
        layouts: &Layouts,
        samples: u32,
    ) -> Self {
        let layout = |groups: &[Option<&wgpu::BindGroupLayout>]| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("scene"),
                bind_group_layouts: groups,
                immediate_size: 0,
            })
        };
        let (plain, land) = (layout(&[Some(scene)]), layout(&[Some(scene), Some(&layouts.land)]));
        let pipeline = |layout: &wgpu::PipelineLayout, kind: &PipelineSettings<'_>| {
            // Only surfaces with holes pay for the test and the discard in the fragment shader.
            let constants = [("holes", f64::from(u8::from(kind.holes)))];
            let options = wgpu::PipelineCompilationOptions {
                constants: &constants,
                ..wgpu::PipelineCompilationOptions::default()
            };
            let topology = match kind.strip {
                true => wgpu::PrimitiveTopology::TriangleStrip,
                false => wgpu::PrimitiveTopology::TriangleList,
            };
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(kind.label),
                layout: Some(layout),
                vertex: wgpu::VertexState {
                    module,
                    entry_point: Some(kind.entries[0]),
                    compilation_options: options.clone(),
                    buffers: kind.buffers,
                },
                primitive: wgpu::PrimitiveState { topology, ..wgpu::PrimitiveState::default() },
                depth_stencil: Some(wgpu::DepthStencilState {
                    format: DEPTH_FORMAT,
                    depth_write_enabled: Some(kind.writes_depth),
                    depth_compare: Some(kind.compare),
                    stencil: wgpu::StencilState::default(),
                    bias: wgpu::DepthBiasState::default(),
                }),
                multisample: wgpu::MultisampleState { count: samples, ..wgpu::MultisampleState::default() },
                fragment: Some(wgpu::FragmentState {
                    module,
                    entry_point: Some(kind.entries[1]),
                    compilation_options: options,
                    targets: &[Some(wgpu::ColorTargetState {
                        format: PICTURE_FORMAT,
                        blend: kind.blend,
                        write_mask: wgpu::ColorWrites::ALL,
                    })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let attribute = |shader_location, offset, format| wgpu::VertexAttribute { format, offset, shader_location };
        let buffer = |stride: usize, step_mode, attributes| {
            Some(wgpu::VertexBufferLayout { array_stride: stride as u64, step_mode, attributes })
        };
        // The shaders derive the corners of patches, sides, dots and lines from the vertex number; their buffers
        // advance once per instance.
        let (each, every) = (wgpu::VertexStepMode::Instance, wgpu::VertexStepMode::Vertex);
        let patch = [attribute(0, 0, Float32x4)];
        let side = [attribute(0, 0, Float32x4), attribute(1, 16, Uint32)];
        let ring = [attribute(0, 0, Float32x4), attribute(1, 16, Float32)];
        // The locations continue those of the shape's corners, because both buffers feed one vertex shader.
        let plant = [attribute(2, 0, Float32x4), attribute(3, 16, Float32x2), attribute(4, 24, Unorm8x4)];
        let dot = [attribute(0, 0, Float32x4), attribute(1, 16, Float32x4)];
        let line = [attribute(0, 0, Float32x4), attribute(1, 16, Float32x4), attribute(2, 32, Float32x4)];
        let patches = [buffer(size_of::<SurfacePatch>(), each, &patch)];
        let solid = PipelineSettings {
            label: "land",
            entries: ["land", "land_colour"],
            buffers: &patches,
            strip: false,
            // Depth is 1 near by and 0 far away (reversed z), so nearer fragments have the greater depth.
            compare: wgpu::CompareFunction::Greater,
            writes_depth: true,
            blend: None,
            holes: false,
        };
        // Marks may be transparent: they test the depth but do not write it, and are drawn after everything opaque.
        let mark = |label, entries, buffers| PipelineSettings {
            label,
            entries,
            buffers,
            strip: true,
            compare: wgpu::CompareFunction::GreaterEqual,
            writes_depth: false,
            blend: Some(wgpu::BlendState::ALPHA_BLENDING),
            holes: false,
        };
        Self {
            land: pipeline(&land, &solid),
            holed: pipeline(&land, &PipelineSettings { holes: true, ..solid }),
            side: pipeline(
                &land,
                &PipelineSettings {
                    label: "side",
                    entries: ["side", "side_colour"],
                    buffers: &[buffer(size_of::<Side>(), each, &side)],
                    ..solid
                },
            ),
            plants: pipeline(
                &plain,
                &PipelineSettings {
                    label: "plants",
                    entries: ["plant", "plant_colour"],
                    buffers: &[
                        buffer(size_of::<PlantVertex>(), every, &ring),
                        buffer(size_of::<PlantInstance>(), each, &plant),
                    ],
                    ..solid
                },
            ),
            sky: pipeline(
                &plain,
                &PipelineSettings {
                    label: "sky",
                    entries: ["sky_all", "sky_colour"],
                    buffers: &[],
                    // The sky has depth 0, as the cleared buffer has, so `GreaterEqual` paints only where nothing else
                    // was drawn.
                    compare: wgpu::CompareFunction::GreaterEqual,
                    writes_depth: false,
                    ..solid
                },
            ),
            dots: pipeline(
                &plain,
                &mark("dots", ["dot_at", "dot_colour"], &[buffer(size_of::<DotMark>(), each, &dot)]),
            ),
            lines: pipeline(
                &plain,
                &mark("lines", ["line_at", "dot_colour"], &[buffer(size_of::<LineMark>(), each, &line)]),
            ),
        }
    }
}
