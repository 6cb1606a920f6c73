//! [`draw_picture`]: draws the studio's view without a window.

use thalweg_core::base::range::check_range;
use thalweg_core::{Error, Terrain};
use thalweg_render::pictures::picture::Picture;

use crate::view::camera::ViewCamera;
use crate::view::gpu::Gpu;
use crate::view::look::{Appearance, Shot};
use crate::view::renderer::Renderer;
use crate::view::surface::{Natural, Surface, SurfaceOptions};
use crate::view::target::Target;
use thalweg_render::products::overlay::Overlay;

/// A direction of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewDirection {
    /// The whole block, from the south-south-west.
    Iso,
    /// The whole block, from almost straight above.
    Top,
    /// A map: from straight above, without perspective.
    Map,
    /// The whole block, from the north.
    North,
    /// The whole block, from the east.
    East,
    /// The whole block, from the south.
    South,
    /// The whole block, from the west.
    West,
}

impl ViewDirection {
    /// All views.
    pub const ALL: [Self; 7] = [Self::Iso, Self::Top, Self::Map, Self::North, Self::East, Self::South, Self::West];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::Top => "top",
            Self::Map => "map",
            Self::North => "north",
            Self::East => "east",
            Self::South => "south",
            Self::West => "west",
        }
    }

    /// The azimuth and elevation of the camera in degrees.
    fn camera_angles(self) -> [f32; 2] {
        match self {
            Self::Iso | Self::Map => [205.0, 34.0],
            // At 80° the southern side of the block remains visible, unlike on a map.
            Self::Top => [180.0, 80.0],
            Self::North => [0.0, 28.0],
            Self::East => [90.0, 28.0],
            Self::South => [180.0, 28.0],
            Self::West => [270.0, 28.0],
        }
    }
}

thalweg_core::with_defaults! {
    /// How to draw a picture.
    #[derive(Debug, Clone)]
    pub struct PictureOptions<'a> {
        /// Width and height in pixels, 1 to 16384 and no more than the GPU supports.
        pub size: [u32; 2] = [1280, 800],
        /// The direction from which the terrain is seen.
        pub view: ViewDirection = ViewDirection::Iso,
        /// Direction of the camera in degrees clockwise from north, instead of that of `view`.
        pub azimuth: Option<f32> = None,
        /// Angle of the camera above the horizon in degrees, instead of that of `view`.
        pub elevation: Option<f32> = None,
        /// Zoom factor: 1 frames the whole terrain; 0.1 to 1000.
        pub zoom: f32 = 1.0,
        /// Factor on heights; `None` chooses one at which relief and extent are in good proportion.
        pub exaggeration: Option<f32> = None,
        /// Data drawn over the land.
        pub overlay: Option<Overlay> = None,
        /// What natural colours depend on; `None` draws colours by height.
        pub natural: Option<Natural> = None,
        /// The terrain at the start, for overlays that compare with it.
        pub start: Option<&'a Terrain> = None,
        /// All other settings; its exaggeration has no effect.
        pub look: Appearance = Appearance::default(),
    }
}

/// The largest width or height of a picture in pixels.
const MAX_SIDE_PIXELS: u32 = 16_384;

/// Draws a terrain as the studio shows it, off screen.
///
/// # Errors
/// Returns an error if an option is out of range, if nothing on this machine can draw, or if the terrain cannot be
/// shown this way.
pub fn draw_picture(terrain: &Terrain, options: &PictureOptions<'_>) -> Result<Picture, String> {
    options.check()?;
    draw_picture_with_gpu(&Gpu::open_headless()?, terrain, options)
}

/// Does the same on an existing device.
///
/// # Errors
/// Returns the errors of [`draw_picture`].
pub fn draw_picture_with_gpu(gpu: &Gpu, terrain: &Terrain, options: &PictureOptions<'_>) -> Result<Picture, String> {
    options.check()?;
    let most = gpu.device.limits().max_texture_dimension_2d;
    let [width, height] = options.size;
    if width.max(height) > most {
        return Err(format!("size = {width} × {height}: must be at most {most} pixels each, the limit of this GPU"));
    }
    // Draw at twice the size if that fits, and average the light: this gives smoother edges than any number of samples
    // per pixel.
    let fine = if 2 * width.max(height) <= most.min(8192) { 2 } else { 1 };
    let drawn = [width * fine, height * fine];
    let surface_options = SurfaceOptions {
        most: (most as usize).min(4096),
        // Small terrains are interpolated to about one sample per pixel, so that their cells are not visible as facets.
        least: (width.max(height) as usize).min(2048),
        sun: options.look.sun,
        exaggeration: options.exaggeration.unwrap_or(0.0),
        overlay: options.overlay.clone(),
        natural: options.natural.clone(),
        start: options.start,
        ..SurfaceOptions::default()
    };
    let surface = Surface::from_terrain(terrain, &surface_options).map_err(|error| error.to_string())?;
    let look = Appearance { exaggeration: surface.exaggeration(), ..options.look };
    let mut renderer = Renderer::new(&gpu.device, &gpu.queue);
    renderer.set_highest_quality();
    renderer.load_terrain(0, &surface);
    let target = Target::with_samples(&gpu.device, drawn, if fine > 1 { 1 } else { 4 });
    let camera = options.frame_camera(&surface, width as f32 / height as f32);
    renderer.draw(&target, &[Shot::new_full_frame(0, camera, &look, drawn)]);
    // The fault is examined twice: drawing may fail at once, or only when the device executes it.
    if let Some(fault) = renderer.fault() {
        return Err(fault);
    }
    let picture = target.read_picture(gpu)?;
    match renderer.fault() {
        Some(fault) => Err(fault),
        None => Ok(picture.shrink_to([height as usize, width as usize])),
    }
}

impl PictureOptions<'_> {
    fn check(&self) -> Result<(), String> {
        if self.size.iter().any(|n| !(1..=MAX_SIDE_PIXELS).contains(n)) {
            let [width, height] = self.size;
            return Err(format!("size = {width} × {height}: must be 1 to {MAX_SIDE_PIXELS} pixels each"));
        }
        let check = |name, value: Option<f32>, range| {
            value.map_or(Ok(()), |value| check_range(name, value, range)).map_err(|error: Error| error.to_string())
        };
        check("azimuth", self.azimuth, -360.0..=360.0)?;
        check("elevation", self.elevation, 1.0..=90.0)?;
        check("zoom", Some(self.zoom), 0.1..=1000.0)?;
        check("exaggeration", self.exaggeration, 1e-3..=1000.0)?;
        check("snow line", self.look.snow_line, -16_000.0..=16_000.0)?;
        check("sea level", self.look.sea_level, -16_000.0..=16_000.0)?;
        self.look.sun.check().map_err(|error| error.to_string())
    }

    fn frame_camera(&self, surface: &Surface, aspect: f32) -> ViewCamera {
        let bounds = surface.bounds();
        let mut camera = if self.view == ViewDirection::Map {
            ViewCamera::new_map(&bounds, aspect)
        } else {
            let [azimuth, elevation] = self.view.camera_angles();
            let stand = ViewCamera {
                azimuth: self.azimuth.unwrap_or(azimuth),
                elevation: self.elevation.unwrap_or(elevation),
                ..ViewCamera::default()
            };
            stand.with_framing(&bounds, aspect)
        };
        // Zooming may bring the eye below a ridge, so it is lifted afterwards.
        camera.zoom(self.zoom, Some(camera.target));
        camera.keep_above(surface, surface.exaggeration());
        camera
    }
}
