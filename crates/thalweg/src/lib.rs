//! thalweg creates, erodes and analyses terrain. Elevation comes from noise or from an elevation model; many erosion
//! models work on the same terrain; drainage and terrain measures are computed; results are written for game engines
//! and GIS.
//!
//! A finished world in ten lines:
//!
//! ```
//! use thalweg::{io, prelude::*};
//!
//! fn world(file: &str) -> Result<()> {
//!     let mut recipe = find_preset("hills")?;
//!     recipe.seed = 7;
//! #   recipe.cells = 64;
//!     let mut run = Run::new(recipe)?;
//!     while run.take_step()?.is_some() {}
//!     io::save_terrain(file, run.terrain(), &io::SaveOptions::default())?;
//!     Ok(())
//! }
//! # let folder = tempfile::tempdir().unwrap();
//! # world(folder.path().join("world.tif").to_str().unwrap())?;
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! # The tour
//!
//! - A [`Recipe`](recipe::Recipe) describes a world: its extent in metres, its number of cells, its seed, and its
//!   [stages](recipe::Stage), each a model with parameters. Read one from TOML
//!   ([`Recipe::read`](recipe::Recipe::read)), take a [preset](recipe::find_preset), or make one of a single model
//!   ([`Recipe::with_single_stage`](recipe::Recipe::with_single_stage)).
//! - A [`Run`](recipe::Run) executes a recipe step by step. The caller owns the loop and can therefore show progress,
//!   pause, stop, or display the terrain while it changes. Between any two steps a run can be saved to a file
//!   ([`Run::save`](recipe::Run::save)) and resumed ([`Run::resume`](recipe::Run::resume)); it then produces the same
//!   bits.
//! - Long calls that run a loop of their own, for example [`World::solve`](world::World::solve) and
//!   [`Survey::from_terrain`](drainage::Survey::from_terrain), report to a [`Progress`], which may stop them.
//! - A [`Session`](recipe::Session) is a run that can be edited and reversed. It continues from the earliest step that
//!   an edited recipe affects, undoes user edits, and keeps its memory within a limit.
//! - A [`World`](world::World) provides all levels of a recipe. It makes [any tile of any level](world::World::tile) on
//!   request, with the same bits in any order. Each of its [rivers](world::World::rivers) has an end and can be
//!   [followed](world::World::trace_flow_path) to it.
//! - A [`Terrain`](terrain::Terrain) is the input and output of a run: the elevation, the thickness of sediment, and
//!   layers such as water or hardness, each a [`Field`](terrain::Field) over a [`Grid`](terrain::Grid). Make one from
//!   your own numbers ([`Terrain::from_metres`](terrain::Terrain::from_metres)) or load it from a file ([`io::load_terrain`]:
//!   GeoTIFF, PNG, NPY, ESRI ASCII, raw, SRTM). Write it with [`io::save_terrain`].
//! - A [`Model`](models::Model) changes a terrain. The module [`models`] contains those of the library, each with a
//!   page that states its process, formula and source. A model of your own is a struct declared with [`params!`] and
//!   two small traits. [`Models::with_model`](models::Models::with_model) makes it available to recipes by name, and
//!   [`LAWS`](models::LAWS) are tests that every model must pass. A model may use [`noise`], [`flow`], and the
//!   processes in [`models`], for example hillslope diffusion and slope limits.
//! - [`flow`] routes water over a terrain: depressions, directions, accumulation, basins, streams. [`drainage`]
//!   computes all of that for an elevation model in one call ([`Survey`](drainage::Survey)) and writes a folder of
//!   files for GIS. [`rivers`] plans and carves rivers on a terrain that has none.
//! - [`render`] draws maps and views and makes meshes, textures and web map tiles. [`export`] writes folders: the
//!   [finished world](export::write_world) with heights, layers, trees, water, map, recipe and report, or the files
//!   that a game engine reads.
//!
//! The directory `examples/` has a program for each of these: building a preset, eroding an array, a model of your own,
//! the drainage of a GeoTIFF, a run with progress, and tiles around a camera.
//!
//! # Guarantees
//!
//! - Heights are metres in fixed point ([`Height`](terrain::Height)), so mass is conserved to the unit: every step
//!   returns a mass balance ([`MassBalance`](models::MassBalance)), and the solid mass after a step equals that before
//!   it plus the change in that balance.
//! - A recipe gives the same bits for any number of threads, on any machine.
//! - The library prints nothing and does not interact with the user. A long call that takes a
//!   [`Progress`] can be observed and stopped.
//! - The library does not panic on invalid input. It returns an [`Error`] that names the item, its value and the
//!   allowed values.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub use thalweg_core::base::error::{Error, Result};
pub use thalweg_core::base::memory::{check_memory, limit_memory};
pub use thalweg_core::{NoProgress, Progress, ProgressReport, choice, params};

