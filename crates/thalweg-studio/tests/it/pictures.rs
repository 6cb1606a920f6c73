//! Tests of the view as pictures, against reference pictures that a person has checked. Graphics drivers differ a
//! little, so a picture may differ a little too.
//!
//! `THALWEG_BLESS=1 cargo test -p thalweg-studio --test it pictures::` writes the references again; the tests then fail
//! on purpose, to report that they did so.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use thalweg_core::terrain::{Cells, POOL, SEDIMENT};
use thalweg_core::{Cell, Field, Grid, Height, Terrain};
use thalweg_models::process::forest::{Forest, KINDS, Tree};
use thalweg_models::rocks::Rock;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::products::overlay::Overlay;
use thalweg_render::products::textures::TextureRules;
use thalweg_studio::picture::{PictureOptions, ViewDirection, draw_picture_with_gpu};
use thalweg_studio::view::camera::ViewCamera;
use thalweg_studio::view::gpu::Gpu;
use thalweg_studio::view::look::{Appearance, Shot, ViewDot, ViewLine};
use thalweg_studio::view::renderer::Renderer;
use thalweg_studio::view::surface::{Natural, Surface, SurfaceOptions};
use thalweg_studio::view::target::Target;

/// The mean difference allowed in a channel, in codes of 255. `FAR` is the difference from which a pixel counts as
/// different.
const MEAN: f64 = 1.5;
const FAR: u8 = 24;
/// The share of pixels that may differ: edges fall on other pixels, and small trees on other edges.
const SHARE: f64 = 0.02;

fn gpu() -> Gpu {
    Gpu::open_headless().unwrap_or_else(|problem| panic!("the pictures need something that draws: {problem}"))
}

/// Builds a mountain range around a basin from sums of waves; cells are 40 m wide at 128 cells.
fn land(n: usize) -> Terrain {
    let mut terrain = Terrain::new(Grid::new([n, n], 40.0 * 128.0 / n as f64).unwrap());
    for i in 0..n {
        for j in 0..n {
            let (y, x) = (i as f64 / n as f64, j as f64 / n as f64);
            let ridge = |u: f64, v: f64, waves: f64| {
                1.0 - ((u * waves + (v * waves * 1.3).sin()).sin() * (v * waves - (u * waves * 0.9).cos()).cos()).abs()
            };
            let basin = ((x - 0.45).hypot(y - 0.55) * 2.2).min(1.0);
            let rock = 700.0 * ridge(x, y, 7.0) + 260.0 * ridge(y, x, 17.0) + 90.0 * ridge(x + y, x - y, 31.0);
            terrain.ground[(i, j)] = Height::from_metres_clamped(200.0 + rock * (0.15 + 0.85 * basin) + 300.0 * basin);
        }
    }
    terrain
}

/// Builds the same terrain with a lake, a sea, sediment, and a wood with every kind of tree.
fn wood() -> Terrain {
    let mut terrain = land(128);
    let size = terrain.grid.size;
    let level = Height::from_metres_clamped(470.0);
    let inside = |i: usize, j: usize| (30..110).contains(&i) && (30..100).contains(&j);
    let pool = Field::from_fn(size, |i, j| {
        if inside(i, j) { Height((level.0 - terrain.ground[(i, j)].0).max(0)) } else { Height::ZERO }
    });
    let loose = Field::from_fn(size, |i, _| Height::from_metres_clamped(if i > 64 { 6.0 } else { 0.0 }));
    let stands = |i: usize, j: usize| pool[(i, j)].0 == 0 && terrain.ground[(i, j)].metres() < 800.0;
    let trees = (0..24_000u64).filter_map(|n| {
        let (i, j) = ((n * 7919 % 128) as usize, (n * 104_729 / 128 % 128) as usize);
        let part = Cell::new((n * 9973 % 65_536) as u16, (n * 31_337 % 65_536) as u16);
        let kind = ((i / 16 + j / 16) % KINDS.len()) as u8;
        let cell = Cell::new(i as u32, j as u32);
        stands(i, j).then_some(Tree { number: n, cell, part, kind, size: 1.0, age: 9, patch: 5.0 })
    });
    let forest = Forest::from_trees(trees.collect(), &terrain.grid).unwrap();
    terrain.insert_layer(&POOL, Cells::Height(pool.clone())).unwrap();
    terrain.insert_layer(&SEDIMENT, Cells::Height(loose)).unwrap();
    forest.write(&mut terrain).unwrap();
    terrain
}

