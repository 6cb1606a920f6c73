//! Water of rivers and lakes as triangles, in metres.

use crate::products::mesh::{Mesh, Up};
use crate::rivers::network::Network;
use crate::rivers::{Carved, ribbon};

/// The surfaces of rivers (ribbons as wide as they are, where the cells beside hold their water) and lakes (their cells), y up, to lie on the terrain's mesh
/// ([`Mesh::of`]). None where there is no water.
pub fn ribbons(network: &Network, carved: &Carved) -> Option<Mesh> {
    let mut mesh =
        Mesh { positions: vec![], normals: vec![], tangents: vec![], uvs: vec![], indices: vec![], up: Up::Y };
    let [rows, cols] = network.size;
    let (middle, cell) = ([rows as f64 / 2.0, cols as f64 / 2.0], network.cell);
    let point = |mesh: &mut Mesh, place: [f64; 2], height: f64, uv: [f64; 2]| {
        let [south, east] = [0, 1].map(|k| (place[k] - middle[k]) * cell);
        mesh.positions.push([east as f32, height as f32, south as f32]);
        mesh.normals.push([0.0, 1.0, 0.0]);
        mesh.tangents.push([1.0, 0.0, 0.0, 1.0]);
        mesh.uvs.push(uv.map(|x| x as f32));
    };
    let edges = ribbon::edges(network, &carved.river, &carved.ground);
    for (run, edges) in network.rivers.iter().zip(edges) {
        let lengths = network.lengths(run);
        let first = mesh.positions.len() as u32;
        let last = run.vertices.len() - 1;
        for (at, vertex) in run.vertices.iter().enumerate() {
            for (place, u) in edges[at].into_iter().zip([0.0, 1.0]) {
                point(&mut mesh, place, vertex.surface.metres(), [u, lengths[at] / vertex.width.max(1.0)]);
            }
        }
        for at in 0..last as u32 {
            let [left, right] = [first + 2 * at, first + 2 * at + 1];
            mesh.indices.extend([left, right, left + 2, left + 2, right, right + 2]);
        }
    }
    for (k, lake) in network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0) {
        let (i, j) = ((k / cols) as f64, (k % cols) as f64);
        let level = network.lakes[*lake as usize - 1].level.metres();
        let first = mesh.positions.len() as u32;
        for [di, dj] in [[0, 0], [1, 0], [0, 1], [1, 1]] {
            // At the shore a sheet ends a little inside the lake: beyond is ground that is higher.
            let (mut inward, mut whole) = ([0.0f64; 2], true);
            for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
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
                // Cells that touch in a corner alone.
                inward = [di, dj].map(|d| 1.0 - 2.0 * d as f64);
            }
            let [y, x] = inward.map(|side| if side == 0.0 { 0.0 } else { side.signum() * ribbon::MARGIN });
            point(&mut mesh, [i + di as f64 + y, j + dj as f64 + x], level, [dj as f64, di as f64]);
        }
        mesh.indices.extend([0, 1, 2, 2, 1, 3].map(|n| first + n));
    }
    let fits = mesh.positions.len() < u32::MAX as usize;
    (fits && !mesh.indices.is_empty()).then_some(mesh)
}
