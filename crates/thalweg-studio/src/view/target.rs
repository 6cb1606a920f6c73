//! [`Target`]: the texture into which a picture is drawn.

use std::sync::mpsc::{Receiver, TryRecvError};

use thalweg_core::Field;
use thalweg_render::pictures::picture::Picture;

use crate::view::gpu::{Gpu, is_software};

/// The format of pictures: 8-bit sRGB that the shaders encode themselves, like egui's textures.
pub const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
/// The format of depth buffers.
pub(super) const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// The largest number of pixels of a picture that is drawn with four samples per pixel.
// Four samples of colour and depth take 32 bytes per pixel, which is 295 MB at this size.
const MAX_SMOOTH_PIXELS: u64 = 3840 * 2400;

/// A picture that is drawn into, and then shown or read.
///
/// Its pixels are opaque sRGB values in a texture of format [`PICTURE_FORMAT`]. To show it like any other image,
/// register [`Target::texture_view`] as a native texture of egui.
#[derive(Debug, Clone)]
pub struct Target {
    size: [u32; 2],
    pub(super) samples: u32,
    colour: wgpu::Texture,
    view: wgpu::TextureView,
    pub(super) smooth: Option<wgpu::TextureView>,
    pub(super) depth: wgpu::TextureView,
}

impl Target {
    /// Creates a picture of this width and height in pixels, each clamped to 1 and the device's maximum. Edges are
    /// smoothed, except on software renderers, where that is expensive, and in very large pictures.
    pub fn new(device: &wgpu::Device, size: [u32; 2]) -> Self {
        let many = u64::from(size[0]) * u64::from(size[1]) > MAX_SMOOTH_PIXELS;
        Self::with_samples(device, size, if is_software(device) || many { 1 } else { 4 })
    }

    /// Does the same with 1 or 4 samples per pixel.
    pub fn with_samples(device: &wgpu::Device, size: [u32; 2], samples: u32) -> Self {
        let size = size.map(|n| n.clamp(1, device.limits().max_texture_dimension_2d));
        // WebGPU guarantees only 1 and 4 samples.
        let samples = if samples > 1 { 4 } else { 1 };
        let texture = |label, format, samples, usage| {
            device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: samples,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage,
                view_formats: &[],
            })
        };
        let drawn = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let used = drawn | wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_SRC;
        let colour = texture("picture", PICTURE_FORMAT, 1, used);
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        // A texture with several samples cannot be shown as an image; the pass resolves it into `colour`.
        let smooth = (samples > 1).then(|| view(&texture("samples", PICTURE_FORMAT, samples, drawn)));
        let depth = view(&texture("depth", DEPTH_FORMAT, samples, drawn));
        Self { size, samples, view: view(&colour), colour, smooth, depth }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// The picture as a texture.
    pub fn texture_view(&self) -> &wgpu::TextureView {
        &self.view
    }

    /// Reads the picture, once all drawing is done.
    ///
    /// # Errors
    /// Returns an error if the device is lost or out of memory.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read_picture(&self, gpu: &Gpu) -> Result<Picture, String> {
        let [width, height] = self.size;
        // A picture too large to read back is reported to the caller instead of as a fault of the renderer.
        let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let reading = self.begin_read(gpu);
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(format!("a picture of {width} × {height} pixels cannot be read from the GPU: {error}"));
        }
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| describe_loss(error.to_string()))?;
        reading.poll_picture(gpu).unwrap_or_else(|| Err(describe_loss("it did not respond".into())))
    }

    /// Starts to read the picture without blocking, for example on a page.
    pub fn begin_read(&self, gpu: &Gpu) -> PictureReadback {
        let [width, height] = self.size;
        // The rows of a copy must be multiples of 256 bytes.
        let row = (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture read"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_texture_to_buffer(
            self.colour.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None },
            },
            self.colour.size(),
        );
        gpu.queue.submit([encoder.finish()]);
        let (sender, receiver) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |done| {
            // Sending fails only if nobody waits for the picture any more.
            let _ = sender.send(done);
        });
        PictureReadback { size: self.size, row, buffer, done: receiver }
    }
}

/// A picture that is being read back from the GPU.
pub struct PictureReadback {
    size: [u32; 2],
    /// The number of bytes of a row, with padding.
    row: u32,
    buffer: wgpu::Buffer,
    done: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl PictureReadback {
    /// Returns the picture once it is ready; call it repeatedly until then.
    pub fn poll_picture(&self, gpu: &Gpu) -> Option<Result<Picture, String>> {
        if let Err(error) = gpu.device.poll(wgpu::PollType::Poll) {
            return Some(Err(describe_loss(error.to_string())));
        }
        match self.done.try_recv() {
            Err(TryRecvError::Empty) => None,
            // The callback was dropped without a call, for example because the device was destroyed.
            Err(TryRecvError::Disconnected) => Some(Err(describe_loss("it did not respond".into()))),
            Ok(done) => {
                Some(done.map_err(|error| describe_loss(error.to_string())).and_then(|()| self.decode_picture()))
            }
        }
    }

    fn decode_picture(&self) -> Result<Picture, String> {
        let [width, height] = self.size;
        let bytes = self.buffer.get_mapped_range(..).map_err(|error| describe_loss(error.to_string()))?;
        // The padding at the end of each row is left out.
        let rows = bytes.chunks_exact(self.row as usize).map(|row| &row[..width as usize * 4]);
        let pixels = rows.flat_map(|row| row.as_chunks::<4>().0).map(|[r, g, b, _]| [*r, *g, *b]).collect();
        let rgb = Field::from_vec([height as usize, width as usize], pixels).map_err(|error| error.to_string())?;
        Ok(Picture { rgb })
    }
}

fn describe_loss(why: String) -> String {
    format!("the picture could not be read from the GPU: {why}")
}
