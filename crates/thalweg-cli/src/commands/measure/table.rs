//! The tables that `measure` prints if the output is not JSON.

use thalweg_render::products::agreement::Agreement;
use thalweg_render::products::measure::{Group, Measure, Measures};

/// Describes how far two builds of one world agree.
pub fn describe_agreement(same: &Agreement) -> String {
    let mut text = format!(
        "\nAs two builds of one world: correlation of heights {:.4}, of slopes {:.3}",
        same.heights, same.slopes
    );
    if let (Some(rivers), Some(shift)) = (same.rivers, same.shift) {
        text += &format!(
            "; {:.0} % of the ten largest rivers are within 2 coarse cells, and their mean distance is {shift:.0} m",
            100.0 * rivers
        );
    }
    text + ".\n"
}

/// Formats the measures of one terrain. The columns are title, value, unit and usual range.
pub fn format_measures(title: &str, found: &Measures, explain: bool) -> String {
    let [cols, rows] = found.cells;
    let mut text = format!("{title}: {cols} × {rows} cells of {} m\n", format_number(Some(found.cell_size_m)));
    for (heading, measures) in group_measures(found) {
        text += &format!("\n{heading:<42}{:>10}  {:<8}{:<15}\n", "", "", "usual");
        for (_, m) in measures {
            let line = format!(
                "  {:<40}{:>10}  {:<8}{:<15}{}",
                m.spec.title,
                format_number(m.value),
                unit_label(m.spec.unit),
                format_usual_range(m),
                m.missing.unwrap_or(deviation_mark(m))
            );
            text += &format!("{}\n", line.trim_end());
            if explain {
                text += &format!("      {} {}\n", m.spec.nature, m.spec.source);
            }
        }
    }
    text + "\n< means below the usual range in nature, > above it; --explain prints the usual values and sources.\n"
}

/// Formats the measures of both terrains, and the distances between them.
pub fn format_comparison(titles: [&str; 2], first: &Measures, second: &Measures) -> String {
    let mut text = String::new();
    for (title, found) in titles.iter().zip([first, second]) {
        let [cols, rows] = found.cells;
        text += &format!("{title}: {cols} × {rows} cells of {} m\n", format_number(Some(found.cell_size_m)));
    }
    let differences = first.differences(second);
    for (heading, measures) in group_measures(first) {
        text += &format!("\n{heading:<42}{:>10}   {:>10}    {:<8}{:<15}distance\n", "first", "second", "", "usual");
        for (n, m) in measures {
            let other = &second.measures[n];
            let line = format!(
                "  {:<40}{:>10} {:<1} {:>10} {:<1}  {:<8}{:<15}{:>8}",
                m.spec.title,
                format_number(m.value),
                deviation_mark(m),
                format_number(other.value),
                deviation_mark(other),
                unit_label(m.spec.unit),
                format_usual_range(m),
                differences[n].distance.map(|d| format!("{d:.2}")).unwrap_or_default()
            );
            text += &format!("{}\n", line.trim_end());
        }
    }
    text + "\n< means below the usual range in nature, > above it. Distances are in widths of the usual range or, if \
            it is not known, relative to the greater of both values.\n"
}

/// Returns the headings, and the measures under each with their indices.
fn group_measures(found: &Measures) -> impl Iterator<Item = (&'static str, Vec<(usize, &Measure)>)> {
    Group::ALL.into_iter().map(|group| {
        (group.title(), found.measures.iter().enumerate().filter(|(_, m)| m.spec.group == group).collect())
    })
}

/// Formats a value with three significant digits, or a dash.
fn format_number(value: Option<f64>) -> String {
    match value {
        None => "–".to_string(),
        Some(v) if v != 0.0 && v.abs() < 0.001 => format!("{v:.1e}"),
        Some(v) => {
            // Values from 100 need no decimal places for three digits, those from 10 one, those from 1 two, smaller
            // ones three.
            let places = [100.0, 10.0].iter().filter(|limit| v.abs() < **limit).count() + usize::from(v.abs() < 1.0);
            let text = format!("{v:.places$}");
            // Trailing zeros are removed after the decimal point only, so 100 stays 100.
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
        }
    }
}

fn unit_label(unit: &str) -> &str {
    if unit == "1" { "" } else { unit }
}

fn format_usual_range(m: &Measure) -> String {
    m.spec
        .usual
        .map(|[from, to]| format!("{} to {}", format_number(Some(from)), format_number(Some(to))))
        .unwrap_or_default()
}

fn deviation_mark(m: &Measure) -> &'static str {
    match (m.within, m.value, m.spec.usual) {
        (Some(false), Some(value), Some([from, _])) => {
            if value < from {
                "<"
            } else {
                ">"
            }
        }
        _ => "",
    }
}
