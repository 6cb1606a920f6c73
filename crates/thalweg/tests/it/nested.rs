//! Tests of the tree of depressions: against the hierarchy computed along flow directions, against the table of lakes,
//! and on ground computed by hand.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Edge, Field, Grid, Height, Terrain};
use thalweg_flow::depressions::{Depression, Hierarchy};
use thalweg_flow::{FlowGraph, Land};
use thalweg_io::depression_file::DepressionFile;
use thalweg_io::write_atomically;
use thalweg_render::products::lakes::outline_lakes;
use thalweg_render::products::nested::{NestedDepression, nested_depressions};

fn tree(terrain: &Terrain) -> Vec<NestedDepression> {
    let land = Land::from_terrain(terrain);
    let (filled, directions) = FlowGraph::new(&land).into_parts();
    nested_depressions(&land, &filled, &directions).unwrap()
}

/// Builds a row of cells of 10 m from heights in metres; only its western and eastern ends are open.
fn row(heights: &[i32]) -> Terrain {
    let mut grid = Grid::new([1, heights.len()], 10.0).unwrap();
    grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Open];
    let ground = Field::from_vec(grid.size, heights.iter().map(|h| Height(*h << 16)).collect()).unwrap();
    Terrain::from_ground(grid, ground).unwrap()
}

#[test]
fn two_hollows_under_one_lake_and_a_lake_below() {
    // Pits at 2 and 1 m meet at 5 m and continue as one up to 8 m; from there water reaches the depression at 0 m,
    // which spills at 3 m.
    let rows = tree(&row(&[9, 2, 5, 1, 4, 8, 7, 6, 0, 3, 1]));
    let found: Vec<_> = rows.iter().map(|one| (one.id, one.parent, one.lake, one.into, one.into_lake)).collect();
    assert_eq!(
        found,
        [(4, Some(3), 1, Some(2), 1), (2, Some(3), 1, Some(4), 1), (3, None, 1, None, 2), (9, None, 2, None, 0)]
    );
    let [deep, high, both, low] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        (deep.pit, deep.floor, deep.spill, deep.level),
        (Cell::new(0, 3), Height(1 << 16), Some(Cell::new(0, 2)), Height(5 << 16))
    );
    assert_eq!((deep.cells, deep.volume >> 16), (2, 5));
    assert_eq!((high.cells, high.volume >> 16), (1, 3));
    assert_eq!(
        (both.pit, both.spill, both.level, both.cells),
        (Cell::new(0, 3), Some(Cell::new(0, 5)), Height(8 << 16), 4)
    );
    assert_eq!(both.volume >> 16, 6 + 3 + 7 + 4);
    assert_eq!((low.spill, low.level, low.cells, low.volume >> 16), (Some(Cell::new(0, 9)), Height(3 << 16), 1, 3));
}

/// The floor's cells are visited row by row, two of them before the one between them: there is no sill at that place.
#[test]
fn a_flat_floor_is_one_pit() {
    let heights = [[9, 9, 9, 9, 9], [9, 1, 5, 1, 9], [9, 5, 1, 5, 9], [9, 5, 5, 5, 9], [9, 9, 9, 8, 9]];
    let ground = Field::from_fn([5, 5], |i, j| Height(heights[i][j] << 16));
    let rows = tree(&Terrain::from_ground(Grid::new([5, 5], 1.0).unwrap(), ground).unwrap());
    let [one] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((one.id, one.pit, one.spill, one.cells), (7, Cell::new(1, 1), Some(Cell::new(4, 3)), 9));
    assert_eq!(one.volume >> 16, 3 * 7 + 6 * 3);
}

