//! Signatures: instructions as small numbers, to index the tables of predictors.

use super::Request;

/// Returns the instruction of a request in `bits` bits.
///
/// Papers hash the program counter without saying how. The core is part of the hash, because two
/// programs have different instructions at the same address.
#[inline]
pub fn signature(request: &Request, bits: u32) -> usize {
    (mix(request.ip ^ u64::from(request.core) << 56) >> (64 - bits)) as usize
}

/// Mixes a number into 64 bits that all depend on all of its bits: the last steps of `SplitMix64`
/// (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Kind;

    #[test]
    fn neighbours_and_cores_are_told_apart() {
        let mut seen = std::collections::BTreeSet::new();
        for core in 0..4 {
            for ip in (0x40_0000..0x40_0400).step_by(4) {
                let request = Request {
                    line: 0,
                    ip,
                    core,
                    kind: Kind::Load,
                };
                let signature = signature(&request, 14);
                assert!(signature < 1 << 14);
                seen.insert(signature);
            }
        }
        // 1024 balls into 16384 bins at random leave 993 bins with at least one.
        assert!(seen.len() > 970, "{}", seen.len());
    }
}
