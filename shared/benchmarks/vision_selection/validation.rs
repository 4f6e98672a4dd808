//! The rules: every concept is there; ids are of the pool, and distinct within a concept; both labels occur; the limit is kept.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::artifact::{Artifact, Example, Listed};
use super::frozen::Frozen;
use dataperf::dataset::frozen::ReadRows;
use dataperf::{Reason, Reasons, Rejection, offer, other_spellings, quote};

/// A submission that obeys the rules.
#[derive(Debug)]
pub struct Checked {
    /// The training sets, in the order of the concepts.
    concepts: Vec<Chosen>,
}

/// One concept's training set, in the artifact's order.
#[derive(Debug, Default)]
pub struct Chosen {
    /// `(n_examples, n_features)`, row after row, as the pool has them.
    pub(super) features: Vec<f32>,
    /// `(n_examples,)`: 1 if the label says that the image shows the concept, else 0.
    pub(super) labels: Vec<usize>,
}

/// Whether a submission is small enough for its ids to be looked up; the examples are counted first, which needs no look-up.
fn is_looked_up(artifact: &Artifact, frozen: &Frozen) -> bool {
    artifact.n_examples() <= frozen.max_examples()
}

/// How many ids are looked up in other spellings too, so that one mistake in all of them is seen.
const MAX_RESPELT: usize = 20;

/// The distinct ids of a submission, in its order, and other spellings of the first, each with the rows of the pool in which it may be found. None for
/// a submission with too many examples.
pub(super) fn candidates<'a>(artifact: &'a Artifact, frozen: &Frozen) -> Vec<(Cow<'a, str>, Range<usize>)> {
    if !is_looked_up(artifact, frozen) {
        return Vec::new();
    }
    let mut seen = std::collections::HashSet::new();
    let distinct: Vec<&str> = artifact.ids().filter(|id| seen.insert(*id)).collect();
    let respelt = distinct.iter().map(|id| other_spellings(id));
    let respelt = respelt.filter(|other| !other.is_empty()).take(MAX_RESPELT);
    let others: BTreeSet<String> = respelt
        .flatten()
        .filter(|id| !seen.contains(id.as_str()))
        .collect();
    let ids = distinct.into_iter().map(Cow::from);
    ids.chain(others.into_iter().map(Cow::from))
        .map(|id| {
            let rows = frozen.pool().candidates(&id);
            (id, rows)
        })
        .collect()
}

impl Checked {
    /// The training sets, in the order of the concepts.
    pub fn concepts(&self) -> &[Chosen] {
        &self.concepts
    }

    /// Checks a submission; `records` are the pool's records for [`candidates`], one after another.
    pub(super) fn new(artifact: &Artifact, frozen: &Frozen, records: &ReadRows) -> Result<Self, Rejection> {
        let mut vector_of = HashMap::new();
        let mut found_idx = 0;
        for (id, rows) in candidates(artifact, frozen) {
            for _ in rows {
                if let Some(vector) = frozen.pool().vector(records.row(found_idx), &id) {
                    vector_of.insert(id.clone(), vector);
                }
                found_idx += 1;
            }
        }
        let mut rules = Rules {
            frozen,
            vector_of: is_looked_up(artifact, frozen).then_some(vector_of),
            reasons: Reasons::default(),
            n_listed: 0,
        };
        let mut concepts: BTreeMap<&str, Chosen> = BTreeMap::new();
        for listed in &artifact.concepts {
            let chosen = rules.chosen(listed);
            concepts.insert(&listed.concept, chosen);
        }
        let chosen = frozen
            .concepts()
            .iter()
            .map(|concept| rules.present(concept, &mut concepts))
            .collect();
        let n_listed = rules.n_listed;
        let listed: BTreeSet<&str> = artifact.ids().collect();
        let near = rules.vector_of.iter().flat_map(HashMap::keys).map(AsRef::as_ref);
        let near: Vec<&str> = near.filter(|id| !listed.contains(id)).collect();
        rules.reasons.compare_unknown("ids", n_listed, near);
        let (n_examples, limit) = (artifact.n_examples(), frozen.max_examples());
        if n_examples > limit {
            let message = format!(
                "the submission labels {n_examples} images in all concepts together, the limit is {limit}. \
                    The platform checks ids only within the limit. Remove {} of the images",
                n_examples - limit
            );
            rules.reasons.add(Reason::over(
                "too_many_examples",
                "",
                limit as u64,
                n_examples as u64,
                message,
            ));
        }
        let mut reasons = artifact.reasons.clone();
        reasons.append(rules.reasons);
        reasons.into_verdict(Self { concepts: chosen })
    }
}

