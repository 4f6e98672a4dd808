//! A rater's verdict on an example.

use crate::common::text::canonical;
use crate::common::{Fields, LineItem};
use dataperf::{Reason, Reasons, Rejection};
use serde::{Deserialize, Serialize};

use super::{Example, MAX_WHY_CHARS, Rules, check_gold, label, span};
use crate::text::ids::ExampleId;
use crate::text::texts::answers::{Gold, is_wrong};

/// One rater's finding on one example, made without seeing the author's label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The example.
    pub example: ExampleId,
    /// The finding.
    pub found: RaterFinding,
}

/// A rater's finding on a text: the right answer, or that it should not be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RaterFinding {
    /// The right answer: a label, or words of the context; nothing for a question that the context
    /// does not answer.
    Right(Option<Gold>),
    /// It is no example of the task: nonsense, private, or against the rules; with the reason.
    Flagged(String),
}

/// The meaning of a rater's finding for an example: whether its author is right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The author is right.
    Correct,
    /// Something else is right: another label or answer, or of a question none.
    Incorrect(Option<Gold>),
    /// It is no example of the task, with the rater's reason.
    Flagged(String),
}

impl Judgement {
    /// Whether two raters say the same: two who find the author wrong only do if they find the same right. Reasons of flags may differ.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Correct, Self::Correct) | (Self::Flagged(_), Self::Flagged(_)) => true,
            (Self::Incorrect(one), Self::Incorrect(other)) => match (one, other) {
                (Some(one), Some(other)) => one.says_the_same(other),
                (one, other) => one.is_none() && other.is_none(),
            },
            _ => false,
        }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Incorrect(_) => "incorrect",
            Self::Flagged(_) => "flagged",
        }
    }
}

impl RaterFinding {
    /// The meaning of the finding for `example`, whose context is `context`: the author is right if
    /// a model with the rater's answer would not be fooled. `at` is the place of the line.
    ///
    /// # Errors
    /// A [`Rejection`] if the finding does not fit the example's task. It does not reveal the
    /// author's label.
    pub fn about(&self, example: &Example, context: Option<&str>, at: &str) -> Result<Judgement, Rejection> {
        let (task, mut reasons) = (example.task, Reasons::default());
        let text = match self {
            Self::Flagged(why) => Judgement::Flagged(why.clone()),
            Self::Right(None) => {
                if !task.has_spans() {
                    let known = task.labels().join("`, `");
                    let message = format!("a text of `{task}` has a label: give a `label` of `{known}`");
                    reasons.add(Reason::new("missing_key", at, message));
                }
                Judgement::Incorrect(None)
            }
            Self::Right(Some(right)) => {
                check_gold(task, right, context, at, &mut reasons);
                if is_wrong(task, &example.gold, right) {
                    Judgement::Incorrect(Some(right.clone()))
                } else {
                    Judgement::Correct
                }
            }
        };
        reasons.into_verdict(text)
    }
}

impl LineItem for Verdict {
    type Rules = Rules;
    const MAX_LINES: usize = 500;
    const MAX_BYTES: u64 = 4 << 20;

    fn from_fields(mut fields: Fields<'_>, _rules: &Rules, reasons: &mut Reasons) -> Option<Self> {
        let example = fields.parsed(
            "example",
            "bad_example",
            "the id of an example: copy the 32 hexadecimal digits that the queue shows",
            [""; 0],
            |text| text.parse().ok(),
            reasons,
        );
        let (finding, known) = if fields.has("flagged") {
            let why = fields.text("flagged", MAX_WHY_CHARS, reasons);
            let finding = why.map(|why| RaterFinding::Flagged(canonical(&why)));
            (finding, "`example` and `flagged`")
        } else if fields.has("answer") {
            (answer(&mut fields, reasons), "`example` and `answer`")
        } else {
            let right = label(&mut fields, None, reasons);
            let known = "`example`, and `label`, `answer` or `flagged`";
            (right.map(|right| RaterFinding::Right(Some(right))), known)
        };
        fields.finish(known, reasons);
        Some(Self {
            example: example?,
            found: finding?,
        })
    }
}

/// Words of the context, or `null` if nothing in it answers the question.
fn answer(fields: &mut Fields<'_>, reasons: &mut Reasons) -> Option<RaterFinding> {
    let mut noted = Reasons::default();
    let right = span(fields, None, &mut noted);
    let is_good = noted.is_empty();
    reasons.append(noted);
    is_good.then_some(RaterFinding::Right(right))
}
