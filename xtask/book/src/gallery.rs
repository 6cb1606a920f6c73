//! `cargo xtask gallery`: draws the pictures of docs/gallery with the command itself, and writes the page that shows
//! them.
//!
//! Presets and models are not listed here: every preset is shown, and every model by its own recipe.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use thalweg_models::model::Family;
use thalweg_models::models;
use thalweg_render::pictures::picture::Picture;
use thalweg_sim::presets::{self, PRESETS};
use thalweg_sim::recipe::{Coarsest, Recipe};

use xtask::shell::{Outcome, cargo_command, prepare_program, programs_folder, repository_root, run_cargo, run_command};

/// The pictures in addition to those of presets and models: a preset, and a line that draws another picture of its
/// world.
const PICTURES: &[(&str, &str)] = &[
    ("alpine", "render perspective worlds/alpine --size 920x440 --elevation 28 --zoom 1.12 -o wide.png"),
    // The effects of the knobs, shown in docs/knobs.md.
    ("alpine", "vary alpine --age 0.3,1,3 --rain 0.3,1,3 --pixels 140 -o knobs_alpine_age_rain.png"),
    (
        "alpine",
        "vary alpine --rock granite,sandstone,shale --relief 0.5,1,2 --pixels 140 -o knobs_alpine_rock_relief.png",
    ),
    ("alpine", "vary alpine --size 0.5,1,2 --sea -150,0 --pixels 140 -o knobs_alpine_size_sea.png"),
    ("canyon", "vary canyon --age 0.3,1,3 --rain 0.3,1,3 --pixels 148 -o knobs_canyon_age_rain.png"),
    (
        "canyon",
        "vary canyon --rock granite,sandstone,shale --relief 0.5,1,2 --pixels 148 -o knobs_canyon_rock_relief.png",
    ),
    ("canyon", "vary canyon --size 0.5,1,2 --sea 100,300 --pixels 148 -o knobs_canyon_size_sea.png"),
    // A tile of dunes, shown in docs/endless.md.
    ("desert", "tile desert --level 1 --side 1024 --at 4000,4000 -o worlds/desert_1"),
    ("desert", "render perspective worlds/desert_1/height.tif --ramp sand --size 760x480 -o desert_1.png"),
    // From a whole continent into a valley, shown in docs/endless.md.
    ("endless", "tile endless --level 3 --at 40000,20000 -o worlds/endless_3"),
    ("endless", "render map worlds/endless_3/height.tif --sea-level 0 --scale --max-size 448 -o endless_3.png"),
    ("endless", "tile endless --level 6 --at 40000,20000 -o worlds/endless_6"),
    ("endless", "render perspective worlds/endless_6/height.tif --size 760x480 -o endless_6.png"),
    ("endless", "tile endless --level 8 --at 40000,20000 -o worlds/endless_8"),
    ("endless", "render perspective worlds/endless_8/height.tif --size 760x480 -o endless_8.png"),
    // The explorer's zoom, from the whole world into a valley.
    ("endless", "explore endless --at 33000,61000 --distance 1600000 --size 680x420 -o endless_zoom_1.png"),
    ("endless", "explore endless --at 33000,61000 --distance 150000 --size 680x420 -o endless_zoom_2.png"),
    ("endless", "explore endless --at 33000,61000 --distance 20000 --size 680x420 -o endless_zoom_3.png"),
    ("endless", "explore endless --at 33000,61000 --distance 2500 --size 680x420 -o endless_zoom_4.png"),
    (
        "fjords",
        "render perspective worlds/fjords --natural --exaggeration 1.3 --sun 215,22 --haze 34 --size 960x460 --stand 800,10800,1000 --towards 88,-4.5 --lens 40 -o natural.png",
    ),
    ("hills", "vary hills --age 0.5,1,2 --rain 0.5,1,2 --pixels 142 -o knobs_hills_age_rain.png"),
    ("hills", "vary hills --rock granite,sandstone,shale --relief 0.5,1,2 --pixels 148 -o knobs_hills_rock_relief.png"),
    ("hills", "vary hills --size 0.5,1,2 --sea 100,250 --pixels 148 -o knobs_hills_size_sea.png"),
    ("lakes", "render studio worlds/lakes --size 760x480 -o lakes_picture.png"),
];

/// The longer side in pixels of the thumbnails of presets in the studio, which are made from their views.
const THUMBNAIL: usize = 144;
/// The folder of the thumbnails.
const THUMBNAILS: &str = "crates/thalweg-cli/thumbnails";

/// The prefix of a line that draws the studio's window, and the command that does it.
const WINDOW: &str = "window ";
const WINDOW_COMMAND: &str = "cargo run --release --package thalweg-studio --example window --";

