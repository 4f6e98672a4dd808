//! Uploads, rejections and receipts.

mod artifacts;
mod causes;
mod misplaced;
mod odd_places;
pub(crate) mod receipts;
mod unreadable;
