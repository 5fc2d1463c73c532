//! Whatever a pool has become, it is looked at without a panic.

use proptest::prelude::*;

use crate::pools::{CHUNK, CHUNKS, CLOSED, JOURNALED, LEFT, look};

/// Something that happens to a pool.
#[derive(Clone, Debug)]
enum Damage {
    /// A bit of a word.
    Flip(Place, u32),
    /// Another word.
    Word(Place, Value),
    /// A line becomes another one: it was never written, or somewhere else.
    Line(Place, Place),
    /// Pages that changed places.
    Swap(u64, u64),
    /// What is behind is gone.
    Truncate(u64),
}

/// A word: any, or one that is not zero, where there is something to damage.
#[derive(Clone, Debug)]
enum Place {
    Any(prop::sample::Index),
    Filled(prop::sample::Index),
}

#[derive(Clone, Debug)]
enum Value {
    Random(u64),
    Small(u64),
    /// What could be an offset.
    Offset(u64),
    /// A word from elsewhere.
    Copy(Place),
}

fn place() -> impl Strategy<Value = Place> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        1 => index().prop_map(Place::Any),
        5 => index().prop_map(Place::Filled),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::Random),
        (0u64..300).prop_map(Value::Small),
        (0u64..(CHUNKS + 2) * CHUNK / 8).prop_map(|word| Value::Offset(word * 8)),
        place().prop_map(Value::Copy),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        6 => (place(), 0u32..64).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        6 => (place(), value()).prop_map(|(at, value)| Damage::Word(at, value)),
        3 => (place(), place()).prop_map(|(at, from)| Damage::Line(at, from)),
        2 => (0u64..CHUNKS, 0u64..CHUNKS).prop_map(|(a, b)| Damage::Swap(a, b)),
        1 => (0u64..CHUNKS * CHUNK).prop_map(Damage::Truncate),
    ]
}

impl Place {
    /// Its offset in a pool.
    fn of(&self, bytes: &[u8]) -> usize {
        let words = bytes.len() / 8;
        match self {
            Place::Any(index) => index.index(words) * 8,
            Place::Filled(index) => {
                let filled = |&word: &usize| bytes[word * 8..][..8] != [0; 8];
                let filled: Vec<usize> = (0..words).filter(filled).collect();
                if filled.is_empty() {
                    0
                } else {
                    filled[index.index(filled.len())] * 8
                }
            }
        }
    }
}

impl Damage {
    fn happen(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Damage::Flip(at, bit) => {
                let at = at.of(bytes);
                bytes[at + *bit as usize / 8] ^= 1 << (bit % 8);
            }
            Damage::Word(at, value) => {
                let value = match value {
                    Value::Random(value) | Value::Small(value) | Value::Offset(value) => *value,
                    Value::Copy(from) => {
                        let from = from.of(bytes);
                        u64::from_le_bytes(bytes[from..][..8].try_into().unwrap())
                    }
                };
                let at = at.of(bytes);
                bytes[at..][..8].copy_from_slice(&value.to_le_bytes());
            }
            Damage::Line(at, from) => {
                let [at, from] = [at, from].map(|place| place.of(bytes) & !63);
                let line = bytes[from..][..64].to_vec();
                bytes[at..][..64].copy_from_slice(&line);
            }
            Damage::Swap(a, b) => {
                let page = 4096;
                let pages = bytes.len() / page;
                let [a, b] = [a, b].map(|number| *number as usize % pages.max(1) * page);
                for i in 0..page.min(bytes.len()) {
                    bytes.swap(a + i, b + i);
                }
            }
            Damage::Truncate(len) => bytes.truncate(*len as usize / 4096 * 4096),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damaged_pools_are_looked_at(
        pool in prop::sample::select(vec![&CLOSED, &LEFT, &JOURNALED]),
        damages in prop::collection::vec(damage(), 1..5),
    ) {
        let mut bytes = pool.to_vec();
        damages.iter().for_each(|damage| damage.happen(&mut bytes));
        look(&bytes);
    }

    #[test]
    fn what_is_no_pool_is_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        look(&bytes);
    }
}

/// One bit of every word that is not zero.
#[test]
fn each_word_is_damaged() {
    for (pool, every) in [(&LEFT, 3), (&JOURNALED, 9)] {
        let filled = (0..pool.len())
            .step_by(8)
            .filter(|&at| pool[at..][..8] != [0; 8]);
        for (i, at) in filled.enumerate().filter(|(i, _)| i % every == 0) {
            let mut bytes = pool.to_vec();
            bytes[at + i % 8] ^= 1 << (i / 8 % 8);
            look(&bytes);
        }
    }
}
