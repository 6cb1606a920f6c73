//! Coordinate systems in the keywords of ArcInfo, as old `.prj` files have them: `Projection UTM`, `Zone 11`,
//! `Datum NAD83`.

use super::geokeys;
use thalweg_core::Georeference;

/// Parses the usual systems: degrees and UTM of the datums WGS 84, NAD 83 and NAD 27. Returns `None` for others.
pub(super) fn parse_keywords(text: &str) -> Option<Georeference> {
    let word = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(|c: char| c.is_ascii_whitespace()));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.trim().to_ascii_uppercase()).unwrap_or_default()
    };
    // The code in degrees, that of UTM zone 0, and the last northern zone.
    let (geographic, zones, last) = match word("datum").as_str() {
        "WGS84" => (4326, 32_600, 60),
        "NAD83" => (4269, 26_900, 23),
        "NAD27" => (4267, 26_700, 22),
        _ => return None,
    };
    match (word("projection").as_str(), word("units").as_str(), word("zone").parse::<u16>().ok()) {
        ("GEOGRAPHIC", "DD" | "", _) => Some(geokeys::georeference_from_epsg(geographic, true)),
        ("UTM", "METERS" | "METRES" | "", Some(zone @ 1..=60)) if zone <= last => {
            Some(geokeys::georeference_from_epsg(zones + zone, false))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_of_old_files() {
        let epsg = |text: &str| parse_keywords(text).and_then(|place| place.epsg());
        assert_eq!(epsg("Projection UTM\nZone 11\nDatum NAD83\nUnits METERS\n"), Some(26_911));
        assert_eq!(epsg("PROJECTION    GEOGRAPHIC\r\nUNITS         DD\r\nDATUM         WGS84\r\n"), Some(4326));
        for text in [
            "",
            "é",
            "Projection UTM\nZone 32",
            "Projection UTM\nZone 99\nDatum WGS84",
            "Projection ALBERS\nDatum NAD83",
            "Projection UTM\nZone 11\nDatum NAD83\nUnits FEET",
            "Projection GEOGRAPHIC\nUnits DS\nDatum WGS84",
        ] {
            assert_eq!(epsg(text), None, "{text}");
        }
    }
}
