//! Draws the sampled rivers of the report on the grid.

use crate::channel_geometry::classify_river;
use crate::network::{FLOW, Mouth, Network, River, RunSource, SHARES, Vertex};
use crate::sampled::RiverSampling;
use crate::sampled::forest::{PathForest, TracedRivers};
use crate::sampled::path_lowering::lower_rising_paths;
use crate::sampled::poisson_disc::GroundSamples;
use crate::tree::NONE;
use crate::water_levels::visit_cells_near_segment;
use crate::{Carved, Site, ribbon};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height, choice};
use thalweg_flow::CellRole;

choice! {
    /// The points at which rivers begin.
    pub enum SourceRule {
        /// Any points, drawn at random.
        Any = "any",
        /// The highest points.
        Highest = "highest",
    }
}

/// Selects the points at which rivers begin: the requested number of points, and all springs.
pub(super) fn select_sources(
    sampled: &GroundSamples,
    forest: &PathForest,
    sampling: &RiverSampling,
    key: RandomKey,
) -> Vec<u32> {
    let mut sources: Vec<u32> = forest.order.iter().copied().filter(|n| forest.down[*n as usize] != NONE).collect();
    if sampling.sources > 0 {
        // The random number depends on the point's cell, and the point's number breaks ties.
        let chance = |n: u32| key.derive_key(4).derive_key(u64::from(sampled.cells[n as usize])).random_bits();
        match sampling.rule {
            SourceRule::Any => sources.sort_unstable_by_key(|n| (chance(*n), *n)),
            SourceRule::Highest => {
                let height = |n: u32| sampled.points.height[n as usize];
                sources.sort_unstable_by(|a, b| height(*b).total_cmp(&height(*a)).then(a.cmp(b)));
            }
        }
        sources.truncate(sampling.sources as usize);
        sources.extend(sampled.springs.iter().filter(|n| forest.down[**n as usize] != NONE));
    }
    sources
}

