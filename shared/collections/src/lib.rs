//! Collections: people submit items, and raters judge them. [`common`] is what collections share;
//! [`nibbler`] is Adversarial Nibbler, [`text`] is Adversarial Text.
//!
//! Like the crate `dataperf`, this one uses no cloud, no clock, no environment and no file system.

pub mod common;
pub mod nibbler;
pub mod text;
