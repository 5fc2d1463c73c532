#![doc = include_str!("../README.md")]

mod blocks;
mod keep;
mod mappings;
mod next;
mod tell;
#[path = "../../recorder/src/told.rs"]
mod told;

/// Has the dynamic linker call [`begin`] before the program.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    blocks::prepare();
    tell::begin();
}
