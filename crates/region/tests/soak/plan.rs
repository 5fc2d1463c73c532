//! What a run of the program is: its slow memory, and a geometry that a seed draws.

use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Bytes;
use terrace_device::Catalogue;
use terrace_policy::{prefetch, replacement, write};
use terrace_region::Settings;
use terrace_region::slow::Slow;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;

use crate::hostile::{Hostile, Rates};

/// The name of a link to the block device.
pub const DEVICE: &str = "device";

/// A kind of slow memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An emulated memory.
    Emulated,
    /// A file.
    File,
    /// A block device.
    Device,
    /// A file for which there is no room.
    Full,
    /// One of the first two, some of whose writes fail.
    FailingWrites,
    /// One of the first two, some of whose reads fail.
    FailingReads,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Emulated,
        Self::File,
        Self::Device,
        Self::Full,
        Self::FailingWrites,
        Self::FailingReads,
    ];
}

/// Technologies that are emulated, from the fastest to a millisecond a write.
const TECHNOLOGIES: [&str; 7] = [
    "pcm",
    "pcm-row",
    "3d-xpoint",
    "nvme-10us",
    "nvme-flash",
    "flash",
    "nand-tlc",
];

/// A run.
#[derive(Debug)]
pub struct Plan {
    pub kind: Kind,
    pub seed: u64,
    pub threads: u32,
    /// Pages of the region that all threads share.
    pub shared: u32,
    /// Pages of each thread's own region.
    pub own: u32,
    /// The bound of DRAM in pages.
    pub dram: u64,
    write: String,
    replacement: &'static str,
    /// The share of pages whose references are sampled; `None` for none.
    references: Option<f64>,
    /// The predictor of what is fetched ahead; `None` for nothing.
    prefetch: Option<&'static str>,
    /// The emulated technology; `None` for a file.
    technology: Option<&'static str>,
    rates: Rates,
}

impl Plan {
    /// Draws a run; the same kind and seed give the same.
    pub fn draw(kind: Kind, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut below = |limit: usize| random.next_u64() as usize % limit;
        let threads = [1, 2, 3, 4, 4, 4][below(6)];
        let shared = 300 + below(1700) as u32;
        let own = 20 + below(200) as u32;
        let pages = u64::from(shared + threads * own);
        let share = [5, 10, 10, 10, 20][below(5)];
        let dram = (pages * share / 100).max(Settings::LEAST_DRAM);
        let pin = ["on", "off"][below(2)];
        let scheme = write::REGISTRY[below(write::REGISTRY.len())].name;
        let present = |entry: &&replacement::Entry| !entry.knows_future();
        let policies: Vec<_> = replacement::REGISTRY.iter().filter(present).collect();
        let replacement = policies[below(policies.len())].name;
        let prefetch = [None, Some("stream"), Some("spatial"), Some("combo")][below(4)];
        let references = [None, Some(0.1), Some(0.5), Some(Settings::MOST_REFERENCES)][below(4)];
        let technology = TECHNOLOGIES[below(TECHNOLOGIES.len())];
        let technology = match kind {
            Kind::Emulated => Some(technology),
            Kind::File | Kind::Device | Kind::Full => None,
            Kind::FailingWrites | Kind::FailingReads => (below(2) == 0).then_some(technology),
        };
        let mut rates = Rates::default();
        if matches!(kind, Kind::FailingWrites | Kind::FailingReads) {
            rates.late = [0, 2, 20][below(3)];
        }
        match kind {
            Kind::FailingWrites => rates.writes = [20, 200, 1000][below(3)],
            Kind::FailingReads => rates.reads = [1000, 10_000, 100_000][below(3)],
            _ => {}
        }
        Self {
            kind,
            seed,
            threads,
            shared,
            own,
            dram,
            write: format!("{scheme}:pin={pin}"),
            replacement,
            references,
            prefetch,
            technology,
            rates,
        }
    }

    /// Returns the pages of all regions.
    pub fn pages(&self) -> u32 {
        self.shared + self.threads * self.own
    }

    /// Returns the settings of the extended memory, whose file or link to its device, if it has
    /// one, lies in a directory.
    pub fn settings(&self, directory: &Path) -> Settings {
        let slow: Box<dyn Slow> = match self.technology {
            Some(name) => {
                let catalogue = Catalogue::builtin();
                let timing = catalogue.get(name).unwrap().timing().unwrap();
                Box::new(Emulated::new(timing))
            }
            None if self.kind == Kind::Device => {
                Box::new(Disk::on_device(&directory.join(DEVICE)).unwrap())
            }
            None => Box::new(Disk::in_directory(directory).unwrap()),
        };
        Settings {
            dram: Bytes::of_pages(self.dram),
            replacement: replacement::Spec::parse(self.replacement).unwrap(),
            references: self.references,
            prefetch: self
                .prefetch
                .map(|name| prefetch::Spec::parse(name).unwrap()),
            write: write::Spec::parse(&self.write).unwrap(),
            slow: Box::new(Hostile::new(slow, self.rates, self.seed)),
            judge: false,
        }
    }
}
