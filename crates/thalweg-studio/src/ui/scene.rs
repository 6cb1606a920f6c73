//! The view as a texture for the window, which is redrawn only when something in it has changed.

use std::sync::Arc;

use eframe::egui;
use eframe::egui_wgpu::{RenderState, WgpuConfiguration, WgpuSetup};
use thalweg_render::pictures::picture::Picture;

use crate::view::camera::ViewCamera;
use crate::view::gpu::{Gpu, choose_device_limits};
#[cfg(not(target_arch = "wasm32"))]
use crate::view::gpu::{NO_ADAPTER, for_window};
use crate::view::look::{Appearance, Shot, ViewDot, ViewLine};
use crate::view::renderer::Renderer;
use crate::view::surface::Surface;
use crate::view::target::{PictureReadback, Target};

/// The contents of one picture; the same frame gives the same picture.
#[derive(Clone, PartialEq, Default)]
pub struct ViewFrame {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// The parts of the picture.
    pub parts: Vec<FramePart>,
    /// Moving droplets and other dots.
    pub dots: Vec<ViewDot>,
    /// Paths, and rings of brushes.
    pub lines: Vec<ViewLine>,
}

/// A part of the picture: a terrain seen by a camera.
#[derive(Clone, PartialEq)]
pub struct FramePart {
    /// The terrain: 0 is the current one, 1 the one before erosion.
    pub terrain: usize,
    /// The terrain's version number.
    pub version: u64,
    /// The camera.
    pub camera: ViewCamera,
    /// The appearance.
    pub look: Appearance,
    /// Left, top, width and height in pixels.
    pub area: [u32; 4],
    /// The part of the area that is drawn.
    pub clip: Option<[u32; 4]>,
    /// The part of the terrain that another part of the picture shows, and the distance over which haze thickens, in
    /// metres ([`Shot`]).
    pub hole: Option<[f32; 4]>,
    pub air: Option<f32>,
    /// True if the dots and lines belong to this part.
    pub marked: bool,
}

/// The renderer with its target texture, which is registered with the window.
pub struct WindowScene {
    state: RenderState,
    gpu: Gpu,
    renderer: Renderer,
    target: Option<(Target, egui::TextureId)>,
    drawn: Option<ViewFrame>,
}

impl WindowScene {
    /// Creates a scene on the window's own GPU.
    pub fn new(state: RenderState) -> Self {
        let renderer = Renderer::new(&state.device, &state.queue);
        let gpu = Gpu { adapter: state.adapter.clone(), device: state.device.clone(), queue: state.queue.clone() };
        Self { state, gpu, renderer, target: None, drawn: None }
    }

    /// The maximum number of cells on a side that the GPU accepts.
    pub fn max_cells(&self) -> usize {
        (self.state.device.limits().max_texture_dimension_2d as usize).min(4096)
    }

    /// Replaces the renderer's terrain of that number.
    pub fn load_terrain(&mut self, number: usize, surface: &Surface) {
        self.renderer.load_terrain(number, surface);
        self.drawn = None;
    }

    /// Returns the texture of this frame, redrawn if the frame has changed.
    pub fn render_texture(&mut self, frame: ViewFrame) -> Option<egui::TextureId> {
        let size = self.clamp_size(frame.size);
        if self.target.as_ref().is_none_or(|(target, _)| target.size() != size) {
            let target = Target::new(&self.state.device, size);
            let mut egui_renderer = self.state.renderer.write();
            let filter = wgpu::FilterMode::Linear;
            let id = match self.target.take() {
                // The texture keeps its number in egui, so a resized window does not leak one per size.
                Some((_, id)) => {
                    egui_renderer.update_egui_texture_from_wgpu_texture(
                        &self.state.device,
                        target.texture_view(),
                        filter,
                        id,
                    );
                    id
                }
                None => egui_renderer.register_native_texture(&self.state.device, target.texture_view(), filter),
            };
            self.target = Some((target, id));
            self.drawn = None;
        }
        let (target, id) = self.target.as_ref()?;
        // An unchanged frame is not drawn again; egui shows the same texture.
        if self.drawn.as_ref() != Some(&frame) {
            draw_frame(&mut self.renderer, target, &frame);
            self.drawn = Some(frame);
        }
        Some(*id)
    }

