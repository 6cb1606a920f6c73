//! [`Start`]: the terrain from which a recipe starts.

use std::path::{Path, PathBuf};

use crate::recipe::Recipe;
use crate::recipe::levels::{Coarsest, LocalFrom, RefinementMethod};
use crate::recipe::scatter::Scatter;
use crate::recipe::world_place::WorldPlace;
use thalweg_core::{Error, Extent, Result};

/// The terrain from which a recipe starts. Each form contains the settings that apply to it and no others.
///
/// In TOML, `extent` makes a start synthetic, `extent` with `continents` makes it a world of continents, and `from`
/// names an elevation model. [`Recipe::parse`] refuses a setting that the declared start does not have, and so do the
/// methods of [`Recipe`] that change one.
///
/// ```
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::recipe::Start;
///
/// let recipe = Recipe::parse("extent = [8000.0, 6000.0]\nmargin = 0.05\n")?;
/// assert!(matches!(recipe.start, Start::Synthetic { margin: 0.05, .. }));
/// assert_eq!(recipe.extent().unwrap().width, 8000.0);
///
/// // The grid of an elevation model is the file's, so there is no ground around it to build.
/// let error = Recipe::parse("from = \"dem.tif\"\nmargin = 0.05\n").err().unwrap();
/// assert!(error.to_string().contains("`margin` only applies to a recipe with `extent`"));
/// # Ok::<(), thalweg_core::base::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Flat terrain of a given extent.
    Synthetic {
        /// Width and height in metres, each 0.01 to 1e8.
        extent: Extent,
        /// The levels that it is built on.
        levels: Levels,
        /// Width of the margin that is built around the extent and finally cut away, as a share of the extent's
        /// shorter side, 0 to 1.
        margin: f64,
        /// The cells that are finally cut away.
        cut: MapTrim,
        /// The position on Earth, if it has one.
        place: Option<WorldPlace>,
    },
    /// An elevation model in a file, with the file's extent and georeference.
    FromDem {
        /// Path of the file; relative to [`Recipe::folder`].
        path: PathBuf,
    },
    /// Continents in an endless sea, each a synthetic world of its own seed.
    Continents {
        /// Width and height of one continent in metres, each 0.01 to 1e8.
        extent: Extent,
        /// The levels that a continent is built on.
        levels: Levels,
        /// How the continents are distributed.
        scatter: Scatter,
        /// The position on Earth of a build of the recipe alone, without its neighbours.
        place: Option<WorldPlace>,
    },
    /// A terrain that the caller passes to [`Run::with_terrain`](crate::run::Run::with_terrain).
    Given,
}

/// The levels that a synthetic world is built on, from the coarsest to the one that has the recipe's `cells`.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::{Coarsest, Levels, Recipe, RefinementMethod};
///
/// let mut recipe = Recipe::parse("extent = [6400.0, 3200.0]\ncells = 64\n")?;
/// recipe.set_levels(Levels { coarsest: Coarsest::Cells(16), beyond: RefinementMethod::Global })?;
/// let columns: Vec<usize> = recipe.grids()?.iter().map(|grid| grid.cols()).collect();
/// assert_eq!(columns, [16, 32, 64]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Levels {
    /// Cells on the long side of the first level.
    pub coarsest: Coarsest,
    /// How the finest levels are made.
    pub beyond: RefinementMethod,
}

/// The numbers of the last columns and rows of a world that are finally cut away, at its eastern and its southern
/// side.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::{MapTrim, Recipe};
/// use thalweg_sim::run::Run;
///
/// let mut recipe = Recipe::parse("extent = [640.0, 640.0]\ncells = 64\n")?;
/// recipe.set_map_trim(MapTrim { cols: 4, rows: 0 })?;
/// let mut run = Run::new(recipe)?;
/// while run.take_step()?.is_some() {}
/// assert_eq!(run.terrain().grid.size, [64, 60]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapTrim {
    /// Columns that are cut away, at the eastern side.
    pub cols: usize,
    /// Rows that are cut away, at the southern side.
    pub rows: usize,
}

impl MapTrim {
    /// The cut that removes nothing.
    pub const NONE: Self = Self { cols: 0, rows: 0 };
}

impl From<[usize; 2]> for MapTrim {
    /// Converts columns and rows, in this order, as recipes write them.
    fn from([cols, rows]: [usize; 2]) -> Self {
        Self { cols, rows }
    }
}

impl From<MapTrim> for [usize; 2] {
    /// Returns columns and rows, in this order.
    fn from(cut: MapTrim) -> Self {
        [cut.cols, cut.rows]
    }
}

impl Start {
    /// Returns a synthetic start of this extent, on one level, with no margin, no cut and no position on Earth.
    pub fn from_extent(extent: impl Into<Extent>) -> Self {
        let extent = extent.into();
        let levels = Levels { coarsest: Coarsest::None, beyond: RefinementMethod::Global };
        Self::Synthetic { extent, levels, margin: 0.0, cut: MapTrim::NONE, place: None }
    }

