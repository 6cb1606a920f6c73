//! [`WorldPlace`]: the position of a generated world on Earth.

use serde_json::{Value as Json, json};

use thalweg_core::declare::keys::{self, Form, Key, Pair, key};
use thalweg_core::{Error, Georeference, MapPoint, Result};
use thalweg_io::{geokeys, units};

/// A coordinate system in metres, and the position of the world's north-western corner in it.
///
/// # Examples
/// ```
/// use thalweg_core::MapPoint;
/// use thalweg_sim::recipe::WorldPlace;
///
/// let place = WorldPlace::new("EPSG:32632", MapPoint::new(400_000.0, 5.2e6))?;
/// let reference = place.georeference(10.0);
/// assert_eq!(reference.epsg(), Some(32632));
/// assert_eq!(reference.transform, Some([400_000.0, 10.0, 0.0, 5.2e6, 0.0, -10.0]));
/// // Degrees are no metres.
/// assert!(WorldPlace::new("EPSG:4326", MapPoint::default()).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorldPlace {
    /// EPSG code of a projected system in metres, 1024 to 32 766.
    pub epsg: u16,
    /// The north-western corner in that system, each coordinate -1e8 to 1e8 m.
    pub corner: MapPoint,
}

impl WorldPlace {
    /// A placeholder that differs from every valid place.
    const UNSET: Self = Self { epsg: 0, corner: MapPoint::new(0.0, 0.0) };

    /// Returns a checked place: `crs` is the text `EPSG:CODE`.
    ///
    /// # Errors
    /// Returns an error for another text or a code out of range; for a system known to be in degrees, in feet, or in
    /// metres that are not ground distances; or for a corner out of range.
    pub fn new(crs: &str, corner: MapPoint) -> Result<Self> {
        let code = crs.strip_prefix("EPSG:").and_then(|code| code.parse::<u16>().ok());
        // Codes of geographic and geocentric systems are between 4000 and 5000; 32767 stands for a system without a
        // code.
        let code = code.filter(|code| (1024..32_767).contains(code) && !(4000..5000).contains(code));
        let epsg = code.ok_or_else(|| Error::invalid_value("crs", crs, ALLOWED))?;
        if !(CORNER.takes)(corner.into()) {
            return Err(Error::invalid_value("origin", format!("{},{}", corner.x, corner.y), CORNER.allowed));
        }
        let place = Self { epsg, corner };
        units::check_horizontal(&place.georeference(1.0)).map_err(|problem| {
            Error::invalid_value("crs", crs, format!("{ALLOWED}; this one {}", problem.into_message()))
        })?;
        Ok(place)
    }

    /// Returns the georeference of cells of `cell` metres, north up, with the first of them at the corner.
    pub fn georeference(&self, cell: f64) -> Georeference {
        let MapPoint { x, y } = self.corner;
        // Rows run southward and the northing grows northward, so the step per row is negative.
        geokeys::projected_crs(self.epsg, [x, cell, 0.0, y, 0.0, -cell])
    }
}

/// The allowed systems, in words.
const ALLOWED: &str = "EPSG:CODE of a projected system in metres, such as EPSG:32632";

const CORNER: Pair = Pair {
    takes: |at| at.iter().all(|metres| metres.abs() <= 1e8),
    allowed: "an easting and a northing in metres, each -100000000 to 100000000",
    number: || json!({"type": "number", "minimum": -1e8, "maximum": 1e8}),
};

/// The form of a code in a recipe.
struct EpsgForm;

impl Form<u16> for EpsgForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<u16> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        WorldPlace::new(&text, MapPoint::default())
            .map(|place| place.epsg)
            .map_err(|_| Error::invalid_value(name, value, ALLOWED))
    }

    fn write(&self, code: &u16) -> Option<String> {
        Some(keys::quote_toml(&format!("EPSG:{code}")))
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": "^EPSG:[0-9]{4,5}$"})
    }
}

const KEYS: [Key<WorldPlace>; 2] = [
    key!(WorldPlace, "crs" => epsg, EpsgForm, "The coordinate system: EPSG:CODE of a projected system in metres."),
    key!(WorldPlace, corner, CORNER, "Easting and northing of the world's north-western corner in metres."),
];

/// The form of [`WorldPlace`] in a recipe: `{ crs = "EPSG:CODE", corner = [x, y] }`.
pub(super) struct WorldPlaceForm;

impl Form<WorldPlace> for WorldPlaceForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<WorldPlace> {
        let allowed = "{ crs = \"EPSG:CODE\", corner = [x, y] }";
        let whole = |table: &&toml::Table| KEYS.iter().all(|key| table.contains_key(key.name));
        let table = value.as_table().filter(whole).ok_or_else(|| Error::invalid_value(name, value, allowed))?;
        keys::check_known_keys("key", table, KEYS.iter().map(|key| key.name))?;
        let mut place = WorldPlace::UNSET;
        keys::read_keys(&mut place, name, table, &KEYS).map(|()| place)
    }

    fn write(&self, place: &WorldPlace) -> Option<String> {
        Some(keys::format_inline_table(keys::write_keys(place, &WorldPlace::UNSET, &KEYS)))
    }

    fn schema(&self) -> Json {
        let mut schema = keys::table_schema(keys::keys_schema(&WorldPlace::UNSET, &KEYS));
        schema["required"] = json!(KEYS.map(|key| key.name));
        schema
    }
}

#[cfg(test)]
mod tests {
    use crate::recipe::Recipe;

    #[test]
    fn systems_in_metres_alone_are_taken() {
        let with = |place: &str| Recipe::parse(&format!("extent = [3000, 2000]\ncells = 30\nplace = {place}\n"));
        let recipe = with("{ crs = \"EPSG:32632\", corner = [400000, 5.2e6] }").unwrap();
        assert!(Recipe::parse(&recipe.to_toml()).unwrap().world_place() == recipe.world_place());
        let grid = recipe.last_grid().unwrap();
        let reference = grid.georeference.unwrap();
        assert_eq!(reference.epsg(), Some(32632));
        assert_eq!(reference.transform, Some([400_000.0, 100.0, 0.0, 5.2e6, 0.0, -100.0]));
        // Degrees, degrees by their code, feet (Texas), Pseudo-Mercator, and values that are no code or are used
        // nowhere.
        let codes = ["EPSG:4326", "EPSG:4978", "EPSG:2276", "EPSG:3857", "32632", "EPSG:32767", "EPSG:x", "EPSG:70000"];
        for code in codes {
            let error = with(&format!("{{ crs = \"{code}\", corner = [0, 0] }}")).err().unwrap().to_string();
            assert!(error.contains(code) && error.contains("projected system in metres"), "{error}");
        }
        for bad in [
            "{ crs = \"EPSG:32632\" }",
            "3",
            "{ crs = \"EPSG:32632\", corner = [0, nan] }",
            "{ crs = 5, corner = [0, 0] }",
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
        let over = Recipe::parse("from = \"a.tif\"\nplace = { crs = \"EPSG:32632\", corner = [0, 0] }\n");
        assert!(over.err().unwrap().to_string().contains("only applies to a recipe with `extent`"));
    }
}
