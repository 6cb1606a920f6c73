//! The arguments of commands that run models for a long time.

use std::path::PathBuf;

use clap::Args;
use thalweg_core::declare::operation::WorkForm;
use thalweg_core::{Error, Result};
use thalweg_export::world_folder::{Ending, FramesOptions, StateInterval, States};
use thalweg_sim::recipe::Recipe;

use super::values::{parse_byte_count, parse_seconds, whole_number};

/// The options of a run that may also be done tile by tile, into a Zarr store.
#[derive(Args)]
pub struct WorkArgs {
    /// Maximum memory of the process in bytes [allowed: 1M or more, such as 500M or 2.5G] [default: the free memory]
    /// [requires: -o DIR.zarr].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub run: RunArgs,
}

impl WorkArgs {
    /// Refuses the first given option that has no effect in this form of the work.
    ///
    /// # Errors
    /// Returns an error that names the option.
    pub fn check_form(&self, form: WorkForm) -> Result<()> {
        let in_store = "does not apply when the output is a Zarr store: the report is always written, and running the \
                        same command again continues an interrupted run";
        let elsewhere = "only applies when the output is a Zarr store (-o DIR.zarr)";
        let (unused, problem) = match form {
            WorkForm::Store => (self.run.in_memory_only_option(), in_store),
            WorkForm::Folder | WorkForm::Arrays | WorkForm::Browser => (self.memory.map(|_| "--memory"), elsewhere),
        };
        unused.map_or(Ok(()), |name| Err(Error::conflict(name, problem)))
    }
}

/// The options of commands that run for a long time.
#[derive(Args)]
pub struct RunArgs {
    /// The file in which the run is saved at intervals and on Ctrl-C; `thalweg resume FILE` continues it [default: a
    /// file next to the output, which is written only on Ctrl-C].
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Deletes the checkpoint of an interrupted run and starts again; without this option, the command refuses to
    /// start.
    #[arg(long)]
    pub fresh: bool,
    /// Seconds between two checkpoints [allowed: 0 to 1e9] [default: 300 if --checkpoint is given; otherwise the run is
    /// saved only on Ctrl-C].
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
    fn in_memory_only_option(&self) -> Option<&'static str> {
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
    /// NAME_states] [requires: --save-every].
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
    /// Number of steps between two frames [allowed: 1 or more] [requires: --frames].
    #[arg(long, value_name = "K", requires = "frames", default_value = "10")]
    #[arg(value_parser = whole_number::<u32>(1..=u64::MAX))]
    pub frames_every: u32,
    /// Draws frames only during the stage with this label [default: during all stages] [requires: --frames].
    #[arg(long, value_name = "LABEL", requires = "frames")]
    pub frames_of: Option<String>,
    /// Maximum length of the longer side of a frame in pixels [allowed: 16 to 8192] [requires: --frames].
    #[arg(long, value_name = "PIXELS", requires = "frames", default_value = "640")]
    #[arg(value_parser = whole_number::<usize>(16..=8192))]
    pub frames_size: usize,
    /// Writes an animated PNG of the frames at the end of the run [requires: --frames].
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches as _};

    #[test]
    fn options_without_effect_are_refused() {
        let refused = |typed: &str, form| {
            let command = WorkArgs::augment_args(Command::new("verb").no_binary_name(true));
            let matches = command.try_get_matches_from(typed.split(' ')).unwrap();
            WorkArgs::from_arg_matches(&matches).unwrap().check_form(form).err().map(|error| error.to_string())
        };
        assert_eq!(refused("--memory 2G", WorkForm::Store), None);
        let message = refused("--memory 2G", WorkForm::Folder).unwrap();
        assert_eq!(message, "--memory only applies when the output is a Zarr store (-o DIR.zarr)");
        assert_eq!(refused("--fresh --report r.json", WorkForm::Folder), None);
        let message = refused("--report r.json", WorkForm::Store).unwrap();
        assert!(message.starts_with("--report does not apply when the output is a Zarr store"), "{message}");
    }
}
