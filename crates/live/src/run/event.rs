//! What a run reports while it goes on.

use super::interval::Interval;
use super::status::Status;

/// Events of a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// State of the program, twenty times a second, more often at first.
    Running(&'a Status),
    /// Figures of an interval, if they were asked for: at its end.
    Interval(&'a Interval),
    /// Notice: a sentence about the run.
    Notice(&'a str),
    /// Warning of what is destroyed, shown even if quiet output was asked for.
    Warning(&'a str),
}

/// Progress callback.
pub type Observer<'a> = &'a mut (dyn FnMut(Event) + Send);
