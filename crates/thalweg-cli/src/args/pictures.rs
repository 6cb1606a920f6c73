//! Commands that make a terrain visible.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Point, Result, Terrain};
use thalweg_export::world_folder::read_recipe;
use thalweg_io::load_layer_of;
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::perspective::{Standpoint, ViewOptions};
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::pictures::water::{Streams, Water};
use thalweg_render::products::chunks::MOST_LEVELS;
use thalweg_render::products::glb::MeshPrecision;
use thalweg_sim::recipe::Recipe;

use super::shared::LoadArgs;
use super::values::{Sides, factor, layers, pixels, ramps, sides, three_numbers, two_numbers};

/// `shade`.
#[derive(Args)]
pub struct Shade {
    /// The terrain file to read, or a folder that `build` or `drain` wrote: its water is drawn too.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Draw a layer of the folder over grey relief instead: its name, or `momentum` or `wetness`.
    #[arg(long, value_name = "NAME", value_parser = layers(), hide_possible_values = true)]
    pub layer: Option<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// Trees to draw: a table that `build` or `apply trees` wrote; of a folder, its own where none is given.
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Draw sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Draw a scale bar.
    #[arg(long)]
    pub scale: bool,
    /// Draw a legend of heights.
    #[arg(long)]
    pub legend: bool,
    /// Longer side of the map in pixels at most [default: a pixel a cell].
    #[arg(long, value_name = "PIXELS", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65535))]
    pub max_size: Option<usize>,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `view`.
#[derive(Args)]
pub struct View {
    /// The terrain file to read, or a folder that `build` or `drain` wrote: its water is drawn too.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    #[command(flatten)]
    pub water: WaterArgs,
    /// Trees to draw: a table that `build` or `apply trees` wrote; of a folder, its own where none is given.
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    #[command(flatten)]
    pub camera: CameraArgs,
    #[command(flatten)]
    pub natural: NaturalArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// A land as it looks, and a camera within it.
#[derive(Args)]
pub struct NaturalArgs {
    /// Draw the land as it looks: rock, scree, grass, woods, snow and water under sun, sky and haze.
    #[arg(long)]
    pub natural: bool,
    /// Kilometres of air that take half of the light of what is seen through it.
    #[arg(long, value_name = "KM", requires = "natural", value_parser = factor)]
    pub haze: Option<f64>,
    /// Stand so many metres east and south of the north-western corner, and so many above the ground, instead of afar.
    #[arg(long, value_name = "EAST,SOUTH,ABOVE", requires = "natural", value_parser = three_numbers("EAST,SOUTH,ABOVE"), allow_hyphen_values = true)]
    pub stand: Option<[f64; 3]>,
    /// Where to look from there: azimuth (clockwise from north) and degrees above the horizon.
    #[arg(long, value_name = "AZIMUTH,PITCH", requires = "stand", value_parser = two_numbers("AZIMUTH,PITCH"), default_value = "0,-10", allow_hyphen_values = true)]
    pub towards: [f64; 2],
    /// Degrees that are seen from there from left to right.
    #[arg(long, value_name = "DEGREES", requires = "stand", default_value = "50")]
    pub lens: f64,
}

impl NaturalArgs {
    /// Where the camera stands, if not afar.
    pub fn standpoint(&self) -> Option<Standpoint> {
        let [azimuth, pitch] = self.towards;
        let at = |[east, south, above]: [f64; 3]| Standpoint {
            place: Point::new(east, south),
            above,
            azimuth,
            pitch,
            lens: self.lens,
        };
        self.stand.map(at)
    }
}

/// `textures`.
#[derive(Args)]
pub struct Textures {
    /// The terrain file to read, or a folder that `build` or `drain` wrote: its water, ice, loose ground and recipe count too.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Samples on the longer side [default: one a cell].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65536))]
    pub size: Option<usize>,
    /// Bits of a sample.
    #[arg(long, value_name = "BITS", default_value = "8", value_parser = ["8", "16"])]
    pub bits: String,
    /// The terrain before it was worn, a file or a folder: writes what was worn and laid down.
    #[arg(long, value_name = "FILE or FOLDER")]
    pub start: Option<PathBuf>,
    /// Show a forest's crowns in the albedo instead of its floor.
    #[arg(long)]
    pub from_air: bool,
    /// Sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `compare`.
#[derive(Args)]
pub struct Compare {
    /// Two terrains or more, files or folders that `build` wrote, from the left; two are of one size.
    #[arg(required = true, num_args = 2..)]
    pub inputs: Vec<PathBuf>,
    /// Draw a sheet, maps above views, each under its caption; more than two always are.
    #[arg(long)]
    pub sheet: bool,
    /// A terrain's caption on a sheet, once for each [default: its folder's or file's name].
    #[arg(long, value_name = "TEXT")]
    pub caption: Vec<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    #[command(flatten)]
    pub camera: CameraArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Water over a terrain; over the last where there are several.
#[derive(Args)]
pub struct WaterArgs {
    /// Depth of flowing water in metres, a layer of the same size.
    #[arg(long, value_name = "FILE")]
    pub water: Option<PathBuf>,
    /// Depth of standing water in metres, a layer of the same size.
    #[arg(long, value_name = "FILE")]
    pub pools: Option<PathBuf>,
    /// Discharge in m³/s, a layer of the same size: draws streams.
    #[arg(long, value_name = "FILE")]
    pub streams: Option<PathBuf>,
    /// Discharges in m³/s at which streams begin to show and are opaque [default: chosen by the map].
    #[arg(long, value_name = "LOW,HIGH", value_parser = two_numbers("LOW,HIGH"))]
    pub stream_range: Option<[f64; 2]>,
    /// Draw streams from this discharge in m³/s on, all alike.
    #[arg(long, value_name = "Q", conflicts_with = "stream_range")]
    pub stream_threshold: Option<f64>,
}

/// Where a perspective view is seen from.
#[derive(Args)]
pub struct CameraArgs {
    /// Width and height of a view in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = pixels, default_value = "1080x720")]
    pub size: [usize; 2],
    /// Where the camera stands: azimuth (clockwise from north) and degrees above the horizon.
    #[arg(long, value_name = "AZIMUTH,ELEVATION", value_parser = two_numbers("AZIMUTH,ELEVATION"), default_value = "205,34", allow_hyphen_values = true)]
    pub from: [f64; 2],
    /// How near it looks: 1 frames the whole block.
    #[arg(long, value_name = "X", default_value = "1")]
    pub zoom: f64,
    /// Draw sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// A line above the picture.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Colour and light.
#[derive(Args)]
pub struct LookArgs {
    /// Colours of the ground by height.
    #[arg(long, value_name = "NAME", value_parser = ramps())]
    pub ramp: Option<String>,
    /// The sun's azimuth (clockwise from north) and altitude in degrees.
    #[arg(long, value_name = "AZIMUTH,ALTITUDE", value_parser = two_numbers("AZIMUTH,ALTITUDE"), default_value = "315,45", allow_hyphen_values = true)]
    pub sun: [f64; 2],
    /// Factor on heights [default: chosen so that the relief reads well].
    #[arg(long, value_name = "X")]
    pub exaggeration: Option<f64>,
}

/// `mesh`.
#[derive(Args)]
pub struct Mesh {
    /// The terrain: a file, or a folder that `build` or `drain` wrote, of which water and trees come along.
    pub input: PathBuf,
    /// The file to write: .glb, .obj (with .mtl), .ply or .stl.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Scale heights so that the highest ground stands at so many metres.
    #[arg(long, value_name = "M")]
    pub max_height: Option<f64>,
    /// Put a picture on the ground: the shaded map, or the colours of what covers it, without light (.glb, .obj, .ply).
    #[arg(long, value_name = "LOOK", num_args = 0..=1, require_equals = true, default_missing_value = "map", value_parser = ["map", "albedo"])]
    pub texture: Option<String>,
    /// Trees to stand on the mesh (.glb): a table that `build` or `apply trees` wrote [default: the folder's own].
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Most trees in the file; of more, so many are taken evenly.
    #[arg(long, value_name = "N", default_value = "20000", value_parser = RangedU64ValueParser::<usize>::new().range(1..=200_000))]
    pub max_trees: usize,
    /// Make each tree a node of its own, in three shapes to a kind; else all of a kind are instances of one node.
    #[arg(long)]
    pub tree_nodes: bool,
    /// Leave out the water and the trees of a folder.
    #[arg(long, conflicts_with = "trees")]
    pub bare: bool,
    /// Level of the sea in metres [default: what the folder's recipe says].
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub sea_level: Option<f64>,
    /// Cut the ground into chunks, N × N or COLSxROWS, that meet without a crack (.glb, .obj, .ply).
    #[arg(long, value_name = "CHUNKS", value_parser = sides)]
    pub chunks: Option<Sides>,
    /// Levels of detail of each chunk, the finest one too (.glb).
    #[arg(long, value_name = "N", default_value = "1", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_LEVELS as u64))]
    pub lods: usize,
    /// Leave out points, as long as the ground moves by no more than so many metres up or down.
    #[arg(long, value_name = "M")]
    pub error: Option<f64>,
    /// The same of the second level, doubled from each to the next [default: a 32nd of a cell].
    #[arg(long, value_name = "M", requires = "lods")]
    pub lod_error: Option<f64>,
    /// Hang skirts where chunks meet, so that their sides need not keep all points.
    #[arg(long)]
    pub skirts: bool,
    /// By how many metres positions may err, in 16 bits each, or `float` for 32 bits [default: 0.005, or float where 16 bits do not do].
    #[arg(long, value_name = "M", value_parser = precision)]
    pub precision: Option<MeshPrecision>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `normals`.
#[derive(Args)]
pub struct Normals {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Write a bump map (grey heights) instead.
    #[arg(long)]
    pub bump: bool,
    /// 16 bits to a channel instead of 8.
    #[arg(long)]
    pub sixteen: bool,
    /// Green points down (DirectX, Unreal) instead of up (OpenGL, glTF, Blender, Unity, Godot).
    #[arg(long)]
    pub directx: bool,
    /// Factor on heights for the normals.
    #[arg(long, value_name = "X", default_value = "1", value_parser = factor)]
    pub scale: f64,
    #[command(flatten)]
    pub load: LoadArgs,
}

impl WaterArgs {
    /// Lays the water of the files over the terrain, in place of what its folder had.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of this terrain.
    pub fn lay(&self, terrain: &mut Terrain) -> Result<()> {
        let files = [(&self.water, WATER), (&self.pools, POOL), (&self.streams, DISCHARGE)];
        for (path, spec) in files.iter().filter_map(|(path, spec)| Some((path.as_ref()?, spec))) {
            let cells = load_layer_of(path, terrain, spec)?;
            terrain.insert(spec, cells)?;
        }
        Ok(())
    }

