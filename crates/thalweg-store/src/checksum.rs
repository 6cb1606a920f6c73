//! CRC-32C (Castagnoli), with which the index of a Zarr shard ends (RFC 3720, appendix B.4).

/// Computes the checksum bit by bit. It is used on a shard's index only, a few hundred bytes, for which a table would
/// gain nothing.
pub fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78; // 0x1edc6f41 with its bits reversed
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        // The negation turns the lowest bit into a mask of all bits or none, which avoids a branch.
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (POLYNOMIAL & (sum & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
    }
}
