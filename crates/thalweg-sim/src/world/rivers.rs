//! Rivers as lines: a river has the same number in every tile, and on every level on which it is a river.
//!
//! A drainage area is counted once, on the level on which its stream becomes a river, and is carried to finer levels
//! bit for bit. A river's cell on any level can therefore be traced back to the cell in which the river first
//! appeared: the coarse cell of its block, or of the block of a cell upstream, that has exactly its drainage area.
//! Rivers are numbered there. A river is one line from its head down to the confluence with a larger one, or to its
//! mouth; its number is that of its last cell. To find it, the path is followed downstream over some tens of cells of
//! each level, and then, on level 0, to the end.
//!
//! If rain differs from place to place, a river that first appeared on level 0 has the water of its catchment there,
//! which is accumulated along the tree. For a smaller river, the rain of the level 0 cell in which it appeared
//! counts, but it has no more water than the river that it joins.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::World;
use super::coarse::CoarseWater;
use thalweg_core::base::clock::YEAR;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, NoProgress, Point, Result};
use thalweg_flow::D8;
use thalweg_refine::LocalWindow;

/// The part of a river inside the requested rectangle. A river that leaves the rectangle and returns appears as two
/// lines.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RiverLine {
    /// Its number, below 2⁵³: the same in all tiles, and on all levels on which it is a river.
    pub id: u64,
    /// The number of the larger river that it joins at its last vertex; `None` if it continues beyond the rectangle,
    /// reaches the sea or leaves the world.
    pub downstream: Option<u64>,
    /// The centres of its cells, downstream; at least two. The last vertex is in the cell to which the river drains:
    /// the confluence, the sea, or the first cell beyond the rectangle, where the line of the neighbouring rectangle
    /// begins.
    pub vertices: Vec<RiverVertex>,
}

/// A vertex of a river's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RiverVertex {
    /// Its position in the world.
    pub place: Point,
    /// Elevation in metres of the river's bed, or of the surface of the lake through which it runs.
    pub height: f64,
    /// Drainage area in m²; for a last vertex in the sea, that of the river.
    pub area: f64,
    /// Mean discharge in m³/s: the drainage area, weighted by the rain if level 0 has any, times the world's
    /// [runoff](World::runoff). It does not decrease downstream, except at one cell in a thousand: in lakes, where
    /// the paths of several rivers share cells.
    pub discharge: f64,
}

/// Side of the squares of cells that are loaded at once.
const SQUARE: i64 = 128;

/// The most cells on the flow path from the node of one coarse cell to that of the next.
const MAX_PATH_CELLS: i64 = 4;

/// A cell of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LevelCell {
    level: u32,
    cell: Cell<i64>,
}

/// A river to which a cell belongs.
struct CellRiver {
    id: u64,
    /// The rain on the river's catchment, as m² of land under full rain.
    rain: f64,
}

/// A cell that drains into another.
struct Donor {
    cell: Cell<i64>,
    /// Drainage area in m².
    area: f32,
}

