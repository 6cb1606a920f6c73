//! Traces the reaches of a channel network along D8 flow directions.

use crate::d8::uneven_metrics;
use crate::streams::{check_size, stream_donors, stream_receiver};
use crate::{D8, Directions, Land};
use thalweg_core::terrain::{CellMetrics, ChannelNetwork, ChannelReach, ReachId, path_length};
use thalweg_core::{Cell, Field, Result};

/// Traces the channels of `streams` from reach to reach. Reaches are numbered by their first cells in row-major
/// order.
///
/// `land` has the surface that the water flows over (on a filled one no drop is negative), and `counts` are the
/// drainage areas in cells, as [`count_upstream_cells`](crate::accumulate::count_upstream_cells) returns them. Every
/// reach has at least two cells. Every stream cell belongs to the one reach that begins at it or passes through it; a
/// junction that is an outlet begins no reach, and ends all reaches that meet there. A stream of a single cell has no
/// reach. The time is linear in the number of cells, and the memory beyond the fields is linear in the number of
/// reaches.
///
/// # Errors
/// Returns an error if the fields do not have the land's size.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Terrain};
/// use thalweg_flow::accumulate::count_upstream_cells;
/// use thalweg_flow::channels::trace_channels;
/// use thalweg_flow::{Directions, Land, OUT, VOID};
///
/// // Two sources in the north meet in the middle and flow on to the south.
/// let codes = Field::from_vec([3, 3], vec![1, VOID, 3, VOID, 2, VOID, VOID, OUT, VOID])?;
/// let directions = Directions::from(codes);
/// let streams = directions.map(|code| *code != VOID);
/// let terrain = Terrain::new(Grid::new([3, 3], 10.0)?);
/// let counts = count_upstream_cells(&directions);
/// let reaches = trace_channels(&Land::from_terrain(&terrain), &directions, &counts, &streams)?.reaches;
/// assert_eq!(reaches.len(), 3);
/// assert_eq!(reaches[0].downstream, Some(2));
/// assert_eq!((reaches[2].order, reaches[2].length), (2, 10.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn trace_channels(
    land: &Land<'_>,
    directions: &Directions,
    counts: &Field<u32>,
    streams: &Field<bool>,
) -> Result<ChannelNetwork> {
    check_size("counts", counts, land.grid.size)?;
    let cell_area = land.grid.cell_area();
    trace_channels_with_areas(land, directions, |k| f64::from(counts[k]) * cell_area, streams)
}

/// Does the same as [`trace_channels`] for drainage areas that are not multiples of the area of one cell:
/// `drainage_area` returns the drainage area in m² of the cell with a row-major index.
///
/// # Errors
/// Returns an error if the fields do not have the land's size.
pub fn trace_channels_with_areas(
    land: &Land<'_>,
    directions: &Directions,
    drainage_area: impl Fn(usize) -> f64,
    streams: &Field<bool>,
) -> Result<ChannelNetwork> {
    check_size("directions", directions, land.grid.size)?;
    check_size("streams", streams, land.grid.size)?;
    let metrics = uneven_metrics(land.grid);
    let cols = land.grid.cols();
    let count_tributaries = |k: usize| stream_donors(directions, streams, k).count();
    // A reach begins at a source (no tributary) or at a junction (two or more), if it has a cell downstream.
    let is_head =
        |k: &usize| streams[*k] && stream_receiver(directions, streams, *k).is_some() && count_tributaries(*k) != 1;
    // The heads are in ascending order.
    let heads: Vec<usize> = (0..streams.len()).filter(is_head).collect();
    let trace_reach = |(id, head): (usize, &usize)| {
        let mut path = vec![*head];
        while let Some(k) = stream_receiver(directions, streams, path[path.len() - 1]) {
            path.push(k);
            if count_tributaries(k) > 1 {
                break;
            }
        }
        // A head always has a cell downstream, so a path has at least two cells.
        let (end, before_end) = (path[path.len() - 1], path[path.len() - 2]);
        // The count of a junction includes the water of the other tributaries.
        let lowest = if count_tributaries(end) > 1 { before_end } else { end };
        let cells: Vec<Cell> = path.iter().map(|k| Cell::new(k / cols, k % cols)).collect();
        let length = match &metrics {
            None => land.grid.cell * path_length(&cells),
            Some(metrics) => sum_steps(metrics, directions, &cells),
        };
        let height_difference = land.ground[*head].metres() - land.ground[end].metres();
        ChannelReach {
            id: id as ReachId,
            cells,
            length,
            drop: height_difference,
            slope: height_difference / length,
            drainage_area: drainage_area(lowest),
            // A reach that ends at an outlet finds no head there and has no reach downstream.
            downstream: heads.binary_search(&end).ok().map(|id| id as ReachId),
            ..ChannelReach::default()
        }
    };
    let mut network = ChannelNetwork { reaches: heads.iter().enumerate().map(trace_reach).collect() };
    network.assign_orders();
    Ok(network)
}

