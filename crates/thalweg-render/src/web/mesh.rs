//! [`MeshTile`]: terrain as triangles for globes, in Cesium's quantized-mesh 1.0 format: tiles in degrees
//! (EPSG:4326), with rows counted from the south.

use std::f64::consts::PI;

use super::place::MapPlace;
use super::tiles::{LonLatBounds, MapLand, MapTileRange, interpolate_heights};
use super::transverse::{FLATTENING, RADIUS};
use thalweg_core::{Field, Result};

/// The number of mesh cells along a side of a tile.
const CELLS: usize = 64;

/// The number of vertices along a side of a tile.
const SIDE: usize = CELLS + 1;

/// The largest code of a position in a tile, and of a height in the range.
const FULL: f64 = 32_767.0;

/// The highest latitude of a vertex, in radians.
const MAX_LATITUDE_RAD: f64 = 89.99 * PI / 180.0;

/// The number of the extension for normals.
const NORMALS: u8 = 1;

/// A tile: zoom, column from the west, row from the south. A zoom has 2^(zoom + 1) columns and 2^zoom rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeshTile {
    /// The zoom: at 0 the globe consists of two tiles, side by side.
    pub zoom: u32,
    /// The column from 180° W, starting at 0.
    pub column: u32,
    /// The row from the South Pole, starting at 0.
    pub row: u32,
}

/// Returns the tiles of a zoom that intersect `bounds` (radians). Rows are counted from the south. Columns may
/// continue across the 180th meridian; their numbers then exceed those of the zoom.
pub fn mesh_range(bounds: LonLatBounds, zoom: u32) -> MapTileRange {
    let LonLatBounds { west, east, north, south } = bounds;
    // The number of rows doubles with each zoom, and there are twice as many columns.
    let side = PI / libm::exp2(f64::from(zoom));
    let [first, last] = [west, east].map(|x| ((x + PI) / side).floor());
    let all = libm::exp2(f64::from(zoom + 1));
    // The first column is reduced to the range of the zoom; for land that crosses the 180th meridian the last one
    // exceeds it.
    let round = (first / all).floor() * all;
    let row = |latitude: f64| ((latitude + PI / 2.0) / side).floor().clamp(0.0, all / 2.0 - 1.0) as u64;
    let column = |x: f64| (x - round).max(0.0) as u64;
    MapTileRange { columns: column(first)..=column(last), rows: row(south)..=row(north) }
}

/// Returns the first zoom at which vertices are no farther apart than `metres` along a meridian; 30 at most.
pub fn mesh_zoom(metres: f64) -> u32 {
    // The tolerance accepts a spacing that differs from `metres` by a rounding error.
    (0..30).find(|zoom| vertex_spacing(*zoom) <= metres * (1.0 + 1e-6)).unwrap_or(30)
}

/// Returns the distance between the vertices of a zoom along a meridian in metres.
fn vertex_spacing(zoom: u32) -> f64 {
    PI * RADIUS / libm::exp2(f64::from(zoom)) / CELLS as f64
}

impl MeshTile {
    /// The number of vertices along a side.
    pub const SIDE: usize = SIDE;

