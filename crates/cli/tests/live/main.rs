//! Real runs: real cgroups, real swap, real signals.

mod attach;
#[path = "../common/mod.rs"]
mod common;
mod figures;
mod reserve;
mod signals;
mod tiers;
mod waits;
mod zswap;

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use common::schema::checked;
use common::{Machine, example, machine, text, wait_for};
use signals::interruptible;

impl Machine {
    /// DRAM of the programs, in bytes.
    const DRAM: u64 = 64 << 20;

    /// `terrace run --dram 64M --footprint 256M` with these options and program.
    fn run(&self, options: &[&str], program: &[&str]) -> Output {
        self.terrace(&Self::arguments(options, program))
    }

    fn arguments<'a>(options: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
        let common = ["run", "--dram", "64M", "--footprint", "256M"];
        [&common, options, &["--"], program].concat()
    }

    /// Runs a program and returns the JSON document.
    fn measure(&self, options: &[&str], program: &[&str]) -> Value {
        let file = self.state.path().join("result");
        let file = file.to_str().unwrap();
        let output = self.run(&[options, &["-q", "--json", file]].concat(), program);
        assert!(output.status.success(), "{}", text(&output));
        checked(serde_json::from_str(&fs::read_to_string(file).unwrap()).expect("JSON"))
    }

    /// A program that runs until it is told to end, and what it printed first.
    fn start_sleeper(&self, script: &str) -> Child {
        self.start_sleeper_with(&[], script)
    }

    /// The same, of a run with these options.
    fn start_sleeper_with(&self, options: &[&str], script: &str) -> Child {
        let ready = self.state.path().join("ready");
        let script = format!("touch {}; {script}", ready.display());
        let options = [options, &["-q"]].concat();
        let mut command = self.command(&Self::arguments(&options, &["sh", "-c", &script]));
        interruptible(&mut command);
        let command = command.stdin(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("terrace runs");
        wait_for("the program to start", || ready.exists());
        child
    }
}

