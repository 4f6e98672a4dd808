//! Listings of keys, versions and uploads under way.

mod answers;
mod list;
mod version_answers;
