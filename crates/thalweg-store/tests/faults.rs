//! Tests of a disk that fails midway: an incomplete tile gets no mark, and once there is room the work continues to
//! the same bytes.
#![cfg(debug_assertions)]

#[path = "it/support.rs"]
#[allow(dead_code, reason = "this program uses a part of it")]
mod support;

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Mutex;

use support::files;
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_export::survey::DrainOptions;
use thalweg_io::disk::{DiskChange, set_watcher};
use thalweg_io::{LoadOptions, SampleType, Samples, SaveOptions, save_terrain};
use thalweg_store::{Access, DrainJob, Job, Plan, PlannedWork, Store, StoreSpec, StoredLayer, WorkerPool};

/// The changes that are refused from now on: the kind of change, a word of the path, and how many of them pass before.
static REFUSED: Mutex<Option<(DiskChange, &str, usize)>> = Mutex::new(None);

/// Serialises the tests, because refusals apply to the whole process.
static TURN: Mutex<()> = Mutex::new(());

fn refuse(what: Option<(DiskChange, &'static str, usize)>) {
    set_watcher(Box::new(|act, path| {
        let mut refused = REFUSED.lock().unwrap();
        let Some((kind, word, left)) = refused.as_mut() else { return Ok(()) };
        if act != *kind || !path.to_string_lossy().contains(*word) {
            return Ok(());
        }
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => return Err(Error::from(ErrorKind::StorageFull)),
        }
        Ok(())
    }));
    *REFUSED.lock().unwrap() = what;
}

/// A tile that is written again and gets no mark does not count as done: the mark of its former content is not valid
/// for it.
#[test]
fn a_mark_never_speaks_of_another_shard() {
    let _turn = TURN.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let spec = StoreSpec::new([64, 64], 64, 1.0, "a", vec![StoredLayer::new("height", SampleType::I16, -1.0)]);
    let store = Store::create(&folder.path().join("a.zarr"), spec, Access::Alone).unwrap();
    let tile = |value: i16| Samples::I16(vec![value; 64 * 64]);
    store.write_tile("height", 0, &tile(5)).unwrap();
    refuse(Some((DiskChange::Rename, "marks", 0)));
    let error = store.remake_tile("height", 0, &tile(6)).unwrap_err().to_string();
    refuse(None);
    assert!(error.contains("marks"), "{error}");
    assert!(!store.is_done("height", 0).unwrap());
    store.write_tile("height", 0, &tile(6)).unwrap();
    // A shard that was not moved to its place gets no mark.
    store.forget_tile("height", 0).unwrap();
    refuse(Some((DiskChange::Rename, "height/c", 0)));
    assert!(store.write_tile("height", 0, &tile(7)).is_err());
    refuse(None);
    assert!(!store.is_done("height", 0).unwrap());
}

#[test]
fn a_full_disk_ends_the_work_and_with_room_it_goes_on_to_the_same_bytes() {
    let _turn = TURN.lock().unwrap();
    // The folder is in memory where possible: syncing many files is slow on a disk.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let metres =
        |i: usize, j: usize| 50.0 + 20.0 * (i as f64 / 9.0).sin() * (j as f64 / 7.0).cos() + (i * j % 5) as f64;
    let ground = Field::from_fn([90, 110], |i, j| Height::from_metres(metres(i, j)).unwrap());
    let terrain = Terrain::from_ground(Grid::new([90, 110], 30.0).unwrap(), ground).unwrap();
    let source = folder.path().join("a.tif");
    save_terrain(&source, &terrain, &SaveOptions::default()).unwrap();
    let work = |name: &str| {
        let options = DrainOptions { threshold: Some(20_000.0), ..DrainOptions::default() };
        let job = DrainJob::new(&source, LoadOptions::default(), options).unwrap();
        let place = folder.path().join(name).join("a.zarr");
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        PlannedWork::open(Plan::from_job(Job::Drain(job), &place, 64).unwrap(), Access::Alone).unwrap()
    };
    let finish = |work: &PlannedWork| -> thalweg_core::base::error::Result<()> {
        let mut pool = WorkerPool::new(work, 2)?;
        while pool.run_next_tasks()?.is_some() {}
        Ok(())
    };
    finish(&work("whole")).unwrap();
    // Shards, marks, summaries and answers: each is refused in turn, at the first change and at a later one.
    let refusals = [
        (DiskChange::Create, "a.zarr/filled/c", 0),
        (DiskChange::Write, "a.zarr/filled/c", 2),
        (DiskChange::Rename, "a.zarr/order/c", 3),
        (DiskChange::Rename, "a.zarr/marks", 7),
        (DiskChange::Write, "a.work", 20),
        (DiskChange::Rename, "a.work", 60),
        (DiskChange::Create, "broken", 140),
    ];
    for (act, word, after) in refusals {
        let _ = fs::remove_dir_all(folder.path().join("broken"));
        refuse(Some((act, word, after)));
        let ended = { finish(&work("broken")) };
        refuse(None);
        assert!(ended.is_err(), "{act:?} {word}");
        let again = work("broken");
        finish(&again).unwrap();
        assert!(again.is_done());
        drop(again);
        let [whole, broken] = ["whole", "broken"].map(|name| {
            let mut found = files(&folder.path().join(name));
            // The plan contains the path of the store.
            found.remove(Path::new("a.plan.json"));
            found
        });
        assert_eq!(whole.keys().collect::<Vec<_>>(), broken.keys().collect::<Vec<_>>(), "{act:?} {word}");
        assert!(whole.iter().all(|(path, bytes)| broken[path] == *bytes), "{act:?} {word}");
    }
}
