//! Which journals are trusted, and which of their changes are undone.
//! Long: a case for each thing that may lie in a state directory.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, FileType, Mode};

use super::leftover::Cleaned;
use super::*;
use crate::group::cgroup::Cgroup;
use crate::machine::sysctl::Cluster;
use crate::tier::area::{Area, Made};
use crate::tier::{Identity, Node};
use terrace_base::Bytes;

/// A process number that no kernel assigns.
const GONE: u32 = 4_194_305;

fn here() -> (tempfile::TempDir, State) {
    let directory = tempfile::tempdir().unwrap();
    let state = State::make(directory.path()).unwrap();
    (directory, state)
}

fn swap_file(directory: &Path) -> Area {
    let name = format!("{}.swap", name_of(GONE));
    Area::File(directory.canonicalize().unwrap().join(name), Bytes(1 << 20))
}

/// Makes a swap file as a run does, which is never switched on.
fn made(area: &Area) -> Identity {
    let identity = Identity::fresh();
    area.make(identity.uuid).unwrap();
    identity.located(&area.path()).unwrap()
}

fn killed(changes: Vec<Box<dyn Change>>) -> Entry {
    Entry {
        owner: Owner {
            pid: GONE,
            boot: boot_id(),
            started: 0,
        },
        changes,
        ended: false,
    }
}

fn journal() -> OsString {
    format!("run-{GONE}.json").into()
}

/// Cleans up after a killed run with this journal.
fn clean(state: &State, entry: &Entry) -> Cleaned {
    state.write(&journal(), &entry.text().unwrap()).unwrap();
    let mut found = Found::look(state).unwrap();
    assert_eq!(found.strays, [] as [String; 0]);
    found.leftovers.remove(0).clean(state, &mut |_| {})
}

/// Checks that this one change is left, for this reason, and its journal too.
#[track_caller]
fn assert_left(state: &State, change: impl Change + 'static, why: &str) {
    let cleaned = clean(state, &killed(vec![Box::new(change)]));
    assert_eq!(cleaned.done, [] as [String; 0]);
    let [sentence] = &cleaned.left[..] else {
        panic!("{cleaned:?}");
    };
    assert!(sentence.contains(why), "{sentence}");
    assert!(state.has(&journal()), "its journal is kept");
    state.remove(&journal()).unwrap();
}

#[test]
fn a_run_that_ends_leaves_no_journal() {
    let (directory, state) = here();
    let mut journal = Journal::begin(directory.path()).unwrap();
    let area = swap_file(directory.path());
    let note = Made(area, Identity::fresh());
    journal.note(note).unwrap();
    assert!(state.has(&journal.name));
    assert!(Found::look(&state).unwrap().is_empty(), "its owner lives");
    drop(journal);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_is_not_undone_stays_in_the_journal() {
    let (directory, state) = here();
    let mut journal = Journal::begin(directory.path()).unwrap();
    let area = swap_file(directory.path());
    fs::write(area.path(), "").unwrap();
    journal.note(Made(area, Identity::fresh())).unwrap();
    let name = journal.name.clone();
    drop(journal);
    assert!(state.has(&name));
}

#[test]
fn more_of_an_area_replaces_what_was_noted() {
    let (directory, _state) = here();
    let mut journal = Journal::begin(directory.path()).unwrap();
    let area = swap_file(directory.path());
    let identity = Identity::fresh();
    let note = Made(area.clone(), identity.clone());
    journal.note(note).unwrap();
    let node = Some(Node {
        device: 1,
        inode: 2,
    });
    let more = Made(area, Identity { node, ..identity });
    journal.note(more.clone()).unwrap();
    let [noted] = &journal.entry.changes[..] else {
        panic!("{:?}", journal.entry);
    };
    assert!(noted.equals(&more), "{noted:?}");
}

#[test]
fn a_dead_owner_is_cleaned_up_after_and_nothing_else_is_touched() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let identity = made(&area);
    fs::write(directory.path().join("bystander"), "").unwrap();
    let cleaned = clean(
        &state,
        &killed(vec![Box::new(Made(area.clone(), identity))]),
    );
    assert_eq!(cleaned.left, [] as [String; 0]);
    assert_eq!(cleaned.done.len(), 1);
    assert!(!area.path().exists() && !state.has(&journal()));
    assert!(directory.path().join("bystander").exists());
}

#[test]
fn what_is_gone_already_is_undone() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let group = PathBuf::from(format!("/sys/fs/cgroup/{}-1", name_of(GONE)));
    let changes: Vec<Box<dyn Change>> = vec![
        Box::new(Made(area, Identity::fresh())),
        Box::new(Cgroup(group)),
        Box::new(Made(Area::Zram(4_000, Bytes(1), true), Identity::fresh())),
    ];
    let cleaned = clean(&state, &killed(changes));
    assert_eq!(cleaned.left, [] as [String; 0]);
    assert!(!state.has(&journal()));
}

