//! What a thing is stands on the thing: no code outside a model's own files names a model, a layer, a table or a parameter in
//! quotes. The names come from the declarations; what is an ordinary word elsewhere is listed with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use thalweg::models;
use thalweg::terrain::{GROUND, LOOSE};

/// Where sources lie, from this crate's folder.
const ROOTS: [&str; 8] = [
    "src",
    "../thalweg-store/src",
    "../thalweg-cli/src",
    "../thalweg-studio/src",
    "../thalweg-studio-web/src",
    "../thalweg-py/src",
    "../thalweg-web/src",
    "../../xtask",
];

/// Folders of what several models share. Tables that more than one model has are declared there.
const SHARED: [&str; 3] = ["src/given/", "src/process/", "src/rivers/"];

/// Words that mean another thing: in which files (or folders), which, and what.
const OTHERWISE: &[(&str, &[&str], &str)] = &[
    ("thalweg-store/src/array.rs", &["shape"], "a key of Zarr"),
    ("thalweg-store/src/meta.rs", &["shape"], "a key of Zarr"),
    ("thalweg-store/src/store.rs", &["shape"], "a key of Zarr"),
    ("thalweg-studio-web/src/state.rs", &["elevation"], "an angle of the camera"),
    ("thalweg-web/src/drainage.rs", &["outlets"], "an option"),
    ("thalweg-web/src/textures.rs", &["deposit"], "a map of textures, as the files are called"),
    ("thalweg-cli/src/args/pictures.rs", &["trees"], "an option of the command"),
    ("thalweg-cli/src/args/knobs.rs", &["rain"], "a knob"),
    ("thalweg-cli/src/recipes.rs", &["rivers", "uplift"], "recipes"),
    ("thalweg-cli/src/commands/rivers.rs", &["rivers"], "the command, and a key of its report"),
    ("thalweg-studio/src/ui/appearance.rs", &["trees"], "a switch of the window"),
    ("thalweg-studio/src/picture.rs", &["elevation"], "an angle of the camera"),
    ("thalweg-studio/src/view/gpu_terrain.rs", &["ground"], "a texture"),
    ("src/flow/", &["ground", "pool", "water"], "arguments, in messages"),
    ("src/process/forest/kinds.rs", &["dwarf_pine"], "a kind of plant"),
    ("src/io/depression_file.rs", &["lake"], "a column of a table"),
    ("src/io/npy.rs", &["shape"], "a key of NumPy's files"),
    ("src/io/river_folder.rs", &["rivers"], "a key of a report"),
    ("src/io/rivers.rs", &["lake", "river", "rivers"], "layers of a file"),
    ("src/io/textures.rs", &["deposit", "wear"], "maps, and keys of a manifest"),
    ("src/io/trees.rs", &["trees"], "what a collection of points is called"),
    ("src/knobs/mod.rs", &["rain"], "a knob"),
    ("src/models/diamond_square.rs", &["midpoint_displacement"], "the second model of that file"),
    ("src/models/hydrology/state.rs", &["water"], "a column of a table"),
    (
        "src/models/river_network.rs",
        &["discharge", "drainage", "river"],
        "columns of a table, and a word of a parameter",
    ),
    ("src/pictures/perspective.rs", &["elevation"], "an angle of the camera"),
    ("src/pictures/ramps.rs", &["ice", "sand", "soil", "water"], "colours"),
    ("src/products/overlay/mod.rs", &["water", "wear"], "overlays, which show more than one layer"),
    ("src/products/", &["ground", "rivers", "trees"], "nodes of a glTF file"),
    ("src/products/textures/", &["river", "sand", "snow", "soil"], "materials that cover ground, and a rule of them"),
    ("src/presets.rs", &["rivers", "uplift"], "recipes"),
    ("src/rivers/network.rs", &["lake", "river"], "how a river ends, in files"),
    ("src/rivers/mod.rs", &["delta", "lake"], "settings of a design"),
    ("src/rocks.rs", &["sand"], "a rock"),
    ("src/sketch/mod.rs", &["coast", "river"], "kinds of lines"),
    ("src/world_files/tile.rs", &["rivers"], "a key of a report"),
    ("thalweg-py/src/textures.rs", &["deposit", "wear"], "maps of textures, as the files are called"),
    ("src/process/slopes/mod.rs", &["held"], "an argument, in messages"),
    ("src/given/soils/", &["erodibility", "hardness", "sand"], "columns of a table, and a kind of soil"),
    ("src/recipe/strokes/mod.rs", &["droplets", "hardness", "protect", "rain"], "tools of the hand and their settings"),
];

