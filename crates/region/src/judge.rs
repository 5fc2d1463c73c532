//! What every write scheme would have written, on the evictions that there are.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use terrace_base::{Context, Error, Result};
use terrace_policy::replacement::PageId;
use terrace_policy::write::{Contents, Place, REGISTRY, Scheme, Spec, Written};

use crate::figures::{Board, Counts, Rows};
use crate::signals::spawn;

/// Evictions that may wait for judgement; a driver that is ahead of that waits.
const AHEAD: usize = 256;

/// What pages hold before they are first written.
const ZEROS: Contents = [0; size_of::<Contents>()];

/// What the judge is told.
enum Told {
    /// A page leaves DRAM, with these contents if it was written since it came in.
    Evicted(PageId, Option<Box<Contents>>),
    /// Answer when all before has been judged.
    Finish(SyncSender<()>),
}

/// Every scheme of the registry with its default settings, each with a slow memory of its own in
/// which pages go back to their places.
pub struct Schemes {
    schemes: Vec<Scheme>,
    /// By page.
    pages: Vec<Option<Box<Held>>>,
    written: Vec<Written>,
}

/// What the slow memories hold of a page.
struct Held {
    /// The page as it was evicted last.
    last: Contents,
    /// For each scheme its place, unless that holds `last` as it is and never held a coded page.
    own: Vec<Option<Box<Place>>>,
}

impl Schemes {
    /// Makes the schemes.
    ///
    /// # Errors
    /// Returns a usage error if a scheme cannot be made of its name.
    pub fn new() -> Result<Self> {
        let made = REGISTRY.iter().map(|entry| {
            let spec = Spec::parse(entry.name).map_err(Error::usage)?;
            spec.scheme().map_err(Error::usage)
        });
        let schemes: Vec<_> = made.collect::<Result<_>>()?;
        Ok(Self {
            written: vec![Written::default(); schemes.len()],
            schemes,
            pages: Vec::new(),
        })
    }

    /// Has every scheme write a page that leaves DRAM: `dirty` are its contents if it was written
    /// since it came in.
    pub fn evict(&mut self, page: PageId, dirty: Option<&Contents>) {
        if self.pages.len() <= page.index() {
            self.pages.resize_with(page.index() + 1, || None);
        }
        let held = self.pages[page.index()].get_or_insert_with(|| {
            Box::new(Held {
                last: ZEROS,
                own: vec![None; self.schemes.len()],
            })
        });
        let new = *dirty.unwrap_or(&held.last);
        let schemes = self.schemes.iter().zip(&mut held.own);
        for ((scheme, own), written) in schemes.zip(&mut self.written) {
            if dirty.is_none() && scheme.inclusive {
                continue;
            }
            let mut place = match own.take() {
                Some(place) => place,
                None => Box::new(Place::holding(held.last)),
            };
            *written += scheme.coder.write(&new, &mut place);
            *own = (*place != Place::holding(new)).then_some(place);
        }
        held.last = new;
    }

    /// Returns what each scheme has written.
    pub fn rows(&self) -> Rows {
        std::array::from_fn(|at| Counts::from(self.written[at]))
    }
}

/// A thread that shows every eviction to every scheme.
pub(crate) struct Judge {
    board: Arc<Board>,
    told: Option<SyncSender<Told>>,
    thread: Option<JoinHandle<Bench>>,
    /// While there is no thread.
    resting: Option<Bench>,
}

/// The schemes, and what the board has of their rows.
struct Bench {
    schemes: Schemes,
    shown: Rows,
}

impl Judge {
    /// Starts the thread, which shows its rows on a board.
    ///
    /// # Errors
    /// Returns a failure if it cannot be started.
    pub fn start(board: Arc<Board>) -> Result<Self> {
        let bench = Bench {
            schemes: Schemes::new()?,
            shown: Rows::default(),
        };
        let mut judge = Self {
            board,
            told: None,
            thread: None,
            resting: Some(bench),
        };
        let started = judge.go_on();
        started.or_fail(|| "cannot start the thread that judges write schemes".into())?;
        Ok(judge)
    }

    /// Judges what it was given, and ends the thread until [`Judge::go_on`].
    pub fn rest(&mut self) {
        self.told = None;
        // A thread that fails has said so.
        self.resting = self.thread.take().and_then(|thread| thread.join().ok());
    }

    /// Starts the thread after [`Judge::rest`].
    ///
    /// # Errors
    /// Returns the system's.
    pub fn go_on(&mut self) -> io::Result<()> {
        let Some(mut bench) = self.resting.take() else {
            return Ok(());
        };
        let (sender, told) = sync_channel(AHEAD);
        let board = Arc::clone(&self.board);
        let judge = move || {
            for told in told {
                match told {
                    Told::Evicted(page, dirty) => bench.judge(&board, page, dirty.as_deref()),
                    // The asking thread waits.
                    Told::Finish(answer) => drop(answer.send(())),
                }
            }
            bench
        };
        self.thread = Some(spawn("terrace-judge", judge)?);
        self.told = Some(sender);
        Ok(())
    }

    /// Tells of a page that leaves DRAM, with its contents if it was written since it came in.
    pub fn evicted(&self, page: PageId, dirty: Option<&Contents>) {
        let dirty = dirty.map(|contents| Box::new(*contents));
        self.tell(Told::Evicted(page, dirty));
    }

    /// Waits until all evictions have been judged.
    pub fn finish(&self) {
        let (answer, finished) = sync_channel(1);
        self.tell(Told::Finish(answer));
        let _ = finished.recv();
    }

    fn tell(&self, told: Told) {
        if let Some(thread) = &self.told {
            // The thread ends only after this.
            let _ = thread.send(told);
        }
    }
}

impl Bench {
    fn judge(&mut self, board: &Board, page: PageId, dirty: Option<&Contents>) {
        self.schemes.evict(page, dirty);
        board.add_rows(&mut self.shown, &self.schemes.rows());
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The slow twin keeps a whole memory for each scheme.
        #[test]
        fn as_a_memory_for_each_scheme(
            evictions in prop::collection::vec((0_u32..3, prop::option::of((0_u8..3, 0_usize..4096))), 1..30)
        ) {
            let mut fast = Schemes::new().unwrap();
            let slow = Schemes::new().unwrap().schemes;
            let fresh = vec![Place::holding(ZEROS); 3];
            let mut memories = vec![fresh; slow.len()];
            let mut now = [ZEROS; 3];
            let mut written = vec![Written::default(); slow.len()];
            for (page, change) in evictions {
                let at = page as usize;
                if let Some((value, byte)) = change {
                    now[at][byte..].fill(value);
                }
                fast.evict(PageId(page), change.is_some().then_some(&now[at]));
                for ((scheme, memory), written) in slow.iter().zip(&mut memories).zip(&mut written) {
                    if change.is_some() || !scheme.inclusive {
                        *written += scheme.coder.write(&now[at], &mut memory[at]);
                    }
                }
            }
            prop_assert_eq!(fast.rows().to_vec(), written.into_iter().map(Counts::from).collect::<Vec<_>>());
        }
    }
}
