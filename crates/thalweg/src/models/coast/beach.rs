//! Where waves lay the sand that they have made.

use rayon::prelude::*;

use crate::field::Field;
use crate::height::{Height, UNITS};
use crate::models::coast::{Coast, Shore, turned};
use crate::terrain::Terrain;

/// How far around land is looked for, to tell bays from capes, in metres.
const AROUND: f64 = 300.0;

/// Lays up to `sand` units as beaches; the units laid. `cut` is what was cut where, in metres.
pub(super) fn lay(
    model: &Coast,
    terrain: &mut Terrain,
    shore: &Shore,
    exposure: &Field<f32>,
    cut: &Field<f32>,
    sand: i64,
) -> i64 {
    let Terrain { grid, ground, loose: Some(loose), nodata, .. } = terrain else { return 0 };
    let top = (f64::from(shore.level) + model.runup * UNITS).min(f64::from(Height::MAX.0));
    let fall = libm::tan(model.beach.to_radians());
    let radius = AROUND / grid.cell;
    let land = blurred(&Field::generate(grid.size, |i, j| if shore.sea[(i, j)] { 0.0 } else { 1.0 }), radius);
    // Of all that lies about, land or sea, what is within the world: the same for all rows, and for all columns.
    let all = grid.size.map(|n| means(vec![[1.0; LANES]; n], radius.round() as usize));
    // Room under the beach's profile, in metres: in bays and out of the waves.
    let room = Field::generate(grid.size, |i, j| {
        if nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
            return 0.0;
        }
        let away = f64::from(if shore.sea[(i, j)] { shore.to_land[(i, j)] } else { shore.to_sea[(i, j)] });
        let profile = if shore.sea[(i, j)] {
            top - fall * away * UNITS
        } else if fall * away <= model.runup {
            top
        } else {
            return 0.0;
        };
        let depth = (profile - f64::from(ground[(i, j)].0)) / UNITS;
        let under = (f64::from(shore.level) - f64::from(ground[(i, j)].0)) / UNITS;
        // Sand on ground below the base of waves slides off into the deep, unless the land holds it in.
        if depth <= 0.0 || under > model.wave_base {
            return 0.0;
        }
        let all = all[0][i][0] * all[1][j][0];
        let bay = smooth((f64::from(land[(i, j)]) / all - 0.4) / 0.25);
        (depth * bay * (1.0 - 0.8 * f64::from(exposure[(i, j)]).min(1.0))) as f32
    });
    let sum = |field: &Field<f32>| field.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>();
    let (made, places) = (sum(cut), sum(&room));
    if sand <= 0 || made <= 0.0 || places <= 0.0 {
        return 0;
    }
    let radius = model.drift / grid.cell;
    let [made_about, room_about] = [cut, &room].map(|field| blurred(field, radius));
    let share = (sand as f64 / UNITS / made) as f32;
    let mut due = room;
    due.par_rows_mut().for_each(|(i, row)| {
        for (j, due) in row.iter_mut().enumerate() {
            let (made, places) = (made_about[(i, j)] * share, room_about[(i, j)]);
            *due *= if places > made { made.max(0.0) / places } else { 1.0 };
        }
    });
    // Places on the rim of a drift may be promised more than there is.
    let scale = (sand as f64 / UNITS / sum(&due).max(1e-9)).min(1.0);
    let mut left = sand;
    for (k, due) in due.as_slice().iter().enumerate() {
        let height = &mut ground.as_mut_slice()[k];
        let amount = (f64::from(*due) * scale * UNITS) as i64;
        let amount = amount.min(left).min(i64::from(Height::MAX.0) - i64::from(height.0)).max(0) as i32;
        height.0 += amount;
        let loose = &mut loose.as_mut_slice()[k];
        loose.0 = loose.0.saturating_add(amount);
        left -= i64::from(amount);
    }
    sand - left
}

/// From 0 to 1 without a corner.
fn smooth(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Means over about `radius` cells: three passes of running means along rows and columns; beyond the rim nothing.
fn blurred(field: &Field<f32>, radius: f64) -> Field<f32> {
    // Three boxes of this half-width have a bell's deviation of about the radius.
    let half = radius.round() as usize;
    let mut field = field.clone();
    if half == 0 {
        return field;
    }
    for _ in 0..2 {
        let cols = field.cols();
        field.as_mut_slice().par_chunks_mut((LANES * cols).max(1)).for_each(|rows| {
            let mut lines = vec![[0.0; LANES]; cols];
            for (lane, row) in rows.chunks(cols).enumerate() {
                for (line, x) in lines.iter_mut().zip(row) {
                    line[lane] = f64::from(*x);
                }
            }
            let lines = means(lines, half);
            for (lane, row) in rows.chunks_mut(cols).enumerate() {
                for (x, line) in row.iter_mut().zip(&lines) {
                    *x = line[lane].max(0.0) as f32;
                }
            }
        });
        // Turned, so that the second time goes along columns and turns back.
        field = turned(&field);
    }
    field
}

/// Lines that are worked through side by side: a sum waits for the one before it, eight do not wait for one another.
const LANES: usize = 8;

/// Three passes of running means along lines; beyond their ends nothing.
fn means(mut lines: Vec<[f64; LANES]>, half: usize) -> Vec<[f64; LANES]> {
    let count = lines.len();
    let half = half.min(count);
    let width = (2 * half + 1) as f64;
    for _ in 0..3 {
        let mut total = [0.0; LANES];
        for line in &lines[..half] {
            (0..LANES).for_each(|k| total[k] += line[k]);
        }
        let mut next = vec![[0.0; LANES]; count];
        for (j, mean) in next.iter_mut().enumerate() {
            if let Some(line) = lines.get(j + half) {
                (0..LANES).for_each(|k| total[k] += line[k]);
            }
            (0..LANES).for_each(|k| mean[k] = total[k] / width);
            if j >= half {
                let line = &lines[j - half];
                (0..LANES).for_each(|k| total[k] -= line[k]);
            }
        }
        lines = next;
    }
    lines
}
