//! Makes the tier of a machine that has no swap, and removes it at the end.
//!
//! It is a process of its own (`terraced --tier`), so that the tier stays when the daemon is
//! started again, and the daemon needs none of the privileges that it takes to make one. What it
//! makes is in the journal of runs, as for `terrace run`: if it is killed, its guardian, the next
//! command or `terrace doctor --clean` removes the tier.

use std::path::Path;
use std::thread;
use std::time::Duration;

use sd_notify::NotifyState;
use terrace_base::block::swaps::active;
use terrace_base::{Bytes, Result};
use terrace_live::run::{Event, Session};
use terrace_live::tier::{Demand, Spec};

use crate::configuration::{Configuration, Tier};
use crate::log::{Priority, notify, say};

/// Time between two looks whether a signal came.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Makes the tier that the configuration names, and removes it when a signal comes. On a machine
/// that has swap, or whose configuration asks for no tier, it makes nothing and returns.
///
/// # Errors
/// A usage error if the configuration is wrong or the tier cannot be what it asks for; a failure if
/// the tier cannot be made, or not be removed.
pub fn hold(configuration: &Path) -> Result<()> {
    let tier = Configuration::read(configuration)?.tier;
    if tier.memory == Spec::Existing {
        return nothing("the configuration asks for no tier but the swap that the machine has");
    }
    // This also removes what a killed process has left.
    let mut session = Session::open()?;
    if let Some(area) = active().first() {
        let area = area.path.display();
        return nothing(&format!(
            "the machine has swap ({area}), which is left alone and is the tier"
        ));
    }
    session.prepare_tier(Some(&tier.memory), None, &demand(&tier), &mut |event| {
        if let Event::Notice(text) | Event::Warning(text) = event {
            say(Priority::Info, text);
        }
    })?;
    say(
        Priority::Info,
        &format!("the tier is on: {}", session.tier()),
    );
    notify(&[NotifyState::Ready]);
    while session.asked_to_end().is_none() {
        thread::sleep(LOOK_EVERY);
    }
    notify(&[NotifyState::Stopping]);
    session.close(&mut |text| say(Priority::Info, text))?;
    say(Priority::Info, "the tier is removed");
    Ok(())
}

fn nothing(why: &str) -> Result<()> {
    say(Priority::Info, &format!("nothing is made: {why}"));
    notify(&[NotifyState::Ready]);
    Ok(())
}

/// All of the size is made at once: services are not followed by the tier.
fn demand(tier: &Tier) -> Demand {
    Demand {
        wanted: tier.size,
        least: Bytes(0),
        allowed: tier.size,
    }
}
