//! [`read_operation`]: the options of an operation from an object of JavaScript.

use serde_json::{Map, Value as Json};

use crate::declare::operation::{Operation, OptionSpec, WorkForm};
use crate::{Error, Result};

/// Reads the options of an operation from an object of JavaScript that was converted to JSON. A key is the
/// [name of an option in JavaScript](OptionSpec::camel_name) or one of its
/// [earlier names](OptionSpec::earlier_camel_names); null stands for the default. Keys of `others` are left to the
/// caller. `what` is the kind of name for the message about an unknown key, such as `drain option`.
///
/// # Errors
/// Returns an error for an unknown key, which names the nearest known one or all; for a value that is of another kind
/// or out of range; and for an option that has no effect [in a browser](WorkForm::Browser) or together with another
/// one. The names in messages are those of JavaScript.
///
/// # Examples
/// ```
/// use serde_json::json;
/// use thalweg_core::declare::script::read_operation;
///
/// thalweg_core::operation! {
///     /// Fills a lake.
///     pub struct FloodOptions, "flood" {
///         /// The depth of the water.
///         water_depth: f64 = 1.0, within 0.0..=100.0, unit "m";
///     }
/// }
/// let read = |object: serde_json::Value| {
///     read_operation::<FloodOptions>("flood option", object.as_object().unwrap(), &["progress"])
/// };
/// assert_eq!(read(json!({"waterDepth": 2, "progress": 1}))?.water_depth, 2.0);
/// assert_eq!(read(json!({"waterDepth": -2})).unwrap_err().to_string(), "waterDepth = -2 m: must be 0 to 100 m");
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn read_operation<T: Operation + Default>(
    what: &'static str,
    object: &Map<String, Json>,
    others: &[&str],
) -> Result<T> {
    let mut options = T::default();
    let declared = options.declared();
    check_keys(what, &declared, object, others)?;
    // The order of the declaration is kept, so the first error is the same for any order of the keys.
    for option in &declared {
        let name = option.camel_name();
        let earlier = option.earlier_camel_names();
        let mut earlier = earlier.iter().filter_map(|key| given_value(object, key).map(|value| (key, value)));
        let value = match (given_value(object, &name), earlier.next()) {
            (Some(_), Some((key, _))) => {
                let problem = format!("is an earlier name of {name} and does not apply together with it");
                return Err(Error::conflict(key, problem));
            }
            (Some(value), None) => value.clone(),
            (None, Some((_, value))) => join_nested_names(option, value),
            (None, None) => continue,
        };
        options.set(option.name, &value).map_err(|error| name_in_javascript(&declared, error))?;
    }
    options.check_form(WorkForm::Browser, OptionSpec::camel_name)?;
    Ok(options)
}

/// Returns an error with the names that options have in JavaScript.
pub fn name_in_javascript(options: &[OptionSpec], error: Error) -> Error {
    let rename = |name: String| match options.iter().find(|option| option.name == name) {
        Some(option) => option.camel_name(),
        None => name,
    };
    match error {
        Error::Value { name, value, allowed } => Error::Value { name: rename(name), value, allowed },
        Error::Conflict { setting, problem } => Error::Conflict { setting: rename(setting), problem },
        other => other,
    }
}

/// Checks that each key is a name of an option or one of `others`.
fn check_keys(what: &'static str, declared: &[OptionSpec], object: &Map<String, Json>, others: &[&str]) -> Result<()> {
    let is_option =
        |option: &OptionSpec, key: &String| option.camel_name() == *key || option.earlier_camel_names().contains(key);
    let is_known =
        |key: &String| others.contains(&key.as_str()) || declared.iter().any(|option| is_option(option, key));
    let Some(key) = object.keys().find(|key| !is_known(key)) else { return Ok(()) };
    let usable = declared.iter().filter(|option| option.forms.contains(&WorkForm::Browser));
    let names: Vec<String> = usable.map(OptionSpec::camel_name).collect();
    Err(Error::unknown_name(what, key, names.iter().map(String::as_str).chain(others.iter().copied())))
}

/// Returns the value of a key; `None` if it is absent or null.
fn given_value<'a>(object: &'a Map<String, Json>, key: &str) -> Option<&'a Json> {
    object.get(key).filter(|value| !value.is_null())
}

