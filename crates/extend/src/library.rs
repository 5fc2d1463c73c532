//! The library that is loaded into programs.

use terrace_base::Companion;

/// The library of `terrace-preload-extended`.
pub const LIBRARY: Companion = Companion {
    kind: "library",
    name: "libterrace_preload_extended.so",
    variable: "TERRACE_EXTEND_LIBRARY",
};
