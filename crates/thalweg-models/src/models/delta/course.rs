//! The centre line of a channel in metres: its length, its meanders, and how they migrate.

use thalweg_core::{Cell, Point};

/// Weight of the curvature at the place itself in the migration rate (Howard & Knutson 1984).
const LOCAL: f64 = -1.0;
/// Weight of the mean curvature upstream, in which the weights decay exponentially with distance.
const UPSTREAM: f64 = 2.5;

/// Wavelength of the fastest growing meanders, in multiples of the length over which the upstream influence decays.
/// With x = (2π·length/λ)², growth is proportional to x·(−1 + 2.5/(1 + x)), which is greatest at x = √2.5 − 1.
const MEMORY: f64 = 8.25;

/// Maximum number of substeps of a migration step.
const PARTS: f64 = 24.0;

/// Returns the length of a line.
pub fn line_length(line: &[Point]) -> f64 {
    line.windows(2).map(|pair| pair[0].distance_to(pair[1])).sum()
}

/// Returns the position of the point on the segment from `a` to `b` that is nearest to a place, as a share of the
/// segment, and the square of its distance.
pub fn nearest_on_segment(place: Point, a: Point, b: Point) -> (f64, f64) {
    let [place, a, b] = [place, a, b].map(|point| Cell::new(point.y, point.x));
    thalweg_rivers::project_onto_segment(place, a, b)
}

/// Returns the direction (southward, eastward; length 1) in which a line ends, over its last `over` metres. Returns
/// `None` for a line of zero length.
pub fn end_heading(line: &[Point], over: f64) -> Option<[f64; 2]> {
    let end = *line.last()?;
    let back = line.iter().rev().find(|place| place.distance_to(end) >= over).or(line.first())?;
    let far = back.distance_to(end);
    (far > 0.0).then(|| [(end.y - back.y) / far, (end.x - back.x) / far])
}

/// Lines, each with its bounding box.
pub struct Lines<'a>(Vec<([Point; 2], &'a [Point])>);

impl<'a> Lines<'a> {
    /// Computes the bounding boxes of lines.
    pub fn new(lines: impl Iterator<Item = &'a [Point]>) -> Self {
        let boxed = lines.map(|line| {
            let bound = |pick: fn(f64, f64) -> f64, from: f64| Point {
                x: line.iter().map(|place| place.x).fold(from, pick),
                y: line.iter().map(|place| place.y).fold(from, pick),
            };
            ([bound(f64::min, f64::INFINITY), bound(f64::max, f64::NEG_INFINITY)], line)
        });
        Self(boxed.collect())
    }

    /// Returns the distance of a place from the nearest line, at most `within`.
    pub fn distance_to_nearest(&self, place: Point, within: f64) -> f64 {
        let mut best = within * within;
        let off = |low: f64, at: f64, high: f64| (low - at).max(at - high).max(0.0);
        for ([low, high], line) in &self.0 {
            let (x, y) = (off(low.x, place.x, high.x), off(low.y, place.y, high.y));
            // A line whose box is farther away than the best distance so far cannot be nearer.
            if y * y + x * x < best {
                best = line.windows(2).map(|pair| nearest_on_segment(place, pair[0], pair[1]).1).fold(best, f64::min);
            }
        }
        best.sqrt()
    }
}

/// Smooths a line `times` times: each inner vertex becomes a weighted mean of itself and its neighbours. The ends
/// stay.
pub fn smooth_line(line: &mut [Point], times: usize) {
    let mean = |before: f64, here: f64, after: f64| 0.25 * (before + after) + 0.5 * here;
    for _ in 0..times {
        // `before` is the old place of the vertex behind: the line is smoothed in place as if all vertices moved at
        // once.
        let mut before = line.first().copied().unwrap_or_default();
        for k in 1..line.len().saturating_sub(1) {
            let (here, after) = (line[k], line[k + 1]);
            line[k] = Point { x: mean(before.x, here.x, after.x), y: mean(before.y, here.y, after.y) };
            before = here;
        }
    }
}

