//! What a run attaches to, as people name it, and the processes and the group that it means.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use terrace_base::process::Figures;
use terrace_base::{Error, Result};

use crate::group::cgroup::{PROCESSES, groups_in};
use crate::group::container;
use crate::group::hierarchy::{Mount, Mounts};
use crate::group::members::Scope;

/// A program that runs, by what people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process and those that it starts, by its number or that of a thread.
    Process(u32),
    /// The processes of a cgroup: a directory, or a path in a hierarchy.
    Cgroup(PathBuf),
    /// The processes of a systemd unit.
    Unit(String),
    /// The processes of a container, by the beginning of its ID, or by its name.
    Container(String),
}

/// A target that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Name for people.
    pub name: String,
    /// Processes that it means.
    pub scope: Scope,
}

impl Target {
    /// Finds what the target means on this machine.
    ///
    /// # Errors
    /// A usage error if there is none, or if there are several.
    pub(crate) fn find(&self, mounts: &Mounts) -> Result<Found> {
        match self {
            Self::Process(pid) => process(*pid),
            Self::Cgroup(path) => {
                let (mount, group) = cgroup(mounts, path)?;
                let name = format!("the cgroup {}", group.display());
                Ok(found(name, mount, group))
            }
            Self::Unit(name) => {
                let (mount, group) = unit(mounts, name, &control_group)?;
                Ok(found(format!("the unit {name}"), mount, group))
            }
            Self::Container(name) => {
                let (mount, group) = container(mounts, name)?;
                Ok(found(format!("the container {name}"), mount, group))
            }
        }
    }
}

/// A group and its hierarchy.
type Group<'a> = (&'a Mount, PathBuf);

fn found(name: String, mount: &Mount, group: PathBuf) -> Found {
    let scope = Scope::Group {
        hierarchy: mount.clone(),
        group,
    };
    Found { name, scope }
}

fn process(pid: u32) -> Result<Found> {
    let none = || Error::usage(format!("there is no process {pid}"));
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| none())?;
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.trim()))
    };
    let name = field("Name:").unwrap_or_default();
    if field("VmSize:").is_none() {
        return Err(Error::usage(format!(
            "the process {pid} ({name}) has no memory: it belongs to the kernel, or has ended"
        )));
    }
    let leader = field("Tgid:").and_then(|pid| pid.parse().ok());
    let root: u32 = leader.unwrap_or(pid);
    let figures = Figures::of(root).ok().flatten().ok_or_else(none)?;
    Ok(Found {
        name: format!("process {root} ({name})"),
        scope: Scope::Tree {
            root,
            started: figures.started,
        },
    })
}

/// Finds a group by its directory, or by its path in a hierarchy, the one with the memory
/// controller first.
fn cgroup<'a>(mounts: &'a Mounts, path: &Path) -> Result<Group<'a>> {
    let absolute = Path::new("/").join(path);
    // An empty path would be the top.
    let named = || mounts.all().filter(|_| path != Path::new(""));
    let found = named().find_map(|mount| {
        let inside = path.is_absolute().then(|| path.to_owned());
        let candidates = [inside, mount.shown(&absolute), below(mount, path)];
        let mut groups = candidates.into_iter().flatten();
        Some((mount, groups.find_map(|group| is_group(mount, &group))?))
    });
    found.ok_or_else(|| {
        let top = mounts
            .all()
            .next()
            .map_or(Path::new("/sys/fs/cgroup"), Mount::top);
        Error::usage(format!(
            "there is no cgroup {}; name a directory below {}, as systemd-cgls and \
             /proc/PID/cgroup show them",
            path.display(),
            top.display()
        ))
    })
}

/// Returns the place of a path below the top of a mount.
fn below(mount: &Mount, path: &Path) -> Option<PathBuf> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    Some(mount.top().join(relative))
}

/// Returns the group without links and `..` in its path, if it is one of this hierarchy.
fn is_group(mount: &Mount, directory: &Path) -> Option<PathBuf> {
    let group = directory.canonicalize().ok()?;
    let top = mount.top().canonicalize().ok()?;
    (group.starts_with(top) && group.join(PROCESSES).is_file()).then_some(group)
}

