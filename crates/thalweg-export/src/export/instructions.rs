//! The instructions after an export, with the numbers to enter in the program; and the book's table of targets.

use super::layout::ExportLayout;
use super::target::{ExportTarget, LayerPlace, Seams, TARGETS, TileNumbering};
use thalweg_core::{Cell, Size};
use thalweg_io::sidecar::{Engines, RowOrder};

/// The data from which the numbers are computed.
pub(super) struct ImportFacts<'a> {
    pub layout: &'a ExportLayout,
    /// The metres between rows and between columns.
    pub spacing: [f64; 2],
    /// The metres of the lowest and of the highest code.
    pub range: [f64; 2],
    /// The sea level in metres, if there is a sea.
    pub sea: Option<f64>,
    /// The (first) file of heights, and the prefix of the names of all.
    pub file: &'a str,
    pub name: &'a str,
    /// True if the file stores metres instead of codes.
    pub metres: bool,
    /// The coordinate reference system in words.
    pub crs: &'a str,
}

/// The default levels between which Minecraft can build; the next constant is its default sea level.
const BLOCKS: [f64; 2] = [-64.0, 319.0];
const WATER: f64 = 62.0;

/// Returns the numbers by the names that a target's text uses for them.
pub(super) fn import_numbers(facts: &ImportFacts<'_>) -> Vec<(&'static str, String)> {
    let ImportFacts { layout, spacing: [down, across], range: [minimum, maximum], .. } = *facts;
    let [rows, columns] = layout.side;
    let engines = Engines::new(minimum, maximum, layout.side, across);
    let length = |total: Size, k: usize, spacing: f64| (total[k] - 1) as f64 * spacing;
    // The distance from the first sample of a tile to the first of the next.
    let step = |k: usize, spacing: f64| {
        let side = if layout.tiles == [1, 1] || layout.shared { layout.side[k] - 1 } else { layout.side[k] };
        side as f64 * spacing
    };
    let [low, high, water, block] = minecraft_levels(facts);
    // The outer vertices of a grid have the texture coordinates 0 and 1. The centres of the outer pixels are half a
    // pixel inside.
    let uv = |n: usize| [(n - 1) as f64 / n as f64, 0.5 / n as f64];
    let ([scale_u, shift_u], [scale_v, shift_v]) = (uv(columns), uv(rows));
    let seams = if layout.shared {
        format!(
            "Neighbours contain the same edge samples, so answer no when Unreal asks whether to use the tiled path: \
             each tile is a separate landscape, x · {} and y · {} cm from the first. For a single landscape, in which \
             World Partition places tiles side by side, export with --edges adjacent",
            format_number(100.0 * step(1, across)),
            format_number(100.0 * step(0, down))
        )
    } else {
        let [rows, columns] = layout.total_size();
        format!(
            "Answer yes when Unreal asks whether to use the tiled path: neighbours share no samples, and World \
             Partition places them side by side in one landscape of {columns} × {rows} samples"
        )
    };
    let text = |name: &'static str, value: f64| (name, format_number(value));
    let word = |name: &'static str, value: String| (name, value);
    vec![
        word("file", facts.file.to_string()),
        word("name", facts.name.to_string()),
        word("crs", facts.crs.to_string()),
        word("tiles", format!("{} × {}", layout.tiles[1], layout.tiles[0])),
        word("seams", seams + "."),
        text("columns", columns as f64),
        text("rows", rows as f64),
        text("minimum", minimum),
        text("maximum", maximum),
        text("relief", maximum - minimum),
        text("strength", if facts.metres { 1.0 } else { maximum - minimum }),
        text("z", if facts.metres { 0.0 } else { minimum }),
        text("spacing", across),
        text("spacing_x", across),
        text("spacing_y", down),
        text("width", length(layout.total_size(), 1, across)),
        text("length", length(layout.total_size(), 0, down)),
        // The span of one landscape: a tile that shares its edges is a landscape of its own.
        text("span_x", if layout.shared { step(1, across) } else { length(layout.total_size(), 1, across) }),
        text("span_y", if layout.shared { step(0, down) } else { length(layout.total_size(), 0, down) }),
        text("region", choose_region_side(layout.total_size()) as f64),
        text("middle_x", (columns * (layout.tiles[1] / 2)) as f64),
        text("middle_z", (rows * (layout.tiles[0] / 2)) as f64),
        text("tile_width", step(1, across)),
        text("tile_length", step(0, down)),
        text("scale_x", 100.0 * across),
        text("scale_y", 100.0 * down),
        text("scale_z", engines.unreal.scale_z),
        text("location_z", engines.unreal.location_z),
        text("terrain_height", engines.unity.terrain_height),
        text("quads_x", (columns - 1) as f64),
        text("quads_y", (rows - 1) as f64),
        text("uv_scale_x", scale_u),
        text("uv_shift_x", shift_u),
        text("uv_scale_y", scale_v),
        text("uv_shift_y", shift_v),
        text("block_low", low),
        text("block_high", high),
        text("block", block),
        text("block_water", water),
    ]
}

