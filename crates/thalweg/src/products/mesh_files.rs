//! Meshes as files: glTF binary, Wavefront OBJ, binary STL.

use std::io::{self, Write};

use serde_json::json;

use crate::base::error::{Error, Result};
use crate::pictures::picture::Picture;
use crate::products::mesh::{Mesh, Up};
use crate::products::stand::Stand;

/// glTF's names of number types and buffer uses.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34_962;
const ELEMENT_ARRAY_BUFFER: u32 = 34_963;
const LINEAR: u32 = 9729;
const LINEAR_MIPMAP_LINEAR: u32 = 9987;
const CLAMP_TO_EDGE: u32 = 33_071;

/// Header of a GLB file, and of each of its chunks.
const GLB_HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// A mesh as a glTF 2.0 binary file, ready to be written.
#[derive(Debug)]
pub struct Glb<'a> {
    mesh: &'a Mesh,
    texture: Option<Vec<u8>>,
    plants: Vec<u8>,
    json: Vec<u8>,
    body: usize,
}

impl<'a> Glb<'a> {
    /// The file of `mesh` (which must be Y-up), with a picture from above (the shaded map without scale and legend) as its
    /// colour and with trees on it, if they are given.
    ///
    /// # Errors
    /// When the mesh is not Y-up, the picture has no pixels, or the file would pass 4 GiB, which the format cannot hold.
    pub fn new(mesh: &'a Mesh, texture: Option<&Picture>, trees: Option<&Stand>) -> Result<Self> {
        if mesh.up != Up::Y {
            return Err(Error::value("mesh axis", "Z up", "Y up: a glTF's axes are fixed"));
        }
        let encode = |picture: &Picture| picture.png().map_err(|e| Error::value("texture", e, "a picture with pixels"));
        let texture = texture.map(encode).transpose()?;
        let n = mesh.positions.len();
        let parts = [
            (n * 12, ARRAY_BUFFER),
            (n * 12, ARRAY_BUFFER),
            (n * 16, ARRAY_BUFFER),
            (n * 8, ARRAY_BUFFER),
            (mesh.indices.len() * 4, ELEMENT_ARRAY_BUFFER),
        ];
        let mut views = Vec::new();
        let mut body = 0;
        for (length, target) in parts {
            views.push(json!({"buffer": 0, "byteOffset": body, "byteLength": length, "target": target}));
            body += length;
        }
        if let Some(bytes) = &texture {
            views.push(json!({"buffer": 0, "byteOffset": body, "byteLength": bytes.len()}));
            body += bytes.len().next_multiple_of(4);
        }
        let [low, high] = mesh.bounds();
        let accessor = |view: usize, count: usize, kind: &str| json!({"bufferView": view, "componentType": FLOAT, "count": count, "type": kind});
        let mut positions = accessor(0, n, "VEC3");
        positions["min"] = json!(low);
        positions["max"] = json!(high);
        let mut material =
            json!({"name": "ground", "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 1.0}});
        let mut document = json!({
            "asset": {"version": "2.0", "generator": concat!("thalweg ", env!("CARGO_PKG_VERSION"))},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0, "name": "terrain"}],
            "meshes": [{"name": "terrain", "primitives": [{
                "attributes": {"POSITION": 0, "NORMAL": 1, "TANGENT": 2, "TEXCOORD_0": 3}, "indices": 4, "material": 0, "mode": 4
            }]}],
            "accessors": [
                positions, accessor(1, n, "VEC3"), accessor(2, n, "VEC4"), accessor(3, n, "VEC2"),
                {"bufferView": 4, "componentType": UNSIGNED_INT, "count": mesh.indices.len(), "type": "SCALAR"}
            ],
        });
        if texture.is_some() {
            material["pbrMetallicRoughness"]["baseColorTexture"] = json!({"index": 0});
            document["textures"] = json!([{"sampler": 0, "source": 0}]);
            document["images"] = json!([{"bufferView": 5, "mimeType": "image/png"}]);
            document["samplers"] = json!([{
                "magFilter": LINEAR, "minFilter": LINEAR_MIPMAP_LINEAR, "wrapS": CLAMP_TO_EDGE, "wrapT": CLAMP_TO_EDGE
            }]);
        } else {
            material["pbrMetallicRoughness"]["baseColorFactor"] = json!([0.42, 0.38, 0.28, 1.0]);
        }
        document["materials"] = json!([material]);
        let plants = trees.map(|trees| trees.join(&mut document, &mut views, body)).unwrap_or_default();
        body += plants.len();
        document["bufferViews"] = json!(views);
        document["buffers"] = json!([{"byteLength": body}]);
        let mut json = document.to_string().into_bytes();
        json.resize(json.len().next_multiple_of(4), b' ');
        let glb = Self { mesh, texture, plants, json, body };
        if u32::try_from(glb.len()).is_err() {
            return Err(Error::TooLarge {
                what: "the GLB file".into(),
                need: format!("{} bytes", glb.len()),
                have: "4 GiB".into(),
            });
        }
        Ok(glb)
    }

