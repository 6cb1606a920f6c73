//! Tests of what is kept if a run is stopped, fails, or meets another; and of what is refused so that nothing is lost.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::{Place, signal, text};

/// Several thousand short steps.
const LONG: &str = "extent = [12000, 12000]\ncells = 600\n[[stage]]\nmodel = \"fault_formation\"\ncount = 8000\n";

/// A recipe that writes `sediment` and `water`.
const WET: &str = "extent = [600, 400]\ncells = 24\n[[stage]]\nmodel = \"gradient_noise\"\n[[stage]]\nmodel = \"fluvial\"\nrain = 0\nsteps = 3\ntables = { springs = [{ x = 300, y = 200, rate = 5 }] }\n";

/// A recipe that writes `basin` and similar layers.
const DRAINED: &str =
    "extent = [600, 400]\ncells = 24\n[[stage]]\nmodel = \"gradient_noise\"\n[[stage]]\nmodel = \"drainage\"\n";

fn names(place: &Place, folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(place.path(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Runs a command and interrupts it after its first progress.
fn interrupted(place: &Place, line: &str) -> Output {
    let mut child =
        place.command(&format!("{line} --json")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    signal(&child, "-INT");
    std::io::Read::read_to_string(&mut out, &mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    Output { stdout: said.into_bytes(), ..output }
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_is_replaced_by_no_other() {
    let place = Place::new();
    place.write("r.toml", LONG);
    place.write("other.toml", DRAINED);
    assert_eq!(interrupted(&place, "build r.toml --out w").status.code(), Some(130));
    let kept = place.read("w/checkpoint.thalweg");
    let ways = ["w/checkpoint.thalweg", "thalweg resume", "--fresh", "-o"];
    // The same command again, and another recipe: refused before any work, and the checkpoint is unchanged.
    place.refuses("build r.toml --out w", &ways);
    place.refuses("build other.toml --out w", &ways);
    assert!(place.read("w/checkpoint.thalweg") == kept);
    // Another folder works, and so does giving the checkpoint up.
    place.works("build other.toml --out v --quiet");
    place.works("build other.toml --out w --fresh --quiet");
    assert!(!place.path("w/checkpoint.thalweg").exists());
    // The same holds for a single file, and for a checkpoint named by the user.
    let line = "generate fault_formation -o x.tif --cells 600 --cell-size 20 --set count=8000";
    for more in ["", " --checkpoint c"] {
        assert_eq!(interrupted(&place, &format!("{line}{more}")).status.code(), Some(130));
        place.refuses(&format!("{line}{more}"), &["thalweg resume", "--fresh", "-o"]);
    }
    // The checkpoint of a finished run is no obstacle; a file of the user's is not mistaken for a checkpoint.
    let short = "generate shape -o y.tif --cells 4 --cell-size 1 --quiet --checkpoint d";
    place.works(short);
    place.works(short);
    place.works("resume d --quiet");
    place.write("mine", "my own text, and no checkpoint");
    for fresh in ["", " --fresh"] {
        place.refuses(
            &format!("{}{fresh}", short.replace("checkpoint d", "checkpoint mine")),
            &["mine", "not a checkpoint"],
        );
    }
}

#[test]
fn a_folder_holds_one_world() {
    let place = Place::new();
    place.write("wet.toml", WET);
    place.write("drained.toml", DRAINED);
    place.works("build wet.toml --out w --quiet");
    for own in ["notes.txt", "mine.tif", "pool.tif"] {
        place.write(&format!("w/{own}"), "mine");
    }
    assert!(place.path("w/water.tif").exists());
    place.works("build drained.toml --out w --quiet");
    place.works("build drained.toml --out fresh --quiet");
    let mut expected = names(&place, "fresh");
    expected.extend(["notes.txt", "mine.tif", "pool.tif"].map(String::from));
    assert_eq!(names(&place, "w"), expected);
    for file in ["height.tif", "basin.tif", "recipe.toml"] {
        assert_eq!(place.read(&format!("w/{file}")), place.read(&format!("fresh/{file}")), "{file}");
    }
    assert_eq!(place.read("w/pool.tif"), b"mine");
    // The outputs of drain and rivers have reports of their own, which replace only reports of the same kind.
    place.works("build wet.toml --out wet --quiet");
    place.works("drain wet/height.tif -o wet --quiet");
    assert!(place.path("wet/report.json").exists() && place.path("wet/drain.json").exists());
    place.works("drain w/height.tif -o d --breach 5,100 --runoff 300 --quiet");
    place.works("drain w/height.tif -o d --quiet");
    assert!(!place.path("d/cut.tif").exists() && !place.path("d/wetness.tif").exists());
    place.refuses("rivers w/basin.tif -o w", &["height.tif", "report.json", "another folder"]);
}

/// The layers of a run may have a folder of their own, or be among other files.
#[test]
fn a_folder_of_layers_holds_those_of_one_run() {
    let place = Place::with_dem();
    let wet = "apply fluvial dem.tif --set steps=3 --quiet";
    place.works(&format!("{wet} -o a.tif --layers l"));
    assert!(place.path("l/water.tif").exists() && place.path("l/sediment.tif").exists());
    for own in ["notes.txt", "mine.tif"] {
        place.write(&format!("l/{own}"), "mine");
    }
    place.works("apply drainage dem.tif -o b.tif --layers l --quiet");
    place.works("apply drainage dem.tif -o b.tif --layers fresh --quiet");
    let mut expected = names(&place, "fresh");
    assert!(expected.len() > 2, "{expected:?}");
    expected.extend(["notes.txt", "mine.tif"].map(String::from));
    assert_eq!(names(&place, "l"), expected);
    // Inputs are kept even if an earlier run wrote them, and so is an output in that folder.
    place.works(&format!("{wet} -o l/out.tif --layers l --report l/out.json"));
    place.works("apply shape l/water.tif -o l/next.tif --layers l --quiet");
    let now = names(&place, "l");
    let stay = ["notes.txt", "mine.tif", "water.tif", "out.tif", "out.json", "next.tif"];
    assert!(stay.iter().all(|name| now.contains(*name)) && !now.contains("suspended.tif"), "{now:?}");
    // Layers do not go into a world's folder, nor a world into theirs.
    place.write("wet.toml", WET);
    place.works("build wet.toml --out w --quiet");
    place.refuses(&format!("{wet} -o x.tif --layers w"), &["report.json", "another folder"]);
    place.works(&format!("{wet} -o x.tif --layers m"));
    place.write("m/.lock", "");
    place.refuses("build wet.toml --out m", &[".thalweg-layers.json", "another folder"]);
}

#[test]
fn outputs_that_are_inputs_or_one_another() {
    let place = Place::with_dem();
    place.write("wet.toml", WET);
    place.works("build wet.toml --out w --quiet");
    place.works("apply shape dem.tif -o grey.png --quiet");
    std::fs::create_dir(place.path("sub")).unwrap();
    std::fs::hard_link(place.path("dem.tif"), place.path("hard.tif")).unwrap();
    std::fs::hard_link(place.path("dem.tif"), place.path("hard.png")).unwrap();
    place.write(
        "mask.toml",
        "from = \"dem.tif\"\n[[stage]]\nmodel = \"shape\"\nlayers = { amount = \"v/sediment.tif\" }\n",
    );
    std::fs::create_dir(place.path("v")).unwrap();
    std::fs::copy(place.path("dem.tif"), place.path("v/sediment.tif")).unwrap();
    std::fs::copy(place.path("mask.toml"), place.path("v/recipe.toml")).unwrap();
    let text = text(&place.read("v/recipe.toml")).replace("dem.tif", "../dem.tif").replace("v/sediment", "sediment");
    place.write("v/recipe.toml", text);
    place.write("v/.lock", "");
    std::fs::create_dir(place.path("u")).unwrap();
    place.write("u/.lock", "");
    for line in [
        "apply shape dem.tif -o dem.tif",
        "apply shape dem.tif -o sub/../dem.tif",
        "apply shape dem.tif -o hard.tif",
        "apply shape dem.tif -o x.tif --report x.tif",
        "apply shape dem.tif -o x.tif --checkpoint ./x.tif",
        "apply shape dem.tif -o x.tif --report dem.tif",
        "apply shape dem.tif -o x.tif --layer amount=hard.tif --checkpoint hard.tif",
        "apply shape grey.png -o x.tif --report grey.png.json",
        "apply shape dem.tif -o x.png --report x.png.json",
        "apply fluvial dem.tif -o water.tif --layers .",
        "apply trees dem.tif -o x.tif --report x_trees.csv",
        "generate shape -o x.tif --report sub/../x.tif --cells 4 --cell-size 1",
        "generate shape -o x.tif --frames f --animation x.png --report x.png --cells 4 --cell-size 1",
        "build mask.toml --out v",
        "build v/recipe.toml --out v --seed 5",
        "build wet.toml --out u --report u/height.tif",
        "build wet.toml --out u --checkpoint u/report.json",
        "drain w/height.tif -o w --runoff 300",
        "rivers w/height.tif -o w",
        "resample dem.tif -o hard.tif --cells 9",
        "resample dem.tif -o ./dem.tif --cells 9",
        "crop dem.tif -o dem.tif --window 0,0,4,4",
        "render map grey.png -o grey.png",
        "render map dem.tif -o hard.png",
        "render perspective dem.tif -o hard.png",
        "render perspective dem.tif --water grey.png -o grey.png",
        "render pair dem.tif w -o hard.png",
        "normals grey.png -o grey.png",
        "vary mask.toml -o hard.png",
    ] {
        let words = if line.contains("rivers w/height") { "is also an input" } else { "choose another output" };
        place.refuses(line, &[words]);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("dem.tif", place.path("link.tif")).unwrap();
        std::os::unix::fs::symlink("sub", place.path("way")).unwrap();
        place.refuses("apply shape dem.tif -o link.tif", &["link.tif", "is also an input", "dem.tif"]);
        place.refuses("apply shape dem.tif -o way/x.tif --report sub/x.tif", &["is written twice"]);
    }
    std::fs::create_dir(place.path("f")).unwrap();
    std::fs::copy(place.path("grey.png"), place.path("f/frame_00002.png")).unwrap();
    place.refuses(
        "apply shape f/frame_00002.png -o x.tif --frames f",
        &["frame_00002.png", "another folder with --frames"],
    );
    #[cfg(feature = "studio")]
    {
        place.write("grey.toml", "from = \"grey.png\"\n[[stage]]\nmodel = \"shape\"\n");
        let layers = "layers = { amount = \"sub/../grey.png\" }";
        place.write("layer.toml", format!("extent = [900, 900]\ncells = 9\n[[stage]]\nmodel = \"shape\"\n{layers}\n"));
        place.refuses("render studio grey.toml -o grey.png", &["choose another output"]);
        place.refuses("render studio layer.toml -o ./grey.png", &["choose another output"]);
        place.refuses("render studio dem.tif --start grey.png -o grey.png", &["choose another output"]);
    }
    // From its own unchanged recipe, a world may be rebuilt in its folder.
    place.works("build w/recipe.toml --out w --quiet");
}

/// With a limit on the size of files, which kills processes that ignore it; the checkpoint is the smaller file.
#[test]
#[cfg(unix)]
fn a_write_that_fails_at_the_end_keeps_the_run() {
    let limited = |place: &Place, line: &str| {
        let script = "ulimit -f 250; exec \"$0\" \"$@\"";
        let mut command = Command::new("bash");
        command.args(["-c", script, env!("CARGO_BIN_EXE_thalweg")]).args(line.split_whitespace());
        command.current_dir(place.path("")).output().unwrap()
    };
    let place = Place::new();
    let line = "generate gradient_noise -o x.asc --cells 200 --cell-size 5 --report x.json";
    place.works(&line.replace("x.asc", "whole.asc"));
    place.write("x.json", "{}");
    let output = limited(&place, line);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.contains("x.asc: cannot write") && said.lines().count() == 1, "{said}");
    assert!(
        said.contains("thalweg resume") && place.path("x.asc.checkpoint").exists() && !place.path("x.asc").exists()
    );
    assert_eq!(place.read("x.json"), b"{}", "nothing is replaced before all is whole");
    place.works("resume x.asc.checkpoint --quiet");
    assert_eq!(place.read("x.asc"), place.read("whole.asc"));
    assert!(!place.path("x.asc.checkpoint").exists());
    assert!(names(&place, "").iter().all(|name| !name.starts_with(".thalweg")));
}

/// The folder of a running build is moved away, and a file is put in its place.
#[test]
#[cfg(unix)]
fn where_no_checkpoint_can_be_written_it_goes_among_the_passing_files() {
    let place = Place::new();
    place.write("r.toml", LONG);
    std::fs::create_dir(place.path("tmp")).unwrap();
    let mut command = place.command("build r.toml --out w --json");
    let mut child = command.env("TMPDIR", place.path("tmp")).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    std::fs::rename(place.path("w"), place.path("away")).unwrap();
    place.write("w", "in the way");
    signal(&child, "-INT");
    std::io::Read::read_to_string(&mut out, &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let last: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let checkpoint = last["checkpoint"].as_str().unwrap();
    assert!(std::path::Path::new(checkpoint).starts_with(place.path("tmp")), "{checkpoint}");
    std::fs::remove_file(place.path("w")).unwrap();
    place.works(&format!("resume {checkpoint} --quiet"));
    assert!(place.path("w/report.json").exists());
}

#[test]
fn names_that_are_too_long_are_refused_before_the_work() {
    let place = Place::new();
    let long = "x".repeat(300);
    place.refuses(&format!("generate shape -o {long}.tif --cells 4 --cell-size 1"), &["cannot write"]);
    // As long as the system allows: then its checkpoint, which has a longer name, needs another.
    let long = "x".repeat(251);
    place.refuses(&format!("generate shape -o {long}.tif --cells 4 --cell-size 1"), &["checkpoint", "cannot write"]);
    place.works(&format!("generate shape -o {long}.tif --cells 4 --cell-size 1 --checkpoint c"));
}

#[test]
#[cfg(unix)]
fn what_killed_runs_left_is_cleaned_away() {
    let place = Place::new();
    place.write("r.toml", DRAINED);
    place.works("build r.toml --out w --quiet");
    let expected = names(&place, "w");
    std::fs::create_dir(place.path("w/.thalweg-4294967294-3.tmp")).unwrap();
    place.write("w/.thalweg-4294967294-3.tmp/height.tif", "half");
    place.write("w/.thalweg-4294967294-4.tmp", "half");
    // A link of such a name is left alone, and so is its target.
    place.write("own", "mine");
    std::os::unix::fs::symlink("../own", place.path("w/.thalweg-4294967294-5.tmp")).unwrap();
    place.works("build r.toml --out w --quiet");
    std::fs::remove_file(place.path("w/.thalweg-4294967294-5.tmp")).unwrap();
    assert_eq!((names(&place, "w"), place.read("own")), (expected, b"mine".to_vec()));
}

/// Names of arbitrary bytes, in every command, in reports, checkpoints, messages and the suggested resume command.
#[test]
#[cfg(target_os = "linux")]
fn paths_need_not_be_text() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt as _;

    let place = Place::with_dem();
    let raw = |name: &[u8]| OsStr::from_bytes(name).to_os_string();
    let folder = place.path("").join(raw(b"f\xff \x1b[31m'"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(place.path("dem.tif"), folder.join(raw(b"\xfe.tif"))).unwrap();
    std::fs::write(folder.join(raw(b"r\xfd.toml")), WET).unwrap();
    let run = |line: &[u8]| {
        let words: Vec<OsString> = line.split(|byte| *byte == b' ').map(raw).collect();
        Command::new(env!("CARGO_BIN_EXE_thalweg")).current_dir(&folder).args(words).output().unwrap()
    };
    for line in [
        &b"build r\xfd.toml --out w\xff --report \xff.json --checkpoint \xff.c --every 0"[..],
        b"build w\xff/recipe.toml --quiet",
        b"resume \xff.c",
        b"build aged --from \xfe.tif --out a\xff --quiet --until smooth",
        b"generate gradient_noise -o g\xff.png --cells 9 --cell-size 5 --layers l\xff --frames f\xff --animation m\xff.png",
        b"apply shape \xfe.tif -o b\xff.tif --layer amount=\xfe.tif --checkpoint k\xff --every 0",
        b"resume k\xff --json",
        b"info \xfe.tif --json",
        b"measure \xfe.tif --plot \xff.svg",
        b"drain \xfe.tif -o d\xff --json",
        b"rivers \xfe.tif -o r\xff --catchment 30000",
        b"check-rivers r\xff",
        b"render map w\xff -o s\xff.png",
        b"render perspective \xfe.tif -o v\xff.png",
        b"render sheet \xfe.tif \xfe.tif -o c\xff.png",
        b"mesh \xfe.tif -o \xff.glb",
        b"normals \xfe.tif -o n\xff.png",
        b"resample \xfe.tif -o s\xff.tif --cells 9",
        b"crop \xfe.tif -o c\xff.tif --window 0,0,4,4",
        b"vary r\xfd.toml -o y\xff.png --seeds 2",
    ] {
        let output = run(line);
        let line = text(line);
        // The recipe of `aged` need not have a stage of this name.
        let is_aged = line.contains("aged") && text(&output.stderr).contains("unknown stage");
        assert!(output.status.success() || is_aged, "{line}: {}", text(&output.stderr));
        assert!(!output.stdout.contains(&0x1b), "{line}");
    }
    // The bytes of a name are in its report, and a message shows them without the terminal interpreting them.
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join(raw(b"\xff.json"))).unwrap()).unwrap();
    let file = report["files"][0].as_str().unwrap();
    assert_eq!(file, "file:w%FF/height.tif");
    let said = text(&run(b"apply shape \xff\x1b[2J\n.tif -o x.tif").stderr);
    assert!(said.contains("\\xff\\u{1b}[2J\\n.tif: cannot read") && said.lines().count() == 1, "{said}");
    let said = text(&run(b"apply shape x.tif --no\x1bpe").stderr);
    assert!(said.contains("unexpected argument") && !said.contains('\u{1b}'), "{said}");
    // After it is stopped, it can be resumed with the command that it prints.
    std::fs::write(folder.join("long.toml"), LONG).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .current_dir(&folder)
        .args(["build", "long.toml", "--out"])
        .arg(raw(b"long\xff"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "-INT");
    let mut said = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let line = said.split("continue with: thalweg ").nth(1).unwrap().trim();
    let script = format!("{} {line} --quiet", env!("CARGO_BIN_EXE_thalweg"));
    let again = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(again.status.success(), "{script}: {}", text(&again.stderr));
    assert!(folder.join(raw(b"long\xff")).join("report.json").exists());
}

#[test]
fn messages_are_short_and_name_what_is_allowed() {
    let place = Place::with_dem();
    for exaggeration in ["0", "1e300"] {
        let line = format!("render perspective dem.tif -o x.png --exaggeration={exaggeration}");
        place.rejects(&line, &["--exaggeration", "must be 0.000001 to 1000\n"]);
    }
    for (line, names) in [
        ("drain dem.tif -o d --breach 1", "DEPTH,LENGTH"),
        ("render map dem.tif -o x.png --sun 1,2,3", "AZIMUTH,ALTITUDE"),
        ("render perspective dem.tif -o x.png --towards a", "AZIMUTH,PITCH"),
        ("render map dem.tif -o x.png --height 1", "MIN,MAX"),
        ("drain dem.tif -o d --outlet-at 1", "X,Y"),
    ] {
        let said = text(&place.run(line).stderr);
        assert!(said.contains(&format!("must be {names}, two numbers")), "{line}: {said}");
    }
    place.works("rivers dem.tif -o r --catchment 20000 --quiet");
    let rivers = text(&place.read("r/rivers.geojson")).replace("\"surfaces_m\"", "\"surfaces\"");
    place.write("r/rivers.geojson", rivers);
    let said = text(&place.run("check-rivers r").stderr);
    assert!(
        said.contains("rivers.geojson: is not a GeoJSON file of reaches")
            && said.contains("surfaces_m")
            && said.len() < 300,
        "{said}"
    );
    let long = "x".repeat(4000);
    let said = text(&place.run(&format!("apply shape dem.tif -o x.tif --set height={long}")).stderr);
    assert!(said.contains("4002 characters") && said.len() < 600, "{said}");
    for threads in ["99999", "-1", "many", "1025"] {
        let output = place.command("apply shape dem.tif -o x.tif").env("RAYON_NUM_THREADS", threads).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{threads}: {said}");
        let refusal = format!("RAYON_NUM_THREADS = {threads}: must be a whole number from 1 to 1024");
        assert!(said.contains(&refusal), "{said}");
    }
    for threads in ["", "0", "3", "1024"] {
        let output = place.command("apply shape dem.tif -o x.tif").env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(output.status.success(), "{threads}: {}", text(&output.stderr));
    }
}
