//! What is kept of a scored submission so that it can be compared with others: its score under all draws of the eval set, and its
//! evidence. The organizer's alone: with the weights of the draws, replicates are equations for hidden labels.

use std::collections::BTreeMap;

use bytes::Bytes;
use dataperf_numerics::bootstrap::{ItemMetric, N_DRAWS};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::benchmark::{Benchmark, FrozenPart};
use crate::board::Board;
use crate::evaluated::Evaluated;
use crate::evidence::{Draws, EvalItems, EvidenceError, Repeats, UnitEvidence, Weights, correctness};
use crate::no_intervals::{MIN_ITEMS, MIN_SWAPPED_ITEMS};
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::submission::Entry;
use crate::upload::{SubmissionId, UNNAMED};
use crate::{Digest, Direction, NoIntervals};

/// The format's name and version; with a line feed, the first bytes of every object.
pub const FORMAT: &str = "dataperf-replicates/1";
/// Bytes of the header, filled up with spaces.
const HEADER_BYTES: usize = 1 << 10;
/// The header and the deviations: what is read of a submission of a large board.
pub const HEAD_BYTES: usize = HEADER_BYTES + 4 * N_DRAWS;

/// The header that an object begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The data set that the submission was scored with.
    pub dataset: Digest,
    /// What tells the draws from others.
    pub draws: Digest,
    /// The score.
    pub score: f64,
    /// Why there are no replicates, where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<NoIntervals>,
    /// The smallest number of items of a class (of a group), or of clusters that have one where these are drawn.
    pub smallest: usize,
    /// Whether clusters are drawn.
    pub is_clustered: bool,
    /// Draws of clusters that lacked a class or a group and were drawn again.
    pub n_redrawn: usize,
    /// Items of all eval sets.
    pub n_items: usize,
    /// Into how many parts the score has to be divided so that one item is worth at most one of them; [`n_items`](Self::n_items) where it is
    /// not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_parts: Option<usize>,
    /// Whether the object has the parts of the score, because a class has too few items for draws.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_parts: bool,
    /// Why the score has no interval of its own, where it has none and its rank has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_score_interval: Option<NoIntervals>,
    /// The interval of a score that is a place on curves, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place_interval: Option<(f64, f64)>,
}

impl Header {
    /// Where the evidence's document begins in the object.
    pub fn evidence_begin(&self) -> usize {
        let of_parts = if self.has_parts { 4 * self.n_items } else { 0 };
        HEAD_BYTES + self.n_items + of_parts
    }
}

/// Into how many parts the score of one eval set has to be divided so that one item is worth at most one of them.
fn n_parts(items: &EvalItems<'_>) -> usize {
    let smallest = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut n_of: BTreeMap<usize, usize> = BTreeMap::new();
        numbers.for_each(|number| *n_of.entry(number).or_default() += 1);
        (n_of.values().copied().min().unwrap_or(0), n_of.len())
    };
    let (n, n_classes) = smallest(&mut items.truth.iter().map(|&class| class.into()));
    match items.metric {
        ItemMetric::Accuracy => items.truth.len(),
        ItemMetric::BalancedAccuracy => n * n_classes,
        // an item counts among what is right and what is found
        ItemMetric::MacroF1 => n * n_classes / 2,
        ItemMetric::MacroF1OfClasses(n_classes) => n * n_classes / 2,
        ItemMetric::F1(_) => n / 2,
        ItemMetric::WorstGroupAccuracy(groups) => smallest(&mut groups.iter().copied()).0,
    }
}

/// The replicates of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicates {
    /// What they are of.
    pub header: Header,
    /// `(N_DRAWS,)`: by how much the score of each draw is better than the score, widened as [`Draws::widening`] says. Zeros where replicates are
    /// missing.
    pub deviations: Vec<f32>,
    /// `(n_items,)`: the share of the repeats that are right, in units of 1/255; empty where only the head was read.
    pub correctness: Vec<u8>,
    /// `(n_items,)`: what each item contributes to the score, to first order: by how much a second one like it would change the score, and
    /// its share of the score. Empty where there are enough items for draws, and where only the head was read.
    pub parts: Vec<f32>,
}

