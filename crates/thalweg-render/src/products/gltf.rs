//! A glTF 2.0 document under construction: its lists of objects, and the binary buffer that they refer to.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// glTF's codes of component types and of buffer targets.
pub(super) const BYTE: u32 = 5120;
pub(super) const SHORT: u32 = 5122;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const UNSIGNED_INT: u32 = 5125;
pub(super) const FLOAT: u32 = 5126;
const ARRAY_BUFFER: u32 = 34_962;
const ELEMENT_ARRAY_BUFFER: u32 = 34_963;

/// The largest number of vertices that 16-bit indices can address: the last index is reserved.
const SHORT_CORNERS: usize = 65_535;

/// A document and its buffer.
pub(super) struct Gltf {
    document: Value,
    body: Vec<u8>,
    used: BTreeSet<&'static str>,
    required: BTreeSet<&'static str>,
}

/// The data of an accessor: a list of sets of `N` numbers, such as vectors.
pub(super) struct Numbers {
    /// The numbers, little-endian.
    pub bytes: Vec<u8>,
    /// glTF's component type of each number.
    pub component: u32,
    /// glTF's name of the type of a set, such as `VEC3`.
    pub kind: &'static str,
    /// The number of bytes from one set to the next, if they are not packed.
    pub stride: Option<usize>,
    /// True if integers represent −1 to 1, or 0 to 1.
    pub normalized: bool,
    /// The number of sets.
    pub count: usize,
}

impl Numbers {
    /// Encodes 32-bit floats.
    pub fn from_floats<const N: usize>(values: &[[f32; N]]) -> Self {
        let bytes = values.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        Self { bytes, component: FLOAT, kind: accessor_type(N), stride: None, normalized: false, count: values.len() }
    }

    /// Encodes unsigned 16-bit integers; sets are padded to multiples of four bytes.
    pub fn from_shorts<const N: usize>(values: impl Iterator<Item = [u16; N]>, normalized: bool) -> Self {
        Self::from_padded(values.map(|set| set.map(u16::to_le_bytes)), UNSIGNED_SHORT, normalized)
    }

    /// Encodes numbers from −1 to 1 as normalised signed 16-bit integers, padded likewise.
    pub fn from_units<const N: usize>(values: impl Iterator<Item = [f32; N]>) -> Self {
        let short = |x: f32| ((x.clamp(-1.0, 1.0) * 32_767.0).round() as i16).to_le_bytes();
        Self::from_padded(values.map(|set| set.map(short)), SHORT, true)
    }

    /// Encodes numbers from −1 to 1 as normalised signed 8-bit integers, padded likewise.
    pub fn from_small_units<const N: usize>(values: impl Iterator<Item = [f32; N]>) -> Self {
        let byte = |x: f32| ((x.clamp(-1.0, 1.0) * 127.0).round() as i8).to_le_bytes();
        Self::from_padded(values.map(|set| set.map(byte)), BYTE, true)
    }

    /// Encodes the indices of triangles with `corners` vertices, in 32 bits only if 16 are not enough.
    pub fn from_indices(indices: &[u32], corners: usize) -> Self {
        // Small meshes, such as chunks and plants, need half the space for their indices.
        let (bytes, component) = if corners <= SHORT_CORNERS {
            (indices.iter().flat_map(|k| (*k as u16).to_le_bytes()).collect(), UNSIGNED_SHORT)
        } else {
            (indices.iter().flat_map(|k| k.to_le_bytes()).collect(), UNSIGNED_INT)
        };
        Self { bytes, component, kind: "SCALAR", stride: None, normalized: false, count: indices.len() }
    }

    fn from_padded<const N: usize, const B: usize>(
        values: impl Iterator<Item = [[u8; B]; N]>,
        component: u32,
        normalized: bool,
    ) -> Self {
        // The format requires each vertex attribute to begin at a multiple of four bytes.
        let stride = (N * B).next_multiple_of(4);
        let (mut bytes, mut count) = (Vec::new(), 0);
        for set in values {
            bytes.extend(set.into_iter().flatten());
            bytes.resize(bytes.len() + stride - N * B, 0);
            count += 1;
        }
        Self {
            bytes,
            component,
            kind: accessor_type(N),
            stride: (stride != N * B).then_some(stride),
            normalized,
            count,
        }
    }
}

