//! Determines the units of a file's coordinates and heights: from keys, from names, or from the code of a reference
//! system alone.
//!
//! `epsg.tsv` contains the reference systems of the EPSG dataset (IOGP) whose unit of length is not the metre, and the
//! ellipsoids of the geographic systems. `make_table.py` makes it from the PROJ database.

mod geographic;

use std::ops::RangeFull;

use serde::{Deserialize, Serialize};

use super::geokeys::{self, key};
use super::wkt;
pub use geographic::{Degrees, detect_degrees, find_ellipsoid};
use thalweg_core::Georeference;
use thalweg_core::declare::operation::{OptionKind, OptionType};

/// Codes, units and names of reference systems.
const TABLE: &str = include_str!("epsg.tsv");

/// The EPSG code of the metre.
const METRE: u16 = 9001;

/// The value of a key for a definition in the file itself ("user-defined").
const USER_DEFINED: u16 = 32_767;

/// A unit that overrides the units of a file.
///
/// # Examples
/// A file whose band has the unit feet, with heights that are metres all the same.
///
/// ```
/// use thalweg_io::{LoadOptions, Raster, Samples, Unit, convert_to_terrain};
///
/// let samples = Samples::F32(vec![10.0, 20.0]);
/// let raster = Raster { unit: Some("ft".to_string()), ..Raster::new([1, 2], samples) };
/// let mut options = LoadOptions { cell_size: Some(30.0), ..LoadOptions::default() };
/// assert!(convert_to_terrain("dem.tif", raster.clone(), None, &options).is_err());
/// options.unit = Some(Unit::Metre);
/// let loaded = convert_to_terrain("dem.tif", raster, None, &options)?;
/// assert_eq!((loaded.terrain.ground[(0, 1)].metres(), loaded.overridden.len()), (20.0, 1));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The metre.
    Metre,
}

impl OptionType for Unit {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Choice(&[("metre", "Coordinates and heights are metres.")])
    }

    fn from_json(value: &serde_json::Value) -> Option<Self> {
        (value == "metre").then_some(Self::Metre)
    }

    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Metre => "metre".into(),
        }
    }
}

/// The reason why coordinates are not metres.
#[derive(Debug, Clone, PartialEq)]
pub enum UnitProblem {
    /// Angles or a geocentric system, which cannot be overridden by a unit of length.
    Angular(String),
    /// Another unit of length, or a projection whose metre is not a metre on the ground.
    Linear(String),
}

impl UnitProblem {
    /// Returns the problem in words.
    pub fn into_message(self) -> String {
        match self {
            Self::Angular(words) | Self::Linear(words) => words,
        }
    }
}

/// What a file specifies about the unit of its heights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedUnit {
    /// The unit is the metre.
    Metre,
    /// No unit is specified.
    Nothing,
}

/// The unit of a reference system of the table, if it is not the metre.
enum Length {
    Unit(u16),
    /// The metre of a Mercator map, which equals a metre on the ground at the equator only.
    Mercator,
}

/// A line of the table: the units and the name of a reference system.
struct System {
    horizontal: Option<Length>,
    vertical: Option<u16>,
    name: &'static str,
}

fn find_system(code: u16) -> Option<System> {
    let prefix = format!("c\t{code}\t");
    // The table is searched line by line, because it is needed only a few times per file.
    let mut parts = TABLE.lines().find_map(|line| line.strip_prefix(prefix.as_str()))?.splitn(3, '\t');
    let (horizontal, vertical, name) = (parts.next()?, parts.next()?, parts.next()?);
    let horizontal = if horizontal == "~" { Some(Length::Mercator) } else { horizontal.parse().ok().map(Length::Unit) };
    Some(System { horizontal, vertical: vertical.parse().ok(), name })
}

