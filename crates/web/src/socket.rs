//! The socket that systemd has opened (`terraced-web.socket`).

use std::net::TcpListener;
use std::os::fd::{FromRawFd, RawFd};

use terrace_base::{Context, Error, Result};

/// Returns it; `None` if systemd has opened none for this process.
///
/// # Errors
/// A usage error if it has opened several, or one that is not of TCP.
pub fn passed() -> Result<Option<TcpListener>> {
    let passed = sd_notify::listen_fds().or_fail(|| "cannot take the socket of systemd".into())?;
    match passed.collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [socket] => tcp(socket).map(Some),
        ref several => Err(Error::usage(format!(
            "systemd has opened {} sockets; terraced-web.socket may name one address",
            several.len()
        ))),
    }
}

fn tcp(socket: RawFd) -> Result<TcpListener> {
    // SAFETY: systemd opened it for this process alone, which takes it once, here.
    let listener = unsafe { TcpListener::from_raw_fd(socket) };
    match listener.local_addr() {
        Ok(_) => Ok(listener),
        Err(_) => Err(Error::usage(
            "the socket of systemd is not of TCP; have terraced-web.socket name ADDRESS:PORT",
        )),
    }
}
