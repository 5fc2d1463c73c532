//! Names and types of the columns, and the mark of our own files.

/// The name of the format.
pub(super) const NAME: &str = "native";
/// The key that marks our traces; its value is the version of the layout.
pub(super) const VERSION_KEY: &str = "terrace.trace";
/// The version of the layout.
pub(super) const VERSION: &str = "1";

/// The names of the columns, in their order.
pub(super) const COLUMNS: [&str; 7] = [
    "instruction",
    "address",
    "ip",
    "process",
    "thread",
    "size",
    "write",
];

/// The layout in Parquet's own notation.
pub(super) const SCHEMA: &str = "message access {
    required int64 instruction (INTEGER(64,false));
    required int64 address (INTEGER(64,false));
    required int64 ip (INTEGER(64,false));
    required int32 process (INTEGER(16,false));
    required int32 thread (INTEGER(16,false));
    required int32 size (INTEGER(32,false));
    required boolean write;
}";
