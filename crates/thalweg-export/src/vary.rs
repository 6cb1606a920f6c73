//! [`VaryOptions`]: the declared options of the operation `vary`, and the sheet of worlds that they give.

use std::ops::RangeFull;

use serde_json::json;
use thalweg_core::base::memory;
use thalweg_core::declare::operation::{Json, Operation as _, OptionKind, OptionSpec, OptionType, find_option};
use thalweg_core::declare::option_types::{Lists, Setting, SettingValues, ValueForm, check_unique_settings};
use thalweg_core::declare::params::parse_value;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Error, Result, Terrain, operation};
use thalweg_models::process::forest::Forest;
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::perspective::{CameraOptions, ViewOptions};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::sheet::{Labels, SheetPicture, draw_contact_sheet};
use thalweg_render::pictures::water::Water;
use thalweg_sim::knobs::Knobs;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

operation! {
    /// Builds variations of a recipe (seeds, knobs, parameters) and draws them on one sheet.
    ///
    /// An option with several values is an axis of the sheet; an option with one value applies to all worlds. One axis
    /// makes a row of pictures, and two make rows and columns.
    ///
    /// # Examples
    /// ```
    /// use serde_json::json;
    /// use thalweg_core::declare::operation::Operation as _;
    /// use thalweg_export::vary::{VariationSheet, VaryOptions};
    /// use thalweg_sim::presets::find_preset;
    ///
    /// let mut options = VaryOptions { cells: Some(32), ..VaryOptions::default() };
    /// options.set("age", &json!([0.5, 1, 2]))?;
    /// let sheet = VariationSheet::new(&find_preset("hills")?, &options, |option| option.name.to_string())?;
    /// let names: Vec<&str> = sheet.worlds.iter().map(|world| world.name.as_str()).collect();
    /// assert_eq!(names, ["age 0.5", "age 1", "age 2"]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct VaryOptions, "vary", with(knobs: Lists<Knobs>, look: LookOptions) {
        /// Seeds: a number of seeds, 1 to 100, or a list of 2 to 100 seeds, such as 3,5,8. By default, there are 9
        /// seeds if nothing else varies.
        seeds: Option<Seeds> = None, within .., unit "1";
        /// Seed of the worlds; if `seeds` is a number, the first seed. By default, it is that of the recipe.
        seed: Option<u64> = None, within 0..=u64::MAX, unit "1";
        /// Values of a parameter of a stage; a single value applies to all worlds. The name is the label of the stage,
        /// a dot, and the name of the parameter, such as `uplift.years`.
        set: Vec<SettingValues> = Vec::new(), within .., unit "1";
        /// Number of cells on the long side. By default, it is about 256; for a recipe with levels, that of its nearest
        /// level.
        cells: Option<usize> = None, within 1..=1 << 20, unit "1";
        /// Label of the last stage to run; the stages after it are omitted. The recipe lists the labels of its stages.
        until: Option<String> = None, within .., unit "1", placeholder "LABEL";
        /// Draws perspective views instead of shaded maps.
        view: bool = false, within .., unit "1";
        /// Width of each picture.
        pixels: usize = 256, within 32..=2048, unit "pixels";
        /// A line of text above the sheet.
        title: Option<String> = None, within .., unit "1", placeholder "TEXT";
    }
}

/// The greatest number of worlds on a sheet. All of their terrains are in memory until the sheet is drawn.
const MAX_WORLDS: usize = 100;

/// The approximate default number of cells on the long side.
const CELLS: usize = 256;

/// The greatest number of pictures of a single list that are placed in one row; more make a sheet about as wide as it
/// is high.
const MAX_ROW: usize = 5;

/// The number of seeds if nothing is varied.
const DEFAULT_SEEDS: u64 = 9;

/// The seeds of the worlds on a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seeds {
    /// This number of seeds, which follow each other.
    Count(u64),
    /// These seeds.
    List(Vec<u64>),
}

/// The accepted seeds; a test compares the numbers with [`MAX_WORLDS`].
const ALLOWED_SEEDS: &str = "a number of seeds from 1 to 100, or a list of 2 to 100 seeds of 0 or more";

