//! Rasters larger than memory: read by windows, written tile by tile.
//!
//! A [`WindowedMap`] is a raster that is read by windows. It may be in memory ([`MapInMemory`]), in a GeoTIFF, in a
//! layer of a [`Store`], or in a Zarr array that another program wrote ([`ZarrArray`]). A [`Store`] is a Zarr v3 folder
//! that xarray opens directly: layers of the same size and georeference, each in shards of one tile. A tile is written
//! to a temporary file, renamed into place, and marked. Only marked tiles count as done, so interrupted work can be
//! resumed, and [`Store::verify_tiles`] finds tiles that were lost or altered afterwards.
//!
//! ```
//! use thalweg_io::{SampleType, Samples};
//! use thalweg_store::{Access, Store, StoreSpec, StoredLayer, WindowedMap as _};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let height = StoredLayer { unit: "m".into(), ..StoredLayer::new("height", SampleType::F32, f64::NAN) };
//! let spec = StoreSpec::new([100, 150], 64, 30.0, "a recipe's hash", vec![height]);
//! let store = Store::create(&folder.path().join("world.zarr"), spec, Access::Alone)?;
//! for tile in store.unfinished_tiles("height")? {
//!     let cells = store.spec().tile_window(tile)?.size();
//!     store.write_tile("height", tile, &Samples::F32(vec![tile as f32; cells[0] * cells[1]]))?;
//! }
//! let layer = store.layer("height")?;
//! let across = thalweg_core::terrain::CellRect::new([63, 63], [2, 2]);
//! assert_eq!(layer.read_window(across)?, Samples::F32(vec![0.0, 1.0, 3.0, 4.0]));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod array;
mod blosc;
mod by_rows;
mod checksum;
mod codec;
mod cog;
mod disk;
mod jobs;
mod layout;
mod lock;
mod mailbox;
mod mark;
mod meta;
mod place;
mod plan;
mod plan_schema;
mod pool;
mod products;
mod reshape;
mod source;
mod spec;
mod store;
mod stored_level;
mod verify;
mod version2;
mod work;

pub use array::ZarrArray;
pub use by_rows::{MapRows, MapSummary};
pub use disk::{check_room, free_bytes};
pub use jobs::{ApplyJob, BuildJob, DrainJob, Job};
pub use lock::Access;
pub use mark::TileMark;
pub use plan::{Plan, PlanStage};
pub use plan_schema::plan_schema;
pub use pool::WorkerPool;
pub use products::sidecar_path;
pub use reshape::{Reshape, Reshaped};
pub use source::{ElevationFile, is_zarr, open_raster, open_raster_with};
pub use spec::{StoreSpec, StoredLayer, tile_side};
pub use store::{Store, check_outside, is_store};
pub use thalweg_core::terrain::CellRect;
pub use thalweg_io::{MapInMemory, RasterHead, WindowedMap};
pub use verify::{FileFault, Harm, TileFault, VerifyLevel};
pub use work::{Outcome, PlannedWork, Task};
