//! A pile of rock beds in which a slope of a given angle counts for more in soft beds than in hard ones.

use thalweg_core::terrain::height::UNITS;

/// The units per entry of the table of beds: the thickness of every bed is a multiple of this.
const GRAIN: i64 = 2 * UNITS as i64;

/// The denominator of the fixed-point weights of beds.
const ONE: i64 = 1 << 16;

/// The smallest and largest weight of a bed. The upper one bounds fixed-point weights to 2²².
const WEIGHTS: [f64; 2] = [1.0 / 64.0, 64.0];

/// Rock beds on top of each other, repeated endlessly upward and downward.
///
/// Climbing a bed counts for its thickness times its weight. A slope that may rise by `tan` per metre in a bed of
/// weight 1 may rise by `tan`/weight in another. Whatever the cell width, a step from one cell to the next therefore
/// passes through the right amount of each bed.
#[derive(Debug, Clone)]
pub struct Pile {
    /// The bed that each grain belongs to, from the bottom up.
    grains: Vec<u32>,
    beds: Vec<PileBed>,
    /// The height of the pile, and its weighted height, in units.
    whole: [i64; 2],
}

#[derive(Debug, Clone, Copy)]
struct PileBed {
    /// The elevation of its bottom, and the weighted height up to there, in units.
    bottom: i64,
    counted: i64,
    /// The weight, in parts of [`ONE`].
    weight: i64,
}

impl Pile {
    /// The metres of rock per grain: the least thickness of a bed.
    pub const GRAIN: f64 = 2.0;

    /// Creates a pile of beds from the bottom up, each given by its thickness in grains and its weight, which is
    /// clamped to 1/64 to 64. Without beds the pile is one bed of weight 1.
    pub fn new(thickness_and_weight: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut pile = Self { grains: Vec::new(), beds: Vec::new(), whole: [0; 2] };
        for (count, weight) in thickness_and_weight.into_iter().filter(|(count, _)| *count > 0) {
            pile.push_bed(count, weight);
        }
        if pile.beds.is_empty() {
            pile.push_bed(1, 1.0);
        }
        pile
    }

    fn push_bed(&mut self, count: usize, weight: f64) {
        // The cast converts NaN to 0.
        let weight = ((weight.clamp(WEIGHTS[0], WEIGHTS[1]) * ONE as f64) as i64).max(1);
        self.grains.extend(std::iter::repeat_n(self.beds.len() as u32, count));
        let [bottom, counted] = self.whole;
        self.beds.push(PileBed { bottom, counted, weight });
        let thickness = count as i64 * GRAIN;
        // The pile of `Beds` is 2³³ units thick and a weight at most 2²², so the product stays below 2⁵⁶.
        self.whole = [bottom + thickness, counted + thickness * weight / ONE];
    }

    /// Returns the copy of the pile and the index of the bed at `height` units above the pile's bottom.
    #[inline]
    fn bed(&self, height: i64) -> (i64, usize) {
        // Euclidean division counts copies below the pile's bottom as −1, −2 and so on, with a remainder that is never
        // negative.
        let within = height.rem_euclid(self.whole[0]);
        (height.div_euclid(self.whole[0]), self.grains[(within / GRAIN) as usize] as usize)
    }

    /// Returns the weight of the bed at `height` units above the pile's bottom.
    #[inline]
    pub fn weight(&self, height: i64) -> f64 {
        self.beds[self.bed(height).1].weight as f64 / ONE as f64
    }

    /// Returns the elevation within the pile, in units from 0 to less than its height, at which the beds are the same
    /// as at `height` units.
    #[inline]
    pub fn wrap_height(&self, height: i64) -> i64 {
        height.rem_euclid(self.whole[0])
    }

    /// Returns the weight of the heaviest bed.
    pub fn max_weight(&self) -> f64 {
        self.beds.iter().map(|bed| bed.weight).max().unwrap_or(ONE) as f64 / ONE as f64
    }