/// Returns the length of a unit in metres, and its name.
pub(super) fn find_unit_length(code: u16) -> Option<(f64, &'static str)> {
    let prefix = format!("u\t{code}\t");
    let (metres, name) = TABLE.lines().find_map(|line| line.strip_prefix(prefix.as_str()))?.split_once('\t')?;
    Some((metres.parse().ok()?, name))
}

/// Formats a unit for messages: its name, its code, its length.
fn describe_unit(code: u16) -> String {
    match find_unit_length(code) {
        Some((metres, name)) => format!("{name} (EPSG:{code}, {metres} m)"),
        None => format!("a unit that is not the metre (EPSG:{code})"),
    }
}

/// Rejects coordinates that are not metres on the ground; the error has the code, name, factor and remedy.
///
/// # Errors
/// Returns an error for coordinates in degrees or another unit of length, or in a world Mercator projection.
pub fn check_horizontal(georeference: &Georeference) -> Result<(), UnitProblem> {
    let advice = "reproject it to metres (`gdalwarp -t_srs EPSG:326<zone> IN OUT`), or give the cell size in metres";
    if let Some(degrees) = detect_degrees(georeference) {
        return Err(UnitProblem::Angular(format!("{}; {advice}", degrees.describe())));
    }
    let short = |key| geokeys::find_short(georeference, key);
    if short(key::MODEL_TYPE) == Some(3) {
        return Err(UnitProblem::Angular(format!("is in a geocentric CRS; {advice}")));
    }
    let taken = format!("{advice}; `--unit metre` reads its coordinates as metres anyway");
    let linear = |words: String| Err(UnitProblem::Linear(format!("{words}; {taken}")));
    // The code of the system decides first, because keys and names may be missing.
    let code = short(key::PROJECTED).filter(|code| *code != USER_DEFINED);
    if let Some((code, System { horizontal: Some(unit), name, .. })) =
        code.and_then(|code| Some((code, find_system(code)?)))
    {
        return linear(match unit {
            Length::Unit(unit) => format!("is in {} according to its CRS EPSG:{code} {name}", describe_unit(unit)),
            Length::Mercator => describe_mercator(georeference, &format!("EPSG:{code} {name}")),
        });
    }
    // Then the keys of the unit decide, because a user-defined system has no code.
    let size = geokeys::find_double(georeference, key::LINEAR_SIZE);
    match (short(key::LINEAR_UNITS), size) {
        (Some(METRE), _) => return Ok(()),
        (Some(USER_DEFINED), Some(1.0)) => return Ok(()),
        (Some(USER_DEFINED), Some(size)) => return linear(format!("is in a unit of {size} m (linear unit key 3077)")),
        (Some(unit), _) => return linear(format!("is in {} (linear unit key 3076)", describe_unit(unit))),
        _ => {}
    }
    // The texts of the vertical system do not concern the horizontal one.
    let words = geokeys::join_key_texts(georeference, |name| !key::HEIGHT_KEYS.contains(&name));
    match wkt::find_cited_unit(&words) {
        Some((1.0, _)) => return Ok(()),
        Some((size, unit)) => {
            let unit = super::plain::clip_text(&unit);
            return linear(format!("is in {unit} ({size} m) according to the definition of its CRS"));
        }
        None => {}
    }
    if names_feet(&words) {
        return linear(format!("is in feet according to its CRS (`{}`)", words.trim()));
    }
    let lower = words.to_ascii_lowercase();
    if ["pseudo-mercator", "pseudo_mercator", "web mercator", "web_mercator"].iter().any(|name| lower.contains(name)) {
        return linear(describe_mercator(georeference, "a Pseudo-Mercator CRS"));
    }
    Ok(())
}

