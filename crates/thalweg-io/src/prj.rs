//! Coordinate systems in files beside a raster: `.prj`, as WKT or in the keywords of ArcInfo.

use super::geokeys::{self, key};
use super::text::decode_text;
use super::{FilePath, plain};
use thalweg_core::{Error, Georeference, Result};

/// The greatest size of a `.prj` file in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The usual systems in degrees in ESRI's spelling, and their EPSG codes.
const ESRI_GEOGRAPHIC: [(&str, u16); 4] = [
    ("GCS_WGS_1984", 4326),
    ("GCS_North_American_1983", 4269),
    ("GCS_North_American_1927", 4267),
    ("GCS_ETRS_1989", 4258),
];

/// Reads the coordinate system of the `.prj` file next to `path`, such as `dem.prj` for `dem.asc`; `None` if there is
/// none.
///
/// # Errors
/// Returns an error if the file cannot be read or is not text.
pub(super) fn read_system(path: &FilePath) -> Result<Option<Georeference>> {
    for ending in ["prj", "PRJ"] {
        let file = path.with_extension(ending);
        if let Some(bytes) = plain::read_if_exists(&file, MAX_BYTES)? {
            let text = decode_text(&bytes).map_err(|problem| Error::invalid_file(&*file, problem))?;
            return Ok(parse_system(text));
        }
    }
    Ok(None)
}

/// Parses a coordinate system; `None` for an empty text.
fn parse_system(text: &str) -> Option<Georeference> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.get(..10).is_some_and(|word| word.eq_ignore_ascii_case("projection")) {
        return Some(parse_keywords(text));
    }
    let name = text.split('"').nth(1).unwrap_or(text);
    let is_geographic = ["GEOGCS", "GEOGCRS", "GEODCRS"].iter().any(|word| text.starts_with(word));
    // The code of the whole system is at the end, behind those of its parts.
    let code_text = text.rfind("\"EPSG\",").map(|at| &text[at + 7..]);
    let code = code_text.and_then(|rest| rest.trim_end_matches([']', ' ']).trim_matches('"').parse().ok());
    let geographic = ESRI_GEOGRAPHIC.iter().find(|(own, _)| is_geographic && *own == name).map(|(_, code)| *code);
    if let Some(code) = code.or(geographic).or_else(|| find_utm_code(name)) {
        return Some(geokeys::georeference_from_epsg(code, is_geographic));
    }
    // The last unit of a projected system is that of its coordinates; those before it are of angles.
    let size: Option<f64> = text.rfind("UNIT[").and_then(|at| text[at..].split([',', ']']).nth(1)?.trim().parse().ok());
    Some(describe_system(name, is_geographic, if is_geographic { None } else { size }))
}

/// Returns the code of a UTM system from its name in ESRI's spelling, such as `WGS_1984_UTM_Zone_32N`.
fn find_utm_code(name: &str) -> Option<u16> {
    let (datum, zone) = name.split_once("_UTM_Zone_")?;
    let (number, side) = zone.split_at_checked(zone.len().checked_sub(1)?)?;
    let number: u16 = number.parse().ok().filter(|number| (1..=60).contains(number))?;
    match (datum, side) {
        ("WGS_1984", "N") => Some(32_600 + number),
        ("WGS_1984", "S") => Some(32_700 + number),
        ("NAD_1983", "N") if number <= 23 => Some(26_900 + number),
        ("NAD_1927", "N") if number <= 22 => Some(26_700 + number),
        ("ETRS_1989", "N") if (28..=38).contains(&number) => Some(25_800 + number),
        _ => None,
    }
}

