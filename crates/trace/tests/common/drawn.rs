//! Drawn traces.

use proptest::prelude::*;
use terrace_trace::Access;

use crate::common::sound;

/// Accesses whose fields have so few bits as the trace's own shift leaves, some of them repeated.
pub fn accesses(most: usize) -> impl Strategy<Value = Vec<Access>> {
    let access = (
        any::<[u64; 3]>(),
        any::<[u16; 2]>(),
        any::<u32>(),
        any::<bool>(),
        1usize..20,
    );
    (0u32..64, prop::collection::vec(access, 0..most)).prop_map(|(shift, accesses)| {
        let access = |(long, short, size, write, times): ([u64; 3], [u16; 2], u32, bool, usize)| {
            let [instruction, address, ip] = long.map(|value| value >> shift);
            let [process, thread] = short.map(|value| value >> (shift / 4));
            let access = Access {
                // All threads together have executed fewer than 2^64.
                instruction: instruction >> 16,
                address,
                ip,
                process,
                thread,
                size: size >> (shift / 2),
                write,
            };
            vec![access; times]
        };
        sound(accesses.into_iter().flat_map(access).collect())
    })
}
