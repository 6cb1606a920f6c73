//! Streams as cells: stream cells, stream orders, and lengths along flow paths.

use crate::{D8, Directions, Land, Neighbourhood, OUT, VOID, accumulate};
use thalweg_core::base::range::check_range;
use thalweg_core::terrain::d8::to_esri_code;
use thalweg_core::terrain::{shreve_magnitude, strahler_order};
use thalweg_core::{Cell, Error, Field, Height, Result, Topology};

/// Returns the number of cells of `cell_area` m² that a drainage area of `threshold` m² covers, rounded up, at least
/// one. It is the threshold for stream cells if accumulation is counted in cells
/// ([`accumulate::count_upstream_cells`]).
pub fn min_stream_cells(threshold: f64, cell_area: f64) -> u32 {
    min_stream_cells_u64(threshold, cell_area).try_into().unwrap_or(u32::MAX)
}

/// Does the same as [`min_stream_cells`] for larger numbers of cells.
pub fn min_stream_cells_u64(threshold: f64, cell_area: f64) -> u64 {
    (threshold / cell_area).ceil().max(1.0) as u64
}

/// Returns the stream cells: land with data, above the sea, where the flow accumulation `gathered` is at least
/// `threshold`. For example, with cells of 30 m, at least 1112 upstream cells are a drainage area of 1 km² or more.
///
/// # Errors
/// Returns an error if `gathered` does not have the land's size.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Height, Terrain};
/// use thalweg_flow::streams::find_stream_cells;
/// use thalweg_flow::{FlowGraph, Land};
///
/// // A slope down to the sea, which the eastern cell belongs to.
/// let grid = Grid { sea_level: Some(Height::ZERO), ..Grid::new([1, 3], 10.0)? };
/// let terrain = Terrain::from_metres(grid, &[2.0, 1.0, 0.0])?;
/// let land = Land::from_terrain(&terrain);
/// let graph = FlowGraph::new(&land);
/// assert_eq!(graph.upstream_cells().as_slice(), [1, 2, 3]);
/// assert_eq!(find_stream_cells(&land, graph.upstream_cells(), 2)?.as_slice(), [false, true, false]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn find_stream_cells<T: PartialOrd + Copy + Sync>(
    land: &Land<'_>,
    gathered: &Field<T>,
    threshold: T,
) -> Result<Field<bool>> {
    check_size("gathered", gathered, land.grid.size)?;
    Ok(Field::from_fn(land.grid.size, |i, j| gathered[(i, j)] >= threshold && land.is_dry(i, j)))
}

/// Computes the Strahler order of each stream cell, 0 elsewhere. The order is 1 at a source; at a confluence it is
/// one more than the greatest order of the tributaries if two or more of them have it, else the greatest (Strahler
/// 1957, doi:10.1029/TR038i006p00913).
///
/// # Errors
/// Returns an error if directions and streams differ in size.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::compute_strahler_orders;
/// use thalweg_flow::{Directions, OUT, VOID};
///
/// // Two sources meet in the middle; a third joins at the outlet.
/// let directions = Directions::from(Field::from_vec([3, 3], vec![1, VOID, 3, VOID, 2, VOID, 0, OUT, VOID])?);
/// let streams = directions.map(|code| *code != VOID);
/// assert_eq!(compute_strahler_orders(&directions, &streams)?.as_slice(), [1, 0, 1, 0, 2, 0, 1, 2, 0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_strahler_orders(directions: &Directions, streams: &Field<bool>) -> Result<Field<u32>> {
    combine_tributaries(directions, streams, strahler_order)
}

