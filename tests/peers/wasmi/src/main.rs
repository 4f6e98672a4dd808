//! `on-wasmi MODULE DIRECTORY`: runs a WASI preview 1 command on wasmi, with the directory as `/data` and its standard output as one's own.

use std::error::Error;

use wasmi::{Engine, Extern, Linker, Module, Store};
use wasmi_wasi::{Dir, WasiCtxBuilder, add_to_linker, ambient_authority};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, module, directory] = &words[..] else {
        return Err("name a module and a directory".into());
    };
    let engine = Engine::default();
    let module = Module::new(&engine, std::fs::read(module)?)?;
    let mut wasi = WasiCtxBuilder::new();
    wasi.inherit_stdout().arg("program")?;
    wasi.preopened_dir(Dir::open_ambient_dir(directory, ambient_authority())?, "/data")?;
    let mut store = Store::new(&engine, wasi.build());
    let mut linker = Linker::new(&engine);
    add_to_linker(&mut linker, |context| context)?;
    let instance = linker.instantiate_and_start(&mut store, &module)?;
    let start = instance.get_export(&store, "_start").and_then(Extern::into_func);
    let start = start.ok_or("it has no `_start`")?;
    match start.call(&mut store, &[], &mut []) {
        Err(error) if error.i32_exit_status() == Some(0) => Ok(()),
        ended => Ok(ended?),
    }
}
