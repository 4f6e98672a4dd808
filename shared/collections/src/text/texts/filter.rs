//! Refuses texts before any model sees them.

use crate::common::filter::{denied, foreign};
use dataperf::{Reason, Reasons, quote};

use crate::text::configuration::Configuration;
use crate::text::task::Task;

/// Everything for which a text of `task`, in its canonical form, is refused.
pub fn check(text: &str, task: Task, at: &str, configuration: &Configuration) -> Reasons {
    let mut reasons = Reasons::default();
    let (n_chars, least) = (text.chars().count(), configuration.min_chars);
    if n_chars < least {
        let message = format!("the text has {n_chars} characters, it needs at least {least}: write more");
        reasons.add(Reason::over(
            "text_too_short",
            at,
            least as u64,
            n_chars as u64,
            message,
        ));
    }
    let languages = configuration.languages(task);
    if let Some(language) = foreign(text, languages) {
        let allowed = languages.join("`, `");
        let message = format!("the text seems to be {language}: write it in `{allowed}`");
        reasons.add(Reason::new("foreign_language", at, message));
    }
    for term in denied(text, configuration.denied(task)) {
        let message = format!(
            "the organizer does not allow {} in `{task}`: leave it out",
            quote(term)
        );
        reasons.add(Reason::new("denied_term", at, message));
    }
    reasons
}
