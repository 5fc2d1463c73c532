//! A machine that is simulated.

use terrace_base::{Error, Result};
use terrace_policy::llc::{Cache, Outcome, Request};
use terrace_policy::sched::{Ended, Fair, Turns};

use super::count::Bin;
use super::outcome;
use super::settings::MixMachine;
use super::task::{Left, Task};
use super::turn::{Turn, number};
use crate::llc::batch::{Asked, Batch};
use crate::llc::frames::Frames;
use crate::llc::lines::{Lines, Space};
use crate::llc::maker::Maker;
use crate::llc::memory_side::MemorySide;
use crate::llc::private::Private;
use crate::llc::program::{Program, Run};
use crate::llc::requests::Rows;
use crate::llc::shared::asks;
use crate::llc::{Flushes, Size};

/// Instructions of a step, approximately, after which a turn may end: some microseconds.
const STEP: u64 = 2000;
/// Accesses of a step, at most: a program looks at as many before it takes those of the step.
const ACCESSES: u64 = 1 << 9;
/// Accesses of one instruction, at most: those that gather or scatter have some tens.
const ACCESSES_AN_INSTRUCTION: u64 = 64;
/// The most instructions between two accesses.
const MOST_INSTRUCTIONS: u64 = 1 << 40;

/// A machine with its tasks.
pub struct Simulation<'a> {
    machine: &'a MixMachine,
    lines: Lines,
    rows: Rows,
    frames: Option<Frames>,
    tasks: Vec<Task<'a>>,
    cores: Vec<Core>,
    turns: Box<dyn Turns>,
    /// One cache for all tasks, or one for each.
    caches: Vec<Cache>,
    memory_side: MemorySide,
    /// Lines of the last level.
    capacity: u64,
    /// Lines that have come into the last level.
    filled: u64,
}

struct Core {
    /// Its tasks.
    fair: Fair,
    /// The turn that goes on after the last step.
    turn: Option<Turn>,
    /// The step that is under way.
    step: Option<Step>,
    /// Its requests.
    batch: Batch,
    /// The task that ran last.
    last: Option<usize>,
    private: Private,
    /// Instructions executed.
    instructions: u64,
    /// Time after the last step, in picoseconds.
    now: u64,
}

/// Accesses of a task that a core executes together; their requests are made one by one.
#[derive(Clone, Copy)]
struct Step {
    turn: Turn,
    instructions: u64,
    /// Requests that were made.
    made: usize,
    /// Those of them that missed, but for write-backs.
    misses: u64,
    /// When the core makes the next request, in picoseconds, or ends the step if there is none.
    at: u64,
}

impl<'a> Simulation<'a> {
    /// Makes a machine with empty caches, on whose cores these programs take turns: the first on
    /// the first core, the second on the second, and so on.
    ///
    /// # Errors
    /// A usage error where the machine cannot be made.
    pub fn new(machine: &'a MixMachine, programs: Vec<Program<'a>>, rows: Rows) -> Result<Self> {
        let (tasks, lines) = (programs.len(), machine.lines()?);
        let frames = Frames::new(
            &machine.placement,
            lines,
            tasks,
            &Flushes::default(),
            machine.seed,
        )?;
        let cores =
            (0..machine.cores).map(|core| Core::new(machine, (core..tasks).step_by(machine.cores)));
        let cores = cores.collect::<Result<_>>()?;
        Ok(Self {
            machine,
            lines,
            rows,
            frames,
            tasks: programs.into_iter().map(Task::new).collect(),
            cores,
            turns: machine.policy()?,
            caches: caches(machine, tasks)?,
            memory_side: machine.memory.memory_side(machine.line, machine.cores)?,
            capacity: machine.llc.size.geometry(machine.line)?.lines() as u64,
            filled: 0,
        })
    }

    /// Simulates until all cores have reached the end of their time. All requests are made in the
    /// order of time. `progress` is called with the picoseconds of a core that ends a step.
    ///
    /// # Errors
    /// Errors of the traces; a usage error where a trace cannot be simulated.
    pub fn run(&mut self, mut progress: impl FnMut(u64)) -> Result<()> {
        let end = 1000 * (self.machine.warmup.0 + self.machine.time.0);
        for core in 0..self.cores.len() {
            self.begin_step(core)?;
        }
        while let Some((core, until)) = self.first() {
            if !self.go_on(core, until) {
                continue;
            }
            progress(self.cores[core].now);
            if self.cores[core].now < end {
                self.begin_step(core)?;
            }
        }
        Ok(())
    }

