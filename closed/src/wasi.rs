//! WASI preview 1 for a program that reads files and writes an artifact: nothing of it reaches the machine.
//!
//! The program sees one directory, `/data`, with files that can be read, and an empty standard input. What it writes to
//! standard output and standard error stays in memory. Time begins at a fixed moment and a nanosecond passes with each unit of fuel, or
//! with sleeping, which takes none. Random numbers are SHA-256 of the seed and a counter. Every other function of WASI preview 1 is there and
//! says that it does nothing, since C libraries and runtimes import what they never call.
//!
//! Numbers are those of `wasi_snapshot_preview1.witx`.

use std::fmt;

use sha2::{Digest as _, Sha256};
use wasmtime::{Caller, FuncType, Linker, Memory, Trap, Val, ValType};

use crate::Limits;
use crate::engine::Limiter;
use dataperf::closed::DataFile;

/// The module of every function.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";
/// The function that is called.
pub(crate) const START: &str = "_start";
/// The memory that pointers are into.
pub(crate) const MEMORY: &str = "memory";

/// The program's first argument, which is its name.
const NAME: &[u8] = b"program\0";
/// The directory that is there.
const DIRECTORY: &str = "/data";
/// Its descriptor. Those below are the standard ones.
const DIRECTORY_FD: usize = 3;
/// Descriptors that may be open at once.
const MAX_OPEN: usize = 256;
/// The longest path that is looked at.
const MAX_PATH_BYTES: usize = 4096;
/// Buffers of one call.
const MAX_BUFFERS: usize = 1024;
/// When programs begin, in nanoseconds: 2020-01-01.
const BEGIN: u64 = 1_577_836_800_000_000_000;
/// Fuel of a call, beside one a byte.
const CALL_FUEL: u64 = 100;
/// Fuel of a random byte.
const RANDOM_FUEL: u64 = 20;

type Errno = i32;
const SUCCESS: Errno = 0;
const BADF: Errno = 8;
const FAULT: Errno = 21;
const INVAL: Errno = 28;
const ISDIR: Errno = 31;
const MFILE: Errno = 33;
const NAMETOOLONG: Errno = 37;
const NOENT: Errno = 44;
const NOTDIR: Errno = 54;
const NOTSOCK: Errno = 57;
const NOTSUP: Errno = 58;
const ROFS: Errno = 69;
const SPIPE: Errno = 70;
const NOTCAPABLE: Errno = 76;

const CHARACTER_DEVICE: u8 = 2;
const DIRECTORY_TYPE: u8 = 3;
const REGULAR_FILE: u8 = 4;

/// Rights to read, seek, tell, advise, open, list and be asked about.
const READ_RIGHTS: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 13 | 1 << 14 | 1 << 18 | 1 << 21 | 1 << 27;
const WRITE_RIGHT: u64 = 1 << 6;

/// The functions that do nothing: name, parameters (`i` of 32 bits, `I` of 64) and what they say.
const REFUSED: &[(&str, &str, Errno)] = &[
    ("fd_allocate", "iII", ROFS),
    ("fd_fdstat_set_rights", "iII", NOTSUP),
    ("fd_filestat_set_size", "iI", ROFS),
    ("fd_filestat_set_times", "iIIi", ROFS),
    ("fd_pwrite", "iiiIi", ROFS),
    ("fd_renumber", "ii", NOTSUP),
    ("path_create_directory", "iii", ROFS),
    ("path_filestat_set_times", "iiiiIIi", ROFS),
    ("path_link", "iiiiiii", ROFS),
    ("path_readlink", "iiiiii", INVAL),
    ("path_remove_directory", "iii", ROFS),
    ("path_rename", "iiiiii", ROFS),
    ("path_symlink", "iiiii", ROFS),
    ("path_unlink_file", "iii", ROFS),
    ("proc_raise", "i", NOTSUP),
    ("sock_accept", "iii", NOTSOCK),
    ("sock_recv", "iiiiii", NOTSOCK),
    ("sock_send", "iiiii", NOTSOCK),
    ("sock_shutdown", "ii", NOTSOCK),
];

