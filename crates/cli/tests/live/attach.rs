//! `terrace attach` to a program that another run has started, with the kernel's swap alone.

use std::fs;
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use crate::common::schema::checked;
use crate::common::{Machine, changes, example, machine, text, wait_for};
use crate::signals::signal;

/// A walk over three times its DRAM, in a run that steers nothing. It waits for pages that may be
/// fetched ahead.
struct Walk {
    run: Child,
    pid: u32,
}

impl Walk {
    /// Starts one, and waits until much of it is in swap.
    fn start(machine: &Machine, passes: &str) -> Self {
        Self::of(machine, &[&example("walk"), "192", "17", passes, "patient"])
    }

    /// Starts one in a group below that of the run, named as an engine names that of a container.
    fn in_container(machine: &Machine, id: &str, passes: &str) -> Self {
        let script = format!(
            "own=$(grep -E '^[0-9]+:memory:|^0::' /proc/self/cgroup | head -n 1)
             test -d /sys/fs/cgroup/memory && top=/sys/fs/cgroup/memory || top=/sys/fs/cgroup
             group=$top${{own##*:}}/{id}
             mkdir $group && echo 0 >$group/cgroup.procs && exec {} 192 17 {passes} patient",
            example("walk")
        );
        Self::of(machine, &["sh", "-c", &script])
    }

    fn of(machine: &Machine, program: &[&str]) -> Self {
        let arguments = Machine::arguments(&["-q", "--prefetch", "off"], program);
        let mut command = machine.command(&arguments);
        let run = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let run = run.expect("terrace runs");
        let mut found = None;
        wait_for("the walk to be swapped", || {
            let mut processes = children(run.id()).into_iter();
            found = processes.find(|pid| swapped(*pid) > 100 << 10);
            found.is_some()
        });
        let pid = found.unwrap();
        Self { run, pid }
    }

    fn groups(&self) -> String {
        fs::read_to_string(format!("/proc/{}/cgroup", self.pid)).expect("it runs")
    }

    /// Touches of pages that were in memory, and not mapped: what was fetched ahead, once it has
    /// filled its memory.
    fn minor_faults(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).expect("it runs");
        let (_, rest) = stat.rsplit_once(") ").expect("a name");
        let count = rest.split(' ').nth(7).expect("the tenth field");
        count.parse().expect("a number")
    }

    /// Attaches with these options, and interrupts that when thousands of pages were fetched ahead.
    fn attach(&self, machine: &Machine, options: &[&str]) -> Output {
        let mut command = machine.command(&[&["attach", "--json=-"], options].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let attached = command.spawn().expect("terrace runs");
        let owns_the_knob = |name: &String| {
            let journal = fs::read_to_string(machine.state.path().join(name));
            journal.is_ok_and(|text| text.contains("page_cluster"))
        };
        wait_for("the knob to be owned", || {
            machine.files().iter().any(owns_the_knob)
        });
        let before = self.minor_faults();
        wait_for("pages to be fetched ahead", || {
            self.minor_faults() > before + 20_000
        });
        signal(&attached, libc::SIGINT);
        attached.wait_with_output().expect("terrace ends")
    }
}

/// What is attached to it ends with it.
impl Drop for Walk {
    fn drop(&mut self) {
        if let Ok(None) = self.run.try_wait() {
            signal(&self.run, libc::SIGTERM);
            let _ = self.run.wait();
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let children = tasks.flat_map(|task| fs::read_to_string(task.path().join("children")));
    let children: String = children.collect();
    children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// KiB of a process in swap.
fn swapped(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmSwap:"));
    line.map_or(0, |line| {
        line.trim().trim_end_matches(" kB").parse().unwrap()
    })
}

/// Returns the results that a command has printed.
fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(output));
    let document = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
    assert_eq!(document["schema"], "terrace.attach/1");
    document
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_running_process_is_steered_and_runs_on_after_an_interrupt() {
    let machine = machine();
    let walk = Walk::start(&machine, "1000000");
    let (before, groups) = (changes(), walk.groups());
    let pid = walk.pid.to_string();
    let output = walk.attach(&machine, &[&pid]);
    let found = document(&output);
    assert_eq!(found["end"], "signal");
    assert_eq!(found["settings"]["dram_bytes"], 64 << 20, "{found}");
    assert!(
        text(&output).contains(&format!("attached to process {pid} (walk)")),
        "{}",
        text(&output)
    );

    let process = &found["prefetch"]["processes"][0];
    assert_eq!(
        (&process["pid"], &process["name"]),
        (&walk.pid.into(), &"walk".into())
    );
    let used = number(&process["used"]) + number(&process["late"]);
    assert!(used > 5000, "{found}");
    assert!(
        number(&found["major_faults"]) > 0 && number(&found["faults_seen"]) > 0,
        "{found}"
    );
    assert!(
        number(&found["swapped_at_start_bytes"]) > 100 << 20,
        "{found}"
    );

    // The program, its groups, its swap area and the knob are as they were.
    assert_eq!(walk.groups(), groups);
    let swaps = |found: &[String]| {
        found[0]
            .lines()
            .nth(1)
            .map(|line| line.split_whitespace().next().map(str::to_owned))
    };
    let after = changes();
    assert_eq!(swaps(&after), swaps(&before));
    assert_eq!(after[1..], before[1..]);
    drop(walk);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_group_is_steered_for_a_time_or_until_its_processes_have_ended() {
    let machine = machine();
    let mut walk = Walk::start(&machine, "6");
    let group = walk.groups().lines().find_map(|line| {
        let (_, path) = line.split_once(":memory:")?;
        Some(path.to_owned())
    });
    let group = group.unwrap_or_else(|| walk.groups().trim().trim_start_matches("0::").to_owned());
    let attach = |options: &[&str]| {
        let common = ["attach", "-q", "--json", "--cgroup", &group];
        let output = machine.terrace(&[&common, options].concat());
        (document(&output), text(&output))
    };
    let options = "--for 1s --endurance 600TBW --latency --interval 0.3s";
    let (first, lines) = attach(&options.split(' ').collect::<Vec<_>>());
    let waits = &first["waits"];
    assert!(number(&waits["count"]) > 0 && waits["p50_us"].as_f64() <= waits["worst_us"].as_f64());
    assert!(
        !first["lifetime_years"].is_null() || first["tier_written_bytes"] == 0,
        "{first}"
    );
    let lines: Vec<Value> = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .map(checked)
        .collect();
    assert!(lines.len() >= 2, "{lines:?}");
    let of_lines: u64 = lines.iter().map(|line| number(&line["major_faults"])).sum();
    assert_eq!(of_lines, number(&first["major_faults"]));
    let unseen = number(&first["prefetch"]["unseen_faults"]);
    let seen = number(&first["faults_seen"]);
    assert_eq!(unseen, number(&first["major_faults"]).saturating_sub(seen));
    assert_eq!(first["end"], "time");
    assert!(first["wall_s"].as_f64().unwrap() >= 1.0, "{first}");
    let (rest, _) = attach(&[]);
    assert_eq!(rest["end"], "program");
    let used = |document: &Value| number(&document["prefetch"]["used"]);
    assert!(used(&first) + used(&rest) > 10_000, "{first} {rest}");
    assert_eq!(rest["prefetch"]["processes"][0]["name"], "walk");
    assert!(walk.run.wait().unwrap().success(), "no page of it was lost");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_container_is_found_by_its_id_and_limited_by_the_groups_above_it() {
    let machine = machine();
    let id = format!("{:064x}", u128::MAX / 3);
    let walk = Walk::in_container(&machine, &id, "1000000");
    assert!(walk.groups().contains(&id), "{}", walk.groups());
    let found = document(&walk.attach(&machine, &["-q", "--container", &id[..50]]));
    assert_eq!(found["target"], format!("the container {}", &id[..50]));
    assert_eq!(found["settings"]["dram_bytes"], 64 << 20, "{found}");
    let by = found["settings"]["limited_by"].as_str().unwrap();
    assert!(by.contains("terrace-") && !by.contains(&id), "{by}");
    assert!(number(&found["prefetch"]["used"]) > 5000, "{found}");
    let other = machine.terrace(&["attach", "--container", &id[1..]]);
    assert_eq!(other.status.code(), Some(2), "{}", text(&other));
    drop(walk);
    machine.assert_as_found();
}