/// Builds the rivers as runs: at each confluence the run with the largest drainage continues and the others join it.
pub(super) fn build_network(
    site: &Site<'_>,
    sampled: &GroundSamples,
    forest: &PathForest,
    drawn: &TracedRivers,
) -> Network {
    let (size, cell) = (site.land.grid.size, site.land.grid.cell);
    let count = sampled.cells.len();
    let is_root = |n: u32| forest.down[n as usize] == NONE;
    let roles = site.land.cell_roles();
    // For each point, the tributary with the largest drainage.
    let mut main = vec![NONE; count];
    let order = forest.order.iter().copied().filter(|n| drawn.drainage[*n as usize] > 0 && !is_root(*n));
    for n in order.clone() {
        let down = forest.down[n as usize] as usize;
        // Among equal tributaries the first in order of the path costs continues.
        if main[down] == NONE || drawn.drainage[n as usize] > drawn.drainage[main[down] as usize] {
            main[down] = n;
        }
    }
    let mut home = vec![(0u32, 0u32); count];
    let mut network = Network {
        rivers: Vec::new(),
        order: Vec::new(),
        lakes: Vec::new(),
        lake: Field::new(size, 0),
        names: Vec::new(),
        size,
        cell,
        barred: 0,
        met: 0,
    };
    let share = site.land.grid.len() as f64 / count.max(1) as f64 * SHARES;
    for end in order {
        let down = forest.down[end as usize];
        if !is_root(down) && main[down as usize] == end {
            continue;
        }
        let number = network.rivers.len() as u32;
        let mut nodes = vec![down, end];
        let mut at = end;
        while main[at as usize] != NONE {
            at = main[at as usize];
            nodes.push(at);
        }
        nodes.reverse();
        // Segments go from cell centre to cell centre, as in Bresenham's lines.
        let place = |n: u32| {
            let k = sampled.cells[n as usize] as usize;
            Cell::new(k / size[1], k % size[1]).map(|x| x as f64 + 0.5)
        };
        let mut vertices: Vec<Vertex> = Vec::with_capacity(nodes.len());
        for (at, n) in nodes.iter().enumerate() {
            // At its end a river keeps its own drainage, before that of the river that it joins is added.
            let own = if at + 1 == nodes.len() { end } else { *n };
            let drainage = f64::from(drawn.drainage[own as usize]);
            let half = drainage.sqrt();
            let level = Height::from_metres_clamped(drawn.height[*n as usize]);
            let next = nodes.get(at + 1).copied().unwrap_or(*n);
            let [dy, dx] = [0, 1].map(|k| (place(next)[k] - place(*n)[k]) * cell);
            let length = (dy * dy + dx * dx).sqrt();
            let fall = drawn.height[*n as usize] - drawn.height[next as usize];
            let slope = if length > 0.0 { fall / length } else { 0.0 };
            // Where the point is below sea level, the water is at sea level.
            let sea = site.land.grid.sea_level.filter(|sea| level <= *sea);
            vertices.push(Vertex {
                place: place(*n),
                flow: (drainage * FLOW) as i64,
                area: (drainage * share) as i64,
                width: 2.0 * half,
                depth: half,
                slope,
                floor: 0.0,
                kind: classify_river(slope, drainage, 0.0, 2.0 * half),
                surface: sea.unwrap_or(level),
                bed: Height::from_metres_clamped(level.metres() - half),
                pool: [Height::ZERO; 2],
            });
            home[*n as usize] = if own == *n { (number, at as u32) } else { home[*n as usize] };
        }
        let last = sampled.cells[down as usize] as usize;
        let [i, j] = [last / size[1], last % size[1]];
        let mouth = if !is_root(down) {
            let (river, vertex) = home[down as usize];
            let joined = network.rivers[river as usize].vertices[vertex as usize];
            if let Some(last) = vertices.last_mut() {
                (last.surface, last.bed) = (joined.surface, joined.bed);
            }
            Mouth::Joins { river, vertex }
        } else if site.is_sea(last) {
            Mouth::Sea
        } else if roles[last] == CellRole::Sink {
            Mouth::Outlet
        } else {
            Mouth::Edge
        };
        network.names.push((RandomKey::ZERO.for_cell(site.land.grid.world_cell(i, j)).random_bits() >> 32) as u32);
        let mut path = collect_path_cells(site, &vertices);
        if let Mouth::Joins { .. } = mouth {
            // The cell of the confluence belongs to the other river.
            path.pop_if(|(k, _)| *k as usize == last);
        }
        network.rivers.push(River {
            number,
            source: RunSource::Head,
            mouth,
            vertices,
            path,
            aside: Vec::new(),
            low: Vec::new(),
            base: None,
        });
    }
    // Runs were created after those that they join, so reverse the order.
    network.order = (0..network.rivers.len() as u32).rev().collect();
    network
}

/// Returns the dry cells along a run's segments, by Bresenham's lines (1965, doi:10.1147/sj.41.0025).
fn collect_path_cells(site: &Site<'_>, vertices: &[Vertex]) -> Vec<(u32, u32)> {
    let size = site.land.grid.size;
    let mut path: Vec<(u32, u32)> = Vec::new();
    for (number, pair) in vertices.windows(2).enumerate() {
        let [a, b] = [0, 1].map(|end: usize| pair[end].cell(size).map(|n| n as i64));
        visit_bresenham_line(a, b, |Cell { row: i, col: j }| {
            let k = i as usize * size[1] + j as usize;
            let again = path.last().is_some_and(|(last, _)| *last == k as u32);
            if !again && !site.is_sea(k) && !site.is_void(k) {
                path.push((k as u32, number as u32));
            }
        });
    }
    path
}

/// Visits the cells of a line including both ends; each is adjacent (by an edge or a corner) to the previous one.
fn visit_bresenham_line(from: Cell<i64>, to: Cell<i64>, mut visit: impl FnMut(Cell<i64>)) {
    let span = [0, 1].map(|k| (to[k] - from[k]).abs());
    let signs = [0, 1].map(|k| (to[k] - from[k]).signum());
    let mut at = from;
    let mut error = span[1] - span[0];
    loop {
        visit(at);
        if at == to {
            return;
        }
        // The error is doubled, so that the comparison with half a step needs no fractions.
        let twice = 2 * error;
        if twice > -span[0] {
            error -= span[0];
            at[1] += signs[1];
        }
        if twice < span[1] {
            error += span[1];
            at[0] += signs[0];
        }
    }
}

