//! Lakes with their statistics and outlines, derived from a field of standing water depths.

use std::collections::BTreeMap;

use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Lake, POOL};
use thalweg_core::{Cell, Error, Field, Height, Result, Terrain};
use thalweg_flow::{CellRole, D8, Land, Neighbourhood};

/// Surfaces that differ by no more than this number of units (4 mm) count as one level, because depths may have been
/// stored in a file as 32-bit floats.
const LEVEL: i64 = 256;

/// Returns the lakes in `pools` (depths of standing water on the terrain), ordered by their first cells row by row,
/// and the number of the lake in each cell, 0 where there is none. Wet cells belong to one lake if they touch,
/// diagonally too, and their levels are within 4 mm of that of its first cell.
///
/// # Errors
/// Returns an error if the size of `pools` differs from the terrain's.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::products::lakes::outline_lakes;
///
/// // A lake of one cell of 100 m², 2 m deep; its bed is at 8 m.
/// let heights = [12.0, 12.0, 12.0, 12.0, 8.0, 12.0, 12.0, 12.0, 12.0];
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// let mut pools = Field::new([3, 3], Height::ZERO);
/// pools[(1, 1)] = Height::from_metres_clamped(2.0);
/// let (lakes, numbers) = outline_lakes(&terrain, &pools)?;
/// assert_eq!((lakes[0].level, lakes[0].area, lakes[0].volume), (10.0, 100.0, 200.0));
/// assert_eq!((numbers[(1, 1)], numbers[(0, 0)]), (1, 0));
/// // Its shore is 2 m above the water, so the lake is not full.
/// assert_eq!(lakes[0].outlet, None);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn outline_lakes(terrain: &Terrain, pools: &Field<Height>) -> Result<(Vec<Lake>, Field<u32>)> {
    let [rows, cols] = terrain.ground.size();
    if pools.size() != [rows, cols] {
        let [r, c] = pools.size();
        return Err(Error::invalid_layer(POOL.name, format!("is {r} × {c} cells; the terrain is {rows} × {cols}")));
    }
    // The sum of two heights of 32 bits can exceed 32 bits.
    let surface = |k: usize| i64::from(terrain.ground[k].0) + i64::from(pools[k].0);
    let is_wet = |k: usize| pools[k].0 > 0 && !terrain.is_nodata(k / cols, k % cols);
    let parts = Land::from_terrain(terrain).cell_roles();
    let mut numbers = Field::new([rows, cols], 0u32);
    let mut lakes = Vec::new();
    let mut found = Vec::new();
    for first in 0..rows * cols {
        if numbers[first] != 0 || !is_wet(first) {
            continue;
        }
        let (id, level) = (lakes.len() as u32 + 1, surface(first));
        let belongs = |k: usize| is_wet(k) && (surface(k) - level).abs() <= LEVEL;
        found.clear();
        found.push(first);
        numbers[first] = id;
        // Flood fill from the first cell. The outlet is the lowest neighbouring surface, or rim cell of the lake,
        // that is not above the level.
        let (mut next, mut outlet) = (0, None::<(i64, usize)>);
        // Depths are summed as integers, so that the volume does not depend on the order of cells.
        let (mut volume, mut deepest) = (0i128, 0);
        while let Some(k) = found.get(next).copied() {
            next += 1;
            let depth = pools[k].0;
            volume += i128::from(depth);
            deepest = deepest.max(depth);
            // Among equally low cells the first one row by row is the outlet, whatever the order of the flood fill.
            let lower = |outlet: Option<(i64, usize)>, height: i64, n: usize| {
                let better = height <= level && outlet.is_none_or(|known| (height, n) < known);
                if better { Some((height, n)) } else { outlet }
            };
            // Water at the rim leaves the map over the rim cell itself.
            if parts[k] == CellRole::Rim {
                outlet = lower(outlet, i64::from(terrain.ground[k].0), k);
            }
            for (_, Cell { row: r, col: c }) in Neighbourhood::new(terrain.grid.size, [k / cols, k % cols]) {
                let n = r * cols + c;
                if belongs(n) {
                    if numbers[n] == 0 {
                        numbers[n] = id;
                        found.push(n);
                    }
                } else if parts[n] != CellRole::Void {
                    // Any other cell with data is shore, and may be the outlet.
                    outlet = lower(outlet, surface(n), n);
                }
            }
        }
        let (cells, area) = (found.len() as u64, found.len() as f64 * terrain.grid.cell_area());
        let metres = volume as f64 / UNITS;
        lakes.push(Lake {
            id,
            level: level as f64 / UNITS,
            cells,
            area,
            volume: metres * terrain.grid.cell_area(),
            mean_depth: metres / cells as f64,
            max_depth: f64::from(deepest) / UNITS,
            outlet: outlet.map(|(_, n)| Cell::new(n / cols, n % cols)),
            runoff: None,
            outline: Vec::new(),
        });
    }
    for (id, lines) in trace_outlines(&numbers, true) {
        lakes[id as usize - 1].outline = lines;
    }
    Ok((lakes, numbers))
}

