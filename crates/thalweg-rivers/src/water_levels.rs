//! Computes the levels of water and bed along rivers.

use std::collections::HashMap;

use crate::cell_vertices::{Caps, RiverStation};
use crate::line_cells::{project_onto_segment, visit_line_cells};
use crate::network::{Mouth, Network, River, RunSource, Vertex};
use crate::rendered_ground::Stencil;
use crate::{Design, Site};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};

/// The height of the banks above the water (freeboard), as a share of the water's depth.
// A larger share lowers rivers farther below their banks; with 0 the water would be level with them.
const FREEBOARD: f64 = 0.15;

/// How far beyond the water's edge a bank is searched for, in cells.
const BANK_SEARCH_CELLS: f64 = 3.0;

/// Marks the cells covered by river water: one more than the index of the run, 0 elsewhere. Cells that lines pass
/// take precedence over cells whose centre is within half a width of a line.
pub(super) fn mark_channels(site: &Site<'_>, network: &Network) -> Field<u32> {
    let cols = network.size[1];
    let mut mask = Field::new(network.size, 0u32);
    // Cells of the lines come first, so that a wide river does not cover the path of another one.
    for (number, river) in network.rivers.iter().enumerate() {
        for (k, _) in river.cells_with_vertices() {
            mask[k] = number as u32 + 1;
        }
    }
    for (number, river) in network.rivers.iter().enumerate() {
        for pair in river.vertices.windows(2) {
            let half = pair[0].width.max(pair[1].width) / 2.0 / network.cell;
            visit_cells_near_segment(network.size, pair, half, |i, j, t, apart| {
                let k = i * cols + j;
                let width = pair[0].width + t * (pair[1].width - pair[0].width);
                let wet = network.lake[k] > 0 || site.is_sea(k) || site.is_void(k);
                if apart * network.cell <= width / 2.0 && mask[k] == 0 && !wet {
                    mask[k] = number as u32 + 1;
                }
            });
        }
    }
    mask
}

/// Calls `visit` with each cell whose centre is within `reach` cells of a segment, the parameter (0 to 1) of the
/// nearest point on the segment, and the distance to it in cells.
pub(super) fn visit_cells_near_segment(
    [rows, cols]: [usize; 2],
    pair: &[Vertex],
    reach: f64,
    mut visit: impl FnMut(usize, usize, f64, f64),
) {
    let (a, b) = (pair[0].place, pair[1].place);
    let span = |k: usize, n: usize| {
        let (low, high) = (a[k].min(b[k]) - reach - 0.5, a[k].max(b[k]) + reach - 0.5);
        (low.ceil().max(0.0) as usize)..((high.floor() + 1.0).max(0.0) as usize).min(n)
    };
    for i in span(0, rows) {
        for j in span(1, cols) {
            let (t, square) = project_onto_segment(Cell::new(i as f64 + 0.5, j as f64 + 0.5), a, b);
            // Comparing squares avoids a root for the cells that are too far.
            if square <= reach * reach {
                visit(i, j, t, square.sqrt());
            }
        }
    }
}

/// Returns the level up to which a cell must hold back water, from a list sorted by cell; [`Height::MIN`] if it is
/// not listed.
pub(super) fn find_rim_level(rims: &[(u32, Height)], k: usize) -> Height {
    rims.binary_search_by_key(&(k as u32), |(cell, _)| *cell).map_or(Height::MIN, |at| rims[at].1)
}

/// Returns the dry cells on the left and right bank of a vertex; `None` on a side where the water meets other water
/// or the land ends.
pub(super) fn find_bank_cells(
    site: &Site<'_>,
    network: &Network,
    mask: &Field<u32>,
    number: usize,
    at: usize,
) -> [Option<usize>; 2] {
    let vertices = &network.rivers[number].vertices;
    let (a, b) = (vertices[at.saturating_sub(1)].place, vertices[(at + 1).min(vertices.len() - 1)].place);
    let [y, x] = [b[0] - a[0], b[1] - a[1]];
    let length = (y * y + x * x).sqrt();
    if length <= 0.0 {
        return [None; 2];
    }
    let half = vertices[at].width / 2.0 / network.cell;
    let [rows, cols] = network.size;
    [1.0, -1.0].map(|sign| {
        // Step outwards from the water's edge until a cell is not water of this run.
        let mut far = half;
        while far <= half + BANK_SEARCH_CELLS {
            let [i, j] =
                [vertices[at].place[0] + sign * far * x / length, vertices[at].place[1] - sign * far * y / length];
            if i < 0.0 || j < 0.0 || i >= rows as f64 || j >= cols as f64 {
                return None;
            }
            let k = i as usize * cols + j as usize;
            let owner = mask[k];
            if owner == 0 {
                let dry = network.lake[k] == 0 && !site.is_sea(k) && !site.is_void(k);
                return dry.then_some(k);
            }
            if owner != number as u32 + 1 {
                return None;
            }
            far += 0.5;
        }
        None
    })
}