static SEEDS: ValueForm = ValueForm {
    placeholder: "N|LIST",
    words: &[],
    allowed: ALLOWED_SEEDS,
    allowed_text: ALLOWED_SEEDS,
    parse: |text: &str| {
        let numbers: Option<Vec<u64>> = text.split(',').map(|seed| seed.trim().parse().ok()).collect();
        let value = match numbers?.as_slice() {
            [count] => json!(count),
            list => json!(list),
        };
        Some(value).filter(|value| read_seeds(value).is_some())
    },
    is_accepted: |value: &Json| read_seeds(value).is_some(),
    schema: || {
        let seed = json!({"type": "integer", "minimum": 0});
        let seeds = json!({"type": "array", "items": seed, "minItems": 2, "maxItems": MAX_WORLDS});
        json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_WORLDS}, seeds]})
    },
    python: "int | Sequence[int]",
    typescript: "number | number[]",
    is_named: false,
};

fn read_seeds(value: &Json) -> Option<Seeds> {
    match value.as_array() {
        None => value.as_u64().filter(|count| (1..=MAX_WORLDS as u64).contains(count)).map(Seeds::Count),
        Some(list) => {
            let seeds = list.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>()?;
            (2..=MAX_WORLDS).contains(&seeds.len()).then_some(Seeds::List(seeds))
        }
    }
}

impl OptionType for Seeds {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&SEEDS)
    }

    fn from_json(value: &Json) -> Option<Self> {
        read_seeds(value)
    }

    fn to_json(&self) -> Json {
        match self {
            Self::Count(count) => json!(count),
            Self::List(seeds) => json!(seeds),
        }
    }
}

impl Seeds {
    /// Returns the seeds; a number of them begins with `first`. Returns `None` if a seed would be too large.
    fn list_from(&self, first: u64) -> Option<Vec<u64>> {
        match self {
            Self::Count(count) => Some((first..=first.checked_add(count - 1)?).collect()),
            Self::List(seeds) => Some(seeds.clone()),
        }
    }
}

/// One value of a setting that is varied.
#[derive(Debug, Clone, PartialEq)]
enum VariedValue {
    Seed(u64),
    Knob(Box<OptionSpec>, Json),
    Parameter(String, String),
}

impl VariedValue {
    /// Returns the label next to the pictures.
    fn label(&self) -> String {
        match self {
            Self::Seed(seed) => format!("seed {seed}"),
            Self::Knob(option, value) => {
                format!("{} {}{}", option.name, option.format_typed(value), option.unit_suffix())
            }
            Self::Parameter(name, value) => format!("{name} {value}"),
        }
    }
}

/// A setting that is varied, and its values.
struct VariedSetting {
    name: String,
    choices: Vec<VariedValue>,
}

/// A world on a sheet.
#[derive(Clone)]
pub struct VariedWorld {
    /// Its values of the settings that vary; the name of the recipe if none varies.
    pub name: String,
    /// Its recipe.
    pub recipe: Recipe,
}

impl VariedWorld {
    /// Adds the name of the world to an error of its run.
    pub fn name_error(&self, error: &Error) -> Error {
        name_world_error(&self.name, error)
    }
}

fn name_world_error(name: &str, error: &Error) -> Error {
    Error::invalid_content("world", format!("`{name}` cannot be built: {error}"))
}

/// The worlds of a sheet, row by row, with the labels next to them.
pub struct VariationSheet {
    /// The worlds, row by row from the left.
    pub worlds: Vec<VariedWorld>,
    columns: usize,
    heads: Vec<String>,
    sides: Vec<String>,
    captions: Vec<String>,
}

