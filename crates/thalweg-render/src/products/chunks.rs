//! [`ChunkedMesh`]: the terrain surface divided into chunks that join without cracks, each at several levels of
//! detail.

use rayon::prelude::*;

use crate::products::mesh::{Mesh, MeshOptions, MeshPoints, Up, no_ground};
use crate::products::rtin::{Corners, HeightNet, RimPoints, list_all_triangles, simplify_triangles};
use thalweg_core::{Cell, Error, Result, Size, Terrain};

/// The largest number of chunks.
const MAX_CHUNKS: usize = 65_536;

/// The largest number of levels of detail.
pub const MAX_LEVELS: usize = 8;

/// The default error of the second level, in cells.
const STEP: f64 = 1.0 / 32.0;

/// The options for dividing a mesh into chunks and simplifying them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkOptions {
    /// The options of the mesh as a whole.
    pub mesh: MeshOptions,
    /// The numbers of rows and columns of chunks: at least one, at most one chunk per quad, and at most 65 536 in
    /// all.
    pub count: Size,
    /// The number of levels of detail, including the finest one: 1 to [`MAX_LEVELS`].
    pub levels: usize,
    /// The largest vertical error of the finest level, 0 to 1 000 000 m; `None` keeps every point of it.
    pub error: Option<f64>,
    /// The largest vertical error of the second level: above that of the finest level, up to 1 000 000 m. It doubles
    /// from each level to the next. `None` stands for 1/32 of a cell, or twice the finest level's error if that is
    /// more.
    pub step: Option<f64>,
    /// If true, chunks have skirts, and their borders are simplified like their interior; if false, all levels keep
    /// all points of the borders.
    pub skirts: bool,
}

impl Default for ChunkOptions {
    fn default() -> Self {
        Self { mesh: MeshOptions::default(), count: [1, 1], levels: 1, error: None, step: None, skirts: false }
    }
}

/// A rectangular part of a mesh.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeshChunk {
    /// The chunk's row and column among the chunks, from the north-west.
    pub place: Cell,
    /// The levels of detail, the finest first. All use the coordinates of the whole mesh, in metres.
    pub levels: Vec<Mesh>,
}

/// A mesh divided into chunks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChunkedMesh {
    /// The chunks that contain any surface, row by row.
    pub chunks: Vec<MeshChunk>,
    /// The largest vertical distance in metres of each level, the finest first, from the surface of
    /// [`Mesh::from_terrain`], apart from the rounding of positions to 32-bit floats.
    pub errors: Vec<f64>,
    /// The depth of the skirts in metres; 0 without skirts.
    pub skirts: f64,
}

