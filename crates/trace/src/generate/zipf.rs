//! Requests for items of very different popularity.
//!
//! Independent requests; the item of rank k is asked for with a probability that goes with
//! 1/k^exponent. Each touches 8 bytes somewhere in its item.
//!
//! Twenty instructions a request, as a program that looks an item up also uses it.

use terrace_base::{Bytes, Error, Result};

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use super::permutation::Permutation;
use super::random::Random;
use crate::source::Source;

const WORD: u64 = 8;

/// Independent requests for items of very different popularity
///
/// The item of rank k is requested with a probability proportional to 1/k^exponent, as in caches of
/// the web and of databases. Items lie scrambled over the footprint, so that popular ones are not
/// neighbours, unless --in-order is given. As many items as fit make up the footprint: 4G is a
/// million pages.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Zipf {
    /// From 0 (all alike) to 2; web caches have 0.6 to 1.0
    #[cfg_attr(feature = "clap", arg(long, value_name = "S", default_value_t = 1.0, value_parser = parse_exponent, allow_hyphen_values = true))]
    pub exponent: f64,
    /// The size of an item; each request touches 8 bytes in it
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value = "4K", value_parser = Bytes::parse, allow_hyphen_values = true))]
    pub item: Bytes,
    /// Items lie in the order of their ranks
    #[cfg_attr(feature = "clap", arg(long))]
    pub in_order: bool,
    /// How many of a hundred accesses store, drawn at random
    #[cfg_attr(feature = "clap", arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = terrace_base::count::whole(0..=100_u8)))]
    pub writes: u8,
}

#[cfg(feature = "clap")]
fn parse_exponent(text: &str) -> Result<f64> {
    let number = text.parse();
    number.map_err(|_| Error::usage(format!("`{text}` is no number; write it as 0.9")))
}

impl Zipf {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the exponent is not in 0 to 2, an item is smaller than 8 bytes, or
    /// the footprint holds no item or is absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(self.item.0, MAX_FOOTPRINT)?;
        if !(0.0..=2.0).contains(&self.exponent) {
            return Err(Error::usage(format!(
                "{} is no Zipf exponent; give one from 0 (all alike) to 2",
                self.exponent
            )));
        }
        if self.item.0 < WORD {
            return Err(Error::usage(format!(
                "an item of {} is too small; it takes at least {WORD} B",
                self.item
            )));
        }
        let (item, writes) = (self.item.0, self.writes);
        let items = settings.footprint.0 / item;
        let array = Heap::new().array(items * item);
        let ranks = Ranks::new(items, self.exponent);
        let mut random = Random::new(settings.seed);
        let order = Permutation::new(items, &mut random);
        let order = (!self.in_order).then_some(order);
        let step = move |log: &mut Log| {
            let rank = ranks.draw(&mut random) - 1;
            let place = order.as_ref().map_or(rank, |order| order.at(rank));
            let word = random.below(item / WORD);
            log.work(19);
            let write = random.percent(writes);
            log.access(write, array + place * item + word * WORD, WORD);
            true
        };
        let options = [
            ("exponent", self.exponent.to_string()),
            ("items", items.to_string()),
            ("item", item.to_string()),
            ("in-order", self.in_order.to_string()),
            ("writes-percent", writes.to_string()),
        ];
        Ok(generated("zipf", settings, &options, step))
    }
}

/// Ranks drawn by rejection-inversion: Hoermann and Derflinger, Rejection-inversion to generate
/// variates from monotone discrete distributions, ACM TOMACS 6(3), 1996. It needs no table: a rank
/// costs the same, and some nanoseconds, for any number of items.
///
/// h(x) = 1/x^s; H is its integral, shifted so that it is continuous in s at 1.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    items: u64,
    exponent: f64,
    /// H(1.5) - h(1).
    low: f64,
    /// H(items + 0.5).
    high: f64,
    /// A rank this close below x is accepted without looking further.
    sure: f64,
}

impl Ranks {
    pub(super) fn new(items: u64, exponent: f64) -> Self {
        let mut ranks = Self {
            items,
            exponent,
            ..Self::default()
        };
        ranks.low = ranks.integral(1.5) - 1.0;
        ranks.high = ranks.integral(items as f64 + 0.5);
        ranks.sure = 2.0 - ranks.inverse(ranks.integral(2.5) - ranks.weight(2.0));
        ranks
    }

