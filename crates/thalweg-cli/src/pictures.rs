//! `shade`, `view`, `compare`, `mesh`, `normals`: a terrain made visible.

use std::path::Path;

use thalweg::field::Field;
use thalweg::flow::Link;
use thalweg::forest::{Forest, Tree};
use thalweg::height::Height;
use thalweg::io::atomic::atomic;
use thalweg::io::terrain::{load, load_layer};
use thalweg::io::trees::load_trees;
use thalweg::pictures::light::Sun;
use thalweg::pictures::perspective::{self, ViewOptions};
use thalweg::pictures::picture::Picture;
use thalweg::pictures::ramps::Ramp;
use thalweg::pictures::shade::{self, ShadeOptions};
use thalweg::products::mesh::{self, MeshOptions, Up};
use thalweg::products::mesh_files::{Glb, write_obj, write_stl};
use thalweg::products::normals::{BumpMap, Depth, Green, NormalMap};
use thalweg::products::stand::Stand;
use thalweg::terrain::{Terrain, WATER};
use thalweg::{Error, Result};

use crate::args::{CameraArgs, Compare, LoadArgs, LookArgs, Mesh, Normals, Shade, View};
use crate::output;
use crate::voice::Voice;

/// Longer side in pixels of the map that a build draws: what a screen shows.
pub const MAP: usize = 2048;

/// Draws a shaded map.
///
/// # Errors
/// An unusable input, water of another size, an output that cannot be written.
pub fn shade(args: &Shade, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let terrain = at_sea(ground(&args.input, &args.load, voice)?, args.sea_level)?;
    let water = water(args.water.as_deref(), &terrain)?;
    let trees = trees(args.trees.as_deref(), &terrain, voice)?;
    let options = ShadeOptions {
        ramp: args.look.ramp()?,
        sun: args.look.sun(),
        exaggeration: args.look.exaggeration,
        water: water.as_ref(),
        trees: &trees,
        scale_bar: args.scale,
        legend: args.legend,
        max_size: args.max_size,
        ..ShadeOptions::default()
    };
    write(&args.output, &shade::shade(&terrain, &options)?)
}

/// Draws a terrain in perspective.
///
/// # Errors
/// As [`shade`].
pub fn view(args: &View, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let terrain = at_sea(ground(&args.input, &args.load, voice)?, args.camera.sea_level)?;
    let water = water(args.water.as_deref(), &terrain)?;
    let trees = trees(args.trees.as_deref(), &terrain, voice)?;
    let options = ViewOptions { water: water.as_ref(), trees: &trees, ..args.camera.options(&args.look)? };
    write(&args.output, &perspective::view(&terrain, &options)?)
}

/// The map of what `drain` found: lakes filled, rivers drawn.
///
/// # Errors
/// When it cannot be written.
pub fn drained(terrain: &Terrain, lakes: &Field<f32>, rivers: &[Link], path: &Path) -> Result<()> {
    let options = ShadeOptions { water: Some(lakes), rivers, max_size: Some(MAP), ..ShadeOptions::default() };
    write(path, &shade::shade(terrain, &options)?)
}

/// Draws before and after, in perspective.
///
/// # Errors
/// As [`shade`].
pub fn compare(args: &Compare, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let sea = args.camera.sea_level;
    let before = at_sea(ground(&args.before, &args.load, voice)?, sea)?;
    let after = at_sea(ground(&args.after, &args.load, voice)?, sea)?;
    if before.grid.size != after.grid.size {
        let size = |terrain: &Terrain| format!("{} × {}", terrain.grid.cols(), terrain.grid.rows());
        let allowed = format!("{} (columns × rows of {})", size(&before), args.before.display());
        return Err(Error::value(args.after.display().to_string(), size(&after), allowed));
    }
    let water = water(args.water.as_deref(), &after)?;
    let options = ViewOptions { water: water.as_ref(), ..args.camera.options(&args.look)? };
    write(&args.output, &perspective::compare(&before, &after, &options)?)
}

