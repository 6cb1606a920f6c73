//! The river network: [`Network`] with rivers as lines and lakes as levels.

use thalweg_core::terrain::{ReachId, strahler_order};
use thalweg_core::{Cell, Field, Height, Size};
pub use thalweg_flow::accumulate::SHARES;

/// Number of parts per m³/s, 2³⁶, in which discharges are counted as integers. Sums of them are exact.
// An `i64` then represents discharges of up to 2²⁷ m³/s, 134 million.
pub const FLOW: f64 = 68_719_476_736.0;

/// A vertex of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Vertex {
    /// Row and column in cells; cell (i, j) extends from i to i + 1 and from j to j + 1.
    pub place: Cell<f64>,
    /// Discharge in parts of 1 m³/s ([`FLOW`] parts each). For sampled rivers it is the drainage, a number of points,
    /// in the same parts.
    pub flow: i64,
    /// Drainage area in parts of a cell ([`SHARES`] parts each).
    pub area: i64,
    /// Width of the water surface in metres.
    pub width: f64,
    /// Depth of the water in metres.
    pub depth: f64,
    /// Slope along the river, in metres per metre, smoothed along its course.
    pub slope: f64,
    /// Half-width of the level valley floor: its extent from the line to either side, in metres.
    pub floor: f64,
    /// The kind of river at the vertex.
    pub kind: RiverKind,
    /// Level of the water surface; set when the river is carved.
    pub surface: Height,
    /// Level of the bed; set when the river is carved.
    pub bed: Height,
    /// Levels of water and bed, in this order, in the cells that have their levels from this vertex; set when the
    /// river is carved, and never set for sampled rivers.
    pub pool: [Height; 2],
}

impl Vertex {
    /// Returns the discharge in m³/s.
    pub fn discharge(&self) -> f64 {
        self.flow as f64 / FLOW
    }

    /// Returns the cell that contains the vertex, on a grid of `size`; the nearest cell if the vertex is outside the
    /// grid.
    pub fn cell(&self, size: Size) -> Cell {
        Cell::from_axes(|k| (self.place[k].max(0.0) as usize).min(size[k] - 1))
    }
}

/// The kind of a river (Montgomery & Buffington 1997, doi:10.1130/0016-7606(1997)109<0596:CRMICD>2.3.CO;2; braiding
/// after Leopold & Wolman 1957, USGS Prof. Paper 282-B). Slopes are in metres per metre. For example, a river at a
/// slope of 0.03 is a step-pool channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RiverKind {
    /// Mountain torrent: a slope of 0.065 or more.
    Torrent,
    /// Step-pool channel: a slope of 0.02 or more.
    StepPool,
    /// Braided channel, with many arms on a broad bed: steeper than 0.0125·Q^−0.44, Q in m³/s, on a valley floor that
    /// extends more than two widths to either side.
    Braided,
    /// Meandering channel: all other rivers.
    #[default]
    Meandering,
}

impl RiverKind {
    /// Returns the name that files use for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Torrent => "torrent",
            Self::StepPool => "step_pool",
            Self::Braided => "braided",
            Self::Meandering => "meandering",
        }
    }
}

/// The beginning of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunSource {
    /// A headwater or a spring.
    Head,
    /// The lake of that index in [`Network::lakes`], from which the run flows.
    Lake(u32),
    /// Another run, from which this one branches as a distributary.
    Parts {
        /// The index of that run in [`Network::rivers`].
        river: u32,
        /// The index of the vertex of that run at which this one branches.
        vertex: u32,
    },
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mouth {
    /// A vertex of another run.
    Joins {
        /// The index of that run in [`Network::rivers`].
        river: u32,
        /// The index of the vertex in that run.
        vertex: u32,
    },
    /// The lake of that index in [`Network::lakes`].
    Lake(u32),
    /// The sea.
    Sea,
    /// An open edge, or missing data.
    Edge,
    /// A given outlet, or the lowest cell of land that has no outlet.
    Outlet,
}

