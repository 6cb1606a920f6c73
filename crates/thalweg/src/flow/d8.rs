//! Directions to one of eight neighbours.

use std::collections::VecDeque;

use crate::field::Field;
use crate::flow::{Directions, Land, OUT, PIT, Part, VOID};

/// For each cell the neighbour of steepest descent (O'Callaghan & Mark 1984): the greatest fall over distance, compared
/// exactly; equals by [`Land::pick`].
///
/// Flat ground drains over its lower rim; on a filled surface every cell does. Cells of the rim with nothing lower beside
/// them, and sinks, are [`OUT`]; what has no way on is [`PIT`].
pub fn directions(land: &Land<'_>) -> Directions {
    let parts = land.parts();
    let mut directions = Field::generate(land.grid.size, |i, j| match parts[(i, j)] {
        Part::Void => VOID,
        Part::Sink => OUT,
        part => steepest(land, &parts, i, j).unwrap_or(if part == Part::Rim { OUT } else { PIT }),
    });
    cross_flats(land, &mut directions);
    directions
}

/// The neighbour of steepest descent.
fn steepest(land: &Land<'_>, parts: &Field<Part>, i: usize, j: usize) -> Option<u8> {
    let here = i64::from(land.ground[(i, j)].0);
    // Squares of falls, halved on diagonals (here: doubled on the others), so that the comparison is exact.
    let fall = |k: usize, cell: [usize; 2]| {
        let fall = here - i64::from(land.ground[(cell[0], cell[1])].0);
        (fall > 0 && parts[(cell[0], cell[1])] != Part::Void)
            .then(|| if k.is_multiple_of(2) { 2 * fall * fall } else { fall * fall })
    };
    let best = land.around(i, j).filter_map(|(k, cell)| fall(k, cell)).max()?;
    let equals: Vec<usize> =
        land.around(i, j).filter(|(k, cell)| fall(*k, *cell) == Some(best)).map(|(k, _)| k).collect();
    Some(equals[land.pick(i, j, equals.len() as u32) as usize] as u8)
}

/// Leads the cells of flats to where they end.
fn cross_flats(land: &Land<'_>, directions: &mut Directions) {
    let cols = land.grid.cols();
    let heights = land.ground.as_slice();
    let mut queue: VecDeque<usize> = (0..heights.len()).filter(|k| directions.as_slice()[*k] < PIT).collect();
    while let Some(k) = queue.pop_front() {
        for (d, [r, c]) in land.around(k / cols, k % cols) {
            let n = r * cols + c;
            if heights[n] == heights[k] && directions[(r, c)] == PIT {
                directions[(r, c)] = (d ^ 4) as u8;
                queue.push_back(n);
            }
        }
    }
}
