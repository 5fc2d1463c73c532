//! What is done once in a long while: the throttle of bimodal insertion (Qureshi et al., ISCA
//! 2007, section 4.2). They draw it by chance; here it is every nth time, as hardware counts it
//! (Jaleel et al., ISCA 2010, section 4.2).

use crate::params::Params;

/// Counts to the next time.
#[derive(Clone, Debug)]
pub struct Bimodal {
    every: u32,
    count: u32,
}

impl Bimodal {
    /// The setting that it reads, with its default.
    ///
    /// # Errors
    /// A sentence where it is out of range.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let every = params.number("every", 32, 1..=u32::MAX)?;
        Ok(Self { every, count: 0 })
    }

    /// Whether this is the time.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.count = (self.count + 1) % self.every;
        self.count == 0
    }

    /// Bits of the counter.
    pub fn storage_bits(&self) -> u64 {
        u64::from(u32::BITS - (self.every - 1).leading_zeros())
    }
}
