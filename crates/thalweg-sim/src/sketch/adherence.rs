//! Measures how far the terrain follows a sketch.

use crate::sketch::line::{Polyline, is_inside};
use crate::sketch::{Sketch, SketchFeature, SketchKind};
use thalweg_core::{Cell, Field, Grid, Height, Point, Terrain};
use thalweg_flow::{FlowGraph, Land};

/// Distance from a river's line within which its water may run, in cells of the first level.
const RIVER_TOLERANCE_CELLS: f64 = 2.0;

/// Distance from a crest at which the adjacent terrain is compared, in cells of the first level.
const CREST_COMPARISON_CELLS: f64 = 3.0;

/// The largest drainage area of water on a crest, in areas of cells of the first level.
const ON_CREST: f64 = 4.0;

/// How far the terrain follows a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureAdherence {
    /// The kind of the feature.
    pub kind: SketchKind,
    /// The share of the feature that the terrain follows, 0 to 1. For a river: the share of its line on land that has
    /// the water from its head within two of the first level's cells. For a ridge: the share of its line that is a
    /// divide, which is higher than the terrain three such cells to either side, and has no water with a drainage
    /// area of more than four of them. For a coast: the share of the cells farther than two such cells from it that
    /// are land or sea as they should be. For a height: 1 less the deviation of the elevation, as a share of the
    /// relief.
    pub share: f64,
}

impl Sketch {
    /// Returns how far a terrain follows each feature, in their order; `coarse` is the width of the first level's
    /// cells in metres.
    pub fn measure_adherence(&self, terrain: &Terrain, coarse: f64) -> Vec<FeatureAdherence> {
        self.measure_adherence_within(terrain, coarse, RIVER_TOLERANCE_CELLS)
            .into_iter()
            .map(|(kept, _)| kept)
            .collect()
    }

    /// Returns the same for another distance that rivers may run from their lines, in those cells; for ridges also
    /// whether the line is a divide at every half cell.
    pub(super) fn measure_adherence_within(
        &self,
        terrain: &Terrain,
        coarse: f64,
        follows: f64,
    ) -> Vec<(FeatureAdherence, Vec<bool>)> {
        let coarse = coarse.max(terrain.grid.cell);
        let drains = |feature: &SketchFeature| matches!(feature.kind, SketchKind::River | SketchKind::Ridge);
        let drainage = self.features.iter().any(drains).then(|| FlowGraph::new(&Land::from_terrain(terrain)));
        let relief = measure_relief(terrain).max(1e-3);
        let coasts = Coasts::from_sketch(self, &terrain.grid, coarse, f64::INFINITY);
        let part_kept = |feature: &SketchFeature, parts: &[bool]| match (feature.kind, &drainage) {
            (SketchKind::River, Some(drainage)) => measure_followed_share(feature, terrain, drainage, follows * coarse),
            (SketchKind::Ridge, _) => divide_counts(parts.iter().filter(|part| **part).count(), parts.len()),
            (SketchKind::Coast, _) => coasts
                .as_ref()
                .map_or(1.0, |coasts| coasts.measure_correct_share(terrain, RIVER_TOLERANCE_CELLS * coarse)),
            (SketchKind::Height, _) => {
                let ground = cell_at(&terrain.grid, feature.points[0]).map(|at| terrain.ground[at].metres());
                let off = ground.map_or(0.0, |ground| (ground - feature.heights.first().unwrap_or(&ground)).abs());
                (1.0 - off / relief).max(0.0)
            }
            _ => 1.0,
        };
        let kept = |feature: &SketchFeature| {
            let parts = match &drainage {
                Some(drainage) if feature.kind == SketchKind::Ridge => find_divides(feature, terrain, drainage, coarse),
                _ => Vec::new(),
            };
            (FeatureAdherence { kind: feature.kind, share: part_kept(feature, &parts) }, parts)
        };
        self.features.iter().map(kept).collect()
    }
}

/// Returns the highest less the lowest elevation, in metres.
pub fn measure_relief(terrain: &Terrain) -> f64 {
    terrain.elevation_range().map_or(0.0, |[low, high]| high.metres() - low.metres())
}

/// Returns the cell that contains a place; on the map's far edges, the last one.
pub fn cell_at(grid: &Grid, place: Point) -> Option<Cell> {
    let along = |axis: usize| {
        let first = if axis == 0 { grid.row_center_y(0) } else { grid.col_center_x(0) };
        let at = ((place.axis_coordinate(axis) - first) / grid.cell + 0.5).floor();
        (at >= 0.0 && at <= grid.size[axis] as f64).then(|| (at as usize).min(grid.size[axis] - 1))
    };
    Some(Cell::new(along(0)?, along(1)?))
}

