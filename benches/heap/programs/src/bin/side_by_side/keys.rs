//! Keys and values, equal to those of the peers.

/// 64 bytes: a key, or a value.
pub type Item = [u64; 8];

/// Returns the key of an index (xorshift; its state is another one for each index, so keys are
/// too).
pub fn key_of(index: u64) -> Item {
    let mut state = 88_172_645_463_325_252 ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

pub fn value_of(key: &Item) -> Item {
    key.map(|word| !word)
}
