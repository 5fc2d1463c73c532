//! The driver beside a slow twin.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::control::{Controller, Moved, Seen, Step};

use super::{Looked, POLICIES, READ, WRITE, know_seesaw, looked, machine, program, spec, steps};
use crate::machine::simulate;

/// What the thread of the twin does at a look.
#[derive(Clone, Copy)]
enum Doing {
    /// It computes until its next touch.
    Computes,
    /// It handles a fault, whose time it has counted beforehand.
    Handles,
    /// It has waited for memory since its clock.
    Waits,
}

/// A page of the twin.
#[derive(Clone, Copy, Default)]
struct Page {
    dirty: bool,
    copy: bool,
    /// It was given back and not touched since.
    given: bool,
    /// End of its read, and of its write.
    read: u64,
    write: u64,
    /// It waits for the end of its write to be written again.
    waits: bool,
}

/// One thread, LRU, DRAM for everything, and a device that serves one request after the other.
struct Twin {
    controller: Controller,
    every: u64,
    next: u64,
    /// The page that was used last is last.
    lru: Vec<u64>,
    pages: HashMap<u64, Page>,
    /// Pages that left by control and are out, the last one last.
    left: Vec<u64>,
    now: u64,
    lost: u64,
    free: u64,
    written: u64,
    /// Lost time, time and writes at the look before.
    before: (u64, u64, u64),
    looks: Vec<Looked>,
    /// A touch was made at the very moment of something else, and either may be first.
    ties: bool,
}

impl Twin {
    fn new(control: &str) -> Self {
        let controller = spec(control).unwrap().controller().unwrap();
        let every = controller.every().as_nanos() as u64;
        Self {
            controller,
            every,
            next: every,
            lru: Vec::new(),
            pages: HashMap::new(),
            left: Vec::new(),
            now: 0,
            lost: 0,
            free: 0,
            written: 0,
            before: (0, 0, 0),
            looks: Vec::new(),
            ties: false,
        }
    }

    /// Serves a request behind all others.
    fn serve(&mut self, at: u64, takes: u64) -> u64 {
        self.free = self.free.max(at) + takes;
        self.free
    }

    /// Makes all looks before a moment.
    fn look_until(&mut self, moment: u64, doing: Doing) {
        while self.next < moment {
            self.look(doing);
        }
    }

    fn look(&mut self, doing: Doing) {
        let at = self.next;
        self.next += self.every;
        let since = at.saturating_sub(self.now);
        let (lost, ran) = match doing {
            Doing::Computes => (self.lost, self.now + since),
            Doing::Handles => (self.lost, self.now),
            Doing::Waits => (self.lost + since, self.now + since),
        };
        let (lost_before, ran_before, written_before) = self.before;
        let share = match ran - ran_before {
            0 => 0,
            ran => u128::from(self.every) * u128::from(lost - lost_before) / u128::from(ran),
        };
        let resident = self.lru.len() as u64;
        let seen = Seen {
            time: Duration::from_nanos(at),
            resident: resident * 4096,
            swapped: (self.pages.len() as u64 - resident) * 4096,
            stalled: Duration::from_nanos((share as u64).min(self.every)),
            written: (self.written - written_before) * 4096,
            short: false,
        };
        self.before = (lost, ran, self.written);
        let (mut reclaimed, mut given) = (0, 0);
        match self.controller.look(&seen, None).step {
            Step::Reclaim(bytes) => {
                while reclaimed < bytes / 4096 && !self.lru.is_empty() {
                    self.reclaim(at);
                    reclaimed += 1;
                }
            }
            Step::GiveBack(bytes) => {
                while given < bytes / 4096
                    && let Some(page) = self.left.pop()
                {
                    self.give_back(page, at);
                    given += 1;
                }
            }
            Step::Hold => {}
        }
        self.controller.came(Moved {
            bytes: (reclaimed + given) * 4096,
            tried: 0,
        });
        self.looks
            .push((at, resident, seen.written / 4096, reclaimed, given));
    }

    fn reclaim(&mut self, at: u64) {
        let page = self.lru.remove(0);
        self.left.push(page);
        let mut state = self.pages[&page];
        state.given = false;
        if state.dirty || !state.copy {
            if state.write > at {
                state.waits = true;
            } else {
                state.write = self.serve(at, WRITE);
                (state.dirty, state.copy) = (false, true);
                self.written += 1;
            }
        }
        self.pages.insert(page, state);
    }

    fn give_back(&mut self, page: u64, at: u64) {
        self.lru.push(page);
        let mut state = self.pages[&page];
        state.given = true;
        if state.write > at || state.waits {
            state.waits = false;
        } else if state.read <= at {
            state.read = self.serve(at, READ);
        }
        self.pages.insert(page, state);
    }

    /// Spends time that DRAM for everything would not take.
    fn lose(&mut self, time: u64) {
        self.now += time;
        self.lost += time;
    }

    /// Waits for the read of a page, and maps it.
    fn wait(&mut self, page: u64) {
        let end = self.pages[&page].read;
        self.look_until(end, Doing::Waits);
        // Its read may have ended before the thread got here.
        self.lose(end.saturating_sub(self.now));
        self.lose(4 + 8);
    }

    fn touch(&mut self, page: u64, write: bool, pause: u64) {
        let at = self.now + pause;
        let ends = self
            .pages
            .values()
            .any(|page| [page.read, page.write].contains(&at));
        self.ties |= at > 0 && (ends || at.is_multiple_of(self.every));
        self.look_until(at, Doing::Computes);
        self.now = at;
        let known = self.pages.get(&page).copied();
        let resident = self.lru.contains(&page);
        self.lru.retain(|other| *other != page);
        self.left.retain(|other| *other != page);
        self.lru.push(page);
        let state = self.pages.entry(page).or_default();
        state.dirty |= write;
        state.given = false;
        let waited = std::mem::take(&mut state.waits);
        let Some(before) = known else {
            self.now += 1;
            self.look_until(self.now + 1, Doing::Handles);
            self.now += 4 + 8;
            return;
        };
        let coming = before.read > at;
        match (resident, coming) {
            (true, false) if !before.given => {}
            (true, false) => self.lose(1 + 8),
            (_, true) => {
                self.lose(1);
                self.wait(page);
            }
            (false, false) if before.write > at || waited => {
                self.lose(1);
                self.look_until(self.now + 1, Doing::Handles);
                self.lose(8);
            }
            (false, false) => {
                self.lose(1 + 2);
                self.look_until(self.now + 1, Doing::Handles);
                let end = self.serve(self.now, READ);
                self.pages.entry(page).or_default().read = end;
                self.wait(page);
            }
        }
    }

    fn run(mut self, touches: &[(u64, bool, u64)]) -> Self {
        for &(page, write, pause) in touches {
            self.touch(page, write, pause);
        }
        self.look_until(self.now + 1, Doing::Handles);
        self
    }
}

proptest! {
    #[test]
    fn as_its_slow_twin(mut steps in steps(), block in 1..60_usize) {
        // A trace begins with its first instruction.
        steps[0].2 = 0;
        know_seesaw();
        for policy in POLICIES {
            let outcome = simulate(machine(99, policy), &[program(&steps)], block);
            let twin = Twin::new(policy).run(&steps);
            if twin.ties {
                continue;
            }
            prop_assert_eq!(looked(&outcome), twin.looks, "{}", policy);
            prop_assert_eq!(outcome.time().0, twin.now, "{}", policy);
        }
    }
}
