//! [`fit_recipe`]: gives a recipe a size that a target program accepts, so that the export's samples are the world's
//! cells.

use super::layout::{ExportLayout, ExportTiles};
use super::target::{ExportTarget, TileNumbering};
use thalweg_core::Extent;
use thalweg_core::{Error, Result};
use thalweg_sim::recipe::{Coarsest, MapTrim, Recipe, RefinementMethod};

/// Changes the extent and the [`cut`](Recipe::map_trim) of a recipe so that its world has the size nearest to its own
/// that the target program accepts. The cells, and those of the levels, keep their width. If the program accepts the
/// size already and the recipe has no cut, nothing is changed.
///
/// # Errors
/// Returns an error if the recipe has no extent, or is not solved as a whole ([`RefinementMethod::Local`], continents);
/// if the program takes a whole pyramid, or squares where the extent is none; if the levels do not match the recipe's
/// number of cells; and the errors of [`Recipe::grids`] for the new size. The recipe is unchanged then.
///
/// # Examples
/// A world of 500 × 500 cells becomes one of 513 × 513, as Unity requires.
///
/// ```
/// use thalweg_export::export::{ExportTarget, fit_recipe};
/// use thalweg_sim::presets::find_preset;
///
/// let mut recipe = find_preset("hills")?;
/// recipe.cells = 500;
/// fit_recipe(&mut recipe, ExportTarget::find("unity")?)?;
/// let grids = recipe.grids()?;
/// assert_eq!(recipe.map_grid(&grids[grids.len() - 1]).size, [513, 513]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn fit_recipe(recipe: &mut Recipe, target: &ExportTarget) -> Result<()> {
    let refuse = |problem: &str| Err(Error::unsupported(format!("for = {}", target.name), problem));
    if target.numbering == TileNumbering::Pyramid {
        return refuse("does not apply here, because maps of the globe prescribe no size; choose another target");
    }
    // A recipe without a fixed extent, or with detail beyond its levels, does not have one number of cells to fit.
    let Some(extent) =
        recipe.extent().filter(|_| recipe.levels().beyond == RefinementMethod::Global && recipe.continents().is_none())
    else {
        return refuse("only applies to a recipe with `extent` and without `continents` or `beyond = \"local\"`");
    };
    let Extent { width, height } = extent;
    if target.square && width != height {
        return refuse("needs an `extent` with equal sides, because the target accepts only square maps");
    }
    let cell = width.max(height) / recipe.cells.max(1) as f64;
    // The nearest size that the program accepts is the one that an export of the unchanged world would have.
    let near = [height, width].map(|side| ((side / cell).round() as usize).max(2));
    let want = ExportLayout::choose(target, near, ExportTiles::Whole, None, None)?.total_size();
    if want == near && recipe.map_trim() == MapTrim::NONE {
        return Ok(());
    }
    // The number of levels stays, and the size is rounded up to whole cells of the coarsest level.
    let halvings = count_halvings(recipe)?;
    let whole = want.map(|n| n.div_ceil(1 << halvings) << halvings);
    let long = whole[0].max(whole[1]);
    let mut fitted = recipe.clone();
    fitted.cells = long;
    fitted.set_extent([whole[1], whole[0]].map(|n| n as f64 * cell))?;
    // The cells beyond the size that the program accepts are cut off after the run.
    fitted.set_map_trim(MapTrim { cols: whole[1] - want[1], rows: whole[0] - want[0] })?;
    fitted.set_coarsest(if halvings > 0 { Coarsest::Cells(long >> halvings) } else { Coarsest::None })?;
    // The new recipe is checked before it replaces the old one.
    fitted.grids()?;
    *recipe = fitted;
    Ok(())
}

/// Returns how often the cells of the first level are halved: for the recipe as it is, or with the next greater number
/// of cells that its levels allow.
fn count_halvings(recipe: &Recipe) -> Result<u32> {
    let mut tried = recipe.clone();
    // A number of cells that its levels allow is found within a factor of two, if there is any.
    let more = (recipe.cells..=2 * recipe.cells).find_map(|cells| {
        tried.cells = cells;
        tried.halvings().ok()
    });
    more.map_or_else(|| recipe.halvings(), Ok)
}

