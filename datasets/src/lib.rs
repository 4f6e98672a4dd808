//! Frozen data sets on disk: what importers share, and a directory that is mapped into memory for scoring.
//!
//! A benchmark's importer is in the benchmark's own folder and implements [`Import`].

mod directory;
mod errors;
mod import;
mod kit;
pub mod labels;
pub mod npy;
pub mod tables;
mod writer;
mod written;

pub use directory::DirectoryBucket;
pub use errors::ImportError;
pub use import::{Import, Progress, Silent, import, named, text_if_there};
pub use kit::example::Example;
pub use kit::lines::{LinesKit, export_lines_kit, lines_example_path};
pub use kit::{Kit, NOTEBOOK, PRACTICE, README, STARTER, export_kit};
pub use labels::correct::correct;
pub use labels::verdicts::{CONTROL, Edit, IN_DOUBT, Verdicts, WORK_LIST_COLUMNS};
pub use tables::{KitRows, KitTable, Values, write_csv, write_parquet};
pub use writer::new_files::write_new_files;
pub use writer::spool::Spool;
pub use writer::{DatasetWriter, Hashing, Planned, note_unfinished, remove_unfinished};
pub use written::{parsed_file, read_configuration};
