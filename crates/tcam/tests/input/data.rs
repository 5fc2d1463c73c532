//! Tables and updates of real routers, which are not part of the project.

use std::path::{Path, PathBuf};

use terrace_tcam::input::{self, Ports, Table, Updates};
use terrace_tcam::{Change, Update};

fn path(name: &str) -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("TERRACE_DATA").map_or(beside, PathBuf::from);
    let path = data.join("bgp").join(name);
    assert!(
        path.exists(),
        "this test needs {} (TERRACE_DATA)",
        path.display()
    );
    path
}

fn table(name: &str) -> (Table, Ports) {
    let mut ports = Ports::default();
    let table = input::table(&path(name), None, &mut ports).unwrap();
    (table, ports)
}

fn updates(name: &str) -> (Updates, Ports) {
    let mut ports = Ports::default();
    let updates = input::updates(&path(name), None, &mut ports).unwrap();
    (updates, ports)
}

#[test]
#[ignore = "needs the tables of real routers; run by make test-data"]
fn shared_data_tables_have_their_routes() {
    for (name, routes, ports, peers) in [
        ("ris-20260511-as3333-initial-ipv4.parquet", 1_042_325, 1, 0),
        ("ris-20260511-as3333-initial-ipv6.parquet", 246_175, 1, 0),
        ("mrt-full-transfer-2015.gz", 577_703, 3771, 1),
        ("mrt-bview-20020722.2337.gz", 112_986, 65, 36),
        ("ipasn_20140513.dat.gz", 512_621, 46_823, 0),
    ] {
        let (table, known) = table(name);
        let found = (table.routes.len(), known.len(), table.origin.peers);
        assert_eq!(found, (routes, ports, peers), "{name}");
        assert!(
            table.routes.is_sorted_by(|a, b| a.prefix < b.prefix),
            "{name}"
        );
    }
}

#[test]
#[ignore = "needs the updates of real routers; run by make test-data"]
fn shared_data_updates_are_read_whole() {
    for (name, announced, withdrawn, last) in [
        (
            "ris-20260511-as3333-updates-ipv4.parquet",
            1_355_568,
            37_853,
            None,
        ),
        (
            "ris-20260511-as3333-updates-ipv6.parquet",
            1_210_274,
            27_961,
            None,
        ),
        ("mrt-updates-20160811.1600.gz", 4_336, 80, Some(299.0)),
        ("mrt-updates-20070211.0141.gz", 11_219, 19, Some(896.0)),
    ] {
        let (updates, _) = updates(name);
        let announces = |update: &&Update| matches!(update.change, Change::Announce(_));
        let found = updates.updates.iter().filter(announces).count();
        assert_eq!(
            (found, updates.updates.len() - found),
            (announced, withdrawn),
            "{name}"
        );
        assert!(
            updates.updates.is_sorted_by_key(|update| update.at),
            "{name}"
        );
        let end = updates.updates.last().unwrap().at;
        assert_eq!(end.map(|at| at.seconds()), last, "{name}");
    }
}
