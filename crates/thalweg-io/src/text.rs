//! Numbers in text files of other programs: dialects of decimal separators and of words for no number.

use thalweg_core::base::names;

/// Removes a byte-order mark and checks that bytes are text in UTF-8. The error is the problem in words.
pub(super) fn decode_text(bytes: &[u8]) -> Result<&str, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("is text in UTF-16; save it as UTF-8".to_string());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|_| "is not text: it contains bytes that are not UTF-8".to_string())
}

/// Parses the numbers of a text and collects evidence about its decimal separator.
///
/// A number with a comma is read with a decimal comma. Whether that is right is known only when the whole text has been
/// read: [`NumberReader::check_commas`].
#[derive(Debug, Default)]
pub(super) struct NumberReader {
    /// The first number with a comma.
    first_comma: Option<String>,
    /// The first number with a point as its decimal separator.
    first_point: Option<String>,
    /// True if a number has a comma that cannot separate thousands, such as `0,5`.
    is_decimal: bool,
}

impl NumberReader {
    /// Parses a number; `None` for other words. Words for not a number are NaN, as the runtimes of C and of Windows
    /// write them (`-nan`, `nan(ind)`, `1.#QNAN`, `-1.#IND`), and so is `null`.
    pub(super) fn parse(&mut self, word: &str) -> Option<f64> {
        if let Ok(number) = word.parse::<f64>() {
            if self.first_point.is_none() && word.contains('.') {
                self.first_point = Some(names::format_short(word).into_owned());
            }
            return Some(number);
        }
        parse_special_number(word).or_else(|| self.parse_comma(word))
    }

    fn parse_comma(&mut self, word: &str) -> Option<f64> {
        let (whole, fraction) = word.split_once(',')?;
        // A second comma, or a comma at the end, separates numbers.
        if !whole.ends_with(|c: char| c.is_ascii_digit()) || !fraction.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let number = format!("{whole}.{fraction}").parse().ok()?;
        let digits = whole.trim_start_matches(['-', '+']);
        let is_group = fraction.len() == 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
        let may_be_thousands = is_group && digits.len() <= 3 && !digits.starts_with('0');
        self.is_decimal |= !may_be_thousands;
        self.first_comma.get_or_insert_with(|| names::format_short(word).into_owned());
        Some(number)
    }

    /// Rejects commas that may not be decimal separators.
    pub(super) fn check_commas(&self) -> Result<(), String> {
        let Some(comma) = &self.first_comma else { return Ok(()) };
        if let Some(point) = &self.first_point {
            return Err(format!(
                "has numbers with a comma (`{comma}`) and with a point (`{point}`); write all with a decimal point"
            ));
        }
        if !self.is_decimal {
            return Err(format!(
                "has numbers such as `{comma}`, whose comma may be a decimal comma or separate thousands; write them \
                 with a decimal point"
            ));
        }
        Ok(())
    }
}

/// Parses the words for infinities and for not a number that Rust's own parser does not know, and exponents with a D as
/// Fortran writes them.
fn parse_special_number(word: &str) -> Option<f64> {
    let lower = word.to_ascii_lowercase();
    let (sign, body) = match lower.strip_prefix('-') {
        Some(body) => (-1.0, body),
        None => (1.0, lower.strip_prefix('+').unwrap_or(&lower)),
    };
    // Windows prints 1.#INF00, 1.#QNAN0 and 1.#IND, with as many zeros as the format has digits.
    if let Some(name) = body.strip_prefix("1.#") {
        return match name.trim_end_matches('0') {
            "inf" => Some(sign * f64::INFINITY),
            "nan" | "qnan" | "snan" | "ind" => Some(f64::NAN),
            _ => None,
        };
    }
    if body == "null" || (body.starts_with("nan(") && body.ends_with(')')) {
        return Some(f64::NAN);
    }
    let is_number = body.starts_with(|c: char| c.is_ascii_digit() || c == '.') && body.contains('d');
    if is_number { lower.replacen('d', "e", 1).parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_numbers() {
        let parse = |word: &str| NumberReader::default().parse(word);
        for (word, number) in [
            ("1", 1.0),
            ("-1.5e3", -1500.0),
            ("+.5", 0.5),
            ("1.5D+03", 1500.0),
            ("2d-1", 0.2),
            ("12,5", 12.5),
            ("-0,25e1", -2.5),
            ("1.#INF", f64::INFINITY),
            ("-1.#INF00", f64::NEG_INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse(word), Some(number), "{word}");
        }
        for word in ["nan", "-nan", "NaN", "nan(ind)", "-nan(snan)", "1.#QNAN", "-1.#IND", "1.#IND00", "null", "NULL"] {
            assert!(parse(word).is_some_and(f64::is_nan), "{word}");
        }
        for word in ["", "-", "x", "1,", ",1", "1,2,3", "1.2,3", "0x10", "1.#", "1.#FOO", "d", "nan(", "1_000", "١"] {
            assert_eq!(parse(word), None, "{word}");
        }
    }

    #[test]
    fn commas_are_judged_by_all_numbers() {
        let check = |words: &[&str]| {
            let mut reader = NumberReader::default();
            words.iter().for_each(|word| assert!(reader.parse(word).is_some(), "{word}"));
            reader.check_commas()
        };
        assert_eq!(check(&["1", "2.5"]), Ok(()));
        assert_eq!(check(&["1,5", "100"]), Ok(()));
        assert_eq!(check(&["1,234", "0,500"]), Ok(()));
        assert_eq!(check(&["1,234", "4000,000"]), Ok(()));
        assert!(check(&["1,234", "12,000"]).unwrap_err().contains("`1,234`"));
        let both = check(&["2.5", "1,5"]).unwrap_err();
        assert!(both.contains("`1,5`") && both.contains("`2.5`"), "{both}");
        // A number that is not a number has no decimal separator.
        assert_eq!(check(&["1.#QNAN", "1,5"]), Ok(()));
    }

    #[test]
    fn texts_of_other_encodings() {
        assert_eq!(decode_text(b"\xef\xbb\xbfncols"), Ok("ncols"));
        assert!(decode_text(b"\xff\xfen\0").unwrap_err().contains("UTF-16"));
        assert!(decode_text(b"\xff").is_err());
    }
}
