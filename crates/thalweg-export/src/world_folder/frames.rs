//! [`Frames`]: numbered pictures of a run in progress, and an animation of them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use thalweg_core::base::names;
use thalweg_core::{Error, Result};
use thalweg_io::file_identity::is_same_file;
use thalweg_io::output::{self, absolute_path};
use thalweg_io::staging::{read_list_hash, write_file_list};
use thalweg_io::{save_map, write_atomically};
use thalweg_render::pictures::animation;
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::ShadeOptions;
use thalweg_sim::recipe::{Recipe, Stage};
use thalweg_sim::run::{Run, RunProgress};

/// The frames per second of the animation.
const RATE: u16 = 12;

/// The list, in the folder of the frames, of those that belong to one run.
const LIST: &str = ".thalweg-frames.json";

/// The number of frames that the list names at first.
const INITIAL_LIST_LENGTH: u32 = 64;

/// The options for frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramesOptions {
    /// The folder of the frames.
    pub folder: PathBuf,
    /// The number of steps between two frames, 1 or more; the last step of a stage is always drawn.
    pub every: u32,
    /// The label of the stage that is drawn; `None` for all stages.
    pub of: Option<String>,
    /// The greatest length of a frame's longer side in pixels; 0 for one pixel per cell.
    pub size: usize,
    /// The animated PNG that is made of the frames when the run is finished, twelve frames per second; `None` for none.
    pub animation: Option<PathBuf>,
}

/// The frames of a run: which are drawn, and how many there are. This is stored in the checkpoint, so that a resumed
/// run continues the numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Frames {
    #[serde(with = "names::path")]
    dir: PathBuf,
    every: u32,
    of: Option<String>,
    size: usize,
    #[serde(with = "names::path_option")]
    animation: Option<PathBuf>,
    taken: u32,
    /// The number of frames that the list in the folder names, which is ahead of those that are drawn; 0 as long as
    /// frames of a previous run may be there.
    announced: u32,
    look: Option<FrameStyle>,
}

/// The colours and the light of a stage's frames. All frames have those of the first, so that the animation does not
/// flicker.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FrameStyle {
    turn: usize,
    range: Option<[f64; 2]>,
    exaggeration: Option<f64>,
}

impl Frames {
    /// Makes the options of a run of which no frames are drawn yet.
    ///
    /// # Errors
    /// Returns an error if the recipe has no such stage, if `every` is 0, or if there is no current folder.
    pub fn new(options: FramesOptions, recipe: &Recipe) -> Result<Self> {
        let FramesOptions { folder, every, of, size, animation } = options;
        let labels = || recipe.stages.iter().map(|stage| stage.label.as_str());
        if let Some(label) = of.as_deref().filter(|label| labels().all(|known| known != *label)) {
            return Err(Error::unknown_name("stage", label, labels()));
        }
        if every == 0 {
            return Err(Error::invalid_value("steps between frames", every, "1 or more"));
        }
        let dir = absolute_path(&folder)?;
        let animation = animation.as_deref().map(absolute_path).transpose()?;
        Ok(Self { dir, every, of, size, animation, taken: 0, announced: 0, look: None })
    }

