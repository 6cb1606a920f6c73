//! The nouns: what a measure is, what all of them are, and how far two lists lie apart.

use serde::Serialize;

use thalweg_core::{Error, Grid, Result};

/// What a measure tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Heights and slopes.
    Relief,
    /// Curvature, landforms and spectrum.
    Texture,
    /// Where water goes.
    Drainage,
    /// Laws of the channels.
    Network,
    /// Whether the grid shows.
    Grid,
    /// Whether the map's frame shows.
    Rim,
}

impl Group {
    /// All groups, in the order in which they are printed.
    pub const ALL: [Self; 6] = [Self::Relief, Self::Texture, Self::Drainage, Self::Network, Self::Grid, Self::Rim];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Relief => "Relief",
            Self::Texture => "Texture",
            Self::Drainage => "Drainage",
            Self::Network => "Channel network",
            Self::Grid => "Traces of the grid",
            Self::Rim => "Traces of the frame",
        }
    }
}

/// What is known of a measure before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spec {
    /// Its name in JSON; never changed.
    pub name: &'static str,
    /// Where it is printed.
    pub group: Group,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Its unit; `1` for pure numbers.
    pub unit: &'static str,
    /// From and to what is usual in nature, in [`Spec::unit`]; `None` where that cannot be said.
    pub usual: Option<[f64; 2]>,
    /// What is usual in nature, and why, in a line.
    pub nature: &'static str,
    /// Who found it: author and year.
    pub source: &'static str,
}

/// Declares measures, each under the line of [`Spec::nature`]; what is not `usual` anywhere leaves that out.
macro_rules! measures {
    ($(#[doc = $nature:literal] $name:ident: $title:literal, $group:ident, unit $unit:literal,
       $(usual $from:literal to $to:literal,)? source $source:literal;)*) => {
        [$($crate::products::measure::spec::Spec {
            name: stringify!($name),
            group: $crate::products::measure::spec::Group::$group,
            title: $title,
            unit: $unit,
            usual: [$(Some([$from, $to]),)? None][0],
            nature: $nature.trim_ascii(),
            source: $source,
        }),*]
    };
}

pub(super) use measures;

/// A measure of one terrain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Measure {
    /// What it is.
    #[serde(flatten)]
    pub spec: Spec,
    /// The value in [`Spec::unit`], always finite; `None` if it could not be had.
    pub value: Option<f64>,
    /// Why there is no value; `None` if there is one.
    pub missing: Option<&'static str>,
    /// Whether the value lies in [`Spec::usual`], ends included; `None` unless both are known.
    pub within: Option<bool>,
}

/// A value, or why there is none.
pub(super) type Found = Result<f64, &'static str>;

/// Whether an axis shows values or their logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As they are.
    Linear,
    /// Their logarithms; values are over zero.
    Logarithmic,
}

/// The power law y = factor · x^exponent; over orders (Horton's laws) y = factor · e^(exponent · x).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PowerLaw {
    /// y at x = 1, over orders at x = 0, in the unit of y.
    pub factor: f64,
    /// Exponent, a pure number; over orders, the growth of ln y by an order.
    pub exponent: f64,
    /// Share of the variance of ln y that the law tells, 0 to 1.
    pub r2: f64,
    /// From which to which x, in the unit of x, it was fitted.
    pub over: [f64; 2],
}

/// A curve behind the measures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// Its name in JSON; never changed.
    pub name: &'static str,
    /// What x is, with its unit.
    pub x: &'static str,
    /// What y is, with its unit.
    pub y: &'static str,
    /// How both are best drawn; orders of streams stay linear.
    pub scale: Scale,
    /// Pairs of x and y: x rising, or, of a cloud, samples of the terrain in no order.
    pub points: Vec<[f64; 2]>,
    /// The law that was fitted to the points; `None` where none was.
    pub law: Option<PowerLaw>,
}

/// What a caller may choose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasureSettings {
    /// Catchment from which on a cell is a channel, 1e-9 to 1 000 000 km²; `None` for 0.1 km², but no less than 100 cells.
    pub channel_area: Option<f64>,
    /// How far geomorphons look, 1 to 1000 cells.
    pub search: usize,
    /// Angle under which geomorphons take ground for level, 0° to 45°.
    pub flatness: f64,
}

