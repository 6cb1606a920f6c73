//! Draws the studio's window without a display, after so many steps of a recipe, and says how fast the view is:
//! `cargo run --release -p thalweg-studio --example window -- RECIPE STEPS PNG`.

use std::fs::File;
use std::time::{Duration, Instant};

use eframe::egui::{Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use egui_kittest::wgpu::{WgpuTestRenderer, create_render_state, default_wgpu_setup};
use thalweg_core::Field;
use thalweg_render::pictures::picture::Picture;
use thalweg_sim::recipe::Recipe;
use thalweg_studio::app::Studio;
use thalweg_studio::session::WorkerOrder;
use thalweg_studio::{StudioOptions, platform};

/// The window's size in points.
const SIZE: Vec2 = vec2(1240.0, 760.0);
/// Cells on the long side, as the command opens presets.
const CELLS: usize = 512;
/// Frames that are timed.
const FRAMES: u32 = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, steps, out] = args.as_slice() else {
        return Err("usage: window RECIPE STEPS PNG".into());
    };
    let mut recipe = Recipe::open(path)?;
    recipe.cells = recipe.cells.min(CELLS);
    // The stage whose parameters the picture shows.
    let opened = recipe.stages[recipe.stage_index("water")?].title();
    let mut options = Some(StudioOptions {
        recipe,
        path: None,
        playing: false,
        presets: Vec::new(),
        cells: CELLS,
        pictures: ".".into(),
        asker: Box::new(platform::open_dialog),
        page: None,
    });
    let state = create_render_state(default_wgpu_setup(), eframe::egui_wgpu::RendererOptions::PREDICTABLE);
    let gpu = state.clone();
    let renderer = WgpuTestRenderer::from_render_state(state);
    let mut harness = Harness::builder().with_size(SIZE).renderer(renderer).build_ui_state(
        move |ui, studio: &mut Option<Studio>| {
            if let Some(options) = options.take() {
                *studio = Studio::new(options, ui.ctx(), Some(gpu.clone())).ok();
            }
            if let Some(studio) = studio {
                studio.frame_ui(ui);
            }
        },
        None,
    );
    let steps: u32 = steps.parse()?;
    let mut until = |holds: &dyn Fn(&Studio) -> bool| {
        loop {
            harness.step();
            match harness.state() {
                None => return Err("the studio does not begin"),
                Some(studio) if holds(studio) => return Ok(()),
                Some(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    };
    until(&|_| true)?;
    // The scale follows the land slowly, so every step is shown, as in the window.
    for step in 1..=steps {
        until(&|studio| {
            if studio.snapshot().all[0] < u64::from(step) && !studio.snapshot().playing {
                studio.send_order(WorkerOrder::Step(1));
            }
            let snapshot = studio.snapshot();
            snapshot.done || (snapshot.all[0] >= u64::from(step) && studio.is_settled())
        })?;
    }
    if let Some(studio) = harness.state() {
        studio.send_order(WorkerOrder::Play(true));
    }
    harness.step();
    harness.get_by_label(&opened).click();
    harness.run_steps(12);
    let image = harness.render()?;
    let [columns, rows] = [image.width() as usize, image.height() as usize];
    let rgb = image.as_raw().chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    Picture { rgb: Field::from_vec([rows, columns], rgb)? }.encode_png(File::create(out)?)?;

    let start = Instant::now();
    for _ in 0..FRAMES {
        if let Some(studio) = harness.state_mut() {
            let mut turned = studio.camera();
            turned.orbit([2.0, 0.0]);
            studio.set_camera(turned);
        }
        harness.step();
        harness.render()?;
    }
    println!("{out}: drawn; {:.1} frames a second", f64::from(FRAMES) / start.elapsed().as_secs_f64());
    Ok(())
}
