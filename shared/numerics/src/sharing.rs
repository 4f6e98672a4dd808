//! Decides which work is shared among threads, and which the calling thread does alone.

/// The number of multiplications that are worth a thread: a few milliseconds of work. Less gains little from a second
/// thread, and threads that look for work delay other programs that need the processors.
const WORTH_A_THREAD: usize = 1 << 24;

/// The fewest items that a thread takes, if each takes this number of multiplications.
pub(crate) fn items_of_a_thread(multiplications: usize) -> usize {
    WORTH_A_THREAD.div_ceil(multiplications.max(1))
}

/// Runs both functions; on two threads if the second takes enough multiplications to be worth one.
pub(crate) fn both<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
    multiplications_of_second: usize,
) -> (A, B) {
    if multiplications_of_second < WORTH_A_THREAD {
        return (first(), second());
    }
    rayon::join(first, second)
}
