//! A sheet of several terrains: maps above perspective views, each under its name.

use crate::error::{Error, Result};
use crate::pictures::furniture::{INK, PAPER};
use crate::pictures::perspective::{Land, ViewOptions, render};
use crate::pictures::picture::Picture;
use crate::pictures::shade::{ShadeOptions, shade};
use crate::pictures::text::{Letters, draw};

/// Paper between the pictures, in pixels.
const GAP: usize = 12;

/// A terrain on a sheet.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The terrain, its water and trees.
    pub land: Land<'a>,
    /// Its name, above its map.
    pub caption: &'a str,
}

/// Terrains side by side, the map of each above its view, drawn with one light, one scale and the same colours, so that
/// what differs is the land. `options` are those of one view; its water and trees are not heeded. Maps are as wide as views; of few cells, their longer side is.
///
/// # Errors
/// When there is no terrain, or as [`shade`](shade()) and [`view`](crate::pictures::perspective::view).
pub fn sheet(shown: &[Shown<'_>], options: &ViewOptions<'_>) -> Result<Picture> {
    options.check()?;
    if shown.is_empty() {
        return Err(Error::value("terrains on a sheet", 0, "one or more"));
    }
    let map = ShadeOptions { ramp: options.ramp, sun: options.sun, range: options.range, ..ShadeOptions::default() };
    let settled = shown.iter().map(|one| map.clone().settled(one.land.terrain)).collect::<Result<Vec<_>>>()?;
    let ranges = settled.iter().filter_map(|options| options.range);
    let range = ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    let exaggeration = settled.iter().filter_map(|options| options.exaggeration).reduce(f64::min);
    let width = options.size[1];
    let maps = shown.iter().map(|one| {
        let Land { terrain, water, trees } = one.land;
        let scale = width as f64 / terrain.grid.cols() as f64;
        let longest = terrain.grid.rows().max(terrain.grid.cols());
        let max_size = Some(((longest as f64 * scale).floor() as usize).max(1));
        let map = shade(terrain, &ShadeOptions { water, trees, range, exaggeration, max_size, ..map.clone() })?;
        let [rows, cols] = map.size();
        Ok(map.enlarged([rows, cols].map(|n| n * width / rows.max(cols).max(1))))
    });
    let maps = maps.collect::<Result<Vec<_>>>()?;
    let views = render(
        &shown.iter().map(|one| one.land).collect::<Vec<_>>(),
        &ViewOptions { range: options.range.or(range), ..options.clone() },
    )?;
    let heading = Letters::Large.height() + GAP;
    let title = options.title.map_or(0, |_| heading);
    let tallest = maps.iter().map(|map| map.rgb.rows()).max().unwrap_or(0);
    let (step, top) = (width + GAP, GAP + title);
    let size = [top + heading + tallest + GAP + options.size[0], GAP + shown.len() * step];
    let mut all = Picture::new(size, PAPER);
    let centred = |all: &mut Picture, row: usize, left: usize, width: usize, text: &str| {
        let letters = if Letters::Large.width(text) > width { Letters::Small } else { Letters::Large };
        draw(all, [row, left + width.saturating_sub(letters.width(text)) / 2], text, letters, INK);
    };
    if let Some(text) = options.title {
        centred(&mut all, GAP, 0, size[1], text);
    }
    for (n, ((one, map), view)) in shown.iter().zip(&maps).zip(&views).enumerate() {
        let left = GAP + n * step;
        centred(&mut all, top, left, width, one.caption);
        all.paste(map, [top + heading, left + width.saturating_sub(map.rgb.cols()) / 2]);
        all.paste(view, [top + heading + tallest + GAP, left]);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::grid::Grid;
    use crate::height::Height;
    use crate::pictures::water::Water;
    use crate::terrain::Terrain;

    fn hill(height: f64) -> Terrain {
        let mut terrain = Terrain::new(Grid::new([40, 40], 30.0).unwrap());
        for i in 0..40 {
            for j in 0..40 {
                let (y, x) = (i as f64 - 20.0, j as f64 - 20.0);
                terrain.ground[(i, j)] = Height::saturating(height / (1.0 + (x * x + y * y) / 60.0));
            }
        }
        terrain
    }

    #[test]
    fn every_terrain_has_its_column() {
        let (a, b) = (hill(400.0), hill(300.0));
        let shown = |terrain, caption| Shown { land: Land::bare(terrain), caption };
        let options = ViewOptions { size: [60, 80], ..ViewOptions::default() };
        let alike = sheet(&[shown(&a, "same"), shown(&b, "other"), shown(&a, "same")], &options).unwrap();
        let column = |n: usize| {
            let mut part = Picture::new([alike.rgb.rows(), 80], [0; 3]);
            for i in 0..alike.rgb.rows() {
                let from = GAP + n * (80 + GAP);
                part.rgb.row_mut(i).copy_from_slice(&alike.rgb.row(i)[from..from + 80]);
            }
            part
        };
        assert_eq!(alike.rgb.cols(), GAP + 3 * (80 + GAP));
        assert!(column(0) == column(2) && column(0) != column(1));
        let blank = column(1).rgb.as_slice().iter().filter(|pixel| **pixel == PAPER).count();
        assert!(blank < column(1).rgb.len() / 2, "{blank} pixels of paper");
        // The map fills its column, though it has but 40 cells to 80 pixels.
        let top = GAP + Letters::Large.height() + GAP;
        assert!((0..80).all(|j| column(1).rgb[(top + 40, j)] != PAPER));
        assert!(sheet(&[], &options).is_err());
        let pools = Field::new([3, 3], Height::ZERO);
        let water = Water { pools: Some(&pools), ..Water::default() };
        let wrong = Shown { land: Land { water, ..Land::bare(&a) }, caption: "" };
        assert!(sheet(&[wrong], &options).is_err());
    }
}
