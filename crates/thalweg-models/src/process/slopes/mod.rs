//! Hillslope processes without water: diffusion (soil creep), and a slope limit.
//!
//! These are kernels on plain fields of heights, for models to call inside their own steps. All amounts are integers,
//! so the mass balance closes exactly, and no result depends on the number of threads.

pub mod diffuse;
pub mod limit;
mod limit_variation;
mod relaxation;
pub mod settle;
mod stencil;

pub use diffuse::diffuse_ground;
pub use limit::{Bedding, limit_slopes};
pub use limit_variation::vary_slope_limit;
pub use settle::deposit_on_lowest;
pub use thalweg_noise::strata::Pile;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::model::MassBalance;
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::{HARDNESS, Layer, LayerSpec, PROTECT, SEDIMENT};
use thalweg_core::{Edge, Error, Field, Height, Result, Size, Terrain, Topology};

/// The local factor on the stable slope, relative to the model's own angle.
pub const SLOPE_LIMIT: LayerSpec = LayerSpec::floats(
    "slope_limit",
    "1",
    "Factor on the steepest stable slope (rise over run): above 1 in hard rock, below 1 in soft.",
);

/// The cells that must not change, and the axes on which the field is looped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds<'a> {
    /// True if the last row is adjacent to the first, and if the last column is adjacent to the first.
    pub looped: [bool; 2],
    /// True where there is no data: a wall that nothing crosses.
    pub nodata: Option<&'a Field<bool>>,
    /// True where the ground keeps its height, for example at base level; neighbouring cells still depend on it.
    pub held: Option<&'a Field<bool>>,
}

impl Bounds<'_> {
    /// Checks that the masks have the ground's size.
    fn check_sizes(&self, size: Size) -> Result<()> {
        for (axis, looped) in self.looped.iter().enumerate() {
            if *looped && !(Topology::MIN_LOOPED_CELLS..).contains(&size[axis]) {
                let allowed = format!("{} or more, because the edges are looped", Topology::MIN_LOOPED_CELLS);
                return Err(Error::invalid_value(["rows", "columns"][axis], size[axis], allowed));
            }
        }
        check_field_size("nodata", self.nodata.map(Field::size), size)?;
        check_field_size("held", self.held.map(Field::size), size)
    }
}

/// Checks that a field, if there is one, has the ground's size.
fn check_field_size(name: &str, is: Option<Size>, ground: Size) -> Result<()> {
    match is.filter(|is| *is != ground) {
        Some([rows, cols]) => {
            let allowed = format!("{} × {} (the ground)", ground[0], ground[1]);
            Err(Error::invalid_value(name, format!("{rows} × {cols} cells"), allowed))
        }
        None => Ok(()),
    }
}

/// The layers that reduce erosion, cell by cell. For example, a guard of 0.5 in a cell halves its erosion.
#[derive(Debug, Clone, Copy, Default)]
pub struct Guards<'a> {
    /// The share of the erosion that is suppressed (layer `protect`).
    pub protect: Option<&'a Field<f32>>,
    /// The share of the erosion that bedrock resists (layer `hardness`).
    pub hardness: Option<&'a Field<f32>>,
}

/// Returns the values of a layer of floating-point numbers, if there is one.
pub fn find_float_layer<'a>(layers: &'a BTreeMap<String, Layer>, spec: &LayerSpec) -> Option<&'a Field<f32>> {
    layers.get(spec.name)?.cells.as_float()
}

