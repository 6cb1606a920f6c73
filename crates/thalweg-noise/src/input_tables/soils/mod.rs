//! Kinds of soil and rock beds: the properties of the upper ground, in tables that models read.
//!
//! The terrain layer `soil` stores the number of each cell's kind of soil. Numbers 0 to 5 are the built-in kinds
//! ([`SOIL_KINDS`]); a recipe's own kinds, in the table [`SOILS`], follow. Below the soil are the rock beds,
//! [`Strata`].

pub mod strata;

pub use strata::{Bed, STRATA, Strata, read_strata};

use serde_json::{Map, json};

use crate::input_tables::Given;
use crate::input_tables::rows::{self, ColumnSpec};
use thalweg_core::terrain::{Cells, SOIL};
use thalweg_core::{Error, Field, Result, Terrain};

/// The name of a terrain's table of the recipe's own kinds of soil, one row per kind. Its columns are the fields of
/// [`SoilKind`].
pub const SOILS: &str = "soils";

/// The largest number of kinds, the built-in ones included.
pub const MAX_KINDS: usize = 256;

/// The syntax of a kind in a recipe.
const WRITTEN: &str = "{ name = \"…\", erodibility = factor, cohesion = share, talus = degrees, permeability = m/s }";

/// The longest name of a kind, in bytes.
const MAX_NAME: usize = 100;

/// The hydraulic and mechanical properties of a kind of soil.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoilKind {
    /// The factor on erosion by running water, 0 to 1000; loam is 1. For example, sand has 2.
    pub erodibility: f32,
    /// The share, 0 to 1, of the sediment exchange with running water that the ground's own cohesion resists, as
    /// roots do: at 0 grains move one by one, at 1 nothing moves.
    pub cohesion: f32,
    /// The steepest stable slope (angle of repose) in degrees from horizontal, 1 to 89.
    pub talus: f32,
    /// The saturated hydraulic conductivity, 0 to 10 m/s: the rate at which standing water or rain infiltrates. For
    /// example, 8.25e-5 m/s (sand) are 297 mm an hour.
    pub permeability: f32,
}

/// The built-in kinds and their names, indexed by number.
///
/// Erodibility is the erodibility coefficient kd relative to that of loam, with kd = 0.2·τc^(−½) (Hanson & Simon
/// 2001, doi:10.1002/hyp.149), where τc is the critical shear stress in Pa at which the ground begins to move. For
/// clayey ground τc = 0.493·10^(0.0182·C), with C percent of clay (Smerdon & Beasley 1961): 20 in loam (1.1 Pa) and
/// 55 in clay (4.9 Pa). For grains it is by Shields (1936): 0.27 Pa for ½ mm sand, 15 Pa for 20 mm gravel. Cohesion
/// is τc/(τc + 4 Pa) where the ground's own cohesion resists, and 0 for loose grains: half of the exchange is
/// resisted where water 8 cm deep flows down a slope of 5 in 1 000. Permeability: Carsel & Parrish (1988,
/// doi:10.1029/WR024i005p00755), means; hemic peat by Letts et al. (2000, doi:10.1080/07055900.2000.9649643); gravel
/// and jointed rock from the ranges of Freeze & Cherry (1979, *Groundwater*, table 2.2). Slopes are common angles of
/// repose: dry sand 34°, gravel 35–40°, earth 30–45°, wet clay 15–25°. The values of rock, and the τc (4 Pa) and
/// slope of peat, are our own choices.
pub const SOIL_KINDS: [(&str, SoilKind); 6] = [
    ("rock", SoilKind { erodibility: 0.05, cohesion: 0.95, talus: 75.0, permeability: 1e-8 }),
    ("gravel", SoilKind { erodibility: 0.28, cohesion: 0.0, talus: 38.0, permeability: 3e-3 }),
    ("sand", SoilKind { erodibility: 2.0, cohesion: 0.0, talus: 34.0, permeability: 8.25e-5 }),
    ("loam", SoilKind { erodibility: 1.0, cohesion: 0.22, talus: 36.0, permeability: 2.89e-6 }),
    ("clay", SoilKind { erodibility: 0.48, cohesion: 0.55, talus: 25.0, permeability: 5.6e-7 }),
    ("peat", SoilKind { erodibility: 0.53, cohesion: 0.5, talus: 18.0, permeability: 2e-6 }),
];

