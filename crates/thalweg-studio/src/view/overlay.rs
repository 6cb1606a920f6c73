//! [`Overlay`]: data laid over the land as colours, and the legend that reads them.

use thalweg::flow::{Drainage, Land, basins, hydraulic};
use thalweg::models::drainage::BASIN;
use thalweg::models::pipes::{PIPE_X, PIPE_Y};
use thalweg::pictures::colour::{Linear, from_oklab};
use thalweg::pictures::layer::{LayerOptions, range};
use thalweg::pictures::ramps::Ramp;
use thalweg::pictures::relief::Relief;
use thalweg::pictures::sample::quantile;
use thalweg::process::forest::{Forest, TREES};
use thalweg::products::slope::gradient;
use thalweg::terrain::field::Field;
use thalweg::terrain::{DISCHARGE, LOOSE, LayerSpec, POOL, SOIL, SUSPENDED, TREE_DENSITY, Terrain, WATER};
use thalweg::{Error, Result};

use crate::view::rivers::wet_depth;

/// Layers with an overlay of their own: none of them is offered by its bare name too.
const NAMED: [LayerSpec; 7] = [DISCHARGE, SUSPENDED, SOIL, WATER, POOL, BASIN, TREE_DENSITY];

/// What is shown over the land.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlay {
    /// Height of the ground.
    Height,
    /// Steepness of the ground.
    Slope,
    /// Depth of the sea, of lakes and of what flows.
    WaterDepth,
    /// Water that passes.
    Discharge,
    /// Land that drains through a cell.
    Catchment,
    /// Speed of the water.
    Velocity,
    /// Sediment in the water.
    Suspended,
    /// Sediment and soil on the bedrock.
    Loose,
    /// What was taken since the start.
    Wear,
    /// What was laid down since the start.
    Deposits,
    /// Kinds of soil.
    Soil,
    /// How firmly roots hold the ground.
    Trees,
    /// What drains to the same place.
    Basins,
    /// Height now less height at the start.
    Difference,
    /// Any other layer, by its name.
    Layer(String),
}

/// The colours of an overlay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Colours {
    /// From low to high.
    Ramp(&'static Ramp),
    /// Brown below 0, pale at 0, green-blue above.
    Diverging,
    /// A colour to each whole number; none to 0.
    Kinds,
}

impl Colours {
    /// The colour at `t`, 0 to 1 from the low end to the high; of kinds, of number `t`.
    pub fn at(&self, t: f32) -> Linear {
        match self {
            Self::Ramp(ramp) => ramp.at(t),
            Self::Diverging => diverging(t),
            Self::Kinds => kind(t),
        }
    }
}

/// How to read an overlay's colours.
#[derive(Debug, Clone, PartialEq)]
pub struct Legend {
    /// What is shown.
    pub title: String,
    /// Unit of the values; empty where they have none.
    pub unit: String,
    /// The colours.
    pub ramp: Colours,
    /// Value of the first colour.
    pub low: f32,
    /// Value of the last one.
    pub high: f32,
    /// Whether equal steps of colour are equal factors.
    pub log: bool,
}

impl Legend {
    /// Where a value stands between the ends, 0 to 1 inside; of kinds, the value itself.
    pub fn place(&self, value: f32) -> f32 {
        let ruler = |x: f32| if self.log { log(x) } else { x };
        match self.ramp {
            Colours::Kinds => value,
            _ => (ruler(value) - ruler(self.low)) / (ruler(self.high) - ruler(self.low)),
        }
    }

    /// A value's colour, and how much of the land it covers, 0 to 1: small amounts shine through.
    pub fn colour(&self, value: f32) -> (Linear, f32) {
        let t = self.place(value);
        let cover = match self.ramp {
            _ if t.is_nan() => 0.0,
            Colours::Kinds => f32::from(u8::from(value > 0.0)),
            Colours::Ramp(_) if self.low >= 0.0 && (self.log || self.low == 0.0) => (8.0 * t).clamp(0.0, 1.0),
            Colours::Diverging => (24.0 * (t - 0.5).abs()).clamp(0.0, 1.0),
            Colours::Ramp(_) => 1.0,
        };
        (if cover > 0.0 { self.ramp.at(t) } else { [0.0; 3] }, cover)
    }
}

