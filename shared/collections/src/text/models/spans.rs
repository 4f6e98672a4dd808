//! Which words of a context answer a question: every span of a few words is weighed by a logistic regression.

use std::collections::BTreeSet;

use dataperf_numerics::models::logistic_regression::SparseLogistic;
use dataperf_numerics::sparse::SparseRows;
use dataperf_numerics::text::murmur3;
use serde::{Deserialize, Serialize};

use super::file::bad;
use super::{Labelled, ModelError, TrainError};
use crate::text::task::Task;
use crate::text::texts::answers::{Answer, Gold, Input, Span};
use crate::text::texts::squad::{normalised, token_f1};

/// The most words of a context that are looked at.
const MAX_CONTEXT_WORDS: usize = 1000;
/// The maximum number of wrong spans per question in training, in addition to the right one.
const N_OTHERS: usize = 40;
/// The least F1 with the right answer of a span that is trained as right, where no span says the same.
const RIGHT_FROM_F1: f64 = 0.5;
/// The distinguished beginnings of questions; the last covers all others.
const ASKS: [&str; 12] = [
    "who", "when", "where", "what", "which", "whose", "why", "how many", "how much", "how long", "how", "",
];
const N_SHAPES: usize = 7;
/// Number of columns that count the question's words near the span.
const N_NEAR: usize = 8;
/// Number of columns into which words are hashed.
const N_HASHED: u32 = 1 << 12;

/// The spans that may answer a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanSettings {
    /// The most words of a span, 1 to 20.
    pub max_words: usize,
}

impl Default for SpanSettings {
    fn default() -> Self {
        Self { max_words: 6 }
    }
}

impl SpanSettings {
    fn is_usable(&self) -> bool {
        (1..=20).contains(&self.max_words)
    }

    fn n_columns(&self) -> usize {
        ASKS.len() * (N_SHAPES * N_SHAPES + self.max_words) + N_NEAR + N_HASHED as usize
    }
}

/// A word of the context.
struct Word<'a> {
    begin: usize,
    end: usize,
    /// Characters before it.
    start: usize,
    text: &'a str,
    shape: usize,
    hash: u32,
    /// Whether the question has the word.
    is_asked: bool,
    /// Whether a sentence ends behind it.
    ends: bool,
    sentence: usize,
}

/// A question with its context, cut into words.
struct SpanRequest<'a> {
    context: &'a str,
    words: Vec<Word<'a>>,
    asks: usize,
    /// For each word, how many of the words before it the question has; the last number counts all
    /// words.
    n_of_question: Vec<u16>,
    /// For each sentence the share of the question's words that it has.
    shares: Vec<f64>,
}

/// Words that are too common to recognize a sentence by.
const COMMON: [&str; 30] = [
    "the", "a", "an", "of", "in", "on", "at", "to", "is", "was", "were", "are", "did", "do", "does", "and",
    "or", "by", "for", "with", "from", "that", "this", "it", "its", "be", "has", "had", "have", "as",
];

/// The beginning of a word in small letters: the same for most of its forms.
fn stem(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).take(5).collect()
}

fn shape(word: &str) -> usize {
    let has = |get: fn(char) -> bool| word.chars().any(get);
    let is_capital = word.chars().next().is_some_and(char::is_uppercase);
    if word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()) {
        0
    } else if has(char::is_numeric) {
        if has(char::is_alphabetic) { 1 } else { 2 }
    } else if word.chars().count() > 1 && word.chars().all(|c| c.is_uppercase() || !c.is_alphabetic()) {
        3
    } else if is_capital {
        4
    } else if COMMON.contains(&word) {
        5
    } else {
        6
    }
}

impl<'a> SpanRequest<'a> {
    fn new(question: &str, context: &'a str) -> Self {
        let question = question.to_lowercase();
        let of_question: Vec<&str> = question
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let together = of_question.join(" ");
        let padded = format!(" {together} ");
        let asks = ASKS.iter().position(|asks| padded.contains(&format!(" {asks} ")));
        let stems: BTreeSet<String> = of_question
            .iter()
            .filter(|word| !COMMON.contains(word) && !ASKS.contains(word))
            .map(|word| stem(word))
            .collect();
        let words = words_of(context, &stems);
        let n_sentences = words.last().map_or(0, |word| word.sentence + 1);
        let mut present = vec![BTreeSet::new(); n_sentences];
        for word in words.iter().filter(|word| word.is_asked) {
            present[word.sentence].insert(stem(word.text));
        }
        let share = |present: &BTreeSet<String>| present.len() as f64 / stems.len().max(1) as f64;
        let n_of_question = words.iter().scan(0, |n, word| {
            *n += u16::from(word.is_asked);
            Some(*n)
        });
        Self {
            n_of_question: std::iter::once(0).chain(n_of_question).collect(),
            context,
            asks: asks.unwrap_or(ASKS.len() - 1),
            shares: present.iter().map(share).collect(),
            words,
        }
    }

