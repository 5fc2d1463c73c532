//! The user that a program runs as. Under sudo that is the caller of sudo, with that user's groups
//! and environment, for a program that needs memory needs no privileges.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::fchown;
use std::path::PathBuf;

use crate::error::{Error, Result};
use nix::unistd;

/// A user of this machine that a program can run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: String,
    uid: libc::uid_t,
    gid: libc::gid_t,
    /// Supplementary groups, including the login group.
    groups: Vec<libc::gid_t>,
    home: PathBuf,
    shell: PathBuf,
}

impl User {
    /// Returns the user that a program runs as: the user `name`, or else the caller of sudo. `None`
    /// stands for the user that we run as.
    ///
    /// # Errors
    /// Returns a usage error if there is no such user, or we may not become that user.
    pub fn chosen(name: Option<&str>) -> Result<Option<Self>> {
        let ours = unistd::geteuid();
        let login = match name {
            Some(name) => Some(named(name)?),
            None if ours.is_root() => caller()?,
            None => None,
        };
        let Some(login) = login.filter(|login| login.uid != ours) else {
            return Ok(None);
        };
        if !ours.is_root() {
            return Err(Error::usage(format!(
                "only root can run a program as {}; leave --user out, or call terrace by sudo",
                login.name
            )));
        }
        Self::of(login).map(Some)
    }

    fn of(login: unistd::User) -> Result<Self> {
        let unknown = |why: String| {
            Error::usage(format!(
                "the groups of {} cannot be told: {why}; name another user with --user",
                login.name
            ))
        };
        let name = CString::new(login.name.clone()).map_err(|e| unknown(e.to_string()))?;
        let groups = unistd::getgrouplist(&name, login.gid).map_err(|e| unknown(e.to_string()))?;
        Ok(Self {
            uid: login.uid.as_raw(),
            gid: login.gid.as_raw(),
            groups: groups.into_iter().map(unistd::Gid::as_raw).collect(),
            home: login.dir,
            // passwd(5): an empty field is this shell.
            shell: match login.shell.as_os_str().is_empty() {
                true => "/bin/sh".into(),
                false => login.shell,
            },
            name: login.name,
        })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the environment variables that a login sets. `PATH` stays as it is, for the program
    /// is looked up in it.
    pub fn environment(&self) -> [(&'static str, OsString); 5] {
        [
            ("HOME", self.home.clone().into()),
            ("USER", self.name.clone().into()),
            ("LOGNAME", self.name.clone().into()),
            ("SHELL", self.shell.clone().into()),
            ("MAIL", format!("/var/mail/{}", self.name).into()),
        ]
    }

    /// Changes the user of this process, irrevocably. It is async-signal-safe, for a child between
    /// fork and exec.
    ///
    /// # Errors
    /// Returns the error of the kernel if we may not.
    pub fn assume(&self) -> io::Result<()> {
        let (uid, gid) = (self.uid, self.gid);
        // SAFETY: the groups live across the call, which reads as many as it is told; the others
        // take integers. The user goes last, as without root no group could be changed.
        let changed = unsafe {
            libc::setgroups(self.groups.len(), self.groups.as_ptr()) == 0
                && libc::setresgid(gid, gid, gid) == 0
                && libc::setresuid(uid, uid, uid) == 0
        };
        match changed {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    }
}

fn named(name: &str) -> Result<unistd::User> {
    let found = unistd::User::from_name(name);
    found.ok().flatten().ok_or_else(|| {
        Error::usage(format!(
            "there is no user `{name}` on this machine; name one with --user"
        ))
    })
}

/// Returns the name of a user, or its number if it has no name.
pub fn name_of(uid: libc::uid_t) -> String {
    let found = unistd::User::from_uid(unistd::Uid::from_raw(uid));
    match found.ok().flatten() {
        Some(user) => user.name,
        None => format!("user {uid}"),
    }
}

/// Gives a file that we made to the caller of sudo, as far as we may, so that the user can remove
/// it.
pub fn give_to_caller(file: &File) {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    if let (true, Some(uid)) = (unistd::geteuid().is_root(), number("SUDO_UID")) {
        let _ = fchown(file, Some(uid), number("SUDO_GID"));
    }
}

/// Returns the caller of sudo, or `None` if that is root or sudo was not used.
fn caller() -> Result<Option<unistd::User>> {
    let variable = |name| std::env::var(name).ok();
    let Some(uid) = variable("SUDO_UID") else {
        return Ok(None);
    };
    let unknown = || {
        Error::usage(format!(
            "the user who called sudo ($SUDO_UID is `{uid}`) is not known on this machine; name \
             one with --user (--user root keeps root)"
        ))
    };
    let number = unistd::Uid::from_raw(uid.parse().map_err(|_| unknown())?);
    // Several names can share a number.
    let by_name = variable("SUDO_USER").and_then(|name| named(&name).ok());
    let login = match by_name.filter(|login| login.uid == number) {
        Some(login) => Some(login),
        None => unistd::User::from_uid(number).ok().flatten(),
    };
    login.map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_what_a_login_gives() {
        let Ok(Some(nobody)) = unistd::User::from_name("nobody") else {
            return;
        };
        let user = User::of(nobody.clone()).unwrap();
        assert!(user.groups.contains(&nobody.gid.as_raw()));
        let environment = user.environment();
        assert!(environment.contains(&("HOME", nobody.dir.into())));
        assert!(environment.contains(&("LOGNAME", "nobody".into())));
        assert!(environment.contains(&("MAIL", "/var/mail/nobody".into())));
    }

    #[test]
    fn a_user_without_a_name_is_a_number() {
        let ours = unistd::User::from_uid(unistd::geteuid()).ok().flatten();
        if let Some(ours) = ours {
            assert_eq!(name_of(ours.uid.as_raw()), ours.name);
        }
        assert_eq!(name_of(4_000_000_001), "user 4000000001");
    }

    #[test]
    fn the_user_of_this_process_is_no_other_user() {
        let ours = unistd::User::from_uid(unistd::geteuid()).ok().flatten();
        if let Some(ours) = ours {
            assert_eq!(User::chosen(Some(&ours.name)), Ok(None));
        }
        let error = User::chosen(Some("no such user")).unwrap_err().to_string();
        assert!(error.contains("there is no user"), "{error}");
    }
}
