//! The studio's state for tests, and for pages that embed the studio.

use eframe::egui;
use serde_json::json;
use thalweg_studio::Studio;
use thalweg_studio::ui::slider_rect;

/// Returns the studio's state as JSON; docs/web_studio.md describes its keys.
pub fn describe_state(studio: &Studio, ctx: &egui::Context, frames: u64) -> String {
    let shown = studio.snapshot();
    let camera = studio.camera();
    // The places of sliders let browser tests drag them on the canvas, whose contents they cannot see.
    let place = |name| slider_rect(ctx, name).map(|at| [at.left(), at.top(), at.width(), at.height()]);
    let turn = shown.turns.get(shown.turn);
    json!({
        "frames": frames,
        "painted": studio.is_painted(),
        "settled": studio.is_settled(),
        "version": shown.version,
        "revision": shown.revision,
        "playing": shown.playing,
        "done": shown.done,
        "stage": turn.map(|turn| turn.title.as_str()),
        "turn": shown.turn,
        "turns": shown.turns.len(),
        "step": shown.step,
        "steps": shown.steps,
        "all": shown.all,
        "cells": [shown.grid.rows(), shown.grid.cols()],
        "particles": shown.particles,
        "pace": shown.pace,
        "fingerprint": shown.fingerprint,
        "problem": shown.problem,
        "said": studio.current_message(),
        "recipe": studio.recipe_text(),
        "places": { "Age": place("Age"), "Rain": place("Rain") },
        "camera": {
            "map": camera.map,
            "azimuth": camera.azimuth, "elevation": camera.elevation, "distance": camera.distance,
            "target": camera.target.to_array(),
        },
    })
    .to_string()
}
