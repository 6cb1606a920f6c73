//! [`Mesh`]: the ground as triangles, in metres.

use crate::products::plants;
use crate::products::rtin::Corners;
use crate::products::slope::{gradient, normal};
use thalweg_core::terrain::GROUND;
use thalweg_core::{Cell, Error, Result, Size, Terrain};

/// Which axis points up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Up {
    /// x east, y up, z south (glTF, Godot, Unity after its import).
    #[default]
    Y,
    /// x east, y north, z up (CAD, printers, Blender, GIS).
    Z,
}

/// How to make a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeshOptions {
    /// Which axis points up.
    pub up: Up,
    /// Height that the highest ground is scaled to, above 0 to 1 000 000 m, all heights in proportion; `None` keeps them.
    pub max_height: Option<f64>,
}

/// Ground or water as triangles. The middle of the terrain is the horizontal origin, heights are elevations. There is one position,
/// normal, tangent and texture coordinate to a vertex.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mesh {
    /// Vertices in metres, by the axes of `up`.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals of the ground (central differences); those of water point up.
    pub normals: Vec<[f32; 3]>,
    /// Unit vectors eastward along the ground; the fourth, +1, says that normal × tangent is the bitangent (northward). Of rivers,
    /// unit vectors from the left bank to the right; the fourth, −1, turns the bitangent upstream.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinates: u eastward, v southward, 0..1 over the cells' area. Of rivers, u from the left bank, 0, to the right, 1,
    /// and v in metres downstream.
    pub uvs: Vec<[f32; 2]>,
    /// Triangles, three vertices' numbers each, counter-clockwise seen from above.
    pub indices: Vec<u32>,
    /// As in the options.
    pub up: Up,
}

/// Most vertices: a 32-bit index must not be 2³² − 1, which glTF reserves.
const MAX_VERTICES: usize = u32::MAX as usize - 1;

impl Mesh {
    /// The terrain's mesh: a vertex at each cell's centre, two triangles between four of them. Cells without data are
    /// holes. A terrain of a single row or column is as wide as its cells.
    ///
    /// # Errors
    /// When no four neighbouring cells have data, there are over 2³² − 2 vertices, or `max_height` is not above 0 to 1 000 000 m (or
    /// cannot be reached, because no ground is above zero).
    pub fn of(terrain: &Terrain, options: &MeshOptions) -> Result<Self> {
        let points = MeshPoints::of(terrain, options)?;
        let MeshPoints { rows, cols, .. } = &points;
        let mut mesh = Self::empty(options.up);
        // Index of each vertex of the grid; holes have none.
        let mut index = Vec::with_capacity(rows.len() * cols.len());
        for i in 0..rows.len() {
            for j in 0..cols.len() {
                if points.is_hole(i, j) {
                    index.push(None);
                } else {
                    index.push(Some(mesh.positions.len() as u32));
                    mesh.corner(&points, Cell::new(i, j));
                }
            }
        }
        for i in 0..rows.len() - 1 {
            for j in 0..cols.len() - 1 {
                let at = |i: usize, j: usize| index[i * cols.len() + j];
                if let (Some(nw), Some(ne), Some(sw), Some(se)) =
                    (at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1))
                {
                    mesh.indices.extend([nw, sw, ne, ne, sw, se]);
                }
            }
        }
        if mesh.indices.is_empty() {
            return Err(no_ground());
        }
        Ok(mesh)
    }

    /// The mesh of some triangles between points. `at` says where a point stands, if not on the ground.
    pub(super) fn woven(points: &MeshPoints<'_>, triangles: &[Corners], at: Option<f64>) -> Self {
        let mut mesh = Self::empty(Up::default());
        mesh.up = points.up;
        let mut index = std::collections::HashMap::new();
        for corner in triangles.iter().flatten() {
            let number = *index.entry(*corner).or_insert_with(|| {
                match at {
                    Some(level) => mesh.flat(points, *corner, level),
                    None => mesh.corner(points, *corner),
                }
                mesh.positions.len() as u32 - 1
            });
            mesh.indices.push(number);
        }
        mesh
    }

    /// Lowest and highest coordinate along each axis (x, y, z), in metres.
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        plants::bounds(&self.positions)
    }

    pub(super) fn empty(up: Up) -> Self {
        Self { positions: vec![], normals: vec![], tangents: vec![], uvs: vec![], indices: vec![], up }
    }

    /// Adds all of another one.
    pub(super) fn join(&mut self, other: Self) {
        let first = self.positions.len() as u32;
        self.positions.extend(other.positions);
        self.normals.extend(other.normals);
        self.tangents.extend(other.tangents);
        self.uvs.extend(other.uvs);
        self.indices.extend(other.indices.into_iter().map(|k| k + first));
    }

    /// Adds a point of the ground.
    fn corner(&mut self, points: &MeshPoints<'_>, point: Cell) {
        let (terrain, scale) = (points.terrain, points.scale);
        let ((south, row), (east, col)) = (points.rows[point.row], points.cols[point.col]);
        let slope = gradient(terrain, row, col);
        let rise = slope[0] * scale;
        let length = (1.0 + rise * rise).sqrt();
        let [x, y, z] = self.oriented([1.0 / length, 0.0, rise / length]);
        self.positions.push(self.oriented([east, -south, points.height(point.row, point.col)]));
        self.normals.push(self.oriented(normal(slope, scale)));
        self.tangents.push([x, y, z, 1.0]);
        self.uvs.push(points.uv(point));
    }

    /// Adds a point of level water over a point of the ground.
    fn flat(&mut self, points: &MeshPoints<'_>, point: Cell, level: f64) {
        let [x, y, z] = self.oriented([1.0, 0.0, 0.0]);
        self.positions.push(self.oriented([points.cols[point.col].0, -points.rows[point.row].0, level]));
        self.normals.push(self.oriented([0.0, 0.0, 1.0]));
        self.tangents.push([x, y, z, 1.0]);
        self.uvs.push(points.uv(point));
    }

    /// East, north, up as this mesh's axes.
    pub(super) fn oriented(&self, [east, north, up]: [f64; 3]) -> [f32; 3] {
        match self.up {
            Up::Y => [east, up, -north],
            Up::Z => [east, north, up],
        }
        .map(|x| x as f32)
    }
}

