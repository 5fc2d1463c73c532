//! A program that is started without a limit, and sized while it runs.

use std::path::PathBuf;

use terrace_base::{Context, Exit, Result, Target};

use super::{Session, far::Far};
use crate::control::size::{Event, Observer, tell};
use crate::group::budget::Budget;
use crate::group::swapped::SwapCounter;
use crate::program::Invocation;
use crate::tier::Tier;

impl Session {
    /// Starts a program in a group of its own without a limit, and has `drive` look after the group
    /// of this directory, under this name; then the program is asked to end (SIGTERM) if it runs
    /// still, and waited for with all that it has started. Returns how it ended, and the answer.
    ///
    /// # Errors
    /// A usage error if the program cannot be run; otherwise a failure.
    pub(crate) fn run_sized<T>(
        &mut self,
        invocation: &Invocation,
        observer: Observer,
        drive: impl FnOnce(PathBuf, String, Observer) -> Result<T>,
    ) -> Result<(Exit, Result<T>)> {
        let budget = self.make_budget(None)?;
        let covers = self.covers(invocation, &budget, &mut |event| tell(observer, event))?;
        if let Far::Swap(tier) = &self.far {
            tier.follow(Some(SwapCounter::of(&budget)));
        }
        let program = self.start(invocation, &budget, covers)?;
        let name = format!(
            "{} (process {})",
            invocation.words[0].display(),
            program.pid()
        );
        let group = budget.directories()[0].clone();
        let ended = std::thread::scope(|scope| {
            let waiting = std::thread::Builder::new().spawn_scoped(scope, || program.wait());
            let waiting = waiting.or_fail(|| "cannot start a thread".into())?;
            let driven = drive(group, name, &mut *observer);
            match &driven {
                Ok(_) => end(&budget),
                Err(error) => observer(Event::Warning(&format!("{error}; the program runs on"))),
            }
            let ended = waiting.join().map_err(|_| {
                terrace_base::Error::failure(
                    "the thread that waited for the program ended by a panic",
                )
            })?;
            Ok((ended?.exit, driven))
        });
        if let Ok((exit, _)) = &ended {
            self.await_the_rest(&budget, Some(*exit), &mut |event| tell(observer, event));
        }
        self.signals.aim(Target::Nobody);
        if let Some(tier) = self.far.swap() {
            Tier::follow(tier, None);
        }
        ended
    }
}

/// Asks the processes of a group to end.
fn end(budget: &Budget) {
    for pid in budget.processes() {
        // Held first: the kernel could use its number again.
        if let Ok(process) = terrace_base::process::hold(pid) {
            let _ = rustix::process::pidfd_send_signal(process, rustix::process::Signal::TERM);
        }
    }
}
