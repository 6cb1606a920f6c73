//! [`GltfTrees`]: trees on a mesh as many nodes that share the shapes of a few plants.
//!
//! Nodes that share a mesh are plain glTF 2.0, which every viewer opens, but some viewers open thousands of them
//! slowly. `EXT_mesh_gpu_instancing` needs only one node per shape, but requires a viewer that supports it.

use serde_json::json;

use crate::products::gltf::{Gltf, Numbers};
use crate::products::mesh::{MeshOptions, height_scale};
use crate::products::plants::PlantShape;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Result, Terrain};
use thalweg_models::process::forest::Tree;

/// The number of different shapes per kind of tree.
const SHAPES: u64 = 3;

/// Trees that are ready to be put into a glTF file together with the Y-up mesh of their terrain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GltfTrees {
    /// The shapes in use, with their names.
    pub plants: Vec<(String, PlantShape)>,
    /// The trees.
    pub trees: Vec<StandingTree>,
    /// The number of trees that were left out because there were more than the requested maximum.
    pub left_out: usize,
}

/// A tree on a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StandingTree {
    /// The index of its shape in [`GltfTrees::plants`], from 0.
    pub plant: usize,
    /// The position of its foot in the mesh's metres: x east, y up and z south.
    pub foot: [f32; 3],
    /// The width of its crown in metres, and its height in the mesh's metres, scaled as the terrain is.
    pub size: [f32; 2],
    /// The sine and cosine of half its rotation about its axis, counter-clockwise seen from above; a rotation of 0
    /// leaves the shape unchanged.
    pub half_turn: [f32; 2],
}

impl GltfTrees {
    /// Places trees on the mesh that a terrain has with the same options, at most `most` of them. If there are more,
    /// those with the smallest hashes of their numbers are kept, which thins the forest evenly. Trees beyond the
    /// outermost cells' centres, where there is no mesh, or over holes of the mesh are omitted.
    ///
    /// # Errors
    /// Returns an error if `max_height` is rejected, as by
    /// [`Mesh::from_terrain`](crate::products::mesh::Mesh::from_terrain).
    pub fn from_trees(trees: &[Tree], terrain: &Terrain, options: &MeshOptions, most: usize) -> Result<Self> {
        Self::with_shapes(trees, terrain, options, most, SHAPES)
    }

    /// Places trees as [`GltfTrees::from_trees`] does, with one shape per kind, which suits instancing: only rotation
    /// and size distinguish the trees.
    ///
    /// # Errors
    /// Returns the errors of [`GltfTrees::from_trees`].
    pub fn with_one_shape_per_kind(
        trees: &[Tree],
        terrain: &Terrain,
        options: &MeshOptions,
        most: usize,
    ) -> Result<Self> {
        Self::with_shapes(trees, terrain, options, most, 1)
    }

    fn with_shapes(trees: &[Tree], terrain: &Terrain, options: &MeshOptions, most: usize, shapes: u64) -> Result<Self> {
        let scale = height_scale(terrain, options.max_height)?;
        let lot = |tree: &Tree| RandomKey::ZERO.derive_key(tree.number).random_bits();
        let mut found: Vec<(&Tree, [f32; 3])> =
            trees.iter().filter_map(|tree| Some((tree, find_foot(tree, terrain, scale)?))).collect();
        let left_out = found.len().saturating_sub(most);
        // The hash chooses which trees remain; the order by number is restored, so that the file lists trees in their
        // order.
        if left_out > 0 {
            found.sort_by_key(|(tree, _)| (lot(tree), tree.number));
            found.truncate(most);
            found.sort_by_key(|(tree, _)| tree.number);
        }
        let mut stand = Self { left_out, ..Self::default() };
        let mut known = std::collections::BTreeMap::new();
        // Shapes are created at their first use, so that unused ones are not in the file.
        for (tree, foot) in found {
            let shape = lot(tree) % shapes;
            // The shape depends on the tree's number alone, so that a tree keeps it if others are left out.
            let plant = *known.entry((tree.kind, shape)).or_insert_with(|| {
                let kind = tree.kind().name;
                let name = if shapes > 1 { format!("{kind}_{}", shape + 1) } else { kind.to_string() };
                stand.plants.push((
                    name,
                    PlantShape::grow(tree.kind, RandomKey::ZERO.derive_key(tree.kind.into()).derive_key(shape)),
                ));
                stand.plants.len() - 1
            });
            // This is half of a uniform rotation between 0 and 2π; a quaternion contains its sine and cosine.
            let half = std::f64::consts::PI * RandomKey::ZERO.derive_key(tree.number).derive_key(1).uniform_unit();
            stand.trees.push(StandingTree {
                plant,
                foot,
                size: [tree.crown(), tree.height() * scale as f32],
                half_turn: [libm::sin(half) as f32, libm::cos(half) as f32],
            });
        }
        Ok(stand)
    }