/// Returns the number of samples along a region of Terrain3D, for a single file. A side may have at most 16 regions,
/// the number from the middle of Terrain3D's map on. The result is Terrain3D's default of 256, or more if necessary.
fn choose_region_side(total: Size) -> usize {
    [256, 512, 1024].into_iter().find(|region| total.iter().all(|n| n.div_ceil(*region) <= 16)).unwrap_or(2048)
}

/// Returns the levels of the lowest code, of the highest code and of the water, and the metres per block upward: as
/// many as per block along the ground, or as many as make the land fit between the levels.
fn minecraft_levels(facts: &ImportFacts<'_>) -> [f64; 4] {
    let [minimum, maximum] = facts.range;
    // Four levels remain free below the land, and four above it.
    let room = BLOCKS[1] - BLOCKS[0] - 8.0;
    // A block is a cube, so heights have the scale of the ground. If the relief needs more levels than there are,
    // heights are compressed.
    let block = facts.spacing[1].max((maximum - minimum) / room);
    // The sea is placed at Minecraft's default sea level; land without a sea is placed slightly above the bottom.
    let sea = facts.sea.map_or(BLOCKS[0] + 4.0, |sea| WATER + (minimum - sea) / block);
    let relief = ((maximum - minimum) / block).round().max(1.0);
    // The sea level gives way if the land would otherwise extend beyond the levels.
    let low = sea.round().clamp(BLOCKS[0] + 4.0, (BLOCKS[1] - 4.0 - relief).max(BLOCKS[0] + 4.0));
    let water = facts.sea.map_or(BLOCKS[0], |sea| (low + (sea - minimum) / block).round());
    [low, low + relief, water, block]
}

