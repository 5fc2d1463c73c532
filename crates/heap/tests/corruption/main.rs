//! Pools that are corrupted in every way: whatever looks at them answers soundly or with a
//! sentence, and `check` finds what the format protects.

#[path = "../common/mod.rs"]
mod common;
mod contents;
mod found;
mod moved;
mod pools;
mod salvaged;
mod survived;
