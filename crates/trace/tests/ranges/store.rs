//! The native format in object storage: it is read as from a file, no more is fetched than the end
//! and what is needed, and whatever a store does is told. A store here is a server of this test.
//! `make test-object-store` allows http.

#[path = "../common/server.rs"]
mod server;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use server::{Answer, Asked, SECRET, Server};
use terrace_base::Result;
use terrace_trace::formats::native;
use terrace_trace::objects::Extent;
use terrace_trace::{Access, Columns, Reading, Source, open, open_as, open_in};

use crate::{Read, columns, from_file, needed, sorted, write_groups};

/// Bytes at the end that are fetched at once.
const TAIL: u64 = 64 << 10;
const NAME: &str = "traces/a.parquet";
const TAG: &str = "\"1\"";

/// Accesses that hardly pack, of one thread.
fn hard(count: u64, seed: u64) -> Vec<Access> {
    let mut state = seed | 1;
    let mut drawn = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let access = |index| Access {
        instruction: index * 9,
        address: drawn(),
        ip: drawn(),
        size: drawn() as u32 % 4096,
        write: drawn() % 2 == 0,
        ..Access::default()
    };
    (0..count).map(access).collect()
}

/// A trace in a file and in a store.
struct Pair {
    path: PathBuf,
    bytes: Vec<u8>,
    server: Server,
    _directory: tempfile::TempDir,
}

impl Pair {
    /// A trace with row groups of `piece` rows.
    fn new(accesses: &[Access], piece: usize) -> Self {
        let allowed = std::env::var("AWS_ALLOW_HTTP");
        assert_eq!(
            allowed.as_deref(),
            Ok("true"),
            "make test-object-store sets it"
        );
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        write_groups(&path, accesses, piece);
        let bytes = fs::read(&path).unwrap();
        let server = Server::new();
        server.put(NAME, &bytes, TAG);
        Self {
            path,
            bytes,
            server,
            _directory: directory,
        }
    }

    fn uri(&self) -> String {
        self.server.uri(NAME)
    }

    fn open(&self, columns: Columns) -> Result<Box<dyn Source>> {
        open(Path::new(&self.uri()), columns)
    }

    fn tail(&self) -> u64 {
        (self.bytes.len() as u64).saturating_sub(TAIL)
    }

    /// What opening asks for.
    fn beginning(&self) -> [Asked; 2] {
        [
            Asked::Head,
            Asked::Bytes(self.tail()..self.bytes.len() as u64),
        ]
    }

    /// The ranges that are asked for then.
    fn rest(&self, columns: Columns) -> Vec<Range<u64>> {
        let needed = needed(&self.path, columns).concat();
        let before = needed
            .into_iter()
            .map(|at| at.start..at.end.min(self.tail()));
        before.filter(|at| !at.is_empty()).collect()
    }

