//! One declaration per parameter.
//!
//! [`params!`](crate::params!) declares a model's parameters once: name, meaning, unit, default, range, source, and how the
//! knobs turn it. The struct, its check, the model's page, `--help`, the recipe's schema and error messages are all read from it.

use std::fmt;
use std::ops::{RangeFull, RangeInclusive};

use serde::Serialize;
use serde_json::json;

use crate::{Error, Result};

/// What a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamKind {
    /// A real number within limits, both included.
    Number {
        /// Least value accepted, in the parameter's unit.
        min: f64,
        /// Greatest value accepted, in the parameter's unit.
        max: f64,
    },
    /// A whole number within limits, both included.
    Count {
        /// Least value accepted.
        min: u32,
        /// Greatest value accepted; `u32::MAX` where there is no limit.
        max: u32,
    },
    /// True or false.
    Switch,
    /// One of a few words: each word, then its meaning.
    Choice(&'static [(&'static str, &'static str)]),
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { min, max } => write!(f, "{min} to {max}"),
            Self::Count { min, max: u32::MAX } => write!(f, "{min} and more, whole"),
            Self::Count { min, max } => write!(f, "{min} to {max}, whole"),
            Self::Switch => write!(f, "true or false"),
            Self::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                write!(f, "one of {}", words.join(", "))
            }
        }
    }
}

impl ParamKind {
    /// The JSON Schema of what it accepts.
    pub fn schema(&self) -> serde_json::Value {
        match self {
            Self::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Switch => json!({"type": "boolean"}),
            Self::Choice(words) => json!({"enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>()}),
        }
    }
}

/// A parameter's value, in the unit that its declaration names.
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

/// A value as somebody wrote it, in a recipe or on a command line. What a declaration reads from it is a [`Value`].
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// A real number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// True or false.
    Switch(bool),
    /// A word.
    Word(String),
    /// What no parameter takes, such as a list or a date: its text.
    Other(String),
}

impl Written {
    /// The value as a recipe has it; hidden, so that whoever declares a model needs no `toml`.
    #[doc(hidden)]
    pub fn of(value: &toml::Value) -> Self {
        match value {
            toml::Value::Float(x) => Self::Number(*x),
            toml::Value::Integer(n) => Self::Whole(*n),
            toml::Value::Boolean(b) => Self::Switch(*b),
            toml::Value::String(word) => Self::Word(word.clone()),
            other => Self::Other(other.to_string()),
        }
    }
}

/// As it stands in a recipe: words in quotes.
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

/// What a person turns for a whole recipe at once (`Knobs`). Each is a factor without unit. Those of a
/// rock are ratios: the new rock's figure over the former one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knob {
    /// Time that everything works.
    Age,
    /// Rain.
    Rain,
    /// How readily water cuts the rock.
    Erodibility,
    /// Steepest slope that the rock stands at, as rise over run.
    Slope,
    /// Steepest slope of the rock's debris, as rise over run.
    Repose,
    /// How fast the rock's soil creeps: its diffusivity.
    Creep,
    /// How many times as fast as the rock itself its debris is cut.
    Debris,
    /// Heights: uplift, and what base models lay.
    Relief,
    /// Widths: the same landform on ground so many times as wide.
    Size,
}

/// To which power of a knob's factor a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobPower {
    /// This one, without unit.
    Number(f64),
    /// The value of another parameter of the same model, which is a real number.
    Parameter(&'static str),
}

/// How a parameter goes with a knob: it becomes itself times a power of the knob's factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// The knob.
    pub knob: Knob,
    /// The power.
    pub power: KnobPower,
}

impl Scaling {
    /// In proportion to a knob.
    pub const fn with(knob: Knob) -> Self {
        Self { knob, power: KnobPower::Number(1.0) }
    }
}

/// The declaration of a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name, everywhere.
    pub name: &'static str,
    /// What it does to the terrain.
    pub meaning: &'static str,
    /// Its unit; `1` for a pure number.
    pub unit: &'static str,
    /// What it accepts.
    pub kind: ParamKind,
    /// Its default, in its unit.
    pub default: Value,
    /// The value beside 0 that stands for "none", which no knob turns; `None` where there is none beside 0.
    pub none: Option<f64>,
    /// How knobs turn it; their factors multiply.
    pub scales: &'static [Scaling],
    /// Where the default or the formula comes from.
    pub source: &'static str,
}

impl Param {
    /// Whether it is a number, real or whole: knobs and finer levels may multiply it.
    pub fn is_number(&self) -> bool {
        matches!(self.kind, ParamKind::Number { .. } | ParamKind::Count { .. })
    }

    /// This parameter's JSON Schema.
    pub fn schema(&self) -> serde_json::Value {
        let mut schema = self.kind.schema();
        schema["default"] = json!(self.default);
        schema["description"] = format!("{} [{}]", self.meaning, self.unit).into();
        schema
    }
}

/// A set of declared parameters, reached by name. Implemented by [`params!`](crate::params!).
pub trait Parameters {
    /// The owner's documentation, as written above the struct.
    fn page(&self) -> &'static str;
    /// The declarations, in order.
    fn declared(&self) -> Vec<Param>;
    /// The value of parameter `name`; `None` where none of that name is declared.
    fn get(&self, name: &str) -> Option<Value>;
    /// Sets parameter `name`; `owner` is said in messages.
    ///
    /// # Errors
    /// An unknown name, a value of another kind, a value out of range; nothing is then changed.
    fn set(&mut self, owner: &str, name: &str, value: &Written) -> Result<()>;
}

/// A Rust type that a parameter may have.
pub trait ParamType: Sized + Copy {
    /// How its limits are written in the declaration.
    type Within;
    /// What it accepts within those limits.
    fn kind(within: Self::Within) -> ParamKind;
    /// As a value.
    fn value(self) -> Value;
    /// From what somebody wrote, if it is of this kind and within its limits.
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

/// Reads one value for parameter `param` of `owner`.
///
/// # Errors
/// When `value` is of another kind than the parameter, or out of its limits; with these.
pub fn read_param<T: ParamType>(owner: &str, param: &Param, value: &Written) -> Result<T> {
    T::parse(value, &param.kind)
        .ok_or_else(|| Error::value(format!("{owner}.{}", param.name), value, param.kind.to_string()))
}

/// A value as typed on a command line: TOML if it is TOML, else a word.
pub fn parse_value(text: &str) -> Written {
    toml::from_str::<toml::Table>(&format!("v = {text}"))
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|table| table.get("v").map(Written::of))
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
/// `scales` names [`Knob`](crate::declare::params::Knob)s with their powers, a number or another parameter: `Rain^area_exponent`. Shares
/// that end at 1 (of a load, dug in a step) go with a root of a rock's erodibility; floors' widths with its fourth root, for
/// soft rock has wider valleys. Counts of droplets go with age and with rain: erosion is rain times time. Strides go with size
/// and densities of droplets with its square, downwards, so that they carve the same valleys.
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
                    return Err($crate::base::error::Error::unknown(
                        "parameter", name, declared.iter().map(|p| p.name)));
                };
                match name {
                    $( stringify!($name) => self.$name = $crate::declare::params::read_param(owner, param, value)?, )*
                    // Reached by none; and read by nothing where no parameter is declared.
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

/// Declares a parameter's closed list of words.
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
    };
}
