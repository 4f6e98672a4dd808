//! Annotators: programs that rewrite a text until the model is fooled, and learn which rewrites fool it.

use super::chance::Chance;
use super::grammar::{Made, rewrites};
use super::{Settings, other_label};
use crate::text::texts::answers::Gold;

/// How often a rewrite is drawn at random, whatever it did before.
const EXPLORES: f64 = 0.3;

/// A program that writes examples.
pub(super) struct Annotator {
    pub(super) name: String,
    chance: Chance,
    /// For each rewrite the number of examples that it led to, and of those of them that fooled.
    seen: Vec<(f64, f64)>,
    text: Option<Made>,
    n_tries: usize,
    last: usize,
}

/// An annotator's submission.
pub(super) struct Written {
    pub(super) made: Made,
    /// The annotator's label, which is sometimes wrong.
    pub(super) gold: Gold,
    /// The name of the last rewrite.
    pub(super) rewrite: &'static str,
}

impl Annotator {
    pub(super) fn new(settings: &Settings, round: &str, number: usize) -> Self {
        let name = format!("annotator-{number:02}");
        Self {
            chance: Chance::new(settings.seed, &format!("{round}:{name}")),
            name,
            // a rewrite that was never tried counts as one that fools half the time
            seen: vec![(2.0, 1.0); rewrites(settings.task).len()],
            text: None,
            n_tries: 0,
            last: 0,
        }
    }

    /// The next example: the last text rewritten once more, or another text.
    pub(super) fn write(&mut self, settings: &Settings) -> Written {
        let chance = &mut self.chance;
        let before = match self.text.take() {
            Some(text) if self.n_tries < settings.n_tries => text,
            _ => {
                self.n_tries = 0;
                Made::plain(settings.task, chance)
            }
        };
        self.last = if chance.happens(EXPLORES) {
            chance.below(self.seen.len())
        } else {
            best(&self.seen)
        };
        let made = before.rewritten(self.last, chance);
        let truth = made.truth();
        let label = if chance.happens(settings.annotator_error) {
            other_label(settings.task, &truth, chance)
        } else {
            truth
        };
        self.n_tries += 1;
        self.text = Some(made.clone());
        Written {
            made,
            gold: label,
            rewrite: rewrites(settings.task)[self.last],
        }
    }

    /// Learns from the receipt: after an example that fooled the annotator begins with another text.
    pub(super) fn learn(&mut self, is_fooling: bool) {
        let (n, n_fooling) = &mut self.seen[self.last];
        *n += 1.0;
        *n_fooling += f64::from(u8::from(is_fooling));
        if is_fooling {
            self.text = None;
        }
    }
}

/// The rewrite that fooled most often, of several the first.
fn best(seen: &[(f64, f64)]) -> usize {
    let rates = seen.iter().map(|(n, n_fooling)| n_fooling / n).enumerate();
    let best = rates.reduce(|best, other| if other.1 > best.1 { other } else { best });
    best.map_or(0, |(idx, _)| idx)
}