/// The programs in README.md and CONTRIBUTING.md are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Documents;

/// The types that almost every program uses: `use thalweg::prelude::*;`.
pub mod prelude {
    pub use crate::models::{Model, Models};
    pub use crate::recipe::{Recipe, Run, Session, find_preset};
    pub use crate::terrain::{Cell, CellRect, Field, Grid, Height, Terrain};
    pub use crate::world::World;
    pub use crate::{Error, NoProgress, Progress, ProgressReport, Result, params};
}

/// Terrains, their grids and layers; measures of a terrain; resampling and cropping.
///
/// ```
/// use thalweg::terrain::{CellRect, Grid, Terrain, crop_terrain};
///
/// let terrain = Terrain::from_metres(Grid::new([2, 3], 10.0)?, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
/// assert_eq!(terrain.ground[(1, 2)].metres(), 5.0);
/// let east = crop_terrain(&terrain, CellRect::new([0, 1], [2, 2]))?;
/// assert_eq!(east.ground[(1, 1)].metres(), 5.0);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod terrain {
    pub use thalweg_core::terrain::field::{Field, Size};
    pub use thalweg_core::terrain::grid::{Edge, Edges, Georeference, Grid, PixelIs};
    pub use thalweg_core::terrain::height::{Height, NO_HEIGHT, UNITS};
    pub use thalweg_core::terrain::{
        BoundaryOptions, Cell, CellRect, Cells, ChannelNetwork, ChannelReach, Coarser, Column, DISCHARGE, ERODIBILITY,
        Extent, Finer, GROUND, HARDNESS, Hue, Hydraulics, LAYERS, Lake, LakeRaster, Layer, LayerOverlay, LayerSpec,
        LayerTraits, Lifetime, MapPoint, Mass, POOL, PROTECT, Point, RAIN, ReadBack, SEDIMENT, SOIL, SeaLevelOptions,
        Table, Terrain, TileGrid, UPLIFT, VectorPart, WATER, WETNESS,
    };
    pub use thalweg_render::products::agreement::{Agreement, compare_terrains};
    pub use thalweg_render::products::measure::{Measure, MeasureOptions, Measures, draw_measures, measure_terrain};
    pub use thalweg_render::products::resample::{crop_terrain, reduce_terrain, resample_terrain};
}

/// Noise as a function of the position in the world; random numbers; beds of rock strata.
///
/// ```
/// use thalweg::noise::{Fractal, FractalSettings, RandomKey};
/// use thalweg::terrain::Grid;
///
/// let grid = Grid::new([64, 64], 30.0)?;
/// let noise = Fractal::new(&FractalSettings::fbm(6, 1000.0, 0.5), None, RandomKey::new(1, "example"), &grid);
/// let mut row = vec![0.0; 64];
/// noise.fill_row(&grid, 0, &mut row);
/// assert!(row.iter().all(|value| value.abs() < 2.0));
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod noise {
    pub use thalweg_core::base::rng::RandomKey;
    pub use thalweg_noise::cellular::{Cellular, Distance};
    pub use thalweg_noise::fractal::{Fractal, FractalKind, FractalSettings, Warp};
    pub use thalweg_noise::strata::{BedSettings, Beds};
}

