//! `shade`, `view`, `compare`, `mesh`, `normals`: a terrain made visible.

use std::path::{Path, PathBuf};

use thalweg::base::names::shown;
use thalweg::io::apart::apart;
use thalweg::io::atomic::atomic;
use thalweg::io::terrain::{load, load_layer_of};
use thalweg::io::trees::load_trees;
use thalweg::io::{Sidecar, output, save_picture};
use thalweg::models::glacier::ICE;
use thalweg::pictures::layer::{self, LayerOptions};
use thalweg::pictures::light::Sun;
use thalweg::pictures::momentum::momentum;
use thalweg::pictures::perspective::{self, Land, ViewOptions};
use thalweg::pictures::picture::Picture;
use thalweg::pictures::ramps::Ramp;
use thalweg::pictures::rivers::draw_lines;
use thalweg::pictures::shade::{self, SCREEN, ShadeOptions};
use thalweg::pictures::sheet::{Shown, sheet};
use thalweg::pictures::water::{Streams, Water};
#[cfg(feature = "studio")]
use thalweg::process::forest::Forest;
use thalweg::process::forest::Tree;
use thalweg::products::mesh::{self, MeshOptions, Up};
use thalweg::products::mesh_files::{Glb, write_obj, write_stl};
use thalweg::products::normals::{BumpMap, Depth, Green, NormalMap};
use thalweg::products::resample::resample;
use thalweg::products::stand::Stand;
use thalweg::products::wetness::{Rules, wetness};
use thalweg::recipe::Recipe;
use thalweg::rivers::{Network, Vertex};
use thalweg::terrain::field::Field;
use thalweg::terrain::height::Height;
use thalweg::terrain::{
    DISCHARGE, LOOSE, LayerSpec, MOMENTUM_X, MOMENTUM_Y, POOL, SOIL, SUSPENDED, TREE_DENSITY, Terrain, WATER,
};
use thalweg::{Error, Result};

use crate::args::{CameraArgs, Compare, LoadArgs, LookArgs, Mesh, Normals, Shade, View, WaterArgs};
use crate::console::Voice;
use crate::memory;

/// The layers of a folder that pictures show.
const LAYERS: [LayerSpec; 7] = [WATER, POOL, DISCHARGE, MOMENTUM_X, MOMENTUM_Y, LOOSE, ICE];

/// Draws a shaded map, or a layer's.
///
/// # Errors
/// An unusable input, water of another size, a layer that is not there, an output that cannot be written.
pub fn shade(args: &Shade, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    check_apart([&args.input], &args.water, args.trees.as_deref(), &args.output)?;
    let mut terrain = input(&args.input, &args.load, args.sea_level, voice)?;
    memory::SHADE.over("shade", &terrain)?;
    args.water.lay(&mut terrain)?;
    if let Some(name) = &args.layer {
        return save_picture(&args.output, &layer(&terrain, name, args)?);
    }
    let trees = trees(table(args.trees.as_deref(), &args.input).as_deref(), &terrain, voice)?;
    let options = ShadeOptions {
        ramp: args.look.ramp(recipe_of(&args.input)?.as_ref())?,
        sun: args.look.sun(),
        exaggeration: args.look.exaggeration,
        water: args.water.over(&terrain),
        trees: &trees,
        scale_bar: args.scale,
        legend: args.legend,
        max_size: args.max_size,
        ..ShadeOptions::default()
    };
    save_picture(&args.output, &shade::shade(&terrain, &options)?)
}

/// Draws a terrain in perspective.
///
/// # Errors
/// As [`shade`].
pub fn view(args: &View, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    check_apart([&args.input], &args.water, args.trees.as_deref(), &args.output)?;
    let mut terrain = input(&args.input, &args.load, args.camera.sea_level, voice)?;
    args.camera.room("view", [&terrain])?;
    args.water.lay(&mut terrain)?;
    let trees = trees(table(args.trees.as_deref(), &args.input).as_deref(), &terrain, voice)?;
    let water = args.water.over(&terrain);
    let options = ViewOptions { water, trees: &trees, ..args.camera.options(&args.look, &args.input)? };
    save_picture(&args.output, &perspective::view(&terrain, &options)?)
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
        level.map_or(Height::ZERO, |level| Height(level.0.saturating_sub(drawn.ground[(i, j)].0)).max(Height::ZERO))
    });
    let water = Water { pools: Some(&lakes), ..Water::default() };
    let options = ShadeOptions { water, max_size: Some(SCREEN), ..ShadeOptions::default() };
    let mut map = shade::shade(&drawn, &options)?;
    let pixels = [0, 1].map(|k| map.size()[k] as f64 / drawn.grid.size[k] as f64);
    let place = |at: [f64; 2]| [0, 1].map(|k| (((at[k] - 0.5) / step[k] + 0.5) * pixels[k]) as f32);
    let metres = network.cell * step[1] / pixels[1];
    let broad = (map.size()[0].max(map.size()[1]) as f64 / RIVER_MAP as f64).max(0.5);
    let ends = network.rivers.iter().filter_map(|run| run.vertices.last());
    let greatest = ends.map(|end| end.discharge()).fold(1e-9, f64::max);
    let half = |v: &Vertex| {
        let share = (v.discharge() / greatest).sqrt();
        (0.5 * v.width / metres).max(broad * (0.45 + 1.9 * share)) as f32
    };
    let lines: Vec<_> =
        network.rivers.iter().map(|run| run.vertices.iter().map(|v| (place(v.place), half(v))).collect()).collect();
    draw_lines(&mut map, &lines);
    save_picture(path, &map)
}

