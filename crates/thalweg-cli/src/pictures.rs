//! `shade`, `view`, `compare`, `mesh`, `normals`: a terrain made visible.

use std::path::Path;

use thalweg::field::Field;
use thalweg::flow::Link;
use thalweg::height::Height;
use thalweg::io::atomic::atomic;
use thalweg::io::terrain::{load, load_layer};
use thalweg::pictures::light::Sun;
use thalweg::pictures::perspective::{self, ViewOptions};
use thalweg::pictures::picture::Picture;
use thalweg::pictures::ramps::Ramp;
use thalweg::pictures::rivers::draw_lines;
use thalweg::pictures::shade::{self, ShadeOptions};
use thalweg::products::mesh::{self, MeshOptions, Up};
use thalweg::products::mesh_files::{Glb, write_obj, write_stl};
use thalweg::products::normals::{BumpMap, Depth, Green, NormalMap};
use thalweg::products::resample::resample;
use thalweg::rivers::{Network, Vertex};
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

/// Draws a terrain in perspective.
///
/// # Errors
/// As [`shade`].
pub fn view(args: &View, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let terrain = at_sea(ground(&args.input, &args.load, voice)?, args.camera.sea_level)?;
    let water = water(args.water.as_deref(), &terrain)?;
    let options = ViewOptions { water: water.as_ref(), ..args.camera.options(&args.look)? };
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

/// Longer side in pixels that a map of rivers has at least.
const RIVER_MAP: usize = 1600;

/// The map of a network: its lakes filled, its rivers as wide as their water says.
///
/// # Errors
/// When it cannot be written.
pub fn river_map(terrain: &Terrain, network: &Network, path: &Path) -> Result<()> {
    let bare = Terrain { layers: Default::default(), tables: Default::default(), ..terrain.clone() };
    let [rows, cols] = bare.grid.size;
    let scale = RIVER_MAP as f64 / rows.max(cols) as f64;
    let finer = scale > 1.0 && rows.min(cols) > 1;
    let size = |n: usize| ((n - 1) as f64 * scale).round() as usize + 1;
    let drawn = if finer { resample(&bare, [size(rows), size(cols)])? } else { bare };
    let [tall, wide] = drawn.grid.size;
    // Samples at the corners stay where they are: cells' middles lie at whole multiples.
    let step = [0, 1].map(|k| (network.size[k].max(2) - 1) as f64 / (drawn.grid.size[k].max(2) - 1) as f64);
    let lakes = Field::generate([tall, wide], |i, j| {
        let at = [i as f64 * step[0], j as f64 * step[1]].map(|x| x.round() as usize);
        let near = |at: usize, n: usize| at.saturating_sub(1)..(at + 2).min(n);
        let around = near(at[0], rows).flat_map(|r| near(at[1], cols).map(move |c| (r, c)));
        let levels = around.map(|cell| network.lake[cell]).filter(|lake| *lake > 0);
        let level = levels.map(|lake| network.lakes[lake as usize - 1].level).max();
        level.map_or(0.0, |level| Height(level.0.saturating_sub(drawn.ground[(i, j)].0)).metres_f32().max(0.0))
    });
    let options = ShadeOptions { water: Some(&lakes), max_size: Some(MAP), ..ShadeOptions::default() };
    let mut map = shade::shade(&drawn, &options)?;
    let pixels = [0, 1].map(|k| map.size()[k] as f64 / drawn.grid.size[k] as f64);
    let place = |at: [f64; 2]| [0, 1].map(|k| (((at[k] - 0.5) / step[k] + 0.5) * pixels[k]) as f32);
    let metres = network.cell * step[1] / pixels[1];
    let broad = (map.size()[0].max(map.size()[1]) as f64 / RIVER_MAP as f64).max(0.5);
    let ends = network.runs.iter().filter_map(|run| run.vertices.last());
    let greatest = ends.map(|end| end.discharge()).fold(1e-9, f64::max);
    let half = |v: &Vertex| {
        let share = (v.discharge() / greatest).sqrt();
        (0.5 * v.width / metres).max(broad * (0.45 + 1.9 * share)) as f32
    };
    let lines: Vec<_> =
        network.runs.iter().map(|run| run.vertices.iter().map(|v| (place(v.place), half(v))).collect()).collect();
    draw_lines(&mut map, &lines);
    write(path, &map)
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

/// A map of a world, built or being built, with the water that its layers hold.
///
/// # Errors
/// When it cannot be written.
pub fn shaded(terrain: &Terrain, options: ShadeOptions<'_>, path: &Path) -> Result<()> {
    let water = terrain.layers.get(WATER.name).filter(|layer| layer.unit == WATER.unit);
    let water = water.map(|layer| layer.cells.to_float());
    write(path, &shade::shade(terrain, &ShadeOptions { water: water.as_ref(), ..options })?)
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

fn ground(path: &Path, args: &LoadArgs, voice: Voice) -> Result<Terrain> {
    let loaded = load(path, &args.options())?;
    voice.warn_all(loaded.warnings);
    Ok(loaded.terrain)
}

fn write(path: &Path, picture: &Picture) -> Result<()> {
    atomic(path, |file| picture.encode(file).map_err(Error::io(path, "write")))
}
