//! Baselines that ignore the texts: the least that programs have to beat. No program is run for them, so they cost nothing.

use std::collections::BTreeMap;

use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::progress::Progress;
use dataperf_baselines::random::Random;
use dataperf_baselines::{BaselineError, Baselines, Made, Method, no_such_method};
use dataperf_collections::text::compare::AskedLine;
use serde_json::{Value, json};

use super::{AdversarialTextModels, Frozen};

impl Baselines for AdversarialTextModels {
    const METHODS: &'static [Method] = &[
        Method {
            name: "constant",
            about: "the first label of each task, and that no question has an answer",
            source: "own, looks at no text",
        },
        Method {
            name: "random",
            about: "a label by chance, and of the context a word by chance",
            source: "own, looks at no text",
        },
    ];

    async fn artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
        method: &str,
        seed: u32,
        _progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        if !Self::METHODS.iter().any(|known| known.name == method) {
            return Err(no_such_method::<Self>(method));
        }
        let frozen = Frozen::open(&dataset.files(), leaderboard).await?;
        let mut random = (method == "random").then(|| Random::new(seed));
        let lines = frozen.trial().lines().iter();
        let answers: BTreeMap<&str, Value> = lines
            .map(|line| (line.id.as_str(), answer(line, random.as_mut())))
            .collect();
        let artifact = json!({ "answers": answers, "measured": { "fuel": 0, "memory_bytes": 0 } });
        Made::new(&artifact, json!({ "n_answers": answers.len() }))
    }
}

/// The answer to one input: the first label, or a random one where a generator is given.
fn answer(line: &AskedLine, random: Option<&mut Random>) -> Value {
    let labels = line.task.labels();
    match random {
        None if line.task.has_spans() => json!({ "start": 0, "text": "" }),
        None => json!({ "label": labels.first() }),
        Some(random) if line.task.has_spans() => {
            let context = line.input.context.as_deref().unwrap_or_default();
            let words: Vec<&str> = context.split_whitespace().collect();
            let word = words.get(random.below(words.len())).copied().unwrap_or_default();
            // any word of the context will do as a span, because it is certain to be in the context
            let begin = context.find(word).unwrap_or(0);
            json!({ "start": context[..begin].chars().count(), "text": word })
        }
        Some(random) => json!({ "label": labels[random.below(labels.len())] }),
    }
}