/// Books an erosion that has lowered the ground from `before` to its current height: restores what is protected or
/// too hard, removes sediment first, and returns the removed units. Cells that have not been lowered are set back to
/// their height in `before`.
///
/// # Errors
/// Returns an error if a field does not have the ground's size.
pub fn book_erosion(
    before: &Field<Height>,
    ground: &mut Field<Height>,
    loose: &mut Field<Height>,
    guards: Guards<'_>,
) -> Result<i64> {
    let [rows, cols] = ground.size();
    check_field_size("before", Some(before.size()), [rows, cols])?;
    check_field_size(SEDIMENT.name, Some(loose.size()), [rows, cols])?;
    check_field_size(PROTECT.name, guards.protect.map(Field::size), [rows, cols])?;
    check_field_size(HARDNESS.name, guards.hardness.map(Field::size), [rows, cols])?;
    let removed = ground
        .par_rows_mut()
        .zip(loose.as_mut_slice().par_chunks_mut(cols.max(1)))
        .map(|((i, ground), loose)| {
            let part = |guard: Option<&Field<f32>>, j: usize, amount: i32| {
                let kept = guard.map_or(0.0, |guard| f64::from(clamp_share(guard[(i, j)])));
                (f64::from(amount) * (1.0 - kept)) as i32
            };
            let mut removed = 0;
            for (j, height) in ground.iter_mut().enumerate() {
                let start = before[(i, j)].0;
                // Protection reduces the whole cut, and hardness only the part below the sediment. Both are rounded
                // toward zero.
                let requested = part(guards.protect, j, (start - height.0).max(0));
                let soft = requested.min(loose[j].0);
                let cut = soft + part(guards.hardness, j, requested - soft);
                height.0 = start - cut;
                loose[j].0 -= soft;
                removed += i64::from(cut);
            }
            removed
        })
        .sum();
    Ok(removed)
}

/// Books units that a model has eroded and that water carries away: they leave the map if it has an open edge or
/// missing data, and are deposited on the lowest ground otherwise ([`deposit_on_lowest`]).
///
/// # Errors
/// Returns an error if the sediment layer does not have the ground's size.
pub fn export_eroded(terrain: &mut Terrain, amount: i64) -> Result<MassBalance> {
    let mut budget = MassBalance { eroded: amount.into(), ..MassBalance::default() };
    if terrain.grid.edges.contains(&Edge::Open) || terrain.nodata_count() > 0 {
        budget.exported = amount.into();
    } else {
        let size = terrain.grid.size;
        let loose = terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let deposited = deposit_on_lowest(&mut terrain.ground, loose, None, amount)?;
        budget.deposited = deposited.into();
        // All ground has the greatest allowed height: the rest is booked as exported.
        budget.exported = (amount - deposited).into();
        budget.limited = u64::from(deposited < amount);
    }
    Ok(budget)
}

