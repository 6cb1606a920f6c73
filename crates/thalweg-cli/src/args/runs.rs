//! The arguments of commands that run models for a long time.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::Result;
use thalweg_export::world_folder::{Ending, FramesOptions, StateInterval, States};
use thalweg_sim::recipe::Recipe;

use super::values::parse_seconds;

/// The options of commands that run for a long time.
#[derive(Args)]
pub struct RunArgs {
    /// The file in which the run is saved at intervals and on Ctrl-C; `thalweg resume` continues it [default: a file
    /// next to the output, which is written only on Ctrl-C].
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Deletes the checkpoint of an interrupted run and starts again; without this option, the command refuses to
    /// start.
    #[arg(long)]
    pub fresh: bool,
    /// Seconds between two checkpoints [default: 300 if --checkpoint is given, otherwise only on Ctrl-C].
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub every: Option<f64>,
    /// Writes a report of the run to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub frames: FramesArgs,
    #[command(flatten)]
    pub states: StatesArgs,
}

impl RunArgs {
    /// Returns the first given option that does not apply to a map that is written by tiles, into a store.
    pub fn in_memory_only_option(&self) -> Option<&'static str> {
        let asked = [
            ("--checkpoint", self.checkpoint.is_some()),
            ("--fresh", self.fresh),
            ("--every", self.every.is_some()),
            ("--report", self.report.is_some()),
            ("--frames", self.frames.frames.is_some()),
            ("--save-every", self.states.save_every.is_some()),
        ];
        asked.into_iter().find(|(_, asked)| *asked).map(|(name, _)| name)
    }
}

/// Heights that are saved during a run.
#[derive(Args)]
pub struct StatesArgs {
    /// Saves the heights during the run as GeoTIFFs, with a table of their times: every so many steps of a stage, such
    /// as 20, or simulated years, such as 5000y. Only heights of the last level are saved.
    #[arg(long, value_name = "STEPS|YEARSy")]
    pub save_every: Option<StateInterval>,
    /// The folder of the heights of --save-every [default: `states` in the world's folder; if the output is a file,
    /// NAME_states].
    #[arg(long, value_name = "DIR", requires = "save_every")]
    pub states: Option<PathBuf>,
}

impl StatesArgs {
    /// Converts the arguments to the library's type; returns `None` if no states were requested.
    pub fn to_states(&self, ending: &Ending, recipe: &Recipe) -> Result<Option<States>> {
        let Some(every) = self.save_every else { return Ok(None) };
        // States have the sample type of the final heights.
        let (by_itself, sample) = match ending {
            Ending::World { dir, sample, .. } => (dir.join("states"), *sample),
            Ending::File { output, sample, .. } => {
                let mut name = output.with_extension("").into_os_string();
                name.push("_states");
                (name.into(), *sample)
            }
        };
        States::new(self.states.as_deref().unwrap_or(&by_itself), every, sample, recipe).map(Some)
    }
}

/// Pictures that are drawn during a run.
#[derive(Args)]
pub struct FramesArgs {
    /// Draws shaded maps of the terrain and its water during the run into this folder: frame_00001.png and so on.
    #[arg(long, value_name = "DIR")]
    pub frames: Option<PathBuf>,
    /// Number of steps between two frames.
    #[arg(long, value_name = "K", requires = "frames", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    pub frames_every: u32,
    /// Draws frames only during the stage with this label.
    #[arg(long, value_name = "LABEL", requires = "frames")]
    pub frames_of: Option<String>,
    /// Maximum length of the longer side of a frame in pixels.
    #[arg(long, value_name = "PIXELS", requires = "frames", default_value = "640", value_parser = RangedU64ValueParser::<usize>::new().range(16..=8192))]
    pub frames_size: usize,
    /// Writes an animated PNG of the frames at the end of the run.
    #[arg(long, value_name = "PNG", requires = "frames")]
    pub animation: Option<PathBuf>,
}

impl FramesArgs {
    /// Converts the arguments to the library's type; returns `None` if no frames were requested.
    pub fn to_frames_options(&self) -> Option<FramesOptions> {
        Some(FramesOptions {
            folder: self.frames.clone()?,
            every: self.frames_every,
            of: self.frames_of.clone(),
            size: self.frames_size,
            animation: self.animation.clone(),
        })
    }
}
