//! What a mount has done so far.

use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Nanos};

use crate::cache::Cache;
use crate::endurance::Endurance;
use crate::store::Counts;

/// What a mount has done so far.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The process that serves the mount.
    pub process: u32,
    /// Seconds since it was mounted.
    pub elapsed_s: f64,
    /// Pages that were read and that the DRAM level had; null without one. What the kernel's page
    /// cache serves is not seen.
    pub dram_hits: Option<u64>,
    /// Pages that were read and that the DRAM level had not; null without one.
    pub dram_misses: Option<u64>,
    /// Mean time of a page from flash, in nanoseconds; null without any.
    pub flash_ns: Option<f64>,
    /// Mean time of a read of the source, in nanoseconds; null without any.
    pub source_ns: Option<f64>,
    /// Pages on flash now, with those of files that are gone or have changed.
    pub flash_pages: u64,
    /// Pages that the flash has room for.
    #[schemars(extend("unit" = "pages"))]
    pub flash_room: u64,
    /// Bytes of the index of the flash in DRAM.
    pub index_bytes: u64,
    /// What the flash level has done.
    pub flash: Counts,
    /// Bytes that were written to the flash over those of the pages that were admitted; null
    /// without any.
    pub write_amplification: Option<f64>,
    /// Years that the flash lives if it is written as it was so far; null without an endurance, or
    /// if nothing was written.
    pub projected_years: Option<f64>,
}

/// Where the figures of a mount come from.
pub(super) struct Status {
    began: Instant,
    cache: Option<Arc<Cache>>,
    endurance: Option<Endurance>,
}

impl Status {
    pub fn new(cache: Option<Arc<Cache>>, endurance: Option<Endurance>) -> Self {
        Self {
            began: Instant::now(),
            cache,
            endurance,
        }
    }

    pub fn figures(&self) -> Figures {
        let cache = self.cache.as_deref();
        let dram = cache
            .and_then(|cache| cache.dram())
            .map(|dram| dram.counts());
        let counts = cache.map_or_else(Counts::default, |cache| cache.store().counts());
        let held = cache.map(|cache| cache.store().held());
        let (flash_ns, source_ns) = cache.map_or((None, None), Cache::latencies);
        let span = Nanos(self.began.elapsed().as_nanos() as u64);
        let written = Bytes(counts.written_bytes);
        Figures {
            process: std::process::id(),
            elapsed_s: self.began.elapsed().as_secs_f64(),
            dram_hits: dram.map(|(hits, _)| hits),
            dram_misses: dram.map(|(_, misses)| misses),
            flash_ns,
            source_ns,
            flash_pages: held.map_or(0, |held| held.pages),
            flash_room: held.map_or(0, |held| held.room),
            index_bytes: held.map_or(0, |held| held.index_bytes),
            flash: counts,
            write_amplification: counts.write_amplification(),
            projected_years: self
                .endurance
                .and_then(|endurance| endurance.projected_years(written, span)),
        }
    }

    pub fn json(&self) -> String {
        serde_json::to_string(&self.figures()).unwrap_or_default()
    }
}
