//! `layer`: writes a layer of a store as a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::{Error, Result};
use thalweg_io::Format;
use thalweg_store::Store;

use crate::args::values::{layer_parser, whole_number};
use crate::console::Reporter;
use crate::verb::{Group, Verb};

/// The arguments of `layer`.
#[derive(Args)]
pub struct LayerArgs {
    /// The Zarr store (DIR.zarr).
    store: PathBuf,
    /// The name of the layer; `thalweg info DIR.zarr` lists the layers of a store.
    #[arg(value_parser = layer_parser(), hide_possible_values = true)]
    layer: String,
    /// The file to write, a cloud-optimised GeoTIFF.
    #[arg(short, long, value_name = "FILE.tif")]
    output: PathBuf,
    /// Factor by which the cells of the file are wider than those of the store, for an overview of a large map
    /// [allowed: a whole number of 1 or more].
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole_number::<usize>(1..=u64::MAX))]
    coarser: usize,
}

impl Verb for LayerArgs {
    const NAME: &'static str = "layer";
    const GROUP: Group = Group::Large;
    const ABOUT: &'static str =
        "Writes a layer of a Zarr store as a cloud-optimised GeoTIFF, at full resolution or coarser";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        if Format::from_path(&self.output)? != Format::Tiff {
            let problem =
                "cannot be written, because layers are written as cloud-optimised GeoTIFFs; use the extension .tif";
            return Err(Error::invalid_file(&self.output, problem));
        }
        Store::open_read(&self.store)?.save_cog(&self.layer, &self.output, self.coarser)?;
        voice.report_files(std::slice::from_ref(&self.output));
        Ok(ExitCode::SUCCESS)
    }
}
