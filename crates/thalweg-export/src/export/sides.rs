//! [`SideRule`]: the numbers of samples that a program accepts along a side of a file.

/// The numbers of samples that a side may have. Limits are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideRule {
    /// All numbers from the first to the second.
    Any(usize, usize),
    /// The powers of two (2ⁿ) from the first to the second, which are powers of two themselves.
    Power(usize, usize),
    /// The numbers 2ⁿ + 1 from the first to the second, which are such numbers themselves.
    PowerPlusOne(usize, usize),
    /// Components of one or two sections along a side, with 7, 15, 31, 63, 127 or 255 quads per section, plus one
    /// sample; at most `most` components along a side. The numbers of `usual` are preferred unless another number is
    /// requested.
    Components {
        /// The numbers of samples along a side that the program's maker recommends, ascending.
        usual: &'static [usize],
        /// The greatest number of components along a side.
        most: usize,
    },
}

/// The numbers of quads along a section of a component.
const SECTIONS: [usize; 6] = [7, 15, 31, 63, 127, 255];

impl SideRule {
    /// Returns true if a side may have this number of samples.
    pub fn allows(self, samples: usize) -> bool {
        match self {
            Self::Any(least, most) => (least..=most).contains(&samples),
            Self::Power(least, most) => (least..=most).contains(&samples) && samples.is_power_of_two(),
            Self::PowerPlusOne(least, most) => (least..=most).contains(&samples) && (samples - 1).is_power_of_two(),
            Self::Components { most, .. } => {
                let quads = samples.saturating_sub(1);
                // A side has a whole number of components of one or two sections each.
                let component = |per: &usize| quads.is_multiple_of(*per) && (1..=most).contains(&(quads / per));
                quads > 0 && SECTIONS.iter().any(|section| component(section) || component(&(2 * section)))
            }
        }
    }

    /// Returns the number that is chosen for a side of this number of samples: the nearest allowed number, and the
    /// greater one of two at the same distance.
    ///
    /// For components, the greatest usual number is the maximum. An allowed number stays. Otherwise the nearest usual
    /// number is taken if it is within a sixteenth, and [`SideRule::nearest_allowed`] if not.
    pub fn choose_side(self, samples: usize) -> usize {
        let among = |all: &mut dyn Iterator<Item = usize>| {
            // The second number of the key prefers the greater side of two at the same distance, which loses no detail.
            let off = |n: &usize| (n.abs_diff(samples), usize::MAX - n);
            all.min_by_key(off).unwrap_or(samples)
        };
        match self {
            Self::Any(least, most) => samples.clamp(least, most),
            Self::Power(least, most) => among(&mut powers_of_two(least, most)),
            Self::PowerPlusOne(least, most) => among(&mut powers_of_two(least - 1, most - 1).map(|n| n + 1)),
            // An allowed number stays; a number far from all recommended ones becomes the nearest allowed one.
            Self::Components { usual, .. } => {
                let near = among(&mut usual.iter().copied());
                // A sixteenth changes the spacing of samples by about 6 % at most.
                let is_near = near.abs_diff(samples) <= samples / 16 || Some(&near) == usual.last() && samples > near;
                if self.allows(samples) || !is_near {
                    self.nearest_allowed(samples).min(usual.last().copied().unwrap_or(near))
                } else {
                    near
                }
            }
        }
    }

    /// Returns the allowed number of samples nearest to this number, recommended or not; the greater one of two at the
    /// same distance.
    pub fn nearest_allowed(self, samples: usize) -> usize {
        match self {
            Self::Components { usual, most } => {
                // The shortest side has one component of one section of 7 quads, and thus 8 samples. The longest has
                // the greatest number of the largest components.
                let last = (2 * 255 * most + 1).max(usual.last().copied().unwrap_or(1));
                let at = samples.clamp(8, last);
                (0..=last).flat_map(|off| [at + off, at.saturating_sub(off)]).find(|n| self.allows(*n)).unwrap_or(at)
            }
            _ => self.choose_side(samples),
        }
    }

    /// Returns the rule in words.
    pub fn describe(self) -> String {
        match self {
            Self::Any(least, most) => format!("{least} to {most}"),
            Self::Power(least, most) => join_numbers(powers_of_two(least, most)),
            Self::PowerPlusOne(least, most) => join_numbers(powers_of_two(least - 1, most - 1).map(|n| n + 1)),
            Self::Components { usual, .. } => {
                let usual = join_numbers(usual.iter().copied());
                format!("{usual}, or components × quads per component + 1")
            }
        }
    }
}

fn powers_of_two(least: usize, most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(least), |n| n.checked_mul(2)).take_while(move |n| *n <= most)
}

fn join_numbers(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_those_that_programs_take() {
        let unreal = SideRule::Components { usual: &[127, 253, 505, 1009, 2017, 4033, 8129], most: 32 };
        for n in [8, 127, 253, 505, 1009, 2017, 4033, 8129, 64, 256] {
            assert!(unreal.allows(n), "{n}");
        }
        for n in [0, 1, 2, 7, 500, 512, 1024, 1025, 4096, 100_000] {
            assert!(!unreal.allows(n), "{n}");
            assert!(unreal.allows(unreal.nearest_allowed(n)), "{n}");
        }
        assert_eq!([512, 1024, 4096, 9999].map(|n| unreal.choose_side(n)), [505, 1009, 4033, 8129]);
        // An allowed number stays, and other numbers change by at most a sixteenth instead of jumping to a recommended
        // number.
        for n in [64, 993, 1021, 300, 1500, 100, 700] {
            let near = unreal.choose_side(n);
            assert!(
                unreal.allows(near) && near.abs_diff(n) <= n / 16 && (!unreal.allows(n) || near == n),
                "{n} {near}"
            );
        }
        let unity = SideRule::PowerPlusOne(33, 4097);
        assert_eq!([20, 512, 1024, 700, 9000].map(|n| unity.choose_side(n)), [33, 513, 1025, 513, 4097]);
        assert!(unity.allows(33) && unity.allows(4097) && !unity.allows(17) && !unity.allows(8193) && !unity.allows(0));
        let regions = SideRule::Power(64, 2048);
        assert_eq!([1, 96, 300, 4096].map(|n| regions.choose_side(n)), [64, 128, 256, 2048]);
        assert!(!regions.allows(63) && !regions.allows(4096) && regions.allows(64));
        assert_eq!(SideRule::Any(2, 10).choose_side(99), 10);
    }
}