impl VariationSheet {
    /// Makes the recipes of all worlds and checks them, so that a wrong value is not noticed only after other worlds
    /// have been built. `name_option` returns the name of an option as the user wrote it.
    ///
    /// # Errors
    /// Returns an error for an option that is out of range, for more than two settings with several values, for more
    /// than 100 worlds, and for a recipe, a knob or a parameter that is not valid.
    pub fn new(base: &Recipe, options: &VaryOptions, name_option: impl Fn(&OptionSpec) -> String) -> Result<Self> {
        options.check_ranges()?;
        // Settings with one value apply to all worlds; those with several are the axes of the sheet.
        let (axes, fixed) = split_axes(collect_axes(base, options, name_option)?);
        if axes.len() > 2 {
            let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
            let allowed = "one or two; one makes a row of pictures, two make rows and columns";
            return Err(Error::invalid_value("parameters with several values", names.join(", "), allowed));
        }
        let all: usize = axes.iter().map(|axis| axis.choices.len()).product();
        if all > MAX_WORLDS {
            let allowed = format!("1 to {MAX_WORLDS}; give fewer values");
            return Err(Error::invalid_value("worlds on a sheet", all, allowed));
        }
        let labels = |axis: Option<&VariedSetting>| {
            axis.map_or(Vec::new(), |axis| axis.choices.iter().map(VariedValue::label).collect())
        };
        let [across, down] = [axes.first(), axes.get(1)];
        let (heads, sides): (Vec<String>, Vec<String>) = (labels(across), labels(down));
        let each = |axis: Option<&VariedSetting>| {
            axis.map_or(vec![None], |axis| axis.choices.iter().cloned().map(Some).collect())
        };
        let mut worlds = Vec::new();
        for row in each(down) {
            for column in each(across) {
                let chosen: Vec<VariedValue> = column.into_iter().chain(row.clone()).collect();
                let name = match chosen.as_slice() {
                    [] => base.name.clone(),
                    chosen => chosen.iter().map(VariedValue::label).collect::<Vec<_>>().join(", "),
                };
                let recipe = vary_recipe(base, options, fixed.iter().chain(&chosen))
                    .map_err(|error| name_world_error(&name, &error))?;
                worlds.push(VariedWorld { name, recipe });
            }
        }
        let count = worlds.len();
        Ok(match (down, count <= MAX_ROW) {
            (Some(_), _) => Self { worlds, columns: heads.len(), heads, sides, captions: Vec::new() },
            (None, true) => Self { worlds, columns: count, heads, sides, captions: Vec::new() },
            (None, false) => Self { worlds, columns: count_columns(count), heads: Vec::new(), sides, captions: heads },
        })
    }

    /// Checks that the terrains of all worlds, with their water, and the sheet fit into memory.
    ///
    /// # Errors
    /// Returns an error if they do not.
    pub fn check_memory(&self, options: &VaryOptions) -> Result<()> {
        // The pictures and the sheet take six bytes per pixel, and each terrain that is kept 20 bytes per cell.
        let sheet = (self.worlds.len() * options.pixels * options.pixels * 6) as u64;
        let kept = |world: &VariedWorld| world.recipe.last_grid().map_or(0, |grid| 20 * grid.len() as u64);
        let terrains: u64 = self.worlds.iter().map(kept).sum();
        memory::check_memory(&format!("a sheet of {} worlds", self.worlds.len()), terrains + sheet)
    }

    /// Builds the worlds one after the other; the terrains contain only the layers that the pictures show.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`] and [`Run::take_step`], with the name of the world.
    pub fn build_worlds(&self) -> Result<Vec<Terrain>> {
        let build = |world: &VariedWorld| -> Result<Terrain> {
            let mut run = Run::new(world.recipe.clone())?;
            while run.take_step()?.is_some() {}
            Ok(keep_drawn_layers(run.terrain().clone()))
        };
        self.worlds.iter().map(|world| build(world).map_err(|error| world.name_error(&error))).collect()
    }

    /// Draws the terrains of all worlds, in the order of [`VariationSheet::worlds`], with the same light and colours.
    ///
    /// # Errors
    /// Returns an error if a table of trees cannot be read, and the errors of [`draw_contact_sheet`].
    pub fn draw(&self, terrains: &[Terrain], options: &VaryOptions) -> Result<Picture> {
        let forests = terrains.iter().map(Forest::read).collect::<Result<Vec<_>>>()?;
        let lands = terrains.iter().zip(&forests).map(|(terrain, forest)| DrawnLand {
            water: Water::from_terrain(terrain),
            trees: forest.trees(),
            ..terrain.into()
        });
        let ramp = self.worlds.first().map(|world| world.recipe.ramp);
        let camera = CameraOptions { size: [options.pixels * 2 / 3, options.pixels], ..CameraOptions::default() };
        let look = options.look.with_default_ramp(ramp);
        let labels = Labels {
            title: options.title.as_deref(),
            heads: &self.heads,
            sides: &self.sides,
            captions: &self.captions,
        };
        let picture = if options.view { SheetPicture::View } else { SheetPicture::Map };
        let view = ViewOptions { camera, look, ..ViewOptions::default() };
        draw_contact_sheet(&lands.collect::<Vec<_>>(), picture, self.columns, &labels, &view)
    }
}

/// Returns a terrain without the layers that no picture of a sheet shows, because all terrains are in memory until the
/// sheet is drawn.
pub fn keep_drawn_layers(mut terrain: Terrain) -> Terrain {
    terrain.loose = None;
    terrain.layers.retain(|name, _| [WATER, POOL, DISCHARGE].iter().any(|spec| spec.name == name));
    terrain
}

