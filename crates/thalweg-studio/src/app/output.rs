//! [`Output`]: the output of the window, which is pictures, the frames of a turntable and of a time-lapse, and the
//! command line.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use eframe::egui::Ui;
use serde_json::Map;
use thalweg_core::Error;
use thalweg_core::base::names::quote_for_shell;
use thalweg_core::declare::operation::Json;
use thalweg_io::atomic::write_atomically;
use thalweg_render::pictures::picture::Picture;
use thalweg_sim::recipe::Recipe;

use crate::app::frames::{FrameSeries, FrameSeriesKind};
use crate::app::paths::find_free_path;
use crate::app::state::Studio;
use crate::options::{PageServices, PresetCard};
use crate::platform::DialogQuestion;
use crate::run_export::{ExportRequest, RunExport};
use crate::session::WorkerOrder;
use crate::ui::export_dialog::{ExportDialog, ExportDialogAct};
use crate::view::target::PictureReadback;

/// The number of frames of a turntable.
const TURNTABLE_FRAMES: u32 = 120;
/// Width and height of a frame in pixels.
const FRAME_SIZE_PIXELS: [u32; 2] = [1280, 720];

/// The output in progress.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) frames: Option<FrameSeries>,
    /// The question of the dialog that is open, and where its answer arrives.
    pub(crate) asking: Option<(DialogQuestion, Receiver<Option<PathBuf>>)>,
    /// The options of the export for which a folder is being chosen.
    pub(crate) export_options: Map<String, Json>,
    /// A picture that is being read back from the GPU, and the name of its file.
    pub(crate) reading: Option<(String, PictureReadback)>,
}

impl Studio {
    /// Saves the view, enlarged by the factor `times`, with the number of droplets in the picture's name.
    pub fn save_picture(&mut self, times: u32) {
        let name = format!("{}-{}-droplets.png", self.file_stem(), self.snapshot.particles);
        // A page must not block, so the picture is read back over the next frames.
        if self.options.page.is_some() {
            let frame = self.compose_frame(self.viewport.drawn_size);
            let reading = self.scene.as_mut().map(|scene| scene.begin_picture(&frame, times));
            self.output.reading = reading.map(|reading| (name, reading));
            return;
        }
        let path = find_free_path(&self.options.pictures, &name);
        let size = self.viewport.drawn_size;
        let written = self.render_picture(size, times).and_then(|picture| write_picture(&path, &picture));
        match written {
            Ok(()) => self.show_message(format!("Saved {}", path.display())),
            Err(problem) => self.show_error(problem),
        }
    }

    /// Gives the page's user the files that are ready: exports of the session, and the picture that was started.
    pub(crate) fn deliver_ready_files(&mut self) {
        let Some(page) = self.options.page.clone() else { return };
        for file in page.link.take_files() {
            match file {
                Ok((name, bytes)) => {
                    page.host.deliver_file(&name, &bytes);
                    self.show_message(format!("Saved {name}"));
                }
                Err(problem) => self.show_error(problem),
            }
        }
        let Some(((name, reading), scene)) = self.output.reading.take().zip(self.scene.as_ref()) else { return };
        match scene.read_picture(&reading) {
            None => self.output.reading = Some((name, reading)),
            Some(Err(problem)) => self.show_error(problem),
            Some(Ok(picture)) => {
                let mut bytes = std::io::Cursor::new(Vec::new());
                match picture.encode_png(&mut bytes) {
                    Ok(()) => {
                        page.host.deliver_file(&name, &bytes.into_inner());
                        self.show_message(format!("Saved {name}"));
                    }
                    Err(problem) => self.show_error(problem.to_string()),
                }
            }
        }
    }

    /// Gives the page's user the recipe. If it has an elevation model, the recipe refers to it by its file name.
    fn deliver_recipe(&mut self, page: &PageServices) {
        let name = format!("{}.toml", self.file_stem());
        page.host.deliver_file(&name, self.world.recipe.to_toml().as_bytes());
        self.show_message(format!("Saved {name}"));
    }

