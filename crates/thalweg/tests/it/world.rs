//! Tests of [`thalweg_sim::world`]: any tile of any level, made alone, is identical to the part of the whole.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::long;
use crate::support::{preset_recipe, run_recipe, terrain_on, with_threads};
use rayon::prelude::*;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::LakeRaster;
use thalweg_core::{
    Cell, CellRect, Edge, Error, Field, Grid, Height, NoProgress, Point, Progress, ProgressReport, Result, Terrain,
};
use thalweg_refine::{Frame, LocalWindow, Rules};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::world::{CoarseLevel, PathEnd, WindowCache, World};

const OPEN: [Edge; 4] = [Edge::Open; 4];

/// Rough terrain from sums of cosines with hashed directions, independent of the library's noise.
fn rough(size: [usize; 2], cell: f64, relief: f64, seed: u64) -> Field<f64> {
    let waves: Vec<[f64; 4]> = (0..40u64)
        .map(|wave| {
            let key = RandomKey::new(seed, "rough").derive_key(wave);
            let octave = 2f64.powi((wave / 8) as i32);
            let [angle, phase] = key.uniform_pair().map(|x| x * std::f64::consts::TAU);
            let rate = octave / (4.0 * cell) * (0.7 + 0.6 * key.derive_key(1).uniform_unit());
            [angle.sin() * rate * cell, angle.cos() * rate * cell, phase, relief / octave / 8.0]
        })
        .collect();
    Field::from_fn(size, |i, j| {
        waves.iter().map(|[down, east, phase, high]| high * (i as f64 * down + j as f64 * east + phase).cos()).sum()
    })
}

fn terrain(metres: &Field<f64>, cell: f64, edges: [Edge; 4], sea: Option<f64>) -> Terrain {
    let sea_level = sea.map(|sea| Height::from_metres(sea).unwrap());
    terrain_on(Grid { edges, sea_level, ..Grid::new(metres.size(), cell).unwrap() }, |i, j| metres[(i, j)])
}

fn hills(side: usize, seed: u64) -> Terrain {
    terrain(&rough([side, side], 30.0, 200.0, seed), 30.0, OPEN, None)
}

/// Hills that end in the sea on all sides.
fn island(side: usize, seed: u64) -> Terrain {
    let hills = rough([side, side], 30.0, 200.0, seed);
    let half = side as f64 / 2.0;
    let ground = Field::from_fn([side, side], |i, j| {
        let away = (i as f64 + 0.5 - half).abs().max((j as f64 + 0.5 - half).abs()) / half;
        400.0 * (0.7 - away) + hills[(i, j)] * (1.0 - away)
    });
    terrain(&ground, 30.0, OPEN, Some(0.0))
}

/// Rules with narrow margins, so that small worlds have blocks and tiles that do not reach from edge to edge.
fn narrow() -> Rules {
    Rules { river: 4, water_sweeps: 3, rise_sweeps: 2, cut_sweeps: 4, limit_sweeps: 5, ..Rules::default() }
}

/// The whole of a level, with one call of the kernel per level.
fn whole(world: &World, seed: u64, level: u32) -> LocalWindow {
    let mut now = world.window(0, world.frame().world_rect(0)).unwrap();
    for finer in 1..=level {
        let rect = world.frame().world_rect(finer);
        let key = RandomKey::new(seed, "local levels");
        now = thalweg_refine::refine_window(world.frame(), world.rules(), key, &now, rect).unwrap();
    }
    now
}

/// All tiles of a level, in hashed order.
fn shuffled(world: &World, level: u32, seed: u64) -> Vec<Cell<i64>> {
    let all = world.frame().world_rect(level);
    let [first, last] = [world.containing_tile(all.start), world.containing_tile(all.end.map(|x| x - 1))];
    let mut tiles: Vec<_> = CellRect::from_corners(first, last.map(|x| x + 1)).cells().collect();
    tiles.sort_by_key(|tile| RandomKey::new(seed, "order").for_cell(*tile).random_bits());
    tiles
}

