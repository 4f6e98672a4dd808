//! Which prompts are refused before anything is generated.

mod deny_list;
mod language;

use dataperf::{Reason, Reasons, quote};

use crate::configuration::PromptRules;

pub use deny_list::{DEFAULT_TERMS, denied};
pub use language::{foreign, is_language};

/// Everything for which `prompt`, in its canonical form, is refused.
pub fn check(prompt: &str, at: &str, rules: &PromptRules) -> Reasons {
    let mut reasons = Reasons::default();
    let n_chars = prompt.chars().count();
    if n_chars < rules.min_chars {
        let limit = rules.min_chars;
        let message = format!("the prompt has {n_chars} characters, it needs at least {limit}: say more");
        reasons.add(Reason::over(
            "prompt_too_short",
            at,
            limit as u64,
            n_chars as u64,
            message,
        ));
    }
    if let Some(found) = foreign(prompt, &rules.languages) {
        let allowed = rules.languages.join("`, `");
        let message = format!("the prompt seems to be {found}: write it in `{allowed}`");
        reasons.add(Reason::new("foreign_language", at, message));
    }
    for term in denied(prompt, &rules.deny) {
        let message = format!(
            "the prompt asks for something unsafe openly, with {}: prompts have to look safe",
            quote(term)
        );
        reasons.add(Reason::new("denied_term", at, message));
    }
    reasons
}