/// Finds the group of a unit where systemd (`ask`) says, or by its name.
fn unit<'a>(
    mounts: &'a Mounts,
    name: &str,
    ask: &dyn Fn(&str) -> Option<PathBuf>,
) -> Result<Group<'a>> {
    let told = ask(name).filter(|path| path.parent().is_some());
    let told = told.and_then(|path| {
        let mut all = mounts.all();
        all.find_map(|mount| Some((mount, is_group(mount, &mount.shown(&path)?)?)))
    });
    if let Some(group) = told {
        return Ok(group);
    }
    let service = format!("{name}.service");
    let is_unit = |group: &str| !name.is_empty() && (group == name || group == service);
    one(
        search(mounts, &is_unit),
        "unit",
        name,
        "see systemctl status; a unit that does not run has no processes",
    )
}

/// Asks systemd for the group of a unit; `None` if it does not answer or knows none.
fn control_group(unit: &str) -> Option<PathBuf> {
    let options = ["show", "--property=ControlGroup", "--value", "--", unit];
    answer("systemctl", &options).map(PathBuf::from)
}

/// Finds the group of a container by the beginning of its ID, or by what Docker or Podman know by
/// the name.
fn container<'a>(mounts: &'a Mounts, name: &str) -> Result<Group<'a>> {
    let mut groups = search(mounts, &|group| container::is_of(group, name));
    if groups.is_empty() && !name.is_empty() {
        let id = container::id_of(name, answer);
        if let Some(id) = id {
            groups = search(mounts, &|group| container::is_of(group, &id));
        }
    }
    one(
        groups,
        "container",
        name,
        "`docker ps` or `podman ps` lists those that run",
    )
}

/// Returns the line that a program prints, if it succeeds and prints one.
fn answer(program: &str, options: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(options).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Finds groups by their names, in the first hierarchy that has any; none below one that was found.
fn search<'a>(mounts: &'a Mounts, is_it: &dyn Fn(&str) -> bool) -> Vec<Group<'a>> {
    fn among(directory: &Path, is_it: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
        for group in groups_in(directory) {
            let name = group.file_name().unwrap_or_default().to_string_lossy();
            match is_it(&name) {
                true => found.push(group),
                false => among(&group, is_it, found),
            }
        }
    }
    for mount in mounts.all() {
        let mut groups = Vec::new();
        among(mount.top(), is_it, &mut groups);
        if !groups.is_empty() {
            groups.sort_unstable();
            return groups.into_iter().map(|group| (mount, group)).collect();
        }
    }
    Vec::new()
}

