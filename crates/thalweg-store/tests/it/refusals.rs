//! Tests of folders that are no valid store: other programs' files, damaged stores, stores of another recipe, stores
//! locked by another process. Each is refused with a clear message.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{self, Draw};
use thalweg_core::CellRect;
use thalweg_export::survey::DrainOptions;
use thalweg_io::{LoadOptions, SampleType, Samples};
use thalweg_store::{
    Access, DrainJob, MapInMemory, Store, StoreSpec, StoredLayer, WindowedMap as _, ZarrArray, is_store, open_raster,
};

fn spec() -> StoreSpec {
    let layers =
        vec![StoredLayer::new("height", SampleType::I16, -1.0), StoredLayer::new("basin", SampleType::U32, 0.0)];
    StoreSpec::new([70, 90], 64, 30.0, "recipe-1", layers)
}

/// Returns the message of a refusal.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: thalweg_core::base::error::Result<T>) -> String {
    let message = result.unwrap_err().to_string();
    assert!(!message.is_empty() && message.len() < 1000, "a message of {} bytes", message.len());
    message
}

#[track_caller]
fn says<T: std::fmt::Debug>(result: thalweg_core::base::error::Result<T>, words: &[&str]) {
    let message = refused(result);
    assert!(words.iter().all(|word| message.contains(word)), "{message}: lacks one of {words:?}");
}

#[test]
fn another_spec_is_refused_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    // A store without any finished tile is replaced when the recipe differs.
    drop(Store::create(&path, StoreSpec { recipe: "recipe-0".into(), size: [9, 9], ..spec() }, Access::Alone).unwrap());
    let store = Store::create(&path, spec(), Access::Alone).unwrap();
    store.write_tile("basin", 1, &Samples::U32(vec![7; 64 * 26])).unwrap();
    drop(store);
    assert!(is_store(&path) && !is_store(folder.path()));
    says(
        Store::create(&path, StoreSpec { recipe: "recipe-2".into(), ..spec() }, Access::Alone),
        &["recipe-1", "recipe-2"],
    );
    says(Store::open(&path, Some("recipe-2"), Access::Alone), &["recipe-1", "recipe-2"]);
    says(Store::create(&path, StoreSpec { size: [70, 91], ..spec() }, Access::Alone), &["size", "[70,91]"]);
    says(Store::create(&path, StoreSpec { side: 32, ..spec() }, Access::Alone), &["side = 64"]);
    says(Store::create(&path, StoreSpec { layers: spec().layers[..1].to_vec(), ..spec() }, Access::Alone), &["layers"]);
    assert!(Store::create(&path, spec(), Access::Alone).is_ok());
    assert!(Store::open(&path, None, Access::Alone).is_ok());
    says(Store::open_read(&path).unwrap().layer("hight"), &["unknown layer `hight`", "did you mean `height`"]);
}

