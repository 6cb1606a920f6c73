//! A terrain's water as meshes separate from the terrain surface: the sea, lakes and rivers.

use crate::pictures::water::Water;
use crate::products::lakes::outline_lakes;
use crate::products::mesh::{Mesh, MeshOptions, MeshPoints};
use crate::products::ribbon::{Bank, add_ribbon};
use crate::products::rtin::{HeightNet, RimPoints, simplify_triangles};
use crate::products::streams::{choose_stream_threshold, trace_streams};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{ChannelReach, DISCHARGE};
use thalweg_core::{Cell, Field, Height, Result, Terrain};
use thalweg_flow::hydraulic;
use thalweg_rivers::rendered_ground;
use thalweg_rivers::ribbon::find_visible_end;

/// The number of rounds of corner cutting of river lines, which run from cell to cell (Chaikin 1974, "An algorithm
/// for high-speed curve generation").
const ROUNDS: usize = 2;

/// Returns the water surfaces given by a terrain's layers and its sea level, by name, to be placed on the mesh that
/// the same options make. `sea` and `lakes` are level surfaces that extend a little under the terrain around them.
/// `rivers` are ribbons as wide as streams of their [discharge](DISCHARGE), or as the adjacent terrain allows, with u
/// across, 0 left to 1 right, and v in metres downstream. Rivers are those above the default threshold
/// ([`choose_stream_threshold`]). Kinds of water that are absent have no mesh.
///
/// # Errors
/// Returns the errors of [`Mesh::from_terrain`], and an error if a layer has another size.
pub fn build_water_meshes(terrain: &Terrain, options: &MeshOptions) -> Result<Vec<(&'static str, Mesh)>> {
    let points = MeshPoints::from_terrain(terrain, options)?;
    let water = Water::from_terrain(terrain);
    water.check(terrain)?;
    let pools = water.drawn_pools();
    let mut bodies = vec![("sea", build_sea(terrain, &points))];
    if let Some(pools) = &pools {
        bodies.push(("lakes", build_lakes(terrain, pools, &points)?));
    }
    if let Some(discharge) = terrain.float_layer(&DISCHARGE) {
        bodies.push(("rivers", build_rivers(terrain, discharge, pools.as_ref(), &points)?));
    }
    bodies.retain(|(_, mesh)| !mesh.indices.is_empty());
    Ok(bodies)
}

/// Adds a level surface over those quads of a window that have at least one wet corner.
fn add_level_surface(
    points: &MeshPoints<'_>,
    [rows, cols]: [[usize; 2]; 2],
    is_wet: &dyn Fn(Cell) -> bool,
    level: f64,
    into: &mut Mesh,
) {
    let solid = |i: usize, j: usize| {
        let (i, j) = (i + rows[0], j + cols[0]);
        points.is_solid(i, j)
            && [[i, j], [i, j + 1], [i + 1, j], [i + 1, j + 1]].map(Cell::from).into_iter().any(is_wet)
    };
    let size = [rows, cols].map(|span| span[1] - span[0] + 1);
    // An error of 0 on a constant height merges all triangles away from the shore.
    let mut triangles =
        simplify_triangles(&HeightNet { size, height: &|_, _| 0.0, solid: &solid }, 0.0, RimPoints::Free);
    triangles.iter_mut().flatten().for_each(|point| {
        *point = Cell::new(point.row + rows[0], point.col + cols[0]);
    });
    into.append(Mesh::from_triangles(points, &triangles, Some(points.scale_height(level))));
}

fn build_sea(terrain: &Terrain, points: &MeshPoints<'_>) -> Mesh {
    let mut mesh = Mesh::empty(points.up());
    if let Some(level) = terrain.grid.sea_level {
        let wet = |at: Cell| terrain.ground[points.terrain_cell(at)] < level;
        add_level_surface(points, points.size().map(|n| [0, n - 1]), &wet, level.metres(), &mut mesh);
    }
    mesh
}

