//! Each policy once more, slow and obviously right: plain lists of all that was ever told, searched
//! each time.

mod traded;

use std::collections::BTreeMap;
use std::time::Duration;

use terrace_policy::migration::{Access, Migration, Move, Plan, Side};
use terrace_policy::params::Params;
use terrace_policy::replacement::PageId;
use terrace_policy::times::Times;

use self::traded::Benefit;

/// Makes the twin of a policy with its settings.
pub fn twin(text: &str, room: usize) -> Box<dyn Migration> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let mut params = Params::parse(settings).unwrap();
    let sides = Sides {
        sides: BTreeMap::new(),
        room,
    };
    match name {
        "never" => Box::new(Never),
        "interleave" => Box::new(Interleave {
            round: {
                let side = |side, weight| vec![side; weight as usize];
                let fast = side(Side::Fast, number(&mut params, "fast", 4.0));
                [fast, side(Side::Slow, number(&mut params, "slow", 1.0))].concat()
            },
            log: Vec::new(),
            sides,
        }),
        "sampled" => Box::new(Sampled {
            interval: time(&mut params, "interval"),
            every: number(&mut params, "every", 0.0) as u32,
            seen: number(&mut params, "seen", 2.0) as usize,
            sides,
            log: Vec::new(),
            ends: Vec::new(),
        }),
        "hot" => Box::new(Hot {
            threshold: time(&mut params, "threshold"),
            now: None,
            rate: pages(&mut params, "rate", 65_536 << 20),
            period: time(&mut params, "period"),
            scan: pages(&mut params, "scan", 256 << 20) as usize,
            adjust: match settings.contains("adjust") {
                true => time(&mut params, "adjust"),
                false => Duration::from_secs(60),
            },
            sides,
            order: Vec::new(),
            next: None,
            hand: 0,
            end: 0,
            candidates: 0,
            second: (Duration::ZERO, 0),
            adjusted: (Duration::ZERO, 0),
        }),
        _ => Box::new(Benefit::new(name, &mut params, sides)),
    }
}

fn number(params: &mut Params, key: &'static str, default: f64) -> f64 {
    params.take(key, "", default, 0.0..=1e18).unwrap()
}

fn time(params: &mut Params, key: &'static str) -> Duration {
    let text = params.text(key, "", "", "");
    let all = Times(Duration::ZERO..=Duration::MAX);
    terrace_policy::params::Values::read(&all, &text).unwrap()
}

fn pages(params: &mut Params, key: &'static str, default: u64) -> u64 {
    let text = params.text(key, "", "", "");
    let kilobytes = text
        .strip_suffix('K')
        .map(|text| text.parse::<u64>().unwrap());
    kilobytes.map_or(default, |kilobytes| kilobytes << 10) / 4096
}

pub struct Sides {
    sides: BTreeMap<PageId, Side>,
    room: usize,
}

impl Sides {
    fn on(&self, side: Side) -> Vec<PageId> {
        let own = self.sides.iter().filter(|(_, own)| **own == side);
        own.map(|(page, _)| *page).collect()
    }

    fn has_room(&self) -> bool {
        self.on(Side::Fast).len() < self.room
    }

    fn came(&mut self, page: PageId) -> Side {
        let side = if self.has_room() {
            Side::Fast
        } else {
            Side::Slow
        };
        *self.sides.entry(page).or_insert(side)
    }

    fn go(&mut self, page: PageId, to: Side, plan: &mut Plan) {
        self.sides.insert(page, to);
        plan.moves.push(Move { page, to });
    }

    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.entry(page).and_modify(|known| *known = side);
    }
}

struct Never;

impl Migration for Never {
    fn came(&mut self, _: PageId) -> Side {
        Side::Slow
    }
    fn gone(&mut self, _: PageId) {}
    fn stays(&mut self, _: PageId, _: Side) {}
}

struct Interleave {
    /// Sides in their order.
    round: Vec<Side>,
    /// Pages that were new.
    log: Vec<PageId>,
    sides: Sides,
}

impl Migration for Interleave {
    fn came(&mut self, page: PageId) -> Side {
        if let Some(side) = self.sides.sides.get(&page) {
            return *side;
        }
        let turn = self.round[self.log.len() % self.round.len()];
        let side = if self.sides.has_room() {
            turn
        } else {
            Side::Slow
        };
        self.log.push(page);
        self.sides.sides.insert(page, side);
        side
    }
    fn gone(&mut self, page: PageId) {
        self.sides.sides.remove(&page);
    }
    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.stays(page, side);
    }
}

struct Sampled {
    interval: Duration,
    every: u32,
    seen: usize,
    sides: Sides,
    /// Accessed pages, each with the number of intervals that had ended.
    log: Vec<(PageId, usize)>,
    /// When intervals ended.
    ends: Vec<Duration>,
}

impl Sampled {
    fn end(&self) -> Duration {
        self.ends.last().map_or(Duration::ZERO, |end| *end) + self.interval
    }

    /// How many of the last eight intervals had accesses, and which: the latest weighs most.
    fn history(&self, page: PageId) -> (u32, Vec<bool>) {
        let now = self.ends.len();
        let in_interval = |ago: usize| {
            let number = now.checked_sub(ago);
            number.is_some_and(|number| self.log.contains(&(page, number)))
        };
        let which: Vec<bool> = (0..8).map(in_interval).collect();
        (which.iter().filter(|seen| **seen).count() as u32, which)
    }

