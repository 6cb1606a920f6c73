//! Tests that every command does what its help says.

use crate::support::{Place, text};
use thalweg_sim::presets;

#[test]
fn every_command_that_writes_files_is_quiet_and_reports_them_as_json() {
    let place = Place::with_dem();
    let lines = [
        "render map dem.tif -o map.png",
        "render perspective dem.tif -o perspective.png --size 64x64",
        "render pair dem.tif dem.tif -o pair.png --size 64x64",
        "render sheet dem.tif -o sheet.png --size 64x64",
        "mesh dem.tif -o mesh.glb",
        "normals dem.tif -o normals.png",
        "textures dem.tif -o textures",
        "resample dem.tif -o resampled.tif --cells 20",
        "crop dem.tif -o cropped.tif --window 1,2,10,10",
    ];
    for line in lines {
        assert_eq!(place.works(&format!("{line} --quiet")), "", "{line}");
        let json: serde_json::Value = serde_json::from_str(&place.works(&format!("{line} --json"))).unwrap();
        assert_eq!(json["event"], "result", "{line}");
        let files: Vec<&str> = json["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
        assert!(!files.is_empty() && files.iter().all(|file| place.path(file).exists()), "{line}: {files:?}");
    }
    for line in ["models", "models droplets", "presets", "presets alpine", "rocks"] {
        let json: serde_json::Value = serde_json::from_str(&place.works(&format!("{line} --json"))).unwrap();
        assert!(json.to_string().len() > 100, "{line}");
    }
    // Options that every command takes may also precede it.
    assert_eq!(place.works("--quiet render map dem.tif -o map.png"), "");
}

#[test]
fn lists_come_from_the_declarations() {
    let place = Place::new();
    let list = place.works("models");
    for model in thalweg_models::models::all_models() {
        let about = model.about();
        assert!(list.contains(about.name) && list.contains(about.summary));
        let page = place.works(&format!("models {}", about.name));
        // clap wraps long lines.
        let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let help = flat(place.works(&format!("apply {} --help", about.name)));
        let page = flat(page);
        for param in model.declared() {
            for text in [&page, &help] {
                let meaning = flat(param.meaning.to_string());
                assert!(text.contains(param.name) && text.contains(&meaning), "{}.{}", about.name, param.name);
            }
        }
        for spec in about.needs.iter().chain(about.uses).chain(about.writes) {
            assert!(page.contains(spec.name) && page.contains(&flat(spec.meaning.to_string())));
        }
    }
    assert!(place.works("apply --help").contains("thalweg models NAME"));
    let all = place.works("presets");
    assert!(["alpine", "hills", "badlands", "aged"].iter().all(|name| all.contains(name)));
    // For a single preset: each stage with its model, and its form on local levels.
    let hills = place.works("presets hills");
    for stage in presets::find_preset("hills").unwrap().stages {
        let about = stage.model.about();
        let form = stage
            .model
            .define_refinement(&mut thalweg_models::model::Local::new(30.0))
            .unwrap_or("it ends at the global level");
        assert!(hills.contains(about.name) && hills.contains(form), "{}: {hills}", about.name);
    }
    assert!(!hills.contains("alpine") && all.contains(hills.lines().next().unwrap()));
    place.refuses("presets hill", &["unknown preset `hill`", "`hills`"]);
    let schema: serde_json::Value = serde_json::from_str(&place.works("schema")).unwrap();
    assert_eq!(schema["title"], "thalweg recipe");
}

#[test]
fn completions_and_man_pages_are_printed() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(place.works(&format!("completions {shell}")).contains("thalweg"));
    }
    assert!(place.works("man").contains(".TH thalweg"));
    assert!(
        !place.works("build --help").contains("possible values: alpine")
            && place.works("build --help").contains("presets")
    );
    assert!(place.works("man apply").contains("cell\\-size"));
    place.refuses("man aply", &["unknown command `aply`", "`apply`"]);
    for line in ["help render map", "render help map", "render map --help"] {
        assert!(place.works(line).contains("Draws a terrain as a shaded map"), "{line}");
    }
    for (line, name) in [("man render", "thalweg\\-render"), ("man render map", "thalweg\\-render\\-map")] {
        assert!(place.works(line).contains(name), "{line}");
    }
}

