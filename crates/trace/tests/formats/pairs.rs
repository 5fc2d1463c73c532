//! Between any two formats: what a format keeps is equal, and what it does not keep is counted.

use std::path::Path;

use proptest::prelude::*;
use terrace_trace::lost::Kind;
use terrace_trace::{Access, Block, Columns, Format, create_as, open_as};

use crate::common::{sound, write};

/// Pages of an access, each as the part of it that lies there.
fn parts(access: &Access) -> Vec<Access> {
    let last = access
        .address
        .saturating_add(u64::from(access.size.max(1)) - 1);
    let pages = access.address / 4096..=last / 4096;
    let part = |page: u64| Access {
        address: access.address.max(page * 4096),
        ..*access
    };
    pages.map(part).collect()
}

/// Copies a trace into another format. Returns what was read, and what was counted as lost.
fn convert(
    from: &Path,
    format: Format,
    to: &Path,
    into: Format,
) -> (Vec<Access>, Vec<(Kind, u64)>) {
    let mut source = open_as(from, format, Columns::ALL).unwrap();
    let mut sink = create_as(to, into, &source.meta().about.clone()).unwrap();
    let (mut read, mut block) = (Vec::new(), Block::default());
    while source.next_block(&mut block).unwrap() {
        read.extend(block.iter());
        sink.write(&block).unwrap();
    }
    let lost = sink.lost();
    sink.finish().unwrap();
    (
        read,
        lost.iter().map(|loss| (loss.kind, loss.count)).collect(),
    )
}

fn read(path: &Path, format: Format) -> Vec<Access> {
    let (mut source, mut block) = (
        open_as(path, format, Columns::ALL).unwrap(),
        Block::default(),
    );
    let mut all = Vec::new();
    while source.next_block(&mut block).unwrap() {
        all.extend(block.iter());
    }
    all
}

/// In how many accesses a property differs.
fn differ<T: PartialEq>(before: &[Access], after: &[Access], of: impl Fn(&Access) -> T) -> u64 {
    let pairs = before.iter().zip(after);
    pairs.filter(|(one, other)| of(one) != of(other)).count() as u64
}

/// The numbers of pages, in the order in which they first appear.
fn renumbered(accesses: &[Access]) -> Vec<usize> {
    let mut known = Vec::new();
    let number = |access: &Access| {
        let page = (access.process, access.address / 4096);
        let found = known.iter().position(|other| *other == page);
        found.unwrap_or_else(|| {
            known.push(page);
            known.len() - 1
        })
    };
    accesses.iter().map(number).collect()
}

prop_compose! {
    /// Accesses of one thread, as each format has room for; of page 0 a request would be at address
    /// 0, which means none to ChampSim.
    fn accesses()(
        steps in prop::collection::vec(
            (0u64..3, 4096u64..60_000, 0u64..3, 0u32..9000, any::<bool>()), 1..40),
        (process, thread) in (0u16..3, 0u16..3),
        counted: bool,
    ) -> Vec<Access> {
        let mut instruction = 0;
        let access = |&(step, address, ip, size, write): &(u64, u64, u64, u32, bool)| {
            instruction += if counted { step } else { 0 };
            Access { instruction, address, ip, process, thread, size, write }
        };
        sound(steps.iter().map(access).collect())
    }
}

proptest! {
    // Each case writes some seventy files.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_is_not_equal_is_counted(accesses in accesses()) {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let written = || Format::ALL.iter().copied().filter(|format| format.is_written());
        write(directory.path(), "first.csv", &accesses, 7).unwrap();
        let csv = Format::parse("csv").unwrap();
        for one in written() {
            for other in written() {
                convert(&path("first.csv"), csv, &path("one"), one);
                let (before, there) = convert(&path("one"), one, &path("other"), other);
                let (after, _) = convert(&path("other"), other, &path("back"), one);
                let back = read(&path("back"), one);
                let lost = |kind| {
                    let found = there.iter().find(|(lost, _)| *lost == kind);
                    found.map_or(0, |(_, count)| *count)
                };
                let crossings = before.iter().filter(|access| parts(access).len() > 1).count();
                let before = match lost(Kind::Crossings) {
                    0 => before,
                    count => {
                        prop_assert_eq!(count, crossings as u64);
                        before.iter().flat_map(parts).collect()
                    }
                };
                prop_assert_eq!(before.len(), after.len(), "{} to {}", one, other);
                let what = format!("{one} to {other}: {before:?}, {after:?}");
                // All pages are there, in their order.
                prop_assert_eq!(renumbered(&before), renumbered(&after), "{}", what);
                let (before, after) = (&before[..], &after[..]);
                let offset = |access: &Access| access.address % 4096;
                for (kind, differing) in [
                    (Kind::Writes, differ(before, after, |it| it.write)),
                    (Kind::Bytes, differ(before, after, offset)),
                    (Kind::Threads, differ(before, after, |it| (it.process, it.thread))),
                    (Kind::Instructions, differ(before, after, |it| it.instruction)),
                    (Kind::Ips, differ(before, after, |it| it.ip)),
                ] {
                    let is_told = differing == 0 || lost(kind) > 0;
                    prop_assert!(is_told, "{:?} of {}", kind, what);
                    if lost(Kind::Crossings) == 0 && kind != Kind::Bytes {
                        prop_assert_eq!(differing, lost(kind), "{:?} of {}", kind, what);
                    }
                }
                if differ(before, after, |it| it.size) > 0 {
                    let counted = lost(Kind::Sizes) + lost(Kind::Bytes) + lost(Kind::Crossings);
                    prop_assert!(counted > 0, "{}", what);
                }
                // Back again nothing more is lost than there.
                let pages = |accesses: &[Access]| {
                    accesses.iter().flat_map(parts).collect::<Vec<_>>()
                };
                prop_assert_eq!(renumbered(&pages(after)), renumbered(&pages(&back)), "{}", what);
            }
        }
    }
}
