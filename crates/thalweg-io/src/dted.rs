//! DTED, Digital Terrain Elevation Data of levels 0 to 2 (`.dt0`, `.dt1`, `.dt2`; MIL-PRF-89020B, 2000): whole metres
//! over one degree, in degrees of WGS 84. Samples are points; the first and the last are on the borders of the degree.

use super::facts::FactSource;
use super::{Raster, Samples, check_size, geokeys, plain};
use thalweg_core::Georeference;

/// The lengths of the records before the data: user header label, data set identification, accuracy description.
const UHL: usize = 80;
const DSI: usize = 648;
const ACC: usize = 2700;

/// The bytes of a data record before and after its samples.
const RECORD_HEAD: usize = 8;
const RECORD_CHECKSUM: usize = 4;

/// The first byte of a data record.
const SENTINEL: u8 = 0xaa;

/// The sample for no data: all bits are one.
const VOID: i16 = -32767;

/// The lowest height of the format. Lower samples come from programs that store them in two's complement.
const LOWEST: i16 = -16_000;

/// The tenths of an arc second in a degree.
const TENTHS: f64 = 36_000.0;

/// Reads a cell.
pub(super) fn read_cell(bytes: &[u8]) -> Result<Raster, String> {
    let headers = skip_labels(bytes)?;
    let uhl = headers.get(..UHL).ok_or("is truncated: its first header is not complete")?;
    let dsi = headers.get(UHL..UHL + DSI).ok_or("is truncated: its second header is not complete")?;
    let data = headers.get(UHL + DSI + ACC..).ok_or("is truncated: its third header is not complete")?;
    let [west, south] = [parse_angle(uhl, 4)?, parse_angle(uhl, 12)?];
    let step = |at: usize, what: &str| match parse_number(uhl, at, 4)? {
        0 => Err(format!("states an interval of 0 between {what}, so it is broken")),
        tenths => Ok(tenths as f64 / TENTHS),
    };
    let [step_x, step_y] = [step(20, "columns")?, step(24, "rows")?];
    let [cols, rows] = [parse_number(uhl, 47, 4)?, parse_number(uhl, 51, 4)?];
    // A partial cell may lack columns, so the data may have fewer bytes than the size needs. At least one is required.
    check_size([rows as u64, cols as u64], 2, bytes.len().saturating_mul(cols), 1)?;

    let record = RECORD_HEAD + 2 * rows + RECORD_CHECKSUM;
    let mut samples = vec![VOID; rows * cols];
    let mut notes = Notes::default();
    let mut is_read = vec![false; cols];
    // Some producers pad the file with zeros after the last record.
    for part in data.chunks(record).take_while(|part| part.first() == Some(&SENTINEL)) {
        if part.len() < record {
            return Err(format!("is truncated: a column of {rows} samples has {} bytes of {record}", part.len()));
        }
        // A record has a running number in three bytes, then its column, then its first row, which is 0.
        let col = usize::from(u16::from_be_bytes([part[4], part[5]]));
        if col >= cols || std::mem::replace(&mut is_read[col], true) {
            return Err(format!("has a record for column {col} of {cols}, or has it twice, so it is broken"));
        }
        check_sum(part, col, &mut notes)?;
        // A column begins in the south; row 0 of a raster is in the north.
        let column = part[RECORD_HEAD..record - RECORD_CHECKSUM].as_chunks::<2>().0.iter().rev();
        for (row, sample) in column.enumerate() {
            samples[row * cols + col] = decode_sample(*sample, &mut notes);
        }
    }
    let missing = is_read.iter().filter(|is_read| !**is_read).count();
    // Two digits state that the cell is partial; `00` is a complete one.
    if missing == cols || (missing > 0 && &dsi[289..291] == b"00") {
        return Err(format!("is truncated: {missing} of its {cols} columns are missing"));
    }

    let transform = [west - 0.5 * step_x, step_x, 0.0, south + (rows as f64 - 0.5) * step_y, 0.0, -step_y];
    let mut raster = Raster::new([rows, cols], Samples::I16(samples));
    for (name, source) in [("transform", "UHL, bytes 5 to 28"), ("crs", "DSI, bytes 145 to 149")] {
        raster.facts.record_source(name, FactSource::File(source.to_string()));
    }
    for name in ["nodata", "unit", "pixel"] {
        raster.facts.record_source(name, FactSource::Default("DTED".to_string()));
    }
    raster.facts.record("compression", "none", FactSource::Default("DTED".to_string()));
    raster.nodata = Some(VOID.into());
    raster.unit = Some("m".to_string());
    raster.georeference = Some(place_cell(dsi, transform, &mut raster.warnings));
    if missing > 0 {
        raster.warnings.push(format!("is a partial cell: {missing} of its {cols} columns are missing"));
    }
    notes.report(&mut raster.warnings);
    Ok(raster)
}

