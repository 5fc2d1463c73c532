//! `size`: pages of files up to a size.
//!
//! A read of a large file is served well by a disk, whose time is that of a seek; the flash saves
//! most for each byte that is written where files are small. Foyer and CacheLib have the like for
//! objects.

use super::{Admission, Answer, Entry, Make, Request, admit_if};
use crate::settings;
use crate::sizes::Sizes;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "size",
    summary: "pages of files up to a size",
    paper: "foyer 0.22 and CacheLib (Berg et al., OSDI 2020): admission by size",
    when: "Media and archives beside small files.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|_, params| Ok(Box::new(Size(Settings::take(params)?)))),
};

settings! {
    /// Settings of `size`.
    pub struct Settings {
        /// the largest file whose pages are admitted
        most: u64 = 16 << 20, Sizes(1..=u64::MAX);
    }
}

struct Size(Settings);

impl Admission for Size {
    fn wants(&self, request: &Request) -> Answer {
        admit_if(request.size <= self.0.most, ENTRY.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Machine, Spec};
    use super::*;

    #[test]
    fn a_file_is_small_enough_or_not() {
        let spec = Spec::parse("size:most=64K").unwrap();
        let policy = spec.policy(&Machine::default()).unwrap();
        let of = |size| {
            policy.wants(&Request {
                size,
                ..Request::default()
            })
        };
        assert_eq!(of(65_536), Answer::Admit);
        assert_eq!(of(65_537), Answer::Refuse("size"));
    }
}
