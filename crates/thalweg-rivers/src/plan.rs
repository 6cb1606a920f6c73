//! Plans the network of a site.

use crate::lakes::Caps;
use crate::network::Network;
use crate::route::{Drained, drained};
use crate::tree::Tree;
use crate::untangle::{self, Layout};
use crate::{Design, Site, course, form, lakes, level, meander, shoulder};
use thalweg_core::base::rng::Key;
use thalweg_core::{Cell, Edge, Height, Result};
use thalweg_flow::{Land, Part};

/// Number of attempts to lead all water of a lake to one outlet.
const TRIES: usize = 8;

/// Number of attempts to lower leaking lakes, and number of attempts after which leaking lakes are removed instead.
const LEAKS: [usize; 2] = [16, 6];

/// Plans the rivers and lakes of a site; `key` determines the meanders.
///
/// The ground is smoothed. Its depressions are drained by channels where the limits permit and become lakes
/// otherwise. A cell with enough drainage area is a river. River cells are connected to lines, which are smoothed and
/// displaced to meander. A lake that would spill through the bank of a river that flows into it is lowered to that
/// bank. Levels are set by [`carve_rivers`](crate::carve_rivers).
///
/// # Errors
/// Returns the errors of [`Site::check`] and [`Design::check`].
pub fn plan_rivers(site: &Site<'_>, design: &Design, key: Key) -> Result<Network> {
    site.check()?;
    design.check()?;
    let sink = sink(site);
    let outlets = if sink.is_empty() { site.land.outlets } else { &sink };
    let site = &Site { land: Land { outlets, ..site.land }, ..*site };
    let drained = drained(site, design, sink.first().copied())?;
    let mut caps = Caps::new();
    let mut tries = 0;
    loop {
        let mut network = lay_network(site, design, &drained, &caps, key)?;
        let river = level::channels(site, &network);
        let leaks = lakes::back_up(site, &mut network, &river);
        if leaks.is_empty() || tries == LEAKS[0] {
            return Ok(network);
        }
        for (lake, bank) in leaks {
            let level = if tries < LEAKS[1] { bank } else { Height::MIN };
            let cap = caps.entry(network.lakes[lake as usize].seed).or_insert(level);
            *cap = level.min(*cap);
        }
        tries += 1;
    }
}

/// Returns the cell where all water ends if the land has no outlet: the lowest cell of the actual ground, not of the
/// planning surface.
fn sink(site: &Site<'_>) -> Vec<Cell> {
    if !site.land.outlets.is_empty() || site.land.grid.edges.contains(&Edge::Open) {
        return Vec::new();
    }
    let parts = site.land.parts();
    let place = parts.as_slice().iter().position(|part| *part == Part::Sink).filter(|k| !site.is_sea(*k));
    place.into_iter().map(|k| Cell::new(k / parts.cols(), k % parts.cols())).collect()
}

/// Builds the network on drained land, with lakes no higher than `caps`.
fn lay_network(site: &Site<'_>, design: &Design, drained: &Drained, caps: &Caps, key: Key) -> Result<Network> {
    let mut tree = Tree::grow(site, design, drained)?;
    let mut stems = tree.stems(site);
    let mut lakes = lakes::find(site, design, drained, (&tree, &stems), caps);
    // Changed stems may pass through other lakes. After the last attempt some lake may still have two outlets.
    for _ in 0..TRIES {
        if !tree.join_outlets(site, &lakes.within) {
            break;
        }
        stems = tree.stems(site);
        lakes.pass(&tree, &stems);
    }
    let courses = course::cut(site, drained, &tree, &stems, &lakes);
    let shape = course::shape(site, design, &drained.filled, &tree, &lakes);
    let bends = meander::bends(site, design, &drained.filled, (&tree, &lakes, &shape), &courses, key);
    let layout =
        Layout { site, filled: &drained.filled, tree: &tree, lakes: &lakes, courses: &courses, shift: &bends.shift };
    let (lines, met) = untangle::lines(&layout);
    // Order the courses by their last node, so that each comes after all that flow into it.
    let mut rank = vec![0u32; tree.cells.len()];
    for (place, node) in tree.order.iter().enumerate() {
        rank[*node as usize] = place as u32;
    }
    let mut order: Vec<u32> = (0..courses.len() as u32).collect();
    let last = |course: u32| courses[course as usize].nodes.last().map_or(0, |node| rank[*node as usize]);
    order.sort_by_key(|course| (last(*course), *course));
    let barred = courses.iter().flat_map(|course| &course.nodes);
    let barred = barred.filter(|node| site.is_barred(tree.cells[**node as usize] as usize)).count() as u64;
    let names = stems.iter().map(|stem| {
        let end = stem.nodes.last().map_or(Cell::default(), |node| tree.cell(*node, site.land.grid.cols()));
        (Key::ZERO.cell(site.land.grid.world_cell(end.row, end.col)).bits() >> 32) as u32
    });
    let names = names.collect();
    let rivers = form::rivers(site, design, (&tree, &shape, &lakes), (&courses, lines, &bends.floor), &order);
    order.extend(courses.len() as u32..rivers.len() as u32);
    let (size, cell) = (site.land.grid.size, site.land.grid.cell);
    let mut network = Network { rivers, order, lakes: lakes.lakes, lake: lakes.cells, names, size, cell, barred, met };
    shoulder::widen(site, &mut network);
    Ok(network)
}
