//! [`D8`]: the eight neighbours of a cell, and the flow-direction codes of rasters.
//!
//! Flow-direction rasters in memory are bytes: the [code](D8::code) of the neighbour to which a cell drains, 0 to 7, or
//! [`OUT`], [`PIT`] or [`VOID`]. All data that leave the library are ESRI codes ([`to_esri_code`]).

use std::slice;

use crate::Topology;
use crate::terrain::Cell;

/// The flow-direction code of a cell from which water leaves the land: over an open edge, into a cell without data,
/// into the sea, or at a given outlet.
pub const OUT: u8 = 8;
/// The flow-direction code of a cell in which water stays: no neighbour is lower, and no neighbour of the same height
/// drains further.
pub const PIT: u8 = 9;
/// The flow-direction code of a cell without data.
pub const VOID: u8 = 255;

/// One of the eight directions from a cell to its neighbours.
///
/// Directions are numbered clockwise from the east, with rows counted southward: even codes are straight, odd codes are
/// diagonal.
///
/// ```text
/// 5 6 7     NW N NE
/// 4   0      W   E
/// 3 2 1     SW S SE
/// ```
///
/// # Examples
///
/// ```
/// use thalweg_core::terrain::d8::{D8, OUT};
///
/// let direction = D8::from_code(7).unwrap();
/// assert_eq!(direction, D8::NorthEast);
/// assert_eq!(direction.offset(), [-1, 1]);
/// assert_eq!(direction.opposite(), D8::SouthWest);
/// assert_eq!(direction.to_esri(), 128);
/// assert_eq!(D8::from_code(OUT), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum D8 {
    /// Code 0.
    East,
    /// Code 1.
    SouthEast,
    /// Code 2.
    South,
    /// Code 3.
    SouthWest,
    /// Code 4.
    West,
    /// Code 5.
    NorthWest,
    /// Code 6.
    North,
    /// Code 7.
    NorthEast,
}

impl D8 {
    /// The eight directions in the order of their codes: clockwise from the east.
    pub const ALL: [Self; 8] = [
        Self::East,
        Self::SouthEast,
        Self::South,
        Self::SouthWest,
        Self::West,
        Self::NorthWest,
        Self::North,
        Self::NorthEast,
    ];

    /// The offset in rows (southward) and columns (eastward) of each direction, by code.
    pub const OFFSETS: [[isize; 2]; 8] = [[0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0], [-1, 1]];

    /// The distance in cells to a straight neighbour and to a diagonal one: that of code k is at index `k % 2`.
    pub const DISTANCES: [f64; 2] = [1.0, std::f64::consts::SQRT_2];

    /// [`D8::DISTANCES`] in 32 bits.
    pub const DISTANCES_F32: [f32; 2] = [1.0, std::f32::consts::SQRT_2];

    /// The inverse of [`D8::DISTANCES`] in 32 bits.
    pub const INVERSE_DISTANCES_F32: [f32; 2] = [1.0, std::f32::consts::FRAC_1_SQRT_2];

    /// Returns the direction of a flow-direction code; `None` if the code, for example [`OUT`], is not a direction.
    #[inline(always)]
    pub const fn from_code(code: u8) -> Option<Self> {
        if code < 8 { Some(Self::ALL[code as usize]) } else { None }
    }

