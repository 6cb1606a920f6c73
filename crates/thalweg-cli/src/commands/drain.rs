//! `drain`: where water goes on an elevation model, as files for GIS.

use std::time::Instant;

use serde_json::json;
use thalweg::base::names::to_text;
use thalweg::io::place::cell_at;
use thalweg::io::{Loaded, Sidecar, load, output};
use thalweg::survey::{Phase, Survey, check_files};
use thalweg::terrain::Terrain;
use thalweg::terrain::height::Height;
use thalweg::{Error, Result};

use crate::args::Drain;
use crate::console::{Voice, list, texts};
use crate::progress::Phases;

/// Works out the drainage of a file and writes it into a folder.
///
/// # Errors
/// An unusable input, an outlet outside, a folder that cannot be written, too little memory.
pub fn drain(args: &Drain, voice: Voice) -> Result<()> {
    let start = Instant::now();
    let reads = Sidecar::files(&args.input);
    let mut options = args.options();
    check_files(&args.output, &options, &reads)?;
    let Loaded { mut terrain, warnings, nodata, overridden, .. } = load(&args.input, &args.load.options())?;
    voice.warn_all(&warnings);
    terrain.grid.edges = args.edges.edges();
    terrain.grid.sea_level = args.sea_level.map(Height::from_metres).transpose()?;
    options.outlets = outlets(args, &terrain)?;
    options.check(&terrain)?;
    output::make_folder(&args.output)?;
    let mut phases = Phases::new(voice, Phase::ALL.len() as u64);
    let survey = Survey::of(&terrain, &options, |phase| phases.begin(phase.name()))?;
    phases.begin(Phase::Files.name());
    let mut draft = survey.draft(&args.output, &terrain, nodata)?;
    voice.warn_all(draft.warnings());
    draft.report["input"] = to_text(&args.input).into();
    if !overridden.is_empty() {
        draft.report["units_overridden"] = json!(overridden);
    }
    draft.report["seconds"] = start.elapsed().as_secs_f64().into();
    let files = draft.files();
    let report = draft.commit(&reads)?;
    phases.end();
    voice.say(&survey.summary(&terrain.grid).to_string());
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(&files)));
    voice.event(&json!({"event": "result", "files": texts(&files), "drain": report}));
    Ok(())
}

/// The outlets as cells.
fn outlets(args: &Drain, terrain: &Terrain) -> Result<Vec<[usize; 2]>> {
    let placed = args.outlet_at.iter().map(|point| {
        let allowed = "a point inside the file, in its coordinates";
        let [x, y] = point;
        cell_at(&terrain.grid, *point).ok_or_else(|| Error::value("--outlet-at", format!("{x},{y}"), allowed))
    });
    args.outlet.iter().map(|cell| Ok(*cell)).chain(placed).collect()
}
