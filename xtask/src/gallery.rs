//! `cargo xtask gallery`: the pictures of docs/gallery, drawn by the command itself.

use std::fs;

use thalweg::model::Family;
use thalweg::models;

use crate::shell::{Outcome, built, cargo, program, root, run};

/// Pictures beside those of the base models: a name, and the lines that draw it. `TMP` is a folder for what lies
/// between, `OUT` the picture. Relative paths start at the repository's root.
const PICTURES: &[(&str, &[&str])] = &[(
    "alpine",
    &["build alpine --quiet --cells 768 --out TMP/alpine", "shade TMP/alpine/height.tif --legend --scale -o OUT"],
)];

/// Draws them all.
pub fn draw() -> Outcome {
    cargo(&["build", "--release", "--package", "thalweg-cli"])?;
    let target = built()?.parent().ok_or("there is no target folder")?.to_path_buf();
    let command = target.join(format!("release/thalweg{}", std::env::consts::EXE_SUFFIX));
    let (tmp, folder) = (target.join("gallery"), root().join("docs/gallery"));
    for folder in [&tmp, &folder] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let base = models::all().map(|model| model.about()).filter(|a| a.family == Family::Base && a.needs.is_empty());
    let base = base.map(|about| {
        let generate = format!("generate {} --quiet --cells 512 --cell-size 30 -o TMP/base.tif", about.name);
        (about.name, vec![generate, "shade TMP/base.tif -o OUT".to_string()])
    });
    let listed = PICTURES.iter().map(|(name, lines)| (*name, lines.iter().map(ToString::to_string).collect()));
    for (name, lines) in base.chain(listed) {
        let out = folder.join(format!("{name}.png"));
        for line in lines {
            // Words first, folders second: a folder's name may have a blank in it.
            let word = |word: &str| match word.strip_prefix("TMP") {
                Some(rest) => format!("{}{rest}", tmp.display()),
                None if word == "OUT" => out.display().to_string(),
                None => word.to_string(),
            };
            run(program(&command).args(line.split_whitespace().map(word)))?;
        }
    }
    Ok(())
}
