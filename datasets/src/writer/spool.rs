//! Numbers whose count is not known before all are read, kept in a file without a name meanwhile.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::errors::ImportError;
use crate::writer::{DatasetWriter, Hashing};

const BUFFER_BYTES: usize = 1 << 20;

/// A file of numbers in the making.
pub struct Spool {
    file: BufWriter<File>,
    /// The first thing that went wrong. Nothing is written after that.
    failed: Option<io::Error>,
}

impl Spool {
    /// An empty one next to the data set that is being written.
    ///
    /// # Errors
    /// [`ImportError::Io`] when no temporary file can be made.
    pub fn new(writer: &DatasetWriter) -> Result<Self, ImportError> {
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, writer.temporary_file()?),
            failed: None,
        })
    }

    /// Appends numbers. Whether they could be written, [`Self::copy_to`] says.
    pub fn push(&mut self, numbers: &[f32]) {
        if self.failed.is_none() {
            let written = if cfg!(target_endian = "little") {
                self.file.write_all(bytemuck::cast_slice(numbers))
            } else {
                let mut bytes = numbers.iter().map(|number| number.to_le_bytes());
                bytes.try_for_each(|bytes| self.file.write_all(&bytes))
            };
            self.failed = written.err();
        }
    }

    /// Appends all numbers to `out`, little-endian.
    ///
    /// # Errors
    /// [`ImportError::Io`], of earlier writing too.
    pub fn copy_to(self, out: &mut Hashing) -> Result<(), ImportError> {
        let failed = || ImportError::io("can't write next to", Path::new("the data set"));
        if let Some(error) = self.failed {
            return Err(failed()(error));
        }
        let mut file = self
            .file
            .into_inner()
            .map_err(|error| failed()(error.into_error()))?;
        file.rewind().map_err(failed())?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match file.read(&mut buffer).map_err(failed())? {
                0 => return Ok(()),
                n => out.write(&buffer[..n])?,
            }
        }
    }
}
