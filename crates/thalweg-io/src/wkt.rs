//! Coordinate reference systems as text (WKT): conversion to GeoTIFF keys, and the unit of their coordinates.
//!
//! Three dialects are read: OGC 01-009 (WKT 1), Esri's variant of it, and ISO 19162 (WKT 2). A system with an EPSG code
//! becomes the keys of that code. A projected system without one is stored as its text in the citation key, behind the
//! words `ESRI PE String = `, which Esri introduced and GDAL reads and writes.

use std::fmt::Write;

use super::geokeys::{self, KeyWriter, key};
use super::units;
use thalweg_core::Georeference;
use thalweg_core::base::names;

/// The words before the text of a system in a citation key.
const PE_STRING: &str = "ESRI PE String = ";

/// The greatest depth of brackets; systems of the EPSG dataset have fewer than ten levels.
// The parser calls itself at every bracket, so the limit protects the stack.
const MAX_DEPTH: usize = 32;

/// A keyword and the values in its brackets.
#[derive(Debug, Clone, PartialEq)]
struct WktNode {
    /// The keyword in upper case.
    keyword: String,
    values: Vec<WktValue>,
}

#[derive(Debug, Clone, PartialEq)]
enum WktValue {
    /// A text in quotes.
    Quoted(String),
    /// A number or a word, as it is spelled.
    Bare(String),
    Node(WktNode),
}

/// Converts a system to a georeference without a transform; `None` for a local system in metres, which states nothing
/// about the position on Earth. `EPSG:` and a code are accepted, too.
///
/// # Errors
/// Returns an error, in words that follow the name of the file, if the text is not a system.
pub fn georeference_from_wkt(text: &str) -> Result<Option<Georeference>, String> {
    let text = text.trim().trim_start_matches('\u{feff}');
    if let Some(code) = text.strip_prefix("EPSG:") {
        let code = code.trim().parse().ok().filter(|code| is_system_code(*code));
        let code = code.ok_or_else(|| format!("has the coordinate system `{}`", names::format_short(text)))?;
        // The geographic systems of the EPSG dataset have these codes, apart from a few recent ones.
        return Ok(Some(geokeys::georeference_from_epsg(code, (4000..5000).contains(&code))));
    }
    let nodes = parse_nodes(text)?;
    let [horizontal, vertical] = find_parts(&nodes);
    let mut keys = KeyWriter::default();
    let compound = nodes.iter().find(|node| is_compound(node));
    // WKT 2 states the code of a compound system alone, not those of its parts.
    if let (Some(code), Some(node)) = (compound.and_then(WktNode::epsg), horizontal)
        && is_projected(node)
        && node.epsg().is_none()
    {
        keys.set_short(key::MODEL_TYPE, 1);
        keys.set_short(key::PROJECTED, code);
        keys.set_compound();
        return Ok(Some(keys.into_georeference()));
    }
    match horizontal {
        Some(node) if is_projected(node) => write_projected(&mut keys, node, compound.unwrap_or(node)),
        Some(node) if is_geographic(node) => write_geographic(&mut keys, node),
        Some(node) if node.keyword == "GEOCCS" => keys.set_short(key::MODEL_TYPE, 3),
        Some(node) if is_local(node) => {
            if node.unit().is_none_or(|(size, _)| size == 1.0) {
                return Ok(None);
            }
            keys.set_short(key::MODEL_TYPE, USER_DEFINED);
            write_linear_unit(&mut keys, node);
        }
        Some(_) => {}
        None if vertical.is_some() => {}
        None => {
            let keyword = nodes.first().map_or("", |node| node.keyword.as_str());
            return Err(format!(
                "has a coordinate system of the kind `{}`; it must be projected or geographic",
                names::format_short(keyword)
            ));
        }
    }
    if let Some(vertical) = vertical {
        write_vertical(&mut keys, vertical);
    }
    Ok(Some(keys.into_georeference()))
}

/// Returns the size in metres and the name of the unit of coordinates, according to the text of a projected system in
/// the citations of a GeoTIFF.
pub fn find_cited_unit(citations: &str) -> Option<(f64, String)> {
    let (_, text) = citations.split_once(PE_STRING)?;
    let nodes = parse_nodes(text.trim_end_matches(['|', ' '])).ok()?;
    let [horizontal, _] = find_parts(&nodes);
    horizontal.filter(|node| is_projected(node))?.unit()
}