/// The maximum size of a picture in bytes, so that the page loads quickly. Larger pictures are refused and must be
/// drawn smaller.
const MAX_PICTURE_BYTES: u64 = 400_000;

const HEAD: &str = "\
# Gallery

This page shows all presets and models, and below the pictures the commands that draw them. `cargo xtask gallery` runs
these commands and writes the page. Every preset is a recipe in `crates/thalweg-sim/presets/`. Every model has a recipe
in `recipes/models/`, which is a few hundred cells wide and takes about a second.
";

/// A world and the lines that make and draw it. In a line, a word `worlds/…` is a temporary folder, and a word that
/// ends in `.png` is a picture of the gallery.
struct GalleryEntry {
    name: String,
    title: String,
    about: String,
    lines: Vec<String>,
}

/// Draws the pictures of the given presets and models, or of all, writes the page, and removes pictures that it does
/// not show.
pub fn draw_gallery(names: &[&str]) -> Outcome {
    run_cargo(&["build", "--release", "--package", "thalweg-cli", "--features", "studio"])?;
    let target = programs_folder()?.parent().ok_or("there is no target folder")?.to_path_buf();
    let command = target.join(format!("release/thalweg{}", std::env::consts::EXE_SUFFIX));
    let (worlds, folder) = (target.join("gallery"), repository_root().join("docs/gallery"));
    for folder in [&worlds, &folder] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let entries = list_entries()?;
    let asked = |entry: &&GalleryEntry| names.is_empty() || names.contains(&entry.name.as_str());
    for line in entries.iter().filter(asked).flat_map(|entry| &entry.lines) {
        // Split into words before folders are inserted, because a folder's name may contain a space.
        let word = |word: &str| match word.strip_prefix("worlds/") {
            Some(rest) => worlds.join(rest),
            None if word.ends_with(".png") => folder.join(word),
            None => PathBuf::from(word),
        };
        if let Some(rest) = line.strip_prefix(WINDOW) {
            let args = WINDOW_COMMAND.split_whitespace().skip(1).map(PathBuf::from);
            run_command(cargo_command().args(args).args(rest.split_whitespace().map(word)))?;
            continue;
        }
        let quiet = ["build", "apply", "vary"].iter().any(|verb| line.starts_with(verb)).then_some("--quiet");
        run_command(prepare_program(&command).args(line.split_whitespace().map(word)).args(quiet))?;
    }
    remove_unused_files(&folder, &entries)?;
    preset_names().iter().try_for_each(|name| make_thumbnail(name))?;
    let page = page_path();
    fs::write(&page, render_gallery_page(&entries)).map_err(|error| format!("{}: {error}", page.display()))
}

/// Makes the thumbnail of a preset.
fn make_thumbnail(name: &str) -> Outcome {
    let [from, to] = [format!("docs/gallery/{name}_view.png"), format!("{THUMBNAILS}/{name}.png")];
    let draw = || -> std::io::Result<()> {
        let view = Picture::decode_png(std::io::BufReader::new(fs::File::open(repository_root().join(&from))?))?;
        fs::create_dir_all(repository_root().join(THUMBNAILS))?;
        fs::write(repository_root().join(&to), view.fit_within(THUMBNAIL).to_png()?)
    };
    draw().map_err(|error| format!("{to} from {from}: {error}"))
}

/// Returns the entries of the gallery, in order.
fn list_entries() -> Outcome<Vec<GalleryEntry>> {
    let mut entries = Vec::new();
    for name in preset_names() {
        entries.push(preset_entry(&name)?);
    }
    entries.push(GalleryEntry {
        name: "studio".to_string(),
        title: "The [studio](studio.md)".to_string(),
        about: "This is the window while the preset `alpine` is built. It was drawn without a display.".to_string(),
        lines: vec![format!("{WINDOW}crates/thalweg-sim/presets/alpine.toml 46 studio.png")],
    });
    for model in models::all_models() {
        let about = model.about();
        entries.push(self::model_entry(about.name, about.family)?);
    }
    Ok(entries)
}