    /// Adds the trees to a glTF document, either each tree as a node or all trees of a shape as instances of one
    /// node.
    pub(super) fn add_to_document(&self, gltf: &mut Gltf, as_nodes: bool) {
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
            let position =
                gltf.add_positions(&Numbers::from_floats(&plant.positions), plant.bounds().map(|p| json!(p)));
            let normal = gltf.add_vertex_attributes(&Numbers::from_floats(&plant.normals));
            let colour = gltf.add_vertex_attributes(&Numbers::from_floats(&plant.colours));
            let indices = gltf.add_indices(&Numbers::from_indices(&plant.indices, plant.positions.len()));
            let mesh = json!({"name": name, "primitives": [{
                "attributes": {"POSITION": position, "NORMAL": normal, "COLOR_0": colour},
                "indices": indices, "material": material, "mode": 4,
            }]});
            meshes.push(gltf.push("meshes", mesh));
        }
        let group = gltf.add_scene_node(json!({"name": "trees"}));
        let children: Vec<usize> = if as_nodes {
            let node = |tree: &StandingTree| {
                let ([translation, scale], rotation) = tree.node_transform();
                json!({"mesh": meshes[tree.plant], "translation": translation, "rotation": rotation, "scale": scale})
            };
            self.trees.iter().map(|tree| gltf.push("nodes", node(tree))).collect()
        } else {
            // The extension is optional; a reader without it shows a single plant of each shape.
            gltf.use_extension("EXT_mesh_gpu_instancing", false);
            let plants = self.plants.iter().enumerate();
            plants.map(|(plant, (name, _))| self.add_instances(gltf, plant, name, meshes[plant])).collect()
        };
        gltf.node_mut(group)["children"] = json!(children);
    }

    /// Adds a node with all the trees of a shape and returns its index.
    fn add_instances(&self, gltf: &mut Gltf, plant: usize, name: &str, mesh: usize) -> usize {
        let of = self.trees.iter().filter(|tree| tree.plant == plant).map(StandingTree::node_transform);
        let (places, turns): (Vec<[[f32; 3]; 2]>, Vec<[f32; 4]>) = of.unzip();
        let [feet, sizes] = [0, 1].map(|k| places.iter().map(|place| place[k]).collect::<Vec<_>>());
        let attributes = json!({
            "TRANSLATION": gltf.add_instance_attributes(&Numbers::from_floats(&feet)),
            "ROTATION": gltf.add_instance_attributes(&Numbers::from_floats(&turns)),
            "SCALE": gltf.add_instance_attributes(&Numbers::from_floats(&sizes)),
        });
        let extension = json!({"EXT_mesh_gpu_instancing": {"attributes": attributes}});
        gltf.push("nodes", json!({"name": name, "mesh": mesh, "extensions": extension}))
    }
}

impl StandingTree {
    /// Returns glTF's translation and scale, and its rotation.
    fn node_transform(&self) -> ([[f32; 3]; 2], [f32; 4]) {
        let ([wide, high], [sin, cos]) = (self.size, self.half_turn);
        // A plant is one unit wide and high, so its size is the scale; the rotation is a quaternion about the y axis.
        ([self.foot, [wide, high, wide]], [0.0, sin, 0.0, cos])
    }
}

/// Returns the position of a tree's foot on the mesh triangle below it, if there is one.
fn find_foot(tree: &Tree, terrain: &Terrain, scale: f64) -> Option<[f32; 3]> {
    let [rows, cols] = terrain.grid.size;
    let Cell { row: y, col: x } = tree.position().map(|at| at - 0.5);
    if y < 0.0 || x < 0.0 || rows < 2 || cols < 2 || y > (rows - 1) as f64 || x > (cols - 1) as f64 {
        return None;
    }
    // A tree on the last row or column of centres belongs to the quad before it.
    let (i, j) = ((y as usize).min(rows - 2), (x as usize).min(cols - 2));
    let (v, u) = (y - i as f64, x - j as f64);
    let corners = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)];
    if corners.iter().any(|(i, j)| terrain.is_nodata(*i, *j)) {
        return None;
    }
    let [nw, ne, sw, se] = corners.map(|at| terrain.ground[at].metres());
    // The diagonal of a quad runs from the south-west to the north-east.
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
        let ground = Field::from_fn([20, 30], |i, j| Height::from_metres_clamped(((i * 7 + j * 13) % 11) as f64));
        Terrain {
            nodata: Some(Field::from_fn([20, 30], |i, j| i == 5 && j == 5)),
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
            let mesh = Mesh::from_terrain(&land, &options).unwrap();
            let stand = GltfTrees::from_trees(&wood(), &land, &options, 10_000).unwrap();
            assert!(stand.left_out == 0 && stand.trees.len() > 700 && stand.plants.len() == 18);
            for tree in &stand.trees {
                let [x, y, z] = tree.foot;
                // Some triangle contains the foot at its height; the hole contains none.
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
        let all = GltfTrees::from_trees(&wood(), &land(), &MeshOptions::default(), 10_000).unwrap();
        let some = GltfTrees::from_trees(&wood(), &land(), &MeshOptions::default(), 300).unwrap();
        assert_eq!((some.trees.len(), some.left_out), (300, all.trees.len() - 300));
        let west = |stand: &GltfTrees| {
            stand.trees.iter().filter(|t| t.foot[0] < 0.0).count() as f64 / stand.trees.len() as f64
        };
        // A share of about a half of 300 has a standard deviation of 0.029; the limit is four of those.
        assert!((west(&some) - west(&all)).abs() < 0.116);
    }
}
