//! Parameters of models, each declared once.
//!
//! [`params!`](crate::params!) declares a model's parameters: name, meaning, unit, default, range, source, and how the
//! knobs scale them. The struct, its validation, the model's page, `--help`, the recipe's schema and the error messages
//! are all derived from this declaration.

use std::fmt;
use std::ops::{RangeFull, RangeInclusive};

use serde::Serialize;
use serde_json::json;

use crate::declare::operation::ReadableNumber;
use crate::{Error, Result};

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamKind {
    /// A real number between `min` and `max`, both included.
    Number {
        /// The least accepted value, in the parameter's unit.
        min: f64,
        /// The greatest accepted value, in the parameter's unit.
        max: f64,
    },
    /// A whole number between `min` and `max`, both included.
    Count {
        /// The least accepted value.
        min: u32,
        /// The greatest accepted value; `u32::MAX` where there is no limit.
        max: u32,
    },
    /// True or false.
    Switch,
    /// One word of a list; each word is paired with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { min, max } => write!(f, "{} to {}", ReadableNumber(*min), ReadableNumber(*max)),
            // The largest number stands for no limit.
            Self::Count { min, max: u32::MAX } => write!(f, "a whole number of {min} or more"),
            Self::Count { min, max } => write!(f, "a whole number from {min} to {}", ReadableNumber((*max).into())),
            Self::Switch => write!(f, "true or false"),
            Self::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                write!(f, "one of {}", words.join(", "))
            }
        }
    }
}

impl ParamKind {
    /// Returns the words of a choice, each with its meaning; none for other kinds.
    pub fn words(&self) -> &'static [(&'static str, &'static str)] {
        if let Self::Choice(words) = self { words } else { &[] }
    }

    /// Returns the JSON Schema of the accepted values.
    pub fn json_schema(&self) -> serde_json::Value {
        match self {
            Self::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Switch => json!({"type": "boolean"}),
            Self::Choice(words) => json!({"enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>()}),
        }
    }
}

/// A parameter's value, in the unit of its declaration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A real number.
    Number(f64),
    /// A whole number.
    Count(u32),
    /// True or false.
    Switch(bool),
    /// A word.
    Choice(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => write!(f, "{x}"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Switch(b) => write!(f, "{b}"),
            Self::Choice(word) => write!(f, "{word}"),
        }
    }
}

/// A value as a user wrote it in a recipe or on a command line, before it is checked against a declaration and becomes
/// a [`Value`].
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// A real number.
    Number(f64),
    /// A whole number. For example, a real parameter accepts 3 for 3.0.
    Whole(i64),
    /// True or false.
    Switch(bool),
    /// A word.
    Word(String),
    /// A value that no parameter accepts, for example a list or a date, as its text.
    Other(String),
}

impl Written {
    /// Converts a value of a recipe. It is hidden so that a crate that declares a model need not depend on `toml`.
    #[doc(hidden)]
    pub fn from_toml(value: &toml::Value) -> Self {
        match value {
            toml::Value::Float(x) => Self::Number(*x),
            toml::Value::Integer(n) => Self::Whole(*n),
            toml::Value::Boolean(b) => Self::Switch(*b),
            toml::Value::String(word) => Self::Word(word.clone()),
            other => Self::Other(other.to_string()),
        }
    }
}

/// Formats the value as TOML: words in quotes.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => toml::Value::Float(*x).fmt(f),
            Self::Whole(n) => n.fmt(f),
            Self::Switch(b) => b.fmt(f),
            Self::Word(word) => toml::Value::String(word.clone()).fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        match value {
            Value::Number(x) => x.into(),
            Value::Count(n) => n.into(),
            Value::Switch(b) => b.into(),
            Value::Choice(word) => word.into(),
        }
    }
}

/// Implements the conversions of plain values to [`Written`].
macro_rules! impl_written {
    ($($type:ty: $value:ident => $written:expr;)*) => {
        $(impl From<$type> for Written {
            fn from($value: $type) -> Self {
                $written
            }
        })*
    };
}

