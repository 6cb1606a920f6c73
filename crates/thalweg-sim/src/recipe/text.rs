//! Reads and writes a recipe's text, and describes it to editors.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::recipe::laid::Laid;
use crate::recipe::levels::{BeyondGlobal, CELLS, FirstLevel, GlobalLevel};
use crate::recipe::scatter::Scattered;
use crate::recipe::{
    Beyond, Coarsest, Cut, From, LocalFrom, MAX_STAGES, Recipe, Scatter, Stage, Start, WorldPlace, start, strokes,
};
use crate::sketch::PathOrLines;
use thalweg_core::base::memory;
use thalweg_core::declare::keys::{self, File, Form, Key, Maybe, Named, Pair, Text, key};
use thalweg_core::declare::params::ParamKind;
use thalweg_core::terrain::grid::{self, Edges, SIDES};
use thalweg_core::{Edge, Error, Result};
use thalweg_io::{FilePath, plain, write_text};
use thalweg_models::model::Model;
use thalweg_models::models::{self, Models};
use thalweg_models::rocks::{self, Rock};
use thalweg_render::pictures::ramps::{RAMPS, Ramp};
use thalweg_render::products::textures::Textured;

/// File name of the recipe in a world's folder.
pub const RECIPE_FILE: &str = "recipe.toml";
/// File name of the JSON Schema in the same folder as [`RECIPE_FILE`].
pub const SCHEMA_FILE: &str = "recipe.schema.json";

/// The longest recipe that is read: room for as many strokes as a stage may have.
const MAX_BYTES: u64 = 16 << 20;

/// Bytes of memory per byte of a recipe while it is read. Measured: 71, for a list of digits.
const TEXT: u64 = 76;

/// The longest message about a broken recipe, in characters: a recipe may contain names of any length.
const MESSAGE: usize = 1200;

/// The most columns and rows that can be cut away.
const MOST_CUT: usize = 1 << 20;

/// The number of cells on the long side if an extent is given without one.
const USUAL_CELLS: usize = 1024;

const EXTENT: Pair = Pair {
    takes: |sides| sides.iter().all(|side| (0.01..=1e8).contains(side)),
    allowed: "[width, height] in metres, each 0.01 to 100000000",
    number: || json!({"type": "number", "minimum": 0.01, "maximum": 1e8}),
};

const MARGIN: (ParamKind, &str) = (ParamKind::Number { min: 0.0, max: 1.0 }, "1");

const SEA_LEVEL: Maybe<(ParamKind, &str)> = Maybe((ParamKind::Number { min: -16_000.0, max: 16_000.0 }, "m"));

const ROCK: Named<Rock> = Named { find: Rock::find, name: |rock| rock.name, all: || rocks::names().collect() };

const RAMP: Named<Ramp> =
    Named { find: Ramp::find, name: |ramp| ramp.name, all: || RAMPS.iter().map(|ramp| ramp.name).collect() };

/// The key of the stages, which are read separately because they need the models.
const STAGE: &str = "stage";

/// Builds the key of a setting of the start from its name, type and form, accessor, setter and description. The
/// setter refuses a value that the start that was read before does not support. Without a value the key is left out.
macro_rules! start_key {
    ($name:literal, $type:ty, $form:expr, $get:expr, $set:expr, $about:literal) => {{
        const GET: fn(&Recipe) -> Option<$type> = $get;
        Key::<Recipe> {
            name: $name,
            is_rare: false,
            read: |recipe, name, value| $set(recipe, $form.read(name, value)?),
            write: |recipe| Form::<$type>::write(&$form, &GET(recipe)?),
            schema: |_| Some(keys::described(Form::<$type>::schema(&$form), $about)),
        }
    }};
}

