//! The paths of rivers, from cell to cell on a grid, smoothed to lines.

use crate::process::floors::{DrainedSurface, Valley};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Grid, Point};
use thalweg_noise::gradient;
use thalweg_noise::waves::WavelengthNoise;

/// A vertex of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineVertex {
    /// The position in rows and columns; the centre of a cell has whole numbers.
    pub place: Cell<f64>,
    /// The elevation of the river, in height units.
    pub level: f64,
    /// The depth of its bed below the floor, in height units.
    pub bed: f64,
    /// Half the floor's width to the left and to the right of the river, in cells.
    pub width: [f64; 2],
}

/// A segment of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// The upper and the lower end.
    pub ends: [LineVertex; 2],
    /// The stream to which it belongs, from its head to the river that it joins.
    pub stream: u32,
}

/// The index that represents no cell.
const NONE: u32 = u32::MAX;

/// The cells of rivers. `values` contains the column, row, level, √(drainage area) in metres and the ease with which
/// its banks erode; `down` is the receiver, and `up` the neighbour that contributes most of the water.
struct RiverCells {
    values: Vec<[f64; 5]>,
    down: Vec<u32>,
    up: Vec<u32>,
}

/// Computes lines along all rivers, that is, all cells with a drainage area of at least `threshold`. The lines consist
/// of stretches of a quarter of the floor's narrower half width or more, ordered by stream.
///
/// Positions, levels and drainage areas are averaged along the stream (twice, over a floor's width to each side), so
/// a line has neither the steps of flow directions nor those of confluences. A tributary's line ends where it reaches
/// the floor of the river that it joins, because that floor belongs to the river.
pub fn trace_valley_lines(
    grid: &Grid,
    drained: DrainedSurface<'_>,
    valley: &Valley,
    key: RandomKey,
    ease: &dyn Fn(usize) -> f64,
) -> Vec<Stretch> {
    // First, river cells are linked along their streams, and their values are smoothed.
    let mut river = link_channels(grid, drained, valley, ease);
    for _ in 0..2 {
        river.values = smooth_along_stream(&river, valley, grid.cell);
    }
    // The noises are divided by the standard deviation of gradient noise, so that the parameters are standard
    // deviations.
    let swings = Swings {
        waves: WavelengthNoise::new(key.derive_key(2)),
        wander: valley.wander / f64::from(gradient::DEVIATION),
    };
    let bends = [0, 1].map(|side| WidthVariation::new(valley, key.derive_key(side)));
    // Then each cell becomes a vertex, with the widths of both sides and the lateral shift.
    let point = |k: u32| {
        let [x, y, level, root, ease] = river.values[k as usize];
        let metres = ease * valley.half_width(root);
        let [east, south] = [(x, 1), (y, 0)].map(|(at, axis)| (at + 0.5 + grid.origin[axis] as f64) * grid.cell);
        let width = [0, 1].map(|side: usize| {
            // The noises of the two sides move in opposite directions, as the field `moved` states.
            metres * bends[side].width_factor(east + valley.moved * [1.0, -1.0][side], south, metres) / grid.cell
        });
        // A river does not shift where its floor is narrow or where its line ends.
        let swing =
            // The noise moves along the diagonal: 0.7 is about 1/√2, so it moves by about `moved` in all.
            swings.lateral_shift(east + 0.7 * valley.moved, south + 0.7 * valley.moved, valley.half_width(root))
                / grid.cell;
        let [ahead, back] = [river.down[k as usize], river.up[k as usize]];
        let place = if swing == 0.0 || ahead == NONE || back == NONE {
            Cell::new(y, x)
        } else {
            let [[ax, ay, ..], [bx, by, ..]] = [ahead, back].map(|k| river.values[k as usize]);
            let along = ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt().max(1e-6);
            // The shift is at right angles to the line from the upper to the lower neighbour.
            Cell::new(y + swing * (ax - bx) / along, x - swing * (ay - by) / along)
        };
        LineVertex { place, level, bed: valley.bed_depth(root) * UNITS, width }
    };
    // Last, each stream from its head is divided into stretches, in the order of heads, hence of row-major cells.
    let mut stretches = Vec::new();
    for head in (0..river.values.len() as u32).filter(|k| river.up[*k as usize] == NONE) {
        let mouth = river.find_confluence(head).map(point);
        let (mut cell, mut last) = (head, point(head));
        loop {
            let next = river.down[cell as usize];
            if next == NONE || river.up[next as usize] != cell {
                break;
            }
            let here = point(next);
            if mouth.is_some_and(|mouth| measure_vertex_distance(&mouth, &here) < mouth.width[0].min(mouth.width[1])) {
                break;
            }
            // Narrow floors are left out: they would appear as steps from cell to cell.
            if wider_half_width(&here, grid.cell) < valley.narrowest {
                (cell, last) = (next, here);
                continue;
            }
            // Each stretch costs work in every cell of its floor, so vertices closer than this are skipped. The minimum
            // of 0.7 cells is half a diagonal.
            let min_length = (here.width[0].min(here.width[1]) / 4.0).max(0.7);
            if river.down[next as usize] == NONE || measure_vertex_distance(&last, &here) >= min_length {
                stretches.push(Stretch { ends: [last, here], stream: head });
                last = here;
            }
            cell = next;
        }
    }
    stretches
}

