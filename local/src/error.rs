//! Errors of starting the local cloud and of queries about it.

use std::path::PathBuf;

/// Why the local cloud did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process listens on a port.
    #[error(
        "another process uses port `{port}` for {service}: stop it, or choose another port with `{option}` \
            (0 takes any free one)"
    )]
    PortInUse {
        /// The requested port.
        port: u16,
        /// The service for that port.
        service: &'static str,
        /// The option that changes the port.
        option: &'static str,
    },
    /// A port could not be opened for another reason.
    #[error("cannot listen on `{host}:{port}` for {service}; choose another port with `{option}`")]
    Listen {
        /// The address.
        host: String,
        /// The requested port.
        port: u16,
        /// The service for that port.
        service: &'static str,
        /// The option that changes the port.
        option: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// Other machines could use the key that everybody knows.
    #[error(
        "other machines can reach `{host}`, and everybody knows the key `{access_key}`: give the organizer \
            another key, or listen on 127.0.0.1"
    )]
    KnownKey {
        /// The address that was to be listened on.
        host: std::net::IpAddr,
        /// The organizer's access key.
        access_key: String,
    },
    /// Another local cloud runs on the same directory.
    #[error("another running local cloud uses the data directory `{}`: stop it, or choose another with `--data-dir`", path.display())]
    DataDirInUse {
        /// The directory.
        path: PathBuf,
    },
    /// The data directory is something else's.
    #[error(
        "`{}` is not a data directory of a local cloud: it has no `dataperf-local.json`, but {files}. \
            Nothing was changed. Choose an empty or new directory with `--data-dir`",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first of its files.
        files: String,
    },
    /// The data directory is a file.
    #[error("`{}` is not a directory: choose an empty or new one with `--data-dir`", path.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The file that marks the data directory cannot be understood.
    #[error(
        "cannot use the data directory with the marker `{}`: {reason}; use the program that wrote it, put the marker back from a copy, or choose another directory with `--data-dir`",
        path.display()
    )]
    Marker {
        /// The marker.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A directory from which a start removes what is left over is a link to another one.
    #[error(
        "`{}` is a symbolic link, and the local cloud would remove files from its target: make it a \
            directory, or choose another data directory with `--data-dir`",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The data directory cannot be made or read.
    #[error("cannot use `{}`; make it readable and writable or choose another data directory with `--data-dir`", path.display())]
    DataDir {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A database of a data directory that was in use is not there, or has no bytes.
    #[error(
        "`{}` is missing or empty, but the data directory was in use: without it {loss}. Nothing was \
            changed. Restore it from a copy, with its `-wal` file if there is one, or choose another data \
            directory with `--data-dir`",
        path.display()
    )]
    Lost {
        /// The `SQLite` file.
        path: PathBuf,
        /// The facts that are unknown without it.
        loss: &'static str,
    },
    /// A database is damaged.
    #[error(
        "`{}` is damaged: {reason}. Restore it from a copy, with its `-wal` file if there is one, or \
            choose another data directory with `--data-dir`",
        path.display()
    )]
    Damaged {
        /// The `SQLite` file.
        path: PathBuf,
        /// `SQLite`'s findings.
        reason: String,
    },
    /// The index knows nothing of files that are whole objects or parts.
    #[error(
        "the index does not know {n_files} of the stored objects ({n_bytes} bytes) in `{}`, so it is lost, older than they are or another directory's: {names}; nothing was changed; put `index.sqlite` back from a copy, together with its `-wal` file if there is one, or move these files elsewhere to go on without them",
        path.display()
    )]
    UnknownObjects {
        /// The directory of the files.
        path: PathBuf,
        /// How many files there are.
        n_files: usize,
        /// How many bytes they have.
        n_bytes: u64,
        /// The first of them.
        names: String,
    },
    /// The index of objects and events cannot be opened.
    #[error("cannot open the index `{}`", path.display())]
    Index {
        /// The `SQLite` file.
        path: PathBuf,
        /// The problem.
        source: DatabaseError,
    },
    /// The table's file cannot be opened or the table cannot be made.
    #[error("cannot open the table in `{}`: {reason}", path.display())]
    Table {
        /// The `SQLite` file.
        path: PathBuf,
        /// The table engine's error.
        reason: String,
    },
    /// S3 does not allow the bucket's name.
    #[error("`{name}` is not a bucket name: 3 to 63 lower-case letters, digits, `.` and `-`")]
    BucketName {
        /// The name.
        name: String,
    },
    /// A function is described in a way that cannot run.
    #[error("function `{function}`: {reason}")]
    Function {
        /// The function's name.
        function: String,
        /// The problem and the remedy.
        reason: String,
    },
}

/// The index could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// `SQLite` refused.
    #[error("the index of objects and events failed")]
    Sqlite(#[from] rusqlite::Error),
    /// A file next to the index could not be written.
    #[error("cannot write `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The disk did not take what was committed.
    #[error("can't flush the index of objects and events to the disk")]
    Flush(#[from] std::io::Error),
    /// The work was given up because the runtime is stopping.
    #[error("the local cloud is stopping")]
    Stopping,
}

/// An invocation could not be queued.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// There is no function of that name.
    #[error("function `{function}` is not configured")]
    NoSuchFunction {
        /// The name.
        function: String,
    },
    /// The queue could not be written.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The queue did not become empty in time.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// Work was left when the time was over.
    #[error("still {n_waiting} waiting and {n_running} running invocations after {seconds} s")]
    Timeout {
        /// Invocations that wait for their turn or their retry.
        n_waiting: usize,
        /// Invocations that run.
        n_running: usize,
        /// How long was waited.
        seconds: f64,
    },
    /// The queue could not be read.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}