    /// Size of the file in bytes.
    #[allow(clippy::len_without_is_empty, reason = "a file is never empty")]
    pub fn len(&self) -> usize {
        GLB_HEADER + 2 * CHUNK_HEADER + self.json.len() + self.body
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        let word = |n: usize| (n as u32).to_le_bytes(); // `new` has checked that all fit
        writer.write_all(b"glTF")?;
        writer.write_all(&2u32.to_le_bytes())?;
        writer.write_all(&word(self.len()))?;
        writer.write_all(&word(self.json.len()))?;
        writer.write_all(b"JSON")?;
        writer.write_all(&self.json)?;
        writer.write_all(&word(self.body))?;
        writer.write_all(b"BIN\0")?;
        write_floats(&mut writer, &self.mesh.positions)?;
        write_floats(&mut writer, &self.mesh.normals)?;
        write_floats(&mut writer, &self.mesh.tangents)?;
        write_floats(&mut writer, &self.mesh.uvs)?;
        write_chunks(&mut writer, &self.mesh.indices, |bytes, i| bytes.extend(i.to_le_bytes()))?;
        if let Some(bytes) = &self.texture {
            writer.write_all(bytes)?;
            writer.write_all(&[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()])?;
        }
        writer.write_all(&self.plants)?;
        writer.flush()
    }
}

/// Writes Wavefront OBJ: positions, texture coordinates (v upward there), normals and triangles.
///
/// # Errors
/// When the writer fails.
pub fn write_obj(mesh: &Mesh, mut writer: impl Write) -> io::Result<()> {
    let axes = if mesh.up == Up::Y { "x east, y up, z south" } else { "x east, y north, z up" };
    writeln!(writer, "# thalweg {}; metres; {axes}\no terrain", env!("CARGO_PKG_VERSION"))?;
    for [x, y, z] in &mesh.positions {
        writeln!(writer, "v {x} {y} {z}")?;
    }
    for [u, v] in &mesh.uvs {
        writeln!(writer, "vt {u} {}", 1.0 - v)?;
    }
    for [x, y, z] in &mesh.normals {
        writeln!(writer, "vn {x} {y} {z}")?;
    }
    for triangle in mesh.indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|k| u64::from(triangle[k]) + 1);
        writeln!(writer, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}")?;
    }
    writer.flush()
}

/// Writes binary STL: triangles with the normals of their faces, metres.
///
/// # Errors
/// When the writer fails, or there are more than 2³² − 1 triangles.
pub fn write_stl(mesh: &Mesh, mut writer: impl Write) -> io::Result<()> {
    let count = u32::try_from(mesh.indices.len() / 3)
        .map_err(|_| io::Error::other("an STL holds at most 2^32 - 1 triangles"))?;
    let mut header = [b' '; 80];
    let title = b"thalweg terrain, metres"; // must not begin with `solid`, which announces text
    header[..title.len()].copy_from_slice(title);
    writer.write_all(&header)?;
    writer.write_all(&count.to_le_bytes())?;
    let triangles: Vec<&[u32]> = mesh.indices.chunks_exact(3).collect();
    write_chunks(&mut writer, &triangles, |bytes, triangle| {
        let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[triangle[k] as usize]);
        for vector in [face(a, b, c), a, b, c] {
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        }
        bytes.extend([0, 0]);
    })?;
    writer.flush()
}

/// The unit normal of a triangle.
fn face(a: [f32; 3], b: [f32; 3], c: [f32; 3]) -> [f32; 3] {
    let (p, q) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
    let n = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    n.map(|x| if length > 0.0 { x / length } else { 0.0 })
}

fn write_floats<const N: usize>(writer: &mut impl Write, values: &[[f32; N]]) -> io::Result<()> {
    write_chunks(writer, values, |bytes, value| bytes.extend(value.iter().flat_map(|x| x.to_le_bytes())))
}

