//! [`MapLayer`]: elevations encoded as a tile.

use std::f32;
use std::io;

use png::{BitDepth, ColorType};

use super::place::MapPlace;
use super::tiles::{MapLand, MapTile, SIDE, pixel_size, row_tangents, sample_tile_heights};
use crate::pictures::colour::Rgb;
use crate::pictures::light::{Sun, horn_gradient, lambert_reflectance, surface_normal};
use crate::pictures::picture::Picture;
use crate::pictures::png_file::write_png;
use thalweg_core::{Error, Field, Result};

/// The encoding of a tile's pixels.
///
/// # Examples
/// A tile of a plateau at 100 m, which Terrarium's encoding stores as 32 768 + 100 = 128 · 256 + 100.
///
/// ```
/// use std::io::Cursor;
/// use thalweg_core::{CellRect, Field, Result};
/// use thalweg_render::pictures::picture::Picture;
/// use thalweg_render::web::{Encoding, MapLand, MapPlace, MapTile, TileHeights};
///
/// struct Plateau;
/// impl MapLand for Plateau {
///     fn finest_level(&self) -> u32 {
///         0
///     }
///     fn cell_width(&self, _level: u32) -> f64 {
///         1000.0
///     }
///     fn cells(&self, _level: u32) -> CellRect<i64> {
///         CellRect::new([0, 0], [64, 64])
///     }
///     fn read_heights(&self, _level: u32, cells: CellRect<i64>) -> Result<Field<f64>> {
///         Ok(Field::new(cells.size(), 100.0))
///     }
/// }
/// let tile = MapTile { zoom: 10, column: 512, row: 512 };
/// let heights = TileHeights::sample_tile(&Plateau, &MapPlace::web_mercator_plane(), tile)?.unwrap();
/// let png = heights.encode(Encoding::Terrarium)?;
/// assert_eq!(Picture::decode_png(Cursor::new(png)).unwrap().rgb[(0, 0)], [128, 100, 0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Metres as little-endian 32-bit floats, row by row from the north; NaN without data.
    Raw,
    /// A PNG in Mapbox's encoding: −10 000 m + 0.1 m · (65 536·R + 256·G + B); 0 m without data. For example, 0 m is
    /// 100 000 steps, the colour (1, 134, 160).
    TerrainRgb,
    /// A PNG in Terrarium's encoding: 256·R + G + B/256 − 32 768 m; 0 m without data.
    Terrarium,
    /// Light from the north-west at 45° as a grey PNG, transparent where there is no data.
    Hillshade,
}

/// A pyramid of tiles in one encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapLayer {
    /// The folder of its tiles.
    pub name: &'static str,
    /// The extension of their file names, without the dot.
    pub ending: &'static str,
    /// The media type.
    pub mime: &'static str,
    /// The encoding of the pixels.
    pub encoding: Encoding,
    /// True if exports write it; floats are only served to programs that request them.
    pub written: bool,
}

/// All layers.
pub const MAP_LAYERS: [MapLayer; 4] = [
    MapLayer { name: "terrain-rgb", ending: "png", mime: "image/png", encoding: Encoding::TerrainRgb, written: true },
    MapLayer { name: "terrarium", ending: "png", mime: "image/png", encoding: Encoding::Terrarium, written: true },
    MapLayer { name: "hillshade", ending: "png", mime: "image/png", encoding: Encoding::Hillshade, written: true },
    MapLayer { name: "raw", ending: "f32", mime: "application/octet-stream", encoding: Encoding::Raw, written: false },
];

/// The number of pixels around a tile on which its hillshade depends: the neighbours of pixels, and the neighbours of
/// those if one has no data.
pub const MARGIN: usize = 2;

/// A tile's elevations with a margin around them, from which all of its layers are made.
pub struct TileHeights {
    /// The ground distance along a pixel in metres, by rows, including the margin.
    across: Vec<f32>,
    metres: Field<f32>,
}

impl TileHeights {
    /// Samples the elevations of a tile of `land`; `None` if its zoom has no such tile, or if there is no data in it.
    ///
    /// # Errors
    /// Returns the errors of [`MapLand::read_heights`].
    pub fn sample_tile(land: &dyn MapLand, place: &MapPlace, tile: MapTile) -> Result<Option<Self>> {
        if !tile.is_valid() {
            return Ok(None);
        }
        let Some(metres) = sample_tile_heights(land, place, tile, MARGIN)? else { return Ok(None) };
        // A tile whose data is in the margin alone has no pixels to show.
        let inner = (0..SIDE).any(|i| metres.row(i + MARGIN)[MARGIN..MARGIN + SIDE].iter().any(|z| !z.is_nan()));
        // A pixel of Web Mercator is shorter on the ground at higher latitudes.
        let wide = |tangent: &f64| (pixel_size(tile.zoom) * place.ground_scale(*tangent)) as f32;
        let across = row_tangents(tile, MARGIN).iter().map(wide).collect();
        Ok(inner.then_some(Self { across, metres }))
    }

