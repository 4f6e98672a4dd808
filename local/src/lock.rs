//! Locks that outlive the panic of a thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock's content, also when a thread that held it panicked: an open transaction is rolled back by then.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
