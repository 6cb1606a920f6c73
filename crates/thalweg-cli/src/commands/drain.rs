//! `drain`: where water goes on an elevation model, as files for GIS.

use std::time::Instant;

use serde_json::json;
use thalweg::Result;
use thalweg::io::{Loaded, Sidecar, output};
use thalweg::survey::{Phase, Survey, check_files};

use crate::args::Drain;
use crate::console::{Voice, list, texts};
use crate::progress::Phases;
use crate::terrains::{cells, note, opened};

/// Works out the drainage of a file and writes it into a folder.
///
/// # Errors
/// An unusable input, an outlet outside, a folder that cannot be written, too little memory.
pub fn drain(args: &Drain, voice: Voice) -> Result<()> {
    let start = Instant::now();
    let reads = Sidecar::files(&args.input);
    let mut options = args.options();
    check_files(&args.output, &options, &reads)?;
    let Loaded { terrain, nodata, overridden, .. } =
        opened(&args.input, &args.load, args.edges, args.sea_level, voice)?;
    options.outlets = cells(&terrain, &args.outlet, &args.outlet_at, "--outlet-at")?;
    options.check(&terrain)?;
    output::make_folder(&args.output)?;
    let mut phases = Phases::new(voice, Phase::ALL.len() as u64);
    let survey = Survey::of(&terrain, &options, |phase| phases.begin(phase.name()))?;
    phases.begin(Phase::Files.name());
    let mut draft = survey.draft(&args.output, &terrain, nodata)?;
    voice.warn_all(draft.warnings());
    note(&mut draft.report, &args.input, &overridden, start);
    let files = draft.files();
    let report = draft.commit(&reads)?;
    phases.end();
    voice.say(&survey.summary(&terrain.grid).to_string());
    voice.say(&format!("wrote in {:.1} s:\n  {}", start.elapsed().as_secs_f64(), list(&files)));
    voice.event(&json!({"event": "result", "files": texts(&files), "drain": report}));
    Ok(())
}