/// Returns the text of a projected system that has no EPSG code, in WKT: that of its citation, or one made from its
/// keys; `None` for other systems, and for methods of projection that are not known.
pub fn describe_system(place: &Georeference) -> Option<String> {
    if place.epsg().is_some() {
        return None;
    }
    let cited = geokeys::join_key_texts(place, |name| !key::HEIGHT_KEYS.contains(&name));
    if let Some((_, text)) = cited.split_once(PE_STRING) {
        let nodes = parse_nodes(text.trim_end_matches(['|', ' '])).ok()?;
        return find_parts(&nodes)[0].map(WktNode::to_text);
    }
    let short = |name| geokeys::find_short(place, name);
    let double = |name| geokeys::find_double(place, name);
    let authority = |name| short(name).filter(|code| *code != USER_DEFINED);
    let authority = |name| authority(name).map_or(String::new(), |code| format!(",AUTHORITY[\"EPSG\",\"{code}\"]"));
    let (_, method, parameters) = METHODS.iter().find(|(code, ..)| short(key::METHOD) == Some(*code))?;
    let mut parameter_text = String::new();
    for (name, keys) in *parameters {
        let value = keys.iter().find_map(|name| double(*name))?;
        // Writing to a text does not fail.
        let _ = write!(parameter_text, ",PARAMETER[\"{name}\",{value}]");
    }
    let citation = geokeys::join_key_texts(place, |name| name == key::GEOGRAPHIC_CITATION);
    let part = |name: &str| citation.split('|').find_map(|part| part.strip_prefix(name)).map(str::to_string);
    let whole = Some(citation.clone()).filter(|text| !text.is_empty() && !text.contains('='));
    let geographic = part("GCS Name = ").or(whole).unwrap_or_else(|| "unknown".to_string());
    // GDAL leaves out the names of well-known datums.
    let known = || match short(key::DATUM) {
        Some(6326) => "WGS_1984",
        Some(6269) => "North_American_Datum_1983",
        Some(6258) => "European_Terrestrial_Reference_System_1989",
        _ => "unknown",
    };
    let datum = part("Datum = ").unwrap_or_else(|| known().to_string());
    let ellipsoid = part("Ellipsoid = ").unwrap_or_else(|| "unknown".to_string());
    let axis = double(key::SEMI_MAJOR_AXIS)?;
    // A sphere has an inverse flattening of 0 in WKT, and no such key.
    let flattening = double(key::INVERSE_FLATTENING).unwrap_or(0.0);
    let (size, unit) = match (short(key::LINEAR_UNITS)?, double(key::LINEAR_SIZE)) {
        (USER_DEFINED, size) => (size?, "unknown"),
        (code, _) => units::find_unit_length(code)?,
    };
    let name = geokeys::join_key_texts(place, |name| name == key::CITATION);
    let name = if name.is_empty() { "unknown" } else { &name };
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    Some(format!(
        "PROJCS[{},GEOGCS[{},DATUM[{},SPHEROID[{},{axis},{flattening}]{}],PRIMEM[\"Greenwich\",0],\
         UNIT[\"degree\",0.0174532925199433]{}],PROJECTION[\"{method}\"]{parameter_text},UNIT[{},{size}]]",
        quoted(name),
        quoted(&geographic),
        quoted(&datum),
        quoted(&ellipsoid),
        authority(key::DATUM),
        authority(key::GEOGRAPHIC),
        quoted(unit),
    ))
}

/// A method of projection: its code in GeoTIFF, its name in WKT, and its parameters in WKT with the keys of GeoTIFF, of
/// which the first that a file has is used.
type ProjectionMethod = (u16, &'static str, &'static [(&'static str, &'static [u16])]);

