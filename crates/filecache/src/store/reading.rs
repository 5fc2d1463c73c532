//! A file as it is when it is read.

use terrace_policy::admission::rules::Rule;

use super::layout::Stamp;
use crate::file::{Identity, Version};

/// A file as it is when it is read: pages that are read from it after this was made may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub(super) file: Identity,
    pub(super) stamp: Stamp,
    pub(super) moment: u64,
    pub(super) version: Version,
    /// Whether it is old enough for a later change to have other times, whatever the kernel.
    pub(super) is_old: bool,
    /// Whether nothing changes it without making another version.
    pub(super) is_settled: bool,
    pub(super) rule: Rule,
}

impl Reading {
    /// Returns a number of the file that no other file has or had, and that changes with a change
    /// behind our back.
    pub fn stamp(&self) -> u64 {
        self.stamp.0
    }

    /// Returns the version of the file.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether nothing changes the file without making another version.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns what the rules say of the file.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Notes what the rules say of the file: pages of a pinned one stay, as far as there is room
    /// for that.
    pub fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
    }

    /// Notes that the file is being changed, or may be without making another version: nothing is
    /// put as of this reading.
    pub fn unsettle(&mut self) {
        self.is_settled = false;
    }
}
