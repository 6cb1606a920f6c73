//! The arguments of commands that draw a terrain or write it for renderers.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Point, Result, Terrain};
use thalweg_export::world_folder::read_recipe;
use thalweg_io::load_terrain_layer;
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::perspective::{Standpoint, ViewOptions};
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::pictures::water::{Streams, Water};
use thalweg_render::products::chunks::MAX_LEVELS;
use thalweg_render::products::glb::MeshPrecision;
use thalweg_render::products::textures::TextureOptions;
use thalweg_sim::recipe::Recipe;

use super::declared::OperationArgs;
use super::shared::LoadArgs;
use super::values::{
    CellCounts, layer_parser, parse_cell_counts, parse_factor, parse_picture_size, ramp_parser, three_numbers,
    two_numbers,
};

/// `shade`.
#[derive(Args)]
pub struct ShadeArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote, whose water is drawn too.
    pub input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Draws a layer of the folder over grey relief instead: its name, or `momentum` or `wetness`.
    #[arg(long, value_name = "NAME", value_parser = layer_parser(), hide_possible_values = true)]
    pub layer: Option<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// Trees to draw, a table that `build` or `apply trees` wrote [default: the folder's own].
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Draws sea up to this elevation in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Draws a scale bar.
    #[arg(long)]
    pub scale: bool,
    /// Draws a legend of heights.
    #[arg(long)]
    pub legend: bool,
    /// Maximum length of the map's longer side in pixels [default: one pixel per cell].
    #[arg(long, value_name = "PIXELS", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65535))]
    pub max_size: Option<usize>,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `view`.
#[derive(Args)]
pub struct ViewArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote, whose water is drawn too.
    pub input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    #[command(flatten)]
    pub water: WaterArgs,
    /// Trees to draw, a table that `build` or `apply trees` wrote [default: the folder's own].
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

/// Natural colours, and a camera in the land.
#[derive(Args)]
pub struct NaturalArgs {
    /// Draws the land in natural colours: rock, scree, grass, woods, snow and water under sun, sky and haze.
    #[arg(long)]
    pub natural: bool,
    /// Kilometres of air that absorb half of the light.
    #[arg(long, value_name = "KM", requires = "natural", value_parser = parse_factor)]
    pub haze: Option<f64>,
    /// Position of the camera in the land instead of far away: metres east and south of the north-western corner, and
    /// metres above the ground.
    #[arg(long, value_name = "EAST,SOUTH,ABOVE", requires = "natural", value_parser = three_numbers("EAST,SOUTH,ABOVE"), allow_hyphen_values = true)]
    pub stand: Option<[f64; 3]>,
    /// Direction of view from there: azimuth (clockwise from north) and degrees above the horizon.
    #[arg(long, value_name = "AZIMUTH,PITCH", requires = "stand", value_parser = two_numbers("AZIMUTH,PITCH"), default_value = "0,-10", allow_hyphen_values = true)]
    pub towards: [f64; 2],
    /// Horizontal angle of view from there in degrees.
    #[arg(long, value_name = "DEGREES", requires = "stand", default_value = "50")]
    pub lens: f64,
}

