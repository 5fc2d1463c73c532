//! Timeline of prefetching in simulations as CSV, a row for each epoch and machine.

use terrace_base::Result;
use terrace_base::schema::{Field, fields};
use terrace_policy::prefetch::LifeStory;
use terrace_sim::pages::{Point, Watched};

use crate::rows::Rows;

/// An epoch of a machine.
struct Epoch {
    machine: usize,
    dram: String,
    replacement: String,
    prefetch: String,
    end: Point,
    /// Fates of the pages that ended in the epoch.
    story: LifeStory,
}

fn columns() -> Vec<Field<Epoch>> {
    fields! { Epoch;
        /// number of the machine in the order of the results, from 1
        "machine" None |epoch| epoch.machine;
        /// DRAM, as it was asked for
        "dram" None |epoch| epoch.dram.clone();
        /// what stays in DRAM
        "replacement" None |epoch| epoch.replacement.clone();
        /// what is fetched ahead
        "prefetch" None |epoch| epoch.prefetch.clone();
        /// accesses from the start to the end of the epoch
        "accesses" None |epoch| epoch.end.accesses;
        /// virtual time from the start to the end of the epoch
        "time_ns" Nanos |epoch| epoch.end.time_ns;
        /// pages fetched ahead from the start to the end of the epoch
        "prefetches" None |epoch| epoch.end.story.issued;
        /// pages fetched ahead in the epoch
        "issued" None |epoch| epoch.story.issued;
        /// fetched pages that were touched, after they had arrived, in the epoch
        "used" None |epoch| epoch.story.used;
        /// fetched pages that were touched, before they had arrived, in the epoch
        "late" None |epoch| epoch.story.late;
        /// fetched pages that were evicted, before they were touched, in the epoch
        "wasted" None |epoch| epoch.story.wasted;
        /// accuracy of the pages that ended in the epoch; empty if none did
        "accuracy" Share |epoch| epoch.story.accuracy();
    }
}

/// Returns the CSV of machines and the ends of their epochs.
///
/// # Errors
/// A failure if there is no memory for it.
pub fn csv(machines: &[Watched]) -> Result<Vec<u8>> {
    let machines = machines.iter().zip(1..);
    let epochs = machines.flat_map(|((simulated, points), machine)| {
        let starts = [Point::default()].into_iter().chain(points.iter().copied());
        starts.zip(points).map(move |(start, end)| Epoch {
            machine,
            dram: simulated.dram.to_string(),
            replacement: simulated.machine.replacement.to_string(),
            prefetch: simulated.machine.prefetch.to_string(),
            end: *end,
            story: end.story - start.story,
        })
    });
    Rows::of(columns(), &epochs.collect::<Vec<_>>()).csv()
}
