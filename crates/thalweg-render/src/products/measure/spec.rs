//! The types of measures: a single measure, the measures of a terrain, and the differences between two terrains.

use serde::Serialize;

use thalweg_core::{Grid, Result, operation};

/// The subject of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Elevations and slopes.
    Relief,
    /// Curvature, landforms and power spectrum.
    Texture,
    /// Drainage and pits.
    Drainage,
    /// Laws of the channel network.
    Network,
    /// Artefacts of the grid.
    Grid,
    /// Artefacts of the map's frame.
    Rim,
}

impl Group {
    /// All groups, in the order in which they are printed.
    pub const ALL: [Self; 6] = [Self::Relief, Self::Texture, Self::Drainage, Self::Network, Self::Grid, Self::Rim];

    /// Returns the heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Relief => "Relief",
            Self::Texture => "Texture",
            Self::Drainage => "Drainage",
            Self::Network => "Channel network",
            Self::Grid => "Artefacts of the grid",
            Self::Rim => "Artefacts of the frame",
        }
    }
}

/// The description of a measure, independent of any terrain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spec {
    /// The name in JSON; it never changes.
    pub name: &'static str,
    /// The group under which it is printed.
    pub group: Group,
    /// A short title.
    pub title: &'static str,
    /// The unit; `1` for pure numbers.
    pub unit: &'static str,
    /// The usual range in nature, in [`Spec::unit`]; `None` if it is unknown. For example, Hack's exponent is usually
    /// 0.45 to 0.6.
    pub usual: Option<[f64; 2]>,
    /// The usual values in nature and their reasons, in one or two sentences.
    pub nature: &'static str,
    /// The source: author and year.
    pub source: &'static str,
}

/// Declares measures, each below a doc comment of one or more lines that becomes [`Spec::nature`]. `usual` is omitted
/// if the usual range is unknown.
macro_rules! measures {
    ($($(#[doc = $nature:literal])+ $name:ident: $title:literal, $group:ident, unit $unit:literal,
       $(usual $from:literal to $to:literal,)? source $source:literal;)*) => {
        [$($crate::products::measure::spec::Spec {
            name: stringify!($name),
            group: $crate::products::measure::spec::Group::$group,
            title: $title,
            unit: $unit,
            usual: [$(Some([$from, $to]),)? None][0],
            // Each line of a doc comment begins with a space, which separates it from the line before.
            nature: concat!($($nature),+).trim_ascii(),
            source: $source,
        }),*]
    };
}

pub(super) use measures;

/// A measure of one terrain.
///
/// # Examples
/// Flat ground has a relief, but no hypsometric integral.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::measure::{MeasureOptions, measure_terrain};
///
/// let measures = measure_terrain(&Terrain::new(Grid::new([16, 16], 10.0)?), &MeasureOptions::default())?;
/// let find = |name: &str| measures.measures.iter().find(|measure| measure.spec.name == name).unwrap();
/// assert_eq!((find("relief").value, find("relief").spec.unit), (Some(0.0), "m"));
/// assert!(find("hypsometric_integral").value.is_none() && find("hypsometric_integral").missing.is_some());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Measure {
    /// The description.
    #[serde(flatten)]
    pub spec: Spec,
    /// The value in [`Spec::unit`], always finite; `None` if it could not be determined.
    pub value: Option<f64>,
    /// The reason for the absence of a value; `None` if there is one.
    pub missing: Option<&'static str>,
    /// True if the value is in [`Spec::usual`], including its ends; `None` unless both are known.
    pub within: Option<bool>,
}

/// A value, or the reason for its absence.
pub(super) type Found = Result<f64, &'static str>;

/// The scale of a curve's axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisScale {
    /// Values are drawn on a linear scale.
    Linear,
    /// Values are drawn on a logarithmic scale and are positive.
    Logarithmic,
}

/// The power law y = factor · x^exponent; for stream orders (Horton's laws) y = factor · e^(exponent · x).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PowerLaw {
    /// The value of y at x = 1, or for orders at x = 0, in the unit of y.
    pub factor: f64,
    /// The exponent, a pure number; for orders, the growth of ln y per order.
    pub exponent: f64,
    /// The share of the variance of ln y that the law explains, 0 to 1.
    pub r2: f64,
    /// The range of x, in the unit of x, over which the law was fitted.
    pub over: [f64; 2],
}

/// A curve from which measures are derived.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// The name in JSON; it never changes.
    pub name: &'static str,
    /// The quantity on the x axis, with its unit.
    pub x: &'static str,
    /// The quantity on the y axis, with its unit.
    pub y: &'static str,
    /// The recommended scale of both axes; stream orders stay linear.
    pub scale: AxisScale,
    /// Pairs of x and y: in ascending x, or, for a scatter plot, samples of the terrain in no particular order.
    pub points: Vec<[f64; 2]>,
    /// The law that was fitted to the points; `None` if none was.
    pub law: Option<PowerLaw>,
}

