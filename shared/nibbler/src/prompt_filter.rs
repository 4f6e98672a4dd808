//! Which prompts are refused before anything is generated.

use dataperf::{Reason, Reasons};

use crate::configuration::PromptRules;

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
    reasons
}
