//! The policies that trade, slow and obviously right.

use std::collections::BTreeSet;
use std::time::Duration;

use terrace_policy::migration::{Access, Loads, Migration, Plan, Side};
use terrace_policy::params::Params;
use terrace_policy::replacement::PageId;

use super::{Sides, number};
use crate::calls::COSTS;

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
pub struct Benefit {
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
    pub fn new(name: &str, params: &mut Params, sides: Sides) -> Self {
        Self {
            every: {
                let every = number(params, "every", 16.0);
                let watch = number(params, "watch", 0.02);
                let most = COSTS.line_ps as f64 * watch;
                (COSTS.sample.as_nanos() as f64 * 1000.0 / most)
                    .ceil()
                    .max(every)
            },
            doublings: 0,
            turns: number(params, "turns", 32.0),
            expect: number(params, "expect", 2.0),
            slack: number(params, "slack", 0.01),
            even: (name == "balance").then(|| Even {
                tolerance: number(params, "tolerance", 0.05),
                bounds: (0.0, 1.0),
                log: vec![Loads::default()],
                now: None,
                slower: COSTS.line_ps as f64,
            }),
            wear: (name == "write-aware").then(|| number(params, "wear", 1.0)),
            changed: BTreeSet::new(),
            sides,
            log: Vec::new(),
            saved: 0.0,
            spent: 0.0,
        }
    }

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
