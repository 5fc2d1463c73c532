//! `terraced-web` in front of a daemon that says what these tests want.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use terrace_daemon::protocol::{
    Backend, Budget, Counts, Event, Events, GroupHeat, Heat, Instance, Kind, Reloaded, Row, Server,
    State, Status, Target, Tier,
};

mod prometheus;
mod socket;

/// A name that is markup, a label of metrics, and a line of its own.
const HOSTILE: &str = "<img src=x onerror=\"document.title='taken'\">\n{evil=\"1\"} 7\\";

/// A daemon with two targets, of which one has a hostile name. Time stands still, or goes on by ten
/// seconds with each question, while the other holds 1, 2 or 3 GiB in turn and stands still for 3,
/// 2 and 1 % of that time.
#[derive(Default)]
struct Daemon {
    goes_on: bool,
    asked: AtomicU64,
}

impl Backend for Daemon {
    fn status(&self) -> Result<Status, String> {
        let asked = self
            .asked
            .fetch_add(u64::from(self.goes_on), Ordering::SeqCst);
        let resident = if self.goes_on { asked % 3 + 1 } else { 3 };
        let lost = |number: u64| 0.3 - 0.1 * (number % 3) as f64;
        let stalled_s = 1.5 + (0..asked).map(lost).sum::<f64>();
        let running = Target {
            name: "postgres".to_owned(),
            means: "the unit postgresql.service".to_owned(),
            goal: "slowdown 2 %".to_owned(),
            policy: "slowdown:goal=0.02".to_owned(),
            limit: Some(0.02),
            state: State::Running,
            share: Some(-5),
            counts: Counts {
                stalled_s,
                watched_s: 100.0 + asked as f64 * 10.0,
                looks: asked * 20,
                written: 4096,
                reclaims: 7,
                major_faults: 11,
                oom_kills: 2,
                ..Counts::default()
            },
            instances: vec![Instance {
                group: "/system.slice/postgresql.service".to_owned(),
                resident: resident << 30,
                swapped: 1 << 30,
                stalled: 0.031,
                doing: "gave back 128 MiB: stalls 3.1 % over 10 s, limit 2 %".to_owned(),
                ..Instance::default()
            }],
            ..Target::default()
        };
        let waiting = Target {
            name: HOSTILE.to_owned(),
            means: HOSTILE.to_owned(),
            trouble: Some(HOSTILE.to_owned()),
            ..Target::default()
        };
        Ok(Status {
            daemon: "0.1.0".to_owned(),
            started_ms: 1_700_000_000_000,
            time_ms: 1_700_000_100_000 + asked * 10_000,
            oom_kills: 3,
            tier: Tier {
                memory: "zram".to_owned(),
                size: 8 << 30,
                used: 1 << 30,
                budget: Some(Budget {
                    a_day: 100 << 30,
                    life_days: Some(1000.0),
                    ..Budget::default()
                }),
            },
            targets: vec![running, waiting],
        })
    }

    fn events(&self, after: u64, _: Duration) -> Events {
        let event = |number| Event {
            number,
            time_ms: 1_700_000_090_000,
            target: Some("postgres".to_owned()),
            kind: Kind::GaveBack,
            bytes: 128 << 20,
            text: HOSTILE.to_owned(),
        };
        Events {
            events: (after.max(4) + 1..=207).map(event).collect(),
            next: 207,
            lost: 4_u64.saturating_sub(after),
        }
    }

    fn heat(&self, target: &str) -> Result<Heat, String> {
        match target {
            "postgres" => Ok(Heat {
                groups: vec![GroupHeat {
                    row_bytes: 2 << 20,
                    rows: vec![Row {
                        process: 5,
                        touched: 7,
                        ..Row::default()
                    }],
                    ..GroupHeat::default()
                }],
                busy: 0,
            }),
            other => Err(format!("there is no target {other}")),
        }
    }

    fn reload(&self) -> Result<Reloaded, String> {
        panic!("nothing can be changed over HTTP")
    }
}

/// The process, and the directory with the socket.
struct Web {
    child: Child,
    address: SocketAddr,
    directory: TempDir,
}

