//! A glTF 2.0 document as it grows: lists of things, and the bytes that they point at.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// glTF's names of number types and of what a buffer is for.
pub(super) const BYTE: u32 = 5120;
pub(super) const SHORT: u32 = 5122;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const UNSIGNED_INT: u32 = 5125;
pub(super) const FLOAT: u32 = 5126;
const ARRAY_BUFFER: u32 = 34_962;
const ELEMENT_ARRAY_BUFFER: u32 = 34_963;

/// Most corners that 16-bit indices can name: the last number is reserved.
const SHORT_CORNERS: usize = 65_535;

/// A document and its buffer.
pub(super) struct Gltf {
    document: Value,
    body: Vec<u8>,
    used: BTreeSet<&'static str>,
    required: BTreeSet<&'static str>,
}

/// Numbers for an accessor.
pub(super) struct Numbers {
    /// Them, little-endian.
    pub bytes: Vec<u8>,
    /// glTF's type of each.
    pub component: u32,
    /// glTF's name of what they are in sets of.
    pub kind: &'static str,
    /// Bytes from one set to the next, if they are not packed.
    pub stride: Option<usize>,
    /// Whether whole numbers stand for −1 to 1, or 0 to 1.
    pub normalized: bool,
    /// How many sets.
    pub count: usize,
}

impl Numbers {
    /// Floats.
    pub fn floats<const N: usize>(values: &[[f32; N]]) -> Self {
        let bytes = values.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        Self { bytes, component: FLOAT, kind: kind(N), stride: None, normalized: false, count: values.len() }
    }

    /// Whole numbers of 16 bits; sets begin at multiples of four bytes.
    pub fn shorts<const N: usize>(values: impl Iterator<Item = [u16; N]>, normalized: bool) -> Self {
        Self::padded(values.map(|set| set.map(u16::to_le_bytes)), UNSIGNED_SHORT, normalized)
    }

    /// The same of −1 to 1.
    pub fn units<const N: usize>(values: impl Iterator<Item = [f32; N]>) -> Self {
        let short = |x: f32| ((x.clamp(-1.0, 1.0) * 32_767.0).round() as i16).to_le_bytes();
        Self::padded(values.map(|set| set.map(short)), SHORT, true)
    }

    /// The same of 8 bits.
    pub fn small_units<const N: usize>(values: impl Iterator<Item = [f32; N]>) -> Self {
        let byte = |x: f32| ((x.clamp(-1.0, 1.0) * 127.0).round() as i8).to_le_bytes();
        Self::padded(values.map(|set| set.map(byte)), BYTE, true)
    }

    /// Indices of triangles into so many corners: of 32 bits only where 16 do not reach.
    pub fn indices(indices: &[u32], corners: usize) -> Self {
        let (bytes, component) = if corners <= SHORT_CORNERS {
            (indices.iter().flat_map(|k| (*k as u16).to_le_bytes()).collect(), UNSIGNED_SHORT)
        } else {
            (indices.iter().flat_map(|k| k.to_le_bytes()).collect(), UNSIGNED_INT)
        };
        Self { bytes, component, kind: "SCALAR", stride: None, normalized: false, count: indices.len() }
    }

    fn padded<const N: usize, const B: usize>(
        values: impl Iterator<Item = [[u8; B]; N]>,
        component: u32,
        normalized: bool,
    ) -> Self {
        let stride = (N * B).next_multiple_of(4);
        let (mut bytes, mut count) = (Vec::new(), 0);
        for set in values {
            bytes.extend(set.into_iter().flatten());
            bytes.resize(bytes.len() + stride - N * B, 0);
            count += 1;
        }
        Self { bytes, component, kind: kind(N), stride: (stride != N * B).then_some(stride), normalized, count }
    }
}

/// glTF's name of a set of so many.
fn kind(n: usize) -> &'static str {
    ["SCALAR", "VEC2", "VEC3", "VEC4"][n - 1]
}

impl Gltf {
    /// One without anything in its scene.
    pub fn new() -> Self {
        let generator = concat!("thalweg ", env!("CARGO_PKG_VERSION"));
        let document = json!({
            "asset": {"version": "2.0", "generator": generator}, "scene": 0, "scenes": [{"nodes": []}],
        });
        Self { document, body: Vec::new(), used: BTreeSet::new(), required: BTreeSet::new() }
    }

    /// Adds to one of the lists; its number there.
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

    /// Adds a node, and puts it into the scene.
    pub fn stand(&mut self, node: Value) -> usize {
        let number = self.push("nodes", node);
        if let Some(nodes) = self.document["scenes"][0]["nodes"].as_array_mut() {
            nodes.push(json!(number));
        }
        number
    }

    /// A node that was added.
    pub fn node(&mut self, number: usize) -> &mut Value {
        &mut self.document["nodes"][number]
    }

    /// A material that was added.
    pub fn material(&mut self, number: usize) -> &mut Value {
        &mut self.document["materials"][number]
    }

    /// Says that the document has what an extension declares; a reader must know it where it is required.
    pub fn extend(&mut self, name: &'static str, required: bool) {
        self.used.insert(name);
        if required {
            self.required.insert(name);
        }
    }

    /// Adds bytes that are no numbers, as a picture's.
    pub fn bytes(&mut self, bytes: &[u8]) -> usize {
        self.view(bytes, json!({}))
    }

    /// Adds numbers of corners.
    pub fn corners(&mut self, numbers: &Numbers) -> usize {
        self.numbers(numbers, Some(ARRAY_BUFFER), json!({}))
    }

    /// Adds places of corners, with their bounds.
    pub fn places(&mut self, numbers: &Numbers, bounds: [Value; 2]) -> usize {
        let [low, high] = bounds;
        self.numbers(numbers, Some(ARRAY_BUFFER), json!({"min": low, "max": high}))
    }

    /// Adds indices of corners.
    pub fn indices(&mut self, numbers: &Numbers) -> usize {
        self.numbers(numbers, Some(ELEMENT_ARRAY_BUFFER), json!({}))
    }

    /// Adds numbers of instances.
    pub fn instances(&mut self, numbers: &Numbers) -> usize {
        self.numbers(numbers, None, json!({}))
    }

    fn numbers(&mut self, numbers: &Numbers, target: Option<u32>, mut about: Value) -> usize {
        let mut view = json!({});
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        if let Some(stride) = numbers.stride {
            view["byteStride"] = json!(stride);
        }
        about["bufferView"] = json!(self.view(&numbers.bytes, view));
        about["componentType"] = json!(numbers.component);
        about["count"] = json!(numbers.count);
        about["type"] = json!(numbers.kind);
        if numbers.normalized {
            about["normalized"] = json!(true);
        }
        self.push("accessors", about)
    }

    fn view(&mut self, bytes: &[u8], mut about: Value) -> usize {
        about["buffer"] = json!(0);
        about["byteOffset"] = json!(self.body.len());
        about["byteLength"] = json!(bytes.len());
        self.body.extend(bytes);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        self.push("bufferViews", about)
    }

    /// The document's text, filled up to words, and its buffer.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.document["buffers"] = json!([{"byteLength": self.body.len()}]);
        for (list, names) in [("extensionsUsed", &self.used), ("extensionsRequired", &self.required)] {
            if !names.is_empty() {
                self.document[list] = json!(names);
            }
        }
        let mut text = self.document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        (text, self.body)
    }
}
