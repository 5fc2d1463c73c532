//! The library that `terrace record --allocations` and `terrace run --place` load into programs.
//!
//! What it does is in `terrace-preload` (`objects`); this crate makes a library of it.

terrace_preload::export!(terrace_preload::objects, caller unknown);
