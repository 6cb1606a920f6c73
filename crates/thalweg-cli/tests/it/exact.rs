//! Tests of worlds whose files represent every unit: `--type f64`.

use crate::support::Place;
use thalweg_core::terrain::{CellType, Cells, DISCHARGE, LayerSpec, POOL, SOIL};
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_io::{Samples, read_raster};

/// A world with heights, floats, and counts among its layers.
const RECIPE: &str = "extent = [3000, 2000]\ncells = 30\n[[stage]]\nmodel = \"gradient_noise\"\noffset = 900\n\
                      [[stage]]\nmodel = \"soils\"\n[[stage]]\nmodel = \"hydrology\"\ndrops = 0.1\n";

/// Returns the fingerprints of values as heights, as floats, and as counts.
fn fingerprints(values: &[f64], size: [usize; 2]) -> [String; 3] {
    fn field<T>(values: &[f64], size: [usize; 2], cell: impl Fn(f64) -> T) -> Field<T>
    where
        T: Clone + Default + Send + Sync,
    {
        Field::from_vec(size, values.iter().map(|v| cell(*v)).collect()).unwrap()
    }
    [POOL, DISCHARGE, SOIL].map(|spec: LayerSpec| {
        let cells = match spec.cells {
            CellType::Height => Cells::Height(field(values, size, Height::from_metres_clamped)),
            CellType::Float => Cells::Float(field(values, size, |v| v as f32)),
            CellType::Count => Cells::Count(field(values, size, |v| v as u32)),
        };
        let mut terrain = Terrain::new(Grid::new(size, 1.0).unwrap());
        terrain.insert_layer(&spec, cells).unwrap();
        terrain.fingerprints()[spec.name].clone()
    })
}

/// Returns the layers of a world whose files have other values than the world had according to its report.
fn rounded(place: &Place, folder: &str, wide: bool) -> Vec<String> {
    let report = place.json(&format!("{folder}/report.json"));
    let layers = report["fingerprints"].as_object().unwrap().iter().filter(|(name, _)| !name.starts_with("table:"));
    let differs = |(name, print): (&String, &serde_json::Value)| {
        let file = if name == "ground" { "height" } else { name };
        let raster = read_raster(place.path(&format!("{folder}/{file}.tif"))).unwrap();
        // Counts are whole numbers in either case.
        let is_count = matches!(raster.samples, Samples::U8(_) | Samples::U32(_));
        assert!(is_count || matches!(raster.samples, Samples::F64(_)) == wide, "{name}");
        let values: Vec<f64> = match raster.samples {
            Samples::F64(values) => values,
            Samples::F32(values) => values.into_iter().map(f64::from).collect(),
            Samples::U8(values) => values.into_iter().map(f64::from).collect(),
            Samples::U32(values) => values.into_iter().map(f64::from).collect(),
            other => panic!("{name}: {other:?}"),
        };
        let same = fingerprints(&values, raster.size).iter().any(|known| print == known);
        (!same).then(|| name.clone())
    };
    layers.filter_map(differs).collect()
}

#[test]
fn a_world_of_64_bit_samples_is_the_world_to_the_unit() {
    let place = Place::new();
    place.write("r.toml", RECIPE);
    place.works("build r.toml --out plain --quiet");
    assert!(rounded(&place, "plain", false).contains(&"ground".to_string()), "32 bits hold hundreds of metres");
    place.works("build r.toml --out exact --type f64 --quiet --checkpoint run.thalweg --every 0");
    let layers = place.json("exact/report.json")["fingerprints"].as_object().unwrap().len();
    assert!(layers > 4 && rounded(&place, "exact", true).is_empty(), "{:?}", rounded(&place, "exact", true));
    assert_eq!(place.json("plain/report.json")["fingerprints"], place.json("exact/report.json")["fingerprints"]);
    // A run resumed from a checkpoint ends as it would have ended without the interruption.
    std::fs::remove_dir_all(place.path("exact")).unwrap();
    place.works("resume run.thalweg --quiet");
    assert!(rounded(&place, "exact", true).is_empty());
    // A single model's layers are stored with the same type as its heights.
    std::fs::create_dir(place.path("one")).unwrap();
    place.works(
        "apply soils exact/height.tif -o one/height.tif --layers one --type f64 --report one/report.json --quiet",
    );
    assert!(rounded(&place, "one", true).is_empty());
}
