//! Arbitrary bytes as what a provider sends: an image within every bound, re-encoded, or refused.
#![no_main]

use dataperf_collections::nibbler::Generation;
use dataperf_collections::nibbler::images::inspect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Generation { max_image_side: 256, max_image_bytes: 100_000, ..Generation::default() };
    if let Ok(image) = inspect(bytes, &limits) {
        assert!((1..=256).contains(&image.width) && (1..=256).contains(&image.height));
        let limits = Generation { max_image_bytes: u64::MAX, ..limits };
        let again = inspect(&image.png, &limits).expect("our own encoding can be read");
        assert_eq!((again.png, again.digest), (image.png, image.digest));
    }
});