/// The methods of which systems without a code are common.
const METHODS: [ProjectionMethod; 7] = [
    (
        1,
        "Transverse_Mercator",
        &[("latitude_of_origin", &[3081]), ("central_meridian", &[3080]), ("scale_factor", &[3092]), EASTING, NORTHING],
    ),
    (
        8,
        "Lambert_Conformal_Conic_2SP",
        &[
            ("latitude_of_origin", &[3085, 3081]),
            ("central_meridian", &[3084, 3080]),
            ("standard_parallel_1", &[3078]),
            ("standard_parallel_2", &[3079]),
            ("false_easting", &[3086, 3082]),
            ("false_northing", &[3087, 3083]),
        ],
    ),
    (
        9,
        "Lambert_Conformal_Conic_1SP",
        &[("latitude_of_origin", &[3081]), ("central_meridian", &[3080]), ("scale_factor", &[3092]), EASTING, NORTHING],
    ),
    (
        10,
        "Lambert_Azimuthal_Equal_Area",
        &[("latitude_of_center", &[3089]), ("longitude_of_center", &[3088]), EASTING, NORTHING],
    ),
    (
        11,
        "Albers_Conic_Equal_Area",
        &[
            ("latitude_of_center", &[3081]),
            ("longitude_of_center", &[3080]),
            ("standard_parallel_1", &[3078]),
            ("standard_parallel_2", &[3079]),
            EASTING,
            NORTHING,
        ],
    ),
    (
        15,
        "Polar_Stereographic",
        &[("latitude_of_origin", &[3081]), ("central_meridian", &[3095]), ("scale_factor", &[3092]), EASTING, NORTHING],
    ),
    (
        16,
        "Oblique_Stereographic",
        &[("latitude_of_origin", &[3081]), ("central_meridian", &[3080]), ("scale_factor", &[3092]), EASTING, NORTHING],
    ),
];

const EASTING: (&str, &[u16]) = ("false_easting", &[3082]);
const NORTHING: (&str, &[u16]) = ("false_northing", &[3083]);

/// The value of a key for a definition in the file itself.
const USER_DEFINED: u16 = 32_767;

/// Codes of systems: smaller ones are reserved, greater ones are not codes of systems in GeoTIFF.
fn is_system_code(code: u16) -> bool {
    (1024..USER_DEFINED).contains(&code)
}

fn is_compound(node: &WktNode) -> bool {
    matches!(node.keyword.as_str(), "COMPD_CS" | "COMPOUNDCRS")
}

fn is_projected(node: &WktNode) -> bool {
    matches!(node.keyword.as_str(), "PROJCS" | "PROJCRS" | "PROJECTEDCRS")
}

fn is_geographic(node: &WktNode) -> bool {
    matches!(node.keyword.as_str(), "GEOGCS" | "GEOGCRS" | "GEOGRAPHICCRS" | "GEODCRS" | "GEODETICCRS")
}

fn is_local(node: &WktNode) -> bool {
    matches!(node.keyword.as_str(), "LOCAL_CS" | "ENGCRS" | "ENGINEERINGCRS")
}

fn is_vertical(node: &WktNode) -> bool {
    matches!(node.keyword.as_str(), "VERT_CS" | "VERTCS" | "VERTCRS" | "VERTICALCRS")
}

/// Returns the horizontal and the vertical system of a text.
fn find_parts(nodes: &[WktNode]) -> [Option<&WktNode>; 2] {
    let is_horizontal =
        |node: &&WktNode| is_projected(node) || is_geographic(node) || is_local(node) || node.keyword == "GEOCCS";
    let mut parts = [None, None];
    // Esri writes two systems one after the other; the other dialects put them into brackets.
    for node in nodes {
        let node = match node.keyword.as_str() {
            "BOUNDCRS" => node.child(&["SOURCECRS"]).and_then(|node| node.nodes().next()).unwrap_or(node),
            _ => node,
        };
        let inner: Vec<&WktNode> = if is_compound(node) { node.nodes().collect() } else { vec![node] };
        parts[0] = parts[0].or_else(|| inner.iter().copied().find(is_horizontal));
        parts[1] = parts[1].or_else(|| inner.iter().copied().find(|node| is_vertical(node)));
    }
    parts
}

