//! [`Appearance`] and [`Shot`]: the appearance of a terrain, and its place in the picture.

use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::ramps::Ramp;

use crate::view::camera::ViewCamera;

thalweg_core::with_defaults! {
    /// How a terrain is shown.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Appearance {
        /// Factor on heights.
        pub exaggeration: f32 = 1.0,
        /// Direction of the light. Cast shadows are those of the sun for which the surface was made.
        pub sun: Sun = Sun::default(),
        /// Sea level in metres; `None` takes the terrain's.
        pub sea_level: Option<f32> = None,
        /// True if sea, lakes and flowing water are drawn.
        pub water: bool = true,
        /// True if streams are drawn.
        pub streams: bool = true,
        /// True if trees are drawn, with their shadows.
        pub trees: bool = true,
        /// True if sediment is tinted.
        pub sediment: bool = true,
        /// Height in metres above which there is snow, less of it on steep ground.
        pub snow_line: Option<f32> = None,
        /// True if hills cast shadows and valleys receive less light from the sky.
        pub shadows: bool = true,
        /// True if steep ground is drawn as rock.
        pub rock: bool = true,
        /// Opacity of the surface's overlay, 0 to 1.
        pub overlay: f32 = 1.0,
        /// Colours of the land by height.
        pub ramp: &'static Ramp = Ramp::land(),
        /// Strength of the land's colours, 0 (grey relief) to 1.
        pub tint: f32 = 1.0,
        /// True if haze takes colour from distant terrain.
        pub haze: bool = true,
        /// True if the block has sides and the floor below it has a shadow.
        pub sides: bool = true,
    }
}

/// A disc that faces the viewer, for example a moving droplet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewDot {
    /// The position in metres, with exaggerated height.
    pub at: [f32; 3],
    /// The colour in sRGB and the opacity, each 0 to 1.
    pub colour: [f32; 4],
    /// The width in pixels.
    pub pixels: f32,
}

/// A straight line, for example a part of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewLine {
    /// One end in metres, with exaggerated height.
    pub from: [f32; 3],
    /// The other end.
    pub to: [f32; 3],
    /// The colour in sRGB and the opacity, each 0 to 1.
    pub colour: [f32; 4],
    /// The width in pixels.
    pub pixels: f32,
}

/// A terrain seen by one camera in one part of a picture.
#[derive(Debug, Clone, Copy)]
pub struct Shot<'a> {
    /// The number of the terrain in the renderer.
    pub terrain: usize,
    /// The camera.
    pub camera: ViewCamera,
    /// The appearance. If a picture has several shots of one terrain, the colours of the first apply to all.
    pub look: &'a Appearance,
    /// The area in the picture: left, top, width and height in pixels.
    pub area: [f32; 4],
    /// The part of the area that is drawn, in the same form; `None` draws all of it.
    pub clip: Option<[f32; 4]>,
    /// The part of the terrain that is not drawn because another shot shows it in finer detail: west, south, east and
    /// north in metres from the terrain's centre.
    pub hole: Option<[f32; 4]>,
    /// The distance over which haze thickens, in metres. `None` takes one that suits the terrain; shots of one larger
    /// terrain share a value.
    pub air: Option<f32>,
    /// Discs, which are hidden by what is in front of them.
    pub dots: &'a [ViewDot],
    /// Lines, which are hidden by what is in front of them.
    pub lines: &'a [ViewLine],
}

impl<'a> Shot<'a> {
    /// Returns a shot that fills a picture of this width and height in pixels, without dots and lines.
    pub fn new_full_frame(terrain: usize, camera: ViewCamera, look: &'a Appearance, [width, height]: [u32; 2]) -> Self {
        let area = [0.0, 0.0, width as f32, height as f32];
        Self { terrain, camera, look, area, clip: None, hole: None, air: None, dots: &[], lines: &[] }
    }

    /// The ratio of width to height.
    pub fn aspect(&self) -> f32 {
        self.area[2] / self.area[3].max(1e-3)
    }
}
