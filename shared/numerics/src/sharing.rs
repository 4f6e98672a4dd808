//! What work is shared out among threads, and what the calling thread does alone.

/// Multiplications that are worth a thread, a few milliseconds of work: less is done about as soon as another thread has begun with it, and where
/// other programs need the processors, threads that look for work keep them waiting.
const WORTH_A_THREAD: usize = 1 << 24;

/// How many items a thread takes at least, of items that take so many multiplications each.
pub(crate) fn items_of_a_thread(multiplications: usize) -> usize {
    WORTH_A_THREAD.div_ceil(multiplications.max(1))
}

/// Does both, on two threads where the second takes at least so many multiplications that one is worth it.
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