    fn exchange(&mut self, now: Duration, plan: &mut Plan) {
        let mut going = self.sides.on(Side::Fast);
        let mut coming = self.sides.on(Side::Slow);
        coming.retain(|page| self.history(*page).0 as usize >= self.seen);
        while !coming.is_empty() {
            // The first of those with the most.
            let best = coming
                .iter()
                .rev()
                .max_by_key(|page| self.history(**page))
                .copied()
                .unwrap();
            coming.retain(|page| *page != best);
            if !self.sides.has_room() {
                let Some(worst) = going
                    .iter()
                    .min_by_key(|page| self.history(**page))
                    .copied()
                else {
                    break;
                };
                going.retain(|page| *page != worst);
                if self.history(worst).0 >= self.history(best).0 {
                    break;
                }
                self.sides.go(worst, Side::Slow, plan);
            }
            self.sides.go(best, Side::Fast, plan);
        }
        self.ends.push(now);
    }

    fn see(&mut self, page: PageId) {
        if self.sides.sides.contains_key(&page) {
            self.log.push((page, self.ends.len()));
        }
    }
}

impl Migration for Sampled {
    fn came(&mut self, page: PageId) -> Side {
        self.sides.came(page)
    }
    fn gone(&mut self, page: PageId) {
        self.sides.sides.remove(&page);
        self.log.retain(|(other, _)| *other != page);
    }
    fn sampled(&mut self, access: Access, time: Duration, plan: &mut Plan) {
        if time >= self.end() {
            self.exchange(time, plan);
        }
        self.see(access.page);
    }
    fn next_scan(&self) -> Option<Duration> {
        (self.every == 0).then(|| self.end())
    }
    fn scanned(&mut self, accessed: &[Access], time: Duration, plan: &mut Plan) {
        accessed.iter().for_each(|access| self.see(access.page));
        self.exchange(time, plan);
    }
    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.stays(page, side);
    }
}

struct Hot {
    threshold: Duration,
    /// The threshold, once it was adjusted.
    now: Option<Duration>,
    rate: u64,
    period: Duration,
    scan: usize,
    adjust: Duration,
    sides: Sides,
    /// Fast pages, the one accessed last at the end.
    order: Vec<PageId>,
    next: Option<Duration>,
    hand: u32,
    /// One more than the largest page ever.
    end: u32,
    candidates: u64,
    second: (Duration, u64),
    adjusted: (Duration, u64),
}

impl Hot {
    fn reorder(&mut self, page: PageId) {
        self.order.retain(|other| *other != page);
        if self.sides.sides.get(&page) == Some(&Side::Fast) {
            self.order.push(page);
        }
    }
}

impl Migration for Hot {
    fn came(&mut self, page: PageId) -> Side {
        self.end = self.end.max(page.0 + 1);
        let known = self.sides.sides.contains_key(&page);
        let side = self.sides.came(page);
        if !known {
            self.reorder(page);
        }
        side
    }
    fn gone(&mut self, page: PageId) {
        self.end = self.end.max(page.0 + 1);
        self.sides.sides.remove(&page);
        self.reorder(page);
    }
    fn next_scan(&self) -> Option<Duration> {
        Some(self.next.unwrap_or(self.period))
    }
    fn scanned(&mut self, accessed: &[Access], time: Duration, plan: &mut Plan) {
        self.next = Some(time + self.period);
        for Access { page, .. } in accessed {
            if self.order.contains(page) {
                self.reorder(*page);
            }
        }
        for _ in 0..self.end {
            if plan.hints.len() < self.scan {
                let page = PageId(self.hand);
                if self.sides.sides.get(&page) == Some(&Side::Slow) {
                    plan.hints.push(page);
                }
                self.hand = if self.hand + 1 < self.end {
                    self.hand + 1
                } else {
                    0
                };
            }
        }
    }
    fn hinted(&mut self, access: Access, waited: Duration, time: Duration, plan: &mut Plan) {
        let page = access.page;
        if self.sides.sides.get(&page) != Some(&Side::Slow) {
            return;
        }
        if !self.sides.has_room() {
            if time - self.adjusted.0 > self.adjust {
                let found = (self.candidates - self.adjusted.1) as f64;
                let wanted = self.rate as f64 * self.adjust.as_secs_f64();
                let (now, step) = (self.now.unwrap_or(self.threshold), self.threshold / 8);
                if found > 1.1 * wanted {
                    self.now = Some(step.max(now.saturating_sub(step)));
                } else if found < 0.9 * wanted {
                    self.now = Some((2 * self.threshold).min(now + step));
                }
                self.adjusted = (time, self.candidates);
            }
            if waited >= self.now.unwrap_or(self.threshold) {
                return;
            }
            self.candidates += 1;
            if time - self.second.0 > Duration::from_secs(1) {
                self.second = (time, self.candidates);
            }
            if self.candidates >= self.second.1 + self.rate || self.order.is_empty() {
                return;
            }
            let victim = self.order.remove(0);
            self.sides.go(victim, Side::Slow, plan);
        }
        self.sides.go(page, Side::Fast, plan);
        self.reorder(page);
    }
    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.stays(page, side);
        self.reorder(page);
    }
}