/// Carves the report's profile: within R = √D of a river the ground becomes (1 − α)·ground + α·bed with α = (1 −
/// (r/R)²)³, where the bed is R below the river's corrected height at the nearest point. No cell is raised.
pub(super) fn carve_profile(site: &Site<'_>, network: &mut Network) -> Carved {
    let before = site.land.ground.as_slice();
    let cols = network.size[1];
    let mut ground = site.land.ground.clone();
    let mut numbers = Field::new(network.size, 0u32);
    let mut near = Field::new(network.size, f32::INFINITY);
    let mut levels = Field::new(network.size, Height::ZERO);
    for (number, river) in network.rivers.iter().enumerate() {
        for pair in river.vertices.windows(2) {
            let radius = pair[0].depth;
            let mut cut = |k: usize, t: f64, r: f64| {
                let top = pair[0].surface.0;
                let level = f64::from(top) + t * f64::from(pair[1].surface.0.min(top) - top);
                let out = r / radius;
                let alpha = (1.0 - out * out).max(0.0);
                let alpha = alpha * alpha * alpha;
                let target = (1.0 - alpha) * f64::from(before[k].0) + alpha * (level - radius * UNITS);
                let height = &mut ground[k];
                *height = Height(target as i32).clamped().min(*height);
                // The water in a cell belongs to the nearest river.
                if (r as f32) < near[k] {
                    near[k] = r as f32;
                    numbers[k] = number as u32 + 1;
                    levels[k] = Height(level as i32);
                }
            };
            visit_cells_near_segment(network.size, pair, radius / network.cell, |i, j, t, apart| {
                let k = i * cols + j;
                if !site.is_void(k) && !site.is_sea(k) {
                    cut(k, t, apart * network.cell);
                }
            });
            let [a, b] = [pair[0].cell(network.size), pair[1].cell(network.size)];
            visit_bresenham_line(a.map(|n| n as i64), b.map(|n| n as i64), |Cell { row: i, col: j }| {
                let k = i as usize * cols + j as usize;
                if !site.is_void(k) && !site.is_sea(k) {
                    let middle = Cell::new(i as f64 + 0.5, j as f64 + 0.5);
                    let (t, _) = crate::line_cells::project_onto_segment(middle, pair[0].place, pair[1].place);
                    cut(k, t, 0.0);
                }
            });
        }
    }
    // Paths that share cells can lower each other, so repeat until nothing changes.
    while lower_rising_paths(network, &mut ground) {}
    let mut water = Field::new(network.size, Height::ZERO);
    for (k, depth) in water.as_mut_slice().iter_mut().enumerate().filter(|(k, _)| numbers[*k] > 0) {
        *depth = Height((levels[k].0 - ground[k].0).max(0));
    }
    let on_path: Vec<usize> = network.rivers.iter().flat_map(|river| &river.path).map(|(k, _)| *k as usize).collect();
    let mut dry: Vec<bool> = water.as_slice().iter().map(|depth| depth.0 == 0).collect();
    // Cells on a path keep their river, even where the carved bed holds no water.
    on_path.iter().for_each(|k| dry[*k] = false);
    numbers.as_mut_slice().iter_mut().zip(dry).filter(|(_, dry)| *dry).for_each(|(number, _)| *number = 0);
    let share = ribbon::compute_water_shares(network, &numbers, &ground);
    Carved { ground, water, river: numbers, share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bresenhams() {
        let mut visited = Vec::new();
        visit_bresenham_line(Cell::new(0, 0), Cell::new(2, 5), |at| visited.push(at));
        assert_eq!(visited, [[0, 0], [0, 1], [1, 2], [1, 3], [2, 4], [2, 5]].map(Cell::from));
        for (to, count) in [([-3, 7], 8), ([4, 4], 5), ([0, 0], 1), ([-6, -2], 7)] {
            let (mut visited, to) = (Vec::new(), Cell::from(to));
            visit_bresenham_line(Cell::new(0, 0), to, |at| visited.push(at));
            assert_eq!((visited.len(), visited[count - 1]), (count, to));
            let near = |a: i64, b: i64| (a - b).abs() <= 1;
            assert!(visited.windows(2).all(|p| near(p[0][0], p[1][0]) && near(p[0][1], p[1][1])));
        }
    }
}
