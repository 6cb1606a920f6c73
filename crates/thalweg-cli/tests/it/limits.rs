//! Tests that no file, whatever its kind or content, makes the command wait, run without end, or take more memory than
//! there is.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::long;
use crate::support::{Place, text};
use serde_json::{Value, json};

/// Runs a command that must end within 30 s.
#[track_caller]
fn in_time(mut command: Command, line: &str) -> Output {
    const MOST: Duration = Duration::from_secs(30);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > MOST {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{line}: not done after {MOST:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Runs a command line that must be refused in time with one short message that contains all `words`.
#[track_caller]
fn refuses(place: &Place, line: &str, words: &[&str]) {
    let output = in_time(place.command(line), line);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {message}");
    assert!(message.starts_with("error: ") && message.matches("error: ").count() == 1, "{line}: {message}");
    assert!(message.len() < 1500, "{line}: {message}");
    for word in words {
        assert!(message.contains(word), "{line}: `{word}` is missing in: {message}");
    }
}

fn pipe(place: &Place, name: &str) {
    let _ = fs::remove_file(place.path(name));
    assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
}

fn endless(place: &Place, name: &str) {
    let _ = fs::remove_file(place.path(name));
    symlink("/dev/zero", place.path(name)).unwrap();
}

/// Creates a file of one tebibyte that takes no space on the disk.
fn long(place: &Place, name: &str) {
    let _ = fs::remove_file(place.path(name));
    File::create(place.path(name)).unwrap().set_len(1 << 40).unwrap();
}

#[test]
fn what_is_no_plain_file_is_refused_at_once() {
    let place = Place::with_dem();
    place.write("x.r16", [0; 32]);
    fs::copy(place.path("dem.tif"), place.path("masked.tif")).unwrap();
    place.works("rivers dem.tif -o net --quiet");
    type Kind = (fn(&Place, &str), &'static str);
    let kinds: [Kind; 3] = [(pipe, "is a pipe"), (endless, "is a device"), (long, "1099511627776 bytes; at most")];
    for (make, words) in kinds {
        for (name, line) in [
            ("in.toml", "build in.toml --out w"),
            ("in.toml", "vary in.toml -o v.png"),
            ("in.tif", "info in.tif"),
            ("in.tif", "apply shape in.tif -o y.tif"),
            ("in.png", "drain in.png -o d"),
            ("in.npy", "measure in.npy"),
            ("in.asc", "render map in.asc -o y.png"),
            ("in.hgt", "mesh in.hgt -o y.glb"),
            ("in.r32", "render perspective in.r32 -o y.png"),
            ("in.tif", "render pair dem.tif in.tif -o y.png"),
            ("in.tif", "apply shape dem.tif -o y.tif --layer amount=in.tif"),
            ("in.tif", "render map dem.tif -o y.png --water in.tif"),
            ("x.r16.json", "normals x.r16 -o y.png"),
            ("masked.tif.msk", "resample masked.tif -o y.tif --cells 9x7"),
            ("in.csv", "render map dem.tif -o y.png --trees in.csv"),
            ("in.thalweg", "resume in.thalweg"),
            ("net/rivers.geojson", "check-rivers net"),
            ("net/lakes.geojson", "check-rivers net"),
            ("net/network.json", "check-rivers net"),
            ("net/lakes.tif", "check-rivers net"),
        ] {
            let kept = fs::read(place.path(name)).ok().filter(|_| name.starts_with("net/"));
            make(&place, name);
            // A table is read line by line, and a checkpoint's first bytes are read first.
            let words = if words.starts_with('1') && (name.ends_with(".thalweg") || name.ends_with(".csv")) {
                ""
            } else {
                words
            };
            refuses(&place, line, &[name, words]);
            fs::remove_file(place.path(name)).unwrap();
            kept.into_iter().for_each(|bytes| place.write(name, bytes));
        }
    }
}

/// Names and lines of a megabyte are not printed in full.
#[test]
fn messages_are_for_people() {
    let place = Place::new();
    let long = "x".repeat(1 << 20);
    let stage = |line: &str| format!("extent = [9, 9]\n[[stage]]\nmodel = \"shape\"\n{line}\n");
    for text in [
        format!("extent = [9, 9]\n[[stage]]\nmodel = \"{long}\"\n"),
        format!("{long} = 1"),
        format!("a = [{}", "0,".repeat(1 << 19)),
        stage(&format!("{long} = 1")),
        stage(&format!("label = 5 # {long}")),
        stage(&format!("layers = {{ {long} = \"a.tif\" }}")),
        format!("{}{}", stage(&format!("label = \"{long}\"")), "[[stage]]\nmodel = \"nosuch\"\n"),
        format!("rock = \"{long}\""),
    ] {
        place.write("r.toml", text);
        refuses(&place, "build r.toml --out w", &["r.toml"]);
    }
}

/// Builds a folder of rivers with lakes, and returns its document of reaches as well.
fn network() -> (Place, Value) {
    let place = Place::new();
    place.works("generate gradient_noise -o dem.tif --cells 64 --cell-size 30 --seed 5 --quiet");
    place.works("rivers dem.tif -o net --quiet");
    let document = place.json("net/rivers.geojson");
    assert!(document["features"].as_array().unwrap().len() > 5);
    (place, document)
}

#[test]
fn rivers_that_cannot_be_are_refused_in_time() {
    let (place, document) = network();
    let vertices = |reach: &Value| reach["geometry"]["coordinates"].as_array().unwrap().len();
    let long = document["features"].as_array().unwrap().iter().position(|reach| vertices(reach) > 3).unwrap();
    let properties = |reach: &mut Value, name: &str, value: Value| reach["properties"][name] = value;
    let many = |reach: &mut Value, n: usize, to: [f64; 2]| {
        let first = reach["geometry"]["coordinates"][0].clone();
        let line: Vec<Value> = (0..n).map(|k| if k % 2 == 0 { first.clone() } else { json!(to) }).collect();
        reach["geometry"]["coordinates"] = json!(line);
        for name in ["surfaces_m", "beds_m", "widths_m"] {
            reach["properties"][name] = json!(vec![1.0; n]);
        }
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Change<'_>, &[&str]); 12] = [
        (&|r| r["geometry"]["coordinates"][1] = json!([1.8e7, -50.0, 3.0]), &["leaves the terrain"]),
        (&|r| r["geometry"]["coordinates"][1] = json!([1.8e15, -1e15]), &["leaves the terrain"]),
        (&|r| r["properties"]["widths_m"][1] = json!(1e300), &["wide"]),
        (&|r| r["properties"]["widths_m"][1] = json!(-1), &["wide"]),
        (&|r| r["properties"]["surfaces_m"][1] = json!(1e9), &["surface"]),
        (&|r| r["properties"]["beds_m"] = json!([]), &["beds"]),
        (&|r| many(r, 2000, [40.0, -40.0]), &["segments of reaches"]),
        (&|r| many(r, 20_000, [1900.0, -1900.0]), &["in all"]),
        (&|r| properties(r, "id", json!(1u64 << 40)), &["is not a GeoJSON file of reaches"]),
        (&|r| properties(r, "run", json!("x".repeat(100_000))), &["is not a GeoJSON file of reaches"]),
        (&|r| properties(r, "discharge_m3_s", json!(null)), &["is not a GeoJSON file of reaches"]),
        (&|r| *r = json!(5), &["is not a GeoJSON file of reaches"]),
    ];
    for (change, words) in cases {
        let mut broken = document.clone();
        change(&mut broken["features"][long]);
        place.write("net/rivers.geojson", broken.to_string());
        refuses(&place, "check-rivers net", &[&["rivers.geojson"], words].concat());
    }
    // Reaches in a ring, and a long chain of reaches each downstream of the other, lead to a check that fails.
    let count = long::or(2_000, 20_000);
    for ring in [false, true] {
        let mut chain = document.clone();
        let reaches = (0..count).map(|n| {
            let mut reach = document["features"][long].clone();
            properties(&mut reach, "id", json!(n));
            properties(&mut reach, "ends", json!("river"));
            let next = if ring { (n + 1) % count } else { n + 1 };
            properties(&mut reach, "downstream", json!(next));
            let at = |k: u64| (k % 60) as f64 * 30.0 + 15.0;
            let [x, y] = [at(n), -at(n / 60)];
            reach["geometry"]["coordinates"] = json!([[x, y], [x + 0.5, y]]);
            for name in ["surfaces_m", "beds_m", "widths_m"] {
                reach["properties"][name] = json!([1.0, 1.0]);
            }
            reach
        });
        chain["features"] = reaches.collect();
        place.write("net/rivers.geojson", chain.to_string());
        let output = in_time(place.command("check-rivers net"), "a chain of reaches");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    }
    for broken in ["", "{", "[]", "{\"features\": {}}", "\u{feff}{}", "nul"] {
        place.write("net/rivers.geojson", broken);
        refuses(&place, "check-rivers net", &["rivers.geojson"]);
    }
    place.write("net/rivers.geojson", format!("{{\"features\": {}", "[".repeat(5_000_000)));
    refuses(&place, "check-rivers net", &["rivers.geojson"]);
}

#[test]
fn a_palette_that_is_none_is_refused() {
    let place = Place::new();
    // For some lengths the decoder itself returns an error; for the others it used to panic.
    for entries in [0, 1, 4, 5, 766, 767, 769, 771, 3000] {
        place.write("a.png", indexed(&vec![9; entries]));
        refuses(&place, "info a.png", &["a.png", "cannot be decoded"]);
    }
    for entries in [3, 6, 765, 768] {
        place.write("a.png", indexed(&vec![9; entries]));
        assert!(place.works("info a.png").contains("samples"));
    }
}

/// Returns an image of 2 × 2 pixels with a palette of the given bytes.
fn indexed(palette: &[u8]) -> Vec<u8> {
    let mut crc_table = [0u32; 256];
    for (n, entry) in crc_table.iter_mut().enumerate() {
        *entry = (0..8).fold(n as u32, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 });
    }
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0u32, |c, byte| crc_table[((c ^ u32::from(*byte)) & 0xff) as usize] ^ (c >> 8))
    };
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    // Deflate without compression: two rows, each with filter type 0 and two indices.
    let data = [0x78, 0x01, 0x01, 6, 0, 0xf9, 0xff, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1];
    let mut chunk = |name: &[u8; 4], data: &[u8]| {
        file.extend((data.len() as u32).to_be_bytes());
        let body = [&name[..], data].concat();
        file.extend(&body);
        file.extend(crc(&body).to_be_bytes());
    };
    chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 2, 8, 3, 0, 0, 0]);
    if !palette.is_empty() {
        chunk(b"PLTE", palette);
    }
    chunk(b"IDAT", &data);
    chunk(b"IEND", &[]);
    file
}

