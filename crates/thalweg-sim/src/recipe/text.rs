//! Reads and writes a recipe's text.

use std::path::{Path, PathBuf};

use crate::recipe::schema::build_recipe_schema;
use crate::recipe::settings::{KEYS, STAGE, USUAL_CELLS};
use crate::recipe::{LayerOrigin, MAX_STAGES, MapTrim, Recipe, RefinementMethod, Stage, Start, start};
use thalweg_core::base::memory;
use thalweg_core::declare::keys;
use thalweg_core::{Error, Result};
use thalweg_io::{FilePath, plain, write_text};
use thalweg_models::model::Model;
use thalweg_models::models::{self, Models};

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
        // The check comes before parsing, which takes many times the memory of the text.
        memory::check_memory(&path.display().to_string(), TEXT.saturating_mul(text.len() as u64))?;
        let mut recipe = Self::parse_with(&text, models)
            .map_err(|error| Error::invalid_file(path, plain::clip_text_to(&error.to_string(), MESSAGE)))?;
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
        let is_local = self.levels().beyond != RefinementMethod::Global;
        let has_file = |stage: &Stage| stage.layers.values().any(|source| matches!(source.from, LayerOrigin::File(_)));
        // Contradictions are tested in a fixed order, and the first one is reported.
        let refusal = if self.start == Start::Given {
            return Err(start::start_count_error());
        } else if self.continents().is_some() && self.sea_level.is_none() {
            "`continents` only applies to a recipe with `sea_level`; add `sea_level = 0.0`"
        } else if self.map_trim() != MapTrim::NONE && is_local {
            "`cut` only applies to a world without local levels; remove `cut` or `beyond = \"local\"`"
        } else if self.margin() > 0.0 && self.stages.iter().any(has_file) {
            "`margin` does not work with layers from files, which end at the extent; remove `margin` or these layers"
        } else {
            let keys = [
                ("margin", self.margin() > 0.0),
                ("cut", self.map_trim() != MapTrim::NONE),
                ("continents", self.continents().is_some()),
                ("beyond", is_local),
                ("sketch", self.sketch.is_some()),
            ];
            return keys.iter().filter(|(_, is_set)| *is_set).try_for_each(|(key, _)| self.only_with_ends(key));
        };
        Err(Error::Recipe(refusal.into()))
    }

    /// Reads a recipe that may lack a start of its own, for [`Run::with_terrain`](crate::run::Run::with_terrain): that of a
    /// checkpoint, or one for a terrain that the caller has.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::parse`], except that a start may be missing and contradictions between settings
    /// are not checked.
    pub fn parse_stages(text: &str, models: &Models) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| describe_syntax_error(text, &e))?;
        keys::check_known_keys("key", &table, KEYS.iter().map(|key| key.name).chain([STAGE]))?;
        let mut recipe = Self::blank();
        keys::read_keys(&mut recipe, "", &table, &KEYS)?;
        // Without an extent, 0 stays: the cells are then those of the elevation model.
        if recipe.extent().is_some() && !table.contains_key("cells") {
            recipe.cells = USUAL_CELLS;
        }
        let stages = match table.get(STAGE) {
            None => &Vec::new(),
            Some(toml::Value::Array(stages)) if stages.len() <= MAX_STAGES => stages,
            Some(_) => {
                return Err(Error::Recipe(format!("`stage` must be a list, [[stage]], of up to {MAX_STAGES} stages")));
            }
        };
        for (number, stage) in (1..).zip(stages) {
            let stage = Stage::parse(stage, models).map_err(|error| {
                let problem = match error {
                    Error::Recipe(problem) => problem, // without the prefix that the outer error has
                    other => other.to_string(),
                };
                Error::Recipe(format!("stage {number}: {problem}"))
            })?;
            // Labels key random numbers, so two stages with one label would draw the same ones.
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
        // The schema must also describe a caller's own models, or editors would reject their stages.
        let is_own = |model: &dyn Model| models::find_model(model.about().name).is_err();
        let mut own: Vec<_> = self.stages.iter().filter(|stage| is_own(&*stage.model)).collect();
        own.sort_by_key(|stage| stage.model.about().name);
        own.dedup_by_key(|stage| stage.model.about().name);
        let schema = build_recipe_schema(models::all_models().chain(own.into_iter().map(|stage| stage.model.clone())));
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
        let mut out = keys::format_toml_lines(keys::write_keys(self, &Self::blank(), &KEYS));
        for stage in &self.stages {
            out += "\n";
            out += &stage.to_toml();
        }
        out
    }
}

/// Returns an error that describes a broken text, with its line number. The line itself is included only if the
/// message is short enough to be read at a glance.
fn describe_syntax_error(text: &str, error: &toml::de::Error) -> Error {
    const MAX_MESSAGE_BYTES: usize = 500;
    let whole = error.to_string();
    if whole.len() <= MAX_MESSAGE_BYTES {
        return Error::Recipe(whole);
    }
    let line = error
        .span()
        .and_then(|span| text.as_bytes().get(..span.start))
        .map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
    let at = line.map_or(String::new(), |line| format!(" at line {line}"));
    Error::Recipe(format!("TOML parse error{at}: {}", plain::clip_text(error.message())))
}
