//! The files that receive the products of a pass, next to the store.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use thalweg_core::{Error, Grid, Result};
use thalweg_io::depression_file::DepressionFile;
use thalweg_io::features::ReachFile;
use thalweg_io::lake_file::LakeFile;
use thalweg_io::write_atomically;
use thalweg_render::products::lakes;
use thalweg_tiled::{Finding, Product, Summaries, TilePass};

const STREAMS: &str = "streams.fgb";
const LAKES: &str = "lakes.csv";
const LAKE_LINES: &str = "lakes.geojson";
const DEPRESSIONS: &str = "depressions.csv";

/// The memory in bytes that the writer of reaches keeps for each: its position, its bounds, and both again in the
/// index.
const REACH_BYTES: u64 = 150;

/// Returns the path of a file next to a store; for example, `big.zarr` has `big.streams.fgb`.
pub fn sidecar_path(store: &Path, file: &str) -> PathBuf {
    let stem = store.file_stem().unwrap_or(store.as_os_str());
    let mut name = stem.to_os_string();
    name.push(".");
    name.push(file);
    store.with_file_name(name)
}

/// The solution of a pass.
#[derive(Default)]
pub(crate) struct Solution {
    /// The answer for each tile; empty if there are none.
    pub answers: Vec<Vec<u8>>,
    /// The entries for the report.
    pub report: Map<String, Value>,
}

/// Writes the products of passes to files.
pub(crate) struct ProductWriter {
    /// The whole map.
    pub grid: Grid,
    /// True if the outlines of lakes are written.
    pub has_outlines: bool,
}

impl ProductWriter {
    /// The names of the files that receive a pass's products ([`sidecar_path`]).
    pub fn file_names(&self, pass: &dyn TilePass) -> &'static [&'static str] {
        match pass.reported_kind() {
            Finding::Streams { .. } => &[STREAMS],
            Finding::Lakes if self.has_outlines => &[LAKES, LAKE_LINES],
            Finding::Lakes => &[LAKES],
            Finding::Depressions => &[DEPRESSIONS],
            _ => &[],
        }
    }

    /// The memory in bytes that solving a pass and writing its products take.
    pub fn solve_bytes(pass: &dyn TilePass) -> u64 {
        let listed = match pass.reported_kind() {
            Finding::Streams { at_most } => REACH_BYTES * at_most,
            _ => 0,
        };
        pass.solve_bytes() + listed
    }

    /// Solves a pass and writes its products next to the store as they are found.
    pub fn solve_pass(&self, pass: &dyn TilePass, summaries: &dyn Summaries, store: &Path) -> Result<Solution> {
        match pass.reported_kind() {
            Finding::Streams { .. } => self.write_streams(pass, summaries, store),
            Finding::Lakes if self.has_outlines => self.write_lakes(pass, summaries, store),
            Finding::Lakes => lake_table(pass, summaries, store, |_| Ok(())),
            Finding::Depressions => self.write_depressions(pass, summaries, store),
            _ => {
                let mut report = Map::new();
                let answers = pass.solve(summaries, &mut |product| {
                    match product {
                        Product::Basins(count) => drop(report.insert("basins".into(), count.into())),
                        Product::Figure(key, value) => drop(report.insert(key.into(), value)),
                        _ => {}
                    }
                    Ok(())
                })?;
                Ok(Solution { answers, report })
            }
        }
    }

    fn write_streams(&self, pass: &dyn TilePass, summaries: &dyn Summaries, store: &Path) -> Result<Solution> {
        let mut file = ReachFile::new(sidecar_path(store, STREAMS), &self.grid)?;
        // Reaches arrive in the order of their numbers, so the total length is summed in the same order on any machine.
        let (mut count, mut length, mut highest) = (0u32, 0.0, 0);
        let answers = pass.solve(summaries, &mut |product| {
            let Product::Reach(reach) = product else { return Ok(()) };
            (count, length, highest) = (count + 1, length + reach.length, highest.max(reach.order));
            file.write_reach(&reach)
        })?;
        file.finish()?;
        let found = json!({"reaches": count, "length_m": length, "highest_order": highest});
        Ok(Solution { answers, report: Map::from_iter([("streams".into(), found)]) })
    }

    fn write_lakes(&self, pass: &dyn TilePass, summaries: &dyn Summaries, store: &Path) -> Result<Solution> {
        let path = sidecar_path(store, LAKE_LINES);
        let mut solution = Solution::default();
        write_atomically(&path, |lines| {
            let mut lines = LakeFile::new(lines, &path, &self.grid)?;
            solution = lake_table(pass, summaries, store, |product| match product {
                Product::Lake(lake) => lines.begin_lake(lake),
                Product::Shore { begins, points } => lines.add_shore_points(*begins, points),
                _ => Ok(()),
            })?;
            lines.finish()
        })?;
        Ok(solution)
    }

    fn write_depressions(&self, pass: &dyn TilePass, summaries: &dyn Summaries, store: &Path) -> Result<Solution> {
        let path = sidecar_path(store, DEPRESSIONS);
        let (mut count, mut answers) = (0u64, Vec::new());
        write_atomically(&path, |table| {
            let mut table = DepressionFile::new(table, &path, &self.grid)?;
            answers = pass.solve(summaries, &mut |product| match product {
                Product::Depression(one) => {
                    count += 1;
                    table.write_row(&one)
                }
                _ => Ok(()),
            })?;
            table.finish()
        })?;
        Ok(Solution { answers, report: Map::from_iter([("depressions".into(), count.into())]) })
    }
}

/// Writes the table of lakes; every product is also passed to `also`.
fn lake_table(
    pass: &dyn TilePass,
    summaries: &dyn Summaries,
    store: &Path,
    mut also: impl FnMut(&Product) -> Result<()>,
) -> Result<Solution> {
    let path = sidecar_path(store, LAKES);
    let (mut count, mut answers) = (0u64, Vec::new());
    write_atomically(&path, |table| {
        let mut put = |line: &str| table.write_all(line.as_bytes()).map_err(Error::io(&path, "write"));
        put(lakes::COLUMNS)?;
        answers = pass.solve(summaries, &mut |product| {
            if let Product::Lake(lake) = &product {
                count += 1;
                put(&lakes::format_csv_line(lake))?;
            }
            also(&product)
        })?;
        Ok(())
    })?;
    Ok(Solution { answers, report: Map::from_iter([("lakes".into(), count.into())]) })
}
