//! A world built for a program: of a size that it takes, so that its samples are the world's cells.

use super::layout::{ExportLayout, ExportTiles};
use super::target::{ExportTarget, Numbering};
use thalweg_core::Extent;
use thalweg_core::{Error, Result};
use thalweg_sim::recipe::{Beyond, Coarsest, Cut, Recipe};

/// Gives a recipe the extent, and the [`cut`](Recipe::cut), with which its world has a size that the program takes, the nearest to
/// what it has. Its cells, and those of its levels, stay as wide as they are. Where the program takes any size, nothing is changed.
///
/// # Errors
/// A recipe without an extent, or that is not solved as a whole ([`Beyond::Local`], continents); a program that takes a whole
/// pyramid, or squares where the extent is none; levels that do not come to the recipe's cells. What
/// [`Recipe::grids`] refuses of the new size. The recipe is then as it was.
pub fn fit_recipe(recipe: &mut Recipe, target: &ExportTarget) -> Result<()> {
    let refuse = |problem: &str| Err(Error::unsupported(format!("for = {}", target.name), problem));
    if target.numbering == Numbering::Pyramid {
        return refuse("is not possible: a map of the globe prescribes no size; name a program that takes samples");
    }
    let Some(extent) =
        recipe.extent().filter(|_| recipe.levels().beyond == Beyond::Global && recipe.continents().is_none())
    else {
        return refuse("only applies to a recipe with an `extent` that is solved as a whole");
    };
    let Extent { width, height } = extent;
    if target.square && width != height {
        return refuse("needs an `extent` with equal sides: the program takes only squares");
    }
    let cell = width.max(height) / recipe.cells.max(1) as f64;
    let near = [height, width].map(|side| ((side / cell).round() as usize).max(2));
    let want = ExportLayout::choose(target, near, ExportTiles::Whole, None, None)?.total();
    if want == near && recipe.cut() == Cut::NONE {
        return Ok(());
    }
    // As many levels as it would have, of whole cells of the coarsest.
    let halvings = halvings(recipe)?;
    let whole = want.map(|n| n.div_ceil(1 << halvings) << halvings);
    let long = whole[0].max(whole[1]);
    let mut fitted = recipe.clone();
    fitted.cells = long;
    fitted.set_extent([whole[1], whole[0]].map(|n| n as f64 * cell))?;
    fitted.set_cut(Cut { cols: whole[1] - want[1], rows: whole[0] - want[0] })?;
    fitted.set_coarsest(if halvings > 0 { Coarsest::Cells(long >> halvings) } else { Coarsest::None })?;
    fitted.grids()?;
    *recipe = fitted;
    Ok(())
}

/// How often the cells of the first level are halved: of the recipe as it is, or with the next more cells that its levels come to.
fn halvings(recipe: &Recipe) -> Result<u32> {
    let mut tried = recipe.clone();
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

    /// What a target takes of a world of that size is the world itself.
    fn is_exact(target: &ExportTarget, size: Size) -> bool {
        ExportLayout::choose(target, size, ExportTiles::Whole, None, None).is_ok_and(|layout| layout.total() == size)
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
                    let map = recipe.map(last).size;
                    let of = format!("{} {} {cells}: {map:?}", preset.name, target.name);
                    assert!(is_exact(target, map), "{of}");
                    assert!(
                        <[usize; 2]>::from(recipe.cut()).iter().all(|cut| cut << 1 < 2 << (grids.len() - 1)),
                        "{of}"
                    );
                    // Where the recipe as it is comes to its cells, all levels have cells of the same width.
                    let Ok(before) = asked.grids() else { continue };
                    let off = |a: f64, b: f64| (a / b - 1.0).abs() > 1e-12;
                    let same = before.len() == grids.len() && !off(before[0].cell, first.cell);
                    assert!(same && !off(before[before.len() - 1].cell, last.cell), "{of}");
                }
            }
        }
        // Elevation models have cells of their own, maps of the globe none, and the textbook's land is no square.
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
            assert_eq!((again.cells, again.cut(), again.hash()), (recipe.cells, recipe.cut(), recipe.hash()));
            let mut run = Run::new(recipe.clone()).unwrap();
            let mut seen = None;
            while run.step().unwrap().is_some() {
                seen = Some(run.map().grid.size);
            }
            let size = run.terrain().grid.size;
            assert_eq!(seen, Some(size));
            assert!(is_exact(target, size) && size[0].max(size[1]) == 253, "{size:?}");
            // The corner is that of the world that nothing is cut of.
            let mut whole = recipe;
            whole.set_cut(Cut::NONE).unwrap();
            let mut whole = Run::new(whole).unwrap();
            while whole.step().unwrap().is_some() {}
            let window = CellRect::new([0, 0], size);
            assert!(whole.terrain().ground.window(window) == run.terrain().ground);
        }
    }
}