#[test]
fn a_tile_is_that_of_the_whole_whatever_was_asked_before() {
    let walled = [Edge::Closed, Edge::Open, Edge::Open, Edge::Closed];
    let mut lands = vec![("an island", island(100, 3), Rules::default()), ("hills", hills(130, 4), narrow())];
    lands.push(("in walls", terrain(&rough([90, 140], 30.0, 300.0, 5), 30.0, walled, None), narrow()));
    for (kind, (name, land, rules)) in lands.into_iter().enumerate() {
        let world = World::from_terrain(&land, rules, 9).unwrap();
        let whole = whole(&world, 9, 2);
        for (number, side) in long::or(vec![64, 97, 256], vec![64, 97, 256, 1024]).into_iter().enumerate() {
            let ways = [(1, 0), (2, u64::MAX), (7, 12 << 20)];
            let kinds = number + kind;
            for (threads, most) in long::or(vec![ways[kinds % 3], ways[(kinds + 1) % 3]], ways.to_vec()) {
                let world = world.clone().with_tiles(side).unwrap().with_cache(WindowCache::new(most));
                let tiles = shuffled(&world, 2, number as u64 + threads);
                // Without a cache every tile is computed from level 0: a few are enough in the short form.
                let tiles = &tiles[..tiles.len().min(long::or(if most == 0 { 3 } else { 16 }, 1000))];
                with_threads(threads as usize, || {
                    tiles.par_iter().for_each(|tile| {
                        let alone = world.tile_at(2, *tile).unwrap();
                        let rect = CellRect::new(tile.map(|x| x * side as i64), [side; 2]);
                        let rect =
                            CellRect::from_corners(rect.start, [0, 1].map(|a| rect.end[a].min(whole.rect.end[a])));
                        assert!(*alone == whole.crop(rect).unwrap(), "{name}: {side}, {threads} threads, {tile:?}");
                    });
                });
                assert!(world.cache().bytes() <= most);
            }
        }
    }
}

/// The terrain is so large that blocks have neighbours on all sides, and the tile sides do not divide the blocks'
/// sides.
#[test]
fn tiles_across_blocks_are_those_of_the_whole() {
    let land = hills(long::or(280, 600), 6);
    let world = World::from_terrain(&land, narrow(), 2).unwrap();
    let whole = whole(&world, 2, 2);
    let few = long::or(6, 200);
    for (side, most) in [(97, u64::MAX), (200, u64::MAX), (256, 3 << 20), (640, u64::MAX)] {
        let world = world.clone().with_tiles(side).unwrap().with_cache(WindowCache::new(most));
        let tiles = shuffled(&world, 2, 8);
        let some = &tiles[..few.min(tiles.len())];
        // Together, then one by one from the cache.
        let together = world.tiles(2, some).unwrap();
        for (tile, alone) in some.iter().zip(together) {
            assert!(*alone == whole.crop(alone.rect).unwrap(), "{side}, {tile:?}");
            assert!(world.tile_at(2, *tile).unwrap() == alone);
        }
    }
    for (number, size) in [[700, 900], [1, 1000], [1, 1], [513, 40]].into_iter().enumerate() {
        let key = RandomKey::new(number as u64, "corner");
        let start =
            [0, 1].map(|a| (key.derive_key(a as u64).uniform_unit() * (whole.size()[a] - size[a]) as f64) as i64);
        let rect = CellRect::new(start, size);
        assert!(world.window(2, rect).unwrap() == whole.crop(rect).unwrap(), "{rect:?}");
    }
    assert!(world.window(2, whole.rect).unwrap() == whole);
}

/// Islands in an unbounded sea: a square of land, repeated.
struct Islands {
    frame: Frame,
    square: LocalWindow,
    asked: AtomicU64,
}

impl Islands {
    fn new() -> Self {
        let (frame, square) = LocalWindow::from_terrain(&island(64, 7)).unwrap();
        let frame = Frame { first: [-(1 << 29); 2].into(), cells: [1 << 30; 2], ..frame };
        Self { frame, square, asked: AtomicU64::new(0) }
    }
}

impl CoarseLevel for Islands {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn window(&self, rect: CellRect<i64>, _: &mut dyn Progress) -> Result<LocalWindow> {
        thalweg_refine::check_window(rect, self.frame.world_rect(0))?;
        self.asked.fetch_max(rect.size().iter().product::<usize>() as u64, Ordering::SeqCst);
        let at = |i: usize, axis: usize| (rect.start[axis] + i as i64).rem_euclid(64) as usize;
        let (ground, lakes) = (&self.square.ground, self.square.lakes.as_ref());
        let lakes = lakes.map(|lakes| LakeRaster {
            id: Field::from_fn(rect.size(), |i, j| lakes.id[(at(i, 0), at(j, 1))]),
            level: Field::from_fn(rect.size(), |i, j| lakes.level[(at(i, 0), at(j, 1))]),
        });
        Ok(LocalWindow {
            level: 0,
            rect,
            ground: Field::from_fn(rect.size(), |i, j| ground[(at(i, 0), at(j, 1))]),
            receivers: Field::from_fn(rect.size(), |i, j| self.square.receivers[(at(i, 0), at(j, 1))]),
            area: Field::from_fn(rect.size(), |i, j| self.square.area[(at(i, 0), at(j, 1))]),
            lakes: lakes.filter(|lakes| lakes.id.as_slice().iter().any(|id| *id != 0)),
            loose: None,
        })
    }

