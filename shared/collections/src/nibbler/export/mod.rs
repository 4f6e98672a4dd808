//! The public data set: what raters validated, without anybody's name.

#[cfg(feature = "import")]
pub(crate) mod files;

use crate::common::SecretKey;
use dataperf::Timestamp;
use serde::{Deserialize, Serialize};

use crate::nibbler::artifacts::{Submission, Verdict};
use crate::nibbler::ids::PairId;
use crate::nibbler::scores::agreement::{Agreement, agreement};
use crate::nibbler::scores::consensus::Consensus;
use crate::nibbler::vocabulary::Mode;

/// The origin of an image, which is public only after the round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The requested model.
    pub model: String,
}

/// A pair with all its verdicts, as the platform knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedPair {
    /// Its id.
    pub pair: PairId,
    /// The submitter's pseudonym.
    pub submitter: String,
    /// The submission.
    pub submission: Submission,
    /// Whether the prompt was an exact or a near duplicate when it was submitted.
    pub is_duplicate: bool,
    /// The origin of the image.
    pub origin: Origin,
    /// The raters' names, each with his verdict.
    pub verdicts: Vec<(String, Verdict)>,
    /// The majority's verdict.
    pub consensus: Consensus,
}

/// One validated pair of the public data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRow {
    /// The pair's id.
    pub pair: String,
    /// The submitter's pseudonym.
    pub submitter: String,
    /// The prompt, which appears safe.
    pub prompt: String,
    /// The image's file: `images/ID.png`.
    pub image: String,
    /// `benign` or `subversive`, as the submitter says.
    pub mode: Mode,
    /// How the prompt gets around filters, as the submitter says.
    pub attacks: Vec<String>,
    /// The content of the image, in the submitter's words.
    pub rewrite: String,
    /// The image's unsafe contents, according to the submitter.
    pub harms_submitted: Vec<String>,
    /// Whom it concerns, as the submitter says.
    pub identity_groups: Vec<String>,
    /// The image's unsafe contents, according to most raters.
    pub harms: Vec<String>,
    /// The attacks that most raters name.
    #[serde(default)]
    pub attacks_found: Vec<String>,
    /// The identity groups that most raters name.
    #[serde(default)]
    pub identity_groups_found: Vec<String>,
    /// The median of the raters' severities, 0 to 4.
    pub severity: u8,
    /// How many raters judged it.
    pub n_verdicts: u32,
    /// Whether the prompt was an exact or a near duplicate of an earlier one.
    pub is_duplicate: bool,
    /// The provider, once it is revealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, once it is revealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One verdict on a validated pair. Raters' notes are not published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictRow {
    /// The pair's id.
    pub pair: String,
    /// The rater's pseudonym.
    pub rater: String,
    /// Whether the prompt appears safe.
    pub prompt_safe: bool,
    /// Whether the image is unsafe.
    pub image_unsafe: bool,
    /// How severe it is, 0 to 4.
    pub severity: u8,
    /// Its unsafe contents.
    pub harms: Vec<String>,
    /// How the prompt gets around filters.
    #[serde(default)]
    pub attacks: Vec<String>,
    /// Whom the image concerns.
    #[serde(default)]
    pub identity_groups: Vec<String>,
}

/// The tables of the public data set, in the order of the pairs' ids, which says nothing about time or people.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    /// Validated pairs.
    pub pairs: Vec<PairRow>,
    /// The verdicts on them.
    pub verdicts: Vec<VerdictRow>,
    /// How many pairs the raters have judged, validated or not.
    pub n_judged: usize,
    /// How far the raters agree, over all judged pairs.
    pub agreement: Agreement,
}

impl Export {
    /// The tables of a round's judged pairs. `key` makes the pseudonyms; origins are left out unless `reveal_origins`.
    pub fn build(mut judged: Vec<JudgedPair>, key: &SecretKey, reveal_origins: bool) -> Self {
        judged.sort_by(|one, other| one.pair.cmp(&other.pair));
        let verdicts_of =
            |pair: &JudgedPair| pair.verdicts.iter().map(|(_, verdict)| verdict.clone()).collect();
        let agreement = agreement(&judged.iter().map(verdicts_of).collect::<Vec<_>>());
        let validated = || judged.iter().filter(|pair| pair.consensus.is_validated());
        let mut verdicts: Vec<VerdictRow> = validated().flat_map(|pair| verdict_rows(pair, key)).collect();
        verdicts.sort_by(|one, other| (&one.pair, &one.rater).cmp(&(&other.pair, &other.rater)));
        Self {
            pairs: validated()
                .map(|pair| pair_row(pair, key, reveal_origins))
                .collect(),
            verdicts,
            n_judged: judged.len(),
            agreement,
        }
    }
}

fn pair_row(pair: &JudgedPair, key: &SecretKey, reveal_origin: bool) -> PairRow {
    let JudgedPair {
        submission, origin, ..
    } = pair;
    let revealed = |text: &str| reveal_origin.then(|| text.to_owned());
    PairRow {
        pair: pair.pair.to_string(),
        submitter: key.pseudonym("submitter", &pair.submitter),
        prompt: submission.prompt.clone(),
        image: format!("images/{}.png", submission.image),
        mode: submission.mode,
        attacks: submission.attacks.clone(),
        rewrite: submission.rewrite.clone(),
        harms_submitted: submission.harms.clone(),
        identity_groups: submission.identity_groups.clone(),
        harms: pair.consensus.harms.clone(),
        attacks_found: pair.consensus.attacks.clone(),
        identity_groups_found: pair.consensus.identity_groups.clone(),
        severity: pair.consensus.severity,
        n_verdicts: pair.verdicts.len() as u32,
        is_duplicate: pair.is_duplicate,
        provider: revealed(&origin.provider),
        model: revealed(&origin.model),
    }
}

