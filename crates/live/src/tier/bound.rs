//! How large a tier is made, and how large it may become.

use std::fmt;
use std::path::Path;

use terrace_base::{Bytes, Error, Result};

use super::area::SMALLEST;
use crate::system::dram;

/// What a tier has to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Size with room for everything; `None` if that is unknown: the tier grows with its use.
    pub wanted: Option<Bytes>,
    /// Size without which the program cannot run; 0 if that is unknown.
    pub least: Bytes,
    /// The largest size that the user allows.
    pub allowed: Option<Bytes>,
}

impl Demand {
    /// Returns the demand of a program with this footprint and DRAM: twice the footprint, so that
    /// clean pages keep their copies (the kernel frees a place at once when swap is half full); at
    /// least what DRAM does not hold.
    pub fn of_program(footprint: Option<Bytes>, dram: Bytes, allowed: Option<Bytes>) -> Self {
        let beyond = footprint.map_or(0, |footprint| footprint.0.saturating_sub(dram.0));
        Self {
            wanted: footprint.map(|f| Bytes(f.0.saturating_mul(2)).max(SMALLEST)),
            least: Bytes(beyond),
            allowed,
        }
    }

    /// Returns the least size of an area.
    pub(super) fn least(&self) -> Bytes {
        self.least.max(SMALLEST)
    }

    /// Returns the size of memory that is a tier.
    ///
    /// # Errors
    /// See [`Demand::check`].
    pub(super) fn in_memory(&self) -> Result<Bound> {
        self.check()?;
        Ok(self.bound(&[Limit::Memory(dram::total())]))
    }

    /// Returns the bound of a tier in a directory whose disk has this much `free`.
    ///
    /// # Errors
    /// A usage error if the disk has too little, or half of it is less than what is allowed.
    pub(super) fn on_disk(&self, directory: &Path, free: Bytes) -> Result<Bound> {
        self.check()?;
        let half = Bytes(free.0 / 2);
        let directory = directory.display();
        if let Some(allowed) = self.allowed.filter(|allowed| *allowed > half) {
            return Err(Error::usage(format!(
                "a tier of {allowed} (‘tier-size’) is more than half of the {free} that {directory} has free; \
                 name at most {half}, or another directory"
            )));
        }
        if half < self.least() {
            return Err(Error::usage(format!(
                "the tier {directory} has {free} free; terrace takes half of it at most, and {} are needed; \
                 free some space or name another directory",
                self.least()
            )));
        }
        Ok(self.bound(&[Limit::Memory(dram::total()), Limit::Disk(free)]))
    }

    /// Returns the bound of a tier that is a device of this size.
    ///
    /// # Errors
    /// See [`Demand::check`].
    pub(super) fn on_device(&self, size: Bytes) -> Result<Bound> {
        self.check()?;
        let allowed = self.allowed.filter(|allowed| *allowed < size);
        Ok(Bound(allowed.map_or(Limit::Device(size), Limit::Allowed)))
    }

