//! What raters decide about an example.

use dataperf::{Reason, Rejection, quote};
use serde::{Deserialize, Serialize};

use crate::answers::Gold;
use crate::configuration::Validation;
use crate::lines::{Example, Found, Said};

/// What is decided about an example, by its raters or by the organizer.
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
        match Found::Right(right).about(example, context, "")? {
            Said::Correct => Err(Reason::new("as_the_author", "", as_the_author(example)).into()),
            said => Ok(said.into()),
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
    let (task, said) = (example.task, quote(example.gold.as_str()));
    if task.has_spans() {
        return format!(
            "this answer has so many words in common with the author's, {said}, that the two count as the \
             same: give other words, or say that the author is right"
        );
    }
    let others: Vec<&str> = task
        .labels()
        .iter()
        .copied()
        .filter(|label| *label != example.gold.as_str())
        .collect();
    format!(
        "{said} is the author's label, too: choose another label, `{}`, or say that the author is right",
        others.join("` or `")
    )
}

impl From<Said> for Decision {
    fn from(said: Said) -> Self {
        match said {
            Said::Correct => Self::Correct,
            Said::Incorrect(right) => Self::Incorrect(right),
            Said::Flagged(_) => Self::Flagged,
        }
    }
}

/// What the verdicts on an example decide, listed oldest first, each from another rater. The first `validation.equal` equal verdicts decide;
/// after `validation.most` without a decision there is no agreement. `None` while more are needed. Verdicts after a decision change nothing.
///
/// ```
/// use dataperf_text::{Decision, Said, Validation, decide};
/// let validation = Validation::default();
/// assert_eq!(decide(&[Said::Correct, Said::Correct], &validation), None);
/// assert_eq!(decide(&[Said::Correct, Said::Correct, Said::Correct], &validation), Some(Decision::Correct));
/// ```
pub fn decide(verdicts: &[Said], validation: &Validation) -> Option<Decision> {
    let counted = verdicts.get(..validation.most).unwrap_or(verdicts);
    for (idx, said) in counted.iter().enumerate() {
        let n_equal = counted[..=idx]
            .iter()
            .filter(|other| said.says_the_same(other))
            .count();
        if n_equal >= validation.equal {
            // answers with the same words may stand at several places: the first one stands for them
            let first = counted.iter().find(|other| said.says_the_same(other));
            return Some(first.unwrap_or(said).clone().into());
        }
    }
    (counted.len() >= validation.most).then_some(Decision::NoAgreement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Span;
    use crate::task::Task;

    fn wrong(label: &str) -> Said {
        Said::Incorrect(Some(Gold::Label(label.into())))
    }

    #[test]
    fn so_many_equal_verdicts_decide_and_later_ones_change_nothing() {
        let of = |verdicts: &[Said]| decide(verdicts, &Validation::default());
        let (yes, flag) = (Said::Correct, |why: &str| Said::Flagged(why.into()));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[yes.clone(), wrong("neutral"), yes.clone()]), None);
        let three = [yes.clone(), wrong("neutral"), yes.clone(), yes.clone()];
        assert_eq!(of(&three), Some(Decision::Correct));
        let more = [&three[..], &[wrong("neutral"), wrong("neutral")]].concat();
        assert_eq!(of(&more), Some(Decision::Correct));
        let neutral = Gold::Label("neutral".into());
        assert_eq!(
            of(&[wrong("neutral"), wrong("neutral"), wrong("neutral")]),
            Some(Decision::Incorrect(Some(neutral)))
        );
        // other labels are other verdicts
        let split = [
            wrong("neutral"),
            wrong("contradiction"),
            wrong("neutral"),
            wrong("contradiction"),
        ];
        assert_eq!(of(&split), None);
        let split = [&split[..], std::slice::from_ref(&yes)].concat();
        assert_eq!(of(&split), Some(Decision::NoAgreement));
        let late = [&split[..], &[wrong("neutral")]].concat();
        assert_eq!(of(&late), Some(Decision::NoAgreement));
        assert_eq!(
            of(&[flag("spam"), yes, flag("a name"), flag("?")]),
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
    fn who_is_wrong_says_something_else_than_what_is_right() {
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
        assert!(
            refused(&question, Some(context), Some(span(32, "mill")))
                .contains("say that the author is right")
        );
        assert!(refused(&question, Some(context), Some(span(5, "old road"))).contains("it stands at 4"));
        assert!(refused(&question, Some(context), label("neutral")).contains("`answer`"));
    }

    #[test]
    fn answers_are_compared_by_their_words_and_no_answer_is_one() {
        let answer = |start, text: &str| {
            Said::Incorrect(Some(Gold::Span(Span {
                start,
                text: text.into(),
            })))
        };
        let none = Said::Incorrect(None);
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
