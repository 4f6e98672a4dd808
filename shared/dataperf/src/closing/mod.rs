//! What happens to a round after its close, and when its data set retires.

pub mod finishing;
pub mod receipt_release;
pub mod retirement;