    /// Returns the core that is the first to do something, and until when it remains that; `None`
    /// where all have reached the end.
    fn first(&self) -> Option<(usize, u64)> {
        let cores = || self.cores.iter().enumerate();
        let steps = || cores().filter_map(|(core, of)| Some((of.step?.at, core)));
        let first = steps().min()?;
        let others = steps().filter(|step| *step != first);
        let until = others.map(|(at, _)| at).min().unwrap_or(u64::MAX);
        Some((first.1, until))
    }

    /// Whether a core's warm-up is over.
    fn measures(&self, core: usize) -> bool {
        self.cores[core].now >= 1000 * self.machine.warmup.0
    }

    /// Begins the next step of a core.
    fn begin_step(&mut self, core: usize) -> Result<()> {
        let turn = match self.cores[core].turn.take() {
            Some(turn) => turn,
            None => self.begin(core),
        };
        let run = self.take(turn.task)?;
        self.execute(core, turn.task, &run)?;
        self.cores[core].step = Some(Step {
            turn,
            instructions: run.instructions,
            made: 0,
            misses: 0,
            at: self.next_time(core, 0),
        });
        Ok(())
    }

    /// Returns when a core has made so many requests of its step and makes the next one, or ends
    /// the step.
    fn next_time(&self, core: usize, made: usize) -> u64 {
        let of = &self.cores[core];
        let instruction = of.batch.instruction(made).unwrap_or(of.instructions);
        self.memory_side.time_at(core, instruction)
    }

    /// Has a core go on until another one is the first, and returns whether it has ended its step.
    fn go_on(&mut self, core: usize, until: u64) -> bool {
        let Some(mut step) = self.cores[core].step.take() else {
            return false;
        };
        while step.made < self.cores[core].batch.len() {
            step.misses += u64::from(self.serve(core, step.made));
            step.made += 1;
            step.at = self.next_time(core, step.made);
            if step.at >= until {
                self.cores[core].step = Some(step);
                return false;
            }
        }
        self.end_step(core, &step);
        true
    }

    /// Ends a step after its last request.
    fn end_step(&mut self, core: usize, step: &Step) {
        let (measures, before) = (self.measures(core), self.cores[core].now);
        let of = &mut self.cores[core];
        let late = of.batch.late_nears().iter();
        late.for_each(|near| self.memory_side.serve_near(near));
        of.now = self.memory_side.advance(core, of.instructions);
        let (mut turn, misses, time) = (step.turn, step.misses, of.now - before);
        if measures {
            let counts = &mut self.tasks[turn.task].counts;
            counts.time += time;
            counts.instructions += step.instructions;
            counts.requests += step.made as u64;
            counts.misses += misses;
            counts.note_curve(turn.time, Bin { misses, time });
        }
        turn.note(time, misses);
        match turn.is_over(&mut *self.turns) {
            true => self.end(core, &turn),
            false => self.cores[core].turn = Some(turn),
        }
    }

    /// Begins the next turn of a core.
    fn begin(&mut self, core: usize) -> Turn {
        let of = &self.cores[core];
        let next = of.fair.next().expect("every core has tasks");
        let task = next.0 as usize;
        if of.last.is_some_and(|last| last != task) {
            self.switch(core, task);
        }
        self.cores[core].last = Some(task);
        Turn::begin(task, &mut *self.turns)
    }

    /// Switches a core to another task.
    fn switch(&mut self, core: usize, task: usize) {
        if self.machine.empties {
            self.empty(core);
        }
        self.memory_side.hold_up(core, 1000 * self.machine.switch.0);
        let of = &mut self.cores[core];
        of.now = self.memory_side.advance(core, of.instructions);
        if self.measures(core) {
            let now = self.cores[core].now;
            self.tasks[task].come_back(now, self.filled, self.capacity);
        }
    }

    /// Empties the private levels of a core.
    fn empty(&mut self, core: usize) {
        let of = &mut self.cores[core];
        of.batch.clear();
        let (batch, instruction) = (&mut of.batch, of.instructions);
        of.private.empty(&mut |kind, line| {
            let request = Request {
                line,
                ip: 0,
                core: core as u8,
                kind,
            };
            batch.push(Asked {
                request,
                instruction,
                after: 0,
            });
        });
        for request in 0..self.cores[core].batch.len() {
            self.serve(core, request);
        }
    }

    /// Ends a turn.
    fn end(&mut self, core: usize, turn: &Turn) {
        let measures = self.measures(core);
        let task = &mut self.tasks[turn.task];
        if measures {
            task.counts.turns += 1;
            task.counts.turned += turn.time;
            task.counts.note_fall(&turn.samples, turn.time);
        }
        task.left = Some(Left {
            held: task.held,
            filled: self.filled,
            at: self.cores[core].now,
        });
        let number = number(turn.task);
        self.turns.end(number, turn.progress(), Ended::UsedUp);
        self.cores[core].fair.ran(number, turn.length());
    }

