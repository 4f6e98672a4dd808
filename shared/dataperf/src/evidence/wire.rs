//! The binary form of evidence, `dataperf-evidence/1`; docs/wire-formats.md describes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::repeats::Repeats;
use super::unit::{Fact, UnitEvidence};
use super::{Evidence, EvidenceError};
use crate::{Digest, quote};

/// The format's name and version; with a line feed, the first bytes of every document.
pub const FORMAT: &str = "dataperf-evidence/1";
/// No document is larger.
pub const MAX_EVIDENCE_BYTES: usize = 64 << 20;

const DIGEST_BYTES: usize = 32;

/// The subject of evidence. The score is a function of the evidence and of this data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The benchmark's id.
    pub benchmark: String,
    /// The leaderboard.
    pub leaderboard: String,
    /// The data set.
    pub dataset: Digest,
    /// The artifact that was evaluated.
    pub artifact: Digest,
    /// The evaluator's name and version.
    pub evaluator: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    benchmark: String,
    leaderboard: String,
    dataset: Digest,
    artifact: Digest,
    evaluator: String,
    units: BTreeMap<String, UnitHeader>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitHeader {
    n_items: usize,
    n_classes: usize,
    repeats: Repeats,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<String, Fact>,
}

impl UnitHeader {
    fn new(unit: &UnitEvidence) -> Self {
        Self {
            n_items: unit.n_items(),
            n_classes: unit.n_classes(),
            repeats: unit.repeats().clone(),
            facts: unit.facts().clone(),
        }
    }

    /// Bytes of one repeat. `None` when the numbers make no sense or are too large.
    fn packed_bytes(&self) -> Option<usize> {
        if !(2..=256).contains(&self.n_classes) {
            return None;
        }
        Some(self.n_items.checked_mul(bits(self.n_classes))?.div_ceil(8))
    }
}

/// The bytes of the predictions of one model, which are packed as tightly as the number of classes allows.
pub fn bytes_of_a_model(n_items: usize, n_classes: usize) -> usize {
    n_items.saturating_mul(bits(n_classes.max(2))).div_ceil(8)
}

/// Bits of a class.
fn bits(n_classes: usize) -> usize {
    (usize::BITS - (n_classes - 1).leading_zeros()) as usize
}

impl Evidence {
    /// The document that is stored.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] for what the form can't hold: a unit of fewer than 2 or more than 256 classes, or more
    /// than [`MAX_EVIDENCE_BYTES`].
    pub fn to_bytes(&self, provenance: &Provenance) -> Result<Vec<u8>, EvidenceError> {
        let refuse = |why: String| EvidenceError::OtherData { why };
        let units = self.units().iter();
        let header = Header {
            benchmark: provenance.benchmark.clone(),
            leaderboard: provenance.leaderboard.clone(),
            dataset: provenance.dataset,
            artifact: provenance.artifact,
            evaluator: provenance.evaluator.clone(),
            units: units
                .map(|(name, unit)| (name.clone(), UnitHeader::new(unit)))
                .collect(),
        };
        let json = serde_json::to_vec(&header).map_err(|error| refuse(error.to_string()))?;
        let n_bytes = u32::try_from(json.len()).map_err(|_| refuse("its header is too large".into()))?;
        let mut bytes = format!("{FORMAT}\n").into_bytes();
        bytes.extend(n_bytes.to_le_bytes());
        bytes.extend(json);
        for (name, unit) in self.units() {
            if header.units[name].packed_bytes().is_none() {
                return Err(refuse(format!(
                    "the unit {} has {} classes, the form holds 2 to 256",
                    quote(name),
                    unit.n_classes()
                )));
            }
            for classes in unit.each_repeat() {
                pack(classes, bits(unit.n_classes()), &mut bytes);
            }
        }
        let digest: [u8; DIGEST_BYTES] = Sha256::digest(&bytes).into();
        bytes.extend(digest);
        if bytes.len() > MAX_EVIDENCE_BYTES {
            return Err(refuse(format!(
                "the predictions have {} bytes, and {MAX_EVIDENCE_BYTES} are the most that is kept: the data set needs fewer items in its eval \
                 set, or fewer models, trials or seeds",
                bytes.len()
            )));
        }
        Ok(bytes)
    }

    /// Reads a stored document.
    ///
    /// # Errors
    /// [`EvidenceError::Damaged`] for anything but the bytes that [`to_bytes`](Self::to_bytes) gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Provenance, Self), EvidenceError> {
        read(bytes).map_err(|why| EvidenceError::Damaged { why })
    }
}