impl Web {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_terraced-web"))
            .args(["--listen", "127.0.0.1:0", "--socket"])
            .arg(socket(directory.path()))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut said).unwrap();
        let address = said.trim().trim_start_matches("terraced-web: http://");
        let address = address.trim_end_matches('/').parse();
        Self {
            address: address.unwrap_or_else(|_| panic!("{said}")),
            child,
            directory,
        }
    }

    fn daemon(&self) -> Server {
        self.serve(Daemon::default())
    }

    fn serve(&self, daemon: Daemon) -> Server {
        Server::start(&socket(self.directory.path()), None, Arc::new(daemon)).unwrap()
    }

    /// Asks, and returns all that comes back.
    fn ask(&self, method: &str, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> String {
        self.ask("GET", path, "127.0.0.1")
    }

    /// Waits until somebody is connected.
    fn await_connection(&self) {
        let begin = Instant::now();
        let here = format!(":{:04X} ", self.address.port());
        loop {
            let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
            let mut lines = sockets.lines();
            // Field 2 is the own address, field 4 the state: 01 is established.
            if lines.any(|line| line.contains(&here) && line.contains(" 01 ")) {
                return;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the browser does not connect"
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the metrics have a line.
    fn await_metric(&self, line: &str) -> String {
        let begin = Instant::now();
        loop {
            let metrics = self.get("/metrics");
            if metrics.lines().any(|one| one == line) {
                return metrics;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{metrics}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("control")
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn nothing_can_be_changed() {
    let web = Web::start();
    let _daemon = web.daemon();
    web.await_metric("terrace_up 1.0");
    for path in [
        "/",
        "/metrics",
        "/status",
        "/history",
        "/curves",
        "/heat/postgres",
        "/page.js",
        "/style.css",
        "/changes",
    ] {
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let answer = web.ask(method, path, "127.0.0.1");
            assert!(
                answer.starts_with("HTTP/1.1 405"),
                "{method} {path}: {answer}"
            );
        }
    }
    assert!(web.get("/reload").starts_with("HTTP/1.1 404"));
}

#[test]
fn a_page_of_another_name_reads_nothing() {
    let web = Web::start();
    for path in [
        "/", "/metrics", "/status", "/history", "/curves", "/changes",
    ] {
        let answer = web.ask("GET", path, "evil.example:9847");
        assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
        assert!(!body(&answer).contains("terrace"), "{answer}");
    }
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let web = Web::start();
    for path in ["/", "/page.js", "/style.css"] {
        let answer = web.get(path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("content-security-policy: default-src 'none'"));
        let own = body(&answer).replace("http://www.w3.org/2000/svg", "");
        assert!(
            !own.contains("http://") && !own.contains("https://"),
            "{path}"
        );
        // What others named is text.
        assert!(!own.contains("innerHTML"), "{path}");
    }
}

#[test]
fn heat_is_asked_of_the_daemon() {
    let web = Web::start();
    assert!(web.get("/heat/postgres").starts_with("HTTP/1.1 503"));
    let _daemon = web.daemon();
    for _ in 0..2 {
        let answer = web.get("/heat/postgres");
        let heat: Heat = serde_json::from_str(body(&answer)).unwrap();
        assert_eq!(heat.groups[0].rows[0].touched, 7);
        // A name is text, also one that would be another address.
        let other = web.get("/heat/%2Fstatus%3C");
        assert!(other.starts_with("HTTP/1.1 503"), "{other}");
        assert_eq!(body(&other), "there is no target /status<\n");
        assert!(other.contains("content-type: text/plain"), "{other}");
    }
}

#[test]
fn arbitrary_bytes_end_nothing() {
    let web = Web::start();
    for bytes in [
        &b"\0\xff\xfe"[..],
        b"GET",
        b"GET / HTTP/9\r\n\r\n",
        &[b'A'; 100_000],
    ] {
        let mut stream = TcpStream::connect(web.address).unwrap();
        let _ = stream.write_all(bytes);
    }
    assert!(web.get("/").starts_with("HTTP/1.1 200"));
}

/// Browsers that print a page as it is after its script ran.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

#[test]
#[ignore = "needs Chromium; `make test-html` installs it and runs this"]
fn a_browser_draws_hostile_names_as_text() {
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let browser = BROWSERS
        .iter()
        .find(works)
        .expect("no browser found; install chromium");
    let mut web = Web::start();
    let _daemon = web.serve(Daemon {
        goes_on: true,
        ..Daemon::default()
    });
    web.await_metric("terrace_up 1.0");
    let profile = tempfile::tempdir().unwrap();
    let drawing = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("http://{}/", web.address))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The browser's time stands still while the stream is open; it prints what it shows once that
    // has ended.
    web.await_connection();
    thread::sleep(Duration::from_secs(8));
    web.child.kill().unwrap();
    let output = drawing.wait_with_output().unwrap();
    let logged = String::from_utf8_lossy(&output.stderr);
    let wrong = |line: &&str| line.contains(":CONSOLE") && !line.contains("ERR_CONNECTION");
    assert_eq!(logged.lines().find(wrong), None);
    let drawn = String::from_utf8_lossy(&output.stdout);
    assert!(drawn.contains("data-drawn=\"2\""), "{drawn}");
    assert!(
        drawn.contains("<td class=\"bad\" data-label=\"stands still\">3.1 %</td>"),
        "{drawn}"
    );
    assert!(drawn.contains("&lt;img src=x onerror="), "{drawn}");
    // The curve has the means of neighbours; the sentence is that of one of its three levels.
    for level in [
        "1.5 GiB it stalled 3 %",
        "2.5 GiB it stalled 2 %",
        "2 GiB it stalled 1 %",
    ] {
        assert!(drawn.contains(&format!("At {level} (")), "{drawn}");
    }
    assert!(
        drawn.contains("<circle") && drawn.contains("<p>At "),
        "{drawn}"
    );
    assert!(drawn.contains("measured, last hour"), "{drawn}");
    // A target can be chosen by each name.
    assert!(
        drawn.contains("<option value=\"postgres\">postgres</option>"),
        "{drawn}"
    );
    assert!(drawn.contains("\">&lt;img src=x onerror="), "{drawn}");
    let missing = "3 older events are not shown; 4 events were lost before terraced-web read them.";
    assert!(drawn.contains(missing), "{drawn}");
    assert!(
        !drawn.contains("<img") && drawn.contains("<title>Terrace</title>"),
        "{drawn}"
    );
}