impl Default for MeasureSettings {
    fn default() -> Self {
        Self { channel_area: None, search: 20, flatness: 1.0 }
    }
}

impl MeasureSettings {
    /// Checks what a caller may have got wrong.
    ///
    /// # Errors
    /// When a setting is out of the range that its field names.
    pub fn check(&self) -> Result<()> {
        if let Some(area) = self.channel_area.filter(|area| !(1e-9..=1e6).contains(area)) {
            return Err(Error::value("channel area", format!("{area} km²"), "0.000000001 to 1000000 km²"));
        }
        if !(1..=1000).contains(&self.search) {
            return Err(Error::value("search", format!("{} cells", self.search), "1 to 1000 cells"));
        }
        if !(0.0..=45.0).contains(&self.flatness) {
            return Err(Error::value("flatness", format!("{}°", self.flatness), "0° to 45°"));
        }
        Ok(())
    }
}

/// All measures of a terrain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measures {
    /// Columns and rows.
    pub cells: [usize; 2],
    /// Side of a cell in metres.
    pub cell_size_m: f64,
    /// What was chosen.
    pub settings: MeasureSettings,
    /// The measures, in the order of [`specs`](super::specs).
    pub measures: Vec<Measure>,
    /// The curves behind them; one that cannot be had is left out.
    pub curves: Vec<Curve>,
}

impl Measures {
    pub(super) fn new(grid: &Grid, settings: &MeasureSettings) -> Self {
        let [rows, cols] = grid.size;
        let settings = *settings;
        Self { cells: [cols, rows], cell_size_m: grid.cell, settings, measures: Vec::new(), curves: Vec::new() }
    }

    /// Leaves measures out, for the same reason.
    pub(super) fn leave<const N: usize>(&mut self, specs: &[Spec; N], missing: &'static str) {
        self.take(specs, [Err(missing); N]);
    }

    /// Takes values in the order of their declarations.
    pub(super) fn take<const N: usize>(&mut self, specs: &[Spec; N], found: [Found; N]) {
        for (spec, found) in specs.iter().zip(found) {
            let found = found.and_then(|value| if value.is_finite() { Ok(value) } else { Err("not a finite number") });
            let within = found.ok().zip(spec.usual).map(|(value, [from, to])| (from..=to).contains(&value));
            self.measures.push(Measure { spec: *spec, value: found.ok(), missing: found.err(), within });
        }
    }

    /// The value of a measure in its unit, by [`Spec::name`]; `None` if it could not be had or there is no such measure.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.measures.iter().find(|m| m.spec.name == name)?.value
    }

    /// The curve of that name; `None` if it could not be had or there is no such curve.
    pub fn curve(&self, name: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.name == name)
    }

    /// How far this terrain and another lie apart: one of each measure, in the order of [`Measures::measures`].
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let pairs = self.measures.iter().zip(&other.measures);
        pairs
            .map(|(a, b)| {
                let distance = a.value.zip(b.value).map(|(x, y)| distance(&a.spec, x, y));
                Difference { name: a.spec.name, first: a.value, second: b.value, distance }
            })
            .collect()
    }
}

/// How far two terrains lie apart in one measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The measure's [`Spec::name`].
    pub name: &'static str,
    /// The first terrain's value in [`Spec::unit`]; `None` if it could not be had.
    pub first: Option<f64>,
    /// The same of the second terrain.
    pub second: Option<f64>,
    /// |first − second| in widths of what is usual; where that is not known, over the greater of both sizes (0 to 2). `None`
    /// without either value.
    pub distance: Option<f64>,
}

fn distance(spec: &Spec, x: f64, y: f64) -> f64 {
    let size = spec.usual.map_or(x.abs().max(y.abs()), |[from, to]| to - from);
    if size > 0.0 { (x - y).abs() / size } else { 0.0 }
}

/// Why most measures of land without cells are missing.
pub(super) fn need_land(count: usize) -> Result<(), &'static str> {
    if count > 0 { Ok(()) } else { Err("there is no land") }
}
