//! [`Continents`]: an endless level 0 of continents in a sea, each a recipe of its own seed, solved when it is first seen.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::recipe::{Recipe, Scatter};
use crate::run::Run;
use crate::world::coarse::{Solved, finish_run};
use crate::world::once::Once;
use crate::world::{Coarse, CoarseWater};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::RAIN;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Progress, Result, Size, Terrain};
use thalweg_flow::OUT;
use thalweg_noise::fractal::{Fractal, FractalSettings};
use thalweg_refine::{Frame, LocalWindow};

/// Rows and columns of the world's level 0: half before the origin, half behind it.
const CELLS: usize = 1 << 30;

/// Continents that are kept. The one that was asked for longest ago goes first; solved again, it is the same.
const KEPT: usize = 12;

/// Share of a continent's side over which its sea floor goes over into the open sea's.
const RIM: f64 = 0.05;

/// The widest waves of the sea's floor, in continents, and their deviation, in depths.
const WAVES: f64 = 0.25;
const SWELL: f64 = 0.06;

/// Row and column of a square of the lattice, and of the continent in it.
pub type Id = Cell<i64>;

/// The square whose continent is the recipe itself.
const MIDDLE: Id = Cell::new(0, 0);

/// Level 0 of an endless world.
///
/// The plane is a lattice of squares. In each lies one map of the recipe, drawn somewhere in the square by its [`Id`],
/// or none; so maps never overlap. Each map's seed is drawn by its id too, and what goes by latitude goes by the map's
/// place in the world ([`Model::moved`](thalweg_models::model::Model::moved)). The map of row 0 and column 0 is the
/// recipe itself, in the middle of the world. Between maps lies sea whose floor is one function of the place; over the
/// last twentieth of its side a map's ground becomes that floor, so that there is no edge.
pub struct Continents {
    recipe: Recipe,
    /// Depth of the open sea's floor under zero, in metres, and the share of empty squares.
    scatter: Scatter,
    frame: Frame,
    /// Grid of one map, and cells along a side of a square.
    map: Grid,
    square: i64,
    key: Key,
    floor: Fractal,
    /// Continents in the order in which they were last asked for.
    solved: Mutex<Vec<(Id, Arc<KeptContinent>)>>,
}

/// A continent, and what solves it until it is solved.
#[derive(Default)]
struct KeptContinent {
    whole: Once<Solved>,
    run: Mutex<Option<Run>>,
}

impl Continents {
    /// The world of a recipe that says how its continents lie scattered.
    ///
    /// # Errors
    /// When it has no `continents`, no extent or no sea level, when its map is wider than a square, and as [`Run::check`].
    pub fn of(recipe: &Recipe) -> Result<Self> {
        let Some(scatter) = recipe.continents() else {
            return Err(Error::Recipe("has no `continents`: its world ends at its extent".into()));
        };
        Run::check(recipe)?;
        let map = recipe.grid()?;
        let Some(sea) = map.sea_level else {
            return Err(Error::Recipe(
                "`continents` only applies to a recipe with `sea_level`; add `sea_level = 0.0`".into(),
            ));
        };
        let square = (scatter.spacing / map.cell).floor() as i64;
        let longest = map.rows().max(map.cols()) as i64;
        if square < longest {
            let allowed = format!("{} m or more: the extent", longest as f64 * map.cell);
            return Err(Error::value("continents.spacing", format!("{} m", scatter.spacing), allowed));
        }
        let key = Key::new(recipe.seed, "continents");
        let waves = WAVES * longest as f64 * map.cell;
        let half = (CELLS / 2) as i64;
        Ok(Self {
            frame: Frame {
                first: Cell::new(-half, -half),
                cells: [CELLS; 2],
                cell: map.cell,
                edges: [Edge::Open; 4],
                sea: Some(sea),
            },
            floor: Fractal::new(&FractalSettings::fbm(12, waves, 0.5), None, key.and(0), map.cell),
            recipe: recipe.clone(),
            scatter,
            map,
            square,
            key,
            solved: Mutex::default(),
        })
    }

