//! Each policy once more, slow and obviously right: plain lists of all that was ever told, searched
//! each time. Long: a twin for each policy.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use terrace_policy::migration::{Access, Loads, Migration, Move, Plan, Side};
use terrace_policy::params::Params;
use terrace_policy::replacement::PageId;
use terrace_policy::times::Times;

use crate::calls::COSTS;

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
        _ => Box::new(Benefit {
            every: {
                let every = number(&mut params, "every", 16.0);
                let watch = number(&mut params, "watch", 0.02);
                let most = COSTS.line_ps as f64 * watch;
                (COSTS.sample.as_nanos() as f64 * 1000.0 / most)
                    .ceil()
                    .max(every)
            },
            doublings: 0,
            turns: number(&mut params, "turns", 32.0),
            expect: number(&mut params, "expect", 2.0),
            slack: number(&mut params, "slack", 0.01),
            even: (name == "balance").then(|| Even {
                tolerance: number(&mut params, "tolerance", 0.05),
                bounds: (0.0, 1.0),
                log: vec![Loads::default()],
                now: None,
                slower: COSTS.line_ps as f64,
            }),
            wear: (name == "write-aware").then(|| number(&mut params, "wear", 1.0)),
            changed: BTreeSet::new(),
            sides,
            log: Vec::new(),
            saved: 0.0,
            spent: 0.0,
        }),
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

struct Sides {
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

/// What `balance` knows beside `benefit`.
struct Even {
    tolerance: f64,
    /// Least and most share of accesses that DRAM should serve.
    bounds: (f64, f64),
    /// Loads at each look.
    log: Vec<Loads>,
    now: Option<Loads>,
    /// By how many picoseconds slow memory took longer at the last look.
    slower: f64,
}

impl Even {
    /// Looks at what accesses took; returns the share that should move, to slow memory if it is
    /// less than 0.
    fn look(&mut self) -> f64 {
        let Some(now) = self.now else {
            return f64::INFINITY;
        };
        let last = self.log[self.log.len() - 1];
        let accesses = |of: fn(&Loads) -> u64| (of(&now) - of(&last)) as f64;
        let (fast, slow) = (
            accesses(|loads| loads.fast.accesses),
            accesses(|loads| loads.slow.accesses),
        );
        let mean = |took: u64, number: f64, idle: u64| match number > 0.0 {
            true => (took as f64 / number).floor(),
            false => idle as f64,
        };
        let took = mean(now.fast.took_ps - last.fast.took_ps, fast, now.fast.idle_ps);
        let longer = mean(now.slow.took_ps - last.slow.took_ps, slow, now.slow.idle_ps);
        self.log.push(now);
        self.slower = longer - took;
        if self.slower.abs() <= self.tolerance * took || fast + slow == 0.0 {
            return 0.0;
        }
        let share = fast / (fast + slow);
        let (least, most) = self.bounds;
        self.bounds = match (self.slower > 0.0, most - share < 0.01, share - least < 0.01) {
            (true, true, _) => (share, 1.0),
            (true, false, _) => (share, most),
            (false, _, true) => (0.0, share),
            (false, _, false) => (least, share),
        };
        (self.bounds.0 + self.bounds.1) / 2.0 - share
    }
}

/// `benefit`; `write-aware`, which counts reads and writes apart; and `balance`, which weighs
/// loads.
struct Benefit {
    even: Option<Even>,
    /// What a line that is written counts in wear, if reads and writes are told apart.
    wear: Option<f64>,
    /// Pages that slow memory has no copy of.
    changed: BTreeSet<PageId>,
    /// One access in how many is counted at most.
    every: f64,
    /// How often that was doubled.
    doublings: i32,
    turns: f64,
    expect: f64,
    slack: f64,
    sides: Sides,
    /// Samples since the last look and of those between earlier ones, the latest at the end, each
    /// with one in how many they were.
    log: Vec<(f64, Vec<Access>)>,
    /// In nanoseconds.
    saved: f64,
    spent: f64,
}

impl Benefit {
    /// After 32 looks samples count half, and all are in units of the present rate.
    fn count(&self, page: PageId, kind: Option<bool>) -> f64 {
        let (mut count, mut rate) = (0.0, 1.0);
        for (every, samples) in &self.log {
            count *= 0.5_f64.powf(1.0 / 32.0);
            count *= rate / every;
            let is_kind = |one: &Access| kind.is_none_or(|wrote| one.wrote == wrote);
            for _ in samples
                .iter()
                .filter(|one| one.page == page && is_kind(one))
            {
                count += 1.0;
            }
            rate = *every;
        }
        count
    }

