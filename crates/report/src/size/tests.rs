//! Tables, pages and documents.

use super::*;

fn level(mib: u64, slowdown: f64, known: bool) -> SizeLevel {
    SizeLevel {
        dram_bytes: mib << 20,
        time_s: 30.0,
        looks: 60,
        known,
        slowdown,
        spread: SizeSpread {
            lower: 0.0,
            median: slowdown / 2.0,
            upper: slowdown,
            most: slowdown * 4.0,
        },
        faults_per_s: 12.0,
        written_bytes: 1 << 20,
        written_bytes_per_day: (3_u64 << 30) as f64,
        lifetime_years: Some(5.0),
    }
}

fn document(levels: Vec<SizeLevel>) -> SizeDocument {
    SizeDocument {
        schema: "terrace.size/1".into(),
        target: "the unit postgresql".into(),
        settings: SizeSettings {
            goal: 0.05,
            control: "slowdown:goal=0.05".into(),
            tier: "/swapfile".into(),
            stalls: "waits".into(),
            written: "steps".into(),
            group: None,
            endurance_bytes: Some(600_000_000_000_000),
            kernel: "6.18".into(),
            machine_memory_bytes: 24 << 30,
            terrace: "0".into(),
        },
        wall_s: 90.0,
        end: "time".into(),
        footprint_bytes: 4915 << 20,
        least: levels.iter().rev().find(|it| it.slowdown <= 0.05).copied(),
        all: level(4000, 0.02, true),
        smaller_s: 2.5,
        levels,
        decisions: SizeDecisions {
            looks: 180,
            reclaims: 90,
            asked_bytes: 1 << 30,
            tried_bytes: 1 << 30,
            left_bytes: 1 << 29,
            returns: 2,
            came_bytes: 1 << 20,
            restored_bytes: 0,
            short: 0,
            full: true,
            longest_step_s: 0.01,
            shared_bytes: 4096,
            stayed_bytes: 0,
            locked_bytes: 0,
            lost: 0,
        },
        waits: None,
        simulated: None,
    }
}

#[test]
fn the_answer_is_one_sentence() {
    let said = document(vec![level(4800, 0.0, true), level(3174, 0.04, true)]);
    assert_eq!(
        sentence(&said),
        "the unit postgresql keeps within 5.0 % with 3.10 GiB of 4.80 GiB"
    );
    let never = document(vec![level(4800, 0.5, true)]);
    assert!(sentence(&never).contains("stood still for more than 5.0 %"));
    let short = document(vec![level(4800, 0.5, false)]);
    assert!(sentence(&short).contains("too short a time (90.0 s)"));
}

#[test]
fn tables_fit_lines_and_name_what_was_passed_over() {
    let document = document(vec![level(4800, 0.001, true), level(3174, 0.5, false)]);
    let shown = text(&document).to_string();
    assert!(shown.contains("50 % *"), "{shown}");
    assert!(shown.contains("too short a time to say"), "{shown}");
    assert!(shown.contains("The tier was full"), "{shown}");
    assert!(shown.contains("4.00 KiB were passed over"), "{shown}");
    assert!(!shown.contains("locked"), "{shown}");
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{shown}");
}

#[test]
fn documents_are_read_as_they_were_written() {
    let document = document(vec![level(4800, 0.0, true)]);
    let json = document.to_json();
    let read: SizeDocument = serde_json::from_str(&json).unwrap();
    assert_eq!(read.to_json(), json);
    assert_eq!(document.rows().rows.len(), 1, "a row a size");
    let page = document.page().html(&text(&document), "terrace size");
    assert!(page.contains("<h1>terrace size: the unit postgresql</h1>"));
}

#[test]
fn a_simulated_curve_stands_beside_the_measured_one_and_says_so() {
    let mut document = document(vec![level(4800, 0.001, true), level(3174, 0.04, true)]);
    assert_eq!(document.sizes(), "1228800p,812544p");
    let simulated = |mib: u64, slowdown| SizeSimulated {
        dram_bytes: mib << 20,
        slowdown,
        faults_per_s: 70.0,
    };
    document.simulated = Some(SizeSimulation {
        traces: vec!["db.parquet".into()],
        memory: "flash".into(),
        footprint_bytes: 4000 << 20,
        levels: vec![simulated(4800, 0.0), simulated(3174, 0.06)],
        warnings: vec!["DRAM was never full".into()],
    });
    let shown = text(&document).to_string();
    for wanted in [
        "simulated",
        "6.0 %",
        "70.0",
        "db.parquet",
        "flash",
        "3.91 GiB",
        "never full",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    let read: SizeDocument = serde_json::from_str(&document.to_json()).unwrap();
    assert_eq!(read.to_json(), document.to_json());
    let page = document.page().html(&text(&document), "terrace size");
    assert!(page.contains("\"simulated\""), "a series of its own");
}