#[test]
fn the_table_has_places_and_units() {
    let terrain = row(&[9, 2, 5, 1, 4, 8, 7, 6, 0, 3, 1]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("depressions.csv");
    write_atomically(&path, |file| {
        let mut file = DepressionFile::new(file, &path, &terrain.grid)?;
        tree(&terrain).iter().try_for_each(|one| file.write_row(one))?;
        file.finish()
    })
    .unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(
        lines[0],
        "id,parent,lake,pit_x,pit_y,pit_m,spill_x,spill_y,spill_m,into,into_lake,cells,area_m2,volume_m3,depth_m"
    );
    assert_eq!(lines[1], "4,3,1,35,-5,1.00000,25,-5,5.00000,2,1,2,200.0,500.000,4.00000");
    assert_eq!(lines[4], "9,0,2,85,-5,0.00000,95,-5,3.00000,0,0,1,100.0,300.000,3.00000");
}

/// Builds ground without equal heights.
fn distinct(seed: u64, size: [usize; 2]) -> Terrain {
    let key = RandomKey::new(seed, "distinct");
    let cells = size[0] * size[1];
    let mut order: Vec<usize> = (0..cells).collect();
    order.sort_by_key(|k| key.derive_key(*k as u64).random_bits());
    let mut heights = vec![Height(0); cells];
    order.iter().enumerate().for_each(|(rank, k)| heights[*k] = Height(7 * rank as i32 + 3));
    let mut grid = Grid::new(size, 10.0).unwrap();
    grid.edges = [0, 1, 2, 3].map(|side| if seed >> side & 3 == 3 { Edge::Closed } else { Edge::Open });
    let mut terrain = Terrain::from_ground(grid, Field::from_vec(size, heights).unwrap()).unwrap();
    terrain.nodata = seed
        .is_multiple_of(3)
        .then(|| Field::from_fn(size, |i, j| key.for_cell([i as i64, j as i64]).uniform_unit() < 0.05));
    terrain
}

/// Without equal heights, the heights alone decide, and the hierarchy along flow directions has the same tree. There
/// is one exception: where three depressions meet at one sill, or two meet where water leaves, the hierarchy first
/// merges two of them into one that has no volume of its own.
#[test]
fn without_ties_it_is_the_hierarchy() {
    let mut seen = 0;
    for seed in 1..300u64 {
        let terrain = distinct(seed, [3 + seed as usize % 23, 3 + seed as usize % 29]);
        if terrain.grid.edges == [Edge::Closed; 4] {
            continue;
        }
        let rows = tree(&terrain);
        let hierarchy = Hierarchy::from_land(&Land::from_terrain(&terrain));
        let cols = terrain.grid.cols();
        let place = |k: u32| Cell::new(k as usize / cols, k as usize % cols);
        let level = |d: u32| hierarchy.depressions[d as usize].spill.unwrap().level;
        let is_empty = |one: &Depression| one.children.is_some_and(|[a, _]| level(a) == one.spill.unwrap().level);
        let mut known: Vec<_> = hierarchy
            .depressions
            .iter()
            .filter(|one| !is_empty(one))
            .map(|one| {
                let spill = one.spill.unwrap();
                let mut parent = one.parent;
                while let Some(empty) =
                    parent.map(|d| &hierarchy.depressions[d as usize]).filter(|above| is_empty(above))
                {
                    parent = empty.parent;
                }
                let parent = parent.map(|parent| {
                    let above = hierarchy.depressions[parent as usize];
                    (place(above.pit), above.spill.unwrap().level)
                });
                (
                    spill.level,
                    place(spill.cell),
                    place(one.pit),
                    one.floor,
                    u64::from(one.cells),
                    one.volume as u128,
                    parent,
                )
            })
            .collect();
        let by_id = |id: u64| rows.iter().find(|one| one.id == id).unwrap();
        let mut found: Vec<_> = rows
            .iter()
            .map(|one| {
                let parent = one.parent.map(|id| (by_id(id).pit, by_id(id).level));
                (one.level, one.spill.unwrap(), one.pit, one.floor, one.cells, one.volume, parent)
            })
            .collect();
        known.sort();
        found.sort();
        assert_eq!(found, known, "seed {seed}");
        seen += rows.len();
    }
    assert!(seen > 5000, "{seen}");
}

#[test]
fn the_last_of_each_lake_is_the_lake() {
    for seed in 1..60u64 {
        let key = RandomKey::new(seed, "ties");
        let mut terrain = distinct(seed, [20 + seed as usize % 7, 31]);
        terrain.ground = Field::from_fn(terrain.ground.size(), |i, j| {
            Height(((key.for_cell([i as i64, j as i64]).random_bits() >> 20) % (2 + seed % 9)) as i32 * 1000)
        });
        let rows = tree(&terrain);
        let depths = FlowGraph::new(&Land::from_terrain(&terrain)).fill_depths(&terrain.ground);
        let (lakes, numbers) = outline_lakes(&terrain, &depths).unwrap();
        let wholes: Vec<&NestedDepression> = rows.iter().filter(|one| one.parent.is_none()).collect();
        assert_eq!(wholes.len(), lakes.len());
        for (one, lake) in wholes.iter().zip(&lakes) {
            assert_eq!((one.lake, one.level.metres(), one.cells), (lake.id, lake.level, lake.cells), "seed {seed}");
            assert!((one.volume as f64 / 65_536.0 * 100.0 - lake.volume).abs() < 1e-9);
            let next = one.into_lake.checked_sub(1);
            assert!(next.is_none_or(|next| lakes[next as usize].level < lake.level), "no chain of lakes returns");
        }
        let mut place = std::collections::BTreeMap::new();
        for (k, one) in rows.iter().enumerate() {
            assert!(place.insert(one.id, k).is_none(), "a number twice");
            assert_eq!(numbers[(one.pit[0], one.pit[1])], one.lake);
        }
        for (k, one) in rows.iter().enumerate() {
            assert!(one.parent.is_none_or(|parent| place[&parent] > k), "a parent before its child");
            assert!(one.into.is_none_or(|into| rows[place[&into]].lake == one.lake && into != one.id));
        }
    }
}

#[test]
fn sizes_that_differ_are_refused() {
    let terrain = row(&[3, 1, 2]);
    let land = Land::from_terrain(&terrain);
    let (filled, directions) = FlowGraph::new(&land).into_parts();
    assert!(nested_depressions(&land, &Field::new([2, 2], Height(0)), &directions).is_err());
    let other = FlowGraph::new(&Land::from_terrain(&row(&[1, 2]))).into_parts().1;
    assert!(nested_depressions(&land, &filled, &other).unwrap_err().to_string().contains("1 × 2"));
}