#[test]
fn the_lower_of_two_levels_goes_after_the_upper() {
    let (directory, state) = here();
    let base = directory.path().canonicalize().unwrap();
    let made_as = |extension: &str| {
        let path = base.join(format!("{}.{extension}", name_of(GONE)));
        let area = Area::File(path, Bytes(1 << 20));
        Made(area.clone(), made(&area))
    };
    let (lower, upper) = (made_as("backing"), made_as("swap"));
    let cleaned = clean(
        &state,
        &killed(vec![Box::new(lower.clone()), Box::new(upper.clone())]),
    );
    assert_eq!(cleaned.done, [upper.undone(), lower.undone()]);
    assert!(lower.is_undone());
}

#[test]
fn what_was_planned_and_never_made_is_not_listed() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let identity = made(&area);
    let base = directory.path().canonicalize().unwrap();
    let planned = base.join(format!("{}.2.swap", name_of(GONE)));
    let planned = Made(Area::File(planned, Bytes(1 << 20)), Identity::fresh());
    let made = Made(area, identity);
    let entry = killed(vec![Box::new(made.clone()), Box::new(planned.clone())]);
    state.write(&journal(), &entry.text().unwrap()).unwrap();
    let found = Found::look(&state).unwrap().leftovers;
    assert_eq!(found[0].found(state.path()), [made.found()]);
    let cleaned = clean(&state, &entry);
    assert_eq!(cleaned.done, [made.undone()]);
    // A journal of such alone is itself what was left.
    let entry = killed(vec![Box::new(planned)]);
    state.write(&journal(), &entry.text().unwrap()).unwrap();
    let found = Found::look(&state).unwrap().leftovers;
    let told = found[0].found(state.path()).join("");
    assert!(told.contains("run-4194305.json of a killed run"), "{told}");
    let cleaned = clean(&state, &entry);
    assert!(cleaned.done[0].ends_with("is removed"), "{cleaned:?}");
    assert!(!state.has(&journal()));
}

#[test]
fn a_file_that_no_run_made_is_left() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let path = area.path();
    fs::write(&path, "not to be lost").unwrap();
    let change = || Made(area.clone(), Identity::fresh());
    assert_left(&state, change(), "has no swap header");
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    assert_left(&state, change(), "has no swap header");
    assert!(path.exists());
}

#[test]
fn a_swap_file_of_another_is_left() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let identity = made(&area);
    let other = Identity {
        uuid: Identity::fresh().uuid,
        ..identity.clone()
    };
    assert_left(&state, Made(area.clone(), other), "another area");

    // An area of `mkswap` has no label, and another UUID.
    let path = area.path();
    let mut bytes = fs::read(&path).unwrap();
    bytes[1052..1059].fill(0);
    fs::write(&path, bytes).unwrap();
    let change = Made(area, identity);
    assert_left(&state, change, "not one of terrace");
    assert!(path.exists());
}

#[test]
fn a_copy_of_the_swap_file_is_left() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let identity = made(&area);
    let path = area.path();
    let original = directory.path().join("original");
    fs::rename(&path, &original).unwrap();
    fs::copy(&original, &path).unwrap();
    assert_left(
        &state,
        Made(area.clone(), identity.clone()),
        "another file than the run made",
    );
    fs::remove_file(&path).unwrap();
    symlink(&original, &path).unwrap();
    let change = || Made(area.clone(), identity.clone());
    assert_left(&state, change(), "symbolic link");
    fs::remove_file(&path).unwrap();
    fs::hard_link(&original, &path).unwrap();
    assert_left(&state, change(), "neither a regular file");
    assert!(original.exists() && path.exists());
}

#[test]
fn names_that_no_run_gives_are_left() {
    let (directory, state) = here();
    let base = directory.path().canonicalize().unwrap();
    for name in [
        "private".to_owned(),
        "terrace-1.swap".to_owned(),
        format!("{}0.swap", name_of(GONE)),
        format!("{}/../private", name_of(GONE)),
    ] {
        let area = Area::File(base.join(name), Bytes(1 << 20));
        let change = Made(area, Identity::fresh());
        assert_left(&state, change, "no name that the run gives");
    }
    let name = format!("{}.swap", name_of(GONE));
    let area = Area::File(base.join("x/..").join(name), Bytes(1 << 20));
    let change = Made(area, Identity::fresh());
    assert_left(&state, change, "no path that a run writes down");
}

