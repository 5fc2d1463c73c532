//! Allocations that the library in the program reports ([`terrace_preload_protocol::report`]), and
//! the code that made them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use terrace_preload_protocol::report::{FRAMES, Report};

use crate::frame::Frame;
use crate::guest::Guest;
use crate::pool::Pool;

/// What the library has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// What follows is not the program's.
    Begin,
    /// An object was allocated.
    Allocated {
        /// The address.
        address: u64,
        /// The size.
        bytes: u64,
        /// The calls that led to it, the innermost first.
        stack: Vec<Frame>,
    },
    /// The object at this address was freed.
    Freed(u64),
}

/// The files whose code is mapped in this process.
#[derive(Debug, Default)]
pub struct Modules(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Frames of return addresses that were looked up.
    frames: HashMap<u64, Frame>,
}

impl Modules {
    /// Returns what a call with these arguments reports; none where it does not make sense.
    pub fn event(&self, pool: &Pool, arguments: [u64; 5]) -> Option<Event> {
        let [kind, address, bytes, frames, count] = arguments;
        if kind == Report::Begin as u64 {
            Some(Event::Begin)
        } else if kind == Report::Freed as u64 {
            Some(Event::Freed(address))
        } else if kind == Report::Allocated as u64 {
            let guest = Guest::of_this_process();
            let count = usize::try_from(count).unwrap_or(FRAMES).min(FRAMES);
            let addresses =
                (0..count as u64).map_while(|n| guest.number(frames.wrapping_add(8 * n)));
            let addresses: Vec<u64> = addresses.collect();
            Some(Event::Allocated {
                address,
                bytes,
                stack: self.frames(pool, &guest, &addresses),
            })
        } else {
            None
        }
    }

    /// Forgets where code lies, because other code may be mapped there now.
    pub fn forget(&self) {
        self.known().frames.clear();
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the frames of return addresses. The mappings are read again if one is not known.
    fn frames(&self, pool: &Pool, guest: &Guest, addresses: &[u64]) -> Vec<Frame> {
        let mut known = self.known();
        if addresses
            .iter()
            .any(|address| !known.frames.contains_key(address))
        {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            let mappings = mappings(&maps);
            for address in addresses {
                let place = place(&mappings, guest.host(*address));
                let frame = place.map(|(path, offset)| Frame {
                    module: pool.module(path),
                    offset,
                });
                let unknown = Frame {
                    module: None,
                    offset: *address,
                };
                known.frames.insert(*address, frame.unwrap_or(unknown));
            }
        }
        addresses
            .iter()
            .map(|address| known.frames[address])
            .collect()
    }
}

/// A mapping of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Mapping {
    start: u64,
    end: u64,
    path: PathBuf,
}

/// Parses the mappings of files of a process (proc(5), `/proc/pid/maps`).
pub fn mappings(maps: &str) -> Vec<Mapping> {
    let line = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let path = &rest[rest.find('/')?..];
        Some(Mapping {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            path: path.into(),
        })
    };
    maps.lines().filter_map(line).collect()
}

/// Returns the file that is mapped at an address, and the distance from its lowest mapping.
pub fn place(mappings: &[Mapping], address: u64) -> Option<(&Path, u64)> {
    let at = mappings
        .iter()
        .find(|mapping| (mapping.start..mapping.end).contains(&address))?;
    let of_file = mappings.iter().filter(|mapping| mapping.path == at.path);
    let lowest = of_file.map(|mapping| mapping.start).min()?;
    Some((&at.path, address - lowest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_place_in_a_file() {
        let maps = "\
00400000-00401000 r--p 00000000 fe:01 77 /bin/a b\n\
00401000-00402000 r-xp 00001000 fe:01 77 /bin/a b\n\
00500000-00501000 rw-p 00000000 00:00 0 \n\
00600000-00601000 rw-p 00000000 00:00 0 [stack]\n";
        let mappings = mappings(maps);
        let found = |address| place(&mappings, address);
        assert_eq!(found(0x40_1234), Some((Path::new("/bin/a b"), 0x1234)));
        assert_eq!(found(0x40_2000), None);
        assert_eq!(found(0x50_0000), None);
        assert_eq!(found(0x60_0000), None);
    }
}
