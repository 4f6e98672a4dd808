//! The output of processes, kept in a file and passed on to `tracing`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::lock::locked;
use crate::status::Status;

/// The log of one process.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    function: Arc<str>,
    file: Arc<Mutex<File>>,
    status: Arc<Status>,
}

impl Log {
    pub(crate) fn create(path: &Path, function: &str, status: &Arc<Status>) -> std::io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let file = Arc::new(Mutex::new(File::create(path)?));
        Ok(Self {
            function: function.into(),
            file,
            status: Arc::clone(status),
        })
    }

    /// Adds a line.
    pub(crate) fn line(&self, line: &str) {
        tracing::info!(target: "dataperf_local::function", function = &*self.function, "{line}");
        let written = locked(&self.file).write_all(format!("{line}\n").as_bytes());
        if let Err(error) = written {
            tracing::warn!(function = &*self.function, %error, "cannot write the log");
        }
    }

    /// Adds every line that comes, until the process closes its end; bytes that are no UTF-8 are replaced.
    pub(crate) async fn follow(self, stream: impl AsyncRead + Unpin) {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line).await, Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']);
            if text.starts_with('{') {
                self.status
                    .update(&self.function, |function| function.add_line(text));
            }
            self.line(text);
            line.clear();
        }
    }
}