/// Writes a projected system, which is a part of the system `whole` or that system itself.
fn write_projected(keys: &mut KeyWriter, node: &WktNode, whole: &WktNode) {
    if let Some(code) = node.epsg().or_else(|| recognize_utm(node)) {
        keys.set_short(key::MODEL_TYPE, 1);
        keys.set_short(key::PROJECTED, code);
        return;
    }
    // GDAL ignores the citation unless the model is user-defined.
    keys.set_short(key::MODEL_TYPE, USER_DEFINED);
    keys.set_text(key::CITATION, node.name());
    keys.set_text(key::PROJECTED_CITATION, &format!("{PE_STRING}{}", whole.to_text()));
    write_linear_unit(keys, node);
}

/// Writes the unit of the coordinates of a system.
fn write_linear_unit(keys: &mut KeyWriter, node: &WktNode) {
    match node.unit() {
        Some((size, _)) if find_unit_code(size).is_some() => {
            keys.set_short(key::LINEAR_UNITS, find_unit_code(size).unwrap_or(USER_DEFINED));
        }
        Some((size, _)) => {
            keys.set_short(key::LINEAR_UNITS, USER_DEFINED);
            keys.set_double(key::LINEAR_SIZE, size);
        }
        None => {}
    }
}

fn write_geographic(keys: &mut KeyWriter, node: &WktNode) {
    keys.set_short(key::MODEL_TYPE, 2);
    if let Some(code) = node.epsg().or_else(|| recognize_geographic(node)) {
        keys.set_short(key::GEOGRAPHIC, code);
        return;
    }
    const DEGREE: u16 = 9102;
    keys.set_short(key::GEOGRAPHIC, USER_DEFINED);
    let datum = node.child(&["DATUM", "ENSEMBLE", "TRF", "GEODETICDATUM"]);
    let ellipsoid = datum.and_then(|datum| datum.child(&["SPHEROID", "ELLIPSOID"]));
    let [datum_name, ellipsoid_name] = [datum, ellipsoid].map(|node| node.map_or("unknown", WktNode::name));
    let citation = format!("GCS Name = {}|Datum = {datum_name}|Ellipsoid = {ellipsoid_name}|", node.name());
    keys.set_text(key::GEOGRAPHIC_CITATION, &citation);
    keys.set_short(key::DATUM, USER_DEFINED);
    keys.set_short(key::ANGULAR_UNITS, DEGREE);
    if let Some(ellipsoid) = ellipsoid
        && let (Some(axis), Some(flattening)) = (ellipsoid.number(1), ellipsoid.number(2))
    {
        keys.set_short(key::ELLIPSOID, USER_DEFINED);
        keys.set_double(key::SEMI_MAJOR_AXIS, axis);
        // A flattening of 0 stands for a sphere.
        match flattening == 0.0 {
            true => keys.set_double(key::SEMI_MINOR_AXIS, axis),
            false => keys.set_double(key::INVERSE_FLATTENING, flattening),
        }
    }
}

fn write_vertical(keys: &mut KeyWriter, node: &WktNode) {
    match node.epsg() {
        Some(code) => keys.set_short(key::VERTICAL, code),
        None => {
            keys.set_short(key::VERTICAL, USER_DEFINED);
            keys.set_text(key::VERTICAL_CITATION, node.name());
        }
    }
    if let Some(code) = node.unit().and_then(|(size, _)| find_unit_code(size)) {
        keys.set_short(key::VERTICAL_UNITS, code);
    }
}

/// Returns the EPSG code of a unit of this length in metres: the metre, the foot, and the US survey foot.
fn find_unit_code(size: f64) -> Option<u16> {
    // Texts round the US survey foot, 1200/3937 m, to different numbers of digits. It differs from the foot by 6·10⁻⁷.
    let is_near = |metres: f64| (size - metres).abs() < 1e-9;
    match () {
        () if size == 1.0 => Some(9001),
        () if is_near(0.3048) => Some(9002),
        () if is_near(1200.0 / 3937.0) => Some(9003),
        () => None,
    }
}

