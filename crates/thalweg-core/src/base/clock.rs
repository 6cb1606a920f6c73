//! [`YEAR`], and [`Clock`], which measures elapsed time where the platform has a clock.
//!
//! WebAssembly without a host interface has no clock, and reading the time there aborts the program. Measured seconds
//! are reported only: no decision depends on them.

use std::time::Instant;

/// The number of seconds in a year of 365.25 days.
pub const YEAR: f64 = 31_557_600.0;

/// A clock that measures the time since it was started.
pub struct Clock(Option<Instant>);

impl Clock {
    /// Starts a clock.
    pub fn start() -> Self {
        let is_there = cfg!(not(all(target_family = "wasm", target_os = "unknown")));
        Self(is_there.then(Instant::now))
    }

    /// Returns the seconds since the start; 0 where there is no clock.
    pub fn elapsed_seconds(&self) -> f64 {
        self.0.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }
}
