//! Tests of surfaces through their public queries.

use glam::{Vec3, vec3};
use thalweg_core::terrain::{Cells, DISCHARGE, POOL};
use thalweg_core::{Cell, Field, Grid, Height, Size, Terrain};
use thalweg_models::models::Models;
use thalweg_render::pictures::colour::to_srgb;
use thalweg_render::products::overlay::Overlay;
use thalweg_render::products::textures::GroundCover;
use thalweg_sim::recipe::Recipe;

use crate::view::camera::ViewCamera;
use crate::view::space::{BoundingBox, Ray};
use crate::view::surface::{Natural, Surface, SurfaceOptions};

fn terrain(size: Size, height: impl Fn(usize, usize) -> f64) -> Terrain {
    let mut terrain = Terrain::new(Grid::new(size, 10.0).unwrap());
    for i in 0..size[0] {
        for j in 0..size[1] {
            terrain.ground[(i, j)] = Height::from_metres_clamped(height(i, j));
        }
    }
    terrain
}

#[test]
fn places_cells_and_heights_agree() {
    let land = terrain([31, 41], |i, j| 3.0 * i as f64 + j as f64);
    let surface =
        Surface::from_terrain(&land, &SurfaceOptions { exaggeration: 2.0, ..SurfaceOptions::default() }).unwrap();
    // The centre cell is at the origin, row 0 in the north.
    assert_eq!((surface.cell_at([0.0, 0.0]), surface.height_at([0.0, 0.0])), (Some(Cell::new(15, 20)), Some(65.0)));
    assert_eq!(
        (surface.cell_at([-200.0, 150.0]), surface.height_at([-200.0, 150.0])),
        (Some(Cell::new(0, 0)), Some(0.0))
    );
    assert_eq!(surface.cell_at([196.0, -154.0]), Some(Cell::new(30, 40)));
    assert_eq!((surface.cell_at([206.0, 0.0]), surface.height_at([206.0, 0.0])), (None, None));
    let bounds = surface.bounds();
    assert_eq!((bounds.low[0], bounds.low[1]), (-200.0, -150.0));
    assert_eq!((bounds.high, surface.extremes()), (vec3(200.0, 150.0, 260.0), [0.0, 130.0]));
}

#[test]
fn what_a_ray_meets_lies_on_the_surface_and_on_the_ray() {
    let hill = |i: usize, j: usize| 300.0 / (1.0 + ((i as f64 - 40.0).powi(2) + (j as f64 - 30.0).powi(2)) / 200.0);
    let surface = Surface::from_terrain(
        &terrain([80, 100], hill),
        &SurfaceOptions { exaggeration: 1.5, ..SurfaceOptions::default() },
    )
    .unwrap();
    let mut met = 0;
    for map in [false, true] {
        for azimuth in [0.0, 100.0, 205.0] {
            let camera = ViewCamera { azimuth, map, ..ViewCamera::default() }.with_framing(&surface.bounds(), 1.4);
            for n in 0..400 {
                let at = [(n % 20) as f32 / 10.0 - 0.95, (n / 20) as f32 / 10.0 - 0.95];
                let Some(hit) = surface.intersect_ray(&camera.ray_through(at, 1.4), 1.5) else { continue };
                met += 1;
                let top = surface.top_at([hit[0], hit[1]]).unwrap() * 1.5;
                assert!((hit[2] - top).abs() < 0.05, "{hit:?} {top}");
                let seen = camera.project(hit, 1.4).unwrap();
                assert!((0..2).all(|k| (seen[k] - at[k]).abs() < 2e-3), "{seen:?} {at:?}");
            }
        }
    }
    assert!(met > 800, "{met}");
    let up = Ray { origin: vec3(0.0, 0.0, 900.0), direction: Vec3::Z };
    assert_eq!(surface.intersect_ray(&up, 1.5), None);
}

#[test]
fn the_nearest_of_two_hills_is_met() {
    let ridges = |_: usize, j: usize| if j == 20 || j == 60 { 100.0 } else { 0.0 };
    let surface = Surface::from_terrain(
        &terrain([50, 81], ridges),
        &SurfaceOptions { exaggeration: 1.0, ..SurfaceOptions::default() },
    )
    .unwrap();
    let level = Ray { origin: vec3(-900.0, 0.0, 50.0), direction: Vec3::X };
    let hit = surface.intersect_ray(&level, 1.0).unwrap();
    assert!((hit[0] + 205.0).abs() < 0.1, "{hit:?}");
}

#[test]
fn the_sea_and_pools_lie_over_the_ground() {
    let mut land = terrain([20, 20], |i, _| i as f64 * 10.0);
    land.grid.sea_level = Some(Height::from_metres_clamped(35.0));
    let pool = Field::from_fn([20, 20], |i, _| if i == 15 { Height::from_metres_clamped(4.0) } else { Height::ZERO });
    land.insert_layer(&POOL, Cells::Height(pool)).unwrap();
    let surface = Surface::from_terrain(&land, &SurfaceOptions::default()).unwrap();
    let top = |i: usize| surface.top_at([5.0, (9.5 - i as f32) * 10.0]).unwrap();
    assert_eq!([top(0), top(3), top(4), top(15)], [35.0, 35.0, 40.0, 154.0]);
    assert_eq!(surface.extremes()[0], 0.0);
}