    /// Encodes the tile: [`SIDE`] rows and columns of pixels.
    ///
    /// # Errors
    /// Returns an error if a picture cannot be encoded.
    pub fn encode(&self, encoding: Encoding) -> Result<Vec<u8>> {
        let inner = |i: usize, j: usize| self.metres[(i + MARGIN, j + MARGIN)];
        let picture =
            |colour: fn(f32) -> Rgb| Picture { rgb: Field::from_fn([SIDE; 2], |i, j| colour(inner(i, j))) }.to_png();
        let made = match encoding {
            Encoding::Raw => {
                Ok(Field::from_fn([SIDE; 2], inner).as_slice().iter().flat_map(|z| z.to_le_bytes()).collect())
            }
            Encoding::TerrainRgb => picture(encode_terrain_rgb),
            Encoding::Terrarium => picture(encode_terrarium),
            Encoding::Hillshade => self.encode_hillshade(),
        };
        made.map_err(Error::io("a tile", "encode"))
    }

    fn encode_hillshade(&self) -> io::Result<Vec<u8>> {
        let size = self.metres.size();
        // A pixel without data takes the mean elevation of its neighbours, so that the terrain does not appear to
        // drop there.
        let filled = Field::from_fn(size, |i, j| {
            let here = self.metres[(i, j)];
            if !here.is_nan() {
                return here;
            }
            let near = (i.saturating_sub(1)..=(i + 1).min(size[0] - 1))
                .flat_map(|i| (j.saturating_sub(1)..=(j + 1).min(size[1] - 1)).map(move |j| (i, j)));
            let (sum, count) = near
                .map(|at| self.metres[at])
                .filter(|z| !z.is_nan())
                .fold((0.0, 0.0), |(sum, n), z| (sum + z, n + 1.0));
            if count > 0.0 { sum / count } else { 0.0 }
        });
        let light = Sun::default().direction();
        let grey = Field::from_fn([SIDE; 2], |i, j| {
            let (i, j) = (i + MARGIN, j + MARGIN);
            if self.metres[(i, j)].is_nan() {
                return [0, 0];
            }
            let lit = lambert_reflectance(surface_normal(horn_gradient(&filled, [self.across[i]; 2], i, j)), light);
            [(lit * 255.0).round() as u8, 255]
        });
        let mut bytes = Vec::new();
        write_png(&mut bytes, [SIDE; 2], ColorType::GrayscaleAlpha, BitDepth::Eight, grey.as_slice().as_flattened())?;
        Ok(bytes)
    }
}

/// Returns a number of steps as three bytes, the most significant first.
fn encode_steps(steps: f64) -> Rgb {
    // Three bytes contain at most 2^24 − 1 steps; the first byte of the 32-bit number is always 0.
    let [_, r, g, b] = (steps.round().clamp(0.0, 16_777_215.0) as u32).to_be_bytes();
    [r, g, b]
}

fn metres_or_zero(height: f32) -> f64 {
    if height.is_nan() { 0.0 } else { f64::from(height) }
}

/// Encodes metres in Mapbox's encoding.
fn encode_terrain_rgb(height: f32) -> Rgb {
    encode_steps((metres_or_zero(height) + 10_000.0) * 10.0)
}

/// Encodes metres in Terrarium's encoding.
fn encode_terrarium(height: f32) -> Rgb {
    encode_steps((metres_or_zero(height) + 32_768.0) * 256.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_in_mapboxs_encoding() {
        // The example of Mapbox's documentation: −10000 + (R·256·256 + G·256 + B)·0.1.
        for (height, rgb) in
            [(0.0, [1, 134, 160]), (-10_000.0, [0, 0, 0]), (8848.9, [2, 224, 73]), (-20_000.0, [0, 0, 0])]
        {
            assert_eq!(encode_terrain_rgb(height), rgb, "{height}");
        }
    }

    #[test]
    fn heights_are_in_terrariums_encoding() {
        // (R·256 + G + B/256) − 32768.
        for (height, rgb) in [
            (0.0, [128, 0, 0]),
            (-32_768.0, [0, 0, 0]),
            (1.5, [128, 1, 128]),
            (-0.25, [127, 255, 192]),
            (f32::NAN, [128, 0, 0]),
        ] {
            assert_eq!(encode_terrarium(height), rgb, "{height}");
        }
    }
}
