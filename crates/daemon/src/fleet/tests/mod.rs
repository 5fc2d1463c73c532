//! Fleets on services of a model.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use terrace_base::lock;
use terrace_policy::control::{Moved, Seen};

use super::*;

mod budget;
mod counts;
mod services;
mod twin;

/// What simulated services have been told, and what they show.
#[derive(Default)]
struct World {
    services: BTreeMap<PathBuf, Sim>,
    /// Looks and steps since it began, by group.
    looks: BTreeMap<PathBuf, u64>,
    steps: Vec<(PathBuf, Step)>,
    opened: u64,
}

/// A service: it stalls while less than its hot memory is in DRAM.
#[derive(Clone, Default)]
struct Sim {
    time: Duration,
    resident: u64,
    swapped: u64,
    hot: u64,
    /// What cannot be reclaimed.
    pinned: u64,
    written: u64,
    counted: Counted,
    short: bool,
    is_empty: bool,
    fails: bool,
    /// What a glance showed last.
    glanced: Option<(u64, u64)>,
}

type Shared = Arc<Mutex<World>>;

struct Simulated(Shared);
struct Open(Shared, PathBuf);

impl Machine for Simulated {
    fn open(&mut self, group: &Path) -> machine::Opened {
        let mut world = lock(&self.0);
        if let Some(sim) = world.services.get_mut(group) {
            if sim.is_empty {
                return Ok(None);
            }
            // What was counted before does not count.
            sim.counted = Counted::default();
        }
        world.opened += 1;
        Ok(Some(Box::new(Open(Arc::clone(&self.0), group.to_owned()))))
    }
}

impl Service for Open {
    fn look(&mut self) -> Result<Option<Seen>, String> {
        let mut world = lock(&self.0);
        *world.looks.entry(self.1.clone()).or_default() += 1;
        let Some(sim) = world.services.get_mut(&self.1) else {
            return Ok(None);
        };
        if sim.fails {
            return Err("it cannot be read".into());
        }
        if sim.is_empty {
            return Ok(None);
        }
        let stalled = match sim.resident < sim.hot {
            true => TICK / 5,
            false => Duration::ZERO,
        };
        Ok(Some(Seen {
            time: sim.time,
            resident: sim.resident,
            swapped: sim.swapped,
            stalled,
            written: std::mem::take(&mut sim.written),
            short: sim.short,
        }))
    }

    fn is_as_before(&mut self) -> bool {
        let mut world = lock(&self.0);
        let Some(sim) = world.services.get_mut(&self.1) else {
            return false;
        };
        let now = Some((sim.resident, sim.swapped));
        std::mem::replace(&mut sim.glanced, now) == now
    }

    fn carry_out(&mut self, step: Step) -> Result<Moved, String> {
        let mut world = lock(&self.0);
        world.steps.push((self.1.clone(), step));
        let sim = world.services.get_mut(&self.1).ok_or("it is gone")?;
        let bytes = match step {
            Step::Reclaim(bytes) => {
                let bytes = bytes.min(sim.resident.saturating_sub(sim.pinned));
                sim.resident -= bytes;
                sim.swapped += bytes;
                sim.written += bytes;
                bytes
            }
            Step::GiveBack(bytes) => {
                let bytes = bytes.min(sim.swapped);
                sim.resident += bytes;
                sim.swapped -= bytes;
                bytes
            }
            Step::Hold => 0,
        };
        Ok(Moved { bytes, tried: 0 })
    }

    fn counted(&mut self) -> Counted {
        let mut world = lock(&self.0);
        let sim = world.services.get_mut(&self.1);
        sim.map_or(Counted::default(), |sim| std::mem::take(&mut sim.counted))
    }

    fn heat(&mut self, most: usize) -> terrace_live::control::Heat {
        let part = |number| terrace_live::control::Part {
            first: number * 512,
            ..Default::default()
        };
        terrace_live::control::Heat {
            pages: 512,
            parts: (0..most as u64).map(part).collect(),
            left_out: 0,
        }
    }
}

const TICK: Duration = Duration::from_millis(500);
const MIB: u64 = 1 << 20;

/// A fleet on simulated services, and its clock.
struct Bench {
    world: Shared,
    fleet: Fleet,
    now: Now,
    told: Vec<Told>,
}

fn configuration(text: &str) -> Configuration {
    Configuration::parse(&[("a.toml".into(), text.into())]).unwrap()
}

fn targets(names: &[&str], goal: &str) -> String {
    let one = |name: &&str| format!("[target.{name}]\nunit = \"{name}\"\n{goal}\n");
    names.iter().map(one).collect()
}

const WEAR: &str = "[tier]\nendurance = \"1GB\"\nlife = \"1days\"\n";

impl Bench {
    fn new(text: &str, ledger: Ledger) -> Self {
        let world = Shared::default();
        let machine = Box::new(Simulated(Arc::clone(&world)));
        Self {
            fleet: Fleet::new(machine, &configuration(text), ledger),
            world,
            now: Now::default(),
            told: Vec::new(),
        }
    }

    /// Has services with these names, of 1 GiB with a hot part.
    fn with(text: &str, services: &[(&str, u64)]) -> Self {
        let mut bench = Self::new(text, Ledger::default());
        for (name, hot) in services {
            bench.service(name, *hot);
            bench.find(name, 1);
        }
        bench
    }

    fn service(&mut self, name: &str, hot: u64) {
        let sim = Sim {
            time: self.now.since,
            resident: 1 << 30,
            hot,
            ..Sim::default()
        };
        lock(&self.world).services.insert(group(name, 1).path, sim);
    }

    fn find(&mut self, name: &str, inode: u64) {
        let found = [(name.to_owned(), Ok(vec![group(name, inode)]))].into();
        self.fleet.found(&found, self.now);
    }

    /// Lets time go on by ticks, and carries everything out at once.
    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.now.since += TICK;
            self.now.wall_ms += TICK.as_millis() as u64;
            for sim in lock(&self.world).services.values_mut() {
                sim.time += TICK;
            }
            for job in self.fleet.turn(self.now) {
                let done = job.perform();
                self.fleet.done(done, self.now);
            }
            self.told.extend(self.fleet.told());
        }
    }

    fn sim(&self, name: &str) -> Sim {
        lock(&self.world).services[&group(name, 1).path].clone()
    }

    fn change(&self, name: &str, how: impl FnOnce(&mut Sim)) {
        how(lock(&self.world)
            .services
            .get_mut(&group(name, 1).path)
            .unwrap());
    }

    fn steps(&self, name: &str) -> Vec<Step> {
        let world = lock(&self.world);
        let steps = world
            .steps
            .iter()
            .filter(|(path, _)| *path == group(name, 1).path);
        steps.map(|(_, step)| *step).collect()
    }

    fn texts(&self, kind: Kind) -> Vec<&str> {
        let told = self.told.iter().filter(|told| told.kind == kind);
        told.map(|told| &*told.text).collect()
    }
}

fn group(name: &str, inode: u64) -> Group {
    Group {
        path: PathBuf::from(format!("/{name}.service")),
        inode,
    }
}

const SLOWDOWN: &str = "slowdown = \"2%\"";
const HALF: u64 = 1 << 29;
