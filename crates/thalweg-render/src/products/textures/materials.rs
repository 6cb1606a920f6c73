//! [`Material`]: a kind of ground cover and the conditions under which it occurs. All properties of each are in
//! [`MATERIALS`].

use crate::pictures::colour::Rgb;
use thalweg_core::{Error, Result};

/// A property of a cell on which conditions depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// The slope in degrees, perturbed by noise of two degrees.
    Slope,
    /// The sediment thickness in metres, as in the terrain; 0 if it has none.
    Loose,
    /// The share of the soil that is saturated, 0 to 1
    /// ([`compute_wetness`](crate::products::wetness::compute_wetness)).
    Wetness,
    /// The presence of a river in the cell: 0 none, 0.7 to 1 depending on the river's width.
    River,
    /// The depth of standing water in metres, except the sea.
    Lake,
    /// The elevation above the sea in metres, negative below it; very high if there is no sea.
    Shore,
    /// The elevation above the tree line in metres, negative below it, perturbed by noise.
    Treeline,
    /// The elevation above the snow line of the cell's aspect in metres, negative below it; less on crests. Noise
    /// raises the line and never lowers it.
    Snowline,
    /// The thickness of ice in metres.
    Ice,
    /// The intensity of rockfall, 0 to 1: 1 on a cliff, decreasing with the path length from it.
    Rockfall,
    /// The Laplacian of the surface over some 45 m, in hundredths of 1/m: positive in hollows, negative on crests.
    Hollow,
    /// The moisture of the climate, 0 to 1.
    Moisture,
    /// The tree cover of the cell, 0 to 1: that of the terrain's trees, otherwise a pattern of woods and clearings.
    Woods,
}

/// The number of factors.
pub(super) const FACTORS: usize = Factor::Woods as usize + 1;

/// A condition on a factor: not met at one value, fully met at another, with a smooth transition in between. Values
/// are in the factor's unit; either may be the larger. For example, a condition on the slope from 30° to 40° is met by
/// half at 35°.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoverCondition {
    /// The factor.
    pub factor: Factor,
    /// The value at which the condition is not met at all.
    pub none: f32,
    /// The value at which it is fully met.
    pub full: f32,
}

impl CoverCondition {
    /// Returns the degree to which a value meets the condition, 0 to 1.
    pub fn evaluate(&self, value: f32) -> f32 {
        // Either end may be the larger: the quotient is positive between them in both cases.
        let t = ((value - self.none) / (self.full - self.none)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    }
}

/// Returns a condition on a factor, from `none` to `full`.
const fn require(factor: Factor, none: f32, full: f32) -> CoverCondition {
    CoverCondition { factor, none, full }
}

/// The source of a material's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// The material's own colours, dark and light, in sRGB.
    Own([Rgb; 2]),
    /// The rock's colours, lightened by this percentage of the difference to white, 0 to 100.
    Rock(u8),
}

/// A material that covers the ground.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Material {
    /// The name in files and recipes.
    pub name: &'static str,
    /// The description.
    pub about: &'static str,
    /// The unlit colours between which it varies from place to place.
    pub palette: Palette,
    /// The dark and light colour as seen from the air, if they differ: for example the crowns above a forest's floor.
    pub crowns: Option<[Rgb; 2]>,
    /// The roughness where it is smooth and where it is rough, 0 to 1.
    pub roughness: [f32; 2],
    /// The longest wave of its variation in metres.
    pub grain: f64,
    /// The amplitude in metres of relief that is finer than cells: blocks, tufts, crowns.
    pub bump: f32,
    /// The priority: materials of higher priority take their share of a cell first.
    pub priority: u8,
    /// The conditions under which it occurs: all conditions of one of these lists. The cover is the product within a
    /// list, and the greatest of the lists. Without lists the material takes what remains.
    pub lies: &'static [&'static [CoverCondition]],
}

/// The number of materials.
pub const COUNT: usize = 8;

