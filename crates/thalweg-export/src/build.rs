//! [`BuildOptions`]: the declared options of the operation `build`, and the recipe and the run that they give.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::export::{ExportTarget, fit_recipe};
use crate::world_folder::begin_run;
use thalweg_core::{Error, MapPoint, Result, operation};
use thalweg_io::output::absolute_path;
use thalweg_io::{LoadOptions, SampleType, Unit};
use thalweg_sim::knobs::Knobs;
use thalweg_sim::presets::{create_run_on_model, find_recipe};
use thalweg_sim::recipe::{Recipe, RecipeOptions, WorldPlace};
use thalweg_sim::run::Run;

operation! {
    /// Builds a world from a preset or a recipe.
    ///
    /// # Examples
    /// ```
    /// use thalweg_export::build::{BuildOptions, start_build};
    /// use thalweg_sim::knobs::Knobs;
    /// use thalweg_sim::recipe::RecipeOptions;
    ///
    /// let knobs = Knobs { age: 0.5, ..Knobs::default() };
    /// let recipe = RecipeOptions { cells: Some(32), knobs, ..RecipeOptions::default() };
    /// let mut run = start_build("hills", &BuildOptions { recipe, ..BuildOptions::default() })?;
    /// while run.take_step()?.is_some() {}
    /// assert_eq!(run.terrain().grid.cols(), 32);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct BuildOptions, "build", with(recipe: RecipeOptions) {
        /// The elevation model to start from, for a recipe that starts from one, such as the preset `aged`.
        from_file: Option<PathBuf> = None, within .., unit "1", flag "from", only Arrays Folder, excludes crs target;
        /// Reads the elevation model in this unit, even if the file specifies another. A file in degrees is refused in
        /// any case; project it first.
        unit: Option<Unit> = None, within .., unit "1", only Arrays Folder;
        /// The program for which the world is to be exported: the world gets the size accepted by this program that is
        /// nearest to its number of cells, so that the export need not resample it.
        target: Option<&'static ExportTarget> = None, within .., unit "1", flag "for",
            excludes preview level rect;
        /// Builds only the coarse levels, up to the first with more than 256 cells on the long side: the same world in
        /// less detail.
        preview: bool = false, within .., unit "1", excludes level rect;
        /// Projected coordinate system in metres, such as EPSG:32632, that georeferences the world for GIS; it does not
        /// affect the terrain.
        crs: Option<String> = None, within .., unit "1", placeholder "EPSG:CODE", only Arrays Folder Store,
            needs origin;
        /// Easting and northing in metres of the world's north-western corner in the coordinate system of `crs`.
        origin: Option<MapPoint> = None, within .., unit "1", only Arrays Folder Store, needs crs;
        /// Number format of the heights and the layers. By default, it is f32.
        sample: Option<SampleType> = None, within .., unit "1", flag "type", placeholder "TYPE", only Folder;
        /// The level to build. Level 0 has the widest cells, and the cells of each further level are half as wide. By
        /// default, it is the last level of the recipe.
        level: Option<u32> = None, within 0..=u32::MAX, unit "1", placeholder "L", only Store;
        /// Builds only this rectangle of the level: its western, northern, eastern and southern sides in metres east
        /// and south of the world's origin. An endless world requires it.
        rect: Option<[f64; 4]> = None, within &["west", "north", "east", "south"], unit "m", placeholder "W,N,E,S",
            only Store;
    }
}

/// The recipe of a world to build.
#[derive(Clone)]
pub struct BuildRequest {
    /// The recipe with the changes of the options.
    pub recipe: Recipe,
    /// True if the world starts from the elevation model of a preset, which is in no file yet.
    pub own_model: bool,
    /// The folder for the world, if the user names none.
    pub default_folder: PathBuf,
}

