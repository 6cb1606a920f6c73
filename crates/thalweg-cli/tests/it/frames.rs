//! Tests of pictures of a run in progress, and of the animation made of them.

use std::process::Stdio;

use crate::support::{Place, signal};

const RECIPE: &str = r#"
name = "rill"
extent = [600, 400]
cells = 60
[[stage]]
model = "gradient_noise"
wavelength = 300
[[stage]]
model = "fluvial"
label = "run"
rain = 0
steps = 25
tables = { springs = [{ x = 300, y = 200, rate = 5 }] }
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("rill.toml", RECIPE);
    place
}

/// Returns the frames in a folder by name.
fn frames(place: &Place, folder: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(place.path(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut frames: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|ending| ending == "png"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    frames.sort();
    frames
}

#[test]
fn frames_are_numbered_and_come_together_in_an_animation() {
    let place = place();
    place.works("build rill.toml --out w --frames f --frames-every 10 --frames-size 30 --animation a.png --quiet");
    let frames = frames(&place, "f");
    // The ground once, then after 10, 20 and all 25 steps.
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["frame_00001.png", "frame_00002.png", "frame_00003.png", "frame_00004.png"]);
    assert!(frames.windows(2).all(|two| two[0].1 != two[1].1), "each shows more water");
    let sides = |bytes: &[u8]| [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()));
    assert!(frames.iter().all(|(_, bytes)| sides(bytes) == [30, 20]));
    let animation = place.read("a.png");
    assert_eq!(sides(&animation), [30, 20]);
    let at = animation.windows(4).position(|chunk| chunk == b"acTL").expect("an animation");
    assert_eq!(animation[at + 4..at + 8], 4u32.to_be_bytes());
    let files = place.json("w/report.json")["files"].to_string();
    assert!(files.contains("a.png"), "{files}");
    // Frames of one stage alone.
    place.works("build rill.toml --out w --frames g --frames-of run --frames-every 25 --quiet");
    assert_eq!(self::frames(&place, "g").len(), 1);
}

#[test]
fn what_cannot_be_drawn_is_refused_before_the_run() {
    let place = Place::with_dem();
    let line = "apply fluvial dem.tif -o x.tif";
    place.refuses(&format!("{line} --frames . --frames-of fluvail"), &["stage `fluvail`", "did you mean `fluvial`"]);
    place.refuses(&format!("{line} --frames . --animation a.gif"), &["a.gif", ".png"]);
    place.refuses(&format!("{line} --frames dem.tif/f"), &["dem.tif"]);
    let alone = place.run(&format!("{line} --animation a.png"));
    assert_eq!(alone.status.code(), Some(2), "an animation needs frames");
}

/// Runs a command that prints JSON, and interrupts it after its first progress report.
#[cfg(unix)]
fn interrupted(place: &Place, line: &str) {
    let mut child = place.command(line).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    signal(&child, "-INT");
    std::io::Read::read_to_string(&mut out, &mut said).unwrap();
    child.wait().unwrap();
    assert!(said.contains("interrupted"), "{said}");
}

#[test]
fn a_folder_holds_the_frames_of_one_run() {
    let place = place();
    let line = "build rill.toml --out w --frames f --frames-size 30 --quiet";
    place.works(&format!("{line} --set run.steps=80 --frames-every 1"));
    assert_eq!(frames(&place, "f").len(), 81);
    for own in ["title.png", "frame_1.png", "frame_00999.png"] {
        place.write(&format!("f/{own}"), "mine");
    }
    // Frames of another recipe, or of the same recipe with fewer frames.
    for (set, every, count) in [("30", 10, 4), ("30", 30, 2), ("20", 5, 5)] {
        place.works(&format!("{line} --set run.steps={set} --frames-every {every}"));
        let names: Vec<_> = frames(&place, "f").into_iter().map(|(name, _)| name).collect();
        let drawn = (1..=count).map(|n| format!("frame_{n:05}.png"));
        let mut expected: Vec<_> =
            drawn.chain(["frame_00999.png", "frame_1.png", "title.png"].map(String::from)).collect();
        expected.sort();
        assert_eq!(names, expected);
    }
}

#[test]
#[cfg(unix)]
fn a_run_does_not_go_on_among_another_s_frames() {
    let place = place();
    interrupted(
        &place,
        "build rill.toml --out w --set run.steps=4000 --frames f --frames-every 100 --frames-size 20 --json",
    );
    place.works("build rill.toml --out v --frames f --frames-size 20 --quiet");
    place.refuses("resume w/checkpoint.thalweg", &["f: contains the frames of another run"]);
    std::fs::rename(place.path("f"), place.path("g")).unwrap();
    place.works("resume w/checkpoint.thalweg --quiet");
    assert!(frames(&place, "f").last().unwrap().0 == "frame_00041.png");
}

#[test]
#[cfg(unix)]
fn a_resumed_run_goes_on_counting() {
    let place = place();
    let line = "build rill.toml --out w --set run.steps=4000 --frames f --frames-every 100 --frames-size 20 --json";
    interrupted(&place, line);
    let before = frames(&place, "f");
    assert!(before.len() < 41);
    place.works("resume w/checkpoint.thalweg --quiet");
    let all = frames(&place, "f");
    assert_eq!(all.len(), 41);
    assert_eq!(all[..before.len()], before, "frames drawn before stay");
    place.works(&line.replace(" f ", " g ").replace("--json", "--quiet"));
    assert!(frames(&place, "g") == all, "and all are those of a run that was not stopped");
}