/// Draws two terrains in perspective, or a sheet of several.
///
/// # Errors
/// As [`shade`]; two terrains of unequal size, captions that are not one for each.
pub fn compare(args: &Compare, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    check_apart(&args.inputs, &args.water, None, &args.output)?;
    let count = args.inputs.len();
    if !args.caption.is_empty() && args.caption.len() != count {
        return Err(Error::value("number of captions", args.caption.len(), format!("{count}, one for each terrain")));
    }
    let sea = args.camera.sea_level;
    let terrains = args.inputs.iter().map(|path| input(path, &args.load, sea, voice)).collect::<Result<Vec<_>>>();
    let mut terrains = terrains?;
    if let [before, after] = terrains.as_slice()
        && before.grid.size != after.grid.size
    {
        let size = |terrain: &Terrain| format!("{} × {}", terrain.grid.cols(), terrain.grid.rows());
        let allowed = format!("{} (columns × rows of {})", size(before), shown(&args.inputs[0]));
        return Err(Error::value(shown(&args.inputs[1]), size(after), allowed));
    }
    args.camera.room("compare", &terrains)?;
    if let Some(last) = terrains.last_mut() {
        args.water.lay(last)?;
    }
    let options = args.camera.options(&args.look, &args.inputs[0])?;
    let woods = args.inputs.iter().zip(&terrains).map(|(path, terrain)| {
        let table = table(None, path);
        trees(table.as_deref(), terrain, voice)
    });
    let woods = woods.collect::<Result<Vec<_>>>()?;
    let lands = terrains.iter().zip(&woods);
    let lands = lands.map(|(terrain, trees)| Land { terrain, water: args.water.over(terrain), trees });
    let lands: Vec<Land<'_>> = lands.collect();
    if let ([before, after], false, true) = (lands.as_slice(), args.sheet, args.caption.is_empty()) {
        return save_picture(&args.output, &perspective::compare(*before, *after, &options)?);
    }
    let named = args.inputs.iter().map(|path| name(path));
    let captions: Vec<String> = if args.caption.is_empty() { named.collect() } else { args.caption.clone() };
    let shown: Vec<Shown<'_>> =
        lands.into_iter().zip(&captions).map(|(land, caption)| Shown { land, caption }).collect();
    save_picture(&args.output, &sheet(&shown, &options)?)
}

/// What a terrain is called under its picture.
fn name(path: &Path) -> String {
    let folder = path.is_dir();
    let part = if folder { path.file_name() } else { path.file_stem() };
    part.map_or_else(|| shown(path), |part| shown(Path::new(part)))
}

/// The picture of one layer over grey relief.
fn layer(terrain: &Terrain, name: &str, args: &Shade) -> Result<Picture> {
    let shown = |unit| LayerOptions {
        title: name,
        scale_bar: args.scale,
        max_size: args.max_size,
        ..LayerOptions::fitting(name, unit)
    };
    if name == "momentum" {
        let parts = [MOMENTUM_X, MOMENTUM_Y].map(|spec| terrain.float(&spec).ok_or(spec));
        let [Ok(east), Ok(south)] = parts else { return Err(unknown_layer(terrain, name)) };
        return momentum(terrain, east, south, &shown(MOMENTUM_X.unit));
    }
    if name == "wetness" && !terrain.layers.contains_key(name) {
        return layer::layer(terrain, &wetness(terrain, &Rules::default())?, &shown("1"));
    }
    let loose = terrain.loose.as_ref().filter(|_| name == LOOSE.name);
    let values = match (loose, terrain.layers.get(name)) {
        (Some(loose), _) => loose.map(|h| h.metres_f32()),
        (None, Some(layer)) => layer.cells.to_float(),
        (None, None) => return Err(unknown_layer(terrain, name)),
    };
    let unit = LAYERS.iter().find(|spec| spec.name == name).map_or("", |spec| spec.unit);
    layer::layer(terrain, &values, &shown(unit))
}

