//! Lanes that take over from each other under the stripes of a hash map.
//!
//! A crash repeats the last operations of each lane, lane by lane. So each program is run with its
//! lanes in every order: what one of them wrongly repeats after another one's is seen in some.

use crate::harness::{Effort, random, run};
use crate::hash_map::{Entries, Op};
use Op::{Batch, Insert, Remove, Reopen};

const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// With values that are logged as words and as objects.
fn in_every_order<const CAPACITY: u64>(program: &[(usize, Op)], images: u64) {
    for order in ORDERS {
        let lane = |(lane, op): &(usize, Op)| (order[*lane], op.clone());
        let ops: Vec<_> = program.iter().map(lane).collect();
        let effort = Effort {
            pool: 128 << 10,
            images,
            ..Effort::default()
        };
        run::<Entries<CAPACITY, 2>>(&ops, effort);
        run::<Entries<CAPACITY, 9>>(&ops, effort);
    }
}

#[test]
fn an_entry_that_one_makes_and_others_change() {
    let program = [
        (0, Insert(1, 1)),
        (1, Insert(1, 2)),
        (2, Insert(1, 3)),
        (1, Insert(1, 4)),
        (0, Remove(1)),
        (2, Insert(1, 5)),
        (1, Remove(1)),
    ];
    in_every_order::<1>(&program, 150);
}

/// What the first one did is in doubt until the second one takes all over, though it changes
/// something else.
#[test]
fn another_entry_of_the_stripe_is_changed_in_between() {
    for changed in [Insert(1, 5), Remove(1)] {
        let program = [
            (1, Insert(2, 1)),
            (0, Insert(1, 1)),
            (1, Insert(2, 2)),
            (2, changed.clone()),
            (1, Insert(3, 3)),
            (2, Insert(4, 4)),
        ];
        in_every_order::<1>(&program, 150);
        let program = [
            (1, Insert(2, 1)),
            (1, Insert(1, 1)),
            (0, Insert(1, 2)),
            (1, Insert(2, 2)),
            (2, changed.clone()),
            (0, Reopen),
            (1, Insert(2, 3)),
        ];
        in_every_order::<1>(&program, 150);
    }
}

#[test]
fn a_batch_that_others_take_over_and_that_takes_over() {
    let batch = |value| Batch(vec![Insert(1, value), Remove(3), Insert(4, value)]);
    let program = [
        (0, Insert(1, 1)),
        (0, Insert(2, 1)),
        (1, Insert(3, 1)),
        // The second entry is none of its.
        (1, batch(2)),
        (2, Insert(2, 2)),
        (0, Insert(1, 3)),
        (2, batch(4)),
        (0, Remove(1)),
        (1, Insert(4, 5)),
        // Nothing is changed, so the last one is not this.
        (1, Batch(vec![])),
        (2, Insert(4, 6)),
    ];
    in_every_order::<1>(&program, 60);
    in_every_order::<56>(&program, 60);
}

/// The fifteenth entry has the table grow, by an operation after that of the entry.
#[test]
fn a_split_that_others_take_over() {
    for splits in 0..2 {
        let fill = (0..14).map(|key| Insert(key, key)).collect();
        let mut program = vec![
            (0, Batch(fill)),
            (1, Insert(5, 100)),
            (splits, Insert(14, 14)),
        ];
        for key in [15, 3, 7] {
            program.push((2, Insert(key, 200 + key)));
        }
        program.extend([(1, Remove(3)), (0, Insert(7, 300))]);
        in_every_order::<1>(&program, 60);
    }
}

/// Where one stripe is full, a group of another one may be split while another lane has just
/// changed an entry of it. What it repeats after the lane that changes it next is seen.
#[test]
fn a_split_that_takes_over() {
    let fill = (0..40).map(|key| Insert(key, key)).collect();
    let mut program = vec![(0, Batch(fill))];
    for key in 40..140 {
        let changed = [key % 40, (key * 7 + 3) % 40];
        program.extend(changed.map(|of| (2, Insert(of, key))));
        program.push((0, Insert(key, key)));
        program.extend(changed.map(|of| (1, Insert(of, key + 1000))));
    }
    let effort = Effort {
        pool: 128 << 10,
        images: 2,
        ..Effort::default()
    };
    run::<Entries<56, 2>>(&program, effort);
}

/// A batch that has the table grow under all stripes.
#[test]
fn a_split_of_a_batch_that_others_take_over() {
    let fill = (0..40).map(|key| Insert(key, key)).collect();
    let mut program = vec![(1, Insert(5, 100)), (0, Batch(fill))];
    for key in [5, 41, 17] {
        program.push((2, Insert(key, 200 + key)));
    }
    program.extend([(1, Remove(5)), (0, Insert(17, 300))]);
    in_every_order::<1>(&program, 30);
    in_every_order::<28>(&program, 30);
}

/// Operations through a handle that is gone are still in doubt.
#[test]
fn a_map_that_is_opened_again() {
    let program = [
        (0, Insert(1, 1)),
        (0, Insert(2, 1)),
        (1, Insert(1, 2)),
        (2, Insert(2, 2)),
        (0, Reopen),
        (0, Insert(1, 3)),
        (1, Insert(2, 3)),
        (2, Reopen),
        (2, Remove(1)),
        (0, Insert(2, 4)),
        (1, Reopen),
        (1, Batch(vec![Insert(2, 5), Insert(1, 5)])),
        (2, Insert(1, 6)),
    ];
    in_every_order::<1>(&program, 60);
    in_every_order::<28>(&program, 60);
}

/// Any lane does anything to few entries.
#[test]
fn samples_of_short_programs() {
    let mut next = random(7);
    for seed in 0..60 {
        let mut one = |value| match next(3) {
            0 => Remove(next(6)),
            _ => Insert(next(6), value),
        };
        let mut ops: Vec<_> = (0..25).map(|value| (0, one(value))).collect();
        for (i, (lane, op)) in ops.iter_mut().enumerate() {
            *lane = next(3) as usize;
            match next(12) {
                0 => *op = Reopen,
                1 => *op = Batch(vec![op.clone(), Insert(next(6), 100 + i as u64)]),
                _ => {}
            }
        }
        let effort = Effort {
            pool: 128 << 10,
            images: 6,
            seed,
            ..Effort::default()
        };
        match seed % 3 {
            0 => run::<Entries<1, 2>>(&ops, effort),
            1 => run::<Entries<1, 9>>(&ops, effort),
            _ => run::<Entries<28, 9>>(&ops, effort),
        };
    }
}
