//! A machine that is simulated.

use terrace_base::{Error, Result};
use terrace_policy::llc::{Cache, Kind, Outcome, Request};
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

/// Instructions, approximately, that a core goes on for before another one that is behind it: some
/// microseconds.
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
    batch: Batch,
    outcomes: Vec<Outcome>,
}

struct Core {
    /// Its tasks.
    fair: Fair,
    /// The turn that is under way.
    turn: Option<Turn>,
    /// The task that ran last.
    last: Option<usize>,
    private: Private,
    /// Instructions executed.
    instructions: u64,
    /// Time, in picoseconds.
    now: u64,
}

impl<'a> Simulation<'a> {
    /// Makes a machine with empty caches, on whose cores these programs take turns: the first on the first core,
    /// the second on the second, and so on.
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
            batch: Batch::default(),
            outcomes: Vec::new(),
        })
    }

    /// Simulates until all cores have reached the end of their time. `progress` is called with the
    /// picoseconds of the core that is behind.
    ///
    /// # Errors
    /// Errors of the traces; a usage error where a trace cannot be simulated.
    pub fn run(&mut self, mut progress: impl FnMut(u64)) -> Result<()> {
        let end = 1000 * (self.machine.warmup.0 + self.machine.time.0);
        loop {
            let cores = self.cores.iter().enumerate();
            let Some((core, now)) = cores
                .map(|(core, of)| (core, of.now))
                .min_by_key(|(_, now)| *now)
            else {
                return Ok(());
            };
            if now >= end {
                return Ok(());
            }
            self.step(core)?;
            progress(now);
        }
    }

    /// Whether a core's warm-up is over.
    fn measures(&self, core: usize) -> bool {
        self.cores[core].now >= 1000 * self.machine.warmup.0
    }

    /// Has a core go on for a moment.
    fn step(&mut self, core: usize) -> Result<()> {
        let mut turn = match self.cores[core].turn.take() {
            Some(turn) => turn,
            None => self.begin(core),
        };
        let (measures, before) = (self.measures(core), self.cores[core].now);
        let run = self.take(turn.task)?;
        let misses = self.execute(core, turn.task, &run)?;
        let time = self.cores[core].now - before;
        if measures {
            let counts = &mut self.tasks[turn.task].counts;
            counts.time += time;
            counts.instructions += run.instructions;
            counts.requests += self.batch.len() as u64;
            counts.misses += misses;
            counts.note_curve(turn.time, Bin { misses, time });
        }
        turn.note(time, misses);
        match turn.is_over(&mut *self.turns) {
            true => self.end(core, &turn),
            false => self.cores[core].turn = Some(turn),
        }
        Ok(())
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
        self.cores[core].now = self.now(core);
        if self.measures(core) {
            let now = self.cores[core].now;
            self.tasks[task].come_back(now, self.filled, self.capacity);
        }
    }

    /// Empties the private levels of a core.
    fn empty(&mut self, core: usize) {
        self.batch.clear();
        let (batch, of) = (&mut self.batch, &mut self.cores[core]);
        let instruction = of.instructions;
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
        self.serve();
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

    /// Executes accesses of a task, and returns its misses.
    fn execute(&mut self, core: usize, task: usize, run: &Run) -> Result<u64> {
        self.batch.clear();
        let (tasks, program) = (self.tasks.len(), &self.tasks[task].program);
        let of = &mut self.cores[core];
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
        };
        let (block, range) = (&*run.block, run.range.clone());
        match of.private.is_there() {
            true => maker.touch(block, range, &mut of.private, &mut self.batch)?,
            false => maker.ask(block, range, self.rows, &mut self.batch)?,
        }
        of.instructions += run.instructions;
        let misses = self.serve();
        self.cores[core].now = self.now(core);
        Ok(misses)
    }

    /// Returns a core's time after all of its instructions.
    fn now(&mut self, core: usize) -> u64 {
        let instructions = self.cores[core].instructions;
        self.memory_side.advance(core, instructions)
    }

    /// Serves the batch of requests, and returns the misses of loads and stores.
    fn serve(&mut self) -> u64 {
        self.outcomes.clear();
        let requests = self.batch.requests();
        match &mut self.caches[..] {
            [shared] => shared.serve(requests, &mut self.outcomes),
            caches => {
                let owner = |request: &Request| owner(request.line, self.tasks.len());
                let serve = |request| caches[owner(request)].access(request);
                self.outcomes.extend(requests.iter().map(serve));
            }
        }
        let (mut misses, tasks) = (0, self.tasks.len());
        let requests = self.batch.len();
        let mut nears = self.batch.nears(0..requests).iter().peekable();
        let asked = (0..).zip(self.batch.asked(0..requests));
        for ((index, asked), outcome) in asked.zip(&self.outcomes) {
            while let Some(near) = nears.next_if(|near| near.before <= index) {
                self.memory_side.load_near(near);
            }
            self.memory_side.serve(&asked, asks(&asked, outcome));
            let demand = asked.request.kind != Kind::WriteBack;
            misses += u64::from(demand && !matches!(outcome, Outcome::Hit { .. }));
            if let Outcome::Miss { evicted } = outcome {
                self.filled += 1;
                self.tasks[owner(asked.request.line, tasks)].held += 1;
                if let Some(evicted) = evicted {
                    self.tasks[owner(evicted.line, tasks)].held -= 1;
                }
            }
        }
        let late = self.batch.late_nears().iter();
        late.for_each(|near| self.memory_side.load_near(near));
        misses
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
