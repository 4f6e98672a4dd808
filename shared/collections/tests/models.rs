//! The target models that are built in: what they learn, and what their files may be.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use dataperf_collections::text::models::{
    Embed, EncoderSettings, Labelled, LinearSettings, ModelError, SpanSettings, TargetModel, TrainError,
    read_encoder, read_linear, train_encoder, train_linear,
};
use dataperf_collections::text::{Gold, Input, Span, Task, fooled};

const ANIMALS: [&str; 6] = ["dog", "cat", "horse", "fox", "goat", "hen"];
const PLACES: [&str; 5] = ["Oslo", "Lima", "Accra", "Hanoi", "Quito"];

fn label(label: &str) -> Gold {
    Gold::Label(label.to_owned())
}

/// Texts of a small grammar, of each task; other seeds make others.
fn made(seed: usize, n: usize) -> Vec<Labelled> {
    let mut examples = Vec::new();
    for nth in 0..n {
        let k = seed * 7919 + nth * 31 + nth / 6 * 5;
        let (animal, other) = (ANIMALS[k % 6], ANIMALS[(k / 6 + 1 + k) % 6]);
        let place = PLACES[(k / 3) % 5];
        let year = 1900 + k % 97;
        let (text, message) = match nth % 3 {
            0 => (format!("There is a {animal} in {place}."), "entailment"),
            1 => (format!("There is no {animal} in {place}."), "contradiction"),
            _ => (format!("Perhaps somebody painted the {other}."), "neutral"),
        };
        let context =
            format!("A {animal} sleeps in {place} since {year}. It was found by Ada Smith near the river.");
        let input = |text: String| Input {
            context: Some(context.clone()),
            text,
        };
        examples.push(Labelled {
            task: Task::Nli,
            input: input(text),
            gold: label(message),
        });
        let (question, answer) = match nth % 3 {
            0 => ("Since when does it sleep there?".to_owned(), year.to_string()),
            1 => (format!("Where does the {animal} sleep?"), place.to_owned()),
            _ => (format!("Who found the {animal}?"), "Ada Smith".to_owned()),
        };
        examples.push(Labelled {
            task: Task::Qa,
            input: input(question),
            gold: Gold::Span(Span::find(&context, &answer).unwrap()),
        });
        let (text, message) = match nth % 3 {
            0 => (format!("I love the {animal} of {place}."), "positive"),
            1 => (format!("The {animal} of {place} is awful."), "negative"),
            _ => (format!("The {animal} of {place} is an animal."), "neutral"),
        };
        examples.push(Labelled {
            task: Task::Sentiment,
            input: Input { context: None, text },
            gold: label(message),
        });
    }
    examples
}

fn share_right(model: &dyn TargetModel, task: Task, examples: &[Labelled]) -> f64 {
    let of_task: Vec<&Labelled> = examples.iter().filter(|example| example.task == task).collect();
    let inputs: Vec<Input> = of_task.iter().map(|example| example.input.clone()).collect();
    let answers = model.answers(task, &inputs).unwrap();
    let pairs = of_task.iter().zip(&answers);
    let n_right = pairs
        .filter(|(example, answer)| !fooled(task, &example.gold, answer))
        .count();
    n_right as f64 / of_task.len() as f64
}

#[test]
fn a_linear_model_learns_the_grammar() {
    let file = train_linear(&made(1, 90), &LinearSettings::default()).unwrap();
    let (model, others) = (read_linear(&file).unwrap(), made(2, 60));
    for task in [Task::Nli, Task::Qa, Task::Sentiment] {
        let share = share_right(model.as_ref(), task, &others);
        assert!(share > 0.9, "{task}: {share}");
    }
    assert_eq!(
        model.answers(Task::HateSpeech, &[]).unwrap_err(),
        ModelError::OtherTask(Task::HateSpeech)
    );
}

