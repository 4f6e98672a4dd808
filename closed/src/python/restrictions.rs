//! The kernel's restrictions on a Python program, in addition to its namespaces.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{IntoRawFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Resource;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch};

use crate::sandbox;

/// Files that may be open at once.
const MAX_OPEN: u64 = 256;
/// Bytes of the largest file: one that bubblewrap writes about the program, which itself can make none.
const MAX_FILE_BYTES: u64 = 4096;
/// Bytes of the first thread's stack.
const STACK_BYTES: u64 = 8 << 20;

/// System calls that a program may make, in addition to those of [`conditional`]. An interpreter
/// and numeric libraries need them to read files, write to standard output and manage their memory,
/// signals and time. All others fail as if they did not exist. They would start or reach other
/// processes or threads. Others use something that the kernel counts over all runs, through which
/// two runs could communicate.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getdents,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_umask,
    // of which the read-only file system says why they fail
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_brk,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_pause,
    libc::SYS_alarm,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_kill, // there is no other process to reach but bubblewrap's own, which waits for this one
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgrp,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_arch_prctl,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_time,
    libc::SYS_gettimeofday,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_uname,
    libc::SYS_getrandom,
    libc::SYS_execve, // bubblewrap starts the interpreter under the filter
    libc::SYS_wait4,  // and waits for it
    libc::SYS_waitid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The operations of `fcntl` that are allowed. Locks, leases, notices and hints of how long data live are not: files of `/usr` would carry them to
/// other runs.
const OF_FCNTL: &[libc::c_int] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
];

/// The operations of `ioctl` that are allowed: whether a file is a terminal, how wide one is, how much can be read, and closing at `execve`.
const OF_IOCTL: &[libc::Ioctl] = &[
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIOCLEX,
    libc::FIONCLEX,
];

/// The operations of `prctl` that are allowed: the thread's name.
const OF_PRCTL: &[libc::c_int] = &[libc::PR_SET_NAME, libc::PR_GET_NAME];

/// The allowed advice about memory. Advice about files is not allowed, because it would reveal or
/// change which files are in memory for everybody.
const OF_MADVISE: &[libc::c_int] = &[
    libc::MADV_NORMAL,
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_HUGEPAGE,
    libc::MADV_NOHUGEPAGE,
    libc::MADV_DONTDUMP,
    libc::MADV_DODUMP,
];

/// System calls that are allowed on a condition: each rule is one that may hold.
fn conditional() -> Result<Vec<(i64, Vec<SeccompRule>)>, seccompiler::BackendError> {
    let one = |argument, length, operator, value| {
        SeccompRule::new(vec![SeccompCondition::new(argument, length, operator, value)?])
    };
    let one_of = |argument, values: &mut dyn Iterator<Item = u64>| {
        values
            .map(|value| one(argument, Dword, Eq, value))
            .collect::<Result<Vec<_>, _>>()
    };
    let of_fcntl = one_of(1, &mut OF_FCNTL.iter().map(|&value| value as u64))?;
    let of_ioctl = one_of(1, &mut OF_IOCTL.iter().map(|&value| u64::from(value as u32)))?;
    let of_prctl = one_of(0, &mut OF_PRCTL.iter().map(|&value| value as u64))?;
    let of_madvise = one_of(2, &mut OF_MADVISE.iter().map(|&value| value as u64))?;
    // not of the pages that the machine has set aside for all
    let of_mmap = vec![one(3, Dword, MaskedEq(libc::MAP_HUGETLB as u64), 0)?];
    // on a word of the process's own: another one may be in a file that several runs have mapped
    let own = libc::FUTEX_PRIVATE_FLAG as u64;
    let of_futex = vec![one(1, Dword, MaskedEq(own), own)?];
    let of_itself = vec![one(0, Dword, Eq, 0)?];
    Ok(vec![
        (libc::SYS_fcntl, of_fcntl),
        (libc::SYS_ioctl, of_ioctl),
        (libc::SYS_prctl, of_prctl),
        (libc::SYS_futex, of_futex),
        (libc::SYS_madvise, of_madvise),
        (libc::SYS_mmap, of_mmap),
        (libc::SYS_prlimit64, of_itself),
    ])
}

/// The filter of system calls, in bubblewrap's form: instructions of 8 bytes. Forbidden calls fail
/// as if they did not exist.
pub(crate) fn filter() -> Result<Vec<u8>, String> {
    let made = || -> Result<BpfProgram, seccompiler::BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = conditional()?.into_iter().collect();
        rules.extend(ALLOWED.iter().map(|&call| (call, Vec::new())));
        let refuse = SeccompAction::Errno(libc::ENOSYS as u32);
        SeccompFilter::new(rules, refuse, SeccompAction::Allow, TargetArch::x86_64)?.try_into()
    };
    let program = made().map_err(|error| format!("there is no filter of system calls: {error}"))?;
    let bytes = program.iter().flat_map(|instruction| {
        let [a, b] = instruction.code.to_ne_bytes();
        let [c, d, e, f] = instruction.k.to_ne_bytes();
        [a, b, instruction.jt, instruction.jf, c, d, e, f]
    });
    Ok(bytes.collect())
}

/// Kernel limits; none can be raised again.
pub(crate) fn limit(seconds: u64, address_space: u64) -> Result<(), String> {
    sandbox::lower(&[
        ("bytes of address space", Resource::As, address_space),
        ("bytes of stack", Resource::Stack, STACK_BYTES),
        ("seconds of processor time", Resource::Cpu, seconds),
        ("open files", Resource::Nofile, MAX_OPEN),
        ("bytes of a file", Resource::Fsize, MAX_FILE_BYTES),
        ("bytes of a core file", Resource::Core, 0),
        // of these the kernel counts what all processes of a user have together
        ("bytes that can't be swapped out", Resource::Memlock, 0),
        ("bytes of message queues", Resource::Msgqueue, 0),
        ("signals that wait", Resource::Sigpending, 0),
    ])
}

/// A file's descriptor, which stays open when another program takes this one's place.
pub(crate) fn keep_when_replaced(file: File) -> Result<RawFd, String> {
    fcntl_setfd(&file, FdFlags::empty()).map_err(|error| format!("a file can't be handed on: {error}"))?;
    Ok(file.into_raw_fd())
}
