//! The simulation and its slow twin agree in every count and to the nanosecond.

use proptest::prelude::*;

use crate::naive::Naive;
use crate::replay::{Load, Request, machines, simulate_load};

/// Requests for 40 pages, of which some follow each other.
pub fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..40_u64, 1..5_u64, 0..5_u8);
    let request = request.prop_map(|(page, pages, kind)| (page, pages, kind == 0));
    prop::collection::vec(request, 1..200)
}

/// Requests for files, in streams and elsewhere.
pub fn load() -> impl Strategy<Value = Load> {
    let request = (0..4_u8, 0..40_u64, 1..7_u64, 0..6_u8);
    let requests = prop::collection::vec(request, 1..200).prop_map(|requests| {
        let mut next = 0;
        let request = |(kind, page, pages, write)| {
            let first = if kind == 0 { page } else { next };
            next = (first + pages) % 40;
            (first, pages, write == 0)
        };
        requests.into_iter().map(request).collect::<Vec<_>>()
    });
    let given_back = prop::collection::vec((0..200_usize, 0..40_u64, 1..20_u64), 0..8);
    let room = prop_oneof![Just(None), Just(Some(8)), Just(Some(16))];
    (requests, room, given_back).prop_map(|(mut requests, room, mut given_back)| {
        if let Some(room) = room {
            // No request goes beyond its file.
            for (first, pages, _) in &mut requests {
                *pages = (room - *first % room).min(*pages);
            }
        }
        given_back.sort_unstable();
        Load {
            requests,
            room,
            given_back,
        }
    })
}

proptest! {
    #[test]
    fn simulation_and_twin_agree(
        requests in requests(), dram in 1..12_u64, flash in 0..20_u64,
        slow_down in prop_oneof![Just("1"), Just("2:10"), Just("0.5")],
        admission in prop_oneof![Just("all"), Just("second-read")],
    ) {
        let load = Load { requests, ..Load::default() };
        agree(&load, dram, flash, &[("admission", admission), ("flash-slow-down", slow_down)])?;
    }

    #[test]
    fn they_agree_on_what_is_read_ahead(
        load in load(), dram in 1..24_u64, flash in 0..20_u64,
        readahead in prop_oneof![Just("1p"), Just("3p"), Just("4p"), Just("8p"), Just("32p")],
        admission in prop_oneof![Just("all"), Just("second-read")],
        copy in prop_oneof![Just("1us"), Just("50us"), Just("3ms")],
    ) {
        let values = [("admission", admission), ("readahead", readahead), ("copy", copy)];
        agree(&load, dram, flash, &values)?;
    }
}

fn agree(load: &Load, dram: u64, flash: u64, values: &[(&str, &str)]) -> Result<(), TestCaseError> {
    let flash = match flash {
        0 => "off".to_owned(),
        pages => format!("{pages}p"),
    };
    let dram = format!("{dram}p");
    let levels = [
        ("dram", &*dram),
        ("flash-size", &*flash),
        ("organisation", "extended,multilevel,memory"),
        ("writes", "through,back,around"),
        ("write-buffer", "0"),
    ];
    let values = [&levels, values].concat();
    let second_read = values.contains(&("admission", "second-read"));
    let runs = simulate_load(load, &values);
    for (run, machine) in runs.iter().zip(machines(&values)) {
        let naive = Naive::serve_all(&machine, second_read, load);
        prop_assert_eq!(run.outcome.counts, naive.counts, "{:?}", machine);
        prop_assert_eq!(run.outcome.time.0, naive.time, "{:?}", machine);
    }
    Ok(())
}
