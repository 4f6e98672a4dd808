//! Which texts are refused before any model is asked.

use dataperf::{Reason, Reasons, quote};
use dataperf_collection::filter::{denied, foreign};

use crate::configuration::Configuration;
use crate::task::Task;

/// Everything for which a text of `task`, in its canonical form, is refused.
pub fn check(text: &str, task: Task, at: &str, configuration: &Configuration) -> Reasons {
    let mut reasons = Reasons::default();
    let (n_chars, least) = (text.chars().count(), configuration.min_chars);
    if n_chars < least {
        let message = format!("the text has {n_chars} characters, it needs at least {least}: say more");
        reasons.add(Reason::over(
            "text_too_short",
            at,
            least as u64,
            n_chars as u64,
            message,
        ));
    }
    let languages = configuration.languages(task);
    if let Some(found) = foreign(text, languages) {
        let allowed = languages.join("`, `");
        let message = format!("the text seems to be {found}: write it in `{allowed}`");
        reasons.add(Reason::new("foreign_language", at, message));
    }
    for term in denied(text, configuration.denied(task)) {
        let message = format!(
            "the text has {}, which is not taken in `{task}`: leave it out",
            quote(term)
        );
        reasons.add(Reason::new("denied_term", at, message));
    }
    reasons
}
