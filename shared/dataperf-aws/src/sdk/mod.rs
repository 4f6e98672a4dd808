//! Clients of AWS services, with one retry policy and one translation of errors.

pub(crate) mod clients;
pub(crate) mod kms;
pub(crate) mod meter;
pub(crate) mod port_error;
pub(crate) mod retry;
pub(crate) mod service;
