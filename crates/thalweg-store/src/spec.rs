//! The specification of a store: [`StoreSpec`] and its layers, [`StoredLayer`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thalweg_core::terrain::{TileGrid, current_layer_name};
use thalweg_core::{CellRect, Error, Georeference, Result, Size};
use thalweg_io::SampleType;

/// The folder of marks inside a store. It is a Zarr group without arrays, so that Zarr readers skip it.
pub const MARKS: &str = "marks";

/// One layer of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredLayer {
    /// The layer's name: lowercase letters, digits and `_`.
    pub name: String,
    /// The sample type.
    pub kind: SampleType,
    /// The sample that stands for no data or for nothing, and fills the last tiles beyond the map's edge. For example,
    /// it is NaN for elevations in metres.
    #[serde(with = "fill")]
    pub fill: f64,
    /// True if the fill value stands for no data; false if it is a value like any other, such as 0 for no lake or for
    /// a depth of 0.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub fill_is_nodata: bool,
    /// The factor from sample to value, for example 1/65536 for elevations in fixed point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The unit of the values in CF notation, for example `m`, `m2` or `1`.
    pub unit: String,
    /// The name in CF's table of standard names, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_name: Option<String>,
    /// The name for human readers.
    pub long_name: String,
    /// A description of what a value means.
    pub description: String,
}

fn yes() -> bool {
    true
}

fn is_yes(it_is: &bool) -> bool {
    *it_is
}

impl StoredLayer {
    /// Returns a layer with defaults for everything but its name, type and fill value; further fields are set by name.
    pub fn new(name: &str, kind: SampleType, fill: f64) -> Self {
        Self {
            name: name.to_string(),
            kind,
            fill,
            fill_is_nodata: true,
            scale: None,
            unit: "1".to_string(),
            standard_name: None,
            long_name: name.to_string(),
            description: String::new(),
        }
    }

    fn check(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let taken = ["x", "y", "spatial_ref", MARKS];
        let name = self.name.as_str();
        if name.is_empty()
            || name.len() > 64
            || name.starts_with('_')
            || !name.chars().all(plain)
            || taken.contains(&name)
        {
            let allowed = format!(
                "1 to 64 lower-case letters, digits and `_`, without `_` at the start, and other than {}",
                taken.join(", ")
            );
            return Err(Error::invalid_value("layer", name, allowed));
        }
        let [low, high] = match self.kind {
            SampleType::U8 => [0.0, 255.0],
            SampleType::U16 => [0.0, 65_535.0],
            SampleType::I16 => [-32_768.0, 32_767.0],
            SampleType::I32 => [f64::from(i32::MIN), f64::from(i32::MAX)],
            SampleType::U32 => [0.0, f64::from(u32::MAX)],
            SampleType::F32 | SampleType::F64 => [f64::NEG_INFINITY, f64::INFINITY],
        };
        let whole = !matches!(self.kind, SampleType::F32 | SampleType::F64);
        let fits = !whole || (self.fill.fract() == 0.0 && (low..=high).contains(&self.fill));
        // A fill value that f32 rounds would never equal the samples that are read back.
        let exact = self.kind != SampleType::F32 || self.fill.is_nan() || f64::from(self.fill as f32) == self.fill;
        if !(fits && exact) {
            return Err(Error::invalid_value(
                format!("{name}.fill"),
                self.fill,
                format!("a value of type {}", self.kind),
            ));
        }
        if self.scale.is_some_and(|scale| !scale.is_finite() || scale == 0.0) {
            return Err(Error::invalid_value(
                format!("{name}.scale"),
                self.scale.unwrap_or(0.0),
                "a finite number other than 0",
            ));
        }
        Ok(())
    }
}

/// Stores the fill value as text, because JSON has no notation for NaN and infinities, which may stand for no data.
mod fill {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(fill: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&fill.to_string())
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The specification of a store, which is fixed when the store is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreSpec {
    /// The rows and columns of all layers.
    pub size: Size,
    /// The side of a tile, which is one shard, in cells: a value that [`tile_side`] returns.
    pub side: usize,
    /// The cell size in metres.
    pub cell: f64,
    /// The georeference; without it, coordinates are metres east and (negative) metres north of the north-western
    /// corner.
    pub georeference: Option<Georeference>,
    /// The coordinate reference system as WKT, if known; an EPSG code among the georeference's keys suffices for most.
    pub wkt: Option<String>,
    /// The hash of the recipe or plan that the store belongs to. Tiles of another one are not mixed in.
    pub recipe: String,
    /// The layers.
    pub layers: Vec<StoredLayer>,
    /// Further attributes of the whole, for example title, seed or sea level.
    pub attributes: Map<String, Value>,
}

/// The approximate side of an inner chunk in cells: small enough that a window reads little beyond its own cells, and
/// large enough that a chunk compresses well.
const INNER: usize = 256;

/// The largest side of a tile: all its samples are in memory while it is written.
pub const MAX_SIDE: usize = 16_384;

/// Returns the valid tile side nearest to the requested one and not smaller: up to 256 cells the requested side
/// itself, beyond that the next multiple of 128. The request is first clamped to 1 to 16 384. For example, the side for
/// 300 is 384.
pub fn tile_side(asked: usize) -> usize {
    let asked = asked.clamp(1, MAX_SIDE);
    // Small tiles are one inner chunk; larger ones are multiples of 128, so that chunks of 128 or 256 divide them.
    if asked <= INNER { asked } else { asked.next_multiple_of(INNER / 2) }
}

impl StoreSpec {
    /// Returns a specification of `size` cells in tiles of about `side` cells ([`tile_side`]), each cell `cell` metres
    /// wide.
    pub fn new(size: Size, side: usize, cell: f64, recipe: &str, layers: Vec<StoredLayer>) -> Self {
        Self {
            size,
            side: tile_side(side),
            cell,
            georeference: None,
            wkt: None,
            recipe: recipe.to_string(),
            layers,
            attributes: Map::new(),
        }
    }

