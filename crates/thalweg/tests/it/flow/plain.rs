//! The functions of `flow` in their simplest form, for comparison.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Edge, Field, Height};
use thalweg_flow::{CellRole, D8, Directions, Land, OUT, PIT, VOID};

/// Returns the role of each cell for the flow of water.
pub fn parts(land: &Land<'_>) -> Field<CellRole> {
    let [rows, cols] = land.grid.size;
    let open = |side: usize| land.grid.edges[side] == Edge::Open;
    let void = |i: usize, j: usize| land.nodata.is_some_and(|mask| mask[(i, j)]);
    let mut parts = Field::from_fn(land.grid.size, |i, j| {
        let on_edge =
            (i == 0 && open(0)) || (j + 1 == cols && open(1)) || (i + 1 == rows && open(2)) || (j == 0 && open(3));
        if void(i, j) {
            CellRole::Void
        } else if land.grid.sea_level.is_some_and(|sea| land.ground[(i, j)] <= sea)
            || land.outlets.contains(&Cell::new(i, j))
        {
            CellRole::Sink
        } else if on_edge || land.neighbours(i, j).any(|(_, Cell { row: r, col: c })| void(r, c)) {
            CellRole::Rim
        } else {
            CellRole::Inside
        }
    });
    if parts.as_slice().iter().all(|part| *part == CellRole::Inside) {
        let hash = |k: usize| RandomKey::ZERO.for_cell(land.grid.world_cell(k / cols, k % cols)).random_bits();
        let lowest = (0..parts.len()).min_by_key(|k| (land.ground.as_slice()[*k], hash(*k))).unwrap();
        parts.as_mut_slice()[lowest] = CellRole::Sink;
    }
    parts
}

/// Priority-flood with a heap of cells.
pub fn fill(land: &Land<'_>) -> Field<Height> {
    let parts = parts(land);
    let cols = land.grid.cols();
    let mut filled = land.ground.clone();
    let mut seen: Vec<bool> = parts.as_slice().iter().map(|part| *part == CellRole::Void).collect();
    let mut queue = BinaryHeap::new();
    for (k, part) in parts.as_slice().iter().enumerate() {
        if matches!(part, CellRole::Rim | CellRole::Sink) {
            seen[k] = true;
            queue.push(Reverse((land.ground.as_slice()[k], k)));
        }
    }
    while let Some(Reverse((level, k))) = queue.pop() {
        for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
            let n = r * cols + c;
            if !std::mem::replace(&mut seen[n], true) {
                let height = &mut filled.as_mut_slice()[n];
                *height = (*height).max(level);
                queue.push(Reverse((*height, n)));
            }
        }
    }
    filled
}

/// Returns the surface defined by minimax paths to the outside, relaxed until nothing changes (the method of Bellman
/// and Ford).
pub fn minimax(land: &Land<'_>) -> Field<Height> {
    let parts = parts(land);
    let mut levels = Field::from_fn(land.grid.size, |i, j| match parts[(i, j)] {
        CellRole::Inside => Height(i32::MAX),
        _ => land.ground[(i, j)],
    });
    loop {
        let next = Field::from_fn(land.grid.size, |i, j| {
            let around = land.neighbours(i, j).filter(|(_, Cell { row: r, col: c })| parts[(*r, *c)] != CellRole::Void);
            let lowest = around.map(|(_, Cell { row: r, col: c })| levels[(r, c)]).min();
            match (parts[(i, j)], lowest) {
                (CellRole::Inside, Some(lowest)) => lowest.max(land.ground[(i, j)]),
                _ => levels[(i, j)],
            }
        });
        if next == levels {
            return levels;
        }
        levels = next;
    }
}

/// Routes flow by steepest descent, and across flats by full tables of distances.
pub fn directions(land: &Land<'_>) -> Directions {
    let parts = parts(land);
    let codes = Field::from_fn(land.grid.size, |i, j| match parts[(i, j)] {
        CellRole::Void => VOID,
        CellRole::Sink => OUT,
        part => steepest(land, &parts, i, j).unwrap_or(if part == CellRole::Rim { OUT } else { PIT }),
    });
    let mut directions = Directions::from(codes).with_looped_axes(land.grid.topology().looped);
    cross_flats(land, &parts, &mut directions);
    directions
}