    /// Of 32 pages with consecutive numbers the mean, and of what one differs from it what chance
    /// does not explain.
    fn estimate(&self, page: PageId, kind: Option<bool>) -> f64 {
        let known = self.sides.sides.keys();
        let neighbours = known.filter(|other| other.0 / 32 == page.0 / 32);
        let counts: Vec<f64> = neighbours.map(|other| self.count(*other, kind)).collect();
        let count = self.count(page, kind);
        let number = counts.len() as f64;
        if number == 1.0 {
            return count;
        }
        let mean = counts.iter().sum::<f64>() / number;
        let away: Vec<f64> = counts.iter().map(|count| (count - mean).powi(2)).collect();
        let variance = away.iter().sum::<f64>() / (number - 1.0);
        // But for rounding.
        if variance <= mean * (1.0 + 1e-9) {
            return f64::from(mean as f32);
        }
        f64::from((mean + (count - mean) * ((variance - mean) / variance)) as f32)
    }

    /// What as many samples of a page as are expected to come are worth, in nanoseconds.
    fn worth(&self, page: PageId) -> f64 {
        let line = COSTS.line_ps as f64;
        let read = self.even.as_ref().map_or(line, |even| even.slower.abs());
        let written = COSTS.written_line_ps as f64;
        let picos = match self.wear {
            None => self.estimate(page, None) * read,
            Some(wear) => {
                let [reads, writes] = [false, true].map(|kind| self.estimate(page, Some(kind)));
                reads * read + writes * written + wear * writes * written
            }
        };
        picos * self.expect * self.now() / 1000.0
    }

    fn now(&self) -> f64 {
        self.every * 2.0_f64.powi(self.doublings)
    }

    fn exchange(&mut self, now: Duration, plan: &mut Plan) {
        let nanos = |time: Duration| time.as_nanos() as f64;
        let mut going = self.sides.on(Side::Fast);
        let mut coming = self.sides.on(Side::Slow);
        let mut left = f64::INFINITY;
        if let Some(even) = &mut self.even {
            left = even.look();
            let is_busy = even.slower < 0.0;
            let known: Vec<PageId> = self.sides.sides.keys().copied().collect();
            left = left.abs()
                * known
                    .iter()
                    .map(|page| self.estimate(*page, None))
                    .sum::<f64>();
            if is_busy {
                coming.clear();
                self.retreat(left, now, plan);
            }
        }
        while let Some(best) = coming
            .iter()
            .rev()
            .max_by(|one, other| self.worth(**one).total_cmp(&self.worth(**other)))
            .copied()
        {
            coming.retain(|page| *page != best);
            let by_count =
                |one: &&PageId, other: &&PageId| self.worth(**one).total_cmp(&self.worth(**other));
            let worst = going.iter().min_by(by_count).copied();
            let (worst, mut cost) = match (self.sides.has_room(), worst) {
                (true, _) => (None, nanos(COSTS.promotion)),
                (false, Some(worst)) => (Some(worst), nanos(COSTS.promotion + COSTS.demotion)),
                (false, None) => break,
            };
            going.retain(|page| Some(*page) != worst);
            if plan.moves.is_empty() {
                cost += nanos(COSTS.batch);
            }
            let gain = self.worth(best) - worst.map_or(0.0, |page| self.worth(page));
            let line = self.wear.unwrap_or(0.0) * COSTS.written_line_ps as f64 / 1000.0;
            let worn = match worst.is_some_and(|page| self.changed.contains(&page)) {
                true => 64.0 * line,
                false => 0.0,
            };
            let far = |page| {
                self.even
                    .as_ref()
                    .map_or(0.0, |_| self.estimate(page, None))
            };
            let more = far(best) - worst.map_or(0.0, far);
            if gain <= cost + worn || self.spent + cost > self.saved + self.slack * nanos(now) {
                break;
            }
            if more > left {
                going.extend(worst);
                going.sort();
                continue;
            }
            left -= more;
            self.spent += cost;
            if let Some(worst) = worst {
                self.sides.go(worst, Side::Slow, plan);
                self.changed.remove(&worst);
            }
            self.sides.go(best, Side::Fast, plan);
            self.changed.remove(&best);
        }
        self.end_look(now);
    }