/// Computes the Shreve magnitude of each stream cell, 0 elsewhere: the number of sources upstream, including itself
/// (Shreve 1966, doi:10.1086/627137). For example, tributaries of the magnitudes 2 and 3 give the magnitude 5.
///
/// # Errors
/// Returns an error if directions and streams differ in size.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::compute_shreve_magnitudes;
/// use thalweg_flow::{Directions, OUT, VOID};
///
/// // Two sources meet in the middle; a third joins at the outlet.
/// let directions = Directions::from(Field::from_vec([3, 3], vec![1, VOID, 3, VOID, 2, VOID, 0, OUT, VOID])?);
/// let streams = directions.map(|code| *code != VOID);
/// assert_eq!(compute_shreve_magnitudes(&directions, &streams)?.as_slice(), [1, 0, 1, 0, 2, 0, 1, 3, 0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_shreve_magnitudes(directions: &Directions, streams: &Field<bool>) -> Result<Field<u32>> {
    combine_tributaries(directions, streams, shreve_magnitude)
}

/// Assigns to each stream cell the value that `rule` computes from its tributaries' values (never 0), and 0 to all
/// others.
fn combine_tributaries(
    directions: &Directions,
    streams: &Field<bool>,
    rule: impl Fn(&[u32]) -> u32,
) -> Result<Field<u32>> {
    check_size("streams", streams, directions.size())?;
    let mut values = Field::new(directions.size(), 0);
    for first in 0..values.len() {
        let mut next = Some(first).filter(|k| streams[*k] && values[*k] == 0);
        // Each walk continues as long as all tributaries are known; at a confluence, the last tributary to arrive
        // continues.
        while let Some(k) = next {
            let (mut known, mut count) = ([0; 8], 0);
            // A value of 0 means that the tributary is not known yet, because no rule returns 0.
            for n in stream_donors(directions, streams, k) {
                known[count] = values[n];
                count += 1;
            }
            if known[..count].contains(&0) {
                break;
            }
            values[k] = rule(&known[..count]);
            next = stream_receiver(directions, streams, k);
        }
    }
    Ok(values)
}

/// Returns the stream cells that drain to cell `k`.
pub(super) fn stream_donors<'a>(
    directions: &'a Directions,
    streams: &'a Field<bool>,
    k: usize,
) -> impl Iterator<Item = usize> + 'a {
    let cols = directions.cols();
    Neighbourhood::new(directions.topology(), [k / cols, k % cols]).filter_map(
        move |(direction, Cell { row: r, col: c })| {
            let comes = directions[(r, c)] == direction.opposite().code() && streams[(r, c)];
            comes.then_some(r * cols + c)
        },
    )
}

/// Returns the stream cell that stream cell `k` drains to; `None` if there is none.
pub(super) fn stream_receiver(directions: &Directions, streams: &Field<bool>, k: usize) -> Option<usize> {
    directions.next(k).filter(|n| streams[*n])
}

/// Returns the length of the longest flow path from a divide down to each cell, from centre to centre, in metres; 0
/// on divides and where there is no data. `cell` is the side of a cell in metres.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::upstream_length;
/// use thalweg_flow::{Directions, OUT};
///
/// // One cell drains to the outlet from the west, two from the east; cells are 10 m wide.
/// let directions = Directions::from(Field::from_vec([1, 4], vec![0, OUT, 4, 4])?);
/// assert_eq!(upstream_length(&directions, 10.0).as_slice(), [0.0, 20.0, 10.0, 0.0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn upstream_length(directions: &Directions, cell: f64) -> Field<f64> {
    let mut length = Field::new(directions.size(), 0.0);
    for k in accumulate::upstream_order(directions) {
        let k = k as usize;
        let code = directions[k];
        if let Some(n) = directions.next(k) {
            let arriving = length[k] + step_length(code, cell);
            // A cell comes after all its donors, so its own length is final when it is passed on.
            let longest: &mut f64 = &mut length[n];
            *longest = longest.max(arriving);
        }
    }
    length
}

