//! [`plan_schema`]: the JSON Schema of plans, whose options come from the declarations of the operations.

use serde_json::{Map, Value, json};
use thalweg_core::declare::operation::{Operation as _, find_option};
use thalweg_core::declare::schema::stored_option_schema;
use thalweg_core::terrain::BoundaryOptions;
use thalweg_io::LoadOptions;

use crate::jobs::{REQUIRED_OPTIONS, stored_option_schemas};
use crate::plan::VERSION;
use crate::spec::MAX_SIDE;

/// Properties of an object with their schemas.
type Properties = Vec<(&'static str, Value)>;

/// Returns the JSON Schema of a plan's file.
///
/// # Examples
/// ```
/// use thalweg_store::plan_schema;
///
/// let schema = plan_schema();
/// assert_eq!(schema["$defs"]["drain"]["properties"]["threshold"]["minimum"], 0.0);
/// ```
pub fn plan_schema() -> Value {
    let kinds = ["drain", "build", "apply"].map(job_kind_schema);
    let about = "A job that is divided into stages and tiles. `thalweg job plan` writes the plan, and `thalweg job run` \
                 carries out its parts. The hash covers the content, so a plan that was edited is refused.";
    let store = "Path of the store to which the layers are written. The store may be moved.";
    let tiles = "Number of tiles. They are numbered from 0, row by row from the north-west.";
    let stages = "Stages in order. In each stage, all tiles are done first, and then the stage is solved.";
    let disk = "Greatest disk space of the store in bytes.";
    let beside = "Estimated disk space in bytes of the tables and outlines next to the store, for rough hills; 0 if it \
                  is missing.";
    let properties = vec![
        ("plan", describe(json!({"const": VERSION}), "Version of the plan format.")),
        ("thalweg", describe(json!({"type": "string"}), "Version of the program that wrote the plan.")),
        ("hash", describe(json!({"type": "string", "pattern": "^[0-9a-f]{32}$"}), HASH)),
        ("store", describe(text_schema(), store)),
        ("size", reference("size")),
        ("side", describe(json!({"type": "integer", "minimum": 1, "maximum": MAX_SIDE}), "Side of a tile in cells.")),
        ("tiles", describe(json!({"type": "integer", "minimum": 1}), tiles)),
        ("stages", describe(json!({"type": "array", "minItems": 1, "items": stage_schema()}), stages)),
        ("disk_bytes", describe(reference("count"), disk)),
        ("beside_bytes", describe(reference("count"), beside)),
        ("job", json!({"oneOf": kinds})),
    ];
    let required = ["plan", "thalweg", "hash", "store", "size", "side", "tiles", "stages", "disk_bytes", "job"];
    let mut schema = object_schema(about, &required, properties);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "thalweg plan".into();
    schema["$defs"] = json!({
        "count": {"type": "integer", "minimum": 0},
        "size": size_schema(),
        "layers": {"type": "array", "items": text_schema()},
        "load": load_schema(),
        "drain": drain_schema(),
        "build": build_schema(),
        "apply": apply_schema(),
    });
    schema
}

const HASH: &str = "XXH3-128 hash of the plan without this field and without the path of the store.";

const FINGERPRINT: &str =
    "Hash of the length and the modification time of the source. A source that has changed since is refused.";

fn describe(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn text_schema() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// Returns the schema of an object with these properties and no others.
fn object_schema(about: &str, required: &[&str], properties: Properties) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_string(), schema)).collect();
    let schema = json!({"type": "object", "additionalProperties": false, "required": required});
    let mut schema = describe(schema, about);
    schema["properties"] = properties.into();
    schema
}

/// Returns the schema of a job of one kind: an object whose only key is the kind.
fn job_kind_schema(kind: &'static str) -> Value {
    let properties: Map<String, Value> = [(kind.to_string(), reference(kind))].into_iter().collect();
    json!({"type": "object", "additionalProperties": false, "required": [kind], "properties": properties})
}

