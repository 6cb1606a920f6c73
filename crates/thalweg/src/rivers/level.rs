//! Levels of water and bed along rivers.

use crate::field::Field;
use crate::height::{Height, UNITS};
use crate::rivers::network::{Mouth, Network, Run, Source, Vertex};
use crate::rivers::walk::nearest;
use crate::rivers::{Design, Site};

/// Water stands below its banks by so much of its depth.
const FREEBOARD: f64 = 0.15;

/// How far beyond the water's edge a bank is looked for, in cells.
const BEYOND: f64 = 3.0;

/// The cells that are rivers' water: for each one more than its run's index, 0 elsewhere. Paths come first, then whatever cell's
/// middle lies within half a width of a line.
pub(super) fn channels(site: &Site<'_>, network: &Network) -> Field<u32> {
    let cols = network.size[1];
    let mut mask = Field::new(network.size, 0u32);
    for (number, run) in network.runs.iter().enumerate() {
        for (k, _) in &run.path {
            mask.as_mut_slice()[*k as usize] = number as u32 + 1;
        }
    }
    for (number, run) in network.runs.iter().enumerate() {
        for pair in run.vertices.windows(2) {
            let half = pair[0].width.max(pair[1].width) / 2.0 / network.cell;
            around(network.size, pair, half, |i, j, t, apart| {
                let k = i * cols + j;
                let width = pair[0].width + t * (pair[1].width - pair[0].width);
                let wet = network.lake.as_slice()[k] > 0 || site.is_sea(k) || site.is_void(k);
                if apart * network.cell <= width / 2.0 && mask.as_slice()[k] == 0 && !wet {
                    mask.as_mut_slice()[k] = number as u32 + 1;
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
            let (t, square) = nearest([i as f64 + 0.5, j as f64 + 0.5], a, b);
            if square <= reach * reach {
                visit(i, j, t, square.sqrt());
            }
        }
    }
}

/// The cells of dry ground beside a vertex, to its left and right; none on a side where the water meets other water or the land ends.
pub(super) fn banks(
    site: &Site<'_>,
    network: &Network,
    mask: &Field<u32>,
    number: usize,
    at: usize,
) -> [Option<usize>; 2] {
    let vertices = &network.runs[number].vertices;
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
            let owner = mask.as_slice()[k];
            if owner == 0 {
                let dry = network.lake.as_slice()[k] == 0 && !site.is_sea(k) && !site.is_void(k);
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

/// Sets the levels of all runs over `ground`.
///
/// Water stands no higher than the banks on either side, falls no more than it must, and never rises; a tributary's never lies under
/// that of its river, and none under the lake or sea that it runs to. Over soft rock what is steeper than the design's `fall` is cut
/// back.
pub(super) fn set(site: &Site<'_>, design: &Design, network: &mut Network, ground: &Field<Height>, mask: &Field<u32>) {
    let mut arriving: Vec<Vec<(u32, Height, Height)>> = vec![Vec::new(); network.runs.len()];
    for number in network.order.clone().into_iter().map(|run| run as usize) {
        let limits = (0..network.runs[number].vertices.len()).map(|at| limit(site, network, ground, mask, number, at));
        let limits: Vec<Height> = limits.collect();
        let parted = match network.runs[number].source {
            Source::Parts { run, vertex } => Some(network.runs[run as usize].vertices[vertex as usize]),
            _ => None,
        };
        let (lakes, cell, size) = (&network.lakes, network.cell, network.size);
        let run = &mut network.runs[number];
        let start = match run.source {
            Source::Lake(lake) => lakes[lake as usize].level,
            Source::Head | Source::Parts { .. } => parted.map_or(Height::MAX, |from| from.surface),
        };
        let base = run.base.unwrap_or(Height::MIN);
        let mut level = start;
        for (at, (vertex, limit)) in run.vertices.iter_mut().zip(limits).enumerate() {
            let came = arriving[number].iter().filter(|(to, _, _)| *to == at as u32).map(|(_, level, _)| *level);
            level = came.fold(level.min(limit), Height::min).max(base);
            vertex.surface = level;
        }
        let last = run.vertices.len() - 1;
        if matches!(run.mouth, Mouth::Lake(_) | Mouth::Sea) {
            run.vertices[last].surface = base;
        }
        grade(site, design, run, cell, size);
        let mut lowest = parted.map_or(Height::MAX, |from| from.bed);
        for (at, vertex) in run.vertices.iter_mut().enumerate() {
            let came = arriving[number].iter().filter(|(to, _, _)| *to == at as u32).map(|(_, _, bed)| *bed);
            let bed = Height((vertex.surface.0).saturating_sub(units(vertex.depth))).max(Height::MIN);
            lowest = came.fold(lowest.min(bed), Height::min);
            vertex.bed = lowest;
        }
        if let Mouth::Joins { run: other, vertex } = run.mouth {
            let before = run.vertices[last.saturating_sub(1)];
            arriving[other as usize].push((vertex, before.surface, before.bed));
        }
    }
    // A tributary ends at its river's levels, under which it does not come before: they were set last.
    for number in 0..network.runs.len() {
        if let Mouth::Joins { run, vertex } = network.runs[number].mouth {
            let end = network.runs[run as usize].vertices[vertex as usize];
            if let Some(last) = network.runs[number].vertices.last_mut() {
                (last.surface, last.bed) = (end.surface, end.bed);
            }
        }
    }
}

/// Metres as whole units.
fn units(metres: f64) -> i32 {
    (metres * UNITS).round() as i32
}

/// The highest level that the ground beside a vertex, and under it, leaves to the water.
fn limit(
    site: &Site<'_>,
    network: &Network,
    ground: &Field<Height>,
    mask: &Field<u32>,
    number: usize,
    at: usize,
) -> Height {
    let vertex = &network.runs[number].vertices[at];
    let [i, j] = vertex.cell(network.size);
    let k = i * network.size[1] + j;
    let own = (mask.as_slice()[k] == number as u32 + 1).then_some(k);
    let [left, right] = banks(site, network, mask, number, at);
    let lowest = [own, left, right].iter().flatten().map(|k| ground.as_slice()[*k]).min();
    lowest.map_or(Height::MAX, |low| Height(low.0.saturating_sub(units(FREEBOARD * vertex.depth))).max(Height::MIN))
}

/// Cuts falls back where the rock is soft.
fn grade(site: &Site<'_>, design: &Design, run: &mut Run, cell: f64, size: [usize; 2]) {
    for at in (0..run.vertices.len() - 1).rev() {
        let (here, below) = (run.vertices[at], run.vertices[at + 1]);
        let [dy, dx] = [0, 1].map(|k| below.place[k] - here.place[k]);
        let steepest = design.fall.max(2.0 * here.slope);
        let graded = f64::from(below.surface.0) + steepest * (dy * dy + dx * dx).sqrt() * cell * UNITS;
        let [i, j] = here.cell(size);
        let hard = site.hardness.map_or(0.0, |hardness| super::share_of(hardness[(i, j)]));
        let deepest = f64::from(here.surface.0) - design.grading * (1.0 - hard) * UNITS;
        let level = graded.max(deepest).ceil();
        if level < f64::from(here.surface.0) {
            run.vertices[at].surface = Height(level as i32).max(below.surface);
        }
    }
}