/// The most items of all eval sets for which parts are computed: it takes a score for each item.
const MAX_ITEMS_WITH_PARTS: usize = 2_000;

/// The parts of a score, `(n_items of all units,)`, unit after unit by name.
fn parts<B: Benchmark>(
    evaluated: &Evaluated<B>,
    score: f64,
    n_items_of: &BTreeMap<String, usize>,
) -> Result<Vec<f32>, EvidenceError> {
    let n_items: usize = n_items_of.values().sum();
    let items: Vec<(&String, usize)> = n_items_of
        .iter()
        .flat_map(|(name, &n)| (0..n).map(move |item| (name, item)))
        .collect();
    let part = |(name, item): (&String, usize)| {
        let ones = n_items_of.iter().map(|(name, &n)| (name.clone(), vec![1; n]));
        let mut weights: BTreeMap<String, Vec<u32>> = ones.collect();
        if let Some(of_unit) = weights.get_mut(name) {
            of_unit[item] = 2;
        }
        let weights = Weights::of_units(weights);
        let more = B::score(&evaluated.frozen, &evaluated.evidence, &weights)?.score;
        Ok((more - score + score / n_items as f64) as f32)
    };
    items.into_par_iter().map(part).collect()
}

impl Replicates {
    /// The key of a submission's replicates in the results bucket: below no submitter's name.
    pub fn key(benchmark: &str, submission: &SubmissionId) -> String {
        format!("{benchmark}/{UNNAMED}/_replicates/{submission}")
    }

    /// The key of a submission's replicates on a board: those with a final data set are kept beside the others.
    pub fn key_on(board: &Board, submission: &SubmissionId) -> String {
        if board.is_final() {
            return format!("{}/{UNNAMED}/_replicates/final/{submission}", board.benchmark);
        }
        Self::key(&board.benchmark, submission)
    }

