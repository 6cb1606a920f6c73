//! The folder that the command `rivers` writes: the files of [`save_network`], a mesh of the water, a map, and the
//! report that lists them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::file_identity::check_distinct_files;
use super::rivers::save_network;
use super::{Draft, MapPixels, Saved, output, save_picture, save_world_file, write_atomically};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Error, Field, Height, Result, Size, Terrain};
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::picture::{Picture, size_within};
use thalweg_render::pictures::rivers::draw_lines;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions, draw_map};
use thalweg_render::pictures::water::Water;
use thalweg_render::products::mesh_files::Glb;
use thalweg_render::products::resample::resample_terrain;
use thalweg_render::products::ribbon::build_water_surfaces;
use thalweg_rivers::network::{FLOW, Mouth, Network};
use thalweg_rivers::{Carved, Vertex, drained};

/// The name of the report, which lists the other files.
pub const REPORT: &str = "rivers.json";

/// The files that are written.
const FILES: [&str; 20] = [
    "height.tif",
    "rivers.tif",
    "paths.tif",
    "lakes.tif",
    "bed.tif",
    "water_surface.tif",
    "wet.tif",
    "distance.tif",
    "catchments.tif",
    "rivers.geojson",
    "rivers.fgb",
    "lakes.geojson",
    "lakes.fgb",
    "catchments.geojson",
    "catchments.fgb",
    "network.json",
    "water.glb",
    "rivers.png",
    "rivers.pgw",
    REPORT,
];

/// Checks that these files may be written to `folder`: none of them is among the input files `reads`, and none is
/// listed by the report of something else. Nothing is created.
///
/// # Errors
/// Returns an error for the first file that may not be written: the errors of [`check_distinct_files`] and
/// [`output::check_names`].
pub fn check_files(folder: &Path, reads: &[PathBuf]) -> Result<()> {
    check_distinct_files(reads, &FILES.map(|name| folder.join(name)))?;
    output::check_names(folder, REPORT, &FILES.map(String::from))
}

/// Writes the files of a network for `folder`, which must exist. `terrain` is the terrain on which the network was
/// planned; its ground is replaced by the carved ground. `nodata` is the value for no data in heights, as in
/// [`SaveOptions`](super::SaveOptions). The files get their names by [`Draft::commit`].
///
/// # Errors
/// Returns the errors of [`Draft::temporary_folder`], [`save_network`] and [`river_map`]; an error if a file cannot be
/// written.
pub fn draft_network(
    folder: &Path,
    terrain: &mut Terrain,
    network: &Network,
    carved: &Carved,
    nodata: Option<f64>,
) -> Result<Draft> {
    let before = std::mem::replace(&mut terrain.ground, carved.ground.clone());
    let terrain = &*terrain;
    Draft::new(|draft| {
        let at = draft.temporary_folder(folder)?;
        let (files, said) = save_network(&at, terrain, network, carved, nodata)?;
        draft.add_saved(Saved { files, said });
        draft.add_saved(save_water_and_map(&at, terrain, network, carved)?);
        // Heights are fixed-point numbers, so the sum of the removed ground is exact.
        let cut: i64 = before.as_slice().iter().zip(terrain.ground.as_slice()).map(|(a, b)| i64::from(a.0 - b.0)).sum();
        draft.report = summarize_network(terrain, network, carved);
        draft.report["drains_before"] = drained::draining_share_of_terrain(&before, terrain, None).into();
        draft.report["drains"] =
            drained::draining_share_of_terrain(&carved.ground, terrain, Some(&network.lake)).into();
        draft.report["cut_m3"] = json!(cut as f64 / UNITS * terrain.grid.cell_area());
        draft.add_report_path(folder.join(REPORT), true);
        Ok(())
    })
}

fn save_water_and_map(at: &Path, terrain: &Terrain, network: &Network, carved: &Carved) -> Result<Saved> {
    let mut saved = Saved::default();
    if let Some(mesh) = build_water_surfaces(network, carved) {
        let path = at.join("water.glb");
        let glb = Glb::from_water(&mesh)?;
        write_atomically(&path, |file| glb.write(file).map_err(Error::io(&path, "write")))?;
        saved.add_file(path);
    }
    let map = at.join("rivers.png");
    save_picture(&map, &river_map(terrain, network)?)?;
    let drawn = drawn_size(terrain.grid.size);
    let pixels = size_within(drawn, SCREEN);
    let step = |k: usize| sample_spacing(terrain.grid.size[k], drawn[k]) * drawn[k] as f64 / pixels[k] as f64;
    // The first sample is at the centre of the first cell.
    let first = |k: usize| 0.5 - 0.5 * sample_spacing(terrain.grid.size[k], drawn[k]) + 0.5 * step(k);
    let (first, step) = (Cell::from_axes(first), Cell::from_axes(step));
    saved.add_file(save_world_file(&map, &terrain.grid, MapPixels { first, step })?);
    saved.add_file(map);
    Ok(saved)
}

