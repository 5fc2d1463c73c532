//! Swap areas and groups of dead runs that no journal names: the journal is damaged, was removed,
//! or lies in another state directory.
//!
//! They are looked for where the kernel lists them, in `/proc/swaps` and in the hierarchies of
//! control groups, and in the state directory. A name alone makes nothing ours, and another user's
//! live run is no leftover. So:
//!
//! - An area is a run's if its header says so, which also has the number of the run's process.
//!   Headers of older versions have not; then the name of a file tells, and a device is named and
//!   left to a person.
//! - A run lives while a process has its number, in whatever name space of processes, that is not
//!   younger than the area or group. Only the machine's first name space shows all processes;
//!   elsewhere nothing is certain.
//! - What a journal in the area's own directory names is that journal's matter.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use terrace_base::Bytes;
use terrace_base::block::Header;
use terrace_base::block::swaps::active;

use crate::group::cgroup::{Cgroup, groups_in, hold_group};
use crate::group::delegation::{CALLERS, Callers};
use crate::group::hierarchy::Mounts;
use crate::group::members::everyone;
use crate::journal::leftover::{Found, Leftover, is_older};
use crate::journal::names::PREFIX;
use crate::journal::{Change, State};
use crate::system::privilege;
use crate::tier::area::{Area, Made};
use crate::tier::identity::Identity;
use crate::tier::zram;

/// The number of the machine's first name space of processes (`PROC_PID_INIT_INO`,
/// linux/proc_ns.h).
const FIRST_NAME_SPACE: &str = "pid:[4026531836]";

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    /// Those that are certainly a dead run's, by run.
    pub certain: Vec<Leftover>,
    /// A sentence on each of the others, with the command that removes it.
    pub doubtful: Vec<String>,
}

/// Something that may be of a dead run.
struct Candidate {
    change: Box<dyn Change>,
    path: PathBuf,
    kind: Kind,
    /// Its run's process, by its name; 0 for the leaf of many runs.
    owner: Option<u32>,
    /// Why it cannot be told whose it is.
    doubt: Option<String>,
}

/// What a candidate is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Device,
    Zram,
    Group,
    /// The leaf to which the callers of runs were moved.
    Leaf,
}

/// The processes of this machine that are seen from here.
struct Processes {
    /// Each with its numbers in all name spaces in which it has one.
    all: Vec<(u32, Vec<u32>)>,
    /// Whether there are no others.
    is_complete: bool,
}

impl Orphans {
    /// Looks for what `found` does not name, in this state directory and on the machine.
    pub fn look(state: Option<&State>, found: &Found) -> Self {
        let on = active().into_iter().map(|swap| swap.path);
        let mut all: Vec<_> = on
            .chain(zram::all_off())
            .filter_map(|it| area_at(&it))
            .collect();
        all.extend(state.into_iter().flat_map(|state| off(state.path())));
        all.extend(groups());
        all.retain(|it| !found.claimed.contains(&it.path));
        let mut orphans = Self::default();
        if !all.is_empty() {
            orphans.sort(all, state, &Processes::look());
        }
        orphans
    }

