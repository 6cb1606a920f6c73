//! The shaders' sources, with the library's own lights and colours as constants.

use std::fmt::Write;

use thalweg_render::pictures::layer;
use thalweg_render::pictures::paint::{
    BARE_ICE, BROKEN, DARK, FIRN, GLOW, INSIDE, SHADE, SHALLOW, SHORE, SIDE, SKY, SKYLIGHT, SUN, THROUGH, WARM,
};
use thalweg_render::pictures::scene::{EARTH, WATER};
use thalweg_render::pictures::streams::STREAM;

use crate::view::surface::DRY;

const SCENE: &str = include_str!("shaders/scene.wgsl");
const LAND: &str = include_str!("shaders/land.wgsl");
const SKY_BEHIND: &str = include_str!("shaders/sky.wgsl");
const WOODS: &str = include_str!("shaders/woods.wgsl");
const MARKS: &str = include_str!("shaders/marks.wgsl");
const BAKE: &str = include_str!("shaders/bake.wgsl");

/// The shader module of everything that a frame draws.
pub(super) fn scene(device: &wgpu::Device) -> wgpu::ShaderModule {
    module(device, "scene", &[SCENE, LAND, SKY_BEHIND, WOODS, MARKS])
}

/// The shader module that computes the terrain's colours.
pub(super) fn bake(device: &wgpu::Device) -> wgpu::ShaderModule {
    module(device, "bake", &[BAKE])
}

fn module(device: &wgpu::Device, label: &str, parts: &[&str]) -> wgpu::ShaderModule {
    let source = format!("{}\n{}", constants(), parts.join("\n"));
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}

fn constants() -> String {
    let numbers = [
        ("SUN", SUN),
        ("SIDE", SIDE),
        ("SKY", SKY),
        ("SHADE", SHADE),
        ("THROUGH", THROUGH),
        ("DARK", DARK),
        ("SHALLOW", SHALLOW),
        ("GLOW", GLOW),
        ("BROKEN", BROKEN),
        ("GREY", layer::GREY),
        ("COVER", layer::COVER),
        ("DRY_LEVEL", 0.5 * DRY),
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
        let _ = writeln!(text, "const {name}: f32 = {x:e};");
    }
    for (name, [r, g, b]) in colours {
        let _ = writeln!(text, "const {name} = vec3f({r:e}, {g:e}, {b:e});");
    }
    text
}