/// Returns the line with vertices about `spacing` apart: close ones are dropped, and wide gaps are filled on the curve
/// through the neighbouring vertices.
pub fn resample_line(line: &[Point], spacing: f64) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(line.len());
    for (k, place) in line.iter().enumerate() {
        let end = k + 1 == line.len();
        // The end always stays. A vertex too close before it gives way.
        if end && kept.len() > 1 && kept.last().is_some_and(|last| last.distance_to(*place) < 0.6 * spacing) {
            kept.pop();
        }
        if end || kept.last().is_none_or(|last| last.distance_to(*place) >= 0.6 * spacing) {
            kept.push(*place);
        }
    }
    let mut out = Vec::with_capacity(kept.len());
    for (k, place) in kept.iter().enumerate() {
        out.push(*place);
        let Some(next) = kept.get(k + 1) else { break };
        let gap = place.distance_to(*next);
        // Gaps up to 1.4 spacings stay, and vertices below 0.6 were dropped: in between no vertex is added or removed,
        // so that a line does not change at every call.
        if gap > 1.4 * spacing {
            let count = (gap / spacing).ceil().min(1e4) as usize;
            let before = if k > 0 { kept[k - 1] } else { *place };
            let after = kept.get(k + 2).unwrap_or(next);
            for n in 1..count {
                let t = n as f64 / count as f64;
                out.push(Point {
                    x: evaluate_catmull_rom([before.x, place.x, next.x, after.x], t),
                    y: evaluate_catmull_rom([before.y, place.y, next.y, after.y], t),
                });
            }
        }
    }
    out
}

/// Evaluates the Catmull–Rom cubic between the inner two of four values (Catmull & Rom 1974).
fn evaluate_catmull_rom([a, b, c, d]: [f64; 4], t: f64) -> f64 {
    b + 0.5 * t * ((c - a) + t * ((2.0 * a - 5.0 * b + 4.0 * c - d) + t * (3.0 * (b - c) + d - a)))
}

/// The parameters of meander migration.
pub struct MeanderMigration {
    /// Migration in metres of a bend whose radius equals the channel width.
    pub by: f64,
    /// Channel width in metres.
    pub width: f64,
    /// Wavelength in metres of the fastest growing meanders.
    pub wavelength: f64,
    /// Curvature that enters from upstream, as channel width over bend radius.
    pub entry: f64,
}

/// Migrates the inner vertices of a line as the banks of bends erode: by the local curvature and, more strongly, by
/// the curvature upstream.
///
/// `free` returns the share of the displacement that a vertex may make, given where it is and where it would move.
pub fn migrate_bends(line: &mut [Point], bends: &MeanderMigration, free: impl Fn(Point, Point) -> f64) {
    if line.len() < 3 || bends.by <= 0.0 {
        return;
    }
    let spacing = line_length(line) / (line.len() - 1) as f64;
    // Limits the step so that the smoothing effect of the local term does not overshoot.
    let once = 0.2 * spacing * spacing / bends.width.max(1e-9);
    let count = (bends.by / once.max(1e-9)).ceil().clamp(1.0, PARTS);
    let by = (bends.by / count).min(once);
    let memory = bends.wavelength / MEMORY;
    for _ in 0..count as usize {
        // The loop runs from upstream to downstream, since the influence of a bend moves down the channel.
        let mut upstream = bends.entry;
        let mut before = line[0];
        for k in 1..line.len() - 1 {
            let [here, after] = [line[k], line[k + 1]];
            let [a, b, c] = [before.distance_to(here), here.distance_to(after), before.distance_to(after)];
            // Curvature of the circle through three vertices, times the channel width.
            let cross = (here.y - before.y) * (after.x - here.x) - (here.x - before.x) * (after.y - here.y);
            let sharp = a * b * c;
            let bent = if sharp > 0.0 { (2.0 * cross / sharp * bends.width).clamp(-1.0, 1.0) } else { 0.0 };
            let kept = libm::exp(-a / memory.max(1e-9));
            let next = upstream * kept + bent * (1.0 - kept);
            // Uses the mean of the upstream influence without and with this vertex: otherwise zigzags between vertices
            // would grow.
            let moves = by * (LOCAL * bent + UPSTREAM * 0.5 * (upstream + next));
            upstream = next;
            // The vertex moves at a right angle to the line through its neighbours.
            if c > 0.0 {
                let to = Point {
                    x: here.x - moves * (after.y - before.y) / c,
                    y: here.y + moves * (after.x - before.x) / c,
                };
                let share = free(here, to);
                line[k] = Point { x: here.x + share * (to.x - here.x), y: here.y + share * (to.y - here.y) };
            }
            before = here;
        }
    }
}

