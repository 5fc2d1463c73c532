//! The limits of this process (`ulimit`) that explain errors of the system.

use rustix::process::{Resource, getrlimit};

use crate::bytes::Bytes;

/// Names the limit that may be the reason of the error with this number, and its value; `None` if
/// no limit of this process is.
pub(crate) fn behind(number: i32) -> Option<String> {
    match number {
        libc::EMFILE => named(Resource::Nofile, "open files", "-n"),
        libc::EFBIG => named(Resource::Fsize, "the size of a file", "-f"),
        libc::ENOMEM => address_space(),
        // A thread also needs room for its stack.
        libc::EAGAIN => address_space()
            .or_else(|| named(Resource::Nproc, "processes and threads of the user", "-u")),
        _ => None,
    }
}

fn address_space() -> Option<String> {
    named(Resource::As, "address space", "-v")
}

fn named(resource: Resource, of: &str, option: &str) -> Option<String> {
    let limit = getrlimit(resource).current?;
    let limit = match resource {
        Resource::Nofile | Resource::Nproc => limit.to_string(),
        _ => Bytes(limit).to_string(),
    };
    Some(format!("the limit of {of} is {limit}: ulimit {option}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_behind_an_error_is_named_if_there_is_one() {
        let files = behind(libc::EMFILE).unwrap();
        assert!(files.starts_with("the limit of open files is "), "{files}");
        assert!(files.ends_with(": ulimit -n"), "{files}");
        assert_eq!(behind(libc::ENOENT), None);
        let unlimited = getrlimit(Resource::As).current.is_none();
        assert_eq!(behind(libc::ENOMEM).is_none(), unlimited);
    }
}