    /// The error of opening or reading.
    fn error(&self) -> String {
        let error = Read::of(self.open(Columns::ALL)).error.unwrap();
        assert!(
            error.starts_with(&format!("cannot read the trace `{}`", self.uri())),
            "{error}"
        );
        assert!(!error.contains(SECRET) && !error.contains('\n'), "{error}");
        error
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn from_a_store_is_as_from_a_file(
        count in 0u64..12_000, groups in 1..5_usize, seed: u64, columns in columns(),
    ) {
        let piece = (count as usize / groups).max(1);
        let pair = Pair::new(&hard(count, seed), piece);
        let read = Read::of(pair.open(columns));
        prop_assert_eq!(&read.error, &None);
        prop_assert!(read == from_file(&pair.path, columns));
        let asked = pair.server.asked();
        let (beginning, rest) = asked.split_at(2);
        prop_assert_eq!(beginning, pair.beginning());
        let ranges = rest.iter().map(|asked| match asked {
            Asked::Bytes(range) => range.clone(),
            other => panic!("{other:?} is no range"),
        });
        prop_assert_eq!(sorted(ranges.collect()), pair.rest(columns));
    }
}

#[test]
fn how_it_is_read_is_heeded() {
    let pair = Pair::new(&hard(100, 1), 100);
    let uri = pair.uri();
    let path = Path::new(&uri);
    let of_file = |reading: &Reading| Read::of(open_in(&pair.path, reading, Columns::ALL));
    let of_store = |reading: &Reading| Read::of(open_in(path, reading, Columns::ALL));
    let native = Read::of(open_as(path, native::FORMAT, Columns::ALL));
    assert_eq!(native, from_file(&pair.path, Columns::ALL));
    let objects = Reading {
        objects: Some(Extent::Unit),
        ..Reading::default()
    };
    assert_eq!(of_store(&objects), of_file(&objects));
    assert_ne!(of_store(&objects), native);
}

#[test]
fn a_failure_of_a_moment_is_tried_again() {
    let pair = Pair::new(&hard(12_000, 3), 5000);
    let fails = [
        vec![Answer::Status("503 Service Unavailable")],
        vec![Answer::Right, Answer::Status("500 Internal Server Error")],
        vec![Answer::Right, Answer::Cut(0)],
        vec![Answer::Right, Answer::Cut(1000)],
        vec![Answer::Right, Answer::Right, Answer::Cut(5000)],
        vec![
            Answer::Right,
            Answer::Right,
            Answer::Status("429 Too Many Requests"),
        ],
    ];
    for answers in fails {
        pair.server.will(answers.clone());
        let read = Read::of(pair.open(Columns::ALL));
        assert!(
            read == from_file(&pair.path, Columns::ALL),
            "{answers:?}: {:?}",
            read.error
        );
    }
}

#[test]
fn what_a_store_refuses_is_one_sentence() {
    let pair = Pair::new(&hard(12_000, 3), 5000);
    let told = [
        (
            "403 Forbidden",
            "the store refuses access with the credentials of the environment",
        ),
        (
            "401 Unauthorized",
            "the store refuses access with the credentials of the environment",
        ),
        ("404 Not Found", "the store has no such object"),
        ("400 Bad Request", "the store answers 400 Bad Request"),
    ];
    for (status, reason) in told {
        for before in 0..4 {
            let mut answers = vec![Answer::Right; before];
            answers.push(Answer::Status(status));
            pair.server.will(answers);
            let error = pair.error();
            assert!(
                error.ends_with(&format!(": {reason}")),
                "{before}, {status}: {error}"
            );
        }
    }
    pair.server.will([Answer::Right, Answer::Whole]);
    assert!(pair.error().ends_with(": its server sends no parts of it"));
}

#[test]
fn an_object_that_is_not_there_is_one_sentence() {
    let server = Server::new();
    let uri = server.uri("none.parquet");
    let error = open(Path::new(&uri), Columns::ALL).err().unwrap();
    let expected = format!("cannot read the trace `{uri}`: the store has no such object");
    assert_eq!(error.to_string(), expected);
}

/// The columns of one object are not those of another.
#[test]
fn an_object_that_is_replaced_is_told() {
    let pair = Pair::new(&hard(12_000, 3), 5000);
    let source = pair.open(Columns::ALL);
    pair.server.put(NAME, &pair.bytes, "\"2\"");
    let error = Read::of(source).error.unwrap();
    let reason = ": it was replaced by another object while it was read";
    assert!(error.ends_with(reason), "{error}");
    // It is read from its beginning then.
    let read = Read::of(pair.open(Columns::ALL));
    assert!(read == from_file(&pair.path, Columns::ALL));

    let source = pair.open(Columns::ALL);
    pair.server
        .put(NAME, &pair.bytes[..pair.bytes.len() - 1], "\"2\"");
    let error = Read::of(source).error.unwrap();
    assert!(error.ends_with(reason), "{error}");
}
