//! Normal maps and bump maps for renderers.

use std::io::{self, Write};
use std::ops::RangeFull;

use crate::pictures::png_file::write_png;
use crate::products::slope::{central_gradient, scaled_normal};
use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::{Field, Terrain, operation};

/// The bit depth of a channel. For example, gentle slopes show steps in normal maps of 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PngDepth {
    /// 8 bits.
    #[default]
    Eight,
    /// 16 bits.
    Sixteen,
}

/// The depth is an option of operations, with the values 8 and 16.
impl OptionType for PngDepth {
    type Within = RangeFull;
    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::OneOf(&[8, 16])
    }
    fn from_json(value: &Json) -> Option<Self> {
        match value.as_u64()? {
            8 => Some(Self::Eight),
            16 => Some(Self::Sixteen),
            _ => None,
        }
    }
    fn to_json(&self) -> Json {
        match self {
            Self::Eight => 8.into(),
            Self::Sixteen => 16.into(),
        }
    }
}

/// The direction of the green channel in a normal map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Green {
    /// Green is north, up in the picture (OpenGL, glTF, Blender, Unity, Godot).
    #[default]
    Up,
    /// Green is south, down in the picture (DirectX, Unreal).
    Down,
}

operation! {
    /// Writes the normals of a terrain as a picture for renderers, or its heights as a bump map.
    pub struct NormalOptions, "normals" {
        /// Writes a bump map (grey heights) instead of normals.
        bump: bool = false, within .., unit "1";
        /// Bits of each channel.
        bits: PngDepth = PngDepth::Eight, within .., unit "1";
        /// Makes green point down (DirectX, Unreal) instead of up (OpenGL, glTF, Blender, Unity, Godot).
        directx: bool = false, within .., unit "1", excludes bump;
        /// Factor on heights for the normals.
        scale: f64 = 1.0, within 1e-6..=1e6, unit "1", excludes bump;
    }
}

/// Writes a normal map or a bump map of a terrain as a PNG, as the options request. Returns the elevations in metres of
/// black and white in a bump map; `None` for a normal map.
///
/// # Errors
/// Returns an error if the writer fails.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::normals::{NormalOptions, encode_normals};
///
/// let terrain = Terrain::from_metres(Grid::new([2, 2], 10.0)?, &[100.0, 105.0, 110.0, 120.0])?;
/// let bump = NormalOptions { bump: true, ..NormalOptions::default() };
/// assert_eq!(encode_normals(&terrain, &bump, std::io::sink())?, Some([100.0, 120.0]));
/// assert_eq!(encode_normals(&terrain, &NormalOptions::default(), std::io::sink())?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode_normals(terrain: &Terrain, options: &NormalOptions, writer: impl Write) -> io::Result<Option<[f64; 2]>> {
    if options.bump {
        let map = BumpMap::from_terrain(terrain);
        map.encode_png(writer, options.bits)?;
        return Ok(Some([map.low, map.high]));
    }
    let green = if options.directx { Green::Down } else { Green::Up };
    NormalMap::from_terrain(terrain, options.scale).encode_png(writer, options.bits, green)?;
    Ok(None)
}

/// The unit normal of each cell.
///
/// # Examples
/// Ground that rises to the east by 45°: its normals point west and up.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::normals::{PngDepth, Green, NormalMap};
///
/// let heights = [0.0, 10.0, 20.0, 0.0, 10.0, 20.0, 0.0, 10.0, 20.0];
/// let map = NormalMap::from_terrain(&Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?, 1.0);
/// let [east, north, up] = map.normals[(1, 1)];
/// assert!((east + 0.5_f32.sqrt()).abs() < 1e-6 && north == 0.0 && (up - 0.5_f32.sqrt()).abs() < 1e-6);
/// let mut png = Vec::new();
/// map.encode_png(&mut png, PngDepth::Eight, Green::Up)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NormalMap {
    /// (East, north, up) for each cell of the terrain: a vector of length 1.
    pub normals: Field<[f32; 3]>,
}