/// Flow routing: depressions, flow directions, accumulation, basins, streams. Pure functions over a
/// [`Land`](flow::Land).
///
/// [`FlowGraph`](flow::FlowGraph) computes filling, directions and accumulation together; each function computes one of
/// them.
///
/// ```
/// use thalweg::flow::{Land, fill_depressions};
/// use thalweg::terrain::{Grid, Terrain};
///
/// // A pit of 1 m in a slope that falls to the east; cells are 10 m wide.
/// let heights = [9.0, 8.0, 7.0, 9.0, 5.0, 6.0, 9.0, 8.0, 7.0];
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// assert_eq!(fill_depressions(&Land::from_terrain(&terrain))[(1, 1)].metres(), 6.0);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod flow {
    pub use thalweg_flow::accumulate::{accumulate_weights, count_upstream_cells, quantize_weights, upstream_order};
    pub use thalweg_flow::basins::{delineate_catchment, label_basins};
    pub use thalweg_flow::breach::{BreachLimits, Breached, breach_depressions};
    pub use thalweg_flow::channels::trace_channels;
    pub use thalweg_flow::d8::route_d8;
    pub use thalweg_flow::depressions::{Depression, Hierarchy};
    pub use thalweg_flow::fill::fill_depressions;
    pub use thalweg_flow::hydraulic::{channel_depth, channel_width};
    pub use thalweg_flow::infinity::{accumulate_d_infinity, route_d_infinity};
    pub use thalweg_flow::multiple::{MultipleFlowSums, accumulate_multiple};
    pub use thalweg_flow::outlets::{LakeLimits, Outlets, open_outlets};
    pub use thalweg_flow::spill::{StandingWater, fill_spill_merge};
    pub use thalweg_flow::streams::{
        compute_chi, compute_ksn, compute_shreve_magnitudes, compute_strahler_orders, find_stream_cells,
        from_esri_codes, outlet_distance, to_esri_codes, upstream_length,
    };
    pub use thalweg_flow::{CellRole, D8, Directions, FlowGraph, Land, Neighbourhood, OUT, PIT, VOID, find_receiver};
}

/// The drainage of an elevation model in one call ([`Survey`](drainage::Survey)), its lakes and streams, and the same
/// tile by tile ([`drain_in_memory`](drainage::drain_in_memory)). The crate `thalweg-store` drains models that are
/// larger than memory.
///
/// ```
/// use thalweg::NoProgress;
/// use thalweg::drainage::{Survey, DrainOptions, drain_in_memory};
/// use thalweg::terrain::{Grid, Terrain};
///
/// let heights: Vec<f32> = (0..64 * 64).map(|k| ((k / 64) + (k % 64)) as f32).collect();
/// let terrain = Terrain::from_metres(Grid::new([64, 64], 30.0)?, &heights)?;
/// let options = DrainOptions::default();
/// let survey = Survey::from_terrain(&terrain, &options, &mut NoProgress)?;
/// let by_tiles = drain_in_memory(&terrain, &options, 16, |_| {}, &mut NoProgress)?;
/// assert_eq!(survey.channels, by_tiles.channels);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod drainage {
    pub use thalweg_export::survey::{DrainOptions, Summary, Survey};
    pub use thalweg_render::products::lakes::outline_lakes;
    pub use thalweg_render::products::nested::{NestedDepression, nested_depressions};
    pub use thalweg_render::products::streams::trace_streams;
    pub use thalweg_render::products::wetness::{WetnessRules, compute_wetness};
    pub use thalweg_tiled::TileLayer;
    pub use thalweg_tiled::memory::{Drained, drain_in_memory};
}

/// River networks: planned on a terrain's drainage, drawn as smooth lines, carved into the ground and checked.
pub mod rivers {
    pub use thalweg_export::rivers::{RiversOptions, list_river_conflicts, plan_river_network};
    pub use thalweg_rivers::check::{Check, RiverFiles, check_river_files};
    pub use thalweg_rivers::waypoints::{MouthPlace, Waypoint};
    pub use thalweg_rivers::{
        Carved, Design, Mouth, Network, Pass, PlannedLake, ReachEnd, River, RiverKind, RiverReach, RunSource, Site,
        Vertex, carve_rivers, plan_rivers,
    };
}

