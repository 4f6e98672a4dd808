//! What can go wrong when the local cloud starts or is asked about itself.

use std::path::PathBuf;

/// Why the local cloud did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process listens on a port.
    #[error(
        "port `{port}` for {service} is already in use; stop the other process or choose another port with `{option}` (0 takes any free one)"
    )]
    PortInUse {
        /// The port that was asked for.
        port: u16,
        /// What was to be served on it.
        service: &'static str,
        /// The option that changes the port.
        option: &'static str,
    },
    /// A port could not be opened for another reason.
    #[error("cannot listen on `{host}:{port}` for {service}; choose another port with `{option}`")]
    Listen {
        /// The address.
        host: String,
        /// The port that was asked for.
        port: u16,
        /// What was to be served on it.
        service: &'static str,
        /// The option that changes the port.
        option: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Other machines could use the key that everybody knows.
    #[error(
        "other machines can reach `{host}`, and the key `{access_key}` is known to everybody: give the organizer another one, or listen on 127.0.0.1"
    )]
    KnownKey {
        /// The address that was to be listened on.
        host: std::net::IpAddr,
        /// The organizer's access key.
        access_key: String,
    },
    /// Another local cloud runs on the same directory.
    #[error("the data directory `{}` is used by another running local cloud; stop it or choose another with `--data-dir`", path.display())]
    DataDirInUse {
        /// The directory.
        path: PathBuf,
    },
    /// The data directory is something else's.
    #[error(
        "`{}` is no data directory of a local cloud, and it is not empty: it has no `dataperf-local.json`, but {found}; nothing in it was changed; choose an empty or new directory with `--data-dir`",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first of what is in it.
        found: String,
    },
    /// The data directory is a file.
    #[error("`{}` is no directory; choose an empty or new one with `--data-dir`", path.display())]
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
        /// What is wrong with it.
        reason: String,
    },
    /// A directory from which a start removes what is left over is a link to another one.
    #[error(
        "`{}` is a symbolic link, and the local cloud would remove leftovers from where it leads; make it a directory or choose another data directory with `--data-dir`",
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
        /// What the system said.
        source: std::io::Error,
    },
    /// A database of a data directory that was in use is not there, or has no bytes.
    #[error(
        "`{}` is missing or empty, but the data directory was in use: without it {loss}; put it back from a copy, together with its `-wal` file if there is one, or choose another data directory with `--data-dir`; nothing was changed",
        path.display()
    )]
    Lost {
        /// The `SQLite` file.
        path: PathBuf,
        /// What nobody knows without it.
        loss: &'static str,
    },
    /// A database is damaged.
    #[error(
        "`{}` is damaged: {reason}; put it back from a copy, together with its `-wal` file if there is one, or choose another data directory with `--data-dir`",
        path.display()
    )]
    Damaged {
        /// The `SQLite` file.
        path: PathBuf,
        /// What `SQLite` found.
        reason: String,
    },
    /// The index knows nothing of files that are whole objects or parts.
    #[error(
        "the index does not know {n_files} of the stored objects ({n_bytes} bytes) in `{}`, so it is lost, older than they are or another directory's: {found}; nothing was changed; put `index.sqlite` back from a copy, together with its `-wal` file if there is one, or move these files elsewhere to go on without them",
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
        found: String,
    },
    /// The index of objects and events cannot be opened.
    #[error("cannot open the index `{}`", path.display())]
    Index {
        /// The `SQLite` file.
        path: PathBuf,
        /// What went wrong.
        source: DatabaseError,
    },
    /// The table's file cannot be opened or the table cannot be made.
    #[error("cannot open the table in `{}`: {reason}", path.display())]
    Table {
        /// The `SQLite` file.
        path: PathBuf,
        /// What the table engine said.
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
        /// What is wrong and how to mend it.
        reason: String,
    },
}

/// The index could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// `SQLite` refused.
    #[error("the index of objects and events failed")]
    Sqlite(#[from] rusqlite::Error),
    /// A file beside the index could not be written.
    #[error("cannot write `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The disk did not take what was committed.
    #[error("cannot bring the index of objects and events to the disk")]
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
