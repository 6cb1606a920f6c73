//! Whether the map's frame shows: real land is cut by it anywhere, made land may fall towards it.

use crate::products::measure::ground::Ground;
use crate::products::measure::spec::{Found, Measures, Spec, measures, need_land};
use crate::products::slope::gradient;

pub(super) const SPECS: [Spec; 2] = measures! {
    /// Half: a frame laid over real land meets as many slopes that fall outward as inward.
    rim_outward: "outermost 2 % of the map that falls outward", Rim, unit "%", usual 35.0 to 65.0,
        source "real models, docs/measure.md";
    /// Near 0: real land does not rise from its frame, but for a mountain that stands alone in it.
    rim_rise: "rise from the rim inward, over relief", Rim, unit "1", usual -0.04 to 0.04,
        source "real models, docs/measure.md";
};

/// The rim's share of the shorter side.
const RIM: f64 = 0.02;

/// How far inside the rim its rise is taken, over the shorter side.
const INSIDE: f64 = 13.0 / 512.0;

/// Fewest cells of a side that has a rim and an inside.
const LEAST: usize = 50;

pub(super) fn measure(ground: &Ground<'_>, all: &mut Measures) {
    all.take(&SPECS, [enough(ground).and_then(|()| outward(ground)), enough(ground).and_then(|()| rise(ground))]);
}

fn enough(ground: &Ground<'_>) -> Result<(), &'static str> {
    need_land(ground)?;
    let [rows, cols] = ground.terrain.grid.size;
    if rows.min(cols) < LEAST { Err("a side is shorter than 50 cells") } else { Ok(()) }
}

/// Cells of land by their distance from the frame, in cells, and the sides that they are nearest to as steps outward: north
/// and east are up.
fn near(ground: &Ground<'_>, [i, j]: [usize; 2]) -> (usize, [f64; 2]) {
    let [rows, cols] = ground.terrain.grid.size;
    let sides = [(i, [0.0, 1.0]), (cols - 1 - j, [1.0, 0.0]), (rows - 1 - i, [0.0, -1.0]), (j, [-1.0, 0.0])];
    let distance = sides.iter().map(|(distance, _)| *distance).min().unwrap_or(0);
    let out =
        sides.iter().filter(|(d, _)| *d == distance).fold([0.0; 2], |sum, (_, out)| [sum[0] + out[0], sum[1] + out[1]]);
    (distance, out)
}

/// The share of the rim's sloping land, in %, that falls outward.
fn outward(ground: &Ground<'_>) -> Found {
    let [rows, cols] = ground.terrain.grid.size;
    let width = (RIM * rows.min(cols) as f64).round() as usize;
    let (mut out, mut count) = (0u64, 0u64);
    for [i, j] in ground.cells() {
        let (distance, [east, north]) = near(ground, [i, j]);
        if distance >= width {
            continue;
        }
        let [by_east, by_north] = gradient(ground.terrain, i, j);
        let rise = east * by_east + north * by_north;
        count += u64::from(rise != 0.0);
        out += u64::from(rise < 0.0);
    }
    if count == 0 { Err("the rim is level") } else { Ok(100.0 * out as f64 / count as f64) }
}

/// Mean height of the ring of cells inside the rim less that of the outermost, over the relief.
fn rise(ground: &Ground<'_>) -> Found {
    let [rows, cols] = ground.terrain.grid.size;
    let inside = (INSIDE * rows.min(cols) as f64).round() as usize;
    let (mut sums, mut counts) = ([0.0; 2], [0u64; 2]);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for [i, j] in ground.cells() {
        let height = ground.terrain.ground[(i, j)].metres();
        (low, high) = (low.min(height), high.max(height));
        let (distance, _) = near(ground, [i, j]);
        if let Some(ring) = [0, inside].iter().position(|at| *at == distance) {
            sums[ring] += height;
            counts[ring] += 1;
        }
    }
    if high <= low {
        return Err("all land is as high");
    }
    if counts.contains(&0) {
        return Err("there is no land at the rim, or none inside it");
    }
    Ok((sums[1] / counts[1] as f64 - sums[0] / counts[0] as f64) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::terrain;

    #[test]
    fn a_cone_falls_outward_a_bowl_inward_and_a_ramp_half_and_half() {
        let of = |sign: f64| {
            let land =
                terrain([100, 100], 10.0, |x, y| 500.0 + sign * ((x - 495.0).powi(2) + (y - 495.0).powi(2)).sqrt());
            let ground = Ground::of(&land);
            (outward(&ground).unwrap(), rise(&ground).unwrap())
        };
        let (cone, bowl) = (of(-1.0), of(1.0));
        assert_eq!((cone.0, bowl.0), (100.0, 0.0));
        // Three cells inward, by 27 m or more up, of relief 700 m.
        assert!(cone.1 > 0.03 && (cone.1 + bowl.1).abs() < 1e-9, "{cone:?} {bowl:?}");
        let ramp = terrain([100, 100], 10.0, |x, y| 0.1 * x + 0.03 * y);
        let ground = Ground::of(&ramp);
        assert!((outward(&ground).unwrap() - 50.0).abs() < 2.0 && rise(&ground).unwrap().abs() < 1e-9);
    }
}
