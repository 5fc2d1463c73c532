//! Programs with the runtime of a sanitizer that keeps shadow memory (AddressSanitizer and its
//! like). The emulator would have to keep account of terabytes of addresses, and takes a gigabyte
//! of memory each second.

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64, SHT_DYNSYM, SHT_SYMTAB};
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, ReadCache};

/// A sanitizer: its name, the function that each program with it calls at its start, and how the
/// names of its libraries begin.
struct Sanitizer(&'static str, &'static [u8], [&'static str; 2]);

const SANITIZERS: [Sanitizer; 7] = [
    Sanitizer(
        "AddressSanitizer",
        b"__asan_init",
        ["libasan.so", "libclang_rt.asan"],
    ),
    Sanitizer(
        "LeakSanitizer",
        b"__lsan_init",
        ["liblsan.so", "libclang_rt.lsan"],
    ),
    Sanitizer(
        "ThreadSanitizer",
        b"__tsan_init",
        ["libtsan.so", "libclang_rt.tsan"],
    ),
    Sanitizer(
        "MemorySanitizer",
        b"__msan_init",
        ["libmsan.so", "libclang_rt.msan"],
    ),
    Sanitizer(
        "HWAddressSanitizer",
        b"__hwasan_init",
        ["libhwasan.so", "libclang_rt.hwasan"],
    ),
    Sanitizer(
        "DataFlowSanitizer",
        b"__dfsan_init",
        ["libdfsan.so", "libclang_rt.dfsan"],
    ),
    Sanitizer(
        "MemProf",
        b"__memprof_init",
        ["libmemprof.so", "libclang_rt.memprof"],
    ),
];

/// How functions begin that all sanitizers have in common.
const COMMON: &[u8] = b"__sanitizer_";

/// Where libraries are looked for beside the directories that programs and variables name
/// (ld.so(8), with Debian's).
const DIRECTORIES: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// The most libraries that are looked at.
const MOST: usize = 512;

/// Returns the sanitizer of a program: of its own, of a library that it needs, or of one that
/// `LD_PRELOAD` names. What it loads later by `dlopen` is not known, nor one that is linked
/// statically into a program without symbols.
pub(super) fn of(program: &Path) -> Option<&'static str> {
    let preloaded = listed("LD_PRELOAD");
    let mut ahead: Vec<PathBuf> = preloaded.iter().map(PathBuf::from).collect();
    if let Some(found) = preloaded
        .iter()
        .find_map(|name| by_name(&name.to_string_lossy()))
    {
        return Some(found);
    }
    ahead.push(program.to_owned());
    let mut seen = HashSet::new();
    while let Some(path) = ahead.pop() {
        if seen.len() == MOST || !seen.insert(path.clone()) {
            continue;
        }
        let Some(file) = Linked::read(&path) else {
            continue;
        };
        if let Some(name) = file.sanitizer {
            return Some(name);
        }
        let found = file.needed.iter().filter_map(|name| file.find(name));
        ahead.extend(found);
    }
    None
}

/// Returns the parts of a variable that lists paths.
fn listed(variable: &str) -> Vec<OsString> {
    let value = env::var_os(variable).unwrap_or_default();
    let parts = value.as_encoded_bytes().split(|byte| b": ".contains(byte));
    let parts = parts.filter(|part| !part.is_empty());
    parts
        .map(|part| String::from_utf8_lossy(part).into_owned().into())
        .collect()
}

/// Returns the sanitizer to which a library belongs.
fn by_name(library: &str) -> Option<&'static str> {
    let file = library.rsplit('/').next().unwrap_or(library);
    let mut all = SANITIZERS.iter();
    let found = all.find(|Sanitizer(_, _, names)| names.iter().any(|name| file.starts_with(name)));
    found.map(|Sanitizer(name, ..)| *name)
}

/// Returns the sanitizer to which a function belongs.
fn by_function(function: &[u8]) -> Option<&'static str> {
    let mut all = SANITIZERS.iter();
    let found = all.find(|Sanitizer(_, init, _)| function == *init);
    found.map(|Sanitizer(name, ..)| *name)
}

/// What a program or library says of what it is linked with.
struct Linked {
    /// The sanitizer whose functions it names.
    sanitizer: Option<&'static str>,
    /// The libraries that it needs.
    needed: Vec<String>,
    /// Where it says that they are.
    directories: Vec<PathBuf>,
}

impl Linked {
    fn read(path: &Path) -> Option<Self> {
        let content = ReadCache::new(File::open(path).ok()?);
        let data = &content;
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let mut linked = Self {
            sanitizer: None,
            needed: Vec::new(),
            directories: Vec::new(),
        };
        let origin = path.canonicalize().ok()?;
        let origin = origin.parent()?.to_string_lossy().into_owned();
        if let Ok(Some((entries, strings))) = sections.dynamic(endian, data) {
            let strings = sections.strings(endian, data, strings).ok()?;
            for entry in entries {
                let text = || {
                    let text = strings.get(entry.d_val(endian) as u32);
                    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
                };
                match entry.tag32(endian) {
                    Some(DT_NEEDED) => linked.needed.push(text()),
                    Some(DT_RPATH | DT_RUNPATH) => {
                        let text = text().replace("${ORIGIN}", &origin);
                        let text = text.replace("$ORIGIN", &origin);
                        linked
                            .directories
                            .extend(text.split(':').map(PathBuf::from));
                    }
                    _ => {}
                }
            }
        }
        linked.sanitizer = linked.needed.iter().find_map(|name| by_name(name));
        // One that is linked statically may be named in the larger table alone, which it takes long
        // to read.
        for table in [SHT_DYNSYM, SHT_SYMTAB] {
            let Ok(symbols) = sections.symbols(endian, data, table) else {
                break;
            };
            let mut has_runtime = false;
            for symbol in symbols.iter() {
                let name = symbols.symbol_name(endian, symbol).unwrap_or_default();
                has_runtime |= name.starts_with(COMMON);
                linked.sanitizer = linked.sanitizer.or_else(|| by_function(name));
            }
            if linked.sanitizer.is_some() || !has_runtime {
                break;
            }
        }
        Some(linked)
    }

    /// Returns the file of a library that it needs.
    fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(name.into());
        }
        let given = listed("LD_LIBRARY_PATH").into_iter().map(PathBuf::from);
        let usual = DIRECTORIES.iter().map(PathBuf::from);
        let directories = self.directories.iter().cloned().chain(given).chain(usual);
        directories
            .map(|directory| directory.join(name))
            .find(|file| file.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_sanitizers_are_known_by_their_names() {
        for (library, expected) in [
            ("libasan.so.8", Some("AddressSanitizer")),
            ("liblsan.so.0", Some("LeakSanitizer")),
            ("/usr/lib/libtsan.so.2", Some("ThreadSanitizer")),
            ("libclang_rt.hwasan-x86_64.so", Some("HWAddressSanitizer")),
            ("libubsan.so.1", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(by_name(library), expected, "{library}");
        }
    }

    #[test]
    fn a_program_without_one_has_none() {
        assert_eq!(of(Path::new("/proc/self/exe")), None);
        assert_eq!(of(Path::new("/etc/passwd")), None);
        assert_eq!(of(Path::new("/no/such/file")), None);
        let linked = Linked::read(Path::new("/proc/self/exe")).unwrap();
        let libc = linked.needed.iter().find(|name| name.starts_with("libc."));
        assert!(linked.find(libc.unwrap()).is_some());
    }
}
