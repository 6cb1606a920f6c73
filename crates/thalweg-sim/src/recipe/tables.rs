//! [`Tables`]: what a recipe gives a stage beside layers, and the one list of it.

use serde_json::{Map, json};

use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_noise::given::Given;
use thalweg_noise::given::soils::{Bed, Soil};
use thalweg_noise::given::springs::Spring;
use thalweg_rivers::waypoints::{MouthPlace, Waypoint};

/// Declares the list: a field of [`Tables`], what stands in it, and of which rows it is.
macro_rules! tables {
    ( $( $(#[doc = $about:literal])+ $field:ident: $row:ty, )+ ) => {
        /// The tables that a stage is given.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct Tables { $( $(#[doc = $about])+ pub $field: Vec<$row>, )+ }

        /// The names of those that a recipe may give to a model which keeps `kept`.
        fn known(kept: &[&str]) -> impl Iterator<Item = &'static str> {
            [ $( <$row as Given>::TABLE, )+ ].into_iter().filter(|name| kept.contains(name))
        }

        impl Tables {
            /// From a stage's `tables`; `kept` are the tables that its model keeps.
            ///
            /// # Errors
            /// A table that the model does not keep, and what the table's own reader refuses.
            pub fn parse(value: &toml::Value, kept: &[&str]) -> Result<Self> {
                let tables = value.as_table().ok_or_else(|| Error::value("tables", value, "a table of tables"))?;
                let mut given = Self::default();
                for (name, rows) in tables {
                    match name.as_str() {
                        _ if !known(kept).any(|known| known == name) => {
                            return Err(Error::unknown("input table", name, known(kept)));
                        }
                        $( <$row as Given>::TABLE => given.$field = Given::parse(rows)?, )+
                        _ => {}
                    }
                }
                Ok(given)
            }

            /// As it stands in a recipe; `None` without any.
            pub fn to_toml(&self) -> Option<String> {
                let mut lists = Vec::new();
                $(
                    if !self.$field.is_empty() {
                        let rows: Vec<String> = self.$field.iter().map(Given::to_toml).collect();
                        lists.push(format!("{} = [{}]", <$row as Given>::TABLE, rows.join(", ")));
                    }
                )+
                (!lists.is_empty()).then(|| format!("{{ {} }}", lists.join(", ")))
            }

            /// Moves what has a place in the world to where it lies in a world `times` as wide.
            pub fn widen(&mut self, times: f64) {
                $( self.$field.iter_mut().for_each(|row| row.widen(times)); )+
            }

            /// Checks what a grid decides: where things lie.
            ///
            /// # Errors
            /// One outside the world.
            pub fn check(&self, grid: &Grid) -> Result<()> {
                $( Given::check(&self.$field, grid)?; )+
                Ok(())
            }

            /// Checks that they fit a terrain and the tables that it has.
            ///
            /// # Errors
            /// When the terrain's own tables are not what they should be, or would hold too much.
            pub fn fit(&self, terrain: &Terrain) -> Result<()> {
                $( Given::fit(&self.$field, terrain)?; )+
                Ok(())
            }

            /// Puts them into a terrain.
            ///
            /// # Errors
            /// As [`Tables::check`] and [`Tables::fit`].
            pub fn put(&self, terrain: &mut Terrain) -> Result<()> {
                $( if !self.$field.is_empty() { Given::put(&self.$field, terrain)?; } )+
                Ok(())
            }
        }

        /// Takes the tables out of a terrain that were a stage's alone; `kept` are those that its model keeps.
        pub fn take(terrain: &mut Terrain, kept: &[&str]) {
            let passing = [ $( (<$row as Given>::TABLE, <$row as Given>::PASSING), )+ ];
            for (name, _) in passing.into_iter().filter(|(name, passes)| *passes && kept.contains(name)) {
                terrain.tables.remove(name);
            }
        }

        /// The JSON Schema of the tables that a model that keeps those of `kept` may be given; `None` if it may be given none.
        pub fn schema(kept: &[&str]) -> Option<serde_json::Value> {
            let schemas = [ $( (<$row as Given>::TABLE, <$row as Given>::schema as fn() -> serde_json::Value), )+ ];
            let named = schemas.into_iter().filter(|(name, _)| kept.contains(name));
            let properties: Map<_, _> = named.map(|(name, schema)| (name.to_string(), schema())).collect();
            (!properties.is_empty())
                .then(|| json!({"type": "object", "additionalProperties": false, "properties": properties}))
        }
    };
}

tables! {
    /// Springs that run while the stage does.
    springs: Spring,
    /// Kinds of soil, added to those that the terrain has.
    soils: Soil,
    /// Beds of rock, the lowest first, in place of those that the terrain has.
    strata: Bed,
    /// Places where rivers end.
    mouths: MouthPlace,
    /// Places that rivers pass through.
    passes: Waypoint,
}