struct Rules<'a> {
    frozen: &'a Frozen,
    /// The vector of each id that the pool has; `None` if nothing was looked up.
    vector_of: Option<HashMap<Cow<'a, str>, &'a [u8]>>,
    reasons: Reasons,
    /// The number of images that were looked up.
    n_listed: usize,
}

impl Rules<'_> {
    fn chosen(&mut self, listed: &Listed) -> Chosen {
        let Listed {
            at,
            concept,
            examples,
        } = listed;
        let mut chosen = Chosen::default();
        if !self.frozen.concepts().contains(concept) {
            self.reasons
                .add_unknown("concepts", concept, self.frozen.concepts(), || {
                    let known = offer(concept, self.frozen.concepts());
                    let message = format!("{} is not a concept: {known}", quote(concept));
                    Reason::new("unknown_concept", at, message)
                });
            return chosen;
        }
        let Some(examples) = examples else {
            return chosen;
        };
        if self.vector_of.is_some() {
            let n_numbers = examples.len() * self.frozen.n_features();
            chosen.features.reserve_exact(n_numbers);
        }
        let mut first_seen: HashMap<&str, &Example> = HashMap::new();
        let mut n_of_label = [0u64; 2];
        for example in examples {
            if let Some(first) = first_seen.insert(&example.id, example) {
                let message = format!(
                    "{} is also at `{}`: remove one of the two",
                    quote(&example.id),
                    listed.at(first)
                );
                self.reasons
                    .add(Reason::new("duplicate_image", listed.at(example), message));
                continue;
            }
            self.n_listed += 1;
            let vector = match self
                .vector_of
                .as_ref()
                .map(|vectors| vectors.get(example.id.as_str()))
            {
                Some(Some(vector)) => *vector,
                Some(None) => {
                    self.reasons.add_unknown("ids", &example.id, [""; 0], || {
                        let message =
                            format!("{} is not in the pool: choose from the pool", quote(&example.id));
                        Reason::new("unknown_image", listed.at(example), message)
                    });
                    continue;
                }
                None => &[],
            };
            let Some(label) = example.label else { continue };
            n_of_label[usize::from(label)] += 1;
            chosen.labels.push(label.into());
            chosen
                .features
                .extend(vector.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)));
        }
        if examples.is_empty() {
            let message = format!(
                "{} has no examples: label at least one image 1 and one 0",
                quote(concept)
            );
            self.reasons.add(Reason::over("no_examples", at, 2, 0, message));
        } else if let Some(absent) = n_of_label
            .iter()
            .position(|&n| n == 0)
            .filter(|_| examples.iter().all(|e| e.label.is_some()))
        {
            let message = format!(
                "no image of the pool has the label {absent} for {}, and a model needs both: label at least one",
                quote(concept)
            );
            self.reasons.add(Reason::over("one_label", at, 2, 1, message));
        }
        chosen
    }

    fn present(&mut self, concept: &str, concepts: &mut BTreeMap<&str, Chosen>) -> Chosen {
        concepts.remove(concept).unwrap_or_else(|| {
            let message = format!("the concept {} is missing: add it", quote(concept));
            self.reasons.add(Reason::new("missing_concept", "", message));
            Chosen::default()
        })
    }
}
