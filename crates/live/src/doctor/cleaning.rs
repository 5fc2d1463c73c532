//! Cleaning: what killed runs have left is found, and undone.

use std::path::Path;

use terrace_base::Result;

use super::orphan::Orphans;
use crate::journal::leftover::{Cleaned, Found};
use crate::journal::{State, state_directory};
use crate::machine::{peers, sysctl, zswap};
use crate::nodes::balancing;

/// Looks for what killed runs have left.
///
/// # Errors
/// A failure if the state directory cannot be read.
pub(super) fn look() -> Result<Found> {
    let state = State::open(&state_directory())?;
    look_with(state.as_ref())
}

/// Looks for what journals name, and for what no journal names.
fn look_with(state: Option<&State>) -> Result<Found> {
    let mut found = state.map_or_else(|| Ok(Found::default()), Found::look)?;
    let orphans = Orphans::look(state, &found);
    found.leftovers.extend(orphans.certain);
    found.strays.extend(orphans.doubtful);
    Ok(found)
}

/// Removes what killed runs left behind; returns what was removed and what was left. What is waited
/// for is told to `say`.
///
/// # Errors
/// A failure if the state directory cannot be used.
pub fn clean(say: &mut dyn FnMut(&str)) -> Result<Cleaned> {
    let path = state_directory();
    let state = State::open(&path)?;
    let _turn = state.as_ref().map(|state| state.take_turn(say));
    let found = look_with(state.as_ref())?;
    let mut all = Cleaned {
        done: match found.strays.is_empty() {
            true => Vec::new(),
            // A journal that cannot be read may have named them.
            false => put_knobs_back(&path),
        },
        left: found.strays,
    };
    if found.leftovers.is_empty() {
        return Ok(all);
    }
    // Something without a journal may be left where no run has ever had this directory.
    let state = state.map_or_else(|| State::make(&path), Ok)?;
    for leftover in found.leftovers {
        let cleaned = leftover.clean(&state, say);
        all.done.extend(cleaned.done);
        all.left.extend(cleaned.left);
    }
    Ok(all)
}

/// Puts back what dead runs have set, by the locks of the knobs alone; returns what that has
/// changed.
fn put_knobs_back(state: &Path) -> Vec<String> {
    type Knob = (
        &'static str,
        fn() -> Option<String>,
        fn(&Path) -> Result<()>,
    );
    let knobs: [Knob; 3] = [
        ("vm.page-cluster", sysctl::current, sysctl::restore),
        ("zswap", || Some(zswap::current()), zswap::restore),
        (
            "the mode of NUMA balancing",
            balancing::current,
            balancing::restore,
        ),
    ];
    let mut done = Vec::new();
    for (name, current, restore) in knobs {
        let before = current();
        // Another run has it, or nobody may set it: then nothing of a dead run is to be put back
        // here.
        let _ = restore(state);
        match (before, current()) {
            (Some(before), Some(now)) if before != now => {
                done.push(format!("{name} is {now} again"))
            }
            _ => {}
        }
    }
    if !peers::is_restored(state) && peers::restore(state).is_ok() {
        done.push("mounts that were shared for programs are private again".to_owned());
    }
    done
}