/// Returns the number of columns of a sheet that is about as wide as it is high.
fn count_columns(count: usize) -> usize {
    (1..=count).find(|n| n * n >= count).unwrap_or(1)
}

/// Collects everything that was given, one axis each: knobs, then parameters, then seeds.
fn collect_axes(
    base: &Recipe,
    options: &VaryOptions,
    name_option: impl Fn(&OptionSpec) -> String,
) -> Result<Vec<VariedSetting>> {
    let declared = options.declared();
    let name_of = |name: &str| find_option(&declared, name).map(&name_option);
    let mut axes = Vec::new();
    for (option, values) in options.knobs.list_given() {
        let name = name_option(&option);
        let option = Box::new(option);
        let choices = values.iter().map(|value| VariedValue::Knob(option.clone(), value.clone())).collect();
        axes.push(VariedSetting { name, choices });
    }
    check_unique_settings(&options.set, |setting| &setting.name)?;
    for SettingValues { name, values } in &options.set {
        let choices = values.iter().map(|value| VariedValue::Parameter(name.clone(), value.clone())).collect();
        axes.push(VariedSetting { name: format!("{} {name}", name_of("set")?), choices });
    }
    let nothing_varies = axes.iter().all(|axis| axis.choices.len() < 2);
    let seeds = options.seeds.clone().or(nothing_varies.then_some(Seeds::Count(DEFAULT_SEEDS)));
    if let Some(seeds) = seeds {
        let name = name_of("seeds")?;
        let list = seeds.list_from(options.seed.unwrap_or(base.seed));
        let list = list.ok_or_else(|| Error::invalid_value(&name, seeds.to_json(), ALLOWED_SEEDS))?;
        axes.push(VariedSetting { name, choices: list.into_iter().map(VariedValue::Seed).collect() });
    }
    for axis in &axes {
        let again = axis.choices.iter().enumerate().find(|(n, choice)| axis.choices[..*n].contains(choice));
        if let Some((_, choice)) = again {
            return Err(Error::invalid_value(&axis.name, choice.label(), "given only once"));
        }
    }
    Ok(axes)
}

/// Separates the lists from the settings that have one value in all worlds.
fn split_axes(axes: Vec<VariedSetting>) -> (Vec<VariedSetting>, Vec<VariedValue>) {
    let (lists, single): (Vec<VariedSetting>, Vec<VariedSetting>) =
        axes.into_iter().partition(|axis| axis.choices.len() > 1);
    (lists, single.into_iter().flat_map(|axis| axis.choices).collect())
}

