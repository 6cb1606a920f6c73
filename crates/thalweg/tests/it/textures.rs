//! Tests of the presets' textures: ground cover is where its rules say, its shares sum to the whole, and the albedo
//! has no shading.

use crate::support::{shared_preset, with_threads};
use thalweg_core::terrain::{Cells, DISCHARGE, MOMENTUM_X, MOMENTUM_Y, POOL};
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_flow::hydraulic;
use thalweg_models::rocks::Rock;
use thalweg_render::pictures::light::{Sun, hillshade};
use thalweg_render::products::normals::PngDepth;
use thalweg_render::products::slope::central_gradient;
use thalweg_render::products::textures::maps::flow_map;
use thalweg_render::products::textures::{
    AlbedoView, COUNT, GroundCover, MATERIALS, Material, TextureOptions, TextureRules, Textures, min_river_discharge,
};
use thalweg_sim::presets;

fn number(name: &str) -> usize {
    Material::find(name).unwrap()
}

fn slope(terrain: &Terrain, i: usize, j: usize) -> f64 {
    let [east, north] = central_gradient(terrain, i, j);
    (east * east + north * north).sqrt().atan().to_degrees()
}

/// Returns, for each material, the share of a terrain's cells that it dominates.
fn dominant(cover: &GroundCover) -> [f64; COUNT] {
    let mut counts = [0.0; COUNT];
    cover.dominant_materials().as_slice().iter().flatten().for_each(|k| counts[usize::from(*k)] += 1.0);
    counts.map(|count| count / cover.shares.len() as f64)
}

#[test]
fn each_material_covers_a_hundredth_of_some_preset_and_lies_where_it_should() {
    let mut most = [0f64; COUNT];
    for (preset, cells) in [("alpine", 192), ("fjords", 128), ("desert", 256), ("badlands", 128)] {
        let (terrain, recipe) = (shared_preset(preset, cells, None), presets::find_preset(preset).unwrap());
        let rules = &recipe.textures;
        let cover = GroundCover::from_terrain(&terrain, rules, recipe.rock).unwrap();
        let shares = dominant(&cover);
        println!("{preset}: {shares:.3?}");
        (0..COUNT).for_each(|k| most[k] = most[k].max(shares[k]));
        let [rows, cols] = terrain.grid.size;
        let least = min_river_discharge(rules, terrain.grid.cell);
        assert!(least >= hydraulic::discharge_from_width(0.05 * terrain.grid.cell as f32));
        let (mut rivers, mut bedded, mut steep, mut bare) = (0, 0, 0, 0);
        for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
            let shares = cover.shares[(i, j)];
            let height = terrain.ground[(i, j)].metres();
            let wet = shares[number("wet_bed")];
            if terrain.float_layer(&DISCHARGE).is_some_and(|discharge| discharge[(i, j)] >= least) {
                rivers += 1;
                bedded += usize::from(wet > 0.5);
            }
            let loose = terrain.loose.as_ref().map_or(0.0, |loose| loose[(i, j)].metres());
            let under_sea = terrain.grid.sea_level.is_some_and(|sea| terrain.ground[(i, j)] < sea);
            let lake = terrain.height_layer(&POOL).is_some_and(|pool| pool[(i, j)].0 > 0);
            if loose < 0.1 && slope(&terrain, i, j) > 40.0 && wet == 0.0 && !under_sea && !lake {
                steep += 1;
                bare += usize::from(shares[number("bare_rock")] > 0.5);
            }
            if height < rules.snowline - rules.shade.abs() {
                assert_eq!(shares[number("snow")], 0.0, "{preset}: snow at {height} m");
            }
        }
        println!("{preset}: {bedded} of {rivers} river cells, {bare} of {steep} steep ones");
        assert!(bedded as f64 >= 0.9 * f64::from(rivers), "{preset}: {bedded} of {rivers} river cells");
        assert!(bare as f64 >= 0.99 * f64::from(steep), "{preset}: {bare} of {steep} steep cells");
    }
    for (material, share) in MATERIALS.iter().zip(most) {
        assert!(share >= 0.01, "{} covers {share} at most", material.name);
    }
}

