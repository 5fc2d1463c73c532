//! Who calls: known by the address to which a call returns.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// First and last addresses of code that is not the program's.
static CODE: [[AtomicUsize; 2]; 3] = [const { [const { AtomicUsize::new(0) }; 2] }; 3];

/// The place of this library's code in the table.
const OWN: usize = 0;
/// That of the C library.
const C_LIBRARY: usize = 1;
/// That of the dynamic linker.
const LINKER: usize = 2;

/// Finds out where the code is.
pub fn begin() {
    // SAFETY: the function is called with a pointer that it does not use.
    unsafe { libc::dl_iterate_phdr(Some(note), ptr::null_mut()) };
}

/// Whether all of the code was found.
pub fn are_known() -> bool {
    let is_known = |[_, end]: &[AtomicUsize; 2]| end.load(Ordering::Relaxed) != 0;
    CODE.iter().all(is_known)
}

/// Whether this library calls.
pub fn is_own(caller: usize) -> bool {
    is_in(OWN, caller)
}

/// Whether the program calls, or a library of it, and not this library, the C library, or the
/// dynamic linker.
pub fn is_program(caller: usize) -> bool {
    !(0..CODE.len()).any(|code| is_in(code, caller))
}

fn is_in(code: usize, caller: usize) -> bool {
    let [start, end] = &CODE[code];
    (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&caller)
}

/// Notes where the code of a loaded file is, if it is one of these.
unsafe extern "C" fn note(
    about: *mut libc::dl_phdr_info,
    _bytes: libc::size_t,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the caller hands over what describes a loaded file, with its name and its segments.
    let (name, base, segments) = unsafe {
        let about = &*about;
        let segments = std::slice::from_raw_parts(about.dlpi_phdr, about.dlpi_phnum.into());
        let name = match about.dlpi_name.is_null() {
            true => c"",
            false => CStr::from_ptr(about.dlpi_name),
        };
        (name.to_bytes(), about.dlpi_addr, segments)
    };
    let is_code = |s: &&libc::Elf64_Phdr| s.p_type == libc::PT_LOAD && s.p_flags & libc::PF_X != 0;
    for segment in segments.iter().filter(is_code) {
        let start = (base + segment.p_vaddr) as usize;
        let end = start + segment.p_memsz as usize;
        let code = match name {
            _ if (start..end).contains(&(note as *const () as usize)) => OWN,
            _ if name.ends_with(b"/libc.so.6") => C_LIBRARY,
            _ if name.ends_with(b"/ld-linux-x86-64.so.2") => LINKER,
            _ => continue,
        };
        CODE[code][0].store(start, Ordering::Relaxed);
        CODE[code][1].store(end, Ordering::Relaxed);
    }
    0
}