    fn sort(&mut self, all: Vec<Candidate>, state: Option<&State>, processes: &Processes) {
        let mut of_runs: BTreeMap<u32, Vec<Box<dyn Change>>> = BTreeMap::new();
        let mut kept_elsewhere = Vec::new();
        for candidate in all {
            if candidate.lives(processes) {
                continue;
            }
            match candidate.elsewhere(state) {
                Elsewhere::Nothing => {}
                Elsewhere::Kept => {
                    kept_elsewhere.extend(candidate.owner);
                    continue;
                }
                Elsewhere::Left(directory) => {
                    kept_elsewhere.extend(candidate.owner);
                    self.doubtful.push(format!(
                        "{}, and its journal is in {directory}; run: TERRACE_STATE_DIR={directory} \
                         terrace doctor --clean",
                        candidate.change.found(),
                        directory = directory.display(),
                    ));
                    continue;
                }
            }
            let hidden = (!processes.is_complete).then(|| {
                "whether its run goes on cannot be told from here, where not all processes of the \
                 machine are seen"
                    .to_owned()
            });
            let doubt = candidate.doubt.clone().or(hidden);
            match (candidate.owner, doubt) {
                (Some(owner), None) => of_runs.entry(owner).or_default().push(candidate.change),
                (_, doubt) => self.doubtful.push(format!(
                    "{}, and no journal names it: {}; {}",
                    candidate.change.found(),
                    doubt.unwrap_or_else(|| "whose it is cannot be told".to_owned()),
                    candidate.by_hand()
                )),
            }
        }
        of_runs.retain(|owner, _| !kept_elsewhere.contains(owner));
        let certain = of_runs.into_iter();
        self.certain = certain
            .map(|(owner, changes)| Leftover::without_journal(owner, changes))
            .collect();
    }
}

/// Whether another state directory's journal names something.
enum Elsewhere {
    /// None does.
    Nothing,
    /// One does, of a run that goes on, or has left it to such a run.
    Kept,
    /// One does, of a killed run, in this directory.
    Left(PathBuf),
}

impl Candidate {
    /// Whether its run may go on.
    fn lives(&self, processes: &Processes) -> bool {
        match self.owner {
            // Needed by the runs whose groups are beside it.
            _ if self.kind == Kind::Leaf => {
                let beside = self.path.parent().map(groups_in).unwrap_or_default();
                beside.iter().any(|group| process_of(group, "").is_some())
            }
            Some(owner) => processes.have(owner, age(&self.path)),
            None => processes.have_a_run(),
        }
    }

    /// Looks for a journal beside a file.
    fn elsewhere(&self, state: Option<&State>) -> Elsewhere {
        let directory = match self.kind {
            Kind::File => self.path.parent(),
            _ => None,
        };
        let is_ours = |directory: &&Path| state.is_some_and(|state| state.path() == *directory);
        let Some(directory) = directory.filter(|directory| !is_ours(directory)) else {
            return Elsewhere::Nothing;
        };
        let Ok(Some(other)) = State::open(directory) else {
            return Elsewhere::Nothing;
        };
        let found = Found::look(&other).unwrap_or_default();
        if !found.claimed.contains(&self.path) {
            return Elsewhere::Nothing;
        }
        match found.leftovers.iter().any(|left| left.names(&self.path)) {
            true => Elsewhere::Left(directory.to_owned()),
            false => Elsewhere::Kept,
        }
    }

    /// Returns how a person removes it if nobody uses it.
    fn by_hand(&self) -> String {
        let path = self.path.display();
        let command = match self.kind {
            Kind::File => format!("swapoff {path} && rm {path}"),
            Kind::Device => format!("swapoff {path}"),
            Kind::Zram => format!("swapoff {path}; zramctl --reset {path}"),
            Kind::Group | Kind::Leaf => format!("rmdir {path}"),
        };
        format!("if no run of terrace uses it, remove it as root: {command}")
    }
}

impl Processes {
    fn look() -> Self {
        let own = fs::read_link("/proc/self/ns/pid");
        Self {
            all: everyone().map(|pid| (pid, numbers(pid))).collect(),
            is_complete: own.is_ok_and(|it| it == Path::new(FIRST_NAME_SPACE)),
        }
    }

    /// Whether one of them has this number somewhere, and is at least this old.
    fn have(&self, number: u32, age: Duration) -> bool {
        let mut all = self.all.iter();
        all.any(|(pid, numbers)| numbers.contains(&number) && is_older(*pid, age))
    }

    /// Whether one of them is of this program, by its name.
    fn have_a_run(&self) -> bool {
        let own = std::process::id();
        let is_run = |pid: u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.starts_with("terrace") && pid != own
        };
        self.all.iter().any(|(pid, _)| is_run(*pid))
    }
}

