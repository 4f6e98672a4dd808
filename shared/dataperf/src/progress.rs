//! Progress reporting of long work.

/// Receives the progress of some work, to show it as a bar or as lines.
pub trait Progress: Sync {
    /// A phase begins: `activity` is being done to `n_steps` things.
    fn begin(&self, activity: &str, n_steps: u64);
    /// `n` more of them are done.
    fn advance(&self, n: u64);
    /// A remark for the person who started the work that is not an error.
    fn note(&self, _sentence: &str) {}
}

/// No progress is shown.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
