//! [`drain`]: all of where water goes, in one call.

use js_sys::{Array, Float32Array, Object, Reflect, Uint8Array, Uint32Array};
use serde_json::json;
use thalweg_core::{Cell, Error};
use thalweg_export::survey::{Survey, SurveyOptions};
use thalweg_flow::breach::BreachLimits;
use thalweg_flow::streams;
use wasm_bindgen::prelude::*;

use crate::array::heights;
use crate::error::Result;
use crate::land::Terrain;
use crate::options::{Options, object};
use crate::progress::Watcher;

/// Works out the drainage of a terrain.
#[wasm_bindgen(skip_typescript)]
pub fn drain(terrain: &Terrain, options: JsValue) -> Result<JsValue> {
    let options = Options::of("option of drain", options, &["threshold", "outlets", "breach", "progress"])?;
    let progress = options.function("progress")?;
    let breach = options.value("breach").map(|value| Options::of("limit of breach", value, &["depth", "length"]));
    let breach = match breach.transpose()? {
        None => None,
        Some(limits) => {
            let given = |key| limits.number(key)?.ok_or_else(|| Error::missing(key, "give it in metres").into());
            let both: Result<[f64; 2]> = given("depth").and_then(|depth| Ok([depth, given("length")?]));
            both.map(|[depth, length]| Some(BreachLimits { depth, length }))?
        }
    };
    let outlets = options.value("outlets").map(|cells| outlets(&cells)).transpose()?.unwrap_or_default();
    let survey_options =
        SurveyOptions { threshold: options.number("threshold")?, outlets, breach, runoff: None, depressions: false };
    let land = &terrain.land;
    survey_options.check(land)?;
    let mut watcher = Watcher::new(progress.as_ref(), |report| Ok(report.task.into()));
    let survey = Survey::of(land, &survey_options, &mut watcher);
    let survey = watcher.finish(survey)?;
    let mask = land.nodata.as_ref();
    let found = Object::new();
    let put = |key: &str, value: JsValue| Reflect::set(&found, &key.into(), &value);
    put("filled", heights(&survey.filled, mask).into())?;
    put("lakeDepth", heights(&survey.lake_depth, mask).into())?;
    if let Some(cut) = &survey.cut {
        put("cut", heights(cut, mask).into())?;
    }
    put("directions", Uint8Array::from(streams::to_esri_codes(&survey.directions).as_slice()).into())?;
    put("angles", Float32Array::from(survey.angles.as_slice()).into())?;
    put("cells", Uint32Array::from(survey.cells.as_slice()).into())?;
    put("basins", Uint32Array::from(survey.basins.as_slice()).into())?;
    put("orders", Uint32Array::from(survey.orders.as_slice()).into())?;
    put("reaches", reaches(&survey)?)?;
    put("summary", object(&json!(survey.summary(&land.grid)))?)?;
    Ok(found.into())
}

/// Cells of a list of pairs, row and column.
fn outlets(cells: &JsValue) -> Result<Vec<Cell>> {
    let refused = || Error::value("outlets", crate::options::shown(cells), "a list of cells, [row, column]");
    if !Array::is_array(cells) {
        return Err(refused().into());
    }
    let number = |value: JsValue| value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..4e9).contains(x));
    let pair = |cell: JsValue| {
        let cell = Array::is_array(&cell).then(|| Array::from(&cell)).filter(|cell| cell.length() == 2)?;
        Some(Cell::new(number(cell.get(0))? as usize, number(cell.get(1))? as usize))
    };
    Array::from(cells).iter().map(|cell| pair(cell).ok_or_else(|| refused().into())).collect()
}

/// The reaches of streams, with their cells row by row.
fn reaches(survey: &Survey) -> Result<JsValue> {
    let all = Array::new();
    for reach in &survey.channels.reaches {
        let entry = object(&json!({
            "id": reach.id, "order": reach.order, "magnitude": reach.magnitude, "length": reach.length,
            "drop": reach.drop, "slope": reach.slope, "catchment": reach.drainage_area, "into": reach.downstream,
        }))?;
        let cells: Vec<u32> = reach.cells.iter().flat_map(|cell| [cell.row as u32, cell.col as u32]).collect();
        Reflect::set(&entry, &"cells".into(), &Uint32Array::from(&cells[..]))?;
        all.push(&entry);
    }
    Ok(all.into())
}
