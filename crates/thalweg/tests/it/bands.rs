//! Tests that a shaded map drawn by bands equals the one drawn in memory, to the byte of its file.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{CellRect, Field, Grid, Height, Result, Terrain};
use thalweg_io::save_shaded;
use thalweg_render::pictures::bands::ShadedMap;
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::shade::{ShadeOptions, draw_map};

/// Builds hills with rough ground, a wall, and cells without data.
fn land([rows, cols]: [usize; 2], seed: u64, holes: u8) -> Terrain {
    let key = RandomKey::new(seed, "bands");
    let ground = Field::from_fn([rows, cols], |i, j| {
        let (y, x) = (i as f64, j as f64);
        let hills = 260.0 * (y / 97.0).sin() * (x / 61.0).cos() + 40.0 * ((x + 2.0 * y) / 23.0).sin();
        let wall = if (300..306).contains(&i) || j == 40 { 350.0 } else { 0.0 };
        Height::from_metres_clamped(hills + wall + 9.0 * key.for_cell([i as i64, j as i64]).uniform_signed())
    });
    let hole = |i: usize, j: usize| match holes {
        0 => false,
        // A wide hole that extends over several bands, and rims without data.
        1 => ((i as f64 - 520.0) / 2.0).hypot(j as f64 - 55.0) < 45.0 || (i > 700 && j < 3) || i < 2,
        2 => key.for_cell([i as i64, j as i64 + 7000]).uniform_signed() > 0.2,
        _ => true,
    };
    let nodata = (holes > 0).then(|| Field::from_fn([rows, cols], hole));
    Terrain { nodata, ..Terrain::from_ground(Grid::new([rows, cols], 20.0).unwrap(), ground).unwrap() }
}

/// Draws the same picture by bands, reading rows on request.
fn by_bands(land: &Terrain, options: &ShadeOptions) -> Result<Vec<u8>> {
    let read = |rows: std::ops::Range<usize>| {
        let own = CellRect::new([rows.start, 0], [rows.len(), land.grid.cols()]);
        let heights = land.ground_metres().copy_window(own);
        let hole = |i: usize, j: usize| land.is_nodata(i + rows.start, j);
        Ok(Field::from_fn(heights.size(), |i, j| if hole(i, j) { f32::NAN } else { heights[(i, j)] }))
    };
    let map = ShadedMap::new(&land.grid, options, Box::new(read))?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.png");
    save_shaded(&path, map)?;
    Ok(std::fs::read(path).unwrap())
}

#[test]
fn by_bands_as_in_memory() {
    let suns = [
        [315.0, 45.0],
        [0.0, 20.0],
        [90.0, 12.0],
        [270.0, 30.0],
        [135.0, 8.0],
        [200.0, 25.0],
        [75.0, 9.0],
        [100.0, 9.0],
        [260.0, 7.0],
        [10.0, 90.0],
    ];
    let sizes =
        [[1100, 130], [513, 70], [512, 33], [1, 1], [1, 90], [1500, 2], [600, 9], [17, 300], [1031, 64], [96, 97]];
    for (number, (size, [azimuth, altitude])) in sizes.into_iter().zip(suns).enumerate() {
        for holes in 0..4u8 {
            let mut land = land(size, number as u64, holes);
            let look = LookOptions { sun: Sun { azimuth, altitude }, ..LookOptions::default() };
            let (exaggerated, ranged) = (Some(7.0), Some([-100.0, 90.0]));
            let options = match (number + usize::from(holes)) % 4 {
                0 => ShadeOptions { look, ..ShadeOptions::default() },
                1 => ShadeOptions { look, scale_bar: true, legend: true, max_size: Some(200) },
                2 => {
                    let look = LookOptions { exaggeration: exaggerated, ..look };
                    ShadeOptions { look, legend: true, ..ShadeOptions::default() }
                }
                _ => {
                    let look = LookOptions { range: ranged, ..look };
                    ShadeOptions { look, max_size: Some(31), ..ShadeOptions::default() }
                }
            };
            land.grid.sea_level = (number % 3 == 1).then_some(Height::from_metres_clamped(-20.0));
            let whole = draw_map(&land, &options).unwrap().to_png().unwrap();
            assert!(by_bands(&land, &options).unwrap() == whole, "{size:?} {azimuth} {altitude} {holes}");
        }
    }
}

#[test]
fn each_sun_over_the_same_land() {
    let land = land([1300, 90], 5, 1);
    for azimuth in (0..360).step_by(15) {
        let sun = Sun { azimuth: f64::from(azimuth), altitude: 6.0 };
        let look = LookOptions { sun, exaggeration: Some(3.0), ..LookOptions::default() };
        let options = ShadeOptions { look, ..ShadeOptions::default() };
        let whole = draw_map(&land, &options).unwrap().to_png().unwrap();
        assert!(by_bands(&land, &options).unwrap() == whole, "{azimuth}");
    }
}

#[test]
fn refusals() {
    let land = land([40, 40], 1, 0);
    let refused = |change: fn(&mut LookOptions)| {
        let mut options = ShadeOptions::default();
        change(&mut options.look);
        by_bands(&land, &options).unwrap_err().to_string()
    };
    assert!(refused(|look| look.exaggeration = Some(0.0)).contains("exaggeration"));
    assert!(refused(|look| look.range = Some([1.0, 1.0])).contains("range"));
    assert!(refused(|look| look.sun.altitude = 0.0).contains("sun altitude"));
    // A read error ends the drawing with that error, and no file is left.
    let mut reads = 0;
    let read = |rows: std::ops::Range<usize>| {
        reads += 1;
        match reads {
            1..=2 => Ok(Field::new([rows.len(), 40], 0.0)),
            _ => Err(thalweg_core::base::error::Error::invalid_value("rows", rows.start, "less")),
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.png");
    let map = ShadedMap::new(&land.grid, &ShadeOptions::default(), Box::new(read)).unwrap();
    assert_eq!(save_shaded(&path, map).unwrap_err().to_string(), "rows = 0: must be less");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
