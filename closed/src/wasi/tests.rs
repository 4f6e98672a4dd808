#![allow(clippy::unwrap_used)]

use super::*;

fn host() -> Host {
    let file = |name: &str| DataFile {
        name: name.into(),
        bytes: name.into(),
    };
    Host::new(
        vec![file("task.json"), file("pool.npy")],
        [7; 32],
        Limits::for_artifacts_of(10),
    )
}

#[test]
fn every_function_is_linked_once() {
    let engine = crate::engine::new(Limits::for_artifacts_of(10)).unwrap();
    let mut linker = Linker::new(&engine);
    link(&mut linker).unwrap(); // which refuses a second of the same name
    // the functions of wasi_snapshot_preview1.witx
    assert_eq!(SERVED.len() + REFUSED.len(), 46);
    assert!(SERVED.iter().all(|name| is_offered(MODULE, name)) && !is_offered(MODULE, "system"));
}

#[test]
fn a_path_resolves_only_inside_the_directory() {
    let host = host();
    for (path, expected) in [
        ("task.json", Ok(Some(0))),
        ("./pool.npy", Ok(Some(1))),
        (".", Ok(None)),
        ("", Err(NOENT)),
        ("task", Err(NOENT)),
        ("task.json/x", Err(NOTDIR)),
        ("../etc/passwd", Err(NOTCAPABLE)),
        ("/etc/passwd", Err(NOTCAPABLE)),
        ("x/../task.json", Err(NOTCAPABLE)),
    ] {
        assert_eq!(host.find(path.as_bytes()), expected, "{path}");
    }
    assert_eq!(host.find(&[b'a'; MAX_PATH_BYTES + 1]), Err(NAMETOOLONG));
    assert_eq!(host.find(&[0xff]), Err(NOENT));
}

#[test]
fn random_bytes_depend_only_on_the_seed() {
    let (mut one, mut other) = (host(), host());
    let (mut whole, mut parts) = ([0; 100], [0; 100]);
    one.random(&mut whole);
    parts.chunks_mut(7).for_each(|part| other.random(part));
    assert_eq!(whole, parts);
    assert_ne!(whole[..32], whole[32..64]);
}

#[test]
fn pointers_beyond_memory_are_refused() {
    let mut bytes = [0; 64];
    let mut memory = Bytes::new(&mut bytes);
    assert_eq!(memory.put_u64(56, 1), Ok(()));
    assert_eq!(memory.put_u64(57, 1), Err(FAULT));
    assert_eq!(memory.put_u64(-1, 1), Err(FAULT));
    assert_eq!(memory.at(-1, usize::MAX), Err(FAULT));
    assert_eq!(memory.buffers(0, -1), Err(INVAL));
    assert_eq!(memory.buffers(60, 1), Err(FAULT));
}
