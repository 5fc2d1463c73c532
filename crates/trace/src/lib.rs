#![doc = include_str!("../README.md")]

pub mod access;
pub mod ahead;
pub mod allocation;
pub mod changes;
pub mod channel;
mod compression;
pub mod contents;
mod crowded;
pub mod discard;
pub mod files;
pub mod format;
pub mod formats;
pub mod generate;
pub mod info;
mod input;
pub mod layout;
pub mod lost;
mod object_pages;
pub mod objects;
pub mod order;
pub mod ranges;
mod reading;
pub mod record;
mod rest;
pub mod reuse;
pub mod selection;
pub mod sound;
pub mod source;
pub mod spooled;
mod stream;
pub mod tally;
#[cfg(test)]
mod testing;
mod text;

pub use access::{Access, Block, Columns};
pub use ahead::ahead;
pub use channel::channel;
pub use format::Format;
pub use formats::{create, create_as, open, open_as, open_in, open_ranges};
pub use info::Info;
pub use layout::Layout;
pub use ranges::Ranges;
pub use reading::Reading;
pub use selection::{Level, Selection};
pub use source::{Meta, Sink, Source, copy};
pub use terrace_base::{Bytes, Error, Result};