fn compare(name: &str, picture: &Picture) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pictures/{name}.png"));
    if std::env::var_os("THALWEG_BLESS").is_some() {
        fs::write(&path, picture.to_png().unwrap()).unwrap();
        panic!("{} was written; look at it, then run the test without THALWEG_BLESS", path.display());
    }
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reference = Picture::decode_png(BufReader::new(file)).unwrap();
    assert_eq!(picture.size(), reference.size(), "{name}");
    let pairs = || picture.rgb.as_slice().iter().zip(reference.rgb.as_slice());
    let off = |a: &[u8; 3], b: &[u8; 3]| [0, 1, 2].map(|c| a[c].abs_diff(b[c]));
    let sum: u64 = pairs().flat_map(|(a, b)| off(a, b)).map(u64::from).sum();
    let mean = sum as f64 / (3 * picture.rgb.len()) as f64;
    let far = pairs().filter(|(a, b)| off(a, b).iter().any(|d| *d > FAR)).count() as f64 / picture.rgb.len() as f64;
    if mean > MEAN || far > SHARE {
        let seen = std::env::temp_dir().join(format!("thalweg-{name}.png"));
        fs::write(&seen, picture.to_png().unwrap()).unwrap();
        panic!(
            "{name}: {mean:.2} codes off on average, {:.2} % of pixels far off; see {}",
            100.0 * far,
            seen.display()
        );
    }
}

fn small(view: ViewDirection) -> PictureOptions<'static> {
    PictureOptions { size: [256, 256], view, ..PictureOptions::default() }
}

#[test]
fn a_block_from_the_side() {
    compare("iso", &draw_picture_with_gpu(&gpu(), &land(128), &small(ViewDirection::Iso)).unwrap());
}

#[test]
fn a_map() {
    let look = Appearance { snow_line: Some(1150.0), ..Appearance::default() };
    compare(
        "map",
        &draw_picture_with_gpu(&gpu(), &land(128), &PictureOptions { look, ..small(ViewDirection::Map) }).unwrap(),
    );
}

#[test]
fn data_over_the_land() {
    let options = PictureOptions { overlay: Some(Overlay::Slope), ..small(ViewDirection::Top) };
    compare("overlay", &draw_picture_with_gpu(&gpu(), &land(128), &options).unwrap());
}

#[test]
fn a_wood_by_a_lake_and_the_sea() {
    let mut terrain = wood();
    terrain.grid.sea_level = Some(Height::from_metres_clamped(400.0));
    let options = PictureOptions { zoom: 1.7, elevation: Some(42.0), ..small(ViewDirection::South) };
    compare("wood", &draw_picture_with_gpu(&gpu(), &terrain, &options).unwrap());
}

/// Returns a surface and a renderer that has loaded it twice.
fn ready(gpu: &Gpu, terrain: &Terrain) -> (Surface, Renderer) {
    let surface = Surface::from_terrain(terrain, &SurfaceOptions::default()).unwrap();
    let mut renderer = Renderer::new(&gpu.device, &gpu.queue);
    renderer.load_terrain(0, &surface);
    renderer.load_terrain(1, &surface);
    (surface, renderer)
}

fn is_blank(picture: &Picture) -> bool {
    picture.rgb.as_slice().windows(2).all(|pair| pair[0] == pair[1])
}

