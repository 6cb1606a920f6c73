//! Measures how much of the land drains, from elevations and lakes alone.

use crate::tree::{NONE, neighbour_cells};
use thalweg_core::{Cell, Field, Height, Terrain};
use thalweg_flow::Neighbourhood;

/// Returns which cells drain. A cell drains if steps to the steepest strictly lower of eight neighbours, or across a
/// flat of equal elevations to a cell that has one, lead to the edge, to missing data or to a cell where water
/// `rests` (sea, lakes). No depression is filled, and none is ignored for being small.
///
/// `heights` are used as they are, so pass them as stored in a file, in any unit. `known` is true where there is
/// data. All fields have the same size. A cell without data does not drain.
pub fn find_draining_cells(heights: &Field<f32>, known: &Field<bool>, rests: &Field<bool>) -> Field<bool> {
    let size = heights.size();
    let [rows, cols] = size;
    let (h, is_known) = (heights.as_slice(), known.as_slice());
    let steepest = |i: usize, j: usize| {
        let k = i * cols + j;
        let mut best = (0.0, NONE);
        for (direction, Cell { row: r, col: c }) in Neighbourhood::new(size, [i, j]) {
            if is_known[r * cols + c] {
                let fall = (f64::from(h[k]) - f64::from(h[r * cols + c])) / direction.distance();
                // Only a strictly lower neighbour counts. Of equally steep ones the first in order of direction codes
                // is taken.
                best = if fall > best.0 { (fall, (r * cols + c) as u32) } else { best };
            }
        }
        best.1
    };
    let down = Field::from_fn(size, steepest);
    // Cells where water leaves or rests drain by definition. From these, search upstream.
    let mut drains = Field::from_fn(size, |i, j| {
        let k = i * cols + j;
        let side = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
        is_known[k] && (side || rests[k] || neighbour_cells(size, k).any(|n| !is_known[n]))
    });
    let mut next: Vec<usize> = (0..h.len()).filter(|k| drains[*k]).collect();
    while let Some(k) = next.pop() {
        for n in neighbour_cells(size, k) {
            let to = down[n];
            // A cell on a flat has no lower neighbour and drains through any equally high cell that drains.
            let comes = to as usize == k || (to == NONE && h[n] == h[k]);
            if comes && is_known[n] && !drains[n] {
                drains[n] = true;
                next.push(n);
            }
        }
    }
    drains
}

/// Returns the share of the cells with data that drain, 0 to 1; 1 if there are none. See [`find_draining_cells`].
pub fn compute_draining_share(heights: &Field<f32>, known: &Field<bool>, rests: &Field<bool>) -> f64 {
    let drains = find_draining_cells(heights, known, rests);
    let all = known.as_slice().iter().filter(|known| **known).count();
    let well = drains.as_slice().iter().filter(|drains| **drains).count();
    if all == 0 { 1.0 } else { well as f64 / all as f64 }
}

/// Returns the share of a terrain's cells that drain ([`compute_draining_share`]) by the elevations in `ground`,
/// rounded to 32-bit floats as in files. Water rests in the sea and in `lakes` (a number for each cell, 0 where there
/// is none). Both fields have the terrain's size.
pub fn draining_share_of_terrain(ground: &Field<Height>, terrain: &Terrain, lakes: Option<&Field<u32>>) -> f64 {
    let sea = terrain.grid.sea_level;
    let known = Field::from_fn(ground.size(), |i, j| !terrain.is_nodata(i, j));
    let rests = Field::from_fn(ground.size(), |i, j| {
        sea.is_some_and(|sea| ground[(i, j)] <= sea) || lakes.is_some_and(|lakes| lakes[(i, j)] > 0)
    });
    compute_draining_share(&ground.map(|height| height.metres_f32()), &known, &rests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lips_hold_water_and_flats_do_not() {
        let all = Field::new([5, 5], true);
        let none = Field::new([5, 5], false);
        let land = |middle: f32, ring: f32| {
            Field::from_fn([5, 5], |i, j| match i.abs_diff(2).max(j.abs_diff(2)) {
                0 => middle,
                1 => ring,
                _ => 0.9,
            })
        };
        // A depression behind a lip of a millionth, a flat, and a hill.
        let of = |middle, ring| compute_draining_share(&land(middle, ring), &all, &none);
        assert_eq!([of(1.0, 1.000_001), of(1.0, 1.0), of(3.0, 2.0)], [24.0 / 25.0, 1.0, 1.0]);
        // A lake receives water, and so do missing data.
        let middle = Field::from_fn([5, 5], |i, j| i == 2 && j == 2);
        assert_eq!(compute_draining_share(&land(0.0, 0.5), &all, &middle), 1.0);
        assert_eq!(compute_draining_share(&land(0.0, 0.5), &middle.map(|here| !here), &none), 1.0);
        assert_eq!(compute_draining_share(&land(0.0, 0.5), &all, &none), 16.0 / 25.0);
    }
}