/// Returns the code of a UTM zone that is given without its code, as Esri's programs do. The name states the datum and
/// the zone; the parameters must be those of the zone.
fn recognize_utm(node: &WktNode) -> Option<u16> {
    let name = node.name().to_ascii_lowercase().replace('_', " ");
    let (datum, zone) = name.split_once("utm zone ")?;
    let is_south = zone.ends_with('s');
    let zone: u16 = zone.strip_suffix(['n', 's'])?.parse().ok().filter(|zone| (1..=60).contains(zone))?;
    let base = match (datum.trim().trim_end_matches('/').trim_end(), is_south) {
        ("wgs 1984" | "wgs 84" | "wgs84", false) => 32_600,
        ("wgs 1984" | "wgs 84" | "wgs84", true) => 32_700,
        ("etrs 1989" | "etrs89", false) if (28..=38).contains(&zone) => 25_800,
        ("nad 1983" | "nad83", false) if zone <= 23 => 26_900,
        _ => return None,
    };
    let is_zone = [
        ("central_meridian", f64::from(zone) * 6.0 - 183.0),
        ("latitude_of_origin", 0.0),
        ("scale_factor", 0.9996),
        ("false_easting", 500_000.0),
        ("false_northing", if is_south { 1e7 } else { 0.0 }),
    ];
    let is_parameter = |(name, value): &(&str, f64)| node.parameter(name).is_some_and(|own| own == *value);
    (is_zone.iter().all(is_parameter) && node.unit().is_some_and(|(size, _)| size == 1.0)).then_some(base + zone)
}

/// Returns the code of a common geographic system that is given without its code.
fn recognize_geographic(node: &WktNode) -> Option<u16> {
    match node.name() {
        "WGS 84" | "GCS_WGS_1984" | "WGS_1984" => Some(4326),
        "NAD83" | "GCS_North_American_1983" => Some(4269),
        "NAD27" | "GCS_North_American_1927" => Some(4267),
        "ETRS89" | "GCS_ETRS_1989" => Some(4258),
        _ => None,
    }
}

impl WktNode {
    fn nodes(&self) -> impl Iterator<Item = &Self> {
        self.values.iter().filter_map(|value| if let WktValue::Node(node) = value { Some(node) } else { None })
    }

    /// Returns the first value that is a node with one of these keywords.
    fn child(&self, keywords: &[&str]) -> Option<&Self> {
        self.nodes().find(|node| keywords.contains(&node.keyword.as_str()))
    }

    /// Returns the name, which is the first value.
    fn name(&self) -> &str {
        match self.values.first() {
            Some(WktValue::Quoted(text) | WktValue::Bare(text)) => text,
            _ => "unknown",
        }
    }

    /// Returns value number `k` if it is a number.
    fn number(&self, k: usize) -> Option<f64> {
        match self.values.get(k)? {
            WktValue::Bare(text) => text.parse::<f64>().ok().filter(|number| number.is_finite()),
            _ => None,
        }
    }

    /// Returns the EPSG code of the system itself.
    fn epsg(&self) -> Option<u16> {
        let authority = self.nodes().find(|node| matches!(node.keyword.as_str(), "AUTHORITY" | "ID"))?;
        if !authority.name().eq_ignore_ascii_case("EPSG") {
            return None;
        }
        match authority.values.get(1)? {
            WktValue::Quoted(code) | WktValue::Bare(code) => code.parse().ok().filter(|code| is_system_code(*code)),
            WktValue::Node(_) => None,
        }
    }

    /// Returns the size in metres and the name of the unit of the axes.
    fn unit(&self) -> Option<(f64, String)> {
        const UNITS: [&str; 2] = ["UNIT", "LENGTHUNIT"];
        // WKT 2 may state the unit of each axis instead of one for all.
        let axis = || self.child(&["AXIS"]).and_then(|axis| axis.child(&UNITS));
        let unit = self.child(&UNITS).or_else(axis)?;
        Some((unit.number(1).filter(|size| *size > 0.0)?, unit.name().to_string()))
    }

    /// Returns the parameter of a projection with this name, in any case and with spaces or underscores.
    fn parameter(&self, name: &str) -> Option<f64> {
        let is_named =
            |node: &&Self| node.keyword == "PARAMETER" && node.name().to_ascii_lowercase().replace(' ', "_") == name;
        self.nodes().find(is_named)?.number(1)
    }

    /// Returns the text on one line, in ASCII, without the parts that only describe.
    fn to_text(&self) -> String {
        let mut text = String::new();
        self.write_to(&mut text);
        // A vertical bar ends the text of a key.
        text.chars().map(|c| if c.is_ascii() && c != '|' { c } else { '?' }).collect()
    }