    fn bytes(&self) -> u64 {
        9 * 64 * 64
    }

    fn identity(&self) -> u64 {
        7
    }
}

#[test]
fn a_world_without_end_has_tiles_everywhere() {
    let islands = Arc::new(Islands::new());
    let world = World::new(Arc::clone(&islands) as Arc<dyn CoarseLevel>, narrow(), 3).unwrap().with_tiles(128).unwrap();
    let far = (1 << 29) - 2;
    let levels = long::or(vec![0, 1, 5], vec![0, 1, 2, 3, 6, 9, 12]);
    for level in levels {
        for cell in [[0, 0], [-70, 40], [far, -far], [-(1 << 29), 12_345_678]] {
            let cell = Cell::from(cell).map(|x| (x << level) + 1);
            let tile = world.tile_at(level, world.containing_tile(cell)).unwrap();
            tile.check(world.frame()).unwrap();
            // The same cells in a window with another alignment.
            let other = CellRect::from_corners(cell.map(|x| x - 60), cell.map(|x| x + 61));
            let other = other.grow_within(0, world.frame().world_rect(level));
            let window = world.clone().with_cache(WindowCache::new(0)).window(level, other).unwrap();
            let shared = CellRect::from_corners(
                [0, 1].map(|a| tile.rect.start[a].max(other.start[a])),
                [0, 1].map(|a| tile.rect.end[a].min(other.end[a])),
            );
            assert!(window.crop(shared).unwrap() == tile.crop(shared).unwrap(), "level {level}, {cell:?}");
        }
    }
    // Land across the origin, and its water to the sea.
    let level = 3;
    let across = world.window(level, CellRect::from_corners([-300, -300], [300, 300])).unwrap();
    across.check(world.frame()).unwrap();
    assert!(across.ground.as_slice().iter().any(|z| z.metres() > 10.0));
    let way: Vec<_> = world.trace_flow_path(level, -400.0, -900.0).unwrap().map(Result::unwrap).collect();
    assert_eq!(way.last().unwrap().end, Some(PathEnd::Sea));
    assert!(islands.asked.load(Ordering::SeqCst) < 1_000_000, "a window of level 0 at a time");
    let error = world.tile(40, 0.0, 0.0).unwrap_err().to_string();
    assert!(error.starts_with("level = 40: must be 0 to 14"), "{error}");
    let wide = Islands { frame: Frame { cell: 1e5, ..Islands::new().frame }, ..Islands::new() };
    let wide = World::new(
        Arc::new(Islands { frame: Frame { first: [-(1 << 40); 2].into(), cells: [1 << 41; 2], ..wide.frame }, ..wide }),
        narrow(),
        3,
    )
    .unwrap();
    let error = wide.tile(25, 0.0, 0.0).unwrap_err().to_string();
    assert!(error.contains("rows and columns are limited to -2^60 to 2^60"), "{error}");
}

