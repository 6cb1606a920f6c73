//! [`Rock`]: materials, independent of landforms. A recipe names the rock that its parameters are meant for; choosing
//! another rock scales them.

use std::fmt::Write as _;
use std::ops::RangeFull;
use std::sync::LazyLock;

use thalweg_core::declare::operation::{Json, OptionKind, OptionType};
use thalweg_core::declare::params::Knob;
use thalweg_core::{Error, Result};

/// A rock that land is made of.
///
/// # Examples
/// ```
/// use thalweg_models::rocks::{ROCKS, Rock};
///
/// let shale = Rock::find("shale")?;
/// // Rivers incise shale more readily than granite, and its slopes are gentler.
/// assert!(shale.erodibility > Rock::usual().erodibility && shale.slope < Rock::usual().slope);
/// // The list is ordered from hard to soft.
/// assert_eq!((ROCKS[0].name, ROCKS[7].name), ("granite", "sand"));
/// assert!(Rock::find("granit").unwrap_err().to_string().contains("did you mean `granite`?"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Rock {
    /// The name in recipes.
    pub name: &'static str,
    /// A description of the landforms.
    pub about: &'static str,
    /// The erodibility by rivers, as a factor relative to granite.
    pub erodibility: f64,
    /// The steepest angle of its slopes, in degrees.
    pub slope: f64,
    /// The angle of repose of its debris, in degrees.
    pub repose: f64,
    /// The diffusivity of the soil on it, in m²/a.
    pub creep: f64,
    /// The erodibility of its debris, relative to that of the rock itself.
    pub debris: f64,
    /// The albedo as sRGB (red, green, blue): first its dark, then its light variant.
    pub albedo: [[u8; 3]; 2],
    /// The share of the variation of colour that depends on height, in beds: 0 to 1.
    pub bedded: f32,
}

/// The rocks, from hard to soft. The first is that of a recipe that names none.
///
/// `erodibility`: Stock & Montgomery (1999, doi:10.1029/98JB02139) find 10⁻⁷ to 10⁻⁶ m^0.2/a for granite and
/// metamorphic rock, 10⁻⁵ to 10⁻⁴ for volcaniclastic rock, 10⁻⁴ to 10⁻² for mudstone. Our values are the fourth root
/// of the ratio of the middles of these ranges, so that a landform remains land in another rock: 100 gives 3 for ash,
/// 3 200 gives 7.5 for shale. Limestone and sandstone are between granite and mudstone, as their tensile strengths
/// are (Sklar & Dietrich 2001, doi:10.1130/0091-7613(2001)029<1087:SARSCO>2.0.CO;2); their positions between them,
/// and how far unconsolidated material is beyond shale, are our choice.
///
/// `slope`: hard rock is stable at 30 to 37° (Burbank et al. 1996, doi:10.1038/379505a0); friable loess at 51° where
/// it does not stand vertically (Lohnes & Handy 1968, *Journal of Geology* 76); clay slides over long times at 10 to
/// 20° (Skempton 1964, doi:10.1680/geot.1964.14.2.77); dry sand and ash are stable at 33 to 34° (Bagnold 1941). The
/// single values are our choice within these ranges.
///
/// `repose`: scree 35 to 40°, dry sand 34°, wet clay 15 to 25° (usual values; Carson & Kirkby 1972, *Hillslope form
/// and process*).
///
/// `creep`: 0.001 to 0.02 m²/a (Fernandes & Dietrich 1997, doi:10.1029/97WR00534; Hanks 2000,
/// doi:10.1029/RF004p0313); the order is our choice.
///
/// `debris`: our choice. Blocks and grains erode equally fast whatever rock they come from, so the harder the rock,
/// the greater the contrast with its debris.
///
/// `albedo`, `bedded`: our choice, after typical rocks of that name: weathered grey granite, red sandstone in beds,
/// dark ash, banded clay.
pub const ROCKS: [Rock; 8] = [
    Rock {
        name: "granite",
        about: "high and steep, with sharp crests",
        erodibility: 1.0,
        slope: 38.0,
        repose: 37.0,
        creep: 0.003,
        debris: 4.0,
        albedo: [[76, 73, 70], [132, 126, 118]],
        bedded: 0.0,
    },
    Rock {
        name: "limestone",
        about: "nearly as high as granite, with rock walls",
        erodibility: 1.5,
        slope: 37.0,
        repose: 36.0,
        creep: 0.003,
        debris: 3.0,
        albedo: [[134, 128, 116], [182, 176, 162]],
        bedded: 0.35,
    },
    Rock {
        name: "sandstone",
        about: "tablelands and wide valleys",
        erodibility: 2.0,
        slope: 35.0,
        repose: 34.0,
        creep: 0.004,
        debris: 3.0,
        albedo: [[128, 74, 48], [198, 142, 100]],
        bedded: 0.8,
    },
    Rock {
        name: "ash",
        about: "deep gullies in uniform flanks",
        erodibility: 3.0,
        slope: 33.0,
        repose: 33.0,
        creep: 0.006,
        debris: 1.5,
        albedo: [[58, 52, 50], [98, 86, 80]],
        bedded: 0.3,
    },
    Rock {
        name: "shale",
        about: "low, closely spaced ridges (badlands)",
        erodibility: 7.5,
        slope: 28.0,
        repose: 30.0,
        creep: 0.008,
        debris: 2.0,
        albedo: [[84, 80, 76], [126, 118, 106]],
        bedded: 0.5,
    },
    Rock {
        name: "clay",
        about: "low, rounded hills with landslides",
        erodibility: 10.0,
        slope: 18.0,
        repose: 20.0,
        creep: 0.012,
        debris: 1.5,
        albedo: [[140, 104, 82], [196, 166, 134]],
        bedded: 0.85,
    },
    Rock {
        name: "loess",
        about: "level land with steep gullies",
        erodibility: 13.0,
        slope: 51.0,
        repose: 34.0,
        creep: 0.01,
        debris: 1.0,
        albedo: [[164, 138, 98], [198, 172, 130]],
        bedded: 0.2,
    },
    Rock {
        name: "sand",
        about: "low, with slopes at the angle of repose",
        erodibility: 16.0,
        slope: 34.0,
        repose: 34.0,
        creep: 0.01,
        debris: 1.0,
        albedo: [[186, 156, 112], [218, 192, 148]],
        bedded: 0.2,
    },
];

