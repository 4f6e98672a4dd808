//! Measures the memory that an artifact makes a process hold before it is refused, counted by the
//! allocator. It is a small multiple of the upload limit for any content. There is one test,
//! because the count covers the whole process.
#![allow(clippy::expect_used)] // helpers of tests are tests
#![allow(unsafe_code)] // an allocator can't be written without

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use dataperf::{Benchmark, Rejection};
use dataperf_benchmarks::data_acquisition::{self, DataAcquisition};
use dataperf_benchmarks::speech_selection::{self, SpeechSelection};
use dataperf_benchmarks::vision_debugging::{self, VisionDebugging};
use dataperf_benchmarks::vision_selection::{self, VisionSelection};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's; only sizes are noted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that reading the form of an artifact holds at once, beside the artifact.
fn held<B: Benchmark, P>(artifact: &[u8], parse: fn(&[u8]) -> Result<P, Rejection>) -> usize {
    assert!(artifact.len() as u64 <= B::MAX_ARTIFACT_BYTES, "{}", B::ID);
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let submission = parse(artifact);
    let most = MOST.load(Ordering::Relaxed) - before;
    assert!(submission.is_ok(), "{}: refused before it was read", B::ID);
    most
}

fn zip(name: &str, text: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(name, SimpleFileOptions::default())
        .expect("a name");
    writer.write_all(text).expect("memory");
    writer.finish().expect("memory").into_inner()
}

/// `item` again and again, `n_bytes` of it; some others between, so that it is no zip bomb.
fn repeated(first: &str, item: &str, n_bytes: usize) -> Vec<u8> {
    let mut text = first.as_bytes().to_vec();
    let mut n = 0_u32;
    while text.len() + item.len() < n_bytes {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let is_other = (n >> 24) < 6 && item.len() > 1;
        let digit = [b'0' + (n >> 16) as u8 % 10];
        text.extend_from_slice(if is_other { &digit } else { &[] });
        text.extend_from_slice(item.as_bytes());
    }
    text
}

#[test]
fn an_artifact_uses_little_memory_for_its_size() {
    const MEGABYTE: usize = 1 << 20;
    let long = "n".repeat(250);
    let list = |key: &str, item: &str, n_bytes: usize| {
        let n = (n_bytes - key.len() - 16) / (item.len() + 1);
        format!("{{\"{key}\": [{}]}}", vec![item; n].join(",")).into_bytes()
    };
    let lines = zip(&format!("{long}.txt"), &repeated("", "7\n", MEGABYTE));
    let labels = repeated("ImageID,Confidence\n", "a,1\n", MEGABYTE);
    let labels = zip(&format!("{long}.csv"), &labels);
    let counts = zip(&format!("{long}.csv"), &repeated("", "7,", 256 << 10));
    let order = |artifact: &[u8]| held::<VisionDebugging, _>(artifact, vision_debugging::Artifact::parse);
    let of_labels = |artifact: &[u8]| held::<VisionSelection, _>(artifact, vision_selection::Artifact::parse);
    let of_counts = |artifact: &[u8]| held::<DataAcquisition, _>(artifact, data_acquisition::Artifact::parse);
    let of_clips = |artifact: &[u8]| held::<SpeechSelection, _>(artifact, speech_selection::Artifact::parse);
    let most = [
        ("lines of an order", order(&lines)),
        ("an order", order(&list(&long, "7", 256 << 10))),
        ("lines of labels", of_labels(&labels)),
        ("fields of counts", of_counts(&counts)),
        ("counts", of_counts(&list(&long, "7", 64 << 10))),
        ("clips", of_clips(&list("nontargets", "\"a\"", MEGABYTE))),
    ];
    for (case, most) in most {
        println!("{case}: {most} bytes");
        assert!(most < 32 * MEGABYTE, "{case}: {most} bytes");
    }
}
