//! A preset is the same world at any resolution.

mod same;

/// The goal's bound; docs/benchmarks.md has the figures at the goal's sizes, 512 and 1024 cells.
const BOUND: f64 = 0.95;

#[test]
fn finer_presets_are_the_same_world() {
    for (name, text) in same::presets() {
        let alike = same::likeness(&text, [128, 256], 64).expect("a preset runs");
        assert!(alike >= BOUND, "{name} at 128 and 256 cells: correlation {alike:.4}");
        assert!(alike < 0.999_999, "{name}: two resolutions cannot be the same to the bit");
    }
}
