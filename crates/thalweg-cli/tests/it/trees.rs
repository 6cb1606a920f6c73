//! Tests of forests from end to end: grown on a file's ground, written as points, drawn, and placed on a mesh.

use crate::support::{Place, text};

/// Returns a folder with a smooth slope and its forest.
fn wooded() -> Place {
    let place = Place::new();
    place.works(
        "generate gradient_noise -o dem.tif --cells 60x50 --cell-size 10 --set octaves=2 --set amplitude=20 --set wavelength=900 --set offset=200 --quiet",
    );
    place.works("apply trees dem.tif -o out.tif --layers layers --set years=60 --set spawn=200 --quiet");
    place
}

#[test]
fn a_forest_stands_beside_its_terrain_as_points() {
    let place = wooded();
    let table = String::from_utf8(place.read("out_trees.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 100, "{}", rows.len());
    let points = place.json("out_trees.geojson");
    let features = points["features"].as_array().unwrap();
    assert_eq!(features.len(), rows.len());
    for (row, feature) in rows.iter().zip(features) {
        let at: Vec<f64> = row[1..4].iter().map(|x| x.parse().unwrap()).collect();
        assert!((0.0..=600.0).contains(&at[0]) && (-500.0..=0.0).contains(&at[1]), "{row:?}");
        assert_eq!(feature["geometry"]["coordinates"], serde_json::json!(at));
        assert_eq!(feature["properties"]["kind"], row[4]);
    }
    assert!(place.path("layers/tree_density.tif").is_file());
    // The ground is unchanged.
    assert_eq!(
        place.works("info dem.tif --json").contains("\"highest\""),
        place.works("info out.tif --json").contains("\"highest\"")
    );
}

#[test]
fn a_forest_is_drawn_and_stands_on_the_mesh() {
    let place = wooded();
    for (name, line) in [("map", "render map out.tif"), ("view", "render perspective out.tif --size 200x150")] {
        place.works(&format!("{line} -o {name}.png"));
        place.works(&format!("{line} --trees out_trees.csv -o {name}_trees.png"));
        assert_ne!(place.read(&format!("{name}.png")), place.read(&format!("{name}_trees.png")), "{name}");
    }
    place.works("mesh out.tif -o bare.glb");
    place.works("mesh out.tif -o few.glb --trees out_trees.csv --max-trees 10 --tree-nodes");
    place.works("mesh out.tif -o all.glb --trees out_trees.csv --texture map --tree-nodes");
    place.works("mesh out.tif -o alike.glb --trees out_trees.csv");
    let nodes = |name: &str| {
        let bytes = place.read(name);
        let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
        document["nodes"].as_array().unwrap().len()
    };
    assert_eq!((nodes("bare.glb"), nodes("few.glb")), (1, 12));
    assert!(nodes("all.glb") > 100);
    // The ground, the group, and one node for each of at most six kinds.
    assert!((3..=8).contains(&nodes("alike.glb")));
    let said = place.run("mesh out.tif -o few.glb --trees out_trees.csv --max-trees 10");
    assert!(text(&said.stderr).contains("10 of "), "{}", text(&said.stderr));
}

#[test]
fn what_cannot_be_is_said() {
    let place = wooded();
    place.refuses("mesh out.tif -o a.obj --trees out_trees.csv", &["a.obj", "write .glb"]);
    place.refuses("render map out.tif -o a.png --trees dem.tif", &["dem.tif"]);
    place.refuses("render map out.tif -o a.png --trees none.csv", &["none.csv", "read"]);
    place.write("other.csv", "a,b\n1,2\n");
    place.refuses("render perspective out.tif -o a.png --trees other.csv", &["other.csv", "no column `x`"]);
    place.refuses(
        "apply trees dem.tif -o b.tif --set patch=0.1 --set years=1 --set spawn=10001",
        &["trees.spawn", "10000"],
    );
}