/// Returns the content of rivers.json (its schema is docs/report.schema.json).
fn summarize_network(terrain: &Terrain, network: &Network, carved: &Carved) -> Value {
    let grid = &terrain.grid;
    let lengths = network.rivers.iter().map(|run| network.vertex_distances(run).last().copied().unwrap_or(0.0));
    let ends = |word: fn(&Mouth) -> bool| network.rivers.iter().filter(|run| word(&run.mouth)).count();
    let greatest = network.rivers.iter().filter_map(|run| run.vertices.last()).map(|end| end.flow).max().unwrap_or(0);
    let water = carved.water.as_slice().iter().zip(carved.share.as_slice());
    let volume: f64 = water.map(|(depth, share)| depth.metres() * f64::from(*share)).sum();
    let lakes: BTreeSet<u32> = network.lake.as_slice().iter().copied().filter(|n| *n > 0).collect();
    let rivers: BTreeSet<u32> = network.rivers.iter().map(|run| run.number).collect();
    json!({
        "thalweg": env!("CARGO_PKG_VERSION"),
        "rows": grid.rows(),
        "columns": grid.cols(),
        "cell_size": grid.cell,
        "sea_level": grid.sea_level.map(Height::metres),
        "rivers": rivers.len(),
        "lakes": lakes.len(),
        "length_m": lengths.sum::<f64>(),
        "to_sea": ends(|mouth| *mouth == Mouth::Sea),
        "to_edge": ends(|mouth| *mouth == Mouth::Edge),
        "to_outlet": ends(|mouth| *mouth == Mouth::Outlet),
        "greatest_discharge": greatest as f64 / FLOW,
        "water_m3": volume * grid.cell_area(),
    })
}

/// Returns the rows and columns of samples from which a map of rivers is drawn: more than there are cells if the
/// terrain is small.
fn drawn_size([rows, cols]: Size) -> Size {
    let scale = RIVER_MAP as f64 / rows.max(cols) as f64;
    let finer = scale > 1.0 && rows.min(cols) > 1;
    [rows, cols].map(|n| if finer { ((n - 1) as f64 * scale).round() as usize + 1 } else { n })
}

/// Returns the distance in cells between two of so many samples.
fn sample_spacing(cells: usize, samples: usize) -> f64 {
    (cells.max(2) - 1) as f64 / (samples.max(2) - 1) as f64
}

/// The least length in pixels of the longer side of a map of rivers.
const RIVER_MAP: usize = 1600;