/// Parses the keywords of ArcInfo, such as `Projection UTM`, `Zone 11`, `Datum NAD83`.
fn parse_keywords(text: &str) -> Georeference {
    let word = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(|c: char| c.is_ascii_whitespace()));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.trim().to_ascii_uppercase()).unwrap_or_default()
    };
    let (projection, datum) = (word("projection"), word("datum"));
    let is_geographic = projection == "GEOGRAPHIC";
    if is_geographic && datum == "WGS84" {
        return geokeys::georeference_from_epsg(4326, true);
    }
    let name = match datum.as_str() {
        "WGS84" => "WGS_1984",
        "NAD83" => "NAD_1983",
        "NAD27" => "NAD_1927",
        _ => "",
    };
    let zone = word("zone");
    let code = find_utm_code(&format!("{name}_UTM_Zone_{zone}N")).filter(|_| projection == "UTM");
    if let Some(code) = code {
        return geokeys::georeference_from_epsg(code, false);
    }
    let size = match word("units").as_str() {
        "METERS" | "METRES" => Some(1.0),
        "FEET" => Some(1200.0 / 3937.0),
        "INTERNATIONAL" => Some(0.3048),
        _ => None,
    };
    describe_system(&format!("{projection} {zone} {datum}"), is_geographic, size)
}

/// Makes a georeference of a system without a code from its name and the metres of its unit.
fn describe_system(name: &str, is_geographic: bool, unit_metres: Option<f64>) -> Georeference {
    const CITATION: u16 = 1026;
    const ASCII: u16 = 34737;
    const DOUBLES: u16 = 34736;
    let ascii: String = name.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).take(200).chain(['|']).collect();
    let model = if is_geographic { 2 } else { 1 };
    let mut keys = vec![
        1,
        1,
        0,
        3,
        key::MODEL_TYPE,
        0,
        1,
        model,
        key::RASTER_TYPE,
        0,
        1,
        1,
        CITATION,
        ASCII,
        ascii.len() as u16,
        0,
    ];
    let mut doubles = Vec::new();
    match unit_metres.filter(|metres| metres.is_finite() && *metres > 0.0) {
        None => {}
        Some(1.0) => keys.extend([key::LINEAR_UNITS, 0, 1, 9001]),
        Some(metres) => {
            keys.extend([key::LINEAR_UNITS, 0, 1, 32_767, key::LINEAR_SIZE, DOUBLES, 1, 0]);
            doubles.push(metres);
        }
    }
    keys[3] = (keys.len() / 4 - 1) as u16;
    Georeference { keys, doubles, ascii, ..Georeference::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_of_every_spelling() {
        let epsg = |text: &str| parse_system(text).and_then(|place| place.epsg());
        let utm = r#"PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],UNIT["metre",1],
            AUTHORITY["EPSG","32632"]]"#;
        assert_eq!(epsg(utm), Some(32_632));
        assert_eq!(epsg(r#"PROJCRS["x",BASEGEOGCRS["y",ID["EPSG",4258]],ID["EPSG",25832]]"#), Some(25_832));
        let esri = r#"PROJCS["WGS_1984_UTM_Zone_32N",GEOGCS["GCS_WGS_1984",UNIT["Degree",0.0174532925199433]],
            UNIT["Meter",1.0]]"#;
        assert_eq!(epsg(esri), Some(32_632));
        assert_eq!(epsg("Projection UTM\nZone 11\nDatum NAD83\nUnits METERS\n"), Some(26_911));
        assert_eq!(epsg("Projection GEOGRAPHIC\nDatum WGS84\nUnits DD\n"), Some(4326));
        assert_eq!(epsg(r#"GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984"],UNIT["Degree",0.0174532925199433]]"#), Some(4326));
        assert_eq!(parse_system(" \n"), None);
        let degrees = parse_system(r#"GEOGCS["GCS_Hjorsey_1955",UNIT["Degree",0.0174532925199433]]"#).unwrap();
        assert_eq!(geokeys::find_short(&degrees, key::MODEL_TYPE), Some(2));
        let feet = parse_system(
            r#"PROJCS["NAD_1983_StatePlane_X",GEOGCS["x",UNIT["Degree",0.0174]],UNIT["Foot_US",0.3048006096012192]]"#,
        )
        .unwrap();
        assert_eq!(geokeys::find_double(&feet, key::LINEAR_SIZE), Some(0.3048006096012192));
        for text in ["é", "PROJCS[", "UNIT[", "_UTM_Zone_", "PROJCS[\"WGS_1984_UTM_Zone_é\"]", "\"EPSG\","] {
            let _ = parse_system(text);
        }
    }
}
