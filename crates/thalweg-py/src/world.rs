//! [`World`]: tiles of worlds of any size.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use thalweg_core::CellRect;
use thalweg_core::terrain::{CATCHMENT, Cells, RECEIVER};
use thalweg_export::world_files::terrain_of_window;
use thalweg_sim::world::End;

use crate::error::raised;
use crate::land::Terrain;
use crate::pool::{work, work_watched};
use crate::recipe::Recipe;

/// A world at all its levels.
#[pyclass(frozen, module = "thalweg._core")]
pub struct World {
    recipe: thalweg_sim::recipe::Recipe,
    tile: usize,
    /// The world, and the process that opened it: its locks mean nothing after a fork, which opens it anew.
    open: Mutex<(u32, thalweg_sim::world::World)>,
}

/// A vertex of a river: eastward, southward, height, catchment, discharge.
type Vertex = [f64; 5];

/// A river: its number, that of the one it joins, its vertices.
type River = (u64, Option<u64>, Vec<Vertex>);

fn opened(
    recipe: &thalweg_sim::recipe::Recipe,
    tile: usize,
) -> thalweg_core::base::error::Result<thalweg_sim::world::World> {
    thalweg_sim::world::World::open(recipe)?.with_tiles(tile)
}

impl World {
    /// The world, which shares what is kept. The lock is held for a moment only, by who holds the interpreter.
    fn world(&self) -> PyResult<thalweg_sim::world::World> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.0 != process::id() {
            let new = (process::id(), opened(&self.recipe, self.tile).map_err(raised)?);
            // What the parent's threads held is never given back here.
            std::mem::forget(std::mem::replace(&mut *open, new));
        }
        Ok(open.1.clone())
    }

    fn part(
        &self,
        py: Python<'_>,
        level: u32,
        of: impl Fn(&thalweg_sim::world::World) -> thalweg_core::base::error::Result<CellRect<i64>>,
    ) -> PyResult<Terrain> {
        let world = self.world()?;
        let rect = of(&world).map_err(raised)?;
        let made = work_watched(py, |progress| {
            world.solve(level, rect, progress)?;
            let window = world.window(level, rect)?;
            let mut land = terrain_of_window(world.frame(), &window, world.runoff())?;
            land.insert(&RECEIVER, Cells::Count(window.receivers.map(|to| u32::from(*to))))?;
            land.insert(&CATCHMENT, Cells::Float(window.area.clone()))?;
            Ok(land)
        })?;
        Ok(Terrain(Arc::new(made)))
    }
}

#[pymethods]
impl World {
    /// The world of a recipe.
    #[new]
    fn new(recipe: &Recipe, tile: usize) -> PyResult<Self> {
        let recipe = recipe.recipe.clone();
        let open = Mutex::new((process::id(), opened(&recipe, tile).map_err(raised)?));
        Ok(Self { recipe, tile, open })
    }

    /// The recipe.
    #[getter]
    fn recipe(&self) -> Recipe {
        Recipe { recipe: self.recipe.clone(), own_model: false }
    }

    /// Cells of a tile's side.
    #[getter]
    fn tile_side(&self) -> usize {
        self.tile
    }

    /// Width of a level's cells in metres.
    fn width(&self, level: u32) -> PyResult<f64> {
        let world = self.world()?;
        world.frame().check(level).map_err(raised)?;
        Ok(world.frame().width(level))
    }

    /// First row and column of a level, and those after the last.
    fn bounds(&self, level: u32) -> PyResult<([i64; 2], [i64; 2])> {
        let world = self.world()?;
        world.frame().check(level).map_err(raised)?;
        let rect = world.frame().world(level);
        Ok((rect.start.into(), rect.end.into()))
    }

    /// The tile of a level that holds a place in world metres, eastward and southward.
    fn tile(&self, py: Python<'_>, level: u32, x: f64, y: f64) -> PyResult<Terrain> {
        self.part(py, level, |world| Ok(world.rect_of(level, world.tile_of(world.cell_at(level, x, y)?))))
    }

    /// A rectangle of a level: first row and column, rows and columns.
    fn window(&self, py: Python<'_>, level: u32, start: [i64; 2], size: [usize; 2]) -> PyResult<Terrain> {
        self.part(py, level, |_| Ok(CellRect::new(start, size)))
    }

    /// Height of the ground at a place, in metres.
    fn height_at(&self, py: Python<'_>, x: f64, y: f64, level: u32) -> PyResult<f64> {
        let world = self.world()?;
        work(py, || world.height_at(x, y, level))
    }

    /// The way of water from a place to where it ends, at most so many cells: x, y and height of each; and how it ends.
    fn follow<'py>(
        &self,
        py: Python<'py>,
        level: u32,
        x: f64,
        y: f64,
        most: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Option<&'static str>)> {
        let world = self.world()?;
        let (flat, end) = work(py, || {
            let (mut flat, mut end) = (Vec::new(), None);
            for footing in world.follow(level, x, y)?.take(most) {
                let footing = footing?;
                flat.extend([footing.place.x, footing.place.y, footing.height]);
                end = footing.end.map(|end| match end {
                    End::Sea => "sea",
                    End::Rim => "rim",
                    _ => "inland",
                });
            }
            Ok((flat, end))
        })?;
        let rows = flat.len() / 3;
        Ok((PyArray1::from_vec(py, flat).reshape([rows, 3])?.into_any(), end))
    }

    /// Rivers of a rectangle of a level with catchments of so many m² and more: number, the number of the one it joins, vertices.
    fn rivers(
        &self,
        py: Python<'_>,
        level: u32,
        start: [i64; 2],
        size: [usize; 2],
        least: f64,
    ) -> PyResult<Vec<River>> {
        let world = self.world()?;
        let rivers = work(py, || world.rivers(level, CellRect::new(start, size), least))?;
        let vertex = |v: &thalweg_sim::world::RiverVertex| [v.place.x, v.place.y, v.height, v.area, v.discharge];
        Ok(rivers.iter().map(|river| (river.id, river.into, river.vertices.iter().map(vertex).collect())).collect())
    }
}
