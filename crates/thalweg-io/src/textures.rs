//! A folder of textures: weights of ground cover, albedo, roughness and maps as PNG, and a manifest that describes
//! them.

use std::path::{Path, PathBuf};

use png::{BitDepth, ColorType};
use serde_json::{Value, json};

use super::draft::{Draft, Saved};
use super::{output, write_atomically};
use thalweg_core::{Error, Field, Result};
use thalweg_render::pictures::colour::Linear;
use thalweg_render::pictures::png_file::write_png;
use thalweg_render::products::textures::maps::{MAX_SPEED_M_PER_S, max_shown_curvature};
use thalweg_render::products::textures::{COUNT, MATERIALS, Textures};

/// The name of the manifest, which is written last.
pub const MANIFEST: &str = "textures.json";

/// The channels of a weights file, each of which stores one material.
const CHANNELS: [&str; 4] = ["red", "green", "blue", "alpha"];

/// The metres of erosion or deposition that are shown as white.
// Greater changes are clamped to white. A greater limit would make small changes darker: a step of 8 bits is 0.2 m.
const MAX_CHANGE_M: f32 = 50.0;

/// Returns the names of all files that textures may have, the manifest last.
fn texture_names() -> Vec<String> {
    let maps = ["albedo", "roughness", "occlusion", "curvature", "flow", "wear", "deposit"];
    let weights = (0..COUNT.div_ceil(CHANNELS.len())).map(weights_name);
    weights.chain(maps.map(|name| format!("{name}.png"))).chain([MANIFEST.to_string()]).collect()
}

fn weights_name(number: usize) -> String {
    format!("weights_{number}.png")
}

/// Returns the paths of all files that textures may have in a folder, the manifest last.
pub fn texture_files(folder: &Path) -> Vec<PathBuf> {
    texture_names().into_iter().map(|name| folder.join(name)).collect()
}

/// Checks that textures may be written to `folder`: no other report lists any of their files. Nothing is created.
///
/// # Errors
/// Returns an error for the first file that may not be written, as [`output::check_names`] does.
pub fn check_textures(folder: &Path) -> Result<()> {
    output::check_names(folder, MANIFEST, &texture_names())
}

/// Writes textures as files that will be in `folder` after [`Draft::commit`]. The manifest is the draft's report.
///
/// # Errors
/// Returns an error if a folder or file cannot be written.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_io::draft_textures;
/// use thalweg_models::rocks::Rock;
/// use thalweg_render::products::textures::{TextureOptions, TextureRules, Textures};
///
/// let terrain = Terrain::new(Grid::new([8, 8], 10.0)?);
/// let textures = Textures::from_terrain(&terrain, &TextureRules::default(), Rock::usual(), &TextureOptions::default(), None)?;
/// let folder = tempfile::tempdir().unwrap();
/// draft_textures(folder.path(), &textures)?.commit(&[])?;
/// assert!(["albedo.png", "textures.json"].iter().all(|name| folder.path().join(name).is_file()));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draft_textures(folder: &Path, textures: &Textures) -> Result<Draft> {
    Draft::new(|draft| {
        let place = draft.temporary_folder(folder)?;
        let mut saved = Saved::default();
        let mut sheet = TextureWriter { place: &place, full: textures.full, saved: &mut saved };
        let manifest = sheet.write_maps(textures)?;
        draft.add_saved(saved);
        draft.report = manifest;
        draft.add_report_path(folder.join(MANIFEST), true);
        Ok(())
    })
}

/// The folder of the files, and the greatest sample.
struct TextureWriter<'a> {
    place: &'a Path,
    full: u16,
    saved: &'a mut Saved,
}

