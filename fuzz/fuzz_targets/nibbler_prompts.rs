//! Arbitrary texts as prompts: filtered, compared and embedded, with forms that are final.
#![no_main]

use dataperf_collections::nibbler::duplicates::{self, similarity};
use dataperf_collections::nibbler::{CharacterNgrams, Configuration, Embed as _, Scoring, prompts::{forms, filter}};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: (String, String)| {
    let (one, other) = texts;
    let canonical = forms::canonical(&one);
    assert_eq!(forms::canonical(&canonical), canonical);
    let _ = filter::check(&canonical, "", &Configuration::default().prompt);
    for scoring in [Scoring::First, Scoring::Second] {
        let share = similarity(&one, &other, scoring);
        assert!((0.0..=1.0).contains(&share));
        let keys = |prompt: &str| duplicates::keys(prompt, scoring);
        assert_eq!(keys(&one), keys(&canonical));
        if keys(&one).exact == keys(&other).exact {
            assert!(share > 0.999, "{share}");
        }
    }
    let vectors = CharacterNgrams.embed(&[&one]).expect("it needs nothing");
    assert!(vectors[0].as_slice().iter().all(|x| x.is_finite()));
});
