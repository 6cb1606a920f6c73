//! [`Glb`]: meshes as a binary glTF 2.0 file.

use std::io::{self, Write};
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::pictures::picture::Picture;
use crate::products::gltf::{Gltf, Numbers};
use crate::products::gltf_trees::GltfTrees;
use crate::products::mesh::{Mesh, Up};
use crate::products::mesh_scene::{MeshScene, MeshSurface};
use thalweg_core::declare::operation::{Arity, OptionKind, OptionType};
use thalweg_core::{Error, Result};

const LINEAR: u32 = 9729;
const LINEAR_MIPMAP_LINEAR: u32 = 9987;
const CLAMP_TO_EDGE: u32 = 33_071;

/// The sizes in bytes of the header of a GLB file and of the header of each of its chunks.
const GLB_HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// Half a centimetre, in metres: the largest rounding error of positions at the default precision.
pub const USUAL_PRECISION: f64 = 0.005;

/// The number of steps of a quantised coordinate.
const STEPS: f64 = 65_535.0;

/// The number of whole steps from the middle of the world that a 32-bit float can distinguish (2²⁴).
const EXACT: f64 = 16_777_216.0;

/// The height of a screen in lines; levels of detail are switched when their error is about one line.
const LINES: f64 = 1080.0;

/// A glTF 2.0 binary file, ready to be written.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::glb::Glb;
/// use thalweg_render::products::mesh::{Mesh, MeshOptions};
///
/// let terrain = Terrain::new(Grid::new([8, 8], 10.0)?);
/// let glb = Glb::new(&Mesh::from_terrain(&terrain, &MeshOptions::default())?, None, None)?;
/// let mut bytes = Vec::new();
/// glb.write(&mut bytes)?;
/// assert!(bytes.starts_with(b"glTF") && bytes.len() == glb.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Glb {
    json: Vec<u8>,
    body: Vec<u8>,
}

/// The number format of positions in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeshPrecision {
    /// 32-bit floats.
    Float,
    /// 16-bit integers if their error is no more than [`USUAL_PRECISION`], otherwise like [`MeshPrecision::Float`].
    Usual,
    /// 16-bit integers with an error of no more than this number of metres, 0.000 001 to 512.
    Metres(f64),
}

/// The word for positions in 32-bit floats.
const FLOAT: &str = "float";

/// As an option, a number of metres or the word `float`; none stands for [`MeshPrecision::Usual`].
impl OptionType for MeshPrecision {
    type Within = RangeInclusive<f64>;
    const ARITY: Arity = Arity::Optional;

    fn kind(within: RangeInclusive<f64>) -> OptionKind {
        OptionKind::NumberOr { min: *within.start(), max: *within.end(), word: FLOAT }
    }

    fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(word) => (word == FLOAT).then_some(Self::Float),
            Value::Null | Value::Bool(false) => Some(Self::Usual),
            value => value.as_f64().map(Self::Metres),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Float => json!(FLOAT),
            Self::Metres(metres) => metres.to_json(),
            Self::Usual => Value::Null,
        }
    }
}

/// The options for writing a scene.
///
/// # Examples
/// Positions of 16 bits, with an error of up to 5 cm, make a smaller file than floats.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::chunks::{ChunkOptions, ChunkedMesh};
/// use thalweg_render::products::glb::{Glb, GlbOptions, MeshPrecision};
/// use thalweg_render::products::mesh_scene::MeshScene;
///
/// let terrain = Terrain::new(Grid::new([32, 32], 10.0)?);
/// let scene = MeshScene::from_chunks(ChunkedMesh::from_terrain(&terrain, &ChunkOptions::default())?);
/// let length = |precision| {
///     let options = GlbOptions { precision, ..GlbOptions::default() };
///     Glb::from_scene(&scene, &options).map(|glb| glb.len())
/// };
/// assert!(length(MeshPrecision::Metres(0.05))? < length(MeshPrecision::Float)?);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GlbOptions {
    /// The number format of positions.
    pub precision: MeshPrecision,
    /// If true, each tree is a node of its own; if false, all trees of a shape are instances of one node.
    pub tree_nodes: bool,
}