fn is_sea(terrain: &Terrain, at: Cell) -> bool {
    terrain.grid.sea_level.is_some_and(|sea| terrain.ground[at] < sea)
}

/// Returns the share of a line that has the water from its head within `reach`.
fn measure_followed_share(feature: &SketchFeature, terrain: &Terrain, drainage: &FlowGraph, reach: f64) -> f64 {
    let grid = &terrain.grid;
    let line = Polyline::from_feature(feature);
    let near = line.cells(grid, reach);
    let stops = line.sample_distances(reach / 4.0);
    let step = line.length() / (stops.len() - 1) as f64;
    let (catchments, cols) = (drainage.upstream_cells(), grid.cols());
    // The head is the cell near the first point with the largest drainage area.
    let Some(head) = cell_at(grid, feature.points[0]) else { return 1.0 };
    let far = (0.75 * reach / grid.cell).ceil() as usize;
    let around = |at: usize, count: usize| at.saturating_sub(far)..(at + far + 1).min(count);
    let square = |i: usize, j: usize| i.abs_diff(head.row).pow(2) + j.abs_diff(head.col).pow(2);
    let cells = around(head.row, grid.rows()).flat_map(|i| around(head.col, cols).map(move |j| (i, j)));
    let near_head = cells.filter(|(i, j)| square(*i, *j) as f64 * grid.cell_area() <= (0.75 * reach) * (0.75 * reach));
    // Among cells with equal drainage areas, the one nearest to the first point counts.
    let first = near_head.max_by_key(|(i, j)| (catchments[(*i, *j)], std::cmp::Reverse(square(*i, *j))));
    let mut met = vec![false; stops.len()];
    let mut here = first.map(|(i, j)| i * cols + j);
    while let Some(k) = here {
        let at = Cell::new(k / cols, k % cols);
        if let Some([d, distance]) = near.distances_at(at.row, at.col) {
            // A circle of radius `reach` about the cell covers this length of the line on both sides of the nearest
            // point.
            let along = (reach * reach - d * d).max(0.0).sqrt();
            let [from, to] =
                [(distance - along) / step, (distance + along) / step].map(|s| s.clamp(0.0, (stops.len() - 1) as f64));
            met[from.ceil() as usize..=to.floor().max(from.ceil()) as usize].fill(true);
        }
        // The path ends in the sea, where a river cannot be followed.
        here = if is_sea(terrain, at) { None } else { drainage.next(k) };
    }
    // In the sea there is no river to be compared.
    let on_land = |distance: &f64| {
        cell_at(grid, line.point_at(*distance))
            .is_some_and(|at| !is_sea(terrain, at) && !terrain.is_nodata(at.row, at.col))
    };
    let land: Vec<bool> =
        stops.iter().zip(&met).filter(|(distance, _)| on_land(distance)).map(|(_, met)| *met).collect();
    divide_counts(land.iter().filter(|met| **met).count(), land.len())
}

fn divide_counts(some: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { some as f64 / all as f64 }
}

/// Returns, for every half of a coarse cell, whether a line is a divide there.
fn find_divides(feature: &SketchFeature, terrain: &Terrain, drainage: &FlowGraph, coarse: f64) -> Vec<bool> {
    let grid = &terrain.grid;
    let line = Polyline::from_feature(feature);
    let stops = line.sample_distances(coarse / 2.0);
    let step = line.length() / (stops.len() - 1) as f64;
    let near = line.cells(grid, 0.75 * coarse);
    let mut tops = vec![Height::MIN; stops.len()];
    let mut waters = vec![0u32; stops.len()];
    let bound = |metres: f64, axis: usize, pad: f64| {
        let first = if axis == 0 { grid.row_center_y(0) } else { grid.col_center_x(0) };
        (((metres - first) / grid.cell + pad).max(0.0) as usize).min(grid.size[axis])
    };
    let span = |axis: usize| {
        let along = feature.points.iter().map(|p| p.axis_coordinate(axis));
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        bound(low - coarse, axis, 0.0)..bound(high + coarse, axis, 2.0)
    };
    for i in span(0) {
        for j in span(1) {
            let Some([d, distance]) = near.distances_at(i, j) else { continue };
            let stop = ((distance / step).round() as usize).min(stops.len() - 1);
            tops[stop] = tops[stop].max(terrain.ground[(i, j)]);
            if d <= 0.5 * coarse {
                waters[stop] = waters[stop].max(drainage.upstream_cells()[(i, j)]);
            }
        }
    }
    let most = ON_CREST * coarse * coarse / grid.cell_area();
    let is_divide = |(k, distance): (usize, &f64)| {
        // The crest may be on either side of the place, so the highest cell of three neighbouring places counts.
        let top = tops[k.saturating_sub(1)..(k + 2).min(tops.len())].iter().max().copied().unwrap_or(Height::MIN);
        let (Point { x, y }, [along, down]) = (line.point_at(*distance), line.heading(*distance));
        let lower = |side: f64| {
            let at = Point::new(
                x + side * CREST_COMPARISON_CELLS * coarse * down,
                y - side * CREST_COMPARISON_CELLS * coarse * along,
            );
            cell_at(grid, at).is_none_or(|at| terrain.is_nodata(at.row, at.col) || terrain.ground[at] < top)
        };
        f64::from(waters[k]) <= most && lower(1.0) && lower(-1.0)
    };
    stops.iter().enumerate().map(is_divide).collect()
}