#[cfg(test)]
mod tests {
    use super::super::target::TARGETS;
    use super::*;
    use thalweg_core::{CellRect, Size};
    use thalweg_sim::presets::PRESETS;
    use thalweg_sim::run::Run;

    /// Returns true if the target exports a world of this size without resampling.
    fn is_exact(target: &ExportTarget, size: Size) -> bool {
        ExportLayout::choose(target, size, ExportTiles::Whole, None, None)
            .is_ok_and(|layout| layout.total_size() == size)
    }

    #[test]
    fn presets_have_a_size_that_each_program_takes() {
        let mut refused = Vec::new();
        for preset in PRESETS {
            for target in &TARGETS {
                for cells in [0, 130, 300, 700, 3000] {
                    let mut recipe = Recipe::parse(preset.text).unwrap();
                    recipe.cells = if cells > 0 { cells } else { recipe.cells };
                    let asked = recipe.clone();
                    if let Err(error) = fit_recipe(&mut recipe, target) {
                        refused.push((preset.name, target.name, error.to_string()));
                        continue;
                    }
                    if recipe.cells == asked.cells && recipe.extent() == asked.extent() {
                        continue;
                    }
                    let grids = recipe.grids().unwrap();
                    let (first, last) = (&grids[0], &grids[grids.len() - 1]);
                    let map = recipe.map_grid(last).size;
                    let of = format!("{} {} {cells}: {map:?}", preset.name, target.name);
                    assert!(is_exact(target, map), "{of}");
                    assert!(
                        <[usize; 2]>::from(recipe.map_trim()).iter().all(|cut| cut << 1 < 2 << (grids.len() - 1)),
                        "{of}"
                    );
                    // If the levels of the recipe match its cells before fitting, all levels keep the width of their
                    // cells.
                    let Ok(before) = asked.grids() else { continue };
                    let off = |a: f64, b: f64| (a / b - 1.0).abs() > 1e-12;
                    let same = before.len() == grids.len() && !off(before[0].cell, first.cell);
                    assert!(same && !off(before[before.len() - 1].cell, last.cell), "{of}");
                }
            }
        }
        // Elevation models have fixed cells, maps of the globe prescribe no size, and the extent of `textbook` is not
        // square.
        for (preset, target, error) in refused {
            let expected = preset == "aged"
                || ["endless", "continent"].contains(&preset)
                || target == "web"
                || (preset == "textbook" && ["unity", "hterrain"].contains(&target));
            assert!(expected, "{preset} {target}: {error}");
        }
    }

    #[test]
    fn what_is_built_has_the_size() {
        for (extent, levels) in
            [("[3000, 3000]", "coarsest = \"auto\""), ("[4000, 2500]", ""), ("[4000, 2500]", "margin = 0.1")]
        {
            let text = format!(
                "extent = {extent}\ncells = 250\n{levels}\nedges = {{ north = \"closed\", east = \"closed\" }}\n\
                 [[stage]]\nmodel = \"gradient_noise\"\n[[stage]]\nmodel = \"thermal\"\nsteps = 2\n"
            );
            let mut recipe = Recipe::parse(&text).unwrap();
            let target = ExportTarget::find("unreal").unwrap();
            fit_recipe(&mut recipe, target).unwrap();
            let again = Recipe::parse(&recipe.to_toml()).unwrap();
            assert_eq!((again.cells, again.map_trim(), again.hash()), (recipe.cells, recipe.map_trim(), recipe.hash()));
            let mut run = Run::new(recipe.clone()).unwrap();
            let mut seen = None;
            while run.take_step().unwrap().is_some() {
                seen = Some(run.terrain_without_margin().grid.size);
            }
            let size = run.terrain().grid.size;
            assert_eq!(seen, Some(size));
            assert!(is_exact(target, size) && size[0].max(size[1]) == 253, "{size:?}");
            // The north-western corner has the same heights as that of the world without a cut.
            let mut whole = recipe;
            whole.set_map_trim(MapTrim::NONE).unwrap();
            let mut whole = Run::new(whole).unwrap();
            while whole.take_step().unwrap().is_some() {}
            let window = CellRect::new([0, 0], size);
            assert!(whole.terrain().ground.copy_window(window) == run.terrain().ground);
        }
    }
}
