//! Programs that run together, and their turns.

use std::path::PathBuf;

use terrace_base::{Error, Result};
use terrace_trace::{Columns, Reading, Source};

use super::core::{CYCLE, ISSUE};
use super::grid::Extent;
use super::order::Order;
use super::origin;
use super::program::{Open, Program, Run, file, once, require_trace};

/// The most cores: a core is numbered by a byte.
const MOST_CORES: usize = 256;

/// Instructions, approximately, of a turn, after which the program that is behind takes the next
/// turn.
const TURN: u64 = 1000;
/// Accesses of one instruction, at most: those that gather or scatter have some tens.
const ACCESSES_AN_INSTRUCTION: u64 = 64;

/// Programs that share a last-level cache, each on separate cores.
///
/// Programs take turns by the instructions that they have executed, so that all progress equally,
/// and threads keep to the order of their trace ([`Mix::next`]). Or cores do by the times of their
/// next steps, so that a fast one asks for more than a slow one, and a thread waits for those for
/// which it waited when it was recorded ([`Mix::next_by_time`]). A program that ends begins again
/// until all have run once, as is usual for mixes; repeated accesses count, too, because other
/// programs run beside them.
pub struct Mix<'a> {
    programs: Vec<Program<'a>>,
    /// By core.
    times: Vec<Time>,
}

/// When a core makes its next step.
#[derive(Clone, Copy, Default)]
struct Time {
    /// The time in picoseconds, once it is known.
    at: Option<u64>,
    /// Accesses of the core so far.
    accesses: u64,
}

/// What a core does next.
pub enum Step {
    /// Accesses of a program, by number.
    Run(usize, Run),
    /// What orders it with others.
    Order(Order),
}

impl<'a> Mix<'a> {
    /// Makes a mix of traces, by name, on `cores` in all, or on one core each; a trace of requests
    /// runs on as many cores as made it. Each run through a trace has at most `limit` accesses.
    ///
    /// # Errors
    /// Errors of the traces; a usage error where the cores cannot be shared evenly.
    pub fn new(
        traces: Vec<(String, Open<'a>)>,
        cores: Option<usize>,
        limit: Option<u64>,
    ) -> Result<Self> {
        let programs = traces
            .into_iter()
            .map(|(name, open)| Program::new(name, open, limit));
        let mut programs = programs.collect::<Result<Vec<_>>>()?;
        let each = each(&programs, cores)?;
        for (index, program) in programs.iter_mut().enumerate() {
            program.cores = index * each..(index + 1) * each;
        }
        Ok(Self {
            times: vec![Time::default(); programs.len() * each],
            programs,
        })
    }

    /// Opens trace files, a program each, with these columns, as [`Mix::new`] does.
    ///
    /// # Errors
    /// Errors of [`Mix::new`]; a usage error where a file is a program and no trace.
    pub fn open(
        paths: &[PathBuf],
        reading: &Reading,
        columns: Columns,
        cores: Option<usize>,
        limit: Option<u64>,
    ) -> Result<Self> {
        paths.iter().try_for_each(|path| require_trace(path))?;
        let traces = paths.iter().map(|path| {
            let name = path.display().to_string();
            (name, file(path.clone(), reading.clone(), columns))
        });
        Mix::new(traces.collect(), cores, limit)
    }

    /// Takes a single program that can be read only once, as while it is recorded.
    ///
    /// # Errors
    /// Errors of [`Mix::new`].
    pub fn single(name: String, source: Box<dyn Source>, cores: usize) -> Result<Self> {
        Mix::new(vec![(name, once(source))], Some(cores), None)
    }

    /// Returns what is known of the programs before they are simulated.
    pub fn extent(&self) -> Extent {
        Extent {
            programs: self.programs.len(),
            cores: self.cores(),
            accesses: self.accesses(),
        }
    }

    /// Returns the cores of all programs.
    pub fn cores(&self) -> usize {
        self.programs
            .iter()
            .map(|program| program.cores.len())
            .sum()
    }

    /// Returns the programs.
    pub fn programs(&self) -> &[Program<'a>] {
        &self.programs
    }

    /// Returns the first program whose trace has no instruction addresses.
    ///
    /// # Errors
    /// Errors of the traces.
    pub fn without_ips(&mut self) -> Result<Option<&Program<'a>>> {
        for program in &mut self.programs {
            if !program.has_ips()? {
                return Ok(Some(program));
            }
        }
        Ok(None)
    }

