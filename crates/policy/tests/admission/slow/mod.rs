//! Each policy once more, slow and obviously right: plain lists of all that was ever told.

use std::collections::HashMap;
use std::time::Duration;

use terrace_policy::admission::{Admission, Answer, MOST, Machine, Request};
use terrace_policy::params::Params;

/// Makes a twin.
type Twin = fn(&Machine, &mut Params) -> Box<dyn Admission>;

/// The twin of every policy, by its name in the registry, and the settings that are tried.
pub const TWINS: &[(&str, Twin, &[&str])] = &[
    ("all", |_, _| Box::new(All), &[""]),
    (
        "size",
        |_, params| Box::new(Size(number(params, "most", 16.0 * 1024.0 * 1024.0))),
        &["", "most=4096"],
    ),
    (
        "second-read",
        |machine, params| {
            let most = (number(params, "ghosts", 1.0) * machine.flash as f64) as usize;
            let most = most.max(1);
            let seen = Vec::new();
            Box::new(SecondRead { most, seen })
        },
        &["", "ghosts=0", "ghosts=0.3"],
    ),
    (
        "sketch",
        |machine, params| {
            let reads = number(params, "reads", 2.0) as u8;
            let counts = Counts::new(machine, params);
            Box::new(Sketch { reads, counts })
        },
        &["", "reads=1", "reads=3,sample=64", "sample=0.5"],
    ),
    (
        "write-budget",
        |machine, params| {
            let a_day = number(params, "bytes-per-day", 0.0);
            let counts = Counts::new(machine, params);
            let log = Vec::new();
            Box::new(WriteBudget { a_day, counts, log })
        },
        // Some bytes a second, and some hundred.
        &[
            "bytes-per-day=864000,sample=64",
            "bytes-per-day=43200000,sample=3",
        ],
    ),
    (
        "sequential",
        |machine, params| {
            let pages = number(params, "pages", 1024.0) as u64;
            let streams = number(params, "streams", 64.0) as usize;
            let dram = machine.dram as usize;
            let (open, marked) = Default::default();
            Box::new(Sequential {
                pages,
                streams,
                dram,
                open,
                marked,
            })
        },
        &["", "pages=1", "pages=3,streams=2"],
    ),
];

/// Returns the number called `key`, or `default`.
fn number(params: &mut Params, key: &'static str, default: f64) -> f64 {
    params.take(key, "", default, 0.0..=1e18).unwrap()
}

fn admit_if(worth: bool, name: &'static str) -> Answer {
    if worth {
        Answer::Admit
    } else {
        Answer::Refuse(name)
    }
}

struct All;

impl Admission for All {
    fn wants(&self, _: &Request) -> Answer {
        Answer::Admit
    }
}

struct Size(f64);

impl Admission for Size {
    fn wants(&self, request: &Request) -> Answer {
        admit_if(request.size as f64 <= self.0, "size")
    }
}

struct SecondRead {
    most: usize,
    /// Missed pages, the last at the end, and whether each was known when it was missed.
    seen: Vec<(u64, bool)>,
}

impl SecondRead {
    fn take(&mut self, page: u64) -> bool {
        let at = self.seen.iter().position(|(other, _)| *other == page);
        at.map(|at| self.seen.remove(at)).is_some()
    }
}

impl Admission for SecondRead {
    fn missed(&mut self, request: &Request) {
        let again = self.take(request.page);
        self.seen.push((request.page, again));
        if self.seen.len() > self.most {
            self.seen.remove(0);
        }
    }

    fn wants(&self, request: &Request) -> Answer {
        admit_if(self.seen.contains(&(request.page, true)), "second-read")
    }

    fn admitted(&mut self, request: &Request) {
        self.take(request.page);
    }
}

/// Exact counts of reads, which are halved one by one.
struct Counts {
    sample: u64,
    reads: u64,
    counts: HashMap<u64, u8>,
}

