//! Pages in places of a slow memory, in the form that a write scheme gives them.

use std::io;

use rustc_hash::FxHashMap;
use terrace_policy::replacement::PageId;
use terrace_policy::write::{Contents, Form, LINE_BYTES, Place, Scheme, Written};

use crate::places::Places;
use crate::slow::{Buffer, Done, Slow, Wait, Write};
use crate::wear::Wear;

/// Lines of a page.
const LINES: u64 = (size_of::<Contents>() / LINE_BYTES) as u64;

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
    forms: Vec<Option<Form>>,
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
    form: Form,
    written: Written,
    lines: u64,
}

impl Store {
    pub fn new(slow: Box<dyn Slow>, scheme: Scheme) -> Self {
        Self {
            slow,
            compares: compares(&scheme),
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
                    // What cannot be compared is written as a whole by no scheme: the page stays.
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

    /// Forgets a page, of which no transfer is under way.
    pub fn forget(&mut self, page: PageId) {
        self.places.forget(page);
    }

    fn buffer(&mut self) -> Box<Buffer> {
        self.spare.pop().unwrap_or_else(Buffer::zeroed)
    }

    fn form(&mut self, place: u32) -> &mut Option<Form> {
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
        let mut place = Place {
            bytes: old.unwrap_or([0; size_of::<Contents>()]),
            form: self.form(at).unwrap_or(Form::Plain),
        };
        let written = self.scheme.coder.write(contents, &mut place);
        let lines = lines(old.as_ref(), &place, &written);
        buffer.0 = place.bytes;
        let laid = Laid {
            place: at,
            form: place.form,
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
        if let Some(form @ (Form::Coded | Form::CodedBy(_) | Form::Flipped(_))) = *self.form(at) {
            let bytes = buffer.0;
            let place = Place { bytes, form };
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

/// Returns the lines of a place that a scheme has written, a bit each: the first ones of a coded page, and
/// otherwise those that changed, in sectors if the scheme counts whole sectors; all where nothing is known of
/// what the place held.
fn lines(old: Option<&Contents>, place: &Place, written: &Written) -> u64 {
    let first = |lines: u64| u64::MAX.checked_shr((LINES - lines) as u32).unwrap_or(0);
    let (Some(old), false) = (old, written.lines == LINES) else {
        return first(if is_coded(place) { written.lines } else { LINES });
    };
    if is_coded(place) {
        return first(written.lines);
    }
    let (new, _) = place.bytes.as_chunks::<LINE_BYTES>();
    let (old, _) = old.as_chunks::<LINE_BYTES>();
    let pairs = new.iter().zip(old).enumerate();
    let changed = pairs.fold(0, |bits, (at, (new, old))| {
        bits | u64::from(new != old) << at
    });
    let sectors = changed
        .to_le_bytes()
        .map(|lines| if lines == 0 { 0 } else { u8::MAX });
    let sectors = u64::from_le_bytes(sectors);
    match u64::from(sectors.count_ones()) == written.lines {
        true => sectors,
        false => changed,
    }
}

/// Whether a page in a place is coded: its first lines were written.
fn is_coded(place: &Place) -> bool {
    matches!(place.form, Form::Coded | Form::CodedBy(_))
}

/// Whether a scheme looks at what a place holds: whether it writes a page that is there already otherwise
/// than where every bit differs.
fn compares(scheme: &Scheme) -> bool {
    let counted: Contents = std::array::from_fn(|at| (at * at / 7) as u8);
    let written =
        |page: &Contents, held: Contents| scheme.coder.write(page, &mut Place::holding(held));
    let differs = |page: &Contents| written(page, *page) != written(page, page.map(|byte| !byte));
    differs(&counted) || differs(&[0; size_of::<Contents>()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_policy::write::Spec;

    fn scheme(spec: &str) -> Scheme {
        Spec::parse(spec).unwrap().scheme().unwrap()
    }

    #[test]
    fn schemes_are_known_to_compare() {
        for spec in ["lines", "sectors", "dcw", "flip-n-write"] {
            assert!(compares(&scheme(spec)), "{spec}");
        }
        for spec in [
            "page",
            "inclusive",
            "mfwr",
            "mfwr:words=3,word=8",
            "same-filled",
        ] {
            assert!(!compares(&scheme(spec)), "{spec}");
        }
    }

    #[test]
    fn lines_are_those_that_the_scheme_wrote() {
        let old = [0; size_of::<Contents>()];
        let mut page = old;
        (page[100], page[1000]) = (1, 1);
        let lines_of = |spec: &str, page: &Contents| {
            let mut place = Place::holding(old);
            let written = scheme(spec).coder.write(page, &mut place);
            lines(Some(&old), &place, &written)
        };
        assert_eq!(lines_of("inclusive", &page), u64::MAX);
        assert_eq!(lines_of("lines", &page), 1 << 1 | 1 << 15);
        assert_eq!(lines_of("dcw", &page), 1 << 1 | 1 << 15);
        assert_eq!(lines_of("sectors", &page), 0xFFFF);
        // Most words are equal: 4 bytes, the map of 128, and 2 words.
        assert_eq!(lines_of("mfwr", &page), 0b111);
        assert_eq!(lines_of("lines", &old), 0);
    }
}