    /// Returns the accesses until every program has run once; `None` where a trace does not say.
    pub fn accesses(&self) -> Option<u64> {
        self.programs.iter().map(Program::accesses).sum()
    }

    /// Returns the next run of at most `most` accesses, with its program; `None` when all have run
    /// once.
    ///
    /// # Errors
    /// Errors of the traces.
    pub fn next(&mut self, most: u64) -> Result<Option<(usize, Run)>> {
        if !self.prepare()? {
            return Ok(None);
        }
        let (turn, instructions) = self.turn();
        let program = &mut self.programs[turn];
        program.go_on()?;
        let any = program.cores.start;
        Ok(Some((turn, program.run(any, most, instructions))))
    }

    /// Reads on where it must be; returns false when all programs have run once.
    fn prepare(&mut self) -> Result<bool> {
        self.programs.iter_mut().try_for_each(Program::prepare)?;
        Ok(!self.programs.iter().all(Program::done))
    }

    /// Has cores take turns by time, before the first turn.
    pub fn keep_time(&mut self) {
        self.programs.iter_mut().for_each(Program::part_cores);
    }

    /// Prepares the next turn by time; returns false when all programs have run once. After that,
    /// all that is [`Mix::untimed`] needs a time.
    ///
    /// # Errors
    /// Errors of the traces.
    pub fn prepare_by_time(&mut self) -> Result<bool> {
        if !self.prepare()? {
            return Ok(false);
        }
        for program in &mut self.programs {
            if program.go_on()? {
                let times = &mut self.times[program.cores.clone()];
                times.iter_mut().for_each(|time| time.at = None);
            }
        }
        Ok(true)
    }

    /// Returns the cores, with their programs, whose next step need not wait for others.
    fn ready(&self) -> impl Iterator<Item = (usize, usize)> {
        let programs = self.programs.iter().enumerate();
        programs.flat_map(|(program, of)| of.ready().map(move |core| (core, program)))
    }

    /// Returns a core, with its program, that can make a step whose time is unknown.
    pub fn untimed(&self) -> Option<(usize, usize)> {
        self.ready()
            .find(|(core, _)| self.times[*core].at.is_none())
    }

    /// Says when a core makes its next step, in picoseconds.
    pub fn set_time(&mut self, core: usize, at: u64) {
        let time = &mut self.times[core];
        // Time goes on even if a trace's instructions do not.
        let least = time.accesses / ACCESSES_AN_INSTRUCTION * CYCLE / ISSUE;
        time.at = Some(at.max(least));
    }

    /// Returns the first of all next steps, of at most one access; times of all must be known.
    pub fn next_by_time(&mut self) -> Step {
        let first = self
            .ready()
            .min_by_key(|(core, _)| (self.times[*core].at, *core));
        let (core, program) = first.expect("the first step of a program is ready");
        match self.programs[program].take_order(core) {
            Some(event) => {
                self.times[core].at = None;
                Step::Order(Order {
                    program,
                    core,
                    event,
                })
            }
            None => Step::Run(program, self.run(program, core, 1)),
        }
    }

    /// Takes accesses of a core, which has as many.
    pub fn run(&mut self, program: usize, core: usize, accesses: usize) -> Run {
        let run = self.programs[program].run(core, accesses as u64, u64::MAX);
        self.times[core].accesses += run.range.len() as u64;
        self.times[core].at = None;
        run
    }

    /// Returns the program that is behind, and the instructions of its turn.
    fn turn(&self) -> (usize, u64) {
        let position = |index: usize| self.programs[index].position();
        let behind = |&index: &usize| (position(index), index);
        let all = 0..self.programs.len();
        let turn = all.clone().min_by_key(behind).unwrap_or_default();
        let others = all.filter(|index| *index != turn).map(position);
        match others.min() {
            // All have as many cores.
            Some(next) => (turn, next - position(turn) + TURN),
            None => (turn, u64::MAX),
        }
    }
}

