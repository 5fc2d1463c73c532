#![no_main]

#[allow(dead_code, reason = "repairs need little of it")]
#[path = "../../src/checksum.rs"]
mod checksum;
#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/fuzz/damage.rs"]
mod damage;
#[path = "../../tests/fuzz/input.rs"]
mod input;
#[path = "../../tests/fuzz/look.rs"]
mod look;
#[path = "../../tests/fuzz/pool_bytes.rs"]
mod pool_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| pool_bytes::pool_bytes(data));
