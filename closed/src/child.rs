//! The process of a submitted program: reads what it is given, gives up everything else, compiles and runs.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use crate::Failure;
use crate::engine::{self, Ended};
use crate::protocol::{self, Answer, COMPILED, Holds, NOT_COMPILED, Request, STARTED};
use crate::sandbox::{self, Phase};
use crate::wasi::Host;
use dataperf::benchmark::closed::DataFile;
use dataperf::programs::Layer;

/// Does the work and answers on standard output.
pub(crate) fn main() -> ExitCode {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    match answer(&mut stdin, &mut stdout) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // nobody listens
    }
}

fn answer(stdin: &mut impl Read, stdout: &mut impl Write) -> io::Result<()> {
    // where the parent has ended before, what is written to it below fails
    let (ends, is_alone) = (sandbox::end_with_parent(), sandbox::close_descriptors());
    let request: Request = protocol::read(stdin)?;
    let mut holds = Holds::default();
    let n_bytes = request.n_module_bytes + request.files.iter().map(|(_, n_bytes)| n_bytes).sum::<u64>();
    let engine = engine::new(request.limits);
    let held = request
        .hold(&mut holds, Layer::EndsWithParent, || ends)
        .and_then(|()| request.hold(&mut holds, Layer::Process, || is_alone))
        .and_then(|()| {
            let limit = || sandbox::limit(request.limits, n_bytes);
            request.hold(&mut holds, Layer::KernelLimits, limit)
        });
    let engine = match held.and(engine) {
        Ok(engine) => engine,
        Err(why) => return refuse(stdout, &why),
    };
    let module = protocol::exactly(stdin, request.n_module_bytes)?;
    let files = request.files.iter();
    let files = files.map(|(name, n_bytes)| {
        let bytes = protocol::exactly(stdin, *n_bytes)?;
        let name = name.clone();
        Ok(DataFile { name, bytes })
    });
    let files = files.collect::<io::Result<Vec<_>>>()?;
    // from here on the module is looked at, and nothing else is within reach
    let filter = || sandbox::filter(Phase::Compile);
    if let Err(why) = request.hold(&mut holds, Layer::SystemCallFilter, filter) {
        return refuse(stdout, &why);
    }
    stdout.write_all(&[STARTED])?;
    protocol::write(stdout, &holds)?;
    stdout.flush()?;
    let compiled = match engine::compile(&engine, &module) {
        Ok(compiled) => compiled,
        Err(failure) => {
            stdout.write_all(&[NOT_COMPILED])?;
            let nothing = Ended {
                failure: Some(failure),
                fuel: None,
                memory_bytes: None,
            };
            return end(stdout, &nothing, &[], &[], false);
        }
    };
    drop(module);
    if holds.layers.contains(&Layer::SystemCallFilter)
        && let Err(why) = sandbox::filter(Phase::Run)
    {
        return refuse(stdout, &why);
    }
    stdout.write_all(&[COMPILED])?;
    stdout.flush()?;
    let host = Host::new(files, request.seed, request.limits);
    let (ended, host) = match engine::run(&engine, &compiled, host, request.limits) {
        Ok(ran) => ran,
        Err(why) => return protocol::write(stdout, &Answer::Refused { why }).and_then(|()| stdout.flush()),
    };
    let (output, log, is_log_cut) = host.into_written();
    let ended = match ended {
        Ended { failure: None, .. } if output.is_empty() => Ended {
            failure: Some(Failure::no_output()),
            ..ended
        },
        other => other,
    };
    let output = if ended.failure.is_none() { &output[..] } else { &[] };
    end(stdout, &ended, output, &log, is_log_cut)
}

fn refuse(stdout: &mut impl Write, why: &str) -> io::Result<()> {
    stdout.write_all(&[NOT_COMPILED])?;
    let why = why.to_owned();
    protocol::write(stdout, &Answer::Refused { why })?;
    stdout.flush()
}

fn end(
    stdout: &mut impl Write,
    ended: &Ended,
    output: &[u8],
    log: &[u8],
    is_log_cut: bool,
) -> io::Result<()> {
    let answer = Answer::Ended {
        failure: ended.failure.clone(),
        fuel: ended.fuel,
        memory_bytes: ended.memory_bytes,
        n_output_bytes: output.len() as u64,
        n_log_bytes: log.len() as u64,
        is_log_cut,
    };
    protocol::write(stdout, &answer)?;
    stdout.write_all(output)?;
    stdout.write_all(log)?;
    stdout.flush()
}
