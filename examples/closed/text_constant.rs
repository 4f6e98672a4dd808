//! Adversarial Text: the same answer to every input of a task; of questions the context's first word. What every other model has to be better than.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o text_constant-rust.wasm text_constant.rs

mod text;

use text::{Answer, inputs, words, write};

fn main() {
    let inputs = inputs();
    let answer = |input: &text::Input| match input.task.as_str() {
        "nli" => Answer::Label("neutral"),
        "sentiment" => Answer::Label("neutral"),
        "hate-speech" => Answer::Label("not-hateful"),
        _ => {
            let (start, length) = words(&input.context).first().map_or((0, 0), |(at, word)| (*at, word.chars().count()));
            Answer::Span(start, input.context.chars().skip(start).take(length).collect())
        }
    };
    let answers: Vec<_> = inputs.iter().map(|input| (input, answer(input))).collect();
    write(&answers);
}
