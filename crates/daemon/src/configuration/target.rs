//! A target: what is meant, and what should hold for it.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use terrace_base::{Bytes, Result};
use terrace_policy::control::Spec;
use toml::Spanned;

use super::amounts;
use super::place::Source;

/// A service and its goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What people call it.
    pub by: By,
    /// What should hold.
    pub goal: Goal,
}

/// What a target means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// A unit of the system's systemd, with its ending: `postgresql.service`.
    Unit(String),
    /// A container, by its name or the beginning of its ID.
    Container(String),
    /// Pods of Kubernetes on this node.
    Pod(Pod),
    /// A control group: a directory, or its path below the top.
    Cgroup(PathBuf),
}

/// The pods of a namespace with a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pod {
    /// The namespace.
    pub namespace: String,
    /// Key of the label.
    pub key: String,
    /// Its value.
    pub value: String,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(name) => write!(f, "the unit {name}"),
            Self::Container(name) => write!(f, "the container {name}"),
            Self::Pod(pod) => {
                let (namespace, key, value) = (&pod.namespace, &pod.key, &pod.value);
                write!(f, "the pods {key}={value} of the namespace {namespace}")
            }
            Self::Cgroup(path) => write!(f, "the control group {}", path.display()),
        }
    }
}

/// What should hold for a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// It stands still for memory for at most this share of its time.
    Slowdown(f64),
    /// It has no more than so much DRAM.
    Dram(Bytes),
    /// Its pressure stays about here, by Meta's rule.
    Pressure(f64),
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slowdown(share) => write!(f, "slowdown at most {}", Percent(*share)),
            Self::Dram(bytes) => write!(f, "DRAM at most {bytes}"),
            Self::Pressure(share) => write!(f, "pressure about {}", Percent(*share)),
        }
    }
}

/// A share of one, shown as `2 %`.
pub struct Percent(pub f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let decimals = match percent {
            p if p >= 9.95 => 0,
            p if p >= 0.0995 || p == 0.0 => 1,
            _ => 3,
        };
        let text = format!("{percent:.decimals$}");
        let text = match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.'),
            false => &text,
        };
        write!(f, "{text} %")
    }
}

impl Goal {
    /// Returns the policy that keeps it.
    ///
    /// # Errors
    /// A message if the policy does not reach so far.
    pub fn policy(&self) -> std::result::Result<Spec, String> {
        Spec::parse(&match self {
            Self::Slowdown(share) => format!("slowdown:goal={share}"),
            Self::Dram(bytes) => format!("fixed:dram={}", bytes.0),
            Self::Pressure(share) => format!("senpai:pressure={share}"),
        })
    }

    /// Returns the share of stalls that it allows, if it allows one.
    pub fn limit(&self) -> Option<f64> {
        match self {
            Self::Slowdown(share) | Self::Pressure(share) => Some(*share),
            Self::Dram(_) => None,
        }
    }
}

/// A target as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    unit: Option<Spanned<String>>,
    container: Option<Spanned<String>>,
    pod: Option<Spanned<WrittenPod>>,
    cgroup: Option<Spanned<String>>,
    slowdown: Option<Spanned<String>>,
    dram: Option<Spanned<String>>,
    pressure: Option<Spanned<String>>,
}

/// A pod as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPod {
    namespace: String,
    label: String,
}

/// A reader of a value, and where the value begins.
type Read<'a, T> = (usize, Box<dyn Fn() -> std::result::Result<T, String> + 'a>);

impl Target {
    pub(super) fn of(source: &Source<'_>, name: &str, written: Spanned<Written>) -> Result<Self> {
        let at = written.span().start;
        let written = written.into_inner();
        let one = |number: usize, keys: &str, example: &str| match number {
            1 => Ok(()),
            0 => Err(source.wrong(
                at,
                &format!("the target `{name}` needs one of {keys}; add as {example}"),
            )),
            _ => Err(source.wrong(
                at,
                &format!("the target `{name}` has more than one of {keys}; keep one of them"),
            )),
        };
        let mut by = written.by();
        one(
            by.len(),
            "unit, container, pod and cgroup",
            "unit = \"postgresql.service\"",
        )?;
        let mut goals = written.goals();
        one(
            goals.len(),
            "slowdown, dram and pressure",
            "slowdown = \"2%\"",
        )?;
        let (by_at, by) = by.remove(0);
        let (goal_at, goal) = goals.remove(0);
        let by = by().map_err(|why| source.wrong(by_at, &why))?;
        let goal = goal().map_err(|why| source.wrong(goal_at, &why))?;
        goal.policy().map_err(|why| source.wrong(goal_at, &why))?;
        Ok(Self { by, goal })
    }
}

