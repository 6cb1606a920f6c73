//! A sheet of several terrains: maps above perspective views, each with its name; or one picture each, in rows and
//! columns.

use crate::pictures::drawn_land::DrawnLand;
use crate::pictures::furniture::{INK, PAPER};
use crate::pictures::look::LookOptions;
use crate::pictures::perspective::{CameraOptions, ViewOptions, render_views};
use crate::pictures::picture::Picture;
use crate::pictures::shade::{ShadeOptions, draw_map};
use crate::pictures::text::{Letters, draw_text};
use thalweg_core::declare::option_types::Line;
use thalweg_core::{Error, Result, operation};

/// The gap between pictures in pixels.
const GAP: usize = 12;

operation! {
    /// Draws a sheet of terrains: a map and a perspective view of each, under its caption.
    ///
    /// # Examples
    /// ```
    /// use thalweg_render::pictures::sheet::SheetOptions;
    ///
    /// let names = ["dem".to_string(), "wet".to_string()];
    /// assert_eq!(SheetOptions::default().choose_captions(&names)?, ["dem", "wet"]);
    /// let options = SheetOptions { captions: vec!["dry".into()], ..SheetOptions::default() };
    /// assert!(options.choose_captions(&names).is_err());
    /// assert_eq!(options.choose_captions(&names[..1])?, ["dry"]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct SheetOptions, "sheet", command "render sheet", with(camera: CameraOptions, look: LookOptions) {
        /// Caption of a terrain; given once for each terrain, in their order. By default, it is the name of the folder
        /// or file.
        captions: Vec<Line> = Vec::new(), within .., unit "1", flag "caption";
    }
}

impl SheetOptions {
    /// Returns the captions of terrains with these names, which are the captions if the options have none.
    ///
    /// # Errors
    /// Returns an error if the number of captions is not that of the terrains.
    pub fn choose_captions<'a>(&'a self, names: &'a [String]) -> Result<Vec<&'a str>> {
        match (self.captions.len(), names.len()) {
            (0, _) => Ok(names.iter().map(String::as_str).collect()),
            (given, count) if given == count => Ok(self.captions.iter().map(|line| &**line).collect()),
            (given, count) => {
                Err(Error::invalid_value("number of captions", given, format!("{count}, one for each terrain")))
            }
        }
    }

    /// Returns the options of the view of each terrain, for [`draw_sheet`].
    pub fn view_options(&self) -> ViewOptions {
        ViewOptions { camera: self.camera.clone(), look: self.look.clone(), ..ViewOptions::default() }
    }
}

/// A terrain on a sheet.
#[derive(Debug, Clone, Copy)]
pub struct SheetTerrain<'a> {
    /// The terrain, its water and trees.
    pub land: DrawnLand<'a>,
    /// The name, which is written above its map.
    pub caption: &'a str,
}

/// The kind of picture that a sheet shows of each terrain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SheetPicture {
    /// The shaded map.
    #[default]
    Map,
    /// The perspective view.
    View,
}

/// The labels of a sheet of pictures in rows and columns; each part may be empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Labels<'a> {
    /// The title above everything.
    pub title: Option<&'a str>,
    /// The headings above the columns, from the left.
    pub heads: &'a [String],
    /// The labels to the left of the rows, from the top.
    pub sides: &'a [String],
    /// The captions above the pictures, row by row from the left.
    pub captions: &'a [String],
}

