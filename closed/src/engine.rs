//! The engine with settings under which a program does the same on every machine, and one run in it.

use wasmtime::{
    Config, Engine, ExternType, Linker, Module, OperatorCost, Store, Trap, WasmBacktrace, WasmFeatures,
};

use crate::limiter::{Limiter, OutOfMemory};
use crate::wasi::{self, Exit, Host, OutputTooLarge};
use crate::{Code, Failure, Limits};

/// Fuel for growing a memory or a table, in addition to one for each new element of a table.
const GROW_FUEL: u8 = 100;
/// Bytes of the stack that lies outside the program's memory.
const STACK_BYTES: usize = 1 << 20;
/// The processors that code is made for: all of this kind, without what the one of this machine offers beyond that.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) failure: Option<Failure>,
    pub(crate) fuel: Option<u64>,
    /// Bytes of its memory.
    pub(crate) memory_bytes: Option<u64>,
}

/// The engine.
pub(crate) fn new(limits: Limits) -> Result<Engine, String> {
    let mut config = Config::new();
    let target = config.target(TARGET).map(drop);
    config
        .consume_fuel(true)
        .operator_cost(OperatorCost {
            // these two leave the program, as calls do
            MemoryGrow: GROW_FUEL,
            TableGrow: GROW_FUEL,
            ..OperatorCost::default()
        })
        .cranelift_nan_canonicalization(true)
        .wasm_features(WasmFeatures::THREADS, false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .max_wasm_stack(STACK_BYTES)
        // a memory is reserved as a whole, and does not move
        .memory_reservation(limits.max_memory_bytes)
        .memory_reservation_for_growth(0)
        .memory_may_move(false)
        // copy-on-write would need a file
        .memory_init_cow(false);
    target
        .and_then(|()| Engine::new(&config))
        .map_err(|error| format!("the engine can't be set up: {error:#}"))
}

/// Whether a program may import a function.
fn is_offered(module: &str, name: &str) -> bool {
    #[cfg(feature = "drills")]
    if module == crate::drill::MODULE {
        return true;
    }
    wasi::is_offered(module, name)
}

/// The first bytes of every module in the binary form.
const MAGIC: &[u8] = b"\0asm";

/// Compiles a module that is a command and imports nothing but WASI preview 1. Modules are text or code for no machine: only the
/// binary form is read.
pub(crate) fn compile(engine: &Engine, module: &[u8]) -> Result<Module, Failure> {
    if !module.starts_with(MAGIC) {
        let message = "the file is not a WebAssembly module, which begins with the bytes `\\0asm`. Build the program for \
            `wasm32-wasip1`. A program in Python needs a name that ends in `.py`";
        return Err(Failure::new(Code::InvalidModule, message.to_owned()));
    }
    let invalid = |error: wasmtime::Error| {
        let message = format!("the platform can't run this WebAssembly module: {error:#}");
        Failure::new(Code::InvalidModule, shortened(&message))
    };
    Module::validate(engine, module).map_err(invalid)?; // cheap, and finds what would be hard to compile
    let module = Module::from_binary(engine, module).map_err(invalid)?;
    let foreign: Vec<String> = module
        .imports()
        .filter(|import| {
            let is_function = matches!(import.ty(), ExternType::Func(_));
            !is_function || !is_offered(import.module(), import.name())
        })
        .map(|import| dataperf::quote(&format!("{}.{}", import.module(), import.name())))
        .collect();
    if let Some(first) = foreign.first() {
        let others = match foreign.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let message = format!(
            "the module imports {first}{others}, but only the functions of `{}` exist here: build it for \
                `wasm32-wasip1`",
            wasi::MODULE
        );
        return Err(Failure::new(Code::ForeignImport, message));
    }
    let is_start = |ty: &ExternType| {
        let function = ty.func();
        function.is_some_and(|function| function.params().len() == 0 && function.results().len() == 0)
    };
    let has_start = module.get_export(wasi::START).is_some_and(|ty| is_start(&ty));
    let has_memory = module
        .get_export(wasi::MEMORY)
        .is_some_and(|ty| ty.memory().is_some());
    if !has_start || !has_memory {
        let message = "the module does not export a function `_start` without parameters and a memory `memory`: build a \
            program with `main` for `wasm32-wasip1`";
        return Err(Failure::new(Code::NotACommand, message));
    }
    Ok(module)
}

/// Runs a module to its end. An error is the platform's fault.
pub(crate) fn run(
    engine: &Engine,
    module: &Module,
    host: Host,
    limits: Limits,
) -> Result<(Ended, Host), String> {
    let platform = |error: wasmtime::Error| format!("the engine is at fault: {error:#}");
    let mut linker = Linker::new(engine);
    wasi::link(&mut linker).map_err(platform)?;
    #[cfg(feature = "drills")]
    crate::drill::link(&mut linker).map_err(platform)?;
    let mut store = Store::new(engine, (host, Limiter::new(limits)));
    store.limiter(|(_, limiter)| limiter);
    store.set_fuel(limits.max_fuel).map_err(platform)?;
    let ended = linker.instantiate(&mut store, module).and_then(|instance| {
        store.data_mut().0.memory = instance.get_memory(&mut store, wasi::MEMORY);
        let start = instance.get_typed_func::<(), ()>(&mut store, wasi::START)?;
        start.call(&mut store, ())
    });
    let used = limits.max_fuel - store.get_fuel().map_err(platform)?;
    let memory = store.data().0.memory;
    let memory_bytes = memory.map(|memory| memory.data_size(&store) as u64);
    let (mut host, _) = store.into_data();
    let failure = match ended {
        Ok(()) => None,
        Err(error) => failure(&error, &mut host, limits),
    };
    let fuel = Some(used);
    let ended = Ended {
        failure,
        fuel,
        memory_bytes,
    };
    Ok((ended, host))
}

/// The message for an error in the program; `None` if it ended normally.
fn failure(error: &wasmtime::Error, host: &mut Host, limits: Limits) -> Option<Failure> {
    if let Some(backtrace) = error.downcast_ref::<WasmBacktrace>()
        && error.downcast_ref::<Exit>().is_none()
    {
        host.log(backtrace.to_string().as_bytes());
        host.log(b"\n");
    }
    if let Some(&Exit(status)) = error.downcast_ref::<Exit>() {
        return (status != 0).then(|| Failure::exit_status(status));
    }
    if let Some(OutputTooLarge) = error.downcast_ref::<OutputTooLarge>() {
        return Some(Failure::output_too_large(&limits));
    }
    if let Some(&OutOfMemory { n_bytes }) = error.downcast_ref::<OutOfMemory>() {
        return Some(Failure::out_of_memory(&limits, Some(n_bytes)));
    }
    Some(match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            let message = format!(
                "the program used all of its fuel, {} units. Each instruction uses about one: make the program do less",
                limits.max_fuel
            );
            Failure::new(Code::OutOfFuel, message)
        }
        Some(trap) => {
            let message = format!("the program was stopped: {trap}; `--log` shows where");
            Failure::new(Code::Trap, message)
        }
        // what instantiation says of a module that is wrong in itself: a table too large, an import of another type
        None => {
            let message = format!("the module can't be started: {error:#}");
            Failure::new(Code::InvalidModule, shortened(&message))
        }
    })
}

fn shortened(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(400).collect()
}