/// Writes many small things without a call for each.
fn write_chunks<T>(writer: &mut impl Write, things: &[T], put: impl Fn(&mut Vec<u8>, &T)) -> io::Result<()> {
    let mut bytes = Vec::new();
    for chunk in things.chunks(4096) {
        bytes.clear();
        chunk.iter().for_each(|thing| put(&mut bytes, thing));
        writer.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::forest::Tree;
    use crate::products::mesh::MeshOptions;
    use crate::terrain::Terrain;
    use crate::terrain::grid::Grid;
    use crate::terrain::height::Height;

    fn land() -> Terrain {
        let mut terrain = Terrain::new(Grid::new([4, 5], 10.0).unwrap());
        for i in 0..4 {
            for j in 0..5 {
                terrain.ground[(i, j)] = Height::saturating((i * i + 3 * j) as f64 - 4.0);
            }
        }
        terrain
    }

    fn mesh(up: Up) -> Mesh {
        Mesh::of(&land(), &MeshOptions { up, ..MeshOptions::default() }).unwrap()
    }

    /// Five trees, of two kinds.
    fn stand() -> Stand {
        let tree = |n: u64| Tree {
            number: n,
            cell: [1 + n as u32 % 2, 1 + n as u32 % 3],
            part: [20_000; 2],
            kind: (n % 2) as u8,
            size: 0.75,
            age: 3,
            patch: 5.0,
        };
        let trees: Vec<Tree> = (0..5).map(tree).collect();
        Stand::of(&trees, &land(), &MeshOptions::default(), 100).unwrap()
    }

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    fn f32_at(bytes: &[u8], at: usize) -> f32 {
        f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn glb_reads_back_chunk_by_chunk() {
        let mesh = mesh(Up::Y);
        let cases = [(false, false), (true, false), (false, true), (true, true)];
        for (textured, wooded) in cases {
            let texture = textured.then(|| Picture::new([3, 5], [90, 120, 60]));
            let stand = wooded.then(stand);
            let mut bytes = Vec::new();
            Glb::new(&mesh, texture.as_ref(), stand.as_ref()).unwrap().write(&mut bytes).unwrap();
            assert_eq!((&bytes[..4], u32_at(&bytes, 4), u32_at(&bytes, 8)), (&b"glTF"[..], 2, bytes.len()));
            let json_length = u32_at(&bytes, 12);
            assert_eq!((&bytes[16..20], json_length % 4), (&b"JSON"[..], 0));
            let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + json_length]).unwrap();
            let bin = 20 + json_length;
            let body = u32_at(&bytes, bin);
            assert_eq!((&bytes[bin + 4..bin + 8], body % 4, bin + 8 + body), (&b"BIN\0"[..], 0, bytes.len()));
            let number = |v: &serde_json::Value| v.as_u64().unwrap() as usize;
            assert_eq!(number(&document["buffers"][0]["byteLength"]), body);
            let mut end = 0;
            for view in document["bufferViews"].as_array().unwrap() {
                let start = number(&view["byteOffset"]);
                assert!(start % 4 == 0 && start == end);
                end = (start + number(&view["byteLength"])).next_multiple_of(4);
            }
            assert_eq!(end, body);
            // Bounds as declared are those of the numbers in the file.
            let positions = &document["accessors"][0];
            let count = number(&positions["count"]);
            assert_eq!(count, 20);
            for k in 0..3 {
                let values = || (0..count).map(|v| f32_at(&bytes, bin + 8 + v * 12 + k * 4));
                let (low, high) = (values().fold(f32::MAX, f32::min), values().fold(f32::MIN, f32::max));
                assert_eq!(positions["min"][k].as_f64().unwrap() as f32, low);
                assert_eq!(positions["max"][k].as_f64().unwrap() as f32, high);
            }
            let indices = number(&document["bufferViews"][4]["byteOffset"]) + bin + 8;
            assert!((0..number(&document["accessors"][4]["count"])).all(|k| u32_at(&bytes, indices + k * 4) < count));
            if texture.is_some() {
                let view = &document["bufferViews"][number(&document["images"][0]["bufferView"])];
                let start = bin + 8 + number(&view["byteOffset"]);
                assert_eq!(&bytes[start..start + 8], b"\x89PNG\r\n\x1a\n");
            }
        }
        assert!(Glb::new(&self::mesh(Up::Z), None, None).is_err());
    }

    #[test]
    fn trees_are_nodes_that_share_their_shapes() {
        let (mesh, stand) = (mesh(Up::Y), stand());
        let mut bytes = Vec::new();
        Glb::new(&mesh, None, Some(&stand)).unwrap().write(&mut bytes).unwrap();
        let json_length = u32_at(&bytes, 12);
        let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + json_length]).unwrap();
        let bin = 28 + json_length;
        let list = |name: &str| document[name].as_array().unwrap();
        let number = |v: &serde_json::Value| v.as_u64().unwrap() as usize;
        let numbers =
            |v: &serde_json::Value| v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
        assert_eq!(document["scenes"][0]["nodes"], json!([0, 1]));
        let children: Vec<usize> = document["nodes"][1]["children"].as_array().unwrap().iter().map(number).collect();
        assert_eq!((children.len(), list("nodes").len(), list("meshes").len()), (5, 7, 1 + stand.plants.len()));
        for (child, tree) in children.iter().zip(&stand.trees) {
            let node = &document["nodes"][*child];
            assert_eq!(number(&node["mesh"]), 1 + tree.plant);
            assert!(numbers(&node["translation"]).iter().zip(tree.foot).all(|(a, b)| *a == f64::from(b)));
            let turn: f64 = numbers(&node["rotation"]).iter().map(|x| x * x).sum();
            assert!((turn - 1.0).abs() < 1e-6);
            // Shapes are 1 high and 1 wide: the scale is the tree's size.
            assert_eq!(numbers(&node["scale"])[1], f64::from(tree.size[1]));
        }
        // Every accessor lies in its view, and every shape's indices point at its own corners.
        for accessor in list("accessors") {
            let parts = [("SCALAR", 4), ("VEC2", 8), ("VEC3", 12), ("VEC4", 16)];
            let each = parts.iter().find(|(kind, _)| accessor["type"] == *kind).unwrap().1;
            let view = &document["bufferViews"][number(&accessor["bufferView"])];
            assert_eq!(number(&accessor["count"]) * each, number(&view["byteLength"]));
        }
        for (mesh, (name, plant)) in list("meshes")[1..].iter().zip(&stand.plants) {
            assert_eq!(mesh["name"], name.as_str());
            let part = &mesh["primitives"][0];
            let accessor = |v: &serde_json::Value| &document["accessors"][number(v)];
            let positions = accessor(&part["attributes"]["POSITION"]);
            assert_eq!(number(&positions["count"]), plant.positions.len());
            let at = bin + number(&document["bufferViews"][number(&positions["bufferView"])]["byteOffset"]);
            for (k, value) in plant.positions.iter().flatten().enumerate() {
                assert_eq!(f32_at(&bytes, at + 4 * k), *value);
            }
            let indices = accessor(&part["indices"]);
            let at = bin + number(&document["bufferViews"][number(&indices["bufferView"])]["byteOffset"]);
            assert!((0..number(&indices["count"])).all(|k| u32_at(&bytes, at + 4 * k) < plant.positions.len()));
        }
    }

    #[test]
    fn obj_lists_everything_from_one() {
        let mut text = Vec::new();
        write_obj(&mesh(Up::Z), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!((count("v "), count("vt "), count("vn "), count("f ")), (20, 20, 20, 24));
        let indices: Vec<usize> = text
            .lines()
            .filter_map(|line| line.strip_prefix("f "))
            .flat_map(|line| line.split([' ', '/']).map(|n| n.parse().unwrap()).collect::<Vec<_>>())
            .collect();
        assert_eq!((indices.iter().min(), indices.iter().max()), (Some(&1), Some(&20)));
        assert!(text.contains("v -20 15 -4\n"), "the north-west corner");
    }

    #[test]
    fn stl_faces_point_up() {
        let mut bytes = Vec::new();
        write_stl(&mesh(Up::Z), &mut bytes).unwrap();
        assert!(!bytes.starts_with(b"solid"));
        assert_eq!((u32_at(&bytes, 80), bytes.len()), (24, 84 + 24 * 50));
        for triangle in 0..24 {
            let normal = [0, 1, 2].map(|k| f32_at(&bytes, 84 + triangle * 50 + k * 4));
            let length: f32 = normal.iter().map(|x| x * x).sum();
            assert!(normal[2] > 0.0 && (length - 1.0).abs() < 1e-6);
        }
    }
}
