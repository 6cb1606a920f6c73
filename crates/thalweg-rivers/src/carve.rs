//! Carves a network into the ground.

use crate::network::Network;
use crate::rendered_ground::Hidden;
use crate::{Design, Site, cell_vertices, levee, rendered_ground, residual_depressions, ribbon, valley, water_levels};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height};

/// Depth in metres below a lake's level to which dry cells on a river's path through the lake are lowered.
const SHALLOWS: f64 = 0.5;

/// Maximum number of iterations in which the land is drained and the rivers' levels are adapted to the cuts.
const MAX_ITERATIONS: usize = 9;

/// Number of these iterations in which ground that hides a line is lowered.
// In the remaining iterations nothing new is lowered for the lines, so that levels and drainage can become consistent.
const SHOWN: usize = 6;

/// Ground with carved rivers. All fields have the terrain's size.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Carved {
    /// The ground; nowhere higher than before, except on levees.
    pub ground: Field<Height>,
    /// The depth of the water in rivers and lakes, 0 where there is none. Ground plus depth is the water level.
    pub water: Field<Height>,
    /// For each cell, one more than the index in [`Network::rivers`] of the run whose water covers it; 0 elsewhere.
    pub river: Field<u32>,
    /// The share of each cell that is water, 0 to 1. Rivers narrower than a cell cover a part of it.
    pub share: Field<f32>,
}

/// Carves a site's network into its ground, sets the levels of its vertices, and adds lakes in depressions away from
/// the rivers.
///
/// Floodplains and banks come first (`valley.rs`), based on levels from the original ground. Levels are then set on
/// the lowered ground, so that banks are above the water, and beds are cut. Each cell that a line passes has the
/// levels of the lowest vertex in it; away from the line the bed rises as a parabola to the water level at half a
/// width.
///
/// Remaining depressions of the land are drained by channels (`hollows.rs`). Where such a channel is lower than a
/// river or cuts its bank, the river's levels follow. They are lowered as well where another river's line would lead
/// upwards, or would be under the ground as it is drawn between cell centres (`drawn.rs`). All of this is repeated
/// until nothing is dammed or hidden, or the iteration limit is reached. Depressions that are deep enough become
/// lakes. Levees are raised last.
///
/// # Examples
/// ```
/// use thalweg_core::base::rng::RandomKey;
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_rivers::{Design, Site, carve_rivers, plan_rivers};
///
/// // A valley that falls to the south; cells are 100 m wide.
/// let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
/// let heights: Vec<f32> = (0..64 * 64).map(height).collect();
/// let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
/// let (site, design) = (Site::from_land(Land::from_terrain(&terrain)), Design::default());
/// let mut network = plan_rivers(&site, &design, RandomKey::new(1, "example"))?;
/// let carved = carve_rivers(&site, &design, &mut network);
/// assert!(carved.river.as_slice().iter().any(|river| *river > 0));
/// // The design has no levees, so nothing is raised.
/// let mut cells = carved.ground.as_slice().iter().zip(terrain.ground.as_slice());
/// assert!(cells.all(|(carved, ground)| carved <= ground));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn carve_rivers(site: &Site<'_>, design: &Design, network: &mut Network) -> Carved {
    // The channels are marked once. Cutting changes levels, but not the cells that belong to a river.
    let numbers = water_levels::mark_channels(site, network);
    // Dry cells on rivers' paths through lakes are lowered below the lakes' levels.
    let mut land = site.land.ground.clone();
    for (k, lake) in network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0) {
        let level = network.lakes[*lake as usize - 1].level;
        let height = &mut land[k];
        if *height >= level {
            *height = Height(level.0 - (SHALLOWS * UNITS) as i32).max(Height::MIN).min(*height);
        }
    }
    // Cut valleys from the levels on the original ground.
    let mut caps = cell_vertices::Caps::new();
    water_levels::set_river_levels(site, design, network, &land, (&numbers, &caps));
    valley::carve_floodplains(site, design, network, &numbers, &mut land);
    let rims = valley::collect_rims(site, network, &numbers);
    let holds = |k: usize| {
        if site.is_barred(k) || site.is_void(k) { Height::MAX } else { water_levels::find_rim_level(&rims, k) }
    };
    // Set levels and cut beds. Then lower whatever lets a line rise, hides it, or dams water, and repeat until
    // nothing changes.
    let mut turn = 0;
    let (mut ground, levels) = loop {
        water_levels::set_river_levels(site, design, network, &land, (&numbers, &caps));
        let (ground, levels) = carve_beds(network, &numbers, &land);
        turn += 1;
        let open = |k: usize| network.lake[k] > 0 || site.is_sea(k) || site.is_void(k);
        let rises = cell_vertices::find_rises(network, [&ground, &levels], open);
        let hidden = match turn {
            turn if turn > SHOWN => Hidden::default(),
            _ => rendered_ground::find_hidden_points(network, (&numbers, &ground), open, holds),
        };
        let cuts = residual_depressions::cut_drainage_channels(site, design, network, &rims, &ground);
        if (rises.is_empty() && hidden.is_empty() && cuts.is_empty()) || turn > MAX_ITERATIONS {
            break (ground, levels);
        }
        // Turn the findings into limits for levels (in river cells) and into lower ground (elsewhere).
        for (k, above) in rises {
            // Limits only decrease from turn to turn, so the iteration cannot oscillate.
            let known = caps.entry(k).or_insert(above);
            *known = [known[0].min(above[0]), known[1].min(above[1])];
            if numbers[k as usize] == 0 {
                land[k as usize] = above[1].min(land[k as usize]);
            }
        }
        for (k, level) in hidden.caps {
            let known = caps.entry(k).or_insert(level);
            *known = [known[0].min(level[0]), known[1].min(level[1])];
        }
        for (k, height) in cuts.into_iter().chain(hidden.cuts) {
            let height = height.min(land[k as usize]);
            land[k as usize] = height;
        }
    };
    water_levels::adopt_shared_levels(network, &numbers, [&ground, &levels]);
    residual_depressions::convert_ponds_to_lakes(site, design, network, &numbers, &ground);
    levee::raise_levees(site, design, network, &numbers, &mut ground);
    let mut water = Field::new(network.size, Height::ZERO);
    for (k, depth) in water.as_mut_slice().iter_mut().enumerate() {
        let level = match (numbers[k], network.lake[k]) {
            (0, 0) => continue,
            (0, lake) => network.lakes[lake as usize - 1].level,
            _ => levels[k],
        };
        *depth = Height((level.0 - ground[k].0).max(0));
    }
    for vertex in network.rivers.iter_mut().flat_map(|river| &mut river.vertices) {
        // Report the depths that result from the final levels instead of the planned ones.
        vertex.depth = f64::from(vertex.surface.0 - vertex.bed.0) / UNITS;
    }
    let share = ribbon::compute_water_shares(network, &numbers, &ground);
    Carved { ground, water, river: numbers, share }
}