impl Written {
    fn by(&self) -> Vec<Read<'_, By>> {
        let mut found: Vec<Read<'_, By>> = Vec::new();
        if let Some(name) = &self.unit {
            found.push((name.span().start, Box::new(|| unit(name.get_ref()))));
        }
        if let Some(name) = &self.container {
            found.push((name.span().start, Box::new(|| container(name.get_ref()))));
        }
        if let Some(pod) = &self.pod {
            found.push((pod.span().start, Box::new(|| pods(pod.get_ref()))));
        }
        if let Some(path) = &self.cgroup {
            found.push((path.span().start, Box::new(|| cgroup(path.get_ref()))));
        }
        found
    }

    fn goals(&self) -> Vec<Read<'_, Goal>> {
        let mut found: Vec<Read<'_, Goal>> = Vec::new();
        if let Some(text) = &self.slowdown {
            let read = || amounts::share(text.get_ref()).map(Goal::Slowdown);
            found.push((text.span().start, Box::new(read)));
        }
        if let Some(text) = &self.pressure {
            let read = || amounts::share(text.get_ref()).map(Goal::Pressure);
            found.push((text.span().start, Box::new(read)));
        }
        if let Some(text) = &self.dram {
            let read = || match Bytes::parse_memory(text.get_ref(), false) {
                Ok(bytes) => Ok(Goal::Dram(bytes)),
                Err(e) => Err(e.to_string()),
            };
            found.push((text.span().start, Box::new(read)));
        }
        found
    }
}

/// Endings of units that have processes.
const ENDINGS: [&str; 3] = [".service", ".scope", ".slice"];

/// Reads the name of a unit; without an ending it is a service, as for systemctl.
fn unit(name: &str) -> std::result::Result<By, String> {
    let is_one = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if name.is_empty() || name.len() > 255 || !name.chars().all(is_one) {
        return Err(format!(
            "`{name}` is no name of a unit; write it as systemctl shows it: postgresql.service"
        ));
    }
    let has_ending = ENDINGS.iter().any(|ending| name.ends_with(ending));
    let other = [
        ".socket", ".timer", ".mount", ".target", ".path", ".device", ".swap",
    ];
    if other.iter().any(|ending| name.ends_with(ending)) {
        return Err(format!(
            "the unit `{name}` is no service; name a .service, a .scope or a .slice"
        ));
    }
    Ok(By::Unit(match has_ending {
        true => name.to_owned(),
        false => format!("{name}.service"),
    }))
}

fn container(name: &str) -> std::result::Result<By, String> {
    let is_one = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && name.len() <= 255 && name.chars().all(is_one) {
        true => Ok(By::Container(name.to_owned())),
        false => Err(format!(
            "`{name}` is no name of a container; write it as `docker ps` or `podman ps` shows it"
        )),
    }
}

fn pods(written: &WrittenPod) -> std::result::Result<By, String> {
    let is_one = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let namespace = &written.namespace;
    if namespace.is_empty() || namespace.len() > 63 || !namespace.chars().all(is_one) {
        return Err(format!(
            "`{namespace}` is no namespace; write it as kubectl shows it: default"
        ));
    }
    let label = &written.label;
    let parts = label.split_once('=');
    let is_part = |text: &str| {
        let is_one = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        text.len() <= 317 && text.chars().all(is_one)
    };
    match parts {
        Some((key, value)) if !key.is_empty() && is_part(key) && is_part(value) => {
            Ok(By::Pod(Pod {
                namespace: namespace.clone(),
                key: key.to_owned(),
                value: value.to_owned(),
            }))
        }
        _ => Err(format!(
            "`{label}` is no label; write it as label = \"app=postgres\""
        )),
    }
}

fn cgroup(path: &str) -> std::result::Result<By, String> {
    let parts = || path.split('/').filter(|part| !part.is_empty());
    match () {
        () if parts().next().is_none() => Err(format!(
            "`{path}` is no control group below the top; name one as /system.slice/job.service"
        )),
        () if parts().any(|part| part == "..") || path.contains('\0') => Err(format!(
            "`{path}` leaves the control groups; write it without .."
        )),
        () => Ok(By::Cgroup(PathBuf::from(path))),
    }
}
