//! A forest stand without history, computed from a bounded neighbourhood.
//!
//! [`Forest::advance_step`] lets seeds fly year after year, so a plant at a place may descend from anywhere, which a
//! tile that is computed on its own cannot know. A stand is drawn at random instead: each square of a lattice in world
//! coordinates may contain a plant, if the ground supports it. Of two plants that would crowd each other, the one with
//! the earlier rank stays, where long-lived kinds rank before short-lived ones (Matérn 1960, "Spatial variation", his
//! second model). The result therefore depends only on the terrain within some metres.

use rayon::prelude::*;

use super::kinds::KINDS;
use super::{ForestRules, PlantSite, Tree, YOUNG, draw_kind, fraction_u16};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, Grid, Point};

/// The number of lattice squares along the side of a patch of roots; more squares do not make the stand denser.
const SQUARES: f64 = 2.0;

/// The area that the roots of a plant of strength 1 hold, in patches: the patch itself and its eight neighbours, 1 +
/// 4·0.6 + 4·0.4 (see [`ForestRules::patch`]). A full forest has one such plant per this area.
const ROOT_AREA_PATCHES: f64 = 5.0;

/// The greatest age of plants, in mean lifetimes of their kind.
const LIVES: f64 = 3.0;

/// A plant that may be part of the stand.
struct PlantCandidate {
    /// Its position in world coordinates in metres, with the same bits in every window.
    place: Point,
    kind: u8,
    /// The distance in metres that it keeps from a plant of the same kind. Two different plants keep the mean of
    /// their distances.
    radius: f64,
    number: u64,
    key: RandomKey,
}

impl PlantCandidate {
    /// Returns the rank that decides which of two plants stays, the smaller one first: the longer a kind lives, the
    /// smaller its ranks tend to be.
    fn rank(&self) -> (u64, u64) {
        let [_, _, death] = KINDS[usize::from(self.kind)].pace;
        // Numbers are uniform, so a lower death rate gives lower ranks on average; the number breaks ties.
        ((self.number as f64 * f64::from(death.sqrt())) as u64, self.number)
    }
}

/// Returns the distance in metres from a cell within which the terrain can influence its plants: the plants that
/// crowd it, and the ground that those depend on.
pub fn stand_reach(rules: &ForestRules, cell: f64) -> f64 {
    let radius = KINDS.iter().map(|kind| exclusion_radius(rules, kind.roots, kind.patch)).fold(0.0, f64::max);
    let shore = KINDS.iter().filter_map(|kind| kind.shore).fold(0.0, f64::max);
    // The shore is searched at least one cell away, and the slope needs one cell.
    radius + shore.max(cell) + 2.0 * cell
}

/// Returns the plants `years` after the first ones reached bare ground, on the cells `within` of a site. The site
/// must extend [`stand_reach`] metres around these cells, as far as the world does. The plants' cells count from the
/// window's first one. A place in the world has the same plants in any window; on finer cells they stand at the same
/// places, as far as the ground supports them there.
pub fn generate_stand(
    site: &PlantSite<'_>,
    rules: &ForestRules,
    years: u32,
    key: RandomKey,
    within: CellRect,
) -> Vec<Tree> {
    let grown = compute_colonised_share(rules, years);
    let candidates = draw_candidates(site, rules, key);
    let cell = site.grid.cell;
    let widest = candidates.iter().map(|one| one.radius).fold(0.0, f64::max);
    // A square is as wide as the greatest distance kept, so all plants that can crowd another are in adjacent squares.
    let squares = Squares::from_candidates(&candidates, widest.max(cell), site.grid);
    let stays = |one: &PlantCandidate| {
        !squares.nearby_candidates(one.place).any(|other| {
            let other = &candidates[other as usize];
            let (dx, dy) = (other.place.x - one.place.x, other.place.y - one.place.y);
            let apart = 0.5 * (one.radius + other.radius);
            other.rank() < one.rank() && dy * dy + dx * dx < apart * apart
        })
    };
    let first = [0, 1].map(|axis| site.grid.origin[axis] + within.start[axis] as i64);
    let grow = |one: &PlantCandidate| {
        // The position is given in rows and columns of the world, then of the window.
        let at = Cell::new(one.place.y / cell, one.place.x / cell);
        let from = Cell::from_axes(|axis| at[axis].floor() as i64 - first[axis]);
        let inside = (0..2).all(|axis| (0..within.size()[axis] as i64).contains(&from[axis]));
        if !inside || one.key.derive_key(3).uniform_unit() >= grown || !stays(one) {
            return None;
        }
        let kind = &KINDS[usize::from(one.kind)];
        let [growth, _, death] = kind.pace;
        // Ages have the exponential distribution that a constant death rate leads to.
        let life = 1.0 / (rules.death * f64::from(death)).max(1e-9);
        let age =
            (-life * libm::log(one.key.derive_key(4).uniform_unit().max(1e-9))).min(LIVES * life).min(f64::from(years));
        // This is the missing size after `age` steps of growth, as a share of that of a plant that has just taken root.
        let remaining_growth = libm::pow(1.0 - f64::from((rules.grow * growth).min(1.0)), age);
        Some(Tree {
            number: one.number,
            cell: from.map(|n| n as u32),
            part: at.map(fraction_u16),
            kind: one.kind,
            size: (1.0 - (1.0 - f64::from(YOUNG)) * remaining_growth) as f32,
            age: age as u32,
            patch: rules.patch as f32 * kind.patch,
        })
    };
    let mut trees: Vec<Tree> = candidates.par_iter().filter_map(grow).collect();
    // The table is in the order of numbers, as that of a grown forest.
    trees.sort_by_key(|tree| tree.number);
    trees
}