/// Skips the labels of a tape, of 80 bytes each, before the user header label.
fn skip_labels(bytes: &[u8]) -> Result<&[u8], String> {
    let mut rest = bytes;
    while rest.starts_with(b"VOL") || rest.starts_with(b"HDR") {
        rest = rest.get(UHL..).ok_or("is truncated: it ends after a label")?;
    }
    if rest.starts_with(b"UHL") { Ok(rest) } else { Err("is not DTED: it does not begin with `UHL1`".to_string()) }
}

/// Parses digits at a position of a header.
fn parse_number(header: &[u8], at: usize, count: usize) -> Result<usize, String> {
    let digits = &header[at..at + count];
    let number =
        std::str::from_utf8(digits).ok().map(str::trim).filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    number.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let text = plain::clip_text(&String::from_utf8_lossy(digits));
        format!("has `{}` in its header, where {count} digits are required", text.escape_default())
    })
}

/// Parses degrees, minutes, seconds and a hemisphere, such as `0710000W`, at a position of a header.
fn parse_angle(header: &[u8], at: usize) -> Result<f64, String> {
    let part = |at, count| Ok::<_, String>(parse_number(header, at, count)? as f64);
    let degrees = part(at, 3)? + part(at + 3, 2)? / 60.0 + part(at + 5, 2)? / 3600.0;
    let sign = match header[at + 7] {
        b'N' | b'E' => 1.0,
        b'S' | b'W' => -1.0,
        other => {
            return Err(format!(
                "has the hemisphere `{}`; it must be N, E, S or W",
                char::from(other).escape_default()
            ));
        }
    };
    if degrees > 180.0 {
        return Err(format!("begins at {degrees} degrees, which is not on the Earth"));
    }
    Ok(sign * degrees)
}

/// Observations about the samples of the whole cell.
#[derive(Default)]
struct Notes {
    /// The number of columns whose checksum is a number that no column can have.
    unset_checksums: usize,
    /// The number of samples in two's complement.
    complements: usize,
}

impl Notes {
    fn report(&self, warnings: &mut Vec<String>) {
        if self.unset_checksums > 0 {
            warnings.push(format!(
                "has no valid checksum in {} columns (zero, or more than any sum of their bytes), so damage in them \
                 would not be found",
                self.unset_checksums
            ));
        }
        if self.complements > 0 {
            warnings.push(format!(
                "has {} samples below {LOWEST} m as the format stores them; they are read in two's complement, as some \
                 programs write them",
                self.complements
            ));
        }
    }
}

/// Compares the checksum of a record, the sum of its bytes, with the bytes.
fn check_sum(record: &[u8], col: usize, notes: &mut Notes) -> Result<(), String> {
    let (bytes, stated) = record.split_at(record.len() - RECORD_CHECKSUM);
    let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
    let stated = u32::from_be_bytes([stated[0], stated[1], stated[2], stated[3]]);
    if stated == sum {
        return Ok(());
    }
    // Some producers leave the checksum out, or compute another. A sum that the bytes could have means damage.
    if stated == 0 || u64::from(stated) > 255 * bytes.len() as u64 {
        notes.unset_checksums += 1;
        return Ok(());
    }
    Err(format!(
        "is damaged: the bytes of column {col} (counted from the west) have the sum {sum}, and the file states \
         {stated}; get the file again"
    ))
}

/// Decodes a sample: a sign and a magnitude of 15 bits.
fn decode_sample(bytes: [u8; 2], notes: &mut Notes) -> i16 {
    let bits = u16::from_be_bytes(bytes);
    let magnitude = (bits & 0x7fff) as i16;
    let value = if bits & 0x8000 == 0 { magnitude } else { -magnitude };
    if value < LOWEST && value != VOID {
        notes.complements += 1;
        return bits as i16;
    }
    value
}

