//! The platform layer between the studio and its system: threads, dialogs, and the services of a page, which has no
//! disk. Whatever another system lacks, above all a browser, is replaced here.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::thread;

use crate::run_export::RunExport;

/// Runs `work` in a thread.
///
/// # Errors
/// Returns an error if the system provides no thread.
pub fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_string()).spawn(work)
}

/// A question that is put to the user in a system dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogQuestion {
    /// The recipe or elevation model to open.
    Open,
    /// The file in which to save the recipe.
    Save,
    /// The elevation model to take the ground from.
    Ground,
    /// The folder to which these files are exported.
    Export(RunExport),
    /// The folder for the frames of a turntable.
    Turntable,
    /// The folder for the frames of a time-lapse.
    TimeLapse,
}

/// The function that asks questions; tests supply their own answers.
pub type DialogOpener = dyn Fn(DialogQuestion) -> Receiver<Option<PathBuf>>;

/// Opens a dialog without blocking the window. The answer arrives through the channel, `None` if the dialog was
/// closed.
#[cfg(not(target_arch = "wasm32"))]
pub fn open_dialog(question: DialogQuestion) -> Receiver<Option<PathBuf>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let work = move || {
        let dialog = rfd::FileDialog::new();
        let terrains = &thalweg_io::Format::EXTENSIONS.map(|(extension, _)| extension);
        let chosen = match question {
            DialogQuestion::Open => dialog
                .add_filter("recipes and elevation models", &[&["toml"][..], terrains].concat())
                .set_title("Open a recipe or an elevation model")
                .pick_file(),
            DialogQuestion::Ground => {
                dialog.add_filter("elevation models", terrains).set_title("Use the ground of a file").pick_file()
            }
            DialogQuestion::Save => dialog.add_filter("recipe", &["toml"]).set_file_name("world.toml").save_file(),
            DialogQuestion::Export(_) => dialog.set_title("Export into a folder").pick_folder(),
            DialogQuestion::Turntable | DialogQuestion::TimeLapse => {
                dialog.set_title("Write frames into a folder").pick_folder()
            }
        };
        // The receiver may be gone already.
        let _ = sender.send(chosen);
    };
    // Without a thread the sender is dropped, which counts as no answer.
    let _ = spawn_thread("dialog", work);
    receiver
}

/// The services of a page, where there is no disk, no dialog and no window of the system.
pub trait Host {
    /// Gives the user a file.
    fn deliver_file(&self, name: &str, bytes: &[u8]);
    /// Asks a question that is answered with yes or no.
    fn ask_permission(&self, question: &str) -> bool;
    /// Returns the address under which the page opens a recipe from this link.
    fn link_address(&self, link: &str) -> String;
}

/// Returns an arbitrary number below 100 000, for the dice button.
pub fn generate_number() -> u64 {
    let since = web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH);
    // The clock is random enough for a seed that the user sees and can type again; the world depends on the seed alone.
    since.map_or(1, |time| u64::from(time.subsec_micros())) % 100_000
}
