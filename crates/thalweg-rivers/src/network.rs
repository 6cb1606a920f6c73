//! [`Network`]: rivers as lines, lakes as levels.

use thalweg_core::terrain::field::Field;
use thalweg_core::terrain::height::Height;
pub use thalweg_flow::accumulate::SHARES;
use thalweg_flow::streams;

/// Parts to a cubic metre a second, 2³⁶, in which discharges are counted: sums of them are exact.
pub const FLOW: f64 = 68_719_476_736.0;

/// A point of a river.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Vertex {
    /// Row and column in cells; cell (i, j) reaches from i to i + 1 and from j to j + 1.
    pub place: [f64; 2],
    /// Discharge in parts of 1 m³/s ([`FLOW`] to one). Of sampled rivers it is the drainage, a number of points, in the same parts.
    pub flow: i64,
    /// Catchment in parts of a cell ([`SHARES`] to one).
    pub area: i64,
    /// Width of the water in metres.
    pub width: f64,
    /// Depth of the water in metres.
    pub depth: f64,
    /// Fall over length, in metres per metre, smoothed along the river.
    pub slope: f64,
    /// How far the level valley floor reaches to either side, in metres from the line.
    pub floor: f64,
    /// What kind of river it is here.
    pub kind: RiverKind,
    /// Level of the water; known once it is carved.
    pub surface: Height,
    /// Level of the bed; known once it is carved.
    pub bed: Height,
    /// Levels of water and bed, in this order, in the cells that have their levels from here; known once it is carved, and of sampled
    /// rivers never.
    pub pool: [Height; 2],
}

impl Vertex {
    /// Discharge in m³/s.
    pub fn discharge(&self) -> f64 {
        self.flow as f64 / FLOW
    }

    /// The cell (row, column) that it lies in, on a grid of `size`; of a place outside the nearest one on that side.
    pub fn cell(&self, size: [usize; 2]) -> [usize; 2] {
        [0, 1].map(|k| (self.place[k].max(0.0) as usize).min(size[k] - 1))
    }
}

/// What kind of river (Montgomery & Buffington 1997, doi:10.1130/0016-7606(1997)109<0596:CRMICD>2.3.CO;2; braiding after
/// Leopold & Wolman 1957, USGS Prof. Paper 282-B). Slopes are in metres per metre.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RiverKind {
    /// A mountain torrent: a slope of 0.065 and more.
    Torrent,
    /// Steps and pools: a slope of 0.02 and more.
    StepPool,
    /// Many arms on a broad bed: steeper than 0.0125·Q^−0.44, Q in m³/s, on a floor of over two widths to a side.
    Braided,
    /// All else.
    #[default]
    Meandering,
}

impl RiverKind {
    /// Its name as it stands in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Torrent => "torrent",
            Self::StepPool => "step_pool",
            Self::Braided => "braided",
            Self::Meandering => "meandering",
        }
    }
}

/// Where a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Of itself, or at a spring.
    Head,
    /// Out of the lake of that index in [`Network::lakes`].
    Lake(u32),
    /// As an arm of another run.
    Parts {
        /// That run's index in [`Network::rivers`].
        river: u32,
        /// Index of the vertex of that run at which it parts.
        vertex: u32,
    },
}

/// Where a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mouth {
    /// In a vertex of another run.
    Joins {
        /// That run's index in [`Network::rivers`].
        river: u32,
        /// Index of that vertex in it.
        vertex: u32,
    },
    /// In the lake of that index in [`Network::lakes`].
    Lake(u32),
    /// In the sea.
    Sea,
    /// Over an open edge, or into missing data.
    Edge,
    /// At a given outlet, or in the lowest place of land without any way out.
    Outlet,
}

/// How a reach ends, as files say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachEnd {
    /// In another reach.
    River,
    /// In a lake.
    Lake,
    /// In the sea.
    Sea,
    /// Over an open edge, or into missing data.
    Edge,
    /// As [`Mouth::Outlet`].
    Outlet,
}

