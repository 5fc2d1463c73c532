//! `sequential`: pages that are not read in long streams.
//!
//! A disk reads pages that follow each other nearly as fast as flash does, and passes over large
//! files wear the flash for nothing (openzfs issue 10687). As bcache's `sequential_cutoff` (4 MiB):
//! the pages that follow in a stream after that many are not admitted. A table has the streams that
//! went on last; a page of a long one is marked until it is read otherwise, or as many others were
//! marked as lie in DRAM.

use super::ghost::Ghost;
use super::{Admission, Answer, Entry, Make, Request, admit_if};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "sequential",
    summary: "pages that are not read in long streams",
    paper: "bcache: sequential_cutoff",
    when: "In front of disks, and where large files are read from end to end.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|machine, params| {
        let settings = Settings::take(params)?;
        // In DRAM, and the one that is read.
        let marks = usize::try_from(machine.dram)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        Ok(Box::new(Sequential {
            settings,
            streams: Vec::new(),
            marked: Ghost::new(marks),
        }))
    }),
};

settings! {
    /// Settings of `sequential`.
    pub struct Settings {
        /// pages of a stream that are admitted
        pages: u64 = 1024, 1..=u64::MAX;
        /// streams that are followed at the same time
        streams: usize = 64, 1..=4096;
    }
}

/// Pages that were read one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    /// The page that would come next.
    next: u64,
    /// Pages that came.
    len: u64,
}

struct Sequential {
    settings: Settings,
    /// Streams, the one that went on last at the end.
    streams: Vec<Stream>,
    /// Pages read late in a stream.
    marked: Ghost<()>,
}

impl Sequential {
    fn read(&mut self, page: u64) {
        match self.follow(page) > self.settings.pages {
            true => self.marked.note(page, ()),
            false => self.marked.forget(page),
        }
    }

    /// Returns how many pages of its stream have come with this one.
    fn follow(&mut self, page: u64) -> u64 {
        let at = self.streams.iter().rposition(|stream| stream.next == page);
        let len = at.map_or(0, |at| self.streams.remove(at).len) + 1;
        if self.streams.len() == self.settings.streams {
            self.streams.remove(0);
        }
        let next = page.wrapping_add(1);
        self.streams.push(Stream { next, len });
        len
    }
}

impl Admission for Sequential {
    fn missed(&mut self, request: &Request) {
        self.read(request.page);
    }

    fn hit(&mut self, request: &Request) {
        self.read(request.page);
    }

    fn wants(&self, request: &Request) -> Answer {
        admit_if(self.marked.get(request.page).is_none(), ENTRY.name)
    }

    fn admitted(&mut self, request: &Request) {
        self.marked.forget(request.page);
    }
}
