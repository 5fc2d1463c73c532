//! Checks of traces of any format: instructions of a thread do not go back, and those of all are
//! less than 2^64; an access is no
//! larger than real accesses are unless it is a request for an object, and there is an access. Only
//! a trace that says beforehand that it is empty may be empty, as the native trace of a program
//! without any access to record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustc_hash::FxBuildHasher;
use terrace_base::{Bytes, Error, Result};

use crate::access::Block;
use crate::objects::Objects;
use crate::source::{Meta, Source, made};

/// The largest access that is read: far beyond what an instruction touches (the state of a
/// processor is some 11 KiB), as large as requests for blocks of a disk, and few enough pages that
/// a damaged size makes no pass endless.
pub const LARGEST: Bytes = Bytes(1 << 20);

/// Threads beyond the last number share it, see [`crate::record`].
const SHARED: u16 = u16::MAX;

/// Returns the same trace with this metadata, checked while it is read.
pub(crate) fn sound(path: &Path, mut source: Box<dyn Source>, meta: Meta) -> Box<dyn Source> {
    let mut sound = Sound {
        may_be_empty: meta.accesses == Some(0),
        has_objects: meta.objects != Objects::None,
        counts_instructions: meta.counts_instructions,
        path: path.to_owned(),
        accesses: 0,
        executed: HashMap::default(),
        all: 0,
    };
    made(meta, move |block| {
        source.read(block)?;
        sound.check(block)
    })
}

struct Sound {
    path: PathBuf,
    /// Whether the trace may have no access.
    may_be_empty: bool,
    /// Whether a size is that of an object, which may be anything.
    has_objects: bool,
    /// Whether instructions are counted; otherwise they are 0 throughout.
    counts_instructions: bool,
    /// Accesses of the blocks before.
    accesses: u64,
    /// By process and thread: the instruction of its last access.
    executed: HashMap<(u16, u16), u64, FxBuildHasher>,
    /// Instructions of all threads up to their last accesses.
    all: u64,
}

impl Sound {
    fn check(&mut self, block: &Block) -> Result<()> {
        self.check_any(block)?;
        self.check_sizes(block)?;
        if self.counts_instructions {
            self.check_instructions(block)?;
        }
        self.accesses += block.len() as u64;
        Ok(())
    }

    fn check_any(&self, block: &Block) -> Result<()> {
        if self.may_be_empty || self.accesses > 0 || !block.is_empty() {
            return Ok(());
        }
        let path = self.path.display();
        Err(Error::failure(format!("there is no access in `{path}`")))
    }

    fn check_sizes(&self, block: &Block) -> Result<()> {
        if self.has_objects {
            return Ok(());
        }
        // None is larger than all their bits, which are found faster than the largest.
        let bits = block.size.iter().fold(0, |bits, size| bits | size);
        if u64::from(bits) <= LARGEST.0 {
            return Ok(());
        }
        let largest = block.size.iter().max().copied().unwrap_or(0);
        if u64::from(largest) <= LARGEST.0 {
            return Ok(());
        }
        let index = block.size.iter().position(|size| *size == largest);
        Err(self.wrong(
            index.unwrap_or(0),
            &format!("it touches {largest} bytes at once, and the most that is read is {LARGEST}"),
        ))
    }

    fn check_instructions(&mut self, block: &Block) -> Result<()> {
        let mut begin = 0;
        while begin < block.instruction.len() {
            let owner = owner(block, begin);
            let end = block.thread_run(begin, block.len());
            let counts = &block.instruction[begin..end];
            if owner.1 != SHARED {
                self.check_run(owner, begin, counts)?;
            }
            begin = end;
        }
        Ok(())
    }

    /// Checks accesses of one thread that follow each other.
    fn check_run(&mut self, owner: (u16, u16), begin: usize, counts: &[u64]) -> Result<()> {
        let last = self.executed.entry(owner).or_default();
        let before = |index: usize| match index {
            0 => *last,
            _ => counts[index - 1],
        };
        if counts[0] < *last || !(rise_plainly(counts) || counts.is_sorted()) {
            let back = (0..counts.len()).find(|index| counts[*index] < before(*index));
            let index = back.unwrap_or_default();
            let ((process, thread), before, now) = (owner, before(index), counts[index]);
            return Err(self.wrong(
                begin + index,
                &format!(
                    "thread {thread} of process {process} had executed {before} instructions \
                     before it, and now {now}"
                ),
            ));
        }
        let end = counts[counts.len() - 1];
        let more = end - *last;
        *last = end;
        let all = self.all.checked_add(more);
        self.all = all.ok_or_else(|| {
            Error::usage(format!(
                "the trace `{}` counts more instructions than can be, 2^64 of all threads: its \
                 column of instructions is wrong",
                self.path.display()
            ))
        })?;
        Ok(())
    }

