//! Daily limits and allowances: taken before the work, and returned if it is not done.

pub(crate) mod allowance;
pub(crate) mod reservation;
