//! Which mechanism makes the turns: the one whose turns come out.
//!
//! Rotation comes first where it is allowed, since sleepers that wake up do not end its turns.
//! Where it does not come out, as between tasks of several groups of the kernel's scheduler
//! (autogroups, CPU cgroups), whose policies the kernel compares only within a group, slices are
//! tried. If no mechanism makes turns of the length that is asked for, the one that came nearest
//! goes on.

use std::time::Duration;

/// Share of the length asked for below which turns do not come out.
const FALLS_SHORT: f64 = 0.6;
/// Judgements in a row after which the next mechanism is tried.
const PATIENCE: u32 = 3;

/// A mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One task a CPU is `SCHED_OTHER`, and the rest `SCHED_IDLE`.
    Rotation,
    /// Each task has a slice of the kernel's scheduler.
    Slices,
}

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The one whose turns come out.
    #[default]
    Auto,
    /// This one.
    Only(Way),
}

impl Way {
    /// Returns the name in options and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Slices => "slices",
        }
    }
}

impl Wanted {
    /// Parses a name.
    ///
    /// # Errors
    /// A message with the names that there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "rotation" => Ok(Self::Only(Way::Rotation)),
            "slices" => Ok(Self::Only(Way::Slices)),
            _ => Err(format!("`{name}` is none of auto, rotation, slices")),
        }
    }
}

/// The choice, by what came out.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Mechanisms that are left to try.
    left: Vec<Way>,
    now: Way,
    /// Shares of what was asked for that came out, of each that was given up.
    tried: Vec<(Way, f64)>,
    /// Judgements in a row that fell short.
    short: u32,
}

impl Choice {
    /// Chooses among mechanisms, the first first; `None` if there are none.
    pub fn among(ways: &[Way]) -> Option<Self> {
        let (now, left) = ways.split_first()?;
        Some(Self {
            left: left.to_vec(),
            now: *now,
            tried: Vec::new(),
            short: 0,
        })
    }

    /// Returns the present one.
    pub fn now(&self) -> Way {
        self.now
    }

    /// Judges turns that came out by those asked for, means of some time; returns the mechanism to
    /// change to.
    pub fn judge(&mut self, asked: Duration, came_out: Duration) -> Option<Way> {
        let share = came_out.as_secs_f64() / asked.as_secs_f64().max(1e-9);
        self.short = if share < FALLS_SHORT {
            self.short + 1
        } else {
            0
        };
        if self.short < PATIENCE || (self.left.is_empty() && self.tried.is_empty()) {
            return None;
        }
        self.short = 0;
        self.tried.push((self.now, share));
        self.now = match self.left.is_empty() {
            false => self.left.remove(0),
            true => {
                let tried = std::mem::take(&mut self.tried);
                let best = tried.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
                best.map_or(self.now, |(way, _)| way)
            }
        };
        Some(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Duration = Duration::from_millis(30);

    /// Judges as often as patience allows.
    fn judge(choice: &mut Choice, came_out: u32) -> Option<Way> {
        let mut judged = (0..PATIENCE).map(|_| choice.judge(ASKED, came_out * ASKED / 30));
        judged.find_map(|way| way)
    }

    #[test]
    fn what_comes_out_stays() {
        let mut choice = Choice::among(&[Way::Rotation, Way::Slices]).unwrap();
        assert_eq!(judge(&mut choice, 29), None);
        assert_eq!(choice.judge(ASKED, ASKED / 10), None, "once is chance");
        assert_eq!(judge(&mut choice, 25), None);
        assert_eq!(choice.now(), Way::Rotation);
    }

    #[test]
    fn the_next_is_tried_and_the_best_stays_in_the_end() {
        let mut choice = Choice::among(&[Way::Rotation, Way::Slices]).unwrap();
        assert_eq!(judge(&mut choice, 4), Some(Way::Slices));
        assert_eq!(judge(&mut choice, 2), Some(Way::Rotation));
        assert_eq!(judge(&mut choice, 1), None, "both were tried");
    }

    #[test]
    fn the_only_one_stays() {
        let mut choice = Choice::among(&[Way::Slices]).unwrap();
        assert_eq!(judge(&mut choice, 1), None);
        assert!(Choice::among(&[]).is_none());
        assert_eq!(Wanted::parse("slices"), Ok(Wanted::Only(Way::Slices)));
        assert!(Wanted::parse("none").is_err());
    }
}
