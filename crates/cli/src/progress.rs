//! Progress bar on a terminal.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use terrace_sim::watch::{Amount, Event, Part};

use crate::lost::say_lost;
use crate::screen::say;

const BAR: &str = "{prefix}{wide_bar} {percent} %  {human_pos} accesses, {eta} left";
const PLAIN: &str = "{prefix}{wide_bar} {percent} %, {eta} left";
const COUNT: &str = "{prefix}{human_pos} accesses in {elapsed}";

/// Progress bar on standard error if that is a terminal; removed on drop.
pub struct Progress(ProgressBar);

impl Progress {
    /// Returns a bar for `total` accesses, if that is known.
    pub fn new(total: Option<u64>, quiet: bool) -> Self {
        let template = if total.is_some() { BAR } else { COUNT };
        Self::with(total, quiet, template)
    }

    /// Returns a bar for a part of a simulation.
    fn of(part: Part, quiet: bool) -> Self {
        let bar = match part.amount {
            Amount::Accesses(accesses) => Self::new(accesses, quiet),
            Amount::Time(time) => Self::with(Some(time.0), quiet, PLAIN),
            Amount::Bytes(bytes) => Self::with(Some(bytes.0), quiet, PLAIN),
        };
        bar.doing(part.name)
    }

    fn with(total: Option<u64>, quiet: bool, template: &str) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template(template).expect("our templates are templates");
        Self(bar.with_style(style))
    }

    /// Sets the text before the bar.
    pub fn doing(self, what: &str) -> Self {
        self.0.set_prefix(format!("{what} "));
        self
    }

    /// Sets what is finished: accesses, or simulated time.
    pub fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Changes the text before the bar.
    pub fn says(&self, what: String) {
        self.0.set_prefix(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// What a simulation reports while it runs: a progress bar for each part, and sentences.
pub struct Bars {
    bar: Mutex<Option<Progress>>,
    quiet: bool,
}

impl Bars {
    pub fn new(quiet: bool) -> Self {
        let bar = Mutex::new(None);
        Self { bar, quiet }
    }

    /// Shows an event.
    pub fn show(&self, event: Event) {
        let mut bar = self.bar();
        match event {
            Event::Begins(part) => {
                // The bar of the part before is removed first.
                *bar = None;
                *bar = Some(Progress::of(part, self.quiet));
            }
            Event::Done(position) => {
                if let Some(bar) = &*bar {
                    bar.at(position);
                }
            }
            Event::Spooled { .. } | Event::Lost { .. } if self.quiet => *bar = None,
            Event::Spooled { trace, kept } => {
                *bar = None;
                say(&format!(
                    "terrace: `{}` is read more than once: its {} are kept in a temporary file in \
                     {}\n",
                    trace.display(),
                    kept.bytes(),
                    kept.directory().display()
                ));
            }
            Event::Lost { file, lost } => {
                *bar = None;
                say_lost(file, lost);
            }
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<Progress>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