fn read(bytes: &[u8]) -> Result<(Provenance, Evidence), String> {
    if bytes.len() > MAX_EVIDENCE_BYTES {
        return Err(format!(
            "it has {} bytes, the limit is {MAX_EVIDENCE_BYTES}",
            bytes.len()
        ));
    }
    let magic = format!("{FORMAT}\n");
    let foreign = || format!("it does not begin with `{FORMAT}`");
    let rest = bytes.strip_prefix(magic.as_bytes()).ok_or_else(foreign)?;
    let short = || format!("it ends after {} bytes", bytes.len());
    let (body, digest) = rest.split_last_chunk::<DIGEST_BYTES>().ok_or_else(short)?;
    let actual: [u8; DIGEST_BYTES] = Sha256::digest(&bytes[..bytes.len() - DIGEST_BYTES]).into();
    if actual != *digest {
        return Err("its bytes differ from the digest at its end".into());
    }
    let (n_bytes, body) = body.split_first_chunk::<4>().ok_or_else(short)?;
    let (json, mut packed) = body
        .split_at_checked(u32::from_le_bytes(*n_bytes) as usize)
        .ok_or_else(short)?;
    let header: Header = serde_json::from_slice(json).map_err(|error| format!("its header: {error}"))?;
    if serde_json::to_vec(&header).ok().as_deref() != Some(json) {
        return Err("its header is not written in the one form that there is".into());
    }
    let mut units = BTreeMap::new();
    for (name, unit) in header.units {
        let about = |why: String| format!("the unit {}: {why}", quote(&name));
        let n_bytes = unit.packed_bytes();
        let n_bytes = n_bytes.ok_or_else(|| about("its sizes are impossible".into()))?;
        let n_repeats = unit.repeats.len();
        let n_all = n_bytes.checked_mul(n_repeats).filter(|&n| n <= packed.len());
        let (of_unit, others) =
            packed.split_at(n_all.ok_or_else(|| about("its predictions end early".into()))?);
        packed = others;
        let mut predicted = Vec::with_capacity(n_repeats * unit.n_items);
        for of_repeat in of_unit.chunks_exact(n_bytes.max(1)) {
            unpack(of_repeat, bits(unit.n_classes), unit.n_items, &mut predicted).map_err(about)?;
        }
        let evidence = UnitEvidence::unchecked(unit.repeats, unit.n_items, unit.n_classes, predicted);
        let evidence = evidence.with_facts(unit.facts);
        evidence.check().map_err(about)?;
        units.insert(name, evidence);
    }
    if !packed.is_empty() {
        return Err(format!("it has {} bytes too many", packed.len()));
    }
    let provenance = Provenance {
        benchmark: header.benchmark,
        leaderboard: header.leaderboard,
        dataset: header.dataset,
        artifact: header.artifact,
        evaluator: header.evaluator,
    };
    Ok((provenance, Evidence { units }))
}

/// Appends classes of `n_bits` each, the lowest bits of a byte first; the last byte is filled with zeros.
fn pack(classes: &[u8], n_bits: usize, bytes: &mut Vec<u8>) {
    let (mut pending, mut n_pending) = (0u32, 0);
    for &class in classes {
        pending |= u32::from(class) << n_pending;
        n_pending += n_bits;
        if n_pending >= 8 {
            bytes.push(pending as u8);
            pending >>= 8;
            n_pending -= 8;
        }
    }
    if n_pending > 0 {
        bytes.push(pending as u8);
    }
}

