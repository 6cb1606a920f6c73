//! [`ApplyOptions`] and [`GenerateOptions`]: the declared options of the operations that run a single model.

use std::path::PathBuf;

use crate::recipe::{LayerOrigin, LayerSource, Recipe};
use crate::run::Run;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::declare::option_types::{NamedFile, Setting};
use thalweg_core::terrain::BoundaryOptions;
use thalweg_core::{Error, Grid, Height, Result, Size, Terrain, operation};
use thalweg_io::{FilePath, LoadOptions, SampleType};
use thalweg_models::model::{Family, set_parameters};
use thalweg_models::models;

operation! {
    /// Runs one model over an elevation model.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::declare::option_types::Setting;
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_sim::single_model::ApplyOptions;
    ///
    /// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
    /// let options = ApplyOptions { set: vec![Setting::new("steps", 10u32)], ..ApplyOptions::default() };
    /// let mut run = options.start("thermal", terrain)?;
    /// while run.take_step()?.is_some() {}
    /// assert!(run.terrain().ground[(0, 0)].metres() < 100.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct ApplyOptions, "apply", with(boundary: BoundaryOptions) {
        // In a browser the parameters are an argument of their own, whose type is that of the model.
        /// Sets parameters of the model, by name.
        set: Vec<Setting> = Vec::new(), within .., unit "1", only Arrays Folder Store;
        /// Seed of the model's random numbers.
        seed: u64 = 1, within 0..=u64::MAX, unit "1";
        /// Files with input layers of the model, such as a mask, by the names of the layers.
        layers: Vec<NamedFile> = Vec::new(), within .., unit "1", flag "layer", only Folder Store;
        /// Writes the layers of the result, in addition to the heights, into this folder.
        layers_folder: Option<PathBuf> = None, within .., unit "1", flag "layers", placeholder "DIR", only Folder;
        /// Number format of heights and layers. By default, it is that of the file format.
        sample: Option<SampleType> = None, within .., unit "1", flag "type", placeholder "TYPE", only Folder;
    }
}

operation! {
    /// Generates terrain with one base model, such as noise or a volcano.
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::single_model::GenerateOptions;
    ///
    /// let options = GenerateOptions { cells: Some([30, 40]), cell_size: Some(20.0), ..GenerateOptions::default() };
    /// let mut run = options.start("gradient_noise")?;
    /// while run.take_step()?.is_some() {}
    /// assert_eq!(run.terrain().grid.size, [30, 40]);
    /// let error = options.start("thermal").err().unwrap().to_string();
    /// assert!(error.contains("`apply` runs the others"), "{error}");
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct GenerateOptions, "generate", with(model: ApplyOptions) {
        /// Numbers of columns and rows of the terrain.
        cells: Option<Size> = None, within .., unit "1", required true;
        /// Side of a cell.
        cell_size: Option<f64> = None, within 0.001..=100_000.0, unit "m", required true;
    }
}

impl ApplyOptions {
    /// Returns the recipe of the model with these options.
    ///
    /// # Errors
    /// Returns an error if there is no such model, parameter or layer, or if a value is not allowed.
    pub fn to_recipe(&self, model: &str) -> Result<Recipe> {
        let mut model = models::find_model(model)?;
        let about = model.about();
        set_parameters(&mut *model, self.set.iter().map(|setting| (setting.name.as_str(), &setting.value)))?;
        let mut recipe = Recipe::with_single_stage(model, self.seed);
        // Layers are read when the stage starts, which after a resume may be in another current folder. Without layers,
        // a system that has no current folder is no obstacle.
        let here = std::env::current_dir();
        recipe.folder = match self.layers.is_empty() {
            true => here.unwrap_or_default(),
            false => here.map_err(Error::io(".", "find the current folder"))?,
        }
        .into();
        recipe.sea_level = self.boundary.sea_level;
        recipe.edges = self.boundary.edges;
        let inputs = || about.needs.iter().chain(about.uses).map(|spec| spec.name);
        for NamedFile { name, path } in &self.layers {
            if !inputs().any(|known| known == name) {
                return Err(Error::unknown_name("input layer", name, inputs()));
            }
            for stage in &mut recipe.stages {
                let source = LayerSource { from: LayerOrigin::File(path.clone()), scale: None };
                stage.layers.insert(name.clone(), source);
            }
        }
        Ok(recipe)
    }

    /// Starts the run of the model over a terrain, with the edges and the sea level of the terrain.
    ///
    /// # Errors
    /// Returns the errors of [`ApplyOptions::to_recipe`] and [`Run::with_terrain`]; an error if there is not enough
    /// memory.
    pub fn start(&self, model: &str, terrain: Terrain) -> Result<Run> {
        let mut recipe = self.to_recipe(model)?;
        (recipe.edges, recipe.sea_level) = (terrain.grid.edges, terrain.grid.sea_level.map(Height::metres));
        recipe.check_memory(&terrain.grid)?;
        Run::with_terrain(recipe, terrain)
    }

    /// Starts the run of the model over the elevation model in a file, with the edges and the sea level of the options.
    ///
    /// # Errors
    /// Returns the errors of [`ApplyOptions::to_recipe`] and [`Run::from_elevation_file`].
    pub fn start_on_file(&self, model: &str, path: impl Into<FilePath>, load: &LoadOptions) -> Result<Run> {
        Run::from_elevation_file(self.to_recipe(model)?, path, load)
    }
}