/// Returns the ground with beds cut into it, and the water level in each river cell.
fn carve_beds(network: &Network, numbers: &Field<u32>, land: &Field<Height>) -> (Field<Height>, Field<Height>) {
    let cols = network.size[1];
    let mut ground = land.clone();
    let mut levels = Field::new(network.size, Height::ZERO);
    let mut near = Field::new(network.size, f32::INFINITY);
    // The cells of the line itself have one bed level each. They are marked as nearest (−1), so that the
    // cross-section below does not change them.
    for river in &network.rivers {
        for (k, vertex) in river.cells_with_vertices() {
            let [surface, bed] = river.vertices[vertex].pool;
            ground[k] = ground[k].min(bed);
            levels[k] = surface;
            near[k] = -1.0;
        }
        if let (Some(k), Some(last)) = (water_levels::find_mouth_cell(network, river), river.vertices.last()) {
            ground[k] = ground[k].min(last.bed);
        }
    }
    // All other water cells: the bed follows a parabola across the river, based on the nearest segment.
    for (number, river) in network.rivers.iter().enumerate() {
        for station in river.group_into_stations() {
            let [surface, bed] = river.vertices[station.last].pool;
            for at in station.first..=station.last.min(river.vertices.len() - 2) {
                let pair = &river.vertices[at..=at + 1];
                let half = pair[0].width.max(pair[1].width) / 2.0 / network.cell;
                water_levels::visit_cells_near_segment(network.size, pair, half, |i, j, t, apart| {
                    let k = i * cols + j;
                    let width = pair[0].width + t * (pair[1].width - pair[0].width);
                    // The distance is relative to half the width: 0 in the middle and 1 at the water's edge.
                    let out = apart * network.cell / (width / 2.0).max(1e-9);
                    if numbers[k] == number as u32 + 1 && apart < f64::from(near[k]) && out <= 1.0 {
                        near[k] = apart as f32;
                        let (high, low) = (f64::from(surface.0), f64::from(bed.0));
                        let height = Height((low + (high - low) * out * out) as i32);
                        ground[k] = ground[k].min(height);
                        levels[k] = surface;
                    }
                });
            }
        }
    }
    (ground, levels)
}
