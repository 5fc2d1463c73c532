//! The daemon while it runs: one thread looks and decides; others wait for signals, groups, peers
//! and slow steps, and send it messages.

use std::fs::{self, File, TryLockError};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use terrace_base::block::swaps::active;
use terrace_base::error::shown;
use terrace_base::{Context, Error, Result};
use terrace_live::group::kills;

use crate::board::Board;
use crate::configuration::{By, Configuration};
use crate::fleet::{Done, Fleet, Live, Now};
use crate::hands::Hands;
use crate::log::{Priority, notify, say};
use crate::protocol::{Backend, Event, Events, GROUP, Heat, Kind, Reloaded, Server, Status, Tier};
use crate::state::State;
use crate::targets::{Found, Watch, top};

/// Time between two writes of the budget, while it changes.
const KEEP: Duration = Duration::from_secs(10);
/// Time that steps under way have to end when the daemon stops.
const ENDING: Duration = Duration::from_secs(5);
/// Time that a peer waits for the daemon to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Directories of the daemon.
#[derive(Clone, Debug)]
pub struct Directories {
    /// Of the configuration.
    pub configuration: PathBuf,
    /// Of what is kept.
    pub state: PathBuf,
    /// Of the socket and the lock.
    pub runtime: PathBuf,
}

/// What the main thread is told.
enum Message {
    Found(Found),
    Done(Done),
    Status(Sender<Status>),
    Heat(String, Sender<Option<Heat>>),
    Reload(Option<Sender<std::result::Result<Reloaded, String>>>),
    End(i32),
}

/// Runs the daemon until a signal ends it.
///
/// # Errors
/// A usage error if the configuration is wrong; a failure if another daemon runs, or the machine
/// lacks something.
pub fn run(directories: &Directories) -> Result<()> {
    end_with_any_thread();
    let configuration = Configuration::read(&directories.configuration)?;
    let _lock = Lock::take(&directories.runtime)?;
    let (send, receive) = mpsc::channel();
    listen_to_signals(&send)?;
    let mut daemon = Daemon::start(directories, configuration, &send)?;
    let reading: Arc<Mutex<Sender<Message>>> = Arc::new(Mutex::new(send));
    let backend = Arc::new(Peers {
        board: Arc::clone(&daemon.board),
        daemon: reading,
    });
    let socket = directories.runtime.join("control");
    let group = reading_group();
    let server = Server::start(&socket, group, backend)?;
    if group.is_none() {
        let text = format!("there is no group `{GROUP}`: root alone may read at the socket");
        daemon.tell(Kind::Daemon, Priority::Info, &text);
    }
    let number = daemon.configuration.targets.len();
    daemon.tell(
        Kind::Daemon,
        Priority::Info,
        &format!("begins with {number} targets"),
    );
    notify(&[NotifyState::Ready]);
    let signal = daemon.serve(&receive);
    notify(&[NotifyState::Stopping]);
    drop(server);
    daemon.end(signal, &receive);
    Ok(())
}

/// A daemon without one of its threads would look alive: systemd starts a new one instead.
fn end_with_any_thread() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        others(panic);
        std::process::exit(101);
    }));
}

/// The one daemon of a machine.
struct Lock {
    _file: File,
}

impl Lock {
    fn take(directory: &Path) -> Result<Self> {
        let path = directory.join("lock");
        let cannot = || format!("cannot lock {}", path.display());
        fs::create_dir_all(directory).or_fail(cannot)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .or_fail(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::failure(
                "another terraced runs; stop it first, as by systemctl stop terraced",
            )),
            Err(TryLockError::Error(e)) => Err(e).or_fail(cannot),
        }
    }
}

/// Returns the number of the group whose members may read.
fn reading_group() -> Option<u32> {
    let group = nix::unistd::Group::from_name(GROUP).ok().flatten();
    group.map(|group| group.gid.as_raw())
}

