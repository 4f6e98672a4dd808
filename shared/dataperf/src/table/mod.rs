//! The core's interface to the table: what functions do with it, and what organizers do.

pub mod leaderboard;
pub mod maintenance;
