//! [`Stand`]: trees on a mesh, many nodes that share a few plants' shapes.
//!
//! Nodes that share a mesh are plain glTF 2.0, which every viewer opens, but thousands of them are slow to open in some;
//! `EXT_mesh_gpu_instancing` is one node to a shape, and needs a viewer that knows it.

use serde_json::json;

use crate::products::gltf::{Gltf, Numbers};
use crate::products::mesh::{MeshOptions, scale};
use crate::products::plants::Plant;
use thalweg_core::base::rng::Key;
use thalweg_core::{Cell, Result, Terrain};
use thalweg_models::process::forest::Tree;

/// Shapes to each kind.
const SHAPES: u64 = 3;

/// Trees ready to be put into a glTF file with their terrain's Y-up mesh.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stand {
    /// The shapes in use, with their names.
    pub plants: Vec<(String, Plant)>,
    /// The trees.
    pub trees: Vec<StandingTree>,
    /// Number of trees that were left out because there were more than were wanted.
    pub left_out: usize,
}

/// A tree on a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StandingTree {
    /// Number of its shape in [`Stand::plants`], from 0.
    pub plant: usize,
    /// Its foot, x east, y up and z south in the mesh's metres.
    pub foot: [f32; 3],
    /// Width of its crown in metres, and its height in the mesh's metres, scaled as the ground is.
    pub size: [f32; 2],
    /// Sine and cosine of half of its turn about its axis, counter-clockwise seen from above; turn 0 leaves the shape as it is.
    pub half_turn: [f32; 2],
}

impl Stand {
    /// Trees on the mesh that a terrain has with the same options, at most `most`: of more, those are taken whose numbers'
    /// hashes are least, which thins the forest evenly. Trees beyond the outermost cells' centres, where there is no
    /// mesh, or over its holes are passed over.
    ///
    /// # Errors
    /// When `max_height` is refused, as by [`Mesh::of`](crate::products::mesh::Mesh::of).
    pub fn of(trees: &[Tree], terrain: &Terrain, options: &MeshOptions, most: usize) -> Result<Self> {
        Self::grown(trees, terrain, options, most, SHAPES)
    }

    /// The same with one shape to each kind, as instances want it: their turns and sizes tell trees apart.
    ///
    /// # Errors
    /// As [`Stand::of`].
    pub fn alike(trees: &[Tree], terrain: &Terrain, options: &MeshOptions, most: usize) -> Result<Self> {
        Self::grown(trees, terrain, options, most, 1)
    }

    fn grown(trees: &[Tree], terrain: &Terrain, options: &MeshOptions, most: usize, shapes: u64) -> Result<Self> {
        let scale = scale(terrain, options.max_height)?;
        let lot = |tree: &Tree| Key::ZERO.and(tree.number).bits();
        let mut found: Vec<(&Tree, [f32; 3])> =
            trees.iter().filter_map(|tree| Some((tree, foot(tree, terrain, scale)?))).collect();
        let left_out = found.len().saturating_sub(most);
        if left_out > 0 {
            found.sort_by_key(|(tree, _)| (lot(tree), tree.number));
            found.truncate(most);
            found.sort_by_key(|(tree, _)| tree.number);
        }
        let mut stand = Self { left_out, ..Self::default() };
        let mut known = std::collections::BTreeMap::new();
        for (tree, foot) in found {
            let shape = lot(tree) % shapes;
            let plant = *known.entry((tree.kind, shape)).or_insert_with(|| {
                let kind = tree.kind().name;
                let name = if shapes > 1 { format!("{kind}_{}", shape + 1) } else { kind.to_string() };
                stand.plants.push((name, Plant::grown(tree.kind, Key::ZERO.and(tree.kind.into()).and(shape))));
                stand.plants.len() - 1
            });
            let half = std::f64::consts::PI * Key::ZERO.and(tree.number).and(1).unit();
            stand.trees.push(StandingTree {
                plant,
                foot,
                size: [tree.crown(), tree.height() * scale as f32],
                half_turn: [libm::sin(half) as f32, libm::cos(half) as f32],
            });
        }
        Ok(stand)
    }

