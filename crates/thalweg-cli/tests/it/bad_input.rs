//! Tests of refused input: exit code 1, one message that names the input, its value and the allowed values, and no
//! file left behind.

use crate::support::{Place, text};

#[test]
fn unknown_names_and_values_out_of_range() {
    let place = Place::with_dem();
    place.refuses("build alpin", &["unknown preset `alpin`", "did you mean `alpine`?"]);
    place.refuses("apply gradient_nois dem.tif -o x.tif", &["unknown model `gradient_nois`", "`gradient_noise`"]);
    place.refuses("models nosuch", &["unknown model `nosuch`", "shape"]);
    place.refuses("apply gradient_noise dem.tif -o x.tif --set octavs=3", &["parameter `octavs`", "`octaves`"]);
    place.refuses("apply gradient_noise dem.tif -o x.tif --set octaves=0", &["gradient_noise.octaves = 0", "1 to"]);
    place.refuses("apply gradient_noise dem.tif -o x.tif --set octaves=many", &["octaves", "many", "whole"]);
    place.refuses("apply gradient_noise dem.tif -o x.tif --set amplitude=nan", &["amplitude", "nan"]);
    place.refuses("apply shape dem.tif -o x.tif --layer amont=dem.tif", &["input layer `amont`", "`amount`"]);
    place.rejects("apply shape dem.tif -o x.tif --sea-level 99999", &["--sea-level", "99999", "16000"]);
    place.rejects("generate shape -o x.tif --cells 4 --cell-size 0", &["--cell-size", "must be 0.001"]);
    place.refuses("generate shape -o x.tif --cells 99999999 --cell-size 1", &["99999999", "4294967296"]);
    place.refuses("generate elevation -o x.tif --cells 4 --cell-size 1", &["elevation"]);
}

#[test]
fn sizes_that_cannot_be() {
    let place = Place::new();
    place.refuses("build alpine --cells 1001 --out w", &["cells = 1001", "1000 or 1004"]);
    place.refuses("build alpine --cells 1048576 --out w", &["1048576 × 1048576 cells", "4294967296"]);
    place.refuses("build river_delta --cells 3 --out w", &["cells = 3", "256 (the coarsest level) or more"]);
}

#[test]
fn recipes_that_cannot_be() {
    let place = Place::new();
    let stage = "extent = [100, 100]\ncells = 4\n[[stage]]\nmodel = \"shape\"\n";
    for (recipe, words) in [
        ("extnt = [1, 1]", &["r.toml", "unknown key `extnt`", "`extent`"][..]),
        ("extent = [1, 1", &["r.toml"]),
        ("cells = 5", &["extent", "from"]),
        ("extent = [1, -1]", &["extent", "-1", "0.01"]),
        ("extent = [1, 1]\nseed = 1.5", &["seed = 1.5"]),
        ("extent = [1, 1]\nstage = 3", &["stage"]),
        (&format!("{stage}heigth = 3"), &["stage 1", "`heigth`", "`height`"]),
        (&format!("{stage}height = 1e9"), &["stage 1", "shape.height"]),
        (&format!("{stage}[[stage]]\nmodel = \"shape\""), &["stage 2", "`shape` is used twice"]),
        (&format!("{stage}layers = {{ amount = \"nosuch.tif\" }}"), &["nosuch.tif", "cannot read"]),
    ] {
        place.write("r.toml", recipe);
        // The folder is created and locked before a stage's layers are read.
        std::fs::create_dir_all(place.path("w")).unwrap();
        place.write("w/.lock", "");
        place.refuses("build r.toml --out w", words);
    }
    place.refuses("build nosuch.toml", &["nosuch.toml", "cannot read"]);
}

#[test]
fn knobs_that_cannot_be() {
    let place = Place::with_dem();
    place.write("r.toml", "extent = [100, 100]\ncells = 4\n[[stage]]\nmodel = \"shape\"\n");
    place.write("real.toml", "from = \"dem.tif\"\n[[stage]]\nmodel = \"thermal\"\n");
    for (line, words) in [
        ("--age 0", &["--age", "'0'", "0.1 to 10"][..]),
        ("--age -1", &["--age", "'-1'", "0.1 to 10"]),
        ("--rain nan", &["--rain", "'nan'", "0.1 to 10"]),
        ("--relief 9", &["--relief", "'9'", "0.25 to 4"]),
        ("--size 0.1", &["--size", "'0.1'", "0.25 to 4"]),
        ("--sea 1e9", &["--sea", "'1e9'", "-32000 to 32000 m"]),
        ("--rock granit", &["--rock", "'granit'", "clay", "similar", "'granite'"]),
        ("--rock granite,shale", &["--rock", "'granite,shale'", "clay"]),
        ("--age 1,2", &["--age", "'1,2'", "one value", "vary"]),
    ] {
        place.rejects(&format!("build r.toml {line} --out w"), words);
    }
    place.refuses("build r.toml --sea 20000 --out w", &["sea = 20000", "-16000 to 16000"]);
    place.refuses("build real.toml --size 2 --out w", &["size = 2", "dem.tif"]);
    place.refuses("build real.toml --relief 2 --out w", &["relief = 2", "dem.tif"]);
    place.write("rock.toml", "extent = [100, 100]\nrock = \"chese\"\n");
    place.refuses("build rock.toml --out w", &["rock.toml", "unknown rock `chese`", "granite", "clay"]);
}

