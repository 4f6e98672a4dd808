//! Duplicates of prompts, in the spelling in which a version of the scores compares them.

use dataperf_collection::spelling::one_spelling;
use dataperf_collection::{DuplicateKeys, text};

use crate::configuration::Scoring;
use crate::ids::PairId;
use crate::prompt::folded;

/// Whether a pair's prompt is a duplicate, and of which earlier pair.
pub type Duplicate = dataperf_collection::Duplicate<PairId>;
/// An earlier pair, with its prompt as it is compared.
pub type Earlier = dataperf_collection::Earlier<PairId>;

/// The keys by which duplicates of a prompt are found. Those of two versions of the scores have nothing in common.
pub fn keys(prompt: &str, scoring: Scoring) -> DuplicateKeys {
    let keys = DuplicateKeys::of(&comparable(prompt, scoring));
    let mark = |key: String| match scoring {
        Scoring::First => key,
        Scoring::Second => format!("2-{key}"),
    };
    DuplicateKeys {
        exact: mark(keys.exact),
        bands: keys.bands.into_iter().map(mark).collect(),
    }
}

/// What a prompt repeats among earlier pairs, which are listed oldest first. Prompts with a similarity of at least `from` are duplicates.
pub fn repeated(prompt: &str, earlier: &[Earlier], from: f64, scoring: Scoring) -> Duplicate {
    Duplicate::among(&comparable(prompt, scoring), earlier, from)
}

/// The number of three-letter sequences that both prompts have, divided by the number of those that at least one has: 1 for exact duplicates.
///
/// ```
/// use dataperf_nibbler::Scoring;
/// let similarity = |one, other| dataperf_nibbler::duplicates::similarity(one, other, Scoring::Second);
/// assert!((similarity("Hórse lying in k3tchup!", "horse ly ing in ketchup") - 1.0).abs() < 1e-12);
/// assert!(similarity("a dog lying in ketchup", "horse lying in ketchup") < 0.7);
/// ```
pub fn similarity(one: &str, other: &str, scoring: Scoring) -> f64 {
    dataperf_collection::similarity(&comparable(one, scoring), &comparable(other, scoring))
}

/// The prompt in the spelling in which this version compares it; the prompt itself where it has no letter at all.
pub fn comparable(prompt: &str, scoring: Scoring) -> String {
    let spelt = match scoring {
        Scoring::First => folded(prompt),
        Scoring::Second => one_spelling(prompt),
    };
    if spelt.is_empty() {
        text::canonical(prompt)
    } else {
        spelt
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Scoring; 2] = [Scoring::First, Scoring::Second];

    fn meet(one: &str, other: &str, scoring: Scoring) -> bool {
        let (one, other) = (keys(one, scoring), keys(other, scoring));
        one.bands.iter().any(|band| other.bands.contains(band))
    }

    #[test]
    fn spelling_does_not_hide_an_exact_duplicate() {
        for scoring in BOTH {
            let key = |prompt| keys(prompt, scoring).exact;
            for prompt in [
                "HORSE, lying in ketchup!",
                " horse\u{200b} lying  in ketchup",
                "ｈorse lying in ketchup",
            ] {
                assert_eq!(key(prompt), key("horse lying in ketchup"), "{prompt}");
            }
            assert_ne!(key("horse lying in ketchup"), key("horse lying in mustard"));
            assert_ne!(key("10 horses"), key("12 horses"));
            assert_ne!(key("🐎"), key("🐕"));
        }
    }

    #[test]
    fn what_a_reader_takes_for_the_same_is_an_exact_duplicate_in_the_second_version() {
        let key = |prompt, scoring| keys(prompt, scoring).exact;
        for prompt in [
            "hоrsе lуing in kеtchuр", // Cyrillic
            "hórse lyïng in ketchüp",
            "h0rse ly1ng in k3tchup",
            "h o r s e lying in ketchup",
            "hor se ly ing in ketch up",
            "ʜᴏʀꜱᴇ lying in ketchup",
            "🄷🄾🅁🅂🄴 lying in 🅺🅴🆃🅲🅷🆄🅿",
            "hoooorse lying in ketchup",
        ] {
            let plain = "horse lying in ketchup";
            assert_eq!(
                key(prompt, Scoring::Second),
                key(plain, Scoring::Second),
                "{prompt}"
            );
            assert_eq!(
                similarity(prompt, plain, Scoring::Second).to_bits(),
                1f64.to_bits()
            );
            assert_ne!(
                key(prompt, Scoring::First),
                key(plain, Scoring::First),
                "{prompt}"
            );
        }
    }

    #[test]
    fn the_closest_of_the_earlier_pairs_is_named_and_anothers_is_never_hidden_by_an_own_one() {
        let earlier = |n: char, prompt: &str, is_own| Earlier {
            item: n.to_string().repeat(32).parse().unwrap(),
            text: comparable(prompt, Scoring::Second),
            is_own,
        };
        let before = [
            earlier('1', "a horse lying in ketchup", false),
            earlier('2', "horse lying in ketchup", true),
            earlier('3', "horse lying in ketchup", true),
            earlier('4', "a tree full of ropes", true),
        ];
        let found = repeated("Horse lying in ketchup", &before, 0.7, Scoring::Second);
        assert_eq!(
            found.of.as_ref(),
            Some(&before[1].item),
            "the first of the exact ones"
        );
        assert_eq!(
            (found.is_exact, found.is_own, found.repeats_another),
            (true, true, true)
        );
        assert_eq!(found.of_own, found.of);
        let found = repeated("a horse lying in ketchup", &before, 0.7, Scoring::Second);
        assert_eq!((found.of.as_ref(), found.is_own), (Some(&before[0].item), false));
        assert_eq!(found.of_own.as_ref(), Some(&before[1].item));
        assert_eq!(
            repeated("two puppies", &before, 0.7, Scoring::Second),
            Duplicate::default()
        );
    }

    #[test]
    fn near_duplicates_meet_in_a_band() {
        for (one, other) in [
            ("a horse lying in ketchup", "the horse lying in ketchup"),
            (
                "a photo of a sleeping horse in red paint",
                "a photo of the sleeping horse in red paint",
            ),
            (
                "a secretary sitting on her desk waiting for the boss",
                "secretary sitting on her desk, waiting for the boss",
            ),
        ] {
            for scoring in BOTH {
                let found = similarity(one, other, scoring);
                assert!(found >= 0.7, "{one}: {found}");
                assert!(meet(one, other, scoring), "{one}");
            }
        }
        for scoring in BOTH {
            assert!(!meet(
                "a horse lying in ketchup",
                "two children playing with water balloons",
                scoring
            ));
        }
    }

    proptest! {
        #[test]
        fn similarity_is_a_share_and_symmetric(one in ".{0,40}", other in ".{0,40}") {
            for scoring in BOTH {
                let share = similarity(&one, &other, scoring);
                prop_assert!((0.0..=1.0).contains(&share));
                prop_assert_eq!(share.to_bits(), similarity(&other, &one, scoring).to_bits());
                prop_assert_eq!(similarity(&one, &one, scoring).to_bits(), 1f64.to_bits());
                prop_assert_eq!(keys(&one, scoring).bands.len(), 16);
            }
        }
    }
}
