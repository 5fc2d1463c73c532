//! Our own format: a Parquet file, one row an access.
//!
//! | column | Parquet type | |
//! |---|---|---|
//! | instruction | INT64, unsigned | [`crate::Access::instruction`], and so on |
//! | address | INT64, unsigned | |
//! | ip | INT64, unsigned | |
//! | process | INT32, unsigned 16 bits | |
//! | thread | INT32, unsigned 16 bits | |
//! | size | INT32, unsigned | |
//! | write | BOOLEAN | |
//!
//! All are required. The key-value metadata holds `terrace.trace = 1`, the version of this
//! layout, and whatever the recorder said of the recording.

mod chunk;
mod column;
mod encoding;
mod reader;
mod writer;

pub(crate) use reader::Reader;
pub(crate) use writer::Writer;

/// The key that marks our traces; its value is the version of the layout.
const VERSION_KEY: &str = "terrace.trace";
/// The version of the layout.
const VERSION: &str = "1";

/// The names of the columns, in their order.
const COLUMNS: [&str; 7] = [
    "instruction",
    "address",
    "ip",
    "process",
    "thread",
    "size",
    "write",
];

/// The layout in Parquet's own notation.
const SCHEMA: &str = "message access {
    required int64 instruction (INTEGER(64,false));
    required int64 address (INTEGER(64,false));
    required int64 ip (INTEGER(64,false));
    required int32 process (INTEGER(16,false));
    required int32 thread (INTEGER(16,false));
    required int32 size (INTEGER(32,false));
    required boolean write;
}";
