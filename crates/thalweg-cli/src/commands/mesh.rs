//! `mesh`: writes a terrain as a mesh.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Result};
use thalweg_export::mesh_file::{MeshFileOptions, plan_mesh_files, write_mesh};
use thalweg_export::world_folder::read_cover;
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::output;

use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::{LoadArgs, SeaArgs};
use crate::console::Reporter;
use crate::memory;
use crate::terrains::{list_source_files, read_fitting_terrain, read_trees};
use crate::verb::{Group, Verb};

/// The arguments of `mesh`.
#[derive(Args)]
pub struct MeshArgs {
    /// The terrain: a file, or a folder that `build` or `drain` wrote, whose water and trees are included.
    input: PathBuf,
    /// The file to write: .glb, .obj (with .mtl), .ply or .stl.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The trees on the mesh (.glb): a table that `build` or `apply trees` wrote [default: the trees in the folder].
    #[arg(long, value_name = "CSV")]
    trees: Option<PathBuf>,
    #[command(flatten)]
    sea: SeaArgs,
    #[command(flatten)]
    options: OperationArgs<MeshFileOptions>,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for MeshArgs {
    const NAME: &'static str = "mesh";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str = "Writes a terrain as a mesh with normals and tangents, for 3D programs and engines";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        let (kind, files) = plan_mesh_files(&self.output, &self.options)?;
        let reads = [list_source_files(&self.input), self.trees.iter().cloned().collect()].concat();
        check_distinct_files(&reads, &files)?;
        // The files must not replace a picture of a world in the same folder either.
        let folder = self.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let names = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string()));
        output::check_names(folder, "", &names.collect::<Vec<_>>())?;
        if self.trees.is_some() && self.options.bare {
            return Err(Error::conflict("--trees", "does not apply together with --bare, which leaves out all trees"));
        }
        if self.trees.is_some() && !kind.nodes {
            return Err(Error::unsupported(format_path(&self.output), "cannot store trees; write .glb"));
        }
        let terrain = read_fitting_terrain(&self.input, &self.load, self.sea.sea_level, memory::MESH, voice)?;
        memory::MESH.check_terrain("mesh", &terrain)?;
        // Trees that are not drawn are not read either, because reading them may print warnings.
        let trees = match kind.nodes && !self.options.bare {
            true => read_trees(&self.input, self.trees.as_deref(), &terrain, voice)?,
            false => Vec::new(),
        };
        let cover = || {
            memory::TEXTURES.check_terrain("albedo", &terrain)?;
            read_cover(&self.input, &terrain)
        };
        let report = write_mesh(&self.output, &terrain, &trees, cover, &self.options, &reads)?;
        if let [error, .., last] = report.errors.as_slice() {
            let levels = self.options.lods;
            voice.print_line(&format!("{levels} levels, with maximum errors from {error} to {last} m"));
        }
        voice.warn_all(&report.warnings);
        voice.report_files(&report.files);
        Ok(ExitCode::SUCCESS)
    }
}