fn unknown_layer(terrain: &Terrain, name: &str) -> Error {
    let loose = terrain.loose.as_ref().map(|_| LOOSE.name);
    let known = terrain.layers.keys().map(String::as_str).chain(loose).chain(["wetness"]);
    Error::unknown("layer", name, known)
}

/// Writes a mesh; the ending picks the format, and with it which axis points up.
///
/// # Errors
/// As [`shade`].
pub fn mesh(args: &Mesh, voice: Voice) -> Result<()> {
    let ending = output::check_ending(&args.output, &["glb", "obj", "stl"])?;
    let reads = [Sidecar::files(&args.input), args.trees.iter().cloned().collect()].concat();
    apart(&reads, std::slice::from_ref(&args.output))?;
    let terrain = ground(&args.input, &args.load, voice)?;
    memory::MESH.over("mesh", &terrain)?;
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
            let map = ShadeOptions { max_size: Some(SCREEN), ..ShadeOptions::default() };
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
    apart(&Sidecar::files(&args.input), std::slice::from_ref(&args.output))?;
    let terrain = ground(&args.input, &args.load, voice)?;
    memory::NORMALS.over("normals", &terrain)?;
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

impl WaterArgs {
    /// Lays the water of the files over the terrain, in place of what its folder had.
    fn lay(&self, terrain: &mut Terrain) -> Result<()> {
        let files = [(&self.water, WATER), (&self.pools, POOL), (&self.streams, DISCHARGE)];
        for (path, spec) in files.iter().filter_map(|(path, spec)| Some((path.as_ref()?, spec))) {
            let cells = load_layer_of(path, terrain, spec)?;
            terrain.insert(spec, cells)?;
        }
        Ok(())
    }

    /// The terrain's water, its streams as they were asked for.
    fn over<'a>(&self, terrain: &'a Terrain) -> Water<'a> {
        let water = Water::of(terrain);
        let range = self.stream_range.map(|range| range.map(|q| q as f32));
        let threshold = self.stream_threshold.map(|q| q as f32);
        Water { streams: water.streams.map(|streams| Streams { range, threshold, ..streams }), ..water }
    }
}

impl LookArgs {
    /// The ramp that was asked for; else that of the world's recipe.
    fn ramp(&self, recipe: Option<&Recipe>) -> Result<&'static Ramp> {
        let own = || recipe.map_or(Ramp::land(), |recipe| recipe.ramp);
        self.ramp.as_deref().map_or_else(|| Ok(own()), Ramp::find)
    }

    fn sun(&self) -> Sun {
        let [azimuth, altitude] = self.sun;
        Sun { azimuth, altitude }
    }

    /// A view of this look from the usual place, in the colours of `recipe` where none were asked for.
    ///
    /// # Errors
    /// An unknown ramp.
    pub fn options<'a>(&self, recipe: Option<&Recipe>) -> Result<ViewOptions<'a>> {
        Ok(ViewOptions {
            ramp: self.ramp(recipe)?,
            sun: self.sun(),
            exaggeration: self.exaggeration,
            ..ViewOptions::default()
        })
    }
}

impl CameraArgs {
    /// Refuses views of this size, one after the other, that cannot fit.
    fn room<'a>(&self, what: &str, terrains: impl IntoIterator<Item = &'a Terrain>) -> Result<()> {
        let [height, width] = self.size;
        let sizes: Vec<_> = terrains.into_iter().map(|terrain| terrain.grid.size).collect();
        let largest = sizes.iter().copied().max_by_key(|[rows, cols]| rows * cols).unwrap_or_default();
        let what = format!("{what} of {} × {} cells at {width} × {height} pixels", largest[1], largest[0]);
        // Each picture is kept until all are side by side.
        let need = memory::Need { pixel: memory::VIEW.pixel + 8 * sizes.len() as u64, ..memory::VIEW };
        need.check(&what, largest, self.size)
    }

    fn options(&self, look: &LookArgs, input: &Path) -> Result<ViewOptions<'_>> {
        let [azimuth, elevation] = self.from;
        Ok(ViewOptions {
            size: self.size,
            azimuth,
            elevation,
            zoom: self.zoom,
            title: self.title.as_deref(),
            ..look.options(recipe_of(input)?.as_ref())?
        })
    }
}

