//! Tests of the explorer: its rings of one terrain meet without a gap or a seam, and the view follows the camera from
//! the whole terrain into a gully.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::run_recipe;
use eframe::egui::{Event, Modifiers, MouseWheelSource, MouseWheelUnit, TouchPhase, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::wgpu::{WgpuTestRenderer, create_render_state, default_wgpu_setup};
use thalweg_core::{CellRect, Edge, Field, Grid, Height, Point, Progress, Terrain};
use thalweg_refine::{Frame, LocalWindow, Rules};
use thalweg_sim::presets;
use thalweg_sim::world::{CoarseLevel, World};
use thalweg_studio::explore::viewpoint::Viewpoint;
use thalweg_studio::explore::{Explorer, draw_world_picture};
use thalweg_studio::view::camera::ViewCamera;
use thalweg_studio::view::look::Appearance;

fn alpine(cells: usize) -> World {
    let mut recipe = presets::find_preset("alpine").unwrap();
    recipe.cells = cells;
    World::from_terrain(run_recipe(recipe).terrain(), Rules::default(), 1).unwrap()
}

/// Builds a plane that slopes to the south-east, without roughness.
fn plane() -> World {
    let mut terrain = Terrain::new(Grid::new([1024, 1024], 400.0).unwrap());
    terrain.grid.edges = [Edge::Open; 4];
    terrain.ground =
        Field::from_fn([1024; 2], |i, j| Height::from_metres_clamped(3000.0 - 2.0 * i as f64 - 0.8 * j as f64));
    let rules = Rules { roughness: 0.0, grain: 0.0, time: 0.0, meanders: 0.0, ..Rules::default() };
    World::from_terrain(&terrain, rules, 1).unwrap()
}

#[test]
fn rings_leave_no_gap_between_them() {
    let land = plane();
    for (distance, elevation) in [(40_000.0, 60.0), (9000.0, 50.0), (700.0, 75.0)] {
        let stand = Viewpoint {
            place: Point::new(204_321.0, 198_765.0),
            camera: ViewCamera { distance, elevation, ..ViewCamera::default() },
        };
        assert!(stand.visible_rings(land.frame(), 300).len() > 2);
        let look = Appearance { haze: false, streams: false, ..Appearance::default() };
        let picture = draw_world_picture(&land, stand, &look, [400, 300]).unwrap();
        // A plane has one colour, apart from the tint by height; the sky is blue.
        let holes = picture.rgb.as_slice().iter().filter(|[r, _, b]| b > r).count();
        assert_eq!(holes, 0, "from {distance} m away");
        let pairs =
            picture.rgb.as_slice().windows(2).filter(|pair| (0..3).any(|c| pair[0][c].abs_diff(pair[1][c]) > 6));
        // Pairs across the end of a row are counted too.
        assert!(pairs.count() < 400, "a seam shows from {distance} m away");
    }
}

/// The explorer in a test harness, operated by the mouse wheel.
struct Bench(Harness<'static, Option<Explorer>>);

impl Bench {
    fn new(world: World, stand: Viewpoint) -> Self {
        let state = create_render_state(default_wgpu_setup(), eframe::egui_wgpu::RendererOptions::PREDICTABLE);
        let gpu = state.clone();
        let harness = Harness::builder()
            .with_size(vec2(480.0, 320.0))
            .renderer(WgpuTestRenderer::from_render_state(state))
            .build_ui_state(
                move |ui, explorer: &mut Option<Explorer>| {
                    let make = || {
                        let view = (stand, Appearance::default());
                        Explorer::new(world.clone(), view, ui.ctx(), Some(gpu.clone())).unwrap()
                    };
                    explorer.get_or_insert_with(make).frame_ui(ui);
                },
                None,
            );
        Self(harness)
    }

    fn explorer(&self) -> &Explorer {
        self.0.state().as_ref().unwrap()
    }

    fn settle(&mut self) {
        let start = Instant::now();
        self.0.step();
        while !self.explorer().is_settled() {
            assert!(start.elapsed() < Duration::from_secs(180), "{}", self.explorer().status_text());
            std::thread::sleep(Duration::from_millis(5));
            self.0.step();
        }
    }

    fn scroll(&mut self, by: f32) {
        self.0.event(Event::PointerMoved(pos2(240.0, 160.0)));
        self.0.event(Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: vec2(0.0, by),
            phase: TouchPhase::Move,
            source: MouseWheelSource::Unknown,
            modifiers: Modifiers::NONE,
        });
        self.0.step();
    }
}

#[test]
fn the_wheel_leads_from_the_whole_into_a_gully_and_back() {
    let land = alpine(64);
    let middle = 0.5 * 64.0 * land.frame().cell;
    let stand = Viewpoint {
        place: Point::new(middle, middle),
        camera: ViewCamera { distance: (2.0 * middle) as f32, ..ViewCamera::default() },
    };
    let mut bench = Bench::new(land, stand);
    bench.settle();
    let (first, far) = (bench.explorer().visible_levels(), bench.explorer().viewpoint().camera.distance);
    let mut frames = Vec::new();
    for _ in 0..40 {
        let start = Instant::now();
        bench.scroll(60.0);
        frames.push(start.elapsed());
        // However fast the wheel turns, land is visible.
        assert!(!bench.explorer().visible_levels().is_empty());
    }
    frames.sort();
    println!("frames of the zoom: median {:?}, longest {:?}", frames[20], frames[39]);
    bench.settle();
    let near = bench.explorer().viewpoint();
    assert!(near.camera.distance < 0.02 * far, "{} m of {far} m", near.camera.distance);
    let levels = bench.explorer().visible_levels();
    assert!(levels[0] > first[0] + 3, "{levels:?} after {first:?}");
    assert!(levels.windows(2).all(|pair| pair[0] == pair[1] + 1), "{levels:?}");
    // The point under the pointer stays there, so the view does not drift.
    assert!((0..2).all(|axis| (near.place.axis_coordinate(axis) - middle).abs() < 0.25 * middle), "{:?}", near.place);
    for _ in 0..60 {
        bench.scroll(-60.0);
        assert!(!bench.explorer().visible_levels().is_empty());
    }
    bench.settle();
    let back = bench.explorer();
    assert!(back.viewpoint().camera.distance > 0.9 * far);
    assert!(back.visible_levels().last() <= first.last(), "{:?}: the whole again", back.visible_levels());
}

/// A level 0 that cannot be solved, and how often it was requested.
struct Nothing(Frame, Arc<AtomicUsize>);

impl CoarseLevel for Nothing {
    fn frame(&self) -> &Frame {
        &self.0
    }

    fn window(&self, _: CellRect<i64>, _: &mut dyn Progress) -> thalweg_core::base::error::Result<LocalWindow> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Err(thalweg_core::base::error::Error::invalid_value("land", "none", "some"))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn identity(&self) -> u64 {
        0
    }
}

#[test]
fn a_world_that_cannot_be_made_says_so_and_is_tried_again_elsewhere() {
    let frame = Frame::from_grid(&Grid::new([64, 64], 30.0).unwrap()).unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let world = World::new(Arc::new(Nothing(frame, Arc::clone(&requests))), Rules::default(), 1).unwrap();
    let camera = ViewCamera { distance: 20_000.0, ..ViewCamera::default() };
    let stand = Viewpoint { place: Point::default(), camera };
    assert!(draw_world_picture(&world, stand, &Appearance::default(), [64, 48]).unwrap_err().contains("land = none"));
    let mut bench = Bench::new(world, stand);
    // Steps frames until there are no more requests, and returns their number so far.
    let rest = |bench: &mut Bench| {
        let start = Instant::now();
        loop {
            let before = requests.load(Ordering::Relaxed);
            for _ in 0..100 {
                bench.0.step();
                std::thread::sleep(Duration::from_millis(2));
            }
            if requests.load(Ordering::Relaxed) == before {
                return before;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "rings that failed are requested for ever");
        }
    };
    let far = rest(&mut bench);
    assert!(bench.explorer().status_text().contains("land = none"), "{}", bench.explorer().status_text());
    // Other rings are requested although those before them failed.
    (0..40).for_each(|_| bench.scroll(60.0));
    let near = rest(&mut bench);
    assert!(near > far, "{near} requests after {far}");
    (0..60).for_each(|_| bench.scroll(-60.0));
    assert!(rest(&mut bench) > near, "rings that failed are not tried again");
}