/// Runs a command line with an address space of `mebibytes`.
fn limited(place: &Place, line: &str, mebibytes: u64) -> Output {
    in_time(place.limited_command(line, mebibytes), line)
}

/// Under every limit a command works, or reports how much memory it needs and how much there is. It never aborts.
#[test]
fn every_command_weighs_its_memory() {
    let place = Place::new();
    let side = long::or(600, 1500);
    place.works(&format!("generate gradient_noise -o dem.tif --cells {side} --cell-size 20 --seed 3 --quiet"));
    place.works("rivers dem.tif -o net --quiet");
    place.write("r.toml", format!("extent = [9000, 9000]\ncells = {side}\n[[stage]]\nmodel = \"gradient_noise\"\n[[stage]]\nmodel = \"thermal\"\nsteps = 1\n"));
    place.works("build r.toml --out w --quiet");
    place.works("apply thermal dem.tif -o y.tif --set steps=3 --checkpoint c.thalweg --quiet");
    let lines = [
        format!("resample dem.tif -o x.tif --cells {}", 2 * side),
        "crop dem.tif -o x.tif --window 1,1,590,590".to_string(),
        "apply thermal dem.tif -o x.tif --set steps=1".to_string(),
        format!("generate gradient_noise -o x.tif --cells {side} --cell-size 10"),
        "build r.toml --out v".to_string(),
        "drain dem.tif -o d --runoff 400".to_string(),
        "rivers dem.tif -o r".to_string(),
        "check-rivers net".to_string(),
        "measure dem.tif".to_string(),
        "render map dem.tif -o x.png".to_string(),
        "render perspective w -o x.png".to_string(),
        "render pair dem.tif dem.tif -o x.png".to_string(),
        "mesh dem.tif -o x.glb --texture map".to_string(),
        "mesh dem.tif -o x.stl".to_string(),
        "normals dem.tif -o x.png --bits 16".to_string(),
        "info dem.tif".to_string(),
        "vary r.toml -o x.png --seeds 2 --cells 300".to_string(),
    ];
    // Below `enough` there is no memory for the threads; a little above it, there is none for the work of some
    // commands.
    let refusal = text(&limited(&place, "info dem.tif", 204).stderr);
    let bytes = |before: &str| -> u64 {
        let number = refusal.split(before).nth(1).and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number after `{before}`: {refusal}"))
    };
    let enough = 205 + ((bytes("threads: ") - bytes("required, ")) >> 20);
    // Below the size of its file the program cannot be loaded at all.
    let loaded = (fs::metadata(env!("CARGO_BIN_EXE_thalweg")).unwrap().len() >> 20) + 1;
    let limits = long::or(vec![150, 204, enough + 1, enough + 13], (loaded..loaded + 670).step_by(24).collect());
    let (mut refused, mut weighed) = (0, 0);
    let refusals = ["not enough room for ", " does not fit in memory: "];
    for line in &lines {
        for limit in &limits {
            let output = limited(&place, line, *limit);
            let message = text(&output.stderr);
            match output.status.code() {
                Some(0) => {}
                Some(1) => {
                    assert!(
                        message.contains("error: ") && refusals.iter().any(|words| message.contains(words)),
                        "{line}, {limit} MiB: {message}"
                    );
                    let numbers = message.contains(") required, ") && message.contains(") available");
                    assert!(numbers && message.contains("bytes of memory"), "{line}, {limit} MiB: {message}");
                    refused += 1;
                    // The threads are the first thing that finds no memory; this counts refusals for the memory of the
                    // work itself.
                    weighed += usize::from(!message.contains("threads"));
                }
                code => panic!("{line}, {limit} MiB: ended with {code:?}: {message}"),
            }
        }
        // With plenty of memory the command succeeds.
        let output = limited(&place, line, 4000);
        assert_eq!(
            output.status.code().filter(|code| *code == 0 || line.starts_with("check")),
            output.status.code(),
            "{line}: {}",
            text(&output.stderr)
        );
    }
    assert!(
        refused >= lines.len() && weighed >= 2,
        "{refused} refused, {weighed} for their work: are the limits low enough?"
    );
}

#[test]
fn what_no_machine_holds_is_refused_with_the_numbers() {
    let place = Place::with_dem();
    place.write("r.toml", "extent = [9000, 9000]\ncells = 65536\n[[stage]]\nmodel = \"gradient_noise\"\n");
    for line in [
        "resample dem.tif -o x.png --cells 65536x49151",
        "render perspective dem.tif -o x.png --size 1000000x1000000",
        "render pair dem.tif dem.tif -o x.png --size 1000000x1000000",
        "generate gradient_noise -o x.tif --cells 65536 --cell-size 1",
        "build r.toml --out w",
    ] {
        // The limit is below every estimate of these commands, on machines of any size.
        let output = limited(&place, line, 8000);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        assert!(message.contains("error: ") && !message.contains("panicked"), "{line}: {message}");
    }
    let message = text(&limited(&place, "resample dem.tif -o x.png --cells 65536x49151", 8000).stderr);
    assert!(
        message.contains("not enough room for resampling to 65536 × 49151 cells: ") && message.contains(") available"),
        "{message}"
    );
}
