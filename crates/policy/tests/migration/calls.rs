//! What drivers report to migration policies, drawn at random.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::migration::{Access, Costs, Load, Loads, Migration, Plan, Side, Spec};
use terrace_policy::replacement::PageId;

/// Pages that are drawn.
pub const PAGES: u32 = 16;

/// By how much their numbers are apart: they are of two blocks of neighbours.
const APART: u32 = 3;

/// Settings of each policy that are tried: short intervals, and few accesses of which many are
/// seen.
pub const TRIED: &[&str] = &[
    "never",
    "interleave",
    "interleave:fast=2,slow=3",
    "sampled:interval=40us",
    "sampled:interval=100us,seen=1",
    "sampled:interval=30us,every=3",
    "hot:threshold=100us,period=50us,scan=16K",
    "hot:threshold=1ms,period=20us,scan=64K,rate=8K,adjust=300us",
    "benefit:every=1,turns=0.3,watch=1",
    "benefit:every=3,turns=1.5,expect=1,slack=0.2",
    "benefit:every=3,turns=1.5,watch=0.2,expect=4,slack=0",
    "benefit:every=1,turns=0.06,slack=1,watch=1",
    "write-aware:every=1,turns=0.3,watch=1",
    "write-aware:every=3,turns=1.5,expect=4,slack=0.2,wear=0",
    "write-aware:every=1,turns=0.06,slack=1,watch=1,expect=30,wear=3",
    "balance:every=1,turns=0.06,slack=1,watch=1,expect=30",
    "balance:every=3,turns=0.3,slack=1,watch=1,tolerance=0.3",
];

/// What moves cost on a drawn machine.
pub const COSTS: Costs = Costs {
    line_ps: 700_000,
    written_line_ps: 900_000,
    promotion: Duration::from_micros(3),
    demotion: Duration::from_micros(2),
    batch: Duration::from_micros(1),
    sample: Duration::from_nanos(300),
};

/// A call of a driver.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Came(PageId),
    Gone(PageId),
    /// One of the accesses that the policy sees, and what accesses took before it, if that is told.
    Sampled(Access, Duration, Option<Loads>),
    /// A scan, and the pages that were accessed, a bit each; of four, one was written.
    Scanned(u32, Duration),
    Hinted(Access, Duration, Duration),
    Stays(PageId, Side),
}

impl Call {
    /// Makes the call, and returns where a new page should lie.
    pub fn tell(&self, policy: &mut dyn Migration, plan: &mut Plan) -> Option<Side> {
        match *self {
            Self::Came(page) => return Some(policy.came(page)),
            Self::Gone(page) => policy.gone(page),
            Self::Sampled(access, time, loads) => {
                if let Some(loads) = loads {
                    policy.loaded(loads);
                }
                policy.sampled(access, time, plan);
            }
            Self::Scanned(bits, time) => {
                let accessed = (0..PAGES).filter(|page| bits >> page & 1 == 1);
                let access = |page| Access {
                    page: PageId(page * APART),
                    wrote: page % 4 == 0,
                };
                let accessed: Vec<Access> = accessed.map(access).collect();
                policy.scanned(&accessed, time, plan);
            }
            Self::Hinted(access, waited, time) => policy.hinted(access, waited, time, plan),
            Self::Stays(page, side) => policy.stays(page, side),
        }
        None
    }
}

/// Makes a policy with its costs.
pub fn policy(text: &str, fast: usize) -> Box<dyn Migration> {
    policy_with(text, fast, COSTS)
}

/// The same with other costs.
pub fn policy_with(text: &str, fast: usize, costs: Costs) -> Box<dyn Migration> {
    let made = Spec::parse(text).unwrap().policy(fast).unwrap();
    let mut policy = made.expect("slow memory serves lines");
    policy.set_costs(costs);
    policy
}

/// Calls in any order, most of them accesses, of which the first pages have more.
pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    let page = prop_oneof![2 => 0..PAGES, 1 => 0..4_u32].prop_map(|page| PageId(page * APART));
    let side = prop_oneof![Just(Side::Fast), Just(Side::Slow)];
    let step = (page, 0..20_u8, 0..20_u64, any::<u32>(), 0..200_u64, side);
    prop::collection::vec(step, 0..400).prop_map(|steps| {
        let mut micros = 0;
        let mut loads = Loads::default();
        let calls = steps
            .into_iter()
            .map(|(page, kind, wait, bits, waited, side)| {
                micros += wait;
                let time = Duration::from_micros(micros);
                let wrote = bits % 3 == 0;
                let access = Access { page, wrote };
                match kind {
                    0..=3 => Call::Came(page),
                    4 => Call::Gone(page),
                    5..=7 => Call::Scanned(bits, time),
                    8..=11 => Call::Hinted(access, Duration::from_micros(waited), time),
                    12 if bits % 4 == 0 => Call::Stays(page, side),
                    _ => {
                        let told = (bits % 4 == 1).then(|| {
                            let of = |load: Load, shift: u32| Load {
                                accesses: load.accesses + u64::from(bits >> shift & 0xF),
                                took_ps: load.took_ps + u64::from(bits >> shift & 0xFF0) * 25_000,
                                idle_ps: 400_000,
                            };
                            loads.fast = of(loads.fast, 2);
                            loads.slow = of(loads.slow, 14);
                            loads
                        });
                        Call::Sampled(access, time, told)
                    }
                }
            });
        calls.collect()
    })
}
