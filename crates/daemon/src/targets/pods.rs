//! Pods of this node, by namespace and label.
//!
//! The name of a pod's group has the pod's UID. Which UIDs a namespace has, `/var/log/pods` tells.
//! Labels are told by the pod itself, where it has its labels mounted (the downward API), which is
//! a file below kubelet's directory; else by `crictl`, which asks the container engine of the node.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::configuration::Pod;

/// Asks a program with options.
pub(super) type Ask = dyn Fn(&str, &[&str]) -> Option<String> + Send;

/// Where a node tells of its pods.
pub(super) struct Node {
    /// `/var/log/pods`, with a directory `NAMESPACE_NAME_UID` a pod.
    pub logs: PathBuf,
    /// `/var/lib/kubelet/pods`, with a directory `UID` a pod.
    pub kubelet: PathBuf,
}

/// Why labels cannot be known.
const UNTOLD: &str = "nothing on this node tells the labels of pods; install crictl, or mount the \
                      labels in the pods by the downward API";

impl Default for Node {
    fn default() -> Self {
        Self {
            logs: "/var/log/pods".into(),
            kubelet: "/var/lib/kubelet/pods".into(),
        }
    }
}

impl Node {
    /// Returns the UIDs of the pods that are meant.
    pub fn uids(&self, pod: &Pod, ask: &Ask) -> Result<BTreeSet<String>, String> {
        let all = self.of_namespace(&pod.namespace);
        if all.is_empty() {
            return Ok(all);
        }
        let told: Vec<_> = all.iter().map(|uid| (uid, self.labels(uid))).collect();
        let has_label = |labels: &str| labels.lines().any(|line| is_label(line, pod));
        let mut found: BTreeSet<String> = told
            .iter()
            .filter(|(_, labels)| labels.as_deref().is_some_and(has_label))
            .map(|(uid, _)| (*uid).clone())
            .collect();
        // A directory of logs outlives its pod: one that nobody tells of is passed over if others
        // are found.
        if told.iter().any(|(_, labels)| labels.is_none()) {
            match asked(pod, ask) {
                Some(more) => found.extend(more.into_iter().filter(|uid| all.contains(uid))),
                None if found.is_empty() => return Err(UNTOLD.into()),
                None => {}
            }
        }
        Ok(found)
    }

    fn of_namespace(&self, namespace: &str) -> BTreeSet<String> {
        let names = fs::read_dir(&self.logs).into_iter().flatten().flatten();
        let uid = |name: &str| {
            let mut parts = name.split('_');
            let is_its = parts.next() == Some(namespace);
            let uid = parts.nth(1).filter(|uid| !uid.is_empty());
            uid.filter(|_| is_its && parts.next().is_none())
                .map(str::to_owned)
        };
        names
            .filter_map(|entry| uid(entry.file_name().to_str()?))
            .collect()
    }

    /// Returns the text of the labels that a pod has mounted.
    fn labels(&self, uid: &str) -> Option<String> {
        let volumes = self
            .kubelet
            .join(uid)
            .join("volumes/kubernetes.io~downward-api");
        let mut files = fs::read_dir(volumes).ok()?.flatten();
        files.find_map(|entry| small(&entry.path().join("labels")))
    }
}

/// Returns the text of a file of no more than 64 KiB.
fn small(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let is_small = about.is_file() && about.len() <= 1 << 16;
    is_small.then(|| fs::read_to_string(path).ok())?
}

/// Whether a line `key="value"` is the label. Values of labels have nothing that is escaped.
fn is_label(line: &str, pod: &Pod) -> bool {
    let value = line
        .strip_prefix(&*pod.key)
        .and_then(|rest| rest.strip_prefix('='));
    let value = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
    value == Some(&pod.value)
}

/// The answer of `crictl pods --output json`.
#[derive(Deserialize)]
struct Pods {
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    uid: String,
    namespace: String,
}

fn asked(pod: &Pod, ask: &Ask) -> Option<Vec<String>> {
    let label = format!("{}={}", pod.key, pod.value);
    let options = ["pods", "--label", &label, "--output", "json"];
    let pods: Pods = serde_json::from_str(&ask("crictl", &options)?).ok()?;
    let items = pods.items.into_iter();
    let meant = items.filter(|item| item.metadata.namespace == pod.namespace);
    Some(meant.map(|item| item.metadata.uid).collect())
}

