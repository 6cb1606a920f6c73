//! [`drain`]: computes the whole drainage of a terrain.

use js_sys::{Array, Float32Array, Float64Array, Object, Reflect, Uint8Array, Uint32Array};
use serde_json::json;
use thalweg_export::survey::{DrainOptions, Survey};
use thalweg_flow::streams;
use wasm_bindgen::prelude::*;

use crate::array::heights_to_array;
use crate::error::Result;
use crate::land::Terrain;
use crate::options::{json_to_js, read_operation};
use crate::progress::Watcher;

/// Computes the drainage of a terrain.
#[wasm_bindgen(skip_typescript)]
pub fn drain(terrain: &Terrain, options: JsValue) -> Result<JsValue> {
    let (options, given) = read_operation::<DrainOptions>("drain option", options, &["progress"])?;
    let progress = given.read_function("progress")?;
    let land = &terrain.land;
    // Invalid options are reported before the computation starts.
    options.check(land)?;
    let mut watcher = Watcher::new(progress.as_ref(), |report| Ok(report.task.into()));
    let survey = Survey::from_terrain(land, &options, &mut watcher);
    let survey = watcher.finish(survey)?;
    let mask = land.nodata.as_ref();
    let found = Object::new();
    let put = |key: &str, value: JsValue| Reflect::set(&found, &key.into(), &value);
    put("filled", heights_to_array(&survey.filled, mask).into())?;
    put("lakeDepth", heights_to_array(&survey.lake_depth, mask).into())?;
    if let Some(cut) = &survey.cut {
        put("cut", heights_to_array(cut, mask).into())?;
    }
    put("flowDirection", Uint8Array::from(streams::to_esri_codes(&survey.directions).as_slice()).into())?;
    // The second name is that of earlier versions.
    let put_twice =
        |key: &str, earlier: &str, value: JsValue| put(key, value.clone()).and_then(|_| put(earlier, value));
    put_twice("flowAngle", "angles", Float32Array::from(survey.angles.as_slice()).into())?;
    put("cells", Uint32Array::from(survey.cells.as_slice()).into())?;
    put("drainageArea", Float64Array::from(survey.drainage_area(&land.grid).as_slice()).into())?;
    put_twice("basin", "basins", Uint32Array::from(survey.basins.as_slice()).into())?;
    put_twice("streamOrder", "orders", Uint32Array::from(survey.orders.as_slice()).into())?;
    put("reaches", convert_reaches(&survey)?)?;
    put("summary", json_to_js(&json!(survey.summarize(&land.grid)))?)?;
    Ok(found.into())
}

/// Converts the reaches of the streams, with the row and column of each cell.
fn convert_reaches(survey: &Survey) -> Result<JsValue> {
    let all = Array::new();
    for reach in &survey.channels.reaches {
        let entry = json_to_js(&json!({
            "id": reach.id, "order": reach.order, "magnitude": reach.magnitude, "length": reach.length,
            "drop": reach.drop, "slope": reach.slope, "drainageArea": reach.drainage_area,
            "downstream": reach.downstream,
        }))?;
        // A typed array of rows and columns in turn is much smaller than a list of objects.
        let cells: Vec<u32> = reach.cells.iter().flat_map(|cell| [cell.row as u32, cell.col as u32]).collect();
        Reflect::set(&entry, &"cells".into(), &Uint32Array::from(&cells[..]))?;
        all.push(&entry);
    }
    Ok(all.into())
}
