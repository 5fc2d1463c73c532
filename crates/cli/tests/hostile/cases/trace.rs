//! Traces that cannot be, and conversions that lose something.

use crate::case::{Case, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";
const HEAD: &str = "instruction,address,ip,process,thread,size,write\n";

/// A trace as CSV with these rows.
fn csv(rows: &str) -> String {
    format!("{HEAD}{rows}")
}

/// One instruction of a ChampSim trace that touches no memory.
fn instruction() -> Vec<u8> {
    let mut record = vec![0; 64];
    record[..8].copy_from_slice(&0x40_1000_u64.to_le_bytes());
    record
}

pub fn cases() -> Vec<Case> {
    let zeros = vec![0; 64 * 1024];
    let mut all = vec![
        case("zeros", "trace info zeros")
            .file("zeros", &zeros)
            .usage("the format of the trace"),
        case("zeros_named", "trace info a.champsim")
            .file("a.champsim", &zeros)
            .failure("filled with zeros"),
        case("zeros_said", "trace info --format champsim zeros")
            .file("zeros", &zeros)
            .failure("filled with zeros"),
        case(
            "no_such_thread",
            "trace convert --thread 99 a.parquet b.parquet",
        )
        .after(GEN)
        .failure("no access of thread 99"),
        case(
            "nothing_behind",
            "trace convert --skip 2000 a.parquet b.parquet",
        )
        .after(GEN)
        .failure("no access to convert"),
        case("drops", "trace convert a.parquet b.oracleGeneral")
            .after(GEN)
            .says("does not say that 1000 accesses wrote")
            .leaves("b.oracleGeneral"),
        case(
            "drops_quietly",
            "trace convert -q a.parquet b.oracleGeneral.gz",
        )
        .after(GEN)
        .leaves("b.oracleGeneral.gz"),
        case("packed_oracle", "trace info -q b.oracleGeneral.xz")
            .after(GEN)
            .after("trace convert -q a.parquet b.oracleGeneral.xz")
            .prints("2,000"),
        case("cut_parquet", "trace info cut.parquet")
            .file("cut.parquet", "PAR1 and no more")
            .failure("no description of a Parquet file"),
        case("empty_parquet", "trace info a.parquet")
            .file("a.parquet", "PAR1")
            .failure("cut short"),
    ];
    all.push(
        case(
            "memory_unknown",
            "sim pages --dram 1M --memory cheese a.parquet",
        )
        .after(GEN)
        .usage("there is no technology `cheese`"),
    );
    all.push(
        case(
            "of_another_program",
            "validate --trace other.parquet -- true",
        )
        .prepared(|place| {
            let about = [("recorded.command".to_owned(), "other --way".to_owned())];
            let trace = place.join("other.parquet");
            let sink = terrace_trace::create(&trace, &about).expect("a trace");
            sink.finish().expect("a trace");
        })
        .usage("is a trace of `other --way` and not of `true`"),
    );
    all.extend([
        // There is no option that would say it.
        case("validate_untold", "validate --trace x -- true")
            .file("x", "some text\n")
            .usage("shows neither in it nor in its name; give it the ending of its format"),
        case("info_untold", "trace info x")
            .file("x", "some text\n")
            .usage("say which it is: native, champsim"),
        case("validate_oracle", "validate --prefetch oracle -- true")
            .usage("`oracle` knows what is to come, which only simulations do"),
        case("validate_unknown", "validate --prefetch cheese -- true")
            .usage("there are: off, readahead, auto"),
        // Threads of a process share its pages, and processes do not.
        case("pages_of_processes", "sim pages -q --dram 1M a.csv")
            .file(
                "a.csv",
                csv("0,4096,0,0,0,8,0\n0,4096,0,0,1,8,0\n0,4096,0,1,0,8,0\n"),
            )
            .prints("3 accesses to 2 pages"),
        case("llc_memory_unknown", "sim llc --memory cheese a.parquet")
            .after(GEN)
            .usage("there is no technology `cheese`; there are dram,"),
    ]);
    for (name, command) in [
        ("info", "trace info -q a.csv"),
        ("pages", "sim pages -q --dram 1M a.csv"),
        ("llc", "sim llc -q a.csv"),
        ("mix", "sim mix -q --warmup 0 --time 1ms a.csv"),
        ("convert", "trace convert -q a.csv b.csv"),
        ("sweep", "sweep -q --dram 1M a.csv -o out"),
    ] {
        all.push(
            case(format!("instructions_back_{name}"), command)
                .file("a.csv", csv("9,4096,0,0,0,8,0\n3,8192,0,0,0,8,0\n"))
                .failure("is wrong at its access 1 (from 0)"),
        );
        all.push(
            case(format!("size_{name}"), command)
                .file("a.csv", csv("1,4096,0,0,0,4294967295,0\n"))
                .failure("touches 4294967295 bytes at once"),
        );
        all.push(
            case(format!("no_rows_{name}"), command)
                .file("a.csv", HEAD)
                .failure("there is no access in `a.csv`"),
        );
        all.push(
            case(format!("open_quote_{name}"), command)
                .file("a.csv", "write,address\n0,8192\n0,\"4096\n")
                .failure("line 3 has a quote that is not closed"),
        );
    }
    for (format, content) in [
        ("lackey", &b"I  1000,4\n"[..]),
        ("champsim", &instruction()),
    ] {
        for (name, command) in [
            ("info", "trace info -q"),
            ("pages", "sim pages -q --dram 1M"),
        ] {
            all.push(
                case(
                    format!("no_access_{format}_{name}"),
                    &format!("{command} --format {format} a"),
                )
                .file("a", content)
                .failure("there is no access in `a`"),
            );
        }
    }
    all
}
