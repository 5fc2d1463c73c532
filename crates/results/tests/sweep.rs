//! The tables of a sweep: both hold the same, whatever was found.

use std::collections::HashSet;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use terrace_device::Catalogue;
use terrace_results::sweep::{Row, parquet, table};
use terrace_sim::pages::{self, Grid, Simulated};
use terrace_sim::workload::Workload;
use terrace_trace::generate::{self, Sequential};

/// What is found on a machine with this memory, whose energy is known for some.
fn row(memory: &str) -> Row {
    let grid = Grid::parse(&[
        ("dram", "8p"),
        ("memory", memory),
        ("order", "plain"),
        ("eviction-buffer", "4"),
    ]);
    let grid = grid.unwrap();
    let choice = grid.machines(&Catalogue::builtin()).unwrap().remove(0);
    let machine = choice.machine(0).unwrap();
    let trace = Sequential { writes: 50 }.source(&generate::KernelSettings {
        accesses: 20_000,
        footprint: terrace_base::Bytes(64 << 10),
        seed: 1,
    });
    let workload = Workload::new(vec![trace.unwrap()], None).unwrap();
    let outcomes = pages::run(workload, vec![machine.clone()], None, |_| {}).unwrap();
    Row {
        trace: "a.parquet".to_owned(),
        simulated: Simulated {
            dram: choice.dram(),
            machine,
            outcome: outcomes[0].clone(),
        },
    }
}

/// A value of a Parquet file as the CSV should have it.
fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(value) => value.clone(),
        Field::Long(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Double(value) => format!("{value:?}"),
        Field::Bool(value) => value.to_string(),
        other => panic!("no column is of the type of {other:?}"),
    }
}

/// The names and the rows of a Parquet file.
fn read_parquet(bytes: Vec<u8>) -> (Vec<String>, Vec<Vec<String>>) {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let names = schema.columns().iter().map(|c| c.name().to_owned());
    let names = names.collect();
    let rows = reader.get_row_iter(None).unwrap();
    let rows = rows.map(|row| {
        row.unwrap()
            .get_column_iter()
            .map(|(_, f)| text(f))
            .collect()
    });
    (names, rows.collect())
}

/// The same of a CSV.
fn read_csv(bytes: &[u8]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(bytes);
    let owned = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let names = owned(reader.headers().unwrap());
    let rows = reader.records().map(|record| owned(&record.unwrap()));
    (names, rows.collect())
}

/// The value of a row in the CSV.
fn value(row: &Row, name: &str) -> String {
    let (names, rows) = read_csv(&table(std::slice::from_ref(row)).csv().unwrap());
    rows[0][names.iter().position(|one| one == name).expect(name)].clone()
}

#[test]
fn each_figure_stands_in_its_column() {
    let (flash, pcm) = (row("flash"), row("pcm-row"));
    for (name, figure) in [
        ("trace", "a.parquet".to_owned()),
        ("dram", "8p".to_owned()),
        ("dram_pages", "8".to_owned()),
        ("memory", "flash".to_owned()),
        ("inclusion", "inclusive".to_owned()),
        ("shootdown_on_map", "false".to_owned()),
        ("fault_kernel_ns", "6000".to_owned()),
        ("threads", String::new()),
        ("accesses", "20000".to_owned()),
        (
            "writebacks",
            flash.simulated.outcome.counts.writebacks.to_string(),
        ),
        (
            "wait_read_ns",
            flash.simulated.outcome.times.read.0.to_string(),
        ),
        ("program_threads", "1".to_owned()),
        ("energy_read_j", String::new()),
    ] {
        assert_eq!(value(&flash, name), figure, "{name}");
    }
    let years = flash
        .simulated
        .outcome
        .lifetime
        .even
        .expect("flash wears out");
    assert_eq!(value(&flash, "lifetime_years"), format!("{years:?}"));
    let energy = pcm.simulated.outcome.energy.expect("the powers are known");
    assert_eq!(value(&pcm, "energy_read_j"), format!("{:?}", energy.read_j));
}

#[test]
fn columns_have_names_of_their_own() {
    let columns = table(&[]).columns;
    let names: HashSet<_> = columns.iter().map(|column| &column.name).collect();
    assert_eq!(names.len(), columns.len());
    assert!(columns.iter().all(|column| !column.help.is_empty()));
}

#[test]
fn no_row_is_a_table_as_well() {
    let none = table(&[]);
    let (names, rows) = read_parquet(parquet(&none, "options").unwrap());
    assert_eq!((names.len(), rows.len()), (none.columns.len(), 0));
    assert_eq!(read_csv(&none.csv().unwrap()), (names, rows));
}

proptest! {
    #[test]
    fn both_tables_hold_the_same(
        found in prop::collection::vec(
            (
                ".{0,20}",
                any::<u64>(),
                any::<u64>(),
                prop::option::of(any::<u64>()),
                prop::option::of(prop::num::f64::ANY),
                any::<bool>(),
            ),
            1..20,
        ),
    ) {
        let usual = row("pcm");
        let rows = found.into_iter().map(|(trace, seed, reads, full, years, flag)| {
            let mut row = usual.clone();
            row.trace = trace;
            let Simulated { machine, outcome, .. } = &mut row.simulated;
            machine.seed = seed;
            machine.fault.shootdown_on_map = flag;
            outcome.counts.reads = reads;
            outcome.full_at = full;
            outcome.lifetime.even = years;
            row
        });
        let rows: Vec<Row> = rows.collect();
        let rows = table(&rows);
        prop_assert_eq!(read_parquet(parquet(&rows, "options").unwrap()), read_csv(&rows.csv().unwrap()));
    }
}