/// Makes the recipe of one world, and checks it on its grid.
fn vary_recipe<'a>(
    base: &Recipe,
    options: &VaryOptions,
    choices: impl Iterator<Item = &'a VariedValue>,
) -> Result<Recipe> {
    let mut recipe = base.clone();
    match options.cells {
        Some(cells) => recipe.cells = cells,
        None if recipe.extent().is_some() => recipe.cells = recipe.level_near(CELLS)?,
        None => {}
    }
    recipe.seed = options.seed.unwrap_or(recipe.seed);
    let (mut knobs, mut settings) = (Knobs::default(), Vec::new());
    for choice in choices {
        match choice {
            VariedValue::Seed(seed) => recipe.seed = *seed,
            VariedValue::Knob(option, value) => knobs.set(option.name, value)?,
            VariedValue::Parameter(name, value) => {
                settings.push(Setting { name: name.clone(), value: parse_value(value) });
            }
        }
    }
    // Parameters are set after the knobs, which scale them, so that a given value stays as it is.
    knobs.apply_to(&mut recipe)?;
    settings.iter().try_for_each(|setting| recipe.apply_setting(setting))?;
    options.until.as_deref().map_or(Ok(()), |label| recipe.truncate_after(label))?;
    if recipe.extent().is_some() {
        recipe.check_memory(&recipe.last_grid()?)?;
        Run::check(&recipe)?;
    }
    Ok(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::presets::find_preset;

    const TEXT: &str =
        "extent = [1000.0, 500.0]\ncells = 40\nseed = 4\n[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"a\"\n";

    fn sheet(values: Json) -> Result<VariationSheet> {
        let mut options = VaryOptions::default();
        options.set_all(values.as_object().unwrap())?;
        VariationSheet::new(&Recipe::parse(TEXT).unwrap(), &options, |option| format!("--{}", option.command_flag()))
    }

    #[test]
    fn seeds_are_counted_or_listed() {
        let declared = VaryOptions::default().declared();
        let parse = |text: &str| find_option(&declared, "seeds").unwrap().parse_text(text);
        let list = |text: &str, first: u64| read_seeds(&parse(text).unwrap()).unwrap().list_from(first).unwrap();
        assert_eq!(list("3", 7), [7, 8, 9]);
        assert_eq!(list("3, 5,8", 7), [3, 5, 8]);
        assert_eq!(list("1", 7), [7]);
        for wrong in ["0", "101", "200", "", "3,", "-1,2", "a", "1,99999999999999999999"] {
            let message = parse(wrong).unwrap_err();
            let limits = [format!("1 to {MAX_WORLDS},"), format!("2 to {MAX_WORLDS} ")];
            assert!(limits.iter().all(|limit| message.contains(limit)), "{message}");
        }
        assert_eq!(Seeds::Count(2).list_from(u64::MAX), None);
        for seeds in [Seeds::Count(3), Seeds::List(vec![3, 5])] {
            assert_eq!(Seeds::from_json(&seeds.to_json()), Some(seeds));
        }
    }

    #[test]
    fn axes_make_rows_and_columns() {
        let seeds = sheet(json!({})).unwrap();
        let names: Vec<&str> = seeds.worlds.iter().map(|world| world.name.as_str()).collect();
        assert_eq!((names[0], names.len(), seeds.columns), ("seed 4", 9, 3));
        let both = sheet(json!({"age": [1, 2, 3], "set": {"a.amplitude": [100, 200]}, "sea": [-2.5]})).unwrap();
        assert_eq!((both.worlds.len(), both.columns), (6, 3));
        assert_eq!(both.worlds[1].name, "age 2, a.amplitude 100");
        assert_eq!(both.worlds[1].recipe.sea_level, Some(-2.5));
        let error = |values: Json| sheet(values).err().unwrap().to_string();
        let three = error(json!({"age": [1, 2], "rain": [1, 2], "seeds": 3}));
        assert!(three.starts_with("parameters with several values = --age, --rain, --seeds"), "{three}");
        assert!(error(json!({"age": [1, 2, 1]})).starts_with("--age = age 1: must be given only once"));
        assert!(error(json!({"seeds": 20, "age": [1, 2, 3, 4, 5, 6]})).starts_with("worlds on a sheet = 120"));
        assert!(error(json!({"age": [99]})).starts_with("age = 99: must be 0.1 to 10"));
        assert!(error(json!({"set": {"a.amplitude": [1, "many"]}})).starts_with("the world `a.amplitude many` cannot"));
        assert!(error(json!({"set": [["a.b", 1], ["a.b", 2]]})).contains("one value for each parameter"));
        assert!(error(json!({"pixels": 1})).starts_with("pixels = 1 pixels: must be"));
    }

    #[test]
    fn a_knob_with_a_unit_says_it() {
        let label = |name: &str, value: Json| {
            let option = find_option(&Knobs::default().declared(), name).unwrap().clone();
            VariedValue::Knob(Box::new(option), value).label()
        };
        let labels = [label("sea", json!(-2.5)), label("age", json!(3.0)), label("rock", json!("shale"))];
        assert_eq!(labels, ["sea -2.5 m", "age 3", "rock shale"]);
    }

    #[test]
    fn sheets_are_about_as_wide_as_high() {
        assert_eq!([1, 2, 4, 6, 9, 10, 12, 16, 17, 100].map(count_columns), [1, 2, 2, 3, 3, 4, 4, 4, 5, 10]);
    }

    #[test]
    fn the_worlds_of_a_sheet_are_drawn() {
        let options = VaryOptions { seeds: Some(Seeds::Count(2)), pixels: 64, ..VaryOptions::default() };
        let recipe = Recipe { cells: 32, ..find_preset("hills").unwrap() };
        let options = VaryOptions { cells: Some(32), until: Some("lie".into()), ..options };
        let sheet = VariationSheet::new(&recipe, &options, |option| option.name.to_string()).unwrap();
        sheet.check_memory(&options).unwrap();
        let terrains = sheet.build_worlds().unwrap();
        assert!(terrains.len() == 2 && terrains[0].ground != terrains[1].ground);
        // Two pictures of 64 pixels with 12 pixels between and beside them.
        assert_eq!(sheet.draw(&terrains, &options).unwrap().size()[1], 12 + 2 * (64 + 12));
    }
}
