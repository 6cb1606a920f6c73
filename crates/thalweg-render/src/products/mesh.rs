//! [`Mesh`]: the terrain surface as triangles, in metres.

use crate::products::plants;
use crate::products::rtin::Corners;
use crate::products::slope::{central_gradient, scaled_normal};
use thalweg_core::terrain::GROUND;
use thalweg_core::{Cell, Error, Result, Size, Terrain};

/// The axis that points up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Up {
    /// x east, y up, z south (glTF, Godot, Unity after its import).
    #[default]
    Y,
    /// x east, y north, z up (CAD, printers, Blender, GIS).
    Z,
}

/// The options for a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeshOptions {
    /// The axis that points up.
    pub up: Up,
    /// The elevation to which the highest cell is scaled, above 0 to 1 000 000 m, with all other elevations in
    /// proportion; `None` applies no scaling. For example, 100 reduces a terrain that is 2000 m high to a twentieth.
    pub max_height: Option<f64>,
}

/// A terrain or water surface as triangles. The horizontal origin is the middle of the terrain; heights are
/// elevations. There is one position, normal, tangent and texture coordinate per vertex.
///
/// # Examples
/// A vertex for each cell, and two triangles between each four of them.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::mesh::{Mesh, MeshOptions, Up};
///
/// let terrain = Terrain::new(Grid::new([3, 4], 10.0)?);
/// let mesh = Mesh::from_terrain(&terrain, &MeshOptions { up: Up::Z, ..MeshOptions::default() })?;
/// assert_eq!(mesh.positions.len(), 3 * 4);
/// assert_eq!(mesh.indices.len(), 2 * 3 * (2 * 3));
/// assert_eq!(mesh.bounds(), [[-15.0, -10.0, 0.0], [15.0, 10.0, 0.0]]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mesh {
    /// The vertices in metres, in the axes of `up`.
    pub positions: Vec<[f32; 3]>,
    /// The unit normals of the surface (by central differences); those of water point up.
    pub normals: Vec<[f32; 3]>,
    /// Unit vectors eastward along the surface; the fourth component, +1, means that normal × tangent is the
    /// bitangent (northward). For rivers: unit vectors from the left bank to the right; the fourth component, −1,
    /// makes the bitangent point upstream.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinates: u eastward, v southward, 0..1 over the area of the cells. For rivers: u from 0 at the
    /// left bank to 1 at the right, and v in metres downstream.
    pub uvs: Vec<[f32; 2]>,
    /// Triangles as three vertex indices each, counter-clockwise seen from above.
    pub indices: Vec<u32>,
    /// The axis that points up, as given in the options.
    pub up: Up,
}

/// The largest number of vertices: no 32-bit index may be 2³² − 1, which glTF reserves.
const MAX_VERTICES: usize = u32::MAX as usize - 1;