/// Describes the scale error of a world Mercator map at the corner of the map.
fn describe_mercator(georeference: &Georeference, name: &str) -> String {
    const RADIUS: f64 = 6_378_137.0;
    let at = georeference.transform.map_or(String::new(), |[_, _, _, y, _, _]| {
        // On the sphere of Web Mercator, the scale at the northing y is cosh(y/R), and the latitude is atan(sinh(y/R)).
        let metres = 1.0 / libm::cosh(y / RADIUS);
        let latitude = libm::atan(libm::sinh(y / RADIUS)).to_degrees();
        format!(": at the latitude of its corner, {latitude:.2}°, each is {metres:.4} m on the ground")
    });
    format!("is in {name}, whose metres are not metres on the ground{at}")
}

/// Rejects heights that are not metres; the error has the code, name, factor and remedy. `unit` is the unit of the band
/// or of the sidecar.
///
/// # Errors
/// Returns an error for heights in feet or another unit.
pub fn check_vertical(georeference: Option<&Georeference>, unit: Option<&str>) -> Result<StatedUnit, String> {
    let remedy = |factor: &str| {
        format!(
            "convert them to metres, for example with `gdal_calc.py -A IN --calc=\"A*{factor}\" --outfile OUT`, and \
             drop the vertical unit; `--unit metre` reads them as metres anyway"
        )
    };
    let refuse = |what: String, code: Option<u16>| {
        let factor = code.and_then(find_unit_length).map_or("FACTOR".to_string(), |(metres, _)| metres.to_string());
        Err(format!("has heights in {what}; {}", remedy(&factor)))
    };
    // The unit of the band comes first, then the key, then the code of the system, then its name.
    let mut said = StatedUnit::Nothing;
    if let Some(unit) = unit.map(str::trim).filter(|unit| !unit.is_empty()) {
        let known = ["m", "metre", "meter", "metres", "meters"];
        if !known.contains(&unit.to_ascii_lowercase().as_str()) {
            return refuse(
                format!("`{}` according to the unit of its band", super::plain::clip_text(unit)),
                find_unit_code(unit),
            );
        }
        said = StatedUnit::Metre;
    }
    let Some(georeference) = georeference else { return Ok(said) };
    let short = |key| geokeys::find_short(georeference, key);
    match short(key::VERTICAL_UNITS) {
        Some(METRE) => said = StatedUnit::Metre,
        Some(USER_DEFINED) | None => {}
        Some(unit) => return refuse(format!("{} (vertical unit key 4099)", describe_unit(unit)), Some(unit)),
    }
    for code in [short(key::VERTICAL), short(key::PROJECTED)].into_iter().flatten().filter(|code| *code != USER_DEFINED)
    {
        if let Some(System { vertical: Some(unit), name, .. }) = find_system(code) {
            return refuse(format!("{} according to its CRS EPSG:{code} {name}", describe_unit(unit)), Some(unit));
        }
    }
    let words = geokeys::join_key_texts(georeference, |name| key::HEIGHT_KEYS.contains(&name));
    // Words in a name are the weakest evidence, so an explicit unit overrides them.
    if said == StatedUnit::Nothing && names_feet(&words) {
        return refuse(format!("feet according to its vertical CRS (`{}`)", words.trim()), None);
    }
    // A code that is not in the table stands for a system in metres.
    Ok(if short(key::VERTICAL).is_some_and(|code| code != USER_DEFINED && code != 0) {
        StatedUnit::Metre
    } else {
        said
    })
}

/// Returns the code of a unit that is given in words; `None` if it is not clear which is meant.
fn find_unit_code(unit: &str) -> Option<u16> {
    let unit = unit.to_ascii_lowercase().replace(['_', '-'], " ");
    // The foot without a qualifier is taken as the international foot, which differs from the US survey foot by two
    // parts in a million.
    let found = |words: &[&str]| words.contains(&unit.as_str());
    match () {
        () if found(&["ft", "foot", "feet", "international foot", "international feet"]) => Some(9002),
        () if found(&["us ft", "ftus", "us survey foot", "us survey feet", "foot us", "survey foot"]) => Some(9003),
        () if found(&["cm", "centimetre", "centimeter"]) => Some(1033),
        () if found(&["mm", "millimetre", "millimeter"]) => Some(1025),
        () if found(&["km", "kilometre", "kilometer"]) => Some(9036),
        () => None,
    }
}