fn steepest(land: &Land<'_>, parts: &Field<CellRole>, i: usize, j: usize) -> Option<u8> {
    let here = i64::from(land.ground[(i, j)].0);
    // Squares of falls: straight ones are doubled instead of halving diagonal ones.
    let fall = |direction: D8, Cell { row: r, col: c }: Cell| {
        let fall = i128::from(here - i64::from(land.ground[(r, c)].0));
        (fall > 0 && parts[(r, c)] != CellRole::Void)
            .then(|| [2 * fall * fall, fall * fall][usize::from(direction.is_diagonal())])
    };
    let best = land.neighbours(i, j).filter_map(|(k, cell)| fall(k, cell)).max()?;
    let equals: Vec<D8> =
        land.neighbours(i, j).filter(|(k, cell)| fall(*k, *cell) == Some(best)).map(|(k, _)| k).collect();
    Some(equals[land.break_tie(i, j, equals.len() as u32) as usize].code())
}

fn cross_flats(land: &Land<'_>, parts: &Field<CellRole>, directions: &mut Directions) {
    let none = directions.clone();
    let flat = |i: usize, j: usize| none[(i, j)] == PIT;
    let level = |i: usize, j: usize, Cell { row: r, col: c }: Cell| land.ground[(i, j)] == land.ground[(r, c)];
    let drains = |i: usize, j: usize, cell: Cell| none[cell] < PIT && level(i, j, cell);
    // Steps over the flat from the cells that `first` selects; `None` where no path leads.
    let distances = |first: &dyn Fn(usize, usize, Cell) -> bool| {
        let mut distance = Field::from_fn(land.grid.size, |_, _| None);
        let mut border: Vec<Cell> = (0..land.grid.len())
            .map(|k| Cell::new(k / land.grid.cols(), k % land.grid.cols()))
            .filter(|Cell { row: i, col: j }| {
                flat(*i, *j) && land.neighbours(*i, *j).any(|(_, cell)| first(*i, *j, cell))
            })
            .collect();
        for steps in 1.. {
            if border.is_empty() {
                break;
            }
            border.retain(|Cell { row: i, col: j }| {
                distance[(*i, *j)].replace(steps).is_none_or(|before: i64| {
                    distance[(*i, *j)] = Some(before);
                    false
                })
            });
            border = border
                .iter()
                .flat_map(|Cell { row: i, col: j }| {
                    land.neighbours(*i, *j).map(|(_, cell)| (*i, *j, cell)).collect::<Vec<_>>()
                })
                .filter(|(i, j, Cell { row: r, col: c })| {
                    flat(*r, *c) && level(*i, *j, Cell::new(*r, *c)) && distance[(*r, *c)].is_none()
                })
                .map(|(_, _, cell)| cell)
                .collect();
        }
        distance
    };
    let towards = distances(&|i, j, cell| drains(i, j, cell));
    let away = distances(&|i, j, Cell { row: r, col: c }| {
        parts[(r, c)] != CellRole::Void && land.ground[(r, c)] > land.ground[(i, j)]
    });
    for (i, j) in (0..land.grid.len()).map(|k| (k / land.grid.cols(), k % land.grid.cols())) {
        if !flat(i, j) || towards[(i, j)].is_none() {
            continue;
        }
        let combined = |direction: D8, Cell { row: r, col: c }: Cell| {
            let odd = i64::from(direction.is_diagonal());
            if drains(i, j, Cell::new(r, c)) {
                return Some((i64::MIN, odd));
            }
            let towards = towards[(r, c)].filter(|_| flat(r, c) && level(i, j, Cell::new(r, c)))?;
            Some((2 * towards - away[(r, c)].unwrap_or(0), odd))
        };
        let least = land.neighbours(i, j).filter_map(|(k, cell)| combined(k, cell)).min().unwrap();
        let equals: Vec<D8> =
            land.neighbours(i, j).filter(|(k, cell)| combined(*k, *cell) == Some(least)).map(|(k, _)| k).collect();
        directions[(i, j)] = equals[land.break_tie(i, j, equals.len() as u32) as usize].code();
    }
}

/// Returns the cells of the flow path from cell `k`, `k` first, to its end.
pub fn path(directions: &Directions, k: usize) -> Vec<usize> {
    let next = |k: &usize| directions.next(*k);
    let path: Vec<usize> = std::iter::successors(Some(k), next).take(directions.len() + 1).collect();
    assert!(path.len() <= directions.len(), "water runs in a circle");
    path
}

/// Returns the sum of weights through each cell by following every cell's flow path to its end.
pub fn weighted(directions: &Directions, weights: &Field<i64>) -> Field<i64> {
    let mut sums = Field::new(directions.size(), 0);
    for k in (0..directions.len()).filter(|k| directions.as_slice()[*k] != VOID) {
        for n in path(directions, k) {
            sums.as_mut_slice()[n] += weights.as_slice()[k];
        }
    }
    sums
}
