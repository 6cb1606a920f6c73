//! Tests of invalid tables, for example from a forged checkpoint: every model that reads a table reports which column
//! of which table is wrong, and neither panics nor continues without it.

use std::collections::BTreeSet;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{Column, SEDIMENT};
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_models::model::{Model, Tick};
use thalweg_models::models;

fn tick(step: u32) -> Tick {
    Tick { key: RandomKey::new(20_261_122, "tables"), step }
}

/// Builds hills with depressions and sediment.
fn hills() -> Terrain {
    let key = RandomKey::new(3, "hills");
    let size = [70, 80];
    let height = |i: usize, j: usize| {
        let (y, x) = (i as f64 / 9.0, j as f64 / 11.0);
        Height::from_metres_clamped(
            60.0 * (libm::sin(y) + libm::cos(x * 1.3 + y)) + 5.0 * key.for_cell([i as i64, j as i64]).uniform_unit(),
        )
    };
    let grid = Grid::new(size, 30.0).unwrap();
    let mut terrain = Terrain::from_ground(grid, Field::from_fn(size, height)).unwrap();
    terrain.loose = Some(Field::new(size, Height::from_metres_clamped(2.0)));
    assert_eq!(SEDIMENT.unit, "m");
    terrain
}

/// Returns the terrain after the step that first writes each of a model's tables, and the number of the next step.
fn left(model: &dyn Model) -> Vec<(String, Terrain, u32)> {
    let mut terrain = hills();
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut found: Vec<(String, Terrain, u32)> = Vec::new();
    for step in 0..model.steps(&terrain.grid).min(12) {
        stepper.run_step(&mut terrain, tick(step)).unwrap();
        for (name, table) in &terrain.tables {
            if !table.is_empty() && !found.iter().any(|(known, _, _)| known == name) {
                found.push((name.clone(), terrain.clone(), step + 1));
            }
        }
    }
    found
}

#[test]
fn a_spoilt_column_is_named() {
    let mut read = BTreeSet::new();
    for name in ["droplets", "dunes", "hydrology", "trees"] {
        let model = models::find_model(name).unwrap();
        for (name, terrain, step) in left(&*model) {
            let table = &terrain.tables[&name];
            for (k, (column, unit, values)) in table.columns.iter().enumerate() {
                let other = match values {
                    Column::Int(values) => Column::Float(values.iter().map(|x| *x as f32).collect()),
                    Column::Float(values) => Column::Int(values.iter().map(|x| *x as i64).collect()),
                };
                let short = match values.clone() {
                    Column::Int(mut values) => Column::Int(values.drain(1..).collect()),
                    Column::Float(mut values) => Column::Float(values.drain(1..).collect()),
                };
                let empty = match values {
                    Column::Int(_) => Column::Int(Vec::new()),
                    Column::Float(_) => Column::Float(Vec::new()),
                };
                for (what, spoilt) in
                    [("missing", None), ("other", Some(other)), ("short", Some(short)), ("empty", Some(empty))]
                {
                    let mut terrain = terrain.clone();
                    let columns = &mut terrain.tables.get_mut(&name).unwrap().columns;
                    match spoilt {
                        Some(values) => columns[k] = (column.clone(), unit.clone(), values),
                        None => drop(columns.remove(k)),
                    }
                    let stepped = model.start(&terrain.grid).unwrap().run_step(&mut terrain, tick(step));
                    let message = stepped.expect_err(&format!("{what} {name}.{column}")).to_string();
                    let named = message.contains(&format!("`{name}`")) && message.contains(&format!("`{column}`"));
                    assert!(named, "{what} {name}.{column}: {message}");
                }
            }
            read.insert(name);
        }
    }
    assert_eq!(read.iter().collect::<Vec<_>>(), ["booked", "droplets", "drops", "held", "sand", "trees"]);
}
