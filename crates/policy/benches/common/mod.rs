//! What the benchmarks of policies share.

/// Pseudo-random numbers (`SplitMix64`: Steele, Lea and Flood, OOPSLA 2014).
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Those of a registry that the command line names, all where it names none.
pub fn wanted<E>(registry: &'static [E], name: fn(&E) -> &'static str) -> Vec<&'static E> {
    // Cargo passes `--bench` on.
    let names = std::env::args().skip(1);
    let names: Vec<String> = names.filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |entry: &&E| names.is_empty() || names.iter().any(|n| n == name(entry));
    registry.iter().filter(is_wanted).collect()
}
