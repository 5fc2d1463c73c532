//! Calls of the C API in any order, with handles and pointers that are null, stale or of another
//! heap, and any sizes: each answers, or says what is wrong. No call panics.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use tempfile::TempDir;

use crate::api::{API, Heap};
use crate::error::nvm_error;
use crate::handle::{nvm_anonymous, nvm_close};
use crate::input::Input;
use crate::transaction::{nvm_abort, nvm_begin};

/// The most calls of an input.
const CALLS: usize = 300;
/// Bytes that are handed over, and that are filled.
const BUFFER_BYTES: usize = 4096;
/// The last of `enum nvm_status`.
const LAST_STATUS: c_int = 9;
/// What `NVM_PANIC` comes with; functions that return a pointer or a number say it no other way.
const PANIC: &str = "panicked";

/// What a C program has in its variables. What was closed or freed stays there.
pub struct Program {
    _folder: TempDir,
    heaps: Vec<Heap>,
    pointers: Vec<*mut c_void>,
    /// Handles of containers and cursors.
    handles: Vec<*mut c_void>,
    names: Vec<CString>,
    paths: Vec<CString>,
    buffer: Vec<u64>,
    told: usize,
}

/// Carries out what the input says.
pub fn calls(data: &[u8]) {
    let mut input = Input::new(data);
    let mut program = Program::new();
    for _ in 0..CALLS {
        if input.is_empty() {
            break;
        }
        let call = input.below(API.len());
        API[call](&mut program, &mut input);
        // SAFETY: a string, which is there until the next failure.
        let sentence = unsafe { CStr::from_ptr(nvm_error()) }.to_string_lossy();
        assert!(!sentence.contains(PANIC), "call {call}: {sentence}");
    }
}

impl Program {
    fn new() -> Self {
        // There nothing waits for a disk.
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let names = [
            &b"a"[..],
            b"b",
            b"c",
            b"",
            &[b'x'; 104],
            &[b'x'; 105],
            b"\xff",
        ];
        let folder = folder.unwrap();
        let paths = ["a", "b", "missing/file", ""].map(|name| folder.path().join(name));
        let path = |path: &PathBuf| CString::new(path.as_os_str().as_bytes()).unwrap();
        Self {
            paths: paths.iter().map(path).collect(),
            _folder: folder,
            heaps: vec![nvm_anonymous(1 << 20)],
            pointers: vec![ptr::null_mut()],
            handles: vec![ptr::null_mut()],
            names: names.map(|name| CString::new(name).unwrap()).to_vec(),
            buffer: vec![0; BUFFER_BYTES / 8],
            told: 0,
        }
    }

    /// A heap that is open, one that was closed, or none.
    pub fn heap(&self, input: &mut Input) -> Heap {
        match input.byte() {
            255 => ptr::null_mut(),
            254 => self.buffer.as_ptr().cast_mut().cast(),
            which => {
                self.heaps[self.heaps.len() - 1 - usize::from(which) % self.heaps.len().min(3)]
            }
        }
    }

    pub fn keep_heap(&mut self, heap: Heap) {
        if !heap.is_null() {
            self.heaps.push(heap);
        }
    }

    /// What stands for a container or a cursor, of whichever kind, that is open or was closed.
    pub fn handle<T>(&self, input: &mut Input) -> *mut T {
        let count = self.handles.len();
        self.handles[count - 1 - usize::from(input.byte()) % count.min(8)].cast()
    }

    pub fn keep_handle<T>(&mut self, handle: *mut T) {
        if !handle.is_null() {
            self.handles.push(handle.cast());
        }
    }

    /// An address that a call has returned, one beside it, or another one.
    pub fn pointer<T>(&self, input: &mut Input) -> *mut T {
        let count = self.pointers.len();
        let pointer = match input.byte() {
            255 => ptr::null_mut(),
            254 => self.buffer.as_ptr().cast_mut().cast(),
            which => self.pointers[count - 1 - usize::from(which) % count.min(8)],
        };
        let beside = match input.byte() {
            0..128 => 0,
            further @ 128..192 => usize::from(further % 8) * 8,
            192..240 => 4096,
            _ => 1,
        };
        pointer.wrapping_byte_add(beside).cast()
    }

    pub fn keep(&mut self, pointer: *mut c_void) {
        if !pointer.is_null() {
            self.pointers.push(pointer);
        }
    }

    /// The path of a file, which may be there, or null.
    pub fn path(&self, input: &mut Input) -> *const c_char {
        match input.byte() {
            255 => ptr::null(),
            which @ 240.. => self.paths[usize::from(which % 4)].as_ptr(),
            which => self.paths[usize::from(which % 2)].as_ptr(),
        }
    }

    /// A root's name.
    pub fn name(&self, input: &mut Input) -> *const c_char {
        match input.byte() {
            255 => ptr::null(),
            which => self.names[usize::from(which) % self.names.len()].as_ptr(),
        }
    }

    /// Where [`len`] bytes lie, or null.
    pub fn bytes(&mut self, input: &mut Input) -> *mut c_void {
        match input.byte() {
            255 => ptr::null_mut(),
            first => {
                self.buffer[0] = first.into();
                self.buffer.as_mut_ptr().cast()
            }
        }
    }

    /// Where a length is told, or null.
    pub fn told(&mut self, input: &mut Input) -> *mut usize {
        match input.byte() {
            255 => ptr::null_mut(),
            _ => &raw mut self.told,
        }
    }

    /// Where a count is told, or null.
    pub fn count(&mut self, input: &mut Input) -> *mut u64 {
        self.told(input).cast()
    }
}

impl Drop for Program {
    /// Closes what is open, so that the next input finds nothing of this one.
    fn drop(&mut self) {
        for &heap in &self.heaps {
            while nvm_abort(heap) == 0 {}
            nvm_close(heap);
        }
    }
}

/// Any size of an object.
pub fn size(input: &mut Input) -> usize {
    input.size() as usize
}

/// As many bytes as there are, or an impossible number.
pub fn len(input: &mut Input) -> usize {
    match size(input) {
        size if size <= BUFFER_BYTES || isize::try_from(size).is_err() => size,
        size => size % BUFFER_BYTES,
    }
}

/// Bytes of a heap: few, or an impossible number.
pub fn heap_bytes(input: &mut Input) -> u64 {
    match input.size() {
        bytes @ 0..200 => bytes << 15,
        bytes @ 200..=65_536 => bytes,
        bytes => bytes | 1 << 62,
    }
}

/// What a transaction does: changes nothing, or leaves one of its own under way, and says how it
/// went.
pub extern "C" fn work(heap: Heap, argument: *mut c_void) -> c_int {
    let number = argument.addr();
    if number % 3 == 1 {
        nvm_begin(heap);
    }
    (number % 4) as c_int
}

/// A hint, or none.
pub fn hint(input: &mut Input) -> c_int {
    c_int::from(input.byte() % 4)
}

/// What a function says that returns a status.
pub fn status(status: c_int) {
    assert!((0..=LAST_STATUS).contains(&status), "{status}");
}

/// What a function says that returns a number: anything.
pub fn number<T>(_: T) {}

/// What a function says that returns a string, or null.
pub fn string(string: *const c_char) {
    if !string.is_null() {
        // SAFETY: it is one, for as long as the program runs.
        assert!(!unsafe { CStr::from_ptr(string) }.is_empty());
    }
}
