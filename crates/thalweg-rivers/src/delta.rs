//! Distributaries: arms into which gently sloping rivers branch before the sea.

use crate::cell_vertices;
use crate::check::is_crossing;
use crate::lakes::PlannedLakes;
use crate::line_cells::{index, visit_line_cells};
use crate::network::{Mouth, River, RunSource, Vertex};
use crate::tree::neighbour_cells;
use crate::{Design, Site};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};

/// Largest slope of a river, and of the coast, at which the river branches.
const MAX_BRANCHING_SLOPE: f64 = 0.005;

/// Distance of the apex from the mouth: in widths, and at least in cells.
const APEX: (f64, f64) = (20.0, 16.0);

/// Where arms branch off, as shares of the distance from the mouth to the apex.
const PLACES: [f64; 2] = [1.0, 0.6];

/// Directions that are tried for an arm, as tangents of its angle to the direction of the mouth.
const SPREAD: [f64; 3] = [0.7, 1.1, 0.45];

/// An arm takes one part in this many of the incoming water.
const ARM_SHARE_DIVISOR: i64 = 3;

/// Number of cells after which an arm must stay away from the river that it left.
const MIN_SEPARATION_CELLS: f64 = 6.0;

/// Adds arms to the runs that end in the sea, if they carry enough water over gently sloping ground. The discharges
/// of runs must be known.
///
/// An arm turns away from the river's line and runs straight to the sea, over ground no higher than where it began
/// (plus a small tolerance), avoiding all other water. It takes its share of the discharge and the drainage area with
/// it.
pub(super) fn branch_rivers(site: &Site<'_>, design: &Design, lakes: &PlannedLakes, rivers: &mut Vec<River>) {
    let has_delta = |river: &River| {
        let end = river.vertices[river.vertices.len() - 1];
        design.delta > 0.0 && river.mouth == Mouth::Sea && end.discharge() >= design.delta
    };
    let great: Vec<usize> = (0..rivers.len()).filter(|k| has_delta(&rivers[*k])).collect();
    if great.is_empty() {
        return;
    }
    let mut taken = Field::new(site.land.grid.size, 0u32);
    for (number, river) in rivers.iter().enumerate() {
        mark_passed_cells(&mut taken, number, river);
    }
    // The first arm leaves to a side that is random but fixed by the cell of the mouth; further arms alternate.
    for parent in great {
        let last = &rivers[parent].vertices[rivers[parent].vertices.len() - 1];
        let Cell { row: i, col: j } = last.cell(site.land.grid.size);
        let mut side =
            if RandomKey::ZERO.for_cell(site.land.grid.world_cell(i, j)).uniform_signed() < 0.0 { -1.0 } else { 1.0 };
        for place in PLACES {
            // The arm closest to the head of the delta comes first; later arms have to avoid it.
            let Some(at) = find_apex(site, design, rivers, parent, place) else { continue };
            // The first direction in which an arm reaches the sea is taken.
            let arm = SPREAD.iter().find_map(|tangent| {
                let places = trace_arm(site, lakes, &taken, (parent, &rivers[parent]), at, side * tangent)?;
                Some(build_arm(site, &taken, (parent, &rivers[parent]), at, places))
            });
            let Some(arm) = arm else { continue };
            for vertex in &mut rivers[parent].vertices[at..] {
                // The arm's water is missing in the river below, to the last part, so discharges still add up.
                vertex.flow -= arm.vertices[0].flow;
                vertex.area -= arm.vertices[0].area;
            }
            mark_passed_cells(&mut taken, rivers.len(), &arm);
            rivers.push(arm);
            side = -side;
        }
    }
}

/// Marks the cells that a run's line passes.
fn mark_passed_cells(taken: &mut Field<u32>, number: usize, river: &River) {
    let size = taken.size();
    let mut mark = |cell: Cell<i64>| {
        if let Some(k) = index(size, cell).filter(|k| taken[*k] == 0) {
            taken[k] = number as u32 + 1;
        }
    };
    mark(river.vertices[0].place.map(|x| x.floor() as i64));
    for pair in river.vertices.windows(2) {
        visit_line_cells(pair[0].place, pair[1].place, &mut mark);
    }
}

/// Returns the vertex at which a run branches; `None` if the run is too steep below it. A vertex where another run
/// joins is skipped.
fn find_apex(site: &Site<'_>, design: &Design, rivers: &[River], parent: usize, place: f64) -> Option<usize> {
    let river = &rivers[parent];
    let last = river.vertices.len() - 1;
    let cell = site.land.grid.cell;
    let width = design.width * river.vertices[last].discharge().sqrt();
    let far = place * (APEX.0 * width / cell).max(APEX.1);
    let mut path_length = 0.0;
    // Search upstream from the mouth. A steep vertex below the apex ends the search, because deltas form on gentle
    // ground.
    for at in (1..last).rev() {
        let [a, b] = [at, at + 1].map(|at| river.vertices[at].place);
        path_length += ((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1])).sqrt();
        if river.vertices[at].slope > MAX_BRANCHING_SLOPE {
            return None;
        }
        let here = |river: &River| match river.mouth {
            Mouth::Joins { river, vertex } => (river as usize, vertex as usize) == (parent, at),
            _ => false,
        };
        if path_length >= far && !rivers.iter().any(here) {
            return Some(at);
        }
    }
    None
}

