//! The turtle: converts a word into three-sided stems, fronds, blades and balls of leaves.

use super::PlantShape;
use super::grammars::Grammar;
use thalweg_core::base::rng::RandomKey;

type Vector = [f32; 3];

/// The turtle's position and orientation, and the length and width of the next piece.
#[derive(Clone, Copy)]
struct Turtle {
    at: Vector,
    /// Ahead, left and up: orthogonal unit vectors.
    ahead: Vector,
    left: Vector,
    up: Vector,
    length: f32,
    width: f32,
}

/// The number of sides of a stem.
const SIDES: usize = 3;

/// The light inside a crown relative to that outside.
const INSIDE: f32 = 0.45;

/// Interprets a word as a plant.
pub(super) fn draw_word(word: &str, grammar: &Grammar, key: RandomKey) -> PlantShape {
    let mut plant = PlantShape::default();
    let mut kept = Vec::new();
    let mut turtle = Turtle {
        at: [0.0; 3],
        ahead: [0.0, 1.0, 0.0],
        left: [1.0, 0.0, 0.0],
        up: [0.0, 0.0, 1.0],
        length: grammar.length,
        width: grammar.width,
    };
    let [bark, green] = grammar.colours;
    for (place, letter) in word.chars().enumerate() {
        // The key depends on the letter's place, so that each organ differs from the others.
        let key = key.derive_key(place as u64);
        let stray = 1.0 + grammar.stray * key.uniform_signed() as f32;
        match letter {
            'F' => turtle.add_stem(&mut plant, grammar.shrink[1], bark, stray),
            'f' => turtle.at = add(turtle.at, scale_vector(turtle.ahead, turtle.length * stray)),
            'L' => turtle.add_frond(&mut plant, grammar.leaf, green, stray),
            'B' => turtle.add_blade(&mut plant, grammar.leaf, green, stray),
            'O' => turtle.add_leaf_ball(&mut plant, grammar.leaf, green, key),
            'S' => turtle.add_spike(&mut plant, bark, green, stray),
            '&' => turtle.pitch_by(grammar.angle * stray),
            '^' => turtle.pitch_by(-0.5 * grammar.angle * stray),
            '+' => turtle.yaw_by(grammar.angle * stray),
            '-' => turtle.yaw_by(-grammar.angle * stray),
            '/' => turtle.roll_by(grammar.roll * stray),
            '"' => turtle.length *= grammar.shrink[0],
            '!' => turtle.width *= grammar.shrink[1],
            '[' => kept.push(turtle),
            ']' => turtle = kept.pop().unwrap_or(turtle),
            _ => {}
        }
    }
    plant
}

impl Turtle {
    /// Rotates `a` towards `b`, and `b` with it, by the given angle.
    fn rotate_towards(a: Vector, b: Vector, degrees: f32) -> [Vector; 2] {
        let (sin, cos) = (libm::sinf(degrees.to_radians()), libm::cosf(degrees.to_radians()));
        [add(scale_vector(a, cos), scale_vector(b, sin)), add(scale_vector(b, cos), scale_vector(a, -sin))]
    }

    fn pitch_by(&mut self, degrees: f32) {
        [self.ahead, self.up] = Self::rotate_towards(self.ahead, self.up, degrees);
    }

    fn yaw_by(&mut self, degrees: f32) {
        [self.ahead, self.left] = Self::rotate_towards(self.ahead, self.left, degrees);
    }

    fn roll_by(&mut self, degrees: f32) {
        [self.left, self.up] = Self::rotate_towards(self.left, self.up, degrees);
    }

    /// Adds a tapering piece of stem and moves the turtle to its end.
    fn add_stem(&mut self, plant: &mut PlantShape, taper: f32, bark: Vector, stray: f32) {
        let end = add(self.at, scale_vector(self.ahead, self.length * stray));
        let first = plant.positions.len() as u32;
        for (at, width) in [(self.at, self.width), (end, self.width * taper)] {
            for side in 0..SIDES {
                let turn = 360.0 / SIDES as f32 * side as f32;
                let [out, _] = Self::rotate_towards(self.left, self.up, turn);
                plant.add_vertex(add(at, scale_vector(out, width)), out, bark);
            }
        }
        for side in 0..SIDES as u32 {
            let next = (side + 1) % SIDES as u32;
            let [a, b, c, d] = [side, next, side + SIDES as u32, next + SIDES as u32].map(|k| first + k);
            // Two triangles per side, wound so that they face outward.
            plant.indices.extend([a, b, c, b, d, c]);
        }
        self.at = end;
    }

    /// Adds a frond of needles: a kite folded along its middle, with hanging sides.
    fn add_frond(&self, plant: &mut PlantShape, [long, wide]: [f32; 2], green: Vector, stray: f32) {
        let long = long * self.length * stray;
        let along = |share: f32| add(self.at, scale_vector(self.ahead, long * share));
        // The sides hang down in the world's direction, whatever the direction of the branch.
        let hang = [0.0, -0.16 * long, 0.0];
        let (tip, half) = (along(1.0), 0.5 * wide * long);
        let sides = [1.0, -1.0].map(|s| add(add(along(0.55), scale_vector(self.left, s * half)), hang));
        for (side, turned) in [(sides[0], false), (sides[1], true)] {
            let face = cross(sub(tip, self.at), sub(side, self.at));
            // Normals point up and outward, like those of a whole tree.
            let face = normalise_vector(if face[1] < 0.0 { scale_vector(face, -1.0) } else { face });
            let first = plant.positions.len() as u32;
            for (at, light) in [(self.at, INSIDE), (side, 0.85), (tip, 1.15)] {
                plant.add_vertex(at, face, scale_vector(green, light));
            }
            // The second side has the opposite orientation, so its vertices are listed in the opposite order.
            plant.indices.extend(if turned { [first, first + 2, first + 1] } else { [first, first + 1, first + 2] });
        }
    }

