//! Part of a trace, or a coarser view of it.

use terrace_recorder::level::pieces;

use crate::access::{Access, Block};
use crate::discard::Discard;
use crate::order::Order;
use crate::rest::rest;
use crate::source::{Source, made};

pub use terrace_recorder::level::Level;

/// A selection of accesses of a trace, and how they are joined.
///
/// An access that crosses into another line or page is cut there. The row of a run has the address,
/// size, instruction and ip of its first access, and is a write if any was. Rows come in the order
/// in which runs end, which within a thread is that in which they began. Only the first rows of all
/// threads, as they are, keep what they changed in their pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Number of first accesses to leave out.
    pub skip: u64,
    /// The only thread to keep, if any.
    pub thread: Option<u16>,
    /// Unit of a row.
    pub level: Level,
    /// Largest number of rows, if there is a limit.
    pub limit: Option<u64>,
}

impl Selection {
    /// Returns the selected part of `source`, with all columns.
    pub fn of(self, source: Box<dyn Source>) -> Box<dyn Source> {
        let mut source = match self.skip {
            0 => source,
            skip => rest(source, skip),
        };
        let mut meta = source.meta().clone();
        let whole = self.thread.is_none() && self.level == Level::Accesses;
        let rows = meta.accesses.filter(|_| whole);
        meta.accesses = rows.map(|rows| rows.min(self.limit.unwrap_or(rows)));
        meta.has_contents &= whole;
        meta.tells_zeros &= whole;
        // The rows of allocations are those of the whole trace.
        if !whole || self.skip > 0 || self.limit.is_some() {
            meta.allocations = None;
            meta.digest = None;
        }
        let mut note = |key: &str, value: String| meta.about.push((key.into(), value));
        if let Some(thread) = self.thread {
            note("only-thread", thread.to_string());
        }
        if self.level != Level::Accesses {
            note("level", self.level.name().into());
        }
        let mut left = self.limit.unwrap_or(u64::MAX);
        let (mut input, mut runs) = (Block::default(), Runs::default());
        let (mut late, mut late_orders) = (Vec::new(), Vec::new());
        made(meta, move |block| {
            block.clear();
            block.discards.append(&mut late);
            block.orders.append(&mut late_orders);
            while block.is_empty() && left > 0 {
                if whole {
                    source.read(block)?;
                    break;
                }
                if !source.next_block(&mut input)? {
                    runs.end(block);
                    break;
                }
                self.select(&input, &mut runs, block);
            }
            if !whole {
                late = block.take_late_discards();
                late_orders = block.take_late_orders();
            }
            if let Ok(left) = usize::try_from(left) {
                block.truncate(left);
            }
            left -= block.len() as u64;
            Ok(())
        })
    }

    /// Appends the rows that `input` makes to `block`.
    fn select(self, input: &Block, runs: &mut Runs, block: &mut Block) {
        let mut discards = input.discards.iter().peekable();
        let mut orders = input.orders.iter().peekable();
        for (row, access) in (0..).zip(input.iter()) {
            while let Some(discard) = discards.next_if(|discard| discard.row == row) {
                // A page that is touched, given back and touched again is two rows.
                runs.end(block);
                let row = block.len() as u64;
                block.discards.push(Discard { row, ..*discard });
            }
            while let Some(order) = orders.next_if(|order| order.row == row) {
                runs.end(block);
                let row = block.len() as u64;
                block.orders.push(Order { row, ..*order });
            }
            if self.thread.is_some_and(|thread| thread != access.thread) {
                continue;
            }
            match self.level.shift() {
                0 => block.push(access),
                shift => pieces(access.address, access.size, shift, |address, size| {
                    let piece = Access {
                        address,
                        size,
                        ..access
                    };
                    runs.join(piece, shift, block);
                }),
            }
        }
    }
}

/// Row of the current run, by thread.
#[derive(Debug, Default)]
struct Runs(Vec<Option<Access>>);

impl Runs {
    /// Adds `piece`, which lies in one unit of 2^`shift` bytes. A run that it ends goes to `block`.
    fn join(&mut self, piece: Access, shift: u32, block: &mut Block) {
        let thread = usize::from(piece.thread);
        if thread >= self.0.len() {
            self.0.resize(thread + 1, None);
        }
        match &mut self.0[thread] {
            Some(run) if run.address >> shift == piece.address >> shift => run.write |= piece.write,
            run => {
                if let Some(ended) = run.replace(piece) {
                    block.push(ended);
                }
            }
        }
    }