    fn write_to(&self, text: &mut String) {
        const DESCRIPTIONS: [&str; 6] = ["USAGE", "SCOPE", "AREA", "BBOX", "REMARK", "ABRIDGEDTRANSFORMATION"];
        text.push_str(&self.keyword);
        let mut separator = '[';
        for value in &self.values {
            if let WktValue::Node(node) = value
                && DESCRIPTIONS.contains(&node.keyword.as_str())
            {
                continue;
            }
            text.push(separator);
            separator = ',';
            match value {
                WktValue::Node(node) => node.write_to(text),
                WktValue::Bare(bare) => text.push_str(bare),
                WktValue::Quoted(quoted) => {
                    // Writing to a text does not fail.
                    let _ = write!(text, "\"{}\"", quoted.replace('"', "\"\""));
                }
            }
        }
        if separator == '[' {
            text.push('[');
        }
        text.push(']');
    }
}

/// Parses nodes that are separated by commas.
fn parse_nodes(text: &str) -> Result<Vec<WktNode>, String> {
    let mut parser = WktParser { rest: text };
    let mut nodes = Vec::new();
    loop {
        match parser.parse_value(0) {
            Some(WktValue::Node(node)) => nodes.push(node),
            _ => {
                return Err(format!(
                    "does not contain a coordinate system in WKT, or it is truncated: `{}`",
                    names::format_short(text)
                ));
            }
        }
        if !parser.skip(',') {
            break;
        }
    }
    match parser.rest.trim() {
        "" => Ok(nodes),
        rest => Err(format!("has `{}` after its coordinate system", names::format_short(rest))),
    }
}

/// The part of a text that is not parsed yet.
struct WktParser<'a> {
    rest: &'a str,
}

