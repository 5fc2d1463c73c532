//! Traces that are named by a URI. With the feature `object-store`, as `make test-object-store`
//! builds it, they are read from a server of this test, or from S3 as moto plays it.

mod common;

use common::command::{terrace, text};

/// Commands that read a trace, which is `TRACE` here.
const COMMANDS: [&[&str]; 7] = [
    &["trace", "info", "TRACE", "--json=-"],
    &["trace", "convert", "TRACE", "out.csv"],
    &["sim", "pages", "TRACE", "--dram", "50%", "--json=-"],
    &["sim", "curve", "TRACE", "--json=-"],
    &["sim", "llc", "TRACE", "--json=-"],
    &[
        "sim",
        "mix",
        "TRACE",
        "--time=2ms",
        "--warmup=1ms",
        "--json=-",
    ],
    &["sweep", "TRACE", "--dram", "50%", "-o", "out"],
];

fn arguments<'a>(command: &[&'a str], trace: &'a str) -> Vec<&'a str> {
    let named = command.iter().map(|word| match *word {
        "TRACE" => trace,
        word => word,
    });
    named.collect()
}

#[test]
fn a_user_or_a_query_is_refused_and_not_shown() {
    for uri in [
        "s3://user:SECRET@traces/a.parquet",
        "https://host/a.parquet?X-Amz-Signature=SECRET",
        "az://SECRET@/a.parquet",
    ] {
        for command in COMMANDS {
            let output = terrace(&arguments(command, uri));
            let printed = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {printed}");
            assert!(!printed.contains("SECRET"), "{command:?}: {printed}");
            assert_eq!(printed.lines().count(), 1, "{command:?}: {printed}");
        }
    }
}

#[cfg(not(feature = "object-store"))]
#[test]
fn a_build_without_object_storage_says_so() {
    for command in COMMANDS {
        let output = terrace(&arguments(command, "s3://traces/a.parquet"));
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        let begin = "terrace: the trace `s3://traces/a.parquet` lies in object storage, which this \
                     build does not use; ";
        assert!(printed.starts_with(begin), "{command:?}: {printed}");
    }
}

#[cfg(feature = "object-store")]
#[path = "../../trace/tests/common/server.rs"]
mod server;

#[cfg(feature = "object-store")]
mod with_stores {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::path::PathBuf;
    use std::process::{Child, Command, Output, Stdio};

    use tempfile::TempDir;

    use super::server::{Asked, Server};
    use super::{COMMANDS, arguments, text};
    use crate::common::command::file;

    /// A trace of each format and packing, in the directory of the test.
    const FORMATS: [&str; 5] = [
        "a.parquet",
        "a.champsim.xz",
        "a.csv",
        "a.csv.zst",
        "a.csv.gz",
    ];

    /// A directory with traces, and servers that have them as well.
    struct Bench {
        directory: TempDir,
        server: Server,
    }

    impl Bench {
        fn new() -> Self {
            let bench = Self {
                directory: tempfile::tempdir().unwrap(),
                server: Server::new(),
            };
            let kernel = [
                "trace",
                "gen",
                "zipf",
                "--accesses",
                "30k",
                "--footprint",
                "16M",
            ];
            bench.ends_well(bench.command(&kernel).args(["-o", "a.parquet"]));
            for name in &FORMATS[1..] {
                bench.ends_well(&mut bench.command(&["trace", "convert", "a.parquet", name]));
            }
            for (tag, name) in FORMATS.iter().enumerate() {
                let bytes = fs::read(bench.path(name)).unwrap();
                bench.server.put(name, &bytes, &format!("\"{tag}\""));
            }
            bench
        }

        fn path(&self, name: &str) -> PathBuf {
            file(&self.directory, name).into()
        }

        fn command(&self, arguments: &[&str]) -> Command {
            let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
            command
                .args(arguments)
                .current_dir(self.directory.path())
                .env("TERRACE_CACHE", self.path("cache"))
                .env("AWS_ALLOW_HTTP", "true");
            command
        }

        fn ends_well(&self, command: &mut Command) -> Output {
            let output = command.output().expect("terrace runs");
            assert!(
                output.status.success(),
                "{command:?}: {}",
                text(&output.stderr)
            );
            output
        }

        fn fails(&self, command: &mut Command) -> String {
            let output = command.output().expect("terrace runs");
            let printed = text(&output.stderr);
            assert!(!output.status.success(), "{command:?}");
            assert_eq!(printed.lines().count(), 1, "{command:?}: {printed}");
            printed
        }

        /// What is asked of the server, and how many bytes of objects.
        fn fetched(&self) -> u64 {
            let asked = self.server.asked();
            let bytes = asked.iter().map(|asked| match asked {
                Asked::Head => 0,
                Asked::Bytes(range) => range.end - range.start,
                Asked::Whole => panic!("all is asked for at once"),
            });
            bytes.sum()
        }