impl Overlay {
    /// What this terrain can show. What compares with a start is offered too; without one it shows nothing.
    pub fn available(terrain: &Terrain) -> Vec<Self> {
        let has = |name: &str| terrain.layers.contains_key(name);
        let wet = terrain.grid.sea_level.is_some() || has(WATER.name) || has(POOL.name);
        let fast = has(DISCHARGE.name) || (has(PIPE_X.name) && has(PIPE_Y.name));
        let fixed = [
            (Self::Height, true),
            (Self::Slope, true),
            (Self::WaterDepth, wet),
            (Self::Discharge, has(DISCHARGE.name)),
            (Self::Catchment, true),
            (Self::Velocity, fast),
            (Self::Suspended, has(SUSPENDED.name)),
            (Self::Loose, terrain.loose.is_some()),
            (Self::Wear, true),
            (Self::Deposits, true),
            (Self::Soil, has(SOIL.name)),
            (Self::Trees, has(TREE_DENSITY.name) || terrain.tables.contains_key(TREES)),
            (Self::Basins, true),
            (Self::Difference, true),
        ];
        let others =
            terrain.layers.keys().filter(|name| !NAMED.iter().any(|spec| spec.name == *name)).cloned().map(Self::Layer);
        fixed.into_iter().filter(|(_, there)| *there).map(|(overlay, _)| overlay).chain(others).collect()
    }

    /// The overlay of that name: a layer's, or one of those that [`Overlay::name`] gives.
    ///
    /// # Errors
    /// When the terrain can show no such thing; the message lists what it can.
    pub fn find(name: &str, terrain: &Terrain) -> Result<Self> {
        let known = Self::available(terrain);
        let found = known.iter().find(|overlay| overlay.name() == name).cloned();
        found.ok_or_else(|| Error::unknown("overlay", name, known.iter().map(Self::name)))
    }

    /// Its name, for the command line.
    pub fn name(&self) -> &str {
        match self {
            Self::Height => "height",
            Self::Slope => "slope",
            Self::WaterDepth => "water",
            Self::Discharge => DISCHARGE.name,
            Self::Catchment => "catchment",
            Self::Velocity => "velocity",
            Self::Suspended => SUSPENDED.name,
            Self::Loose => LOOSE.name,
            Self::Wear => "wear",
            Self::Deposits => "deposits",
            Self::Soil => SOIL.name,
            Self::Trees => "trees",
            Self::Basins => "basins",
            Self::Difference => "difference",
            Self::Layer(name) => name,
        }
    }

    /// What is shown, in words.
    pub fn title(&self) -> String {
        let words = match self {
            Self::Height => "Height",
            Self::Slope => "Slope",
            Self::WaterDepth => "Depth of water",
            Self::Discharge => "Discharge",
            Self::Catchment => "Catchment",
            Self::Velocity => "Speed of the water",
            Self::Suspended => "Sediment in the water",
            Self::Loose => "Loose ground",
            Self::Wear => "Wear since the start",
            Self::Deposits => "Deposits since the start",
            Self::Soil => "Soil",
            Self::Trees => "Hold of roots",
            Self::Basins => "Basins",
            Self::Difference => "Difference to the start",
            Self::Layer(name) => return capital(&name.replace('_', " ")),
        };
        words.to_string()
    }

    /// The values' unit; a layer's own.
    pub fn unit(&self, terrain: &Terrain) -> String {
        let unit = match self {
            Self::Height | Self::WaterDepth | Self::Suspended | Self::Loose => "m",
            Self::Wear | Self::Deposits | Self::Difference => "m",
            Self::Slope => "°",
            Self::Discharge => DISCHARGE.unit,
            Self::Catchment => "km²",
            Self::Velocity => "m/s",
            Self::Soil | Self::Trees | Self::Basins => "",
            Self::Layer(name) => {
                let unit = terrain.layers.get(name).map_or("", |layer| layer.unit.as_str());
                return if unit == "1" { String::new() } else { unit.to_string() };
            }
        };
        unit.to_string()
    }

