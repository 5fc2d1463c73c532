//! What a machine keeps where slow memory serves lines by itself: the migration policy, and what it
//! asked for.

use std::num::NonZeroU32;
use std::time::Duration;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Nanos, Result};
use terrace_policy::migration::{Access, Costs, Migration, Plan, Side};
use terrace_policy::replacement::PageId;

use super::bandwidth::Bandwidth;
use super::cost::{FaultCost, Shootdown};
use super::line_wear::LineWear;
use super::placement::InForce;
use super::settings::{Fill, PageMachine, Slower};
use super::threads::NEVER;

/// Lines of a page, a bit each.
pub(super) const ALL: u64 = u64::MAX;

/// The lines of a page in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sectors {
    /// Lines that DRAM holds.
    pub(super) here: u64,
    /// Those of them that were written since.
    pub(super) dirty: u64,
}

/// The state of a machine whose slow memory serves lines.
pub(super) struct Lines {
    pub(super) policy: Box<dyn Migration>,
    /// Writes of each line, if something is reckoned from them.
    pub(super) wear: Option<LineWear>,
    /// What the policy has asked for at the present moment.
    pub(super) plan: Plan,
    /// By how much a line of slow memory takes longer.
    pub(super) slower: Slower,
    /// What passes the channels of both memories, if that is limited.
    pub(super) bandwidth: Option<Box<Bandwidth>>,
    /// By program: whether its trace has passed caches, so that a store reads the line that it
    /// misses, and a row of its own writes that back.
    pub(super) cached: Vec<bool>,
    /// Accesses up to the next that the policy sees, and that one, if it looks at samples.
    sample: Option<u32>,
    /// Time of the next scan; [`NEVER`] if there is none.
    pub(super) next_scan: Nanos,
    /// When pages were marked whose next access is a hint fault.
    marked: FxHashMap<PageId, Nanos>,
    /// The lines of pages that came to DRAM without all of them.
    pub(super) sectors: FxHashMap<PageId, Sectors>,
    /// By allocation site: whether its objects are placed in DRAM.
    pub(super) placed: Vec<bool>,
}

impl Lines {
    /// Makes the state of a machine with a placement in force, for programs whose traces have
    /// passed caches or not; `None` if its slow memory serves no lines.
    ///
    /// # Errors
    /// The errors of [`PageMachine::bypass`], and a usage error if a setting of the policy or of
    /// wear levelling is wrong.
    pub(super) fn new(
        settings: &PageMachine,
        force: InForce,
        cached: Vec<bool>,
    ) -> Result<Option<Self>> {
        let Some(slower) = settings.bypass()? else {
            return Ok(None);
        };
        let policy = (settings.migration).policy(settings.dram_pages.saturating_sub(force.pages));
        let policy = policy.map_err(Error::usage)?;
        let wear = LineWear::new(settings)?;
        Ok(policy.map(|policy| Self {
            sample: None,
            next_scan: moment(policy.next_scan()),
            bandwidth: Bandwidth::of(settings, slower, policy.weighs_loads()).map(Box::new),
            policy,
            wear,
            plan: Plan::default(),
            slower,
            cached,
            marked: FxHashMap::default(),
            sectors: FxHashMap::default(),
            placed: force.sites,
        }))
    }

    /// Whether objects of a site are in DRAM in any case.
    #[inline]
    pub(super) fn is_placed(&self, site: Option<u32>) -> bool {
        site.is_some_and(|site| self.placed.get(site as usize) == Some(&true))
    }

    /// Hands what moves cost to the policy.
    pub(super) fn set_costs(&mut self, costs: Costs) {
        self.policy.set_costs(costs);
        self.weigh_loads();
        self.sample = samples(&*self.policy);
    }

    /// Whether the policy sees this access, which is counted.
    #[inline]
    pub(super) fn is_sample(&mut self) -> bool {
        let Some(left) = &mut self.sample else {
            return false;
        };
        *left -= 1;
        *left == 0
    }

    /// Hands the accessed pages to the policy.
    pub(super) fn scan(&mut self, accessed: &[Access], now: Nanos) {
        let time = Duration::from_nanos(now.0);
        self.policy.scanned(accessed, time, &mut self.plan);
        self.next_scan = moment(self.policy.next_scan());
    }

    /// Hands an access to the policy.
    pub(super) fn sampled(&mut self, access: Access, now: Nanos) {
        self.weigh_loads();
        let time = Duration::from_nanos(now.0);
        self.policy.sampled(access, time, &mut self.plan);
        self.sample = samples(&*self.policy);
    }

    /// Hands what lines took so far to a policy that weighs it.
    fn weigh_loads(&mut self) {
        if self.policy.weighs_loads()
            && let Some(bandwidth) = &self.bandwidth
        {
            self.policy.loaded(bandwidth.loads());
        }
    }

    /// Hands a hint fault to the policy.
    pub(super) fn hinted(&mut self, access: Access, now: Nanos) {
        let marked = self.marked.remove(&access.page).unwrap_or(now);
        let waited = Duration::from_nanos(now.saturating_sub(marked).0);
        let time = Duration::from_nanos(now.0);
        self.policy.hinted(access, waited, time, &mut self.plan);
    }

    /// Notes that a page was marked.
    pub(super) fn mark(&mut self, page: PageId, now: Nanos) {
        self.marked.insert(page, now);
    }

    /// Forgets a page.
    pub(super) fn gone(&mut self, page: PageId) {
        self.policy.gone(page);
        self.marked.remove(&page);
        self.sectors.remove(&page);
    }

    /// Whether the page lies in DRAM after its first touch.
    pub(super) fn came(&mut self, page: PageId) -> bool {
        self.policy.came(page) == Side::Fast
    }
}

/// Returns the accesses up to the next that a policy sees, and that one, if it looks at any.
fn samples(policy: &dyn Migration) -> Option<u32> {
    policy.every().map(NonZeroU32::get)
}

fn moment(time: Option<Duration>) -> Nanos {
    time.map_or(NEVER, |time| {
        Nanos(u64::try_from(time.as_nanos()).unwrap_or(NEVER.0))
    })
}

/// Returns what moves cost in a program of this number of threads, and what they save: at most, as
/// a page that is clean need not be copied back.
pub(super) fn costs(settings: &PageMachine, slower: Slower, threads: u32) -> Costs {
    let fault = &settings.fault;
    let shootdown = fault.shootdown.cost(threads) * shootdowns(fault);
    let (each, batch) = match fault.shootdown {
        Shootdown::Batched => (Nanos::ZERO, shootdown),
        _ => (shootdown, Nanos::ZERO),
    };
    let copied = match settings.fill {
        Fill::Page => fault.copy,
        Fill::Sectors => Nanos::ZERO,
    };
    let time = |nanos: Nanos| Duration::from_nanos(nanos.0);
    Costs {
        line_ps: slower.read_ps,
        written_line_ps: slower.write_ps,
        promotion: time(fault.unmap + copied + fault.map + each),
        demotion: time(fault.unmap + settings.copy_out() + fault.map + each),
        batch: time(batch),
        sample: time(settings.sample),
    }
}

/// Returns the number of shoot-downs for a page that moves.
pub(super) fn shootdowns(fault: &FaultCost) -> u64 {
    1 + u64::from(fault.shootdown_on_map)
}
