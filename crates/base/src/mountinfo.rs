//! The mounts that this process sees, as the kernel lists them (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number, which another mount gets when it is gone.
    pub id: u64,
    /// The device, as `8:1`.
    pub device: String,
    /// The directory of its file system that is mounted.
    pub root: PathBuf,
    /// The directory on which it is.
    pub at: PathBuf,
    /// What it has to do with other mounts.
    pub propagation: Propagation,
    /// The type of its file system, with the subtype behind a dot.
    pub kind: String,
    /// The options of its file system.
    pub options: String,
}

/// What a mount has to do with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Propagation {
    /// Whether it has peers: what is mounted below one is mounted below all.
    pub is_shared: bool,
    /// Whether it receives mounts from one that is shared.
    pub follows: bool,
    /// Whether it must not be mounted elsewhere as well.
    pub is_unbindable: bool,
}

/// Returns all of them, in the order in which they were mounted.
///
/// # Errors
/// The kernel's, if `/proc` cannot be read.
pub fn all() -> io::Result<Vec<Mount>> {
    fs::read("/proc/self/mountinfo").map(|text| parse(&text))
}

/// Parses the text of `/proc/self/mountinfo`; leaves out what is no line of it.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(Mount::parse).collect()
}

impl Mount {
    /// Fields: number, parent, device, root, place, options, any number of optional ones, `-`,
    /// type, source, options.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = text(fields.next()?).parse().ok()?;
        let device = text(fields.nth(1)?);
        let (root, at) = (unescape(fields.next()?), unescape(fields.next()?));
        let mut optional = fields.by_ref().skip(1);
        let mut propagation = Propagation::default();
        loop {
            match optional.next()? {
                b"-" => break,
                b"unbindable" => propagation.is_unbindable = true,
                field => {
                    propagation.is_shared |= field.starts_with(b"shared:");
                    propagation.follows |= field.starts_with(b"master:");
                }
            }
        }
        Some(Self {
            id,
            device,
            root,
            at,
            propagation,
            kind: text(fields.next()?),
            options: text(fields.nth(1)?),
        })
    }
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

/// Decodes a path in which the kernel writes blanks and the like as `\040`.
pub(crate) fn unescape(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, behind)) = rest.split_first() {
        let octal = rest.get(1..4).filter(|_| byte == b'\\');
        let code =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &rest[4..] } else { behind };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn paths_as_the_kernel_writes_them() {
        let path = |text: &str| unescape(text.as_bytes()).display().to_string();
        assert_eq!(path("/mnt/my\\040disk/a"), "/mnt/my disk/a");
        assert_eq!(path(r"/a\040b\134c"), r"/a b\c");
        assert_eq!(path("/a\\b\\04"), "/a\\b\\04");
        assert_eq!(path(r"/a\9"), r"/a\9");
        assert_eq!(path(""), "");
    }

    #[test]
    fn a_mount_and_its_propagation() {
        let parse = |line: &str| Mount::parse(line.as_bytes()).unwrap();
        let private =
            parse(r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime - ext3 /dev/root rw,errors=continue");
        assert_eq!((private.id, &*private.device), (36, "98:0"));
        assert_eq!(private.root, Path::new("/mnt1"));
        assert_eq!(private.at, Path::new("/mnt 2"));
        assert_eq!(private.propagation, Propagation::default());
        assert_eq!(
            (&*private.kind, &*private.options),
            ("ext3", "rw,errors=continue")
        );
        let both = parse("7 1 0:1 / /a rw shared:3 master:1 - fuse.terrace shared:9 rw");
        assert!(both.propagation.is_shared && both.propagation.follows);
        assert!(!both.propagation.is_unbindable && both.kind == "fuse.terrace");
        let unbindable = parse("7 1 0:1 / /a rw unbindable - tmpfs none rw");
        assert!(unbindable.propagation.is_unbindable && !unbindable.propagation.is_shared);
    }

    #[test]
    fn what_is_no_line_is_left_out() {
        let text = b"\n7 1 0:1 / /a rw\nx 1 0:1 / /a rw - a b c\n8 1 0:1 / /\xff rw - a b c\n- -\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].at.as_os_str().as_encoded_bytes(), b"/\xff");
    }

    #[test]
    fn the_root_is_among_them() {
        assert!(
            all()
                .unwrap()
                .iter()
                .any(|mount| mount.at == Path::new("/"))
        );
    }
}