    /// Adds a blade of grass that bends over towards its tip.
    fn add_blade(&self, plant: &mut PlantShape, [long, wide]: [f32; 2], green: Vector, stray: f32) {
        let long = long * self.length * (0.6 + 0.4 * stray).min(1.1);
        let half = scale_vector(self.left, 0.5 * wide * long);
        // The last 38 % of the length of a blade bend by 28°.
        let bend = Self::rotate_towards(self.ahead, self.up, 28.0)[0];
        let knee = add(self.at, scale_vector(self.ahead, 0.62 * long));
        let tip = add(knee, scale_vector(bend, 0.38 * long));
        let face = normalise_vector(add(self.up, [0.0, 0.6, 0.0]));
        let first = plant.positions.len() as u32;
        for (at, light) in [
            (sub(self.at, half), INSIDE),
            (add(self.at, half), INSIDE),
            (sub(knee, half), 0.95),
            (add(knee, half), 0.95),
            (tip, 1.25),
        ] {
            plant.add_vertex(at, face, scale_vector(green, light));
        }
        plant.indices.extend([0, 1, 2, 1, 3, 2, 2, 3, 4].map(|k| first + k));
    }

    /// Adds a stalk with a dark ear.
    fn add_spike(&mut self, plant: &mut PlantShape, bark: Vector, green: Vector, stray: f32) {
        let whole = self.length;
        self.length = 0.9 * whole * stray.clamp(0.9, 1.15);
        self.add_stem(plant, 0.8, green, 1.0);
        self.length = 0.17 * whole;
        self.width *= 2.6;
        self.add_stem(plant, 0.9, bark, 1.0);
    }

    /// Adds a ball of leaves around the position: an icosahedron with randomly displaced vertices.
    fn add_leaf_ball(&self, plant: &mut PlantShape, [wide, high]: [f32; 2], green: Vector, key: RandomKey) {
        let radius = wide * self.length * (1.0 + 0.2 * key.derive_key(1).uniform_signed() as f32);
        let first = plant.positions.len() as u32;
        for (number, corner) in CORNERS.iter().enumerate() {
            let out = 1.0 + 0.16 * key.derive_key(2 + number as u64).uniform_signed() as f32;
            let at =
                add(self.at, [corner[0] * radius * out, corner[1] * radius * out * high, corner[2] * radius * out]);
            // Lower leaves see less of the sky.
            let light = INSIDE + (1.15 - INSIDE) * (0.5 + 0.5 * corner[1]);
            plant.add_vertex(at, *corner, scale_vector(green, light));
        }
        plant.indices.extend(FACES.iter().flatten().map(|k| first + k));
    }
}

impl PlantShape {
    fn add_vertex(&mut self, at: Vector, normal: Vector, colour: Vector) {
        self.positions.push(at);
        self.normals.push(normalise_vector(normal));
        self.colours.push(colour.map(|c| c.clamp(0.0, 1.0)));
    }
}

/// Coordinates of an icosahedron's vertices: 1/√(1 + φ²) and φ/√(1 + φ²).
const A: f32 = 0.525_731_1;
const B: f32 = 0.850_650_8;

const CORNERS: [Vector; 12] = [
    [-A, B, 0.0],
    [A, B, 0.0],
    [-A, -B, 0.0],
    [A, -B, 0.0],
    [0.0, -A, B],
    [0.0, A, B],
    [0.0, -A, -B],
    [0.0, A, -B],
    [B, 0.0, -A],
    [B, 0.0, A],
    [-B, 0.0, -A],
    [-B, 0.0, A],
];

const FACES: [[u32; 3]; 20] = [
    [0, 11, 5],
    [0, 5, 1],
    [0, 1, 7],
    [0, 7, 10],
    [0, 10, 11],
    [1, 5, 9],
    [5, 11, 4],
    [11, 10, 2],
    [10, 7, 6],
    [7, 1, 8],
    [3, 9, 4],
    [3, 4, 2],
    [3, 2, 6],
    [3, 6, 8],
    [3, 8, 9],
    [4, 9, 5],
    [2, 4, 11],
    [6, 2, 10],
    [8, 6, 7],
    [9, 8, 1],
];

fn add(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|k| a[k] + b[k])
}

fn sub(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|k| a[k] - b[k])
}

fn scale_vector(a: Vector, by: f32) -> Vector {
    a.map(|x| x * by)
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the vector scaled to length 1; upward if its length is 0.
pub(super) fn normalise_vector(a: Vector) -> Vector {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
    if length > 1e-12 { scale_vector(a, 1.0 / length) } else { [0.0, 1.0, 0.0] }
}
