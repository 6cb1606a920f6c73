//! River and lake surfaces as triangles, in metres.

use crate::products::mesh::{Mesh, Up};
use thalweg_core::Cell;
use thalweg_rivers::network::Network;
use thalweg_rivers::{Carved, ribbon as edge};

/// The two edges of a river's water surface at a point of its centre line.
pub(super) struct Bank {
    /// The left and right edge, facing downstream: row and column in cells.
    pub sides: [Cell<f64>; 2],
    /// The water level in the mesh's metres.
    pub level: f64,
    /// The distance downstream in metres.
    pub along: f64,
}

/// Adds a river's water surface to a mesh: u runs from its left edge to its right, v in metres downstream.
pub(super) fn add_ribbon(mesh: &mut Mesh, banks: &[Bank], [rows, cols]: [usize; 2], cell: f64) {
    let first = mesh.positions.len() as u32;
    for bank in banks {
        let [south, east] = [0, 1].map(|k| (bank.sides[1][k] - bank.sides[0][k]) * cell);
        let length = (south * south + east * east).sqrt();
        // A bank of no width has no direction; any unit vector serves.
        let across = if length > 0.0 { [east / length, -south / length, 0.0] } else { [1.0, 0.0, 0.0] };
        let [x, y, z] = mesh.to_mesh_axes(across);
        for (side, u) in bank.sides.into_iter().zip([0.0, 1.0]) {
            let [south, east] = [(side[0] - rows as f64 / 2.0) * cell, (side[1] - cols as f64 / 2.0) * cell];
            mesh.positions.push(mesh.to_mesh_axes([east, -south, bank.level]));
            mesh.normals.push(mesh.to_mesh_axes([0.0, 0.0, 1.0]));
            // v increases downstream, as a picture's rows do downward, so the bitangent points upstream.
            mesh.tangents.push([x, y, z, -1.0]);
            mesh.uvs.push([u, bank.along as f32]);
        }
    }
    for at in 0..(banks.len() as u32).saturating_sub(1) {
        let [left, right] = [first + 2 * at, first + 2 * at + 1];
        // Both triangles are counter-clockwise as seen from above.
        mesh.indices.extend([left, right, left + 2, left + 2, right, right + 2]);
    }
}

/// Returns the surfaces of rivers (ribbons of their full width, where adjacent cells contain their water) and lakes
/// (their cells) in metres, y up, to be placed on the terrain's mesh ([`Mesh::from_terrain`]). Texture coordinates of a
/// river are u across, 0 left to 1 right, and v in metres downstream; those of a lake are u eastward and v southward, 0
/// to 1 in each cell. Returns `None` if there is no water, or if there are more vertices than 32-bit indices can
/// address.
pub fn build_water_surfaces(network: &Network, carved: &Carved) -> Option<Mesh> {
    let mut mesh = Mesh::empty(Up::Y);
    let [rows, cols] = network.size;
    let (middle, cell) = ([rows as f64 / 2.0, cols as f64 / 2.0], network.cell);
    let edges = edge::compute_water_edges(network, &carved.river, &carved.ground);
    for (run, edges) in network.rivers.iter().zip(edges) {
        let lengths = network.vertex_distances(run);
        let of = |at: usize| Bank { sides: edges[at], level: run.vertices[at].surface.metres(), along: lengths[at] };
        let banks: Vec<Bank> = (0..run.vertices.len()).map(of).collect();
        add_ribbon(&mut mesh, &banks, network.size, cell);
    }
    let point = |mesh: &mut Mesh, place: Cell<f64>, height: f64, uv: [f64; 2]| {
        let [south, east] = [0, 1].map(|k| (place[k] - middle[k]) * cell);
        mesh.positions.push([east as f32, height as f32, south as f32]);
        mesh.normals.push([0.0, 1.0, 0.0]);
        mesh.tangents.push([1.0, 0.0, 0.0, 1.0]);
        mesh.uvs.push(uv.map(|x| x as f32));
    };
    for (k, lake) in network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0) {
        let (i, j) = ((k / cols) as f64, (k % cols) as f64);
        let level = network.lakes[*lake as usize - 1].level.metres();
        let first = mesh.positions.len() as u32;
        for [di, dj] in [[0, 0], [1, 0], [0, 1], [1, 1]] {
            // At the shore the surface ends slightly inside the lake, because the ground beyond is higher.
            let (mut inward, mut whole) = ([0.0f64; 2], true);
            for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                // The four cells around a corner decide where the surface ends; subtraction fails in front of the first
                // row or column.
                let cell = ((k / cols + di + r).checked_sub(1), (k % cols + dj + c).checked_sub(1));
                if let (Some(i), Some(j)) = cell
                    && i < rows
                    && j < cols
                    && network.lake[(i, j)] == *lake
                {
                    inward = [inward[0] + 2.0 * r as f64 - 1.0, inward[1] + 2.0 * c as f64 - 1.0];
                } else {
                    whole = false;
                }
            }
            if inward == [0.0; 2] && !whole {
                // Cells that touch only at a corner.
                inward = [di, dj].map(|d| 1.0 - 2.0 * d as f64);
            }
            // The corner moves towards the lake's own cells, by a small margin in each direction.
            let [y, x] = inward.map(|side| if side == 0.0 { 0.0 } else { side.signum() * edge::MARGIN });
            point(&mut mesh, Cell::new(i + di as f64 + y, j + dj as f64 + x), level, [dj as f64, di as f64]);
        }
        mesh.indices.extend([0, 1, 2, 2, 1, 3].map(|n| first + n));
    }
    // The largest 32-bit index is reserved.
    let fits = mesh.positions.len() < u32::MAX as usize;
    (fits && !mesh.indices.is_empty()).then_some(mesh)
}
