//! What the tests share: the project, a cloud for each test, and a small data set.

/// The words of a command, which are formatted as by `format!` and have no spaces.
macro_rules! words {
    ($($line:tt)*) => {
        format!($($line)*).split(' ').map(str::to_owned).collect::<Vec<String>>()
    };
}

pub(crate) mod collections;
pub(crate) mod project;
pub(crate) mod small_language;
pub(crate) mod world;

pub(crate) use words;
