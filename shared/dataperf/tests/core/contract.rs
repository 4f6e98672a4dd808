//! The memory ports keep the contract that the AWS adapters keep.

use dataperf::ports::contract;
use dataperf::ports::memory::{MemoryBucket, MemoryLeaderboards};

#[test]
fn of_buckets() {
    pollster::block_on(contract::bucket(&MemoryBucket::default(), "contract")).expect("no port error");
}

#[test]
fn of_leaderboards() {
    pollster::block_on(contract::leaderboards(&MemoryLeaderboards::default(), "contract"))
        .expect("no port error");
}

#[test]
fn of_upkeep() {
    pollster::block_on(contract::maintenance(&MemoryLeaderboards::default(), "contract"))
        .expect("no port error");
}
