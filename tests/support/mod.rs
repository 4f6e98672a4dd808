//! What the tests share: the project, a cloud for each test, and a small data set.

pub(crate) mod project;
pub(crate) mod small_language;
pub(crate) mod world;