    /// `balance` has pages leave a busy DRAM, as many as `left` accesses.
    fn retreat(&mut self, mut left: f64, now: Duration, plan: &mut Plan) {
        let nanos = |time: Duration| time.as_nanos() as f64;
        let mut going = self.sides.on(Side::Fast);
        let by_count =
            |one: &PageId, other: &PageId| self.worth(*other).total_cmp(&self.worth(*one));
        going.sort_by(by_count);
        for page in going {
            let mut cost = nanos(COSTS.demotion);
            if plan.moves.is_empty() {
                cost += nanos(COSTS.batch);
            }
            let is_dear = self.spent + cost > self.saved + self.slack * nanos(now);
            if self.worth(page) <= cost || is_dear {
                break;
            }
            if self.estimate(page, None) <= left {
                left -= self.estimate(page, None);
                self.spent += cost;
                self.sides.go(page, Side::Slow, plan);
            }
        }
    }

    fn end_look(&mut self, now: Duration) {
        let nanos = |time: Duration| time.as_nanos() as f64;
        let is_poor = self.spent > self.saved + self.slack * nanos(now);
        self.doublings = (self.doublings + if is_poor { 1 } else { -1 }).clamp(0, 4);
        self.log.push((self.now(), Vec::new()));
    }
}

impl Migration for Benefit {
    fn came(&mut self, page: PageId) -> Side {
        let known = self.sides.sides.contains_key(&page);
        let side = self.sides.came(page);
        if !known {
            self.changed.remove(&page);
        }
        if !known && side == Side::Fast {
            self.changed.insert(page);
        }
        side
    }
    fn gone(&mut self, page: PageId) {
        self.sides.sides.remove(&page);
        // It is no longer counted, but it was a sample.
        let strike = |one: &mut Access| {
            if one.page == page {
                one.page = PageId(u32::MAX);
            }
        };
        self.log
            .iter_mut()
            .flat_map(|(_, round)| round)
            .for_each(strike);
    }
    fn loaded(&mut self, loads: Loads) {
        if let Some(even) = &mut self.even {
            even.now = Some(loads);
        }
    }
    fn sampled(&mut self, access: Access, time: Duration, plan: &mut Plan) {
        let Some(side) = self.sides.sides.get(&access.page) else {
            return;
        };
        let is_right = match &self.even {
            Some(even) if even.slower < 0.0 => *side == Side::Slow,
            _ => *side == Side::Fast,
        };
        if is_right {
            let picos = match self.wear.is_some() && access.wrote {
                true => COSTS.written_line_ps,
                false => COSTS.line_ps,
            };
            let picos = self
                .even
                .as_ref()
                .map_or(picos as f64, |even| even.slower.abs());
            self.saved += self.now() * picos / 1000.0;
            if access.wrote {
                self.changed.insert(access.page);
            }
        }
        if self.log.is_empty() {
            self.log.push((self.now(), Vec::new()));
        }
        self.spent += COSTS.sample.as_nanos() as f64;
        let every = self.now();
        let (_, round) = self.log.last_mut().unwrap();
        round.push(access);
        let lines = 64.0 * self.sides.sides.len() as f64;
        if round.len() as f64 * every >= lines * self.turns / 32.0 {
            self.exchange(time, plan);
        }
    }
    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.stays(page, side);
    }
}