/// Returns the length in metres of a path along the directions, through cells that are not squares.
fn sum_steps(metrics: &CellMetrics, directions: &Directions, cells: &[Cell]) -> f64 {
    let steps = cells.split_last().map_or(&[][..], |(_, from)| from);
    let length = |cell: &Cell| {
        D8::from_code(directions[*cell]).map_or(0.0, |direction| metrics.row(cell.row).distance(direction))
    };
    steps.iter().map(length).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::{self, compute_shreve_magnitudes, compute_strahler_orders};
    use crate::{OUT, VOID, accumulate, d8, fill, find_receiver};
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::CellShape;
    use thalweg_core::terrain::grid::Grid;
    use thalweg_core::terrain::height::Height;

    #[test]
    fn reaches_of_a_drawn_network() {
        // Sources at (0, 0) and (0, 2) meet at (1, 1); a third from (3, 0) joins at (3, 1), an outlet's neighbour.
        #[rustfmt::skip]
        let directions = Field::from_vec([5, 3], vec![
            1, VOID, 3,
            VOID, 2, VOID,
            VOID, 2, VOID,
            0, 2, VOID,
            VOID, OUT, VOID,
        ])
        .unwrap();
        let directions = Directions::from(directions);
        let grid = Grid::new([5, 3], 10.0).unwrap();
        let ground = Field::from_fn([5, 3], |i, _| Height::from_metres_clamped(50.0 - 10.0 * i as f64));
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let streams = directions.map(|code| *code != VOID);
        let reaches = trace_channels(&land, &directions, &accumulate::count_upstream_cells(&directions), &streams)
            .unwrap()
            .reaches;
        let root = 10.0 * std::f64::consts::SQRT_2;
        let facts: Vec<_> = reaches.iter().map(|l| (l.order, l.magnitude, l.downstream, l.length, l.drop)).collect();
        let expected = [
            (1, 1, Some(2), root, 10.0),
            (1, 1, Some(2), root, 10.0),
            (2, 2, Some(4), 20.0, 20.0),
            (1, 1, Some(4), 10.0, 0.0),
            (2, 3, None, 10.0, 10.0),
        ];
        assert_eq!(facts, expected);
        assert_eq!(reaches[2].cells, [[1, 1], [2, 1], [3, 1]].map(Cell::from));
        // Above the junction there are 4 cells, at the outlet all 7.
        assert_eq!(reaches.iter().map(|l| l.drainage_area).collect::<Vec<_>>(), [100.0, 100.0, 400.0, 100.0, 700.0]);
        assert_eq!((reaches[2].slope, reaches[2].sinuosity()), (1.0, 1.0));
    }

    #[test]
    fn reaches_partition_the_streams_and_agree_with_the_cells() {
        let mut checked_reaches = 0;
        for seed in 0..60 {
            let size = [12 + seed as usize % 31, 11 + seed as usize % 29];
            let key = RandomKey::new(seed, "links");
            let noise = |i: usize, j: usize| key.for_cell([i as i64, j as i64]).random_bits() % 60;
            let ground = Field::from_fn(size, |i, j| Height((noise(i, j) + 2 * (i + j) as u64) as i32 * 65_536));
            let mut grid = Grid::new(size, 25.0).unwrap();
            grid.sea_level = (seed % 2 == 1).then(|| Height::from_metres_clamped(12.0));
            let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
            let filled = fill::fill_depressions(&land);
            let land = land.with_ground(&filled);
            let directions = d8::route_d8(&land);
            let counts = accumulate::count_upstream_cells(&directions);
            let streams = streams::find_stream_cells(&land, &counts, 1 + seed as u32 % 7).unwrap();
            let reaches = trace_channels(&land, &directions, &counts, &streams).unwrap().reaches;
            checked_reaches += reaches.len();
            let (order, magnitude) = (
                compute_strahler_orders(&directions, &streams).unwrap(),
                compute_shreve_magnitudes(&directions, &streams).unwrap(),
            );

            let mut owners = Field::new(size, 0u32);
            for (number, reach) in reaches.iter().enumerate() {
                assert_eq!(reach.id as usize, number);
                let (end, own) = reach.cells.split_last().unwrap();
                let lasts = reach.downstream.is_none()
                    && stream_donors(&directions, &streams, end[0] * size[1] + end[1]).count() == 1;
                for cell in own.iter().chain(lasts.then_some(end)) {
                    owners[*cell] += 1;
                    assert_eq!((reach.order, reach.magnitude), (order[*cell], magnitude[*cell]));
                }
                for pair in reach.cells.windows(2) {
                    let [from, to] = [pair[0], pair[1]].map(|cell| cell.row * size[1] + cell.col);
                    assert_eq!(find_receiver(from, directions[from], size[1]), Some(to));
                }
                assert!(reach.drop >= 0.0 && reach.sinuosity() >= 1.0 - 1e-12 && reach.drainage_area >= 625.0);
                if let Some(below) = reach.downstream {
                    let below = &reaches[below as usize];
                    assert_eq!(below.cells[0], *end);
                    assert!(below.magnitude > reach.magnitude && below.order >= reach.order);
                    assert!(below.drainage_area > reach.drainage_area);
                }
            }
            let mut metres = 0.0;
            for k in 0..owners.len() {
                let goes_on = streams[k] && stream_receiver(&directions, &streams, k).is_some();
                if goes_on {
                    metres += if directions[k].is_multiple_of(2) { 25.0 } else { 25.0 * 2f64.sqrt() };
                }
                let shared = streams[k] && !goes_on && stream_donors(&directions, &streams, k).count() != 1;
                assert_eq!(owners[k], u32::from(streams[k] && !shared), "seed {seed}, cell {k}");
            }
            let sum: f64 = reaches.iter().map(|reach| reach.length).sum();
            assert!((sum - metres).abs() < 1e-6 * metres.max(1.0), "seed {seed}: {sum} for {metres}");
        }
        assert!(checked_reaches > 1000, "only {checked_reaches} reaches");
    }

    #[test]
    fn directions_in_a_ring_end() {
        // No land produces these directions, but a caller's field might: a cycle with a tributary.
        let directions = Directions::from(Field::from_vec([2, 3], vec![0, 0, 2, VOID, 6, 4]).unwrap());
        let grid = Grid::new([2, 3], 1.0).unwrap();
        let ground = Field::new([2, 3], Height::ZERO);
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let streams = directions.map(|code| *code != VOID);
        let reaches = trace_channels(&land, &directions, &Field::new([2, 3], 1), &streams).unwrap().reaches;
        assert_eq!(reaches.len(), 2);
        assert_eq!(compute_strahler_orders(&directions, &streams).unwrap().as_slice(), [1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn lengths_are_those_of_the_cells_on_the_ground() {
        // Steps to the east, the south-east and the south: 3, 5 and 4 m.
        let codes = Field::from_vec([3, 3], vec![0, 1, VOID, VOID, VOID, 2, VOID, VOID, OUT]).unwrap();
        let directions = Directions::from(codes);
        let streams = directions.map(|code| *code != VOID);
        let shape = CellShape::Rectangular { width: 3.0, height: 4.0 };
        let grid = Grid::new([3, 3], 1.0).unwrap().with_shape(shape).unwrap();
        let ground = Field::new([3, 3], Height::ZERO);
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let counts = accumulate::count_upstream_cells(&directions);
        let reaches = trace_channels(&land, &directions, &counts, &streams).unwrap().reaches;
        assert_eq!((reaches.len(), reaches[0].length), (1, 12.0));
        let areas = |k: usize| 7.0 * k as f64;
        let reaches = trace_channels_with_areas(&land, &directions, areas, &streams).unwrap().reaches;
        assert_eq!(reaches[0].drainage_area, 56.0);
    }
}
