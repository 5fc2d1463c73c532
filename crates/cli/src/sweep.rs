//! `terrace sweep`.

use std::io::Write;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_results::sweep::{Passes, Row, SweepDocument, may_replace, parquet, table, text};
use terrace_sim::sweep::{Output, Results, Sweep, Trace};

use crate::args;
use crate::args::level::Level;
use crate::counted::counted;
use crate::progress::{Bars, Progress};
use crate::results::Outputs;
use crate::screen::say;

pub fn sweep(arguments: &args::Sweep) -> Result<ExitCode> {
    let (simulation, common) = (arguments.simulation()?, &arguments.common);
    let choices = simulation.choices();
    let output = Output::new(&arguments.output, arguments.results.as_deref())?;
    let passes = Passes::of(&output.results)?;
    let others = output.tables().map(|path| ("-o", path));
    let outputs = Outputs::open(&common.results, &arguments.inputs(), &others)?;
    let opened = arguments.opened();
    let traces = opened.named().iter().map(|path| Trace {
        name: path.display().to_string(),
        path: path.clone(),
        reading: opened.reading.clone(),
        limit: opened.limit,
    });
    let traces: Vec<_> = traces.collect();
    let names: Vec<_> = traces.iter().map(|trace| trace.name.clone()).collect();
    let bars = Bars::new(common.quiet);
    let sweep = Sweep::open(&traces, choices, &passes, &|event| bars.show(event))?;
    drop(bars);
    let options = sweep.options().to_owned();
    may_replace(&output.parquet, &output.csv, &options)?;
    if !common.quiet {
        say_unused(&output, sweep.skipped());
    }
    let (machines, resumed) = (sweep.machines(), sweep.resumed());
    let bar = Progress::new(sweep.left(), common.quiet);
    let results = sweep.run(&|progress| {
        bar.at(progress.accesses);
        bar.says(format!("{} of {machines} machines ", progress.finished));
    });
    drop(bar);
    let Results { traces, finished } = results?;
    let rows = Row::all(&names, traces);
    let table = table(&rows);
    let written = terrace_base::Output::save(&output.parquet, &parquet(&table, &options)?)
        .and_then(|()| terrace_base::Output::save(&output.csv, &table.csv()?));
    written.map_err(|error| finished.stays(&error))?;
    if !common.quiet {
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
    let text = text(&rows, &names);
    let counted = counted(opened.named_places(), &opened.reading.tallies, common.quiet);
    outputs.show(&SweepDocument::new(counted, rows), &text)
}

/// Says what of earlier sweeps is there and is not used.
fn say_unused(output: &Output, skipped: usize) {
    let results = output.results.display();
    let what = match skipped {
        0 => None,
        1 => Some("a file that is damaged or of another version is".to_owned()),
        _ => Some(format!(
            "{skipped} files that are damaged or of another version are"
        )),
    };
    if let Some(what) = what {
        say(&format!(
            "terrace: in `{results}` {what} not used; what is missing is simulated\n"
        ));
    }
    if let Some(journal) = output.earlier() {
        say(&format!(
            "terrace: `{}` is what a sweep of an earlier version had finished; it is not read, and \
             all is simulated: remove it\n",
            journal.display()
        ));
    }
}