    /// Encodes the tile as a quantized mesh with normals. Heights are codes over `range`, the lowest and the highest
    /// in metres, which must be the same for all tiles, so that neighbouring tiles are identical along their common
    /// edge. Where there is no data the height is 0 m, clamped to the range.
    ///
    /// # Errors
    /// Returns the errors of [`MapLand::read_heights`].
    pub fn encode_mesh(&self, land: &dyn MapLand, place: &MapPlace, range: [f64; 2]) -> Result<Vec<u8>> {
        // One more vertex on each side, because normals along an edge must equal those of the neighbouring tile.
        let parts = libm::exp2(f64::from(self.zoom)) * CELLS as f64;
        let at = |first: u32, k: usize| f64::from(first) * CELLS as f64 + round_to_code(k as f64 - 1.0);
        // The tangent is infinite at the poles.
        let latitudes: Vec<f64> = (0..SIDE + 2)
            .map(|k| ((at(self.row, k) / parts - 0.5) * PI).clamp(-MAX_LATITUDE_RAD, MAX_LATITUDE_RAD))
            .collect();
        let longitudes: Vec<f64> = (0..SIDE + 2).map(|k| (at(self.column, k) / parts - 1.0) * PI).collect();
        let tangents: Vec<f64> = latitudes.iter().map(|latitude| libm::tan(*latitude)).collect();
        // The level is the coarsest whose cells are no wider than the distance between vertices.
        let found = interpolate_heights(
            land,
            land.level_for_width(vertex_spacing(self.zoom)),
            &place.project_crossings(&tangents, &longitudes),
        )?;
        let [low, high] = range;
        let code = |metres: f64| {
            let metres = if metres.is_nan() { 0.0 } else { metres };
            ((metres.clamp(low, high) - low) / (high - low) * FULL).round()
        };
        let codes = match found {
            Some(heights) => heights.map(|metres| code(*metres)),
            None => Field::new([SIDE + 2; 2], code(0.0)),
        };
        // Positions are computed from the codes and not from the exact heights, so that normals fit the surface that
        // readers restore.
        let points = Field::from_fn([SIDE + 2; 2], |i, j| {
            to_geocentric(longitudes[j], latitudes[i], low + codes[(i, j)] / FULL * (high - low))
        });
        Ok(encode_vertices(&codes, &points, range))
    }
}

/// Returns the position of a vertex in cells of a tile, rounded to its integer code. The vertices of neighbouring
/// tiles are rounded likewise.
fn round_to_code(vertex: f64) -> f64 {
    let side = CELLS as f64;
    // Heights are thus sampled where readers place the vertices that they decode.
    let tile = (vertex / side).floor() * side;
    tile + ((vertex - tile) * FULL / side).round() / FULL * side
}

/// Returns metres from the Earth's centre: towards 0° N 0° E, 0° N 90° E and the North Pole.
fn to_geocentric(longitude: f64, latitude: f64, height: f64) -> [f64; 3] {
    // This is the square of the eccentricity.
    let e2 = FLATTENING * (2.0 - FLATTENING);
    let (s, c) = (libm::sin(latitude), libm::cos(latitude));
    let normal = RADIUS / (1.0 - e2 * s * s).sqrt();
    let out = (normal + height) * c;
    [out * libm::cos(longitude), out * libm::sin(longitude), (normal * (1.0 - e2) + height) * s]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn subtract(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| a[k] - b[k])
}