    /// Returns the direction with this offset in rows and columns; `None` if the offset does not lead to a neighbour.
    pub fn from_offset(offset: [isize; 2]) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.offset() == offset)
    }

    /// Returns the flow-direction code, 0 to 7.
    #[inline(always)]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the code as an index into tables of the eight directions.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the rows (southward) and columns (eastward) from a cell to its neighbour.
    #[inline(always)]
    pub const fn offset(self) -> [isize; 2] {
        Self::OFFSETS[self.index()]
    }

    /// Returns the neighbour of a cell of an unbounded world.
    #[inline(always)]
    pub const fn adjacent_cell(self, cell: Cell<i64>) -> Cell<i64> {
        let [down, right] = self.offset();
        Cell { row: cell.row + down as i64, col: cell.col + right as i64 }
    }

    /// Returns the direction from the neighbour back to the cell.
    #[inline(always)]
    pub const fn opposite(self) -> Self {
        // Opposite directions are four codes apart, so they differ in bit 2 only.
        Self::ALL[self.index() ^ 4]
    }

    /// Returns true if the neighbour touches the cell only at a corner.
    #[inline(always)]
    pub const fn is_diagonal(self) -> bool {
        self.code() % 2 == 1
    }

    /// Returns the distance between the centres of the cell and its neighbour in cells: 1 or √2.
    #[inline(always)]
    pub const fn distance(self) -> f64 {
        Self::DISTANCES[self.index() % 2]
    }

    /// Returns [`D8::distance`] in 32 bits.
    #[inline(always)]
    pub const fn distance_f32(self) -> f32 {
        Self::DISTANCES_F32[self.index() % 2]
    }

    /// Returns the code that ArcGIS and pysheds use: 1 east, 2 south-east, 4 south, doubled clockwise up to 128
    /// north-east.
    #[inline(always)]
    pub const fn to_esri(self) -> u8 {
        1 << self.code()
    }

    /// Returns the direction of an [ESRI code](D8::to_esri); `None` if the code is not a power of two.
    #[inline(always)]
    pub const fn from_esri(code: u8) -> Option<Self> {
        // The number of trailing zeros is the exponent of the power, which is our code.
        if code.is_power_of_two() { Self::from_code(code.trailing_zeros() as u8) } else { None }
    }

    /// Returns the code of GRASS GIS (`r.watershed`): 1 north-east, 2 north, counted counter-clockwise up to 8 east.
    pub const fn to_grass(self) -> u8 {
        // GRASS counts counter-clockwise from north-east, which is code 7 here.
        8 - self.code()
    }

    /// Returns the direction of a [GRASS code](D8::to_grass); `None` if the code is not 1 to 8.
    ///
    /// `r.watershed` negates the code of a cell from which water leaves the region: pass the absolute value. Its code 0
    /// stands for a depression.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::d8::D8;
    ///
    /// // Water leaves the region here, to the south.
    /// let code: i32 = -6;
    /// assert_eq!(D8::from_grass(code.unsigned_abs() as u8), Some(D8::South));
    /// assert_eq!(D8::from_grass(0), None);
    /// ```
    pub const fn from_grass(code: u8) -> Option<Self> {
        match code {
            1..=8 => Self::from_code(8 - code),
            _ => None,
        }
    }

    /// Returns the code of TauDEM (`D8FlowDir`): 1 east, 2 north-east, counted counter-clockwise up to 8 south-east.
    pub const fn to_taudem(self) -> u8 {
        // TauDEM counts counter-clockwise from the east.
        (8 - self.code()) % 8 + 1
    }

    /// Returns the direction of a [TauDEM code](D8::to_taudem); `None` if the code is not 1 to 8.
    pub const fn from_taudem(code: u8) -> Option<Self> {
        match code {
            // Code 1 is east here as well; 2 to 8 run in the opposite direction.
            1..=8 => Self::from_code((9 - code) % 8),
            _ => None,
        }
    }
}

/// Converts a flow-direction code to an [ESRI code](D8::to_esri): [`OUT`] and [`PIT`] become 0, and [`VOID`] is 255 in
/// both encodings.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::d8::{D8, OUT, VOID, from_esri_code, to_esri_code};
///
/// assert_eq!([D8::South.code(), OUT, VOID].map(to_esri_code), [4, 0, 255]);
/// assert_eq!([4, 0, 255].map(from_esri_code), [D8::South.code(), OUT, VOID]);
/// ```
#[inline]
pub const fn to_esri_code(code: u8) -> u8 {
    match D8::from_code(code) {
        Some(direction) => direction.to_esri(),
        None if code == VOID => VOID,
        None => 0,
    }
}

/// Converts an [ESRI code](D8::to_esri) to a flow-direction code: 255 becomes [`VOID`], and 0 and all numbers that are
/// not codes become [`OUT`].
#[inline]
pub const fn from_esri_code(code: u8) -> u8 {
    match D8::from_esri(code) {
        Some(direction) => direction.code(),
        None if code == VOID => VOID,
        None => OUT,
    }
}

/// An iterator over the neighbours of a cell that exist, each with its direction, in the order of [`D8::ALL`].
///
/// Cells beyond an edge are skipped; if an axis is looped, the neighbour across the seam is returned.
///
/// # Examples
///
/// ```
/// use thalweg_core::Cell;
/// use thalweg_core::terrain::d8::{D8, Neighbourhood};
///
/// // The north-western corner of 4 rows and 5 columns.
/// let neighbours: Vec<_> = Neighbourhood::new([4, 5], [0, 0]).collect();
/// let expected = [(D8::East, [0, 1]), (D8::SouthEast, [1, 1]), (D8::South, [1, 0])];
/// assert_eq!(neighbours, expected.map(|(direction, cell)| (direction, Cell::from(cell))));
/// ```
#[derive(Debug, Clone)]
pub struct Neighbourhood {
    topology: Topology,
    cell: Cell,
    directions: slice::Iter<'static, D8>,
}

impl Neighbourhood {
    /// Iterates over the neighbours of `cell` (row, column). The size of a field is the topology of a terrain without
    /// looped edges.
    #[inline(always)]
    pub fn new(topology: impl Into<Topology>, cell: impl Into<Cell>) -> Self {
        Self { topology: topology.into(), cell: cell.into(), directions: D8::ALL.iter() }
    }
}

