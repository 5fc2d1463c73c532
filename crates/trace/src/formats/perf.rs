//! Text of `perf script`, with addresses of data, and of `perf mem report -D`.
//!
//! ```text
//! redis 46572/46573 [002] 544966.882384:      10000 cpu/mem-loads/: 7ffdf1391b0c  10268100142 |OP
//! LOAD|LVL L1 hit|…
//! ```
//!
//! A sample is a line with the name of an event and a colon, and behind it the address of the data,
//! hexadecimal; `|OP LOAD` or `|OP STORE` says what it did, or else the name of the event. The
//! other form has a head:
//!
//! ```text
//! # PID, TID, IP, ADDR, LOCAL WEIGHT, DSRC, SYMBOL
//! 381 381 0xffffffff8102a9e3 0xffff88021f50e2c0 0 0x5080144 vmlinux:__switch_to
//! ```
//!
//! where bits 1 and 2 of DSRC say load and store. From linux's `tools/perf/builtin-script.c`,
//! `builtin-mem.c` and `include/uapi/linux/perf_event.h`.

use rustc_hash::FxHashMap;
use terrace_base::Result;

use crate::access::{Access, Block, Columns};
use crate::format::{Content, Declaration, Field, Format};
use crate::input::Input;
use crate::source::{Meta, Source};
use crate::stream::lines;
use crate::text;

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: "perf",
    help: "text of perf script, or of perf mem report -D, with addresses, only read",
    endings: &[".perf"],
    fields: &[
        Field::read(
            "addr",
            "the first byte of the data: the page of 4 KiB in which it lies is touched; samples \
             without one are left out and counted",
        ),
        Field::read(
            "data_src",
            "whether it loads or stores; where it does not say, the name of the event does, or it is \
             taken for a load and counted",
        ),
        Field::read(
            "pid",
            "the process; where it is not there, the name of the command",
        ),
        Field::read("tid", "the thread"),
        Field::unread("time", "seconds"),
        Field::unread("ip", "the address of the instruction"),
    ],
    example: "perf mem record ./program\n\
              perf script -F comm,pid,tid,time,event,addr,data_src > program.perf\n",
    content: Content::Text(plausible),
    open,
    create: None,
});

/// The beginning of the head of `perf mem report -D`.
const HEAD: &[u8] = b"# PID, TID, IP, ADDR";
/// Bits of a data source that say load and store.
const LOAD: u64 = 2;
const STORE: u64 = 4;

/// What is said of lines that are no samples.
const LEFT_OUT: &str = "lines are comments, empty, or frames of call chains, and were left out";
/// What is said of samples without an address.
const NOWHERE: &str = "samples have no address, and were left out";
/// What is said of samples that say neither load nor store.
const UNKNOWN: &str = "samples say neither load nor store, and were read as loads";

/// Returns whether `line` may be the first of such a text.
fn plausible(line: &[u8]) -> bool {
    line.starts_with(HEAD) || line.starts_with(b"# ========") || sample(line).is_some()
}

/// A sample.
#[derive(Debug, PartialEq, Eq)]
struct Sample<'a> {
    /// The number of the process, or else the name of its command.
    process: &'a [u8],
    thread: &'a [u8],
    address: u64,
    writes: Option<bool>,
}

fn open(input: Input, _: Columns) -> Result<Box<dyn Source>> {
    let like = "perf script's with an event and an address, like `a 7 1.5: mem-loads: 7ffd10 …` \
                (perf script -F comm,pid,tid,time,event,addr,data_src)";
    let meta = Meta::of(FORMAT, false);
    let tally = meta.tally.clone();
    // The place of the data source behind a head.
    let mut source = None;
    let (mut processes, mut threads) = (Numbers::default(), Numbers::default());
    let next = move |line: &[u8], block: &mut Block| {
        if line.starts_with(HEAD) {
            let mut names = line.split(|byte| *byte == b',');
            source = Some(names.position(|name| name.trim_ascii() == b"DSRC")?);
            return Some(());
        }
        if line.starts_with(b"#") || line.trim_ascii().is_empty() || is_frame(line) {
            tally.add(LEFT_OUT, 1);
            return Some(());
        }
        let sample = match source {
            Some(source) => raw(line, source)?,
            None => sample(line)?,
        };
        if sample.address == 0 {
            tally.add(NOWHERE, 1);
            return Some(());
        }
        tally.add(UNKNOWN, u64::from(sample.writes.is_none()));
        block.push(Access {
            address: sample.address,
            process: processes.of(sample.process),
            thread: threads.of(sample.thread),
            write: sample.writes.unwrap_or(false),
            ..Access::default()
        });
        Some(())
    };
    Ok(lines(meta, input, like, next))
}

/// Numbers in the order of appearance; from 65535 on they are one.
#[derive(Default)]
struct Numbers(FxHashMap<Box<[u8]>, u16>);

impl Numbers {
    fn of(&mut self, name: &[u8]) -> u16 {
        if let Some(number) = self.0.get(name) {
            return *number;
        }
        let number = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        self.0.insert(name.into(), number);
        number
    }
}

/// Returns the parts of a line between blanks.
fn parts(line: &[u8]) -> Vec<&[u8]> {
    let parts = line.split(u8::is_ascii_whitespace);
    parts.filter(|part| !part.is_empty()).collect()
}

fn is_decimal(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(u8::is_ascii_digit)
}

/// Whether a part is seconds and a colon.
fn is_time(part: &[u8]) -> bool {
    let seconds = part.strip_suffix(b":").unwrap_or_default();
    let mut halves = seconds.split(|byte| *byte == b'.');
    let all = [halves.next(), halves.next(), halves.next()];
    matches!(all, [Some(a), Some(b), None] if is_decimal(a) && is_decimal(b))
}

