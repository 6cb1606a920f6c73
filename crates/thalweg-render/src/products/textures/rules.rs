//! [`TextureRules`]: the parameters of textures that a recipe may set.

use serde_json::{Map, Value as Json, json};

use super::materials::{COUNT, MATERIALS, Material, Palette};
use crate::pictures::colour::Rgb;
use thalweg_core::declare::keys::{self, Form, Key, key};
use thalweg_core::declare::params::ParamKind;
use thalweg_core::{Error, Result};
use thalweg_models::rocks::Rock;

thalweg_core::with_defaults! {
    /// The climate that determines the land cover, and the colours of the materials: the table `textures` of a recipe.
    ///
    /// The defaults are those of mountains in middle latitudes, with the tree line of the model `trees` and the runoff
    /// of [`WetnessRules`](crate::products::wetness::WetnessRules).
    #[derive(Debug, Clone, PartialEq)]
    pub struct TextureRules {
        /// Height in metres above which no trees grow, -16 000 to 16 000.
        pub treeline: f64 = 1800.0,
        /// Height in metres above which snow lies on ground that faces east or west, -16 000 to 16 000.
        pub snowline: f64 = 2700.0,
        /// How many metres lower the snow line is on northern slopes, which are in shade, than on level ground, -2000
        /// to 2000; the tree line is lower by 0.4 times as much. Below 0 the sun is in the north.
        pub shade: f64 = 200.0,
        /// Moisture of the climate, 0 to 1: 0 desert, 0.3 steppe, 0.6 woods, 1 rain forest.
        pub moisture: f64 = 0.6,
        /// Runoff in metres of water a year, for a terrain without discharge; 0.001 to 20.
        pub runoff: f64 = 0.3,
        /// Least discharge of a river in m³/s, 0 to 1 000 000. On wide cells, that of a river a twentieth of a cell
        /// wide applies if it is greater.
        pub river: f64 = 0.01,
        /// Dark and light colours of materials, indexed as in [`MATERIALS`]; `None` keeps a material's own colours.
        pub colours: [Option<[Rgb; 2]>; COUNT] = [None; COUNT],
    }
}

const HEIGHT: (ParamKind, &str) = (ParamKind::Number { min: -16_000.0, max: 16_000.0 }, "m");
const SHADE: (ParamKind, &str) = (ParamKind::Number { min: -2000.0, max: 2000.0 }, "m");
const SHARE: (ParamKind, &str) = (ParamKind::Number { min: 0.0, max: 1.0 }, "1");
const RUNOFF: (ParamKind, &str) = (ParamKind::Number { min: 1e-3, max: 20.0 }, "m/a");
const RIVER: (ParamKind, &str) = (ParamKind::Number { min: 0.0, max: 1e6 }, "m³/s");

const KEYS: [Key<TextureRules>; 7] = [
    key!(TextureRules, treeline, HEIGHT, "The height above which no trees grow.").omit_default(),
    key!(TextureRules, snowline, HEIGHT, "The height above which snow covers ground that faces east or west.")
        .omit_default(),
    key!(
        TextureRules,
        shade,
        SHADE,
        "The height by which the snow line is lower on shaded slopes; negative if the sun is in the north."
    )
    .omit_default(),
    key!(TextureRules, moisture, SHARE, "The moisture of the climate: 0 desert, 0.3 steppe, 0.6 woods, 1 rain forest.")
        .omit_default(),
    key!(TextureRules, runoff, RUNOFF, "The annual runoff of a terrain without discharge.").omit_default(),
    key!(TextureRules, river, RIVER, "The smallest discharge of a river.").omit_default(),
    key!(TextureRules, colours, ColourForm, "Colours of materials, dark and light, that replace the default ones.")
        .omit_default(),
];

/// The form of colours in a recipe: `{ snow = ["#e2eaf2", "#f6f9fc"] }`.
struct ColourForm;

/// Parses a colour in the form `#rrggbb`.
fn parse_hex_colour(text: &str) -> Option<Rgb> {
    // The check for ASCII makes the slices below safe, which count bytes.
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let mut rgb = [0; 3];
    for (k, channel) in rgb.iter_mut().enumerate() {
        *channel = u8::from_str_radix(digits.get(2 * k..2 * k + 2)?, 16).ok()?;
    }
    Some(rgb)
}