impl World {
    /// Returns the rivers of a rectangle of a level with drainage areas of at least `min_area` m², cut at its rim.
    /// Rivers smaller than those whose courses the level keeps are not included ([`World::min_river_area`]), and there
    /// are none if land has no runoff ([`World::with_runoff`]). They are sorted by their numbers, and then by their
    /// first cells.
    ///
    /// # Errors
    /// Returns the errors of [`World::window`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Field, Grid, Height, Terrain};
    /// use thalweg_refine::Rules;
    /// use thalweg_sim::world::World;
    ///
    /// let height = |i: usize, j: usize| Height::from_metres_clamped(100.0 + 10.0 * (i as f64 - 16.0).abs() - j as f64);
    /// let terrain = Terrain::from_ground(Grid::new([32, 32], 30.0)?, Field::from_fn([32, 32], height))?;
    /// let world = World::from_terrain(&terrain, Rules::default(), 1)?;
    /// // Rivers with at least a tenth of a square kilometre of land.
    /// let rivers = world.rivers(0, world.frame().world_rect(0), 1e5)?;
    /// assert!(!rivers.is_empty());
    /// let mut vertices = rivers.iter().flat_map(|river| &river.vertices);
    /// assert!(vertices.all(|vertex| vertex.area >= 1e5 && vertex.discharge > 0.0));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn rivers(&self, level: u32, rect: CellRect<i64>, min_area: f64) -> Result<Vec<RiverLine>> {
        self.check(level, rect)?;
        if self.runoff <= 0.0 {
            return Ok(Vec::new());
        }
        // The halo holds the cells that `block_of` visits from a cell on the rectangle's rim, with their donors.
        let window =
            Arc::new(self.fetch_rect(level, rect.grow_within(MAX_PATH_CELLS + 2, self.frame().world_rect(level)))?);
        let min_area = min_area.max(self.min_river_area(level)) as f32;
        let mut look = CellReader {
            world: self,
            asked: Arc::clone(&window),
            squares: BTreeMap::new(),
            rains: BTreeMap::new(),
            stems: HashMap::new(),
            waters: HashMap::new(),
        };
        let sea = self.frame().sea;
        let is_land = |cell: Cell<i64>| {
            window_index(&window, cell).is_some_and(|k| sea.is_none_or(|s| window.ground.as_slice()[k] > s))
        };
        let area = |cell: Cell<i64>| window_index(&window, cell).map_or(0.0, |k| window.area.as_slice()[k]);
        // The rivers of the cells, including those just outside the rectangle.
        let mut of: BTreeMap<Cell<i64>, CellRiver> = BTreeMap::new();
        for cell in rect.grow_within(1, self.frame().world_rect(level)).cells() {
            if is_land(cell) && area(cell) >= min_area {
                of.insert(cell, look.river(level, cell, area(cell))?);
            }
        }
        let id = |cell: Cell<i64>| of.get(&cell).map(|river| river.id);
        let next =
            |cell: Cell<i64>| window_index(&window, cell).and_then(|k| next(cell, window.receivers.as_slice()[k]));
        let is_inside = |cell: Cell<i64>| rect.contains_cell(cell);
        // If two donors of a cell have the same number, the larger continues into it, and the line of the other ends
        // there.
        let mut before: BTreeMap<Cell<i64>, Cell<i64>> = BTreeMap::new();
        for (cell, own) in of.iter().filter(|(cell, _)| is_inside(**cell)) {
            if let Some(to) = next(*cell).filter(|to| id(*to) == Some(own.id)) {
                let donor = before.entry(to).or_insert(*cell);
                if area(*cell) > area(*donor) {
                    *donor = *cell;
                }
            }
        }
        // A vertex at a cell, with the water that has come through the cell `from`.
        let vertex = |cell: Cell<i64>, from: Cell<i64>| {
            let width = self.frame().cell_width(level);
            let area = f64::from(area(from));
            let water = of.get(&from).map_or(area, |river| river.rain);
            let cols = window.size()[1];
            let height = window_index(&window, cell).map_or(0.0, |k| window.surface((k / cols, k % cols)).metres());
            let place = Point { x: (cell.col as f64 + 0.5) * width, y: (cell.row as f64 + 0.5) * width };
            RiverVertex { place, height, area, discharge: water * self.runoff / YEAR }
        };
        let mut rivers = Vec::new();
        // A line begins in a cell into which no cell of the same river inside the rectangle drains, and is followed
        // downstream.
        for (first, own) in of.iter().filter(|(cell, _)| is_inside(**cell) && !before.contains_key(*cell)) {
            let mut river = RiverLine { id: own.id, downstream: None, vertices: vec![vertex(*first, *first)] };
            let mut cell = *first;
            while let Some(to) = next(cell) {
                river.vertices.push(vertex(to, if is_land(to) { to } else { cell }));
                if !is_inside(to) || before.get(&to) != Some(&cell) {
                    river.downstream = id(to).filter(|id| *id != own.id || is_inside(to));
                    break;
                }
                cell = to;
            }
            if river.vertices.len() > 1 {
                rivers.push(river);
            }
        }
        // The sort is stable and the lines were made in the order of their first cells, so parts of one river keep that
        // order.
        rivers.sort_by_key(|river| river.id);
        Ok(rivers)
    }

    /// Returns the smallest drainage area in m² whose stream's course a level keeps.
    pub fn min_river_area(&self, level: u32) -> f64 {
        f64::from(self.rules.river) * self.frame().cell_width(level).powi(2)
    }
}