    /// Scores a submission under all draws.
    ///
    /// # Errors
    /// [`EvidenceError`] when the data set has no hidden items or the evidence is of another one.
    pub fn of<B: Benchmark>(evaluated: &Evaluated<B>, score: f64) -> Result<Self, EvidenceError> {
        let (frozen, evidence) = (&*evaluated.frozen, &evaluated.evidence);
        let items = frozen.eval_items()?;
        let correctness = correctness(items.iter().cloned(), evidence)?;
        let is_worst =
            |(_, items): &(String, EvalItems<'_>)| matches!(items.metric, ItemMetric::WorstGroupAccuracy(_));
        let is_of_worst_group = items.iter().any(is_worst);
        // simulated for accuracy on items that are drawn alone
        let has_place = items
            .iter()
            .all(|(_, items)| items.metric == ItemMetric::Accuracy && items.clusters.is_none());
        let n_parts = items.iter().map(|(_, items)| n_parts(items)).min();
        let n_parts = n_parts.map(|n| n * items.len());
        let n_items_of = items
            .iter()
            .map(|(name, items)| (name.clone(), items.truth.len()));
        let n_items_of: BTreeMap<String, usize> = n_items_of.collect();
        let draws = Draws::new(items);
        let widening = draws.widening() as f32;
        let of_fixes = |unit: &UnitEvidence| matches!(unit.repeats(), Repeats::Fixes(_));
        let is_of_fixes = evidence.units().values().any(of_fixes);
        let deviations = match B::replicates(frozen, evidence, &draws) {
            Ok(scores) => {
                let drawn = scores.iter();
                drawn
                    .map(|drawn| better_by(*drawn, score, B::DIRECTION) * widening)
                    .collect()
            }
            // where the curve ends is not said: it is a step that hidden labels decide
            Err(EvidenceError::CutOff { .. }) if is_of_fixes => vec![0.0; N_DRAWS],
            Err(error) => return Err(error),
        };
        let place_interval = if is_of_fixes && has_place && draws.smallest() >= MIN_ITEMS {
            B::place_interval(frozen, evidence, &draws)?
        } else {
            None
        };
        let missing = is_of_fixes.then_some(match place_interval {
            Some(_) => NoIntervals::RankOfPlace,
            None => NoIntervals::PlaceOnCurve,
        });
        // a score of trials varies with these as well, which swaps of items do not show
        let of_trials = |unit: &UnitEvidence| matches!(unit.repeats(), Repeats::Trials(_));
        let is_of_trials = evidence.units().values().any(of_trials);
        let is_few = !draws.is_clustered() && (MIN_SWAPPED_ITEMS..MIN_ITEMS).contains(&draws.smallest());
        let has_parts = is_few
            && missing.is_none()
            && !is_of_trials
            && !is_of_worst_group
            && correctness.len() <= MAX_ITEMS_WITH_PARTS;
        let parts = if has_parts {
            parts(evaluated, score, &n_items_of)?
        } else {
            Vec::new()
        };
        Ok(Self {
            header: Header {
                dataset: evaluated.provenance.dataset,
                draws: draws.digest(),
                score,
                missing,
                smallest: draws.smallest(),
                is_clustered: draws.is_clustered(),
                n_redrawn: draws.n_redrawn(),
                n_items: correctness.len(),
                n_parts,
                has_parts,
                without_score_interval: is_of_worst_group.then_some(NoIntervals::WorstOfGroups),
                place_interval,
            },
            deviations,
            correctness,
            parts,
        })
    }

    /// Takes the replicates of a program away and says so in the header; the evidence stays.
    #[must_use]
    pub(crate) fn withheld(mut self) -> Self {
        self.header.missing = Some(NoIntervals::OfProgram);
        self.header.place_interval = None;
        self.deviations.fill(0.0);
        self.header.has_parts = false;
        self.parts = Vec::new();
        self
    }

    /// The object that is stored: header, deviations as 32-bit floats, little-endian, correctness, where the header says so the parts, as the
    /// deviations, then the evidence's document.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when the header is too long.
    pub fn to_bytes(&self, evidence: &[u8]) -> Result<Vec<u8>, EvidenceError> {
        let json = serde_json::to_string(&self.header).unwrap_or_default();
        let mut bytes = format!("{FORMAT}\n{json}").into_bytes();
        if bytes.len() >= HEADER_BYTES || json.is_empty() {
            let why = format!("the header of its replicates has {} bytes", bytes.len());
            return Err(EvidenceError::OtherData { why });
        }
        bytes.resize(HEADER_BYTES - 1, b' ');
        bytes.push(b'\n');
        bytes.extend(
            self.deviations
                .iter()
                .flat_map(|deviation| deviation.to_le_bytes()),
        );
        bytes.extend(&self.correctness);
        bytes.extend(self.parts.iter().flat_map(|part| part.to_le_bytes()));
        bytes.extend(evidence);
        Ok(bytes)
    }

    /// The first [`HEAD_BYTES`] of the object at `key`, and what they say: everything but what was right of each item. `None` where there is no object.
    ///
    /// # Errors
    /// [`PortError`], also for an object of another form.
    pub(crate) async fn head(results: &dyn Bucket, key: &str) -> Result<Option<(Bytes, Self)>, PortError> {
        let head = 0..HEAD_BYTES as u64;
        let Some(found) = results.get_ranges(key, &[head]).await? else {
            return Ok(None);
        };
        let bytes = found.into_iter().next().unwrap_or_default();
        let replicates = Self::from_bytes(key, &bytes)?;
        Ok(Some((bytes, replicates)))
    }

    /// Reads an object, or its first [`HEAD_BYTES`].
    ///
    /// # Errors
    /// [`PortError::Malformed`] for other bytes.
    pub fn from_bytes(key: &str, bytes: &[u8]) -> Result<Self, PortError> {
        let malformed = |why: &str| PortError::Malformed {
            what: format!("the replicates `{key}`"),
            why: why.to_owned(),
        };
        let (head, rest) = bytes
            .split_at_checked(HEAD_BYTES)
            .ok_or_else(|| malformed("it is too short"))?;
        let (header, deviations) = head.split_at(HEADER_BYTES);
        let json = header.strip_prefix(format!("{FORMAT}\n").as_bytes());
        let json = json.ok_or_else(|| malformed("it does not begin with the format's name"))?;
        let header: Header = serde_json::from_slice(json).map_err(|error| malformed(&error.to_string()))?;
        let deviations = deviations
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes));
        let deviations: Vec<f32> = deviations.collect();
        if !deviations.iter().all(|deviation| deviation.is_finite()) {
            return Err(malformed("a replicate is not finite"));
        }
        let correctness = rest.get(..header.n_items).unwrap_or_default().to_vec();
        let begin = HEAD_BYTES + header.n_items;
        let of_parts = bytes.get(begin..header.evidence_begin()).unwrap_or_default();
        let parts = of_parts.as_chunks::<4>().0.iter();
        let parts: Vec<f32> = parts.map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if !parts.iter().all(|part| part.is_finite()) {
            return Err(malformed("a part of the score is not finite"));
        }
        Ok(Self {
            header,
            deviations,
            correctness,
            parts,
        })
    }

    /// Whether they belong to the score of this line. Their own score is that score or, where a Ladder releases every score rounded to 1/n, n the
    /// number of items, is rounded to it.
    pub fn is_of(&self, line: &Entry) -> bool {
        let half_an_item = 0.5 / self.header.n_items.max(1) as f64;
        let may_differ_by = line.climb.map_or(0.0, |_| half_an_item * (1.0 + 1e-9));
        let is_of_score = line
            .score
            .is_some_and(|score| (score - self.header.score).abs() <= may_differ_by);
        is_of_score && line.dataset == Some(self.header.dataset)
    }

    /// On how many items two submissions differ in correctness.
    pub fn n_different(&self, other: &Self) -> usize {
        let both = self.correctness.iter().zip(&other.correctness);
        both.filter(|(own, others)| own != others).count()
    }
}

