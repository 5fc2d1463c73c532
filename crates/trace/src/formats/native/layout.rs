//! Names and types of the columns, and the mark of our own files.

/// The name of the format.
pub(super) const NAME: &str = "native";
/// The key that marks our traces; its value is the version of the layout.
pub(super) const VERSION_KEY: &str = "terrace.trace";
/// The version of the layout.
pub(super) const VERSION: &str = "1";
/// The version of the layout of a trace with contents.
pub(super) const VERSION_WITH_CONTENTS: &str = "2";

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

/// The columns that follow in a trace with contents.
pub(super) const CONTENTS: [&str; 4] = ["version", "checksum", INDEX, VALUE];
/// The list of the places of words.
pub(super) const INDEX: &str = "word_index.list.element";
/// The list of their values.
pub(super) const VALUE: &str = "word_value.list.element";

/// Returns the layout in Parquet's own notation.
pub(super) fn schema(contents: bool) -> String {
    let contents = if contents { CONTENTS_SCHEMA } else { "" };
    format!("message access {{ {SCHEMA} {contents} }}")
}

const SCHEMA: &str = "
    required int64 instruction (INTEGER(64,false));
    required int64 address (INTEGER(64,false));
    required int64 ip (INTEGER(64,false));
    required int32 process (INTEGER(16,false));
    required int32 thread (INTEGER(16,false));
    required int32 size (INTEGER(32,false));
    required boolean write;";

const CONTENTS_SCHEMA: &str = "
    required int32 version (INTEGER(32,false));
    required int64 checksum (INTEGER(64,false));
    required group word_index (LIST) { repeated group list {
        required int32 element (INTEGER(16,false));
    } }
    required group word_value (LIST) { repeated group list {
        required int64 element (INTEGER(64,false));
    } }";
