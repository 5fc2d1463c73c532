//! Whose turn is next among the tasks of a core: the task that has received the least time.
//!
//! The rule of the kernel's fair scheduler, which Fedorov 2016 relies on (3.5.3, 3.5.4): each task
//! has a virtual time, the time that it has run, divided by its weight; the task whose virtual time
//! is least is next. A turn of 30 ms costs as much virtual time as ten of 3 ms, so that a task with
//! long turns waits longer for the next one. Of tasks that never sleep the virtual times differ by
//! no more than the longest turn: only the one that is last of all runs.
//!
//! A task that joins, or that comes back from sleep, begins at the least virtual time of those that
//! wait, if its own is not later: it has no claim to time in which it did not wait, and sleep does
//! not make a long turn undone.

use std::time::Duration;

use super::Task;

/// The tasks of a core that can run, and the time that they have received.
#[derive(Clone, Debug, Default)]
pub struct Fair {
    /// In the order of their last turns, the one that ran longest ago first.
    claims: Vec<Claim>,
    /// The virtual time from which tasks that join begin; it never goes back.
    least: f64,
}

/// A task's claim to a core.
#[derive(Clone, Copy, Debug)]
struct Claim {
    task: Task,
    /// Time received, divided by the weight, in seconds.
    received: f64,
    /// Weight by which time is shared, 1 for the usual priority.
    weight: f64,
    /// Whether it can run.
    waits: bool,
}

impl Fair {
    /// The weight of a task with the usual priority, as the kernel's.
    pub const USUAL_WEIGHT: u32 = 1024;

    /// Adds a task that can run now, new or after it slept, with its weight; one that is there gets
    /// the weight. A weight of 2048 is worth twice the time of 1024; 0 counts as 1.
    pub fn join(&mut self, task: Task, weight: u32) {
        let weight = f64::from(weight.max(1)) / f64::from(Self::USUAL_WEIGHT);
        let least = self.least;
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.task == task) {
            if !claim.waits {
                claim.received = claim.received.max(least);
            }
            (claim.weight, claim.waits) = (weight, true);
            return;
        }
        self.claims.push(Claim {
            task,
            received: least,
            weight,
            waits: true,
        });
    }

    /// Notes that a task sleeps: it has no turn until it joins again.
    pub fn leave(&mut self, task: Task) {
        let mut claims = self.claims.iter_mut();
        if let Some(claim) = claims.find(|claim| claim.task == task) {
            claim.waits = false;
        }
        self.go_on();
    }

    /// Removes a task that has ended, or that has another core now.
    pub fn forget(&mut self, task: Task) {
        self.claims.retain(|claim| claim.task != task);
        self.go_on();
    }

    /// Returns the task whose turn is next: the one with the least virtual time, and of several the
    /// one that ran longest ago.
    pub fn next(&self) -> Option<Task> {
        self.next_of(|_| true)
    }

    /// Same as [`Fair::next`], of the tasks that may run: several cores share the tasks, each of
    /// which has its turn on one core, and may be bound to some of them.
    pub fn next_of(&self, may: impl Fn(Task) -> bool) -> Option<Task> {
        let those = self.waiting().filter(|claim| may(claim.task));
        least_of(those).map(|claim| claim.task)
    }

    /// Accounts for a task's turn, or a part of it, of `time` on the core.
    pub fn ran(&mut self, task: Task, time: Duration) {
        let mut claims = self.claims.iter();
        let Some(place) = claims.position(|claim| claim.task == task) else {
            return;
        };
        let mut claim = self.claims.remove(place);
        claim.received += time.as_secs_f64() / claim.weight;
        self.claims.push(claim);
        self.go_on();
    }

    /// Returns the tasks that can run.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        self.waiting().map(|claim| claim.task)
    }

    fn waiting(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.waits)
    }

    /// Has the least virtual time follow that of the tasks that wait.
    fn go_on(&mut self) {
        if let Some(first) = least_of(self.waiting()) {
            self.least = self.least.max(first.received);
        }
    }
}

/// Returns the claim with the least virtual time, and of several the one that ran longest ago.
fn least_of<'a>(claims: impl Iterator<Item = &'a Claim>) -> Option<&'a Claim> {
    claims.min_by(|a, b| a.received.total_cmp(&b.received))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const A: Task = Task(1);
    const B: Task = Task(2);
    const C: Task = Task(3);
    const USUAL: u32 = Fair::USUAL_WEIGHT;

    fn fair(tasks: &[Task]) -> Fair {
        let mut fair = Fair::default();
        tasks.iter().for_each(|task| fair.join(*task, USUAL));
        fair
    }

    /// Runs turns, of the length that each task's has, and returns whose they were.
    fn turns(fair: &mut Fair, count: usize, length: impl Fn(Task) -> Duration) -> Vec<Task> {
        let mut turn = || {
            let task = fair.next().expect("a task waits");
            fair.ran(task, length(task));
            task
        };
        (0..count).map(|_| turn()).collect()
    }

    #[test]
    fn tasks_with_equal_turns_go_round() {
        let order = turns(&mut fair(&[A, B, C]), 6, |_| 30 * MS);
        assert_eq!(order, [A, B, C, A, B, C]);
    }

    #[test]
    fn two_cores_share_the_tasks() {
        let mut fair = fair(&[A, B, C]);
        fair.ran(A, 30 * MS);
        assert_eq!(fair.next_of(|task| task != B), Some(C));
        assert_eq!(fair.next_of(|task| task == A), Some(A));
        fair.leave(A);
        assert_eq!(fair.next_of(|task| task == A), None, "it sleeps");
    }

    #[test]
    fn a_long_turn_is_followed_by_several_short_ones_of_the_other() {
        let length = |task| if task == A { 30 * MS } else { 10 * MS };
        let order = turns(&mut fair(&[A, B]), 8, length);
        assert_eq!(order, [A, B, B, B, A, B, B, B]);
    }

    #[test]
    fn twice_the_weight_gets_twice_the_time() {
        let mut fair = Fair::default();
        fair.join(A, 2 * USUAL);
        fair.join(B, USUAL);
        let order = turns(&mut fair, 30, |_| 8 * MS);
        assert_eq!(order.iter().filter(|task| **task == A).count(), 20);
    }

    #[test]
    fn a_task_that_slept_gets_no_time_for_it() {
        let mut fair = fair(&[A, B, C]);
        fair.leave(C);
        turns(&mut fair, 100, |_| 10 * MS);
        fair.join(C, USUAL);
        let order = turns(&mut fair, 30, |_| 10 * MS);
        assert_eq!(order.iter().filter(|task| **task == C).count(), 10);
    }

    /// B has had a long turn, and sleeps for a moment: it is C's turn all the same.
    #[test]
    fn sleep_does_not_undo_a_long_turn() {
        let mut fair = fair(&[B, C]);
        fair.ran(B, 100 * MS);
        fair.leave(B);
        fair.join(B, USUAL);
        let order = turns(&mut fair, 10, |_| 10 * MS);
        assert_eq!(order, [C; 10]);
    }

    #[test]
    fn tasks_that_are_not_there_do_no_harm() {
        let mut fair = fair(&[]);
        assert_eq!(fair.next(), None);
        fair.ran(A, MS);
        fair.leave(A);
        fair.forget(A);
        fair.join(A, 0);
        fair.ran(A, Duration::MAX);
        fair.join(B, USUAL);
        assert_eq!(fair.tasks().collect::<Vec<_>>(), [A, B]);
    }
}
