//! Tests of the studio in a real window on a virtual display: mouse and keys by xdotool, pictures by the window's own
//! key S.
#![cfg(all(feature = "studio", target_os = "linux"))]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thalweg_render::pictures::picture::Picture;

/// A program that is ended with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One window at a time: several on few cores would slow one another down.
static ONE: Mutex<()> = Mutex::new(());

/// A window on a display of its own.
struct Session {
    studio: Process,
    _server: Process,
    display: String,
    folder: tempfile::TempDir,
    // Dropped last.
    _turn: MutexGuard<'static, ()>,
}

impl Session {
    fn open(args: &[&str]) -> Self {
        let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut server = Command::new("Xvfb")
            // Without -noreset, the server resets when its last client leaves, and refuses clients meanwhile.
            .args(["-displayfd", "1", "-noreset", "-screen", "0", "1280x800x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is needed: on Debian apt-get install xvfb xdotool mesa-vulkan-drivers");
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let display = format!(":{}", number.trim());
        let ready = || Command::new("xdotool").arg("getdisplaygeometry").env("DISPLAY", &display).output();
        let start = Instant::now();
        while !ready().expect("xdotool is needed").status.success() {
            assert!(start.elapsed() < Duration::from_secs(30), "Xvfb does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        let folder = tempfile::tempdir().unwrap();
        let studio = Command::new(env!("CARGO_BIN_EXE_thalweg"))
            .arg("studio")
            .args(args)
            .current_dir(folder.path())
            .env("DISPLAY", &display)
            .env_remove("WAYLAND_DISPLAY")
            .env("XDG_RUNTIME_DIR", folder.path())
            .spawn()
            .unwrap();
        let mut session = Self { studio: Process(studio), _server: Process(server), display, folder, _turn: turn };
        session.wait("the window opens", |session| {
            session.said(&["search", "--onlyvisible", "--name", "thalweg studio"]).is_some_and(|id| !id.is_empty())
        });
        // There is no window manager that would give it the keyboard focus.
        let window = session.said(&["search", "--onlyvisible", "--name", "thalweg studio"]).unwrap_or_default();
        session.xdo(&format!("windowfocus {}", window.lines().next().unwrap_or_default()));
        session
    }

    /// Returns what xdotool prints, if it succeeds.
    fn said(&self, args: &[&str]) -> Option<String> {
        let done =
            Command::new("xdotool").args(args).env("DISPLAY", &self.display).output().expect("xdotool is needed");
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
    }

    fn xdo(&self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.said(&words).unwrap_or_else(|| panic!("xdotool {line}"));
        std::thread::sleep(Duration::from_millis(250));
    }

    /// Returns a picture that no longer changes, because the run is done.
    fn settled(&mut self) -> Picture {
        let start = Instant::now();
        let (_, mut last) = self.picture();
        loop {
            std::thread::sleep(Duration::from_secs(2));
            let (_, next) = self.picture();
            if colours(&next) > 500 && differing(&last, &next) == 0.0 {
                return next;
            }
            last = next;
            assert!(start.elapsed() < Duration::from_secs(90), "the land changes for ever");
        }
    }

    fn wait(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(self.studio.0.try_wait().unwrap().is_none(), "the studio ended while waiting until {what}");
            assert!(start.elapsed() < Duration::from_secs(90), "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn files(&self) -> BTreeSet<String> {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|file| file.unwrap().file_name());
        files.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with(".png")).collect()
    }

    /// Presses S; returns the name of the new picture, and the picture.
    fn picture(&mut self) -> (String, Picture) {
        let before = self.files();
        self.xdo("key s");
        self.wait("a picture is saved", |session| session.files().len() > before.len());
        let name = self.files().difference(&before).next().unwrap().clone();
        let file = std::fs::File::open(self.folder.path().join(&name)).unwrap();
        (name, Picture::decode_png(BufReader::new(file)).unwrap())
    }

    /// Returns a picture whose name has this number of droplets, once the view has caught up.
    fn picture_after(&mut self, droplets: u64) -> Picture {
        let start = Instant::now();
        loop {
            let (name, _) = self.picture();
            if Self::droplets(&name) == droplets {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{name}, not {droplets} droplets");
        }
        std::thread::sleep(Duration::from_secs(3));
        let (name, picture) = self.picture();
        assert_eq!(Self::droplets(&name), droplets);
        picture
    }

    /// Returns the number of droplets in a picture's name.
    fn droplets(name: &str) -> u64 {
        let stem = name.split("-droplets").next().unwrap();
        stem.rsplit('-').next().unwrap().parse().unwrap()
    }
}

/// Counts the different colours in a picture; a blank one has only a few.
fn colours(picture: &Picture) -> usize {
    picture.rgb.as_slice().iter().collect::<BTreeSet<_>>().len()
}

/// Returns the fraction of pixels that differ visibly.
fn differing(a: &Picture, b: &Picture) -> f64 {
    assert_eq!(a.size(), b.size());
    let far = |(a, b): (&[u8; 3], &[u8; 3])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 12);
    let (a, b) = (a.rgb.as_slice(), b.rgb.as_slice());
    a.iter().zip(b).filter(|pair| far(*pair)).count() as f64 / a.len() as f64
}

const SMALL: &str = r#"
name = "small"
extent = [6400.0, 6400.0]
cells = 96
seed = 3

[[stage]]
model = "gradient_noise"
amplitude = 600.0
wavelength = 3000.0

[[stage]]
model = "stream_power"
years = 400000.0
step = 20000.0
"#;

/// Enough rain for far more than a minute at the window's default pace.
const LONG: &str = r#"
name = "long"
extent = [5120.0, 5120.0]
cells = 512

[[stage]]
model = "gradient_noise"
amplitude = 500.0
wavelength = 2500.0

[[stage]]
model = "droplets"
density = 4e6
"#;

fn recipe(folder: &Path) -> String {
    let path = folder.join("small.toml");
    std::fs::write(&path, SMALL).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn a_scripted_session() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::open(&[&recipe(folder.path())]);
    session.xdo("mousemove 700 380");
    let first = session.settled();
    assert!(colours(&first) > 500, "the picture is blank: {} colours", colours(&first));
    // Drag, then zoom.
    session.xdo("mousedown 1");
    session.xdo("mousemove 760 400");
    session.xdo("mousemove 840 430");
    session.xdo("mouseup 1");
    let (_, turned) = session.picture();
    assert!(differing(&first, &turned) > 0.1, "a drag turns the land");
    for _ in 0..4 {
        session.xdo("click 4");
    }
    let (_, near) = session.picture();
    assert!(differing(&turned, &near) > 0.1, "the wheel brings it nearer");
    // The map, and back.
    session.xdo("key m");
    let (_, map) = session.picture();
    assert!(differing(&near, &map) > 0.2, "M shows the map");
    session.xdo("key m");
    session.xdo("key Home");
    let (name, home) = session.picture();
    let before = Session::droplets(&name);
    // One droplet, then ten thousand.
    session.xdo("mousemove 700 400");
    session.xdo("click 1");
    session.picture_after(before + 1);
    session.xdo("key space");
    let wet = session.picture_after(before + 10_001);
    assert!(differing(&home, &wet) > 0.001);
    // The terrain before erosion, while B is held.
    session.xdo("keydown b");
    std::thread::sleep(Duration::from_secs(3));
    let (_, old) = session.picture();
    session.xdo("keyup b");
    assert!(differing(&wet, &old) > 0.05, "B shows the land before");
    // Undo removes the droplets.
    session.xdo("key ctrl+z");
    session.picture_after(before + 1);
}

#[test]
fn it_opens_without_a_question_and_rivers_are_blue_at_once() {
    let mut session = Session::open(&[]);
    let blue = |picture: &Picture| {
        let is = |[r, g, b]: &&[u8; 3]| *b > 190 && u16::from(*b) > u16::from(*r) + 70 && *b > *g;
        picture.rgb.as_slice().iter().filter(is).count()
    };
    // On a quiet machine this should take at most five seconds; the actual time is printed.
    let start = Instant::now();
    loop {
        let (name, picture) = session.picture();
        let rivers = blue(&picture);
        if rivers > 500 {
            println!("{rivers} blue pixels in {name} {:.1} s after the window opened", start.elapsed().as_secs_f64());
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no rivers: {rivers} blue pixels");
    }
}

#[test]
fn a_window_of_a_pixel_and_closing_while_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.toml");
    std::fs::write(&path, LONG).unwrap();
    let mut session = Session::open(&[&path.to_string_lossy()]);
    let id = session.said(&["search", "--onlyvisible", "--name", "thalweg studio"]).unwrap();
    let id = id.lines().next().unwrap().to_string();
    session.xdo(&format!("windowsize {id} 1 1"));
    std::thread::sleep(Duration::from_secs(1));
    assert!(session.studio.0.try_wait().unwrap().is_none(), "a window of 1 × 1 pixel ends the studio");
    session.xdo(&format!("windowsize {id} 900 600"));
    session.xdo("key ctrl+q");
    let start = Instant::now();
    loop {
        if let Some(status) = session.studio.0.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the window does not close");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the resident memory of a process in megabytes.
fn resident(id: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/statm")).unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 4096.0 / 1e6
}

#[test]
fn a_minute_of_play_takes_no_more_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.toml");
    std::fs::write(&path, LONG).unwrap();
    let mut session = Session::open(&[&path.to_string_lossy()]);
    let id = session.studio.0.id();
    // Marks first fill their share of memory.
    std::thread::sleep(Duration::from_secs(20));
    let early = resident(id);
    std::thread::sleep(Duration::from_secs(40));
    let late = resident(id);
    assert!(session.studio.0.try_wait().unwrap().is_none(), "the studio ended by itself");
    assert!(late < early + 120.0, "{early:.0} MB after 20 s, {late:.0} MB after 60 s");
}

#[test]
fn without_a_display_it_says_so_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["studio", &recipe(folder.path())])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    assert!(!done.status.success());
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("display") && said.contains("thalweg render studio"), "{said}");
    assert!(said.trim().lines().count() <= 2, "{said}");
}
