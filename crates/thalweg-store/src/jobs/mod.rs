//! [`Job`]s: the kinds of work that can be done tile by tile, and the passes that they consist of.

mod apply;
mod build;
mod drain;
mod input_layer;
mod model;
mod nodata_scan;

pub use apply::ApplyJob;
pub use build::BuildJob;
pub use drain::DrainJob;
pub(crate) use drain::{REQUIRED_OPTIONS, stored_option_schemas};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use thalweg_core::base::names::format_path;
use thalweg_core::terrain::current_layer_name;
use thalweg_core::{Error, Result};
use thalweg_io::file_identity::{check_distinct_files, is_same_file};
use thalweg_tiled::{TileLayer, TilePass};

use crate::products::ProductWriter;
use crate::{StoreSpec, StoredLayer, is_store};

/// The memory of a short answer and its container, in bytes.
const MESSAGE: u64 = 512;

/// A kind of work with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Job {
    /// Computes the drainage of an elevation model.
    Drain(DrainJob),
    /// Builds a level of a recipe's world.
    Build(BuildJob),
    /// Applies a model to an elevation model.
    Apply(ApplyJob),
}

/// A job that is ready to run.
pub(crate) struct JobSetup {
    /// The writer of the files next to the store.
    pub products: ProductWriter,
    /// The specification of the store to which the layers are written.
    pub spec: StoreSpec,
    /// The passes in order. The plan calls them stages.
    pub passes: Vec<Box<dyn TilePass>>,
    /// The memory in bytes that open files hold throughout each pass.
    pub held_bytes: Vec<u64>,
}

impl JobSetup {
    /// The specification of the store for the layers that a pass passes on; `None` if there are none.
    pub fn passed_spec(&self, pass: &dyn TilePass, recipe: &str) -> Option<StoreSpec> {
        let layers =
            pass.temporary_layers().into_iter().map(|layer| StoredLayer::new(&layer.name, layer.kind, layer.fill));
        let layers: Vec<_> = layers.collect();
        let StoreSpec { size, side, cell, .. } = self.spec;
        (!layers.is_empty()).then(|| StoreSpec::new(size, side, cell, recipe, layers))
    }
}

impl Job {
    /// Sets up the job in tiles of about `side` cells, for this store. Nothing is written.
    pub(crate) fn set_up(&self, side: usize, store: &Path) -> Result<JobSetup> {
        match self {
            Self::Drain(job) => job.set_up(side),
            Self::Build(job) => job.set_up(side, store),
            Self::Apply(job) => job.set_up(side),
        }
    }

    /// The estimated disk space of tables and outlines next to the store in bytes, for rough hills of this size.
    pub(crate) fn sidecar_bytes(&self, size: [usize; 2]) -> u64 {
        match self {
            Self::Drain(job) => job.sidecar_bytes(size),
            Self::Build(_) | Self::Apply(_) => 0,
        }
    }

    /// The files and stores that the job reads, with their fingerprints.
    pub(crate) fn sources(&self) -> Vec<(PathBuf, u64)> {
        match self {
            Self::Drain(job) => vec![(job.source.clone(), job.source_print)],
            Self::Build(_) => Vec::new(),
            Self::Apply(job) => job.sources(),
        }
    }

    /// Refuses an output store that is also an input, or that is inside one.
    ///
    /// # Errors
    /// Returns an error that names the input.
    pub(crate) fn check_distinct_output(&self, store: &Path) -> Result<()> {
        // An output inside an input folder, for example a store inside another one, would change that input.
        let reads: Vec<PathBuf> = self.sources().into_iter().map(|(path, _)| path).collect();
        for (read, folder) in reads.iter().flat_map(|read| store.ancestors().skip(1).map(move |folder| (read, folder)))
        {
            if is_same_file(read, folder) {
                return Err(Error::invalid_file(
                    store,
                    format!("is inside {}, which is an input; choose an output elsewhere", format_path(read)),
                ));
            }
        }
        // An input that is a layer of a store counts as the whole store.
        let whole =
            reads.iter().filter_map(|read| read.parent()).filter(|folder| is_store(folder)).map(Path::to_path_buf);
        check_distinct_files(&reads.iter().cloned().chain(whole).collect::<Vec<_>>(), &[store.to_path_buf()])
    }

    /// Returns the warnings to show before the work begins.
    ///
    /// # Errors
    /// Returns an error if a source cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>> {
        match self {
            Self::Drain(job) => job.warnings(),
            Self::Build(_) => Ok(Vec::new()),
            Self::Apply(job) => job.warnings(),
        }
    }
}

/// The description of a drainage layer in a store.
fn stored_layer_spec(layer: TileLayer) -> StoredLayer {
    StoredLayer {
        scale: layer.scale(),
        fill_is_nodata: layer.fill_is_nodata(),
        unit: layer.unit().to_string(),
        description: layer.about().to_string(),
        ..StoredLayer::new(layer.name(), layer.kind(), layer.fill_value())
    }
}

/// Deserializes names of layers. Files of an earlier version may contain earlier names.
fn read_layer_names<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    Ok(names.iter().map(|name| current_layer_name(name).to_string()).collect())
}

/// Serializes a small message as JSON.
fn to_json_bytes(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::invalid_content("summary of a stage", format!("cannot be written as JSON: {error}")))
}

fn parse_json<T: for<'a> Deserialize<'a>>(what: &'static str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| damaged_content_error(what, &error.to_string()))
}

/// Makes the error for a file of the folder `X.work`, next to the store, with content that no stage wrote.
fn damaged_content_error(what: &'static str, reason: &str) -> Error {
    let remedy = "delete the folder X.work next to the store X.zarr, and its content is computed again";
    Error::invalid_content(what, format!("is damaged ({reason}); {remedy}"))
}