/// Returns the line of an arm that turns to one side by a tangent; `None` if it does not reach the sea.
fn trace_arm(
    site: &Site<'_>,
    lakes: &PlannedLakes,
    taken: &Field<u32>,
    (parent, river): (usize, &River),
    at: usize,
    tangent: f64,
) -> Option<Vec<Cell<f64>>> {
    let [rows, cols] = site.land.grid.size;
    let (from, mouth) = (river.vertices[at].place, river.vertices[river.vertices.len() - 1].place);
    let unit = |Cell { row: y, col: x }: Cell<f64>| {
        let length = (y * y + x * x).sqrt();
        (length > 0.0).then(|| Cell::new(y / length, x / length))
    };
    let away = |Cell { row: y, col: x }: Cell<f64>, tangent: f64| unit(Cell::new(y + tangent * x, x - tangent * y));
    let direct = unit(Cell::from_axes(|k| mouth[k] - from[k]))?;
    let next = river.vertices[at + 1].place;
    let first = away(unit(Cell::from_axes(|k| next[k] - from[k]))?, 0.5 * tangent)?;
    let then = away(direct, tangent)?;
    let distance = ((mouth[0] - from[0]) * (mouth[0] - from[0]) + (mouth[1] - from[1]) * (mouth[1] - from[1])).sqrt();
    // The arm may cross ground that is slightly higher than its start, by at most 2 m.
    let apex = river.vertices[at].cell(site.land.grid.size);
    let rise = (MAX_BRANCHING_SLOPE * distance * site.land.grid.cell).min(2.0);
    let highest = Height(site.land.ground[apex].0.saturating_add((rise * UNITS) as i32));
    // Close to the apex the arm is still next to its own river. Farther away it must keep apart from all water.
    let strange = |k: usize, has_left: bool| {
        let own = |n: usize| !has_left && taken[n] == parent as u32 + 1;
        let wet = |n: usize| lakes.cells[n] > 0 || (taken[n] > 0 && !own(n));
        site.is_void(k) || site.is_barred(k) || wet(k) || neighbour_cells([rows, cols], k).any(wet)
    };
    // Walk in steps of one cell. The heading changes from `first` to `then` over the first third of the distance to
    // the mouth.
    let mut places = vec![from];
    let mut steps = 0.0;
    // A line that is 2.5 times as long as the direct way has missed the sea.
    while steps < 2.5 * distance {
        let share = (steps / (distance / 3.0)).min(1.0);
        let Cell { row: y, col: x } = unit(Cell::from_axes(|k| (1.0 - share) * first[k] + share * then[k]))?;
        let before = places[places.len() - 1];
        let place = Cell::new(before.row + y, before.col + x);
        steps += 1.0;
        let mut end = None;
        let mut passes = true;
        visit_line_cells(before, place, |cell| {
            if end.is_some() || !passes {
                return;
            }
            match index(site.land.grid.size, cell) {
                Some(k) if site.is_sea(k) => {
                    end = Some(Cell::from_axes(|k| place[k].clamp(cell[k] as f64 + 0.25, cell[k] as f64 + 0.75)));
                }
                Some(k) => passes = site.land.ground[k] <= highest && !strange(k, steps > MIN_SEPARATION_CELLS),
                None => passes = false,
            }
        });
        if !passes {
            return None;
        }
        places.push(end.unwrap_or(place));
        if end.is_some() {
            let crosses = |a: &[Cell<f64>]| {
                let of = |b: &[Vertex]| is_crossing([a[0], a[1]], [b[0].place, b[1].place]);
                river.vertices.windows(2).any(of)
            };
            // An arm that ends within a few cells, or crosses the river that it left, is rejected.
            let well = steps > MIN_SEPARATION_CELLS && !places.windows(2).any(crosses);
            return well.then_some(places);
        }
    }
    None
}

/// Builds the arm along a line.
fn build_arm(
    site: &Site<'_>,
    taken: &Field<u32>,
    (parent, river): (usize, &River),
    at: usize,
    places: Vec<Cell<f64>>,
) -> River {
    let here = river.vertices[at];
    let (flow, area) = (here.flow / ARM_SHARE_DIVISOR, here.area / ARM_SHARE_DIVISOR);
    let [path, aside] =
        cell_vertices::split_path_cells(&places, site.land.grid.size, |k| taken[k] == 0 && !site.is_sea(k));
    let vertices = places.into_iter().map(|place| Vertex { place, flow, area, ..here }).collect();
    let source = RunSource::Parts { river: parent as u32, vertex: at as u32 };
    River { number: river.number, source, mouth: Mouth::Sea, vertices, path, aside, low: Vec::new(), base: None }
}
