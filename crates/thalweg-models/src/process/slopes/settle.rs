//! Deposition of sediment that cannot leave the map.

use rayon::prelude::*;

use crate::process::slopes::check_field_size;
use thalweg_core::terrain::SEDIMENT;
use thalweg_core::{Field, Height, Result};

/// Deposits `amount` units (height × cells) as sediment with a level surface on the lowest parts of the ground, where
/// water would carry it on a map without an outlet. Cells without data stay as they are; if there are no others,
/// nothing is deposited.
///
/// Returns the deposited units. These are exactly `amount` if there is a cell with data, amount ≥ 0, and the sediment
/// fits below the greatest allowed height, which is the case for material that was taken from this same ground.
///
/// # Errors
/// Returns an error if a field does not have the ground's size.
///
/// # Examples
/// Three metres over one cell fill the two lower cells to the same level:
///
/// ```
/// use thalweg_core::{Field, Height};
/// use thalweg_models::process::slopes::deposit_on_lowest;
///
/// let mut ground = Field::from_vec([1, 3], [0.0, 1.0, 5.0].map(Height::from_metres_clamped).to_vec())?;
/// let mut loose = Field::new([1, 3], Height::ZERO);
/// assert_eq!(deposit_on_lowest(&mut ground, &mut loose, None, 3 * 65_536)?, 3 * 65_536);
/// assert_eq!(ground.map(|height| height.metres()).as_slice(), [2.0, 2.0, 5.0]);
/// assert_eq!(loose.map(|height| height.metres()).as_slice(), [2.0, 1.0, 0.0]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn deposit_on_lowest(
    ground: &mut Field<Height>,
    loose: &mut Field<Height>,
    nodata: Option<&Field<bool>>,
    amount: i64,
) -> Result<i64> {
    check_field_size(SEDIMENT.name, Some(loose.size()), ground.size())?;
    check_field_size("nodata", nodata.map(Field::size), ground.size())?;
    let void = |k: usize| nodata.is_some_and(|mask| mask[k]);
    let heights = ground.as_slice();
    let under = |level: i64| -> i128 {
        let depth = |k: usize| if void(k) { 0 } else { i128::from((level - i64::from(heights[k].0)).max(0)) };
        (0..heights.len()).into_par_iter().map(depth).sum()
    };
    let lowest = (0..heights.len()).filter(|k| !void(*k)).map(|k| heights[k].0).min();
    let Some(lowest) = lowest.filter(|_| amount > 0) else { return Ok(0) };
    let amount = i128::from(amount).min(under(Height::MAX.0.into())) as i64;
    // Find the highest level that the amount fills, by doubling and then bisection.
    let (mut full, mut over) = (i64::from(lowest), i64::from(lowest) + 1);
    // The distance doubles in each step, so few passes over the map are needed.
    while under(over) <= amount.into() && over <= Height::MAX.0.into() {
        over += over - full;
    }
    while over - full > 1 {
        let middle = full + (over - full) / 2;
        if under(middle) <= amount.into() { full = middle } else { over = middle }
    }
    // The rest is less than a unit for each cell below the level and goes to the first ones in row-major order.
    let mut remaining = i128::from(amount) - under(full);
    for k in (0..heights.len()).filter(|k| !void(*k)) {
        let height = &mut ground[k];
        if i64::from(height.0) <= full {
            // The remainder is less than one unit per cell below the level.
            let depth = (full - i64::from(height.0)) as i32 + i32::from(remaining > 0);
            remaining -= i128::from(remaining > 0);
            height.0 += depth;
            let loose = &mut loose[k];
            loose.0 = loose.0.saturating_add(depth);
        }
    }
    Ok(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_ground_is_filled_level() {
        let mut ground = Field::from_vec([1, 5], [10, 0, 4, -50, 3].map(Height).to_vec()).unwrap();
        let mut loose = Field::new([1, 5], Height(1));
        let void = Field::from_vec([1, 5], vec![false, false, false, true, false]).unwrap();
        // Filling to level 6 takes 6 + 2 + 3; one of the twelve units is left over.
        assert_eq!(deposit_on_lowest(&mut ground, &mut loose, Some(&void), 12).unwrap(), 12);
        assert_eq!(ground.as_slice(), [10, 7, 6, -50, 6].map(Height));
        assert_eq!(loose.as_slice(), [1, 8, 3, 1, 4].map(Height));
    }

    #[test]
    fn ground_is_filled_no_higher_than_heights_go() {
        let mut ground = Field::from_vec([1, 2], vec![Height(Height::MAX.0 - 5), Height::MAX]).unwrap();
        let mut loose = Field::new([1, 2], Height::ZERO);
        assert_eq!(deposit_on_lowest(&mut ground, &mut loose, None, i64::MAX).unwrap(), 5);
        assert_eq!(ground.as_slice(), [Height::MAX; 2]);
        assert_eq!(deposit_on_lowest(&mut ground, &mut loose, None, 1).unwrap(), 0);
    }

    #[test]
    fn nothing_settles_where_nothing_is() {
        let mut ground = Field::new([1, 2], Height(5));
        let mut loose = Field::new([1, 2], Height::ZERO);
        assert_eq!(deposit_on_lowest(&mut ground, &mut loose, None, 0).unwrap(), 0);
        let void = Field::new([1, 2], true);
        assert_eq!(deposit_on_lowest(&mut ground, &mut loose, Some(&void), 9).unwrap(), 0);
        assert_eq!(ground.as_slice(), [Height(5); 2]);
    }
}
