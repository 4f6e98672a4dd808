//! The work and the mistakes of organizers, and of participants with only a token.

pub(crate) mod organizer_mistakes;
mod organizer_work;
mod participants;