/// Sets the levels of all runs on `ground`, into which no beds are carved yet.
///
/// The water surface is below the banks on either side, falls no more than it must, and never rises downstream. A
/// tributary's level is never below that of the river it joins, and no level is below that of the receiving lake or
/// sea. On soft rock, stretches that are steeper than the design's `fall` are cut back. `caps` gives upper limits for
/// levels in cells. The bed never rises downstream either; within a cell the depth is constant, and the bed is
/// nowhere above `ground`.
pub(super) fn set_river_levels(
    site: &Site<'_>,
    design: &Design,
    network: &mut Network,
    ground: &Field<Height>,
    (mask, caps): (&Field<u32>, &Caps),
) {
    let mut arriving: Vec<Vec<TributaryLevels>> = vec![Vec::new(); network.rivers.len()];
    for number in network.order.clone().into_iter().map(|river| river as usize) {
        let stations = network.rivers[number].group_into_stations();
        let mut lowest: Vec<Height> =
            stations.iter().map(|station| find_lowest_ground(network, ground, number, station)).collect();
        let mut limits: Vec<Height> = Vec::with_capacity(network.rivers[number].vertices.len());
        for (station, low) in stations.iter().zip(&mut lowest) {
            let under = if station.cells.is_empty() { Height::MAX } else { *low };
            let capped = station.cells.iter().filter_map(|k| caps.get(k)).copied();
            let cap = capped.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]).unwrap_or([Height::MAX; 2]);
            *low = cap[1].min(*low);
            let limit = |at: usize| compute_level_limit(site, network, ground, mask, (number, at), under).min(cap[0]);
            limits.extend((station.first..=station.last).map(limit));
        }
        let parted = find_branch_levels(network, number);
        // Tributaries come in the order of the runs, but are needed in downstream order.
        arriving[number].sort_unstable_by_key(|came| came.vertex);
        let (lakes, cell, size) = (&network.lakes, network.cell, network.size);
        let river = &mut network.rivers[number];
        // Going downstream, the level is the lowest limit so far, and no higher than the tributaries', but never
        // below the base level.
        let mut level = match river.source {
            RunSource::Lake(lake) => lakes[lake as usize].level,
            RunSource::Head | RunSource::Parts { .. } => parted.map_or(Height::MAX, |parted| parted.along.surface),
        };
        let base = river.base.unwrap_or(Height::MIN);
        let mut came = arriving[number].iter().peekable();
        for (at, (vertex, limit)) in river.vertices.iter_mut().zip(limits).enumerate() {
            level = level.min(limit);
            while let Some(came) = came.next_if(|came| came.vertex as usize <= at) {
                level = level.min(came.surface);
            }
            // The base level overrules the banks: water cannot fall below the lake or the sea in which it ends.
            level = level.max(base);
            vertex.surface = level;
        }
        let last = river.vertices.len() - 1;
        if matches!(river.mouth, Mouth::Lake(_) | Mouth::Sea) {
            river.vertices[last].surface = base;
        }
        // Falls are cut back once the levels are known, and beds follow from the final levels.
        grade_falls(site, design, river, cell, size);
        let lowest: Vec<(&RiverStation, Height, Height)> = stations
            .iter()
            .zip(lowest)
            .map(|(station, low)| (station, river.vertices[station.low].surface, low))
            .collect();
        lower_to_drawn_surface(river, size, lowest.iter().map(|(station, level, _)| (*station, *level)));
        set_beds(river, lowest.into_iter(), &arriving[number], parted.map(|parted| parted.along.bed));
        if let Some(parted) = parted {
            (river.vertices[0].surface, river.vertices[0].bed) = (parted.from.surface, parted.from.bed);
        }
        if let Mouth::Joins { river: other, vertex } = river.mouth {
            let before = river.vertices[last.saturating_sub(1)];
            arriving[other as usize].push(TributaryLevels {
                vertex,
                surface: before.surface,
                bed: before.pool[1].min(before.bed),
            });
        }
    }
    // A tributary ends at its river's levels, and is not below them upstream of that point; these levels are final
    // only now.
    for number in 0..network.rivers.len() {
        if let Mouth::Joins { river, vertex } = network.rivers[number].mouth {
            let end = network.rivers[river as usize].vertices[vertex as usize];
            let River { vertices, low, .. } = &mut network.rivers[number];
            let last = vertices.len() - 1;
            (vertices[last].surface, vertices[last].bed) = (end.surface, end.bed);
            for (vertex, _) in vertices.iter_mut().zip(low.iter()).filter(|(_, low)| **low as usize == last) {
                let depth = vertex.pool[0].0.saturating_sub(vertex.pool[1].0);
                let bed = Height(end.surface.0.saturating_sub(depth)).max(end.pool[1]).min(vertex.pool[1]);
                vertex.pool = [Height(bed.0.saturating_add(depth)), bed];
            }
        }
    }
}

