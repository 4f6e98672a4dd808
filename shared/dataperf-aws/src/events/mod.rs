//! What starts a function: uploads that S3 announces, and events that Lambda could not process.

pub(crate) mod failed_event;
pub(crate) mod fault;
pub(crate) mod s3_event;
