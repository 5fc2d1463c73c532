#![no_main]

#[path = "../../tests/fuzz/files.rs"]
mod files;

libfuzzer_sys::fuzz_target!(|data: &[u8]| files::judge(data));
