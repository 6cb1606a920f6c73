//! Meshes in file formats other than [`Glb`]: Wavefront OBJ with its materials, PLY and STL.

use std::io::{self, Write};

use crate::pictures::colour::{Rgb, to_srgb};
use crate::pictures::picture::Picture;
use crate::products::mesh::{Mesh, Up};
use crate::products::mesh_scene::{MeshPart, MeshScene, MeshSurface};

pub use crate::products::glb::Glb;

/// Writes Wavefront OBJ: positions, texture coordinates (with v upward, as OBJ requires), normals and triangles.
///
/// # Errors
/// Returns an error if the writer fails.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::mesh::{Mesh, MeshOptions};
/// use thalweg_render::products::mesh_files::write_obj;
///
/// let terrain = Terrain::new(Grid::new([2, 2], 10.0)?);
/// let mut bytes = Vec::new();
/// write_obj(&Mesh::from_terrain(&terrain, &MeshOptions::default())?, &mut bytes)?;
/// let text = String::from_utf8(bytes)?;
/// let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
/// assert_eq!((lines("v "), lines("f ")), (4, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_obj(mesh: &Mesh, mut writer: impl Write) -> io::Result<()> {
    obj_head(mesh.up, &mut writer)?;
    writeln!(writer, "o {}", MeshSurface::Ground.node_name())?;
    obj_mesh(mesh, 1, &mut writer)?;
    writer.flush()
}

/// Writes a scene as Wavefront OBJ: one object per part, at its finest level, with its material from the file
/// `materials` ([`write_mtl`]).
///
/// # Errors
/// Returns an error if the writer fails.
pub fn write_obj_scene(scene: &MeshScene, materials: &str, mut writer: impl Write) -> io::Result<()> {
    obj_head(scene.up(), &mut writer)?;
    writeln!(writer, "mtllib {materials}")?;
    // Vertices are numbered from 1, and through all objects of a file.
    let mut first = 1;
    for part in &scene.parts {
        writeln!(writer, "o {}\nusemtl {}", part.name, part.surface.name())?;
        obj_mesh(&part.levels[0], first, &mut writer)?;
        first += part.levels[0].positions.len() as u64;
    }
    writer.flush()
}

/// Writes the materials of a scene for Wavefront OBJ. `texture` is the file name of the picture for the terrain;
/// without it the terrain has its plain colour.
///
/// # Errors
/// Returns an error if the writer fails.
pub fn write_mtl(scene: &MeshScene, texture: Option<&str>, mut writer: impl Write) -> io::Result<()> {
    writeln!(writer, "# thalweg {}", env!("CARGO_PKG_VERSION"))?;
    for surface in MeshSurface::ALL {
        if !scene.parts.iter().any(|part| part.surface == surface) {
            continue;
        }
        let texture = texture.filter(|_| surface == MeshSurface::Ground);
        let colour = if texture.is_some() { [255; 3] } else { surface_rgb(surface) };
        let [red, green, blue] = colour.map(|x| f64::from(x) / 255.0);
        let (opacity, rough) = (surface.colour()[3], surface.roughness());
        writeln!(writer, "newmtl {}\nKd {red:.4} {green:.4} {blue:.4}", surface.name())?;
        // Convert the roughness to a Blinn-Phong exponent (Karis 2013, "Real Shading in Unreal Engine 4").
        let exponent = (2.0 / (rough * rough * rough * rough) - 2.0).clamp(0.0, 1000.0);
        let shine = if surface == MeshSurface::Water { 0.5 } else { 0.0 };
        writeln!(writer, "Ks {shine} {shine} {shine}\nNs {exponent:.1}\nd {opacity}\nillum 2\nPr {rough}")?;
        if let Some(texture) = texture {
            writeln!(writer, "map_Kd {texture}")?;
        }
    }
    writer.flush()
}

/// Returns a surface's colour as 8-bit sRGB.
fn surface_rgb(surface: MeshSurface) -> Rgb {
    let [red, green, blue, _] = surface.colour();
    to_srgb([red, green, blue].map(|x| x as f32))
}

fn obj_head(up: Up, writer: &mut impl Write) -> io::Result<()> {
    let axes = if up == Up::Y { "x east, y up, z south" } else { "x east, y north, z up" };
    writeln!(writer, "# thalweg {}; metres; {axes}", env!("CARGO_PKG_VERSION"))
}

/// Writes a mesh whose first vertex has the number `first`.
fn obj_mesh(mesh: &Mesh, first: u64, writer: &mut impl Write) -> io::Result<()> {
    for [x, y, z] in &mesh.positions {
        writeln!(writer, "v {x} {y} {z}")?;
    }
    for [u, v] in &mesh.uvs {
        // The origin of texture coordinates is at the top here and at the bottom in OBJ.
        writeln!(writer, "vt {u} {}", 1.0 - v)?;
    }
    for [x, y, z] in &mesh.normals {
        writeln!(writer, "vn {x} {y} {z}")?;
    }
    for triangle in mesh.indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|k| u64::from(triangle[k]) + first);
        writeln!(writer, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}")?;
    }
    Ok(())
}