/// The header line of [`format_csv()`].
pub const COLUMNS: &str = "id,level_m,area_m2,volume_m3,mean_depth_m,max_depth_m,outlet_row,outlet_column\n";

/// Returns a CSV table of the lakes with a header line and one line per lake: level and depths in metres, area in m²,
/// volume in m³; the outlet's row and column are empty if there is none.
pub fn format_csv(lakes: &[Lake]) -> String {
    lakes.iter().fold(COLUMNS.to_string(), |text, lake| text + &format_csv_line(lake))
}

/// Returns a lake's line of [`format_csv()`]. It is formatted directly: numbers need no quotes, and a store has
/// millions of lines, each of which would otherwise need its own writer of the crate `csv`.
pub fn format_csv_line(lake: &Lake) -> String {
    let outlet = lake.outlet.map(|outlet| outlet.map(|n| n.to_string())).unwrap_or_default();
    let Lake { id, level, area, volume, mean_depth, max_depth, .. } = lake;
    format!("{id},{level:.3},{area:.1},{volume:.1},{mean_depth:.3},{max_depth:.3},{},{}\n", outlet.row, outlet.col)
}

/// The sides of a cell by outward direction, counter-clockwise: the order in which a walk with the water on its left
/// reaches them.
const SIDES: [D8; 4] = [D8::North, D8::West, D8::South, D8::East];

/// A side of a cell, where the cell meets one of its four neighbours. The cell may be outside the raster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSide {
    /// The cell.
    pub cell: Cell<isize>,
    /// The index of the side, counter-clockwise: 0 north, 1 west, 2 south, 3 east.
    pub side: usize,
}

impl CellSide {
    /// Creates the side with the given index, 0 to 3.
    #[inline]
    pub fn new(cell: Cell<isize>, side: usize) -> Self {
        Self { cell, side }
    }

    /// Returns the offsets outward from the cell and onward along the side. The onward direction equals the outward
    /// direction of the next side.
    fn outward_and_onward(self) -> [[isize; 2]; 2] {
        [SIDES[self.side].offset(), SIDES[(self.side + 1) % 4].offset()]
    }

    /// Returns the neighbour on the other side.
    pub fn neighbour(self) -> Cell<isize> {
        let out = SIDES[self.side].offset();
        Cell::from_axes(|axis| self.cell[axis] + out[axis])
    }

    /// Returns the midpoint of the side in half cells from the north-western corner.
    pub fn midpoint_half_cells(self) -> Cell<isize> {
        let out = SIDES[self.side].offset();
        Cell::from_axes(|axis| 2 * self.cell[axis] + 1 + out[axis])
    }

    /// Returns the next side of the outline around the cells that are `inside`; `corners` has the meaning documented
    /// at [`trace_outlines`].
    #[inline]
    pub fn next_side(self, corners: bool, inside: impl Fn(Cell<isize>) -> bool) -> Self {
        // At the end of a side, the outline turns outward if the cell diagonally ahead is inside, continues if the cell
        // ahead is, and otherwise turns around its own cell.
        let [out, on] = self.outward_and_onward();
        let ahead = Cell::from_axes(|axis| self.cell[axis] + on[axis]);
        let across = Cell::from_axes(|axis| ahead[axis] + out[axis]);
        if inside(across) && (corners || inside(ahead)) {
            Self::new(across, (self.side + 3) % 4)
        } else if inside(ahead) {
            Self::new(ahead, self.side)
        } else {
            Self::new(self.cell, (self.side + 1) % 4)
        }
    }