/// The functions that do something, or have nothing to do and say so.
const SERVED: &[&str] = &[
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "fd_advise",
    "fd_close",
    "fd_datasync",
    "fd_fdstat_get",
    "fd_fdstat_set_flags",
    "fd_filestat_get",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_prestat_get",
    "fd_read",
    "fd_readdir",
    "fd_seek",
    "fd_sync",
    "fd_tell",
    "fd_write",
    "path_filestat_get",
    "path_open",
    "poll_oneoff",
    "proc_exit",
    "random_get",
    "sched_yield",
];

/// Whether WASI preview 1 has a function of this name.
pub(crate) fn is_function(name: &str) -> bool {
    SERVED.contains(&name) || REFUSED.iter().any(|(refused, ..)| *refused == name)
}

/// The program ended by itself.
#[derive(Debug)]
pub(crate) struct Exit(pub(crate) u32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program ended with the status {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// The program wrote more than an artifact may have.
#[derive(Debug)]
pub(crate) struct OutputTooLarge;

impl fmt::Display for OutputTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the program wrote too much")
    }
}

impl std::error::Error for OutputTooLarge {}

#[derive(Debug, Clone, Copy)]
enum Descriptor {
    Stdin,
    Stdout,
    Stderr,
    Directory,
    File { idx: usize, position: u64 },
}

/// What a program has instead of a machine.
#[derive(Debug)]
pub(crate) struct Host {
    /// Its memory, once there is one.
    pub(crate) memory: Option<Memory>,
    files: Vec<DataFile>,
    descriptors: Vec<Option<Descriptor>>,
    seed: [u8; 32],
    n_random_blocks: u64,
    random_block: Vec<u8>,
    slept: u64,
    max_fuel: u64,
    output: Vec<u8>,
    max_output_bytes: usize,
    log: Vec<u8>,
    max_log_bytes: usize,
    is_log_cut: bool,
}

impl Host {
    pub(crate) fn new(files: Vec<DataFile>, seed: [u8; 32], limits: Limits) -> Self {
        let standard = [
            Descriptor::Stdin,
            Descriptor::Stdout,
            Descriptor::Stderr,
            Descriptor::Directory,
        ];
        Self {
            memory: None,
            files,
            descriptors: standard.map(Some).to_vec(),
            seed,
            n_random_blocks: 0,
            random_block: Vec::new(),
            slept: 0,
            max_fuel: limits.max_fuel,
            output: Vec::new(),
            max_output_bytes: limits.max_output_bytes as usize,
            log: Vec::new(),
            max_log_bytes: limits.max_log_bytes as usize,
            is_log_cut: false,
        }
    }

    /// Keeps what there is room for.
    pub(crate) fn log(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.max_log_bytes - self.log.len());
        self.log.extend_from_slice(&bytes[..kept]);
        self.is_log_cut |= kept < bytes.len();
    }

    /// Standard output, standard error, and whether something of the latter was left out.
    pub(crate) fn into_written(self) -> (Vec<u8>, Vec<u8>, bool) {
        (self.output, self.log, self.is_log_cut)
    }

    fn descriptor(&mut self, fd: i32) -> Result<&mut Descriptor, Errno> {
        let descriptor = usize::try_from(fd)
            .ok()
            .and_then(|fd| self.descriptors.get_mut(fd));
        descriptor.and_then(Option::as_mut).ok_or(BADF)
    }

    /// A file and the position in it.
    fn file(&mut self, fd: i32) -> Result<(usize, &mut u64), Errno> {
        match self.descriptor(fd)? {
            Descriptor::File { idx, position } => Ok((*idx, position)),
            Descriptor::Directory => Err(ISDIR),
            Descriptor::Stdin | Descriptor::Stdout | Descriptor::Stderr => Err(SPIPE),
        }
    }

    /// What a path below the directory names: a file, or the directory itself.
    fn find(&self, path: &[u8]) -> Result<Option<usize>, Errno> {
        if path.len() > MAX_PATH_BYTES {
            return Err(NAMETOOLONG);
        }
        let path = std::str::from_utf8(path).map_err(|_| NOENT)?;
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err(NOTCAPABLE);
        }
        let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
        let Some(name) = parts.next() else {
            return if path.is_empty() { Err(NOENT) } else { Ok(None) };
        };
        let idx = self
            .files
            .iter()
            .position(|file| file.name == name)
            .ok_or(NOENT)?;
        if parts.next().is_some() || path.ends_with('/') {
            return Err(NOTDIR);
        }
        Ok(Some(idx))
    }

    /// Nanoseconds since the program began, where so much of its fuel is left.
    fn passed(&self, left: u64) -> u64 {
        (self.max_fuel - left).saturating_add(self.slept)
    }

    fn random(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.random_block.is_empty() {
                let counter = self.n_random_blocks.to_le_bytes();
                self.random_block = Sha256::new()
                    .chain_update(self.seed)
                    .chain_update(counter)
                    .finalize()
                    .to_vec();
                self.n_random_blocks += 1;
            }
            *byte = self.random_block.pop().unwrap_or_default();
        }
    }
}