/// Cuts off the bends whose necks are narrower than `neck`. Returns true if there were any.
pub fn cut_off_bends(line: &mut Vec<Point>, neck: f64) -> bool {
    let before = line.len();
    let mut k = 0;
    while k < line.len() {
        // The two vertices must be far apart along the line, so that a loop is cut and not the channel itself.
        let mut path_length = 0.0;
        let mut end = None;
        for n in k + 1..line.len() {
            path_length += line[n - 1].distance_to(line[n]);
            if path_length > 4.0 * neck && line[k].distance_to(line[n]) < neck {
                // The last such vertex is taken, which removes the longest loop at once.
                end = Some(n);
            }
        }
        if let Some(end) = end {
            line.drain(k + 1..end);
        }
        k += 1;
    }
    line.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an eastward line that swings by `height` to either side, once in `wave` metres.
    fn swinging(height: f64, wave: f64, count: usize) -> Vec<Point> {
        let x = |k: usize| k as f64 * 100.0;
        (0..count).map(|k| Point::new(x(k), height * libm::sin(std::f64::consts::TAU * x(k) / wave))).collect()
    }

    fn swing(line: &[Point]) -> f64 {
        line.iter().map(|place| place.y.abs()).fold(0.0, f64::max)
    }

    #[test]
    fn long_bends_grow_and_short_ones_fade() {
        let bends = MeanderMigration { by: 400.0, width: 150.0, wavelength: 2000.0, entry: 0.0 };
        for (wave, grows) in [(2000.0, true), (500.0, false)] {
            let mut line = swinging(20.0, wave, 200);
            migrate_bends(&mut line, &bends, |_, _| 1.0);
            assert_eq!(swing(&line) > 20.0, grows, "{wave}: {}", swing(&line));
        }
        let mut zigzag: Vec<Point> =
            (0..200).map(|k| Point::new(f64::from(k) * 100.0, f64::from(k % 2) * 10.0)).collect();
        migrate_bends(&mut zigzag, &bends, |_, _| 1.0);
        let middle = &zigzag[50..150];
        let swing = middle.windows(2).map(|pair| (pair[0].y - pair[1].y).abs()).fold(0.0, f64::max);
        assert!(swing < 5.0, "{swing}");
        let mut unchanged = swinging(20.0, 2000.0, 200);
        migrate_bends(&mut unchanged, &bends, |_, _| 0.0);
        assert_eq!(unchanged, swinging(20.0, 2000.0, 200));
    }

    #[test]
    fn bends_with_narrow_necks_are_cut_off() {
        let mut line = vec![Point::new(-500.0, 0.0), Point::new(-100.0, 0.0)];
        line.extend((0..=18).map(|k| {
            let angle = std::f64::consts::TAU * (f64::from(k) / 18.0 * 0.96 + 0.02);
            Point { x: 600.0 * libm::sin(-angle), y: 600.0 - 600.0 * libm::cos(angle) }
        }));
        line.extend([Point::new(100.0, 0.0), Point::new(500.0, 0.0)]);
        let before = line_length(&line);
        cut_off_bends(&mut line, 250.0);
        assert!(line_length(&line) < 1200.0 && before > 4000.0, "{before} {}", line_length(&line));
        assert_eq!((line[0], *line.last().unwrap()), (Point::new(-500.0, 0.0), Point::new(500.0, 0.0)));
        let mut straight = swinging(50.0, 3000.0, 50);
        cut_off_bends(&mut straight, 250.0);
        assert_eq!(straight.len(), 50);
    }

    #[test]
    fn lines_are_as_far_as_their_nearest_part() {
        let (a, b) = (swinging(50.0, 3000.0, 50), [Point::new(0.0, 900.0), Point::new(5000.0, 900.0)]);
        let lines = Lines::new([&a[..], &b[..]].into_iter());
        let brute = |place| a.iter().map(|point| point.distance_to(place)).fold(f64::INFINITY, f64::min);
        for k in 0..20 {
            let place = Point::new(f64::from(k) * 200.0, f64::from(k) * 60.0 - 200.0);
            // Vertices are 100 m apart, so the nearest vertex is up to 50 m farther away than the line.
            let exact = brute(place).min((place.y - 900.0).abs());
            let found = lines.distance_to_nearest(place, 400.0);
            assert!(found <= exact.min(400.0) && found > exact.min(400.0) - 51.0, "{found} {exact}");
        }
        assert_eq!(Lines::new(std::iter::empty()).distance_to_nearest(Point::default(), 7.0), 7.0);
    }

    #[test]
    fn points_lie_about_the_spacing_apart() {
        let east = |metres: &[f64]| metres.iter().map(|x| Point::new(*x, 0.0)).collect::<Vec<_>>();
        let line = resample_line(&east(&[0.0, 1.0, 2.0, 1000.0, 1001.0]), 100.0);
        assert_eq!((line[0], *line.last().unwrap()), (Point::default(), Point::new(1001.0, 0.0)));
        assert!(line.windows(2).all(|pair| (50.0..=150.0).contains(&pair[0].distance_to(pair[1]))), "{line:?}");
        assert_eq!(resample_line(&east(&[0.0, 1.0]), 100.0).len(), 2);
        assert!(resample_line(&[], 10.0).is_empty());
    }
}
