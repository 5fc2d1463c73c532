//! Requests in memory, and machines for them.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::files::{FilesMachine, Grid, Run, run};
use terrace_sim::mix::Trace;
use terrace_sim::setting::Given;
use terrace_trace::discard::Discard;
use terrace_trace::files::{self, Files};
use terrace_trace::{Access, Block, Meta, Source};

/// A request: its first page, its pages, and whether it writes.
pub type Request = (u64, u64, bool);

/// Requests for files.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// The requests.
    pub requests: Vec<Request>,
    /// Pages from one file to the next; `None`: all are one file.
    pub room: Option<u64>,
    /// What was given back: before which request, the first page, and the pages.
    pub given_back: Vec<(usize, u64, u64)>,
}

#[derive(Clone)]
struct Replay {
    meta: Meta,
    load: Load,
    next: usize,
}

impl Source for Replay {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let rest = &self.load.requests[self.next..];
        let rest = &rest[..rest.len().min(1 << 14)];
        for &(page, pages, write) in rest {
            block.push(Access {
                address: page * 4096,
                size: (pages * 4096) as u32,
                write,
                ..Access::default()
            });
        }
        let now = self.next..self.next + rest.len();
        let given_back = self.load.given_back.iter();
        let given_back = given_back.filter(|(before, ..)| now.contains(before));
        block
            .discards
            .extend(given_back.map(|&(before, page, pages)| Discard {
                row: (before - now.start) as u64,
                page,
                pages,
                ..Discard::default()
            }));
        self.next = now.end;
        Ok(())
    }
}

/// Returns the machines of these settings.
pub fn machines(values: &[(&str, &str)]) -> Vec<FilesMachine> {
    let grid = Grid::new(Given::parse(values).unwrap());
    grid.machines(&Catalogue::builtin()).unwrap()
}

/// Simulates requests for files on machines of these settings.
pub fn simulate_load(load: &Load, values: &[(&str, &str)]) -> Vec<Run> {
    let mut meta = Meta::default();
    if let Some(room) = load.room {
        let (first, room) = (0, 4096 * room);
        let said = Files { first, room }.to_string();
        meta.about.push((files::KEY.to_owned(), said));
    }
    let replay = Replay {
        meta,
        load: load.clone(),
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

/// Simulates requests on machines of these settings.
pub fn simulate(requests: &[Request], values: &[(&str, &str)]) -> Vec<Run> {
    let load = Load {
        requests: requests.to_vec(),
        ..Load::default()
    };
    simulate_load(&load, values)
}

/// Simulates requests on one machine.
pub fn simulate_one(requests: &[Request], values: &[(&str, &str)]) -> Run {
    simulate(requests, values).swap_remove(0)
}