impl_written! {
    f64: x => Self::Number(x);
    u32: n => Self::Whole(n.into());
    bool: b => Self::Switch(b);
    &str: word => Self::Word(word.to_string());
}

/// A property that a user scales for a whole recipe at once (`Knobs`). Each knob has a dimensionless factor. The
/// factors of the knobs that describe a rock are ratios: the new rock's value divided by the former rock's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knob {
    /// The duration of all processes.
    Age,
    /// The rain.
    Rain,
    /// The erodibility of the rock: how readily water incises it.
    Erodibility,
    /// The steepest slope at which the rock is stable, as rise over run.
    Slope,
    /// The angle of repose of the rock's debris, as rise over run.
    Repose,
    /// The hillslope diffusivity of the rock's soil.
    Creep,
    /// The ratio of the erodibility of the rock's debris to that of the rock.
    Debris,
    /// Heights: uplift, and the elevations that base models generate.
    Relief,
    /// Widths: the same landform stretched horizontally by this factor.
    Size,
}

/// The exponent of a knob's factor. For example, with the exponent 0.5 a factor of 4 doubles the parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobPower {
    /// A fixed exponent, dimensionless.
    Number(f64),
    /// The value of another parameter of the same model, which must be a real number.
    Parameter(&'static str),
}

/// How a knob scales a parameter: the parameter is multiplied by a power of the knob's factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// The knob.
    pub knob: Knob,
    /// The exponent of its factor.
    pub power: KnobPower,
}

impl Scaling {
    /// Scales in proportion to a knob: exponent 1.
    pub const fn proportional_to(knob: Knob) -> Self {
        Self { knob, power: KnobPower::Number(1.0) }
    }
}

/// The declaration of a parameter.
///
/// # Examples
/// ```
/// use thalweg_core::declare::params::{Parameters, Value};
///
/// thalweg_core::params! {
///     /// Raises the ground at a constant rate.
///     pub struct Lift {
///         /// The uplift of every cell.
///         rate: f64 = 0.5, within 0.0..=10.0, unit "mm/a", source "ours";
///     }
/// }
/// let declared = Lift::default().declared();
/// assert_eq!((declared[0].name, declared[0].unit), ("rate", "mm/a"));
/// assert_eq!(declared[0].default, Value::Number(0.5));
/// assert_eq!(declared[0].kind.to_string(), "0 to 10");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The name, the same in recipes, on command lines and in messages.
    pub name: &'static str,
    /// The effect on the terrain.
    pub meaning: &'static str,
    /// The unit; `1` for a pure number.
    pub unit: &'static str,
    /// The accepted values.
    pub kind: ParamKind,
    /// The default, in the parameter's unit.
    pub default: Value,
    /// The value other than 0 that stands for "none" and that no knob scales; `None` if there is no such value.
    pub none: Option<f64>,
    /// How knobs scale the parameter; the factors are multiplied.
    pub scales: &'static [Scaling],
    /// The source of the default or of the formula.
    pub source: &'static str,
}

impl Param {
    /// Returns true if the parameter is a real or whole number, which knobs and finer levels may scale.
    pub fn is_number(&self) -> bool {
        matches!(self.kind, ParamKind::Number { .. } | ParamKind::Count { .. })
    }

    /// Describes the accepted values with their unit, for the end of the sentence "must be".
    pub fn describe_allowed(&self) -> String {
        match (self.kind, self.unit) {
            (ParamKind::Number { .. }, "°") => format!("{}°", self.kind),
            (ParamKind::Number { .. }, unit) if unit != "1" => format!("{} {unit}", self.kind),
            _ => self.kind.to_string(),
        }
    }

    /// Returns the parameter's JSON Schema, with its default and its meaning.
    pub fn json_schema(&self) -> serde_json::Value {
        let mut schema = self.kind.json_schema();
        schema["default"] = json!(self.default);
        schema["description"] = format!("{} [{}]", self.meaning, self.unit).into();
        schema
    }
}

