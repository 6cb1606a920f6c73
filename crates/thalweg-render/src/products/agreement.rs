//! The agreement of two builds of one world: elevations, slopes, and the courses of the largest rivers.

use std::collections::BinaryHeap;

use serde::Serialize;

use crate::products::resample::reduce_field;
use crate::products::statistics::correlate_fields;
use thalweg_core::{Cell, Error, Extent, Field, Result, Terrain};
use thalweg_flow::{D8, FlowGraph, Land, Neighbourhood};

/// The largest number of cells on the long side at which elevations and slopes are compared; smaller terrains are
/// compared at half the cells of the coarser one.
const COMPARED: usize = 256;
/// The number of rivers that are followed.
const RIVERS: usize = 10;
/// The share of the world's area that must drain through a river; it is followed upstream until less does.
const HEAD: f64 = 0.01;
/// The radius in which a river is searched for, in cells of the coarser terrain.
const SEARCH: usize = 24;
/// The distance in cells of the coarser terrain within which a river counts as unchanged.
const RIVER_TOLERANCE_CELLS: f64 = 2.0;

/// The agreement of two terrains of one extent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// The correlation of elevations, −1 to 1, averaged over equal cells: half as many on the long side as in the
    /// coarser terrain, up to 256.
    pub heights: f64,
    /// The correlation of the slopes of those averages, −1 to 1.
    pub slopes: f64,
    /// The share, 0 to 1, of the length of the ten largest rivers that is within two cells of the coarser terrain of
    /// an equally large river in the other terrain; `None` without rivers. For example, with 0.9 a tenth of that length
    /// runs elsewhere.
    pub rivers: Option<f64>,
    /// The mean distance to those rivers in metres, weighted by length. A river that is not found within 24 cells of
    /// the coarser terrain counts as that far away. `None` without rivers.
    pub shift: Option<f64>,
}

/// Compares two terrains of one extent. The rivers are those of the terrain with fewer cells; a river of the other
/// terrain counts as equally large if its drainage area is at least half as large.
///
/// # Errors
/// Returns an error if the extents differ by more than a hundredth, or if one of the terrains has cells without data.
///
/// # Examples
/// A terrain agrees with itself at half the resolution.
///
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::products::agreement::compare_terrains;
/// use thalweg_render::products::resample::reduce_terrain;
///
/// let metres = |i: usize, j: usize| 5.0 * i as f64 + ((7 * i + 3 * j) % 11) as f64;
/// let ground = Field::from_fn([32, 32], |i, j| Height::from_metres_clamped(metres(i, j)));
/// let terrain = Terrain::from_ground(Grid::new([32, 32], 30.0)?, ground)?;
/// let found = compare_terrains(&terrain, &reduce_terrain(&terrain, [16, 16])?)?;
/// assert!(found.heights > 0.99 && found.slopes > 0.9);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compare_terrains(a: &Terrain, b: &Terrain) -> Result<Agreement> {
    let [x, y] = [a, b].map(|terrain| terrain.grid.extent());
    if (0..2).any(|axis| (x.axis_length(axis) / y.axis_length(axis) - 1.0).abs() > 0.01) {
        let [x, y] = [x, y].map(|Extent { width, height }| format!("{width} × {height} m"));
        return Err(Error::invalid_value("extent", y, format!("{x}, the extent of the other terrain")));
    }
    if let Some(count) = [a, b].iter().map(|terrain| terrain.nodata_count()).find(|count| *count > 0) {
        return Err(Error::unsupported(
            format!("a terrain with {count} cells without data"),
            "cannot be compared; fill them first",
        ));
    }
    // The terrain with fewer cells sets the scale; of two equal ones, the first does.
    let (coarse, fine) = if a.grid.len() <= b.grid.len() { (a, b) } else { (b, a) };
    let long = coarse.grid.rows().max(coarse.grid.cols());
    let compared = (long / 2).clamp(1, COMPARED);
    let size = coarse.grid.size.map(|n| (n * compared).div_ceil(long).clamp(1, n));
    let [heights_a, heights_b] =
        [reduce_field(&coarse.ground_metres(), size)?, reduce_field(&fine.ground_metres(), size)?];
    let cells = (0..2).map(|axis| coarse.grid.extent().axis_length(axis) / size[axis] as f64).sum::<f64>() / 2.0;
    let slopes = |field: &Field<f32>| compute_slopes(field, cells as f32);
    let shifts = measure_river_shifts(coarse, fine);
    let length: f64 = shifts.iter().map(|(length, _)| length).sum();
    let share = |of: &dyn Fn(f64) -> f64| {
        (length > 0.0).then(|| shifts.iter().map(|(part, shift)| part * of(*shift)).sum::<f64>() / length)
    };
    Ok(Agreement {
        heights: compare_fields(&heights_a, &heights_b),
        slopes: compare_fields(&slopes(&heights_a), &slopes(&heights_b)),
        rivers: share(&|shift| f64::from(u8::from(shift <= RIVER_TOLERANCE_CELLS))),
        shift: share(&|shift| shift * coarse.grid.cell),
    })
}