/// Formats a number for entering: up to nine decimals, without trailing zeros.
fn format_number(value: f64) -> String {
    let text = format!("{value:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    // A small negative number is rounded to −0.
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

/// Returns the instructions for these files, in one paragraph.
pub(super) fn format_instructions(target: &ExportTarget, facts: &ImportFacts<'_>) -> String {
    let tiles = if facts.layout.tiles == [1, 1] { String::new() } else { format!(" {}", target.how_tiles) };
    let text = format!("{}{tiles}", target.how);
    import_numbers(facts).iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Returns the book's table in Markdown, with a row for each target.
pub fn targets_table() -> String {
    let mut table = "| `--for` | program | samples along a side | heights | first row | tiles | layers | tested |\n\
                     |---|---|---|---|---|---|---|---|\n"
        .to_string();
    for target in &TARGETS {
        let pyramid = target.numbering == TileNumbering::Pyramid;
        let square = if target.square { ", square" } else { "" };
        let sides =
            if target.resamples { format!("{}{square}", target.sides.describe()) } else { "unchanged".to_string() };
        let tiles = if target.tile_sides == target.sides || !target.resamples {
            String::new()
        } else {
            format!(" of {} samples", target.tile_sides.describe())
        };
        let seams = match target.seams {
            Seams::Shared => "edges shared",
            Seams::Adjacent => "side by side",
            Seams::Either => "edges shared, or `--edges adjacent`",
        };
        let named = if pyramid {
            "LAYER/{z}/{x}/{y}".to_string()
        } else {
            format!("NAME{}", target.tile_suffix(Cell::new(0, 0), 1))
        };
        let heights: Vec<String> =
            target.heights.iter().map(|file| format!("`.{}` {}", file.ending, file.sample)).collect();
        let first = if target.rows == RowOrder::North { "north" } else { "south" };
        table += &format!(
            "| `{}` | {} | {sides} | {} | {first} | `{named}`{tiles}, {seams} | {} | {} ({}) |\n",
            target.name,
            target.about,
            heights.join(", "),
            target.layers.describe(),
            target.verdict,
            target.source
        );
    }
    table
}

impl LayerPlace {
    /// Describes in words how layers are exported.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Masks => "8-bit masks and weights, `.png`",
            Self::Texels => "8-bit masks and weights with one texel fewer, `.png`",
            Self::Pictures => "classes unchanged, others in 16 bits, `.png`",
            Self::Rasters => "classes as integers, others as f32, `.tif`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::ExportTiles;
    use super::*;

    #[test]
    fn every_place_of_a_text_is_filled() {
        for target in &TARGETS {
            for tiles in [ExportTiles::Whole, ExportTiles::Count([2, 2])] {
                let layout = ExportLayout::choose(target, [1024, 1024], tiles, None, None).unwrap();
                let spacing = layout.spacing([1024, 1024], 10.0);
                let facts = ImportFacts {
                    layout: &layout,
                    spacing,
                    range: [12.5, 1200.0],
                    sea: None,
                    file: "a.b",
                    name: "a",
                    metres: false,
                    crs: "no CRS",
                };
                let text = format_instructions(target, &facts);
                assert!(!text.contains('{') && text.contains("a.b"), "{text}");
            }
        }
        assert_eq!(targets_table().lines().count(), TARGETS.len() + 2);
    }

    #[test]
    fn numbers_decode_to_metres() {
        let layout = ExportLayout::choose(&TARGETS[0], [512, 512], ExportTiles::Whole, None, None).unwrap();
        let spacing = layout.spacing([512, 512], 10.0);
        let facts = ImportFacts {
            layout: &layout,
            spacing,
            range: [-37.5, 1234.25],
            sea: Some(0.0),
            file: "",
            name: "",
            metres: false,
            crs: "",
        };
        let all = import_numbers(&facts);
        let of = |name: &str| all.iter().find(|(key, _)| *key == name).unwrap().1.parse::<f64>().unwrap();
        let unreal = |code: f64| ((code - 32_768.0) / 128.0 * of("scale_z") + of("location_z")) / 100.0;
        // The tolerance: nine decimals of centimetres, times 256 steps of Z.
        assert!((unreal(0.0) + 37.5).abs() < 1e-6 && (unreal(65_535.0) - 1234.25).abs() < 1e-6);
        assert!((of("terrain_height") * 65_535.0 / 65_536.0 - 1271.75).abs() < 1e-8);
        // The corner samples keep their positions: 511 intervals of 10 m.
        assert!((of("width") - 5110.0).abs() < 1e-6 && (of("scale_x") / 100.0 * 504.0 - 5110.0).abs() < 1e-6);
        // Vertex k of N is at u = k/(N − 1) and must map to the centre of pixel k.
        for k in [0.0, 1.0, 504.0] {
            assert!((k / 504.0 * of("uv_scale_x") + of("uv_shift_x") - (k + 0.5) / 505.0).abs() < 1e-8);
        }
        // The sea is at Minecraft's sea level, or at the highest level that fits.
        assert!(of("block_low") >= -64.0 && of("block_high") <= 319.0 && of("block_water") <= 62.0);
        assert_eq!([1.0, 0.5, -0.0, 1009.0].map(format_number), ["1", "0.5", "0", "1009"]);
    }
}
