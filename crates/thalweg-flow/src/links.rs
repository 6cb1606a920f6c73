//! Streams as things: [`Link`]s from source or junction to the next junction or outlet.

use crate::streams::{check, donors, onward, shreve_of, strahler_of};
use crate::{D8, Directions, Land};
use thalweg_core::base::error::Result;
use thalweg_core::terrain::field::Field;

/// A reach of a stream without tributaries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link {
    /// Its number: its place in the list, from 0.
    pub id: u32,
    /// Strahler's order, from 1.
    pub order: u32,
    /// Shreve's magnitude: number of sources above its lower end, from 1.
    pub magnitude: u32,
    /// Its cells (row, column) from source or junction down to and including the next junction or the outlet; at least two.
    pub cells: Vec<[usize; 2]>,
    /// Metres along the cells' centres.
    pub length: f64,
    /// Metres from the first cell down to the last, on the surface that the water runs over.
    pub drop: f64,
    /// Drop over length, in metres per metre.
    pub slope: f64,
    /// Square metres that drain through it, those of the junction that it ends in left out.
    pub catchment: f64,
    /// Number of the link that it runs into; none at an outlet.
    pub downstream: Option<u32>,
}

impl Link {
    /// Length along the cells over the straight distance between the ends, 1 or more; paths of eight directions alone
    /// make it up to 1.08 on a straight valley.
    pub fn sinuosity(&self) -> f64 {
        // Over the seam of a looped land the next cell has a number far off.
        let step = |from: usize, to: usize| match to as i64 - from as i64 {
            far @ (..-1 | 2..) => -far.signum(),
            near => near,
        };
        let on = |[down, across]: [i64; 2], pair: &[[usize; 2]]| {
            [down + step(pair[0][0], pair[1][0]), across + step(pair[0][1], pair[1][1])]
        };
        let [down, across] = self.cells.windows(2).fold([0; 2], on).map(|cells| cells as f64);
        let straight = (down * down + across * across).sqrt();
        if straight > 0.0 { steps(&self.cells) / straight } else { 1.0 }
    }
}

/// Length of a path in cells. Straight and diagonal steps are counted apart, so that no sum of roots rounds.
fn steps(cells: &[[usize; 2]]) -> f64 {
    let diagonal = cells.windows(2).filter(|pair| pair[0][0] != pair[1][0] && pair[0][1] != pair[1][1]).count();
    let straight = cells.len().saturating_sub(1) - diagonal;
    straight as f64 + D8::DISTANCES[1] * diagonal as f64
}

/// The links of the network of `streams`, numbered by their first cells from north to south, west to east.
///
/// `land` is the surface that the water runs over (a filled one has no drop below 0), `counts` what
/// [`cells`](crate::accumulate::cells) gives. Every stream cell belongs to the one link that it begins or passes;
/// only junctions that are outlets begin none and end all the links that meet there. A stream of a single cell has no
/// link. In time linear in cells, and memory beyond the fields in links.
///
/// # Errors
/// When the fields are not of the land's size.
pub fn links(
    land: &Land<'_>,
    directions: &Directions,
    counts: &Field<u32>,
    streams: &Field<bool>,
) -> Result<Vec<Link>> {
    check("directions", directions, land.grid.size)?;
    check("counts", counts, land.grid.size)?;
    check("streams", streams, land.grid.size)?;
    let (cols, cell) = (land.grid.cols(), land.grid.cell);
    let tributaries = |k: usize| donors(directions, streams, k).count();
    let begins = |k: &usize| streams[*k] && onward(directions, streams, *k).is_some() && tributaries(*k) != 1;
    let heads: Vec<usize> = (0..streams.len()).filter(begins).collect();
    let mut links: Vec<Link> = heads
        .iter()
        .enumerate()
        .map(|(id, head)| {
            let path = path(*head, |k| onward(directions, streams, k), |k| tributaries(k) > 1);
            let [.., before, end] = path[..] else { return nothing(id) };
            // Below a junction the tributaries' water is in the count.
            let lowest = if tributaries(end) > 1 { before } else { end };
            let length = cell * steps(&cells(&path, cols));
            let height = |k: usize| land.ground[k].metres();
            let drop = height(*head) - height(end);
            Link {
                cells: cells(&path, cols),
                length,
                drop,
                slope: drop / length,
                catchment: f64::from(counts[lowest]) * land.grid.cell_area(),
                // Heads are in rising order.
                downstream: heads.binary_search(&end).ok().map(|id| id as u32),
                ..nothing(id)
            }
        })
        .collect();
    order(&mut links);
    Ok(links)
}