impl NaturalArgs {
    /// Returns the position of the camera in the land; `None` if it is far away.
    pub fn camera_position(&self) -> Option<Standpoint> {
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
pub struct TexturesArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote: its water, ice, sediment and recipe are
    /// read as well.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub options: OperationArgs<TextureOptions>,
    /// The terrain before erosion, a file or a folder: also writes maps of erosion and deposition.
    #[arg(long, value_name = "FILE or FOLDER")]
    pub start: Option<PathBuf>,
    /// Sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// Two or more terrains from left to right, files or folders that `build` wrote; if there are two, they must have
    /// the same size.
    #[arg(required = true, num_args = 2..)]
    pub inputs: Vec<PathBuf>,
    /// Draws a sheet of maps above views, each under its caption; for more than two terrains this is always done.
    #[arg(long)]
    pub sheet: bool,
    /// Caption of a terrain on a sheet, given once for each terrain [default: the name of its folder or file].
    #[arg(long, value_name = "TEXT")]
    pub caption: Vec<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    #[command(flatten)]
    pub camera: CameraArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Water over a terrain; over the last one if there are several.
#[derive(Args)]
pub struct WaterArgs {
    /// Layer of the depth of flowing water in metres, of the same size as the terrain.
    #[arg(long, value_name = "FILE")]
    pub water: Option<PathBuf>,
    /// Layer of the depth of standing water in metres, of the same size as the terrain.
    #[arg(long, value_name = "FILE")]
    pub pools: Option<PathBuf>,
    /// Layer of the discharge in m³/s, of the same size as the terrain, from which streams are drawn.
    #[arg(long, value_name = "FILE")]
    pub streams: Option<PathBuf>,
    /// Discharges in m³/s at which streams become visible and at which they are opaque [default: chosen for the map].
    #[arg(long, value_name = "LOW,HIGH", value_parser = two_numbers("LOW,HIGH"))]
    pub stream_range: Option<[f64; 2]>,
    /// Draws all streams of at least this discharge in m³/s, with the same opacity.
    #[arg(long, value_name = "Q", conflicts_with = "stream_range")]
    pub stream_threshold: Option<f64>,
}

/// The camera of a perspective view.
#[derive(Args)]
pub struct CameraArgs {
    /// Width and height of a view in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = parse_picture_size, default_value = "1080x720")]
    pub size: [usize; 2],
    /// Position of the camera: azimuth (clockwise from north) and degrees above the horizon.
    #[arg(long, value_name = "AZIMUTH,ELEVATION", value_parser = two_numbers("AZIMUTH,ELEVATION"), default_value = "205,34", allow_hyphen_values = true)]
    pub from: [f64; 2],
    /// Zoom factor; 1 frames the whole block.
    #[arg(long, value_name = "X", default_value = "1")]
    pub zoom: f64,
    /// Draws sea up to this elevation in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// A line of text above the picture.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Colours and light.
#[derive(Args)]
pub struct LookArgs {
    /// Colours of the ground by height.
    #[arg(long, value_name = "NAME", value_parser = ramp_parser())]
    pub ramp: Option<String>,
    /// Azimuth (clockwise from north) and altitude of the sun in degrees.
    #[arg(long, value_name = "AZIMUTH,ALTITUDE", value_parser = two_numbers("AZIMUTH,ALTITUDE"), default_value = "315,45", allow_hyphen_values = true)]
    pub sun: [f64; 2],
    /// Factor on heights [default: chosen so that the relief is clearly visible].
    #[arg(long, value_name = "X")]
    pub exaggeration: Option<f64>,
}

/// `mesh`.
#[derive(Args)]
pub struct MeshArgs {
    /// The terrain: a file, or a folder that `build` or `drain` wrote, whose water and trees are included.
    pub input: PathBuf,
    /// The file to write: .glb, .obj (with .mtl), .ply or .stl.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Scales heights so that the highest ground is at this elevation in metres.
    #[arg(long, value_name = "M")]
    pub max_height: Option<f64>,
    /// Applies a texture to the ground: the shaded map, or the colours of the ground cover without light (.glb, .obj,
    /// .ply).
    #[arg(long, value_name = "LOOK", num_args = 0..=1, require_equals = true, default_missing_value = "map", value_parser = ["map", "albedo"])]
    pub texture: Option<String>,
    /// Trees on the mesh (.glb), a table that `build` or `apply trees` wrote [default: the folder's own].
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Maximum number of trees in the file; if there are more, they are thinned evenly.
    #[arg(long, value_name = "N", default_value = "20000", value_parser = RangedU64ValueParser::<usize>::new().range(1..=200_000))]
    pub max_trees: usize,
    /// Makes each tree a node of its own, with three shapes per kind; by default, all trees of a kind are instances of
    /// one node.
    #[arg(long)]
    pub tree_nodes: bool,
    /// Omits the water and the trees of a folder.
    #[arg(long, conflicts_with = "trees")]
    pub bare: bool,
    /// Sea level in metres [default: that of the folder's recipe].
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub sea_level: Option<f64>,
    /// Divides the ground into chunks, N × N or COLSxROWS, that meet without gaps (.glb, .obj, .ply).
    #[arg(long, value_name = "CHUNKS", value_parser = parse_cell_counts)]
    pub chunks: Option<CellCounts>,
    /// Number of levels of detail of each chunk, including the finest (.glb).
    #[arg(long, value_name = "N", default_value = "1", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_LEVELS as u64))]
    pub lods: usize,
    /// Omits points as long as the ground moves up or down by no more than this number of metres.
    #[arg(long, value_name = "M")]
    pub error: Option<f64>,
    /// The same for the second level of detail, doubled from each level to the next [default: 1/32 of a cell].
    #[arg(long, value_name = "M", requires = "lods")]
    pub lod_error: Option<f64>,
    /// Adds skirts where chunks meet, so that their sides need not keep all points.
    #[arg(long)]
    pub skirts: bool,
    /// Maximum error in metres of positions of 16 bits, or `float` for 32 bits [default: 0.005, or float if 16 bits are
    /// not enough].
    #[arg(long, value_name = "M", value_parser = parse_precision)]
    pub precision: Option<MeshPrecision>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `normals`.
#[derive(Args)]
pub struct NormalsArgs {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Writes a bump map (grey heights) instead.
    #[arg(long)]
    pub bump: bool,
    /// Uses 16 bits per channel instead of 8.
    #[arg(long)]
    pub sixteen: bool,
    /// Makes green point down (DirectX, Unreal) instead of up (OpenGL, glTF, Blender, Unity, Godot).
    #[arg(long)]
    pub directx: bool,
    /// Factor on heights for the normals.
    #[arg(long, value_name = "X", default_value = "1", value_parser = parse_factor)]
    pub scale: f64,
    #[command(flatten)]
    pub load: LoadArgs,
}

impl WaterArgs {
    /// Inserts the water of the files into the terrain, in place of that of its folder.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or does not belong to this terrain.
    pub fn insert_water(&self, terrain: &mut Terrain) -> Result<()> {
        let files = [(&self.water, WATER), (&self.pools, POOL), (&self.streams, DISCHARGE)];
        for (path, spec) in files.iter().filter_map(|(path, spec)| Some((path.as_ref()?, spec))) {
            let cells = load_terrain_layer(path, terrain, spec)?;
            terrain.insert_layer(spec, cells)?;
        }
        Ok(())
    }

    /// Returns the terrain's water, with streams as requested.
    pub fn select_water<'a>(&self, terrain: &'a Terrain) -> Water<'a> {
        let water = Water::from_terrain(terrain);
        let range = self.stream_range.map(|range| range.map(|q| q as f32));
        let threshold = self.stream_threshold.map(|q| q as f32);
        Water { streams: water.streams.map(|streams| Streams { range, threshold, ..streams }), ..water }
    }
}

impl LookArgs {
    /// Returns the requested ramp, or else that of the world's recipe.
    ///
    /// # Errors
    /// Returns an error if the ramp is unknown.
    pub fn choose_ramp(&self, recipe: Option<&Recipe>) -> Result<&'static Ramp> {
        // A recipe chooses the ramp of its world, for example sand for deserts.
        let own = || recipe.map_or(Ramp::land(), |recipe| recipe.ramp);
        self.ramp.as_deref().map_or_else(|| Ok(own()), Ramp::find)
    }

    /// Returns the sun.
    pub fn sun(&self) -> Sun {
        let [azimuth, altitude] = self.sun;
        Sun { azimuth, altitude }
    }

    /// Returns the options of a view with these colours and this light from the default position. If no colours were
    /// requested, they are those of `recipe`.
    ///
    /// # Errors
    /// Returns an error if the ramp is unknown.
    pub fn to_view_options<'a>(&self, recipe: Option<&Recipe>) -> Result<ViewOptions<'a>> {
        Ok(ViewOptions {
            ramp: self.choose_ramp(recipe)?,
            sun: self.sun(),
            exaggeration: self.exaggeration,
            ..ViewOptions::default()
        })
    }
}

impl CameraArgs {
    /// Returns the options of a view from this camera in these colours. If none were requested, they are those of the
    /// recipe in the folder `input`.
    ///
    /// # Errors
    /// Returns an error if the ramp is unknown, or if the recipe cannot be read.
    pub fn to_view_options(&self, look: &LookArgs, input: &Path) -> Result<ViewOptions<'_>> {
        let [azimuth, elevation] = self.from;
        Ok(ViewOptions {
            size: self.size,
            azimuth,
            elevation,
            zoom: self.zoom,
            title: self.title.as_deref(),
            ..look.to_view_options(read_recipe(input)?.as_ref())?
        })
    }
}

fn parse_precision(text: &str) -> std::result::Result<MeshPrecision, String> {
    if text == "float" {
        return Ok(MeshPrecision::Float);
    }
    text.parse().map(MeshPrecision::Metres).map_err(|_| "allowed is a number of metres, or float".into())
}