/// Draws the map of a network: its lakes filled, its rivers as wide as their water. `terrain` must be the one that the
/// network belongs to.
///
/// # Errors
/// Returns an error if the network has another size than the terrain, and the errors of [`resample_terrain`] and
/// [`draw_map`].
pub fn river_map(terrain: &Terrain, network: &Network) -> Result<Picture> {
    for [rows, cols] in [network.size, network.lake.size()] {
        let [want_rows, want_cols] = terrain.grid.size;
        if [rows, cols] != [want_rows, want_cols] {
            let allowed = format!("{want_rows} × {want_cols} (rows × columns), the size of the terrain");
            return Err(Error::invalid_value("network", format!("{rows} × {cols} cells"), allowed));
        }
    }
    // Layers are not drawn, so they are not resampled.
    let bare = Terrain { layers: Default::default(), tables: Default::default(), ..terrain.clone() };
    let [rows, cols] = bare.grid.size;
    let size = drawn_size(bare.grid.size);
    let drawn = if size == bare.grid.size { bare } else { resample_terrain(&bare, size)? };
    let [tall, wide] = drawn.grid.size;
    // The corner samples keep their positions, so the centres of cells are at whole multiples of the step.
    let step = [0, 1].map(|k| sample_spacing(network.size[k], drawn.grid.size[k]));
    // The lake number is taken from the 3 × 3 cells around a sample, so that the interpolated ground at a shore is
    // filled up to the level. Where that ground is above the level, the depth is 0.
    let lakes = Field::from_fn([tall, wide], |i, j| {
        let at = [i as f64 * step[0], j as f64 * step[1]].map(|x| x.round() as usize);
        let near = |at: usize, n: usize| at.saturating_sub(1)..(at + 2).min(n);
        let around = near(at[0], rows).flat_map(|r| near(at[1], cols).map(move |c| (r, c)));
        let levels = around.map(|cell| network.lake[cell]).filter(|lake| *lake > 0);
        let level = levels.filter_map(|lake| network.lakes.get(lake as usize - 1)).map(|lake| lake.level).max();
        level.map_or(Height::ZERO, |level| Height(level.0.saturating_sub(drawn.ground[(i, j)].0)).max(Height::ZERO))
    });
    let water = Water { pools: Some(&lakes), ..Water::default() };
    let land = DrawnLand { water, ..(&drawn).into() };
    let mut map = draw_map(land, &ShadeOptions { max_size: Some(SCREEN), ..ShadeOptions::default() })?;
    let pixels = [0, 1].map(|k| map.size()[k] as f64 / drawn.grid.size[k] as f64);
    let place = |at: Cell<f64>| Cell::from_axes(|k| (((at[k] - 0.5) / step[k] + 0.5) * pixels[k]) as f32);
    let metres = network.cell * step[1] / pixels[1];
    // Lines grow with the map, so they look alike on small and large maps.
    let broad = (map.size()[0].max(map.size()[1]) as f64 / RIVER_MAP as f64).max(0.5);
    let ends = network.rivers.iter().filter_map(|run| run.vertices.last());
    let greatest = ends.map(|end| end.discharge()).fold(1e-9, f64::max);
    let half = |v: &Vertex| {
        // The width of a river grows roughly with the root of its discharge. Rivers narrower than a pixel are drawn
        // wider than they are, so that they remain visible.
        let share = (v.discharge() / greatest).sqrt();
        (0.5 * v.width / metres).max(broad * (0.45 + 1.9 * share)) as f32
    };
    let lines: Vec<_> =
        network.rivers.iter().map(|run| run.vertices.iter().map(|v| (place(v.place), half(v))).collect()).collect();
    draw_lines(&mut map, &lines);
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_flow::Land;
    use thalweg_rivers::{Design, Site, carve_rivers, plan_rivers};

    /// A valley that falls to the south, and its river.
    fn valley(size: Size) -> (Terrain, Network, Carved) {
        let metres = |i: usize, j: usize| 200.0 - 2.0 * i as f64 + (j as f64 - 8.0).abs();
        let ground = Field::from_fn(size, |i, j| Height::from_metres_clamped(metres(i, j)));
        let terrain = Terrain::from_ground(Grid::new(size, 20.0).unwrap(), ground).unwrap();
        let site = Site::from_land(Land::from_terrain(&terrain));
        let design = Design { catchment: 40.0 * 400.0, noise: 0.0, ..Design::default() };
        let mut network = plan_rivers(&site, &design, RandomKey::new(1, "rivers")).unwrap();
        let carved = carve_rivers(&site, &design, &mut network);
        (Terrain { ground: carved.ground.clone(), ..terrain }, network, carved)
    }

    #[test]
    fn every_file_that_is_written_is_in_the_list() {
        let (terrain, network, carved) = valley([30, 17]);
        let folder = tempfile::tempdir().unwrap();
        save_network(folder.path(), &terrain, &network, &carved, None).unwrap();
        let found = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut found: BTreeSet<String> = found.map(|name| name.into_string().unwrap()).collect();
        // The files of the water mesh and the map, and the report.
        found.extend(["water.glb", "rivers.png", "rivers.pgw", REPORT].map(String::from));
        assert_eq!(found, BTreeSet::from(FILES.map(String::from)));
    }

    #[test]
    fn a_map_of_another_land_is_refused() {
        let (_, mut network, _) = valley([30, 17]);
        let (terrain, ..) = valley([29, 17]);
        let said = river_map(&terrain, &network).err().unwrap().to_string();
        assert_eq!(said, "network = 30 × 17 cells: must be 29 × 17 (rows × columns), the size of the terrain");
        network.size = [29, 17];
        assert!(river_map(&terrain, &network).is_err());
    }
}