/// Returns the position of a cell. Cells have the datum WGS 84, and those of older editions WGS 72.
fn place_cell(dsi: &[u8], transform: [f64; 6], warnings: &mut Vec<String>) -> Georeference {
    let datum = String::from_utf8_lossy(&dsi[144..149]).trim().to_ascii_uppercase();
    let code = if datum == "WGS72" { 4322 } else { 4326 };
    if !["WGS84", "WGS72", ""].contains(&datum.as_str()) {
        warnings.push(format!("has the horizontal datum `{}`; it is read as WGS 84", datum.escape_default()));
    }
    geokeys::geographic_points(code, Some(transform))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a cell of these columns, from west to east, each from south to north.
    fn make_cell(origin: &str, columns: &[&[u16]]) -> Vec<u8> {
        let mut bytes = vec![b' '; UHL + DSI + ACC];
        let rows = columns[0].len();
        let uhl = format!("UHL1{origin}03001200NA  U  {:12}{:04}{rows:04}0", "", columns.len());
        bytes[..uhl.len()].copy_from_slice(uhl.as_bytes());
        bytes[UHL..UHL + 4].copy_from_slice(b"DSIU");
        bytes[UHL + 141..UHL + 149].copy_from_slice(b"E96WGS84");
        bytes[UHL + 289..UHL + 291].copy_from_slice(b"00");
        bytes[UHL + DSI..UHL + DSI + 3].copy_from_slice(b"ACC");
        for (col, samples) in columns.iter().enumerate() {
            let mut record = vec![SENTINEL, 0, 0, col as u8, 0, col as u8, 0, 0];
            samples.iter().for_each(|sample| record.extend_from_slice(&sample.to_be_bytes()));
            let sum: u32 = record.iter().map(|byte| u32::from(*byte)).sum();
            record.extend_from_slice(&sum.to_be_bytes());
            bytes.extend_from_slice(&record);
        }
        bytes
    }

    const COLUMNS: [&[u16]; 3] = [&[1, 2], &[0x8003, 0xffff], &[9000, 0x8000 | 430]];

    #[test]
    fn a_cell_by_hand() {
        let bytes = make_cell("0103000W0450000S", &COLUMNS);
        let raster = read_cell(&bytes).unwrap();
        assert_eq!(raster.size, [2, 3]);
        assert_eq!(raster.samples, Samples::I16(vec![2, VOID, -430, 1, -3, 9000]));
        assert_eq!((raster.nodata, raster.warnings.len()), (Some(-32767.0), 0));
        let georeference = raster.georeference.unwrap();
        assert_eq!(georeference.epsg(), Some(4326));
        // Steps of 30″ and 120″; the south-western sample is at 10°30′ W, 45° S.
        let [x, dx, _, y, _, dy] = georeference.transform.unwrap();
        assert_eq!([x, dx, dy], [-10.5 - 1.0 / 240.0, 1.0 / 120.0, -1.0 / 30.0]);
        assert_eq!(y, -45.0 + 1.5 / 30.0);
        // Labels of a tape come before the header.
        let label = |name: &str| format!("{name:80}").into_bytes();
        let tape = [label("VOL1"), label("HDR1"), bytes].concat();
        assert_eq!(read_cell(&tape).unwrap().samples, raster.samples);
    }

    #[test]
    fn damage_is_found() {
        let good = make_cell("0103000W0450000N", &COLUMNS);
        let data = UHL + DSI + ACC;
        let record = RECORD_HEAD + 4 + RECORD_CHECKSUM;
        let change = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            read_cell(&bytes)
        };
        let problem = change(data + record + RECORD_HEAD, 0).unwrap_err();
        assert!(problem.contains("bytes of column 1") && problem.contains("have the sum"), "{problem}");
        // A sum that no column can have is a checksum that the producer did not compute.
        assert!(change(data + record - 4, 0xff).unwrap().warnings[0].contains("checksum in 1 columns"));
        assert!(change(4 + 7, b'Q').unwrap_err().contains("hemisphere `Q`"));
        assert!(change(47, b'x').unwrap_err().contains("4 digits are required"));
        for end in 0..good.len() {
            assert!(read_cell(&good[..end]).is_err(), "{end}");
        }
        // A partial cell may lack columns, which have no data then.
        let mut partial = good[..good.len() - record].to_vec();
        partial[UHL + 289..UHL + 291].copy_from_slice(b"67");
        let raster = read_cell(&partial).unwrap();
        assert_eq!(raster.samples, Samples::I16(vec![2, VOID, VOID, 1, -3, VOID]));
        assert!(raster.warnings[0].contains("1 of its 3 columns are missing"));
    }

    #[test]
    fn samples_in_twos_complement_are_read_with_a_warning() {
        let raster = read_cell(&make_cell("0103000W0450000N", &[&[7, (-5i16) as u16]])).unwrap();
        assert_eq!(raster.samples, Samples::I16(vec![-5, 7]));
        assert!(raster.warnings[0].contains("has 1 samples below -16000 m"), "{:?}", raster.warnings);
    }
}