/// Joins names with dots: `{"uplift": {"years": 1}}` becomes `{"uplift.years": 1}`. Earlier versions had such objects
/// for values with names.
fn join_nested_names(option: &OptionSpec, value: &Json) -> Json {
    let Some(groups) = value.as_object().filter(|_| option.is_named()) else { return value.clone() };
    let mut joined = Map::new();
    for (group, value) in groups {
        match value.as_object() {
            Some(values) => {
                joined.extend(values.iter().map(|(name, value)| (format!("{group}.{name}"), value.clone())))
            }
            None => _ = joined.insert(group.clone(), value.clone()),
        }
    }
    joined.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::option_types::Setting;
    use crate::operation;
    use serde_json::json;
    use std::path::PathBuf;

    operation! {
        /// Tries options of every form.
        pub struct ProbeOptions, "probe" {
            /// A length.
            probe_length: f64 = 1.0, within 0.0..=9.0, unit "m", alias "old_length";
            /// A seed.
            seed: Option<u64> = None, within 0..=u64::MAX, unit "1", excludes probe_count;
            /// A number.
            probe_count: u32 = 3, within 1..=10, unit "1", needs probe_length;
            /// A file.
            from_file: Option<PathBuf> = None, within .., unit "1", only Arrays Folder;
            /// A store.
            skip_tiles: bool = false, within .., unit "1", only Store;
            /// Parameters.
            set: Vec<Setting> = Vec::new(), within .., unit "1";
        }
    }

    fn read(object: Json) -> Result<ProbeOptions> {
        read_operation("probe option", object.as_object().unwrap(), &["progress"])
    }

    fn refused(object: Json) -> String {
        read(object).unwrap_err().to_string()
    }

    #[test]
    fn options_are_read_by_their_names_in_javascript() {
        let object = json!({"probeLength": 2.5, "probeCount": 4, "parameters": {"uplift.years": 5}, "seed": null});
        let expected = ProbeOptions {
            probe_length: 2.5,
            probe_count: 4,
            set: vec![Setting::new("uplift.years", 5u32)],
            ..ProbeOptions::default()
        };
        assert_eq!(read(object).unwrap(), expected);
        assert_eq!(read(json!({})).unwrap(), ProbeOptions::default());
        assert_eq!(read(json!({"progress": "for the caller"})).unwrap(), ProbeOptions::default());
        assert_eq!(read(json!({"seed": u64::MAX})).unwrap().seed, Some(u64::MAX));
    }

    #[test]
    fn earlier_names_are_accepted_alone() {
        let old = read(json!({"oldLength": 2, "set": {"uplift": {"years": 5, "rate": 1}, "rain.sum": 2}})).unwrap();
        let new = read(json!({"probeLength": 2, "parameters": {"uplift.years": 5, "uplift.rate": 1, "rain.sum": 2}}));
        assert_eq!(old.probe_length, 2.0);
        let sorted = |mut set: Vec<Setting>| {
            set.sort_by(|a, b| a.name.cmp(&b.name));
            set
        };
        assert_eq!(sorted(old.set), sorted(new.unwrap().set));
        assert_eq!(
            refused(json!({"set": {}, "parameters": {}})),
            "set is an earlier name of parameters and does not apply together with it"
        );
    }

    #[test]
    fn unknown_options_name_the_known_ones() {
        assert_eq!(
            refused(json!({"probelength": 1})),
            "unknown probe option `probelength`; did you mean `probeLength`?"
        );
        let all = refused(json!({"zzzz": 1}));
        assert!(all.starts_with("unknown probe option `zzzz`"), "{all}");
        assert!(["probeLength", "seed", "probeCount", "parameters", "progress"].iter().all(|name| all.contains(name)));
        // Options without effect in a browser, and the names of other languages, are not offered.
        assert!(["fromFile", "skipTiles", "from_file", "set"].iter().all(|name| !all.contains(name)), "{all}");
        assert!(refused(json!({"probe_length": 1})).contains("did you mean `probeLength`"));
    }

    #[test]
    fn values_and_conflicts_are_refused_with_the_declared_messages() {
        assert_eq!(refused(json!({"probeLength": 10})), "probeLength = 10 m: must be 0 to 9 m");
        assert_eq!(refused(json!({"oldLength": 10})), "probeLength = 10 m: must be 0 to 9 m");
        assert!(refused(json!({"parameters": {"a": [1]}})).starts_with("parameters = "));
        assert_eq!(refused(json!({"probeCount": 4})), "probeCount only applies together with probeLength");
        assert_eq!(
            refused(json!({"seed": 4, "probeLength": 2, "probeCount": 5})),
            "seed does not apply together with probeCount"
        );
        assert_eq!(
            refused(json!({"fromFile": "dem.tif"})),
            "fromFile only applies outside a browser, when a program calls the library, or the output is a file or a \
             folder, not a Zarr store, and the input fits in memory"
        );
        assert_eq!(
            refused(json!({"skipTiles": true})),
            "skipTiles only applies outside a browser, when the output is a Zarr store (-o DIR.zarr)"
        );
    }
}