/// Returns the distance in metres within which a plant keeps others away, chosen so that a full stand has as many
/// plants as a forest at its cap.
fn exclusion_radius(rules: &ForestRules, roots: f32, patch: f32) -> f64 {
    let side = rules.patch * f64::from(patch);
    side * (ROOT_AREA_PATCHES * f64::from(roots) / (std::f64::consts::PI * f64::from(rules.cap))).sqrt()
}

/// Returns the share of the ground that has been colonised after `years`: by seeds from elsewhere, which then seed
/// others, until there is no more room (logistic growth).
fn compute_colonised_share(rules: &ForestRules, years: u32) -> f64 {
    let room = 1e6 * f64::from(rules.cap) / (ROOT_AREA_PATCHES * rules.patch * rules.patch);
    let rate = rules.seed - rules.death;
    // Births and deaths that balance would divide by zero; the limit of the formula is linear growth.
    let come = if rate.abs() < 1e-9 {
        rules.spawn * f64::from(years)
    } else {
        // The limit of 200 keeps the exponential finite; the ground is full long before.
        rules.spawn / rate * libm::expm1((rate * f64::from(years)).min(200.0))
    };
    come / (come + room)
}

/// Returns the candidate plants: at most one per lattice square, of a kind that the ground supports.
fn draw_candidates(site: &PlantSite<'_>, rules: &ForestRules, key: RandomKey) -> Vec<PlantCandidate> {
    let (grid, side) = (site.grid, rules.patch / SQUARES);
    let span = |axis: usize| {
        let metres = |cells: i64| cells as f64 * grid.cell / side;
        let last = grid.origin[axis] + grid.size[axis] as i64;
        metres(grid.origin[axis]).floor() as i64..metres(last).ceil() as i64
    };
    let (rows, cols) = (span(0), span(1));
    let of = |row: i64, col: i64| {
        // The key belongs to a square of the world's lattice, so every window draws the same candidate.
        let key = key.for_cell([row, col]);
        let [v, u] = key.uniform_pair();
        let place = Point { x: (col as f64 + u) * side, y: (row as f64 + v) * side };
        let cell = Cell::new(place.y, place.x).map(|metres| (metres / grid.cell).floor() as i64);
        let Cell { row: i, col: j } = grid.local_cell(cell)?;
        let chances = site.rooting_chances(i, j, rules);
        let weights: [f32; KINDS.len()] = std::array::from_fn(|k| chances[k] * rules.shares[k]);
        if weights.iter().all(|weight| *weight <= 0.0) {
            return None;
        }
        let kind = draw_kind(&weights, key.derive_key(1).uniform_unit() as f32);
        let known = &KINDS[usize::from(kind)];
        let radius = exclusion_radius(rules, known.roots, known.patch);
        let stands = key.derive_key(2).uniform_unit() < f64::from(chances[usize::from(kind)]);
        // 53 bits remain, which an `f64` represents exactly, as `rank` needs.
        stands.then(|| PlantCandidate { place, kind, radius, number: key.random_bits() >> 11, key })
    };
    rows.into_par_iter().flat_map_iter(|row| cols.clone().filter_map(move |col| of(row, col))).collect()
}

/// The candidates sorted into squares, to find neighbours quickly.
struct Squares {
    /// The north-western corner of the first square.
    first: Point,
    /// The side of a square in metres.
    side: f64,
    count: [usize; 2],
    lists: Vec<Vec<u32>>,
}