#[test]
fn weights_sum_to_the_whole_and_nothing_lies_where_there_is_no_data() {
    let mut terrain = rough(90);
    terrain.nodata = Some(Field::from_fn([90, 90], |i, j| (20..30).contains(&i) && j > 50));
    for (depth, full) in [(PngDepth::Eight, 255u32), (PngDepth::Sixteen, 65_535)] {
        for size in [None, Some(61), Some(200)] {
            let options = TextureOptions { size, bits: depth, ..TextureOptions::default() };
            let textures =
                Textures::from_terrain(&terrain, &TextureRules::default(), Rock::usual(), &options, None).unwrap();
            let sums = textures.weights.map(|cell| cell.iter().map(|w| u32::from(*w)).sum::<u32>());
            assert!(sums.as_slice().iter().all(|sum| *sum == full || *sum == 0));
            let empty = sums.as_slice().iter().filter(|sum| **sum == 0).count() as f64 / sums.len() as f64;
            let holes = terrain.nodata_count() as f64 / 8100.0;
            assert!((empty - holes).abs() < 0.02, "{size:?}: {empty} for {holes}");
            if size.is_none() {
                let mask = terrain.nodata.as_ref().unwrap();
                assert!(sums.as_slice().iter().zip(mask.as_slice()).all(|(sum, hole)| (*sum == 0) == *hole));
            }
            let unit = |field: &Field<f32>| field.as_slice().iter().all(|x| (0.0..=1.0).contains(x));
            assert!(unit(&textures.roughness) && unit(&textures.occlusion));
        }
    }
    assert!(
        Textures::from_terrain(
            &terrain,
            &TextureRules::default(),
            Rock::usual(),
            &TextureOptions::default(),
            Some(&rough(40))
        )
        .is_err()
    );
}

#[test]
fn albedo_has_no_light_in_it() {
    // The correlation of n independent pairs has a standard error of 1/√n; waves of 100 m in 10 km are 10 000 of them,
    // broader waves fewer.
    let (terrain, recipe) = (shared_preset("alpine", 256, None), presets::find_preset("alpine").unwrap());
    let cover = GroundCover::from_terrain(&terrain, &recipe.textures, recipe.rock).unwrap();
    let (albedo, _) = cover.compute_albedo(AlbedoView::Ground);
    let light = hillshade(&terrain.ground_metres(), [terrain.grid.cell as f32; 2], Sun::default(), 1.0);
    let mut tried = 0;
    for (k, material) in MATERIALS.iter().enumerate() {
        let pure: Vec<usize> = (0..cover.shares.len()).filter(|n| cover.shares.as_slice()[*n][k] > 0.98).collect();
        if pure.len() < 4000 {
            continue;
        }
        tried += 1;
        let pairs = pure.iter().map(|n| {
            let colour = albedo.as_slice()[*n];
            (f64::from(colour[0] + colour[1] + colour[2]), f64::from(light.as_slice()[*n]))
        });
        let correlation = correlation(&pairs.collect::<Vec<_>>());
        println!("{}: {correlation:.4} over {}", material.name, pure.len());
        assert!(correlation.abs() < 0.05, "{}: {correlation}", material.name);
    }
    assert!(tried >= 2);
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let terrain = rough(120);
    let with = |threads: usize| {
        let options = TextureOptions { size: Some(150), ..TextureOptions::default() };
        with_threads(threads, || {
            Textures::from_terrain(&terrain, &TextureRules::default(), Rock::usual(), &options, None).unwrap()
        })
    };
    let one = with(1);
    assert!(one == with(2) && one == with(7));
}