    /// First and last words of all spans, in their order.
    fn spans(&self, max_words: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.words.len()).flat_map(move |first| {
            let mut is_over = false;
            let lasts = (first..self.words.len().min(first + max_words)).take_while(move |&last| {
                let goes_on = !is_over;
                is_over = self.words[last].ends;
                goes_on
            });
            lasts.map(move |last| (first, last))
        })
    }

    fn text(&self, (first, last): (usize, usize)) -> &'a str {
        &self.context[self.words[first].begin..self.words[last].end]
    }

    /// The row of a span: columns, ascending, and their values.
    fn row(&self, settings: &SpanSettings, (first, last): (usize, usize), row: &mut Vec<(u32, f64)>) {
        row.clear();
        let (words, asks) = (&self.words, self.asks);
        let per_ask = N_SHAPES * N_SHAPES + settings.max_words;
        let shapes = words[first].shape * N_SHAPES + words[last].shape;
        row.push(((asks * per_ask + shapes) as u32, 1.0));
        row.push(((asks * per_ask + N_SHAPES * N_SHAPES + last - first) as u32, 1.0));
        let begin = (ASKS.len() * per_ask) as u32;
        let request =
            |begin: usize, end: usize| f64::from(self.n_of_question[end] - self.n_of_question[begin]);
        let behind = |n: usize| (last + 1 + n).min(words.len());
        let (near, far) = (3, 10);
        let numbers = [
            request(first, last + 1),
            request(first.saturating_sub(near), first) / 3.0,
            request(first.saturating_sub(far), first) / 10.0,
            request(last + 1, behind(near)) / 3.0,
            request(last + 1, behind(far)) / 10.0,
            self.shares[words[first].sentence],
            f64::from(u8::from(words[first].shape == 5)),
            f64::from(u8::from(words[last].shape == 5)),
        ];
        for (nth, number) in numbers
            .into_iter()
            .enumerate()
            .filter(|(_, number)| *number != 0.0)
        {
            row.push((begin + nth as u32, number));
        }
        let around = [
            first.checked_sub(1).map_or(1, |before| words[before].hash),
            words.get(last + 1).map_or(1, |behind| behind.hash),
            words[first].hash,
            words[last].hash,
        ];
        let mut hashed = [0; 4];
        for (nth, (to, hash)) in hashed.iter_mut().zip(around).enumerate() {
            let mixed = hash ^ ((nth * ASKS.len() + asks) as u32).wrapping_mul(0x9e37_79b1);
            *to = mixed.wrapping_mul(0x85eb_ca6b) >> (32 - N_HASHED.trailing_zeros());
        }
        hashed.sort_unstable();
        let first = begin + N_NEAR as u32;
        let once = (0..hashed.len()).filter(|&nth| nth == 0 || hashed[nth] != hashed[nth - 1]);
        row.extend(once.map(|nth| (first + hashed[nth], 1.0)));
    }
}

/// The words of a context, without the punctuation around them.
fn words_of<'a>(context: &'a str, b_tree_set: &BTreeSet<String>) -> Vec<Word<'a>> {
    let (mut words, mut sentence) = (Vec::new(), 0);
    let (mut at, mut start) = (0, 0);
    for piece in context.split_inclusive(char::is_whitespace) {
        let text = piece.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '$' | '€' | '£'));
        let trimmed = piece.trim_end();
        let ends = trimmed.contains(['.', '!', '?']) && !trimmed.ends_with(text)
            || piece.trim_end_matches([' ', '\t']).ends_with('\n');
        if !text.is_empty() && words.len() < MAX_CONTEXT_WORDS {
            // `trim_matches` gives a part of the piece
            let offset = piece.find(text).unwrap_or(0);
            let lower = text.to_lowercase();
            let stem = stem(text);
            words.push(Word {
                begin: at + offset,
                end: at + offset + text.len(),
                start: start + piece[..offset].chars().count(),
                text,
                shape: shape(text),
                hash: murmur3(lower.as_bytes()).cast_unsigned(),
                is_asked: b_tree_set.contains(&stem),
                ends,
                sentence,
            });
        }
        sentence += usize::from(ends && words.last().is_some_and(|word: &Word| word.sentence == sentence));
        at += piece.len();
        start += piece.chars().count();
    }
    words
}

/// Finds the answers of questions.
pub(super) struct SpanScorer {
    settings: SpanSettings,
    model: SparseLogistic,
}

impl SpanScorer {
    /// `model` gives the model of rows with so many columns.
    pub(super) fn new(
        settings: SpanSettings,
        model: impl FnOnce(usize) -> Result<SparseLogistic, ModelError>,
    ) -> Result<Self, ModelError> {
        if !settings.is_usable() {
            return Err(bad("spans of `qa` have 1 to 20 words"));
        }
        let model = model(settings.n_columns())?;
        Ok(Self { settings, model })
    }