impl Default for GlbOptions {
    fn default() -> Self {
        Self { precision: MeshPrecision::Usual, tree_nodes: false }
    }
}

impl Glb {
    /// Creates the file of a water surface, such as river ribbons: a node, a mesh and a material of its own, in
    /// 32-bit floats.
    ///
    /// # Errors
    /// Returns the errors of [`Glb::new`].
    pub fn from_water(mesh: &Mesh) -> Result<Self> {
        Self::from_surface(mesh, MeshSurface::Water, None, None)
    }

    /// Creates the file of `mesh` (which must be Y-up) in 32-bit floats. If given, a picture from above (the shaded
    /// map without scale and legend) becomes its colour, and each of the trees becomes a node.
    ///
    /// # Errors
    /// Returns an error if the mesh is not Y-up, if the picture has no pixels, or if the file would exceed 4 GiB, the
    /// limit of the format.
    pub fn new(mesh: &Mesh, texture: Option<&Picture>, trees: Option<&GltfTrees>) -> Result<Self> {
        Self::from_surface(mesh, MeshSurface::Ground, texture, trees)
    }

    fn from_surface(
        mesh: &Mesh,
        surface: MeshSurface,
        texture: Option<&Picture>,
        trees: Option<&GltfTrees>,
    ) -> Result<Self> {
        let part = GlbPart { name: surface.node_name(), surface, levels: vec![mesh], errors: &[0.0] };
        Self::from_parts(&[part], texture, trees, &GlbOptions { precision: MeshPrecision::Float, tree_nodes: true })
    }

    /// Creates the file of a scene.
    ///
    /// With quantisation (`KHR_mesh_quantization`) a vertex takes 24 bytes instead of 48. Positions are 16-bit steps
    /// of a power of two metres, which is the same for all the terrain, so that equal positions in two chunks remain
    /// equal; normals have 16 bits, tangents 8 and texture coordinates 16. A reader must support that extension.
    /// Levels of detail are written as `MSFT_lod`: a reader without support for it shows the finest one. Trees are
    /// instances (`EXT_mesh_gpu_instancing`).
    ///
    /// # Errors
    /// Returns the errors of [`Glb::new`], and an error if the precision is out of range, or if 16-bit steps cannot be
    /// as fine for parts of this size.
    pub fn from_scene(scene: &MeshScene, options: &GlbOptions) -> Result<Self> {
        let part = scene.parts.iter().map(|part| GlbPart {
            name: &part.name,
            surface: part.surface,
            levels: part.levels.iter().collect(),
            errors: &part.errors,
        });
        let parts: Vec<GlbPart<'_>> = part.collect();
        Self::from_parts(&parts, scene.texture.as_ref(), scene.trees.as_ref(), options)
    }