/// All materials, in the order of files, which have four materials each.
///
/// Thresholds are our own choices within usual ranges: soil becomes thin above 35° and is absent from 40° on
/// (Heimsath et al. 2012, *The limits of soil production and persistence*); scree lies at 25 to 38° below its source
/// (Carson & Kirkby 1972, *Hillslope form and process*); snow slides off from about 40° on (Bernhardt & Schulz 2010,
/// *SnowSlide*). Albedos are those of dry ground seen from above, in sRGB, and our own choices.
pub const MATERIALS: [Material; COUNT] = {
    use Factor::*;
    [
        Material {
            name: "bare_rock",
            about: "rock without cover: walls, crests, outcrops, dry slopes",
            palette: Palette::Rock(0),
            crowns: None,
            roughness: [0.72, 0.92],
            grain: 90.0,
            bump: 9.0,
            priority: 5,
            lies: &[
                &[require(Slope, 33.0, 38.0), require(Loose, 0.6, 0.15)],
                // Slopes too steep for debris to remain.
                &[require(Slope, 40.0, 46.0)],
                // Ribs and crests above the trees.
                &[
                    require(Treeline, 0.0, 350.0),
                    require(Slope, 22.0, 32.0),
                    require(Hollow, 0.3, -0.15),
                    require(Loose, 0.6, 0.15),
                ],
                // Slopes without stabilising plants.
                &[require(Moisture, 0.4, 0.2), require(Slope, 12.0, 24.0), require(Loose, 0.6, 0.15)],
            ],
        },
        Material {
            name: "scree",
            about: "blocks that fell from walls, at their angle of repose, and frost debris on high ground",
            palette: Palette::Rock(4),
            crowns: None,
            roughness: [0.85, 1.0],
            grain: 40.0,
            bump: 5.0,
            priority: 4,
            lies: &[
                &[require(Rockfall, 0.25, 0.55), require(Slope, 20.0, 27.0)],
                &[require(Loose, 0.3, 0.8), require(Slope, 27.0, 31.0), require(Treeline, -500.0, -100.0)],
                &[require(Treeline, 250.0, 650.0), require(Slope, 6.0, 16.0)],
            ],
        },
        Material {
            name: "soil",
            about: "bare earth, where there is no other material",
            palette: Palette::Own([[104, 84, 62], [150, 128, 98]]),
            crowns: None,
            roughness: [0.85, 0.98],
            grain: 120.0,
            bump: 0.6,
            priority: 0,
            lies: &[],
        },
        Material {
            name: "grass",
            about: "meadows and pasture up to several hundred metres above the trees",
            palette: Palette::Own([[66, 80, 42], [118, 120, 70]]),
            crowns: None,
            roughness: [0.80, 0.95],
            grain: 160.0,
            bump: 0.7,
            priority: 1,
            lies: &[&[require(Moisture, 0.15, 0.40), require(Treeline, 650.0, 200.0), require(Slope, 40.0, 31.0)]],
        },
        Material {
            name: "forest_floor",
            about: "litter and shade under trees",
            palette: Palette::Own([[52, 44, 30], [86, 72, 48]]),
            crowns: Some([[20, 32, 18], [56, 70, 36]]),
            roughness: [0.88, 1.0],
            grain: 45.0,
            bump: 9.0,
            priority: 2,
            lies: &[&[require(Woods, 0.35, 0.55), require(Moisture, 0.30, 0.45), require(Slope, 43.0, 36.0)]],
        },
        Material {
            name: "sand",
            about: "beaches and the shallow sea floor, dunes and sand sheets of dry land, bars along rivers",
            palette: Palette::Own([[186, 160, 118], [222, 200, 158]]),
            crowns: None,
            roughness: [0.78, 0.92],
            grain: 200.0,
            bump: 0.5,
            priority: 6,
            lies: &[
                &[require(Shore, 5.0, 2.5), require(Slope, 16.0, 9.0)],
                &[require(Moisture, 0.32, 0.15), require(Loose, 0.2, 0.8), require(Slope, 38.0, 35.0)],
                &[require(River, 0.2, 0.5), require(Slope, 4.0, 2.0), require(Loose, 0.1, 0.4)],
            ],
        },
        Material {
            name: "snow",
            about: "snow above the snow line, which is lower on shaded slopes; less on steep ground and crests; ice",
            palette: Palette::Own([[226, 234, 242], [246, 249, 252]]),
            crowns: None,
            roughness: [0.45, 0.70],
            grain: 250.0,
            bump: 0.8,
            priority: 7,
            lies: &[&[require(Snowline, 0.0, 130.0), require(Slope, 40.5, 35.0)], &[require(Ice, 0.3, 2.0)]],
        },
        Material {
            name: "wet_bed",
            about: "beds of rivers, lakes and the deeper sea: gravel and mud",
            palette: Palette::Own([[62, 62, 54], [104, 100, 84]]),
            crowns: None,
            roughness: [0.20, 0.45],
            grain: 30.0,
            bump: 0.3,
            priority: 8,
            lies: &[&[require(River, 0.0, 1.0)], &[require(Lake, 0.0, 0.3)], &[require(Shore, -6.0, -20.0)]],
        },
    ]
};

