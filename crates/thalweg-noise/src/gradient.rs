//! Gradient noise on a square lattice, after Perlin (1985, "An image synthesizer", doi:10.1145/325334.325247) with the
//! quintic fade of Perlin (2002, "Improving noise", doi:10.1145/566570.566636).
//!
//! Every lattice point has a keyed random gradient, uniform in a square. With independent components of equal
//! variance the covariance of the noise is that of gradients on a circle, and two random numbers are cheaper than a
//! sine. The noise is 0 at lattice points, has a standard deviation of 1/3 over the plane, and never exceeds
//! ±[`BOUND`].

/// The standard deviation of the noise over the plane.
pub const DEVIATION: f32 = 1.0 / 3.0;

/// The upper bound of the noise's absolute value, for noise of standard deviation [`DEVIATION`].
pub const BOUND: f32 = 1.893;

/// The mean absolute value of the noise, determined by sampling.
pub const MEAN_ABS: f32 = 0.2646;

/// The factor from unscaled noise to noise of standard deviation 1/3: 2⁻³¹ (gradients are stored as integers) over
/// three times the standard deviation of unscaled noise. The variance of that is 1/3 · 8AB with A = ∫(1−s)²dt =
/// 181/462 and B = ∫(1−s)²t²dt = 0.029 692 5…, where s is the fade.
const SCALE: f32 = (1.0 / 2_147_483_648.0) / (3.0 * 0.176_127_13);

/// The amount that a step along each axis adds to the number of a lattice point before hashing (two odd constants of
/// xxHash).
const AXES: [u32; 2] = [0x9e37_79b1, 0x85eb_ca77];

/// Returns the noise at offset (x, y), each in 0..1, from lattice point (i, j) in the direction of increasing i and
/// j.
#[inline(always)]
pub fn evaluate_noise(i: i32, j: i32, x: f32, y: f32, seed: u32) -> f32 {
    noise_within(hash_corners(i, j, seed), x, y)
}

/// Returns the noise at offset (x, y), each in 0..1, in the square whose corners have the given random numbers, in
/// the order of [`hash_corners`].
#[inline(always)]
pub(crate) fn noise_within([a, b, c, d]: [u32; 4], x: f32, y: f32) -> f32 {
    let (u, v) = (fade(x), fade(y));
    let near = lerp(dot_gradient(a, x, y), dot_gradient(b, x - 1.0, y), u);
    let far = lerp(dot_gradient(c, x, y - 1.0), dot_gradient(d, x - 1.0, y - 1.0), u);
    SCALE * lerp(near, far, v)
}

/// Returns the value of [`evaluate_noise()`] and its derivatives along x and y per lattice unit, in this order.
#[inline(always)]
pub fn noise_and_slope(i: i32, j: i32, x: f32, y: f32, seed: u32) -> [f32; 3] {
    noise_and_slope_within(hash_corners(i, j, seed), x, y)
}

/// Like [`noise_within`], with the derivatives.
#[inline(always)]
pub(crate) fn noise_and_slope_within([a, b, c, d]: [u32; 4], x: f32, y: f32) -> [f32; 3] {
    let (u, v) = (fade(x), fade(y));
    let [na, nb] = [dot_gradient(a, x, y), dot_gradient(b, x - 1.0, y)];
    let [nc, nd] = [dot_gradient(c, x, y - 1.0), dot_gradient(d, x - 1.0, y - 1.0)];
    let [near, far] = [lerp(na, nb, u), lerp(nc, nd, u)];
    // By the product rule a derivative has two parts: the interpolated gradient, and the slope of the fade times the
    // difference of the corners' values.
    let mean = |axis: usize| {
        let [ga, gb, gc, gd] = [a, b, c, d].map(|hash| decode_gradient(hash)[axis]);
        lerp(lerp(ga, gb, u), lerp(gc, gd, u), v)
    };
    let along_x = mean(0) + fade_slope(x) * lerp(nb - na, nd - nc, v);
    let along_y = mean(1) + fade_slope(y) * (far - near);
    [SCALE * lerp(near, far, v), SCALE * along_x, SCALE * along_y]
}

/// Returns the random numbers of the four surrounding lattice points: (i, j), (i+1, j), (i, j+1), (i+1, j+1).
#[inline(always)]
pub fn hash_corners(i: i32, j: i32, seed: u32) -> [u32; 4] {
    // A step along an axis adds a constant, so the other three corners cost an addition each. All sums wrap at 2³², as
    // lattice coordinates do.
    let first = (i as u32).wrapping_mul(AXES[0]).wrapping_add((j as u32).wrapping_mul(AXES[1])).wrapping_add(seed);
    let [east, south] = AXES.map(|axis| first.wrapping_add(axis));
    [first, east, south, east.wrapping_add(AXES[1])].map(mix_bits)
}

