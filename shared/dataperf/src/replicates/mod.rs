//! The stored data for comparing a scored submission with others: its score under all draws of the
//! test set, and its evidence. It is private to the organizer: with the weights of the draws,
//! replicates are equations for hidden labels.

pub(crate) mod evaluated;
pub mod no_intervals;

use std::collections::BTreeMap;

use bytes::Bytes;
use dataperf_numerics::bootstrap::{ItemMetric, N_DRAWS};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::benchmark::{Benchmark, FrozenPart};
use crate::board::Board;
use crate::evidence::{Draws, EvalItems, EvidenceError, Repeats, UnitEvidence, Weights, correctness};
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::replicates::evaluated::Evaluated;
use crate::replicates::no_intervals::{MIN_ITEMS, MIN_SWAPPED_ITEMS};
use crate::submission::Entry;
use crate::upload::{SubmissionId, UNNAMED};
use crate::{Digest, Direction, NoIntervals};

/// The format's name and version; with a line feed, the first bytes of every object.
pub const FORMAT: &str = "dataperf-replicates/1";
/// Bytes of the header, filled up with spaces.
const HEADER_BYTES: usize = 1 << 10;
/// The header and the deviations: the part that is read for a submission of a large board.
pub const HEAD_BYTES: usize = HEADER_BYTES + 4 * N_DRAWS;

/// The header that an object begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The data set that the submission was scored with.
    pub dataset: Digest,
    /// The identity of the draws.
    pub draws: Digest,
    /// The score.
    pub score: f64,
    /// Why there are no replicates; `None` if there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<NoIntervals>,
    /// The smallest number of items of a class (of a group), or of clusters that have one where these are drawn.
    pub smallest: usize,
    /// Whether clusters are drawn.
    pub is_clustered: bool,
    /// Draws of clusters that lacked a class or a group and were drawn again.
    pub n_redrawn: usize,
    /// Items of all test sets.
    pub n_items: usize,
    /// The number of parts of the score such that one item is worth at most one part;
    /// [`n_items`](Self::n_items) if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_parts: Option<usize>,
    /// The number of equal steps in which the score moves from 0 to 1; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_steps: Option<usize>,
    /// Whether the object has the parts of the score, because a class has too few items for draws.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_parts: bool,
    /// Why the score has no interval of its own although its rank has one; `None` if both or
    /// neither have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_score_interval: Option<NoIntervals>,
    /// The interval of a score that is a place on curves, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place_interval: Option<(f64, f64)>,
    /// The area under the curves, where these are whole: the object has its deviations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<f64>,
}

impl Header {
    /// The offset of the item data in the object: after the deviations of scores and, if present,
    /// of areas.
    pub fn items_begin(&self) -> usize {
        HEAD_BYTES + self.area.map_or(0, |_| 4 * N_DRAWS)
    }

    /// The offset of the evidence's document in the object.
    pub fn evidence_begin(&self) -> usize {
        let of_parts = if self.has_parts { 4 * self.n_items } else { 0 };
        self.items_begin() + self.n_items + of_parts
    }
}

/// The number of parts of one test set's score such that one item is worth at most one part.
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
        // an item counts among the right ones and among the predicted ones
        ItemMetric::MacroF1 => n * n_classes / 2,
        ItemMetric::MacroF1OfClasses(n_classes) => n * n_classes / 2,
        ItemMetric::F1(_) => n / 2,
        ItemMetric::WorstGroupAccuracy(groups) => smallest(&mut groups.iter().copied()).0,
    }
}

/// The replicates of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicates {
    /// The submission that they belong to.
    pub header: Header,
    /// `(N_DRAWS,)`: by how much the score of each draw is better than the score, widened as [`Draws::widening`] says. Zeros where replicates are
    /// missing.
    pub deviations: Vec<f32>,
    /// `(N_DRAWS,)`: the area under the curves under each draw minus the area, widened in the same
    /// way. Empty if curves are incomplete or absent, or if only the head was read.
    pub areas: Vec<f32>,
    /// `(n_items,)`: the share of the repeats that are right, in units of 1/255; empty where only the head was read.
    pub correctness: Vec<u8>,
    /// `(n_items,)`: what each item contributes to the score, to first order: by how much a second
    /// one like it would change the score, and its share of the score. Empty if there are enough
    /// items for draws, or if only the head was read.
    pub parts: Vec<f32>,
}