/// Distances from the coast, on cells of the first level: above 0 on land.
pub struct Coasts {
    far: Field<f64>,
    first: Point,
    width: f64,
}

impl Coasts {
    /// Computes them for a sketch that has coasts; for open coasts, up to `reach`.
    pub fn from_sketch(sketch: &Sketch, grid: &Grid, coarse: f64, reach: f64) -> Option<Self> {
        let coasts: Vec<_> = sketch.features.iter().filter(|f| f.kind == SketchKind::Coast).collect();
        if coasts.is_empty() {
            return None;
        }
        let lines: Vec<(Polyline, bool)> =
            coasts.iter().map(|coast| (Polyline::from_feature(coast), coast.is_ring())).collect();
        let block = (coarse / grid.cell).round().max(1.0) as usize;
        let width = grid.cell * block as f64;
        // The centre of the first coarse cell is this far from that of the first fine one.
        let shift = (width - grid.cell) / 2.0;
        let first = Point::new(grid.col_center_x(0) + shift, grid.row_center_y(0) + shift);
        let far = Field::from_fn(grid.size.map(|n| n.div_ceil(block)), |a, b| {
            let place = Point::new(first.x + b as f64 * width, first.y + a as f64 * width);
            let near = |(line, _): &(Polyline, bool)| line.project_point(place).0;
            let d = lines.iter().map(near).fold(f64::INFINITY, f64::min);
            let rings = || coasts.iter().filter(|coast| coast.is_ring());
            // With closed coasts land is inside any of them; open ones have land to their left.
            let land = if rings().next().is_some() {
                rings().any(|ring| is_inside(&ring.points, place))
            } else {
                let nearest = lines.iter().min_by(|a, b| near(a).total_cmp(&near(b)));
                nearest.is_none_or(|(line, _)| line.side(place) > 0.0)
            };
            let d = if rings().next().is_some() { d } else { d.min(reach) };
            if land { d } else { -d }
        });
        Some(Self { far, first, width })
    }

    /// Returns the distance of a place from the coast in metres.
    pub fn distance_at(&self, place: Point) -> f64 {
        value_at(&self.far, self.first, self.width, place)
    }

    /// Returns the share of the cells farther than `beyond` from the coast that are on the right side.
    fn measure_correct_share(&self, terrain: &Terrain, beyond: f64) -> f64 {
        let grid = &terrain.grid;
        let Some(sea) = grid.sea_level else { return 1.0 };
        let counts = Field::from_fn([grid.rows(), 1], |i, _| {
            (0..grid.cols()).fold((0usize, 0usize), |(right, all), j| {
                let far = self.distance_at(Point::new(grid.col_center_x(j), grid.row_center_y(i)));
                if far.abs() < beyond || terrain.is_nodata(i, j) {
                    return (right, all);
                }
                (right + usize::from((terrain.ground[(i, j)] < sea) == (far < 0.0)), all + 1)
            })
        });
        // Rows are counted in parallel and added up in order.
        let sum = counts.as_slice().iter().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        divide_counts(sum.0, sum.1)
    }
}

/// Returns the value of a field at a place, bilinear between the centres of cells `width` metres wide; beyond the
/// field it is that of the edge. `first` is the centre of the first cell.
pub fn value_at(field: &Field<f64>, first: Point, width: f64, place: Point) -> f64 {
    let [rows, cols] = field.size();
    let along = |axis: usize| {
        ((place.axis_coordinate(axis) - first.axis_coordinate(axis)) / width)
            .clamp(0.0, field.size()[axis] as f64 - 1.0)
    };
    let at = [along(0), along(1)];
    let [v, u] = at.map(|at| at - at.floor());
    let [i, j] = at.map(|at| at as usize);
    let [south, east] = [(i + 1).min(rows - 1), (j + 1).min(cols - 1)];
    let [nw, ne, sw, se] = [(i, j), (i, east), (south, j), (south, east)].map(|at| field[at]);
    (nw * (1.0 - u) + ne * u) * (1.0 - v) + (sw * (1.0 - u) + se * u) * v
}
