//! `terrace tcam`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::tcam::{
    Answer, BenchDocument, Input, LookupDocument, Measured, ReplayDocument, ReplaySettings,
};
use terrace_tcam::bench;
use terrace_tcam::chip::{Chip, Location};
use terrace_tcam::functional::Functional;
use terrace_tcam::hops;
use terrace_tcam::input::{self, Ports};
use terrace_tcam::ordering;
use terrace_tcam::policy::Sum;
use terrace_tcam::replay::Replay;
use terrace_tcam::times::Model;
use terrace_tcam::{Prefix, Router, Settings};

use crate::args::tcam::{Bench, Chip as Flash, Command, Lookup, Replay as Asked, Table, Tcam};
use crate::circuit::circuit;
use crate::progress::Progress;
use crate::results::Outputs;

pub fn tcam(arguments: &Tcam) -> Result<ExitCode> {
    match &arguments.command {
        Command::Replay(arguments) => replay(arguments),
        Command::Lookup(arguments) => lookup(arguments),
        Command::Bench(arguments) => measure(arguments),
        Command::Circuit(arguments) => circuit(arguments),
    }
}

fn replay(arguments: &Asked) -> Result<ExitCode> {
    let settings = Settings {
        shadow_rows: arguments.shadow_rows,
        buffers: arguments.buffers,
        writes_per_second: arguments.flash_writes_per_second,
        levelling: arguments.levelling.clone(),
        seed: arguments.seed,
        ..flash(&arguments.chip)
    };
    settings.check()?;
    let outputs = Outputs::open(&arguments.results, &arguments.inputs(), &[])?;
    let mut ports = Ports::default();
    let table = read(&arguments.table, &mut ports)?;
    let mut updates = input::updates(&arguments.updates, arguments.table.peer, &mut ports)?;
    if arguments.port_changes > 0.0 {
        let (share, seed) = (arguments.port_changes, arguments.seed);
        hops::make(&mut updates.updates, share, &mut ports, seed)?;
    }
    let replay = Replay {
        settings: settings.clone(),
        policy: Sum::parse(&arguments.policy)?,
        times: arguments.update_times,
        span: arguments.span,
        checked: arguments.checked,
        endurance: arguments.endurance,
    };
    let all = updates.updates.len() as u64;
    let progress = Progress::new(Some(all), arguments.quiet).doing("replaying");
    let outcome = replay.run(&table.routes, &updates.updates, |done| progress.at(done))?;
    drop(progress);
    let orderings = match arguments.orderings {
        true => {
            let (checked, seed) = (arguments.checked, arguments.seed);
            ordering::count(&table.routes, &updates.updates, checked, seed)?
        }
        false => Vec::new(),
    };
    let mut models = Model::NAMES.into_iter();
    let model = models.find(|(_, model)| *model == arguments.update_times && outcome.times_made);
    let times = model.map_or("trace", |(name, _)| name);
    let policy = arguments.policy.clone();
    let (changes, endurance) = (arguments.port_changes, arguments.endurance);
    let settings = ReplaySettings::of(&settings, policy, times, changes, endurance);
    let (table, updates) = (Input::of(&table.origin), Input::of(&updates.origin));
    let document = ReplayDocument::new(table, updates, settings, &outcome, orderings);
    outputs.show(&document, &document.to_text())
}

fn lookup(arguments: &Lookup) -> Result<ExitCode> {
    let outputs = Outputs::open(
        &arguments.results,
        &[("--table", &arguments.table.file)],
        &[],
    )?;
    let mut ports = Ports::default();
    let table = read(&arguments.table, &mut ports)?;
    let chip = Functional::with_capacity(table.routes.len());
    let policy = Sum::parse("thesis")?;
    let router = Router::load(chip, flash(&arguments.chip), policy, table.routes)?;
    let addresses = arguments.addresses.iter();
    let answers = addresses.map(|address| {
        let found = router.lookup(*address);
        let prefix = found.map(|found| Prefix::host(*address).shortened(found.length));
        let location = prefix.and_then(|prefix| router.chip().find(prefix));
        let place = match location {
            Some(Location::Flash { block, row }) => Some((block, row)),
            _ => None,
        };
        Answer {
            address: address.to_string(),
            prefix: prefix.map(|prefix| prefix.to_string()),
            port: found.map(|found| found.port.0),
            next_hop: found.and_then(|found| Some(ports.next_hop(found.port)?.to_string())),
            block: place.map(|(block, _)| block),
            row: place.map(|(_, row)| row),
        }
    });
    let document = LookupDocument::new(Input::of(&table.origin), answers.collect());
    outputs.show(&document, &document.to_text())
}

fn measure(arguments: &Bench) -> Result<ExitCode> {
    let outputs = Outputs::open(
        &arguments.results,
        &[("--table", &arguments.table.file)],
        &[],
    )?;
    let table = read(&arguments.table, &mut Ports::default())?;
    let addresses = bench::addresses(&table.routes, arguments.lookups as usize, 1);
    let measured = bench::bench(flash(&arguments.chip), &table.routes, &addresses)?;
    let measured = measured.into_iter().map(|one| Measured {
        name: one.name,
        load_s: one.load.as_secs_f64(),
        lookups_per_second: arguments.lookups as f64 / one.lookups.as_secs_f64(),
    });
    let routes = table.routes.len() as u64;
    let (input, measured) = (Input::of(&table.origin), measured.collect());
    let document = BenchDocument::new(input, routes, arguments.lookups, measured);
    outputs.show(&document, &document.to_text())
}

fn read(table: &Table, ports: &mut Ports) -> Result<input::Table> {
    input::table(&table.file, table.peer, ports)
}

fn flash(chip: &Flash) -> Settings {
    Settings {
        rows: chip.rows,
        blocks: chip.blocks,
        allocation: chip.allocation,
        ..Settings::default()
    }
}
