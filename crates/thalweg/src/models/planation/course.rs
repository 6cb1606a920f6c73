//! The courses of rivers, from cell to cell on a grid, smoothed to lines.

use crate::field::Field;
use crate::flow::{Directions, downstream};
use crate::grid::Grid;
use crate::height::Height;
use crate::models::planation::Valley;
use crate::noise::gradient;
use crate::noise::octave::Octave;
use crate::rng::Key;

/// A point of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Column and row, in cells; the middle of a cell is a whole number.
    pub place: [f64; 2],
    /// Elevation of the river, in units.
    pub level: f64,
    /// Half the floor's width to the left and to the right of the river, in cells.
    pub width: [f64; 2],
}

/// A stretch of a river's line, from its upper to its lower end.
pub type Stretch = [Point; 2];

/// None of a cell's neighbours.
const NONE: u32 = u32::MAX;

/// A cell of a river: column, row, level and √catchment (m); then where it goes and where most of its water comes from.
struct River {
    values: Vec<[f64; 4]>,
    down: Vec<u32>,
    up: Vec<u32>,
}

/// Lines along all rivers: cells through which `threshold` drains, in stretches of a quarter of the floor's width or more.
///
/// Places, levels and catchments are means along the stream (twice, over a floor's width to each side), so a line has neither
/// the steps of directions from cell to cell nor those of confluences. A tributary's line ends on that of the river it joins.
pub fn lines(
    grid: &Grid,
    surface: &Field<Height>,
    directions: &Directions,
    cells: &Field<u32>,
    valley: &Valley,
    key: Key,
) -> Vec<Stretch> {
    let mut river = channels(grid, surface, directions, cells, valley);
    for _ in 0..2 {
        river.values = smoothed(&river, valley, grid.cell);
    }
    let bends = [Bends::new(valley, grid.cell, key.and(0)), Bends::new(valley, grid.cell, key.and(1))];
    let point = |k: u32| {
        let [x, y, level, root] = river.values[k as usize];
        let metres = valley.half_width(root);
        let [east, south] = [(x, 1), (y, 0)].map(|(at, axis)| (at + 0.5 + grid.origin[axis] as f64) * grid.cell);
        let width = [0, 1].map(|side: usize| metres * bends[side].factor(east, south) / grid.cell);
        Point { place: [x, y], level, width }
    };
    let mut stretches = Vec::new();
    for head in (0..river.values.len() as u32).filter(|k| river.up[*k as usize] == NONE) {
        let (mut cell, mut last) = (head, point(head));
        while river.down[cell as usize] != NONE {
            let next = river.down[cell as usize];
            let ends = river.up[next as usize] != cell || river.down[next as usize] == NONE;
            let here = point(next);
            let [dx, dy] = [0, 1].map(|axis| here.place[axis] - last.place[axis]);
            let least = (here.width[0].min(here.width[1]) / 4.0).max(0.7);
            if ends || dx * dx + dy * dy >= least * least {
                stretches.push([last, here]);
                last = here;
            }
            if river.up[next as usize] != cell {
                break;
            }
            cell = next;
        }
    }
    stretches
}

/// The cells of rivers, linked along their streams. Of several that join, the one with the greatest catchment goes on; of
/// equals the first in world order.
fn channels(
    grid: &Grid,
    surface: &Field<Height>,
    directions: &Directions,
    cells: &Field<u32>,
    valley: &Valley,
) -> River {
    let cols = grid.cols();
    let area = |k: usize| f64::from(cells.as_slice()[k]) * grid.cell_area();
    let places: Vec<usize> =
        (0..cells.len()).filter(|k| cells.as_slice()[*k] > 0 && area(*k) >= valley.threshold).collect();
    // Water that has reached the sea runs no lower.
    let sea = grid.sea_level.map_or(i32::MIN, |sea| sea.0);
    let values = places.iter().map(|k| {
        let level = surface.as_slice()[*k].0.max(sea);
        [(k % cols) as f64, (k / cols) as f64, f64::from(level), area(*k).sqrt()]
    });
    let values: Vec<[f64; 4]> = values.collect();
    let mut up = vec![NONE; places.len()];
    let down: Vec<u32> = places
        .iter()
        .map(|k| downstream(*k, directions.as_slice()[*k], cols).and_then(|n| places.binary_search(&n).ok()))
        .map(|index| index.map_or(NONE, |index| index as u32))
        .collect();
    for (k, n) in down.iter().enumerate().filter(|(_, n)| **n != NONE) {
        let main = &mut up[*n as usize];
        if *main == NONE || values[k][3] > values[*main as usize][3] {
            *main = k as u32;
        }
    }
    River { values, down, up }
}

/// Means along the stream over a floor's width to each side, less where the stream begins or ends sooner.
fn smoothed(river: &River, valley: &Valley, cell: f64) -> Vec<[f64; 4]> {
    let mean = |k: usize| {
        let reach = (valley.half_width(river.values[k][3]) / cell).clamp(5.0, 200.0) as usize;
        let (mut sum, mut count) = (river.values[k], 1.0);
        let [mut above, mut below] = [k as u32; 2];
        for _ in 0..reach {
            (above, below) = (river.up[above as usize], river.down[below as usize]);
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

/// How the width of a floor varies along its river.
struct Bends {
    octaves: Vec<Octave>,
    scale: f64,
}

impl Bends {
    fn new(valley: &Valley, cell: f64, key: Key) -> Self {
        let octaves = Octave::series(OCTAVES, valley.wavelength, 2.0, 0.7, key, cell);
        let variance: f64 = octaves.iter().map(|octave| f64::from(octave.amplitude).powi(2)).sum();
        Self { octaves, scale: valley.uneven / (variance.sqrt() * f64::from(gradient::DEVIATION)) }
    }

    /// The factor on the width at a place in world metres.
    fn factor(&self, x: f64, y: f64) -> f64 {
        if self.scale == 0.0 {
            return 1.0;
        }
        let noise = self.octaves.iter().filter(|octave| octave.fade > 0.0).map(|octave| {
            let [(i, u), (j, v)] = octave.place(x, y);
            f64::from(octave.amplitude * octave.fade * gradient::noise(i, j, u as f32, v as f32, octave.seed))
        });
        libm::exp(self.scale * noise.sum::<f64>())
    }
}

/// Octaves of a floor's width.
const OCTAVES: u32 = 4;
