//! Physical memory: the frame of each page.

use std::ops::Range;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustc_hash::FxHashMap;
use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Bytes, Error, Result, memory};

use super::flush::Flushes;
use super::lines::{Lines, Space};
use super::placement::{Batches, Coloured, Placement};

/// Counts of one program's first touches of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Pages that it touched.
    pub pages: u64,
    /// First touches whose frame does not follow the frame of the first touch before: the paper's
    /// page contiguity misses.
    pub contiguity_misses: u64,
}

/// The frames of all pages that have been touched.
pub struct Frames {
    /// The binary logarithm of the lines of a page.
    shift: u32,
    frames: FxHashMap<u64, u64>,
    /// The page of the last look-up, and its frame.
    last: (u64, u64),
    programs: Vec<Program>,
    pool: Pool,
}

#[derive(Default)]
struct Program {
    flushes: bool,
    /// Frames reserved for the program.
    bucket: Range<u64>,
    /// The frame that would be contiguous to its last one.
    next: Option<u64>,
    faults: Faults,
}

/// Free frames.
enum Pool {
    Runs(Runs),
    Colours(Colours),
}

impl Frames {
    /// Makes the free frames for `programs`; `None` where addresses stay virtual.
    ///
    /// # Errors
    /// A usage error where the placement is for another number of programs.
    pub fn new(
        placement: &Placement,
        lines: Lines,
        programs: usize,
        flushes: &Flushes,
        seed: u64,
    ) -> Result<Option<Self>> {
        let pool = match placement {
            Placement::Virtual => return Ok(None),
            Placement::Batches(batches) => Pool::Runs(Runs::new(batches, seed)?),
            Placement::Coloured(coloured) => Pool::Colours(Colours::new(coloured, programs, seed)?),
        };
        let program = |program| Program {
            flushes: flushes.of(program).is_some(),
            ..Program::default()
        };
        Ok(Some(Self {
            shift: PAGE_BYTES.trailing_zeros() - lines.shift(),
            frames: FxHashMap::default(),
            last: (u64::MAX, 0),
            programs: (0..programs).map(program).collect(),
            pool,
        }))
    }

    /// Returns the physical line of a program's virtual line at `address >> shift`.
    ///
    /// # Errors
    /// A usage error where no frame is free for it.
    #[inline]
    pub fn line(
        &mut self,
        program: usize,
        lines: Lines,
        space: Space,
        shifted: u64,
    ) -> Result<u64> {
        let line = lines.of(space, shifted);
        let page = line >> self.shift;
        if page != self.last.0 {
            self.last = (page, self.frame(program, page)?);
        }
        let within = line & ((1 << self.shift) - 1);
        Ok(self.last.1 << self.shift | within)
    }

    /// Same as [`Frames::line`] where the page was touched before; `None` otherwise.
    #[inline]
    pub fn known_line(&self, lines: Lines, space: Space, shifted: u64) -> Option<u64> {
        let line = lines.of(space, shifted);
        let page = line >> self.shift;
        let frame = match page == self.last.0 {
            true => self.last.1,
            false => *self.frames.get(&page)?,
        };
        let within = line & ((1 << self.shift) - 1);
        Some(frame << self.shift | within)
    }

    fn frame(&mut self, program: usize, page: u64) -> Result<u64> {
        if let Some(frame) = self.frames.get(&page) {
            return Ok(*frame);
        }
        let of = &mut self.programs[program];
        let frame = match &mut self.pool {
            Pool::Runs(runs) => runs.take(of),
            Pool::Colours(colours) => colours.take(program, of.faults.pages),
        };
        let frame = frame.ok_or_else(|| {
            Error::usage("the programs touch more pages than there is memory; give ‘pages’ more, as jit:memory=8G")
        })?;
        of.faults.pages += 1;
        of.faults.contiguity_misses += u64::from(of.next != Some(frame));
        of.next = Some(frame + 1);
        self.frames.insert(page, frame);
        Ok(frame)
    }