/// The most items of all test sets for which parts are computed: it takes a score for each item.
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

    /// The key of a submission's replicates on a board; those with a final data set are stored next
    /// to the others.
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
    pub fn draw<B: Benchmark>(evaluated: &Evaluated<B>, score: f64) -> Result<Self, EvidenceError> {
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
            // hide where the curve ends: that step depends on hidden labels
            Err(EvidenceError::CutOff { .. }) if is_of_fixes => vec![0.0; N_DRAWS],
            Err(error) => return Err(error),
        };
        let curves = if is_of_fixes {
            B::on_curves(frozen, evidence, &draws)?
        } else {
            None
        };
        let has_place = has_place && draws.smallest() >= MIN_ITEMS;
        let place_interval = curves.as_ref().filter(|_| has_place).map(|curves| curves.place);
        let areas = curves.iter().flat_map(|curves| {
            let drawn = curves.areas.iter();
            drawn.map(|drawn| (drawn - curves.area) as f32 * widening)
        });
        let areas = areas.collect();
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
                n_steps: B::n_steps(frozen),
                has_parts,
                without_score_interval: is_of_worst_group.then_some(NoIntervals::WorstOfGroups),
                place_interval,
                area: curves.map(|curves| curves.area),
            },
            deviations,
            areas,
            correctness,
            parts,
        })
    }

    /// Takes the replicates of a program away and says so in the header; the evidence stays.
    #[must_use]
    pub(crate) fn withheld(mut self) -> Self {
        self.header.missing = Some(NoIntervals::OfProgram);
        self.header.place_interval = None;
        self.header.area = None;
        self.areas = Vec::new();
        self.deviations.fill(0.0);
        self.header.has_parts = false;
        self.parts = Vec::new();
        self
    }

    /// The object that is stored: header, deviations as 32-bit floats, little-endian, where the header has an area its deviations, correctness, where
    /// the header says so the parts, as the deviations, then the evidence's document.
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
                .chain(&self.areas)
                .flat_map(|deviation| deviation.to_le_bytes()),
        );
        bytes.extend(&self.correctness);
        bytes.extend(self.parts.iter().flat_map(|part| part.to_le_bytes()));
        bytes.extend(evidence);
        Ok(bytes)
    }

    /// Reads the first [`HEAD_BYTES`] of the object at `key`: everything but the correctness of
    /// each item. `None` if there is no object.
    ///
    /// # Errors
    /// [`PortError`], also for an object of another form.
    pub(crate) async fn head(results: &dyn Bucket, key: &str) -> Result<Option<(Bytes, Self)>, PortError> {
        let head = 0..HEAD_BYTES as u64;
        let Some(ranges) = results.get_ranges(key, &[head]).await? else {
            return Ok(None);
        };
        let bytes = ranges.into_iter().next().unwrap_or_default();
        let replicates = Self::from_bytes(key, &bytes)?;
        Ok(Some((bytes, replicates)))
    }

    /// Reads an object, or its first [`HEAD_BYTES`].
    ///
    /// # Errors
    /// [`PortError::Malformed`] for other bytes.
    pub fn from_bytes(key: &str, bytes: &[u8]) -> Result<Self, PortError> {
        let malformed = |why: &str| PortError::Malformed {
            subject: format!("the replicates `{key}`"),
            why: why.to_owned(),
        };
        let head = bytes
            .get(..HEAD_BYTES)
            .ok_or_else(|| malformed("it is too short"))?;
        let (header, deviations) = head.split_at(HEADER_BYTES);
        let json = header.strip_prefix(format!("{FORMAT}\n").as_bytes());
        let json = json.ok_or_else(|| malformed("it does not begin with the format's name"))?;
        let header: Header = serde_json::from_slice(json).map_err(|error| malformed(&error.to_string()))?;
        let floats = |bytes: &[u8]| -> Vec<f32> {
            let floats = bytes.as_chunks::<4>().0.iter();
            floats.map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        let (items, evidence) = (header.items_begin(), header.evidence_begin());
        let deviations = floats(deviations);
        let areas = floats(bytes.get(HEAD_BYTES..items).unwrap_or_default());
        if !deviations
            .iter()
            .chain(&areas)
            .all(|deviation| deviation.is_finite())
        {
            return Err(malformed("a replicate is not finite"));
        }
        let correctness = bytes.get(items..items + header.n_items).unwrap_or_default();
        let correctness = correctness.to_vec();
        let parts = floats(bytes.get(items + header.n_items..evidence).unwrap_or_default());
        if !parts.iter().all(|part| part.is_finite()) {
            return Err(malformed("a part of the score is not finite"));
        }
        Ok(Self {
            header,
            deviations,
            areas,
            correctness,
            parts,
        })
    }

    /// Whether they belong to the score of this line. Their own score is that score or, where a Ladder releases every score, is rounded to it as
    /// [`Margin::rounded`](crate::ladder::Margin::rounded) says.
    pub fn is_of(&self, line: &Entry) -> bool {
        let half = |n: usize| 0.5 / n.max(1) as f64;
        let rounding = half(self.header.n_items) + self.header.n_steps.map_or(0.0, half);
        let may_differ_by = line.climb.map_or(0.0, |_| rounding * (1.0 + 1e-9));
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
impl Replicates {
    /// A score with `n_items` items, `smallest` of a class, and without anything that is drawn or of items.
    pub(crate) fn of_test(score: f64, smallest: usize, n_items: usize) -> Self {
        Self {
            header: Header {
                dataset: Digest::compute(b"data"),
                draws: Digest::compute(b"draws"),
                score,
                missing: None,
                smallest,
                is_clustered: false,
                n_redrawn: 0,
                n_items,
                n_parts: None,
                n_steps: None,
                has_parts: false,
                without_score_interval: None,
                place_interval: None,
                area: None,
            },
            deviations: Vec::new(),
            areas: Vec::new(),
            parts: Vec::new(),
            correctness: Vec::new(),
        }
    }

    /// The same of another data set, which has its own draws.
    pub(crate) fn of_test_with(mut self, dataset: &str) -> Self {
        let digest = Digest::compute(dataset.as_bytes());
        (self.header.dataset, self.header.draws) = (digest, digest);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicates() -> Replicates {
        Replicates {
            deviations: (0..N_DRAWS).map(|draw| draw as f32 / 7.0).collect(),
            correctness: vec![0, 255, 127],
            ..Replicates::of_test(0.1 + 0.2, 20, 3)
        }
    }

    #[test]
    fn written_replicates_read_back() {
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
    fn score_parts_are_kept_before_the_evidence() {
        let mut with_parts = replicates();
        with_parts.header.has_parts = true;
        with_parts.parts = vec![0.25, -0.5, 0.0];
        let bytes = with_parts.to_bytes(b"evidence").expect("a short header");
        let read = Replicates::from_bytes("key", &bytes).expect("an object");
        assert_eq!(read, with_parts);
        assert_eq!(&bytes[read.header.evidence_begin()..], b"evidence");
    }

    #[test]
    fn areas_are_kept_between_deviations_and_items() {
        let mut with_areas = replicates();
        with_areas.header.area = Some(0.75);
        with_areas.areas = (0..N_DRAWS).map(|draw| draw as f32 / 11.0).collect();
        let bytes = with_areas.to_bytes(b"evidence").expect("a short header");
        let read = Replicates::from_bytes("key", &bytes).expect("an object");
        assert_eq!(read, with_areas);
        assert_eq!(&bytes[read.header.evidence_begin()..], b"evidence");
        let head = Replicates::from_bytes("key", &bytes[..HEAD_BYTES]).expect("a head");
        assert!(head.areas.is_empty() && head.correctness.is_empty());
        let heads = Replicates::from_bytes("key", &bytes[..read.header.items_begin()]).expect("a head");
        assert_eq!((heads.areas, heads.correctness), (with_areas.areas, vec![]));
        let withheld = read.withheld();
        assert_eq!((withheld.header.area, withheld.areas), (None, vec![]));
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