/// Returns the correlation of two fields; 1 if they are equal, 0 if only one of them is constant.
fn compare_fields(a: &Field<f32>, b: &Field<f32>) -> f64 {
    // Two equal constant fields have no correlation, although they agree fully.
    if a == b { 1.0 } else { correlate_fields(a, b).unwrap_or(0.0) }
}

/// Returns the magnitude of the gradient by central differences, one-sided at the edges.
fn compute_slopes(field: &Field<f32>, cell: f32) -> Field<f32> {
    let [rows, cols] = field.size();
    Field::from_fn(field.size(), |i, j| {
        // A map of one row or one column has no step in that direction, and no slope.
        let across = |a: (usize, usize), b: (usize, usize), steps: usize| {
            if steps == 0 { 0.0 } else { (field[b] - field[a]) / (cell * steps as f32) }
        };
        let [west, east] = [j.saturating_sub(1), (j + 1).min(cols - 1)];
        let [north, south] = [i.saturating_sub(1), (i + 1).min(rows - 1)];
        let [x, y] = [across((i, west), (i, east), east - west), across((north, j), (south, j), south - north)];
        (x * x + y * y).sqrt()
    })
}

/// Returns, for each cell of the coarse terrain's largest rivers, its part of their length in cells and the distance
/// to the fine terrain's river in cells.
fn measure_river_shifts(coarse: &Terrain, fine: &Terrain) -> Vec<(f64, f64)> {
    let [own, other] = [coarse, fine].map(compute_drainage_areas);
    // The largest drainage area of any fine cell in each coarse one.
    let size = coarse.grid.size;
    let mut largest = Field::new(size, 0.0f64);
    let [rows, cols] = other.area.size();
    for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        // The integer division maps each fine cell to the coarse cell that contains it.
        let at = (i * size[0] / rows, j * size[1] / cols);
        largest[at] = largest[at].max(other.area[(i, j)]);
    }
    let distance = |[i, j]: [usize; 2], area: f64| {
        let span = |x: usize, count: usize| x.saturating_sub(SEARCH)..(x + SEARCH + 1).min(count);
        let near = span(i, size[0]).flat_map(|r| span(j, size[1]).map(move |c| (r, c)));
        // Squared distances are whole numbers, so only the least of them needs a square root.
        let squares =
            near.filter(|at| largest[*at] >= 0.5 * area).map(|(r, c)| r.abs_diff(i).pow(2) + c.abs_diff(j).pow(2));
        squares.min().map_or(SEARCH as f64, |square| (square as f64).sqrt().min(SEARCH as f64))
    };
    let min_area = HEAD * coarse.grid.len() as f64 * coarse.grid.cell_area();
    trace_main_stems(&own, min_area)
        .into_iter()
        .map(|(at, length)| (length, distance(at, own.area[(at[0], at[1])])))
        .collect()
}

/// The drainage of a terrain.
struct TerrainDrainage {
    /// Drainage area of each cell in m².
    area: Field<f64>,
    graph: FlowGraph,
}

/// Computes where a terrain drains, and the drainage areas of its cells.
fn compute_drainage_areas(terrain: &Terrain) -> TerrainDrainage {
    let mut graph = FlowGraph::new(&Land::from_terrain(terrain));
    let cell_area = terrain.grid.cell_area();
    TerrainDrainage { area: graph.take_upstream_cells().map(|n| f64::from(*n) * cell_area), graph }
}