/// By how much one score is better than another.
fn better_by(drawn: f64, score: f64, direction: Direction) -> f32 {
    let more = drawn - score;
    (match direction {
        Direction::HigherIsBetter => more,
        Direction::LowerIsBetter => -more,
    }) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicates() -> Replicates {
        Replicates {
            header: Header {
                dataset: Digest::of(b"data"),
                draws: Digest::of(b"draws"),
                score: 0.1 + 0.2,
                missing: None,
                smallest: 20,
                is_clustered: false,
                n_redrawn: 0,
                n_items: 3,
                n_parts: None,
                has_parts: false,
                without_score_interval: None,
                place_interval: None,
            },
            deviations: (0..N_DRAWS).map(|draw| draw as f32 / 7.0).collect(),
            correctness: vec![0, 255, 127],
            parts: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let replicates = replicates();
        let bytes = replicates.to_bytes(b"evidence").expect("a short header");
        assert_eq!(
            Replicates::from_bytes("key", &bytes).expect("an object"),
            replicates
        );
        assert_eq!(&bytes[HEAD_BYTES..], b"\0\xff\x7fevidence");
        let head = Replicates::from_bytes("key", &bytes[..HEAD_BYTES]).expect("a head");
        assert_eq!((head.header, head.correctness), (replicates.header, vec![]));
    }

    #[test]
    fn parts_of_a_score_are_kept_before_the_evidence() {
        let mut with_parts = replicates();
        with_parts.header.has_parts = true;
        with_parts.parts = vec![0.25, -0.5, 0.0];
        let bytes = with_parts.to_bytes(b"evidence").expect("a short header");
        let read = Replicates::from_bytes("key", &bytes).expect("an object");
        assert_eq!(read, with_parts);
        assert_eq!(&bytes[read.header.evidence_begin()..], b"evidence");
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = replicates().to_bytes(b"").expect("a short header");
        assert!(Replicates::from_bytes("key", &bytes[..HEAD_BYTES - 1]).is_err());
        for place in [0, 30] {
            let mut damaged = bytes.clone();
            damaged[place] = b'!';
            assert!(Replicates::from_bytes("key", &damaged).is_err());
        }
        let mut infinite = bytes;
        infinite[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        assert!(Replicates::from_bytes("key", &infinite).is_err());
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the difference of these two is exact")]
    fn smaller_is_better_where_the_benchmark_says_so() {
        assert_eq!(better_by(0.25, 0.5, Direction::LowerIsBetter), 0.25);
        assert_eq!(better_by(0.25, 0.5, Direction::HigherIsBetter), -0.25);
    }
}
