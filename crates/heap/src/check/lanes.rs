//! Lanes: what was done last, and may have to be done again.

use super::Findings;
use crate::allocator::Space;
use crate::lane::log;
use crate::layout::intent::Intent;
use crate::layout::unchecked;
use crate::medium::{Medium, WORD_BYTES};

/// A lane.
pub(super) struct Lane {
    /// The last operation of which anything can be seen.
    pub top: u64,
    /// Intents that are not settled: where they are, the operation, and what it changes.
    pending: Vec<(u64, u64, Intent)>,
}

/// Reads all lanes.
pub(super) fn read<M: Medium>(space: &Space<M>, findings: &mut Findings) -> Vec<Lane> {
    let lanes = 0..usize::from(space.pool.geometry.lanes);
    lanes
        .map(|number| read_lane(space, number, findings))
        .collect()
}

fn read_lane<M: Medium>(space: &Space<M>, number: usize, findings: &mut Findings) -> Lane {
    let (pool, geometry) = (&space.pool, &space.pool.geometry);
    let at = geometry.settled_of(number);
    let settled = match pool.medium.load_word(at) {
        0 => Some(0),
        word => unchecked(at, word),
    };
    if settled.is_none() {
        findings.add(at, format!("the state of lane {number} is damaged"));
    }
    let mut lane = Lane {
        top: settled.unwrap_or(0),
        pending: Vec::new(),
    };
    for at in (0..u64::from(geometry.intents)).map(|i| geometry.intent_of(number, i)) {
        // A torn one stays until it is overwritten.
        if let Some((sequence, intent)) = Intent::decode(at, pool.load_words(at))
            && settled.is_some_and(|settled| sequence > settled)
        {
            lane.top = lane.top.max(sequence);
            lane.pending.push((at, sequence, intent));
        }
    }
    lane
}

/// Whether the last two operations of each lane can be done again. The very last may not have happened.
pub(super) fn check<M: Medium>(space: &Space<M>, lanes: &[Lane], findings: &mut Findings) {
    for lane in lanes {
        for (at, sequence, intent) in &lane.pending {
            if sequence + 1 >= lane.top
                && let Err(what) = check_intent(space, intent, *sequence < lane.top)
            {
                findings.add(
                    *at,
                    format!("an operation that may have to be done again {what}"),
                );
            }
        }
    }
}

/// `happened` says that the operation has passed its fence for certain.
fn check_intent<M: Medium>(
    space: &Space<M>,
    intent: &Intent,
    happened: bool,
) -> Result<(), String> {
    match intent {
        Intent::Words { pairs, count, .. } => check_words(space, &pairs[..*count]),
        Intent::Slot {
            filled,
            pairs,
            count,
        } => match space.pool.holds(filled.offset, filled.len.into()) {
            true => check_words(space, &pairs[..*count]),
            false => Err(format!(
                "has filled a slot at {}, which is not in the pool",
                filled.offset
            )),
        },
        Intent::Commit(commit) => match log::entries(space, commit) {
            Ok(entries) => check_words(space, &entries.words),
            Err(error) if happened => Err(format!("cannot be: {error}")),
            Err(_) => Ok(()),
        },
        Intent::Undo { entries } => match space.pool.holds(*entries, WORD_BYTES) {
            true => Ok(()),
            false => Err(format!(
                "has its log at {entries}, which is not in the pool"
            )),
        },
    }
}

fn check_words<M: Medium>(space: &Space<M>, words: &[(u64, u64)]) -> Result<(), String> {
    let outside = |&&(at, _): &&(u64, u64)| !space.pool.holds(at, WORD_BYTES);
    match words.iter().find(outside) {
        Some((at, _)) => Err(format!("changes a word at {at}, which is not in the pool")),
        None => Ok(()),
    }
}
