//! The time of a placement by a simulation of the whole program, caches and all.

use terrace_base::{Error, Result};
use terrace_policy::placement::{Found, Room, Whole, climb};

use super::profile::{compute, simulate, time};
use super::{PlaceMachine, Recording};

/// Simulates the program with the objects of some sites in fast memory, and returns its time in
/// picoseconds.
///
/// # Errors
/// Errors of [`profile`](super::profile()).
pub fn run(recording: &Recording, machine: &PlaceMachine, fast: &[bool]) -> Result<u64> {
    let memories = &machine.memories;
    let mut waits = 0;
    let wait = |group: &[_]| {
        waits += time(memories, group, |owner| {
            owner.is_some_and(|site| fast[site])
        });
    };
    let simulated = simulate(recording, machine, wait, |_| ())?;
    Ok(compute(simulated.instructions) + waits)
}

/// Climbs as the paper does: the whole program is simulated for each placement.
///
/// # Errors
/// Errors of [`run`].
pub fn climb_by_runs(recording: &Recording, machine: &PlaceMachine, room: &Room) -> Result<Found> {
    let mut failed: Option<Error> = None;
    let mut whole = Whole::new(room.bytes.len(), |fast: &[bool]| {
        if failed.is_some() {
            return u64::MAX;
        }
        run(recording, machine, fast).unwrap_or_else(|error| {
            failed = Some(error);
            u64::MAX
        })
    });
    let found = climb(room, &mut whole);
    failed.map_or(Ok(found), Err)
}
