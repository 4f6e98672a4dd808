//! The artifact: `{"targets": {"job": ["job/1.wav", ...], ...}, "nontargets": ["about/2.wav", ...]}`.

use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, pointer, quote};

const TARGETS: &str = "targets";
const NONTARGETS: &str = "nontargets";
/// The keys of an artifact.
pub(super) const KEYS: [&str; 2] = [TARGETS, NONTARGETS];

/// One listed clip: its index in its list and its id.
pub(super) type Listed = (usize, String);

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    /// The clips of each word, in the order of the artifact's keys, which is also the order of the
    /// training rows.
    pub(super) targets: Option<Vec<(String, Vec<Listed>)>>,
    pub(super) nontargets: Option<Vec<Listed>>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is not JSON at all; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let artifact = Json::parse(artifact)?;
        let is_object = matches!(artifact, Json::Object(_));
        let mut reasons = Reasons::default();
        let (mut targets, mut nontargets) = (None, None);
        for (key, value) in artifact.into_members("", &mut reasons) {
            match key.as_str() {
                TARGETS => targets = Some(words(value, &mut reasons)),
                NONTARGETS => nontargets = Some(list(value, "/nontargets", &mut reasons)),
                _ => {
                    let message = format!(
                        "{} is not a key here: the keys are `targets` and `nontargets`",
                        quote(&key)
                    );
                    reasons.add(Reason::new("unknown_key", pointer("", &key), message));
                }
            }
        }
        if is_object {
            for (key, is_missing) in [(TARGETS, targets.is_none()), (NONTARGETS, nontargets.is_none())] {
                if is_missing {
                    let message = format!("`{key}` is missing: add it");
                    reasons.add(Reason::new("missing_key", "", message));
                }
            }
        }
        Ok(Self {
            targets: targets.flatten(),
            nontargets: nontargets.flatten(),
            reasons,
        })
    }
}

/// The list of each word; `None` if the value is no object, which has been noted.
fn words(value: Json, reasons: &mut Reasons) -> Option<Vec<(String, Vec<Listed>)>> {
    let is_object = matches!(value, Json::Object(_));
    let words = value.into_members("/targets", reasons).into_iter();
    let words = words.map(|(word, clips)| {
        let clips = clips.into_strings(&pointer("/targets", &word), reasons);
        (word, clips)
    });
    let words = words.collect();
    is_object.then_some(words)
}

fn list(value: Json, at: &str, reasons: &mut Reasons) -> Option<Vec<Listed>> {
    let is_array = matches!(value, Json::Array(_));
    let clips = value.into_strings(at, reasons);
    is_array.then_some(clips)
}