    /// Adds the trees to a glTF document, each as a node, or those of a shape as instances of one node.
    pub(super) fn join(&self, gltf: &mut Gltf, as_nodes: bool) {
        if self.trees.is_empty() {
            return;
        }
        let material = gltf.push(
            "materials",
            json!({
                "name": "plants",
                "doubleSided": true,
                "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.9},
            }),
        );
        let mut meshes = Vec::new();
        for (name, plant) in &self.plants {
            let position = gltf.places(&Numbers::floats(&plant.positions), plant.bounds().map(|p| json!(p)));
            let normal = gltf.corners(&Numbers::floats(&plant.normals));
            let colour = gltf.corners(&Numbers::floats(&plant.colours));
            let indices = gltf.indices(&Numbers::indices(&plant.indices, plant.positions.len()));
            let mesh = json!({"name": name, "primitives": [{
                "attributes": {"POSITION": position, "NORMAL": normal, "COLOR_0": colour},
                "indices": indices, "material": material, "mode": 4,
            }]});
            meshes.push(gltf.push("meshes", mesh));
        }
        let group = gltf.stand(json!({"name": "trees"}));
        let children: Vec<usize> = if as_nodes {
            let node = |tree: &StandingTree| {
                let ([translation, scale], rotation) = tree.placed();
                json!({"mesh": meshes[tree.plant], "translation": translation, "rotation": rotation, "scale": scale})
            };
            self.trees.iter().map(|tree| gltf.push("nodes", node(tree))).collect()
        } else {
            gltf.extend("EXT_mesh_gpu_instancing", false);
            let plants = self.plants.iter().enumerate();
            plants.map(|(plant, (name, _))| self.instances(gltf, plant, name, meshes[plant])).collect()
        };
        gltf.node(group)["children"] = json!(children);
    }

    /// A node of all trees of a shape.
    fn instances(&self, gltf: &mut Gltf, plant: usize, name: &str, mesh: usize) -> usize {
        let of = self.trees.iter().filter(|tree| tree.plant == plant).map(StandingTree::placed);
        let (places, turns): (Vec<[[f32; 3]; 2]>, Vec<[f32; 4]>) = of.unzip();
        let [feet, sizes] = [0, 1].map(|k| places.iter().map(|place| place[k]).collect::<Vec<_>>());
        let attributes = json!({
            "TRANSLATION": gltf.instances(&Numbers::floats(&feet)),
            "ROTATION": gltf.instances(&Numbers::floats(&turns)),
            "SCALE": gltf.instances(&Numbers::floats(&sizes)),
        });
        let extension = json!({"EXT_mesh_gpu_instancing": {"attributes": attributes}});
        gltf.push("nodes", json!({"name": name, "mesh": mesh, "extensions": extension}))
    }
}

impl StandingTree {
    /// glTF's translation and scale, and its rotation.
    fn placed(&self) -> ([[f32; 3]; 2], [f32; 4]) {
        let ([wide, high], [sin, cos]) = (self.size, self.half_turn);
        ([self.foot, [wide, high, wide]], [0.0, sin, 0.0, cos])
    }
}

