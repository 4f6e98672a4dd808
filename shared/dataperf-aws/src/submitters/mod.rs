//! Submitters in the table: names, tokens, forms, grants and what they have used of their limits.

pub(crate) mod counts;
pub(crate) mod daily_use;
pub(crate) mod forms;
pub(crate) mod grants;
pub(crate) mod names;
pub(crate) mod tokens;
