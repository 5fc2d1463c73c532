//! The cases, a file an area; each has one function that gives them.

mod attach;
mod clean;
mod curve;
mod doctor;
mod files;
mod full;
mod general;
mod huge;
mod input;
mod meanwhile;
mod pages;
mod place;
mod refused;
mod run;
mod same;
mod sched;
mod tcam;
mod tier;
mod trace;
mod usage;

use crate::case::Case;

/// Names of areas, and their cases.
pub fn all() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("attach", attach::cases()),
        ("clean", clean::cases()),
        ("curve", curve::cases()),
        ("doctor", doctor::cases()),
        ("files", files::cases()),
        ("full", full::cases()),
        ("general", general::cases()),
        ("huge", huge::cases()),
        ("meanwhile", meanwhile::cases()),
        ("pages", pages::cases()),
        ("place", place::cases()),
        ("same", same::cases()),
        ("sched", sched::cases()),
        ("tcam", tcam::cases()),
        ("input", input::cases()),
        ("refused", refused::cases()),
        ("run", run::cases()),
        ("tier", tier::cases()),
        ("trace", trace::cases()),
        ("usage", usage::cases()),
    ]
}