/// Means of 2 × 2 cells, for a window that begins with an even cell.
fn halved(window: &LocalWindow) -> Field<f64> {
    let [rows, cols] = window.size();
    Field::from_fn([rows / 2, cols / 2], |i, j| {
        [[0, 0], [0, 1], [1, 0], [1, 1]]
            .iter()
            .map(|[a, b]| window.ground[(2 * i + a, 2 * j + b)].metres())
            .sum::<f64>()
            / 4.0
    })
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// Heights averaged back to the coarser level agree with it, down to cells of a metre: for whole levels while they are
/// small, then for tiles.
#[test]
fn a_preview_is_the_build() {
    let presets = ["hills", "alpine", "badlands", "canyon", "uplift"];
    for (name, cells) in presets[..long::or(1, 5)].iter().map(|name| (*name, 128)) {
        // Each tile alone, because blocks would be larger than the part that is examined.
        let world = World::open(&preset_recipe(name, cells, Some(3)))
            .unwrap()
            .with_tiles(128)
            .unwrap()
            .with_cache(WindowCache::new(0));
        let extent = world.frame().cell_width(0) * cells as f64;
        let finest = (1..).take_while(|level| world.frame().cell_width(*level) > 0.9).last().unwrap();
        for level in 1..=finest {
            let mut pairs = [vec![], vec![]];
            let mut add = |fine: &LocalWindow| {
                let before = world.window(level - 1, fine.rect.to_coarser_level()).unwrap();
                pairs[0].extend(before.ground.as_slice().iter().map(|z| z.metres()));
                pairs[1].extend(halved(fine).as_slice());
            };
            if level < 3 {
                add(&world.window(level, world.frame().world_rect(level)).unwrap());
            } else {
                for place in 0..long::or(2, 8) {
                    let [x, y] =
                        RandomKey::new(place, "place").derive_key(level.into()).uniform_pair().map(|u| u * extent);
                    add(&world.tile(level, x, y).unwrap());
                }
            }
            let r = correlation(&pairs[0], &pairs[1]);
            println!("{name}, level {level}, cells of {} m: {r:.5}", world.frame().cell_width(level));
            // Gullies of badlands are as narrow as the cells of level 0, so their shapes are not preserved as well
            // (0.996 and 0.998 on the first two levels).
            let least = if name == "badlands" { 0.995 } else { 0.999 };
            assert!(r >= least, "{name}, level {level}: {r}");
        }
    }
}

/// Follows water from a place down to where it leaves, tile by tile: no step goes up, and no catchment shrinks.
/// Returns the number of tiles, and true if it began on land.
fn follow_from(world: &World, level: u32, [x, y]: [f64; 2], what: &str) -> (usize, bool) {
    let sea = world.frame().sea.map_or(f64::MIN, Height::metres);
    let mut way = world.trace_flow_path(level, x, y).unwrap();
    let mut before: Option<thalweg_sim::world::FlowPathCell> = None;
    let mut is_land = false;
    for step in way.by_ref() {
        let step = step.unwrap();
        if let Some(before) = before.filter(|_| step.height > sea) {
            assert!(step.height <= before.height, "{what}: uphill from {before:?} to {step:?}");
            assert!(step.area >= before.area, "{what}: {before:?}, {step:?}");
            let far = (0..2).map(|a| step.cell[a].abs_diff(before.cell[a])).max();
            assert_eq!(far, Some(1), "{what}: a leap");
        }
        is_land |= step.height > sea;
        before = Some(step);
    }
    let last = before.unwrap();
    let leaves = if sea > f64::MIN { last.end == Some(PathEnd::Sea) } else { last.end == Some(PathEnd::Rim) };
    assert!(leaves, "{what}: ends at {last:?}");
    (way.tile_count(), is_land)
}

/// Random places.
fn places(world: &World) -> impl Iterator<Item = [f64; 2]> + use<> {
    let [rows, cols] = world.frame().cells.map(|n| n as f64 * world.frame().cell_width(0));
    (0..).map(move |lot| {
        let [u, v] = RandomKey::new(lot, "headwater").uniform_pair();
        [u * cols, v * rows]
    })
}

/// Follows water from this number of random headwaters; returns the number of tiles of all.
fn follow_down(world: &World, level: u32, count: usize, what: &str) -> usize {
    let ways = places(world).map(|place| follow_from(world, level, place, what));
    // A place in the sea is not a headwater.
    ways.filter(|(_, is_land)| *is_land).take(count).map(|(tiles, _)| tiles).sum()
}

#[test]
fn water_is_followed_to_where_it_leaves() {
    let island = World::from_terrain(&island(80, 11), Rules::default(), 4).unwrap().with_tiles(256).unwrap();
    println!("{} tiles of an island", follow_down(&island, 3, 10, "island"));
    let hills = World::open(&preset_recipe("hills", 64, Some(5))).unwrap().with_tiles(256).unwrap();
    println!("{} tiles of hills", follow_down(&hills, 3, long::or(4, 20), "hills"));
    // One river of an island to the sea, through tiles; in the long form on cells of 12 cm, through tiles as wide as a
    // cell of level 0.
    let (side, level, cells, least) = long::or((80, 4, 64, 8), (3200, 8, 256, 1000));
    let fine = World::from_terrain(&self::island(side, 12), Rules::default(), 4).unwrap().with_tiles(cells).unwrap();
    let length = |place: &[f64; 2]| fine.trace_flow_path(0, place[0], place[1]).unwrap().count();
    let head = places(&fine).take(30).max_by_key(length).unwrap();
    let (tiles, is_land) = follow_from(&fine, level, head, "a river of an island");
    println!("{tiles} tiles of {cells} cells of one river at level {level}, to the sea");
    assert!(is_land && tiles >= least, "{tiles}");
    if let Some(least) = long::or(None, Some(1000)) {
        // One river on cells of a quarter of a metre, through this number of small tiles: of thirty places the one
        // with the longest path.
        let fine = World::open(&preset_recipe("hills", 256, Some(5))).unwrap().with_tiles(16).unwrap();
        let length = |place: &[f64; 2]| fine.trace_flow_path(0, place[0], place[1]).unwrap().count();
        let head = places(&fine).take(30).max_by_key(length).unwrap();
        let (tiles, _) = follow_from(&fine, 8, head, "hills at level 8");
        println!("{tiles} tiles of one river");
        assert!(tiles >= least, "{tiles}");
    }
}

#[test]
fn heights_between_centres_are_continuous_and_the_centres_own() {
    let world = World::from_terrain(&hills(40, 8), narrow(), 1).unwrap().with_tiles(32).unwrap();
    for level in [0, 2] {
        let width = world.frame().cell_width(level);
        let whole = world.window(level, world.frame().world_rect(level)).unwrap();
        for world in [world.clone(), world.clone().with_cache(WindowCache::new(0))] {
            for (i, j) in [(0, 0), (31, 32), (32, 31), (17, 5), (39, 39)] {
                let [y, x] = [i, j].map(|k| (k as f64 + 0.5) * width);
                assert_eq!(world.height_at(x, y, level).unwrap(), whole.ground[(i, j)].metres());
            }
            // Halfway between four centres, across the corner of four tiles.
            let mean = halved(&whole.crop(CellRect::new([31, 31], [2, 2])).unwrap())[(0, 0)];
            let corner = 32.0 * width;
            assert!((world.height_at(corner, corner, level).unwrap() - mean).abs() < 1e-9);
            let [a, b] = [corner - 1e-9, corner + 1e-9].map(|x| world.height_at(x, 100.3, level).unwrap());
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        assert_eq!(world.height_at(0.0, 0.0, level).unwrap(), whole.ground[(0, 0)].metres());
        let end = 1200.0;
        assert_eq!(world.height_at(end, end, level).unwrap(), whole.ground.as_slice().last().unwrap().metres());
    }
}

#[test]
fn level_0_is_solved_once_tells_how_far_it_is_and_can_be_stopped() {
    let recipe = preset_recipe("hills", 64, Some(2));
    let world = World::open(&recipe).unwrap();
    assert_eq!(world.bytes(), 0);
    let rect = CellRect::new([10, 10], [20, 20]);
    let mut reports = vec![];
    let stopped = world.solve(2, rect, &mut |report: &ProgressReport<'_>| {
        reports.push((report.done, report.total));
        if reports.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(matches!(&stopped, Err(Error::Stopped { what }) if what.starts_with("level 0 of hills")), "{stopped:?}");
    // It continues where it was stopped.
    world
        .solve(2, rect, &mut |report: &ProgressReport<'_>| {
            reports.push((report.done, report.total));
            ControlFlow::Continue(())
        })
        .unwrap();
    let done: Vec<u64> = reports.iter().map(|(done, _)| *done).collect();
    assert!(done.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert!(reports.last().is_some_and(|(done, total)| done == total));
    assert_eq!(world.bytes(), 9 * 64 * 64);
    world.solve(2, rect, &mut |_: &ProgressReport<'_>| panic!("nothing is left to solve")).unwrap();
    // The same as the build that a caller steps.
    let stepped =
        World::from_terrain(run_recipe(recipe.clone()).terrain(), world.rules().clone(), recipe.seed).unwrap();
    assert!(stepped.window(2, rect).unwrap() == world.window(2, rect).unwrap());
    // It can also be stopped at the first report.
    let mut count = 0;
    let stopped = World::open(&recipe).unwrap().solve(2, rect, &mut |_: &ProgressReport<'_>| {
        count += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(Error::Stopped { .. })) && count == 1, "{stopped:?}");
    // Many threads at once that all need it.
    let fresh = World::open(&recipe).unwrap().with_tiles(64).unwrap();
    let all: BTreeSet<Vec<i32>> = with_threads(4, || {
        (0..8)
            .into_par_iter()
            .map(|_| fresh.tile(1, 100.0, 100.0).unwrap().ground.as_slice().iter().map(|z| z.0).collect())
            .collect::<Vec<Vec<i32>>>()
    })
    .into_iter()
    .collect();
    assert_eq!(all.len(), 1);
}

#[test]
fn a_changed_recipe_finds_nothing_of_the_old_one_in_a_cache() {
    let cache = WindowCache::new(u64::MAX);
    let open = |recipe: &Recipe| World::open(recipe).unwrap().with_tiles(64).unwrap().with_cache(Arc::clone(&cache));
    let mut recipe = preset_recipe("hills", 32, Some(2));
    let place = |world: &World| world.tile(1, 4000.0, 4000.0).unwrap();
    let old = place(&open(&recipe));
    let kept = cache.len();
    assert!(Arc::ptr_eq(&old, &place(&open(&recipe))), "the same recipe finds its own");
    assert_eq!(cache.len(), kept);
    for change in 0..3 {
        match change {
            0 => recipe.seed = 3,
            1 => recipe.stages[0].model.set("gradient_noise", "amplitude", &321.0.into()).unwrap(),
            _ => recipe.sea_level = Some(40.0),
        }
        let new = place(&open(&recipe));
        let fresh = place(&World::open(&recipe).unwrap().with_tiles(64).unwrap());
        assert!(*new == *fresh && *new != *old, "change {change}");
    }
    // An elevation model that changes under the same name.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dem.asc");
    let write = |high: f64| {
        let rows: String = (0..24)
            .map(|i| (0..24).map(|j| format!("{} ", high * f64::from(i * j % 7))).collect::<String>() + "\n")
            .collect();
        std::fs::write(&file, format!("ncols 24\nnrows 24\nxllcorner 0\nyllcorner 0\ncellsize 30\n{rows}")).unwrap();
    };
    let recipe = Recipe::parse(&format!("from = {:?}\n", file.to_string_lossy())).unwrap();
    write(10.0);
    let old = open(&recipe).tile(1, 100.0, 100.0).unwrap();
    write(20.0);
    assert!(*open(&recipe).tile(1, 100.0, 100.0).unwrap() != *old);
}

#[test]
fn what_cannot_be_is_refused() {
    fn shared<T: Send + Sync>() {}
    shared::<World>();
    let world = World::from_terrain(&hills(32, 1), Rules::default(), 1).unwrap();
    let told = |result: Result<Arc<LocalWindow>>| result.unwrap_err().to_string();
    assert!(
        told(world.tile(40, 0.0, 0.0))
            .starts_with("level = 40: must be 0 to 14, because heights in steps of 1/65536 m")
    );
    let outside = told(world.tile(2, -0.1, 5.0));
    assert_eq!(outside, "place = -0.1 m, 5 m: must be 0 to 960 m eastward, 0 to 960 m southward");
    for bad in [f64::NAN, f64::INFINITY, 1e300, -1.0] {
        assert!(world.tile(1, bad, 3.0).is_err() && world.height_at(3.0, bad, 1).is_err());
        assert!(world.trace_flow_path(1, bad, 3.0).is_err());
    }
    let error = told(world.tile_at(6, Cell::new(4, 0)));
    assert_eq!(error, "tile = row 4, column 0 of level 6: must be rows 0 to 3, columns 0 to 3");
    assert!(world.tile_at(1, Cell::new(i64::MAX, i64::MIN)).is_err());
    let window = |level, rect| world.window(level, rect).unwrap_err().to_string();
    assert!(window(1, CellRect::new([3, 3], [0, 9])).starts_with("window = rows 3 to 3"));
    assert!(window(14, CellRect::new([0, 0], [1 << 19; 2])).contains("at most 268435456 cells"));
    assert!(window(3, CellRect::new([250, 0], [10, 10])).contains("within rows 0 to 256, columns 0 to 256"));
    assert!(window(0, CellRect::from_corners([5, 5], [1, 1])).starts_with("window"));
    assert!(world.solve(1, CellRect::new([-1, 0], [2, 2]), &mut NoProgress).is_err());
    for side in [0, 15, 5000] {
        assert!(world.clone().with_tiles(side).is_err());
    }
    assert!(World::from_terrain(&hills(8, 1), Rules { river: 0, ..Rules::default() }, 1).is_err());
    assert!(World::open(&Recipe::parse("extent = [1000.0, 1000.0]\ncells = 8\n").unwrap()).is_ok());
}

#[test]
fn odd_worlds_have_tiles_too() {
    let flat = |high: f64, sea| terrain(&Field::new([20, 20], high), 30.0, OPEN, sea);
    let one = |edges| terrain(&Field::new([1, 1], 5.0), 30.0, edges, None);
    let ridges = Field::from_fn([20, 20], |i, _| if i % 2 == 0 { 100.0 } else { 0.0 });
    for (name, land) in [
        ("one cell", one(OPEN)),
        ("one cell in walls", one([Edge::Closed; 4])),
        ("one row", terrain(&rough([1, 30], 30.0, 100.0, 1), 30.0, OPEN, None)),
        ("no river", terrain(&ridges, 30.0, OPEN, None)),
        ("all sea", flat(-50.0, Some(0.0))),
        ("a plain", flat(7.0, None)),
    ] {
        for most in [0, 1, u64::MAX] {
            let world = World::from_terrain(&land, Rules::default(), 1).unwrap().with_cache(WindowCache::new(most));
            for level in [0, 1, 5] {
                let [rows, cols]: [f64; 2] =
                    world.frame().world_rect(level).end.map(|n| n as f64 * world.frame().cell_width(level)).into();
                let tile = world.tile(level, cols, rows / 2.0).unwrap();
                tile.check(world.frame()).unwrap();
                assert!(world.height_at(cols / 2.0, rows, level).unwrap().is_finite(), "{name}");
                let end = world.trace_flow_path(level, cols / 2.0, rows / 2.0).unwrap().last().unwrap().unwrap().end;
                let expected = match name {
                    "all sea" => PathEnd::Sea,
                    "one cell in walls" => PathEnd::Inland,
                    _ => PathEnd::Rim,
                };
                assert_eq!(end, Some(expected), "{name}, level {level}");
            }
        }
    }
}

/// Rivers of two adjacent tiles meet in the same vertex under the same number, and a finer level keeps the number.
#[test]
fn rivers_join_across_tiles_and_keep_their_numbers_on_finer_levels() {
    let world =
        World::from_terrain(&island(long::or(80, 200), 21), Rules::default(), 4).unwrap().with_tiles(128).unwrap();
    let level = 2;
    let least = 2.0 * world.min_river_area(1);
    let tiles = shuffled(&world, level, 1);
    let mut lines: Vec<(CellRect<i64>, Vec<thalweg_sim::world::RiverLine>)> = vec![];
    for tile in &tiles {
        let rect = world.tile_rect(level, *tile);
        lines.push((rect, world.rivers(level, rect, least).unwrap()));
    }
    let whole = world.window(level, world.frame().world_rect(level)).unwrap();
    whole.check(world.frame()).unwrap();
    let all = world.rivers(level, whole.rect, least).unwrap();
    let place = |v: &thalweg_sim::world::RiverVertex| [v.place.x, v.place.y].map(f64::to_bits);
    // Each step of each line, by number: the same in tiles as in the whole.
    let steps = |rivers: &[thalweg_sim::world::RiverLine]| -> BTreeSet<(u64, [u64; 2], [u64; 2])> {
        rivers
            .iter()
            .flat_map(|river| river.vertices.windows(2).map(|pair| (river.id, place(&pair[0]), place(&pair[1]))))
            .collect()
    };
    let of_tiles: BTreeSet<_> = lines.iter().flat_map(|(_, rivers)| steps(rivers)).collect();
    assert_eq!(of_tiles, steps(&all));
    assert!(all.len() > 20, "{}", all.len());
    // In the whole, a river is one line, which ends in the river that it names, in the sea, or at the edge.
    let mut numbers = BTreeSet::new();
    let mut twice = 0;
    for river in &all {
        twice += usize::from(!numbers.insert(river.id));
        assert!(river.id < 1 << 53 && river.vertices.len() > 1);
        for pair in river.vertices.windows(2) {
            assert!(pair[1].height <= pair[0].height.max(0.0) && pair[1].area >= pair[0].area, "{pair:?}");
            assert!((pair[0].discharge - pair[0].area * 0.3 / 31_557_600.0).abs() < 1e-9 * pair[0].area);
        }
        let last = river.vertices.last().unwrap();
        match river.downstream {
            Some(id) => {
                let other = all.iter().filter(|other| other.id == id);
                assert!(
                    other.flat_map(|other| &other.vertices).any(|vertex| place(vertex) == place(last)),
                    "{river:?}"
                );
            }
            None => assert!(last.height <= 0.0, "ends on land: {last:?}"),
        }
    }
    // In lakes, where paths of several rivers share cells, a few lines are split: 8 of 287.
    assert!(twice * 25 <= all.len(), "{twice} of {} lines have the number of another", all.len());
    // On the next level there are the same numbers, each within the width of a coarse cell of its earlier position.
    let finer = world.rivers(level + 1, world.frame().world_rect(level + 1), least).unwrap();
    let finer_numbers: BTreeSet<u64> = finer.iter().map(|river| river.id).collect();
    let lost = numbers.difference(&finer_numbers).count();
    assert!(lost * 50 <= numbers.len(), "{lost} of {} rivers lost their numbers", numbers.len());
    let width = world.frame().cell_width(level);
    let (mut near, mut count) = (0, 0);
    for vertex in finer.iter().flat_map(|river| river.vertices.iter().map(move |v| (river.id, v))) {
        let coarse = all.iter().filter(|river| river.id == vertex.0).flat_map(|river| &river.vertices);
        let is_near = |v: &thalweg_sim::world::RiverVertex| {
            (0..2).all(|a| (v.place.axis_coordinate(a) - vertex.1.place.axis_coordinate(a)).abs() <= 2.0 * width)
        };
        count += 1;
        near += usize::from(coarse.into_iter().any(is_near));
    }
    println!("{} rivers, {twice} twice, {lost} lost, {near} of {count} vertices near", all.len());
    assert!(near * 100 >= 97 * count, "{near} of {count}");
}

#[test]
fn tiles_by_distance_cover_the_land_once() {
    let world = World::from_terrain(&hills(100, 1), narrow(), 1).unwrap().with_tiles(32).unwrap();
    let extent = 3000.0;
    for (camera, detail) in [([700.0, 2100.0], 1.0), ([-5000.0, 100.0], 0.5), ([2999.0, 3000.0], 3.0)] {
        let wanted = world.select_tiles_around(Point::from(camera), 1e5, 4, detail).unwrap();
        let mut area = 0.0;
        for (number, one) in wanted.iter().enumerate() {
            let metres = |w: &thalweg_sim::world::SelectedTile| {
                let (rect, width) = (world.tile_rect(w.level, w.tile), world.frame().cell_width(w.level));
                [rect.start, rect.end].map(|cell| cell.map(|x| x as f64 * width))
            };
            let [a, b] = metres(one);
            area += (b[0] - a[0]) * (b[1] - a[1]);
            for other in &wanted[..number] {
                let [c, d] = metres(other);
                assert!((0..2).any(|axis| b[axis] <= c[axis] || d[axis] <= a[axis]), "{one:?} {other:?}");
            }
            let side = 32.0 * world.frame().cell_width(one.level);
            assert!(one.level == 4 || one.distance >= detail * side, "{one:?} is too coarse");
            assert!(one.level == 0 || one.distance < 4.0 * detail * side + 2.0 * side, "{one:?} is too fine");
        }
        assert!((area - extent * extent).abs() < 1e-6 * area, "{area}");
        assert!(wanted.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
    }
    // In an unbounded world, only what is near.
    let world = World::new(Arc::new(Islands::new()), narrow(), 3).unwrap();
    let near = world.select_tiles_around(Point::default(), 20_000.0, 6, 1.0).unwrap();
    assert!(near.len() < 400 && near.iter().any(|w| w.tile.row < 0 && w.tile.col < 0));
    assert!(
        world.select_tiles_around(Point::default(), 1e14, 6, 1.0).unwrap_err().to_string().contains("100000 tiles")
    );
    for (far, detail) in [(f64::NAN, 1.0), (-1.0, 1.0), (1.0, f64::INFINITY)] {
        assert!(world.select_tiles_around(Point::default(), far, 6, detail).is_err());
    }
    assert!(world.select_tiles_around(Point::new(f64::NAN, 0.0), 10.0, 6, 1.0).is_err());
}
