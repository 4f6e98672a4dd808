//! The raters' decision on an example.

use dataperf::{Reason, Rejection, quote};
use serde::{Deserialize, Serialize};

use crate::text::configuration::Validation;
use crate::text::lines::{Example, Judgement, RaterFinding};
use crate::text::texts::answers::Gold;

/// The decision on an example, by its raters or by the organizer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Its author is right.
    Correct,
    /// Something else is right; for a question, perhaps nothing.
    Incorrect(Option<Gold>),
    /// It is no example of the task.
    Flagged,
    /// Its raters don't agree.
    NoAgreement,
}

impl Decision {
    /// The decision that the author of `example`, whose context is `context`, is wrong: `right` is right instead; for a question, `None` says that
    /// nothing is.
    ///
    /// # Errors
    /// A [`Rejection`] where `right` can't be right about a text of the task, or is what the author says.
    pub fn incorrect(
        example: &Example,
        context: Option<&str>,
        right: Option<Gold>,
    ) -> Result<Self, Rejection> {
        match RaterFinding::Right(right).about(example, context, "")? {
            Judgement::Correct => Err(Reason::new("as_the_author", "", as_the_author(example)).into()),
            message => Ok(message.into()),
        }
    }

    /// The word in receipts and exports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Incorrect(_) => "incorrect",
            Self::Flagged => "flagged",
            Self::NoAgreement => "no_agreement",
        }
    }
}

/// The message that refuses a decision which says what the author of `example` says.
fn as_the_author(example: &Example) -> String {
    let (task, message) = (example.task, quote(example.gold.as_str()));
    if task.has_spans() {
        return format!(
            "this answer shares so many words with the author's, {message}, that the two count as the \
                same: use other words, or confirm the author's answer"
        );
    }
    let others: Vec<&str> = task
        .labels()
        .iter()
        .copied()
        .filter(|label| *label != example.gold.as_str())
        .collect();
    format!(
        "{message} is also the author's label: choose another label, `{}`, or confirm the author's label",
        others.join("` or `")
    )
}

impl From<Judgement> for Decision {
    fn from(verdict: Judgement) -> Self {
        match verdict {
            Judgement::Correct => Self::Correct,
            Judgement::Incorrect(right) => Self::Incorrect(right),
            Judgement::Flagged(_) => Self::Flagged,
        }
    }
}

