//! The project keeps its own conventions, and documents say what the code does.

mod deployment;
mod messages;
mod promises;
mod tidy;
mod wire_formats;
