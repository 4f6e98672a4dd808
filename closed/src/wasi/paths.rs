//! The directory: opening, asking and listing.

use wasmtime::Linker;

use super::{
    BADF, Bytes, Descriptor, Errno, FAULT, Host, MAX_OPEN, MFILE, MODULE, NOTCAPABLE, NOTDIR, Program,
    REGULAR_FILE, ROFS, WRITE_RIGHT, call, file_stat,
};
use crate::limiter::Limiter;

pub(super) fn link(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
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
                let target = looked_up(memory, host, fd, path, n_path_bytes);
                if flags & CREATE_EXCLUSIVE_OR_TRUNCATE != 0
                    && !matches!(target, Err(BADF | NOTCAPABLE | FAULT))
                {
                    return Err(ROFS);
                }
                let target = target?;
                if rights as u64 & WRITE_RIGHT != 0 {
                    return Err(ROFS);
                }
                let descriptor = match target {
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
                let target = looked_up(memory, host, fd, path, n_path_bytes)?;
                memory.put(out, &file_stat(host, target)).map(|()| 0)
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
