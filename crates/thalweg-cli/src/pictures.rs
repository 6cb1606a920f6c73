//! `shade`, `compare`, `mesh`, `normals`: a terrain made visible.

use std::path::Path;

use thalweg::height::Height;
use thalweg::io::atomic::atomic;
use thalweg::io::terrain::{load, load_layer};
use thalweg::pictures::light::Sun;
use thalweg::pictures::perspective::{self, ViewOptions};
use thalweg::pictures::picture::Picture;
use thalweg::pictures::ramps::Ramp;
use thalweg::pictures::shade::{self, ShadeOptions};
use thalweg::products::mesh::{self, MeshOptions, Up};
use thalweg::products::mesh_files::{Glb, write_obj, write_stl};
use thalweg::products::normals::{BumpMap, Depth, Green, NormalMap};
use thalweg::terrain::{CellType, LayerSpec, Terrain};
use thalweg::{Error, Result};

use crate::args::{Compare, LoadArgs, LookArgs, Mesh, Normals, Shade};
use crate::output;
use crate::voice::Voice;

/// The layer that `--water` gives.
const WATER: LayerSpec = LayerSpec { name: "water", unit: "m", meaning: "Depth of water.", cells: CellType::Float };

/// Longer side in pixels of the map that a build draws: what a screen shows.
const MAP: usize = 2048;

/// Draws a shaded map.
///
/// # Errors
/// An unusable input, water of another size, an output that cannot be written.
pub fn shade(args: &Shade, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let mut terrain = ground(&args.input, &args.load, voice)?;
    terrain.grid.sea_level = args.sea_level.map(Height::from_metres).transpose()?;
    let water = args.water.as_ref().map(|path| load_layer(path, &terrain.grid, &WATER)).transpose()?;
    let water = water.map(|cells| cells.to_float());
    let options = ShadeOptions {
        ramp: args.look.ramp()?,
        sun: args.look.sun(),
        exaggeration: args.look.exaggeration,
        water: water.as_ref(),
        scale_bar: args.scale,
        legend: args.legend,
        max_size: args.max_size,
        ..ShadeOptions::default()
    };
    write(&args.output, &shade::shade(&terrain, &options)?)
}

/// Draws before and after, in perspective.
///
/// # Errors
/// As [`shade`].
pub fn compare(args: &Compare, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let before = ground(&args.before, &args.load, voice)?;
    let after = ground(&args.after, &args.load, voice)?;
    if before.grid.size != after.grid.size {
        let size = |terrain: &Terrain| format!("{} × {}", terrain.grid.cols(), terrain.grid.rows());
        let allowed = format!("{} (columns × rows of {})", size(&before), args.before.display());
        return Err(Error::value(args.after.display().to_string(), size(&after), allowed));
    }
    let options = ViewOptions {
        ramp: args.look.ramp()?,
        sun: args.look.sun(),
        exaggeration: args.look.exaggeration,
        title: args.title.as_deref(),
        ..ViewOptions::default()
    };
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
    let mesh = mesh::Mesh::of(&terrain, &MeshOptions { up, max_height: args.max_height })?;
    let path = &args.output;
    match ending {
        "glb" => {
            let map = ShadeOptions { max_size: Some(MAP), ..ShadeOptions::default() };
            let map = args.texture.then(|| shade::shade(&terrain, &map)).transpose()?;
            let glb = Glb::new(&mesh, map.as_ref())?;
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

/// The map that goes with a built world, with the water that its layers hold.
///
/// # Errors
/// When it cannot be written.
pub fn shaded(terrain: &Terrain, path: &Path) -> Result<()> {
    let water = terrain.layers.get(WATER.name).filter(|layer| layer.unit == WATER.unit);
    let water = water.map(|layer| layer.cells.to_float());
    let options = ShadeOptions { water: water.as_ref(), max_size: Some(MAP), ..ShadeOptions::default() };
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

fn ground(path: &Path, args: &LoadArgs, voice: Voice) -> Result<Terrain> {
    let loaded = load(path, &args.options())?;
    voice.warn_all(loaded.warnings);
    Ok(loaded.terrain)
}

fn write(path: &Path, picture: &Picture) -> Result<()> {
    atomic(path, |file| picture.encode(file).map_err(Error::io(path, "write")))
}
