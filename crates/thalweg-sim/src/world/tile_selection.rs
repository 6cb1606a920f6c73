//! Selects tiles by distance: fine ones near a place, coarser ones farther away.

use super::World;
use thalweg_core::{Cell, CellRect, Error, Point, Result};

/// A selected tile.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SelectedTile {
    /// Its level.
    pub level: u32,
    /// Its row and column among the level's tiles; the tile of row 0 and column 0 begins at the world's origin.
    pub tile: Cell<i64>,
    /// Distance in metres from the place to the tile's nearest point; 0 within the tile.
    pub distance: f64,
}

/// The most tiles that can be selected at once.
const MAX_SELECTED_TILES: usize = 100_000;

impl World {
    /// Returns the tiles that cover the land around a place, as far as `far` metres. Each point is covered once, on
    /// the coarsest level on which the width of its tile times `detail` is no more than the tile's distance, but
    /// never on a finer level than `finest`. Near tiles come first. For example, with a `detail` of 2, tiles 1 km wide
    /// are used at a distance of 2 km or more.
    ///
    /// When a camera moves, most tiles of a frame are those of the frame before.
    ///
    /// # Errors
    /// Returns an error if the world does not have the level; if the place, `far` or `detail` is not finite; if `far`
    /// or `detail` is below 0; or if there would be more than 100 000 tiles.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Cell, Point};
    /// use thalweg_sim::presets::find_preset;
    /// use thalweg_sim::world::World;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// recipe.cells = 32;
    /// let world = World::open(&recipe)?.with_tiles(16)?;
    /// // The tiles of level 1 are 16 · 240 m = 3840 m wide. Three of them are within 5 km of this place.
    /// let tiles = world.select_tiles_around(Point::new(100.0, 100.0), 5000.0, 1, 1.0)?;
    /// assert_eq!((tiles[0].level, tiles[0].tile, tiles[0].distance), (1, Cell::new(0, 0), 0.0));
    /// assert_eq!(tiles.iter().map(|tile| tile.distance).collect::<Vec<_>>(), [0.0, 3740.0, 3740.0]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn select_tiles_around(&self, place: Point, far: f64, finest: u32, detail: f64) -> Result<Vec<SelectedTile>> {
        self.frame().check(finest)?;
        for (name, value) in [("far", far), ("detail", detail)] {
            if !(0.0..f64::INFINITY).contains(&value) {
                return Err(Error::invalid_value(name, value, "0 or more"));
            }
        }
        let Point { x, y } = place;
        if !(x.is_finite() && y.is_finite()) {
            return Err(Error::invalid_value("place", format!("{x} m, {y} m"), "two finite numbers"));
        }
        let side = |level: u32| self.frame().cell_width(level) * self.tile as f64;
        let world = self.frame().world_rect(0);
        let [first, last] = [self.containing_tile(world.start), self.containing_tile(world.end.map(|x| x - 1))];
        let reach = |axis: usize| {
            let at = place.axis_coordinate(axis);
            let tile = |metres: f64| (metres / side(0)).floor() as i64;
            (tile(at - far).max(first[axis]), tile(at + far).min(last[axis]))
        };
        let [(top, bottom), (left, right)] = [reach(0), reach(1)];
        // The ranges may be as wide as i64, so their product needs i128.
        let count = (bottom as i128 - top as i128 + 1).max(0) * (right as i128 - left as i128 + 1).max(0);
        let too_many = || {
            Error::invalid_value(
                "far",
                format!("{far} m"),
                format!("a shorter distance; at most {MAX_SELECTED_TILES} tiles can be selected"),
            )
        };
        if count > MAX_SELECTED_TILES as i128 {
            return Err(too_many());
        }
        // The search begins with the tiles of level 0 and replaces each near one by its four finer tiles.
        let mut open: Vec<(u32, Cell<i64>)> =
            (top..=bottom).flat_map(|row| (left..=right).map(move |col| (0, Cell { row, col }))).collect();
        let mut selected = Vec::new();
        while let Some((level, tile)) = open.pop() {
            let rect = self.tile_rect(level, tile);
            if rect.size().contains(&0) {
                continue;
            }
            let width = self.frame().cell_width(level);
            let gap = |axis: usize| {
                let at = place.axis_coordinate(axis);
                let [start, end] = [rect.start[axis] as f64 * width, rect.end[axis] as f64 * width];
                // At most one of the two differences is positive: the place is before the tile, after it, or inside.
                (start - at).max(at - end).max(0.0)
            };
            let distance = (gap(0) * gap(0) + gap(1) * gap(1)).sqrt();
            if distance > far {
                continue;
            }
            if level < finest && distance < detail * side(level) {
                open.extend(CellRect::from_cell(tile).to_finer_level().cells().map(|tile| (level + 1, tile)));
            } else {
                selected.push(SelectedTile { level, tile, distance });
            }
            // Open tiles count as well, because each of them becomes at least one selected tile or is too far away.
            if selected.len() + open.len() > MAX_SELECTED_TILES {
                return Err(too_many());
            }
        }
        // Ties are resolved by level and position, so the order does not depend on how the search proceeded.
        selected
            .sort_by(|a, b| a.distance.total_cmp(&b.distance).then(b.level.cmp(&a.level)).then(a.tile.cmp(&b.tile)));
        Ok(selected)
    }
}