/// Returns the length of the flow path from each cell down to its outlet, from centre to centre, in metres; 0 at
/// outlets and where there is no data. `cell` is the side of a cell in metres. For example, 2 diagonal steps and 3
/// straight ones over cells of 10 m are 58.3 m.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::outlet_distance;
/// use thalweg_flow::{Directions, OUT};
///
/// let directions = Directions::from(Field::from_vec([1, 4], vec![0, OUT, 4, 4])?);
/// assert_eq!(outlet_distance(&directions, 10.0).as_slice(), [10.0, 0.0, 10.0, 20.0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn outlet_distance(directions: &Directions, cell: f64) -> Field<f64> {
    let mut distance = Field::new(directions.size(), 0.0);
    for k in accumulate::upstream_order(directions).into_iter().rev() {
        let k = k as usize;
        let code = directions[k];
        if let Some(n) = directions.next(k) {
            // In reverse order a receiver is final before any of its donors reads it.
            distance[k] = distance[n] + step_length(code, cell);
        }
    }
    distance
}

/// Returns the distance in metres from a cell to its neighbour in a direction.
fn step_length(direction: u8, cell: f64) -> f64 {
    // Odd codes are diagonal.
    D8::DISTANCES[usize::from(direction % 2)] * cell
}

/// Converts directions to ESRI codes: 1 east, 2 south-east, 4 south … 128 north-east; 0 where water leaves or stays,
/// 255 where there is no data.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::to_esri_codes;
/// use thalweg_flow::{D8, Directions, OUT, VOID};
///
/// let codes = vec![D8::East.code(), D8::South.code(), VOID, OUT];
/// let directions = Directions::from(Field::from_vec([2, 2], codes)?);
/// assert_eq!(to_esri_codes(&directions).as_slice(), [1, 4, 255, 0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn to_esri_codes(directions: &Directions) -> Field<u8> {
    directions.map(|code| to_esri_code(*code))
}

/// Converts ESRI codes, as returned by [`to_esri_codes`], to directions, on a grid where these axes (rows, columns)
/// are looped. The code 0, and a code that leads out of the field, become [`OUT`].
///
/// # Errors
/// Returns an error that names the cell if a number is not a valid code. For example, the code 3 is not valid, because
/// ESRI codes are powers of two.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::OUT;
/// use thalweg_flow::streams::from_esri_codes;
///
/// // The last cell drains to the east, over the edge of the raster.
/// let codes = Field::from_vec([1, 3], vec![1_u8, 1, 1])?;
/// assert_eq!(from_esri_codes(&codes, [false; 2])?.as_slice(), [0, 0, OUT]);
/// let wrong = Field::from_vec([1, 3], vec![1_u8, 3, 1])?;
/// let message = from_esri_codes(&wrong, [false; 2]).unwrap_err().to_string();
/// assert!(message.contains("row 0, column 1"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn from_esri_codes(codes: &Field<u8>, looped: [bool; 2]) -> Result<Directions> {
    let (topology, cols) = (Topology { size: codes.size(), looped }, codes.cols());
    if let Some(k) =
        codes.as_slice().iter().position(|code| !matches!(*code, 0 | VOID) && D8::from_esri(*code).is_none())
    {
        let name = format!("direction at row {}, column {}", k / cols, k % cols);
        return Err(Error::invalid_value(name, codes[k], "0, 1, 2, 4, 8, 16, 32, 64, 128, 255 (ESRI)"));
    }
    let numbers = Field::from_fn(codes.size(), |i, j| match codes[(i, j)] {
        VOID => VOID,
        code => {
            // Other programs let codes at the edge point out of the raster. Here that is an outlet.
            let inside = |direction: &D8| topology.offset_cell([i, j], direction.offset()).is_some();
            D8::from_esri(code).filter(inside).map_or(OUT, D8::code)
        }
    });
    Ok(Directions::from(numbers).with_looped_axes(looped))
}

