//! What programs of a session see of memory limits.

use terrace_base::Result;

use super::{Event, Observer, Session};
use crate::group::budget::Budget;
use crate::machine::peers::Peers;
use crate::machine::view::{self, Covers, View};
use crate::program::Invocation;

impl Session {
    /// Returns what programs have seen of memory limits so far; none before the first run.
    pub fn view(&self, invocation: &Invocation) -> Option<View> {
        match invocation.sees_limit {
            true => Some(View::Limit),
            false => self.view,
        }
    }

    /// Returns the files of the program's group that are covered; none where it is to see its
    /// limit, or where the limit cannot be covered, which a notice says.
    pub(super) fn covers(
        &mut self,
        invocation: &Invocation,
        budget: &Budget,
        observer: Observer,
    ) -> Result<Option<Covers>> {
        if invocation.sees_limit {
            return Ok(None);
        }
        let view = match self.view {
            Some(view) => view,
            None => self.prepare_view(observer)?,
        };
        match view {
            View::Machine => {
                Covers::of(&budget.directories()[0], &self.hierarchies.memory).map(Some)
            }
            View::Limit => Ok(None),
        }
    }

    /// Finds out what programs can see on this machine, and prepares it for that.
    fn prepare_view(&mut self, observer: Observer) -> Result<View> {
        let view = match view::check(&self.hierarchies.memory) {
            Ok(()) => {
                self.peers = Peers::join(&mut self.journal)?;
                View::Machine
            }
            Err(why) => {
                observer(Event::Notice(&format!(
                    "the program sees the limit of its group, by which some programs size themselves: {why}"
                )));
                View::Limit
            }
        };
        self.view = Some(view);
        Ok(view)
    }
}
