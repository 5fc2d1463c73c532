//! Extensions and their regions.

use std::ffi::{c_char, c_int, c_void};

use terrace_base::{Bytes, Error, Result, lock};
use terrace_device::Catalogue;
use terrace_extend::Memory;
use terrace_policy::{replacement, write};
use terrace_region::{Extension, Settings};

use crate::error::{pointer, status};
use crate::registry::{self, Handle};
use crate::text;

/// More DRAM than a machine has; more is the same.
const UNBOUNDED: Bytes = Bytes(1 << 46);

#[unsafe(no_mangle)]
pub extern "C" fn terrace_check() -> c_int {
    status(terrace_region::check)
}

/// # Safety
///
/// Each of the strings is null, or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terrace_start(
    dram: u64,
    memory: *const c_char,
    write: *const c_char,
    replacement: *const c_char,
) -> *mut Handle {
    pointer(|| {
        registry::check_process()?;
        // SAFETY: promised by the caller.
        let (memory, write, replacement) = unsafe {
            (
                text::string(memory, "the name of the memory")?,
                text::string(write, "the write scheme")?,
                text::string(replacement, "the replacement policy")?,
            )
        };
        let settings = settings(dram, memory, write, replacement)?;
        Extension::start(settings).map(registry::add)
    })
}

fn settings(
    dram: u64,
    memory: Option<&str>,
    write: Option<&str>,
    replacement: Option<&str>,
) -> Result<Settings> {
    let memory = memory.ok_or_else(|| Error::usage("the name of the memory is NULL"))?;
    let slow = Memory::parse(memory)?.open(&Catalogue::builtin())?;
    let mut settings = Settings::new(Bytes(dram).min(UNBOUNDED), slow);
    if let Some(write) = write {
        settings.write = write::Spec::parse(write).map_err(Error::usage)?;
    }
    if let Some(replacement) = replacement {
        settings.replacement = replacement::Spec::parse(replacement).map_err(Error::usage)?;
    }
    Ok(settings)
}

#[unsafe(no_mangle)]
pub extern "C" fn terrace_map(extension: *mut Handle, bytes: u64) -> *mut c_void {
    pointer(|| {
        let open = registry::find(extension)?;
        let region = open.extension.map(Bytes(bytes))?;
        let start = region.as_ptr();
        lock(&open.regions).insert(start.addr(), region);
        Ok(start.cast())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn terrace_unmap(extension: *mut Handle, start: *mut c_void) -> c_int {
    status(|| {
        let open = registry::find(extension)?;
        let region = lock(&open.regions).remove(&start.addr());
        let none = || Error::usage(format!("no region of the extension begins at {start:?}"));
        region.map(drop).ok_or_else(none)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn terrace_stop(extension: *mut Handle) -> c_int {
    status(|| {
        let open = registry::remove(extension)?;
        // They go before the extension, as each has a share of it.
        lock(&open.regions).clear();
        Ok(())
    })
}