/// Where a terrain's mesh has points: a grid, each point in the middle of a cell.
pub(super) struct MeshPoints<'a> {
    terrain: &'a Terrain,
    scale: f64,
    up: Up,
    /// Metres south and east of the middle, and the cell.
    rows: Vec<(f64, usize)>,
    cols: Vec<(f64, usize)>,
}

impl<'a> MeshPoints<'a> {
    /// Those of a terrain.
    ///
    /// # Errors
    /// Too many of them; as [`Mesh::of`] for the options.
    pub fn of(terrain: &'a Terrain, options: &MeshOptions) -> Result<Self> {
        let scale = scale(terrain, options.max_height)?;
        let [rows, cols] = terrain.grid.size.map(|n| stations(n, terrain.grid.cell));
        let vertices = rows.len() as u64 * cols.len() as u64;
        if vertices > MAX_VERTICES as u64 {
            return Err(Error::TooLarge {
                what: "the mesh".into(),
                need: format!("{vertices} vertices"),
                have: format!("{MAX_VERTICES}"),
            });
        }
        Ok(Self { terrain, scale, up: options.up, rows, cols })
    }

    /// Rows and columns of points, two or more of each.
    pub fn size(&self) -> Size {
        [self.rows.len(), self.cols.len()]
    }

    /// Which axis points up.
    pub fn up(&self) -> Up {
        self.up
    }

    /// Metres as the mesh has them.
    pub fn scaled(&self, metres: f64) -> f64 {
        metres * self.scale
    }

    /// Metres at a point, scaled.
    pub fn height(&self, i: usize, j: usize) -> f64 {
        self.scaled(self.terrain.ground[self.cell(Cell::new(i, j))].metres())
    }

    /// The terrain's cell in whose middle a point of the mesh lies.
    pub fn cell(&self, point: Cell) -> Cell {
        Cell::new(self.rows[point.row].1, self.cols[point.col].1)
    }

    /// Whether a point has no data.
    pub fn is_hole(&self, i: usize, j: usize) -> bool {
        self.terrain.is_nodata(self.rows[i].1, self.cols[j].1)
    }

