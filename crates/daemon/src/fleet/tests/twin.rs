//! A fleet of one target beside its controller and budget by hand.

use proptest::prelude::*;
use terrace_policy::control::budget::Budget;

use super::*;

/// What a service shows at a look.
fn looks() -> impl Strategy<Value = Vec<Seen>> {
    let seen = (
        0..1u64 << 31,
        0..1u64 << 30,
        0..500u64,
        0..64 * MIB,
        prop::bool::weighted(0.1),
    );
    let of = |(resident, swapped, stalled, written, short)| Seen {
        time: Duration::ZERO,
        resident,
        swapped,
        stalled: Duration::from_millis(stalled / 4),
        written,
        short,
    };
    prop::collection::vec(seen.prop_map(of), 1..150)
}

/// What the steps to reclaim come to, one after the other: often nothing.
const COMES_TO: [Moved; 7] = {
    let nothing = Moved { bytes: 0, tried: 0 };
    let tries = Moved { bytes: 0, tried: 1 };
    let moves = Moved {
        bytes: MIB,
        tried: 0,
    };
    [moves, tries, nothing, nothing, nothing, nothing, nothing]
};

/// A machine with one service, which shows what it is told to.
struct Script(Arc<Mutex<std::vec::IntoIter<Seen>>>, Arc<Mutex<Vec<Step>>>);

impl Machine for Script {
    fn open(&mut self, _: &Path) -> machine::Opened {
        Ok(Some(Box::new(Self(
            Arc::clone(&self.0),
            Arc::clone(&self.1),
        ))))
    }
}

impl Service for Script {
    fn look(&mut self) -> Result<Option<Seen>, String> {
        Ok(lock(&self.0).next())
    }

    fn carry_out(&mut self, step: Step) -> Result<Moved, String> {
        let mut steps = lock(&self.1);
        steps.push(step);
        Ok(COMES_TO[(steps.len() - 1) % COMES_TO.len()])
    }

    fn is_as_before(&mut self) -> bool {
        false
    }

    fn counted(&mut self) -> Counted {
        Counted::default()
    }

    fn heat(&mut self, _: usize) -> terrace_live::control::Heat {
        terrace_live::control::Heat::default()
    }
}

/// The slow twin of a fleet with one target: the controller and the budget by hand.
fn by_hand(policy: &Spec, a_day: u64, looks: &[Seen]) -> Vec<Step> {
    let mut controller = policy.controller().unwrap();
    let mut budget = Budget::new(a_day, ledger::BURST, 1);
    let (mut steps, mut small) = (Vec::new(), Vec::new());
    let first = controller.every();
    for seen in looks {
        budget.pass(seen.time + first);
        budget.wrote(0, seen.written);
        let allowance = budget.allowance(0);
        // Small steps to reclaim are one: of 256 KiB at least, as far as that may be written.
        let step = match controller.look(seen, Some(allowance)).step {
            Step::Hold => continue,
            Step::Reclaim(bytes) => {
                small.push(bytes);
                let pages = small.iter().sum::<u64>().min(allowance) / 4096;
                if pages < 64 {
                    continue;
                }
                Step::Reclaim(pages * 4096)
            }
            step => step,
        };
        small.clear();
        controller.came(COMES_TO[steps.len() % COMES_TO.len()]);
        steps.push(step);
    }
    steps
}

proptest! {
    #[test]
    fn a_fleet_of_one_does_what_its_controller_does(
        mut looks in looks(),
        goal in prop_oneof![Just("slowdown = \"5%\""), Just("dram = \"256M\""), Just("pressure = \"1%\"")],
    ) {
        let configuration = configuration(&format!("{}{WEAR}", targets(&["a"], goal)));
        let policy = configuration.targets["a"].goal.policy().unwrap();
        let every = policy.controller().unwrap().every();
        for (number, seen) in looks.iter_mut().enumerate() {
            seen.time = every * number as u32;
        }
        let steps = Arc::new(Mutex::new(Vec::new()));
        let script = Script(Arc::new(Mutex::new(looks.clone().into_iter())), Arc::clone(&steps));
        let mut fleet = Fleet::new(Box::new(script), &configuration, Ledger::default());
        for number in 0..looks.len() as u32 {
            let now = Now { since: every * (number + 1), wall_ms: 0 };
            if number == 0 {
                fleet.found(&[("a".to_owned(), Ok(vec![group("a", 1)]))].into(), now);
            }
            prop_assert_eq!(fleet.next(), Some(now.since));
            for job in fleet.turn(now) {
                fleet.done(job.perform(), now);
            }
        }
        let carried = lock(&steps).clone();
        prop_assert_eq!(carried, by_hand(&policy, 1_000_000_000, &looks));
    }
}