impl Material {
    /// Returns the index in [`MATERIALS`] of the material with the given name.
    ///
    /// # Errors
    /// Returns an error if there is no such material; the message lists the names or the closest one.
    pub fn find(name: &str) -> Result<usize> {
        let names = || MATERIALS.iter().map(|material| material.name);
        names().position(|known| known == name).ok_or_else(|| Error::unknown_name("material", name, names()))
    }

    /// Returns true if the material has the bare rock's own colours and beds.
    pub(super) fn shows_rock(&self) -> bool {
        self.palette == Palette::Rock(0)
    }

    /// Returns the share of a cell with these factors that the material would cover if there were no other, 0 to 1.
    pub(super) fn potential_cover(&self, factors: &[f32; FACTORS]) -> f32 {
        let all = |wants: &&[CoverCondition]| {
            // All conditions of a list must be met, so their degrees are multiplied; the lists are alternatives.
            wants.iter().map(|want| want.evaluate(factors[want.factor as usize])).product::<f32>()
        };
        if self.lies.is_empty() { 1.0 } else { self.lies.iter().map(all).fold(0.0, f32::max) }
    }
}

/// The materials from the uppermost down.
pub(super) const ORDER: [usize; COUNT] = {
    let mut order = [0; COUNT];
    let mut at = 0;
    let mut priority = u8::MAX;
    while at < COUNT {
        // The greatest priority below the last one.
        let mut best = COUNT;
        let mut k = 0;
        while k < COUNT {
            let own = MATERIALS[k].priority;
            if own < priority && (best == COUNT || own > MATERIALS[best].priority) {
                best = k;
            }
            k += 1;
        }
        order[at] = best;
        priority = MATERIALS[best].priority;
        at += 1;
    }
    order
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_order_all_materials_and_the_last_takes_the_rest() {
        let mut seen = ORDER;
        seen.sort_unstable();
        assert_eq!(seen, std::array::from_fn(|k| k));
        assert!(ORDER.windows(2).all(|pair| MATERIALS[pair[0]].priority > MATERIALS[pair[1]].priority));
        let last = &MATERIALS[ORDER[COUNT - 1]];
        assert!(last.lies.is_empty() && MATERIALS.iter().filter(|m| m.lies.is_empty()).count() == 1);
        for material in &MATERIALS {
            assert_eq!(Material::find(material.name).unwrap(), MATERIALS.iter().position(|m| m == material).unwrap());
            assert!(material.lies.iter().flat_map(|all| all.iter()).all(|want| want.none != want.full));
        }
        assert!(Material::find("snwo").unwrap_err().to_string().contains("snow"));
    }

    #[test]
    fn a_condition_rises_smoothly_either_way() {
        let up = require(Factor::Slope, 10.0, 20.0);
        assert_eq!([0.0, 10.0, 15.0, 20.0, 90.0].map(|x| up.evaluate(x)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        let down = require(Factor::Loose, 0.5, 0.1);
        assert_eq!([0.0, 0.1, 0.5, 2.0].map(|x| down.evaluate(x)), [1.0, 1.0, 0.0, 0.0]);
    }
}
