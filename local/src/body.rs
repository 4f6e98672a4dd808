//! Bodies of requests that are read whole before it is known who sends them: each within a time, and all of a port within a number of bytes.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::Body as _;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The largest small body, in bytes.
const SMALL: usize = 64 << 10;
/// KiB of memory that the small bodies of one port may take at once; further bodies wait.
const MAX_SMALL_KIB: usize = 64 << 10;
/// KiB of memory that the larger bodies of one port may take at once, counted apart so that no small body waits.
const MAX_LARGE_KIB: usize = 256 << 10;
/// The time limit for receiving a body, including its wait for room.
const PATIENCE: Duration = Duration::from_secs(100);

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It has more bytes than a request may have.
    TooLarge,
    /// It did not come to its end in time.
    TooSlow,
}

/// A body that was read. It keeps its share of the memory of its port's bodies until it is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pub(crate) bytes: Bytes,
    _room: SemaphorePermit<'a>,
}

/// The bodies that one port reads.
pub(crate) struct Bodies {
    small: Semaphore,
    large: Semaphore,
    /// Bytes of memory that one byte of a body takes until its request is answered, including
    /// everything derived from the body.
    weight: usize,
    patience: Duration,
}

impl Bodies {
    /// Bodies of which each byte takes `weight` bytes of memory until the request is answered.
    pub(crate) const fn new(weight: usize) -> Self {
        Self {
            small: Semaphore::const_new(MAX_SMALL_KIB),
            large: Semaphore::const_new(MAX_LARGE_KIB),
            weight,
            patience: PATIENCE,
        }
    }

    /// Reads a body of at most `max_bytes`, once there is room for it.
    pub(crate) async fn whole(&self, body: Body, max_bytes: usize) -> Result<Held<'_>, Unread> {
        let declared = body.size_hint().upper();
        let n_bytes = declared
            .and_then(|declared| usize::try_from(declared).ok())
            .unwrap_or(max_bytes);
        if n_bytes > max_bytes {
            return Err(Unread::TooLarge);
        }
        let kib = n_bytes.saturating_mul(self.weight).div_ceil(1024);
        let kib = u32::try_from(kib).map_err(|_| Unread::TooLarge)?;
        let room = if n_bytes <= SMALL {
            &self.small
        } else {
            &self.large
        };
        let read = async {
            // the semaphore is never closed
            let room = room.acquire_many(kib).await.map_err(|_| Unread::TooSlow)?;
            let bytes = axum::body::to_bytes(body, max_bytes).await;
            let bytes = bytes.map_err(|_| Unread::TooLarge)?;
            Ok(Held { bytes, _room: room })
        };
        tokio::time::timeout(self.patience, read)
            .await
            .unwrap_or(Err(Unread::TooSlow))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream::{self, StreamExt as _};

    use super::*;

    const LARGE: usize = SMALL + 1024;

    fn begun(n_bytes: usize) -> Body {
        let first = stream::once(async move { Ok::<_, Infallible>(Bytes::from(vec![0; n_bytes])) });
        Body::from_stream(first.chain(stream::pending()))
    }

    /// Room for one large body.
    fn bodies(patience: Duration) -> Bodies {
        Bodies {
            small: Semaphore::const_new(1),
            large: Semaphore::const_new(LARGE.div_ceil(1024)),
            weight: 1,
            patience,
        }
    }

    #[tokio::test]
    async fn a_stalled_body_is_dropped_to_free_room() {
        let bodies = bodies(Duration::from_millis(20));
        // without a length it takes the room of the largest
        let unread = bodies.whole(begun(10), LARGE).await.map(|held| held.bytes);
        assert_eq!(unread, Err(Unread::TooSlow));
        let patient = Bodies {
            patience: PATIENCE,
            ..bodies
        };
        let read = patient.whole(Body::from(vec![1; LARGE]), LARGE).await;
        assert_eq!(read.map(|held| held.bytes.len()), Ok(LARGE));
    }

    #[tokio::test]
    async fn bodies_above_the_bound_wait_for_room() {
        let bodies = bodies(PATIENCE);
        let soon = Duration::from_millis(20);
        let answered = bodies.whole(Body::from(vec![1; LARGE]), LARGE).await.unwrap();
        let mut other = Box::pin(bodies.whole(Body::from(vec![2; LARGE]), LARGE));
        assert!(tokio::time::timeout(soon, other.as_mut()).await.is_err());
        // it keeps no small one waiting
        let small = bodies.whole(Body::from("short"), LARGE).await;
        assert_eq!(small.map(|held| held.bytes), Ok(Bytes::from("short")));
        drop(answered);
        assert!(other.await.is_ok());
    }

    #[tokio::test]
    async fn a_too_large_body_is_refused() {
        let bodies = Bodies::new(1);
        for body in [Body::from(vec![0; 11]), begun(11)] {
            let unread = bodies.whole(body, 10).await.map(|held| held.bytes);
            assert_eq!(unread, Err(Unread::TooLarge));
        }
    }
}