    /// The values by cell of the terrain; NaN where there is nothing to say.
    ///
    /// # Errors
    /// When the terrain lacks what is to be shown, or the start is of another size.
    pub fn values(&self, terrain: &Terrain, start: Option<&Terrain>) -> Result<Field<f32>> {
        let size = terrain.grid.size;
        let layer = |name: &str| {
            let known = terrain.layers.get(name).filter(|layer| layer.cells.size() == size);
            known
                .map(|layer| layer.cells.to_float())
                .ok_or_else(|| Error::unknown("layer", name, terrain.layers.keys().map(String::as_str)))
        };
        let change = |sign: f32, least: f32| {
            let Some(start) = start else { return Ok(Field::new(size, f32::NAN)) };
            if start.grid.size != size {
                let ([rows, cols], [want_rows, want_cols]) = (start.grid.size, size);
                let problem = format!("the start is {rows} × {cols} cells; the terrain is {want_rows} × {want_cols}");
                return Err(Error::layer("difference", problem));
            }
            Ok(Field::generate(size, |i, j| {
                let units = i64::from(terrain.ground[(i, j)].0) - i64::from(start.ground[(i, j)].0);
                (sign * (units as f64 / thalweg::terrain::height::UNITS) as f32).max(least)
            }))
        };
        let values = match self {
            Self::Height => terrain.metres(),
            Self::Slope => Field::generate(size, |i, j| {
                let [east, north] = gradient(terrain, i, j);
                (east * east + north * north).sqrt().atan().to_degrees() as f32
            }),
            Self::WaterDepth => wet_depth(terrain),
            Self::Discharge => layer(DISCHARGE.name)?,
            Self::Catchment => catchments(terrain),
            Self::Velocity if terrain.layers.contains_key(PIPE_X.name) => {
                let (x, y) = (layer(PIPE_X.name)?, layer(PIPE_Y.name)?);
                Field::generate(size, |i, j| x[(i, j)].hypot(y[(i, j)]))
            }
            Self::Velocity => layer(DISCHARGE.name)?.map(|q| hydraulic::velocity(*q)),
            Self::Suspended => layer(SUSPENDED.name)?,
            Self::Loose => match &terrain.loose {
                Some(loose) => loose.map(|h| h.metres_f32()),
                None => return Err(Error::layer(LOOSE.name, "is not kept by this terrain: all of it is bedrock")),
            },
            Self::Wear => change(-1.0, 0.0)?,
            Self::Deposits => change(1.0, 0.0)?,
            Self::Difference => change(1.0, f32::MIN)?,
            Self::Soil => layer(SOIL.name)?,
            Self::Trees if !terrain.layers.contains_key(TREE_DENSITY.name) => Forest::read(terrain)?.density().clone(),
            Self::Trees => layer(TREE_DENSITY.name)?,
            Self::Basins => {
                let land = Land::of(terrain);
                let drainage = Drainage::of(&land);
                basins::basins(&drainage.surface(&land), drainage.directions())?.map(|n| *n as f32)
            }
            Self::Layer(name) => layer(name)?,
        };
        Ok(Field::generate(size, |i, j| if terrain.is_nodata(i, j) { f32::NAN } else { values[(i, j)] }))
    }

    /// The legend of these values, its ends chosen as for the library's maps.
    ///
    /// # Errors
    /// When the values are not of the terrain's size.
    pub fn legend(&self, terrain: &Terrain, values: &Field<f32>) -> Result<Legend> {
        if values.size() != terrain.grid.size {
            return Err(Error::layer(self.name(), "values are not of the terrain's size"));
        }
        let fitting = LayerOptions::fitting(self.name(), "");
        let (ramp, log) = match self {
            Self::Height => (Colours::Ramp(Ramp::land()), false),
            Self::Catchment => (Colours::Ramp(Ramp::water()), true),
            Self::Deposits => (Colours::Ramp(Ramp::sediment()), false),
            Self::Soil => (Colours::Ramp(Ramp::soil()), false),
            Self::Basins => (Colours::Kinds, false),
            Self::Difference => (Colours::Diverging, false),
            _ => (Colours::Ramp(fitting.ramp), fitting.log),
        };
        let relief = Relief::new(terrain, None)?;
        let [low, high] = match self {
            Self::Height => relief.range(),
            Self::Soil => [0.0, 5.0],
            Self::Basins => {
                let most = values.as_slice().iter().fold(1.0, |most: f32, n| if *n > most { *n } else { most });
                [1.0, most.max(2.0)]
            }
            Self::Difference => {
                let size = |v: f32| Some(v.abs()).filter(|v| v.is_finite());
                let most = quantile(&relief.sorted(|i, j| size(values[(i, j)])), 0.99).max(0.01);
                [-most, most]
            }
            _ => fitting.range.unwrap_or_else(|| range(&relief, values, log)),
        };
        Ok(Legend { title: self.title(), unit: self.unit(terrain), ramp, low, high, log })
    }
}

