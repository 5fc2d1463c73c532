//! Decisions, taken from the bytes of an input. Behind its end all are 0.
#![allow(dead_code, reason = "no target needs all of it")]

/// What is left of an input.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    pub fn byte(&mut self) -> u8 {
        self.word::<1>() as u8
    }

    /// A number of `BYTES` bytes.
    pub fn word<const BYTES: usize>(&mut self) -> u64 {
        let mut word = [0; 8];
        let (taken, rest) = self.0.split_at(BYTES.min(self.0.len()));
        word[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        u64::from_le_bytes(word)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.word::<2>() as usize % bound.max(1)
    }

    /// A size: mostly small, at times any.
    pub fn size(&mut self) -> u64 {
        match self.byte() {
            small @ 0..200 => u64::from(small),
            200..250 => self.word::<2>(),
            250..254 => self.word::<8>(),
            _ => u64::MAX - self.word::<1>(),
        }
    }
}
