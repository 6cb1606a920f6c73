//! Computes how far rivers meander from their planned course.

use crate::course::{CourseEnd, NodeGeometry, RiverCourse, node_centre};
use crate::lakes::PlannedLakes;
use crate::network::RunSource;
use crate::tree::RiverTree;
use crate::{Design, Site};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height, Point};
use thalweg_noise::waves::WavelengthNoise;

/// Wavelength of meanders in river widths (Leopold & Wolman 1960, doi:10.1130/0016-7606(1960)71[769:RM]2.0.CO;2: 10
/// to 14).
const WAVELENGTH: f64 = 11.0;

/// Half-width of the meander belt in river widths, for a river that meanders freely.
const BELT: f64 = 2.2;

/// Slope above which rivers begin to straighten, and slope at which they are straight.
const STRAIGHTENING_SLOPES: [f64; 2] = [0.002, 0.02];

/// Fewest cells per wavelength that a line can follow, and number of cells at which it follows the full amplitude.
const CELLS: [f64; 2] = [4.0, 8.0];

/// The displacement of nodes, and the width of the level valley floor.
pub(super) struct Meanders {
    /// Displacement of each node from its cell's centre, in rows and columns.
    pub shift: Vec<Cell<f64>>,
    /// Extent of the valley floor to either side, in metres; the lesser of the two sides.
    pub floor: Vec<f64>,
}

/// Computes the meanders of all courses.
///
/// The lateral displacement of a river is a noise field of its position, with the wavelength of the river's own
/// meanders. Because the noise depends on position alone, it is nearly the same for rivers that were found in
/// slightly different cells. Meanders stay within the level floor of the valley.
pub(super) fn compute_meanders(
    site: &Site<'_>,
    design: &Design,
    filled: &Field<Height>,
    (tree, lakes, shape): (&RiverTree, &PlannedLakes, &NodeGeometry),
    courses: &[RiverCourse],
    key: RandomKey,
) -> Meanders {
    let grid = site.land.grid;
    let waves = WavelengthNoise::new(key);
    let n = tree.cells.len();
    let floor: Vec<f64> = (0..n).map(|node| measure_floor_width(site, filled, (tree, lakes, shape), node)).collect();
    let mut shift = vec![Cell::new(0.0, 0.0); n];
    // The displacement by meanders alone, which also moves the ends of tributaries.
    let mut bend = vec![[0.0; 2]; n];
    for course in courses {
        let count = course.nodes.len();
        let mut across = vec![0.0; count];
        for (at, node) in course.nodes.iter().enumerate() {
            let node = *node as usize;
            let wavelength = WAVELENGTH * shape.width[node];
            // A line from cell to cell cannot follow waves of few cells, so these fade out.
            let visible_share = ((wavelength / grid.cell - CELLS[0]) / (CELLS[1] - CELLS[0])).clamp(0.0, 1.0);
            let gentle = ((STRAIGHTENING_SLOPES[1] - shape.slope[node])
                / (STRAIGHTENING_SLOPES[1] - STRAIGHTENING_SLOPES[0]))
                .clamp(0.0, 1.0);
            // A fifth of the valley floor on either side remains free of meanders.
            let belt = (design.meander * BELT * shape.width[node] * gentle).min(0.8 * floor[node]);
            // Displacements fade to zero within one wavelength of lakes and of the course's end.
            let apart = |cells: usize| (cells as f64 * grid.cell / wavelength.max(grid.cell)).min(1.0);
            let mut damping = 1.0f64;
            if course.source != RunSource::Head {
                damping = damping.min(apart(at));
            }
            if !matches!(course.end, CourseEnd::Joins(_)) {
                damping = damping.min(apart(count - 1 - at));
            }
            if belt * visible_share > 0.0 {
                let Cell { row: y, col: x } = shape.place[node];
                let point =
                    Point { x: (x + grid.origin[1] as f64) * grid.cell, y: (y + grid.origin[0] as f64) * grid.cell };
                across[at] = belt * visible_share * damping * sample_wave(&waves, point, wavelength) / grid.cell;
            }
        }
        // Two passes of smoothing remove jumps where width or slope change from node to node.
        for _ in 0..2 {
            across = smooth_displacements(&across);
        }
        for (at, node) in course.nodes.iter().enumerate() {
            let Cell { row: y, col: x } = shape.along[*node as usize];
            // The displacement is at a right angle to the direction of the river.
            bend[*node as usize] = [across[at] * x, -across[at] * y];
        }
        if let CourseEnd::Joins(node) = course.end {
            // A meandering river moves the ends of its tributaries with it.
            let [y, x] = bend[node as usize];
            // The effect on the tributary fades out upstream over four times the displacement and two nodes.
            let reach = 4.0 * (y * y + x * x).sqrt() + 2.0;
            for (at, node) in course.nodes.iter().enumerate() {
                let share = 1.0 - (count - at) as f64 / reach;
                if share > 0.0 {
                    let share = share * share * (3.0 - 2.0 * share);
                    let own = bend[*node as usize];
                    bend[*node as usize] = [own[0] * (1.0 - share) + y * share, own[1] * (1.0 - share) + x * share];
                }
            }
        }
        for node in &course.nodes {
            let raw = node_centre(tree, *node, site);
            let node = *node as usize;
            shift[node] = Cell::from_axes(|k| shape.place[node][k] - raw[k] + bend[node][k]);
        }
    }
    Meanders { shift, floor }
}