impl GenerateOptions {
    /// Returns the recipe of the model with these options.
    ///
    /// # Errors
    /// Returns the errors of [`ApplyOptions::to_recipe`]; also returns an error if the model is not a base model.
    pub fn to_recipe(&self, model: &str) -> Result<Recipe> {
        let recipe = self.model.to_recipe(model)?;
        if recipe.stages.iter().any(|stage| stage.model.about().family != Family::Base) {
            let base = models::all_models().map(|model| model.about()).filter(|about| about.family == Family::Base);
            let names: Vec<&str> = base.map(|about| about.name).collect();
            let allowed = format!("a base model ({}); `apply` runs the others", names.join(", "));
            return Err(Error::invalid_value("model", model, allowed));
        }
        Ok(recipe)
    }

    /// Returns the flat terrain over which the model of the recipe runs.
    ///
    /// # Errors
    /// Returns an error if the size or the cell size is missing or not allowed, or if there is not enough memory.
    pub fn create_terrain(&self, recipe: &Recipe) -> Result<Terrain> {
        let size = self.require("cells", self.cells)?;
        let cell = self.require("cell_size", self.cell_size)?;
        let grid = recipe.configure_grid(Grid::new(size, cell)?)?;
        recipe.check_memory(&grid)?;
        Ok(Terrain::new(grid))
    }

    /// Starts the run of the model over a flat terrain.
    ///
    /// # Errors
    /// Returns the errors of [`GenerateOptions::to_recipe`] and [`GenerateOptions::create_terrain`].
    pub fn start(&self, model: &str) -> Result<Run> {
        let recipe = self.to_recipe(model)?;
        let terrain = self.create_terrain(&recipe)?;
        Run::with_terrain(recipe, terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use thalweg_core::Edge;
    use thalweg_core::declare::operation::WorkForm;
    use thalweg_core::declare::params::Value;
    use thalweg_io::{MemoryFiles, SaveOptions, save_terrain};

    fn hills() -> Terrain {
        let heights: Vec<f32> = (0..20 * 30).map(|k| ((k * 7919) % 331) as f32).collect();
        Terrain::from_metres(Grid::new([20, 30], 25.0).unwrap(), &heights).unwrap()
    }

    #[test]
    fn a_file_and_its_terrain_give_the_same() {
        let files = MemoryFiles::default();
        let path = files.path("dem.tif");
        let mut terrain = hills();
        save_terrain(&path, &terrain, &SaveOptions::default()).unwrap();
        let boundary = BoundaryOptions { edges: [Edge::Closed; 4], sea_level: Some(20.0) };
        let set = vec![Setting::new("steps", 3u32)];
        let options = ApplyOptions { set, boundary, ..ApplyOptions::default() };
        boundary.apply_to(&mut terrain.grid).unwrap();
        let finish = |mut run: Run| {
            while run.take_step().unwrap().is_some() {}
            run.terrain().clone()
        };
        let on_file = finish(options.start_on_file("thermal", &path, &LoadOptions::default()).unwrap());
        let on_terrain = finish(options.start("thermal", terrain.clone()).unwrap());
        assert!(on_file.ground == on_terrain.ground && on_file.ground != terrain.ground);
        assert_eq!((on_file.grid.edges, on_file.grid.sea_level), (on_terrain.grid.edges, on_terrain.grid.sea_level));
    }

    #[test]
    fn options_reach_the_recipe() {
        let mut options = ApplyOptions::default();
        let values = json!({"set": {"steps": 7}, "seed": 5, "layers": {"hardness": "h.tif"}, "edges": "closed"});
        options.set_all(values.as_object().unwrap()).unwrap();
        let message = options.to_recipe("droplets").err().unwrap().to_string();
        assert!(message.contains("unknown parameter `steps`"), "{message}");
        options.set = vec![Setting::new("density", 7.0)];
        let recipe = options.to_recipe("droplets").unwrap();
        let stage = &recipe.stages[0];
        assert_eq!((recipe.seed, recipe.edges, recipe.sea_level), (5, [Edge::Closed; 4], None));
        assert_eq!(stage.model.get("density"), Some(Value::Number(7.0)));
        assert_eq!(stage.layers["hardness"].from, LayerOrigin::File("h.tif".into()));
        options.layers = vec![NamedFile::new("hardnes", "h.tif")];
        assert!(options.to_recipe("droplets").err().unwrap().to_string().contains("did you mean `hardness`"));
    }

    #[test]
    fn a_size_and_a_base_model_are_required() {
        let options = GenerateOptions { cell_size: Some(10.0), ..GenerateOptions::default() };
        let named = |option: &thalweg_core::declare::operation::OptionSpec| format!("--{}", option.command_flag());
        let message = options.check_form(WorkForm::Folder, named).unwrap_err().to_string();
        assert!(message.starts_with("--cells is missing: give"), "{message}");
        assert!(options.start("gradient_noise").err().unwrap().to_string().starts_with("cells is missing: give"));
        let mut options = GenerateOptions { cells: Some([4, 5]), ..options };
        assert!(options.check_form(WorkForm::Folder, named).is_ok());
        options.set("set", &json!({"amplitude": 300})).unwrap();
        options.set("cells", &json!(6)).unwrap();
        assert_eq!((options.model.set.len(), options.cells), (1, Some([6, 6])));
        assert_eq!(options.start("gradient_noise").unwrap().terrain().grid.size, [6, 6]);
        // The options of the model and its boundary conditions come first, each with the name of its group.
        let groups: Vec<_> = options.declared().iter().map(|option| option.group).collect();
        assert_eq!(groups[0], Some("boundary"));
        assert!(groups.contains(&Some("apply")) && groups.ends_with(&[None, None]));
    }
}
