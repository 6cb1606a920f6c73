//! Discharge, width, depth and kind of rivers along their lines.

use crate::course::{CourseEnd, NodeGeometry, RiverCourse};
use crate::lakes::PlannedLakes;
use crate::network::{Mouth, River, RiverKind, RunSource, Vertex};
use crate::tree::RiverTree;
use crate::untangle::CourseLine;
use crate::{Design, Site, cell_vertices, delta, shore};
use thalweg_core::{Cell, Height};

/// The largest change of a river's width per metre of its length.
pub const MAX_WIDTH_CHANGE: f64 = 0.2;

/// The width of a source, as a share of the width that its discharge would give.
const HEAD: f64 = 0.3;

/// Builds runs from lines, complete except for levels. `order` lists each run after those that flow into it.
pub(super) fn build_rivers(
    site: &Site<'_>,
    design: &Design,
    (tree, shape, lakes): (&RiverTree, &NodeGeometry, &PlannedLakes),
    (courses, lines, floor): (&[RiverCourse], Vec<CourseLine>, &[f64]),
    order: &[u32],
) -> Vec<River> {
    let blank = |course: &RiverCourse, (place, along): (Cell<f64>, f64)| {
        let node = course.nodes[(along as usize).min(course.nodes.len() - 1)] as usize;
        Vertex {
            place,
            flow: 0,
            area: 0,
            width: 0.0,
            depth: 0.0,
            slope: shape.slope[node],
            floor: floor[node],
            kind: RiverKind::default(),
            surface: Height::ZERO,
            bed: Height::ZERO,
            pool: [Height::ZERO; 2],
        }
    };
    let mut places: Vec<Vec<(Cell<f64>, f64)>> = lines.iter().map(|line| line.places.clone()).collect();
    // Junctions become vertices first, so that every tributary ends at a vertex of its river.
    insert_junctions(&lines, &mut places);
    shore::trim_to_shore(courses, &lines, &lakes.cells, &mut places);
    let mut rivers: Vec<River> = Vec::with_capacity(lines.len());
    for (course, (line, places)) in courses.iter().zip(lines.iter().zip(&places)) {
        let line_places: Vec<Cell<f64>> = places.iter().map(|(place, _)| *place).collect();
        let [path, aside] = cell_vertices::split_path_cells(&line_places, site.land.grid.size, |k| {
            line.own.binary_search(&(k as u32)).is_ok()
        });
        let mouth = match course.end {
            CourseEnd::Lake(lake) => Mouth::Lake(lake),
            CourseEnd::Sea => Mouth::Sea,
            CourseEnd::Edge => Mouth::Edge,
            CourseEnd::Outlet => Mouth::Outlet,
            CourseEnd::Joins(_) => Mouth::Outlet, // replaced below, once all lines are known
        };
        let vertices = places.iter().map(|place| blank(course, *place)).collect();
        rivers.push(River {
            number: course.stem,
            source: course.source,
            mouth,
            vertices,
            path,
            aside,
            low: Vec::new(),
            base: None,
        });
    }
    for (k, line) in lines.iter().enumerate() {
        if let Some((river, along)) = line.joins {
            // The last vertex is excluded, because a tributary must not join at the end of its river.
            let vertex = places[river as usize].partition_point(|(_, t)| *t < along);
            let vertex = vertex.min(places[river as usize].len() - 2) as u32;
            rivers[k].mouth = Mouth::Joins { river, vertex };
        }
    }
    // Arms take a part of the discharge, and sizes follow from the discharge that remains, so this order matters.
    accumulate_discharge(tree, courses, &places, order, &mut rivers);
    delta::branch_rivers(site, design, lakes, &mut rivers);
    for river in &mut rivers {
        compute_channel_sizes(site, design, river);
    }
    set_base_levels(site, lakes, &mut rivers);
    rivers
}

/// Inserts a point into each line where another line joins it.
fn insert_junctions(lines: &[CourseLine], places: &mut [Vec<(Cell<f64>, f64)>]) {
    for line in lines {
        let (Some((river, along)), Some((place, _))) = (line.joins, line.places.last()) else { continue };
        let places = &mut places[river as usize];
        let at = places.partition_point(|(_, t)| *t < along);
        if places.get(at).is_none_or(|(_, t)| *t != along) {
            places.insert(at, (*place, along));
        }
    }
}