/// Mixes the 32 bits of `h` so that each input bit affects every output bit (Wellons 2018, "Prospecting for hash
/// functions", lowbias32).
#[inline(always)]
pub fn mix_bits(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

/// Returns the random number of lattice point (i, j).
#[inline(always)]
pub fn hash_lattice_point(i: i32, j: i32, seed: u32) -> u32 {
    hash_corners(i, j, seed)[0]
}

/// Returns the gradient, each component in ±2³¹, that a random number encodes: the whole number for x, its lower 16
/// bits for y.
#[inline(always)]
fn decode_gradient(hash: u32) -> [f32; 2] {
    [hash as i32 as f32, (hash << 16) as i32 as f32]
}

#[inline(always)]
fn dot_gradient(hash: u32, x: f32, y: f32) -> f32 {
    let [gx, gy] = decode_gradient(hash);
    gx * x + gy * y
}

#[inline(always)]
fn fade(t: f32) -> f32 {
    // 6t⁵ − 15t⁴ + 10t³ has zero first and second derivatives at 0 and 1, so the noise has no creases at lattice lines.
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[inline(always)]
fn fade_slope(t: f32) -> f32 {
    // This is the derivative of `fade`: 30t²(t − 1)².
    30.0 * t * t * (t * (t - 2.0) + 1.0)
}

#[inline(always)]
fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + t * (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns samples of many squares at offsets that fill the squares evenly.
    fn samples() -> impl Iterator<Item = (i32, i32, f32, f32)> {
        (0..400).flat_map(|a| {
            (0..400).map(move |b| {
                let [x, y] = [a, b].map(|n| n as f32 * 0.271_828);
                (x.floor() as i32, y.floor() as i32, x.fract(), y.fract())
            })
        })
    }

    #[test]
    fn it_is_zero_at_lattice_points_and_continuous_across_lines() {
        // A step of 10⁻⁴ across a line changes the noise by at most 2·10⁻⁴ · the greatest slope, which is under 8.
        for n in 0..200 {
            let t = n as f32 / 200.0;
            assert_eq!(evaluate_noise(n, 3 - n, 0.0, 0.0, 5), 0.0);
            let [west, east] = [evaluate_noise(n, 7, 0.9999, t, 5), evaluate_noise(n + 1, 7, 0.0001, t, 5)];
            let [north, south] = [evaluate_noise(7, n, t, 0.9999, 5), evaluate_noise(7, n + 1, t, 0.0001, 5)];
            assert!((west - east).abs() < 1.6e-3 && (north - south).abs() < 1.6e-3);
            assert!((evaluate_noise(n, 7, 1.0, t, 5) - evaluate_noise(n + 1, 7, 0.0, t, 5)).abs() < 1e-6);
        }
    }

    #[test]
    fn moments_and_bound_are_as_stated() {
        // 160 000 samples over some 11 800 squares, each about one independent value: the standard deviation is known
        // to 1/√(2 · 11 800) = 0.7 % of itself, the mean absolute value to 0.7 %, the mean to 0.003. The limits are
        // four of those.
        let n = 160_000.0;
        let (mut sum, mut distance, mut square) = (0.0, 0.0, 0.0);
        for (i, j, x, y) in samples() {
            let value = f64::from(evaluate_noise(i, j, x, y, 77));
            assert!(value.abs() <= f64::from(BOUND));
            sum += value / n;
            distance += value.abs() / n;
            square += value * value / n;
        }
        assert!(sum.abs() < 0.012, "{sum}");
        assert!((distance / f64::from(MEAN_ABS) - 1.0).abs() < 0.03, "{distance}");
        assert!((square.sqrt() / f64::from(DEVIATION) - 1.0).abs() < 0.03, "{}", square.sqrt());
    }

    #[test]
    fn slopes_are_those_of_finite_differences() {
        // Central differences over h = 0.01 have an error of h²/6 of the third derivative (under 300) and an f32
        // rounding error of 2·10⁻⁷/h.
        let h = 0.01;
        for (i, j, x, y) in samples().step_by(97) {
            let (x, y) = (0.02 + 0.96 * x, 0.02 + 0.96 * y);
            let [value, along_x, along_y] = noise_and_slope(i, j, x, y, 3);
            assert_eq!(value, evaluate_noise(i, j, x, y, 3));
            let dx = (evaluate_noise(i, j, x + h, y, 3) - evaluate_noise(i, j, x - h, y, 3)) / (2.0 * h);
            let dy = (evaluate_noise(i, j, x, y + h, 3) - evaluate_noise(i, j, x, y - h, 3)) / (2.0 * h);
            assert!((along_x - dx).abs() < 5e-3 && (along_y - dy).abs() < 5e-3, "{i} {j} {x} {y}");
        }
    }

    #[test]
    fn known_values_do_not_move() {
        // The hash as computed by an independent program: a change of it changes every world.
        assert_eq!([0, 1, 0x1234_5678].map(mix_bits), [0, 0x6889_90c0, 0xf5e7_1c96]);
    }
}