#[test]
fn a_moved_or_mistyped_verb_is_answered_with_the_line_to_type() {
    let place = Place::new();
    for (line, answer) in [
        ("shade a.tif -o a.png", "`shade` is now `render map`; type: thalweg render map a.tif -o a.png"),
        ("-q view a.tif", "`view` is now `render perspective`; type: thalweg -q render perspective a.tif"),
        ("compare a b -o c.png", "`compare` is now `render pair`; type: thalweg render pair a b -o c.png"),
        ("verify a.zarr --mend", "`verify` is now `job verify`; type: thalweg job verify a.zarr --mend"),
        (
            "build hills --tile-dir t --tile-level 2",
            "`build --tile-dir` is now `tile`; type: thalweg tile hills -o t --level 2",
        ),
        ("biuld hills", "unknown command `biuld`; type: thalweg build hills"),
        ("render mpa a;b.tif", "unknown command `mpa`; type: thalweg render map 'a;b.tif'"),
    ] {
        place.rejects(line, &[answer]);
    }
    let output = place.command("biuld").arg("a\u{1b}[31m").output().unwrap();
    assert!(text(&output.stderr).ends_with("type: thalweg build $'a\\x1b[31m'\n"), "{}", text(&output.stderr));
}

#[test]
fn tiles_are_written_singly_or_into_a_folder() {
    let place = Place::new();
    let recipe = "extent = [320, 320]\ncells = 32\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
    place.write("r.toml", recipe);
    place.works("tile r.toml -o all --level 1 --quiet");
    for file in ["0/0/0.tif", "1/0/0.tif", "1/0/0.drainage_area.tif", "manifest.json", "recipe.toml"] {
        assert!(place.path("all").join(file).is_file(), "{file}");
    }
    place.works("tile r.toml -o part --within 0,0,50,50 --quiet");
    assert!(place.path("part/0/0/0.tif").is_file() && !place.path("part/1").exists());
    place.works("tile r.toml -o wide --size 2 --cells 64 --set gradient_noise.amplitude=5 --quiet");
    let about = |folder: &str| place.json(&format!("{folder}/manifest.json"));
    assert_eq!((&about("all")["cell_m"], &about("wide")["cell_m"]), (&10.0.into(), &10.0.into()));
    assert_ne!(about("all")["recipe_hash"], about("wide")["recipe_hash"]);
    // A single tile is also one of the world in a folder.
    place.works("build r.toml --out w --quiet");
    for (world, folder) in [("r.toml", "one"), ("w", "two")] {
        place.works(&format!("tile {world} --at 10,10 --side 16 -o {folder} --quiet"));
        assert_eq!(place.json(&format!("{folder}/report.json"))["rows"], 16, "{world}");
        assert!(place.path(folder).join("height.tif").is_file(), "{world}");
    }
    place.refuses("tile r.toml -o x --side 64", &["--side only applies together with --at"]);
    place.refuses("tile r.toml -o x --at 1,1 --within 0,0,9,9", &["--within does not apply together with --at"]);
    place.rejects("tile r.toml -o x --size 9", &["--size", "'9'", "0.25 to 4"]);
    for option in ["--cells 64", "--until gradient_noise", "--set gradient_noise.amplitude=5", "--age 2"] {
        let words = format!("{} does not apply to the folder of a world", option.split(' ').next().unwrap());
        place.refuses(&format!("tile w -o x {option}"), &[&words]);
    }
}

