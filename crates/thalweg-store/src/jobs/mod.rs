//! [`Job`]s: what can be done tile by tile, and the stages that it is done in.

mod build;
mod drain;

pub use build::BuildJob;
pub use drain::DrainJob;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thalweg::Result;
use thalweg::terrain::grid::Grid;
use thalweg::tiled::TileLayer;

use crate::stage::Stage;
use crate::{LayerSpec, StoreSpec};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Job {
    /// The drainage of an elevation model.
    Drain(DrainJob),
    /// A level of a recipe's world.
    Build(BuildJob),
}

/// Where a job's map lies, and what its store holds.
pub(crate) struct Layout {
    pub grid: Grid,
    pub spec: StoreSpec,
}

impl Job {
    /// The layout in tiles of about `side` cells.
    pub(crate) fn layout(&self, side: usize) -> Result<Layout> {
        match self {
            Self::Drain(job) => job.layout(side),
            Self::Build(job) => job.layout(side),
        }
    }

    /// The stages, of which some keep files beside the store.
    pub(crate) fn stages(&self, layout: &Layout, store: &Path) -> Result<Vec<Box<dyn Stage>>> {
        match self {
            Self::Drain(job) => job.stages(layout),
            Self::Build(job) => job.stages(layout, store),
        }
    }

    /// What is to be said before it begins.
    ///
    /// # Errors
    /// A source that cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>> {
        match self {
            Self::Drain(job) => job.warnings(),
            Self::Build(_) => Ok(Vec::new()),
        }
    }
}

/// How a layer of the drainage stands in a store.
fn spec_of(layer: TileLayer) -> LayerSpec {
    LayerSpec {
        scale: layer.scale(),
        unit: layer.unit().to_string(),
        description: layer.about().to_string(),
        ..LayerSpec::new(layer.name(), layer.kind(), layer.fill())
    }
}