/// Models of terrain and erosion, the traits and processes for a model of your own, and the tables of soils, strata and
/// springs.
///
/// A model is a struct declared with [`params!`](crate::params) that implements [`Model`](models::Model). It starts a
/// [`Stepper`](models::Stepper) on a grid, which executes the steps. CONTRIBUTING.md describes a model from its
/// declaration to its test.
pub mod models {
    pub use thalweg_core::declare::params::{Param, ParamKind, Parameters, Value, Written, parse_value};
    pub use thalweg_models::model::page::model_page;
    pub use thalweg_models::model::{
        About, Blend, DependentDefault, Family, Growth, Local, MassBalance, Model, PlayedRole, Role, StepReach,
        Stepper, Tick, YEAR, set_parameters,
    };
    pub use thalweg_models::models::cellular_noise::CellularNoise;
    pub use thalweg_models::models::climate::{Climate, Winds};
    pub use thalweg_models::models::coast::Coast;
    pub use thalweg_models::models::delta::Delta;
    pub use thalweg_models::models::diamond_square::{DiamondSquare, MidpointDisplacement};
    pub use thalweg_models::models::drainage::{DrainageLayers, Routing};
    pub use thalweg_models::models::droplets::Droplets;
    pub use thalweg_models::models::dunes::Dunes;
    pub use thalweg_models::models::elevation::Elevation;
    pub use thalweg_models::models::fault_formation::FaultFormation;
    pub use thalweg_models::models::fluvial::{CapacityFrom, Fluvial, Moves, Receivers};
    pub use thalweg_models::models::fourier_synthesis::{FourierSynthesis, Spectrum};
    pub use thalweg_models::models::glacier::Glacier;
    pub use thalweg_models::models::gradient_noise::GradientNoise;
    pub use thalweg_models::models::hillslope::Hillslope;
    pub use thalweg_models::models::hydrology::{Hydrology, RuleSet};
    pub use thalweg_models::models::manual::Manual;
    pub use thalweg_models::models::outlets::OpenOutlets;
    pub use thalweg_models::models::pipes::{FlowArea, Pipes, Shower, Transport};
    pub use thalweg_models::models::planation::Planation;
    pub use thalweg_models::models::plates::Plates;
    pub use thalweg_models::models::river_network::{Method, RiverNetwork};
    pub use thalweg_models::models::shape::{Shape, ShapeKind};
    pub use thalweg_models::models::soils::{Dominant, Soils};
    pub use thalweg_models::models::stream_power::{Area, StreamPower};
    pub use thalweg_models::models::thermal::Thermal;
    pub use thalweg_models::models::trees::Trees;
    pub use thalweg_models::models::volcano::Volcano;
    pub use thalweg_models::models::{Models, all_models, find_model};
    pub use thalweg_models::process::base::{AMOUNT, add_to_ground, band_count, band_rows};
    pub use thalweg_models::process::forest::{Forest, Tree};
    pub use thalweg_models::process::slopes::{Bedding, Bounds, Guards, diffuse, limit_slopes, replace_ground, settle};
    pub use thalweg_models::rocks::{ROCKS, Rock};
    pub use thalweg_noise::input_tables::soils::strata::{Bed, BedOrientation, set_bed_orientation, set_strata};
    pub use thalweg_noise::input_tables::soils::{SOIL_KINDS, Soil, SoilKind, add_soils};
    pub use thalweg_noise::input_tables::springs::{Spring, SpringSource, add_springs, spring_sources};
    pub use thalweg_sim::laws::{LAWS, Law};
}

