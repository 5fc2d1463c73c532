//! Whether the dynamic linker loads a program, so that a library can be loaded before it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};

/// Bytes at the beginning of a file that are looked at: headers, or the line of a script.
const BEGINNING: u64 = 65536;
/// `PT_INTERP`: the program header that names the dynamic linker.
const INTERPRETER: u32 = 3;
/// `EM_X86_64`.
const X86_64: u16 = 62;

/// Checks that the linker loads a library into the program in this file, or into the interpreter of
/// the script.
///
/// # Errors
/// Returns a usage error that says why not: it is static, for another machine, or runs with the
/// rights of another user.
pub fn check(program: &Path) -> Result<()> {
    let shown = program.display();
    let begins = beginning(program)?;
    let program = match interpreter(&begins) {
        Some(interpreter) => interpreter,
        None => program.to_owned(),
    };
    let refused = |why: &str| {
        Err(Error::usage(format!(
            "{shown} {why}; run it by `terrace run`, which needs no library in the program"
        )))
    };
    let begins = beginning(&program)?;
    let about = program.metadata();
    let mode = about
        .or_fail(|| format!("cannot look at {shown}"))?
        .permissions()
        .mode();
    if mode & 0o6000 != 0 {
        return refused(
            "runs with the rights of its owner (set-user-id), so no library can be loaded into it",
        );
    }
    match is_dynamic(&begins) {
        Some(true) => Ok(()),
        Some(false) => refused("is linked statically, so no library can be loaded into it"),
        None => refused("is no program for Linux on x86-64"),
    }
}

fn beginning(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    read.or_fail(|| format!("cannot read the program {}", path.display()))?;
    Ok(bytes)
}

/// Returns the interpreter that the first line of a script names.
fn interpreter(begins: &[u8]) -> Option<PathBuf> {
    let line = begins
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(PathBuf::from)
}

/// Whether a program names a dynamic linker; `None` if it is no program for this machine.
fn is_dynamic(begins: &[u8]) -> Option<bool> {
    if !begins.starts_with(b"\x7fELF\x02\x01") || number::<2>(begins, 18)? != u64::from(X86_64) {
        return None;
    }
    let headers = number::<8>(begins, 32)?;
    let (size, count) = (number::<2>(begins, 54)?, number::<2>(begins, 56)?);
    for at in 0..count {
        let at = headers.checked_add(at * size)?;
        if number::<4>(begins, usize::try_from(at).ok()?)? == u64::from(INTERPRETER) {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns the number of `N` bytes, the lowest first, at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_linker_loads_is_known() {
        check(Path::new("/proc/self/exe")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let refusal = |name: &str, bytes: &[u8], mode: u32| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            check(&path).map_err(|error| error.to_string())
        };
        let mut image = std::fs::read("/proc/self/exe").unwrap();
        image.truncate(BEGINNING as usize);
        assert_eq!(refusal("dynamic", &image, 0o755), Ok(()));
        let error = refusal("setuid", &image, 0o4755).unwrap_err();
        assert!(error.contains("set-user-id"), "{error}");
        assert_eq!(refusal("script", b"#! /bin/sh -e\ntrue\n", 0o755), Ok(()));
        let error = refusal("text", b"true\n", 0o755).unwrap_err();
        assert!(error.contains("no program"), "{error}");
        let mut without = image.clone();
        let headers = number::<8>(&image, 32).unwrap() as usize;
        for at in 0..number::<2>(&image, 56).unwrap() as usize {
            if without[headers + at * 56] == 3 {
                without[headers + at * 56] = 4;
            }
        }
        let error = refusal("static", &without, 0o755).unwrap_err();
        assert!(error.contains("statically"), "{error}");
        // Any cut of it is refused without a panic.
        for end in 0..300 {
            let _ = is_dynamic(&image[..end]);
        }
    }
}