#[test]
fn rules_act_and_bad_ones_are_refused() {
    let terrain = rough(80);
    let share = |rules: &TextureRules, name: &str| {
        let cover = GroundCover::from_terrain(&terrain, rules, Rock::usual()).unwrap();
        cover.shares.as_slice().iter().map(|shares| f64::from(shares[number(name)])).sum::<f64>()
    };
    let usual = TextureRules::default();
    let cold = TextureRules { snowline: 100.0, treeline: -500.0, ..usual.clone() };
    assert!(share(&cold, "snow") > share(&usual, "snow") && share(&cold, "forest_floor") == 0.0);
    let dry = TextureRules { moisture: 0.0, ..usual.clone() };
    assert!(share(&dry, "grass") == 0.0 && share(&usual, "grass") > 0.0);
    // Northern sides have more snow than southern ones, and the other way round where the sun is in the north.
    let sided = |shade: f64| {
        let rules = TextureRules { snowline: 250.0, shade, ..usual.clone() };
        let cover = GroundCover::from_terrain(&terrain, &rules, Rock::usual()).unwrap();
        let on = |faces: fn(f64) -> bool| {
            let cells = (0..80).flat_map(|i| (0..80).map(move |j| (i, j)));
            let facing = cells.filter(|(i, j)| faces(central_gradient(&terrain, *i, *j)[1]));
            facing.map(|at| f64::from(cover.shares[at][number("snow")])).sum::<f64>()
        };
        on(|north| north < -0.1) - on(|north| north > 0.1)
    };
    assert!(sided(200.0) > 0.0 && sided(-200.0) < 0.0, "{} {}", sided(200.0), sided(-200.0));
    let bad = TextureRules { runoff: f64::NAN, ..usual };
    assert!(
        GroundCover::from_terrain(&terrain, &bad, Rock::usual()).unwrap_err().to_string().contains("textures.runoff")
    );
}

/// Builds hills of 500 m on cells of 20 m, symmetric about the middle row.
fn rough(side: usize) -> Terrain {
    let mut terrain = Terrain::new(Grid::new([side, side], 20.0).unwrap());
    terrain.ground = Field::from_fn([side, side], |i, j| {
        let (y, x) = (i as f64 - (side - 1) as f64 / 2.0, j as f64);
        Height::from_metres_clamped(250.0 + 180.0 * (y * 0.15).cos() + 70.0 * (x * 0.21).sin())
    });
    terrain
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (a, b) = pairs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let sums = pairs.iter().fold([0.0; 3], |[xx, yy, xy], (x, y)| {
        [xx + (x - a) * (x - a), yy + (y - b) * (y - b), xy + (x - a) * (y - b)]
    });
    sums[2] / (sums[0] * sums[1]).sqrt().max(1e-12)
}

#[test]
fn flow_goes_with_the_water_but_never_up_the_ground() {
    let size = [20, 20];
    let ground = Field::from_fn(size, |i, _| Height::from_metres_clamped(100.0 - 2.0 * i as f64));
    let mut terrain = Terrain::from_ground(Grid::new(size, 10.0).unwrap(), ground).unwrap();
    let toward = |terrain: &mut Terrain, east: f32, south: f32| {
        for (spec, part) in [(&MOMENTUM_X, east), (&MOMENTUM_Y, south)] {
            terrain.insert_layer(spec, Cells::Float(Field::new(size, part))).unwrap();
        }
        flow_map(terrain, 0.3)[(9, 9)]
    };
    // Down the slope, or diagonally.
    assert_eq!(toward(&mut terrain, 0.0, 0.0)[..2], [0.0, 1.0]);
    let [east, south, _] = toward(&mut terrain, 3.0, 3.0);
    assert!((east - 0.5f32.sqrt()).abs() < 1e-6 && (south - 0.5f32.sqrt()).abs() < 1e-6);
    // Momentum of water that ran before the ground was shaped.
    assert_eq!(toward(&mut terrain, 0.0, -5.0)[..2], [0.0, 1.0]);
    assert_eq!(toward(&mut terrain, 2.0, -5.0)[..2], [0.0, 1.0]);
}
