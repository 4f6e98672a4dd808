//! Ids that reveal nothing.

use crate::common::{digest, id};

id! {
    /// An example. The id does not reveal whose it is.
    ExampleId
}

impl ExampleId {
    /// The example on line `line`, counted from 1, of a submission: the same whenever the submission is looked at again.
    pub fn derive(submission: &str, line: usize) -> Self {
        Self(digest("example", &[submission, &line.to_string()]))
    }
}

/// Whether raters get an example that fooled nobody, of which they get the share `share`. It is decided by chance, in a way that anybody can work
/// out again from the example's id.
pub fn is_validated_by_chance(id: &ExampleId, share: f64) -> bool {
    const DIGITS: usize = 8;
    let drawn = u32::from_str_radix(&id.as_str()[..DIGITS], 16).unwrap_or(u32::MAX);
    f64::from(drawn) / (f64::from(u32::MAX) + 1.0) < share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_others_is_drawn() {
        let ids: Vec<ExampleId> = (1..=20_000).map(|line| ExampleId::derive("a", line)).collect();
        let n = |share| ids.iter().filter(|id| is_validated_by_chance(id, share)).count();
        assert_eq!((n(0.0), n(1.0)), (0, 20_000));
        // 5 standard deviations of a binomial distribution: 212
        assert!(n(0.1).abs_diff(2_000) < 212, "{}", n(0.1));
        assert_ne!(ExampleId::derive("a", 1), ExampleId::derive("b", 1));
    }
}
