//! Noise: pure functions of world metres and a key.