/// `extent` and `from` come first: they determine which settings the start has.
const KEYS: [Key<Recipe>; 19] = [
    key!(Recipe, name, Text, "The world's name."),
    key!(Recipe, about, Text, "A paragraph that describes the landform.").rare(),
    start_key!(
        "extent",
        [f64; 2],
        EXTENT,
        |recipe| recipe.extent().map(<[f64; 2]>::from),
        |recipe: &mut Recipe, extent: [f64; 2]| recipe.set_extent(extent),
        "Width and height in metres."
    ),
    start_key!(
        "from",
        PathBuf,
        File,
        |recipe| recipe.dem().map(Path::to_path_buf),
        Recipe::set_dem,
        "An elevation model to start from, instead of extent."
    ),
    key!(Recipe, cells, CELLS, "The number of cells on the long side.").rare(),
    start_key!(
        "coarsest",
        Coarsest,
        FirstLevel,
        |recipe| Some(recipe.levels().coarsest),
        Recipe::set_coarsest,
        "Cells on the long side of the first level; each level has twice as many as the one before."
    ),
    start_key!(
        "beyond",
        Beyond,
        BeyondGlobal,
        |recipe| Some(recipe.levels().beyond),
        Recipe::set_beyond,
        "How levels beyond the global one are computed: by the stages, or each cell from its surroundings."
    )
    .rare(),
    start_key!(
        "local_from",
        LocalFrom,
        GlobalLevel,
        |recipe| Some(recipe.levels().beyond.local_from()),
        Recipe::set_local_from,
        "The global level, beyond which levels are local: its cells on the long side, or their width."
    )
    .rare(),
    start_key!(
        "margin",
        f64,
        MARGIN,
        |recipe| Some(recipe.margin()),
        Recipe::set_margin,
        "Width of the margin built around the extent and then cut away, as a share of the extent's shorter side."
    )
    .rare(),
    start_key!(
        "cut",
        Cut,
        ColumnsAndRows,
        |recipe| Some(recipe.cut()),
        Recipe::set_cut,
        "Columns and rows that are cut away at the end, in the east and south, to reach sizes that engines accept."
    )
    .rare(),
    key!(Recipe, seed, Seed, "The world's seed."),
    key!(Recipe, edges, Sides, "The boundary conditions at the sides of the world."),
    key!(Recipe, sea_level, SEA_LEVEL, "The sea level in metres; without it there is no sea."),
    start_key!(
        "continents",
        Scatter,
        Scattered,
        Recipe::continents,
        Recipe::set_continents,
        "Makes the world endless: its continents are worlds of this recipe, each with its own seed."
    )
    .rare(),
    key!(
        Recipe,
        sketch,
        Maybe(PathOrLines),
        "Ridges, rivers, coasts and heights that constrain the terrain: a GeoJSON file, or its text, in metres from \
         the north-western corner, x to the east, y to the south."
    ),
    start_key!(
        "place",
        WorldPlace,
        Laid,
        Recipe::place,
        Recipe::set_place,
        "The position of a generated world on Earth, only for GIS: the land does not depend on it."
    )
    .rare(),
    key!(Recipe, rock, ROCK, "The rock for which the parameters are given."),
    key!(Recipe, ramp, RAMP, "The colour ramp of elevations in pictures.").rare(),
    key!(Recipe, textures, Textured, "The climate and the colours of ground cover in textures and natural views.")
        .rare(),
];

/// The form of a seed in a recipe. TOML's numbers are signed: the upper half of the seeds is written as negative
/// numbers.
struct Seed;

impl Form<u64> for Seed {
    fn read(&self, name: &str, value: &toml::Value) -> Result<u64> {
        let allowed = || format!("{} to {}, whole", i64::MIN, i64::MAX);
        value.as_integer().map(|seed| seed as u64).ok_or_else(|| Error::value(name, value, allowed()))
    }

    fn write(&self, seed: &u64) -> Option<String> {
        Some((*seed as i64).to_string())
    }

    fn schema(&self) -> Json {
        json!({"type": "integer"})
    }
}

/// The form of the columns and rows that are cut away in a recipe.
struct ColumnsAndRows;

impl Form<Cut> for ColumnsAndRows {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Cut> {
        let count = |value: &toml::Value| usize::try_from(value.as_integer()?).ok().filter(|n| *n <= MOST_CUT);
        let found = match value.as_array().map(Vec::as_slice) {
            Some([cols, rows]) => count(cols).zip(count(rows)).map(|(cols, rows)| Cut { cols, rows }),
            _ => None,
        };
        found.ok_or_else(|| Error::value(name, value, format!("[columns, rows], each 0 to {MOST_CUT}")))
    }

    fn write(&self, cut: &Cut) -> Option<String> {
        Some(format!("{:?}", <[usize; 2]>::from(*cut)))
    }

    fn schema(&self) -> Json {
        let count = json!({"type": "integer", "minimum": 0, "maximum": MOST_CUT});
        json!({"type": "array", "items": count, "minItems": 2, "maxItems": 2})
    }
}

/// The form of the edges in a recipe: one word for all, or a table of sides.
struct Sides;

const EDGES: [(&str, Edge); 3] = [("open", Edge::Open), ("closed", Edge::Closed), ("looped", Edge::Looped)];

impl Form<Edges> for Sides {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Edges> {
        let edge = |value: &toml::Value| {
            let found = EDGES.iter().find(|(word, _)| value.as_str() == Some(word));
            let allowed = "\"open\", \"closed\", \"looped\", or a table of north, east, south, west";
            found.map(|(_, edge)| *edge).ok_or_else(|| Error::value(name, value, allowed))
        };
        let Some(table) = value.as_table() else { return Ok([edge(value)?; 4]) };
        keys::known("side", table, SIDES.into_iter())?;
        let mut edges = Edges::default();
        for (side, slot) in SIDES.iter().zip(&mut edges) {
            if let Some(value) = table.get(*side) {
                *slot = edge(value)?;
            }
        }
        grid::check_edges(name, edges)?;
        Ok(edges)
    }