/// The end of a reach, as written to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReachEnd {
    /// The reach flows into another reach.
    #[default]
    River,
    /// The reach ends in a lake.
    Lake,
    /// The reach ends in the sea.
    Sea,
    /// The reach ends at an open edge or at missing data.
    Edge,
    /// The reach ends at an outlet, as for [`Mouth::Outlet`].
    Outlet,
}

impl ReachEnd {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::River, Self::Lake, Self::Sea, Self::Edge, Self::Outlet];

    /// Returns the end of a run's last reach.
    pub fn from_mouth(mouth: Mouth) -> Self {
        match mouth {
            Mouth::Joins { .. } => Self::River,
            Mouth::Lake(_) => Self::Lake,
            Mouth::Sea => Self::Sea,
            Mouth::Edge => Self::Edge,
            Mouth::Outlet => Self::Outlet,
        }
    }

    /// Returns the name that files use for this end.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::River => "river",
            Self::Lake => "lake",
            Self::Sea => "sea",
            Self::Edge => "edge",
            Self::Outlet => "outlet",
        }
    }

    /// Returns the end of that name; `None` if there is none.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.as_str() == word)
    }
}

/// A run: a river from its source, or from a lake, down to its end. Tributaries join it along the way.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct River {
    /// The index of its name in [`Network::names`]. Runs above and below a lake, and the arms of a delta, share one
    /// name.
    pub number: u32,
    /// The beginning of the run.
    pub source: RunSource,
    /// The end of the run.
    pub mouth: Mouth,
    /// The vertices of its line in downstream order; at least two.
    pub vertices: Vec<Vertex>,
    /// Its own cells (row-major index) in downstream order, each with the index of the vertex whose levels it has:
    /// the lowest vertex in the cell. For sampled rivers it is the vertex that the cell follows.
    pub path: Vec<(u32, u32)>,
    /// Cells adjacent to the path, in the same form: cells that the line merely cuts, or from which the ground under
    /// it is drawn.
    pub aside: Vec<(u32, u32)>,
    /// For each vertex, the index of the vertex downstream at whose level the water is in the cells that have their
    /// levels from it; its own index if there is none. Empty for sampled rivers.
    pub low: Vec<u32>,
    /// The base level of the run: the level of the lake or the sea in which its water finally ends. `None` if the
    /// water leaves over an edge or at an outlet, and for sampled rivers.
    pub base: Option<Height>,
}

/// A lake that rivers flow into or out of, as planned.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannedLake {
    /// The level of its water.
    pub level: Height,
    /// The row-major index of a cell in the lake: the lowest cell of its depression.
    pub seed: u32,
}

/// All rivers and lakes of a site.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Network {
    /// The rivers, each after those that it joins or branches from.
    pub rivers: Vec<River>,
    /// Indices of all rivers, each after those that flow into it (directly or through lakes) and after the one that
    /// it branches from.
    pub order: Vec<u32>,
    /// The lakes.
    pub lakes: Vec<PlannedLake>,
    /// For each cell, the number of its lake, one more than the index in `lakes`; 0 where there is no lake.
    pub lake: Field<u32>,
    /// For each river name ([`River::number`]), a hash of the world cell of the river's mouth. It is stable as long
    /// as the mouth stays in its cell.
    pub names: Vec<u32>,
    /// Rows and columns of the grid.
    pub size: Size,
    /// Side of a cell in metres.
    pub cell: f64,
    /// Number of cells at which rivers cross protected ground because there is no way round.
    pub barred: u64,
    /// Number of places at which lines still met other water, themselves or the edge after all iterations, even if
    /// only briefly; always 0 for sampled rivers, which are not checked.
    pub met: u64,
}

