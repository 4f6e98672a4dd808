//! Progress bars on standard error: standard output is for results.

use std::io::Write as _;
use std::sync::Mutex;

use dataperf::progress::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts things.
pub(crate) fn counting(n_steps: u64, activity: &str) -> ProgressBar {
    bar(
        n_steps,
        activity,
        "{msg:28} {wide_bar} {human_pos}/{human_len} {eta:>4}",
    )
}

/// A bar that counts bytes.
pub(crate) fn bytes(n_bytes: u64, activity: &str) -> ProgressBar {
    bar(
        n_bytes,
        activity,
        "{msg:28} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta:>4}",
    )
}

/// A spinner for a wait of unknown length.
pub(crate) fn waiting(activity: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(activity.to_owned());
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
}

fn bar(length: u64, activity: &str, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length)
        .with_style(style)
        .with_message(activity.to_owned())
}

/// The phases of an import or a baseline, a bar each.
#[derive(Default)]
pub(crate) struct PhaseBars {
    current: Mutex<Option<ProgressBar>>,
}

impl PhaseBars {
    fn with(&self, change: impl FnOnce(&mut Option<ProgressBar>)) {
        change(
            &mut self
                .current
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
    }

    /// Keeps the last bar on the screen.
    pub(crate) fn finish(&self) {
        self.with(|current| {
            if let Some(bar) = current.take() {
                bar.finish();
            }
        });
    }
}

impl Progress for PhaseBars {
    fn begin(&self, activity: &str, n_steps: u64) {
        self.finish();
        let bar = if n_steps == 0 {
            waiting(activity) // nobody knows how much there is
        } else {
            counting(n_steps, activity)
        };
        self.with(|current| *current = Some(bar));
    }

    fn advance(&self, n: u64) {
        self.with(|current| {
            if let Some(bar) = current {
                bar.inc(n);
            }
        });
    }

    fn note(&self, sentence: &str) {
        self.finish();
        let _ = writeln!(std::io::stderr(), "note: {sentence}");
    }
}
