//! Free pages in the budget of a program that swaps.

use std::fs;

use crate::common::{Machine, example, machine, text};

/// Bytes of DRAM that are free, and limits of DRAM, at moments of a walk over twice its DRAM.
fn samples(machine: &Machine, eviction: &str) -> Vec<(u64, u64)> {
    let file = machine.state.path().join("samples");
    let script = format!(
        "group=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
         cd /sys/fs/cgroup/memory$group && used=memory.usage_in_bytes limit=memory.limit_in_bytes ||
             {{ cd /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
               used=memory.current limit=memory.high; }}
         {} 128 17 3 >&2 & walk=$!
         while kill -0 $walk 2>/dev/null; do echo $(cat $used $limit); sleep 0.02; done >{}
         wait $walk",
        example("walk"),
        file.display()
    );
    let options = [
        "-q",
        "--see-limit",
        "--prefetch",
        "stream",
        "--eviction",
        eviction,
    ];
    let output = machine.run(&options, &["sh", "-c", &script]);
    assert!(output.status.success(), "{}", text(&output));
    let lines = fs::read_to_string(file).unwrap();
    let lines = lines.lines().map(|line| {
        let (used, limit) = line.split_once(' ').expect("two numbers");
        let (used, limit): (u64, u64) = (used.parse().unwrap(), limit.parse().unwrap());
        (Machine::DRAM.saturating_sub(used), limit)
    });
    // The first half has the time in which DRAM is filled.
    let lines: Vec<_> = lines.collect();
    lines[lines.len() / 2..].to_vec()
}

fn median_free(samples: &[(u64, u64)]) -> u64 {
    let mut free: Vec<u64> = samples.iter().map(|(free, _)| *free).collect();
    free.sort_unstable();
    free[free.len() / 2]
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn some_pages_are_free_while_a_program_swaps() {
    let machine = machine();
    let [with, without] = ["hold", "kernel"].map(|eviction| samples(&machine, eviction));
    let (with_free, without_free) = (median_free(&with), median_free(&without));
    // One page in 64 of DRAM is the aim, and half of them the least.
    let least = Machine::DRAM / 256;
    assert!(with_free > least, "{with_free} {with:?}");
    assert!(without_free < least, "{without_free} {without:?}");
    // A sample may be taken while the limit is lower for an instant.
    let limits = |samples: &[(u64, u64)]| samples.iter().map(|(_, limit)| *limit).max();
    assert_eq!(limits(&with), Some(Machine::DRAM));
    machine.assert_as_found();
}
