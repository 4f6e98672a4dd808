//! The attributes of descriptors.

use wasmtime::Linker;

use super::{
    BADF, CHARACTER_DEVICE, DIRECTORY, DIRECTORY_FD, DIRECTORY_TYPE, Descriptor, Host, MODULE, NAMETOOLONG,
    Program, READ_RIGHTS, REGULAR_FILE, WRITE_RIGHT, call, file_stat, stat_of,
};
use crate::limiter::Limiter;

pub(super) fn link(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
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