    /// Returns the counts of each program's first touches.
    pub fn faults(&self) -> Vec<Faults> {
        self.programs.iter().map(|program| program.faults).collect()
    }
}

/// Runs of contiguous free frames, in random order.
struct Runs {
    settings: Batches,
    /// Numbers of runs, the next last.
    runs: Vec<u64>,
    /// The rest of the current run, contiguous frames.
    open: Range<u64>,
    /// Frames left over from runs: the paper's non-contiguous list.
    single: Vec<u64>,
    free: u64,
}

impl Runs {
    fn new(settings: &Batches, seed: u64) -> Result<Self> {
        let runs = settings.memory.pages() / settings.run;
        let bytes = Bytes(runs * size_of::<u64>() as u64);
        memory::require(bytes, "the free frames of ‘pages’")?;
        Ok(Self {
            settings: settings.clone(),
            runs: shuffled(runs, seed),
            open: 0..0,
            single: Vec::new(),
            free: runs * settings.run,
        })
    }

    /// Takes a frame for a program from its bucket, which is filled with a batch when it is empty.
    fn take(&mut self, program: &mut Program) -> Option<u64> {
        if let Some(frame) = program.bucket.next() {
            return Some(frame);
        }
        let Batches {
            batch, high, low, ..
        } = self.settings;
        let mark = if program.flushes { high } else { low };
        if batch == 1 || Bytes::of_pages(self.free) < mark {
            return self.take_single();
        }
        program.bucket = self.take_batch(batch)?;
        program.bucket.next()
    }

    /// Takes a single frame, from the list of frames left over first.
    fn take_single(&mut self) -> Option<u64> {
        let frame = match self.single.pop() {
            Some(frame) => frame,
            None => self.take_batch(1)?.start,
        };
        self.free = self.free.saturating_sub(1);
        Some(frame)
    }

    /// Takes contiguous frames, `batch` of them if a run has that many.
    fn take_batch(&mut self, batch: u64) -> Option<Range<u64>> {
        let batch = batch.min(self.settings.run);
        if self.open.end - self.open.start < batch {
            self.single.extend(self.open.clone());
            self.open = 0..0;
            let Some(run) = self.runs.pop() else {
                let frame = self.single.pop()?;
                return Some(frame..frame + 1);
            };
            self.open = run * self.settings.run..(run + 1) * self.settings.run;
        }
        let begin = self.open.start;
        self.open.start += batch;
        if batch > 1 {
            self.free = self.free.saturating_sub(batch);
        }
        Some(begin..begin + batch)
    }
}

/// Frames by colour: frames whose numbers have the same remainder have one colour.
struct Colours {
    colours: u64,
    /// The first colour and the number of colours of each program.
    shares: Vec<(u64, u64)>,
    /// Groups of one frame of each colour, in random order.
    groups: Vec<u64>,
}

impl Colours {
    fn new(coloured: &Coloured, programs: usize, seed: u64) -> Result<Self> {
        let Coloured {
            colours, shares, ..
        } = coloured;
        if shares.len() != programs {
            return Err(Error::usage(format!(
                "the colours of {} programs are given, and there are {programs}; write a share for each",
                shares.len()
            )));
        }
        let first = |program: usize| shares[..program].iter().sum();
        Ok(Self {
            colours: *colours,
            shares: (0..programs)
                .map(|program| (first(program), shares[program]))
                .collect(),
            groups: shuffled(coloured.memory.pages() / colours, seed),
        })
    }

    /// Returns the frame of a program's next page after `pages`.
    fn take(&self, program: usize, pages: u64) -> Option<u64> {
        let (first, count) = self.shares[program];
        let group = self.groups.get(usize::try_from(pages / count).ok()?)?;
        Some(group * self.colours + first + pages % count)
    }
}

