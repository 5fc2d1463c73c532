//! What programs did: traces, read, written, generated and recorded.
//!
//! A trace is a sequence of [`Access`]es. Readers hand it out in [`Block`]s, a column a field,
//! so that who needs only addresses pays only for addresses ([`Columns`]). Every format has one
//! file with its layout and where it comes from.

pub mod access;
pub mod generate;
pub mod info;
pub mod reuse;
pub mod source;

pub use access::{Access, Block, Columns};
pub use info::Info;
pub use source::{Meta, Sink, Source};
