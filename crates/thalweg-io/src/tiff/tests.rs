use super::*;
use thalweg_core::terrain::grid::PixelIs;

/// Builds a TIFF file: one directory, then the values that do not fit into it, then one strip or the given chunks.
struct Hand {
    big_endian: bool,
    entries: Vec<(u16, u16, Vec<u64>)>,
    pixels: Vec<u8>,
}

impl Hand {
    /// Makes a grid of `size` samples of `bits` and `format` in one strip.
    fn new(big_endian: bool, [rows, cols]: [u64; 2], bits: u64, format: u64, pixels: Vec<u8>) -> Self {
        let entries = vec![
            (256, 3, vec![cols]),
            (257, 3, vec![rows]),
            (258, 3, vec![bits]),
            (259, 3, vec![1]),
            (262, 3, vec![1]),
            (273, 4, vec![0]), // filled in below
            (277, 3, vec![1]),
            (278, 3, vec![rows]),
            (279, 4, vec![pixels.len() as u64]),
            (339, 3, vec![format]),
        ];
        Self { big_endian, entries, pixels }
    }

    fn set(mut self, tag: u16, kind: u16, values: &[u64]) -> Self {
        self.entries.retain(|(t, ..)| *t != tag);
        self.entries.push((tag, kind, values.to_vec()));
        self.entries.sort_by_key(|(t, ..)| *t);
        self
    }

    fn without(mut self, tag: u16) -> Self {
        self.entries.retain(|(t, ..)| *t != tag);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let width = |kind: u16| [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8][kind as usize];
        let number = |value: u64, width: usize| {
            let bytes = value.to_le_bytes()[..width].to_vec();
            if self.big_endian { bytes.into_iter().rev().collect() } else { bytes }
        };
        let after = 8 + 2 + 12 * self.entries.len() + 4;
        let mut file: Vec<u8> = if self.big_endian { b"MM\0*".to_vec() } else { b"II*\0".to_vec() };
        file.extend(number(8, 4));
        file.extend(number(self.entries.len() as u64, 2));
        let mut extra: Vec<u8> = Vec::new();
        let extra_length: usize = self.entries.iter().map(|(_, k, v)| width(*k) * v.len()).filter(|l| *l > 4).sum();
        for (tag, kind, values) in &self.entries {
            file.extend(number(u64::from(*tag), 2));
            file.extend(number(u64::from(*kind), 2));
            file.extend(number(values.len() as u64, 4));
            let offsets = matches!(*tag, 273 | 324);
            let add = if offsets { (after + extra_length) as u64 } else { 0 };
            let mut data: Vec<u8> = values.iter().flat_map(|v| number(v + add, width(*kind))).collect();
            if data.len() > 4 {
                file.extend(number((after + extra.len()) as u64, 4));
                extra.extend(data);
            } else {
                data.resize(4, 0);
                file.extend(data);
            }
        }
        file.extend([0; 4]);
        file.extend(extra);
        file.extend(&self.pixels);
        file
    }
}

