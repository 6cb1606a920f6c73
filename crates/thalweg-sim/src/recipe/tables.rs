//! [`Tables`]: the input tables of a stage, declared in one list.

use serde_json::{Map, json};

use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_noise::input_tables::Given;
use thalweg_noise::input_tables::soils::{Bed, Soil};
use thalweg_noise::input_tables::springs::Spring;
use thalweg_rivers::waypoints::{MouthPlace, Waypoint};

/// Declares the list: for each table its description, its field in [`Tables`], and the type of its rows.
macro_rules! tables {
    ( $( $(#[doc = $about:literal])+ $field:ident: $row:ty, )+ ) => {
        /// The input tables of a stage.
        ///
        /// # Examples
        /// ```
        /// use thalweg_sim::recipe::Recipe;
        ///
        /// let recipe = Recipe::parse(
        ///     r#"
        ///     extent = [6000.0, 5000.0]
        ///
        ///     [[stage]]
        ///     model = "fluvial"
        ///     tables = { springs = [{ x = 3000.0, y = 2500.0, rate = 2.0 }] }
        ///     "#,
        /// )?;
        /// let tables = &recipe.stages[0].tables;
        /// assert_eq!((tables.springs.len(), tables.springs[0].rate), (1, 2.0));
        /// # Ok::<(), thalweg_core::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct Tables { $( $(#[doc = $about])+ pub $field: Vec<$row>, )+ }

        /// Returns the names of the tables that a recipe may give to a model that keeps the tables `kept`.
        fn known(kept: &[&str]) -> impl Iterator<Item = &'static str> {
            [ $( <$row as Given>::TABLE, )+ ].into_iter().filter(|name| kept.contains(name))
        }

        impl Tables {
            /// Reads a stage's `tables`; `kept` are the tables that its model keeps.
            ///
            /// # Errors
            /// Returns an error if the model does not keep a table, or the table's own reader refuses it.
            pub fn parse(value: &toml::Value, kept: &[&str]) -> Result<Self> {
                let tables = value.as_table().ok_or_else(|| Error::invalid_value("tables", value, "a table of tables"))?;
                let mut given = Self::default();
                for (name, rows) in tables {
                    match name.as_str() {
                        _ if !known(kept).any(|known| known == name) => {
                            return Err(Error::unknown_name("input table", name, known(kept)));
                        }
                        $( <$row as Given>::TABLE => given.$field = Given::parse(rows)?, )+
                        _ => {}
                    }
                }
                Ok(given)
            }

            /// Returns its form in a recipe; `None` if there are no tables.
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

            /// Moves everything with a position to its place in a world `times` as wide.
            pub fn widen(&mut self, times: f64) {
                $( self.$field.iter_mut().for_each(|row| row.widen(times)); )+
            }

            /// Checks what depends on the grid: the positions.
            ///
            /// # Errors
            /// Returns an error if one is outside the world.
            pub fn check(&self, grid: &Grid) -> Result<()> {
                $( Given::check(&self.$field, grid)?; )+
                Ok(())
            }

            /// Checks that they fit a terrain and its tables.
            ///
            /// # Errors
            /// Returns an error if the terrain's own tables are invalid, or would become too large.
            pub fn fit(&self, terrain: &Terrain) -> Result<()> {
                $( Given::fit(&self.$field, terrain)?; )+
                Ok(())
            }

            /// Inserts them into a terrain.
            ///
            /// # Errors
            /// Returns the errors of [`Tables::check`] and [`Tables::fit`].
            pub fn put(&self, terrain: &mut Terrain) -> Result<()> {
                $( if !self.$field.is_empty() { Given::put(&self.$field, terrain)?; } )+
                Ok(())
            }
        }

        /// Removes from a terrain the tables that were for one stage only; `kept` are those that its model keeps.
        pub fn take(terrain: &mut Terrain, kept: &[&str]) {
            let passing = [ $( (<$row as Given>::TABLE, <$row as Given>::PASSING), )+ ];
            for (name, _) in passing.into_iter().filter(|(name, passes)| *passes && kept.contains(name)) {
                terrain.tables.remove(name);
            }
        }

        /// Returns the JSON Schema of the input tables for a model that keeps the tables `kept`; `None` if it can
        /// have none.
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