/// Finds the recipe of a preset's name or of a file, and changes it according to the options.
///
/// # Errors
/// Returns an error if there is no such recipe, and the errors of [`BuildOptions::apply_to`].
///
/// # Examples
/// ```
/// use std::path::Path;
/// use thalweg_export::build::{BuildOptions, resolve_build};
/// use thalweg_sim::recipe::RecipeOptions;
///
/// let recipe = RecipeOptions { seed: Some(7), ..RecipeOptions::default() };
/// let request = resolve_build("hills", &BuildOptions { recipe, ..BuildOptions::default() })?;
/// assert_eq!((request.recipe.seed, request.own_model), (7, false));
/// assert_eq!(request.default_folder, Path::new("worlds/hills-7"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn resolve_build(name: impl AsRef<Path>, options: &BuildOptions) -> Result<BuildRequest> {
    let (mut recipe, is_preset) = find_recipe(&name)?;
    let own_model = is_preset && recipe.dem().is_some() && options.from_file.is_none();
    options.change_recipe(&mut recipe)?;
    // The name contains the hash of the whole world, also for a preview of it.
    let default_folder = options.default_folder(name.as_ref(), &recipe);
    options.reduce_to_preview(&mut recipe)?;
    Ok(BuildRequest { recipe, own_model, default_folder })
}

/// Starts the run of a world, without a folder: `name` is that of a preset or the path of a recipe.
///
/// # Errors
/// Returns the errors of [`resolve_build`] and [`BuildOptions::start`].
pub fn start_build(name: impl AsRef<Path>, options: &BuildOptions) -> Result<Run> {
    let BuildRequest { recipe, own_model, .. } = resolve_build(name, options)?;
    if own_model { create_run_on_model(recipe) } else { options.start(recipe, None) }
}

