//! The courses of rivers, from cell to cell on a grid, smoothed to lines.

use crate::process::floors::Valley;
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Grid, Height, Point};
use thalweg_flow::Directions;
use thalweg_noise::gradient;
use thalweg_noise::waves::Waves;

/// A point of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineVertex {
    /// Its position in rows and columns; the middle of a cell is a whole number.
    pub place: Cell<f64>,
    /// Elevation of the river, in units.
    pub level: f64,
    /// Depth of its bed in the floor, in units.
    pub bed: f64,
    /// Half the floor's width to the left and to the right of the river, in cells.
    pub width: [f64; 2],
}

/// A stretch of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Its upper and its lower end.
    pub ends: [LineVertex; 2],
    /// The stream that it is part of, from a head to the river that it joins.
    pub stream: u32,
}

/// None of a cell's neighbours.
const NONE: u32 = u32::MAX;

/// A cell of a river: column, row, level, √catchment (m) and how easily its banks give; then where it goes and where most of its water comes from.
struct River {
    values: Vec<[f64; 5]>,
    down: Vec<u32>,
    up: Vec<u32>,
}

/// Lines along all rivers: cells through which `threshold` drains, in stretches of a quarter of the floor's width or more,
/// stream by stream.
///
/// Places, levels and catchments are means along the stream (twice, over a floor's width to each side), so a line has neither
/// the steps of directions from cell to cell nor those of confluences. A tributary's line ends where it comes to the floor
/// of the river it joins: that floor is the river's own.
pub fn lines(
    grid: &Grid,
    drained: (&Field<Height>, &Directions, &Field<u32>),
    valley: &Valley,
    key: Key,
    ease: &dyn Fn(usize) -> f64,
) -> Vec<Stretch> {
    let mut river = channels(grid, drained, valley, ease);
    for _ in 0..2 {
        river.values = smoothed(&river, valley, grid.cell);
    }
    let swings = Swings { waves: Waves::new(key.and(2)), wander: valley.wander / f64::from(gradient::DEVIATION) };
    let bends = [0, 1].map(|side| Bends::new(valley, key.and(side)));
    let point = |k: u32| {
        let [x, y, level, root, ease] = river.values[k as usize];
        let metres = ease * valley.half_width(root);
        let [east, south] = [(x, 1), (y, 0)].map(|(at, axis)| (at + 0.5 + grid.origin[axis] as f64) * grid.cell);
        let width = [0, 1].map(|side: usize| {
            metres * bends[side].factor(east + valley.moved * [1.0, -1.0][side], south, metres) / grid.cell
        });
        // Where the floor is narrow, and where the line ends, there is no room to swing.
        let swing =
            swings.at(east + 0.7 * valley.moved, south + 0.7 * valley.moved, valley.half_width(root)) / grid.cell;
        let [ahead, back] = [river.down[k as usize], river.up[k as usize]];
        let place = if swing == 0.0 || ahead == NONE || back == NONE {
            Cell::new(y, x)
        } else {
            let [[ax, ay, ..], [bx, by, ..]] = [ahead, back].map(|k| river.values[k as usize]);
            let along = ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt().max(1e-6);
            Cell::new(y + swing * (ax - bx) / along, x - swing * (ay - by) / along)
        };
        LineVertex { place, level, bed: valley.bed(root) * UNITS, width }
    };
    let mut stretches = Vec::new();
    for head in (0..river.values.len() as u32).filter(|k| river.up[*k as usize] == NONE) {
        let mouth = river.mouth(head).map(point);
        let (mut cell, mut last) = (head, point(head));
        loop {
            let next = river.down[cell as usize];
            if next == NONE || river.up[next as usize] != cell {
                break;
            }
            let here = point(next);
            if mouth.is_some_and(|mouth| apart(&mouth, &here) < mouth.width[0].min(mouth.width[1])) {
                break;
            }
            if wider(&here, grid.cell) < valley.narrowest {
                (cell, last) = (next, here);
                continue;
            }
            let least = (here.width[0].min(here.width[1]) / 4.0).max(0.7);
            if river.down[next as usize] == NONE || apart(&last, &here) >= least {
                stretches.push(Stretch { ends: [last, here], stream: head });
                last = here;
            }
            cell = next;
        }
    }
    stretches
}

/// The wider half of a floor, in metres.
fn wider(point: &LineVertex, cell: f64) -> f64 {
    cell * point.width[0].max(point.width[1])
}

/// Distance between two points in cells.
fn apart(a: &LineVertex, b: &LineVertex) -> f64 {
    let (dx, dy) = (b.place.col - a.place.col, b.place.row - a.place.row);
    (dx * dx + dy * dy).sqrt()
}

impl River {
    /// The cell of another stream that the stream from `head` on joins, if it joins one.
    fn mouth(&self, head: u32) -> Option<u32> {
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

/// The cells of rivers, linked along their streams. Of several that join, the one with the greatest catchment goes on; of
/// equals the first in world order.
fn channels(
    grid: &Grid,
    (surface, directions, cells): (&Field<Height>, &Directions, &Field<u32>),
    valley: &Valley,
    ease: &dyn Fn(usize) -> f64,
) -> River {
    let cols = grid.cols();
    let area = |k: usize| f64::from(cells[k]) * grid.cell_area();
    let places: Vec<usize> = (0..cells.len()).filter(|k| cells[*k] > 0 && area(*k) >= valley.threshold).collect();
    // Water that has reached the sea runs no lower.
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
        if *main == NONE || values[k][3] > values[*main as usize][3] {
            *main = k as u32;
        }
    }
    River { values, down, up }
}

/// Means along the stream over a floor's width to each side, less where the stream begins or ends sooner.
fn smoothed(river: &River, valley: &Valley, cell: f64) -> Vec<[f64; 5]> {
    let mean = |k: usize| {
        let reach = (valley.half_width(river.values[k][3]) / cell).clamp(2.0, 200.0) as usize;
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

/// How a river swings from side to side.
struct Swings {
    waves: Waves,
    wander: f64,
}

impl Swings {
    /// From swing to swing, in half widths of the floor: that of meanders' belts (Leopold & Wolman 1960).
    const WAVELENGTH: f64 = 7.0;

    /// How far, in metres, a river whose floor is `metres` wide to each side lies off its course at a place in world metres.
    fn at(&self, x: f64, y: f64, metres: f64) -> f64 {
        if self.wander == 0.0 || metres <= 0.0 {
            return 0.0;
        }
        self.wander * metres * self.waves.at(Point { x, y }, Self::WAVELENGTH * metres)
    }
}

/// How the width of a floor varies along its river.
struct Bends {
    waves: Waves,
    /// Wavelength over half width.
    wavelength: f64,
    deviation: f64,
}

impl Bends {
    fn new(valley: &Valley, key: Key) -> Self {
        let waves = Waves::new(key);
        Self { waves, wavelength: valley.wavelength, deviation: valley.uneven / f64::from(gradient::DEVIATION) }
    }

    /// The factor on a half width of `metres` at a place in world metres. Waves shorter than the floor is wide would cut
    /// scallops into its sides, so their length goes with the width.
    fn factor(&self, x: f64, y: f64, metres: f64) -> f64 {
        if self.deviation == 0.0 || metres <= 0.0 {
            return 1.0;
        }
        libm::exp(self.deviation * self.waves.at(Point { x, y }, self.wavelength * metres))
    }
}
