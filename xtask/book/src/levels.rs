//! `cargo xtask levels`: builds presets at several resolutions with the built command, and writes how far they agree
//! and how long they took into the table of docs/levels.md.

use std::fs;
use std::path::Path;

use thalweg_core::Terrain;
use thalweg_io::terrain::{LoadOptions, load_terrain};
use thalweg_render::products::agreement::compare_terrains;
use thalweg_sim::presets::PRESETS;
use thalweg_sim::recipe::{Coarsest, Recipe};

use xtask::shell::{Outcome, prepare_program, programs_folder, repository_root, run_cargo, run_command};

/// The numbers of cells on the long side; each build is compared with the first.
const SIZES: [usize; 4] = [512, 1024, 2048, 4096];

/// The page with the table, and the line below the table's header.
const PAGE: &str = "docs/levels.md";
const RULE: &str = "|---|---|---|---|---|---|---|";

/// Measures the given presets, or all that are built in levels, up to `most` cells.
pub fn measure_levels(names: &[&str], most: usize) -> Outcome {
    run_cargo(&["build", "--release", "--package", "thalweg-cli"])?;
    let target = programs_folder()?.parent().ok_or("there is no target folder")?.to_path_buf();
    let command = target.join(format!("release/thalweg{}", std::env::consts::EXE_SUFFIX));
    let all = preset_names()?;
    let asked: Vec<&String> = all.iter().filter(|name| names.is_empty() || names.contains(&name.as_str())).collect();
    for name in asked {
        let mut first: Option<Terrain> = None;
        for cells in SIZES.into_iter().filter(|cells| *cells <= most) {
            let world = target.join(format!("levels/{name}_{cells}"));
            let size = cells.to_string();
            let mut build = prepare_program(&command);
            run_command(build.args(["build", name, "--cells", &size, "--quiet", "-o"]).arg(&world))?;
            let terrain = read_world(&world)?;
            let seconds = read_stage_seconds(&world)?;
            let row = match &first {
                None => format!("| `{name}` | {cells} | | | | | {seconds:.0} |"),
                Some(first) => {
                    let same = compare_terrains(first, &terrain).map_err(|error| error.to_string())?;
                    let number =
                        |value: Option<f64>, places: usize| value.map_or("–".into(), |v| format!("{v:.places$}"));
                    format!(
                        "| `{name}` | {cells} | {:.4} | {:.3} | {} | {} | {seconds:.0} |",
                        same.heights,
                        same.slopes,
                        number(same.rivers.map(|share| 100.0 * share), 0),
                        number(same.shift, 0),
                    )
                }
            };
            println!("{row}");
            // Each row is written at once, so that an interrupted run keeps those it has measured.
            write_row(name, cells, &row)?;
            // The coarsest build is the reference for all others of the preset.
            first.get_or_insert(terrain);
            fs::remove_dir_all(&world).map_err(|error| format!("{}: {error}", world.display()))?;
        }
    }
    Ok(())
}

fn read_world(world: &Path) -> Outcome<Terrain> {
    let loaded = load_terrain(world.join("height.tif"), &LoadOptions::default()).map_err(|error| error.to_string())?;
    let recipe = Recipe::read(world.join("recipe.toml")).map_err(|error| error.to_string())?;
    let grid = recipe.configure_grid(loaded.terrain.grid.clone()).map_err(|error| error.to_string())?;
    Ok(Terrain { grid, ..loaded.terrain })
}

/// Returns the time that the stages took, in seconds.
fn read_stage_seconds(world: &Path) -> Outcome<f64> {
    let path = world.join("report.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let report: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let stages = report["stages"].as_array().ok_or("the report has no stages")?;
    Ok(stages.iter().filter_map(|stage| stage["seconds"].as_f64()).sum())
}

/// Writes a row into the sorted table, in place of an existing one for the same preset and size.
fn write_row(name: &str, cells: usize, row: &str) -> Outcome {
    let path = repository_root().join(PAGE);
    let problem = |error: std::io::Error| format!("{}: {error}", path.display());
    let page = fs::read_to_string(&path).map_err(problem)?;
    let (head, rest) = page.split_once(RULE).ok_or(format!("{PAGE} has no table"))?;
    let is_row = |line: &&str| line.starts_with("| `");
    let mut rows: Vec<String> = rest.lines().skip(1).take_while(is_row).map(String::from).collect();
    let after: Vec<&str> = rest.lines().skip(1).skip_while(is_row).collect();
    let key = |row: &str| {
        let mut parts = row.split('|').skip(1).map(str::trim);
        let name = parts.next().unwrap_or_default().to_string();
        (name, parts.next().and_then(|cells| cells.parse::<usize>().ok()).unwrap_or(0))
    };
    // An old row of the same preset and size is replaced.
    rows.retain(|old| key(old) != (format!("`{name}`"), cells));
    rows.push(row.to_string());
    rows.sort_by_key(|row| key(row));
    let text = format!("{head}{RULE}\n{}\n{}\n", rows.join("\n"), after.join("\n"));
    fs::write(&path, text).map_err(problem)
}

/// Returns the presets that are built in levels, in alphabetical order.
fn preset_names() -> Outcome<Vec<String>> {
    let recipes = PRESETS.iter().map(|preset| preset.recipe().map_err(|error| error.to_string()));
    let recipes = recipes.collect::<Outcome<Vec<_>>>()?;
    let mut names: Vec<_> = recipes
        .into_iter()
        .filter(|recipe| recipe.levels().coarsest != Coarsest::None)
        .map(|recipe| recipe.name)
        .collect();
    names.sort();
    Ok(names)
}
