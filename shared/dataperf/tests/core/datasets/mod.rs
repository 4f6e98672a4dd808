//! Frozen data sets, and the evidence that scoring keeps of them.

mod evidence;
mod frozen;
mod warm;