impl Iterator for Neighbourhood {
    type Item = (D8, Cell);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let Self { topology, cell, directions } = self;
        directions.find_map(|direction| Some((*direction, topology.offset_cell(*cell, direction.offset())?)))
    }

    // Without this method, sums and minima would go through `next`, which the compiler does not unroll.
    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, start: B, mut add: F) -> B {
        let Self { topology, cell, directions } = self;
        directions.fold(start, |sum, direction| match topology.offset_cell(cell, direction.offset()) {
            Some(neighbour) => add(sum, (*direction, neighbour)),
            None => sum,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use D8::{East, North, NorthEast, NorthWest, South, SouthEast, SouthWest, West};

    #[test]
    fn codes_offsets_and_distances_agree() {
        for (k, direction) in D8::ALL.into_iter().enumerate() {
            let [down, right] = direction.offset();
            let distance = ((down * down + right * right) as f64).sqrt();
            assert_eq!((direction.index(), D8::from_code(k as u8)), (k, Some(direction)));
            assert_eq!(D8::from_offset([down, right]), Some(direction));
            assert_eq!(direction.opposite().offset(), [-down, -right]);
            assert_eq!(direction.is_diagonal(), down != 0 && right != 0);
            assert_eq!(direction.distance(), distance);
            assert_eq!(direction.distance_f32(), distance as f32);
            assert_eq!(D8::INVERSE_DISTANCES_F32[k % 2], (1.0 / distance) as f32);
            let neighbour = direction.adjacent_cell(Cell::new(-3, 7));
            assert_eq!(neighbour, Cell::new(-3 + down as i64, 7 + right as i64));
            // A step clockwise, y south: the cross product of successive offsets is positive.
            let [next_down, next_right] = D8::ALL[(k + 1) % 8].offset();
            assert!(right * next_down - down * next_right > 0);
        }
        assert!([OUT, PIT, VOID].into_iter().all(|code| D8::from_code(code).is_none()));
        assert!([[0, 0], [0, 2], [-2, 1]].into_iter().all(|offset| D8::from_offset(offset).is_none()));
    }

    /// Checks that `to` gives the codes of `table`, and that `from` takes those and no others.
    fn check_encoding(table: [(D8, u8); 8], to: fn(D8) -> u8, from: fn(u8) -> Option<D8>) {
        assert_eq!(table.map(|(direction, _)| to(direction)), table.map(|(_, code)| code));
        for code in 0..=u8::MAX {
            let expected = table.iter().find(|(_, known)| *known == code).map(|(direction, _)| *direction);
            assert_eq!(from(code), expected, "code {code}");
        }
    }

    #[test]
    fn esri_codes_are_those_of_the_documentation() {
        // ArcGIS Pro, "How Flow Direction works": 32 64 128 / 16 · 1 / 8 4 2.
        let table = [
            (NorthWest, 32),
            (North, 64),
            (NorthEast, 128),
            (West, 16),
            (East, 1),
            (SouthWest, 8),
            (South, 4),
            (SouthEast, 2),
        ];
        check_encoding(table, D8::to_esri, D8::from_esri);
    }

    #[test]
    fn grass_codes_are_those_of_the_documentation() {
        // GRASS GIS, r.watershed, output "drainage": counter-clockwise from the east, 45 degrees times the code, 1 to
        // 8.
        let table = [
            (NorthEast, 1),
            (North, 2),
            (NorthWest, 3),
            (West, 4),
            (SouthWest, 5),
            (South, 6),
            (SouthEast, 7),
            (East, 8),
        ];
        check_encoding(table, D8::to_grass, D8::from_grass);
    }

    #[test]
    fn taudem_codes_are_those_of_the_documentation() {
        // TauDEM, "D8 Flow Directions": 1 east, 2 north-east, 3 north, 4 north-west, 5 west, 6 south-west, 7 south, 8
        // south-east.
        let table = [
            (East, 1),
            (NorthEast, 2),
            (North, 3),
            (NorthWest, 4),
            (West, 5),
            (SouthWest, 6),
            (South, 7),
            (SouthEast, 8),
        ];
        check_encoding(table, D8::to_taudem, D8::from_taudem);
    }

    #[test]
    fn a_neighbourhood_skips_what_lies_beyond_edges_and_crosses_seams() {
        for looped in [[false, false], [false, true], [true, false], [true, true]] {
            let topology = Topology { size: [3, 4], looped };
            for cell in (0..12).map(|k| [k / 4, k % 4]) {
                let expected: Vec<(D8, Cell)> = D8::ALL
                    .into_iter()
                    .filter_map(|direction| Some((direction, topology.offset_cell(cell, direction.offset())?)))
                    .collect();
                assert!(Neighbourhood::new(topology, cell).eq(expected.iter().copied()));
                let folded = Neighbourhood::new(topology, cell).fold(Vec::new(), |mut all, one| {
                    all.push(one);
                    all
                });
                assert_eq!(folded, expected);
            }
        }
        assert_eq!(Neighbourhood::new([1, 1], [0, 0]).count(), 0);
        let east_looped = Topology { size: [3, 4], looped: [false, true] };
        let corner: Vec<_> = Neighbourhood::new(east_looped, [0, 3]).collect();
        let expected = [(East, [0, 0]), (SouthEast, [1, 0]), (South, [1, 3]), (SouthWest, [1, 2]), (West, [0, 2])];
        assert_eq!(corner, expected.map(|(direction, cell)| (direction, Cell::from(cell))));
    }
}