    /// Returns the failure for an impossible access at `index` of the block.
    fn wrong(&self, index: usize, what: &str) -> Error {
        Error::failure(format!(
            "the trace `{}` is wrong at its access {} (from 0): {what}",
            self.path.display(),
            self.accesses + index as u64
        ))
    }
}

/// Whether counts rise, all below 2^63: then no difference is negative, which the vectors of a
/// processor find out many at a time.
fn rise_plainly(counts: &[u64]) -> bool {
    let steps = counts.iter().zip(&counts[1..]);
    let bits = steps.fold(counts[0], |bits, (before, now)| {
        bits | now | now.wrapping_sub(*before)
    });
    bits >> 63 == 0
}

fn owner(block: &Block, index: usize) -> (u16, u16) {
    let of = |column: &[u16]| column.get(index).copied().unwrap_or_default();
    (of(&block.process), of(&block.thread))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Access;
    use crate::testing::{listed, uncounted};

    fn error(accesses: &[Access]) -> Option<String> {
        let trace = uncounted(accesses.to_vec());
        let meta = trace.meta().clone();
        let mut source = sound(Path::new("some-trace"), trace, meta);
        let mut block = Block::default();
        loop {
            match source.read(&mut block) {
                Err(error) => return Some(error.to_string()),
                Ok(()) if block.is_empty() => return None,
                Ok(()) => {}
            }
        }
    }

    fn access(thread: u16, instruction: u64, size: u32) -> Access {
        Access {
            thread,
            instruction,
            size,
            ..Access::default()
        }
    }

    #[test]
    fn instructions_of_a_thread_do_not_go_back() {
        let forwards = [(0, 5), (1, 3), (0, 5), (1, 4), (0, 9)];
        let trace = |accesses: &[(u16, u64)]| -> Vec<Access> {
            let made = accesses.iter().map(|(t, n)| access(*t, *n, 8));
            made.collect()
        };
        assert_eq!(error(&trace(&forwards)), None);
        let error = error(&trace(&[&forwards[..], &[(1, 3)]].concat())).unwrap();
        assert!(
            error.contains("`some-trace` is wrong at its access 5"),
            "{error}"
        );
        assert!(error.contains("thread 1 of process 0"), "{error}");
    }

    proptest! {
        /// The first count that goes back is found, among large and small ones.
        #[test]
        fn a_count_that_goes_back_is_named(
            mut counts in prop::collection::vec(prop_oneof![0..9_u64, any::<u64>()], 1..9),
            sorts in any::<bool>(),
        ) {
            if sorts {
                counts.sort_unstable();
            }
            let accesses: Vec<Access> = counts.iter().map(|now| access(0, *now, 8)).collect();
            let back = (1..counts.len()).find(|index| counts[*index] < counts[index - 1]);
            let named = back.map(|index| format!("wrong at its access {index} "));
            let error = error(&accesses).unwrap_or_default();
            prop_assert!(error.contains(named.as_deref().unwrap_or_default()), "{}", error);
            prop_assert_eq!(error.is_empty(), back.is_none());
        }
    }

    #[test]
    fn threads_that_share_a_number_are_let_be() {
        assert_eq!(error(&[access(SHARED, 9, 8), access(SHARED, 3, 8)]), None);
    }

    #[test]
    fn only_a_trace_that_says_so_beforehand_may_be_empty() {
        let error = error(&[]).unwrap();
        assert_eq!(error, "there is no access in `some-trace`");
        let trace = listed(Vec::new());
        let meta = trace.meta().clone();
        let mut recorded = sound(Path::new("some-trace"), trace, meta);
        assert_eq!(recorded.read(&mut Block::default()), Ok(()));
    }

    #[test]
    fn an_access_has_a_size() {
        assert_eq!(error(&[access(0, 0, 1 << 20)]), None);
        let error = error(&[access(0, 0, 8), access(0, 0, u32::MAX)]).unwrap();
        assert!(
            error.contains("access 1 (from 0): it touches 4294967295 bytes"),
            "{error}"
        );
        assert!(error.contains("1.00 MiB"), "{error}");
    }
}