/// Numbers of the built-in kinds.
pub mod number {
    /// Number of bare rock.
    pub const ROCK: u32 = 0;
    /// Number of gravel and scree.
    pub const GRAVEL: u32 = 1;
    /// Number of sand.
    pub const SAND: u32 = 2;
    /// Number of loam.
    pub const LOAM: u32 = 3;
    /// Number of clay.
    pub const CLAY: u32 = 4;
    /// Number of peat.
    pub const PEAT: u32 = 5;
}

const ENTRIES: [ColumnSpec; 4] = [
    ColumnSpec {
        name: "erodibility",
        unit: "1",
        min: 0.0,
        max: 1000.0,
        about: "Factor of what running water takes; loam is 1.",
    },
    ColumnSpec {
        name: "cohesion",
        unit: "1",
        min: 0.0,
        max: 1.0,
        about: "Share of the exchange with water withstood.",
    },
    ColumnSpec { name: "talus", unit: "°", min: 1.0, max: 89.0, about: "Steepest slope that stands." },
    ColumnSpec { name: "permeability", unit: "m/s", min: 0.0, max: 10.0, about: "Saturated conductivity." },
];

impl SoilKind {
    fn to_numbers(self) -> [f32; 4] {
        [self.erodibility, self.cohesion, self.talus, self.permeability]
    }

    fn from_numbers([erodibility, cohesion, talus, permeability]: [f32; 4]) -> Self {
        Self { erodibility, cohesion, talus, permeability }
    }
}

/// A recipe's own kind of soil.
#[derive(Debug, Clone, PartialEq)]
pub struct Soil {
    /// The name, 1 to 100 bytes; no other kind may have it.
    pub name: String,
    /// The properties.
    pub kind: SoilKind,
}

impl Given for Soil {
    const TABLE: &'static str = SOILS;
    const PASSING: bool = false;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        let soils = rows::parse_rows(SOILS, list, MAX_KINDS - SOIL_KINDS.len(), WRITTEN, |owner, row| {
            let name = row.get("name").and_then(toml::Value::as_str);
            let name = name.filter(|name| (1..=MAX_NAME).contains(&name.len()));
            let allowed = || format!("a string of 1 to {MAX_NAME} bytes");
            let given = || row.get("name").map_or("missing".to_string(), ToString::to_string);
            let name = name.ok_or_else(|| Error::invalid_value(format!("{owner}.name"), given(), allowed()))?;
            Ok(Self {
                name: name.into(),
                kind: SoilKind::from_numbers(rows::parse_numbers(owner, row, &ENTRIES, &["name"])?.map(|x| x as f32)),
            })
        })?;
        for (number, soil) in soils.iter().enumerate() {
            let own = soils.iter().take(number).map(|soil| soil.name.as_str());
            // A name must be unique among the built-in and the recipe's own kinds.
            if SOIL_KINDS.iter().map(|(name, _)| *name).chain(own).any(|name| name == soil.name) {
                let owner = format!("{}.name", rows::row_name(SOILS, number));
                return Err(Error::invalid_value(owner, &soil.name, "a name that no other kind has"));
            }
        }
        Ok(soils)
    }

    fn to_toml(&self) -> String {
        let name = toml::Value::String(self.name.clone());
        format!("{{ name = {name}, {} }}", rows::to_toml(self.kind.to_numbers(), &ENTRIES))
    }

    fn schema() -> serde_json::Value {
        let name =
            json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME, "description": "What it is called."});
        rows::build_schema(MAX_KINDS - SOIL_KINDS.len(), &ENTRIES, Map::from_iter([("name".to_string(), name)]))
    }

    fn fit(soils: &[Self], terrain: &Terrain) -> Result<()> {
        check_kind_count(terrain, soils.len())
    }

    /// Adds the kinds to those that the terrain already has.
    fn put(soils: &[Self], terrain: &mut Terrain) -> Result<()> {
        add_soils(terrain, soils)
    }
}