/// Recipes, presets and sketches; runs that execute a recipe, their checkpoints, and sessions that can be edited.
///
/// ```
/// use thalweg::recipe::{Recipe, Run, find_preset};
///
/// let mut recipe = find_preset("hills")?;
/// recipe.cells = 32;
/// let mut run = Run::new(recipe)?;
/// while run.take_step()?.is_some() {}
/// println!("{:?}", run.reports());
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod recipe {
    pub use thalweg_sim::knobs::Knobs;
    pub use thalweg_sim::presets::{PRESETS, Preset, find_preset, find_recipe, write_elevation_model};
    pub use thalweg_sim::recipe::strokes::{Stroke, Tool};
    pub use thalweg_sim::recipe::tables::Tables;
    pub use thalweg_sim::recipe::{
        Coarsest, LayerOrigin, LayerSource, Levels, LocalFrom, MapTrim, Recipe, RecipeOptions, RefinementMethod,
        Scatter, Stage, Start, When, WorldPlace, recipe_schema,
    };
    pub use thalweg_sim::run::checkpoint::{Snapshot, is_checkpoint};
    pub use thalweg_sim::run::mark::Mark;
    pub use thalweg_sim::run::{Run, RunProgress, StageReport};
    pub use thalweg_sim::session::{Position, Session};
    pub use thalweg_sim::single_model::{ApplyOptions, GenerateOptions};
    pub use thalweg_sim::sketch::{Sketch, SketchFeature, SketchFrom, SketchKind, SketchWorld};
}

/// Worlds at all their levels: any tile, height or river on request; and the refinement, which computes finer levels
/// from coarser ones.
///
/// ```
/// use thalweg::prelude::*;
///
/// let mut recipe = find_preset("hills")?;
/// recipe.cells = 64;
/// let world = World::open(&recipe)?;
/// let height = world.height_at(2500.0, 2500.0, 1)?;
/// assert!(height.is_finite());
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod world {
    pub use thalweg_refine::{
        Frame, LocalWindow, OperatorPatch, RefinementOperator, RefinementOperators, Rules, Sand, needed_window,
        refine_tile, refine_window, refinement_key,
    };
    pub use thalweg_sim::world::{FlowPathCell, FlowPathCells, PathEnd, RiverLine, RiverVertex, SelectedTile, World};
}

/// Maps, perspective views, meshes, textures and web map tiles of a terrain in memory.
pub mod render {
    pub use thalweg_render::pictures::animation::encode_animation;
    pub use thalweg_render::pictures::colour::Rgb;
    pub use thalweg_render::pictures::drawn_land::DrawnLand;
    pub use thalweg_render::pictures::layer::{LayerOptions, draw_values};
    pub use thalweg_render::pictures::light::{Sun, hillshade};
    pub use thalweg_render::pictures::look::LookOptions;
    pub use thalweg_render::pictures::perspective::{
        CameraOptions, PairOptions, ViewOptions, draw_comparison, draw_view,
    };
    pub use thalweg_render::pictures::picture::Picture;
    pub use thalweg_render::pictures::ramps::{RAMPS, Ramp};
    pub use thalweg_render::pictures::shade::{ShadeOptions, draw_map};
    pub use thalweg_render::pictures::sheet::{SheetOptions, SheetTerrain, draw_sheet};
    pub use thalweg_render::pictures::water::{Streams, Water};
    pub use thalweg_render::products::glb::{Glb, GlbOptions, MeshPrecision};
    pub use thalweg_render::products::mesh::{Mesh, MeshOptions, Up};
    pub use thalweg_render::products::mesh_files::{write_obj, write_ply, write_stl};
    pub use thalweg_render::products::mesh_scene::{MeshPart, MeshScene, MeshSurface};
    pub use thalweg_render::products::normals::{BumpMap, Green, NormalMap, NormalOptions, PngDepth, encode_normals};
    pub use thalweg_render::products::textures::maps::{
        compute_curvature, compute_occlusion, flow_map, measure_ground_change,
    };
    pub use thalweg_render::products::textures::{
        AlbedoView, GroundCover, MATERIALS, Material, TextureOptions, TextureRules, Textures,
    };
    pub use thalweg_render::web::{Encoding, LonLat, MapPlace, MapTile};
}

