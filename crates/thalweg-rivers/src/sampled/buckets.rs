//! A spatial index of points by squares of the map.

use thalweg_core::Cell;

/// Points grouped by the square that contains them, as linked lists in two arrays.
pub(super) struct Buckets {
    side: f64,
    squares: [usize; 2],
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Buckets {
    pub(super) fn new(size: [usize; 2], side: f64) -> Self {
        // One square more takes points on the far edge.
        let squares = size.map(|n| (n as f64 / side) as usize + 1);
        Self { side, squares, first: vec![u32::MAX; squares[0] * squares[1]], next: Vec::new() }
    }

    fn square_index(&self, place: Cell<f64>, axis: usize) -> usize {
        ((place[axis] / self.side).max(0.0) as usize).min(self.squares[axis] - 1)
    }

    /// Adds the next point; its number `n` must be the number of points added before.
    pub(super) fn add(&mut self, place: Cell<f64>, n: u32) {
        let at = self.square_index(place, 0) * self.squares[1] + self.square_index(place, 1);
        // The new point becomes the first of its square's list, so adding takes constant time.
        self.next.push(self.first[at]);
        self.first[at] = n;
    }

    /// Visits all points within `reach` of a position, and possibly others nearby.
    pub(super) fn visit_near(&self, place: Cell<f64>, reach: f64, mut visit: impl FnMut(u32)) {
        let span = |axis: usize| {
            let low = self.square_index(place.map(|x| x - reach), axis);
            low..=self.square_index(place.map(|x| x + reach), axis)
        };
        for i in span(0) {
            for j in span(1) {
                let mut n = self.first[i * self.squares[1] + j];
                while n != u32::MAX {
                    visit(n);
                    n = self.next[n as usize];
                }
            }
        }
    }
}
