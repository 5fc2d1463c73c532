//! The channels of DRAM and of slow memory that serves lines, if what passes them is limited, and
//! what accesses take.

use terrace_base::Nanos;
use terrace_device::Channels;
use terrace_policy::migration::{Load, Loads, Side};
use terrace_policy::replacement::PageId;

use super::outcome::Drawn;
use super::settings::{PageMachine, Slower};
use super::threads::Thread;

/// The channels of both memories; `None` for one that never keeps anything waiting.
pub(super) struct Bandwidth {
    fast: Option<Channels>,
    slow: Option<Channels>,
    /// What lines took, beside those of moves.
    loads: Loads,
    slower: Slower,
    /// How many occupied times may be known until it is asked which are over.
    most_known: usize,
}

/// Occupied times that may be known at least.
const KNOWN: usize = 1024;

/// When lines that move have passed the channels of each memory, in picoseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    fast: u64,
    slow: u64,
}

impl Bandwidth {
    /// Returns the channels of a machine; `None` if neither of its memories has a limit, and its
    /// policy weighs nothing.
    pub(super) fn of(settings: &PageMachine, slower: Slower, weighs: bool) -> Option<Self> {
        let timing = settings.tier.timing;
        let devices = u64::from(settings.tier.devices.max(1));
        let all = u64::from(timing.channels.max(1)) * devices;
        let fast = settings.fast_bandwidth;
        let fast = fast.map(|rate| Channels::new(rate, settings.fast_channels.into()));
        let slow = timing.bandwidth;
        let slow = slow.map(|rate| Channels::new(rate.saturating_mul(devices), all));
        let idle = |idle_ps| Load {
            idle_ps,
            ..Load::default()
        };
        (weighs || fast.is_some() || slow.is_some()).then_some(Self {
            fast,
            slow,
            loads: Loads {
                fast: idle(settings.fast_line_ps),
                slow: idle(settings.fast_line_ps + slower.read_ps),
            },
            slower,
            most_known: KNOWN,
        })
    }

    /// Returns whether so many occupied times are known that those that are over should be
    /// forgotten.
    pub(super) fn is_long(&self) -> bool {
        self.known() > self.most_known
    }

    /// Forgets what is over before a moment, to which no thread comes any more.
    pub(super) fn forget(&mut self, moment: u64) {
        let both = [&mut self.fast, &mut self.slow];
        both.into_iter()
            .flatten()
            .for_each(|channels| channels.forget(moment));
        self.most_known = (2 * self.known()).max(KNOWN);
    }

    fn known(&self) -> usize {
        let both = [&self.fast, &self.slow];
        both.into_iter().flatten().map(Channels::known).sum()
    }

    /// Has a thread wait until a line of a page can pass, and for its bytes as far as these take
    /// longer than the latency of an idle memory; returns the time lost.
    pub(super) fn serve(
        &mut self,
        side: Side,
        page: PageId,
        write: bool,
        thread: &mut Thread,
    ) -> Nanos {
        let idle = self.loads.fast.idle_ps;
        let takes = match (side, write) {
            (Side::Fast, _) => idle,
            (Side::Slow, false) => idle + self.slower.read_ps,
            (Side::Slow, true) => idle + self.slower.write_ps,
        };
        let waits = self.side(side).map_or(0, |channels| {
            let now = thread.picos();
            let begin = channels.transfer(page.0.into(), 1, now).begin;
            begin - now + channels.line().saturating_sub(takes)
        });
        let load = match side {
            Side::Fast => &mut self.loads.fast,
            Side::Slow => &mut self.loads.slow,
        };
        load.accesses += 1;
        load.took_ps = load.took_ps.saturating_add(takes + waits);
        thread.lose_picos(waits)
    }

    /// Returns what lines took so far.
    pub(super) fn loads(&self) -> Loads {
        self.loads
    }

    /// Has a line of a page pass that comes at this moment, for which nobody waits.
    pub(super) fn occupy(&mut self, side: Side, page: PageId, now: u64) {
        if let Some(channels) = self.side(side) {
            channels.transfer(page.0.into(), 1, now);
        }
    }

    /// Has lines of a page pass both memories that move at this moment.
    pub(super) fn pass(&mut self, page: PageId, lines: u64, now: u64) -> Passed {
        let end = |channels: &mut Option<Channels>| {
            let channels = channels.as_mut().filter(|_| lines > 0);
            channels.map_or(now, |channels| {
                channels.transfer(page.0.into(), lines, now).end
            })
        };
        Passed {
            fast: end(&mut self.fast),
            slow: end(&mut self.slow),
        }
    }

    /// Returns the bytes that were drawn.
    pub(super) fn drawn(&self) -> Drawn {
        Drawn {
            fast: self.fast.as_ref().map(Channels::bytes),
            slow: self.slow.as_ref().map(Channels::bytes),
        }
    }

    fn side(&mut self, side: Side) -> Option<&mut Channels> {
        match side {
            Side::Fast => self.fast.as_mut(),
            Side::Slow => self.slow.as_mut(),
        }
    }
}

impl Passed {
    /// Has a thread wait until lines have passed a memory; returns the time lost.
    pub(super) fn wait(self, side: Side, thread: &mut Thread) -> Nanos {
        let end = match side {
            Side::Fast => self.fast,
            Side::Slow => self.slow,
        };
        thread.lose_picos(end.saturating_sub(thread.picos()))
    }
}
