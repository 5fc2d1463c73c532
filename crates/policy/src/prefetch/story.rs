//! The life story of predictions (Fedorov 2016, figures 5.12 and 5.13), in total and for each
//! constituent of a combination (figure 5.10). [`LifeStory`] is the only definition of the counts
//! and of coverage, accuracy and timeliness; simulator, live driver and reports use it.

use std::ops::Sub;

use super::Outcome;

/// Declares [`LifeStory`] and the operations that treat all of its counts alike.
macro_rules! life_story {
    ($(#[$doc:meta])* struct $name:ident {
        $($(#[doc = $help:literal])+ $field:ident, $end:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(default)
        )]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: u64,)*
        }

        impl $name {
            /// All counts.
            pub const COUNTS: &[Count] = &[$(Count {
                name: stringify!($field),
                help: concat!($($help),+),
                end: $end,
                get: |story| story.$field,
            },)*];
        }

        impl Sub for $name {
            type Output = Self;

            /// Returns what was counted since `earlier`.
            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

life_story! {
    /// Numbers of predicted pages by what became of them.
    ///
    /// Each prediction is counted once in `predicted`. It is then filtered, wiped, found in memory
    /// or issued, or still waits in the queue ([`LifeStory::queued`]). An issued page ends as used,
    /// late, reissued or wasted, or is outstanding ([`LifeStory::outstanding`]).
    struct LifeStory {
        /// pages that predictors named
        predicted, "";
        /// predictions dropped before the queue: in memory, in flight, not in the tier, or
        /// throttled
        filtered, "filtered before the queue";
        /// predictions pushed out of the secondary queue by newer ones, or whose address space
        /// ended
        wiped, "wiped from the queue";
        /// predictions found in memory when their turn came
        in_memory, "in memory at their turn";
        /// pages fetched ahead
        issued, "";
        /// fetched pages that were touched after they had arrived
        used, "used";
        /// fetched pages that were touched before they had arrived
        late, "late";
        /// fetches that read nothing, because a demand fault had begun to read the page
        reissued, "reissued";
        /// fetched pages that were evicted, or whose program ended, before they were touched
        wasted, "wasted";
    }
}

/// A count of [`LifeStory`], for reports.
#[derive(Debug)]
pub struct Count {
    /// Name of the field.
    pub name: &'static str,
    /// Meaning, as part of a sentence.
    pub help: &'static str,
    /// What became of the pages that it counts, for tables; empty where that is counted in parts.
    pub end: &'static str,
    /// Returns the count.
    pub get: fn(&LifeStory) -> u64,
}

/// The life story of the pages that exactly these constituents of a combination named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Constituent {
    /// Names of the constituents with `+` between them: `spatial`, `spatial+temporal`.
    pub names: String,
    /// Life story of the pages. A page that was named again because it may have been evicted is
    /// counted again.
    pub story: LifeStory,
}

impl Constituent {
    /// Returns what was counted since `earlier`, a state of all constituents.
    pub fn since(&self, earlier: &[Self]) -> Self {
        let before = earlier.iter().find(|one| one.names == self.names);
        let before = before.map(|one| one.story).unwrap_or_default();
        Self {
            names: self.names.clone(),
            story: self.story - before,
        }
    }
}

/// The life story of all predictions, and of those of each set of constituents.
#[derive(Debug, Default)]
pub(super) struct Stories {
    pub(super) all: LifeStory,
    /// Stories by set of constituents, a bit each; empty for a predictor without constituents.
    parts: Vec<(u8, LifeStory)>,
}

impl Stories {
    /// Records an event in the total story and in that of the constituents `by`.
    pub(super) fn tell(&mut self, by: u8, event: impl Fn(&mut LifeStory)) {
        event(&mut self.all);
        if by == 0 {
            return;
        }
        match self.parts.iter_mut().find(|(known, _)| *known == by) {
            Some((_, story)) => event(story),
            None => {
                let mut story = LifeStory::default();
                event(&mut story);
                self.parts.push((by, story));
            }
        }
    }

    /// Returns the story of each set of constituents that named a page: single constituents in the
    /// order of `names`, then larger sets.
    pub(super) fn parts(&self, names: &[&str]) -> Vec<Constituent> {
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(by, _)| (by.count_ones(), *by));
        let named = |by: u8| {
            let bits = names.iter().enumerate().filter(|(at, _)| by >> at & 1 != 0);
            bits.map(|(_, name)| *name).collect::<Vec<_>>().join("+")
        };
        let part = |(by, story)| Constituent {
            names: named(by),
            story,
        };
        parts.into_iter().map(part).collect()
    }
}

impl LifeStory {
    /// Counts the end of one fetched page.
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Used => self.used += 1,
            Outcome::Late => self.late += 1,
            Outcome::Reissued => self.reissued += 1,
            Outcome::Wasted => self.wasted += 1,
        }
    }

    /// Accuracy: the share of the fetched pages with a known end that were touched,
    /// `(used + late) / (used + late + wasted)`. `None` if no fetched page has ended.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.used + self.late, self.wasted)
    }

    /// Coverage: the share of the misses without prefetching that were predicted,
    /// `(used + late) / (used + late + missed)`, where `missed` full misses remained. `None` if
    /// there were none of either.
    pub fn coverage(&self, missed: u64) -> Option<f64> {
        share(self.used + self.late, missed)
    }

    /// Timeliness: the share of the touched fetched pages that had arrived before the touch,
    /// `used / (used + late)`. `None` if no fetched page was touched.
    pub fn timeliness(&self) -> Option<f64> {
        share(self.used, self.late)
    }

    /// Fetched pages whose end is not known yet.
    pub fn outstanding(&self) -> u64 {
        self.issued - self.used - self.late - self.reissued - self.wasted
    }

    /// Predictions that still wait in the secondary queue.
    pub fn queued(&self) -> u64 {
        self.predicted - self.filtered - self.wiped - self.in_memory - self.issued
    }
}

/// Returns `part / (part + rest)`.
fn share(part: u64, rest: u64) -> Option<f64> {
    let all = part + rest;
    (all > 0).then(|| part as f64 / all as f64)
}
