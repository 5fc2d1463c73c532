//! Pages in places of a slow memory, in the form that a write scheme gives them.

use std::io;

use rustc_hash::FxHashMap;
use terrace_policy::replacement::PageId;
use terrace_policy::write::{Contents, Depends, Form, Place, Scheme, Turn, Written};

use crate::places::Places;
use crate::side::Side;
use crate::slow::{Buffer, Done, Read, Slow, Wait, Write};
use crate::wear::Wear;

/// The end of a transfer of a page.
pub(crate) enum Ended {
    /// A page was read.
    Fetched(PageId, Box<Buffer>),
    /// A page could not be read.
    Unread(PageId),
    /// A page was written.
    Put(PageId),
    /// A page could not be written.
    Unwritten(PageId),
}

/// The slow memory with its write scheme.
pub(crate) struct Store {
    slow: Box<dyn Slow>,
    scheme: Scheme,
    /// Whether the scheme looks at what a place holds before it writes there.
    compares: bool,
    places: Places,
    /// By place; `None` for one that was never written, which counts as zeros.
    forms: Vec<Option<(Form, Turn)>>,
    /// By page, which is the ticket of its transfer.
    under_way: FxHashMap<u32, Step>,
    spare: Vec<Box<Buffer>>,
    written: Written,
    wear: Wear,
}

/// A step of the transfer of a page.
enum Step {
    /// Its place is read for it.
    Fetch(u32),
    /// Its place is read, to be compared with what it is to hold.
    Compare(u32, Box<Buffer>),
    /// Its place is written.
    Put(Laid),
}

/// A page as it is written to a place.
struct Laid {
    place: u32,
    form: (Form, Turn),
    written: Written,
    lines: u64,
}

impl Store {
    pub fn new(slow: Box<dyn Slow>, scheme: Scheme) -> Self {
        Self {
            slow,
            compares: scheme.coder.depends() != Depends::OnPage,
            places: Places::new(scheme.pinned),
            scheme,
            forms: Vec::new(),
            under_way: FxHashMap::default(),
            spare: Vec::new(),
            written: Written::default(),
            wear: Wear::default(),
        }
    }

    /// Whether clean pages need not be written.
    pub fn inclusive(&self) -> bool {
        self.scheme.inclusive
    }

    /// Whether a transfer of the page is under way.
    pub fn busy(&self, page: PageId) -> bool {
        self.under_way.contains_key(&page.0)
    }

    /// Whether no transfer is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Gets ready for a fork. No transfer is under way.
    ///
    /// # Errors
    /// Returns those of [`Slow::share`].
    pub fn share(&mut self) -> io::Result<()> {
        self.slow.share()
    }

    /// See [`Slow::forked`].
    ///
    /// # Errors
    /// Returns those of [`Slow::forked`].
    pub fn forked(&mut self, side: Side) -> io::Result<()> {
        self.slow.forked(side)
    }

    /// Returns what all transfers wrote.
    pub fn written(&self) -> Written {
        self.written
    }

    /// Returns the wear of the memory.
    pub fn wear(&self) -> &Wear {
        &self.wear
    }

    /// Begins to read a page that was put. No transfer of it is under way.
    pub fn fetch(&mut self, page: PageId) {
        let place = self.places.of(page);
        self.under_way.insert(page.0, Step::Fetch(place));
        let buffer = self.buffer();
        self.slow.read(page.0, place, buffer);
    }

    /// Begins to read pages that were put, and that no thread waits for. No transfer of them is
    /// under way.
    pub fn fetch_ahead(&mut self, pages: &[PageId]) {
        let reads = pages.iter().map(|page| {
            let place = self.places.of(*page);
            self.under_way.insert(page.0, Step::Fetch(place));
            let buffer = self.spare.pop().unwrap_or_else(Buffer::zeroed);
            Read {
                ticket: page.0,
                place,
                buffer,
            }
        });
        let mut reads: Vec<_> = reads.collect();
        reads.sort_unstable_by_key(|read| read.place);
        self.slow.read_ahead(reads);
    }

    /// Tells that a thread waits for a page that is fetched ahead.
    pub fn promote(&mut self, page: PageId) {
        self.slow.promote(page.0);
    }

    /// Begins to write a page. No transfer of it is under way.
    pub fn put(&mut self, page: PageId, contents: &Contents) {
        let place = self.places.choose(page);
        let written = self.form(place).is_some();
        if self.compares && written && self.slow.holds(place).is_none() {
            let mut new = self.buffer();
            new.0 = *contents;
            self.under_way.insert(page.0, Step::Compare(place, new));
            let buffer = self.buffer();
            return self.slow.read(page.0, place, buffer);
        }
        let old = self.slow.holds(place).copied();
        let buffer = self.buffer();
        self.lay(page, place, contents, old, buffer);
    }

    /// Returns the end of a transfer, each once.
    pub fn ended(&mut self) -> Option<Ended> {
        loop {
            let Done {
                ticket,
                buffer,
                result,
            } = self.slow.done()?;
            let page = PageId(ticket);
            match self.under_way.remove(&ticket)? {
                Step::Fetch(place) => return Some(self.fetched(page, place, buffer, result)),
                Step::Compare(place, new) => match result {
                    Ok(()) => {
                        let old = Some(buffer.0);
                        self.lay(page, place, &new.0, old, buffer);
                        self.give_back(new);
                    }
                    // The old contents cannot be read: there is nothing to compare, so the page
                    // stays in DRAM.
                    Err(_) => {
                        self.give_back(buffer);
                        self.give_back(new);
                        return Some(Ended::Unwritten(page));
                    }
                },
                Step::Put(laid) => {
                    self.give_back(buffer);
                    return Some(self.ended_put(page, &laid, &result));
                }
            }
        }
    }

