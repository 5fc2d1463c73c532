#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/fuzz/input.rs"]
mod input;
#[path = "../../tests/fuzz/model.rs"]
mod model;
#[path = "../../tests/fuzz/operations.rs"]
mod operations;

libfuzzer_sys::fuzz_target!(|data: &[u8]| operations::operations(data));
