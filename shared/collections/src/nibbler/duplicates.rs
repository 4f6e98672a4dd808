//! Duplicates of prompts, in the spelling in which a version of the scores compares them.

use crate::common::text::spelling::one_spelling;
use crate::common::{DuplicateKeys, text};

use crate::nibbler::configuration::Scoring;
use crate::nibbler::ids::PairId;
use crate::nibbler::prompts::forms::folded;

/// Whether a pair's prompt is a duplicate, and of which earlier pair.
pub type Duplicate = crate::common::Duplicate<PairId>;
/// An earlier pair, with its prompt as it is compared.
pub type Earlier = crate::common::Earlier<PairId>;

/// The keys by which duplicates of a prompt are found. Those of two versions of the scores have nothing in common.
pub fn keys(prompt: &str, scoring: Scoring) -> DuplicateKeys {
    let keys = DuplicateKeys::from_text(&comparable(prompt, scoring));
    let mark = |key: String| match scoring {
        Scoring::First => key,
        Scoring::Second => format!("2-{key}"),
    };
    DuplicateKeys {
        exact: mark(keys.exact),
        bands: keys.bands.into_iter().map(mark).collect(),
    }
}

/// The earlier pair that a prompt repeats; earlier pairs are listed oldest first. Prompts with a
/// similarity of at least `from` are duplicates.
pub fn repeated(prompt: &str, earlier: &[Earlier], from: f64, scoring: Scoring) -> Duplicate {
    Duplicate::among(&comparable(prompt, scoring), earlier, from)
}

/// The number of three-letter sequences in both prompts, divided by the number in at least one of
/// them: 1 for exact duplicates.
///
/// ```
/// use dataperf_collections::nibbler::Scoring;
/// let similarity = |one, other| dataperf_collections::nibbler::duplicates::similarity(one, other, Scoring::Second);
/// assert!((similarity("Hórse lying in k3tchup!", "horse ly ing in ketchup") - 1.0).abs() < 1e-12);
/// assert!(similarity("a dog lying in ketchup", "horse lying in ketchup") < 0.7);
/// ```
pub fn similarity(one: &str, other: &str, scoring: Scoring) -> f64 {
    crate::common::similarity(&comparable(one, scoring), &comparable(other, scoring))
}

/// The prompt in this version's spelling for comparisons; the prompt itself if it has no letters.
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
    fn equal_looking_prompts_are_duplicates_in_version_two() {
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
    fn the_closest_earlier_pair_is_named() {
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
        let duplicate = repeated("Horse lying in ketchup", &before, 0.7, Scoring::Second);
        assert_eq!(
            duplicate.of.as_ref(),
            Some(&before[1].item),
            "the first of the exact ones"
        );
        assert_eq!(
            (duplicate.is_exact, duplicate.is_own, duplicate.repeats_another),
            (true, true, true)
        );
        assert_eq!(duplicate.of_own, duplicate.of);
        let duplicate = repeated("a horse lying in ketchup", &before, 0.7, Scoring::Second);
        assert_eq!(
            (duplicate.of.as_ref(), duplicate.is_own),
            (Some(&before[0].item), false)
        );
        assert_eq!(duplicate.of_own.as_ref(), Some(&before[1].item));
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
                let actual = similarity(one, other, scoring);
                assert!(actual >= 0.7, "{one}: {actual}");
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
