use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::server::Limits;
use super::*;

#[derive(Default)]
struct Fake {
    reloads: AtomicU64,
}

impl Backend for Fake {
    fn status(&self) -> Result<Status, String> {
        Ok(Status {
            daemon: "1".into(),
            ..Status::default()
        })
    }

    fn events(&self, after: u64, wait: Duration) -> Events {
        Events {
            events: Vec::new(),
            next: after,
            lost: wait.as_secs(),
        }
    }

    fn heat(&self, target: &str) -> Result<Heat, String> {
        match target {
            "a" => Ok(Heat {
                groups: vec![GroupHeat::default()],
                busy: 1,
            }),
            _ => Err("there is no target".into()),
        }
    }

    fn reload(&self) -> Result<Reloaded, String> {
        match self.reloads.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(Reloaded::default()),
            _ => Err("a.toml, line 1: wrong".into()),
        }
    }
}

/// A server with short limits at a socket in a directory of its own.
fn server(limit: Duration) -> (tempfile::TempDir, std::path::PathBuf, Server) {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("control");
    let limits = Limits {
        idle: limit,
        line: limit,
    };
    let server = Server::within(&socket, None, Arc::new(Fake::default()), limits).unwrap();
    (directory, socket, server)
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn requests_are_answered_in_turn() {
    let (_directory, socket, server) = server(LONG);
    let mut client = Client::connect(&socket).unwrap();
    assert_eq!(client.status().unwrap().daemon, "1");
    let events = client.events(7, 1000).unwrap();
    assert_eq!((events.next, events.lost), (7, 30), "the wait is bounded");
    let heat = client.heat("a").unwrap();
    assert_eq!((heat.groups.len(), heat.busy), (1, 1));
    assert!(client.heat("b").is_err());
    assert_eq!(client.reload().unwrap(), Reloaded::default());
    let error = client.reload().unwrap_err().to_string();
    assert_eq!(error, "a.toml, line 1: wrong");
    assert_eq!(
        client.status().unwrap().daemon,
        "1",
        "goes on after an error"
    );
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(server);
    let error = Client::connect(&socket).err().unwrap().to_string();
    assert!(error.starts_with("no terraced answers at"), "{error}");
}

#[test]
fn only_root_changes_something() {
    let fake = Fake::default();
    for (is_root, wanted) in [(true, 1), (false, 1)] {
        let answer = server::perform(&fake, is_root, &Request::Reload);
        assert_eq!(fake.reloads.load(Ordering::SeqCst), wanted);
        assert_eq!(matches!(answer, Answer::Reloaded(_)), is_root);
    }
}

#[test]
fn a_version_that_is_not_spoken_is_named() {
    let error = parse(br#"{"version":3,"request":"levitate"}"#).unwrap_err();
    assert!(
        error.contains("speaks version 2") && error.contains("in version 3"),
        "{error}"
    );
    let error = parse(br#"{"version":2,"request":"levitate"}"#).unwrap_err();
    assert!(error.starts_with("there is no such request"), "{error}");
    let known = parse(br#"{"version":2,"request":"status","more":[]}"#);
    assert_eq!(known, Ok(Request::Status), "fields may be added");
}

fn closed_within(stream: &mut UnixStream, most: Duration) -> bool {
    let begin = Instant::now();
    stream.set_read_timeout(Some(most)).unwrap();
    let end = stream.read_to_end(&mut Vec::new());
    // One that is left before all was read that it sent is told so.
    let is_end = end.map_or_else(|e| e.kind() == io::ErrorKind::ConnectionReset, |_| true);
    is_end && begin.elapsed() < most
}

#[test]
fn silent_and_slow_peers_are_left() {
    let (_directory, socket, _server) = server(Duration::from_millis(200));
    let mut silent = UnixStream::connect(&socket).unwrap();
    assert!(closed_within(&mut silent, LONG));
    // Each byte comes in time, the line does not.
    let mut slow = UnixStream::connect(&socket).unwrap();
    let mut dripped = 0;
    while slow.write_all(b"x").is_ok() && dripped < 200 {
        std::thread::sleep(Duration::from_millis(20));
        dripped += 1;
    }
    assert!(dripped < 200, "a slow line was waited for");
    // Who reads no answer is left.
    let mut deaf = UnixStream::connect(&socket).unwrap();
    let mut asked = 0;
    deaf.set_write_timeout(Some(LONG)).unwrap();
    let begin = Instant::now();
    while deaf
        .write_all(b"{\"version\":2,\"request\":\"status\"}\n")
        .is_ok()
        && asked < 1_000_000
    {
        asked += 1;
    }
    assert!(asked < 1_000_000 && begin.elapsed() < LONG);
    // Others are answered meanwhile.
    assert!(Client::connect(&socket).unwrap().status().is_ok());
}

#[test]
fn a_line_without_an_end_is_refused() {
    let (_directory, socket, _server) = server(LONG);
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&vec![b'x'; LONGEST_REQUEST]).unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("4096 bytes at most"), "{answer}");
    assert!(closed_within(&mut stream, LONG));
}

/// Opens connections until there is no place, each of which was answered.
fn fill(socket: &std::path::Path) -> Vec<Client> {
    let mut open = Vec::new();
    while open.len() < 100 {
        let mut client = Client::connect(socket).unwrap();
        match client.status() {
            Ok(_) => open.push(client),
            Err(_) => break,
        }
    }
    open
}

#[test]
fn connections_are_few_and_are_given_back() {
    let (_directory, socket, _server) = server(Duration::from_secs(1));
    let all_are_free = || {
        let begin = Instant::now();
        while fill(&socket).len() != 32 {
            assert!(begin.elapsed() < LONG, "places are not given back");
        }
    };
    let status = b"{\"version\":2,\"request\":\"status\"}\n";
    // However a peer ends, and whether it leaves or is left: silent, within a request, with an
    // answer or without reading it, for a line that is too long, with nonsense.
    let ways: [&[u8]; 5] = [
        b"",
        b"{\"vers",
        status,
        &[b'x'; LONGEST_REQUEST],
        b"nonsense\n",
    ];
    for sent in ways {
        for leaves in [true, false] {
            all_are_free();
            let mut peers: Vec<UnixStream> = (0..32)
                .map(|_| UnixStream::connect(&socket).unwrap())
                .collect();
            for peer in &mut peers {
                let _ = peer.write_all(sent);
            }
            for mut peer in peers.into_iter().filter(|_| !leaves) {
                assert!(closed_within(&mut peer, LONG));
            }
        }
    }
    all_are_free();
    let _open = fill(&socket);
    let error = Client::connect(&socket).unwrap().status().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("connections are open already"), "{error}");
}

fn requests() -> impl Strategy<Value = Request> {
    prop_oneof![
        Just(Request::Status),
        Just(Request::Reload),
        "[a-z]{0,300}".prop_map(|target| Request::Heat { target }),
        (any::<u64>(), any::<u32>()).prop_map(|(after, wait)| Request::Events { after, wait }),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let kinds = prop_oneof![Just(Kind::Found), Just(Kind::GaveBack), Just(Kind::Daemon)];
    let of = |(number, target, kind, bytes, text)| Event {
        number,
        time_ms: number,
        target,
        kind,
        bytes,
        text,
    };
    (
        any::<u64>(),
        any::<Option<String>>(),
        kinds,
        any::<u64>(),
        any::<String>(),
    )
        .prop_map(of)
}

proptest! {
    #[test]
    fn any_bytes_are_a_request_or_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(why) = parse(&bytes) {
            prop_assert!(why.contains(';') && !why.contains(char::is_control), "{}", why);
        }
    }

    #[test]
    fn damaged_requests_are_requests_or_sentences(
        request in requests(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut line = serde_json::to_vec(&Asked { version: VERSION, request }).unwrap();
        let at = at.index(line.len());
        line[at] = byte;
        if let Err(why) = parse(&line) {
            prop_assert!(why.contains(';'), "{}", why);
        }
    }

    #[test]
    fn what_is_asked_arrives(request in requests()) {
        let line = serde_json::to_vec(&Asked { version: VERSION, request: request.clone() }).unwrap();
        prop_assert!(line.len() < LONGEST_REQUEST);
        prop_assert_eq!(parse(&line), Ok(request));
    }

    #[test]
    fn what_is_answered_arrives_on_one_line(events in prop::collection::vec(events(), 0..4)) {
        let answer = Answer::Events(Events { events, next: 1, lost: 2 });
        let line = line(answer.clone());
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let read: Answered = serde_json::from_slice(&line).unwrap();
        prop_assert_eq!(read.answer, answer);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_bytes_stop_the_server(bytes in prop::collection::vec(any::<u8>(), 0..6000)) {
        let (_directory, socket, _server) = server(LONG);
        let mut stream = UnixStream::connect(&socket).unwrap();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answers = String::new();
        let _ = stream.read_to_string(&mut answers);
        for answer in answers.lines() {
            prop_assert!(serde_json::from_str::<Answered>(answer).is_ok(), "{}", answer);
        }
        prop_assert!(Client::connect(&socket).unwrap().status().is_ok());
    }
}