    /// Ends all runs.
    fn end(&mut self, block: &mut Block) {
        self.0.drain(..).flatten().for_each(|run| block.push(run));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::Meta;
    use crate::testing::{accesses, listed};

    fn access(thread: u16, address: u64, size: u32, write: bool) -> Access {
        Access {
            thread,
            address,
            size,
            write,
            ..Access::default()
        }
    }

    fn at(level: Level) -> Selection {
        Selection {
            level,
            ..Selection::default()
        }
    }

    #[test]
    fn runs_by_hand() {
        let trace = vec![
            access(0, 0, 8, false),
            access(1, 0, 8, true),
            access(0, 56, 16, true),
            access(0, 72, 8, false),
            access(0, 8, 8, false),
        ];
        let lines = accesses(at(Level::Lines).of(listed(trace.clone())));
        let expected = [
            access(0, 0, 8, true),
            access(0, 64, 8, true),
            access(0, 8, 8, false),
            access(1, 0, 8, true),
        ];
        assert_eq!(lines, expected);
        let pages = accesses(at(Level::Pages).of(listed(trace)));
        assert_eq!(pages, [access(0, 0, 8, true), access(1, 0, 8, true)]);
    }

    #[test]
    fn an_access_at_the_end_of_memory_is_cut() {
        let trace = vec![access(0, u64::MAX - 3, 100, true)];
        let rows = accesses(at(Level::Lines).of(listed(trace)));
        assert_eq!(rows, [access(0, u64::MAX - 3, 4, true)]);
    }

    /// The rows of one thread, from the list of all its touched units.
    fn twin(trace: &[Access], thread: u16, unit: u64) -> Vec<Access> {
        let mut bytes = Vec::new();
        for access in trace.iter().filter(|a| a.thread == thread) {
            let last = access.address + u64::from(access.size.max(1)) - 1;
            for number in access.address / unit..=last / unit {
                let from = access.address.max(number * unit);
                let to = (last + 1).min((number + 1) * unit);
                let size = access.size.min((to - from) as u32);
                let (address, size) = (from, size);
                bytes.push((
                    number,
                    Access {
                        address,
                        size,
                        ..*access
                    },
                ));
            }
        }
        let runs = bytes.chunk_by(|a, b| a.0 == b.0);
        runs.map(|run| Access {
            write: run.iter().any(|(_, piece)| piece.write),
            ..run[0].1
        })
        .collect()
    }

    prop_compose! {
        fn any_access()(
            thread in 0u16..3,
            page in 0u64..3,
            offset in prop_oneof![0u64..200, 4000u64..4100],
            size in prop_oneof![0u32..9, 0u32..5000],
            write in prop::bool::weighted(0.2),
        ) -> Access {
            access(thread, page * 4096 + offset, size, write)
        }
    }

    proptest! {
        #[test]
        fn each_thread_has_its_runs(trace in prop::collection::vec(any_access(), 0..100)) {
            for (level, unit) in [(Level::Lines, 64), (Level::Pages, 4096)] {
                let rows = accesses(at(level).of(listed(trace.clone())));
                for thread in 0..3 {
                    let own: Vec<_> = rows.iter().filter(|a| a.thread == thread).copied().collect();
                    prop_assert_eq!(&own, &twin(&trace, thread, unit));
                    let only = Selection { thread: Some(thread), ..at(level) };
                    prop_assert_eq!(&accesses(only.of(listed(trace.clone()))), &own);
                }
            }
        }

        #[test]
        fn a_limit_cuts_the_end_off(
            trace in prop::collection::vec(any_access(), 0..100),
            limit in 0u64..120,
        ) {
            for level in Level::ALL {
                let all = accesses(at(level).of(listed(trace.clone())));
                let limited = Selection { limit: Some(limit), ..at(level) };
                let rows = accesses(limited.of(listed(trace.clone())));
                prop_assert_eq!(&rows, &all[..all.len().min(limit as usize)]);
            }
        }
    }

    /// A page that is given back between two touches is two runs, and the discard lies between
    /// them, whatever block they are in.
    #[test]
    fn a_run_ends_where_memory_is_given_back() {
        let trace = [0, 8, 16, 4096, 24].map(|address| access(0, address, 8, false));
        let discard = |row, pages| Discard {
            row,
            process: 0,
            page: 0,
            pages,
        };
        let kept = |discards: Vec<Discard>, selection: Selection| {
            let mut input = Some((trace, discards));
            let source = made(Meta::default(), move |block| {
                block.clear();
                if let Some((trace, discards)) = input.take() {
                    trace.into_iter().for_each(|access| block.push(access));
                    block.discards = discards;
                }
                Ok(())
            });
            let (mut source, mut block) = (selection.of(source), Block::default());
            let (mut rows, mut kept) = (0, Vec::new());
            while source.next_block(&mut block).unwrap() {
                kept.extend(block.discards.iter().map(|one| (rows + one.row, one.pages)));
                rows += block.len() as u64;
            }
            (rows, kept)
        };
        let discards = || vec![discard(0, 9), discard(2, 8), discard(4, 7)];
        let all = |selection| kept(discards(), selection);
        assert_eq!(all(Selection::default()), (5, vec![(0, 9), (2, 8), (4, 7)]));
        assert_eq!(all(at(Level::Pages)), (4, vec![(0, 9), (1, 8), (3, 7)]));
        let skip = |skip| Selection {
            skip,
            ..Selection::default()
        };
        assert_eq!(all(skip(3)), (2, vec![(1, 7)]));
        let limit = |limit| Selection {
            limit: Some(limit),
            ..at(Level::Pages)
        };
        assert_eq!(all(limit(1)), (1, vec![(0, 9)]));
    }

    #[test]
    fn what_is_known_beforehand_stays_true() {
        let of = |selection: Selection| {
            let source = selection.of(listed(vec![Access::default(); 10]));
            (source.meta().accesses, source.meta().about.clone())
        };
        let limit = |limit| Selection {
            limit: Some(limit),
            ..Selection::default()
        };
        assert_eq!(of(Selection::default()), (Some(10), vec![]));
        assert_eq!(of(limit(3)).0, Some(3));
        assert_eq!(of(limit(30)).0, Some(10));
        let skip = Selection {
            skip: 4,
            ..limit(7)
        };
        assert_eq!(of(skip), (Some(6), vec![("skipped".into(), "4".into())]));
        let level = ("level".to_owned(), "lines".to_owned());
        assert_eq!(of(at(Level::Lines)), (None, vec![level]));
    }
}
