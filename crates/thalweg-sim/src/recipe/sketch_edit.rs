//! Drawing and erasing of sketch features in a recipe, and the file in which they are saved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::recipe::Recipe;
use crate::sketch::{Sketch, SketchFeature, SketchFrom, SketchWorld};
use thalweg_core::{Edge, Error, Grid, Height, Result};
use thalweg_io::atomic::write_text;

impl Recipe {
    /// Returns the world of its sketch, in metres; `grid` is that of one of its levels.
    pub fn sketch_world(&self, grid: &Grid) -> SketchWorld {
        SketchWorld {
            extent: self.extent().unwrap_or_else(|| grid.map_extent()),
            sea_level: grid.sea_level.map(Height::metres),
        }
    }

    /// Returns its sketch, checked; empty if it has none.
    ///
    /// # Errors
    /// Returns the errors of [`Sketch::read`].
    pub fn load_sketch(&self, grid: &Grid) -> Result<Sketch> {
        let world = self.sketch_world(grid);
        self.sketch.as_ref().map_or_else(|| Ok(Sketch::default()), |drawn| drawn.read(&self.folder, &world))
    }

    /// Adds a ridge, a river, a coast or a height. The features are in the recipe itself from then on, until it is
    /// saved.
    ///
    /// # Errors
    /// Returns an error, with the feature's number, if the feature contradicts itself, the world or other features,
    /// or if edges are looped. Nothing is changed then.
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::recipe::Recipe;
    /// use thalweg_sim::sketch::{SketchFeature, SketchKind};
    ///
    /// let mut recipe = Recipe::parse("extent = [3200.0, 3200.0]\ncells = 32\n")?;
    /// let grid = recipe.last_grid()?;
    /// let points = vec![[800.0, 1600.0].into(), [2400.0, 1600.0].into()];
    /// recipe.draw(SketchFeature { heights: vec![500.0], ..SketchFeature::new(SketchKind::Ridge, points) }, &grid)?;
    /// assert_eq!(recipe.load_sketch(&grid)?.features().len(), 1);
    /// recipe.erase(0, &grid)?;
    /// assert!(recipe.sketch.is_none());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn draw(&mut self, feature: SketchFeature, grid: &Grid) -> Result<()> {
        self.only_with_ends("sketch")?;
        let mut sketch = self.load_sketch(grid)?;
        sketch.features.push(feature);
        self.put_sketch(sketch, grid)
    }

    /// Removes the feature with this index, from 0.
    ///
    /// # Errors
    /// Returns an error if there is no such feature, or the rest contradicts itself, as a river can that was inside a
    /// coast; also returns the errors of [`Recipe::load_sketch`]. Nothing is changed then.
    pub fn erase(&mut self, number: usize, grid: &Grid) -> Result<()> {
        let mut sketch = self.load_sketch(grid)?;
        let count = sketch.features.len();
        if number >= count {
            return Err(Error::invalid_value("feature", number, format!("less than {count}, the number of features")));
        }
        sketch.features.remove(number);
        self.put_sketch(sketch, grid)
    }

    fn put_sketch(&mut self, sketch: Sketch, grid: &Grid) -> Result<()> {
        if sketch.features.is_empty() {
            self.sketch = None;
            return Ok(());
        }
        // A feature that a file cannot contain is refused like a contradiction.
        let world = self.sketch_world(grid);
        let drawn =
            SketchFrom::Here(Arc::new(sketch.to_checked().map_err(|what| Error::Recipe(format!("sketch: {what}")))?));
        drawn.read(&self.folder, &world)?;
        self.sketch = Some(drawn);
        Ok(())
    }

    /// Refuses a key that does not apply to a looped world.
    pub(super) fn only_with_ends(&self, key: &str) -> Result<()> {
        if self.edges.contains(&Edge::Looped) {
            let remedy = format!("remove `{key}`, or set `edges` to another value than \"looped\"");
            return Err(Error::Recipe(format!("`{key}` only applies to a world without looped edges; {remedy}")));
        }
        Ok(())
    }

    /// Writes lines that are in no file next to the recipe's file at `path`, under its name, and makes the recipe
    /// name that file. A file that the previous recipe at `path` already names is overwritten; any other one stays as
    /// it is, and a number is added to the name.
    pub(super) fn save_lines(&mut self, path: &Path) -> Result<()> {
        let Some(SketchFrom::Here(sketch)) = &self.sketch else { return Ok(()) };
        let text = sketch.to_geojson();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.parent().unwrap_or(Path::new("."));
        let before = Self::read(path).ok().and_then(|before| before.sketch);
        // A file may be written if it does not exist, if the previous recipe at this path names it, or if its content
        // would not change.
        let is_ours = |name: &Path| {
            let data_file = folder.join(name);
            !data_file.exists()
                || before.as_ref().and_then(SketchFrom::path) == Some(name)
                || std::fs::read(&data_file).is_ok_and(|bytes| bytes == text.as_bytes())
        };
        let named = |n: u32| match n {
            1 => PathBuf::from(format!("{stem}.geojson")),
            n => PathBuf::from(format!("{stem}-{n}.geojson")),
        };
        // The number of attempts is limited, because each of them reads a file.
        let Some(name) = (1..10_000).map(named).find(|name| is_ours(name)) else {
            return Err(Error::invalid_file(
                folder.join(named(1)),
                "already exists and does not contain the drawn lines; choose another folder",
            ));
        };
        write_text(folder.join(&name), &text)?;
        self.sketch = Some(SketchFrom::File(name));
        Ok(())
    }
}