/// A river reach: the part of a run between two places where a tributary joins or an arm branches off, or where the
/// run begins or ends.
///
/// The same structure is used in memory and in files. Positions, levels and widths have one entry per vertex, in
/// downstream order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RiverReach {
    /// The number of the reach: its index in the result of [`Network::reaches`].
    pub id: ReachId,
    /// One more than the index of its run in [`Network::rivers`], as in the rasters.
    pub run: u32,
    /// The name of its river: the hash in [`Network::names`] in hexadecimal digits.
    pub name: String,
    /// Strahler order, from 1.
    pub order: u32,
    /// The kind of river at the middle vertex.
    pub kind: RiverKind,
    /// Length in metres.
    pub length: f64,
    /// Discharge at the upper and at the lower end in m³/s, without the water that joins at the lower end.
    pub discharge: [f64; 2],
    /// Drainage area at the lower end in m², without the area of what joins there.
    pub drainage_area: f64,
    /// Depth of the water at the middle vertex, in metres.
    pub depth: f64,
    /// The number of the lake that the reach flows out of; `None` if there is none.
    pub lake_from: Option<u32>,
    /// The number of the lake that the reach flows into; `None` if there is none.
    pub lake_to: Option<u32>,
    /// The reach at whose end this one branches off from another run; `None` if it is not a distributary.
    pub parts_from: Option<ReachId>,
    /// How the reach ends.
    pub end: ReachEnd,
    /// The reach that this one flows into; `None` if it ends in a lake, in the sea, at an edge or at an outlet.
    pub downstream: Option<ReachId>,
    /// Positions of the vertices: row and column in cells from the north-western corner; cell (i, j) extends from i
    /// to i + 1 and from j to j + 1. At least two.
    pub places: Vec<Cell<f64>>,
    /// Levels of the water surface in metres.
    pub surface: Vec<f64>,
    /// Levels of the bed in metres.
    pub bed: Vec<f64>,
    /// Widths of the water surface in metres.
    pub width: Vec<f64>,
}

/// The reaches of all runs, as ranges of vertices.
struct ReachBounds {
    /// For each run, the indices of the vertices that bound its reaches, including its first and its last vertex.
    vertices: Vec<Vec<u32>>,
    /// For each run, the number of its first reach.
    first: Vec<ReachId>,
}

impl ReachBounds {
    /// Finds the vertices at which runs are split: where tributaries join and arms branch off.
    fn new(network: &Network) -> Self {
        let mut vertices: Vec<Vec<u32>> =
            network.rivers.iter().map(|river| vec![0, river.vertices.len() as u32 - 1]).collect();
        for river in &network.rivers {
            if let Mouth::Joins { river, vertex } = river.mouth {
                vertices[river as usize].push(vertex);
            }
            if let RunSource::Parts { river, vertex } = river.source {
                vertices[river as usize].push(vertex);
            }
        }
        let mut count = 0;
        let first = vertices.iter_mut().map(|cuts| {
            // Several tributaries may join at one vertex, which then splits the run only once.
            cuts.sort_unstable();
            cuts.dedup();
            let first = count;
            count += cuts.len() as u32 - 1;
            first
        });
        let first = first.collect();
        Self { vertices, first }
    }

    /// Returns the reach of a run that begins at this vertex; the run's last reach if the vertex is its last.
    fn reach_starting_at(&self, run: u32, vertex: u32) -> ReachId {
        let cuts = &self.vertices[run as usize];
        // The last vertex begins no reach, so it counts as part of the last one.
        let place = cuts.binary_search(&vertex).unwrap_or(0).min(cuts.len() - 2);
        self.first[run as usize] + place as ReachId
    }

    /// Returns the reach of a run that ends at this vertex.
    fn reach_ending_at(&self, run: u32, vertex: u32) -> ReachId {
        let place = self.vertices[run as usize].binary_search(&vertex).unwrap_or(0).max(1) - 1;
        self.first[run as usize] + place as ReachId
    }
}

