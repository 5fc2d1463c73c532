use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::access::Access;
use crate::testing::listed;

fn info(accesses: Vec<Access>) -> Info {
    Info::of(&mut *listed(accesses), |_| ()).unwrap()
}

/// The same by sets of everything, and the stack of pages.
fn twin(accesses: &[Access]) -> Info {
    let mut info = Info::default();
    let (mut lines, mut stack) = (BTreeSet::new(), Vec::new());
    let mut done = BTreeMap::new();
    for access in accesses {
        let bytes = u128::from(access.size.max(1));
        let first = u128::from(access.address);
        let last = (first + bytes - 1).min(u128::from(u64::MAX));
        lines.extend((first / 64..=last / 64).map(|line| (access.process, line)));
        for page in first / 4096..=last / 4096 {
            let page = (access.process, page);
            let depth = stack.iter().position(|p| *p == page);
            depth.map(|depth| stack.remove(depth));
            stack.insert(0, page);
            info.reuse.add(depth.map(|depth| depth as u32));
        }
        *info.sizes.entry(access.size).or_default() += 1;
        done.insert(access.thread, access.instruction + 1);
    }
    let unlike_zero = |ip: &u64| *ip != 0;
    let ips: BTreeSet<u64> = accesses.iter().map(|a| a.ip).filter(unlike_zero).collect();
    let processes: BTreeSet<u16> = accesses.iter().map(|a| a.process).collect();
    Info {
        accesses: accesses.len() as u64,
        writes: accesses.iter().filter(|a| a.write).count() as u64,
        lines: lines.len() as u64,
        pages: stack.len() as u64,
        processes: processes.len() as u64,
        threads: done.len() as u64,
        instructions: Some(done.values().sum()),
        ips: ips.len() as u64,
        ..info
    }
}

fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        // Around page borders, that runs and crossings come often.
        (0u64..40, -70i64..70).prop_map(|(page, off)| (page * 4096).saturating_add_signed(off)),
        any::<u64>(),
        (u64::MAX - 5000)..=u64::MAX,
    ]
}

prop_compose! {
    fn access()(
        address in address(),
        size in prop_oneof![0u32..70, 0u32..20_000],
        instruction in 0u64..1 << 40,
        ip in 0u64..5,
        process in 0u16..3,
        thread in 0u16..4,
        write: bool,
    ) -> Access {
        Access { instruction, address, ip, process, thread, size, write }
    }
}

proptest! {
    #[test]
    fn as_the_sets_have_it(accesses in prop::collection::vec(access(), 0..200)) {
        prop_assert_eq!(info(accesses.clone()), twin(&accesses));
    }
}

proptest! {
    /// The slow twin is a set of the pages that are there.
    #[test]
    fn what_is_given_back_is_counted_once(
        steps in prop::collection::vec((0u16..2, 0u64..100, prop::option::weighted(0.2, 1u64..60)), 1..300),
        whole in 0usize..300,
    ) {
        let (mut block, mut there) = (Block::default(), BTreeSet::new());
        let mut slow = Discarded::default();
        for (step, (process, page, given_back)) in steps.into_iter().enumerate() {
            if let Some(pages) = given_back {
                let pages = if step == whole { 1 << 36 } else { pages };
                let row = block.len() as u64;
                block.discards.push(Discard { row, process, page, pages });
                slow.times += 1;
                let before = there.len();
                let own = |at: &(u16, u64)| at.0 == process && (page..page + pages).contains(&at.1);
                there.retain(|at| !own(at));
                slow.pages += (before - there.len()) as u64;
            }
            block.push(Access { process, address: page * 4096, size: 8, ..Access::default() });
            there.insert((process, page));
            slow.most_at_once = slow.most_at_once.max(there.len() as u64);
        }
        let mut gathering = Gathering::default();
        gathering.add(&block);
        let info = gathering.finish(false);
        prop_assert_eq!(info.discarded, (slow.times > 0).then_some(slow));
    }
}

#[test]
fn an_access_across_pages_touches_both() {
    let access = |address, size| Access {
        address,
        size,
        ..Access::default()
    };
    let info = info(vec![access(4090, 8), access(4090, 6), access(4096, 1)]);
    assert_eq!((info.accesses, info.pages, info.lines), (3, 2, 2));
    assert_eq!((info.reuse.cold, info.reuse.touches()), (2, 4));
    assert_eq!(info.reuse.distances, [0, 2]);
}

/// More pages than are followed up together, twice over.
#[test]
fn one_access_may_touch_many_pages() {
    let access = Access {
        size: 10_000 * 4096,
        ..Access::default()
    };
    let info = info(vec![access, access]);
    assert_eq!(
        (info.accesses, info.pages, info.lines),
        (2, 10_000, 640_000)
    );
    assert_eq!((info.reuse.cold, info.reuse.touches()), (10_000, 20_000));
    assert_eq!(info.reuse.distances[9999], 10_000);
}

/// Columns that the format does not have are empty.
#[test]
fn addresses_alone_will_do() {
    let block = Block {
        address: vec![0, 64, 1 << 40],
        write: vec![false, true, false],
        ..Block::default()
    };
    let mut gathering = Gathering::default();
    gathering.add(&block);
    let info = gathering.finish(false);
    assert_eq!((info.accesses, info.writes, info.pages), (3, 1, 2));
    assert_eq!((info.processes, info.threads, info.ips), (1, 1, 0));
    assert_eq!(info.instructions, None);
    assert_eq!(info.sizes, BTreeMap::new());
}
