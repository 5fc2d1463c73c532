//! The budget of writes by the names of targets, and what is kept of it while the daemon does not
//! run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_policy::control::budget::{Budget, Levels};

use crate::protocol;

/// What comes in within this time can be held.
pub const BURST: Duration = Duration::from_secs(86_400);

/// What a budget held, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// Of each target; negative if it owes.
    pub shares: BTreeMap<String, i64>,
    /// The common part.
    pub common: i64,
}

/// The budget of writes, if there is one.
#[derive(Default)]
pub struct Ledger {
    begin: Begin,
    names: Vec<String>,
    budget: Option<(u64, Budget)>,
    /// Of each instance: its target, and the bytes of its last step, of which the next look tells
    /// how many were written.
    reserved: BTreeMap<u64, (String, u64)>,
    /// Bytes written since it began.
    written: u64,
    /// Whether something has changed that time alone does not explain.
    is_new: bool,
}

/// What it holds at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Begin {
    /// All that it can: the machine has never had one.
    #[default]
    Full,
    /// Nothing: what was kept cannot be read.
    Empty,
    /// What was kept, and what has come in meanwhile.
    Kept(Kept, Duration),
    /// It has begun.
    Past,
}

impl Ledger {
    /// A budget that begins empty, because it is not known what it held.
    pub fn empty() -> Self {
        Self {
            begin: Begin::Empty,
            ..Self::default()
        }
    }

    /// A budget that goes on with what was kept, now that it is so late.
    pub fn resumed(kept: Kept, wall_ms: u64) -> Self {
        let away = Duration::from_millis(wall_ms.saturating_sub(kept.time_ms));
        Self {
            begin: Begin::Kept(kept, away),
            ..Self::default()
        }
    }

    /// Shares what comes in a day among other targets from now on. Targets keep what they hold or
    /// owe, new ones hold nothing, and what those hold or owe that are no longer there passes to
    /// the common part, or to all: no reload makes room for writes, or forgets any.
    pub fn share_among(
        &mut self,
        names: impl Iterator<Item = String>,
        a_day: Option<u64>,
        time: Duration,
    ) {
        let before = self.budget.take();
        let names: Vec<String> = names.collect();
        self.is_new = true;
        let Some(a_day) = a_day else {
            self.names = names;
            return;
        };
        let mut budget = Budget::new(a_day, BURST, names.len());
        let begin = std::mem::replace(&mut self.begin, Begin::Past);
        let held = match (before, begin) {
            (Some((_, mut before)), _) => {
                before.pass(time);
                Some(self.held(&before.levels()))
            }
            (None, Begin::Full) => None,
            (None, Begin::Kept(kept, away)) => {
                let levels = moved(&kept.shares, kept.common, &names);
                budget.restore(&levels);
                budget.pass(away);
                let levels = budget.levels();
                Some((by_name(&names, &levels), levels.common))
            }
            (None, Begin::Empty | Begin::Past) => Some((BTreeMap::new(), 0)),
        };
        // Its time begins with that of the fleet.
        let mut budget = Budget::new(a_day, BURST, names.len());
        budget.pass(time);
        if let Some((shares, common)) = held {
            budget.restore(&moved(&shares, common, &names));
        }
        self.names = names;
        self.budget = Some((a_day, budget));
    }

    fn held(&self, levels: &Levels) -> (BTreeMap<String, i64>, i64) {
        (by_name(&self.names, levels), levels.common)
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|it| it.as_str().cmp(name)).ok()
    }

    /// Lets come in what comes in until now.
    pub fn pass(&mut self, time: Duration) {
        if let Some((_, budget)) = &mut self.budget {
            budget.pass(time);
        }
    }

    /// Takes bytes that were written for a target.
    pub fn wrote(&mut self, name: &str, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.written += bytes;
        self.is_new = true;
        let index = self.index(name);
        if let (Some((_, budget)), Some(index)) = (&mut self.budget, index) {
            budget.wrote(index, bytes);
        }
    }

    /// Returns the bytes that a target may write now, beyond those of its last steps; `None` if
    /// there is no budget.
    pub fn allowance(&self, name: &str) -> Option<u64> {
        let (_, budget) = self.budget.as_ref()?;
        let allowed = self.index(name).map_or(0, |at| budget.allowance(at));
        let steps = self.reserved.values().filter(|(of, _)| of == name);
        let reserved = steps.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        Some(allowed.saturating_sub(reserved))
    }

    /// Notes a step of an instance of a target.
    pub fn reserve(&mut self, instance: u64, name: &str, bytes: u64) {
        self.reserved.insert(instance, (name.to_owned(), bytes));
    }

    /// Forgets the step of an instance, of which it is now known what was written.
    pub fn settle(&mut self, instance: u64) {
        self.reserved.remove(&instance);
    }

    /// Returns what a target holds.
    pub fn share(&self, name: &str) -> Option<i64> {
        let (_, budget) = self.budget.as_ref()?;
        let at = self.index(name)?;
        budget.levels().shares.get(at).copied()
    }

    /// Returns what is to be kept.
    pub fn kept(&self, wall_ms: u64) -> Option<Kept> {
        let (_, budget) = self.budget.as_ref()?;
        let (shares, common) = self.held(&budget.levels());
        Some(Kept {
            time_ms: wall_ms,
            shares,
            common,
        })
    }

    /// Whether more than time has changed it since this was asked last.
    pub fn is_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Returns how the budget stands after so much time, for a drive that endures so much.
    pub fn status(&self, endurance: u64, since: Duration) -> Option<protocol::Budget> {
        let (a_day, budget) = self.budget.as_ref()?;
        let days = since.as_secs_f64() / 86_400.0;
        let life = endurance as f64 / (self.written as f64 / days);
        Some(protocol::Budget {
            a_day: *a_day,
            common: budget.levels().common,
            full: a_day / (self.names.len() as u64).max(1),
            life_days: (self.written > 0 && life.is_finite()).then_some(life),
        })
    }
}

fn by_name(names: &[String], levels: &Levels) -> BTreeMap<String, i64> {
    names
        .iter()
        .cloned()
        .zip(levels.shares.iter().copied())
        .collect()
}

/// Returns what targets hold that had this before. What others had goes to the common part; what
/// is owed beyond that, all owe.
fn moved(before: &BTreeMap<String, i64>, common: i64, names: &[String]) -> Levels {
    let gone = before.iter().filter(|(name, _)| !names.contains(name));
    let gone = gone.fold(0_i64, |sum, (_, held)| sum.saturating_add(*held));
    let common = common.saturating_add(gone);
    let number = (names.len() as i64).max(1);
    let each = common.min(0).div_euclid(number);
    let held = |name: &String| before.get(name).copied().unwrap_or(0).saturating_add(each);
    Levels {
        shares: names.iter().map(held).collect(),
        common: common.max(0),
    }
}
