//! The simulation and its slow twin agree in every count and to the nanosecond.

use proptest::prelude::*;

use crate::naive::Naive;
use crate::replay::{Request, machines, simulate};

/// Requests for 40 pages, of which some follow each other.
pub fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..40_u64, 1..5_u64, 0..5_u8);
    let request = request.prop_map(|(page, pages, kind)| (page, pages, kind == 0));
    prop::collection::vec(request, 1..200)
}

proptest! {
    #[test]
    fn simulation_and_twin_agree(
        requests in requests(), dram in 1..12_u64, flash in 0..20_u64,
        slow_down in prop_oneof![Just("1"), Just("2:10"), Just("0.5")],
        admission in prop_oneof![Just("all"), Just("second-read")],
    ) {
        let flash = match flash {
            0 => "off".to_owned(),
            pages => format!("{pages}p"),
        };
        let values = [
            ("dram", &*format!("{dram}p")), ("flash-size", &*flash),
            ("organisation", "extended,multilevel,memory"), ("writes", "through,back,around"),
            ("admission", admission), ("flash-slow-down", slow_down), ("write-buffer", "0"),
        ];
        let runs = simulate(&requests, &values);
        for (run, machine) in runs.iter().zip(machines(&values)) {
            let mut naive = Naive::new(&machine, admission == "second-read");
            requests.iter().for_each(|request| naive.serve(*request));
            prop_assert_eq!(run.outcome.counts, naive.counts, "{:?}", machine);
            prop_assert_eq!(run.outcome.time.0, naive.time, "{:?}", machine);
        }
    }
}
