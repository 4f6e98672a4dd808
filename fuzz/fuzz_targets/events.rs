//! Arbitrary JSON as what S3 and the failures queue send: uploads that can be announced again as the same, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

// These files alone: the crate around them would bring the AWS SDK.
#[path = "../../shared/dataperf-aws/src/events/s3_event.rs"]
mod s3_event;
#[allow(dead_code)] // not all of it is asked for here
#[path = "../../shared/dataperf-aws/src/events/fault.rs"]
mod fault;
#[path = "../../shared/dataperf-aws/src/events/failed_event.rs"]
mod failed_event;

fuzz_target!(|input: &str| {
    if let Ok(event) = serde_json::from_str(input)
        && let Ok(uploads) = s3_event::uploads(&event)
    {
        for upload in uploads {
            assert_eq!(s3_event::uploads(&s3_event::announcement(&upload)), Ok(vec![upload.clone()]));
            let _ = upload.id();
        }
    }
    if let Ok(given_up) = failed_event::given_up(input) {
        assert!(!given_up.cause.reason(&given_up.request_id, true).message.is_empty());
    }
});
