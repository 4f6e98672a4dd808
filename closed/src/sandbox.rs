//! The kernel's restrictions on the process of a submitted program.
//!
//! Applies two filters of system calls, one after the other. After the first, the process reads
//! from its standard input, writes to its standard output and manages its own memory and signals.
//! It opens nothing, starts nothing and reaches nobody. After the second, when the module is
//! compiled, it can't make memory executable either. Other calls fail with `EPERM`.

use std::collections::BTreeMap;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, Le, MaskedEq};
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch};

use crate::Limits;

/// Bytes of address space in addition to the program's memory and files: for this executable, the
/// compiler's work and its output. The allocator reserves 1 GiB of them at the start.
const COMPILER_BYTES: u64 = 3 << 30;
/// Seconds of processor time in addition to the limits: reading the files.
const EXTRA_SECONDS: u64 = 30;

/// Bytes of the stack: the program's, and what compiling takes.
const STACK_BYTES: u64 = 8 << 20;

/// When a filter begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before the module is compiled.
    Compile,
    /// Before it runs.
    Run,
}

/// Closes every descriptor but the standard ones: whatever started this program may have left some open.
pub(crate) fn close_descriptors() -> Result<(), String> {
    #[allow(unsafe_code)]
    // SAFETY: called first, when nothing in this process owns one of them
    let closed = unsafe { libc::close_range(3, u32::MAX, 0) };
    if closed == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(format!("its descriptors can't be closed: {error}"))
}

/// Makes the kernel end this process with the one that started it, however that ends.
pub(crate) fn end_with_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| format!("it can't be made to end with the process that started it: {error}"))
}

/// Kernel limits; none can be raised again. `n_bytes` is the size of the module and the files.
pub(crate) fn limit(limits: Limits, n_bytes: u64) -> Result<(), String> {
    let address_space = limits.max_memory_bytes + limits.max_output_bytes + 3 * n_bytes + COMPILER_BYTES;
    let seconds = limits.compile_seconds + limits.run_seconds + EXTRA_SECONDS;
    lower(&[
        ("bytes of address space", Resource::As, address_space),
        ("bytes of stack", Resource::Stack, STACK_BYTES),
        ("seconds of processor time", Resource::Cpu, seconds),
        ("open files", Resource::Nofile, 0),
        ("bytes of a file", Resource::Fsize, 0),
        ("processes", Resource::Nproc, 0),
        ("bytes of a core file", Resource::Core, 0),
    ])
}

/// Lowers limits to these, for good.
pub(crate) fn lower(limits: &[(&str, Resource, u64)]) -> Result<(), String> {
    for &(name, resource, limit) in limits {
        // a lower one would end programs for which there is room elsewhere
        if let Some(lower) = getrlimit(resource).maximum.filter(|&lower| lower < limit) {
            return Err(format!(
                "a program's process needs {limit} {name}, and here it may have {lower}: raise that limit (`ulimit -H`)"
            ));
        }
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit).map_err(|error| format!("the {name} can't be limited: {error}"))?;
    }
    Ok(())
}

/// Puts this thread under a filter of system calls, and with it whatever it will start.
pub(crate) fn filter(phase: Phase) -> Result<(), String> {
    let program = program(phase).map_err(|error| format!("there is no filter of system calls: {error}"))?;
    seccompiler::apply_filter(&program)
        .map_err(|error| format!("the kernel takes no filter of system calls: {error}"))
}

fn program(phase: Phase) -> Result<BpfProgram, seccompiler::BackendError> {
    let filter = SeccompFilter::new(
        rules(phase)?,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        TargetArch::x86_64,
    )?;
    filter.try_into()
}