        /// Has every command read each of the URIs, with the same results as of the file.
        fn compare(&self, uri: impl Fn(&str) -> String, set: &dyn Fn(&mut Command)) {
            for (command, name) in COMMANDS.iter().zip(FORMATS.iter().cycle()) {
                let results = |trace: &str| {
                    for left in ["out.csv", "out.parquet"] {
                        let _ = fs::remove_file(self.path(left));
                    }
                    let mut command = self.command(&arguments(command, trace));
                    set(&mut command);
                    let output = self.ends_well(&mut command);
                    let written = fs::read(self.path("out.csv")).unwrap_or_default();
                    (text(&output.stdout) + &text(&written)).replace(trace, "TRACE")
                };
                assert_eq!(results(&uri(name)), results(name), "{command:?} of {name}");
            }
        }
    }

    #[test]
    fn every_command_reads_as_from_a_file() {
        let bench = Bench::new();
        bench.compare(|name| bench.server.uri(name), &|_| {});
    }

    #[test]
    fn every_format_is_fetched_once() {
        let bench = Bench::new();
        for name in FORMATS {
            let length = fs::metadata(bench.path(name)).unwrap().len();
            let uri = bench.server.uri(name);
            let mut info = bench.command(&["trace", "info", &uri, "--json=-"]);
            let first = bench.ends_well(&mut info).stdout;
            let tail = length.min(64 << 10);
            match name {
                "a.parquet" => assert!(bench.fetched() <= length),
                _ => assert_eq!(bench.fetched(), tail + length, "{name}"),
            }
            assert_eq!(bench.ends_well(&mut info).stdout, first, "{name}");
            match name {
                "a.parquet" => assert!(bench.fetched() <= length),
                _ => assert_eq!(bench.fetched(), tail, "{name}"),
            }
            let mut info = bench.command(&["trace", "info", name, "--json=-"]);
            let of_file = text(&bench.ends_well(&mut info).stdout);
            assert_eq!(text(&first).replace(&uri, name), of_file);
        }
    }

    #[test]
    fn an_object_that_changed_is_fetched_again() {
        let bench = Bench::new();
        let uri = bench.server.uri("a.csv");
        let accesses = || {
            let mut info = bench.command(&["trace", "info", &uri, "--json=-"]);
            let found = serde_json::from_slice(&bench.ends_well(&mut info).stdout);
            let found: serde_json::Value = found.unwrap();
            found["accesses"].as_u64().unwrap()
        };
        bench
            .server
            .put("a.csv", b"address,write\n4096,0\n", "\"x\"");
        assert_eq!(accesses(), 1);
        bench
            .server
            .put("a.csv", b"address,write\n1\n2\n3\n\n", "\"y\"");
        let mut info = bench.command(&["trace", "info", &uri]);
        assert!(bench.fails(&mut info).contains(&uri));
        bench
            .server
            .put("a.csv", b"address\n1\n2\n3\n4\n5\n6\n\n", "\"z\"");
        assert!(accesses() > 1);
    }

    #[test]
    fn how_a_trace_is_read_is_heeded() {
        let bench = Bench::new();
        for (name, options) in [
            ("a.parquet", ["--format", "native"]),
            ("a.csv", ["--format", "csv"]),
            ("a.champsim.xz", ["--format", "champsim"]),
            ("a.parquet", ["--keys", "--quiet"]),
        ] {
            let printed = |trace: &str| {
                let mut info = bench.command(&["trace", "info", trace, "--json=-"]);
                let output = bench.ends_well(info.args(options));
                text(&output.stdout).replace(trace, name)
            };
            assert_eq!(
                printed(&bench.server.uri(name)),
                printed(name),
                "{name} {options:?}"
            );
        }
        for (name, options) in [
            ("a.parquet", ["--format", "champsim"]),
            ("a.parquet", ["--columns", "address"]),
            ("a.csv", ["--format", "native"]),
        ] {
            let error = |trace: &str| {
                let mut info = bench.command(&["trace", "info", trace]);
                bench.fails(info.args(options)).replace(trace, name)
            };
            assert_eq!(
                error(&bench.server.uri(name)),
                error(name),
                "{name} {options:?}"
            );
        }
    }

    #[test]
    fn a_damaged_object_is_told_as_a_damaged_file() {
        let bench = Bench::new();
        let whole = fs::read(bench.path("a.parquet")).unwrap();
        for length in [0, 3, 4, 11, whole.len() / 2, whole.len() - 1] {
            let bytes = &whole[..length];
            fs::write(bench.path("a.parquet"), bytes).unwrap();
            bench
                .server
                .put("a.parquet", bytes, &format!("\"{length}\""));
            let error = |trace: &str| {
                let mut info = bench.command(&["trace", "info", trace]);
                bench.fails(&mut info).replace(trace, "TRACE")
            };
            assert_eq!(
                error(&bench.server.uri("a.parquet")),
                error("a.parquet"),
                "{length}"
            );
        }
    }

