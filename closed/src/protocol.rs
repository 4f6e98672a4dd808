//! The messages between the platform and the process of a submitted program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Failure, Limits};
use dataperf::programs::Layer;

/// Written by the child before it looks at the module, with what [`Holds`] it: what goes wrong from here on is the module's doing.
pub(crate) const STARTED: u8 = b's';
/// Written by the child as soon as the module is compiled.
pub(crate) const COMPILED: u8 = b'c';
/// Written by the child instead of `COMPILED`, if there is nothing to run.
pub(crate) const NOT_COMPILED: u8 = b'n';

/// The layers that confine a program's process, and the missing ones.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holds {
    pub(crate) layers: BTreeSet<Layer>,
    /// Why the kernel refuses the others.
    pub(crate) missing: BTreeMap<Layer, String>,
}

/// The first message to the child; the module and the files follow, one after another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) limits: Limits,
    pub(crate) seed: [u8; 32],
    pub(crate) n_module_bytes: u64,
    /// Each file's name and bytes.
    pub(crate) files: Vec<(String, u64)>,
    /// Without these nothing is run.
    pub(crate) required: BTreeSet<Layer>,
    /// The layers that a drill leaves out.
    #[cfg(feature = "drills")]
    pub(crate) without: BTreeSet<Layer>,
}

impl Request {
    /// Puts the process under a layer, which `hold` asks the kernel for, and notes what came of it. A drill leaves layers out.
    pub(crate) fn hold(
        &self,
        holds: &mut Holds,
        layer: Layer,
        hold: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        #[cfg(feature = "drills")]
        if self.without.contains(&layer) {
            return Ok(());
        }
        match hold() {
            Ok(()) => drop(holds.layers.insert(layer)),
            Err(why) if self.required.contains(&layer) => return Err(why),
            Err(why) => drop(holds.missing.insert(layer, why)),
        }
        Ok(())
    }
}

/// The child's message; standard output and standard error follow, one after another.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The program ended, well or not.
    Ended {
        failure: Option<Failure>,
        fuel: Option<u64>,
        memory_bytes: Option<u64>,
        n_output_bytes: u64,
        n_log_bytes: u64,
        is_log_cut: bool,
    },
    /// The child did not start it: the machine does not offer what it is held with, or the engine is at fault.
    Refused { why: String },
}

/// Writes a message: its length, then JSON.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let n_bytes = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&n_bytes.to_le_bytes())?;
    to.write_all(&bytes)
}

/// Reads a message.
pub(crate) fn read<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<M> {
    let mut n_bytes = [0; 4];
    from.read_exact(&mut n_bytes)?;
    let bytes = exactly(from, u32::from_le_bytes(n_bytes).into())?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Reads so many bytes.
pub(crate) fn exactly(from: &mut impl Read, n_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(n_bytes).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == n_bytes {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
