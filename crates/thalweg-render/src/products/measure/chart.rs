//! [`Chart`]: a framed panel with two axes.

use crate::products::measure::spec::AxisScale;
use crate::products::measure::svg::{Anchor, Svg, Type};

pub(super) const INK: &str = "#25303a";
pub(super) const FAINT: &str = "#76828c";
const RULE: &str = "#e4e8eb";

/// A rectangle on the sheet.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartFrame {
    pub at: [f64; 2],
    pub size: [f64; 2],
}

/// A panel that maps values to positions on the sheet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chart {
    frame: ChartFrame,
    x: ChartAxis,
    y: ChartAxis,
}

/// An axis from its lower to its upper end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartAxis {
    pub from: f64,
    pub to: f64,
    pub scale: AxisScale,
}

impl ChartAxis {
    pub fn linear(from: f64, to: f64) -> Self {
        Self { from, to, scale: AxisScale::Linear }
    }

    /// Returns a logarithmic axis that includes all positive values, with a small margin.
    pub fn from_positive_values(values: impl Iterator<Item = f64>) -> Option<Self> {
        let [low, high] = values.filter(|v| *v > 0.0).fold([f64::INFINITY, 0.0], |[l, h], v| [l.min(v), h.max(v)]);
        // The factor of 1.4 leaves a margin at either end, so that no point is on the frame.
        (high > 0.0).then(|| Self { from: low / 1.4, to: high * 1.4, scale: AxisScale::Logarithmic })
    }

    /// Extends a logarithmic axis at its upper end by a share of its length.
    pub fn with_room(self, share: f64) -> Self {
        Self { to: self.to * libm::pow(self.to / self.from, share), ..self }
    }

    /// Returns the position of a value on the axis, 0 to 1.
    fn relative_position(self, value: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => (value - self.from) / (self.to - self.from),
            AxisScale::Logarithmic => libm::log(value / self.from) / libm::log(self.to / self.from),
        }
    }

    /// Returns the values at which the axis has ticks.
    fn ticks(self) -> Vec<f64> {
        match self.scale {
            AxisScale::Linear => {
                // There are about four intervals, of 1, 2 or 5 times a power of ten.
                let rough = (self.to - self.from) / 4.0;
                let ten = libm::exp10(libm::log10(rough).floor());
                let step =
                    [1.0, 2.0, 5.0].iter().map(|k| k * ten).find(|step| *step >= rough * 0.8).unwrap_or(10.0 * ten);
                // The tolerance includes an end that rounding errors place just outside the axis.
                let (first, last) = ((self.from / step - 1e-9).ceil() as i64, (self.to / step + 1e-9).floor() as i64);
                (first..=last).map(|k| k as f64 * step).collect()
            }
            AxisScale::Logarithmic => {
                let (first, last) = (libm::log10(self.from).ceil() as i32, libm::log10(self.to).floor() as i32);
                // Long axes skip decades, so that there are at most five labels.
                let every = ((last - first) / 5).max(0) as usize + 1;
                let decades = (first..=last).step_by(every).map(|k| libm::exp10(f64::from(k)));
                if last > first {
                    return decades.collect();
                }
                // Within one decade: its ones, twos and fives.
                let parts = (first - 1..=last).flat_map(|k| [1.0, 2.0, 5.0].map(|d| d * libm::exp10(f64::from(k))));
                parts.filter(|v| (self.from..=self.to).contains(v)).collect()
            }
        }
    }

    fn format_tick(self, value: f64) -> String {
        if self.scale == AxisScale::Logarithmic && !(0.0005..20_000.0).contains(&value) {
            let digits = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];
            let power = libm::log10(value).round() as i32;
            let raised: String =
                power.unsigned_abs().to_string().bytes().map(|d| digits[usize::from(d - b'0') % 10]).collect();
            return format!("10{}{raised}", if power < 0 { "⁻" } else { "" });
        }
        // No more decimal places than the value has, apart from rounding errors.
        let near = |text: &String| text.parse::<f64>().is_ok_and(|v| (v - value).abs() <= 1e-9 * value.abs());
        (0..5).map(|places| format!("{value:.places$}")).find(near).unwrap_or(format!("{value:.4}"))
    }
}

impl Chart {
    /// Draws the frame, the ticks and the names of the axes.
    pub fn new(svg: &mut Svg, frame: ChartFrame, axes: [ChartAxis; 2], names: [&str; 2]) -> Self {
        let chart = Self { frame, x: axes[0], y: axes[1] };
        let ([left, top], [width, height]) = (frame.at, frame.size);
        let (right, bottom) = (left + width, top + height);
        let small = Type { size: 10.5, anchor: Anchor::Middle, colour: FAINT, bold: false };
        for x in chart.x.ticks() {
            let at = left + width * chart.x.relative_position(x);
            svg.line(&[[at, top], [at, bottom]], RULE, 1.0, "none");
            svg.text([at, bottom + 14.0], small, &chart.x.format_tick(x));
        }
        for y in chart.y.ticks() {
            let at = bottom - height * chart.y.relative_position(y);
            svg.line(&[[left, at], [right, at]], RULE, 1.0, "none");
            svg.text([left - 5.0, at + 3.5], Type { anchor: Anchor::End, ..small }, &chart.y.format_tick(y));
        }
        svg.line(&[[left, top], [left, bottom], [right, bottom]], FAINT, 1.0, "none");
        let name = Type { size: 11.0, anchor: Anchor::Middle, colour: INK, bold: false };
        svg.text([left + width / 2.0, bottom + 30.0], name, names[0]);
        svg.vertical_text([left - 42.0, top + height / 2.0], name, names[1]);
        chart
    }

    /// Returns the position of a point on the sheet, clamped to the frame.
    pub fn place_point(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        // Points outside the axes are drawn on the frame.
        let ([left, top], [width, height]) = (self.frame.at, self.frame.size);
        let [right, up] = [self.x.relative_position(x), self.y.relative_position(y)].map(|s| s.clamp(0.0, 1.0));
        [left + width * right, top + height * (1.0 - up)]
    }
}
