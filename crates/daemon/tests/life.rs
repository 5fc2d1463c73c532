//! The life of `terraced` as a process: how it begins, is asked, reads its configuration again, and
//! ends. No test needs a service, or root.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use terrace_daemon::protocol::{Client, Kind, State};

const LONG: Duration = Duration::from_secs(60);

/// Directories for a daemon, and the socket where systemd would listen.
struct Place {
    directory: tempfile::TempDir,
    systemd: UnixDatagram,
}

/// A daemon that runs; killed when dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    fn new(configuration: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["etc", "lib", "run"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let systemd = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        systemd.set_read_timeout(Some(LONG)).unwrap();
        let place = Self { directory, systemd };
        place.write(configuration);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, configuration: &str) {
        fs::write(self.path("etc/a.toml"), configuration).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terraced"));
        command
            .env("CONFIGURATION_DIRECTORY", self.path("etc"))
            .env("STATE_DIRECTORY", self.path("lib"))
            .env("RUNTIME_DIRECTORY", self.path("run"))
            .env("NOTIFY_SOCKET", self.path("notify"))
            .env("WATCHDOG_USEC", "300000")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    fn start(&self) -> Daemon {
        let daemon = Daemon(self.command().spawn().unwrap());
        self.told("READY=1");
        daemon
    }

    /// Waits until the daemon tells systemd this.
    fn told(&self, wanted: &str) {
        let mut bytes = [0; 1024];
        loop {
            let number = self.systemd.recv(&mut bytes).expect(wanted);
            let text = String::from_utf8_lossy(&bytes[..number]);
            if text.lines().any(|line| line == wanted) {
                return;
            }
        }
    }

    fn client(&self) -> Client {
        Client::connect(&self.path("run/control")).unwrap()
    }

    fn events(&self) -> Vec<String> {
        let events = self.client().events(0, 0).unwrap().events;
        events.into_iter().map(|event| event.text).collect()
    }
}

impl Daemon {
    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, and returns its exit code and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let begin = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < LONG, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut said = String::new();
        self.0
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const ONE: &str = "[target.one]\nunit = \"no-such-unit\"\nslowdown = \"2%\"\n";

#[test]
fn it_begins_answers_and_ends() {
    let place = Place::new(ONE);
    let daemon = place.start();
    let status = place.client().status().unwrap();
    assert_eq!(status.targets.len(), 1);
    assert_eq!(status.targets[0].state, State::Waiting);
    assert_eq!(status.targets[0].policy, "slowdown:goal=0.02");
    assert_eq!(status.tier.memory, "existing");
    place.told("WATCHDOG=1");
    assert!(place.events().contains(&"begins with 1 targets".to_owned()));
    daemon.signal("TERM");
    place.told("STOPPING=1");
    let (code, said) = daemon.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("<6>begins with 1 targets\n"), "{said}");
    assert!(said.ends_with("<6>ends by signal 15\n"), "{said}");
    assert!(!place.path("run/control").exists());
}

#[test]
fn a_configuration_is_read_again_or_refused_as_a_whole() {
    let place = Place::new(ONE);
    let daemon = place.start();
    let two = ONE.replace("one", "two").replace("such", "other");
    place.write(&format!("{ONE}{two}"));
    let reloaded = place.client().reload().unwrap();
    assert_eq!(
        (&*reloaded.added, reloaded.kept),
        (&["two".to_owned()][..], 1)
    );
    place.told("RELOADING=1");
    place.told("READY=1");
    place.write(&format!(
        "[target.three]\nunit = \"x\"\ndram = \"1G\"\n{ONE}slowdon = 1\n"
    ));
    let error = place.client().reload().unwrap_err().to_string();
    assert!(
        error.contains("a.toml, line 7: there is no key `slowdon`"),
        "{error}"
    );
    place.told("RELOADING=1");
    place.told("READY=1");
    let names = |place: &Place| {
        let targets = place.client().status().unwrap().targets;
        targets
            .into_iter()
            .map(|target| target.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&place), ["one", "two"]);
    let events = place.client().events(0, 0).unwrap().events;
    let refused = events
        .iter()
        .find(|event| event.kind == Kind::Trouble)
        .unwrap();
    assert!(
        refused
            .text
            .starts_with("the new configuration is refused, the old one goes on")
    );
    place.write("");
    daemon.signal("HUP");
    place.told("RELOADING=1");
    place.told("READY=1");
    assert_eq!(names(&place), [""; 0]);
}

#[test]
fn there_is_one() {
    let place = Place::new("");
    let daemon = place.start();
    let second = place.command().output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second).contains("another terraced runs; stop it first"));
    // The first goes on, and one that is killed keeps nobody out.
    place.client().status().unwrap();
    daemon.signal("KILL");
    assert_eq!(daemon.end().0, None);
    let third = place.start();
    place.client().status().unwrap();
    third.signal("INT");
    assert_eq!(third.end().0, Some(0));
}

#[test]
fn the_budget_goes_on_after_a_kill() {
    let wear = "[tier]\nendurance = \"600TB\"\nlife = \"5years\"\n";
    let place = Place::new(&format!("{ONE}{wear}"));
    let daemon = place.start();
    let share = |place: &Place| place.client().status().unwrap().targets[0].share.unwrap();
    let full = share(&place);
    assert!(full > 300_000_000_000, "{full}");
    daemon.signal("TERM");
    daemon.end();
    let kept = place.path("lib/budget.json");
    let text = fs::read_to_string(&kept).unwrap();
    let owes = text.replace(&full.to_string(), "-1000000000000");
    assert_ne!(text, owes, "{text}");
    fs::write(&kept, owes).unwrap();
    let daemon = place.start();
    assert!((-1_000_000_000_000..-999_000_000_000).contains(&share(&place)));
    daemon.signal("KILL");
    daemon.end();
    fs::write(&kept, "damaged").unwrap();
    let daemon = place.start();
    let events = place.events();
    assert!(
        events[0].ends_with("budget.json is damaged; the budget of writes begins empty"),
        "{events:?}"
    );
    assert!(share(&place) < full / 100);
    drop(daemon);
}

#[test]
fn a_wrong_configuration_is_said_at_once() {
    let place = Place::new("[target.one]\nunit = \"a\"\nslowdown = \"2\"\n");
    for arguments in [&["--check"][..], &[]] {
        let said = place.command().args(arguments).output().unwrap();
        assert_eq!(said.status.code(), Some(2));
        let line = text(&said);
        assert!(
            line.contains("a.toml, line 3: `2` is no share of time"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    place.write(ONE);
    let checked = place.command().arg("--check").output().unwrap();
    assert!(checked.status.success());
    assert!(String::from_utf8_lossy(&checked.stdout).contains("has 1 targets"));
    fs::remove_dir_all(place.path("etc")).unwrap();
    let none = place.command().output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none).contains("cannot read "), "{}", text(&none));
    let two = place
        .command()
        .env("STATE_DIRECTORY", "a:b")
        .output()
        .unwrap();
    assert_eq!(two.status.code(), Some(2));
    assert!(text(&two).contains("STATE_DIRECTORY is `a:b`"));
}
