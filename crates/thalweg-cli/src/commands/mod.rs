//! The verbs, one file for each or for a few that belong together: the arguments, and the functions that translate them
//! to the library and print the result. No verb uses another.

mod apply;
mod build;
mod drain;
#[cfg(feature = "studio")]
mod explore;
mod export;
mod info;
mod job;
mod layer;
mod lists;
mod measure;
mod mesh;
mod normals;
mod render;
mod reshape;
mod resume;
mod rivers;
mod serve;
mod shell;
mod studio;
mod textures;
mod tile;
mod vary;

use crate::verb::{Entry, verb};

/// All verbs, in the order of the help.
pub const VERBS: &[Entry] = &[
    verb::<build::BuildArgs>(),
    verb::<vary::VaryArgs>(),
    verb::<tile::TileArgs>(),
    verb::<studio::StudioArgs>(),
    #[cfg(feature = "studio")]
    verb::<explore::ExploreArgs>(),
    verb::<apply::GenerateArgs>(),
    verb::<apply::ApplyArgs>(),
    verb::<resume::ResumeArgs>(),
    verb::<info::InfoArgs>(),
    verb::<measure::MeasureArgs>(),
    verb::<drain::DrainArgs>(),
    verb::<rivers::RiversArgs>(),
    verb::<rivers::CheckRiversArgs>(),
    render::RENDER,
    verb::<export::ExportArgs>(),
    verb::<mesh::MeshArgs>(),
    verb::<normals::NormalsArgs>(),
    verb::<textures::TexturesArgs>(),
    verb::<reshape::ResampleArgs>(),
    verb::<reshape::CropArgs>(),
    job::JOB,
    verb::<layer::LayerArgs>(),
    verb::<serve::ServeArgs>(),
    verb::<lists::ModelsArgs>(),
    verb::<lists::PresetsArgs>(),
    verb::<lists::RocksArgs>(),
    verb::<lists::SchemaArgs>(),
    verb::<shell::CompletionsArgs>(),
    verb::<shell::ManArgs>(),
];