/// Land that drains through each cell, in km².
fn catchments(terrain: &Terrain) -> Field<f32> {
    Drainage::of(&Land::of(terrain)).yields(terrain.grid.cell_area() * 1e-6)
}

/// Brown over nearly white to green-blue, by OKLab's lightness and hue; 0.5 is the middle.
fn diverging(t: f32) -> Linear {
    let t = f64::from(if t > 0.0 { t.min(1.0) } else { 0.0 }) * 2.0 - 1.0;
    let (far, end) = (t.abs(), if t < 0.0 { [0.42, 0.06, 0.085] } else { [0.46, -0.075, -0.045] });
    // The lightness falls slowly at first, so that small changes have a colour before they are dark.
    let light = 0.95 + (end[0] - 0.95) * far;
    let strength = far.sqrt() * (1.0 - 0.15 * far);
    from_oklab([light, end[1] * strength, end[2] * strength]).map(|x| x.clamp(0.0, 1.0))
}

/// The colour of a whole number: neighbours among the numbers are far apart on the wheel.
fn kind(number: f32) -> Linear {
    // A multiple of the golden ratio's part never comes near where it was before.
    let turn = f64::from(number) * 0.618_033_988_749_895;
    let light = 0.62 + 0.16 * (f64::from(number) * 0.414_213_562_373_095).fract();
    let angle = turn.fract() * std::f64::consts::TAU;
    from_oklab([light, 0.085 * angle.cos(), 0.085 * angle.sin()]).map(|x| x.clamp(0.0, 1.0))
}

