//! [`World`]: a world of any size, computed tile by tile.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use thalweg_core::CellRect;
use thalweg_core::terrain::d8::to_esri_code;
use thalweg_core::terrain::{Cells, DRAINAGE_AREA, FLOW_DIRECTION};
use thalweg_export::world_files::terrain_of_window;
use thalweg_sim::world::PathEnd;

use crate::error::to_python_error;
use crate::land::Terrain;
use crate::pool::{run_on_pool, work_watched};
use crate::recipe::{Recipe, wrap_recipe};

/// A world with all its levels.
#[pyclass(frozen, module = "thalweg._core")]
pub struct World {
    recipe: thalweg_sim::recipe::Recipe,
    tile: usize,
    /// The world, and the process that opened it: its locks are invalid after a fork, so the forked process opens it
    /// again.
    open: Mutex<(u32, thalweg_sim::world::World)>,
}

/// A vertex of a river: eastward and southward coordinates, height, drainage area, discharge.
type Vertex = [f64; 5];

/// A river: its number, that of the river that it joins, its vertices.
type River = (u64, Option<u64>, Vec<Vertex>);

fn open_world(
    recipe: &thalweg_sim::recipe::Recipe,
    tile: usize,
) -> thalweg_core::base::error::Result<thalweg_sim::world::World> {
    thalweg_sim::world::World::open(recipe)?.with_tiles(tile)
}

impl World {
    /// Returns the world, which shares its caches. The mutex is locked only briefly, by a thread with the interpreter
    /// lock.
    fn clone_world(&self) -> PyResult<thalweg_sim::world::World> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.0 != process::id() {
            let new = (process::id(), open_world(&self.recipe, self.tile).map_err(to_python_error)?);
            // Resources that the parent's threads had locked can never be released in this process.
            std::mem::forget(std::mem::replace(&mut *open, new));
        }
        Ok(open.1.clone())
    }

    fn compute_rect(
        &self,
        py: Python<'_>,
        level: u32,
        receiver: Option<Py<PyAny>>,
        of: impl Fn(&thalweg_sim::world::World) -> thalweg_core::base::error::Result<CellRect<i64>>,
    ) -> PyResult<Terrain> {
        let world = self.clone_world()?;
        let rect = of(&world).map_err(to_python_error)?;
        let made = work_watched(py, receiver.as_ref(), |progress| {
            // Level 0 is solved first, because this step reports progress and can be stopped.
            world.solve(level, rect, progress)?;
            let window = world.window(level, rect)?;
            let mut land = terrain_of_window(world.frame(), &window, world.runoff())?;
            // These layers come from the world: drainage derived from the window's heights would lack inflow from
            // outside.
            let codes = window.receivers.map(|code| u32::from(to_esri_code(*code)));
            land.insert_layer(&FLOW_DIRECTION, Cells::Count(codes))?;
            land.insert_layer(&DRAINAGE_AREA, Cells::Float(window.area.clone()))?;
            Ok(land)
        })?;
        Ok(Terrain(Arc::new(made)))
    }
}

#[pymethods]
impl World {
    /// Creates the world of a recipe.
    #[new]
    fn new(recipe: &Recipe, tile: usize) -> PyResult<Self> {
        let recipe = recipe.for_tiles()?.clone();
        let open = Mutex::new((process::id(), open_world(&recipe, tile).map_err(to_python_error)?));
        Ok(Self { recipe, tile, open })
    }

    /// Returns the recipe.
    #[getter]
    fn recipe(&self) -> Recipe {
        wrap_recipe(self.recipe.clone())
    }

    /// Returns the side of a tile in cells.
    #[getter]
    fn tile_side(&self) -> usize {
        self.tile
    }

    /// Returns the width of a level's cells in metres.
    fn width(&self, level: u32) -> PyResult<f64> {
        let world = self.clone_world()?;
        world.frame().check(level).map_err(to_python_error)?;
        Ok(world.frame().cell_width(level))
    }

    /// Returns the first row and column of a level, and the row and column after its last.
    fn bounds(&self, level: u32) -> PyResult<([i64; 2], [i64; 2])> {
        let world = self.clone_world()?;
        world.frame().check(level).map_err(to_python_error)?;
        let rect = world.frame().world_rect(level);
        Ok((rect.start.into(), rect.end.into()))
    }

    /// Computes the tile of a level that contains a point in world metres, eastward and southward. `receiver` receives
    /// the progress.
    #[pyo3(signature = (level, x, y, receiver=None))]
    fn tile(&self, py: Python<'_>, level: u32, x: f64, y: f64, receiver: Option<Py<PyAny>>) -> PyResult<Terrain> {
        self.compute_rect(py, level, receiver, |world| {
            Ok(world.tile_rect(level, world.containing_tile(world.cell_at(level, x, y)?)))
        })
    }

    /// Computes a rectangle of a level, from its first row and column and its numbers of rows and columns. `receiver`
    /// receives the progress.
    #[pyo3(signature = (level, start, size, receiver=None))]
    fn window(
        &self,
        py: Python<'_>,
        level: u32,
        start: [i64; 2],
        size: [usize; 2],
        receiver: Option<Py<PyAny>>,
    ) -> PyResult<Terrain> {
        self.compute_rect(py, level, receiver, |_| Ok(CellRect::new(start, size)))
    }

    /// Returns the elevation at a point in metres.
    fn height_at(&self, py: Python<'_>, x: f64, y: f64, level: u32) -> PyResult<f64> {
        let world = self.clone_world()?;
        run_on_pool(py, || world.height_at(x, y, level))
    }

    /// Computes the flow path from a point to its end, with at most `most` cells; returns x, y and height of each cell,
    /// and the kind of end.
    fn follow<'py>(
        &self,
        py: Python<'py>,
        level: u32,
        x: f64,
        y: f64,
        most: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Option<&'static str>)> {
        let world = self.clone_world()?;
        let (flat, end) = run_on_pool(py, || {
            let (mut flat, mut end) = (Vec::new(), None);
            for footing in world.trace_flow_path(level, x, y)?.take(most) {
                let footing = footing?;
                flat.extend([footing.place.x, footing.place.y, footing.height]);
                end = footing.end.map(|end| match end {
                    PathEnd::Sea => "sea",
                    PathEnd::Rim => "rim",
                    _ => "inland",
                });
            }
            Ok((flat, end))
        })?;
        let rows = flat.len() / 3;
        Ok((PyArray1::from_vec(py, flat).reshape([rows, 3])?.into_any(), end))
    }

    /// Computes the rivers in a rectangle of a level whose drainage area is at least `least` m²; returns the number of
    /// each river, the number of the river that it joins, and its vertices.
    fn rivers(
        &self,
        py: Python<'_>,
        level: u32,
        start: [i64; 2],
        size: [usize; 2],
        least: f64,
    ) -> PyResult<Vec<River>> {
        let world = self.clone_world()?;
        let rivers = run_on_pool(py, || world.rivers(level, CellRect::new(start, size), least))?;
        let vertex = |v: &thalweg_sim::world::RiverVertex| [v.place.x, v.place.y, v.height, v.area, v.discharge];
        Ok(rivers
            .iter()
            .map(|river| (river.id, river.downstream, river.vertices.iter().map(vertex).collect()))
            .collect())
    }
}