    fn write(&self, edges: &Edges) -> Option<String> {
        let word = |edge: &Edge| EDGES.iter().find(|(_, of)| of == edge).map(|(word, _)| keys::quoted(word));
        Some(keys::inline(SIDES.iter().zip(edges).filter_map(|(side, edge)| Some((side, word(edge)?)))))
    }

    fn schema(&self) -> Json {
        let edge = json!({"enum": EDGES.map(|(word, _)| word)});
        let sides = SIDES.iter().map(|side| (side.to_string(), edge.clone())).collect();
        json!({"anyOf": [edge, keys::table_schema(sides)]})
    }
}

impl Recipe {
    /// Reads a recipe from a file; its paths are then relative to that file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is larger than 16 MiB, if there is too little memory for it, or
    /// as [`Recipe::parse`].
    pub fn read(path: impl Into<FilePath>) -> Result<Self> {
        Self::read_with(path, &Models::default())
    }

    /// Like [`Recipe::read`], with a caller's own models.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::read`].
    pub fn read_with(path: impl Into<FilePath>, models: &Models) -> Result<Self> {
        let path = &path.into();
        let text = plain::read_text(path, MAX_BYTES)?;
        memory::check_memory(&path.display().to_string(), TEXT.saturating_mul(text.len() as u64))?;
        let mut recipe = Self::parse_with(&text, models)
            .map_err(|error| Error::file(path, plain::clipped_to(&error.to_string(), MESSAGE)))?;
        recipe.folder = path.with_path(path.parent().unwrap_or(Path::new("")));
        Ok(recipe)
    }

    /// Reads a recipe from its text.
    ///
    /// # Errors
    /// Returns an error for broken TOML, unknown keys, models and parameters, values out of range, labels used twice,
    /// keys that cannot be combined, and unless exactly one of `extent` and `from` is given.
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::recipe::Recipe;
    ///
    /// let text = "extent = [640.0, 640.0]\n[[stage]]\nmodel = \"thermal\"\ntalus = 30.0\n";
    /// let recipe = Recipe::parse(text)?;
    /// assert_eq!((recipe.stages.len(), recipe.stages[0].label.as_str()), (1, "thermal"));
    /// let error = Recipe::parse(&text.replace("talus", "talsu")).err().unwrap();
    /// assert!(error.to_string().contains("did you mean `talus`?"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &Models::default())
    }

    /// Like [`Recipe::parse`], with a caller's own models.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::parse`].
    pub fn parse_with(text: &str, models: &Models) -> Result<Self> {
        let recipe = Self::parse_stages(text, models)?;
        recipe.check()?;
        Ok(recipe)
    }

    /// Checks that a recipe has a start, and that its settings do not contradict one another, whatever the start is.
    fn check(&self) -> Result<()> {
        let is_local = self.levels().beyond != Beyond::Global;
        let has_file = |stage: &Stage| stage.layers.values().any(|source| matches!(source.from, From::File(_)));
        let refusal = if self.start == Start::Given {
            return Err(start::one_start());
        } else if self.continents().is_some() && self.sea_level.is_none() {
            "`continents` only applies to a recipe with `sea_level`; add `sea_level = 0.0`"
        } else if self.cut() != Cut::NONE && is_local {
            "`cut` only applies to a world without local levels; remove `cut` or `beyond = \"local\"`"
        } else if self.margin() > 0.0 && self.stages.iter().any(has_file) {
            "`margin` does not work with layers from files, which end at the extent; remove `margin` or these layers"
        } else {
            let keys = [
                ("margin", self.margin() > 0.0),
                ("cut", self.cut() != Cut::NONE),
                ("continents", self.continents().is_some()),
                ("beyond", is_local),
                ("sketch", self.sketch.is_some()),
            ];
            return keys.iter().filter(|(_, is_set)| *is_set).try_for_each(|(key, _)| self.only_with_ends(key));
        };
        Err(Error::Recipe(refusal.into()))
    }

    /// Reads a recipe that may lack a start of its own, for [`Run::over`](crate::run::Run::over): that of a
    /// checkpoint, or one for a terrain that the caller has.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::parse`], except that a start may be missing and contradictions between settings
    /// are not checked.
    pub fn parse_stages(text: &str, models: &Models) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| broken(text, &e))?;
        keys::known("key", &table, KEYS.iter().map(|key| key.name).chain([STAGE]))?;
        let mut recipe = Self::blank();
        keys::read_keys(&mut recipe, "", &table, &KEYS)?;
        if recipe.extent().is_some() && !table.contains_key("cells") {
            recipe.cells = USUAL_CELLS;
        }
        let stages = match table.get(STAGE) {
            None => &Vec::new(),
            Some(toml::Value::Array(stages)) if stages.len() <= MAX_STAGES => stages,
            Some(_) => return Err(Error::Recipe(format!("`stage` must be a list, [[stage]], of up to {MAX_STAGES}"))),
        };
        for (number, stage) in (1..).zip(stages) {
            let stage = Stage::parse(stage, models).map_err(|e| Error::Recipe(format!("stage {number}: {e}")))?;
            if recipe.stages.iter().any(|s| s.label == stage.label) {
                let label = stage.label;
                return Err(Error::Recipe(format!(
                    "stage {number}: label `{label}` is used twice; give this stage another `label`"
                )));
            }
            recipe.stages.push(stage);
        }
        Ok(recipe)
    }

    /// Writes the recipe as a file into `folder`, together with the schema that its first line names: editors that
    /// support such a line use it for completion and checks.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn write(&self, folder: impl Into<FilePath>) -> Result<[PathBuf; 2]> {
        let folder = folder.into();
        let files = [RECIPE_FILE, SCHEMA_FILE].map(|name| folder.join(name));
        let is_own = |model: &dyn Model| models::find_model(model.about().name).is_err();
        let mut own: Vec<_> = self.stages.iter().filter(|stage| is_own(&*stage.model)).collect();
        own.sort_by_key(|stage| stage.model.about().name);
        own.dedup_by_key(|stage| stage.model.about().name);
        let schema = schema_of(models::all_models().chain(own.into_iter().map(|stage| stage.model.clone())));
        write_text(&files[0], &self.to_file())?;
        write_text(&files[1], &schema.to_string())?;
        Ok(files.map(PathBuf::from))
    }

    /// Returns the rock and ground cover settings as the text of a recipe that has no other settings.
    pub fn cover_text(&self) -> String {
        Self { textures: self.textures.clone(), rock: self.rock, ..Self::blank() }.to_toml()
    }

    /// Returns the text of its file in a world's folder.
    pub fn to_file(&self) -> String {
        format!("#:schema ./{SCHEMA_FILE}\n\n{}", self.to_toml())
    }

    /// Returns the recipe as TOML with every parameter written out; reading it back gives the same recipe.
    pub fn to_toml(&self) -> String {
        let mut out = keys::lines(keys::write(self, &Self::blank(), &KEYS));
        for stage in &self.stages {
            out += "\n";
            out += &stage.to_toml();
        }
        out
    }
}

