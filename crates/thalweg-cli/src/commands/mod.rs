//! The commands: each translates the command line to the library and prints the result. None uses another.

pub mod apply;
pub mod build;
pub mod drain;
#[cfg(feature = "studio")]
pub mod explore;
pub mod export;
pub mod info;
pub mod measure;
pub mod mesh;
pub mod models;
#[cfg(feature = "studio")]
pub mod picture;
pub mod pictures;
pub mod plan;
pub mod reshape;
pub mod resume;
pub mod rivers;
pub mod serve;
pub mod studio;
pub mod textures;
pub mod tile;
pub mod vary;
