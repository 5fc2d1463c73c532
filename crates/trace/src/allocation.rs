//! The objects that a program allocated while it was recorded, and the code that allocated them.
//!
//! `terrace record --allocations` records objects from a size on: blocks of `malloc` and its like (and so of C++'s
//! `new`), and anonymous mappings that the program itself makes. An object has an address, a size, a lifetime in rows
//! of the trace, and a [`Site`]: the calls that led to it.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// The objects of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Where they were allocated.
    pub sites: Vec<Site>,
    /// The objects, in the order in which they began.
    pub objects: Vec<Object>,
}

/// An object: memory that was allocated at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The row of the trace before which it was allocated; the number of rows, if that was after the last.
    pub began: u64,
    /// The row before which it was freed; none if it never was.
    pub ended: Option<u64>,
    /// The process that has it. A forked child has it as well, but is not named.
    pub process: u16,
    /// The place of its site in [`Allocations::sites`].
    pub site: u32,
    /// The byte address.
    pub address: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// A place in a program at which it allocates, with the calls that lead there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The calls, the innermost first.
    pub stack: Vec<Call>,
}

/// A call: a return address, with what its file says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The path of the program or library; empty where no file was mapped.
    pub module: String,
    /// Bytes from the lowest mapping of the file: the same whatever address it was loaded at.
    pub offset: u64,
    /// The functions, the innermost first: one, and those into which the compiler has put it. None where
    /// the file has no symbols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<Function>,
}

/// A function at a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// The name, demangled.
    pub name: String,
    /// The source file, if there are debug symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the call, if there are debug symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Call {
    /// Returns the name of the file without its folder.
    pub fn module_name(&self) -> &str {
        file_name(&self.module)
    }
}

impl Site {
    /// Returns the innermost call of the program itself: not of the allocator, nor of the libraries of languages.
    pub fn caller(&self) -> Option<&Call> {
        let is_own = |call: &&Call| {
            let (name, library) = (call.module_name(), LIBRARIES);
            !library.iter().any(|library| name.starts_with(library))
        };
        self.stack.iter().find(is_own).or(self.stack.first())
    }

    /// Returns the innermost function of the program itself, where its file has symbols.
    pub fn function(&self) -> Option<&Function> {
        let functions = &self.caller()?.functions;
        let is_own = |function: &&Function| {
            let file = function.file.as_deref().unwrap_or_default();
            !file.starts_with("/usr/include/") && !file.starts_with("/usr/lib/")
        };
        functions.iter().find(is_own).or(functions.first())
    }
}

/// The beginnings of names of libraries that allocate for others.
const LIBRARIES: [&str; 8] = [
    "libc.so",
    "libc-",
    "ld-linux",
    "libstdc++",
    "libc++",
    "libgfortran",
    "libjemalloc",
    "libtcmalloc",
];

/// `main (lulesh.cc:2738)`, or `lulesh+0x1234` where nothing more is known.
impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.function(), self.caller()) {
            (Some(Function { name, file, line }), _) => {
                f.write_str(name)?;
                match (file, line) {
                    (Some(file), Some(line)) => write!(f, " ({}:{line})", file_name(file)),
                    _ => Ok(()),
                }
            }
            (None, Some(call)) => write!(f, "{}+{:#x}", call.module_name(), call.offset),
            (None, None) => f.write_str("unknown"),
        }
    }
}

/// Returns the part of a path behind the last slash.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(module: &str, functions: &[(&str, Option<&str>)]) -> Call {
        let functions = functions.iter().map(|(name, file)| Function {
            name: (*name).to_owned(),
            file: file.map(str::to_owned),
            line: file.map(|_| 7),
        });
        Call {
            module: module.to_owned(),
            offset: 0x10,
            functions: functions.collect(),
        }
    }

    #[test]
    fn a_site_is_named_by_the_program_and_not_by_libraries() {
        let library = call("/lib/libstdc++.so.6", &[("operator new", None)]);
        let own = call(
            "/home/p",
            &[
                ("allocate", Some("/usr/include/c++/12/new.h")),
                ("fill", Some("/src/fill.cc")),
            ],
        );
        let named = |stack: &[&Call]| {
            Site {
                stack: stack.iter().copied().cloned().collect(),
            }
            .to_string()
        };
        assert_eq!(named(&[&library, &own]), "fill (fill.cc:7)");
        assert_eq!(named(&[&library]), "operator new");
        assert_eq!(named(&[&call("/home/p", &[])]), "p+0x10");
        assert_eq!(named(&[]), "unknown");
    }
}