fn rules(phase: Phase) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let always = [
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_madvise,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
    ];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = always.map(|call| (call, Vec::new())).into();
    let mut allow = |call, condition| {
        rules.insert(call, vec![SeccompRule::new(vec![condition])?]);
        Ok(())
    };
    let this_process = u64::from(std::process::id());
    // descriptors 0, 1 and 2 are the pipes, and there should be no others
    allow(libc::SYS_read, SeccompCondition::new(0, Dword, Eq, 0)?)?;
    allow(libc::SYS_write, SeccompCondition::new(0, Dword, Le, 2)?)?;
    allow(
        libc::SYS_tgkill,
        SeccompCondition::new(0, Qword, Eq, this_process)?,
    )?; // how a process aborts
    let executable = libc::PROT_EXEC as u64;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let mask = match phase {
            Phase::Compile => 0,
            Phase::Run => executable,
        };
        allow(call, SeccompCondition::new(2, Dword, MaskedEq(mask), 0)?)?;
    }
    if phase == Phase::Compile {
        // for the second filter
        let no_new_privileges = libc::PR_SET_NO_NEW_PRIVS as u64;
        allow(
            libc::SYS_prctl,
            SeccompCondition::new(0, Dword, Eq, no_new_privileges)?,
        )?;
        rules.insert(libc::SYS_seccomp, Vec::new());
    }
    Ok(rules)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Read};
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Actions forbidden to a thread, tried under the filters: each filter belongs to one thread.
    fn refused(phases: &'static [Phase]) -> Vec<(&'static str, Option<ErrorKind>)> {
        let mut left_open = File::open("/proc/self/status").unwrap();
        let mut other_end = UnixStream::pair().unwrap();
        let parent = rustix::process::getppid().unwrap();
        let tried = thread::spawn(move || {
            for &phase in phases {
                filter(phase).unwrap();
            }
            let kind = |result: std::io::Result<()>| result.err().map(|error| error.kind());
            let map = |protection: i32| {
                let protection = rustix::mm::ProtFlags::from_bits_retain(protection as u32);
                #[allow(unsafe_code)]
                // SAFETY: a new mapping that nothing points into
                let mapped = unsafe {
                    rustix::mm::mmap_anonymous(
                        std::ptr::null_mut(),
                        4096,
                        protection,
                        rustix::mm::MapFlags::PRIVATE,
                    )
                };
                mapped.map(drop).map_err(Into::into)
            };
            vec![
                ("open", kind(File::open("/etc/hostname").map(drop))),
                ("list", kind(std::fs::read_dir("/").map(drop))),
                ("create", kind(File::create("/tmp/made-by-a-program").map(drop))),
                ("remove", kind(std::fs::remove_file("/tmp/made-by-a-program"))),
                ("connect", kind(TcpStream::connect("127.0.0.1:1").map(drop))),
                ("bind", kind(UdpSocket::bind("127.0.0.1:0").map(drop))),
                ("start", kind(Command::new("/bin/true").status().map(drop))),
                ("thread", kind(thread::Builder::new().spawn(|| ()).map(drop))),
                (
                    "read what was left open",
                    kind(left_open.read(&mut [0; 8]).map(drop)),
                ),
                (
                    "write to what was left open",
                    kind(std::io::Write::write(&mut other_end.0, b"x").map(drop)),
                ),
                (
                    "kill another",
                    kind(rustix::process::test_kill_process(parent).map_err(Into::into)),
                ),
                (
                    "lift a limit",
                    kind(
                        setrlimit(
                            Resource::Nofile,
                            Rlimit {
                                current: Some(9),
                                maximum: Some(9),
                            },
                        )
                        .map_err(Into::into),
                    ),
                ),
                ("map", kind(map(libc::PROT_READ | libc::PROT_WRITE))),
                ("map executable", kind(map(libc::PROT_READ | libc::PROT_EXEC))),
            ]
        });
        tried.join().unwrap()
    }

    #[test]
    fn a_filtered_thread_can_only_manage_its_memory() {
        let allowed = |name: &str, also: &str| name == "map" || name == also;
        for (name, kind) in refused(&[Phase::Compile]) {
            let expected = (!allowed(name, "map executable")).then_some(ErrorKind::PermissionDenied);
            assert_eq!(kind, expected, "{name}");
        }
        for (name, kind) in refused(&[Phase::Compile, Phase::Run]) {
            let expected = (!allowed(name, "")).then_some(ErrorKind::PermissionDenied);
            assert_eq!(kind, expected, "{name}");
        }
    }
}