/// Returns the only one of the groups.
fn one<'a>(mut groups: Vec<Group<'a>>, kind: &str, name: &str, advice: &str) -> Result<Group<'a>> {
    let last = groups.pop();
    match last {
        Some(only) if groups.is_empty() => Ok(only),
        None => Err(Error::usage(format!(
            "no {kind} `{name}` runs here; {advice}"
        ))),
        Some(last) => {
            groups.push(last);
            let names = groups.iter().map(|(_, group)| group.display().to_string());
            Err(Error::usage(format!(
                "{} {kind}s match `{name}`; name one by ‘cgroup’: {}",
                groups.len(),
                names.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::hierarchy::tests::mounts;
    use terrace_base::mountinfo;

    /// Makes two hierarchies with these groups in both.
    fn tree(groups: &[&str]) -> (tempfile::TempDir, Mounts) {
        let (top, text) = mounts(&[
            ("/", "unified", "cgroup2", "rw"),
            ("/", "memory", "cgroup", "rw,memory"),
        ]);
        for hierarchy in ["unified", "memory"] {
            let own = top.path().join(hierarchy);
            for group in [""].iter().chain(groups) {
                fs::create_dir_all(own.join(group)).unwrap();
                for above in Path::new(group).ancestors() {
                    fs::write(own.join(above).join(PROCESSES), "").unwrap();
                }
            }
        }
        (top, Mounts::among(&mountinfo::parse(text.as_bytes())))
    }

    fn said<T>(found: Result<T>) -> String {
        found.err().expect("an error").to_string()
    }

    #[test]
    fn groups_by_directory_and_by_path() {
        let (top, mounts) = tree(&["a slice/b"]);
        let memory = top.path().canonicalize().unwrap().join("memory");
        let of = |path: &Path| cgroup(&mounts, path).map(|(_, group)| group);
        // A directory that only looks like a group.
        let outside = top.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join(PROCESSES), "").unwrap();
        for path in [outside.as_path(), Path::new("../outside")] {
            assert!(said(of(path)).contains("there is no cgroup"), "{path:?}");
        }
        for path in ["a slice/b", "/a slice/b", "a slice/../a slice/b"] {
            assert_eq!(
                of(Path::new(path)).unwrap(),
                memory.join("a slice/b"),
                "{path}"
            );
        }
        assert_eq!(of(&memory.join("a slice")).unwrap(), memory.join("a slice"));
        let unified = top.path().join("unified/a slice");
        assert!(
            of(&unified).unwrap().ends_with("unified/a slice"),
            "named by its directory"
        );
        for path in ["", "c", "/c", "..", "../..", "/etc", "/etc/passwd"] {
            assert!(
                said(of(Path::new(path))).contains("there is no cgroup"),
                "{path}"
            );
        }
    }

    #[test]
    fn units_where_systemd_says_or_by_their_names() {
        let (top, mounts) = tree(&[
            "system.slice/db.service",
            "user.slice/app.slice/db.service/x",
        ]);
        let of = |name: &str, ask: &dyn Fn(&str) -> Option<PathBuf>| {
            unit(&mounts, name, ask).map(|(_, group)| group)
        };
        let silent = |_: &str| None;
        let system = |_: &str| Some(PathBuf::from("/system.slice/db.service"));
        let told = of("db", &system).unwrap();
        assert!(told.ends_with("memory/system.slice/db.service"), "{told:?}");
        let both = said(of("db", &silent));
        assert!(both.starts_with("2 units match `db`"), "{both}");
        fs::remove_file(
            top.path()
                .join("memory/system.slice/db.service")
                .join(PROCESSES),
        )
        .unwrap();
        fs::remove_dir(top.path().join("memory/system.slice/db.service")).unwrap();
        let by_name = of("db.service", &silent).unwrap();
        assert!(
            by_name.ends_with("user.slice/app.slice/db.service"),
            "{by_name:?}"
        );
        // Of a unit that does not run systemd says nothing, or the top.
        let top = |_: &str| Some(PathBuf::from("/"));
        for (name, ask) in [
            ("mail", &silent as &dyn Fn(&str) -> _),
            ("mail", &top),
            ("", &silent),
        ] {
            assert!(said(of(name, ask)).contains("no unit `"), "{name}");
        }
        // One without a group in the memory hierarchy has one elsewhere.
        let elsewhere = of("db", &system).unwrap();
        assert!(
            elsewhere.ends_with("unified/system.slice/db.service"),
            "{elsewhere:?}"
        );
    }

    #[test]
    fn containers_by_the_beginning_of_their_ids() {
        let (one, two) = ("ab".repeat(32), format!("abc{}", "0".repeat(61)));
        let groups = [
            format!("docker/{one}/init"),
            format!("system.slice/docker-{two}.scope"),
        ];
        let (_top, mounts) = tree(&[&groups[0], &groups[1]]);
        let of = |name: &str| container(&mounts, name).map(|(_, group)| group);
        assert!(of("abab").unwrap().ends_with(&one));
        assert!(of(&two).unwrap().ends_with(format!("docker-{two}.scope")));
        assert!(
            said(of("ab")).starts_with("2 containers match `ab`"),
            "{}",
            said(of("ab"))
        );
        for name in ["", "no-such-container", "../docker"] {
            assert!(said(of(name)).contains("no container `"), "{name}");
        }
    }

    #[test]
    fn processes_by_their_numbers_and_those_of_their_threads() {
        let own = std::process::id();
        let found = process(own).unwrap();
        assert!(matches!(found.scope, Scope::Tree { root, .. } if root == own));
        // This test runs on a thread of its own.
        let thread = fs::read_link("/proc/thread-self").unwrap();
        let thread: u32 = thread
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert_ne!(thread, own);
        let found = process(thread).unwrap();
        assert!(matches!(found.scope, Scope::Tree { root, .. } if root == own));
        assert!(said(process(u32::MAX)).contains("there is no process 4294967295"));
        let mut ended = Command::new("true").spawn().unwrap();
        while !Figures::of(ended.id()).unwrap().unwrap().has_ended {
            std::thread::yield_now();
        }
        assert!(said(process(ended.id())).contains("has no memory"));
        ended.wait().unwrap();
    }
}
