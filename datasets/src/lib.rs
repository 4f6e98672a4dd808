//! Frozen data sets on disk: what importers share, and a directory that is mapped into memory for scoring.
//!
//! A benchmark's importer is in the benchmark's own folder and implements [`Import`].

mod correct;
mod directory;
pub mod embeddings;
mod errors;
mod import;
mod kit;
mod kit_example;
pub mod labelled;
pub mod lines;
mod lines_kit;
pub mod near;
mod new_files;
pub mod npy;
mod spool;
pub mod table_file;
mod tables;
mod verdicts;
mod writer;
mod written;

pub use correct::correct;
pub use directory::DirectoryBucket;
pub use errors::ImportError;
pub use import::{Import, Progress, Silent, import, named, text_if_there};
pub use kit::{NOTEBOOK, PRACTICE, README, STARTER, export_kit};
pub use kit_example::Example;
pub use lines_kit::{LinesKit, export_lines_kit, lines_example_path};
pub use new_files::write_new_files;
pub use spool::Spool;
pub use tables::{KitRows, KitTable, Values, write_csv, write_parquet};
pub use verdicts::{CONTROL, Edit, IN_DOUBT, Verdicts, WORK_LIST_COLUMNS};
pub use writer::{DatasetWriter, Hashing, Planned, note_unfinished, remove_unfinished};
pub use written::{parsed_file, read_configuration};
