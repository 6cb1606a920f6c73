//! [`read_operation`]: reads the options of an operation from an object of JavaScript.

use crate::declare::operation::{Json, Operation, OptionSpec, WorkForm, options_for};
use crate::{Error, Result};

/// Reads the options of an operation that have an effect [in a browser](WorkForm::Browser). `keys` are the keys of the
/// object, and `read_value` returns the value of one as JSON: null if it is undefined. A key is the name of an option
/// in JavaScript ([`OptionSpec::camel_name`]), its name in earlier versions, or one of `others`, which the caller reads.
///
/// # Errors
/// Returns an error that names `what` and the nearest known key if a key is unknown; an error that names the option,
/// its value and what is allowed if a value is not; and the errors of [`Operation::check_form`].
///
/// # Examples
/// ```
/// use serde_json::json;
/// use thalweg_core::declare::browser::read_operation;
/// use thalweg_core::terrain::TerrainOptions;
///
/// let object = json!({"rows": 4, "cols": 3, "cellSize": 10});
/// let options: TerrainOptions =
///     read_operation("terrain option", &["rows", "cols", "cellSize"], &[], |key| object[key].clone())?;
/// assert_eq!(options.create_grid()?.size, [4, 3]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn read_operation<T: Operation + Default>(
    what: &'static str,
    keys: &[&str],
    others: &[&str],
    read_value: impl Fn(&str) -> Json,
) -> Result<T> {
    let mut options = T::default();
    let declared = options.declared();
    let is_known = |key: &str| others.contains(&key) || declared.iter().any(|option| is_key_of(option, key));
    if let Some(key) = keys.iter().find(|key| !is_known(key)) {
        // Options that only apply elsewhere are not suggested.
        let offered: Vec<String> =
            options_for(&options, WorkForm::Browser).iter().map(OptionSpec::camel_name).collect();
        return Err(Error::unknown_name(what, key, offered.iter().map(String::as_str).chain(others.iter().copied())));
    }
    // The order of the declaration is kept, so the first error is the same for any order of the keys.
    for option in &declared {
        for key in keys.iter().filter(|key| is_key_of(option, key) && !others.contains(key)) {
            let value = read_value(key);
            if !value.is_null() {
                options.set(option.name, &value).map_err(|error| rename_options(&declared, error))?;
            }
        }
    }
    options.check_form(WorkForm::Browser, OptionSpec::camel_name)?;
    Ok(options)
}

/// Returns true if a key is the name of an option, in this version or in an earlier one.
fn is_key_of(option: &OptionSpec, key: &str) -> bool {
    option.camel_name() == key || option.alias.is_some_and(|alias| OptionSpec::to_camel_case(alias) == key)
}

/// Gives the options in an error their names in JavaScript.
pub fn rename_options(options: &[OptionSpec], error: Error) -> Error {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::option_types::Setting;
    use crate::operation;
    use serde_json::json;

    operation! {
        /// Tries options that apply on a web page, and others.
        pub struct PageOptions, "page" {
            /// A depth.
            water_depth: f64 = 1.0, within 0.0..=100.0, unit "m", alias "lake_depth";
            /// A seed.
            seed: Option<u64> = None, within 0..=u64::MAX, unit "1";
            /// Sets a parameter.
            set: Vec<Setting> = Vec::new(), within .., unit "1";
            /// A file.
            from_file: Option<String> = None, within .., unit "1", only Arrays Folder;
            /// Softens the shore.
            shore_blur: Option<f64> = None, within 0.0..=10.0, unit "1", needs seed;
            /// Freezes the water.
            frozen: bool = false, within .., unit "1", excludes seed;
        }
    }

    fn read(object: &Json) -> Result<PageOptions> {
        let keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        read_operation("page option", &keys, &["progress"], |key| object[key].clone())
    }

    fn refused(object: &Json) -> String {
        read(object).unwrap_err().to_string()
    }

    #[test]
    fn options_are_read_by_their_names_in_javascript() {
        let read_options = read(&json!({
            "waterDepth": 3, "seed": u64::MAX, "parameters": {"uplift.rate": 2}, "shoreBlur": 1, "progress": [1, 2],
        }));
        let expected = PageOptions {
            water_depth: 3.0,
            seed: Some(u64::MAX),
            set: vec![Setting::new("uplift.rate", 2_u32)],
            shore_blur: Some(1.0),
            ..PageOptions::default()
        };
        assert_eq!(read_options.unwrap(), expected);
        // The name of an earlier version; null stands for a missing value.
        assert_eq!(read(&json!({"lakeDepth": 4, "seed": null})).unwrap().water_depth, 4.0);
    }

    #[test]
    fn wrong_options_are_refused_with_their_names_in_javascript() {
        assert_eq!(refused(&json!({"waterDept": 1})), "unknown page option `waterDept`; did you mean `waterDepth`?");
        assert_eq!(
            refused(&json!({"water_depth": 1})),
            "unknown page option `water_depth`; did you mean `waterDepth`?"
        );
        let all = refused(&json!({"zzz": 1}));
        assert!(
            ["waterDepth", "seed", "parameters", "shoreBlur", "progress"].iter().all(|name| all.contains(name)),
            "{all}"
        );
        assert!(!all.contains("fromFile"), "{all}");
        assert_eq!(refused(&json!({"waterDepth": 101})), "waterDepth = 101 m: must be 0 to 100 m");
        assert!(refused(&json!({"seed": -1})).starts_with("seed = -1: must be a whole number of 0 or more"));
        assert!(
            refused(&json!({"parameters": 3})).starts_with("parameters = 3: must be an object of names and values")
        );
        assert_eq!(refused(&json!({"shoreBlur": 1})), "shoreBlur only applies together with seed");
        assert_eq!(refused(&json!({"frozen": true, "seed": 1})), "frozen does not apply together with seed");
        let elsewhere = refused(&json!({"fromFile": "a.tif"}));
        assert!(elsewhere.starts_with("fromFile only applies when a program that has files calls the library"));
    }
}