/// Where a tree stands on the mesh: on the triangle under it.
fn foot(tree: &Tree, terrain: &Terrain, scale: f64) -> Option<[f32; 3]> {
    let [rows, cols] = terrain.grid.size;
    let Cell { row: y, col: x } = tree.at().map(|at| at - 0.5);
    if y < 0.0 || x < 0.0 || rows < 2 || cols < 2 || y > (rows - 1) as f64 || x > (cols - 1) as f64 {
        return None;
    }
    let (i, j) = ((y as usize).min(rows - 2), (x as usize).min(cols - 2));
    let (v, u) = (y - i as f64, x - j as f64);
    let corners = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)];
    if corners.iter().any(|(i, j)| terrain.is_nodata(*i, *j)) {
        return None;
    }
    let [nw, ne, sw, se] = corners.map(|at| terrain.ground[at].metres());
    // The diagonal runs from the south-west to the north-east.
    let ground = if u + v <= 1.0 {
        nw + u * (ne - nw) + v * (sw - nw)
    } else {
        se + (1.0 - u) * (sw - se) + (1.0 - v) * (ne - se)
    };
    let middle = |n: usize| (n - 1) as f64 / 2.0;
    let cell = terrain.grid.cell;
    Some([((x - middle(cols)) * cell) as f32, (ground * scale) as f32, ((y - middle(rows)) * cell) as f32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::mesh::Mesh;
    use thalweg_core::{Field, Grid, Height};
    use thalweg_models::process::forest::KINDS;

    fn land() -> Terrain {
        let grid = Grid::new([20, 30], 10.0).unwrap();
        let ground = Field::generate([20, 30], |i, j| Height::saturating(((i * 7 + j * 13) % 11) as f64));
        Terrain {
            nodata: Some(Field::generate([20, 30], |i, j| i == 5 && j == 5)),
            ..Terrain::from_ground(grid, ground).unwrap()
        }
    }

    fn wood() -> Vec<Tree> {
        let tree = |n: u64| Tree {
            number: n,
            cell: Cell::new((7 * n % 20) as u32, (11 * n % 30) as u32),
            part: Cell::new((n * 9973 % 65_536) as u16, (n * 31_337 % 65_536) as u16),
            kind: (n % KINDS.len() as u64) as u8,
            size: 1.0,
            age: 0,
            patch: 5.0,
        };
        (0..900).map(tree).collect()
    }

    #[test]
    fn trees_stand_on_the_meshs_triangles() {
        let land = land();
        for max_height in [None, Some(30.0)] {
            let options = MeshOptions { max_height, ..MeshOptions::default() };
            let mesh = Mesh::of(&land, &options).unwrap();
            let stand = Stand::of(&wood(), &land, &options, 10_000).unwrap();
            assert!(stand.left_out == 0 && stand.trees.len() > 700 && stand.plants.len() == 18);
            for tree in &stand.trees {
                let [x, y, z] = tree.foot;
                // Some triangle holds the foot, at its height; the hole has none.
                let on = mesh.indices.chunks(3).any(|triangle| {
                    let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[triangle[k] as usize]);
                    let area = (b[0] - a[0]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[0] - a[0]);
                    let u = ((x - a[0]) * (c[2] - a[2]) - (z - a[2]) * (c[0] - a[0])) / area;
                    let v = ((b[0] - a[0]) * (z - a[2]) - (b[2] - a[2]) * (x - a[0])) / area;
                    let height = a[1] + u * (b[1] - a[1]) + v * (c[1] - a[1]);
                    u >= -1e-4 && v >= -1e-4 && u + v <= 1.0002 && (height - y).abs() < 1e-3
                });
                assert!(on, "{tree:?}");
            }
        }
    }

    #[test]
    fn more_than_are_wanted_are_thinned_evenly() {
        let all = Stand::of(&wood(), &land(), &MeshOptions::default(), 10_000).unwrap();
        let some = Stand::of(&wood(), &land(), &MeshOptions::default(), 300).unwrap();
        assert_eq!((some.trees.len(), some.left_out), (300, all.trees.len() - 300));
        let west =
            |stand: &Stand| stand.trees.iter().filter(|t| t.foot[0] < 0.0).count() as f64 / stand.trees.len() as f64;
        // A share of about a half of 300 has a standard deviation of 0.029; four of those.
        assert!((west(&some) - west(&all)).abs() < 0.116);
    }
}
