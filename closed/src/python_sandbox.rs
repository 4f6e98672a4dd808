//! What the kernel holds a program in Python to, beside its namespaces.

use std::fs::File;
use std::os::fd::{IntoRawFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Resource;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{MaskedEq, Ne};
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch};

use crate::sandbox;

/// Files that may be open at once.
const MAX_OPEN: u64 = 256;
/// Bytes of the largest file: one that bubblewrap writes about the program, which itself can make none.
const MAX_FILE_BYTES: u64 = 4096;
/// Bytes of the first thread's stack.
const STACK_BYTES: u64 = 8 << 20;
/// What is added to the number of a system call in the ABI of 32-bit pointers.
const X32: i64 = 0x4000_0000;

/// System calls that fail as if they did not exist: those that start processes, reach other processes, open sockets or change namespaces, and large
/// parts of the kernel that no selector needs.
const REFUSED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_clone3, // C libraries then use `clone`, whose flags can be looked at
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_personality,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // with these a run could signal to another run on the same machine: both see the files of `/usr`
    libc::SYS_flock,
    libc::SYS_inotify_init,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    libc::SYS_mincore,
    libc::SYS_sysinfo,
    libc::SYS_io_setup,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_futex_waitv,
    CACHESTAT,
    FUTEX_WAKE,
    FUTEX_WAIT,
    FUTEX_REQUEUE,
];

/// The numbers of calls for which not every version of the C library has a name.
const CACHESTAT: i64 = 451;
const FUTEX_WAKE: i64 = 454;
const FUTEX_WAIT: i64 = 455;
const FUTEX_REQUEUE: i64 = 456;

/// The operations of `futex` that are refused on a word which other processes may share through a file: all but waiting, which the end of a thread
/// needs.
const SHARED_FUTEX: &[libc::c_int] = &[
    libc::FUTEX_WAKE,
    libc::FUTEX_REQUEUE,
    libc::FUTEX_CMP_REQUEUE,
    libc::FUTEX_WAKE_OP,
    libc::FUTEX_LOCK_PI,
    libc::FUTEX_UNLOCK_PI,
    libc::FUTEX_TRYLOCK_PI,
    libc::FUTEX_WAKE_BITSET,
    libc::FUTEX_WAIT_REQUEUE_PI,
    libc::FUTEX_CMP_REQUEUE_PI,
    libc::FUTEX_LOCK_PI2,
];
/// The bits of a call of `futex` that say what it does and whether the word is the process's own.
const FUTEX_WHAT: u64 = 0xff;

/// The operations of `fcntl` that are allowed. Locks, leases, notices and hints of how long data live are not: files of `/usr` would carry them to
/// other runs.
const ALLOWED_OF_FCNTL: &[libc::c_int] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
];

/// The filter of system calls, as bubblewrap reads it: instructions of 8 bytes. What is refused is said not to exist.
pub(crate) fn filter() -> Result<Vec<u8>, String> {
    let made = || -> Result<BpfProgram, seccompiler::BackendError> {
        let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
            REFUSED.iter().map(|&call| (call, Vec::new())).collect();
        // refuses to make a new process that is no thread
        let no_thread = SeccompCondition::new(0, Qword, MaskedEq(libc::CLONE_THREAD as u64), 0)?;
        rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread])?]);
        let is_none_of_these = ALLOWED_OF_FCNTL
            .iter()
            .map(|&command| SeccompCondition::new(1, Dword, Ne, command as u64));
        let is_none_of_these = SeccompRule::new(is_none_of_these.collect::<Result<_, _>>()?)?;
        rules.insert(libc::SYS_fcntl, vec![is_none_of_these]);
        let shared = SHARED_FUTEX.iter().map(|&what| {
            let is_shared = SeccompCondition::new(1, Dword, MaskedEq(FUTEX_WHAT), what as u64)?;
            SeccompRule::new(vec![is_shared])
        });
        rules.insert(libc::SYS_futex, shared.collect::<Result<_, _>>()?);
        let again: Vec<_> = rules
            .iter()
            .map(|(call, rules)| (call + X32, rules.clone()))
            .collect();
        rules.extend(again);
        let refuse = SeccompAction::Errno(libc::ENOSYS as u32);
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, TargetArch::x86_64)?.try_into()
    };
    let program = made().map_err(|error| format!("there is no filter of system calls: {error}"))?;
    let bytes = program.iter().flat_map(|instruction| {
        let [a, b] = instruction.code.to_ne_bytes();
        let [c, d, e, f] = instruction.k.to_ne_bytes();
        [a, b, instruction.jt, instruction.jf, c, d, e, f]
    });
    Ok(bytes.collect())
}

/// Limits of the kernel, of which none can be lifted again.
pub(crate) fn limit(seconds: u64, address_space: u64) -> Result<(), String> {
    sandbox::lower(&[
        ("bytes of address space", Resource::As, address_space),
        ("bytes of stack", Resource::Stack, STACK_BYTES),
        ("seconds of processor time", Resource::Cpu, seconds),
        ("open files", Resource::Nofile, MAX_OPEN),
        ("bytes of a file", Resource::Fsize, MAX_FILE_BYTES),
        ("bytes of a core file", Resource::Core, 0),
    ])
}

/// A file's descriptor, which stays open when another program takes this one's place.
pub(crate) fn keep_when_replaced(file: File) -> Result<RawFd, String> {
    fcntl_setfd(&file, FdFlags::empty()).map_err(|error| format!("a file can't be handed on: {error}"))?;
    Ok(file.into_raw_fd())
}