/// Returns the index of a world cell in a window.
fn window_index(window: &LocalWindow, cell: Cell<i64>) -> Option<usize> {
    let [i, j] = [0, 1].map(|axis| cell[axis] - window.rect.start[axis]);
    let [rows, cols] = window.size().map(|n| n as i64);
    ((0..rows).contains(&i) && (0..cols).contains(&j)).then_some((i * cols + j) as usize)
}

fn next(cell: Cell<i64>, code: u8) -> Option<Cell<i64>> {
    Some(D8::from_code(code)?.adjacent_cell(cell))
}

/// Reads single cells of all levels.
struct CellReader<'a> {
    world: &'a World,
    /// The window of the request, with the adjacent cells.
    asked: Arc<LocalWindow>,
    squares: BTreeMap<LevelCell, Arc<LocalWindow>>,
    /// Water of squares of level 0.
    rains: BTreeMap<Cell<i64>, Option<CoarseWater>>,
    /// Numbers of rivers by the cells in which they first appeared.
    stems: HashMap<LevelCell, u64>,
    /// Rain on the catchments of such cells.
    waters: HashMap<LevelCell, f64>,
}

impl CellReader<'_> {
    /// Returns a window that contains a cell with its neighbours.
    fn load_square(&mut self, LevelCell { level, cell }: LevelCell) -> Result<Arc<LocalWindow>> {
        let near = CellRect::new(cell, [1, 1]).grow_within(1, self.world.frame().world_rect(level));
        if self.asked.level == level && self.asked.rect.contains(&near) {
            return Ok(Arc::clone(&self.asked));
        }
        let square = cell.map(|x| x.div_euclid(SQUARE));
        let key = LevelCell { level, cell: square };
        if let Some(window) = self.squares.get(&key) {
            return Ok(Arc::clone(window));
        }
        let rect = CellRect::new(square.map(|x| x * SQUARE), [SQUARE as usize; 2]);
        let window = self.world.fetch_small_window(level, rect.grow_within(1, self.world.frame().world_rect(level)))?;
        self.squares.insert(key, Arc::clone(&window));
        Ok(window)
    }

    /// Returns a cell's drainage area, and the cells that drain into it with theirs.
    fn donors(&mut self, here: LevelCell) -> Result<(f32, Vec<Donor>)> {
        let (window, cell) = (self.load_square(here)?, here.cell);
        let area = |cell| window_index(&window, cell).map_or(0.0, |k| window.area.as_slice()[k]);
        let sea = self.world.frame().sea;
        let donors = D8::ALL.into_iter().filter_map(|direction| {
            let donor = direction.adjacent_cell(cell);
            let k = window_index(&window, donor)?;
            let drains = window.receivers.as_slice()[k] == direction.opposite().code();
            let is_land = sea.is_none_or(|sea| window.ground.as_slice()[k] > sea);
            (drains && is_land).then(|| Donor { cell: donor, area: area(donor) })
        });
        let donors = donors.collect();
        Ok((area(cell), donors))
    }

    /// Returns the cell in which a river's cell first appeared: the one with its drainage area on the coarsest level
    /// on which that makes a river.
    fn find_origin_cell(&mut self, mut here: LevelCell, area: f32) -> Result<LevelCell> {
        while let Some(level) = here.level.checked_sub(1).filter(|l| area >= self.world.min_river_area(*l) as f32) {
            let Some(cell) = self.coarse_cell(here, area)? else { break };
            here = LevelCell { level, cell };
        }
        Ok(here)
    }

    /// Returns the coarse cell to whose flow path a river's cell belongs: that of its block, or, for the last cells
    /// of a path, which are in the next block, that of the cells upstream.
    fn coarse_cell(&mut self, LevelCell { level, mut cell }: LevelCell, area: f32) -> Result<Option<Cell<i64>>> {
        for _ in 0..MAX_PATH_CELLS {
            let block = cell.map(|x| x.div_euclid(2));
            let (own, _) = self.donors(LevelCell { level: level - 1, cell: block })?;
            // Areas are carried to finer levels bit for bit, so the comparison is exact.
            if own == area {
                return Ok(Some(block));
            }
            let (_, donors) = self.donors(LevelCell { level, cell })?;
            let Some(donor) = donors.into_iter().find(|donor| donor.area == area) else { break };
            cell = donor.cell;
        }
        Ok(None)
    }

    /// Returns the land cell to which a cell drains; `None` where the path ends.
    fn find_receiver(&mut self, here: LevelCell) -> Result<Option<Cell<i64>>> {
        let window = self.load_square(here)?;
        let to = window_index(&window, here.cell).and_then(|k| next(here.cell, window.receivers.as_slice()[k]));
        Ok(to.filter(|to| {
            let height = window_index(&window, *to).map(|k| window.ground.as_slice()[k]);
            self.world.frame().sea.is_none_or(|sea| height.is_some_and(|height| height > sea))
        }))
    }

    /// Returns the share of the rain on the level 0 cell that contains a cell, and the rain on the catchment of that
    /// cell; `None` if the rain is uniform.
    fn rain(&mut self, LevelCell { level, cell }: LevelCell) -> Result<Option<[f32; 2]>> {
        // The shift rounds down, also for the negative cells of a world whose origin is in its middle.
        let cell = cell.map(|x| x >> level);
        let square = cell.map(|x| x.div_euclid(SQUARE));
        let rect = CellRect::new(square.map(|x| x * SQUARE), [SQUARE as usize; 2])
            .grow_within(0, self.world.frame().world_rect(0));
        let water = match self.rains.entry(square) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(self.world.coarse.water(rect, &mut NoProgress)?),
        };
        let place = [0, 1].map(|axis| (cell[axis] - rect.start[axis]) as usize);
        Ok(water.as_ref().map(|water| [water.rain[(place[0], place[1])], water.gathered[(place[0], place[1])]]))
    }

    /// Returns the rain on the catchment of a cell in which a river first appeared, as m² of land under full rain:
    /// that of level 0, or for a smaller river its own, but no more than that of the river which it joins.
    fn catchment_rain(&mut self, mut here: LevelCell, mut area: f32) -> Result<f64> {
        let mut passed = Vec::new();
        let mut gathered = loop {
            if let Some(known) = self.waters.get(&here) {
                break *known;
            }
            let own = match self.rain(here)? {
                Some([_, all]) if here.level == 0 => break f64::from(all),
                Some([share, _]) => f64::from(area) * f64::from(share),
                None => break f64::from(area),
            };
            passed.push((here, own));
            // If the path ever returned to this cell, it would end here.
            self.waters.insert(here, own);
            let Some(to) = self.find_receiver(here)? else { break f64::INFINITY };
            let receiver = LevelCell { level: here.level, cell: to };
            area = self.donors(receiver)?.0;
            here = self.find_origin_cell(receiver, area)?;
        };
        // On the way back upstream, each river is limited by the one that it joins.
        for (cell, own) in passed.into_iter().rev() {
            gathered = own.min(gathered);
            self.waters.insert(cell, gathered);
        }
        Ok(gathered)
    }

    /// Returns the river of a cell.
    fn river(&mut self, level: u32, cell: Cell<i64>, area: f32) -> Result<CellRiver> {
        let origin = self.find_origin_cell(LevelCell { level, cell }, area)?;
        Ok(CellRiver { id: self.id(origin)?, rain: self.catchment_rain(origin, area)? })
    }

    /// Returns the number of the river that first appeared in a cell.
    fn id(&mut self, mut here: LevelCell) -> Result<u64> {
        let mut passed = Vec::new();
        let id = loop {
            if let Some(id) = self.stems.get(&here) {
                break *id;
            }
            passed.push(here);
            // The number of the last cell, if the river ends in it.
            let last =
                RandomKey::new(0, "number of a river").derive_key(here.level.into()).for_cell(here.cell).random_bits()
                    >> 11;
            let Some(to) = self.find_receiver(here)? else { break last };
            let receiver = LevelCell { level: here.level, cell: to };
            let (area, donors) = self.donors(receiver)?;
            // The donor with the largest area continues the river; of equal ones it is the last in row-major order.
            let main = donors.into_iter().max_by(|a, b| a.area.total_cmp(&b.area).then(a.cell.cmp(&b.cell)));
            if main.is_none_or(|main| main.cell != here.cell) {
                break last;
            }
            here = self.find_origin_cell(receiver, area)?;
        };
        self.stems.extend(passed.into_iter().map(|cell| (cell, id)));
        Ok(id)
    }
}
