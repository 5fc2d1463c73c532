//! The objects that a program allocated while it was recorded, and the code that allocated them.
//!
//! `terrace record --allocations` records objects from a size on: blocks of `malloc` and its like
//! (and so of C++'s `new`), and anonymous mappings that the program itself makes. An object has an
//! address, a size, a lifetime in rows of the trace, and a [`Site`]: the calls that led to it.

use std::fmt::{self, Display, Formatter};

use rustc_hash::FxHashMap;
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
    /// The row of the trace before which it was allocated; the number of rows, if that was after
    /// the last.
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
    /// The functions, the innermost first: one, and those into which the compiler has put it. None
    /// where the file has no symbols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<Function>,
}

/// A function at a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// The name, demangled.
    pub name: String,
    /// Bytes from the function's beginning; none for one that the compiler has put into another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
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

    /// Whether it is in a library that allocates for others, or starts programs.
    fn is_of_a_language(&self) -> bool {
        let name = self.module_name();
        LIBRARIES.iter().any(|library| name.starts_with(library))
    }

    fn names(&self) -> Vec<String> {
        let module = self.module_name();
        let name = |function: &Function| {
            let Function { name, offset, .. } = function;
            match (function.place(), offset) {
                (Some(place), _) => format!("{module}!{name} ({place})"),
                (None, Some(offset)) => format!("{module}!{name}+{offset:#x}"),
                (None, None) => format!("{module}!{name}"),
            }
        };
        match self.functions.is_empty() {
            true => vec![format!("{module}+{:#x}", self.offset)],
            false => self.functions.iter().map(name).collect(),
        }
    }
}

impl Function {
    /// Returns the source file without its folder, and the line.
    fn place(&self) -> Option<String> {
        let (file, line) = (self.file.as_deref()?, self.line?);
        Some(format!("{}:{line}", file_name(file)))
    }
}

impl Allocations {
    /// Makes one of sites with the same [names](Site::names).
    pub fn join_by_names(&mut self) {
        let mut numbers: FxHashMap<Vec<String>, u32> = FxHashMap::default();
        let mut joined = Vec::new();
        let mut kept = Vec::new();
        for site in self.sites.drain(..) {
            let next = kept.len() as u32;
            let number = *numbers.entry(site.names()).or_insert(next);
            joined.push(number);
            if number == next {
                kept.push(site);
            }
        }
        self.sites = kept;
        for object in &mut self.objects {
            object.site = joined[object.site as usize];
        }
    }
}

impl Site {
    /// Returns names of its calls, the innermost first, that are the same in each run, and as far
    /// as possible in each build of the same source: `program!function (file.c:12)`,
    /// `program!function+0x12` without lines, and `program+0x1234` without symbols. What the
    /// compiler has put into another function is a call of its own, and calls in the libraries of
    /// languages are left out.
    pub fn names(&self) -> Vec<String> {
        let own = self.stack.iter().filter(|call| !call.is_of_a_language());
        own.flat_map(Call::names).collect()
    }

    /// Returns the innermost call of the program itself: not of the allocator, nor of the libraries
    /// of languages.
    pub fn caller(&self) -> Option<&Call> {
        let own = self.stack.iter().find(|call| !call.is_of_a_language());
        own.or(self.stack.first())
    }

    /// Returns the innermost function of the program itself, where its file has symbols: not one of
    /// a header of a library, as long as one that calls it is known.
    pub fn function(&self) -> Option<&Function> {
        let is_own = |function: &&Function| {
            let file = function.file.as_deref().unwrap_or_default();
            !file.starts_with("/usr/include/") && !file.starts_with("/usr/lib/")
        };
        let calls = self.stack.iter().filter(|call| !call.is_of_a_language());
        let mut placed = calls
            .flat_map(|call| &call.functions)
            .filter(|function| function.line.is_some());
        let innermost = self.caller()?.functions.first();
        let own = self.caller()?.functions.iter().find(is_own);
        own.or_else(|| placed.find(is_own)).or(innermost)
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
            (Some(function), _) => match function.place() {
                Some(place) => write!(f, "{} ({place})", function.name),
                None => f.write_str(&function.name),
            },
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
            offset: None,
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
        let header = call(
            "/home/p",
            &[("allocate", Some("/usr/include/c++/12/new.h"))],
        );
        let outer = call("/home/p", &[("main", Some("/src/main.cc"))]);
        assert_eq!(named(&[&library, &header, &outer]), "main (main.cc:7)");
        assert_eq!(named(&[&library, &header]), "allocate (new.h:7)");
        assert_eq!(named(&[&library]), "operator new");
        assert_eq!(named(&[&call("/home/p", &[])]), "p+0x10");
        assert_eq!(named(&[]), "unknown");
    }

    #[test]
    fn sites_with_the_same_names_are_one() {
        let at = |base: u64, name: &str| Site {
            stack: vec![Call {
                offset: base,
                ..call("/bin/p", &[(name, Some("/src/p.c"))])
            }],
        };
        let object = |site: u32| Object {
            began: 0,
            ended: None,
            process: 0,
            site,
            address: 0,
            bytes: 1,
        };
        let mut allocations = Allocations {
            sites: vec![at(1, "f"), at(2, "g"), at(3, "f")],
            objects: vec![object(2), object(1), object(0)],
        };
        allocations.join_by_names();
        assert_eq!(allocations.sites, [at(1, "f"), at(2, "g")]);
        let sites: Vec<u32> = allocations
            .objects
            .iter()
            .map(|object| object.site)
            .collect();
        assert_eq!(sites, [0, 1, 0]);
        assert_eq!(at(1, "f").names(), ["p!f (p.c:7)"]);
        assert_eq!(
            Site {
                stack: vec![call("/bin/p", &[])]
            }
            .names(),
            ["p+0x10"]
        );
    }
}
