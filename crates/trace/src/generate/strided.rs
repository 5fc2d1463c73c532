//! A walk over an array in equal steps, as over a column of a matrix.
//!
//! `for (;;) for (c = 0; c < stride; c += 8) for (i = c; i < size; i += stride) sum += a[i];`
//!
//! Each walk begins 8 bytes behind the one before, so that all is touched in the end where the
//! stride is a multiple of 8. Four instructions an access of 8 bytes, as in
//! [`super::Sequential`].

use terrace_base::{Bytes, Error, Result};

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use super::random::Random;
use crate::source::Source;

const WORD: u64 = 8;

/// A walk over an array in equal steps, as over a column of a matrix
///
/// Each walk begins 8 bytes behind the one before. With a stride of a page or more, every access is
/// to another page than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Strided {
    /// The step
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value = "4K", value_parser = Bytes::parse, allow_hyphen_values = true))]
    pub stride: Bytes,
    /// How many of a hundred accesses store, drawn at random
    #[cfg_attr(feature = "clap", arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = terrace_base::count::whole(0..=100_u8)))]
    pub writes: u8,
}

impl Strided {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the stride is longer than the footprint, or the footprint is too
    /// small or absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(WORD, MAX_FOOTPRINT)?;
        if self.stride > settings.footprint {
            return Err(Error::usage(format!(
                "a stride of {} is longer than the footprint of {}; make one of them fit",
                self.stride, settings.footprint
            )));
        }
        let array = Heap::new().array(settings.footprint.0);
        let (stride, writes) = (self.stride.0, self.writes);
        // The last offset where a word fits.
        let last = settings.footprint.0 - WORD;
        let mut random = Random::new(settings.seed);
        let (mut column, mut next) = (0, 0);
        let step = move |log: &mut Log| {
            log.access(random.percent(writes), array + next, WORD);
            log.work(3);
            next += stride;
            if next > last {
                column += WORD;
                if column >= stride || column > last {
                    column = 0;
                }
                next = column;
            }
            true
        };
        let options = [
            ("stride", stride.to_string()),
            ("writes-percent", writes.to_string()),
        ];
        Ok(generated("strided", settings, &options, step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, settings, touches};
    use super::*;

    #[test]
    fn column_by_column() {
        let (stride, writes) = (Bytes(24), 100);
        let trace = Strided { stride, writes }.source(&settings(9, 64, 0));
        let offsets = [0, 24, 48, 8, 32, 56, 16, 40, 0];
        let expected: Vec<_> = offsets.iter().map(|o| (HEAP + o, 8, true)).collect();
        assert_eq!(touches(trace.unwrap()), expected);
    }

    #[test]
    fn a_stride_of_the_whole_footprint_stays_within() {
        let (stride, writes) = (Bytes(20), 0);
        let trace = Strided { stride, writes }.source(&settings(100, 20, 0));
        assert!(touches(trace.unwrap()).iter().all(|t| t.0 + 8 <= HEAP + 20));
    }

    #[test]
    fn a_stride_beyond_the_footprint_is_refused() {
        let (stride, writes) = (Bytes(65), 0);
        let error = Strided { stride, writes }.source(&settings(1, 64, 0)).err();
        assert!(
            error
                .unwrap()
                .to_string()
                .contains("longer than the footprint")
        );
    }
}