/// Writes a scene as binary little-endian PLY, in metres: one mesh of all parts at their finest level. Each vertex
/// has a normal and a colour, 8 bits each of red, green, blue and opacity, from the scene's picture below it or from
/// the material.
///
/// # Errors
/// Returns an error if the writer fails, or if there are more than 2³² − 1 vertices.
pub fn write_ply(scene: &MeshScene, mut writer: impl Write) -> io::Result<()> {
    let meshes = || scene.parts.iter().map(|part| (part, &part.levels[0]));
    let corners: usize = meshes().map(|(_, mesh)| mesh.positions.len()).sum();
    let faces: usize = meshes().map(|(_, mesh)| mesh.indices.len() / 3).sum();
    let too_many = || io::Error::other("a PLY file can have at most 2^32 - 1 vertices");
    // Indices are written as 32-bit integers.
    u32::try_from(corners).map_err(|_| too_many())?;
    let axes = if scene.up() == Up::Y { "x east, y up, z south" } else { "x east, y north, z up" };
    writeln!(writer, "ply\nformat binary_little_endian 1.0\ncomment thalweg {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(writer, "comment metres; {axes}\nelement vertex {corners}")?;
    for name in ["x", "y", "z", "nx", "ny", "nz"] {
        writeln!(writer, "property float {name}")?;
    }
    for name in ["red", "green", "blue", "alpha"] {
        writeln!(writer, "property uchar {name}")?;
    }
    writeln!(writer, "element face {faces}\nproperty list uchar uint vertex_indices\nend_header")?;
    for (part, mesh) in meshes() {
        let numbers: Vec<usize> = (0..mesh.positions.len()).collect();
        write_chunks(&mut writer, &numbers, |bytes, k| {
            for vector in [mesh.positions[*k], mesh.normals[*k]] {
                bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
            }
            bytes.extend(colour_at(part, scene.texture.as_ref(), mesh.uvs[*k]));
        })?;
    }
    let mut first = 0;
    for (_, mesh) in meshes() {
        let triangles: Vec<&[u32]> = mesh.indices.chunks_exact(3).collect();
        write_chunks(&mut writer, &triangles, |bytes, triangle| {
            bytes.push(3);
            bytes.extend(triangle.iter().flat_map(|k| (k + first).to_le_bytes()));
        })?;
        first += mesh.positions.len() as u32;
    }
    writer.flush()
}

/// Returns the colour of a vertex: that of the picture's pixel at its texture coordinates, or of the material.
fn colour_at(part: &MeshPart, picture: Option<&Picture>, uv: [f32; 2]) -> [u8; 4] {
    let under = |picture: &Picture| {
        let [rows, cols] = picture.size();
        // Texture coordinates of exactly 1 belong to the last pixel.
        let at = |x: f32, n: usize| ((x * n as f32) as usize).min(n.saturating_sub(1));
        picture.rgb[(at(uv[1], rows), at(uv[0], cols))]
    };
    let picture = picture.filter(|_| part.surface == MeshSurface::Ground);
    let [red, green, blue] = picture.map_or_else(|| surface_rgb(part.surface), under);
    [red, green, blue, (part.surface.colour()[3] * 255.0).round() as u8]
}

/// Writes binary STL in metres: triangles with the normals of their faces.
///
/// # Errors
/// Returns an error if the writer fails, or if there are more than 2³² − 1 triangles.
///
/// # Examples
/// A header of 84 bytes, then 50 bytes for each of the two triangles.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::mesh::{Mesh, MeshOptions, Up};
/// use thalweg_render::products::mesh_files::write_stl;
///
/// let terrain = Terrain::new(Grid::new([2, 2], 10.0)?);
/// let mesh = Mesh::from_terrain(&terrain, &MeshOptions { up: Up::Z, ..MeshOptions::default() })?;
/// let mut bytes = Vec::new();
/// write_stl(&mesh, &mut bytes)?;
/// assert_eq!(bytes.len(), 84 + 2 * 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_stl(mesh: &Mesh, mut writer: impl Write) -> io::Result<()> {
    let count = u32::try_from(mesh.indices.len() / 3)
        .map_err(|_| io::Error::other("an STL file can have at most 2^32 - 1 triangles"))?;
    let mut header = [b' '; 80];
    let title = b"thalweg terrain, metres"; // must not begin with `solid`, which marks a text file
    header[..title.len()].copy_from_slice(title);
    writer.write_all(&header)?;
    writer.write_all(&count.to_le_bytes())?;
    let triangles: Vec<&[u32]> = mesh.indices.chunks_exact(3).collect();
    write_chunks(&mut writer, &triangles, |bytes, triangle| {
        let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[triangle[k] as usize]);
        for vector in [face_normal(a, b, c), a, b, c] {
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        }
        // Each triangle ends with an attribute count of two bytes, which is 0.
        bytes.extend([0, 0]);
    })?;
    writer.flush()
}