    fn from_parts(
        parts: &[GlbPart<'_>],
        texture: Option<&Picture>,
        trees: Option<&GltfTrees>,
        options: &GlbOptions,
    ) -> Result<Self> {
        if parts.iter().any(|part| part.levels.iter().any(|mesh| mesh.up != Up::Y)) {
            return Err(Error::invalid_value("mesh axis", "Z up", "Y up, because glTF fixes the axes"));
        }
        let encode = |picture: &Picture| {
            picture.to_png().map_err(|e| Error::invalid_value("texture", e, "a picture with at least one pixel"))
        };
        let texture = texture.map(encode).transpose()?;
        let mut gltf = Gltf::new();
        for surface in MeshSurface::ALL {
            let these: Vec<&GlbPart<'_>> = parts.iter().filter(|part| part.surface == surface).collect();
            if these.is_empty() {
                continue;
            }
            let material = gltf.push("materials", surface.gltf_material());
            // All terrain parts share one step, because they must join; water lies on top of them and may have its
            // own.
            let ground = (surface == MeshSurface::Ground)
                .then(|| choose_position_step(&these, options.precision))
                .transpose()?;
            for part in these {
                let step = match (ground, options.precision) {
                    (Some(step), _) => step,
                    // Water is quantised at the default precision where positions are quantised at all.
                    (None, MeshPrecision::Float) => None,
                    _ => choose_position_step(&[part], MeshPrecision::Usual)?,
                };
                part.add_to_document(&mut gltf, material, step);
            }
            let colour = &mut gltf.material_mut(material)["pbrMetallicRoughness"];
            match &texture {
                Some(_) if surface == MeshSurface::Ground => colour["baseColorTexture"] = json!({"index": 0}),
                _ => colour["baseColorFactor"] = json!(surface.colour()),
            }
        }
        if let Some(png) = &texture {
            let view = gltf.add_bytes(png);
            gltf.push("textures", json!({"sampler": 0, "source": 0}));
            gltf.push("images", json!({"bufferView": view, "mimeType": "image/png"}));
            gltf.push("samplers", json!({
                "magFilter": LINEAR, "minFilter": LINEAR_MIPMAP_LINEAR, "wrapS": CLAMP_TO_EDGE, "wrapT": CLAMP_TO_EDGE
            }));
        }
        if let Some(trees) = trees {
            trees.add_to_document(&mut gltf, options.tree_nodes);
        }
        let (json, body) = gltf.finish();
        let glb = Self { json, body };
        // The format stores the length of the file and of each chunk in 32 bits.
        if u32::try_from(glb.len()).is_err() {
            return Err(Error::TooLarge {
                what: "the GLB file".into(),
                need: format!("{} bytes", glb.len()),
                have: "4 GiB".into(),
            });
        }
        Ok(glb)
    }

    /// Returns the size of the file in bytes.
    #[allow(clippy::len_without_is_empty, reason = "a file is never empty")]
    pub fn len(&self) -> usize {
        GLB_HEADER + 2 * CHUNK_HEADER + self.json.len() + self.body.len()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Returns an error if the writer fails.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        let word = |n: usize| (n as u32).to_le_bytes(); // `from_parts` has checked that all fit
        writer.write_all(b"glTF")?;
        writer.write_all(&2u32.to_le_bytes())?;
        writer.write_all(&word(self.len()))?;
        writer.write_all(&word(self.json.len()))?;
        writer.write_all(b"JSON")?;
        writer.write_all(&self.json)?;
        writer.write_all(&word(self.body.len()))?;
        writer.write_all(b"BIN\0")?;
        writer.write_all(&self.body)?;
        writer.flush()
    }
}

/// A part of a scene, borrowed from a scene or from a single mesh.
struct GlbPart<'a> {
    name: &'a str,
    surface: MeshSurface,
    levels: Vec<&'a Mesh>,
    errors: &'a [f64],
}

impl GlbPart<'_> {
    /// Adds the nodes and meshes of the part. Of several levels of detail only the finest is placed in the scene; its
    /// node refers to the others.
    fn add_to_document(&self, gltf: &mut Gltf, material: usize, step: Option<f64>) {
        let mut nodes = Vec::new();
        for (level, mesh) in self.levels.iter().enumerate() {
            let name = if self.levels.len() > 1 { format!("{}_LOD{level}", self.name) } else { self.name.to_string() };
            let (primitive, placed) = add_primitive(gltf, mesh, material, step);
            let number = gltf.push("meshes", json!({"name": name, "primitives": [primitive]}));
            let mut node = json!({"mesh": number, "name": name});
            if let (Some(origin), Some(step)) = (placed, step) {
                node["translation"] = json!(origin);
                node["scale"] = json!([step, step, step]);
            }
            if self.levels.len() > 1 {
                node["extras"] = json!({"error_m": self.errors[level]});
            }
            nodes.push(if level == 0 { gltf.add_scene_node(node) } else { gltf.push("nodes", node) });
        }
        if let [first, others @ ..] = nodes.as_slice()
            && !others.is_empty()
        {
            gltf.use_extension("MSFT_lod", false);
            let coverage = self.screen_coverages();
            let node = gltf.node_mut(*first);
            node["extensions"] = json!({"MSFT_lod": {"ids": others}});
            node["extras"]["MSFT_screencoverage"] = json!(coverage);
        }
    }

    /// Returns, per level, the share of a screen's height down to which the level is drawn. Below it, the error of
    /// the next level is less than a line.
    fn screen_coverages(&self) -> Vec<f64> {
        let [low, high] = self.levels[0].bounds();
        let length = (0..3).map(|k| f64::from(high[k] - low[k])).fold(0.0, f64::max);
        // An object that covers the share c of the screen's height shows an error e as c·e/length of that height, so
        // that the next level's error is less than one of LINES lines for c below length/(LINES·e).
        let below = self.errors.iter().skip(1).map(|error| (length / (LINES * error)).min(1.0));
        below.chain([0.0]).collect()
    }
}