/// Writes a mesh; the ending picks the format, and with it which axis points up.
///
/// # Errors
/// As [`shade`].
pub fn mesh(args: &Mesh, voice: Voice) -> Result<()> {
    let ending = output::check_ending(&args.output, &["glb", "obj", "stl"])?;
    let terrain = ground(&args.input, &args.load, voice)?;
    let up = if ending == "stl" { Up::Z } else { Up::Y };
    let options = MeshOptions { up, max_height: args.max_height };
    let mesh = mesh::Mesh::of(&terrain, &options)?;
    if args.trees.is_some() && ending != "glb" {
        return Err(Error::file(&args.output, "holds no trees: they are nodes that share a few shapes; write .glb"));
    }
    let trees = trees(args.trees.as_deref(), &terrain, voice)?;
    let stand = args.trees.as_ref().map(|_| Stand::of(&trees, &terrain, &options, args.max_trees)).transpose()?;
    if let Some(stand) = stand.as_ref().filter(|stand| stand.left_out > 0) {
        let (kept, all) = (stand.trees.len(), stand.trees.len() + stand.left_out);
        voice.warn(&format!("{kept} of {all} trees are in the mesh, taken evenly; --max-trees sets how many"));
    }
    let path = &args.output;
    match ending {
        "glb" => {
            let map = ShadeOptions { max_size: Some(MAP), ..ShadeOptions::default() };
            let map = args.texture.then(|| shade::shade(&terrain, &map)).transpose()?;
            let glb = Glb::new(&mesh, map.as_ref(), stand.as_ref())?;
            atomic(path, |file| glb.write(file).map_err(Error::io(path, "write")))
        }
        "obj" => atomic(path, |file| write_obj(&mesh, file).map_err(Error::io(path, "write"))),
        _ => atomic(path, |file| write_stl(&mesh, file).map_err(Error::io(path, "write"))),
    }
}

/// Writes a normal map or a bump map.
///
/// # Errors
/// As [`shade`].
pub fn normals(args: &Normals, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let terrain = ground(&args.input, &args.load, voice)?;
    let depth = if args.sixteen { Depth::Sixteen } else { Depth::Eight };
    let path = &args.output;
    if args.bump {
        let bump = BumpMap::of(&terrain);
        voice.say(&format!("black is {} m, white {} m", bump.low, bump.high));
        return atomic(path, |file| bump.encode(file, depth).map_err(Error::io(path, "write")));
    }
    let green = if args.directx { Green::Down } else { Green::Up };
    let map = NormalMap::of(&terrain, args.scale);
    atomic(path, |file| map.encode(file, depth, green).map_err(Error::io(path, "write")))
}

/// A map of a world, built or being built, with the water and the trees that it holds.
///
/// # Errors
/// When it cannot be written, or the terrain's table of trees is none.
pub fn shaded(terrain: &Terrain, options: ShadeOptions<'_>, path: &Path) -> Result<()> {
    let water = terrain.layers.get(WATER.name).filter(|layer| layer.unit == WATER.unit);
    let water = water.map(|layer| layer.cells.to_float());
    let forest = Forest::read(terrain)?;
    let options = ShadeOptions { water: water.as_ref(), trees: forest.trees(), ..options };
    write(path, &shade::shade(terrain, &options)?)
}

impl LookArgs {
    fn ramp(&self) -> Result<&'static Ramp> {
        self.ramp.as_deref().map_or(Ok(Ramp::land()), Ramp::find)
    }

    fn sun(&self) -> Sun {
        let [azimuth, altitude] = self.sun;
        Sun { azimuth, altitude }
    }
}

impl CameraArgs {
    fn options(&self, look: &LookArgs) -> Result<ViewOptions<'_>> {
        let [azimuth, elevation] = self.from;
        Ok(ViewOptions {
            size: self.size,
            azimuth,
            elevation,
            zoom: self.zoom,
            ramp: look.ramp()?,
            sun: look.sun(),
            exaggeration: look.exaggeration,
            title: self.title.as_deref(),
            ..ViewOptions::default()
        })
    }
}

/// The terrain with a sea up to `level` metres.
fn at_sea(mut terrain: Terrain, level: Option<f64>) -> Result<Terrain> {
    terrain.grid.sea_level = level.map(Height::from_metres).transpose()?;
    Ok(terrain)
}

/// The depths of water in a file.
fn water(path: Option<&Path>, terrain: &Terrain) -> Result<Option<Field<f32>>> {
    let cells = path.map(|path| load_layer(path, &terrain.grid, &WATER)).transpose()?;
    Ok(cells.map(|cells| cells.to_float()))
}

/// The trees of a table.
fn trees(path: Option<&Path>, terrain: &Terrain, voice: Voice) -> Result<Vec<Tree>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let (trees, warnings) = load_trees(path, &terrain.grid)?;
    voice.warn_all(warnings);
    Ok(trees)
}

fn ground(path: &Path, args: &LoadArgs, voice: Voice) -> Result<Terrain> {
    let loaded = load(path, &args.options())?;
    voice.warn_all(loaded.warnings);
    Ok(loaded.terrain)
}

fn write(path: &Path, picture: &Picture) -> Result<()> {
    atomic(path, |file| picture.encode(file).map_err(Error::io(path, "write")))
}