/// The levels with which a tributary reaches a vertex.
#[derive(Clone, Copy)]
struct TributaryLevels {
    vertex: u32,
    surface: Height,
    bed: Height,
}

/// The levels where an arm branches off from its river.
#[derive(Clone, Copy)]
struct BranchLevels {
    /// The vertex at which it branches off.
    from: Vertex,
    /// The same vertex with the lowest levels of the river's cells that the arm passes before it has cells of its
    /// own.
    along: Vertex,
}

/// Returns the levels where an arm branches off; `None` for other runs.
fn find_branch_levels(network: &Network, number: usize) -> Option<BranchLevels> {
    let river = &network.rivers[number];
    let RunSource::Parts { river: parent, vertex } = river.source else { return None };
    let parent = &network.rivers[parent as usize];
    let from = parent.vertices[vertex as usize];
    let own = river.path.first().map_or(0, |(_, vertex)| *vertex as usize).min(river.vertices.len() - 1);
    let mut along = from;
    for pair in river.vertices[..=own].windows(2) {
        visit_line_cells(pair[0].place, pair[1].place, |Cell { row: i, col: j }| {
            let k = i * network.size[1] as i64 + j;
            if let Some((_, vertex)) = parent.cells_with_vertices().find(|(cell, _)| *cell as i64 == k) {
                let [surface, bed] = parent.vertices[vertex].pool;
                (along.surface, along.bed) = (along.surface.min(surface), along.bed.min(bed));
            }
        });
    }
    Some(BranchLevels { from, along })
}

/// Returns the lowest ground of a station: the minimum over its cells and, where a run ends in a lake or the sea, the
/// last cell there.
fn find_lowest_ground(network: &Network, ground: &Field<Height>, number: usize, station: &RiverStation) -> Height {
    let river = &network.rivers[number];
    let end = (station.last + 1 == river.vertices.len()).then(|| find_mouth_cell(network, river)).flatten();
    let cells = station.cells.iter().map(|k| *k as usize).chain(end);
    cells.map(|k| ground[k]).min().unwrap_or(Height::MAX)
}

/// Returns the cell of the lake or the sea in which a run ends.
pub(super) fn find_mouth_cell(network: &Network, river: &River) -> Option<usize> {
    let Cell { row: i, col: j } = river.vertices.last()?.cell(network.size);
    let k = i * network.size[1] + j;
    match river.mouth {
        Mouth::Lake(lake) => (network.lake[k] == lake + 1).then_some(k),
        Mouth::Sea => river.path.iter().all(|(cell, _)| *cell as usize != k).then_some(k),
        _ => None,
    }
}

/// Lowers a run's levels to those of the surface drawn through its stations' cells, but not below the level of the
/// cell that contains the vertex. No level is raised.
fn lower_to_drawn_surface<'a>(
    river: &mut River,
    size: [usize; 2],
    stations: impl Iterator<Item = (&'a RiverStation, Height)>,
) {
    let levels: HashMap<usize, Height> =
        stations.flat_map(|(station, level)| station.cells.iter().map(move |k| (*k as usize, level))).collect();
    // The first vertex out of a lake, and the last one in a lake or the sea, keep that water's level.
    let first = usize::from(matches!(river.source, RunSource::Lake(_)));
    let last = river.vertices.len() - usize::from(matches!(river.mouth, Mouth::Lake(_) | Mouth::Sea));
    // Going upstream, no level becomes lower than the next one downstream.
    let mut below = river.vertices.get(last).map_or(Height::MIN, |vertex| vertex.surface);
    for vertex in river.vertices[first.min(last)..last].iter_mut().rev() {
        let Cell { row: i, col: j } = vertex.cell(size);
        let level = |k: usize| levels.get(&k).copied();
        if let Some(drawn) =
            Stencil::from_point(size, vertex.place).interpolate_height(|k| Some(f64::from(level(k)?.0)))
        {
            let drawn = Height(drawn.ceil() as i32).max(level(i * size[1] + j).unwrap_or(Height::MIN));
            vertex.surface = drawn.max(below).min(vertex.surface);
        }
        below = vertex.surface;
    }
}