/// A set of declared parameters that are accessed by name. Implemented by [`params!`](crate::params!).
///
/// # Examples
/// ```
/// use thalweg_core::declare::params::{Parameters, Value, Written};
///
/// thalweg_core::params! {
///     /// Raises the ground at a constant rate.
///     pub struct Lift {
///         /// The uplift of every cell.
///         rate: f64 = 0.5, within 0.0..=10.0, unit "mm/a", source "ours";
///     }
/// }
/// let mut lift = Lift::default();
/// lift.set("lift", "rate", &Written::Number(2.0))?;
/// assert_eq!((lift.rate, lift.get("rate")), (2.0, Some(Value::Number(2.0))));
///
/// let error = lift.set("lift", "rate", &Written::Number(99.0)).unwrap_err();
/// assert!(error.to_string().contains("must be 0 to 10"));
/// let error = lift.set("lift", "rte", &Written::Number(2.0)).unwrap_err();
/// assert!(error.to_string().contains("did you mean `rate`?"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub trait Parameters {
    /// Returns the owner's documentation, as written above the struct.
    fn page(&self) -> &'static str;
    /// Returns the declarations in their order.
    fn declared(&self) -> Vec<Param>;
    /// Returns the value of the parameter `name`; `None` if no parameter has that name.
    fn get(&self, name: &str) -> Option<Value>;
    /// Sets the parameter `name`; `owner` is the owner's name in error messages.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, or if the value is of another kind or out of range; nothing is changed
    /// then.
    fn set(&mut self, owner: &str, name: &str, value: &Written) -> Result<()>;
}

/// A Rust type that a parameter can have.
pub trait ParamType: Sized + Copy {
    /// The type of the limits in the declaration.
    type Within;
    /// Returns the accepted values within these limits.
    fn kind(within: Self::Within) -> ParamKind;
    /// Converts to a [`Value`].
    fn value(self) -> Value;
    /// Converts a written value; `None` if it is of another kind or outside the limits.
    fn parse(value: &Written, kind: &ParamKind) -> Option<Self>;
}

impl ParamType for f64 {
    type Within = RangeInclusive<f64>;
    fn kind(within: Self::Within) -> ParamKind {
        ParamKind::Number { min: *within.start(), max: *within.end() }
    }
    fn value(self) -> Value {
        Value::Number(self)
    }
    fn parse(value: &Written, kind: &ParamKind) -> Option<Self> {
        let x = match value {
            Written::Number(x) => *x,
            // A real parameter accepts a whole number, for example 3 for 3.0; the reverse is rejected.
            Written::Whole(n) => *n as f64,
            _ => return None,
        };
        matches!(kind, ParamKind::Number { min, max } if (*min..=*max).contains(&x)).then_some(x)
    }
}

impl ParamType for u32 {
    type Within = RangeInclusive<u32>;
    fn kind(within: Self::Within) -> ParamKind {
        ParamKind::Count { min: *within.start(), max: *within.end() }
    }
    fn value(self) -> Value {
        Value::Count(self)
    }
    fn parse(value: &Written, kind: &ParamKind) -> Option<Self> {
        let Written::Whole(n) = value else { return None };
        let n = u32::try_from(*n).ok()?;
        matches!(kind, ParamKind::Count { min, max } if (*min..=*max).contains(&n)).then_some(n)
    }
}

impl ParamType for bool {
    type Within = RangeFull;
    fn kind(_: RangeFull) -> ParamKind {
        ParamKind::Switch
    }
    fn value(self) -> Value {
        Value::Switch(self)
    }
    fn parse(value: &Written, _: &ParamKind) -> Option<Self> {
        if let Written::Switch(b) = value { Some(*b) } else { None }
    }
}

/// Reads a value for the parameter `param` of `owner`.
///
/// # Errors
/// Returns an error with the limits if `value` is of another kind than the parameter or outside its limits.
pub fn read_param<T: ParamType>(owner: &str, param: &Param, value: &Written) -> Result<T> {
    T::parse(value, &param.kind)
        .ok_or_else(|| Error::invalid_value(format!("{owner}.{}", param.name), value, param.describe_allowed()))
}