fn build_lakes(terrain: &Terrain, pools: &Field<Height>, points: &MeshPoints<'_>) -> Result<Mesh> {
    let (found, numbers) = outline_lakes(terrain, pools)?;
    let [rows, cols] = points.size();
    let mut windows: Vec<Option<[[usize; 2]; 2]>> = vec![None; found.len()];
    for i in 0..rows {
        for j in 0..cols {
            // A window has one more point on each side, because the surface extends over quads with a single wet
            // corner.
            let Some(lake) = (numbers[points.terrain_cell(Cell::new(i, j))] as usize).checked_sub(1) else { continue };
            let near = |k: usize, n: usize| [k.saturating_sub(1), (k + 1).min(n - 1)];
            let cell = [near(i, rows), near(j, cols)];
            let window = windows[lake].get_or_insert(cell);
            *window = [0, 1].map(|k| [window[k][0].min(cell[k][0]), window[k][1].max(cell[k][1])]);
        }
    }
    let mut mesh = Mesh::empty(points.up());
    let sea = terrain.grid.sea_level.map_or(f64::NEG_INFINITY, Height::metres);
    // Lakes below sea level are part of the sea's surface.
    for (lake, window) in found.iter().zip(windows).filter(|(lake, _)| lake.level > sea) {
        let wet = |at: Cell| numbers[points.terrain_cell(at)] == lake.id;
        if let Some(window) = window {
            add_level_surface(points, window, &wet, lake.level, &mut mesh);
        }
    }
    Ok(mesh)
}

/// The line of a stream between two junctions.
struct StreamLine {
    /// Points as row and column in cells.
    places: Vec<Cell<f64>>,
    /// The water level in height units, never rising downstream.
    levels: Vec<f64>,
    /// The distance in metres from its source, or from that of its longest tributary.
    along: Vec<f64>,
    /// The width in metres.
    widths: Vec<f64>,
}

fn build_rivers(
    terrain: &Terrain,
    discharge: &Field<f32>,
    pools: Option<&Field<Height>>,
    points: &MeshPoints<'_>,
) -> Result<Mesh> {
    let mut mesh = Mesh::empty(points.up());
    let Some(least) = choose_stream_threshold(discharge) else { return Ok(mesh) };
    let reaches = trace_streams(terrain, discharge, pools, least)?.reaches;
    let [rows, cols] = terrain.grid.size;
    // Points are limited to the centres of the outermost cells, where the mesh ends.
    let last = |x: f64, n: usize| x.clamp(0.5, n as f64 - 0.5);
    let cell = |place: Cell<f64>| ((place[0] as usize).min(rows - 1), (place[1] as usize).min(cols - 1));
    let sea = terrain.grid.sea_level.map_or(f64::NEG_INFINITY, |level| f64::from(level.0));
    // Returns the level of standing water (lake or sea) above the ground at a point, if there is any.
    let stands = |place: Cell<f64>| {
        let (at, pool) = (cell(place), pools.map_or(0, |pools| pools[cell(place)].0));
        let level = if pool > 0 { f64::from(terrain.ground[at].0) + f64::from(pool) } else { f64::NEG_INFINITY };
        Some(level.max(sea)).filter(|level| *level > f64::from(terrain.ground[at].0))
    };
    let mut courses: Vec<StreamLine> =
        reaches.iter().map(|reach| trace_stream_line(terrain, discharge, reach, stands)).collect();
    connect_streams(&reaches, &mut courses);
    for course in &courses {
        let end = course.places.len() - 1;
        let bank = |k: usize| {
            let (place, level) = (course.places[k], course.levels[k]);
            let (a, b) = (course.places[k.saturating_sub(1)], course.places[(k + 1).min(end)]);
            let [y, x] = [b[0] - a[0], b[1] - a[1]];
            // A repeated point has no direction; the limit avoids a division by zero.
            let length = (y * y + x * x).sqrt().max(1e-9);
            let half = course.widths[k] / 2.0 / terrain.grid.cell;
            let sides = [-1.0, 1.0].map(|side| {
                let to = [place[0] + side * half * x / length, place[1] - side * half * y / length];
                let to = Cell::new(last(to[0], rows), last(to[1], cols));
                let known = |at: Cell<f64>| !terrain.is_nodata(cell(at).0, cell(at).1);
                find_visible_end(place, to, |at| {
                    known(at) && rendered_ground::drawn_ground_height(&terrain.ground, at) <= level
                })
            });
            Bank { sides, level: points.scale_height(level / UNITS), along: course.along[k] }
        };
        // Standing water has its own surface, so ribbons are only drawn where at least one end of a segment is
        // outside it.
        let is_open = |k: usize| stands(course.places[k]).is_none();
        let mut first = 0;
        while first < end {
            if !is_open(first) && !is_open(first + 1) {
                first += 1;
                continue;
            }
            // A run continues as long as one end of each segment is outside standing water.
            let run = (first..end).take_while(|k| is_open(*k) || is_open(k + 1)).count();
            let banks: Vec<Bank> = (first..=first + run).map(bank).collect();
            add_ribbon(&mut mesh, &banks, [rows, cols], terrain.grid.cell);
            first += run;
        }
    }
    Ok(mesh)
}