impl Mesh {
    /// Creates the terrain's mesh: a vertex at each cell's centre and two triangles between each four of them. Cells
    /// without data are holes. A terrain of a single row or column is as wide as its cells.
    ///
    /// # Errors
    /// Returns an error if no block of 2 × 2 cells has data, if there are over 2³² − 2 vertices, or if `max_height`
    /// is not above 0 to 1 000 000 m (or cannot be reached, because no cell is above zero).
    pub fn from_terrain(terrain: &Terrain, options: &MeshOptions) -> Result<Self> {
        let points = MeshPoints::from_terrain(terrain, options)?;
        let MeshPoints { rows, cols, .. } = &points;
        let mut mesh = Self::empty(options.up);
        // Vertices are numbered row by row without gaps, so that holes have no unused vertices.
        // The index of each vertex of the grid; holes have none.
        let mut index = Vec::with_capacity(rows.len() * cols.len());
        for i in 0..rows.len() {
            for j in 0..cols.len() {
                if points.is_hole(i, j) {
                    index.push(None);
                } else {
                    index.push(Some(mesh.positions.len() as u32));
                    mesh.add_vertex(&points, Cell::new(i, j));
                }
            }
        }
        for i in 0..rows.len() - 1 {
            for j in 0..cols.len() - 1 {
                let at = |i: usize, j: usize| index[i * cols.len() + j];
                if let (Some(nw), Some(ne), Some(sw), Some(se)) =
                    (at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1))
                {
                    // The diagonal runs from the south-west to the north-east, as in `split_quad` and `find_foot`.
                    mesh.indices.extend([nw, sw, ne, ne, sw, se]);
                }
            }
        }
        if mesh.indices.is_empty() {
            return Err(no_ground());
        }
        Ok(mesh)
    }

    /// Creates a mesh of the given triangles between points. If `at` is given, all the points have this elevation
    /// instead of the terrain's.
    pub(super) fn from_triangles(points: &MeshPoints<'_>, triangles: &[Corners], at: Option<f64>) -> Self {
        let mut mesh = Self::empty(Up::default());
        mesh.up = points.up;
        // The map is only read by key; vertices are numbered in the order of the triangles.
        let mut index = std::collections::HashMap::new();
        for corner in triangles.iter().flatten() {
            let number = *index.entry(*corner).or_insert_with(|| {
                match at {
                    Some(level) => mesh.add_level_vertex(points, *corner, level),
                    None => mesh.add_vertex(points, *corner),
                }
                mesh.positions.len() as u32 - 1
            });
            mesh.indices.push(number);
        }
        mesh
    }

    /// Returns the lowest and highest coordinate along each axis (x, y, z), in metres.
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        plants::compute_bounds(&self.positions)
    }

    pub(super) fn empty(up: Up) -> Self {
        Self { positions: vec![], normals: vec![], tangents: vec![], uvs: vec![], indices: vec![], up }
    }

    /// Appends all of another mesh.
    pub(super) fn append(&mut self, other: Self) {
        let first = self.positions.len() as u32;
        self.positions.extend(other.positions);
        self.normals.extend(other.normals);
        self.tangents.extend(other.tangents);
        self.uvs.extend(other.uvs);
        self.indices.extend(other.indices.into_iter().map(|k| k + first));
    }

    /// Adds a point of the terrain surface.
    fn add_vertex(&mut self, points: &MeshPoints<'_>, point: Cell) {
        let (terrain, scale) = (points.terrain, points.scale);
        let ((south, row), (east, col)) = (points.rows[point.row], points.cols[point.col]);
        let slope = central_gradient(terrain, row, col);
        // The tangent is eastward along the surface, so it rises with the eastward slope.
        let rise = slope[0] * scale;
        let length = (1.0 + rise * rise).sqrt();
        let [x, y, z] = self.to_mesh_axes([1.0 / length, 0.0, rise / length]);
        self.positions.push(self.to_mesh_axes([east, -south, points.height(point.row, point.col)]));
        self.normals.push(self.to_mesh_axes(scaled_normal(slope, scale)));
        self.tangents.push([x, y, z, 1.0]);
        self.uvs.push(points.uv(point));
    }

    /// Adds a point of a level water surface above a point of the terrain.
    fn add_level_vertex(&mut self, points: &MeshPoints<'_>, point: Cell, level: f64) {
        let [x, y, z] = self.to_mesh_axes([1.0, 0.0, 0.0]);
        self.positions.push(self.to_mesh_axes([points.cols[point.col].0, -points.rows[point.row].0, level]));
        self.normals.push(self.to_mesh_axes([0.0, 0.0, 1.0]));
        self.tangents.push([x, y, z, 1.0]);
        self.uvs.push(points.uv(point));
    }

    /// Converts (east, north, up) to the axes of this mesh.
    pub(super) fn to_mesh_axes(&self, [east, north, up]: [f64; 3]) -> [f32; 3] {
        match self.up {
            // A rotation about the x axis makes y point up; north becomes negative z.
            Up::Y => [east, up, -north],
            Up::Z => [east, north, up],
        }
        .map(|x| x as f32)
    }
}

/// The points of a terrain's mesh: a grid with each point at the centre of a cell.
pub(super) struct MeshPoints<'a> {
    terrain: &'a Terrain,
    scale: f64,
    up: Up,
    /// For each row or column of points: the distance in metres south or east of the middle, and the index of the
    /// cell.
    rows: Vec<(f64, usize)>,
    cols: Vec<(f64, usize)>,
}

