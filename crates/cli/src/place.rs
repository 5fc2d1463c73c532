//! `terrace place`.

use std::process::ExitCode;
use std::time::Instant;

use terrace_base::{Error, Output, Result};
use terrace_results::place::{Asked, PlaceDocument, Searched, TriedFigures};
use terrace_sim::place::{
    PlaceMachine, Placed, PlacementFile, Profile, place, profile, time_of, whole,
};

use crate::args::place::{Place, Search};
use crate::progress::Progress;
use crate::results::Outputs;
use crate::screen::say;

pub fn run(arguments: &Place) -> Result<ExitCode> {
    let machine = arguments.machine()?;
    let tried = arguments.tried.as_deref();
    let tried = tried.map(PlacementFile::load).transpose()?;
    let outputs = Outputs::open(
        &arguments.results,
        &arguments.inputs(),
        &arguments.outputs(),
    )?;
    let output = arguments
        .output
        .as_deref()
        .map(Output::create)
        .transpose()?;
    let profile = profiled(arguments, &machine)?;
    let fast = arguments.fast.of(profile.footprint);
    let mut placed = place(&profile, &machine.memories, fast);
    let searches = searches(arguments, &machine, &placed)?;
    placed.show(&profile, &machine.memories, &searches[0].found);
    let asked = Asked {
        trace: &arguments.trace.display().to_string(),
        fast: arguments.fast,
        caches: &machine.caches,
        memories: &machine.memories,
    };
    let mut document = PlaceDocument::of(&asked, &profile, &placed, &searches);
    if let Some(file) = &tried {
        document.tried = Some(try_file(file, &profile, &machine, &placed)?);
    }
    if let Some(output) = output {
        let file = PlacementFile::of(&profile, &profile.program, &searches[0].found.chosen);
        output.finish(file.text().as_bytes())?;
    }
    outputs.show(&document, &document.to_text())
}

/// Simulates the caches, with a progress bar.
fn profiled(arguments: &Place, machine: &PlaceMachine) -> Result<Profile> {
    let progress = Progress::new(None, arguments.quiet).doing("simulating");
    let profile = profile(&arguments.recording(), machine, |accesses| {
        progress.at(accesses)
    })?;
    if profile.sites.is_empty() {
        return Err(Error::failure(format!(
            "{} has allocated nothing that was recorded: it is linked statically, or all its objects are smaller than \
             record --allocations=SIZE asked for",
            profile.program
        )));
    }
    Ok(profile)
}

/// Returns what the searches found, the one that was asked for first, or the best.
fn searches(arguments: &Place, machine: &PlaceMachine, placed: &Placed) -> Result<Vec<Searched>> {
    let timed = |name, found| Searched {
        name,
        found,
        seconds: None,
    };
    let climb = Searched {
        seconds: Some(placed.climbing.as_secs_f64()),
        ..timed("climb", placed.climbed.clone())
    };
    let knapsack = timed("knapsack", placed.packed.clone());
    let exhaustive = placed.best.clone().map(|best| timed("exhaustive", best));
    let mut searches = vec![climb, knapsack];
    searches.extend(exhaustive);
    let asked = match arguments.search {
        Search::Best => best(&searches),
        Search::Climb => "climb",
        Search::Knapsack => "knapsack",
        Search::Exhaustive => "exhaustive",
        Search::Runs => {
            let started = Instant::now();
            let found = whole::climb_by_runs(&arguments.recording(), machine, &placed.room)?;
            searches.push(Searched {
                seconds: Some(started.elapsed().as_secs_f64()),
                ..timed("runs", found)
            });
            "runs"
        }
    };
    let place = searches.iter().position(|search| search.name == asked);
    let place = place.ok_or_else(|| {
        Error::usage("there are more than 20 sites that fit into fast memory, too many to try all placements; leave --search exhaustive away")
    })?;
    searches[..=place].rotate_right(1);
    Ok(searches)
}

/// Returns the name of the search with the shortest time, the first of several.
fn best(searches: &[Searched]) -> &'static str {
    let best = searches.iter().min_by_key(|search| search.found.time);
    best.map_or("climb", |search| search.name)
}

/// Returns what a placement file does to the program.
fn try_file(
    file: &PlacementFile,
    profile: &Profile,
    machine: &PlaceMachine,
    placed: &Placed,
) -> Result<TriedFigures> {
    let (found, missing) = file.find(
        profile.sites.iter().map(|site| &site.site),
        &profile.program,
    )?;
    for name in &missing {
        say(&format!(
            "terrace: the placement names {name}, at which this program has not allocated\n"
        ));
    }
    let time = time_of(profile, &machine.memories, &found);
    let bytes = found.iter().map(|site| placed.room.bytes[*site]);
    let bytes = bytes.fold(0, u64::saturating_add);
    let slow = placed.times.all_slow;
    Ok(TriedFigures::of(
        &file.program,
        bytes,
        found.len(),
        missing.len(),
        time,
        slow,
    ))
}