fn size_schema() -> Value {
    let sides = json!({"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2});
    describe(sides, "Numbers of rows and columns.")
}

fn stage_schema() -> Value {
    let hands = "Layers that the stage passes on to the next one; they are deleted when that stage is solved. The \
                 field is missing if there are none.";
    let solve = "Greatest memory in bytes for solving the stage, in addition to that of one tile for each thread.";
    let properties = vec![
        ("name", json!({"type": "string", "pattern": "^[a-z0-9_]+$"})),
        ("reads", describe(reference("layers"), "Layers of the store that the stage reads.")),
        ("writes", describe(reference("layers"), "Layers that the stage writes.")),
        ("hands", describe(reference("layers"), hands)),
        ("tile_bytes", describe(reference("count"), "Memory of one tile in bytes.")),
        ("solve_bytes", describe(reference("count"), solve)),
    ];
    let about = "A stage: work that is done for each tile, and then solved for all tiles together.";
    object_schema(about, &["name", "reads", "writes", "tile_bytes", "solve_bytes"], properties)
}

/// Returns the schema of the options with which an elevation model is read. A plan contains all of them.
fn load_schema() -> Value {
    let declared = LoadOptions::default().declared();
    let required: Vec<&str> = declared.iter().map(|option| option.name).collect();
    let properties = declared.iter().map(|option| (option.name, stored_option_schema(option))).collect();
    object_schema("Options with which the elevation model is read.", &required, properties)
}

fn drain_schema() -> Value {
    let edges = json!({"type": "array", "items": {"enum": ["open", "closed"]}, "minItems": 4, "maxItems": 4});
    let boundary = BoundaryOptions::default().declared();
    let sea_level = find_option(&boundary, "sea_level").map(stored_option_schema).unwrap_or_default();
    let mut properties = vec![
        ("source", describe(text_schema(), "Path of the elevation model.")),
        ("source_print", describe(reference("count"), FINGERPRINT)),
        ("load", reference("load")),
        ("edges", describe(edges, "Boundary conditions of the northern, eastern, southern and western side.")),
        ("sea_level", sea_level),
    ];
    properties.extend(stored_option_schemas());
    let required = [&["source", "source_print", "load", "edges", "sea_level"][..], &REQUIRED_OPTIONS].concat();
    object_schema("Computes the drainage of an elevation model.", &required, properties)
}

fn build_schema() -> Value {
    let cell = json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2});
    let items = json!({"type": "array", "items": {"type": "integer"}});
    let part = json!({"type": "array", "prefixItems": [cell, reference("size")], "items": items});
    let mut part = describe(part, PART);
    (part["minItems"], part["maxItems"]) = (2.into(), 2.into());
    let properties = vec![
        ("recipe", describe(text_schema(), "The recipe as TOML.")),
        ("level", describe(reference("count"), "The level that is built.")),
        ("part", part),
    ];
    object_schema("Builds a level of the world of a recipe.", &["recipe", "level"], properties)
}

const PART: &str = "The part of the level that is built: its first row and column in the world, and its numbers of \
                    rows and columns. If it is missing, the whole level is built.";

fn apply_schema() -> Value {
    let prints = json!({"type": "object", "additionalProperties": reference("count")});
    let prints = describe(prints, "Hashes of the same kind for the files of the layers, by the names of the layers.");
    let steps = json!({"type": ["integer", "null"], "minimum": 1});
    let properties = vec![
        ("recipe", describe(text_schema(), "A recipe of one stage, as TOML.")),
        ("source", describe(text_schema(), "Path of the elevation model.")),
        ("source_print", describe(reference("count"), FINGERPRINT)),
        ("load", reference("load")),
        ("layer_prints", prints),
        ("steps_at_once", describe(steps, "Number of steps that a stage takes at once.")),
        ("leaves", describe(reference("layers"), "Layers that the model writes, in addition to the ground.")),
    ];
    let required = ["recipe", "source", "source_print", "load", "layer_prints", "steps_at_once", "leaves"];
    object_schema("Runs a model of finite reach over an elevation model.", &required, properties)
}
