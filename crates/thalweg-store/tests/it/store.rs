//! Tests of stores: written data are read back to the bit, finished tiles are recorded, damage is found, and a
//! repaired tile has the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, Draw, KINDS, crop, samples};
use thalweg_core::CellRect;
use thalweg_io::{SampleType, Samples};
use thalweg_store::{Access, Harm, Store, StoreSpec, StoredLayer, TileFault, VerifyLevel, WindowedMap as _, tile_side};

/// Returns a layer of each sample type.
fn layers() -> Vec<StoredLayer> {
    let fill = |kind| match kind {
        SampleType::I32 => f64::from(i32::MIN),
        SampleType::F32 | SampleType::F64 => f64::NAN,
        SampleType::U8 => 255.0,
        _ => 0.0,
    };
    KINDS.iter().map(|kind| StoredLayer::new(&format!("map_{kind}"), *kind, fill(*kind))).collect()
}

fn spec(size: [usize; 2], side: usize) -> StoreSpec {
    StoreSpec::new(size, side, 30.0, "recipe-1", layers())
}

/// Writes all tiles of a layer in a pseudo-random order.
fn fill(store: &Store, layer: &str, map: &Samples, draw: &mut Draw) {
    let mut tiles = store.unfinished_tiles(layer).unwrap();
    draw.shuffle(&mut tiles);
    for tile in tiles {
        let window = store.spec().tile_window(tile).unwrap();
        store.write_tile(layer, tile, &crop(map, store.spec().size, window)).unwrap();
    }
}

/// Returns the bytes of every file below a folder.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(bytes(&entry));
        } else {
            found.insert(entry.clone(), fs::read(&entry).unwrap());
        }
    }
    found
}

#[test]
fn every_type_and_side_comes_back_to_the_bit() {
    let mut draw = Draw::new("round trip");
    for (size, side) in [
        ([135, 210], 64),
        ([301, 217], 97),
        ([301, 517], 256),
        ([301, 517], 300),
        ([1, 700], 97),
        ([700, 1], 64),
        ([1, 1], 256),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("a.zarr"), spec(size, side), Access::Alone).unwrap();
        assert!(store.spec().side >= side && store.spec().side == tile_side(side));
        for layer in layers() {
            let map = samples(&mut draw, layer.kind, size[0] * size[1], layer.fill);
            fill(&store, &layer.name, &map, &mut draw);
            let again = Store::open_read(store.path()).unwrap().layer(&layer.name).unwrap();
            assert_eq!(again.head().kind, layer.kind);
            for k in 0..12 {
                let window = if k == 0 { CellRect::new([0, 0], size) } else { draw.window(size) };
                support::same(&again.read_window(window).unwrap(), &crop(&map, size, window));
            }
        }
        assert_eq!(store.verify_tiles(VerifyLevel::Samples).unwrap(), []);
    }
}

#[test]
fn a_tile_that_is_not_made_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("a.zarr"), spec([100, 100], 64), Access::Alone).unwrap();
    store.write_tile("map_u8", 0, &Samples::U8(vec![7; 64 * 64])).unwrap();
    let layer = store.layer("map_u8").unwrap();
    assert_eq!(layer.read_window(CellRect::new([63, 63], [1, 1])).unwrap(), Samples::U8(vec![7]));
    let message = layer.read_window(CellRect::new([63, 63], [1, 2])).unwrap_err().to_string();
    assert!(message.contains("is missing: its tile has not been computed yet"), "{message}");
    assert!(layer.read_window(CellRect::new([63, 63], [1, 38])).is_err());
    assert_eq!(layer.read_window(CellRect::new([0, 100], [100, 0])).unwrap(), Samples::U8(vec![]));
}

#[test]
fn what_is_done_stays_and_work_goes_on() {
    let mut draw = Draw::new("resume");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let size = [203, 131];
    let map = samples(&mut draw, SampleType::I32, size[0] * size[1], f64::from(i32::MIN));
    let part = |tile: usize, store: &Store| crop(&map, size, store.spec().tile_window(tile).unwrap());
    let store = Store::create(&path, spec(size, 64), Access::Alone).unwrap();
    for tile in [5, 0, 11] {
        store.write_tile("map_i32", tile, &part(tile, &store)).unwrap();
    }
    let message = store.write_tile("map_i32", 5, &part(5, &store)).unwrap_err().to_string();
    assert!(message.contains("already has tile 5,"), "{message}");
    drop(store);
    // A temporary file that a killed writer left next to its shard.
    let left = path.join("map_i32/c/0/.thalweg-4294967294-0.tmp");
    fs::write(&left, "half").unwrap();
    let store = Store::create(&path, spec(size, 64), Access::Alone).unwrap();
    assert!(!left.exists());
    let todo = store.unfinished_tiles("map_i32").unwrap();
    assert_eq!(todo, [1, 2, 3, 4, 6, 7, 8, 9, 10]);
    assert!(store.is_done("map_i32", 11).unwrap() && !store.is_done("map_i32", 10).unwrap());
    todo.iter().for_each(|tile| drop(store.write_tile("map_i32", *tile, &part(*tile, &store)).unwrap()));
    support::same(&store.layer("map_i32").unwrap().read_window(CellRect::new([0, 0], size)).unwrap(), &map);
    let all = (0..map.len()).map(|k| map.get(k)).filter(|x| *x != f64::from(i32::MIN));
    let range = all.fold([f64::MAX, f64::MIN], |[low, high], x| [low.min(x), high.max(x)]);
    assert_eq!(store.sample_range("map_i32").unwrap(), Some(range));
    assert_eq!(store.sample_range("map_u8").unwrap(), None);
    for (tile, wrong) in
        [(12, Samples::I32(vec![0; 4096])), (0, Samples::I32(vec![0; 4095])), (0, Samples::U32(vec![0; 4096]))]
    {
        assert!(store.remake_tile("map_i32", tile, &wrong).is_err());
    }
    assert!(
        Store::open_read(&path)
            .unwrap()
            .remake_tile("map_i32", 0, &part(0, &store))
            .unwrap_err()
            .to_string()
            .contains("reading")
    );
}

