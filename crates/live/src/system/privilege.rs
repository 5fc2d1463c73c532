//! The privileges that a run needs, and those that this process has.

use std::borrow::Cow;
use std::ffi::OsString;

use rustix::thread::{CapabilitySet, capabilities};
use terrace_base::{Error, Result};

/// A Linux capability that a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Name.
    pub name: &'static str,
    /// The kernel's number, as a bit.
    bit: CapabilitySet,
    /// Purpose, as a verb phrase.
    pub purpose: &'static str,
    /// Whether every run needs it.
    pub required: bool,
}

/// All capabilities that `terrace run` needs (linux/capability.h); tested by leaving out each in
/// turn on Linux 6.18.
pub const NEEDED: [Capability; 4] = [
    Capability {
        name: "CAP_SYS_ADMIN",
        bit: CapabilitySet::SYS_ADMIN,
        purpose: "to switch swap areas on and off, and to watch the program's faults",
        required: true,
    },
    Capability {
        name: "CAP_DAC_OVERRIDE",
        bit: CapabilitySet::DAC_OVERRIDE,
        purpose: "to make cgroups where they are root's, and a tier of zram or of a device",
        required: true,
    },
    Capability {
        name: "CAP_SYS_NICE",
        bit: CapabilitySet::SYS_NICE,
        purpose: "to have the program's pages fetched",
        required: true,
    },
    Capability {
        name: "CAP_SYS_PTRACE",
        bit: CapabilitySet::SYS_PTRACE,
        purpose: "to foresee a program that becomes another user, or that may not be read",
        required: false,
    },
];

/// Returns the effective capabilities of this process.
pub(crate) fn effective() -> CapabilitySet {
    capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective)
}

/// Returns the capabilities of [`NEEDED`] that this process lacks.
pub fn missing() -> Vec<Capability> {
    missing_in(effective())
}

fn missing_in(effective: CapabilitySet) -> Vec<Capability> {
    let needed = NEEDED.into_iter();
    needed
        .filter(|capability| !effective.contains(capability.bit))
        .collect()
}

/// Names capabilities, each with its purpose.
pub fn list(capabilities: &[Capability]) -> String {
    let named = capabilities.iter();
    let all: Vec<_> = named.map(|c| format!("{} {}", c.name, c.purpose)).collect();
    all.join(", ")
}

/// # Errors
/// A failure that names the missing capabilities, and the command line that would have them.
pub fn require() -> Result<()> {
    let mut missing = missing();
    missing.retain(|capability| capability.required);
    if missing.is_empty() {
        return Ok(());
    }
    let what = match is_root() {
        // Root of a container, say, for whom sudo changes nothing.
        true => format!(
            "this root lacks {}; give it that, or run where root has it",
            list(&missing)
        ),
        false if missing.len() == required() => {
            format!("this needs root; run: {}", as_root())
        }
        false => format!("{} missing; run: {}", list(&missing), as_root()),
    };
    Err(Error::failure(what))
}

fn required() -> usize {
    NEEDED.iter().filter(|c| c.required).count()
}

/// Whether this process runs as uid 0.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the command line of this process, preceded by `sudo`.
pub fn as_root() -> String {
    let state = std::env::var_os("TERRACE_STATE_DIR");
    let own = std::env::current_exe().unwrap_or_default();
    line(state, own.into(), std::env::args_os().collect())
}

/// `sudo` has its own search path and drops most variables, so the line names the file of a command
/// that was found in `PATH`, and the state directory.
fn line(state: Option<OsString>, own: OsString, mut words: Vec<OsString>) -> String {
    if let Some(command) = words.first_mut()
        && !command.as_encoded_bytes().contains(&b'/')
    {
        *command = own;
    }
    if let Some(state) = state {
        let mut variable = OsString::from("TERRACE_STATE_DIR=");
        variable.push(state);
        words.insert(0, variable);
    }
    words.insert(0, "sudo".into());
    let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// Quotes a word for a shell.
fn quoted(word: &OsString) -> Cow<'_, str> {
    match word.to_str() {
        // No argument has a byte 0, which alone cannot be quoted.
        Some(text) => shlex::try_quote(text).unwrap_or_default(),
        None => word.to_string_lossy(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        assert!(missing_in(CapabilitySet::all()).is_empty());
        assert_eq!(missing_in(CapabilitySet::empty()).len(), 4);
        let without_nice = CapabilitySet::all() - CapabilitySet::SYS_NICE;
        assert_eq!(missing_in(without_nice)[0].name, "CAP_SYS_NICE");
    }

    #[test]
    fn the_same_command_line_as_root() {
        let line = |state: Option<&str>, words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            line(state.map(Into::into), "/home/me/bin/terrace".into(), words)
        };
        assert_eq!(
            line(None, &["target/release/terrace", "run", "--", "a b", "$c"]),
            "sudo target/release/terrace run -- 'a b' '$c'"
        );
        assert_eq!(
            line(Some("/my state"), &["terrace", "doctor"]),
            "sudo 'TERRACE_STATE_DIR=/my state' /home/me/bin/terrace doctor"
        );
    }
}