/// Draws terrains side by side, the map of each above its view, with the same light, scale and colours, so that only
/// the terrains differ. `options` are those of one view. Maps are as wide as views; a map with too few cells is
/// enlarged until its longer side equals the width of a view. For example, a sheet can show a terrain before and after
/// erosion.
///
/// # Errors
/// Returns an error if there is no terrain; also returns the errors of [`draw_map`] and
/// [`draw_view`](crate::pictures::perspective::draw_view).
///
/// # Examples
/// Each terrain has a column as wide as a view, with 12 pixels between and beside the columns.
///
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::pictures::perspective::{CameraOptions, ViewOptions};
/// use thalweg_render::pictures::sheet::{SheetTerrain, draw_sheet};
///
/// let ground = Field::from_fn([32, 48], |i, j| Height::from_metres_clamped(300.0 - (i.abs_diff(16) + j.abs_diff(24)) as f64));
/// let terrain = Terrain::from_ground(Grid::new([32, 48], 30.0)?, ground)?;
/// let flat = Terrain::new(terrain.grid.clone());
/// let shown = [("before", &terrain), ("after", &flat)]
///     .map(|(caption, terrain)| SheetTerrain { land: terrain.into(), caption });
/// let camera = CameraOptions { size: [60, 80], ..CameraOptions::default() };
/// let sheet = draw_sheet(&shown, &ViewOptions { camera, ..ViewOptions::default() })?;
/// assert_eq!(sheet.size()[1], 12 + 2 * (80 + 12));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draw_sheet(shown: &[SheetTerrain<'_>], options: &ViewOptions) -> Result<Picture> {
    let lands: Vec<DrawnLand<'_>> = shown.iter().map(|one| one.land).collect();
    let (mut pictures, range) = draw_maps(&lands, options, None)?;
    pictures.extend(render_views(&lands, &with_range(options, range))?);
    let heads: Vec<String> = shown.iter().map(|one| one.caption.to_string()).collect();
    let labels = Labels { title: options.camera.title.as_deref(), heads: &heads, ..Labels::default() };
    Ok(arrange_pictures(&pictures, [options.camera.size[1], shown.len()], &labels))
}