#[test]
fn a_directory_that_is_no_cgroup_is_left() {
    let (directory, state) = here();
    let group = directory.path().join(format!("{}-1", name_of(GONE)));
    fs::create_dir(&group).unwrap();
    // It has no processes, whatever a file there says.
    fs::write(group.join("cgroup.procs"), "1\n").unwrap();
    let change = Cgroup(group.clone());
    assert_left(&state, change, "no cgroup file system");
    assert!(group.exists());
    let other = Cgroup("/sys/fs/cgroup/system.slice".into());
    assert_left(&state, other, "no name that the run gives");
}

#[test]
fn one_thing_that_is_left_does_not_keep_the_others() {
    let (directory, state) = here();
    let area = swap_file(directory.path());
    let identity = made(&area);
    let group = directory.path().join(format!("{}-1", name_of(GONE)));
    fs::create_dir(&group).unwrap();
    let changes: Vec<Box<dyn Change>> = vec![
        Box::new(Cgroup(group.clone())),
        Box::new(Made(area.clone(), identity)),
    ];
    let cleaned = clean(&state, &killed(changes));
    assert_eq!((cleaned.done.len(), cleaned.left.len()), (1, 1));
    assert!(!area.path().exists());
    let kept = Found::look(&state).unwrap();
    let kept = kept.leftovers[0].found(state.path());
    assert_eq!(kept, [Cgroup(group).found()]);
}

#[test]
fn files_that_are_no_journals_are_named_and_left() {
    let (directory, state) = here();
    let path = directory.path().join(journal());
    let stray = |why: &str| {
        let found = Found::look(&state).unwrap();
        assert!(found.leftovers.is_empty());
        assert!(found.strays[0].contains(why), "{:?}", found.strays);
        assert!(!found.strays[0].contains("damaged"));
        assert!(fs::symlink_metadata(&path).is_ok(), "it is left");
    };
    for text in ["", "{", "{}", "[]", "{\"owner\": 1, \"changes\": []}"] {
        fs::write(&path, text).unwrap();
        stray("no journal of this version");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    stray("is no text");
    fs::write(&path, vec![b' '; 2 << 20]).unwrap();
    stray("too large");

    let entry = killed(Vec::new()).text().unwrap();
    fs::write(&path, &entry).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    stray("may be written by other users");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&path, directory.path().join("second")).unwrap();
    stray("more than one name");
    fs::remove_file(&path).unwrap();
    symlink("second", &path).unwrap();
    stray("symbolic link");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    stray("no regular file");
    fs::remove_dir(&path).unwrap();
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    stray("no regular file");
    fs::remove_file(&path).unwrap();

    fs::write(directory.path().join("run-7.json"), &entry).unwrap();
    let found = Found::look(&state).unwrap();
    assert!(found.strays[0].contains("another process"), "{found:?}");
}

#[test]
fn files_without_a_journal_s_name_are_left_alone() {
    let (directory, state) = here();
    for name in ["package.json", "run-.json", "run-1.json.new", "run-x.json"] {
        fs::write(directory.path().join(name), "{").unwrap();
    }
    assert!(Found::look(&state).unwrap().is_empty());
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let (directory, _state) = here();
    for mode in [0o777, 0o1777, 0o770, 0o775] {
        fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let error = State::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("may be written by other users"), "{error}");
        assert!(Journal::begin(directory.path()).is_err());
    }
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    assert!(State::open(directory.path()).unwrap().is_some());
}

#[test]
fn a_directory_that_everybody_may_replace_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let open = |mode| {
        fs::set_permissions(parent.path(), Permissions::from_mode(mode)).unwrap();
        State::make(&path)
    };
    assert!(open(0o755).is_ok() && open(0o1777).is_ok());
    let error = open(0o777).unwrap_err().to_string();
    assert!(error.contains("everybody may replace it"), "{error}");
    assert!(error.contains("chmod o-w"), "{error}");
}

#[test]
#[ignore = "needs root, to give a directory away; run by make test-root"]
fn a_directory_of_another_user_is_refused() {
    let (directory, _state) = here();
    let nobody = rustix::fs::Uid::from_raw(65_534);
    rustix::fs::chown(directory.path(), Some(nobody), None).expect("root gives it away");
    let error = State::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("belongs to nobody"), "{error}");
}

#[test]
fn a_directory_is_made_for_its_owner_to_write() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/b");
    assert!(State::open(&path).unwrap().is_none());
    State::make(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o022, 0);
}