/// Averages each value with its neighbours (weights 1, 2, 1); the ends stay.
fn smooth_displacements(values: &[f64]) -> Vec<f64> {
    let last = values.len().saturating_sub(1);
    let mean = |at: usize| (values[at.saturating_sub(1)] + 2.0 * values[at] + values[(at + 1).min(last)]) / 4.0;
    (0..values.len()).map(|at| if at == 0 || at == last { values[at] } else { mean(at) }).collect()
}

/// Returns the relative displacement to the left or right at a position, about −1 to 1: a noise whose meanders are
/// `wavelength` metres long.
fn sample_wave(waves: &WavelengthNoise, point: Point, wavelength: f64) -> f64 {
    // A pair of opposite meanders takes about two lattice units of the noise.
    (2.4 * waves.evaluate_at(point, wavelength.max(1e-3) / 2.0)).clamp(-1.4, 1.4)
}

/// Returns the distance in metres, to the narrower side of a node, over which the ground is about as low as the
/// valley floor.
fn measure_floor_width(
    site: &Site<'_>,
    filled: &Field<Height>,
    (tree, lakes, shape): (&RiverTree, &PlannedLakes, &NodeGeometry),
    node: usize,
) -> f64 {
    let cell = site.land.grid.cell;
    let [rows, cols] = site.land.grid.size;
    let here = filled[tree.cells[node] as usize];
    // Ground that is up to one and a half depths of the river higher, at least 1.5 m, counts as valley floor.
    let rise = (1.5 * shape.depth[node]).max(1.5) * UNITS;
    let Cell { row: y, col: x } = shape.place[node];
    let Cell { row: along_y, col: along_x } = shape.along[node];
    // The search ends at eight widths, which is more than floodplains and meanders usually take.
    let far = (8.0 * shape.width[node] / cell).clamp(2.0, 64.0);
    let side = |sign: f64| {
        let mut reach = 0.0;
        while reach < far {
            let next = reach + 0.5;
            let at = [y + sign * next * along_x, x - sign * next * along_y];
            if at[0] < 0.0 || at[1] < 0.0 || at[0] >= rows as f64 || at[1] >= cols as f64 {
                break;
            }
            let k = at[0] as usize * cols + at[1] as usize;
            let wet = lakes.cells[k] > 0 || site.is_sea(k) || site.is_void(k) || site.is_barred(k);
            if wet || f64::from(filled[k].0) - f64::from(here.0) > rise {
                break;
            }
            reach = next;
        }
        reach * cell
    };
    side(1.0).min(side(-1.0))
}
