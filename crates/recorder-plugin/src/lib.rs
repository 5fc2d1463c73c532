//! The library that QEMU loads to record a program.
//!
//! What it does is in `terrace-recorder`; this crate makes a library of it.

use std::ffi::{c_char, c_int};

use terrace_recorder::{plugin, qemu};

/// The version of the plug-in interface, which QEMU looks up by this name.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = qemu::VERSION;

/// Installs the plug-in. QEMU calls this once after loading.
///
/// # Safety
/// As [`plugin::install`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu::Id,
    info: *const qemu::Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { plugin::install(id, info, count, arguments) }
}
