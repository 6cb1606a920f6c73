//! The terrain models and the list of all of them. Each model has a file or a folder; the two subdivision models
//! share a file.

pub mod cellular_noise;
pub mod climate;
pub mod coast;
pub mod delta;
pub mod diamond_square;
pub mod drainage;
pub mod droplets;
pub mod dunes;
pub mod elevation;
pub mod fault_formation;
pub mod fluvial;
pub mod fourier_synthesis;
pub mod glacier;
pub mod gradient_noise;
pub mod hillslope;
pub mod hydrology;
pub mod manual;
pub mod outlets;
pub mod pipes;
pub mod planation;
pub mod plates;
pub mod river_network;
pub mod shape;
pub mod soils;
pub mod stream_power;
pub mod thermal;
pub mod trees;
pub mod volcano;

use crate::model::{Model, Role};
use thalweg_core::terrain::{LAYERS, LayerSpec, current_layer_name};
use thalweg_core::{Error, Result};

/// A function that creates one model with default parameters.
type Make = fn() -> Box<dyn Model>;

/// All models of the library. To add one, write its file, its `mod` line above and its line here; the conformance
/// tests then cover it.
const MODELS: &[Make] = &[
    || Box::<gradient_noise::GradientNoise>::default(),
    || Box::<cellular_noise::CellularNoise>::default(),
    || Box::<diamond_square::DiamondSquare>::default(),
    || Box::<diamond_square::MidpointDisplacement>::default(),
    || Box::<fourier_synthesis::FourierSynthesis>::default(),
    || Box::<fault_formation::FaultFormation>::default(),
    || Box::<shape::Shape>::default(),
    || Box::<volcano::Volcano>::default(),
    || Box::<plates::Plates>::default(),
    || Box::<elevation::Elevation>::default(),
    || Box::<climate::Climate>::default(),
    || Box::<stream_power::StreamPower>::default(),
    || Box::<droplets::Droplets>::default(),
    || Box::<thermal::Thermal>::default(),
    || Box::<drainage::DrainageLayers>::default(),
    || Box::<soils::Soils>::default(),
    || Box::<hillslope::Hillslope>::default(),
    || Box::<planation::Planation>::default(),
    || Box::<glacier::Glacier>::default(),
    || Box::<dunes::Dunes>::default(),
    || Box::<coast::Coast>::default(),
    || Box::<fluvial::Fluvial>::default(),
    || Box::<pipes::Pipes>::default(),
    || Box::<hydrology::Hydrology>::default(),
    || Box::<trees::Trees>::default(),
    || Box::<river_network::RiverNetwork>::default(),
    || Box::<delta::Delta>::default(),
    || Box::<outlets::OpenOutlets>::default(),
    || Box::<manual::Manual>::default(),
];

/// A set of models that can be looked up by name: the library's and a caller's own.
///
/// # Examples
/// ```
/// use thalweg_models::models::Models;
/// use thalweg_models::models::thermal::Thermal;
///
/// let models = Models::default();
/// assert_eq!(models.find("thermal")?.about().name, "thermal");
/// assert_eq!(models.layer("hardness").unwrap().unit, "1");
/// // A second model of the same name is refused.
/// assert!(models.with_model::<Thermal>().is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Models(Vec<Make>);

impl Default for Models {
    /// Returns the models of the library.
    fn default() -> Self {
        Self(MODELS.to_vec())
    }
}

