//! The rules: exactly one answer for each input, and one that is possible in the input's task.

use dataperf::closed::Measured;
use dataperf::{Reason, Reasons, Rejection, other_spellings, quote};
use dataperf_text::Gold;
use dataperf_text::compare::{AnswerLine, TrialError};

use super::artifact::{Artifact, Said, not_measured};
use super::frozen::Frozen;

/// A submission that obeys the rules.
#[derive(Debug)]
pub struct Checked {
    /// `(n_inputs,)`: the answers in the order of the inputs.
    pub(super) answers: Vec<Gold>,
    pub(super) measured: Measured,
}

impl Checked {
    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact {
            answers: said,
            measured,
            mut reasons,
        } = artifact;
        let n_inputs = frozen.trial().asked().len();
        let mut answers = vec![None; n_inputs];
        let mut is_there = vec![false; n_inputs];
        for said in said {
            let Some(number) = number(&said, n_inputs, &mut reasons) else {
                continue;
            };
            is_there[number] = true; // once: keys are, and an id has one spelling
            answers[number] = answer(&said, number, frozen, &mut reasons);
        }
        let n_missing = is_there.iter().filter(|is_there| !**is_there).count();
        if let Some(first) = is_there.iter().position(|is_there| !is_there) {
            let n_answered = (n_inputs - n_missing) as u64;
            let message = format!(
                "{n_missing} of {n_inputs} inputs have no answer, the first is \"{first}\": answer each one"
            );
            reasons.add(Reason::over(
                "missing_answers",
                "/answers",
                n_inputs as u64,
                n_answered,
                message,
            ));
        }
        // without reasons every input has an answer, so that none is missing here
        let answers: Vec<Gold> = reasons.into_verdict(answers.into_iter().flatten().collect())?;
        let measured = measured.ok_or_else(not_measured)?;
        Ok(Self { answers, measured })
    }
}

/// The number of the input that is answered; an id that is no such number is noted.
fn number(said: &Said, n_inputs: usize, reasons: &mut Reasons) -> Option<usize> {
    let number = said.id.parse::<usize>().ok();
    let number = number.filter(|number| number.to_string() == said.id && *number < n_inputs); // neither `007` nor `+7`
    if number.is_none() {
        let (id, last) = (quote(&said.id), n_inputs.saturating_sub(1));
        let is_known = |id: &String| id.parse::<usize>().is_ok_and(|number| number < n_inputs);
        let near = other_spellings(&said.id).into_iter().filter(is_known);
        reasons.add_unknown("ids of inputs", &said.id, near, || {
            let message = format!("{id} is no id of an input: the ids are \"0\" to \"{last}\"");
            Reason::new("unknown_id", &said.at, message)
        });
    }
    number
}

/// The answer to an input; one that is not possible in the input's task is noted.
fn answer(said: &Said, number: usize, frozen: &Frozen, reasons: &mut Reasons) -> Option<Gold> {
    let Ok(line) = serde_json::from_slice::<AnswerLine>(&said.answer.to_bytes()) else {
        let found = quote(&String::from_utf8_lossy(&said.answer.to_bytes()));
        let message =
            format!("expected {{\"label\": \"...\"}} or {{\"start\": 0, \"text\": \"...\"}}, found {found}");
        reasons.add(Reason::new("wrong_form", &said.at, message));
        return None;
    };
    let (asked, label) = (&frozen.trial().asked()[number], line.label.clone());
    let note = |error: TrialError| {
        let reason = || Reason::new("bad_answer", &said.at, error.to_string());
        match label {
            Some(label) => reasons.add_unknown("labels", &label, asked.task.labels(), reason),
            None => reasons.add_with(reason),
        }
    };
    asked.answer(line).map_err(note).ok()
}
