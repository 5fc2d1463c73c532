//! The lanes: their last operations, which may have to be repeated.

use super::Report;
use crate::allocator::Space;
use crate::error::Result;
use crate::lane::log;
use crate::layout::intent::Intent;
use crate::layout::unchecked;
use crate::medium::{Medium, WORD_BYTES};

/// A lane as it was left.
pub(crate) struct Lane {
    pub number: usize,
    /// Operations up to this one are never done again.
    pub settled: u64,
    /// Intents of the operations behind it, in no order: offset, sequence, and changes.
    pub intents: Vec<(u64, u64, Intent)>,
}

/// Reads all lanes.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn read<M: Medium>(space: &Space<M>, report: &impl Report) -> Result<Vec<Lane>> {
    let lanes = 0..usize::from(space.pool.geometry.lanes);
    lanes
        .map(|number| read_lane(space, number, report))
        .collect()
}

fn read_lane<M: Medium>(space: &Space<M>, number: usize, report: &impl Report) -> Result<Lane> {
    let (pool, geometry) = (&space.pool, &space.pool.geometry);
    let at = geometry.settled_of(number);
    let settled = match pool.medium.load_word(at) {
        0 => Some(0),
        word => unchecked(at, word),
    };
    if settled.is_none() {
        report.wrong(at, format!("the state of lane {number} is damaged"))?;
    }
    // It is unknown what is settled of a lane whose state is damaged.
    let settled = settled.unwrap_or(u64::MAX);
    let places = (0..u64::from(geometry.intents)).map(|i| geometry.intent_of(number, i));
    let intents = places.filter_map(|at| {
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

/// Checks that the last two operations of each lane can be repeated; `top` is the last, which may not
/// have happened.
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

fn check_words<M: Medium>(
    space: &Space<M>,
    words: &[(u64, u64)],
) -> std::result::Result<(), String> {
    let outside = |&&(at, _): &&(u64, u64)| !space.pool.holds(at, WORD_BYTES);
    match words.iter().find(outside) {
        Some((at, _)) => Err(format!("changes a word at {at}, which is not in the pool")),
        None => Ok(()),
    }
}