#[test]
fn every_harm_is_found_and_mended_to_the_same_bytes() {
    let mut draw = Draw::new("harm");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let size = [150, 300];
    let spec = StoreSpec::new(size, 64, 2.0, "recipe-1", vec![StoredLayer::new("height", SampleType::F32, f64::NAN)]);
    let map = samples(&mut draw, SampleType::F32, size[0] * size[1], f64::NAN);
    let store = Store::create(&path, spec, Access::Alone).unwrap();
    let part = |tile: usize| crop(&map, size, store.spec().tile_window(tile).unwrap());
    let made: Vec<_> = (0..13).map(|tile| store.write_tile("height", tile, &part(tile)).unwrap()).collect();
    let shard = |tile: usize| store.shard_path("height", tile).unwrap();
    let mark = |tile: usize| path.join(format!("marks/height/{tile}.json"));
    let whole = bytes(&path);

    fs::remove_file(shard(1)).unwrap();
    let half = fs::read(shard(2)).unwrap();
    fs::write(shard(2), &half[..half.len() / 2]).unwrap();
    let mut turned = fs::read(shard(3)).unwrap();
    let at = draw.below(turned.len());
    turned[at] ^= 1 << draw.below(8);
    fs::write(shard(3), turned).unwrap();
    fs::remove_file(mark(4)).unwrap();
    fs::write(mark(5), &fs::read(mark(5)).unwrap()[..20]).unwrap();
    fs::write(mark(6), fs::read_to_string(mark(6)).unwrap().replace("recipe-1", "recipe-2")).unwrap();
    fs::write(shard(7), [&fs::read(shard(7)).unwrap()[..], b"more"].concat()).unwrap();
    // A mark with wrong data about its shard, which is detected only by decoding the shard.
    let mut lie = made[8].clone();
    lie.maximum = Some(1e30);
    lie.write(&mark(8)).unwrap();

    let fault = |tile, harm| TileFault { layer: "height".to_string(), tile, harm };
    let mut expected = vec![
        fault(1, Harm::Missing),
        fault(2, Harm::HalfWritten),
        fault(4, Harm::Unmarked),
        fault(5, Harm::BadMark),
        fault(6, Harm::OtherRecipe),
        fault(7, Harm::Altered),
        fault(13, Harm::NotMade),
        fault(14, Harm::NotMade),
    ];
    assert_eq!(store.verify_tiles(VerifyLevel::Lengths).unwrap(), expected);
    expected.insert(2, fault(3, Harm::Altered));
    assert_eq!(store.verify_tiles(VerifyLevel::Bytes).unwrap(), expected);
    expected.insert(7, fault(8, Harm::Altered));
    let faults = store.verify_tiles(VerifyLevel::Samples).unwrap();
    assert_eq!(faults, expected);
    assert!(faults.iter().all(|fault| fault.to_string().contains(&format!("tile {} of layer ", fault.tile))));
    assert!(
        store.layer("height").unwrap().read_window(CellRect::new([0, 128], [64, 64])).is_err(),
        "half a shard was read"
    );

    for fault in faults.iter().filter(|fault| fault.tile < 13) {
        store.remake_tile(&fault.layer, fault.tile, &part(fault.tile)).unwrap();
    }
    assert_eq!(bytes(&path), whole);
    assert_eq!(store.unfinished_tiles("height").unwrap(), [13, 14]);
    store.forget_tile("height", 0).unwrap();
    assert_eq!(store.check_tile("height", 0, VerifyLevel::Lengths).unwrap(), Some(fault(0, Harm::Unmarked)));
}

#[test]
fn a_tile_without_a_sample_is_done_and_small() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("a.zarr"), spec([64, 64], 64), Access::Alone).unwrap();
    let mark = store.write_tile("map_i32", 0, &Samples::I32(vec![i32::MIN; 4096])).unwrap();
    assert_eq!((mark.minimum, mark.maximum, mark.bytes), (None, None, 20));
    let read = store.layer("map_i32").unwrap().read_window(CellRect::new([3, 3], [2, 2])).unwrap();
    assert_eq!(read, Samples::I32(vec![i32::MIN; 4]));
    assert_eq!(store.check_tile("map_i32", 0, VerifyLevel::Samples).unwrap(), None);
}

#[test]
fn the_bytes_needed_are_enough() {
    let mut draw = Draw::new("bytes");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let size = [300, 300];
    let store = Store::create(&path, spec(size, 128), Access::Alone).unwrap();
    for layer in layers() {
        let map = samples(&mut draw, layer.kind, size[0] * size[1], layer.fill);
        fill(&store, &layer.name, &map, &mut draw);
    }
    let taken: usize = bytes(&path).values().map(|bytes| bytes.len().next_multiple_of(4096)).sum();
    let need = store.spec().bytes_needed();
    assert!(taken as u64 <= need && need < 6 * taken as u64, "{taken} bytes were taken, {need} foretold");
    thalweg_store::check_room(&path, 1).unwrap();
    if thalweg_store::free_bytes(&path).is_some() {
        let message = thalweg_store::check_room(&folder.path().join("not/there"), u64::MAX).unwrap_err().to_string();
        assert!(message.contains("of disk space"), "{message}");
    }
}