fn doubles(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn text(words: &str) -> Vec<u64> {
    words.bytes().chain([0]).map(u64::from).collect()
}

fn read_band(bytes: &[u8]) -> Result<Raster, String> {
    read_first_band(bytes, None)
}

#[test]
fn every_sample_type_in_both_byte_orders() {
    let little = |samples: &Samples| {
        let mut bytes = Vec::new();
        samples.write_le(&mut bytes, 3).unwrap();
        bytes
    };
    let all = [
        (Samples::U8(vec![0, 1, 2, 127, 128, 255]), 8, 1),
        (Samples::U16(vec![0, 1, 256, 4660, 32768, 65535]), 16, 1),
        (Samples::I16(vec![0, -1, 256, 4660, -32768, 32767]), 16, 2),
        (Samples::I32(vec![0, -1, 65536, i32::MIN, i32::MAX, 7]), 32, 2),
        (Samples::U32(vec![0, 1, 65536, 1 << 31, u32::MAX, 7]), 32, 1),
        (Samples::F32(vec![0.0, -1.5, 1e30, 0.1, f32::MIN, 7.25]), 32, 3),
        (Samples::F64(vec![0.0, -1.5, 1e300, 0.1, f64::MIN, 7.25]), 64, 3),
    ];
    for (samples, bits, format) in all {
        for big_endian in [false, true] {
            let mut pixels = little(&samples);
            if big_endian {
                pixels.chunks_mut(bits as usize / 8).for_each(<[u8]>::reverse);
            }
            let raster = read_band(&Hand::new(big_endian, [2, 3], bits, format, pixels).bytes()).unwrap();
            assert_eq!(raster, Raster::new([2, 3], samples.clone()));
        }
    }
}

#[test]
fn tiles_are_put_together_and_cut() {
    // 3 × 3 cells in tiles of 2 × 2: the right and lower tiles are padded with 99.
    let pixels = vec![1, 2, 4, 5, 3, 99, 6, 99, 7, 8, 99, 99, 9, 99, 99, 99];
    let file = Hand::new(false, [3, 3], 8, 1, pixels)
        .without(273)
        .without(278)
        .without(279)
        .set(322, 3, &[2])
        .set(323, 3, &[2])
        .set(324, 4, &[0, 4, 8, 12])
        .set(325, 4, &[4, 4, 4, 4]);
    assert_eq!(read_band(&file.bytes()).unwrap().samples, Samples::U8((1..=9).collect()));
}

#[test]
fn the_first_of_several_bands_is_taken() {
    let bands = |file: Hand| file.set(277, 3, &[2]).set(258, 3, &[8, 8]).set(339, 3, &[1, 1]);
    let chunky = bands(Hand::new(false, [2, 2], 8, 1, vec![1, 50, 2, 60, 3, 70, 4, 80]));
    let planar = bands(Hand::new(true, [2, 2], 8, 1, vec![1, 2, 3, 4, 50, 60, 70, 80]))
        .set(284, 3, &[2])
        .set(273, 4, &[0, 4])
        .set(279, 4, &[4, 4]);
    for file in [chunky, planar] {
        let raster = read_band(&file.bytes()).unwrap();
        assert_eq!(raster.samples, Samples::U8(vec![1, 2, 3, 4]));
        assert!(raster.warnings[0].contains("2 bands"));
    }
}

#[test]
fn geo_tags_nodata_scale_and_unit_are_read() {
    let metadata = r#"<GDALMetadata><Item name="SCALE" sample="1" role="scale">9</Item>
        <Item name="SCALE" sample="0" role="scale">0.5</Item><Item name="OFFSET" sample="0" role="offset">-10</Item>
        <Item name="UNITTYPE" sample="0" role="unittype">ft</Item></GDALMetadata>"#;
    let file = Hand::new(true, [1, 2], 16, 2, vec![0, 1, 0, 2])
        .set(33550, 12, &doubles(&[30.0, 30.0, 0.0]))
        .set(33922, 12, &doubles(&[1.0, 2.0, 0.0, 1000.0, 2000.0, 0.0]))
        .set(34735, 3, &[1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 2])
        .set(34736, 12, &doubles(&[0.25]))
        .set(34737, 2, &text("here|"))
        .set(42112, 2, &text(metadata))
        .set(42113, 2, &text("-32768 "));
    let raster = read_band(&file.bytes()).unwrap();
    let georeference = raster.georeference.unwrap();
    // pixel (1, 2) is at (1000, 2000), a centre: the first corner is 1.5 pixels west and 2.5 pixels north of it
    assert_eq!(georeference.transform, Some([955.0, 30.0, 0.0, 2075.0, 0.0, -30.0]));
    assert_eq!(georeference.pixel, PixelIs::Point);
    assert_eq!(georeference.keys, [1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 2]);
    assert_eq!((georeference.doubles, georeference.ascii.as_str()), (vec![0.25], "here|"));
    assert_eq!((raster.nodata, raster.scale, raster.unit.as_deref()), (Some(-32768.0), [0.5, -10.0], Some("ft")));
}

#[test]
fn a_matrix_is_read_and_control_points_are_refused() {
    let grid = || Hand::new(false, [1, 1], 8, 1, vec![7]);
    let mut matrix = [0.0; 16];
    (matrix[0], matrix[1], matrix[3], matrix[4], matrix[5], matrix[7]) = (2.0, 0.5, 100.0, 0.25, -2.0, 200.0);
    let raster = read_band(&grid().set(34264, 12, &doubles(&matrix)).bytes()).unwrap();
    assert_eq!(raster.georeference.unwrap().transform, Some([100.0, 2.0, 0.5, 200.0, 0.25, -2.0]));
    assert!(read_band(&grid().set(33922, 12, &doubles(&[0.0; 18])).bytes()).unwrap_err().contains("gdalwarp"));
}

#[test]
fn lying_and_foreign_files_are_refused_before_memory_is_taken() {
    let grid = || Hand::new(false, [2, 2], 8, 1, vec![1, 2, 3, 4]);
    let bad = [
        grid().set(256, 4, &[0]),
        grid().set(256, 4, &[0xffff_ffff]).set(257, 4, &[0xffff_ffff]).set(278, 4, &[0xffff_ffff]),
        grid().set(256, 4, &[100_000]).set(257, 4, &[100_000]),
        grid().set(257, 4, &[0xffff_ffff]).set(278, 4, &[1]),
        grid().set(259, 3, &[8]).set(256, 4, &[65_536]).set(257, 4, &[65_536]), // no deflate stream contains as much
        grid().set(259, 3, &[7]),                                               // JPEG
        grid().set(262, 3, &[2]),                                               // RGB
        grid().set(258, 3, &[12]),
        grid().set(258, 3, &[8]).set(339, 3, &[3]), // 8-bit float
        grid().set(317, 3, &[3]),                   // float predictor on whole numbers
        grid().set(277, 3, &[0]),
        grid().set(277, 3, &[65_535]),
        grid().set(278, 3, &[0]),
        grid().set(278, 3, &[1]), // two strips needed
        grid().set(279, 4, &[5]), // beyond the end
        grid().set(284, 3, &[3]),
        grid().set(324, 4, &[0]).set(325, 4, &[4]).set(322, 4, &[0xffff_ffff]).set(323, 4, &[0xffff_ffff]),
        grid().without(273),
        grid().without(256),
        grid().set(256, 12, &[2]),
        grid().set(33550, 12, &doubles(&[f64::NAN, 1.0, 0.0])).set(33922, 12, &doubles(&[0.0; 6])),
    ];
    for (k, file) in bad.iter().enumerate() {
        assert!(read_band(&file.bytes()).is_err(), "bad file {k} was read");
    }
    let whole = grid().bytes();
    for length in 0..whole.len() {
        assert!(read_band(&whole[..length]).is_err(), "{length} of {} bytes were read", whole.len());
    }
}

#[test]
fn rare_sample_types_are_widened() {
    let read = |pixels: Vec<u8>, bits, format, big_endian| {
        read_band(&Hand::new(big_endian, [1, 2], bits, format, pixels).bytes()).unwrap().samples
    };
    assert_eq!(read(vec![0xff, 0x80], 8, 2, false), Samples::I16(vec![-1, -128]));
    for big_endian in [false, true] {
        let bytes = |number: u64| if big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
        let pixels = [bytes(1234), bytes(i64::MIN as u64)].concat();
        assert_eq!(read(pixels.clone(), 64, 2, big_endian), Samples::F64(vec![1234.0, i64::MIN as f64]));
        assert_eq!(read(pixels, 64, 1, big_endian), Samples::F64(vec![1234.0, 2f64 * (1u64 << 62) as f64]));
        let mut pixels = vec![0x63, 0xd0, 0xfc, 0x00]; // 1000, −∞
        if !big_endian {
            pixels.chunks_mut(2).for_each(<[u8]>::reverse);
        }
        assert_eq!(read(pixels, 16, 3, big_endian), Samples::F32(vec![1000.0, f32::NEG_INFINITY]));
        let mut pixels = vec![0x48, 0xf4, 0x00, 0xc0, 0x00, 0x00];
        if !big_endian {
            pixels.chunks_mut(3).for_each(<[u8]>::reverse);
        }
        assert_eq!(read(pixels, 24, 3, big_endian), Samples::F32(vec![1000.0, -2.0]));
    }
}

#[test]
fn cells_with_an_alpha_of_0_are_masked() {
    // The bands are heights, something else, and alpha.
    let bands =
        |file: Hand, extra: &[u64]| file.set(277, 3, &[3]).set(258, 3, &[8; 3]).set(339, 3, &[1; 3]).set(338, 3, extra);
    let chunky = || Hand::new(false, [2, 2], 8, 1, vec![1, 9, 0, 2, 9, 255, 3, 0, 1, 4, 0, 0]);
    let planar = Hand::new(true, [2, 2], 8, 1, vec![1, 2, 3, 4, 9, 9, 0, 0, 0, 255, 1, 0])
        .set(284, 3, &[2])
        .set(273, 4, &[0, 4, 8])
        .set(279, 4, &[4, 4, 4]);
    for file in [bands(chunky(), &[0, 2]), bands(chunky(), &[0, 1]), bands(planar, &[0, 2])] {
        let raster = read_band(&file.bytes()).unwrap();
        assert_eq!(raster.samples, Samples::U8(vec![1, 2, 3, 4]));
        assert_eq!(raster.mask, Some(vec![true, false, false, true]));
        assert!(raster.warnings[0].contains("2 bands besides alpha"), "{:?}", raster.warnings);
    }
    // Extra samples that are not alpha, and a list of the wrong length.
    for extra in [&[0, 0][..], &[0], &[2, 2, 2, 2]] {
        let raster = read_band(&bands(chunky(), extra).bytes()).unwrap();
        assert!(raster.mask.is_none() || extra.len() == 4, "{extra:?}");
    }
    // The first band may be the alpha band.
    let raster = read_band(&bands(chunky(), &[2, 0, 0]).bytes()).unwrap();
    assert_eq!(raster.samples, Samples::U8(vec![9, 9, 0, 0]));
    assert_eq!(raster.mask, Some(vec![false; 4]));
}

#[test]
fn absent_tiles_have_the_value_for_no_data_or_0() {
    // 3 × 3 cells in tiles of 2 × 2, of which the right upper one is absent.
    let pixels = vec![1, 2, 4, 5, 7, 8, 99, 99, 9, 99, 99, 99];
    let file = || {
        Hand::new(false, [3, 3], 8, 1, pixels.clone())
            .without(273)
            .without(278)
            .without(279)
            .set(322, 3, &[2])
            .set(323, 3, &[2])
            .set(324, 4, &[0, 0, 4, 8])
            .set(325, 4, &[4, 0, 4, 4])
    };
    let read = |file: Hand, stated| read_first_band(&file.bytes(), stated).unwrap().samples;
    let expected = |fill| Samples::U8(vec![1, 2, fill, 4, 5, fill, 7, 8, 9]);
    assert_eq!(read(file(), None), expected(0));
    assert_eq!(read(file().set(42113, 2, &text("77")), None), expected(77));
    assert_eq!(read(file().set(42113, 2, &text("77")), Some(88.0)), expected(88));
    // A strip that is absent as a whole.
    let strip = || Hand::new(false, [2, 2], 8, 1, Vec::new());
    assert_eq!(read(strip(), None), Samples::U8(vec![0; 4]));
    // No byte of the file vouches for so many cells.
    let huge = strip().set(256, 4, &[3000]).set(257, 4, &[3000]).set(278, 4, &[3000]);
    assert!(read_band(&huge.bytes()).unwrap_err().contains("3000 × 3000"));
}

#[test]
fn scales_that_make_no_sense_are_refused() {
    let file = |items: &str| {
        let metadata = format!("<GDALMetadata>{items}</GDALMetadata>");
        Hand::new(false, [1, 2], 16, 2, vec![1, 0, 2, 0]).set(42112, 2, &text(&metadata)).bytes()
    };
    let item = |role: &str, value: &str| format!("<Item name=\"X\" sample=\"0\" role=\"{role}\">{value}</Item>");
    for value in ["0", "0,1", "nan", "inf", "metres"] {
        let problem = read_band(&file(&item("scale", value))).unwrap_err();
        assert!(problem.contains(&format!("the scale `{value}` (item SCALE")), "{problem}");
    }
    for value in ["0,1", "nan", "-inf"] {
        let problem = read_band(&file(&item("offset", value))).unwrap_err();
        assert!(problem.contains(&format!("the offset `{value}` (item OFFSET")), "{problem}");
    }
    let raster = read_band(&file(&(item("scale", "1") + &item("offset", "0")))).unwrap();
    assert!(raster.scaled && raster.scale == [1.0, 0.0]);
}