/// All of this is refused before any work: no world is started and no file is written.
#[test]
fn variations_that_cannot_be() {
    let place = Place::with_dem();
    place.write("r.toml", "extent = [100, 100]\ncells = 4\n[[stage]]\nmodel = \"shape\"\n");
    place.write("real.toml", "from = \"dem.tif\"\n[[stage]]\nmodel = \"thermal\"\n");
    for (line, words) in [
        ("--seeds 0", &["--seeds", "'0'", "1 to 100"][..]),
        ("--seeds 200", &["--seeds", "'200'", "1 to 100"]),
        ("--seeds 3,five", &["--seeds", "'3,five'", "1 to 100"]),
        ("--age 1,2,99", &["--age", "'99'", "0.1 to 10"]),
        ("--rock granite,chese", &["--rock", "'chese'", "clay"]),
    ] {
        place.rejects(&format!("vary r.toml {line} -o x.png"), words);
    }
    for (line, words) in [
        ("r.toml --seeds 3,5,3", &["--seeds = seed 3", "given only once"][..]),
        ("r.toml --age 1,2,1", &["--age = age 1", "given only once"]),
        ("r.toml --set shape.height=1,2,1e9", &["shape.height 1e9", "shape.height = 1000000000", "16000"]),
        ("r.toml --set shape.height=1,many", &["shape.height many", "many"]),
        ("r.toml --set shape.heigth=1,2", &["`heigth`", "`height`"]),
        ("r.toml --set shap.height=1,2", &["unknown stage `shap`", "`shape`"]),
        ("r.toml --set height=1,2", &["height", "LABEL.PARAMETER=VALUE"]),
        ("r.toml --until nosuch", &["unknown stage `nosuch`"]),
        ("r.toml --age 1,2 --rain 1,2 --seeds 3", &["--age, --rain, --seeds", "one or two"]),
        ("r.toml --seeds 20 --age 1,2,3,4,5,6", &["worlds on a sheet = 120", "1 to 100"]),
        ("real.toml --size 1,2", &["size 2", "dem.tif"]),
        ("nosuch", &["unknown preset `nosuch`"]),
    ] {
        place.refuses(&format!("vary {line} -o x.png"), words);
    }
    place.refuses("vary r.toml -o x.jpg", &["x.jpg", ".png"]);
    place.refuses("vary r.toml -o nosuch/x.png", &["nosuch", "cannot write"]);
    // An error that only appears during the work is reported with the world in which it occurs.
    let stage = "[[stage]]\nmodel = \"shape\"\nlayers = { amount = \"nosuch.tif\" }\n";
    place.write("late.toml", format!("extent = [100, 100]\n{stage}"));
    place.refuses("vary late.toml --seeds 2 -o x.png", &["seed 1", "nosuch.tif", "cannot read"]);
}

#[test]
fn files_that_are_not_what_they_should_be() {
    let place = Place::with_dem();
    let dem = place.read("dem.tif");
    place.write("empty.tif", "");
    place.write("cut.tif", &dem[..dem.len() / 2]);
    place.write("head.tif", &dem[..8]);
    place.write("text.tif", "this is no TIFF");
    place.write("dem.foo", &dem);
    place.write("dem.nc", "CDF\x01");
    std::fs::create_dir(place.path("folder.tif")).unwrap();
    let ascii = |cols: &str, values: &str| {
        format!("ncols {cols}\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -9999\n{values}\n")
    };
    place.write("lying.asc", ascii("999999999999", "1 2"));
    place.write("short.asc", ascii("3", "1 2"));
    place.write("void.asc", ascii("2", "-9999 -9999"));
    place.write("infinite.asc", ascii("2", "1 inf"));
    place.write("high.asc", ascii("2", "1 17000"));
    place.write("dem.png", b"\x89PNG\r\n\x1a\n garbage");
    for (file, words) in [
        ("nosuch.tif", &["cannot read"][..]),
        ("empty.tif", &["empty"]),
        ("cut.tif", &[]),
        ("head.tif", &[]),
        ("text.tif", &[]),
        ("dem.foo", &[".tif", ".png"]),
        ("dem.nc", &["NetCDF", "gdal_translate dem.nc dem.tif"]),
        ("folder.tif", &["folder"]),
        ("lying.asc", &["999999999999"]),
        ("short.asc", &["3"]),
        ("void.asc", &["no"]),
        ("infinite.asc", &["inf"]),
        ("high.asc", &["17000", "16000"]),
        ("dem.png", &[]),
    ] {
        let words: Vec<&str> = [file].into_iter().chain(words.iter().copied()).collect();
        place.refuses(&format!("apply shape {file} -o x.tif"), &words);
    }
    place.works("apply shape infinite.asc -o x.tif --infinite-is-nodata");
}

