//! Tasks in memory, and machines for them.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::llc::Open;
use terrace_sim::mix::{Grid, Run, Simulated, Trace, run};
use terrace_sim::setting::Given;
use terrace_trace::{Access, Block, Meta, Source};

/// Accesses that are read again and again.
#[derive(Clone)]
pub struct Replay {
    meta: Meta,
    accesses: Vec<Access>,
    read: bool,
}

impl Source for Replay {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        if !self.read {
            self.accesses.iter().for_each(|access| block.push(*access));
        }
        self.read = true;
        Ok(())
    }
}

/// A task that touches `lines` lines in an order of no pattern, one in `step` instructions, again
/// and again.
pub fn random(lines: u64, step: u64, accesses: u64) -> Replay {
    let mut state = lines ^ step << 32;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        state >> 33
    };
    let access = |at: u64| Access {
        instruction: at * step,
        address: next() % lines * 64,
        size: 8,
        write: at.is_multiple_of(4),
        ..Access::default()
    };
    let meta = Meta {
        counts_instructions: true,
        ..Meta::default()
    };
    Replay {
        meta,
        accesses: (0..accesses).map(access).collect(),
        read: false,
    }
}

impl Replay {
    /// Opens it at its beginning.
    pub fn open(&self) -> Open<'static> {
        let replay = self.clone();
        Box::new(move || Ok(Box::new(replay.clone()) as _))
    }
}

/// Simulates tasks on machines of these settings; private levels are off unless they are given.
pub fn simulate(tasks: &[Replay], values: &[(&str, &str)]) -> Simulated {
    let off = [("l1", "off"), ("l2", "off")].into_iter();
    let off = off.filter(|(name, _)| values.iter().all(|(given, _)| given != name));
    let values: Vec<(&str, &str)> = off.chain(values.iter().copied()).collect();
    let grid = Grid::new(&Given::parse(&values).unwrap()).unwrap();
    let traces: Vec<Trace> = tasks
        .iter()
        .enumerate()
        .map(|(number, task)| Trace {
            name: number.to_string(),
            open: Box::new(|| task.open()),
        })
        .collect();
    let count = grid.tasks(traces.len()).unwrap();
    let machines = grid.machines(&Catalogue::builtin(), count).unwrap();
    run(machines, &traces, count, None, |_| ()).unwrap()
}

/// Simulates tasks on one machine.
pub fn simulate_one(tasks: &[Replay], values: &[(&str, &str)]) -> Run {
    simulate(tasks, values).runs.swap_remove(0)
}