impl NormalMap {
    /// Computes the terrain's normals with elevations multiplied by `scale` (1 for none); cells without data point
    /// up.
    pub fn from_terrain(terrain: &Terrain, scale: f64) -> Self {
        let cell = |i: usize, j: usize| {
            let hole = terrain.is_nodata(i, j);
            let slope = if hole { [0.0; 2] } else { central_gradient(terrain, i, j) };
            scaled_normal(slope, scale).map(|x| x as f32)
        };
        Self { normals: Field::from_fn(terrain.ground.size(), cell) }
    }

    /// Writes an RGB PNG of one pixel per cell, rows from the north. −1 to 1 is mapped to 0 to the largest code;
    /// straight up is (½, ½, 1).
    ///
    /// # Errors
    /// Returns an error if the writer fails.
    pub fn encode_png(&self, writer: impl Write, depth: PngDepth, green: Green) -> io::Result<()> {
        let flip = if green == Green::Down { -1.0 } else { 1.0 };
        let values = self.normals.as_slice().iter().flat_map(|[x, y, z]| [*x, flip * y, *z]);
        // The interval from −1 to 1 is mapped to 0 to 1; a component of 0 is between two codes, which is the usual
        // convention.
        let units: Vec<f64> = values.map(|x| f64::from(x) * 0.5 + 0.5).collect();
        encode_samples(writer, self.normals.size(), png::ColorType::Rgb, depth, &units)
    }
}

/// Elevations as grey values, for renderers that expect a bump or displacement map.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::normals::BumpMap;
///
/// let terrain = Terrain::from_metres(Grid::new([2, 2], 10.0)?, &[100.0, 105.0, 110.0, 120.0])?;
/// let map = BumpMap::from_terrain(&terrain);
/// assert_eq!(map.grey.as_slice(), [0.0, 0.25, 0.5, 1.0]);
/// assert_eq!((map.low, map.high), (100.0, 120.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BumpMap {
    /// The grey value of each cell, 0 at the lowest elevation, 1 at the highest; 0 where there is no data or
    /// everything is level.
    pub grey: Field<f64>,
    /// The elevation of black in metres; 0 for a terrain without data.
    pub low: f64,
    /// The elevation of white in metres; 0 for a terrain without data.
    pub high: f64,
}

impl BumpMap {
    /// Computes the bump map of a terrain.
    pub fn from_terrain(terrain: &Terrain) -> Self {
        let [low, high] = terrain.elevation_range().map_or([0.0; 2], |range| range.map(|h| h.metres()));
        let cell = |i: usize, j: usize| {
            // A level terrain has no range to divide by.
            let flat = terrain.is_nodata(i, j) || high <= low;
            if flat { 0.0 } else { (terrain.ground[(i, j)].metres() - low) / (high - low) }
        };
        Self { grey: Field::from_fn(terrain.ground.size(), cell), low, high }
    }

    /// Writes a greyscale PNG of one pixel per cell, rows from the north. 0 to 1 is mapped to 0 to the largest code.
    ///
    /// # Errors
    /// Returns an error if the writer fails.
    pub fn encode_png(&self, writer: impl Write, depth: PngDepth) -> io::Result<()> {
        encode_samples(writer, self.grey.size(), png::ColorType::Grayscale, depth, self.grey.as_slice())
    }
}