/// Returns the wider half of a floor, in metres.
fn wider_half_width(point: &LineVertex, cell: f64) -> f64 {
    cell * point.width[0].max(point.width[1])
}

/// Returns the distance between two vertices in cells.
fn measure_vertex_distance(a: &LineVertex, b: &LineVertex) -> f64 {
    let (dx, dy) = (b.place.col - a.place.col, b.place.row - a.place.row);
    (dx * dx + dy * dy).sqrt()
}

impl RiverCells {
    /// Returns the cell of another stream that the stream from `head` on joins, if there is one.
    fn find_confluence(&self, head: u32) -> Option<u32> {
        let mut cell = head;
        loop {
            let next = self.down[cell as usize];
            if next == NONE || self.up[next as usize] != cell {
                return (next != NONE).then_some(next);
            }
            cell = next;
        }
    }
}

/// Returns the cells of rivers, linked along their streams. At a confluence the stream with the greatest drainage
/// area continues; of equal ones the first in row-major order.
fn link_channels(grid: &Grid, drained: DrainedSurface<'_>, valley: &Valley, ease: &dyn Fn(usize) -> f64) -> RiverCells {
    let DrainedSurface { surface, directions, cells } = drained;
    let cols = grid.cols();
    let area = |k: usize| f64::from(cells[k]) * grid.cell_area();
    // The list is in row-major order, so `binary_search` finds a cell in it.
    let places: Vec<usize> = (0..cells.len()).filter(|k| cells[*k] > 0 && area(*k) >= valley.threshold).collect();
    // The level of water that has reached the sea is not below sea level.
    let sea = grid.sea_level.map_or(i32::MIN, |sea| sea.0);
    let values = places.iter().map(|k| {
        let level = surface[*k].0.max(sea);
        [(k % cols) as f64, (k / cols) as f64, f64::from(level), area(*k).sqrt(), ease(*k)]
    });
    let values: Vec<[f64; 5]> = values.collect();
    let mut up = vec![NONE; places.len()];
    let down: Vec<u32> = places
        .iter()
        .map(|k| directions.next(*k).and_then(|n| places.binary_search(&n).ok()))
        .map(|index| index.map_or(NONE, |index| index as u32))
        .collect();
    for (k, n) in down.iter().enumerate().filter(|(_, n)| **n != NONE) {
        let main = &mut up[*n as usize];
        // The comparison is strict, so the first of equal tributaries in row-major order stays the main one.
        if *main == NONE || values[k][3] > values[*main as usize][3] {
            *main = k as u32;
        }
    }
    RiverCells { values, down, up }
}

/// Averages along the stream over a floor's width to each side, or less where the stream begins or ends earlier.
fn smooth_along_stream(river: &RiverCells, valley: &Valley, cell: f64) -> Vec<[f64; 5]> {
    let mean = |k: usize| {
        // The upper limit bounds the work for each cell of a wide river.
        let reach = (valley.half_width(river.values[k][3]) / cell).clamp(2.0, 200.0) as usize;
        let (mut sum, mut count) = (river.values[k], 1.0);
        let [mut above, mut below] = [k as u32; 2];
        for _ in 0..reach {
            (above, below) = (river.up[above as usize], river.down[below as usize]);
            // The mean is symmetric, so that a line does not shift along itself where it ends.
            if above == NONE || below == NONE {
                break;
            }
            for (sum, (a, b)) in
                sum.iter_mut().zip(river.values[above as usize].iter().zip(river.values[below as usize]))
            {
                *sum += a + b;
            }
            count += 2.0;
        }
        sum.map(|sum| sum / count)
    };
    (0..river.values.len()).map(mean).collect()
}

/// The lateral shift of a river within its floor.
struct Swings {
    waves: WavelengthNoise,
    wander: f64,
}

impl Swings {
    /// The wavelength of the shift, in half widths of the floor: that of meander belts (Leopold & Wolman 1960).
    const WAVELENGTH: f64 = 7.0;

    /// Returns the lateral displacement in metres of a river from its smoothed path, at a place in world coordinates
    /// in metres. `metres` is half the floor's width.
    fn lateral_shift(&self, x: f64, y: f64, metres: f64) -> f64 {
        if self.wander == 0.0 || metres <= 0.0 {
            return 0.0;
        }
        self.wander * metres * self.waves.evaluate_at(Point { x, y }, Self::WAVELENGTH * metres)
    }
}

/// The variation of a floor's width along its river.
struct WidthVariation {
    waves: WavelengthNoise,
    /// The wavelength in half widths.
    wavelength: f64,
    deviation: f64,
}

impl WidthVariation {
    fn new(valley: &Valley, key: RandomKey) -> Self {
        let waves = WavelengthNoise::new(key);
        Self { waves, wavelength: valley.wavelength, deviation: valley.uneven / f64::from(gradient::DEVIATION) }
    }

    /// Returns the factor on a half width of `metres` at a place in world coordinates in metres. The wavelength grows
    /// with the width, because waves shorter than the floor's width would cut scallops into its sides.
    fn width_factor(&self, x: f64, y: f64, metres: f64) -> f64 {
        if self.deviation == 0.0 || metres <= 0.0 {
            return 1.0;
        }
        libm::exp(self.deviation * self.waves.evaluate_at(Point { x, y }, self.wavelength * metres))
    }
}