    /// Checks that the files can be written; the folder is created.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or written, if the animation's file does not end in `.png` or
    /// cannot be written, or if another run has drawn in the folder since this one did.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        output::make_folder(&self.dir)?;
        // A resumed run must not continue the numbers among the frames of another run.
        if self.announced > 0 && read_list_hash(&self.dir, LIST).is_some_and(|other| other != recipe.hash()) {
            let problem = "contains the frames of another run that began later; move that folder away to continue";
            return Err(Error::invalid_file(&self.dir, problem));
        }
        self.animation.as_deref().map_or(Ok(()), |path| output::check_ending(path, &["png"]).map(|_| ()))
    }

    /// Returns true if a file has the name of a frame that may be drawn.
    pub fn may_be(&self, file: &Path) -> bool {
        let number = file.file_name().and_then(|name| name.to_str()?.strip_prefix("frame_")?.strip_suffix(".png"));
        let is_frame = number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|digit| digit.is_ascii_digit()));
        is_frame && file.file_name().is_some_and(|name| is_same_file(&self.dir.join(name), file))
    }

    /// Draws the terrain after a step, if a frame is due.
    ///
    /// # Errors
    /// Returns an error if the frame, or the list of frames in the folder, cannot be written.
    pub fn draw_due_frame(&mut self, run: &Run, progress: &RunProgress) -> Result<()> {
        // The last step of a stage is always drawn, so that the animation shows every result.
        let ends = progress.step >= progress.steps;
        let due = ends || progress.step.is_multiple_of(self.every);
        if !due || self.of.as_ref().is_some_and(|label| *label != progress.label) {
            return Ok(());
        }
        let terrain = &*run.terrain_without_margin();
        // While a base model generates the ground, it changes completely, so each of its frames has its own colours and
        // light.
        let makes_ground =
            progress.stage.is_none_or(|number| run.recipe().stages.get(number).is_some_and(Stage::is_base));
        let kept = self.look.take().filter(|look| look.turn == progress.turn && !makes_ground);
        let look = match kept {
            Some(look) => look,
            None => {
                let settled = ShadeOptions::default().resolve_for(terrain)?;
                let LookOptions { range, exaggeration, .. } = settled.look;
                FrameStyle { turn: progress.turn, range, exaggeration }
            }
        };
        let options = ShadeOptions {
            look: LookOptions {
                ramp: Some(run.recipe().ramp),
                range: look.range,
                exaggeration: look.exaggeration,
                ..LookOptions::default()
            },
            max_size: Some(self.size),
            ..ShadeOptions::default()
        };
        self.look = Some(look);
        // The number of a frame that could not be written stays unused; the animation skips it.
        self.taken += 1;
        self.extend_list(run.recipe())?;
        save_map(self.frame_path(self.taken), terrain, &options)
    }

    /// Ensures that the list in the folder names the next frame, and that the frames of a previous run are removed. The
    /// list names more frames than are drawn, so that it need not be rewritten for every frame.
    fn extend_list(&mut self, recipe: &Recipe) -> Result<()> {
        if self.taken <= self.announced {
            return Ok(());
        }
        let ahead = self.taken.next_power_of_two().max(INITIAL_LIST_LENGTH);
        let names = (1..=ahead).map(frame_name);
        write_file_list(&self.dir, LIST, &recipe.hash(), names, self.announced == 0)?;
        self.announced = ahead;
        Ok(())
    }

    /// Returns the file of the animation; `None` if none is requested.
    pub fn animation(&self) -> Option<&Path> {
        self.animation.as_deref()
    }

    /// Makes the animation at `path`, twelve frames per second.
    ///
    /// # Errors
    /// Returns an error if there is no frame, or if a file cannot be read or written.
    pub fn write_animation(&self, path: &Path) -> Result<()> {
        // A frame that could not be written, or that the user has removed, is skipped.
        let files: Vec<PathBuf> =
            (1..=self.taken).map(|number| self.frame_path(number)).filter(|file| file.is_file()).collect();
        if files.is_empty() {
            return Err(Error::invalid_file(&self.dir, "contains no frame for the animation"));
        }
        let read = |file: &PathBuf| Picture::decode_png(BufReader::new(File::open(file)?));
        let wrote = |file: &mut _| {
            animation::encode_animation(file, files.len() as u32, RATE, files.iter().map(read))
                .map_err(Error::io(path, "write"))
        };
        write_atomically(path, wrote)
    }

    fn frame_path(&self, number: u32) -> PathBuf {
        self.dir.join(frame_name(number))
    }
}

fn frame_name(number: u32) -> String {
    format!("frame_{number:05}.png")
}
