use std::collections::BTreeMap;

use dataperf_numerics::models::mt19937::Mt19937;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    words_at_0_1_2_623_624_699: BTreeMap<u32, [u32; 6]>,
    libsvm_seeds: BTreeMap<u32, u32>,
    choices_of_1111: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    n: u32,
    size: usize,
    drawn: Vec<u32>,
}

fn numpy() -> Vectors {
    super::vectors(include_str!("fixtures/mt19937.json"))
}

#[test]
fn words() {
    for (seed, expected) in numpy().words_at_0_1_2_623_624_699 {
        let mut generator = Mt19937::new(seed);
        let words: Vec<u32> = (0..700).map(|_| generator.next_u32()).collect();
        assert_eq!(
            [0, 1, 2, 623, 624, 699].map(|k| words[k]),
            expected,
            "seed {seed}"
        );
    }
}

#[test]
fn bounded_by_mask_and_rejection() {
    for (seed, expected) in numpy().libsvm_seeds {
        assert_eq!(
            Mt19937::new(seed).up_to(i32::MAX as u32 - 1),
            expected,
            "seed {seed}"
        );
    }
}

#[test]
fn choices_in_sequence() {
    let mut generator = Mt19937::new(1111);
    for choice in numpy().choices_of_1111 {
        assert_eq!(
            generator.choice(choice.n, choice.size),
            choice.drawn,
            "of {}",
            choice.n
        );
    }
}

#[test]
fn bounded_numbers_stay_in_range_and_cover_it() {
    let mut generator = Mt19937::new(3);
    let mut seen = [false; 7];
    for _ in 0..200 {
        seen[generator.below(7) as usize] = true;
    }
    assert_eq!(seen, [true; 7]);
    assert_eq!(generator.below(1), 0);
}
