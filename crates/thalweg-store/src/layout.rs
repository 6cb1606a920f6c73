//! The axes of an array that are a map's rows and columns, and where the cells of a map are in a chunk.

use serde_json::Value;
use thalweg_core::Size;
use thalweg_io::Samples;

/// The names of the axes of rows and of columns, in lower case.
const ROW_NAMES: [&str; 5] = ["y", "lat", "latitude", "northing", "projection_y_coordinate"];
const COLUMN_NAMES: [&str; 5] = ["x", "lon", "longitude", "easting", "projection_x_coordinate"];

/// The axes of an array that are rows and columns. All others have one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axes {
    /// The number of axes.
    pub rank: usize,
    /// The axis of the rows; `None` for an array of one axis, which is a single row.
    pub rows: Option<usize>,
    /// The axis of the columns.
    pub cols: usize,
}

impl Axes {
    /// The axes of an array with two axes in the usual order.
    #[cfg(test)]
    pub const PLAIN: Self = Self { rank: 2, rows: Some(0), cols: 1 };

    /// The axis of an array of one axis.
    pub const LINE: Self = Self { rank: 1, rows: None, cols: 0 };

    /// Chooses the axes of a map: those that have the names of rows and columns, or else those that are longer than 1.
    ///
    /// # Errors
    /// Returns the problem in words if there are fewer than two axes, or if another axis is longer than 1.
    pub fn choose(shape: &[u64], names: &[Option<&str>]) -> Result<Self, String> {
        let rank = shape.len();
        if rank < 2 {
            return Err(format!("has {rank} dimensions; a map must have two"));
        }
        let named = |known: [&str; 5]| {
            names
                .iter()
                .position(|name| name.is_some_and(|name| known.iter().any(|own| name.eq_ignore_ascii_case(own))))
        };
        let longer: Vec<usize> = (0..rank).filter(|axis| shape[*axis] != 1).collect();
        let (rows, cols) = match (named(ROW_NAMES), named(COLUMN_NAMES), &longer[..]) {
            (Some(rows), Some(cols), _) if rows < rank && cols < rank => (rows, cols),
            (_, _, [rows, cols]) => (*rows, *cols),
            _ => (rank - 2, rank - 1),
        };
        if longer.iter().any(|axis| ![rows, cols].contains(axis)) {
            return Err(format!(
                "has {rank} dimensions of {shape:?} values; a map must have two that are longer than 1, so select one \
                 value of each other dimension and save the result"
            ));
        }
        Ok(Self { rank, rows: Some(rows), cols })
    }

    /// Returns the numbers of rows and columns of a shape.
    pub fn select_size(self, shape: &[usize]) -> Size {
        [self.rows.map_or(1, |axis| shape[axis]), shape[self.cols]]
    }

    /// Returns the distances from row to row and from column to column in elements of this shape, whose last axis
    /// varies fastest, and the number of elements; `None` if these are too many to count.
    pub fn compute_strides(self, shape: &[usize]) -> Option<(Size, usize)> {
        self.compute_permuted_strides(shape, &(0..shape.len()).collect::<Vec<_>>())
    }

    /// Returns the same for elements that are stored with their axes in another order: first the axis `order[0]`.
    fn compute_permuted_strides(self, shape: &[usize], order: &[usize]) -> Option<(Size, usize)> {
        let mut strides = vec![0; shape.len()];
        let mut count: usize = 1;
        for axis in order.iter().rev() {
            strides[*axis] = count;
            count = count.checked_mul(shape[*axis])?;
        }
        Some(([self.rows.map_or(0, |axis| strides[axis]), strides[self.cols]], count))
    }
}

/// Where the cells of a map are among the elements of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkLayout {
    /// The rows and columns of the map in the chunk.
    pub size: Size,
    /// The number of elements of the chunk, of which the cells of the map may be a part.
    pub count: usize,
    strides: Size,
}

impl ChunkLayout {
    /// Makes the layout of a chunk of this shape. `order` gives the axes in the order in which they are stored.
    ///
    /// # Errors
    /// Returns the problem in words if the order is not one of the axes, or if the chunk has too many elements.
    pub fn new(shape: &[usize], axes: Axes, order: Option<&[usize]>) -> Result<Self, String> {
        let usual: Vec<usize> = (0..shape.len()).collect();
        let order = order.unwrap_or(&usual);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted != usual {
            return Err(format!("is transposed by {order:?}, which is not an order of its {} axes", shape.len()));
        }
        let (strides, count) =
            axes.compute_permuted_strides(shape, order).ok_or("has chunks with more cells than can be counted")?;
        Ok(Self { size: axes.select_size(shape), count, strides })
    }

