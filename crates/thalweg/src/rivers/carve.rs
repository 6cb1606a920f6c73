//! Cutting a network into the ground.

use crate::field::Field;
use crate::height::{Height, UNITS};
use crate::rivers::network::{Mouth, Network, Source};
use crate::rivers::{Design, Site, levee, level, valley};

/// Metres by which dry places on a river's way through a lake are dug under its level.
const SHALLOWS: f64 = 0.5;

/// Ground with its rivers.
#[derive(Debug, Clone, PartialEq)]
pub struct Carved {
    /// The ground; nowhere higher than it was, but on levees.
    pub ground: Field<Height>,
    /// Depth of the water of rivers and lakes: ground and depth together are its level.
    pub water: Field<Height>,
    /// For each cell one more than the index of the run whose water it is; 0 elsewhere.
    pub river: Field<u32>,
}

/// Cuts a site's network into its ground, and sets the levels of its vertices.
///
/// First floodplains and banks are laid (`valley.rs`), from levels that the untouched ground gives; then levels are set over that
/// ground, so that banks stand over the water, and beds are cut: along a run's path the ground is its bed, which never rises, and
/// beside it the bed rises to the water's level at half a width as a parabola does. Levees are last.
pub fn carve(site: &Site<'_>, design: &Design, network: &mut Network) -> Carved {
    let river = level::channels(site, network);
    let mut ground = site.land.ground.clone();
    for (k, lake) in network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0) {
        let level = network.lakes[*lake as usize - 1].level;
        let height = &mut ground.as_mut_slice()[k];
        if *height >= level {
            *height = Height(level.0 - (SHALLOWS * UNITS) as i32).max(Height::MIN).min(*height);
        }
    }
    level::set(site, design, network, &ground, &river);
    valley::cut(site, design, network, &river, &mut ground);
    level::set(site, design, network, &ground, &river);
    let levels = beds(network, &river, &mut ground);
    settle(network, &mut ground);
    levee::raise(site, design, network, &river, &mut ground);
    let mut water = Field::new(network.size, Height::ZERO);
    for (k, depth) in water.as_mut_slice().iter_mut().enumerate() {
        let level = match (river.as_slice()[k], network.lake.as_slice()[k]) {
            (0, 0) => continue,
            (0, lake) => network.lakes[lake as usize - 1].level,
            _ => levels.as_slice()[k],
        };
        *depth = Height((level.0 - ground.as_slice()[k].0).max(0));
    }
    Carved { ground, water, river }
}

/// Cuts the beds; gives the level of the water in each cell of a river.
fn beds(network: &Network, river: &Field<u32>, ground: &mut Field<Height>) -> Field<Height> {
    let cols = network.size[1];
    let mut levels = Field::new(network.size, Height::ZERO);
    let mut near = Field::new(network.size, f32::INFINITY);
    for (number, run) in network.runs.iter().enumerate() {
        for (k, vertex) in &run.path {
            let vertex = run.vertices[*vertex as usize];
            let k = *k as usize;
            ground.as_mut_slice()[k] = ground.as_slice()[k].min(vertex.bed);
            levels.as_mut_slice()[k] = vertex.surface;
            near.as_mut_slice()[k] = -1.0;
        }
        for pair in run.vertices.windows(2) {
            let half = pair[0].width.max(pair[1].width) / 2.0 / network.cell;
            level::around(network.size, pair, half, |i, j, t, apart| {
                let k = i * cols + j;
                let mix = |a: f64, b: f64| a + t * (b - a);
                let out = apart * network.cell / (mix(pair[0].width, pair[1].width) / 2.0).max(1e-9);
                if river.as_slice()[k] == number as u32 + 1 && apart < f64::from(near.as_slice()[k]) && out <= 1.0 {
                    near.as_mut_slice()[k] = apart as f32;
                    // The upper end's level and bed: nothing beside may lie under what is further down.
                    let (surface, bed) = (f64::from(pair[0].surface.0), f64::from(pair[0].bed.0));
                    let height = Height((bed + (surface - bed) * out * out) as i32);
                    ground.as_mut_slice()[k] = ground.as_slice()[k].min(height);
                    levels.as_mut_slice()[k] = pair[0].surface;
                }
            });
        }
    }
    levels
}

/// Lets no path rise, by lowering what stands in the way: where two rivers' channels overlap, the lower cut is both's.
/// Says whether it changed anything.
pub(super) fn settle(network: &Network, ground: &mut Field<Height>) -> bool {
    let mut changed = false;
    let mut arriving: Vec<Vec<(u32, Height)>> = vec![Vec::new(); network.runs.len()];
    for number in network.order.iter().map(|run| *run as usize) {
        let run = &network.runs[number];
        arriving[number].sort_unstable();
        let mut came = arriving[number].iter().peekable();
        let mut lowest = match run.source {
            Source::Parts { run, vertex } => {
                let path = &network.runs[run as usize].path;
                let above = path[..path.partition_point(|(_, at)| *at < vertex)].last();
                above.map_or(Height::MAX, |(k, _)| ground.as_slice()[*k as usize])
            }
            _ => Height::MAX,
        };
        for (k, vertex) in &run.path {
            while let Some((_, height)) = came.next_if(|(at, _)| at <= vertex) {
                lowest = lowest.min(*height);
            }
            let height = &mut ground.as_mut_slice()[*k as usize];
            changed |= lowest < *height;
            *height = lowest.min(*height);
            lowest = *height;
        }
        if let (Mouth::Joins { run: other, vertex }, true) = (run.mouth, lowest < Height::MAX) {
            arriving[other as usize].push((vertex, lowest));
        }
    }
    changed
}