/// Checks that the flow path of every cell ends. The functions of this module, and accumulation, leave out the cells of
/// a path that does not, as the flow directions of other programs may have on flats.
///
/// # Errors
/// Returns an error that names a cell if the flow path from it leads back to it.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::{check_paths_end, from_esri_codes};
///
/// // The two cells on the right drain to each other.
/// let codes = Field::from_vec([1, 3], vec![1_u8, 1, 16])?;
/// let message = check_paths_end(&from_esri_codes(&codes, [false; 2])?).unwrap_err().to_string();
/// assert!(message.contains("direction at row 0, column 1 = 1"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn check_paths_end(directions: &Directions) -> Result<()> {
    let order = accumulate::upstream_order(directions);
    let mut is_left: Vec<bool> = directions.as_slice().iter().map(|code| *code != VOID).collect();
    order.into_iter().for_each(|k| is_left[k as usize] = false);
    // The order has every cell whose donors all come before it, so exactly the cells of circles are left.
    let Some(first) = is_left.iter().position(|left| *left) else { return Ok(()) };
    let path = std::iter::successors(directions.next(first), |k| directions.next(*k));
    let steps = 1 + path.take_while(|k| *k != first).count();
    let name = format!("direction at row {}, column {}", first / directions.cols(), first % directions.cols());
    let allowed = format!("on a flow path that ends; this one is a circle, which returns to the cell in {steps} steps");
    Err(Error::invalid_value(name, to_esri_code(directions[first]), allowed))
}

/// Computes χ of each cell in metres: the integral of (A₀/A)^θ along the flow path from the outlet up to the cell, by
/// the trapezoidal rule between cell centres; 0 at outlets and where there is no data (Perron & Royden 2013,
/// doi:10.1002/esp.3302). For steady-state channels with uniform uplift and rock, elevation is linear in χ. `areas` are
/// the cells' drainage areas and `reference` is A₀, in the same unit; `theta` is θ, 0 to 2; `cell` is the side of a
/// cell in metres. For example, 0.45 is a common choice of θ.
///
/// # Errors
/// Returns an error if directions and areas differ in size, if θ is not within 0 to 2, or if A₀ is not positive and
/// finite.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::streams::compute_chi;
/// use thalweg_flow::{Directions, OUT};
///
/// let directions = Directions::from(Field::from_vec([1, 3], vec![0, 0, OUT])?);
/// let areas = Field::from_vec([1, 3], vec![100.0, 100.0, 400.0])?;
/// // With A₀ = 400 m² and θ = 0.5 the integrand is 2, 2 and 1.
/// let found = compute_chi(&directions, &areas, 10.0, 0.5, 400.0)?;
/// assert!((found[(0, 1)] - 15.0).abs() < 1e-9);
/// assert!((found[(0, 0)] - 35.0).abs() < 1e-9);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_chi(
    directions: &Directions,
    areas: &Field<f64>,
    cell: f64,
    theta: f64,
    reference: f64,
) -> Result<Field<f64>> {
    check_size("areas", areas, directions.size())?;
    check_range("theta", theta, 0.0..=2.0)?;
    if !(reference > 0.0 && reference.is_finite()) {
        return Err(Error::invalid_value("reference area", reference, "a finite number above 0"));
    }
    // The integrand is computed once for each cell, because every donor of the cell reads it as well.
    let steepness = areas.map(|area| libm::pow(reference / area.max(f64::MIN_POSITIVE), theta));
    let mut chi = Field::new(directions.size(), 0.0);
    for k in accumulate::upstream_order(directions).into_iter().rev() {
        let k = k as usize;
        let code = directions[k];
        if let Some(n) = directions.next(k) {
            chi[k] = chi[n] + 0.5 * (steepness[k] + steepness[n]) * step_length(code, cell);
        }
    }
    Ok(chi)
}

