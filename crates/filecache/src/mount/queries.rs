//! Attributes of files that are questions and commands for the mount itself.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;

use fuser::{INodeNo, Request};
use rustix::process::geteuid;
use serde::Serialize;

use super::control::{CONTROL, FORGET, WARM};
use super::file_system::PassThrough;
use super::nodes::Node;

impl PassThrough {
    /// Carries out what the attribute `name` of a file is set to, if it is a command.
    pub(super) fn command(
        &self,
        request: &Request,
        node: &Node,
        name: &OsStr,
        value: &[u8],
    ) -> Option<io::Result<()>> {
        if node.number != INodeNo::ROOT || name != CONTROL {
            return None;
        }
        let command = serde_json::from_slice(value).map_err(|_| io::ErrorKind::InvalidInput.into());
        Some(
            may(request)
                .and(command)
                .and_then(|command| self.beside.ruled.obey(&command))
                .map_err(numbered),
        )
    }

    /// Returns the answer that the attribute `name` of a file is, if it is a question.
    pub(super) fn answer(
        &self,
        request: &Request,
        node: &Arc<Node>,
        name: &OsStr,
    ) -> Option<io::Result<Vec<u8>>> {
        let (ruled, name) = (&self.beside.ruled, name.to_str()?);
        let is_root = node.number == INodeNo::ROOT;
        if is_root && name == super::STATUS {
            return Some(Ok(self.beside.status.json().into_bytes()));
        }
        if is_root && name == CONTROL {
            return Some(may(request).and_then(|()| text(&ruled.held()?)));
        }
        if name == FORGET {
            return Some(may(request).and_then(|()| text(&ruled.forget(node)?)));
        }
        let offset = name.strip_prefix(WARM)?.parse();
        let offset = offset.map_err(|_| io::ErrorKind::InvalidInput.into());
        let warm = |offset: u64| text(&ruled.warm(Arc::clone(node), offset / 4096 * 4096)?);
        Some(may(request).and(offset).and_then(warm).map_err(numbered))
    }
}

/// Whether the caller is the one who has mounted, or root.
fn may(request: &Request) -> io::Result<()> {
    match request.uid() == 0 || request.uid() == geteuid().as_raw() {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

/// Gives an error the number by which the kernel knows it.
fn numbered(error: io::Error) -> io::Error {
    let number = match error.kind() {
        io::ErrorKind::InvalidInput => libc::EINVAL,
        io::ErrorKind::Unsupported => libc::EOPNOTSUPP,
        io::ErrorKind::StorageFull => libc::ENOSPC,
        _ => return error,
    };
    io::Error::from_raw_os_error(number)
}

fn text(value: &impl Serialize) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(value)?)
}
