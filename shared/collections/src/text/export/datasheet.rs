//! A data set's datasheet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dataperf::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Counts, Export, Row, Split};
use crate::text::configuration::Validation;
use crate::text::task::Task;

/// The parts of a datasheet that do not follow from the rows: their origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The challenge's title.
    pub title: String,
    /// When it was exported.
    pub exported_at: Timestamp,
    /// The rules that the exported examples follow: several where they changed while the round went on.
    pub rules: Vec<RulesOfExamples>,
    /// The licence of the data.
    pub licence: String,
    /// The origin of data that no people wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
}

/// Rules by which examples of a round were taken and decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RulesOfExamples {
    /// The digest of the data set that has them, with its contexts and models.
    pub dataset: String,
    /// The number of exported examples that follow them.
    pub n_examples: usize,
    /// The kind of each model, by its name.
    pub targets: BTreeMap<String, String>,
    /// How examples are validated.
    pub validation: Validation,
}

/// The data set's datasheet (Gebru et al. 2021, *Datasheets for Datasets*), in Markdown.
pub fn datasheet(export: &Export, about: &About) -> String {
    let is_harmful = export.counts.keys().any(|task| task.is_harmful());
    let warning = if is_harmful {
        "**Some of the texts attack people for what they are.** Read them only if you mean to, and stop when you like.\n\n"
    } else {
        ""
    };
    let simulated = about
        .simulated
        .as_ref()
        .map(|message| format!("**No people wrote these texts:** {message}\n\n"))
        .unwrap_or_default();
    format!(
        "# {title}, round {round}: texts that were written to fool models\n\n{warning}{simulated}\
        ## Motivation\n\n\
        To find what models get wrong and people get right, to train better models, and to measure whether they are better (Kiela et al. 2021, \
        *Dynabench: Rethinking Benchmarking in NLP*).\n\n\
        ## Composition\n\n{composition}\n\
        Left out:\n\n{left_out}\n\
        No annotator is in two parts. The dev and test sets have examples that fooled the round's models and whose labels are verified; the train \
        set also those that fooled nobody, of which `is_verified` says whether anybody was asked. Exported at {exported_at}.\n\n\
        ## Collection and agreement\n\n\
        Annotators wrote texts, the round's models{models} answered at once, and a text counts as fooling where more than half of them were \
        wrong (questions: where the words of the answer have an F1 below 0.4). Raters, who saw neither the author nor the label nor the models' \
        answers, said what is right: {deciding}\
        Krippendorff's alpha (nominal):\n\n{agreement}\n\
        {datasets}.\n\n\
        ## Privacy\n\n\
        Annotators and raters have pseudonyms made with a secret key; names, times and the reasons of flags are not part of the data. Texts and \
        explanations are as their authors wrote them.\n\n\
        ## Uses and licence\n\n\
        For training and evaluating models. The texts were chosen to fool particular models: they say nothing about how often models err on texts as \
        people write them. Licence: {licence}.\n",
        title = about.title,
        round = export.round,
        composition = composition(export),
        left_out = left_out(&export.counts),
        exported_at = about.exported_at,
        models = models(&about.rules),
        deciding = deciding(&about.rules),
        agreement = agreement(export),
        datasets = datasets(&about.rules),
        licence = about.licence,
    )
}

/// The round's models, unless they changed.
fn models(rules: &[RulesOfExamples]) -> String {
    match rules {
        [only] => format!(" ({})", kinds(&only.targets)),
        _ => String::new(),
    }
}

/// How verdicts decide.
fn deciding(rules: &[RulesOfExamples]) -> String {
    if let [only] = rules {
        let Validation { equal, most, .. } = only.validation;
        let share = only.validation.share_of_others * 100.0;
        return format!(
            "{equal} equal verdicts of at most {most} decide. They got all fooling texts and {share} % of the others. "
        );
    }
    let mut table = "some equal verdicts decide. They got all fooling texts and a share of the others. The rules changed while the round went on, \
        and each example follows those by which it was taken:\n\n\
        | data set | examples | equal verdicts | of at most | share of the others | models |\n\
        |---|---|---|---|---|---|\n"
        .to_owned();
    for of_some in rules {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {} % | {} |",
            of_some.dataset,
            of_some.n_examples,
            of_some.validation.equal,
            of_some.validation.most,
            of_some.validation.share_of_others * 100.0,
            kinds(&of_some.targets)
        );
    }
    table + "\n"
}

fn datasets(rules: &[RulesOfExamples]) -> String {
    let named: Vec<String> = rules
        .iter()
        .map(|of_some| format!("`{}`", of_some.dataset))
        .collect();
    let plural = if named.len() == 1 { "" } else { "s" };
    let named = named.join(", ");
    format!("The data set{plural} with the rules, contexts and models of the round: {named}")
}

fn kinds(targets: &BTreeMap<String, String>) -> String {
    let named = targets.iter().map(|(name, kind)| format!("`{name}`: {kind}"));
    named.collect::<Vec<_>>().join(", ")
}

fn composition(export: &Export) -> String {
    let mut table =
        "| task | part | examples | fooling | verified | annotators |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for &task in export.counts.keys() {
        for (split, _) in Split::ALL {
            let rows: Vec<&Row> = export.part(split).filter(|row| row.task == task).collect();
            let n = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
            let annotators: BTreeSet<&String> = rows.iter().map(|row| &row.annotator).collect();
            let _ = writeln!(
                table,
                "| {task} | {} | {} | {} | {} | {} |",
                split.as_str(),
                rows.len(),
                n(|row| row.is_fooling),
                n(|row| row.is_verified),
                annotators.len()
            );
        }
    }
    table
}

fn left_out(counts: &BTreeMap<Task, Counts>) -> String {
    let mut table = "| task | submitted | duplicates | pending | refused | flagged | easy ones of dev and test annotators |\n\
        |---|---|---|---|---|---|---|\n"
        .to_owned();
    for (task, n) in counts {
        let _ = writeln!(
            table,
            "| {task} | {} | {} | {} | {} | {} | {} |",
            n.n_submitted, n.n_duplicates, n.n_pending, n.n_refused, n.n_flagged, n.n_easy
        );
    }
    table
}

fn agreement(export: &Export) -> String {
    let mut table = "| task | alpha | verdicts | examples |\n|---|---|---|---|\n".to_owned();
    for (task, agreement) in &export.agreement {
        let alpha = agreement
            .alpha
            .map_or("not defined".to_owned(), |alpha| format!("{alpha:.3}"));
        let _ = writeln!(
            table,
            "| {task} | {alpha} | {} | {} |",
            agreement.n_verdicts, agreement.n_examples
        );
    }
    table
}