    fn extent_mut(&mut self) -> Option<&mut Extent> {
        match self {
            Self::Synthetic { extent, .. } | Self::Continents { extent, .. } => Some(extent),
            Self::FromDem { .. } | Self::Given => None,
        }
    }

    fn levels_mut(&mut self) -> Option<&mut Levels> {
        match self {
            Self::Synthetic { levels, .. } | Self::Continents { levels, .. } => Some(levels),
            Self::FromDem { .. } | Self::Given => None,
        }
    }
}

/// The settings of the start. A setter refuses a value if the recipe's start does not have the setting, unless the
/// value is the default.
impl Recipe {
    /// Returns the size of the world, or that of one continent if there are several. `None` if the terrain comes from
    /// a file or the caller.
    pub fn extent(&self) -> Option<Extent> {
        match self.start {
            Start::Synthetic { extent, .. } | Start::Continents { extent, .. } => Some(extent),
            Start::FromDem { .. } | Start::Given => None,
        }
    }

    /// Sets the extent. A recipe for a terrain of the caller becomes synthetic.
    ///
    /// # Errors
    /// Returns an error if the recipe starts from an elevation model.
    pub fn set_extent(&mut self, extent: impl Into<Extent>) -> Result<()> {
        let extent = extent.into();
        match &mut self.start {
            Start::FromDem { .. } => return Err(start_count_error()),
            Start::Given => self.start = Start::from_extent(extent),
            start => start.extent_mut().into_iter().for_each(|old| *old = extent),
        }
        Ok(())
    }

    /// Returns the path of the elevation model from which the recipe starts, if it does.
    pub fn dem(&self) -> Option<&Path> {
        match &self.start {
            Start::FromDem { path } => Some(path),
            _ => None,
        }
    }

    /// Like [`Recipe::dem`], but mutable.
    pub fn dem_mut(&mut self) -> Option<&mut PathBuf> {
        match &mut self.start {
            Start::FromDem { path } => Some(path),
            _ => None,
        }
    }

    /// Makes the recipe start from the elevation model in a file.
    ///
    /// # Errors
    /// Returns an error if the recipe has an extent.
    pub fn set_dem(&mut self, path: PathBuf) -> Result<()> {
        if self.extent().is_some() {
            return Err(start_count_error());
        }
        self.start = Start::FromDem { path };
        Ok(())
    }

    /// Returns the levels on which it is built; a single one if the terrain comes from a file or the caller.
    pub fn levels(&self) -> Levels {
        match self.start {
            Start::Synthetic { levels, .. } | Start::Continents { levels, .. } => levels,
            Start::FromDem { .. } | Start::Given => Levels::default(),
        }
    }

    /// Sets the levels.
    ///
    /// # Errors
    /// Returns an error if there are several levels, or local ones, and the recipe has no extent.
    pub fn set_levels(&mut self, levels: Levels) -> Result<()> {
        self.set_coarsest(levels.coarsest)?;
        self.set_refinement_method(levels.beyond)
    }

    /// Sets the first level.
    ///
    /// # Errors
    /// Returns an error if the recipe has no extent.
    pub fn set_coarsest(&mut self, coarsest: Coarsest) -> Result<()> {
        let slot = self.start.levels_mut().map(|levels| &mut levels.coarsest);
        is_put(slot, coarsest, Coarsest::None)
            .then_some(())
            .ok_or_else(|| self.only_with_extent("coarsest", "the grid is the file's"))
    }

    /// Sets how the finest levels are computed.
    ///
    /// # Errors
    /// Returns an error if the recipe has no extent.
    pub fn set_refinement_method(&mut self, beyond: RefinementMethod) -> Result<()> {
        let slot = self.start.levels_mut().map(|levels| &mut levels.beyond);
        is_put(slot, beyond, RefinementMethod::Global)
            .then_some(())
            .ok_or_else(|| self.only_with_extent("beyond", "the grid is the file's"))
    }

    /// Sets the last level on which stages run.
    ///
    /// # Errors
    /// Returns an error if no level is local ([`RefinementMethod::Local`]).
    pub fn set_local_from(&mut self, local_from: LocalFrom) -> Result<()> {
        let slot = self.start.levels_mut().and_then(|levels| match &mut levels.beyond {
            RefinementMethod::Local { from } => Some(from),
            RefinementMethod::Global => None,
        });
        let refuse = || Error::Recipe("`local_from` only applies with `beyond = \"local\"`; add that key".into());
        is_put(slot, local_from, LocalFrom::Auto).then_some(()).ok_or_else(refuse)
    }

