//! [`PlantKind`]: the kinds of plants and their requirements.

/// The appearance of a plant from a distance; renderers draw each form in their own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantForm {
    /// A stem with whorls of branches: a cone.
    Cone,
    /// A crown of balls on a bare stem.
    Ball,
    /// A dome that hangs down to the ground.
    Dome,
    /// A low mat of branches.
    Mat,
    /// Several stems from one root.
    Bush,
    /// Blades from one root.
    Tuft,
}

/// A kind of plant: its appearance, where it takes root, and how it differs from the common
/// [`ForestRules`](super::ForestRules).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PlantKind {
    /// The unique name, used in tables, files and parameters.
    pub name: &'static str,
    /// The appearance.
    pub form: PlantForm,
    /// The height of a full-grown plant in metres.
    pub height: f32,
    /// The width of its crown in metres.
    pub crown: f32,
    /// The steepest ground on which it takes root, as a tangent.
    pub slope: f32,
    /// The range of elevations above the sea in which it takes root, as shares of the tree line's elevation; infinite
    /// where there is no limit.
    pub elevation: [f32; 2],
    /// The range of soil wetness (0 drained, 1 saturated) in which it takes root; infinite where there is no limit.
    pub wetness: [f32; 2],
    /// The greatest distance to open water in metres at which it takes root; `None` for any distance.
    pub shore: Option<f64>,
    /// The root density that it adds at its position; 1 stabilises the soil completely.
    pub roots: f32,
    /// The side of its patch of roots, as a share of the rules' value.
    pub patch: f32,
    /// The factors on the rules' growth, seeding and death rates.
    pub pace: [f32; 3],
}

/// The value for a limit that does not apply.
const ANY: f32 = f32::INFINITY;

/// All kinds of plants. Sizes and habitats are those of temperate mountains; heights, limits and root strengths are
/// our own, set by the usual order of vegetation belts and successions (Ellenberg 2009, *Vegetation Ecology of
/// Central Europe*).
pub const KINDS: [PlantKind; 6] = [
    PlantKind {
        name: "conifer",
        form: PlantForm::Cone,
        height: 22.0,
        crown: 7.5,
        slope: 0.9,
        elevation: [0.2, 1.0],
        wetness: [-ANY, 0.8],
        shore: None,
        roots: 0.8,
        patch: 1.0,
        pace: [1.0, 1.0, 1.0],
    },
    PlantKind {
        name: "broadleaf",
        form: PlantForm::Ball,
        height: 18.0,
        crown: 11.0,
        slope: 0.75,
        elevation: [-ANY, 0.7],
        wetness: [-ANY, 0.9],
        shore: None,
        roots: 1.0,
        patch: 1.0,
        pace: [1.0, 1.0, 1.0],
    },
    PlantKind {
        name: "willow",
        form: PlantForm::Dome,
        height: 12.0,
        crown: 8.0,
        slope: 0.35,
        elevation: [-ANY, 0.8],
        wetness: [0.3, ANY],
        shore: None,
        roots: 1.0,
        patch: 0.9,
        pace: [2.0, 1.5, 3.0],
    },
    PlantKind {
        name: "dwarf_pine",
        form: PlantForm::Mat,
        height: 2.5,
        crown: 4.5,
        slope: 1.2,
        elevation: [0.85, 1.2],
        wetness: [-ANY, 0.7],
        shore: None,
        roots: 0.9,
        patch: 0.8,
        pace: [0.5, 1.0, 1.0],
    },
    PlantKind {
        name: "shrub",
        form: PlantForm::Bush,
        height: 2.2,
        crown: 3.0,
        slope: 1.1,
        elevation: [-ANY, 1.1],
        wetness: [-ANY, ANY],
        shore: None,
        roots: 0.5,
        patch: 0.8,
        pace: [2.0, 1.5, 10.0],
    },
    PlantKind {
        name: "reed",
        form: PlantForm::Tuft,
        height: 2.4,
        crown: 1.6,
        slope: 0.15,
        elevation: [-ANY, 0.8],
        wetness: [-ANY, ANY],
        shore: Some(12.0),
        roots: 0.4,
        patch: 0.5,
        pace: [4.0, 4.0, 2.0],
    },
];

/// Returns the index in [`KINDS`] of the kind of that name, or `None` if there is none.
pub fn find_kind(name: &str) -> Option<u8> {
    KINDS.iter().position(|kind| kind.name == name).map(|number| number as u8)
}
