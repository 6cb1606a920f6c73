//! [`Overlay`]: a quantity that can be drawn over the terrain as colours, in a picture or a window, with its name,
//! unit and values.

mod legend;
mod values;

use serde::{Deserialize, Serialize};

use crate::products::probe::Reading;
use thalweg_core::base::names::title_from_name;
use thalweg_core::terrain::{
    Cells, DISCHARGE, DRAINAGE_AREA, LayerOverlay, LayerSpec, POOL, SEDIMENT, SOIL, SUSPENDED, TREE_DENSITY, WATER,
};
use thalweg_core::{Error, Result, Terrain};
use thalweg_models::models::drainage::{ACCUMULATION, BASIN};
use thalweg_models::models::pipes::{PIPE_X, PIPE_Y};
use thalweg_models::process::forest::TREES;

pub use legend::{Colours, OverlayLegend};

/// A quantity drawn over the terrain. [`Overlay::unit`] returns its unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Overlay {
    /// The elevation of the surface.
    Height,
    /// The slope of the surface.
    Slope,
    /// The depth of the sea, of lakes and of flowing water.
    WaterDepth,
    /// The discharge.
    Discharge,
    /// The drainage area of a cell: that of the layer if the terrain has it.
    DrainageArea,
    /// The flow velocity.
    Velocity,
    /// The suspended sediment, as thickness over the cell.
    Suspended,
    /// The thickness of sediment and soil on the bedrock.
    Sediment,
    /// The lowering of the surface since the start, 0 or more.
    Wear,
    /// The raising of the surface since the start, 0 or more.
    Deposits,
    /// The number of the kind of soil.
    Soil,
    /// The stabilisation of the ground by roots: 0 none, 1 complete.
    Trees,
    /// The number of the drainage basin, from 1; 0 for cells that belong to none.
    Basins,
    /// The current elevation minus that at the start.
    Difference,
    /// Any other layer, by name.
    Layer(String),
}

/// The layers of quantities that have an overlay of their own, from which they have their titles.
static TITLED_LAYERS: [(LayerSpec, Overlay); 9] = [
    (WATER, Overlay::WaterDepth),
    (DISCHARGE, Overlay::Discharge),
    (DRAINAGE_AREA, Overlay::DrainageArea),
    (ACCUMULATION, Overlay::DrainageArea),
    (SUSPENDED, Overlay::Suspended),
    (SEDIMENT, Overlay::Sediment),
    (SOIL, Overlay::Soil),
    (TREE_DENSITY, Overlay::Trees),
    (BASIN, Overlay::Basins),
];

/// Returns the title of a layer in words: that of the overlay of the same quantity, or else its name.
pub fn layer_title(name: &str) -> String {
    find_quantity(name).map_or_else(|| title_from_name(name), Overlay::title)
}

/// Returns the overlay of the quantity that a layer contains, if the library defines one.
fn find_quantity(layer: &str) -> Option<&'static Overlay> {
    TITLED_LAYERS.iter().find(|(spec, _)| spec.name == layer).map(|(_, overlay)| overlay)
}

impl Overlay {
    /// Returns the overlays that this terrain can show. Those that compare it with a start are included; without a
    /// start they have no values.
    pub fn list_available(terrain: &Terrain) -> Vec<Self> {
        let has = |name: &str| terrain.layers.contains_key(name);
        let wet = terrain.grid.sea_level.is_some() || has(WATER.name) || has(POOL.name);
        let fast = has(DISCHARGE.name) || (has(PIPE_X.name) && has(PIPE_Y.name));
        let fixed = [
            (Self::Height, true),
            (Self::Slope, true),
            (Self::WaterDepth, wet),
            (Self::Discharge, has(DISCHARGE.name)),
            (Self::DrainageArea, true),
            (Self::Velocity, fast),
            (Self::Suspended, has(SUSPENDED.name)),
            (Self::Sediment, terrain.loose.is_some()),
            (Self::Wear, true),
            (Self::Deposits, true),
            (Self::Soil, has(SOIL.name)),
            (Self::Trees, has(TREE_DENSITY.name) || terrain.tables.contains_key(TREES)),
            (Self::Basins, true),
            (Self::Difference, true),
        ];
        let others = terrain.layers.iter().filter(|(_, layer)| layer.traits.overlay == LayerOverlay::ByName);
        let others = others.map(|(name, _)| Self::Layer(name.clone()));
        fixed.into_iter().filter(|(_, there)| *there).map(|(overlay, _)| overlay).chain(others).collect()
    }

