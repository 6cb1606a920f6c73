//! The grammars: the branching and the organs of each kind of plant.

use thalweg_core::base::rng::RandomKey;
use thalweg_models::process::forest::PlantForm;

/// An L-system and the parameters of its turtle.
///
/// `F` grows a piece of stem; `f` moves equally far without one; `+` and `-` turn by `angle`; `&` pitches down by
/// `angle` and `^` up by half of it; `/` rolls by `roll`; `[` and `]` push and pop the turtle's state; `!` thins the
/// stem and `"` shortens the pieces by a fixed share; `L` is a frond, `B` a blade, `O` a ball of leaves and `S` a
/// spike. Other letters only serve for rewriting; those without a rule are ignored.
pub(super) struct Grammar {
    axiom: &'static str,
    /// Each letter with its possible replacements, one of which is drawn for each occurrence.
    rules: &'static [(char, &'static [&'static str])],
    /// The number of rewriting steps.
    turns: u32,
    /// The angle of turns and pitches in degrees.
    pub angle: f32,
    /// The angle of rolls in degrees.
    pub roll: f32,
    /// The largest deviation of an angle, as a share of it.
    pub stray: f32,
    /// The length of the first piece of stem, on which all other lengths depend.
    pub length: f32,
    /// The factors that `"` and `!` apply to length and width.
    pub shrink: [f32; 2],
    /// The radius of the stem at the foot.
    pub width: f32,
    /// The length (frond, blade) or radius (ball) of leaves relative to a piece of stem; their width or height
    /// relative to that.
    pub leaf: [f32; 2],
    /// The colours of bark and leaves in linear light.
    pub colours: [[f32; 3]; 2],
}

const BARK: [f32; 3] = [0.085, 0.055, 0.035];

const CONIFER: Grammar = Grammar {
    axiom: "FFA",
    rules: &[('A', &["[W]F!\"A"]), ('W', &["[&L]/[&L]/[&L]/[&L]/[&L]/[&L]", "//[&L]/[&L]/[&L]/[&L]/[&L]/[&L]"])],
    turns: 13,
    angle: 110.0,
    roll: 62.0,
    stray: 0.10,
    length: 1.0,
    shrink: [0.88, 0.86],
    width: 0.20,
    leaf: [3.1, 0.62],
    colours: [BARK, [0.030, 0.085, 0.038]],
};

const BROADLEAF: Grammar = Grammar {
    axiom: "F\"[A]!F\"O",
    rules: &[('A', &["!/[&FOC]/[&FOC]/[&FOC]"]), ('C', &["\"[&fO]/[&fO]/[&fO]", "\"[&fO]/[^fO]/[&fO]"])],
    turns: 2,
    angle: 40.0,
    roll: 120.0,
    stray: 0.22,
    length: 1.0,
    shrink: [0.85, 0.62],
    width: 0.13,
    leaf: [0.86, 0.68],
    colours: [BARK, [0.085, 0.190, 0.040]],
};

const WILLOW: Grammar = Grammar {
    axiom: "F[A]!F\"O",
    rules: &[('A', &["!\"/[&FOC]/[&FOC]/[&FOC]"]), ('C', &["\"[&fO]/[&fO]/[&fO]"])],
    turns: 2,
    angle: 48.0,
    roll: 120.0,
    stray: 0.22,
    length: 1.0,
    shrink: [0.8, 0.6],
    width: 0.14,
    leaf: [0.58, 1.2],
    colours: [BARK, [0.150, 0.225, 0.085]],
};

const DWARF_PINE: Grammar = Grammar {
    axiom: "[&A]/[&A]/[&A]/[&A]/[&A]^^A",
    rules: &[('A', &["F^FO", "F^!FO", "F^\"FO"])],
    turns: 1,
    angle: 62.0,
    roll: 72.0,
    stray: 0.2,
    length: 1.0,
    shrink: [0.75, 0.7],
    width: 0.10,
    leaf: [0.95, 0.7],
    colours: [BARK, [0.040, 0.105, 0.050]],
};

const SHRUB: Grammar = Grammar {
    axiom: "[&A]/[&A]/[&A]/[&A]/[&A]FO",
    rules: &[('A', &["FO", "F^O", "F\"^FO"])],
    turns: 1,
    angle: 42.0,
    roll: 72.0,
    stray: 0.3,
    length: 1.0,
    shrink: [0.7, 0.7],
    width: 0.06,
    leaf: [0.62, 0.85],
    colours: [BARK, [0.115, 0.165, 0.045]],
};

const REED: Grammar = Grammar {
    axiom: "CCC[S]//C[&S]///[&&&S]",
    rules: &[('C', &["[&&B]/[&B]/[&&&B]/[B]/[&B]/", "[&B]/[&&B]/[&B]/[&&&B]/[&&B]/"])],
    turns: 1,
    angle: 7.0,
    roll: 77.0,
    stray: 0.5,
    length: 1.0,
    shrink: [0.9, 0.9],
    width: 0.012,
    leaf: [1.0, 0.045],
    colours: [[0.110, 0.060, 0.030], [0.210, 0.225, 0.070]],
};

/// Returns the grammar of plants of that form.
pub(super) fn find_grammar(form: PlantForm) -> &'static Grammar {
    match form {
        PlantForm::Cone => &CONIFER,
        PlantForm::Ball => &BROADLEAF,
        PlantForm::Dome => &WILLOW,
        PlantForm::Mat => &DWARF_PINE,
        PlantForm::Bush => &SHRUB,
        PlantForm::Tuft => &REED,
    }
}

impl Grammar {
    /// Returns the word that the axiom grows to.
    pub fn derive_word(&self, key: RandomKey) -> String {
        let mut word = self.axiom.to_string();
        for turn in 0..self.turns {
            // Each turn has its own key, so that a letter at the same place may be replaced differently.
            let key = key.derive_key(turn.into());
            let letter = |(place, letter): (usize, char)| {
                let rule = self.rules.iter().find(|(from, _)| *from == letter);
                // The choice is keyed by the letter's place, so it does not depend on the order of evaluation.
                let choice = |all: &[&'static str]| {
                    all[(key.derive_key(place as u64).random_bits() % all.len() as u64) as usize]
                };
                rule.map_or_else(|| letter.to_string(), |(_, all)| choice(all).to_string())
            };
            word = word.chars().enumerate().map(letter).collect();
        }
        word
    }
}
