//! A recipe as a word that fits into the fragment of a link.
//!
//! The recipe's text is deflated (RFC 1951) and preceded by a byte with the version of this format, and then encoded
//! as base64url (RFC 4648, section 5) without padding, which links carry unchanged.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::recipe::Recipe;
use thalweg_core::{Error, Result};

/// The version that is written, and the only one that is read.
const VERSION: u8 = 1;
/// The longest text that a link may contain: a link of a few letters could unpack into a thousand times as many.
const MAX_TEXT_BYTES: u64 = 1 << 20;

impl Recipe {
    /// Returns the recipe as a word of letters, digits, `-` and `_`, from which [`Recipe::from_link`] restores the
    /// same recipe, whose run has the same bits. Files that it names are not included.
    ///
    /// # Errors
    /// Returns an error if the recipe's text is longer than a mebibyte.
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::presets::find_preset;
    /// use thalweg_sim::recipe::Recipe;
    ///
    /// let recipe = find_preset("hills")?;
    /// let link = recipe.to_link()?;
    /// assert_eq!(Recipe::from_link(&link)?.hash(), recipe.hash());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn to_link(&self) -> Result<String> {
        let text = self.to_toml();
        if text.len() as u64 > MAX_TEXT_BYTES {
            return Err(Error::invalid_value(
                "link",
                format!("a recipe of {} bytes", text.len()),
                format!("up to {MAX_TEXT_BYTES} bytes"),
            ));
        }
        let mut encoder = DeflateEncoder::new(vec![VERSION], Compression::best());
        let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
        packed.map(|bytes| URL_SAFE_NO_PAD.encode(bytes)).map_err(Error::io("link", "pack"))
    }

    /// Returns the recipe of a link's fragment, with or without its `#`.
    ///
    /// # Errors
    /// Returns an error if the word is empty, cut off or altered, or of another version, or if its text is over a
    /// mebibyte or no recipe.
    pub fn from_link(link: &str) -> Result<Self> {
        let link = link.trim().trim_start_matches('#');
        let bad = |why: &str| Error::Recipe(format!("the link contains no recipe: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(link)
            .map_err(|_| bad("it contains characters that a recipe link cannot contain, or it was truncated"))?;
        let (version, packed) = bytes.split_first().ok_or_else(|| bad("it is empty"))?;
        if *version != VERSION {
            return Err(bad(&format!("it has version {version}, but only version {VERSION} is supported")));
        }
        let mut text = String::new();
        // One byte more than allowed is unpacked, so that a text that is too long can be told from one that just fits.
        let read = DeflateDecoder::new(packed).take(MAX_TEXT_BYTES + 1).read_to_string(&mut text);
        if read.is_err() || text.is_empty() {
            return Err(bad("it was truncated or altered"));
        }
        if text.len() as u64 > MAX_TEXT_BYTES {
            return Err(bad(&format!("its text is longer than {MAX_TEXT_BYTES} bytes")));
        }
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::PRESETS;

    #[test]
    fn every_preset_comes_back_by_its_link() {
        for preset in PRESETS {
            let recipe = preset.recipe().unwrap();
            let link = recipe.to_link().unwrap();
            assert!(
                link.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)) && link.len() < 3000,
                "{}: {link}",
                preset.name
            );
            assert_eq!(Recipe::from_link(&format!("#{link}")).unwrap().to_toml(), recipe.to_toml());
        }
    }

    #[test]
    fn a_broken_link_is_one_clear_sentence() {
        let link = PRESETS[0].recipe().unwrap().to_link().unwrap();
        let told = |link: &str| Recipe::from_link(link).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told("").contains("is empty"));
        assert!(told("hello world").contains("characters that a recipe link cannot contain"));
        let half = told(&link[..link.len() / 2 / 4 * 4]);
        assert!(half.contains("truncated"), "{half}");
        let mut newer = URL_SAFE_NO_PAD.decode(&link).unwrap();
        newer[0] = 9;
        assert!(told(&URL_SAFE_NO_PAD.encode(&newer)).contains("version 9"));
        let packed = |text: &[u8]| {
            let mut encoder = DeflateEncoder::new(vec![VERSION], Compression::best());
            encoder.write_all(text).unwrap();
            URL_SAFE_NO_PAD.encode(encoder.finish().unwrap())
        };
        assert!(told(&packed(&vec![b' '; 3 << 20])).contains("longer than"));
        assert!(told(&packed(b"[[stage]]\nmodel = \"of_tomorrow\"\n")).contains("of_tomorrow"));
        assert!(told(&packed(&[0xff, 0xfe])).contains("altered"));
        // The error is a sentence, whatever the letters are.
        let letters: Vec<u8> = link.bytes().collect();
        for k in 0..link.len() {
            let mut other = link.clone().into_bytes();
            other[k] = letters[(k * 7 + 3) % letters.len()];
            let _ = Recipe::from_link(&String::from_utf8(other).unwrap());
        }
    }
}