    /// Whether there is ground between this point and those south and east of it.
    pub fn is_solid(&self, i: usize, j: usize) -> bool {
        ![(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].into_iter().any(|(i, j)| self.is_hole(i, j))
    }

    fn uv(&self, point: Cell) -> [f32; 2] {
        let ([rows, cols], cell) = (self.terrain.grid.size, self.cell(point));
        [((cell.col as f64 + 0.5) / cols as f64) as f32, ((cell.row as f64 + 0.5) / rows as f64) as f32]
    }
}

/// Why there is no mesh.
pub(super) fn no_ground() -> Error {
    Error::layer(GROUND.name, "has no four neighbouring cells with data to make a mesh of")
}

/// Factor on heights.
pub(super) fn scale(terrain: &Terrain, max_height: Option<f64>) -> Result<f64> {
    let Some(wanted) = max_height else { return Ok(1.0) };
    if !(wanted > 0.0 && wanted <= 1e6) {
        return Err(Error::value("max height", format!("{wanted} m"), "above 0 to 1000000 m"));
    }
    match terrain.range().map(|[_, high]| high.metres()) {
        Some(high) if high > 0.0 => Ok(wanted / high),
        _ => Err(Error::conflict(format!("max height = {wanted} m"), "only applies to terrain that rises above 0 m")),
    }
}

/// Metres from the middle of each vertex along an axis, and its cell; a lone cell gets one at either end.
fn stations(n: usize, cell: f64) -> Vec<(f64, usize)> {
    if n == 1 {
        return vec![(-0.5 * cell, 0), (0.5 * cell, 0)];
    }
    (0..n).map(|k| ((k as f64 - (n - 1) as f64 / 2.0) * cell, k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Field, Grid, Height};

    fn terrain(rows: usize, cols: usize, height: impl Fn(usize, usize) -> f64) -> Terrain {
        let mut terrain = Terrain::new(Grid::new([rows, cols], 10.0).unwrap());
        for i in 0..rows {
            for j in 0..cols {
                terrain.ground[(i, j)] = Height::saturating(height(i, j));
            }
        }
        terrain
    }

    fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    }

    #[test]
    fn a_plane_has_exact_normals_and_tangents() {
        // 0.75 per metre eastward: normal (−3/5, 4/5 up), tangent (4/5, 3/5 up).
        let plane = terrain(5, 6, |_, j| 7.5 * j as f64);
        let y = Mesh::of(&plane, &MeshOptions::default()).unwrap();
        assert!(y.normals.iter().all(|n| *n == [-0.6, 0.8, 0.0]));
        assert!(y.tangents.iter().all(|t| *t == [0.8, 0.6, 0.0, 1.0]));
        let z = Mesh::of(&plane, &MeshOptions { up: Up::Z, ..MeshOptions::default() }).unwrap();
        assert!(z.normals.iter().all(|n| *n == [-0.6, 0.0, 0.8]));
        for (mesh, north) in [(&y, [0.0, 0.0, -1.0]), (&z, [0.0, 1.0, 0.0])] {
            for (n, t) in mesh.normals.iter().zip(&mesh.tangents) {
                let bitangent = cross(*n, [t[0], t[1], t[2]]).map(|x| x * t[3]);
                // Products of f32: a few times 6e-8.
                assert!((0..3).all(|k| (bitangent[k] - north[k]).abs() < 1e-6), "{bitangent:?}");
            }
        }
        assert_eq!(y.bounds(), [[-25.0, 0.0, -20.0], [25.0, 37.5, 20.0]]);
        assert_eq!(z.bounds(), [[-25.0, -20.0, 0.0], [25.0, 20.0, 37.5]]);
    }

    #[test]
    fn all_triangles_face_up_and_shared_edges_run_both_ways() {
        let land = terrain(9, 7, |i, j| ((i * 31 + j * 17) % 13) as f64 * 9.0);
        for up in [Up::Y, Up::Z] {
            let mesh = Mesh::of(&land, &MeshOptions { up, ..MeshOptions::default() }).unwrap();
            let mut edges = std::collections::BTreeMap::new();
            for triangle in mesh.indices.chunks(3) {
                let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[triangle[k] as usize]);
                let face = cross([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
                assert!(if up == Up::Y { face[1] } else { face[2] } > 0.0);
                for k in 0..3 {
                    *edges.entry((triangle[k], triangle[(k + 1) % 3])).or_insert(0) += 1;
                }
            }
            assert!(edges.values().all(|n| *n == 1), "a manifold's directed edge belongs to one face");
            let open = edges.keys().filter(|(a, b)| !edges.contains_key(&(*b, *a))).count();
            assert_eq!(open, 2 * (8 + 6), "only the rim is open");
        }
    }

    #[test]
    fn normals_of_a_sphere_cap() {
        // Radius 1000 m; the central difference's error is h²/6 · f''' ≈ 100/6 · 3·x·R²/z⁵ < 0.001 for slopes under 1/2.
        let (radius, middle) = (1000.0, 30.0);
        let offset = |k: usize| (k as f64 - middle) * 10.0;
        let cap = terrain(61, 61, |i, j| (radius * radius - offset(i).powi(2) - offset(j).powi(2)).sqrt());
        let mesh = Mesh::of(&cap, &MeshOptions { up: Up::Z, ..MeshOptions::default() }).unwrap();
        for i in 1..60 {
            for j in 1..60 {
                let z = cap.ground[(i, j)].metres();
                let want = [offset(j) / radius, -offset(i) / radius, z / radius];
                let seen = mesh.normals[i * 61 + j];
                assert!((0..3).all(|k| (f64::from(seen[k]) - want[k]).abs() < 1e-3), "{i}, {j}: {seen:?} for {want:?}");
            }
        }
    }

    #[test]
    fn holes_lone_cells_and_refusals() {
        let mut land = terrain(6, 6, |i, j| (i + j) as f64);
        land.nodata = Some(Field::generate([6, 6], |i, j| i == 2 && j == 2));
        let mesh = Mesh::of(&land, &MeshOptions::default()).unwrap();
        assert_eq!((mesh.positions.len(), mesh.indices.len()), (35, (25 - 4) * 6));
        for (rows, cols, quads) in [(1, 1, 1), (1, 5, 4), (5, 1, 4)] {
            let mesh = Mesh::of(&terrain(rows, cols, |_, _| 3.0), &MeshOptions::default()).unwrap();
            assert_eq!(mesh.indices.len(), quads * 6);
        }
        let tall = Mesh::of(&land, &MeshOptions { max_height: Some(100.0), ..MeshOptions::default() }).unwrap();
        assert_eq!(tall.bounds()[1][1], 100.0);
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(Mesh::of(&land, &MeshOptions { max_height: Some(bad), ..MeshOptions::default() }).is_err());
        }
        land.nodata = Some(Field::new([6, 6], true));
        assert!(Mesh::of(&land, &MeshOptions::default()).is_err());
    }
}