    /// Returns a picture of a frame, enlarged by the factor `times` as far as the GPU allows.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be read back.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn render_picture(&mut self, frame: &ViewFrame, times: u32) -> Result<Picture, String> {
        self.drawn_larger(frame, times).read_picture(&self.gpu)
    }

    /// Starts a picture of a frame without blocking; [`WindowScene::read_picture`] returns it later.
    pub fn begin_picture(&mut self, frame: &ViewFrame, times: u32) -> PictureReadback {
        self.drawn_larger(frame, times).begin_read(&self.gpu)
    }

    /// Returns a picture that was started, once it is ready.
    pub fn read_picture(&self, reading: &PictureReadback) -> Option<Result<Picture, String>> {
        reading.poll_picture(&self.gpu)
    }

    fn drawn_larger(&mut self, frame: &ViewFrame, times: u32) -> Target {
        let most = self.clamp_size([u32::MAX; 2])[0];
        // The factor is reduced until the enlarged picture fits into a texture.
        let times = times.max(1).min(most / frame.size[0].max(1)).min(most / frame.size[1].max(1)).max(1);
        let larger = |area: [u32; 4]| area.map(|x| x * times);
        let mut large = frame.clone();
        large.size = frame.size.map(|x| (x * times).max(1));
        for part in &mut large.parts {
            part.area = larger(part.area);
            part.clip = part.clip.map(larger);
        }
        // Dots and lines have widths in pixels, so they grow with the picture.
        large.dots.iter_mut().for_each(|dot| dot.pixels *= times as f32);
        large.lines.iter_mut().for_each(|line| line.pixels *= times as f32);
        let target = Target::new(&self.state.device, large.size);
        draw_frame(&mut self.renderer, &target, &large);
        self.drawn = None;
        target
    }

    /// Returns true if the GPU has been lost.
    pub fn is_lost(&self) -> bool {
        self.renderer.is_lost()
    }

    fn clamp_size(&self, size: [u32; 2]) -> [u32; 2] {
        let most = self.state.device.limits().max_texture_dimension_2d;
        size.map(|x| x.clamp(1, most))
    }
}

fn draw_frame(renderer: &mut Renderer, target: &Target, frame: &ViewFrame) {
    let shots: Vec<Shot<'_>> = (frame.parts.iter())
        .map(|part| Shot {
            terrain: part.terrain,
            camera: part.camera,
            look: &part.look,
            area: part.area.map(|x| x as f32),
            clip: part.clip.map(|clip| clip.map(|x| x as f32)),
            hole: part.hole,
            air: part.air,
            dots: if part.marked { &frame.dots } else { &[] },
            lines: if part.marked { &frame.lines } else { &[] },
        })
        .collect();
    renderer.draw(target, &shots);
}

/// Configures how the window chooses its GPU: a hardware one before software, with textures as large as it supports.
pub fn configure_gpu_choice() -> WgpuConfiguration {
    let descriptor: Arc<dyn Fn(&wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> + Send + Sync> =
        Arc::new(|adapter| wgpu::DeviceDescriptor {
            label: Some("thalweg studio"),
            required_limits: choose_device_limits(adapter),
            ..wgpu::DeviceDescriptor::default()
        });
    let mut configuration = WgpuConfiguration::default();
    if let WgpuSetup::CreateNew(setup) = &mut configuration.wgpu_setup {
        setup.device_descriptor = descriptor;
        // A browser makes its own choice.
        #[cfg(not(target_arch = "wasm32"))]
        let selector: eframe::egui_wgpu::NativeAdapterSelectorMethod = Arc::new(|adapters, surface| {
            let shows = |adapter: &&wgpu::Adapter| surface.is_none_or(|surface| adapter.is_surface_supported(surface));
            for_window(adapters.iter().filter(shows)).cloned().ok_or_else(|| NO_ADAPTER.to_string())
        });
        #[cfg(not(target_arch = "wasm32"))]
        {
            setup.native_adapter_selector = Some(selector);
        }
    }
    configuration
}