/// Returns the cores of each program.
fn each(programs: &[Program], cores: Option<usize>) -> Result<usize> {
    let count = programs.len();
    if count == 0 {
        return Err(Error::usage("there is no trace to simulate; name one"));
    }
    let made_with: Vec<_> = programs
        .iter()
        .map(|program| origin::cores(program.meta()))
        .collect();
    let known = made_with.iter().flatten().max();
    let cores = cores.unwrap_or(count * known.unwrap_or(&1));
    let each = cores / count;
    if cores == 0 || cores > MOST_CORES || !cores.is_multiple_of(count) {
        return Err(Error::usage(format!(
            "{count} programs cannot share {cores} cores evenly; give ‘cores’ as a multiple of {count}, at most {MOST_CORES}"
        )));
    }
    for (program, made_with) in programs.iter().zip(made_with) {
        if let Some(made_with) = made_with.filter(|made_with| *made_with != each) {
            return Err(Error::usage(format!(
                "{} has the requests of {made_with} cores, which cannot be simulated on {each}; give ‘cores’ {}",
                program.name(),
                made_with * count
            )));
        }
    }
    Ok(each)
}

#[cfg(test)]
mod tests {
    use terrace_trace::{Access, Block, Meta, Source};

    use super::*;

    /// A trace of accesses, one instruction each.
    struct Counting {
        meta: Meta,
        block: Block,
    }

    impl Source for Counting {
        fn meta(&self) -> &Meta {
            &self.meta
        }
        fn read(&mut self, block: &mut Block) -> Result<()> {
            *block = std::mem::take(&mut self.block);
            Ok(())
        }
    }

    fn trace(accesses: u64, counts_instructions: bool) -> (String, Open<'static>) {
        let open = move || -> Result<Box<dyn Source>> {
            let mut block = Block::default();
            for instruction in 0..accesses {
                block.push(Access {
                    instruction,
                    ..Access::default()
                });
            }
            let meta = Meta {
                counts_instructions,
                ..Meta::default()
            };
            Ok(Box::new(Counting { meta, block }))
        };
        ("t".to_owned(), Box::new(open))
    }

    /// Accesses of each program until the end.
    fn accesses(mut mix: Mix) -> Vec<usize> {
        let mut accesses = vec![0; mix.programs().len()];
        while let Some((program, run)) = mix.next(u64::MAX).unwrap() {
            accesses[program] += run.range.len();
        }
        accesses
    }

    #[test]
    fn the_shorter_begins_anew_until_the_longer_has_run() {
        let mix = Mix::new(vec![trace(10_000, true), trace(100_000, true)], None, None).unwrap();
        let accesses = accesses(mix);
        assert_eq!(accesses[1], 100_000);
        assert!(accesses[0].abs_diff(100_000) < 4000, "{accesses:?}");
    }

    #[test]
    fn an_access_stands_for_instructions_where_they_are_not_counted() {
        let mix = Mix::new(
            vec![trace(10_000, false), trace(100_000, true)],
            Some(2),
            Some(50_000),
        )
        .unwrap();
        let accesses = accesses(mix);
        assert_eq!(accesses[1], 50_000);
        assert!(accesses[0].abs_diff(50_000 / 3) < 4000, "{accesses:?}");
    }

    #[test]
    fn threads_go_to_the_cores_of_their_program_in_turn() {
        let mut mix = Mix::new(vec![trace(1, true), trace(1, true)], Some(6), None).unwrap();
        let cores: Vec<_> = mix
            .programs()
            .iter()
            .map(|program| program.cores.clone())
            .collect();
        assert_eq!(cores, [0..3, 3..6]);
        assert_eq!(mix.next(u64::MAX).unwrap().unwrap().1.core, 0);
        assert_eq!(mix.next(u64::MAX).unwrap().unwrap().1.core, 3);
    }

    #[test]
    fn what_cannot_be_mixed_is_said() {
        let wrong = |traces, cores| Mix::new(traces, cores, None).err().unwrap().to_string();
        assert!(wrong(vec![], Some(1)).contains("no trace"));
        assert!(wrong(vec![trace(1, true), trace(1, true)], Some(3)).contains("multiple of 2"));
        assert!(wrong(vec![trace(0, true)], None).contains("no access"));
    }
}
