//! [`Look`] and [`Shot`]: how a terrain is shown, and where in the picture.

use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::ramps::Ramp;

use crate::view::camera::Camera;

thalweg_core::with_defaults! {
    /// How a terrain is shown.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Look {
        /// Factor on heights.
        pub exaggeration: f32 = 1.0,
        /// Where the light comes from. Cast shadows are those of the sun that the surface was made for.
        pub sun: Sun = Sun::default(),
        /// Level of the sea in metres; `None` takes the terrain's.
        pub sea_level: Option<f32> = None,
        /// Whether sea, lakes and flowing water are drawn.
        pub water: bool = true,
        /// Whether streams are drawn.
        pub streams: bool = true,
        /// Whether trees are drawn, with their shadows.
        pub trees: bool = true,
        /// Whether loose ground is tinted.
        pub sediment: bool = true,
        /// Height in metres above which snow lies, less where it is steep.
        pub snow_line: Option<f32> = None,
        /// Whether hills cast shadows and valleys see less sky.
        pub shadows: bool = true,
        /// Whether steep ground is rock.
        pub rock: bool = true,
        /// How much of the surface's overlay is seen, 0 to 1.
        pub overlay: f32 = 1.0,
        /// The land's colours by height.
        pub ramp: &'static Ramp = Ramp::land(),
        /// Share of the land's colours, 0 (grey relief) to 1.
        pub tint: f32 = 1.0,
        /// Whether the air takes colour from what is far away.
        pub haze: bool = true,
        /// Whether the block has sides, and the ground below it a shadow.
        pub sides: bool = true,
    }
}

/// A disc that faces the viewer, such as a moving droplet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// Its place: metres, height exaggerated.
    pub at: [f32; 3],
    /// Its colour, sRGB and opacity, each 0 to 1.
    pub colour: [f32; 4],
    /// Its width in pixels.
    pub pixels: f32,
}

/// A straight line, such as a part of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// One end: metres, height exaggerated.
    pub from: [f32; 3],
    /// The other end.
    pub to: [f32; 3],
    /// Its colour, sRGB and opacity, each 0 to 1.
    pub colour: [f32; 4],
    /// Its width in pixels.
    pub pixels: f32,
}

/// One terrain seen by one camera in one part of a picture.
#[derive(Debug, Clone, Copy)]
pub struct Shot<'a> {
    /// Which of the renderer's terrains.
    pub terrain: usize,
    /// Where it is seen from.
    pub camera: Camera,
    /// How it is shown. Of several shots of one terrain in a picture the first one's colours count for all.
    pub look: &'a Look,
    /// Where in the picture: left, top, width and height in pixels.
    pub area: [f32; 4],
    /// The part of the area that is drawn, in the same terms; `None` draws all of it.
    pub clip: Option<[f32; 4]>,
    /// The part of the land that is not drawn, because another shot shows it finer: west, south, east and north in metres from the
    /// land's middle.
    pub hole: Option<[f32; 4]>,
    /// Metres over which haze thickens; `None` takes what suits the land, and shots of one larger land share one.
    pub air: Option<f32>,
    /// Discs, hidden by what is before them.
    pub dots: &'a [Dot],
    /// Lines, hidden by what is before them.
    pub lines: &'a [Line],
}

impl<'a> Shot<'a> {
    /// The whole of a picture of width and height in pixels, without dots and lines.
    pub fn whole(terrain: usize, camera: Camera, look: &'a Look, [width, height]: [u32; 2]) -> Self {
        let area = [0.0, 0.0, width as f32, height as f32];
        Self { terrain, camera, look, area, clip: None, hole: None, air: None, dots: &[], lines: &[] }
    }

    /// Width over height.
    pub fn aspect(&self) -> f32 {
        self.area[2] / self.area[3].max(1e-3)
    }
}
