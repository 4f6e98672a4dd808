//! What raters say of examples: agreement, the decision, and standings that follow.

pub(crate) mod agreement;
pub(crate) mod decision;
pub(crate) mod standing;
