//! A day of updates of a real table, as RIPE RIS recorded it.

use std::path::{Path, PathBuf};

use terrace_base::Nanos;
use terrace_tcam::input::{self, Ports};
use terrace_tcam::lifetime::ENDURANCE;
use terrace_tcam::ordering;
use terrace_tcam::policy::Sum;
use terrace_tcam::replay::{Outcome, Replay};
use terrace_tcam::times::Model;
use terrace_tcam::{Route, Settings, Update};

/// Returns a file of other people's data, below `shared/data` or TERRACE_DATA.
fn shared_data(name: &str) -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("TERRACE_DATA").map_or(beside, PathBuf::from);
    let file = data.join(name);
    assert!(
        file.exists(),
        "this test needs {} (TERRACE_DATA)",
        file.display()
    );
    file
}

fn day(family: &str) -> (Vec<Route>, Vec<Update>) {
    let file =
        |part: &str| shared_data(&format!("bgp/ris-20260511-as3333-{part}-{family}.parquet"));
    let mut ports = Ports::default();
    let table = input::table(&file("initial"), None, &mut ports).unwrap();
    let updates = input::updates(&file("updates"), None, &mut ports).unwrap();
    (table.routes, updates.updates)
}

fn replay(
    day: &(Vec<Route>, Vec<Update>),
    policy: &str,
    shadow_rows: u32,
    times: Model,
) -> Outcome {
    let replay = Replay {
        settings: Settings {
            shadow_rows,
            ..Settings::default()
        },
        policy: Sum::parse(policy).unwrap(),
        times,
        span: Nanos(86_400_000_000_000),
        checked: 0.01,
        endurance: ENDURANCE,
    };
    replay.run(&day.0, &day.1, |_| {}).unwrap()
}

#[test]
#[ignore = "needs the routing tables of other people; run by make test-data"]
fn shared_data_flash_writes_of_the_day() {
    let day = day("ipv4");
    for (policy, expected) in [
        ("thesis", [728_320, 628_736, 464_896]),
        ("unchanged", [28_928, 25_088, 12_288]),
    ] {
        for (rows, expected) in [256, 512, 2048].into_iter().zip(expected) {
            for times in [Model::Even, Model::Bursty] {
                let outcome = replay(&day, policy, rows, times);
                assert_eq!(outcome.counts.flushed, expected, "{policy} {rows}");
                assert!(outcome.checked > 10_000);
            }
        }
    }
}

#[test]
#[ignore = "needs the routing tables of other people; run by make test-data"]
fn shared_data_every_policy_answers_right_on_both_families() {
    for family in ["ipv4", "ipv6"] {
        let day = day(family);
        for policy in [
            "thesis",
            "unchanged",
            "coalesce",
            "damping",
            "lazy",
            "unchanged+coalesce+damping+lazy",
        ] {
            let outcome = replay(&day, policy, 512, Model::Bursty);
            assert!(outcome.counts.flushed >= outcome.bound, "{family} {policy}");
        }
    }
}

/// What a conventional TCAM moves on the day, where the flash TCAM moves nothing.
#[test]
#[ignore = "needs the routing tables of other people; run by make test-data"]
fn shared_data_orderings_answer_right_and_move_less_the_less_they_order() {
    for family in ["ipv4", "ipv6"] {
        let (table, updates) = day(family);
        let counted = ordering::count(&table, &updates, 0.01, 1).unwrap();
        let moves = |name: &str| {
            let mut named = counted.iter().filter(|moves| moves.name == name);
            named.next().unwrap().moves
        };
        assert!(moves("sorted-end") > moves("sorted-middle"), "{counted:?}");
        assert!(moves("sorted-middle") > moves("partial"), "{counted:?}");
        println!("{family}: {counted:?}");
    }
}
