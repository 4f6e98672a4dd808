//! Services that clients call by `POST /`: Secrets Manager and KMS.

pub(crate) mod kms;
pub(crate) mod post;
mod refusals;
mod secrets;