/// Computes the normalised channel steepness ksn of each cell in m^(2θ): S·A^θ, where S is the fall from the cell to
/// its receiver divided by the distance between their centres (Wobus et al. 2006, doi:10.1130/2006.2398(04)); 0 where
/// water leaves or stays, NaN where there is no data. `surface` is the surface that the directions were computed on;
/// `areas` are the cells' drainage areas in m²; `cell` is the side of a cell in metres; `theta` is θ.
///
/// # Errors
/// Returns an error if directions, surface and areas differ in size.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Height};
/// use thalweg_flow::streams::compute_ksn;
/// use thalweg_flow::{Directions, OUT};
///
/// // A slope of 0.1 with a drainage area of 100 m² everywhere: 0.1 · 100^0.5 = 1.
/// let directions = Directions::from(Field::from_vec([1, 3], vec![0, 0, OUT])?);
/// let surface = Field::from_vec([1, 3], [2.0, 1.0, 0.0].map(Height::from_metres_clamped).to_vec())?;
/// let found = compute_ksn(&directions, &surface, &Field::new([1, 3], 100.0), 10.0, 0.5)?;
/// assert!((found[(0, 0)] - 1.0).abs() < 1e-9);
/// assert_eq!(found[(0, 2)], 0.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_ksn(
    directions: &Directions,
    surface: &Field<Height>,
    areas: &Field<f64>,
    cell: f64,
    theta: f64,
) -> Result<Field<f64>> {
    check_size("surface", surface, directions.size())?;
    check_size("areas", areas, directions.size())?;
    let cols = directions.cols();
    Ok(Field::from_fn(directions.size(), |i, j| {
        let k = i * cols + j;
        match (directions[k], directions.next(k)) {
            (VOID, _) => f64::NAN,
            (code, Some(n)) => {
                let fall = surface[k].metres() - surface[n].metres();
                fall / step_length(code, cell) * libm::pow(areas[k], theta)
            }
            (_, None) => 0.0,
        }
    }))
}