/// The largest amount in metres by which terrain between a stream's cells raises the water level.
const MAX_LEVEL_RISE_M: f64 = 1.0;

/// Returns the line of a stream with its own water levels and the distance in metres from its upper end.
fn trace_stream_line(
    terrain: &Terrain,
    discharge: &Field<f32>,
    reach: &ChannelReach,
    stands: impl Fn(Cell<f64>) -> Option<f64>,
) -> StreamLine {
    // A junction carries the water of all streams that meet there; the reach's own discharge is that before the
    // junction.
    let own = reach.own_cells().len();
    let mut flow = 0.0f32;
    // Row, column, discharge, and the elevation of the stream's own cells in units.
    let mut points: Vec<[f64; 4]> = Vec::new();
    for (n, cell) in reach.cells.iter().enumerate() {
        // Discharge never decreases along the line, so that a ribbon does not become narrower at single weak cells.
        if n < own {
            flow = flow.max(discharge[*cell]);
        }
        let bed = f64::from(terrain.ground[*cell].0);
        points.push([cell.row as f64 + 0.5, cell.col as f64 + 0.5, f64::from(flow), bed]);
    }
    // Both ends are kept, so that lines still meet at junctions.
    for _ in 0..ROUNDS {
        let between = |a: [f64; 4], b: [f64; 4], t: f64| [0, 1, 2, 3].map(|k| a[k] + t * (b[k] - a[k]));
        let cut = points.windows(2).flat_map(|pair| [0.25, 0.75].map(|t| between(pair[0], pair[1], t)));
        points = [points[0]].into_iter().chain(cut).chain([points[points.len() - 1]]).collect();
    }
    let places: Vec<Cell<f64>> = points.iter().map(|p| Cell::new(p[0], p[1])).collect();
    let level = |p: &[f64; 4]| {
        let place = Cell::new(p[0], p[1]);
        let deep = f64::from(hydraulic::channel_depth(p[2] as f32)) * UNITS;
        // Between cells the line cuts corners, where the terrain may form a dam that the stream does not have. Such a
        // dam would raise the water level everywhere upstream; limited to `OVER`, it covers the stream instead.
        let ground = rendered_ground::drawn_ground_height(&terrain.ground, place).min(p[3] + MAX_LEVEL_RISE_M * UNITS);
        (ground + deep.max(f64::from(rendered_ground::MIN_CLEARANCE_UNITS)))
            .max(stands(place).unwrap_or(f64::NEG_INFINITY))
    };
    let mut along = vec![0.0];
    for pair in places.windows(2) {
        let [y, x] = [0, 1].map(|k| pair[1][k] - pair[0][k]);
        along.push(along[along.len() - 1] + (y * y + x * x).sqrt() * terrain.grid.cell);
    }
    let widths = points.iter().map(|p| f64::from(hydraulic::channel_width(p[2] as f32))).collect();
    StreamLine { levels: points.iter().map(level).collect(), places, along, widths }
}