/// A terrain from a file; or from a folder that `build` or `drain` wrote, with its layers and, from its recipe, its edges and sea.
///
/// # Errors
/// When a file cannot be read, or is none of this terrain.
pub fn input(path: &Path, args: &LoadArgs, sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    let sea = sea.map(Height::from_metres).transpose()?;
    if !path.is_dir() {
        let mut terrain = ground(path, args, voice)?;
        terrain.grid.sea_level = sea;
        return Ok(terrain);
    }
    let file = |name: &str| Some(path.join(name)).filter(|file| file.is_file());
    let Some(height) = file("height.tif") else {
        return Err(Error::file(
            path,
            "is a folder without a height.tif, which `build` writes, and `drain` with --runoff",
        ));
    };
    let mut terrain = ground(&height, args, voice)?;
    for spec in &LAYERS {
        if let Some(file) = file(&format!("{}.tif", spec.name)) {
            let cells = load_layer_of(file, &terrain, spec)?;
            terrain.insert(spec, cells)?;
        }
    }
    if let Some(recipe) = recipe_of(path)? {
        terrain.grid = recipe.framed(terrain.grid)?;
    }
    terrain.grid.sea_level = sea.or(terrain.grid.sea_level);
    Ok(terrain)
}

/// The files that are read of a terrain: a file, or a folder that holds one.
pub fn reads_of(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return Sidecar::files(path);
    }
    let layers =
        LAYERS.iter().map(|spec| spec.name).chain(MORE).chain(["height"]).map(|name| path.join(format!("{name}.tif")));
    layers.chain(["recipe.toml", "trees.csv"].map(|name| path.join(name))).filter(|file| file.is_file()).collect()
}

/// Further layers of a folder that the studio shows.
const MORE: [&str; 3] = [SOIL.name, SUSPENDED.name, TREE_DENSITY.name];

/// Refuses a picture that would be written over what it is drawn from.
fn check_apart<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    water: &WaterArgs,
    trees: Option<&Path>,
    picture: &Path,
) -> Result<()> {
    let layers = [&water.water, &water.pools, &water.streams].into_iter().flatten();
    let mut reads: Vec<PathBuf> = inputs.into_iter().flat_map(|input| reads_of(input)).collect();
    reads.extend(layers.flat_map(|layer| Sidecar::files(layer)));
    reads.extend(trees.map(Path::to_path_buf));
    apart(&reads, &[picture.to_path_buf()])
}

/// The recipe in a world's folder, if it is one.
///
/// # Errors
/// When it cannot be read.
pub fn recipe_of(input: &Path) -> Result<Option<Recipe>> {
    Some(input.join("recipe.toml")).filter(|file| file.is_file()).as_deref().map(Recipe::read).transpose()
}

/// The same with all that the studio shows: further layers, and the trees.
///
/// # Errors
/// When a file cannot be read, or is none of this terrain.
#[cfg(feature = "studio")]
pub fn world(path: &Path, args: &LoadArgs, sea: Option<f64>, voice: Voice) -> Result<Terrain> {
    let mut terrain = input(path, args, sea, voice)?;
    for spec in [SOIL, SUSPENDED, TREE_DENSITY] {
        let file = path.join(format!("{}.tif", spec.name));
        if file.is_file() {
            let cells = load_layer_of(file, &terrain, &spec)?;
            terrain.insert(&spec, cells)?;
        }
    }
    let trees = trees(table(None, path).as_deref(), &terrain, voice)?;
    if !trees.is_empty() {
        Forest::of(trees, &terrain.grid)?.write(&mut terrain)?;
    }
    Ok(terrain)
}

/// The table of trees that was given, or else the folder's.
fn table(given: Option<&Path>, input: &Path) -> Option<PathBuf> {
    let own = || Some(input.join("trees.csv")).filter(|file| file.is_file());
    given.map(Path::to_path_buf).or_else(own)
}

/// The trees of a table.
fn trees(path: Option<&Path>, terrain: &Terrain, voice: Voice) -> Result<Vec<Tree>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let (trees, warnings) = load_trees(path, &terrain.grid)?;
    voice.warn_all(&warnings);
    Ok(trees)
}

fn ground(path: &Path, args: &LoadArgs, voice: Voice) -> Result<Terrain> {
    let loaded = load(path, &args.options())?;
    voice.warn_all(&loaded.warnings);
    Ok(loaded.terrain)
}
