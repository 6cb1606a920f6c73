//! [`draw_measures`]: a page with the main curves of one terrain, or of several drawn over one another.

use std::f64::consts::TAU;

use crate::products::measure::chart::{Chart, ChartAxis, ChartFrame, FAINT, INK};
use crate::products::measure::spec::{AxisScale, Curve, Measures};
use crate::products::measure::svg::{Anchor, Svg, Type};

/// The colours of the terrains, in order.
const COLOURS: [&str; 4] = ["#1f6391", "#d1661c", "#3f8f4f", "#8a4f9e"];

const WIDTH: f64 = 1380.0;
const HEIGHT: f64 = 740.0;
const PANEL: [f64; 2] = [255.0, 225.0];
const HEAD: Type = Type { size: 13.0, anchor: Anchor::Start, colour: INK, bold: true };
const NOTE: Type = Type { size: 11.0, anchor: Anchor::End, colour: INK, bold: false };

/// A terrain's name and measures, and the colour in which it is drawn.
struct Series<'a> {
    name: &'a str,
    of: &'a Measures,
    colour: &'static str,
}

/// Draws the curves of up to four terrains, with their names in the legend, as SVG text of 1380 × 740 pixels. Further
/// terrains are left out.
///
/// Hypsometry, slopes, aspects and landforms are at the top; slope against area, Hack's law, Horton's laws and the
/// power spectrum at the bottom. A panel whose curve is missing contains a note.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::measure::{MeasureOptions, draw_measures, measure_terrain};
///
/// let heights: Vec<f32> = (0..16 * 16).map(|k| (k / 16) as f32).collect();
/// let terrain = Terrain::from_metres(Grid::new([16, 16], 10.0)?, &heights)?;
/// let measures = measure_terrain(&terrain, &MeasureOptions::default())?;
/// let svg = draw_measures(&[("plane", &measures)]);
/// assert!(svg.contains("plane") && svg.contains("16 × 16 cells of 10 m"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draw_measures(terrains: &[(&str, &Measures)]) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let named = terrains.iter().zip(COLOURS);
    let all: Vec<Series<'_>> = named.map(|((name, of), colour)| Series { name, of, colour }).collect();
    // Each terrain's name takes 310 pixels, so that four of them fit into the width.
    let mut x = 70.0;
    for series in &all {
        let [cols, rows] = series.of.cells;
        svg.circle([x, 31.0], 6.0, series.colour, 1.0);
        svg.text([x + 13.0, 36.0], Type { size: 16.0, ..HEAD }, series.name);
        let about = format!("{cols} × {rows} cells of {} m", series.of.cell_size_m);
        svg.text([x + 13.0, 53.0], Type { anchor: Anchor::Start, colour: FAINT, ..NOTE }, &about);
        x += 310.0;
    }
    let frame = |column: usize, row: usize| ChartFrame {
        at: [70.0 + 335.0 * column as f64, 100.0 + 325.0 * row as f64],
        size: PANEL,
    };
    draw_hypsometry(&mut svg, frame(0, 0), &all);
    draw_slopes(&mut svg, frame(1, 0), &all);
    draw_aspects(&mut svg, frame(2, 0), &all);
    draw_landforms(&mut svg, frame(3, 0), &all);
    draw_power_law(&mut svg, frame(0, 1), &all, "Slope and area", "slope_area", "θ", -1.0);
    draw_power_law(&mut svg, frame(1, 1), &all, "Hack's law", "hack", "h", 1.0);
    draw_horton_laws(&mut svg, frame(2, 1), &all);
    draw_power_law(&mut svg, frame(3, 1), &all, "Power spectrum", "power_spectrum", "β", -1.0);
    svg.finish()
}

fn draw_title(svg: &mut Svg, frame: ChartFrame, text: &str) {
    svg.text([frame.at[0], frame.at[1] - 10.0], HEAD, text);
}