    /// Returns what may be done until another transfer ends.
    pub fn wait(&self) -> Wait {
        self.slow.wait()
    }

    /// Gives a buffer back that [`Ended::Fetched`] came with.
    pub fn give_back(&mut self, buffer: Box<Buffer>) {
        self.spare.push(buffer);
    }

    /// Forgets a page without a transfer under way.
    pub fn forget(&mut self, page: PageId) {
        self.places.forget(page);
    }

    fn buffer(&mut self) -> Box<Buffer> {
        self.spare.pop().unwrap_or_else(Buffer::zeroed)
    }

    fn form(&mut self, place: u32) -> &mut Option<(Form, Turn)> {
        let at = place as usize;
        if self.forms.len() <= at {
            self.forms.resize(at + 1, None);
        }
        &mut self.forms[at]
    }

    /// Lays a page down in the scheme's form, and begins to write it.
    fn lay(
        &mut self,
        page: PageId,
        at: u32,
        contents: &Contents,
        old: Option<Contents>,
        mut buffer: Box<Buffer>,
    ) {
        let mut place = Place::holding(old.unwrap_or([0; size_of::<Contents>()]));
        (place.form, place.turn) = self.form(at).unwrap_or((place.form, place.turn));
        let written = self.scheme.coder.write(contents, &mut place);
        // Of what the place holds nothing may be known: then all of a page is written, whatever a
        // scheme would leave as it is.
        let lines = match (old, place.form) {
            (None, Form::Plain | Form::Flipped(_)) => u64::MAX,
            (None, Form::Coded | Form::CodedBy(_)) => place.turn.lines(),
            (Some(_), _) => written.which,
        };
        buffer.0 = place.bytes;
        let laid = Laid {
            place: at,
            form: (place.form, place.turn),
            written,
            lines,
        };
        self.under_way.insert(page.0, Step::Put(laid));
        self.slow.write(page.0, at, Write { buffer, lines });
    }

    fn fetched(
        &mut self,
        page: PageId,
        at: u32,
        mut buffer: Box<Buffer>,
        result: io::Result<()>,
    ) -> Ended {
        if result.is_err() {
            self.give_back(buffer);
            return Ended::Unread(page);
        }
        let form = *self.form(at);
        if let Some((form @ (Form::Coded | Form::CodedBy(_) | Form::Flipped(_)), turn)) = form {
            let bytes = buffer.0;
            let place = Place { bytes, form, turn };
            self.scheme.coder.read(&place, &mut buffer.0);
        }
        Ended::Fetched(page, buffer)
    }

    fn ended_put(&mut self, page: PageId, laid: &Laid, result: &io::Result<()>) -> Ended {
        if result.is_err() {
            return Ended::Unwritten(page);
        }
        *self.form(laid.place) = Some(laid.form);
        self.places.settle(page, laid.place);
        self.written += laid.written;
        self.wear.wrote(laid.place, laid.lines);
        Ended::Put(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, VecDeque};
    use terrace_policy::write::{LINE_BYTES, Spec};

    /// A memory that ends every transfer at once. What it holds at first is unknown, and only lines
    /// that are to be written are.
    #[derive(Default)]
    struct Used {
        places: HashMap<u32, Contents>,
        done: VecDeque<(u32, Box<Buffer>)>,
    }

    impl Used {
        fn place(&mut self, place: u32) -> &mut Contents {
            self.places
                .entry(place)
                .or_insert([0xEE; size_of::<Contents>()])
        }
    }

    impl Slow for Used {
        fn read(&mut self, ticket: u32, place: u32, mut buffer: Box<Buffer>) {
            buffer.0 = *self.place(place);
            self.done.push_back((ticket, buffer));
        }

        fn write(&mut self, ticket: u32, place: u32, write: Write) {
            let held = self.place(place).chunks_mut(LINE_BYTES);
            for (at, (old, new)) in held.zip(write.buffer.0.chunks(LINE_BYTES)).enumerate() {
                if write.lines >> at & 1 == 1 {
                    old.copy_from_slice(new);
                }
            }
            self.done.push_back((ticket, write.buffer));
        }

        fn done(&mut self) -> Option<Done> {
            let (ticket, buffer) = self.done.pop_front()?;
            let result = Ok(());
            Some(Done {
                ticket,
                buffer,
                result,
            })
        }

        fn wait(&self) -> Wait {
            Wait::Idle
        }
    }

    /// Three lines of a place of 64 for each of 64 writes: each line is written three times, and on
    /// memory that compares at most as often.
    #[test]
    fn coded_pages_wear_all_lines_of_their_place_and_are_read_back() {
        for (spec, exact) in [("mfwr", true), ("mfwr+dcw", false)] {
            let scheme = Spec::parse(spec).unwrap().scheme().unwrap();
            let mut store = Store::new(Box::<Used>::default(), scheme);
            let page = PageId(3);
            for turn in 0..64_u8 {
                let mut contents = [7; size_of::<Contents>()];
                contents[100] = turn;
                store.put(page, &contents);
                assert!(matches!(store.ended(), Some(Ended::Put(_))));
                store.fetch(page);
                let Some(Ended::Fetched(_, buffer)) = store.ended() else {
                    panic!("{spec}: it was put")
                };
                assert!(buffer.0 == contents, "{spec} {turn}");
                store.give_back(buffer);
            }
            match exact {
                true => assert_eq!(store.wear().most(), 3, "{spec}"),
                false => assert!((1..=3).contains(&store.wear().most()), "{spec}"),
            }
        }
    }
}