/// Returns the step of positions in metres, a power of two; `None` for floats.
fn choose_position_step(parts: &[&GlbPart<'_>], precision: MeshPrecision) -> Result<Option<f64>> {
    let bounds: Vec<[[f64; 3]; 2]> =
        parts.iter().flat_map(|part| part.levels.iter().map(|mesh| mesh.bounds().map(|p| p.map(f64::from)))).collect();
    // One step is reserved because the origin is rounded down to a whole step. Coordinates beyond EXACT steps could not
    // be restored exactly in 32-bit floats.
    let fits = |step: f64| {
        bounds
            .iter()
            .flat_map(|[low, high]| (0..3).map(|k| (low[k], high[k])))
            .all(|(low, high)| (high - low) / step <= STEPS - 1.0 && low.abs().max(high.abs()) / step < EXACT)
    };
    // Positions are rounded to the nearest step, so the error is half a step. Powers of two keep multiples of the step
    // exact in binary floats.
    let finest = |precision: f64| {
        let mut step = 1024.0;
        while step > 2.0 * precision {
            step /= 2.0;
        }
        step
    };
    match precision {
        MeshPrecision::Float => Ok(None),
        MeshPrecision::Usual => Ok(Some(finest(USUAL_PRECISION)).filter(|step| fits(*step))),
        MeshPrecision::Metres(precision) => {
            if !(1e-6..=512.0).contains(&precision) {
                return Err(Error::invalid_value("precision", format!("{precision} m"), "0.000001 to 512 m"));
            }
            let step = finest(precision);
            if fits(step) {
                return Ok(Some(step));
            }
            // The message names the finest precision that would work for parts of this size.
            let mut least = step;
            while !fits(least) {
                least *= 2.0;
            }
            let least = least / 2.0;
            let allowed = format!("{least} m or more for parts of this size; use chunks to make the parts smaller");
            Err(Error::invalid_value("precision", format!("{precision} m"), allowed))
        }
    }
}

/// Adds a mesh's triangles. Returns the primitive, and the origin of its positions if they are quantised.
fn add_primitive(gltf: &mut Gltf, mesh: &Mesh, material: usize, step: Option<f64>) -> (Value, Option<[f64; 3]>) {
    let [low, high] = mesh.bounds();
    // The origin is a whole number of steps from the middle, so equal positions in two chunks are quantised to equal
    // ones.
    let origin = step.map(|step| low.map(|x| (f64::from(x) / step).floor() * step));
    let (position, normal, tangent) = match (origin, step) {
        (Some(origin), Some(step)) => {
            gltf.use_extension("KHR_mesh_quantization", true);
            let short = |p: [f32; 3]| [0, 1, 2].map(|k| ((f64::from(p[k]) - origin[k]) / step).round() as u16);
            let positions = Numbers::from_shorts(mesh.positions.iter().map(|p| short(*p)), false);
            let position = gltf.add_positions(&positions, [json!(short(low)), json!(short(high))]);
            let normal = gltf.add_vertex_attributes(&Numbers::from_units(mesh.normals.iter().copied()));
            (position, normal, gltf.add_vertex_attributes(&Numbers::from_small_units(mesh.tangents.iter().copied())))
        }
        _ => {
            let position = gltf.add_positions(&Numbers::from_floats(&mesh.positions), [json!(low), json!(high)]);
            let normal = gltf.add_vertex_attributes(&Numbers::from_floats(&mesh.normals));
            (position, normal, gltf.add_vertex_attributes(&Numbers::from_floats(&mesh.tangents)))
        }
    };
    // Texture coordinates along rivers are in metres and exceed 1, so they remain floats.
    let within = step.is_some() && mesh.uvs.iter().flatten().all(|x| (0.0..=1.0).contains(x));
    let uv = if within {
        gltf.add_vertex_attributes(&Numbers::from_shorts(
            mesh.uvs.iter().map(|uv| uv.map(|x| (x * 65_535.0).round() as u16)),
            true,
        ))
    } else {
        gltf.add_vertex_attributes(&Numbers::from_floats(&mesh.uvs))
    };
    let indices = gltf.add_indices(&Numbers::from_indices(&mesh.indices, mesh.positions.len()));
    let attributes = json!({"POSITION": position, "NORMAL": normal, "TANGENT": tangent, "TEXCOORD_0": uv});
    (json!({"attributes": attributes, "indices": indices, "material": material, "mode": 4}), origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::chunks::{ChunkOptions, ChunkedMesh};
    use crate::products::mesh::MeshOptions;
    use thalweg_core::{Cell, Grid, Height, Terrain};
    use thalweg_models::process::forest::Tree;

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

    /// Five trees of two kinds.
    fn stand() -> GltfTrees {
        let tree = |n: u64| Tree {
            number: n,
            cell: Cell::new(1 + n as u32 % 2, 1 + n as u32 % 3),
            part: [20_000; 2].into(),
            kind: (n % 2) as u8,
            size: 0.75,
            age: 3,
            patch: 5.0,
        };
        let trees: Vec<Tree> = (0..5).map(tree).collect();
        GltfTrees::from_trees(&trees, &land(), &MeshOptions::default(), 100).unwrap()
    }

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    fn u16_at(bytes: &[u8], at: usize) -> usize {
        u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()).into()
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
            // The declared bounds equal those of the numbers in the file.
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
            assert_eq!(document["accessors"][4]["componentType"], 5123, "16 bits do for 20 corners");
            assert!((0..number(&document["accessors"][4]["count"])).all(|k| u16_at(&bytes, indices + k * 2) < count));
            if texture.is_some() {
                let view = &document["bufferViews"][number(&document["images"][0]["bufferView"])];
                let start = bin + 8 + number(&view["byteOffset"]);
                assert_eq!(&bytes[start..start + 8], b"\x89PNG\r\n\x1a\n");
            }
        }
        assert!(Glb::new(&self::mesh(Up::Z), None, None).is_err());
    }

    #[test]
    fn water_is_no_ground() {
        let mesh = mesh(Up::Y);
        let mut bytes = Vec::new();
        Glb::from_water(&mesh).unwrap().write(&mut bytes).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + u32_at(&bytes, 12)]).unwrap();
        let material = &document["materials"][0];
        assert_eq!((&material["name"], &document["nodes"][0]["name"]), (&json!("water"), &json!("water")));
        assert_eq!(material["alphaMode"], "BLEND");
        let colour = &material["pbrMetallicRoughness"]["baseColorFactor"];
        let [red, blue, alpha] = [0, 2, 3].map(|k| colour[k].as_f64().unwrap());
        assert!(blue > 3.0 * red && (0.5..1.0).contains(&alpha));
        assert!(material["pbrMetallicRoughness"]["roughnessFactor"].as_f64().unwrap() < 0.2);
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
            // Shapes are 1 high and 1 wide, so the scale is the tree's size.
            assert_eq!(numbers(&node["scale"])[1], f64::from(tree.size[1]));
        }
        // Every accessor is within its view, and every shape's indices refer to its own vertices.
        for accessor in list("accessors") {
            let parts = [("SCALAR", 2), ("VEC2", 8), ("VEC3", 12), ("VEC4", 16)];
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
            assert!((0..number(&indices["count"])).all(|k| u16_at(&bytes, at + 2 * k) < plant.positions.len()));
        }
    }

    fn read(glb: &Glb) -> (Value, Vec<u8>) {
        let mut bytes = Vec::new();
        glb.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), glb.len());
        let json_length = u32_at(&bytes, 12);
        (serde_json::from_slice(&bytes[20..20 + json_length]).unwrap(), bytes[28 + json_length..].to_vec())
    }

    #[test]
    fn a_scene_is_as_fine_as_was_asked_for_and_says_what_would_do() {
        let chunks =
            ChunkedMesh::from_terrain(&land(), &ChunkOptions { count: [2, 2], levels: 2, ..ChunkOptions::default() })
                .unwrap();
        let scene = MeshScene::from_chunks(chunks);
        let of = |precision| Glb::from_scene(&scene, &GlbOptions { precision, ..GlbOptions::default() });
        let (usual, body) = read(&of(MeshPrecision::Usual).unwrap());
        assert_eq!(usual["extensionsRequired"], json!(["KHR_mesh_quantization"]));
        assert_eq!(usual["scenes"][0]["nodes"], json!([0, 2, 4, 6]));
        assert_eq!(usual["nodes"][0]["name"], "terrain_x0_y0_LOD0");
        assert_eq!(usual["nodes"][0]["extensions"]["MSFT_lod"]["ids"], json!([1]));
        assert_eq!(usual["nodes"][1]["name"], "terrain_x0_y0_LOD1");
        let coverage = usual["nodes"][0]["extras"]["MSFT_screencoverage"].as_array().unwrap();
        assert_eq!((coverage.len(), &coverage[1]), (2, &json!(0.0)));
        // Positions are unchanged to within half a step.
        for (node, mesh) in usual["nodes"].as_array().unwrap().iter().zip(scene.parts.iter().flat_map(|p| &p.levels)) {
            let primitive = &usual["meshes"][node["mesh"].as_u64().unwrap() as usize]["primitives"][0];
            let accessor = &usual["accessors"][primitive["attributes"]["POSITION"].as_u64().unwrap() as usize];
            let view = &usual["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
            assert_eq!((&view["byteStride"], &accessor["componentType"]), (&json!(8), &json!(5123)));
            let start = view["byteOffset"].as_u64().unwrap() as usize;
            for (n, position) in mesh.positions.iter().enumerate() {
                for (k, is) in position.iter().enumerate() {
                    let (step, origin) = (node["scale"][k].as_f64().unwrap(), node["translation"][k].as_f64().unwrap());
                    assert_eq!(step, 1.0 / 128.0);
                    let seen = origin + step * u16_at(&body, start + 8 * n + 2 * k) as f64;
                    assert!((seen - f64::from(*is)).abs() <= USUAL_PRECISION);
                }
            }
        }
        assert!(read(&of(MeshPrecision::Float).unwrap()).0.get("extensionsRequired").is_none());
        let plain = of(MeshPrecision::Float).unwrap().len();
        assert!(of(MeshPrecision::Usual).unwrap().body.len() * 5 < plain * 3);
        let refusal = of(MeshPrecision::Metres(1e-5)).unwrap_err().to_string();
        let least: f64 =
            refusal.split("must be").last().unwrap().split_whitespace().find_map(|w| w.parse().ok()).unwrap();
        assert!(
            of(MeshPrecision::Metres(least)).is_ok() && of(MeshPrecision::Metres(least / 2.0)).is_err(),
            "{refusal}"
        );
        assert!(of(MeshPrecision::Metres(f64::NAN)).is_err() && of(MeshPrecision::Metres(0.0)).is_err());
    }

    #[test]
    fn instances_are_a_node_to_a_shape() {
        let scene = MeshScene::from_chunks(ChunkedMesh::from_terrain(&land(), &ChunkOptions::default()).unwrap())
            .with_trees(Some(stand()));
        let (document, body) = read(&Glb::from_scene(&scene, &GlbOptions::default()).unwrap());
        let stand = stand();
        let nodes = document["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 2 + stand.plants.len());
        assert_eq!(document["extensionsUsed"], json!(["EXT_mesh_gpu_instancing", "KHR_mesh_quantization"]));
        for (plant, node) in nodes[2..].iter().enumerate() {
            let of: Vec<_> = stand.trees.iter().filter(|tree| tree.plant == plant).collect();
            let attributes = &node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
            let accessor = &document["accessors"][attributes["TRANSLATION"].as_u64().unwrap() as usize];
            assert_eq!(accessor["count"], of.len());
            let view = &document["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
            assert!(view.get("target").is_none());
            let start = view["byteOffset"].as_u64().unwrap() as usize;
            for (n, tree) in of.iter().enumerate() {
                assert_eq!([0, 1, 2].map(|k| f32_at(&body, start + 12 * n + 4 * k)), tree.foot);
            }
        }
    }
}
