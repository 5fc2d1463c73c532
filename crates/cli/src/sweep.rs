//! `terrace sweep`.

use std::io::Write;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::sim::{Run, Simulated, text};
use terrace_report::sweep::{Row, csv, parquet};
use terrace_sim::pages::Choice;
use terrace_sim::sweep::{Output, Results, Sweep, Trace};

use crate::args;
use crate::progress::Progress;

pub fn sweep(arguments: &args::Sweep) -> Result<ExitCode> {
    let choices = arguments
        .machines
        .grid()?
        .machines(&arguments.machines.catalogue()?)?;
    let output = Output::new(&arguments.output)?;
    let traces = arguments.traces.iter().map(|path| Trace {
        path: path.clone(),
        format: arguments.format,
        limit: arguments.limit,
    });
    let traces: Vec<_> = traces.collect();
    let sweep = Sweep::open(&traces, &choices, &output)?;
    let (machines, resumed) = (sweep.machines(), sweep.resumed());
    let bar = Progress::new(sweep.left(), arguments.quiet);
    let results = sweep.run(&|progress| {
        bar.at(progress.accesses);
        bar.says(format!("{} of {machines} machines ", progress.finished));
    });
    drop(bar);
    let results = results?;
    let rows = rows(&results, &traces, &choices);
    results.write(&parquet(&rows)?, &csv(&rows)?)?;
    if !arguments.quiet {
        let before = match resumed {
            0 => String::new(),
            _ => format!(", {resumed} of them before"),
        };
        let _ = writeln!(
            std::io::stderr(),
            "{machines} machines simulated{before}: {} and {}",
            output.parquet.display(),
            output.csv.display()
        );
    }
    // Whoever reads only the first lines has read what they wanted.
    let _ = std::io::stdout().write_all(tables(&rows, &traces, &choices).as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// A row for each trace and machine.
fn rows(results: &Results, traces: &[Trace], choices: &[Choice]) -> Vec<Row> {
    let rows = traces
        .iter()
        .zip(&results.traces)
        .flat_map(|(trace, runs)| {
            choices
                .iter()
                .zip(runs)
                .map(|(choice, (settings, outcome))| Row {
                    trace: trace.path.display().to_string(),
                    dram: choice.dram().to_string(),
                    run: Run::of(settings, outcome),
                })
        });
    rows.collect()
}

/// A table for each trace.
fn tables(rows: &[Row], traces: &[Trace], choices: &[Choice]) -> String {
    let traces = traces.iter().zip(rows.chunks(choices.len().max(1)));
    let tables = traces.map(|(trace, rows)| {
        let simulated = choices.iter().zip(rows).map(|(choice, row)| Simulated {
            dram: choice.dram(),
            run: row.run.clone(),
        });
        let simulated: Vec<_> = simulated.collect();
        format!("{}: {}", trace.path.display(), text(&simulated))
    });
    tables.collect::<Vec<_>>().join("\n")
}
