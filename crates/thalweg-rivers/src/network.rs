//! [`Network`]: rivers as lines, lakes as levels.

use thalweg_core::terrain::{ReachId, strahler_order};
use thalweg_core::{Cell, Field, Height, Size};
pub use thalweg_flow::accumulate::SHARES;

/// Parts to a cubic metre a second, 2³⁶, in which discharges are counted: sums of them are exact.
pub const FLOW: f64 = 68_719_476_736.0;

/// A point of a river.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Vertex {
    /// Row and column in cells; cell (i, j) reaches from i to i + 1 and from j to j + 1.
    pub place: Cell<f64>,
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

    /// The cell in which it lies, on a grid of `size`; the nearest cell if it lies outside the grid.
    pub fn cell(&self, size: Size) -> Cell {
        Cell::from_axes(|k| (self.place[k].max(0.0) as usize).min(size[k] - 1))
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
    /// Its name in files.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReachEnd {
    /// In another reach.
    #[default]
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
    pub const ALL: [Self; 5] = [Self::River, Self::Lake, Self::Sea, Self::Edge, Self::Outlet];

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

/// A lake that rivers run into or out of, as a plan knows it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannedLake {
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
    pub lakes: Vec<PlannedLake>,
    /// For each cell the number of its lake, one more than its index in `lakes`; 0 where there is none.
    pub lake: Field<u32>,
    /// For each river name ([`River::number`]) a hash of the world cell of its mouth: it stays the same as long as that does.
    pub names: Vec<u32>,
    /// Rows and columns of the grid.
    pub size: Size,
    /// Side of a cell in metres.
    pub cell: f64,
    /// At how many cells directions were taken across ground that rivers were to keep off: places without a way round.
    pub barred: u64,
    /// At how many cells lines still met other water, themselves or the edge when all tries were done, if only in passing; 0 of
    /// sampled rivers, which are not asked.
    pub met: u64,
}

/// A river reach: the part of a run between two places where a tributary joins or an arm parts, or where the run begins
/// or ends. It is the same in memory and in files; places, levels and widths are one to a vertex, from the upper end
/// down.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RiverReach {
    /// Its number: its index in what [`Network::reaches`] returns.
    pub id: ReachId,
    /// One more than the index of its run in [`Network::rivers`], as in the rasters.
    pub run: u32,
    /// Name of its river: the hash of [`Network::names`] in hexadecimal digits.
    pub name: String,
    /// Strahler order, from 1.
    pub order: u32,
    /// Kind of river at the middle vertex.
    pub kind: RiverKind,
    /// Length in metres.
    pub length: f64,
    /// Discharge at its upper and at its lower end in m³/s, without the water that joins at the lower end.
    pub discharge: [f64; 2],
    /// Drainage area at its lower end in m², without that of what joins there.
    pub drainage_area: f64,
    /// Depth of the water at the middle vertex, in metres.
    pub depth: f64,
    /// Number of the lake that it comes out of; `None` if it comes out of none.
    pub lake_from: Option<u32>,
    /// Number of the lake that it runs into; `None` if it runs into none.
    pub lake_to: Option<u32>,
    /// The reach at whose end it parts from another run; `None` if it is no arm.
    pub parts_from: Option<ReachId>,
    /// How it ends.
    pub end: ReachEnd,
    /// The reach that it runs into; `None` where it ends in a lake, in the sea, over an edge or at an outlet.
    pub downstream: Option<ReachId>,
    /// Row and column in cells from the north-west corner; cell (i, j) reaches from i to i + 1 and from j to j + 1. At
    /// least two.
    pub places: Vec<Cell<f64>>,
    /// Levels of the water in metres.
    pub surface: Vec<f64>,
    /// Levels of the bed in metres.
    pub bed: Vec<f64>,
    /// Widths of the water in metres.
    pub width: Vec<f64>,
}

/// The reaches of all runs as ranges of vertices.
struct Cuts {
    /// For each run the indices of the vertices between its reaches, its first and its last vertex among them.
    vertices: Vec<Vec<u32>>,
    /// For each run the number of its first reach.
    first: Vec<ReachId>,
}

impl Cuts {
    fn new(network: &Network) -> Self {
        let mut vertices: Vec<Vec<u32>> =
            network.rivers.iter().map(|river| vec![0, river.vertices.len() as u32 - 1]).collect();
        for river in &network.rivers {
            if let Mouth::Joins { river, vertex } = river.mouth {
                vertices[river as usize].push(vertex);
            }
            if let Source::Parts { river, vertex } = river.source {
                vertices[river as usize].push(vertex);
            }
        }
        let mut count = 0;
        let first = vertices.iter_mut().map(|cuts| {
            cuts.sort_unstable();
            cuts.dedup();
            let first = count;
            count += cuts.len() as u32 - 1;
            first
        });
        let first = first.collect();
        Self { vertices, first }
    }