/// Adds kinds to those that a terrain already has; their numbers continue after the existing ones. Names are not
/// stored.
///
/// # Errors
/// Returns an error if a value is out of the limits documented at [`SoilKind`], or if there would be more than
/// [`MAX_KINDS`] kinds; also returns the errors of [`read_soil_kinds`]. The terrain is then unchanged.
pub fn add_soils(terrain: &mut Terrain, soils: &[Soil]) -> Result<()> {
    check_kind_count(terrain, soils.len())?;
    let numbers: Vec<_> = soils.iter().map(|soil| soil.kind.to_numbers()).collect();
    // All values are checked before the table changes, so that an error leaves the terrain as it was.
    for (number, figures) in numbers.iter().enumerate() {
        let owner = rows::row_name(SOILS, number);
        ENTRIES.iter().zip(figures).try_for_each(|(entry, x)| entry.check(&owner, f64::from(*x)).map(drop))?;
    }
    let more = rows::build_table(&numbers, &ENTRIES);
    match terrain.tables.get_mut(SOILS) {
        Some(table) => table.append_rows(&more)?,
        None => drop(terrain.tables.insert(SOILS.to_string(), more)),
    }
    Ok(())
}

/// Checks that a terrain has room for `more` further kinds.
fn check_kind_count(terrain: &Terrain, more: usize) -> Result<()> {
    let count = read_soil_kinds(terrain)?.len() + more;
    match count <= MAX_KINDS {
        true => Ok(()),
        false => Err(Error::invalid_value(
            SOILS,
            format!("{count} kinds"),
            format!("up to {MAX_KINDS}, including the built-in ones"),
        )),
    }
}

/// Returns the kinds indexed by number (layer `soil`): the built-in ones, then the recipe's own.
///
/// # Errors
/// Returns an error if the terrain's table, which may come from an untrusted source, lacks a column or has columns of
/// different lengths, has too many rows, or contains a number out of range.
pub fn read_soil_kinds(terrain: &Terrain) -> Result<Vec<SoilKind>> {
    let mut kinds: Vec<SoilKind> = SOIL_KINDS.iter().map(|(_, kind)| *kind).collect();
    if let Some(table) = terrain.tables.get(SOILS) {
        kinds.extend(
            rows::read_numbers(SOILS, table, &ENTRIES, MAX_KINDS - SOIL_KINDS.len())?
                .into_iter()
                .map(SoilKind::from_numbers),
        );
    }
    Ok(kinds)
}

/// Returns the number of the kind in each cell, checked to be known; `None` if the terrain has no such layer.
///
/// # Errors
/// Returns the errors of [`read_soil_kinds`], and an error if the layer does not store whole numbers, or if a number is
/// not that of a kind (the message names the first such cell).
pub fn read_soil_numbers(terrain: &Terrain) -> Result<Option<&Field<u32>>> {
    let Some(layer) = terrain.layers.get(SOIL.name) else { return Ok(None) };
    let Cells::Count(field) = &layer.cells else {
        return Err(Error::invalid_layer(SOIL.name, "must contain whole numbers, each the number of a kind of soil"));
    };
    let count = read_soil_kinds(terrain)?.len();
    match field.as_slice().iter().position(|kind| *kind as usize >= count) {
        None => Ok(Some(field)),
        Some(k) => {
            let (kind, [row, column]) = (field[k], [k / field.cols(), k % field.cols()]);
            let cell = format!("row {row}, column {column} (counted from 0 in the north-west)");
            let known = format!("there are {count} kinds, 0 to {}", count - 1);
            Err(Error::invalid_layer(SOIL.name, format!("contains kind {kind} at {cell}; {known}")))
        }
    }
}

/// Look-up arrays of the ground's properties for model kernels, one array per property, indexed by the number of the
/// kind.
///
/// A kernel needs the field of numbers ([`read_soil_numbers`]) and these arrays; every number in the field is a
/// valid index.
#[derive(Debug, Clone, PartialEq)]
pub struct SoilProperties {
    /// The factor on erosion by running water; loam is 1.
    pub erodibility: Vec<f32>,
    /// The share, 0 to 1, of the sediment exchange with running water that is resisted.
    pub cohesion: Vec<f32>,
    /// The steepest stable slope as rise over run.
    pub tan_talus: Vec<f32>,
    /// The saturated hydraulic conductivity in m/s.
    pub permeability: Vec<f32>,
}

