//! A terrain on the GPU: its textures, and those that are computed from them.

use thalweg_core::{Field, Size};

use crate::view::facts::SurfaceFacts;
use crate::view::paint::Paint;
use crate::view::surface::Surface;
use crate::view::woods::GpuPlants;

/// The layouts and samplers, which do not depend on the sizes of the textures.
pub(super) struct Layouts {
    pub land: wgpu::BindGroupLayout,
    pub paint: wgpu::BindGroupLayout,
    pub halve: wgpu::BindGroupLayout,
    pub smooth: wgpu::Sampler,
    pub linear: wgpu::Sampler,
}

/// The textures of a terrain.
pub(super) struct GpuTerrain {
    pub size: Size,
    ground: wgpu::Texture,
    level: wgpu::Texture,
    light: wgpu::Texture,
    lines: wgpu::Texture,
    data: wgpu::Texture,
    /// The mip levels of both painted textures.
    pub painted: Vec<[wgpu::TextureView; 2]>,
    /// The bind groups from which each mip level except the first is computed.
    pub halves: Vec<wgpu::BindGroup>,
    pub land: wgpu::BindGroup,
    pub paint: wgpu::BindGroup,
    pub stand: Option<GpuPlants>,
    pub facts: SurfaceFacts,
    /// The settings for which the painted textures were computed.
    pub painted_for: Option<Paint>,
}

const SRGB: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;

impl GpuTerrain {
    /// Creates and fills the textures of a surface; those of `before` are reused if the sizes agree.
    pub fn from_surface(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        layouts: &Layouts,
        uniform: &wgpu::Buffer,
        ramps: &wgpu::TextureView,
        surface: &Surface,
        before: Option<Self>,
    ) -> Self {
        let data = surface.data.is_some();
        // Without an overlay, the data texture is a placeholder of one texel, so a terrain that gains or loses an
        // overlay needs new textures.
        let fits = |terrain: &Self| {
            terrain.size == surface.size() && (terrain.data.width() > 1) == (data && surface.size()[1] > 1)
        };
        let mut terrain = match before.filter(fits) {
            Some(terrain) => terrain,
            None => Self::with_empty_textures(device, layouts, uniform, ramps, surface),
        };
        write_texture(queue, &terrain.ground, &surface.heights);
        write_texture(queue, &terrain.level, &surface.level);
        write_texture(queue, &terrain.light, &surface.light);
        write_texture(queue, &terrain.lines, &surface.lines);
        if let Some(data) = &surface.data {
            write_texture(queue, &terrain.data, data);
        }
        terrain.stand = GpuPlants::new(device, &surface.plants, surface.half_extent());
        terrain.facts = SurfaceFacts::from_surface(surface);
        // The painted colours belong to the earlier content, so the next frame computes them again.
        terrain.painted_for = None;
        terrain
    }

