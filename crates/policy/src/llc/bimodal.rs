//! The throttle of bimodal insertion (Qureshi et al., ISCA 2007, section 4.2): an event that is
//! rare. The paper draws it at random; here it is every nth time, as hardware counts it (Jaleel et
//! al., ISCA 2010, section 4.2).

use crate::params::Params;

/// Counter of the throttle.
#[derive(Clone, Debug)]
pub struct Bimodal {
    every: u32,
    count: u32,
}

impl Bimodal {
    /// Takes the setting `every`.
    ///
    /// # Errors
    /// Returns a message if it has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let help = "one new line in so many is kept like a common one";
        let every = params.take("every", help, 32, 1..=u32::MAX)?;
        Ok(Self { every, count: 0 })
    }

    /// Counts, and returns whether this is the nth time.
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