#[test]
fn every_answer_is_one_that_there_can_be() {
    let model = read_linear(&train_linear(&made(1, 60), &LinearSettings::default()).unwrap()).unwrap();
    let contexts = [
        "",
        " \n",
        "Über ärger: 12 %… ok?",
        "e\u{301}\u{200b} 😀 x",
        "one. two! three? four\nfive",
    ];
    for context in contexts {
        let input = Input {
            context: Some(context.into()),
            text: "how many é, \u{202e}who?".into(),
        };
        for task in [Task::Nli, Task::Qa, Task::Sentiment] {
            let answer = &model.answers(task, std::slice::from_ref(&input)).unwrap()[0];
            match &answer.gold {
                Gold::Label(label) => assert!(task.labels().contains(&label.as_str())),
                Gold::Span(span) => assert!(
                    span.is_in(context) || span.text.is_empty(),
                    "{context:?}: {span:?}"
                ),
            }
            let sum: f64 = answer.probabilities.values().sum();
            assert!(task == Task::Qa || (sum - 1.0).abs() < 1e-9, "{sum}");
        }
    }
}

#[test]
fn training_is_identical_on_any_thread_count() {
    let examples = made(3, 240);
    let trained = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .unwrap();
        pool.install(|| train_linear(&examples, &LinearSettings::default()).unwrap())
    };
    assert!(trained(1) == trained(3));
}

#[test]
fn damaged_files_are_errors() {
    let settings = LinearSettings {
        words: dataperf_collections::text::models::Words {
            least: 1,
            most: 1,
            n_features: 64,
        },
        characters: dataperf_collections::text::models::Words {
            least: 3,
            most: 3,
            n_features: 32,
        },
        spans: SpanSettings { max_words: 2 },
        ..LinearSettings::default()
    };
    let file = train_linear(&made(1, 12), &settings).unwrap();
    assert!(read_linear(&file).is_ok());
    for n in (0..file.len() - 1).step_by(7) {
        assert!(matches!(read_linear(&file[..n]), Err(ModelError::BadFile(_))));
        for flipped in [0x01, 0x20, 0x80] {
            let mut damaged = file.clone();
            damaged[n] ^= flipped;
            // the digest's letters may be capital ones
            let is_the_same = n > file.len() - 70 && damaged.eq_ignore_ascii_case(&file);
            let is_refused = matches!(read_linear(&damaged), Err(ModelError::BadFile(_)));
            assert!(is_refused || is_the_same, "byte {n} of {}", file.len());
        }
    }
}

