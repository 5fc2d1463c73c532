//! The lanes: their last operations, which may have to be repeated.

use super::Report;
use super::records::Last;
use crate::allocator::Space;
use crate::error::Result;
use crate::lane::log;
use crate::layout::intent::Intent;
use crate::layout::unchecked;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

/// A lane as it was left.
pub(crate) struct Lane {
    pub number: usize,
    /// Operations up to this one are never done again.
    pub settled: u64,
    /// Intents of the operations behind it, in no order: offset, sequence, and changes.
    pub intents: Vec<(u64, u64, Intent)>,
}

impl Lane {
    /// Returns the last operation with a visible record or intent.
    pub fn top(&self, last: &Last) -> u64 {
        let records = last.records.iter().map(|(_, record)| record.sequence);
        let intents = self.intents.iter().map(|&(_, sequence, _)| sequence);
        records.chain(intents).fold(self.settled, u64::max)
    }
}

/// Reads all lanes.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn read<M: Medium>(space: &Space<M>, report: &impl Report) -> Result<Vec<Lane>> {
    let lanes = 0..usize::from(space.pool.geometry.lanes);
    let lanes = lanes.map(|number| read_lane(space, number, report));
    lanes.collect()
}

/// Returns the operation up to which a lane is settled; `None` if its state is damaged.
pub(crate) fn settled<M: Medium>(pool: &Pool<M>, lane: usize) -> Option<u64> {
    let at = pool.geometry.settled_of(lane);
    match pool.medium.load_word(at) {
        0 if !pool.geometry.checksums => Some(0),
        word => unchecked(at, word),
    }
}

fn read_lane<M: Medium>(space: &Space<M>, number: usize, report: &impl Report) -> Result<Lane> {
    let (pool, geometry) = (&space.pool, &space.pool.geometry);
    let settled = settled(pool, number);
    if settled.is_none() {
        let what = format!("the state of lane {number} is damaged");
        report.wrong(geometry.settled_of(number), what)?;
    }
    // It is unknown what is settled of a lane whose state is damaged.
    let settled = settled.unwrap_or(u64::MAX);
    let intents = geometry.intents_of(number).filter_map(|at| {
        // A torn intent stays until it is overwritten.
        let (sequence, intent) = Intent::decode(at, pool.load_words(at))?;
        (sequence > settled).then_some((at, sequence, intent))
    });
    Ok(Lane {
        number,
        settled,
        intents: intents.collect(),
    })
}

/// Checks that the last two operations of each lane can be repeated; `top` is the last, which may
/// not have happened.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn check<M: Medium>(
    space: &Space<M>,
    lane: &Lane,
    top: u64,
    report: &impl Report,
) -> Result<()> {
    for (at, sequence, intent) in &lane.intents {
        if sequence + 1 >= top
            && let Err(what) = check_intent(space, intent, *sequence < top)
        {
            let what = format!("an operation that may have to be repeated {what}");
            report.wrong(*at, what)?;
        }
    }
    Ok(())
}

/// `happened` tells whether the operation has certainly passed its fence.
fn check_intent<M: Medium>(
    space: &Space<M>,
    intent: &Intent,
    happened: bool,
) -> std::result::Result<(), String> {
    let expect = |offset: u64, len: u64, what: &str| match space.pool.holds(offset, len) {
        true => Ok(()),
        false => Err(format!("{what} at {offset}, which is not in the pool")),
    };
    let words = |words: &[(u64, u64)]| {
        let mut words = words.iter();
        words.try_for_each(|&(at, _)| expect(at, WORD_BYTES, "changes a word"))
    };
    match intent {
        Intent::Words { .. } => {}
        Intent::Slot { filled, .. } => {
            expect(filled.offset, filled.len.into(), "has filled a slot")?;
        }
        Intent::Undo { entries } => expect(*entries, WORD_BYTES, "has its log")?,
        Intent::Commit(commit) => match log::entries(space, commit) {
            Ok(entries) => words(&entries.words)?,
            Err(error) if happened => return Err(format!("cannot be: {error}")),
            Err(_) => {}
        },
    }
    words(intent.pairs())
}