impl WktParser<'_> {
    /// Skips spaces and then a character; returns false if another one follows.
    fn skip(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(c);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// Parses a text in quotes, a number, a word, or a node; `None` if the text is none of them or ends before.
    fn parse_value(&mut self, depth: usize) -> Option<WktValue> {
        if self.skip('"') {
            return self.parse_quoted().map(WktValue::Quoted);
        }
        let end = self.rest.find(|c: char| ",[]()\"".contains(c) || c.is_whitespace()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).filter(|(word, _)| !word.is_empty())?;
        self.rest = rest;
        let closing = match () {
            () if self.skip('[') => ']',
            () if self.skip('(') => ')',
            () => return Some(WktValue::Bare(word.to_string())),
        };
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut node = WktNode { keyword: word.to_ascii_uppercase(), values: Vec::new() };
        loop {
            node.values.push(self.parse_value(depth + 1)?);
            if self.skip(closing) {
                return Some(WktValue::Node(node));
            }
            if !self.skip(',') {
                return None;
            }
        }
    }

    /// Parses the rest of a text in quotes; two quotes stand for one.
    fn parse_quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let (part, rest) = self.rest.split_once('"')?;
            text.push_str(part);
            self.rest = rest;
            let Some(rest) = self.rest.strip_prefix('"') else { return Some(text) };
            text.push('"');
            self.rest = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTM: &str = r#"PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",DATUM["WGS_1984",
        SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]]],UNIT["degree",0.0174532925199433],
        AUTHORITY["EPSG","4326"]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],
        PARAMETER["central_meridian",9],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],
        PARAMETER["false_northing",0],UNIT["metre",1],AUTHORITY["EPSG","32632"]]"#;

    const ESRI_UTM: &str = r#"PROJCS["WGS_1984_UTM_Zone_32N",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",
        SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],
        PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],PARAMETER["False_Northing",0.0],
        PARAMETER["Central_Meridian",9.0],PARAMETER["Scale_Factor",0.9996],PARAMETER["Latitude_Of_Origin",0.0],
        UNIT["Meter",1.0]]"#;

    /// A system without a code; `{}` is its unit.
    const LCC: &str = r#"PROJCRS["Mine ""1""",BASEGEOGCRS["WGS 84",DATUM["World Geodetic System 1984",
        ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],ID["EPSG",4326]],
        CONVERSION["unnamed",METHOD["Lambert Conic Conformal (2SP)",ID["EPSG",9802]],
        PARAMETER["False easting",500000,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["(E)",east,ORDER[1]],
        AXIS["(N)",north,ORDER[2]],{},USAGE[SCOPE["unknown"],AREA["World"],BBOX[-90,-180,90,180]]]"#;

    fn convert(text: &str) -> Georeference {
        georeference_from_wkt(text).unwrap().unwrap()
    }

    fn short(place: &Georeference, key: u16) -> Option<u16> {
        geokeys::find_short(place, key)
    }

    #[test]
    fn codes_are_those_of_the_system_itself() {
        assert_eq!(convert(UTM).epsg(), Some(32_632));
        assert_eq!(convert(ESRI_UTM).epsg(), Some(32_632));
        assert_eq!(convert("EPSG:25832").epsg(), Some(25_832));
        let south = ESRI_UTM.replace("32N", "32S").replace("Northing\",0.0", "Northing\",10000000.0");
        assert_eq!(convert(&south).epsg(), Some(32_732));
        // Other parameters than those of the zone.
        assert_eq!(convert(&ESRI_UTM.replace("0.9996", "0.9999")).epsg(), None);
        let geographic =
            convert(r#"GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["x",6378137.0,298.2]],UNIT["Degree",0.017]]"#);
        assert_eq!((geographic.epsg(), short(&geographic, key::MODEL_TYPE)), (Some(4326), Some(2)));
    }

    #[test]
    fn a_system_without_a_code_is_cited_with_its_unit() {
        for (unit, code) in [
            (r#"LENGTHUNIT["metre",1]"#, 9001),
            (r#"LENGTHUNIT["US survey foot",0.304800609601219]"#, 9003),
            (r#"LENGTHUNIT["foot",0.3048,ID["EPSG",9002]]"#, 9002),
            (r#"LENGTHUNIT["yard",0.9144]"#, USER_DEFINED),
        ] {
            let place = convert(&LCC.replace("{}", unit));
            assert_eq!((place.epsg(), short(&place, key::MODEL_TYPE)), (None, Some(USER_DEFINED)));
            assert_eq!(short(&place, key::LINEAR_UNITS), Some(code));
            let cited = geokeys::join_key_texts(&place, |name| name == key::PROJECTED_CITATION);
            assert!(cited.starts_with("ESRI PE String = PROJCRS[\"Mine \"\"1\"\"\",BASEGEOGCRS["), "{cited}");
            assert!(cited.ends_with(&format!("{unit}]")) && !cited.contains("USAGE"), "{cited}");
            assert_eq!(find_cited_unit(&cited).is_some_and(|(size, _)| size == 1.0), code == 9001);
            // The text that was written is read again.
            assert_eq!(convert(cited.strip_prefix(PE_STRING).unwrap()), place);
        }
    }

    #[test]
    fn systems_are_described_by_their_citation_or_their_keys() {
        let cited = convert(&LCC.replace("{}", r#"LENGTHUNIT["metre",1]"#));
        let text = describe_system(&cited).unwrap();
        assert!(text.starts_with("PROJCRS[\"Mine") && convert(&text) == cited, "{text}");
        assert_eq!(describe_system(&convert(UTM)), None);
        // The keys that GDAL writes for a conic projection.
        let mut keys = KeyWriter::default();
        for (key, value) in [(1024, 1), (2048, 4326), (3072, USER_DEFINED), (3075, 8), (3076, 9003)] {
            keys.set_short(key, value);
        }
        keys.set_text(key::CITATION, "Mine");
        keys.set_text(key::GEOGRAPHIC_CITATION, "WGS 84");
        for (key, value) in
            [(2057, 6_378_137.0), (2059, 298.25), (3078, 45.0), (3079, 49.0), (3084, 11.0), (3085, 47.0), (3086, 5.5)]
        {
            keys.set_double(key, value);
        }
        assert_eq!(describe_system(&keys.into_georeference()), None, "a parameter is missing");
        let mut keys = KeyWriter::default();
        for (key, value) in [(1024, 1), (2048, 4326), (3072, USER_DEFINED), (3075, 10), (3076, 9001)] {
            keys.set_short(key, value);
        }
        keys.set_text(key::CITATION, "Mine");
        keys.set_text(key::GEOGRAPHIC_CITATION, "WGS 84");
        for (key, value) in [(2057, 6_378_137.0), (2059, 298.25), (3082, 1.0), (3083, 2.0), (3088, 11.0), (3089, 47.0)]
        {
            keys.set_double(key, value);
        }
        let expected = r#"PROJCS["Mine",GEOGCS["WGS 84",DATUM["unknown",SPHEROID["unknown",6378137,298.25]],
            PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]],
            PROJECTION["Lambert_Azimuthal_Equal_Area"],PARAMETER["latitude_of_center",47],
            PARAMETER["longitude_of_center",11],PARAMETER["false_easting",1],PARAMETER["false_northing",2],
            UNIT["metre",1]]"#;
        let expected: String = expected.lines().map(str::trim).collect();
        assert_eq!(describe_system(&keys.into_georeference()), Some(expected));
    }

    #[test]
    fn compound_systems_have_a_vertical_part() {
        let vertical = r#"VERT_CS["NAP height",VERT_DATUM["NAP",2005],UNIT["metre",1],AUTHORITY["EPSG","5709"]]"#;
        let feet = r#"VERTCS["own",VDATUM["own"],UNIT["Foot_US",0.3048006096012192]]"#;
        let place = convert(&format!(r#"COMPD_CS["both",{UTM},{vertical},AUTHORITY["EPSG","7415"]]"#));
        assert_eq!((place.epsg(), short(&place, key::VERTICAL)), (Some(32_632), Some(5709)));
        assert_eq!(short(&place, key::VERTICAL_UNITS), Some(9001));
        // Without the codes of its parts, and without any code.
        let bare =
            |text: &str| text.replace(r#",AUTHORITY["EPSG","32632"]"#, "").replace(r#",AUTHORITY["EPSG","5709"]"#, "");
        let place = convert(&format!(
            r#"COMPD_CS["both",{},{},AUTHORITY["EPSG","7415"]]"#,
            bare(UTM).replace("zone", ""),
            bare(vertical)
        ));
        assert_eq!(
            (place.epsg(), &place.keys[..3], short(&place, key::VERTICAL_UNITS)),
            (Some(7415), &[1, 1, 1][..], None)
        );
        let place = convert(&format!(r#"COMPD_CS["both",{},{}]"#, bare(UTM).replace("zone", ""), bare(vertical)));
        assert_eq!((place.epsg(), short(&place, key::VERTICAL_UNITS)), (None, Some(9001)));
        assert!(geokeys::join_key_texts(&place, |name| name == key::PROJECTED_CITATION).contains("= COMPD_CS["));
        // Esri writes the two systems one after the other.
        let place = convert(&format!("{ESRI_UTM},{feet}"));
        assert_eq!((place.epsg(), short(&place, key::VERTICAL)), (Some(32_632), Some(USER_DEFINED)));
        assert_eq!(short(&place, key::VERTICAL_UNITS), Some(9003));
    }

    #[test]
    fn local_systems_in_metres_state_nothing() {
        assert_eq!(georeference_from_wkt(r#"LOCAL_CS["here",UNIT["metre",1]]"#), Ok(None));
        let feet = convert(r#"ENGCRS["here",EDATUM["d"],CS[Cartesian,2],LENGTHUNIT["foot",0.3048]]"#);
        assert_eq!(short(&feet, key::LINEAR_UNITS), Some(9002));
    }

    #[test]
    fn broken_texts_are_refused() {
        let deep = format!("{}1{}", "A[".repeat(100_000), "]".repeat(100_000));
        for text in [
            "",
            "  ",
            "PROJCS",
            "PROJCS[",
            "PROJCS[]",
            "PROJCS[\"x",
            "EPSG:",
            "EPSG:99999999",
            "[]",
            "\"",
            &deep,
            "é[é",
        ] {
            assert!(georeference_from_wkt(text).is_err(), "{text:.20}");
        }
        for length in 0..UTM.len() {
            assert!(georeference_from_wkt(&UTM[..length]).is_err(), "{length}");
        }
        assert!(georeference_from_wkt(&format!("{UTM} x")).unwrap_err().contains("`x`"));
        assert!(georeference_from_wkt("VRT[1]").unwrap_err().contains("`VRT`"));
    }
}
