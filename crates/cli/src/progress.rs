//! Progress bar on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const BAR: &str = "{prefix}{wide_bar} {percent} %  {human_pos} accesses, {eta} left";
const TIME: &str = "{prefix}{wide_bar} {percent} %, {eta} left";
const COUNT: &str = "{prefix}{human_pos} accesses in {elapsed}";

/// Progress bar on standard error if that is a terminal; removed on drop.
pub struct Progress(ProgressBar);

impl Progress {
    /// Returns a bar for `total` accesses, if that is known.
    pub fn new(total: Option<u64>, quiet: bool) -> Self {
        let template = if total.is_some() { BAR } else { COUNT };
        Self::with(total, quiet, template)
    }

    /// Returns a bar for simulated time.
    pub fn of_time(total: u64, quiet: bool) -> Self {
        Self::with(Some(total), quiet, TIME)
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