/// A program's memory. Pointers and lengths are what the program says.
struct Bytes<'a>(&'a mut [u8]);

impl Bytes<'_> {
    fn at(&self, pointer: i32, n_bytes: usize) -> Result<&[u8], Errno> {
        let begin = pointer as u32 as usize;
        let end = begin.checked_add(n_bytes).ok_or(FAULT)?;
        self.0.get(begin..end).ok_or(FAULT)
    }

    fn at_mut(&mut self, pointer: i32, n_bytes: usize) -> Result<&mut [u8], Errno> {
        let begin = pointer as u32 as usize;
        let end = begin.checked_add(n_bytes).ok_or(FAULT)?;
        self.0.get_mut(begin..end).ok_or(FAULT)
    }

    fn put(&mut self, pointer: i32, bytes: &[u8]) -> Result<(), Errno> {
        self.at_mut(pointer, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn put_u32(&mut self, pointer: i32, number: usize) -> Result<(), Errno> {
        self.put(pointer, &(number as u32).to_le_bytes())
    }

    fn put_u64(&mut self, pointer: i32, number: u64) -> Result<(), Errno> {
        self.put(pointer, &number.to_le_bytes())
    }

    fn u32(&self, pointer: i32) -> Result<u32, Errno> {
        let bytes = self.at(pointer, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn u64(&self, pointer: i32) -> Result<u64, Errno> {
        let (low, high) = (self.u32(pointer)?, self.u32(pointer.wrapping_add(4))?);
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    /// The buffers of a vector: pointers and lengths.
    fn buffers(&self, pointer: i32, n: i32) -> Result<Vec<(i32, usize)>, Errno> {
        let n = usize::try_from(n)
            .ok()
            .filter(|&n| n <= MAX_BUFFERS)
            .ok_or(INVAL)?;
        let vectors = self.at(pointer, 8 * n)?.chunks_exact(8);
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(vectors
            .map(|vector| (word(vector).cast_signed(), word(&vector[4..]) as usize))
            .collect())
    }
}

type Program<'a> = Caller<'a, (Host, Limiter)>;

/// Takes fuel away; what is not there ends the program.
fn burn(program: &mut Program<'_>, fuel: u64) -> wasmtime::Result<()> {
    let left = program.get_fuel()?;
    program.set_fuel(left.saturating_sub(fuel))?;
    if left < fuel {
        return Err(Trap::OutOfFuel.into());
    }
    Ok(())
}

/// A call: its fuel, and what it does with memory and host. It says how many bytes it has moved.
fn call(
    program: &mut Program<'_>,
    does: impl FnOnce(&mut Bytes<'_>, &mut Host) -> Result<u64, Errno>,
) -> wasmtime::Result<Errno> {
    burn(program, CALL_FUEL)?;
    let Some(memory) = program.data().0.memory else {
        return Ok(FAULT);
    };
    let (bytes, (host, _)) = memory.data_and_store_mut(&mut *program);
    match does(&mut Bytes(bytes), host) {
        Ok(n_bytes) => burn(program, n_bytes).map(|()| SUCCESS),
        Err(errno) => Ok(errno),
    }
}

/// Makes every function of WASI preview 1 known.
pub(crate) fn link(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
    let engine = linker.engine().clone();
    for &(name, parameters, errno) in REFUSED {
        let parameters = parameters.chars().map(|kind| match kind {
            'I' => ValType::I64,
            _ => ValType::I32,
        });
        let ty = FuncType::new(&engine, parameters, [ValType::I32]);
        linker.func_new(MODULE, name, ty, move |mut program, _, results| {
            burn(&mut program, CALL_FUEL)?;
            results[0] = Val::I32(errno);
            Ok(())
        })?;
    }
    link_process(linker)?;
    link_descriptors(linker)?;
    link_reading(linker)?;
    link_paths(linker)
}

fn link_process(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "args_sizes_get",
        |mut p: Program<'_>, n: i32, n_bytes: i32| {
            call(&mut p, |memory, _| {
                memory.put_u32(n, 1)?;
                memory.put_u32(n_bytes, NAME.len()).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "args_get",
        |mut p: Program<'_>, pointers: i32, text: i32| {
            call(&mut p, |memory, _| {
                memory.put_u32(pointers, text as u32 as usize)?;
                memory.put(text, NAME).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "environ_sizes_get",
        |mut p: Program<'_>, n: i32, n_bytes: i32| {
            call(&mut p, |memory, _| {
                memory.put_u32(n, 0)?;
                memory.put_u32(n_bytes, 0).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "environ_get", |mut p: Program<'_>, _: i32, _: i32| {
        call(&mut p, |_, _| Ok(0))
    })?;
    linker.func_wrap(
        MODULE,
        "clock_res_get",
        |mut p: Program<'_>, clock: i32, out: i32| {
            call(&mut p, |memory, _| match clock {
                0..=3 => memory.put_u64(out, 1).map(|()| 0),
                _ => Err(INVAL),
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        |mut p: Program<'_>, clock: i32, _precision: i64, out: i32| {
            let left = p.get_fuel()?;
            call(&mut p, |memory, host| {
                let passed = host.passed(left);
                match clock {
                    0 => memory.put_u64(out, BEGIN.saturating_add(passed)).map(|()| 0),
                    1..=3 => memory.put_u64(out, passed).map(|()| 0),
                    _ => Err(INVAL),
                }
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "random_get",
        |mut p: Program<'_>, out: i32, n_bytes: i32| {
            let n_bytes = n_bytes as u32;
            // paid before it is done: this is work, not copying
            burn(&mut p, u64::from(n_bytes) * RANDOM_FUEL)?;
            call(&mut p, |memory, host| {
                host.random(memory.at_mut(out, n_bytes as usize)?);
                Ok(0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "sched_yield", |mut p: Program<'_>| {
        call(&mut p, |_, _| Ok(0))
    })?;
    linker.func_wrap(
        MODULE,
        "proc_exit",
        |_: Program<'_>, status: i32| -> wasmtime::Result<()> {
            Err(wasmtime::Error::new(Exit(status as u32)))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "poll_oneoff",
        |mut p: Program<'_>, subscriptions: i32, events: i32, n: i32, n_events: i32| {
            let left = p.get_fuel()?;
            call(&mut p, |memory, host| {
                poll(memory, host, left, subscriptions, events, n, n_events)
            })
        },
    )?;
    Ok(())
}

/// Whatever is waited for has happened: descriptors are ready, and the time that a program sleeps has passed.
fn poll(
    memory: &mut Bytes<'_>,
    host: &mut Host,
    left: u64,
    subscriptions: i32,
    events: i32,
    n: i32,
    n_events: i32,
) -> Result<u64, Errno> {
    const SUBSCRIPTION: i32 = 48;
    const EVENT: i32 = 32;
    const CLOCK: u8 = 0;
    let n_waited_for = usize::try_from(n).map_err(|_| INVAL)?;
    if !(1..=MAX_BUFFERS).contains(&n_waited_for) {
        return Err(INVAL);
    }
    for idx in 0..n {
        let subscription = subscriptions.wrapping_add(idx * SUBSCRIPTION);
        let user_data = memory.u64(subscription)?;
        let kind = memory.at(subscription.wrapping_add(8), 1)?[0];
        let mut event = [0; EVENT as usize];
        event[..8].copy_from_slice(&user_data.to_le_bytes());
        event[10] = kind;
        if kind == CLOCK {
            let clock = memory.u32(subscription.wrapping_add(16))?;
            let is_moment = memory.at(subscription.wrapping_add(40), 1)?[0] & 1 == 1;
            let time = memory.u64(subscription.wrapping_add(24))?;
            let now = if clock == 0 {
                BEGIN.saturating_add(host.passed(left))
            } else {
                host.passed(left)
            };
            let sleeps = if is_moment { time.saturating_sub(now) } else { time };
            host.slept = host.slept.saturating_add(sleeps);
        }
        memory.put(events.wrapping_add(idx * EVENT), &event)?;
    }
    memory.put_u32(n_events, n_waited_for)?;
    Ok(80 * n_waited_for as u64)
}

fn link_descriptors(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "fd_prestat_get",
        |mut p: Program<'_>, fd: i32, out: i32| {
            call(&mut p, |memory, host| match host.descriptor(fd)? {
                Descriptor::Directory if fd as usize == DIRECTORY_FD => {
                    memory.put_u32(out, 0)?; // a directory
                    memory.put_u32(out.wrapping_add(4), DIRECTORY.len()).map(|()| 0)
                }
                _ => Err(BADF),
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_prestat_dir_name",
        |mut p: Program<'_>, fd: i32, out: i32, n_bytes: i32| {
            call(&mut p, |memory, host| match host.descriptor(fd)? {
                Descriptor::Directory if fd as usize == DIRECTORY_FD => {
                    if (n_bytes as u32 as usize) < DIRECTORY.len() {
                        return Err(NAMETOOLONG);
                    }
                    memory.put(out, DIRECTORY.as_bytes()).map(|()| 0)
                }
                _ => Err(BADF),
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_fdstat_get",
        |mut p: Program<'_>, fd: i32, out: i32| {
            call(&mut p, |memory, host| {
                let (kind, rights) = match host.descriptor(fd)? {
                    Descriptor::Stdin => (CHARACTER_DEVICE, READ_RIGHTS),
                    Descriptor::Stdout | Descriptor::Stderr => (CHARACTER_DEVICE, WRITE_RIGHT),
                    Descriptor::Directory => (DIRECTORY_TYPE, READ_RIGHTS),
                    Descriptor::File { .. } => (REGULAR_FILE, READ_RIGHTS),
                };
                let mut stat = [0; 24];
                stat[0] = kind;
                stat[8..16].copy_from_slice(&rights.to_le_bytes());
                stat[16..].copy_from_slice(&rights.to_le_bytes());
                memory.put(out, &stat).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_filestat_get",
        |mut p: Program<'_>, fd: i32, out: i32| {
            call(&mut p, |memory, host| {
                let stat = match *host.descriptor(fd)? {
                    Descriptor::File { idx, .. } => file_stat(host, Some(idx)),
                    Descriptor::Directory => file_stat(host, None),
                    Descriptor::Stdin | Descriptor::Stdout | Descriptor::Stderr => {
                        stat_of(0, CHARACTER_DEVICE, 0)
                    }
                };
                memory.put(out, &stat).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "fd_close", |mut p: Program<'_>, fd: i32| {
        call(&mut p, |_, host| {
            host.descriptor(fd)?;
            host.descriptors[fd as usize] = None;
            Ok(0)
        })
    })?;
    // there is nothing that these could change
    linker.func_wrap(
        MODULE,
        "fd_fdstat_set_flags",
        |mut p: Program<'_>, fd: i32, _: i32| call(&mut p, |_, host| host.descriptor(fd).map(|_| 0)),
    )?;
    linker.func_wrap(
        MODULE,
        "fd_advise",
        |mut p: Program<'_>, fd: i32, _: i64, _: i64, _: i32| {
            call(&mut p, |_, host| host.descriptor(fd).map(|_| 0))
        },
    )?;
    for name in ["fd_sync", "fd_datasync"] {
        linker.func_wrap(MODULE, name, |mut p: Program<'_>, fd: i32| {
            call(&mut p, |_, host| host.descriptor(fd).map(|_| 0))
        })?;
    }
    Ok(())
}

fn stat_of(number: u64, kind: u8, n_bytes: u64) -> [u8; 64] {
    let mut stat = [0; 64];
    stat[8..16].copy_from_slice(&number.to_le_bytes());
    stat[16] = kind;
    stat[24..32].copy_from_slice(&1u64.to_le_bytes());
    stat[32..40].copy_from_slice(&n_bytes.to_le_bytes());
    for time in [40, 48, 56] {
        stat[time..time + 8].copy_from_slice(&BEGIN.to_le_bytes());
    }
    stat
}

/// What is said of a file, or of the directory.
fn file_stat(host: &Host, idx: Option<usize>) -> [u8; 64] {
    match idx {
        Some(idx) => stat_of(idx as u64 + 2, REGULAR_FILE, host.files[idx].bytes.len() as u64),
        None => stat_of(1, DIRECTORY_TYPE, 0),
    }
}

fn link_reading(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "fd_read",
        |mut p: Program<'_>, fd: i32, vectors: i32, n: i32, out: i32| {
            call(&mut p, |memory, host| {
                let n_read = match *host.descriptor(fd)? {
                    Descriptor::Stdin => 0,
                    Descriptor::File { idx, position } => read(memory, host, idx, position, vectors, n)?,
                    Descriptor::Directory => return Err(ISDIR),
                    Descriptor::Stdout | Descriptor::Stderr => return Err(BADF),
                };
                if let Descriptor::File { position, .. } = host.descriptor(fd)? {
                    *position += n_read;
                }
                memory.put_u32(out, n_read as usize).map(|()| n_read)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_pread",
        |mut p: Program<'_>, fd: i32, vectors: i32, n: i32, offset: i64, out: i32| {
            call(&mut p, |memory, host| {
                let (idx, _) = host.file(fd)?;
                let n_read = read(memory, host, idx, offset as u64, vectors, n)?;
                memory.put_u32(out, n_read as usize).map(|()| n_read)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_seek",
        |mut p: Program<'_>, fd: i32, by: i64, from: i32, out: i32| {
            call(&mut p, |memory, host| {
                let (idx, _) = host.file(fd)?;
                let n_bytes = host.files[idx].bytes.len();
                let (_, position) = host.file(fd)?;
                let from = match from {
                    0 => 0,
                    1 => (*position).cast_signed(),
                    2 => i64::try_from(n_bytes).map_err(|_| INVAL)?,
                    _ => return Err(INVAL),
                };
                let to = from.checked_add(by).and_then(|to| u64::try_from(to).ok());
                *position = to.ok_or(INVAL)?;
                memory.put_u64(out, *position).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(MODULE, "fd_tell", |mut p: Program<'_>, fd: i32, out: i32| {
        call(&mut p, |memory, host| {
            let (_, position) = host.file(fd)?;
            memory.put_u64(out, *position).map(|()| 0)
        })
    })?;
    linker.func_wrap(
        MODULE,
        "fd_write",
        |mut p: Program<'_>, fd: i32, vectors: i32, n: i32, out: i32| {
            let mut is_too_large = false;
            let errno = call(&mut p, |memory, host| {
                let descriptor = *host.descriptor(fd)?;
                let mut n_written = 0;
                for (pointer, n_bytes) in memory.buffers(vectors, n)? {
                    let bytes = memory.at(pointer, n_bytes)?;
                    match descriptor {
                        Descriptor::Stdout if n_bytes > host.max_output_bytes - host.output.len() => {
                            is_too_large = true;
                            return Ok(0);
                        }
                        Descriptor::Stdout => host.output.extend_from_slice(bytes),
                        Descriptor::Stderr => host.log(bytes),
                        Descriptor::Stdin | Descriptor::Directory => return Err(BADF),
                        Descriptor::File { .. } => return Err(ROFS),
                    }
                    n_written += n_bytes;
                }
                memory.put_u32(out, n_written).map(|()| n_written as u64)
            })?;
            if is_too_large {
                return Err(wasmtime::Error::new(OutputTooLarge));
            }
            Ok(errno)
        },
    )?;
    Ok(())
}

/// Reads a file from `position` on into the buffers of a vector, and says how many bytes.
fn read(
    memory: &mut Bytes<'_>,
    host: &Host,
    idx: usize,
    position: u64,
    vectors: i32,
    n: i32,
) -> Result<u64, Errno> {
    let bytes = &host.files[idx].bytes;
    let begin = usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
    let mut left = &bytes[begin..];
    for (pointer, n_bytes) in memory.buffers(vectors, n)? {
        let (now, later) = left.split_at(n_bytes.min(left.len()));
        memory.put(pointer, now)?;
        left = later;
    }
    Ok((bytes.len() - begin - left.len()) as u64)
}

fn link_paths(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "path_open",
        |mut p: Program<'_>,
         fd: i32,
         _lookup: i32,
         path: i32,
         n_path_bytes: i32,
         flags: i32,
         rights: i64,
         _inheriting: i64,
         _fd_flags: i32,
         out: i32| {
            call(&mut p, |memory, host| {
                const DIRECTORY: i32 = 1 << 1;
                const CREATE_EXCLUSIVE_OR_TRUNCATE: i32 = 1 | 1 << 2 | 1 << 3;
                let found = looked_up(memory, host, fd, path, n_path_bytes);
                if flags & CREATE_EXCLUSIVE_OR_TRUNCATE != 0
                    && !matches!(found, Err(BADF | NOTCAPABLE | FAULT))
                {
                    return Err(ROFS);
                }
                let found = found?;
                if rights as u64 & WRITE_RIGHT != 0 {
                    return Err(ROFS);
                }
                let descriptor = match found {
                    Some(_) if flags & DIRECTORY != 0 => return Err(NOTDIR),
                    Some(idx) => Descriptor::File { idx, position: 0 },
                    None => Descriptor::Directory,
                };
                let free = host.descriptors.iter().position(Option::is_none);
                let new = free.unwrap_or(host.descriptors.len());
                if new >= MAX_OPEN {
                    return Err(MFILE);
                }
                memory.put_u32(out, new)?;
                match host.descriptors.get_mut(new) {
                    Some(free) => *free = Some(descriptor),
                    None => host.descriptors.push(Some(descriptor)),
                }
                Ok(0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "path_filestat_get",
        |mut p: Program<'_>, fd: i32, _lookup: i32, path: i32, n_path_bytes: i32, out: i32| {
            call(&mut p, |memory, host| {
                let found = looked_up(memory, host, fd, path, n_path_bytes)?;
                memory.put(out, &file_stat(host, found)).map(|()| 0)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_readdir",
        |mut p: Program<'_>, fd: i32, buffer: i32, n_bytes: i32, cookie: i64, out: i32| {
            call(&mut p, |memory, host| {
                if !matches!(host.descriptor(fd)?, Descriptor::Directory) {
                    return Err(NOTDIR);
                }
                let room = n_bytes as u32 as usize;
                let mut entries: Vec<u8> = Vec::new();
                let first = usize::try_from(cookie).unwrap_or(usize::MAX);
                for (idx, file) in host.files.iter().enumerate().skip(first) {
                    if entries.len() >= room {
                        break;
                    }
                    entries.extend((idx as u64 + 1).to_le_bytes()); // where the next one is
                    entries.extend((idx as u64 + 2).to_le_bytes());
                    entries.extend((file.name.len() as u32).to_le_bytes());
                    entries.extend([REGULAR_FILE, 0, 0, 0]);
                    entries.extend(file.name.as_bytes());
                }
                entries.truncate(room); // a cut entry says that there are more
                memory.put(buffer, &entries)?;
                memory.put_u32(out, entries.len()).map(|()| entries.len() as u64)
            })
        },
    )?;
    Ok(())
}

fn looked_up(
    memory: &Bytes<'_>,
    host: &mut Host,
    fd: i32,
    path: i32,
    n_path_bytes: i32,
) -> Result<Option<usize>, Errno> {
    match host.descriptor(fd)? {
        Descriptor::Directory => host.find(memory.at(path, n_path_bytes as u32 as usize)?),
        _ => Err(NOTDIR),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
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
        assert!(SERVED.iter().all(|name| is_function(name)) && !is_function("system"));
    }

    #[test]
    fn a_path_names_a_file_of_the_directory_or_nothing() {
        let host = host();
        for (path, found) in [
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
            assert_eq!(host.find(path.as_bytes()), found, "{path}");
        }
        assert_eq!(host.find(&[b'a'; MAX_PATH_BYTES + 1]), Err(NAMETOOLONG));
        assert_eq!(host.find(&[0xff]), Err(NOENT));
    }

    #[test]
    fn random_bytes_follow_from_the_seed_however_they_are_asked_for() {
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
        let mut memory = Bytes(&mut bytes);
        assert_eq!(memory.put_u64(56, 1), Ok(()));
        assert_eq!(memory.put_u64(57, 1), Err(FAULT));
        assert_eq!(memory.put_u64(-1, 1), Err(FAULT));
        assert_eq!(memory.at(-1, usize::MAX), Err(FAULT));
        assert_eq!(memory.buffers(0, -1), Err(INVAL));
        assert_eq!(memory.buffers(60, 1), Err(FAULT));
    }
}
