//! [`Progress`]: how a long operation reports its progress, and how its caller stops it.

use std::ops::ControlFlow;

use crate::base::error::{Error, Result};

/// A report of the progress of a long operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgressReport<'a> {
    /// The name of the current task, for example `streams` or `level 0 of hills: uplift`.
    pub task: &'a str,
    /// The number of finished steps. It does not decrease, except that a world that solves several continents, one
    /// after the other, starts again from 0 at each.
    pub done: u64,
    /// The total number of steps.
    pub total: u64,
}

impl<'a> ProgressReport<'a> {
    /// Makes the report that `done` of `total` steps are finished and that `task` is the current task.
    pub fn new(task: &'a str, done: u64, total: u64) -> Self {
        Self { task, done, total }
    }

    /// Sends the report to `progress`. Operations call this function and continue if it returns `Ok`.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] with the name of the task if `progress` stops the operation.
    pub fn send_to(&self, progress: &mut dyn Progress) -> Result<()> {
        match progress.report(self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { what: self.task.to_string() }),
        }
    }
}

/// Receives the reports of a long operation and may stop it.
///
/// Any closure from a [`ProgressReport`] to a [`ControlFlow`] implements this trait. [`NoProgress`] is for a caller
/// that neither watches nor stops.
///
/// The operation's documentation says when it reports: at the beginning of each task, or after each step. It reports
/// from the thread that does the work, which may be another than the caller's, and never from two threads at once. It
/// waits for the answer, so an answer should come quickly.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use thalweg_core::{Error, Progress, ProgressReport, Result};
///
/// fn sum_rows(rows: &[Vec<f64>], progress: &mut dyn Progress) -> Result<f64> {
///     let mut sum = 0.0;
///     for (done, row) in rows.iter().enumerate() {
///         ProgressReport::new("sum rows", done as u64, rows.len() as u64).send_to(progress)?;
///         sum += row.iter().sum::<f64>();
///     }
///     Ok(sum)
/// }
///
/// let rows = vec![vec![1.0, 2.0]; 10];
/// let sum = sum_rows(&rows, &mut |report: &ProgressReport<'_>| {
///     eprintln!("{}: {} of {}", report.task, report.done, report.total);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(sum, 30.0);
///
/// // This caller stops the operation after three rows.
/// let stopped = sum_rows(&rows, &mut |report: &ProgressReport<'_>| match report.done {
///     3 => ControlFlow::Break(()),
///     _ => ControlFlow::Continue(()),
/// });
/// assert!(matches!(stopped, Err(Error::Stopped { .. })));
/// # Ok::<(), Error>(())
/// ```
pub trait Progress: Send {
    /// Receives a report. After [`ControlFlow::Break`] the operation ends with [`Error::Stopped`] and leaves no
    /// incomplete output.
    fn report(&mut self, report: &ProgressReport<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(&ProgressReport<'_>) -> ControlFlow<()> + Send> Progress for F {
    fn report(&mut self, report: &ProgressReport<'_>) -> ControlFlow<()> {
        self(report)
    }
}

/// Ignores every report and never stops the operation.
///
/// # Examples
/// ```
/// use thalweg_core::{NoProgress, ProgressReport};
///
/// assert!(ProgressReport::new("streams", 3, 4).send_to(&mut NoProgress).is_ok());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&mut self, _: &ProgressReport<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closure_receives_reports_until_it_stops_the_operation() {
        let mut received = Vec::new();
        let mut progress = |report: &ProgressReport<'_>| {
            received.push((report.done, report.total));
            if report.done == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let stopped = (0..9).try_for_each(|done| ProgressReport::new("fill", done, 9).send_to(&mut progress));
        assert_eq!(stopped.unwrap_err().to_string(), "fill was stopped");
        assert_eq!(received, [(0, 9), (1, 9), (2, 9)]);
        assert!((0..9).all(|done| ProgressReport::new("fill", done, 9).send_to(&mut NoProgress).is_ok()));
    }
}
