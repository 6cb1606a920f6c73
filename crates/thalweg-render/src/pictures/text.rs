//! Short labels on pictures, in Noto Sans Mono.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use crate::pictures::colour::{Rgb, mix_colours, to_linear, to_srgb};
use crate::pictures::picture::Picture;
use thalweg_core::Cell;

/// The line height of a label's letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Letters {
    /// 16 pixels.
    #[default]
    Small,
    /// 24 pixels.
    Large,
}

impl Letters {
    fn raster_height(self) -> RasterHeight {
        match self {
            Self::Small => RasterHeight::Size16,
            Self::Large => RasterHeight::Size24,
        }
    }

    /// Returns the height of a line in pixels.
    pub fn height(self) -> usize {
        self.raster_height().val()
    }

    /// Returns the width of `text` in pixels.
    pub fn width(self, text: &str) -> usize {
        text.chars().count() * get_raster_width(FontWeight::Regular, self.raster_height())
    }
}

/// Draws `text` with its upper left corner at the pixel `at`; parts that do not fit are cut off. Letters that the
/// font lacks (those outside Latin-1) are drawn as `?`.
pub fn draw_text(picture: &mut Picture, at: impl Into<Cell>, text: &str, letters: Letters, colour: Rgb) {
    let at = at.into();
    let [rows, cols] = picture.size();
    let ink = to_linear(colour);
    let mut left = at[1];
    for letter in text.chars() {
        let raster = |c| get_raster(c, FontWeight::Regular, letters.raster_height());
        let Some(drawn) = raster(letter).or_else(|| raster('?')) else { continue };
        for (i, line) in drawn.rows().enumerate().take_while(|(i, _)| at[0] + i < rows) {
            for (j, cover) in line.iter().enumerate().take_while(|(j, _)| left + j < cols) {
                let pixel = &mut picture.rgb[(at[0] + i, left + j)];
                *pixel = to_srgb(mix_colours(to_linear(*pixel), ink, f32::from(*cover) / 255.0));
            }
        }
        left += drawn.width();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_leave_ink_inside_their_box_only() {
        let mut picture = Picture::new([40, 120], [255; 3]);
        draw_text(&mut picture, [10, 20], "Aé→", Letters::Small, [0; 3]);
        let (height, width) = (Letters::Small.height(), Letters::Small.width("Aé→"));
        let mut ink = 0;
        for i in 0..40 {
            for j in 0..120 {
                let inside = (10..10 + height).contains(&i) && (20..20 + width).contains(&j);
                let dark = picture.rgb[(i, j)] != [255; 3];
                assert!(inside || !dark, "{i}, {j}");
                ink += usize::from(dark);
            }
        }
        assert!(ink > 40);
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        let mut picture = Picture::new([3, 3], [255; 3]);
        draw_text(&mut picture, [0, 0], "wide and high", Letters::Large, [0; 3]);
        draw_text(&mut picture, [50, 50], "outside", Letters::Small, [0; 3]);
        assert_eq!(picture.size(), [3, 3]);
    }
}
