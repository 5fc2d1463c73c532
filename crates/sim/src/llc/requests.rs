//! Requests to a last-level cache and to memory, as rows of a trace.
//!
//! A row has the address of the line in its process, the line's size, and the core as its thread. A
//! write-back is a row that writes, without an instruction address. A store miss reads; its row
//! differs from the row of a load by a size of 0, and that of a prefetch by a size of 1. Simulators
//! that know neither this nor the mark in the file read such a trace correctly, too.

use terrace_policy::llc::{Kind, Request};
use terrace_trace::Access;

use super::batch::Asked;
use super::lines::{Lines, Space};

/// The kind of a trace's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Accesses of a program.
    Accesses,
    /// Misses and write-backs of private levels.
    Filtered,
    /// Requests to a last-level cache.
    Requests,
}

impl Rows {
    /// Returns the request of a row to a last-level cache without private levels.
    pub fn kind(self, access: &Access) -> Kind {
        self.kind_of(access.write, Some(access.size))
    }

    /// Returns the request that a row is, of a trace that has passed caches; none where rows are
    /// accesses of a program. `size` is none where sizes are not read; then stores and prefetches
    /// are not told from loads.
    #[inline]
    pub fn request(self, write: bool, size: Option<u32>) -> Option<Kind> {
        (self != Self::Accesses).then(|| self.kind_of(write, size))
    }

    #[inline]
    fn kind_of(self, write: bool, size: Option<u32>) -> Kind {
        match (self, write, size) {
            (_, true, _) => Kind::WriteBack,
            (Self::Requests, false, Some(0)) => Kind::Store,
            (Self::Requests, false, Some(1)) => Kind::Prefetch,
            _ => Kind::Load,
        }
    }
}

/// Returns the row of a request; there is none for a [`Kind::CleanVictim`], which would be a load.
pub fn row(lines: Lines, asked: &Asked) -> Access {
    let Request {
        line,
        ip,
        core,
        kind,
    } = asked.request;
    let size = match kind {
        Kind::Store => 0,
        Kind::Prefetch => 1,
        Kind::Load | Kind::WriteBack | Kind::CleanVictim => lines.bytes() as u32,
    };
    Access {
        instruction: asked.instruction,
        address: lines.address(line),
        ip,
        process: u16::try_from(Space::of_line(line)).unwrap_or(u16::MAX),
        thread: core.into(),
        size,
        write: kind.writes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_from_its_row() {
        let lines = Lines::new(64).unwrap();
        for kind in [Kind::Load, Kind::Store, Kind::WriteBack, Kind::Prefetch] {
            let line = lines.of(Space::new(0, 1, 5).unwrap(), 0x1234);
            let request = Request {
                line,
                ip: 7,
                core: 3,
                kind,
            };
            let row = row(
                lines,
                &Asked {
                    request,
                    instruction: 9,
                    after: 0,
                },
            );
            assert_eq!(Rows::Requests.kind(&row), kind);
            assert_eq!((row.address, row.process, row.thread), (0x1234 * 64, 5, 3));
        }
    }
}
