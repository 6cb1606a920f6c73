//! `export`: what the library's table of targets takes.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use thalweg_core::Result;
use thalweg_export::export::{ExportOptions, ExportTarget, ExportTiles, TARGETS};
use thalweg_render::web::LonLat;

use super::shared::{LoadArgs, VoiceArgs};
use super::values::{Sides, lon_lat, sides, threads, two_numbers, zooms};

/// `export`.
#[derive(Args)]
pub struct Export {
    /// The terrain: a file, or a folder that `build` wrote.
    pub input: PathBuf,
    /// The program that it is for.
    #[arg(long = "for", value_name = "TARGET", value_parser = targets())]
    pub target: String,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Cut into tiles of one range: N (N × N), COLSxROWS, or a tile's side in samples such as 1009px.
    #[arg(long, value_name = "TILES", value_parser = |text: &str| text.parse::<ExportTiles>().map_err(|error| error.to_string()))]
    pub tiles: Option<ExportTiles>,
    /// What neighbouring tiles hold of their common edge: both the same samples, or each its own [default: what the target wants].
    #[arg(long, value_name = "EDGES", value_parser = ["shared", "adjacent"])]
    pub edges: Option<String>,
    /// Columns and rows of a single file [default: what the target takes and lies nearest].
    #[arg(long, value_name = "COLSxROWS", value_parser = sides)]
    pub size: Option<Sides>,
    /// Metres of the lowest and the highest sample [default: those of the terrain].
    #[arg(long, value_name = "MIN,MAX", value_parser = two_numbers("MIN,MAX"), allow_hyphen_values = true)]
    pub range: Option<[f64; 2]>,
    /// Layers that go along: names of rasters in the folder, or files; may be given again.
    #[arg(long, value_name = "LAYER", value_delimiter = ',')]
    pub layers: Vec<String>,
    /// What the names of files begin with [default: the input's name].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The ending of files of heights, where the target reads several.
    #[arg(long, value_name = "ENDING")]
    pub format: Option<String>,
    /// Of a map of the globe: degrees where the middle of a terrain lies that lies nowhere [default: 0,0].
    #[arg(long, value_name = "LON,LAT", value_parser = lon_lat, allow_hyphen_values = true)]
    pub origin: Option<LonLat>,
    /// Of a map of the globe: the first and the last zoom, or one [default: as fine as the cells].
    #[arg(long, value_name = "FIRST-LAST", value_parser = zooms)]
    pub zoom: Option<[u32; 2]>,
    /// Take away an export that the folder holds.
    #[arg(long)]
    pub fresh: bool,
    /// Threads to work with [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub voice: VoiceArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

impl Export {
    /// As the library takes it.
    ///
    /// # Errors
    /// When there is no such target.
    pub fn options(&self) -> Result<ExportOptions> {
        let size = self.size.map(|Sides { cols, rows }| [rows.unwrap_or(cols), cols]);
        Ok(ExportOptions {
            name: self.name.clone(),
            size,
            tiles: self.tiles.unwrap_or_default(),
            shared: self.edges.as_deref().map(|edges| edges == "shared"),
            range: self.range,
            layers: self.layers.clone(),
            format: self.format.clone(),
            fresh: self.fresh,
            origin: self.origin,
            zooms: self.zoom,
            ..ExportOptions::new(ExportTarget::find(&self.target)?)
        })
    }
}

/// The programs that are written for.
pub fn targets() -> PossibleValuesParser {
    TARGETS.iter().map(|target| PossibleValue::new(target.name).help(target.about)).collect::<Vec<_>>().into()
}
