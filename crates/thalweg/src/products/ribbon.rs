//! Water of rivers and lakes as triangles, in metres.

use crate::products::mesh::{Mesh, Up};
use crate::rivers::network::Network;

/// The surfaces of rivers (ribbons as wide as they are) and lakes (their cells), y up, to lie on the terrain's mesh
/// ([`Mesh::of`]). None where there is no water.
pub fn ribbons(network: &Network) -> Option<Mesh> {
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
    for run in &network.runs {
        let lengths = network.lengths(run);
        let first = mesh.positions.len() as u32;
        let last = run.vertices.len() - 1;
        for (at, vertex) in run.vertices.iter().enumerate() {
            let (a, b) = (run.vertices[at.saturating_sub(1)].place, run.vertices[(at + 1).min(last)].place);
            let [y, x] = [b[0] - a[0], b[1] - a[1]];
            let length = (y * y + x * x).sqrt().max(1e-9);
            let half = vertex.width / 2.0 / cell;
            for (side, u) in [(-1.0, 0.0), (1.0, 1.0)] {
                // To the left as it flows, then to the right: rows grow southward.
                let place = [vertex.place[0] + side * half * x / length, vertex.place[1] - side * half * y / length];
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
        for [di, dj] in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
            point(&mut mesh, [i + di, j + dj], level, [dj, di]);
        }
        mesh.indices.extend([0, 1, 2, 2, 1, 3].map(|n| first + n));
    }
    let fits = mesh.positions.len() < u32::MAX as usize;
    (fits && !mesh.indices.is_empty()).then_some(mesh)
}
