//! Output of the window: pictures, the frames of a turntable and of a time-lapse, and the command line.

use std::path::{Path, PathBuf};

use thalweg_core::Error;
use thalweg_core::base::names::quoted;
use thalweg_io::atomic::atomic;
use thalweg_render::pictures::picture::Picture;
use thalweg_sim::recipe::Recipe;

use crate::app::frames::Kind;
use crate::app::paths::free;
use crate::app::state::Studio;
use crate::goods::Goods;
use crate::options::{Page, PresetCard};
use crate::session::Order;

/// The number of frames of a turntable.
const TURN: u32 = 120;
/// Width and height of a frame in pixels.
const FRAME: [u32; 2] = [1280, 720];

impl Studio {
    /// Saves the view, enlarged by the factor `times`, with the number of droplets in the picture's name.
    pub fn save_picture(&mut self, times: u32) {
        let name = format!("{}-{}-droplets.png", self.stem(), self.snapshot.particles);
        if self.options.page.is_some() {
            let frame = self.frame(self.drawn_size);
            let reading = self.scene.as_mut().map(|scene| scene.begin_picture(&frame, times));
            self.reading = reading.map(|reading| (name, reading));
            return;
        }
        let path = free(&self.options.pictures, &name);
        let size = self.drawn_size;
        let written = self.rendered(size, times).and_then(|picture| write(&path, &picture));
        match written {
            Ok(()) => self.say(format!("Saved {}", path.display())),
            Err(problem) => self.complain(problem),
        }
    }

    /// Gives the page's user the files that are ready: exports of the session, and the picture that was started.
    pub(crate) fn give(&mut self) {
        let Some(page) = self.options.page.clone() else { return };
        for file in page.link.files() {
            match file {
                Ok((name, bytes)) => {
                    page.host.give(&name, &bytes);
                    self.say(format!("Saved {name}"));
                }
                Err(problem) => self.complain(problem),
            }
        }
        let Some(((name, reading), scene)) = self.reading.take().zip(self.scene.as_ref()) else { return };
        match scene.read(&reading) {
            None => self.reading = Some((name, reading)),
            Some(Err(problem)) => self.complain(problem),
            Some(Ok(picture)) => {
                let mut bytes = std::io::Cursor::new(Vec::new());
                match picture.encode(&mut bytes) {
                    Ok(()) => {
                        page.host.give(&name, &bytes.into_inner());
                        self.say(format!("Saved {name}"));
                    }
                    Err(problem) => self.complain(problem.to_string()),
                }
            }
        }
    }

    /// Gives the page's user the recipe. If it has an elevation model, the recipe refers to it by its file name.
    fn give_recipe(&mut self, page: &Page) {
        let name = format!("{}.toml", self.stem());
        page.host.give(&name, self.recipe.to_toml().as_bytes());
        self.say(format!("Saved {name}"));
    }

    /// Makes the session export these files for the page's user.
    pub fn export(&mut self, goods: Goods) {
        let name = goods.file(&self.stem());
        self.say(format!("Writing {name}"));
        self.worker.tell(Order::Export(goods, name.into()));
    }

    /// The address that opens this world in the page.
    pub(crate) fn address(&mut self) -> Option<String> {
        let page = self.options.page.clone()?;
        match self.recipe.to_link() {
            Ok(link) => Some(page.host.address(&link)),
            Err(problem) => {
                self.complain(problem.to_string());
                None
            }
        }
    }

    /// Renders the view as a picture.
    #[cfg(not(target_arch = "wasm32"))]
    fn rendered(&mut self, size: [u32; 2], times: u32) -> Result<Picture, String> {
        let frame = self.frame(size);
        if frame.parts.is_empty() {
            return Err("there is nothing to draw yet".into());
        }
        let scene = self.scene.as_mut().ok_or("there is no GPU to draw a picture")?;
        scene.picture(&frame, times)
    }

    /// Without a disk there are no frames to write.
    #[cfg(target_arch = "wasm32")]
    fn rendered(&mut self, _: [u32; 2], _: u32) -> Result<Picture, String> {
        Err("a page cannot write frames".into())
    }

