//! Floating-point samples of 16 and 24 bits, which become 32-bit floats.

/// Converts a float of `1 + exponent_bits + fraction_bits` bits in the manner of IEEE 754, which a 32-bit float
/// represents exactly.
fn widen_float(bits: u32, exponent_bits: u32, fraction_bits: u32) -> f32 {
    let sign = (bits >> (exponent_bits + fraction_bits) & 1) << 31;
    let max_exponent = (1 << exponent_bits) - 1;
    let exponent = bits >> fraction_bits & max_exponent;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let widened_fraction = fraction << (23 - fraction_bits);
    // The biases are half of the greatest exponents.
    let bias = max_exponent >> 1;
    let magnitude = match exponent {
        // Zero and subnormal numbers are multiples of the least power of two, which 32 bits represent as a normal
        // number.
        0 => fraction as f32 * f32::from_bits((127 + 1 - bias - fraction_bits) << 23),
        exponent if exponent == max_exponent => f32::from_bits(0xff << 23 | widened_fraction),
        exponent => f32::from_bits((exponent + 127 - bias) << 23 | widened_fraction),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// Converts floats of 16 bits (IEEE 754) or of 24 bits (TIFF technical note 3: 7 bits of exponent, 16 of fraction) from
/// their bytes.
pub fn widen_floats(bytes: &[u8], bits: u64, big_endian: bool) -> Vec<f32> {
    let (width, exponent_bits, fraction_bits) = if bits == 16 { (2, 5, 10) } else { (3, 7, 16) };
    let add = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
    let number = |sample: &[u8]| match big_endian {
        true => sample.iter().fold(0, add),
        false => sample.iter().rev().fold(0, add),
    };
    bytes.chunks_exact(width).map(|sample| widen_float(number(sample), exponent_bits, fraction_bits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_those_of_ieee_754() {
        // Examples of the standard: one, the next number after one, two, the greatest, the least normal and the least
        // subnormal number, a third.
        for (bits, value) in [
            (0x3c00_u16, 1.0),
            (0x3c01, 1.000_976_6),
            (0xc000, -2.0),
            (0x7bff, 65_504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
            (0x0000, 0.0),
        ] {
            assert_eq!(widen_floats(&bits.to_le_bytes(), 16, false), [value], "{bits:x}");
            assert_eq!(widen_floats(&bits.to_be_bytes(), 16, true), [value], "{bits:x}");
        }
        assert!(widen_floats(&[0x00, 0x80], 16, false)[0].is_sign_negative());
        let special = widen_floats(&[0x7c, 0x00, 0xfc, 0x00, 0x7e, 0x00], 16, true);
        assert_eq!(special[..2], [f32::INFINITY, f32::NEG_INFINITY]);
        assert!(special[2].is_nan());
    }

    #[test]
    fn floats_of_24_bits_have_seven_bits_of_exponent() {
        // One has the exponent 63, which is the bias.
        let least = f32::from_bits(49 << 23); // 2⁻⁷⁸
        for (bits, value) in
            [(0x3f_0000, 1.0), (0x3f_8000, 1.5), (0xc0_0000, -2.0), (0x48_f400, 1000.0), (0x00_0001, least)]
        {
            let bytes = u32::to_be_bytes(bits);
            assert_eq!(widen_floats(&bytes[1..], 24, true), [value], "{bits:x}");
            assert_eq!(widen_floats(&u32::to_le_bytes(bits)[..3], 24, false), [value], "{bits:x}");
        }
    }
}
