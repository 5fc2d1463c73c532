//! `second-read`: pages that were read before and are wanted again.
//!
//! A ghost has the numbers of pages that were read once and are not on flash. A page that is read
//! while it is there is admitted; a pass over files that are read once leaves nothing but numbers.
//! The idea is that of the ghost queue of 2Q (Johnson and Shasha, VLDB 1994, A1out) in front of
//! flash, and what LARC does (Huang et al., MSST 2013, section 3: lazy adaptive replacement cache).

use super::ghost::Ghost;
use super::{Admission, Answer, Entry, Make, Request, admit_if};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "second-read",
    summary: "pages that were read once before, as a bounded list of their numbers tells",
    paper: "Huang et al., Improving flash-based disk cache with lazy adaptive replacement, MSST 2013, section 3",
    when: "Most loads: what is read only once does not wear the flash.",
    evidence: crate::registry::Evidence {
        open: "How many numbers a ghost holds, and how long: settings.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make(&|machine, params| {
        let settings = Settings::take(params)?;
        let ghosts = settings.ghosts * machine.flash as f64;
        Ok(Box::new(SecondRead(Ghost::new(ghosts as usize))))
    }),
};

settings! {
    /// Settings of `second-read`.
    pub struct Settings {
        /// pages whose numbers are remembered, as a share of those of the flash
        ghosts: f64 = 1.0, 0.0..=16.0;
    }
}

/// Pages that are not on flash, and whether each was read again.
struct SecondRead(Ghost<bool>);

impl Admission for SecondRead {
    fn missed(&mut self, request: &Request) {
        let again = self.0.get(request.page).is_some();
        self.0.note(request.page, again);
    }

    fn wants(&self, request: &Request) -> Answer {
        admit_if(self.0.get(request.page) == Some(true), ENTRY.name)
    }

    fn admitted(&mut self, request: &Request) {
        self.0.forget(request.page);
    }
}