    /// Returns the overlay with the given name: that of a layer, which may be an earlier one, or one returned by
    /// [`Overlay::name`].
    ///
    /// # Errors
    /// Returns an error if the terrain cannot show such an overlay; the message lists the available ones.
    pub fn find(name: &str, terrain: &Terrain) -> Result<Self> {
        let known = Self::list_available(terrain);
        let current = terrain.resolve_layer_name(name);
        let found = known.iter().find(|overlay| overlay.name() == current).cloned();
        found.ok_or_else(|| Error::unknown_name("overlay", name, known.iter().map(Self::name)))
    }

    /// Returns the name, as used on the command line.
    pub fn name(&self) -> &str {
        match self {
            Self::Height => "height",
            Self::Slope => "slope",
            Self::WaterDepth => "water",
            Self::Discharge => DISCHARGE.name,
            Self::DrainageArea => DRAINAGE_AREA.name,
            Self::Velocity => "velocity",
            Self::Suspended => SUSPENDED.name,
            Self::Sediment => SEDIMENT.name,
            Self::Wear => "wear",
            Self::Deposits => "deposits",
            Self::Soil => SOIL.name,
            Self::Trees => "trees",
            Self::Basins => "basins",
            Self::Difference => "difference",
            Self::Layer(name) => name,
        }
    }

    /// Returns the title in words.
    pub fn title(&self) -> String {
        let words = match self {
            Self::Height => "Elevation",
            Self::Slope => "Slope",
            Self::WaterDepth => "Water depth",
            Self::Discharge => "Discharge",
            Self::DrainageArea => "Drainage area",
            Self::Velocity => "Flow velocity",
            Self::Suspended => "Suspended sediment",
            Self::Sediment => "Sediment thickness",
            Self::Wear => "Erosion since the start",
            Self::Deposits => "Deposition since the start",
            Self::Soil => "Soil",
            Self::Trees => "Root stabilisation",
            Self::Basins => "Basin",
            Self::Difference => "Difference from the start",
            // The name distinguishes the layer from the overlay of the same quantity.
            Self::Layer(name) => {
                let title = layer_title(name);
                return if find_quantity(name).is_some() { format!("{title} ({name})") } else { title };
            }
        };
        words.to_string()
    }

    /// Returns the unit of the values; for a layer, the layer's unit. Empty if they have none.
    pub fn unit(&self, terrain: &Terrain) -> String {
        let unit = match self {
            Self::Height | Self::WaterDepth | Self::Suspended | Self::Sediment => "m",
            Self::Wear | Self::Deposits | Self::Difference => "m",
            Self::Slope => "°",
            Self::Discharge => DISCHARGE.unit,
            Self::DrainageArea => "km²",
            Self::Velocity => "m/s",
            Self::Soil | Self::Trees | Self::Basins => "",
            Self::Layer(name) => {
                let unit = terrain.layers.get(name).map_or("", |layer| layer.unit.as_str());
                return if unit == "1" { String::new() } else { unit.to_string() };
            }
        };
        unit.to_string()
    }

    /// Returns true if the values are whole numbers, such as numbers of basins.
    pub fn is_whole(&self, terrain: &Terrain) -> bool {
        match self {
            Self::Soil | Self::Basins => true,
            Self::Layer(name) => {
                let layer = terrain.layers.get(name);
                layer.is_some_and(|layer| matches!(layer.cells, Cells::Count(_)))
            }
            _ => false,
        }
    }

