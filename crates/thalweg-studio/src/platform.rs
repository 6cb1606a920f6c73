//! The thin seam between the studio and its system: threads, dialogs, what a page does that has no disk. What another
//! system lacks, a browser above all, is exchanged here.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::thread;

use crate::goods::Goods;

/// Does `work` beside the window.
///
/// # Errors
/// When the system gives no thread.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_string()).spawn(work)
}

/// A question put to the user in a dialog of the system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Which recipe or elevation model to open.
    Open,
    /// Where to save the recipe.
    Save,
    /// Which elevation model to take the ground from.
    Ground,
    /// Into which folder to export these.
    Export(Goods),
    /// Into which folder to write the frames of a turntable.
    Turntable,
    /// Into which folder to write the frames of a time-lapse.
    TimeLapse,
}

/// How questions are put; a test has its own answers.
pub type Asker = dyn Fn(Ask) -> Receiver<Option<PathBuf>>;

/// Asks beside the window, which goes on; the answer comes through the channel, none if it was closed.
#[cfg(not(target_arch = "wasm32"))]
pub fn ask(question: Ask) -> Receiver<Option<PathBuf>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let work = move || {
        let dialog = rfd::FileDialog::new();
        let terrains = &thalweg_io::Format::EXTENSIONS.map(|(extension, _)| extension);
        let chosen = match question {
            Ask::Open => dialog
                .add_filter("recipes and elevation models", &[&["toml"][..], terrains].concat())
                .set_title("Open a recipe or an elevation model")
                .pick_file(),
            Ask::Ground => {
                dialog.add_filter("elevation models", terrains).set_title("Take the ground from a file").pick_file()
            }
            Ask::Save => dialog.add_filter("recipe", &["toml"]).set_file_name("world.toml").save_file(),
            Ask::Export(_) => dialog.set_title("Export into a folder").pick_folder(),
            Ask::Turntable | Ask::TimeLapse => dialog.set_title("Write frames into a folder").pick_folder(),
        };
        // Nobody may be waiting any more.
        let _ = sender.send(chosen);
    };
    // Without a thread the sender is dropped, and the answer is none.
    let _ = spawn("dialog", work);
    receiver
}

/// What a page does for the studio where there is no disk, no dialog and no window of the system's.
pub trait Host {
    /// Gives the user a file.
    fn give(&self, name: &str, bytes: &[u8]);
    /// Puts a question that is answered with yes or no.
    fn allows(&self, question: &str) -> bool;
    /// The address under which the page opens a recipe of this link.
    fn address(&self, link: &str) -> String;
}

/// A number that nobody chose, for dice.
pub fn dice() -> u64 {
    let since = web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH);
    since.map_or(1, |time| u64::from(time.subsec_micros())) % 100_000
}