/// The same with a right digest: somebody made the file on purpose.
#[test]
fn hostile_model_files_fail_without_allocating_memory() {
    let sealed = |tasks: &str| {
        let value: serde_json::Value = serde_json::from_str(tasks).unwrap();
        let _ = value;
        let digest = dataperf::Digest::compute(tasks.as_bytes());
        format!(r#"{{"schema":1,"kind":"linear","tasks":{tasks},"digest":"{digest}"}}"#)
    };
    let head = |n_features: &str, labels: &str, columns: &str, values: &str| {
        format!(
            r#"{{"nli":{{"answers":"labels","words":{{"least":1,"most":2,"n_features":{n_features}}},"characters":{{"least":1,"most":2,"n_features":8}},"labels":{labels},"weights":{{"columns":"{columns}","values":"{values}"}}}}}}"#
        )
    };
    let two = r#"["entailment","neutral"]"#;
    let refused = |tasks: String, why: &str| match read_linear(sealed(&tasks).as_bytes()) {
        Err(ModelError::BadFile(message)) => assert!(message.contains(why), "{message}"),
        _ => panic!("{tasks}"),
    };
    // one column with a weight and an intercept
    assert!(read_linear(sealed(&head("8", two, "AQ==", "AACAPwAAgD8=")).as_bytes()).is_ok());
    refused(head("4294967295", two, "AQ==", "AACAPwAAgD8="), "n_features");
    refused(head("0", two, "AQ==", "AACAPwAAgD8="), "n_features");
    refused(head("8", two, "AQ==", "AACAfwAAgD8="), "finite"); // an infinite weight
    refused(head("8", two, "AQE=", "AACAPwAAgD8="), "finite"); // two columns
    refused(head("8", two, "AQA=", "AACAPwAAgD8="), "ascend"); // the same column again
    refused(head("8", two, "/////w8=", "AACAPwAAgD8="), "ascend"); // a column beyond
    refused(head("8", two, "gA==", "AACAPwAAgD8="), "ascend"); // half a column
    refused(head("8", two, "?", "AACAPwAAgD8="), "base 64");
    refused(head("8", r#"["entailment"]"#, "AQ==", "AACAPwAAgD8="), "labels");
    refused(
        head("8", r#"["entailment","entailment"]"#, "AQ==", "AACAPwAAgD8="),
        "labels",
    );
    refused(
        head("8", r#"["entailment","good"]"#, "AQ==", "AACAPwAAgD8="),
        "labels",
    );
    refused(
        head("8", two, "AQ==", "AACAPwAAgD8=").replace("nli", "qa"),
        "another kind",
    );
    refused("{}".into(), "no task");
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(
        read_linear(nested.as_bytes()),
        Err(ModelError::BadFile(_))
    ));
}

#[test]
fn unusable_training_data_explain_their_errors() {
    let settings = LinearSettings::default();
    assert_eq!(train_linear(&[], &settings).unwrap_err(), TrainError::NoExamples);
    let mut examples = made(1, 3);
    examples[0].gold = label("good");
    let refused = |examples: &[Labelled]| train_linear(examples, &settings).unwrap_err().to_string();
    assert!(refused(&examples).contains("`nli`, counted from 0: its answer is `good`"));
    let mut examples = made(1, 3);
    examples[1].gold = Gold::Span(Span {
        start: 0,
        text: "nowhere".into(),
    });
    assert!(refused(&examples[1..2]).contains("does not have the answer there"));
    assert!(refused(&made(1, 1)[..1]).contains("1 classes; at least 2"));
}

/// Vectors that are unrelated to a language: how often each letter occurs.
fn letters() -> Embed {
    Box::new(|texts| {
        let vector = |text: &&str| {
            let mut counts = vec![0.0_f32; 26];
            for byte in text.to_lowercase().bytes().filter(u8::is_ascii_lowercase) {
                counts[usize::from(byte - b'a')] += 0.1;
            }
            counts
        };
        Ok(texts.iter().map(vector).collect())
    })
}

#[test]
fn an_encoder_head_learns_and_checks_its_vectors() {
    let is_of_labels = |example: &Labelled| example.task != Task::Qa;
    let mut examples: Vec<Labelled> = made(1, 90).into_iter().filter(is_of_labels).collect();
    let train = |examples: &[Labelled]| train_encoder(examples, EncoderSettings::default(), &letters());
    let file = train(&examples).unwrap();
    let model = read_encoder(&file, letters()).unwrap();
    let share = share_right(model.as_ref(), Task::Sentiment, &made(2, 60));
    assert!(share > 0.9, "{share}");
    let other = read_encoder(&file, Box::new(|texts| Ok(vec![vec![0.0; 3]; texts.len()]))).unwrap();
    let inputs = [examples[0].input.clone()];
    let refused = other.answers(Task::Nli, &inputs).unwrap_err().to_string();
    assert!(refused.contains("3 numbers"), "{refused}");
    let silent = read_encoder(&file, Box::new(|_| Ok(Vec::new()))).unwrap();
    assert!(matches!(
        silent.answers(Task::Nli, &inputs),
        Err(ModelError::NoAnswer(_))
    ));
    assert!(matches!(read_linear(&file), Err(ModelError::BadFile(_))));
    examples.extend(made(1, 1).into_iter().filter(|example| example.task == Task::Qa));
    let refused = train(&examples).unwrap_err();
    assert_eq!(refused, TrainError::Model(ModelError::OtherTask(Task::Qa)));
}