/// Parses a value as typed on a command line: as TOML if it is valid TOML, otherwise as a word.
///
/// # Examples
/// ```
/// use thalweg_core::declare::params::{Written, parse_value};
///
/// assert_eq!(parse_value("0.5"), Written::Number(0.5));
/// assert_eq!(parse_value("7"), Written::Whole(7));
/// assert_eq!(parse_value("true"), Written::Switch(true));
/// assert_eq!(parse_value("ridged"), Written::Word("ridged".to_string()));
/// ```
pub fn parse_value(text: &str) -> Written {
    toml::from_str::<toml::Table>(&format!("v = {text}"))
        .ok()
        // A text with a line break could contain further keys; such a text is taken as a word.
        .filter(|table| table.len() == 1)
        .and_then(|table| table.get("v").map(Written::from_toml))
        .unwrap_or_else(|| text.into())
}

/// Declares a model and its parameters in one place.
///
/// ```ignore
/// params! {
///     /// One sentence, formula, source: this is the model's page.
///     pub struct Example {
///         /// What it does to the terrain.
///         inertia: f64 = 0.1, within 0.0..=1.0, unit "1", source "Beyer 2015";
///         /// Twice the age makes twice as many, and so does twice the rain; land twice as wide has a quarter.
///         density: f64 = 0.0, within 0.0..=1e9, unit "1/km²", scales Age Rain Size^-2, source "ours";
///         /// No cell is dug below this elevation; there is none so low.
///         floor: f64 = -16e3, within -16e3..=16e3, none -16e3, unit "m", scales Relief, source "ours";
///     }
/// }
/// ```
///
/// `scales` names [`Knob`](crate::declare::params::Knob)s with their exponents, a number or another parameter:
/// `Rain^area_exponent`. Some conventions: shares that saturate at 1 (of a load, incised in one step) scale with a root
/// of a rock's erodibility. Valley-floor widths scale with its fourth root, because soft rock has wider valleys.
/// Numbers of droplets scale with age and with rain, because erosion is proportional to rain times time. Step lengths
/// of droplets scale with size, and densities of droplets with its inverse square, so that they carve the same valleys
/// at another width.
///
/// # Examples
/// The struct has a default, and its fields are public:
///
/// ```
/// thalweg_core::params! {
///     /// Raises the ground at a constant rate.
///     pub struct Lift {
///         /// The uplift of every cell; higher mountains rise faster.
///         rate: f64 = 0.5, within 0.0..=10.0, unit "mm/a", scales Relief, source "ours";
///         /// The number of steps.
///         steps: u32 = 20, within 1..=1000, unit "1", source "ours";
///     }
/// }
/// let lift = Lift { rate: 2.0, ..Lift::default() };
/// assert_eq!((lift.rate, lift.steps), (2.0, 20));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $page:literal])+
        pub struct $model:ident {
            $( $(#[doc = $meaning:literal])+
               $name:ident : $type:ty = $default:expr, within $within:expr, $(none $none:literal,)? unit $unit:literal,
               $(scales $($knob:ident $(^ $power:literal)? $(^ $of:ident)?)+,)? source $source:literal; )*
        }
    ) => {
        $(#[doc = $page])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $model {
            $( $(#[doc = $meaning])+ #[doc = concat!("\n\nUnit: ", $unit, ". Source: ", $source, ".")] pub $name: $type, )*
        }

        impl Default for $model {
            fn default() -> Self {
                Self { $( $name: $default, )* }
            }
        }

        impl $crate::declare::params::Parameters for $model {
            fn page(&self) -> &'static str {
                concat!($($page, "\n"),+)
            }
            fn declared(&self) -> Vec<$crate::declare::params::Param> {
                vec![ $( $crate::declare::params::Param {
                    name: stringify!($name),
                    meaning: concat!($($meaning),+).trim_ascii(),
                    unit: $unit,
                    kind: <$type as $crate::declare::params::ParamType>::kind($within),
                    default: $crate::declare::params::ParamType::value($default),
                    none: [$(Some($none),)? None][0],
                    scales: &[$($($crate::declare::params::Scaling {
                        knob: $crate::declare::params::Knob::$knob,
                        power: $crate::params!(@power $($power)? $($of)?),
                    }),+)?],
                    source: $source,
                }, )* ]
            }
            fn get(&self, name: &str) -> Option<$crate::declare::params::Value> {
                match name {
                    $( stringify!($name) => Some($crate::declare::params::ParamType::value(self.$name)), )*
                    _ => None,
                }
            }
            fn set(&mut self, owner: &str, name: &str, value: &$crate::declare::params::Written) -> $crate::base::error::Result<()> {
                let declared = self.declared();
                let Some(param) = declared.iter().find(|p| p.name == name) else {
                    return Err($crate::base::error::Error::unknown_name(
                        "parameter", name, declared.iter().map(|p| p.name)));
                };
                match name {
                    $( stringify!($name) => self.$name = $crate::declare::params::read_param(owner, param, value)?, )*
                    // Unreachable, because the name was found above. It also uses the variables when no parameter is
                    // declared.
                    _ => _ = (owner, param, value),
                }
                Ok(())
            }
        }
    };
    (@power) => { $crate::declare::params::KnobPower::Number(1.0) };
    (@power $power:literal) => { $crate::declare::params::KnobPower::Number($power as f64) };
    (@power $of:ident) => { $crate::declare::params::KnobPower::Parameter(stringify!($of)) };
}

