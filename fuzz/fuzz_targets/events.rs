//! Arbitrary JSON as what S3 and the failures queue send: uploads that can be announced again as the same, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

// These files alone: the crate around them would bring the AWS SDK.
#[path = "../../shared/dataperf-aws/src/event.rs"]
mod event;
#[allow(dead_code)] // not all of it is asked for here
#[path = "../../shared/dataperf-aws/src/fault.rs"]
mod fault;
#[path = "../../shared/dataperf-aws/src/given_up.rs"]
mod given_up;

fuzz_target!(|input: &str| {
    if let Ok(event) = serde_json::from_str(input)
        && let Ok(uploads) = event::uploads(&event)
    {
        for upload in uploads {
            assert_eq!(event::uploads(&event::announcement(&upload)), Ok(vec![upload.clone()]));
            let _ = upload.id();
        }
    }
    if let Ok(given_up) = given_up::given_up(input) {
        assert!(!given_up.cause.reason(&given_up.request_id, true).message.is_empty());
    }
});