#[test]
fn every_shape_size_and_height_is_drawn_without_a_fault() {
    let gpu = gpu();
    let mut renderer = Renderer::new(&gpu.device, &gpu.queue);
    let target = Target::new(&gpu.device, [64, 48]);
    for size in [[1, 1], [1, 9], [9, 1], [2, 2], [17, 18], [3000, 7]] {
        for height in [0.0, -11_000.0, 9_000.0] {
            let mut terrain = Terrain::new(Grid::new(size, 30.0).unwrap());
            for (k, cell) in terrain.ground.as_mut_slice().iter_mut().enumerate() {
                *cell = Height::from_metres_clamped(height * (1.0 - (k % 7) as f64 / 40.0));
            }
            terrain.grid.sea_level = (height < 0.0).then_some(Height::ZERO);
            let surface = Surface::from_terrain(&terrain, &SurfaceOptions::default()).unwrap();
            renderer.load_terrain(0, &surface);
            let look = Appearance { exaggeration: surface.exaggeration(), ..Appearance::default() };
            for camera in [
                ViewCamera::new_perspective(&surface.bounds(), 4.0 / 3.0),
                ViewCamera::new_map(&surface.bounds(), 4.0 / 3.0),
            ] {
                renderer.draw(&target, &[Shot::new_full_frame(0, camera, &look, [64, 48])]);
                let picture = target.read_picture(&gpu).unwrap();
                assert_eq!(renderer.fault(), None, "{size:?} {height}");
                // As a map, a strip is narrower than a pixel.
                assert!(size[0] > 100 || !is_blank(&picture), "{size:?} {height} {camera:?}");
            }
        }
    }
}

#[test]
fn pictures_of_one_pixel_and_strange_areas_are_no_fault() {
    let gpu = gpu();
    let (surface, mut renderer) = ready(&gpu, &land(64));
    let camera = ViewCamera::new_perspective(&surface.bounds(), 1.0);
    let look = Appearance { exaggeration: surface.exaggeration(), ..Appearance::default() };
    let one = Target::new(&gpu.device, [0, 1]);
    assert_eq!(one.size(), [1, 1]);
    renderer.draw(&one, &[Shot::new_full_frame(0, camera, &look, [1, 1])]);
    assert_eq!(one.read_picture(&gpu).unwrap().size(), [1, 1]);
    let target = Target::new(&gpu.device, [50, 40]);
    for x in [f32::NAN, f32::INFINITY, -60.0, 0.0, 0.4, 49.5, 1e9] {
        for w in [f32::NAN, -5.0, 0.0, 0.5, 30.0, 1e9] {
            let shot = Shot::new_full_frame(0, camera, &look, [50, 40]);
            let odd = Shot { area: [x, x, w, w], clip: Some([w, 0.0, 20.0, x]), ..shot };
            renderer.draw(&target, &[odd, Shot { terrain: 70, ..shot }]);
        }
    }
    let many = vec![Shot::new_full_frame(1, camera, &look, [50, 40]); 40];
    renderer.draw(&target, &many);
    renderer.load_terrain(9, &surface);
    renderer.unload_terrain(1);
    renderer.draw(&target, &many);
    let mad = Appearance { exaggeration: f32::NAN, sea_level: Some(f32::INFINITY), overlay: f32::NAN, ..look };
    renderer.draw(&target, &[Shot::new_full_frame(0, camera, &mad, [50, 40])]);
    target.read_picture(&gpu).unwrap();
    assert_eq!(renderer.fault(), None);
}

#[test]
fn holes_are_not_drawn_and_wipes_meet() {
    let gpu = gpu();
    let mut terrain = land(64);
    let (surface, mut renderer) = ready(&gpu, &terrain);
    terrain.nodata = Some(Field::new([64, 64], true));
    renderer.load_terrain(1, &Surface::from_terrain(&terrain, &SurfaceOptions::default()).unwrap());
    let camera = ViewCamera::new_map(&surface.bounds(), 1.0);
    let look = Appearance { exaggeration: surface.exaggeration(), ..Appearance::default() };
    let target = Target::new(&gpu.device, [80, 80]);
    let whole = Shot::new_full_frame(0, camera, &look, [80, 80]);
    renderer.draw(&target, &[whole]);
    let all = target.read_picture(&gpu).unwrap();
    let left = Shot { clip: Some([0.0, 0.0, 40.0, 80.0]), ..whole };
    let right = Shot { clip: Some([40.0, 0.0, 40.0, 80.0]), terrain: 1, ..whole };
    renderer.draw(&target, &[left, right]);
    let wiped = target.read_picture(&gpu).unwrap();
    assert!((0..80).all(|i| wiped.rgb.row(i)[..40] == all.rgb.row(i)[..40]));
    let paper = wiped.rgb[(40, 60)];
    assert!((0..80).all(|i| wiped.rgb.row(i)[40..].iter().all(|pixel| *pixel == paper)));
    assert_eq!(renderer.fault(), None);
}

