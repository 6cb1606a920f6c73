//! [`Tables`]: what a recipe gives a stage beside layers: springs, mouths and passes of rivers, kinds of soil, beds
//! of rock.

use serde_json::{Map, json};

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::rivers::wishes::{self, MOUTHS, PASSES, Wish};
use crate::soils::{self, Bed, SOILS, STRATA, Soil, strata};
use crate::springs::{self, SPRINGS, Spring};
use crate::terrain::Terrain;

/// The tables that a recipe may give to a model that keeps them.
const GIVEN: [&str; 5] = [SPRINGS, SOILS, STRATA, MOUTHS, PASSES];

/// Those that go when the stage ends.
const PASSING: [&str; 3] = [SPRINGS, MOUTHS, PASSES];

/// The tables that a stage is given. Springs, mouths and passes go with the stage; kinds of soil and beds stay with the terrain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tables {
    /// Springs that run while the stage does.
    pub springs: Vec<Spring>,
    /// Kinds of soil, added to those that the terrain has.
    pub soils: Vec<Soil>,
    /// Beds of rock, the lowest first, in place of those that the terrain has.
    pub strata: Vec<Bed>,
    /// Places where rivers end.
    pub mouths: Vec<Wish>,
    /// Places that rivers pass through.
    pub passes: Vec<Wish>,
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
            let known = GIVEN.into_iter().filter(|name| kept.contains(name));
            match name.as_str() {
                _ if !known.clone().any(|known| known == name) => {
                    return Err(Error::unknown("input table", name, known));
                }
                SOILS => given.soils = soils::parse(rows)?,
                STRATA => given.strata = strata::parse(rows)?,
                MOUTHS => given.mouths = wishes::parse(MOUTHS, rows)?,
                PASSES => given.passes = wishes::parse(PASSES, rows)?,
                _ => given.springs = springs::parse(rows)?,
            }
        }
        Ok(given)
    }

    /// Checks what a grid decides: where springs, mouths and passes lie.
    ///
    /// # Errors
    /// One outside the world.
    pub fn check(&self, grid: &Grid) -> Result<()> {
        wishes::table(MOUTHS, &self.mouths, grid)?;
        wishes::table(PASSES, &self.passes, grid)?;
        springs::table(&self.springs, grid).map(|_| ())
    }

    /// As it stands in a recipe; `None` without any.
    pub fn to_toml(&self) -> Option<String> {
        let lists: [(&str, Vec<String>); 5] = [
            (SPRINGS, self.springs.iter().map(Spring::to_toml).collect()),
            (SOILS, self.soils.iter().map(Soil::to_toml).collect()),
            (STRATA, self.strata.iter().map(Bed::to_toml).collect()),
            (MOUTHS, self.mouths.iter().map(Wish::to_toml).collect()),
            (PASSES, self.passes.iter().map(Wish::to_toml).collect()),
        ];
        let lists = lists.into_iter().filter(|(_, rows)| !rows.is_empty());
        let lists: Vec<_> = lists.map(|(name, rows)| format!("{name} = [{}]", rows.join(", "))).collect();
        (!lists.is_empty()).then(|| format!("{{ {} }}", lists.join(", ")))
    }

    /// Checks that they fit a terrain and the tables that it has.
    ///
    /// # Errors
    /// When the terrain's own tables are not what they should be, or would hold too much.
    pub fn fit(&self, terrain: &Terrain) -> Result<()> {
        springs::sources(terrain)?;
        soils::room(terrain, self.soils.len())?;
        strata::strata(terrain).map(|_| ())
    }

    /// Puts them into a terrain.
    ///
    /// # Errors
    /// As [`Tables::check`] and [`Tables::fit`].
    pub fn put(&self, terrain: &mut Terrain) -> Result<()> {
        if !self.springs.is_empty() {
            springs::add(terrain, &self.springs)?;
        }
        for (name, wishes) in [(MOUTHS, &self.mouths), (PASSES, &self.passes)] {
            if !wishes.is_empty() {
                wishes::set(terrain, name, wishes)?;
            }
        }
        if !self.soils.is_empty() {
            soils::add(terrain, &self.soils)?;
        }
        if self.strata.is_empty() { Ok(()) } else { strata::set(terrain, &self.strata) }
    }
}

/// Takes the tables out of a terrain that were a stage's alone; `kept` are those that its model keeps.
pub fn take(terrain: &mut Terrain, kept: &[&str]) {
    PASSING.iter().filter(|name| kept.contains(name)).for_each(|name| drop(terrain.tables.remove(*name)));
}

/// The JSON Schema of the tables that a model that keeps those of `kept` may be given; `None` if it may be given none.
pub fn schema(kept: &[&str]) -> Option<serde_json::Value> {
    let mut properties = Map::new();
    let schemas = [springs::schema, soils::schema, strata::schema, wishes::mouths_schema, wishes::passes_schema];
    for (name, schema) in GIVEN.into_iter().zip(schemas) {
        if kept.contains(&name) {
            properties.insert(name.into(), schema());
        }
    }
    let tables = |properties| json!({"type": "object", "additionalProperties": false, "properties": properties});
    (!properties.is_empty()).then(|| tables(properties))
}
