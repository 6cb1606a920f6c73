//! Headerless samples, little-endian: R16 (u16 codes) and R32 (f32 metres). A sidecar or the options specify the size;
//! without either, the file must be a square.

use std::io::{self, Write};
use std::path::PathBuf;

use super::facts::FactSource;
use super::sidecar::{ByteOrder, RowOrder};
use super::{LoadOptions, Raster, SampleType, Samples, Sidecar, check_size};

/// Reads samples of type `kind`, or of the type, byte order and row order that the sidecar specifies. The options
/// override the size and the byte order.
pub(super) fn read_samples(
    bytes: &[u8],
    kind: SampleType,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
) -> Result<Raster, String> {
    let kind = sidecar.map_or(kind, |s| s.sample);
    if !bytes.len().is_multiple_of(kind.bytes()) {
        return Err(format!("has {} bytes, not a whole number of {kind} samples: it may be truncated", bytes.len()));
    }
    let count = bytes.len() / kind.bytes();
    // The caller names the sidecar.
    let beside = || FactSource::Sidecar(PathBuf::new());
    let (size, source) = match (options.raw_cells, sidecar) {
        (Some(size), _) => (size, FactSource::Option("raw_cells")),
        (None, Some(sidecar)) => ([sidecar.rows, sidecar.columns], beside()),
        (None, None) => {
            let side = count.isqrt();
            if side * side != count {
                return Err(format!(
                    "has {count} {kind} samples, which do not make a square; {}",
                    advise_on_size(count, kind)
                ));
            }
            ([side, side], FactSource::Guess("the number of samples is a square".to_string()))
        }
    };
    // The bytes must be exactly those of the size, because a headerless file has no other sign of a wrong size.
    let cell_count = check_size(size.map(|n| n as u64), kind.bytes() as u64, bytes.len(), 1)?;
    if cell_count != count {
        let source = if options.raw_cells.is_some() { "the given size is" } else { "its sidecar states" };
        return Err(format!("has {count} samples; {source} {} × {} (columns × rows)", size[1], size[0]));
    }
    let order = options.byte_order.or(sidecar.map(|s| s.byte_order)).unwrap_or_default();
    let samples = Samples::from_bytes(kind, bytes, order == ByteOrder::Big);
    let southward = sidecar.is_none_or(|s| s.row_order == RowOrder::North);
    let mut raster = Raster::new(size, if southward { samples } else { samples.flip_rows(size[1]) });
    raster.facts.record_source("columns", source.clone());
    raster.facts.record_source("rows", source);
    raster.facts.record_source("samples", if sidecar.is_some() { beside() } else { FactSource::Name });
    Ok(raster)
}

/// Explains how to give the size of a headerless file, with the sides that are nearest to a square as an example.
fn advise_on_size(count: usize, kind: SampleType) -> String {
    let rows = (1..=count.isqrt()).rev().find(|rows| count.is_multiple_of(*rows)).unwrap_or(1);
    let cols = count / rows.max(1);
    format!(
        "give its size with --raw-cells {cols}x{rows} (columns × rows; raw_cells in Python) and, if it is big-endian, \
         --byte-order big, or write a sidecar (its name and `.json`) such as {{\"minimum\": 0, \"maximum\": 1000, \
         \"cell_size\": 10, \"rows\": {rows}, \"columns\": {cols}, \"sample\": \"{kind}\", \"byte_order\": \
         \"little\", \"row_order\": \"north\"}}"
    )
}

/// Writes the samples, the northern row first.
pub(super) fn write_samples(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    raster.samples.write_le(file, raster.size[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_give_size_and_byte_order() {
        let bytes: Vec<u8> = (1..=6u16).flat_map(u16::to_be_bytes).collect();
        let read = |options: &LoadOptions| read_samples(&bytes, SampleType::U16, None, options);
        let problem = read(&LoadOptions::default()).unwrap_err();
        for word in
            ["6 u16 samples", "--raw-cells 3x2", "--byte-order big", "\"rows\": 2", "\"columns\": 3", "raw_cells"]
        {
            assert!(problem.contains(word), "{word}: {problem}");
        }
        let options =
            LoadOptions { raw_cells: Some([2, 3]), byte_order: Some(ByteOrder::Big), ..LoadOptions::default() };
        assert_eq!(read(&options).unwrap(), Raster::new([2, 3], Samples::U16(vec![1, 2, 3, 4, 5, 6])));
        let options = LoadOptions { raw_cells: Some([2, 2]), ..LoadOptions::default() };
        assert!(read(&options).unwrap_err().contains("6 samples; the given size is 2 × 2"));
        let options = LoadOptions { raw_cells: Some([usize::MAX, 2]), ..LoadOptions::default() };
        assert!(read(&options).is_err());
        // The keys that the message shows are those of a sidecar.
        let start = problem.find('{').unwrap();
        let sidecar = Sidecar::parse(problem[start..].as_bytes()).unwrap();
        assert_eq!(
            read_samples(&bytes, SampleType::U16, Some(&sidecar), &LoadOptions::default()).unwrap().size,
            [2, 3]
        );
    }
}
