//! [`Job`]s: what can be done tile by tile, and the passes that it is done in.

mod apply;
mod build;
mod drain;
mod given;
mod look;
mod model;

pub use apply::ApplyJob;
pub use build::BuildJob;
pub use drain::DrainJob;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thalweg_core::base::names::shown;
use thalweg_core::{Error, Result};
use thalweg_io::apart::{apart, same};
use thalweg_tiled::{TileLayer, TilePass};

use crate::products::ProductWriter;
use crate::{StoreSpec, StoredLayer, is_store};

/// Bytes of a short answer, and of what holds it.
const MESSAGE: u64 = 512;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Job {
    /// The drainage of an elevation model.
    Drain(DrainJob),
    /// A level of a recipe's world.
    Build(BuildJob),
    /// A model over an elevation model.
    Apply(ApplyJob),
}

/// A job made ready to be run.
pub(crate) struct JobSetup {
    /// The writer of the files next to the store.
    pub products: ProductWriter,
    /// The store that the layers go to.
    pub spec: StoreSpec,
    /// The passes in their order. The plan calls them stages.
    pub passes: Vec<Box<dyn TilePass>>,
    /// Bytes of memory that open files take all the time.
    pub held_bytes: Vec<u64>,
}

impl JobSetup {
    /// The specification of the store for the layers that a pass passes on; `None` if there are none.
    pub fn passed_spec(&self, pass: &dyn TilePass, recipe: &str) -> Option<StoreSpec> {
        let layers = pass.passes_on().into_iter().map(|layer| StoredLayer::new(&layer.name, layer.kind, layer.fill));
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

    /// Bytes that tables and outlines beside the store take on rough hills of so many cells.
    pub(crate) fn beside_bytes(&self, size: [usize; 2]) -> u64 {
        match self {
            Self::Drain(job) => job.beside_bytes(size),
            Self::Build(_) | Self::Apply(_) => 0,
        }
    }

    /// The files and stores that it reads, and what each is known by.
    pub(crate) fn sources(&self) -> Vec<(PathBuf, u64)> {
        match self {
            Self::Drain(job) => vec![(job.source.clone(), job.source_print)],
            Self::Build(_) => Vec::new(),
            Self::Apply(job) => job.sources(),
        }
    }

    /// Refuses a store that is read too, or that lies in what is read.
    ///
    /// # Errors
    /// When it is, or does.
    pub(crate) fn check_apart(&self, store: &Path) -> Result<()> {
        let reads: Vec<PathBuf> = self.sources().into_iter().map(|(path, _)| path).collect();
        for (read, folder) in reads.iter().flat_map(|read| store.ancestors().skip(1).map(move |folder| (read, folder)))
        {
            if same(read, folder) {
                return Err(Error::file(store, format!("lies in {}, which is read; name another output", shown(read))));
            }
        }
        // A layer is read of the store that it lies in.
        let whole =
            reads.iter().filter_map(|read| read.parent()).filter(|folder| is_store(folder)).map(Path::to_path_buf);
        apart(&reads.iter().cloned().chain(whole).collect::<Vec<_>>(), &[store.to_path_buf()])
    }

    /// What is to be said before it begins.
    ///
    /// # Errors
    /// A source that cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>> {
        match self {
            Self::Drain(job) => job.warnings(),
            Self::Build(_) => Ok(Vec::new()),
            Self::Apply(job) => job.warnings(),
        }
    }
}

/// How a layer of the drainage stands in a store.
fn spec_of(layer: TileLayer) -> StoredLayer {
    StoredLayer {
        scale: layer.scale(),
        fill_is_nodata: layer.fill_is_nodata(),
        unit: layer.unit().to_string(),
        description: layer.about().to_string(),
        ..StoredLayer::new(layer.name(), layer.kind(), layer.fill())
    }
}

/// A small message as JSON.
fn words(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::value("a message", error.to_string(), "what JSON can say"))
}

fn read<T: for<'a> Deserialize<'a>>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::value(what, error.to_string(), "what this stage wrote"))
}
