//! The program itself: arguments, environment, time, random numbers, sleeping and the end.

use wasmtime::Linker;

use super::{
    BEGIN, Bytes, Errno, Exit, Host, INVAL, MAX_BUFFERS, MODULE, NAME, Program, RANDOM_FUEL, burn, call,
};
use crate::limiter::Limiter;

pub(super) fn link(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
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