    /// Makes the session export these files for the page's user.
    pub fn export_for_page(&mut self, request: impl Into<ExportRequest>) {
        let request = request.into();
        let name = request.export.file_name(&self.file_stem());
        self.show_message(format!("Writing {name}"));
        self.worker.send_order(WorkerOrder::Export(request, name.into()));
    }

    /// Opens the window in which the options of an export are chosen.
    pub(crate) fn open_export_dialog(&mut self, export: RunExport) {
        let Some(painted) = &self.painting.latest else {
            return self.show_error("there is no land to export yet; wait until it is shown".into());
        };
        let operation = export.suggest_options(&self.world.recipe.name, &painted.terrain);
        self.panels.export_dialog = operation.map(|operation| ExportDialog::new(export, operation));
    }

    /// Draws the window in which the options of an export are chosen, if it is open.
    pub(super) fn draw_export_dialog(&mut self, ui: &Ui) {
        let Some(dialog) = &mut self.panels.export_dialog else { return };
        let request = match dialog.show(ui.ctx(), self.options.page.is_some()) {
            None => return,
            Some(ExportDialogAct::Close) => return self.panels.export_dialog = None,
            Some(ExportDialogAct::Export(request)) => request,
        };
        if self.options.page.is_some() {
            self.export_for_page(request);
        } else if self.output.asking.is_none() {
            // At most one dialog of the system is open at a time.
            self.output.export_options = request.options;
            self.ask_question(DialogQuestion::Export(request.export));
        }
    }

    /// The address that opens this world in the page.
    pub(crate) fn build_page_address(&mut self) -> Option<String> {
        let page = self.options.page.clone()?;
        match self.world.recipe.to_link() {
            Ok(link) => Some(page.host.link_address(&link)),
            Err(problem) => {
                self.show_error(problem.to_string());
                None
            }
        }
    }

    /// Renders the view as a picture.
    #[cfg(not(target_arch = "wasm32"))]
    fn render_picture(&mut self, size: [u32; 2], times: u32) -> Result<Picture, String> {
        let frame = self.compose_frame(size);
        if frame.parts.is_empty() {
            return Err("there is nothing to draw yet".into());
        }
        let no_gpu = "no GPU was found, so the picture cannot be drawn; use `thalweg render perspective`, which draws \
                      on the CPU";
        let scene = self.scene.as_mut().ok_or(no_gpu)?;
        scene.render_picture(&frame, times)
    }

    /// Without a disk there are no frames to write.
    #[cfg(target_arch = "wasm32")]
    fn render_picture(&mut self, _: [u32; 2], _: u32) -> Result<Picture, String> {
        Err("frames cannot be written in the browser; use the desktop studio".into())
    }

    /// Writes the next of the frames that are being written.
    pub fn write_frames(&mut self) {
        let Some(mut frames) = self.output.frames.take() else { return };
        let version = self.painting.latest.as_ref().map(|painted| painted.version);
        // The frames borrow the studio's own camera, which is restored after the picture.
        let (camera, map) = (self.cameras.orbit, self.cameras.shows_map);
        match &mut frames.kind {
            FrameSeriesKind::Turntable => {
                self.cameras.shows_map = false;
                self.cameras.orbit.azimuth = camera.azimuth + 360.0 * frames.written as f32 / TURNTABLE_FRAMES as f32;
            }
            FrameSeriesKind::TimeLapse(last) if *last == version => {
                // The series ends only after the final terrain has been drawn.
                let finished = self.snapshot.done && self.snapshot.version == version.unwrap_or(0);
                if finished {
                    self.show_message(format!("{} frames are in {}", frames.written, frames.folder.display()));
                } else {
                    self.output.frames = Some(frames);
                }
                return;
            }
            FrameSeriesKind::TimeLapse(last) => *last = version,
        }
        let path = frames.folder.join(format!("frame-{:05}.png", frames.written));
        let written = self.render_picture(FRAME_SIZE_PIXELS, 1).and_then(|picture| write_picture(&path, &picture));
        (self.cameras.orbit, self.cameras.shows_map) = (camera, map);
        frames.written += 1;
        match written {
            Err(problem) => self.show_error(problem),
            Ok(()) if matches!(frames.kind, FrameSeriesKind::Turntable) && frames.written == TURNTABLE_FRAMES => {
                self.show_message(format!("{TURNTABLE_FRAMES} frames are in {}", frames.folder.display()));
            }
            Ok(()) => self.output.frames = Some(frames),
        }
    }