    /// Returns the previous side of that outline, for outlines that join cells which touch only at a corner.
    pub fn previous_side(self, inside: impl Fn(Cell<isize>) -> bool) -> Self {
        let [out, on] = self.outward_and_onward();
        let behind = Cell::from_axes(|axis| self.cell[axis] - on[axis]);
        let across = Cell::from_axes(|axis| behind[axis] + out[axis]);
        if inside(across) {
            Self::new(across, (self.side + 1) % 4)
        } else if inside(behind) {
            Self::new(behind, self.side)
        } else {
            Self::new(self.cell, (self.side + 3) % 4)
        }
    }
}

/// Returns the outlines of the cells of each number except 0: closed lines of (row, column) in cells from the
/// north-western corner, whose first point equals their last. With north up, outer lines run counter-clockwise and
/// lines around islands clockwise. They are ordered by the cells at which they begin, row by row, so the first is an
/// outer line.
///
/// Every side between the cells and others is visited once. Lines connect the midpoint of a side with the midpoint of
/// the next, which cuts corners. If `corners` is true, cells that touch only at a corner are enclosed by one line.
pub fn trace_outlines(numbers: &Field<u32>, corners: bool) -> BTreeMap<u32, Vec<Vec<Cell<f64>>>> {
    let [rows, cols] = numbers.size();
    let at = |Cell { row, col }: Cell<isize>| -> u32 {
        let inside = row >= 0 && col >= 0 && (row as usize) < rows && (col as usize) < cols;
        if inside { numbers[(row as usize, col as usize)] } else { 0 }
    };
    let mut walked = Field::new([rows, cols], 0u8);
    let mut outlines: BTreeMap<u32, Vec<Vec<Cell<f64>>>> = BTreeMap::new();
    for start in 0..rows * cols {
        let id = numbers[start];
        if id == 0 {
            continue;
        }
        for first in 0..4 {
            let mut side = CellSide::new(Cell::new((start / cols) as isize, (start % cols) as isize), first);
            // Each side has a bit. A side between two cells of the same number is no part of an outline.
            if walked[start] & 1 << first != 0 || at(side.neighbour()) == id {
                continue;
            }
            let mut line = Vec::new();
            loop {
                let walked = &mut walked[side.cell.map(|at| at as usize)];
                if *walked & 1 << side.side != 0 {
                    break;
                }
                *walked |= 1 << side.side;
                // Positions are whole numbers of half cells, so halving them is exact.
                line.push(side.midpoint_half_cells().map(|halves| 0.5 * halves as f64));
                side = side.next_side(corners, |cell| at(cell) == id);
            }
            // The first side of a connected area's first cell, the northern one, is on its outer line, which
            // therefore precedes its islands.
            outlines.entry(id).or_default().push(drop_collinear_points(&line));
        }
    }
    outlines
}

/// Groups the closed lines of one number, in the order of [`trace_outlines`], into areas: each has an outer line,
/// counter-clockwise with north up, followed by the lines of its islands.
pub fn group_outlines(lines: Vec<Vec<Cell<f64>>>) -> Vec<Vec<Vec<Cell<f64>>>> {
    let (outer, islands): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| twice_signed_area(line) > 0.0);
    let mut areas: Vec<Vec<Vec<Cell<f64>>>> = outer.into_iter().map(|line| vec![line]).collect();
    for island in islands {
        // Of the areas around an island, the innermost is the last in the list, because an area nested in an island
        // of another one begins after it.
        if let Some(area) = areas.iter_mut().rfind(|area| is_inside_line(&area[0], island[0])) {
            area.push(island);
        }
    }
    areas
}

/// Returns twice the signed area enclosed by a closed line: positive if counter-clockwise with north up.
fn twice_signed_area(line: &[Cell<f64>]) -> f64 {
    // This is the shoelace formula; rows count southward, hence the opposite sign.
    line.windows(2).map(|pair| pair[0][1] * -pair[1][0] + pair[1][1] * pair[0][0]).sum()
}

/// Returns true if a point is inside a closed line: a ray to the east crosses it an odd number of times.
fn is_inside_line(line: &[Cell<f64>], Cell { row: y, col: x }: Cell<f64>) -> bool {
    let crosses = |pair: &&[Cell<f64>]| {
        let (a, b) = (pair[0], pair[1]);
        // One end of a segment is included and the other excluded, so that a ray through a point of the line counts it
        // once.
        (a[0] > y) != (b[0] > y) && a[1] + (y - a[0]) / (b[0] - a[0]) * (b[1] - a[1]) > x
    };
    line.windows(2).filter(crosses).count() % 2 == 1
}

