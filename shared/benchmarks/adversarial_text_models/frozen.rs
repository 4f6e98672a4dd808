//! The frozen part: the inputs, and the examples of all rounds with the right answers.

use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_collections::text::compare::{AskedLine, Numbered, Rates, Trial};
use dataperf_collections::text::{Gold, Span};
use dataperf_numerics::bootstrap::ItemMetric;

use super::{INPUTS_FILE, ITEM_NUMBERS, ITEMS, LEADERBOARD, NONE, Parameters, practice_file, round_file};

/// The unit of evidence: the examples of all rounds.
pub(super) const EXAMPLES: &str = "examples";
/// The number of classes of an example: one for each combination of [`RIGHT`], [`ROBUST`] and [`FAIR`].
pub(super) const N_CLASSES: usize = 8;
/// The part of a class that says that the answer is right.
pub(super) const RIGHT: u8 = 4;
/// The part of a class that says that the answer stays when the text is misspelt.
pub(super) const ROBUST: u8 = 2;
/// The part of a class that says that the answer stays when other people are in the text.
pub(super) const FAIR: u8 = 1;

/// The data that scoring keeps in memory: the parameters, the inputs and the examples.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    /// The inputs and the examples; without examples in a participants' kit that is not for practice.
    trial: Trial,
    /// How the examples are drawn; `None` in a participants' kit that is not for practice.
    drawn: Option<Drawn>,
}

/// How the examples of all rounds are drawn: whole annotators, over all rounds at once, so that each draw has every round.
#[derive(Debug)]
struct Drawn {
    /// `(n_items,)`: the class of a right answer that stays, the same for all, since labels mean something else in each task.
    truth: Vec<u8>,
    /// `(n_items,)`: the number of each example's round.
    rounds: Vec<usize>,
    /// `(n_items,)`: the number of each example's annotator, whose texts resemble each other.
    annotators: Vec<usize>,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let Parameters { title, rounds, .. } = manifest.parameters()?;
        let about = format!(
            "{title}: programs on the examples of {} rounds, in hundreds of points",
            rounds.len()
        );
        let board = Leaderboard::new(LEADERBOARD, about)
            .with_title(title)
            .with_metric("hundreds of points");
        Ok(vec![board])
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let lines = read_lines(files, parameters.n_inputs).await?;
        let mut items = None;
        // a kit does not have the hidden files, and may have those for practice
        let places: [fn(&str) -> String; 2] = [round_file, practice_file];
        let has_any = |place: &fn(&str) -> String| {
            let mut rounds = parameters.rounds.iter();
            rounds.any(|round| files.has(&place(round)))
        };
        if let Some(place) = places.into_iter().find(has_any) {
            let of_rounds = items.insert(Vec::new());
            for round in &parameters.rounds {
                of_rounds.extend(examples(files, &place(round), round, &lines).await?);
            }
        }
        let drawn = items
            .as_deref()
            .map(|items| Drawn::count(items, &parameters.rounds));
        let trial = Trial::of_numbered(items.unwrap_or_default(), lines)
            .map_err(|why| FrozenError::damaged(INPUTS_FILE, why))?;
        Ok(Self {
            parameters,
            trial,
            drawn,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let drawn = self.drawn()?;
        let items = EvalItems {
            groups: Some(&drawn.rounds),
            clusters: Some(&drawn.annotators),
            // an example's answer is right if it stays: the metric is the share of such examples
            ..EvalItems::from_metric(&drawn.truth, ItemMetric::Accuracy)
        };
        Ok(vec![(EXAMPLES.to_owned(), items)])
    }
}

impl Frozen {
    /// The rates: the gain or cost of a point.
    pub fn rates(&self) -> Rates {
        self.parameters.rates
    }

    /// The inputs and the examples; without examples in a participants' kit that is not for practice.
    pub fn trial(&self) -> &Trial {
        &self.trial
    }

