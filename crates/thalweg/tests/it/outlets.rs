//! Tests of outlets for all land on random ground: which cells drain, which are lakes, and how much the ground
//! changes.

use crate::long;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Grid, Height};
use thalweg_flow::outlets::{LakeLimits, Outlets, find_draining_cells, open_outlets};
use thalweg_flow::{CellRole, Land, fill};

/// Ground with hills, depressions and roughness; some of it closed, with cells without data, sea, or standing water.
struct Ground {
    grid: Grid,
    ground: Field<Height>,
    nodata: Option<Field<bool>>,
    pools: Option<Field<Height>>,
    least: LakeLimits,
}

impl Ground {
    fn random(seed: u64) -> Self {
        let key = RandomKey::new(seed, "outlets");
        let draw = |what: u64, below: u64| key.derive_key(what).random_bits() % below;
        let mut grid = Grid::new([1 + draw(1, 60) as usize, 1 + draw(2, 60) as usize], 10.0).unwrap();
        let closed = draw(3, 16);
        grid.edges = std::array::from_fn(|k| if closed >> k & 1 == 1 { Edge::Closed } else { Edge::Open });
        grid.sea_level = (draw(4, 3) == 0).then_some(Height::from_metres_clamped(-10.0));
        let unit = |what: u64, i: usize, j: usize| key.derive_key(what).for_cell([i as i64, j as i64]).uniform_unit();
        // From flats of whole metres up to 4 km, where a step of f32 is 16 units.
        let (rough, over) = ([0.0, 0.5, 8.0][draw(5, 3) as usize], [0.0, 150.0, 3900.0][draw(6, 3) as usize]);
        let whole = draw(7, 3) == 0;
        let height = |i: usize, j: usize| {
            let hills = 20.0 * libm::sin(i as f64 / 5.0) * libm::cos(j as f64 / 7.0) + 0.3 * j as f64;
            let height = over + hills + rough * unit(8, i, j);
            if whole { height.floor() } else { height }
        };
        let ground = Field::from_fn(grid.size, |i, j| Height::from_metres_clamped(height(i, j)));
        let nodata = (draw(9, 4) == 0).then(|| Field::from_fn(grid.size, |i, j| unit(10, i, j) < 0.02));
        // Some depressions are half full, some land is wet.
        let pools = (draw(11, 2) == 0).then(|| {
            let filled =
                fill::fill_depressions(&Land { grid: &grid, ground: &ground, nodata: nodata.as_ref(), outlets: &[] });
            let share = 0.3 + 0.7 * key.derive_key(12).uniform_unit();
            Field::from_fn(grid.size, |i, j| {
                let deep = f64::from(filled[(i, j)].0 - ground[(i, j)].0) / UNITS;
                let puddle = if unit(13, i, j) < 0.01 { 0.05 } else { 0.0 };
                Height::from_metres_clamped(if deep > 0.0 { (deep - 3.0 * (1.0 - share)).max(0.0) } else { puddle })
            })
        });
        let least = LakeLimits {
            depth: [0.0, 0.5, 4.0, 1e4][draw(14, 4) as usize],
            area: [0.0, 500.0, 3000.0][draw(15, 3) as usize],
        };
        Self { grid, ground, nodata, pools, least }
    }

    fn land(&self) -> Land<'_> {
        Land { grid: &self.grid, ground: &self.ground, nodata: self.nodata.as_ref(), outlets: &[] }
    }

    fn mended(&self) -> Outlets {
        open_outlets(&self.land(), self.pools.as_ref(), &self.least).unwrap()
    }

    /// Returns true if water can leave the land nowhere; its lowest cell then receives all of it.
    fn is_closed(&self) -> bool {
        let void = self.nodata.as_ref().is_some_and(|mask| mask.as_slice().contains(&true));
        let sea = self.ground.as_slice().iter().any(|h| self.grid.sea_level.is_some_and(|sea| *h <= sea));
        self.grid.edges == [Edge::Closed; 4] && !void && !sea
    }

    fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let [rows, cols] = self.grid.size;
        (0..rows).flat_map(move |i| (0..cols).map(move |j| (i, j)))
    }
}

fn is_wet(pools: &Field<Height>) -> Field<bool> {
    pools.map(|depth| depth.0 > 0)
}

#[test]
fn all_land_drains_as_it_is_and_rounded() {
    let mut mended = 0;
    for seed in 0..long::or(300, 20_000) {
        let ground = Ground::random(seed);
        let land = ground.land();
        let Outlets { ground: after, pools } = ground.mended();
        let lakes = is_wet(&pools);
        let parts = land.with_ground(&after).cell_roles();
        let all = |heights: &Field<Height>, what: &str| {
            let drains = find_draining_cells(&land.with_ground(heights), &lakes);
            let stuck = ground.cells().find(|at| !drains[*at] && parts[*at] != CellRole::Void);
            assert_eq!(stuck, None, "seed {seed}, {what}: {:?} of {:?}", ground.least, ground.grid);
        };
        all(&after, "as it is");
        // On closed land the lowest cell receives the water; after rounding it may be another cell.
        if !ground.is_closed() {
            all(&after.map(|h| Height::from_metres_clamped(f64::from(h.metres_f32()))), "f32");
            // Sea cells stay sea.
            let sea = ground.grid.sea_level.map_or(f64::MIN, Height::metres);
            let steps = |step: f64| {
                let round = |h: &Height| (h.metres() / step).ceil() * step;
                after.map(|h| if h.metres() <= sea { *h } else { Height::from_metres_clamped(round(h)) })
            };
            all(&steps(0.01), "centimetres");
            all(&steps(1.0), "metres");
        }
        // Away from edges and next to dry cells, every cell has a lower neighbour: there are no flats.
        let lowest = after.as_slice().iter().min().copied().filter(|_| ground.is_closed());
        for at in
            ground.cells().filter(|at| parts[*at] == CellRole::Inside && !lakes[*at] && Some(after[*at]) != lowest)
        {
            let surface = |at: (usize, usize)| after[at].0 + pools[at].0;
            let lower = |cell: Cell| parts[cell] != CellRole::Void && surface((cell.row, cell.col)) < after[at].0;
            assert!(land.neighbours(at.0, at.1).any(|(_, cell)| lower(cell)), "seed {seed}, {at:?}");
        }
        let before = find_draining_cells(&land, &Field::new(ground.grid.size, false));
        mended += u64::from(ground.cells().any(|at| !before[at] && parts[at] != CellRole::Void));
    }
    assert!(mended > 100, "{mended} of the grounds had pits");
}

