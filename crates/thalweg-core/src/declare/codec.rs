//! [`Row`]: packs items into a table, one item per row, and reads them back. Each column is declared once, with
//! [`columns!`].

use crate::terrain::{Column, Table};
use crate::{Error, Grid, Result, Terrain};

/// An item that is stored as one row of a [`Table`].
pub trait Row: Sized {
    /// The name of one item in error messages, for example `particle`.
    const ITEM_NAME: &'static str;

    /// Packs the items into a table and keeps their order.
    fn pack(things: impl Iterator<Item = Self> + Clone) -> Table;

    /// Reads the items of the table `name`. The table may come from an untrusted source.
    ///
    /// # Errors
    /// Returns an error if a column is missing, has another kind or another length than the others. An item of the
    /// returned iterator is an error if its row has a value that the item's type cannot represent.
    fn unpack(name: &str, table: &Table) -> Result<impl Iterator<Item = Result<Self>>>;

    /// Reads all items of a table and applies `accept` to each.
    ///
    /// # Errors
    /// Returns the errors of [`Row::unpack`], and an error that names the row if `accept` returns `None` for an item.
    fn read_accepted<T>(name: &str, table: &Table, accept: impl Fn(Self) -> Option<T>) -> Result<Vec<T>> {
        let no_thing = |row: usize| {
            let problem = "its cell is outside the terrain, or a value is out of range";
            format!("does not have a valid {} in row {row}: {problem}", Self::ITEM_NAME)
        };
        let things = Self::unpack(name, table)?.enumerate();
        things.map(|(row, thing)| accept(thing?).ok_or_else(|| Error::invalid_layer(name, no_thing(row)))).collect()
    }

    /// Removes the table `name` from a terrain and returns its items; returns no items if there is no such table.
    ///
    /// # Errors
    /// Returns the errors of [`Row::read_accepted`]. The table then stays in the terrain.
    fn take_table(
        terrain: &mut Terrain,
        name: &str,
        accept: impl Fn(Self, &Grid) -> Option<Self>,
    ) -> Result<Vec<Self>> {
        let Some(table) = terrain.tables.get(name) else { return Ok(Vec::new()) };
        // The table is removed only after all rows have been accepted.
        let things = Self::read_accepted(name, table, |thing| accept(thing, &terrain.grid))?;
        terrain.tables.remove(name);
        Ok(things)
    }
}

/// Implements `pack` and `unpack` of `Row` for a type that is `Default`. Each column is declared by its name, its
/// kind of values (`i64` or `f32`), its unit, and the field, or the element of an array field, that it stores.
#[doc(hidden)]
#[macro_export]
macro_rules! columns {
    ( $thing:ty { $( $name:ident: $kind:ty, $unit:literal = $field:ident $([$part:literal])?; )+ } ) => {
        fn pack(things: impl Iterator<Item = Self> + Clone) -> $crate::terrain::Table {
            let columns = vec![ $( (
                stringify!($name).to_string(),
                $unit.to_string(),
                <$kind as $crate::declare::codec::Kind>::column(
                    things.clone().map(|thing| $crate::declare::codec::StoredValue::<$kind>::to_stored(thing.$field $([$part])?)).collect(),
                ),
            ), )+ ];
            $crate::terrain::Table { columns }
        }

        fn unpack(
            name: &str,
            table: &$crate::terrain::Table,
        ) -> $crate::base::error::Result<impl Iterator<Item = $crate::base::error::Result<Self>>> {
            $( let $name = $crate::declare::codec::read_column::<$kind>(name, table, stringify!($name))?; )+
            Ok((0..table.len()).map(move |row| {
                let mut thing = <$thing>::default();
                $(
                    thing.$field $([$part])? = $crate::declare::codec::StoredValue::<$kind>::from_stored($name[row])
                        .ok_or_else(|| $crate::declare::codec::stored_value_error(name, stringify!($name), row, $name[row]))?;
                )+
                Ok(thing)
            }))
        }
    };
}
pub use columns;

/// The type of the values of a column.
pub trait Kind: Copy + std::fmt::Display {
    /// The name of the kind in error messages.
    const NAME: &'static str;
    /// Wraps the values in a [`Column`].
    fn column(values: Vec<Self>) -> Column;
    /// Returns the values of the column `name`; `None` if the table has no column of this name and kind.
    fn column_values<'a>(table: &'a Table, name: &str) -> Option<&'a [Self]>;
}

impl Kind for i64 {
    const NAME: &'static str = "whole numbers";
    fn column(values: Vec<Self>) -> Column {
        Column::Int(values)
    }
    fn column_values<'a>(table: &'a Table, name: &str) -> Option<&'a [Self]> {
        table.int_column(name)
    }
}

impl Kind for f32 {
    const NAME: &'static str = "real numbers";
    fn column(values: Vec<Self>) -> Column {
        Column::Float(values)
    }
    fn column_values<'a>(table: &'a Table, name: &str) -> Option<&'a [Self]> {
        table.float_column(name)
    }
}

