//! [`draw_picture`]: draws the studio's view without a window.

use thalweg_core::base::range::check_range;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::{Error, Size, Terrain, choice, operation};
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::ramps::Ramp;

use crate::view::camera::ViewCamera;
use crate::view::gpu::Gpu;
use crate::view::look::{Appearance, Shot};
use crate::view::renderer::Renderer;
use crate::view::surface::{Natural, Surface, SurfaceOptions};
use crate::view::target::Target;
use thalweg_render::products::overlay::Overlay;

choice! {
    /// A direction of view.
    pub enum ViewDirection {
        /// The whole block, from the south-south-west.
        Iso = "iso",
        /// The whole block, from almost straight above.
        Top = "top",
        /// A map: from straight above, without perspective.
        Map = "map",
        /// The whole block, from the north.
        North = "north",
        /// The whole block, from the east.
        East = "east",
        /// The whole block, from the south.
        South = "south",
        /// The whole block, from the west.
        West = "west",
    }
}

impl ViewDirection {
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

operation! {
    /// Chooses the size, the camera and the light of a picture, and what it shows on the ground.
    pub struct SceneOptions, "scene", command "render natural" {
        /// Direction from which the terrain is seen.
        view: ViewDirection = ViewDirection::Iso, within .., unit "1";
        /// Size of the picture, 1 to 16384 pixels on each side.
        size: Size = [800, 1280], within .., unit "pixels";
        /// Azimuth of the camera as seen from the terrain, clockwise from north. By default, it is that of the view.
        azimuth: Option<f64> = None, within -360.0..=360.0, unit "°";
        /// Elevation angle of the camera above the horizon. By default, it is that of the view.
        elevation: Option<f64> = None, within 1.0..=90.0, unit "°";
        /// Zoom factor; with 1, the whole terrain fits into the picture.
        zoom: f64 = 1.0, within 0.1..=1000.0, unit "1", placeholder "X";
        /// Position of the sun: azimuth clockwise from north, -360 to 360, and altitude above the horizon, 1 to 90.
        sun: Sun = Sun::default(), within .., unit "°";
        /// Factor on heights, which exaggerates the relief; 1 is true to scale. By default, it is chosen from the
        /// terrain.
        exaggeration: Option<f64> = None, within 1e-3..=1000.0, unit "1", placeholder "X";
        /// Draws snow above this elevation.
        snow_line: Option<f64> = None, within -16_000.0..=16_000.0, unit "m";
        /// Draws no water: no sea, lakes or streams.
        no_water: bool = false, within .., unit "1";
        /// Draws no trees.
        no_trees: bool = false, within .., unit "1";
    }
}

operation! {
    /// Draws a terrain in perspective or as a map, as the studio shows it.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_render::pictures::ramps::Ramp;
    /// use thalweg_studio::picture::{DrawOptions, SceneOptions};
    ///
    /// let terrain = Terrain::new(Grid::new([16, 24], 10.0)?);
    /// let scene = SceneOptions { size: [90, 120], ..SceneOptions::default() };
    /// let picture = DrawOptions { scene, overlay: Some("slope".into()) }.resolve(&terrain, Ramp::land(), None)?;
    /// assert_eq!((picture.size, picture.zoom), ([120, 90], 1.0));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct DrawOptions, "picture", command "render studio", with(scene: SceneOptions) {
        /// Data to draw over the terrain, such as `height`, `slope`, `drainage_area` or `basins`, or the name of a
        /// layer. An unknown name is refused with a list of all.
        overlay: Option<String> = None, within .., unit "1", placeholder "NAME";
    }
}