    /// Checks the specification.
    ///
    /// # Errors
    /// Returns an error if there are no cells or more than can be counted, if [`tile_side`] would change the side, if
    /// the cell size is not positive, if the cells are rotated, if there are no layers or two of the same name, or if
    /// a fill value does not exist in its layer's type.
    pub fn check(&self) -> Result<()> {
        let [rows, cols] = self.size;
        if rows == 0
            || cols == 0
            || rows.checked_mul(cols).and_then(|n| n.checked_mul(8)).is_none_or(|n| n > isize::MAX as usize)
        {
            return Err(Error::invalid_value(
                "size",
                format!("{rows} × {cols}"),
                "at least 1 × 1 cells (rows × columns), and fewer than 2^60 in all",
            ));
        }
        if self.side != tile_side(self.side) {
            return Err(Error::invalid_value(
                "side",
                self.side,
                format!("1 to {INNER} cells, or a multiple of {} up to {MAX_SIDE}", INNER / 2),
            ));
        }
        if !(self.cell.is_finite() && self.cell > 0.0) {
            return Err(Error::invalid_value("cell", self.cell, "a number of metres above 0"));
        }
        if let Some([_, a, b, _, d, e]) = self.georeference.as_ref().and_then(|place| place.transform)
            && (b != 0.0 || d != 0.0 || !(a > 0.0 && e < 0.0))
        {
            let value = format!("{a}, {b}, {d}, {e}");
            return Err(Error::invalid_value(
                "transform",
                value,
                "that of rows from north to south and columns from west to east, without rotation; reproject the map \
                 with `gdalwarp`",
            ));
        }
        if self.layers.is_empty() {
            return Err(Error::invalid_value("layers", 0, "1 or more"));
        }
        for (k, layer) in self.layers.iter().enumerate() {
            layer.check()?;
            if self.layers[..k].iter().any(|other| other.name == layer.name) {
                return Err(Error::invalid_value("layer", &layer.name, "a name that no other layer has"));
            }
        }
        Ok(())
    }

    /// Returns the layer of that name. If no layer has exactly this name, an [earlier
    /// name](thalweg_core::terrain::EARLIER_LAYER_NAMES) of a layer and its current name are equivalent.
    ///
    /// # Errors
    /// Returns an error if there is no such layer.
    pub fn layer(&self, name: &str) -> Result<&StoredLayer> {
        let exact = self.layers.iter().find(|layer| layer.name == name);
        let is_same = |layer: &&StoredLayer| current_layer_name(&layer.name) == current_layer_name(name);
        let found = exact.or_else(|| self.layers.iter().find(is_same));
        found.ok_or_else(|| Error::unknown_name("layer", name, self.layers.iter().map(|layer| layer.name.as_str())))
    }

    /// Returns the part of the specification that determines the cells: names of layers are the current ones, and
    /// descriptions are empty.
    pub(crate) fn without_descriptions(&self) -> Self {
        let layer = |layer: &StoredLayer| StoredLayer {
            name: current_layer_name(&layer.name).to_string(),
            unit: String::new(),
            standard_name: None,
            long_name: String::new(),
            description: String::new(),
            ..layer.clone()
        };
        Self { layers: self.layers.iter().map(layer).collect(), attributes: Map::new(), ..self.clone() }
    }

    /// The partition of the maps into tiles.
    ///
    /// # Errors
    /// Returns the errors of [`TileGrid::new`].
    pub fn tile_grid(&self) -> Result<TileGrid> {
        TileGrid::new(self.size, self.side)
    }

    /// The number of tiles; 0 for a specification that [`check`](Self::check) refuses because it has no cells.
    pub fn tile_count(&self) -> usize {
        self.tile_grid().map_or(0, |tiles| tiles.tile_count())
    }

    /// Returns the cells of a tile; tiles of the last row and column may be smaller.
    ///
    /// # Errors
    /// Returns an error if there is no tile of this number.
    pub fn tile_window(&self, tile: usize) -> Result<CellRect> {
        let tiles = self.tile_grid()?;
        tiles.check_tile(tile)?;
        Ok(tiles.tile_window(tile))
    }

    /// The side of a shard's inner chunks in cells; it divides the tile's side.
    pub fn inner_chunk_side(&self) -> usize {
        match self.side {
            side if side <= INNER => side,
            side if side.is_multiple_of(INNER) => INNER,
            _ => INNER / 2,
        }
    }

    /// The maximum disk space of the complete store in bytes, as if nothing could be compressed. Elevations usually
    /// take half of it, classes a twentieth.
    pub fn bytes_needed(&self) -> u64 {
        let wide = |n: usize| n as u64;
        let cells = wide(self.side).saturating_mul(wide(self.side));
        let chunks = wide(self.side / self.inner_chunk_side().max(1)).pow(2);
        let tiles = wide(self.tile_count());
        let shards = self.layers.iter().map(|layer| {
            let samples = cells.saturating_mul(wide(layer.kind.bytes()));
            // The overhead: what zstd may add to incompressible data, the chunk index, and the mark, which takes a
            // block of the disk.
            let more = samples / 256 + 64 * chunks + 16 * chunks + 4 + 4096;
            samples.saturating_add(more).saturating_mul(tiles)
        });
        let coordinates = 8 * (wide(self.size[0]).saturating_add(wide(self.size[1])));
        shards.fold(coordinates, u64::saturating_add).saturating_add(1 << 20)
    }
}