impl ChunkedMesh {
    /// Creates the mesh of a terrain in chunks. Without skirts, adjacent chunks have bit-identical points along their
    /// common border at every level, so any level of one joins any level of the other. With skirts a vertical wall
    /// hangs down from each border, twice as deep as the greatest error, so that gaps between two levels are never
    /// visible.
    ///
    /// # Errors
    /// Returns an error if the number of chunks, the levels or the errors are outside the limits of [`ChunkOptions`];
    /// also returns the errors of [`Mesh::from_terrain`].
    pub fn from_terrain(terrain: &Terrain, options: &ChunkOptions) -> Result<Self> {
        let points = MeshPoints::from_terrain(terrain, &options.mesh)?;
        let errors = choose_level_errors(options, terrain.grid.cell)?;
        let quads = points.size().map(|n| n - 1);
        let [rows, cols] = options.count;
        let fits = (0..2).all(|k| (1..=quads[k]).contains(&options.count[k])) && rows * cols <= MAX_CHUNKS;
        if !fits {
            let [down, across] = quads;
            let allowed =
                format!("1x1 to {across}x{down} (the squares between points), and at most {MAX_CHUNKS} in all");
            return Err(Error::invalid_value("chunks", format!("{cols}x{rows}"), allowed));
        }
        // Two levels that meet may be off by the greatest error in opposite directions, so twice that error covers each
        // gap. The default step is a lower limit, because the error of a single exact level is 0.
        let skirts = if options.skirts { 2.0 * errors[errors.len() - 1].max(STEP * terrain.grid.cell) } else { 0.0 };
        // Both ends are included, so neighbouring chunks share the points of their common border.
        let span = |k: usize, n: usize| [n * quads[k] / options.count[k], (n + 1) * quads[k] / options.count[k]];
        let chunk = |n: usize| {
            let place = Cell::new(n / cols, n % cols);
            let window = [span(0, place.row), span(1, place.col)];
            let levels: Vec<Mesh> = (0..errors.len())
                .map(|level| {
                    let exact = level == 0 && options.error.is_none();
                    let triangles =
                        triangulate_window(&points, window, (!exact).then_some(errors[level]), options.skirts);
                    let mut mesh = Mesh::from_triangles(&points, &triangles, None);
                    if options.skirts {
                        add_skirt(&mut mesh, &find_inner_sides(&triangles, window, quads), skirts);
                    }
                    mesh
                })
                .collect();
            MeshChunk { place, levels }
        };
        // Chunks are independent of each other, and they are collected in the order of their numbers.
        let chunks: Vec<MeshChunk> = (0..rows * cols).into_par_iter().map(chunk).collect();
        // A chunk that consists of holes alone has no triangles.
        let chunks: Vec<MeshChunk> = chunks.into_iter().filter(|chunk| !chunk.levels[0].indices.is_empty()).collect();
        if chunks.is_empty() {
            return Err(no_ground());
        }
        Ok(Self { chunks, errors, skirts })
    }
}

/// Returns the error of each level in metres.
fn choose_level_errors(options: &ChunkOptions, cell: f64) -> Result<Vec<f64>> {
    if !(1..=MAX_LEVELS).contains(&options.levels) {
        return Err(Error::invalid_value("levels of detail", options.levels, format!("1 to {MAX_LEVELS}")));
    }
    let first = options.error.unwrap_or(0.0);
    if !(0.0..=1e6).contains(&first) {
        return Err(Error::invalid_value("error of a mesh", format!("{first} m"), "0 to 1000000 m"));
    }
    let step = options.step.unwrap_or((STEP * cell).max(2.0 * first));
    if !(step > first && step <= 1e6) {
        let allowed = format!("above {first} m (the error of the first level), and at most 1000000 m");
        return Err(Error::invalid_value("error of the second level", format!("{step} m"), allowed));
    }
    // The shift cannot overflow, because there are at most MAX_LEVELS levels.
    Ok((0..options.levels).map(|k| if k == 0 { first } else { step * (1u64 << (k - 1)) as f64 }).collect())
}

/// Returns the triangles of a window of points, both ends of its spans included.
fn triangulate_window(
    points: &MeshPoints<'_>,
    [rows, cols]: [[usize; 2]; 2],
    error: Option<f64>,
    free: bool,
) -> Vec<Corners> {
    let height = |i: usize, j: usize| points.height(rows[0] + i, cols[0] + j);
    let solid = |i: usize, j: usize| points.is_solid(rows[0] + i, cols[0] + j);
    let net = HeightNet { size: [rows, cols].map(|span| span[1] - span[0] + 1), height: &height, solid: &solid };
    let rim = if free { RimPoints::Free } else { RimPoints::Kept };
    let mut triangles = error.map_or_else(|| list_all_triangles(&net), |error| simplify_triangles(&net, error, rim));
    triangles.iter_mut().flatten().for_each(|point| {
        *point = Cell::new(point.row + rows[0], point.col + cols[0]);
    });
    triangles
}

