//! The checker of histories: it explains what can be, and nothing else.

use crate::oracle::history::Event::{Ended, Failed, Means};
use crate::oracle::history::{Entry, Event, History, State};

/// Sets a key, and sees nothing.
fn set(key: u64, value: u64) -> Event {
    let sets = vec![(key, Some(value))];
    Means { seen: vec![], sets }
}

/// Changes nothing.
fn read() -> Event {
    let (seen, sets) = (vec![], vec![]);
    Means { seen, sets }
}

/// Takes one from a key that had so much, and gives it to another.
fn moves(from: (u64, u64), to: (u64, u64)) -> Event {
    Means {
        seen: vec![(from.0, Some(from.1)), (to.0, Some(to.1))],
        sets: vec![(from.0, Some(from.1 - 1)), (to.0, Some(to.1 + 1))],
    }
}

fn ended(seen: &[Entry]) -> Event {
    Ended {
        seen: seen.to_vec(),
    }
}

fn state(entries: &[(u64, u64)]) -> State {
    entries.iter().copied().collect()
}

/// Whether a log explains what is left of nothing; all of it was acknowledged that ended.
#[track_caller]
fn expect(log: &[(usize, Event)], left: &[(u64, u64)], explained: bool) {
    expect_from(&[], log, log.len(), left, explained);
}

#[track_caller]
fn expect_from(
    initial: &[(u64, u64)],
    log: &[(usize, Event)],
    certain: usize,
    left: &[(u64, u64)],
    explained: bool,
) {
    let history = History::new(log, certain);
    let found = history.explains(&state(initial), &state(left));
    assert_eq!(found, explained, "{log:?} and then {left:?}");
}

#[test]
fn what_one_thread_does_happens_in_its_order() {
    let log = [
        (0, set(1, 1)),
        (0, ended(&[(1, None)])),
        (0, set(1, 2)),
        (0, ended(&[(1, Some(1))])),
        (0, set(2, 3)),
    ];
    expect(&log, &[(1, 2)], true);
    expect(&log, &[(1, 2), (2, 3)], true);
    // Lost, stale, doubled, and never done.
    expect(&log, &[], false);
    expect(&log, &[(1, 1)], false);
    expect(&log, &[(2, 3)], false);
    expect(&log, &[(1, 2), (3, 2)], false);
    expect(&log, &[(1, 9)], false);
}

#[test]
fn what_is_done_at_the_same_time_happens_in_any_order() {
    let together = [
        (0, set(1, 1)),
        (1, set(1, 2)),
        (0, ended(&[])),
        (1, ended(&[])),
    ];
    expect(&together, &[(1, 1)], true);
    expect(&together, &[(1, 2)], true);
    let apart = [
        (0, set(1, 1)),
        (0, ended(&[])),
        (1, set(1, 2)),
        (1, ended(&[])),
    ];
    expect(&apart, &[(1, 1)], false);
    expect(&apart, &[(1, 2)], true);
}

#[test]
fn what_was_seen_says_which_order_it_was() {
    let log = |first, second| {
        [
            (0, set(1, 1)),
            (1, set(1, 2)),
            (0, ended(&[(1, first)])),
            (1, ended(&[(1, second)])),
        ]
    };
    expect(&log(None, Some(1)), &[(1, 2)], true);
    expect(&log(None, Some(1)), &[(1, 1)], false);
    expect(&log(Some(2), None), &[(1, 1)], true);
    // One of both was lost when the other one was done.
    expect(&log(None, None), &[(1, 1)], false);
    expect(&log(None, None), &[(1, 2)], false);
}

#[test]
fn a_stale_read_is_found() {
    let log = |seen| {
        [
            (0, set(1, 1)),
            (0, ended(&[])),
            (1, read()),
            (1, ended(&[(1, seen)])),
        ]
    };
    expect(&log(Some(1)), &[(1, 1)], true);
    expect(&log(None), &[(1, 1)], false);
    // It was never written.
    expect(&log(Some(7)), &[(1, 1)], false);
}

/// What another thread has read, and said so, cannot be gone.
#[test]
fn what_was_read_has_happened() {
    let log = [(0, set(1, 1)), (1, read()), (1, ended(&[(1, Some(1))]))];
    expect(&log, &[(1, 1)], true);
    expect(&log, &[], false);
    expect(&log[..2], &[], true);
}

#[test]
fn a_transaction_happens_wholly_or_not_at_all() {
    let initial = [(1, 10), (2, 10)];
    let log = [(0, moves((1, 10), (2, 10)))];
    expect_from(&initial, &log, 1, &initial, true);
    expect_from(&initial, &log, 1, &[(1, 9), (2, 11)], true);
    expect_from(&initial, &log, 1, &[(1, 9), (2, 10)], false);
    expect_from(&initial, &log, 1, &[(1, 10), (2, 11)], false);
}

#[test]
fn two_transactions_do_not_both_begin_with_the_same() {
    let initial = [(1, 10), (2, 10), (3, 10)];
    let lost = [
        (0, moves((1, 10), (2, 10))),
        (1, moves((1, 10), (3, 10))),
        (0, ended(&[])),
        (1, ended(&[])),
    ];
    for left in [[(1, 9), (2, 11), (3, 11)], [(1, 8), (2, 11), (3, 11)]] {
        expect_from(&initial, &lost, 4, &left, false);
    }
    // The second one was told to try again.
    let again = [
        (0, moves((1, 10), (2, 10))),
        (1, moves((1, 10), (3, 10))),
        (0, ended(&[])),
        (1, moves((1, 9), (3, 10))),
        (1, ended(&[])),
    ];
    expect_from(&initial, &again, 5, &[(1, 8), (2, 11), (3, 11)], true);
    expect_from(&initial, &again, 5, &[(1, 9), (2, 11), (3, 11)], false);
}

#[test]
fn what_failed_has_changed_nothing() {
    let log = [(0, set(1, 1)), (0, Failed)];
    expect(&log, &[], true);
    expect(&log, &[(1, 1)], false);
    let before_it_began = [(0, set(1, 1)), (0, ended(&[])), (0, Failed)];
    expect(&before_it_began, &[(1, 1)], true);
    expect(&before_it_began, &[], false);
}

/// The crash was between the moment that is certain and the end of the log.
#[test]
fn what_ended_while_the_machine_crashed_may_have_happened_in_its_order() {
    let log = [
        (0, set(1, 1)),
        (0, ended(&[])),
        (0, set(2, 2)),
        (0, ended(&[])),
        (1, set(3, 3)),
        (1, ended(&[])),
    ];
    let both = [(1, 1), (2, 2)];
    expect_from(&[], &log, 2, &both[..1], true);
    expect_from(&[], &log, 2, &both, true);
    expect_from(&[], &log, 2, &both[1..], false);
    expect_from(&[], &log, 2, &[], false);
    // The other thread began after the second had ended.
    expect_from(&[], &log, 2, &[(1, 1), (3, 3)], false);
    expect_from(&[], &log, 2, &[(1, 1), (2, 2), (3, 3)], true);
}