/// Replaces the ground by `ground` and books the difference. Where the ground rises, eroded material is deposited as
/// sediment; if more is deposited than eroded, the difference is booked as added, and if less, the rest is carried
/// away ([`export_eroded`]).
///
/// # Errors
/// Returns an error if a field does not have the terrain's size.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_models::process::slopes::replace_ground;
///
/// let mut terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[5.0, 5.0])?;
/// let lower = Field::from_vec([1, 2], [5.0, 3.0].map(Height::from_metres_clamped).to_vec())?;
/// let balance = replace_ground(&mut terrain, lower)?;
/// // What was eroded leaves over the open edges: 2 m over one cell.
/// assert_eq!((balance.eroded, balance.exported), (2 * 65_536, 2 * 65_536));
/// assert_eq!(terrain.ground[(0, 1)].metres(), 3.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn replace_ground(terrain: &mut Terrain, ground: Field<Height>) -> Result<MassBalance> {
    let before = std::mem::replace(&mut terrain.ground, ground);
    let pairs = terrain.ground.as_slice().iter().zip(before.as_slice()).enumerate();
    let rises: Vec<(usize, i32)> = pairs
        .filter(|(_, (after, before))| after > before)
        .map(|(k, (after, before))| (k, after.0 - before.0))
        .collect();
    let Terrain { grid, ground, loose, .. } = &mut *terrain;
    let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
    // This restores the cells that have risen to their old height, so their rise is added afterwards.
    let removed = book_erosion(&before, ground, loose, Guards::default())?;
    for (k, by) in &rises {
        ground[*k].0 += by;
        let loose = &mut loose[*k];
        loose.0 = loose.0.saturating_add(*by);
    }
    let deposited: i64 = rises.iter().map(|(_, by)| i64::from(*by)).sum();
    // Eroded material fills the rises first; only a surplus of either is carried away or booked as added.
    let own = deposited.min(removed);
    let mut budget = export_eroded(terrain, removed - own)?;
    budget.eroded += i128::from(own);
    budget.deposited += i128::from(own);
    budget.added += i128::from(deposited - own);
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;

    #[test]
    fn a_cut_takes_loose_ground_first_and_spares_what_is_protected_or_hard() {
        let field = |cells: [i32; 4]| Field::from_vec([1, 4], cells.map(Height).to_vec()).unwrap();
        let factor = |cells: [f32; 4]| Field::from_vec([1, 4], cells.to_vec()).unwrap();
        let (before, mut ground, mut loose) = (field([100; 4]), field([60, 60, 100, 60]), field([30, 70, 5, 10]));
        let (protect, hardness) = (factor([0.0, 0.5, 0.0, f32::NAN]), factor([0.0, 1.0, 0.0, 0.5]));
        let guards = Guards { protect: Some(&protect), hardness: Some(&hardness) };
        assert_eq!(book_erosion(&before, &mut ground, &mut loose, guards).unwrap(), 40 + 20 + 25);
        assert_eq!(ground, field([60, 80, 100, 75]));
        assert_eq!(loose, field([0, 50, 5, 0]));
        let other = Field::new([2, 3], Height::ZERO);
        assert!(book_erosion(&other, &mut ground, &mut loose, Guards::default()).is_err());
    }

    #[test]
    fn slopes_slide_and_creep_across_the_seam() {
        // A hill in the middle of the map, and the same hill on the seam.
        let size = [130, 50];
        for looped in [[false, true], [true, false], [true, true]] {
            let by = [0, 1].map(|axis| if looped[axis] { size[axis] / 2 } else { 0 });
            let key = thalweg_core::base::rng::RandomKey::new(8, "slopes");
            let middle = Field::from_fn(size, |i, j| {
                let far = (i as f64 - 65.0).powi(2) + (j as f64 - 25.0).powi(2);
                let rough = key.for_cell([i as i64, j as i64]).uniform_unit();
                Height::from_metres_clamped(300.0 * libm::exp(-far / 40.0) + 20.0 * rough)
            });
            let rolled = |field: &Field<Height>| {
                Field::from_fn(size, |i, j| field[((i + by[0]) % size[0], (j + by[1]) % size[1])])
            };
            let (bounds, tan) = (Bounds { looped, ..Bounds::default() }, Field::new(size, 0.6f32));
            let worked = |mut ground: Field<Height>| {
                let cut = limit_slopes(&mut ground, &tan, None, 10.0, bounds).unwrap();
                let budget = diffuse_ground(&mut ground, None, bounds, None, 3.0).unwrap();
                assert!(cut > 0 && budget.solid_change() == 0);
                ground
            };
            assert_eq!(rolled(&worked(middle.clone())), worked(rolled(&middle)), "{looped:?}");
        }
        let mut narrow = Field::new([5, 2], Height::ZERO);
        let bounds = Bounds { looped: [false, true], ..Bounds::default() };
        assert!(diffuse_ground(&mut narrow, None, bounds, None, 1.0).unwrap_err().to_string().contains("columns"));
    }

    #[test]
    fn what_cannot_leave_settles() {
        let grid = Grid::new([2, 2], 10.0).unwrap();
        let mut open = Terrain::new(grid.clone());
        assert_eq!(export_eroded(&mut open, 9).unwrap().exported, 9);
        let mut closed = Terrain::new(Grid { edges: [Edge::Closed; 4], ..grid });
        let budget = export_eroded(&mut closed, 9).unwrap();
        assert_eq!((budget.exported, budget.deposited, closed.sum_solid()), (0, 9, 9));
    }
}