/// Appends the `n_items` classes that [`pack`] has packed.
fn unpack(bytes: &[u8], n_bits: usize, n_items: usize, classes: &mut Vec<u8>) -> Result<(), String> {
    let mask = (1u32 << n_bits) - 1;
    let (mut pending, mut n_pending) = (0u32, 0);
    let mut bytes = bytes.iter();
    for _ in 0..n_items {
        if n_pending < n_bits {
            let next = bytes
                .next()
                .ok_or_else(|| "its predictions end early".to_owned())?;
            pending |= u32::from(*next) << n_pending;
            n_pending += 8;
        }
        classes.push((pending & mask) as u8);
        pending >>= n_bits;
        n_pending -= n_bits;
    }
    if pending != 0 || bytes.next().is_some() {
        return Err("its last byte is not filled with zeros".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evidence::{Fixes, Repeat};

    fn provenance() -> Provenance {
        Provenance {
            benchmark: "vision-debugging".into(),
            leaderboard: "open".into(),
            dataset: Digest::compute(b"a data set"),
            artifact: Digest::compute(b"an artifact"),
            evaluator: "dataperf 0.1.0".into(),
        }
    }

    fn repeats() -> impl Strategy<Value = Repeats> {
        let fixes = (prop::collection::btree_set(1u32..400, 0..6), 0u32..400).prop_map(|(later, n_known)| {
            let models: Vec<u32> = [0].into_iter().chain(later).collect();
            let n_known = n_known.max(models[models.len().saturating_sub(2)]);
            Repeats::Fixes(Fixes { models, n_known })
        });
        prop_oneof![
            Just(Repeats::Once),
            prop::collection::btree_set(any::<u32>(), 0..6)
                .prop_map(|seeds| Repeats::Seeds(seeds.into_iter().collect())),
            (0u32..6).prop_map(Repeats::Trials),
            fixes,
        ]
    }

    fn unit() -> impl Strategy<Value = UnitEvidence> {
        let amount = any::<f64>().prop_filter("finite", |amount| amount.is_finite());
        (repeats(), 0usize..70, 2usize..=256, any::<u32>(), amount).prop_flat_map(
            |(repeats, n_items, n_classes, count, amount)| {
                let n = repeats.len() * n_items;
                let classes = prop::collection::vec((0..n_classes).prop_map(|class| class as u8), n);
                classes.prop_map(move |predicted| {
                    UnitEvidence::new(repeats.clone(), n_items, n_classes, predicted)
                        .with_count("n_clips", count as usize)
                        .with_amount("cost", amount)
                })
            },
        )
    }

    fn evidence() -> impl Strategy<Value = Evidence> {
        prop::collection::btree_map(".{0,8}", unit(), 0..4).prop_map(Evidence::from_iter)
    }

    /// The bytes with a digest that fits them again: damage that only the reader's other checks can find.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - DIGEST_BYTES);
        let digest: [u8; DIGEST_BYTES] = Sha256::digest(&bytes).into();
        bytes.extend(digest);
        bytes
    }

    proptest! {
        #[test]
        fn written_evidence_reads_back(evidence in evidence()) {
            let bytes = evidence.to_bytes(&provenance()).unwrap();
            prop_assert_eq!(Evidence::from_bytes(&bytes).unwrap(), (provenance(), evidence));
        }

        #[test]
        fn changed_bits_and_wrong_lengths_are_refused(evidence in evidence(), at in any::<prop::sample::Index>(), bit in 0..8) {
            let whole = evidence.to_bytes(&provenance()).unwrap();
            let mut bytes = whole.clone();
            bytes[at.index(whole.len())] ^= 1u8 << bit;
            prop_assert!(Evidence::from_bytes(&bytes).is_err());
            prop_assert!(Evidence::from_bytes(&whole[..at.index(whole.len())]).is_err());
            prop_assert!(Evidence::from_bytes(&[&whole[..], b"\0"].concat()).is_err());
        }

        /// Bytes with a right digest may hold anything, and still nothing is read that would have been written otherwise.
        #[test]
        fn reading_and_writing_give_the_same_bytes(evidence in evidence(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = evidence.to_bytes(&provenance()).unwrap();
            let place = at.index(bytes.len());
            bytes[place] = byte;
            let bytes = sealed(bytes);
            if let Ok((provenance_one, read)) = Evidence::from_bytes(&bytes) {
                prop_assert_eq!(read.to_bytes(&provenance_one).unwrap(), bytes);
            }
        }
    }

    /// 30,733 clips, 6 classes, 10 seeds: three bits a prediction.
    #[test]
    fn large_test_sets_take_three_bits_per_item() {
        let predicted = (0..307_330u32)
            .map(|idx| (idx.wrapping_mul(2_654_435_761) >> 16) as u8 % 6)
            .collect();
        let seeds = Repeats::Seeds((0..10).collect());
        let evidence = Evidence::of_unit("en", UnitEvidence::new(seeds, 30_733, 6, predicted));
        let bytes = evidence.to_bytes(&provenance()).unwrap();
        assert!(bytes.len() < 116_000, "{}", bytes.len());
        let (_, read) = Evidence::from_bytes(&bytes).unwrap();
        let class_of = |evidence: &Evidence| {
            let unit = evidence.unit("en", 30_733, 6).unwrap();
            unit.predicted(Repeat::Seed(9)).unwrap()[30_732]
        };
        assert_eq!(class_of(&read), class_of(&evidence));
    }

    #[test]
    fn the_form_is_documented() {
        let fixes = Repeats::Fixes(Fixes {
            models: vec![0, 2, 5],
            n_known: 5,
        });
        let task = UnitEvidence::new(fixes, 3, 2, vec![0, 0, 1, 0, 1, 1, 1, 1, 1])
            .with_amount("method_seconds", 1.5);
        let bytes = Evidence::of_unit("4-9", task).to_bytes(&provenance()).unwrap();
        let n = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
        let header = String::from_utf8(bytes[24..24 + n].to_vec()).unwrap();
        insta::assert_snapshot!(header, @r#"{"benchmark":"vision-debugging","leaderboard":"open","dataset":"sha256:764b28f17d3e3f5f0d35c4961af96d11c5a092e919d5f9deea0cb6f097f2cb27","artifact":"sha256:326086a5d542fbb3f783c4d9182b3188caecd714d02d6c10cbdea982e2bfc409","evaluator":"dataperf 0.1.0","units":{"4-9":{"n_items":3,"n_classes":2,"repeats":{"fixes":{"models":[0,2,5],"n_known":5}},"facts":{"method_seconds":1.5}}}}"#);
        assert_eq!(
            (&bytes[..20], &bytes[24 + n..][..3]),
            (&b"dataperf-evidence/1\n"[..], &[0b100, 0b110, 0b111][..])
        );
        assert_eq!(bytes.len(), 24 + n + 3 + 32);
    }
}
