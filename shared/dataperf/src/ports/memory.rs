//! A bucket in memory, for tests.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::bucket::{Bucket, Got, Object};
use super::{PortError, async_trait, lock};

/// A bucket in memory. Clones share their objects. Versions are the decimal numbers of an object's writes, from 0.
#[derive(Debug, Clone, Default)]
pub struct MemoryBucket {
    objects: Arc<Mutex<BTreeMap<String, Vec<Bytes>>>>,
}

impl MemoryBucket {
    fn version(&self, key: &str, version: Option<&str>) -> Option<Bytes> {
        let objects = lock(&self.objects);
        let versions = objects.get(key)?;
        match version {
            None => versions.last().cloned(),
            Some(version) => versions.get(version.parse::<usize>().ok()?).cloned(),
        }
    }
}

#[async_trait]
impl Bucket for MemoryBucket {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        Ok(match self.version(key, version) {
            None => Got::Missing,
            Some(bytes) if bytes.len() as u64 > max_bytes => Got::TooLarge {
                n_bytes: bytes.len() as u64,
            },
            Some(bytes) => Got::Object(Object {
                bytes,
                stored_at: None,
                tag: None,
            }),
        })
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        let Some(bytes) = self.version(key, None) else {
            return Ok(None);
        };
        let part = |range: &Range<u64>| {
            let fits = range.start <= range.end && range.end <= bytes.len() as u64;
            let beyond = || PortError::Malformed {
                subject: key.to_owned(),
                why: format!("it ends before byte {}", range.end),
            };
            fits.then(|| bytes.slice(range.start as usize..range.end as usize))
                .ok_or_else(beyond)
        };
        ranges.iter().map(part).collect::<Result<_, _>>().map(Some)
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        lock(&self.objects).entry(key.to_owned()).or_default().push(bytes);
        Ok(())
    }

    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
        let mut objects = lock(&self.objects);
        if objects.contains_key(key) {
            return Ok(false);
        }
        objects.insert(key.to_owned(), vec![bytes]);
        Ok(true)
    }
}