/// `replay` foresees only what it has seen: in one pass nothing, but for an earlier run.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_run_foresees_what_an_earlier_one_missed() {
    let machine = machine();
    let lesson = machine.state.path().join("lesson.csv");
    let options = ["--prefetch", "replay", "--learn", lesson.to_str().unwrap()];
    let run = |patient: &[&str]| {
        let walk = example("walk");
        let program = [&[&*walk, "128", "17", "1"], patient].concat();
        let results = machine.measure(&options, &program);
        let way = &results["runs"][0];
        let count = |value: &Value| value.as_u64().unwrap();
        (count(&way["major_faults"]), count(&way["prefetch"]["used"]))
    };
    let (missed, used) = run(&[]);
    assert!(missed > 10_000 && used < missed / 10, "{missed} {used}");
    let rows = fs::read_to_string(&lesson).unwrap();
    assert!(rows.starts_with("process,walk,page\n0,0,"), "{rows:.80}");
    let (left, used) = run(&["patient"]);
    assert!(2 * left < missed && used > left, "{missed} {left} {used}");
    assert_eq!(fs::read_to_string(&lesson).unwrap(), rows);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn of_a_cyclic_pass_a_part_is_held_and_the_rest_let_go() {
    let machine = machine();
    let options = [
        "--prefetch",
        "stream",
        "--eviction",
        "hold,kernel",
        "--compare",
    ];
    let result = machine.measure(&options, &[&example("walk"), "128", "1", "8"]);
    let steered = result["runs"].as_array().unwrap().iter();
    let [hold, kernel] = steered
        .filter(|run| run["way"] == "terrace")
        .collect::<Vec<_>>()[..]
    else {
        panic!("{result}");
    };
    assert_eq!(
        (&hold["eviction"], &kernel["eviction"]),
        (&"hold".into(), &"kernel".into())
    );
    let number = |value: &Value| {
        value
            .as_u64()
            .unwrap_or_else(|| panic!("{value} in {result}"))
    };
    assert_eq!(number(&kernel["let_go"]), 0);
    // Eight passes over twice the DRAM. How much less is read depends on how much of it a busy
    // machine lets steering see: 35 to 40 % less were measured, and 10 % beside five compilers.
    assert!(number(&hold["let_go"]) > 10_000, "{hold}");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_program_larger_than_its_dram_runs_through_and_is_accounted_for() {
    let machine = machine();
    let result = machine.measure(&[], &[&example("walk"), "192", "17", "2", "patient"]);
    assert_eq!(result["schema"], "terrace.run/1");
    assert_eq!(result["settings"]["dram_bytes"], 64 << 20);
    let run = &result["runs"][0];
    assert_eq!(run["way"], "terrace");
    assert_eq!(run["exit"]["code"], 0);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {run}"));
    assert!(run["wall_s"][0].as_f64().unwrap() > 0.0);
    assert!(number(&run["tier_written_bytes"]) > 100 << 20, "{run}");
    assert!(number(&run["tier_read_bytes"]) > 100 << 20, "{run}");
    assert!(number(&run["peak_resident_bytes"]) <= 64 << 20, "{run}");
    assert!(number(&run["footprint_bytes"]) > 150 << 20, "{run}");
    let prefetch = &run["prefetch"];
    let ends = ["used", "late", "reissued", "wasted"].map(|end| number(&prefetch[end]));
    assert_eq!(ends.iter().sum::<u64>(), number(&prefetch["issued"]));
    assert_eq!(run["eviction"], "hold");
    // A constant stride over 48 k pages, a third of them resident at most.
    assert!(ends[0] + ends[1] > 10_000, "{run}");
    let processes = prefetch["processes"].as_array().unwrap();
    assert_eq!(processes[0]["name"], "walk", "{run}");
    let sum = |part: &str| -> u64 { processes.iter().map(|process| number(&process[part])).sum() };
    assert_eq!(sum("fetched"), number(&prefetch["issued"]), "{run}");
    // Pages that the engine gave up, and that were seen used all the same, are the difference.
    let more = sum("used").abs_diff(ends[0]);
    assert!(more < ends[0] / 100, "{more} of {run}");
    // Nothing else swaps here: what came from the tier was fetched, faulted or read ahead.
    let unaccounted = prefetch["unaccounted_share"]
        .as_f64()
        .expect("it is a number");
    assert!(unaccounted.abs() < 0.02, "{run}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_fault_stream_of_forked_processes_is_seen() {
    let machine = machine();
    let result = machine.measure(
        &[],
        &[&example("walk"), "192", "17", "2", "fork", "patient"],
    );
    let used = &result["runs"][0]["prefetch"]["used"];
    assert!(used.as_u64().unwrap() > 10_000, "{result}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn shared_memory_is_fetched_ahead() {
    let machine = machine();
    let result = machine.measure(
        &[],
        &[&example("walk"), "192", "17", "2", "shared", "patient"],
    );
    let run = &result["runs"][0];
    let used = run["prefetch"]["used"].as_u64().unwrap();
    assert!(used > 10_000, "{run}");
    let issued = run["prefetch"]["issued"].as_u64().unwrap();
    assert!(used * 2 > issued, "{run}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn first_touches_cost_no_prefetch() {
    let machine = machine();
    let result = machine.measure(&[], &[&example("walk"), "48", "1", "1"]);
    let run = &result["runs"][0];
    assert_eq!(run["prefetch"]["issued"], 0, "{run}");
    // Not nothing: the kernel may put away a few idle pages whatever the budget.
    assert!(
        run["tier_written_bytes"].as_u64().unwrap() < 1 << 20,
        "{run}"
    );
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_the_kernel_would_have_read_ahead_is_redundant() {
    let machine = machine();
    let redundant = |pages: &str| {
        let result = machine.measure(&[], &[&example("walk"), "192", pages, "2", "patient"]);
        let prefetch = &result["runs"][0]["prefetch"];
        let number = |name: &str| prefetch[name].as_f64().expect("it is a number");
        assert!(number("used") > 10_000.0, "{result}");
        number("redundant") / (number("used") + number("late"))
    };
    let in_order = redundant("1");
    match std::fs::read_to_string("/proc/sys/vm/page-cluster")
        .unwrap()
        .trim()
    {
        "0" => assert_eq!(in_order, 0.0),
        // Of a block of four pages the kernel saves three faults, of one of eight seven, as far as
        // pages that follow each other lie side by side in the area.
        _ => assert!((0.25..0.95).contains(&in_order), "{in_order}"),
    }
    let apart = redundant("17");
    assert!(apart < 0.1, "{apart}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn prefetch_off_is_the_kernel_alone() {
    let machine = machine();
    let result = machine.measure(&["--prefetch", "off"], &[&example("walk"), "96", "1", "1"]);
    assert_eq!(result["runs"][0]["way"], "kernel");
    assert_eq!(result["runs"][0]["prefetch"], Value::Null);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_comparison_runs_all_ways_as_often_as_asked() {
    let machine = machine();
    let options = ["--compare", "--repeat", "2", "--endurance", "600TBW"];
    let result = machine.measure(&options, &[&example("walk"), "96", "3", "1"]);
    let runs = result["runs"].as_array().unwrap();
    let ways: Vec<_> = runs
        .iter()
        .map(|run| run["way"].as_str().unwrap())
        .collect();
    assert_eq!(ways, ["all-dram", "kernel", "kernel-cpf", "terrace"]);
    for run in runs {
        assert_eq!(run["wall_s"].as_array().unwrap().len(), 2, "{run}");
    }
    // The program's own file may have to be read; its memory never.
    assert_eq!(runs[0]["tier_read_bytes"], 0, "{}", runs[0]);
    assert!(runs[3]["lifetime_years"].as_f64().unwrap() > 0.0);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_share_of_the_footprint_is_measured_by_a_first_run() {
    let machine = machine();
    let file = machine.state.path().join("result");
    let output = machine.terrace(&[
        "run",
        "--dram",
        "50%",
        "-q",
        "--json",
        file.to_str().unwrap(),
        "--",
        &example("walk"),
        "128",
        "1",
        "20",
    ]);
    assert!(output.status.success(), "{}", text(&output));
    let result: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let settings = &result["settings"];
    assert_eq!(settings["footprint_measured"], true);
    let dram = settings["dram_bytes"].as_f64().unwrap();
    let footprint = settings["footprint_bytes"].as_f64().unwrap();
    assert!((dram / footprint - 0.5).abs() < 0.001, "{settings}");
    assert!((120e6..160e6).contains(&footprint), "{settings}");
    machine.assert_as_found();
}

/// Also where there is more swap on the machine: what another run has is its own.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn too_little_privilege_is_named() {
    let machine = machine();
    let terrace = env!("CARGO_BIN_EXE_terrace");
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", terrace])
        .args(["run", "--dram", "64M", "--", "true"])
        .output()
        .expect("setpriv is part of Debian's util-linux");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("CAP_SYS_ADMIN"), "{}", text(&output));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_machine_is_measured_and_a_simulated_run_held_against_a_live_one() {
    let machine = machine();
    let path = |name: &str| machine.state.path().join(name).display().to_string();
    let (readings, measured, trace) = (path("readings"), path("machine"), path("trace.parquet"));
    let output = machine.terrace(&["calibrate", "--json", &readings, "--machine", &measured]);
    assert!(output.status.success(), "{}", text(&output));
    machine.assert_as_found();
    let document = fs::read_to_string(&readings).unwrap();
    let document = checked(serde_json::from_str(&document).unwrap());
    let swap = &document["calibration"]["swap"];
    let cost = |name: &str| swap[name].as_f64().unwrap();
    assert!(cost("fault") > cost("first_touch"), "{swap}");

    // The same walk as a trace: each pass over more pages than fit misses all of them.
    let generated = machine.terrace(&[
        "trace",
        "gen",
        "sequential",
        "--footprint",
        "64M",
        "--accesses",
        "200000",
        "-o",
        &trace,
    ]);
    assert!(generated.status.success(), "{}", text(&generated));
    let simulated = machine.terrace(&[
        "sim",
        "pages",
        "--machine",
        &measured,
        "--dram",
        "16M",
        &trace,
        "--json",
    ]);
    assert!(simulated.status.success(), "{}", text(&simulated));

    let result = path("result");
    let arguments = [
        "validate",
        "-q",
        "--repeat",
        "1",
        "--dram",
        "32M",
        "--calibration",
        &readings,
        "--trace",
        &trace,
        "--json",
        &result,
        "--",
    ];
    let walk = example("walk");
    let output = machine.terrace(&[&arguments[..], &[walk.as_str(), "64", "1", "2"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    machine.assert_as_found();
    let document = checked(serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap());
    assert_eq!(document["schema"], "terrace.validate/1");
    let figures = document["figures"].as_array().unwrap();
    let live = |name: &str| {
        let figure = figures.iter().find(|figure| figure["name"] == name);
        figure.unwrap()["live"].as_f64().unwrap()
    };
    assert!(live("major faults") > 10_000.0, "{document}");
    assert!(live("- or of zeros") >= live("pages written"), "{document}");
    assert_eq!(live("- zeros not moved"), live("time (s)"), "{document}");
}