    /// The terrain's water, its streams as they were asked for.
    pub fn over<'a>(&self, terrain: &'a Terrain) -> Water<'a> {
        let water = Water::of(terrain);
        let range = self.stream_range.map(|range| range.map(|q| q as f32));
        let threshold = self.stream_threshold.map(|q| q as f32);
        Water { streams: water.streams.map(|streams| Streams { range, threshold, ..streams }), ..water }
    }
}

impl LookArgs {
    /// The ramp that was asked for; else that of the world's recipe.
    ///
    /// # Errors
    /// An unknown ramp.
    pub fn ramp(&self, recipe: Option<&Recipe>) -> Result<&'static Ramp> {
        let own = || recipe.map_or(Ramp::land(), |recipe| recipe.ramp);
        self.ramp.as_deref().map_or_else(|| Ok(own()), Ramp::find)
    }

    /// The sun.
    pub fn sun(&self) -> Sun {
        let [azimuth, altitude] = self.sun;
        Sun { azimuth, altitude }
    }

    /// A view of this look from the usual place, in the colours of `recipe` where none were asked for.
    ///
    /// # Errors
    /// An unknown ramp.
    pub fn options<'a>(&self, recipe: Option<&Recipe>) -> Result<ViewOptions<'a>> {
        Ok(ViewOptions {
            ramp: self.ramp(recipe)?,
            sun: self.sun(),
            exaggeration: self.exaggeration,
            ..ViewOptions::default()
        })
    }
}

impl CameraArgs {
    /// A view from there in these colours, or, where none were asked for, in those of the recipe in the folder `input`.
    ///
    /// # Errors
    /// An unknown ramp; a recipe that cannot be read.
    pub fn options(&self, look: &LookArgs, input: &Path) -> Result<ViewOptions<'_>> {
        let [azimuth, elevation] = self.from;
        Ok(ViewOptions {
            size: self.size,
            azimuth,
            elevation,
            zoom: self.zoom,
            title: self.title.as_deref(),
            ..look.options(read_recipe(input)?.as_ref())?
        })
    }
}

fn precision(text: &str) -> std::result::Result<MeshPrecision, String> {
    if text == "float" {
        return Ok(MeshPrecision::Float);
    }
    text.parse().map(MeshPrecision::Metres).map_err(|_| "allowed is a number of metres, or float".into())
}
