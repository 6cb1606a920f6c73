//! Plans the network of a site.

use crate::lakes::Caps;
use crate::network::Network;
use crate::route::{PlanningDrainage, plan_drainage};
use crate::tree::RiverTree;
use crate::untangle::{self, LineDrawingInput};
use crate::{Design, Site, channel_geometry, course, lakes, meander, shoulder, water_levels};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Edge, Height, Result};
use thalweg_flow::{CellRole, Land};

/// Number of attempts to lead all water of a lake to one outlet.
const MAX_OUTLET_ATTEMPTS: usize = 8;

/// Number of attempts to lower leaking lakes, and number of attempts after which leaking lakes are removed instead.
const LEAK_ATTEMPTS: [usize; 2] = [16, 6];

/// Plans the rivers and lakes of a site; `key` determines the meanders.
///
/// The ground is smoothed. Its depressions are drained by channels where the limits permit and become lakes
/// otherwise. A cell with enough drainage area is a river. River cells are connected to lines, which are smoothed and
/// displaced to meander. A lake that would spill through the bank of a river that flows into it is lowered to that
/// bank. Levels are set by [`carve_rivers`](crate::carve_rivers).
///
/// # Errors
/// Returns the errors of [`Site::check`] and [`Design::check`].
pub fn plan_rivers(site: &Site<'_>, design: &Design, key: RandomKey) -> Result<Network> {
    site.check()?;
    design.check()?;
    let sink = find_sink(site);
    let outlets = if sink.is_empty() { site.land.outlets } else { &sink };
    // From here on the sink is an outlet like any other.
    let site = &Site { land: Land { outlets, ..site.land }, ..*site };
    let drained = plan_drainage(site, design, sink.first().copied())?;
    let mut caps = Caps::new();
    let mut tries = 0;
    loop {
        let mut network = build_network(site, design, &drained, &caps, key)?;
        let river = water_levels::mark_channels(site, &network);
        let leaks = lakes::extend_lakes_upstream(site, &mut network, &river);
        if leaks.is_empty() || tries == LEAK_ATTEMPTS[0] {
            return Ok(network);
        }
        for (lake, bank) in leaks {
            // Lowering a lake changes rivers and may make another bank leak, so after some attempts leaking lakes are
            // removed.
            let level = if tries < LEAK_ATTEMPTS[1] { bank } else { Height::MIN };
            let cap = caps.entry(network.lakes[lake as usize].seed).or_insert(level);
            *cap = level.min(*cap);
        }
        tries += 1;
    }
}

/// Returns the cell where all water ends if the land has no outlet: the lowest cell of the actual ground, not of the
/// planning surface.
fn find_sink(site: &Site<'_>) -> Vec<Cell> {
    if !site.land.outlets.is_empty() || site.land.grid.edges.contains(&Edge::Open) {
        return Vec::new();
    }
    let roles = site.land.cell_roles();
    let place = roles.as_slice().iter().position(|part| *part == CellRole::Sink).filter(|k| !site.is_sea(*k));
    place.into_iter().map(|k| Cell::new(k / roles.cols(), k % roles.cols())).collect()
}

/// Builds the network on drained land, with lakes no higher than `caps`.
fn build_network(
    site: &Site<'_>,
    design: &Design,
    drained: &PlanningDrainage,
    caps: &Caps,
    key: RandomKey,
) -> Result<Network> {
    let mut tree = RiverTree::from_drainage(site, design, drained)?;
    // Determine the rivers and the lakes on them.
    let mut stems = tree.trace_stems(site);
    let mut lakes = lakes::plan_lakes(site, design, drained, (&tree, &stems), caps);
    // Changed stems may pass through other lakes. After the last attempt some lake may still have two outlets.
    for _ in 0..MAX_OUTLET_ATTEMPTS {
        if !tree.join_outlets(site, &lakes.within) {
            break;
        }
        stems = tree.trace_stems(site);
        lakes.update_stem_passages(&tree, &stems);
    }
    // Draw the rivers as lines between lakes.
    let courses = course::split_at_lakes(site, drained, &tree, &stems, &lakes);
    let shape = course::compute_node_geometry(site, design, &drained.filled, &tree, &lakes);
    let bends = meander::compute_meanders(site, design, &drained.filled, (&tree, &lakes, &shape), &courses, key);
    let layout = LineDrawingInput {
        site,
        filled: &drained.filled,
        tree: &tree,
        lakes: &lakes,
        courses: &courses,
        shift: &bends.shift,
    };
    let (lines, met) = untangle::draw_lines(&layout);
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
        (RandomKey::ZERO.for_cell(site.land.grid.world_cell(end.row, end.col)).random_bits() >> 32) as u32
    });
    let names = names.collect();
    let rivers =
        channel_geometry::build_rivers(site, design, (&tree, &shape, &lakes), (&courses, lines, &bends.floor), &order);
    // Arms of deltas come last, and so after the rivers that they branch from.
    order.extend(courses.len() as u32..rivers.len() as u32);
    let (size, cell) = (site.land.grid.size, site.land.grid.cell);
    let mut network = Network { rivers, order, lakes: lakes.lakes, lake: lakes.cells, names, size, cell, barred, met };
    shoulder::claim_adjacent_cells(site, &mut network);
    Ok(network)
}