impl DrawOptions {
    /// Returns the options of the picture of a terrain. `ramp` has the colours of the land by height; `start` is the
    /// terrain at the start, for overlays that compare with it.
    ///
    /// # Errors
    /// Returns an error if an option is out of range, or if the terrain cannot show the overlay.
    pub fn resolve<'a>(
        &self,
        terrain: &Terrain,
        ramp: &'static Ramp,
        start: Option<&'a Terrain>,
    ) -> thalweg_core::Result<PictureOptions<'a>> {
        let overlay = self.overlay.as_deref().map(|name| Overlay::find(name, terrain)).transpose()?;
        Ok(PictureOptions { overlay, start, ..self.scene.resolve(ramp)? })
    }
}

impl SceneOptions {
    /// Returns the options of a picture without data over the land. `ramp` has the colours of the land by height.
    ///
    /// # Errors
    /// Returns an error if an option is out of range.
    pub fn resolve<'a>(&self, ramp: &'static Ramp) -> thalweg_core::Result<PictureOptions<'a>> {
        self.check_ranges()?;
        let side = |n: usize| u32::try_from(n).map_err(|_| Error::invalid_value("size", n, "1 to 16384 pixels"));
        let [height, width] = self.size;
        let narrow = |value: Option<f64>| value.map(|value| value as f32);
        Ok(PictureOptions {
            size: [side(width)?, side(height)?],
            view: self.view,
            azimuth: narrow(self.azimuth),
            elevation: narrow(self.elevation),
            zoom: self.zoom as f32,
            exaggeration: narrow(self.exaggeration),
            look: Appearance {
                sun: self.sun,
                snow_line: narrow(self.snow_line),
                water: !self.no_water,
                streams: !self.no_water,
                trees: !self.no_trees,
                ramp,
                ..Appearance::default()
            },
            ..PictureOptions::default()
        })
    }
}

thalweg_core::with_defaults! {
    /// The options of a picture of a terrain, with the data that they refer to: [`DrawOptions::resolve`] and
    /// [`SceneOptions::resolve`] make them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use thalweg_core::Grid;

    fn land() -> Terrain {
        Terrain::new(Grid::new([16, 24], 10.0).unwrap())
    }

    #[test]
    fn options_come_back_from_json_and_reach_the_picture() {
        let mut options = DrawOptions::default();
        let values = json!({
            "view": "top", "size": [90, 120], "azimuth": 30, "zoom": 2, "sun": [90, 20], "snow_line": 5,
            "no_water": true, "no_trees": true, "overlay": "slope",
        });
        options.set_all(values.as_object().unwrap()).unwrap();
        let mut again = DrawOptions::default();
        for (option, value) in options.changed_options() {
            again.set(option.name, &value).unwrap();
        }
        assert_eq!(again, options);
        let picture = options.resolve(&land(), Ramp::land(), None).unwrap();
        assert_eq!((picture.size, picture.view, picture.zoom), ([120, 90], ViewDirection::Top, 2.0));
        assert_eq!((picture.azimuth, picture.elevation, picture.look.snow_line), (Some(30.0), None, Some(5.0)));
        assert!(picture.overlay == Some(Overlay::Slope) && picture.look.sun == Sun { azimuth: 90.0, altitude: 20.0 });
        assert!(!picture.look.water && !picture.look.streams && !picture.look.trees && picture.natural.is_none());
        picture.check().unwrap();
    }

    #[test]
    fn the_defaults_are_those_of_a_picture() {
        let plain = SceneOptions::default().resolve(Ramp::land()).unwrap();
        let usual = PictureOptions::default();
        assert_eq!((plain.size, plain.view, plain.zoom, plain.look), (usual.size, usual.view, usual.zoom, usual.look));
    }

    #[test]
    fn wrong_options_are_refused() {
        let unknown = DrawOptions { overlay: Some("slop".into()), ..DrawOptions::default() };
        let message = unknown.resolve(&land(), Ramp::land(), None).unwrap_err().to_string();
        assert!(message.contains("did you mean `slope`"), "{message}");
        let flat = SceneOptions { elevation: Some(0.0), ..SceneOptions::default() };
        assert!(flat.resolve(Ramp::land()).unwrap_err().to_string().starts_with("elevation = 0°"));
    }
}