impl ReachEnd {
    /// All of them.
    const ALL: [Self; 5] = [Self::River, Self::Lake, Self::Sea, Self::Edge, Self::Outlet];

    /// How the last reach of a run ends.
    pub fn of(mouth: Mouth) -> Self {
        match mouth {
            Mouth::Joins { .. } => Self::River,
            Mouth::Lake(_) => Self::Lake,
            Mouth::Sea => Self::Sea,
            Mouth::Edge => Self::Edge,
            Mouth::Outlet => Self::Outlet,
        }
    }

    /// Its name as it stands in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::River => "river",
            Self::Lake => "lake",
            Self::Sea => "sea",
            Self::Edge => "edge",
            Self::Outlet => "outlet",
        }
    }

    /// The end of that name; `None` if there is none.
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.word() == word)
    }
}

/// A run: a river from its source or a lake down to where it ends; tributaries join it on the way.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct River {
    /// Index of its name in [`Network::names`]: what lies above and below a lake, and the arms of a delta, share it.
    pub number: u32,
    /// Its beginning.
    pub source: Source,
    /// Its end.
    pub mouth: Mouth,
    /// Its line, downstream; at least two vertices.
    pub vertices: Vec<Vertex>,
    /// Its own cells (index in row-major order), downstream, and for each the index of the vertex whose levels it has: the lowest one in
    /// it. Of sampled rivers it is the vertex that the cell comes after.
    pub path: Vec<(u32, u32)>,
    /// The same of cells beside the path into which the line only cuts, or by which the ground under it is drawn.
    pub aside: Vec<(u32, u32)>,
    /// For each vertex the index of the one downstream at whose level water stands in the cells that have their levels from it; where
    /// there is none, its own. Empty for sampled rivers.
    pub low: Vec<u32>,
    /// The lowest level that its water comes to: that of the lake or the sea in which it ends at last. `None` where it leaves over an
    /// edge or at an outlet, and for sampled rivers.
    pub base: Option<Height>,
}

/// Standing water with one level.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Lake {
    /// Level of its water.
    pub level: Height,
    /// Index, in row-major order, of a cell in it: the lowest one of its hollow.
    pub seed: u32,
}

/// All rivers and lakes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Network {
    /// Rivers, each after those that it joins or parts from.
    pub rivers: Vec<River>,
    /// Indices of all rivers, each after those that flow into it, by way of lakes too, and after the one that it parts from.
    pub order: Vec<u32>,
    /// The lakes.
    pub lakes: Vec<Lake>,
    /// For each cell the number of its lake, one more than its index in `lakes`; 0 where there is none.
    pub lake: Field<u32>,
    /// For each river name ([`River::number`]) a hash of the world cell of its mouth: it stays the same as long as that does.
    pub names: Vec<u32>,
    /// Rows and columns of the grid.
    pub size: [usize; 2],
    /// Side of a cell in metres.
    pub cell: f64,
    /// At how many cells directions were taken across ground that rivers were to keep off: places without a way round.
    pub barred: u64,
    /// At how many cells lines still met other water, themselves or the edge when all tries were done, if only in passing; 0 of
    /// sampled rivers, which are not asked.
    pub met: u64,
}

/// A part of a run between two places where a tributary joins or an arm parts, or where the run begins or ends.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RiverReach {
    /// Index of its run in [`Network::rivers`].
    pub river: u32,
    /// Indices of its first and last vertex in the run.
    pub vertices: [u32; 2],
    /// Strahler's order, from 1.
    pub order: u32,
    /// Index of the reach that it runs into; `None` where it ends in a lake, the sea, over an edge or at an outlet.
    pub downstream: Option<u32>,
    /// Index of the reach at whose end it parts from another run; `None` where it parts from none.
    pub parts_from: Option<u32>,
}