impl Form<[Option<[Rgb; 2]>; COUNT]> for ColourForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<[Option<[Rgb; 2]>; COUNT]> {
        let allowed = "a table of materials, each with two colours, dark and light: [\"#rrggbb\", \"#rrggbb\"]";
        let table = value.as_table().ok_or_else(|| Error::invalid_value(name, value, allowed))?;
        let mut colours = [None; COUNT];
        for (material, pair) in table {
            let number = Material::find(material)?;
            let pair = match pair.as_array().map(Vec::as_slice) {
                Some([dark, light]) => [dark, light].map(|colour| colour.as_str().and_then(parse_hex_colour)),
                _ => [None; 2],
            };
            let [Some(dark), Some(light)] = pair else {
                return Err(Error::invalid_value(format!("{name}.{material}"), &table[material], allowed));
            };
            colours[number] = Some([dark, light]);
        }
        Ok(colours)
    }

    fn write(&self, colours: &[Option<[Rgb; 2]>; COUNT]) -> Option<String> {
        let shown = |[r, g, b]: Rgb| format!("\"#{r:02x}{g:02x}{b:02x}\"");
        let named = MATERIALS.iter().zip(colours).filter_map(|(material, pair)| {
            let [dark, light] = (*pair)?;
            Some((material.name, format!("[{}, {}]", shown(dark), shown(light))))
        });
        let named: Vec<_> = named.collect();
        (!named.is_empty()).then(|| keys::format_inline_table(named))
    }

    fn schema(&self) -> Json {
        let colour = json!({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"});
        let pair = json!({"type": "array", "minItems": 2, "maxItems": 2, "items": colour});
        let properties: Map<String, Json> =
            MATERIALS.iter().map(|material| (material.name.to_string(), pair.clone())).collect();
        keys::table_schema(properties)
    }
}

/// The form of [`TextureRules`] in a recipe: a table of the parameters that differ from their defaults.
pub struct Textured;

impl Form<TextureRules> for Textured {
    fn read(&self, name: &str, value: &toml::Value) -> Result<TextureRules> {
        let table = value.as_table().ok_or_else(|| Error::invalid_value(name, value, "a table ([textures])"))?;
        keys::check_known_keys("key", table, KEYS.iter().map(|key| key.name))?;
        let mut rules = TextureRules::default();
        keys::read_keys(&mut rules, name, table, &KEYS).map(|()| rules)
    }

    fn write(&self, rules: &TextureRules) -> Option<String> {
        let said = keys::write_keys(rules, &TextureRules::default(), &KEYS);
        (!said.is_empty()).then(|| keys::format_inline_table(said))
    }

    fn schema(&self) -> Json {
        keys::table_schema(keys::keys_schema(&TextureRules::default(), &KEYS))
    }
}

impl TextureRules {
    /// Checks the ranges of the parameters.
    ///
    /// # Errors
    /// Returns an error if a number is out of the range that its field documents.
    ///
    /// # Examples
    /// ```
    /// use thalweg_render::products::textures::TextureRules;
    ///
    /// assert!(TextureRules { moisture: 0.1, treeline: 900.0, ..TextureRules::default() }.check().is_ok());
    /// let wrong = TextureRules { moisture: 1.5, ..TextureRules::default() };
    /// assert!(wrong.check().unwrap_err().to_string().starts_with("textures.moisture = 1.5"));
    /// ```
    pub fn check(&self) -> Result<()> {
        let numbers = [
            ("treeline", self.treeline, HEIGHT),
            ("snowline", self.snowline, HEIGHT),
            ("shade", self.shade, SHADE),
            ("moisture", self.moisture, SHARE),
            ("runoff", self.runoff, RUNOFF),
            ("river", self.river, RIVER),
        ];
        // The ranges are those of the recipe's keys, so that a recipe and a program have the same limits.
        for (name, value, (kind, unit)) in numbers {
            let ParamKind::Number { min, max } = kind else { continue };
            if !(min..=max).contains(&value) {
                let unit = if unit == "1" { String::new() } else { format!(" {unit}") };
                return Err(Error::invalid_value(format!("textures.{name}"), value, format!("{kind}{unit}")));
            }
        }
        Ok(())
    }

    /// Returns the dark and light unlit colour of a material on this rock; from the air, the colours of its crowns if
    /// it has any.
    pub(super) fn material_colours(&self, number: usize, rock: &Rock, from_air: bool) -> [Rgb; 2] {
        let material = &MATERIALS[number];
        // The crowns have no colours of their own in the rules; the rules' colours are those of the floor.
        if let Some(crowns) = material.crowns.filter(|_| from_air) {
            return crowns;
        }
        self.colours[number].unwrap_or_else(|| match material.palette {
            Palette::Own(colours) => colours,
            Palette::Rock(lighter) => {
                // The integer division rounds down, so white is never exceeded.
                let toward = |c: u8| c + ((255 - u16::from(c)) * u16::from(lighter) / 100) as u8;
                rock.albedo.map(|colour| colour.map(toward))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TextureRules> {
        let table: toml::Table = text.parse().unwrap();
        Textured.read("textures", &table["textures"])
    }

    #[test]
    fn what_is_said_is_read_and_written_back() {
        let text = "textures = { snowline = 900.0, moisture = 0.2, colours = { snow = [\"#010203\", \"#fffefd\"] } }";
        let rules = read(text).unwrap();
        assert_eq!((rules.snowline, rules.moisture, rules.treeline), (900.0, 0.2, 1800.0));
        let snow = Material::find("snow").unwrap();
        assert_eq!(rules.colours[snow], Some([[1, 2, 3], [255, 254, 253]]));
        assert_eq!(read(&format!("textures = {}", Textured.write(&rules).unwrap())).unwrap(), rules);
        assert_eq!(Textured.write(&TextureRules::default()), None);
        assert!(rules.check().is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
            ("textures = 3", "textures"),
            ("textures = { tree_line = 3 }", "treeline"),
            ("textures = { moisture = 2 }", "textures.moisture"),
            ("textures = { colours = { snwo = [] } }", "did you mean `snow`"),
            ("textures = { colours = { snow = [\"#12345g\", \"#000000\"] } }", "textures.colours.snow"),
            ("textures = { colours = { snow = \"#000000\" } }", "textures.colours.snow"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(said), "{text}: {message}");
        }
        for bad in [f64::NAN, -1.0, 2.0] {
            let rules = TextureRules { moisture: bad, ..TextureRules::default() };
            assert!(rules.check().unwrap_err().to_string().contains("textures.moisture"));
        }
    }
}