/// A text in quotes in a source, with what stands before it in the code.
struct Quoted {
    file: String,
    line: usize,
    before: String,
    text: String,
}

/// Every text in quotes in a source, comments and tests left out.
fn quoted(file: &str, source: &str) -> Vec<Quoted> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\npub(crate) mod testing").next().unwrap_or_default();
    let mut found = Vec::new();
    let (mut before, mut line) = (String::new(), 1);
    let mut rest = code.chars().peekable();
    while let Some(c) = rest.next() {
        line += usize::from(c == '\n');
        match c {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|c| *c == '\n');
                line += 1;
            }
            // A quotation mark as a character: '"' or '\"'.
            '\'' if matches!(rest.peek(), Some('"' | '\\')) => {
                let mut ahead = rest.clone();
                let escaped = usize::from(ahead.next() == Some('\\'));
                if rest.clone().nth(1 + escaped) == Some('\'') {
                    rest.by_ref().nth(1 + escaped);
                }
            }
            '"' => {
                let mut text = String::new();
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    line += usize::from(c == '\n');
                    text.push(c);
                    if c == '\\' {
                        text.extend(rest.next());
                    }
                }
                found.push(Quoted { file: file.into(), line, before: before.clone(), text });
                before.push('"');
            }
            c if c.is_whitespace() => {}
            c => before.push(c),
        }
        // Enough to see what it is an argument of.
        if before.chars().count() > 120 {
            before = before.chars().skip(60).collect();
        }
    }
    found
}

fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
                files.push(path);
            }
        }
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    ROOTS.iter().for_each(|root| walk(&own.join(root), &mut files));
    let mut sources: Vec<_> = files.iter().map(|path| (named(own, path), fs::read_to_string(path).unwrap())).collect();
    sources.sort();
    sources
}

/// A source's name without the steps upward, as `src/knobs.rs`, `thalweg-cli/src/main.rs` or `xtask/src/main.rs`.
fn named(own: &Path, path: &Path) -> String {
    let name = path.strip_prefix(own).unwrap().to_str().unwrap().replace('\\', "/");
    name.trim_start_matches("../").to_string()
}

/// The model whose own file this is.
fn owner(file: &str) -> Option<&str> {
    let own = file.strip_prefix("src/models/")?;
    Some(own.split(['/', '.']).next().unwrap_or(own))
}

