//! Frozen data sets on disk: imported from the public challenges' layouts, mapped into memory for scoring.

mod adversarial_nibbler;
mod data_acquisition;
mod directory;
mod embeddings;
mod import;
mod nibbler_export;
pub mod numerals;
mod own_data;
mod parquet_columns;
mod public;
mod seller_summary;
mod speech_selection;
mod spool;
mod vision_debugging;
mod vision_selection;
mod writer;

pub use adversarial_nibbler::{NIBBLER_LAYOUT, import_nibbler};
pub use directory::DirectoryBucket;
pub use import::{Import, ImportError, Progress, Silent, import};
pub use nibbler_export::write_nibbler_export;
pub use own_data::{TASKS, init, schema};
pub use public::{export_kit, export_public};
pub use writer::DatasetWriter;
