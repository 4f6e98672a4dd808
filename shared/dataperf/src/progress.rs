//! How far long work is, for whoever wants to show it.

/// Is told how far some work is, for a progress bar.
pub trait Progress: Sync {
    /// A phase begins: `what` is being done to `n_steps` things.
    fn begin(&self, what: &str, n_steps: u64);
    /// `n` more of them are done.
    fn advance(&self, n: u64);
    /// Something that whoever started the work should know, and that is no error.
    fn note(&self, _sentence: &str) {}
}

/// No progress is shown.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
