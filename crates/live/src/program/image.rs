//! The arguments of exec: file, arguments and environment, made before the fork.
//!
//! `std::process::Command` looks programs up by `execvp`, which hands a file that the kernel does
//! not know to `/bin/sh`. A file that is no program must be reported instead.

use std::ffi::{CString, NulError, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A program as exec takes it.
#[derive(Debug)]
pub struct Image {
    file: CString,
    arguments: Texts,
    environment: Texts,
}

impl Image {
    /// Makes the image of the program in `file`, with `arguments`; the first is its name.
    ///
    /// # Errors
    /// An error if a text has a zero byte in it.
    pub fn new(
        file: &Path,
        arguments: &[OsString],
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, NulError> {
        let variables: Vec<OsString> = environment
            .map(|(mut name, value)| {
                name.push("=");
                name.push(value);
                name
            })
            .collect();
        Ok(Self {
            file: text(file.as_os_str())?,
            arguments: Texts::new(arguments)?,
            environment: Texts::new(&variables)?,
        })
    }

    /// Replaces this process by the program; returns only the error if that fails.
    /// Async-signal-safe.
    pub fn execute(&self) -> io::Error {
        // SAFETY: a path, and two arrays of texts that end in null; all end in zero and live as
        // long as this does. The kernel only reads them.
        unsafe {
            libc::execve(
                self.file.as_ptr(),
                self.arguments.pointers.as_ptr(),
                self.environment.pointers.as_ptr(),
            );
        }
        io::Error::last_os_error()
    }
}

/// An array of C strings that ends in null.
#[derive(Debug)]
struct Texts {
    /// The strings, which own the memory.
    _texts: Vec<CString>,
    /// A pointer to each string, and null.
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers point to the texts beside them, on the heap, which are never changed.
unsafe impl Send for Texts {}
// SAFETY: as above.
unsafe impl Sync for Texts {}

impl Texts {
    fn new(texts: &[OsString]) -> Result<Self, NulError> {
        let texts: Vec<CString> = texts.iter().map(|t| text(t)).collect::<Result<_, _>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr());
        let pointers = pointers.chain([std::ptr::null()]).collect();
        Ok(Self {
            _texts: texts,
            pointers,
        })
    }
}

fn text(text: &OsStr) -> Result<CString, NulError> {
    CString::new(text.as_bytes())
}