/// Returns the curves of the terrains that have one, with their colours. Writes a note if none has one.
fn find_curves<'a>(svg: &mut Svg, frame: ChartFrame, all: &[Series<'a>], name: &str) -> Vec<(&'a Curve, &'static str)> {
    let found: Vec<_> = all.iter().filter_map(|s| Some((s.of.curve(name)?, s.colour))).collect();
    if found.is_empty() {
        let middle = [frame.at[0] + frame.size[0] / 2.0, frame.at[1] + frame.size[1] / 2.0];
        svg.text(middle, Type { anchor: Anchor::Middle, colour: FAINT, ..NOTE }, "not available for this terrain");
    }
    found
}

/// Writes a line of a panel's legend in the upper right corner.
fn draw_note(svg: &mut Svg, frame: ChartFrame, line: usize, colour: &'static str, text: &str) {
    let at = [frame.at[0] + frame.size[0] - 6.0, frame.at[1] + 15.0 + 15.0 * line as f64];
    svg.text(at, Type { colour, ..NOTE }, text);
}

fn draw_hypsometry(svg: &mut Svg, frame: ChartFrame, all: &[Series<'_>]) {
    draw_title(svg, frame, "Hypsometric curve");
    let curves = find_curves(svg, frame, all, "hypsometric_curve");
    let Some((first, _)) = curves.first() else { return };
    let chart = Chart::new(svg, frame, [ChartAxis::linear(0.0, 1.0), ChartAxis::linear(0.0, 1.0)], [first.x, first.y]);
    for (curve, colour) in &curves {
        let line: Vec<[f64; 2]> = curve.points.iter().map(|p| chart.place_point(*p)).collect();
        // A single curve is filled below; several filled areas would overlap.
        if curves.len() == 1 {
            svg.polygon(
                &[&line[..], &[chart.place_point([1.0, 0.0]), chart.place_point([0.0, 0.0])]].concat(),
                colour,
                0.12,
            );
        }
        svg.line(&line, colour, 2.0, "none");
    }
    for (n, series) in all.iter().enumerate() {
        if let Some(integral) = series.of.value("hypsometric_integral") {
            draw_note(svg, frame, n, series.colour, &format!("integral {integral:.2}"));
        }
    }
}

fn draw_slopes(svg: &mut Svg, frame: ChartFrame, all: &[Series<'_>]) {
    draw_title(svg, frame, "Slopes");
    let curves = find_curves(svg, frame, all, "slope_histogram");
    let Some((first, _)) = curves.first() else { return };
    let points = || curves.iter().flat_map(|(curve, _)| &curve.points);
    let most = points().map(|p| p[1]).fold(0.0, f64::max);
    // The axis ends a degree beyond the steepest class with more than 0.01 % of the land, and never below 5°.
    let steepest = points().filter(|p| p[1] > 0.01).map(|p| p[0] + 1.5).fold(5.0, f64::max);
    let chart = Chart::new(
        svg,
        frame,
        [ChartAxis::linear(0.0, steepest), ChartAxis::linear(0.0, 1.1 * most)],
        [first.x, first.y],
    );
    for (curve, colour) in &curves {
        let inside = curve.points.iter().filter(|p| p[0] < steepest);
        let steps = inside.flat_map(|[x, y]| [[x - 0.5, *y], [(x + 0.5).min(steepest), *y]]);
        let line: Vec<[f64; 2]> = steps.map(|p| chart.place_point(p)).collect();
        svg.polygon(
            &[&[chart.place_point([0.0, 0.0])], &line[..], &[chart.place_point([steepest, 0.0])]].concat(),
            colour,
            0.15,
        );
        svg.line(&line, colour, 1.5, "none");
    }
    for (n, series) in all.iter().enumerate() {
        if let Some(median) = series.of.value("slope_median") {
            draw_note(svg, frame, n, series.colour, &format!("median {median:.1}°"));
        }
    }
}

/// Draws a rose diagram of aspects: areas are proportional to shares of the land, and the dashed ring is a uniform
/// distribution.
fn draw_aspects(svg: &mut Svg, frame: ChartFrame, all: &[Series<'_>]) {
    draw_title(svg, frame, "Aspects");
    let curves = find_curves(svg, frame, all, "aspect_histogram");
    if curves.is_empty() {
        return;
    }
    let centre = [frame.at[0] + frame.size[0] / 2.0, frame.at[1] + frame.size[1] / 2.0 + 6.0];
    let radius = frame.size[1] / 2.0 - 12.0;
    let most = curves.iter().flat_map(|(curve, _)| &curve.points).map(|p| p[1]).fold(0.0, f64::max);
    // The area of a sector is proportional to the square of its radius.
    let reach = |share: f64| radius * (share / most).sqrt();
    let at = |degrees: f64, r: f64| {
        let (sin, cos) = libm::sincos(degrees / 360.0 * TAU);
        [centre[0] + r * sin, centre[1] - r * cos]
    };
    for k in 0..4 {
        svg.line(&[at(45.0 * f64::from(k), radius), at(45.0 * f64::from(k) + 180.0, radius)], "#e4e8eb", 1.0, "none");
    }
    for (curve, colour) in &curves {
        let outline = curve.points.iter().flat_map(|[x, y]| [at(x - 2.5, reach(*y)), at(x + 2.5, reach(*y))]);
        let outline: Vec<[f64; 2]> = outline.collect();
        svg.polygon(&outline, colour, 0.2);
        svg.line(&[&outline[..], &outline[..1]].concat(), colour, 1.3, "none");
        svg.ring(centre, reach(100.0 / curve.points.len() as f64), FAINT, "3 3");
    }
    for (k, name) in ["N", "E", "S", "W"].into_iter().enumerate() {
        let [x, y] = at(90.0 * k as f64, radius + 11.0);
        svg.text([x, y + 4.0], Type { anchor: Anchor::Middle, colour: FAINT, ..NOTE }, name);
    }
    for (n, series) in all.iter().enumerate() {
        if let Some(excess) = series.of.value("aspect_alignment") {
            draw_note(svg, frame, n, series.colour, &format!("multiples of 45° {excess:+.1} %"));
        }
    }
}

fn draw_landforms(svg: &mut Svg, frame: ChartFrame, all: &[Series<'_>]) {
    draw_title(svg, frame, "Landforms");
    let curves = find_curves(svg, frame, all, "landforms");
    let Some((first, _)) = curves.first() else { return };
    let most = curves.iter().flat_map(|(curve, _)| &curve.points).map(|p| p[1]).fold(0.0, f64::max);
    let names: Vec<&str> = first.x.split(", ").collect();
    let pitch = frame.size[1] / names.len() as f64;
    let thick = 0.8 * pitch / curves.len() as f64;
    for (k, name) in names.into_iter().enumerate() {
        let top = frame.at[1] + pitch * k as f64 + 0.1 * pitch;
        svg.text([frame.at[0] + 24.0, top + 0.4 * pitch + 4.0], NOTE, name);
        for (n, (curve, colour)) in curves.iter().enumerate() {
            let Some([_, share]) = curve.points.get(k) else { continue };
            let (y, width) = (top + thick * n as f64, (frame.size[0] - 70.0) * share / most);
            svg.rect([frame.at[0] + 32.0, y], [width, thick - 1.0], colour, 0.75);
            // Shares are written beside the bars of one or two terrains; the bars of more are thinner than the text.
            if curves.len() <= 2 {
                let set = Type { size: 9.5, anchor: Anchor::Start, colour: FAINT, bold: false };
                let text = if *share >= 9.95 { format!("{share:.0} %") } else { format!("{share:.1} %") };
                svg.text([frame.at[0] + 36.0 + width, y + 0.5 * thick + 3.0], set, &text);
            }
        }
    }
}

/// Draws a power law on logarithmic axes: the scatter plot, the points and the line. `sign` converts the exponent to
/// the quantity called `symbol`.
fn draw_power_law(
    svg: &mut Svg,
    frame: ChartFrame,
    all: &[Series<'_>],
    head: &str,
    name: &str,
    symbol: &str,
    sign: f64,
) {
    draw_title(svg, frame, head);
    let curves = find_curves(svg, frame, all, name);
    let Some((first, _)) = curves.first() else { return };
    let cloud = format!("{name}_cloud");
    let clouds: Vec<(&Curve, &str)> = all.iter().filter_map(|s| Some((s.of.curve(&cloud)?, s.colour))).collect();
    let points =
        || curves.iter().chain(&clouds).flat_map(|(curve, _)| &curve.points).filter(|p| p[0] > 0.0 && p[1] > 0.0);
    let axes = [0, 1].map(|c| ChartAxis::from_positive_values(points().map(|p| p[c])));
    let [Some(x), Some(y)] = axes else { return };
    // The legend needs room above the points, a line per terrain.
    let y = y.with_room(0.08 * curves.len() as f64);
    let chart = Chart::new(svg, frame, [x, y], [first.x, first.y]);
    for (curve, colour) in &clouds {
        for point in curve.points.iter().filter(|p| p[0] > 0.0 && p[1] > 0.0) {
            svg.circle(chart.place_point(*point), 1.3, colour, 0.22);
        }
    }
    for (n, (curve, colour)) in curves.iter().enumerate() {
        for point in curve.points.iter().filter(|p| p[0] > 0.0 && p[1] > 0.0) {
            svg.circle(chart.place_point(*point), 3.4, colour, 1.0);
        }
        if let Some(law) = curve.law {
            // A power law is a straight line on these axes, so two points are enough.
            let ends = law.over.map(|x| chart.place_point([x, law.factor * libm::pow(x, law.exponent)]));
            svg.line(&ends, colour, 1.6, "none");
            let text = format!("{symbol} = {:.2}   R² {:.2}", sign * law.exponent, law.r2);
            draw_note(svg, frame, n, colour, &text);
        }
    }
}

/// Draws the numbers, lengths and areas of streams against their order, with the ratios.
fn draw_horton_laws(svg: &mut Svg, frame: ChartFrame, all: &[Series<'_>]) {
    draw_title(svg, frame, "Horton's laws");
    let laws = [("horton_numbers", "R_B", "streams"), ("horton_areas", "R_A", "km²"), ("horton_lengths", "R_L", "km")];
    if find_curves(svg, frame, all, laws[0].0).is_empty() {
        return;
    }
    let curves = || all.iter().flat_map(|s| laws.iter().filter_map(|law| s.of.curve(law.0)));
    let points = || curves().flat_map(|curve| &curve.points);
    let highest = points().map(|p| p[0]).fold(1.0, f64::max);
    let Some(values) = ChartAxis::from_positive_values(points().map(|p| p[1])) else { return };
    let orders = ChartAxis { from: 0.6, to: highest + 0.4, scale: AxisScale::Linear };
    let values = values.with_room(0.12 * all.len() as f64);
    let chart = Chart::new(svg, frame, [orders, values], ["Strahler order", "streams, km², km"]);
    for (n, series) in all.iter().enumerate() {
        let mut ratios = Vec::new();
        for (k, (name, ratio, unit)) in laws.iter().enumerate() {
            let Some(curve) = series.of.curve(name) else { continue };
            let dash = ["none", "6 3", "2 3"][k];
            if let Some(law) = curve.law {
                // The law is exponential in the order, which is a straight line on these axes too.
                let at = |order: f64| chart.place_point([order, law.factor * libm::exp(law.exponent * order)]);
                svg.line(&law.over.map(at), series.colour, 1.5, dash);
                let factor = libm::exp(law.exponent);
                ratios.push(format!("{ratio} {:.1}", if k == 0 { 1.0 / factor } else { factor }));
            }
            for point in &curve.points {
                svg.circle(chart.place_point(*point), 3.4, series.colour, 1.0);
            }
            // Numbers decrease, so their label is above the first point; those of the others are at the last point.
            let (named, drop) =
                [(curve.points.first(), -8.0), (curve.points.last(), -8.0), (curve.points.last(), 16.0)][k];
            if let (0, Some(named)) = (n, named) {
                let [x, y] = chart.place_point(*named);
                let set = Type { anchor: Anchor::Start, colour: FAINT, ..NOTE };
                svg.text([x + 4.0, y + drop], set, unit);
            }
        }
        draw_note(svg, frame, n, series.colour, &ratios.join("   "));
    }
}
