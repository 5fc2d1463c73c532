//! Files that are none, of another kind, or cut short: traces, pools, machines, suites.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::case::{Case, case};

pub fn cases() -> Vec<Case> {
    let mut all = kinds();
    all.extend(garbage());
    all.extend(truncated());
    all.extend(pools());
    all.extend(outputs());
    all
}

/// Commands that read a file, with the name `x` for it.
const READERS: [(&str, &str); 16] = [
    ("info", "trace info x"),
    ("convert", "trace convert x out.parquet"),
    ("pages", "sim pages --dram 1M x"),
    ("llc", "sim llc x"),
    ("mix", "sim mix x"),
    ("curve", "sim curve x"),
    ("sweep", "sweep --dram 1M -o out x"),
    ("machine", "sim pages --dram 1M --machine x good.csv"),
    ("memories", "sim pages --dram 1M --memories x good.csv"),
    ("suite", "bench x"),
    ("table", "bench --table x"),
    ("calibration", "validate --calibration x -- true"),
    ("heap_info", "heap info x"),
    ("heap_check", "heap check x"),
    ("heap_dump", "heap dump x"),
    ("heap_compact", "heap compact x"),
];

/// What `x` is instead of a file with something in it.
fn kinds() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, line) in READERS {
        let of = |kind: &str| {
            case(format!("{name}_{kind}"), line).file("good.csv", "thread,address\n0,4096\n")
        };
        all.push(refused(of("missing")));
        all.push(refused(of("directory").directory("x")));
        // A file without memories of one's own adds none.
        if name != "memories" {
            all.push(refused(of("empty").file("x", "")));
            all.push(refused(of("null").link("x", "/dev/null")));
        }
        all.push(refused(of("zeros").file("x", [0; 8192])));
        all.push(refused(of("link_loop").link("x", "x")));
        all.push(refused(of("link_to_nothing").link("x", "nothing")));
        all.push(refused(
            of("unreadable")
                .file("x", "secret")
                .mode("x", 0o000)
                .nobody()
                .root(),
        ));
    }
    all
}

/// Fails, as wrong usage or as a failure: which one depends on what can be known of the file.
fn refused(case: Case) -> Case {
    case.fails()
}