    /// The square of the lattice that holds a cell of level 0.
    pub fn id_at(&self, cell: Cell<i64>) -> Id {
        cell.map(|x| (x + self.square / 2).div_euclid(self.square))
    }

    /// The cells of level 0 on which the map of an id lies; `None` of an empty square, or where the map would leave the world.
    pub fn map_of(&self, id: Id) -> Option<CellRect<i64>> {
        let key = self.key.and(1).cell(id);
        let middle = id == MIDDLE;
        if !middle && key.and(0).unit() < self.scatter.empty {
            return None;
        }
        let start = Cell::from_axes(|axis| {
            let room = self.square - self.map.size[axis] as i64;
            let part = if middle { 0.5 } else { key.and(1 + axis as u64).unit() };
            id[axis] * self.square - self.square / 2 + (part * (room + 1) as f64) as i64
        });
        let map = CellRect::new(start, self.map.size);
        self.frame.world(0).contains(&map).then_some(map)
    }

    /// The recipe of an id's continent: with a seed of its own, in its latitude; that of the world where there is none.
    pub fn recipe_of(&self, id: Id) -> Recipe {
        let mut recipe = self.recipe.clone();
        if let (Some(map), true) = (self.map_of(id), id != MIDDLE) {
            recipe.seed = self.key.and(2).cell(id).bits();
            let middle = |axis: usize| 0.5 * (map.start[axis] + map.end[axis]) as f64 * self.map.cell;
            let by = [middle(1), middle(0)];
            recipe.stages.iter_mut().for_each(|stage| stage.model.moved(by));
        }
        recipe
    }

    /// The continent of an id, for its turn among those kept.
    fn kept(&self, id: Id) -> Arc<KeptContinent> {
        let mut solved = self.solved.lock().unwrap_or_else(PoisonError::into_inner);
        let found = solved.iter().position(|(other, _)| *other == id).map(|at| solved.remove(at));
        let (_, continent) = found.unwrap_or_default();
        solved.push((id, continent.clone()));
        // One that is being solved is held by who solves it.
        while solved.len() > KEPT {
            solved.remove(0);
        }
        continent
    }

    /// Solves the continent of an id on its map's cells; continues where an earlier call was stopped.
    fn solve(
        &self,
        id: Id,
        map: CellRect<i64>,
        continent: &KeptContinent,
        progress: &mut dyn Progress,
    ) -> Result<Solved> {
        let mut place = continent.run.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match &mut *place {
            Some(run) => run,
            none => {
                self.recipe.check_memory(&self.map)?;
                none.insert(Run::new(self.recipe_of(id))?)
            }
        };
        finish_run(run, &format!("continent {} {}", id[0], id[1]), progress)?;
        let Some(run) = place.take() else {
            return Err(Error::value("continent", "nothing to solve", "a recipe's run"));
        };
        let rules = run.recipe().local(self.frame.cell).rules;
        let mut terrain = run.into_terrain();
        // What else stood on it is of no use here.
        terrain.layers.retain(|name, _| name == RAIN.name);
        terrain.tables.clear();
        self.sink_rim(&mut terrain, map);
        let (_, mut solved) = Solved::of(&terrain, &rules)?;
        solved.window.rect = map;
        if let Some(lakes) = solved.window.lakes.as_mut().filter(|_| id != MIDDLE) {
            // Numbers of lakes go from 1 on each map: those of another begin elsewhere.
            let first = (self.key.and(3).cell(id).bits() as u32 & 0x7fff) << 16;
            let number = |lake: &u32| if *lake == 0 { 0 } else { lake.wrapping_add(first).max(1) };
            lakes.id = lakes.id.map(number);
        }
        Ok(solved)
    }

