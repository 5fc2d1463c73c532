//! The library that is loaded into programs.

use terrace_base::Companion;

/// The library of `terrace-extend-preload`.
pub const LIBRARY: Companion = Companion {
    kind: "library",
    name: "libterrace_extend_preload.so",
    variable: "TERRACE_EXTEND_LIBRARY",
};
