//! Processes that are killed, that fork, and under which the file system goes away: what they have
//! acknowledged is there.
//!
//! A process that is killed loses less than `crash` shows, as the page cache survives it; but all
//! of it is real. Power cuts (`power`) lose the page cache, too; they need root, and are run by
//! `make test-root`.

#[path = "../common/mod.rs"]
mod common;
mod copied;
mod created;
mod disk;
mod fork;
mod kill;
#[path = "../oracle/mod.rs"]
mod oracle;
mod power;
mod process;
mod work;