    /// The continents whose maps a rectangle touches, and where they lie.
    fn touched(&self, rect: CellRect<i64>) -> impl Iterator<Item = (Id, CellRect<i64>)> + '_ {
        let [first, last] = [self.id_at(rect.start), self.id_at(rect.end.map(|end| end - 1))];
        let ids = CellRect::from_corners(first, last.map(|last| last + 1)).cells();
        let maps = ids.filter_map(|id| Some((id, self.map_of(id)?)));
        maps.filter(move |(_, map)| !map.grown(0, rect).size().contains(&0))
    }

    /// Lets the ground go over into the open sea's floor towards the map's rim.
    fn sink_rim(&self, terrain: &mut Terrain, map: CellRect<i64>) {
        let [rows, cols] = self.map.size;
        let band = RIM * rows.max(cols) as f64;
        let from_rim = |at: usize, size: usize| (at.min(size - 1 - at) as f64 + 0.5) / band;
        terrain.ground.par_rows_mut().for_each(|(i, row)| {
            let mut floor = Vec::new();
            for (j, height) in row.iter_mut().enumerate() {
                let t = from_rim(i, rows).min(from_rim(j, cols));
                if t < 1.0 {
                    if floor.is_empty() {
                        floor = self.floor_row(map.start[0] + i as i64, map.start[1], cols);
                    }
                    let weight = t * t * (3.0 - 2.0 * t);
                    let [low, high] = [floor[j], *height].map(|height| f64::from(height.0));
                    height.0 = (low + weight * (high - low)).floor() as i32;
                }
            }
        });
    }

    /// The open sea's floor in some cells of a row of level 0.
    fn floor_row(&self, row: i64, col: i64, count: usize) -> Vec<Height> {
        let grid = Grid { size: [1, count], origin: Cell::new(row, col), ..self.map.clone() };
        let mut values = vec![0.0; count];
        self.floor.row(&grid, 0, &mut values);
        let sea = self.frame.sea.unwrap_or(Height::ZERO);
        // A third is a deviation of the noise. Half the depth stays under water everywhere.
        let depth = |value: f32| self.scatter.depth * (1.0 + 3.0 * SWELL * f64::from(value)).max(0.5);
        let height = |value: &f32| sea.0.saturating_sub((depth(*value) * UNITS) as i32).max(Height::MIN.0);
        values.iter().map(|value| Height(height(value).min(sea.0 - 1))).collect()
    }

    /// A rectangle of open sea.
    fn sea(&self, rect: CellRect<i64>) -> LocalWindow {
        let size: Size = rect.size();
        let mut ground = Field::new(size, Height::ZERO);
        ground.par_rows_mut().for_each(|(i, row)| {
            row.copy_from_slice(&self.floor_row(rect.start[0] + i as i64, rect.start[1], size[1]));
        });
        LocalWindow {
            level: 0,
            rect,
            ground,
            receivers: Field::new(size, OUT),
            area: Field::new(size, (self.frame.cell * self.frame.cell) as f32),
            lakes: None,
            loose: None,
        }
    }
}

impl Coarse for Continents {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Open sea is had without solving anything; a map that the rectangle touches is solved, whatever lies there.
    fn window(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<LocalWindow> {
        thalweg_refine::check_window(rect, self.frame.world(0))?;
        let mut window = self.sea(rect);
        for (id, map) in self.touched(rect) {
            let continent = self.kept(id);
            window.paste(&continent.whole.get_or_make(|| self.solve(id, map, &continent, progress))?.window);
        }
        Ok(window)
    }

    fn water(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<Option<CoarseWater>> {
        thalweg_refine::check_window(rect, self.frame.world(0))?;
        let mut water: Option<CoarseWater> = None;
        for (id, map) in self.touched(rect) {
            let continent = self.kept(id);
            let solved = continent.whole.get_or_make(|| self.solve(id, map, &continent, progress))?;
            if let Some(of_map) = &solved.water {
                let shared = map.grown(0, rect);
                let water = water.get_or_insert_with(|| CoarseWater::blank(rect, self.frame.cell * self.frame.cell));
                water.paste(rect, &of_map.part(map, shared)?, shared);
            }
        }
        Ok(water)
    }

    fn bytes(&self) -> u64 {
        let solved = self.solved.lock().unwrap_or_else(PoisonError::into_inner);
        solved.iter().filter_map(|(_, continent)| continent.whole.get()).map(Solved::bytes).sum()
    }

    fn identity(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.recipe.to_toml().as_bytes())
    }
}