impl<'a> MeshPoints<'a> {
    /// Lists the points of a terrain.
    ///
    /// # Errors
    /// Returns an error if there are too many points; also returns the errors of [`Mesh::from_terrain`] for the
    /// options.
    pub fn from_terrain(terrain: &'a Terrain, options: &MeshOptions) -> Result<Self> {
        let scale = height_scale(terrain, options.max_height)?;
        let [rows, cols] = terrain.grid.size.map(|n| vertex_positions(n, terrain.grid.cell));
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

    /// Returns the numbers of rows and columns of points, at least two of each.
    pub fn size(&self) -> Size {
        [self.rows.len(), self.cols.len()]
    }

    /// Returns the axis that points up.
    pub fn up(&self) -> Up {
        self.up
    }

    /// Returns an elevation in metres with the mesh's vertical scale applied.
    pub fn scale_height(&self, metres: f64) -> f64 {
        metres * self.scale
    }

    /// Returns the scaled elevation of a point in metres.
    pub fn height(&self, i: usize, j: usize) -> f64 {
        self.scale_height(self.terrain.ground[self.terrain_cell(Cell::new(i, j))].metres())
    }

    /// Returns the terrain's cell at whose centre a point of the mesh is.
    pub fn terrain_cell(&self, point: Cell) -> Cell {
        Cell::new(self.rows[point.row].1, self.cols[point.col].1)
    }

    /// Returns true if a point has no data.
    pub fn is_hole(&self, i: usize, j: usize) -> bool {
        self.terrain.is_nodata(self.rows[i].1, self.cols[j].1)
    }

    /// Returns true if this point and those south and east of it all have data.
    pub fn is_solid(&self, i: usize, j: usize) -> bool {
        ![(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].into_iter().any(|(i, j)| self.is_hole(i, j))
    }

    fn uv(&self, point: Cell) -> [f32; 2] {
        let ([rows, cols], cell) = (self.terrain.grid.size, self.terrain_cell(point));
        [((cell.col as f64 + 0.5) / cols as f64) as f32, ((cell.row as f64 + 0.5) / rows as f64) as f32]
    }
}

/// Returns the error for a terrain that has no triangles.
pub(super) fn no_ground() -> Error {
    Error::invalid_layer(GROUND.name, "has no block of 2 × 2 cells with data; a mesh needs at least one")
}

/// Returns the factor on elevations.
pub(super) fn height_scale(terrain: &Terrain, max_height: Option<f64>) -> Result<f64> {
    let Some(target) = max_height else { return Ok(1.0) };
    if !(target > 0.0 && target <= 1e6) {
        return Err(Error::invalid_value("max height", format!("{target} m"), "above 0 to 1000000 m"));
    }
    match terrain.elevation_range().map(|[_, high]| high.metres()) {
        // A scale needs a positive height to refer to.
        Some(high) if high > 0.0 => Ok(target / high),
        _ => {
            let problem = "only applies to a terrain with heights above 0 m";
            Err(Error::conflict(format!("max height = {target} m"), problem))
        }
    }
}

/// Returns the position of each vertex along an axis, in metres from the middle, and its cell. A single cell gets a
/// vertex at either end.
fn vertex_positions(n: usize, cell: f64) -> Vec<(f64, usize)> {
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
                terrain.ground[(i, j)] = Height::from_metres_clamped(height(i, j));
            }
        }
        terrain
    }

    fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    }

    #[test]
    fn a_plane_has_exact_normals_and_tangents() {
        // A rise of 0.75 per metre eastward: normal (−3/5, 4/5 up), tangent (4/5, 3/5 up).
        let plane = terrain(5, 6, |_, j| 7.5 * j as f64);
        let y = Mesh::from_terrain(&plane, &MeshOptions::default()).unwrap();
        assert!(y.normals.iter().all(|n| *n == [-0.6, 0.8, 0.0]));
        assert!(y.tangents.iter().all(|t| *t == [0.8, 0.6, 0.0, 1.0]));
        let z = Mesh::from_terrain(&plane, &MeshOptions { up: Up::Z, ..MeshOptions::default() }).unwrap();
        assert!(z.normals.iter().all(|n| *n == [-0.6, 0.0, 0.8]));
        for (mesh, north) in [(&y, [0.0, 0.0, -1.0]), (&z, [0.0, 1.0, 0.0])] {
            for (n, t) in mesh.normals.iter().zip(&mesh.tangents) {
                let bitangent = cross(*n, [t[0], t[1], t[2]]).map(|x| x * t[3]);
                // Error of products of f32: a few times 6e-8.
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
            let mesh = Mesh::from_terrain(&land, &MeshOptions { up, ..MeshOptions::default() }).unwrap();
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
        let mesh = Mesh::from_terrain(&cap, &MeshOptions { up: Up::Z, ..MeshOptions::default() }).unwrap();
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
        land.nodata = Some(Field::from_fn([6, 6], |i, j| i == 2 && j == 2));
        let mesh = Mesh::from_terrain(&land, &MeshOptions::default()).unwrap();
        assert_eq!((mesh.positions.len(), mesh.indices.len()), (35, (25 - 4) * 6));
        for (rows, cols, quads) in [(1, 1, 1), (1, 5, 4), (5, 1, 4)] {
            let mesh = Mesh::from_terrain(&terrain(rows, cols, |_, _| 3.0), &MeshOptions::default()).unwrap();
            assert_eq!(mesh.indices.len(), quads * 6);
        }
        let tall =
            Mesh::from_terrain(&land, &MeshOptions { max_height: Some(100.0), ..MeshOptions::default() }).unwrap();
        assert_eq!(tall.bounds()[1][1], 100.0);
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(
                Mesh::from_terrain(&land, &MeshOptions { max_height: Some(bad), ..MeshOptions::default() }).is_err()
            );
        }
        land.nodata = Some(Field::new([6, 6], true));
        assert!(Mesh::from_terrain(&land, &MeshOptions::default()).is_err());
    }
}
