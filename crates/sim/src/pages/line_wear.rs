//! Wear of slow memory that serves lines: how often each line of each place was written.

use terrace_base::{Error, Nanos, Result};
use terrace_device::{LINE_CELLS, Wear};

use super::levelling::{self, Make};
use super::settings::PageMachine;
use super::tier::Tier;
use super::writes::{SchemeOutcome, lines};

/// Lines of a place, which holds a page.
const LINES: u64 = 64;

/// The writes of each line.
pub(super) struct LineWear {
    /// By place: writes of its lines, as soon as one was written.
    places: Vec<Option<Box<[u32; LINES as usize]>>>,
    /// The same as lines of a memory whose lines are moved, if that is asked for.
    levelled: Vec<Levelled>,
    /// Lines that were written since the counts began.
    written: u64,
}

/// A memory under a wear levelling.
struct Levelled {
    spec: levelling::Spec,
    wear: Wear,
    /// Lines in spare.
    spares: u64,
    /// Lines that are told apart.
    lines: u64,
}

impl LineWear {
    /// Makes the counts of a machine; `None` if nothing is reckoned from them.
    ///
    /// # Errors
    /// A usage error if a setting has a wrong value, or the memory is too large.
    pub(super) fn new(settings: &PageMachine) -> Result<Option<Self>> {
        if !settings.tells_wear() {
            return Ok(None);
        }
        let writing = &settings.writing;
        let asked = match writing.is_asked() {
            true => &writing.levellings[..],
            false => &[],
        };
        let lines = writing.pages.max(1).saturating_mul(LINES);
        let levelled = asked.iter().map(|spec| {
            let plan = Make::of(spec).map_err(Error::usage)?;
            Ok(Levelled {
                spec: spec.clone(),
                wear: Wear::new(plan.levelling, lines, settings.seed)?,
                spares: plan.spares,
                lines,
            })
        });
        Ok(Some(Self {
            places: Vec::new(),
            levelled: levelled.collect::<Result<_>>()?,
            written: 0,
        }))
    }

    /// Counts a write of some lines of a place, a bit each.
    pub(super) fn write(&mut self, place: u32, which: u64) {
        let index = place as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, None);
        }
        let writes = self.places[index].get_or_insert_with(|| Box::new([0; LINES as usize]));
        for line in lines(which) {
            writes[line] = writes[line].saturating_add(1);
        }
        self.written += u64::from(which.count_ones());
        for one in &mut self.levelled {
            for line in lines(which) {
                let line = u64::from(place) * LINES + line as u64;
                one.wear.write(line % one.lines, LINE_CELLS);
                one.wear.settle(|_| LINE_CELLS);
            }
        }
    }

    /// Forgets all writes until now; lines stay where they are.
    pub(super) fn renew(&mut self) {
        self.places.fill(None);
        self.written = 0;
        self.levelled.iter_mut().for_each(|one| one.wear.renew());
    }

    /// Returns the writes of the line that was written most.
    pub(super) fn most(&self) -> u32 {
        let places = self.places.iter().flatten();
        places
            .map(|lines| *lines.iter().max().unwrap_or(&0))
            .max()
            .unwrap_or(0)
    }

    /// Returns what was written under each levelling that is asked for, in this time.
    pub(super) fn outcome(&self, tier: &Tier, elapsed: Nanos) -> Vec<SchemeOutcome> {
        let one = |one: &Levelled| {
            let written = self.written + one.wear.moved_lines();
            let joules = tier.line_energy.map(|line| line.write + line.activate);
            SchemeOutcome {
                scheme: "lines".to_owned(),
                pinned: true,
                levelling: one.spec.to_string(),
                bytes: self.written * 64,
                lines: self.written,
                cells: self.written * u64::from(LINE_CELLS),
                energy_j: joules.map(|joules| joules * written as f64),
                ..SchemeOutcome::of_wear(&one.wear, one.spares, tier.endurance, elapsed)
            }
        };
        self.levelled.iter().map(one).collect()
    }
}
