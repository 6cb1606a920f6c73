//! [`Mesh`]: the ground as triangles, in metres.

use crate::base::error::{Error, Result};
use crate::products::plants;
use crate::products::slope::{gradient, normal};
use crate::terrain::{GROUND, Terrain};

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
    /// Height in metres that the highest ground is scaled to, all heights in proportion; `None` keeps them.
    pub max_height: Option<f64>,
}

/// A heightfield as triangles. The middle of the terrain is the horizontal origin, heights are elevations.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mesh {
    /// Metres.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals of the ground (central differences).
    pub normals: Vec<[f32; 3]>,
    /// Unit vectors eastward along the ground; the fourth, +1, says that normal × tangent is the bitangent (northward).
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinates: u eastward, v southward, 0..1 over the cells' area.
    pub uvs: Vec<[f32; 2]>,
    /// Triangles, counter-clockwise seen from above.
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
    /// When there is no quad without a hole, too many vertices, or `max_height` is not a positive number (or cannot be
    /// reached, because no ground is above zero).
    pub fn of(terrain: &Terrain, options: &MeshOptions) -> Result<Self> {
        let scale = scale(terrain, options.max_height)?;
        let cell = terrain.grid.cell;
        let (rows, cols) = (stations(terrain.grid.size[0], cell), stations(terrain.grid.size[1], cell));
        let vertices = rows.len() as u64 * cols.len() as u64;
        if vertices > MAX_VERTICES as u64 {
            return Err(Error::TooLarge {
                what: "the mesh".into(),
                need: format!("{vertices} vertices"),
                have: format!("{MAX_VERTICES}"),
            });
        }
        let mut mesh = Self::empty(options.up);
        // Index of each vertex of the grid; holes have none.
        let mut index = Vec::with_capacity(vertices as usize);
        for &(south, i) in &rows {
            for &(east, j) in &cols {
                if terrain.is_nodata(i, j) {
                    index.push(None);
                } else {
                    index.push(Some(mesh.positions.len() as u32));
                    mesh.vertex(terrain, (i, j), [east, -south], scale);
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
            return Err(Error::layer(GROUND.name, "has no four neighbouring cells with data to make a mesh of"));
        }
        Ok(mesh)
    }

    /// Lowest and highest coordinate along each axis, in metres.
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        plants::bounds(&self.positions)
    }

    fn empty(up: Up) -> Self {
        Self { positions: vec![], normals: vec![], tangents: vec![], uvs: vec![], indices: vec![], up }
    }

    /// Adds the vertex of cell (i, j) at metres east and north.
    fn vertex(&mut self, terrain: &Terrain, (i, j): (usize, usize), [east, north]: [f64; 2], scale: f64) {
        let slope = gradient(terrain, i, j);
        let rise = slope[0] * scale;
        let length = (1.0 + rise * rise).sqrt();
        let [x, y, z] = self.oriented([1.0 / length, 0.0, rise / length]);
        self.positions.push(self.oriented([east, north, terrain.ground[(i, j)].metres() * scale]));
        self.normals.push(self.oriented(normal(slope, scale)));
        self.tangents.push([x, y, z, 1.0]);
        let [rows, cols] = terrain.grid.size;
        self.uvs.push([((j as f64 + 0.5) / cols as f64) as f32, ((i as f64 + 0.5) / rows as f64) as f32]);
    }

    /// East, north, up as this mesh's axes.
    fn oriented(&self, [east, north, up]: [f64; 3]) -> [f32; 3] {
        match self.up {
            Up::Y => [east, up, -north],
            Up::Z => [east, north, up],
        }
        .map(|x| x as f32)
    }
}

/// Factor on heights.
pub(super) fn scale(terrain: &Terrain, max_height: Option<f64>) -> Result<f64> {
    let Some(wanted) = max_height else { return Ok(1.0) };
    if !(wanted > 0.0 && wanted <= 1e6) {
        return Err(Error::value("max height", format!("{wanted} m"), "above 0 to 1000000 m"));
    }
    match terrain.range().map(|[_, high]| high.metres()) {
        Some(high) if high > 0.0 => Ok(wanted / high),
        _ => Err(Error::value("max height", format!("{wanted} m"), "only for ground that rises above 0 m")),
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
    use crate::terrain::field::Field;
    use crate::terrain::grid::Grid;
    use crate::terrain::height::Height;

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