#[test]
fn streams_are_there_from_the_start_and_follow_the_discharge() {
    // A valley along the middle column, falling to the south.
    let mut land = terrain([64, 65], |i, j| 200.0 - i as f64 + 4.0 * j.abs_diff(32) as f64);
    let cover = |land: &Terrain| {
        let surface = Surface::from_terrain(land, &SurfaceOptions::default()).unwrap();
        [surface.lines[(60, 32)][0], surface.lines[(60, 10)][0]]
    };
    let [middle, side] = cover(&land);
    assert!(middle > 200 && side < 60, "{middle} {side}");
    let other = Field::from_fn([64, 65], |_, j| if j == 10 { 5.0 } else { 0.0 });
    land.insert_layer(&DISCHARGE, Cells::Float(other)).unwrap();
    let [middle, side] = cover(&land);
    assert!(middle == 0 && side > 200, "{middle} {side}");
    // A discharge layer without any water yet does not hide the streams.
    land.insert_layer(&DISCHARGE, Cells::Float(Field::new([64, 65], 0.0))).unwrap();
    assert!(cover(&land)[0] > 200);
}

#[test]
fn every_shape_and_height_is_made_ready() {
    for size in [[1, 1], [1, 9], [9, 1], [2, 2], [3, 3], [3000, 7]] {
        for height in [0.0, -11_000.0, 9_000.0] {
            let land = terrain(size, |i, _| height + if i % 2 == 0 { 0.0 } else { height / 9.0 });
            for options in [
                SurfaceOptions { most: 64, ..SurfaceOptions::default() },
                SurfaceOptions { least: 50, ..SurfaceOptions::default() },
            ] {
                let surface = Surface::from_terrain(&land, &options).unwrap();
                assert!(surface.size().iter().all(|n| (2..=3000).contains(n)), "{size:?} {:?}", surface.size());
                assert!(options.most > 64 || surface.size().iter().all(|n| *n <= 64));
                let BoundingBox { low, high } = surface.bounds();
                assert!((0..3).all(|k| low[k] < high[k] && (high[k] - low[k]).is_finite()), "{size:?} {height}");
                assert!(surface.height_at([0.0, 0.0]).is_some());
            }
        }
    }
    assert!(
        Surface::from_terrain(&terrain([4, 4], |_, _| 0.0), &SurfaceOptions { most: 1, ..SurfaceOptions::default() })
            .is_err()
    );
}

#[test]
fn holes_are_no_ground() {
    let mut land = terrain([40, 40], |_, _| 100.0);
    land.nodata = Some(Field::from_fn([40, 40], |i, _| i < 20));
    let surface = Surface::from_terrain(&land, &SurfaceOptions::default()).unwrap();
    assert_eq!((surface.height_at([0.0, 100.0]), surface.height_at([0.0, -100.0])), (None, Some(100.0)));
    let down = |y: f32| Ray { origin: vec3(0.0, y, 5000.0), direction: Vec3::NEG_Z };
    assert!(surface.intersect_ray(&down(100.0), 1.0).is_none() && surface.intersect_ray(&down(-100.0), 1.0).is_some());
    land.nodata = Some(Field::new([40, 40], true));
    let none = Surface::from_terrain(&land, &SurfaceOptions::default()).unwrap();
    assert!(none.intersect_ray(&down(0.0), 1.0).is_none());
}

#[test]
fn natural_colours_are_those_of_the_ground_cover() {
    let land = terrain([50, 64], |i, j| 4.0 * i as f64 + 900.0 * (j as f64 / 9.0).sin());
    let recipe =
        Recipe::parse_stages("rock = \"sandstone\"\n[textures]\nmoisture = 0.1\n", &Models::default()).unwrap();
    let natural = Natural::from_recipe(&Recipe::parse_stages(&recipe.cover_text(), &Models::default()).unwrap());
    assert_eq!(natural, Natural { rules: recipe.textures.clone(), rock: recipe.rock });
    let options = SurfaceOptions { natural: Some(natural.clone()), ..SurfaceOptions::default() };
    let surface = Surface::from_terrain(&land, &options).unwrap();
    let cover = GroundCover::from_terrain(&land, &recipe.textures, recipe.rock).unwrap().from_air();
    let data = surface.data.as_ref().unwrap();
    for (colour, expected) in data.as_slice().iter().zip(cover.albedo.as_slice()) {
        let [r, g, b] = to_srgb(*expected);
        assert_eq!(*colour, [r, g, b, 255]);
    }
    assert!(surface.natural && surface.legend.is_none());
    // An overlay replaces all other colours.
    let surface = Surface::from_terrain(&land, &SurfaceOptions { overlay: Some(Overlay::Height), ..options }).unwrap();
    assert!(!surface.natural && surface.legend.is_some());
    assert!(Surface::from_terrain(&land, &SurfaceOptions::default()).unwrap().data.is_none());
}