impl BuildOptions {
    /// Changes a recipe.
    ///
    /// # Errors
    /// Returns an error that names the option if the recipe does not have what it changes, or if the elevation model
    /// does not exist; also returns the errors of [`RecipeOptions::apply_to`]. The recipe may be changed in part then.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::MapPoint;
    /// use thalweg_export::build::BuildOptions;
    /// use thalweg_sim::presets::find_preset;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// let (crs, origin) = (Some("EPSG:32632".to_string()), Some(MapPoint::new(5e5, 5e6)));
    /// BuildOptions { crs, origin, ..BuildOptions::default() }.apply_to(&mut recipe)?;
    /// assert!(recipe.to_toml().contains("EPSG:32632"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn apply_to(&self, recipe: &mut Recipe) -> Result<()> {
        self.change_recipe(recipe)?;
        self.reduce_to_preview(recipe)
    }

    /// Applies all options but the preview.
    fn change_recipe(&self, recipe: &mut Recipe) -> Result<()> {
        if let Some(from) = &self.from_file {
            let Some(dem) = recipe.dem_mut() else {
                let problem = "only applies to a recipe that begins with an elevation model, such as `aged`";
                return Err(Error::conflict("from_file", problem));
            };
            // A missing file is reported before an unknown format of its extension.
            std::fs::metadata(from).map_err(Error::io(from, "read"))?;
            *dem = absolute_path(from)?;
        }
        if let (Some(crs), Some(corner)) = (&self.crs, self.origin) {
            recipe.set_place(WorldPlace::new(crs, corner)?)?;
        }
        self.recipe.apply_to(recipe)?;
        self.target.map_or(Ok(()), |target| fit_recipe(recipe, target))
    }

    /// Gives the recipe the number of cells of its preview, if that is requested.
    fn reduce_to_preview(&self, recipe: &mut Recipe) -> Result<()> {
        if !self.preview {
            return Ok(());
        }
        if !recipe.has_levels() {
            let problem = "only applies to a recipe that is built in levels (`coarsest`); choose a smaller number of \
                           cells to build any recipe coarser";
            return Err(Error::conflict("preview", problem));
        }
        recipe.cells = recipe.preview_cells()?;
        Ok(())
    }

    /// Starts the run of a recipe that was [resolved](resolve_build) with these options. If the world starts from the
    /// elevation model of a preset, `own_folder` is the folder of the world, where the model will be written.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory, and the errors of [`Run::new`], [`begin_run`] and
    /// [`Run::from_elevation_file`].
    pub fn start(&self, recipe: Recipe, own_folder: Option<&Path>) -> Result<Run> {
        let options = LoadOptions { unit: self.unit, ..LoadOptions::default() };
        match (recipe.dem(), own_folder) {
            (None, _) => {
                recipe.check_memory(&recipe.last_grid()?)?;
                Run::new(recipe)
            }
            (Some(_), Some(folder)) => begin_run(recipe, folder, &options),
            (Some(model), None) => {
                let model = recipe.folder.join(model);
                Run::from_elevation_file(recipe, &model, &options)
            }
        }
    }

    /// Returns the default folder of a world: `worlds/` with the name of the recipe and the seed. If the world differs
    /// from that of the recipe in more than its cells and its seed, six digits of its hash are appended, so that every
    /// world has a folder of its own. A preview has a separate folder.
    fn default_folder(&self, name: &Path, recipe: &Recipe) -> PathBuf {
        let mut folder = OsString::from("worlds/");
        folder.push(name.file_stem().unwrap_or("world".as_ref()));
        folder.push(format!("-{}", recipe.seed));
        let RecipeOptions { knobs, until, set, .. } = &self.recipe;
        let is_changed = self.from_file.is_some() || until.is_some() || self.target.is_some() || !set.is_empty();
        if is_changed || *knobs != Knobs::default() {
            folder.push(format!("-{:.6}", recipe.hash()));
        }
        if self.preview {
            folder.push("-preview");
        }
        folder.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::declare::operation::{Operation as _, OptionSpec, WorkForm};
    use thalweg_core::declare::option_types::Setting;
    use thalweg_sim::presets::find_preset;

    fn typed(option: &OptionSpec) -> String {
        format!("--{}", option.command_flag())
    }

    fn with_cells(cells: usize) -> BuildOptions {
        let recipe = RecipeOptions { cells: Some(cells), ..RecipeOptions::default() };
        BuildOptions { recipe, ..BuildOptions::default() }
    }

    #[test]
    fn the_run_of_a_preset_is_that_of_its_recipe() {
        let finish = |mut run: Run| {
            while run.take_step().unwrap().is_some() {}
            run.terrain().ground.clone()
        };
        let expected = Run::new(Recipe { cells: 32, ..find_preset("hills").unwrap() }).unwrap();
        assert!(finish(start_build("hills", &with_cells(32)).unwrap()) == finish(expected));
        // The elevation model of a preset is not read from a file.
        let mut aged = with_cells(48);
        aged.recipe.until = Some("rivers".into());
        assert_eq!(start_build("aged", &aged).unwrap().terrain().grid.size.into_iter().max(), Some(48));
    }

    #[test]
    fn worlds_that_differ_have_folders_that_differ() {
        let folder = |name: &str, options: &BuildOptions| {
            let folder = resolve_build(name, options).unwrap().default_folder;
            folder.to_str().unwrap().to_string()
        };
        let plain = BuildOptions::default();
        assert_eq!(folder("hills", &plain), "worlds/hills-4");
        let preview = BuildOptions { preview: true, ..plain.clone() };
        assert_eq!(folder("alpine", &preview), folder("alpine", &plain) + "-preview");
        let (mut older, mut set) = (plain.clone(), plain);
        older.recipe.knobs.age = 2.0;
        set.recipe.set = vec![Setting::new("uplift.years", 1e6)];
        let [older, set] = [older, set].map(|options| folder("hills", &options));
        assert!(older.len() == "worlds/hills-4-".len() + 6 && set.len() == older.len() && set != older);
    }

    #[test]
    fn options_without_effect_are_refused() {
        let plain = BuildOptions::default();
        let refused = |options: &BuildOptions, form| options.check_form(form, typed).unwrap_err().to_string();
        let level = BuildOptions { level: Some(1), ..plain.clone() };
        assert_eq!(
            refused(&level, WorkForm::Folder),
            "--level only applies when the output is a Zarr store (-o DIR.zarr)"
        );
        assert!(level.check_form(WorkForm::Store, typed).is_ok());
        let preview = BuildOptions { preview: true, ..level.clone() };
        assert_eq!(refused(&preview, WorkForm::Store), "--preview does not apply together with --level");
        let crs = BuildOptions { crs: Some("EPSG:32632".into()), ..plain.clone() };
        assert_eq!(refused(&crs, WorkForm::Folder), "--crs only applies together with --origin");
        let placed = BuildOptions { origin: Some(MapPoint::new(5e5, 5e6)), ..crs };
        assert!(placed.check_form(WorkForm::Folder, typed).is_ok());
        let unreal = Some(ExportTarget::find("unreal").unwrap());
        let fitted = BuildOptions { target: unreal, from_file: Some("a.tif".into()), ..plain };
        assert_eq!(refused(&fitted, WorkForm::Folder), "--from does not apply together with --for");
        let error = resolve_build("hills", &fitted).err().unwrap().to_string();
        assert!(error.starts_with("from_file only applies to a recipe that begins with an elevation model"), "{error}");
    }
}