/// Names of models, layers and tables, and of tables and parameters by model.
struct Names {
    things: BTreeSet<&'static str>,
    tables: BTreeMap<&'static str, &'static [&'static str]>,
    parameters: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

fn names() -> Names {
    let things = BTreeSet::from([GROUND.name, LOOSE.name]);
    let mut names = Names { things, tables: BTreeMap::new(), parameters: BTreeMap::new() };
    for model in models::all() {
        let about = model.about();
        names.things.insert(about.name);
        names.things.extend(about.tables);
        names.tables.insert(about.name, about.tables);
        names.parameters.insert(about.name, model.declared().iter().map(|param| param.name).collect());
    }
    names.things.extend(models::Models::default().layers().map(|spec| spec.name));
    names
}

/// Whether this declares a table: as a public constant, in a file of a model that has it or of what models share.
fn declares_table(Quoted { file, before, text, .. }: &Quoted, names: &Names) -> bool {
    let constant = before.strip_suffix(":&str=").and_then(|code| code.rsplit_once("pubconst"));
    let is_constant = constant.is_some_and(|(_, name)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    let has = |tables: &[&str]| tables.contains(&text.as_str());
    let is_shared = SHARED.iter().any(|folder| file.starts_with(folder)) && names.tables.values().any(|all| has(all));
    let is_own = owner(file).and_then(|own| names.tables.get(own)).is_some_and(|own| has(own));
    is_constant && (is_shared || is_own)
}

/// What is wrong with a text in quotes, if anything.
fn wrong(quoted: &Quoted, names: &Names) -> Option<&'static str> {
    let Quoted { file, before, text, .. } = quoted;
    let own = owner(file);
    let is_own = own.is_some_and(|own| names.parameters.get(own).is_some_and(|all| all.contains(text.as_str())));
    if is_own || own == Some(text.as_str()) {
        return None;
    }
    let declares = ["LayerSpec::heights(", "LayerSpec::floats(", "LayerSpec::counts("];
    if declares.iter().any(|start| before.ends_with(start)) || declares_table(quoted, names) {
        return None;
    }
    if names.things.contains(text.as_str()) {
        return Some("names a model, a layer or a table");
    }
    let is_parameter = names.parameters.values().any(|all| all.contains(text.as_str()));
    let asks =
        ["model.get(", "model.set(", ".model.get(", "param.name==", "setting.name==", "parameter(", "droplets.get("];
    let is_asked = asks.iter().any(|start| before.ends_with(start));
    // The second argument of `set`, after the owner's name.
    let is_set = before.rsplit_once(".set(").is_some_and(|(on, between)| {
        ["model", "droplets"].iter().any(|end| on.ends_with(end)) && between.ends_with(',') && !between.contains(')')
    });
    // No ordinary word has an underscore.
    (is_parameter && (is_asked || is_set || text.contains('_'))).then_some("names a model's parameter")
}

#[test]
fn no_model_layer_table_or_parameter_is_named_in_quotes_elsewhere() {
    let names = names();
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for quoted in sources().iter().flat_map(|(file, source)| quoted(file, source)) {
        let Some(what) = wrong(&quoted, &names) else { continue };
        let excuse = OTHERWISE
            .iter()
            .find(|(place, words, _)| quoted.file.starts_with(place) && words.contains(&quoted.text.as_str()));
        match excuse {
            Some((place, ..)) => drop(used.insert((*place, quoted.text))),
            None => faults.push(format!("{}:{}: \"{}\" {what}", quoted.file, quoted.line, quoted.text)),
        }
    }
    assert!(faults.is_empty(), "{} names in quotes:\n{}", faults.len(), faults.join("\n"));
    let listed = OTHERWISE.iter().flat_map(|(place, words, _)| words.iter().map(|word| (*place, word.to_string())));
    let idle: Vec<_> = listed.filter(|word| !used.contains(word)).collect();
    assert!(idle.is_empty(), "listed, and nowhere any more: strike off {idle:?}");
}

#[test]
fn a_name_in_quotes_is_found_wherever_it_may_stand() {
    let names = names();
    let faults =
        |file: &str, source: &str| quoted(file, source).iter().filter(|quoted| wrong(quoted, &names).is_some()).count();
    for source in [
        "let model = models::find(\"hydrology\")?;",
        "model == Some(\"droplets\")",
        "match name { \"discharge\" | \"pool\" if true => 1 }",
        "let a = '\"'; layers.get(\n    \"water\",\n)",
        "stage.model.get(\"blend\")",
        "model.set(owner,\n \"rain\", &value)",
        "param.name == \"floor\"",
        "(\"soils\", \"strata_dip\", Size, -1.0),",
        "const MODEL: &str = \"droplets\";",
        "pub const TABLE: &str = \"springs\";",
    ] {
        assert!(faults("src/knobs/mod.rs", source) > 0, "{source}");
    }
    for source in [
        "// find(\"hydrology\")\nlet x = 1;",
        "/// \"pool\"",
        "let scale = table.get(\"scale\");",
        "\"a pool of water\"",
        "#[cfg(test)]\nmod tests { const A: &str = \"pool\" }",
        "pub const POOLS: LayerSpec =\n    LayerSpec::heights(\n    \"pool\", \"m\", \"\");",
    ] {
        assert_eq!(faults("src/knobs/mod.rs", source), 0, "{source}");
    }
    assert_eq!(faults("src/models/fluvial.rs", "Part { with: &[(\"rain\", 0.0)] }; About { name: \"fluvial\" }"), 0);
    assert_eq!(faults("src/models/thermal/step.rs", "\"talus\"; \"thermal\"; \"rock_talus\""), 0);
    let shared = |name: &str| faults("src/given/springs.rs", &format!("pub const NAME: &str = \"{name}\";"));
    assert_eq!([shared("springs"), shared("pool")], [0, 1]);
    let own = |name: &str| faults("src/models/delta/arms.rs", &format!("pub const NAME: &str = \"{name}\";"));
    assert_eq!([own("arms"), own("springs")], [0, 1]);
    let sources = sources();
    assert!(sources.len() > 200, "sources are read");
    for folder in ["src/", "thalweg-store/src/", "thalweg-web/src/", "xtask/src/", "xtask/book/src/"] {
        assert!(sources.iter().any(|(file, _)| file.starts_with(folder)), "{folder}");
    }
}