/// Encodes samples in 0..1 as a PNG of either bit depth.
fn encode_samples(
    writer: impl Write,
    size: [usize; 2],
    colour: png::ColorType,
    depth: PngDepth,
    units: &[f64],
) -> io::Result<()> {
    match depth {
        PngDepth::Eight => {
            let bytes: Vec<u8> = units.iter().map(|x| (x * 255.0).round() as u8).collect();
            write_png(writer, size, colour, png::BitDepth::Eight, &bytes)
        }
        PngDepth::Sixteen => {
            let bytes: Vec<u8> = units.iter().flat_map(|x| ((x * 65_535.0).round() as u16).to_be_bytes()).collect();
            write_png(writer, size, colour, png::BitDepth::Sixteen, &bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Grid, Height};

    /// A plane that rises 0.75 per metre eastward or northward.
    fn plane(eastward: bool) -> Terrain {
        let mut terrain = Terrain::new(Grid::new([8, 8], 4.0).unwrap());
        for i in 0..8 {
            for j in 0..8 {
                terrain.ground[(i, j)] = Height::from_metres_clamped(3.0 * if eastward { j } else { 7 - i } as f64);
            }
        }
        terrain
    }

    fn decode(bytes: Vec<u8>) -> (png::OutputInfo, Vec<u8>) {
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info, pixels)
    }

    #[test]
    fn planes_have_their_normals_codes() {
        // The normal of a slope of 3/4 is (−3/5, 0, 4/5) or (0, −3/5, 4/5): codes (0.2, 0.5, 0.9) of 255.
        let cases = [
            (true, Green::Up, [51, 128, 230]),
            (false, Green::Up, [128, 51, 230]),
            (false, Green::Down, [128, 204, 230]),
        ];
        for (eastward, green, want) in cases {
            let mut bytes = Vec::new();
            NormalMap::from_terrain(&plane(eastward), 1.0).encode_png(&mut bytes, PngDepth::Eight, green).unwrap();
            let (info, pixels) = decode(bytes);
            assert_eq!((info.width, info.height), (8, 8));
            // 0.9 · 255 = 229.5, whose rounding depends on the last bit of the f32.
            assert!(
                pixels.chunks(3).all(|p| p[..2] == want[..2] && want[2] - p[2] <= 1),
                "{:?} for {want:?}",
                &pixels[..3]
            );
        }
        let mut bytes = Vec::new();
        NormalMap::from_terrain(&plane(true), 0.0).encode_png(&mut bytes, PngDepth::Sixteen, Green::Up).unwrap();
        let (info, pixels) = decode(bytes);
        assert_eq!(info.bit_depth, png::BitDepth::Sixteen);
        assert!(pixels.chunks(6).all(|p| p == [0x80, 0, 0x80, 0, 0xff, 0xff]));
    }

    #[test]
    fn options_choose_the_map() {
        let terrain = plane(true);
        let written = |options: &NormalOptions| {
            let mut bytes = Vec::new();
            encode_normals(&terrain, options, &mut bytes).unwrap();
            bytes
        };
        let mut expected = Vec::new();
        let down = NormalOptions { directx: true, scale: 2.0, bits: PngDepth::Sixteen, ..NormalOptions::default() };
        NormalMap::from_terrain(&terrain, 2.0).encode_png(&mut expected, PngDepth::Sixteen, Green::Down).unwrap();
        assert!(written(&down) == expected);
        expected.clear();
        BumpMap::from_terrain(&terrain).encode_png(&mut expected, PngDepth::Eight).unwrap();
        assert!(written(&NormalOptions { bump: true, ..NormalOptions::default() }) == expected);
    }

    #[test]
    fn bump_maps_span_black_to_white() {
        let mut terrain = plane(true);
        let mut bytes = Vec::new();
        let map = BumpMap::from_terrain(&terrain);
        map.encode_png(&mut bytes, PngDepth::Sixteen).unwrap();
        let (info, pixels) = decode(bytes);
        assert_eq!((info.color_type, map.low, map.high), (png::ColorType::Grayscale, 0.0, 21.0));
        for j in 0..8 {
            let code = u16::from_be_bytes([pixels[2 * j], pixels[2 * j + 1]]);
            assert_eq!(code, (j as f64 / 7.0 * 65_535.0).round() as u16);
        }
        terrain.ground = Field::new([8, 8], Height::ZERO);
        assert!(BumpMap::from_terrain(&terrain).grey.as_slice().iter().all(|g| *g == 0.0));
    }
}