/// Returns glTF's name of a set of `n` numbers.
fn accessor_type(n: usize) -> &'static str {
    ["SCALAR", "VEC2", "VEC3", "VEC4"][n - 1]
}

impl Gltf {
    /// Creates a document with an empty scene.
    pub fn new() -> Self {
        let generator = concat!("thalweg ", env!("CARGO_PKG_VERSION"));
        let document = json!({
            "asset": {"version": "2.0", "generator": generator}, "scene": 0, "scenes": [{"nodes": []}],
        });
        Self { document, body: Vec::new(), used: BTreeSet::new(), required: BTreeSet::new() }
    }

    /// Appends a value to one of the document's lists and returns its index.
    pub fn push(&mut self, list: &str, value: Value) -> usize {
        match self.document[list].as_array_mut() {
            Some(values) => {
                values.push(value);
                values.len() - 1
            }
            None => {
                self.document[list] = json!([value]);
                0
            }
        }
    }

    /// Adds a node, puts it into the scene, and returns its index.
    pub fn add_scene_node(&mut self, node: Value) -> usize {
        let number = self.push("nodes", node);
        if let Some(nodes) = self.document["scenes"][0]["nodes"].as_array_mut() {
            nodes.push(json!(number));
        }
        number
    }

    /// Returns a node that was added before.
    pub fn node_mut(&mut self, number: usize) -> &mut Value {
        &mut self.document["nodes"][number]
    }

    /// Returns a material that was added before.
    pub fn material_mut(&mut self, number: usize) -> &mut Value {
        &mut self.document["materials"][number]
    }

    /// Declares that the document uses an extension, and, if `required`, that a reader must support it.
    pub fn use_extension(&mut self, name: &'static str, required: bool) {
        self.used.insert(name);
        if required {
            self.required.insert(name);
        }
    }

    /// Adds bytes that are not numbers, such as those of a picture. Returns the index of their view.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> usize {
        self.add_buffer_view(bytes, json!({}))
    }

    /// Adds vertex attributes. Returns the index of the accessor.
    pub fn add_vertex_attributes(&mut self, numbers: &Numbers) -> usize {
        self.add_accessor(numbers, Some(ARRAY_BUFFER), json!({}))
    }

    /// Adds vertex positions with their bounds. Returns the index of the accessor.
    pub fn add_positions(&mut self, numbers: &Numbers, bounds: [Value; 2]) -> usize {
        let [low, high] = bounds;
        self.add_accessor(numbers, Some(ARRAY_BUFFER), json!({"min": low, "max": high}))
    }

    /// Adds vertex indices. Returns the index of the accessor.
    pub fn add_indices(&mut self, numbers: &Numbers) -> usize {
        self.add_accessor(numbers, Some(ELEMENT_ARRAY_BUFFER), json!({}))
    }

    /// Adds attributes of instances. Returns the index of the accessor.
    pub fn add_instance_attributes(&mut self, numbers: &Numbers) -> usize {
        // Attributes of instances are not read per vertex, so the view has no target.
        self.add_accessor(numbers, None, json!({}))
    }

    fn add_accessor(&mut self, numbers: &Numbers, target: Option<u32>, mut about: Value) -> usize {
        let mut view = json!({});
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        if let Some(stride) = numbers.stride {
            view["byteStride"] = json!(stride);
        }
        about["bufferView"] = json!(self.add_buffer_view(&numbers.bytes, view));
        about["componentType"] = json!(numbers.component);
        about["count"] = json!(numbers.count);
        about["type"] = json!(numbers.kind);
        if numbers.normalized {
            about["normalized"] = json!(true);
        }
        self.push("accessors", about)
    }

    fn add_buffer_view(&mut self, bytes: &[u8], mut about: Value) -> usize {
        about["buffer"] = json!(0);
        about["byteOffset"] = json!(self.body.len());
        about["byteLength"] = json!(bytes.len());
        self.body.extend(bytes);
        // Every view begins at a multiple of four bytes, as accessors of 32-bit numbers require.
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        self.push("bufferViews", about)
    }

    /// Returns the document's text, padded to a multiple of four bytes, and its buffer.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.document["buffers"] = json!([{"byteLength": self.body.len()}]);
        for (list, names) in [("extensionsUsed", &self.used), ("extensionsRequired", &self.required)] {
            if !names.is_empty() {
                self.document[list] = json!(names);
            }
        }
        // The format pads the JSON chunk with spaces.
        let mut text = self.document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        (text, self.body)
    }
}