/// Whether a line is a frame of a call chain: an address and a name, behind blanks.
fn is_frame(line: &[u8]) -> bool {
    let parts = parts(line);
    let address = parts.first().and_then(|part| text::number(part, 16));
    line.starts_with(b"\t") && address.is_some() && !parts.iter().any(|part| part.ends_with(b":"))
}

/// Parses a sample of `perf script`.
fn sample(line: &[u8]) -> Option<Sample<'_>> {
    let parts = parts(line);
    let time = parts.iter().position(|part| is_time(part));
    let behind = time.map_or(0, |time| time + 1);
    let event = parts[behind..]
        .iter()
        .position(|part| part.ends_with(b":"))?
        + behind;
    let (address, rest) = parts[event + 1..].split_first()?;
    let address = text::number(address, 16)?;
    let operation = rest.iter().position(|part| *part == b"|OP");
    // The only number of a line without data is the address of the instruction.
    let is_number = |part: &&[u8]| part.len() > 3 && text::number(part, 16).is_some();
    if operation.is_none() && !rest.first().is_some_and(is_number) {
        return None;
    }
    let name = parts[event].to_ascii_lowercase();
    let does = match operation {
        Some(at) => rest.get(at + 1).map_or(Vec::new(), |what| {
            let what = what.split(|byte| *byte == b'|').next();
            what.unwrap_or_default().to_ascii_lowercase()
        }),
        None => name,
    };
    let says = |what: &[u8]| does.windows(what.len()).any(|part| part == what);
    let writes = match (says(b"store"), says(b"load")) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let (process, thread) = owner(line, &parts, time, event);
    Some(Sample {
        process,
        thread,
        address,
        writes,
    })
}

/// Returns the process and the thread of a sample, as far as they are there.
fn owner<'a>(
    line: &'a [u8],
    parts: &[&'a [u8]],
    time: Option<usize>,
    event: usize,
) -> (&'a [u8], &'a [u8]) {
    let before = &parts[..time.unwrap_or(event)];
    let is_id = |part: &&&[u8]| part.split(|byte| *byte == b'/').all(is_decimal);
    let Some(at) = before.iter().rposition(|part| is_id(&part)) else {
        return (before.first().copied().unwrap_or_default(), b"");
    };
    // Without a time, the number before the event may be its period.
    let at = match time {
        None if at > 0 && is_id(&&before[at - 1]) => at - 1,
        _ => at,
    };
    let id = parts[at];
    match id.iter().position(|byte| *byte == b'/') {
        Some(slash) => (&id[..slash], &id[slash + 1..]),
        None => {
            // What stands before the thread is the name of the command.
            let end = id.as_ptr() as usize - line.as_ptr() as usize;
            (line[..end].trim_ascii(), id)
        }
    }
}

/// Parses a sample of `perf mem report -D`, whose data source is the part at `source`.
fn raw(line: &[u8], source: usize) -> Option<Sample<'_>> {
    let line = line.trim_ascii();
    let separator = line.iter().find(|byte| !byte.is_ascii_digit())?;
    let parts: Vec<&[u8]> = match separator.is_ascii_whitespace() {
        true => parts(line),
        false => line.split(|byte| byte == separator).collect(),
    };
    let [process, thread, _, address, ..] = parts[..] else {
        return None;
    };
    let data = text::either(parts.get(source)?.trim_ascii())?;
    let is_known = data & (LOAD | STORE) != 0;
    (is_decimal(process) && is_decimal(thread.trim_ascii())).then_some(())?;
    Some(Sample {
        process,
        thread,
        address: text::either(address.trim_ascii())?,
        writes: is_known.then_some(data & STORE != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_perf_script() {
        let of = |line: &'static str| {
            let sample = sample(line.as_bytes())?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (process, thread) = (text(sample.process), text(sample.thread));
            Some((process, thread, sample.address, sample.writes))
        };
        let expected = |process: &str, thread: &str, address: u64, writes: Option<bool>| {
            Some((process.to_owned(), thread.to_owned(), address, writes))
        };
        for (line, found) in [
            (
                "chromium-browse   46572 [002] 544966.882384:      10000 \tcpu_core/LATENCY/: \
                 7ffdf1391b0c     10268100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|\
                 BLK    N/A    5   7    0   7fad7c47425d [unknown] (/usr/lib64/libglib-2.0.so)",
                expected("chromium-browse", "46572", 0x7ffd_f139_1b0c, Some(false)),
            ),
            (
                "my app 12/13 1.5: cpu/mem-stores/P: ffff8880 5080144 |OP STORE|LVL L1 hit|",
                expected("12", "13", 0xffff_8880, Some(true)),
            ),
            (
                "a 7 1.5: 1 cpu/mem-stores/: 1000 55d0aa main (/bin/a)",
                expected("a", "7", 0x1000, Some(true)),
            ),
            (
                "a 7 100 page-faults: 7f001000 55d0aa main",
                expected("a", "7", 0x7f00_1000, None),
            ),
            (
                "a 7 1.5: mem-loads: 0 5080144 |OP N/A|LVL N/A|",
                expected("a", "7", 0, None),
            ),
            ("a 7 1.5: 1 cycles: 55d0aa main (/bin/a)", None),
            ("a 7 1.5: 1 cycles:", None),
            ("timestamp,key,size", None),
            ("", None),
        ] {
            assert_eq!(of(line), found, "{line}");
        }
    }
}
