//! `normals`: writes a normal map or a bump map.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Result};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, write_atomically};
use thalweg_render::products::normals::{NormalOptions, encode_normals};

use crate::args::LoadArgs;
use crate::args::declared::{OperationArgs, typed_flag};
use crate::console::Reporter;
use crate::memory;
use crate::terrains::{list_source_files, read_fitting_terrain};
use crate::verb::{Group, Verb};

/// The arguments of `normals`.
#[derive(Args)]
pub struct NormalsArgs {
    /// The terrain file to read.
    input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<NormalOptions>,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for NormalsArgs {
    const NAME: &'static str = "normals";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str = "Writes the normals of a terrain as a normal map, or its heights as a bump map";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        output::check_ending(&self.output, &["png"])?;
        check_distinct_files(&list_source_files(&self.input), std::slice::from_ref(&self.output))?;
        let terrain = read_fitting_terrain(&self.input, &self.load, None, memory::NORMALS, voice)?;
        memory::NORMALS.check_terrain("normals", &terrain)?;
        let (path, mut range) = (&self.output, None);
        write_atomically(path, |file| {
            range = encode_normals(&terrain, &self.options, file).map_err(Error::io(path, "write"))?;
            Ok(())
        })?;
        if let Some([low, high]) = range {
            voice.print_line(&format!("in the bump map, black is {low} m and white is {high} m"));
        }
        voice.report_files(std::slice::from_ref(path));
        Ok(ExitCode::SUCCESS)
    }
}
