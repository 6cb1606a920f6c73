//! [`textures`]: the ground cover of a terrain.

use js_sys::{Array, Float32Array, Object, Reflect, Uint8Array, Uint8ClampedArray, Uint16Array};
use thalweg_models::rocks::Rock;
use thalweg_render::pictures::colour::to_srgb;
use thalweg_render::products::normals::PngDepth;
use thalweg_render::products::textures::{MATERIALS, TextureOptions, TextureRules, Textures};
use wasm_bindgen::prelude::*;

use crate::error::Result;
use crate::land::Terrain;
use crate::options::read_operation;

/// Computes the textures of a terrain by the rules of its recipe.
#[wasm_bindgen(skip_typescript)]
pub fn textures(terrain: &Terrain, options: JsValue) -> Result<JsValue> {
    let (options, _) = read_operation::<TextureOptions>("textures option", options, &[])?;
    let own = terrain.recipe.as_ref().map(|recipe| (recipe.textures.clone(), recipe.rock));
    let (rules, rock) = own.unwrap_or_else(|| (TextureRules::default(), Rock::usual()));
    let made = Textures::from_terrain(&terrain.land, &rules, rock, &options, None)?;
    let found = Object::new();
    let put = |key: &str, value: JsValue| Reflect::set(&found, &key.into(), &value);
    let [rows, cols] = made.albedo.size();
    put("rows", (rows as f64).into())?;
    put("cols", (cols as f64).into())?;
    put("cellSize", made.cell.into())?;
    put("materials", MATERIALS.iter().map(|material| JsValue::from(material.name)).collect::<Array>().into())?;
    put("full", made.full.into())?;
    let weights = made.weights.as_slice().as_flattened();
    put(
        "weights",
        match options.bits {
            PngDepth::Eight => {
                Uint8Array::from(&weights.iter().map(|weight| *weight as u8).collect::<Vec<_>>()[..]).into()
            }
            PngDepth::Sixteen => Uint16Array::from(weights).into(),
        },
    )?;
    let colours: Vec<u8> = made
        .albedo
        .as_slice()
        .iter()
        // Four bytes per pixel are the form that a canvas takes.
        .flat_map(|colour| {
            let [red, green, blue] = to_srgb(*colour);
            [red, green, blue, u8::MAX]
        })
        .collect();
    put("albedo", Uint8ClampedArray::from(&colours[..]).into())?;
    put("flow", Float32Array::from(made.flow.as_slice().as_flattened()).into())?;
    let fields = [
        ("roughness", Some(&made.roughness)),
        ("occlusion", Some(&made.occlusion)),
        ("curvature", Some(&made.curvature)),
        ("deposit", made.deposit.as_ref()),
    ];
    for (name, field) in fields {
        if let Some(field) = field {
            put(name, Float32Array::from(field.as_slice()).into())?;
        }
    }
    Ok(found.into())
}
