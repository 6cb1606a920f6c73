//! [`Frames`]: pictures of a run under way, numbered, and the animation made of them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use thalweg_core::base::names;
use thalweg_core::{Error, Result};
use thalweg_io::apart::same;
use thalweg_io::output::{self, absolute};
use thalweg_io::staging::{announce, listed};
use thalweg_io::{atomic, save_map};
use thalweg_render::pictures::animation;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::ShadeOptions;
use thalweg_sim::recipe::{Recipe, Stage};
use thalweg_sim::run::{Run, RunProgress};

/// Frames in a second of the animation.
const RATE: u16 = 12;

/// Says in their folder which frames are one run's.
const LIST: &str = ".thalweg-frames.json";

/// Frames that the list names at first.
const FEW: u32 = 64;

/// Which frames are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramesOptions {
    /// The folder that they are drawn into.
    pub folder: PathBuf,
    /// Steps between two frames, 1 or more; a stage's last step is drawn in any case.
    pub every: u32,
    /// The label of the stage that is drawn; `None` for all.
    pub of: Option<String>,
    /// Longer side of a frame in pixels at most; 0 for a pixel a cell.
    pub size: usize,
    /// The animated PNG to make of them when the run is done, twelve frames a second; `None` for none.
    pub animation: Option<PathBuf>,
}

/// Which frames are drawn, and how many there are. It travels in the checkpoint, so that the numbers go on.
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
    /// Frames that the list in the folder names, ahead of those that are drawn; 0 while a former run's may be there.
    announced: u32,
    look: Option<Look>,
}

/// Colours and light of a stage's frames: all have those of the first, so that nothing flickers.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Look {
    turn: usize,
    range: Option<[f32; 2]>,
    exaggeration: Option<f64>,
}

impl Frames {
    /// None drawn yet.
    ///
    /// # Errors
    /// When the recipe has no such stage, `every` is 0, or there is no current folder.
    pub fn new(options: FramesOptions, recipe: &Recipe) -> Result<Self> {
        let FramesOptions { folder, every, of, size, animation } = options;
        let labels = || recipe.stages.iter().map(|stage| stage.label.as_str());
        if let Some(label) = of.as_deref().filter(|label| labels().all(|known| known != *label)) {
            return Err(Error::unknown("stage", label, labels()));
        }
        if every == 0 {
            return Err(Error::value("steps between frames", every, "1 or more"));
        }
        let dir = absolute(&folder)?;
        let animation = animation.as_deref().map(absolute).transpose()?;
        Ok(Self { dir, every, of, size, animation, taken: 0, announced: 0, look: None })
    }

    /// Whether what will be written can be; the folder is made.
    ///
    /// # Errors
    /// When the folder cannot be made or written, the animation's file does not end in `.png` or cannot be written, or another run has
    /// drawn in the folder since this one drew there.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        output::make_folder(&self.dir)?;
        if self.announced > 0 && listed(&self.dir, LIST).is_some_and(|other| other != recipe.hash()) {
            let problem = "holds the frames of another run, which was begun later; move that folder away to go on";
            return Err(Error::file(&self.dir, problem));
        }
        self.animation.as_deref().map_or(Ok(()), |path| output::check_ending(path, &["png"]).map(|_| ()))
    }

    /// Whether a file bears the name of a frame that may be drawn.
    pub fn may_be(&self, file: &Path) -> bool {
        let number = file.file_name().and_then(|name| name.to_str()?.strip_prefix("frame_")?.strip_suffix(".png"));
        let is_frame = number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|digit| digit.is_ascii_digit()));
        is_frame && file.file_name().is_some_and(|name| same(&self.dir.join(name), file))
    }

    /// Draws the terrain after a step, if a frame is due.
    ///
    /// # Errors
    /// When the frame, or the list of frames in the folder, cannot be written.
    pub fn step(&mut self, run: &Run, progress: &RunProgress) -> Result<()> {
        let ends = progress.step >= progress.steps;
        let due = ends || progress.step.is_multiple_of(self.every);
        if !due || self.of.as_ref().is_some_and(|label| *label != progress.label) {
            return Ok(());
        }
        let terrain = &*run.map();
        let ramp = run.recipe().ramp;
        // Ground that is being made changes altogether: its frames have a look each.
        let makes_ground =
            progress.stage.is_none_or(|number| run.recipe().stages.get(number).is_some_and(Stage::is_base));
        let kept = self.look.take().filter(|look| look.turn == progress.turn && !makes_ground);
        let look = match kept {
            Some(look) => look,
            None => {
                let settled = ShadeOptions::default().settled(terrain)?;
                Look { turn: progress.turn, range: settled.range, exaggeration: settled.exaggeration }
            }
        };
        let options = ShadeOptions {
            ramp,
            range: look.range,
            exaggeration: look.exaggeration,
            max_size: Some(self.size),
            ..ShadeOptions::default()
        };
        self.look = Some(look);
        // A frame that fails keeps its number free: the animation leaves it out.
        self.taken += 1;
        self.announce(run.recipe())?;
        save_map(self.path(self.taken), terrain, options)
    }

    /// Sees to it that the list in the folder names the next frame, and that a former run's are gone. It names more than are
    /// drawn, so that it is not written anew with every frame.
    fn announce(&mut self, recipe: &Recipe) -> Result<()> {
        if self.taken <= self.announced {
            return Ok(());
        }
        let ahead = self.taken.next_power_of_two().max(FEW);
        let names = (1..=ahead).map(name);
        announce(&self.dir, LIST, &recipe.hash(), names, self.announced == 0)?;
        self.announced = ahead;
        Ok(())
    }

    /// The file of the animation; `None` if none is wanted.
    pub fn animation(&self) -> Option<&Path> {
        self.animation.as_deref()
    }

    /// Makes the animation at `path`, twelve frames a second.
    ///
    /// # Errors
    /// When there is no frame, or a file cannot be read or written.
    pub fn finish(&self, path: &Path) -> Result<()> {
        let files: Vec<PathBuf> =
            (1..=self.taken).map(|number| self.path(number)).filter(|file| file.is_file()).collect();
        if files.is_empty() {
            return Err(Error::file(&self.dir, "holds no frame for the animation"));
        }
        let read = |file: &PathBuf| Picture::decode(BufReader::new(File::open(file)?));
        let wrote = |file: &mut _| {
            animation::encode_animation(file, files.len() as u32, RATE, files.iter().map(read))
                .map_err(Error::io(path, "write"))
        };
        atomic(path, wrote)
    }

    fn path(&self, number: u32) -> PathBuf {
        self.dir.join(name(number))
    }
}

fn name(number: u32) -> String {
    format!("frame_{number:05}.png")
}