    /// Returns the cells of the map, row by row, from the elements of a chunk.
    ///
    /// # Errors
    /// Returns the problem in words if there is not enough memory.
    pub fn arrange(&self, samples: Samples) -> Result<Samples, String> {
        let [rows, cols] = self.size;
        // A single row may have any distance to the next.
        if rows * cols == self.count && self.strides[1] == 1 && (rows == 1 || self.strides[0] == cols) {
            return Ok(samples);
        }
        samples.gather(self.size, self.strides).map_err(|error| error.to_string())
    }
}

/// Returns the numbers of a list, if all are whole numbers of 0 or more.
pub fn parse_counts(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

/// Returns the same as numbers of elements in memory.
pub fn parse_shape(value: &Value) -> Option<Vec<usize>> {
    parse_counts(value)?.into_iter().map(|n| usize::try_from(n).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_by_names_and_by_lengths() {
        let choose = |shape: &[u64], names: &[&str]| {
            let names: Vec<Option<&str>> = names.iter().map(|name| Some(*name)).collect();
            Axes::choose(shape, &names).map(|axes| [axes.rows.unwrap(), axes.cols])
        };
        assert_eq!(choose(&[5, 6], &[]), Ok([0, 1]));
        assert_eq!(choose(&[5, 6], &["x", "y"]), Ok([1, 0]));
        assert_eq!(choose(&[5, 6], &["Longitude", "latitude"]), Ok([1, 0]));
        assert_eq!(choose(&[1, 5, 6], &["time", "y", "x"]), Ok([1, 2]));
        assert_eq!(choose(&[5, 1, 6], &[]), Ok([0, 2]));
        assert_eq!(choose(&[6, 1, 1], &["x", "band", "y"]), Ok([2, 0]));
        assert_eq!(choose(&[1, 1, 1], &[]), Ok([1, 2]));
        for shape in [&[5][..], &[], &[2, 5, 6], &[2, 2, 2, 1]] {
            assert!(choose(shape, &[]).is_err(), "{shape:?}");
        }
        assert!(choose(&[2, 5, 6], &["time", "y", "x"]).unwrap_err().contains("[2, 5, 6]"));
    }

    #[test]
    fn cells_of_every_order() {
        // The element of a chunk of 2 × 3 × 4 with these indices has the value 100 i + 10 j + k.
        let value = |[i, j, k]: [usize; 3]| (100 * i + 10 * j + k) as u16;
        let shape = [2, 3, 4];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let mut stored = Vec::new();
            for a in 0..shape[order[0]] {
                for b in 0..shape[order[1]] {
                    for c in 0..shape[order[2]] {
                        let mut index = [0; 3];
                        (index[order[0]], index[order[1]], index[order[2]]) = (a, b, c);
                        stored.push(value(index));
                    }
                }
            }
            for (axes, at) in [
                (Axes { rank: 3, rows: Some(1), cols: 2 }, (|r, c| [0, r, c]) as fn(usize, usize) -> [usize; 3]),
                (Axes { rank: 3, rows: Some(2), cols: 1 }, |r, c| [0, c, r]),
                (Axes { rank: 3, rows: Some(2), cols: 0 }, |r, c| [c, 0, r]),
            ] {
                let layout = ChunkLayout::new(&shape, axes, Some(&order)).unwrap();
                let [rows, cols] = axes.select_size(&shape);
                let expected = (0..rows).flat_map(|r| (0..cols).map(move |c| value(at(r, c)))).collect();
                assert_eq!(layout.arrange(Samples::U16(stored.clone())), Ok(Samples::U16(expected)), "{order:?}");
            }
        }
        for order in [&[0, 1][..], &[0, 1, 1], &[1, 2, 3]] {
            assert!(ChunkLayout::new(&shape, Axes { rank: 3, rows: Some(1), cols: 2 }, Some(order)).is_err());
        }
        assert!(ChunkLayout::new(&[usize::MAX, 2], Axes::PLAIN, None).is_err());
    }
}
