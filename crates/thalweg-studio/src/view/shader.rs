//! The shaders' sources, with the library's own lights and colours as constants.

use std::fmt::Write;

use thalweg_render::pictures::layer;
use thalweg_render::pictures::paint::{
    BARE_ICE, BROKEN, DARK, FIRN, GLOW, INSIDE, SEABED_VISIBILITY, SHADE, SHALLOW, SHORE, SIDE, SKY, SKYLIGHT, SUN,
    WARM,
};
use thalweg_render::pictures::scene::{EARTH, WATER};
use thalweg_render::pictures::streams::STREAM;

use crate::view::surface::NO_WATER_LEVEL;

const SCENE: &str = include_str!("shaders/scene.wgsl");
const LAND: &str = include_str!("shaders/land.wgsl");
const SKY_BEHIND: &str = include_str!("shaders/sky.wgsl");
const WOODS: &str = include_str!("shaders/woods.wgsl");
const MARKS: &str = include_str!("shaders/marks.wgsl");
const BAKE: &str = include_str!("shaders/bake.wgsl");

/// The shader module of everything that a frame draws.
pub(super) fn create_scene_module(device: &wgpu::Device) -> wgpu::ShaderModule {
    create_module(device, "scene", &[SCENE, LAND, SKY_BEHIND, WOODS, MARKS])
}

/// The shader module that computes the terrain's colours.
pub(super) fn create_bake_module(device: &wgpu::Device) -> wgpu::ShaderModule {
    create_module(device, "bake", &[BAKE])
}

fn create_module(device: &wgpu::Device, label: &str, parts: &[&str]) -> wgpu::ShaderModule {
    let source = format!("{}\n{}", format_constants(), parts.join("\n"));
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}

fn format_constants() -> String {
    // The constants are those of the library's renderer on the CPU, so that both draw the same light and colours.
    let numbers = [
        ("SUN", SUN),
        ("SIDE", SIDE),
        ("SKY", SKY),
        ("SHADE", SHADE),
        ("THROUGH", SEABED_VISIBILITY),
        ("DARK", DARK),
        ("SHALLOW", SHALLOW),
        ("GLOW", GLOW),
        ("BROKEN", BROKEN),
        ("GREY", layer::GREY),
        ("COVER", layer::COVER),
        // Half the marker is a threshold below every real level.
        ("DRY_LEVEL", 0.5 * NO_WATER_LEVEL),
    ];
    let colours = [
        ("WARM", WARM),
        ("SKYLIGHT", SKYLIGHT),
        ("SHORE", SHORE),
        ("STREAM", STREAM),
        ("FIRN", FIRN),
        ("BARE_ICE", BARE_ICE),
        ("INSIDE", INSIDE),
        ("EARTH_TOP", EARTH[0]),
        ("EARTH_FOOT", EARTH[1]),
        ("WATER_TOP", WATER[0]),
        ("WATER_FOOT", WATER[1]),
    ];
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (name, x) in numbers {
        // With an exponent, every number is a float literal of the shading language, even a whole one.
        let _ = writeln!(text, "const {name}: f32 = {x:e};");
    }
    for (name, [r, g, b]) in colours {
        let _ = writeln!(text, "const {name} = vec3f({r:e}, {g:e}, {b:e});");
    }
    text
}