#[test]
fn a_spec_that_no_store_can_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let create = |spec: StoreSpec| refused(Store::create(&folder.path().join("a.zarr"), spec, Access::Alone));
    let layer = |name: &str, kind, fill| StoreSpec { layers: vec![StoredLayer::new(name, kind, fill)], ..spec() };
    for size in [[0, 5], [5, 0], [usize::MAX, 2], [1 << 40, 1 << 40]] {
        assert!(create(StoreSpec { size, ..spec() }).contains("size"));
    }
    for side in [0, 257, 300, 1 << 20] {
        assert!(create(StoreSpec { side, ..spec() }).contains("side"));
    }
    for cell in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(create(StoreSpec { cell, ..spec() }).contains("cell"));
    }
    for name in ["", "x", "y", "marks", "spatial_ref", "a/b", "..", "__a", "A", "ü"] {
        assert!(create(layer(name, SampleType::U8, 0.0)).contains("layer"));
    }
    for (kind, fill) in
        [(SampleType::U8, 256.0), (SampleType::U8, 0.5), (SampleType::I32, f64::NAN), (SampleType::F32, 0.1)]
    {
        assert!(create(layer("a", kind, fill)).contains("a.fill"));
    }
    assert!(create(StoreSpec { layers: Vec::new(), ..spec() }).contains("layers"));
    let twice = vec![spec().layers[0].clone(), spec().layers[0].clone()];
    assert!(create(StoreSpec { layers: twice, ..spec() }).contains("height"));
    let turned = thalweg_core::terrain::grid::Georeference {
        transform: Some([0.0, 1.0, 0.1, 0.0, 0.0, -1.0]),
        ..Default::default()
    };
    assert!(create(StoreSpec { georeference: Some(turned), ..spec() }).contains("transform"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_store_of_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    says(Store::open(&path, None, Access::Alone), &["a is missing: give an existing folder in the format Zarr"]);
    fs::write(&path, "a file").unwrap();
    says(Store::create(&path, spec(), Access::Alone), &["is a file"]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    says(Store::open_read(&path), &["not in the format Zarr version 3"]);
    fs::write(path.join("own.txt"), "own").unwrap();
    says(Store::create(&path, spec(), Access::Alone), &["`own.txt`", "empty folder"]);
    fs::remove_file(path.join("own.txt")).unwrap();
    fs::write(path.join(".zgroup"), "{\"zarr_format\": 2}").unwrap();
    for result in [Store::create(&path, spec(), Access::Alone), Store::open_read(&path)] {
        says(result, &["Zarr version 2", "version 3"]);
    }
    fs::remove_file(path.join(".zgroup")).unwrap();
    let root = |text: &str| fs::write(path.join("zarr.json"), text).unwrap();
    root(r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#);
    says(Store::open(&path, None, Access::Alone), &["another program"]);
    root(r#"{"zarr_format": 3, "node_type": "array"}"#);
    says(Store::open_read(&path), &["is a Zarr array; a Zarr group is required"]);
    root(r#"{"zarr_format": 3, "node_type": "group", "attributes": {"thalweg": {"format": 2}}}"#);
    says(Store::open_read(&path), &["format 2"]);
    assert!(fs::read_dir(&path).unwrap().count() == 1, "something was written");
}

/// Every byte of every document is changed and every document is truncated: the result is an answer, never a panic.
#[test]
fn damaged_documents_are_answered() {
    let mut draw = Draw::new("documents");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    drop(Store::create(&path, spec(), Access::Alone).unwrap());
    for name in ["zarr.json", "height/zarr.json", "spatial_ref/zarr.json"] {
        let file = path.join(name);
        let good = fs::read(&file).unwrap();
        for turn in 0..400 {
            let mut bad = good.clone();
            match turn % 2 {
                0 => bad.truncate(draw.below(good.len())),
                _ => bad[draw.below(good.len())] = b"09\"{}[],:-e\xff"[draw.below(12)],
            }
            fs::write(&file, bad).unwrap();
            if let Err(error) = Store::open_read(&path) {
                assert!(error.to_string().len() < 2000);
            }
            let _ = ZarrArray::open(&path.join("height"))
                .map(|array| (array.size()[0] < 1 << 20).then(|| array.read_window(CellRect::new([0, 0], [1, 1]))));
        }
        if name == "height/zarr.json" {
            fs::remove_file(&file).unwrap();
            says(Store::open(&path, None, Access::Alone), &["height", "missing"]);
        }
        fs::write(&file, good).unwrap();
    }
    let file = path.join("height/zarr.json");
    let good = fs::read_to_string(&file).unwrap();
    for (from, to, word) in [
        ("\"level\": 3", "\"level\": 5", "codecs"),
        ("\"little\"", "\"big\"", "codecs"),
        ("\"fill_value\": -1", "\"fill_value\": 0", "fill_value"),
        ("\"int16\"", "\"uint16\"", "data_type"),
    ] {
        assert!(good.contains(from));
        fs::write(&file, good.replace(from, to)).unwrap();
        says(Store::open(&path, None, Access::Alone), &["height", word]);
        assert!(ZarrArray::open(&path.join("height")).is_ok(), "what is plain Zarr can be read: {to}");
    }
}

/// Maps of other programs that would be misread.
#[test]
fn maps_that_would_be_read_wrongly_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    fs::create_dir_all(path.join("c/0")).unwrap();
    let put = |dimensions: &str, attributes: &str| {
        let about = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [2, 3], "data_type": "int16", "fill_value": 0,
            "dimension_names": {dimensions}, "attributes": {attributes},
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2, 3]}}}},
            "chunk_key_encoding": {{"name": "default"}}, "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}]}}"#
        );
        fs::write(path.join("zarr.json"), about).unwrap();
    };
    fs::write(path.join("c/0/0"), [1i16, 2, -5555, 4, 5, 6].map(i16::to_le_bytes).concat()).unwrap();
    for (dimensions, attributes, words) in [
        (r#"["y", "x"]"#, r#"{"scale_factor": 0.0}"#, ["scale_factor = 0.0", "other than 0"]),
        (r#"["y", "x"]"#, r#"{"scale_factor": "two"}"#, ["scale_factor = \"two\"", "other than 0"]),
        (r#"["y", "x"]"#, r#"{"add_offset": []}"#, ["add_offset = []", "a number"]),
    ] {
        put(dimensions, attributes);
        says(open_raster(&path).map(|_| ()), &words);
    }
    // Axes that are named as columns and rows are exchanged.
    for dimensions in [r#"["x", "y"]"#, r#"["Longitude", "latitude"]"#] {
        put(dimensions, "{}");
        let map = open_raster(&path).unwrap();
        assert_eq!(map.size(), [3, 2], "{dimensions}");
        let all = map.read_window(CellRect::new([0, 0], [3, 2])).unwrap();
        assert_eq!(all, Samples::I16(vec![1, 4, 2, 5, -5555, 6]), "{dimensions}");
        let part = map.read_window(CellRect::new([1, 1], [2, 1])).unwrap();
        assert_eq!(part, Samples::I16(vec![5, 6]), "{dimensions}");
    }
    put(r#"["y", "x"]"#, r#"{"missing_value": -5555, "add_offset": 0}"#);
    assert_eq!(open_raster(&path).unwrap().head().nodata, Some(-5555.0));
    // The fingerprint includes the chunks; a symbolic link that forms a cycle is not a chunk.
    let print = || DrainJob::new(&path, LoadOptions::default(), DrainOptions::default()).unwrap().source_print;
    let before = print();
    assert_eq!(print(), before);
    fs::write(path.join("c/0/0"), [1i16, 2, -5555, 4, 5, 7].map(i16::to_le_bytes).concat()).unwrap();
    assert_ne!(print(), before);
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, path.join("c/round")).unwrap();
    assert_eq!(print(), print());
    // Zarr of another version and a store of a later version are reported wherever they are read.
    let job = |path: &Path| DrainJob::new(path, LoadOptions::default(), DrainOptions::default()).map(|_| ());
    let old = folder.path().join("old.zarr");
    fs::create_dir(&old).unwrap();
    fs::write(old.join(".zarray"), "{\"zarr_format\": 2}").unwrap();
    says(job(&old), &["Zarr version 2", "version 3"]);
    let later = folder.path().join("later.zarr");
    drop(Store::create(&later, spec(), Access::Alone).unwrap());
    let text = fs::read_to_string(later.join("zarr.json")).unwrap();
    fs::write(later.join("zarr.json"), text.replace("\"format\": 1", "\"format\": 9")).unwrap();
    says(open_raster(&later).map(|_| ()), &["format 9"]);
    says(Store::open_read(&path.join("zarr.json")), &["is a file; a Zarr store, which is a folder, is required"]);
}

#[test]
fn damaged_shards_are_answered() {
    let mut draw = Draw::new("shards");
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("a.zarr"), StoreSpec { side: 256, ..spec() }, Access::Alone).unwrap();
    let map = Samples::I16((0..70 * 90).map(|_| draw.number() as i16 >> 8).collect());
    store.write_tile("height", 0, &map).unwrap();
    let file = store.shard_path("height", 0).unwrap();
    let good = fs::read(&file).unwrap();
    let whole = CellRect::new([0, 0], [70, 90]);
    let layer = store.layer("height").unwrap();
    assert_eq!(layer.read_window(whole).unwrap(), map);
    for turn in 0..2000 {
        let mut bad = good.clone();
        match turn % 2 {
            0 => bad.truncate(draw.below(good.len())),
            _ => bad[draw.below(good.len())] ^= 1 << draw.below(8),
        }
        fs::write(&file, &bad).unwrap();
        // The index has a checksum, and each chunk has its own, so wrong samples are never returned. A flipped bit
        // that no decoder reads may go unnoticed.
        match layer.read_window(whole) {
            Ok(read) => assert_eq!(read, map),
            Err(error) => assert!(error.to_string().contains("c/0/0"), "{error}"),
        }
    }
}

/// Starts a separate process that locks a store until its standard input ends.
fn holder(path: &Path, access: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["refusals::held_by_another", "--exact", "--nocapture", "--ignored"])
        .env("HELD", path)
        .env("ACCESS", access)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("held") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0, "the holder ended");
    }
    std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    child
}