    /// Checks what the user allows.
    ///
    /// # Errors
    /// A usage error if it is less than what is needed.
    fn check(&self) -> Result<()> {
        match self.allowed {
            Some(allowed) if allowed < self.least() => Err(Error::usage(format!(
                "a tier of {allowed} (‘tier-size’) is too small, for {} are needed: what the program has beyond \
                 its DRAM, and at least {SMALLEST}; name a larger one",
                self.least()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the least of the limits: these, what is wanted, and what is allowed.
    fn bound(&self, limits: &[Limit]) -> Bound {
        let own = self.wanted.map(Limit::Wanted);
        let own = own.into_iter().chain(self.allowed.map(Limit::Allowed));
        // Of a known footprint the machine's memory is no limit.
        let others = limits.iter().copied();
        let others = others.filter(|it| self.wanted.is_none() || !matches!(it, Limit::Memory(_)));
        let least = own.chain(others).min_by_key(|limit| limit.size());
        Bound(least.unwrap_or(Limit::Memory(dram::total())))
    }
}

/// The size that a tier may have, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound(Limit);

/// What limits a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// More than this is of no use to the program.
    Wanted(Bytes),
    /// The user's.
    Allowed(Bytes),
    /// The machine's memory: a program of unknown footprint gets twice as much.
    Memory(Bytes),
    /// The free space of the disk; half of it is left to others.
    Disk(Bytes),
    /// The size of a device, which is used whole.
    Device(Bytes),
}

impl Limit {
    fn size(&self) -> Bytes {
        match *self {
            Self::Wanted(size) | Self::Allowed(size) | Self::Device(size) => size,
            Self::Memory(size) => Bytes(size.0.saturating_mul(2)),
            Self::Disk(free) => Bytes(free.0 / 2),
        }
    }
}

impl Bound {
    /// Returns the size.
    pub fn size(&self) -> Bytes {
        self.0.size()
    }

    /// Returns why it is not larger; `None` if no more is of use, or the device has no more.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self.0 {
            Limit::Wanted(_) | Limit::Device(_) => None,
            Limit::Allowed(_) => Some("--tier-size"),
            Limit::Memory(_) => Some("twice the machine's memory"),
            Limit::Disk(_) => Some("half of the free disk"),
        }
    }

    /// Returns a notice if the tier has less than what is `wanted`.
    pub(super) fn notice(&self, wanted: Option<Bytes>) -> Option<String> {
        let wanted = wanted.filter(|wanted| self.size() < *wanted)?;
        Some(format!(
            "the tier has {self}, and not twice the footprint ({wanted}): pages that come back may lose their \
             copies there and be written again"
        ))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.size())?;
        self.reason().map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn mib(mib: u64) -> Bytes {
        Bytes(mib * MIB)
    }

    fn demand(footprint: Option<u64>, dram: u64, allowed: Option<u64>) -> Demand {
        Demand::of_program(footprint.map(mib), mib(dram), allowed.map(mib))
    }

    fn on_disk(demand: Demand, free: u64) -> std::result::Result<(u64, String), String> {
        let bound = demand.on_disk(Path::new("/d"), mib(free));
        bound
            .map(|bound| (bound.size().0 / MIB, bound.to_string()))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn half_of_the_disk_is_left_to_others_whether_the_footprint_is_known_or_not() {
        let known = demand(Some(100), 40, None);
        assert_eq!(on_disk(known, 1000), Ok((200, "200 MiB".to_owned())));
        let tight = (84, "84.0 MiB (half of the free disk)".to_owned());
        assert_eq!(on_disk(known, 168), Ok(tight.clone()));
        assert_eq!(on_disk(demand(None, 40, None), 168), Ok(tight));
        let error = on_disk(demand(Some(300), 40, None), 168).unwrap_err();
        assert!(error.contains("260 MiB are needed"), "{error}");
        let error = on_disk(demand(None, 40, None), 100).unwrap_err();
        assert!(error.contains("64.0 MiB are needed"), "{error}");
    }

    #[test]
    fn what_the_user_allows_is_the_bound_where_it_holds_the_program() {
        let allowed = |footprint, allowed| on_disk(demand(footprint, 40, Some(allowed)), 1000);
        assert_eq!(
            allowed(None, 300),
            Ok((300, "300 MiB (--tier-size)".to_owned()))
        );
        assert_eq!(allowed(Some(100), 300).unwrap().0, 200, "no more is of use");
        assert_eq!(allowed(Some(100), 80).unwrap().0, 80);
        let error = allowed(Some(200), 80).unwrap_err();
        assert!(error.contains("160 MiB are needed"), "{error}");
        let error = allowed(None, 63).unwrap_err();
        assert!(error.contains("at least 64.0 MiB"), "{error}");
        let error = allowed(None, 501).unwrap_err();
        assert!(error.contains("name at most 500 MiB"), "{error}");
    }

    #[test]
    fn memory_is_bounded_by_memory() {
        let most = Bytes(dram::total().0 * 2);
        assert_eq!(demand(None, 40, None).in_memory().unwrap().size(), most);
        let known = demand(Some(100), 40, None).in_memory().unwrap();
        assert_eq!(known.size(), mib(200));
        assert_eq!(known.notice(known_wanted()), None);
        let less = demand(Some(100), 40, Some(80)).in_memory().unwrap();
        let notice = less.notice(known_wanted()).unwrap();
        assert!(notice.contains("has 80.0 MiB (--tier-size)"), "{notice}");
    }

    #[test]
    fn a_device_is_used_whole_unless_the_user_allows_less() {
        let on = |allowed, device| {
            let bound = demand(Some(100), 40, allowed).on_device(mib(device));
            bound.map(|bound| bound.to_string())
        };
        assert_eq!(on(None, 512), Ok("512 MiB".to_owned()));
        assert_eq!(on(Some(80), 512), Ok("80.0 MiB (--tier-size)".to_owned()));
        assert_eq!(on(Some(600), 512), Ok("512 MiB".to_owned()));
        assert!(on(Some(59), 512).is_err());
    }

    fn known_wanted() -> Option<Bytes> {
        Some(mib(200))
    }
}
