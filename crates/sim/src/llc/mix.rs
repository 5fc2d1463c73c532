//! The programs that run together, and whose turn it is.

use terrace_base::{Error, Result};

use super::origin;
use super::program::{Open, Program, Run};

/// A core is told by a byte.
const MOST_CORES: usize = 256;

/// Instructions, about, for which a program goes on before the one furthest behind has its turn.
const TURN: u64 = 1000;

/// Programs that share a last-level cache, each on cores of its own.
///
/// They take turns by the instructions that they have executed, so all come equally far. One that
/// ends begins anew, as is usual for mixes, until all have run once; what it does then counts
/// as well, for it is what the others ran beside.
pub struct Mix<'a> {
    programs: Vec<Program<'a>>,
}

impl<'a> Mix<'a> {
    /// These traces, by name, on so many cores together, or on one each; a trace of requests has as
    /// many as it was made with. Of each run through a trace at most `limit` accesses.
    ///
    /// # Errors
    /// The traces'; a usage error where cores cannot be shared evenly.
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
        Ok(Self { programs })
    }

    /// Cores, of all programs together.
    pub fn cores(&self) -> usize {
        self.programs
            .iter()
            .map(|program| program.cores.len())
            .sum()
    }

    /// The programs.
    pub fn programs(&self) -> &[Program<'a>] {
        &self.programs
    }

    /// The first of them whose accesses do not say which instructions made them.
    ///
    /// # Errors
    /// The traces'.
    pub fn without_ips(&mut self) -> Result<Option<&Program<'a>>> {
        for program in &mut self.programs {
            if !program.has_ips()? {
                return Ok(Some(program));
            }
        }
        Ok(None)
    }

    /// Accesses until each has run once, where that is known beforehand.
    pub fn accesses(&self) -> Option<u64> {
        self.programs.iter().map(Program::accesses).sum()
    }

    /// The next run of accesses, at most `most`, and whose it is; none when all have run once.
    ///
    /// # Errors
    /// The traces'.
    pub fn next(&mut self, most: u64) -> Result<Option<(usize, Run)>> {
        for program in &mut self.programs {
            program.prepare()?;
        }
        if self.programs.iter().all(Program::done) {
            return Ok(None);
        }
        let (turn, instructions) = self.turn();
        let program = &mut self.programs[turn];
        program.go_on()?;
        Ok(Some((turn, program.run(most, instructions))))
    }

    /// The program that is furthest behind, and how many instructions it may go on.
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

/// How many cores each program has.
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
            "{count} programs cannot share {cores} cores evenly; give --cores as a multiple of {count}, at most {MOST_CORES}"
        )));
    }
    for (program, made_with) in programs.iter().zip(made_with) {
        if let Some(made_with) = made_with.filter(|made_with| *made_with != each) {
            return Err(Error::usage(format!(
                "{} has the requests of {made_with} cores, which cannot be simulated on {each}; give --cores {}",
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

    /// So many accesses, an instruction each.
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