    /// Takes the next accesses of a task.
    fn take(&mut self, task: usize) -> Result<Run> {
        let program = &mut self.tasks[task].program;
        program.go_on()?;
        let mut run = program.run(program.cores.start, ACCESSES, STEP);
        // Time goes on even if a trace's instructions do not.
        let least = (run.range.len() as u64).div_ceil(ACCESSES_AN_INSTRUCTION);
        run.instructions = run.instructions.max(least);
        if run.instructions > MOST_INSTRUCTIONS {
            return Err(Error::usage(format!(
                "{} counts more instructions than a program can execute; its column of instructions is wrong",
                program.name()
            )));
        }
        Ok(run)
    }

    /// Executes accesses of a task, up to their requests.
    fn execute(&mut self, core: usize, task: usize, run: &Run) -> Result<()> {
        let (tasks, program) = (self.tasks.len(), &self.tasks[task].program);
        let of = &mut self.cores[core];
        of.batch.clear();
        let mut maker = Maker {
            lines: self.lines,
            frames: &mut self.frames,
            program: task,
            space: Space::new(task, tasks, run.process)?,
            mark: Space::new(task, tasks, 0)?.bits(),
            core: core as u8,
            begin: of.instructions,
            since: run.since,
            instructions: run.instructions,
            counts_instructions: program.counts_instructions(),
            writes_first: false,
        };
        let (block, range) = (&*run.block, run.range.clone());
        match of.private.is_there() {
            true => maker.touch(block, range, &mut of.private, &mut of.batch)?,
            false => maker.ask(block, range, self.rows, &mut of.batch)?,
        }
        of.instructions += run.instructions;
        Ok(())
    }

    /// Serves a request of a core's step, and returns whether it is a miss of a load or store.
    fn serve(&mut self, core: usize, request: usize) -> bool {
        let (batch, tasks) = (&self.cores[core].batch, self.tasks.len());
        let nears = batch.nears(request..request + 1).iter();
        nears.for_each(|near| self.memory_side.serve_near(near));
        let asked = batch.get(request);
        let cache = match &mut self.caches[..] {
            [shared] => shared,
            caches => &mut caches[owner(asked.request.line, tasks)],
        };
        let outcome = cache.access(&asked.request);
        self.memory_side.serve(&asked, asks(&asked, &outcome));
        if let Outcome::Miss { evicted } = outcome {
            self.filled += 1;
            self.tasks[owner(asked.request.line, tasks)].held += 1;
            if let Some(evicted) = evicted {
                self.tasks[owner(evicted.line, tasks)].held -= 1;
            }
        }
        asked.request.kind.is_demand() && !matches!(outcome, Outcome::Hit { .. })
    }

    /// Returns the results.
    pub fn outcome(&self) -> outcome::Outcome {
        let tasks = self.tasks.iter().enumerate();
        outcome::Outcome {
            tasks: tasks
                .map(|(number, task)| outcome::TaskOutcome {
                    name: task.program.name().to_owned(),
                    core: number % self.machine.cores,
                    counts_instructions: task.program.counts_instructions(),
                    counts: task.counts.clone(),
                })
                .collect(),
            filled: self.caches.iter().map(|cache| cache.tags().filled()).sum(),
        }
    }
}

impl Core {
    fn new(machine: &MixMachine, tasks: impl Iterator<Item = usize>) -> Result<Self> {
        let level = |size: Option<Size>| size.map(|size| size.geometry(machine.line)).transpose();
        let [first, second] = machine.private;
        let mut fair = Fair::default();
        tasks.for_each(|task| fair.join(number(task), Fair::USUAL_WEIGHT));
        Ok(Self {
            fair,
            turn: None,
            step: None,
            batch: Batch::default(),
            last: None,
            private: Private::new(level(first)?, level(second)?),
            instructions: 0,
            now: 0,
        })
    }
}

/// Makes the last-level caches, empty.
fn caches(machine: &MixMachine, tasks: usize) -> Result<Vec<Cache>> {
    let sizes = machine.partition.caches(machine.llc.size, tasks)?;
    let cache = |size: Size| {
        let geometry = size.geometry(machine.line)?;
        let policy = machine.llc.policy.policy(geometry, machine.seed);
        Ok(Cache::new(geometry, policy.map_err(Error::usage)?))
    };
    sizes.into_iter().map(cache).collect()
}

/// Returns the task that a line belongs to.
fn owner(line: u64, tasks: usize) -> usize {
    (Space::of_line(line) % tasks as u64) as usize
}
