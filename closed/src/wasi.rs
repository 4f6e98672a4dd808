//! WASI preview 1 for a program that reads files and writes an artifact: nothing of it reaches the machine.
//!
//! The program sees one directory, `/data`, with readable files, and an empty standard input. Its
//! standard output and standard error stay in memory. Time begins at a fixed moment. A nanosecond
//! passes with each unit of fuel, or during sleep, which uses no fuel. Random numbers are SHA-256
//! of the seed and a counter. Every other function of WASI preview 1 exists and reports that it
//! does nothing, because C libraries and runtimes import functions that they never call.
//!
//! Numbers are those of `wasi_snapshot_preview1.witx`.

mod descriptors;
mod paths;
mod process;
mod reading;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt;

use sha2::{Digest as _, Sha256};
use wasmtime::{Caller, FuncType, Linker, Memory, Trap, Val, ValType};

use crate::Limits;
use crate::limiter::Limiter;
use dataperf::benchmark::closed::DataFile;

/// The module of every function.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";
/// The function that is called.
pub(crate) const START: &str = "_start";
/// The memory that pointers are into.
pub(crate) const MEMORY: &str = "memory";

/// The program's first argument, which is its name.
const NAME: &[u8] = b"program\0";
/// The only directory that a program sees.
const DIRECTORY: &str = "/data";
/// The directory's descriptor; lower ones are the standard descriptors.
const DIRECTORY_FD: usize = 3;
/// Descriptors that may be open at once.
const MAX_OPEN: usize = 256;
/// The longest path that is looked at.
const MAX_PATH_BYTES: usize = 4096;
/// The most buffers of one call.
const MAX_BUFFERS: usize = 1024;
/// The time at which every program begins, in nanoseconds since 1970: 2020-01-01.
const BEGIN: u64 = 1_577_836_800_000_000_000;
/// Fuel for a call, in addition to one for each byte.
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

/// Rights to read, seek, tell, advise, open, list and stat.
const READ_RIGHTS: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 13 | 1 << 14 | 1 << 18 | 1 << 21 | 1 << 27;
const WRITE_RIGHT: u64 = 1 << 6;

/// The functions that do nothing: name, parameters (`i` of 32 bits, `I` of 64) and the error that they return.
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

/// The functions that do something, or that have nothing to do and report success.
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

/// Whether WASI preview 1 has a function of this name in this module.
pub(crate) fn is_offered(module: &str, name: &str) -> bool {
    let is_name = SERVED.contains(&name) || REFUSED.iter().any(|(refused, ..)| *refused == name);
    module == MODULE && is_name
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

/// A program's view of a machine.
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

    /// The target of a path below the directory: a file, or the directory itself.
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
struct Bytes<'a> {
    bytes: &'a mut [u8],
    /// How many of them were read or written, however the call ends.
    n_touched: Cell<u64>,
}

impl<'a> Bytes<'a> {
    fn new(bytes: &'a mut [u8]) -> Self {
        let n_touched = Cell::new(0);
        Self { bytes, n_touched }
    }

    fn at(&self, pointer: i32, n_bytes: usize) -> Result<&[u8], Errno> {
        let begin = pointer as u32 as usize;
        let end = begin.checked_add(n_bytes).ok_or(FAULT)?;
        let bytes = self.bytes.get(begin..end).ok_or(FAULT)?;
        self.n_touched.set(self.n_touched.get() + n_bytes as u64);
        Ok(bytes)
    }

    fn at_mut(&mut self, pointer: i32, n_bytes: usize) -> Result<&mut [u8], Errno> {
        let begin = pointer as u32 as usize;
        let end = begin.checked_add(n_bytes).ok_or(FAULT)?;
        let bytes = self.bytes.get_mut(begin..end).ok_or(FAULT)?;
        self.n_touched.set(self.n_touched.get() + n_bytes as u64);
        Ok(bytes)
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

/// Takes fuel from the program, and ends the program if too little is left.
fn burn(program: &mut Program<'_>, fuel: u64) -> wasmtime::Result<()> {
    let left = program.get_fuel()?;
    program.set_fuel(left.saturating_sub(fuel))?;
    if left < fuel {
        return Err(Trap::OutOfFuel.into());
    }
    Ok(())
}

/// Makes a call: takes its fuel, and lets `does` work on memory and host. `does` gives the number of bytes that it has moved; bytes of memory that
/// it has looked at are paid for at least, also if it fails.
fn call(
    program: &mut Program<'_>,
    does: impl FnOnce(&mut Bytes<'_>, &mut Host) -> Result<u64, Errno>,
) -> wasmtime::Result<Errno> {
    burn(program, CALL_FUEL)?;
    let Some(memory) = program.data().0.memory else {
        return Ok(FAULT);
    };
    let (bytes, (host, _)) = memory.data_and_store_mut(&mut *program);
    let mut memory = Bytes::new(bytes);
    let (n_moved, errno) = match does(&mut memory, host) {
        Ok(n_bytes) => (n_bytes, SUCCESS),
        Err(errno) => (0, errno),
    };
    let n_touched = memory.n_touched.get();
    burn(program, n_moved.max(n_touched)).map(|()| errno)
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
    process::link(linker)?;
    descriptors::link(linker)?;
    reading::link(linker)?;
    paths::link(linker)
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

/// The attributes of a file, or of the directory.
fn file_stat(host: &Host, idx: Option<usize>) -> [u8; 64] {
    match idx {
        Some(idx) => stat_of(idx as u64 + 2, REGULAR_FILE, host.files[idx].bytes.len() as u64),
        None => stat_of(1, DIRECTORY_TYPE, 0),
    }
}
