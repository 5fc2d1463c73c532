//! Laws of the searches, on programs whose sites depend on each other.

use proptest::prelude::*;
use terrace_policy::placement::{Room, Whole, climb, exhaustive, knapsack};

/// A program: of each pair of sites, the time that it takes while either is in slow memory.
#[derive(Clone, Debug)]
struct Program {
    room: Room,
    pairs: Vec<(usize, usize, u64)>,
}

impl Program {
    fn time(&self, fast: &[bool]) -> u64 {
        let slow = self
            .pairs
            .iter()
            .filter(|(a, b, _)| !(fast[*a] && fast[*b]));
        slow.map(|(_, _, time)| time).sum()
    }
}

fn program() -> impl Strategy<Value = Program> {
    (1..9_usize).prop_flat_map(|sites| {
        let pair = (0..sites, 0..sites, 0..100_u64);
        let bytes = prop::collection::vec(1..100_u64, sites);
        (bytes, 0..300_u64, prop::collection::vec(pair, 0..20)).prop_map(|(bytes, fast, pairs)| {
            Program {
                room: Room { bytes, fast },
                pairs,
            }
        })
    })
}

proptest! {
    #[test]
    fn placements_fit_and_none_beats_the_bound(program in program()) {
        let whole = || Whole::new(program.room.bytes.len(), |fast: &[bool]| program.time(fast));
        let bound = exhaustive(&program.room, &mut whole()).unwrap();
        let slowest = program.time(&vec![false; program.room.bytes.len()]);
        for found in [climb(&program.room, &mut whole()), knapsack(&program.room, &mut whole()), bound.clone()] {
            let mut fast = vec![false; program.room.bytes.len()];
            for site in &found.chosen {
                prop_assert!(!std::mem::replace(&mut fast[*site], true), "chosen twice");
            }
            let bytes: u64 = found.chosen.iter().map(|site| program.room.bytes[*site]).sum();
            prop_assert!(bytes <= program.room.fast);
            prop_assert_eq!(found.time, program.time(&fast));
            prop_assert!(bound.time <= found.time && found.time <= slowest);
        }
    }
}
