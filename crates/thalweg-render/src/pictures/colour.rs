//! Colour arithmetic: sRGB, linear light and OKLab.

use std::sync::LazyLock;

/// A colour as stored in files: red, green and blue of sRGB, 8 bits per channel.
///
/// # Examples
/// Half of the light of white has the code 188, because sRGB codes are not proportional to light.
///
/// ```
/// use thalweg_render::pictures::colour::{Rgb, to_linear, mix_colours, to_srgb};
///
/// let (black, white): (Rgb, Rgb) = ([0; 3], [255; 3]);
/// assert_eq!(to_srgb(mix_colours(to_linear(black), to_linear(white), 0.5)), [188; 3]);
/// ```
pub type Rgb = [u8; 3];

/// A colour in linear light, in which light adds up: red, green and blue; 0 is black, 1 white.
pub type Linear = [f32; 3];

/// The number of entries of the table from linear light to sRGB. The curve is steepest at black, with 12.92 · 255
/// codes per unit of light, so a step of the table is 0.2 of a code there and every code survives the conversion to
/// linear light and back.
const STEPS: usize = 16_384;

static DECODE: LazyLock<[f32; 256]> = LazyLock::new(|| {
    // The curve is linear near black and a power above it, as IEC 61966-2-1 defines.
    std::array::from_fn(|code| {
        let s = code as f64 / 255.0;
        (if s <= 0.040_45 { s / 12.92 } else { libm::pow((s + 0.055) / 1.055, 2.4) }) as f32
    })
});

static ENCODE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // The linear part near black replaces the power, whose slope is infinite at 0.
    let encode = |k: usize| {
        let x = k as f64 / (STEPS - 1) as f64;
        let s = if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * libm::pow(x, 1.0 / 2.4) - 0.055 };
        (s * 255.0 + 0.5) as u8
    };
    (0..STEPS).map(encode).collect()
});

/// Converts sRGB to linear light (IEC 61966-2-1).
pub fn to_linear(rgb: Rgb) -> Linear {
    rgb.map(|code| DECODE[usize::from(code)])
}

/// Converts linear light to sRGB; values below 0 become black, those above 1 white.
pub fn to_srgb(colour: Linear) -> Rgb {
    let table = ENCODE.as_slice();
    // The cast saturates, so NaN and negative values give black.
    let code = |x: f32| table[((x * (STEPS - 1) as f32 + 0.5) as usize).min(STEPS - 1)];
    [code(colour[0]), code(colour[1]), code(colour[2])]
}

/// Mixes `a` and `b` in linear light; `t`, 0 to 1, is the share of `b`.
pub fn mix_colours(a: Linear, b: Linear, t: f32) -> Linear {
    std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t)
}

/// Multiplies a colour by a coloured light, channel by channel; a light of 1 leaves it unchanged.
pub fn apply_light(colour: Linear, light: Linear) -> Linear {
    std::array::from_fn(|c| colour[c] * light[c])
}

/// Converts to OKLab, in which equal steps look about equal (Ottosson 2020): lightness 0 to 1, green (negative) to
/// red, blue (negative) to yellow.
pub fn to_oklab(colour: Linear) -> [f64; 3] {
    // The first matrix converts linear sRGB to the responses of three kinds of cones, whose cube roots the second
    // converts to lightness and two colour axes.
    let [r, g, b] = colour.map(f64::from);
    let l = libm::cbrt(0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b);
    let m = libm::cbrt(0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b);
    let s = libm::cbrt(0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b);
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

/// Converts from OKLab ([`to_oklab`]); colours that no screen can show remain outside 0 to 1.
pub fn from_oklab([lightness, a, b]: [f64; 3]) -> Linear {
    // These are the inverses of the two matrices in `to_oklab`, in the opposite order.
    let cube = |x: f64| x * x * x;
    let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    [
        (4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s) as f32,
        (-1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s) as f32,
        (-0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s) as f32,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_linear_light_and_oklab() {
        for code in 0..=255 {
            let rgb = [code, 255 - code, code / 2];
            assert_eq!(to_srgb(to_linear(rgb)), rgb);
            let back = from_oklab(to_oklab(to_linear(rgb)));
            // The published matrices are inverses of each other to about 1e-7.
            for c in 0..3 {
                assert!((back[c] - to_linear(rgb)[c]).abs() < 1e-5, "{rgb:?}");
            }
        }
    }

    #[test]
    fn middle_grey_is_a_fifth_of_the_light() {
        // sRGB 118 reflects 18.1 % of white by the standard's formula.
        assert!((to_linear([118; 3])[0] - 0.1812).abs() < 1e-4);
        assert_eq!(to_srgb([f32::NAN, -1.0, 9.0]), [0, 0, 255]);
    }
}