    #[test]
    fn a_cache_that_cannot_be_is_one_sentence() {
        let bench = Bench::new();
        let uri = bench.server.uri("a.csv");
        let error = |name: &str, value: &str| {
            let mut info = bench.command(&["trace", "info", &uri]);
            bench.fails(info.env(name, value))
        };
        let small = error("TERRACE_CACHE_SIZE", "1000");
        assert!(small.contains("set TERRACE_CACHE_SIZE to more"), "{small}");
        let none = error("TERRACE_CACHE_SIZE", "much");
        assert!(
            none.contains("TERRACE_CACHE_SIZE is wrong: `much` is not a size"),
            "{none}"
        );
        let file = error("TERRACE_CACHE", "a.csv");
        assert!(
            file.contains("cannot keep the trace `http://127.0.0.1"),
            "{file}"
        );
    }

    #[test]
    fn http_is_read_only_where_it_is_allowed() {
        let bench = Bench::new();
        let uri = bench.server.uri("a.parquet");
        let mut info = bench.command(&["trace", "info", &uri]);
        let error = bench.fails(info.env_remove("AWS_ALLOW_HTTP"));
        assert!(
            error.ends_with(": its store is asked by http, which AWS_ALLOW_HTTP=true allows\n")
        );
        assert_eq!(bench.server.asked(), []);
    }

    /// No request is made.
    #[test]
    fn settings_that_are_wrong_are_one_sentence() {
        let bench = Bench::new();
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "no address"),
            ("AWS_ENDPOINT_URL", "http://"),
            ("AWS_ENDPOINT_URL", "http://user:SECRET@127.0.0.1:1:1"),
            ("AWS_SKIP_SIGNATURE", "perhaps"),
            ("AWS_ALLOW_HTTP", "perhaps"),
        ] {
            let mut info = bench.command(&["trace", "info", "s3://traces/a.parquet"]);
            let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
            let error = bench.fails(info.envs(keys).env(name, value));
            let begin = "terrace: cannot read the trace `s3://traces/a.parquet`: ";
            assert!(
                error.starts_with(begin) && !error.contains("SECRET"),
                "{name} {value}: {error}"
            );
        }
    }

    /// S3, as moto plays it on this machine.
    struct S3 {
        process: Child,
        endpoint: String,
    }

    impl S3 {
        /// Begins it, with the traces of a directory in the bucket `traces`.
        fn of(bench: &Bench) -> Self {
            let python = std::env::var("TERRACE_MOTO").unwrap_or("python3".into());
            let mut process = Command::new(&python)
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/s3.py"))
                .args(FORMATS)
                .current_dir(bench.directory.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("TERRACE_MOTO is a Python with moto");
            let mut endpoint = String::new();
            let mut printed = BufReader::new(process.stdout.take().unwrap());
            printed.read_line(&mut endpoint).unwrap();
            assert!(
                !endpoint.is_empty(),
                "{python} needs `pip install moto[server]`"
            );
            Self {
                process,
                endpoint: endpoint.trim().to_owned(),
            }
        }

        fn set(&self, command: &mut Command) {
            command
                .env("AWS_ENDPOINT_URL", &self.endpoint)
                .env("AWS_ACCESS_KEY_ID", "AKIASECRET")
                .env("AWS_SECRET_ACCESS_KEY", "SECRET")
                .env("AWS_SESSION_TOKEN", "SECRET")
                // What other programs mean by these is no setting of a store.
                .env("ENDPOINT", "http://127.0.0.1:1")
                .env("TIMEOUT", "soon");
        }
    }

    impl Drop for S3 {
        fn drop(&mut self) {
            // Its standard input ends.
            drop(self.process.stdin.take());
            let _ = self.process.wait();
        }
    }

    #[test]
    #[ignore = "needs moto; run by make test-object-store"]
    fn s3_is_read_as_files_are() {
        let bench = Bench::new();
        let s3 = S3::of(&bench);
        bench.compare(|name| format!("s3://traces/{name}"), &|command| {
            s3.set(command)
        });
        let error = |uri: &str| {
            let mut info = bench.command(&["trace", "info", uri]);
            s3.set(&mut info);
            bench.fails(&mut info)
        };
        for uri in ["s3://traces/none.parquet", "s3://none/a.parquet"] {
            let expected =
                format!("terrace: cannot read the trace `{uri}`: the store has no such object\n");
            assert_eq!(error(uri), expected);
        }
    }

    #[test]
    #[ignore = "needs moto; run by make test-object-store"]
    fn s3_credentials_are_in_no_result() {
        let bench = Bench::new();
        let s3 = S3::of(&bench);
        let mut info = bench.command(&["sim", "pages", "s3://traces/a.parquet", "--dram", "50%"]);
        let forms = ["--json", "a.json", "--html", "a.html", "--csv", "out.csv"];
        s3.set(info.args(forms));
        let output = bench.ends_well(&mut info);
        let mut all = text(&output.stdout) + &text(&output.stderr);
        for name in ["a.json", "a.html", "out.csv"] {
            all += &fs::read_to_string(bench.path(name)).unwrap();
        }
        assert!(all.contains("s3://traces/a.parquet"));
        assert!(!all.contains("SECRET") && !all.contains(&s3.endpoint));
    }
}