    /// Returns the weighted height from the pile's bottom to `height` units, in units; it never decreases as `height`
    /// increases.
    #[inline]
    pub fn weighted_height(&self, height: i64) -> i64 {
        let (copy, bed) = self.bed(height);
        let PileBed { bottom, counted, weight } = self.beds[bed];
        // The height above the bed's bottom is not negative, so the division rounds down.
        copy * self.whole[1] + counted + (height - copy * self.whole[0] - bottom) * weight / ONE
    }

    /// Returns the elevation reached by climbing a weighted height of `by` units from `height`, but at most `most`.
    /// All are in units above the pile's bottom.
    #[inline]
    pub fn climb_weighted_height(&self, height: i64, by: i64, most: i64) -> i64 {
        // The climb passes from bed to bed until the goal is inside a bed or the bed's top reaches `most`. Sums
        // saturate, because `by` may be any number.
        let goal = self.weighted_height(height).saturating_add(by);
        let (mut copy, mut bed) = self.bed(height);
        loop {
            let PileBed { bottom, counted, weight } = self.beds[bed];
            let [bottom, counted] = [copy * self.whole[0] + bottom, copy * self.whole[1] + counted];
            let (next_copy, next) = if bed + 1 < self.beds.len() { (copy, bed + 1) } else { (copy + 1, 0) };
            let top = next_copy * self.whole[0] + self.beds[next].bottom;
            let reached = bottom.saturating_add((goal - counted).saturating_mul(ONE) / weight);
            if reached <= top || top >= most {
                return reached.min(most);
            }
            (copy, bed) = (next_copy, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRE: i64 = UNITS as i64;

    /// A pile that is hard for 20 m, soft for 10 m, and so on.
    fn pile() -> Pile {
        Pile::new([(10, 0.5), (5, 2.0)])
    }

    #[test]
    fn climbs_count_by_the_beds_they_pass() {
        let pile = pile();
        assert_eq!([0, 19, 20, 29, 30, -1, -11].map(|z| pile.weight(z * METRE)), [0.5, 0.5, 2.0, 2.0, 0.5, 2.0, 0.5]);
        // 20 m at a weight of a half and 10 m at twice: 30 m count for 30.
        for (height, counts) in [(0, 0), (10, 5), (20, 10), (25, 20), (30, 30), (40, 35), (-10, -20), (-30, -30)] {
            assert_eq!(pile.weighted_height(height * METRE), counts * METRE, "{height}");
        }
        assert_eq!(pile.climb_weighted_height(10 * METRE, 15 * METRE, i64::MAX), 25 * METRE);
        assert_eq!(pile.climb_weighted_height(10 * METRE, 15 * METRE, 18 * METRE), 18 * METRE);
        assert_eq!(pile.climb_weighted_height(-25 * METRE, 60 * METRE, i64::MAX), 35 * METRE);
        assert_eq!(pile.max_weight(), 2.0);
    }

    #[test]
    fn a_climb_undoes_a_count_and_neither_ever_falls() {
        let pile = Pile::new([(3, 0.37), (1, 5.9), (7, 1.0), (2, 0.0), (4, f64::NAN)]);
        let mut before = [i64::MIN; 2];
        for z in (-80 * METRE..80 * METRE).step_by(37_123) {
            let (counted, climbed) = (pile.weighted_height(z), pile.climb_weighted_height(z, 3 * METRE, i64::MAX));
            assert!(counted >= before[0] && climbed >= before[1], "{z}");
            before = [counted, climbed];
            // The climb is as high as possible: it may round by the weighted height of one unit of the lightest bed.
            assert!((0..=64).contains(&(counted + 3 * METRE - pile.weighted_height(climbed))), "{z}");
        }
    }

    #[test]
    fn no_beds_are_one_of_weight_one() {
        let pile = Pile::new([]);
        assert_eq!(
            (pile.weight(5), pile.weighted_height(-7), pile.climb_weighted_height(100, 9, 1000)),
            (1.0, -7, 109)
        );
    }
}
