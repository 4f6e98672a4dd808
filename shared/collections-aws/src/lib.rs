//! The functions of collections, their items in the table, and the services that they call. [`common`]
//! is what collections share; [`nibbler`] and [`text`] are its two configurations.

pub mod common;
pub mod nibbler;
pub mod text;