/// Returns the unit normal of a triangle.
fn face_normal(a: [f32; 3], b: [f32; 3], c: [f32; 3]) -> [f32; 3] {
    let (p, q) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
    let n = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    // A triangle without an area has no normal; the format allows zeros.
    n.map(|x| if length > 0.0 { x / length } else { 0.0 })
}

/// Writes many small items with one call of the writer per 4096 items.
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
    use crate::products::chunks::{ChunkOptions, ChunkedMesh};
    use crate::products::mesh::MeshOptions;
    use thalweg_core::{Grid, Height, Terrain};

    fn land() -> Terrain {
        let mut terrain = Terrain::new(Grid::new([4, 5], 10.0).unwrap());
        for i in 0..4 {
            for j in 0..5 {
                terrain.ground[(i, j)] = Height::from_metres_clamped((i * i + 3 * j) as f64 - 4.0);
            }
        }
        terrain
    }

    fn mesh(up: Up) -> Mesh {
        Mesh::from_terrain(&land(), &MeshOptions { up, ..MeshOptions::default() }).unwrap()
    }

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    fn f32_at(bytes: &[u8], at: usize) -> f32 {
        f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
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

    fn scene(up: Up) -> MeshScene {
        let mesh = MeshOptions { up, ..MeshOptions::default() };
        let options = ChunkOptions { mesh, count: [1, 2], ..ChunkOptions::default() };
        let sea = Mesh { uvs: vec![[0.0, 7.0]; 20], ..self::mesh(up) };
        MeshScene::from_chunks(ChunkedMesh::from_terrain(&land(), &options).unwrap()).with_water(vec![("sea", sea)])
    }

    #[test]
    fn obj_objects_have_materials() {
        let (mut text, mut materials) = (Vec::new(), Vec::new());
        write_obj_scene(&scene(Up::Y), "a.mtl", &mut text).unwrap();
        write_mtl(&scene(Up::Y), Some("a.png"), &mut materials).unwrap();
        let [text, materials] = [text, materials].map(|text| String::from_utf8(text).unwrap());
        let after = |start: &str| text.lines().filter_map(|line| line.strip_prefix(start)).collect::<Vec<_>>();
        assert_eq!(after("mtllib "), ["a.mtl"]);
        assert_eq!(after("o "), ["terrain_x0_y0", "terrain_x1_y0", "sea"]);
        assert_eq!(after("usemtl "), ["ground", "ground", "water"]);
        // 3 × 4 quads: each part refers to all of its own vertices and to no others.
        assert_eq!((after("v ").len(), after("f ").len()), (24 + 20, 48));
        let named = after("f ")
            .iter()
            .flat_map(|l| l.split([' ', '/']).map(|n| n.parse().unwrap()))
            .collect::<std::collections::BTreeSet<usize>>();
        assert!(named.into_iter().eq(1..=44));
        assert!(materials.contains("newmtl ground\nKd 1.0000 1.0000 1.0000") && materials.contains("map_Kd a.png"));
        let water = materials.split("newmtl water").nth(1).unwrap();
        assert!(water.contains("d 0.82") && !water.contains("map_Kd"));
    }

    #[test]
    fn ply_has_the_colours_of_its_picture() {
        let scene = scene(Up::Z);
        let mut picture = Picture::new([4, 5], [9; 3]);
        picture.rgb[(0, 0)] = [200, 100, 50];
        let scene = scene.with_texture(Some(picture));
        let mut bytes = Vec::new();
        write_ply(&scene, &mut bytes).unwrap();
        let end = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        assert!(head.contains("element vertex 44\n") && head.contains("element face 48\n") && head.contains("z up"));
        assert_eq!(bytes.len(), end + 44 * 28 + 48 * 13);
        // The first vertex is the north-western one.
        assert_eq!([0, 1, 2].map(|k| f32_at(&bytes, end + 4 * k)), scene.parts[0].levels[0].positions[0]);
        assert_eq!(bytes[end + 24..end + 28], [200, 100, 50, 255]);
        let water = &bytes[end + 24 * 28 + 24..][..4];
        assert!(water[2] > water[0] && water[3] == 209);
        let faces: Vec<usize> =
            (0..48).flat_map(|n| [0, 1, 2].map(|k| u32_at(&bytes, end + 44 * 28 + 13 * n + 1 + 4 * k))).collect();
        assert!(faces.iter().max() == Some(&43) && faces[24 * 3..].iter().all(|k| *k >= 24));
    }
}
