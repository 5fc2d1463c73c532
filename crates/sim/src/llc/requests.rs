//! What is asked of a last-level cache, and what it asks of memory, as rows of a trace.
//!
//! A row has the address of the line in its process, the line's size, and as its thread the core.
//! A write-back is a row that writes, and knows no instruction address. A store miss reads: its
//! row differs from that of a load in that its size is 0. Without that, and without the mark in the
//! file that tells it, simulators other than this one read it right as well.

use terrace_policy::llc::{Kind, Request};
use terrace_trace::Access;

use super::batch::Asked;
use super::lines::{Lines, Space};

/// The mark of such a trace, among what is known of it; its value is the bytes of a line.
pub const MARK: &str = "terrace.llc.requests";

/// What `terrace record --filter l1l2` says of its traces: they have passed private levels too, but
/// do not tell stores from loads.
const FILTERED: (&str, &str) = ("recorded.filter", "l1l2");

/// What the rows of a trace are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Accesses of a program.
    Accesses,
    /// Accesses that private levels missed, and what they wrote back.
    Filtered,
    /// Requests to a last-level cache.
    Requests,
}

impl Rows {
    /// As the trace of which this is known says it.
    pub fn of(about: &[(String, String)]) -> Self {
        let filtered = |(key, value): &(String, String)| (&**key, &**value) == FILTERED;
        if about.iter().any(|(key, _)| key == MARK) {
            Self::Requests
        } else if about.iter().any(filtered) {
            Self::Filtered
        } else {
            Self::Accesses
        }
    }

    /// What a row asks of a last-level cache without levels above it.
    pub fn kind(self, access: &Access) -> Kind {
        match (self, access.write, access.size) {
            (_, true, _) => Kind::WriteBack,
            (Self::Requests, false, 0) => Kind::Store,
            _ => Kind::Load,
        }
    }
}

/// The row of a request.
pub fn row(lines: Lines, asked: &Asked) -> Access {
    let Request {
        line,
        ip,
        core,
        kind,
    } = asked.request;
    let size = match kind {
        Kind::Store => 0,
        Kind::Load | Kind::WriteBack => lines.bytes() as u32,
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
        for kind in [Kind::Load, Kind::Store, Kind::WriteBack] {
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
                },
            );
            assert_eq!(Rows::Requests.kind(&row), kind);
            assert_eq!((row.address, row.process, row.thread), (0x1234 * 64, 5, 3));
        }
    }

    #[test]
    fn the_mark_tells() {
        let about = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        assert_eq!(Rows::of(&about(MARK, "64")), Rows::Requests);
        assert_eq!(Rows::of(&about("recorded.filter", "l1l2")), Rows::Filtered);
        assert_eq!(Rows::of(&about("recorded.filter", "none")), Rows::Accesses);
    }
}