    /// Writes the next of the frames that are being written.
    pub fn write_frames(&mut self) {
        let Some(mut frames) = self.frames.take() else { return };
        let version = self.painted.as_ref().map(|painted| painted.version);
        let (camera, map) = (self.orbit_camera, self.map);
        match &mut frames.kind {
            Kind::Turntable => {
                self.map = false;
                self.orbit_camera.azimuth = camera.azimuth + 360.0 * frames.written as f32 / TURN as f32;
            }
            Kind::TimeLapse(last) if *last == version => {
                let finished = self.snapshot.done && self.snapshot.version == version.unwrap_or(0);
                if finished {
                    self.say(format!("{} frames are in {}", frames.written, frames.folder.display()));
                } else {
                    self.frames = Some(frames);
                }
                return;
            }
            Kind::TimeLapse(last) => *last = version,
        }
        let path = frames.folder.join(format!("frame-{:05}.png", frames.written));
        let written = self.rendered(FRAME, 1).and_then(|picture| write(&path, &picture));
        (self.orbit_camera, self.map) = (camera, map);
        frames.written += 1;
        match written {
            Err(problem) => self.complain(problem),
            Ok(()) if matches!(frames.kind, Kind::Turntable) && frames.written == TURN => {
                self.say(format!("{TURN} frames are in {}", frames.folder.display()));
            }
            Ok(()) => self.frames = Some(frames),
        }
    }

    /// Saves the recipe.
    pub fn save_recipe(&mut self, path: &Path) {
        if let Some(page) = self.options.page.clone() {
            return self.give_recipe(&page);
        }
        match self.recipe.save(path) {
            Ok(()) => {
                self.say(format!("Saved {}", path.display()));
                self.path = Some(path.to_path_buf());
            }
            Err(error) => self.complain(error.to_string()),
        }
    }

    /// Returns the command that builds this world. If no file contains the current recipe, it is saved in a new one.
    pub fn command_line(&mut self) -> Option<String> {
        if let Some(line) = preset_line(&self.recipe, &self.options.presets) {
            return Some(line);
        }
        let is_now = |path: &&PathBuf| {
            let lines = |recipe: &Recipe| recipe.drawn(&self.snapshot.grid).ok();
            Recipe::read(*path).is_ok_and(|mut saved| {
                // A sketch drawn here is embedded in the recipe, but is a separate file when saved.
                if saved.sketch.is_some() && lines(&saved) == lines(&self.recipe) {
                    saved.sketch.clone_from(&self.recipe.sketch);
                }
                saved.to_toml() == self.recipe.to_toml()
            })
        };
        let path = match self.path.as_ref().filter(is_now) {
            Some(path) => return Some(format!("thalweg build {}", quoted(path))),
            None => free(&self.options.pictures, &format!("{}.toml", self.stem())),
        };
        let own = self.path.clone();
        self.save_recipe(&path);
        let saved = self.path.clone();
        if own.is_some() {
            self.path = own;
        }
        saved.filter(|saved| *saved == path).map(|path| format!("thalweg build {}", quoted(&path)))
    }

    /// The world's name and seed, in a form that suits a file name.
    fn stem(&self) -> String {
        let name: String =
            self.recipe.name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
        format!("{name}-{}", self.recipe.seed)
    }
}

/// Returns the command line of a preset if only its cells, seed and parameters were changed.
fn preset_line(recipe: &Recipe, presets: &[PresetCard]) -> Option<String> {
    let preset = presets.iter().find(|preset| preset.name == recipe.name)?;
    let set = recipe.overrides_of(&Recipe::parse(&preset.text).ok()?)?;
    let cells = set.cells.map(|cells| format!(" --cells {cells}"));
    let seed = set.seed.map(|seed| format!(" --seed {seed}"));
    let parameters = set.parameters.iter().map(|parameter| format!(" --set {}", quoted(parameter.as_ref())));
    let words: String = cells.into_iter().chain(seed).chain(parameters).collect();
    Some(format!("thalweg build {}{words}", preset.name))
}

/// Writes a picture to a temporary file, then renames it.
fn write(path: &Path, picture: &Picture) -> Result<(), String> {
    let encode = |file: &mut _| picture.encode(file).map_err(Error::io(path, "write"));
    atomic(path, encode).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_preset_is_a_line_with_settings_and_any_other_recipe_is_none() {
        let text = "name = \"demo\"\nextent = [1000.0, 1000.0]\ncells = 64\n\
                    [[stage]]\nmodel = \"gradient_noise\"\nlabel = \"two words\"\n";
        let presets = [PresetCard { name: "demo", text: text.to_string(), thumbnail: &[] }];
        let mut recipe = Recipe::parse(text).unwrap();
        assert_eq!(preset_line(&recipe, &presets).as_deref(), Some("thalweg build demo"));
        recipe.seed = 9;
        recipe.cells = 128;
        recipe.stages[0].model.set("gradient_noise", "amplitude", &12.5.into()).unwrap();
        let line = preset_line(&recipe, &presets).unwrap();
        assert_eq!(line, "thalweg build demo --cells 128 --seed 9 --set 'two words.amplitude=12.5'");
        recipe.stages.clear();
        assert_eq!(preset_line(&recipe, &presets), None);
    }

    #[test]
    fn files_are_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let first = free(folder.path(), "a.png");
        std::fs::write(&first, "x").unwrap();
        let second = free(folder.path(), "a.png");
        assert_eq!(second, folder.path().join("a-2.png"));
    }
}