/// Makes the entry of a preset: its map and its view.
fn preset_entry(name: &str) -> Outcome<GalleryEntry> {
    // Trees make a picture grainy, which compresses badly, so these maps are smaller.
    let side = if ["forest", "lakes"].contains(&name) { 400 } else { 448 };
    let recipe = presets::find_preset(name).map_err(|error| error.to_string())?;
    let in_levels = recipe.levels().coarsest != Coarsest::None;
    // A world from an elevation model has the size of that model.
    let cells = match (recipe.dem().is_some(), in_levels) {
        (true, _) => "",
        (_, true) => " --cells 1024",
        _ => " --cells 768",
    };
    let mut lines = vec![
        format!("build {name}{cells} -o worlds/{name}"),
        format!("render map worlds/{name} --scale --max-size {side} -o {name}.png"),
        format!("render perspective worlds/{name} --size 760x480 -o {name}_view.png"),
    ];
    if in_levels {
        // Shores make a picture grainy, which compresses badly.
        let pixels = if name == "fjords" { 240 } else { 252 };
        lines.push(format!("vary {name} --seeds 3 --cells 256 --pixels {pixels} -o {name}_seeds.png"));
    }
    lines.extend(PICTURES.iter().filter(|(preset, _)| *preset == name).map(|(_, line)| (*line).to_string()));
    Ok(GalleryEntry { name: name.to_string(), title: format!("Preset `{name}`"), about: recipe.about, lines })
}

/// Makes the entry of a model from its own recipe: a view for base models; for others a comparison with the terrain
/// before the model.
fn model_entry(name: &str, family: Family) -> Outcome<GalleryEntry> {
    let path = format!("recipes/models/{name}.toml");
    let recipe = read_recipe(&path)?;
    // The stage before the model is where the compared world ends.
    let before = recipe.stages.iter().take_while(|stage| stage.model.about().name != name).last();
    let lines = match before.filter(|_| family != Family::Base) {
        None => {
            vec![
                format!("build {path} -o worlds/{name}"),
                format!("render perspective worlds/{name} --size 760x480 -o {name}.png"),
            ]
        }
        Some(before) => {
            vec![
                format!("build {path} --until {} -o worlds/{name}_before", before.label),
                format!("build {path} -o worlds/{name}"),
                format!("render pair worlds/{name}_before worlds/{name} --size 680x420 -o {name}.png"),
            ]
        }
    };
    Ok(GalleryEntry {
        name: name.to_string(),
        title: format!("Model [`{name}`](models/{name}.md)"),
        about: recipe.about,
        lines,
    })
}

/// Returns the names of the presets in alphabetical order.
fn preset_names() -> Vec<String> {
    let mut names: Vec<String> = PRESETS.iter().map(|preset| preset.name.to_string()).collect();
    names.sort();
    names
}

fn read_recipe(path: &str) -> Outcome<Recipe> {
    Recipe::read(repository_root().join(path)).map_err(|error| error.to_string())
}

/// Returns the pictures that an entry's lines draw.
fn list_pictures(entry: &GalleryEntry) -> impl Iterator<Item = &str> {
    entry.lines.iter().flat_map(|line| line.split_whitespace()).filter(|word| word.ends_with(".png"))
}

fn page_path() -> PathBuf {
    repository_root().join("docs/gallery.md")
}

fn render_gallery_page(entries: &[GalleryEntry]) -> String {
    let mut page = HEAD.to_string();
    for entry in entries {
        let _ = write!(page, "\n## {}\n\n{}\n\n", entry.title, entry.about);
        for picture in list_pictures(entry) {
            let _ = writeln!(page, "![{0}](gallery/{0})", picture);
        }
        let shown = |line: &String| match line.strip_prefix(WINDOW) {
            Some(rest) => format!("{WINDOW_COMMAND} {rest}\n"),
            None => format!("thalweg {line}\n"),
        };
        let lines: String = entry.lines.iter().map(shown).collect();
        let _ = write!(page, "\n```sh long\n{lines}```\n");
    }
    page
}

/// Removes files that no entry shows, and refuses pictures that are too large.
fn remove_unused_files(folder: &Path, entries: &[GalleryEntry]) -> Outcome {
    let shown: Vec<&str> = entries.iter().flat_map(list_pictures).collect();
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for file in files.filter_map(Result::ok) {
        let path = file.path();
        if !shown.contains(&&*file.file_name().to_string_lossy()) {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        } else if file.metadata().is_ok_and(|about| about.len() > MAX_PICTURE_BYTES) {
            return Err(format!("{}: is over {MAX_PICTURE_BYTES} bytes; draw it smaller", path.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_current_and_its_pictures_are_there() {
        let entries = list_entries().unwrap();
        let page = fs::read_to_string(page_path()).unwrap().replace("\r\n", "\n");
        assert!(page == render_gallery_page(&entries), "docs/gallery.md is stale: run `cargo xtask gallery`");
        for picture in entries.iter().flat_map(list_pictures) {
            assert!(
                repository_root().join("docs/gallery").join(picture).is_file(),
                "{picture}: run `cargo xtask gallery`"
            );
        }
        for name in preset_names() {
            let small = repository_root().join(THUMBNAILS).join(format!("{name}.png"));
            assert!(small.is_file(), "{}: run `cargo xtask gallery {name}`", small.display());
        }
    }
}