impl Models {
    /// Adds a model at the end of the list.
    ///
    /// # Errors
    /// Returns an error if a model of that name is already in the list.
    pub fn with_model<M: Model + Default + 'static>(mut self) -> Result<Self> {
        let name = M::default().about().name;
        if self.find(name).is_ok() {
            return Err(Error::invalid_value("model", name, "a name that no other model has"));
        }
        self.0.push(|| Box::<M>::default());
        Ok(self)
    }

    /// Returns the model of that name, with default parameters.
    ///
    /// # Errors
    /// Returns an error that lists all names if there is no such model.
    pub fn find(&self, name: &str) -> Result<Box<dyn Model>> {
        self.all().find(|model| model.about().name == name).ok_or_else(|| {
            let names: Vec<&str> = self.all().map(|model| model.about().name).collect();
            Error::unknown_name("model", name, names)
        })
    }

    /// Returns every model with default parameters, in the list's order.
    pub fn all(&self) -> impl Iterator<Item = Box<dyn Model>> {
        self.0.iter().map(|make| make())
    }

    /// Returns every layer that a model reads or writes, with its specification. A layer occurs once for each
    /// declaration by a model.
    pub fn layers(&self) -> impl Iterator<Item = LayerSpec> {
        self.all().flat_map(|model| {
            let about = model.about();
            [about.needs, about.uses, about.writes].concat()
        })
    }

    /// Returns the specification of the layer of that name, the first one if several models declare it, and `None` if
    /// none does. If no layer has the name, it may be an [earlier name](thalweg_core::terrain::EARLIER_LAYER_NAMES).
    pub fn layer(&self, name: &str) -> Option<LayerSpec> {
        let find = |name: &str| self.layers().find(|spec| spec.name == name);
        find(name).or_else(|| find(current_layer_name(name)))
    }

    /// Returns every layer that is declared, each name once: those of [`Models::layers`], then the rest of [`LAYERS`].
    /// Code that treats some layers differently filters this list by their
    /// [traits](thalweg_core::terrain::LayerTraits).
    pub fn declared_layers(&self) -> Vec<LayerSpec> {
        let mut declared: Vec<LayerSpec> = Vec::new();
        for spec in self.layers().chain(LAYERS.iter().copied()) {
            // The list is short, so a linear search is enough and keeps the order of declaration.
            if !declared.iter().any(|known| known.name == spec.name) {
                declared.push(spec);
            }
        }
        declared
    }

    /// Returns the one of [`Models::declared_layers`] that has that name, which may be an earlier one as in
    /// [`Models::layer`]; `None` if there is none.
    pub fn declared_layer(&self, name: &str) -> Option<LayerSpec> {
        let declared = self.declared_layers();
        let find = |name: &str| declared.iter().copied().find(|spec| spec.name == name);
        find(name).or_else(|| find(current_layer_name(name)))
    }
}

/// Returns the library's model of that name, with default parameters.
///
/// # Errors
/// Returns an error that lists all names if there is no such model.
///
/// # Examples
/// ```
/// use thalweg_core::declare::params::Value;
/// use thalweg_models::models::find_model;
///
/// let thermal = find_model("thermal")?;
/// assert_eq!(thermal.get("talus"), Some(Value::Number(34.0)));
/// let error = find_model("thermel").err().unwrap();
/// assert!(error.to_string().contains("did you mean `thermal`?"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn find_model(name: &str) -> Result<Box<dyn Model>> {
    Models::default().find(name)
}

/// Returns the library's first model that plays a role. Its parameters have the values that it declares for that
/// role, and defaults otherwise.
///
/// # Errors
/// Returns an error if no model plays the role, or if the model rejects a value that it declares for it.
pub fn find_model_for_role(role: Role) -> Result<Box<dyn Model>> {
    let part = |model: &dyn Model| model.roles().iter().find(|part| part.role == role);
    let mut model = all_models()
        .find(|model| part(&**model).is_some())
        .ok_or_else(|| Error::invalid_value("role", format!("{role:?}"), "a role that a model has"))?;
    let owner = model.about().name;
    for (name, value) in part(&*model).map_or(&[][..], |part| part.with) {
        model.set(owner, name, &(*value).into())?;
    }
    Ok(model)
}

/// Returns every model of the library with default parameters, in the list's order.
///
/// # Examples
/// ```
/// use thalweg_models::model::Family;
/// use thalweg_models::models::all_models;
///
/// // The models that create terrain.
/// let base = all_models().filter(|model| model.about().family == Family::Base);
/// let names: Vec<&str> = base.map(|model| model.about().name).collect();
/// assert!(names.contains(&"gradient_noise") && !names.contains(&"thermal"));
/// ```
pub fn all_models() -> impl Iterator<Item = Box<dyn Model>> {
    MODELS.iter().map(|make| make())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_a_title_of_its_own() {
        let titles: Vec<&str> = all_models().map(|model| model.about().title).collect();
        for (number, title) in titles.iter().enumerate() {
            assert!(!title.is_empty() && !titles[..number].contains(title), "{number}: {title:?}");
        }
    }

    #[test]
    fn a_unit_is_written_in_one_way() {
        for model in all_models() {
            for param in model.declared() {
                let odd = ["yr", "year", "deg", "points"].into_iter().find(|odd| param.unit.contains(odd));
                assert_eq!(odd, None, "{}.{}: {}", model.about().name, param.name, param.unit);
            }
        }
    }
}
