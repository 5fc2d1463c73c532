//! Laws of turns: bounds hold and nothing panics, in whichever order a driver reports; and tasks
//! receive equal time whatever the lengths of their turns.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::sched::{
    Ended, Fair, Machine, Next, Plan, Progress, REGISTRY, Spec, Task, Turns,
};

const LEAST: Duration = Duration::from_millis(3);
const MOST: Duration = Duration::from_millis(90);

/// Every policy but `off`, with bounds where it has any.
fn policies() -> Vec<Box<dyn Turns>> {
    let policies = REGISTRY.iter().filter_map(|entry| {
        let keys: Vec<_> = entry.settings().iter().map(|setting| setting.key).collect();
        let bounds = if keys.contains(&"least") {
            ":least=3ms,most=90ms"
        } else {
            ""
        };
        let spec = Spec::parse(&format!("{}{bounds}", entry.name)).unwrap();
        spec.policy(&Machine::default()).unwrap()
    });
    policies.collect()
}

/// What a driver reports.
#[derive(Clone, Copy, Debug)]
enum Call {
    Begin,
    Progress(Progress),
    End(Progress, Ended),
    Forget,
}

fn progress() -> impl Strategy<Value = Progress> {
    let time = prop_oneof![
        4 => (0..200_000_u64).prop_map(Duration::from_micros),
        1 => Just(Duration::MAX),
        1 => Just(Duration::ZERO),
    ];
    let misses = prop_oneof![
        4 => (0..1_000_000_u64).prop_map(Some),
        1 => Just(Some(u64::MAX)),
        1 => Just(None),
    ];
    (time, misses).prop_map(|(time, misses)| Progress { time, misses })
}

fn call() -> impl Strategy<Value = (u32, Call)> {
    let why = prop_oneof![Just(Ended::UsedUp), Just(Ended::Slept), Just(Ended::Cut)];
    let call = prop_oneof![
        2 => Just(Call::Begin),
        4 => progress().prop_map(Call::Progress),
        2 => (progress(), why).prop_map(|(progress, why)| Call::End(progress, why)),
        1 => Just(Call::Forget),
    ];
    (0..3_u32, call)
}

/// Tasks of a core: each with the misses per millisecond at first and later, when the change is,
/// and its weight.
fn tasks() -> impl Strategy<Value = Vec<[u64; 3]>> {
    let task = (0..20_000_u64, 0..20_000_u64, 1..60_u64);
    prop::collection::vec(
        task.prop_map(|(first, later, change)| [first, later, change]),
        1..8,
    )
}

/// Runs a turn of a task by the policy, and returns its length.
fn turn(turns: &mut dyn Turns, task: Task, [first, later, change]: [u64; 3]) -> Duration {
    let Plan { mut look, .. } = turns.begin(task);
    loop {
        let micros = look.as_micros() as u64;
        let early = micros.min(change * 1000);
        let misses = (early * first + (micros - early) * later) / 1000;
        let progress = Progress {
            time: look,
            misses: Some(misses),
        };
        match turns.progress(task, progress) {
            Next::Look(next) => {
                assert!(next > look, "time goes on");
                look = next;
            }
            Next::End => {
                turns.end(task, progress, Ended::UsedUp);
                return look;
            }
        }
    }
}

proptest! {
    #[test]
    fn bounds_hold_after_any_calls(calls in prop::collection::vec(call(), 0..200)) {
        for mut turns in policies() {
            for (task, call) in &calls {
                let task = Task(*task);
                match *call {
                    Call::Begin => {
                        let plan = turns.begin(task);
                        prop_assert!((LEAST..=MOST).contains(&plan.turn));
                        prop_assert!(plan.look <= plan.turn && plan.look > Duration::ZERO);
                    }
                    Call::Progress(progress) => match turns.progress(task, progress) {
                        Next::Look(at) => prop_assert!(at > progress.time && at <= MOST),
                        Next::End => prop_assert!(progress.time >= LEAST),
                    },
                    Call::End(progress, why) => turns.end(task, progress, why),
                    Call::Forget => turns.forget(task),
                }
            }
        }
    }

    #[test]
    fn what_tasks_receive_differs_by_one_turn_at_most(tasks in tasks()) {
        for mut turns in policies() {
            let mut fair = Fair::default();
            let numbers: Vec<Task> = (0..tasks.len() as u32).map(Task).collect();
            numbers.iter().for_each(|task| fair.join(*task, Fair::USUAL_WEIGHT));
            let mut received: HashMap<Task, Duration> =
                numbers.iter().map(|task| (*task, Duration::ZERO)).collect();
            let mut longest = Duration::ZERO;
            let mut clock = Duration::ZERO;
            while clock < Duration::from_secs(3) {
                let task = fair.next().unwrap();
                let time = turn(&mut *turns, task, tasks[task.0 as usize]);
                fair.ran(task, time);
                *received.get_mut(&task).unwrap() += time;
                clock += time;
                longest = longest.max(time);
                let (least, most) = (received.values().min(), received.values().max());
                let apart = *most.unwrap() - *least.unwrap();
                prop_assert!(apart <= longest + Duration::from_nanos(10), "{apart:?} {longest:?}");
                prop_assert!(time >= LEAST && time <= MOST);
            }
        }
    }

    /// A task that sleeps now and then never gets more than one that waits all the time.
    #[test]
    fn sleep_gains_no_time(steps in prop::collection::vec((any::<bool>(), 1..100_u64), 50..200)) {
        let (sleeper, other) = (Task(1), Task(2));
        let mut fair = Fair::default();
        fair.join(sleeper, Fair::USUAL_WEIGHT);
        fair.join(other, Fair::USUAL_WEIGHT);
        let mut received = [0; 3];
        for (awake, millis) in steps {
            match awake {
                true => fair.join(sleeper, Fair::USUAL_WEIGHT),
                false => fair.leave(sleeper),
            }
            let task = fair.next().unwrap();
            fair.ran(task, Duration::from_millis(millis));
            received[task.0 as usize] += millis;
        }
        prop_assert!(received[1] <= received[2] + 100, "{received:?}");
    }
}
