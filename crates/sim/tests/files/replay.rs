//! Requests in memory, and machines for them.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::files::{FilesMachine, Grid, Run, run};
use terrace_sim::mix::Trace;
use terrace_sim::setting::Given;
use terrace_trace::{Access, Block, Meta, Source};

/// A request: its first page, its pages, and whether it writes.
pub type Request = (u64, u64, bool);

#[derive(Clone)]
struct Replay {
    meta: Meta,
    requests: Vec<Request>,
    next: usize,
}

impl Source for Replay {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let rest = &self.requests[self.next..];
        let rest = &rest[..rest.len().min(1 << 14)];
        for &(page, pages, write) in rest {
            block.push(Access {
                address: page * 4096,
                size: (pages * 4096) as u32,
                write,
                ..Access::default()
            });
        }
        self.next += rest.len();
        Ok(())
    }
}

/// Returns the machines of these settings.
pub fn machines(values: &[(&str, &str)]) -> Vec<FilesMachine> {
    let grid = Grid::new(Given::parse(values).unwrap());
    grid.machines(&Catalogue::builtin()).unwrap()
}

/// Simulates requests on machines of these settings.
pub fn simulate(requests: &[Request], values: &[(&str, &str)]) -> Vec<Run> {
    let replay = Replay {
        meta: Meta::default(),
        requests: requests.to_vec(),
        next: 0,
    };
    let traces = [Trace {
        name: "requests".to_owned(),
        open: Box::new(move || {
            let replay = replay.clone();
            Box::new(move || Ok(Box::new(replay.clone()) as Box<dyn Source>))
        }),
    }];
    run(machines(values), &traces, None, |_| ()).unwrap().runs
}

/// Simulates requests on one machine.
pub fn simulate_one(requests: &[Request], values: &[(&str, &str)]) -> Run {
    simulate(requests, values).swap_remove(0)
}