    /// A rank from `1..=items`.
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let rank = ((x + 0.5) as u64).clamp(1, self.items);
            let k = rank as f64;
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.weight(k) {
                return rank;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// (x^(1-s) - 1) / (1 - s), or its limit ln x.
    fn integral(&self, x: f64) -> f64 {
        let (log, t) = (libm::log(x), 1.0 - self.exponent);
        if t == 0.0 {
            log
        } else {
            libm::expm1(t * log) / t
        }
    }

    fn inverse(&self, u: f64) -> f64 {
        let t = 1.0 - self.exponent;
        if t == 0.0 {
            libm::exp(u)
        } else {
            // Rounding may take u*t a little below -1, where the logarithm has no value.
            libm::exp(libm::log1p((u * t).max(-1.0)) / t)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, accesses, settings};
    use super::*;

    /// Counts of each rank among `draws`, against n * k^-s / sum, in standard deviations.
    fn worst_deviation(items: u64, exponent: f64, draws: u32, top: u64) -> f64 {
        let ranks = Ranks::new(items, exponent);
        let mut random = Random::new(5);
        let mut counts = vec![0u32; items as usize + 1];
        for _ in 0..draws {
            counts[ranks.draw(&mut random) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let weight = |k: u64| (k as f64).powf(-exponent);
        let sum: f64 = (1..=items).map(weight).sum();
        let deviation = |k: u64| {
            let share = weight(k) / sum;
            let expected = f64::from(draws) * share;
            (f64::from(counts[k as usize]) - expected).abs() / (expected * (1.0 - share)).sqrt()
        };
        (1..=top).map(deviation).fold(0.0, f64::max)
    }

    /// Of some 20 normal deviates none is beyond 5 but once in 90 000.
    #[test]
    fn ranks_are_as_popular_as_they_should_be() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.01, 1.5, 2.0] {
            let worst = worst_deviation(10, exponent, 200_000, 10);
            assert!(worst < 5.0, "{exponent}: {worst}");
            let worst = worst_deviation(100_000, exponent, 500_000, 20);
            assert!(worst < 5.0, "{exponent}: {worst}");
        }
    }

    #[test]
    fn every_number_of_items_works() {
        for items in [1, 2, 3, 1 << 34] {
            for exponent in [0.0, 0.7, 1.0, 1.3, 2.0] {
                let ranks = Ranks::new(items, exponent);
                let mut random = Random::new(1);
                for _ in 0..1000 {
                    assert!((1..=items).contains(&ranks.draw(&mut random)));
                }
            }
        }
    }

    fn most_popular(in_order: bool) -> u64 {
        let kind = Zipf {
            exponent: 1.2,
            item: Bytes(4096),
            in_order,
            writes: 0,
        };
        let mut counts = vec![0; 256];
        for access in accesses(kind.source(&settings(20_000, 1 << 20, 1)).unwrap()) {
            counts[((access.address - HEAP) / 4096) as usize] += 1;
        }
        (0..256).max_by_key(|page| counts[*page]).unwrap() as u64
    }

    #[test]
    fn ranks_lie_in_order_or_scrambled() {
        assert_eq!(most_popular(true), 0);
        let random = &mut Random::new(1);
        assert_eq!(most_popular(false), Permutation::new(256, random).at(0));
        assert_ne!(most_popular(false), 0);
    }

    #[test]
    fn exponents_and_items_that_are_none() {
        let refused = |exponent, item| {
            let kind = Zipf {
                exponent,
                item: Bytes(item),
                in_order: true,
                writes: 0,
            };
            kind.source(&settings(1, 4096, 0))
                .err()
                .map(|e| e.to_string())
        };
        for exponent in [-0.1, 2.1, f64::NAN, f64::INFINITY] {
            assert!(refused(exponent, 64).unwrap().contains("no Zipf exponent"));
        }
        assert!(refused(1.0, 7).unwrap().contains("too small"));
        assert_eq!(refused(1.0, 8), None);
    }
}