operation! {
    /// Computes the geomorphological measures of a terrain: slopes, hypsometry, drainage density, concavity and
    /// steepness of channels, Hack's and Horton's laws, roughness, and artefacts of the grid.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::declare::operation::Operation as _;
    /// use thalweg_render::products::measure::MeasureOptions;
    ///
    /// let options = MeasureOptions { channel_area: Some(0.5), search: 10, ..MeasureOptions::default() };
    /// assert!(options.check_ranges().is_ok());
    /// let wrong = MeasureOptions { search: 0, ..options };
    /// assert!(wrong.check_ranges().unwrap_err().to_string().contains("1 to 1000 cells"));
    /// ```
    pub struct MeasureOptions, "measure", derive(Copy, Serialize) {
        /// The smallest drainage area of a channel. The default is 0.1 km², but at least 100 cells.
        channel_area: Option<f64> = None, within 1e-9..=1e6, unit "km²";
        /// Search radius of geomorphons, which classify landforms by lines of sight (Jasiewicz & Stepinski 2013).
        search: usize = 20, within 1..=1000, unit "cells";
        /// Flatness threshold of geomorphons: lines of sight at a smaller angle to the horizontal count as level.
        flatness: f64 = 1.0, within 0.0..=45.0, unit "°";
    }
}

/// All measures of a terrain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measures {
    /// The numbers of columns and rows.
    pub cells: [usize; 2],
    /// The side of a cell in metres.
    pub cell_size_m: f64,
    /// The settings used.
    pub settings: MeasureOptions,
    /// The measures, in the order of [`list_specs`](super::list_specs).
    pub measures: Vec<Measure>,
    /// The curves from which they are derived; a curve that cannot be determined is absent.
    pub curves: Vec<Curve>,
}

impl Measures {
    pub(super) fn new(grid: &Grid, settings: &MeasureOptions) -> Self {
        let [rows, cols] = grid.size;
        let settings = *settings;
        Self { cells: [cols, rows], cell_size_m: grid.cell, settings, measures: Vec::new(), curves: Vec::new() }
    }

    /// Marks measures as missing, all for the same reason.
    pub(super) fn mark_missing<const N: usize>(&mut self, specs: &[Spec; N], missing: &'static str) {
        self.add_values(specs, [Err(missing); N]);
    }

    /// Adds values in the order of their declarations.
    pub(super) fn add_values<const N: usize>(&mut self, specs: &[Spec; N], found: [Found; N]) {
        for (spec, found) in specs.iter().zip(found) {
            let found = found.and_then(|value| if value.is_finite() { Ok(value) } else { Err("not a finite number") });
            let within = found.ok().zip(spec.usual).map(|(value, [from, to])| (from..=to).contains(&value));
            self.measures.push(Measure { spec: *spec, value: found.ok(), missing: found.err(), within });
        }
    }

    /// Returns the value of a measure in its unit, by [`Spec::name`]; `None` if it could not be determined or if
    /// there is no such measure.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.measures.iter().find(|m| m.spec.name == name)?.value
    }

    /// Returns the curve with the given name; `None` if it could not be determined or if there is no such curve.
    pub fn curve(&self, name: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.name == name)
    }

    /// Returns the differences between this terrain and another, one for each measure, in the order of
    /// [`Measures::measures`].
    ///
    /// # Examples
    /// The same plane, and one twice as steep: 15 m and 30 m of relief, for which no usual range is known.
    ///
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_render::products::measure::{MeasureOptions, measure_terrain};
    ///
    /// let plane = |step: usize| {
    ///     let heights: Vec<f32> = (0..16 * 16).map(|k| (step * (k / 16)) as f32).collect();
    ///     measure_terrain(&Terrain::from_metres(Grid::new([16, 16], 10.0)?, &heights)?, &MeasureOptions::default())
    /// };
    /// let differences = plane(1)?.differences(&plane(2)?);
    /// let relief = differences.iter().find(|difference| difference.name == "relief").unwrap();
    /// assert_eq!((relief.first, relief.second, relief.distance), (Some(15.0), Some(30.0), Some(0.5)));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let pairs = self.measures.iter().zip(&other.measures);
        pairs
            .map(|(a, b)| {
                let distance = a.value.zip(b.value).map(|(x, y)| relative_distance(&a.spec, x, y));
                Difference { name: a.spec.name, first: a.value, second: b.value, distance }
            })
            .collect()
    }
}

/// The difference between two terrains in one measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The measure's [`Spec::name`].
    pub name: &'static str,
    /// The first terrain's value in [`Spec::unit`]; `None` if it could not be determined.
    pub first: Option<f64>,
    /// The second terrain's value, likewise.
    pub second: Option<f64>,
    /// |first − second| in multiples of the width of the usual range; if that is unknown, divided by the larger of
    /// the two absolute values (0 to 2). `None` if a value is missing.
    pub distance: Option<f64>,
}

fn relative_distance(spec: &Spec, x: f64, y: f64) -> f64 {
    let size = spec.usual.map_or(x.abs().max(y.abs()), |[from, to]| to - from);
    if size > 0.0 { (x - y).abs() / size } else { 0.0 }
}

/// Returns an error without land cells, which is the reason why most measures are then missing.
pub(super) fn need_land(count: usize) -> Result<(), &'static str> {
    if count > 0 { Ok(()) } else { Err("there is no land") }
}
