//! Adversarial Text by a few rules: which of the text's words the context has, words that deny, words that praise, blame or insult.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o text_overlap-rust.wasm text_overlap.rs

mod text;

use std::collections::BTreeSet;

use text::{Answer, Input, inputs, words, write};

const DENIES: &[&str] = &["no", "not", "never", "nobody", "nothing", "none", "without", "t"];
const PRAISES: &[&str] = &["good", "great", "love", "loved", "wonderful", "best", "fine", "happy", "charming", "excellent"];
const BLAMES: &[&str] = &["bad", "awful", "hate", "hated", "terrible", "worst", "boring", "sad", "dull", "poor"];
const INSULTS: &[&str] = &["stupid", "vermin", "scum", "filthy", "inferior", "worthless", "disgusting"];
const COMMON: &[&str] = &["the", "a", "an", "is", "was", "are", "were", "in", "of", "to", "and", "did", "does", "who", "what", "when", "where", "which", "how"];

fn main() {
    let inputs = inputs();
    let answers: Vec<_> = inputs.iter().map(|input| (input, answer(input))).collect();
    write(&answers);
}

fn answer(input: &Input) -> Answer {
    let text: Vec<String> = words(&input.text).into_iter().map(|(_, word)| word).collect();
    let n_of = |list: &[&str]| text.iter().filter(|word| list.contains(&word.as_str())).count();
    let is_denied = n_of(DENIES) % 2 == 1;
    match input.task.as_str() {
        "nli" => {
            let context: BTreeSet<String> = words(&input.context).into_iter().map(|(_, word)| word).collect();
            let content: Vec<&String> = text.iter().filter(|word| !COMMON.contains(&word.as_str())).collect();
            let n_known = content.iter().filter(|word| context.contains(**word)).count();
            let is_context_denied = DENIES.iter().any(|word| context.contains(*word));
            match 3 * n_known >= 2 * content.len() - 2 * usize::from(is_denied && content.len() > 1) {
                _ if is_denied != is_context_denied && n_known > 0 => Answer::Label("contradiction"),
                true => Answer::Label("entailment"),
                false => Answer::Label("neutral"),
            }
        }
        "sentiment" => match (n_of(PRAISES) > n_of(BLAMES), n_of(BLAMES) > n_of(PRAISES)) {
            (true, _) => Answer::Label(if is_denied { "negative" } else { "positive" }),
            (_, true) => Answer::Label(if is_denied { "positive" } else { "negative" }),
            _ => Answer::Label("neutral"),
        },
        "hate-speech" if n_of(INSULTS) > 0 && !is_denied => Answer::Label("hateful"),
        "hate-speech" => Answer::Label("not-hateful"),
        _ => span(input, &text),
    }
}

/// The run of names or numbers, whatever the question asks for, that stands nearest to the question's words.
fn span(input: &Input, question: &[String]) -> Answer {
    let (context, chars) = (words(&input.context), input.context.chars().collect::<Vec<_>>());
    let wants_number = question.iter().any(|word| matches!(word.as_str(), "when" | "many" | "much" | "year" | "old"));
    let asked: BTreeSet<&String> = question.iter().filter(|word| !COMMON.contains(&word.as_str())).collect();
    let fits = |nth: usize| {
        let (at, word) = &context[nth];
        let is_number = word.chars().any(|c| c.is_ascii_digit());
        let is_wanted = if wants_number { is_number } else { chars[*at].is_uppercase() };
        is_wanted && !asked.contains(word) && !COMMON.contains(&word.as_str())
    };
    let end = |nth: usize| context[nth].0 + context[nth].1.chars().count();
    let mut best: Option<(usize, usize, usize)> = None;
    let mut nth = 0;
    while nth < context.len() {
        if !fits(nth) {
            nth += 1;
            continue;
        }
        let first = nth;
        // a run goes on as long as only a space is between its words
        while nth + 1 < context.len() && fits(nth + 1) && context[nth + 1].0 == end(nth) + 1 && chars[end(nth)] == ' ' {
            nth += 1;
        }
        let near = (0..context.len()).filter(|&other| asked.contains(&context[other].1));
        let distance = near.map(|other| other.abs_diff(first).min(other.abs_diff(nth))).min().unwrap_or(usize::MAX);
        if best.is_none_or(|(_, _, least)| distance < least) {
            best = Some((context[first].0, end(nth), distance));
        }
        nth += 1;
    }
    let (start, stop, _) = best.unwrap_or((0, 0, 0));
    Answer::Span(start, chars[start..stop].iter().collect())
}