/// Returns the numbers of a process in the name spaces in which it has one (Linux,
/// proc_pid_status(5)).
fn numbers(pid: u32) -> Vec<u32> {
    let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let listed = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let listed = listed.unwrap_or_default().split_whitespace();
    let mut numbers: Vec<u32> = listed.filter_map(|number| number.parse().ok()).collect();
    numbers.push(pid);
    numbers
}

/// Returns for how long something has been there, at least: the kernel may have noted a later time.
fn age(path: &Path) -> Duration {
    let found = fs::symlink_metadata(path);
    let changed = found.map_or(0, |found| u64::try_from(found.ctime()).unwrap_or(0));
    let since = UNIX_EPOCH + Duration::from_secs(changed);
    since.elapsed().unwrap_or_default()
}

/// Returns the area at this path, if it may be a run's.
fn area_at(path: &Path) -> Option<Candidate> {
    let header = File::open(path).and_then(|file| Header::read(&file));
    let owner = process_of(path, ".swap");
    match header {
        Ok(Some(header)) if header.is_ours() => Some(area(path, owner, &header)),
        // It has the name, and is another's.
        Ok(_) => None,
        Err(error) => owner.map(|owner| Candidate {
            change: Box::new(Made(
                Area::File(path.to_owned(), Bytes(0)),
                Identity::fresh(),
            )),
            path: path.to_owned(),
            kind: Kind::File,
            owner: Some(owner),
            doubt: Some(match privilege::is_root() {
                true => format!("it cannot be opened ({error})"),
                false => format!("root can look at it: {}", privilege::as_root()),
            }),
        }),
    }
}

/// Returns the files of areas in a directory that are off.
fn off(directory: &Path) -> impl Iterator<Item = Candidate> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.filter_map(|entry| {
        let path = entry.path();
        let owner = process_of(&path, ".swap").or_else(|| process_of(&path, ".backing"))?;
        let header = Header::read(&File::open(&path).ok()?).ok()??;
        let is_off = active().iter().all(|swap| swap.path != path);
        (is_off && header.is_ours()).then(|| area(&path, Some(owner), &header))
    })
}

/// Makes the candidate of an area with a header of a run.
fn area(path: &Path, named: Option<u32>, header: &Header) -> Candidate {
    let identity = Identity {
        uuid: header.uuid,
        node: None,
    };
    let located = identity.clone().located(path);
    let owner = Identity::maker(header.uuid).or(named);
    let doubt = match (owner, &located) {
        (None, _) => Some("it does not name its run".to_owned()),
        (_, Err(error)) => Some(error.to_string()),
        // Both tell, and not the same.
        _ if named.is_some_and(|named| Some(named) != owner) => {
            Some("it has the name of another run".to_owned())
        }
        _ => None,
    };
    let (area, kind) = match zram::number(path) {
        Some(number) => (Area::Zram(number, Bytes(0), zram::adds()), Kind::Zram),
        None if path.is_file() => (Area::File(path.to_owned(), Bytes(0)), Kind::File),
        None => (Area::Device(path.to_owned()), Kind::Device),
    };
    Candidate {
        change: Box::new(Made(area, located.unwrap_or(identity))),
        path: path.to_owned(),
        kind,
        owner,
        doubt,
    }
}

/// Returns the groups with names of runs, and the leaves for callers.
fn groups() -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Ok(mounts) = Mounts::find() {
        mounts.all().for_each(|it| add_groups(it.top(), &mut found));
    }
    found
}

fn add_groups(directory: &Path, found: &mut Vec<Candidate>) {
    for group in groups_in(directory) {
        let owner = process_of(&group, "");
        let is_leaf = group.file_name().is_some_and(|name| name == CALLERS);
        if owner.is_none() && !is_leaf {
            add_groups(&group, found);
            continue;
        }
        let doubt = hold_group(&group).err().map(|error| error.to_string());
        let (change, kind): (Box<dyn Change>, _) = match is_leaf {
            true => (Box::new(Callers(group.clone())), Kind::Leaf),
            false => (Box::new(Cgroup(group.clone())), Kind::Group),
        };
        found.push(Candidate {
            change,
            path: group,
            kind,
            owner: owner.or(Some(0)),
            doubt,
        });
    }
}