/// The decision from the verdicts on an example, listed oldest first, each from another rater. The
/// first `validation.equal` equal verdicts decide; after `validation.most` without a decision there
/// is no agreement. `None` while more are needed. Verdicts after a decision change nothing.
///
/// ```
/// use dataperf_collections::text::{Decision, Judgement, Validation, decide};
/// let validation = Validation::default();
/// assert_eq!(decide(&[Judgement::Correct, Judgement::Correct], &validation), None);
/// assert_eq!(decide(&[Judgement::Correct, Judgement::Correct, Judgement::Correct], &validation), Some(Decision::Correct));
/// ```
pub fn decide(verdicts: &[Judgement], validation: &Validation) -> Option<Decision> {
    let counted = verdicts.get(..validation.most).unwrap_or(verdicts);
    for (idx, message) in counted.iter().enumerate() {
        let n_equal = counted[..=idx]
            .iter()
            .filter(|other| message.says_the_same(other))
            .count();
        if n_equal >= validation.equal {
            // answers with the same words may be at several places: the first one represents them
            let first = counted.iter().find(|other| message.says_the_same(other));
            return Some(first.unwrap_or(message).clone().into());
        }
    }
    (counted.len() >= validation.most).then_some(Decision::NoAgreement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::task::Task;
    use crate::text::texts::answers::Span;

    fn wrong(label: &str) -> Judgement {
        Judgement::Incorrect(Some(Gold::Label(label.into())))
    }

    #[test]
    fn enough_equal_verdicts_decide_an_example_for_good() {
        let decided = |verdicts: &[Judgement]| decide(verdicts, &Validation::default());
        let (yes, flag) = (Judgement::Correct, |why: &str| Judgement::Flagged(why.into()));
        assert_eq!(decided(&[]), None);
        assert_eq!(decided(&[yes.clone(), wrong("neutral"), yes.clone()]), None);
        let three = [yes.clone(), wrong("neutral"), yes.clone(), yes.clone()];
        assert_eq!(decided(&three), Some(Decision::Correct));
        let more = [&three[..], &[wrong("neutral"), wrong("neutral")]].concat();
        assert_eq!(decided(&more), Some(Decision::Correct));
        let neutral = Gold::Label("neutral".into());
        assert_eq!(
            decided(&[wrong("neutral"), wrong("neutral"), wrong("neutral")]),
            Some(Decision::Incorrect(Some(neutral)))
        );
        // other labels are other verdicts
        let split = [
            wrong("neutral"),
            wrong("contradiction"),
            wrong("neutral"),
            wrong("contradiction"),
        ];
        assert_eq!(decided(&split), None);
        let split = [&split[..], std::slice::from_ref(&yes)].concat();
        assert_eq!(decided(&split), Some(Decision::NoAgreement));
        let late = [&split[..], &[wrong("neutral")]].concat();
        assert_eq!(decided(&late), Some(Decision::NoAgreement));
        assert_eq!(
            decided(&[flag("spam"), yes, flag("a name"), flag("?")]),
            Some(Decision::Flagged)
        );
    }

    fn example(task: Task, gold: Gold) -> Example {
        Example {
            task,
            context_id: None,
            text: "a text".into(),
            gold,
            why: String::new(),
        }
    }

    fn refused(example: &Example, context: Option<&str>, right: Option<Gold>) -> String {
        let rejection = Decision::incorrect(example, context, right).unwrap_err();
        rejection.reasons()[0].message.clone()
    }

    #[test]
    fn an_incorrect_verdict_must_give_another_label() {
        let label = |label: &str| Some(Gold::Label(label.into()));
        let opinion = example(Task::Sentiment, Gold::Label("positive".into()));
        assert_eq!(
            Decision::incorrect(&opinion, None, label("neutral")).unwrap(),
            Decision::Incorrect(label("neutral"))
        );
        assert!(refused(&opinion, None, label("positive")).contains("`neutral` or `negative`"));
        assert!(refused(&opinion, None, None).contains("give a `label`"));
        assert!(refused(&opinion, None, label("sad")).contains("`negative`"));

        let (context, span) = ("The old road leads to the green mill.", |start, text: &str| {
            Gold::Span(Span {
                start,
                text: text.into(),
            })
        });
        let question = example(Task::Qa, span(26, "green mill"));
        for right in [None, Some(span(4, "old road"))] {
            assert_eq!(
                Decision::incorrect(&question, Some(context), right.clone()).unwrap(),
                Decision::Incorrect(right)
            );
        }
        assert!(refused(&question, Some(context), Some(span(32, "mill"))).contains("confirm the author's"));
        assert!(refused(&question, Some(context), Some(span(5, "old road"))).contains("set `start` to 4"));
        assert!(refused(&question, Some(context), label("neutral")).contains("`answer`"));
    }

    #[test]
    fn answers_compare_by_words_including_no_answer() {
        let answer = |start, text: &str| {
            Judgement::Incorrect(Some(Gold::Span(Span {
                start,
                text: text.into(),
            })))
        };
        let none = Judgement::Incorrect(None);
        let same = [answer(3, "The door"), answer(30, "door"), answer(4, "door")];
        assert_eq!(
            decide(&same, &Validation::default()),
            Some(same[0].clone().into())
        );
        let two = Validation {
            equal: 2,
            most: 3,
            ..Validation::default()
        };
        assert_eq!(
            decide(&[none.clone(), answer(3, "door"), none], &two),
            Some(Decision::Incorrect(None))
        );
    }
}
