//! The arguments of commands that draw a terrain or write it for renderers.

use std::path::PathBuf;

use clap::Args;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Result, Terrain};
use thalweg_export::mesh_file::MeshFileOptions;
use thalweg_io::load_terrain_layer;
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::perspective::{CameraOptions, ViewOptions};
use thalweg_render::pictures::shade::ShadeOptions;
use thalweg_render::pictures::water::{Streams, Water};
use thalweg_render::products::normals::NormalOptions;
use thalweg_render::products::textures::TextureOptions;
use thalweg_sim::recipe::Recipe;

use super::declared::OperationArgs;
use super::shared::LoadArgs;
use super::values::{layer_parser, two_numbers};

/// `shade`.
#[derive(Args)]
pub struct ShadeArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote, whose water is drawn too.
    pub input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Draws this layer of the folder over grey relief instead of the colours of the ground. `momentum` draws both of
    /// its components; `wetness` is computed if the folder does not contain it.
    #[arg(long, value_name = "NAME", value_parser = layer_parser(), hide_possible_values = true)]
    pub layer: Option<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// The trees to draw: a table that `build` or `apply trees` wrote [default: the trees in the folder].
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Sea level in metres; ground at or below it is drawn as sea [default: that of the folder, otherwise no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub options: OperationArgs<ShadeOptions>,
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
    /// The trees to draw: a table that `build` or `apply trees` wrote [default: the trees in the folder].
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Sea level in metres; ground at or below it is drawn as sea [default: that of the folder, otherwise no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub options: OperationArgs<ViewOptions>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `textures`.
#[derive(Args)]
pub struct TexturesArgs {
    /// The terrain file to read, or a folder that `build` or `drain` wrote, whose water, ice, sediment and recipe are
    /// read as well.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub options: OperationArgs<TextureOptions>,
    /// The terrain before erosion, a file or a folder. If it is given, maps of erosion and deposition are also written.
    #[arg(long, value_name = "FILE or FOLDER")]
    pub start: Option<PathBuf>,
    /// Sea level in metres; ground at or below it is sea [default: that of the folder, otherwise no sea].
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
    /// Draws a sheet with a map and a perspective view of each terrain, under its caption. More than two terrains are
    /// always drawn as a sheet.
    #[arg(long)]
    pub sheet: bool,
    /// Caption of a terrain on a sheet; given once for each terrain, in their order [default: the name of the folder or
    /// file].
    #[arg(long, value_name = "TEXT")]
    pub caption: Vec<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Sea level in metres; ground at or below it is drawn as sea [default: that of the folder, otherwise no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub camera: OperationArgs<CameraOptions>,
    #[command(flatten)]
    pub look: OperationArgs<LookOptions>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Water over a terrain; over the last one if there are several.
#[derive(Args)]
pub struct WaterArgs {
    /// File with the depth of flowing water in metres, of the same size as the terrain (of several, the last).
    #[arg(long, value_name = "FILE")]
    pub water: Option<PathBuf>,
    /// File with the depth of standing water in metres, of the same size as the terrain (of several, the last).
    #[arg(long, value_name = "FILE")]
    pub pools: Option<PathBuf>,
    /// File with the discharge in m³/s, from which streams are drawn, of the same size as the terrain (of several, the
    /// last).
    #[arg(long, value_name = "FILE")]
    pub streams: Option<PathBuf>,
    /// Discharges in m³/s at which streams become visible and at which they are opaque [default: chosen from the
    /// discharges].
    #[arg(long, value_name = "LOW,HIGH", value_parser = two_numbers("LOW,HIGH"))]
    pub stream_range: Option<[f64; 2]>,
    /// Draws all streams of at least this discharge in m³/s, with the same opacity.
    #[arg(long, value_name = "Q", conflicts_with = "stream_range")]
    pub stream_threshold: Option<f64>,
}

/// `mesh`.
#[derive(Args)]
pub struct MeshArgs {
    /// The terrain: a file, or a folder that `build` or `drain` wrote, whose water and trees are included.
    pub input: PathBuf,
    /// The file to write: .glb, .obj (with .mtl), .ply or .stl.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Trees on the mesh (.glb), a table that `build` or `apply trees` wrote [default: the folder's own].
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Sea level in metres [default: that of the folder's recipe].
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub options: OperationArgs<MeshFileOptions>,
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
    #[command(flatten)]
    pub options: OperationArgs<NormalOptions>,
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

/// Returns the look with the colours of the recipe, if there is one and no others were requested. A recipe chooses the
/// ramp of its world, for example sand for deserts.
pub fn with_recipe_ramp(look: &LookOptions, recipe: Option<&Recipe>) -> LookOptions {
    LookOptions { ramp: look.ramp.or(recipe.map(|recipe| recipe.ramp)), ..look.clone() }
}