/// A link of which only the number is known.
fn nothing(id: usize) -> Link {
    Link {
        id: id as u32,
        order: 0,
        magnitude: 0,
        cells: Vec::new(),
        length: 0.0,
        drop: 0.0,
        slope: 0.0,
        catchment: 0.0,
        downstream: None,
    }
}

/// The way from `head` along `onward` to the first cell below that `ends` it, or to the last one.
fn path(head: usize, onward: impl Fn(usize) -> Option<usize>, ends: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut path = vec![head];
    let mut next = onward(head);
    while let Some(k) = next {
        path.push(k);
        next = if ends(k) { None } else { onward(k) };
    }
    path
}

fn cells(path: &[usize], cols: usize) -> Vec<[usize; 2]> {
    path.iter().map(|k| [k / cols, k % cols]).collect()
}

/// Gives the links their orders and magnitudes, each after those that run into it.
fn order(links: &mut [Link]) {
    let mut above: Vec<Vec<u32>> = vec![Vec::new(); links.len()];
    for link in &*links {
        if let Some(below) = link.downstream {
            above[below as usize].push(link.id);
        }
    }
    let mut waits: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..links.len()).filter(|id| waits[*id] == 0).collect();
    while let Some(id) = ready.pop() {
        let of =
            |value: fn(&Link) -> u32| -> Vec<u32> { above[id].iter().map(|n| value(&links[*n as usize])).collect() };
        let (orders, magnitudes) = (of(|link| link.order), of(|link| link.magnitude));
        links[id].order = strahler_of(&orders);
        links[id].magnitude = shreve_of(&magnitudes);
        if let Some(below) = links[id].downstream.map(|n| n as usize) {
            waits[below] -= 1;
            if waits[below] == 0 {
                ready.push(below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::{self, shreve, strahler};
    use crate::{OUT, VOID, accumulate, d8, downstream, fill};
    use thalweg_core::base::rng::Key;
    use thalweg_core::terrain::grid::Grid;
    use thalweg_core::terrain::height::Height;

    #[test]
    fn the_links_of_a_drawn_network() {
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
        let ground = Field::generate([5, 3], |i, _| Height::saturating(50.0 - 10.0 * i as f64));
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let streams = directions.map(|code| *code != VOID);
        let links = links(&land, &directions, &accumulate::cells(&directions), &streams).unwrap();
        let root = 10.0 * std::f64::consts::SQRT_2;
        let facts: Vec<_> = links.iter().map(|l| (l.order, l.magnitude, l.downstream, l.length, l.drop)).collect();
        let expected = [
            (1, 1, Some(2), root, 10.0),
            (1, 1, Some(2), root, 10.0),
            (2, 2, Some(4), 20.0, 20.0),
            (1, 1, Some(4), 10.0, 0.0),
            (2, 3, None, 10.0, 10.0),
        ];
        assert_eq!(facts, expected);
        assert_eq!(links[2].cells, [[1, 1], [2, 1], [3, 1]]);
        // Above the junction 4 cells, at the outlet all 7.
        assert_eq!(links.iter().map(|l| l.catchment).collect::<Vec<_>>(), [100.0, 100.0, 400.0, 100.0, 700.0]);
        assert_eq!((links[2].slope, links[2].sinuosity()), (1.0, 1.0));
    }

    #[test]
    fn sinuosity_is_length_over_distance() {
        let cells = vec![[0, 0], [1, 1], [1, 2], [0, 3], [0, 4]];
        let link = Link { cells, ..nothing(0) };
        assert_eq!(link.sinuosity(), (2.0 + 2.0 * std::f64::consts::SQRT_2) / 4.0);
    }

    #[test]
    fn a_link_over_the_seam_is_as_sinuous_as_elsewhere() {
        let link = |from: usize| Link {
            id: 0,
            magnitude: 1,
            order: 1,
            cells: [[2, 0], [2, 1], [1, 2], [1, 3], [0, 4], [15, 5]].map(|[i, j]| [i, (from + j) % 16]).to_vec(),
            length: 0.0,
            drop: 0.0,
            slope: 0.0,
            catchment: 0.0,
            downstream: None,
        };
        // Five columns on, three rows up, over the seam of the rows; three steps are diagonal.
        let want = (2.0 + 3.0 * D8::DISTANCES[1]) / 34f64.sqrt();
        for from in 0..16 {
            assert!((link(from).sinuosity() - want).abs() < 1e-12, "{from}: {}", link(from).sinuosity());
        }
    }

    #[test]
    fn links_partition_the_streams_and_agree_with_the_cells() {
        let mut seen = 0;
        for seed in 0..60 {
            let size = [12 + seed as usize % 31, 11 + seed as usize % 29];
            let key = Key::new(seed, "links");
            let noise = |i: usize, j: usize| key.cell([i as i64, j as i64]).bits() % 60;
            let ground = Field::generate(size, |i, j| Height((noise(i, j) + 2 * (i + j) as u64) as i32 * 65_536));
            let mut grid = Grid::new(size, 25.0).unwrap();
            grid.sea_level = (seed % 2 == 1).then(|| Height::saturating(12.0));
            let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
            let filled = fill::fill(&land);
            let land = land.under(&filled);
            let directions = d8::directions(&land);
            let counts = accumulate::cells(&directions);
            let streams = streams::streams(&land, &counts, 1 + seed as u32 % 7).unwrap();
            let links = links(&land, &directions, &counts, &streams).unwrap();
            seen += links.len();
            let (order, magnitude) = (strahler(&directions, &streams).unwrap(), shreve(&directions, &streams).unwrap());

            let mut owners = Field::new(size, 0u32);
            for (number, link) in links.iter().enumerate() {
                assert_eq!(link.id as usize, number);
                let (end, own) = link.cells.split_last().unwrap();
                let lasts =
                    link.downstream.is_none() && donors(&directions, &streams, end[0] * size[1] + end[1]).count() == 1;
                for [i, j] in own.iter().chain(lasts.then_some(end)) {
                    owners[(*i, *j)] += 1;
                    assert_eq!((link.order, link.magnitude), (order[(*i, *j)], magnitude[(*i, *j)]));
                }
                for pair in link.cells.windows(2) {
                    let [[i, j], [r, c]] = [pair[0], pair[1]];
                    assert_eq!(downstream(i * size[1] + j, directions[(i, j)], size[1]), Some(r * size[1] + c));
                }
                assert!(link.drop >= 0.0 && link.sinuosity() >= 1.0 - 1e-12 && link.catchment >= 625.0);
                if let Some(below) = link.downstream {
                    let below = &links[below as usize];
                    assert_eq!(below.cells[0], *end);
                    assert!(below.magnitude > link.magnitude && below.order >= link.order);
                    assert!(below.catchment > link.catchment);
                }
            }
            let mut metres = 0.0;
            for k in 0..owners.len() {
                let goes_on = streams[k] && onward(&directions, &streams, k).is_some();
                if goes_on {
                    metres += if directions[k].is_multiple_of(2) { 25.0 } else { 25.0 * 2f64.sqrt() };
                }
                let shared = streams[k] && !goes_on && donors(&directions, &streams, k).count() != 1;
                assert_eq!(owners[k], u32::from(streams[k] && !shared), "seed {seed}, cell {k}");
            }
            let sum: f64 = links.iter().map(|link| link.length).sum();
            assert!((sum - metres).abs() < 1e-6 * metres.max(1.0), "seed {seed}: {sum} for {metres}");
        }
        assert!(seen > 1000, "only {seen} links");
    }

    #[test]
    fn directions_in_a_ring_end() {
        // No land makes these, but a caller's field might: a ring with a tributary.
        let directions = Directions::from(Field::from_vec([2, 3], vec![0, 0, 2, VOID, 6, 4]).unwrap());
        let grid = Grid::new([2, 3], 1.0).unwrap();
        let ground = Field::new([2, 3], Height::ZERO);
        let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
        let streams = directions.map(|code| *code != VOID);
        let links = links(&land, &directions, &Field::new([2, 3], 1), &streams).unwrap();
        assert_eq!(links.len(), 2);
        assert_eq!(strahler(&directions, &streams).unwrap().as_slice(), [1, 0, 0, 0, 0, 0]);
    }
}