/// Returns the closed line without the points on a straight line between their neighbours, with its first point
/// repeated at the end.
fn drop_collinear_points(line: &[Cell<f64>]) -> Vec<Cell<f64>> {
    let n = line.len();
    let bends = |k: usize| {
        let (a, b, c) = (line[(k + n - 1) % n], line[k], line[(k + 1) % n]);
        // Coordinates are multiples of one half, so the products are exact and no tolerance is needed.
        (b[0] - a[0]) * (c[1] - b[1]) != (b[1] - a[1]) * (c[0] - b[0])
    };
    let mut kept: Vec<Cell<f64>> = (0..n).filter(|k| bends(*k)).map(|k| line[k]).collect();
    kept.extend(kept.first().copied());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::grid::Grid;

    /// A surface at 10 m with cells of 5 m; the water depth of a letter is its position in the alphabet in metres.
    fn drawn(map: &[&str]) -> (Terrain, Field<Height>) {
        let size = [map.len(), map[0].len()];
        let mut terrain = Terrain::new(Grid::new(size, 5.0).unwrap());
        let depth = |i: usize, j: usize| match map[i].as_bytes()[j] {
            letter @ b'a'..=b'z' => f64::from(letter - b'a' + 1),
            _ => 0.0,
        };
        let pools = Field::from_fn(size, |i, j| Height::from_metres_clamped(depth(i, j)));
        // All water surfaces are at 10 m; the ground around them is at 12 m, or at 9 m where an o is drawn.
        for i in 0..size[0] {
            for j in 0..size[1] {
                let ground = match map[i].as_bytes()[j] {
                    b'.' => 12.0,
                    b'O' => 9.0,
                    _ => 10.0 - depth(i, j),
                };
                terrain.ground[(i, j)] = Height::from_metres_clamped(ground);
            }
        }
        (terrain, pools)
    }

    #[test]
    fn figures_of_drawn_lakes() {
        let (terrain, pools) = drawn(&[
            ".......", //
            ".ab..c.", ".cb..cO", "...a...", ".......",
        ]);
        let (lakes, numbers) = outline_lakes(&terrain, &pools).unwrap();
        assert_eq!(lakes.len(), 2, "corners join");
        let [a, b] = [&lakes[0], &lakes[1]];
        assert_eq!((a.id, a.level, a.cells, a.area, a.volume), (1, 10.0, 5, 125.0, 9.0 * 25.0));
        assert_eq!((a.mean_depth, a.max_depth, a.outlet), (1.8, 3.0, None));
        assert_eq!((b.cells, b.outlet), (2, Some(Cell::new(2, 6))));
        assert_eq!((numbers[(3, 3)], numbers[(1, 5)], numbers[(0, 0)]), (1, 2, 0));
        let table = format_csv(&lakes);
        assert!(table.ends_with("2,10.000,50.0,150.0,3.000,3.000,2,6\n") && table.lines().count() == 3, "{table}");
        assert!(table.contains("\n1,10.000,125.0,225.0,1.800,3.000,,\n"));
    }

    #[test]
    fn levels_part_lakes_and_edges_let_out() {
        let (mut terrain, mut pools) = drawn(&[".....", ".aa..", ".....", "aa..."]);
        pools[(1, 2)] = Height::from_metres_clamped(1.5);
        let (two, _) = outline_lakes(&terrain, &pools).unwrap();
        assert_eq!(
            two.iter().map(|lake| (lake.cells, lake.outlet)).collect::<Vec<_>>(),
            [(1, None), (1, Some(Cell::new(1, 1))), (2, Some(Cell::new(3, 0)))]
        );
        terrain.nodata = Some(Field::from_fn([4, 5], |i, _| i == 3));
        assert_eq!(outline_lakes(&terrain, &pools).unwrap().0.len(), 2);
        assert!(outline_lakes(&terrain, &Field::new([2, 2], Height::ZERO)).is_err());
    }

    #[test]
    fn outlines_go_round_their_cells_and_islands_the_other_way() {
        let (terrain, pools) = drawn(&["......", ".aaaa.", ".a.aa.", ".aaaa.", "......"]);
        let (found, _) = outline_lakes(&terrain, &pools).unwrap();
        let [outer, island] = &found[0].outline[..] else { panic!("{:?}", found[0].outline) };
        // The outer line has eight points, with corners cut by an eighth of a cell; the island's line is that of a
        // single cell, a diamond.
        assert_eq!((outer.len(), island.len()), (9, 5));
        assert_eq!((twice_signed_area(outer), twice_signed_area(island)), (2.0 * (12.0 - 0.5), -2.0 * 0.5));
        assert_eq!(outer.first(), outer.last());
    }

    #[test]
    fn outlines_of_noise_hold_their_cells_and_never_meet() {
        for seed in 0..30 {
            let key = RandomKey::new(seed, "lakes");
            let size = [9 + seed as usize % 7, 8 + seed as usize % 11];
            let mut terrain = Terrain::new(Grid::new(size, 1.0).unwrap());
            terrain.ground.as_mut_slice().fill(Height::from_metres_clamped(5.0));
            let wet = |i: usize, j: usize| key.for_cell([i as i64, j as i64]).uniform_unit() < 0.55;
            let pools = Field::from_fn(size, |i, j| Height::from_metres_clamped(if wet(i, j) { 1.0 } else { 0.0 }));
            let (found, numbers) = outline_lakes(&terrain, &pools).unwrap();
            let mut segments = Vec::new();
            for lake in &found {
                assert!(
                    twice_signed_area(&lake.outline[0]) > 0.0
                        && lake.outline[1..].iter().all(|line| twice_signed_area(line) < 0.0)
                );
                // The parity of a ray's crossings to the east shows which points are inside.
                for i in 0..size[0] {
                    for j in 0..size[1] {
                        let (y, x) = (i as f64 + 0.5 + 1e-3, j as f64 + 0.5);
                        let pairs = lake.outline.iter().flat_map(|line| line.windows(2));
                        let crossed = pairs.filter(|p| {
                            let t = (y - p[0][0]) / (p[1][0] - p[0][0]);
                            (0.0..1.0).contains(&t) && p[0][1] + t * (p[1][1] - p[0][1]) > x
                        });
                        assert_eq!(crossed.count() % 2 == 1, numbers[(i, j)] == lake.id, "{seed}: {i}, {j}");
                    }
                }
                segments.extend(lake.outline.iter().flat_map(|line| line.windows(2).map(|p| [p[0], p[1]])));
            }
            let turn = |a: Cell<f64>, b: Cell<f64>, c: Cell<f64>| {
                (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
            };
            for (n, [a, b]) in segments.iter().enumerate() {
                for [c, d] in &segments[..n] {
                    let crosses =
                        turn(*a, *b, *c) * turn(*a, *b, *d) < 0.0 && turn(*c, *d, *a) * turn(*c, *d, *b) < 0.0;
                    assert!(!crosses, "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn areas_hold_their_islands_and_parts_stay_apart() {
        for seed in 0..30 {
            let key = RandomKey::new(seed, "areas");
            let numbers =
                Field::from_fn([9, 11], |i, j| (3.0 * key.for_cell([i as i64, j as i64]).uniform_unit()) as u32);
            for corners in [true, false] {
                for (number, lines) in trace_outlines(&numbers, corners) {
                    let count = lines.len();
                    let whole: f64 = lines.iter().map(|line| twice_signed_area(line)).sum();
                    let areas = group_outlines(lines);
                    assert_eq!(areas.iter().map(Vec::len).sum::<usize>(), count, "every island has its area");
                    for lines in &areas {
                        assert!(lines[1..].iter().all(|island| twice_signed_area(island) < 0.0));
                        assert!(lines.iter().map(|line| twice_signed_area(line)).sum::<f64>() > 0.0);
                    }
                    // The centres of cells are inside if the cells have the number, because the cut corners are only
                    // an eighth of a cell.
                    for (i, j) in (0..9).flat_map(|i| (0..11).map(move |j| (i, j))) {
                        let inside = areas
                            .iter()
                            .flatten()
                            .filter(|line| is_inside_line(line, Cell::new(i as f64 + 0.5, j as f64 + 0.5)));
                        assert_eq!(inside.count() % 2 == 1, numbers[(i, j)] == number);
                    }
                    assert!(whole > 0.0);
                }
            }
        }
    }
}