impl Squares {
    fn from_candidates(candidates: &[PlantCandidate], side: f64, grid: &Grid) -> Self {
        let Cell { row: y, col: x } = grid.origin.map(|first| first as f64 * grid.cell);
        let count = grid.size.map(|cells| (cells as f64 * grid.cell / side) as usize + 1);
        let mut squares = Self { first: Point { x, y }, side, count, lists: vec![Vec::new(); count[0] * count[1]] };
        for (number, one) in candidates.iter().enumerate() {
            let Cell { row: i, col: j } = squares.locate_square(one.place);
            squares.lists[i * count[1] + j].push(number as u32);
        }
        squares
    }

    fn locate_square(&self, place: Point) -> Cell {
        Cell::from_axes(|axis| {
            let from = place.axis_coordinate(axis) - self.first.axis_coordinate(axis);
            ((from / self.side).max(0.0) as usize).min(self.count[axis] - 1)
        })
    }

    /// Returns the candidates in the square of a place and in the squares around it.
    fn nearby_candidates(&self, place: Point) -> impl Iterator<Item = u32> {
        let [rows, cols] = [0, 1].map(|axis| {
            let k = self.locate_square(place)[axis];
            k.saturating_sub(1)..(k + 2).min(self.count[axis])
        });
        rows.flat_map(move |i| cols.clone().map(move |j| i * self.count[1] + j))
            .flat_map(|k| self.lists[k].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Field, Height};

    fn site<'a>(grid: &'a Grid, ground: &'a Field<Height>) -> PlantSite<'a> {
        PlantSite { grid, ground, nodata: None, pool: None, water: None, discharge: None, fertility: None }
    }

    /// Returns a window of rolling terrain defined in world metres.
    fn land(origin: [i64; 2], size: [usize; 2], cell: f64) -> (Grid, Field<Height>) {
        let mut grid = Grid::new(size, cell).unwrap();
        grid.origin = origin.into();
        let ground = Field::from_fn(size, |i, j| {
            let [y, x] = [i as i64 + origin[0], j as i64 + origin[1]].map(|n| (n as f64 + 0.5) * cell);
            Height::from_metres_clamped(300.0 + 40.0 * libm::sin(x / 60.0) * libm::cos(y / 45.0))
        });
        (grid, ground)
    }

    #[test]
    fn a_part_has_the_plants_of_the_whole_and_places_are_the_worlds() {
        let (rules, key, cell) = (ForestRules::default(), RandomKey::new(7, "stand"), 2.0);
        let (grid, ground) = land([-60, 40], [200, 220], cell);
        let whole = generate_stand(&site(&grid, &ground), &rules, 250, key, CellRect::new([0, 0], grid.size));
        assert!(whole.len() > 200, "{}", whole.len());
        let reach = (stand_reach(&rules, cell) / cell).ceil() as usize;
        for (start, size) in [([50, 60], [70, 64]), ([30, 30], [20, 150]), ([100, 100], [1, 1])] {
            let first = start.map(|first| first - reach.min(first));
            let wide = [0, 1].map(|axis| (start[axis] + size[axis] + reach).min(grid.size[axis]) - first[axis]);
            let (own, part) = land([0, 1].map(|axis| grid.origin[axis] + first[axis] as i64), wide, cell);
            let within = CellRect::new([0, 1].map(|axis| start[axis] - first[axis]), size);
            let alone = generate_stand(&site(&own, &part), &rules, 250, key, within);
            let there =
                |tree: &&Tree| (0..2).all(|a| (start[a]..start[a] + size[a]).contains(&(tree.cell[a] as usize)));
            let numbers = |trees: &[Tree]| trees.iter().map(|tree| tree.number).collect::<Vec<_>>();
            let inside: Vec<Tree> = whole.iter().filter(there).copied().collect();
            assert_eq!(numbers(&alone), numbers(&inside), "{start:?}");
        }
    }

    #[test]
    fn a_full_stand_is_about_as_dense_as_a_forest_and_a_young_one_is_open() {
        let rules = ForestRules { shares: [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], ..ForestRules::default() };
        let grid = Grid::new([150, 150], 4.0).unwrap();
        let ground = Field::new(grid.size, Height::from_metres_clamped(300.0));
        let all = CellRect::new([0, 0], grid.size);
        let trees = generate_stand(&site(&grid, &ground), &rules, 2000, RandomKey::new(1, "full"), all);
        let capacity = rules.estimate_capacity(&grid);
        assert!((0.8..1.1).contains(&(trees.len() as f64 / capacity)), "{} of {capacity}", trees.len());
        let young = generate_stand(&site(&grid, &ground), &rules, 60, RandomKey::new(1, "full"), all);
        assert!(young.len() * 3 < trees.len() && !young.is_empty(), "{} {}", young.len(), trees.len());
        assert!(young.iter().all(|tree| tree.age <= 60 && tree.size >= YOUNG));
    }
}
