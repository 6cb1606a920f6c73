//! [`Height`]: metres in fixed point, so that no mass is lost or gained by rounding.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An elevation, or a thickness, in units of 1/65 536 m.
///
/// Sums and differences are exact: mass is conserved to the unit, and the result does not depend on the order of
/// summation. Accepted elevations are ±16 000 m, so that the difference of two always fits.
///
/// # Examples
/// ```
/// use thalweg_core::Height;
///
/// let height = Height::from_metres(1234.5)?;
/// assert_eq!(height, Height(1234 * 65_536 + 32_768));
/// assert_eq!(height.metres(), 1234.5);
/// assert_eq!(height.to_string(), "1234.500 m");
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct Height(pub i32);

/// The number of units that stands for "no height": lower than any accepted height.
pub const NO_HEIGHT: i32 = i32::MIN;

/// The number of units in a metre. For example, 1.5 m are 98 304 units.
pub const UNITS: f64 = 65_536.0;

/// The number of units in a metre, as `f32` for inner loops.
pub const UNITS_F32: f32 = 65_536.0;

impl Height {
    /// 0 m: the datum as an elevation, no material as a thickness.
    pub const ZERO: Self = Self(0);
    /// The lowest accepted elevation: −16 000 m.
    pub const MIN: Self = Self(-16_000 * 65_536);
    /// The highest accepted elevation: 16 000 m.
    pub const MAX: Self = Self(16_000 * 65_536);

    /// Converts from metres, rounded to the nearest unit (halves away from zero).
    ///
    /// # Errors
    /// Returns an error if `metres` is not finite or outside ±16 000 m.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Height;
    ///
    /// // 0.1 m are 6553.6 units.
    /// assert_eq!(Height::from_metres(0.1)?, Height(6554));
    ///
    /// let error = Height::from_metres(17_000.0).unwrap_err();
    /// assert_eq!(error.to_string(), "height = 17000 m: must be -16000 to 16000 m");
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_metres(metres: f64) -> Result<Self> {
        if metres.is_finite() && metres.abs() <= Self::MAX.metres() {
            Ok(Self((metres * UNITS).round() as i32))
        } else {
            Err(Error::invalid_value("height", format!("{metres} m"), "-16000 to 16000 m"))
        }
    }

    /// Converts from metres, rounded to the nearest unit and clamped to the accepted elevations; NaN becomes zero. For
    /// example, 20 000 m becomes 16 000 m.
    pub fn from_metres_clamped(metres: f64) -> Self {
        // The cast saturates and turns NaN into 0.
        Self((metres * UNITS).round() as i32).clamped()
    }

    /// Returns the height in metres, exactly.
    #[inline]
    pub fn metres(self) -> f64 {
        // 32 bits fit in the mantissa of an f64, and the divisor is a power of two: nothing is rounded.
        f64::from(self.0) / UNITS
    }

    /// Returns the height in metres, in the precision of `f32`.
    #[inline]
    pub fn metres_f32(self) -> f32 {
        self.metres() as f32
    }

    /// Clamps the height to the accepted elevations.
    pub fn clamped(self) -> Self {
        Self(self.0.clamp(Self::MIN.0, Self::MAX.0))
    }
}

impl fmt::Debug for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", self.metres())
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} m", self.metres())
    }
}

/// The sum of the weights of [`split_by_weights`].
pub const SPLIT_PARTS: i32 = 1 << 15;

/// Splits `amount` ≥ 0 units by cumulative `weights` (ascending, in parts of [`SPLIT_PARTS`], the last weight is the
/// whole). Each part is the rounded-down running total less the previous one, so that no part is negative and the parts
/// sum to `amount` exactly.
pub fn split_by_weights<const N: usize>(amount: i32, weights: &[i32; N]) -> [i32; N] {
    let mut before = 0;
    weights.map(|weight| {
        // The product has at most 46 bits. The shift divides by SPLIT_PARTS and rounds down.
        let total = ((i64::from(amount) * i64::from(weight)) >> 15) as i32;
        let part = total - before;
        before = total;
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metres_and_back_are_exact() {
        for metres in [0.0, 1.0, -1.0, 8848.5, -10_994.25, 1.0 / 65_536.0, 16_000.0, -16_000.0] {
            assert_eq!(Height::from_metres(metres).unwrap().metres(), metres);
        }
        for bad in [f64::NAN, f64::INFINITY, 16_001.0, -16_000.1] {
            assert!(Height::from_metres(bad).is_err());
        }
    }

    #[test]
    fn a_thousandth_of_a_unit_interval_survives() {
        // A finding of the first reference document, applied to this storage: 1.0 − 0.001 must not come back as
        // 254/255.
        let one = Height::from_metres(1.0).unwrap();
        let step = Height::from_metres(0.001).unwrap();
        let back = Height(one.0 - step.0).metres();
        assert!((back - 0.999).abs() < 1.0 / UNITS);
    }

    #[test]
    fn split_sums_to_the_amount() {
        let weights = [3_277, 11_469, 29_491, SPLIT_PARTS];
        for amount in [0, 1, 2, 3, 7, 1000, i32::MAX] {
            let parts = split_by_weights(amount, &weights);
            assert_eq!(parts.iter().sum::<i32>(), amount);
            assert!(parts.iter().all(|p| *p >= 0));
        }
    }
}