/// Accumulates discharge and drainage area along runs.
fn accumulate_discharge(
    tree: &RiverTree,
    courses: &[RiverCourse],
    places: &[Vec<(Cell<f64>, f64)>],
    order: &[u32],
    rivers: &mut [River],
) {
    for k in order.iter().map(|k| *k as usize) {
        let (course, places) = (&courses[k], &places[k]);
        let vertices = &mut rivers[k].vertices;
        let last = vertices.len() - 1;
        for (at, node) in course.nodes.iter().enumerate() {
            let node = *node as usize;
            // All water that reaches a lake leaves it at its outlet, so a run out of a lake starts with the
            // accumulated flow.
            let (flow, area) = match course.source {
                RunSource::Lake(_) if at == 0 => (tree.flow[node], tree.area[node]),
                _ => (tree.inflow[node], tree.ground[node]),
            };
            // Water of a node enters at the first vertex that is not upstream of it.
            let vertex = &mut vertices[places.partition_point(|(_, t)| *t < at as f64).min(last)];
            vertex.flow = vertex.flow.saturating_add(flow);
            vertex.area = vertex.area.saturating_add(area);
        }
        // Sums of whole parts are exact, so discharges add up at every confluence.
        for at in 1..=last {
            vertices[at].flow = vertices[at].flow.saturating_add(vertices[at - 1].flow);
            vertices[at].area = vertices[at].area.saturating_add(vertices[at - 1].area);
        }
        let end = vertices[last];
        if let Mouth::Joins { river, vertex } = rivers[k].mouth {
            let joined = &mut rivers[river as usize].vertices[vertex as usize];
            joined.flow = joined.flow.saturating_add(end.flow);
            joined.area = joined.area.saturating_add(end.area);
        }
    }
}

/// Classifies a river by its slope, its discharge in m³/s, and the half-width of the valley floor and the width of
/// the river in metres.
pub(super) fn classify_river(slope: f64, flow: f64, floor: f64, width: f64) -> RiverKind {
    // Leopold and Wolman's threshold of the slope; the lower limit of the discharge keeps the power finite.
    let braids = 0.0125 * libm::pow(flow.max(1e-9), -0.44);
    match slope {
        slope if slope >= 0.065 => RiverKind::Torrent,
        slope if slope >= 0.02 => RiverKind::StepPool,
        slope if slope > braids && floor > 2.0 * width => RiverKind::Braided,
        _ => RiverKind::Meandering,
    }
}

/// Computes widths, depths and kinds along a run.
fn compute_channel_sizes(site: &Site<'_>, design: &Design, river: &mut River) {
    let cell = site.land.grid.cell;
    let widest = site.land.grid.extent().shorter_side() / 10.0;
    let apart = |a: &Vertex, b: &Vertex| {
        let [dy, dx] = [0, 1].map(|k| b.place[k] - a.place[k]);
        (dy * dy + dx * dx).sqrt() * cell
    };
    let count = river.vertices.len();
    for vertex in &mut river.vertices {
        let flow = vertex.discharge();
        let own = (design.width * flow.sqrt()).min(widest);
        vertex.kind = classify_river(vertex.slope, flow, vertex.floor, own);
        // A braided river is 1.8 times as wide and 0.7 times as deep as a river in one channel.
        let [broad, shallow] = if vertex.kind == RiverKind::Braided { [1.8, 0.7] } else { [1.0, 1.0] };
        vertex.width = (own * broad).min(widest);
        vertex.depth = (design.depth * libm::pow(flow, 0.4) * shallow).min(1000.0);
    }
    // Gently sloping rivers widen to a funnel towards the sea.
    if river.mouth == Mouth::Sea {
        let mut far = 0.0;
        let own = river.vertices[count - 1].width;
        for at in (0..count).rev() {
            if at + 1 < count {
                far += apart(&river.vertices[at], &river.vertices[at + 1]);
            }
            // The funnel vanishes at a slope of 0.01 and at twelve widths from the sea.
            let gentle = (1.0 - river.vertices[at].slope / 0.01).clamp(0.0, 1.0);
            let near = (1.0 - far / (12.0 * own).max(1e-9)).max(0.0);
            river.vertices[at].width =
                (river.vertices[at].width * (1.0 + design.estuary * gentle * near * near)).min(widest);
        }
    }
    if river.source == RunSource::Head {
        // The limit on the change of width below lets the river widen gradually from its source.
        river.vertices[0].width *= HEAD;
    }
    // Limit the change of width per metre, first downstream, then upstream.
    for at in 1..count {
        let max_width =
            river.vertices[at - 1].width + MAX_WIDTH_CHANGE * apart(&river.vertices[at - 1], &river.vertices[at]);
        river.vertices[at].width = river.vertices[at].width.min(max_width);
    }
    for at in (1..count).rev() {
        let max_width =
            river.vertices[at].width + MAX_WIDTH_CHANGE * apart(&river.vertices[at - 1], &river.vertices[at]);
        river.vertices[at - 1].width = river.vertices[at - 1].width.min(max_width);
    }
}

/// Sets the final base level of each run: the lake or the sea that its water ends in. A run comes after the one that
/// it joins.
fn set_base_levels(site: &Site<'_>, lakes: &PlannedLakes, rivers: &mut [River]) {
    for k in 0..rivers.len() {
        rivers[k].base = match rivers[k].mouth {
            Mouth::Lake(lake) => Some(lakes.lakes[lake as usize].level),
            Mouth::Sea => site.land.grid.sea_level,
            Mouth::Joins { river, .. } => rivers[river as usize].base,
            Mouth::Edge | Mouth::Outlet => None,
        };
    }
}