/// Returns true if a CRS's name indicates feet (`NAD83 / California zone 3 (ftUS)`).
fn names_feet(citation: &str) -> bool {
    let citation = citation.to_ascii_lowercase();
    ["foot", "feet", "ftus", "(ft", "us-ft"].iter().any(|word| citation.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(keys: &[[u16; 2]]) -> Georeference {
        let mut all = vec![1, 1, 0, keys.len() as u16];
        keys.iter().for_each(|[key, value]| all.extend([*key, 0, 1, *value]));
        Georeference { keys: all, ..Georeference::default() }
    }

    fn horizontal(georeference: &Georeference) -> String {
        check_horizontal(georeference).unwrap_err().into_message()
    }

    #[test]
    fn the_table_is_whole() {
        let codes: Vec<(&str, u16)> = TABLE
            .lines()
            .map(|line| {
                let mut parts = line.split('\t');
                (parts.next().unwrap(), parts.next().unwrap().parse().unwrap())
            })
            .collect();
        assert!(codes.len() > 1000 && codes.windows(2).all(|pair| pair[0] < pair[1]), "sorted, each code once");
        for (kind, code) in codes {
            match kind {
                "u" => assert!(
                    find_unit_length(code).is_some_and(|(metres, name)| metres > 0.0 && !name.is_empty()),
                    "{code}"
                ),
                "e" => {
                    let line = TABLE.lines().find(|line| line.starts_with(&format!("e\t{code}\t"))).unwrap();
                    let numbers: Vec<f64> = line.split('\t').skip(2).map(|number| number.parse().unwrap()).collect();
                    assert!(thalweg_core::terrain::Ellipsoid::new(numbers[0], numbers[1]).is_ok(), "{code}");
                }
                "g" => {
                    let place = keyed(&[[1024, 2], [2048, code]]);
                    assert!(find_ellipsoid(&place).map_or(true, |(_, warning)| warning.is_none()), "{code}");
                }
                _ => {
                    let found = find_system(code).unwrap();
                    let units = [
                        found.vertical,
                        match found.horizontal {
                            Some(Length::Unit(unit)) => Some(unit),
                            _ => None,
                        },
                    ];
                    assert!(units.iter().flatten().all(|unit| find_unit_length(*unit).is_some()), "{code}");
                    assert!(found.vertical.is_some() || found.horizontal.is_some(), "{code}");
                }
            }
        }
        assert_eq!(find_unit_length(9003), Some((0.30480060960121924, "US survey foot")));
    }

    #[test]
    fn a_code_alone_tells_the_unit() {
        for (code, words) in [
            (2227, ["EPSG:2227 NAD83 / California zone 3 (ftUS)", "US survey foot (EPSG:9003, 0.30480060960121924 m)"]),
            (2263, ["EPSG:2263 NAD83 / New York Long Island (ftUS)", "0.30480060960121924"]),
            (2222, ["EPSG:2222 NAD83 / Arizona East (ft)", "foot (EPSG:9002, 0.3048 m)"]),
            (7407, ["EPSG:7407", "EPSG:9003"]),
            (3857, ["EPSG:3857 WGS 84 / Pseudo-Mercator", "not metres on the ground"]),
        ] {
            let message = horizontal(&keyed(&[[1024, 1], [3072, code]]));
            for word in words.iter().chain(&["gdalwarp", "--unit metre"]) {
                assert!(message.contains(word), "{word}: {message}");
            }
        }
        for code in [5702, 6358, 6359, 6360, 8228, 8050, 8051, 8052, 8053, 5754, 5614] {
            let message = check_vertical(Some(&keyed(&[[1024, 1], [3072, 32611], [4096, code]])), None).unwrap_err();
            let factor = find_unit_length(find_system(code).unwrap().vertical.unwrap()).unwrap().0.to_string();
            for word in [&format!("EPSG:{code} "), &factor, "A*0.304", "--unit metre"] {
                assert!(message.contains(word), "{word}: {message}");
            }
        }
        let compound = keyed(&[[1024, 1], [3072, 8700]]);
        assert!(check_vertical(Some(&compound), None).unwrap_err().contains("EPSG:8700"));
        for (code, said) in [(5703, StatedUnit::Metre), (3855, StatedUnit::Metre), (32_767, StatedUnit::Nothing)] {
            assert_eq!(check_vertical(Some(&keyed(&[[3072, 32611], [4096, code]])), None), Ok(said));
        }
        assert!(check_horizontal(&keyed(&[[1024, 1], [3072, 32611]])).is_ok());
        // The metre of the map at 60° is half a metre on the ground.
        let place = Some([0.0, 10.0, 0.0, 8_399_737.889_818_357, 0.0, -10.0]);
        let mercator = Georeference { transform: place, ..keyed(&[[1024, 1], [3072, 3857]]) };
        assert!(horizontal(&mercator).contains("60.00°, each is 0.5000 m"), "{}", horizontal(&mercator));
    }

    #[test]
    fn keys_and_names_tell_the_unit() {
        for keys in [[1024, 2], [1024, 3], [3076, 9002], [3076, 9003], [3076, 9036], [2048, 4326]] {
            let problem = horizontal(&keyed(&[keys]));
            assert!(problem.contains("gdalwarp"), "{problem}");
        }
        assert!(check_horizontal(&keyed(&[[1024, 1], [3076, 9001]])).is_ok());
        let named = Georeference { ascii: "NAD83 / California zone 3 (ftUS)|".into(), ..keyed(&[[1024, 1]]) };
        assert!(horizontal(&named).contains("(ftUS)"));
        let web = Georeference { ascii: "WGS 84 / Pseudo-Mercator|".into(), ..keyed(&[[1024, 1]]) };
        assert!(horizontal(&web).contains("not metres on the ground"));
        for keys in [[4099, 9002], [4099, 9003], [4099, 9005], [4096, 6360]] {
            assert!(check_vertical(Some(&keyed(&[keys])), None).is_err());
        }
        assert_eq!(check_vertical(Some(&keyed(&[[4099, 9001]])), Some("m")), Ok(StatedUnit::Metre));
        assert_eq!(check_vertical(None, None), Ok(StatedUnit::Nothing));
        assert!(check_vertical(None, Some("US survey foot")).unwrap_err().contains("A*0.3048006"));
        assert!(check_vertical(None, Some("furlong")).unwrap_err().contains("`furlong`"));
        let degrees = Georeference { transform: Some([10.0, 1e-3, 0.0, 45.0, 0.0, -1e-3]), ..Georeference::default() };
        assert!(check_horizontal(&degrees).is_err());
        // A user-defined unit: key 3077 is stored in GeoDoubleParams.
        let mut own = keyed(&[[1024, 1], [3076, USER_DEFINED], [3077, 0]]);
        own.keys[13] = 34736;
        (own.keys[15], own.doubles) = (1, vec![7.0, 0.5]);
        assert!(horizontal(&own).contains("a unit of 0.5 m"), "{}", horizontal(&own));
        own.doubles[1] = 1.0;
        assert!(check_horizontal(&own).is_ok());
        // A user-defined vertical system whose name mentions feet, together with a horizontal system in metres.
        let name = "NAVD88 height (ftUS)|";
        let mut vertical =
            Georeference { ascii: name.into(), ..keyed(&[[1024, 1], [3072, 32611], [4096, USER_DEFINED], [4097, 0]]) };
        (vertical.keys[17], vertical.keys[18]) = (34737, name.len() as u16);
        assert!(check_horizontal(&vertical).is_ok());
        assert!(check_vertical(Some(&vertical), None).unwrap_err().contains("(ftUS)"));
    }
}