fn normalise_vector(a: [f64; 3]) -> [f64; 3] {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

/// Encodes vertices, given with a margin of one as height codes and positions.
fn encode_vertices(codes: &Field<f64>, points: &Field<[f64; 3]>, [low, high]: [f64; 2]) -> Vec<u8> {
    let vertices = || (1..=SIDE).flat_map(|i| (1..=SIDE).map(move |j| (i, j)));
    let middle = points[(SIDE / 2 + 1, SIDE / 2 + 1)];
    let radius =
        vertices().map(|at| subtract(points[at], middle)).map(|offset| dot(offset, offset)).fold(0.0, f64::max).sqrt();
    // Triangles are listed first, because the order of vertices follows from them.
    let (order, indices) = triangulate_grid();
    let mut out = Vec::new();
    out.extend(middle.iter().flat_map(|x| x.to_le_bytes()));
    out.extend([low, high].iter().flat_map(|x| (*x as f32).to_le_bytes()));
    out.extend(middle.iter().chain([&radius]).flat_map(|x| x.to_le_bytes()));
    out.extend(horizon_point(middle, vertices().map(|at| points[at])).iter().flat_map(|x| x.to_le_bytes()));
    out.extend((order.len() as u32).to_le_bytes());
    // Rows are counted from the south, as the format requires.
    let place = |k: usize| (k as f64 * FULL / CELLS as f64).round() as i32;
    let columns: [&dyn Fn(usize) -> i32; 3] =
        [&|k| place(k % SIDE), &|k| place(k / SIDE), &|k| codes[(k / SIDE + 1, k % SIDE + 1)] as i32];
    for column in columns {
        let mut last = 0;
        for k in &order {
            let step = column(*k) - last;
            last += step;
            // Zigzag encoding maps small steps of either sign to small numbers.
            out.extend((((step << 1) ^ (step >> 31)) as u16).to_le_bytes());
        }
    }
    out.extend((indices.len() as u32 / 3).to_le_bytes());
    // High-water-mark encoding: a code of 0 stands for the next new vertex.
    let mut highest = 0u16;
    for index in &indices {
        let code = highest - index;
        highest += u16::from(code == 0);
        out.extend(code.to_le_bytes());
    }
    let mut named = vec![0u16; SIDE * SIDE];
    for (number, k) in order.iter().enumerate() {
        named[*k] = number as u16;
    }
    // The edges in the format's order: west, south, east, north.
    // Each function gives the vertex number k along an edge.
    let edges: [fn(usize) -> usize; 4] = [|k| k * SIDE, |k| k, |k| k * SIDE + CELLS, |k| CELLS * SIDE + k];
    for edge in edges {
        out.extend((SIDE as u32).to_le_bytes());
        out.extend((0..SIDE).flat_map(|k| named[edge(k)].to_le_bytes()));
    }
    out.push(NORMALS);
    out.extend((2 * order.len() as u32).to_le_bytes());
    for k in &order {
        let (i, j) = (k / SIDE + 1, k % SIDE + 1);
        // The normal is perpendicular to the vectors between the neighbours, which exist beyond the edges as well.
        let (east, north) =
            (subtract(points[(i, j + 1)], points[(i, j - 1)]), subtract(points[(i + 1, j)], points[(i - 1, j)]));
        out.extend(encode_octahedral(normalise_vector(cross(east, north))));
    }
    out
}

/// Returns the vertices in the order in which triangles first refer to them, as the format's index encoding requires,
/// and the triangles, counter-clockwise as seen from above.
fn triangulate_grid() -> (Vec<usize>, Vec<u16>) {
    let mut named = vec![None; SIDE * SIDE];
    let (mut order, mut indices) = (Vec::new(), Vec::new());
    for i in 0..CELLS {
        for j in 0..CELLS {
            let k = i * SIDE + j;
            for corner in [k, k + 1, k + SIDE, k + 1, k + SIDE + 1, k + SIDE] {
                indices.push(*named[corner].get_or_insert_with(|| {
                    order.push(corner);
                    order.len() as u16 - 1
                }));
            }
        }
    }
    (order, indices)
}

/// Returns the horizon occlusion point in the direction of the tile's middle, in units of the ellipsoid's semi-axes:
/// if this point is below the horizon, so is the whole tile (Ring, Horizon Culling, 2013).
fn horizon_point(middle: [f64; 3], points: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    let axes = [RADIUS, RADIUS, RADIUS * (1.0 - FLATTENING)];
    let scaled = |p: [f64; 3]| [0, 1, 2].map(|k| p[k] / axes[k]);
    let towards = normalise_vector(scaled(middle));
    let mut most = 1.0f64;
    for point in points {
        let point = scaled(point);
        let size = dot(point, point).sqrt();
        let direction = point.map(|x| x / size);
        let size = size.max(1.0);
        // The angles are that between the point and the tile's middle, and that between the point and its horizon.
        let aside = cross(direction, towards);
        let (cos_a, sin_a) = (dot(direction, towards), dot(aside, aside).sqrt());
        let (cos_b, sin_b) = (1.0 / size, (size * size - 1.0).max(0.0).sqrt() / size);
        let part = cos_a * cos_b - sin_a * sin_b;
        // A tile of half the globe is visible from everywhere; the limit places its point very far away.
        most = most.max(if part > 1e-3 { 1.0 / part } else { 1e3 });
    }
    towards.map(|x| x * most)
}

/// Encodes a unit vector in two bytes (Meyer et al., On Floating-Point Normal Vectors, 2010).
fn encode_octahedral(normal: [f64; 3]) -> [u8; 2] {
    let sum: f64 = normal.iter().map(|x| x.abs()).sum();
    let [x, y, z] = normal.map(|x| x / sum);
    let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    // The lower half of the octahedron is folded over the upper one.
    let [x, y] = if z < 0.0 { [(1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y)] } else { [x, y] };
    [x, y].map(|x| ((x * 0.5 + 0.5) * 255.0).round() as u8)
}