/// Returns the numbers below `count` in the random order of a seed.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    let mut random = SplitMix64::seed_from_u64(seed);
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn frames(placement: &str, programs: usize, flushes: &[Option<u64>]) -> Frames {
        let flushes = Flushes {
            ips: flushes.to_vec(),
            keeps: false,
        };
        let placement = Placement::parse(placement).unwrap();
        let made = Frames::new(&placement, Lines::new(64).unwrap(), programs, &flushes, 1);
        made.unwrap().unwrap()
    }

    /// Returns the frame of a page of a program's own address space.
    fn frame(frames: &mut Frames, program: usize, page: u64) -> u64 {
        let space = Space::new(program, 2, 0).unwrap();
        let line = frames.line(program, Lines::new(64).unwrap(), space, page * 64);
        line.unwrap() / 64
    }

    /// Returns the contiguity misses of the first of two programs that touch new pages alternately.
    fn misses(placement: &str) -> u64 {
        let mut frames = frames(placement, 2, &[]);
        for page in 0..64 {
            frame(&mut frames, 0, page);
            frame(&mut frames, 1, page);
        }
        let faults = frames.faults()[0];
        assert_eq!(faults.pages, 64);
        faults.contiguity_misses
    }

    /// Figures 7 and 8: single frames alternate, batches do not.
    #[test]
    fn batches_are_contiguous() {
        assert_eq!(misses("jit"), 64);
        assert_eq!(misses("caa:batch=4"), 16);
        assert_eq!(misses("caa:batch=16"), 4);
        assert_eq!(misses("caa:batch=64"), 4, "a run has 16");
        assert_eq!(misses("caa:batch=4,memory=1M"), 64, "below the watermark");
    }

    #[test]
    fn who_flushes_is_denied_batches_first() {
        let settings = "caa:batch=4,memory=1G,high=2G,low=1M";
        let mut frames = frames(settings, 3, &[None, Some(1), Some(1)]);
        for page in 0..16 {
            for program in 0..3 {
                frame(&mut frames, program, page);
            }
        }
        let misses = frames.faults();
        let misses: Vec<_> = misses
            .iter()
            .map(|faults| faults.contiguity_misses)
            .collect();
        assert_eq!(misses[0], 4);
        assert!(misses[1..].iter().all(|misses| *misses > 12), "{misses:?}");
    }

    #[test]
    fn colours_keep_to_their_sets() {
        let mut frames = frames("coloured:shares=24/8", 2, &[]);
        for page in 0..100 {
            assert!(frame(&mut frames, 0, page) % 32 < 24);
            assert!(frame(&mut frames, 1, page) % 32 >= 24);
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        let placement = Placement::parse("coloured:shares=16/16").unwrap();
        let lines = Lines::new(64).unwrap();
        let made = Frames::new(&placement, lines, 3, &Flushes::default(), 1);
        let said = made.err().unwrap().to_string();
        assert!(said.contains("there are 3"), "{said}");
        let mut few = frames("jit:memory=64K", 1, &[]);
        let space = Space::new(0, 1, 0).unwrap();
        let touched = (0..17).map(|page| few.line(0, lines, space, page * 64));
        let errors: Vec<_> = touched.filter_map(Result::err).collect();
        assert_eq!(errors.len(), 1);
        assert!(errors[0].to_string().contains("memory"));
    }

    proptest! {
        /// Checks that a page keeps its frame, and that no two pages share one.
        #[test]
        fn a_frame_is_one_page_s(
            touches in prop::collection::vec((0usize..2, 0u64..200), 1..400),
            placement in prop::sample::select(vec![
                "jit", "jit:run=1", "caa:batch=4", "caa:batch=16,memory=2M", "coloured:shares=8/24",
            ]),
        ) {
            let mut frames = frames(placement, 2, &[]);
            let mut slow = HashMap::new();
            for (program, page) in touches {
                let found = frame(&mut frames, program, page);
                prop_assert_eq!(*slow.entry((program, page)).or_insert(found), found);
            }
            let mut used: Vec<_> = slow.values().collect();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.len(), slow.len());
        }
    }
}