/// Returns the cells of the largest rivers, each with the length of its step in cells. Rivers are followed from every
/// mouth upstream along the larger branch; their tributaries then count as rivers of their own. The largest come
/// first.
fn trace_main_stems(drainage: &TerrainDrainage, min_area: f64) -> Vec<([usize; 2], f64)> {
    let TerrainDrainage { area, graph } = drainage;
    let cols = area.cols();
    // The largest first; of equal ones the earlier cell. Areas are positive, so their bits are ordered like their
    // values.
    let entry = |k: usize| (area[k].to_bits(), std::cmp::Reverse(k));
    let mouths = (0..area.len()).filter(|k| graph.next(*k).is_none());
    let mut heap: BinaryHeap<_> = mouths.filter(|k| area[*k] >= min_area).map(entry).collect();
    let mut cells = Vec::new();
    for _ in 0..RIVERS {
        let Some((_, std::cmp::Reverse(mouth))) = heap.pop() else { break };
        let mut at = Some(mouth);
        while let Some(k) = at {
            let (i, j) = (k / cols, k % cols);
            let around = Neighbourhood::new(area.size(), [i, j]).map(|(_, Cell { row: r, col: c })| r * cols + c);
            // The largest cell above continues the river; the others wait in the heap as rivers of their own.
            let above = around.filter(|n| graph.next(*n) == Some(k) && area[*n] >= min_area);
            let mut above: Vec<_> = above.map(entry).collect();
            above.sort_unstable();
            at = above.pop().map(|(_, std::cmp::Reverse(n))| n);
            heap.extend(above);
            // The length of a step is that of a diagonal if both the row and the column change.
            let step = at.map_or(1.0, |n| D8::DISTANCES[usize::from(n / cols != i && n % cols != j)]);
            cells.push(([i, j], step));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Edge, Grid, Height};

    /// Two valleys that fall to the south, with their channels at `beds` metres from the west.
    fn valleys(cells: usize, beds: [f64; 2]) -> Terrain {
        let mut grid = Grid::new([cells, cells], 1280.0 / cells as f64).unwrap();
        grid.edges = [Edge::Closed, Edge::Closed, Edge::Open, Edge::Closed];
        let ground = Field::from_fn(grid.size, |i, j| {
            let [x, y] = [grid.col_center_x(j), grid.row_center_y(i)];
            let bed = beds.iter().map(|bed| (x - bed).abs()).fold(f64::INFINITY, f64::min);
            Height::from_metres_clamped(0.4 * bed - 0.05 * y)
        });
        Terrain::from_ground(grid, ground).unwrap()
    }

    #[test]
    fn a_world_agrees_with_itself_at_any_resolution() {
        let coarse = valleys(64, [330.0, 1010.0]);
        let itself = compare_terrains(&coarse, &coarse).unwrap();
        assert_eq!((itself.rivers, itself.shift), (Some(1.0), Some(0.0)));
        assert!((itself.heights - 1.0).abs() < 1e-12 && (itself.slopes - 1.0).abs() < 1e-12);
        let finer = compare_terrains(&valleys(256, [330.0, 1010.0]), &coarse).unwrap();
        assert!(finer.heights > 0.999 && finer.slopes > 0.9 && finer.rivers > Some(0.95), "{finer:?}");
        assert!(finer.shift.unwrap() <= 20.0, "{finer:?}");
    }

    #[test]
    fn a_river_elsewhere_is_seen() {
        // One of two rivers of equal length is 200 m, ten cells, further west: half of the length, with a mean shift
        // of 100 m.
        let moved = compare_terrains(&valleys(64, [330.0, 1010.0]), &valleys(128, [130.0, 1010.0])).unwrap();
        assert!((moved.rivers.unwrap() - 0.5).abs() < 0.05, "{moved:?}");
        assert!((moved.shift.unwrap() - 100.0).abs() < 15.0, "{moved:?}");
        assert!(moved.heights < 0.95);
    }

    #[test]
    fn other_extents_are_refused() {
        let small = Terrain::new(Grid::new([8, 8], 10.0).unwrap());
        let error = compare_terrains(&small, &valleys(64, [300.0, 900.0])).unwrap_err().to_string();
        assert!(error.contains("1280 × 1280 m") && error.contains("80 × 80 m"), "{error}");
        // Flat terrain has no rivers and agrees with itself.
        let flat = compare_terrains(&small, &small).unwrap();
        assert_eq!((flat.heights, flat.slopes), (1.0, 1.0));
    }
}