/// Files: elevation models and layers are loaded and saved as GeoTIFF, PNG, NPY, ESRI ASCII, EXR or raw; lines, areas,
/// trees and meshes are saved. Files may also be in memory ([`MemoryFiles`](io::MemoryFiles)).
///
/// ```
/// use thalweg::io::{LoadOptions, MemoryFiles, SaveOptions, load_terrain, save_terrain};
/// use thalweg::terrain::{Grid, Terrain};
///
/// let files = MemoryFiles::default();
/// let terrain = Terrain::new(Grid::new([4, 5], 30.0)?);
/// save_terrain(files.path("plain.tif"), &terrain, &SaveOptions::default())?;
/// let loaded = load_terrain(files.path("plain.tif"), &LoadOptions::default())?;
/// assert_eq!(loaded.terrain.ground, terrain.ground);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod io {
    pub use thalweg_io::deterrace::remove_terraces;
    pub use thalweg_io::features::{save_lakes, save_reaches, save_streams};
    pub use thalweg_io::geokeys::projected_crs;
    pub use thalweg_io::meshes::draft_mesh;
    pub use thalweg_io::output::make_folder;
    pub use thalweg_io::reshape::{CellCounts, CropOptions, ResampleOptions, crop, crop_file, resample, resample_file};
    pub use thalweg_io::rivers::{read_network, save_network};
    pub use thalweg_io::trees::{load_trees, save_trees};
    pub use thalweg_io::water::save_water;
    pub use thalweg_io::{
        Draft, FilePath, Format, LoadOptions, Loaded, MapInMemory, MemoryFiles, Overviews, Raster, RasterHead,
        SampleType, Samples, SaveOptions, Saved, Sidecar, Unit, WindowedMap, convert_to_terrain, decode_raster,
        draft_textures, load_layer, load_terrain, open_windows, open_windows_with, read_raster, read_raster_with,
        save_layer, save_map, save_picture, save_terrain, write_cog, write_raster,
    };
}

/// The options of all operations as they are declared: each operation is a struct whose fields are its options, and
/// which is also read, checked and described by the names of the options.
///
/// ```
/// use serde_json::json;
/// use thalweg::drainage::DrainOptions;
/// use thalweg::operations::{Operation as _, find_operation, operation_schema};
///
/// let mut options = DrainOptions::default();
/// options.set("threshold", &json!(250_000))?;
/// assert_eq!(options.threshold, Some(250_000.0));
/// let schema = operation_schema(&*find_operation("drain")?);
/// // The threshold is optional: a number or no value.
/// assert_eq!(schema["properties"]["threshold"]["anyOf"][0]["minimum"], 0.0);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod operations {
    pub use thalweg_core::declare::operation::{Arity, Operation, OptionKind, OptionSpec, OptionType, WorkForm};
    pub use thalweg_core::declare::option_types::{Line, Lists, NamedFile, Setting, SettingValues, ValueForm};
    pub use thalweg_core::declare::schema::operation_schema;
    pub use thalweg_core::operation;
    pub use thalweg_export::{browser_operations, export_operations, find_operation};
}

/// Folders of files: finished worlds, tiles of unbounded worlds, and terrains for game engines and GIS.
///
/// ```
/// use thalweg::export::write_world;
/// use thalweg::io::MemoryFiles;
/// use thalweg::prelude::*;
///
/// let mut recipe = find_preset("hills")?;
/// recipe.cells = 32;
/// let mut run = Run::new(recipe)?;
/// while run.take_step()?.is_some() {}
/// write_world(&run, MemoryFiles::default().path("world"))?;
/// # Ok::<(), thalweg::Error>(())
/// ```
pub mod export {
    pub use thalweg_export::build::{BuildOptions, BuildRequest, resolve_build, start_build};
    pub use thalweg_export::export::{
        Export, ExportLayout, ExportOptions, ExportProgress, ExportTarget, ExportTiles, Exported, TARGETS, fit_recipe,
    };
    pub use thalweg_export::vary::{Seeds, VariationSheet, VariedWorld, VaryOptions};
    pub use thalweg_export::world_files::{
        TileFolder, TileOptions, TileRange, TileResponse, WebTiles, draft_tile, terrain_of_window, tile_rect,
    };
    pub use thalweg_export::world_folder::{
        Ending, begin_run, read_cover, read_recipe, read_world, read_world_with_models, write_world,
    };
}