fn log(x: f32) -> f32 {
    if x > 0.0 { x.ln() } else { f32::NAN }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg::pictures::colour::to_oklab;
    use thalweg::terrain::Cells;
    use thalweg::terrain::grid::Grid;
    use thalweg::terrain::height::Height;

    /// Two valleys that fall to the south, apart by a ridge; 10 m cells.
    fn land() -> Terrain {
        let mut terrain = Terrain::new(Grid::new([40, 41], 10.0).unwrap());
        for i in 0..40 {
            for j in 0..41usize {
                let off = j.abs_diff(10).min(j.abs_diff(30));
                terrain.ground[(i, j)] = Height::saturating(300.0 - 2.0 * i as f64 + 10.0 * off as f64);
            }
        }
        terrain
    }

    #[test]
    fn all_that_is_available_has_values_and_a_legend() {
        let mut terrain = land();
        let start = terrain.clone();
        terrain.ground[(5, 5)] = Height::saturating(500.0);
        terrain.grid.sea_level = Some(Height::saturating(230.0));
        let size = terrain.grid.size;
        terrain.insert(&DISCHARGE, Cells::Float(Field::new(size, 2.0))).unwrap();
        terrain.insert(&SOIL, Cells::Count(Field::new(size, 3))).unwrap();
        terrain.insert(&TREE_DENSITY, Cells::Float(Field::new(size, 0.5))).unwrap();
        terrain.insert(&LOOSE, Cells::Height(Field::new(size, Height::saturating(1.0)))).unwrap();
        let own = LayerSpec::floats("own_layer", "kg", "Ours.");
        terrain.insert(&own, Cells::Float(Field::generate(size, |i, _| i as f32))).unwrap();
        let available = Overlay::available(&terrain);
        assert_eq!(available.len(), 14, "{available:?}");
        for overlay in &available {
            let values = overlay.values(&terrain, Some(&start)).unwrap();
            let legend = overlay.legend(&terrain, &values).unwrap();
            assert!(legend.low < legend.high && !legend.title.is_empty(), "{overlay:?} {legend:?}");
            let shown = values.as_slice().iter().map(|v| legend.colour(*v));
            assert!(shown.clone().all(|(c, cover)| c.iter().all(|x| x.is_finite()) && (0.0..=1.0).contains(&cover)));
            assert_eq!(Overlay::find(overlay.name(), &terrain).unwrap(), *overlay);
        }
        let own = Overlay::find("own_layer", &terrain).unwrap();
        assert_eq!((own.title(), own.unit(&terrain)), ("Own layer".to_string(), "kg".to_string()));
        assert!(Overlay::find("heigth", &terrain).unwrap_err().to_string().contains("height"));
    }

    #[test]
    fn what_is_not_there_is_refused_and_no_start_shows_nothing() {
        let terrain = land();
        assert!(!Overlay::available(&terrain).contains(&Overlay::Discharge));
        assert!(Overlay::Discharge.values(&terrain, None).is_err());
        assert!(Overlay::Loose.values(&terrain, None).is_err());
        let values = Overlay::Difference.values(&terrain, None).unwrap();
        assert!(values.as_slice().iter().all(|v| v.is_nan()));
        let legend = Overlay::Difference.legend(&terrain, &values).unwrap();
        assert_eq!(legend.colour(f32::NAN).1, 0.0);
        let small = Terrain::new(Grid::new([3, 3], 10.0).unwrap());
        assert!(Overlay::Difference.values(&terrain, Some(&small)).is_err());
    }

    #[test]
    fn changes_are_signed_and_the_middle_is_pale() {
        let start = land();
        let mut now = start.clone();
        now.ground[(3, 3)] = Height(start.ground[(3, 3)].0 + 65_536 * 4);
        now.ground[(9, 9)] = Height(start.ground[(9, 9)].0 - 65_536 * 2);
        let at = |overlay: Overlay| {
            let values = overlay.values(&now, Some(&start)).unwrap();
            [values[(3, 3)], values[(9, 9)], values[(0, 0)]]
        };
        assert_eq!(at(Overlay::Difference), [4.0, -2.0, 0.0]);
        assert_eq!(at(Overlay::Wear), [0.0, 2.0, 0.0]);
        assert_eq!(at(Overlay::Deposits), [4.0, 0.0, 0.0]);
        let values = Overlay::Difference.values(&now, Some(&start)).unwrap();
        let legend = Overlay::Difference.legend(&now, &values).unwrap();
        assert_eq!(legend.low, -legend.high);
        let light = |t: f32| to_oklab(Colours::Diverging.at(t))[0];
        assert!(light(0.5) > 0.9 && light(0.0) < 0.6 && light(1.0) < 0.6 && legend.colour(0.0).1 == 0.0);
    }

    #[test]
    fn two_valleys_are_two_basins_of_two_colours() {
        let mut terrain = land();
        terrain.grid.edges = [thalweg::terrain::grid::Edge::Closed; 4];
        terrain.grid.edges[2] = thalweg::terrain::grid::Edge::Open;
        let values = Overlay::Basins.values(&terrain, None).unwrap();
        let legend = Overlay::Basins.legend(&terrain, &values).unwrap();
        let (west, east) = (values[(5, 10)], values[(5, 30)]);
        assert!(west != east && west > 0.0 && values[(5, 8)] == west);
        let apart = |a: f32, b: f32| {
            let (a, b) = (to_oklab(legend.colour(a).0), to_oklab(legend.colour(b).0));
            (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
        };
        assert!(apart(west, east) > 0.06);
        // Twelve numbers in a row are told apart: neighbours well, all a little.
        assert!((1..12).all(|n| apart(n as f32, n as f32 + 1.0) > 0.08));
        assert_eq!(legend.colour(0.0).1, 0.0);
    }

    #[test]
    fn catchments_count_the_land_above() {
        let values = Overlay::Catchment.values(&land(), None).unwrap();
        let most = values.as_slice().iter().fold(0f32, |a, b| a.max(*b));
        // At most all of it: 40 × 41 cells of 100 m².
        assert!(most > 0.01 && most < 0.164, "{most}");
    }
}
