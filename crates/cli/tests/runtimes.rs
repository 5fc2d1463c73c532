//! Programs on runtimes that size themselves by the limit of their group, with three times as much
//! memory as DRAM: in each way of a comparison they are the same programs.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

mod common;
use common::{Machine, machine, text};

/// Fills arrays of that many MiB and sums them twice, out of order; says by which collector.
const JAVA: &str = r#"
public class Walk {
    public static void main(String[] arguments) {
        int pages = Integer.parseInt(arguments[0]) << 8;
        long[][] memory = new long[pages][];
        for (int page = 0; page < pages; page++) {
            memory[page] = new long[510];
            memory[page][page % 510] = page;
        }
        long sum = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int step = 0, page = 0; step < pages; step++, page = (page + 7919) % pages)
                sum += memory[page][page % 510];
        for (var collector : java.lang.management.ManagementFactory.getGarbageCollectorMXBeans())
            System.out.print(collector.getName() + ", ");
        System.out.println((Runtime.getRuntime().maxMemory() >> 20) + " MiB at most: " + sum);
    }
}
"#;

const NODE: &str = r"
const pages = Number(process.argv[1]) << 8;
const memory = [];
for (let page = 0; page < pages; page++) {
    const words = new Array(510).fill(0.5);
    words[page % 510] = page + 0.5;
    memory.push(words);
}
let sum = 0;
for (let pass = 0; pass < 2; pass++)
    for (let step = 0, page = 0; step < pages; step++, page = (page + 7919) % pages)
        sum += memory[page][page % 510];
const { heap_size_limit } = require('node:v8').getHeapStatistics();
console.log(`${Math.round(heap_size_limit / 1048576)} MiB at most: ${sum}`);
";

const DUCKDB: &str = "
import duckdb, sys
database = duckdb.connect()
database.execute('set threads = 1')
database.execute('set enable_progress_bar = false')
database.execute(f\"\"\"create table t as select i, hash(i) as h, repeat('x', 40) || i as s
                     from range({int(sys.argv[1]) * 10000}) r(i)\"\"\")
most = database.execute(\"select current_setting('memory_limit')\").fetchall()
print(most, database.execute('select count(*), sum(h % 1000), max(s) from t').fetchall(), end=' ')
print(database.execute('''select sum(n * n) from
                          (select h % 100003 as k, count(*) as n from t group by k)''').fetchall())
";

const GO: &str = r#"
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

func main() {
	megabytes, _ := strconv.Atoi(os.Args[1])
	memory := make([][]int, megabytes<<8)
	for page := range memory {
		memory[page] = make([]int, 512)
		memory[page][page%512] = page
	}
	sum := 0
	for pass := 0; pass < 2; pass++ {
		for step, page := 0, 0; step < len(memory); step, page = step+1, (page+7919)%len(memory) {
			sum += memory[page][page%512]
		}
	}
	fmt.Println(debug.SetMemoryLimit(-1), sum)
}
"#;

const PYTHON: &str = "
import os, sys
memory = [bytearray(4000) for _ in range(int(sys.argv[1]) << 8)]
for page, block in enumerate(memory): block[page % 4000] = page % 251
total = sum(memory[(step * 7919) % len(memory)][(step * 7919) % len(memory) % 4000] for step in range(len(memory)))
print(os.sysconf('SC_PHYS_PAGES'), total)
";

/// Whether a command can be run and succeeds; says which test is left out if not.
fn is_there(what: &str, command: &[&str]) -> bool {
    let mut asked = Command::new(command[0]);
    let asked = asked
        .args(&command[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = asked.is_ok_and(|status| status.success());
    if !there {
        eprintln!("SKIPPED: {what} is not installed");
    }
    there
}

impl Machine {
    /// Runs the program without terrace and in all ways with a third of its memory in DRAM.
    fn is_the_same_in_all_ways(&self, program: &[&str]) {
        let plain = Command::new(program[0])
            .args(&program[1..])
            .output()
            .expect("it runs");
        assert!(plain.status.success(), "{program:?}: {}", text(&plain));
        let options = ["run", "-q", "--dram", "33%", "--compare", "--"];
        let output = self.terrace(&[&options, program].concat());
        assert!(output.status.success(), "{program:?}: {}", text(&output));
        // The first of the runs measures the footprint.
        let expected = String::from_utf8(plain.stdout).unwrap().repeat(5);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        self.assert_as_found();
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.state.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

fn builds(command: &mut Command) {
    let built = command.output().expect("it runs");
    assert!(built.status.success(), "{}", text(&built));
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn java_virtual_machines() {
    if !is_there("javac (default-jdk-headless)", &["javac", "-version"]) {
        return;
    }
    let machine = machine();
    let source = machine.file("Walk.java", JAVA);
    let classes = machine.state.path();
    builds(
        Command::new("javac")
            .args(["--release", "17", "-d"])
            .arg(classes)
            .arg(&source),
    );
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let installed = installed.map(|entry| entry.path().join("bin/java"));
    let mut machines: Vec<PathBuf> = installed
        .filter_map(|java| java.canonicalize().ok())
        .collect();
    machines.sort();
    machines.dedup();
    if machines.is_empty() {
        machines.push("java".into());
    }
    for java in machines {
        let java = java.to_str().unwrap();
        machine.is_the_same_in_all_ways(&[java, "-cp", classes.to_str().unwrap(), "Walk", "150"]);
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn node() {
    if is_there("node (nodejs)", &["node", "--version"]) {
        machine().is_the_same_in_all_ways(&["node", "-e", NODE, "300"]);
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn duckdb() {
    if is_there(
        "DuckDB (pip install duckdb)",
        &["python3", "-c", "import duckdb"],
    ) {
        machine().is_the_same_in_all_ways(&["python3", "-c", DUCKDB, "200"]);
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn go() {
    if !is_there("go (golang-go)", &["go", "version"]) {
        return;
    }
    let machine = machine();
    let source = machine.file("walk.go", GO);
    let walk = machine.state.path().join("walk");
    builds(
        Command::new("go")
            .args(["build", "-o"])
            .args([&walk, &source]),
    );
    machine.is_the_same_in_all_ways(&[walk.to_str().unwrap(), "150"]);
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn python() {
    machine().is_the_same_in_all_ways(&["python3", "-c", PYTHON, "150"]);
}