    /// Saves the recipe.
    pub fn save_recipe(&mut self, path: &Path) {
        if let Some(page) = self.options.page.clone() {
            return self.deliver_recipe(&page);
        }
        match self.world.recipe.save(path) {
            Ok(()) => {
                self.show_message(format!("Saved {}", path.display()));
                self.world.path = Some(path.to_path_buf());
            }
            Err(error) => self.show_error(error.to_string()),
        }
    }

    /// Returns the command that builds this world. If no file contains the current recipe, it is saved in a new one.
    pub fn command_line(&mut self) -> Option<String> {
        // The shortest command names a preset with its changes; it needs no file.
        if let Some(line) = preset_line(&self.world.recipe, &self.options.presets) {
            return Some(line);
        }
        let is_now = |path: &&PathBuf| {
            let lines = |recipe: &Recipe| recipe.load_sketch(&self.snapshot.grid).ok();
            Recipe::read(*path).is_ok_and(|mut saved| {
                // A sketch drawn here is embedded in the recipe, but is a separate file when saved.
                if saved.sketch.is_some() && lines(&saved) == lines(&self.world.recipe) {
                    saved.sketch.clone_from(&self.world.recipe.sketch);
                }
                saved.to_toml() == self.world.recipe.to_toml()
            })
        };
        let path = match self.world.path.as_ref().filter(is_now) {
            Some(path) => return Some(format!("thalweg build {}", quote_for_shell(path))),
            None => find_free_path(&self.options.pictures, &format!("{}.toml", self.file_stem())),
        };
        // Saving the copy must not make it the recipe's own file, if the recipe already has one.
        let own = self.world.path.clone();
        self.save_recipe(&path);
        let saved = self.world.path.clone();
        if own.is_some() {
            self.world.path = own;
        }
        saved.filter(|saved| *saved == path).map(|path| format!("thalweg build {}", quote_for_shell(&path)))
    }

    /// The world's name and seed, in a form that suits a file name.
    fn file_stem(&self) -> String {
        let name: String =
            self.world.recipe.name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
        format!("{name}-{}", self.world.recipe.seed)
    }
}

/// Returns the command line of a preset if only its cells, seed and parameters were changed.
fn preset_line(recipe: &Recipe, presets: &[PresetCard]) -> Option<String> {
    let preset = presets.iter().find(|preset| preset.name == recipe.name)?;
    let set = recipe.find_overrides(&Recipe::parse(&preset.text).ok()?)?;
    let cells = set.cells.map(|cells| format!(" --cells {cells}"));
    let seed = set.seed.map(|seed| format!(" --seed {seed}"));
    let parameters = set.parameters.iter().map(|parameter| format!(" --set {}", quote_for_shell(parameter.as_ref())));
    let words: String = cells.into_iter().chain(seed).chain(parameters).collect();
    Some(format!("thalweg build {}{words}", preset.name))
}

/// Writes a picture to a temporary file, then renames it.
fn write_picture(path: &Path, picture: &Picture) -> Result<(), String> {
    let encode = |file: &mut _| picture.encode_png(file).map_err(Error::io(path, "write"));
    write_atomically(path, encode).map_err(|error| error.to_string())
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
        let first = find_free_path(folder.path(), "a.png");
        std::fs::write(&first, "x").unwrap();
        let second = find_free_path(folder.path(), "a.png");
        assert_eq!(second, folder.path().join("a-2.png"));
    }
}
