//! Tasks that take turns, from outside: against the simulation of a last-level cache without turns,
//! and what holds of every machine.

mod alone;
mod laws;
mod tasks;
