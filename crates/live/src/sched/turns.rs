//! The turns that came out: how long a task of the mix had a CPU before another task of the mix had
//! it.
//!
//! A task outside of the mix that comes in between, as one that sleeps and wakes up for a moment,
//! does not end a turn: what the task has in the cache is there when it goes on. Its time does not
//! count.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::sample::Sample;
use super::switches::Switch;

/// Spells that are kept for the picture.
const MOST_SPELLS: usize = 4000;
/// Time of the picture: from, and until.
const SHOWN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(2500));

/// Some time in which a program had a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// The CPU.
    pub cpu: usize,
    /// Index of the program.
    pub program: usize,
    /// Begin, since the start of the run.
    pub from: Duration,
    /// End.
    pub until: Duration,
}

/// The turn that goes on on a CPU.
#[derive(Clone, Copy, Debug)]
struct Present {
    task: u32,
    program: usize,
    /// Time that the task has run in it.
    time: Duration,
}

/// What runs on a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// The task that runs, since when.
    running: Option<(u32, Duration)>,
    turn: Option<Present>,
}

/// Turns by program.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    began: Duration,
    cpus: FxHashMap<usize, Cpu>,
    /// Lengths in seconds.
    lengths: Vec<Sample>,
    /// Number and total length of turns since it was last asked.
    lately: (u64, Duration),
    spells: Vec<Spell>,
}

impl Turns {
    /// Begins at a time by the clock of the switches.
    pub fn since(began: Duration) -> Self {
        Self {
            began,
            ..Self::default()
        }
    }

    /// Adds a switch; `program_of` tells the program of a CPU-bound task of the mix.
    pub fn add(&mut self, switch: Switch, program_of: impl Fn(u32) -> Option<usize>) {
        let cpu = self.cpus.entry(switch.cpu).or_default();
        let ran = cpu.running.replace((switch.to, switch.at));
        let Some((task, since)) = ran else { return };
        let Some(program) = program_of(task) else {
            return;
        };
        let time = switch.at.saturating_sub(since);
        let spell = Spell {
            cpu: switch.cpu,
            program,
            from: since.saturating_sub(self.began),
            until: switch.at.saturating_sub(self.began),
        };
        let ended = match &mut cpu.turn {
            Some(turn) if turn.task == task => {
                turn.time += time;
                None
            }
            turn => turn.replace(Present {
                task,
                program,
                time,
            }),
        };
        if let Some(turn) = ended {
            self.end(turn);
        }
        self.show(spell);
    }

    fn end(&mut self, turn: Present) {
        if self.lengths.len() <= turn.program {
            self.lengths.resize_with(turn.program + 1, Sample::default);
        }
        self.lengths[turn.program].add(turn.time.as_secs_f64());
        self.lately.0 += 1;
        self.lately.1 += turn.time;
    }

    fn show(&mut self, spell: Spell) {
        let shown = spell.until > SHOWN.0 && spell.from < SHOWN.1;
        if shown && self.spells.len() < MOST_SPELLS {
            self.spells.push(spell);
        }
    }

    /// Returns the lengths of a program's turns, in seconds.
    pub fn of(&self, program: usize) -> Sample {
        self.lengths.get(program).cloned().unwrap_or_default()
    }

    /// Returns the mean length of the turns since the last call; `None` if there were none.
    pub fn lately(&mut self) -> Option<Duration> {
        let (count, time) = std::mem::take(&mut self.lately);
        (count > 0).then(|| time / count as u32)
    }

    /// Returns who ran when, for some time soon after the start.
    pub fn spells(self) -> Vec<Spell> {
        self.spells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Adds switches to tasks at times in ms, on one CPU; tasks 1 to 9 are of the mix.
    fn turns(switches: &[(u32, u32)]) -> Turns {
        let mut turns = Turns::since(Duration::ZERO);
        for &(at, to) in switches {
            let switch = Switch {
                at: at * MS,
                cpu: 0,
                to,
            };
            turns.add(switch, |task| {
                (1..10).contains(&task).then_some(task as usize)
            });
        }
        turns
    }

    #[test]
    fn a_turn_ends_with_the_next_task_of_the_mix() {
        let mut turns = turns(&[(0, 1), (10, 2), (15, 1), (45, 2), (50, 1)]);
        assert_eq!(turns.of(1).count(), 2, "the last turn of 2 goes on");
        assert_eq!(turns.of(1).mean(), Some(0.02));
        assert_eq!(turns.of(2).mean(), Some(0.005));
        assert_eq!(turns.lately(), Some(15 * MS));
        assert_eq!(turns.lately(), None);
    }

    #[test]
    fn others_interrupt_a_turn_and_do_not_end_it() {
        let turns = turns(&[
            (0, 1),
            (10, 77),
            (12, 1),
            (20, 0),
            (21, 1),
            (30, 2),
            (31, 1),
        ]);
        assert_eq!(turns.of(1).mean(), Some(0.027));
        assert_eq!(turns.of(1).count(), 1);
    }

    #[test]
    fn the_picture_is_bounded_in_time() {
        let turns = turns(&[(0, 1), (900, 2), (1100, 1), (2400, 2), (2600, 1), (2700, 2)]);
        let spells = turns.spells();
        let programs: Vec<_> = spells.iter().map(|spell| spell.program).collect();
        assert_eq!(programs, [2, 1, 2]);
    }
}