/// Bash itself completes presets, models and layers, and files if none of them matches.
#[test]
#[cfg(target_os = "linux")]
fn bash_completes_presets_models_and_layers() {
    let place = Place::new();
    place.write("completions.bash", place.works("completions bash"));
    for (words, found) in [
        ("thalweg build alp", "alpine"),
        ("thalweg vary hil", "hills"),
        ("thalweg apply droplet", "droplets"),
        ("thalweg render map world --layer hardn", "hardness"),
        ("thalweg build ./alp", ""),
    ] {
        let last = words.split(' ').count() - 1;
        let [.., before, word] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
        let script = format!(
            "source completions.bash; COMP_WORDS=({words}); COMP_CWORD={last}; _thalweg thalweg '{word}' '{before}'; echo \"${{COMPREPLY[@]}}\""
        );
        let run =
            std::process::Command::new("bash").args(["-c", &script]).current_dir(place.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout).trim().to_string();
        assert_eq!(said, found, "{words}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn build_writes_a_world_and_again_into_the_same_folder() {
    let place = Place::new();
    let said = place.works("build hills --cells 64 --seed 7");
    let files = ["height.tif", "height.png", "height.png.json", "shaded.png", "recipe.toml", "report.json"];
    for file in files {
        assert!(!place.read(&format!("worlds/hills-7/{file}")).is_empty());
    }
    assert!(said.contains("height.tif"));
    let first = place.json("worlds/hills-7/report.json");
    assert_eq!((first["columns"].as_u64(), first["seed"].as_u64()), (Some(64), Some(7)));
    // The resolved recipe gives the same world, and a finished folder accepts another run.
    place.works("build worlds/hills-7/recipe.toml --out worlds/hills-7");
    let second = place.json("worlds/hills-7/report.json");
    assert_eq!(first["fingerprints"], second["fingerprints"]);
    assert_eq!(first["recipe_hash"], second["recipe_hash"]);
}

#[test]
fn a_stage_is_set_by_its_label() {
    let place = Place::new();
    let recipe = "extent = [1000, 500]\ncells = 20\n[[stage]]\nmodel = \"shape\"\nlabel = \"base\"\n";
    place.write("r.toml", recipe);
    place.works("build r.toml --out w --set base.height=123.5");
    let report = place.json("w/report.json");
    assert_eq!(report["stages"][0]["parameters"]["height"], 123.5);
    assert_eq!((report["columns"].as_u64(), report["rows"].as_u64()), (Some(20), Some(10)));
    place.refuses("build r.toml --out w --set bse.height=1", &["unknown stage `bse`", "`base`"]);
    place.refuses("build r.toml --out w --set base.heigth=1", &["`heigth`", "`height`"]);
    place.refuses("build r.toml --out w --set height=1", &["height", "LABEL.PARAMETER=VALUE"]);
}

#[test]
fn knobs_turn_the_recipe_that_is_written() {
    let place = Place::new();
    let recipe = "extent = [1000, 500]\ncells = 20\n\
                  [[stage]]\nmodel = \"shape\"\n[[stage]]\nmodel = \"stream_power\"\nyears = 1e4\nstep = 1e4\n";
    place.write("r.toml", recipe);
    place.works("build r.toml --out plain");
    place.works("build r.toml --out one --age 1 --rain 1 --relief 1 --size 1 --rock granite");
    assert_eq!(place.json("plain/report.json")["recipe_hash"], place.json("one/report.json")["recipe_hash"]);
    place.works(
        "build r.toml --out w --age 2 --rain 0.5 --relief 0.5 --size 2 --sea 30 --rock shale --set shape.depth=50",
    );
    let report = place.json("w/report.json");
    let value = |stage: usize, name: &str| report["stages"][stage]["parameters"][name].as_f64().unwrap();
    // Parameters that are set keep their value; the knobs scale the rest.
    assert_eq!((value(0, "height"), value(0, "depth"), value(1, "years")), (450.0, 50.0, 2e4));
    assert_eq!((report["cell_size"].as_f64(), value(1, "uplift")), (Some(100.0), 2.5e-4));
    let written = text(&place.read("w/recipe.toml"));
    for line in ["extent = [2000.0, 1000.0]", "sea_level = 30.0", "rock = \"shale\""] {
        assert!(written.contains(line), "{line} is missing in:\n{written}");
    }
    // Built again it is the same world, because its rock is shale already.
    place.works("build w/recipe.toml --out again --rock shale");
    assert_eq!(report["recipe_hash"], place.json("again/report.json")["recipe_hash"]);
    let rocks = place.works("rocks");
    assert!(
        thalweg_models::rocks::list_rock_names().all(|name| rocks.contains(name)) && rocks.contains("28°"),
        "{rocks}"
    );
}

#[test]
fn variations_stand_on_one_sheet() {
    let place = Place::new();
    let recipe = "extent = [1000, 500]\ncells = 600\nseed = 4\n\
                  [[stage]]\nmodel = \"gradient_noise\"\nlabel = \"a\"\n[[stage]]\nmodel = \"hydrology\"\n";
    place.write("r.toml", recipe);
    let size = |line: &str| {
        place.works(&format!("vary r.toml --cells 24 --pixels 64 -o sheet.png {line}"));
        size_of_png(&place.read("sheet.png"))
    };
    let rows = |height: u32, n: u32, more: u32| 12 + more + n * height + (n - 1) * 12;
    // Maps of 64 × 32 with captions of 16, three rows of three.
    let [width, height] = size("");
    assert_eq!((width, height), (12 + 3 * 76, rows(48, 3, 0)));
    let first = place.read("sheet.png");
    size("--seeds 4,5,6,7,8,9,10,11,12 --threads 1");
    assert!(place.read("sheet.png") == first, "seeds go on from the recipe's own, on any number of threads");
    size("--seeds 9 --seed 5");
    assert!(place.read("sheet.png") != first);
    // One list is a row with headings of 24 and 12; two lists are rows and columns.
    assert_eq!(size("--relief 0.5,1,2"), [12 + 3 * (7 * "relief 0.5".len() as u32 + 12), rows(32, 1, 36)]);
    let side = 12 + 7 * "rock granite".len() as u32;
    assert_eq!(size("--age 0.5,1 --rock granite,shale,sand"), [side + 12 + 2 * 76, rows(32, 3, 36)]);
    assert_eq!(size("--set a.amplitude=200,400 --seeds 3,5 --view")[1], rows(42, 2, 36));
    // A setting with a single value has it in all worlds.
    let [narrow, _] = size("--set a.amplitude=300 --seeds 1 --sea -50");
    assert_eq!(narrow, 12 + 64 + 12);
    let lines = place.works("vary r.toml --cells 24 --pixels 64 -o sheet.png --sea -100,0 --json");
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["worlds"], serde_json::json!(["sea -100 m", "sea 0 m"]));
    // Progress names a world in the same way as the result.
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let progress: Vec<_> = lines.filter(|line| line["event"] == "progress").collect();
    assert!(progress.iter().all(|line| line["world"] == last["worlds"][line["number"].as_u64().unwrap() as usize - 1]));
    assert!(progress.iter().any(|line| (&line["number"], &line["worlds"]) == (&2.into(), &2.into())));
    let twice = "--set a.amplitude=1,2 --set a.amplitude=3,4";
    place.refuses(
        &format!("vary r.toml -o x.png {twice}"),
        &["--set", "a.amplitude=1,2", "one value for each parameter"],
    );
    place.refuses(
        "build r.toml --set a.amplitude=1 --set a.amplitude=3",
        &["a.amplitude=3", "one value for each parameter"],
    );
    place.rejects("vary r.toml -o x.png --sea nan", &["--sea", "'nan'", "-32000 to 32000"]);
    place.rejects("build r.toml --sea inf", &["--sea", "'inf'", "-32000 to 32000"]);
}

#[test]
fn variations_are_of_a_level_that_the_recipe_has() {
    let place = Place::new();
    let recipe = "extent = [1000, 500]\ncells = 768\ncoarsest = 96\n[[stage]]\nmodel = \"gradient_noise\"\n";
    place.write("r.toml", recipe);
    let lines = place.works("vary r.toml --seeds 1,2 --pixels 64 -o sheet.png --json");
    assert!(lines.contains("\"cells\":192"), "{lines}");
    assert!(!lines.contains("\"cells\":384"), "{lines}");
}

#[test]
fn every_world_has_a_folder_of_its_own_where_none_is_said() {
    let place = Place::new();
    let recipe = |more: &str| {
        format!(
            "extent = [1000, 500]\ncells = 64\ncoarsest = 16\n[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"a\"\n{more}"
        )
    };
    place.write("r.toml", recipe(""));
    let built = |line: &str| {
        let output = place.run(&format!("build r.toml {line} --json"));
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        let last = text(&output.stdout).lines().last().unwrap().to_string();
        let result: serde_json::Value = serde_json::from_str(&last).unwrap();
        let file = std::path::PathBuf::from(result["files"][0].as_str().unwrap());
        (file.parent().unwrap().file_name().unwrap().to_str().unwrap().to_string(), text(&output.stderr))
    };
    assert_eq!(built(""), ("r-1".into(), String::new()));
    assert_eq!(built(""), ("r-1".into(), String::new()));
    assert_eq!(built("--preview").0, "r-1-preview");
    // A world that differs from the recipe's own has part of its hash in the folder's name, the same each time.
    let lines = ["--relief 0.5", "--relief 2", "--set a.amplitude=3", "--until a --set a.amplitude=4"];
    let folders = lines.map(|line| built(line).0);
    for (number, folder) in folders.iter().enumerate() {
        assert!(folder.starts_with("r-1-") && folder.len() == 10, "{folder}");
        assert_eq!(folders.iter().position(|other| other == folder), Some(number));
        assert_eq!(built(lines[number]).0, *folder);
    }
    assert_eq!(built("--relief 2 --preview").0, format!("{}-preview", folders[1]));
    // Another world in the same folder is reported.
    let (folder, said) = built("--cells 32");
    assert!(folder == "r-1" && said.contains("contains another world") && said.contains("-o"), "{said}");
    place.write("r.toml", recipe("[[stage]]\nmodel = \"thermal\"\nlevels = { coarsest = 20.0 }\n"));
    assert!(built("").1.contains("contains another world"));
    // On cells of 62 and 31 m the model has nothing to do.
    let said = place.works("build r.toml --cells 32 --out w");
    assert!(said.contains("not run") && said.contains("thermal"), "{said}");
    assert_eq!(place.json("w/report.json")["idle"], serde_json::json!(["thermal"]));
}

#[test]
fn an_elevation_model_of_a_preset_lies_beside_its_world() {
    let place = Place::new();
    let nowhere = |line: &str| {
        let output = place.command(line).env("TMPDIR", place.path("none")).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    };
    nowhere("presets");
    nowhere("build aged --until rivers --set rivers.years=2000 --out w");
    let recipe = text(&place.read("w/recipe.toml"));
    assert!(recipe.contains("from = \"jacksboro.tif\""), "{recipe}");
    assert!(place.json("w/report.json")["files"].to_string().contains("\"jacksboro.tif\""));
    // The folder is moved, and still builds the same world.
    std::fs::rename(place.path("w"), place.path("moved")).unwrap();
    place.works("build moved/recipe.toml --out again");
    let [first, second] = ["moved", "again"].map(|folder| place.json(&format!("{folder}/report.json")));
    assert_eq!(first["fingerprints"], second["fingerprints"]);
    // If nothing is written next to it, the elevation model is removed with the process.
    std::fs::create_dir(place.path("tmp")).unwrap();
    let mut vary = place.command("vary aged --seeds 1 --set rivers.years=2000 --pixels 64 -o sheet.png");
    assert!(vary.env("TMPDIR", place.path("tmp")).output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 0);
    // On other cells it is the same land, and its folder gives the same world.
    place.works("build aged --cells 64 --until rivers --set rivers.years=2000 --out small");
    place.works("build small/recipe.toml --out small_again");
    let [first, second] = ["small", "small_again"].map(|folder| place.json(&format!("{folder}/report.json")));
    assert_eq!((first["rows"].as_u64(), first["columns"].as_u64()), (Some(64), Some(60)), "of 345 and 325");
    assert_eq!(first["fingerprints"], second["fingerprints"]);
    let around = |folder: &str| {
        let known: serde_json::Value =
            serde_json::from_str(&place.works(&format!("info {folder}/height.tif --json"))).unwrap();
        ["rows", "cell_size_m", "lowest_m", "highest_m"].map(|key| known[key].as_f64().unwrap())
    };
    let ([rows, cell, low, high], [many, fine, lowest, highest]) = (around("small"), around("again"));
    assert!((((rows - 1.0) * cell) / ((many - 1.0) * fine) - 1.0).abs() < 1e-9, "the corners stay where they are");
    assert!((low - lowest).abs() < 100.0 && (high - highest).abs() < 150.0 && high - low > 300.0, "{low} to {high}");
    place.works("vary aged --seeds 1 --cells 32 --set rivers.years=2000 --pixels 64 -o small.png");
    place.write("broken.tif", "II*");
    place.refuses("build aged --from none.tif", &["none.tif", "No such file"]);
    place.refuses("build aged --from none", &["none", "No such file"]);
    place.refuses("build aged --from broken.tif", &["broken.tif"]);
    assert!(!place.path("worlds").exists(), "a refused build leaves no folder");
}

#[test]
fn later_stages_are_left_out() {
    let place = Place::new();
    let stage = |label: &str| format!("[[stage]]\nmodel = \"shape\"\nlabel = \"{label}\"\n");
    let head = "extent = [1000, 1000]\ncells = 20\n";
    place.write("one.toml", format!("{head}{}", stage("a")));
    place.write("two.toml", format!("{head}{}{}", stage("a"), stage("b")));
    for line in ["one.toml --out one", "two.toml --out part --until a", "two.toml --out two --until b"] {
        place.works(&format!("build {line}"));
    }
    let ground = |folder: &str| place.json(&format!("{folder}/report.json"))["fingerprints"].clone();
    assert_eq!(ground("one"), ground("part"));
    assert_ne!(ground("one"), ground("two"));
    place.refuses("build two.toml --out x --until c", &["unknown stage `c`"]);
}

#[test]
fn a_recipes_files_are_found_from_any_folder() {
    let place = Place::with_dem();
    std::fs::create_dir(place.path("in")).unwrap();
    std::fs::rename(place.path("dem.tif"), place.path("in/dem.tif")).unwrap();
    let stage = "[[stage]]\nmodel = \"shape\"\nlayers = { amount = \"dem.tif\" }\n";
    place.write("in/r.toml", format!("from = \"dem.tif\"\n{stage}"));
    place.works("build in/r.toml --out w");
    place.works("build w/recipe.toml --out again");
    assert_eq!(place.json("w/report.json")["fingerprints"], place.json("again/report.json")["fingerprints"]);
}

#[test]
fn apply_keeps_the_grid_and_writes_every_format() {
    let place = Place::with_dem();
    for ending in ["tif", "png", "r16", "r32", "npy", "asc"] {
        place.works(&format!("apply shape dem.tif -o out.{ending} --set height=50"));
        // ESRI ASCII and TIFF store the cell size; the others have it in the sidecar.
        let info: serde_json::Value = serde_json::from_str(&place.works(&format!("info out.{ending} --json"))).unwrap();
        assert_eq!(info["cell_size_m"], 30.0, "{ending}");
        assert_eq!((info["columns"].as_u64(), info["rows"].as_u64()), (Some(40), Some(30)), "{ending}");
    }
    place.works("apply shape dem.tif -o exact.tif --type f64 --layers others");
    assert!(place.works("info exact.tif").contains("f64"));
}

#[test]
fn the_smallest_and_the_flattest_work() {
    let place = Place::new();
    for cells in ["1", "1x7", "7x1", "3x2"] {
        let line = format!("generate gradient_noise -o small.tif --cells {cells} --cell-size 10");
        place.works(&line);
        place.works("apply shape small.tif -o out.tif");
        place.works("render map out.tif -o out.png");
        place.works("normals out.tif -o normals.png");
    }
    place.works("generate shape -o flat.tif --cells 8 --cell-size 10 --set height=0");
    place.works("apply gradient_noise flat.tif -o out.tif");
    place.works("render map flat.tif -o flat.png --legend --scale");
    // NaN is no data: masked, counted and preserved.
    let header = "ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value nan\n";
    place.write("holes.asc", format!("{header}1 2 nan\n3 4 5\n"));
    place.works("apply shape holes.asc -o out.tif --report r.json");
    assert_eq!(place.json("r.json")["nodata_cells"], 1);
    let told = place.works("info out.tif");
    assert!(told.lines().any(|line| line.starts_with("nodata cells") && line.ends_with(" 1")), "{told}");
    assert!(told.lines().any(|line| line.starts_with("cell size  ") && line.ends_with(" m")), "{told}");
}

#[test]
fn pictures_meshes_and_maps_are_written() {
    let place = Place::with_dem();
    place.works("apply shape dem.tif -o after.tif");
    place.works("render map dem.tif -o shaded.png --legend --scale --ramp gist_earth --sun 300,30 --sea-level 0");
    place.works(
        "render perspective dem.tif -o view.png --size 300x200 --azimuth 120 --elevation 20 --zoom 2 --sea-level 0 --water dem.tif",
    );
    assert_eq!(size_of_png(&place.read("view.png")), [300, 200]);
    let natural = "--natural --haze 5 --stand 500,800,200 --towards 0,-5 --lens 60";
    place.works(&format!("render perspective dem.tif -o natural.png --size 300x200 {natural}"));
    assert_ne!(place.read("natural.png"), place.read("view.png"));
    place.refuses("render perspective dem.tif -o x.png --haze 5", &["--haze only applies together with --natural"]);
    place.refuses(
        "render perspective dem.tif -o x.png --natural --lens 60",
        &["--lens only applies together with --stand"],
    );
    place.refuses("render perspective dem.tif -o x.png --size 8x200", &["size = 8 × 200 pixels", "16 to 16384 each"]);
    place.works("render pair dem.tif after.tif -o pair.png --title Before --size 300x200");
    assert_eq!(size_of_png(&place.read("pair.png")), [600, 200]);
    place.works("normals dem.tif -o normals.png --directx");
    place.works("normals dem.tif -o bump.png --bump --bits 16");
    for file in ["shaded.png", "view.png", "pair.png", "normals.png", "bump.png"] {
        assert!(place.read(file).starts_with(b"\x89PNG\r\n\x1a\n"), "{file}");
    }
    place.works("mesh dem.tif -o mesh.glb --texture map");
    place.works("mesh dem.tif -o mesh.obj");
    place.works("mesh dem.tif -o mesh.stl");
    assert!(place.read("mesh.glb").starts_with(b"glTF"));
    assert_eq!(text(&place.read("mesh.obj")).lines().filter(|line| line.starts_with("v ")).count(), 40 * 30);
    // Binary STL: a header of 80 bytes, the count, and 50 bytes per triangle.
    assert_eq!(place.read("mesh.stl").len(), 84 + 50 * 2 * 39 * 29);
    place.refuses("mesh dem.tif -o mesh.fbx", &["mesh.fbx", ".glb", ".stl"]);
    place.refuses("render map dem.tif -o map.jpg", &["map.jpg", ".png"]);
    place.rejects("render perspective dem.tif -o x.png --zoom 99", &["--zoom", "must be 0.1 to 20"]);
    place.refuses("render perspective dem.tif -o x.png --size 9x9", &["9 × 9", "16 to 16384"]);
    place.works("crop dem.tif -o small.tif --window 1,2,10,10");
    place.refuses("render pair dem.tif small.tif -o x.png", &["small.tif", "10 × 10", "40 × 30"]);
    place.refuses("render map dem.tif -o x.png --water small.tif", &["water", "10 × 10", "40 × 30"]);
}

#[test]
fn a_folders_water_is_drawn_and_written() {
    let place = Place::with_dem();
    place.works("drain dem.tif -o d --runoff 800 --quiet");
    let names = ["height.tif", "pool.tif", "discharge.tif", "wetness.tif", "rivers.fgb", "lakes.fgb", "lakes.csv"];
    names.iter().for_each(|name| assert!(place.path("d").join(name).is_file(), "{name}"));
    let listed = place.json("d/drain.json")["files"].to_string();
    assert!(names.iter().all(|name| listed.contains(name)), "{listed}");
    let lakes = place.json("d/lakes.geojson");
    let lines = text(&place.read("d/lakes.csv")).lines().count();
    assert!(lines > 1 && lakes["features"].as_array().unwrap().len() == lines - 1);
    let rivers = place.json("d/rivers.geojson");
    let river = &rivers["features"][0]["properties"];
    let part = |name: &str| river[name].as_f64().unwrap();
    let carried = part("width_m") * part("depth_m") * part("velocity_m_s");
    assert!((carried / part("discharge_m3_s") - 1.0).abs() < 1e-4, "{river}");
    // Drawing the folder is the same as drawing its files given one by one, and different from the bare terrain.
    place.works("render map d -o folder.png");
    place.works("render map d/height.tif -o files.png --pools d/pool.tif --streams d/discharge.tif");
    place.works("render map d/height.tif -o bare.png");
    assert!(place.read("folder.png") == place.read("files.png"));
    assert!(place.read("folder.png") != place.read("bare.png"));
    place.works("render map d -o bold.png --stream-threshold 0.001");
    assert!(place.read("bold.png") != place.read("folder.png"));
    place.works("render perspective d -o view.png --size 300x200 --stream-range 0.001,0.1");
    for layer in ["discharge", "wetness", "pool"] {
        place.works(&format!("render map d -o {layer}.png --layer {layer}"));
    }
    place.works("render sheet d dem.tif d -o sheet.png --size 200x150");
    let [width, height] = size_of_png(&place.read("sheet.png"));
    assert!(width == 12 + 3 * 212 && height > 150, "{width} × {height}");
    place.works("render sheet dem.tif d -o two.png --caption dry --caption wet --size 200x150");
    place.works("render pair dem.tif d -o pair.png --size 200x150");
    assert_eq!(size_of_png(&place.read("pair.png")), [400, 150]);
    place.refuses("render map d -o x.png --layer momentum", &["layer `momentum`", "discharge"]);
    place.refuses("render map . -o x.png", &["height.tif"]);
    place.refuses("render map d -o x.png --stream-range 2,1", &["range of streams", "rising"]);
    place.refuses("render perspective d -o x.png --stream-threshold 0", &["threshold of streams", "above 0"]);
    place.refuses("render sheet d d d -o x.png --caption one", &["captions = 1", "3"]);
}

/// Returns width and height from the first chunk of a PNG.
fn size_of_png(bytes: &[u8]) -> [u32; 2] {
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

#[test]
fn resample_and_crop_reshape() {
    let place = Place::with_dem();
    let info = |file: &str| -> serde_json::Value {
        serde_json::from_str(&place.works(&format!("info {file} --json"))).unwrap()
    };
    place.works("crop dem.tif -o part.tif --window 5,10,20,15");
    let part = info("part.tif");
    assert_eq!((part["columns"].as_u64(), part["rows"].as_u64()), (Some(20), Some(15)));
    // GDAL's transform: the corner moves by 5 and 10 cells of 30 m.
    assert_eq!((&part["transform"][0], &part["transform"][3]), (&150.0.into(), &(-300.0).into()));
    for window in ["30,0,11,5", "0,0,0,5", "18446744073709551615,0,2,2"] {
        place.refuses(&format!("crop dem.tif -o x.tif --window {window}"), &["window", "30 × 40"]);
    }
    // 39 × 29 intervals, doubled.
    for cells in ["79x59", "79"] {
        place.works(&format!("resample dem.tif -o fine.tif --cells {cells}"));
        let fine = info("fine.tif");
        assert_eq!((fine["columns"].as_u64(), fine["rows"].as_u64()), (Some(79), Some(59)));
        assert_eq!(fine["cell_size_m"], 15.0);
    }
    place.refuses("resample dem.tif -o x.tif --cells 79x30", &["30 × 79", "59 × 79"]);
}

#[test]
fn what_is_resampled_can_be_read_whatever_its_sides() {
    // If a side is not a whole number of cells, the output must still have square cells, because other programs refuse
    // cells that are not.
    let place = Place::new();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../thalweg-sim/presets/jacksboro.tif"), place.path("dem.tif"))
        .unwrap();
    let middle = |file: &str| {
        let known: serde_json::Value = serde_json::from_str(&place.works(&format!("info {file} --json"))).unwrap();
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{file}: {known}"));
        let (t, half) = (&known["transform"], |key: &str| 0.5 * number(&known[key]));
        [number(&t[0]) + number(&t[1]) * half("columns"), number(&t[3]) + number(&t[5]) * half("rows")]
    };
    let whole = middle("dem.tif");
    for cells in ["60", "61", "7", "100x106", "400"] {
        place.works(&format!("resample dem.tif -o x.tif --cells {cells}"));
        let moved = [0, 1].map(|k| (middle("x.tif")[k] - whole[k]).abs());
        assert!(moved.iter().all(|m| *m < 1e-3), "{cells}: the middle has moved by {moved:?} m");
        place.works("apply thermal x.tif -o y.tif --set steps=1");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    let mut child = place.command("schema").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn measure_prints_a_table_json_and_a_sheet() {
    let place = Place::with_dem();
    let table = place.works("measure dem.tif --plot sheet.svg");
    for word in
        ["dem.tif: 40 × 30 cells of 30 m", "hypsometric integral", "Channel network", "0.35 to 0.6", "shorter than 32"]
    {
        assert!(table.contains(word), "{word} is missing in:\n{table}");
    }
    assert!(place.works("measure dem.tif --explain").contains("Strahler 1952"));
    let sheet = text(&place.read("sheet.svg"));
    assert!(sheet.starts_with("<svg") && sheet.ends_with("</svg>\n") && sheet.contains("dem.tif"));
    let json: serde_json::Value =
        serde_json::from_str(&place.works("measure dem.tif --json --channel-area 0.01")).unwrap();
    let names: Vec<&str> = json["measures"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, thalweg_render::products::measure::list_specs().iter().map(|spec| spec.name).collect::<Vec<_>>());
    assert!(json["measures"].as_array().unwrap().iter().all(|m| m["value"].is_number() != m["missing"].is_string()));
    assert_eq!(json["file"], "dem.tif");
    // Compared with itself, a terrain has no distance; compared with another, it has.
    let same: serde_json::Value =
        serde_json::from_str(&place.works("measure dem.tif --against dem.tif --json")).unwrap();
    assert!(same["differences"].as_array().unwrap().iter().all(|d| d["distance"].as_f64().unwrap_or(0.0) == 0.0));
    place.works("generate gradient_noise -o other.tif --cells 40x30 --cell-size 30 --seed 4 --quiet");
    assert!(place.works("measure dem.tif --against other.tif --plot two.svg").contains("distance"));
    assert!(text(&place.read("two.svg")).contains("other.tif"));
    // With a sea level above everything there is no land, which is not an error.
    assert!(place.works("measure dem.tif --sea-level 9000").contains("there is no land"));
    place.refuses("measure dem.tif --plot sheet.pdf", &["sheet.pdf", ".svg"]);
    place.rejects("measure dem.tif --search 0", &["--search", "1 to 1000 cells"]);
    place.refuses("measure none.tif", &["none.tif"]);
    // A world's folder has edges and a sea: for the archipelago only the islands are measured.
    place.works("build archipelago --cells 64 --out world --quiet");
    let slope = |of: &str| {
        let json: serde_json::Value = serde_json::from_str(&place.works(&format!("measure {of} --json"))).unwrap();
        json["measures"].as_array().unwrap().iter().find(|m| m["name"] == "slope_median").unwrap()["value"].clone()
    };
    assert_eq!(slope("world"), slope("world/height.tif --sea-level 0"));
    assert_ne!(slope("world"), slope("world/height.tif"));
    assert!(place.works("measure world --against world").contains("correlation of heights 1.0000"));
    place.refuses("measure .", &["height.tif"]);
}

#[test]
fn a_drop_falls_from_a_clear_sky() {
    let place = Place::with_dem();
    let water = |sets: &str| {
        place.works(&format!("apply fluvial dem.tif -o x.tif --set steps=5 {sets} --report r.json"));
        let budget = place.json("r.json")["stages"][0]["mass_balance"].clone();
        [budget["rained"].as_f64().unwrap(), budget["poured"].as_f64().unwrap()]
    };
    let [rained, poured] = water("--set drop=90 --set x=600 --set y=450");
    assert!(rained == 0.0 && (poured - 90.0).abs() < 0.1, "{rained} {poured}");
    assert!(water("--set rain=50 --set drop=90 --set x=600 --set y=450")[0] > 0.0);
    assert!(water("--set drop=90 --set x=600 --set y=450 --set rain=50")[0] > 0.0);
    assert!(water("")[0] > 0.0);
}

#[test]
fn apply_gives_a_model_of_water_its_water() {
    let place = Place::with_dem();
    for model in ["pipes", "fluvial"] {
        place.works(&format!("apply {model} dem.tif -o a.tif --layers first --set rain=500 --edges closed"));
        let rest = "--set rain=0 --set evaporation=0 --edges closed --layers second --report r.json";
        place.works(&format!("apply {model} dem.tif -o b.tif --layer water=first/water.tif {rest}"));
        let raster = |file: &str| thalweg_io::read_raster(place.path(file)).unwrap();
        let sum = |file: &str| {
            let raster = raster(file);
            (0..raster.size[0] * raster.size[1]).map(|k| raster.samples.get(k)).sum::<f64>() * 900.0
        };
        let [before, after] = ["first/water.tif", "second/water.tif"].map(sum);
        assert!(before > 0.0 && (after / before - 1.0).abs() < 1e-4, "{model}: {before} m³, {after} m³");
        let poured = place.json("r.json")["stages"][0]["mass_balance"]["poured"].as_f64().unwrap();
        assert!((poured / before - 1.0).abs() < 1e-4, "{model}: {poured} m³ of {before}");
    }
}
