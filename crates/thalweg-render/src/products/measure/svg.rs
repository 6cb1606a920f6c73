//! [`Svg`]: an SVG drawing.

use std::fmt::Write as _;

/// A drawing under construction. Lengths are in pixels, from the top left.
pub(super) struct Svg(String);

/// The position of a text's anchor.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type {
    pub size: f64,
    pub anchor: Anchor,
    pub colour: &'static str,
    pub bold: bool,
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Self {
        let mut svg = Self(String::new());
        svg.push_line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">"
        ));
        svg.push_line(format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"));
        svg
    }

    fn push_line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    pub fn text(&mut self, [x, y]: [f64; 2], set: Type, text: &str) {
        let anchor = match set.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if set.bold { " font-weight=\"bold\"" } else { "" };
        let (size, colour, text) = (set.size, set.colour, escape_xml(text));
        self.push_line(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{colour}\"{weight}>{text}</text>"
        ));
    }

    /// Adds a text that reads upward, centred on the position.
    pub fn vertical_text(&mut self, [x, y]: [f64; 2], set: Type, text: &str) {
        let (size, colour, text) = (set.size, set.colour, escape_xml(text));
        self.push_line(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" font-size=\"{size}\" text-anchor=\"middle\" \
             fill=\"{colour}\">{text}</text>"
        ));
    }

    pub fn rect(&mut self, [x, y]: [f64; 2], [w, h]: [f64; 2], fill: &str, opacity: f64) {
        self.push_line(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>"
        ));
    }

    pub fn circle(&mut self, [x, y]: [f64; 2], radius: f64, fill: &str, opacity: f64) {
        self.push_line(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>"
        ));
    }

    pub fn ring(&mut self, [x, y]: [f64; 2], radius: f64, stroke: &str, dash: &str) {
        self.push_line(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"none\" stroke=\"{stroke}\" stroke-dasharray=\"{dash}\"/>"
        ));
    }

    /// Adds a line through the points.
    pub fn line(&mut self, points: &[[f64; 2]], stroke: &str, width: f64, dash: &str) {
        let points = format_points(points);
        self.push_line(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\" \
             stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>"
        ));
    }

    /// Adds a polygon with the given corners.
    pub fn polygon(&mut self, points: &[[f64; 2]], fill: &str, opacity: f64) {
        let points = format_points(points);
        self.push_line(format_args!("<polygon points=\"{points}\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>"));
    }

    pub fn finish(mut self) -> String {
        self.0 += "</svg>\n";
        self.0
    }
}

fn format_points(points: &[[f64; 2]]) -> String {
    let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

/// Returns the text escaped for XML; characters that XML does not allow are left out.
fn escape_xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