/// Draws terrains in rows of `columns`, one picture each, with the same light, scale and colours. `options` are as
/// for [`draw_sheet`], except that its title is ignored and its exaggeration also applies to the light of maps.
///
/// # Errors
/// Returns the errors of [`draw_sheet`].
pub fn draw_contact_sheet(
    lands: &[DrawnLand<'_>],
    face: SheetPicture,
    columns: usize,
    labels: &Labels<'_>,
    options: &ViewOptions,
) -> Result<Picture> {
    let (maps, range) = draw_maps(lands, options, options.look.exaggeration)?;
    let pictures = match face {
        SheetPicture::Map => maps,
        SheetPicture::View => render_views(lands, &with_range(options, range))?,
    };
    Ok(arrange_pictures(&pictures, [options.camera.size[1], columns.max(1)], labels))
}

/// Returns the options with these heights at the ends of the ramp.
fn with_range(options: &ViewOptions, range: Option<[f64; 2]>) -> ViewOptions {
    ViewOptions { look: LookOptions { range, ..options.look.clone() }, ..options.clone() }
}

/// Returns the terrains' maps, as wide as views, and the heights of the ends of their colour ramp. `exaggeration` is
/// that of their light.
fn draw_maps(
    lands: &[DrawnLand<'_>],
    options: &ViewOptions,
    exaggeration: Option<f64>,
) -> Result<(Vec<Picture>, Option<[f64; 2]>)> {
    options.check()?;
    if lands.is_empty() {
        return Err(Error::invalid_value("terrains on a sheet", 0, "1 or more"));
    }
    let look = LookOptions { exaggeration, ..options.look.clone() };
    let map = ShadeOptions { look, ..ShadeOptions::default() };
    // The range and exaggeration of each terrain are chosen first; then all are drawn with the union of the ranges.
    let settled = lands.iter().map(|land| map.clone().resolve_for(land.terrain)).collect::<Result<Vec<_>>>()?;
    let ranges = settled.iter().filter_map(|options| options.look.range);
    let range = ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    // The smallest exaggeration is that of the steepest terrain, which a stronger light would turn black.
    let exaggeration = settled.iter().filter_map(|options| options.look.exaggeration).reduce(f64::min);
    let look = LookOptions { range, exaggeration, ..options.look.clone() };
    let width = options.camera.size[1];
    let maps = lands.iter().map(|land| {
        // A map is scaled so that its width in pixels equals that of a view.
        let grid = &land.terrain.grid;
        let scale = width as f64 / grid.cols() as f64;
        let longest = grid.rows().max(grid.cols());
        let max_size = Some(((longest as f64 * scale).floor() as usize).max(1));
        // Rivers are drawn as water.
        let land = DrawnLand { rivers: &[], ..*land };
        let map = draw_map(land, &ShadeOptions { look: look.clone(), max_size, ..ShadeOptions::default() })?;
        let [rows, cols] = map.size();
        // A map of fewer cells than pixels is enlarged afterwards, because drawing takes at most one pixel per cell.
        Ok(map.enlarge_to([rows, cols].map(|n| n * width / rows.max(cols).max(1))))
    });
    Ok((maps.collect::<Result<Vec<_>>>()?, options.look.range.or(range)))
}

/// Arranges pictures in rows on paper, each in the middle of a column `width` pixels wide or as wide as the widest
/// label.
fn arrange_pictures(pictures: &[Picture], [width, columns]: [usize; 2], labels: &Labels<'_>) -> Picture {
    let widest = |texts: &[String]| texts.iter().map(|text| Letters::Small.width(text)).max().unwrap_or(0);
    let width = width.max(widest(labels.heads)).max(widest(labels.captions));
    let line = |letters: Letters, texts: &[String]| if texts.is_empty() { 0 } else { letters.height() + GAP };
    let title = labels.title.map_or(0, |_| Letters::Large.height() + GAP);
    let head = line(Letters::Large, labels.heads);
    let side = if labels.sides.is_empty() { 0 } else { widest(labels.sides) + GAP };
    let caption = if labels.captions.is_empty() { 0 } else { Letters::Small.height() };
    let rows: Vec<&[Picture]> = pictures.chunks(columns).collect();
    let heights: Vec<usize> =
        rows.iter().map(|row| caption + row.iter().map(|picture| picture.rgb.rows()).max().unwrap_or(0)).collect();
    let (step, left) = (width + GAP, GAP + side);
    let tall = heights.iter().sum::<usize>() + GAP * rows.len().saturating_sub(1);
    let size = [GAP + title + head + tall, left + columns * step];
    let mut all = Picture::new(size, PAPER);
    let centred = |all: &mut Picture, row: usize, left: usize, width: usize, text: &str, letters: Letters| {
        draw_text(all, [row, left + width.saturating_sub(letters.width(text)) / 2], text, letters, INK);
    };
    // Labels that are too wide for their column in large letters use the small ones.
    let fitting = |texts: &[String], width: usize| {
        let fit = texts.iter().all(|text| Letters::Large.width(text) <= width);
        if fit { Letters::Large } else { Letters::Small }
    };
    if let Some(text) = labels.title {
        centred(&mut all, GAP, 0, size[1], text, fitting(&[text.to_string()], size[1]));
    }
    let letters = fitting(labels.heads, width);
    for (n, text) in labels.heads.iter().enumerate() {
        centred(&mut all, GAP + title, left + n * step, width, text, letters);
    }
    let mut top = GAP + title + head;
    for ((number, row), height) in rows.iter().enumerate().zip(&heights) {
        if let Some(text) = labels.sides.get(number) {
            let middle = top + height.saturating_sub(Letters::Small.height()) / 2;
            draw_text(&mut all, [middle, GAP], text, Letters::Small, INK);
        }
        for (n, picture) in row.iter().enumerate() {
            let left = left + n * step;
            if let Some(text) = labels.captions.get(number * columns + n) {
                centred(&mut all, top, left, width, text, Letters::Small);
            }
            all.paste(picture, [top + caption, left + width.saturating_sub(picture.rgb.cols()) / 2]);
        }
        top += height + GAP;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::water::Water;
    use thalweg_core::{Field, Grid, Height, Terrain};

    fn hill(height: f64) -> Terrain {
        let mut terrain = Terrain::new(Grid::new([40, 40], 30.0).unwrap());
        for i in 0..40 {
            for j in 0..40 {
                let (y, x) = (i as f64 - 20.0, j as f64 - 20.0);
                terrain.ground[(i, j)] = Height::from_metres_clamped(height / (1.0 + (x * x + y * y) / 60.0));
            }
        }
        terrain
    }

    fn small_views() -> ViewOptions {
        let camera = CameraOptions { size: [60, 80], ..CameraOptions::default() };
        ViewOptions { camera, ..ViewOptions::default() }
    }

    #[test]
    fn every_terrain_has_its_column() {
        let (a, b) = (hill(400.0), hill(300.0));
        let shown = |terrain, caption| SheetTerrain { land: DrawnLand::from(terrain), caption };
        let options = small_views();
        let alike = draw_sheet(&[shown(&a, "same"), shown(&b, "other"), shown(&a, "same")], &options).unwrap();
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
        // The map fills its column, although it has only 40 cells for 80 pixels.
        let top = GAP + Letters::Large.height() + GAP;
        assert!((0..80).all(|j| column(1).rgb[(top + 40, j)] != PAPER));
        assert!(draw_sheet(&[], &options).is_err());
        let pools = Field::new([3, 3], Height::ZERO);
        let water = Water { pools: Some(&pools), ..Water::default() };
        let wrong = SheetTerrain { land: DrawnLand { water, ..(&a).into() }, caption: "" };
        assert!(draw_sheet(&[wrong], &options).is_err());
    }

    #[test]
    fn rows_and_columns_have_their_labels() {
        let (a, b) = (hill(400.0), hill(300.0));
        let lands = [&a, &b, &b, &a, &a].map(DrawnLand::from);
        let options = small_views();
        let words = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let (heads, sides) = (words(&["one", "two", "three"]), words(&["up", "down"]));
        let labels = Labels { heads: &heads, sides: &sides, ..Labels::default() };
        let [map, view] = [SheetPicture::Map, SheetPicture::View]
            .map(|face| draw_contact_sheet(&lands, face, 3, &labels, &options).unwrap());
        let left = GAP + GAP + Letters::Small.width("down");
        let top = GAP + Letters::Large.height() + GAP;
        assert_eq!(map.size(), [top + 80 + GAP + 80, left + 3 * (80 + GAP)]);
        assert_eq!(view.size(), [top + 60 + GAP + 60, left + 3 * (80 + GAP)]);
        // The same terrain gives the same picture at every position; the last position is empty.
        let part = |row: usize, column: usize| {
            let (top, left) = (top + row * (80 + GAP), left + column * (80 + GAP));
            (0..80).map(|i| map.rgb.row(top + i)[left..left + 80].to_vec()).collect::<Vec<_>>()
        };
        assert!(part(0, 0) == part(1, 0) && part(0, 1) == part(0, 2) && part(0, 0) != part(0, 1));
        assert!(part(1, 2).iter().flatten().all(|pixel| *pixel == PAPER));
        let ink = |i: std::ops::Range<usize>, j: std::ops::Range<usize>| {
            i.flat_map(|i| j.clone().map(move |j| (i, j))).any(|at| map.rgb[at] != PAPER)
        };
        assert!(ink(0..top - 1, left..left + 80) && ink(top..top + 80, 0..left - 1));
        // A label wider than a picture widens its column, so that it is complete.
        let long = words(&["a caption that is wider than eighty pixels"]);
        let labels = Labels { captions: &long, ..Labels::default() };
        let one = draw_contact_sheet(&lands[..1], SheetPicture::Map, 1, &labels, &options).unwrap();
        assert_eq!(one.size()[1], 2 * GAP + Letters::Small.width(&long[0]));
        assert!(draw_contact_sheet(&[], SheetPicture::Map, 1, &Labels::default(), &options).is_err());
    }
}
