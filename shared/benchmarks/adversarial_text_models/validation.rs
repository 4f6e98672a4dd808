//! The rules: exactly one answer for each input, and one that is possible in the input's task.

use dataperf::benchmark::closed::Measured;
use dataperf::{Reason, Reasons, Rejection, other_spellings, quote};
use dataperf_collections::text::Gold;
use dataperf_collections::text::compare::{AnswerLine, TrialError};

use super::artifact::{Artifact, NamedAnswer, not_measured};
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
            answers: settings,
            measured,
            mut reasons,
        } = artifact;
        let n_inputs = frozen.trial().lines().len();
        let mut answers = vec![None; n_inputs];
        let mut is_there = vec![false; n_inputs];
        for settings in settings {
            let Some(number) = number(&settings, n_inputs, &mut reasons) else {
                continue;
            };
            is_there[number] = true; // once: keys are, and an id has one spelling
            answers[number] = answer(&settings, number, frozen, &mut reasons);
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
fn number(line: &NamedAnswer, n_inputs: usize, reasons: &mut Reasons) -> Option<usize> {
    let number = line.id.parse::<usize>().ok();
    let number = number.filter(|number| number.to_string() == line.id && *number < n_inputs); // neither `007` nor `+7`
    if number.is_none() {
        let (id, last) = (quote(&line.id), n_inputs.saturating_sub(1));
        let is_known = |id: &String| id.parse::<usize>().is_ok_and(|number| number < n_inputs);
        let near = other_spellings(&line.id).into_iter().filter(is_known);
        reasons.add_unknown("ids of inputs", &line.id, near, || {
            let message = format!("{id} is not the id of an input: the ids are \"0\" to \"{last}\"");
            Reason::new("unknown_id", &line.at, message)
        });
    }
    number
}

/// The answer to an input; one that is not possible in the input's task is noted.
fn answer(answered: &NamedAnswer, number: usize, frozen: &Frozen, reasons: &mut Reasons) -> Option<Gold> {
    let Ok(line) = serde_json::from_slice::<AnswerLine>(&answered.answer.to_bytes()) else {
        let given = quote(&String::from_utf8_lossy(&answered.answer.to_bytes()));
        let message =
            format!("expected {{\"label\": \"...\"}} or {{\"start\": 0, \"text\": \"...\"}}, found {given}");
        reasons.add(Reason::new("wrong_form", &answered.at, message));
        return None;
    };
    let (line_one, label) = (&frozen.trial().lines()[number], line.label.clone());
    let note = |error: TrialError| {
        let reason = || Reason::new("bad_answer", &answered.at, error.to_string());
        match label {
            Some(label) => reasons.add_unknown("labels", &label, line_one.task.labels(), reason),
            None => reasons.add_with(reason),
        }
    };
    line_one.answer(line).map_err(note).ok()
}