fn garbage() -> Vec<Case> {
    let mut all = Vec::new();
    let noise: Vec<u8> = (0..4096_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for (kind, content) in [
        ("noise", noise.clone()),
        ("parquet_head", [&b"PAR1"[..], &noise].concat()),
        (
            "parquet_both_ends",
            [&b"PAR1"[..], &noise, b"PAR1"].concat(),
        ),
        ("gzip_head", [&b"\x1f\x8b\x08\x00"[..], &noise].concat()),
        ("xz_head", [&b"\xfd7zXZ\x00"[..], &noise].concat()),
        ("zstd_head", [&b"\x28\xb5\x2f\xfd"[..], &noise].concat()),
        ("text", b"Dear reader,\nthis is no trace.\n".to_vec()),
        ("one_long_line", vec![b'a'; 100_000]),
        ("csv_bad_number", b"thread,address\n0,ten\n".to_vec()),
        ("csv_negative", b"thread,address\n0,-4096\n".to_vec()),
        (
            "csv_too_large",
            b"thread,address\n0,99999999999999999999999\n".to_vec(),
        ),
        ("csv_missing_column", b"thread,address\n0\n".to_vec()),
        ("csv_no_utf8", b"thread,address\n0,\xff\xfe\n".to_vec()),
    ] {
        for (name, line) in [
            ("info", "trace info x"),
            ("pages", "sim pages --dram 1M x"),
            ("llc", "sim llc x"),
        ] {
            all.push(refused(
                case(format!("{name}_{kind}"), line).file("x", &content),
            ));
        }
    }
    all
}

/// A trace that was whole, cut at many places.
fn truncated() -> Vec<Case> {
    let mut all = Vec::new();
    for part in [0, 1, 3, 4, 8, 25, 50, 75, 90, 95, 99] {
        let cut = case(
            format!("parquet_cut_at_{part}_percent"),
            "trace info cut.parquet",
        )
        .after("trace gen gups --accesses 2000 --footprint 64K -o whole.parquet")
        .prepared(move |place| {
            let whole = std::fs::read(place.join("whole.parquet")).unwrap();
            let end = whole.len() * part / 100;
            std::fs::write(place.join("cut.parquet"), &whole[..end]).unwrap();
        });
        all.push(refused(cut));
    }
    for back in [1, 2, 4, 8, 9, 12, 64] {
        let cut = case(
            format!("parquet_without_last_{back}"),
            "sim pages --dram 1M cut.parquet",
        )
        .after("trace gen gups --accesses 2000 --footprint 64K -o whole.parquet")
        .prepared(move |place| {
            let whole = std::fs::read(place.join("whole.parquet")).unwrap();
            std::fs::write(place.join("cut.parquet"), &whole[..whole.len() - back]).unwrap();
        });
        all.push(refused(cut));
    }
    for format in ["champsim", "oracleGeneral"] {
        let cut = case(format!("{format}_cut"), &format!("trace info cut.{format}"))
            .after(format!(
                "trace gen gups --accesses 500 --footprint 64K -o whole.{format}"
            ))
            .prepared(move |place| {
                let whole = std::fs::read(place.join(format!("whole.{format}"))).unwrap();
                std::fs::write(
                    place.join(format!("cut.{format}")),
                    &whole[..whole.len() - 5],
                )
                .unwrap();
            });
        all.push(refused(cut));
    }
    all
}

/// Pools that are none, to commands that must not change them.
fn pools() -> Vec<Case> {
    let mut all = Vec::new();
    for (kind, content) in [
        ("text", b"no pool at all\n".repeat(1000)),
        ("ones", vec![0xff; 1 << 16]),
        ("short", vec![7; 100]),
        ("page_and_a_byte", vec![1; 4097]),
    ] {
        for command in ["info", "check", "dump", "compact"] {
            let line = format!("heap {command} x.pool");
            all.push(refused(
                case(format!("heap_{command}_{kind}"), &line).file("x.pool", &content),
            ));
        }
    }
    all.push(refused(
        case("heap_object_of_garbage", "heap dump --object 4096 x.pool").file("x.pool", [9; 8192]),
    ));
    all
}

/// Leaves no room on the small disk.
fn fill(place: &Path) {
    let mut rest = File::create(place.join("full/rest")).unwrap();
    while rest.write_all(&[1; 512]).is_ok() {}
}

/// Places where nothing can be written.
fn outputs() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, line) in [
        (
            "gen",
            "trace gen gups --accesses 1000 --footprint 64K -o OUT.parquet",
        ),
        ("convert", "trace convert good.csv OUT.parquet"),
        (
            "timeline",
            "sim pages --dram 1M --prefetch stream good.csv --timeline OUT.csv",
        ),
        ("llc_json", "sim llc good.csv --json OUT.json"),
        ("requests", "sim llc good.csv --requests OUT.parquet"),
        ("sweep", "sweep --dram 1M good.csv -o OUT"),
    ] {
        let of = |kind: &str, place: &str| {
            case(format!("{name}_{kind}"), &line.replace("OUT", place))
                .file("good.csv", "thread,address\n0,4096\n0,8192\n")
        };
        all.push(refused(of("nowhere", "no/such/place/x")));
        all.push(refused(of("below_a_file", "good.csv/x")));
        all.push(refused(of("in_proc", "/proc/x")));
        all.push(refused(
            of("not_allowed", "closed/x")
                .directory("closed")
                .mode("closed", 0o555)
                .nobody()
                .root(),
        ));
        // A sweep leaves what is finished, to go on from there.
        if name != "sweep" {
            let full = of("full_disk", "full/x").small_disk(16384);
            all.push(refused(full.prepared(fill)));
        }
    }
    all
}
