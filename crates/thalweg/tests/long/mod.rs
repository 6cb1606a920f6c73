//! Tests that have a long form: `cargo xtask test --long` runs them with larger counts.

/// `large` in the long run, `small` in every other.
#[must_use]
pub fn or<T>(small: T, large: T) -> T {
    if std::env::var_os("THALWEG_LONG").is_some() { large } else { small }
}
