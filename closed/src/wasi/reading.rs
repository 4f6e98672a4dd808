//! Reading, seeking and writing.

use wasmtime::Linker;

use super::{
    BADF, Bytes, Descriptor, Errno, Host, INVAL, ISDIR, MODULE, OutputTooLarge, Program, ROFS, call,
};
use crate::limiter::Limiter;

pub(super) fn link(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
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