impl Network {
    /// The runs cut where tributaries join and arms part, in the order of `rivers` and downstream, with their Strahler orders.
    pub fn reaches(&self) -> Vec<RiverReach> {
        let mut cuts: Vec<Vec<u32>> =
            self.rivers.iter().map(|river| vec![0, river.vertices.len() as u32 - 1]).collect();
        for river in &self.rivers {
            if let Mouth::Joins { river, vertex } = river.mouth {
                cuts[river as usize].push(vertex);
            }
            if let Source::Parts { river, vertex } = river.source {
                cuts[river as usize].push(vertex);
            }
        }
        let mut reaches: Vec<RiverReach> = Vec::new();
        let mut first = Vec::new();
        for (river, cuts) in cuts.iter_mut().enumerate() {
            cuts.sort_unstable();
            cuts.dedup();
            first.push(reaches.len() as u32);
            for pair in cuts.windows(2) {
                let below = (pair[1] < cuts[cuts.len() - 1]).then_some(reaches.len() as u32 + 1);
                reaches.push(RiverReach {
                    river: river as u32,
                    vertices: [pair[0], pair[1]],
                    order: 0,
                    downstream: below,
                    parts_from: None,
                });
            }
        }
        for (k, river) in self.rivers.iter().enumerate() {
            if let Mouth::Joins { river: other, vertex } = river.mouth {
                let last = first[k] as usize + cuts[k].len() - 2;
                let place = cuts[other as usize].binary_search(&vertex).unwrap_or(0);
                // A tributary that joins at the very end joins the last reach.
                let place = place.min(cuts[other as usize].len() - 2);
                reaches[last].downstream = Some(first[other as usize] + place as u32);
            }
        }
        for (k, river) in self.rivers.iter().enumerate() {
            if let Source::Parts { river, vertex } = river.source {
                let place = cuts[river as usize].binary_search(&vertex).unwrap_or(0).max(1) - 1;
                reaches[first[k] as usize].parts_from = Some(first[river as usize] + place as u32);
            }
        }
        self.orders(&mut reaches, &first, &cuts);
        reaches
    }

    fn orders(&self, reaches: &mut [RiverReach], first: &[u32], cuts: &[Vec<u32>]) {
        let mut above: Vec<Vec<u32>> = vec![Vec::new(); reaches.len()];
        let mut lakes: Vec<Vec<u32>> = vec![Vec::new(); self.lakes.len()];
        for river in self.order.iter().map(|river| *river as usize) {
            for k in first[river] as usize..first[river] as usize + cuts[river].len() - 1 {
                match (reaches[k].vertices[0], self.rivers[river].source) {
                    (0, Source::Lake(lake)) => above[k].extend(&lakes[lake as usize]),
                    _ => above[k].extend(reaches[k].parts_from.map(|from| reaches[from as usize].order)),
                }
                reaches[k].order = streams::strahler_of(&above[k]);
                match (reaches[k].downstream, self.rivers[river].mouth) {
                    (Some(below), _) => above[below as usize].push(reaches[k].order),
                    (None, Mouth::Lake(lake)) => lakes[lake as usize].push(reaches[k].order),
                    _ => {}
                }
            }
        }
    }

    /// Metres along a run from its first vertex, for each of its vertices; the first is 0.
    pub fn lengths(&self, river: &River) -> Vec<f64> {
        let mut sum = 0.0;
        let mut lengths = vec![0.0];
        for pair in river.vertices.windows(2) {
            let [dy, dx] = [0, 1].map(|k| pair[1].place[k] - pair[0].place[k]);
            sum += (dy * dy + dx * dx).sqrt() * self.cell;
            lengths.push(sum);
        }
        lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_by_their_words() {
        assert_eq!(ReachEnd::ALL.map(|end| ReachEnd::find(end.word())), ReachEnd::ALL.map(Some));
        assert_eq!(ReachEnd::find("ditch"), None);
    }
}