    /// Returns the width of the margin that is built around the extent and finally cut away, as a share of the
    /// extent's shorter side.
    pub fn margin(&self) -> f64 {
        if let Start::Synthetic { margin, .. } = self.start { margin } else { 0.0 }
    }

    /// Sets the margin's width, as a share of the extent's shorter side, 0 to 1.
    ///
    /// # Errors
    /// Returns an error if the recipe has no extent, or is one of continents.
    pub fn set_margin(&mut self, margin: f64) -> Result<()> {
        let slot = if let Start::Synthetic { margin, .. } = &mut self.start { Some(margin) } else { None };
        is_put(slot, margin, 0.0)
            .then_some(())
            .ok_or_else(|| self.only_with_extent("margin", "nothing is known around an elevation model"))
    }

    /// Returns the columns and rows that are finally cut away, at the eastern and the southern side.
    pub fn map_trim(&self) -> MapTrim {
        if let Start::Synthetic { cut, .. } = self.start { cut } else { MapTrim::NONE }
    }

    /// Sets the columns and rows that are finally cut away.
    ///
    /// # Errors
    /// Returns an error if the recipe has no extent, or is one of continents.
    pub fn set_map_trim(&mut self, cut: MapTrim) -> Result<()> {
        let slot = if let Start::Synthetic { cut, .. } = &mut self.start { Some(cut) } else { None };
        is_put(slot, cut, MapTrim::NONE)
            .then_some(())
            .ok_or_else(|| self.only_with_extent("cut", "crop the elevation model instead"))
    }

    /// Returns the position on Earth of a synthetic world, if it has one.
    pub fn world_place(&self) -> Option<WorldPlace> {
        match self.start {
            Start::Synthetic { place, .. } | Start::Continents { place, .. } => place,
            _ => None,
        }
    }

    /// Sets the position on Earth of a synthetic world.
    ///
    /// # Errors
    /// Returns an error if the recipe has no extent.
    pub fn set_place(&mut self, place: WorldPlace) -> Result<()> {
        let slot = match &mut self.start {
            Start::Synthetic { place, .. } | Start::Continents { place, .. } => Some(place),
            _ => None,
        };
        is_put(slot, Some(place), None)
            .then_some(())
            .ok_or_else(|| self.only_with_extent("place", "the elevation model has its own georeference"))
    }

    /// Returns how continents are distributed over an endless world, if they are.
    pub fn continents(&self) -> Option<Scatter> {
        if let Start::Continents { scatter, .. } = self.start { Some(scatter) } else { None }
    }

    /// Makes a synthetic world one of the continents of an endless world, or changes their distribution.
    ///
    /// # Errors
    /// Returns an error if the recipe has no extent, or has a margin or a cut, which continents do not have.
    pub fn set_continents(&mut self, scatter: Scatter) -> Result<()> {
        let (extent, levels, place) = match self.start {
            Start::Continents { extent, levels, place, .. } => (extent, levels, place),
            // Only a synthetic world without margin and cut can become a continent.
            Start::Synthetic { extent, levels, margin: 0.0, cut: MapTrim::NONE, place } => (extent, levels, place),
            Start::Synthetic { margin, .. } => {
                return Err(not_of_continents(if margin == 0.0 { "cut" } else { "margin" }));
            }
            Start::FromDem { .. } | Start::Given => {
                return Err(self.only_with_extent("continents", "an elevation model is a single finite terrain"));
            }
        };
        self.start = Start::Continents { extent, levels, scatter, place };
        Ok(())
    }

    /// Returns the error for a key that does not apply to the recipe's start; `why_not_dem` is the reason if that is
    /// an elevation model.
    fn only_with_extent(&self, key: &str, why_not_dem: &str) -> Error {
        match self.start {
            Start::Continents { .. } => not_of_continents(key),
            Start::FromDem { .. } => Error::Recipe(format!(
                "`{key}` only applies to a recipe with `extent`, and this one has `from`: {why_not_dem}"
            )),
            _ => {
                Error::Recipe(format!("`{key}` only applies to a recipe with `extent`; add `extent = [width, height]`"))
            }
        }
    }
}

/// Sets a value in its place; if there is no such place, only the default is accepted. Returns true if the value was
/// accepted.
fn is_put<T: PartialEq>(slot: Option<&mut T>, value: T, default: T) -> bool {
    // `Run::with_terrain` relies on this: it sets the default levels and margin of any recipe.
    let is_accepted = slot.is_some() || value == default;
    slot.into_iter().zip([value]).for_each(|(slot, value)| *slot = value);
    is_accepted
}

fn not_of_continents(key: &str) -> Error {
    Error::Recipe(format!("`{key}` only applies to a single world; remove `{key}` or `continents`"))
}

/// Returns the error for a recipe that has no start, or two.
pub(super) fn start_count_error() -> Error {
    Error::Recipe("give either `extent = [width, height]` in metres or `from = \"FILE\"`, an elevation model".into())
}