    /// The reach of a run that begins at this vertex; the last one at the very end of the run.
    fn reach_from(&self, run: u32, vertex: u32) -> ReachId {
        let cuts = &self.vertices[run as usize];
        let place = cuts.binary_search(&vertex).unwrap_or(0).min(cuts.len() - 2);
        self.first[run as usize] + place as ReachId
    }

    /// The reach of a run that ends at this vertex.
    fn reach_to(&self, run: u32, vertex: u32) -> ReachId {
        let place = self.vertices[run as usize].binary_search(&vertex).unwrap_or(0).max(1) - 1;
        self.first[run as usize] + place as ReachId
    }
}

impl Network {
    /// The runs cut where tributaries join and arms part, in the order of `rivers` and downstream.
    pub fn reaches(&self) -> Vec<RiverReach> {
        let cuts = Cuts::new(self);
        // Water and drainage area, in parts, that join each run at a vertex; those of an arm leave it there.
        let mut joining: Vec<Vec<(u32, i64, i64)>> = vec![Vec::new(); self.rivers.len()];
        for river in &self.rivers {
            if let (Mouth::Joins { river: other, vertex }, Some(last)) = (river.mouth, river.vertices.last()) {
                joining[other as usize].push((vertex, last.flow, last.area));
            }
            if let (Source::Parts { river: other, vertex }, Some(first)) = (river.source, river.vertices.first()) {
                joining[other as usize].push((vertex, -first.flow, -first.area));
            }
        }
        let mut reaches: Vec<RiverReach> = Vec::new();
        for (run, river) in self.rivers.iter().enumerate() {
            let lengths = self.lengths(river);
            for pair in cuts.vertices[run].windows(2) {
                let [from, to] = [pair[0] as usize, pair[1] as usize];
                let (is_first, is_last) = (from == 0, to + 1 == river.vertices.len());
                let vertices = &river.vertices[from..=to];
                let (end, middle) = (vertices[vertices.len() - 1], vertices[vertices.len() / 2]);
                let at_end = joining[run].iter().filter(|(vertex, ..)| *vertex == pair[1]);
                let (flow, area) = at_end.fold((end.flow, end.area), |(flow, area), (_, f, a)| (flow - f, area - a));
                let id = reaches.len() as ReachId;
                reaches.push(RiverReach {
                    id,
                    run: run as u32 + 1,
                    name: format!("{:08x}", self.names[river.number as usize]),
                    order: 0,
                    kind: middle.kind,
                    length: lengths[to] - lengths[from],
                    discharge: [vertices[0].discharge(), flow as f64 / FLOW],
                    drainage_area: area as f64 / SHARES * self.cell * self.cell,
                    depth: middle.depth,
                    lake_from: match river.source {
                        Source::Lake(lake) if is_first => Some(lake + 1),
                        _ => None,
                    },
                    lake_to: match river.mouth {
                        Mouth::Lake(lake) if is_last => Some(lake + 1),
                        _ => None,
                    },
                    parts_from: match river.source {
                        Source::Parts { river, vertex } if is_first => Some(cuts.reach_to(river, vertex)),
                        _ => None,
                    },
                    end: if is_last { ReachEnd::of(river.mouth) } else { ReachEnd::River },
                    downstream: match river.mouth {
                        _ if !is_last => Some(id + 1),
                        Mouth::Joins { river, vertex } => Some(cuts.reach_from(river, vertex)),
                        _ => None,
                    },
                    places: vertices.iter().map(|vertex| vertex.place).collect(),
                    surface: vertices.iter().map(|vertex| vertex.surface.metres()).collect(),
                    bed: vertices.iter().map(|vertex| vertex.bed.metres()).collect(),
                    width: vertices.iter().map(|vertex| vertex.width).collect(),
                });
            }
        }
        self.assign_orders(&mut reaches, &cuts);
        reaches
    }

    /// Assigns the Strahler orders, which lakes pass on from the reaches that run into them.
    fn assign_orders(&self, reaches: &mut [RiverReach], cuts: &Cuts) {
        let mut tributaries: Vec<Vec<u32>> = vec![Vec::new(); reaches.len()];
        let mut lakes: Vec<Vec<u32>> = vec![Vec::new(); self.lakes.len()];
        for run in self.order.iter().map(|run| *run as usize) {
            let first = cuts.first[run] as usize;
            for k in first..first + cuts.vertices[run].len() - 1 {
                match reaches[k].lake_from {
                    Some(lake) => tributaries[k].extend(&lakes[lake as usize - 1]),
                    None => tributaries[k].extend(reaches[k].parts_from.map(|from| reaches[from as usize].order)),
                }
                let order = strahler_order(&tributaries[k]);
                reaches[k].order = order;
                match (reaches[k].downstream, reaches[k].lake_to) {
                    (Some(downstream), _) => tributaries[downstream as usize].push(order),
                    (None, Some(lake)) => lakes[lake as usize - 1].push(order),
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
