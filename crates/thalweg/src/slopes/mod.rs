//! What slopes do by themselves, without water: creep, and a steepness that they cannot pass.
//!
//! Kernels on plain fields of heights, for models to call inside their own steps. All amounts are integers, so mass closes
//! to the unit, and no result depends on the number of threads.

pub mod diffuse;
pub mod limit;
pub mod settle;

pub use diffuse::diffuse;
pub use limit::{jittered, limit};
pub use settle::settle;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::field::{Field, Size};
use crate::height::Height;

/// Cells that are not to change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds<'a> {
    /// True where there is no data: a wall, that nothing passes.
    pub nodata: Option<&'a Field<bool>>,
    /// True where the ground keeps its height, such as at base level; its neighbours see it.
    pub held: Option<&'a Field<bool>>,
}

impl Bounds<'_> {
    /// Checks that the masks are of the ground's size.
    fn check(&self, size: Size) -> Result<()> {
        fits("nodata", self.nodata.map(Field::size), size)?;
        fits("held", self.held.map(Field::size), size)
    }
}

/// Checks that a field, if there is one, is of the ground's size.
fn fits(name: &str, is: Option<Size>, ground: Size) -> Result<()> {
    match is.filter(|is| *is != ground) {
        Some([rows, cols]) => {
            let allowed = format!("{} × {} (the ground)", ground[0], ground[1]);
            Err(Error::value(name, format!("{rows} × {cols} cells"), allowed))
        }
        None => Ok(()),
    }
}

/// Books a cut that lowered the ground from `before` to what it is now: gives back the share that is protected, takes
/// loose ground first, and returns the units removed. All fields are of the same size.
///
/// # Errors
/// When they are not.
pub fn book_cut(
    before: &Field<Height>,
    ground: &mut Field<Height>,
    loose: &mut Field<Height>,
    protect: Option<&Field<f32>>,
) -> Result<i64> {
    let [rows, cols] = ground.size();
    fits("before", Some(before.size()), [rows, cols])?;
    fits("loose", Some(loose.size()), [rows, cols])?;
    fits("protect", protect.map(Field::size), [rows, cols])?;
    let removed = ground
        .par_rows_mut()
        .zip(loose.as_mut_slice().par_chunks_mut(cols.max(1)))
        .map(|((i, ground), loose)| {
            let mut removed = 0;
            for (j, height) in ground.iter_mut().enumerate() {
                let start = before[(i, j)].0;
                let wanted = start - height.0;
                let cut = protect.map_or(wanted, |protect| {
                    (f64::from(wanted) * (1.0 - f64::from(protect[(i, j)].clamp(0.0, 1.0)))) as i32
                });
                height.0 = start - cut;
                loose[j].0 = (loose[j].0 - cut).max(0);
                removed += i64::from(cut);
            }
            removed
        })
        .sum();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_loose_ground_first_and_spares_what_is_protected() {
        let field = |cells: [i32; 3]| Field::from_vec([1, 3], cells.map(Height).to_vec()).unwrap();
        let (before, mut ground, mut loose) = (field([100; 3]), field([60, 60, 100]), field([30, 70, 5]));
        let protect = Field::from_vec([1, 3], vec![0.0, 0.5, 0.0]).unwrap();
        assert_eq!(book_cut(&before, &mut ground, &mut loose, Some(&protect)).unwrap(), 60);
        assert_eq!(ground, field([60, 80, 100]));
        assert_eq!(loose, field([0, 50, 5]));
        assert!(book_cut(&Field::new([2, 3], Height::ZERO), &mut ground, &mut loose, None).is_err());
    }
}