impl Counts {
    fn new(machine: &Machine, params: &mut Params) -> Self {
        let sample = (number(params, "sample", 1.0) * machine.flash as f64) as u64;
        Self {
            sample: sample.max(1),
            reads: 0,
            counts: HashMap::new(),
        }
    }

    fn count(&mut self, page: u64) {
        let count = self.counts.entry(page).or_default();
        *count = (*count + 1).min(MOST);
        self.reads += 1;
        if self.reads.is_multiple_of(self.sample) {
            self.counts.values_mut().for_each(|count| *count /= 2);
        }
    }

    fn of(&self, page: u64) -> u8 {
        self.counts.get(&page).copied().unwrap_or(0)
    }
}

struct Sketch {
    reads: u8,
    counts: Counts,
}

impl Admission for Sketch {
    fn missed(&mut self, request: &Request) {
        self.counts.count(request.page);
    }

    fn hit(&mut self, request: &Request) {
        self.counts.count(request.page);
    }

    fn wants(&self, request: &Request) -> Answer {
        admit_if(self.counts.of(request.page) >= self.reads, "sketch")
    }
}

struct WriteBudget {
    a_day: f64,
    counts: Counts,
    /// All writes.
    log: Vec<(u64, Duration)>,
}

impl WriteBudget {
    /// Returns what the bucket holds, from the first write on, in bytes by days of seconds.
    fn held(&self, time: Duration) -> u128 {
        let (a_day, day) = (self.a_day as i128, 86_400);
        let full = a_day * 3600;
        let (mut held, mut at) = (full, 0);
        let writes = self.log.iter().copied().chain([(0, time)]);
        for (bytes, time) in writes {
            let now = at.max(i128::from(time.as_secs()));
            held = (held + (now - at) * a_day).min(full) - i128::from(bytes) * day;
            at = now;
        }
        held.max(0) as u128
    }
}

impl Admission for WriteBudget {
    fn missed(&mut self, request: &Request) {
        self.counts.count(request.page);
    }

    fn hit(&mut self, request: &Request) {
        self.counts.count(request.page);
    }

    fn wants(&self, request: &Request) -> Answer {
        let (held, full) = (self.held(request.time), self.a_day as u128 * 3600);
        // The least whole number of fifteenths that what was spent fits into.
        let price = (0..=15).find(|part| (full - held) * 15 <= full * part);
        let price = price.unwrap_or(15).max(1);
        let paid = held >= 4096 * 86_400;
        let reads = u128::from(self.counts.of(request.page));
        admit_if(paid && reads >= price, "write-budget")
    }

    fn affords(&self, _: &Request) -> bool {
        false
    }

    fn wrote(&mut self, bytes: u64, time: Duration) {
        self.log.push((bytes, time));
    }
}

struct Sequential {
    pages: u64,
    streams: usize,
    dram: usize,
    /// Streams, page by page, the one that went on last at the end.
    open: Vec<Vec<u64>>,
    /// Pages read late in streams, the last at the end.
    marked: Vec<u64>,
}

impl Sequential {
    fn read(&mut self, page: u64) {
        let goes_on = |stream: &Vec<u64>| stream.last().map(|last| last + 1) == Some(page);
        let at = self.open.iter().rposition(goes_on);
        let mut stream = at.map_or_else(Vec::new, |at| self.open.remove(at));
        stream.push(page);
        self.marked.retain(|marked| *marked != page);
        if stream.len() as u64 > self.pages {
            self.marked.push(page);
        }
        self.open.push(stream);
        if self.open.len() > self.streams {
            self.open.remove(0);
        }
        if self.marked.len() > self.dram + 1 {
            self.marked.remove(0);
        }
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
        admit_if(!self.marked.contains(&request.page), "sequential")
    }

    fn admitted(&mut self, request: &Request) {
        self.marked.retain(|marked| *marked != request.page);
    }
}