#[test]
fn what_was_handed_over_is_left_to_the_run_that_goes_on() {
    let (here, state) = here();
    let area = swap_file(here.path());
    let identity = made(&area);
    let mut entry = killed(vec![Box::new(Made(area.clone(), identity))]);
    entry.ended = true;
    // Before it is there, because a run that begins puts back what nobody needs any more.
    let own = Journal::begin(here.path()).unwrap();
    let mut other = Journal::begin(here.path()).unwrap();
    let name = format!("run-{}.json", entry.owner.pid);
    fs::write(here.path().join(&name), entry.text().unwrap()).unwrap();
    let alone = own.others().unwrap();
    assert_eq!((alone.handed_over.len(), alone.going_on), (1, 0));
    assert_eq!(
        Found::look(&state).unwrap().leftovers.len(),
        1,
        "no run goes on"
    );

    other.name = journal_of(1, 1);
    other.entry.owner = Owner::of(1).unwrap();
    other.note(Cluster("3".into())).unwrap();
    let beside = own.others().unwrap();
    assert_eq!((beside.handed_over.len(), beside.going_on), (1, 1));
    assert!(Found::look(&state).unwrap().is_empty(), "it is no leftover");

    for run in beside.handed_over {
        run.take_over(own.directory(), &mut |_| {}).unwrap();
    }
    assert!(!area.path().exists() && !here.path().join(name).exists());
}

#[test]
fn a_process_that_has_left_something_begins_another_journal() {
    let (here, state) = here();
    let area = swap_file(here.path());
    let mut first = Journal::begin(here.path()).unwrap();
    let name = first.name();
    let identity = made(&area);
    first.note(Made(area.clone(), identity)).unwrap();
    first.end().unwrap();
    drop(first);
    let second = Journal::begin(here.path()).unwrap();
    assert_eq!(second.name(), format!("{name}-s2"));
    let others = second.others().unwrap();
    assert_eq!(others.handed_over.len(), 1);
    fs::remove_file(area.path()).unwrap();
    state.remove(&journal_of(std::process::id(), 1)).unwrap();
}

#[test]
fn a_process_that_begins_puts_back_what_killed_ones_left() {
    let (here, state) = here();
    let area = swap_file(here.path());
    let identity = made(&area);
    let entry = killed(vec![Box::new(Made(area.clone(), identity))]);
    state.write(&journal(), &entry.text().unwrap()).unwrap();
    // Another process is at it.
    let turn = state.take_turn(&mut |_| {}).unwrap();
    Journal::begin(here.path()).unwrap();
    assert!(area.path().exists());
    drop(turn);
    Journal::begin(here.path()).unwrap();
    assert!(!area.path().exists() && !state.has(&journal()));
}

#[test]
fn what_is_left_of_a_process_with_our_number_does_not_keep_us_from_beginning() {
    let (here, state) = here();
    let us = std::process::id();
    let group = here.path().join(format!("{}-1", name_of(us)));
    fs::create_dir(&group).unwrap();
    let mut entry = killed(vec![Box::new(Cgroup(group))]);
    entry.owner.pid = us;
    state
        .write(&journal_of(us, 1), &entry.text().unwrap())
        .unwrap();
    let own = Journal::begin(here.path()).unwrap();
    assert_eq!(own.name(), format!("{}-s2", name_of(us)));
    assert!(state.has(&journal_of(us, 1)), "it cannot be put back");
}

#[test]
fn a_journal_names_every_kind_of_change() {
    let uuid = "00112233-4455-8677-8899-aabbccddeeff";
    let kinds = [
        format!(r#"{{"tier":[{{"file":["/a.swap",4096]}},{{"uuid":"{uuid}","node":null}}]}}"#),
        r#"{"cgroup":"/sys/fs/cgroup/terrace-7-1"}"#.to_owned(),
        r#"{"callers":"/sys/fs/cgroup/terrace-callers"}"#.to_owned(),
        r#"{"page_cluster":"3"}"#.to_owned(),
        r#"{"zswap":"N"}"#.to_owned(),
        r#"{"balancing":"0"}"#.to_owned(),
        r#"{"scheduling":[]}"#.to_owned(),
        r#"{"mount":"/mnt"}"#.to_owned(),
        r#"{"mounts":null}"#.to_owned(),
    ];
    let read = |text: &String| serde_json::from_str::<Box<dyn Change>>(text).unwrap();
    for text in &kinds {
        assert_eq!(serde_json::to_string(&read(text)).unwrap(), *text);
    }
    // One kind for each name: no two records are of one subject.
    for (number, one) in kinds.iter().enumerate() {
        for another in &kinds[..number] {
            assert!(!read(one).is_of(&*read(another)), "{one} {another}");
        }
    }
    let kept: Vec<_> = kinds.iter().map(|it| read(it).is_the_programs()).collect();
    assert_eq!(
        kept,
        [true, true, true, false, false, false, false, true, true]
    );
}