/// Returns the process whose run gives something this name; `None` for another's.
fn process_of(path: &Path, extension: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix(PREFIX)?.strip_suffix(extension)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = rest.split_at(digits);
    let is_suffix = |c: char| c.is_ascii_digit() || "-s.".contains(c);
    let is_ours = suffix.chars().all(is_suffix) && !number.starts_with('0');
    number.parse().ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_process_of_a_run() {
        let of = |name: &str, extension| process_of(Path::new(name), extension);
        assert_eq!(of("/a/terrace-7.swap", ".swap"), Some(7));
        assert_eq!(of("/a/terrace-7-s2.3.swap", ".swap"), Some(7));
        assert_eq!(of("/sys/terrace-41-s2-1", ""), Some(41));
        for name in [
            "terrace-",
            "terrace-x",
            "terrace-07",
            "terrace-7-x",
            "terrace-callers",
            "7",
        ] {
            assert_eq!(of(name, ""), None, "{name}");
        }
        assert_eq!(of("terrace-7.swap", ".backing"), None);
    }

    #[test]
    fn a_process_that_is_younger_than_a_thing_has_not_made_it() {
        let here = Processes::look();
        let own = std::process::id();
        assert!(here.have(own, Duration::ZERO));
        let before_boot = Duration::from_secs(1 << 40);
        assert!(!here.have(own, before_boot));
        assert!(!here.have(4_194_305, Duration::ZERO));
    }

    #[test]
    fn what_a_journal_names_is_no_orphan_and_a_file_of_another_neither() {
        let directory = tempfile::tempdir().unwrap();
        let state = State::make(directory.path()).unwrap();
        let made = |name: &str, label: bool| {
            let path = state.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_len(1 << 20).unwrap();
            if label {
                // As that of an older version, which does not tell who has made it.
                let uuid = uuid::Uuid::new_v4();
                terrace_base::block::header::write(&file, Bytes(1 << 20), uuid).unwrap();
            }
            path
        };
        let (ours, _) = (
            made("terrace-4194305.swap", true),
            made("terrace-4194306.swap", false),
        );
        made(&format!("terrace-{}.swap", std::process::id()), true);
        let dead = off(state.path()).filter(|it| !it.lives(&seen()));
        let found: Vec<_> = dead.map(|it| it.path).collect();
        assert_eq!(found, [ours], "of a dead process, with a header");
    }

    #[test]
    fn what_does_not_tell_of_its_run_is_left_to_a_person() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join("terrace-4194305.swap");
        let made = |uuid| {
            let file = File::create(&path).unwrap();
            file.set_len(1 << 20).unwrap();
            terrace_base::block::header::write(&file, Bytes(1 << 20), uuid).unwrap();
            area_at(&path).unwrap()
        };
        let sorted = |candidate, is_complete| {
            let mut orphans = Orphans::default();
            let processes = Processes {
                all: Vec::new(),
                is_complete,
            };
            orphans.sort(vec![candidate], None, &processes);
            (orphans.certain.len(), orphans.doubtful.join(""))
        };
        let older = uuid::Uuid::new_v4();
        assert_eq!(sorted(made(older), true).0, 1, "its name tells");
        let (certain, told) = sorted(made(older), false);
        assert!(certain == 0 && told.contains("not all processes"), "{told}");
        assert!(
            told.contains("swapoff ") && told.contains("&& rm "),
            "{told}"
        );
        let (certain, told) = sorted(made(Identity::fresh().uuid), true);
        assert!(
            certain == 0 && told.contains("name of another run"),
            "{told}"
        );
    }

    fn seen() -> Processes {
        Processes::look()
    }
}