/// Whether the group `name` is that of the pod with a UID: `kubepods-burstable-podUID.slice` with
/// `_` for `-`, or `podUID`.
pub(super) fn is_of(name: &str, uid: &str) -> bool {
    match name.strip_suffix(".slice") {
        Some(slice) => {
            let own = slice.rsplit('-').next().unwrap_or_default();
            let own = own.strip_prefix("pod");
            slice.starts_with("kubepods") && own.is_some_and(|own| own.replace('_', "-") == uid)
        }
        None => name.strip_prefix("pod") == Some(uid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "3f7a2d10-8f0b-4b7e-9d4e-0a1b2c3d4e5f";
    const TWO: &str = "0dd94c3b-0000-4b7e-9d4e-0a1b2c3d4e5f";

    fn pod() -> Pod {
        Pod {
            namespace: "shop".into(),
            key: "app".into(),
            value: "db".into(),
        }
    }

    fn node(pods: &[(&str, &str, Option<&str>)]) -> (tempfile::TempDir, Node) {
        let root = tempfile::tempdir().unwrap();
        let node = Node {
            logs: root.path().join("logs"),
            kubelet: root.path().join("kubelet"),
        };
        for (namespace, uid, labels) in pods {
            fs::create_dir_all(node.logs.join(format!("{namespace}_db-0_{uid}"))).unwrap();
            if let Some(labels) = labels {
                let volume = node
                    .kubelet
                    .join(uid)
                    .join("volumes/kubernetes.io~downward-api/info");
                fs::create_dir_all(&volume).unwrap();
                fs::write(volume.join("labels"), labels).unwrap();
            }
        }
        (root, node)
    }

    #[test]
    fn labels_that_pods_have_mounted() {
        let labels = "app=\"db\"\ntier=\"x\"";
        let others = "app=\"db2\"\nmy-app=\"db\"";
        let (_root, node) = node(&[
            ("shop", ONE, Some(labels)),
            ("shop", TWO, Some(others)),
            ("shop2", "x", Some(labels)),
        ]);
        let found = node.uids(&pod(), &|_, _| panic!("nobody need be asked"));
        assert_eq!(found, Ok([ONE.to_owned()].into()));
    }

    #[test]
    fn labels_that_the_engine_knows() {
        let (_root, node) = node(&[
            ("shop", ONE, None),
            ("shop", TWO, None),
            ("shop2", "x", None),
        ]);
        let answer = format!(
            r#"{{"items":[
            {{"metadata":{{"uid":"{TWO}","namespace":"shop","name":"n","attempt":0}},"id":"7"}},
            {{"metadata":{{"uid":"x","namespace":"shop2"}}}}]}}"#
        );
        let found = node.uids(&pod(), &move |program, options| {
            assert_eq!((program, options[2]), ("crictl", "app=db"));
            Some(answer.clone())
        });
        assert_eq!(found, Ok([TWO.to_owned()].into()));
        let silent = node.uids(&pod(), &|_, _| None);
        assert!(silent.unwrap_err().contains("install crictl"));
        for damaged in ["", "{", "{\"items\":[{}]}"] {
            let found = node.uids(&pod(), &move |_, _| Some(damaged.into()));
            assert!(found.is_err(), "{damaged}");
        }
    }

    #[test]
    fn groups_as_kubelet_names_them() {
        let slice = format!("kubepods-burstable-pod{}.slice", ONE.replace('-', "_"));
        for name in [
            slice,
            format!("kubepods-pod{}.slice", ONE.replace('-', "_")),
            format!("pod{ONE}"),
        ] {
            assert!(is_of(&name, ONE), "{name}");
            assert!(!is_of(&name, TWO), "{name}");
        }
        for other in [
            "kubepods-burstable.slice",
            "pod",
            "podx",
            "kubepods.slice",
            "x-pod.slice",
        ] {
            assert!(!is_of(other, ONE), "{other}");
        }
    }
}