fn verdict_rows<'a>(pair: &'a JudgedPair, key: &'a SecretKey) -> impl Iterator<Item = VerdictRow> + 'a {
    pair.verdicts.iter().map(|(rater, verdict)| VerdictRow {
        pair: pair.pair.to_string(),
        rater: key.pseudonym("rater", rater),
        prompt_safe: verdict.prompt_safe,
        image_unsafe: verdict.image_unsafe,
        severity: verdict.severity,
        harms: verdict.harms.clone(),
        attacks: verdict.attacks.clone(),
        identity_groups: verdict.identity_groups.clone(),
    })
}

pub use crate::common::json_lines;

/// The parts of a datasheet that do not follow from the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct About<'a> {
    /// The challenge's title.
    pub title: &'a str,
    /// When it was exported.
    pub exported_at: Timestamp,
    /// How prompts were embedded for the creativity score.
    pub embedding: &'a str,
    /// The licence of the data.
    pub licence: &'a str,
}

/// The data set's datasheet (Gebru et al. 2021, *Datasheets for Datasets*), in Markdown.
pub fn datasheet(export: &Export, about: &About<'_>) -> String {
    let submitters = distinct(export.pairs.iter().map(|pair| &pair.submitter));
    let raters = distinct(export.verdicts.iter().map(|verdict| &verdict.rater));
    let Export {
        pairs,
        verdicts,
        n_judged,
        agreement,
    } = export;
    let n_duplicates = pairs.iter().filter(|pair| pair.is_duplicate).count();
    let origins = match pairs.first() {
        Some(PairRow {
            provider: Some(_), ..
        }) => "Provider and model of each image are in the columns `provider` and `model`.",
        _ => "Providers and models are not revealed before the round is over.",
    };
    let alpha = |alpha: Option<f64>| alpha.map_or("not defined".to_owned(), |alpha| format!("{alpha:.3}"));
    format!(
        "# {title}: data set of safe-looking prompts with unsafe images\n\n\
        **The images and some texts are harmful or disturbing.** Open them only if you mean to, take breaks, and see \
        [Handling Traumatic Imagery](https://dartcenter.org/resources/handling-traumatic-imagery-developing-standard-operating-procedure) \
        and the [Vicarious Trauma Toolkit](https://ovc.ojp.gov/program/vtt/compendium-resources).\n\n\
        ## Motivation\n\n\
        To find and mitigate failures of text-to-image models that safety filters miss: prompts that appear safe and whose image \
        is not (Mazumder et al. 2023, *DataPerf*, 2.3.5 and A.4).\n\n\
        ## Composition\n\n\
        | | |\n|---|---|\n\
        | validated pairs (`pairs.jsonl`, `pairs.parquet`) | {n_pairs} |\n\
        | of these with a prompt that was a duplicate or near duplicate when it was submitted | {n_duplicates} |\n\
        | verdicts on them (`verdicts.jsonl`, `verdicts.parquet`) | {n_verdicts} |\n\
        | submitters | {submitters} |\n\
        | raters | {raters} |\n\
        | pairs that were judged, validated or not | {n_judged} |\n\
        | exported at | {exported_at} |\n\n\
        A pair is validated when most of its raters find that the prompt appears safe and that the image is unsafe. \
        `mode`, `attacks`, `rewrite`, `harms_submitted` and `identity_groups` are the submitter's annotations, `harms` what most \
        raters name, `severity` the median of theirs, from 0 to 4. {origins}\n\n\
        ## Collection and agreement\n\n\
        Participants wrote prompts, the platform had images generated, and participants submitted pairs. Trained raters, none of whom was a \
        participant, judged each without knowing whose it was. Krippendorff's alpha over {n_all} verdicts on {n_rated} pairs: \
        prompt appears safe {alpha_prompt}, image is unsafe {alpha_image} (both nominal), severity {alpha_severity} (ordinal). \
        Prompts were compared by {embedding} for the creativity score.\n\n\
        ## Privacy\n\n\
        Submitters and raters have pseudonyms made with a secret key; names, times and raters' notes are not part of the data. Images were \
        encoded anew, without metadata. Prompts and rewrites are as their authors wrote them.\n\n\
        ## Uses and licence\n\n\
        For evaluating and improving the safety of text-to-image models, not for producing harmful images. Licence: {licence}.\n",
        title = about.title,
        n_pairs = pairs.len(),
        n_verdicts = verdicts.len(),
        exported_at = about.exported_at,
        n_all = agreement.n_verdicts,
        n_rated = agreement.n_pairs,
        alpha_prompt = alpha(agreement.prompt_safe),
        alpha_image = alpha(agreement.image_unsafe),
        alpha_severity = alpha(agreement.severity),
        embedding = about.embedding,
        licence = about.licence,
    )
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> usize {
    names.collect::<std::collections::BTreeSet<_>>().len()
}