impl SoilProperties {
    /// Creates the look-up arrays of a terrain's kinds.
    ///
    /// # Errors
    /// Returns the errors of [`read_soil_kinds`].
    pub fn from_terrain(terrain: &Terrain) -> Result<Self> {
        let kinds = read_soil_kinds(terrain)?;
        let each = |of: fn(&SoilKind) -> f32| kinds.iter().map(of).collect();
        Ok(Self {
            erodibility: each(|kind| kind.erodibility),
            cohesion: each(|kind| kind.cohesion),
            tan_talus: each(|kind| degrees_to_slope(kind.talus)),
            permeability: each(|kind| kind.permeability),
        })
    }
}

/// Converts an angle in degrees to rise over run.
fn degrees_to_slope(degrees: f32) -> f32 {
    libm::tan(f64::from(degrees).to_radians()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;
    use thalweg_core::terrain::Column;

    fn terrain() -> Terrain {
        Terrain::new(Grid::new([3, 4], 10.0).unwrap())
    }

    fn list(text: &str) -> Result<Vec<Soil>> {
        Soil::parse(&text.parse::<toml::Table>().unwrap()["soils"])
    }

    const CHALK: &str = "{ name = \"chalk\", erodibility = 0.4, cohesion = 0.6, talus = 55, permeability = 1e-5 }";

    #[test]
    fn built_in_kinds_are_within_their_own_limits_and_numbered_as_named() {
        for (name, kind) in SOIL_KINDS {
            for (entry, x) in ENTRIES.iter().zip(kind.to_numbers()) {
                entry.check(name, f64::from(x)).unwrap();
            }
        }
        let named = |number: u32| SOIL_KINDS[number as usize].0;
        assert_eq!(
            [number::ROCK, number::GRAVEL, number::SAND, number::LOAM, number::CLAY, number::PEAT].map(named),
            ["rock", "gravel", "sand", "loam", "clay", "peat"]
        );
    }

    #[test]
    fn erodibilities_and_cohesions_are_those_of_their_sources() {
        let clayey = |percent: f64| 0.493 * libm::pow(10.0, 0.0182 * percent);
        let [loam, clay] = [clayey(20.0), clayey(55.0)];
        // Shields: θ (ρs − ρ) g d, with θ = 0.045 for gravel and 0.033 for sand.
        let [gravel, sand] = [0.045 * 16_187.0 * 0.02, 0.033 * 16_187.0 * 0.0005];
        let kind = |number: u32| SOIL_KINDS[number as usize].1;
        for (number, stress) in [
            (number::LOAM, loam),
            (number::CLAY, clay),
            (number::GRAVEL, gravel),
            (number::SAND, sand),
            (number::PEAT, 4.0),
        ] {
            // The table gives two significant figures.
            let want = (loam / stress).sqrt();
            assert!((f64::from(kind(number).erodibility) / want - 1.0).abs() < 0.05, "{number}: {want}");
        }
        for (number, stress) in [(number::LOAM, loam), (number::CLAY, clay), (number::PEAT, 4.0)] {
            assert!((f64::from(kind(number).cohesion) - stress / (stress + 4.0)).abs() < 0.006);
        }
        // Values of Carsel and Parrish in centimetres per day.
        for (number, cm) in [(number::SAND, 712.8), (number::LOAM, 24.96), (number::CLAY, 4.80)] {
            assert!((f64::from(kind(number).permeability) / (cm / 8_640_000.0) - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn own_kinds_follow_the_built_in_ones() {
        let chalk = list(&format!("soils = [{CHALK}]")).unwrap();
        let mut land = terrain();
        add_soils(&mut land, &chalk).unwrap();
        let second = Soil { name: "marl".into(), ..chalk[0].clone() };
        add_soils(&mut land, std::slice::from_ref(&second)).unwrap();
        let kinds = read_soil_kinds(&land).unwrap();
        assert_eq!((kinds.len(), kinds[6], kinds[7]), (8, chalk[0].kind, second.kind));
        assert_eq!(list(&format!("soils = [{}]", chalk[0].to_toml())).unwrap(), chalk);
        let ground = SoilProperties::from_terrain(&land).unwrap();
        let lengths = [&ground.erodibility, &ground.cohesion, &ground.tan_talus, &ground.permeability].map(Vec::len);
        assert_eq!(lengths, [8; 4]);
        assert!((f64::from(ground.tan_talus[6]) - 55f64.to_radians().tan()).abs() < 1e-6);
        assert_eq!(ground.erodibility[number::LOAM as usize], 1.0);
        let many: Vec<_> = (0..249).map(|n| Soil { name: n.to_string(), ..chalk[0].clone() }).collect();
        assert!(add_soils(&mut land, &many).unwrap_err().to_string().contains("257 kinds: must be up to 256"));
    }

    #[test]
    fn what_is_no_kind_is_named() {
        for (row, words) in [
            ("3", "soils[1] = 3"),
            ("{ name = \"a\" }", "soils[1].erodibility is missing: give a number"),
            (&CHALK.replace("\"chalk\"", "\"sand\""), "soils[1].name = sand: must be a name that no other kind has"),
            (&CHALK.replace("\"chalk\"", "7"), "soils[1].name = 7"),
            (&CHALK.replace("\"chalk\"", "\"\""), "soils[1].name"),
            (&CHALK.replace("0.4", "-0.1"), "soils[1].erodibility = -0.1: must be 0 to 1000"),
            (&CHALK.replace("0.6", "1.5"), "soils[1].cohesion = 1.5: must be 0 to 1"),
            (&CHALK.replace("55", "90"), "soils[1].talus = 90°: must be 1 to 89°"),
            (&CHALK.replace("1e-5", "nan"), "soils[1].permeability = NaN m/s"),
            (&CHALK.replace("0.4", "\"x\""), "soils[1].erodibility = \"x\": must be a number"),
            (&CHALK.replace("talus", "tallus"), "did you mean `talus`"),
            (&format!("{CHALK}, {CHALK}"), "soils[2].name = chalk"),
        ] {
            let message = list(&format!("soils = [{row}]")).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
        assert!(list("soils = 3").unwrap_err().to_string().contains("a list of up to 250"));
    }

    #[test]
    fn figures_out_of_their_limits_are_not_added() {
        let chalk = list(&format!("soils = [{CHALK}]")).unwrap().remove(0);
        let mut land = terrain();
        for (kind, words) in [
            (SoilKind { erodibility: f32::NAN, ..chalk.kind }, "soils[2].erodibility = NaN: must be 0 to 1000"),
            (SoilKind { cohesion: 1.5, ..chalk.kind }, "soils[2].cohesion = 1.5: must be 0 to 1"),
            (SoilKind { talus: 90.0, ..chalk.kind }, "soils[2].talus = 90°: must be 1 to 89°"),
            (SoilKind { permeability: -1.0, ..chalk.kind }, "soils[2].permeability = -1 m/s: must be 0 to 10 m/s"),
        ] {
            let message =
                add_soils(&mut land, &[chalk.clone(), Soil { kind, ..chalk.clone() }]).unwrap_err().to_string();
            assert_eq!(message, words);
            assert!(land.tables.is_empty());
        }
    }

    #[test]
    fn unknown_numbers_and_strange_tables_are_refused() {
        let mut land = terrain();
        assert_eq!(read_soil_numbers(&land).unwrap(), None);
        let field = Field::from_fn([3, 4], |i, j| if (i, j) == (1, 2) { 6 } else { 5 });
        land.insert_layer(&SOIL, Cells::Count(field.clone())).unwrap();
        let message = read_soil_numbers(&land).unwrap_err().to_string();
        assert!(message.contains("contains kind 6 at row 1, column 2"), "{message}");
        assert!(message.contains("there are 6 kinds, 0 to 5"), "{message}");
        add_soils(&mut land, &list(&format!("soils = [{CHALK}]")).unwrap()).unwrap();
        assert_eq!(read_soil_numbers(&land).unwrap(), Some(&field));
        let forge = |column: usize, values: Column| {
            let mut other = land.clone();
            other.tables.get_mut(SOILS).unwrap().columns[column].2 = values;
            read_soil_kinds(&other).unwrap_err().to_string()
        };
        assert!(forge(0, Column::Float(vec![f32::NAN])).contains("soils[1].erodibility = NaN"));
        assert!(forge(1, Column::Float(vec![])).contains("the same length"));
        assert!(forge(2, Column::Int(vec![1])).contains("with the columns"));
        land.layers.get_mut("soil").unwrap().cells = Cells::Float(Field::new([3, 4], 1.0));
        assert!(read_soil_numbers(&land).unwrap_err().to_string().contains("must contain whole numbers"));
    }
}
