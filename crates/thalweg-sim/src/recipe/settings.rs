//! The keys of a recipe's settings, with their forms, accessors and descriptions. The stages are read separately.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::recipe::forms::{ColumnsAndRows, EdgesForm, SeedForm};
use crate::recipe::levels::{CELLS, FirstLevel, GlobalLevel, RefinementMethodForm};
use crate::recipe::scatter::Scattered;
use crate::recipe::world_place::WorldPlaceForm;
use crate::recipe::{Coarsest, LocalFrom, MapTrim, Recipe, RefinementMethod, Scatter, WorldPlace};
use crate::sketch::PathOrLines;
use thalweg_core::declare::keys::{self, File, Form, Key, Maybe, Named, Pair, Text, key};
use thalweg_core::declare::params::ParamKind;
use thalweg_models::rocks::{self, Rock};
use thalweg_render::pictures::ramps::{RAMPS, Ramp};
use thalweg_render::products::textures::Textured;

/// The key of the stages, which are read separately because they need the models.
pub(super) const STAGE: &str = "stage";

/// The number of cells on the long side if an extent is given without one.
pub(super) const USUAL_CELLS: usize = 1024;

const EXTENT: Pair = Pair {
    takes: |sides| sides.iter().all(|side| (0.01..=1e8).contains(side)),
    allowed: "[width, height] in metres, each 0.01 to 100000000",
    number: || json!({"type": "number", "minimum": 0.01, "maximum": 1e8}),
};

const MARGIN: (ParamKind, &str) = (ParamKind::Number { min: 0.0, max: 1.0 }, "1");

const SEA_LEVEL: Maybe<(ParamKind, &str)> = Maybe((ParamKind::Number { min: -16_000.0, max: 16_000.0 }, "m"));

const ROCK: Named<Rock> =
    Named { find: Rock::find, name: |rock| rock.name, all: || rocks::list_rock_names().collect() };

const RAMP: Named<Ramp> =
    Named { find: Ramp::find, name: |ramp| ramp.name, all: || RAMPS.iter().map(|ramp| ramp.name).collect() };

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
            schema: |_| Some(keys::add_description(Form::<$type>::schema(&$form), $about)),
        }
    }};
}

/// `extent` and `from` come first: they determine which settings the start has.
pub(super) const KEYS: [Key<Recipe>; 19] = [
    key!(Recipe, name, Text, "The world's name."),
    key!(Recipe, about, Text, "A paragraph that describes the landform.").omit_default(),
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
    key!(Recipe, cells, CELLS, "The number of cells on the long side.").omit_default(),
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
        RefinementMethod,
        RefinementMethodForm,
        |recipe| Some(recipe.levels().beyond),
        Recipe::set_refinement_method,
        "How levels beyond the global one are computed: by the stages, or each cell from its surroundings."
    )
    .omit_default(),
    start_key!(
        "local_from",
        LocalFrom,
        GlobalLevel,
        |recipe| Some(recipe.levels().beyond.local_from()),
        Recipe::set_local_from,
        "The global level, beyond which levels are local: its cells on the long side, or their width."
    )
    .omit_default(),
    start_key!(
        "margin",
        f64,
        MARGIN,
        |recipe| Some(recipe.margin()),
        Recipe::set_margin,
        "Width of the margin built around the extent and then cut away, as a share of the extent's shorter side."
    )
    .omit_default(),
    start_key!(
        "cut",
        MapTrim,
        ColumnsAndRows,
        |recipe| Some(recipe.map_trim()),
        Recipe::set_map_trim,
        "Columns and rows that are cut away at the end, in the east and south, to reach sizes that engines accept."
    )
    .omit_default(),
    key!(Recipe, seed, SeedForm, "The world's seed."),
    key!(Recipe, edges, EdgesForm, "The boundary conditions at the sides of the world."),
    key!(Recipe, sea_level, SEA_LEVEL, "The sea level in metres; without it there is no sea."),
    start_key!(
        "continents",
        Scatter,
        Scattered,
        Recipe::continents,
        Recipe::set_continents,
        "Makes the world endless: its continents are worlds of this recipe, each with its own seed."
    )
    .omit_default(),
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
        WorldPlaceForm,
        Recipe::world_place,
        Recipe::set_place,
        "The position of a generated world on Earth, only for GIS: the land does not depend on it."
    )
    .omit_default(),
    key!(Recipe, rock, ROCK, "The rock for which the parameters are given."),
    key!(Recipe, ramp, RAMP, "The colour ramp of elevations in pictures.").omit_default(),
    key!(Recipe, textures, Textured, "The climate and the colours of ground cover in textures and natural views.")
        .omit_default(),
];