/// Returns an error that describes a broken text, with its line number. The line itself is included only if the
/// message is short enough to be read at a glance.
fn broken(text: &str, error: &toml::de::Error) -> Error {
    const GLANCE: usize = 500;
    let whole = error.to_string();
    if whole.len() <= GLANCE {
        return Error::Recipe(whole);
    }
    let line = error
        .span()
        .and_then(|span| text.as_bytes().get(..span.start))
        .map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
    let at = line.map_or(String::new(), |line| format!(" at line {line}"));
    Error::Recipe(format!("TOML parse error{at}: {}", plain::clipped(error.message())))
}

/// Returns the JSON Schema of recipes (draft 2020-12) with these models, from their declarations; editors use it for
/// completion and checks.
///
/// # Examples
/// ```
/// use thalweg_models::models::Models;
/// use thalweg_sim::recipe::recipe_schema;
///
/// let models = Models::default();
/// let schema = recipe_schema(&models);
/// assert_eq!(schema["title"], "thalweg recipe");
/// // A stage has one form for each model.
/// let forms = schema["properties"]["stage"]["items"]["oneOf"].as_array().unwrap();
/// assert_eq!(forms.len(), models.all().count());
/// ```
pub fn recipe_schema(models: &Models) -> Json {
    schema_of(models.all())
}

fn schema_of(models: impl Iterator<Item = Box<dyn Model>>) -> Json {
    let mut properties = keys::keys_schema(&Recipe { cells: USUAL_CELLS, ..Recipe::blank() }, &KEYS);
    let stages: Vec<_> = models.map(Stage::schema).collect();
    properties.insert(STAGE.into(), json!({"type": "array", "maxItems": MAX_STAGES, "items": {"oneOf": stages}}));
    let mut schema = keys::table_schema(properties);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "thalweg recipe".into();
    schema["oneOf"] = json!([{"required": ["extent"]}, {"required": ["from"]}]);
    schema["dependentRequired"] = json!({
        "coarsest": ["extent"], "margin": ["extent"], "cut": ["extent"], "beyond": ["extent"], "local_from": ["beyond"], "continents": ["extent", "sea_level"]
    });
    schema["$defs"] = json!({"strokes": strokes::schema()});
    schema
}