    fn drawn(&self) -> Result<&Drawn, FrozenError> {
        self.drawn.as_ref().ok_or(FrozenError::ForParticipants {
            missing: "right answers",
        })
    }

    /// The examples of all rounds, round after round.
    pub(super) fn items(&self) -> Result<&[Numbered], FrozenError> {
        self.drawn().map(|_| self.trial.items())
    }
}

impl Drawn {
    fn count(items: &[Numbered], rounds: &[String]) -> Self {
        let number = |item: &Numbered| rounds.iter().position(|round| *round == item.round);
        Self {
            truth: vec![RIGHT + ROBUST + FAIR; items.len()],
            rounds: items
                .iter()
                .map(|item| number(item).unwrap_or_default())
                .collect(),
            annotators: items.iter().map(|item| item.annotator).collect(),
        }
    }
}

/// The inputs of a program, by their numbers.
async fn read_lines(files: &Files<'_>, n_inputs: usize) -> Result<Vec<AskedLine>, DatasetError> {
    let damaged = |why: String| FrozenError::damaged(INPUTS_FILE, why);
    let bytes = files.whole(INPUTS_FILE).await?;
    let text = std::str::from_utf8(&bytes).map_err(|_| damaged("it is not UTF-8".into()))?;
    let mut lines: Vec<AskedLine> = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let line: AskedLine =
            serde_json::from_str(line).map_err(|error| damaged(format!("line {}: {error}", nth + 1)))?;
        if line.id != nth.to_string() {
            return Err(damaged(format!("line {}: its id is not \"{nth}\"", nth + 1)).into());
        }
        lines.push(line);
    }
    if lines.len() != n_inputs {
        return Err(damaged(format!("it has {} inputs and not {n_inputs}", lines.len())).into());
    }
    Ok(lines)
}

/// The examples of a round, in the file `path`.
async fn examples(
    files: &Files<'_>,
    path: &str,
    round: &str,
    lines: &[AskedLine],
) -> Result<Vec<Numbered>, DatasetError> {
    let tensor = files.manifest().any_tensor(path, ITEMS)?;
    if tensor.dtype != Dtype::U32 || tensor.shape.get(1..) != Some(&[ITEM_NUMBERS]) {
        let why = format!("`{ITEMS}` has not {ITEM_NUMBERS} numbers of 32 bits for each example");
        return Err(FrozenError::damaged(path, why).into());
    }
    let bytes = files.tensor(path, ITEMS).await?;
    let (words, _) = bytes.as_chunks::<4>();
    let numbers: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (rows, _) = numbers.as_chunks::<ITEM_NUMBERS>();
    let mut examples = Vec::with_capacity(rows.len());
    for (nth, row) in rows.iter().enumerate() {
        let example = example(round, row, lines);
        let damaged = || {
            FrozenError::damaged(
                path,
                format!("the example {nth} has no input, or no right answer"),
            )
        };
        examples.push(example.ok_or_else(damaged)?);
    }
    Ok(examples)
}

fn example(round: &str, row: &[u32; ITEM_NUMBERS], requests: &[AskedLine]) -> Option<Numbered> {
    let [plain, misspelt, exchanged, label, start, n_chars, annotator] = *row;
    let some = |number: u32| (number != NONE).then_some(number as usize);
    let line = requests.get(plain as usize)?;
    let gold = if line.task.has_spans() {
        let context = line.input.context.as_deref().unwrap_or_default();
        let text: String = context
            .chars()
            .skip(start as usize)
            .take(n_chars as usize)
            .collect();
        let start = start as usize;
        let span = Span { start, text };
        span.is_in(context).then_some(Gold::Span(span))?
    } else {
        Gold::Label((*line.task.labels().get(label as usize)?).to_owned())
    };
    Some(Numbered {
        round: round.to_owned(),
        task: line.task,
        gold,
        plain: plain as usize,
        misspelt: some(misspelt),
        exchanged: some(exchanged),
        annotator: annotator as usize,
    })
}