#[test]
#[ignore = "is run by the_second_process_hears_of_the_first"]
fn held_by_another() {
    let Ok(path) = std::env::var("HELD") else { return };
    let access = if std::env::var("ACCESS").as_deref() == Ok("shared") { Access::Shared } else { Access::Alone };
    let _store = Store::create(Path::new(&path), spec(), access).unwrap();
    println!("held");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn the_second_process_hears_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    for (theirs, ours, meet) in [
        ("alone", Access::Alone, false),
        ("alone", Access::Shared, false),
        ("shared", Access::Alone, false),
        ("shared", Access::Shared, true),
    ] {
        let mut child = holder(&path, theirs);
        let number = child.id().to_string();
        match Store::open(&path, None, ours) {
            Ok(_) => assert!(meet, "{theirs}, {ours:?}"),
            Err(error) => {
                let message = error.to_string();
                assert!(!meet && message.contains(&number) && message.contains("being written"), "{message}");
            }
        }
        assert!(Store::open_read(&path).is_ok());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // A process that has died holds no lock.
    let store = Store::open(&path, None, Access::Alone).unwrap();
    says(Store::open(&path, None, Access::Shared), &["this process", &std::process::id().to_string()]);
    drop(store);
    assert!(Store::open(&path, None, Access::Shared).is_ok());
}

#[test]
fn a_disk_that_takes_no_more_leaves_the_tile_undone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("a.zarr"), spec(), Access::Alone).unwrap();
    let tile = Samples::I16(vec![5; 64 * 64]);
    // A file in the place of a folder: no shard can be created there, as on a full disk.
    fs::write(store.path().join("height/c"), "").unwrap();
    refused(store.write_tile("height", 0, &tile));
    assert_eq!(store.unfinished_tiles("height").unwrap(), [0, 1, 2, 3]);
    fs::remove_file(store.path().join("height/c")).unwrap();
    store.write_tile("height", 0, &tile).unwrap();
    assert_eq!(store.unfinished_tiles("height").unwrap(), [1, 2, 3]);
}

#[test]
fn memory_is_read_as_files_are() {
    let mut draw = Draw::new("memory");
    let size = [31, 47];
    let samples = support::samples(&mut draw, SampleType::U16, size[0] * size[1], 0.0);
    let mut read = thalweg_io::Raster::new(size, samples.clone());
    read.mask = Some((0..samples.len()).map(|k| k % 3 == 0).collect());
    let memory = MapInMemory::from(read);
    for _ in 0..50 {
        let window = draw.window(size);
        support::same(&memory.read_window(window).unwrap(), &support::crop(&samples, size, window));
        let mask = memory.read_mask(window).unwrap().unwrap();
        for (k, out) in mask.iter().enumerate() {
            let at = (window.start[0] + k / window.size()[1]) * size[1] + window.start[1] + k % window.size()[1];
            assert_eq!(*out, at.is_multiple_of(3));
        }
    }
    assert!(memory.read_window(CellRect::new([31, 0], [1, 1])).is_err());
}
