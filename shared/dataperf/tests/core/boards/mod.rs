//! Published boards, their signatures, and the Ladder.

mod board_log;
mod ladder;
mod signatures;
