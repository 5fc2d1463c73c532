//! Whom a file or directory can be trusted to come from.

use rustix::fs::{Mode, Stat};
use terrace_base::user;

/// Returns the reason why users other than root and the caller can have written something, if any.
pub(crate) fn distrust(found: &Stat) -> Option<String> {
    let caller = rustix::process::geteuid().as_raw();
    if found.st_uid != 0 && found.st_uid != caller {
        return Some(format!("belongs to {}", user::name_of(found.st_uid)));
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    let open = mode.intersects(Mode::WGRP | Mode::WOTH);
    open.then(|| "may be written by other users".to_owned())
}