fn listen_to_signals(send: &Sender<Message>) -> Result<()> {
    let cannot = || "cannot wait for signals".to_owned();
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT]).or_fail(cannot)?;
    let send = send.clone();
    let wait = move || {
        for signal in signals.forever() {
            let message = match signal {
                SIGHUP => Message::Reload(None),
                signal => Message::End(signal),
            };
            if send.send(message).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("terraced-signal".into());
    thread.stack_size(128 << 10).spawn(wait).or_fail(cannot)?;
    Ok(())
}

fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// What peers ask.
struct Peers {
    board: Arc<Board>,
    daemon: Arc<Mutex<Sender<Message>>>,
}

impl Peers {
    fn ask<T>(&self, how: impl FnOnce(Sender<T>) -> Message) -> std::result::Result<T, String> {
        let (send, receive) = mpsc::channel();
        let sent = terrace_base::lock(&self.daemon).send(how(send));
        let busy = |_| "terraced is busy or ends; try again".to_owned();
        sent.map_err(|_| busy(RecvTimeoutError::Disconnected))?;
        receive.recv_timeout(ANSWER).map_err(busy)
    }
}

impl Backend for Peers {
    fn status(&self) -> std::result::Result<Status, String> {
        self.ask(Message::Status)
    }

    fn events(&self, after: u64, wait: Duration) -> Events {
        self.board.after(after, wait)
    }

    fn heat(&self, target: &str) -> std::result::Result<Heat, String> {
        let heat = self.ask(|send| Message::Heat(target.to_owned(), send))?;
        heat.ok_or_else(|| {
            format!(
                "there is no target `{}`; ask for `status`, which lists them",
                shown(target)
            )
        })
    }

    fn reload(&self) -> std::result::Result<Reloaded, String> {
        self.ask(|send| Message::Reload(Some(send)))?
    }
}

/// The main thread's.
struct Daemon {
    begin: Instant,
    started_ms: u64,
    directory: PathBuf,
    configuration: Configuration,
    fleet: Fleet,
    state: State,
    /// Time of the last write of the budget.
    kept: Instant,
    /// Whether the last write failed, which is said once.
    is_unkept: bool,
    watch: Watch,
    hands: Hands,
    /// Steps under way.
    steps: usize,
    board: Arc<Board>,
    /// Time between two signs of life that systemd waits for.
    watchdog: Option<Duration>,
    /// Kills of the kernel on this machine before the daemon began.
    kills: u64,
}

impl Daemon {
    fn start(
        directories: &Directories,
        configuration: Configuration,
        send: &Sender<Message>,
    ) -> Result<Self> {
        let state = State::within(&directories.state);
        let (ledger, wrong) = state.resume(wall_ms());
        let (found, done) = (send.clone(), send.clone());
        let watch = Watch::start(top()?, meant(&configuration), move |groups| {
            found.send(Message::Found(groups)).is_ok()
        })?;
        let hands = Hands::start(move |step| {
            let _ = done.send(Message::Done(step));
        });
        let daemon = Self {
            begin: Instant::now(),
            started_ms: wall_ms(),
            directory: directories.configuration.clone(),
            fleet: Fleet::new(Box::new(Live::default()), &configuration, ledger),
            configuration,
            state,
            kept: Instant::now(),
            is_unkept: false,
            watch,
            hands: hands.or_fail(|| "cannot start threads".into())?,
            steps: 0,
            board: Arc::default(),
            watchdog: sd_notify::watchdog_enabled().map(|time| time / 3),
            kills: kills::on_machine(),
        };
        if let Some(wrong) = wrong {
            daemon.tell(Kind::Trouble, Priority::Warning, &wrong);
        }
        Ok(daemon)
    }

    fn now(&self) -> Now {
        Now {
            since: self.begin.elapsed(),
            wall_ms: wall_ms(),
        }
    }

    /// Looks and decides, until a signal comes; returns it.
    fn serve(&mut self, receive: &Receiver<Message>) -> i32 {
        let mut alive = Instant::now();
        loop {
            if self.watchdog.is_some_and(|time| alive.elapsed() >= time) {
                notify(&[NotifyState::Watchdog]);
                alive = Instant::now();
            }
            match receive.recv_timeout(self.patience()) {
                Ok(Message::End(signal)) => return signal,
                Ok(message) => self.handle(message),
                Err(_) => {}
            }
            for job in self.fleet.turn(self.now()) {
                self.hands.take(job);
                self.steps += 1;
            }
            self.put_up();
            self.keep();
        }
    }

    /// Returns the time until something has to be done.
    fn patience(&self) -> Duration {
        let look = self.fleet.next();
        let look = look.map(|due| due.saturating_sub(self.begin.elapsed()));
        let times = [look, self.watchdog, Some(KEEP)];
        times.into_iter().flatten().min().unwrap_or(KEEP)
    }

    fn handle(&mut self, message: Message) {
        let now = self.now();
        match message {
            Message::Found(found) => self.fleet.found(&found, now),
            Message::Done(done) => self.done(done),
            Message::Status(answer) => {
                // One who has left needs no answer.
                let _ = answer.send(self.status(now));
            }
            Message::Heat(target, answer) => {
                let _ = answer.send(self.fleet.heat(&target));
            }
            Message::Reload(answer) => {
                let reloaded = self.reload(now);
                if let Some(answer) = answer {
                    let _ = answer.send(reloaded);
                }
            }
            Message::End(_) => {}
        }
    }

    fn done(&mut self, done: Done) {
        self.steps -= 1;
        self.fleet.done(done, self.now());
    }

    /// Reads the configuration. One that is wrong changes nothing.
    fn reload(&mut self, now: Now) -> std::result::Result<Reloaded, String> {
        let monotonic = NotifyState::monotonic_usec_now().ok();
        let reloading = std::iter::once(NotifyState::Reloading).chain(monotonic);
        notify(&reloading.collect::<Vec<_>>());
        let reloaded = match Configuration::read(&self.directory) {
            Ok(configuration) => {
                let changes = self.fleet.reload(&configuration, now);
                self.watch.look_for(meant(&configuration));
                self.configuration = configuration;
                let text = format!(
                    "the configuration was read: {} targets are new, {} changed, {} gone, {} as they were",
                    changes.added.len(),
                    changes.changed.len(),
                    changes.removed.len(),
                    changes.kept
                );
                self.tell(Kind::Daemon, Priority::Info, &text);
                Ok(changes)
            }
            Err(e) => {
                let text = format!("the new configuration is refused, the old one goes on: {e}");
                self.tell(Kind::Trouble, Priority::Error, &text);
                Err(e.to_string())
            }
        };
        notify(&[NotifyState::Ready]);
        reloaded
    }

    fn status(&mut self, now: Now) -> Status {
        let areas = active();
        let wear = self.configuration.tier.wear;
        let ledger = self.fleet.ledger();
        ledger.pass(now.since);
        Status {
            daemon: env!("CARGO_PKG_VERSION").into(),
            started_ms: self.started_ms,
            time_ms: now.wall_ms,
            oom_kills: kills::on_machine().saturating_sub(self.kills),
            tier: Tier {
                memory: shown(&self.configuration.tier.name),
                size: areas.iter().map(|area| area.size.0).sum(),
                used: areas.iter().map(|area| area.used.0).sum(),
                budget: wear.and_then(|wear| ledger.status(wear.endurance, now.since)),
            },
            targets: self.fleet.status(),
        }
    }

    /// Says what the fleet tells, and puts it up.
    fn put_up(&mut self) {
        for told in self.fleet.told() {
            let priority = match told.kind {
                Kind::Trouble => Priority::Warning,
                _ => Priority::Info,
            };
            say(priority, &format!("{}: {}", told.target, told.text));
            self.board.put(Event {
                number: 0,
                time_ms: told.time_ms,
                target: Some(told.target),
                kind: told.kind,
                bytes: told.bytes,
                text: shown(&told.text),
            });
        }
    }

    /// Says something about the daemon, and puts it up.
    fn tell(&self, kind: Kind, priority: Priority, text: &str) {
        say(priority, text);
        self.board.put(Event {
            number: 0,
            time_ms: wall_ms(),
            target: None,
            kind,
            bytes: 0,
            text: shown(text),
        });
    }

    /// Writes the budget down, if it has changed and the last time is a while ago.
    fn keep(&mut self) {
        if self.kept.elapsed() >= KEEP && self.fleet.ledger().is_new() {
            self.write_down();
        }
    }

    fn write_down(&mut self) {
        self.kept = Instant::now();
        let Some(kept) = self.fleet.kept(self.now()) else {
            return;
        };
        match self.state.keep(kept) {
            Ok(()) => self.is_unkept = false,
            Err(e) if !self.is_unkept => {
                self.is_unkept = true;
                let text = format!("the budget of writes is not kept: {e}");
                self.tell(Kind::Trouble, Priority::Error, &text);
            }
            Err(_) => {}
        }
    }

    /// Ends: waits for steps under way, and lets all targets go.
    fn end(mut self, signal: i32, receive: &Receiver<Message>) {
        self.steps -= self.hands.stop();
        let until = Instant::now() + ENDING;
        while self.steps > 0 {
            match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Done(done)) => self.done(done),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.put_up();
        self.write_down();
        self.tell(
            Kind::Daemon,
            Priority::Info,
            &format!("ends by signal {signal}"),
        );
    }
}

/// Returns what is looked for.
fn meant(configuration: &Configuration) -> std::collections::BTreeMap<String, By> {
    let targets = configuration.targets.iter();
    targets
        .map(|(name, target)| (name.clone(), target.by.clone()))
        .collect()
}