impl TextureWriter<'_> {
    fn write_maps(&mut self, textures: &Textures) -> Result<Value> {
        let mut weights = Vec::new();
        for (number, of) in MATERIALS.chunks(CHANNELS.len()).enumerate() {
            let first = number * CHANNELS.len();
            let file = weights_name(number);
            let channel = |k: usize| move |cell: &[u16; COUNT]| cell.get(first + k).copied().unwrap_or(0);
            let pixels = textures.weights.map(|cell| [0, 1, 2, 3].map(|k| channel(k)(cell)));
            self.write_image(&file, ColorType::Rgba, &pixels)?;
            for (material, (channel, k)) in of.iter().zip(CHANNELS.iter().zip(first..)) {
                let [smooth, rough] = material.roughness;
                let sum: u64 = textures.weights.as_slice().iter().map(|cell| u64::from(cell[k])).sum();
                let share = sum as f64 / (f64::from(textures.full) * textures.weights.len() as f64);
                weights.push(json!({
                    "name": material.name, "about": material.about, "file": file, "channel": channel,
                    "roughness": [smooth, rough], "share": share,
                }));
            }
        }
        let colours = textures.albedo.map(|colour| self.to_srgb(*colour));
        self.write_image("albedo.png", ColorType::Rgb, &colours)?;
        // Curvature is signed: grey is flat, black and white are the two limits.
        let most = max_shown_curvature(textures.cell) as f32;
        self.write_grey("roughness.png", &textures.roughness, |x| x)?;
        self.write_grey("occlusion.png", &textures.occlusion, |x| x)?;
        self.write_grey("curvature.png", &textures.curvature, |x| 0.5 + 0.5 * x / most)?;
        let flow = textures.flow.map(|[east, south, speed]| {
            [0.5 + 0.5 * east, 0.5 + 0.5 * south, speed / MAX_SPEED_M_PER_S].map(|x| self.to_sample(x))
        });
        self.write_image("flow.png", ColorType::Rgb, &flow)?;
        let [rows, columns] = textures.size();
        let mut manifest = json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "rows": rows, "columns": columns, "cell_size": textures.cell, "row_order": "north",
            "bits": if textures.full == u16::from(u8::MAX) { 8 } else { 16 },
            "full": textures.full,
            "weights": weights,
            "albedo": {"file": "albedo.png", "colours": "sRGB", "light": "none"},
            "roughness": {"file": "roughness.png", "black": 0, "white": 1},
            "occlusion": {"file": "occlusion.png", "meaning": "share of the sky that is seen", "black": 0, "white": 1},
            "curvature": {"file": "curvature.png", "unit": "1/m", "black": -most, "white": most},
            "flow": {
                "file": "flow.png", "red": "eastward, -1 to 1", "green": "southward, -1 to 1",
                "blue": "speed", "unit": "m/s", "blue_full": MAX_SPEED_M_PER_S,
            },
        });
        let worn = [("wear", &textures.wear), ("deposit", &textures.deposit)];
        for (name, field) in worn.into_iter().filter_map(|(name, field)| Some((name, field.as_ref()?))) {
            let file = format!("{name}.png");
            self.write_grey(&file, field, |x| x / MAX_CHANGE_M)?;
            manifest[name] = json!({"file": file, "unit": "m", "black": 0, "white": MAX_CHANGE_M});
        }
        Ok(manifest)
    }

    /// Converts 0 to 1 to a sample; NaN becomes 0.
    fn to_sample(&self, x: f32) -> u16 {
        // The cast truncates, so adding a half rounds to the nearest sample.
        (x.clamp(0.0, 1.0) * f32::from(self.full) + 0.5) as u16
    }

    /// Converts linear light to samples of sRGB (IEC 61966-2-1).
    fn to_srgb(&self, colour: Linear) -> [u16; 3] {
        colour.map(|x| {
            self.to_sample(if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * libm::powf(x, 1.0 / 2.4) - 0.055 })
        })
    }

    fn write_grey(&mut self, file: &str, field: &Field<f32>, shown: impl Fn(f32) -> f32 + Sync) -> Result<()> {
        let pixels = field.map(|x| [self.to_sample(shown(*x))]);
        self.write_image(file, ColorType::Grayscale, &pixels)
    }

    fn write_image<const N: usize>(&mut self, file: &str, colour: ColorType, pixels: &Field<[u16; N]>) -> Result<()> {
        let samples = pixels.as_slice().as_flattened();
        let eight = self.full == u16::from(u8::MAX);
        let bytes: Vec<u8> = match eight {
            true => samples.iter().map(|sample| *sample as u8).collect(),
            // PNG stores 16-bit samples in big-endian order.
            false => samples.iter().flat_map(|sample| sample.to_be_bytes()).collect(),
        };
        let depth = if eight { BitDepth::Eight } else { BitDepth::Sixteen };
        let path = self.place.join(file);
        write_atomically(&path, |out| {
            write_png(out, pixels.size(), colour, depth, &bytes).map_err(Error::io(&path, "write"))
        })?;
        self.saved.add_file(path);
        Ok(())
    }
}
