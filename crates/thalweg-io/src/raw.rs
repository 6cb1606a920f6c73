//! Headerless samples, little-endian: R16 (u16 codes) and R32 (f32 metres). A sidecar specifies the size; without one,
//! the file must be a square.

use std::io::{self, Write};

use super::sidecar::{ByteOrder, RowOrder};
use super::{Raster, SampleType, Samples, Sidecar, check_size};

/// Reads samples of type `kind`, or of the type, byte order and row order that the sidecar specifies.
pub(super) fn read_samples(bytes: &[u8], kind: SampleType, sidecar: Option<&Sidecar>) -> Result<Raster, String> {
    let kind = sidecar.map_or(kind, |s| s.sample);
    if !bytes.len().is_multiple_of(kind.bytes()) {
        return Err(format!("has {} bytes, not a whole number of {kind} samples: it may be truncated", bytes.len()));
    }
    let count = bytes.len() / kind.bytes();
    let size = match sidecar {
        Some(sidecar) => [sidecar.rows, sidecar.columns],
        None => {
            let side = count.isqrt();
            if side * side != count {
                return Err(format!(
                    "has {count} {kind} samples, which do not make a square; add a sidecar JSON with its size"
                ));
            }
            [side, side]
        }
    };
    // The bytes must be exactly those of the size, because a headerless file has no other sign of a wrong size.
    let cell_count = check_size(size.map(|n| n as u64), kind.bytes() as u64, bytes.len(), 1)?;
    if cell_count != count {
        return Err(format!("has {count} samples; its sidecar states {} × {} (columns × rows)", size[1], size[0]));
    }
    let samples = Samples::from_bytes(kind, bytes, sidecar.is_some_and(|s| s.byte_order == ByteOrder::Big));
    let southward = sidecar.is_none_or(|s| s.row_order == RowOrder::North);
    Ok(Raster::new(size, if southward { samples } else { samples.flip_rows(size[1]) }))
}

/// Writes the samples, the northern row first.
pub(super) fn write_samples(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    raster.samples.write_le(file, raster.size[1])
}