/// Returns an error if a field does not have this size.
pub(super) fn check_size<T>(name: &str, field: &Field<T>, [rows, cols]: [usize; 2]) -> Result<()> {
    match field.size() {
        size if size == [rows, cols] => Ok(()),
        [r, c] => Err(Error::invalid_value(name, format!("{r} × {c} cells"), format!("{rows} × {cols}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PIT, d8, fill};
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::{Edge, Grid};

    /// Parses directions drawn as arrows: `>` `v` `<` `^`, diagonals `3` (SE) `1` (SW) `7` (NW) `9` (NE), `o` out,
    /// `.` no data.
    pub fn drawn(rows: &[&str]) -> Directions {
        let code = |c| match c {
            '>' => 0,
            '3' => 1,
            'v' => 2,
            '1' => 3,
            '<' => 4,
            '7' => 5,
            '^' => 6,
            '9' => 7,
            'o' => OUT,
            _ => VOID,
        };
        let codes = rows.iter().flat_map(|row| row.chars().map(code)).collect();
        Field::from_vec([rows.len(), rows[0].chars().count()], codes).unwrap().into()
    }

    #[test]
    fn circles_are_refused_by_the_first_of_their_cells() {
        let mut refused = 0;
        for seed in 0..200 {
            let (size, key) = ([3 + seed % 5, 4 + seed % 3], RandomKey::new(seed as u64, "circles"));
            let code = |i: usize, j: usize| match key.for_cell([i as i64, j as i64]).random_bits() % 12 {
                n if n < 8 => 1 << n,
                11 => VOID,
                _ => 0,
            };
            let looped = [seed % 2 == 0, seed % 3 == 0];
            let directions = from_esri_codes(&Field::from_fn(size, code), looped).unwrap();
            // A path that is not at its end after as many steps as there are cells never ends.
            let ends_at = |k: usize| (0..directions.len()).try_fold(k, |k, _| directions.next(k));
            let returns = |k: usize| {
                let mut path = std::iter::successors(directions.next(k), |k| directions.next(*k));
                path.by_ref().take(directions.len()).any(|n| n == k)
            };
            let first = (0..directions.len()).find(|k| returns(*k));
            assert_eq!(first.is_some(), (0..directions.len()).any(|k| ends_at(k).is_some()), "seed {seed}");
            match (first, check_paths_end(&directions)) {
                (None, Ok(())) => {}
                (Some(k), Err(error)) => {
                    let place = format!("direction at row {}, column {} = ", k / size[1], k % size[1]);
                    assert!(error.to_string().starts_with(&place), "seed {seed}: {error}");
                    refused += 1;
                }
                (first, checked) => panic!("seed {seed}: {first:?}, {checked:?}"),
            }
        }
        assert!((20..180).contains(&refused), "{refused} of 200 have circles");
    }

    fn all(directions: &Directions) -> Field<bool> {
        directions.map(|code| *code != VOID)
    }

    fn numbers(rows: &[&str]) -> Vec<u32> {
        rows.iter().flat_map(|row| row.chars().map(|c| c.to_digit(10).unwrap())).collect()
    }

    /// Returns rough ground, with a hole in the data for some seeds and a sea for odd ones.
    fn rough(seed: u64) -> (Grid, Field<Height>, Option<Field<bool>>) {
        let size = [9 + seed as usize % 23, 7 + seed as usize % 17];
        let key = RandomKey::new(seed, "rough");
        // Few levels, so that there are many ties and flats.
        let ground = Field::from_fn(size, |i, j| {
            Height((key.for_cell([i as i64, j as i64]).random_bits() % 40) as i32 * 65_536)
        });
        let mut grid = Grid::new(size, 30.0).unwrap();
        grid.sea_level = (seed % 2 == 1).then(|| Height::from_metres_clamped(4.0));
        if seed.is_multiple_of(5) {
            grid.edges = [Edge::Open, Edge::Closed, Edge::Closed, Edge::Closed];
        }
        let hole = (seed % 3 == 1).then(|| Field::from_fn(size, |i, j| i < 3 && j > 4));
        (grid, ground, hole)
    }

    #[test]
    fn orders_of_a_drawn_network() {
        // Two pairs of sources form streams of order 2, which form one of order 3 in the middle; a single source
        // joins it further down.
        let directions = drawn(&["3.1.3.1", ".v...v.", ".3...1.", "..3.1..", "...v...", ">>>v...", "...o..."]);
        let order = ["1010101", "0200020", "0200020", "0020200", "0003000", "1113000", "0003000"];
        assert_eq!(compute_strahler_orders(&directions, &all(&directions)).unwrap().as_slice(), numbers(&order));
        let magnitude = ["1010101", "0200020", "0200020", "0020200", "0004000", "1115000", "0005000"];
        assert_eq!(compute_shreve_magnitudes(&directions, &all(&directions)).unwrap().as_slice(), numbers(&magnitude));
        // Three equal tributaries raise the order by one, not by two.
        let star = drawn(&["3v1", ">o<"]);
        assert_eq!(compute_strahler_orders(&star, &all(&star)).unwrap()[(1, 1)], 2);
        assert_eq!(compute_shreve_magnitudes(&star, &all(&star)).unwrap()[(1, 1)], 5);
    }

    #[test]
    fn lengths_of_a_drawn_network() {
        let directions = drawn(&["3v..", ".3v.", "..o."]);
        let root = std::f64::consts::SQRT_2 * 10.0;
        let up = upstream_length(&directions, 10.0);
        // From (0, 0) two diagonal steps: (1, 1), then (2, 2); from (0, 1) a straight step instead.
        assert_eq!((up[(0, 0)], up[(0, 1)], up[(1, 1)], up[(2, 2)]), (0.0, 0.0, root, root + root));
        let down = outlet_distance(&directions, 10.0);
        assert_eq!((down[(0, 0)], down[(0, 1)], down[(1, 2)], down[(2, 2)]), (root + root, root + 10.0, 10.0, 0.0));
    }

    /// Computes the properties of a cell by plain recursion over its donors: (Strahler, Shreve, longest path).
    fn naive(directions: &Directions, streams: &Field<bool>, i: usize, j: usize) -> (u32, u32, f64) {
        let [rows, cols] = directions.size();
        let mut above = Vec::new();
        for r in 0..rows {
            for c in 0..cols {
                if streams[(r, c)] && directions.next(r * cols + c) == Some(i * cols + j) {
                    let (order, magnitude, length) = naive(directions, streams, r, c);
                    above.push((order, magnitude, length + if r == i || c == j { 30.0 } else { 30.0 * 2f64.sqrt() }));
                }
            }
        }
        let top = above.iter().map(|t| t.0).max().unwrap_or(0);
        let order = match above.iter().filter(|t| t.0 == top).count() {
            0 => 1,
            1 => top,
            _ => top + 1,
        };
        let longest = above.iter().map(|t| t.2).fold(0.0, f64::max);
        (order, above.iter().map(|t| t.1).sum::<u32>().max(1), longest)
    }

    #[test]
    fn orders_and_lengths_equal_a_naive_recursion() {
        for seed in 0..40 {
            let (grid, ground, hole) = rough(seed);
            let land = Land { grid: &grid, ground: &ground, nodata: hole.as_ref(), outlets: &[] };
            let filled = fill::fill_depressions(&land);
            let land = land.with_ground(&filled);
            let directions = d8::route_d8(&land);
            let counts = accumulate::count_upstream_cells(&directions);
            for threshold in [1, 4] {
                let streams = find_stream_cells(&land, &counts, threshold).unwrap();
                let (order, magnitude) = (
                    compute_strahler_orders(&directions, &streams).unwrap(),
                    compute_shreve_magnitudes(&directions, &streams).unwrap(),
                );
                let length = upstream_length(&directions, 30.0);
                for i in 0..grid.rows() {
                    for j in 0..grid.cols() {
                        let sunk = grid.sea_level.is_some_and(|sea| ground[(i, j)] <= sea);
                        let is_stream = counts[(i, j)] >= threshold && directions[(i, j)] != VOID && !sunk;
                        assert_eq!(streams[(i, j)], is_stream);
                        if is_stream {
                            let (a, b, _) = naive(&directions, &streams, i, j);
                            assert_eq!((order[(i, j)], magnitude[(i, j)]), (a, b), "seed {seed} at {i}, {j}");
                        } else {
                            assert_eq!((order[(i, j)], magnitude[(i, j)]), (0, 0));
                        }
                        let (_, _, longest) = naive(&directions, &all(&directions), i, j);
                        assert!((length[(i, j)] - longest).abs() < 1e-9, "seed {seed} at {i}, {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn ksn_of_a_drawn_network() {
        // In the lower row water flows across the seam of looped columns.
        let directions = drawn(&["3v.", ">o>"]).with_looped_axes([false, true]);
        let heights = [8.0, 3.0, 0.0, 4.0, 2.0, 5.0].map(Height::from_metres_clamped);
        let surface = Field::from_vec([2, 3], heights.into()).unwrap();
        let areas = Field::from_vec([2, 3], vec![100.0, 100.0, 0.0, 200.0, 500.0, 100.0]).unwrap();
        let found = compute_ksn(&directions, &surface, &areas, 10.0, 0.5).unwrap();
        let expected = [6.0 / 2f64.sqrt(), 1.0, f64::NAN, 0.2 * 200f64.sqrt(), 0.0, 1.0];
        for (found, expected) in found.as_slice().iter().zip(expected) {
            // Two roundings, and a power that is accurate to a unit in the last place.
            assert!(
                found.is_nan() == expected.is_nan() && (found.is_nan() || (found - expected).abs() < 1e-14),
                "{found}"
            );
        }
        assert!(compute_ksn(&directions, &surface, &Field::new([3, 2], 1.0), 10.0, 0.5).is_err());
    }

    #[test]
    fn codes_and_thresholds() {
        let codes = Field::from_vec([1, 11], vec![0, 1, 2, 3, 4, 5, 6, 7, OUT, PIT, VOID]).unwrap();
        let directions = Directions::from(codes);
        assert_eq!(to_esri_codes(&directions).as_slice(), [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 255]);
        assert_eq!([0.0, 900.0, 901.0, 1e30].map(|m2| min_stream_cells(m2, 900.0)), [1, 1, 2, u32::MAX]);
        assert!(compute_strahler_orders(&directions, &Field::new([2, 2], true)).is_err());
    }
}