/// Returns the sides of triangles that are on a border of the window which is not a border of the whole grid, as
/// pairs of positions in the mesh's list of indices.
fn find_inner_sides(triangles: &[Corners], window: [[usize; 2]; 2], quads: Size) -> Vec<[usize; 2]> {
    let on =
        |a: Cell, b: Cell| (0..2).any(|k| a[k] == b[k] && window[k].contains(&a[k]) && a[k] != 0 && a[k] != quads[k]);
    let sides = |n: usize| [[0, 1], [1, 2], [2, 0]].map(|side| (n, side));
    let of = (0..triangles.len()).flat_map(sides);
    of.filter(|(n, [a, b])| on(triangles[*n][*a], triangles[*n][*b])).map(|(n, side)| side.map(|k| 3 * n + k)).collect()
}

/// Adds a vertical wall of `depth` metres below the given sides, facing away from their triangles.
fn add_skirt(mesh: &mut Mesh, sides: &[[usize; 2]], depth: f64) {
    // Two sides of a border share the lower vertex below their common one. The map is only read by key, so its order
    // has no effect.
    let mut under = std::collections::HashMap::new();
    for side in sides {
        let [a, b] = side.map(|k| mesh.indices[k]);
        let [c, d] = [a, b].map(|corner| {
            *under.entry(corner).or_insert_with(|| {
                let at = corner as usize;
                let mut low = mesh.positions[at];
                low[if mesh.up == Up::Y { 1 } else { 2 }] -= depth as f32;
                mesh.positions.push(low);
                mesh.normals.push(mesh.normals[at]);
                mesh.tangents.push(mesh.tangents[at]);
                mesh.uvs.push(mesh.uvs[at]);
                mesh.positions.len() as u32 - 1
            })
        });
        // Two triangles connect the side with its lower copy, wound so that they face away from the chunk.
        mesh.indices.extend([a, c, d, a, d, b]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::{Field, Grid, Height};

    fn land(size: [usize; 2], seed: u64) -> Terrain {
        let key = RandomKey::new(seed, "chunks");
        let ground = Field::from_fn(size, |i, j| {
            let coarse = key.derive_key(1).for_cell([(i / 6) as i64, (j / 6) as i64]).uniform_unit();
            Height::from_metres_clamped(30.0 * coarse + (i as f64) + key.for_cell([i as i64, j as i64]).uniform_unit())
        });
        let hole = Field::from_fn(size, |i, j| seed % 2 == 1 && i > 20 && (14..19).contains(&j));
        Terrain { nodata: Some(hole), ..Terrain::from_ground(Grid::new(size, 10.0).unwrap(), ground).unwrap() }
    }

    fn bits(p: [f32; 3]) -> [u32; 3] {
        p.map(f32::to_bits)
    }

    #[test]
    fn neighbours_meet_to_the_bit_at_every_level() {
        for (seed, size, count) in
            [(0, [33, 49], [2, 3]), (1, [40, 37], [3, 2]), (2, [9, 50], [2, 5]), (4, [3, 3], [2, 2])]
        {
            let land = land(size, seed);
            let options = ChunkOptions { count, levels: 3, ..ChunkOptions::default() };
            let chunked = ChunkedMesh::from_terrain(&land, &options).unwrap();
            let find = |place: Cell| chunked.chunks.iter().find(|chunk| chunk.place == place);
            // The positions and normals of the points on a line of constant x or z.
            let side = |mesh: &Mesh, axis: usize, at: f32| -> BTreeSet<([u32; 3], [u32; 3])> {
                let on = (0..mesh.positions.len()).filter(|k| mesh.positions[*k][axis] == at);
                on.map(|k| (bits(mesh.positions[k]), bits(mesh.normals[k]))).collect()
            };
            let mut met = 0;
            for chunk in &chunked.chunks {
                for (axis, next) in [(0, [0, 1]), (2, [1, 0])] {
                    let Some(other) = find(Cell::from_axes(|k| chunk.place[k] + next[k])) else { continue };
                    let k = 1 - axis / 2;
                    let last = (chunk.place[k] + 1) * (size[k] - 1) / count[k];
                    let at = (last as f32 - (size[k] - 1) as f32 / 2.0) * 10.0;
                    for a in &chunk.levels {
                        for b in &other.levels {
                            assert_eq!(side(a, axis, at), side(b, axis, at), "{seed} {:?}", chunk.place);
                            met += side(a, axis, at).len();
                        }
                    }
                }
            }
            assert!(met > 0);
            // All chunks of the finest level together are the undivided mesh.
            let triangles = |mesh: &Mesh| -> Vec<[[u32; 3]; 3]> {
                mesh.indices.chunks(3).map(|t| [0, 1, 2].map(|k| bits(mesh.positions[t[k] as usize]))).collect()
            };
            let mut whole = triangles(&Mesh::from_terrain(&land, &MeshOptions::default()).unwrap());
            let mut parts: Vec<_> = chunked.chunks.iter().flat_map(|chunk| triangles(&chunk.levels[0])).collect();
            whole.sort_unstable();
            parts.sort_unstable();
            assert_eq!(whole, parts);
            assert!(chunked.chunks.iter().all(|c| c.levels[2].indices.len() <= c.levels[0].indices.len()));
        }
    }

    #[test]
    fn skirts_hang_where_chunks_meet_and_look_outward() {
        let land = land([33, 33], 0);
        let options = ChunkOptions { count: [2, 2], levels: 3, skirts: true, ..ChunkOptions::default() };
        let chunked = ChunkedMesh::from_terrain(&land, &options).unwrap();
        assert!(chunked.skirts >= 2.0 * chunked.errors[2]);
        for chunk in &chunked.chunks {
            // All four chunks meet in the middle of the world; a chunk's own middle is inward from its walls.
            let inward = [0, 1].map(|k| if chunk.place[1 - k] == 0 { -80.0 } else { 80.0 });
            for mesh in &chunk.levels {
                let mut walls = 0;
                for t in mesh.indices.chunks(3) {
                    let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[t[k] as usize]);
                    let (p, q) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
                    let normal = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
                    if normal[1].abs() > 1e-3 {
                        assert!(normal[1] > 0.0);
                        continue;
                    }
                    walls += 1;
                    assert!(normal[0] * (a[0] - inward[0]) + normal[2] * (a[2] - inward[1]) > 0.0, "{normal:?}");
                    assert!([a, b, c].iter().all(|p| p[0] == 0.0) || [a, b, c].iter().all(|p| p[2] == 0.0));
                }
                assert!(walls >= 4);
            }
        }
        let count = |skirts: bool| {
            let chunked = ChunkedMesh::from_terrain(&land, &ChunkOptions { skirts, ..options }).unwrap();
            chunked.chunks.iter().map(|c| c.levels[2].indices.len()).sum::<usize>()
        };
        assert!(count(true) < count(false), "free sides take fewer triangles, walls and all");
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let land = land([9, 9], 0);
        let refusal = |options: ChunkOptions| ChunkedMesh::from_terrain(&land, &options).unwrap_err().to_string();
        let usual = ChunkOptions::default();
        assert!(refusal(ChunkOptions { count: [2, 9], ..usual }).contains("9x2"));
        assert!(refusal(ChunkOptions { count: [0, 1], ..usual }).contains("8x8"));
        assert!(refusal(ChunkOptions { levels: 9, ..usual }).contains("1 to 8"));
        assert!(refusal(ChunkOptions { levels: 0, ..usual }).contains("levels"));
        assert!(refusal(ChunkOptions { error: Some(-1.0), ..usual }).contains("-1 m"));
        assert!(refusal(ChunkOptions { error: Some(f64::NAN), ..usual }).contains("NaN"));
        assert!(
            refusal(ChunkOptions { error: Some(2.0), step: Some(1.0), levels: 2, ..usual }).contains("second level")
        );
        let empty = Terrain { nodata: Some(Field::new([9, 9], true)), ..land.clone() };
        assert!(ChunkedMesh::from_terrain(&empty, &usual).is_err());
    }
}
