//! Levels of water and bed along rivers.

use std::collections::HashMap;

use crate::drawn::Stencil;
use crate::line_cells::{nearest, walk};
use crate::network::{Mouth, Network, River, Source, Vertex};
use crate::way::{Caps, Station};
use crate::{Design, Site};
use thalweg_core::base::cast::share_of;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};

/// Water stands below its banks by so much of its depth.
const FREEBOARD: f64 = 0.15;

/// How far beyond the water's edge a bank is looked for, in cells.
const BEYOND: f64 = 3.0;

/// The cells that are rivers' water: for each one more than its run's index, 0 elsewhere. Those that lines pass come first, then whatever cell's
/// middle lies within half a width of a line.
pub(super) fn channels(site: &Site<'_>, network: &Network) -> Field<u32> {
    let cols = network.size[1];
    let mut mask = Field::new(network.size, 0u32);
    for (number, river) in network.rivers.iter().enumerate() {
        for (k, _) in river.cells() {
            mask[k] = number as u32 + 1;
        }
    }
    for (number, river) in network.rivers.iter().enumerate() {
        for pair in river.vertices.windows(2) {
            let half = pair[0].width.max(pair[1].width) / 2.0 / network.cell;
            around(network.size, pair, half, |i, j, t, apart| {
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

/// Calls `visit` with the cells whose middles may lie within `reach` cells of a stretch, how far along it their nearest point is, and
/// their distance from it in cells.
pub(super) fn around(
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
            let (t, square) = nearest(Cell::new(i as f64 + 0.5, j as f64 + 0.5), a, b);
            if square <= reach * reach {
                visit(i, j, t, square.sqrt());
            }
        }
    }
}

/// How high a cell holds water, by a list in rising order of cells; [`Height::MIN`] where it holds none.
pub(super) fn rim(rims: &[(u32, Height)], k: usize) -> Height {
    rims.binary_search_by_key(&(k as u32), |(cell, _)| *cell).map_or(Height::MIN, |at| rims[at].1)
}

/// The cells of dry ground beside a vertex, to its left and right; none on a side where the water meets other water or the land ends.
pub(super) fn banks(
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
        let mut far = half;
        while far <= half + BEYOND {
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

/// Sets the levels of all runs over `ground`, into which no beds are cut.
///
/// Water stands no higher than the banks on either side, falls no more than it must, and never rises; a tributary's never lies under
/// that of its river, and none under the lake or sea that it runs to. Over soft rock what is steeper than the design's `fall` is cut
/// back. `caps` hold what cells must not exceed. The bed never rises either, and within a cell lies at one depth, in no place over `ground`.
pub(super) fn set(
    site: &Site<'_>,
    design: &Design,
    network: &mut Network,
    ground: &Field<Height>,
    (mask, caps): (&Field<u32>, &Caps),
) {
    let mut arriving: Vec<Vec<Arrival>> = vec![Vec::new(); network.rivers.len()];
    for number in network.order.clone().into_iter().map(|river| river as usize) {
        let stations = network.rivers[number].stations();
        let mut lowest: Vec<Height> = stations.iter().map(|station| under(network, ground, number, station)).collect();
        let mut limits: Vec<Height> = Vec::with_capacity(network.rivers[number].vertices.len());
        for (station, low) in stations.iter().zip(&mut lowest) {
            let under = if station.cells.is_empty() { Height::MAX } else { *low };
            let capped = station.cells.iter().filter_map(|k| caps.get(k)).copied();
            let cap = capped.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]).unwrap_or([Height::MAX; 2]);
            *low = cap[1].min(*low);
            let limit = |at: usize| limit(site, network, ground, mask, (number, at), under).min(cap[0]);
            limits.extend((station.first..=station.last).map(limit));
        }
        let parted = parted(network, number);
        arriving[number].sort_unstable_by_key(|came| came.vertex);
        let (lakes, cell, size) = (&network.lakes, network.cell, network.size);
        let river = &mut network.rivers[number];
        let mut level = match river.source {
            Source::Lake(lake) => lakes[lake as usize].level,
            Source::Head | Source::Parts { .. } => parted.map_or(Height::MAX, |parted| parted.along.surface),
        };
        let base = river.base.unwrap_or(Height::MIN);
        let mut came = arriving[number].iter().peekable();
        for (at, (vertex, limit)) in river.vertices.iter_mut().zip(limits).enumerate() {
            level = level.min(limit);
            while let Some(came) = came.next_if(|came| came.vertex as usize <= at) {
                level = level.min(came.surface);
            }
            level = level.max(base);
            vertex.surface = level;
        }
        let last = river.vertices.len() - 1;
        if matches!(river.mouth, Mouth::Lake(_) | Mouth::Sea) {
            river.vertices[last].surface = base;
        }
        grade(site, design, river, cell, size);
        let lowest: Vec<(&Station, Height, Height)> = stations
            .iter()
            .zip(lowest)
            .map(|(station, low)| (station, river.vertices[station.low].surface, low))
            .collect();
        draw(river, size, lowest.iter().map(|(station, level, _)| (*station, *level)));
        beds(river, lowest.into_iter(), &arriving[number], parted.map(|parted| parted.along.bed));
        if let Some(parted) = parted {
            (river.vertices[0].surface, river.vertices[0].bed) = (parted.from.surface, parted.from.bed);
        }
        if let Mouth::Joins { river: other, vertex } = river.mouth {
            let before = river.vertices[last.saturating_sub(1)];
            arriving[other as usize].push(Arrival {
                vertex,
                surface: before.surface,
                bed: before.pool[1].min(before.bed),
            });
        }
    }
    // A tributary ends at its river's levels, under which it does not come before: they were set last.
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

/// The levels with which a tributary comes to a vertex.
#[derive(Clone, Copy)]
struct Arrival {
    vertex: u32,
    surface: Height,
    bed: Height,
}

/// Levels where an arm leaves its river.
#[derive(Clone, Copy)]
struct Parted {
    /// At the vertex where it does.
    from: Vertex,
    /// The lowest in the river's cells that it passes before it has its own.
    along: Vertex,
}

fn parted(network: &Network, number: usize) -> Option<Parted> {
    let river = &network.rivers[number];
    let Source::Parts { river: parent, vertex } = river.source else { return None };
    let parent = &network.rivers[parent as usize];
    let from = parent.vertices[vertex as usize];
    let own = river.path.first().map_or(0, |(_, vertex)| *vertex as usize).min(river.vertices.len() - 1);
    let mut along = from;
    for pair in river.vertices[..=own].windows(2) {
        walk(pair[0].place, pair[1].place, |Cell { row: i, col: j }| {
            let k = i * network.size[1] as i64 + j;
            if let Some((_, vertex)) = parent.cells().find(|(cell, _)| *cell as i64 == k) {
                let [surface, bed] = parent.vertices[vertex].pool;
                (along.surface, along.bed) = (along.surface.min(surface), along.bed.min(bed));
            }
        });
    }
    Some(Parted { from, along })
}

/// The lowest ground under a station: of its cells and, where a run ends in a lake, of that.
fn under(network: &Network, ground: &Field<Height>, number: usize, station: &Station) -> Height {
    let river = &network.rivers[number];
    let end = (station.last + 1 == river.vertices.len()).then(|| shoal(network, river)).flatten();
    let cells = station.cells.iter().map(|k| *k as usize).chain(end);
    cells.map(|k| ground[k]).min().unwrap_or(Height::MAX)
}

/// The cell of the lake or the sea in which a run ends.
pub(super) fn shoal(network: &Network, river: &River) -> Option<usize> {
    let Cell { row: i, col: j } = river.vertices.last()?.cell(network.size);
    let k = i * network.size[1] + j;
    match river.mouth {
        Mouth::Lake(lake) => (network.lake[k] == lake + 1).then_some(k),
        Mouth::Sea => river.path.iter().all(|(cell, _)| *cell as usize != k).then_some(k),
        _ => None,
    }
}

/// Sets a run's levels to those of its stations' cells as they are drawn, and in no cell under its level there: nowhere higher than they
/// were.
fn draw<'a>(river: &mut River, size: [usize; 2], stations: impl Iterator<Item = (&'a Station, Height)>) {
    let levels: HashMap<usize, Height> =
        stations.flat_map(|(station, level)| station.cells.iter().map(move |k| (*k as usize, level))).collect();
    // Out of a lake, and into one, water has that one's level.
    let first = usize::from(matches!(river.source, Source::Lake(_)));
    let last = river.vertices.len() - usize::from(matches!(river.mouth, Mouth::Lake(_) | Mouth::Sea));
    let mut below = river.vertices.get(last).map_or(Height::MIN, |vertex| vertex.surface);
    for vertex in river.vertices[first.min(last)..last].iter_mut().rev() {
        let Cell { row: i, col: j } = vertex.cell(size);
        let level = |k: usize| levels.get(&k).copied();
        if let Some(drawn) = Stencil::of(size, vertex.place).height(|k| Some(f64::from(level(k)?.0))) {
            let drawn = Height(drawn.ceil() as i32).max(level(i * size[1] + j).unwrap_or(Height::MIN));
            vertex.surface = drawn.max(below).min(vertex.surface);
        }
        below = vertex.surface;
    }
}

/// Lays a run's bed under its water: at each station as deep as the river is there, or more where what comes, or the ground, lies lower.
/// With stations come the levels of water and ground in their cells.
fn beds<'a>(
    river: &mut River,
    stations: impl Iterator<Item = (&'a Station, Height, Height)>,
    arriving: &[Arrival],
    parted: Option<Height>,
) {
    let mut lowest = [parted.unwrap_or(Height::MAX); 2];
    let mut came = arriving.iter().peekable();
    for (station, level, ground) in stations {
        let vertices = &mut river.vertices[station.first..=station.last];
        let nominal = vertices.iter().map(|vertex| units(vertex.depth)).max().unwrap_or(0);
        let under = |surface: Height, bed: Height| surface.0.saturating_sub(bed.0);
        let mut depth = nominal.max(under(vertices[0].surface, lowest[0])).max(under(level, lowest[1].min(ground)));
        while let Some(came) = came.next_if(|came| came.vertex as usize <= station.last) {
            let at = (came.vertex as usize).max(station.first) - station.first;
            depth = depth.max(under(vertices[at].surface, came.bed));
        }
        for vertex in vertices {
            vertex.bed = Height(vertex.surface.0.saturating_sub(depth)).max(Height::MIN);
            vertex.pool = [level, Height(level.0.saturating_sub(depth)).max(Height::MIN)];
            lowest = [vertex.bed, vertex.pool[1]];
        }
    }
}

/// Metres as whole units.
fn units(metres: f64) -> i32 {
    (metres * UNITS).round() as i32
}

/// The highest level that the ground beside a vertex and the lowest `under` it leave to the water.
fn limit(
    site: &Site<'_>,
    network: &Network,
    ground: &Field<Height>,
    mask: &Field<u32>,
    (number, at): (usize, usize),
    under: Height,
) -> Height {
    let vertex = &network.rivers[number].vertices[at];
    let banks = banks(site, network, mask, number, at).into_iter().flatten().map(|k| ground[k]);
    match banks.fold(under, Height::min) {
        Height::MAX => Height::MAX,
        low => Height(low.0.saturating_sub(units(FREEBOARD * vertex.depth))).max(Height::MIN),
    }
}

/// Gives vertices in cells that are another river's water the levels of that, where they fit between those before and after: two rivers
/// that share a cell, for want of any other, have one water there.
pub(super) fn share(network: &mut Network, numbers: &Field<u32>, [ground, levels]: [&Field<Height>; 2]) {
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
        // An arm begins, and a tributary ends, in its river by right.
        let first = usize::from(matches!(river.source, Source::Parts { .. }));
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
            let fits = above.is_none_or(|above| above.surface >= surface && above.bed >= bed)
                && below.is_none_or(|below| below.surface <= surface && below.bed <= bed);
            if fits {
                (river.vertices[at].surface, river.vertices[at].bed) = (surface, bed);
            }
        }
    }
}

/// Cuts falls back where the rock is soft.
fn grade(site: &Site<'_>, design: &Design, river: &mut River, cell: f64, size: [usize; 2]) {
    for at in (0..river.vertices.len() - 1).rev() {
        let (here, below) = (river.vertices[at], river.vertices[at + 1]);
        let [dy, dx] = [0, 1].map(|k| below.place[k] - here.place[k]);
        let steepest = design.fall.max(2.0 * here.slope);
        let graded = f64::from(below.surface.0) + steepest * (dy * dy + dx * dx).sqrt() * cell * UNITS;
        let hard = site.hardness.map_or(0.0, |hardness| f64::from(share_of(hardness[here.cell(size)])));
        let deepest = f64::from(here.surface.0) - design.grading * (1.0 - hard) * UNITS;
        let level = graded.max(deepest).ceil();
        if level < f64::from(here.surface.0) {
            river.vertices[at].surface = Height(level as i32).max(below.surface);
        }
    }
}