impl Network {
    /// Splits the runs into reaches where tributaries join and arms branch off. Reaches are in the order of `rivers`
    /// and downstream.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::base::rng::RandomKey;
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_flow::Land;
    /// use thalweg_rivers::{Design, Site, plan_rivers};
    ///
    /// // A valley that falls to the south; cells are 100 m wide.
    /// let height = |k: usize| 900.0 - 10.0 * (k / 64) as f32 + 4.0 * ((k % 64) as f32 - 32.0).abs();
    /// let heights: Vec<f32> = (0..64 * 64).map(height).collect();
    /// let terrain = Terrain::from_metres(Grid::new([64, 64], 100.0)?, &heights)?;
    /// let network = plan_rivers(&Site::from_land(Land::from_terrain(&terrain)), &Design::default(), RandomKey::new(1, "example"))?;
    /// let reaches = network.reaches();
    /// assert!(reaches.len() >= network.rivers.len());
    /// assert!(reaches.iter().all(|reach| reach.order >= 1 && reach.places.len() >= 2));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn reaches(&self) -> Vec<RiverReach> {
        let cuts = ReachBounds::new(self);
        // Discharge and drainage area, in parts, that join each run at a vertex; negative for arms, which leave the
        // run there.
        let mut joining: Vec<Vec<(u32, i64, i64)>> = vec![Vec::new(); self.rivers.len()];
        for river in &self.rivers {
            if let (Mouth::Joins { river: other, vertex }, Some(last)) = (river.mouth, river.vertices.last()) {
                joining[other as usize].push((vertex, last.flow, last.area));
            }
            if let (RunSource::Parts { river: other, vertex }, Some(first)) = (river.source, river.vertices.first()) {
                joining[other as usize].push((vertex, -first.flow, -first.area));
            }
        }
        let mut reaches: Vec<RiverReach> = Vec::new();
        for (run, river) in self.rivers.iter().enumerate() {
            let lengths = self.vertex_distances(river);
            for pair in cuts.vertices[run].windows(2) {
                let [from, to] = [pair[0] as usize, pair[1] as usize];
                let (is_first, is_last) = (from == 0, to + 1 == river.vertices.len());
                let vertices = &river.vertices[from..=to];
                let (end, middle) = (vertices[vertices.len() - 1], vertices[vertices.len() / 2]);
                let at_end = joining[run].iter().filter(|(vertex, ..)| *vertex == pair[1]);
                // A vertex has the discharge after all water has joined. That water belongs to the next reach and is
                // subtracted.
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
                        RunSource::Lake(lake) if is_first => Some(lake + 1),
                        _ => None,
                    },
                    lake_to: match river.mouth {
                        Mouth::Lake(lake) if is_last => Some(lake + 1),
                        _ => None,
                    },
                    parts_from: match river.source {
                        RunSource::Parts { river, vertex } if is_first => Some(cuts.reach_ending_at(river, vertex)),
                        _ => None,
                    },
                    end: if is_last { ReachEnd::from_mouth(river.mouth) } else { ReachEnd::River },
                    downstream: match river.mouth {
                        _ if !is_last => Some(id + 1),
                        Mouth::Joins { river, vertex } => Some(cuts.reach_starting_at(river, vertex)),
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

    /// Assigns Strahler orders. Lakes pass on the orders of the reaches that flow into them.
    fn assign_orders(&self, reaches: &mut [RiverReach], cuts: &ReachBounds) {
        let mut tributaries: Vec<Vec<u32>> = vec![Vec::new(); reaches.len()];
        let mut lakes: Vec<Vec<u32>> = vec![Vec::new(); self.lakes.len()];
        // In this order all tributaries of a run, and all inflows of a lake, have their orders before they are needed.
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

    /// Returns the distance along a run from its first vertex to each of its vertices, in metres; the first is 0.
    pub fn vertex_distances(&self, river: &River) -> Vec<f64> {
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
        assert_eq!(ReachEnd::ALL.map(|end| ReachEnd::from_name(end.as_str())), ReachEnd::ALL.map(Some));
        assert_eq!(ReachEnd::from_name("ditch"), None);
    }
}