    /// Returns a value of this overlay with its title and unit, for display.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_render::products::overlay::Overlay;
    ///
    /// let terrain = Terrain::new(Grid::new([2, 2], 10.0)?);
    /// assert_eq!(Overlay::Slope.read_value(&terrain, 12.34).to_string(), "Slope 12.3°");
    /// assert_eq!(Overlay::DrainageArea.read_value(&terrain, 1.234).to_string(), "Drainage area 1.23 km²");
    /// assert_eq!(Overlay::Basins.read_value(&terrain, 105.0).to_string(), "Basin 105");
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn read_value(&self, terrain: &Terrain, value: f32) -> Reading {
        Reading { title: self.title(), unit: self.unit(terrain), value, is_whole: self.is_whole(terrain) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::colour::to_oklab;
    use thalweg_core::{Field, Grid, Height};

    /// Two valleys that fall to the south, separated by a ridge; 10 m cells.
    fn land() -> Terrain {
        let mut terrain = Terrain::new(Grid::new([40, 41], 10.0).unwrap());
        for i in 0..40 {
            for j in 0..41usize {
                let off = j.abs_diff(10).min(j.abs_diff(30));
                terrain.ground[(i, j)] = Height::from_metres_clamped(300.0 - 2.0 * i as f64 + 10.0 * off as f64);
            }
        }
        terrain
    }

    #[test]
    fn all_that_is_available_has_values_and_a_legend() {
        let mut terrain = land();
        let start = terrain.clone();
        terrain.ground[(5, 5)] = Height::from_metres_clamped(500.0);
        terrain.grid.sea_level = Some(Height::from_metres_clamped(230.0));
        let size = terrain.grid.size;
        terrain.insert_layer(&DISCHARGE, Cells::Float(Field::new(size, 2.0))).unwrap();
        terrain.insert_layer(&SOIL, Cells::Count(Field::new(size, 3))).unwrap();
        terrain.insert_layer(&TREE_DENSITY, Cells::Float(Field::new(size, 0.5))).unwrap();
        terrain.insert_layer(&SEDIMENT, Cells::Height(Field::new(size, Height::from_metres_clamped(1.0)))).unwrap();
        let own = LayerSpec::floats("own_layer", "kg", "Ours.");
        terrain.insert_layer(&own, Cells::Float(Field::from_fn(size, |i, _| i as f32))).unwrap();
        let available = Overlay::list_available(&terrain);
        assert_eq!(available.len(), 14, "{available:?}");
        for overlay in &available {
            let values = overlay.compute_values(&terrain, Some(&start)).unwrap();
            let legend = overlay.build_legend(&terrain, &values).unwrap();
            assert!(legend.low < legend.high && !legend.title.is_empty(), "{overlay:?} {legend:?}");
            let shown = values.as_slice().iter().map(|v| legend.colour_and_opacity(*v));
            assert!(shown.clone().all(|(c, cover)| c.iter().all(|x| x.is_finite()) && (0.0..=1.0).contains(&cover)));
            assert_eq!(Overlay::find(overlay.name(), &terrain).unwrap(), *overlay);
        }
        assert_eq!(layer_title("drainage_area"), "Drainage area");
        assert_eq!(Overlay::Layer("accumulation".into()).title(), "Drainage area (accumulation)");
        let own = Overlay::find("own_layer", &terrain).unwrap();
        assert_eq!((own.title(), own.unit(&terrain)), ("Own layer".to_string(), "kg".to_string()));
        assert!(Overlay::find("heigth", &terrain).unwrap_err().to_string().contains("height"));
        // The earlier names of two overlays.
        assert_eq!(Overlay::find("loose", &terrain).unwrap(), Overlay::Sediment);
        assert_eq!(Overlay::find("catchment", &terrain).unwrap(), Overlay::DrainageArea);
    }

    #[test]
    fn what_is_not_there_is_refused_and_no_start_shows_nothing() {
        let terrain = land();
        assert!(!Overlay::list_available(&terrain).contains(&Overlay::Discharge));
        assert!(Overlay::Discharge.compute_values(&terrain, None).is_err());
        assert!(Overlay::Sediment.compute_values(&terrain, None).is_err());
        let values = Overlay::Difference.compute_values(&terrain, None).unwrap();
        assert!(values.as_slice().iter().all(|v| v.is_nan()));
        let legend = Overlay::Difference.build_legend(&terrain, &values).unwrap();
        assert_eq!(legend.colour_and_opacity(f32::NAN).1, 0.0);
        let small = Terrain::new(Grid::new([3, 3], 10.0).unwrap());
        assert!(Overlay::Difference.compute_values(&terrain, Some(&small)).is_err());
    }

    #[test]
    fn changes_are_signed_and_the_middle_is_pale() {
        let start = land();
        let mut now = start.clone();
        now.ground[(3, 3)] = Height(start.ground[(3, 3)].0 + 65_536 * 4);
        now.ground[(9, 9)] = Height(start.ground[(9, 9)].0 - 65_536 * 2);
        let at = |overlay: Overlay| {
            let values = overlay.compute_values(&now, Some(&start)).unwrap();
            [values[(3, 3)], values[(9, 9)], values[(0, 0)]]
        };
        assert_eq!(at(Overlay::Difference), [4.0, -2.0, 0.0]);
        assert_eq!(at(Overlay::Wear), [0.0, 2.0, 0.0]);
        assert_eq!(at(Overlay::Deposits), [4.0, 0.0, 0.0]);
        let values = Overlay::Difference.compute_values(&now, Some(&start)).unwrap();
        let legend = Overlay::Difference.build_legend(&now, &values).unwrap();
        assert_eq!(legend.low, -legend.high);
        let light = |t: f32| to_oklab(Colours::Diverging.colour_at(t))[0];
        assert!(light(0.5) > 0.9 && light(0.0) < 0.6 && light(1.0) < 0.6 && legend.colour_and_opacity(0.0).1 == 0.0);
    }

    #[test]
    fn two_valleys_are_two_basins_of_two_colours() {
        let mut terrain = land();
        terrain.grid.edges = [thalweg_core::terrain::grid::Edge::Closed; 4];
        terrain.grid.edges[2] = thalweg_core::terrain::grid::Edge::Open;
        let values = Overlay::Basins.compute_values(&terrain, None).unwrap();
        let legend = Overlay::Basins.build_legend(&terrain, &values).unwrap();
        let (west, east) = (values[(5, 10)], values[(5, 30)]);
        assert!(west != east && west > 0.0 && values[(5, 8)] == west);
        let apart = |a: f32, b: f32| {
            let (a, b) = (to_oklab(legend.colour_and_opacity(a).0), to_oklab(legend.colour_and_opacity(b).0));
            (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
        };
        assert!(apart(west, east) > 0.06);
        // Twelve consecutive numbers have distinguishable colours, and neighbours among them clearly different ones.
        assert!((1..12).all(|n| apart(n as f32, n as f32 + 1.0) > 0.08));
        assert_eq!(legend.colour_and_opacity(0.0).1, 0.0);
    }

    #[test]
    fn drainage_areas_count_the_land_above() {
        let values = Overlay::DrainageArea.compute_values(&land(), None).unwrap();
        let most = values.as_slice().iter().fold(0f32, |a, b| a.max(*b));
        // At most the whole area: 40 × 41 cells of 100 m².
        assert!(most > 0.01 && most < 0.164, "{most}");
        // The layer, in m², takes precedence.
        let mut refined = land();
        let area = Field::new(refined.grid.size, 2.5e6);
        refined.insert_layer(&DRAINAGE_AREA, Cells::Float(area)).unwrap();
        assert_eq!(Overlay::DrainageArea.compute_values(&refined, None).unwrap()[(3, 3)], 2.5);
        assert!(!Overlay::list_available(&refined).contains(&Overlay::Layer(DRAINAGE_AREA.name.to_string())));
    }
}