impl Rock {
    /// Returns the rock of a recipe that names none: granite.
    pub fn usual() -> &'static Self {
        &ROCKS[0]
    }

    /// Returns the rock of that name.
    ///
    /// # Errors
    /// Returns an error that lists the known names if there is no such rock.
    pub fn find(name: &str) -> Result<&'static Self> {
        ROCKS.iter().find(|rock| rock.name == name).ok_or_else(|| Error::unknown_name("rock", name, list_rock_names()))
    }

    /// Returns the rock's property for a knob, in the unit of its field, with angles converted to rise over run.
    /// Returns 1 for a knob that does not depend on the rock. Parameters scale with the ratio of two rocks' values.
    pub fn knob_value(&self, knob: Knob) -> f64 {
        // Angles scale by their tangents, as slopes do.
        let tan = |degrees: f64| libm::tan(degrees.to_radians());
        match knob {
            Knob::Erodibility => self.erodibility,
            Knob::Slope => tan(self.slope),
            Knob::Repose => tan(self.repose),
            Knob::Creep => self.creep,
            Knob::Debris => self.debris,
            Knob::Age | Knob::Rain | Knob::Relief | Knob::Size => 1.0,
        }
    }
}

/// A rock is an option of operations by its name.
impl OptionType for &'static Rock {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        static WORDS: LazyLock<Vec<(&str, &str)>> =
            LazyLock::new(|| ROCKS.iter().map(|rock| (rock.name, rock.about)).collect());
        OptionKind::Choice(&WORDS)
    }

    fn from_json(value: &Json) -> Option<Self> {
        Rock::find(value.as_str()?).ok()
    }

    fn to_json(&self) -> Json {
        self.name.into()
    }
}

/// Returns the rocks' names, in the order of [`ROCKS`].
pub fn list_rock_names() -> impl Iterator<Item = &'static str> {
    ROCKS.iter().map(|rock| rock.name)
}

/// The headings of the columns of [`Rock::table_row`].
pub const TABLE_HEADINGS: [&str; 7] =
    ["rock", "erodibility", "steepest slope", "repose of debris", "creep", "debris erodibility", "landforms"];

impl Rock {
    /// Returns the rock's properties with their units, in the order of [`TABLE_HEADINGS`].
    pub fn table_row(&self) -> [String; 7] {
        let Self { name, about, erodibility, slope, repose, creep, debris, .. } = self;
        [
            name.to_string(),
            format!("× {erodibility}"),
            format!("{slope}°"),
            format!("{repose}°"),
            format!("{creep} m²/a"),
            format!("× {debris}"),
            about.to_string(),
        ]
    }
}

/// Returns a Markdown table of the rocks and their properties, one row per rock, for the book.
pub fn format_rock_table() -> String {
    let mut out = format!("| {} |\n{}|\n", TABLE_HEADINGS.join(" | "), "|---".repeat(TABLE_HEADINGS.len()));
    for rock in &ROCKS {
        let _ = writeln!(out, "| {} |", rock.table_row().join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erodibilities_are_fourth_roots_of_what_was_measured() {
        // Stock and Montgomery's ranges; the middle of a range of powers of ten is the geometric mean of its ends.
        let middle = |low: f64, high: f64| (low * high).sqrt();
        let granite = middle(1e-7, 1e-6);
        for (name, low, high) in [("granite", 1e-7, 1e-6), ("ash", 1e-5, 1e-4), ("shale", 1e-4, 1e-2)] {
            let want = (middle(low, high) / granite).sqrt().sqrt();
            let rock = Rock::find(name).unwrap();
            // The values are given in halves.
            assert!((rock.erodibility - want).abs() <= 0.25, "{name}: {want}");
        }
    }

    #[test]
    fn figures_are_within_what_their_sources_span() {
        for rock in &ROCKS {
            assert!((1.0..=20.0).contains(&rock.erodibility), "{}", rock.name);
            assert!((10.0..=51.0).contains(&rock.slope) && (15.0..=40.0).contains(&rock.repose), "{}", rock.name);
            assert!((0.001..=0.02).contains(&rock.creep) && rock.debris >= 1.0, "{}", rock.name);
            assert!(list_rock_names().filter(|name| *name == rock.name).count() == 1);
        }
        assert!(ROCKS.windows(2).all(|pair| pair[0].erodibility < pair[1].erodibility));
        assert!((Rock::usual().knob_value(Knob::Slope) - 38f64.to_radians().tan()).abs() < 1e-12);
    }

    #[test]
    fn an_unknown_rock_is_refused_with_the_known_ones() {
        assert_eq!(Rock::find("shale").unwrap().name, "shale");
        assert!(Rock::find("granit").unwrap_err().to_string().contains("did you mean `granite`"));
        let message = Rock::find("cheese").unwrap_err().to_string();
        assert!(list_rock_names().all(|name| message.contains(name)), "{message}");
    }
}