    /// The span with the highest score, the first one of equals, and its share among all by their scores' exponentials. A context without a
    /// word has no answer.
    pub(super) fn answer(&self, input: &Input) -> Answer {
        let context = input.context.as_deref().unwrap_or_default();
        let request = SpanRequest::new(&input.text, context);
        let mut row = Vec::new();
        let mut best: Option<((usize, usize), f64)> = None;
        let mut scores = Vec::new();
        for span in request.spans(self.settings.max_words) {
            request.row(&self.settings, span, &mut row);
            let score = self.model.decision(row.iter().copied())[0];
            scores.push(score);
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((span, score));
            }
        }
        let (span, confidence) = match best {
            Some((span, most)) => {
                let sum: f64 = scores
                    .iter()
                    .map(|score| dataperf_numerics::exp(score - most))
                    .sum();
                let span = Span {
                    start: request.words[span.0].start,
                    text: request.text(span).to_owned(),
                };
                (span, 1.0 / sum)
            }
            None => (
                Span {
                    start: 0,
                    text: String::new(),
                },
                0.0,
            ),
        };
        Answer {
            gold: Gold::Span(span),
            probabilities: [("confidence".to_owned(), confidence)].into(),
        }
    }
}

/// For each question the right span and some others: rows, and 1 for the right ones.
pub(super) fn training_rows(
    settings: &SpanSettings,
    examples: &[&Labelled],
) -> Result<(SparseRows, Vec<usize>), TrainError> {
    let refused = |nth, why: &str| TrainError::BadExample {
        task: Task::Qa,
        nth,
        why: why.to_owned(),
    };
    if !settings.is_usable() {
        return Err(refused(0, "spans have 1 to 20 words: change `max_words`"));
    }
    let (mut rows, mut classes) = (SparseRows::new(settings.n_columns()), Vec::new());
    let mut row = Vec::new();
    for (nth, example) in examples.iter().enumerate() {
        let context = example.input.context.as_deref().unwrap_or_default();
        let Gold::Span(gold) = &example.gold else {
            return Err(refused(nth, "its answer is a label and has to be a span"));
        };
        if !gold.is_in(context) {
            return Err(refused(nth, "its context does not have the answer there"));
        }
        let request = SpanRequest::new(&example.input.text, context);
        let spans: Vec<(usize, usize)> = request.spans(settings.max_words).collect();
        // an answer that no span of at most `max_words` words says teaches nothing
        let Some(right) = nearest(&request, &spans, gold) else {
            continue;
        };
        for span in std::iter::once(right).chain(others(&request, &spans, right, gold)) {
            request.row(settings, span, &mut row);
            rows.push(row.iter().copied());
            classes.push(usize::from(span == right));
        }
    }
    Ok((rows, classes))
}

/// The span to train as right: the nearest one with the same text, else the most similar one.
fn nearest(request: &SpanRequest<'_>, spans: &[(usize, usize)], gold: &Span) -> Option<(usize, usize)> {
    let message = normalised(&gold.text);
    let distance = |span: &(usize, usize)| request.words[span.0].start.abs_diff(gold.start);
    let same = spans
        .iter()
        .filter(|span| normalised(request.text(**span)) == message);
    if let Some(span) = same.min_by_key(|span| distance(span)) {
        return Some(*span);
    }
    let end = gold.start + gold.text.chars().count();
    let overlaps = |span: &&(usize, usize)| {
        let (first, last) = (&request.words[span.0], &request.words[span.1]);
        first.start < end && last.start + last.text.chars().count() > gold.start
    };
    let scored = spans
        .iter()
        .filter(overlaps)
        .map(|span| (*span, token_f1(request.text(*span), &gold.text)));
    let best = scored.max_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(_, f1)| *f1 >= RIGHT_FROM_F1).map(|(span, _)| span)
}

/// Wrong spans for training: half of them overlap the right one, if there are so many, and a hash
/// selects the others.
fn others(
    request: &SpanRequest<'_>,
    spans: &[(usize, usize)],
    right: (usize, usize),
    gold: &Span,
) -> Vec<(usize, usize)> {
    let message = normalised(&gold.text);
    let wrong = spans
        .iter()
        .filter(|span| **span != right && normalised(request.text(**span)) != message);
    let (mut near, mut far): (Vec<_>, Vec<_>) =
        wrong.partition(|span| span.0 <= right.1 && span.1 >= right.0);
    let hash = |span: &(usize, usize)| {
        let bytes = [(span.0 as u32).to_le_bytes(), (span.1 as u32).to_le_bytes()].concat();
        (murmur3(&bytes), *span)
    };
    near.sort_by_key(hash);
    far.sort_by_key(hash);
    near.truncate(N_OTHERS / 2);
    far.truncate(N_OTHERS - near.len());
    near.append(&mut far);
    near
}