#[test]
fn lakes_are_level_of_their_size_and_held_by_their_shores() {
    let (mut stood, mut new) = (0, 0);
    for seed in 0..long::or(300, 20_000) {
        let ground = Ground::random(seed);
        let land = ground.land();
        let Outlets { ground: after, pools } = ground.mended();
        let surface = Field::from_fn(pools.size(), |i, j| Height(after[(i, j)].0 + pools[(i, j)].0));
        let mut seen = Field::new(pools.size(), false);
        for first in ground.cells() {
            if seen[first] || pools[first].0 == 0 {
                continue;
            }
            seen[first] = true;
            let mut lake = vec![first];
            let mut next = 0;
            while let Some(at) = lake.get(next).copied() {
                next += 1;
                assert_eq!(after[at], ground.ground[at], "the ground under a lake is as it was");
                for (_, Cell { row: r, col: c }) in land.neighbours(at.0, at.1) {
                    let kept = ground.pools.as_ref().is_some_and(|before| before[at].0 > 0);
                    if pools[(r, c)].0 > 0 && (surface[(r, c)].0 - surface[first].0).abs() <= 256 {
                        if !seen[(r, c)] {
                            seen[(r, c)] = true;
                            lake.push((r, c));
                        }
                    } else if !kept && ground.nodata.as_ref().is_none_or(|mask| !mask[(r, c)]) && pools[(r, c)].0 == 0 {
                        // Water that was there before may stay as it was, higher than its shore.
                        assert!(after[(r, c)] >= surface[at], "seed {seed}: {:?} is under the lake at {at:?}", (r, c));
                    }
                }
            }
            let deepest = lake.iter().map(|at| pools[*at].metres()).fold(0.0, f64::max);
            let volume = 100.0 * lake.iter().map(|at| pools[*at].metres()).sum::<f64>();
            let LakeLimits { depth, area } = ground.least;
            assert!(
                lake.len() as f64 * 100.0 >= area && (deepest >= depth || 3.0 * volume >= depth * area),
                "seed {seed}: {lake:?}, {deepest} m deep, {volume} m³, {:?}",
                ground.least
            );
            match &ground.pools {
                Some(before) if lake.iter().all(|at| before[*at] == pools[*at]) => stood += 1,
                _ => new += 1,
            }
        }
    }
    assert!(stood > 50 && new > 50, "{stood} lakes stood, {new} are new");
}

#[test]
fn the_change_is_small_and_made_once() {
    for seed in 0..long::or(300, 20_000) {
        let ground = Ground::random(seed);
        let done = ground.mended();
        // Without standing water, no more is cut than would fill the depressions, and no more is deposited; falls of
        // 0.5 mm a cell are added to that.
        if ground.pools.is_none() {
            let filled = fill::fill_depressions(&ground.land());
            let fill = |at: (usize, usize)| filled[at].0 - ground.ground[at].0;
            let cut = |at: (usize, usize)| i64::from((ground.ground[at].0 - done.ground[at].0).max(0));
            let volume: i64 = ground.cells().map(|at| i64::from(fill(at))).sum();
            assert!(ground.cells().map(cut).sum::<i64>() <= volume, "seed {seed}");
            let falls = 32 * 4 * (ground.grid.size[0] + ground.grid.size[1]) as i32;
            let over = ground.cells().find(|at| done.ground[*at].0 > filled[*at].0 + falls);
            assert_eq!(over, None, "seed {seed}");
            let deepest = ground.cells().map(|at| filled[at].0 - ground.ground[at].0).max().unwrap_or(0);
            assert!(ground.cells().all(|at| ground.ground[at].0 - done.ground[at].0 <= deepest), "seed {seed}");
        }
        let again = open_outlets(&ground.land().with_ground(&done.ground), Some(&done.pools), &ground.least).unwrap();
        let other =
            ground.cells().find(|at| again.ground[*at] != done.ground[*at] || again.pools[*at] != done.pools[*at]);
        let values =
            other.map(|at| [ground.ground[at], done.ground[at], done.pools[at], again.ground[at], again.pools[at]]);
        assert_eq!(other, None, "seed {seed}: {values:?} {:?} {:?}", ground.least, ground.grid);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let ground = Ground::random(1);
    for least in [LakeLimits { depth: -1.0, area: 0.0 }, LakeLimits { depth: 0.0, area: f64::NAN }] {
        assert!(open_outlets(&ground.land(), None, &least).is_err());
    }
    let other = Field::new([2, 100], Height::ZERO);
    assert!(open_outlets(&ground.land(), Some(&other), &ground.least).is_err());
}
