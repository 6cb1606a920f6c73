//! Passes libFuzzer's inputs to the reader named by the environment variable `READER`. See xtask/src/fuzz.rs.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/thalweg/tests/corpus/readers.rs"]
mod readers;

fuzz_target!(|bytes: &[u8]| {
    static READER: OnceLock<fn(&[u8])> = OnceLock::new();
    let read = READER.get_or_init(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        pool.build_global().expect("the first pool");
        let name = std::env::var("READER").unwrap_or_default();
        let found = readers::READERS.iter().find(|(known, _)| *known == name);
        let Some((_, read)) = found else {
            let known = readers::READERS.map(|(known, _)| known).join(", ");
            panic!("READER = `{name}`: must be {known}");
        };
        *read
    });
    read(bytes);
});
