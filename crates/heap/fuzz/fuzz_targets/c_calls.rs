#![no_main]

#[path = "../../../heap-c/tests/fuzz/api.rs"]
mod api;
#[path = "../../../heap-c/tests/fuzz/calls.rs"]
mod calls;
#[path = "../../tests/fuzz/input.rs"]
mod input;

include!("../../../heap-c/tests/fuzz/library.rs");

libfuzzer_sys::fuzz_target!(|data: &[u8]| calls::calls(data));
