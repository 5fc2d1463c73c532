//! What the files of a program say of addresses in them: functions, source files and lines, and so
//! which site a stack of return addresses is.

use std::path::Path;

use addr2line::Loader;
use object::{Object, ObjectSegment, ReadCache};
use rustc_hash::FxHashMap;
use terrace_base::unpanicked;
use terrace_recorder::allocation::{mappings, place};
use terrace_recorder::page::BYTES;

use crate::allocation::{Call, Function, Site};

/// The files that were looked into, by path.
#[derive(Default)]
pub struct Symbols(FxHashMap<String, Option<File>>);

/// A program or library.
struct File {
    loader: Loader,
    /// The address of its lowest byte, as its symbols count.
    lowest: u64,
}

impl File {
    /// Opens a file; none where it cannot be read, or is none.
    fn open(path: &Path) -> Option<Self> {
        let content = ReadCache::new(std::fs::File::open(path).ok()?);
        let object = object::File::parse(&content).ok()?;
        let lowest = object.segments().map(|segment| segment.address()).min();
        Some(Self {
            loader: Loader::new(path).ok()?,
            lowest: lowest? & !(BYTES as u64 - 1),
        })
    }
}

/// The beginning of the names of libraries that this project loads into programs.
const OURS: &str = "libterrace_";

impl Symbols {
    /// Returns the site of a stack, the innermost call first: for each its file and its distance
    /// from the lowest mapping of the file. Calls in libraries of ours are the innermost, and left
    /// out.
    pub fn site(&mut self, stack: impl Iterator<Item = (String, u64)>) -> Site {
        let calls = stack.map(|(module, offset)| Call {
            functions: self.functions(&module, offset),
            module,
            offset,
        });
        let own = calls.skip_while(|call| call.module_name().starts_with(OURS));
        Site {
            stack: own.collect(),
        }
    }

    /// Returns the site of return addresses in a running process, whose mappings are `maps`
    /// (proc(5)).
    pub fn site_in(&mut self, maps: &str, addresses: &[u64]) -> Site {
        let mappings = mappings(maps);
        self.site(
            addresses
                .iter()
                .map(|address| match place(&mappings, *address) {
                    Some((path, offset)) => (path.to_string_lossy().into_owned(), offset),
                    None => (String::new(), *address),
                }),
        )
    }

    /// Returns the functions at a return address, the innermost first; none where the file cannot
    /// be read or has no symbols. `offset` counts from the lowest mapping of the file.
    fn functions(&mut self, module: &str, offset: u64) -> Vec<Function> {
        let Some(File { loader, lowest }) = self.file(module) else {
            return Vec::new();
        };
        // The call is before the address to which it returns.
        let address = lowest.saturating_add(offset).saturating_sub(1);
        let mut functions = Vec::new();
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let Some(name) = &frame.function else {
                    continue;
                };
                let name = name.demangle().map(|name| name.into_owned());
                let place = frame.location.as_ref();
                functions.push(Function {
                    name: name.unwrap_or_default(),
                    file: place.and_then(|place| place.file).map(str::to_owned),
                    line: place.and_then(|place| place.line),
                    offset: None,
                });
            }
        }
        let symbol = loader.find_symbol_info(address);
        if functions.is_empty()
            && let Some(symbol) = &symbol
        {
            functions.push(Function {
                name: addr2line::demangle_auto(symbol.name().into(), None).into_owned(),
                ..Function::default()
            });
        }
        // The outermost is the one that has the code.
        if let (Some(function), Some(symbol)) = (functions.last_mut(), symbol) {
            function.offset = Some(address + 1 - symbol.address());
        }
        functions
    }

    fn file(&mut self, module: &str) -> Option<&File> {
        let entry = self.0.entry(module.to_owned());
        // A damaged file may panic the crates that parse it.
        let open = || unpanicked(|| File::open(Path::new(module))).flatten();
        entry.or_insert_with(open).as_ref()
    }
}