/// A value of an item's field that is stored in a column of kind `K`.
pub trait StoredValue<K>: Sized {
    /// Returns the value as it is stored in the column.
    fn to_stored(self) -> K;
    /// Reads a stored value; `None` if it is out of range for this type.
    fn from_stored(value: K) -> Option<Self>;
}

macro_rules! whole {
    ($($number:ty),+) => { $(
        impl StoredValue<i64> for $number {
            fn to_stored(self) -> i64 {
                self as i64
            }
            fn from_stored(value: i64) -> Option<Self> {
                Self::try_from(value).ok()
            }
        }
    )+ };
}
// A `u64` of 2⁶³ or more would be stored as a negative number and rejected on reading; particle numbers stay below 2⁶³.
whole!(u8, u32, i32, u64, i64);

impl StoredValue<i64> for bool {
    fn to_stored(self) -> i64 {
        self.into()
    }
    fn from_stored(value: i64) -> Option<Self> {
        Some(value != 0)
    }
}

impl StoredValue<f32> for f32 {
    fn to_stored(self) -> f32 {
        self
    }
    fn from_stored(value: f32) -> Option<Self> {
        Some(value)
    }
}

/// Returns the values of the column `column` of a table; there are as many as the table has rows.
///
/// # Errors
/// Returns an error if the column is missing, has another kind or another length than the first column; `name` is the
/// table's name in the message.
pub fn read_column<'a, K: Kind>(name: &str, table: &'a Table, column: &str) -> Result<&'a [K]> {
    let missing = || Error::invalid_layer(name, format!("needs the column `{column}` of {}", K::NAME));
    let values = K::column_values(table, column).ok_or_else(missing)?;
    if values.len() == table.len() {
        return Ok(values);
    }
    // A table's number of rows is that of its first column, so the message names it.
    let first = table.columns.first().map_or("", |(first, _, _)| first);
    let lengths = format!("{} values, `{first}` has {}", values.len(), table.len());
    Err(Error::invalid_layer(name, format!("has columns of different lengths: `{column}` has {lengths}")))
}

/// Makes the error for a column value that is out of range for the item's field.
pub fn stored_value_error(name: &str, column: &str, row: usize, value: impl std::fmt::Display) -> Error {
    Error::invalid_layer(name, format!("contains {value} in row {row} of its column `{column}`, which is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    struct Thing {
        number: u64,
        cell: [i64; 2],
        load: i32,
        wet: bool,
        size: f32,
    }

    impl Row for Thing {
        const ITEM_NAME: &'static str = "thing";

        columns! {
            Thing {
                number: i64, "1" = number;
                row: i64, "cell" = cell[0];
                column: i64, "cell" = cell[1];
                load: i64, "m/65536" = load;
                wet: i64, "1" = wet;
                size: f32, "m" = size;
            }
        }
    }

    #[test]
    fn what_is_packed_comes_back_and_what_was_spoilt_is_named() {
        let grid = Grid::new([4, 5], 10.0).unwrap();
        let thing =
            |n: u64| Thing { number: n, cell: [n as i64 % 4, 4], load: -(n as i32), wet: n == 2, size: 0.5 * n as f32 };
        let things: Vec<Thing> = (0..7).map(thing).collect();
        let table = Thing::pack(things.iter().copied());
        assert_eq!(table.columns[3].1, "m/65536");
        let read = |table: &Table| {
            let accept = |thing: Thing| grid.local_cell(thing.cell).map(|_| thing);
            Thing::read_accepted("things", table, accept).map_err(|error| error.to_string())
        };
        assert_eq!(read(&table).unwrap(), things);
        assert_eq!(read(&table.select_rows(&[])).unwrap(), []);
        for k in 0..table.columns.len() {
            let name = table.columns[k].0.clone();
            let spoilt = |change: &dyn Fn(&mut Table)| {
                let mut spoilt = table.clone();
                change(&mut spoilt);
                let message = read(&spoilt).unwrap_err();
                assert!(message.contains("`things`") && message.contains(&format!("`{name}`")), "{name}: {message}");
            };
            spoilt(&|table| drop(table.columns.remove(k)));
            spoilt(&|table| table.columns[k].0.push('x'));
            spoilt(&|table| {
                let column = &mut table.columns[k].2;
                *column = match column {
                    Column::Int(values) => Column::Float(values.iter().map(|x| *x as f32).collect()),
                    Column::Float(values) => Column::Int(values.iter().map(|x| *x as i64).collect()),
                };
            });
            spoilt(&|table| match &mut table.columns[k].2 {
                Column::Int(values) => drop(values.pop()),
                Column::Float(values) => drop(values.pop()),
            });
        }
        let wrong = |k: usize, value: i64| {
            let mut wrong = table.clone();
            let Column::Int(values) = &mut wrong.columns[k].2 else { panic!("whole") };
            values[5] = value;
            read(&wrong).unwrap_err()
        };
        assert!(wrong(3, 1 << 40).contains("contains 1099511627776 in row 5 of its column `load`"));
        assert!(wrong(0, -1).contains("`number`"));
        assert!(wrong(1, 4).contains("does not have a valid thing in row 5: its cell is outside the terrain"));
        assert!(wrong(2, i64::MIN).contains("row 5"));
    }
}