/// Makes levels fall downstream and match where streams meet, and continues the distance in metres from the longest
/// tributary.
fn connect_streams(reaches: &[ChannelReach], courses: &mut [StreamLine]) {
    let below = |n: usize| reaches[n].downstream.map(|k| k as usize);
    // Each stream comes after the one that it flows into, so that its lower end is known before its own levels are set.
    let mut upward: Vec<usize> = Vec::with_capacity(reaches.len());
    let mut known = vec![false; reaches.len()];
    for first in 0..reaches.len() {
        let mut path = Vec::new();
        let mut next = Some(first);
        while let Some(n) = next.filter(|n| !known[*n]) {
            known[n] = true;
            path.push(n);
            next = below(n);
        }
        upward.extend(path.into_iter().rev());
    }
    for &n in &upward {
        // The level at a junction is that of the stream below it.
        let meets = below(n).map(|k| courses[k].levels[0]);
        let levels = &mut courses[n].levels;
        let end = levels.len() - 1;
        levels[end] = meets.unwrap_or(levels[end]);
        for k in (0..end).rev() {
            // From the lower end upward, water is at least as high as the water below it.
            levels[k] = levels[k].max(levels[k + 1]);
        }
    }
    // Distances are passed on from the sources downward, so that the longest tributary counts.
    for &n in upward.iter().rev() {
        let Some(k) = below(n) else { continue };
        let end = courses[n].along[courses[n].along.len() - 1];
        let late = end - courses[k].along[0];
        if late > 0.0 {
            courses[k].along.iter_mut().for_each(|metres| *metres += late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::mesh::Up;
    use thalweg_core::Grid;
    use thalweg_core::terrain::{Cells, POOL};

    /// A valley that falls southward into a lake, whose shore further on is also that of the sea.
    fn valley() -> Terrain {
        let grid = Grid::new([60, 41], 10.0).unwrap();
        let ground = Field::from_fn([60, 41], |i, j| {
            let floor = if (30..40).contains(&i) { 50.0 } else { 100.0 - i as f64 };
            let floor = if i > 55 { -5.0 } else { floor };
            Height::from_metres_clamped(floor + 2.0 * j.abs_diff(20) as f64)
        });
        let mut terrain = Terrain::from_ground(grid, ground.clone()).unwrap();
        terrain.grid.sea_level = Some(Height::ZERO);
        let pools = Field::from_fn([60, 41], |i, j| {
            let deep = 60.0 - ground[(i, j)].metres();
            if (30..40).contains(&i) { Height::from_metres_clamped(deep.max(0.0)) } else { Height::ZERO }
        });
        let flow = Field::from_fn([60, 41], |_, j| if j == 20 { 1.0 } else { 0.0 });
        terrain.insert_layer(&POOL, Cells::Height(pools)).unwrap();
        terrain.insert_layer(&DISCHARGE, Cells::Float(flow)).unwrap();
        terrain
    }

    #[test]
    fn sheets_are_level_and_cover_all_that_is_wet() {
        let land = valley();
        let bodies = build_water_meshes(&land, &MeshOptions::default()).unwrap();
        assert_eq!(bodies.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["sea", "lakes", "rivers"]);
        for (body, level, is_wet) in [
            (0, 0.0, Box::new(|i, j| land.ground[(i, j)].0 < 0) as Box<dyn Fn(usize, usize) -> bool>),
            (1, 60.0, Box::new(|i, j| (30..40).contains(&i) && land.ground[(i, j)].metres() < 60.0)),
        ] {
            let mesh = &bodies[body].1;
            assert!(mesh.positions.iter().all(|p| p[1] == level) && mesh.normals.iter().all(|n| *n == [0.0, 1.0, 0.0]));
            for i in 0..60usize {
                for j in 0..41usize {
                    let [x, z] = [(j as f32 - 20.0) * 10.0, (i as f32 - 29.5) * 10.0];
                    let covered = mesh.indices.chunks(3).any(|t| {
                        let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[t[k] as usize]);
                        let side = |p: [f32; 3], q: [f32; 3]| (q[0] - p[0]) * (z - p[2]) - (q[2] - p[2]) * (x - p[0]);
                        [side(a, b), side(b, c), side(c, a)].iter().all(|s| *s <= 1e-3)
                    });
                    assert!(covered || !is_wet(i, j), "{body} {i} {j}");
                    let near = (i.saturating_sub(1)..(i + 2).min(60))
                        .any(|r| (j.saturating_sub(1)..(j + 2).min(41)).any(|c| is_wet(r, c)));
                    assert!(!covered || near, "{body} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn rivers_fall_show_and_count_metres_downstream() {
        let land = valley();
        let bodies = build_water_meshes(&land, &MeshOptions::default()).unwrap();
        let mesh = &bodies[2].1;
        for (pair, uv) in mesh.positions.chunks(2).zip(mesh.uvs.chunks(2)) {
            assert!(pair[0][1] == pair[1][1] && uv[0][1] == uv[1][1] && (uv[0][0], uv[1][0]) == (0.0, 1.0));
            // Water flows southward, so its left side is east.
            assert!(pair[0][0] >= pair[1][0]);
            for p in pair {
                let place = [f64::from(p[2]) / 10.0 + 30.0, f64::from(p[0]) / 10.0 + 20.5];
                let ground = rendered_ground::drawn_ground_height(&land.ground, place) / UNITS;
                // Positions are 32-bit floats: at 300 m their resolution is 0.03 mm, and the sides rise by 0.2 m per
                // metre.
                assert!(f64::from(p[1]) >= ground - 1e-4, "{p:?} {ground}");
            }
        }
        for pair in mesh.positions.chunks(2).zip(mesh.uvs.chunks(2)).collect::<Vec<_>>().windows(2) {
            let ((a, u), (b, v)) = (pair[0], pair[1]);
            if v[0][1] > u[0][1] {
                assert!(b[0][1] <= a[0][1], "water does not rise");
            }
        }
        // The line is straight, so metres downstream are metres southward from a single source.
        let start = mesh.positions[0][2];
        assert!(
            mesh.positions.iter().zip(&mesh.uvs).all(|(p, uv)| (p[2] - start - (uv[1] - mesh.uvs[0][1])).abs() < 0.01)
        );
        assert!(mesh.uvs.iter().any(|uv| uv[1] > 400.0));
        // Bitangents, normal × tangent · w, point upstream: v increases downstream, and a picture's rows increase
        // downward.
        for (n, t) in mesh.normals.iter().zip(&mesh.tangents) {
            let z = (n[0] * t[1] - n[1] * t[0]) * t[3];
            assert!((z + 1.0).abs() < 1e-3, "{t:?}");
        }
        // In lakes and the sea there are only level surfaces, no ribbons.
        assert!(mesh.positions.iter().all(|p| !(10.0..90.0).contains(&p[2]) && p[2] < 270.0));
        let z = build_water_meshes(&land, &MeshOptions { up: Up::Z, max_height: Some(280.0) }).unwrap();
        assert!((z[2].1.bounds()[1][2] - 2.0 * mesh.bounds()[1][1]).abs() < 0.01);
        assert!(z[1].1.positions.iter().all(|p| (p[2] - 120.0).abs() < 1e-3));
    }

    #[test]
    fn dry_land_has_no_water() {
        let dry = Terrain { layers: Default::default(), ..valley() };
        let dry = Terrain { grid: Grid { sea_level: None, ..dry.grid.clone() }, ..dry };
        assert!(build_water_meshes(&dry, &MeshOptions::default()).unwrap().is_empty());
    }
}