#[test]
fn dots_and_lines_are_drawn_and_hidden_by_hills() {
    let gpu = gpu();
    let (surface, mut renderer) = ready(&gpu, &land(64));
    let camera =
        ViewCamera { azimuth: 180.0, elevation: 20.0, ..ViewCamera::default() }.with_framing(&surface.bounds(), 1.0);
    let look = Appearance { exaggeration: surface.exaggeration(), ..Appearance::default() };
    let top = surface.bounds().high[2];
    let red = [1.0, 0.0, 0.0, 1.0];
    let dot = |at| ViewDot { at, colour: red, pixels: 9.0 };
    let target = Target::new(&gpu.device, [120, 120]);
    let mut reds = |dots: &[ViewDot], lines: &[ViewLine]| {
        let shot = Shot { dots, lines, ..Shot::new_full_frame(0, camera, &look, [120, 120]) };
        renderer.draw(&target, &[shot]);
        let picture = target.read_picture(&gpu).unwrap();
        assert_eq!(renderer.fault(), None);
        picture.rgb.as_slice().iter().filter(|[r, g, b]| *r > 240 && *g < 20 && *b < 20).count()
    };
    assert_eq!(reds(&[], &[]), 0);
    // A disc 9 pixels wide has about 64 pixels; those on its edge have mixed colours.
    let free = reds(&[dot([0.0, 0.0, 1.1 * top])], &[]);
    assert!((40..=64).contains(&free), "{free}");
    assert_eq!(reds(&[dot([0.0, 0.0, surface.bounds().low[2] * 0.9])], &[]), 0);
    let line = ViewLine { from: [-1500.0, 0.0, 1.1 * top], to: [1500.0, 0.0, 1.1 * top], colour: red, pixels: 3.0 };
    assert!(reds(&[], &[line]) > 40);
    // A line with one end behind the camera.
    let eye = camera.eye();
    let behind = [2.0 * eye[0], 2.0 * eye[1], 2.0 * eye[2]];
    assert!(reds(&[], &[ViewLine { to: behind, ..line }]) > 0);
    let many: Vec<_> = (0..100_000).map(|n| dot([(n % 300) as f32, (n / 300) as f32, 1.1 * top])).collect();
    assert!(reds(&many, &[]) > 100);
}

/// The colours that a recipe gives its ground are visible, whatever the elevations are.
#[test]
fn natural_colours_are_drawn() {
    let gpu = gpu();
    let land = land(64);
    let shares = |natural: Option<Natural>| {
        let look = Appearance { haze: false, sides: false, ..Appearance::default() };
        let options =
            PictureOptions { size: [128, 128], view: ViewDirection::Map, natural, look, ..PictureOptions::default() };
        let picture = draw_picture_with_gpu(&gpu, &land, &options).unwrap();
        let middle = (20..108).flat_map(|i| (20..108).map(move |j| [i, j]));
        let sum = middle
            .map(|[i, j]| picture.rgb[(i, j)].map(f64::from))
            .fold([0.0; 3], |a, b| [0, 1, 2].map(|k| a[k] + b[k]));
        sum.map(|channel| channel / sum.iter().sum::<f64>())
    };
    let of = |colour: [u8; 3]| {
        let mut rules = TextureRules::default();
        rules.colours = rules.colours.map(|_| Some([colour; 2]));
        Some(Natural { rules, rock: Rock::usual() })
    };
    let (red, blue, tint) = (shares(of([160, 32, 32])), shares(of([32, 32, 160])), shares(None));
    assert!(red[0] > 0.6 && blue[2] > 0.5, "{red:?} {blue:?}");
    assert!(tint[0] < 0.5 && tint[2] < 0.45, "{tint:?}");
}
