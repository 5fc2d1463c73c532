//! Every predictor, by the name that people write.

use std::sync::Arc;

use super::{
    Order, Params, Predictor, auto, combo, leap, markov, oracle, readahead, spatial, stream,
    stride, stride_markov, temporal, vldp,
};
use crate::page::Location;
use crate::replacement::PageId;

/// All touches to come: 4 bytes each, and 16 a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Future {
    /// Where each page lies, by its number.
    pub pages: Vec<Location>,
    /// The pages that each thread will touch, in order, by the thread's number.
    pub touches: Vec<Vec<PageId>>,
}

/// A predictor, or a sentence that says which of its settings is wrong.
pub type Made = Result<Box<dyn Predictor>, String>;

/// How a predictor is made of its settings.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// From the settings alone.
    Online(fn(&mut Params) -> Made),
    /// From what is to come as well.
    Offline(fn(&mut Params, &Arc<Future>) -> Made),
}

/// A predictor's name on the command line, what it is, and how to make one.
#[derive(Debug)]
pub struct Entry {
    /// The name after `--prefetch`.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Its settings with their defaults, for `--help`: `degree=16, history=1`.
    pub keys: &'static str,
    /// Which of its hints goes next, where `queue` does not say otherwise.
    pub order: Order,
    /// Makes one.
    pub make: Make,
}

impl Entry {
    /// Whether it is made from what is to come.
    pub fn knows_future(&self) -> bool {
        matches!(self.make, Make::Offline(_))
    }
}

/// Every predictor, by name.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "auto",
        summary: "whichever of these pay, by the time that they win and lose; nothing where none does",
        keys: "of=stream+temporal",
        order: Order::Lifo,
        make: Make::Online(auto::Auto::make),
    },
    Entry {
        name: "combo",
        summary: "several at once: what they agree on first, the rest weighed by accuracy (Fedorov 2016, 5.4.4.5)",
        keys: "of=spatial+temporal, degree=16, overweight=10",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(combo::Combo::new(params)?))),
    },
    Entry {
        name: "corp",
        summary: "the kernel's aligned block, fetched beside the program, without a queue of hints (Fedorov 2016, 5.5.2)",
        keys: "cluster=3",
        order: Order::Direct,
        make: Make::Online(|params| Ok(Box::new(readahead::Readahead::new(params)?))),
    },
    Entry {
        name: "oracle",
        summary: "the pages that each thread will need next: it knows; the most that a predictor could win",
        keys: "degree=16, trigger=first-use",
        order: Order::Fifo,
        make: Make::Offline(|params, future| {
            Ok(Box::new(oracle::Oracle::new(params, Arc::clone(future))?))
        }),
    },
    Entry {
        name: "leap",
        summary: "the distance that most of a thread's latest faults keep (Al Maruf & Chowdhury, ATC 2020)",
        keys: "history=32, split=4, window=16",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(leap::Leap::new(params)?))),
    },
    Entry {
        name: "markov",
        summary: "the pages that were missed right after this one before (Oskin & Loh 2015, V.B)",
        keys: "states=262144, edges=4",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(markov::Markov::new(params)?))),
    },
    Entry {
        name: "spatial",
        summary: "the next pages in the order of addresses (Fedorov 2016, 5.4.4.3)",
        keys: "degree=8",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(spatial::Spatial::new(params)?))),
    },
    Entry {
        name: "stream",
        summary: "runs ahead of interleaved constant-stride streams, further as it proves right",
        keys: "first=8, depth=256, streams=24, history=16",
        order: Order::Lifo,
        make: Make::Online(|params| {
            let settings = stream::Settings::take(params)?;
            Ok(Box::new(stream::Stream::new(settings)))
        }),
    },
    Entry {
        name: "stride",
        summary: "the distances between misses seen last, nearest first (Oskin & Loh 2015, V.B; Awad 2016, 5.3)",
        keys: "history=1, strides=4, occurrences=1, depth=1, degree=16",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(stride::Stride::new(params)?))),
    },
    Entry {
        name: "stride+markov",
        summary: "both: the edges of markov before strides (Oskin & Loh 2015, V.B)",
        keys: "history=1, strides=4, occurrences=1, depth=1, degree=16, states=262144, edges=4",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(stride_markov::StrideMarkov::new(params)?))),
    },
    Entry {
        name: "temporal",
        summary: "the neighbours in the tier, which were swapped out together (Fedorov 2016, 5.4.4.2)",
        keys: "degree=16",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(temporal::Temporal::new(params)?))),
    },
    Entry {
        name: "vldp",
        summary: "the longest known pattern of distances between faults says what is next (Fedorov 2016, 5.4.4.4)",
        keys: "degree=16, tables=3, entries=4096, threshold=0.1",
        order: Order::Lifo,
        make: Make::Online(|params| Ok(Box::new(vldp::Vldp::new(params)?))),
    },
];

/// The predictor called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