    fn with_empty_textures(
        device: &wgpu::Device,
        layouts: &Layouts,
        uniform: &wgpu::Buffer,
        ramps: &wgpu::TextureView,
        surface: &Surface,
    ) -> Self {
        let size = surface.size();
        let texture = |label, size: Size, format, levels, drawn: bool| {
            let usage = if drawn { wgpu::TextureUsages::RENDER_ATTACHMENT } else { wgpu::TextureUsages::COPY_DST };
            device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width: size[1] as u32, height: size[0] as u32, depth_or_array_layers: 1 },
                mip_level_count: levels,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::TEXTURE_BINDING | usage,
                view_formats: &[],
            })
        };
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let ground = texture("ground", size, wgpu::TextureFormat::R32Float, 1, false);
        let level = texture("level", size, wgpu::TextureFormat::R32Float, 1, false);
        let light = texture("light", size, wgpu::TextureFormat::Rgba8Unorm, 1, false);
        let lines = texture("lines", size, wgpu::TextureFormat::Rgba8Unorm, 1, false);
        let data = texture("data", if surface.data.is_some() { size } else { [1, 1] }, SRGB, 1, false);
        // The mip levels go down to a single texel.
        let levels = size[0].max(size[1]).ilog2() + 1;
        let [dry, wet] = ["dry", "wet"].map(|label| texture(label, size, SRGB, levels, true));
        let one = |texture: &wgpu::Texture, level| {
            texture.create_view(&wgpu::TextureViewDescriptor {
                base_mip_level: level,
                mip_level_count: Some(1),
                ..wgpu::TextureViewDescriptor::default()
            })
        };
        let painted: Vec<_> = (0..levels).map(|level| [one(&dry, level), one(&wet, level)]).collect();
        let group = |label, layout, parts: &[wgpu::BindingResource<'_>]| {
            let entries = parts.iter().cloned().enumerate();
            let entries: Vec<_> =
                entries.map(|(n, resource)| wgpu::BindGroupEntry { binding: n as u32, resource }).collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
        };
        use wgpu::BindingResource::{Sampler, TextureView};
        // Mip level n is computed from level n − 1, so the last level is the source of none.
        let halves = painted[..painted.len() - 1].iter().map(|[dry, wet]| {
            group("halve", &layouts.halve, &[TextureView(dry), TextureView(wet), Sampler(&layouts.linear)])
        });
        let halves = halves.collect();
        // The order of the resources in both groups is that of the bindings in the shaders.
        let [g, l, li, ls, da, dr, we] = [&ground, &level, &light, &lines, &data, &dry, &wet].map(view);
        let land = [TextureView(&g), TextureView(&l), TextureView(&dr), TextureView(&we), Sampler(&layouts.smooth)];
        let paint = [
            uniform.as_entire_binding(),
            TextureView(&g),
            TextureView(&l),
            TextureView(&li),
            TextureView(&ls),
            TextureView(&da),
            TextureView(ramps),
        ];
        Self {
            size,
            land: group("land", &layouts.land, &land),
            paint: group("paint", &layouts.paint, &paint),
            ground,
            level,
            light,
            lines,
            data,
            painted,
            halves,
            stand: None,
            facts: SurfaceFacts::from_surface(surface),
            painted_for: None,
        }
    }
}

/// Fills a texture with the cells of a field.
fn write_texture<T: bytemuck::Pod>(queue: &wgpu::Queue, texture: &wgpu::Texture, field: &Field<T>) {
    let [rows, cols] = field.size();
    let layout = wgpu::TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some((cols * size_of::<T>()) as u32),
        rows_per_image: Some(rows as u32),
    };
    queue.write_texture(texture.as_image_copy(), bytemuck::cast_slice(field.as_slice()), layout, texture.size());
}

impl Layouts {
    pub fn new(device: &wgpu::Device, software: bool) -> Self {
        use wgpu::ShaderStages as Stage;
        // Textures of 32-bit floats cannot be filtered on every device; the shaders read them by whole samples.
        let texture = |filtered: bool| wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: filtered },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let sampler = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
        let uniform = wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let layout = |label, parts: &[(Stage, wgpu::BindingType)]| {
            let entries = parts.iter().enumerate().map(|(n, (visibility, ty))| wgpu::BindGroupLayoutEntry {
                binding: n as u32,
                visibility: *visibility,
                ty: *ty,
                count: None,
            });
            let entries: Vec<_> = entries.collect();
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries: &entries })
        };
        let (vertex, fragment) = (Stage::VERTEX, Stage::FRAGMENT);
        let smooth = wgpu::SamplerDescriptor {
            label: Some("smooth"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            // Anisotropic filtering keeps distant ground sharp along the view; on a software renderer each further
            // texel costs time.
            anisotropy_clamp: if software { 1 } else { 8 },
            ..wgpu::SamplerDescriptor::default()
        };
        Self {
            land: layout(
                "land",
                &[
                    (vertex | fragment, texture(false)),
                    (vertex | fragment, texture(false)),
                    (fragment, texture(true)),
                    (fragment, texture(true)),
                    (fragment, sampler),
                ],
            ),
            paint: layout(
                "paint",
                &[
                    (fragment, uniform),
                    (fragment, texture(false)),
                    (fragment, texture(false)),
                    (fragment, texture(true)),
                    (fragment, texture(true)),
                    (fragment, texture(true)),
                    (fragment, texture(true)),
                ],
            ),
            halve: layout("halve", &[(fragment, texture(true)), (fragment, texture(true)), (fragment, sampler)]),
            linear: device.create_sampler(&wgpu::SamplerDescriptor { anisotropy_clamp: 1, ..smooth.clone() }),
            smooth: device.create_sampler(&smooth),
        }
    }
}
