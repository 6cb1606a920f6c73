//! Cells of one number as areas with rings round them.

use std::collections::{BTreeMap, HashMap};

use crate::field::Field;

/// A corner of cells: row and column.
type Corner = [usize; 2];

/// Rings of corners; the first goes round an area, those after it round its holes.
pub type Area = Vec<Vec<[f64; 2]>>;

/// The areas of each number but 0, along the sides of cells: counter-clockwise on a map with north up, holes clockwise, each
/// ring ending where it began. Cells that touch in a corner alone are apart.
pub fn outlines(numbers: &Field<u32>) -> BTreeMap<u32, Vec<Area>> {
    let mut sides: BTreeMap<u32, HashMap<Corner, Vec<Corner>>> = BTreeMap::new();
    let [rows, cols] = numbers.size();
    for i in 0..rows {
        for j in 0..cols {
            let number = numbers[(i, j)];
            if number == 0 {
                continue;
            }
            // Cells lie to the left of their sides.
            let beside = [
                (i + 1 < rows && numbers[(i + 1, j)] == number, [i + 1, j], [i + 1, j + 1]),
                (j + 1 < cols && numbers[(i, j + 1)] == number, [i + 1, j + 1], [i, j + 1]),
                (i > 0 && numbers[(i - 1, j)] == number, [i, j + 1], [i, j]),
                (j > 0 && numbers[(i, j - 1)] == number, [i, j], [i + 1, j]),
            ];
            for (_, from, to) in beside.iter().filter(|(same, _, _)| !same) {
                sides.entry(number).or_default().entry(*from).or_default().push(*to);
            }
        }
    }
    sides.into_iter().map(|(number, sides)| (number, areas(sides))).collect()
}

/// Turns to the left, as seen on a map with north up.
fn turns_left(before: [isize; 2], after: [isize; 2]) -> bool {
    // Rows grow southward.
    before[1] * -after[0] - -before[0] * after[1] > 0
}

fn step(from: Corner, to: Corner) -> [isize; 2] {
    [to[0] as isize - from[0] as isize, to[1] as isize - from[1] as isize]
}

fn areas(mut sides: HashMap<Corner, Vec<Corner>>) -> Vec<Area> {
    let mut starts: Vec<Corner> = sides.keys().copied().collect();
    starts.sort_unstable();
    let mut rings: Vec<Vec<Corner>> = Vec::new();
    for start in starts {
        while let Some(mut to) = sides.get_mut(&start).and_then(Vec::pop) {
            let mut ring = vec![start, to];
            while to != start {
                let way = step(ring[ring.len() - 2], to);
                let Some(ways) = sides.get_mut(&to) else { break };
                // Round the same cell, where two touch in a corner.
                let left = ways.iter().position(|next| turns_left(way, step(to, *next))).unwrap_or(0);
                if ways.is_empty() {
                    break;
                }
                to = ways.swap_remove(left);
                ring.push(to);
            }
            rings.push(straightened(&ring));
        }
    }
    let (outer, holes): (Vec<_>, Vec<_>) = rings.into_iter().partition(|ring| turned(ring) > 0);
    let mut areas: Vec<Vec<Vec<Corner>>> = outer.into_iter().map(|ring| vec![ring]).collect();
    for hole in holes {
        // The cell to the left of the hole's first side lies in the area that has the hole.
        let [di, dj] = step(hole[0], hole[1]).map(isize::signum);
        let at = [hole[0][0] as f64 + 0.5 * (di - dj) as f64, hole[0][1] as f64 + 0.5 * (dj + di) as f64];
        if let Some(home) = areas.iter_mut().find(|area| holds(&area[0], at)) {
            home.push(hole);
        }
    }
    let real = |ring: Vec<Corner>| ring.into_iter().map(|corner| corner.map(|x| x as f64)).collect();
    areas.into_iter().map(|area| area.into_iter().map(real).collect()).collect()
}

/// Twice the area that a ring goes round counter-clockwise.
fn turned(ring: &[Corner]) -> i64 {
    ring.windows(2).map(|p| p[1][1] as i64 * p[0][0] as i64 - p[0][1] as i64 * p[1][0] as i64).sum()
}

/// A ring without corners on straight sides.
fn straightened(ring: &[Corner]) -> Vec<Corner> {
    let count = ring.len() - 1;
    let bends = |k: usize| step(ring[(k + count - 1) % count], ring[k]) != step(ring[k], ring[k + 1]);
    let mut kept: Vec<Corner> = (0..count).filter(|k| bends(*k)).map(|k| ring[k]).collect();
    kept.extend(kept.first().copied());
    kept
}

/// Whether a place lies in a ring.
fn holds(ring: &[Corner], [y, x]: [f64; 2]) -> bool {
    let crosses = |p: &&[Corner]| {
        let [a, b] = [p[0], p[1]].map(|corner| corner.map(|x| x as f64));
        // Sides run along rows or columns: of those along columns, which lie to the west?
        a[1] == b[1] && a[1] < x && (a[0] > y) != (b[0] > y)
    };
    ring.windows(2).filter(crosses).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Key;

    /// The signed area of a ring on a map with north up.
    fn area(ring: &[[f64; 2]]) -> f64 {
        ring.windows(2).map(|p| -(p[0][1] * p[1][0] - p[1][1] * p[0][0]) / 2.0).sum()
    }

    #[test]
    fn a_ring_lake_has_an_island() {
        let numbers = Field::generate([5, 5], |i, j| {
            u32::from((1..4).contains(&i) && (1..4).contains(&j) && (i, j) != (2, 2)) * 7
        });
        let found = outlines(&numbers);
        let [shape] = found[&7].as_slice() else { panic!("one area") };
        assert_eq!(shape.iter().map(|ring| area(ring)).collect::<Vec<_>>(), [9.0, -1.0]);
        assert_eq!(shape[0].len(), 5);
    }

    #[test]
    fn areas_are_the_cells() {
        for seed in 0..40 {
            let key = Key::new(seed, "cells");
            let numbers = Field::generate([9, 11], |i, j| (3.0 * key.cell([i as i64, j as i64]).unit()) as u32);
            for (number, areas) in outlines(&numbers) {
                let cells = numbers.as_slice().iter().filter(|n| **n == number).count();
                let sum: f64 = areas.iter().flatten().map(|ring| area(ring)).sum();
                assert_eq!(sum, cells as f64);
                for rings in &areas {
                    assert!(area(&rings[0]) > 0.0 && rings[1..].iter().all(|hole| area(hole) < 0.0));
                    assert!(rings.iter().all(|ring| ring.first() == ring.last() && ring.len() >= 5));
                    assert!(rings.iter().map(|ring| area(ring)).sum::<f64>() > 0.0);
                }
            }
        }
    }
}
