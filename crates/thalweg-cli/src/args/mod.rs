//! Arguments that several verbs share, and the parsers of typed values. The arguments of a single verb are in its file
//! in `commands/`. Models and their parameters are not listed: they come from their declarations.

pub mod declared;
mod runs;
mod shared;
pub mod values;
mod water;
mod worlds;

pub use runs::{RunArgs, WorkArgs};
pub use shared::{CommonArgs, LoadArgs, MapArgs, SeaArgs, drain_job};
pub use water::WaterArgs;
pub use worlds::WorldArgs;
