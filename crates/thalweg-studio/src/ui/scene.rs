//! The view as a texture for the window: drawn anew only when something in it has changed.

use std::sync::Arc;

use eframe::egui;
use eframe::egui_wgpu::{RenderState, WgpuConfiguration, WgpuSetup};
use thalweg_render::pictures::picture::Picture;

use crate::view::camera::Camera;
use crate::view::gpu::{Gpu, limits};
#[cfg(not(target_arch = "wasm32"))]
use crate::view::gpu::{NO_ADAPTER, for_window};
use crate::view::look::{Dot, Line, Look, Shot};
use crate::view::renderer::Renderer;
use crate::view::surface::Surface;
use crate::view::target::{Reading, Target};

/// What one picture shows; the same frame gives the same picture.
#[derive(Clone, PartialEq, Default)]
pub struct Frame {
    /// Pixels across and down.
    pub size: [u32; 2],
    /// Its parts.
    pub parts: Vec<Part>,
    /// Moving droplets and other dots.
    pub dots: Vec<Dot>,
    /// Paths, rings of brushes.
    pub lines: Vec<Line>,
}

/// A part of the picture: a terrain under a camera.
#[derive(Clone, PartialEq)]
pub struct Part {
    /// 0 is the present terrain, 1 that before.
    pub terrain: usize,
    /// The terrain's number.
    pub version: u64,
    /// The camera.
    pub camera: Camera,
    /// What is drawn.
    pub look: Look,
    /// Left, top, width, height in pixels.
    pub area: [u32; 4],
    /// The part of that which is drawn.
    pub clip: Option<[u32; 4]>,
    /// What of the land another part shows, and over how many metres haze thickens ([`Shot`]).
    pub hole: Option<[f32; 4]>,
    pub air: Option<f32>,
    /// Whether dots and lines belong to it.
    pub marked: bool,
}

/// The renderer with its target, registered with the window.
pub struct Scene {
    state: RenderState,
    gpu: Gpu,
    renderer: Renderer,
    target: Option<(Target, egui::TextureId)>,
    drawn: Option<Frame>,
}

impl Scene {
    /// A scene upon the window's own GPU.
    pub fn new(state: RenderState) -> Self {
        let renderer = Renderer::new(&state.device, &state.queue);
        let gpu = Gpu { adapter: state.adapter.clone(), device: state.device.clone(), queue: state.queue.clone() };
        Self { state, gpu, renderer, target: None, drawn: None }
    }

    /// Most cells on a side that the GPU takes.
    pub fn most_cells(&self) -> usize {
        (self.state.device.limits().max_texture_dimension_2d as usize).min(4096)
    }

    /// Puts a surface in place of the renderer's terrain of that number.
    pub fn load(&mut self, number: usize, surface: &Surface) {
        self.renderer.load(number, surface);
        self.drawn = None;
    }

    /// The texture of this frame.
    pub fn show(&mut self, frame: Frame) -> Option<egui::TextureId> {
        let size = self.within(frame.size);
        if self.target.as_ref().is_none_or(|(target, _)| target.size() != size) {
            let target = Target::new(&self.state.device, size);
            let mut egui_renderer = self.state.renderer.write();
            let filter = wgpu::FilterMode::Linear;
            let id = match self.target.take() {
                Some((_, id)) => {
                    egui_renderer.update_egui_texture_from_wgpu_texture(&self.state.device, target.view(), filter, id);
                    id
                }
                None => egui_renderer.register_native_texture(&self.state.device, target.view(), filter),
            };
            self.target = Some((target, id));
            self.drawn = None;
        }
        let (target, id) = self.target.as_ref()?;
        if self.drawn.as_ref() != Some(&frame) {
            draw(&mut self.renderer, target, &frame);
            self.drawn = Some(frame);
        }
        Some(*id)
    }

    /// A picture of a frame, so many times as large.
    ///
    /// # Errors
    /// When the picture cannot be read back.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn picture(&mut self, frame: &Frame, times: u32) -> Result<Picture, String> {
        self.drawn_larger(frame, times).read(&self.gpu)
    }

    /// Begins a picture of a frame, for whoever must not wait; [`Scene::read`] has it later.
    pub fn begin_picture(&mut self, frame: &Frame, times: u32) -> Reading {
        self.drawn_larger(frame, times).begin_read(&self.gpu)
    }

    /// A picture that was begun, once it is there.
    pub fn read(&self, reading: &Reading) -> Option<Result<Picture, String>> {
        reading.take(&self.gpu)
    }

    fn drawn_larger(&mut self, frame: &Frame, times: u32) -> Target {
        let most = self.within([u32::MAX; 2])[0];
        let times = times.max(1).min(most / frame.size[0].max(1)).min(most / frame.size[1].max(1)).max(1);
        let larger = |area: [u32; 4]| area.map(|x| x * times);
        let mut large = frame.clone();
        large.size = frame.size.map(|x| (x * times).max(1));
        for part in &mut large.parts {
            part.area = larger(part.area);
            part.clip = part.clip.map(larger);
        }
        large.dots.iter_mut().for_each(|dot| dot.pixels *= times as f32);
        large.lines.iter_mut().for_each(|line| line.pixels *= times as f32);
        let target = Target::new(&self.state.device, large.size);
        draw(&mut self.renderer, &target, &large);
        self.drawn = None;
        target
    }

    /// Whether the GPU has gone.
    pub fn lost(&self) -> bool {
        self.renderer.lost()
    }

    fn within(&self, size: [u32; 2]) -> [u32; 2] {
        let most = self.state.device.limits().max_texture_dimension_2d;
        size.map(|x| x.clamp(1, most))
    }
}

fn draw(renderer: &mut Renderer, target: &Target, frame: &Frame) {
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

/// How the window finds its GPU: a real one before software, with textures as large as it has them.
pub fn on_any_gpu() -> WgpuConfiguration {
    let descriptor: Arc<dyn Fn(&wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> + Send + Sync> =
        Arc::new(|adapter| wgpu::DeviceDescriptor {
            label: Some("thalweg studio"),
            required_limits: limits(adapter),
            ..wgpu::DeviceDescriptor::default()
        });
    let mut configuration = WgpuConfiguration::default();
    if let WgpuSetup::CreateNew(setup) = &mut configuration.wgpu_setup {
        setup.device_descriptor = descriptor;
        // A browser chooses by itself.
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