/// Every value of a TIFF's directory is replaced by wrong values; a reader may accept some of them, but must never
/// panic or exhaust the memory.
#[test]
fn a_tiff_that_lies_about_its_size() {
    let place = Place::with_dem();
    let dem = place.read("dem.tif");
    assert_eq!(&dem[..4], b"II*\0");
    let directory = u32::from_le_bytes(dem[4..8].try_into().unwrap()) as usize;
    let entries = u16::from_le_bytes(dem[directory..directory + 2].try_into().unwrap()) as usize;
    for entry in 0..entries {
        let at = directory + 2 + 12 * entry;
        let tag = u16::from_le_bytes(dem[at..at + 2].try_into().unwrap());
        let mut lie = dem.clone();
        lie[at + 8..at + 12].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        place.write("lie.tif", &lie);
        let output = place.run("apply shape lie.tif -o x.tif");
        assert!(matches!(output.status.code(), Some(0 | 1)), "tag {tag}: {}", text(&output.stderr));
        if matches!(tag, 256 | 257) {
            place.refuses("apply shape lie.tif -o y.tif", &["lie.tif"]);
        }
    }
}

#[test]
fn masks_of_another_size() {
    let place = Place::with_dem();
    place.works("crop dem.tif -o small.tif --window 0,0,10,20");
    place.refuses(
        "apply shape dem.tif -o x.tif --layer amount=small.tif",
        &["amount", "small.tif", "10 × 20", "40 × 30"],
    );
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::with_dem();
    std::fs::create_dir(place.path("folder.tif")).unwrap();
    place.write("file", "");
    for (output, words) in [
        ("nosuch/x.tif", &["nosuch", "cannot write"][..]),
        ("file/x.tif", &["file", "cannot write"]),
        ("folder.tif", &["folder.tif", "not a regular file"]),
        ("x.foo", &["x.foo", ".tif"]),
        ("x.xyz", &["x.xyz", "can only be read"]),
        ("x", &[".tif"]),
        ("x.hgt", &["x.hgt", "can only be read"]),
    ] {
        place.refuses(&format!("apply shape dem.tif -o {output}"), words);
        // The error is found before the input is read.
        place.refuses(&format!("apply shape nosuch.tif -o {output}"), words);
    }
    place.refuses("apply shape dem.tif -o x.png --type f64", &["--type = f64", "PNG"]);
    place.refuses("apply shape dem.tif -o x.tif --report nosuch/r.json", &["nosuch", "cannot write"]);
    place.refuses("apply shape dem.tif -o x.tif --layers file", &["file"]);
    place.refuses("apply shape dem.tif -o x.tif --checkpoint nosuch/c", &["nosuch", "cannot write"]);
    place.refuses("build hills --cells 8 --out file", &["file"]);
    #[cfg(unix)]
    place.refuses("apply shape dem.tif -o /dev/full", &["/dev/full"]);
}

/// A limit on the file size is the closest to a full disk that needs no privileges.
#[test]
#[cfg(unix)]
fn a_full_disk() {
    let place = Place::with_dem();
    place.write("x.tif", "as it was");
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
    let line = "resample dem.tif -o x.tif --cells 400x298";
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_thalweg")])
        .args(line.split_whitespace())
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("error: ") && message.contains("x.tif") && message.contains("cannot write"),
        "{message}"
    );
    assert_eq!(place.read("x.tif"), b"as it was");
    let mut left: Vec<_> = std::fs::read_dir(place.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["dem.tif", "x.tif"]);
}

#[test]
fn checkpoints_that_are_none() {
    let place = Place::with_dem();
    place.write("empty", "");
    place.refuses("resume nosuch", &["nosuch", "cannot read"]);
    place.refuses("resume empty", &["empty", "not a thalweg checkpoint"]);
    place.refuses("resume dem.tif", &["dem.tif", "not a thalweg checkpoint"]);
}

#[test]
fn a_wrong_use_is_exit_code_2() {
    let place = Place::new();
    for line in
        ["nosuch", "apply", "build --cells 0", "build --threads 0", "generate shape -o x.tif --cells 0x4 --cell-size 1"]
    {
        let output = place.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(text(&output.stderr).starts_with("error: "), "{line}");
    }
}