/// Sets a run's bed below its water: at each station as deep as the river is there, or deeper where tributaries or
/// the ground are lower. Stations come with the levels of water and ground in their cells.
fn set_beds<'a>(
    river: &mut River,
    stations: impl Iterator<Item = (&'a RiverStation, Height, Height)>,
    arriving: &[TributaryLevels],
    parted: Option<Height>,
) {
    let mut lowest = [parted.unwrap_or(Height::MAX); 2];
    let mut came = arriving.iter().peekable();
    for (station, level, ground) in stations {
        let vertices = &mut river.vertices[station.first..=station.last];
        // One depth for all vertices of a station keeps the bed level within its cells.
        let nominal = vertices.iter().map(|vertex| to_units(vertex.depth)).max().unwrap_or(0);
        let under = |surface: Height, bed: Height| surface.0.saturating_sub(bed.0);
        let mut depth = nominal.max(under(vertices[0].surface, lowest[0])).max(under(level, lowest[1].min(ground)));
        while let Some(came) = came.next_if(|came| came.vertex as usize <= station.last) {
            let at = (came.vertex as usize).max(station.first) - station.first;
            depth = depth.max(under(vertices[at].surface, came.bed));
        }
        for vertex in vertices {
            vertex.bed = Height(vertex.surface.0.saturating_sub(depth)).max(Height::MIN);
            vertex.pool = [level, Height(level.0.saturating_sub(depth)).max(Height::MIN)];
            // The bed of the next station is at most this high, so that it never rises downstream.
            lowest = [vertex.bed, vertex.pool[1]];
        }
    }
}

/// Converts metres to whole units.
fn to_units(metres: f64) -> i32 {
    (metres * UNITS).round() as i32
}

/// Returns the highest water level that the banks of a vertex, and the lowest ground `under` it, permit.
fn compute_level_limit(
    site: &Site<'_>,
    network: &Network,
    ground: &Field<Height>,
    mask: &Field<u32>,
    (number, at): (usize, usize),
    under: Height,
) -> Height {
    let vertex = &network.rivers[number].vertices[at];
    let banks = find_bank_cells(site, network, mask, number, at).into_iter().flatten().map(|k| ground[k]);
    match banks.fold(under, Height::min) {
        // Without banks and ground, for example between two other waters, there is no limit.
        Height::MAX => Height::MAX,
        low => Height(low.0.saturating_sub(to_units(FREEBOARD * vertex.depth))).max(Height::MIN),
    }
}

/// Gives vertices in cells that belong to another river the levels of that river's water, if these fit between the
/// levels upstream and downstream. Two rivers that share a cell because there was no other have one water surface
/// there.
pub(super) fn adopt_shared_levels(network: &mut Network, numbers: &Field<u32>, [ground, levels]: [&Field<Height>; 2]) {
    let [_, cols] = network.size;
    for number in 0..network.rivers.len() {
        let cells: Vec<usize> = network.rivers[number]
            .vertices
            .iter()
            .map(|vertex| vertex.cell(network.size))
            .map(|cell| cell.row * cols + cell.col)
            .collect();
        let river = &mut network.rivers[number];
        let strange = |k: usize| numbers[k] > 0 && numbers[k] != number as u32 + 1;
        // An arm begins, and a tributary ends, in its river by design.
        let first = usize::from(matches!(river.source, RunSource::Parts { .. }));
        let last = river.vertices.len() - usize::from(matches!(river.mouth, Mouth::Joins { .. }));
        for at in first..last {
            let k = cells[at];
            if !strange(k) {
                continue;
            }
            let (surface, bed) = (levels[k], ground[k]);
            let above = at.checked_sub(1).map(|before| river.vertices[before]);
            let below =
                (at + 1..river.vertices.len()).find(|n| *n >= last || !strange(cells[*n])).map(|n| river.vertices[n]);
            // A level that does not fit would let water rise, so the vertex then keeps its own.
            let fits = above.is_none_or(|above| above.surface >= surface && above.bed >= bed)
                && below.is_none_or(|below| below.surface <= surface && below.bed <= bed);
            if fits {
                (river.vertices[at].surface, river.vertices[at].bed) = (surface, bed);
            }
        }
    }
}

/// Cuts steep falls back where the rock is soft: limits the slope of the water surface, working upstream.
fn grade_falls(site: &Site<'_>, design: &Design, river: &mut River, cell: f64, size: [usize; 2]) {
    for at in (0..river.vertices.len() - 1).rev() {
        let (here, below) = (river.vertices[at], river.vertices[at + 1]);
        let [dy, dx] = [0, 1].map(|k| below.place[k] - here.place[k]);
        let steepest = design.fall.max(2.0 * here.slope);
        let graded = f64::from(below.surface.0) + steepest * (dy * dy + dx * dx).sqrt() * cell * UNITS;
        let hard = site.hardness.map_or(0.0, |hardness| f64::from(clamp_share(hardness[here.cell(size)])));
        let deepest = f64::from(here.surface.0) - design.grading * (1.0 - hard) * UNITS;
        // Rounding up cuts no deeper than the slope and the greatest depth permit.
        let level = graded.max(deepest).ceil();
        if level < f64::from(here.surface.0) {
            river.vertices[at].surface = Height(level as i32).max(below.surface);
        }
    }
}
