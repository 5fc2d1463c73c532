#![doc = include_str!("../README.md")]

pub mod placement;
pub mod report;

use std::ffi::CStr;

/// Returns a name that is known when this is compiled as text.
const fn text(name: &'static CStr) -> &'static str {
    match name.to_str() {
        Ok(text) => text,
        Err(_) => panic!("the name is not UTF-8"),
    }
}