/// Declares the words that a parameter accepts, as an enum.
///
/// # Examples
/// ```
/// use thalweg_core::declare::params::{Parameters, Written};
///
/// thalweg_core::choice! {
///     /// The shape of a plateau's rim.
///     pub enum Rim {
///         /// A vertical wall.
///         Wall = "wall",
///         /// An even slope.
///         Ramp = "ramp",
///     }
/// }
/// thalweg_core::params! {
///     /// A plateau.
///     pub struct Plateau {
///         /// The shape of its rim.
///         rim: Rim = Rim::Wall, within .., unit "1", source "ours";
///     }
/// }
/// let mut plateau = Plateau::default();
/// plateau.set("plateau", "rim", &Written::from("ramp"))?;
/// assert_eq!(plateau.rim, Rim::Ramp);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[macro_export]
macro_rules! choice {
    ( $(#[doc = $about:literal])+ pub enum $type:ident { $( $(#[doc = $meaning:literal])+ $variant:ident = $word:literal, )+ } ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type { $( $(#[doc = $meaning])+ $variant, )+ }

        impl $crate::declare::params::ParamType for $type {
            type Within = std::ops::RangeFull;
            fn kind(_: std::ops::RangeFull) -> $crate::declare::params::ParamKind {
                const WORDS: &[(&str, &str)] = &[ $( ($word, concat!($($meaning),+).trim_ascii()), )+ ];
                $crate::declare::params::ParamKind::Choice(WORDS)
            }
            fn value(self) -> $crate::declare::params::Value {
                $crate::declare::params::Value::Choice(match self { $( Self::$variant => $word, )+ })
            }
            fn parse(value: &$crate::declare::params::Written, _: &$crate::declare::params::ParamKind) -> Option<Self> {
                let $crate::declare::params::Written::Word(word) = value else { return None };
                match word.as_str() { $( $word => Some(Self::$variant), )+ _ => None }
            }
        }

        impl $crate::declare::operation::OptionType for $type {
            type Within = std::ops::RangeFull;
            fn kind(within: std::ops::RangeFull) -> $crate::declare::operation::OptionKind {
                $crate::declare::operation::OptionKind::Choice(<Self as $crate::declare::params::ParamType>::kind(within).words())
            }
            fn from_json(value: &$crate::declare::operation::Json) -> Option<Self> {
                let word = $crate::declare::params::Written::from(value.as_str()?);
                let kind = <Self as $crate::declare::params::ParamType>::kind(..);
                $crate::declare::params::ParamType::parse(&word, &kind)
            }
            fn to_json(&self) -> $crate::declare::operation::Json {
                match self { $( Self::$variant => $word.into(), )+ }
            }
        }
    };
}
